/* SPDX-License-Identifier: Apache-2.0
 * See fatbin.h. */
#include "jit/link/fatbin.h"
#include "jit/link/linked_image.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { CONTAINER_HEADER = 16, ENTRY_HEADER = 64, BIGGEST = 1u << 31 };

static bool
is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* The architecture that the text's .target names, or zeros. */
static void
read_target(const char *p, size_t size, unsigned *sm, char *suffix)
{
    *sm = 0;
    *suffix = 0;
    size_t limit = size < 65536 ? size : 65536;
    for (size_t i = 0; i + 7 < limit && p[i]; i++) {
        i += cwj_skip_blank(p + i, limit - i);
        if (i + 7 >= limit || memcmp(p + i, ".target", 7))
            continue;
        for (i += 7; i + 3 < limit && p[i] && p[i] != '\n' && memcmp(p + i, "sm_", 3); i++)
            ;
        if (i + 3 >= limit || memcmp(p + i, "sm_", 3))
            return;
        for (i += 3; i < limit && is_digit(p[i]) && *sm < 1000; i++)
            *sm = *sm * 10 + (unsigned)(p[i] - '0');
        if (i < limit && (p[i] == 'a' || p[i] == 'f'))
            *suffix = p[i];
        return;
    }
}

void
cwj_scan_report(struct cwj_scan *s, struct cwj_image_entry *e)
{
    e->container = s->container;
    e->relocatable = s->relocatable;
    if (e->kind == CWJ_ENTRY_PTX) {
        s->nptx++;
    } else if (e->kind == CWJ_ENTRY_CUBIN) {
        s->ncubin++;
        char one[24];
        size_t have = strlen(s->sms), n = (size_t)snprintf(one, sizeof one, "sm_%u", e->sm);
        const char *seen = strstr(s->sms, one);
        while (seen && is_digit(seen[n]))
            seen = strstr(seen + 1, one);
        if (!seen && have + n + 2 < sizeof s->sms)
            snprintf(s->sms + have, sizeof s->sms - have, "%s%s", have ? " " : "", one);
    } else {
        s->nother++;
    }
    if (!s->stop && s->found(s->user, e))
        s->stop = true;
}

static void
report_ptx(struct cwj_scan *s, const char *text, size_t size, unsigned sm, const char *name, const char *compression)
{
    size_t n = strnlen(text, size);
    struct cwj_image_entry e = { .kind = CWJ_ENTRY_PTX, .group = s->group, .name = name, .data = text, .size = n,
                                 .compression = compression };
    read_target(text, n, &e.sm, &e.suffix);
    if (sm)
        e.sm = sm;
    cwj_scan_report(s, &e);
}

static cw_result
damaged(struct cwj_scan *s, const char *what)
{
    cwj_diag_add(s->diags, PTX_ERROR, 4101, 0, 0, "the fatbin is damaged: %s", what);
    return CW_ERR_DAMAGED;
}

static cw_result
decompress(struct cwj_scan *s, uint64_t flags, const uint8_t *in, uint64_t in_size, uint64_t out_size, char **out)
{
    *out = NULL;
    if (out_size > CWJ_FATBIN_MAX_TEXT || in_size > INT32_MAX) {
        cwj_diag_add(s->diags, PTX_ERROR, 4103, 0, 0, "a fatbin entry has %llu bytes when decompressed, more than the limit of %d",
                     (unsigned long long)out_size, CWJ_FATBIN_MAX_TEXT);
        return CW_ERR_LIMIT;
    }
    bool zstd = flags & CWJ_FATBIN_ZSTD;
    if (zstd) {     /* a frame that states its size must state the entry's: check before allocating */
        unsigned long long content = ZSTD_getFrameContentSize(in, in_size);
        if (content == ZSTD_CONTENTSIZE_ERROR || (content != ZSTD_CONTENTSIZE_UNKNOWN && content != out_size))
            return damaged(s, "an entry does not decompress (Zstd)");
    } else if (out_size / 255 > in_size + 16) {     /* no LZ4 block expands more */
        return damaged(s, "an entry does not decompress (LZ4)");
    }
    char *buf = malloc(out_size + 1);
    if (!buf)
        return CW_ERR_NOMEM;
    bool ok;
    if (zstd) {
        size_t n = ZSTD_decompress(buf, out_size, in, in_size);
        ok = !ZSTD_isError(n) && n == out_size;
    } else {
        ok = LZ4_decompress_safe((const char *)in, buf, (int)in_size, (int)out_size) == (int)out_size;
    }
    if (!ok) {
        free(buf);
        return damaged(s, zstd ? "an entry does not decompress (Zstd)" : "an entry does not decompress (LZ4)");
    }
    buf[out_size] = 0;
    *out = buf;
    return CW_OK;
}

static cw_result
scan_entry(struct cwj_scan *s, const uint8_t *p, uint64_t size, uint64_t *used)
{
    if (size < ENTRY_HEADER)
        return damaged(s, "it ends in the middle of an entry's header");
    uint64_t kind = cw_read_le(p, 2), header = cw_read_le(p + 4, 4), payload = cw_read_le(p + 8, 8);
    uint64_t packed = cw_read_le(p + 16, 4), flags = cw_read_le(p + 40, 8), unpacked = cw_read_le(p + 56, 8);
    unsigned sm = (unsigned)cw_read_le(p + 28, 4);
    if (header < ENTRY_HEADER || header > size || payload > size - header)
        return damaged(s, "an entry is larger than the container");
    *used = header + payload;
    uint64_t name_at = cw_read_le(p + 32, 4), name_size = cw_read_le(p + 36, 4);
    char name[256] = "";
    if (name_at && name_size && name_at < header && name_size <= header - name_at) {
        size_t n = name_size < sizeof name ? name_size : sizeof name - 1;
        memcpy(name, p + name_at, n);
        name[n] = 0;
    }
    uint64_t how = flags & (CWJ_FATBIN_LZ4 | CWJ_FATBIN_ZSTD | CWJ_FATBIN_OLD_COMPRESSION);
    const char *compression = how & CWJ_FATBIN_ZSTD ? "zstd" : how & CWJ_FATBIN_LZ4 ? "lz4" : "none";
    const uint8_t *data = p + header;
    char *text = NULL;
    if (kind == CWJ_FATBIN_PTX && how) {
        if (how == CWJ_FATBIN_OLD_COMPRESSION) {
            cwj_diag_add(s->diags, PTX_WARNING, 4102, 0, 0, "a fatbin entry for sm_%u is compressed in an unknown way (flags 0x%llx)",
                         sm, (unsigned long long)flags);
            struct cwj_image_entry e = { .kind = CWJ_ENTRY_OTHER, .group = s->group, .sm = sm, .name = *name ? name : NULL,
                                         .data = (const char *)data, .size = payload, .compression = "unknown" };
            cwj_scan_report(s, &e);
            return CW_OK;
        }
        if (packed > payload)
            return damaged(s, "an entry's compressed size is larger than the entry");
        cw_result r = decompress(s, how, data, packed, unpacked, &text);
        if (r)
            return r;
        report_ptx(s, text, unpacked, sm, *name ? name : NULL, compression);
        free(text);
        return CW_OK;
    }
    if (kind == CWJ_FATBIN_PTX) {
        report_ptx(s, (const char *)data, payload, sm, *name ? name : NULL, compression);
        return CW_OK;
    }
    struct cwj_image_entry e = { .kind = kind == CWJ_FATBIN_ELF ? CWJ_ENTRY_CUBIN : CWJ_ENTRY_OTHER, .group = s->group, .sm = sm,
                                 .name = *name ? name : NULL, .data = (const char *)data, .size = how && packed <= payload ? packed : payload,
                                 .compression = compression };
    cwj_scan_report(s, &e);
    return CW_OK;
}

/* Scan one container; *used: its end. Its entries are alternatives and form one group. */
cw_result
cwj_scan_container(struct cwj_scan *s, const uint8_t *p, uint64_t size, uint64_t *used)
{
    if (size < CONTAINER_HEADER)
        return damaged(s, "it is shorter than its header");
    uint64_t header = cw_read_le(p + 6, 2), body = cw_read_le(p + 8, 8);
    if (header < CONTAINER_HEADER || header > size || body > size - header || body > BIGGEST)
        return damaged(s, "it is shorter than its header says");
    *used = header + body;
    s->container = p;
    cw_result r = CW_OK;
    for (uint64_t at = 0; at < body && !s->stop && !r;) {
        uint64_t n = 0;
        r = scan_entry(s, p + header + at, body - at, &n);
        at += n;
    }
    s->container = NULL;
    s->group += !r;
    return r;
}

static cw_result
scan_wrapper(struct cwj_scan *s, const uint8_t *p)
{
    uint64_t version = cw_read_le(p + 4, 4), used;
    const uint8_t *data;
    memcpy(&data, p + 8, sizeof data);
    if (version != 1 && version != 2) {
        cwj_diag_add(s->diags, PTX_ERROR, 4104, 0, 0, "a fatbin wrapper of version %llu is not supported", (unsigned long long)version);
        return CW_ERR_VERSION;
    }
    if (data) {
        if (cw_read_le(data, 4) != CWJ_FATBIN_MAGIC)
            return damaged(s, "its wrapper points to something else");
        cw_result r = cwj_scan_container(s, data, BIGGEST, &used);
        if (r)
            return r;
    }
    if (version == 1)
        return CW_OK;
    const uint8_t *const *list;
    memcpy(&list, p + 16, sizeof list);
    for (unsigned i = 0; list && list[i] && !s->stop; i++) {
        if (i == CWJ_FATBIN_MAX_LIST || cw_read_le(list[i], 4) != CWJ_FATBIN_MAGIC)
            return damaged(s, "its wrapper lists something else");
        cw_result r = cwj_scan_container(s, list[i], BIGGEST, &used);
        if (r)
            return r;
    }
    return CW_OK;
}

static int
linked_found(void *user, const struct cwj_linked_module *m)
{
    struct cwj_scan *s = user;
    report_ptx(s, m->text, m->size, 0, *m->name ? m->name : NULL, "none");
    s->group++;
    return s->stop;
}

/* The first bytes as text for a message. */
static void
show_start(const uint8_t *p, size_t size, char *out, size_t capacity)
{
    size_t n = 0;
    for (size_t i = 0; i < size && i < 8 && n + 5 < capacity; i++) {
        if (p[i] >= ' ' && p[i] < 0x7f)
            out[n++] = (char)p[i];
        else
            n += (size_t)snprintf(out + n, capacity - n, "\\x%02x", p[i]);
    }
    out[n] = 0;
}

static cw_result
scan(struct cwj_scan *s, const uint8_t *p, size_t size)
{
    bool unknown = size == CWJ_SIZE_UNKNOWN;
    /* A text may be shorter than any header: read byte by byte. */
    if (cwj_linked_image_is(p, size)) {
        cw_result r = cwj_linked_image_read(p, size, linked_found, s);
        if (r == CW_ERR_DAMAGED || r == CW_ERR_VERSION)
            cwj_diag_add(s->diags, PTX_ERROR, 4101, 0, 0, r == CW_ERR_DAMAGED ? "the linked image is damaged"
                         : "the linked image is of another version of CUDAway");
        return r;
    }
    size_t first = unknown ? 4 : size;      /* any image but text has at least a magic */
    uint32_t magic = 0;
    for (unsigned i = 0; i < 4 && i < first && (i == 0 || p[i - 1]); i++)
        magic |= (uint32_t)p[i] << (8 * i);
    if (magic == CWJ_FATBIN_MAGIC) {
        uint64_t used;
        return cwj_scan_container(s, p, unknown ? BIGGEST : size, &used);
    }
    if (magic == CWJ_WRAPPER_MAGIC) {
        if (unknown)
            return scan_wrapper(s, p);
        cwj_diag_add(s->diags, PTX_ERROR, 4104, 0, 0, "a fatbin wrapper holds addresses and means something only in its process");
        return CW_ERR_INVALID;
    }
    if (magic == 0x464C457Fu)
        return cwj_scan_elf(s, p, unknown ? UINT64_MAX : size);
    size_t n = unknown ? strlen((const char *)p) : strnlen((const char *)p, size);
    if (cwj_is_ptx((const char *)p, n)) {
        report_ptx(s, (const char *)p, n, 0, NULL, "none");
        s->group++;
        return CW_OK;
    }
    char start[48];
    show_start(p, n < 8 ? n : 8, start, sizeof start);
    cwj_diag_add(s->diags, PTX_ERROR, 4104, 0, 0, n ? "neither PTX, nor a fatbin, nor an ELF file: it starts with \"%s\""
                 : "the image is empty%s", start);
    return CW_ERR_INVALID;
}

cw_result
cwj_image_scan(const void *data, size_t size, cwj_entry_found *found, void *user, struct cwj_diags *diags)
{
    struct cwj_scan s = { .found = found, .user = user, .diags = diags };
    if (!data) {
        cwj_diag_add(diags, PTX_ERROR, 4104, 0, 0, "there is no image");
        return CW_ERR_INVALID;
    }
    cw_result r = scan(&s, data, size);
    if (r == CW_ERR_NOMEM)
        cwj_diag_add(diags, PTX_ERROR, 6099, 0, 0, "out of memory");
    if (r || s.stop || s.nptx)
        return r;
    if (s.ncubin)
        cwj_diag_add(diags, PTX_ERROR, 4105, 0, 0, "the image holds machine code for %s only, no PTX: rebuild the program with PTX "
                     "in it (nvcc -gencode arch=compute_70,code=compute_70, or -arch=sm_70); if it has PTX in files for other devices, set "
                     "CUDAWAY_COMPUTE_CAPABILITY to one of theirs", s.sms);
    else if (s.nother)
        cwj_diag_add(diags, PTX_ERROR, 4105, 0, 0, "the image holds no PTX, only entries of kinds that are not supported");
    else
        cwj_diag_add(diags, PTX_ERROR, 4105, 0, 0, "the image holds no GPU code");
    return CW_ERR_NO_PTX;
}
