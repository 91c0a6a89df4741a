/* SPDX-License-Identifier: Apache-2.0
 * Whether memory that somebody else names can be read, asked of the kernel: a system call for each page, with no handler of signals. What is unmapped in
 * the meantime faults all the same. */
#ifndef CW_READABLE_H
#define CW_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of `size` bytes from p on can be read. errno stays as it is. Async-signal-safe. */
uint64_t cw_readable(const void *p, uint64_t size);
/* The same of several pieces, which mostly lie together: a page is asked for once. Begin with { 0 }. */
struct cw_readable_page { uintptr_t page; };
bool cw_readable_piece(struct cw_readable_page *last, const void *p, size_t size);
/* The length of the text at s, at most `most`: it ends at a NUL, or where it cannot be read. */
size_t cw_readable_text(const char *s, size_t most);

#endif
