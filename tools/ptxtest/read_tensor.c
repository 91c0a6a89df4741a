/* SPDX-License-Identifier: Apache-2.0
 * The directive `tensor`. */
#include "tools/ptxtest/read_private.h"

#include <string.h>

/* N[,N...]; *n: how many, at most `most`. */
static bool
numbers(struct pt_reader *r, const char *what, unsigned most, int64_t *out, unsigned *n)
{
    const char *p = r->tok.s, *end = p ? p + r->tok.length : NULL;
    for (*n = 0; p && p < end; (*n)++) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        bool minus = *p == '-';
        uint64_t v;
        if (*n == most || !rd_to_number(p + minus, (size_t)(stop - p) - minus, 1ull << 40, &v))
            return rd_error(r, "up to %u %s, such as 8,4, are expected here", most, what);
        out[*n] = minus ? -(int64_t)v : (int64_t)v;
        p = comma ? comma + 1 : end;
    }
    if (!*n)
        return rd_error(r, "%s are expected here", what);
    rd_next(r);
    return true;
}

static bool
data_type(const struct pt_type *t, CUtensorMapDataType *out)
{
    static const struct { const char *name; CUtensorMapDataType type; } types[] = {
        { "u8", CU_TENSOR_MAP_DATA_TYPE_UINT8 }, { "u16", CU_TENSOR_MAP_DATA_TYPE_UINT16 }, { "u32", CU_TENSOR_MAP_DATA_TYPE_UINT32 },
        { "s32", CU_TENSOR_MAP_DATA_TYPE_INT32 }, { "u64", CU_TENSOR_MAP_DATA_TYPE_UINT64 }, { "s64", CU_TENSOR_MAP_DATA_TYPE_INT64 },
        { "f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16 }, { "f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32 }, { "f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64 },
        { "bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, t->name)) {
            *out = types[i].type;
            return true;
        }
    return false;
}

/* A property with a list of as many numbers as `want`, or *n. */
static bool
list(struct pt_reader *r, const char *what, unsigned want, int64_t *out)
{
    unsigned n;
    if (!numbers(r, what, want, out, &n))
        return false;
    return n == want || rd_error(r, "%u %s are expected before this", want, what);
}

/* tensor NAME of BUFFER D0[,D1...] [box B0,B1...] [stride BYTES1,...] [step E0,...] [swizzle 32|64|128] [nan] [im2col lower W,.. upper W,..] */
bool
rd_tensor(struct pt_reader *r)
{
    struct pt_decl d = { .kind = PT_TENSOR, .given = true, .line = r->first_line };
    struct pt_tensor *x = rd_alloc(r, sizeof *x);
    int64_t v[5];
    unsigned n;
    if (!x || !(d.name = rd_name(r, "a name")) || !rd_expect(r, "of"))
        return false;
    memset(x, 0, sizeof *x);
    int at = r->tok.s ? rd_find(r, r->tok.s, r->tok.length) : -1;
    if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
        return rd_error(r, "a buffer declared above is expected here");
    const struct pt_decl *b = &r->f->decls[x->buffer = r->scope[at]];
    if (!data_type(b->init.type, &x->type))
        return rd_error(r, "tensors have elements of u8, u16, u32, s32, u64, s64, f16, bf16, f32 or f64");
    rd_next(r);
    if (!numbers(r, "sizes", 5, v, &n))
        return false;
    x->rank = n;
    uint64_t bytes = pt_type_size(b->init.type);
    for (unsigned i = 0; i < n; i++) {
        x->dim[i] = (uint64_t)v[i];
        x->box[i] = (uint32_t)v[i];
        x->step[i] = 1;
        bytes *= x->dim[i];
        if (i < 4)
            x->stride[i] = bytes;
    }
    while (r->tok.s) {
        uint64_t s;
        if (rd_accept(r, "box")) {
            if (!numbers(r, "sizes of the box", x->rank, v, &n))
                return false;
            for (unsigned i = 0; i < n; i++)
                x->box[i] = (uint32_t)v[i];
        } else if (rd_accept(r, "stride")) {
            if (!list(r, "strides", x->rank - 1, v))
                return false;
            for (unsigned i = 0; i + 1 < x->rank; i++)
                x->stride[i] = (uint64_t)v[i];
        } else if (rd_accept(r, "step")) {
            if (!list(r, "element strides", x->rank, v))
                return false;
            for (unsigned i = 0; i < x->rank; i++)
                x->step[i] = (uint32_t)v[i];
        } else if (rd_accept(r, "swizzle")) {
            if (!rd_number(r, "32, 64 or 128", 128, &s))
                return false;
            x->swizzle = s == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : s == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : s == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
        } else if (rd_accept(r, "nan")) {
            x->nan = true;
        } else if (rd_accept(r, "im2col")) {
            x->im2col = true;
            if (x->rank < 3)
                return rd_error(r, "im2col is for 3 to 5 dimensions");
            if (!rd_expect(r, "lower") || !list(r, "corners", x->rank - 2, v))
                return false;
            for (unsigned i = 0; i < x->rank - 2; i++)
                x->lower[i] = (int)v[i];
            if (!rd_expect(r, "upper") || !list(r, "corners", x->rank - 2, v))
                return false;
            for (unsigned i = 0; i < x->rank - 2; i++)
                x->upper[i] = (int)v[i];
        } else {
            return rd_error(r, "'%.*s' is no property of a tensor", rd_shown(r), r->tok.s);
        }
    }
    uint64_t last = pt_type_size(b->init.type) * (x->dim[0] - 1);
    for (unsigned i = 1; i < x->rank; i++)
        last += x->stride[i - 1] * (x->dim[i] - 1);
    if (last >= (uint64_t)b->init.count * pt_type_size(b->init.type))
        return rd_error_at(r, d.line, 1, "the tensor ends behind %s", b->name);
    d.tensor = x;
    d.init.type = pt_type_find("u64", 3);
    d.init.count = 1;
    if (!(d.init.bytes = rd_alloc(r, 8)))
        return false;
    memset(d.init.bytes, 0, 8);
    return rd_add_decl(r, &d);
}
