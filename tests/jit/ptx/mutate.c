/* SPDX-License-Identifier: Apache-2.0
 * A short deterministic mutation run over the corpus, for machines without libFuzzer. Arguments: number of texts, files. */
#include "impl/base/file.h"
#include "tests/jit/ptx/mutate.h"

#include <string.h>

static uint64_t state = 0x243f6a8885a308d3u;

static uint32_t
rnd(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % (n ? n : 1));
}

static const char *const words[] = {
    ".v4", ".u64", ".f32", ".pred", "{", "}", "(", ")", "[", "]", ";", ":", ",", "|", "!", "@", "-", "+", "<", ">", "?", "_", "%r1",
    "%p1", "%rd1", "%tid.x", ".reg", ".param", ".align", ".func", ".entry", "ret", "bra", "call", "mov", "0x", "0f", "\"", "/*",
    "*/", "//", "\n", "9999999999", "<100000000>", "4294967295", ".wide", ".sat", ".cc", "[]", "= {", "generic(", "0xFF(", "\0", "\xff",
};

int
main(int argc, char **argv)
{
    char *seed[64];
    size_t size[64];
    unsigned n = 0, accepted = 0, count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc && n < 64; i++, n++)
        if (cw_file_read(argv[i], 1 << 20, &seed[n], &size[n]) != CW_OK)
            return 2;
    if (!n || !count)
        return 2;
    for (unsigned i = 0; i < n; i++)
        if (!try_text(seed[i], size[i])) {
            fprintf(stderr, "%s is not accepted\n", argv[2 + i]);
            return 1;
        }
    for (unsigned k = 0; k < count; k++) {
        unsigned from = rnd(n);
        size_t len = size[from];
        char *t = malloc(len + 4096);
        if (!t)
            return 2;
        memcpy(t, seed[from], len);
        for (unsigned e = 1 + rnd(1 + rnd(4)); e; e--) {
            size_t at = rnd((uint32_t)len + 1);
            const char *w = words[rnd(sizeof words / sizeof *words)];
            size_t wn = *w ? strlen(w) : 1, cut;
            switch (rnd(6)) {
            case 0: if (at < len) t[at] = (char)rnd(256); break;
            case 1: cut = rnd(40); cut = cut < len - at ? cut : len - at; memmove(t + at, t + at + cut, len - at - cut); len -= cut; break;
            case 2: case 3: if (len + wn < size[from] + 4000) { memmove(t + at + wn, t + at, len - at); memcpy(t + at, w, wn); len += wn; } break;
            case 4: if (at + wn < len) memcpy(t + at, w, wn); break;
            default: {      /* copy a piece of another seed */
                unsigned o = rnd(n);
                size_t ofs = rnd((uint32_t)size[o]), pn = rnd(60);
                pn = pn < size[o] - ofs ? pn : size[o] - ofs;
                if (len + pn < size[from] + 4000) {
                    memmove(t + at + pn, t + at, len - at);
                    memcpy(t + at, seed[o] + ofs, pn);
                    len += pn;
                }
            }
            }
        }
        char *exact = malloc(len ? len : 1);    /* so that a sanitizer sees a read past the end */
        if (!exact)
            return 2;
        memcpy(exact, t, len);
        accepted += (unsigned)try_text(exact, len);
        free(exact);
        free(t);
    }
    for (unsigned i = 0; i < n; i++)
        free(seed[i]);
    printf("%u texts, %u accepted\n", count, accepted);
    return accepted == 0;
}
