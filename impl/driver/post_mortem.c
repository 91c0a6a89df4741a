/* SPDX-License-Identifier: Apache-2.0
 * impl/post_mortem.h: numbers of launches, and calls in a context that a fault has ended. */
#include "impl/driver/driver.h"

_Atomic bool drv_watched;
_Thread_local bool drv_ignores_fault;

static _Atomic uint64_t launches;
static _Thread_local uint64_t last;

uint64_t
post_mortem_number(void)
{
    return last = atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed) + 1;
}

static void
watch(void)
{
    atomic_store(&drv_watched, true);
}

static uint64_t
last_launch(void)
{
    return last;
}

static uint64_t
failed_launch(void)
{
    struct ctx *c;
    return ctx_current(&c) == CUDA_SUCCESS && c->b->failed_launch ? c->b->failed_launch(c->be) : 0;
}

static void
ignore_fault(bool on)
{
    drv_ignores_fault = on;
}

const struct cw_post_mortem drv_post_mortem = {
    .size = sizeof drv_post_mortem, .watch = watch, .last = last_launch, .failed = failed_launch, .ignore_fault = ignore_fault,
};
