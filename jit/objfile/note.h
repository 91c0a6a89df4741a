/* SPDX-License-Identifier: Apache-2.0
 * The metadata note of AMD's code objects. An object that LLVM makes has one, which lists its kernels; loaders read the first note
 * of a code object, and LLD puts notes one after another. So the notes of several objects become one before they are linked.
 * Private to jit/. */
#ifndef CWJ_HOST_AMD_NOTE_H
#define CWJ_HOST_AMD_NOTE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

/* A kernel that is another one's code under a name of its own. */
struct cwj_amd_alias {
    const char *name, *of;
};

/* Take the notes out of `count` relocatable objects for amdgcn (their note sections are made void, in place) and append to `out` another
 * such object that has nothing but a note with the kernels of all, in their order, and then the aliases; the rest of the metadata is that of
 * the first. CW_ERR_DAMAGED: not such objects, or an alias of a kernel that none has. */
cw_result cwj_amd_notes_merge(struct cw_buf *const *objects, size_t count, const struct cwj_amd_alias *alias, size_t naliases,
                              struct cw_buf *out) CW_MUST_CHECK;

/* amd_alias.c: add aliases of an object's kernels to its symbols: of the code and of the descriptor. CW_ERR_DAMAGED as above. */
cw_result cwj_amd_add_aliases(struct cw_buf *object, const struct cwj_amd_alias *alias, size_t naliases) CW_MUST_CHECK;

#endif
