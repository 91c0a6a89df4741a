/* SPDX-License-Identifier: Apache-2.0
 * Mutated texts through the reader of test directives: as a libFuzzer target, and as a deterministic run over seeds (count, then
 * files). What is read must be usable: every list has the elements that it says. A byte 1 begins the side file. */
#include "impl/base/file.h"
#include "tools/ptxtest/ptxtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long used;      /* keeps the reads of what was read */

static void
use(const struct pt_list *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        used += pt_load(l->type, l->bytes, i).lo + (l->how ? l->how[i] : 0u);
        used += l->how && l->how[i] == PT_ADDRESS ? l->target[i] : 0u;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pt_file f;
    char *text = malloc(size + 1), *values = NULL;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    size_t length = size;
    if ((values = memchr(text, 1, size))) {
        length = (size_t)(values - text);
        *values++ = 0;
    }
    if (pt_read(&f, "fuzz", text, length, values, values ? size - length - 1 : 0)) {
        for (uint32_t i = 0; i < f.ndecls; i++)
            use(&f.decls[i].init);
        for (uint32_t i = 0; i < f.nlaunches; i++) {
            const struct pt_launch *l = &f.launches[i];
            for (uint32_t k = 0; k < l->nexpects; k++) {
                if (l->expects[k].decl >= f.ndecls)
                    abort();
                use(&l->expects[k].list);
            }
            for (uint32_t k = 0; k < l->nparams; k++)
                if (l->param[k] >= f.ndecls)
                    abort();
        }
    } else if (!f.errors) {
        abort();
    }
    pt_file_finish(&f);
    free(text);
    return 0;
}

#ifndef FUZZ
static uint64_t state = 0x123456789abcdefull;

static uint32_t
rnd(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (uint32_t)(state >> 20) % below : 0;
}

static const char *const words[] = {
    "//! ", "//!   ", "buffer ", "expect ", "launch ", "cross a b\n", "test ", "same ", "value ", "variable ", "u32[", "f16x2 = ", "@edge ", "@random(", "@range(0,9) ",
    "@file ", "1048576 x ", "&a ", "&a+8 ", "? ", "nan* ", "nan:0x", "0x", "(1,2) ", "derived = ", "recorded ", "\"", "each a ", "block 32 ", "grid 65536,1,1 ", "error ",
    "\n", "[", "]", "-", "99999999999999999999 ", "\1[k.d]\n", "ulp 3 ", "abs 1e-3 ", "#",
};

int
main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc; i++) {
        char *seed;
        size_t size;
        if (cw_file_read(argv[i], 1 << 20, &seed, &size) != CW_OK)
            return 2;
        for (unsigned k = 0; k < count; k++) {
            size_t length = size;
            uint8_t *t = malloc(size + 1024);
            if (!t)
                return 2;
            memcpy(t, seed, size);
            for (unsigned e = rnd(6); e; e--) {
                size_t at = rnd((uint32_t)length + 1), cut = rnd(30);
                const char *w = words[rnd(sizeof words / sizeof *words)];
                size_t n = strlen(w);
                cut = cut < length - at ? cut : length - at;
                if (rnd(3)) {
                    memmove(t + at + n, t + at, length - at);
                    memcpy(t + at, w, n);
                    length += n;
                } else {
                    memmove(t + at, t + at + cut, length - at - cut);
                    length -= cut;
                }
            }
            LLVMFuzzerTestOneInput(t, length);
            free(t);
        }
        free(seed);
    }
    printf("%u texts of each seed (%lu)\n", count, used);
    return argc < 3;
}
#endif
