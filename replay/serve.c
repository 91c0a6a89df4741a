/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --serve: the subject of cudaway-diff, and the checks of CUDAWAY_CHECK. See replay.h. */
#define _GNU_SOURCE
#include "replay/analyze.h"
#include "replay/bounds.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/replay.h"

#include "impl/base/fault.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void
add_line(void *user, const struct cwd_difference *x)
{
    struct cw_buf *b = user;
    cw_buf_puts(b, " ");
    cwd_difference_print(x, "reference", "subject", b);
    cwd_difference_json(x, b);
    cw_buf_puts(b, "\n");
}

/* Some kernels may give another result every time. */
static void
explain(const struct cwd_session *s, const struct cwd_dump *d, struct cw_buf *b)
{
    struct cwd_program p;
    struct cwd_facts f = { 0 };
    cwd_program_open(&p, d->inputs, d->ninputs, d->linked, s->compute_capability);
    const struct cwj_kernel *k = cwd_program_kernel(&p, d->kernel);
    bool known = k && cwd_facts_of(k, &f), fuses = s->fuses || strncmp(d->device, "CUDAway", 7);
    struct cw_buf may;
    if (known && f.order_matters)
        cw_buf_puts(b, " the kernel uses atomic operations whose outcome depends on the order of threads: it may differ from run to run\n");
    if (known && f.approximate)
        cw_buf_puts(b, " the kernel uses approximate instructions, whose last bits PTX leaves open: --ulp N allows for them\n");
    if (known && f.fusible && fuses)
        cw_buf_puts(b, " the kernel has mul and add without rounding modifiers, which NVIDIA's compiler may fuse: cuda-native:O0 does not\n");
    cw_buf_init(&may);
    cw_buf_printf(&may, "%s%s%s", known && f.order_matters ? ", order of atomics" : "", known && f.approximate ? ", approximate functions" : "",
                  known && f.fusible && fuses ? ", contraction" : "");
    if (may.size > 2)
        cw_buf_printf(b, "{\"may_be\":\"%s\"}\n", may.data + 2);
    cw_buf_finish(&may);
    cwd_facts_finish(&f);
    cwd_program_close(&p);
}

static void
add_nothing(void *user, const struct cwd_difference *x)
{
}

/* Where there are none, a line says why. */
static void
find_bounds(struct cwd_session *session, const char *path, struct cwd_bounds *bounds, struct cw_buf *b)
{
    struct cwl_side s = { .session = session };
    struct cwd_error e = { "" };
    snprintf(s.label, sizeof s.label, "%s", session->device);
    if (cwl_open(&s, path, &e) != CW_OK || cwl_parse(&s, session->compute_capability, &e) != CW_OK || cwd_bounds_run(&s, bounds, &e) != CW_OK)
        cw_buf_printf(b, " %s\n", e.text);
    cwl_close(&s);
}

static void
run_one(struct cwd_session *s, const char *path, const struct cwd_tolerances *t, bool with_bounds, struct cw_buf *b)
{
    struct cwd_dump d;
    struct cwd_outcome o;
    struct cwd_error e = { "" };
    if (cwd_read(path, 0, 0, &d, &e) != CW_OK) {
        cw_buf_printf(b, "= 2 %s\n", e.text);
        return;
    }
    if (cwd_session_run(s, &d, CWD_RUN_MAY_MOVE, 0, &o, &e) != CW_OK) {
        cw_buf_printf(b, "= 2 %s\n", e.text);
    } else {
        struct cwd_bounds bounds = { 0 };
        if (with_bounds && cwd_compare_by(&d, &o, t, NULL, add_nothing, NULL))
            find_bounds(s, path, &bounds, b);
        uint32_t n = cwd_compare_by(&d, &o, t, &bounds, add_line, b);
        cwd_bounds_finish(&bounds);
        if (n)
            explain(s, &d, b);
        cw_buf_printf(b, "= %d\n", n ? 1 : 0);
        cwd_outcome_finish(&o);
    }
    cwd_finish(&d);
}

/* ---- checks ----------------------------------------------------------------------------------------------------------------- */

static void
read_history(struct cwl_side *s, const char *dump)
{
    char path[PATH_MAX], word[8], text[600];
    unsigned long long address, size;
    struct cwl_allocation *list = NULL;
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s.history", dump);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%7s %llx %llu %599[^\n]", word, &address, &size, text) == 4) {
        struct cwl_allocation *more = realloc(list, (n + (size_t)1) * sizeof *list);
        if (!more)
            break;
        list = more;
        list[n++] = (struct cwl_allocation){ address, size, !strcmp(word, "freed"), strdup(text) };
    }
    if (f)
        fclose(f);
    s->history = list;
    s->nhistory = n;
}

static void
add_lines(struct cw_buf *b, const char *mark, char *lines)
{
    for (char *line = lines, *end; line && (end = strchr(line, '\n')); line = end + 1)
        cw_buf_printf(b, " %s%.*s\n", mark, (int)(end - line), line);
}

static void
check_one(struct cwd_session *session, const char *path, unsigned checks, struct cw_buf *b)
{
    struct cwl_side s = { .session = session };
    struct cwc_report r = { .found = 0 };
    struct cwd_error e = { "" };
    snprintf(s.label, sizeof s.label, "%s", session->device);
    read_history(&s, path);
    if (cwl_open(&s, path, &e) == CW_OK && cwl_parse(&s, s.dump.compute_capability ? s.dump.compute_capability : 86, &e) == CW_OK &&
        cwc_run(&s, checks, &r, &e) == CW_OK) {
        add_lines(b, "", r.lines.data);
        add_lines(b, "note: ", r.notes.data);
        cw_buf_printf(b, "= %d\n", r.found ? 1 : 0);
    } else {
        cw_buf_printf(b, "= 2 %s\n", e.text);
    }
    cwc_report_finish(&r);
    for (uint32_t i = 0; i < s.nhistory; i++)
        free(s.history[i].text);
    free((struct cwl_allocation *)(uintptr_t)s.history);
    cwl_close(&s);
}

/* ---- the end of who started it ----------------------------------------------------------------------------------------------- */

enum { GRACE_SECONDS = 3 };             /* for the loop to find the end of its input, and to end in order */

/* The loop does not see that end while it runs a kernel, which may be endless. A child of the program may hold the input open. */
static void *
watch(void *program)
{
    struct pollfd p[2] = { { .fd = STDIN_FILENO }, { .fd = (int)(intptr_t)program, .events = POLLIN } };
    while (poll(p, 2, -1) < 0)
        ;
    sleep(GRACE_SECONDS);
    _exit(2);
}

static void
watch_program(int program)
{
    pthread_t t;
    if (program < 0)
        program = (int)syscall(SYS_pidfd_open, getppid(), 0);   /* -1: the input alone is watched */
    if (!cw_thread_create(&t, NULL, watch, (void *)(intptr_t)program))
        pthread_detach(t);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------------------- */

int
cwd_serve(const char *on, const struct cwd_tolerances *t, bool bounds, unsigned checks, int program)
{
    struct cwd_session s;
    struct cwd_error e = { "" };
    int out = dup(STDOUT_FILENO), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FILE *f = out >= 0 && nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 ? fdopen(out, "w") : NULL;
    if (!f)
        return 2;
    watch_program(program);
    if (cwd_session_open(&s, on, &e) != CW_OK) {
        fprintf(f, "= 2 %s\n", e.text);
        fflush(f);
        return 2;
    }
    if (checks)
        cwd_session_enlarge_stack(&s);
    fprintf(f, "= 0 %s\n", s.device);
    fflush(f);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getdelim(&line, &capacity, 0, stdin)) > 0) {
        struct cw_buf b;
        cw_buf_init(&b);
        if (checks)
            check_one(&s, line, checks, &b);
        else
            run_one(&s, line, t, bounds, &b);
        if (b.failed)
            fputs("= 2 out of memory\n", f);
        else
            fwrite(b.data, 1, b.size, f);
        cw_buf_finish(&b);
        if (fflush(f))
            break;
    }
    free(line);
    fclose(f);
    cwd_session_close(&s);
    return 0;
}
