/* SPDX-License-Identifier: Apache-2.0
 * What CUDAway implements of the driver's and the Runtime's API, and which of CUDA's libraries a function belongs to. */
#ifndef CW_TRACE_API_STATUS_H
#define CW_TRACE_API_STATUS_H

#include "impl/api/meta.h"

#include <stdbool.h>

struct api_status {
    const char         *name;       /* as exported */
    enum cw_meta_status status;
    const char         *reason;     /* of what is partial or unsupported, or NULL */
};

/* All exported functions of the driver and of the Runtime, each API by name. */
extern const struct api_status api_status[];
extern const unsigned          api_status_count;

/* NULL: neither the driver's nor the Runtime's. */
const struct api_status *api_status_find(const char *name);

/* "driver", "Runtime", "cuBLAS", ... by the name of a function; NULL: none of CUDA's. A program may well call a function of its own so. */
const char *api_library_of(const char *function);
/* Whether a shared library of this name (libcublas.so.12) is one of CUDA's. */
bool api_is_cuda_library(const char *soname);

#endif
