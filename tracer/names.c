/* SPDX-License-Identifier: Apache-2.0
 * cuGetProcAddress by name, where the library below gave an address that it does not export. */
#include "tracer/layer_private.h"

#include "impl/api/proc_address.h"

const void *
cw_layer_by_name(const char *symbol, int version, cuuint64_t flags)
{
    void *ours = NULL;
    return cw_proc_address(&cw_layer_exports, symbol, &ours, version, flags, NULL) == CUDA_SUCCESS ? ours : NULL;
}
