/* SPDX-License-Identifier: Apache-2.0
 * The analyses before emission (dominators, loops, liveness, divergence, affine values) on hostile control flow: the time grows with
 * the text, and at worst, in nests of thousands of loops, with the square of the depth. Each shape is analysed in two sizes; the
 * ratio of processor times of one run counts, so that a slow or busy machine changes nothing. -v prints the times. */
#include "impl/base/buf.h"
#include "jit/analysis/flow.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void
head(struct cw_buf *b)
{
    cw_buf_puts(b, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<64>;\n.reg .b64 %d<4>;\n.reg .pred %p<64>;\n"
                "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 7;\nld.param.u64 %d0, [p];\n");
}

/* if (tid < 7) { if (tid < 7) { ... } } */
static void
nested_ifs(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "@%%p0 bra X%u;\nadd.u32 %%r%u, %%r0, %u;\n", i, 1 + i % 60, i);
    for (unsigned i = n; i-- > 0;)
        cw_buf_printf(b, "X%u:\nadd.u32 %%r%u, %%r%u, 1;\n", i, 1 + i % 60, 1 + (i + 1) % 60);
}

static void
diamonds(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "@%%p0 bra E%u;\nadd.u32 %%r%u, %%r0, %u;\nbra X%u;\nE%u:\nadd.u32 %%r%u, %%r1, 3;\nX%u:\n", i, 1 + i % 60, i, i, i, 1 + (i + 7) % 60, i);
}

/* All branches leave to one place, which joins them all. */
static void
ladder(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "add.u32 %%r%u, %%r%u, %%r0;\n@%%p0 bra OUT;\n", 1 + i % 60, 1 + (i + 1) % 60);
    cw_buf_puts(b, "OUT:\n");
}

static void
cases_of_a_switch(struct cw_buf *b, unsigned n)
{
    cw_buf_puts(b, "T: .branchtargets S0");
    for (unsigned i = 1; i < n; i++)
        cw_buf_printf(b, ", S%u", i);
    cw_buf_puts(b, ";\nbrx.idx %r0, T;\n");
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "S%u:\nadd.u32 %%r%u, %%r0, %u;\nbra OUT;\n", i, 1 + i % 60, i);
    cw_buf_puts(b, "OUT:\n");
}

static void
falling_through(struct cw_buf *b, unsigned n)
{
    cw_buf_puts(b, "T: .branchtargets S0");
    for (unsigned i = 1; i < n; i++)
        cw_buf_printf(b, ", S%u", i);
    cw_buf_puts(b, ";\nbrx.idx %r0, T;\n");
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "S%u:\nadd.u32 %%r%u, %%r0, %u;\n", i, 1 + i % 60, i);
}

static void
nested_loops(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "H%u:\nadd.u32 %%r%u, %%r%u, 1;\n", i, 1 + i % 60, 1 + (i + 1) % 60);
    for (unsigned i = n; i-- > 0;)
        cw_buf_printf(b, "setp.lt.u32 %%p1, %%r%u, 100;\n@%%p1 bra H%u;\n", 1 + i % 60, i);
}

static void
loops_in_a_row(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "H%u:\nadd.u32 %%r%u, %%r%u, %%r0;\nsetp.lt.u32 %%p1, %%r%u, 100;\n@%%p1 bra H%u;\n", i, 1 + i % 60, 1 + (i + 1) % 60, 1 + i % 60, i);
}

/* In a loop, every register gets the next one's value: what varies is found out from the last to the first. */
static void
backward_chain(struct cw_buf *b, unsigned n)
{
    cw_buf_printf(b, ".reg .b32 %%x<%u>;\nH:\n", n + 1);
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "mov.u32 %%x%u, %%x%u;\n", i, i + 1);
    cw_buf_printf(b, "mov.u32 %%x%u, %%r0;\nsetp.lt.u32 %%p1, %%x0, 3;\n@%%p1 bra H;\n", n);
}

/* Two-entry loops within each other. */
static void
irreducible(struct cw_buf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "@%%p0 bra B%u;\nA%u:\nadd.u32 %%r%u, %%r1, 1;\n", i, i, 1 + i % 60);
    for (unsigned i = n; i-- > 0;)
        cw_buf_printf(b, "B%u:\nsetp.lt.u32 %%p2, %%r%u, 3;\n@%%p2 bra A%u;\n", i, 1 + i % 60, i);
}

static const struct shape {
    const char *name;
    void (*make)(struct cw_buf *b, unsigned n);
    unsigned n, factor;
} shapes[] = {
#define S(f, n, factor) { #f, f, n, factor }
    S(nested_ifs, 1000, 9), S(diamonds, 1000, 9), S(ladder, 1000, 9), S(cases_of_a_switch, 1000, 9), S(falling_through, 1000, 9), S(nested_loops, 500, 26),
    S(loops_in_a_row, 1000, 9), S(backward_chain, 1000, 9), S(irreducible, 500, 26),
};

/* Processor time of one analysis in seconds; below 0: it failed. */
static double
analyse(const struct shape *s, unsigned n)
{
    struct cw_buf b;
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    struct cw_arena arena;
    struct flow f = { 0 };
    double best = -1;
    cw_buf_init(&b);
    cwj_diags_init(&d);
    head(&b);
    s->make(&b, n);
    cw_buf_puts(&b, "st.global.u32 [%d0], %r1;\nret;\n}\n");
    if (b.failed || ptx_parse(s->name, b.data, b.size, &m, &d) != CW_OK || ptx_function_build_cfg(m->funcs[0]) != CW_OK) {
        cwj_diags_render(&d, s->name, b.data, b.size, &b);
        printf("%s: not parsed\n", s->name);
        goto done;
    }
    for (unsigned k = 0; k < 3; k++) {
        cw_arena_init(&arena);
        clock_t t = clock();
        flow_analyse(&f, m->funcs[0], 8, true, &arena);
        double took = (double)(clock() - t) / CLOCKS_PER_SEC;
        cw_arena_finish(&arena);
        best = best < 0 || took < best ? took : best;
        if (took > 2)
            break;
    }
done:
    ptx_module_destroy(m);
    cwj_diags_finish(&d);
    cw_buf_finish(&b);
    return best;
}

int
main(int argc, char **argv)
{
    bool verbose = argc > 1 && !strcmp(argv[1], "-v");
    int bad = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const struct shape *s = shapes; s < shapes + sizeof shapes / sizeof *shapes; s++) {
        double one = analyse(s, s->n), four = analyse(s, 4 * s->n);
        /* Four times as much: 4 would be linear, 16 quadratic, 64 cubic. What takes next to no time may do so. */
        bool good = one >= 0 && four >= 0 && (four < s->factor * one || four < 0.05);
        if (!good || verbose)
            printf("%s%s: %u takes %.1f ms, %u takes %.1f ms\n", good ? "" : "FAIL: ", s->name, s->n, 1e3 * one, 4 * s->n, 1e3 * four);
        bad += !good;
    }
    printf("%d failures\n", bad);
    return bad != 0;
}
