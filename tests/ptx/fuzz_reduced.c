/* SPDX-License-Identifier: Apache-2.0
 * What cudaway-ptx-fuzz writes down of a reduced program is PTX: programs of which nodes are taken out and unwrapped at random, as a
 * reduction does, are printed as its findings are, and parsed. Usage: fuzz_reduced [PROGRAMS [SEED]] */
#include "jit/ptx/ptx_private.h"
#include "tools/ptx-fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
reduce(struct program *p, struct rng *r)
{
    uint32_t percent = 10 + rng_below(r, 90);
    for (uint32_t i = 0; i < p->nnodes; i++) {
        struct node *n = p->node[i];
        n->off = n->off || rng_percent(r, percent);
        if (n->nseqs && rng_percent(r, 30)) {
            n->unwrapped = true;
            n->keep = (uint8_t)rng_below(r, n->nseqs);
        }
        if (rng_percent(r, 30))
            n->guard = -1;
    }
    if (rng_percent(r, 50)) {
        p->grid[0] = p->grid[1] = p->grid[2] = 1;
        if (!p->use_matrix)
            p->block[0] = p->block[1] = p->block[2] = 1;
    }
    p->minimal = true;
    p->literal = program_threads(p) == 1 && rng_percent(r, 50);
}

static bool
parses(const struct cw_buf *b, uint64_t seed)
{
    struct cwj_diags diags;
    struct ptx_module *m = NULL;
    cwj_diags_init(&diags);
    bool good = ptx_parse("reduced", b->data, b->size, &m, &diags) == CW_OK && !diags.errors;
    if (!good) {
        const struct cwj_diag *d = diags.first;
        printf("seed %llu, reduced: line %u: %s\n", (unsigned long long)seed, d ? d->line : 0, d ? d->text : "?");
    }
    if (m)
        ptx_module_destroy(m);
    cwj_diags_finish(&diags);
    return good;
}

int
main(int argc, char **argv)
{
    static struct forms forms;
    struct options o = { .size = 24, .ptx = 86, .sm = 89, .contract = true };
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 300, seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    unsigned bad = 0;
    forms_build(&forms, o.ptx, o.sm);
    for (uint64_t i = 0; i < count; i++) {
        struct program p;
        struct cw_buf text, out;
        struct rng r = { rng_hash(seed + i, 1) };
        cw_buf_init(&text);
        cw_buf_init(&out);
        program_generate(&p, seed + i, &o, &forms);
        reduce(&p, &r);
        print_program(&p, 0, false, &text);
        print_header(&o, &out);
        prune_declarations(text.data ? text.data : "", &out);
        bad += p.failed || out.failed || !parses(&out, seed + i);
        if (argc > 3)
            fwrite(out.data, 1, out.size, stdout);
        program_finish(&p);
        cw_buf_finish(&text);
        cw_buf_finish(&out);
    }
    forms_finish(&forms);
    printf("%llu programs, %u are no PTX\n", (unsigned long long)count, bad);
    return bad != 0;
}
