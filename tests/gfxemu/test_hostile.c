/* SPDX-License-Identifier: Apache-2.0
 * Damaged and hostile code objects, made here: whatever they say, loading and running them reads and writes nothing of the host's.
 * A sanitizer, or the allocator's own checks, see it if they do. */
#include "tools/gfxemu/gfx.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned failures;

#define CHECK(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); failures++; } } while (0)

/* ---- a code object: one segment with everything in it, whose addresses are the file's offsets ---- */

enum { DYNAMIC = 0x200, HASH = 0x280, SYMBOLS = 0x2c0, STRINGS = 0x300, DESCRIPTOR = 0x340, NOTE = 0x400, CODE = 0x1000, SIZE = 0x2000 };

struct object {
    uint8_t file[SIZE];
    size_t note;                /* bytes of metadata */
};

static void
put(struct object *o, size_t at, const void *data, size_t size)
{
    memcpy(o->file + at, data, size);
}

/* MessagePack. */
static void
byte(struct object *o, unsigned v)
{
    o->file[NOTE + 20 + o->note++] = (uint8_t)v;
}

static void
text(struct object *o, const char *s)
{
    byte(o, 0xa0 | (unsigned)strlen(s));
    for (; *s; s++)
        byte(o, (uint8_t)*s);
}

static void
number(struct object *o, uint32_t v)
{
    byte(o, 0xce);
    for (int k = 24; k >= 0; k -= 8)
        byte(o, v >> k & 0xff);
}

static void
parameters(struct object *o, unsigned n, uint32_t offset, uint32_t size)
{
    text(o, ".args");
    byte(o, 0xdc), byte(o, n >> 8), byte(o, n & 0xff);
    for (unsigned k = 0; k < n; k++) {
        byte(o, 0x82);
        text(o, ".offset");
        number(o, offset);
        text(o, ".size");
        number(o, size);
    }
}

/* The start of a kernel's map with `entries` more than its name. */
static void
kernel_map(struct object *o, unsigned entries)
{
    byte(o, 0x81);
    text(o, "amdhsa.kernels");
    byte(o, 0x91);
    byte(o, 0x80 | (entries + 1));
    text(o, ".symbol");
    text(o, "k.kd");
}

static void
make(struct object *o, const struct gfx_target *t, const uint32_t *code, size_t words)
{
    memset(o, 0, sizeof *o);
    Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 64, 3 }, .e_type = ET_DYN, .e_machine = EM_AMDGPU,
                     .e_version = EV_CURRENT, .e_phoff = 64, .e_flags = t->elf_mach, .e_ehsize = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4 };
    Elf64_Phdr p[4] = { { .p_type = PT_LOAD, .p_filesz = CODE, .p_memsz = CODE, .p_flags = PF_R },
                        { .p_type = PT_LOAD, .p_offset = CODE, .p_vaddr = CODE, .p_filesz = SIZE - CODE, .p_memsz = SIZE - CODE, .p_flags = PF_R | PF_X },
                        { .p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC, .p_memsz = 0x60 }, { .p_type = PT_NOTE, .p_offset = NOTE, .p_filesz = CODE - NOTE } };
    Elf64_Dyn d[5] = { { DT_HASH, { HASH } }, { DT_SYMTAB, { SYMBOLS } }, { DT_STRTAB, { STRINGS } }, { DT_STRSZ, { 6 } }, { DT_NULL, { 0 } } };
    uint32_t hash[2] = { 1, 2 };
    Elf64_Sym s = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1, .st_value = DESCRIPTOR, .st_size = 64 };
    int64_t entry = CODE - DESCRIPTOR;
    uint16_t properties = 1 << 3 | (t->family >= GFX10) << 10;      /* the arguments' address in s[0:1]; 32 lanes */
    put(o, 0, &e, sizeof e);
    put(o, 64, p, sizeof p);
    put(o, DYNAMIC, d, sizeof d);
    put(o, HASH, hash, sizeof hash);
    put(o, SYMBOLS + sizeof s, &s, sizeof s);
    put(o, STRINGS, "\0k.kd", 6);
    put(o, DESCRIPTOR + 16, &entry, 8);
    put(o, DESCRIPTOR + 56, &properties, 2);
    put(o, CODE, code, words * 4);
}

static struct gfx_object *
load(const struct gfx_target *t, struct object *o, char *error)
{
    struct gfx_object *loaded = NULL;
    uint32_t h[3] = { 7, (uint32_t)o->note, 32 };
    put(o, NOTE, h, sizeof h);
    put(o, NOTE + 12, "AMDGPU", 7);
    return gfx_object_load(t, o->file, SIZE, &loaded, error) ? loaded : NULL;
}

static bool
run(struct gfx_object *o, struct gfx_launch *l)
{
    l->object = o;
    l->kernel = o->kernels;
    l->grid[0] = l->grid[1] = l->grid[2] = l->block[1] = l->block[2] = 1;
    l->block[0] = 32;
    return gfx_dispatch_run(l);
}

/* ---- what metadata say ---- */

static const uint32_t end_of_gfx11[] = { 0xbfb00000u };     /* s_endpgm */

/* A second list of arguments: it has room of its own, or is none. */
static void
two_lists(const struct gfx_target *t)
{
    struct object o;
    char error[256];
    make(&o, t, end_of_gfx11, 1);
    kernel_map(&o, 2);
    parameters(&o, 40, 0, 8);
    parameters(&o, 1, 8, 8);
    struct gfx_object *g = load(t, &o, error);
    CHECK(g && g->nkernels == 1 && g->kernels[0].nhidden == 40);
    gfx_object_unload(g);
}

/* Sizes of arguments that wrap around, or that nothing has: the metadata end there. */
static void
sizes(const struct gfx_target *t, uint32_t segment, uint32_t offset, uint32_t size)
{
    struct object o;
    char error[256];
    uint8_t params[256] = { 0 };
    struct gfx_launch l = { .params = params, .param_size = sizeof params };
    make(&o, t, end_of_gfx11, 1);
    kernel_map(&o, 2);
    text(&o, ".kernarg_segment_size");
    number(&o, segment);
    parameters(&o, 1, offset, size);
    struct gfx_object *g = load(t, &o, error);
    CHECK(g && g->kernels[0].explicit_size <= 1 << 20 && g->kernels[0].kernarg_size <= 1 << 20);
    CHECK(g && run(g, &l));
    gfx_object_unload(g);
}

/* LDS of the kernel and of the launch, together more than 2^32. */
static void
lds(const struct gfx_target *t)
{
    struct object o;
    char error[256];
    uint32_t size = 0xffffff00u;
    struct gfx_launch l = { .dynamic_lds = 0x200 };
    make(&o, t, end_of_gfx11, 1);
    put(&o, DESCRIPTOR, &size, 4);
    struct gfx_object *g = load(t, &o, error);
    CHECK(g && !run(g, &l) && l.fault == FAULT_MEMORY);
    gfx_object_unload(g);
}

/* ---- what code says ---- */

/* Each instruction alone, with operands at the end of the register file, and every encoding that differs in a few bits. */
static void
instructions(const struct gfx_target *t, uint64_t seed, unsigned rounds)
{
    enum { WORDS = 1000 };
    static uint32_t code[WORDS];
    struct gfx_group group = { .target = t, .lds_size = 256 };
    struct gfx_wave *w = calloc(1, sizeof *w), *waves[1] = { w };
    group.lds = malloc(group.lds_size);
    group.lds_written = calloc(1, group.lds_size);
    group.nwaves = 1;
    group.waves = waves;
    for (unsigned round = 0; w && group.lds && group.lds_written && round < rounds; round++) {
        for (unsigned k = 0; k < WORDS; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            code[k] = (uint32_t)(seed >> 32);
            if (k % 4 == 0)                 /* vector memory, images, matrices, LDS: where operands have many registers */
                code[k] = (code[k] & 0x03ffffffu) | (seed & 1 ? 0xc0000000u | (uint32_t)(seed >> 8 & 0x3c000000u) : 0xd4000000u);
            else if (seed >> 20 & 1)
                code[k] |= 0xffu << (seed >> 16 & 24);
        }
        struct gfx_code *c = gfx_code_create(t, (const uint8_t *)code, 0x10000, sizeof code);
        for (uint64_t pc = 0x10000; c && pc < 0x10000 + sizeof code; pc += 4)
            for (unsigned wide = t->family < GFX10; wide < 2; wide++) {
                char error[256];
                const struct gfx_insn *i = gfx_decode(c, pc, wide, error);
                if (!i || !i->exec || (i->dual && !i->dual->exec))
                    continue;
                memset(w, 0, sizeof *w);
                w->lanes = wide ? 64 : 32;
                w->group = &group;
                w->code = c;
                w->pc = pc;
                w->next_pc = pc + i->size;
                w->s[S_EXEC] = w->s[S_EXEC + 1] = (uint32_t)seed | 1;
                for (unsigned r = 0; r < S_VCC; r++)
                    w->s[r] = (uint32_t)seed >> r % 16;
                w->s[S_M0] = (uint32_t)(seed >> 8);
                if (i->dual)
                    gfx_step_dual(w, i);
                else
                    i->exec(w, i);
            }
        gfx_code_destroy(c);
    }
    free(group.lds);
    free(group.lds_written);
    free(w);
}

/* Bytes of a good object changed: it loads or does not. It is not run, which may never end. */
static void
mutations(const struct gfx_target *t)
{
    struct object good, o;
    char error[256];
    uint64_t seed = 1;
    make(&good, t, end_of_gfx11, 1);
    kernel_map(&good, 2);
    text(&good, ".kernarg_segment_size");
    number(&good, 64);
    parameters(&good, 4, 0, 8);
    for (unsigned n = 0; n < 20000; n++) {
        o = good;
        for (unsigned k = 0; k < 1 + n % 4; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = seed >> 40 & 1 ? (seed >> 44) % 0x180 : (seed >> 44) % (NOTE + 20 + good.note - DYNAMIC) + DYNAMIC;
            o.file[at] = (uint8_t)(seed >> 32);
        }
        gfx_object_unload(load(t, &o, error));
    }
}

int
main(int argc, char **argv)
{
    const struct gfx_target *t = gfx_target_find("gfx1100");
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
    two_lists(t);
    sizes(t, 64, 0, 8);
    sizes(t, 0xffffffffu, 0, 8);
    sizes(t, 0xffffffe0u, 0, 8);
    sizes(t, 64, 0xffffffffu, 1);
    sizes(t, 64, 0xfffffff8u, 16);
    sizes(t, 64, 8, 0xffffffffu);
    lds(t);
    mutations(t);
    for (size_t k = 0; (t = gfx_target_at(k)); k++)
        instructions(t, k, rounds);
    printf(failures ? "%u failures\n" : "good\n", failures);
    return failures != 0;
}
