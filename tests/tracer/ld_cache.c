/* SPDX-License-Identifier: Apache-2.0
 * tracer/cli/ld_cache.c on a cache written from glibc's layout, and on this system's beside what `ldconfig -p` prints of it. */
#include "tracer/cli/ld_cache.h"

#include "impl/base/buf.h"
#include "impl/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void
put(struct cw_buf *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        cw_buf_append(b, &(uint8_t){ (uint8_t)v }, 1);
}

struct entry {
    uint32_t flags;
    const char *name, *path;
    uint64_t hwcap;
};

/* With the older list in front, where `compat`. */
static struct cw_buf
cache(const struct entry *entries, unsigned count, const char *const *hwcaps, unsigned nhwcaps, int compat)
{
    struct cw_buf b, strings;
    cw_buf_init(&b);
    cw_buf_init(&strings);
    uint64_t base = 48 + 24 * count, offsets[32], hwcap_offsets[8];
    for (unsigned i = 0; i < count; i++) {
        offsets[2 * i] = base + strings.size;
        cw_buf_append(&strings, entries[i].name, strlen(entries[i].name) + 1);
        offsets[2 * i + 1] = base + strings.size;
        cw_buf_append(&strings, entries[i].path, strlen(entries[i].path) + 1);
    }
    for (unsigned i = 0; i < nhwcaps; i++) {
        hwcap_offsets[i] = base + strings.size;
        cw_buf_append(&strings, hwcaps[i], strlen(hwcaps[i]) + 1);
    }
    while (strings.size % 4)
        cw_buf_append(&strings, "", 1);
    uint64_t extensions = base + strings.size;
    if (compat) {
        cw_buf_append(&b, "ld.so-1.7.0", 12);
        put(&b, 1, 4);
        put(&b, 0, 12);                 /* one entry of the older list */
        put(&b, 0, 4);                  /* up to a multiple of 8 */
    }
    cw_buf_append(&b, "glibc-ld.so.cache1.1", 20);
    put(&b, count, 4);
    put(&b, strings.size, 4);
    put(&b, 2, 4);
    put(&b, nhwcaps ? extensions : 0, 4);
    put(&b, 0, 12);
    for (unsigned i = 0; i < count; i++) {
        put(&b, entries[i].flags, 4);
        put(&b, offsets[2 * i], 4);
        put(&b, offsets[2 * i + 1], 4);
        put(&b, 0, 4);
        put(&b, entries[i].hwcap, 8);
    }
    cw_buf_append(&b, strings.data, strings.size);
    if (nhwcaps) {
        put(&b, 0xEAA42174u, 4);
        put(&b, 1, 4);
        put(&b, 1, 4);
        put(&b, 0, 4);
        put(&b, extensions + 24, 4);
        put(&b, 4 * nhwcaps, 4);
        for (unsigned i = 0; i < nhwcaps; i++)
            put(&b, hwcap_offsets[i], 4);
    }
    cw_buf_finish(&strings);
    return b;
}

static void
want(const struct cw_buf *b, const char *name, uint32_t flags, const char *const *hwcaps, unsigned count, const char *path)
{
    const char *got = ld_cache_find(b->data, b->size, name, flags, hwcaps, count);
    if (!got != !path || (got && strcmp(got, path) != 0)) {
        printf("%s: %s, not %s\n", name, got ? got : "nothing", path ? path : "nothing");
        failed = 1;
    }
}

static void
written(int compat)
{
    static const char *const named[] = { "x86-64-v2", "x86-64-v3" }, *const here[] = { "x86-64-v3", "x86-64-v2" };
    const uint64_t capability = 1ull << 62;
    const struct entry entries[] = {
        { LD_CACHE_AARCH64, "liba.so", "/arm/liba.so", 0 },
        { LD_CACHE_X86_64, "liba.so", "/old/liba.so", 1 },              /* hwcap of before glibc 2.33: not for us */
        { LD_CACHE_X86_64, "liba.so", "/plain/liba.so", 0 },
        { LD_CACHE_X86_64, "liba.so", "/v2/liba.so", capability | 0 },
        { LD_CACHE_X86_64, "liba.so", "/v3/liba.so", capability | 1 },
        { LD_CACHE_X86_64, "liba.so", "/none/liba.so", capability | 2 },
        { LD_CACHE_X86_64, "liba.so.1", "/plain/liba.so.1", 0 },
    };
    struct cw_buf b = cache(entries, 7, named, 2, compat);
    want(&b, "liba.so", LD_CACHE_X86_64, here, 2, "/v3/liba.so");
    want(&b, "liba.so", LD_CACHE_X86_64, here + 1, 1, "/v2/liba.so");
    want(&b, "liba.so", LD_CACHE_X86_64, NULL, 0, "/plain/liba.so");
    want(&b, "liba.so", LD_CACHE_AARCH64, here, 2, "/arm/liba.so");
    want(&b, "liba.so.1", LD_CACHE_X86_64, here, 2, "/plain/liba.so.1");
    want(&b, "liba", LD_CACHE_X86_64, here, 2, NULL);
    want(&b, "liba.so.10", LD_CACHE_X86_64, here, 2, NULL);
    /* Cut anywhere: what is found is right, or nothing. */
    for (size_t n = 0; n < b.size; n++) {
        char *part = malloc(n ? n : 1);
        memcpy(part, b.data, n);
        const char *path = ld_cache_find(part, n, "liba.so", LD_CACHE_X86_64, here, 2);
        if (path && strcmp(path, "/v3/liba.so") && strcmp(path, "/v2/liba.so") && strcmp(path, "/plain/liba.so")) {
            printf("cut at %zu: %s\n", n, path);
            failed = 1;
        }
        free(part);
    }
    cw_buf_finish(&b);
}

/* Lines "	NAME (libc6,x86-64) => PATH", with ", hwcap: "..."" or the like before the parenthesis for those of certain processors, which are left out here. */
static int
system_cache(void)
{
    struct cw_mapped_file m;
    char line[4096], name[1024], path[1024];
    int lines = 0;
    FILE *f = popen("PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null", "r");
    if (!f || cw_file_map("/etc/ld.so.cache", &m) != CW_OK)
        return 0;
    char seen[1024] = "";
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, " %1023s (libc6,x86-64) => %1023s", name, path) != 2 || !strcmp(seen, name))
            continue;                       /* of two folders with the library the first is taken */
        snprintf(seen, sizeof seen, "%s", name);
        struct cw_buf b = { .data = (char *)m.data, .size = m.size };
        want(&b, name, LD_CACHE_X86_64, NULL, 0, path);
        lines++;
    }
    pclose(f);
    cw_file_unmap(&m);
    return lines;
}

int
main(void)
{
    written(0);
    written(1);
    printf("%d libraries of this system's cache\n", system_cache());
    return failed;
}
