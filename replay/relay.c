/* SPDX-License-Identifier: Apache-2.0
 * See relay.h. Where a stream is a terminal, the child has a pseudo-terminal, so that it shows its progress; else it has a pipe. */
#define _GNU_SOURCE
#include "replay/relay.h"

#include "impl/base/file.h"
#include "impl/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char erase[] = "\033[K";   /* of progress.c, which writes over its own line */
enum { ERASE = sizeof erase - 1 };

static bool
open_terminal(struct cwd_relay_stream *s)
{
    char name[64];
    struct termios t;
    struct winsize size;
    s->from = cw_fd_keep(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    s->child = s->from >= 0 && !grantpt(s->from) && !unlockpt(s->from) && !ptsname_r(s->from, name, sizeof name) ? cw_fd_keep(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) : -1;
    if (s->child < 0) {
        if (s->from >= 0)
            close(s->from);
        return false;
    }
    if (!tcgetattr(s->child, &t)) {
        t.c_oflag &= ~(tcflag_t)OPOST;  /* the true one makes lines */
        (void)tcsetattr(s->child, TCSANOW, &t);
    }
    if (!ioctl(s->to, TIOCGWINSZ, &size))
        (void)ioctl(s->child, TIOCSWINSZ, &size);
    return true;
}

static bool
open_stream(struct cwd_relay_stream *s, int to)
{
    int ends[2];
    *s = (struct cwd_relay_stream){ .from = -1, .child = -1, .to = to, .terminal = isatty(to) };
    if (s->terminal && open_terminal(s))
        return true;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    s->from = cw_fd_keep(ends[0]);
    s->child = cw_fd_keep(ends[1]);
    if (s->from >= 0 && s->child >= 0)
        return true;
    int saved = errno;
    close(s->from >= 0 ? s->from : s->child);
    errno = saved;
    return false;
}

bool
cwd_relay_open(struct cwd_relay *r)
{
    struct cw_fd_file out = { 0 }, now;
    r->count = 0;
    r->error = 0;
    for (int i = 0; i < 2; i++) {
        r->of[i] = -1;
        if (!cw_fd_file(STDOUT_FILENO + i, &now))
            continue;
        if (i && out.inode && now.device == out.device && now.inode == out.inode) {
            r->of[i] = 0;
            continue;
        }
        if (!open_stream(&r->stream[r->count], STDOUT_FILENO + i)) {
            int saved = errno;
            cwd_relay_in_parent(r);
            cwd_relay_close(r);
            errno = saved;
            return false;
        }
        r->of[i] = (int)r->count++;
        if (!i)
            out = now;
    }
    return true;
}

bool
cwd_relay_in_child(struct cwd_relay *r)
{
    int null = open("/dev/null", O_RDONLY);
    bool ok = null >= 0 && dup2(null, STDIN_FILENO) >= 0;
    if (null > STDIN_FILENO)
        close(null);
    for (int i = 0; i < 2; i++)
        ok = ok && (r->of[i] < 0 || dup2(r->stream[r->of[i]].child, STDOUT_FILENO + i) >= 0);
    cwd_relay_in_parent(r);
    cwd_relay_close(r);
    return ok;
}

void
cwd_relay_in_parent(struct cwd_relay *r)
{
    for (unsigned i = 0; i < r->count; i++)
        close(r->stream[i].child);
}

static void
end(struct cwd_relay_stream *s)
{
    if (s->from >= 0)
        close(s->from);
    s->from = -1;
}

void
cwd_relay_close(struct cwd_relay *r)
{
    for (unsigned i = 0; i < r->count; i++)
        end(&r->stream[i]);
}

/* Bytes at the end that may be the beginning of a character, or of `erase`. */
static size_t
unfinished(const char *text, size_t n)
{
    for (size_t k = 1; k < 4 && k <= n; k++) {
        const unsigned char c = (unsigned char)text[n - k];
        if (k < ERASE && !memcmp(text + n - k, erase, k))
            return k;
        if (c >= 0xc0)
            return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > k ? k : 0;
        if (c < 0x80 && c != '[')
            return 0;
    }
    return 0;
}

/* In place. The number of bytes that are left. */
static size_t
make_safe(char *text, size_t n)
{
    char *to = text, *end = text + n;
    for (char *s = text; s < end; s++)
        if (!*s)
            *s = '?';
    for (char *s = text; s < end;) {
        char *stop = memmem(s, (size_t)(end - s), erase, ERASE);
        char *next = stop ? stop + ERASE : end;
        *(stop ? stop : end) = 0;
        cw_text_make_safe(s, "\n\t\r");
        const size_t m = strlen(s);
        memmove(to, s, m);
        to += m;
        if (stop) {
            memcpy(to, erase, ERASE);
            to += ERASE;
        }
        s = next;
    }
    return (size_t)(to - text);
}

static void
take(struct cwd_relay_stream *s)
{
    char tail[4];
    ssize_t got = read(s->from, s->data + s->kept, CWD_RELAY_CHUNK - s->kept);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    size_t n = s->kept + (got > 0 ? (size_t)got : 0);
    if (got <= 0)
        end(s);                         /* EIO: nobody has the terminal any more */
    s->kept = s->terminal && got > 0 ? unfinished(s->data, n) : 0;
    n -= s->kept;
    memcpy(tail, s->data + n, s->kept);
    s->ready = s->terminal ? make_safe(s->data, n) : n;
    if (s->ready)                       /* room for the tail is behind it: make_safe leaves no more than there was */
        memmove(s->data + s->ready, tail, s->kept);
    else
        memcpy(s->data, tail, s->kept);
}

/* When the reader has gone away, the child's next write ends it. */
static void
put(struct cwd_relay *r, struct cwd_relay_stream *s)
{
    if (!cw_write_all(s->to, s->data, s->ready)) {
        r->error = r->error ? r->error : errno;
        if (errno == EPIPE)
            end(s);
    }
    memmove(s->data, s->data + s->ready, s->kept);
    s->ready = 0;
}

bool
cwd_relay_wait(struct cwd_relay *r, int other)
{
    for (;;) {
        struct pollfd p[3] = { { .fd = other, .events = POLLIN } };
        bool open = false;
        for (unsigned i = 0; i < r->count; i++) {
            const struct cwd_relay_stream *s = &r->stream[i];
            p[i + 1] = s->ready ? (struct pollfd){ .fd = s->to, .events = POLLOUT } : (struct pollfd){ .fd = s->from, .events = POLLIN };
            open |= p[i + 1].fd >= 0;
        }
        if (!open)
            return false;
        const int ready = poll(p, 1 + r->count, CWD_RELAY_MS);
        if (ready < 0)
            continue;
        if (!ready)
            return true;
        for (unsigned i = 0; i < r->count; i++)
            if (p[i + 1].revents) {
                struct cwd_relay_stream *s = &r->stream[i];
                if (s->ready)
                    put(r, s);
                else
                    take(s);
            }
        if (p[0].revents)
            return true;
    }
}
