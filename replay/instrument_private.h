/* SPDX-License-Identifier: Apache-2.0
 * Finding places in PTX text: what instrument.c and variant.c put text in by. */
#ifndef CWI_INSTRUMENT_PRIVATE_H
#define CWI_INSTRUMENT_PRIVATE_H

#include "replay/instrument.h"

/* The next character of `set` outside of comments and strings, or NULL. */
const char *cwi_find(const char *s, const char *end, const char *set);
/* The body whose first instruction is at `at`: the last brace at depth 0 before it. */
const char *cwi_body(const char *text, size_t size, size_t at);
/* Where declarations may begin: behind the directives that come first; NULL: not found. */
const char *cwi_behind_directives(const char *s, const char *end);

#endif
