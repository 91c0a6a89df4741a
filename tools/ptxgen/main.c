/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptxgen: pages and lists made from the opcode table, for developers. Exit status: 0, 1 the page is stale or incomplete,
 * 2 trouble. */
#include "tools/ptxgen/coverage.h"

#include "impl/base/file.h"
#include "impl/base/program.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
trouble(const char *what, const char *name)
{
    fprintf(stderr, "cudaway-ptxgen: %s %s\n", what, name);
    return 2;
}

static char *
read_text(const char *path)
{
    char *text = NULL;
    size_t size;
    return cw_file_read(path, 64 << 20, &text, &size) == CW_OK ? text : NULL;
}

/* coverage FORMS UNTESTED CORPUS PAGE: write the page; check ...: compare with it. */
static int
coverage(char **argv, bool check)
{
    struct cov_list l = { .count = 0 };
    struct cw_buf page;
    char *forms = read_text(argv[0]), *untested = read_text(argv[1]), *old = check ? read_text(argv[3]) : NULL;
    int status = 2;
    cw_arena_init(&l.arena);
    cw_buf_init(&page);
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    if (!forms || !untested || !jit) {
        trouble("cannot read", forms ? argv[1] : argv[0]);
        goto done;
    }
    if (!cov_forms(&l, forms) || !cov_ask(&l, jit) || !cov_scan(&l, argv[2])) {
        trouble("cannot make", argv[3]);
        goto done;
    }
    bool all = cov_print(&l, untested, &page);
    status = !cov_table_holds(&l);
    if (l.failed) {
        status = trouble("out of memory", "");
    } else if (!check) {
        if (cw_file_write_atomic(argv[3], page.data, page.size, 0644) != CW_OK)
            status = trouble("cannot write", argv[3]);
    } else {
        if (!old || strcmp(old, page.data)) {
            printf("%s is stale: ninja cudaway-ptx-coverage-update\n", argv[3]);
            status = 1;
        }
        if (!all)       /* not a failure while tests are being written; the page shows them */
            printf("forms are emitted that no test executes; see the end of %s\n", argv[3]);
    }
done:
    free(forms);
    free(untested);
    free(old);
    cw_buf_finish(&page);
    cov_finish(&l);
    return status;
}

/* list FORMS CORPUS: a line a form: which targets emit it, how many tests execute it, the instruction. For authors of tests. */
static int
list(char **argv)
{
    struct cov_list l = { .count = 0 };
    char *forms = read_text(argv[0]);
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    cw_arena_init(&l.arena);
    int status = forms && jit && cov_forms(&l, forms) && cov_ask(&l, jit) && cov_scan(&l, argv[1]) ? 0 : trouble("cannot list", argv[0]);
    for (uint32_t i = 0; i < l.count && !status; i++) {
        const struct cov_form *x = &l.at[i];
        printf("%c%c%c %u %s\n", x->refused[0] ? '-' : 'h', x->refused[1] ? '-' : 'n', x->refused[2] ? '-' : 'a', x->nfiles, x->text);
    }
    free(forms);
    cov_finish(&l);
    return status;
}

/* accepted: of the instructions on standard input, one a line, those that the front end takes. */
static int
accepted(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        struct cov_list l = { .count = 0 };
        line[strcspn(line, "\n")] = 0;
        cw_arena_init(&l.arena);
        const struct ptx_function *fn;
        if (cov_parse_inst(&l, line, &fn, NULL))
            puts(line);
        cov_finish(&l);
    }
    return 0;
}

static const struct cw_program program = {
    .name = "cudaway-ptxgen",
    .summary = "make pages and lists from the table of PTX opcodes",
    .operands = "coverage|check FORMS UNTESTED CORPUS PAGE, list FORMS CORPUS, candidates, accepted",
    .description = "coverage writes the page of what is covered, check compares with it; list prints each form with the targets that emit it and the number of tests that execute it; "
                   "candidates prints instructions that may be forms; accepted reads such and prints those that the front end takes.",
    .options = (const struct cw_option[]){ { 0 } },
    .exits = (const struct cw_exit[]){ { "0", "done" }, { "1", "the page is stale or incomplete" }, { "2", "trouble" }, { 0 } },
    .usage_status = 2,
};

int
main(int argc, char **argv)
{
    struct cw_command_line line = { &program, argc, argv };
    if (cw_next_option(&line) != CW_OPTIONS_END)
        return line.status;
    argv += optind;
    argc -= optind;
    if (argc == 1 && !strcmp(argv[0], "accepted"))
        return accepted();
    if (argc == 1 && !strcmp(argv[0], "candidates")) {
        struct cov_list l = { .count = 0 };
        cw_arena_init(&l.arena);
        cov_candidates(&l);
        cov_finish(&l);
        return 0;
    }
    if (argc == 5 && (!strcmp(argv[0], "coverage") || !strcmp(argv[0], "check")))
        return coverage(argv + 1, !strcmp(argv[0], "check"));
    if (argc == 3 && !strcmp(argv[0], "list"))
        return list(argv + 1);
    return cw_usage_error(&program, "no command of coverage, check, list, candidates, accepted with its arguments");
}
