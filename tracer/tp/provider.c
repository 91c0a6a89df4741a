/* SPDX-License-Identifier: Apache-2.0
 * What the layer gets of the provider, and fork: liblttng-ust is notified around every fork of this process, so that the child
 * registers as a process of its own (what liblttng-ust-fork.so does for programs that preload it). */
#include "tracer/tp/tp.h"

#include <lttng/ust-events.h>
#include <lttng/ust-fork.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static sigset_t saved;      /* only between before and after, under liblttng-ust's own lock */

static void
before_fork(void)
{
    sigset_t set;
    lttng_ust_before_fork(&set);
    saved = set;
}

static void
after_fork_parent(void)
{
    sigset_t set = saved;
    lttng_ust_after_fork_parent(&set);
}

static void
after_fork_child(void)
{
    sigset_t set = saved;
    lttng_ust_after_fork_child(&set);
}

static void __attribute__((constructor))
watch_fork(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

#define MAX_EVENTS 8u

/* A few of the events, as a probe of their own. An event's class names the probe, so both are copied. */
struct probe {
    struct lttng_ust_probe_desc probe;
    struct lttng_ust_tracepoint_class classes[MAX_EVENTS];
    struct lttng_ust_event_desc events[MAX_EVENTS];
    const struct lttng_ust_event_desc *list[MAX_EVENTS];
};

void
cw_tp_register(const struct lttng_ust_probe_desc *all, unsigned first, unsigned count)
{
    struct probe *p = count <= MAX_EVENTS ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        fprintf(stderr, "cudaway: error: calls are missing from the recording: out of memory\n");
        return;
    }
    p->probe = *all;
    p->probe.event_desc = p->list;
    p->probe.nr_events = count;
    for (unsigned i = 0; i < count; i++) {
        p->events[i] = *all->event_desc[first + i];
        p->classes[i] = *p->events[i].tp_class;
        p->classes[i].probe_desc = &p->probe;
        p->events[i].probe_desc = &p->probe;
        p->events[i].tp_class = &p->classes[i];
        p->list[i] = &p->events[i];
    }
    (void)lttng_ust_probe_register(&p->probe);
}

static void
use(unsigned index)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool used[CW_CUDA_FUNCTION_COUNT];
    pthread_mutex_lock(&lock);
    if (!used[index])
        cw_tp_register(cw_tp_all, 2 * index, 2);
    used[index] = true;
    pthread_mutex_unlock(&lock);
}

/* The events that belong to no function may be needed under locks of the driver. */
static void
start(void)
{
    unsigned first = 2 * CW_CUDA_FUNCTION_COUNT;
    cw_tp_register(cw_tp_all, first, cw_tp_all->nr_events - first);
}

__attribute__((visibility("default"))) extern const struct cw_tp_ops cw_tp_ops;
const struct cw_tp_ops cw_tp_ops = {
    .version = CW_TP_VERSION,
    .start = start,
    .use = use,
    .entry = cw_tp_entry,
    .exit = cw_tp_exit,
    .kernel = cw_tp_kernel,
    .module = cw_tp_module,
    .name = cw_tp_name,
    .submit = cw_tp_submit,
    .executed = cw_tp_executed,
    .process = cw_tp_process,
};
