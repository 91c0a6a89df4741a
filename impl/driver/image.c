/* SPDX-License-Identifier: Apache-2.0
 * From an image as a program passes it (PTX text, fatbin, ELF, what cuLinkComplete gave) to a parsed and linked program:
 * choose the best PTX of every group of alternatives for the device, hand all to the jit, and report what went wrong to the
 * log and to the JIT log buffers. Also the JIT options. */
#define _GNU_SOURCE
#include "impl/base/env.h"
#include "impl/driver/archive.h"
#include "impl/ptx_choice.h"
#include "jit/link/linked_image.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- JIT options ----------------------------------------------------------------------------------------------------- */

static bool
is_target(uintptr_t t)
{
    static const uint32_t targets[] = {
        CU_TARGET_COMPUTE_30, CU_TARGET_COMPUTE_32, CU_TARGET_COMPUTE_35, CU_TARGET_COMPUTE_37, CU_TARGET_COMPUTE_50, CU_TARGET_COMPUTE_52,
        CU_TARGET_COMPUTE_53, CU_TARGET_COMPUTE_60, CU_TARGET_COMPUTE_61, CU_TARGET_COMPUTE_62, CU_TARGET_COMPUTE_70, CU_TARGET_COMPUTE_72,
        CU_TARGET_COMPUTE_75, CU_TARGET_COMPUTE_80, CU_TARGET_COMPUTE_86, CU_TARGET_COMPUTE_87, CU_TARGET_COMPUTE_89, CU_TARGET_COMPUTE_90,
        CU_TARGET_COMPUTE_100, CU_TARGET_COMPUTE_103, CU_TARGET_COMPUTE_110, CU_TARGET_COMPUTE_120, CU_TARGET_COMPUTE_121,
        CU_TARGET_COMPUTE_90A, CU_TARGET_COMPUTE_100A, CU_TARGET_COMPUTE_103A, CU_TARGET_COMPUTE_110A, CU_TARGET_COMPUTE_120A,
        CU_TARGET_COMPUTE_121A, CU_TARGET_COMPUTE_100F, CU_TARGET_COMPUTE_103F, CU_TARGET_COMPUTE_110F, CU_TARGET_COMPUTE_120F,
        CU_TARGET_COMPUTE_121F,
    };
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i] == t)
            return true;
    return false;
}

/* What driver 580 says of one option by itself; the codes are of what an option goes on to. */
static CUresult
check_option(CUjit_option o, void *v)
{
    switch ((int)o) {
    case CU_JIT_MAX_REGISTERS: case CU_JIT_THREADS_PER_BLOCK: case CU_JIT_REFERENCED_KERNEL_NAMES: case CU_JIT_REFERENCED_VARIABLE_NAMES:
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_OPTIMIZATION_LEVEL:     /* levels above the highest are as that one */
        return (int)(uintptr_t)v >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
    case CU_JIT_TARGET:
        return is_target((uintptr_t)v) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    default:
        return (int)o >= 0 && (int)o < CU_JIT_NUM_OPTIONS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
}

/* A buffer and its size come together, and so do names, addresses and their number. */
static bool
are_complete(unsigned n, const CUjit_option *o)
{
    static const uint64_t groups[] = {
        1ull << CU_JIT_INFO_LOG_BUFFER | 1ull << CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        1ull << CU_JIT_ERROR_LOG_BUFFER | 1ull << CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        1ull << CU_JIT_GLOBAL_SYMBOL_NAMES | 1ull << CU_JIT_GLOBAL_SYMBOL_ADDRESSES | 1ull << CU_JIT_GLOBAL_SYMBOL_COUNT,
    };
    uint64_t given = 0;
    for (unsigned i = 0; i < n; i++)
        given |= 1ull << o[i];
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((given & groups[i]) && (given & groups[i]) != groups[i])
            return false;
    return true;
}

CUresult
jit_options_parse(unsigned n, const CUjit_option *o, void **v, struct jit_options *out)
{
    *out = (struct jit_options){ 0 };
    if (n && (!o || !v))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        CUresult e = check_option(o[i], v[i]);
        if (e != CUDA_SUCCESS)
            return e;
    }
    if (!are_complete(n, o))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        size_t number = (uintptr_t)v[i];
        switch ((int)o[i]) {
        case CU_JIT_WALL_TIME:                 out->wall_time = &v[i]; break;
        case CU_JIT_INFO_LOG_BUFFER:           out->info = v[i]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: out->info_size = (unsigned)number; out->info_used = &v[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER:          out->error = v[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: out->error_size = (unsigned)number; out->error_used = &v[i]; break;
        case CU_JIT_MAX_REGISTERS:             out->max_registers = (unsigned)number; break;
        case CU_JIT_LOG_VERBOSE:               out->verbose = number != 0; break;
        default: break;         /* the others tune NVIDIA's code generator and have no counterpart */
        }
    }
    if (out->info && out->info_size)
        out->info[0] = 0;
    if (out->error && out->error_size)
        out->error[0] = 0;
    return CUDA_SUCCESS;
}

static void
fill_log(char *buffer, size_t size, void **used, const char *text)
{
    size_t n = 0;
    if (buffer && size && text) {
        n = strlen(text);
        if (n >= size)
            n = size - 1;
        memcpy(buffer, text, n);
        buffer[n] = 0;
        n++;
    }
    if (used)
        *used = (void *)(uintptr_t)n;
}

void
jit_options_finish(struct jit_options *o, const char *info, const char *error)
{
    if (!o)
        return;
    fill_log(o->info, o->info_size, o->info_used, info);
    fill_log(o->error, o->error_size, o->error_used, error);
    if (o->wall_time) {
        float ms = 0;
        memcpy(o->wall_time, &ms, sizeof ms);
    }
}

/* ---- lists of PTX texts ------------------------------------------------------------------------------------------------ */

static CUresult
list_add(struct ptx_list *l, const char *name, const char *text, size_t size)
{
    while (size && !text[size - 1])
        size--;
    if (l->count == l->capacity) {
        size_t n = l->capacity ? l->capacity * 2 : 8;
        struct cwj_input *in = realloc(l->in, n * sizeof *in);
        if (!in)
            return CUDA_ERROR_OUT_OF_MEMORY;
        l->in = in;
        l->capacity = n;
    }
    char *t = malloc(size + 1), *s = strdup(name ? name : "module");
    if (!t || !s) {
        free(t);
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(t, text, size);
    t[size] = 0;
    l->in[l->count++] = (struct cwj_input){ s, t, size };
    return CUDA_SUCCESS;
}

void
ptx_list_cut(struct ptx_list *l, size_t count)
{
    while (l->count > count) {
        l->count--;
        free((char *)l->in[l->count].name);
        free((char *)l->in[l->count].text);
    }
}

void
ptx_list_finish(struct ptx_list *l)
{
    ptx_list_cut(l, 0);
    free(l->in);
    *l = (struct ptx_list){ 0 };
}

struct scan {
    struct ptx_list *list;
    const char *what;
    unsigned cc;
    uint32_t group;
    bool any, best_fits;
    unsigned best;
    size_t at;                          /* index of the group's best in list */
    CUresult error;
};

static int
found(void *user, const struct cwj_image_entry *e)
{
    struct scan *s = user;
    if (e->kind != CWJ_ENTRY_PTX)
        return 0;
    bool fits = cw_ptx_fits(s->cc, e->sm, e->suffix);
    bool same = s->any && e->group == s->group;
    if (same && !cw_ptx_better(fits, e->sm, s->best_fits, s->best))
        return 0;
    if (same)                           /* replace */
        ptx_list_cut(s->list, s->list->count - 1);
    s->error = list_add(s->list, e->name && *e->name ? e->name : s->what, e->data, e->size);
    s->any = true;
    s->group = e->group;
    s->best = e->sm;
    s->best_fits = fits;
    /* Of relocatable code the parts behind the first may be a device library's, which relocatable_select leaves out where it is unused. */
    if (!fits) {
        static atomic_flag said = ATOMIC_FLAG_INIT;     /* a program may have hundreds of modules for its one target */
        bool first = !e->group && !atomic_flag_test_and_set(&said);
        cw_log(first ? CW_LOG_WARN : CW_LOG_INFO, "%s: only PTX for sm_%u%.1s is there, newer than the device's compute capability %u.%u; trying it "
               "(%s=%u.%u makes the device report that one)", s->what, e->sm, &e->suffix, s->cc / 10, s->cc % 10,
               cw_env_name(CW_ENV_COMPUTE_CAPABILITY), e->sm / 10, e->sm % 10);
    }
    return s->error != CUDA_SUCCESS;
}

static char *
render(const struct cwj_api *api, const struct cwj_diags *d, const char *name, const struct cwj_input *in)
{
    struct cw_buf b;
    cw_buf_init(&b);
    api->diags_render(d, in ? in->name : name, in ? in->text : NULL, in ? in->size : 0, &b);
    if (b.failed) {
        cw_buf_finish(&b);
        return NULL;
    }
    return b.data;                      /* malloc'd by cw_buf; NULL when empty */
}

static void
log_lines(enum cw_log_level level, const char *text)
{
    for (const char *p = text; p && *p;) {
        const char *end = strchr(p, '\n');
        int n = end ? (int)(end - p) : (int)strlen(p);
        if (n)
            cw_log(level, "%.*s", n, p);
        p = end ? end + 1 : NULL;
    }
}

static CUresult
collect(struct device *d, const void *image, size_t size, const char *what, struct ptx_list *list, struct jit_options *o, bool optional)
{
    CUresult opened = jit_open();
    if (opened != CUDA_SUCCESS)
        return opened;
    const struct cwj_api *api = jit_api();
    struct cwj_diags diags;
    api->diags_init(&diags);
    struct scan s = { .list = list, .what = what, .cc = d->props.cc_major * 10 + d->props.cc_minor };
    cw_result r = api->image_scan(image, size ? size : CWJ_SIZE_UNKNOWN, found, &s, &diags);
    CUresult e = s.error != CUDA_SUCCESS ? s.error : result_of_cw(r);
    if (e == CUDA_SUCCESS && !s.any)
        e = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (e != CUDA_SUCCESS && !(optional && (e == CUDA_ERROR_NO_BINARY_FOR_GPU || e == CUDA_ERROR_INVALID_IMAGE))) {
        char *text = render(api, &diags, what, NULL);
        if (e == CUDA_ERROR_NO_BINARY_FOR_GPU && !text)
            cw_error("%s: no PTX for this device; build it with -gencode arch=compute_%u,code=compute_%u (or any older compute_NN) "
                     "so that it ships PTX beside its cubins", what, s.cc, s.cc);
        log_lines(CW_LOG_ERROR, text);
        jit_options_finish(o, NULL, text);
        free(text);
    }
    api->diags_finish(&diags);
    return e;
}

CUresult
ptx_collect(struct device *d, const void *image, size_t size, const char *what, bool optional, struct ptx_list *list)
{
    return collect(d, image, size, what, list, NULL, optional);
}

CUresult
ptx_list_add(struct ptx_list *l, const char *name, const char *text, size_t size)
{
    return list_add(l, name, text, size);
}

/* What the device cannot have, in *why, malloc'd (NULL: no memory). */
static bool
is_unfit(const struct cwj_api *api, const struct cwj_program *p, char **why)
{
    *why = NULL;
    if (g.backend && !(g.backend->caps & CWB_CAP_ADDR32) && api->image(p)->addr32) {
        *why = strdup("error P3090: modules with 32-bit addresses (.address_size 32) run on the host device only (CUDAWAY_DEVICE=host); or "
                      "compile the program for 64 bits");
        return true;
    }
    const uint32_t most = g.ndevices ? g.devices[0].props.shared_per_block_optin : UINT32_MAX;
    for (uint32_t i = 0; i < api->kernel_count(p); i++) {
        const struct cwj_kernel *k = api->kernel(p, i);
        if (k->static_shared <= most)
            continue;
        if (asprintf(why, "error: entry function '%s' has %u bytes of shared memory, and a block of this device can have %u", k->name,
                     k->static_shared, most) < 0)
            *why = NULL;
        return true;
    }
    return false;
}

cw_result
program_link(const struct ptx_list *l, bool allow_undefined, struct jit_options *o, struct program **out)
{
    const struct cwj_api *api = jit_api();
    struct program *p = calloc(1, sizeof *p);
    if (!p)
        return CW_ERR_NOMEM;
    atomic_init(&p->refs, 1);
    struct cwj_diags diags;
    api->diags_init(&diags);
    cw_result r = api->program_create(l->in, l->count, allow_undefined, &p->p, &diags);
    char *text = diags.first ? render(api, &diags, "linked modules", l->count == 1 ? l->in : NULL) : NULL;
    char *why;
    if (r == CW_OK && is_unfit(api, p->p, &why)) {
        free(text);
        text = why;
        api->program_destroy(p->p);
        r = CW_ERR_SYNTAX;
    }
    if (r == CW_OK && !names_make(p)) {
        api->program_destroy(p->p);
        r = CW_ERR_NOMEM;
    }
    if (r != CW_OK) {
        cw_error("%s: the PTX is not accepted: %s", l->count ? l->in[0].name : "image", cw_result_text(r));
        log_lines(CW_LOG_ERROR, text);
        jit_options_finish(o, NULL, text ? text : cw_result_text(r));
        free(p);
    } else {
        if (text)
            log_lines(CW_LOG_INFO, text);
        jit_options_finish(o, text, NULL);
        p->max_registers = o ? o->max_registers : 0;
        *out = p;
    }
    free(text);
    api->diags_finish(&diags);
    return r;
}

static int
note_max_registers(void *user, const struct cwj_linked_module *m)
{
    *(uint32_t *)user = m->max_registers;
    return 1;
}

CUresult
program_load(struct device *d, const void *image, size_t size, const char *what, struct jit_options *o, struct program **out)
{
    struct ptx_list list = { 0 };
    bool device_runtime = false;
    size_t known = size ? size : SIZE_MAX;
    CUresult e = collect(d, image, size, what, &list, o, false);
    if (e == CUDA_SUCCESS)
        e = relocatable_select(&list, &device_runtime);
    if (e == CUDA_SUCCESS)
        e = result_of_cw(program_link(&list, device_runtime, o, out));
    if (e == CUDA_SUCCESS && !(*out)->max_registers && cwj_linked_image_is(image, known) &&
        cwj_linked_image_read(image, known, note_max_registers, &(*out)->max_registers) != CW_OK)
        (*out)->max_registers = 0;
    ptx_list_finish(&list);
    return e;
}

void
program_ref(struct program *p)
{
    atomic_fetch_add(&p->refs, 1);
}

void
program_unref(struct program *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    jit_api()->program_destroy(p->p);
    free(p->names);
    free(p);
}
