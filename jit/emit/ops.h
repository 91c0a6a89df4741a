/* SPDX-License-Identifier: Apache-2.0
 * The emitters that jit/ptx/ops.def and jit/ptx/sregs.def name: their declarations, and a table of them for each target. A row that names
 * an undefined function fails the link. */
#ifndef CWJ_EMIT_OPS_H
#define CWJ_EMIT_OPS_H

#include "jit/ptx/ir.h"

#include <llvm-c/Types.h>

struct emit;

/* Emits one instruction, whose guard the caller has handled: writes go through emit_dst, effects happen under struct emit.mask. Reports
 * forms that it lacks with emit_unsupported. */
typedef void emit_op_fn(struct emit *e, const struct ptx_inst *in);
/* The value of a special register, of its type in sregs.def; lane-varying ones are vectors if the emitter's width is above 1. */
typedef LLVMValueRef emit_sreg_fn(struct emit *e, ptx_sreg r);

/* Exactly one member is set. */
struct emit_op {
    emit_op_fn *emit;
    const char *refused;
};
struct emit_sreg {
    emit_sreg_fn *read;
    const char *refused;
};

#define ON(host, amdgcn, nvptx) host amdgcn nvptx
#define NO(why)
#define BY(f) emit_op_fn f;
#define OP(symbol, mnemonic, ndst, ptx, sm, traits, types, mods, sig, emitters) emitters
#include "jit/ptx/ops.def"
#undef OP
#undef BY
#define BY(f) emit_sreg_fn f;
#define SREG(symbol, name, type, traits, readers) readers
#include "jit/ptx/sregs.def"
#undef SREG
#undef BY
#undef NO
#undef ON

/* Indexed by ptx_op and ptx_sreg; for struct emit_target. */
extern const struct emit_op emit_ops_host[], emit_ops_amdgcn[], emit_ops_nvptx[];
extern const struct emit_sreg emit_sregs_host[], emit_sregs_amdgcn[], emit_sregs_nvptx[];

#endif
