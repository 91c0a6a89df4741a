/* SPDX-License-Identifier: Apache-2.0
 * cuGetProcAddress by name, where the library below gave an address that it does not export. */
#include "tracer/layer_private.h"

#include <string.h>

const void *
cw_layer_by_name(const char *symbol, int version, cuuint64_t flags)
{
    for (unsigned i = 0; i < CW_CUDA_FUNCTION_COUNT; i++)
        if (!strcmp(cw_layer_name(i), symbol))
            return cw_cuda_table_get(&cw_layer_exports, i);
    return NULL;
}
