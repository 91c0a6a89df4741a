/* SPDX-License-Identifier: Apache-2.0
 * See cache.h. */
#define _GNU_SOURCE
#include "jit/driver/cache.h"

#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/hash.h"
#include "impl/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 4 + 4 + 32 + 20 + 4 + 8 + 32, CHECKSUM_AT = HEADER - 32, VERSION = 2, NAME = 64 + 4 };
#define SUFFIX ".cwk"
#define MAX_OBJECT (256u << 20)

/* This file's only mutable state; guarded by `lock`. */
static struct {
    pthread_mutex_t lock;
    bool opened, usable, warned, measured;
    char dir[PATH_MAX - 128];
    uint64_t limit, used;           /* bytes; `used` is an estimate once measured */
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
warn_once(const char *what, const char *path, int error)
{
    if (!cache.warned)
        cw_warn("%s %s: %s; compiled kernels are not kept", what, path, strerror(error));
    cache.warned = true;
    cache.usable = false;
}

/* Decide where the cache is; called with the lock held. */
static void
open_cache(void)
{
    cache.opened = true;
    cache.limit = cw_env_u64(CW_ENV_CACHE_SIZE, 1ull << 30, 0, UINT64_MAX);
    if (!cache.limit)
        return;
    const char *dir = cw_env_get(CW_ENV_CACHE_DIR), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (dir && *dir)
        n = snprintf(cache.dir, sizeof cache.dir, "%s/kernels-%u", dir, (unsigned)geteuid());
    else if (xdg && *xdg == '/')
        n = snprintf(cache.dir, sizeof cache.dir, "%s/cudaway/kernels-%u", xdg, (unsigned)geteuid());
    else if (home && *home == '/')
        n = snprintf(cache.dir, sizeof cache.dir, "%s/.cache/cudaway/kernels-%u", home, (unsigned)geteuid());
    else {
        cw_info("neither CUDAWAY_CACHE_DIR nor HOME is set; compiled kernels are not kept");
        return;
    }
    if (n < 0 || (size_t)n >= sizeof cache.dir) {
        warn_once("the cache folder", dir ? dir : "", ENAMETOOLONG);
        return;
    }
    if (cw_mkdirs(cache.dir, 0700)) {
        warn_once("cannot make the cache folder", cache.dir, errno);
        return;
    }
    struct stat st;
    if (lstat(cache.dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
        warn_once("the cache folder is not private to this user:", cache.dir, EPERM);
        return;
    }
    if (access(cache.dir, R_OK | W_OK | X_OK)) {
        warn_once("cannot use the cache folder", cache.dir, errno);
        return;
    }
    cache.usable = true;
}

static bool
usable(void)
{
    pthread_mutex_lock(&cache.lock);
    if (!cache.opened)
        open_cache();
    bool u = cache.usable;
    pthread_mutex_unlock(&cache.lock);
    return u;
}

static void
entry_path(const uint8_t key[32], char path[PATH_MAX])
{
    char hex[65];
    cw_hex(key, 32, hex);
    snprintf(path, PATH_MAX, "%s/%s" SUFFIX, cache.dir, hex);
}

static void
put_int(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static void
fill_header(uint8_t h[HEADER], const uint8_t key[32], const struct cwh_code_info *info, const void *object, size_t size)
{
    memset(h, 0, HEADER);
    memcpy(h, "CWJK", 4);
    put_int(h + 4, VERSION, 4);
    memcpy(h + 8, key, 32);
    put_int(h + 40, info->width, 4);
    put_int(h + 44, info->uses_fibers, 4);
    put_int(h + 48, info->static_shared, 4);
    put_int(h + 52, info->shared_align, 4);
    put_int(h + 56, info->stack_hint, 4);
    put_int(h + 60, info->bounded, 4);
    put_int(h + 64, size, 8);
    struct cw_sha256 s;
    cw_sha256_init(&s);
    cw_sha256_update(&s, h, CHECKSUM_AT);
    cw_sha256_update(&s, object, size);
    cw_sha256_finish(&s, h + CHECKSUM_AT);
}

bool
cwj_cache_get(const uint8_t key[32], struct cwh_code_info *info, char **object, size_t *size)
{
    *object = NULL;
    if (!usable())
        return false;
    char path[PATH_MAX];
    entry_path(key, path);
    char *data;
    size_t n;
    cw_result r = cw_file_read_own(path, HEADER + MAX_OBJECT, &data, &n);
    if (r) {
        if (r == CW_ERR_IO) {
            int saved = errno;
            pthread_mutex_lock(&cache.lock);
            warn_once("cannot read from the cache folder", cache.dir, saved);
            pthread_mutex_unlock(&cache.lock);
        }
        return false;
    }
    const uint8_t *h = (const uint8_t *)data;
    uint8_t expect[HEADER];
    bool good = n > HEADER && cw_read_le(h + 64, 8) == n - HEADER;
    if (good) {
        *info = (struct cwh_code_info){ (uint32_t)cw_read_le(h + 40, 4), (uint32_t)cw_read_le(h + 44, 4), (uint32_t)cw_read_le(h + 48, 4),
                                        (uint32_t)cw_read_le(h + 52, 4), (uint32_t)cw_read_le(h + 56, 4), (uint32_t)cw_read_le(h + 60, 4) };
        fill_header(expect, key, info, data + HEADER, n - HEADER);
        good = !memcmp(expect, h, HEADER);
    }
    if (!good) {
        cw_info("the cache entry %s is damaged; it is compiled again", path);
        unlink(path);
        free(data);
        return false;
    }
    utimensat(AT_FDCWD, path, NULL, 0);     /* mark as used; on failure it is only evicted earlier */
    *size = n - HEADER;
    memmove(data, data + HEADER, *size);
    *object = data;
    return true;
}

struct file {
    char name[NAME + 1];
    uint64_t size;
    struct timespec used;
};

static int
compare_age(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Measure the folder. If it exceeds `allowed`, delete the oldest entries down to nine tenths of that, so that the next writes need not
 * evict. Also delete temporary files older than an hour, left by a crash. Called with the lock held. */
static void
measure_and_evict(uint64_t allowed)
{
    DIR *d = opendir(cache.dir);
    if (!d)
        return;
    struct file *files = NULL;
    size_t n = 0, cap = 0;
    uint64_t total = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        size_t len = strlen(e->d_name);
        if (len < NAME || strncmp(e->d_name + 64, SUFFIX, 4) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode))
            continue;
        if (len > NAME) {
            if (st.st_mtim.tv_sec < now.tv_sec - 3600)
                unlinkat(dirfd(d), e->d_name, 0);
            continue;
        }
        if (n == cap) {
            size_t want = cap ? cap * 2 : 256;
            struct file *p = realloc(files, want * sizeof *p);
            if (!p)
                break;
            files = p;
            cap = want;
        }
        memcpy(files[n].name, e->d_name, NAME + 1);
        files[n].size = (uint64_t)st.st_blocks * 512 > (uint64_t)st.st_size ? (uint64_t)st.st_blocks * 512 : (uint64_t)st.st_size;
        files[n].used = st.st_mtim;
        total += files[n++].size;
    }
    uint64_t target = total > allowed ? allowed / 10 * 9 : total;
    if (total > target)
        qsort(files, n, sizeof *files, compare_age);
    for (size_t i = 0; i < n && total > target; i++)
        if (!unlinkat(dirfd(d), files[i].name, 0) || errno == ENOENT)
            total -= files[i].size;
    cache.used = total;
    cache.measured = true;
    free(files);
    closedir(d);
}

/* Over whatever has the name: an entry that another process made meanwhile, or a pipe, which is not opened. */
static bool
write_entry(const char *path, const void *data, size_t size)
{
    struct cw_new_file f;
    if (cw_file_is_special(path))
        (void)unlink(path);
    if (cw_new_file_begin(&f, path, 0600) != CW_OK)
        return false;
    bool ok = cw_write_all(f.fd, data, size);
    return cw_new_file_finish(&f, ok) == CW_OK && ok;
}

void
cwj_cache_put(const uint8_t key[32], const struct cwh_code_info *info, const void *object, size_t size)
{
    if (!usable() || !size || size > MAX_OBJECT)
        return;
    char path[PATH_MAX];
    entry_path(key, path);
    uint8_t *data = malloc(HEADER + size);
    if (!data)
        return;
    memcpy(data + HEADER, object, size);
    fill_header(data, key, info, object, size);
    uint64_t bytes = (HEADER + size + 4095) & ~4095ull;
    pthread_mutex_lock(&cache.lock);
    if (cache.usable && bytes <= cache.limit) {
        if (!cache.measured || cache.used + bytes > cache.limit)
            measure_and_evict(cache.limit - bytes);
        if (!write_entry(path, data, HEADER + size))
            warn_once("cannot write to the cache folder", cache.dir, errno);
        else
            cache.used += bytes;
    }
    pthread_mutex_unlock(&cache.lock);
    free(data);
}
