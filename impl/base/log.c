/* SPDX-License-Identifier: Apache-2.0
 * See log.h. The level is read once; a child of fork keeps it. */
#include "impl/base/log.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const level_names[] = { "off", "error", "warn", "info", "debug", "trace" };
static enum cw_log_level current = CW_LOG_WARN;
static int out_fd = STDERR_FILENO;      /* CUDAWAY_LOG_FILE's, or standard error */
static struct cw_fd_file out_file;      /* of the former */
static struct cw_fd_file stderr_file;   /* of standard error when this library was loaded; all zero: it was closed */
static _Atomic(cw_log_sink *) current_sink;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static __attribute__((constructor)) void
look_at_stderr(void)
{
    int saved = errno;
    (void)cw_fd_file(STDERR_FILENO, &stderr_file);
    errno = saved;
}

void
cw_log_use_stderr(const struct cw_fd_file *file)
{
    stderr_file = *file;
}

const struct cw_fd_file *
cw_log_stderr(void)
{
    return &stderr_file;
}

/* Whether descriptor 2 is standard error. A program that closed it, or was started without, may have its number for a database or a socket. */
static bool
stderr_is_there(void)
{
    struct stat st;
    if (!stderr_file.inode)
        return false;
    if (cw_fd_is(STDERR_FILENO, &stderr_file))
        return true;
    int saved = errno, flags = fcntl(STDERR_FILENO, F_GETFL);
    bool redirected = flags >= 0 && !fstat(STDERR_FILENO, &st) && ((flags & O_ACCMODE) == O_WRONLY || S_ISCHR(st.st_mode));
    errno = saved;
    return redirected;
}

bool
cw_stderr_write(const void *text, size_t size)
{
    return stderr_is_there() && cw_write_all(STDERR_FILENO, text, size);
}

/* Where lines go; -1: nowhere. The program may have closed the log's descriptor, and have its number for something else. */
static int
place(void)
{
    if (out_fd != STDERR_FILENO && cw_fd_is(out_fd, &out_file))
        return out_fd;
    return stderr_is_there() ? STDERR_FILENO : -1;
}

static void __attribute__((format(printf, 1, 2)))
complain(const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line - 1, fmt, ap), fd = place();
    va_end(ap);
    if (n <= 0 || fd < 0)
        return;
    n = (int)cw_text_make_line(line);
    line[n++] = '\n';
    (void)cw_write_all(fd, line, (size_t)n);
}

static void
init_once(void)
{
    const char *file = cw_env_get(CW_ENV_LOG_FILE);
    if (file && *file) {
        int fd = cw_fd_keep(open(file, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));        /* a pipe without a reader: ENXIO */
        if (fd >= 0 && !fcntl(fd, F_SETFL, O_APPEND) && cw_fd_file(fd, &out_file))
            out_fd = fd;
        else
            complain("cudaway: warning: CUDAWAY_LOG_FILE=%s: %s; logging to standard error", file, strerror(errno));
    }
    const char *s = cw_env_get(CW_ENV_LOG);
    if (!s || !*s)
        return;
    if (!strcmp(s, "help")) {
        if (place() >= 0)
            cw_env_help(place());
        return;
    }
    for (unsigned i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (!strcmp(s, level_names[i])) {
            current = (enum cw_log_level)i;
            return;
        }
    }
    complain("cudaway: warning: CUDAWAY_LOG=%s is not one of off, error, warn, info, debug, trace, help; using warn", s);
}

bool
cw_log_enabled(enum cw_log_level level)
{
    pthread_once(&once, init_once);
    return level <= current;
}

void
cw_log_set_sink(cw_log_sink *sink)
{
    atomic_store(&current_sink, sink);
}

void
cw_log(enum cw_log_level level, const char *fmt, ...)
{
    int saved = errno;
    bool print = cw_log_enabled(level);
    cw_log_sink *sink = level <= CW_LOG_WARN ? atomic_load(&current_sink) : NULL;
    if (print || sink) {
        char line[2048];
        int n = snprintf(line, sizeof line, "cudaway: %s: ", level == CW_LOG_WARN ? "warning" : level_names[level]);
        const int head = n;
        va_list ap;
        va_start(ap, fmt);
        int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
        va_end(ap);
        if (m > 0)
            n += m < (int)sizeof line - n - 1 ? m : (int)sizeof line - n - 2;
        line[n] = 0;
        n = head + (int)cw_text_make_line(line + head);     /* diagnostics have several lines; names may have anything */
        if (sink)
            sink(level, line + head, (size_t)(n - head));
        line[n++] = '\n';
        int fd = print ? place() : -1;
        if (fd >= 0)
            (void)cw_write_all(fd, line, (size_t)n);
    }
    errno = saved;
}
