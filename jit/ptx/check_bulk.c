/* SPDX-License-Identifier: Apache-2.0
 * Checks of bulk copies and what came with them (9.7.9.25.4 ff.): their operands depend on spaces and modifiers, so this file makes the
 * signature, or chooses one, before it is checked. */
#include "jit/abi/bulk.h"
#include "jit/ptx/check_private.h"

#include <stdio.h>

#define AUX_BIT(in, bit) ((in)->aux >> PTX_AUX_##bit & 1)

static bool
is_shared(unsigned space)
{
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

/* The signature `sig`, then the operands that modifiers add. */
static bool
check_with_options(struct check *c, const char *sig, bool mask_behind)
{
    const struct ptx_inst *in = c->in;
    char all[64];
    snprintf(all, sizeof all, "%s%s%s%s", sig, AUX_BIT(in, MULTICAST) ? ",sh" : "", in->aux & PTX_AUX_CACHE_HINT ? ",sq" : "", mask_behind ? ",sh" : "");
    return ptx_check_signature(c, all);
}

/* A variable must be in the space that the instruction names. */
static bool
check_place(struct check *c, unsigned i, unsigned space)
{
    const struct ptx_operand *o = &c->in->operand[i];
    if (o->kind == PTX_OPND_ADDR && !o->has_reg && o->sym && space && o->sym->space != (space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : space))
        return FAIL(c, 3036, "'%s' is not in the space that '%s' accesses", o->sym->name, c->name);
    return true;
}

static bool
check_bulk(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned to = in->space, from = PTX_AUX(in, SOURCE), done = PTX_AUX(in, DONE);
    bool reduce = in->op == PTX_OP_CP_REDUCE_ASYNC_BULK, in_group = to == PTX_SPACE_GLOBAL && from == PTX_SPACE_SHARED;
    bool to_shared = is_shared(to) && (from == PTX_SPACE_GLOBAL || (from == PTX_SPACE_SHARED && to == PTX_SPACE_SHARED_CLUSTER));
    if (in->op == PTX_OP_CP_ASYNC_BULK_PREFETCH) {
        if (to != PTX_SPACE_GLOBAL || from || done || !PTX_AUX(in, LEVEL) || AUX_BIT(in, MULTICAST) || AUX_BIT(in, CP_MASK) || AUX_BIT(in, READ))
            return FAIL(c, 3044, "'%s' is .L2.global", c->name);
        return check_with_options(c, "ax,su", false) && check_place(c, 0, to);
    }
    if (!(in_group && done == PTX_DONE_GROUP) && !(to_shared && done == PTX_DONE_MBARRIER))
        return FAIL(c, 3044, "'%s' has no such combination of spaces and completion", c->name);
    if (PTX_AUX(in, LEVEL) || AUX_BIT(in, READ) || AUX_BIT(in, MMIO) || (AUX_BIT(in, CP_MASK) && (reduce || !in_group)) ||
        (AUX_BIT(in, MULTICAST) && (reduce || to != PTX_SPACE_SHARED_CLUSTER || from != PTX_SPACE_GLOBAL)) ||
        (in->aux & PTX_AUX_CACHE_HINT && from == PTX_SPACE_SHARED && !in_group))
        return FAIL(c, 3045, "'%s' does not take these modifiers with these spaces", c->name);
    if (reduce) {
        uint64_t bit = 1ull << in->type[0], types;
        switch (in->atomop) {
        case PTX_ATOM_AND: case PTX_ATOM_OR: case PTX_ATOM_XOR: types = in_group ? S_B32 | S_B64 : S_B32; break;
        case PTX_ATOM_INC: case PTX_ATOM_DEC: types = S_U32; break;
        case PTX_ATOM_ADD: types = in_group ? S_INT32 | S_U64 | S_FLT | TB(F16) | TB(BF16) : S_INT32 | S_U64; break;
        case PTX_ATOM_MIN: case PTX_ATOM_MAX: types = in_group ? S_INT32 | S_INT64 | TB(F16) | TB(BF16) : S_INT32; break;
        default: return FAIL(c, 3044, "'%s' needs an operation", c->name);
        }
        if (!(types & bit) || to == PTX_SPACE_SHARED)
            return FAIL(c, 3089, "'%s' has no such operation on .%s", c->name, ptx_type_name(in->type[0]));
        bool noftz = in->atomop == PTX_ATOM_ADD && (bit & S_HALF);
        if (noftz != ((in->flags & PTX_F_NOFTZ) != 0))
            return FAIL(c, noftz ? 3044 : 3045, noftz ? "'%s' of .%s needs .noftz" : "'%s' of .%s takes no .noftz", c->name, ptx_type_name(in->type[0]));
    }
    return check_with_options(c, in_group ? "ax,ax,su" : "ax,ax,su,ax", AUX_BIT(in, CP_MASK)) && check_place(c, 0, to) && check_place(c, 1, from) &&
           (in_group || check_place(c, 3, PTX_SPACE_SHARED));
}

static bool
check_tensor(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned to = in->space, from = PTX_AUX(in, SOURCE), done = PTX_AUX(in, DONE), dims = PTX_AUX(in, DIMS), mode = PTX_AUX(in, TILING);
    bool prefetch = in->op == PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR, load = done == PTX_DONE_MBARRIER && !prefetch, ok;
    bool reduce = in->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
    bool offsets = mode == PTX_IM2COL || mode == PTX_IM2COL_W || mode == PTX_IM2COL_W_128, column = offsets || mode == PTX_IM2COL_NO_OFFSETS;
    if (!dims)
        return FAIL(c, 3044, "'%s' needs a dimension: .1d ... .5d", c->name);
    if (prefetch)
        ok = to == PTX_SPACE_GLOBAL && !from && !done && PTX_AUX(in, LEVEL);
    else if (load)
        ok = is_shared(to) && from == PTX_SPACE_GLOBAL && !reduce && !PTX_AUX(in, LEVEL);
    else
        ok = to == PTX_SPACE_GLOBAL && from == PTX_SPACE_SHARED && done == PTX_DONE_GROUP && !PTX_AUX(in, LEVEL) && !PTX_AUX(in, CTA_GROUP);
    if (!ok || AUX_BIT(in, CP_MASK) || AUX_BIT(in, READ) || AUX_BIT(in, MMIO) || (AUX_BIT(in, MULTICAST) && (!load || to != PTX_SPACE_SHARED_CLUSTER)))
        return FAIL(c, 3044, "'%s' has no such combination of spaces and completion", c->name);
    if (reduce && (!in->atomop || in->atomop == PTX_ATOM_CAS || in->atomop == PTX_ATOM_EXCH))
        return FAIL(c, 3044, "'%s' needs an operation", c->name);
    ok = mode == PTX_TILE_GATHER4 ? (load || prefetch) && dims == 2 : mode == PTX_TILE_SCATTER4 ? !load && !prefetch && !reduce && dims == 2
         : column                 ? dims >= 3 && offsets == (load || prefetch)
                                  : true;
    if (!ok)
        return FAIL(c, 3045, "'%s' does not take this mode here", c->name);
    if (!check_with_options(c, load ? offsets ? "ax,ax,cu,ax,ch" : "ax,ax,cu,ax" : prefetch ? offsets ? "ax,cu,ch" : "ax,cu" : "ax,cu,ax", false))
        return false;
    unsigned map = PTX_MAP_OPERAND(in), want = mode == PTX_TILE_GATHER4 || mode == PTX_TILE_SCATTER4 ? 5 : dims;
    unsigned noffsets = mode == PTX_IM2COL ? dims - 2 : 2;
    if (in->operand[map + 1].count != want)
        return FAIL(c, 3083, "'%s' has %u coordinates here, not %u", c->name, want, in->operand[map + 1].count);
    if (offsets && in->operand[load ? 4 : 2].count != noffsets)
        return FAIL(c, 3083, "'%s' has %u offsets here, not %u", c->name, noffsets, in->operand[load ? 4 : 2].count);
    return load ? check_place(c, 0, to) && check_place(c, 3, PTX_SPACE_SHARED) : prefetch || check_place(c, 2, from);
}

static bool
check_tensormap(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned field = PTX_AUX(in, FIELD), other = PTX_AUX(in, SOURCE) || PTX_AUX(in, DONE) || PTX_AUX(in, LEVEL) || AUX_BIT(in, MULTICAST) || AUX_BIT(in, CP_MASK);
    if (in->op == PTX_OP_TENSORMAP_CP_FENCEPROXY) {
        if (in->space != PTX_SPACE_GLOBAL || PTX_AUX(in, SOURCE) != PTX_SPACE_SHARED || PTX_AUX(in, PROXY) != PTX_PROXY_TENSORMAP ||
            in->sem != PTX_SEM_RELEASE || !in->scope || !(in->flags & PTX_F_SYNC) || !(in->flags & PTX_F_ALIGNED))
            return FAIL(c, 3044, "'%s' is .global.shared::cta.tensormap::generic.release, with a scope, .sync.aligned", c->name);
        if (!ptx_check_signature(c, c->row->sig))
            return false;
        return in->operand[2].imm == 128 || FAIL(c, 3059, "operand 3 of '%s' is 128", c->name);
    }
    if (PTX_AUX(in, TILING) != PTX_TILE || !field || !AUX_BIT(in, B1024) || PTX_AUX(in, DIMS) || other ||
        (in->space && in->space != PTX_SPACE_GLOBAL && in->space != PTX_SPACE_SHARED))
        return FAIL(c, 3044, "'%s' is .tile, a field, .global or .shared::cta, and .b1024", c->name);
    bool wide = field == CWT_GLOBAL_ADDRESS || field == CWT_GLOBAL_STRIDE, indexed = field >= CWT_BOX_DIM && field <= CWT_ELEMENT_STRIDE;
    if ((in->type[0] == PTX_B64) != wide)
        return FAIL(c, 3045, "this field of '%s' is .%s", c->name, wide ? "b64" : "b32");
    return ptx_check_signature(c, indexed ? "ax,su,s0" : field >= CWT_ELEMTYPE ? "ax,iu" : "ax,s0");
}

static bool
check_async(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool remote = PTX_AUX(in, DONE) == PTX_DONE_MBARRIER, ok;
    if (in->op == PTX_OP_CP_ASYNC_BULK_WAIT_GROUP) {
        if ((in->aux & ~(1ull << PTX_AUX_READ)) || in->space)
            return FAIL(c, 2012, "'%s' takes .read only", c->name);
        return ptx_check_signature(c, c->row->sig);
    }
    if (PTX_AUX(in, SOURCE) || PTX_AUX(in, LEVEL) || AUX_BIT(in, MULTICAST) || AUX_BIT(in, CP_MASK) || AUX_BIT(in, READ) || in->aux & PTX_AUX_CACHE_HINT)
        return FAIL(c, 3045, "'%s' does not take these modifiers", c->name);
    if (in->op == PTX_OP_ST_BULK) {
        if ((in->sem && in->sem != PTX_SEM_WEAK) || (in->space && in->space != PTX_SPACE_SHARED) || PTX_AUX(in, DONE) || AUX_BIT(in, MMIO))
            return FAIL(c, 3044, "'%s' is .weak.shared::cta", c->name);
        if (!ptx_check_signature(c, c->row->sig))
            return false;
        return !in->operand[2].imm || FAIL(c, 3059, "operand 3 of '%s' is 0", c->name);
    }
    if (remote)     /* with an mbarrier object, in shared memory */
        ok = (!in->space || in->space == PTX_SPACE_SHARED_CLUSTER) && !AUX_BIT(in, MMIO) &&
             (!in->sem || in->sem == PTX_SEM_WEAK || in->sem == PTX_SEM_RELAXED) && (!in->scope || in->scope == PTX_SCOPE_CLUSTER);
    else            /* of sm_100, to global memory */
        ok = (!in->space || in->space == PTX_SPACE_GLOBAL) && in->sem == PTX_SEM_RELEASE && in->scope >= PTX_SCOPE_GPU && in->vec == 1;
    if (!ok)
        return FAIL(c, 3044, "'%s' has no such combination of semantics, scope, space and completion", c->name);
    if (in->op == PTX_OP_RED_ASYNC) {
        uint64_t types = in->atomop == PTX_ATOM_ADD                                     ? S_INT32 | S_U64 | (remote ? 0 : S_S64)
                         : in->atomop == PTX_ATOM_MIN || in->atomop == PTX_ATOM_MAX     ? S_INT32
                         : in->atomop == PTX_ATOM_INC || in->atomop == PTX_ATOM_DEC     ? S_U32
                         : in->atomop && in->atomop <= PTX_ATOM_XOR                     ? S_B32
                                                                                        : 0;
        if (!(types >> in->type[0] & 1) || (!remote && in->atomop != PTX_ATOM_ADD))
            return FAIL(c, 3089, "'%s' has no such operation on .%s", c->name, ptx_type_name(in->type[0]));
    }
    if (in->noperands != 2u + remote)
        return FAIL(c, 3032, "'%s' takes %u operands in this form, not %u", c->name, 2u + remote, in->noperands);
    return ptx_check_signature(c, c->row->sig) && check_place(c, 0, in->space);
}

static bool
check_cancel(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned answer = PTX_AUX(in, ANSWER);
    if (in->op == PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL) {
        if (!AUX_BIT(in, ASYNC) || PTX_AUX(in, DONE) != PTX_DONE_MBARRIER || answer || (in->space && in->space != PTX_SPACE_SHARED) || PTX_AUX(in, SOURCE) ||
            AUX_BIT(in, MULTICAST) || AUX_BIT(in, CP_MASK) || PTX_AUX(in, LEVEL) || in->aux & PTX_AUX_CACHE_HINT)
            return FAIL(c, 3044, "'%s' is .async, .shared::cta or nothing, .mbarrier::complete_tx::bytes, .b128", c->name);
        return ptx_check_signature(c, c->row->sig);
    }
    if (!answer || AUX_BIT(in, ASYNC) || AUX_BIT(in, CANCEL_ALL) || (in->vec == 4) != (answer == PTX_FIRST_CTAID) || in->vec == 2 || in->vec == 8 ||
        (in->type[0] == PTX_PRED) != (answer == PTX_IS_CANCELED))
        return FAIL(c, 3044, "'%s' is .is_canceled.pred, .get_first_ctaid.v4.b32, or .get_first_ctaid::x.b32, ::y, ::z", c->name);
    return ptx_check_signature(c, c->row->sig);
}

/* Types for the operations, as NVIDIA's tools accept them. */
static bool
check_multimem(struct check *c)
{
    const struct ptx_inst *in = c->in;
    uint64_t bit = 1ull << in->type[0], types = S_INT32 | S_INT64 | S_B32 | S_B64 | S_FLT | TB(F16X2) | TB(BF16X2) | (in->vec > 1 ? TB(F16) | TB(BF16) : 0);
    bool half = bit & S_HALF;
    if (in->op != PTX_OP_MULTIMEM_ST) {
        switch (in->atomop) {
        case PTX_ATOM_AND: case PTX_ATOM_OR: case PTX_ATOM_XOR: types = S_B32 | S_B64; break;
        case PTX_ATOM_ADD: types &= S_INT32 | S_U64 | S_FLT | S_HALF; break;
        case PTX_ATOM_MIN: case PTX_ATOM_MAX: types &= in->op == PTX_OP_MULTIMEM_RED ? S_INT32 | S_INT64 : S_INT32 | S_INT64 | S_HALF; break;
        default: return FAIL(c, 3044, "'%s' needs .add, .min, .max, .and, .or or .xor", c->name);
        }
    }
    if (in->space && in->space != PTX_SPACE_GLOBAL)
        return FAIL(c, 3045, "'%s' works in global memory", c->name);
    if (!(types & bit) || (in->vec > 1 && !(bit & (S_F32 | S_HALF | TB(F64)))) || (PTX_AUX(in, ACC) && !half))
        return FAIL(c, 3089, "'%s' has no such operation on %s.%s", c->name, in->vec > 1 ? "vectors of " : "", ptx_type_name(in->type[0]));
    return ptx_check_signature(c, c->row->sig);
}

bool
ptx_check_bulk(struct check *c)
{
    switch (c->in->op) {
    case PTX_OP_CP_ASYNC_BULK: case PTX_OP_CP_ASYNC_BULK_PREFETCH: case PTX_OP_CP_REDUCE_ASYNC_BULK: return check_bulk(c);
    case PTX_OP_CP_ASYNC_BULK_TENSOR: case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR: case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR: return check_tensor(c);
    case PTX_OP_TENSORMAP_REPLACE: case PTX_OP_TENSORMAP_CP_FENCEPROXY: return check_tensormap(c);
    case PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL: case PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL: return check_cancel(c);
    case PTX_OP_MULTIMEM_LD_REDUCE: case PTX_OP_MULTIMEM_ST: case PTX_OP_MULTIMEM_RED: return check_multimem(c);
    default: return check_async(c);
    }
}
