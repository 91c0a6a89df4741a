/* SPDX-License-Identifier: Apache-2.0
 * The metadata note of AMD's code objects. An object that LLVM makes has one, which lists its kernels; loaders read the first note
 * of a code object, and LLD puts notes one after another. So the notes of several objects become one before they are linked.
 * Private to jit/. */
#ifndef CWJ_HOST_AMD_NOTE_H
#define CWJ_HOST_AMD_NOTE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

/* Take the notes out of `n` relocatable objects for amdgcn (their note sections are made void, in place) and append to `out` another
 * such object that has nothing but a note with the kernels of all, in their order; the rest of the metadata is that of the
 * first. CW_ERR_DAMAGED: not such objects. */
cw_result cwj_amd_notes_merge(struct cw_buf *const *objects, size_t n, struct cw_buf *out) CW_MUST_CHECK;

#endif
