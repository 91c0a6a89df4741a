/* SPDX-License-Identifier: Apache-2.0
 * The opcode, special-register, type and modifier tables as data, made from ops.def and sregs.def. This file knows no opcode by name. */
#include "jit/abi/bulk.h"
#include "jit/ptx/ptx_private.h"

#define READ  PTX_T_READS_MEM
#define WRITE PTX_T_WRITES_MEM
#define TERM  PTX_T_TERMINATOR
#define CONV  PTX_T_CONVERGENT
#define BAR_  PTX_T_BARRIER
#define WARP  PTX_T_WARP
#define CALL  PTX_T_CALL

#define TY0           0, {0}
#define TY1(a)        1, {(a)}
#define TY2(a, b)     2, {(a), (b)}
#define TY3(a, b, c)  3, {(a), (b), (c)}
#define TY4(a, b, c, d) 4, {(a), (b), (c), (d)}

/* Here it matters only whether there is an emitter. */
#define BY(f)   1
#define NO(why) 0
#define ON(host, amdgcn, nvptx) ((host) * PTX_T_HOST | (amdgcn) * PTX_T_AMDGCN | (nvptx) * PTX_T_NVPTX)

#define OP(sym, name, ndst, ptx, sm, traits, ty, mods, sig, emitters) \
    [PTX_OP_##sym] = { { name, ndst, ptx, sm, (traits) | (emitters) }, ty, mods, sig },

const struct op_row ptx_op_rows[PTX_OP_COUNT] = {
    [PTX_OP_INVALID] = { { "<invalid>", 0, 0, 0, 0 }, 0, {0}, 0, "" },
#include "jit/ptx/ops.def"
};
#undef OP

static const struct ptx_sreg_info sregs[PTX_SREG_COUNT] = {
    [PTX_SREG_INVALID] = { "<invalid>", PTX_NONE, 0 },
#define SREG(sym, name, type, traits, readers) [PTX_SREG_##sym] = { name, PTX_##type, (traits) | (readers) },
#include "jit/ptx/sregs.def"
#undef SREG
};

static const struct { const char *name; uint8_t bits, cls; } types[PTX_TYPE_COUNT] = {
#define X(e, s, b, c) [e] = { s, b, c },
    PTX_TYPE_MAP(X)
#undef X
};

const char *
ptx_type_name(ptx_type t)
{
    return (unsigned)t < PTX_TYPE_COUNT ? types[t].name : "<invalid>";
}

unsigned
ptx_type_bits(ptx_type t)
{
    return (unsigned)t < PTX_TYPE_COUNT ? types[t].bits : 0;
}

enum ptx_type_class
ptx_type_class(ptx_type t)
{
    return (unsigned)t < PTX_TYPE_COUNT ? (enum ptx_type_class)types[t].cls : PTX_CLASS_NONE;
}

const struct ptx_op_info *
ptx_op_info(ptx_op op)
{
    return &ptx_op_rows[(unsigned)op < PTX_OP_COUNT ? op : PTX_OP_INVALID].info;
}

const struct ptx_sreg_info *
ptx_sreg_info(ptx_sreg r)
{
    return &sregs[(unsigned)r < PTX_SREG_COUNT ? r : PTX_SREG_INVALID];
}

const struct mod_bits *
ptx_mod_bits(unsigned field, bool second)
{
#define AT(name) { PTX_AUX_##name##_SHIFT, PTX_AUX_##name##_MASK }
    static const struct mod_bits bits[][2] = {
        [MF_MSHAPE] = { AT(MSHAPE) }, [MF_MLAYOUT] = { AT(ALAYOUT), AT(BLAYOUT) }, [MF_MFRAG] = { AT(MFRAG) }, [MF_MNUM] = { AT(MNUM) },
        [MF_PRIORITY] = { AT(EVICT2), AT(EVICT) }, [MF_SPACES] = { { 0, 0 }, AT(SOURCE) },
    };
#undef AT
    return &bits[field][second];
}

uint64_t
ptx_mod_value(const struct ptx_inst *in, unsigned field, bool second)
{
    const uint8_t *byte = second ? NULL : ptx_mod_byte((struct ptx_inst *)in, field);
    return byte ? *byte : in->aux >> ptx_mod_bits(field, second)->shift & ptx_mod_bits(field, second)->mask;
}

#define FLAG(w, g, f)      { w, g, MF_FLAG, 0, f },
#define WORD(w, g, fld, v) { w, g, MF_##fld, 0, v },
#define AUX(w, g, name, v) { w, g, MF_AUX, PTX_AUX_##name##_SHIFT, v },
#define BIT(w, g, bit)     { w, g, MF_AUX, bit, 1 },

/* Meanings of the same word are adjacent; the first whose group the opcode accepts applies. The printer takes the first row with the group,
 * field and value, so the preferred spelling comes first. */
const struct mod_word ptx_mod_words[] = {
    WORD("rn", M_RND, ROUND, PTX_RN) WORD("rz", M_RND, ROUND, PTX_RZ) WORD("rm", M_RND, ROUND, PTX_RM)
    WORD("rp", M_RND, ROUND, PTX_RP) WORD("rna", M_RND, ROUND, PTX_RNA) WORD("rs", M_RND, ROUND, PTX_RS)
    WORD("rni", M_IRND, ROUND, PTX_RNI) WORD("rzi", M_IRND, ROUND, PTX_RZI) WORD("rmi", M_IRND, ROUND, PTX_RMI)
    WORD("rpi", M_IRND, ROUND, PTX_RPI)
    FLAG("ftz", M_FTZ, PTX_F_FTZ) FLAG("sat", M_SAT, PTX_F_SAT) FLAG("approx", M_APPROX, PTX_F_APPROX)
    FLAG("full", M_FULL, PTX_F_FULL) FLAG("cc", M_CC, PTX_F_CC) FLAG("relu", M_RELU, PTX_F_RELU)
    WORD("nan", M_CMP, CMP, PTX_NAN) FLAG("NaN", M_NAN, PTX_F_NAN)
    FLAG("xorsign", M_XORSIGN, PTX_F_XORSIGN_ABS)
    FLAG("satfinite", M_SATFINITE, PTX_F_SATFINITE)
    FLAG("aligned", M_ALIGNED, PTX_F_ALIGNED)
    FLAG("uni", M_UNI, PTX_F_UNI) WORD("uni", M_VOTE, MODE, PTX_MODE_UNI)
    FLAG("nc", M_NC, PTX_F_NC) FLAG("to", M_TO, PTX_F_TO) FLAG("shiftamt", M_SHIFTAMT, PTX_F_SHIFTAMT)
    FLAG("noftz", M_NOFTZ, PTX_F_NOFTZ) FLAG("abs", M_ABS, PTX_F_ABS) FLAG("abs", M_XORSIGN, PTX_F_XORSIGN_ABS)
    FLAG("clamp", M_CLAMPWRAP, PTX_F_CLAMP) AUX("clamp", M_SURF, SURF, 2)
    FLAG("wrap", M_CLAMPWRAP, PTX_F_WRAP)
    AUX("trap", M_SURF, SURF, 1) AUX("zero", M_SURF, SURF, 3) AUX("p", M_SURF, SURF_FORM, 2)
    FLAG("sync", M_SYNC, PTX_F_SYNC) WORD("sync", M_BAR, MODE, PTX_MODE_SYNC)
    WORD("eq", M_CMP, CMP, PTX_EQ) WORD("ne", M_CMP, CMP, PTX_NE) WORD("lt", M_CMP, CMP, PTX_LT)
    WORD("le", M_CMP, CMP, PTX_LE) WORD("gt", M_CMP, CMP, PTX_GT) WORD("ge", M_CMP, CMP, PTX_GE)
    WORD("lo", M_CMP, CMP, PTX_LO) WORD("lo", M_HILO, MODE, PTX_MODE_LO)
    WORD("ls", M_CMP, CMP, PTX_LS)
    WORD("hi", M_CMP, CMP, PTX_HI_) WORD("hi", M_HILO, MODE, PTX_MODE_HI)
    WORD("hs", M_CMP, CMP, PTX_HS) WORD("equ", M_CMP, CMP, PTX_EQU) WORD("neu", M_CMP, CMP, PTX_NEU)
    WORD("ltu", M_CMP, CMP, PTX_LTU) WORD("leu", M_CMP, CMP, PTX_LEU) WORD("gtu", M_CMP, CMP, PTX_GTU)
    WORD("geu", M_CMP, CMP, PTX_GEU) WORD("num", M_CMP, CMP, PTX_NUM)
    WORD("wide", M_HILO, MODE, PTX_MODE_WIDE)
    WORD("and", M_MBOOL, BOOLOP, PTX_BOOL_AND) WORD("and", M_BOOL, BOOLOP, PTX_BOOL_AND) WORD("and", M_ATOM, ATOMOP, PTX_ATOM_AND)
    WORD("or", M_BOOL, BOOLOP, PTX_BOOL_OR) WORD("or", M_ATOM, ATOMOP, PTX_ATOM_OR)
    WORD("xor", M_MBOOL, BOOLOP, PTX_BOOL_XOR) WORD("xor", M_BOOL, BOOLOP, PTX_BOOL_XOR) WORD("xor", M_ATOM, ATOMOP, PTX_ATOM_XOR)
    WORD("popc", M_BOOL, BOOLOP, PTX_BOOL_POPC) BIT("popc", M_MBOOL, PTX_AUX_MPOPC)
    WORD("cas", M_ATOM, ATOMOP, PTX_ATOM_CAS) WORD("exch", M_ATOM, ATOMOP, PTX_ATOM_EXCH)
    WORD("add", M_ATOM, ATOMOP, PTX_ATOM_ADD) WORD("inc", M_ATOM, ATOMOP, PTX_ATOM_INC)
    WORD("dec", M_ATOM, ATOMOP, PTX_ATOM_DEC) WORD("min", M_ATOM, ATOMOP, PTX_ATOM_MIN)
    WORD("max", M_ATOM, ATOMOP, PTX_ATOM_MAX)
    WORD("global", M_BULK, SPACES, PTX_SPACE_GLOBAL) WORD("global", M_SPACE, SPACE, PTX_SPACE_GLOBAL) BIT("global", M_CPASYNC, PTX_AUX_FROM_GLOBAL)
    WORD("shared", M_SPACE | M_CPASYNC, SPACE, PTX_SPACE_SHARED)
    WORD("const", M_SPACE, SPACE, PTX_SPACE_CONST) WORD("local", M_SPACE, SPACE, PTX_SPACE_LOCAL)
    WORD("param", M_SPACE, SPACE, PTX_SPACE_PARAM) WORD("shared::cluster", M_BULK, SPACES, PTX_SPACE_SHARED_CLUSTER)
    WORD("shared::cluster", M_SPACE, SPACE, PTX_SPACE_SHARED_CLUSTER) WORD("shared::cta", M_BULK, SPACES, PTX_SPACE_SHARED)
    WORD("shared::cta", M_SPACE | M_CPASYNC, SPACE, PTX_SPACE_SHARED) WORD("param::entry", M_SPACE, SPACE, PTX_SPACE_PARAM)
    WORD("param::func", M_SPACE, SPACE, PTX_SPACE_PARAM)
    WORD("weak", M_SEM, SEM, PTX_SEM_WEAK) WORD("volatile", M_SEM, SEM, PTX_SEM_VOLATILE)
    WORD("relaxed", M_SEM, SEM, PTX_SEM_RELAXED) WORD("acquire", M_SEM, SEM, PTX_SEM_ACQUIRE)
    WORD("release", M_SEM, SEM, PTX_SEM_RELEASE) WORD("acq_rel", M_SEM, SEM, PTX_SEM_ACQ_REL)
    WORD("sc", M_SEM, SEM, PTX_SEM_SC) BIT("mmio", M_BULK, PTX_AUX_MMIO) WORD("mmio", M_SEM, SEM, PTX_SEM_MMIO)
    WORD("cta", M_SCOPE, SCOPE, PTX_SCOPE_CTA) WORD("cta", M_LEVEL, SCOPE, PTX_SCOPE_CTA) BIT("cta", M_CTA, PTX_AUX_BAR_CTA)
    WORD("cluster", M_SCOPE, SCOPE, PTX_SCOPE_CLUSTER) WORD("gpu", M_SCOPE, SCOPE, PTX_SCOPE_GPU)
    WORD("sys", M_SCOPE, SCOPE, PTX_SCOPE_SYS) WORD("sys", M_LEVEL, SCOPE, PTX_SCOPE_SYS)
    WORD("gl", M_LEVEL, SCOPE, PTX_SCOPE_GPU)
    WORD("v2", M_VEC, VEC, 2) WORD("v4", M_VEC, VEC, 4) WORD("v8", M_VEC, VEC, 8)
    AUX("1d", M_TENSOR, DIMS, 1) WORD("1d", M_GEOM, GEOM, PTX_GEOM_1D) AUX("2d", M_TENSOR, DIMS, 2) WORD("2d", M_GEOM, GEOM, PTX_GEOM_2D)
    AUX("3d", M_TENSOR, DIMS, 3) WORD("3d", M_GEOM, GEOM, PTX_GEOM_3D) AUX("4d", M_TENSOR, DIMS, 4) AUX("5d", M_TENSOR, DIMS, 5)
    WORD("a1d", M_GEOM, GEOM, PTX_GEOM_A1D) WORD("a2d", M_GEOM, GEOM, PTX_GEOM_A2D) WORD("cube", M_GEOM, GEOM, PTX_GEOM_CUBE)
    WORD("acube", M_GEOM, GEOM, PTX_GEOM_ACUBE) WORD("2dms", M_GEOM, GEOM, PTX_GEOM_2DMS)
    WORD("a2dms", M_GEOM, GEOM, PTX_GEOM_A2DMS)
    WORD("l", M_LR, MODE, PTX_MODE_L)
    WORD("r", M_LR, MODE, PTX_MODE_R) AUX("r", M_TLD4, TLD4, 1)
    AUX("g", M_TLD4, TLD4, 2) AUX("b", M_TLD4, TLD4, 3) AUX("b", M_SURF, SURF_FORM, 1) WORD("b", M_MFRAG, MFRAG, 2)
    AUX("a", M_TLD4, TLD4, 4) WORD("a", M_MFRAG, MFRAG, 1) WORD("c", M_MFRAG, MFRAG, 3) WORD("d", M_MFRAG, MFRAG, 4)
#define X(m, n, k) WORD("m" #m "n" #n "k" #k, M_MATRIX, MSHAPE, PTX_M##m##N##n##K##k)
    PTX_MSHAPE_MAP(X)
#undef X
    WORD("m8n8", M_MATRIX, MSHAPE, PTX_M8N8) WORD("row", M_MATRIX, MLAYOUT, 1) WORD("col", M_MATRIX, MLAYOUT, 2)
    WORD("x1", M_MATRIX, MNUM, 1) WORD("x2", M_MATRIX, MNUM, 2) WORD("x4", M_MATRIX, MNUM, 3)
    BIT("trans", M_MATRIX, PTX_AUX_MTRANS)
    FLAG("noComplete", M_MBAR, PTX_F_NOCOMPLETE) BIT("noinc", M_MBAR, PTX_AUX_NOINC) BIT("parity", M_MBAR, PTX_AUX_PARITY)
    BIT("expect_tx", M_MBAR, PTX_AUX_EXPECT_TX)
    WORD("up", M_SHFL, MODE, PTX_MODE_UP) WORD("down", M_SHFL, MODE, PTX_MODE_DOWN) WORD("bfly", M_SHFL, MODE, PTX_MODE_BFLY)
    WORD("idx", M_SHFL, MODE, PTX_MODE_IDX)
    WORD("all", M_VOTE, MODE, PTX_MODE_ALL) WORD("any", M_VOTE, MODE, PTX_MODE_ANY) WORD("ballot", M_VOTE, MODE, PTX_MODE_BALLOT)
    WORD("f4e", M_PRMT, MODE, PTX_MODE_F4E) WORD("b4e", M_PRMT, MODE, PTX_MODE_B4E) WORD("rc8", M_PRMT, MODE, PTX_MODE_RC8)
    WORD("ecl", M_PRMT, MODE, PTX_MODE_ECL) WORD("ecr", M_PRMT, MODE, PTX_MODE_ECR) WORD("rc16", M_PRMT, MODE, PTX_MODE_RC16)
    WORD("arrive", M_BAR, MODE, PTX_MODE_ARRIVE) WORD("red", M_BAR, MODE, PTX_MODE_RED) WORD("wait", M_BAR, MODE, PTX_MODE_WAIT)
    WORD("finite", M_TESTP, MODE, PTX_MODE_FINITE) WORD("infinite", M_TESTP, MODE, PTX_MODE_INFINITE)
    WORD("number", M_TESTP, MODE, PTX_MODE_NUMBER) WORD("notanumber", M_TESTP, MODE, PTX_MODE_NOTANUMBER)
    WORD("normal", M_TESTP, MODE, PTX_MODE_NORMAL) WORD("subnormal", M_TESTP, MODE, PTX_MODE_SUBNORMAL)
    AUX("ca", M_CACHE, CACHE, PTX_CACHE_CA) AUX("cg", M_CACHE, CACHE, PTX_CACHE_CG) AUX("cs", M_CACHE, CACHE, PTX_CACHE_CS)
    AUX("lu", M_CACHE, CACHE, PTX_CACHE_LU) AUX("cv", M_CACHE, CACHE, PTX_CACHE_CV) AUX("wb", M_CACHE, CACHE, PTX_CACHE_WB)
    AUX("wt", M_CACHE, CACHE, PTX_CACHE_WT) AUX("ci", M_CACHE, CACHE, PTX_CACHE_CI)
    AUX("L1::evict_normal", M_CACHE, EVICT, PTX_EVICT_NORMAL) AUX("L1::evict_first", M_CACHE, EVICT, PTX_EVICT_FIRST)
    AUX("L1::evict_last", M_CACHE, EVICT, PTX_EVICT_LAST) AUX("L1::evict_unchanged", M_CACHE, EVICT, PTX_EVICT_UNCHANGED)
    AUX("L1::no_allocate", M_CACHE, EVICT, PTX_EVICT_NO_ALLOCATE)
    AUX("L2::evict_normal", M_CACHE, EVICT2, PTX_EVICT_NORMAL)
    WORD("L2::evict_normal", M_POLICY, PRIORITY, PTX_EVICT_NORMAL)
    AUX("L2::evict_first", M_CACHE, EVICT2, PTX_EVICT_FIRST) WORD("L2::evict_first", M_POLICY, PRIORITY, PTX_EVICT_FIRST)
    AUX("L2::evict_last", M_CACHE, EVICT2, PTX_EVICT_LAST) WORD("L2::evict_last", M_POLICY, PRIORITY, PTX_EVICT_LAST)
    WORD("L2::evict_unchanged", M_POLICY, PRIORITY, PTX_EVICT_UNCHANGED)
    WORD("fractional", M_POLICY, MODE, PTX_MODE_FRACTIONAL) WORD("range", M_POLICY, MODE, PTX_MODE_RANGE)
    WORD("cvt", M_POLICY, MODE, PTX_MODE_CVT)
    AUX("alias", M_PROXY, PROXY, PTX_PROXY_ALIAS) AUX("async", M_PROXY, PROXY, PTX_PROXY_ASYNC) BIT("async", M_CANCEL, PTX_AUX_ASYNC)
    AUX("tensormap::generic", M_PROXY, PROXY, PTX_PROXY_TENSORMAP) AUX("async::generic", M_PROXY, PROXY, PTX_PROXY_ASYNC_GENERIC)
    AUX("sync_restrict::shared::cta", M_RESTRICT, RESTRICT, 1) AUX("sync_restrict::shared::cluster", M_RESTRICT, RESTRICT, 2)
    AUX("L2::64B", M_CACHE, PREFETCH, 1) AUX("L2::128B", M_CACHE, PREFETCH, 2) AUX("L2::256B", M_CACHE, PREFETCH, 3)
    BIT("L2::cache_hint", M_CACHE | M_BULK, 14) BIT("unified", M_UNIFIED, 15)
    AUX("L1", M_CACHE, LEVEL, 1) AUX("L2", M_CACHE | M_BULK, LEVEL, 2) AUX("L2", M_POLICY, LEVEL, 2) BIT("tensormap", M_CACHE, 18)
    AUX("base", M_LOD, LOD, 1) AUX("level", M_LOD, LOD, 2) AUX("level", M_QUERY, LOD, 2) AUX("grad", M_LOD, LOD, 3)
    AUX("width", M_QUERY, QUERY, PTX_QUERY_WIDTH) AUX("height", M_QUERY, QUERY, PTX_QUERY_HEIGHT)
    AUX("depth", M_QUERY, QUERY, PTX_QUERY_DEPTH) AUX("channel_data_type", M_QUERY, QUERY, PTX_QUERY_CHANNEL_DATA_TYPE)
    AUX("channel_order", M_QUERY, QUERY, PTX_QUERY_CHANNEL_ORDER)
    AUX("normalized_coords", M_QUERY, QUERY, PTX_QUERY_NORMALIZED_COORDS)
    AUX("array_size", M_QUERY, QUERY, PTX_QUERY_ARRAY_SIZE)
    AUX("num_mipmap_levels", M_QUERY, QUERY, PTX_QUERY_NUM_MIPMAP_LEVELS)
    AUX("num_samples", M_QUERY, QUERY, PTX_QUERY_NUM_SAMPLES)
    AUX("force_unnormalized_coords", M_QUERY, QUERY, PTX_QUERY_FORCE_UNNORMALIZED_COORDS)
    AUX("filter_mode", M_QUERY, QUERY, PTX_QUERY_FILTER_MODE) AUX("addr_mode_0", M_QUERY, QUERY, PTX_QUERY_ADDR_MODE_0)
    AUX("addr_mode_1", M_QUERY, QUERY, PTX_QUERY_ADDR_MODE_1) AUX("addr_mode_2", M_QUERY, QUERY, PTX_QUERY_ADDR_MODE_2)
    AUX("memory_layout", M_QUERY, QUERY, PTX_QUERY_MEMORY_LAYOUT)
    BIT("po", M_VMAD, PTX_AUX_VMAD_PO) AUX("shr7", M_VMAD, VMAD_SHR, 1) AUX("shr15", M_VMAD, VMAD_SHR, 2)
    AUX("mbarrier::complete_tx::bytes", M_BULK, DONE, PTX_DONE_MBARRIER) AUX("bulk_group", M_BULK, DONE, PTX_DONE_GROUP)
    BIT("multicast::cluster", M_BULK, PTX_AUX_MULTICAST) BIT("cp_mask", M_BULK, PTX_AUX_CP_MASK) BIT("read", M_BULK, PTX_AUX_READ)
    AUX("tile", M_TENSOR, TILING, PTX_TILE) AUX("tile::gather4", M_TENSOR, TILING, PTX_TILE_GATHER4)
    AUX("tile::scatter4", M_TENSOR, TILING, PTX_TILE_SCATTER4) AUX("im2col", M_TENSOR, TILING, PTX_IM2COL)
    AUX("im2col::w", M_TENSOR, TILING, PTX_IM2COL_W) AUX("im2col::w::128", M_TENSOR, TILING, PTX_IM2COL_W_128)
    AUX("im2col_no_offs", M_TENSOR, TILING, PTX_IM2COL_NO_OFFSETS)
    AUX("cta_group::1", M_TENSOR, CTA_GROUP, 1) AUX("cta_group::2", M_TENSOR, CTA_GROUP, 2)
    AUX("acc::f32", M_ACC, ACC, 1) AUX("acc::f16", M_ACC, ACC, 2)
    AUX("global_address", M_FIELD, FIELD, CWT_GLOBAL_ADDRESS) AUX("rank", M_FIELD, FIELD, CWT_RANK)
    AUX("box_dim", M_FIELD, FIELD, CWT_BOX_DIM) AUX("global_dim", M_FIELD, FIELD, CWT_GLOBAL_DIM)
    AUX("global_stride", M_FIELD, FIELD, CWT_GLOBAL_STRIDE) AUX("element_stride", M_FIELD, FIELD, CWT_ELEMENT_STRIDE)
    AUX("elemtype", M_FIELD, FIELD, CWT_ELEMTYPE) AUX("interleave_layout", M_FIELD, FIELD, CWT_INTERLEAVE)
    AUX("swizzle_mode", M_FIELD, FIELD, CWT_SWIZZLE) AUX("fill_mode", M_FIELD, FIELD, CWT_FILL)
    AUX("swizzle_atomicity", M_FIELD, FIELD, CWT_SWIZZLE_ATOMICITY) BIT("b1024", M_FIELD, PTX_AUX_B1024)
    AUX("is_canceled", M_CANCEL, ANSWER, PTX_IS_CANCELED) AUX("get_first_ctaid", M_CANCEL, ANSWER, PTX_FIRST_CTAID)
    AUX("get_first_ctaid::x", M_CANCEL, ANSWER, PTX_FIRST_CTAID_X) AUX("get_first_ctaid::y", M_CANCEL, ANSWER, PTX_FIRST_CTAID_Y)
    AUX("get_first_ctaid::z", M_CANCEL, ANSWER, PTX_FIRST_CTAID_Z) BIT("multicast::cluster::all", M_CANCEL, PTX_AUX_CANCEL_ALL)
    BIT("scaled::n2::ue8m0", M_SCALED, PTX_AUX_SCALED) BIT("mask", M_MASK, PTX_AUX_MASK_FORM) BIT("oob", M_OOB, PTX_AUX_OOB)
};
const unsigned ptx_mod_word_count = sizeof ptx_mod_words / sizeof *ptx_mod_words;
