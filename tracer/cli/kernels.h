/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the modules that a recording keeps: their PTX, and what their parameters are. */
#ifndef CW_TRACE_KERNELS_H
#define CW_TRACE_KERNELS_H

#include "impl/base/buf.h"
#include "tracer/cli/reader.h"

struct kn_param {
    char     name[64];
    char     type[8];             /* "u64" */
    unsigned offset, size;        /* bytes, of one element */
    unsigned count;               /* elements; 1: no array */
};

struct kn_kernel {
    struct kn_kernel *next;
    char             *name;
    char             *text;       /* its PTX, from .entry to the closing brace */
    size_t            at;         /* where that begins in the PTX that it was found in */
    struct kn_param  *params;
    unsigned          count;
};

struct kn_list {
    struct kn_kernel *first;
};

/* All that DIR/modules has; what cannot be read is left out. Fatbins and ELF need libcudaway-jit.so, loaded only then. */
void kernels_load(const char *dir, struct kn_list *list);
void kernels_finish(struct kn_list *list);
/* The kernels of one PTX text, added to the list. For tests, too. */
void kernels_scan(struct kn_list *list, const char *ptx, size_t size);
const struct kn_kernel *kernels_find(const struct kn_list *list, const char *name);
/* The parameters with their values: "a=0x7f0000000000, n=3". `bytes` is the event's array of a byte each. */
void kernels_values(struct cw_buf *out, const struct kn_kernel *k, const struct tr_field *bytes);

#endif
