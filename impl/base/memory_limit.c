/* SPDX-License-Identifier: Apache-2.0
 * See memory_limit.h. */
#define _GNU_SOURCE
#include "impl/base/memory_limit.h"

#include "impl/base/file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Names are in allocated memory: the first call may come on a stack of 16 KiB. */

/* A number of bytes in a file of folder/path; UINT64_MAX for "max" and where there is none. */
static uint64_t
bytes_in(const char *folder, const char *path, const char *file)
{
    char *name, *text, *end;
    size_t size;
    if (asprintf(&name, "%s%s/%s", folder, path, file) < 0)
        return UINT64_MAX;
    cw_result r = cw_file_read(name, 4096, &text, &size);
    free(name);
    if (r != CW_OK)
        return UINT64_MAX;
    unsigned long long v = strtoull(text, &end, 10);
    uint64_t bytes = end == text ? UINT64_MAX : v;
    free(text);
    return bytes;
}

/* A group's limit holds for those below it as well. In a container a group's path may be the host's, and the group itself mounted in the place of all: the path's
 * beginnings count that are there. `path` is shortened. */
static uint64_t
least_on_the_way(const char *mount, char *path, const char *file)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        size_t n = strlen(path);
        while (n && path[n - 1] == '/')
            path[--n] = 0;
        uint64_t bytes = bytes_in(mount, path, file);
        least = bytes < least ? bytes : least;
        if (!n)
            return least;
        *(strrchr(path, '/') ? strrchr(path, '/') : path) = 0;
    }
}

static bool
names_memory(const char *controllers)
{
    for (const char *c = controllers; *c; c += strcspn(c, ","), c += *c == ',')
        if (strcspn(c, ",") == 6 && !memcmp(c, "memory", 6))
            return true;
    return false;
}

/* "4:memory:/a/b" (version 1), "0::/a/b" (version 2) */
static uint64_t
limit_of_line(const char *root, char *line)
{
    char *mount, *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return UINT64_MAX;
    *path++ = 0;
    controllers++;
    if (strstr(path, "/.."))            /* outside of what this process sees */
        *path = 0;
    if (*controllers && !names_memory(controllers))
        return UINT64_MAX;
    if (asprintf(&mount, "%s/sys/fs/cgroup%s", root, *controllers ? "/memory" : "") < 0)
        return UINT64_MAX;
    uint64_t least = least_on_the_way(mount, path, *controllers ? "memory.limit_in_bytes" : "memory.max");
    free(mount);
    return least;
}

uint64_t
cw_cgroup_memory(const char *root)
{
    char *name, *text, *save = NULL;
    size_t size;
    uint64_t least = UINT64_MAX;
    if (asprintf(&name, "%s/proc/self/cgroup", root) < 0)
        return UINT64_MAX;
    cw_result r = cw_file_read(name, 1 << 16, &text, &size);
    free(name);
    if (r != CW_OK)
        return UINT64_MAX;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        uint64_t bytes = limit_of_line(root, line);
        least = bytes < least ? bytes : least;
    }
    free(text);
    return least;
}

static uint64_t limit;

static void
find_limit(void)
{
    struct rlimit l;
    limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t groups = cw_cgroup_memory("");
    limit = groups < limit ? groups : limit;
    if (!getrlimit(RLIMIT_AS, &l) && l.rlim_cur < limit)
        limit = l.rlim_cur;
    if (!getrlimit(RLIMIT_DATA, &l) && l.rlim_cur < limit)
        limit = l.rlim_cur;
}

uint64_t
cw_memory_limit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_limit);
    return limit;
}
