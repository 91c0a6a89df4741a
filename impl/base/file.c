/* SPDX-License-Identifier: Apache-2.0
 * See file.h. */
#define _GNU_SOURCE
#include "impl/base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cw_result
cw_file_read(const char *path, size_t max_size, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : CW_ERR_IO;
    cw_result r = CW_ERR_IO;
    char *buf = NULL;
    size_t n = 0, cap = 0;
    struct stat st;
    if (fstat(fd, &st))
        goto fail;
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        goto fail;
    }
    if ((uint64_t)st.st_size > max_size) {
        r = CW_ERR_LIMIT;
        goto fail;
    }
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : (size_t)st.st_size + 4096;
            char *p = realloc(buf, cap);
            if (!p) {
                r = CW_ERR_NOMEM;
                goto fail;
            }
            buf = p;
        }
        ssize_t got = read(fd, buf + n, cap - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            goto fail;
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > max_size) {
            r = CW_ERR_LIMIT;
            goto fail;
        }
    }
    buf[n] = 0;
    close(fd);
    *data = buf;
    *size = n;
    return CW_OK;
fail:;
    int saved = errno;
    free(buf);
    close(fd);
    errno = saved;
    return r;
}

bool
cw_file_is_special(const char *path)
{
    struct stat s;
    return !stat(path, &s) && !S_ISREG(s.st_mode);
}

static bool
write_all(int fd, const char *data, size_t size)
{
    for (size_t off = 0; off < size;) {
        ssize_t w = write(fd, data + off, size - off);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        off += (size_t)w;
    }
    return true;
}

/* A device or pipe is written in place: renaming over it would remove /dev/null or a pipe for every process. */
static cw_result
write_special(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return CW_ERR_IO;
    bool ok = write_all(fd, data, size);
    int saved = errno;
    if (close(fd) && ok)
        return CW_ERR_IO;
    errno = saved;
    return ok ? CW_OK : CW_ERR_IO;
}

cw_result
cw_file_write_atomic(const char *path, const void *data, size_t size, unsigned mode)
{
    char tmp[PATH_MAX], target[PATH_MAX];
    if (cw_file_is_special(path))
        return write_special(path, data, size);
    if (realpath(path, target)) /* keep a symbolic link: replace the file that it names */
        path = target;
    if (snprintf(tmp, sizeof tmp, "%s.tmp-XXXXXX", path) >= (int)sizeof tmp) {
        errno = ENAMETOOLONG;
        return CW_ERR_IO;
    }
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return CW_ERR_IO;
    int saved;
    if (fchmod(fd, mode) || !write_all(fd, data, size))
        goto fail;
    if (close(fd)) {
        fd = -1;
        goto fail;
    }
    fd = -1;
    if (rename(tmp, path))
        goto fail;
    return CW_OK;
fail:
    saved = errno;
    if (fd >= 0)
        close(fd);
    unlink(tmp);
    errno = saved;
    return CW_ERR_IO;
}

cw_result
cw_mkdirs(const char *path, unsigned mode)
{
    char tmp[PATH_MAX];
    size_t n = strlen(path);
    if (!n || n >= sizeof tmp) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return CW_ERR_IO;
    }
    memcpy(tmp, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (tmp[i] != '/' && tmp[i] != 0)
            continue;
        char c = tmp[i];
        tmp[i] = 0;
        if (mkdir(tmp, mode) && errno != EEXIST)
            return CW_ERR_IO;
        tmp[i] = c;
    }
    struct stat st;
    if (stat(path, &st))
        return CW_ERR_IO;
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return CW_ERR_IO;
    }
    return CW_OK;
}

char *
cw_dir_of_object(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return NULL;
    /* For the program itself this is argv[0]: a bare name when the shell found it in PATH. */
    char *real = realpath(strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", NULL);
    if (!real)
        return NULL;
    char *slash = strrchr(real, '/');
    if (slash)
        *slash = 0;
    return real;
}

char *
cw_folder_for_list(const char *folder, const char *link)
{
    static const char separators[] = " \t\n:;";
    if (!strpbrk(folder, separators))
        return strdup(folder);
    if (strpbrk(link, separators)) {
        errno = EINVAL;
        return NULL;
    }
    if (symlink(folder, link))
        return NULL;
    return strdup(link);
}
