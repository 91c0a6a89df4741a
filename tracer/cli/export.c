/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace export: tracks and slices of a recording, for a viewer. A process has its threads with their calls, its devices with a track
 * for each queue, and counters: memory in use, and operations that were submitted and have not ended. An arrow goes from a call to what the
 * device did for it. The file is there when it is whole. */
#include "impl/base/file.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/export.h"
#include "tracer/cli/process.h"
#include "tracer/cli/totals_private.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ARGS 64u
/* Of queues, devices and counters: no thread's number. */
#define FIRST_TID 0x40000000u

/* A change of the number of operations in flight. */
struct change {
    int64_t  time;
    uint32_t pid;
    int      by;
};

struct export {
    struct ex_writer w;
    const struct ex_format *format;
    struct ex_track **tracks;         /* by track_index */
    struct tr_index   track_index;
    unsigned          track_count;
    struct change    *changes;
    unsigned          change_count;
    struct totals     totals;         /* memory in use, and who grows arrays */
    uint64_t          in_use;
    const struct tr_calls *calls;
};

static void
flush(struct export *x)
{
    x->w.failed |= x->w.b.failed || x->totals.nomem || (x->w.b.size && fwrite(x->w.b.data, 1, x->w.b.size, x->w.out) != x->w.b.size);
    x->w.b.size = 0;
}

/* The track, made when it is first asked for. */
static const struct ex_track *
track(struct export *x, enum ex_kind kind, uint64_t parent, uint32_t pid, uint64_t key, const char *name)
{
    const struct { uint64_t parent, key; uint32_t kind, pid; } whose = { parent, key, (uint32_t)kind, pid };
    uint32_t i = tr_index_of(&x->track_index, &whose, sizeof whose);
    if (i < x->track_count)
        return x->tracks[i];
    struct ex_track *t = calloc(1, sizeof *t), **slot;
    if (i == TR_NO_INDEX || !t || !(slot = totals_grow(&x->totals, (void **)&x->tracks, &x->track_count, sizeof *slot))) {
        free(t);
        x->totals.nomem = true;
        return NULL;
    }
    *slot = t;
    *t = (struct ex_track){ .kind = kind, .id = x->track_count, .parent = parent, .pid = pid, .key = key };
    t->tid = kind == EX_THREAD ? (uint32_t)key : kind == EX_PROCESS ? pid : FIRST_TID + x->track_count;
    snprintf(t->name, sizeof t->name, "%s", name);
    return t;
}

static const struct ex_track *
known(struct export *x, enum ex_kind kind, uint64_t parent, uint32_t pid, uint64_t key, const char *name)
{
    unsigned before = x->track_count;
    const struct ex_track *t = track(x, kind, parent, pid, key, name);
    if (t && x->track_count > before)
        x->format->track(&x->w, t);
    return t;
}

static const struct ex_track *
process_track(struct export *x, uint32_t pid, const char *procname)
{
    char name[64], suffix[48];
    snprintf(name, sizeof name, "%.15s%s", procname, tr_process_suffix(pid, suffix, sizeof suffix));
    return known(x, EX_PROCESS, 0, pid, 0, name);
}

static const struct ex_track *
thread_track(struct export *x, uint32_t pid, uint32_t tid, const char *procname)
{
    const struct ex_track *p = process_track(x, pid, procname);
    char name[48];
    snprintf(name, sizeof name, tr_process(pid).pid == tid ? "main thread" : "thread %u", tid);
    return p ? known(x, EX_THREAD, p->id, pid, tid, name) : NULL;
}

/* What a counter counts is its key. */
enum { COUNT_MEMORY = 1, COUNT_FLIGHT };

static const struct ex_track *
counter_track(struct export *x, uint32_t pid, uint64_t what)
{
    const struct ex_track *p = process_track(x, pid, "");
    unsigned before = x->track_count;
    const struct ex_track *t = p ? track(x, EX_COUNTER, p->id, pid, what, what == COUNT_MEMORY ? "device memory in use" : "operations in flight") : NULL;
    if (t && x->track_count > before) {
        x->tracks[before]->bytes = what == COUNT_MEMORY;
        x->format->track(&x->w, t);
    }
    return t;
}

static const struct ex_track *
queue_track(struct export *x, const struct tr_op *o)
{
    const struct ex_track *p = process_track(x, o->pid, "");
    char name[48];
    snprintf(name, sizeof name, "device %u", o->device);
    const struct ex_track *d = p ? known(x, EX_DEVICE, p->id, o->pid, o->device, name) : NULL;
    if (!d)
        return NULL;
    unsigned before = x->track_count, *queues = &x->tracks[d->id - 1]->queues;
    snprintf(name, sizeof name, "device %u, queue %u", o->device, *queues + 1);
    const struct ex_track *t = known(x, EX_QUEUE, d->id, o->pid, o->queue, name);
    *queues += x->track_count > before;
    return t;
}

/* The call's identity: no two calls of a thread start at the same time. */
static uint64_t
flow_of(uint32_t pid, uint32_t tid, int64_t start)
{
    uint64_t h = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15u ^ (uint64_t)start;
    h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    return (h ^ h >> 29) | 1;
}

/* ---- calls ---- */

static void
add_args(struct tr_field *args, unsigned *n, const struct tr_call *c)
{
    for (unsigned i = 0; i < c->count && *n < MAX_ARGS - 1; i++)
        args[(*n)++] = c->args[i];
    args[*n] = c->result ? *c->result : (struct tr_field){ .kind = TR_STRING, .text = "never returned" };
    args[(*n)++].name = "result";
}

static void
add_shape(struct tr_field *args, unsigned *n, const uint64_t grid[3], const uint64_t block[3])
{
    args[(*n)++] = (struct tr_field){ .name = "grid", .kind = TR_ARRAY, .items = (uint64_t *)grid, .count = 3 };
    args[(*n)++] = (struct tr_field){ .name = "block", .kind = TR_ARRAY, .items = (uint64_t *)block, .count = 3 };
}

static void
on_call(void *ctx, const struct tr_call *c)
{
    struct export *x = ctx;
    struct tr_field args[MAX_ARGS];
    unsigned n = 0;
    if (x->w.failed)
        return;
    /* Calls come in the order of their ends, so a later one may have started before: viewers allow that. */
    if (!x->w.origin)
        x->w.origin = x->calls->first;
    const struct ex_track *t = thread_track(x, c->pid, c->tid, c->procname);
    if (!t)
        goto done;
    add_args(args, &n, c);
    struct ex_slice s = { .track = t, .category = tr_of_runtime(c->function) ? "runtime" : "cuda", .name = c->function, .start = c->start, .end = c->end, .args = args, .count = n,
                          .flow = c->operations ? flow_of(c->pid, c->tid, c->start) : 0, .flow_begins = true };
    x->format->slice(&x->w, &s);
    if (c->kernel.present && !c->operations) {        /* no device told when it ran: the call stands for it */
        n = 0;
        add_shape(args, &n, c->kernel.grid, c->kernel.block);
        args[n++] = (struct tr_field){ .name = "shared", .kind = TR_UINT, .u = c->kernel.shared };
        x->format->slice(&x->w, &(struct ex_slice){ .track = t, .category = "kernel", .name = c->kernel.name, .start = c->start, .end = c->end,
                                                    .args = args, .count = n });
    }
    totals_memory(&x->totals, c);
    if (x->totals.live[0] != x->in_use) {
        x->in_use = x->totals.live[0];
        const struct ex_track *k = counter_track(x, c->pid, COUNT_MEMORY);
        if (k)
            x->format->counter(&x->w, k, c->end, x->in_use);
    }
done:
    flush(x);
}

/* ---- operations of devices ---- */

static void
change(struct export *x, int64_t time, uint32_t pid, int by)
{
    struct change *c = totals_grow(&x->totals, (void **)&x->changes, &x->change_count, sizeof *c);
    if (c)
        *c = (struct change){ time, pid, by };
}

static void
on_op(void *ctx, const struct tr_op *o)
{
    static const char *const categories[] = { [TR_LAUNCH] = "kernel", [TR_COPY] = "copy", [TR_FILL] = "memset", [TR_COMPILE] = "compile" };
    struct export *x = ctx;
    struct tr_field args[MAX_ARGS];
    unsigned n = 0;
    if (x->w.failed || !o->start)
        return;
    if (!x->w.origin)
        x->w.origin = o->call_start ? o->call_start : o->submitted;
    bool compile = o->kind == TR_COMPILE;
    const struct ex_track *t = compile ? thread_track(x, o->pid, o->tid, "") : queue_track(x, o);
    if (!t)
        goto done;
    if (o->kind == TR_LAUNCH) {
        add_shape(args, &n, o->grid, o->block);
        if (o->occupancy)
            args[n++] = (struct tr_field){ .name = "occupancy %", .kind = TR_REAL, .d = o->occupancy / 10.0 };
    } else if (!compile) {
        args[n++] = (struct tr_field){ .name = "bytes", .kind = TR_UINT, .u = o->bytes };
    } else {
        args[n++] = (struct tr_field){ .name = "from the cache", .kind = TR_UINT, .u = o->cached };
    }
    if (!compile)
        args[n++] = (struct tr_field){ .name = "waited ns", .kind = TR_INT, .u = (uint64_t)(o->start - o->submitted) };
    char name[128];
    x->format->slice(&x->w, &(struct ex_slice){ .track = t, .category = categories[o->kind], .name = tr_op_name(o, name, sizeof name), .start = o->start, .end = o->end,
                                                .args = args, .count = n,
                                                .flow = compile || !o->call_start ? 0 : flow_of(o->pid, o->tid, o->call_start) });
    if (!compile) {
        change(x, o->submitted, o->pid, 1);
        change(x, o->end, o->pid, -1);
    }
done:
    flush(x);
}

static int
by_time(const void *a, const void *b)
{
    const struct change *p = a, *q = b;
    if (p->pid != q->pid)
        return p->pid < q->pid ? -1 : 1;
    return p->time < q->time ? -1 : p->time > q->time;
}

static void
write_flight(struct export *x)
{
    int64_t count = 0;
    if (x->change_count)
        qsort(x->changes, x->change_count, sizeof *x->changes, by_time);
    for (unsigned i = 0; i < x->change_count && !x->w.failed; i++) {
        const struct change *c = &x->changes[i];
        count = i && x->changes[i - 1].pid == c->pid ? count + c->by : c->by;
        const struct ex_track *k = counter_track(x, c->pid, COUNT_FLIGHT);
        if (k)
            x->format->counter(&x->w, k, c->time, count > 0 ? (uint64_t)count : 0);
        flush(x);
    }
}

/* ---- the command ---- */

static enum tr_status
write_all(struct export *x, const char *dir)
{
    x->format->begin(&x->w);
    struct tr_calls calls = { .call = on_call, .op = on_op, .ctx = x, .quiet = x->w.out == stdout && isatty(STDOUT_FILENO) };
    x->calls = &calls;
    enum tr_status status = tr_read_calls(dir, &calls);
    write_flight(x);
    x->format->end(&x->w);
    flush(x);
    x->w.failed |= fflush(x->w.out) != 0 || ferror(x->w.out);
    return status;
}

static const struct ex_format *
choose_format(const char *asked, const char *output)
{
    size_t n = output ? strlen(output) : 0;
    if (!asked)
        return n > 5 && strcmp(output + n - 5, ".json") && strncmp(output, "/dev/", 5) ? &ex_perfetto : &ex_chrome;
    return !strcmp(asked, "perfetto") ? &ex_perfetto : !strcmp(asked, "chrome") ? &ex_chrome : NULL;
}

enum { OPT_FORMAT = 256 };

static int
export(int argc, char **argv)
{
    const char *output = NULL, *format = NULL;
    struct cw_new_file file;
    struct export x = { 0 };
    int c, code = EXIT_USAGE;
    struct cw_command_line line = { &export_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case 'o': output = optarg; break;
        case OPT_FORMAT: format = optarg; break;
        default: return line.status;
        }
    }
    x.format = choose_format(format, output);
    if (!x.format)
        return cw_usage_error(&export_command, "--format %s is neither perfetto nor chrome", format);
    if (argc - optind > 1)
        return cw_usage_error(&export_command, "one recording at a time");
    char *dir = find_recording(argv[optind]);
    if (!dir)
        return EXIT_USAGE;
    cw_buf_init(&x.w.b);
    /* Written to as it is, not replaced: /dev/stdout is a link, and may lead to a plain file. */
    struct stat st;
    bool special = output && (cw_file_is_special(output) || (!lstat(output, &st) && S_ISLNK(st.st_mode)));
    bool begun = output && !special && cw_new_file_begin(&file, output, 0644) == CW_OK;
    int fd = begun ? dup(file.fd) : -1;
    x.w.out = special ? fopen(output, "w") : !output ? stdout : fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!x.w.out) {
        if (begun)
            (void)cw_new_file_finish(&file, false);
        if (fd >= 0)
            close(fd);
        say("cannot write %s: %s", output, strerror(errno));
        goto finish;
    }
    enum tr_status status = write_all(&x, dir);
    if (output) {
        x.w.failed |= fclose(x.w.out) != 0;
        if (begun)
            x.w.failed |= cw_new_file_finish(&file, !x.w.failed && status != TR_FAILED) != CW_OK;
    }
    if (x.w.failed)
        say("cannot write %s: %s", output ? output : "the output", x.totals.nomem ? "out of memory" : strerror(errno));
    else if (status == TR_EMPTY)
        manifest_say_empty(dir);
    code = x.w.failed || status == TR_FAILED ? EXIT_USAGE : status == TR_DAMAGED ? EXIT_DAMAGED : 0;
finish:
    cw_buf_finish(&x.w.b);
    for (unsigned i = 0; i < x.track_count; i++)
        free(x.tracks[i]);
    free(x.tracks);
    tr_index_finish(&x.track_index);
    free(x.changes);
    totals_finish(&x.totals);
    free(dir);
    return code;
}

const struct cw_program export_command = {
    .name = "export",
    .parent = &trace_program,
    .summary = "write a recording as a timeline for Perfetto or Chrome",
    .operands = "[DIR]",
    .description = "Writes a recording as a timeline: tracks of processes, threads, devices and their queues, arrows from a call to what the device did "
                   "for it, memory in use and operations in flight. https://ui.perfetto.dev shows it. "
                   "DIR is what `record` left; without it, the newest cudaway-trace-* folder here.",
    .options = (const struct cw_option[]){ { 'o', "output", "FILE", "where it goes (default: standard output)", "FILE" },
                                           { OPT_FORMAT, "format", "FORMAT", "perfetto (protobuf) or chrome (JSON); default: chrome for standard output and "
                                             "names that end in .json, else perfetto", "perfetto chrome" }, { 0 } },
    .complete = "DIR",
    .run = export,
    .usage_status = EXIT_USAGE,
};
