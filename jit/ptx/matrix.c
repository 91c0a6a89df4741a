/* SPDX-License-Identifier: Apache-2.0
 * The forms of mma, wmma, ldmatrix, stmatrix and movmatrix (9.7.14, PTX ISA 9.0). */
#include "jit/ptx/matrix.h"

static const struct { uint8_t m, n; uint16_t k; } shapes[PTX_MSHAPE_COUNT] = {
#define X(m, n, k) [PTX_M##m##N##n##K##k] = { m, n, k },
    PTX_MSHAPE_MAP(X)
#undef X
    [PTX_M8N8] = { 8, 8, 0 },
};

/* Groups of element types that A and B may combine. */
enum group { G_NONE, G_F16, G_BF16, G_TF32, G_F64, G_FP8, G_I8, G_I4, G_B1 };

static enum group
group_of(uint8_t t)
{
    switch (t) {
    case PTX_F16: return G_F16;
    case PTX_BF16: return G_BF16;
    case PTX_TF32: return G_TF32;
    case PTX_F64: return G_F64;
    case PTX_E4M3: case PTX_E5M2: return G_FP8;
    case PTX_S8: case PTX_U8: return G_I8;
    case PTX_S4: case PTX_U4: return G_I4;
    case PTX_B1: return G_B1;
    default: return G_NONE;
    }
}

/* The shapes that exist, for mma, mma.sp and wmma. */
struct form { uint8_t shape, group, sm; };
static const struct form mma_forms[] = {
    { PTX_M8N8K4, G_F16, 70 }, { PTX_M8N8K4, G_F64, 80 }, { PTX_M16N8K4, G_TF32, 80 }, { PTX_M16N8K4, G_F64, 90 },
    { PTX_M16N8K8, G_F16, 75 }, { PTX_M16N8K8, G_BF16, 80 }, { PTX_M16N8K8, G_TF32, 80 }, { PTX_M16N8K8, G_F64, 90 },
    { PTX_M16N8K16, G_F16, 80 }, { PTX_M16N8K16, G_BF16, 80 }, { PTX_M16N8K16, G_I8, 80 }, { PTX_M16N8K16, G_FP8, 89 },
    { PTX_M16N8K16, G_F64, 90 }, { PTX_M8N8K16, G_I8, 75 }, { PTX_M16N8K32, G_I8, 80 }, { PTX_M16N8K32, G_I4, 80 },
    { PTX_M16N8K32, G_FP8, 89 }, { PTX_M8N8K32, G_I4, 75 }, { PTX_M16N8K64, G_I4, 80 }, { PTX_M8N8K128, G_B1, 75 },
    { PTX_M16N8K128, G_B1, 80 }, { PTX_M16N8K256, G_B1, 80 }, { 0 }
}, sparse_forms[] = {
    { PTX_M16N8K16, G_F16, 80 }, { PTX_M16N8K32, G_F16, 80 }, { PTX_M16N8K16, G_BF16, 80 }, { PTX_M16N8K32, G_BF16, 80 },
    { PTX_M16N8K8, G_TF32, 80 }, { PTX_M16N8K16, G_TF32, 80 }, { PTX_M16N8K64, G_FP8, 89 }, { PTX_M16N8K32, G_I8, 80 },
    { PTX_M16N8K64, G_I8, 80 }, { PTX_M16N8K64, G_I4, 80 }, { PTX_M16N8K128, G_I4, 80 }, { 0 }
}, wmma_forms[] = {
    { PTX_M16N16K16, G_F16, 70 }, { PTX_M8N32K16, G_F16, 70 }, { PTX_M32N8K16, G_F16, 70 },
    { PTX_M16N16K16, G_BF16, 80 }, { PTX_M8N32K16, G_BF16, 80 }, { PTX_M32N8K16, G_BF16, 80 },
    { PTX_M16N16K16, G_I8, 72 }, { PTX_M8N32K16, G_I8, 72 }, { PTX_M32N8K16, G_I8, 72 },
    { PTX_M16N16K8, G_TF32, 80 }, { PTX_M8N8K4, G_F64, 80 }, { PTX_M8N8K32, G_I4, 75 }, { PTX_M8N8K128, G_B1, 75 }, { 0 }
};

/* Registers per lane for `elements` of type t spread over the warp; two elements of f16 in one, and so on. */
static uint8_t
registers(unsigned elements, uint8_t t)
{
    unsigned bits = ptx_type_bits((ptx_type)t);
    return (uint8_t)(elements * bits / (bits == 64 ? 2048 : 1024));
}

static bool
accumulators_fit(enum group g, const struct ptx_matrix *x, bool mixed)
{
    switch (g) {
    case G_F16:
        if ((x->d != PTX_F16 && x->d != PTX_F32) || (x->c != PTX_F16 && x->c != PTX_F32))
            return false;
        return mixed || x->c == x->d;
    case G_FP8:
        return x->c == x->d && (x->d == PTX_F16 || x->d == PTX_F32);
    case G_BF16: case G_TF32:
        return x->c == PTX_F32 && x->d == PTX_F32;
    case G_F64:
        return x->c == PTX_F64 && x->d == PTX_F64;
    default:
        return x->c == PTX_S32 && x->d == PTX_S32;
    }
}

const char *
ptx_matrix_mma(const struct ptx_inst *in, struct ptx_matrix *x)
{
    bool wmma = in->op == PTX_OP_WMMA_MMA, sparse = in->op == PTX_OP_MMA_SP || in->op == PTX_OP_MMA_SP_ORDERED;
    unsigned shape = PTX_AUX(in, MSHAPE), al = PTX_AUX(in, ALAYOUT), bl = PTX_AUX(in, BLAYOUT);
    *x = (struct ptx_matrix){ .d = in->type[0], .a = in->type[1], .b = in->type[2], .c = in->type[3] };
    if (wmma && !in->type[2]) {         /* f16: .dtype.ctype are written */
        x->c = in->type[1];
        x->a = x->b = PTX_F16;
    } else if (!in->type[3] || (wmma && x->a == PTX_F16)) {
        return wmma && x->a == PTX_F16 ? "with f16 the types are .dtype.ctype" : "four types are needed: .dtype.atype.btype.ctype";
    }
    enum group g = group_of(x->a);
    if (!shape || !al || !bl)
        return "a shape and two layouts are needed";
    if (!g || g != group_of(x->b))
        return "A and B have types that do not go together";
    const struct form *form = sparse ? sparse_forms : wmma ? wmma_forms : mma_forms;
    while (form->shape && (form->shape != shape || form->group != g))
        form++;
    x->min_sm = form->sm;
    if (!form->shape)
        return "this shape does not exist with these types";
    bool quad = !wmma && g == G_F16 && shape == PTX_M8N8K4;
    if (!accumulators_fit(g, x, wmma || (quad && x->d == PTX_F32)))
        return "C or D has a type that does not go with the others";
    if (sparse && g == G_FP8 && x->d != PTX_F32)
        return "C and D are of f32 with these types";
    if (wmma && x->a != x->b)
        return "A and B are of one type";
    if (!(quad || (wmma && g != G_I4 && g != G_B1)) && (al != 1 || bl != 2))
        return "these types take the layouts .row.col only";
    if ((g == G_B1) != (in->boolop != PTX_BOOL_NONE) || (g == G_B1) != (bool)(in->aux >> PTX_AUX_MPOPC & 1))
        return g == G_B1 ? "b1 needs .xor.popc or .and.popc" : ".xor.popc and .and.popc are for b1";
    if (in->boolop == PTX_BOOL_AND && x->min_sm < 80)
        x->min_sm = 80;
    if ((in->flags & PTX_F_SATFINITE) && g != G_I8 && g != G_I4)
        return ".satfinite is for integers";
    if (in->round && (g != G_F64 || in->round < PTX_RN || in->round > PTX_RP))
        return ".rn .rz .rm .rp are for f64";
    x->m = shapes[shape].m;
    x->n = shapes[shape].n;
    x->k = shapes[shape].k;
    x->a_col = al == 2;
    x->b_col = bl == 2;
    unsigned sets = quad ? 4 : 1, twice = wmma && g == G_F16 ? 8 : 0;
    x->chunk = !sparse ? 0 : g == G_TF32 ? 2 : g == G_I4 ? 8 : 4;
    x->na = twice ? 8 : registers((unsigned)x->m * x->k / (sparse ? 2 : 1) * sets, x->a);
    x->nb = twice ? 8 : registers((unsigned)x->k * x->n * sets, x->b);
    x->nc = registers((unsigned)x->m * x->n * sets, x->c);
    x->nd = registers((unsigned)x->m * x->n * sets, x->d);
    return NULL;
}

unsigned
ptx_matrix_selector(const struct ptx_matrix *x)
{
    unsigned fours = x->chunk ? x->k / x->chunk : 16;
    return fours == 4 ? 3 : fours == 8 ? 1 : 0;
}

const char *
ptx_matrix_fragment(const struct ptx_inst *in, struct ptx_matrix *x, unsigned *fragment)
{
    unsigned shape = PTX_AUX(in, MSHAPE), layout = PTX_AUX(in, ALAYOUT), frag = PTX_AUX(in, MFRAG);
    uint8_t t = in->type[0];
    bool found = false, ab = frag == 1 || frag == 2;
    *x = (struct ptx_matrix){ .d = t };
    if (!shape || !layout || !frag)
        return "a matrix (.a .b .c .d), a layout and a shape are needed";
    if (PTX_AUX(in, BLAYOUT))
        return "there is one layout";
    if ((in->op == PTX_OP_WMMA_STORE) != (frag == 4))
        return in->op == PTX_OP_WMMA_STORE ? "only .d is stored" : ".d cannot be loaded";
    for (const struct form *form = wmma_forms; form->shape; form++) {
        enum group g = form->group;
        bool fits = ab ? group_of(t) == g
                       : g == G_F64 ? t == PTX_F64 : g == G_F16 ? t == PTX_F16 || t == PTX_F32 : g == G_BF16 || g == G_TF32 ? t == PTX_F32 : t == PTX_S32;
        if (!fits || form->shape != shape)
            continue;
        if (!found || form->sm < x->min_sm)
            x->min_sm = form->sm;
        found = true;
    }
    if (!found)
        return "this shape does not exist with this type";
    if (ab && ptx_type_bits((ptx_type)t) < 8 && layout != frag)
        return frag == 1 ? "A of this type is in .row layout only" : "B of this type is in .col layout only";
    x->m = shapes[shape].m;
    x->n = shapes[shape].n;
    x->k = shapes[shape].k;
    x->a_col = layout == 2;
    x->nd = ab && t == PTX_F16 ? 8 : registers((unsigned)(frag == 1 ? x->m * x->k : frag == 2 ? x->k * x->n : x->m * x->n), t);
    *fragment = frag - 1;
    return NULL;
}

unsigned
ptx_matrix_count(const struct ptx_inst *in)
{
    return PTX_AUX(in, MNUM) ? 1u << (PTX_AUX(in, MNUM) - 1) : 0;
}
