/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the reader share: its state, tokens and messages (read.c), lists of values (read_list.c), textures and
 * surfaces (read_texture.c). Functions that return bool are false after a message. */
#ifndef PTXTEST_READ_PRIVATE_H
#define PTXTEST_READ_PRIVATE_H

#include "tools/ptxtest/ptxtest.h"

struct pt_token {
    const char *s;
    size_t length;
    uint32_t line, column;
    bool quoted;
};

struct pt_reader {
    struct pt_file *f;
    const char *p, *end;            /* the rest of the text, behind what was read of the directive */
    const char *line_start;
    uint32_t line;
    bool more;                      /* inside a directive */
    struct pt_token tok;            /* the current token; s NULL at the end of the directive */
    uint32_t first_line, last_line; /* of the directive */

    uint16_t scope[PT_MAX_SCOPE], common_scope[PT_MAX_SCOPE];   /* what is declared here, and before the first `test` */
    uint32_t nscope, common;
    bool seen_test;
    const char *test;
    struct pt_note *todo, *skip;
    uint32_t ntodo, nskip, common_todo, common_skip;
    uint32_t target, sm, ptx, common_sm, common_ptx;
    uint64_t memory, common_memory;
    uint64_t bytes;                 /* in lists */
    uint32_t cap_decls, cap_launches;
    struct pt_launch *launch;       /* the last one */
};

/* A message with a place; always false. rd_error: at the current token. */
bool rd_error_at(struct pt_reader *r, uint32_t line, uint32_t column, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define rd_error(r, ...) rd_error_at((r), (r)->tok.line, (r)->tok.column, __VA_ARGS__)
void *rd_alloc(struct pt_reader *r, size_t size);              /* from the file's arena; NULL after a message */

/* ---- tokens (read.c) ---- */
bool rd_blank(char c);
void rd_next(struct pt_reader *r);
bool rd_is(const struct pt_reader *r, const char *word);
bool rd_accept(struct pt_reader *r, const char *word);         /* the current token if it is this word; no message */
bool rd_expect(struct pt_reader *r, const char *word);
int rd_shown(const struct pt_reader *r);                       /* how many characters of the token a message shows */
const char *rd_name(struct pt_reader *r, const char *what);    /* NULL after a message, which says that `what` is expected */
bool rd_to_number(const char *s, size_t length, uint64_t max, uint64_t *out);
bool rd_number(struct pt_reader *r, const char *what, uint64_t max, uint64_t *out);
bool rd_dims(struct pt_reader *r, uint32_t dims[3], uint32_t max);      /* X[,Y[,Z]]; those that are not given stay */

/* ---- declarations (read.c) ---- */
int rd_find(const struct pt_reader *r, const char *s, size_t length);   /* position in scope, or -1 */
bool rd_add_decl(struct pt_reader *r, const struct pt_decl *d);

/* ---- lists of values (read_list.c) ---- */
/* Values to the end of the directive. `want`: how many there should be in the end, 0 when open; `expected`: they may be
 * unknown; `section`: of the side file, or NULL. */
bool rd_list(struct pt_reader *r, const struct pt_type *t, uint32_t want, bool expected, const char *section, struct pt_list *out);
bool rd_type(struct pt_reader *r, const struct pt_type **type, uint32_t *count);
/* A list of `count` zeros; its bytes are not cleared. */
bool rd_fill(struct pt_reader *r, const struct pt_type *t, uint32_t count, struct pt_list *out);

/* ---- textures and surfaces (read_texture.c) ---- */
bool rd_texture(struct pt_reader *r, enum pt_decl_kind kind);

/* ---- tensor maps (read_tensor.c) ---- */
bool rd_tensor(struct pt_reader *r);

#endif
