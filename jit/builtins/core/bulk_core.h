/* SPDX-License-Identifier: Apache-2.0
 * Bulk copies for one thread, on the host device and on AMD: reductions, and the walk through the box of a tensor (PTX 5.5, 9.7.9.25).
 * Both include this file; BULK_ATOMIC says how memory changes atomically, BULK_TOUCHES checks that the caller may touch memory. Addresses are generic. */
#ifndef CWJ_BUILTINS_CORE_BULK_CORE_H
#define CWJ_BUILTINS_CORE_BULK_CORE_H

#include "jit/abi/bulk.h"
#include "jit/builtins/core/half.h"
#include "jit/ptx/ir.h"

#include <stdbool.h>
#include <stdint.h>

#define BULK_F32_NAN 0x7fffffffu
#define BULK_F64_NAN 0xfff8000000000000ull
#define BULK_HALF_NAN 0x7fffu

/* ---- numbers, as red.global has them (jit/emit/memory/atomic.c) ---- */

static inline uint32_t
bulk_flush(uint32_t bits)
{
    return bits & 0x7f800000u ? bits : bits & 0x80000000u;
}

static inline bool
bulk_is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

static inline uint32_t
bulk_bf16_of_f32(uint32_t bits)         /* to nearest even */
{
    return bulk_is_nan(bits) ? BULK_HALF_NAN : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* The lesser or greater; a number rather than a NaN; -0 is less than +0. */
static inline uint32_t
bulk_choose(uint32_t a, uint32_t b, bool max)
{
    if (bulk_is_nan(a))
        return b;
    if (bulk_is_nan(b))
        return a;
    if (f32_of(a) == f32_of(b))
        return max ? a & b : a | b;
    return (f32_of(a) < f32_of(b)) != max ? a : b;
}

static inline uint32_t
bulk_combine_half(uint32_t op, bool bf16, uint32_t old, uint32_t b)
{
    uint32_t x = bf16 ? old << 16 : f32_bits(cwh_half_to_float((uint16_t)old)), y = bf16 ? b << 16 : f32_bits(cwh_half_to_float((uint16_t)b)), r;
    r = op == PTX_ATOM_ADD ? f32_bits(f32_of(x) + f32_of(y)) : bulk_choose(x, y, op == PTX_ATOM_MAX);
    return bf16 ? bulk_bf16_of_f32(r) : cwh_float_to_half(f32_of(r));
}

static inline uint64_t
bulk_combine_f64(uint64_t old, uint64_t b)
{
    union { uint64_t u; double d; } x = { old }, y = { b }, sum;
    sum.d = x.d + y.d;
    if (y.d != y.d)
        return b;
    if (x.d != x.d)
        return old;
    return sum.d != sum.d ? BULK_F64_NAN : sum.u;
}

/* The new value for `old`; both as bits, zero-extended. */
static inline uint64_t
bulk_combine(uint32_t op, uint32_t type, uint64_t old, uint64_t b)
{
    bool is_signed = type == PTX_S32 || type == PTX_S64, less;
    switch (type) {
    case PTX_F16: case PTX_BF16: return bulk_combine_half(op, type == PTX_BF16, (uint32_t)old, (uint32_t)b);
    case PTX_F64: return bulk_combine_f64(old, b);
    case PTX_F32: {
        uint32_t sum = f32_bits(f32_of(bulk_flush((uint32_t)old)) + f32_of(bulk_flush((uint32_t)b)));
        return bulk_is_nan(sum) ? BULK_F32_NAN : bulk_flush(sum);
    }
    default: break;
    }
    switch (op) {
    case PTX_ATOM_AND: return old & b;
    case PTX_ATOM_OR: return old | b;
    case PTX_ATOM_XOR: return old ^ b;
    case PTX_ATOM_ADD: return old + b;
    case PTX_ATOM_INC: return old >= b ? 0 : old + 1;
    case PTX_ATOM_DEC: return !old || old > b ? b : old - 1;
    default: break;
    }
    if (type == PTX_S32)
        less = (int32_t)b < (int32_t)old;
    else
        less = is_signed ? (int64_t)b < (int64_t)old : b < old;
    return less == (op == PTX_ATOM_MIN) ? b : old;
}

static inline unsigned
bulk_type_bytes(uint32_t type)
{
    switch (type) {
    case PTX_F16: case PTX_BF16: return 2;
    case PTX_B64: case PTX_U64: case PTX_S64: case PTX_F64: return 8;
    default: return 4;
    }
}

/* One element; halves change in the word that contains them. */
static inline void
bulk_reduce_element(uint64_t to, uint64_t from, uint32_t op, uint32_t type)
{
    unsigned bytes = bulk_type_bytes(type);
    if (bytes == 8) {
        uint64_t *p = (uint64_t *)(uintptr_t)to, b = *(const uint64_t *)(uintptr_t)from, old = BULK_ATOMIC_LOAD(p), new;
        do
            new = bulk_combine(op, type, old, b);
        while (!BULK_ATOMIC_SWAP(p, &old, new));
    } else if (bytes == 4) {
        uint32_t *p = (uint32_t *)(uintptr_t)to, b = *(const uint32_t *)(uintptr_t)from, old = BULK_ATOMIC_LOAD(p), new;
        do
            new = (uint32_t)bulk_combine(op, type, old, b);
        while (!BULK_ATOMIC_SWAP(p, &old, new));
    } else {
        uint32_t *p = (uint32_t *)(uintptr_t)(to & ~3ull), b = *(const uint16_t *)(uintptr_t)from, shift = to & 2 ? 16 : 0, old = BULK_ATOMIC_LOAD(p), new;
        do
            new = (old & ~(0xffffu << shift)) | (uint32_t)bulk_combine(op, type, old >> shift & 0xffff, b) << shift;
        while (!BULK_ATOMIC_SWAP(p, &old, new));
    }
}

static inline void
bulk_reduce(uint64_t to, uint64_t from, uint32_t size, uint32_t how)
{
    for (uint32_t i = 0; i < size; i += bulk_type_bytes(CWT_HOW_TYPE(how)))
        bulk_reduce_element(to + i, from + i, CWT_HOW_OP(how), CWT_HOW_TYPE(how));
}

/* 16 bytes at a time; of each, those whose bit is set. */
static inline void
bulk_copy(uint64_t to, uint64_t from, uint32_t size, uint32_t bytes)
{
    for (uint32_t i = 0; i < size; i += 16) {
        if (bytes == 0xffff) {
            for (unsigned k = 0; k < 4; k++)
                ((uint32_t *)(uintptr_t)(to + i))[k] = ((const uint32_t *)(uintptr_t)(from + i))[k];
            continue;
        }
        for (unsigned k = 0; k < 16; k++)
            if (bytes >> k & 1)
                ((uint8_t *)(uintptr_t)(to + i))[k] = ((const uint8_t *)(uintptr_t)(from + i))[k];
    }
}

/* ---- tensors ---- */

static inline unsigned
bulk_element_bytes(uint32_t type)
{
    switch (type) {
    case CWT_U8: return 1;
    case CWT_U16: case CWT_F16: case CWT_BF16: return 2;
    case CWT_U64: case CWT_S64: case CWT_F64: return 8;
    default: return 4;
    }
}

/* The type of a reduction. */
static inline uint32_t
bulk_ptx_type(uint32_t type)
{
    switch (type) {
    case CWT_S32: return PTX_S32;
    case CWT_U64: return PTX_U64;
    case CWT_S64: return PTX_S64;
    case CWT_F16: return PTX_F16;
    case CWT_BF16: return PTX_BF16;
    case CWT_F64: return PTX_F64;
    case CWT_F32: case CWT_F32_FTZ: case CWT_TF32: case CWT_TF32_FTZ: return PTX_F32;
    default: return PTX_U32;
    }
}

/* Bits 4 to 6 of an address in shared memory change with bits 7 to 9 (PTX 5.5.7). */
static inline uint32_t
bulk_swizzled(uint32_t swizzle, uint32_t at)
{
    return at ^ (at >> 3 & (swizzle == CWT_SWIZZLE_32B ? 0x10u : swizzle == CWT_SWIZZLE_64B ? 0x30u : swizzle == CWT_SWIZZLE_128B ? 0x70u : 0u));
}

struct bulk_tensor {
    void *who;                  /* for BULK_TOUCHES */
    const struct cwt_map *map;
    uint64_t shared;            /* generic address of the box in shared memory */
    uint32_t place;             /* its address there, of which the swizzling takes bits */
    uint32_t how;
    unsigned bytes;             /* of an element */
};

static inline void
bulk_move(const struct bulk_tensor *t, uint64_t global, uint64_t shared)
{
    BULK_TOUCHES(t->who, global, t->bytes);
    BULK_TOUCHES(t->who, shared, t->bytes);
    if (t->how & CWT_HOW_REDUCE) {
        bulk_reduce_element(global, shared, CWT_HOW_OP(t->how), bulk_ptx_type(t->map->type));
        return;
    }
    uint64_t to = t->how & CWT_HOW_STORE ? global : shared, from = t->how & CWT_HOW_STORE ? shared : global;
    switch (t->bytes) {
    case 1: *(uint8_t *)(uintptr_t)to = *(const uint8_t *)(uintptr_t)from; break;
    case 2: *(uint16_t *)(uintptr_t)to = *(const uint16_t *)(uintptr_t)from; break;
    case 4: *(uint32_t *)(uintptr_t)to = *(const uint32_t *)(uintptr_t)from; break;
    default: *(uint64_t *)(uintptr_t)to = *(const uint64_t *)(uintptr_t)from; break;
    }
}

/* An element out of bounds. The NaN is the one that fma.oob knows; wider elements repeat it. */
static inline void
bulk_fill(const struct bulk_tensor *t, uint64_t shared)
{
    BULK_TOUCHES(t->who, shared, t->bytes);
    for (unsigned i = 0; i < t->bytes; i++)
        ((uint8_t *)(uintptr_t)shared)[i] = t->map->fill_nan ? i & 1 ? 0x7f : 0xf7 : 0;
}

/* `n` elements along dimension 0 from coordinate c[0] on; `at`: bytes from the start of the box. */
static inline void
bulk_row(const struct bulk_tensor *t, const int64_t *c, uint32_t at, uint32_t n)
{
    const struct cwt_map *m = t->map;
    uint64_t row = m->address;
    bool inside = true;
    for (unsigned d = 1; d < m->rank; d++) {
        inside = inside && c[d] >= 0 && c[d] <= m->last[d];
        row += (uint64_t)c[d] * m->stride[d - 1];
    }
    for (uint32_t i = 0; i < n; i++, at += t->bytes) {
        uint64_t shared = t->shared - t->place + bulk_swizzled(m->swizzle, t->place + at);      /* which may be less than the place */
        int64_t x = c[0] + i;
        if (inside && x >= 0 && x <= m->last[0])
            bulk_move(t, row + (uint64_t)x * t->bytes, shared);
        else if (!(t->how & (CWT_HOW_STORE | CWT_HOW_REDUCE)))
            bulk_fill(t, shared);
    }
}

/* Elements of a box along dimension d. */
static inline uint32_t
bulk_extent(const struct cwt_map *m, unsigned d)
{
    return d ? (m->box[d] + m->step[d] - 1u) / m->step[d] : m->box[0];
}

static inline uint32_t
bulk_tiled(const struct bulk_tensor *t, const int64_t *c)
{
    const struct cwt_map *m = t->map;
    uint32_t n[CWT_DIMS], i[CWT_DIMS] = { 0 }, at = 0;
    for (unsigned d = 0; d < CWT_DIMS; d++)
        n[d] = d < m->rank ? bulk_extent(m, d) : 1;
    for (i[4] = 0; i[4] < n[4]; i[4]++)
        for (i[3] = 0; i[3] < n[3]; i[3]++)
            for (i[2] = 0; i[2] < n[2]; i[2]++)
                for (i[1] = 0; i[1] < n[1]; i[1]++, at += n[0] * t->bytes) {
                    int64_t x[CWT_DIMS] = { c[0] };
                    for (unsigned d = 1; d < m->rank; d++)
                        x[d] = c[d] + (int64_t)i[d] * m->step[d];
                    bulk_row(t, x, at, n[0]);
                }
    return at;
}

/* Four rows of a matrix: c[1] to c[4]. */
static inline uint32_t
bulk_rows(const struct bulk_tensor *t, const int64_t *c)
{
    uint32_t row = t->map->box[0] * t->bytes;
    for (unsigned k = 0; k < 4; k++)
        bulk_row(t, (int64_t[CWT_DIMS]){ c[0], c[1 + k] }, k * row, t->map->box[0]);
    return 4 * row;
}

/* A column of pixels (5.5.4): they follow each other through the bounding box, along W first; the last dimension, of images, has no bounds.
 * The offsets, 16 bits each, are added to each pixel's W, H and D. */
static inline uint32_t
bulk_column(const struct bulk_tensor *t, const int64_t *start, uint64_t offsets)
{
    const struct cwt_map *m = t->map;
    unsigned spatial = m->rank - 2u;
    int64_t c[CWT_DIMS];
    uint32_t at = 0;
    for (unsigned d = 0; d < CWT_DIMS; d++)
        c[d] = start[d];
    for (uint32_t pixel = 0; pixel < m->box[1]; pixel++, at += m->box[0] * t->bytes) {
        int64_t x[CWT_DIMS];
        for (unsigned d = 0; d < CWT_DIMS; d++)
            x[d] = c[d] + (d >= 1 && d <= spatial ? (int64_t)(offsets >> 16 * (d - 1) & 0xffff) : 0);
        bulk_row(t, x, at, m->box[0]);
        unsigned d = 1;
        for (; d <= spatial; d++) {
            c[d] += m->step[d];
            if (c[d] <= (int64_t)m->last[d] + m->upper[d - 1])
                break;
            c[d] = m->lower[d - 1];
        }
        if (d > spatial)
            c[d] += m->step[d];
    }
    return at;
}

/* A kernel can write a map. Each field is what the hardware's has room for, so that addresses are aligned and loops end; an mbarrier object counts
 * fewer than 2^20 bytes (PTX, "Contents of the mbarrier object"), so no box has more. */
static inline bool
bulk_is_map(const struct cwt_map *map, bool column)
{
    if (map->magic != CWT_MAGIC || map->im2col != column || map->rank < (column ? 3u : 1u) || map->rank > (unsigned)CWT_DIMS || map->type >= CWT_TYPES ||
        map->address & 15)
        return false;
    uint64_t size = bulk_element_bytes(map->type);
    for (unsigned d = 0; d < map->rank; d++) {
        if (d && (map->stride[d - 1] & 15 || !map->step[d] || map->step[d] > 8))
            return false;
        if (column && d > 1)            /* boxes have two dimensions then */
            continue;
        if (!map->box[d] || map->box[d] > (column && d ? 1024u : 256u))
            return false;
        size *= column && d ? map->box[d] : bulk_extent(map, d);
    }
    return size < 1u << 20;
}

/* Bytes of shared memory that the copy counts, those of elements out of bounds among them; 0: no tensor map, or one of another mode, or a box
 * whose first coordinate lies at no multiple of 16 bytes, or that is stored at a negative one (an illegal instruction on an H100), or a reduction
 * of a type that has none. */
static inline uint32_t
bulk_tensor(void *who, const struct cwt_map *map, uint64_t shared, uint32_t place, const int32_t *coordinates, uint64_t offsets, uint32_t how)
{
    struct bulk_tensor t = { who, map, shared, place, how, bulk_element_bytes(map->type) };
    uint32_t tiling = CWT_HOW_TILING(how);
    bool column = tiling == PTX_IM2COL || tiling == PTX_IM2COL_NO_OFFSETS;
    int64_t c[CWT_DIMS];
    if (!bulk_is_map(map, column) || ((uint32_t)coordinates[0] * t.bytes & 15))
        return 0;
    if (how & CWT_HOW_REDUCE && bulk_type_bytes(bulk_ptx_type(map->type)) != t.bytes)     /* the ISA has none of 8 and 16 bits that are integers */
        return 0;
    for (unsigned d = 0; d < CWT_DIMS; d++) {
        c[d] = coordinates[d];
        if (how & (CWT_HOW_STORE | CWT_HOW_REDUCE) && c[d] < 0)
            return 0;
    }
    if (tiling == PTX_TILE_GATHER4 || tiling == PTX_TILE_SCATTER4)
        return bulk_rows(&t, c);
    return column ? bulk_column(&t, c, offsets) : bulk_tiled(&t, c);
}

/* tensormap.replace. False: a value that the map cannot have. A program may begin with 128 bytes of zeros and replace every field. */
static inline bool
bulk_replace(struct cwt_map *m, uint32_t field, uint32_t i, uint64_t value)
{
    static const uint8_t types[CWT_TYPES] = { CWT_U8, CWT_U16, CWT_U32, CWT_S32, CWT_U64, CWT_S64, CWT_F16, CWT_F32, CWT_F32_FTZ, CWT_F64,
                                              CWT_BF16, CWT_TF32, CWT_TF32_FTZ };
    if (i >= (field == CWT_GLOBAL_STRIDE ? 4u : (unsigned)CWT_DIMS))
        return false;
    m->magic = CWT_MAGIC;
    switch (field) {
    case CWT_GLOBAL_ADDRESS: m->address = value; return !(value & 15);
    case CWT_RANK: m->rank = (uint8_t)(value + 1); return value < CWT_DIMS;        /* the ISA: "one less" */
    case CWT_BOX_DIM: m->box[i] = (uint16_t)value; return value && value <= 256;
    case CWT_GLOBAL_DIM: m->last[i] = (uint32_t)value - 1; return true;
    case CWT_GLOBAL_STRIDE: m->stride[i] = value; return !(value & 15);
    case CWT_ELEMENT_STRIDE: m->step[i] = (uint8_t)value; return value && value <= 8;
    case CWT_ELEMTYPE: m->type = value < CWT_TYPES ? types[value] : 0; return value < CWT_TYPES;
    case CWT_INTERLEAVE: return !value;
    case CWT_SWIZZLE: m->swizzle = (uint8_t)value; return value <= CWT_SWIZZLE_128B;
    case CWT_FILL: m->fill_nan = (uint8_t)value; return value <= 1;
    default: return !value;         /* the swizzling of 16 bytes */
    }
}

#endif
