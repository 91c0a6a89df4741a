/* SPDX-License-Identifier: Apache-2.0
 * Regular expressions that users give, POSIX's extended ones without sub-matches. */
#ifndef CW_REGEX_H
#define CW_REGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* False: `why` says what is wrong with it; there is nothing to free. What libc would compile on more stack or memory than a program has to spare is refused: more
 * than 4,096 bytes, 50 parentheses, or repetitions ({m,n}) that multiply to more than 10,000. */
bool cw_regex_compile(regex_t *regex, const char *text, char *why, size_t size);

#endif
