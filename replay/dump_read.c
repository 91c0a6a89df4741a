/* SPDX-License-Identifier: Apache-2.0
 * Reading a dump from an untrusted source: every number of the manifest is checked against its bounds and against the members
 * before it is used, and memory is allocated only after the sum of all contents is known to fit. */
#include "replay/dump.h"

#include "impl/api/cuda.h"
#include "impl/base/file.h"
#include "impl/base/hash.h"
#include "impl/base/text.h"
#include "replay/tar.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAX_MANIFEST (64u << 20)
#define MAX_LIST     (1u << 18)
#define MAX_PARAMS   65536u
#define MAX_SIZE     (1ull << 40)

struct reader {
    struct cwd_dump *d;
    struct cwd_tar tar;
    struct cwd_error *e;
    unsigned flags;
    uint64_t limit, used;       /* bytes of contents */
    cw_result r;                /* the first failure */
};

#define BAD(r, ...) bad(r, CW_ERR_DAMAGED, __VA_ARGS__)

static void __attribute__((format(printf, 3, 4)))
bad(struct reader *r, cw_result code, const char *fmt, ...)
{
    char line[400];
    va_list ap;
    if (r->r != CW_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    r->r = cwd_fail(r->e, code, "%s", line);
}

/* ---- fields: each reports what is wrong and gives zero ---- */

static const cJSON *
get(struct reader *r, const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!v)
        BAD(r, "the manifest lacks \"%s\"; the dump was made by another program or is damaged", key);
    return v;
}

static uint64_t
number_of(struct reader *r, const cJSON *v, const char *key, uint64_t max)
{
    if (!v)
        return 0;
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble > (double)max || v->valuedouble != floor(v->valuedouble)) {
        BAD(r, "\"%s\" in the manifest is not a number from 0 to %llu; the dump is damaged", key, (unsigned long long)max);
        return 0;
    }
    return (uint64_t)v->valuedouble;
}

static uint64_t
number(struct reader *r, const cJSON *o, const char *key, uint64_t max)
{
    return number_of(r, get(r, o, key), key, max);
}

static uint64_t
hex(struct reader *r, const cJSON *o, const char *key)
{
    const cJSON *v = get(r, o, key);
    char *end = NULL;
    errno = 0;
    const char *s = v && cJSON_IsString(v) ? v->valuestring : "";
    uint64_t n = strncmp(s, "0x", 2) || strlen(s) < 3 || strlen(s) > 18 ? 0 : strtoull(s + 2, &end, 16);
    if (v && (!end || *end || errno || s[2] == '-' || s[2] == '+' || s[2] == ' '))
        BAD(r, "\"%s\" in the manifest is not a hexadecimal number; the dump is damaged", key);
    return n;
}

static float
real(struct reader *r, const cJSON *o, const char *key)
{
    const cJSON *v = get(r, o, key);
    if (v && cJSON_IsNumber(v))
        return (float)v->valuedouble;
    uint32_t bits = (uint32_t)hex(r, o, key);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static bool
boolean(struct reader *r, const cJSON *o, const char *key)
{
    const cJSON *v = get(r, o, key);
    if (v && !cJSON_IsBool(v))
        BAD(r, "\"%s\" in the manifest is not true or false; the dump is damaged", key);
    return cJSON_IsTrue(v);
}

static const char *
string(struct reader *r, const cJSON *o, const char *key, bool optional)
{
    const cJSON *v = get(r, o, key);
    if (!v || (optional && cJSON_IsNull(v)))
        return optional ? NULL : "";
    if (!cJSON_IsString(v) || strlen(v->valuestring) > 65536) {
        BAD(r, "\"%s\" in the manifest is not a text; the dump is damaged", key);
        return "";
    }
    if (!cw_text_is_safe(v->valuestring, ""))      /* names reach terminals */
        BAD(r, "\"%s\" in the manifest holds control characters, or is not UTF-8; the dump is damaged", key);
    char *s = cw_arena_strndup(&r->d->arena, v->valuestring, strlen(v->valuestring));
    if (!s)
        bad(r, CW_ERR_NOMEM, "out of memory");
    return s ? s : "";
}

static void
triple(struct reader *r, const cJSON *o, const char *key, uint32_t out[3])
{
    const cJSON *v = get(r, o, key);
    if (v && (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != 3))
        BAD(r, "\"%s\" in the manifest is not a list of three; the dump is damaged", key);
    for (int i = 0; i < 3 && r->r == CW_OK; i++)
        out[i] = (uint32_t)number_of(r, cJSON_GetArrayItem(v, i), key, UINT32_MAX);
}

static uint32_t
list(struct reader *r, const cJSON *o, const char *key, uint32_t max, const cJSON **out)
{
    const cJSON *v = get(r, o, key);
    int n = v && cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;
    if (v && (!cJSON_IsArray(v) || n < 0 || (uint32_t)n > max)) {
        BAD(r, "\"%s\" in the manifest is not a list of at most %u; the dump is damaged", key, max);
        n = 0;
    }
    *out = v;
    return (uint32_t)n;
}

static void *
array_of(struct reader *r, uint32_t n, size_t size)
{
    void *p = cw_arena_alloc(&r->d->arena, (n ? n : 1) * size);
    if (!p)
        bad(r, CW_ERR_NOMEM, "out of memory");
    return p;
}

/* ---- members ---- */

static void
check_digest(struct reader *r, const cJSON *o, const char *member, const void *data, uint64_t size)
{
    const cJSON *v = get(r, o, "sha256");
    char digest[65];
    if (r->r != CW_OK)
        return;
    cw_sha256_hex(data, size, digest);
    if (!cJSON_IsString(v) || strcmp(v->valuestring, digest))
        BAD(r, "the contents of member %s do not match the digest in the manifest; the dump is damaged", member);
}

static const struct cwd_member *
member_of(struct reader *r, const cJSON *o)
{
    const cJSON *v = get(r, o, "member");
    if (r->r != CW_OK)
        return NULL;
    const struct cwd_member *m = cJSON_IsString(v) ? cwd_tar_find(&r->tar, v->valuestring) : NULL;
    if (!m)
        BAD(r, "a member that the manifest names is not there; the dump is damaged");
    return m;
}

static uint8_t *
copy(struct reader *r, const void *data, uint64_t size)
{
    uint8_t *p = malloc(size + 1);
    if (!p) {
        bad(r, CW_ERR_NOMEM, "out of memory (%llu bytes)", (unsigned long long)size);
        return NULL;
    }
    memcpy(p, data, size);
    p[size] = 0;
    return p;
}

static bool
compressed(const struct cwd_member *m)
{
    size_t n = strlen(m->name);
    return n > 4 && !strcmp(m->name + n - 4, ".zst");
}

/* A member states its own decompressed size, which must be the manifest's. */
static bool
check_size(struct reader *r, const struct cwd_member *m, uint64_t size)
{
    uint64_t n = compressed(m) ? ZSTD_getFrameContentSize(m->data, m->size) : m->size;
    if (n != size)
        BAD(r, "member %s does not hold the %llu bytes that the manifest says; the dump is damaged", m->name, (unsigned long long)size);
    return n == size;
}

static uint8_t *
load(struct reader *r, const cJSON *o, uint64_t size)
{
    const struct cwd_member *m = member_of(r, o);
    if (!m || !check_size(r, m, size) || r->r != CW_OK || r->flags & CWD_HEADERS)
        return NULL;
    uint8_t *p = malloc(size + 1);
    if (!p) {
        bad(r, CW_ERR_NOMEM, "out of memory (%llu bytes)", (unsigned long long)size);
        return NULL;
    }
    if (compressed(m)) {
        size_t n = ZSTD_decompress(p, size, m->data, m->size);
        if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
            bad(r, CW_ERR_NOMEM, "out of memory");
        else if (ZSTD_isError(n) || n != size)
            BAD(r, "member %s cannot be decompressed; the dump is damaged", m->name);
    } else {
        memcpy(p, m->data, size);
    }
    if (r->r == CW_OK)
        check_digest(r, o, m->name, p, size);
    if (r->r != CW_OK) {
        free(p);
        return NULL;
    }
    return p;
}

/* Both contents of a buffer or an array. `reserve` was called for it. */
static void
contents(struct reader *r, const cJSON *o, uint64_t size, uint8_t **before, uint8_t **after)
{
    const cJSON *b = get(r, o, "before"), *a = get(r, o, "after");
    *before = load(r, b, size);
    if (r->r != CW_OK || cJSON_IsNull(a))
        return;
    const cJSON *mb = cJSON_GetObjectItemCaseSensitive(b, "member"), *ma = cJSON_GetObjectItemCaseSensitive(a, "member");
    if (cJSON_IsString(mb) && cJSON_IsString(ma) && !strcmp(mb->valuestring, ma->valuestring))
        *after = *before;
    else
        *after = load(r, a, size);
}

static void
reserve(struct reader *r, uint64_t size)
{
    if (r->flags & CWD_HEADERS)
        return;
    if (r->r == CW_OK && (size > r->limit || r->used > r->limit - size))
        bad(r, CW_ERR_LIMIT, "its contents need more than %llu MiB of memory; use a machine with more", (unsigned long long)(r->limit >> 20));
    r->used += r->r == CW_OK ? size : 0;
}

/* ---- parts of the manifest ---- */

static void
read_module(struct reader *r, const cJSON *o)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    d->linked = boolean(r, o, "linked");
    uint32_t n = list(r, o, "inputs", MAX_LIST, &v);
    if (r->r == CW_OK && (!n || (n > 1 && !d->linked)))
        BAD(r, "the manifest names no module, or several that are not linked; the dump is damaged");
    d->inputs = array_of(r, n, sizeof *d->inputs);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        struct cwd_input *x = &d->inputs[d->ninputs++];
        const char *kind = string(r, i, "kind", false);
        for (x->kind = 0; x->kind < CWD_INPUT_COUNT && strcmp(kind, cwd_input_name(x->kind)); x->kind++)
            ;
        if (x->kind == CWD_INPUT_COUNT)
            BAD(r, "the manifest has a module of an unknown kind; use a newer cudaway-replay, or the dump is damaged");
        x->name = string(r, i, "name", true);
        x->size = number(r, i, "size", MAX_SIZE);
        const struct cwd_member *m = member_of(r, i);
        if (m && check_size(r, m, x->size)) {
            check_digest(r, i, m->name, m->data, m->size);
            reserve(r, m->size);
            if (r->r == CW_OK)
                x->data = copy(r, m->data, m->size);
        }
    }
}

static void
read_params(struct reader *r, const cJSON *o)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    d->param_size = (uint32_t)number(r, o, "size", MAX_PARAMS);
    const struct cwd_member *m = member_of(r, o);
    if (m && check_size(r, m, d->param_size)) {
        check_digest(r, o, m->name, m->data, m->size);
        d->param_block = array_of(r, d->param_size, 1);
        if (d->param_block)
            memcpy(d->param_block, m->data, d->param_size);
    }
    uint32_t n = list(r, o, "list", MAX_PARAMS, &v);
    d->params = array_of(r, n, sizeof *d->params);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        struct cwd_param *p = &d->params[d->nparams++];
        p->offset = (uint32_t)number(r, i, "offset", MAX_PARAMS);
        p->size = (uint32_t)number(r, i, "size", MAX_PARAMS);
        p->type = string(r, i, "type", true);
        p->name = string(r, i, "name", true);
        if (p->offset > d->param_size || p->size > d->param_size - p->offset)
            BAD(r, "parameter %u lies outside of the parameter block; the dump is damaged", d->nparams - 1);
    }
}

static int
by_address(const void *a, const void *b)
{
    const struct cwd_buffer *const *x = a, *const *y = b;
    return (*x)->address < (*y)->address ? -1 : (*x)->address > (*y)->address;
}

static void
check_overlap(struct reader *r)
{
    struct cwd_dump *d = r->d;
    struct cwd_buffer **s = array_of(r, d->nbuffers, sizeof *s);
    if (!s || r->r != CW_OK)
        return;
    for (uint32_t i = 0; i < d->nbuffers; i++)
        s[i] = &d->buffers[i];
    qsort(s, d->nbuffers, sizeof *s, by_address);
    for (uint32_t i = 1; i < d->nbuffers; i++)
        if (s[i - 1]->address + s[i - 1]->size > s[i]->address)
            BAD(r, "two buffers overlap at 0x%llx; the dump is damaged", (unsigned long long)s[i]->address);
}

static void
read_buffers(struct reader *r, const cJSON *o)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    uint32_t n = list(r, o, "buffers", MAX_LIST, &v);
    d->buffers = array_of(r, n, sizeof *d->buffers);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        struct cwd_buffer *b = &d->buffers[d->nbuffers++];
        const char *kind = string(r, i, "kind", false);
        for (b->kind = 0; b->kind < CWD_KIND_COUNT && strcmp(kind, cwd_kind_name(b->kind)); b->kind++)
            ;
        if (b->kind == CWD_KIND_COUNT)
            BAD(r, "the manifest has a buffer of an unknown kind; use a newer cudaway-replay, or the dump is damaged");
        b->name = string(r, i, "name", true);
        b->element = string(r, i, "element", true);
        b->address = hex(r, i, "address");
        b->size = number(r, i, "size", MAX_SIZE);
        if (r->r == CW_OK && (!b->size || !b->address || b->address > UINT64_MAX - b->size))
            BAD(r, "buffer %u is empty or at an impossible address; the dump is damaged", d->nbuffers - 1);
        if (r->r == CW_OK && (b->kind == CWD_VARIABLE || b->kind == CWD_CONSTANT) && !b->name)
            BAD(r, "buffer %u is a variable without a name; the dump is damaged", d->nbuffers - 1);
        reserve(r, b->size);
        reserve(r, b->size);
        if (r->r == CW_OK)
            contents(r, i, b->size, &b->before, &b->after);
    }
    check_overlap(r);
}

static void
read_arrays(struct reader *r, const cJSON *o)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    uint32_t n = list(r, o, "arrays", MAX_LIST, &v);
    d->arrays = array_of(r, n, sizeof *d->arrays);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        struct cwd_array *a = &d->arrays[d->narrays++];
        a->width = number(r, i, "width", 1u << 20);
        a->height = number(r, i, "height", 1u << 20);
        a->depth = number(r, i, "depth", 1u << 20);
        a->format = (uint32_t)number(r, i, "format", UINT32_MAX);
        a->channels = (uint32_t)number(r, i, "channels", 4);
        a->flags = (uint32_t)number(r, i, "flags", UINT32_MAX);
        a->levels = (uint32_t)number(r, i, "levels", 21);
        a->size = number(r, i, "size", MAX_SIZE);
        if (r->r == CW_OK && (!a->size || a->size != cwd_array_bytes(a)))
            BAD(r, "the size of array %u does not fit its description; the dump is damaged", d->narrays - 1);
        reserve(r, a->size);
        reserve(r, a->size);
        if (r->r == CW_OK)
            contents(r, i, a->size, &a->before, &a->after);
    }
}

static void
read_texture(struct reader *r, const cJSON *o, struct cwd_texture *t)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    const char *type = string(r, o, "type", false);
    t->surface = !strcmp(type, "surface");
    if (r->r == CW_OK && !t->surface && strcmp(type, "texture"))
        BAD(r, "the manifest has a texture of an unknown type; the dump is damaged");
    t->handle = hex(r, o, "handle");
    t->resource = (uint32_t)number(r, o, "resource", CU_RESOURCE_TYPE_PITCH2D);
    v = get(r, o, "array");
    t->array = -1;
    if (v && !cJSON_IsNull(v)) {
        uint64_t n = number_of(r, v, "array", INT32_MAX);
        if (r->r == CW_OK && n >= d->narrays)
            BAD(r, "a texture names an array that is not there; the dump is damaged");
        t->array = (int32_t)n;
    }
    bool needs_array = t->resource == CU_RESOURCE_TYPE_ARRAY || t->resource == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (r->r == CW_OK && needs_array != (t->array >= 0))
        BAD(r, "a texture of an array names none; the dump is damaged");
    t->address = hex(r, o, "address");
    t->size = number(r, o, "size", MAX_SIZE);
    t->width = number(r, o, "width", MAX_SIZE);
    t->height = number(r, o, "height", MAX_SIZE);
    t->pitch = number(r, o, "pitch", MAX_SIZE);
    t->format = (uint32_t)number(r, o, "format", UINT32_MAX);
    t->channels = (uint32_t)number(r, o, "channels", UINT32_MAX);
    triple(r, o, "address_mode", t->address_mode);
    t->filter = (uint32_t)number(r, o, "filter", UINT32_MAX);
    t->flags = (uint32_t)number(r, o, "flags", UINT32_MAX);
    t->anisotropy = (uint32_t)number(r, o, "anisotropy", UINT32_MAX);
    t->mip_filter = (uint32_t)number(r, o, "mip_filter", UINT32_MAX);
    t->mip_bias = real(r, o, "mip_bias");
    t->min_level = real(r, o, "min_level");
    t->max_level = real(r, o, "max_level");
    t->border[0] = real(r, o, "border0");
    t->border[1] = real(r, o, "border1");
    t->border[2] = real(r, o, "border2");
    t->border[3] = real(r, o, "border3");
    const cJSON *w = cJSON_GetObjectItemCaseSensitive(o, "view");
    if (w) {
        t->has_view = true;
        t->view_format = (uint32_t)number(r, w, "format", UINT32_MAX);
        t->view_width = number(r, w, "width", MAX_SIZE);
        t->view_height = number(r, w, "height", MAX_SIZE);
        t->view_depth = number(r, w, "depth", MAX_SIZE);
        t->first_level = (uint32_t)number(r, w, "first_level", UINT32_MAX);
        t->last_level = (uint32_t)number(r, w, "last_level", UINT32_MAX);
        t->first_layer = (uint32_t)number(r, w, "first_layer", UINT32_MAX);
        t->last_layer = (uint32_t)number(r, w, "last_layer", UINT32_MAX);
    }
    uint32_t n = list(r, o, "uses", MAX_LIST, &v);
    t->uses = array_of(r, n, sizeof *t->uses);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        struct cwd_use *u = &t->uses[t->nuses++];
        const cJSON *b = get(r, i, "buffer");
        u->buffer = -1;
        if (b && !(cJSON_IsNumber(b) && b->valuedouble == -1))
            u->buffer = (int32_t)number_of(r, b, "buffer", INT32_MAX);
        u->offset = number(r, i, "offset", MAX_SIZE);
        if (r->r != CW_OK)
            return;
        uint64_t size = u->buffer < 0 ? d->param_size : (uint32_t)u->buffer < d->nbuffers ? d->buffers[u->buffer].size : 0;
        if (size < 8 || u->offset > size - 8)
            BAD(r, "the handle of a texture lies outside of what holds it; the dump is damaged");
    }
}

static void
read_manifest(struct reader *r, const cJSON *o)
{
    struct cwd_dump *d = r->d;
    const cJSON *v, *i;
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(o, "format");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, "cudaway-kernel-dump")) {
        BAD(r, "is not a kernel dump (the manifest does not say so)");
        return;
    }
    uint64_t version = number(r, o, "version", UINT32_MAX);
    if (r->r == CW_OK && version != CWD_FORMAT_VERSION)
        bad(r, CW_ERR_VERSION, "has format version %llu, this program reads version %d; use a newer cudaway-replay",
            (unsigned long long)version, CWD_FORMAT_VERSION);
    d->version = string(r, o, "cudaway", true);
    v = get(r, o, "device");
    d->device = string(r, v, "name", true);
    d->device = d->device ? d->device : "an unknown device";
    d->driver = (uint32_t)number(r, v, "driver", UINT32_MAX);
    d->compute_capability = (uint32_t)number(r, v, "compute_capability", UINT32_MAX);
    d->kernel = string(r, o, "kernel", false);
    d->launch = (uint32_t)number(r, o, "launch", UINT32_MAX);
    triple(r, o, "grid", d->grid);
    triple(r, o, "block", d->block);
    d->shared = (uint32_t)number(r, o, "dynamic_shared", UINT32_MAX);
    d->cooperative = boolean(r, o, "cooperative");
    if (o && cJSON_GetObjectItemCaseSensitive(o, "cluster"))
        triple(r, o, "cluster", d->cluster);
    const cJSON *fault = o ? cJSON_GetObjectItemCaseSensitive(o, "fault") : NULL;
    if (fault) {
        d->fault = string(r, fault, "error", false);
        d->suspects = (uint32_t)number(r, fault, "suspects", UINT32_MAX);
    }
    if (r->r == CW_OK)
        read_module(r, get(r, o, "module"));
    if (r->r == CW_OK)
        read_params(r, get(r, o, "parameters"));
    if (r->r == CW_OK)
        read_buffers(r, o);
    if (r->r == CW_OK)
        read_arrays(r, o);
    if (r->r != CW_OK)
        return;
    uint32_t n = list(r, o, "textures", MAX_LIST, &v);
    d->textures = array_of(r, n, sizeof *d->textures);
    cJSON_ArrayForEach(i, v) {
        if (r->r != CW_OK)
            return;
        read_texture(r, i, &d->textures[d->ntextures++]);
    }
}

static uint64_t
default_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 * 3 : 1ull << 30;
}

cw_result
cwd_read_memory(const void *data, size_t size, unsigned flags, uint64_t limit, struct cwd_dump *d, struct cwd_error *e)
{
    struct reader r = { .d = d, .e = e, .flags = flags, .limit = limit ? limit : default_limit() };
    cwd_init(d);
    cw_result t = cwd_tar_read(data, size, &r.tar, e);
    if (t != CW_OK) {
        cwd_finish(d);
        return t;
    }
    const struct cwd_member *m = cwd_tar_find(&r.tar, "manifest.json");
    cJSON *o = NULL;
    errno = 0;                              /* cJSON does not say why it gives nothing */
    if (!m || m->size > MAX_MANIFEST)
        BAD(&r, "is not a kernel dump (it has no manifest.json)");
    else if (!(o = cJSON_ParseWithLength((const char *)m->data, m->size)) && errno == ENOMEM)
        bad(&r, CW_ERR_NOMEM, "out of memory");
    else if (!cJSON_IsObject(o))
        BAD(&r, "manifest.json is not JSON; the dump is damaged");
    else
        read_manifest(&r, o);
    cJSON_Delete(o);
    cwd_tar_finish(&r.tar);
    if (r.r != CW_OK)
        cwd_finish(d);
    return r.r;
}

cw_result
cwd_read(const char *path, unsigned flags, uint64_t limit, struct cwd_dump *d, struct cwd_error *e)
{
    char *data;
    size_t size;
    struct cwd_error inner = { "" };
    cwd_init(d);
    uint64_t most = limit ? limit : default_limit();
    cw_result r = cw_file_read(path, most, &data, &size);
    if (r == CW_ERR_LIMIT)
        return cwd_fail(e, r, "%s is larger than %llu MiB; use a machine with more memory", path, (unsigned long long)(most >> 20));
    if (r == CW_ERR_NOMEM)
        return cwd_fail(e, r, "%s: out of memory", path);
    if (r != CW_OK)
        return cwd_fail(e, r, "cannot read %s: %s", path, strerror(errno));
    r = cwd_read_memory(data, size, flags, limit, d, &inner);
    free(data);
    if (r != CW_OK)
        return cwd_fail(e, r, "%s: %.400s", path, inner.text);
    return CW_OK;
}
