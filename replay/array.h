/* SPDX-License-Identifier: Apache-2.0
 * Contents of CUDA arrays to and from memory: levels, slices and rows one after the other without padding. */
#ifndef CWD_ARRAY_H
#define CWD_ARRAY_H

#include "cudaway/cuda_table.h"
#include "replay/dump.h"

/* Copies all levels between the array (or the mipmapped array, when that is not NULL) and *data, which is malloc'd when
 * reading and NULL after a failure then. */
CUresult cwd_array_transfer(const struct cw_cuda_table *cu, const struct cwd_array *a, CUarray array, CUmipmappedArray mipmap,
                            bool write, uint8_t **data);

#endif
