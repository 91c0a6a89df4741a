/* SPDX-License-Identifier: Apache-2.0
 * Writes the list of jit/builtins/precompiled.h: functions for the usual matrix products, approximations, divisions, printing, heap and
 * textures, as this compiler makes them for each processor.
 *   cwj_prepare OUTPUT.c [PROCESSOR...]
 * Each processor is compiled for in a process of its own, which leaves beside OUTPUT.c a code object and what the compiler says of the
 * functions in it. Refused functions, and those for other processors, are compiled with the kernel. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/children.h"
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
    static const char text[] = {
#include "kernels.inc"
    };
    cw_buf_append(b, text, sizeof text);
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
}

/* ---- code ----------------------------------------------------------------------------------------------------------------------- */

/* What the compiler says of a function (jit/llvm/amdgpu/precompiled_facts.cpp). */
struct function {
    char name[96], registers[8192];
    unsigned waits, returns, stack;     /* four-byte instructions: leading waits; returns */
    unsigned memory;
    int table;
};

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

/* `facts` has a line for each function. */
static bool
take_functions(const char *cpu, char *facts, const struct cw_mapped_file *object, struct output *o)
{
    struct function f;
    struct taken t;
    char *rest;
    for (char *line = strtok_r(facts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t size = 0;
        if (sscanf(line, "%95s %u %u %u %u %d %8191[^\n]", f.name, &f.waits, &f.returns, &f.stack, &f.memory, &f.table, f.registers) != 7) {
            cw_buf_printf(&o->entries, "    /* %s: %s */\n", cpu, line);
            continue;
        }
        const uint8_t *code = find_code(object, f.name, &size);
        if (!code || o->n == sizeof o->taken / sizeof *o->taken || !take_code(&f, cpu, code, size, &t)) {
            fprintf(stderr, "%s: the code of %s is not as the compiler says\n", cpu, f.name);
            return false;
        }
        size_t words = t.words, n = array_of(o, t);
        cw_buf_printf(&o->entries, "    { \"%s\", \"%s\", \"%s\", code%zu, %zu, %u, %s, %d },\n", cpu, f.name, f.registers, n, words, f.stack,
                      f.memory ? "true" : "false", f.table);
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

struct cw_buf gcn_precompiled_facts;

/* ---- processors, side by side --------------------------------------------------------------------------------------------------- */

/* The file beside the output, such as precompiled.c.gfx1100.o. */
static void
beside(const char *output, const char *cpu, const char *ending, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s.%s.%s", output, cpu, ending);
}

static bool
make_object(struct cwj_program *p, const struct cwj_input *in, const char *output, const char *cpu)
{
    const struct cwj_aot_options o = { .target = CWJ_TARGET_AMDGCN, .cpu = cpu, .emit = CWJ_EMIT_OBJ, .opt_level = 3, .module_image = true };
    const struct cw_buf *facts = &gcn_precompiled_facts;
    char object[PATH_MAX], list[PATH_MAX];
    struct cw_buf out, text;
    struct cwj_diags diags;
    beside(output, cpu, "o", object);
    beside(output, cpu, "txt", list);
    cw_buf_init(&out);
    cw_buf_init(&text);
    cwj_diags_init(&diags);
    bool ok = cwj_aot(p, &o, &out, &diags) == CW_OK && !facts->failed && cw_file_write_atomic(object, out.data, out.size, 0644) == CW_OK &&
              cw_file_write_atomic(list, facts->data, facts->size, 0644) == CW_OK;
    cwj_diags_render(&diags, "kernels", in->text, in->size, &text);
    fprintf(stderr, "%.*s", (int)text.size, text.size ? text.data : "");
    if (!ok)
        fprintf(stderr, "%s: %s was not made\n", cpu, object);
    cwj_diags_finish(&diags);
    cw_buf_finish(&out);
    cw_buf_finish(&text);
    return ok;
}

/* All objects, as many at a time as there are processors here. */
static bool
make_objects(struct cwj_program *p, const struct cwj_input *in, const char *output, char **cpus)
{
    long most = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
    bool ok = true;
    while (*cpus || running) {
        if (*cpus && running < most) {
            pid_t parent = getpid(), child = fork();
            if (!child) {
                cw_child_dies_with(parent);
                _exit(!make_object(p, in, output, *cpus));
            }
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
    char object[PATH_MAX], list[PATH_MAX], *facts = NULL;
    struct cw_mapped_file mapped = { 0 };
    size_t size;
    beside(output, cpu, "o", object);
    beside(output, cpu, "txt", list);
    bool ok = cw_file_map(object, &mapped) == CW_OK && cw_file_read(list, 1 << 24, &facts, &size) == CW_OK && take_functions(cpu, facts, &mapped, o);
    free(facts);
    cw_file_unmap(&mapped);
    unlink(object);
    unlink(list);
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
