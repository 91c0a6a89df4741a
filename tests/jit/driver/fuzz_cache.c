/* SPDX-License-Identifier: Apache-2.0
 * A file of the kernel cache with any bytes: it is a miss and goes, or what it holds is what was put. With a first byte of 1 or 3 the rest is an
 * entry's object, written by the cache itself and damaged (1) or cut (3) at one place, so that inputs get past the header. */
#include "jit/driver/cache.h"

#include "impl/base/hash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64] = "/tmp/cudaway-fuzz-cache-XXXXXX", path[256];
static const uint8_t key[32] = { 7 };

static void
clean(void)
{
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
    rmdir(dir);
}

static void
begin(void)
{
    char hex[65];
    if (!mkdtemp(dir) || setenv("CUDAWAY_CACHE_DIR", dir, 1))
        abort();
    cw_hex(key, 32, hex);
    snprintf(path, sizeof path, "%s/kernels-%u/%s.cwk", dir, (unsigned)geteuid(), hex);
    atexit(clean);
}

static void
write_raw(const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cwh_code_info info = { 8, 1, 2, 16, 64 }, got = { 0 };
    char *object;
    size_t n;
    if (!*path) {
        begin();
        if (cwj_cache_get(key, &got, &object, &n))      /* makes the folder */
            abort();
    }
    if (size < 4)
        return 0;
    if (data[0] != 1 && data[0] != 3) {
        write_raw(data, size);
        if (cwj_cache_get(key, &got, &object, &n)) {    /* the checksum is right: the fuzzer was given an entry */
            free(object);
            return 0;
        }
        if (!access(path, F_OK))
            abort();
        return 0;
    }
    const uint8_t *body = data + 4;
    size_t length = size - 4;
    cwj_cache_put(key, &info, body, length);
    if (length && (!cwj_cache_get(key, &got, &object, &n) || n != length || memcmp(object, body, n) || memcmp(&got, &info, sizeof got)))
        abort();
    if (!length)
        return 0;
    free(object);
    int fd = open(path, O_RDWR);
    struct stat st;
    uint8_t byte;
    if (fd < 0 || fstat(fd, &st))
        abort();
    off_t at = (data[1] | data[2] << 8) % st.st_size;
    if (pread(fd, &byte, 1, at) != 1)
        abort();
    byte ^= data[3] ? data[3] : 1;
    if (pwrite(fd, &byte, 1, at) != 1 || (data[0] == 3 && ftruncate(fd, at)))
        abort();
    close(fd);
    if (cwj_cache_get(key, &got, &object, &n) || !access(path, F_OK))
        abort();
    return 0;
}
