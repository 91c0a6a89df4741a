/* SPDX-License-Identifier: Apache-2.0
 * Messages, look-up of files and small conversions for cudaway-trace. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"

#include "impl/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static FILE *messages;          /* NULL: standard error */

void
say_to(FILE *file)
{
    messages = file;
}

void
say(const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    cw_text_make_safe(line, "\t");     /* it may name anything: programs, folders, what others recorded */
    fprintf(messages ? messages : stderr, "cudaway-trace: %s\n", line);
}

char *
own_dir(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    return strdup(path);
}

static bool
is_program(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *
find_tool(const char *name)
{
    static const char *const beside[] = { "%s/%s", "%s/../libexec/cudaway/%s" };
    char *dir = own_dir(), *path = NULL;
    for (unsigned i = 0; dir && i < sizeof beside / sizeof *beside; i++) {
        if (asprintf(&path, beside[i], dir, name) < 0)
            path = NULL;
        if (path && is_program(path)) {
            free(dir);
            return path;
        }
        free(path);
        path = NULL;
    }
    free(dir);
    const char *search = getenv("PATH");
    for (const char *p = search ? search : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        if (n && asprintf(&path, "%.*s/%s", (int)n, p, name) < 0)
            path = NULL;
        if (path && is_program(path))
            return path;
        free(path);
        path = NULL;
        p += n + (p[n] == ':');
    }
    return NULL;
}

char *
find_library(const char *name)
{
    char *dir = own_dir(), *path = NULL;
    if (!dir)
        return NULL;
    if (asprintf(&path, "%s/../lib/cudaway/%s", dir, name) < 0)
        path = NULL;
    free(dir);
    char *real = path ? realpath(path, NULL) : NULL;
    free(path);
    return real;
}

void
format_time(int64_t ns, char out[40])
{
    time_t t = (time_t)(ns / 1000000000);
    struct tm tm;
    gmtime_r(&t, &tm);
    size_t n = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, 40 - n, ".%03dZ", (int)(ns % 1000000000 / 1000000));
}

static bool
has_manifest(const char *dir, struct stat *st)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/manifest.json", dir) < (int)sizeof path && !stat(path, st);
}

static bool seen;

static int
look(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    seen = seen || (type == FTW_F && st->st_size && !strcmp(path + ftw->base, "metadata"));
    return seen;
}

bool
holds_trace(const char *dir)
{
    seen = false;
    nftw(dir, look, 16, FTW_PHYS);
    return seen;
}

char *
find_recording(const char *dir)
{
    struct stat st;
    if (dir) {
        if (stat(dir, &st)) {
            say("%s: %s", dir, strerror(errno));
            return NULL;
        }
        if (!S_ISDIR(st.st_mode)) {
            say("%s is not a folder that `cudaway-trace record` made", dir);
            return NULL;
        }
        char trace[PATH_MAX];
        struct stat sub;
        if (!has_manifest(dir, &sub) && (snprintf(trace, sizeof trace, "%s/trace", dir) >= (int)sizeof trace || stat(trace, &sub)) &&
            !holds_trace(dir)) {
            say("%s is not a folder that `cudaway-trace record` made: it has no manifest.json and no trace", dir);
            return NULL;
        }
        return strdup(dir);
    }
    DIR *d = opendir(".");
    struct dirent *e;
    char *best = NULL;
    struct timespec newest = { 0 };
    while (d && (e = readdir(d))) {
        if (strncmp(e->d_name, "cudaway-trace-", 14) || !has_manifest(e->d_name, &st))
            continue;
        if (best && (st.st_mtim.tv_sec < newest.tv_sec ||
                     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec < newest.tv_nsec)))
            continue;
        newest = st.st_mtim;
        free(best);
        best = strdup(e->d_name);
    }
    if (d)
        closedir(d);
    if (!best)
        say("no recording here; name its folder, or make one with `cudaway-trace record -- PROGRAM`");
    return best;
}

bool
parse_number(const char *s, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (errno || *s < '0' || *s > '9' || *end || v > max)
        return false;
    *out = v;
    return true;
}
