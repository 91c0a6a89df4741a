/* SPDX-License-Identifier: Apache-2.0
 * The metadata note of AMD's code objects. An object that LLVM makes has one, which lists its kernels; loaders read the first note
 * of a code object, and LLD puts notes one after another. So the notes of several objects become one before they are linked.
 * Private to jit/. */
#ifndef CWJ_OBJFILE_NOTE_H
#define CWJ_OBJFILE_NOTE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

/* A folded kernel: another kernel's code under a name of its own. */
struct cwj_amd_alias {
    const char *name, *of;
};

/* Take the notes out of `count` relocatable objects for amdgcn (their note sections are made void, in place) and append to `out` another
 * such object with only a note, which lists the kernels of all in their order and then the aliases; the rest of the metadata is
 * the first's. CW_ERR_DAMAGED: other kinds of objects, or an alias of a kernel that does not exist. */
cw_result cwj_amd_notes_merge(struct cw_buf *const *objects, size_t count, const struct cwj_amd_alias *alias, size_t naliases,
                              struct cw_buf *out) CW_MUST_CHECK;

/* alias.c: add aliases of an object's kernels to its symbols: of the code and of the descriptor. CW_ERR_DAMAGED as above. */
cw_result cwj_amd_add_aliases(struct cw_buf *object, const struct cwj_amd_alias *alias, size_t naliases) CW_MUST_CHECK;

#endif
