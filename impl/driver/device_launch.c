/* SPDX-License-Identifier: Apache-2.0
 * Kernels that launch kernels (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"). What a grid launches it leaves in a variable of
 * its module (jit/link/device_runtime.ptx, which has the layout); when the grid has ended, its records run here, in the same stream.
 *
 * The launch of such a kernel returns when the kernel has ended and its children are submitted: only then is it known what they are. Grids of one module
 * that launch run one at a time (module.launching), so the records are those of one grid. The lock stands above all others; under it
 * this file makes driver calls and waits, which no other thread needs the lock for. */
#include "impl/driver/driver.h"

#include "impl/base/log.h"
#include "jit/abi/host.h"

#include <stdlib.h>

enum { RECORDS = 1023, RECORD_SIZE = 4096, HEADER = 64, TAIL_LAUNCH = 3 };  /* cudaStreamTailLaunch */

struct record {
    uint64_t function;
    uint32_t grid[3], block[3], shared, link;
    uint64_t stream;
    uint32_t kind, value;
    uint64_t size;
    union {
        uint8_t  params[RECORD_SIZE - HEADER];
        uint64_t address[2];            /* destination, source */
    };
};
_Static_assert(sizeof(struct record) == RECORD_SIZE && offsetof(struct record, params) == HEADER, "as device_runtime.ptx has it");

static CUresult
parent(struct ctx *c, struct func *f, CUstream h, struct cwb_launch *l, unsigned depth);

/* The records that a grid left, *n of them in *order (numbers in *all), first those that are no tail launches. */
static CUresult
take_records(struct func *f, CUstream h, struct record **all, uint32_t *order, uint32_t *n)
{
    uint64_t queue;
    size_t size;
    uint32_t head[2], zero[2] = { 0, 0 }, left[RECORDS], count = 0;
    *n = 0;
    CUresult e = module_variable(f->module, "__cudaway_device_launches", &queue, &size);
    if (e == CUDA_SUCCESS)
        e = drv_cuMemcpyDtoHAsync_v2(head, queue, sizeof head, h);
    if (e == CUDA_SUCCESS)
        e = drv_cuStreamSynchronize(h);
    if (e != CUDA_SUCCESS || !head[0])
        return e;
    uint32_t taken = head[0] < RECORDS ? head[0] : RECORDS;
    *all = malloc(taken * sizeof **all);
    if (!*all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    e = drv_cuMemcpyDtoHAsync_v2(*all, queue + RECORD_SIZE, taken * sizeof **all, h);
    if (e == CUDA_SUCCESS)
        e = drv_cuMemcpyHtoDAsync_v2(queue, zero, sizeof zero, h);
    if (e == CUDA_SUCCESS)
        e = drv_cuStreamSynchronize(h);
    if (e != CUDA_SUCCESS)
        return e;
    for (uint32_t i = head[1]; i; i = (*all)[i - 1].link) {
        if (i > taken || count == taken)
            return CUDA_ERROR_LAUNCH_FAILED;        /* the program wrote into it */
        left[count++] = i - 1;
    }
    for (unsigned tail = 0; tail < 2; tail++)
        for (uint32_t i = count; i-- > 0;)
            if (((*all)[left[i]].stream == TAIL_LAUNCH) == tail)
                order[(*n)++] = left[i];
    return CUDA_SUCCESS;
}

static CUresult
child(struct ctx *c, struct func *by, CUstream h, struct record *r, unsigned depth)
{
    const char *name = r->function ? jit_api()->function_name(by->module->program->p, (uint32_t)(r->function >> 4) - 1) : NULL;   /* CWH_FUNC_TOKEN */
    struct func *f AUTO_PUT = NULL;
    if (!name || module_function(by->module, name, &f) != CUDA_SUCCESS) {
        cw_error("%s launched what is no kernel of its module", by->k->name);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (f->k->param_size > sizeof r->params) {
        cw_error("%s launched %s, whose parameters have %u bytes: at most %zu are possible in a kernel", by->k->name, name, f->k->param_size,
                 sizeof r->params);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    struct cwb_launch l = { .grid = { r->grid[0], r->grid[1], r->grid[2] }, .block = { r->block[0], r->block[1], r->block[2] },
                            .dynamic_shared = r->shared, .params = r->params, .param_size = f->k->param_size };
    CUresult e = f->k->launches ? parent(c, f, h, &l, depth + 1) : launch_plain(c, f, h, &l, NULL);
    const char *why = "?";
    if (e != CUDA_SUCCESS && drv_cuGetErrorName(e, &why) == CUDA_SUCCESS)
        cw_error("%s launched %s with %u x %u x %u blocks of %u x %u x %u threads, which fails: %s", by->k->name, name, r->grid[0], r->grid[1],
                 r->grid[2], r->block[0], r->block[1], r->block[2], why);
    return e;
}

static CUresult
run_record(struct ctx *c, struct func *by, CUstream h, struct record *r, unsigned depth)
{
    switch (r->kind) {
    case 0:  return child(c, by, h, r, depth);
    case 1:  return drv_cuMemcpyDtoDAsync_v2(r->address[0], r->address[1], r->size, h);      /* never what is the host's alone */
    case 2:  return drv_cuMemsetD8Async(r->address[0], (unsigned char)r->value, r->size, h);
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static CUresult
parent(struct ctx *c, struct func *f, CUstream h, struct cwb_launch *l, unsigned depth)
{
    enum { DEPTH = 1024 };
    struct record *all = NULL;
    uint32_t *order = malloc(RECORDS * sizeof *order), n = 0;
    CUresult e = !order ? CUDA_ERROR_OUT_OF_MEMORY : depth > DEPTH ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : launch_plain(c, f, h, l, NULL);
    if (e == CUDA_SUCCESS)
        e = take_records(f, h, &all, order, &n);
    CUresult first = e;
    for (uint32_t i = 0; i < n && e == CUDA_SUCCESS; i++) {
        CUresult bad = run_record(c, f, h, &all[order[i]], depth);
        if (first == CUDA_SUCCESS)
            first = bad;                /* a launch that fails does not keep the others back */
    }
    free(all);
    free(order);
    return first;
}

CUresult
launch_parent(struct ctx *c, struct func *f, CUstream h, struct cwb_launch *l)
{
    pthread_mutex_lock(&f->module->launching);
    CUresult e = parent(c, f, h, l, 0);
    pthread_mutex_unlock(&f->module->launching);
    return e;
}
