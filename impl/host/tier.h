/* SPDX-License-Identifier: Apache-2.0
 * Tiers: a very large kernel is compiled without optimisation when it is first needed, since LLVM takes long for it, and optimised on
 * a thread of this file if it is used much. The optimised code is taken from the next launch on. */
#ifndef CWH_TIER_H
#define CWH_TIER_H

#include "impl/host/device.h"

/* Is the kernel one of those, and does CUDAWAY_TIERS let it? */
bool cwh_tier_applies(const struct cwb_kernel *k);
/* Turns a variant of such a kernel into the one that is quick to compile, which takes the same blocks and more: that of the largest kernels executes one lane
 * at a time. */
void cwh_tier_quick(const struct cwb_kernel *k, struct cwh_variant *v);
/* Quick code has been made, or has run for `ns`. When it has run for as long as optimising takes, the kernel is optimised, and that code put in its place:
 * a program that ends before then would only have waited for it. */
void cwh_tier_begin(struct cwb_kernel *k, enum cwh_shape shape);
void cwh_tier_ran(struct cwb_kernel *k, enum cwh_shape shape, uint64_t ns);
/* Of this module nothing is compiled any more, when this returns; it waits for the step of a compilation that has begun. */
void cwh_tier_forget(const struct cwb_module *m);
/* At the end of the process: nothing is begun any more, and what has begun is waited for, but for at most a second. */
void cwh_tier_stop(void);
/* In a forked child the thread is gone. */
void cwh_tier_after_fork(void);

#endif
