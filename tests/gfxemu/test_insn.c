/* SPDX-License-Identifier: Apache-2.0
 * test_insn ARCH NAMES-OUT TABLE...: single instructions, assembled by LLVM, on the interpreter, against the results in text files.
 * test_insn --count MINIMUM NAMES...: how many of the interpreter's opcodes that were; fewer than MINIMUM fail, and 0 lists the
 * others.
 *
 * A file has blocks of
 *     op TARGETS INSTRUCTION          TARGETS: commas between all, 9, 90a, 942, 950, 10, 11, 12; 10+ and the like
 *     io COLUMN... -> COLUMN...       what is set before, and looked at after
 *     VALUE... -> VALUE...            hexadecimal; as many lines as there are cases
 * Columns: v1, v1:2 (a pair), v1@3 (of lane 3; otherwise of all lanes), v0.l and v0.h (halves), s4, s4:2, m8 (a lane mask), vcc, exec, scc, m0, mode;
 * pc (bytes from the next instruction to where it goes on);
 * g2, g2:2, l2, l2:2, p2 (dwords of a buffer, of LDS, of lane 0's scratch, whose bytes are 0x7d, 0x7e, ... before). v[30:31] and s[20:21] hold
 * the buffer's address, s[24:27] its descriptor of 256 bytes. To image instructions it is 16 texels of 4 unsigned bytes, a row of two dimensions in
 * s[32:39], and the same as elements in s[44:47]; s[40:43] is a sampler of points by texel coordinates, clamped.
 * Values may be `lane` (each lane's number) and `all` (of a mask: every lane). In instructions $vcc and $m8 stand for lane masks.
 */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

#include <ctype.h>
#include <llvm-c/Core.h>
#include <llvm-c/Object.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_COLUMNS = 48, MAX_OPS = 4096, MAX_LINE = 1024 };

struct column {
    char kind;                  /* v s m c e x 0 d n g l p: vector, scalar, mask, vcc, exec, scc, m0, mode, pc, memory */
    char half;                  /* 'l', 'h' or 0 */
    uint8_t dwords;
    uint16_t reg;
    int lane;                   /* -1: all */
};

struct op {
    const char *file;
    unsigned line, nin, nout;
    char text[256];
    struct column column[MAX_COLUMNS];
    unsigned ncases;
    char **cases;               /* lines */
    unsigned *case_line;
    uint64_t address;
    bool found;
};

static const struct gfx_target *target;
static struct op ops[MAX_OPS];
static unsigned nops, failures, cases;
static bool wave64;
static struct gfx_wave wave, before;
enum { BUFFER = 64, LDS = 2048, SCRATCH = 64 };     /* dwords */
static _Alignas(256) uint32_t buffer[BUFFER], lds[LDS], scratch[64 * SCRATCH];
static uint8_t lds_written[4 * LDS];

static void
complain(const char *file, unsigned line, const char *what, const char *text)
{
    printf("%s:%u: %s%s%s\n", file, line, what, text ? ": " : "", text ? text : "");
    failures++;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static bool
is_for(const char *list)
{
    static const char *const names[] = { "9", "90a", "942", "950", "10", "11", "12" };
    unsigned mine = (unsigned)target->family;
    char copy[64], *save = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *t = strtok_r(copy, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        size_t n = strlen(t);
        bool up = n && t[n - 1] == '+';
        if (up)
            t[n - 1] = 0;
        if (!strcmp(t, "all") || !strcmp(t, target->name))
            return true;
        if (target->family == GFX950 && !strcmp(t, "942"))      /* it has them all, and more */
            return true;
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if (!strcmp(t, names[i]) && (up ? mine >= i : mine == i))
                return true;
    }
    return false;
}

static bool
read_column(const char *s, struct column *c)
{
    char *end;
    *c = (struct column){ .lane = -1, .dwords = 1 };
    if (!strcmp(s, "vcc") || !strcmp(s, "exec") || !strcmp(s, "scc") || !strcmp(s, "m0") || !strcmp(s, "mode") ||
        !strcmp(s, "pc")) {
        c->kind = *s == 'p' ? 'n' : *s == 'v' ? 'c' : *s == 'e' ? 'e' : *s == 's' ? 'x' : s[1] == '0' ? '0' : 'd';
        return true;
    }
    if (!strchr("vsmglp", *s))
        return false;
    c->kind = *s;
    c->reg = (uint16_t)strtoul(s + 1, &end, 10);
    if (end == s + 1)
        return false;
    if (*end == ':')
        c->dwords = (uint8_t)strtoul(end + 1, &end, 10);
    if (*end == '.')
        c->half = end[1], end += 2;
    if (*end == '@')
        c->lane = (int)strtol(end + 1, &end, 10);
    return !*end && c->dwords >= 1 && c->dwords <= 2;
}

/* Registers' names by the size of waves. */
static void
set_text(struct op *o, const char *s)
{
    size_t n = 0;
    for (; *s && *s != '\n' && n < sizeof o->text - 16; s++) {
        if (!strncmp(s, "$vcc", 4)) {
            n += (size_t)snprintf(o->text + n, 16, "%s", wave64 ? "vcc" : "vcc_lo");
            s += 3;
        } else if (!strncmp(s, "$m", 2)) {
            unsigned r = (unsigned)strtoul(s + 2, NULL, 10);
            n += (size_t)snprintf(o->text + n, 16, wave64 ? "s[%u:%u]" : "s%u", r, r + 1);
            for (s += 1; isdigit((unsigned char)s[1]); s++)
                ;
        } else {
            o->text[n++] = *s;
        }
    }
    o->text[n] = 0;
}

static void
read_io(struct op *o, char *s, unsigned line)
{
    char *save = NULL;
    bool out = false;
    for (char *t = strtok_r(s, " \n", &save); t; t = strtok_r(NULL, " \n", &save)) {
        if (!strcmp(t, "->")) {
            out = true;
        } else if (o->nin + o->nout >= MAX_COLUMNS || !read_column(t, &o->column[o->nin + o->nout])) {
            complain(o->file, line, "no such column", t);
        } else {
            *(out ? &o->nout : &o->nin) += 1;
        }
    }
}

static void
read_table(const char *name)
{
    FILE *f = fopen(name, "r");
    char line[MAX_LINE], list[64];
    struct op *o = NULL;
    int at;
    if (!f) {
        complain(name, 0, "cannot be read", NULL);
        return;
    }
    for (unsigned n = 1; fgets(line, sizeof line, f); n++) {
        char *s = line;
        while (isspace((unsigned char)*s))
            s++;
        if (!*s || *s == '#')
            continue;
        if (sscanf(s, "op %63s %n", list, &at) == 1) {
            o = NULL;
            if (!is_for(list))
                continue;
            if (nops == MAX_OPS) {
                complain(name, n, "too many instructions", NULL);
                break;
            }
            o = &ops[nops++];
            *o = (struct op){ .file = name, .line = n };
            set_text(o, s + at);
        } else if (o && !strncmp(s, "io ", 3)) {
            read_io(o, s + 3, n);
        } else if (o) {
            o->cases = realloc(o->cases, (o->ncases + 1) * sizeof *o->cases);
            o->case_line = realloc(o->case_line, (o->ncases + 1) * sizeof *o->case_line);
            if (!o->cases || !o->case_line)
                exit(2);
            o->cases[o->ncases] = strdup(s);
            o->case_line[o->ncases++] = n;
        }
    }
    fclose(f);
}

/* ---- assembling -------------------------------------------------------------------------------------------------------------- */

static void
diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    char *s = LLVMGetDiagInfoDescription(info);
    (void)user;
    complain("assembler", 0, s, NULL);
    LLVMDisposeMessage(s);
}

static LLVMMemoryBufferRef
assemble(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMContextRef c = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(c, diagnostic, NULL);
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("insn", c);
    LLVMTargetRef t;
    LLVMMemoryBufferRef out = NULL;
    char *error = NULL, label[32];
    LLVMSetTarget(m, "amdgcn-amd-amdhsa");
    for (unsigned i = 0; i < nops; i++) {
        int n = snprintf(label, sizeof label, "t%u: ", i);
        LLVMAppendModuleInlineAsm(m, label, (size_t)n);
        LLVMAppendModuleInlineAsm(m, ops[i].text, strlen(ops[i].text));
        LLVMAppendModuleInlineAsm(m, "\n", 1);
    }
    if (LLVMGetTargetFromTriple("amdgcn-amd-amdhsa", &t, &error)) {
        complain("assembler", 0, error, NULL);
        return NULL;
    }
    const char *features = target->family < GFX10 ? "" : "+wavefrontsize32,-wavefrontsize64";
    LLVMTargetMachineRef tm = LLVMCreateTargetMachine(t, "amdgcn-amd-amdhsa", target->name, features, LLVMCodeGenLevelNone, LLVMRelocPIC,
                                                      LLVMCodeModelDefault);
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, m, LLVMObjectFile, &error, &out))
        complain("assembler", 0, error, NULL);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    return out;
}

/* The instructions' bytes, and where each is. */
static uint8_t *
find_code(LLVMMemoryBufferRef object, size_t *size)
{
    char *error = NULL;
    uint8_t *code = NULL;
    LLVMBinaryRef b = LLVMCreateBinary(object, NULL, &error);
    if (!b)
        return NULL;
    LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(b);
    for (; !LLVMObjectFileIsSectionIteratorAtEnd(b, s); LLVMMoveToNextSection(s)) {
        const char *name = LLVMGetSectionName(s);
        if (name && !strcmp(name, ".text")) {
            *size = LLVMGetSectionSize(s);
            code = malloc(*size + 64);
            if (code) {
                memset(code, 0, *size + 64);
                memcpy(code, LLVMGetSectionContents(s), *size);
            }
        }
    }
    LLVMDisposeSectionIterator(s);
    LLVMSymbolIteratorRef y = LLVMObjectFileCopySymbolIterator(b);
    for (; !LLVMObjectFileIsSymbolIteratorAtEnd(b, y); LLVMMoveToNextSymbol(y)) {
        const char *name = LLVMGetSymbolName(y);
        unsigned n;
        if (name && sscanf(name, "t%u", &n) == 1 && n < nops) {
            ops[n].address = LLVMGetSymbolAddress(y);
            ops[n].found = true;
        }
    }
    LLVMDisposeSymbolIterator(y);
    LLVMDisposeBinary(b);
    return code;
}

/* ---- executing ------------------------------------------------------------------------------------------------------------------- */

static void
set_mask(uint32_t *s, const char *text)
{
    uint64_t v = !strcmp(text, "all") ? ~0ull : strtoull(text, NULL, 16);
    s[0] = (uint32_t)v;
    if (wave64)
        s[1] = (uint32_t)(v >> 32);
}

static uint32_t *
memory_of(const struct column *c)
{
    return (c->kind == 'g' ? buffer : c->kind == 'l' ? lds : scratch) + c->reg;
}

static void
reset_memory(void)
{
    uint8_t *b = (uint8_t *)buffer, *l = (uint8_t *)lds, *s = (uint8_t *)scratch;
    for (unsigned i = 0; i < sizeof lds; i++) {
        l[i] = (uint8_t)(0x7d + i);
        if (i < sizeof buffer)
            b[i] = l[i];
        for (unsigned k = 0; k < 64 && i < 4 * SCRATCH; k++)
            s[4 * SCRATCH * k + i] = l[i];
    }
}

/* Of the buffer, from the ISA documents: 8_8_8_8_UINT, 16 x 1 texels, rows of 64. */
static void
set_image(uint32_t *s, uint64_t address)
{
    enum { WIDTH = 16, PITCH = 64 };
    uint32_t *m = s + 32, *sampler = s + 40, *elements = s + 44, select = 4 | 5 << 3 | 6 << 6 | 7 << 9, high = (uint32_t)(address >> 40);
    memset(m, 0, 16 * sizeof *m);
    m[0] = (uint32_t)(address >> 8);
    m[3] = select | 9u << 28;           /* 2D */
    elements[0] = (uint32_t)address;
    elements[1] = (uint32_t)(address >> 32) | 4 << 16;
    elements[2] = WIDTH;
    if (target->family < GFX10) {
        m[1] = high | 10 << 20 | 4 << 26;
        m[2] = WIDTH - 1;
        m[4] = (PITCH - 1) << 13;
        elements[2] *= 4;               /* bytes */
        elements[3] = select | 4 << 12 | 10 << 15;
    } else {
        uint32_t format = target->family == GFX10 ? 60 : 46;
        m[1] = high | format << (target->family == GFX12 ? 17 : 20) | ((WIDTH - 1) & 3u) << 30;
        m[2] = (WIDTH - 1) >> 2;
        m[4] = PITCH - 1;
        elements[3] = select | format << 12;
    }
    sampler[0] = 2 | 2 << 3 | 2 << 6 | 1 << 15 | 1 << 27;
    sampler[1] = 0xfff << 12;
}

static void
set_column(const struct column *c, const char *text)
{
    uint64_t v = strtoull(text, NULL, 16);
    switch (c->kind) {
    case 'v':
        for (unsigned l = 0; l < wave.lanes; l++)
            for (unsigned d = 0; d < c->dwords; d++)
                if (c->lane < 0 || (unsigned)c->lane == l)
                    wave.v[c->reg + d][l] = !strcmp(text, "lane") ? l : (uint32_t)(v >> 32 * d);
        break;
    case 's':
        for (unsigned d = 0; d < c->dwords; d++)
            wave.s[c->reg + d] = (uint32_t)(v >> 32 * d);
        break;
    case 'g': case 'l': case 'p':
        memcpy(memory_of(c), &v, 4 * c->dwords);
        break;
    case 'm': set_mask(&wave.s[c->reg], text); break;
    case 'c': set_mask(&wave.s[S_VCC], text); break;
    case 'e': set_mask(&wave.s[S_EXEC], text); break;
    case 'x': wave.scc = (uint32_t)v; break;
    case '0': wave.s[S_M0] = (uint32_t)v; break;
    case 'd': wave.mode = (uint32_t)v; break;
    default: break;
    }
}

static uint64_t
get_column(const struct column *c, unsigned lane)
{
    uint64_t all = wave64 ? ~0ull : 0xffffffffull;
    uint64_t v = 0;
    switch (c->kind) {
    case 'v':
        for (unsigned d = 0; d < c->dwords; d++)
            v |= (uint64_t)wave.v[c->reg + d][lane] << 32 * d;
        return c->half == 'l' ? v & 0xffff : c->half == 'h' ? v >> 16 : v;
    case 's':
        for (unsigned d = 0; d < c->dwords; d++)
            v |= (uint64_t)wave.s[c->reg + d] << 32 * d;
        return v;
    case 'g': case 'l': case 'p':
        memcpy(&v, memory_of(c), 4 * c->dwords);
        return v;
    case 'm': return (wave.s[c->reg] | (uint64_t)wave.s[c->reg + 1] << 32) & all;
    case 'c': return (wave.s[S_VCC] | (uint64_t)wave.s[S_VCC + 1] << 32) & all;
    case 'e': return (wave.s[S_EXEC] | (uint64_t)wave.s[S_EXEC + 1] << 32) & all;
    case 'x': return wave.scc;
    case '0': return wave.s[S_M0];
    case 'd': return wave.mode;
    case 'n': return wave.next_pc - wave.pc;
    default: return 0;
    }
}

static void
check_column(const struct op *o, unsigned n, const struct column *c, const char *text)
{
    uint64_t all = wave64 ? ~0ull : 0xffffffffull, want = !strcmp(text, "all") ? all : strtoull(text, NULL, 16);
    unsigned first = c->lane < 0 ? 0 : (unsigned)c->lane, last = c->kind == 'v' && c->lane < 0 ? wave.lanes : first + 1;
    for (unsigned l = first; l < last; l++) {
        uint64_t v = get_column(c, l), expected = !strcmp(text, "lane") ? l : want;
        if (v != expected) {
            printf("%s:%u: %s: %s (lane %u): got %llx, expected %llx\n", o->file, o->case_line[n], target->name, o->text, l,
                   (unsigned long long)v, (unsigned long long)expected);
            failures++;
            return;
        }
    }
}

static void
run_case(struct op *o, unsigned n, const struct gfx_insn *i)
{
    char line[MAX_LINE], *save = NULL, *word[MAX_COLUMNS + 1];
    unsigned words = 0, k = 0;
    snprintf(line, sizeof line, "%s", o->cases[n]);
    for (char *t = strtok_r(line, " \n", &save); t && words <= MAX_COLUMNS; t = strtok_r(NULL, " \n", &save))
        if (strcmp(t, "->"))
            word[words++] = t;
    if (words != o->nin + o->nout) {
        complain(o->file, o->case_line[n], "this many values do not fit the columns", o->cases[n]);
        return;
    }
    memcpy(&wave, &before, sizeof wave);
    reset_memory();
    for (; k < o->nin; k++)
        set_column(&o->column[k], word[k]);
    wave.pc = wave.next_pc = i->pc + i->size;
    if (i->dual)
        gfx_step_dual(&wave, i);
    else
        i->exec(&wave, i);
    if (wave.state == WAVE_FAULT)
        complain(o->file, o->case_line[n], "fault", o->text);
    for (; k < words; k++)
        check_column(o, n, &o->column[k], word[k]);
    cases++;
}

static void
run_op(struct op *o, struct gfx_code *code, uint64_t base)
{
    char error[256];
    const struct gfx_insn *i = o->found ? gfx_decode(code, base + o->address, wave64, error) : NULL;
    if (!o->ncases)
        complain(o->file, o->line, "has no cases", o->text);
    if (!i || !i->exec || (i->dual && !i->dual->exec)) {
        complain(o->file, o->line, i ? "is not known to the interpreter" : "is no instruction", o->text);
        return;
    }
    for (unsigned n = 0; n < o->ncases; n++)
        run_case(o, n, i);
}

/* ---- how many opcodes ------------------------------------------------------------------------------------------------------------------ */

/* The names of those that had a case. */
static void
write_names(const char *path, struct gfx_code *code, uint64_t base)
{
    FILE *f = fopen(path, "w");
    char error[256];
    for (unsigned k = 0; f && k < nops; k++) {
        const struct gfx_insn *i = ops[k].found && ops[k].ncases ? gfx_decode(code, base + ops[k].address, wave64, error) : NULL;
        for (; i; i = i->dual)
            if (i->name)
                fprintf(f, "%s\n", i->name);
    }
    if (f)
        fclose(f);
}

static bool
is_named(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* A name counts once, in whatever tables it is. */
static int
count(unsigned minimum, int nfiles, char **files)
{
    static const struct { const char *what; const struct gfx_row *rows; } tables[] = {
        { "scalar", gfx_salu }, { "scalar float", gfx_salu_float }, { "vector integer", gfx_valu_int }, { "vector float", gfx_valu_float },
        { "minimum", gfx_minmax }, { "media", gfx_valu_media }, { "division", gfx_valu_div }, { "conversion", gfx_valu_cvt }, { "comparison", gfx_compare }, { "packed", gfx_vop3p },
        { "memory", gfx_memory }, { "images", gfx_image }, { "indexed", gfx_indexed },
    };    /* matrix ones: test_matrix.c */
    static char *names[65536];
    size_t n = 0;
    unsigned all = 0, tested = 0;
    char line[128];
    for (int i = 0; i < nfiles; i++) {
        FILE *f = fopen(files[i], "r");
        while (f && n < 65536 && fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            if (!is_named(names, n, line))
                names[n++] = strdup(line);
        }
        if (f)
            fclose(f);
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        unsigned here = 0, of = 0;
        for (const struct gfx_row *r = tables[t].rows; r->name; r++) {
            bool again = false;
            for (const struct gfx_row *q = tables[t].rows; q < r && !again; q++)
                again = !strcmp(q->name, r->name);
            of += !again;
            bool named = is_named(names, n, r->name);
            here += !again && named;
            if (!minimum && !again && !named)
                printf("%s has no test\n", r->name);
        }
        printf("%s: %u of %u opcodes have a test\n", tables[t].what, here, of);
        all += of;
        tested += here;
    }
    printf("all: %u of %u opcodes have a test\n", tested, all);
    if (tested < minimum)
        printf("they were %u\n", minimum);
    return tested < minimum;
}

int
main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "--count"))
        return count((unsigned)strtoul(argv[2], NULL, 10), argc - 3, argv + 3);
    target = argc > 3 ? gfx_target_find(argv[1]) : NULL;
    if (!target) {
        printf("usage: test_insn ARCH NAMES-OUT TABLE...\n");
        return 2;
    }
    wave64 = target->family < GFX10;
    for (int i = 3; i < argc; i++)
        read_table(argv[i]);
    LLVMMemoryBufferRef object = assemble();
    size_t size = 0;
    uint8_t *bytes = object && !failures ? find_code(object, &size) : NULL;
    if (!bytes) {
        printf("%s: nothing was assembled\n", argv[1]);
        return 1;
    }
    struct gfx_code *code = gfx_code_create(target, bytes, (uintptr_t)bytes, size);
    static struct gfx_group group;
    group.target = target;
    group.lds = (uint8_t *)lds;
    group.lds_size = sizeof lds;
    group.lds_written = lds_written;
    gfx_range_add((uintptr_t)buffer, sizeof buffer);
    before.lanes = wave64 ? 64 : 32;
    before.group = &group;
    before.mode = 0x3f0;        /* denormals, clamping of NaN, IEEE: what a kernel starts with */
    memset(before.v, 0xa5, sizeof before.v);
    for (unsigned r = 0; r < S_COUNT; r++)
        before.s[r] = 0x5a5a5a5au;
    before.s[S_EXEC] = before.s[S_EXEC + 1] = ~0u;
    if (!wave64)
        before.s[S_EXEC + 1] = 0;
    uint64_t address = (uintptr_t)buffer;
    for (unsigned d = 0; d < 2; d++) {
        before.s[20 + d] = before.s[24 + d] = (uint32_t)(address >> 32 * d);
        for (unsigned l = 0; l < 64; l++)
            before.v[30 + d][l] = (uint32_t)(address >> 32 * d);
    }
    set_image(before.s, address);
    before.s[26] = sizeof buffer;
    before.s[27] = target->family < GFX10 ? 0x27000 : 0x31004000;
    before.scratch = (uint8_t *)scratch;
    before.scratch_size = 4 * SCRATCH;
    for (unsigned k = 0; k < nops; k++)
        run_op(&ops[k], code, (uintptr_t)bytes);
    write_names(argv[2], code, (uintptr_t)bytes);
    printf("%s: %u instructions, %u cases, %u failures\n", argv[1], nops, cases, failures);
    gfx_code_destroy(code);
    free(bytes);
    LLVMDisposeMemoryBuffer(object);
    return failures != 0;
}
