/* SPDX-License-Identifier: Apache-2.0
 * printf of kernels: a format and its packed arguments, each at its natural alignment (CUDA C++ Programming Guide, "Formatted
 * Output"), to text. */
#ifndef CW_FORMAT_H
#define CW_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum { CW_FORMAT_MAX = 8192 };

/* The string at an address of the device, ending in NUL, in the buffer or elsewhere. No more than size - 1 characters are wanted. */
typedef const char *cw_format_string(void *user, uint64_t address, char *buffer, size_t size);

/* Write at most CW_FORMAT_MAX bytes to `out`, and how many to *size. `string` NULL: addresses are this process's. Returns what
 * the kernel's printf returns: the number of conversions, or -1 without a format. `room`: bytes of arguments; where the format asks for more, or `args` is NULL, the text
 * ends, and CW_FORMAT_OVER is returned. `word`: bytes of pointers and of `long`, 4 or 8. */
enum { CW_FORMAT_OVER = -2 };
int32_t cw_format(const char *format, const uint8_t *args, size_t room, unsigned word, cw_format_string *string, void *user, char *out, size_t *size);

#endif
