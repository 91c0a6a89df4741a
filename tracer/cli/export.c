/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace export: the Trace Event Format that Perfetto and chrome://tracing read. A call is a complete event
 * ("X") of its thread; a launch has a second one inside it, named after the kernel, in the category "kernel". Times are
 * microseconds since the start of the call that ended first. The file is written under a temporary name and renamed when
 * whole. */
#include "impl/base/file.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/reader.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export {
    FILE         *out;
    struct cw_buf b;
    int64_t       origin;
    bool          started, failed;
    uint32_t     *pids;
    unsigned      pid_count;
};

static void
flush_event(struct export *x)
{
    x->failed |= x->b.failed || fwrite(x->b.data, 1, x->b.size, x->out) != x->b.size;
    x->b.size = 0;
}

/* The format's times are microseconds with a fraction. */
static void
microseconds(struct cw_buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    cw_buf_printf(b, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(v / 1000), (unsigned)(v % 1000));
}

static void
head(struct export *x, const char *category, const char *name, const struct tr_call *c, int64_t start, int64_t end)
{
    cw_buf_printf(&x->b, "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", x->started ? ",\n" : "\n", category);
    x->started = true;
    cw_buf_json_string(&x->b, name);
    cw_buf_printf(&x->b, ",\"pid\":%u,\"tid\":%u,\"ts\":", c->pid, c->tid);
    microseconds(&x->b, start - x->origin);
    cw_buf_puts(&x->b, ",\"dur\":");
    microseconds(&x->b, end - start);
    cw_buf_puts(&x->b, ",\"args\":{");
}

static void
name_process(struct export *x, const struct tr_call *c)
{
    for (unsigned i = 0; i < x->pid_count; i++)
        if (x->pids[i] == c->pid)
            return;
    uint32_t *p = realloc(x->pids, sizeof *p * (x->pid_count + 1));
    if (!p) {
        x->failed = true;
        return;
    }
    x->pids = p;
    p[x->pid_count++] = c->pid;
    cw_buf_printf(&x->b, "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
                  x->started ? ",\n" : "\n", c->pid, c->tid);
    x->started = true;
    cw_buf_json_string(&x->b, c->procname);
    cw_buf_puts(&x->b, "}}");
}

static void
on_call(void *ctx, const struct tr_call *c)
{
    struct export *x = ctx;
    if (x->failed)
        return;
    /* Calls come in the order of their ends, so a later one may have started before: the format allows that. */
    if (!x->origin)
        x->origin = c->start;
    name_process(x, c);
    head(x, "cuda", c->function, c, c->start, c->end);
    for (unsigned i = 0; i < c->count; i++) {
        cw_buf_json_string(&x->b, c->args[i].name);
        cw_buf_puts(&x->b, ":");
        tr_json(&x->b, &c->args[i]);
        cw_buf_puts(&x->b, ",");
    }
    cw_buf_puts(&x->b, "\"result\":");
    if (c->result)
        tr_json(&x->b, c->result);
    else
        cw_buf_puts(&x->b, "null");
    cw_buf_puts(&x->b, "}}");
    if (c->kernel.present) {
        const struct tr_kernel *k = &c->kernel;
        head(x, "kernel", k->name, c, c->start, c->end);
        cw_buf_printf(&x->b, "\"grid\":[%llu,%llu,%llu],\"block\":[%llu,%llu,%llu],\"shared\":%llu}}",
                      (unsigned long long)k->grid[0], (unsigned long long)k->grid[1], (unsigned long long)k->grid[2],
                      (unsigned long long)k->block[0], (unsigned long long)k->block[1], (unsigned long long)k->block[2],
                      (unsigned long long)k->shared);
    }
    flush_event(x);
}

static int
export(int argc, char **argv)
{
    const char *output = NULL;
    char temp[PATH_MAX] = "";
    struct export x = { 0 };
    int c, code = EXIT_USAGE;
    struct cw_command_line line = { &export_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        if (c != 'o')
            return line.status;
        output = optarg;
    }
    if (argc - optind > 1)
        return cw_usage_error(&export_command, "one recording at a time");
    char *dir = find_recording(argv[optind]);
    if (!dir)
        return EXIT_USAGE;
    cw_buf_init(&x.b);
    /* Written to as it is, not replaced: /dev/stdout is a link, and may lead to a plain file. */
    struct stat st;
    bool special = output && (cw_file_is_special(output) || (!lstat(output, &st) && S_ISLNK(st.st_mode)));
    if (special) {
        x.out = fopen(output, "w");
    } else if (output) {
        x.out = snprintf(temp, sizeof temp, "%s.tmp-%d", output, (int)getpid()) < (int)sizeof temp ? fopen(temp, "w") : NULL;
    } else {
        x.out = stdout;
    }
    if (!x.out) {
        say("cannot write %s: %s", output, strerror(errno));
        goto finish;
    }
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", x.out);
    struct tr_calls calls = { .call = on_call, .ctx = &x };
    enum tr_status status = tr_read_calls(dir, &calls);
    fputs("\n]}\n", x.out);
    x.failed |= fflush(x.out) != 0 || ferror(x.out);
    if (output) {
        x.failed |= fclose(x.out) != 0;
        if (!special && !x.failed && status != TR_FAILED)
            x.failed = rename(temp, output) != 0;
        if (!special && (x.failed || status == TR_FAILED))
            unlink(temp);
    }
    if (x.failed)
        say("cannot write %s: %s", output ? output : "the output", strerror(errno));
    else if (status == TR_EMPTY)
        say("%s holds no trace: the program made no CUDA call", dir);
    code = x.failed || status == TR_FAILED ? EXIT_USAGE : status == TR_DAMAGED ? EXIT_DAMAGED : 0;
finish:
    cw_buf_finish(&x.b);
    free(x.pids);
    free(dir);
    return code;
}

const struct cw_program export_command = {
    .name = "export",
    .parent = &trace_program,
    .summary = "write a recording as Chrome/Perfetto JSON",
    .operands = "[DIR]",
    .description = "Writes a recording as JSON that chrome://tracing and Perfetto read. "
                   "DIR is what `record` left; without it, the newest cudaway-trace-* folder here.",
    .options = (const struct cw_option[]){ { 'o', "output", "FILE", "where the JSON goes (default: standard output)", "FILE" }, { 0 } },
    .complete = "DIR",
    .run = export,
    .usage_status = EXIT_USAGE,
};
