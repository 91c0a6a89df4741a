/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --serve: the subject of cudaway-diff. See replay.h. */
#define _GNU_SOURCE
#include "replay/analyze.h"
#include "replay/compare.h"
#include "replay/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
add_line(void *user, const struct cwd_difference *x)
{
    struct cw_buf *b = user;
    cw_buf_puts(b, " ");
    cwd_difference_print(x, "reference", "subject", b);
}

/* Some kernels may give another result every time. */
static void
explain(const struct cwd_session *s, const struct cwd_dump *d, struct cw_buf *b)
{
    struct cwd_program p;
    struct cwd_facts f = { 0 };
    cwd_program_open(&p, d->inputs, d->ninputs, d->linked, s->compute_capability);
    const struct cwj_kernel *k = cwd_program_kernel(&p, d->kernel);
    bool known = k && cwd_facts_of(k, &f);
    if (known && f.order_matters)
        cw_buf_puts(b, " the kernel uses atomic operations whose outcome depends on the order of threads: it may differ from run to run\n");
    if (known && f.approximate)
        cw_buf_puts(b, " the kernel uses approximate instructions, whose last bits PTX leaves open: --ulp N allows for them\n");
    if (known && f.fusible && (s->fuses || strncmp(d->device, "CUDAway", 7)))
        cw_buf_puts(b, " the kernel has mul and add without rounding modifiers, which NVIDIA's compiler may fuse: cuda-native:O0 does not\n");
    cwd_facts_finish(&f);
    cwd_program_close(&p);
}

static void
run_one(struct cwd_session *s, const char *path, uint32_t ulp, struct cw_buf *b)
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
        uint32_t n = cwd_compare(&d, &o, ulp, add_line, b);
        if (n)
            explain(s, &d, b);
        cw_buf_printf(b, "= %d\n", n ? 1 : 0);
        cwd_outcome_finish(&o);
    }
    cwd_finish(&d);
}

int
cwd_serve(const char *on, uint32_t ulp)
{
    struct cwd_session s;
    struct cwd_error e = { "" };
    int out = dup(STDOUT_FILENO), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FILE *f = out >= 0 && nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 ? fdopen(out, "w") : NULL;
    if (!f)
        return 2;
    if (cwd_session_open(&s, on, &e) != CW_OK) {
        fprintf(f, "= 2 %s\n", e.text);
        fflush(f);
        return 2;
    }
    fprintf(f, "= 0 %s\n", s.device);
    fflush(f);
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct cw_buf b;
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        cw_buf_init(&b);
        run_one(&s, line, ulp, &b);
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
