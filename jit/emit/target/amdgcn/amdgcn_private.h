/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for amdgcn. A warp is 32 lanes: a wave32, or half of a wave64, whose other half may be unused. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_AMDGCN_PRIVATE_H
#define CWJ_EMIT_TARGET_AMDGCN_AMDGCN_PRIVATE_H

#include "jit/emit/emit_private.h"

LLVMValueRef gcn_from_lane(struct emit *e, LLVMValueRef v, LLVMValueRef lane);  /* the i32 v of a lane of the same warp */
LLVMValueRef gcn_wave_ballot(struct emit *e, LLVMValueRef p);                   /* i32 or i64: one per lane of the wave */
/* v, about which LLVM knows nothing from here on; `constraint`: of a register. `ordered`: it stays where it is. */
LLVMValueRef gcn_hidden(struct emit *e, const char *constraint, LLVMValueRef v, bool ordered);

/* loader_data.c: a variable of eight bytes, usually an address, that the code object's loader sets; and its value. It is constant while a
 * kernel runs, so a scalar load reads it. */
LLVMValueRef gcn_loader_variable(struct emit *e, const char *name);
LLVMValueRef gcn_loader_number(struct emit *e, const char *name);
bool gcn_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *args, unsigned n, LLVMValueRef *result); /* emit_target */

/* precompiled.c: give a function its precompiled body, if there is one. The body may depend on nothing but the name. */
bool gcn_precompiled_body(struct emit *e, LLVMValueRef fn);
/* The same for code that takes the address of a table, a constant of the module. */
bool gcn_precompiled_with(struct emit *e, LLVMValueRef fn, LLVMValueRef table);

/* thread.c: i32 each; axis 0 to 2 is x, y, z */
LLVMValueRef gcn_wave_lane(struct emit *e);                                     /* in the wave, 0..31 or 0..63 */
LLVMValueRef gcn_lane(struct emit *e);                                          /* in the warp, 0..31 */
LLVMValueRef gcn_linear_thread(struct emit *e);                                 /* in the block */
LLVMValueRef gcn_block_threads(struct emit *e);
LLVMValueRef gcn_argument(struct emit *e, int64_t offset, LLVMTypeRef t);       /* i16 (a block's extent, as an i32), i32 or i64 there,
                                                                                 * relative to the hidden arguments */
uint32_t gcn_extra_arguments(struct emit *e);                                   /* bytes between parameters and hidden arguments */
bool gcn_names_launch(const struct ptx_inst *in);                               /* does its kernel need gcn_launch_number? */
LLVMValueRef gcn_launch_number(struct emit *e, bool workspace);                 /* i64 */
void gcn_start(struct emit *e);                                                 /* emit_target.start */

/* cluster.c, with emit_session.clusters. Addresses are i64; axis 0 to 2 is x, y, z. enter: in a function's entry block. leave: threads with
 * `guard` (NULL: all) exit. */
void gcn_cluster_enter(struct emit *e);
LLVMValueRef gcn_cluster_block(struct emit *e, unsigned axis);                  /* i32 %ctaid */
LLVMValueRef gcn_cluster_grid(struct emit *e, unsigned axis);                   /* i32 %nctaid */
LLVMValueRef gcn_cluster_shift(struct emit *e);                                 /* i32: log2 of the bytes from one block's shared memory to the next's */
LLVMValueRef gcn_cluster_shared_size(struct emit *e, bool dynamic);             /* i32 */
LLVMValueRef gcn_cluster_symbol(struct emit *e, const struct ptx_symbol *sym);
LLVMValueRef gcn_cluster_to_generic(struct emit *e, LLVMValueRef address);
LLVMValueRef gcn_cluster_from_generic(struct emit *e, LLVMValueRef address);
LLVMValueRef gcn_in_cluster(struct emit *e, LLVMValueRef address, bool own);    /* i1: is a generic address in shared memory of the cluster, or of
                                                                                 * the block? */
void gcn_cluster_leave(struct emit *e, LLVMValueRef guard);
void gcn_clear_marks(struct emit *e, LLVMValueRef kernel);

/* mufu.c, on the finished module: functions of the special function unit called outside of loops are not inlined there if precompiled code
 * (precompiled.h) has them, or if there are many such calls. */
void gcn_mufu_limit(struct emit *e);

uint8_t gcn_matrix_model(uint8_t sm);                                           /* index into matrix_models */

/* devlib.c: call a function of the device library, whose body cwj_devlib_link adds later. Arguments: i32, i64, float, vectors of those, or
 * pointers of any space, which it takes as generic ones; at most 16. */
LLVMValueRef emit_devlib(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n);
/* Declare one, with its precompiled body if there is one. */
void gcn_devlib_declare(struct emit *e, const char *name, LLVMTypeRef ret, LLVMTypeRef *types, unsigned n);

/* Hooks of emit_target_amdgcn that have files of their own. */
extern const struct mufu_target gcn_mufu;                                       /* mufu.c */
LLVMValueRef gcn_approx(struct emit *e, ptx_op op, LLVMValueRef a);
LLVMValueRef gcn_divide(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool is_signed, bool rem);      /* divide.c */
LLVMValueRef gcn_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space);         /* async.c */
void gcn_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n);
LLVMValueRef gcn_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef object, LLVMValueRef value);
LLVMValueRef gcn_swap128(struct emit *e, LLVMValueRef cell, LLVMValueRef want, LLVMValueRef fresh);     /* loader_data.c: under a lock */

/* amdgcn.c: position the builder at a kernel's start, behind its allocas; the work-group's barrier, with the memory ordering of bar.sync. */
void gcn_at_start(struct emit *e, LLVMValueRef kernel);
void gcn_hardware_barrier(struct emit *e);
void gcn_end_kernel(struct emit *e);                                            /* by a trap */

/* amdgcn.c, for the module (module.c): the target; whether an instruction is a barrier in memory that waits for all threads; clearing of the barriers in memory; a
 * variable of the program. */
extern const struct emit_target emit_target_amdgcn;
bool gcn_waits_for_all(const struct ptx_inst *in);
void gcn_clear_barriers(struct emit *e, LLVMValueRef kernel);
LLVMValueRef gcn_variable(struct emit *e, uint32_t id, const struct cwj_link_var *v);
LLVMValueRef gcn_lds(struct emit *e, const char *name, LLVMTypeRef type, unsigned align);       /* a variable of ours in LDS, which functions share */

#endif
