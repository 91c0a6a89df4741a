/* SPDX-License-Identifier: Apache-2.0
 * PTX IR -> LLVM IR: the interface of the emitter, and declarations that its files share.
 *
 * One emitter, two shapes of value. A value that is the same for all lanes of the gang, and every value on a SIMT target, is an LLVM scalar
 * (i32, float, ...). All others are vectors with one element per lane (<32 x i32>). The LLVM type shows the shape, and the helpers here
 * accept mixtures: they splat a scalar that meets a vector. Each operation is thus written once. Arithmetic runs for inactive lanes too
 * (their results are never stored to memory or merged into a register), so it must not trap on any input.
 *
 * Representation of PTX types: pred i1; 8..128-bit bits/int iN; f32 float; f64 double; f16 half; bf16 i16; packed types (f16x2, bf16x2,
 * u16x2, s16x2) i32; f32x2 i64; tf32 float; fp8 types iN. A register has the representation of its declared type (.b32 -> i32, .f32 ->
 * float); emit_src and emit_dst convert.
 *
 * LLVMValueRef results belong to the module. A failure is recorded in struct emit.result and in the diagnostics; functions then return some
 * value of the right type, so that emission goes on. */
#ifndef CWJ_EMIT_EMIT_H
#define CWJ_EMIT_EMIT_H

#include "jit/abi/host.h"
#include "jit/jit.h"

#include <llvm-c/Core.h>
#include <stdbool.h>

struct cwj_program;
struct emit_fn;
struct emit_target;

enum { EMIT_MAX_WIDTH = 32 };

/* One LLVM module under construction. Owned by the compilation. */
struct emit {
    LLVMContextRef  llvm;
    LLVMModuleRef   module;
    LLVMBuilderRef  b;              /* positioned where the next instruction goes */
    const struct emit_target *target;
    const char     *cpu;            /* "gfx1100", "sm_90", host cpu */
    unsigned        features;       /* enum emit_feature */
    unsigned        width;          /* lanes of a vector value; 1 = every value is a scalar */
    bool            wave64;         /* amdgcn with 64 lanes */
    bool            one_warp_per_wave;       /* amdgcn: a wave64 kernel uses 32 lanes, for one warp: as in cwj_aot_options */
    bool            fast_code;      /* optimised code; false for host:O0 */
    unsigned        native_floats;  /* amdgcn: as in cwj_aot_options */
    bool            unchecked;      /* amdgcn: not cwj_aot_options.checked */
    bool            bounded;        /* host: as in cwh_variant */
    bool            addr32;         /* host: the program's addresses have 32 bits (addr32.c) */
    struct cwj_program *program;
    const struct ptx_function *fn;  /* being emitted */
    struct emit_fn *f;              /* its state, private to jit/emit */
    LLVMValueRef    gcn_rows;       /* amdgcn, inside a function of target/amdgcn/mufu.c: the address of its table */
    LLVMValueRef    mask;           /* current execution mask: <width x i1>, i1 when width is 1; NULL: all lanes of the gang */
    struct cwj_diags *diags;
    cw_result       result;         /* first failure; emission continues, to collect all diagnostics */
    struct cw_arena arena;          /* guarded: a failed allocation ends the emission */

    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, f32, f64, ptr, void_;
};

/* ---- values (value.c) ----------------------------------------------------------------------------------------------- */

LLVMTypeRef  emit_type(struct emit *e, ptx_type t);                 /* scalar representation */
bool         emit_is_vector(LLVMValueRef v);                        /* lane-varying (in vector shape) */
LLVMTypeRef  emit_scalar_type(LLVMValueRef v);                      /* element type, or the type itself */
LLVMTypeRef  emit_like(struct emit *e, LLVMValueRef shape, LLVMTypeRef scalar); /* `scalar` in the shape of `shape` */
LLVMValueRef emit_splat(struct emit *e, LLVMValueRef v);            /* to vector; a vector (or width 1) is returned as is */
/* Make all of v[0..n) the same shape: splat the scalars if there is a vector among them. */
void         emit_unify(struct emit *e, LLVMValueRef *v, unsigned n);
/* Integer / float constants in the shape and element type of `like` (element bits truncated). */
LLVMValueRef emit_int_like(struct emit *e, LLVMValueRef like, uint64_t value);
LLVMValueRef emit_fp_like(struct emit *e, LLVMValueRef like, double value);
LLVMValueRef emit_int(struct emit *e, LLVMTypeRef scalar, uint64_t value);
/* Same-size bitcast element by element (float<->i32, i64<->double, ...), shape kept. `scalar`: new element type. */
LLVMValueRef emit_bitcast(struct emit *e, LLVMValueRef v, LLVMTypeRef scalar);
/* Integer resize, shape kept: sign or zero extension, or truncation. */
LLVMValueRef emit_resize(struct emit *e, LLVMValueRef v, LLVMTypeRef scalar, bool is_signed);
LLVMValueRef emit_bin(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMValueRef b);       /* unifies */
LLVMValueRef emit_icmp(struct emit *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b); /* unifies */
LLVMValueRef emit_fcmp(struct emit *e, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);   /* unifies all three */
LLVMValueRef emit_low_half(struct emit *e, LLVMValueRef v);         /* of a scalar i64, as an i32 */
LLVMValueRef emit_high_half(struct emit *e, LLVMValueRef v);
/* For functions that take values and their number. */
#define VALUES(...) (LLVMValueRef[]){ __VA_ARGS__ }, (unsigned)(sizeof (LLVMValueRef[]){ __VA_ARGS__ } / sizeof(LLVMValueRef))

/* Call the intrinsic llvm.* `name`, overloaded on the given types. */
LLVMValueRef emit_intrinsic_of(struct emit *e, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned n);
/* Call an LLVM intrinsic that is overloaded on the (unified) type of args[0], e.g. "llvm.fma", "llvm.ctpop". `flag` is a trailing i1
 * argument such as that of llvm.ctlz (-1: none). The result has the type of args[0]. */
LLVMValueRef emit_intrinsic(struct emit *e, const char *name, LLVMValueRef *args, unsigned n, int flag);
/* A PHI of two values. */
LLVMValueRef emit_phi(struct emit *e, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b);
/* A constant of the module. */
LLVMValueRef emit_constant(struct emit *e, const char *name, const void *bytes, unsigned size, unsigned align, LLVMLinkage linkage);
/* One access per lane, for all lanes, at a vector of pointers; `align` in bytes. */
LLVMValueRef emit_gather(struct emit *e, LLVMValueRef at, LLVMTypeRef scalar, unsigned align);
void         emit_scatter(struct emit *e, LLVMValueRef value, LLVMValueRef at, unsigned align);

/* ---- operands (operand.c) --------------------------------------------------------------------------------------------- */

/* Source operand i as type t. A register of another type of that size is reinterpreted; a wider integer register is truncated (9.4.1); an
 * immediate is converted; negate flags are applied; special registers are read; symbols give addresses. */
LLVMValueRef emit_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t);
LLVMValueRef emit_operand(struct emit *e, const struct ptx_operand *o, ptx_type t);         /* the same for an element of a list */
/* Write v, of the representation of t, to destination operand i. A wider destination register is filled by sign- or zero-extension as t
 * says (9.4.2). For a vector of registers call emit_dst_operand on each element. */
void emit_dst(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, LLVMValueRef v);
void emit_dst_operand(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v);
/* The same for a destination that may be a pair d|p, whose second register gets `second`. */
void emit_dst_pair(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v, LLVMValueRef second);

/* The carry flag CC.CF of add.cc etc.: a function-wide pseudo register (i1). */
LLVMValueRef emit_carry_in(struct emit *e);
void         emit_carry_out(struct emit *e, LLVMValueRef carry);

/* Report that this instruction is not supported here: P5001 with its mnemonic, line and column. */
void emit_unsupported(struct emit *e, const struct ptx_inst *in, const char *why);

/* ---- entry points ------------------------------------------------------------------------------------------------------ */

/* Emit kernel `index` and its call closure into a new LLVM module, as `cwh_kernel` (cwh_kernel_fn) with the constant `cwh_info` (struct
 * cwh_code_info). Fills *info too. The caller owns *module and the context. */
cw_result emit_host_kernel(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, LLVMContextRef llvm,
                           LLVMModuleRef *module, struct cwh_code_info *info, struct cwj_diags *diags) CW_MUST_CHECK;

/* Parts of a program that go into a module for a SIMT target. */
struct emit_simt {
    enum cwj_target target;         /* amdgcn or nvptx */
    const char *cpu;
    const bool *kernels;            /* per kernel of the program; NULL: all */
    bool module_image;              /* as in cwj_aot_options */
    bool declare_only;              /* amdgcn: another module, which this one is linked to, defines the variables */
    uint8_t matrix_sm;              /* as in cwj_aot_options */
    unsigned native_floats;         /* as in cwj_aot_options */
    bool matrix_native, one_warp_per_wave, textures_native, all_blocks, checked, clusters;
};
cw_result emit_simt_module(struct cwj_program *p, const struct emit_simt *what, LLVMContextRef llvm, LLVMModuleRef *module,
                           struct cwj_diags *diags) CW_MUST_CHECK;

/* Metadata of a module with video instructions. The emitter computes them in integers wider than needed; LLVM narrows them from the ranges
 * of their values. */
#define EMIT_VIDEO "cudaway.video"

/* amdgcn: is it a function of precompiled code (jit/builtins/precompiled.h)? */
bool emit_is_precompiled(LLVMValueRef function);

/* Attach LLVM's loop metadata of that name to the loop whose latch ends with this branch. */
void emit_note_loop(LLVMContextRef c, LLVMValueRef branch, const char *name);

#endif
