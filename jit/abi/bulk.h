/* SPDX-License-Identifier: Apache-2.0
 * Bulk copies and tensor maps: how the driver, compiled code and the functions that it calls (impl/host/rt_bulk.c, jit/builtins/bulk.c) meet.
 *
 * The 128 bytes of a CUtensorMap are opaque to programs, so the layout is our own. cuTensorMapEncode* checks and writes one on the CPU;
 * kernels read it as a parameter, a constant or from global memory; tensormap.replace changes it. The cuda device has NVIDIA's instead. */
#ifndef CWJ_ABI_BULK_H
#define CWJ_ABI_BULK_H

#include <stdint.h>

enum { CWT_DIMS = 5, CWT_BYTES = 128 };

/* In the order of CUtensorMapDataType. */
enum cwt_type { CWT_U8, CWT_U16, CWT_U32, CWT_S32, CWT_U64, CWT_S64, CWT_F16, CWT_F32, CWT_F64, CWT_BF16, CWT_F32_FTZ, CWT_TF32,
                CWT_TF32_FTZ, CWT_TYPES };

/* In the order of CUtensorMapSwizzle. */
enum cwt_swizzle { CWT_SWIZZLE_NONE, CWT_SWIZZLE_32B, CWT_SWIZZLE_64B, CWT_SWIZZLE_128B };

struct cwt_map {
    uint32_t magic;             /*   0: CWT_MAGIC */
    uint8_t  rank;              /*   4: 1 to CWT_DIMS */
    uint8_t  type;              /*   5: enum cwt_type */
    uint8_t  swizzle;           /*   6: enum cwt_swizzle */
    uint8_t  fill_nan;          /*   7: elements out of bounds are NaN, not 0 */
    uint64_t address;           /*   8: of the tensor, on the device */
    uint64_t stride[4];         /*  16: bytes; of dimension 1 and up. Elements of dimension 0 are adjacent */
    uint32_t last[CWT_DIMS];    /*  48: elements of each dimension, less one */
    uint16_t box[CWT_DIMS];     /*  68: elements that a box spans; im2col: channels, then pixels of a column */
    uint8_t  step[CWT_DIMS];    /*  78: element strides */
    uint8_t  im2col;            /*  83 */
    int16_t  lower[3], upper[3];/*  84: im2col: corners of the bounding box, for W, H and D: from the first and the last element */
    uint32_t unused[8];         /*  96 */
};
_Static_assert(sizeof(struct cwt_map) == CWT_BYTES, "the size of a CUtensorMap");

#define CWT_MAGIC 0x4d545743u

/* Fields of tensormap.replace. From BOX_DIM to ELEMENT_STRIDE there is one value for each dimension; from ELEMTYPE on the value is an
 * immediate number of the PTX ISA's tables. */
enum cwt_field { CWT_NO_FIELD, CWT_GLOBAL_ADDRESS, CWT_RANK, CWT_BOX_DIM, CWT_GLOBAL_DIM, CWT_GLOBAL_STRIDE, CWT_ELEMENT_STRIDE, CWT_ELEMTYPE,
                 CWT_INTERLEAVE, CWT_SWIZZLE, CWT_FILL, CWT_SWIZZLE_ATOMICITY };

/* What a copy does: an operation (ptx_atomop) and a type (ptx_type) for reductions, the mode of a tensor copy (ptx_tiling), the direction. */
enum { CWT_HOW_OP_SHIFT = 0, CWT_HOW_TYPE_SHIFT = 8, CWT_HOW_TILING_SHIFT = 16, CWT_HOW_STORE = 1 << 24, CWT_HOW_REDUCE = 1 << 25 };
#define CWT_HOW_OP(how) ((how) >> CWT_HOW_OP_SHIFT & 0xff)
#define CWT_HOW_TYPE(how) ((how) >> CWT_HOW_TYPE_SHIFT & 0xff)
#define CWT_HOW_TILING(how) ((how) >> CWT_HOW_TILING_SHIFT & 0xff)

/* The mask of destinations of a copy that is no multicast. */
enum { CWT_ONE_BLOCK = 1 << 16 };

#endif
