/* SPDX-License-Identifier: Apache-2.0
 * What the files that check instructions share. */
#ifndef CWJ_PTX_CHECK_PRIVATE_H
#define CWJ_PTX_CHECK_PRIVATE_H

#include "jit/ptx/ptx_private.h"

struct check {
    struct parser *p;
    const struct ptx_inst *in;
    const struct op_row *row;
};

#define FAIL(c, code, ...) ptx_error_at((c)->p, (c)->in->line, (c)->in->column, code, __VA_ARGS__)

/* check.c: the operands against a signature, of ops.def or of its language. */
bool ptx_check_signature(struct check *c, const char *sig);

/* check_bulk.c: bulk copies, and the instructions that share their modifiers. */
bool ptx_check_bulk(struct check *c);

#endif
