/* SPDX-License-Identifier: Apache-2.0
 * See tar.h. */
#define _GNU_SOURCE
#include "replay/tar.h"

#include "impl/base/hash.h"
#include "impl/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512u
#define MAX_MEMBER 077777777777ull      /* what eleven octal digits hold */

/* POSIX.1-2001, pax, "ustar Interchange Format". */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2];
    char user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

cw_result
cwd_fail(struct cwd_error *e, cw_result r, const char *fmt, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(e->text, sizeof e->text, fmt, ap);
        va_end(ap);
        (void)cw_text_make_line(e->text);       /* names and lines of a module are in it */
    }
    return r;
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

static void
put(struct cwd_tar_writer *w, const void *data, uint64_t size)
{
    if (!w->error && !cw_write_all(w->file.fd, data, size))
        w->error = errno ? errno : EIO;
}

static unsigned
checksum(const struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (unsigned i = 0; i < BLOCK; i++) {
        bool own = i >= offsetof(struct header, checksum) && i < offsetof(struct header, checksum) + sizeof h->checksum;
        sum += own ? ' ' : p[i];
    }
    return sum;
}

void
cwd_tar_begin(struct cwd_tar_writer *w, const char *path)
{
    *w = (struct cwd_tar_writer){ .path = strdup(path), .file.fd = -1 };
    cw_buf_init(&w->sums);
    if (!w->path)
        w->error = ENOMEM;
    else if (cw_new_file_begin(&w->file, path, 0600) != CW_OK)  /* it holds the program's memory */
        w->error = errno;
}

static void
add(struct cwd_tar_writer *w, const char *name, const void *data, uint64_t size)
{
    static const char zeros[BLOCK];
    struct header h;
    if (w->error)
        return;
    if (size > MAX_MEMBER || strlen(name) > CWD_MAX_NAME) {
        w->error = EFBIG;
        return;
    }
    memset(&h, 0, sizeof h);
    memcpy(h.name, name, strlen(name));
    memcpy(h.mode, "0000644", 8);
    memcpy(h.uid, "0000000", 8);
    memcpy(h.gid, "0000000", 8);
    snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)size);
    memcpy(h.mtime, "00000000000", 12);
    h.type = '0';
    memcpy(h.magic, "ustar", 6);
    memcpy(h.version, "00", 2);
    memcpy(h.user, "root", 4);
    memcpy(h.group, "root", 4);
    snprintf(h.checksum, sizeof h.checksum, "%06o", checksum(&h));
    h.checksum[7] = ' ';
    put(w, &h, sizeof h);
    put(w, data, size);
    if (size % BLOCK)
        put(w, zeros, BLOCK - size % BLOCK);
}

void
cwd_tar_add(struct cwd_tar_writer *w, const char *name, const void *data, uint64_t size)
{
    char hex[65];
    if (w->error)
        return;
    add(w, name, data, size);
    cw_sha256_hex(data, size, hex);
    cw_buf_printf(&w->sums, "%s  %s\n", hex, name);
}

/* The first name that no file has. */
static void
claim_name(struct cwd_tar_writer *w)
{
    do {
        char path[PATH_MAX];
        w->next(w->user, path);
        free(w->path);
        w->path = strdup(path);
        w->error = !w->path ? ENOMEM : cw_new_file_claim(&w->file, path) ? 0 : errno;
    } while (w->error == EEXIST);
}

cw_result
cwd_tar_end(struct cwd_tar_writer *w, bool discard, struct cwd_error *e)
{
    static const char zeros[2 * BLOCK];
    cw_result r = CW_OK;
    if (w->sums.failed && !w->error)
        w->error = ENOMEM;
    add(w, CWD_SUMS, w->sums.data ? w->sums.data : "", w->sums.size);
    put(w, zeros, sizeof zeros);
    if (w->next && !w->error && !discard)
        claim_name(w);
    if (cw_new_file_finish(&w->file, !w->error && !discard) != CW_OK)
        w->error = errno;
    if (w->error == ENOSPC || w->error == EDQUOT)
        r = cwd_fail(e, CW_ERR_IO, "cannot write %s: the disk is full; free space or choose another folder", w->path);
    else if (w->error == EFBIG)
        r = cwd_fail(e, CW_ERR_LIMIT, "cannot write %s: a buffer is larger than 8 GiB, or the file is larger than allowed", w->path);
    else if (w->error)
        r = cwd_fail(e, w->error == ENOMEM ? CW_ERR_NOMEM : CW_ERR_IO, "cannot write %s: %s", w->path ? w->path : "the dump",
                     strerror(w->error));
    free(w->path);
    cw_buf_finish(&w->sums);
    return r;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static bool
octal(const char *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (v >> 60)
            return false;
        v = v << 3 | (uint64_t)(p[i] - '0');
    }
    *out = v;
    for (; i < n; i++)
        if (p[i] && p[i] != ' ')
            return false;
    return true;
}

static bool
all_zero(const uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static bool
good_name(const char *name)
{
    size_t n = strnlen(name, CWD_MAX_NAME + 1);
    if (!n || n > CWD_MAX_NAME || name[0] == '/' || strstr(name, ".."))
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-' || c == '_'))
            return false;
    }
    return true;
}

static int
compare(const void *a, const void *b)
{
    return strcmp(((const struct cwd_member *)a)->name, ((const struct cwd_member *)b)->name);
}

const struct cwd_member *
cwd_tar_find(const struct cwd_tar *t, const char *name)
{
    struct cwd_member key;
    if (strlen(name) > CWD_MAX_NAME)
        return NULL;
    strcpy(key.name, name);
    return t->count ? bsearch(&key, t->members, t->count, sizeof key, compare) : NULL;
}

void
cwd_tar_finish(struct cwd_tar *t)
{
    free(t->members);
    *t = (struct cwd_tar){ 0 };
}

#define DAMAGED(...) cwd_fail(e, CW_ERR_DAMAGED, __VA_ARGS__)

/* SHA256SUMS must name every other member exactly once, with its digest. */
static cw_result
verify(const struct cwd_tar *t, struct cwd_error *e)
{
    const struct cwd_member *s = cwd_tar_find(t, CWD_SUMS);
    if (!s)
        return DAMAGED("has no member " CWD_SUMS "; the file is not complete, record it again");
    const char *p = (const char *)s->data, *end = p + s->size;
    size_t lines = 0;
    char previous[CWD_MAX_NAME + 1] = "";
    bool *seen = calloc(t->count, sizeof *seen);
    if (!seen)
        return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    cw_result r = CW_OK;
    while (p < end && r == CW_OK) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        char name[CWD_MAX_NAME + 1], hex[65];
        size_t n = eol ? (size_t)(eol - p) : 0;
        if (n < 67 || n - 66 > CWD_MAX_NAME || p[64] != ' ' || p[65] != ' ') {
            r = DAMAGED(CWD_SUMS " is malformed; copy or record the file again");
            break;
        }
        memcpy(name, p + 66, n - 66);
        name[n - 66] = 0;
        const struct cwd_member *m = cwd_tar_find(t, name);
        if (!m || m == s || seen[m - t->members]) {
            r = DAMAGED(CWD_SUMS " does not fit the members (after \"%s\"); copy or record the file again", previous);
            break;
        }
        seen[m - t->members] = true;
        cw_sha256_hex(m->data, m->size, hex);
        if (memcmp(hex, p, 64))
            r = DAMAGED("the digest of member %s does not match: the file is damaged; copy or record it again", name);
        memcpy(previous, name, sizeof previous);
        lines++;
        p = eol + 1;
    }
    free(seen);
    if (r == CW_OK && lines + 1 != t->count)
        r = DAMAGED(CWD_SUMS " lacks members; copy or record the file again");
    return r;
}

cw_result
cwd_tar_read(const uint8_t *data, uint64_t size, struct cwd_tar *t, struct cwd_error *e)
{
    uint64_t at = 0, capacity = 0;
    cw_result r = CW_OK;
    *t = (struct cwd_tar){ 0 };
    if (size < BLOCK || memcmp(((const struct header *)data)->magic, "ustar", 6))
        return DAMAGED("is not a kernel dump (no ustar header); `cudaway-trace record --dump-kernels` and `cudaway-diff` write dumps");
    for (;;) {
        const struct header *h = (const struct header *)(data + at);
        uint64_t sum, n;
        if (size - at < BLOCK) {
            r = DAMAGED("is cut short after %llu bytes; copy or record it again", (unsigned long long)size);
            break;
        }
        if (all_zero(data + at, BLOCK)) {
            if (size - at < 2 * BLOCK)
                r = DAMAGED("is cut short after %llu bytes; copy or record it again", (unsigned long long)size);
            else if (!all_zero(data + at, size - at))
                r = DAMAGED("has bytes after its end; copy or record it again");
            break;
        }
        if (!octal(h->checksum, sizeof h->checksum, &sum) || sum != checksum(h) || memcmp(h->magic, "ustar", 6) || h->type != '0' ||
            h->prefix[0] || !octal(h->size, sizeof h->size, &n) || h->name[sizeof h->name - 1] || !good_name(h->name)) {
            r = DAMAGED("the archive header at byte %llu is damaged; copy or record the file again", (unsigned long long)at);
            break;
        }
        at += BLOCK;
        uint64_t padded = n + (BLOCK - n % BLOCK) % BLOCK;
        if (n > size - at || padded > size - at) {
            r = DAMAGED("is cut short inside member %s; copy or record it again", h->name);
            break;
        }
        if (!all_zero(data + at + n, padded - n)) {
            r = DAMAGED("the padding of member %s is damaged; copy or record the file again", h->name);
            break;
        }
        if (t->count == capacity) {
            capacity = capacity ? capacity * 2 : 32;
            struct cwd_member *m = capacity > CWD_MAX_MEMBERS ? NULL : realloc(t->members, capacity * sizeof *m);
            if (!m) {
                r = cwd_fail(e, CW_ERR_NOMEM, "has too many members");
                break;
            }
            t->members = m;
        }
        struct cwd_member *m = &t->members[t->count++];
        memcpy(m->name, h->name, sizeof h->name);
        m->data = data + at;
        m->size = n;
        at += padded;
    }
    if (r == CW_OK && t->count)
        qsort(t->members, t->count, sizeof *t->members, compare);
    for (size_t i = 1; i < t->count && r == CW_OK; i++)
        if (!strcmp(t->members[i - 1].name, t->members[i].name))
            r = DAMAGED("holds member %s twice; copy or record the file again", t->members[i].name);
    if (r == CW_OK)
        r = verify(t, e);
    if (r != CW_OK)
        cwd_tar_finish(t);
    return r;
}
