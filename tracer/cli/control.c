/* SPDX-License-Identifier: Apache-2.0
 * See control.h. */
#define _GNU_SOURCE
#include "tracer/cli/control.h"
#include "tracer/cli/cli.h"

#include "impl/base/children.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 256, REQUEST_MS = 200, ANSWER_S = 60, STATUS_S = 5 };
#define FOLDERS CW_TEMP_PREFIX "t-"

static bool
address_of(const char *path, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof a->sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(a->sun_path, path);
    return true;
}

int
control_listen(const char *path)
{
    struct sockaddr_un a;
    int fd = address_of(path, &a) ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&a, sizeof a) || listen(fd, BACKLOG))) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    return fd;
}

int
control_accept(int listening, char *request, size_t size)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_usec = REQUEST_MS * 1000 }, sizeof(struct timeval));
    ssize_t n = recv(fd, request, size - 1, 0);
    request[n > 0 ? n : 0] = 0;
    return fd;
}

void
control_answer(int connection, const char *text)
{
    (void)!send(connection, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

#define STATUS "ok\npid %d\nrecorder %d\nflight %d\nover %d\nsnapshots %u\nseconds %lf\nbytes %llu\n"

void
control_status_text(const struct control_status *s, char *text, size_t size)
{
    snprintf(text, size, STATUS "dir %s\ncommand %s\n", s->pid, s->recorder, s->flight, s->over, s->snapshots, s->seconds, s->bytes, s->dir, s->command);
}

/* Whoever listens is a process of this user. */
static bool
is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}

static bool
ask(const char *path, const char *request, char *answer, size_t size, unsigned seconds)
{
    const struct timeval limit = { .tv_sec = seconds };
    struct sockaddr_un a;
    int fd = address_of(path, &a) ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1;
    ssize_t n = -1;
    if (fd >= 0) {      /* the limit of sending is that of connecting too */
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&a, sizeof a) && is_ours(fd)) {
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
            n = recv(fd, answer, size - 1, 0);
    }
    if (fd >= 0)
        close(fd);
    answer[n > 0 ? n : 0] = 0;
    cw_text_make_safe(answer, "\n");       /* a program may be named anything */
    bool ok = !strncmp(answer, "ok\n", 3);
    const size_t length = strlen(answer), head = ok ? 3 : !strncmp(answer, "error ", 6) ? 6 : 0;
    if (head)
        memmove(answer, answer + head, length + 1 - head);
    else
        snprintf(answer, size, "the recording does not answer");
    return ok;
}

bool
control_ask(const char *path, const char *request, char *answer, size_t size)
{
    return ask(path, request, answer, size, ANSWER_S);
}

/* The rest of the line that begins with `key`. */
static bool
line_of(const char *text, const char *key, char *out, size_t size)
{
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += strlen(key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

bool
control_status(const char *path, struct control_status *s)
{
    char text[CONTROL_TEXT];
    int flight, over;
    *s = (struct control_status){ 0 };
    if (!ask(path, "status", text, sizeof text, STATUS_S) ||
        sscanf(text, STATUS + 3, &s->pid, &s->recorder, &flight, &over, &s->snapshots, &s->seconds, &s->bytes) != 7 ||
        !line_of(text, "\ndir ", s->dir, sizeof s->dir) || !line_of(text, "\ncommand ", s->command, sizeof s->command))
        return false;
    s->flight = flight;
    s->over = over;
    return true;
}

/* Of the folders for temporary files in `base` that are this user's: others may make any there. False: `take` has enough. */
static bool
each_in(const char *base, bool (*take)(void *ctx, const char *path, const struct control_status *s), void *ctx)
{
    DIR *d = opendir(base);
    bool more = true;
    for (const struct dirent *e; d && more && (e = readdir(d)); ) {
        char path[PATH_MAX];
        struct control_status s;
        struct stat st;
        if (strncmp(e->d_name, FOLDERS, strlen(FOLDERS)) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
            continue;
        if (snprintf(path, sizeof path, "%s/%s/control", base, e->d_name) < (int)sizeof path && control_status(path, &s))
            more = take(ctx, path, &s);
    }
    if (d)
        closedir(d);
    return more;
}

void
control_each(bool (*take)(void *ctx, const char *path, const struct control_status *s), void *ctx)
{
    const char *tmp = getenv("TMPDIR");
    struct stat here, there = { 0 };
    if (each_in("/tmp", take, ctx) && tmp && !stat(tmp, &here) && (stat("/tmp", &there) || here.st_ino != there.st_ino || here.st_dev != there.st_dev))
        each_in(tmp, take, ctx);
}

/* ---- one of them ---- */

struct search {
    const char *which, *dir;
    int pid;
    unsigned found;
    char *path;
    size_t size;
    struct control_status *s;
};

static bool
is_it(const struct search *q, const struct control_status *s)
{
    if (!q->which)
        return true;
    if (!q->pid)
        return q->dir && !strcmp(q->dir, s->dir);
    for (int p = q->pid; p > 1; p = cw_parent_of(p))
        if (p == s->pid || p == s->recorder)
            return true;
    return false;
}

static bool
consider(void *ctx, const char *path, const struct control_status *s)
{
    struct search *q = ctx;
    if (!is_it(q, s))
        return true;
    q->found++;
    snprintf(q->path, q->size, "%s", path);
    *q->s = *s;
    return true;
}

bool
control_find(const char *which, char *path, size_t size, struct control_status *s)
{
    uint64_t pid = 0;
    struct search q = { .which = which, .path = path, .size = size, .s = s };
    char *dir = which ? realpath(which, NULL) : NULL;
    if (dir)
        cw_text_make_safe(dir, "");     /* as a status has it */
    if (which && parse_number(which, INT_MAX, &pid))
        q.pid = (int)pid;
    q.dir = dir;
    control_each(consider, &q);
    free(dir);
    if (q.found == 1)
        return true;
    if (q.found)
        say("%u recordings are running; name one of `cudaway-trace list` by its PID or folder", q.found);
    else if (which && pid)
        say("no recording of process %s is running; `cudaway-trace list` shows those that are", which);
    else if (which)
        say("no recording into %s is running; `cudaway-trace list` shows those that are", which);
    else
        say("no recording is running; `cudaway-trace record -- PROGRAM` makes one");
    return false;
}
