/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for amdgcn (amdgcn*.c). A warp is 32 lanes: half of a wave of 64. */
#ifndef CWJ_AMDGCN_PRIVATE_H
#define CWJ_AMDGCN_PRIVATE_H

#include "jit/emit/emit_private.h"

/* Call llvm.* `name`, overloaded on the types given. */
LLVMValueRef gcn_intrinsic(struct emit *e, const char *name, LLVMTypeRef *overload, unsigned noverload, LLVMValueRef *args, unsigned n);
LLVMValueRef gcn_lane(struct emit *e);                                          /* i32: of the warp, 0..31 */
LLVMValueRef gcn_from_lane(struct emit *e, LLVMValueRef v, LLVMValueRef lane);  /* the i32 v of a lane of the same warp */
LLVMValueRef gcn_ballot(struct emit *e, LLVMValueRef p);                        /* i32: a bit a lane of the warp */

uint8_t gcn_matrix_model(uint8_t sm);                                           /* index into matrix_models */
bool emit_gcn_matrix(struct emit *e, const struct ptx_inst *in);                /* amdgcn_matrix.c */
bool emit_gcn_async(struct emit *e, const struct ptx_inst *in);                 /* amdgcn_async.c: copies, mbarrier, alloca */

#endif
