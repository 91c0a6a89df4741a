/* SPDX-License-Identifier: Apache-2.0
 * Names and parameter layouts of kernels, by handle. The table is read without a lock in every launch: entries are pushed at
 * the head of their bucket and never removed, so the newest entry of a reused handle is found first. */
#include "tracer/layer_private.h"

#include "impl/base/readable.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u
#define MAX_PARAMS 1024u

static struct cw_known *_Atomic buckets[BUCKETS];
static const struct cw_cuda_table *next;

void
cw_layer_track_start(const struct cw_cuda_table *table)
{
    next = table;
}

static struct cw_known *_Atomic *
bucket_of(uint64_t handle)
{
    return &buckets[(handle >> 4 ^ handle >> 16) % BUCKETS];
}

static const struct cw_known *
find(uint64_t handle)
{
    struct cw_known *k = atomic_load_explicit(bucket_of(handle), memory_order_acquire);
    while (k && k->handle != handle)
        k = k->next;
    return k;
}

static const struct cw_known *
add(uint64_t handle, CUmodule module, const char *name)
{
    const struct cw_known *old = find(handle);
    if (old && old->module == module && !strcmp(old->name, name))
        return old;
    size_t n = strlen(name);
    struct cw_known *k = calloc(1, sizeof *k + n + 1);
    if (!k)
        return old;
    memcpy(k->name, name, n + 1);
    k->handle = handle;
    k->module = module;
    struct cw_known *_Atomic *head = bucket_of(handle);
    k->next = atomic_load(head);
    while (!atomic_compare_exchange_weak(head, &k->next, k))
        ;
    return k;
}

const struct cw_known *
cw_layer_known(uint64_t handle)
{
    const struct cw_known *k = find(handle);
    if (k || !handle)
        return k;
    const char *name = NULL;
    CUmodule module = NULL;
    if (next->cuFuncGetName != cw_layer_missing.cuFuncGetName &&
        next->cuFuncGetName(&name, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS && name)
        return add(handle, module, name);
    if (next->cuKernelGetName != cw_layer_missing.cuKernelGetName &&
        next->cuKernelGetName(&name, (CUkernel)(uintptr_t)handle) == CUDA_SUCCESS && name)
        return add(handle, module, name);
    return NULL;
}

bool
cw_layer_told_name(const struct cw_call *c, uint64_t *handle, uint64_t *module, const char **name)
{
    if (c->result != CUDA_SUCCESS)
        return false;
    const void *const *out;
    *module = 0;
    switch (c->index) {
    case CW_FN_cuModuleGetFunction:
    case CW_FN_cuLibraryGetKernel:
        out = CW_ARG(c, 0, const void *const *);
        *module = (uint64_t)(uintptr_t)CW_ARG(c, 1, void *);
        *name = CW_ARG(c, 2, const char *);
        break;
    case CW_FN_cuKernelGetFunction: {
        out = CW_ARG(c, 0, const void *const *);
        const struct cw_known *k = cw_layer_known((uint64_t)(uintptr_t)CW_ARG(c, 1, void *));
        if (!k)
            return false;
        *name = k->name;
        *module = (uint64_t)(uintptr_t)k->module;
        break;
    }
    default:
        return false;
    }
    *handle = out ? (uint64_t)(uintptr_t)*out : 0;
    return *handle && *name;
}

void
cw_layer_track(const struct cw_call *call)
{
    uint64_t handle, module;
    const char *name;
    if (cw_layer_told_name(call, &handle, &module, &name))
        add(handle, (CUmodule)(uintptr_t)module, name);
}

/* ---- launches ---- */

bool
cw_layer_is_launch(unsigned index)
{
    switch (index) {
    case CW_FN_cuLaunch:
    case CW_FN_cuLaunchGrid:
    case CW_FN_cuLaunchGridAsync:
    case CW_FN_cuLaunchKernel:
    case CW_FN_cuLaunchKernel_ptsz:
    case CW_FN_cuLaunchKernelEx:
    case CW_FN_cuLaunchKernelEx_ptsz:
    case CW_FN_cuLaunchCooperativeKernel:
    case CW_FN_cuLaunchCooperativeKernel_ptsz:
        return true;
    default:
        return false;
    }
}

bool
cw_layer_decode_launch(const struct cw_call *c, struct cw_launch *l)
{
    *l = (struct cw_launch){ .call = c, .next = c->next, .result = c->result, .name = "?", .grid = { 1, 1, 1 } };
    const CUlaunchConfig *config;
    l->function = CW_ARG(c, 0, CUfunction);
    switch (c->index) {
    case CW_FN_cuLaunchKernel_ptsz:
    case CW_FN_cuLaunchCooperativeKernel_ptsz:
        l->per_thread = true;
        /* fall through */
    case CW_FN_cuLaunchKernel:
    case CW_FN_cuLaunchCooperativeKernel:
        for (unsigned i = 0; i < 3; i++) {
            l->grid[i] = CW_ARG(c, 1 + i, unsigned);
            l->block[i] = CW_ARG(c, 4 + i, unsigned);
        }
        l->shared = CW_ARG(c, 7, unsigned);
        l->stream = CW_ARG(c, 8, CUstream);
        l->params = CW_ARG(c, 9, void **);
        l->cooperative = c->index == CW_FN_cuLaunchCooperativeKernel || c->index == CW_FN_cuLaunchCooperativeKernel_ptsz;
        l->extra = l->cooperative ? NULL : CW_ARG(c, 10, void **);
        break;
    case CW_FN_cuLaunchKernelEx_ptsz:
        l->per_thread = true;
        /* fall through */
    case CW_FN_cuLaunchKernelEx:
        config = CW_ARG(c, 0, const CUlaunchConfig *);
        l->function = CW_ARG(c, 1, CUfunction);
        if (!cw_layer_readable(config, sizeof *config) ||
            (config->attrs && config->numAttrs && !cw_layer_readable(config->attrs, (uint64_t)config->numAttrs * sizeof *config->attrs)))
            return false;
        l->grid[0] = config->gridDimX, l->grid[1] = config->gridDimY, l->grid[2] = config->gridDimZ;
        l->block[0] = config->blockDimX, l->block[1] = config->blockDimY, l->block[2] = config->blockDimZ;
        l->shared = config->sharedMemBytes;
        l->stream = config->hStream;
        l->attributes = config->attrs;
        l->attribute_count = config->attrs ? config->numAttrs : 0;
        l->params = CW_ARG(c, 2, void **);
        l->extra = CW_ARG(c, 3, void **);
        break;
    case CW_FN_cuLaunchGridAsync:
        l->stream = CW_ARG(c, 3, CUstream);
        /* fall through */
    case CW_FN_cuLaunchGrid:
        l->grid[0] = (unsigned)CW_ARG(c, 1, int);
        l->grid[1] = (unsigned)CW_ARG(c, 2, int);
        break;
    default:
        break;
    }
    const struct cw_known *k = cw_layer_known((uint64_t)(uintptr_t)l->function);
    if (k) {
        l->name = k->name;
        l->module = k->module;
    }
    return true;
}

/* Ask the library below for the layout, once. */
static void
learn_layout(struct cw_known *k, CUfunction function)
{
    int expected = 0;
    if (!atomic_compare_exchange_strong(&k->layout_state, &expected, 1))
        return;
    unsigned offsets[MAX_PARAMS], sizes[MAX_PARAMS], n = 0, bytes = 0;
    bool ok = next->cuFuncGetParamInfo != cw_layer_missing.cuFuncGetParamInfo;
    for (; ok && n < MAX_PARAMS; n++) {
        size_t offset = 0, size = 0;
        CUresult r = next->cuFuncGetParamInfo(function, n, &offset, &size);
        ok = n || r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE;
        if (r != CUDA_SUCCESS)
            break;
        if (offset + size > UINT16_MAX || !size) {
            ok = false;
            break;
        }
        offsets[n] = (unsigned)offset;
        sizes[n] = (unsigned)size;
        if (offset + size > bytes)
            bytes = (unsigned)(offset + size);
    }
    k->offsets = ok ? calloc(2 * (size_t)n + 1, sizeof *k->offsets) : NULL;
    if (k->offsets) {
        k->sizes = k->offsets + n;
        memcpy(k->offsets, offsets, n * sizeof *offsets);
        memcpy(k->sizes, sizes, n * sizeof *sizes);
        k->param_count = n;
        k->param_bytes = bytes;
    }
    atomic_store_explicit(&k->layout_state, k->offsets ? 2 : 3, memory_order_release);
}

bool
cw_layer_extra(void **extra, const void **buffer, size_t *size)
{
    struct cw_readable_page at = { 0 };
    *buffer = NULL;
    *size = 0;
    for (unsigned i = 0; i < 16; i += 2) {
        if (!cw_readable_piece(&at, &extra[i], sizeof *extra))
            return false;
        if (extra[i] == CU_LAUNCH_PARAM_END)
            break;
        if (!cw_readable_piece(&at, &extra[i + 1], sizeof *extra))
            return false;
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1]) {
            if (!cw_readable_piece(&at, extra[i + 1], sizeof *size))
                return false;
            *size = *(const size_t *)extra[i + 1];
        }
    }
    return true;
}

/* At most as many bytes as the function has: of a block that the driver refuses, being longer, the rest may not be there. */
static unsigned
extra_bytes(void **extra, void *out, unsigned size)
{
    const void *buffer;
    size_t n;
    if (!cw_layer_extra(extra, &buffer, &n) || !buffer)
        return 0;
    if (n > size)
        n = size;
    if (!cw_layer_readable(buffer, n))
        return 0;
    memcpy(out, buffer, n);
    return (unsigned)n;
}

unsigned
cw_layer_param_bytes(const struct cw_launch *l, void *out, unsigned size)
{
    struct cw_known *k = (struct cw_known *)cw_layer_known((uint64_t)(uintptr_t)l->function);
    if (!k || (!l->params && !l->extra))
        return 0;
    if (!atomic_load_explicit(&k->layout_state, memory_order_acquire))
        learn_layout(k, l->function);
    bool known = atomic_load_explicit(&k->layout_state, memory_order_acquire) == 2;
    unsigned bytes = known && k->param_bytes < size ? k->param_bytes : size;
    if (!l->params)
        return extra_bytes(l->extra, out, bytes);
    if (!known)
        return 0;
    struct cw_readable_page list = { 0 }, values = { 0 };
    memset(out, 0, bytes);
    for (unsigned i = 0; i < k->param_count; i++) {
        if (!cw_readable_piece(&list, &l->params[i], sizeof *l->params))
            return 0;
        if (!l->params[i] || k->offsets[i] + k->sizes[i] > bytes)
            continue;
        if (!cw_readable_piece(&values, l->params[i], k->sizes[i]))
            return 0;
        memcpy((char *)out + k->offsets[i], l->params[i], k->sizes[i]);
    }
    return bytes;
}
