/* SPDX-License-Identifier: Apache-2.0
 * Writing a dump: the manifest first, then the contents in the order in which it names them (docs/dump-format.md). Runs inside
 * the recorded program, so it uses no JSON library. */
#include "replay/dump.h"

#include "impl/base/buf.h"
#include "impl/base/hash.h"
#include "replay/tar.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL 1

static void
text(struct cw_buf *b, const char *key, const char *value)
{
    cw_buf_printf(b, "\"%s\": ", key);
    if (value)
        cw_buf_json_string(b, value);
    else
        cw_buf_puts(b, "null");
}

static void
number(struct cw_buf *b, const char *key, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (isfinite(v))
        cw_buf_printf(b, "\"%s\": %.9g", key, v);
    else
        cw_buf_printf(b, "\"%s\": \"0x%08x\"", key, bits);
}

/* The members of one content: "before": {...}, "after": {...}. An unchanged one is stored once. */
static void
contents(struct cw_buf *b, const char *stem, uint32_t i, const char *suffix, const uint8_t *before, const uint8_t *after, uint64_t size)
{
    char hex[65], hex_after[65];
    cw_sha256_hex(before, size, hex);
    cw_buf_printf(b, ",\n      \"before\": {\"member\": \"before/%s%u%s\", \"sha256\": \"%s\"}", stem, i, suffix, hex);
    if (!after) {
        cw_buf_puts(b, ",\n      \"after\": null");
        return;
    }
    bool same = after == before || !memcmp(before, after, size);
    if (!same)
        cw_sha256_hex(after, size, hex_after);
    cw_buf_printf(b, ",\n      \"after\": {\"member\": \"%s/%s%u%s\", \"sha256\": \"%s\"}", same ? "before" : "after", stem, i, suffix,
                  same ? hex : hex_after);
}

static void
texture(struct cw_buf *b, const struct cwd_texture *t)
{
    cw_buf_printf(b, "{\"type\": \"%s\", \"handle\": \"0x%llx\", \"resource\": %u, \"array\": ", t->surface ? "surface" : "texture",
                  (unsigned long long)t->handle, t->resource);
    if (t->array >= 0)
        cw_buf_printf(b, "%d", t->array);
    else
        cw_buf_puts(b, "null");
    cw_buf_printf(b, ",\n      \"address\": \"0x%llx\", \"size\": %llu, \"width\": %llu, \"height\": %llu, \"pitch\": %llu, "
                  "\"format\": %u, \"channels\": %u,\n", (unsigned long long)t->address, (unsigned long long)t->size,
                  (unsigned long long)t->width, (unsigned long long)t->height, (unsigned long long)t->pitch, t->format, t->channels);
    cw_buf_printf(b, "      \"address_mode\": [%u, %u, %u], \"filter\": %u, \"flags\": %u, \"anisotropy\": %u, \"mip_filter\": %u, ",
                  t->address_mode[0], t->address_mode[1], t->address_mode[2], t->filter, t->flags, t->anisotropy, t->mip_filter);
    number(b, "mip_bias", t->mip_bias);
    cw_buf_puts(b, ", ");
    number(b, "min_level", t->min_level);
    cw_buf_puts(b, ", ");
    number(b, "max_level", t->max_level);
    for (int i = 0; i < 4; i++) {
        char key[] = "border0";
        key[6] = (char)('0' + i);
        cw_buf_puts(b, ", ");
        number(b, key, t->border[i]);
    }
    if (t->has_view)
        cw_buf_printf(b, ",\n      \"view\": {\"format\": %u, \"width\": %llu, \"height\": %llu, \"depth\": %llu, \"first_level\": %u, "
                      "\"last_level\": %u, \"first_layer\": %u, \"last_layer\": %u}", t->view_format, (unsigned long long)t->view_width,
                      (unsigned long long)t->view_height, (unsigned long long)t->view_depth, t->first_level, t->last_level,
                      t->first_layer, t->last_layer);
    cw_buf_puts(b, ",\n      \"uses\": [");
    for (uint32_t i = 0; i < t->nuses; i++)
        cw_buf_printf(b, "%s{\"buffer\": %d, \"offset\": %llu}", i ? ", " : "", t->uses[i].buffer, (unsigned long long)t->uses[i].offset);
    cw_buf_puts(b, "]}");
}

static void
input_name(const struct cwd_dump *d, uint32_t i, char out[32])
{
    if (d->ninputs == 1)
        snprintf(out, 32, "module.%s", cwd_input_name(d->inputs[i].kind));
    else
        snprintf(out, 32, "module/%u.%s", i, cwd_input_name(d->inputs[i].kind));
}

static void
manifest(struct cw_buf *b, const struct cwd_dump *d, const char *suffix)
{
    char hex[65], name[32];
    cw_buf_printf(b, "{\n  \"format\": \"cudaway-kernel-dump\",\n  \"version\": %d,\n  ", CWD_FORMAT_VERSION);
    text(b, "cudaway", d->version);
    cw_buf_puts(b, ",\n  \"device\": {");
    text(b, "name", d->device);
    cw_buf_printf(b, ", \"driver\": %u, \"compute_capability\": %u},\n  ", d->driver, d->compute_capability);
    text(b, "kernel", d->kernel);
    cw_buf_printf(b, ",\n  \"launch\": %u,\n  \"grid\": [%u, %u, %u],\n  \"block\": [%u, %u, %u],\n  \"dynamic_shared\": %u,\n"
                  "  \"cooperative\": %s,\n", d->launch, d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2],
                  d->shared, d->cooperative ? "true" : "false");
    if (d->cluster[0])
        cw_buf_printf(b, "  \"cluster\": [%u, %u, %u],\n", d->cluster[0], d->cluster[1], d->cluster[2]);
    if (d->fault) {
        cw_buf_puts(b, "  \"fault\": {");
        text(b, "error", d->fault);
        cw_buf_printf(b, ", \"suspects\": %u},\n", d->suspects);
    }
    cw_buf_printf(b, "  \"module\": {\"linked\": %s, \"inputs\": [", d->linked ? "true" : "false");
    for (uint32_t i = 0; i < d->ninputs; i++) {
        input_name(d, i, name);
        cw_sha256_hex(d->inputs[i].data, d->inputs[i].size, hex);
        cw_buf_printf(b, "%s\n    {\"kind\": \"%s\", ", i ? "," : "", cwd_input_name(d->inputs[i].kind));
        text(b, "name", d->inputs[i].name);
        cw_buf_printf(b, ", \"member\": \"%s\", \"size\": %llu, \"sha256\": \"%s\"}", name, (unsigned long long)d->inputs[i].size, hex);
    }
    cw_sha256_hex(d->param_block, d->param_size, hex);
    cw_buf_printf(b, "]},\n  \"parameters\": {\"member\": \"params.bin\", \"size\": %u, \"sha256\": \"%s\", \"list\": [", d->param_size, hex);
    for (uint32_t i = 0; i < d->nparams; i++) {
        cw_buf_printf(b, "%s\n    {\"offset\": %u, \"size\": %u, ", i ? "," : "", d->params[i].offset, d->params[i].size);
        text(b, "type", d->params[i].type);
        cw_buf_puts(b, ", ");
        text(b, "name", d->params[i].name);
        cw_buf_puts(b, "}");
    }
    cw_buf_puts(b, "]},\n  \"buffers\": [");
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *x = &d->buffers[i];
        cw_buf_printf(b, "%s\n    {\"kind\": \"%s\", ", i ? "," : "", cwd_kind_name(x->kind));
        text(b, "name", x->name);
        cw_buf_puts(b, ", ");
        text(b, "element", x->element);
        cw_buf_printf(b, ", \"address\": \"0x%llx\", \"size\": %llu", (unsigned long long)x->address, (unsigned long long)x->size);
        contents(b, "", i, suffix, x->before, x->after, x->size);
        cw_buf_puts(b, "}");
    }
    cw_buf_puts(b, "],\n  \"arrays\": [");
    for (uint32_t i = 0; i < d->narrays; i++) {
        const struct cwd_array *x = &d->arrays[i];
        cw_buf_printf(b, "%s\n    {\"width\": %llu, \"height\": %llu, \"depth\": %llu, \"format\": %u, \"channels\": %u, \"flags\": %u, "
                      "\"levels\": %u, \"size\": %llu", i ? "," : "", (unsigned long long)x->width, (unsigned long long)x->height,
                      (unsigned long long)x->depth, x->format, x->channels, x->flags, x->levels, (unsigned long long)x->size);
        contents(b, "array", i, suffix, x->before, x->after, x->size);
        cw_buf_puts(b, "}");
    }
    cw_buf_puts(b, "],\n  \"textures\": [");
    for (uint32_t i = 0; i < d->ntextures; i++) {
        cw_buf_puts(b, i ? ",\n    " : "\n    ");
        texture(b, &d->textures[i]);
    }
    cw_buf_puts(b, "]\n}\n");
}

static void
add_content(struct cwd_tar_writer *w, const char *folder, const char *stem, uint32_t i, const uint8_t *data, uint64_t size,
            unsigned flags, struct cw_buf *scratch)
{
    char name[48];
    snprintf(name, sizeof name, "%s/%s%u%s", folder, stem, i, flags & CWD_STORED ? "" : ".zst");
    if (flags & CWD_STORED) {
        cwd_tar_add(w, name, data, size);
        return;
    }
    size_t bound = ZSTD_compressBound(size);
    if (ZSTD_isError(bound) || w->error) {
        w->error = w->error ? w->error : EFBIG;
        return;
    }
    if (scratch->capacity < bound) {
        free(scratch->data);
        scratch->data = malloc(bound);
        scratch->capacity = scratch->data ? bound : 0;
    }
    size_t n = scratch->data ? ZSTD_compress(scratch->data, bound, data, size, LEVEL) : 0;
    if (!scratch->data || ZSTD_isError(n))
        w->error = ENOMEM;
    else
        cwd_tar_add(w, name, scratch->data, n);
}

static void
add_both(struct cwd_tar_writer *w, const char *stem, uint32_t i, const uint8_t *before, const uint8_t *after, uint64_t size,
         unsigned flags, struct cw_buf *scratch)
{
    add_content(w, "before", stem, i, before, size, flags, scratch);
    if (after && after != before && memcmp(before, after, size))
        add_content(w, "after", stem, i, after, size, flags, scratch);
}

static cw_result
write_dump(const struct cwd_dump *d, const char *path, cwd_next_path *next, void *user, unsigned flags, struct cwd_error *e)
{
    struct cwd_tar_writer w;
    struct cw_buf b, scratch = { 0 };
    char name[32];
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (!d->buffers[i].before)
            return cwd_fail(e, CW_ERR_INVALID, "cannot write %s: the contents of buffer %u are not known", path, i);
    for (uint32_t i = 0; i < d->narrays; i++)
        if (!d->arrays[i].before)
            return cwd_fail(e, CW_ERR_INVALID, "cannot write %s: the contents of array %u are not known", path, i);
    cw_buf_init(&b);
    manifest(&b, d, flags & CWD_STORED ? "" : ".zst");
    cwd_tar_begin(&w, path);
    w.next = next;
    w.user = user;
    if (b.failed && !w.error)
        w.error = ENOMEM;
    if (!w.error)
        cwd_tar_add(&w, "manifest.json", b.data, b.size);
    cw_buf_finish(&b);
    for (uint32_t i = 0; i < d->ninputs; i++) {
        input_name(d, i, name);
        cwd_tar_add(&w, name, d->inputs[i].data, d->inputs[i].size);
    }
    cwd_tar_add(&w, "params.bin", d->param_block, d->param_size);
    for (uint32_t i = 0; i < d->nbuffers && !w.error; i++)
        add_both(&w, "", i, d->buffers[i].before, d->buffers[i].after, d->buffers[i].size, flags, &scratch);
    for (uint32_t i = 0; i < d->narrays && !w.error; i++)
        add_both(&w, "array", i, d->arrays[i].before, d->arrays[i].after, d->arrays[i].size, flags, &scratch);
    free(scratch.data);
    return cwd_tar_end(&w, false, e);
}

cw_result
cwd_write(const struct cwd_dump *d, const char *path, unsigned flags, struct cwd_error *e)
{
    return write_dump(d, path, NULL, NULL, flags, e);
}

void
cwd_name(char *path, const char *folder, unsigned number, const char *kernel, unsigned again)
{
    char plain[100], suffix[16] = "";
    size_t n = 0;
    for (; kernel[n] && n + 1 < sizeof plain; n++) {
        char c = kernel[n];
        plain[n] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
    plain[n] = 0;
    if (again)
        snprintf(suffix, sizeof suffix, "-%u", again);
    (void)snprintf(path, PATH_MAX, "%s/%04u-%s%s" CWD_SUFFIX, folder, number, plain, suffix);
}

cw_result
cwd_write_new(const struct cwd_dump *d, const char *folder, cwd_next_path *next, void *user, struct cwd_error *e)
{
    char path[PATH_MAX];
    if (strlen(folder) + CWD_LONGEST_NAME >= sizeof path)
        return cwd_fail(e, CW_ERR_LIMIT, "cannot write into %.200s...: its name has %zu bytes, at most %zu leave room for names of dumps", folder, strlen(folder),
                        sizeof path - CWD_LONGEST_NAME - 1);
    (void)snprintf(path, sizeof path, "%s/" CWD_SUFFIX, folder);
    return write_dump(d, path, next, user, 0, e);
}
