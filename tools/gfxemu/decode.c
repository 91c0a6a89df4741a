/* SPDX-License-Identifier: Apache-2.0
 * Instructions from LLVM's disassembler to struct gfx_insn, once for each address. The text is parsed, not the encoding: its
 * names are the same for all generations, except for the synonyms in the tables. Where the text is symbolic (branch distances,
 * hwreg(), swizzle()) the encoding's own immediate is used. */
#include "impl/base/fault.h"
#include "tools/gfxemu/gfx.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>

/* ---- targets ---- */

#define SMALL (64 << 10)
static const struct gfx_target targets[] = {
    { "gfx900", GFX9, 0x2c, false, false, SMALL },    { "gfx906", GFX9, 0x2f, false, false, SMALL },
    { "gfx908", GFX9, 0x30, false, false, SMALL },    { "gfx90a", GFX90A, 0x3f, true, false, SMALL },
    { "gfx942", GFX940, 0x4c, true, true, SMALL },
    { "gfx950", GFX950, 0x4f, true, true, 160 << 10 },
    { "gfx1010", GFX10, 0x33, false, false, SMALL },  { "gfx1030", GFX10, 0x36, false, false, SMALL },
    { "gfx1036", GFX10, 0x45, false, false, SMALL },
    { "gfx1100", GFX11, 0x41, true, true, SMALL },    { "gfx1101", GFX11, 0x46, true, true, SMALL },
    { "gfx1151", GFX11, 0x4a, true, true, SMALL },    { "gfx1200", GFX12, 0x48, true, true, SMALL },
    { "gfx1201", GFX12, 0x4e, true, true, SMALL },
};

const struct gfx_target *
gfx_target_at(size_t i)
{
    return i < sizeof targets / sizeof *targets ? &targets[i] : NULL;
}

const struct gfx_target *
gfx_target_find(const char *name)
{
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, name))
            return &targets[i];
    return NULL;
}

/* ---- names to functions: an open hash ---- */

enum { NAMES = 8192 };
static const struct gfx_row *names[NAMES];

static uint32_t
hash_name(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    while (n--)
        h = (h ^ (uint8_t)*s++) * 16777619u;
    return h;
}

static void
add_rows(const struct gfx_row *r)
{
    for (; r->name; r++) {
        uint32_t h = hash_name(r->name, strlen(r->name)) % NAMES;
        while (names[h])
            h = (h + 1) % NAMES;
        names[h] = r;
    }
}

static void
setup(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    add_rows(gfx_salu);
    add_rows(gfx_salu_float);
    add_rows(gfx_valu_int);
    add_rows(gfx_valu_float);
    add_rows(gfx_minmax);
    add_rows(gfx_valu_media);
    add_rows(gfx_valu_div);
    add_rows(gfx_valu_cvt);
    add_rows(gfx_compare);
    add_rows(gfx_indexed);
    add_rows(gfx_vop3p);
    add_rows(gfx_matrix);
    add_rows(gfx_memory);
    add_rows(gfx_image);
}

static const struct gfx_row *
find_row(const char *name, size_t n)
{
    for (uint32_t h = hash_name(name, n) % NAMES; names[h]; h = (h + 1) % NAMES)
        if (!strncmp(names[h]->name, name, n) && !names[h]->name[n])
            return names[h];
    return NULL;
}

/* ---- code ---- */

typedef _Atomic(struct gfx_insn *) gfx_slot;

struct gfx_code {
    const struct gfx_target *target;
    const uint8_t *bytes;
    uint64_t address;
    size_t size;
    pthread_mutex_t lock;
    LLVMDisasmContextRef llvm[2];               /* wave32, wave64 */
    gfx_slot *_Atomic insns[2];                 /* an instruction for each dword; the array is made at the first use */
};

struct gfx_code *
gfx_code_create(const struct gfx_target *t, const uint8_t *bytes, uint64_t address, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, setup);
    struct gfx_code *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->target = t;
    c->bytes = bytes;
    c->address = address;
    c->size = size & ~(size_t)3;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void
free_insn(struct gfx_insn *i)
{
    if (i) {
        free_insn(i->dual);
        free(i->text);
        free(i);
    }
}

void
gfx_code_destroy(struct gfx_code *c)
{
    if (!c)
        return;
    for (int w = 0; w < 2; w++) {
        for (size_t k = 0; c->insns[w] && k < c->size / 4; k++)
            free_insn(c->insns[w][k]);
        free(c->insns[w]);
        if (c->llvm[w])
            LLVMDisasmDispose(c->llvm[w]);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the text ---- */

static bool
starts(const char **s, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*s, word, n))
        return false;
    *s += n;
    return true;
}

/* v12, v[12:13], s5, ttmp[0:1], a3 ... after its letters. */
static bool
range(const char *s, uint16_t base, uint8_t kind, struct gfx_operand *o)
{
    char *end;
    unsigned long a, b;
    if (*s == '[') {
        a = b = strtoul(s + 1, &end, 10);
        if (*end == ':')
            b = strtoul(end + 1, &end, 10);
        if (*end != ']' || b < a || b - a > 31)
            return false;
        end++;
    } else {
        if (!isdigit((unsigned char)*s))
            return false;
        a = b = strtoul(s, &end, 10);
    }
    if (!strcmp(end, ".h"))
        o->high = 1;
    else if (*end && strcmp(end, ".l"))
        return false;
    if (a + base > 511)
        return false;
    o->kind = kind;
    o->reg = (uint16_t)(base + a);
    o->dwords = (uint8_t)(b - a + 1);
    return true;
}

static const struct { const char *name; uint8_t kind; uint16_t reg; uint8_t dwords; } named[] = {
    { "vcc", GFX_SGPR, S_VCC, 2 }, { "vcc_lo", GFX_SGPR, S_VCC, 1 }, { "vcc_hi", GFX_SGPR, S_VCC + 1, 1 },
    { "exec", GFX_SGPR, S_EXEC, 2 }, { "exec_lo", GFX_SGPR, S_EXEC, 1 }, { "exec_hi", GFX_SGPR, S_EXEC + 1, 1 },
    { "m0", GFX_SGPR, S_M0, 1 }, { "flat_scratch", GFX_SGPR, S_FLAT_SCRATCH, 2 },
    { "flat_scratch_lo", GFX_SGPR, S_FLAT_SCRATCH, 1 }, { "flat_scratch_hi", GFX_SGPR, S_FLAT_SCRATCH + 1, 1 },
    { "xnack_mask", GFX_SGPR, S_XNACK, 2 }, { "xnack_mask_lo", GFX_SGPR, S_XNACK, 1 }, { "xnack_mask_hi", GFX_SGPR, S_XNACK + 1, 1 },
    { "scc", GFX_SCC, 0, 1 }, { "src_scc", GFX_SCC, 0, 1 }, { "null", GFX_NULL, 0, 1 }, { "off", GFX_OFF, 0, 1 },
    { "vccz", GFX_VCCZ, 0, 1 }, { "src_vccz", GFX_VCCZ, 0, 1 }, { "execz", GFX_EXECZ, 0, 1 }, { "src_execz", GFX_EXECZ, 0, 1 },
    { "src_shared_base", GFX_SHARED_BASE, 0, 2 }, { "src_shared_limit", GFX_SHARED_LIMIT, 0, 2 },
    { "src_private_base", GFX_PRIVATE_BASE, 0, 2 }, { "src_private_limit", GFX_PRIVATE_LIMIT, 0, 2 },
    { "src_shared_base_lo", GFX_SHARED_BASE, 0, 2 }, { "src_private_base_lo", GFX_PRIVATE_BASE, 0, 2 },
};

/* All that instructions can name; others are literals, in hexadecimal. Not strtod, whose decimal point is the program's locale's. */
static bool
inline_float(const char *s, double *value)
{
    static const struct { const char *text; double value; } known[] = {
        { "0.5", 0.5 }, { "1.0", 1 }, { "2.0", 2 }, { "4.0", 4 },
        { "0.15915494", 0.15915494309189532 }, { "0.15915494309189532", 0.15915494309189532 },     /* 1 / (2 pi) */
    };
    const bool negative = *s == '-';
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(s + negative, known[i].text)) {
            *value = negative ? -known[i].value : known[i].value;
            return true;
        }
    return false;
}

/* One operand from its text (changed here). False: not an operand of the kinds that occur in registers or constants. */
static bool
operand(char *s, struct gfx_operand *o)
{
    memset(o, 0, sizeof *o);
    size_t n = strlen(s);
    if (*s == '-' && (s[1] == 'v' || s[1] == 's' || s[1] == '|' || s[1] == 'a' || s[1] == 't' || s[1] == 'm' || s[1] == 'e')) {
        o->neg = 1;
        s++, n--;
    }
    for (int again = 1; again;) {
        again = 0;
        const char *prefix[] = { "neg(", "abs(", "sext(" };
        for (int k = 0; k < 3; k++)
            if (!strncmp(s, prefix[k], strlen(prefix[k])) && s[n - 1] == ')') {
                *(k == 0 ? &o->neg : k == 1 ? &o->abs : &o->sext) = 1;
                s[n - 1] = 0;
                s += strlen(prefix[k]);
                n = strlen(s);
                again = 1;
            }
        if (*s == '|' && n > 1 && s[n - 1] == '|') {
            o->abs = 1;
            s[n - 1] = 0;
            s++;
            n = strlen(s);
            again = 1;
        }
    }
    struct gfx_operand keep = *o;
    for (unsigned k = 0; k < sizeof named / sizeof *named; k++)
        if (!strcmp(s, named[k].name)) {
            o->kind = named[k].kind;
            o->reg = named[k].reg;
            o->dwords = named[k].dwords;
            return true;
        }
    if (*s == 'v' && range(s + 1, 0, GFX_VGPR, o))
        return true;
    if (*s == 's' && range(s + 1, 0, GFX_SGPR, o))
        return o->reg + o->dwords <= S_VCC;
    if (*s == 'a' && range(s + 1, V_AGPR, GFX_VGPR, o))
        return true;
    if (!strncmp(s, "ttmp", 4) && range(s + 4, S_TTMP, GFX_SGPR, o))
        return o->reg + o->dwords <= S_TTMP + 16;
    *o = keep;
    char *end;
    if (!strncmp(s, "lit(", 4) && s[n - 1] == ')') {
        s[n - 1] = 0;
        s += 4;
    }
    if (!strncmp(s, "0x", 2) || !strncmp(s, "-0x", 3)) {
        o->kind = GFX_LITERAL;
        o->imm = *s == '-' ? -(int64_t)strtoull(s + 1, &end, 16) : (int64_t)strtoull(s, &end, 16);
        return !*end;
    }
    if (isdigit((unsigned char)*s) || (*s == '-' && isdigit((unsigned char)s[1]))) {
        if (strchr(s, '.')) {
            o->kind = GFX_FLOAT;
            return inline_float(s, &o->real);
        }
        o->kind = GFX_INT;
        o->imm = strtoll(s, &end, 10);
        return !*end;
    }
    return false;
}

static uint8_t
bits_of_list(const char *s, uint32_t *numbers)
{
    uint8_t bits = 0;
    unsigned k = 0;
    if (*s == '[')
        s++;
    for (; *s && *s != ']' && k < 8; k++) {
        unsigned v = (unsigned)strtoul(s, (char **)&s, 0);
        bits |= (uint8_t)((v & 1) << k);
        if (numbers)
            numbers[k] = v;
        if (*s == ',')
            s++;
        else
            break;
    }
    return bits;
}

static uint8_t
sel_of(const char *s)
{
    static const char *const name[] = { "DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1" };
    for (uint8_t k = 0; k < 7; k++)
        if (!strcmp(s, name[k]))
            return k;
    return 0;
}

static uint8_t
dim_of(const char *s)
{
    static const char *const name[] = { "1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY" };
    for (uint8_t k = 0; k < 8; k++)
        if (!strcmp(s, name[k]))
            return 8 + k;
    return 0;
}

/* Words after an image instruction's operands. */
static bool
image_modifier(struct gfx_insn *i, const char *s)
{
    if (starts(&s, "dmask:"))
        i->dmask = (uint8_t)strtoul(s, NULL, 0);
    else if (starts(&s, "dim:SQ_RSRC_IMG_"))
        i->dim = dim_of(s);
    else if (!strcmp(s, "unorm"))
        i->unorm = true;
    else if (!strcmp(s, "da"))
        i->array = true;
    else if (!strcmp(s, "a16"))
        i->a16 = true;
    else if (!strcmp(s, "d16"))
        i->d16 = true;
    else if (!strcmp(s, "tfe") || !strcmp(s, "lwe") || !strcmp(s, "r128"))
        i->tfe = true;
    else
        return false;
    return true;
}

/* A word after the operands. Unknown ones are hints (nt, sc1, slc, dlc, scope:, ...). */
static void
modifier(struct gfx_insn *i, const char *s)
{
    static const struct { const char *prefix; uint8_t kind; } cross[] = {
        { "quad_perm:", DPP_QUAD }, { "row_shl:", DPP_ROW_SHL }, { "row_shr:", DPP_ROW_SHR }, { "row_ror:", DPP_ROW_ROR },
        { "wave_shl:", DPP_WAVE_SHL }, { "wave_rol:", DPP_WAVE_ROL }, { "wave_shr:", DPP_WAVE_SHR }, { "wave_ror:", DPP_WAVE_ROR },
        { "row_mirror", DPP_MIRROR }, { "row_half_mirror", DPP_HALF_MIRROR }, { "row_share:", DPP_ROW_SHARE },
        { "row_xmask:", DPP_ROW_XMASK }, { "row_newbcast:", DPP_NEWBCAST }, { "dpp8:", DPP_8 },
    };
    uint32_t n[8] = { 0 };
    if (i->cls == GFX_C_VMEM && image_modifier(i, s))
        return;
    if (starts(&s, "offset:")) {
        i->offset = *s == 's' ? (int32_t)(i->raw[0] & 0xffff) : (int32_t)strtol(s, NULL, 0);
    } else if (starts(&s, "offset0:")) {
        i->offset = (int32_t)strtol(s, NULL, 0);
    } else if (starts(&s, "offset1:")) {
        i->offset1 = (int32_t)strtol(s, NULL, 0);
    } else if (!strcmp(s, "glc") || !strcmp(s, "sc0") || strstr(s, "TH_ATOMIC_RETURN") || !strcmp(s, "th:TH_ATOMIC_RETURN_NT")) {
        i->glc = 1;
    } else if (!strcmp(s, "offen")) {
        i->offen = 1;
    } else if (!strcmp(s, "idxen")) {
        i->idxen = 1;
    } else if (!strcmp(s, "clamp")) {
        i->clamp = 1;
    } else if (!strcmp(s, "mul:2")) {
        i->omod = 1;
    } else if (!strcmp(s, "mul:4")) {
        i->omod = 2;
    } else if (!strcmp(s, "div:2")) {
        i->omod = 3;
    } else if (starts(&s, "op_sel:")) {
        i->op_sel = bits_of_list(s, NULL);
    } else if (starts(&s, "op_sel_hi:")) {
        i->op_sel_hi = bits_of_list(s, NULL);
        i->has_op_sel_hi = true;
    } else if (starts(&s, "neg_lo:")) {
        i->neg_lo = bits_of_list(s, NULL);
    } else if (starts(&s, "neg:")) {             /* f64 MFMA: a bit a source */
        i->neg_lo = bits_of_list(s, NULL);
    } else if (starts(&s, "neg_hi:")) {
        i->neg_hi = bits_of_list(s, NULL);
    } else if (starts(&s, "row_bcast:")) {
        i->dpp = true;
        i->dpp_kind = atoi(s) == 15 ? DPP_BCAST15 : DPP_BCAST31;
    } else if (starts(&s, "row_mask:")) {
        i->row_mask = (uint8_t)strtoul(s, NULL, 0);
    } else if (starts(&s, "bank_mask:")) {
        i->bank_mask = (uint8_t)strtoul(s, NULL, 0);
    } else if (starts(&s, "bound_ctrl:")) {
        i->bound_ctrl = 1;
    } else if (starts(&s, "dst_sel:")) {
        i->sdwa = true;
        i->dst_sel = sel_of(s);
    } else if (starts(&s, "dst_unused:")) {
        i->dst_unused = !strcmp(s, "UNUSED_SEXT") ? 1 : !strcmp(s, "UNUSED_PRESERVE") ? 2 : 0;
    } else if (starts(&s, "src0_sel:")) {
        i->sdwa = true;
        i->sel[0] = sel_of(s);
    } else if (starts(&s, "src1_sel:")) {
        i->sdwa = true;
        i->sel[1] = sel_of(s);
    } else if (starts(&s, "cbsz:")) {
        i->cbsz = (uint8_t)strtoul(s, NULL, 0);
    } else if (starts(&s, "abid:")) {
        i->abid = (uint8_t)strtoul(s, NULL, 0);
    } else if (starts(&s, "bitop3:")) {
        i->bitop3 = (uint8_t)strtoul(s, NULL, 0);
    } else if (starts(&s, "blgp:")) {
        i->blgp = (uint8_t)strtoul(s, NULL, 0);
    } else {
        for (unsigned k = 0; k < sizeof cross / sizeof *cross; k++)
            if (starts(&s, cross[k].prefix)) {
                i->dpp = true;
                i->dpp_kind = cross[k].kind;
                if (*s == '[') {
                    bits_of_list(s, n);
                    for (unsigned j = 0; j < 8; j++)
                        i->dpp_arg |= (n[j] & 7) << (3 * j);
                } else {
                    i->dpp_arg = (uint32_t)strtoul(s, NULL, 0);
                }
                break;
            }
    }
}

static bool
suffix(const char *name, size_t *n, const char *word)
{
    size_t k = strlen(word);
    if (*n <= k || strncmp(name + *n - k, word, k))
        return false;
    *n -= k;
    return true;
}

/* Registers that need not be consecutive: [v1, v7, v[9:10]]. */
static bool
address_list(struct gfx_insn *i, char *s, struct gfx_operand *o)
{
    struct gfx_operand part;
    size_t n = strlen(s);
    if (n < 2 || *s != '[' || s[n - 1] != ']')
        return false;
    s[n - 1] = 0;
    for (char *next, *p = s + 1; p; p = next) {
        while (*p == ' ')
            p++;
        next = strchr(p, ',');
        if (next)
            *next++ = 0;
        if (!operand(p, &part) || part.kind != GFX_VGPR)
            return false;
        if (!i->naddr)
            *o = part;
        for (unsigned k = 0; k < part.dwords && i->naddr < sizeof i->addr / sizeof *i->addr; k++)
            i->addr[i->naddr++] = (uint16_t)(part.reg + k);
    }
    return true;
}

/* Operands are separated by commas outside of brackets; modifiers follow the last one, separated by blanks. */
static void
take_apart(struct gfx_insn *i, char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strcspn(s, " \t");
    char *rest = s + n;
    size_t bare = n;
    bool e32 = suffix(s, &bare, "_e32");
    if (!e32 && suffix(s, &bare, "_sdwa")) {
        i->sdwa = true;
    } else if (!e32) {
        bool dpp = suffix(s, &bare, "_dpp") || suffix(s, &bare, "_dpp8");
        (void)(suffix(s, &bare, "_e64") || dpp);
        i->dpp = dpp;
    }
    if (i->sdwa) {
        i->sel[0] = i->sel[1] = i->dst_sel = SEL_DWORD;
    }
    i->row_mask = i->bank_mask = 15;
    i->op_sel_hi = 7;
    if (!strncmp(s, "v_dual_", 7)) {            /* a half of VOPD is the instruction itself */
        s += 5;
        bare -= 5;
        s[0] = 'v';
        s[1] = '_';
    }
    const struct gfx_row *row = find_row(s, bare);
    if (row) {
        i->exec = row->exec;
        i->name = row->name;
        i->cls = row->cls;
        i->arg = row->arg;
    }
    char *p = rest;
    while (*p && i->noperands < 6) {
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            return;
        int depth = 0;
        char *e = p;
        for (; *e; e++) {
            if (*e == '[' || *e == '(')
                depth++;
            else if (*e == ']' || *e == ')')
                depth--;
            else if (!depth && (*e == ',' || isspace((unsigned char)*e)))
                break;
        }
        char stop = *e;
        *e = 0;
        if (!operand(p, &i->op[i->noperands]) && !address_list(i, p, &i->op[i->noperands])) {
            /* Not a register or constant: a modifier right after the name (s_waitcnt), or hwreg(...) and the like. */
            if (strchr(p, ':') || !strchr(p, '('))
                modifier(i, p);
            else
                i->op[i->noperands++].kind = GFX_NONE;
        } else {
            i->noperands++;
        }
        p = stop ? e + 1 : e;
        if (stop != ',') {
            char *save = NULL;
            for (char *word = strtok_r(p, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
                /* No modifier contains blanks. */
                modifier(i, word);
            }
            return;
        }
    }
}

static struct gfx_insn *
parse(const char *text, const uint32_t raw[2], unsigned size, uint64_t pc)
{
    struct gfx_insn *i = calloc(1, sizeof *i);
    char *copy = strdup(text), *second = copy ? strstr(copy, " :: ") : NULL;
    if (!i || !copy) {
        free(i);
        free(copy);
        return NULL;
    }
    i->raw[0] = raw[0];
    i->raw[1] = raw[1];
    i->size = (uint8_t)size;
    i->pc = pc;
    while (isspace((unsigned char)*text))
        text++;
    i->text = strdup(text);
    if (second) {
        *second = 0;
        i->dual = parse(second + 4, raw, size, pc);
    }
    take_apart(i, copy);
    gfx_find_reads(i);
    free(copy);
    return i;
}

/* LLVM's disassembler may crash on bytes that no compiler emits (docs/llvm-faults, disassembler). */
struct disassembly {
    LLVMDisasmContextRef llvm;
    uint8_t bytes[20];
    size_t left, size;                          /* size: of the instruction; 0: none */
    uint64_t pc;
    char text[512];
};

static void
disassemble(void *p)
{
    struct disassembly *d = p;
    d->size = LLVMDisasmInstruction(d->llvm, d->bytes, d->left, d->pc, d->text, sizeof d->text);
}

const struct gfx_insn *
gfx_decode(struct gfx_code *c, uint64_t pc, bool wave64, char *error)
{
    uint64_t at = pc - c->address;
    if (at >= c->size || at & 3) {
        snprintf(error, 256, "program counter 0x%llx is outside of the code", (unsigned long long)pc);
        return NULL;
    }
    gfx_slot *insns = atomic_load_explicit(&c->insns[wave64], memory_order_acquire);
    if (insns) {
        struct gfx_insn *i = atomic_load_explicit(&insns[at / 4], memory_order_acquire);
        if (i)
            return i;
    }
    pthread_mutex_lock(&c->lock);
    struct gfx_insn *i = NULL;
    if (!c->insns[wave64])
        c->insns[wave64] = calloc(c->size / 4, sizeof *c->insns[wave64]);
    if (!c->llvm[wave64]) {
        bool choice = c->target->family >= GFX10;
        c->llvm[wave64] = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", c->target->name, !choice ? "" : wave64
            ? "-wavefrontsize32,+wavefrontsize64" : "+wavefrontsize32,-wavefrontsize64", NULL, 0, NULL, NULL);
    }
    if (!c->insns[wave64] || !c->llvm[wave64]) {
        snprintf(error, 256, "the disassembler cannot be set up");
        goto out;
    }
    i = c->insns[wave64][at / 4];
    if (i)
        goto out;
    struct disassembly d = { .llvm = c->llvm[wave64], .pc = pc };
    uintptr_t address;
    d.left = c->size - at < sizeof d.bytes ? c->size - at : sizeof d.bytes;
    memcpy(d.bytes, c->bytes + at, d.left);
    if (!cw_guarded(disassemble, &d, &address)) {
        c->llvm[wave64] = NULL;                 /* left in the middle: a new one for the next instruction */
        d.size = 0;
    }
    uint32_t raw[2];
    memcpy(raw, d.bytes, 8);
    if (!d.size) {
        snprintf(error, 256, "0x%08x 0x%08x at 0x%llx is no instruction of %s", raw[0], raw[1], (unsigned long long)pc, c->target->name);
        goto out;
    }
    i = parse(d.text, raw, (unsigned)d.size, pc);
    if (i)
        atomic_store_explicit(&c->insns[wave64][at / 4], i, memory_order_release);
    else
        snprintf(error, 256, "out of memory");
out:
    pthread_mutex_unlock(&c->lock);
    return i;
}
