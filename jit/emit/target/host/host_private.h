/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for the host. */
#ifndef CWJ_EMIT_TARGET_HOST_HOST_PRIVATE_H
#define CWJ_EMIT_TARGET_HOST_HOST_PRIVATE_H

#include "jit/emit/emit_private.h"

/* Call a function of the engine (jit/abi/host.h). */
LLVMValueRef emit_runtime(struct emit *e, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, unsigned n, LLVMValueRef *args);

/* async.c: hooks of the target. */
LLVMValueRef host_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space);
void host_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n);
LLVMValueRef host_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef addresses, LLVMValueRef value);

#endif
