/* SPDX-License-Identifier: Apache-2.0
 * See log.h. The level is read once; a child of fork keeps it. */
#include "impl/base/log.h"
#include "impl/base/env.h"
#include "impl/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = { "off", "error", "warn", "info", "debug", "trace" };
static enum cw_log_level current = CW_LOG_WARN;
static int out_fd = 2;
static _Atomic(cw_log_sink *) current_sink;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
init_once(void)
{
    const char *file = cw_env_get(CW_ENV_LOG_FILE);
    if (file && *file) {
        int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd >= 0)
            out_fd = fd;
        else
            dprintf(2, "cudaway: warning: CUDAWAY_LOG_FILE=%s: %s; logging to standard error\n", file, strerror(errno));
    }
    const char *s = cw_env_get(CW_ENV_LOG);
    if (!s || !*s)
        return;
    if (!strcmp(s, "help")) {
        cw_env_help(out_fd);
        return;
    }
    for (unsigned i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (!strcmp(s, level_names[i])) {
            current = (enum cw_log_level)i;
            return;
        }
    }
    dprintf(out_fd, "cudaway: warning: CUDAWAY_LOG=%s is not one of off, error, warn, info, debug, trace, help; using warn\n", s);
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
        if (sink) {
            line[n] = 0;
            sink(level, line + head, (size_t)(n - head));
        }
        line[n++] = '\n';
        if (print)
            (void)cw_write_all(out_fd, line, (size_t)n);
    }
    errno = saved;
}
