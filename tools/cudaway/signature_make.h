/* SPDX-License-Identifier: Apache-2.0
 * Patterns of the functions of a libcudart_static.a, in the form of impl/runtime/redirect/signature.h. */
#ifndef CW_TOOL_SIGNATURE_MAKE_H
#define CW_TOOL_SIGNATURE_MAKE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

enum { SIGNATURE_MAX_ARCHIVE = 1 << 28 /* bytes */ };

struct signature_made {
    unsigned major;                 /* of the Runtime */
    size_t   functions, sections;
};

/* Append the signature file's text of an archive, or of one object file. `path` goes into a comment. CW_ERR_DAMAGED: no archive;
 * CW_ERR_NOT_FOUND: it does not define the Runtime; CW_ERR_NOMEM. */
cw_result signature_make(const char *path, const char *data, size_t size, struct cw_buf *out, struct signature_made *made) CW_MUST_CHECK;

#endif
