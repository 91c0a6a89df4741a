/* SPDX-License-Identifier: Apache-2.0
 * test_names ARCH USED-OUT: each instruction that LLVM knows for a processor is executed, or listed in tools/gfxemu/left_out.c.
 * test_names --unused USED...: each row of that list was for an instruction of some processor. */
#include "tools/gfxemu/gfx.h"
#include "tools/gfxemu/llvm_names.h"

#include <stdio.h>
#include <string.h>

static unsigned failures;

static bool
executed(const struct gfx_target *t, const struct gfx_llvm_name *n)
{
    char error[256];
    struct gfx_code *c = gfx_code_create(t, (const uint8_t *)n->code, 0, sizeof n->code);
    const struct gfx_insn *i = c ? gfx_decode(c, 0, t->family < GFX10, error) : NULL;
    bool known = i && i->exec;
    gfx_code_destroy(c);
    return known;
}

static int
unused(int nfiles, char **files)
{
    static bool used[1024];
    for (int k = 0; k < nfiles; k++) {
        FILE *f = fopen(files[k], "r");
        unsigned n;
        while (f && fscanf(f, "%u", &n) == 1)
            if (n < 1024)
                used[n] = true;
        if (f)
            fclose(f);
    }
    for (unsigned n = 0; gfx_left_out[n].name; n++)
        if (!used[n]) {
            printf("tools/gfxemu/left_out.c: no processor has %s\n", gfx_left_out[n].name);
            failures++;
        }
    return failures != 0;
}

int
main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "--unused"))
        return unused(argc - 2, argv + 2);
    const struct gfx_target *t = argc == 3 ? gfx_target_find(argv[1]) : NULL;
    FILE *out = t ? fopen(argv[2], "w") : NULL;
    if (!out) {
        printf("usage: test_names ARCH USED-OUT\n");
        return 2;
    }
    struct gfx_llvm_name *names = gfx_llvm_names(t->name);
    unsigned all = 0, known = 0, listed = 0;
    for (const struct gfx_llvm_name *n = names; n && n->text; n++) {
        bool runs = executed(t, n);
        const struct gfx_left_out *row = gfx_left_out_find(n->text);
        all++;
        known += runs;
        listed += row != NULL;
        if (row)
            fprintf(out, "%u\n", (unsigned)(row - gfx_left_out));
        if (runs == (row != NULL)) {
            printf("%s: %s (0x%08x 0x%08x) is %s\n", t->name, n->text, n->code[0], n->code[1],
                   runs ? "executed, and listed in tools/gfxemu/left_out.c" : "neither executed nor listed in tools/gfxemu/left_out.c");
            failures++;
        }
    }
    fclose(out);
    gfx_llvm_names_free(names);
    printf("%s: %u instructions, %u executed, %u left out, %u failures\n", t->name, all, known, listed, failures);
    return failures || all < 1000;          /* each has more than that */
}
