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

enum { VERSION = 3, NAME = 64 + 4 };
#define SUFFIX ".cwk"
#define MAX_OBJECT (256u << 20)

/* Of a file, as it lies in memory: this processor is little endian. */
struct header {
    char magic[4];
    uint32_t version;
    uint8_t key[32];
    struct cwh_code_info info;
    uint32_t zero;
    uint64_t size;              /* of the object behind it */
    uint8_t checksum[32];       /* of all that is before, and the object */
};
_Static_assert(offsetof(struct header, size) == 72 && sizeof(struct header) == 112, "the header has no gaps");

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
    const char *dir = cw_env_get(CW_ENV_CACHE_DIR), *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int n;
    if (dir && *dir)
        n = snprintf(cache.dir, sizeof cache.dir, "%s/kernels-%u", dir, (unsigned)geteuid());
    else if (xdg && *xdg == '/')
        n = snprintf(cache.dir, sizeof cache.dir, "%s/cudaway/kernels-%u", xdg, (unsigned)geteuid());
    else if (home && *home == '/' && !access(home, F_OK))       /* a user without one has "/nonexistent" or the like, which root could make */
        n = snprintf(cache.dir, sizeof cache.dir, "%s/.cache/cudaway/kernels-%u", home, (unsigned)geteuid());
    else {
        cw_info("there is no CUDAWAY_CACHE_DIR and no home folder (HOME); compiled kernels are not kept");
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

static struct header
make_header(const uint8_t key[32], const struct cwh_code_info *info, const void *object, size_t size)
{
    struct header h = { .magic = { 'C', 'W', 'J', 'K' }, .version = VERSION, .info = *info, .size = size };
    struct cw_sha256 s;
    memcpy(h.key, key, sizeof h.key);
    cw_sha256_init(&s);
    cw_sha256_update(&s, &h, offsetof(struct header, checksum));
    cw_sha256_update(&s, object, size);
    cw_sha256_finish(&s, h.checksum);
    return h;
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
    cw_result r = cw_file_read_own(path, sizeof(struct header) + MAX_OBJECT, &data, &n);
    if (r) {
        if (r == CW_ERR_IO) {
            int saved = errno;
            pthread_mutex_lock(&cache.lock);
            warn_once("cannot read from the cache folder", cache.dir, saved);
            pthread_mutex_unlock(&cache.lock);
        }
        return false;
    }
    struct header h, expect;
    bool good = n > sizeof h;
    if (good) {
        memcpy(&h, data, sizeof h);
        *info = h.info;
        expect = make_header(key, info, data + sizeof h, n - sizeof h);
        good = !memcmp(&expect, &h, sizeof h);
    }
    if (!good) {
        cw_info("the cache entry %s is damaged; it is compiled again", path);
        unlink(path);
        free(data);
        return false;
    }
    utimensat(AT_FDCWD, path, NULL, 0);     /* mark as used; on failure it is only evicted earlier */
    *size = n - sizeof h;
    memmove(data, data + sizeof h, *size);
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
    const struct header h = make_header(key, info, object, size);
    uint8_t *data = malloc(sizeof h + size);
    if (!data)
        return;
    memcpy(data, &h, sizeof h);
    memcpy(data + sizeof h, object, size);
    uint64_t bytes = (sizeof h + size + 4095) & ~4095ull;
    pthread_mutex_lock(&cache.lock);
    if (cache.usable && bytes <= cache.limit) {
        if (!cache.measured || cache.used + bytes > cache.limit)
            measure_and_evict(cache.limit - bytes);
        if (write_entry(path, data, sizeof h + size))
            cache.used += bytes;
        else if (errno != EISDIR)       /* a folder has the entry's name: the others can be written */
            warn_once("cannot write to the cache folder", cache.dir, errno);
    }
    pthread_mutex_unlock(&cache.lock);
    free(data);
}
