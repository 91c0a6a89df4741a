/* SPDX-License-Identifier: Apache-2.0
 * Tensor maps: cuTensorMapEncode* and cuTensorMapReplaceAddress. The rules are those of an H100's driver, which are the manual's but for a few:
 * tests/driver/tensor_maps.txt has a case for each. The layout is our own (jit/abi/bulk.h), unless the backend's device has one, with rules of its
 * own. They need a context, and no lock. */
#include "impl/driver/driver.h"
#include "jit/abi/bulk.h"

#include <string.h>

/* Bytes that n elements take in shared memory, or 1 where that is no whole number of them. */
static uint64_t
box_bytes(uint32_t type, uint64_t n)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return n;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2 * n;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: case CU_TENSOR_MAP_DATA_TYPE_INT64: case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8 * n;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B: return n & 1 ? 1 : n / 2;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: return n;      /* 16 elements in 16 bytes, with gaps */
    default: return 4 * n;
    }
}

static bool
is_float(uint32_t type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static bool
has_gaps(uint32_t type)
{
    return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

static bool
good_kinds(const struct cwb_tensor *t)
{
    return t->type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && t->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
           t->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B && t->promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
           t->fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && (!t->fill || is_float(t->type));
}

/* The tensor in memory; the arrays are there. */
static bool
good_tensor(const struct cwb_tensor *t)
{
    const uint64_t align = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B || has_gaps(t->type) ? 32 : 16;
    if (t->rank < (t->interleave || t->im2col ? 3u : 1u) || t->rank > CWT_DIMS || t->address & (align - 1))
        return false;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (!t->dim[d] || t->dim[d] > 1ull << 32)
            return false;
        if (d && (t->stride[d - 1] & (align - 1) || t->stride[d - 1] >= 1ull << 40))
            return false;
        if (!t->step[d] || t->step[d] > 8)      /* also the first, which means nothing without interleaving */
            return false;
    }
    return !(t->dim[0] & (has_gaps(t->type) ? 127 : t->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B ? 1 : 0));
}

/* The corners of im2col, for W, H and D: in 16, 8 or 5 bits, and some pixels between them. */
static bool
good_corners(const struct cwb_tensor *t)
{
    const int limit = t->rank == 3 ? 1 << 15 : t->rank == 4 ? 1 << 7 : 1 << 4;
    for (uint32_t d = 0; d < t->rank - 2; d++)
        if (t->lower[d] < -limit || t->lower[d] >= limit || t->upper[d] < -limit || t->upper[d] >= limit ||
            (int64_t)t->dim[d + 1] + t->upper[d] - t->lower[d] <= 0)
            return false;
    return true;
}

/* Swizzling is of a span of 32, 64 or 128 bytes. */
static bool
good_swizzle(const struct cwb_tensor *t)
{
    if (has_gaps(t->type) && t->swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && t->swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
        t->swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B &&
        !(t->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B))
        return false;
    const uint64_t span = t->swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : t->swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128;
    return t->interleave || !t->swizzle || box_bytes(t->type, t->box[0]) <= span;
}

static bool
good_box(const struct cwb_tensor *t)
{
    for (uint32_t d = 0; d < (t->im2col ? 2 : t->rank); d++)
        if (!t->box[d] || t->box[d] > (t->im2col && d ? 1024u : 256u))
            return false;
    if ((has_gaps(t->type) && t->box[0] != 128) || (t->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && t->interleave))
        return false;
    return !(box_bytes(t->type, t->box[0]) & 15);
}

static CUresult
encode(CUtensorMap *map, const struct cwb_tensor *t)
{
    USABLE(c);
    /* NVIDIA's driver (580) reads as many elements as the rank says before it refuses that, and the corners whether they are there or not. */
    if (t->rank > CWT_DIMS || (t->im2col && (!t->lower || !t->upper)))
        return CUDA_ERROR_INVALID_VALUE;
    if (c->b->tensor_map)
        return result_of(c->b->tensor_map(c->be, t, map));
    if (!map || !t->dim || !t->stride || !t->box || !t->step)
        return CUDA_ERROR_INVALID_VALUE;
    if (!good_kinds(t) || !good_tensor(t) || !good_box(t) || !good_swizzle(t) || (t->im2col && !good_corners(t)))
        return CUDA_ERROR_INVALID_VALUE;
    if (t->interleave || t->type >= CWT_TYPES || t->swizzle > CWT_SWIZZLE_128B)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct cwt_map m = { .magic = CWT_MAGIC, .rank = (uint8_t)t->rank, .type = (uint8_t)t->type, .swizzle = (uint8_t)t->swizzle, .fill_nan = t->fill != 0,
                         .address = t->address, .im2col = t->im2col };
    for (uint32_t d = 0; d < t->rank; d++) {
        m.last[d] = (uint32_t)(t->dim[d] - 1);
        m.step[d] = d ? (uint8_t)t->step[d] : 1;
        if (d)
            m.stride[d - 1] = t->stride[d - 1];
        if (!t->im2col || d < 2)
            m.box[d] = (uint16_t)t->box[d];
    }
    for (uint32_t d = 0; t->im2col && d < t->rank - 2; d++) {
        m.lower[d] = (int16_t)t->lower[d];
        m.upper[d] = (int16_t)t->upper[d];
    }
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

CUresult
drv_cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                           const cuuint64_t *globalStrides, const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    return encode(tensorMap, &(struct cwb_tensor){
        .type = tensorDataType, .rank = tensorRank, .address = (uintptr_t)globalAddress, .dim = globalDim, .stride = globalStrides, .box = boxDim,
        .step = elementStrides, .interleave = interleave, .swizzle = swizzle, .promotion = l2Promotion, .fill = oobFill });
}

CUresult
drv_cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                            const cuuint64_t *globalStrides, const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                            cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    const uint32_t box[2] = { channelsPerPixel, pixelsPerColumn };
    return encode(tensorMap, &(struct cwb_tensor){
        .im2col = true, .type = tensorDataType, .rank = tensorRank, .address = (uintptr_t)globalAddress, .dim = globalDim, .stride = globalStrides, .box = box,
        .step = elementStrides, .lower = pixelBoxLowerCorner, .upper = pixelBoxUpperCorner, .interleave = interleave, .swizzle = swizzle,
        .promotion = l2Promotion, .fill = oobFill });
}

CUresult
drv_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    uint64_t address = (uintptr_t)globalAddress;
    struct cwt_map m;
    USABLE(c);
    if (!tensorMap)             /* NVIDIA's driver reads it (580) */
        return CUDA_ERROR_INVALID_VALUE;
    if (c->b->tensor_map_address)
        return result_of(c->b->tensor_map_address(c->be, tensorMap, address));
    if (!address || address & 15)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, tensorMap, sizeof m);
    if (m.magic != CWT_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    m.address = address;
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}
