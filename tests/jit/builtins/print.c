/* SPDX-License-Identifier: Apache-2.0
 * What kernels that print do (jit/builtins/print.c), compiled for this CPU: the bytes of arguments that a format takes, the value of vprintf (that of
 * the host device's, impl/format.c), records and a FIFO without room. */
#define __scoped_atomic_store_n(p, v, order, scope) __atomic_store_n(p, v, order)
#define __scoped_atomic_fetch_add(p, v, order, scope) __atomic_fetch_add(p, v, order)
#define __MEMORY_SCOPE_DEVICE 0
#define __MEMORY_SCOPE_SYSTEM 0
#include "jit/builtins/print.c"

#include "impl/format.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 256 };

static struct {
    uint32_t taken, room, words[ROOM / 4];
} fifo __attribute__((aligned(8)));

static int failed;

static void
fail(const char *what, const char *format)
{
    fprintf(stderr, "%s: %s\n", format, what);
    failed = 1;
}

static void
clear(void)
{
    memset(&fifo, 0, sizeof fifo);
    fifo.room = ROOM;
}

/* bytes: up to a multiple of 8. The arguments are all zero bits but for a mark in each word. */
static void
try(const char *format, uint32_t bytes, uint32_t n)
{
    uint32_t args[16] = { 0 }, record[4] = { CWD_PRINT_RECORD + bytes, CWD_PRINT_FORMAT };
    uint64_t address = (uintptr_t)format;
    char text[CW_FORMAT_MAX];
    size_t size;
    clear();
    memcpy(record + 2, &address, 8);
    if (cw_format(format, (const uint8_t *)args, sizeof args, 8, NULL, NULL, text, &size) != (int32_t)n)
        fail("the host device has another number of conversions", format);
    for (uint32_t i = 0; i < 16; i++)
        args[i] = 100 + i;
    if (cwd_print_vprintf((uintptr_t)&fifo, address, (uintptr_t)args) != n)
        fail("vprintf has another value", format);
    if (fifo.taken != CWD_PRINT_RECORD + bytes || memcmp(fifo.words, record, sizeof record) || memcmp(fifo.words + 4, args, bytes) ||
        (bytes < 64 && fifo.words[4 + bytes / 4]))
        fail("the record is another", format);
}

int
main(void)
{
    static const struct { const char *format; uint32_t bytes, n; } cases[] = {
        { "", 0, 0 }, { "no %% argument %", 0, 0 }, { "%d", 8, 1 }, { "%i %u", 8, 2 }, { "%o%x%X", 16, 3 }, { "%c%c%c%c%c", 24, 5 },
        { "%ld", 8, 1 }, { "%d %lld", 16, 2 }, { "%lu%d", 16, 2 }, { "%jd %zu %td %hd %hhu", 32, 5 }, { "%d%d%zx", 16, 3 },
        { "%f", 8, 1 }, { "%c %e %c %G", 32, 4 }, { "%Lf%a%A%E%F%g", 48, 6 }, { "%s %p %d", 24, 3 }, { "%d%s", 16, 2 }, { "%lc%c", 8, 2 },
        { "%-+ #08.3d|%5.2f", 16, 2 }, { "%*d", 8, 1 }, { "%*.*f", 16, 1 }, { "%.*s%d", 24, 2 }, { "%d%*lld", 16, 2 },
        { "%q %d", 8, 1 }, { "%%%d%%", 8, 1 }, { "\xe2\x82\xac %d \xff", 8, 1 }, { "100% \xe4%d", 8, 1 },
    };
    uint32_t arg = 7;
    const uint64_t full = (uintptr_t)&fifo, one = (uintptr_t) "%d";
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        try(cases[i].format, cases[i].bytes, cases[i].n);
    if (cwd_print_vprintf(0, one, (uintptr_t)&arg) != UINT32_MAX)
        fail("vprintf without a FIFO has another value", "%d");
    clear();                            /* records of 24 bytes: there is room for ten */
    for (unsigned i = 0; i < 12; i++)
        if (cwd_print_vprintf(full, one, (uintptr_t)(uint32_t[]){ i, 0 }) != (i < 10 ? 1 : UINT32_MAX))
            fail("vprintf has another value where there is little room", "%d");
    cwd_print_assertfail(full, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    if (fifo.taken != 12 * 24 + 72 || fifo.words[9 * 6] != 24 || fifo.words[9 * 6 + 4] != 9 || fifo.words[10 * 6])
        fail("records that did not fit", "%d");
    clear();
    static const uint32_t assertion[18] = { 72, CWD_PRINT_ASSERT, 0, 0, 1, 0, 2, 0, 3, 0, 4, 5, 6, 7, 8, 9, 10 };
    cwd_print_assertfail(full, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    if (memcmp(fifo.words, assertion, sizeof assertion))
        fail("the record is another", "assert");
    return failed;
}
