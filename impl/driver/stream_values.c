/* SPDX-License-Identifier: Apache-2.0
 * Values in memory that streams write and wait for ("Stream Memory Operations"), one by one and in batches. */
#include "impl/driver/graph.h"

struct value_op {
    CUdeviceptr address;
    uint64_t value;
    unsigned bits, flags;
    bool wait;
};

/* What an operation says of itself. */
static CUresult
value_form(const struct ctx *c, const struct value_op *o)
{
    if (!(c->b->caps & CWB_CAP_STREAM_VALUE))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (o->wait ? (o->flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR : o->flags)
        return CUDA_ERROR_INVALID_VALUE;        /* a write without a barrier "is not supported in the v2 API" (cuda.h) */
    if (o->wait && o->flags & CU_STREAM_WAIT_VALUE_FLUSH)
        return CUDA_ERROR_NOT_SUPPORTED;
    return o->address & (o->bits / 8 - 1) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The same, and its memory, which must not be managed memory. ctx.order is held. */
static CUresult
value_check(const struct ctx *c, const struct value_op *o)
{
    unsigned kinds;
    CUresult e = value_form(c, o);
    if (e != CUDA_SUCCESS)
        return e;
    bool there = range_covers(o->address, o->bits / 8, &kinds) && !(kinds & RANGES_MANAGED) && range_use(c, o->address, o->bits / 8);
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult
value_issue(const struct ctx *c, struct cwb_stream *s, const struct value_op *o)
{
    static const enum cwb_compare map[] = { CWB_COMPARE_GEQ, CWB_COMPARE_EQ, CWB_COMPARE_AND, CWB_COMPARE_NOR };
    CUresult e = value_check(c, o);
    if (e != CUDA_SUCCESS)
        return e;
    return result_of(o->wait ? c->b->stream_wait_value(s, o->address, o->value, o->bits, map[o->flags])
                             : c->b->stream_write_value(s, o->address, o->value, o->bits));
}

static CUresult
value_op(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned bits, unsigned flags, bool wait)
{
    STREAM(s, stream);
    if (stream_captures(s)) {
        CUstreamBatchMemOpParams p = { .waitValue = { .address = addr, .value64 = value, .flags = flags } };
        p.operation = wait ? bits == 32 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64
                           : bits == 32 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
        struct work w;
        return capture_work(s, work_batch(&w, s->obj.ctx, 1, &p, 0), &w);
    }
    CUresult e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = value_issue(s->obj.ctx, s->be, &(struct value_op){ addr, value, bits, flags, wait });
    stream_end_work(s);
    return e;
}

CUresult
drv_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_op(stream, addr, value, 32, flags, true);
}

CUresult
drv_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_op(stream, addr, value, 64, flags, true);
}

CUresult
drv_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_op(stream, addr, value, 32, flags, false);
}

CUresult
drv_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_op(stream, addr, value, 64, flags, false);
}

CUresult
drv_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    STREAM(s, stream);
    if (flags || count > 256 || (count && !paramArray))
        return CUDA_ERROR_INVALID_VALUE;
    if (!(s->obj.ctx->b->caps & CWB_CAP_STREAM_VALUE))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (stream_captures(s)) {
        struct work w;
        return capture_work(s, work_batch(&w, s->obj.ctx, count, paramArray, flags), &w);
    }
    CUresult e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = batch_check(s->obj.ctx, count, paramArray);     /* all of them or none (driver 580) */
    if (e == CUDA_SUCCESS)
        e = batch_issue(s->obj.ctx, s->be, count, paramArray);
    stream_end_work(s);
    return e;
}

/* No bits: a barrier, which means nothing here, for operations of a stream are ordered anyway. */
static CUresult
value_of(const CUstreamBatchMemOpParams *p, struct value_op *o)
{
    *o = (struct value_op){ .bits = 0 };
    switch ((int)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        *o = (struct value_op){ p->waitValue.address, p->waitValue.value, 32, p->waitValue.flags, true };
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *o = (struct value_op){ p->waitValue.address, p->waitValue.value64, 64, p->waitValue.flags, true };
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *o = (struct value_op){ p->writeValue.address, p->writeValue.value, 32, p->writeValue.flags, false };
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *o = (struct value_op){ p->writeValue.address, p->writeValue.value64, 64, p->writeValue.flags, false };
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult
batch_form(const struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list)
{
    struct value_op o;
    CUresult e = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && e == CUDA_SUCCESS; i++)
        if ((e = value_of(&list[i], &o)) == CUDA_SUCCESS && o.bits)
            e = value_form(c, &o);
    return e;
}

CUresult
batch_check(const struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list)
{
    struct value_op o;
    CUresult e = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && e == CUDA_SUCCESS; i++)
        if ((e = value_of(&list[i], &o)) == CUDA_SUCCESS && o.bits)
            e = value_check(c, &o);
    return e;
}

CUresult
batch_issue(const struct ctx *c, struct cwb_stream *s, unsigned count, const CUstreamBatchMemOpParams *list)
{
    struct value_op o;
    CUresult e = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && e == CUDA_SUCCESS; i++)
        if ((e = value_of(&list[i], &o)) == CUDA_SUCCESS && o.bits)
            e = value_issue(c, s, &o);
    return e;
}
