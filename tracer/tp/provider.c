/* SPDX-License-Identifier: Apache-2.0
 * The provider's one exported object, and fork: liblttng-ust is notified around every fork of this process, so that the child
 * registers as a process of its own (what liblttng-ust-fork.so does for programs that preload it). */
#include "tracer/tp/tp.h"

#include <lttng/ust-fork.h>
#include <pthread.h>
#include <signal.h>

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

__attribute__((visibility("default"))) extern const struct cw_tp_ops cw_tp_ops;
const struct cw_tp_ops cw_tp_ops = {
    .version = CW_TP_VERSION,
    .entry = cw_tp_entry,
    .exit = cw_tp_exit,
    .kernel = cw_tp_kernel,
    .module = cw_tp_module,
    .name = cw_tp_name,
    .submit = cw_tp_submit,
    .executed = cw_tp_executed,
};
