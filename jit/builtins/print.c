/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "print": vprintf and __assertfail (print.h has the format). Called, never inlined, and precompiled
 * (jit/builtins/precompile), so they may use no calls, no stack and no tables. */
#include "jit/builtins/print.h"

#include <stdbool.h>

#define GLOBAL __attribute__((address_space(1)))
typedef GLOBAL uint32_t word;
typedef GLOBAL uint64_t long_word;

/* Allocate a record of `size` bytes, a multiple of 8; 0 if none fits. */
static uint64_t
take(uint64_t fifo, uint32_t size)
{
    if (!fifo)
        return 0;
    uint32_t at = __scoped_atomic_fetch_add((word *)fifo, size, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE), room = ((word *)fifo)[1];
    return at > room || room - at < size ? 0 : fifo + CWD_PRINT_HEAD + at;
}

/* The store releases the record's contents to the host. */
static void
complete(uint64_t record, uint32_t size)
{
    __scoped_atomic_store_n((word *)record, size, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}

#define B(c) (1ull << ((c) & 63))

/* Is c in a set of characters that starts at 64 * high? */
static bool
is(uint32_t c, uint32_t high, uint64_t set)
{
    return (c >> 6 == high) & (set >> (c & 63));
}

/* The size of the arguments, from the format, %[flags][width][.precision][size]type, each at its alignment; *n: their number, not counting
 * width and precision arguments. Uses no switch, so that lanes need not take turns, and no table of addresses. */
static uint32_t
size_of(const unsigned char *format, uint32_t *n)
{
    const uint64_t flags = B(' ') | B('#') | B('+') | B('-') | B('.') | B('0') * 1023, wide = B('l') | B('j') | B('z') | B('t') | B('L');
    const uint64_t sized = B('d') | B('i') | B('u') | B('o') | B('x') | B('X');
    const uint64_t eight = B('s') | B('p') | B('e') | B('f') | B('g') | B('a') | B('E') | B('F') | B('G') | B('A');
    uint32_t size = 0, width = 0;               /* width: of the current specification's argument; 0: outside of a specification */
    for (uint32_t c; (c = *format++);) {
        bool star = c == '*', eights = is(c, 1, eight), wides = is(c, 1, wide);
        bool type = eights | is(c, 1, sized) | (c == 'c'), more = star | wides | is(c, 0, flags) | (c == 'h');
        uint32_t its = (eights | wides) ? 8 : (star | (c == 'c')) ? 4 : width, taken = ((width != 0) & (type | star)) ? its : 0;
        size = ((size + taken - 1) & -taken) + taken + (taken ? 0 : size);
        *n += (taken != 0) & type;
        width = !width ? (c == '%' ? 4 : 0) : !more ? 0 : wides ? 8 : width;
    }
    return (size + 7) & ~7u;
}

__attribute__((noinline)) uint32_t
cwd_print_vprintf(uint64_t fifo, uint64_t format, uint64_t arguments)
{
    uint32_t n = 0, size = size_of((const unsigned char *)format, &n);
    const uint32_t *from = (const uint32_t *)arguments;
    uint64_t record = take(fifo, CWD_PRINT_RECORD + size);
    if (!record)
        return (uint32_t)-1;
    ((word *)record)[1] = CWD_PRINT_FORMAT;
    ((long_word *)record)[1] = format;
#pragma clang loop vectorize(disable) unroll(disable)
    for (word *to = (word *)(record + CWD_PRINT_RECORD), *end = to + size / 4; to != end;)
        *to++ = *from++;
    complete(record, CWD_PRINT_RECORD + size);
    return n;
}

__attribute__((noinline)) void
cwd_print_assertfail(uint64_t fifo, uint64_t message, uint64_t file, uint64_t function, uint32_t line, uint32_t block_x, uint32_t block_y,
                     uint32_t block_z, uint32_t thread_x, uint32_t thread_y, uint32_t thread_z)
{
    enum { SIZE = CWD_PRINT_RECORD + 56 };
    uint64_t record = take(fifo, SIZE);
    if (!record)
        return;
    ((word *)record)[1] = CWD_PRINT_ASSERT;
    long_word *text = (long_word *)(record + CWD_PRINT_RECORD);
    text[0] = message;
    text[1] = file;
    text[2] = function;
    word *number = (word *)(text + 3);
    number[0] = line;
    number[1] = block_x;
    number[2] = block_y;
    number[3] = block_z;
    number[4] = thread_x;
    number[5] = thread_y;
    number[6] = thread_z;
    complete(record, SIZE);
}
