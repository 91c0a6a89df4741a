/* SPDX-License-Identifier: Apache-2.0
 * The metadata note of AMD's code objects. Each object of LLVM has one, which lists its kernels; loaders read the first note of a code
 * object, and LLD concatenates notes. So the notes of several objects are merged before linking. Private to jit/. */
#ifndef CWJ_OBJFILE_NOTE_H
#define CWJ_OBJFILE_NOTE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

/* A folded kernel: another name for a kernel's code. */
struct cwj_amd_alias {
    const char *name, *of;
};

/* Take the notes out of `count` relocatable objects for amdgcn (void their note sections in place), and append to `out` another such object
 * with only a note, which lists the kernels of all in order and then the aliases; the remaining metadata is the first object's.
 * CW_ERR_DAMAGED: other kinds of objects, or an alias of a missing kernel. */
cw_result cwj_amd_notes_merge(struct cw_buf *const *objects, size_t count, const struct cwj_amd_alias *alias, size_t naliases,
                              struct cw_buf *out) CW_MUST_CHECK;

/* alias.c: add aliases of an object's kernels to its symbols, for the code and for the descriptor. CW_ERR_DAMAGED as above. */
cw_result cwj_amd_add_aliases(struct cw_buf *object, const struct cwj_amd_alias *alias, size_t naliases) CW_MUST_CHECK;

#endif
