/* SPDX-License-Identifier: Apache-2.0
 * Several objects for AMD that become one code object, and further names of kernels. Private to jit/. */
#ifndef CWJ_OBJFILE_NOTE_H
#define CWJ_OBJFILE_NOTE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"
#include "impl/base/result.h"

/* A folded kernel: another name for a kernel's code. */
struct cwj_amd_alias {
    const char *name, *of;
};

/* Prepare relocatable objects of LLVM for amdgcn to be linked into one code object. Each has a metadata note that lists its kernels, but loaders
 * read the first note of a code object, and LLD concatenates notes: so the first object's note gets the kernels of all objects in order, then
 * the aliases, and the sections of the other notes become void. The remaining metadata is the first object's. Aliases also become symbols, for
 * the code and for the descriptor, in the object that has their kernel. Call it contained (jit/llvm/contain.h). CW_ERR_DAMAGED: other kinds of
 * objects, or an alias of a missing kernel. */
cw_result cwj_amd_join(struct cw_buf *const *objects, size_t count, const struct cwj_amd_alias *alias, size_t naliases) CW_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
