/* SPDX-License-Identifier: Apache-2.0
 * The PTX intermediate representation: made by the parser and read by every emitter.
 *
 *   text --lex, parse, check--> struct ptx_module (flat instruction arrays, symbols resolved within the module)
 *        --link-->              struct cwj_program (several modules, names resolved across them)
 *        --cfg-->               struct ptx_function.blocks (built when a kernel is first compiled)
 *
 * The module's arenas own everything. It is immutable after parsing, except the lazily built CFG, which the compiling thread owns (programs
 * are compiled under the program's lock). Names are NUL-terminated and interned in the arena. Section numbers refer to the PTX ISA manual,
 * version 9.0. */
#ifndef CWJ_PTX_IR_H
#define CWJ_PTX_IR_H

#include "impl/base/arena.h"
#include "impl/base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- types (5.2) ------------------------------------------------------------------------------------------------ */

/* X(enumerator, spelling without the dot, bits, class) */
#define PTX_TYPE_MAP(X)                                                                                              \
    X(PTX_NONE, "", 0, PTX_CLASS_NONE)                                                                               \
    X(PTX_PRED, "pred", 1, PTX_CLASS_PRED)                                                                           \
    X(PTX_B8, "b8", 8, PTX_CLASS_BITS)      X(PTX_B16, "b16", 16, PTX_CLASS_BITS)                                    \
    X(PTX_B32, "b32", 32, PTX_CLASS_BITS)   X(PTX_B64, "b64", 64, PTX_CLASS_BITS)                                    \
    X(PTX_B128, "b128", 128, PTX_CLASS_BITS)                                                                         \
    X(PTX_U8, "u8", 8, PTX_CLASS_UINT)      X(PTX_U16, "u16", 16, PTX_CLASS_UINT)                                    \
    X(PTX_U32, "u32", 32, PTX_CLASS_UINT)   X(PTX_U64, "u64", 64, PTX_CLASS_UINT)                                    \
    X(PTX_S8, "s8", 8, PTX_CLASS_SINT)      X(PTX_S16, "s16", 16, PTX_CLASS_SINT)                                    \
    X(PTX_S32, "s32", 32, PTX_CLASS_SINT)   X(PTX_S64, "s64", 64, PTX_CLASS_SINT)                                    \
    X(PTX_U16X2, "u16x2", 32, PTX_CLASS_UINT) X(PTX_S16X2, "s16x2", 32, PTX_CLASS_SINT)                              \
    X(PTX_F16, "f16", 16, PTX_CLASS_FLOAT)  X(PTX_F16X2, "f16x2", 32, PTX_CLASS_FLOAT)                               \
    X(PTX_BF16, "bf16", 16, PTX_CLASS_FLOAT) X(PTX_BF16X2, "bf16x2", 32, PTX_CLASS_FLOAT)                            \
    X(PTX_TF32, "tf32", 32, PTX_CLASS_FLOAT)                                                                         \
    X(PTX_F32, "f32", 32, PTX_CLASS_FLOAT)  X(PTX_F64, "f64", 64, PTX_CLASS_FLOAT)                                   \
    X(PTX_F32X2, "f32x2", 64, PTX_CLASS_FLOAT)                                                                       \
    X(PTX_E4M3, "e4m3", 8, PTX_CLASS_FLOAT) X(PTX_E5M2, "e5m2", 8, PTX_CLASS_FLOAT)                                  \
    X(PTX_E4M3X2, "e4m3x2", 16, PTX_CLASS_FLOAT) X(PTX_E5M2X2, "e5m2x2", 16, PTX_CLASS_FLOAT)                        \
    X(PTX_E2M1X2, "e2m1x2", 8, PTX_CLASS_FLOAT) X(PTX_E2M3X2, "e2m3x2", 16, PTX_CLASS_FLOAT)                         \
    X(PTX_E3M2X2, "e3m2x2", 16, PTX_CLASS_FLOAT) X(PTX_UE8M0X2, "ue8m0x2", 16, PTX_CLASS_FLOAT)                      \
    X(PTX_S2, "s2", 2, PTX_CLASS_SINT) X(PTX_U2, "u2", 2, PTX_CLASS_UINT)                                            \
    X(PTX_S4, "s4", 4, PTX_CLASS_SINT) X(PTX_U4, "u4", 4, PTX_CLASS_UINT) X(PTX_B1, "b1", 1, PTX_CLASS_BITS)         \
    X(PTX_TEXREF, "texref", 64, PTX_CLASS_OPAQUE) X(PTX_SAMPLERREF, "samplerref", 64, PTX_CLASS_OPAQUE)              \
    X(PTX_SURFREF, "surfref", 64, PTX_CLASS_OPAQUE)

enum ptx_type_class { PTX_CLASS_NONE, PTX_CLASS_PRED, PTX_CLASS_BITS, PTX_CLASS_UINT, PTX_CLASS_SINT, PTX_CLASS_FLOAT,
                      PTX_CLASS_OPAQUE };

typedef enum ptx_type {
#define X(e, s, b, c) e,
    PTX_TYPE_MAP(X)
#undef X
    PTX_TYPE_COUNT
} ptx_type;

const char *ptx_type_name(ptx_type t);          /* "f32" */
unsigned    ptx_type_bits(ptx_type t);
enum ptx_type_class ptx_type_class(ptx_type t);

/* ---- state spaces (5.1) ----------------------------------------------------------------------------------------- */

typedef enum ptx_space {
    PTX_SPACE_GENERIC,          /* no space written on ld/st/atom */
    PTX_SPACE_REG, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_CONST, PTX_SPACE_LOCAL, PTX_SPACE_PARAM,
    PTX_SPACE_TEX,              /* the deprecated .tex space */
    PTX_SPACE_SHARED_CLUSTER,
    PTX_SPACE_COUNT
} ptx_space;

/* ---- opcodes ------------------------------------------------------------------------------------------------------ */

/* One row per mnemonic in jit/ptx/ops.def, the single source of truth. */
typedef enum ptx_op {
    PTX_OP_INVALID,
#define OP(sym, ...) PTX_OP_##sym,
#include "jit/ptx/ops.def"
#undef OP
    PTX_OP_COUNT
} ptx_op;

/* ---- modifiers ---------------------------------------------------------------------------------------------------- */

typedef enum ptx_round { PTX_RND_NONE, PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNI, PTX_RZI, PTX_RMI, PTX_RPI, PTX_RNA, PTX_RS
} ptx_round;

/* Comparison operators of set/setp (9.7.5): ordered, unordered, and the unsigned-only spellings. */
typedef enum ptx_cmp {
    PTX_CMP_NONE, PTX_EQ, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE, PTX_LO, PTX_LS, PTX_HI_, PTX_HS,
    PTX_EQU, PTX_NEU, PTX_LTU, PTX_LEU, PTX_GTU, PTX_GEU, PTX_NUM, PTX_NAN
} ptx_cmp;

typedef enum ptx_boolop { PTX_BOOL_NONE, PTX_BOOL_AND, PTX_BOOL_OR, PTX_BOOL_XOR, PTX_BOOL_POPC } ptx_boolop;

typedef enum ptx_sem { PTX_SEM_NONE, PTX_SEM_WEAK, PTX_SEM_VOLATILE, PTX_SEM_RELAXED, PTX_SEM_ACQUIRE, PTX_SEM_RELEASE,
                       PTX_SEM_ACQ_REL, PTX_SEM_SC, PTX_SEM_MMIO } ptx_sem;
typedef enum ptx_scope { PTX_SCOPE_NONE, PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU, PTX_SCOPE_SYS } ptx_scope;

/* The operation of atom/red/redux/bar.red (".add") */
typedef enum ptx_atomop { PTX_ATOM_NONE, PTX_ATOM_AND, PTX_ATOM_OR, PTX_ATOM_XOR, PTX_ATOM_CAS, PTX_ATOM_EXCH, PTX_ATOM_ADD,
                          PTX_ATOM_INC, PTX_ATOM_DEC, PTX_ATOM_MIN, PTX_ATOM_MAX } ptx_atomop;

/* mul/mad .hi .lo .wide; shf .l .r + .clamp .wrap; shfl modes; vote modes; prmt modes; bar forms; membar levels; isspacep etc. use `space`. */
typedef enum ptx_mode {
    PTX_MODE_NONE, PTX_MODE_HI, PTX_MODE_LO, PTX_MODE_WIDE,
    PTX_MODE_L, PTX_MODE_R,                                                 /* shf */
    PTX_MODE_UP, PTX_MODE_DOWN, PTX_MODE_BFLY, PTX_MODE_IDX,                /* shfl */
    PTX_MODE_ALL, PTX_MODE_ANY, PTX_MODE_UNI, PTX_MODE_BALLOT,              /* vote, match */
    PTX_MODE_F4E, PTX_MODE_B4E, PTX_MODE_RC8, PTX_MODE_ECL, PTX_MODE_ECR, PTX_MODE_RC16,   /* prmt */
    PTX_MODE_SYNC, PTX_MODE_ARRIVE, PTX_MODE_RED, PTX_MODE_WAIT, PTX_MODE_WARP_SYNC,        /* bar, barrier; WAIT: barrier.cluster only */
    PTX_MODE_FINITE, PTX_MODE_INFINITE, PTX_MODE_NUMBER, PTX_MODE_NOTANUMBER, PTX_MODE_NORMAL, PTX_MODE_SUBNORMAL, /* testp */
    PTX_MODE_FRACTIONAL, PTX_MODE_RANGE, PTX_MODE_CVT,                      /* createpolicy */
    PTX_MODE_COUNT
} ptx_mode;

enum ptx_flag {
    PTX_F_FTZ      = 1u << 0,  PTX_F_SAT     = 1u << 1,  PTX_F_APPROX = 1u << 2,  PTX_F_FULL   = 1u << 3,
    PTX_F_CC       = 1u << 4,  /* add.cc etc.: writes CC.CF */
    PTX_F_RELU     = 1u << 5,  PTX_F_NAN     = 1u << 6,  PTX_F_XORSIGN_ABS = 1u << 7, PTX_F_SATFINITE = 1u << 8,
    PTX_F_CLAMP    = 1u << 9,  PTX_F_WRAP    = 1u << 10, /* shf, bmsk, szext */
    PTX_F_SYNC     = 1u << 11, /* shfl.sync, vote.sync, match.sync, redux.sync: last operand is the member mask */
    PTX_F_ALIGNED  = 1u << 12, PTX_F_UNI     = 1u << 13, /* bra.uni, call.uni, ret.uni */
    PTX_F_NC       = 1u << 14, /* ld.global.nc */
    PTX_F_TO       = 1u << 15, /* cvta.to */
    PTX_F_SHIFTAMT = 1u << 16, /* bfind.shiftamt */
    PTX_F_NOFTZ    = 1u << 17, PTX_F_ABS     = 1u << 18,
    PTX_F_NOCOMPLETE = 1u << 19,
};

/* ---- operands ------------------------------------------------------------------------------------------------------- */

enum ptx_operand_kind {
    PTX_OPND_NONE,
    PTX_OPND_SINK,      /* _ */
    PTX_OPND_REG,       /* reg */
    PTX_OPND_IMM,       /* integer or float constant; `imm` holds the bits, see `is_float` */
    PTX_OPND_SREG,      /* special register: enum ptx_sreg in `index` */
    PTX_OPND_SYM,       /* address of a variable, or a parameter name, or a function name: `sym` (+ `imm` as byte offset) */
    PTX_OPND_ADDR,      /* [reg + imm] or [sym + imm] or [imm] */
    PTX_OPND_VEC,       /* { a, b, ... }: `elem`, `count`; elements are REG, IMM or SINK */
    PTX_OPND_LABEL,     /* branch target: block-leader instruction index in `index` */
    PTX_OPND_PRED_PAIR, /* p|q of setp, vote/match/shfl d|p: `elem[0]`, `elem[1]` */
    PTX_OPND_LIST,      /* (a, b, ...) of call: `elem`, `count` */
    PTX_OPND_TABLE,     /* brx.idx's .branchtargets or call's .calltargets / .callprototype: `table` */
    PTX_OPND_TEXT,      /* instructions of M_RAW rows (ops.def), and forms of matrix instructions newer than sm_90: `text` has modifiers and
                         * operands as written */
};

/* Operand order, if the written form is not a plain list:
 *   tex, tld4   dst, texture (REG or SYM), [sampler (REG or SYM), or NONE], coordinates (VEC or REG),
 *               then as written: level; both gradient vectors; offset vector; depth reference. Residency `d|p`: PRED_PAIR
 *   suld        dst, surface, coordinates (VEC or REG)
 *   sust, sured surface, coordinates, source
 *   mov         dst, source; if just one is a VEC it packs or unpacks; with vec > 1 (mov.v2) both are VEC, element by element
 *   call        LIST of results, SYM or REG callee, LIST of arguments, TABLE: always four, absent ones of kind NONE
 *   st, red     address, source;   atom: dst, address, source [, source]
 *   cp.async    shared address, global address, size [, source size (IMM, REG) or ignore-src (predicate REG)] [, cache policy]
 *   bar, barrier  as written: [dst of .red,] barrier [, thread count] [, predicate of .red] */

struct ptx_symbol;

struct ptx_operand {
    uint8_t  kind;              /* enum ptx_operand_kind */
    uint8_t  count;             /* VEC, PRED_PAIR, LIST: number of elements */
    bool     negate_pred;       /* !p as a source operand */
    bool     negate;            /* -r, if allowed */
    bool     is_float;          /* IMM: written as a float; `imm` holds f64 bits, or f32 bits when `imm_f32` (0fXXXXXXXX) */
    bool     imm_f32;
    bool     has_reg;           /* ADDR: base is the register `index` (else `sym`, else absolute `imm`) */
    int8_t   video_sel;         /* -1, or 0..3 = .b0..b3, 4..5 = .h0 .h1 for video instructions */
    uint32_t index;             /* REG, ADDR: register number in the function; SREG; LABEL */
    uint16_t simd_sel;          /* 0, or a selector of two to four parts (.h32, .b7654): PTX_SIMD_* */
    int64_t  imm;               /* IMM bits; ADDR, SYM: byte offset */
    union {                     /* by kind; a union, since modules have more operands than anything else */
        const struct ptx_symbol *sym;   /* SYM; ADDR without a register, or NULL */
        struct ptx_operand *elem;       /* VEC, PRED_PAIR, LIST */
        const struct ptx_table *table;  /* TABLE */
        const char *text;               /* TEXT */
    };
};

/* ptx_operand.simd_sel: up to four octal digits, the last written one lowest; their number; and whether they are bytes. A mask of one lane
 * is a video_sel. */
enum { PTX_SIMD_COUNT_SHIFT = 12, PTX_SIMD_COUNT_MASK = 7, PTX_SIMD_BYTES = 1 << 15 };
#define PTX_SIMD_COUNT(sel) ((unsigned)(sel) >> PTX_SIMD_COUNT_SHIFT & PTX_SIMD_COUNT_MASK)
#define PTX_SIMD_PART(sel, i) ((unsigned)(sel) >> 3 * (i) & 7)

/* ---- instructions ----------------------------------------------------------------------------------------------------- */

enum { PTX_MAX_OPERANDS = 8, PTX_MAX_TYPES = 4 };

struct ptx_inst {
    uint16_t op;                /* ptx_op */
    uint8_t  type[PTX_MAX_TYPES]; /* type suffixes in written order; [0] is the instruction type (cvt: destination) */
    uint8_t  round, cmp, boolop, mode, space, sem, scope, atomop;
    uint8_t  vec;               /* 1, 2, 4 or 8 elements of ld/st/tex */
    uint8_t  geom;              /* tex/surf: enum ptx_geom */
    uint8_t  noperands;
    bool     has_guard, guard_negated;
    bool     nounroll;          /* after .pragma "nounroll" */
    uint32_t guard;             /* predicate register of @p / @!p */
    uint32_t flags;             /* enum ptx_flag */
    uint32_t line, column;      /* in the module text, 1-based */
    uint32_t loc_file, loc_line;/* from .loc; 0 when none */
    uint64_t aux;               /* op-specific: mma/wmma shape and layouts, tex query, ld eviction bits, video op */
    struct ptx_operand *operand;/* destinations first, as written */
};

/* ptx_inst.aux, by opcode. */
enum {
    /* ld, st, atom, red, cp.async, prefetch, suld, sust: hints, free to ignore */
    PTX_AUX_CACHE_SHIFT = 0, PTX_AUX_CACHE_MASK = 0xf,      /* enum ptx_cache: .ca .cg ... */
    PTX_AUX_EVICT_SHIFT = 4, PTX_AUX_EVICT_MASK = 0xf,      /* enum ptx_evict of .L1:: */
    PTX_AUX_EVICT2_SHIFT = 8, PTX_AUX_EVICT2_MASK = 0xf,    /* enum ptx_evict of .L2:: */
    PTX_AUX_PREFETCH_SHIFT = 12, PTX_AUX_PREFETCH_MASK = 3, /* .L2::64B .L2::128B .L2::256B */
    PTX_AUX_CACHE_HINT = 1 << 14, PTX_AUX_UNIFIED = 1 << 15,
    PTX_AUX_LEVEL_SHIFT = 16, PTX_AUX_LEVEL_MASK = 3,       /* prefetch: 1 = .L1, 2 = .L2 */
    PTX_AUX_TENSORMAP = 1 << 18,
    /* suld, sust, sured */
    PTX_AUX_SURF_SHIFT = 20, PTX_AUX_SURF_MASK = 3,         /* out of bounds: 1 .trap (default) 2 .clamp 3 .zero */
    PTX_AUX_SURF_FORM_SHIFT = 22, PTX_AUX_SURF_FORM_MASK = 3, /* 1 = .b, 2 = .p */
    /* tex: enum ptx_lod; tld4: 1..4 = .r .g .b .a; txq, suq: enum ptx_query | level flag */
    PTX_AUX_LOD_SHIFT = 24, PTX_AUX_LOD_MASK = 3,           /* 1 = .base, 2 = .level, 3 = .grad */
    PTX_AUX_TLD4_SHIFT = 26, PTX_AUX_TLD4_MASK = 7,
    PTX_AUX_QUERY_SHIFT = 32, PTX_AUX_QUERY_MASK = 0xf,     /* enum ptx_query */
    PTX_AUX_VMAD_PO = 36,       /* bit number: vmad .po */
    PTX_AUX_VMAD_SHR_SHIFT = 37, PTX_AUX_VMAD_SHR_MASK = 3, /* vmad: 1 = .shr7, 2 = .shr15 */
    PTX_AUX_SCALED = 40, PTX_AUX_MASK_FORM = 41, PTX_AUX_OOB = 42, /* bit numbers: cvt .scaled::, pmevent.mask, fma.oob */
    PTX_AUX_SHARED_CTA = 43,    /* bit number: .shared::cta was written (same meaning as .shared) */
    PTX_AUX_BAR_CTA = 44,       /* bit number: .cta of bar, barrier */
    PTX_AUX_FROM_GLOBAL = 45,   /* bit number: .global of cp.async */
    PTX_AUX_EXPECT_TX = 46, PTX_AUX_PARITY = 47, PTX_AUX_NOINC = 51, /* bit numbers: of mbarrier and cp.async.mbarrier.arrive */
    PTX_AUX_PROXY_SHIFT = 52, PTX_AUX_PROXY_MASK = 7,       /* enum ptx_proxy: fence.proxy, membar.proxy */
    PTX_AUX_RESTRICT_SHIFT = 55, PTX_AUX_RESTRICT_MASK = 3, /* fence: .sync_restrict:: 1 = shared::cta, 2 = shared::cluster */
    /* M_BULK, M_TENSOR, M_ACC, M_FIELD and M_CANCEL of ops.def, beside CACHE_HINT and LEVEL. Single numbers are bit numbers. */
    PTX_AUX_SOURCE_SHIFT = 20, PTX_AUX_SOURCE_MASK = 0xf,   /* ptx_space of the source; that of the destination is `space` */
    PTX_AUX_DONE_SHIFT = 24, PTX_AUX_DONE_MASK = 3,         /* enum ptx_done */
    PTX_AUX_DIMS_SHIFT = 26, PTX_AUX_DIMS_MASK = 7,         /* 1 to 5 */
    PTX_AUX_TILING_SHIFT = 29, PTX_AUX_TILING_MASK = 7,     /* enum ptx_tiling */
    PTX_AUX_MULTICAST = 32, PTX_AUX_CP_MASK = 33, PTX_AUX_READ = 34, PTX_AUX_MMIO = 35,
    PTX_AUX_CTA_GROUP_SHIFT = 36, PTX_AUX_CTA_GROUP_MASK = 3,
    PTX_AUX_ACC_SHIFT = 38, PTX_AUX_ACC_MASK = 3,           /* multimem.ld_reduce: 1 = .acc::f32, 2 = .acc::f16 */
    PTX_AUX_FIELD_SHIFT = 40, PTX_AUX_FIELD_MASK = 0xf,     /* enum cwt_field (jit/abi/bulk.h) */
    PTX_AUX_B1024 = 44, PTX_AUX_ASYNC = 45, PTX_AUX_CANCEL_ALL = 46,
    PTX_AUX_ANSWER_SHIFT = 48, PTX_AUX_ANSWER_MASK = 7,     /* enum ptx_answer: clusterlaunchcontrol.query_cancel */
    PTX_AUX_BAD_CALL = 1,       /* trap, made by jit/emit/flatten.c: a call of an invalid token */
    /* createpolicy: EVICT2 is the primary priority, EVICT the secondary one */
    PTX_AUX_VSEL_SHIFT = 48,    /* video destination selector, as video_sel + 1 */
    /* mma, wmma, ldmatrix, stmatrix, movmatrix (jit/ptx/matrix.h decodes them); b1's operation is in `boolop` */
    PTX_AUX_MSHAPE_SHIFT = 0, PTX_AUX_MSHAPE_MASK = 0x1f,   /* enum ptx_mshape */
    PTX_AUX_ALAYOUT_SHIFT = 5, PTX_AUX_ALAYOUT_MASK = 3,    /* 1 = .row, 2 = .col; the layout of wmma.load, wmma.store */
    PTX_AUX_BLAYOUT_SHIFT = 7, PTX_AUX_BLAYOUT_MASK = 3,
    PTX_AUX_MFRAG_SHIFT = 9, PTX_AUX_MFRAG_MASK = 7,        /* 1..4 = .a .b .c .d of wmma.load, wmma.store */
    PTX_AUX_MNUM_SHIFT = 12, PTX_AUX_MNUM_MASK = 3,         /* 1..3 = .x1 .x2 .x4 */
    PTX_AUX_MTRANS = 14, PTX_AUX_MPOPC = 15,                /* bit numbers: .trans, .popc */
};

/* X(m, n, k): shapes of mma and wmma; k is 0 for the 8x8 of ldmatrix. */
#define PTX_MSHAPE_MAP(X)                                                                                            \
    X(8, 8, 4) X(8, 8, 16) X(8, 8, 32) X(8, 8, 128) X(16, 8, 4) X(16, 8, 8) X(16, 8, 16) X(16, 8, 32) X(16, 8, 64)   \
    X(16, 8, 128) X(16, 8, 256) X(16, 16, 16) X(8, 32, 16) X(32, 8, 16) X(16, 16, 8)
enum ptx_mshape {
    PTX_MSHAPE_NONE,
#define X(m, n, k) PTX_M##m##N##n##K##k,
    PTX_MSHAPE_MAP(X)
#undef X
    PTX_M8N8, PTX_MSHAPE_COUNT
};
#define PTX_AUX(inst, field) ((unsigned)((inst)->aux >> PTX_AUX_##field##_SHIFT) & PTX_AUX_##field##_MASK)

enum ptx_cache { PTX_CACHE_NONE, PTX_CACHE_CA, PTX_CACHE_CG, PTX_CACHE_CS, PTX_CACHE_LU, PTX_CACHE_CV, PTX_CACHE_WB,
                 PTX_CACHE_WT, PTX_CACHE_CI };
enum ptx_proxy { PTX_PROXY_NONE, PTX_PROXY_ALIAS, PTX_PROXY_ASYNC, PTX_PROXY_TENSORMAP, PTX_PROXY_ASYNC_GENERIC };
enum ptx_evict { PTX_EVICT_NONE, PTX_EVICT_NORMAL, PTX_EVICT_FIRST, PTX_EVICT_LAST, PTX_EVICT_UNCHANGED,
                 PTX_EVICT_NO_ALLOCATE };
enum ptx_query { PTX_QUERY_NONE, PTX_QUERY_WIDTH, PTX_QUERY_HEIGHT, PTX_QUERY_DEPTH, PTX_QUERY_CHANNEL_DATA_TYPE,
                 PTX_QUERY_CHANNEL_ORDER, PTX_QUERY_NORMALIZED_COORDS, PTX_QUERY_ARRAY_SIZE, PTX_QUERY_NUM_MIPMAP_LEVELS,
                 PTX_QUERY_NUM_SAMPLES, PTX_QUERY_FORCE_UNNORMALIZED_COORDS, PTX_QUERY_FILTER_MODE, PTX_QUERY_ADDR_MODE_0,
                 PTX_QUERY_ADDR_MODE_1, PTX_QUERY_ADDR_MODE_2, PTX_QUERY_MEMORY_LAYOUT };

enum ptx_done { PTX_DONE_NONE, PTX_DONE_MBARRIER, PTX_DONE_GROUP };
enum ptx_tiling { PTX_TILING_NONE, PTX_TILE, PTX_TILE_GATHER4, PTX_TILE_SCATTER4, PTX_IM2COL, PTX_IM2COL_W, PTX_IM2COL_W_128,
                  PTX_IM2COL_NO_OFFSETS };
/* The operand of a tensor copy that is the tensor map; the next one has the coordinates. */
#define PTX_MAP_OPERAND(inst) (PTX_AUX(inst, DONE) == PTX_DONE_MBARRIER ? 1u : 0u)
enum ptx_answer { PTX_ANSWER_NONE, PTX_IS_CANCELED, PTX_FIRST_CTAID, PTX_FIRST_CTAID_X, PTX_FIRST_CTAID_Y, PTX_FIRST_CTAID_Z };

enum ptx_geom { PTX_GEOM_NONE, PTX_GEOM_1D, PTX_GEOM_2D, PTX_GEOM_3D, PTX_GEOM_A1D, PTX_GEOM_A2D, PTX_GEOM_CUBE,
                PTX_GEOM_ACUBE, PTX_GEOM_2DMS, PTX_GEOM_A2DMS };

/* ---- special registers (10) ------------------------------------------------------------------------------------------- */

typedef enum ptx_sreg {
    PTX_SREG_INVALID,
#define SREG(sym, ...) PTX_SREG_##sym,
#include "jit/ptx/sregs.def"
#undef SREG
    PTX_SREG_COUNT
} ptx_sreg;

/* ---- symbols ------------------------------------------------------------------------------------------------------------ */

enum ptx_symbol_kind { PTX_SYM_VAR, PTX_SYM_PARAM, PTX_SYM_FUNC, PTX_SYM_ALIAS };
enum ptx_linkage { PTX_LINK_LOCAL, PTX_LINK_VISIBLE, PTX_LINK_EXTERN, PTX_LINK_WEAK, PTX_LINK_COMMON };

/* An initialiser element that is an address: the bytes at `offset` get the address of `target` + addend.
 * `width` is 1..8 bytes, `shift` for mask() forms (0xFF00(sym)): bytes = (address + addend) >> shift. */
struct ptx_reloc {
    uint64_t offset;
    const struct ptx_symbol *target;
    int64_t  addend;
    uint8_t  width, shift;
    bool     generic;           /* generic(sym) */
};

struct ptx_symbol {
    const char *name;
    uint8_t  kind;              /* enum ptx_symbol_kind */
    uint8_t  space;             /* VAR: global, const, shared, local, tex (opaque); PARAM: param */
    uint8_t  linkage;           /* enum ptx_linkage */
    uint8_t  type;              /* element type */
    bool     is_array, unsized; /* unsized: extern .shared x[] */
    bool     managed;           /* .attribute(.managed) */
    bool     is_param_reg;      /* .reg parameter of a .func */
    uint8_t  ptr_space;         /* PARAM with .ptr .space */
    uint32_t ptr_align;
    uint32_t align;             /* bytes */
    uint64_t size;              /* bytes; 0 when unsized */
    uint32_t index;             /* VAR in function or PARAM: position in that list; FUNC: position in module->funcs */
    uint32_t reg;               /* is_param_reg: the register number */
    uint64_t offset;            /* kernel PARAM: byte offset in the parameter block */
    const uint8_t *init;        /* size bytes, or NULL for zeros */
    const struct ptx_reloc *relocs;
    uint32_t nrelocs;
    struct ptx_function *func;  /* FUNC */
    const struct ptx_symbol *alias; /* ALIAS: the aliasee */
    struct ptx_module *module;
    uint32_t line, column;
    uint32_t link_id;           /* set by jit/link: index of the program-wide definition (variables and functions separately) */
};

/* .branchtargets / .calltargets / .callprototype */
struct ptx_table {
    const char *name;
    uint32_t count;
    uint32_t *labels;                   /* branchtargets: instruction indexes */
    const struct ptx_symbol **funcs;    /* calltargets */
    const struct ptx_function *proto;   /* callprototype: a body-less function giving the signature */
};

/* ---- functions ------------------------------------------------------------------------------------------------------------ */

struct ptx_reg {
    const char *name;           /* "%r12" */
    uint8_t type;               /* declared type */
};

struct ptx_block {
    uint32_t first, count;      /* instructions [first, first + count) */
    uint32_t nsucc, npred;
    uint32_t *succ, *pred;      /* block numbers; a conditional bra: succ[0] = taken, succ[1] = fall-through */
};

struct ptx_function {
    struct ptx_symbol *sym;
    bool is_entry, noreturn, has_body;
    struct ptx_symbol **params, **rets; /* rets: .func results */
    uint32_t nparams, nrets;
    uint32_t param_size;        /* kernel parameter block, bytes */
    uint32_t maxntid[3], reqntid[3], cluster[3], minnctapersm, maxnreg; /* 0: not given; cluster: .reqnctapercluster */
    bool explicit_cluster;
    struct ptx_reg *regs;
    uint32_t nregs;
    struct ptx_symbol **locals; /* .shared, .local, .param, .const ... variables declared in the body, any scope */
    uint32_t nlocals;
    struct ptx_inst *insts;
    uint32_t ninsts;
    struct ptx_block *blocks;   /* NULL until ptx_function_build_cfg */
    uint32_t nblocks;
    struct ptx_module *module;
};

struct ptx_module {
    struct cw_arena arena;
    const char *name;           /* for diagnostics: a file name or "module" */
    unsigned version_major, version_minor;  /* .version */
    unsigned sm;                /* .target sm_NN -> NN; 86, 90 ... ; `sm_suffix` 'a', 'f' or 0 */
    char     sm_suffix;
    bool     texmode_independent, map_f64_to_f32, debug;
    unsigned address_size;      /* 32 or 64 */
    struct ptx_function **funcs;
    uint32_t nfuncs;
    struct ptx_symbol **vars;   /* module scope variables in declaration order */
    uint32_t nvars;
    const char **files;         /* .file numbers -> names, 1-based; files[0] unused */
    uint32_t nfiles;
    void    *scope;             /* private to the parser: name look-up */
};

/* ---- diagnostics --------------------------------------------------------------------------------------------------------- */

enum ptx_severity { PTX_NOTE, PTX_WARNING, PTX_ERROR };

/* Codes are stable and documented in docs/diagnostics.md: P1xxx lexical, P2xxx syntax, P3xxx semantic, P4xxx link,
 * P5xxx unsupported on the target, P6xxx limits. */
struct cwj_diag {
    uint8_t  severity;
    uint16_t code;              /* 2001 prints as P2001 */
    uint32_t line, column;
    const char *text;
    struct cwj_diag *next;
};

struct cwj_diags {
    struct cw_arena arena;
    struct cwj_diag *first, **tail;
    uint32_t errors, warnings;
    uint32_t limit;             /* maximum number of errors collected (default 20) */
};

void cwj_diags_init(struct cwj_diags *d);
void cwj_diags_finish(struct cwj_diags *d);
void cwj_diag_add(struct cwj_diags *d, enum ptx_severity s, unsigned code, uint32_t line, uint32_t column,
                  const char *fmt, ...) __attribute__((format(printf, 6, 7)));

struct cw_buf;
/* Append "name:line:col: error P2001: text", then, if `text` (the PTX) is given, the source line and a caret. */
void cwj_diags_render(const struct cwj_diags *d, const char *name, const char *text, size_t size, struct cw_buf *out);

/* ---- entry points of jit/ptx ------------------------------------------------------------------------------------------------ */

/* Parse and check one module. `text` need not be NUL-terminated; a trailing NUL is accepted. The module copies what it needs; text may be
 * freed afterwards. On failure *out is NULL and diags has at least one error. The caller destroys *out. */
cw_result ptx_parse(const char *name, const char *text, size_t size, struct ptx_module **out, struct cwj_diags *diags) CW_MUST_CHECK;
void      ptx_module_destroy(struct ptx_module *m);

/* Build fn->blocks (idempotent), without unreachable blocks. Block 0 is the entry and has no predecessors. */
cw_result ptx_function_build_cfg(struct ptx_function *fn) CW_MUST_CHECK;

/* Check every invariant stated in this file; collects every violation in diags. */
cw_result ptx_module_validate(const struct ptx_module *m, struct cwj_diags *diags) CW_MUST_CHECK;

/* Append valid PTX that parses back to the same IR; blocks are shown as comments if built. */
void ptx_module_print(const struct ptx_module *m, struct cw_buf *out);
void ptx_inst_print(const struct ptx_function *fn, const struct ptx_inst *in, struct cw_buf *out);
/* The same, with names[r] for register r. */
void ptx_inst_print_named(const struct ptx_inst *in, const char **names, struct cw_buf *out);

/* The opcode table's facts. */
struct ptx_op_info {
    const char *mnemonic;
    uint8_t  ndst;              /* destination operands, written first */
    uint8_t  min_ptx;           /* 10 * major + minor of the ISA that introduced it */
    uint8_t  min_sm;
    uint32_t traits;            /* enum ptx_trait */
};
enum ptx_trait {
    PTX_T_READS_MEM = 1, PTX_T_WRITES_MEM = 2, PTX_T_TERMINATOR = 4, PTX_T_CONVERGENT = 8, /* communicates between lanes */
    PTX_T_BARRIER = 16,         /* block-wide barrier: bar, barrier */
    PTX_T_WARP = 32,            /* result depends on warp width or lanes: shfl, vote, match, redux, activemask, mma */
    PTX_T_CALL = 64,
    PTX_T_HOST = 128, PTX_T_NVPTX = 256, PTX_T_AMDGCN = 512,    /* emitted for this target */
};
const struct ptx_op_info *ptx_op_info(ptx_op op);

struct ptx_sreg_info { const char *name; uint8_t type; uint32_t traits; };
const struct ptx_sreg_info *ptx_sreg_info(ptx_sreg r);

#endif
