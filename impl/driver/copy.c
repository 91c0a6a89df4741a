/* SPDX-License-Identifier: Apache-2.0
 * Copies: every form becomes one rectangle (struct cwb_copy) whose ends were checked against what they name, then one
 * backend operation. A copy that touches pageable host memory returns when it is done; so do synchronous copies to or from
 * host memory. Device-to-device copies do not wait (CUDA driver API, "API synchronization behavior"). */
#include "impl/driver/graph.h"

#include <stdint.h>

struct end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, lod, pitch, height;
};

void
copy_job_finish(struct copy_job *j)
{
    for (int i = 0; i < 2; i++)
        if (j->arrays[i])
            handle_put(&j->arrays[i]->obj);
}

/* a * b + c * d + e, false on overflow. */
static bool
extent(size_t a, size_t b, size_t c, size_t d, size_t e, size_t *out)
{
    size_t ab, cd;
    return !__builtin_mul_overflow(a, b, &ab) && !__builtin_mul_overflow(c, d, &cd) && !__builtin_add_overflow(ab, cd, out) &&
           !__builtin_add_overflow(*out, e, out);
}

static CUresult
array_side(const struct end *e, struct copy_job *j, struct cwb_side *s, int which)
{
    struct array *a = handle_get(e->array, KIND_ARRAY);
    if (!a)
        return e->array ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    j->arrays[which] = a;
    size_t width = a->desc.Width * a->element;
    size_t height = a->desc.Height ? a->desc.Height : 1, depth = a->desc.Depth ? a->desc.Depth : 1;
    size_t w = j->c.width, h = j->c.height, d = j->c.depth;
    if (e->lod)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->x > width || w > width - e->x || e->y > height || h > height - e->y || e->z > depth || d > depth - e->z)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->x % a->element || w % a->element)
        return CUDA_ERROR_INVALID_VALUE;
    *s = (struct cwb_side){ .loc = CWB_LOC_ARRAY, .array = a->be, .level = a->level, .x = e->x, .y = e->y, .z = e->z };
    return CUDA_SUCCESS;
}

/* The bytes of a rectangle from its first one on: `skip` from the address, `span` to its end from there, and the steps; false when
 * that overflows, or where a row does not fit into the pitch, or the rows into the height, be there only one (an H200, driver 580). What
 * has to fit is a row to its end (*inside), but in memory of pools its width alone: Dr.Jit's copies of textures with more than four channels begin
 * behind the pitch. */
static bool
layout(const struct end *e, const struct cwb_copy *c, size_t *pitch, size_t *slice, size_t *skip, size_t *span, bool *inside)
{
    size_t height = e->height, row, last_row = e->y + c->height - 1, last_slice = e->z + c->depth - 1, end;
    *pitch = e->pitch;
    if (__builtin_add_overflow(e->x, c->width, &row))
        return false;
    if (!*pitch)
        *pitch = row;
    else if (*pitch < c->width)
        return false;
    *inside = *pitch >= row;
    if (!height)
        height = e->y + c->height;
    else if (height < e->y + c->height)
        return false;
    if (last_row < e->y || last_slice < e->z || __builtin_mul_overflow(*pitch, height, slice) ||
        !extent(last_slice, *slice, last_row, *pitch, row, &end))
        return false;
    (void)extent(e->z, *slice, e->y, *pitch, e->x, skip);
    *span = end - *skip;
    return true;
}

static CUresult
pointer_side(const struct end *e, struct copy_job *j, struct cwb_side *s, int which)
{
    const struct cwb_copy *c = &j->c;
    bool inside = true;
    size_t pitch = c->width, slice = c->width, skip = 0, span = c->width;
    if ((c->height | c->depth) != 1 || e->x | e->y | e->z | e->pitch | e->height)   /* not just one row */
        if (!layout(e, c, &pitch, &slice, &skip, &span, &inside))
            return CUDA_ERROR_INVALID_VALUE;
    bool host = e->type == CU_MEMORYTYPE_HOST;
    uint64_t address = host ? (uintptr_t)e->host : e->device;
    if (!address || address + skip + span < address || address + skip + span > MOST_ADDRESSES)
        return CUDA_ERROR_INVALID_VALUE;
    struct range r;
    struct range_facts f;
    bool known = range_facts(address + skip, span, &f);
    unsigned kinds = f.kinds;
    const unsigned host_kinds = 1u << RANGE_PINNED | 1u << RANGE_REGISTERED;
    *s = (struct cwb_side){ .address = address, .x = e->x, .y = e->y, .z = e->z, .pitch = pitch, .slice = slice };
    if (!inside && !(known && kinds == 1u << RANGE_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    if (!known && e->type == CU_MEMORYTYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (known && !(f.access & (which ? MAY_READ : MAY_WRITE)))
        return CUDA_ERROR_INVALID_VALUE;        /* mapped, without the right to read or to write it */
    if (known && skip && inside && !range_covers(address, skip + span, &kinds))
        return CUDA_ERROR_INVALID_VALUE;        /* what lies so far behind the address is another allocation's */
    if (!known && e->type == CU_MEMORYTYPE_UNIFIED && (range_find(address + skip, &r) || (skip && range_find(address, &r))))
        return CUDA_ERROR_INVALID_VALUE;        /* starts in an allocation and runs out of it, or lies behind the one of its address */
    if (!known && g.backend->va_contains && g.backend->va_contains(address + skip, 1))
        return CUDA_ERROR_INVALID_VALUE;        /* device memory that is not allocated: never the host's */
    s->loc = known && kinds & ~host_kinds ? CWB_LOC_DEVICE : CWB_LOC_HOST;
    if (!known)
        j->wait_async = true;
    else
        j->use[which] = (struct use){ address + skip, span };
    if (s->loc == CWB_LOC_HOST || kinds & RANGES_MANAGED)
        j->wait_sync = true;
    if (known) {
        if (f.sync_memops)
            j->wait_async = j->wait_sync = true;
        if (s->loc == CWB_LOC_HOST && !host)
            s->address = address + f.to_device;
    }
    return CUDA_SUCCESS;
}

static CUresult
side(const struct end *e, struct copy_job *j, struct cwb_side *s, int which)
{
    switch ((int)e->type) {
    case CU_MEMORYTYPE_ARRAY:
        return array_side(e, j, s, which);
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        return pointer_side(e, j, s, which);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Look both ends up. *j needs no finish when that fails. */
static CUresult
resolve(const struct end *dst, const struct end *src, size_t width, size_t height, size_t depth, struct copy_job *j)
{
    /* Field by field: each side is set as a whole below, and clearing all of it first would take longer than the rest. */
    j->c.width = width;
    j->c.height = height;
    j->c.depth = depth;
    j->wait_async = j->wait_sync = false;
    j->arrays[0] = j->arrays[1] = NULL;
    j->use[0].size = j->use[1].size = 0;
    CUresult e = side(dst, j, &j->c.dst, 0);
    if (e == CUDA_SUCCESS)
        e = side(src, j, &j->c.src, 1);
    if (e != CUDA_SUCCESS)
        copy_job_finish(j);
    return e;
}

static CUresult capture_copy(struct stream *s, const struct end *dst, const struct end *src, size_t width, size_t height, size_t depth);

CUresult
copy_submit(const struct ctx *c, struct cwb_stream *s, const struct copy_job *j)
{
    for (int i = 0; i < 2; i++)
        if (j->arrays[i] && j->arrays[i]->obj.ctx != c)
            atomic_store_explicit(&j->arrays[i]->obj.ctx->lent, true, memory_order_relaxed);    /* as range_use does */
    for (int i = 0; i < 2; i++)
        if (j->use[i].size && !range_use(c, j->use[i].address, j->use[i].size))
            return CUDA_ERROR_INVALID_VALUE;
    return result_of(device_copy(c, s, &j->c));
}

CUresult
fill_submit(const struct ctx *c, struct cwb_stream *s, const struct fill_job *j)
{
    return range_use(c, j->use.address, j->use.size) ? result_of(device_fill(c, s, &j->f)) : CUDA_ERROR_INVALID_VALUE;
}

/* The short way (stream_enter). False: nothing is done. */
static bool
copy_now(struct ctx *c, const struct end *dst, const struct end *src, size_t width, size_t height, size_t depth, CUstream hStream,
         bool async, CUresult *out)
{
    struct copy_job j;
    struct stream *s;
    if (CAPTURES() || !width || !height || !depth || resolve(dst, src, width, height, depth, &j) != CUDA_SUCCESS)
        return false;
    bool entered = stream_enter(c, hStream, &s, out);
    if (entered && *out == CUDA_SUCCESS) {
        *out = copy_submit(c, s->be, &j);
        bool wait = *out == CUDA_SUCCESS && (j.wait_async || (!async && j.wait_sync));
        if (wait)
            handle_ref(&s->obj);
        stream_end_work(s);
        if (wait) {
            *out = result_of(c->b->stream_sync(s->be));
            handle_put(&s->obj);
        }
    }
    copy_job_finish(&j);
    return entered;
}

static CUresult
copy(const struct end *dst, const struct end *src, size_t width, size_t height, size_t depth, CUstream hStream, bool async)
{
    /* Copies look their addresses up in the current context; where there is one, and it has ended, they fail (driver 580). */
    struct ctx *current;
    CUresult lost = ctx_current(&current);
    if (lost == CUDA_ERROR_CONTEXT_IS_DESTROYED || lost == CUDA_ERROR_NOT_PERMITTED)
        return lost;
    STREAM_CONTEXT(c, hStream);
    CUresult done;
    if (copy_now(c, dst, src, width, height, depth, hStream, async, &done))
        return done;
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e == CUDA_SUCCESS && async)
        e = capture_error(s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!width || !height || !depth)
        return CUDA_SUCCESS;
    if (stream_captures(s) && async)
        return capture_copy(s, dst, src, width, height, depth);
    e = capture_refuse(s);
    if (e != CUDA_SUCCESS)
        return e;
    struct copy_job j;
    e = resolve(dst, src, width, height, depth, &j);
    if (e != CUDA_SUCCESS)
        return e;
    e = stream_begin(s);
    if (e == CUDA_SUCCESS) {
        e = copy_submit(s->obj.ctx, s->be, &j);
        stream_end_work(s);
    }
    if (e == CUDA_SUCCESS && (j.wait_async || (!async && j.wait_sync)))
        e = result_of(s->obj.ctx->b->stream_sync(s->be));
    copy_job_finish(&j);
    return e;
}

#define HOST(p)      ((struct end){ .type = CU_MEMORYTYPE_HOST, .host = (p) })
#define DEV(p)       ((struct end){ .type = CU_MEMORYTYPE_DEVICE, .device = (p) })
#define ANY(p)       ((struct end){ .type = CU_MEMORYTYPE_UNIFIED, .device = (p) })
#define ARRAY(a, xx) ((struct end){ .type = CU_MEMORYTYPE_ARRAY, .array = (a), .x = (xx) })

static CUresult
linear(struct end dst, struct end src, size_t n, CUstream s, bool async)
{
    return copy(&dst, &src, n, 1, 1, s, async);
}

CUresult
drv_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return linear(ANY(dst), ANY(src), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return linear(DEV(dstDevice), HOST(srcHost), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(HOST(dstHost), DEV(srcDevice), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(DEV(dstDevice), DEV(srcDevice), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(ARRAY(dstArray, dstOffset), DEV(srcDevice), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return linear(DEV(dstDevice), ARRAY(srcArray, srcOffset), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    return linear(ARRAY(dstArray, dstOffset), HOST(srcHost), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return linear(HOST(dstHost), ARRAY(srcArray, srcOffset), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return linear(ARRAY(dstArray, dstOffset), ARRAY(srcArray, srcOffset), ByteCount, NULL, false);
}

CUresult
drv_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return linear(ANY(dst), ANY(src), ByteCount, hStream, true);
}

CUresult
drv_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return linear(DEV(dstDevice), HOST(srcHost), ByteCount, hStream, true);
}

CUresult
drv_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(HOST(dstHost), DEV(srcDevice), ByteCount, hStream, true);
}

CUresult
drv_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(DEV(dstDevice), DEV(srcDevice), ByteCount, hStream, true);
}

CUresult
drv_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return linear(ARRAY(dstArray, dstOffset), HOST(srcHost), ByteCount, hStream, true);
}

CUresult
drv_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream)
{
    return linear(HOST(dstHost), ARRAY(srcArray, srcOffset), ByteCount, hStream, true);
}

static CUresult
peers(CUcontext a, CUcontext b)
{
    CUcontext both[] = { a, b };
    for (int i = 0; i < 2; i++) {
        struct ctx *c;
        if (!both[i])
            continue;                   /* unified addresses say where memory is (driver 580) */
        CUresult e = ctx_from_handle(both[i], &c);
        if (e != CUDA_SUCCESS)
            return e;
        ctx_unref(c);
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount)
{
    CUresult e = peers(dstContext, srcContext);
    return e == CUDA_SUCCESS ? linear(DEV(dstDevice), DEV(srcDevice), ByteCount, NULL, false) : e;
}

CUresult
drv_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                      CUstream hStream)
{
    CUresult e = peers(dstContext, srcContext);
    return e == CUDA_SUCCESS ? linear(DEV(dstDevice), DEV(srcDevice), ByteCount, hStream, true) : e;
}

/* The ends of the 2D and 3D structures. UNIFIED takes its address from srcDevice and dstDevice. */
#define END2(p, side) ((struct end){ .type = (p)->side##MemoryType, .host = (p)->side##Host, .device = (p)->side##Device,  \
                                     .array = (p)->side##Array, .x = (p)->side##XInBytes, .y = (p)->side##Y, .pitch = (p)->side##Pitch })
#define END3(p, side) ((struct end){ .type = (p)->side##MemoryType, .host = (p)->side##Host, .device = (p)->side##Device,  \
                                     .array = (p)->side##Array, .x = (p)->side##XInBytes, .y = (p)->side##Y, .z = (p)->side##Z, \
                                     .lod = (p)->side##LOD, .pitch = (p)->side##Pitch, .height = (p)->side##Height })

CUresult
copy_resolve(const CUDA_MEMCPY3D *p, struct copy_job *j)
{
    struct end dst = END3(p, dst), src = END3(p, src);
    return resolve(&dst, &src, p->WidthInBytes, p->Height, p->Depth, j);
}

static CUresult
capture_copy(struct stream *s, const struct end *dst, const struct end *src, size_t width, size_t height, size_t depth)
{
    const CUDA_MEMCPY3D p = {
#define SIDE(e, side) .side##XInBytes = (e)->x, .side##Y = (e)->y, .side##Z = (e)->z, .side##LOD = (e)->lod, .side##MemoryType = (e)->type, \
        .side##Host = (void *)(uintptr_t)(e)->host, .side##Device = (e)->device, .side##Array = (e)->array,                \
        .side##Pitch = (e)->pitch, .side##Height = (e)->height
        SIDE(src, src), SIDE(dst, dst),
#undef SIDE
        .WidthInBytes = width, .Height = height, .Depth = depth,
    };
    struct work w;
    return capture_work(s, work_memcpy(&w, &p, s->obj.ctx->handle), &w);
}

static CUresult
copy2d(const CUDA_MEMCPY2D *p, CUstream s, bool async)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    struct end dst = END2(p, dst), src = END2(p, src);
    return copy(&dst, &src, p->WidthInBytes, p->Height, 1, s, async);
}

CUresult
drv_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy2d(pCopy, NULL, false);
}

CUresult
drv_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy2d(pCopy, NULL, false);
}

CUresult
drv_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy2d(pCopy, hStream, true);
}

static CUresult
copy3d(const CUDA_MEMCPY3D *p, CUstream s, bool async)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    struct end dst = END3(p, dst), src = END3(p, src);
    return copy(&dst, &src, p->WidthInBytes, p->Height, p->Depth, s, async);
}

CUresult
drv_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return copy3d(pCopy, NULL, false);
}

CUresult
drv_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy3d(pCopy, hStream, true);
}

static CUresult
copy3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream s, bool async)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    struct end dst = END3(p, dst), src = END3(p, src);
    CUresult e = peers(p->dstContext, p->srcContext);
    return e == CUDA_SUCCESS ? copy(&dst, &src, p->WidthInBytes, p->Height, p->Depth, s, async) : e;
}

CUresult
drv_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return copy3d_peer(pCopy, NULL, false);
}

CUresult
drv_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy3d_peer(pCopy, hStream, true);
}

/* ---- batches: their copies run in the order of the list, which the manual leaves open ------------------------------------------------- */

static bool
order_known(int order)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* Where memory is, for copies that may read it later; ignored. */
static bool
hint_known(const CUmemLocation *l)
{
    struct device *d;
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE ? device_get(l->id, &d) == CUDA_SUCCESS : (unsigned)l->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/* attrsIdxs[k]: the first copy that attrs[k] are for. */
static CUresult
batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
      size_t *failed, CUstream hStream)
{
    READY();
    *failed = SIZE_MAX;                 /* no one copy's fault */
    if (!dsts || !srcs || !sizes || !count || !attrs || !attrsIdxs || !numAttrs || numAttrs > count || !hStream || attrsIdxs[0])
        return CUDA_ERROR_INVALID_VALUE;
    if (hStream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!sizes[i])
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numAttrs; i++)
        if (!order_known((int)attrs[i].srcAccessOrder) || attrs[i].flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE ||
            !hint_known(&attrs[i].srcLocHint) || !hint_known(&attrs[i].dstLocHint) || attrsIdxs[i] >= count || (i && attrsIdxs[i] <= attrsIdxs[i - 1]))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult e = linear(ANY(dsts[i]), ANY(srcs[i]), sizes[i], hStream, true);
        if (e != CUDA_SUCCESS) {
            *failed = i;
            return e;
        }
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
                          size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
    size_t failed;
    return batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &failed, hStream);
}

CUresult
drv_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
                       size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream)
{
    size_t failed = SIZE_MAX;
    CUresult e = batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &failed, hStream);
    if (e != CUDA_SUCCESS && failIdx)
        *failIdx = failed;
    return e;
}

/* Lengths of an operand are in elements: of an array in the array's, of pointers alone in bytes. */
static CUresult
operand(const CUmemcpy3DOperand *o, size_t element, struct end *out)
{
    switch ((int)o->type) {
    case CU_MEMCPY_OPERAND_TYPE_POINTER:
        *out = ANY(o->op.ptr.ptr);
        if (__builtin_mul_overflow(o->op.ptr.rowLength, element, &out->pitch))
            return CUDA_ERROR_INVALID_VALUE;
        out->height = o->op.ptr.layerHeight;
        return CUDA_SUCCESS;
    case CU_MEMCPY_OPERAND_TYPE_ARRAY:
        *out = ARRAY(o->op.array.array, 0);
        if (__builtin_mul_overflow(o->op.array.offset.x, element, &out->x))
            return CUDA_ERROR_INVALID_VALUE;
        out->y = o->op.array.offset.y;
        out->z = o->op.array.offset.z;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static size_t
element_of(const CUmemcpy3DOperand *o)
{
    struct array *a AUTO_PUT = o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? handle_get(o->op.array.array, KIND_ARRAY) : NULL;
    return a ? a->element : 0;
}

static CUresult
copy_op(const CUDA_MEMCPY3D_BATCH_OP *o, CUstream hStream)
{
    size_t element = element_of(&o->dst), width;
    struct end dst, src;
    if (!element)
        element = element_of(&o->src);
    if (!element)
        element = 1;
    if (!order_known((int)o->srcAccessOrder) || __builtin_mul_overflow(o->extent.width, element, &width))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = operand(&o->dst, element, &dst);
    if (e == CUDA_SUCCESS)
        e = operand(&o->src, element, &src);
    return e == CUDA_SUCCESS ? copy(&dst, &src, width, o->extent.height, o->extent.depth, hStream, true) : e;
}

static CUresult
batch3d(size_t numOps, const CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, size_t *failed, CUstream hStream)
{
    READY();
    *failed = SIZE_MAX;
    if (!numOps || !list || flags || !hStream || hStream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numOps; i++)
        if (!list[i].extent.width || !list[i].extent.height || !list[i].extent.depth || list[i].flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numOps; i++) {
        CUresult e = copy_op(&list[i], hStream);
        if (e != CUDA_SUCCESS) {
            *failed = i;
            return e;
        }
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream)
{
    size_t failed;
    return batch3d(numOps, opList, flags, &failed, hStream);
}

CUresult
drv_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags, CUstream hStream)
{
    size_t failed = SIZE_MAX;
    CUresult e = batch3d(numOps, opList, flags, &failed, hStream);
    if (e != CUDA_SUCCESS && failIdx)
        *failIdx = failed;
    return e;
}

/* ---- fills -------------------------------------------------------------------------------------------------------------- */

CUresult
fill_resolve(const CUDA_MEMSET_NODE_PARAMS *p, struct fill_job *j)
{
    const uint32_t size = p->elementSize;
    size_t row, span;
    struct range_facts facts;
    if (size != 1 && size != 2 && size != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (!p->width || !p->height || !p->dst || p->dst % size || __builtin_mul_overflow(p->width, size, &row))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->height > 1 && (p->pitch < row || p->pitch % size))
        return CUDA_ERROR_INVALID_VALUE;
    if (!extent(p->height - 1, p->pitch, 0, 0, row, &span) || !range_facts(p->dst, span, &facts) || !(facts.access & MAY_WRITE))
        return CUDA_ERROR_INVALID_VALUE;
    j->kinds = facts.kinds;
    const bool host = !(j->kinds & ~(1u << RANGE_PINNED | 1u << RANGE_REGISTERED));
    j->use = (struct use){ p->dst, span };
    j->f = (struct cwb_fill){
        .dst = { .loc = host ? CWB_LOC_HOST : CWB_LOC_DEVICE, .address = p->dst, .pitch = p->pitch ? p->pitch : row,
                 .slice = p->pitch * p->height },
        .value = p->value, .size = size, .width = p->width, .height = p->height, .depth = 1,
    };
    return CUDA_SUCCESS;
}

static bool
fill_waits(const struct fill_job *j)
{
    return j->f.dst.loc == CWB_LOC_HOST || j->kinds & RANGES_MANAGED;
}

/* The short way (stream_enter). False: nothing is done. */
static bool
fill_now(struct ctx *c, const CUDA_MEMSET_NODE_PARAMS *p, CUstream hStream, bool async, CUresult *out)
{
    struct fill_job j;
    struct stream *s;
    if (CAPTURES() || fill_resolve(p, &j) != CUDA_SUCCESS || (!async && fill_waits(&j)) ||
        !stream_enter(c, hStream, &s, out))
        return false;
    if (*out == CUDA_SUCCESS) {
        *out = fill_submit(c, s->be, &j);
        stream_end_work(s);
    }
    return true;
}

static CUresult
fill(CUdeviceptr dst, size_t pitch, uint32_t value, uint32_t size, size_t width, size_t height, CUstream hStream, bool async)
{
    STREAM_CONTEXT(c, hStream);
    const CUDA_MEMSET_NODE_PARAMS p = { .dst = dst, .pitch = pitch, .value = value, .elementSize = size, .width = width, .height = height };
    CUresult e;
    if (fill_now(c, &p, hStream, async, &e))
        return e;
    struct stream *s AUTO_PUT = NULL;
    e = stream_get(c, hStream, &s);
    if (e == CUDA_SUCCESS && async)
        e = capture_error(s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!width || !height)
        return CUDA_SUCCESS;
    struct fill_job j;
    if (stream_captures(s) && async) {
        struct work w;
        return capture_work(s, work_memset(&w, &p, s->obj.ctx->handle), &w);
    }
    e = capture_refuse(s);
    if (e == CUDA_SUCCESS)
        e = fill_resolve(&p, &j);
    if (e == CUDA_SUCCESS)
        e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = fill_submit(s->obj.ctx, s->be, &j);
    stream_end_work(s);
    if (e == CUDA_SUCCESS && !async && fill_waits(&j))
        e = result_of(s->obj.ctx->b->stream_sync(s->be));
    return e;
}

CUresult
drv_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, 0, uc, 1, N, 1, NULL, false);
}

CUresult
drv_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

CUresult
drv_cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, NULL, false);
}

CUresult
drv_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                         CUstream hStream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

CUresult
drv_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(dstDevice, 0, us, 2, N, 1, NULL, false);
}

CUresult
drv_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

CUresult
drv_cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, NULL, false);
}

CUresult
drv_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                         CUstream hStream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

CUresult
drv_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, 0, ui, 4, N, 1, NULL, false);
}

CUresult
drv_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

CUresult
drv_cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, NULL, false);
}

CUresult
drv_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                         CUstream hStream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}
