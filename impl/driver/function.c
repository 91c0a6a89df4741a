/* SPDX-License-Identifier: Apache-2.0
 * Functions: attributes, compilation on first use, launches in all their forms, occupancy. */
#include "impl/driver/graph.h"

#include <stdlib.h>

CUresult
func_get(struct ctx *c, CUfunction h, struct func **out)
{
    *out = handle_get(h, KIND_FUNCTION);
    if (*out)
        return CUDA_SUCCESS;
    if (handle_kind(h) == KIND_KERNEL)  /* launches and questions of occupancy take a CUkernel (driver 580) */
        return kernel_function(c, (CUkernel)h, out);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult
func_ready(struct func *f)
{
    if (atomic_load_explicit(&f->compiled, memory_order_acquire))
        return CUDA_SUCCESS;
    struct cw_buf log;
    cw_buf_init(&log);
    struct cwb_kernel *k;
    cwb_result r = device_compile(f, &k, &log);
    if (r != CWB_OK)
        cw_error("%s: %s%s%s", f->k->name, cwb_result_text(r), log.size ? ": " : "", log.size ? log.data : "");
    else
        atomic_store_explicit(&f->compiled, true, memory_order_release);
    cw_buf_finish(&log);
    return result_of(r);
}

#define FUNC(f, h)                                                                                                     \
    USABLE(c);                                                                                                         \
    struct func *f AUTO_PUT = handle_get(h, KIND_FUNCTION);                                                            \
    if (!f)                                                                                                            \
        return CUDA_ERROR_INVALID_HANDLE
#define FUNC_OR_KERNEL(f, h)                                                                                           \
    USABLE(c);                                                                                                         \
    struct func *f AUTO_PUT = NULL;                                                                                    \
    do { CUresult r_ = func_get(c, h, &f); if (r_ != CUDA_SUCCESS) return r_; } while (0)
/* Driver 580 takes a missing function for a wrong value where it only asks for what the module says. */
#define GIVEN(h) do { if (!(h)) { USABLE(c_); (void)c_; return CUDA_ERROR_INVALID_VALUE; } } while (0)

/* ---- attributes -------------------------------------------------------------------------------------------------------- */

/* Blocks of a cluster, as the kernel's directive or else the program asks for; 0: any. */
static int
required_cluster(struct func *f, unsigned axis)
{
    return f->k->cluster[0] ? (int)f->k->cluster[axis] : atomic_load(&f->cluster[axis]);
}

CUresult
func_attribute(struct func *f, CUfunction_attribute a, int *v)
{
    switch ((int)a) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:          *v = (int)f->facts.max_threads_per_block; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:              *v = (int)f->facts.static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:               *v = (int)f->facts.const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:               *v = (int)f->facts.local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:                       *v = (int)f->facts.registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:                    *v = (int)f->facts.ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:                 *v = (int)f->facts.binary_version; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:                  *v = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:  *v = atomic_load(&f->max_dynamic_shared); break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *v = atomic_load(&f->carveout); break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:       *v = f->k->explicit_cluster && !f->k->cluster[0]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:         *v = required_cluster(f, 0); break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:        *v = required_cluster(f, 1); break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:         *v = required_cluster(f, 2); break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *v = atomic_load(&f->nonportable_cluster); break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *v = atomic_load(&f->cluster_policy); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static bool
policy_known(int policy)
{
    return policy >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT && policy <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
}

CUresult
func_set_attribute(struct func *f, CUfunction_attribute a, int v)
{
    const struct cwb_device_props *p = &f->obj.ctx->dev->props;
    switch ((int)a) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (v < 0 || (uint64_t)v + f->facts.static_shared > p->shared_per_block_optin)
            return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&f->max_dynamic_shared, v);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (v < -1 || v > 100)
            return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&f->carveout, v);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (v < 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (v > 1 && !(f->obj.ctx->b->caps & CWB_CAP_CLUSTER))
            return unsupported("cuFuncSetAttribute", "a thread block cluster");
        atomic_store(&f->cluster[a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH], v);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        atomic_store(&f->nonportable_cluster, v != 0);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (!policy_known(v))
            return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&f->cluster_policy, v);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult
drv_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    FUNC(f, hfunc);
    return pi ? func_attribute(f, attrib, pi) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    FUNC(f, hfunc);
    return func_set_attribute(f, attrib, value);
}

CUresult
drv_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    FUNC(f, hfunc);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&f->cache, (int)config);
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    FUNC(f, hfunc);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&f->shared_config, (int)config);
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    GIVEN(hfunc);
    if (!hmod)
        return CUDA_ERROR_INVALID_VALUE;
    FUNC(f, hfunc);
    *hmod = HANDLE(CUmodule, f->module);
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncGetName(const char **name, CUfunction hfunc)
{
    GIVEN(hfunc);
    FUNC(f, hfunc);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = f->k->name;
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    GIVEN(func);
    FUNC(f, func);
    if (!paramOffset || paramIndex >= f->k->nparams)
        return CUDA_ERROR_INVALID_VALUE;
    *paramOffset = f->k->params[paramIndex].offset;
    if (paramSize)
        *paramSize = f->k->params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    FUNC(f, function);
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = atomic_load(&f->compiled) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncLoad(CUfunction function)
{
    FUNC(f, function);
    return func_ready(f);
}

/* ---- launch ------------------------------------------------------------------------------------------------------------- */

#define SMALL_PARAMS 1024
enum { MAX_CLUSTER = 16 };

/* Blocks of a cluster of the launch: as the kernel's directive says, else the launch, else the function's attributes. */
static void
launch_cluster(const struct func *f, const struct cwb_launch *l, uint32_t out[3])
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t v = f->k->cluster[0] ? f->k->cluster[i] : l->cluster[0] ? l->cluster[i] : (uint32_t)atomic_load(&f->cluster[i]);
        out[i] = v ? v : 1;
    }
}

/* "Thread Block Clusters": at most 8 blocks, or 16 where the program allows what not every GPU can; the grid has whole ones. */
static CUresult
cluster_check(const struct func *f, const struct cwb_launch *l)
{
    uint32_t c[3];
    launch_cluster(f, l, c);
    uint64_t blocks = 1;
    for (unsigned i = 0; i < 3; i++)
        blocks *= c[i] < MAX_CLUSTER ? c[i] : MAX_CLUSTER + 1;
    if (l->flags & CWB_LAUNCH_CLUSTER && !l->cluster[0])        /* preferred dimensions, and none that must be */
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (f->k->explicit_cluster && !f->k->cluster[0] && !atomic_load(&f->cluster[0]) && !(l->flags & CWB_LAUNCH_CLUSTER))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (blocks == 1)
        return CUDA_SUCCESS;
    if (!(f->obj.ctx->b->caps & CWB_CAP_CLUSTER) || l->flags & CWB_LAUNCH_COOPERATIVE)
        return unsupported(f->k->name, l->flags & CWB_LAUNCH_COOPERATIVE ? "a thread block cluster in a cooperative launch" : "a thread block cluster");
    if (blocks > MAX_CLUSTER || (blocks > CWB_PORTABLE_CLUSTER && !atomic_load(&f->nonportable_cluster)))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (f->k->cluster[0] && l->cluster[0] && memcmp(l->cluster, f->k->cluster, sizeof c))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (unsigned i = 0; i < 3; i++)
        if (l->grid[i] % c[i])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

/* Check shape and resources against the device and the function. */
static CUresult
launch_limits(const struct func *f, const struct cwb_launch *l)
{
    const struct cwb_device_props *p = &f->obj.ctx->dev->props;
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (l->grid[0] > 0x7fffffffu || l->grid[1] > 65535 || l->grid[2] > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (l->block[0] > p->max_threads_per_block || l->block[1] > p->max_threads_per_block || l->block[2] > 64)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > p->max_threads_per_block)
        return CUDA_ERROR_INVALID_VALUE;
    const uint32_t *most = f->k->maxntid;
    if (most[0] && threads > (uint64_t)most[0] * (most[1] ? most[1] : 1) * (most[2] ? most[2] : 1))
        return CUDA_ERROR_INVALID_VALUE;        /* as driver 580 answers; fewer because of registers is another error */
    if (threads > f->facts.max_threads_per_block) {
        if (f->facts.limit_reason)
            cw_error("%s: a block of %llu threads, and at most %u are possible: %s", f->k->name, (unsigned long long)threads,
                     f->facts.max_threads_per_block, f->facts.limit_reason);
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    if (f->k->cluster[0] || f->k->explicit_cluster || l->flags & CWB_LAUNCH_CLUSTER || atomic_load_explicit(&f->cluster[0], memory_order_relaxed)) {
        CUresult e = cluster_check(f, l);
        if (e != CUDA_SUCCESS)
            return e;
    }
    const uint32_t *need = f->k->reqntid;
    if (need[0] && (need[0] != l->block[0] || (need[1] ? need[1] : 1) != l->block[1] || (need[2] ? need[2] : 1) != l->block[2]))
        return CUDA_ERROR_LAUNCH_FAILED;
    if (l->dynamic_shared > (uint32_t)atomic_load(&f->max_dynamic_shared))      /* no block of a cooperative launch is resident then */
        return l->flags & CWB_LAUNCH_COOPERATIVE ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_ERROR_INVALID_VALUE;
    if (f->k->local_bytes >= MAX_LOCAL) {
        cw_error("%s: %u bytes of local memory, and a thread can have less than %u", f->k->name, f->k->local_bytes, MAX_LOCAL);
        return CUDA_ERROR_INVALID_VALUE;        /* as driver 580 answers; it loads the module */
    }
    return CUDA_SUCCESS;
}

static int occupancy(const struct func *f, uint32_t threads, size_t dynamic);

CUresult
launch_check(struct func *f, const struct cwb_launch *l)
{
    const struct ctx *c = f->obj.ctx;
    CUresult e = launch_limits(f, l);
    if (e != CUDA_SUCCESS)
        return e;
    if (l->flags & CWB_LAUNCH_COOPERATIVE) {
        if (!(c->b->caps & CWB_CAP_COOPERATIVE))
            return CUDA_ERROR_NOT_SUPPORTED;
        uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
        uint64_t room = (uint64_t)occupancy(f, l->block[0] * l->block[1] * l->block[2], l->dynamic_shared) * c->dev->props.multiprocessors;
        if (blocks > room)
            return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    return func_ready(f);
}

/* The node that a launch in a captured stream makes. */
static CUresult
capture_launch(struct stream *s, struct func *f, const struct cwb_launch *l, const struct hints *hints)
{
    const struct hints of_stream = stream_hints(s);
    struct work w;
    CUresult e = work_kernel(&w, f, l);
    if (e == CUDA_SUCCESS)
        hints_capture(&w.kernel.hints, f, &of_stream, hints);
    return capture_work(s, e, &w);
}

CUresult
launch_plain(struct ctx *c, struct func *f, CUstream hStream, struct cwb_launch *l, const struct hints *hints)
{
    CUresult e = CUDA_SUCCESS;
    if (__builtin_expect(atomic_load_explicit(&f->cluster[0], memory_order_relaxed), 0))
        launch_cluster(f, l, l->cluster);
    bool checked = !CAPTURES() && f->obj.ctx == c && !atomic_load_explicit(&f->module->has_texrefs, memory_order_relaxed);
    if (checked) {                      /* the short way */
        struct stream *now;
        e = launch_check(f, l);
        if (e == CUDA_SUCCESS && stream_enter(c, hStream, &now, &e)) {
            if (e == CUDA_SUCCESS) {
                e = result_of(device_launch(c, now->be, f, l));
                stream_end_work(now);
            }
            return e;
        }
    }
    struct stream *s AUTO_PUT = NULL;
    CUresult bad = stream_get(c, hStream, &s);
    if (bad != CUDA_SUCCESS)
        return bad;
    if (s->obj.ctx != f->obj.ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!checked)
        e = launch_check(f, l);
    if (stream_captures(s)) {
        if (e == CUDA_SUCCESS)
            return capture_launch(s, f, l, hints);
        (void)capture_refuse(s);        /* a bad launch ends a capture, as seen on NVIDIA's driver; a bad copy does not */
        return e;
    }
    if (e != CUDA_SUCCESS)
        return e;
    e = stream_admit(s);
    if (e == CUDA_SUCCESS)
        e = texrefs_update(f->module, s);
    if (e == CUDA_SUCCESS)
        e = stream_order(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = result_of(device_launch(f->obj.ctx, s->be, f, l));
    stream_end_work(s);
    return e;
}

static CUresult
launch(struct ctx *c, struct func *f, CUstream hStream, struct cwb_launch *l, const struct hints *hints)
{
    return f->k->launches ? launch_parent(c, f, hStream, l) : launch_plain(c, f, hStream, l, hints);
}

/* Gather the parameter block, param_size bytes of zeros, from kernelParams or extra. */
CUresult
params_pack(const struct func *f, void **kernelParams, void **extra, uint8_t *block)
{
    const struct cwj_kernel *k = f->k;
    const void *data = NULL;
    size_t size = 0;
    for (void **p = extra; p && *p != CU_LAUNCH_PARAM_END; p += 2) {
        if (*p == CU_LAUNCH_PARAM_BUFFER_POINTER)
            data = p[1];
        else if (*p == CU_LAUNCH_PARAM_BUFFER_SIZE && p[1])
            size = *(size_t *)p[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    /* An empty block is none (driver 580): kernelParams may stand beside it, and a kernel without parameters needs neither. */
    if (size) {
        if (!data || kernelParams)
            return CUDA_ERROR_INVALID_VALUE;
        /* Driver 580 takes a shorter block (what is not there is zero here), and refuses a longer one, also where the rest would only pad a
         * structure to its alignment; cuda.h says "too many arguments" of that error. */
        if (size > k->param_size) {
            cw_error("%s: launched with %zu bytes of parameters, and it has %u: the block must not be longer", k->name, size, k->param_size);
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        }
        memcpy(block, data, size);
        return CUDA_SUCCESS;
    }
    for (uint32_t i = 0; i < k->nparams; i++) {
        if (!kernelParams || !kernelParams[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(block + k->params[i].offset, kernelParams[i], k->params[i].size);
    }
    return CUDA_SUCCESS;
}

/* A failed capture, before the launch is looked at. */
static CUresult
launch_captured(struct ctx *c, CUstream hStream)
{
    struct stream *s AUTO_PUT = NULL;
    return CAPTURES() && stream_get(c, hStream, &s) == CUDA_SUCCESS ? capture_error(s) : CUDA_SUCCESS;
}

static CUresult
launch_packed(struct ctx *c, CUfunction h, struct cwb_launch *l, const struct hints *hints, CUstream hStream, void **kernelParams, void **extra)
{
    struct func *f AUTO_PUT = NULL;
    CUresult e = launch_captured(c, hStream);
    if (e == CUDA_SUCCESS)
        e = func_get(c, h, &f);
    if (e != CUDA_SUCCESS)
        return e;
    const struct cwj_kernel *k = f->k;
    uint8_t small[SMALL_PARAMS] __attribute__((aligned(64))), *block = small;
    if (k->param_size > sizeof small && !(block = malloc(k->param_size)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(block, 0, k->param_size);
    e = params_pack(f, kernelParams, extra, block);
    if (e == CUDA_SUCCESS) {
        l->params = block;
        l->param_size = k->param_size;
        e = launch(c, f, hStream, l, hints);
    }
    if (block != small)
        free(block);
    return e;
}

CUresult
drv_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
                   unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                   void **kernelParams, void **extra)
{
    READY();
    STREAM_CONTEXT(c, hStream);
    struct cwb_launch l = { .grid = { gridDimX, gridDimY, gridDimZ }, .block = { blockDimX, blockDimY, blockDimZ },
                            .dynamic_shared = sharedMemBytes };
    return launch_packed(c, f, &l, NULL, hStream, kernelParams, extra);
}

CUresult
drv_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                              unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                              unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
    READY();
    STREAM_CONTEXT(c, hStream);
    struct cwb_launch l = { .grid = { gridDimX, gridDimY, gridDimZ }, .block = { blockDimX, blockDimY, blockDimZ },
                            .dynamic_shared = sharedMemBytes, .flags = CWB_LAUNCH_COOPERATIVE };
    return launch_packed(c, f, &l, NULL, hStream, kernelParams, NULL);
}

/* What a launch needs of an event that is to be recorded behind it ("CUlaunchAttributeID": it takes no time, and is no other process's). */
static CUresult
launch_event(struct stream *s, const struct event *e)
{
    if (!e || e->obj.ctx != s->obj.ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    if (e->ipc)
        return stream_captures(s) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_NOT_SUPPORTED;
    return e->flags & CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Whether events that are to be recorded behind a launch (NULL: none) are such: a launch that is refused is not made. */
static CUresult
launch_events(struct ctx *c, CUstream hStream, const CUevent *after, size_t n)
{
    CUresult e = CUDA_SUCCESS;
    for (size_t i = 0; i < n && e == CUDA_SUCCESS; i++) {
        struct event *ev AUTO_PUT = after[i] ? handle_get(after[i], KIND_EVENT) : NULL;
        struct stream *s AUTO_PUT = NULL;
        if (after[i] && (e = stream_get(c, hStream, &s)) == CUDA_SUCCESS)
            e = launch_event(s, ev);
    }
    return e;
}

/* Whether a launch names a function and a stream of one context: where it does not, that is what it is told of, whatever its attributes. */
static CUresult
launch_named(struct ctx *c, CUfunction h, CUstream hStream)
{
    struct func *f AUTO_PUT = NULL;
    struct stream *s AUTO_PUT = NULL;
    CUresult e = func_get(c, h, &f);
    if (e == CUDA_SUCCESS)
        e = stream_get(c, hStream, &s);
    return e == CUDA_SUCCESS && s->obj.ctx != f->obj.ctx ? CUDA_ERROR_INVALID_HANDLE : e;
}

CUresult
drv_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    if (!config || (config->numAttrs && !config->attrs)) {
        USABLE(c);
        (void)c;
        return CUDA_ERROR_INVALID_VALUE;
    }
    READY();
    STREAM_CONTEXT(c, config->hStream);
    struct cwb_launch l = { .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
                            .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                            .dynamic_shared = config->sharedMemBytes };
    CUevent after[2] = { NULL, NULL };  /* to record behind the launch */
    struct hints hints = hints_unset;   /* checked alone, or those of the node that the launch makes */
    CUresult e = CUDA_SUCCESS;
    for (unsigned i = 0; i < config->numAttrs && e == CUDA_SUCCESS; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        switch ((int)a->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            if (a->value.cooperative)
                l.flags |= CWB_LAUNCH_COOPERATIVE;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (!a->value.clusterDim.x || !a->value.clusterDim.y || !a->value.clusterDim.z)
                e = CUDA_ERROR_INVALID_VALUE;
            l.cluster[0] = a->value.clusterDim.x;
            l.cluster[1] = a->value.clusterDim.y;
            l.cluster[2] = a->value.clusterDim.z;
            l.flags |= CWB_LAUNCH_CLUSTER;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:        /* a block that has ended has triggered it */
            after[0] = a->value.programmaticEvent.event;
            e = after[0] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
            break;
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            after[1] = a->value.launchCompletionEvent.event;
            e = after[1] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
            break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
            l.flags |= CWB_LAUNCH_CLUSTER;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            e = policy_known((int)a->value.clusterSchedulingPolicyPreference) ? hint_set(&hints, a->id, &a->value) : CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* full serialisation is allowed */
        case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:    /* a hint */
            break;
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
            cw_warn("cuLaunchKernelEx: launch attribute %d is not supported", (int)a->id);
            e = CUDA_ERROR_NOT_SUPPORTED;
            break;
        default:                        /* also those of streams alone */
            e = hint_for(HINT_KERNEL, a->id) ? hint_set(&hints, a->id, &a->value) : CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (e == CUDA_SUCCESS)
        e = launch_events(c, config->hStream, after, COUNT(after));
    if (e != CUDA_SUCCESS) {
        CUresult named = launch_named(c, f, config->hStream);
        return named == CUDA_SUCCESS ? e : named;
    }
    e = launch_packed(c, f, &l, &hints, config->hStream, kernelParams, extra);
    for (unsigned i = 0; i < COUNT(after) && e == CUDA_SUCCESS; i++)
        if (after[i])
            e = drv_cuEventRecord(after[i], config->hStream);
    return e;
}

/* ---- the interface before CUDA 4.0: shape and parameters are state of the function ----------------------------------------- */

CUresult
drv_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    FUNC(f, hfunc);
    uint32_t most = f->obj.ctx->dev->props.max_threads_per_block;
    if (x <= 0 || y <= 0 || z <= 0 || (uint32_t)x > most || (uint32_t)y > most || z > 64)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&f->lock);
    f->block[0] = (uint32_t)x;
    f->block[1] = (uint32_t)y;
    f->block[2] = (uint32_t)z;
    pthread_mutex_unlock(&f->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    FUNC(f, hfunc);
    if (bytes > f->obj.ctx->dev->props.shared_per_block_optin)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&f->lock);
    f->dynamic_shared = bytes;
    pthread_mutex_unlock(&f->lock);
    return CUDA_SUCCESS;
}

static CUresult
param_bytes(struct func *f, uint64_t offset, const void *data, size_t n)
{
    CUresult e = CUDA_SUCCESS;
    if (n > f->k->param_size)
        n = f->k->param_size;           /* driver 580 ignores the bytes behind the parameters */
    void *copy = malloc(n ? n : 1);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, n);              /* with no lock held: a handler of SIGSEGV may leave the call */
    pthread_mutex_lock(&f->lock);
    if (!f->params)
        f->params = calloc(1, f->k->param_size ? f->k->param_size : 1);
    if (!f->params)
        e = CUDA_ERROR_OUT_OF_MEMORY;
    else if (offset < f->k->param_size)
        memcpy(f->params + offset, copy, n < f->k->param_size - offset ? n : f->k->param_size - offset);
    pthread_mutex_unlock(&f->lock);
    free(copy);
    return e;
}

CUresult
drv_cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    FUNC(f, hfunc);
    return param_bytes(f, 0, "", 0);
}

CUresult
drv_cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    FUNC(f, hfunc);
    return offset < 0 ? CUDA_ERROR_INVALID_VALUE : param_bytes(f, (unsigned)offset, &value, 4);
}

CUresult
drv_cuParamSetf(CUfunction hfunc, int offset, float value)
{
    FUNC(f, hfunc);
    return offset < 0 ? CUDA_ERROR_INVALID_VALUE : param_bytes(f, (unsigned)offset, &value, 4);
}

CUresult
drv_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    FUNC(f, hfunc);
    return offset < 0 || (numbytes && !ptr) ? CUDA_ERROR_INVALID_VALUE : param_bytes(f, (unsigned)offset, ptr, numbytes);
}

CUresult
drv_cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
    FUNC(f, hfunc);
    return texunit == CU_PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;     /* references are found by name */
}

static CUresult
launch_state(CUfunction hfunc, int width, int height, CUstream s)
{
    FUNC(f, hfunc);
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = param_bytes(f, 0, "", 0);
    if (e != CUDA_SUCCESS)
        return e;
    uint8_t *copy = malloc(f->k->param_size ? f->k->param_size : 1);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct cwb_launch l = { .grid = { (uint32_t)width, (uint32_t)height, 1 }, .params = copy, .param_size = f->k->param_size };
    pthread_mutex_lock(&f->lock);
    memcpy(copy, f->params, f->k->param_size);
    memcpy(l.block, f->block, sizeof l.block);
    l.dynamic_shared = f->dynamic_shared;
    pthread_mutex_unlock(&f->lock);
    e = ctx_error(c);
    if (e == CUDA_SUCCESS)
        e = launch(c, f, s, &l, NULL);
    free(copy);
    return e;
}

CUresult
drv_cuLaunch(CUfunction f)
{
    return launch_state(f, 1, 1, NULL);
}

CUresult
drv_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return launch_state(f, grid_width, grid_height, NULL);
}

CUresult
drv_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    return launch_state(f, grid_width, grid_height, hStream);
}

/* ---- occupancy (programming guide, "Hardware Multithreading") --------------------------------------------------------------- */

static uint32_t
round_up(uint64_t v, uint32_t to)
{
    return (uint32_t)((v + to - 1) / to * to);
}

/* Blocks of that many threads that are resident on one multiprocessor. */
static int
occupancy(const struct func *f, uint32_t threads, size_t dynamic)
{
    const struct cwb_device_props *p = &f->obj.ctx->dev->props;
    if (!threads || threads > f->facts.max_threads_per_block)
        return 0;
    uint32_t warps = (threads + 31) / 32 << (threads <= f->facts.one_warp_per_wave_threads);
    uint32_t n = p->max_blocks_per_mp, by_warps = p->max_threads_per_mp / 32 / warps;
    if (by_warps < n)
        n = by_warps;
    uint64_t shared = (uint64_t)f->facts.static_shared + dynamic;
    uint32_t reserved = p->cc_major >= 8 ? 1024 : 0, grain = p->cc_major >= 8 ? 128 : 256;
    if (dynamic > (size_t)atomic_load(&f->max_dynamic_shared) || shared > p->shared_per_block_optin)
        return 0;
    uint32_t each = round_up(shared + reserved, grain);
    if (each && p->shared_per_mp / each < n)
        n = p->shared_per_mp / each;
    if (f->facts.registers) {           /* allocated per warp in units of 256 */
        uint32_t per_warp = round_up((uint64_t)f->facts.registers * 32, 256);
        uint32_t w = p->registers_per_mp / per_warp;
        w = w / 4 * 4;                  /* four schedulers with a register file each */
        if (w / warps < n)
            n = w / warps;
    }
    return (int)n;
}

uint32_t
launch_occupancy(const struct func *f, const struct cwb_launch *l)
{
    uint32_t threads = l->block[0] * l->block[1] * l->block[2], all = f->obj.ctx->dev->props.max_threads_per_mp;
    return (uint32_t)((uint64_t)occupancy(f, threads, l->dynamic_shared) * ((threads + 31) / 32 * 32) * 1000 / all);
}

/* What a launch configuration says of clusters, as the launch itself would take it. */
static CUresult
config_launch(const CUlaunchConfig *config, struct cwb_launch *l)
{
    if (!config || (config->numAttrs && !config->attrs) || !config->gridDimX || !config->gridDimY || !config->gridDimZ || !config->blockDimX || !config->blockDimY ||
        !config->blockDimZ)
        return CUDA_ERROR_INVALID_VALUE;
    *l = (struct cwb_launch){ .grid = { config->gridDimX, config->gridDimY, config->gridDimZ }, .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                              .dynamic_shared = config->sharedMemBytes };
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            l->flags |= CWB_LAUNCH_CLUSTER;
            l->cluster[0] = config->attrs[i].value.clusterDim.x;
            l->cluster[1] = config->attrs[i].value.clusterDim.y;
            l->cluster[2] = config->attrs[i].value.clusterDim.z;
        }
    return CUDA_SUCCESS;
}

static unsigned
largest_cluster(const struct func *f)
{
    return !(f->obj.ctx->b->caps & CWB_CAP_CLUSTER) ? 1 : atomic_load(&f->nonportable_cluster) ? MAX_CLUSTER : CWB_PORTABLE_CLUSTER;
}

static CUresult
cluster_possible(const struct func *f, const struct cwb_launch *l, uint32_t size[3])
{
    launch_cluster(f, l, size);
    uint64_t blocks = 1;
    for (unsigned i = 0; i < 3; i++) {
        blocks *= size[i] < MAX_CLUSTER ? size[i] : MAX_CLUSTER + 1;
        if (l->grid[i] % size[i] || (l->flags & CWB_LAUNCH_CLUSTER && !l->cluster[i]))
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return blocks > largest_cluster(f) ? CUDA_ERROR_INVALID_CLUSTER_SIZE : l->block[0] > 0x7fffffff ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult
drv_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
    GIVEN(func);
    FUNC_OR_KERNEL(f, func);
    struct cwb_launch l;
    uint32_t size[3];
    CUresult e = clusterSize ? config_launch(config, &l) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        e = cluster_possible(f, &l, size);
    if (e == CUDA_SUCCESS)
        *clusterSize = occupancy(f, l.block[0] * l.block[1] * l.block[2], l.dynamic_shared) ? (int)largest_cluster(f) : 0;
    return e;
}

CUresult
drv_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
    GIVEN(func);
    FUNC_OR_KERNEL(f, func);
    struct cwb_launch l;
    uint32_t size[3];
    CUresult e = numClusters ? config_launch(config, &l) : CUDA_ERROR_INVALID_VALUE;
    if (e != CUDA_SUCCESS)
        return e;
    e = cluster_possible(f, &l, size);
    if (e != CUDA_SUCCESS)
        return e;
    uint64_t blocks = (uint64_t)size[0] * size[1] * size[2];
    uint64_t resident = (uint64_t)occupancy(f, l.block[0] * l.block[1] * l.block[2], l.dynamic_shared) * f->obj.ctx->dev->props.multiprocessors;
    *numClusters = (int)(resident / blocks);
    return CUDA_SUCCESS;
}

CUresult
drv_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize,
                                                         unsigned int flags)
{
    FUNC_OR_KERNEL(f, func);
    if (!numBlocks || blockSize <= 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *numBlocks = occupancy(f, (uint32_t)blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

CUresult
drv_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize)
{
    return drv_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

CUresult
drv_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                              CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                              int blockSizeLimit, unsigned int flags)
{
    FUNC_OR_KERNEL(f, func);
    if (!minGridSize || !blockSize || blockSizeLimit < 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t most = f->facts.max_threads_per_block;
    if (blockSizeLimit && (uint32_t)blockSizeLimit < most)
        most = (uint32_t)blockSizeLimit;
    uint32_t best = 0, best_threads = 0;
    int best_blocks = 0;
    /* The largest block among those with most resident threads; multiples of a warp, and the limit itself. */
    for (uint32_t size = most; size;) {
        size_t dynamic = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize((int)size) : dynamicSMemSize;
        int n = occupancy(f, size, dynamic);
        if ((uint32_t)n * size > best_threads) {
            best_threads = (uint32_t)n * size;
            best = size;
            best_blocks = n;
        }
        size = size % 32 ? size / 32 * 32 : size - 32;
    }
    *blockSize = (int)best;             /* 0: none fits (driver 580) */
    *minGridSize = best_blocks * (int)f->obj.ctx->dev->props.multiprocessors;
    return CUDA_SUCCESS;
}

CUresult
drv_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                     CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit)
{
    return drv_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                         blockSizeLimit, 0);
}

CUresult
drv_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func, int numBlocks, int blockSize)
{
    FUNC_OR_KERNEL(f, func);
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0 || occupancy(f, (uint32_t)blockSize, 0) < numBlocks)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cwb_device_props *p = &f->obj.ctx->dev->props;
    uint32_t reserved = p->cc_major >= 8 ? 1024 : 0, grain = p->cc_major >= 8 ? 128 : 256;
    uint64_t each = p->shared_per_mp / (uint32_t)numBlocks / grain * grain;
    uint64_t most = each > reserved ? each - reserved : 0;
    if (most > p->shared_per_block)
        most = p->shared_per_block;
    *dynamicSmemSize = most > f->facts.static_shared ? most - f->facts.static_shared : 0;
    return CUDA_SUCCESS;
}
