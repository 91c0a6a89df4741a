/* SPDX-License-Identifier: Apache-2.0
 * Cut stream files (a full disk, a killed recorder) made readable: every CTF packet says its own size, so the complete
 * packets before the cut are kept and the rest is left out. Originals are never written: a temporary folder gets links to
 * the whole files and shortened copies of the cut ones. Layout: LTTng-UST's CTF 1.8 streams (packet header of magic,
 * UUID, stream and instance id; then begin, end, content size and packet size) and its packetized metadata. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"
#include "impl/base/temp.h"
#include "tracer/cli/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_MAGIC 0xc1fc1fc1u
#define METADATA_MAGIC 0x75d11d57u
#define STREAM_SIZES 48u       /* offset of content size and packet size, in bits, in a stream's packet */
#define STREAM_HEADER 64u
#define METADATA_SIZES 24u     /* the same as two 32-bit numbers in a metadata packet, after magic, UUID and checksum */
#define METADATA_HEADER 37u

static uint64_t
little(const unsigned char *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* How many bytes from the start of the file are whole packets. */
static uint64_t
whole_bytes(int fd, uint64_t file_size, bool metadata)
{
    uint64_t at = 0;
    unsigned header = metadata ? METADATA_HEADER : STREAM_HEADER;
    while (file_size - at >= header) {
        unsigned char h[STREAM_HEADER];
        if (pread(fd, h, header, (off_t)at) != (ssize_t)header)
            break;
        uint64_t magic = little(h, 4), content, packet;
        if (metadata) {
            content = little(h + METADATA_SIZES, 4);
            packet = little(h + METADATA_SIZES + 4, 4);
        } else {
            content = little(h + STREAM_SIZES, 8);
            packet = little(h + STREAM_SIZES + 8, 8);
        }
        if (magic != (metadata ? METADATA_MAGIC : STREAM_MAGIC) || packet % 8 || packet / 8 < header ||
            content > packet || packet / 8 > file_size - at)
            break;
        at += packet / 8;
    }
    return at;
}

struct damage {
    uint64_t whole, size;
    bool     cut;
};

static bool
inspect(const char *path, const char *name, struct damage *d)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    d->size = (uint64_t)st.st_size;
    d->whole = whole_bytes(fd, d->size, !strcmp(name, "metadata"));
    d->cut = d->whole != d->size;
    close(fd);
    return true;
}

static bool
copy_part(const char *from, const char *to, uint64_t size)
{
    char buf[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = in >= 0 && out >= 0;
    while (ok && size) {
        ssize_t n = read(in, buf, size < sizeof buf ? size : sizeof buf);
        ok = n > 0 && write(out, buf, (size_t)n) == n;
        size -= ok ? (uint64_t)n : 0;
    }
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return ok;
}

/* nftw has no user data. */
static struct {
    char     base[PATH_MAX];     /* resolved folder of the recording */
    char     temp[64];           /* the repaired copy, "" while only counting */
    unsigned damaged;
} state;

/* A pipe or a device, also by a link: opening one may wait for ever. */
static bool
is_special(const char *path, const struct stat *st)
{
    struct stat target;
    if (!S_ISLNK(st->st_mode))
        return !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode);
    return !stat(path, &target) && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode);
}

/* Index files, and the manifest and dumps beside the trace, are not streams. */
static bool
is_stream(const char *path, const char *name)
{
    if (!strcmp(name, "metadata"))
        return true;
    char meta[PATH_MAX];
    struct stat st;
    if (snprintf(meta, sizeof meta, "%.*smetadata", (int)(name - path), path) >= (int)sizeof meta)
        return false;
    return !stat(meta, &st) && !strstr(name, ".json");
}

static int
visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    const char *name = path + ftw->base, *relative = path + strlen(state.base);
    char to[PATH_MAX];
    struct damage d;
    if (*state.temp && snprintf(to, sizeof to, "%s%s", state.temp, relative) >= (int)sizeof to)
        return -1;
    if (is_special(path, st)) {
        if (!*state.temp) {
            state.damaged++;
            say("%s is not a regular file; it is left out", *relative ? relative + 1 : path);
        }
        return 0;
    }
    if (type == FTW_D)
        return *state.temp && *relative && mkdir(to, 0700) ? -1 : 0;
    if (type != FTW_F || !is_stream(path, name) || !inspect(path, name, &d))
        return 0;
    if (!*state.temp) {
        if (d.cut) {
            state.damaged++;
            say("%s is cut: %llu of %llu bytes are whole", *relative ? relative + 1 : path, (unsigned long long)d.whole,
                (unsigned long long)d.size);
        }
        return 0;
    }
    if (!d.cut)
        return symlink(path, to) ? -1 : 0;
    return !d.whole || copy_part(path, to, d.whole) ? 0 : -1;
}

char *
tr_repair(const char *dir, unsigned *damaged)
{
    state.damaged = 0;
    state.temp[0] = 0;
    *damaged = 0;
    if (!realpath(dir, state.base))
        return NULL;
    nftw(state.base, visit, 16, FTW_PHYS);
    *damaged = state.damaged;
    if (!state.damaged)
        return NULL;
    if (!cw_temp_make("/tmp", "repair", state.temp, sizeof state.temp)) {
        say("cannot make a folder in /tmp: %s", strerror(errno));
        return NULL;
    }
    if (nftw(state.base, visit, 16, FTW_PHYS)) {
        say("cannot repair the trace: %s", strerror(errno));
        cw_temp_remove(state.temp);
        return NULL;
    }
    return strdup(state.temp);
}
