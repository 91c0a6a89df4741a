/* SPDX-License-Identifier: Apache-2.0
 * Times of device operations for an observer (impl/device_times.h): a mark of the backend (stream_time) before and one behind each
 * operation. Marks are no operations of CUDA's: the default streams' rules do not see them, and they go where the operation goes. */
#include "impl/driver/driver.h"

#include <stdlib.h>
#include <time.h>

const struct cw_device_observer *_Atomic drv_observer;

static bool
observe(const struct cw_device_observer *o)
{
    const struct cw_device_observer *none = NULL;
    return o && atomic_compare_exchange_strong(&drv_observer, &none, o);
}

const struct cw_device_times drv_device_times = { .size = sizeof drv_device_times, .observe = observe };

/* Of one operation; the two marks own it together. */
struct timed {
    const struct cw_device_observer *observer;
    uint64_t number, start;
    _Atomic unsigned marks;
    bool failed;                        /* written before the second mark is submitted */
};

static void
mark_gone(struct timed *t, uint64_t end)
{
    if (atomic_fetch_sub(&t->marks, 1) != 1)
        return;
    bool known = !t->failed && t->start && end;
    t->observer->done(t->number, known ? t->start : 0, known ? end : 0);
    free(t);
}

static void
started(void *user, uint64_t ns)
{
    struct timed *t = user;
    t->start = ns;
    mark_gone(t, ns);
}

static void
ended(void *user, uint64_t ns)
{
    mark_gone(user, ns);
}

static struct timed *
begin(const struct ctx *c, struct cwb_stream *s, struct cw_device_op *op)
{
    const struct cw_device_observer *o = atomic_load_explicit(&drv_observer, memory_order_acquire);
    struct timed *t = c->b->caps & CWB_CAP_STREAM_TIME ? malloc(sizeof *t) : NULL;
    if (!t)
        return NULL;
    op->device = c->dev->index;
    op->queue = (uint64_t)(uintptr_t)s;
    *t = (struct timed){ .observer = o, .number = o->submit(op, 0, 0) };
    atomic_init(&t->marks, 2);
    if (c->b->stream_time(s, started, t) != CWB_OK)
        mark_gone(t, 0);
    return t;
}

static void
end(const struct ctx *c, struct cwb_stream *s, struct timed *t, bool failed)
{
    if (!t)
        return;
    t->failed = failed;
    if (c->b->stream_time(s, ended, t) != CWB_OK)
        mark_gone(t, 0);
}

cwb_result
timed_launch(const struct ctx *c, struct cwb_stream *s, const struct func *f, const struct cwb_launch *l)
{
    struct cw_device_op op = { .kind = CW_DEVICE_LAUNCH, .name = f->k->name };
    memcpy(op.grid, l->grid, sizeof op.grid);
    memcpy(op.block, l->block, sizeof op.block);
    op.occupancy = launch_occupancy(f, l);
    struct timed *t = begin(c, s, &op);
    cwb_result r = c->b->launch(s, f->be, l);
    end(c, s, t, r != CWB_OK);
    return r;
}

cwb_result
timed_copy(const struct ctx *c, struct cwb_stream *s, const struct cwb_copy *copy)
{
    bool from = copy->src.loc == CWB_LOC_HOST, to = copy->dst.loc == CWB_LOC_HOST;
    struct cw_device_op op = { .kind = CW_DEVICE_COPY, .name = "", .bytes = (uint64_t)copy->width * copy->height * copy->depth,
                               .way = from && to ? CW_WAY_HTOH : from ? CW_WAY_HTOD : to ? CW_WAY_DTOH : CW_WAY_DTOD };
    struct timed *t = begin(c, s, &op);
    cwb_result r = c->b->stream_copy(s, copy);
    end(c, s, t, r != CWB_OK);
    return r;
}

cwb_result
timed_fill(const struct ctx *c, struct cwb_stream *s, const struct cwb_fill *fill)
{
    struct cw_device_op op = { .kind = CW_DEVICE_FILL, .name = "",
                               .bytes = (uint64_t)fill->width * fill->height * fill->depth * fill->size };
    struct timed *t = begin(c, s, &op);
    cwb_result r = c->b->stream_fill(s, fill);
    end(c, s, t, r != CWB_OK);
    return r;
}

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

cwb_result
timed_compile(const struct func *f, struct cwb_kernel **k, struct cw_buf *log)
{
    const struct ctx *c = f->obj.ctx;
    const struct cw_device_observer *o = atomic_load_explicit(&drv_observer, memory_order_acquire);
    uint64_t start = now();
    cwb_result r = c->b->kernel_prepare(f->module->be, f->index, true, k, log);
    uint64_t end = now();
    struct cwb_kernel_facts facts;
    if (r == CWB_OK && c->b->kernel_facts(*k, &facts) == CWB_OK)
        (void)o->submit(&(struct cw_device_op){ .kind = CW_DEVICE_COMPILE, .name = f->k->name, .device = c->dev->index,
                                                .cached = facts.from_cache }, start, end);
    return r;
}
