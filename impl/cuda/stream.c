/* SPDX-License-Identifier: Apache-2.0
 * Streams, events, copies and fills of the cuda backend. A stream is a non-blocking one of the real driver: impl/driver keeps the order between
 * streams that CUDA's default stream requires. */
#include "impl/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

cwb_result
cwc_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out)
{
    ENTER(c);
    struct cwb_stream *s = calloc(1, sizeof *s);
    if (!s)
        return CWB_NOMEM;
    s->c = c;
    CUresult r = cwc.cuStreamCreateWithPriority(&s->real, CU_STREAM_NON_BLOCKING, priority);
    if (r != CUDA_SUCCESS) {
        free(s);
        return cwc_result(c, r);
    }
    *out = s;
    return CWB_OK;
}

void
cwc_stream_destroy(struct cwb_stream *s)
{
    if (!s)
        return;
    if (cwc.cuCtxSetCurrent(s->c->real) == CUDA_SUCCESS) {
        (void)cwc_result(s->c, cwc.cuStreamDestroy_v2(s->real));
        for (unsigned i = 0; i < CWC_MARKS && s->marks[i]; i++)
            (void)cwc_result(s->c, cwc.cuEventDestroy_v2(s->marks[i]));
    }
    free(s);
}

cwb_result
cwc_stream_query(struct cwb_stream *s)
{
    ENTER(s->c);
    return cwc_result(s->c, cwc.cuStreamQuery(s->real));
}

cwb_result
cwc_stream_sync(struct cwb_stream *s)
{
    ENTER(s->c);
    return cwc_result(s->c, cwc.cuStreamSynchronize(s->real));
}

cwb_result
cwc_stream_added(struct cwb_stream *s, CUresult r)
{
    if (r != CUDA_SUCCESS || ++s->since < CWC_STRETCH)
        return cwc_result(s->c, r);
    const unsigned i = atomic_load(&s->next);
    CUevent *mark = &s->marks[i];
    if (!*mark && cwc.cuEventCreate(mark, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS) {
        *mark = NULL;                   /* tried again with the next operation */
        return CWB_OK;
    }
    if (cwc.cuEventRecord(*mark, s->real) == CUDA_SUCCESS) {
        s->since = 0;
        s->room = false;
        atomic_store(&s->next, (i + 1) % CWC_MARKS);
    }
    return CWB_OK;
}

bool
cwc_stream_is_full(struct cwb_stream *s)
{
    CUevent oldest = s->marks[atomic_load(&s->next)];
    if (s->room || !oldest || cwc_in_host_fn)
        return false;
    if (cwc.cuCtxSetCurrent(s->c->real) == CUDA_SUCCESS && cwc.cuEventQuery(oldest) == CUDA_ERROR_NOT_READY)
        return true;
    s->room = true;                     /* also after a fault, which the next operation reports */
    return false;
}

void
cwc_stream_make_room(struct cwb_stream *s)
{
    if (cwc.cuCtxSetCurrent(s->c->real) == CUDA_SUCCESS)
        (void)cwc.cuEventSynchronize(s->marks[atomic_load(&s->next)]);
}

/* ---- events ---- */

cwb_result
cwc_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out)
{
    ENTER(c);
    struct cwb_event *e = calloc(1, sizeof *e);
    if (!e)
        return CWB_NOMEM;
    e->c = c;
    CUresult r = cwc.cuEventCreate(&e->real, (flags & CWB_EVENT_TIMING ? 0u : (unsigned)CU_EVENT_DISABLE_TIMING) |
                                                 (flags & CWB_EVENT_BLOCKING_SYNC ? (unsigned)CU_EVENT_BLOCKING_SYNC : 0u));
    if (r != CUDA_SUCCESS) {
        free(e);
        return cwc_result(c, r);
    }
    *out = e;
    return CWB_OK;
}

void
cwc_event_destroy(struct cwb_event *e)
{
    if (!e)
        return;
    if (cwc.cuCtxSetCurrent(e->c->real) == CUDA_SUCCESS)
        (void)cwc_result(e->c, cwc.cuEventDestroy_v2(e->real));
    free(e);
}

cwb_result
cwc_event_record(struct cwb_event *e, struct cwb_stream *s)
{
    ENTER(s->c);
    return cwc_result(s->c, cwc.cuEventRecord(e->real, s->real));
}

cwb_result
cwc_event_query(struct cwb_event *e)
{
    ENTER(e->c);
    return cwc_result(e->c, cwc.cuEventQuery(e->real));
}

cwb_result
cwc_event_sync(struct cwb_event *e)
{
    ENTER(e->c);
    return cwc_result(e->c, cwc.cuEventSynchronize(e->real));
}

cwb_result
cwc_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms)
{
    ENTER(start->c);
    return cwc_result(start->c, cwc.cuEventElapsedTime(ms, start->real, end->real));
}

cwb_result
cwc_stream_wait_event(struct cwb_stream *s, struct cwb_event *e)
{
    ENTER(s->c);
    return cwc_result(s->c, cwc.cuStreamWaitEvent(s->real, e->real, 0));
}

struct host_call {
    struct cwb_context *c;
    cwb_host_fn *fn;
    void *user;
};

static void CUDA_CB
run_host_call(CUstream stream, CUresult status, void *user)
{
    struct host_call h = *(struct host_call *)user;
    (void)stream;
    free(user);
    cwc_in_host_fn = true;
    h.fn(h.user, cwc_result(h.c, status));
    cwc_in_host_fn = false;
}

/* A callback, not cuLaunchHostFunc: it is also called after a fault. */
cwb_result
cwc_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user)
{
    ENTER(s->c);
    struct host_call *h = malloc(sizeof *h);
    if (!h)
        return CWB_NOMEM;
    *h = (struct host_call){ s->c, fn, user };
    CUresult r = cwc.cuStreamAddCallback(s->real, run_host_call, h, 0);
    if (r != CUDA_SUCCESS)
        free(h);
    return cwc_result(s->c, r);
}

/* ---- copies and fills ---- */

static uint64_t
first_byte(const struct cwb_side *s)
{
    return s->address + s->x + s->y * s->pitch + s->z * s->slice;
}

static CUresult
linear_copy(struct cwb_stream *s, const struct cwb_side *dst, const struct cwb_side *src, size_t n)
{
    uint64_t d = first_byte(dst), from = first_byte(src);
    if (dst->loc == CWB_LOC_DEVICE && src->loc == CWB_LOC_HOST)
        return cwc.cuMemcpyHtoDAsync_v2(d, (const void *)(uintptr_t)from, n, s->real);
    if (dst->loc == CWB_LOC_HOST && src->loc == CWB_LOC_DEVICE)
        return cwc.cuMemcpyDtoHAsync_v2((void *)(uintptr_t)d, from, n, s->real);
    return cwc.cuMemcpyAsync(d, from, n, s->real);
}

/* One endpoint of a copy in the real driver's structure: pointers begin at their first byte. */
struct end {
    CUmemorytype type;
    void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

static cwb_result
end_of(const struct cwb_side *s, size_t width, size_t rows, struct end *e)
{
    memset(e, 0, sizeof *e);
    if (s->loc == CWB_LOC_ARRAY) {
        e->type = CU_MEMORYTYPE_ARRAY;
        e->x = s->x;
        e->y = s->y;
        e->z = s->z;
        return cwc_array_level(s->array, s->level, &e->array);
    }
    e->type = s->loc == CWB_LOC_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    e->host = (void *)(uintptr_t)first_byte(s);
    e->device = first_byte(s);
    e->pitch = s->pitch > width ? s->pitch : width;
    e->height = e->pitch && s->slice ? s->slice / e->pitch : rows;
    return CWB_OK;
}

/* One 3D copy cannot express slices that are not a whole number of rows. */
static bool
whole_rows(const struct cwb_side *s)
{
    return s->loc == CWB_LOC_ARRAY || !s->pitch || s->slice % s->pitch == 0;
}

cwb_result
cwc_stream_copy(struct cwb_stream *s, const struct cwb_copy *c)
{
    ENTER(s->c);
    if (c->height == 1 && c->depth == 1 && c->dst.loc != CWB_LOC_ARRAY && c->src.loc != CWB_LOC_ARRAY)
        return cwc_stream_added(s, linear_copy(s, &c->dst, &c->src, c->width));
    struct cwb_copy part = *c;
    size_t slices = 1;
    if (c->depth > 1 && (!whole_rows(&c->dst) || !whole_rows(&c->src))) {
        slices = c->depth;
        part.depth = 1;
    }
    for (size_t i = 0; i < slices; i++, part.dst.z++, part.src.z++) {
        struct end d, f;
        cwb_result r = end_of(&part.dst, c->width, c->height, &d);
        if (r == CWB_OK)
            r = end_of(&part.src, c->width, c->height, &f);
        if (r != CWB_OK)
            return r;
        CUDA_MEMCPY3D m = {
            .srcXInBytes = f.x, .srcY = f.y, .srcZ = f.z, .srcMemoryType = f.type, .srcHost = f.host, .srcDevice = f.device,
            .srcArray = f.array, .srcPitch = f.pitch, .srcHeight = f.height,
            .dstXInBytes = d.x, .dstY = d.y, .dstZ = d.z, .dstMemoryType = d.type, .dstHost = d.host, .dstDevice = d.device,
            .dstArray = d.array, .dstPitch = d.pitch, .dstHeight = d.height,
            .WidthInBytes = c->width, .Height = c->height, .Depth = part.depth,
        };
        r = cwc_stream_added(s, cwc.cuMemcpy3DAsync_v2(&m, s->real));
        if (r != CWB_OK)
            return r;
    }
    return CWB_OK;
}

cwb_result
cwc_stream_fill(struct cwb_stream *s, const struct cwb_fill *f)
{
    ENTER(s->c);
    cwb_result done = CWB_OK;
    uint64_t a = first_byte(&f->dst);
    for (size_t z = 0; z < f->depth && done == CWB_OK; z++, a += f->dst.slice) {
        CUresult r;
        if (f->height == 1)
            r = f->size == 1   ? cwc.cuMemsetD8Async(a, (unsigned char)f->value, f->width, s->real)
                : f->size == 2 ? cwc.cuMemsetD16Async(a, (unsigned short)f->value, f->width, s->real)
                               : cwc.cuMemsetD32Async(a, f->value, f->width, s->real);
        else
            r = f->size == 1   ? cwc.cuMemsetD2D8Async(a, f->dst.pitch, (unsigned char)f->value, f->width, f->height, s->real)
                : f->size == 2 ? cwc.cuMemsetD2D16Async(a, f->dst.pitch, (unsigned short)f->value, f->width, f->height, s->real)
                               : cwc.cuMemsetD2D32Async(a, f->dst.pitch, f->value, f->width, f->height, s->real);
        done = cwc_stream_added(s, r);
    }
    return done;
}

cwb_result
cwc_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare)
{
    static const unsigned flags[] = { [CWB_COMPARE_GEQ] = CU_STREAM_WAIT_VALUE_GEQ, [CWB_COMPARE_EQ] = CU_STREAM_WAIT_VALUE_EQ,
                                      [CWB_COMPARE_AND] = CU_STREAM_WAIT_VALUE_AND, [CWB_COMPARE_NOR] = CU_STREAM_WAIT_VALUE_NOR };
    ENTER(s->c);
    if (bits == 64)
        return cwc.cuStreamWaitValue64_v2 ? cwc_stream_added(s, cwc.cuStreamWaitValue64_v2(s->real, address, value, flags[compare]))
                                          : CWB_UNSUPPORTED;
    return cwc.cuStreamWaitValue32_v2 ? cwc_stream_added(s, cwc.cuStreamWaitValue32_v2(s->real, address, (uint32_t)value, flags[compare]))
                                      : CWB_UNSUPPORTED;
}

cwb_result
cwc_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits)
{
    ENTER(s->c);
    if (bits == 64)
        return cwc.cuStreamWriteValue64_v2 ? cwc_stream_added(s, cwc.cuStreamWriteValue64_v2(s->real, address, value, 0)) : CWB_UNSUPPORTED;
    return cwc.cuStreamWriteValue32_v2 ? cwc_stream_added(s, cwc.cuStreamWriteValue32_v2(s->real, address, (uint32_t)value, 0))
                                       : CWB_UNSUPPORTED;
}
