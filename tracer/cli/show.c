/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace show: one line a call, as strace has it, or one JSON object a line. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"
#include "tracer/cli/control.h"
#include "tracer/cli/kernels.h"
#include "tracer/cli/process.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/reader.h"
#include "impl/base/regex.h"

#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct show {
    uint64_t      pid, tid;
    bool          by_pid, by_tid, failed, json, by_name, by_kernel;
    bool          relative, colour, follow;
    regex_t       name, kernel;
    const struct tr_calls *calls;
    int64_t       since, until;             /* ns from the first call on; INT64_MAX: no end */
    struct kn_list kernels;
    struct timespec modules;                /* when the list was read */
    struct cw_buf line;
    bool          write_failed;
};

enum colour { PLAIN, DIM, BOLD, RED, CYAN };

static void
paint(struct show *s, enum colour c)
{
    static const char *const codes[] = { "\033[0m", "\033[2m", "\033[1m", "\033[1;31m", "\033[36m" };
    if (s->colour)
        cw_buf_puts(&s->line, codes[c]);
}

static void
put_time(struct show *s, int64_t ns)
{
    struct cw_buf *b = &s->line;
    if (s->relative) {
        int64_t v = ns - s->calls->first;
        cw_buf_printf(b, "%s%lld.%09d", v < 0 ? "-" : "", (long long)(v < 0 ? -v : v) / 1000000000, (int)((v < 0 ? -v : v) % 1000000000));
        return;
    }
    time_t t = (time_t)(ns / 1000000000);
    struct tm tm;
    localtime_r(&t, &tm);
    cw_buf_printf(b, "%02d:%02d:%02d.%09d", tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns % 1000000000));
}

static void
put_kernel(struct show *s, const struct tr_kernel *k)
{
    struct cw_buf *b = &s->line;
    const struct kn_kernel *known = kernels_find(&s->kernels, k->name);
    cw_buf_printf(b, "  # kernel %s grid (%llu,%llu,%llu) block (%llu,%llu,%llu)", k->name,
                  (unsigned long long)k->grid[0], (unsigned long long)k->grid[1], (unsigned long long)k->grid[2],
                  (unsigned long long)k->block[0], (unsigned long long)k->block[1], (unsigned long long)k->block[2]);
    if (k->shared)
        cw_buf_printf(b, " shared %llu", (unsigned long long)k->shared);
    if (known && known->count) {
        cw_buf_puts(b, " params ");
        kernels_values(b, known, k->params);
    } else if (k->params && k->params->count) {
        cw_buf_puts(b, " params ");
        for (uint64_t i = 0; i < k->params->count; i++)
            cw_buf_printf(b, "%02x", (unsigned)(k->params->items[i] & 0xff));
    }
}

static void
put_text(struct show *s, const struct tr_call *c)
{
    struct cw_buf *b = &s->line;
    paint(s, DIM);
    cw_buf_puts(b, "[");
    put_time(s, c->start);
    struct tr_process who = tr_process(c->pid);
    cw_buf_puts(b, "] ");
    if (tr_host_count() > 1)
        cw_buf_printf(b, "%s ", who.host);
    if (who.rank >= 0)
        cw_buf_printf(b, "rank %lld ", (long long)who.rank);
    cw_buf_printf(b, "%u/%u ", who.pid, c->tid);
    paint(s, PLAIN);
    cw_buf_printf(b, "%*s", (int)(2 * (c->depth < 16 ? c->depth : 16)), "");
    paint(s, BOLD);
    cw_buf_puts(b, c->function);
    paint(s, PLAIN);
    cw_buf_puts(b, "(");
    for (unsigned i = 0; i < c->count; i++) {
        cw_buf_printf(b, "%s%s=", i ? ", " : "", c->args[i].name);
        tr_text(b, &c->args[i]);
    }
    if (!c->result) {
        cw_buf_puts(b, " <unfinished ...>\n");
        return;
    }
    cw_buf_puts(b, ") = ");
    if (c->failed)
        paint(s, RED);
    tr_text(b, c->result);
    if (c->failed)
        paint(s, PLAIN);
    cw_buf_printf(b, " <%.3f us>", (double)(c->end - c->start) / 1e3);
    if (c->kernel.present) {
        paint(s, CYAN);
        put_kernel(s, &c->kernel);
        paint(s, PLAIN);
    } else if (c->launched) {
        paint(s, CYAN);
        cw_buf_printf(b, "  # kernel %s", c->launched);
        paint(s, PLAIN);
    }
    cw_buf_puts(b, "\n");
}

static void
put_json(struct show *s, const struct tr_call *c)
{
    struct cw_buf *b = &s->line;
    struct tr_process who = tr_process(c->pid);
    /* Readers that keep numbers as doubles lose the last hundreds of nanoseconds of the seconds. */
    cw_buf_printf(b, "{\"time\":%lld.%09d,\"time_ns\":%lld,\"pid\":%u,\"tid\":%u,\"process\":", (long long)(c->start / 1000000000),
                  (int)(c->start % 1000000000), (long long)c->start, who.pid, c->tid);
    cw_buf_json_string(b, c->procname);
    if (who.rank >= 0)
        cw_buf_printf(b, ",\"rank\":%lld", (long long)who.rank);
    if (*who.host) {
        cw_buf_puts(b, ",\"host\":");
        cw_buf_json_string(b, who.host);
    }
    cw_buf_puts(b, ",\"function\":");
    cw_buf_json_string(b, c->function);
    cw_buf_printf(b, ",\"depth\":%u", c->depth);
    if (c->within) {
        cw_buf_puts(b, ",\"within\":");
        cw_buf_json_string(b, c->within);
    }
    cw_buf_puts(b, ",\"args\":{");
    for (unsigned i = 0; i < c->count; i++) {
        cw_buf_puts(b, i ? "," : "");
        cw_buf_json_string(b, c->args[i].name);
        cw_buf_puts(b, ":");
        tr_json(b, &c->args[i]);
    }
    cw_buf_puts(b, "}");
    if (c->kernel.present) {
        const struct tr_kernel *k = &c->kernel;
        cw_buf_puts(b, ",\"kernel\":{\"name\":");
        cw_buf_json_string(b, k->name);
        cw_buf_printf(b, ",\"grid\":[%llu,%llu,%llu],\"block\":[%llu,%llu,%llu],\"shared\":%llu,\"params\":\"",
                      (unsigned long long)k->grid[0], (unsigned long long)k->grid[1], (unsigned long long)k->grid[2],
                      (unsigned long long)k->block[0], (unsigned long long)k->block[1], (unsigned long long)k->block[2],
                      (unsigned long long)k->shared);
        for (uint64_t i = 0; k->params && i < k->params->count; i++)
            cw_buf_printf(b, "%02x", (unsigned)(k->params->items[i] & 0xff));
        cw_buf_puts(b, "\"");
        const struct kn_kernel *known = kernels_find(&s->kernels, k->name);
        if (known && known->count) {
            struct cw_buf values;
            cw_buf_init(&values);
            kernels_values(&values, known, k->params);
            cw_buf_append(&values, "", 1);
            cw_buf_puts(b, ",\"values\":");
            cw_buf_json_string(b, values.failed ? "" : values.data);
            cw_buf_finish(&values);
        }
        cw_buf_puts(b, "}");
    }
    if (c->result) {
        cw_buf_puts(b, ",\"result\":");
        tr_json(b, c->result);
        cw_buf_printf(b, ",\"duration_ns\":%lld}\n", (long long)(c->end - c->start));
    } else {
        cw_buf_puts(b, ",\"result\":null}\n");
    }
}

static void
on_call(void *ctx, const struct tr_call *c)
{
    struct show *s = ctx;
    int64_t began = c->start - s->calls->first;
    const char *kernel = c->kernel.present ? c->kernel.name : c->launched;
    if (began < s->since || began > s->until || (s->by_kernel && (!kernel || regexec(&s->kernel, kernel, 0, NULL, 0))))
        return;
    if ((s->by_pid && tr_process(c->pid).pid != s->pid) || (s->by_tid && c->tid != s->tid) ||
        (s->failed && c->result && !c->failed) || (s->by_name && regexec(&s->name, c->function, 0, NULL, 0)) ||
        s->write_failed)
        return;
    s->line.size = 0;
    if (s->json)
        put_json(s, c);
    else
        put_text(s, c);
    s->write_failed = s->line.failed || fwrite(s->line.data, 1, s->line.size, stdout) != s->line.size;
}

/* "1.5s", "20ms", "300us", "7ns"; without a unit seconds. */
static bool
parse_time(const char *text, int64_t *ns)
{
    static const struct { const char *unit; double ns; } units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
    char *end;
    double v = strtod(text, &end);
    for (unsigned i = 0; end != text && v >= 0 && v < 1e9 && i < sizeof units / sizeof *units; i++) {
        if (!strcmp(end, units[i].unit)) {
            *ns = (int64_t)(v * units[i].ns);
            return true;
        }
    }
    return false;
}

static bool
compile_regex(regex_t *re, bool *have, const char *option, const char *text)
{
    char why[128];
    if (*have)
        regfree(re);
    *have = cw_regex_compile(re, text, why, sizeof why);
    if (!*have)
        say("--%s %.200s is no regular expression: %s", option, text, why);
    return *have;
}

/* ---- a recording that is running ---- */

enum { FOLLOW_MS = 1000 };      /* a chunk costs some KiB, even when it is empty */

/* Modules that were loaded since the last time. */
static void
refresh_kernels(struct show *s, const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/modules", dir) >= (int)sizeof path || stat(path, &st) ||
        (st.st_mtim.tv_sec == s->modules.tv_sec && st.st_mtim.tv_nsec == s->modules.tv_nsec))
        return;
    s->modules = st.st_mtim;
    kernels_finish(&s->kernels);
    s->kernels = (struct kn_list){ 0 };
    kernels_load(dir, &s->kernels);
}

/* The chunks that are closed and not read yet, in their order: trace/archives/BEGIN-END-NUMBER. */
static enum tr_status
read_chunks(struct tr_join *j, const char *dir, unsigned *number, enum tr_status r)
{
    char pattern[PATH_MAX];
    for (; r != TR_FAILED && r != TR_DAMAGED; ++*number) {
        glob_t found = { 0 };
        snprintf(pattern, sizeof pattern, "%s/trace/archives/*-%u", dir, *number);
        bool there = !glob(pattern, 0, NULL, &found) && found.gl_pathc;
        enum tr_status got = there ? tr_join_read(j, found.gl_pathv[0]) : TR_EMPTY;
        globfree(&found);
        if (!there)
            break;
        r = got == TR_EMPTY ? r : got;
    }
    return r;
}

/* Every now and then the recorder closes a chunk of the trace, a folder of its own that is complete. A call that began in one ends in another
 * one, so they are joined together. */
static enum tr_status
follow(struct show *s, const char *dir, struct tr_calls *calls)
{
    char socket[PATH_MAX], answer[CONTROL_TEXT], last[PATH_MAX];
    struct control_status status;
    struct tr_join *j = tr_join_create(calls);
    enum tr_status r = j ? TR_EMPTY : TR_FAILED;
    unsigned number = 0;
    if (r != TR_FAILED && !control_find(dir, socket, sizeof socket, &status))
        r = TR_FAILED;
    while (r != TR_FAILED && !s->write_failed && control_ask(socket, "rotate", answer, sizeof answer)) {
        refresh_kernels(s, dir);
        r = read_chunks(j, dir, &number, r);
        s->write_failed |= fflush(stdout) != 0;
        nanosleep(&(struct timespec){ FOLLOW_MS / 1000, FOLLOW_MS % 1000 * 1000000L }, NULL);
    }
    if (r != TR_FAILED && status.flight) {
        say("%s: %s", dir, answer);
        r = TR_FAILED;
    }
    refresh_kernels(s, dir);
    if (r != TR_FAILED)
        r = read_chunks(j, dir, &number, r);
    /* What was open when the recording ended: in trace/ust when no chunk was closed, else in trace/CHUNK/ust. */
    glob_t found = { 0 };
    snprintf(last, sizeof last, "%s/trace/ust", dir);
    glob(last, 0, NULL, &found);
    snprintf(last, sizeof last, "%s/trace/*/ust", dir);
    glob(last, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && r != TR_FAILED; i++) {
        enum tr_status got = tr_join_read(j, found.gl_pathv[i]);
        r = got == TR_EMPTY ? r : got;
    }
    globfree(&found);
    tr_join_finish(j);
    return r;
}

enum { OPT_PID = 256, OPT_TID, OPT_FUNCTION, OPT_FAILED, OPT_JSON, OPT_KERNEL, OPT_SINCE, OPT_UNTIL, OPT_RELATIVE, OPT_FOLLOW };


static int
show(int argc, char **argv)
{
    struct show s = { .until = INT64_MAX, .since = INT64_MIN };
    int c, code = EXIT_USAGE;
    struct cw_command_line line = { &show_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case OPT_PID:
        case OPT_TID:
            if (!parse_number(optarg, UINT32_MAX, c == OPT_PID ? &s.pid : &s.tid)) {
                say("--%s %s is not a number", c == OPT_PID ? "pid" : "tid", optarg);
                goto finish;
            }
            *(c == OPT_PID ? &s.by_pid : &s.by_tid) = true;
            break;
        case OPT_FUNCTION:
            if (!compile_regex(&s.name, &s.by_name, "function", optarg))
                goto finish;
            break;
        case OPT_KERNEL:
            if (!compile_regex(&s.kernel, &s.by_kernel, "kernel", optarg))
                goto finish;
            break;
        case OPT_SINCE:
        case OPT_UNTIL:
            if (!parse_time(optarg, c == OPT_SINCE ? &s.since : &s.until)) {
                say("--%s %s is not a time like 1.5s, 20ms, 300us", c == OPT_SINCE ? "since" : "until", optarg);
                goto finish;
            }
            break;
        case OPT_RELATIVE: s.relative = true; break;
        case OPT_FOLLOW: s.follow = true; break;
        case OPT_FAILED: s.failed = true; break;
        case OPT_JSON:   s.json = true; break;
        default:
            code = line.status;
            goto finish;
        }
    }
    if (argc - optind > 1) {
        cw_usage_error(&show_command, "one recording at a time");
        goto finish;
    }
    char *dir = find_recording(argv[optind]);
    if (!dir)
        goto finish;
    cw_buf_init(&s.line);
    const char *no_colour = getenv("NO_COLOR");
    s.colour = isatty(1) && !s.json && !(no_colour && *no_colour);
    kernels_load(dir, &s.kernels);
    struct tr_calls calls = { .call = on_call, .ctx = &s, .quiet = isatty(STDOUT_FILENO) };
    s.calls = &calls;
    enum tr_status status = s.follow ? follow(&s, dir, &calls) : tr_read_calls(dir, &calls);
    if (s.write_failed)
        status = TR_FAILED;
    if (status == TR_EMPTY)
        manifest_say_empty(dir);
    if (calls.lost)
        say("%llu events were dropped while recording", (unsigned long long)calls.lost);
    code = status == TR_OK || status == TR_EMPTY ? 0 : status == TR_DAMAGED ? EXIT_DAMAGED : EXIT_USAGE;
    cw_buf_finish(&s.line);
    free(dir);
finish:
    if (s.by_name)
        regfree(&s.name);
    if (s.by_kernel)
        regfree(&s.kernel);
    kernels_finish(&s.kernels);
    return code;
}

const struct cw_program show_command = {
    .name = "show",
    .parent = &trace_program,
    .summary = "list the calls of a recording",
    .operands = "[DIR]",
    .description = "Lists the calls of a recording, a line each, in the order in which they returned; a call that was made in another one, "
                   "as the Runtime makes the driver's, is indented. "
                   "DIR is what `record` left; without it, the newest cudaway-trace-* folder here.",
    .options = (const struct cw_option[]){
        { OPT_PID, "pid", "PID", "only this process" },
        { OPT_TID, "tid", "TID", "only this thread" },
        { OPT_FUNCTION, "function", "REGEX", "only functions whose name matches" },
        { OPT_KERNEL, "kernel", "REGEX", "only launches of kernels whose name matches" },
        { OPT_SINCE, "since", "TIME", "only calls from then on: 1.5s, 20ms, 300us after the first call began" },
        { OPT_UNTIL, "until", "TIME", "only calls that began until then" },
        { OPT_RELATIVE, "relative", NULL, "times from the same beginning on, not of the clock" },
        { OPT_FAILED, "failed", NULL, "only calls that failed or never returned" },
        { OPT_FOLLOW, "follow", NULL, "of a recording that is running: go on until it ends" },
        { OPT_JSON, "json", NULL, "one JSON object a line" },
        { 0 },
    },
    .complete = "DIR",
    .run = show,
    .usage_status = EXIT_USAGE,
};
