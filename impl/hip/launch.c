/* SPDX-License-Identifier: Apache-2.0
 * Launches of the hip device: what arguments kernels take beside their parameters, cooperative launches, clusters of several blocks. */
#define _GNU_SOURCE
#include "impl/hip/device.h"

#include "impl/base/log.h"
#include "jit/jit.h"

#include <stdlib.h>
#include <string.h>

enum { MORE = CWJ_AMD_LAUNCH + CWJ_AMD_CLUSTER + CWJ_AMD_SHAPE };       /* bytes of arguments behind the parameters, at most */

/* The workspace of grid.sync() of CUDA's cooperative groups, ready for the stream's next launch. Launches of a stream follow
 * each other, so a stream has one; each launch starts from zero, also after one whose blocks did not all reach their last
 * barrier. */
static cwb_result
grid_workspace(struct cwb_stream *s, uint64_t *address)
{
    hipError_t e = hipSuccess;
    char *p = atomic_load(&s->grid);
    if (!p) {
        void *fresh = NULL;
        enum { SIZE = 8 };              /* two words, the first of which holds the size */
        e = hip.hipMalloc(&fresh, SIZE);
        if (e == hipSuccess)
            e = hip.hipMemsetD32Async(fresh, SIZE, 1, s->s);
        if (e == hipSuccess && !atomic_compare_exchange_strong(&s->grid, &(void *){ NULL }, fresh)) {
            (void)hip.hipFree(fresh);   /* another thread made it, for the same stream */
        } else if (e != hipSuccess) {
            if (fresh)
                (void)hip.hipFree(fresh);
            return hip_result(e);
        }
        p = atomic_load(&s->grid);
    }
    *address = (uintptr_t)p;
    return hip_result(hip.hipMemsetD32Async(p + 4, 0, 1, s->s));
}

/* A launch for HIP, with its parameters. */
struct call {
    struct hip_code *code;
    bool one_warp_per_wave;
    uint32_t grid[3], block[3], dynamic_shared, size;
    const void *params;             /* size bytes */
    uint64_t *copy;                 /* room for more arguments behind them; NULL: not needed */
    struct cwj_amd_cluster *cluster;    /* in the copy, or NULL: no clusters of several blocks */
    uint64_t few[(512 + MORE) / 8];
};

/* Room for the parameters and what is added: on the stack, which may be small, for kernels with as many as are usual. */
static bool
make_room(struct call *call)
{
    uint32_t words = (call->size + 7) / 8 + MORE / 8;
    call->copy = words <= sizeof call->few / 8 ? call->few : malloc(8 * (size_t)words);
    return call->copy;
}

static void
leave_room(struct call *call)
{
    if (call->copy != call->few)
        free(call->copy);
}

static hipError_t
cooperative(struct cwb_stream *s, struct call *call)
{
    /* This entry takes pointers to parameters only: the code object has one, the whole block, in units of 8 bytes. */
    void *params[1] = { call->copy };
    if (call->size && call->params != call->copy) {
        call->copy[(call->size - 1) / 8] = 0;
        memcpy(call->copy, call->params, call->size);
    }
    return hip.hipModuleLaunchCooperativeKernel(call->code->function, call->grid[0], call->grid[1], call->grid[2], call->block[0],
                                                call->block[1], call->block[2], call->dynamic_shared, s->s, params);
}

static hipError_t
plain(struct cwb_stream *s, const struct call *call)
{
    size_t size = call->size;
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)call->params, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END };
    return hip.hipModuleLaunchKernel(call->code->function, call->grid[0], call->grid[1], call->grid[2], call->block[0], call->block[1],
                                     call->block[2], call->dynamic_shared, s->s, NULL, size ? extra : NULL);
}

/* The arguments behind the parameters (jit.h): the launch's number and workspace; clusters of several blocks; and, with one warp per wave,
 * where the group has another shape, the block's shape. */
static cwb_result
add_arguments(struct cwb_stream *s, const struct cwb_launch *l, struct call *call)
{
    static _Atomic uint64_t launches;
    uint32_t words = (l->param_size + 7) / 8;
    if (words) {
        call->copy[words - 1] = 0;
        memcpy(call->copy, l->params, l->param_size);
    }
    if (call->code->launch_numbers) {
        uint64_t workspace = 0;
        cwb_result r = l->flags & CWB_LAUNCH_COOPERATIVE ? grid_workspace(s, &workspace) : CWB_OK;
        if (r != CWB_OK)
            return r;
        call->copy[words++] = atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed) + 1;
        call->copy[words++] = workspace;
    }
    if (call->cluster) {
        call->cluster = memcpy(&call->copy[words], call->cluster, sizeof *call->cluster);
        words += sizeof *call->cluster / 8;
    }
    if (call->one_warp_per_wave) {
        call->copy[words++] = l->block[0] | (uint64_t)l->block[1] << 16 | (uint64_t)l->block[2] << 32;
        call->block[0] = cwj_amd_group(l->block[0] * l->block[1] * l->block[2]);
        call->block[1] = call->block[2] = 1;
    }
    call->params = call->copy;
    call->size = 8 * words;
    return CWB_OK;
}

/* ---- clusters of several blocks (docs/amd-abi.md) ----
 *
 * All blocks of a cluster have to be resident together, so a launch is cooperative. A grid that is not resident as a whole is several of
 * those, one after another in the stream, with as many whole clusters each as are resident. */

static void
cluster_size(const struct cwb_kernel *k, const struct cwb_launch *l, uint32_t size[3])
{
    const uint32_t *own = k->module->jit->kernel(k->module->program, k->index)->cluster, *n = l->cluster[0] ? l->cluster : own;
    for (unsigned i = 0; i < 3; i++)
        size[i] = n[i] ? n[i] : 1;
}

/* Blocks of the call that the device has resident at a time; without HIP's answer one on each multiprocessor, which always fits. */
static uint64_t
resident(const struct cwb_stream *s, const struct call *call)
{
    int each = 1;
    uint32_t threads = call->block[0] * call->block[1] * call->block[2];
    if (hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor &&
        hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&each, call->code->function, (int)threads, 0) != hipSuccess)
        each = 1;
    return (uint64_t)(each > 0 ? each : 0) * hip_multiprocessors(s->c->device);
}

/* The stream's memory of at least `size` bytes for shared memory and barriers of clusters. Smaller ones stay until the stream ends, since
 * queued launches use them; each is at least twice as large as the one before. */
static cwb_result
arena(struct cwb_stream *s, size_t size, uint64_t *address)
{
    cwb_result r = CWB_OK;
    pthread_mutex_lock(&s->c->shared_lock);
    struct hip_arena *a = s->arenas;
    if (!a || a->size < size) {
        struct hip_arena *fresh = malloc(sizeof *fresh);
        if (fresh) {
            *fresh = (struct hip_arena){ .next = a, .size = a && 2 * a->size > size ? 2 * a->size : size };
            r = hip_result(hip.hipMalloc(&fresh->memory, fresh->size));
        }
        if (!fresh || r != CWB_OK) {
            free(fresh);
            pthread_mutex_unlock(&s->c->shared_lock);
            return fresh ? r : CWB_NOMEM;
        }
        s->arenas = a = fresh;
    }
    *address = (uintptr_t)a->memory;
    pthread_mutex_unlock(&s->c->shared_lock);
    return CWB_OK;
}

void
hip_arenas_finish(struct cwb_stream *s)
{
    while (s->arenas) {
        struct hip_arena *a = s->arenas;
        s->arenas = a->next;
        (void)hip.hipFree(a->memory);
        free(a);
    }
}

/* Launch `clusters` of the grid's clusters, of `blocks` each, at most `most` at a time. */
static cwb_result
launch_clusters(struct cwb_stream *s, struct call *call, uint32_t blocks, uint64_t clusters, uint64_t most)
{
    struct cwj_amd_cluster *c = call->cluster;
    void *barriers = (void *)(uintptr_t)c->barriers;
    for (uint64_t done = 0; done < clusters;) {
        uint64_t now = clusters - done < most ? clusters - done : most;
        c->first = (uint32_t)done;
        call->grid[0] = (uint32_t)(now * blocks);
        hipError_t e = hip.hipMemsetD32Async(barriers, 0, now * CWJ_AMD_BARRIER / 4, s->s);
        if (e == hipSuccess)
            e = cooperative(s, call);
        if (e == hipErrorCooperativeLaunchTooLarge && most > 1) {   /* HIP counts differently */
            (void)hip.hipGetLastError();
            most = now / 2 ? now / 2 : 1;
            continue;
        }
        if (e != hipSuccess)
            return hip_result(e);
        done += now;
    }
    return CWB_OK;
}

enum { SMALLEST_SHIFT = 8, LDS_BYTES = 64 << 10 };

static cwb_result
in_clusters(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l, const uint32_t size[3], struct call *call)
{
    const struct cwj_kernel *info = k->module->jit->kernel(k->module->program, k->index);
    uint32_t blocks = size[0] * size[1] * size[2];
    uint64_t clusters = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] / blocks;
    struct cwj_amd_cluster c = { .grid = { l->grid[0], l->grid[1], l->grid[2] }, .size = { size[0], size[1], size[2] }, .shift = SMALLEST_SHIFT,
                                 .shared_size = info->static_shared + l->dynamic_shared, .dynamic_size = l->dynamic_shared };
    while (c.shared_size > 1u << c.shift)
        c.shift++;
    call->cluster = &c;
    cwb_result r = clusters > UINT32_MAX ? CWB_UNSUPPORTED : add_arguments(s, l, call);
    if (r != CWB_OK)
        return r;
    uint64_t most = resident(s, call) / blocks, by_lds = (uint64_t)LDS_BYTES >> c.shift;
    if (!most) {
        cw_error("%s: the device cannot have the %u blocks of a cluster resident at a time", info->name, blocks);
        return CWB_RESOURCES;
    }
    /* No more memory than the blocks would have if it were LDS. */
    by_lds = by_lds * hip_multiprocessors(s->c->device) / blocks;
    if (by_lds < most)
        most = by_lds ? by_lds : 1;
    if (clusters < most)
        most = clusters;
    uint64_t address;
    r = arena(s, most * CWJ_AMD_BARRIER + ((most * blocks) << c.shift), &address);
    if (r != CWB_OK)
        return r;
    call->cluster->barriers = address;
    call->cluster->shared = address + most * CWJ_AMD_BARRIER;
    call->grid[1] = call->grid[2] = 1;
    call->dynamic_shared = 0;
    return launch_clusters(s, call, blocks, clusters, most);
}

cwb_result
hip_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l)
{
    struct call call;
    cwb_result r;
    uint32_t size[3];
    cluster_size(k, l, size);
    bool clusters = k->uses_clusters && size[0] * size[1] * size[2] > 1;
    call.code = hip_code_for(k, l->block[0] * l->block[1] * l->block[2], clusters, &r);
    if (!call.code)
        return r;
    int sticky = atomic_load_explicit(&s->c->error, memory_order_relaxed);
    if (sticky != CWB_OK)
        return (cwb_result)sticky;
    call.params = l->params;
    call.size = l->param_size;
    memcpy(call.grid, l->grid, sizeof call.grid);
    memcpy(call.block, l->block, sizeof call.block);
    call.dynamic_shared = l->dynamic_shared;
    call.one_warp_per_wave = hip_one_warp_per_wave((enum hip_purpose)(call.code - k->code));
    call.copy = NULL;
    call.cluster = NULL;
    bool together = clusters || l->flags & CWB_LAUNCH_COOPERATIVE, more = clusters || call.one_warp_per_wave || call.code->launch_numbers;
    if (together && !hip.hipModuleLaunchCooperativeKernel)
        return CWB_UNSUPPORTED;
    hip_use(s->c);
    if ((more || together) && !make_room(&call))
        return CWB_NOMEM;
    if (clusters) {
        r = in_clusters(s, k, l, size, &call);
    } else {
        r = more ? add_arguments(s, l, &call) : CWB_OK;
        if (r == CWB_OK)
            r = hip_result(together ? cooperative(s, &call) : plain(s, &call));
    }
    leave_room(&call);
    return r;
}
