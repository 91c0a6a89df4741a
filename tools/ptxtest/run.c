/* SPDX-License-Identifier: Apache-2.0
 * One launch on a device. All buffers lie in one piece of device memory, between guards, so that a launch costs one copy each
 * way and a write behind a buffer is seen. Failures are collected and printed once it is known whether the test is a todo. */
#include "tools/ptxtest/ptxtest.h"

#include <inttypes.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, PATTERN = 0xa5, LOG_SIZE = 8192 };

struct pt_module {
    CUmodule module;
    struct saved {                  /* what the module gave its variables */
        struct saved *next;
        const char *name;
        CUdeviceptr at;
        size_t size;
        uint8_t bytes[];
    } *saved;
};

struct run {
    struct pt_runner *r;
    const struct pt_file *f;
    const struct pt_launch *l;
    struct pt_module *m;
    struct cw_buf lines;            /* failures */
    uint64_t at[PT_MAX_SCOPE], size[PT_MAX_SCOPE];  /* offsets in memory; VARIABLE: address */
    uint32_t room[PT_MAX_SCOPE];    /* elements with the padding */
    uint8_t *before, *after;        /* all of the memory */
    uint8_t *variable[PT_MAX_SCOPE];
    struct pt_object object[PT_MAX_SCOPE];
    uint64_t total;
    bool unknown, changed;
};

static void __attribute__((format(printf, 2, 3)))
fail(struct run *w, const char *fmt, ...)
{
    va_list ap;
    cw_buf_printf(&w->lines, "%s:%u: %s: ", w->f->path, w->l->line, w->l->test);
    va_start(ap, fmt);
    cw_buf_vprintf(&w->lines, fmt, ap);
    va_end(ap);
    cw_buf_puts(&w->lines, "\n");
}

static const struct pt_decl *
decl(const struct run *w, uint32_t i)
{
    return &w->f->decls[w->l->scope[i]];
}

static int
position(const struct run *w, uint16_t d)
{
    for (uint32_t i = 0; i < w->l->nscope; i++)
        if (w->l->scope[i] == d)
            return (int)i;
    return -1;
}

/* ---- modules ---------------------------------------------------------------------------------------------------------------- */

struct pt_module *
pt_module_load(struct pt_runner *r, const struct pt_file *f, CUresult *status, char **log)
{
    struct pt_module *m = calloc(1, sizeof *m);
    char *text = calloc(1, LOG_SIZE);
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL };
    void *values[] = { text, (void *)(uintptr_t)LOG_SIZE, NULL };
    *log = NULL;
    *status = m && text ? r->driver.cu.cuModuleLoadDataEx(&m->module, f->text, r->driver.unoptimised ? 3 : 2, options, values)
                        : CUDA_ERROR_OUT_OF_MEMORY;
    if (*status == CUDA_SUCCESS) {
        free(text);
        return m;
    }
    free(m);
    *log = text;
    return NULL;
}

void
pt_module_unload(struct pt_runner *r, struct pt_module *m)
{
    if (!m)
        return;
    while (m->saved) {
        struct saved *s = m->saved;
        m->saved = s->next;
        free(s);
    }
    if (!r->lost)
        r->driver.cu.cuModuleUnload(m->module);
    free(m);
}

/* The variable with its first contents, or NULL with a failure. */
static const struct saved *
save_variable(struct run *w, const char *name)
{
    struct saved *s = w->m->saved;
    while (s && strcmp(s->name, name))
        s = s->next;
    if (s)
        return s;
    CUdeviceptr at;
    size_t size;
    CUresult c = w->r->driver.cu.cuModuleGetGlobal_v2(&at, &size, w->m->module, name);
    s = c == CUDA_SUCCESS ? calloc(1, sizeof *s + size) : NULL;
    if (s)
        c = w->r->driver.cu.cuMemcpyDtoH_v2(s->bytes, at, size);
    if (!s || c != CUDA_SUCCESS) {
        fail(w, "variable %s: %s", name, cwd_driver_error(&w->r->driver.cu, c));
        free(s);
        return NULL;
    }
    s->name = name;
    s->at = at;
    s->size = size;
    s->next = w->m->saved;
    w->m->saved = s;
    return s;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------------- */

static uint64_t
address_of(const struct run *w, uint16_t d)
{
    int i = position(w, d);
    return i < 0 ? 0 : decl(w, (uint32_t)i)->kind == PT_VARIABLE ? w->at[i] : w->r->memory + w->at[i];
}

/* The elements of a list, addresses filled in; elements behind the list repeat its last one. */
static void
put_list(const struct run *w, const struct pt_list *l, uint8_t *to, uint32_t room, bool repeat)
{
    unsigned size = pt_type_size(l->type);
    memcpy(to, l->bytes, (size_t)l->count * size);
    for (uint32_t i = 0; l->target && i < l->count; i++)
        if (l->how[i] == PT_ADDRESS) {
            uint64_t v = pt_load(l->type, l->bytes, i).lo + address_of(w, l->target[i]);
            memcpy(to + (size_t)i * size, &v, size);
        }
    for (uint32_t i = l->count; i < room; i++)
        memcpy(to + (size_t)i * size, to + (size_t)(repeat ? l->count - 1 : i) * size, repeat ? size : 0);
}

static bool
place(struct run *w)
{
    const struct pt_launch *l = w->l;
    uint64_t at = GUARD;
    for (uint32_t i = 0; i < l->nscope; i++) {
        const struct pt_decl *d = decl(w, i);
        if (!pt_in_memory(d))
            continue;
        w->room[i] = d->init.count;
        if (d->kind == PT_VARIABLE) {
            const struct saved *s = save_variable(w, d->name);
            if (!s)
                return false;
            w->at[i] = s->at;
            w->size[i] = s->size;
            if ((uint64_t)d->init.count * pt_type_size(d->init.type) != s->size) {
                fail(w, "variable %s has %" PRIu64 " bytes, not %u", d->name, (uint64_t)s->size, d->init.count * pt_type_size(d->init.type));
                return false;
            }
            continue;
        }
        if (l->count && d->init.count == l->count)
            w->room[i] = l->threads;
        w->at[i] = at;
        w->size[i] = (uint64_t)w->room[i] * pt_type_size(d->init.type);
        at += (w->size[i] + 255) / 256 * 256 + GUARD;
    }
    w->total = at;
    if (at > w->r->memory_size) {
        uint64_t size = at < 4 << 20 ? 4 << 20 : at * 2;
        if (w->r->memory)
            w->r->driver.cu.cuMemFree_v2(w->r->memory);
        w->r->memory = w->r->memory_size = 0;
        CUresult c = w->r->driver.cu.cuMemAlloc_v2(&w->r->memory, size);
        if (c != CUDA_SUCCESS) {
            fail(w, "%" PRIu64 " bytes of device memory: %s", size, cwd_driver_error(&w->r->driver.cu, c));
            return false;
        }
        w->r->memory_size = size;
    }
    return true;
}

static bool
upload(struct run *w)
{
    const struct pt_launch *l = w->l;
    CUresult c;
    w->before = malloc(w->total);
    w->after = malloc(w->total);
    if (!w->before || !w->after) {
        fail(w, "out of memory");
        return false;
    }
    memset(w->before, PATTERN, w->total);
    for (uint32_t i = 0; i < l->nscope; i++) {
        const struct pt_decl *d = decl(w, i);
        if (d->kind != PT_BUFFER)
            continue;
        memset(w->before + w->at[i], 0, w->size[i]);
        put_list(w, &d->init, w->before + w->at[i], w->room[i], true);
    }
    c = w->r->driver.cu.cuMemcpyHtoD_v2(w->r->memory, w->before, w->total);
    for (uint32_t i = 0; i < l->nscope && c == CUDA_SUCCESS; i++) {
        const struct pt_decl *d = decl(w, i);
        if (d->kind != PT_VARIABLE)
            continue;
        if (!(w->variable[i] = malloc(w->size[i] + !w->size[i]))) {
            fail(w, "out of memory");
            return false;
        }
        if (d->given)
            put_list(w, &d->init, w->variable[i], w->room[i], false);
        else
            memcpy(w->variable[i], save_variable(w, d->name)->bytes, w->size[i]);
        c = w->r->driver.cu.cuMemcpyHtoD_v2(w->at[i], w->variable[i], w->size[i]);
    }
    if (c != CUDA_SUCCESS)
        fail(w, "copying to the device: %s", cwd_driver_error(&w->r->driver.cu, c));
    return c == CUDA_SUCCESS;
}

static bool
download(struct run *w)
{
    CUresult c = w->r->driver.cu.cuMemcpyDtoH_v2(w->after, w->r->memory, w->total);
    for (uint32_t i = 0; i < w->l->nscope && c == CUDA_SUCCESS; i++)
        if (decl(w, i)->kind == PT_VARIABLE)
            c = w->r->driver.cu.cuMemcpyDtoH_v2(w->variable[i], w->at[i], w->size[i]);
    if (c != CUDA_SUCCESS)
        fail(w, "copying from the device: %s", cwd_driver_error(&w->r->driver.cu, c));
    return c == CUDA_SUCCESS;
}

static const uint8_t *
contents(const struct run *w, uint32_t i)
{
    return decl(w, i)->kind == PT_VARIABLE ? w->variable[i] : w->after + w->at[i];
}

/* ---- comparison ------------------------------------------------------------------------------------------------------------- */

/* Floats in order, so that neighbours differ by one. */
static int64_t
ordered(const struct pt_type *t, uint64_t lane)
{
    uint64_t sign = 1ull << (t->bits - 1);
    return lane & sign ? -(int64_t)(lane & (sign - 1)) : (int64_t)lane;
}

static bool
lane_ok(const struct pt_type *t, const struct pt_expect *x, enum pt_how how, uint64_t want, uint64_t got)
{
    bool nan = pt_is_nan(t, got);
    if (how == PT_ANY_NAN)
        return nan;
    if (want == got)
        return true;
    if (t->kind != PT_FLOAT || nan || pt_is_nan(t, want))
        return nan && x->nan_any && pt_is_nan(t, want);
    if (x->ulp) {
        int64_t a = ordered(t, want), b = ordered(t, got);
        uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
        if (distance <= x->ulp)
            return true;
    }
    return x->abs > 0 && fabs(pt_to_double(t, want) - pt_to_double(t, got)) <= x->abs;
}

static bool
element_ok(const struct pt_type *t, const struct pt_expect *x, enum pt_how how, struct pt_bits want, struct pt_bits got)
{
    if (how == PT_ANY || (want.lo == got.lo && want.hi == got.hi && how != PT_ANY_NAN))
        return true;
    if (t->bits > 64)
        return false;
    for (unsigned lane = 0; lane < t->lanes; lane++) {
        uint64_t mask = t->bits >= 64 ? ~0ull : (1ull << t->bits) - 1;
        if (!lane_ok(t, x, how, want.lo >> (lane * t->bits) & mask, got.lo >> (lane * t->bits) & mask))
            return false;
    }
    return true;
}

/* The tolerance for texture units with other weights than NVIDIA's. */
struct slack {
    double most;                    /* 0: not at all */
    bool integers;                  /* it is one of integers, else of floats */
};

static struct slack
filter_slack(const struct run *w)
{
    struct slack s = { 0, false };
    for (uint32_t i = 0; i < w->l->nscope && w->r->filter_steps; i++) {
        const struct pt_decl *d = decl(w, i);
        if (d->kind != PT_TEXTURE || d->texture->desc.filterMode != CU_TR_FILTER_MODE_LINEAR)
            continue;
        const struct pt_list *texels = &w->f->decls[d->texture->buffer].init;
        s.integers = d->texture->desc.flags & CU_TRSF_READ_AS_INTEGER && texels->type->kind != PT_FLOAT;
        if (texels->type->kind != PT_FLOAT)         /* from 0 or -1 to 1 */
            s.most = s.integers ? ldexp(1, texels->type->bits) : 1;
        for (uint32_t k = 0; texels->type->kind == PT_FLOAT && k < texels->count; k++) {
            double v = fabs(pt_to_double(texels->type, pt_load(texels->type, texels->bytes, k).lo));
            s.most = v <= DBL_MAX ? fmax(s.most, v) : s.most;
        }
    }
    s.most = s.most * w->r->filter_steps / 256;
    return s;
}

static bool
filtered_ok(const struct pt_type *t, const struct slack *s, struct pt_bits want, struct pt_bits got)
{
    float a, b;
    uint32_t x = (uint32_t)want.lo, y = (uint32_t)got.lo;
    if (s->most <= 0 || t->bits != 32 || t->lanes != 1)
        return false;
    if (s->integers)
        return fabs((double)(int32_t)x - (double)(int32_t)y) <= s->most;
    memcpy(&a, &x, 4);
    memcpy(&b, &y, 4);
    return (isnan(a) && isnan(b)) || fabs((double)a - (double)b) <= s->most;
}

/* The contents of the other buffers at this index. */
static void
print_inputs(struct run *w, uint32_t buffer, uint32_t index)
{
    const char *before = "; from ";
    for (uint32_t i = 0; i < w->l->nscope; i++) {
        const struct pt_decl *d = decl(w, i);
        bool expected = false;
        for (uint32_t k = 0; k < w->l->nexpects; k++)
            expected = expected || w->l->expects[k].decl == w->l->scope[i];
        if (i == buffer || d->kind != PT_BUFFER || expected || d->init.count != decl(w, buffer)->init.count)
            continue;
        cw_buf_printf(&w->lines, "%s%s ", before, d->name);
        pt_print(d->init.type, pt_load(d->init.type, w->before + w->at[i], index), &w->lines);
        before = ", ";
    }
}

static void
compare(struct run *w, uint32_t i, const struct pt_expect *x)
{
    const struct pt_decl *d = decl(w, i);
    const struct pt_type *t = d->init.type;
    uint32_t bad = 0;
    struct slack slack = filter_slack(w);
    for (uint32_t k = 0; k < x->list.count; k++) {
        enum pt_how how = x->list.how ? x->list.how[k] : PT_EXACT;
        struct pt_bits want = pt_load(t, x->list.bytes, k), got = pt_load(t, contents(w, i), k);
        if (how == PT_ADDRESS)
            want.lo = (want.lo + address_of(w, x->list.target[k])) & (w->f->addr32 ? UINT32_MAX : UINT64_MAX);
        if (element_ok(t, x, how, want, got) || filtered_ok(t, &slack, want, got))
            continue;
        if (++bad > w->r->limit)
            continue;
        cw_buf_printf(&w->lines, "%s:%u: %s: %s[%u]: expected ", w->f->path, x->line, w->l->test, d->name, k);
        if (how == PT_ANY_NAN)
            cw_buf_puts(&w->lines, "any NaN");
        else
            pt_print(t, want, &w->lines);
        cw_buf_puts(&w->lines, ", got ");
        pt_print(t, got, &w->lines);
        print_inputs(w, i, k);
        cw_buf_puts(&w->lines, "\n");
    }
    if (bad > w->r->limit)
        cw_buf_printf(&w->lines, "%s:%u: %s: %s: %u of %u elements differ\n", w->f->path, x->line, w->l->test, d->name, bad, x->list.count);
}

static const struct pt_expect *
expectation(const struct run *w, uint32_t i)
{
    for (uint32_t k = 0; k < w->l->nexpects; k++)
        if (w->l->expects[k].decl == w->l->scope[i])
            return &w->l->expects[k];
    return NULL;
}

static void
check_guards(struct run *w)
{
    uint64_t from = 0;
    for (uint32_t i = 0; i <= w->l->nscope; i++) {
        if (i < w->l->nscope && decl(w, i)->kind != PT_BUFFER)
            continue;
        uint64_t to = i < w->l->nscope ? w->at[i] : w->total;
        for (uint64_t k = from; k < to; k++)
            if (w->after[k] != PATTERN) {
                fail(w, "a write outside of the buffers, %" PRIu64 " bytes behind the end of the buffer before %s", k - from,
                     i < w->l->nscope ? decl(w, i)->name : "the end");
                return;
            }
        if (i < w->l->nscope)
            from = to + w->size[i];
    }
}

static void
check_results(struct run *w)
{
    bool known = false;
    for (uint32_t k = 0; k < w->l->nexpects; k++) {
        const struct pt_expect *x = &w->l->expects[k];
        bool open = x->origin == PT_UNKNOWN || (x->origin == PT_SAME && x->pending);
        known = known || !open;
        w->unknown = w->unknown || open;
    }
    for (uint32_t i = 0; i < w->l->nscope; i++) {
        const struct pt_decl *d = decl(w, i);
        const struct pt_expect *x = expectation(w, i);
        if (!pt_in_memory(d))
            continue;
        if (x) {
            if (x->origin == PT_DERIVED || x->origin == PT_RECORDED || (x->origin == PT_SAME && !x->pending))
                compare(w, i, x);
        } else if (d->kind == PT_BUFFER && memcmp(w->before + w->at[i], w->after + w->at[i], (size_t)d->init.count * pt_type_size(d->init.type))) {
            if (known)
                fail(w, "%s changed, and nothing is expected of it (it may be said: expect %s any)", d->name, d->name);
            else
                w->unknown = true;
        }
    }
    if (!known && !w->unknown)
        fail(w, "nothing changed, and nothing is expected");
    check_guards(w);
}

/* ---- the launch ------------------------------------------------------------------------------------------------------------- */

/* The kernel's own parameters, where the driver can return them. */
static bool
check_parameters(struct run *w, CUfunction function, const uint32_t *size)
{
    size_t offset, bytes;
    if (!w->r->driver.cu.cuFuncGetParamInfo || w->r->driver.cu.cuFuncGetParamInfo(function, 0, &offset, &bytes) == CUDA_ERROR_NOT_SUPPORTED)
        return true;
    for (uint32_t i = 0; i < w->l->nparams; i++) {
        if (w->r->driver.cu.cuFuncGetParamInfo(function, i, &offset, &bytes) != CUDA_SUCCESS) {
            fail(w, "%s takes %u parameters, not %u", w->l->kernel, i, w->l->nparams);
            return false;
        }
        if (bytes != size[i] && !(w->f->addr32 && bytes == 4 && pt_in_memory(&w->f->decls[w->l->param[i]]))) {
            fail(w, "parameter %u of %s has %zu bytes, not %u", i + 1, w->l->kernel, bytes, size[i]);
            return false;
        }
    }
    if (w->r->driver.cu.cuFuncGetParamInfo(function, w->l->nparams, &offset, &bytes) == CUDA_SUCCESS) {
        fail(w, "%s takes more than %u parameters", w->l->kernel, w->l->nparams);
        return false;
    }
    return true;
}

/* CUDA_SUCCESS also when a failure was noted. */
static CUresult
launch(struct run *w, const char **what)
{
    const struct pt_launch *l = w->l;
    const struct cw_cuda_table *cu = &w->r->driver.cu;
    CUfunction function;
    uint64_t address[PT_MAX_SCOPE];
    uint8_t copies[PT_MAX_SCOPE][16];
    uint32_t size[PT_MAX_SCOPE];
    void *params[PT_MAX_SCOPE + 1] = { NULL };
    CUtensorMap maps[PT_MAX_SCOPE];
    *what = "finding the kernel";
    CUresult c = cu->cuModuleGetFunction(&function, w->m->module, l->kernel);
    if (c != CUDA_SUCCESS)
        return c;
    if (!place(w) || !upload(w))
        return CUDA_SUCCESS;
    *what = "making textures and surfaces";
    for (uint32_t i = 0; i < l->nscope && c == CUDA_SUCCESS; i++)
        if (decl(w, i)->texture) {
            int at = position(w, decl(w, i)->texture->buffer);
            if (at >= 0)
                c = pt_object_create(w->r, w->m->module, decl(w, i), decl(w, (uint32_t)at)->init.type, w->before + w->at[at], &w->object[i]);
        }
    if (c != CUDA_SUCCESS)
        return c;
    for (uint32_t i = 0; i < l->nparams; i++) {
        const struct pt_decl *d = &w->f->decls[l->param[i]];
        size[i] = sizeof address[i];
        if (d->kind == PT_VALUE) {
            size[i] = d->init.count * pt_type_size(d->init.type);
            params[i] = d->init.bytes;
            if (d->init.target && size[i] <= sizeof copies[i]) {
                put_list(w, &d->init, copies[i], d->init.count, false);
                params[i] = copies[i];
            }
        } else if (d->tensor) {
            size[i] = sizeof maps[i];
            params[i] = &maps[i];
            *what = "making a tensor map";
            c = pt_tensor_encode(w->r, d->tensor, address_of(w, d->tensor->buffer), &maps[i]);
            if (c != CUDA_SUCCESS)
                return c;
        } else {
            int at = position(w, l->param[i]);
            address[i] = pt_in_memory(d) ? address_of(w, l->param[i]) : at < 0 ? 0 : w->object[at].handle;
            params[i] = &address[i];
        }
    }
    if (!check_parameters(w, function, size))
        return CUDA_SUCCESS;
    *what = "dynamic shared memory";
    if (l->shared > 48 << 10)
        c = cu->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->shared);
    if (c != CUDA_SUCCESS)
        return c;
    *what = "launching";
    if (l->cooperative)
        c = cu->cuLaunchCooperativeKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared,
                                          NULL, params);
    else
        c = cu->cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, NULL, params, NULL);
    if (c != CUDA_SUCCESS)
        return c;
    *what = "running";
    c = cu->cuCtxSynchronize();
    if (c != CUDA_SUCCESS) {
        w->r->lost = true;
        return c;
    }
    *what = "reading surfaces";
    for (uint32_t i = 0; i < l->nscope && c == CUDA_SUCCESS; i++)
        if (decl(w, i)->kind == PT_SURFACE) {
            int at = position(w, decl(w, i)->texture->buffer);
            if (at >= 0)
                c = pt_object_store(w->r, decl(w, i), decl(w, (uint32_t)at)->init.type, &w->object[i], w->r->memory + w->at[at]);
        }
    if (c != CUDA_SUCCESS)
        return c;
    if (!l->error && download(w))
        check_results(w);
    return c;
}

static void
check_error(struct run *w, CUresult c, const char *what, const char *log)
{
    const char *name = c == CUDA_SUCCESS ? "none" : cwd_driver_error(&w->r->driver.cu, c);
    if (!w->l->error && c != CUDA_SUCCESS)
        fail(w, "%s: %s%s%s", what, name, log && *log ? "\n" : "", log ? log : "");
    else if (w->l->error && strcmp(name, w->l->error))
        fail(w, "expected the error %s, got %s%s%s%s", w->l->error, name, c != CUDA_SUCCESS ? " when " : "", c != CUDA_SUCCESS ? what : "",
             log ? log : "");
    else if (w->l->error_text && !(log && strstr(log, w->l->error_text)))
        fail(w, "'%s' is not in the log:\n%s", w->l->error_text, log ? log : "");
}

static void
keep(struct run *w, struct pt_result *out)
{
    for (uint32_t i = 0; i < w->l->nscope; i++) {
        const struct pt_decl *d = decl(w, i);
        size_t size = !pt_in_memory(d) ? 0 : (size_t)d->init.count * pt_type_size(d->init.type);
        if (!size || !(out->after[i].bytes = malloc(size)))
            continue;
        memcpy(out->after[i].bytes, contents(w, i), size);
        out->after[i].changed = d->kind == PT_BUFFER && memcmp(w->before + w->at[i], w->after + w->at[i], size);
    }
}

void
pt_run(struct pt_runner *r, const struct pt_file *f, const struct pt_launch *l, struct pt_module *m, CUresult status, const char *log,
       struct pt_result *out)
{
    struct run w = { .r = r, .f = f, .l = l, .m = m };
    const struct pt_note *todo = pt_find_note(l->todo, l->ntodo, r->on);
    const char *what = "loading the module";
    *out = (struct pt_result){ .outcome = PT_PASSED };
    cw_buf_init(&w.lines);
    if (m)
        status = launch(&w, &what);
    check_error(&w, status, what, m ? NULL : log);
    bool failed = w.lines.size || w.lines.failed;
    if (r->keep && status == CUDA_SUCCESS && w.after && !l->error)
        keep(&w, out);
    if (todo && !failed && !w.unknown) {
        fail(&w, "passes on %s, where it is marked todo (%s)", r->on, todo->reason);
        out->outcome = PT_FAILED;
    } else if (todo) {
        out->outcome = PT_TODO;
        snprintf(out->reason, sizeof out->reason, "%s", todo->reason);
    } else if (failed) {
        out->outcome = PT_FAILED;
    } else if (w.unknown) {
        out->outcome = PT_SKIPPED;
        snprintf(out->reason, sizeof out->reason, "not recorded");
    }
    if (out->outcome == PT_FAILED)
        fputs(w.lines.failed ? "out of memory\n" : w.lines.data, stdout);
    cw_buf_finish(&w.lines);
    free(w.before);
    free(w.after);
    for (uint32_t i = 0; i < PT_MAX_SCOPE; i++) {
        free(w.variable[i]);
        pt_object_destroy(r, &w.object[i]);
    }
}

void
pt_result_finish(struct pt_result *x)
{
    for (uint32_t i = 0; i < PT_MAX_SCOPE; i++)
        free(x->after[i].bytes);
    *x = (struct pt_result){ 0 };
}

/* ---- for which devices ------------------------------------------------------------------------------------------------------ */

static bool
in_list(const char *list, const char *word, size_t length)
{
    for (const char *p = list; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        if (n == length && !memcmp(p, word, n))
            return true;
        p += n;
    }
    return false;
}

/* host: both host devices; host:simd the default one; amd: hip and every gfxemu; an architecture: gfxemu of that; all. */
const struct pt_note *
pt_find_note(const struct pt_note *list, uint32_t count, const char *on)
{
    const char *colon = strchr(on, ':');
    size_t stem = colon ? (size_t)(colon - on) : strlen(on);
    bool amd = !strncmp(on, "gfxemu", 6) || !strncmp(on, "hip", 3);
    for (uint32_t i = 0; i < count; i++) {
        const char *d = list[i].device;
        if (in_list(d, "all", 3) || in_list(d, on, strlen(on)) || in_list(d, on, stem) || (amd && in_list(d, "amd", 3)) ||
            (amd && colon && in_list(d, colon + 1, strlen(colon + 1))) || (!strcmp(on, "host") && in_list(d, "host:simd", 9)) ||
            (stem == 4 && !memcmp(on, "cuda", 4) && in_list(d, "nvptx", 5)))
            return &list[i];
    }
    return NULL;
}

/* The PTX ISA version that a CUDA driver of this version reads. */
static uint32_t
ptx_of(uint32_t cuda)
{
    static const uint8_t of_12[] = { 80, 81, 82, 83, 84, 85, 85, 86, 87, 88 };
    uint32_t major = cuda / 1000, minor = cuda % 1000 / 10;
    if (major >= 13)
        return 90 + minor;
    if (major == 12)
        return of_12[minor < sizeof of_12 ? minor : sizeof of_12 - 1];
    return major == 11 ? 70 + minor : 65;
}

const char *
pt_skip_reason(const struct pt_runner *r, const struct pt_launch *l, char *buf, size_t size)
{
    const struct pt_note *skip = pt_find_note(l->skip, l->nskip, r->on);
    if (!skip && r->over)
        skip = pt_find_note(l->skip, l->nskip, r->over);
    if (skip)
        snprintf(buf, size, "%s", skip->reason);
    else if (l->sm > r->driver.compute_capability)
        snprintf(buf, size, "needs sm_%u", l->sm);
    else if (l->target > r->driver.compute_capability && !strncmp(r->on, "cuda", 4))
        snprintf(buf, size, "needs sm_%u", l->target);
    else if (l->ptx > ptx_of(r->driver.version))
        snprintf(buf, size, "needs PTX %u.%u", l->ptx / 10, l->ptx % 10);
    else if (l->memory > r->total)
        snprintf(buf, size, "needs %" PRIu64 " MiB of memory", l->memory >> 20);
    else
        return NULL;
    return buf;
}
