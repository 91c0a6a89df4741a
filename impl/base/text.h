/* SPDX-License-Identifier: Apache-2.0
 * Text that others wrote: the names in a dump or a recording, the lines of a module. */
#ifndef CW_TEXT_H
#define CW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at `s`, which ends with a NUL: 1 to 4; 0: there is none, or no valid one. */
unsigned cw_utf8_length(const char *s);
/* Replace in place by '?' what is not UTF-8 and what a terminal acts on: control characters of both sets, and those that turn the direction of text. Characters of
 * `keep` stay ("\n\t"). Returns whether it was so already. */
bool cw_text_make_safe(char *s, const char *keep);
/* Whether cw_text_make_safe would leave it as it is. */
bool cw_text_is_safe(const char *s, const char *keep);
/* JSON into a page's <script>. JSON has a < only inside of strings; there, in whatever name, it could be the one of </script>. */
void cw_text_put_in_script(FILE *out, const char *json, size_t size);

#endif
