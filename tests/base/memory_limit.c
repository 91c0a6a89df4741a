/* SPDX-License-Identifier: Apache-2.0
 * Limits of control groups, in folders that stand for the system's. */
#define _GNU_SOURCE
#include "impl/base/file.h"
#include "impl/base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4 };

static const struct {
    const char *what, *groups;
    struct { const char *path, *text; } files[FILES];
    uint64_t want;
} cases[] = {
    { "no groups", NULL, { { 0 } }, UINT64_MAX },
    { "no limit", "0::/a\n", { { "sys/fs/cgroup/a/memory.max", "max\n" } }, UINT64_MAX },
    { "version 2", "0::/a/b\n", { { "sys/fs/cgroup/a/b/memory.max", "1000000\n" }, { "sys/fs/cgroup/a/memory.max", "max\n" } }, 1000000 },
    { "a group above", "0::/a/b\n", { { "sys/fs/cgroup/a/b/memory.max", "max\n" }, { "sys/fs/cgroup/a/memory.max", "2000000\n" } }, 2000000 },
    { "the least", "0::/a/b\n", { { "sys/fs/cgroup/a/b/memory.max", "3000000\n" }, { "sys/fs/cgroup/a/memory.max", "2000000\n" } }, 2000000 },
    { "another group", "0::/a/b\n", { { "sys/fs/cgroup/a/c/memory.max", "3\n" } }, UINT64_MAX },
    { "a container's own", "0::/\n", { { "sys/fs/cgroup/memory.max", "4000000\n" } }, 4000000 },
    { "the host's path", "0::/docker/0123\n", { { "sys/fs/cgroup/memory.max", "5000000\n" } }, 5000000 },
    { "outside", "0::/../../x\n", { { "sys/fs/cgroup/memory.max", "6000000\n" }, { "sys/fs/x/memory.max", "1\n" } }, 6000000 },
    { "version 1", "9:name=systemd:/\n4:cpu,memory:/a\n3:cpuset:/\n0::/\n", { { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000000\n" },
      { "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n" } }, 7000000 },
    { "not the memory's", "4:memory2,cpu:/a\n", { { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7\n" } }, UINT64_MAX },
    { "a name with a colon", "0::/a:b\n", { { "sys/fs/cgroup/a:b/memory.max", "8000000\n" } }, 8000000 },
    { "no lines of groups", "x\n\n:\n", { { "sys/fs/cgroup/memory.max", "8\n" } }, UINT64_MAX },
    { "no number", "0::/\n", { { "sys/fs/cgroup/memory.max", "\n" } }, UINT64_MAX },
};

static bool
put(const char *root, const char *path, const char *text)
{
    char name[300];
    snprintf(name, sizeof name, "%s/%s", root, path);
    *strrchr(name, '/') = 0;
    if (cw_mkdirs(name, 0700) != CW_OK)
        return false;
    snprintf(name, sizeof name, "%s/%s", root, path);
    return cw_file_write(name, text, strlen(text)) == CW_OK;
}

int
main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[] = "/tmp/cudaway-groups-XXXXXX";
        if (!mkdtemp(root))
            return 1;
        bool ok = !cases[i].groups || put(root, "proc/self/cgroup", cases[i].groups);
        for (unsigned k = 0; k < FILES && cases[i].files[k].path; k++)
            ok = put(root, cases[i].files[k].path, cases[i].files[k].text) && ok;
        uint64_t got = cw_cgroup_memory(root);
        if (!ok || got != cases[i].want) {
            fprintf(stderr, "%s: %" PRIu64 ", not %" PRIu64 "\n", cases[i].what, got, cases[i].want);
            failures++;
        }
        cw_remove_tree(root);
    }
    return failures != 0;
}
