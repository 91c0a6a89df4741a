/* SPDX-License-Identifier: Apache-2.0
 * See record.h. Whatever ends or shortens a recording is said in one line, at once and in the manifest. */
#define _GNU_SOURCE
#include "tracer/cli/record.h"
#include "tracer/cli/control.h"

#include "impl/base/text.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 20 };

void
supervise_note(struct record *r, const char *fmt, ...)
{
    size_t n = strlen(r->note);
    va_list ap;
    if (n && n + 2 < sizeof r->note)
        n += (size_t)snprintf(r->note + n, sizeof r->note - n, "; ");
    va_start(ap, fmt);
    vsnprintf(r->note + n, sizeof r->note - n, fmt, ap);
    va_end(ap);
}

/* The session ends here. */
static void
stop_early(struct record *r, const char *note)
{
    if (r->over)
        return;
    say("%s; recording stops here, the program goes on", note);
    r->over = r->truncated = true;
    supervise_note(r, "%s", note);
    if (!lttng_stop(&r->lttng))
        say("the trace may end early");
    record_write_manifest(r);
}

/* ---- size ---- */

static uint64_t counted;

static int
count(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type == FTW_F)
        counted += (uint64_t)st->st_size;
    return 0;
}

static uint64_t
folder_size(const char *dir)
{
    counted = 0;
    nftw(dir, count, 16, FTW_PHYS);
    return counted;
}

/* A folder with many files takes time to measure: at most a twentieth of ours goes into it. */
static void
watch_size(struct record *r)
{
    static int64_t next;
    int64_t start = record_now();
    if (!r->max_size || r->over || start < next)
        return;
    r->size = folder_size(r->dir);
    next = record_now() + 20 * (record_now() - start);
    if (r->size >= r->max_size) {
        char note[96];
        snprintf(note, sizeof note, "the recording has %.1f MiB, its limit is %.1f", (double)r->size / 1048576, (double)r->max_size / 1048576);
        stop_early(r, note);
    }
}

/* ---- snapshots ---- */

bool
supervise_snapshot(struct record *r, const char *fmt, ...)
{
    char why[sizeof r->snapshots->why];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (r->over) {
        say("%s; no snapshot is taken, the recording is over", why);
        return false;
    }
    if (r->snapshot_count == MAX_SNAPSHOTS) {
        if (!strstr(r->note, "snapshots are kept"))
            supervise_note(r, "%d snapshots are kept, further ones were not taken", MAX_SNAPSHOTS);
        say("%s; no snapshot is taken, there are %d", why, MAX_SNAPSHOTS);
        return false;
    }
    if (!lttng_snapshot(&r->lttng)) {
        supervise_note(r, "a snapshot failed (%s)", why);
        return false;
    }
    struct snapshot *s = &r->snapshots[r->snapshot_count++];
    s->time = record_now();
    memcpy(s->why, why, sizeof why);
    say("snapshot %u: %s", r->snapshot_count, why);
    record_write_manifest(r);
    return true;
}

/* ---- requests ---- */

static void
answer_status(const struct record *r, int connection)
{
    char text[CONTROL_TEXT];
    struct control_status s = { .pid = (int)r->app, .recorder = (int)getpid(), .flight = r->flight, .over = r->over,
                                .snapshots = r->snapshot_count, .seconds = (double)(record_now() - r->started) / 1e9 };
    s.bytes = folder_size(r->dir);
    snprintf(s.dir, sizeof s.dir, "%s", r->dir);
    for (unsigned i = 0, n = 0; r->command[i] && n < sizeof s.command; i++)
        n += (unsigned)snprintf(s.command + n, sizeof s.command - n, "%s%s", i ? " " : "", r->command[i]);
    cw_text_make_safe(s.command, "");
    cw_text_make_safe(s.dir, "");
    control_status_text(&s, text, sizeof text);
    control_answer(connection, text);
}

static void
answer_rotate(struct record *r, int connection)
{
    char chunk[PATH_MAX], text[PATH_MAX + 8];
    if (r->flight || r->url) {
        control_answer(connection, r->flight ? "error a flight recorder writes on demand only: use `cudaway-trace snapshot`"
                                             : "error its trace is on another machine");
    } else if (r->over || !lttng_rotate(&r->lttng, chunk, sizeof chunk)) {
        control_answer(connection, "error the recording is over");
    } else {
        snprintf(text, sizeof text, "ok\n%s", chunk);
        control_answer(connection, text);
    }
}

static void
answer(struct record *r, int connection, const char *request)
{
    int pid;
    unsigned long long n;
    char function[128], result[128];
    if (!strcmp(request, "status")) {
        answer_status(r, connection);
    } else if (!strcmp(request, "stop")) {
        stop_early(r, "stopped by `cudaway-trace stop`");
        control_answer(connection, "ok\n");
    } else if (!strcmp(request, "rotate")) {
        answer_rotate(r, connection);
    } else if (!strcmp(request, "snapshot")) {
        control_answer(connection, !r->flight ? "error it is no flight recorder (record --flight-recorder SIZE)"
                                   : supervise_snapshot(r, "asked for by `cudaway-trace snapshot`") ? "ok\n" : "error the snapshot failed");
    } else if (sscanf(request, "failed %d %127s %127s", &pid, function, result) == 3) {
        if (r->flight)
            supervise_snapshot(r, "%s gave %s in process %d", function, result, pid);
    } else if (sscanf(request, "launches %d %llu", &pid, &n) == 2) {
        say("process %d has done launch %llu; its later calls are not recorded", pid, n);
        supervise_note(r, "process %d was recorded up to launch %llu", pid, n);
    }
}

static void
serve(struct record *r)
{
    char request[256];
    for (int c; r->control >= 0 && (c = control_accept(r->control, request, sizeof request)) >= 0; close(c))
        answer(r, c, request);
}

/* ---- the loop ---- */

/* True when the application has ended. */
static bool
take_signal(struct record *r, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo, status;
    if (sig == SIGCHLD) {
        if (r->lttng.pid && waitpid(r->lttng.pid, &status, WNOHANG) == r->lttng.pid) {
            r->lttng.pid = 0;
            stop_early(r, "lttng-sessiond ended unexpectedly");
        }
        if (waitpid(r->app, &status, WNOHANG) != r->app)
            return false;
        r->status = status;
        r->ended = record_now();
        return true;
    }
    /* Signals of the terminal reach the application directly: it is in the same process group. */
    if (info->ssi_code != SI_KERNEL || (sig != SIGINT && sig != SIGQUIT))
        kill(r->app, sig);
    return false;
}

void
supervise(struct record *r, const sigset_t *set)
{
    int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd fds[2] = { { .fd = signals, .events = POLLIN }, { .fd = r->control, .events = POLLIN } };
    bool ended = false;
    if (signals < 0)
        say("signals are not passed on: %s", strerror(errno));
    while (!ended) {
        struct signalfd_siginfo info;
        (void)poll(fds, 2, POLL_MS);
        serve(r);
        if (!r->over && record_disk_free(r->dir) < r->reserve) {
            record_ballast(r, false);
            stop_early(r, "the disk is nearly full");
        }
        watch_size(r);
        if (signals < 0)
            ended = waitpid(r->app, &r->status, WNOHANG) == r->app;
        while (!ended && signals >= 0 && read(signals, &info, sizeof info) == (ssize_t)sizeof info)
            ended = take_signal(r, &info);
    }
    if (signals < 0)
        r->ended = record_now();
    else
        close(signals);
    serve(r);       /* what the program said last */
}
