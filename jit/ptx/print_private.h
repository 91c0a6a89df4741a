/* SPDX-License-Identifier: Apache-2.0
 * Shared by the printer's two files. */
#ifndef CWJ_PTX_PRINT_PRIVATE_H
#define CWJ_PTX_PRINT_PRIVATE_H

#include "jit/ptx/ptx_private.h"

struct cw_buf;

struct print_table { const struct ptx_table *table; const char *name; };

struct print {
    struct cw_buf *out;
    const struct ptx_function *fn;
    const char **reg_names, **local_names;  /* NULL: as declared */
    struct print_table *tables;             /* those printed so far in this function */
    uint32_t ntables, tables_cap;
    void *names;                            /* in use: a tree of the C library's */
    struct cw_arena arena;                  /* of print_body, guarded */
};

void ptx_print_inst(const struct print *pr, const struct ptx_inst *in);
void ptx_print_operand(const struct print *pr, const struct ptx_operand *o);
const char *ptx_print_sym_name(const struct print *pr, const struct ptx_symbol *s);
const char *ptx_print_table_name(const struct print *pr, const struct ptx_table *t);

#endif
