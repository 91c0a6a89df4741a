/* SPDX-License-Identifier: Apache-2.0
 * parse FILE...: CPU time of lexing, parsing and checking a PTX file on one core (the least of some rounds), and the memory
 * that the result takes, as a multiple of the text. */
#include "jit/ptx/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double
cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 && !fseek(f, 0, SEEK_SET) && (text = malloc((size_t)n)))
        *size = fread(text, 1, (size_t)n, f);
    if (f)
        fclose(f);
    if (!text || *size != (size_t)n) {
        fprintf(stderr, "parse: cannot read %s\n", path);
        exit(2);
    }
    return text;
}

int
main(int argc, char **argv)
{
    enum { ROUNDS = 9 };
    for (int i = 1; i < argc; i++) {
        size_t size = 0, memory = 0;
        char *text = read_file(argv[i], &size);
        double best = 1e9;
        for (int r = 0; r < ROUNDS; r++) {
            struct ptx_module *m;
            struct cwj_diags d;
            cwj_diags_init(&d);
            double start = cpu_seconds();
            cw_result e = ptx_parse(argv[i], text, size, &m, &d);
            double t = cpu_seconds() - start;
            if (e != CW_OK) {
                fprintf(stderr, "parse: %s is not valid PTX\n", argv[i]);
                return 1;
            }
            memory = m->arena.total;
            ptx_module_destroy(m);
            cwj_diags_finish(&d);
            best = t < best ? t : best;
        }
        const char *name = argv[i];
        for (const char *s = name; *s; s++)
            name = *s == '/' ? s + 1 : name;
        printf("parse    %-24s %8zu bytes %8.2f ms: %.0f MB/s, memory %.1f times the text\n", name, size, best * 1e3,
               (double)size / best / 1e6, (double)memory / (double)size);
        free(text);
    }
    return 0;
}
