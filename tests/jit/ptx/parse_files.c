/* SPDX-License-Identifier: Apache-2.0
 * Parses, checks, prints and re-parses every PTX text found in the files named on the command line. A file may be plain
 * PTX, an ar archive of PTX objects, or anything that embeds PTX texts, ended by a NUL or compressed by gzip, as ffmpeg's
 * libraries do. Exit code 77 (skipped) when a file is missing or zlib is needed and was not there at build time. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/ptx/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

static unsigned texts, failures;
static size_t bytes;
static double seconds;
static bool dump;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* print, parse that, print again: both prints are the same text */
static bool
round_trip(const char *name, const struct ptx_module *m, struct cwj_diags *d)
{
    struct cw_buf a, b;
    struct ptx_module *again = NULL;
    bool ok = false;
    cw_buf_init(&a);
    cw_buf_init(&b);
    ptx_module_print(m, &a);
    if (!a.failed && a.data && ptx_parse("printed", a.data, a.size, &again, d) == CW_OK) {
        ok = true;
        for (uint32_t i = 0; ok && i < again->nfuncs; i++)
            ok = ptx_function_build_cfg(again->funcs[i]) == CW_OK;
        ptx_module_print(again, &b);
        ok = ok && !b.failed && a.size == b.size && !memcmp(a.data, b.data, a.size);
    }
    if (!ok) {
        printf("%s: the print does not parse back to the same\n", name);
        if (d->first) {
            struct cw_buf t;
            cw_buf_init(&t);
            cwj_diags_render(d, "printed", a.data, a.size, &t);
            printf("%s", t.data ? t.data : "");
            cw_buf_finish(&t);
        }
    }
    if (dump)
        printf("%s", ok ? a.data : "");
    ptx_module_destroy(again);
    cw_buf_finish(&a);
    cw_buf_finish(&b);
    return ok;
}

static void
one(const char *name, const char *text, size_t size)
{
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    cwj_diags_init(&d);
    double t = now();
    cw_result r = ptx_parse(name, text, size, &m, &d);
    seconds += now() - t;
    texts++;
    bytes += size;
    bool ok = r == CW_OK;
    for (uint32_t i = 0; ok && i < m->nfuncs; i++)
        ok = ptx_function_build_cfg(m->funcs[i]) == CW_OK;
    ok = ok && ptx_module_validate(m, &d) == CW_OK;
    if (r != CW_OK || d.first) {
        struct cw_buf b;
        cw_buf_init(&b);
        cwj_diags_render(&d, name, text, size, &b);
        printf("%s", b.data ? b.data : "");
        cw_buf_finish(&b);
    }
    failures += !ok || !round_trip(name, m, &d);
    ptx_module_destroy(m);
    cwj_diags_finish(&d);
}

static void
ar_members(const char *path, const char *data, size_t size)
{
    for (size_t at = 8; at + 60 <= size;) {
        char digits[11] = { 0 }, name[400];
        memcpy(digits, data + at + 48, 10);
        size_t n = strtoul(digits, NULL, 10);
        if (n > size - at - 60)
            break;
        snprintf(name, sizeof name, "%s(%.16s)", path, data + at);
        if (data[at] != '/' || (data[at + 1] >= '0' && data[at + 1] <= '9'))  /* the symbol and name tables */
            one(name, data + at + 60, n);
        at += 60 + n + (n & 1);
    }
}

static void
embedded(const char *path, const char *data, size_t size)
{
    static const char mark[] = "\n.version ";
    const char *s = data, *end = data + size;
    while ((s = memmem(s, (size_t)(end - s), mark, sizeof mark - 1))) {
        const char *from = s, *to = memchr(s, 0, (size_t)(end - s));
        if (!to)
            to = end;
        while (from > data && from[-1])
            from--;
        if (memmem(s, (size_t)(to - s), "\n.target ", 9)) {
            char name[400];
            snprintf(name, sizeof name, "%s+%#zx", path, (size_t)(from - data));
            one(name, from, (size_t)(to - from));
        }
        s = to;
    }
}

#ifdef HAVE_ZLIB
/* gzip streams inside a file */
static void
compressed(const char *path, const char *data, size_t size)
{
    enum { MOST = 64 << 20 };
    for (size_t at = 0; at + 18 < size; at++) {
        if (memcmp(data + at, "\x1f\x8b\x08", 3))
            continue;
        z_stream z = { .next_in = (unsigned char *)data + at, .avail_in = (unsigned)(size - at > MOST ? MOST : size - at) };
        unsigned char *out = malloc(MOST);
        if (out && inflateInit2(&z, 31) == Z_OK) {
            z.next_out = out;
            z.avail_out = MOST;
            if (inflate(&z, Z_FINISH) == Z_STREAM_END && memmem(out, z.total_out, "\n.version ", 10)) {
                char name[400];
                snprintf(name, sizeof name, "%s+%#zx", path, at);
                one(name, (char *)out, z.total_out);
            }
            inflateEnd(&z);
        }
        free(out);
    }
}
#endif

int
main(int argc, char **argv)
{
    if (argc < 2) {
        printf("no file: skipped\n");
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        char *data;
        size_t size;
        if (!strcmp(argv[i], "--print")) {
            dump = true;
            continue;
        }
        if (cw_file_read(argv[i], 1u << 30, &data, &size) != CW_OK) {
            printf("cannot read %s: skipped\n", argv[i]);
            return 77;
        }
        if (size > 8 && !memcmp(data, "!<thin>\n", 8))
            printf("%s is a thin archive: its members lie elsewhere\n", argv[i]);
        else if (size > 8 && !memcmp(data, "!<arch>\n", 8))
            ar_members(argv[i], data, size);
        else if (memchr(data, 0, size))
            embedded(argv[i], data, size);
        else
            one(argv[i], data, size);
#ifdef HAVE_ZLIB
        if (size > 8 && memcmp(data, "!<arch>\n", 8) && memchr(data, 0, size))
            compressed(argv[i], data, size);
#endif
        free(data);
    }
#ifndef HAVE_ZLIB
    if (!texts) {
        printf("no plain PTX, and no zlib to look for compressed PTX: skipped\n");
        return 77;
    }
#endif
    printf("%u texts, %zu bytes, %u failures, %.1f MB/s\n", texts, bytes, failures, (double)bytes / seconds / 1e6);
    return failures || !texts;
}
