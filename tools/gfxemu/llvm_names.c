/* SPDX-License-Identifier: Apache-2.0
 * See llvm_names.h. */
#define _GNU_SOURCE
#include "tools/gfxemu/llvm_names.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 1 << 14, DWORDS = 5 };

struct table {
    LLVMDisasmContextRef llvm;
    struct gfx_llvm_name names[NAMES];      /* an open hash */
    unsigned count;
    bool full;                              /* or without memory */
};

static struct gfx_llvm_name *
slot(struct table *t, const char *text)
{
    uint32_t h = 2166136261u;
    for (const char *s = text; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    unsigned k = h % NAMES;
    while (t->names[k].text && strcmp(t->names[k].text, text))
        k = (k + 1) % NAMES;
    return &t->names[k];
}

/* Its name in all encodings. */
static void
strip(char *s)
{
    static const char *const suffixes[] = { "_e32", "_e64_dpp", "_dpp", "_e64", "_sdwa" };
    for (unsigned k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
        size_t n = strlen(s), m = strlen(suffixes[k]);
        if (n > m && !strcmp(s + n - m, suffixes[k])) {
            s[n - m] = 0;
            return;
        }
    }
}

static void
look_at(struct table *t, uint32_t first, uint32_t second)
{
    uint32_t code[DWORDS] = { first, second, second, second, second };
    char text[512], *s = text;
    if (!LLVMDisasmInstruction(t->llvm, (uint8_t *)code, sizeof code, 0, text, sizeof text))
        return;
    s += strspn(s, " \t");
    if (strstr(s, " :: "))          /* two instructions, which have encodings of their own */
        return;
    s[strcspn(s, " \t\n")] = 0;
    strip(s);
    struct gfx_llvm_name *n = slot(t, s);
    if (n->text)
        return;
    n->text = strdup(s);
    memcpy(n->code, code, sizeof code);
    t->full |= !n->text || ++t->count > NAMES / 2;
}

static void
sweep(struct table *t)
{
    /* Of VOP3's sources one is a scalar, one a vector; all are vectors, without and with op_sel_hi; memory instructions have no base (gfx9, gfx10,
     * gfx11 and later); all fields are 0. */
    static const uint32_t second[] = { 0x02020202, 0x04020100, 0x1c020100, 0x007f0000, 0x007d0000, 0x007c0000, 0 };
    enum { UPPER = 1 << 19, LONG = 3 << 17 };       /* encodings of two dwords begin with two ones */
    for (unsigned k = 0; k < sizeof second / sizeof *second && !t->full; k++)
        for (uint32_t upper = k ? LONG : 0; upper < UPPER; upper++)
            look_at(t, upper << 13, second[k]);
    /* Image instructions: the upper bit of gfx10's opcodes, and what LLVM expects in instructions for rays. */
    static const uint32_t low[] = { 1, 0x1f01, 0xf80, 0x10 };
    for (unsigned k = 0; k < sizeof low / sizeof *low; k++)
        for (uint32_t upper = LONG; upper < UPPER; upper++)
            look_at(t, upper << 13 | low[k], 0);
    for (uint32_t middle = 0; middle < 1u << 16; middle++) {
        look_at(t, 0xbe000000u | middle << 8, 0);
        look_at(t, 0x7e000000u | middle << 8, 0);
        look_at(t, 0x7f000000u | middle << 8, 0);
    }
}

struct gfx_llvm_name *
gfx_llvm_names(const char *processor)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    struct table *t = calloc(1, sizeof *t);
    struct gfx_llvm_name *names = NULL;
    if (t)
        t->llvm = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", processor, "", NULL, 0, NULL, NULL);
    if (t && t->llvm) {
        sweep(t);
        LLVMDisasmDispose(t->llvm);
        names = t->full ? NULL : calloc(t->count + 1, sizeof *names);
    }
    unsigned n = 0;
    for (unsigned k = 0; t && k < NAMES; k++)
        if (t->names[k].text && names)
            names[n++] = t->names[k];
        else
            free((char *)t->names[k].text);
    free(t);
    return names;
}

void
gfx_llvm_names_free(struct gfx_llvm_name *names)
{
    for (struct gfx_llvm_name *n = names; n && n->text; n++)
        free((char *)n->text);
    free(names);
}
