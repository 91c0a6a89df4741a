/* SPDX-License-Identifier: Apache-2.0
 * Between totals.c and device_totals.c. */
#ifndef CW_TRACE_TOTALS_PRIVATE_H
#define CW_TRACE_TOTALS_PRIVATE_H

#include "tracer/cli/totals.h"

#define TOTALS_GROW(t, array, count)                                                                                 \
    totals_grow((t), (void **)&(t)->array, &(t)->count, sizeof *(t)->array)

/* A new last element of zeros; NULL with t->nomem set. */
void *totals_grow(struct totals *t, void **array, unsigned *count, size_t size);
/* Memory that a call allocated, freed or copied. */
void totals_memory(struct totals *t, const struct tr_call *c);
struct tot_kernel *totals_kernel(struct totals *t, const char *name);

/* ---- device_totals.c ---- */
void totals_op(void *ctx, const struct tr_op *o);
void totals_find_gaps(struct totals *t);            /* when all operations and calls are there */
bool totals_is_sync_copy(const char *function);

#endif
