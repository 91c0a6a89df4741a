/* SPDX-License-Identifier: Apache-2.0
 * The device address region (impl/va.h) under random requests: blocks hold what was written to them, reservations are inaccessible, what lies in no block is
 * inaccessible while there are few holes, and with many there are no more mappings than the bound allows. Each block is at the lowest place that it fits into,
 * so that a program has the same addresses on each run. In the end all is as in the beginning.
 * Compiled with a bound of six runs, and with the libraries' own. */
#include "impl/va.h"
#include "tests/dice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: step %u: %s\n", __FILE__, __LINE__, step, #x); exit(1); } } while (0)

enum { BLOCKS = 256, STEPS = 30000, PAGE = 4096 };
enum kind { FREE, DATA, RESERVED };

static struct block {
    enum kind kind;
    uint64_t address, size, extent;     /* with the guard page */
    bool used[4];               /* of a reservation: which of its quarters */
    uint8_t tag;
} all[BLOCKS];
static unsigned step;
static int null[2];             /* a pipe */

static bool
is_accessible(uint64_t address)
{
    char c;
    ssize_t n = write(null[1], (const void *)(uintptr_t)address, 1);
    return n == 1 && read(null[0], &c, 1) == 1;
}

static unsigned
mappings(void)
{
    uint64_t base, size;
    unsigned n = 0;
    cw_va_region(&base, &size);
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long long at = strtoull(line, NULL, 16);
        n += at >= base && at < base + size;
    }
    fclose(f);
    return n;
}

/* First and last byte. */
static void
mark(uint64_t address, uint64_t size, uint8_t tag)
{
    *(volatile uint8_t *)(uintptr_t)address = tag;
    *(volatile uint8_t *)(uintptr_t)(address + size - 1) = tag;
}

static bool
is_marked(uint64_t address, uint64_t size, uint8_t tag)
{
    return *(volatile uint8_t *)(uintptr_t)address == tag && *(volatile uint8_t *)(uintptr_t)(address + size - 1) == tag;
}

static void
check_all(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const struct block *b = &all[i];
        CHECK(b->kind != DATA || is_marked(b->address, b->size, b->tag));
        for (unsigned q = 0; b->kind == RESERVED && q < 4; q++) {
            uint64_t part = b->size / 4, at = b->address + q * part;
            if (b->used[q])
                CHECK(is_marked(at, part, b->tag));
            else if (CW_VA_MANY > BLOCKS)               /* else it may have stayed accessible */
                CHECK(!is_accessible(at) && !is_accessible(at + part - 1));
        }
    }
}

static uint64_t
round_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

/* The lowest place for that many bytes: the region's begin, or behind a block, at which no block is met. */
static uint64_t
lowest(uint64_t extent, uint64_t align)
{
    uint64_t base, size, best = UINT64_MAX;
    cw_va_region(&base, &size);
    for (int i = -1; i < BLOCKS; i++) {
        if (i >= 0 && !all[i].kind)
            continue;
        const uint64_t from = round_up(i < 0 ? base + CW_VA_LOW : all[i].address + all[i].extent, align);
        bool fits = from < best;
        for (unsigned k = 0; fits && k < BLOCKS; k++)
            fits = !all[k].kind || from >= all[k].address + all[k].extent || from + extent <= all[k].address;
        best = fits ? from : best;
    }
    return best;
}

static void
begin(struct block *b, struct dice *s)
{
    static const uint32_t sizes[] = { 300, 512, 5000, 4096, 65536, 200000, 1 << 20, (1 << 20) + 5, 3 << 20 };
    static uint8_t tags;
    *b = (struct block){ .kind = step <= STEPS / 2 || rnd(s) % 8 ? DATA : RESERVED, .size = sizes[rnd(s) % (sizeof sizes / sizeof *sizes)], .tag = ++tags };
    const enum kind kind = b->kind;
    b->kind = FREE;
    if (kind == RESERVED) {
        b->size = b->extent = 4 * PAGE * (1 + b->size / (4 * PAGE));
        const uint64_t want = step > 1 ? lowest(b->extent, PAGE) : 0;
        CHECK(cw_va_reserve(b->size, PAGE, 0, &b->address) == CWB_OK && (!want || b->address == want));
        CHECK(!is_accessible(b->address) && !is_accessible(b->address + b->size - 1));
    } else {
        const bool pages = rnd(s) % 2, large = b->size >= 1 << 20;
        const uint64_t align = 1u << rnd(s) % 14, least = b->size >= 2 << 20 ? 2 << 20 : large || pages ? PAGE : 256;
        b->extent = large ? round_up(b->size, PAGE) + PAGE : pages ? round_up(b->size, PAGE) : b->size;
        const uint64_t want = step > 1 ? lowest(b->extent, align > least ? align : least) : 0;      /* before the first, there is no region */
        CHECK((pages ? cw_va_alloc_pages : cw_va_alloc)(b->size, align, &b->address) == CWB_OK && (!want || b->address == want));
        CHECK(!pages || is_marked(b->address, b->size, 0));
        if (b->size >= 1 << 20 && CW_VA_MANY > BLOCKS)
            CHECK(!is_accessible((b->address + b->size + PAGE - 1) & ~(uint64_t)(PAGE - 1)));
        mark(b->address, b->size, b->tag);
    }
    b->kind = kind;
}

static void
end(struct block *b)
{
    CHECK((b->kind == DATA ? cw_va_free(b->address, b->size) : cw_va_release(b->address, b->size)) == CWB_OK);
    b->kind = FREE;
    if (CW_VA_MANY > BLOCKS && b->size >= 2 * PAGE)
        CHECK(!is_accessible(b->address + b->size / 2));
}

int
main(void)
{
    struct dice s = { .state = 0x9e3779b97f4a7c15ull };
    CHECK(!pipe(null));
    for (step = 1; step <= STEPS; step++) {
        struct block *b = &all[rnd(&s) % BLOCKS];
        if (b->kind == FREE) {
            begin(b, &s);
        } else if (b->kind == RESERVED && rnd(&s) % 4) {
            const unsigned q = rnd(&s) % 4;
            const uint64_t part = b->size / 4, at = b->address + q * part;
            b->used[q] = !b->used[q];
            CHECK(cw_va_use(at, part, b->used[q]) == CWB_OK);
            if (b->used[q]) {
                CHECK(!*(volatile uint8_t *)(uintptr_t)at);
                mark(at, part, b->tag);
            }
        } else {
            end(b);
        }
        if (step % 50 == 0)
            check_all();
        /* Runs and the holes between them; without reservations, which force them apart. */
        if (step % 500 == 0 && step <= STEPS / 2 && CW_VA_MANY < BLOCKS)
            CHECK(mappings() < 2 * CW_VA_MANY + 12);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (all[i].kind)
            end(&all[i]);
    CHECK(mappings() < 4);
    return 0;
}
