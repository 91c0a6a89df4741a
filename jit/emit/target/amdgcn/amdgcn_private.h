/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for amdgcn (amdgcn*.c). A warp is 32 lanes: half of a wave of 64, of which it may be alone in. */
#ifndef CWJ_AMDGCN_PRIVATE_H
#define CWJ_AMDGCN_PRIVATE_H

#include "jit/emit/emit_private.h"

/* Call llvm.* `name`, overloaded on the types given. */
LLVMValueRef gcn_intrinsic(struct emit *e, const char *name, LLVMTypeRef *overload, unsigned noverload, LLVMValueRef *args, unsigned n);
LLVMValueRef gcn_from_lane(struct emit *e, LLVMValueRef v, LLVMValueRef lane);  /* the i32 v of a lane of the same warp */
LLVMValueRef gcn_ballot(struct emit *e, LLVMValueRef p);                        /* i32: a bit a lane of the warp */

LLVMValueRef gcn_block(struct emit *e, unsigned axis);                          /* i32 %ctaid */

/* amdgcn_loader.c: a variable of eight bytes that whoever loads the code object stores into, mostly an address; the number. It never changes while
 * a kernel runs, so that a scalar load gets it. */
LLVMValueRef gcn_loader_variable(struct emit *e, const char *name);
LLVMValueRef gcn_loader_number(struct emit *e, const char *name);
bool gcn_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *args, unsigned n, LLVMValueRef *result); /* emit_target */

/* amdgcn_nan.c, of a group of values: which of them v is, or -1; is one of them an operand of user, which is no PHI? */
int gcn_find(const LLVMValueRef *value, unsigned n, LLVMValueRef v);
bool gcn_reads_any(LLVMValueRef user, const LLVMValueRef *value, unsigned n);

/* amdgcn_prepared.c: give a function its body, if its machine code is at hand. What it does may depend on nothing but its name. */
bool gcn_prepared_body(struct emit *e, LLVMValueRef fn);
/* The same for code that wants a table of the module's, a constant. */
bool gcn_prepared_with(struct emit *e, LLVMValueRef fn, LLVMValueRef table);

/* Inline assembly that computes (amdgcn_nan.c): LLVM takes any other for something that may change memory. At most two arguments, the first
 * of the result's type. */
LLVMValueRef gcn_assembly(LLVMBuilderRef b, const char *text, const char *constraints, LLVMValueRef *args, unsigned n);
void gcn_computes(LLVMValueRef call);                                           /* say so of a call of other assembly */

/* amdgcn_nan.c, for code that is rarely needed. End the builder's block with a branch to a new one where the i1 `any` is set in a lane of the wave, else to
 * `done`; the builder goes to the new one, which is returned. */
LLVMBasicBlockRef gcn_branch_rare(LLVMBuilderRef b, LLVMModuleRef m, bool wave64, LLVMValueRef any, LLVMBasicBlockRef done, const char *name);

/* amdgcn_thread.c: i32 each; axis 0 to 2 is x, y, z */
LLVMValueRef gcn_wave_lane(struct emit *e);                                     /* of the wave, 0..31 or 0..63 */
LLVMValueRef gcn_lane(struct emit *e);                                          /* of the warp, 0..31 */
LLVMValueRef gcn_thread(struct emit *e, unsigned axis);                         /* %tid */
LLVMValueRef gcn_linear_thread(struct emit *e);                                 /* of the block */
LLVMValueRef gcn_block_size(struct emit *e, unsigned axis);                     /* %ntid */
LLVMValueRef gcn_block_threads(struct emit *e);
LLVMValueRef gcn_grid_size(struct emit *e, unsigned axis);                      /* %nctaid */
uint32_t gcn_extra_arguments(struct emit *e);                                   /* bytes between the parameters and the hidden arguments */
bool gcn_names_launch(const struct cwj_program *p, const struct cwj_reach *reach); /* a kernel needs gcn_launch_number */
LLVMValueRef gcn_launch_number(struct emit *e, bool workspace);                 /* i64 */
void gcn_start(struct emit *e);                                                 /* emit_target.start */

uint8_t gcn_matrix_model(uint8_t sm);                                           /* index into matrix_models */
bool emit_gcn_matrix(struct emit *e, const struct ptx_inst *in);                /* amdgcn_matrix.c */
bool emit_gcn_dp4a(struct emit *e, const struct ptx_inst *in);                  /* amdgcn_mma.c */
bool emit_gcn_async(struct emit *e, const struct ptx_inst *in);                 /* amdgcn_async.c: copies, mbarrier, alloca */

/* amdgcn.c, for the module (amdgcn_module.c): what its instructions become; does a function wait for all of its block; the end of a kernel with barriers in
 * memory; a variable of the program. */
extern const struct emit_target emit_target_amdgcn;
bool gcn_waits_for_all(const struct ptx_function *fn);
void gcn_clear_barriers(struct emit *e, LLVMValueRef kernel);
LLVMValueRef gcn_variable(struct emit *e, uint32_t id, const struct cwj_link_var *v);

#endif
