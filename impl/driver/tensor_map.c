/* SPDX-License-Identifier: Apache-2.0
 * Tensor maps: cuTensorMapEncode* and cuTensorMapReplaceAddress. The rules are those of the driver API's manual; the layout is our own
 * (jit/abi/bulk.h), unless the backend's device has one. They need neither a context nor a lock. */
#include "impl/driver/driver.h"
#include "jit/abi/bulk.h"

#include <string.h>

static unsigned
element_bytes(uint32_t type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: case CU_TENSOR_MAP_DATA_TYPE_INT64: case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 4;
    }
}

static bool
is_float(uint32_t type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

/* What is wrong whatever the layout is. */
static CUresult
check(const void *map, const struct cwb_tensor *t)
{
    if (!map || (uintptr_t)map & 63 || !t->address || t->address & 15 || !t->rank || t->rank > CWT_DIMS || !t->dim || (t->rank > 1 && !t->stride) || !t->box ||
        !t->step || t->type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || t->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        t->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA || (t->fill && !is_float(t->type)))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d < t->rank; d++)
        if (!t->dim[d] || t->dim[d] > 1ull << 32 || !t->step[d] || t->step[d] > 8 ||
            (d && (t->stride[d - 1] & 15 || t->stride[d - 1] >= 1ull << 40)))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The box, without interleaving. */
static CUresult
check_box(const struct cwb_tensor *t)
{
    uint64_t row = (uint64_t)t->box[0] * element_bytes(t->type);
    if (row & 15 || (t->swizzle && row > 16ull << t->swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d < (t->im2col ? 1 : t->rank); d++)
        if (!t->box[d] || t->box[d] > 256)
            return CUDA_ERROR_INVALID_VALUE;
    if (!t->im2col)
        return CUDA_SUCCESS;
    if (t->rank < 3 || !t->lower || !t->upper || !t->box[1] || t->box[1] > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d < t->rank - 2; d++) {        /* in 16, 8 or 5 bits */
        int limit = t->rank == 3 ? 1 << 15 : t->rank == 4 ? 1 << 7 : 1 << 4;
        if (t->lower[d] < -limit || t->lower[d] >= limit || t->upper[d] < -limit || t->upper[d] >= limit)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult
encode(CUtensorMap *map, const struct cwb_tensor *t)
{
    READY();
    CUresult e = check(map, t);
    if (e != CUDA_SUCCESS)
        return e;
    if (g.backend->tensor_map)
        return result_of(g.backend->tensor_map(t, map));
    if (t->interleave || t->type >= CWT_TYPES || t->swizzle > CWT_SWIZZLE_128B)
        return CUDA_ERROR_NOT_SUPPORTED;
    e = check_box(t);
    if (e != CUDA_SUCCESS)
        return e;
    struct cwt_map m = { .magic = CWT_MAGIC, .rank = (uint8_t)t->rank, .type = (uint8_t)t->type, .swizzle = (uint8_t)t->swizzle, .fill_nan = t->fill != 0,
                         .address = t->address, .im2col = t->im2col };
    for (uint32_t d = 0; d < t->rank; d++) {
        m.last[d] = (uint32_t)(t->dim[d] - 1);
        m.step[d] = (uint8_t)t->step[d];
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
    READY();
    if (!tensorMap || (uintptr_t)tensorMap & 63 || !address || address & 15)
        return CUDA_ERROR_INVALID_VALUE;
    if (g.backend->tensor_map_address)
        return result_of(g.backend->tensor_map_address(tensorMap, address));
    memcpy(&m, tensorMap, sizeof m);
    if (m.magic != CWT_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    m.address = address;
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}
