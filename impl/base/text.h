/* SPDX-License-Identifier: Apache-2.0
 * Text that others wrote: the names in a dump or a recording, the lines of a module. */
#ifndef CW_TEXT_H
#define CW_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at `s`, which ends with a NUL: 1 to 4; 0: there is none, or no valid one. */
unsigned cw_utf8_length(const char *s);
/* Replace in place by '?' what is not UTF-8 and what a terminal acts on: control characters of both sets, and those that turn the direction of text. Characters of
 * `keep` stay ("\n\t"). Returns whether it was so already. */
bool cw_text_make_safe(char *s, const char *keep);
/* The same with spaces for ends of lines, except the last ones, which go: for a message that is a line. Its length. */
size_t cw_text_make_line(char *s);
/* fprintf of text that names of others are in: made safe, with newlines and tabs. */
void cw_text_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a message of one line, whose end it adds. */
void cw_text_line(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cw_text_vline(FILE *out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The code point of the character at `s`, below U+10000, if cw_text_make_safe would replace it, else 0: for what has escapes. */
unsigned cw_utf8_unsafe(const char *s);
/* Whether cw_text_make_safe would leave it as it is. */
bool cw_text_is_safe(const char *s, const char *keep);
/* JSON into a page's <script>. JSON has a < only inside of strings; there, in whatever name, it could be the one of </script>. */
void cw_text_put_in_script(FILE *out, const char *json, size_t size);

#endif
