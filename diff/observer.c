/* SPDX-License-Identifier: Apache-2.0
 * The part of cudaway-diff inside the compared program: it makes a dump around each launch, in memory-backed storage, and
 * passes its path to cudaway-diff, which answers when the subject device has run it. The program waits meanwhile. */
#define _GNU_SOURCE
#include "diff/protocol.h"
#include "replay/capture.h"

#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/base/regex.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *folder;
static regex_t pattern;
static bool have_pattern;
static atomic_bool stopped;

static bool
start(const struct cw_cuda_table *next)
{
    folder = cw_env_get(CW_ENV_DIFF_DIR);
    if (!folder || !*folder)
        return false;
    const char *regex = cw_env_get(CW_ENV_DUMP_KERNELS);
    char why[128];
    if (regex && *regex && !(have_pattern = cw_regex_compile(&pattern, regex, why, sizeof why))) {
        cw_error("launches are not compared: %.200s is no regular expression: %s", regex, why);
        return false;
    }
    if (!cwd_capture_start(next)) {
        cw_error("launches are not compared: kernels are being dumped (CUDAWAY_DUMP_DIR); do one at a time");
        return false;
    }
    return true;
}

static void
before(struct cw_call *call, void **scratch)
{
    cwd_capture_before(call);
}

static void
after(struct cw_call *call, void **scratch)
{
    cwd_capture_after(call);
}

/* One message and its answer, on a connection of its own, so that threads and forked processes do not mix. False: the answer is no, or
 * there is none. */
static bool
tell(const char *fmt, ...)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    char line[CWD_DIFF_LINE], answer = CWD_DIFF_NO;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    if (n < 0)
        return false;
    if ((size_t)n > sizeof line - 2)
        n = (int)sizeof line - 2;
    for (int i = 0; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[n++] = '\n';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && snprintf(a.sun_path, sizeof a.sun_path, "%s/" CWD_DIFF_SOCKET, folder) < (int)sizeof a.sun_path &&
              !connect(fd, (struct sockaddr *)&a, sizeof a) && send(fd, line, (size_t)n, MSG_NOSIGNAL) == n;
    ssize_t got = -1;
    while (ok && (got = recv(fd, &answer, 1, 0)) < 0 && errno == EINTR)
        ;
    if (fd >= 0)
        close(fd);
    if (got != 1 && !atomic_exchange(&stopped, true))
        cw_warn("cudaway-diff does not answer; launches are not compared from here on");
    return got == 1 && answer != CWD_DIFF_NO;
}

static void
unseen(const char *what, const char *why)
{
    tell("N %s: %s", what, why);
}

static void
before_launch(const struct cw_launch *l, void **scratch)
{
    struct cwd_error e;
    *scratch = NULL;
    if (cwd_capture_into_graph(l))
        return;
    unsigned launch = cwd_capture_count();
    if (atomic_load(&stopped) || (have_pattern && regexec(&pattern, l->name, 0, NULL, 0)) || !tell("A %s", l->name))
        return;
    struct cwd_dump *d = calloc(1, sizeof *d);
    if (!d || !cwd_capture_begin(l, d, &e)) {
        tell("N %s, launch %u: %s", l->name, launch, d ? e.text : "out of memory");
        free(d);
        return;
    }
    d->launch = launch;
    *scratch = d;
}

static void
after_launch(const struct cw_launch *l, void **scratch)
{
    static atomic_uint number;
    struct cwd_dump *d = *scratch;
    struct cwd_error e;
    char path[PATH_MAX];
    if (!d)
        return;
    *scratch = NULL;
    if (!cwd_capture_end(l, d, &e)) {
        tell("N %s, launch %u: %s", l->name, d->launch, e.text);
    } else {
        snprintf(path, sizeof path, "%s/%d-%u" CWD_SUFFIX, folder, (int)getpid(), atomic_fetch_add(&number, 1));
        if (cwd_write(d, path, CWD_STORED, &e) != CW_OK) {
            tell("N %s, launch %u: %s", l->name, d->launch, e.text);
        } else {
            tell("D %u %s %s", d->launch, strrchr(path, '/') + 1, l->name);
            unlink(path);       /* if nobody took it */
        }
    }
    cwd_finish(d);
    free(d);
}

const struct cw_observer cw_diff_observer = {
    .name = "diff",
    .start = start,
    .before = before,
    .after = after,
    .before_launch = before_launch,
    .after_launch = after_launch,
    .unseen = unseen,
};
