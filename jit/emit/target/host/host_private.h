/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for the host. */
#ifndef CWJ_EMIT_TARGET_HOST_HOST_PRIVATE_H
#define CWJ_EMIT_TARGET_HOST_HOST_PRIVATE_H

#include "jit/emit/emit_private.h"

/* Call a function of the engine (jit/abi/host.h). */
LLVMValueRef emit_runtime(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n);

LLVMValueRef host_active(struct emit *e);                           /* i64: the active lanes of the gang as bits */
/* Store one element per lane to memory, or make space for it. */
LLVMValueRef host_spill(struct emit *e, LLVMValueRef v, const char *name);
LLVMValueRef host_space(struct emit *e, LLVMTypeRef scalar, const char *name);
LLVMValueRef host_take(struct emit *e, LLVMTypeRef scalar, LLVMValueRef space);         /* its elements */
/* Width 1: join the lanes of the warp at the same site with the same members; they leave their values in `values`, 32 u64. Returns who came, i32. */
LLVMValueRef host_exchange(struct emit *e, uint32_t site, LLVMValueRef members, LLVMValueRef value, LLVMValueRef values);
LLVMValueRef host_exchange_all(struct emit *e, LLVMValueRef value, LLVMValueRef values);        /* at a new site, any members */

/* async.c: hooks of the target. */
LLVMValueRef host_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space);
void host_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n);
LLVMValueRef host_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef addresses, LLVMValueRef value);

#endif
