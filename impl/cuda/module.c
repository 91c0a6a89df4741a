/* SPDX-License-Identifier: Apache-2.0
 * Modules and kernels of the cuda backend. A module is compiled to PTX as a whole when it is loaded, since its kernels share its variables, and
 * handed to the real driver. If the whole does not compile, each kernel is tried alone and those that fail are left out: they fail when they are
 * launched, with the compiler's message. */
#include "impl/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cwb_kernel {
    struct cwb_module *m;
    const struct cwj_kernel *info;
    CUfunction real;            /* NULL: left out */
    char *why;                  /* then the compiler's message */
    _Atomic int dynamic_limit;  /* largest dynamic shared memory set for the function so far */
    int static_shared;
};

struct cwb_module {
    struct cwb_context *c;
    const struct cwj_api *jit;
    struct cwj_program *program;
    CUmodule real;
    uint32_t nkernels, nvariables;
    struct cwb_kernel *kernels;
    CUdeviceptr *variables;     /* 0: none of that size */
};

/* The architecture to compile for: the device's, or the newest that is known to the compiler and runs on it. Warp operations
 * without .sync exist only in PTX before 6.4 or for architectures before sm_70: such a program keeps its own architecture. */
static void
architecture(const struct cwb_module *m, char *cpu, size_t size)
{
    static const int known[] = { 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 };
    int major = 0, minor = 0, best = known[0];
    uint32_t version = 0, sm = 0;
    (void)cwc.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, m->c->device);
    (void)cwc.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, m->c->device);
    int newest = major * 10 + minor;
    for (uint32_t i = 0; i < m->nkernels; i++) {
        const struct cwj_kernel *k = m->kernels[i].info;
        version = k->ptx_version > version ? k->ptx_version : version;
        sm = k->sm > sm ? k->sm : sm;
    }
    if (version < 64 && sm && (int)sm < newest)
        newest = (int)sm;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] <= newest)
            best = known[i];
    snprintf(cpu, size, "sm_%d", best);
}

/* Compile the named kernels (NULL: all) to PTX. On failure the messages are appended to `why`. */
static cw_result
compile(struct cwb_module *m, const char *cpu, const char *const *names, struct cw_buf *ptx, struct cw_buf *why)
{
    struct cwj_aot_options o = { .target = CWJ_TARGET_NVPTX, .cpu = cpu, .emit = CWJ_EMIT_ASM, .opt_level = 2, .kernels = names };
    struct cwj_diags diags;
    m->jit->diags_init(&diags);
    cw_result r = m->jit->aot(m->program, &o, ptx, &diags);
    if (r != CW_OK && diags.first)
        m->jit->diags_render(&diags, "module", NULL, 0, why);
    else if (r != CW_OK)
        cw_buf_printf(why, "%s\n", cw_result_text(r));
    m->jit->diags_finish(&diags);
    return r;
}

/* Which kernels compile alone? Their names, NULL at the end, go to `names`. */
static cw_result
sort_out(struct cwb_module *m, const char *cpu, const char **names)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->nkernels; i++) {
        const char *one[2] = { m->kernels[i].info->name, NULL };
        struct cw_buf ptx, why;
        cw_buf_init(&ptx);
        cw_buf_init(&why);
        cw_result r = compile(m, cpu, one, &ptx, &why);
        cw_buf_append(&why, "", 1);
        if (r == CW_OK) {
            names[n++] = one[0];
        } else if (r == CW_ERR_NOMEM || why.failed) {
            cw_buf_finish(&ptx);
            cw_buf_finish(&why);
            return CW_ERR_NOMEM;
        } else {
            m->kernels[i].why = strdup(why.data);
        }
        cw_buf_finish(&ptx);
        cw_buf_finish(&why);
    }
    names[n] = NULL;
    return CW_OK;
}

static cwb_result
build(struct cwb_module *m, struct cw_buf *ptx)
{
    char cpu[16];
    struct cw_buf why;
    architecture(m, cpu, sizeof cpu);
    cw_buf_init(&why);
    cw_result r = compile(m, cpu, NULL, ptx, &why);
    if (r != CW_OK && r != CW_ERR_NOMEM) {
        const char **names = calloc(m->nkernels + 1u, sizeof *names);
        cw_buf_finish(ptx);
        cw_buf_init(ptx);
        r = names ? sort_out(m, cpu, names) : CW_ERR_NOMEM;
        cw_buf_finish(&why);
        cw_buf_init(&why);
        if (r == CW_OK)
            r = compile(m, cpu, names, ptx, &why);
        free(names);
    }
    if (r != CW_OK && r != CW_ERR_NOMEM && why.data)
        cw_error("the module cannot be compiled for %s: %.*s", cpu, (int)why.size, why.data);
    cw_buf_finish(&why);
    cw_buf_append(ptx, "", 1);
    return r == CW_ERR_NOMEM || (r == CW_OK && ptx->failed) ? CWB_NOMEM : r == CW_OK ? CWB_OK : CWB_COMPILE;
}

static cwb_result
load(struct cwb_module *m, const struct cw_buf *ptx)
{
    char log[4096] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL };
    void *values[] = { log, (void *)(uintptr_t)sizeof log, NULL };
    CUresult r = cwc.cuModuleLoadDataEx(&m->real, ptx->data, cwc_unoptimised ? 3 : 2, options, values);
    log[sizeof log - 1] = 0;
    if (r != CUDA_SUCCESS)
        cw_error("the NVIDIA driver refuses the module: %s", log[0] ? log : "it gives no reason");
    return cwc_result(m->c, r);
}

static cwb_result
look_up(struct cwb_module *m)
{
    for (uint32_t i = 0; i < m->nkernels; i++) {
        struct cwb_kernel *k = &m->kernels[i];
        if (k->why)
            continue;
        CUresult r = cwc.cuModuleGetFunction(&k->real, m->real, k->info->name);
        if (r == CUDA_SUCCESS)
            r = cwc.cuFuncGetAttribute(&k->static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k->real);
        if (r != CUDA_SUCCESS)
            return cwc_result(m->c, r);
    }
    for (uint32_t i = 0; i < m->nvariables; i++) {
        struct cw_buf name;
        size_t size;
        if (!m->jit->variable(m->program, i)->size)
            continue;
        cw_buf_init(&name);
        m->jit->nvptx_name(m->program, i, &name);
        cw_buf_append(&name, "", 1);
        CUresult r = name.failed ? CUDA_ERROR_OUT_OF_MEMORY : cwc.cuModuleGetGlobal_v2(&m->variables[i], &size, m->real, name.data);
        if (r != CUDA_SUCCESS)
            cw_error("the NVIDIA driver does not know the variable %s of the module that it loaded", name.failed ? "" : name.data);
        cw_buf_finish(&name);
        if (r != CUDA_SUCCESS)
            return cwc_result(m->c, r);
    }
    return CWB_OK;
}

cwb_result
cwc_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                uint64_t *image_address)
{
    ENTER(c);
    struct cwb_module *m = calloc(1, sizeof *m);
    if (!m)
        return CWB_NOMEM;
    m->c = c;
    m->jit = jit;
    m->program = program;
    m->nkernels = jit->kernel_count(program);
    m->nvariables = jit->variable_count(program);
    m->kernels = calloc(m->nkernels + 1u, sizeof *m->kernels);
    m->variables = calloc(m->nvariables + 1u, sizeof *m->variables);
    struct cw_buf ptx;
    cw_buf_init(&ptx);
    cwb_result r = m->kernels && m->variables ? CWB_OK : CWB_NOMEM;
    for (uint32_t i = 0; r == CWB_OK && i < m->nkernels; i++) {
        m->kernels[i].m = m;
        m->kernels[i].info = jit->kernel(program, i);
    }
    if (r == CWB_OK)
        r = build(m, &ptx);
    if (r == CWB_OK)
        r = load(m, &ptx);
    if (r == CWB_OK)
        r = look_up(m);
    cw_buf_finish(&ptx);
    if (r != CWB_OK) {
        cwc_module_unload(m);
        return r;
    }
    *image_address = 0;
    *out = m;
    return CWB_OK;
}

cwb_result
cwc_module_variable(struct cwb_module *m, uint32_t index, uint64_t *address)
{
    if (index >= m->nvariables)
        return CWB_INVALID;
    *address = m->variables[index];
    return CWB_OK;
}

void
cwc_module_unload(struct cwb_module *m)
{
    if (!m)
        return;
    if (m->real && cwc.cuCtxSetCurrent(m->c->real) == CUDA_SUCCESS)
        (void)cwc_result(m->c, cwc.cuModuleUnload(m->real));
    for (uint32_t i = 0; m->kernels && i < m->nkernels; i++)
        free(m->kernels[i].why);
    free(m->kernels);
    free(m->variables);
    free(m);
}

/* ---- kernels ---- */

cwb_result
cwc_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile_now, struct cwb_kernel **out, struct cw_buf *log)
{
    if (index >= m->nkernels)
        return CWB_INVALID;
    struct cwb_kernel *k = *out = &m->kernels[index];
    if (!compile_now || k->real)
        return CWB_OK;
    if (log)
        cw_buf_puts(log, k->why ? k->why : "");
    else
        cw_error("kernel %s: %s", k->info->name, k->why ? k->why : "not compiled");
    return CWB_COMPILE;
}

cwb_result
cwc_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out)
{
    memset(out, 0, sizeof *out);
    out->static_shared = k->info->static_shared;
    out->ptx_version = k->info->ptx_version;
    out->registers = k->info->nregs;
    if (!k->real)
        return CWB_OK;
    ENTER(k->m->c);
    const struct { uint32_t *to; CUfunction_attribute a; } facts[] = {
        { &out->max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK },
        { &out->static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES },
        { &out->const_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES },
        { &out->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES },
        { &out->registers, CU_FUNC_ATTRIBUTE_NUM_REGS },
        { &out->binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION },
    };
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++) {
        int v = 0;
        CUresult r = cwc.cuFuncGetAttribute(&v, facts[i].a, k->real);
        if (r != CUDA_SUCCESS)
            return cwc_result(k->m->c, r);
        *facts[i].to = (uint32_t)v;
    }
    return CWB_OK;
}

/* More than 48 KiB of shared memory needs an opt-in. */
static CUresult
allow_shared(struct cwb_kernel *k, uint32_t dynamic)
{
    if (dynamic + (uint64_t)k->static_shared <= 48 << 10 || (int)dynamic <= atomic_load(&k->dynamic_limit))
        return CUDA_SUCCESS;
    CUresult r = cwc.cuFuncSetAttribute(k->real, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic);
    if (r == CUDA_SUCCESS)
        atomic_store(&k->dynamic_limit, (int)dynamic);
    return r;
}

/* Kernels of the PTX that LLVM writes do not say that they run in clusters, so each launch says it. */
static CUresult
launch_in_clusters(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l, const uint32_t size[3], void **params)
{
    if (!cwc.cuLaunchKernelEx)
        return CUDA_ERROR_NOT_SUPPORTED;
    if ((uint64_t)size[0] * size[1] * size[2] > CWB_PORTABLE_CLUSTER) {
        CUresult r = cwc.cuFuncSetAttribute(k->real, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        if (r != CUDA_SUCCESS)
            return r;
    }
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { size[0], size[1], size[2] } };
    CUlaunchConfig c = { .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2],
                         .blockDimX = l->block[0], .blockDimY = l->block[1], .blockDimZ = l->block[2],
                         .sharedMemBytes = l->dynamic_shared, .hStream = s->real, .attrs = &cluster, .numAttrs = 1 };
    return cwc.cuLaunchKernelEx(&c, k->real, params, NULL);
}

cwb_result
cwc_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l)
{
    if (!k->real)
        return CWB_COMPILE;
    ENTER(s->c);
    if (l->dynamic_shared > INT32_MAX)
        return CWB_RESOURCES;
    CUresult r = allow_shared(k, l->dynamic_shared);
    if (r != CUDA_SUCCESS)
        return r == CUDA_ERROR_INVALID_VALUE ? CWB_RESOURCES : cwc_result(s->c, r);
    void *few[64], **params = few;
    if (k->info->nparams > sizeof few / sizeof *few && !(params = malloc(k->info->nparams * sizeof *params)))
        return CWB_NOMEM;
    for (uint32_t i = 0; i < k->info->nparams; i++)
        params[i] = (void *)((uintptr_t)l->params + k->info->params[i].offset);
    const uint32_t *cluster = l->cluster[0] ? l->cluster : k->info->cluster;
    r = cluster[0] ? launch_in_clusters(s, k, l, cluster, params)
        : l->flags & CWB_LAUNCH_COOPERATIVE
            ? cwc.cuLaunchCooperativeKernel(k->real, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                            l->dynamic_shared, s->real, params)
            : cwc.cuLaunchKernel(k->real, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                 l->dynamic_shared, s->real, params, NULL);
    if (params != few)
        free(params);
    /* The log's line for a launch that the device can never run, here because of its registers. */
    return r == CUDA_ERROR_INVALID_VALUE ? CWB_RESOURCES : cwc_stream_added(s, r);
}
