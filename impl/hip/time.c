/* SPDX-License-Identifier: Apache-2.0
 * When the device executed what: timing events, read when they are done. */
#include "impl/hip/device.h"

#include "impl/base/event_clock.h"

static void *
create(void *device)
{
    hipEvent_t e = NULL;
    hip_use(device);
    return hip.hipEventCreateWithFlags(&e, 0) == hipSuccess ? e : NULL;
}

static void
destroy(void *device, void *event)
{
    hip_use(device);
    (void)hip.hipEventDestroy(event);
}

static bool
record(void *device, void *event, void *stream)
{
    hip_use(device);
    return hip.hipEventRecord(event, stream) == hipSuccess;
}

static bool
wait(void *device, void *event)
{
    hip_use(device);
    return hip.hipEventSynchronize(event) == hipSuccess;
}

static int
elapsed(void *device, void *from, void *to, float *ms)
{
    hip_use(device);
    hipError_t e = hip.hipEventElapsedTime(ms, from, to);
    if (e == hipErrorNotReady)
        (void)hip.hipGetLastError();
    return e == hipSuccess ? 1 : e == hipErrorNotReady ? 0 : -1;
}

static const struct cw_event_clock_ops ops = {
    .create = create, .destroy = destroy, .record = record, .wait = wait, .elapsed = elapsed,
};

static struct cw_event_clock *
clock_of(struct cwb_context *c)
{
    struct cw_event_clock *k = atomic_load_explicit(&c->clock, memory_order_acquire);
    if (k)
        return k;
    pthread_mutex_lock(&c->clock_lock);
    k = atomic_load(&c->clock);
    hipStream_t idle;
    hip_use(c);
    if (!k && hip.hipStreamCreateWithPriority(&idle, hipStreamNonBlocking, 0) == hipSuccess) {
        k = cw_event_clock_create(&ops, c, idle);
        (void)hip.hipStreamDestroy(idle);
        atomic_store_explicit(&c->clock, k, memory_order_release);
    }
    pthread_mutex_unlock(&c->clock_lock);
    return k;
}

cwb_result
hip_stream_time(struct cwb_stream *s, cwb_time_fn *fn, void *user)
{
    struct cw_event_clock *k = clock_of(s->c);
    return k && cw_event_clock_mark(k, s->s, CW_EVENT_BEHIND, fn, user) ? CWB_OK : CWB_UNSUPPORTED;
}

void
hip_times_poll(struct cwb_context *c)
{
    struct cw_event_clock *k = atomic_load_explicit(&c->clock, memory_order_acquire);
    if (k && !cwb_in_host_function)
        cw_event_clock_poll(k, true);
}

void
hip_times_finish(struct cwb_context *c)
{
    cw_event_clock_destroy(atomic_load(&c->clock), true);
    pthread_mutex_destroy(&c->clock_lock);
}
