/* SPDX-License-Identifier: Apache-2.0
 * See kernels.h. A light reader of PTX: it looks for .entry directives alone and trusts nothing about the rest; what it does not
 * understand, it leaves out. The texts are those of programs, so nothing here may depend on their being well formed. */
#define _GNU_SOURCE
#include "tracer/cli/kernels.h"

#include "impl/base/file.h"
#include "impl/base/text.h"
#include "jit/jit.h"
#include "tracer/cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 512u
#define MAX_IMAGE (256u << 20)

struct text {
    const char *p, *end;
};

static void
skip(struct text *t)
{
    for (;;) {
        while (t->p < t->end && isspace((unsigned char)*t->p))
            t->p++;
        if (t->end - t->p >= 2 && t->p[0] == '/' && t->p[1] == '/') {
            while (t->p < t->end && *t->p != '\n')
                t->p++;
        } else if (t->end - t->p >= 2 && t->p[0] == '/' && t->p[1] == '*') {
            const char *e = memmem(t->p + 2, (size_t)(t->end - t->p) - 2, "*/", 2);
            t->p = e ? e + 2 : t->end;
        } else {
            return;
        }
    }
}

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* The next word or sign; "" at the end. */
static size_t
word(struct text *t, char *out, size_t size)
{
    skip(t);
    const char *start = t->p;
    while (t->p < t->end && is_word(*t->p))
        t->p++;
    if (t->p == start && t->p < t->end)
        t->p++;
    size_t n = (size_t)(t->p - start);
    n = n < size ? n : size - 1;
    memcpy(out, start, n);
    out[n] = 0;
    return n;
}

static unsigned
type_size(const char *type)
{
    if (!strcmp(type, "pred"))
        return 1;
    unsigned bits = (unsigned)strtoul(type + strcspn(type, "0123456789"), NULL, 10);
    return bits / 8;
}

/* One parameter, behind ".param"; ends behind its ',' or ')'. False: not understood. */
static bool
parse_param(struct text *t, struct kn_param *out, unsigned *offset, bool *last)
{
    char w[64];
    unsigned align = 0, bound = 1;
    *out = (struct kn_param){ .count = 1 };
    for (;;) {
        if (!word(t, w, sizeof w))
            return false;
        if (!strcmp(w, ",") || !strcmp(w, ")"))
            break;
        if (!strcmp(w, ".align")) {
            word(t, w, sizeof w);
            align = out->type[0] ? align : (unsigned)strtoul(w, NULL, 10);      /* behind .ptr it is the pointee's */
        } else if (!strcmp(w, "[")) {
            word(t, w, sizeof w);
            bound = (unsigned)strtoul(w, NULL, 10);
            word(t, w, sizeof w);
        } else if (w[0] == '.' && !out->type[0] && type_size(w + 1)) {
            snprintf(out->type, sizeof out->type, "%.7s", w + 1);
        } else if (w[0] != '.') {
            snprintf(out->name, sizeof out->name, "%s", w);
            cw_text_make_safe(out->name, "");
        }
    }
    *last = w[0] == ')';
    out->size = type_size(out->type);
    if (!out->size || !bound || bound > 65536)
        return false;
    align = align ? align : out->size;
    if (align & (align - 1))
        return false;
    out->count = bound;
    out->offset = (*offset + align - 1) & ~(align - 1);
    *offset = out->offset + out->size * bound;
    return true;
}

static void
parse_entry(struct kn_list *list, struct text *t, const char *start, size_t at)
{
    char name[8192], w[64];
    struct kn_param params[MAX_PARAMS];
    unsigned n = 0, offset = 0, depth = 0;
    if (!word(t, name, sizeof name))
        return;
    cw_text_make_safe(name, "\t");          /* as the reader of events has it */
    if (kernels_find(list, name))
        return;
    word(t, w, sizeof w);
    if (!strcmp(w, "(")) {
        bool last = false;
        while (!last && n < MAX_PARAMS && word(t, w, sizeof w) && !strcmp(w, ".param"))
            if (!parse_param(t, &params[n], &offset, &last))
                return;
            else
                n++;
    }
    while (word(t, w, sizeof w)) {
        depth += !strcmp(w, "{");
        if (!strcmp(w, "}") && !--depth)
            break;
        if (!depth && !strcmp(w, ";"))
            break;
    }
    struct kn_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return;
    k->name = strdup(name);
    k->text = strndup(start, (size_t)(t->p - start));
    k->params = n ? malloc(n * sizeof *params) : NULL;
    if (!k->name || !k->text || (n && !k->params)) {
        free(k->name);
        free(k->text);
        free(k->params);
        free(k);
        return;
    }
    if (n)
        memcpy(k->params, params, n * sizeof *params);
    k->count = n;
    k->at = at;
    k->next = list->first;
    list->first = k;
}

void
kernels_scan(struct kn_list *list, const char *ptx, size_t size)
{
    struct text t = { ptx, ptx + strnlen(ptx, size) };
    char w[64];
    for (;;) {
        skip(&t);
        const char *start = t.p;
        if (!word(&t, w, sizeof w))
            return;
        if (!strcmp(w, ".entry"))
            parse_entry(list, &t, start, (size_t)(start - ptx));
        else if (w[0] == '"')                   /* a string may hold anything */
            while (t.p < t.end && *t.p++ != '"')
                ;
    }
}

const struct kn_kernel *
kernels_find(const struct kn_list *list, const char *name)
{
    for (const struct kn_kernel *k = list->first; k; k = k->next)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

/* ---- values ---- */

static void
put_value(struct cw_buf *out, const char *type, const uint8_t *bytes, unsigned size)
{
    uint64_t u = 0;
    float f;
    double d;
    for (unsigned i = 0; i < size && i < 8; i++)
        u |= (uint64_t)bytes[i] << 8 * i;
    if (!strcmp(type, "f32")) {
        memcpy(&f, bytes, sizeof f);
        cw_buf_printf(out, "%.9g", (double)f);
    } else if (!strcmp(type, "f64")) {
        memcpy(&d, bytes, sizeof d);
        cw_buf_printf(out, "%.17g", d);
    } else if (type[0] == 's') {
        cw_buf_printf(out, "%lld", (long long)(size == 8 ? (int64_t)u : size == 4 ? (int64_t)(int32_t)u : size == 2 ? (int64_t)(int16_t)u : (int64_t)(int8_t)u));
    } else {                                    /* .u64 and .b64 are addresses as well as numbers */
        cw_buf_printf(out, type[0] == 'b' || (size == 8 && u > UINT32_MAX) ? "0x%llx" : "%llu", (unsigned long long)u);
    }
}

void
kernels_values(struct cw_buf *out, const struct kn_kernel *k, const struct tr_field *bytes)
{
    uint8_t data[4096];
    size_t n = 0;
    for (; bytes && n < bytes->count && n < sizeof data; n++)
        data[n] = (uint8_t)bytes->items[n];
    for (unsigned i = 0; i < k->count; i++) {
        const struct kn_param *p = &k->params[i];
        cw_buf_printf(out, "%s%s=", i ? ", " : "", p->name);
        if (p->offset + (size_t)p->size * p->count > n) {
            cw_buf_puts(out, "?");
            continue;
        }
        if (p->count > 1)
            cw_buf_puts(out, "{");
        for (unsigned e = 0; e < p->count && e < 64; e++) {
            cw_buf_puts(out, e ? " " : "");
            put_value(out, p->type, data + p->offset + (size_t)e * p->size, p->size);
        }
        if (p->count > 1)
            cw_buf_puts(out, p->count > 64 ? " ...}" : "}");
    }
}

/* ---- the recording's modules ---- */

static const struct cwj_api *
jit(void)
{
    static bool tried;
    static const struct cwj_api *api;
    if (tried)
        return api;
    tried = true;
    char *path = find_library("libcudaway-jit.so");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct cwj_api *(*get)(uint32_t) = lib ? (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api") : NULL;
    api = get ? get(CWJ_API_VERSION) : NULL;
    free(path);
    return api;
}

static int
on_entry(void *user, const struct cwj_image_entry *e)
{
    if (e->kind == CWJ_ENTRY_PTX)
        kernels_scan(user, e->data, e->size);
    return 0;
}

void
kernels_load(const char *dir, struct kn_list *list)
{
    char path[PATH_MAX];
    memset(list, 0, sizeof *list);
    snprintf(path, sizeof path, "%s/modules", dir);
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        const char *dot = strrchr(e->d_name, '.');
        char *data;
        size_t size;
        const bool ptx = dot && !strcmp(dot, ".ptx"), image = dot && (!strcmp(dot, ".fatbin") || !strcmp(dot, ".elf"));
        if ((!ptx && !image) || dot == e->d_name || snprintf(path, sizeof path, "%s/modules/%s", dir, e->d_name) >= (int)sizeof path)
            continue;
        cw_result r = cw_file_read_regular(path, MAX_IMAGE, &data, &size);
        if (r != CW_OK) {
            say("%s: %s; what its kernels are given is shown as bytes", path, r == CW_ERR_INVALID ? "not a regular file" : strerror(errno));
            continue;
        }
        if (ptx) {
            kernels_scan(list, data, size);
        } else if (jit()) {
            struct cwj_diags diags;
            jit()->diags_init(&diags);
            (void)jit()->image_scan(data, size, on_entry, list, &diags);
            jit()->diags_finish(&diags);
        }
        free(data);
    }
    if (d)
        closedir(d);
}

void
kernels_finish(struct kn_list *list)
{
    while (list->first) {
        struct kn_kernel *k = list->first;
        list->first = k->next;
        free(k->name);
        free(k->text);
        free(k->params);
        free(k);
    }
}
