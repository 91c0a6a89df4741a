/* SPDX-License-Identifier: Apache-2.0
 * See array.h. */
#include "replay/array.h"

#include <stdlib.h>

CUresult
cwd_array_transfer(const struct cw_cuda_table *cu, const struct cwd_array *a, CUarray array, CUmipmappedArray mipmap, bool write,
                   uint8_t **data)
{
    uint64_t texel = cwd_texel_bytes(a->format, a->channels), at = 0;
    uint8_t *p = write ? *data : malloc(a->size);
    CUresult r = p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t l = 0; l < (a->levels ? a->levels : 1) && r == CUDA_SUCCESS; l++) {
        uint64_t e[3];
        CUarray level = array;
        if (!cwd_array_level(a, l, e))
            r = CUDA_ERROR_INVALID_VALUE;
        else if (mipmap)
            r = cu->cuMipmappedArrayGetLevel(&level, mipmap, l);
        if (r != CUDA_SUCCESS)
            break;
        CUDA_MEMCPY3D m = { .WidthInBytes = e[0] * texel, .Height = e[1], .Depth = e[2] };
        if (write) {
            m.srcMemoryType = CU_MEMORYTYPE_HOST;
            m.srcHost = p + at;
            m.srcPitch = e[0] * texel;
            m.srcHeight = e[1];
            m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
            m.dstArray = level;
        } else {
            m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
            m.srcArray = level;
            m.dstMemoryType = CU_MEMORYTYPE_HOST;
            m.dstHost = p + at;
            m.dstPitch = e[0] * texel;
            m.dstHeight = e[1];
        }
        r = cu->cuMemcpy3D_v2(&m);
        at += e[0] * e[1] * e[2] * texel;
    }
    if (r != CUDA_SUCCESS && !write) {
        free(p);
        p = NULL;
    }
    if (!write)
        *data = p;
    return r;
}
