/* SPDX-License-Identifier: Apache-2.0
 * Private to program.c and program_page.c. */
#ifndef CW_PROGRAM_PAGE_H
#define CW_PROGRAM_PAGE_H

#include "impl/base/program.h"

#include <stdbool.h>
#include <stdio.h>

/* "cudaway run" */
void cw_program_full_name(const struct cw_program *p, char *out, size_t size);
/* Write the page `kind`: man, bash, zsh, fish, conf or settings. False: there is none of that name. */
bool cw_program_page(const struct cw_program *p, const char *kind, FILE *out);

#endif
