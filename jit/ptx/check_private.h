/* SPDX-License-Identifier: Apache-2.0
 * What the files that check instructions share. */
#ifndef CWJ_PTX_CHECK_PRIVATE_H
#define CWJ_PTX_CHECK_PRIVATE_H

#include "jit/ptx/ptx_private.h"

struct check {
    struct parser *p;
    const struct ptx_inst *in;
    const struct op_row *row;
    const char *name;           /* the mnemonic */
    ptx_type type;              /* the first */
    uint64_t bit;               /* of `type`, for sets of types */
    bool old;                   /* .version before 1.4, with defaults for modifiers that later became mandatory */
};

#define FAIL(c, code, ...) ptx_error_at((c)->p, (c)->in->line, (c)->in->column, code, __VA_ARGS__)

/* ---- check.c: operand `i`, which is *o, where one of type t is meant ---- */

uint8_t ptx_check_reg_type(const struct check *c, const struct ptx_operand *o);
bool ptx_check_source(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool relaxed);
bool ptx_check_address(struct check *c, unsigned i, const struct ptx_operand *o);
/* The operands against a signature, of ops.def or of its language. */
bool ptx_check_signature(struct check *c, const char *sig);
/* Whether the module's .version and .target have the instruction, or `what` (a form) of it. */
bool ptx_check_version(struct check *c, const char *what, unsigned min_ptx, unsigned min_sm);

/* check_form.c: combinations of types and modifiers. */
bool ptx_check_form(struct check *c);
/* check_bulk.c: bulk copies, and the instructions that share their modifiers. */
bool ptx_check_bulk(struct check *c);
/* check_matrix.c: matrix instructions. */
bool ptx_check_matrix(struct check *c);

#endif
