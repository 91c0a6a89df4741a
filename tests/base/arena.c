/* SPDX-License-Identifier: Apache-2.0
 * Arenas: guarded work ends where memory runs out, and only there; arrays that grow keep what they hold. */
#include "impl/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(c)                                                        \
    do {                                                                \
        if (!(c)) {                                                     \
            printf("%s:%d: not %s\n", __FILE__, __LINE__, #c);          \
            failures++;                                                 \
        }                                                               \
    } while (0)

struct work {
    struct cw_arena a, second;
    bool fail, fail_inside, fail_second, inside, ended;
    char *kept;
};

static void
nested(void *user)
{
    struct work *w = user;
    if (w->fail_inside)
        cw_arena_alloc(&w->a, SIZE_MAX);
}

static void
run(void *user)
{
    struct work *w = user;
    cw_arena_guard_too(&w->second, &w->a);
    w->kept = cw_arena_printf(&w->a, "kept %d", 1);
    w->inside = cw_arena_guard(&w->a, nested, w);
    if (w->fail_second)
        cw_arena_alloc(&w->second, SIZE_MAX);
    if (w->fail)
        cw_arena_exhausted(&w->a);
    w->ended = true;
}

static void
check_guard(bool fail, bool fail_inside, bool fail_second)
{
    struct work w = { .fail = fail, .fail_inside = fail_inside, .fail_second = fail_second };
    const bool ends = !fail && !fail_second;
    cw_arena_init(&w.a);
    cw_arena_init(&w.second);
    CHECK(cw_arena_guard(&w.a, run, &w) == ends && w.ended == ends);
    CHECK(w.inside == !fail_inside);
    CHECK(!strcmp(w.kept, "kept 1"));
    CHECK(!cw_arena_alloc(&w.a, SIZE_MAX));     /* guarded no more */
    cw_arena_finish(&w.second);
    cw_arena_finish(&w.a);
}

static void
check_growth(void)
{
    struct cw_arena a;
    uint32_t *at = NULL, cap = 0, n = 0;
    cw_arena_init(&a);
    for (; n < 1000; n++) {
        at = cw_arena_grow(&a, at, n, 1, &cap, sizeof *at);
        CHECK(cap > n && at[n] == 0);
        at[n] = n + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        CHECK(at[i] == i + 1);
    uint32_t room = cap - n;
    CHECK(cw_arena_grow(&a, at, n, room, &cap, sizeof *at) == at);
    CHECK(!cw_arena_grow(&a, at, n, UINT32_MAX, &cap, sizeof *at));
    cw_arena_finish(&a);
}

int
main(void)
{
    for (unsigned k = 0; k < 8; k++)
        check_guard(k & 1, k & 2, k & 4);
    check_growth();
    return failures != 0;
}
