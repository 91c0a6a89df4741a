/* SPDX-License-Identifier: Apache-2.0
 * Writes the list of jit/builtins/precompiled.h: functions for the usual matrix products, approximations, divisions, printing, heap and
 * textures, as this compiler makes them for each processor.
 *   cwj_prepare OUTPUT.c [PROCESSOR...]
 * Each processor is compiled for in a process of its own, whose assembly text and code object lie beside OUTPUT.c meanwhile.
 * A function is accepted if it computes only in the registers that its callers leave to it, and accesses memory only at addresses that it
 * was given. The assembly text tells which registers it uses; the code object has the code. Rejected functions, and those for other
 * processors, are compiled with the kernel. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/builtins/precompiled.h"
#include "jit/driver/aot.h"
#include "jit/link/program.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- kernels ------------------------------------------------------------------------------------------------------------------- */

/* Registers for one operand, loaded from memory, so that the function is compiled for unknown values. */
static void
operand(struct cw_buf *b, const char *name, const char *type, unsigned n, unsigned *at)
{
    cw_buf_printf(b, "    .reg .%s %s<%u>;\n", type, name, n);
    for (unsigned i = 0; i < n; i++, *at += 8)
        cw_buf_printf(b, "    ld.global.%s %s%u, [address+%u];\n", type, name, i, *at);
}

static void
list(struct cw_buf *b, const char *name, unsigned n, const char *after)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(b, "%s%s%u", i ? ", " : "{", name, i);
    cw_buf_printf(b, "}%s", after);
}

/* A kernel with one product; n[]: registers of D, A, B and C. */
static void
kernel(struct cw_buf *b, const char *instruction, const char *d, const char *ab, const char *c, const unsigned n[4])
{
    unsigned at = 0;
    bool sparse = !strncmp(instruction, "mma.sp", 6);
    cw_buf_printf(b, ".visible .entry kernel%zu(.param .u64 p)\n{\n    .reg .b64 address, offset;\n    .reg .b32 thread;\n", b->size);
    cw_buf_puts(b, "    ld.param.u64 address, [p];\n    mov.u32 thread, %tid.x;\n    mul.wide.u32 offset, thread, 4096;\n"
                   "    add.s64 address, address, offset;\n");
    operand(b, "d", d, n[0], &at);
    operand(b, "a", ab, n[1], &at);
    operand(b, "b", ab, n[2], &at);
    operand(b, "c", c, n[3], &at);
    if (sparse)
        operand(b, "e", "b32", 1, &at);
    cw_buf_printf(b, "    %s ", instruction);
    list(b, "d", n[0], ", ");
    list(b, "a", n[1], ", ");
    list(b, "b", n[2], ", ");
    list(b, "c", n[3], sparse ? ", e0, 0;\n" : ";\n");
    for (unsigned i = 0; i < n[0]; i++)
        cw_buf_printf(b, "    st.global.%s [address+%u], d%u;\n", d, 8 * i, i);
    cw_buf_puts(b, "    ret;\n}\n");
}

/* 64-bit divisions of unknown operands. */
static void
division(struct cw_buf *b, const char *type)
{
    cw_buf_printf(b, ".visible .entry divide_%s(.param .u64 operands)\n{\n    .reg .b64 p, a, b;\n    .reg .b32 thread;\n", type);
    cw_buf_printf(b, "    ld.param.u64 p, [operands];\n    mov.u32 thread, %%tid.x;\n    mad.wide.u32 p, thread, 16, p;\n"
                     "    ld.global.u64 a, [p];\n    ld.global.u64 b, [p+8];\n    div.%s a, a, b;\n    st.global.u64 [p], a;\n    ret;\n}\n", type);
}

static bool
is_f16(const char *type)
{
    return !strcmp(type, "f16");
}

/* mma of m16n8 or, with `sparse`, mma.sp: k elements of these types; `after` follows their names. */
static void
product(struct cw_buf *b, bool sparse, unsigned k, unsigned bits, const char *d, const char *ta, const char *tb, const char *after)
{
    char name[128];
    const unsigned words = k * bits / 64, cd = is_f16(d) ? 2 : 4, n[4] = { cd, sparse ? words / 2 : words, words / 2, cd };
    const char *const reg = is_f16(d) || !strcmp(d, "s32") ? "b32" : "f32";
    snprintf(name, sizeof name, "mma%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s", sparse ? ".sp" : "", k, after, d, ta, tb, d);
    kernel(b, name, reg, "b32", reg, n);
}

static void
floats(struct cw_buf *b)
{
    static const char *const sums[] = { "f32", "f16" }, *const bytes[] = { "e4m3", "e5m2" };
    for (unsigned i = 0; i < 4; i++) {          /* k; twice that if sparse */
        const bool sparse = i & 1, twice = i >> 1;
        const unsigned k = 4u << sparse << twice;
        product(b, sparse, 2 * k, 16, "f32", "bf16", "bf16", "");
        product(b, sparse, 2 * k, 16, "f32", "f16", "f16", "");
        product(b, sparse, 2 * k, 16, "f16", "f16", "f16", "");
        product(b, sparse, k, 32, "f32", "tf32", "tf32", "");
        product(b, true, 64, 8, "f32", bytes[i & 1], bytes[i >> 1], "");
    }
    for (unsigned i = 0; i < 16; i++)
        product(b, false, i & 8 ? 32 : 16, 8, sums[i & 1], bytes[i >> 1 & 1], bytes[i >> 2 & 1], "");
}

static void
fragments(struct cw_buf *b)
{
    static const char sums[2][4] = { "f32", "f16" }, shapes[3][12] = { "m16n16k16", "m32n8k16", "m8n32k16" };
    static const unsigned tf32[4] = { 8, 4, 4, 8 }, bf16[3][4] = { { 8, 4, 4, 8 }, { 8, 8, 2, 8 }, { 8, 2, 8, 8 } };
    char name[96];
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned i = 0; i < 4; i++) {
            const char *d = sums[i % 2], *c = sums[i / 2];
            const unsigned n[4] = { is_f16(d) ? 4 : 8, 8, 8, is_f16(c) ? 4 : 8 };
            snprintf(name, sizeof name, "wmma.mma.sync.aligned.row.col.%s.%s.%s", shapes[s], d, c);
            kernel(b, name, is_f16(d) ? "b32" : "f32", "b32", is_f16(c) ? "b32" : "f32", n);
        }
        snprintf(name, sizeof name, "wmma.mma.sync.aligned.row.col.%s.f32.bf16.bf16.f32", shapes[s]);
        kernel(b, name, "f32", "b32", "f32", bf16[s]);
    }
    kernel(b, "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "f32", "b32", "f32", tf32);
}

/* A kernel that calls CUDA's own functions. */
static void
runtime_calls(struct cw_buf *b)
{
    cw_buf_puts(b, ".extern .func (.param .b32 n) vprintf (.param .b64 format, .param .b64 arguments);\n"
                   ".extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);\n"
                   ".extern .func (.param .b64 at) malloc (.param .b64 size);\n.extern .func free (.param .b64 at);\n"
                   ".visible .entry calls(.param .u64 p)\n{\n    .reg .b64 v<4>, address;\n    .reg .b32 n;\n    ld.param.u64 address, [p];\n"
                   "    ld.global.v2.u64 {v0, v1}, [address];\n    ld.global.v2.u64 {v2, v3}, [address+16];\n    ld.global.u32 n, [address+32];\n"
                   "    call (n), vprintf, (v0, v1);\n    call (v0), malloc, (v1);\n    call free, (v2);\n    call __assertfail, (v0, v1, n, v2, v3);\n    ret;\n}\n");
}

/* More of each than are inlined (target/amdgcn/mufu.c). */
static void
approximations(struct cw_buf *b)
{
    static const char *const one[] = { "rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos" }, *const two[] = { "div.approx", "div.full" };
    for (unsigned i = 0; i < 2 * (sizeof one / sizeof *one + sizeof two / sizeof *two); i++) {
        const char *ftz = i & 1 ? ".ftz" : "";
        cw_buf_printf(b, ".visible .entry approximation%u(.param .u64 operands)\n{\n    .reg .b64 p;\n    .reg .b32 thread;\n    .reg .f32 a<4>, b<4>;\n", i);
        cw_buf_puts(b, "    ld.param.u64 p, [operands];\n    mov.u32 thread, %tid.x;\n    mad.wide.u32 p, thread, 32, p;\n"
                       "    ld.global.v4.f32 {a0, a1, a2, a3}, [p];\n    ld.global.v4.f32 {b0, b1, b2, b3}, [p+16];\n");
        for (unsigned k = 0; k < 4; k++)
            if (i / 2 < sizeof one / sizeof *one)
                cw_buf_printf(b, "    %s.approx%s.f32 a%u, a%u;\n", one[i / 2], ftz, k, k);
            else
                cw_buf_printf(b, "    %s%s.f32 a%u, a%u, b%u;\n", two[i / 2 - sizeof one / sizeof *one], ftz, k, k, k);
        cw_buf_puts(b, "    st.global.v4.f32 [p], {a0, a1, a2, a3};\n    ret;\n}\n");
    }
}

/* A kernel that reads textures. The function serves all kinds of instructions, so call it twice without a common operand. */
static void
textures(struct cw_buf *b)
{
    cw_buf_puts(b, ".visible .entry textures(.param .u64 p)\n{\n    .reg .b64 object, p;\n    .reg .b32 i<4>, r<4>;\n    .reg .f32 x<4>, f<4>;\n"
                   "    ld.param.u64 p, [p];\n    ld.global.u64 object, [p];\n    ld.global.v4.u32 {i0, i1, i2, i3}, [p+16];\n"
                   "    ld.global.v4.f32 {x0, x1, x2, x3}, [p+32];\n"
                   "    tex.1d.v4.s32.s32 {r0, r1, r2, r3}, [object, {i0}];\n    st.global.v4.u32 [p+48], {r0, r1, r2, r3};\n"
                   "    tex.grad.3d.v2.f16x2.f32 {r0, r1}, [object, {x0, x1, x2, x3}], {x0, x1, x2, x3}, {x3, x2, x1, x0}, {i0, i1, i2, i3};\n"
                   "    st.global.v2.u32 [p+64], {r0, r1};\n"
                   "    ret;\n}\n");
}

static void
kernels(struct cw_buf *b)
{
    static const char *const quads[][2] = { { "f32", "f32" }, { "f16", "f16" }, { "f32", "f16" } };
    static const char *const layouts[] = { "row.col", "row.row", "col.row", "col.col" };
    static const char *const integers[] = { "s8", "u8", "s4", "u4" };
    static const struct { const char *name; unsigned n[4]; } f64[] = {
        { "m8n8k4", { 2, 1, 1, 2 } }, { "m16n8k4", { 4, 2, 1, 4 } }, { "m16n8k8", { 4, 4, 2, 4 } },
    };
    char name[96];
    cw_buf_puts(b, ".version 8.7\n.target sm_90\n.address_size 64\n");
    runtime_calls(b);
    approximations(b);
    textures(b);
    floats(b);
    fragments(b);
    for (unsigned i = 0; i < 12; i++) {
        const char *d = quads[i % 3][0], *c = quads[i % 3][1];
        const unsigned n[4] = { is_f16(d) ? 4 : 8, 2, 2, is_f16(c) ? 4 : 8 };
        snprintf(name, sizeof name, "mma.sync.aligned.m8n8k4.%s.%s.f16.f16.%s", layouts[i / 3], d, c);
        kernel(b, name, is_f16(d) ? "b32" : "f32", "b32", is_f16(c) ? "b32" : "f32", n);
    }
    for (unsigned i = 0; i < 8; i++)
        product(b, true, (i & 1 ? 64 : 32) << (i / 4), i / 4 ? 4 : 8, "s32", integers[i / 2], integers[i / 2], "");
    for (unsigned i = 0; i < sizeof f64 / sizeof *f64; i++) {
        snprintf(name, sizeof name, "mma.sync.aligned.%s.row.col.f64.f64.f64.f64", f64[i].name);
        kernel(b, name, "f64", "f64", "f64", f64[i].n);
    }
    division(b, "u64");
    division(b, "s64");
}

/* ---- a function's behaviour, from its assembly text ----------------------------------------------------------------------------- */

struct function {
    char name[96];
    unsigned waits, returns;            /* four-byte instructions: leading waits; returns */
    bool memory, stack, uses_stack;     /* stack: it may use one */
    bool interrupts;
    uint64_t vgprs[4], sgprs[2], agprs[4];
    uint64_t given;                     /* leading SGPRs that it reads before writing; unused with a stack */
    const char *why_not;                /* reason for rejection, in one line */
};

static bool
starts(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

/* s30 to s33 are the return address, the stack and the frame pointer. With a stack, LLVM may save and restore the first, and reads the
 * second (on some processors together with s0 to s3, the scratch descriptor, which nobody writes). */
static void
use(struct function *f, char kind, unsigned first, unsigned last, bool is_read, const char *line)
{
    if ((kind == 'a' && !f->stack) || (kind == 'm' && !f->interrupts))
        f->why_not = line;
    for (unsigned i = first; i <= last && kind != 'm'; i++) {
        if (f->why_not)
            return;
        if (kind == 's' && f->stack && ((i >= 30 && i < 32) || (i == 32 && first == last) || (!first && last == 3 && starts(line, "buffer_"))))
            continue;
        if (i >= (kind == 's' ? 106 : 256) || (kind == 's' && i >= 30 && i < 34))
            f->why_not = line;
        else {
            f->given |= kind == 's' && i < 64 && is_read && !f->stack ? ~f->sgprs[0] & 1ull << i : 0;
            (kind == 'v' ? f->vgprs : kind == 's' ? f->sgprs : f->agprs)[i / 64] |= 1ull << i % 64;
        }
    }
}

/* Parse registers such as v7, s[2:3] in an instruction's operands. Precompiled code must not use m0, and accumulation registers only to
 * save others. Anything else with digits is a number, a name or a label. The first operand is written; so is the second of vector
 * instructions with a carry or a condition. Stores and scalar comparisons read the first, but only after it was written. */
static void
registers(struct function *f, const char *at, const char *line)
{
    const size_t mnemonic = (size_t)(at - line);
    const bool two = line[0] == 'v' && (memmem(line, mnemonic, "_co_", 4) || memmem(line, mnemonic, "mad_u64", 7) || memmem(line, mnemonic, "mad_i64", 7) ||
                                        memmem(line, mnemonic, "div_scale", 9));
    unsigned operand = 0;
    for (const char *before = at++; *at && *at != '\n' && *at != ';'; before = at++) {
        char *end;
        operand += *at == ',';
        if (!strchr("vsam", *at) || strchr("_.$", *before) || (*before >= '0' && *before <= '9') || (*before >= 'a' && *before <= 'z'))
            continue;
        bool several = at[1] == '[';
        unsigned long first = strtoul(at + 1 + several, &end, 10);
        if (several && *end == ':')
            use(f, *at, (unsigned)first, (unsigned)strtoul(end + 1, NULL, 10), operand > two, line);
        else if (at[1] >= '0' && at[1] <= '9')
            use(f, *at, (unsigned)first, (unsigned)first, operand > two, line);
    }
}

static void
instruction(struct function *f, const char *line, bool *began)
{
    static const char *const refused[] = { "s_buffer", "s_swappc", "s_call", "v_mfma", "s_setreg", "s_endpgm" };
    static const char *const stack[] = { "scratch_", "buffer_load", "buffer_store", "buffer_atomic", "v_writelane", "v_readlane" };
    static const char *const place[] = { "s_load", "s_getpc" };       /* addresses of constants: refused unless it may have a stack */
    static const char *const memory[] = { "flat_", "global_", "buffer_", "s_load" };
    if (starts(line, "s_setpc_b64 s[30:31]")) {
        f->returns++;
        return;
    }
    size_t n = strcspn(line, "\n"), operands = strcspn(line, " \n");
    *began |= !starts(line, "s_wait");
    f->waits += !*began;
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        if (starts(line, refused[i]))
            f->why_not = line;
    for (unsigned i = 0; i < sizeof stack / sizeof *stack; i++)
        if (starts(line, stack[i])) {
            f->uses_stack = true;
            f->why_not = f->stack ? f->why_not : line;
        }
    for (unsigned i = 0; i < sizeof place / sizeof *place; i++)
        if (starts(line, place[i]) && !f->stack)
            f->why_not = line;
    for (unsigned i = 0; i < sizeof memory / sizeof *memory; i++)
        f->memory |= starts(line, memory[i]);
    if (memmem(line, n, "@rel32", 6) || starts(line + operands, " s32,"))        /* refers to another symbol; has a frame of its own */
        f->why_not = line;
    f->interrupts |= starts(line, "s_sendmsg_rtn");             /* a trap on gfx1100 preserves m0 */
    registers(f, line + operands, line);
    f->interrupts &= !starts(line, "s_mov_b32 m0, ttmp2");
}

/* Find the next function from the line *at; false: none. */
static bool
next_function(const char **at, struct function *f)
{
    bool inside = false, began = false;
    memset(f, 0, sizeof *f);
    for (const char *line = *at, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = (size_t)(end - line);
        if (!inside && (starts(line, "cwd_") || starts(line, "mma.") || starts(line, "wmma.") || starts(line, "div.") || starts(line, "mufu.")) && end[-1] == ':' && n < sizeof f->name) {
            memcpy(f->name, line, n - 1);
            f->stack = starts(line, "cwd_tex_");
            inside = true;
        } else if (inside && starts(line, ".Lfunc_end")) {
            *at = end;
            return true;
        } else if (inside && line[0] == '\t' && line[1] >= 'a' && line[1] <= 'z') {
            instruction(f, line + 1, &began);
        }
    }
    return false;
}

/* ---- code ----------------------------------------------------------------------------------------------------------------------- */

/* A function's bytes in a code object linked by LLD; NULL: no such symbol. */
static const uint8_t *
find_code(const struct cw_mapped_file *object, const char *name, size_t *size)
{
    const uint8_t *base = object->data;
    const Elf64_Ehdr *h = (const void *)base;
    const Elf64_Shdr *s = (const void *)(base + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *y = (const void *)(base + s[i].sh_offset);
        const char *names = (const char *)base + s[s[i].sh_link].sh_offset;
        for (size_t k = 0; k < s[i].sh_size / sizeof *y; k++)
            if (!strcmp(names + y[k].st_name, name)) {
                const Elf64_Shdr *in = &s[y[k].st_shndx];
                *size = y[k].st_size;
                return base + in->sh_offset + (y[k].st_value - in->sh_addr);
            }
    }
    return NULL;
}

struct taken {
    uint32_t *code;
    size_t words;
};

/* Take its code from the first instruction after the waits; returns become branches to its end. False: unexpected form. */
static bool
take_code(const struct function *f, const char *cpu, const uint8_t *code, size_t size, struct taken *t)
{
    bool gfx9 = cpu[3] == '9', gfx10 = !strncmp(cpu, "gfx10", 5);
    const uint32_t go_back = gfx9 ? 0xbe801d1eu : gfx10 ? 0xbe80201eu : 0xbe80481eu;     /* s_setpc_b64 s[30:31] */
    const uint32_t branch = gfx9 || gfx10 ? 0xbf820000u : 0xbfa00000u;                    /* s_branch */
    unsigned returns = 0;
    t->words = size / 4 - f->waits;
    t->code = malloc(size ? size : 1);
    if (!t->code || size % 4 || size / 4 < f->waits + 1)
        return false;
    memcpy(t->code, code + 4 * f->waits, 4 * t->words);
    if (t->code[t->words - 1] == go_back) {
        returns++;
        t->words--;
    }
    for (size_t i = 0; i < t->words; i++)
        if (t->code[i] == go_back) {
            t->code[i] = branch | (uint32_t)(t->words - i - 1);
            returns++;
        }
    return returns == f->returns;
}

/* ---- the list --------------------------------------------------------------------------------------------------------------------- */

struct output {
    struct cw_buf arrays, entries;
    struct taken taken[2048];
    size_t n;
};

/* Approximations take the address of their table in two SGPRs; no other function reads one that it has not written. */
static int
table_of(struct function *f)
{
    unsigned at = 0;
    if (!starts(f->name, "mufu."))
        f->given &= ~f->sgprs[0];       /* a block that ends earlier in the text than the one that writes the register runs after it */
    if (!f->given || f->why_not)
        return -1;
    while (!(f->given >> at & 1))
        at++;
    if (!starts(f->name, "mufu.") || at & 1 || f->given != 3ull << at)
        f->why_not = "it reads scalar registers that it has not written";
    f->memory = false;
    return (int)at;
}

/* The number of the array with this code; writes it if new. */
static size_t
array_of(struct output *o, struct taken t)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->taken[i].words == t.words && !memcmp(o->taken[i].code, t.code, 4 * t.words)) {
            free(t.code);
            return i;
        }
    cw_buf_printf(&o->arrays, "static const uint32_t code%zu[] = {", o->n);
    for (size_t i = 0; i < t.words; i++)
        cw_buf_printf(&o->arrays, "%s0x%x,", i % 16 ? "" : "\n", t.code[i]);
    cw_buf_puts(&o->arrays, "\n};\n");
    o->taken[o->n] = t;
    return o->n++;
}

static void
list_registers(struct cw_buf *b, const char *kind, const uint64_t *used, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (used[i / 64] >> i % 64 & 1)
            cw_buf_printf(b, " %s%u", kind, i);
}

/* An upper bound of the stack of the functions called by kernel `textures`: the kernel's own, which has a few bytes more. */
static unsigned
stack_of_textures(const char *assembly)
{
    static const char name[] = " textures\n", size[] = ".private_segment_fixed_size:";
    const char *at = strstr(assembly, ".amdgpu_metadata"), *n;
    at = at ? strstr(at, name) : NULL;
    n = at ? strstr(at, size) : NULL;
    return n ? (unsigned)strtoul(n + sizeof size - 1, NULL, 10) : 0;
}

static bool
take_functions(const char *cpu, const char *assembly, const struct cw_mapped_file *object, struct output *o)
{
    const char *at = assembly;
    const unsigned stack = stack_of_textures(at);
    struct function f;
    struct taken t;
    while (next_function(&at, &f)) {
        size_t size = 0;
        const uint8_t *code = find_code(object, f.name, &size);
        int table = table_of(&f);
        if (f.why_not) {
            cw_buf_printf(&o->entries, "    /* %s: not %s: %.*s */\n", cpu, f.name, (int)strcspn(f.why_not, "\n"), f.why_not);
            continue;
        }
        if (!code || o->n == sizeof o->taken / sizeof *o->taken || !take_code(&f, cpu, code, size, &t)) {
            fprintf(stderr, "%s: the code of %s is not as its assembly\n", cpu, f.name);
            return false;
        }
        size_t words = t.words, n = array_of(o, t);
        cw_buf_printf(&o->entries, "    { \"%s\", \"%s\", \"VCC SCC", cpu, f.name);
        list_registers(&o->entries, "VGPR", f.vgprs, 256);
        list_registers(&o->entries, "AGPR", f.agprs, 256);
        list_registers(&o->entries, "SGPR", f.sgprs, 106);
        cw_buf_printf(&o->entries, "\", code%zu, %zu, %u, %s, %d },\n", n, words, f.uses_stack ? stack : 0, f.memory ? "true" : "false", table);
    }
    return true;
}

static int
write_list(const struct output *o, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f || o->arrays.failed || o->entries.failed) {
        fprintf(stderr, "cannot write %s: %m\n", path);
        return 1;
    }
    fprintf(f, "/* made by jit/builtins/precompile/make.c */\n#include \"jit/builtins/precompiled.h\"\n\n%.*s\nconst struct gcn_precompiled gcn_precompiled_functions[] = {\n",
            (int)o->arrays.size, o->arrays.data);
    fprintf(f, "%.*s    { 0 }\n};\n", (int)o->entries.size, o->entries.data);
    return fclose(f) != 0;
}

const bool gcn_makes_precompiled = true;

/* ---- processors, side by side --------------------------------------------------------------------------------------------------- */

/* The file beside the output, such as precompiled.c.gfx1100.s. */
static void
beside(const char *output, const char *cpu, const char *ending, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s.%s.%s", output, cpu, ending);
}

static bool
compile(struct cwj_program *p, const struct cwj_input *in, const char *cpu, enum cwj_emit emit, const char *path)
{
    const struct cwj_aot_options o = { .target = CWJ_TARGET_AMDGCN, .cpu = cpu, .emit = emit, .opt_level = 3, .module_image = true };
    struct cw_buf out, text;
    struct cwj_diags diags;
    cw_buf_init(&out);
    cw_buf_init(&text);
    cwj_diags_init(&diags);
    bool ok = cwj_aot(p, &o, &out, &diags) == CW_OK && !out.failed && cw_file_write_atomic(path, out.data, out.size, 0644) == CW_OK;
    cwj_diags_render(&diags, "kernels", in->text, in->size, &text);
    fprintf(stderr, "%.*s", (int)text.size, text.size ? text.data : "");
    if (!ok)
        fprintf(stderr, "%s: %s was not made\n", cpu, path);
    cwj_diags_finish(&diags);
    cw_buf_finish(&out);
    cw_buf_finish(&text);
    return ok;
}

static bool
make_object(struct cwj_program *p, const struct cwj_input *in, const char *output, const char *cpu)
{
    char assembly[PATH_MAX], object[PATH_MAX];
    beside(output, cpu, "s", assembly);
    beside(output, cpu, "o", object);
    return compile(p, in, cpu, CWJ_EMIT_ASM, assembly) && compile(p, in, cpu, CWJ_EMIT_OBJ, object);
}

/* All objects, as many at a time as there are processors here. */
static bool
make_objects(struct cwj_program *p, const struct cwj_input *in, const char *output, char **cpus)
{
    long most = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
    bool ok = true;
    while (*cpus || running) {
        if (*cpus && running < most) {
            pid_t child = fork();
            if (!child)
                _exit(!make_object(p, in, output, *cpus));
            ok &= child > 0;
            running += child > 0;
            cpus++;
            continue;
        }
        int status;
        ok &= wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
        running--;
    }
    return ok;
}

static bool
take_processor(const char *output, const char *cpu, struct output *o)
{
    char paths[2][PATH_MAX];
    struct cw_mapped_file assembly = { 0 }, object = { 0 };
    beside(output, cpu, "s", paths[0]);
    beside(output, cpu, "o", paths[1]);
    bool mapped = cw_file_map(paths[0], &assembly) == CW_OK, both = mapped && cw_file_map(paths[1], &object) == CW_OK;
    char *text = both ? strndup((const char *)assembly.data, assembly.size) : NULL;
    bool ok = text && take_functions(cpu, text, &object, o);
    free(text);
    if (both)
        cw_file_unmap(&object);
    if (mapped)
        cw_file_unmap(&assembly);
    unlink(paths[0]);
    unlink(paths[1]);
    return ok;
}

int
main(int argc, char **argv)
{
    static struct output o;
    struct cw_buf ptx;
    struct cwj_diags diags;
    struct cwj_program *p = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: cwj_prepare OUTPUT.c [PROCESSOR...]\n");
        return 2;
    }
    cw_buf_init(&ptx);
    cw_buf_init(&o.arrays);
    cw_buf_init(&o.entries);
    cwj_diags_init(&diags);
    kernels(&ptx);
    const struct cwj_input in = { "kernels", ptx.data, ptx.size };
    bool ok = !ptx.failed && cwj_program_create(&in, 1, false, &p, &diags) == CW_OK && make_objects(p, &in, argv[1], argv + 2);
    for (int i = 2; i < argc; i++)
        ok = ok && take_processor(argv[1], argv[i], &o);
    int result = ok ? write_list(&o, argv[1]) : 1;
    cwj_program_destroy(p);
    cwj_diags_finish(&diags);
    for (size_t i = 0; i < o.n; i++)
        free(o.taken[i].code);
    cw_buf_finish(&ptx);
    cw_buf_finish(&o.arrays);
    cw_buf_finish(&o.entries);
    return result;
}
