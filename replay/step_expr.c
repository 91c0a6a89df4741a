/* SPDX-License-Identifier: Apache-2.0
 * Expressions of --step, in the manner of C: registers and special registers by their PTX names, parameters, variables (their addresses), numbers, and
 * memory as TYPE[ADDRESS] or SPACE.TYPE[ADDRESS]. Integers have 128 bits. */
#include "replay/step_private.h"

#include "replay/compare.h"
#include "replay/trace.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 unsigned_wide;

enum { DEEPEST = 100 };

#define UNWRITTEN "nothing has written "
#define UNKNOWN "what is at "

struct parser {
    struct cws *s;
    const struct cws_cursor *at;
    const char *p;
    char *why;
    size_t size;
    unsigned depth;
};

static bool __attribute__((format(printf, 2, 3)))
wrong(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (p->size && !*p->why)
        vsnprintf(p->why, p->size, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- names ------------------------------------------------------------------------------------------------------------------- */

enum ptx_type
cws_type_named(const char *name, size_t size)
{
    for (unsigned t = PTX_PRED + 1; t < PTX_TEXREF; t++)
        if (strlen(ptx_type_name((ptx_type)t)) == size && !memcmp(ptx_type_name((ptx_type)t), name, size) && ptx_type_bits((ptx_type)t) >= 8)
            return (ptx_type)t;
    return PTX_NONE;
}

enum cwi_where
cws_space_named(const char *name, size_t size)
{
    static const struct { const char *name; enum cwi_where space; } all[] = { { "global", CWI_GLOBAL }, { "shared", CWI_SHARED_MEMORY }, { "local", CWI_LOCAL } };
    for (unsigned i = 0; i < 3; i++)
        if (strlen(all[i].name) == size && !memcmp(all[i].name, name, size))
            return all[i].space;
    return CWI_NOWHERE;
}

uint32_t
cws_find_register(const struct ptx_function *fn, const char *name, size_t size)
{
    for (uint32_t i = 0; i < fn->nregs; i++)
        if (strlen(fn->regs[i].name) == size && !memcmp(fn->regs[i].name, name, size))
            return i;
    return CWS_NONE;
}

bool
cws_named_register(struct cws *s, const struct cws_cursor *at, uint32_t reg, struct cws_bits *bits, unsigned *type)
{
    const struct cws_thread *t = cws_thread(s, at->thread);
    if (!t || !cws_register(s, at->thread, at->frame, at->step, reg, bits))
        return false;
    *type = t->frames[at->frame].fn->regs[reg].type;
    if (bits->writer != CWS_NONE)
        *type = cwt_type(&s->side.program.insts[bits->writer], reg, true);
    if (ptx_type_class((ptx_type)*type) == PTX_CLASS_BITS)
        *type = cws_used_as(s, t->frames[at->frame].fn, reg);
    return true;
}

static size_t
word(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' || (!n && p[n] == '%'))
        n++;
    return n;
}

static void
plain(struct cws_result *out, wide i)
{
    *out = (struct cws_result){ .type = PTX_NONE, .i = i };
}

static double
half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

/* A number from the bits of a type. */
static void
typed(struct cws_result *out, uint64_t low, uint64_t high, unsigned type)
{
    unsigned bits = ptx_type_bits((ptx_type)type);
    uint32_t b32 = (uint32_t)low;
    float f;
    if (bits < 64)
        low &= (1ull << bits) - 1;
    *out = (struct cws_result){ .type = (ptx_type)type, .low = low, .high = high, .i = low };
    out->is_float = type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_BF16;
    if (type == PTX_F64)
        memcpy(&out->f, &low, sizeof out->f);
    if (type == PTX_BF16)
        b32 <<= 16;
    memcpy(&f, &b32, sizeof f);
    if (type == PTX_F32 || type == PTX_BF16)
        out->f = (double)f;
    if (type == PTX_F16)
        out->f = half((uint16_t)low);
    if (ptx_type_class((ptx_type)type) == PTX_CLASS_SINT && bits <= 64)
        out->i = (int64_t)(low << (64 - bits)) >> (64 - bits);
    if (bits == 128)
        out->i = (wide)((unsigned_wide)high << 64 | low);
}

/* ---- what is named ------------------------------------------------------------------------------------------------------------- */

static bool
special(struct parser *p, const char *name, size_t size, struct cws_result *out)
{
    const struct cwd_dump *d = &p->s->side.dump;
    const uint32_t *b = d->block, *g = d->grid, t = p->at->thread;
    uint64_t block = p->s->block;
    const struct { const char *name; uint64_t value; } all[] = {
        { "%tid.x", t % b[0] }, { "%tid.y", t / b[0] % b[1] }, { "%tid.z", t / b[0] / b[1] },
        { "%ntid.x", b[0] }, { "%ntid.y", b[1] }, { "%ntid.z", b[2] },
        { "%ctaid.x", block % g[0] }, { "%ctaid.y", block / g[0] % g[1] }, { "%ctaid.z", block / g[0] / g[1] },
        { "%nctaid.x", g[0] }, { "%nctaid.y", g[1] }, { "%nctaid.z", g[2] },
        { "%laneid", t % 32 }, { "%warpid", t / 32 },
    };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == size && !memcmp(all[i].name, name, size)) {
            typed(out, all[i].value, 0, PTX_U32);
            return true;
        }
    return false;
}

static bool
symbol(struct parser *p, const char *name, size_t size, struct cws_result *out, bool *found)
{
    const struct cws_thread *t = cws_thread(p->s, p->at->thread);
    const struct cws_frame *f = t && p->at->frame < t->nframes ? &t->frames[p->at->frame] : NULL;
    const struct cwd_dump *d = &p->s->side.dump;
    const struct ptx_symbol *x;
    *found = true;
    for (uint32_t i = 0; f && f->fn->is_entry && i < f->fn->nparams; i++) {
        x = f->fn->params[i];
        if (strlen(x->name) != size || memcmp(x->name, name, size) || x->offset >= d->param_size)
            continue;
        uint64_t bits = 0;
        unsigned bytes = ptx_type_bits((ptx_type)x->type) / 8;
        if (x->is_array || bytes > 8)
            return wrong(p, "%s is an aggregate of %llu bytes", x->name, (unsigned long long)x->size);
        memcpy(&bits, d->param_block + x->offset, d->param_size - x->offset < bytes ? d->param_size - x->offset : bytes);
        typed(out, bits, 0, x->type);
        return true;
    }
    for (unsigned i = 0; f && (x = cwi_step_symbol(f->fn, i)); i++) {
        if (strlen(x->name) != size || memcmp(x->name, name, size))
            continue;
        if (!f->symbol || f->symbol[i] == UINT64_MAX)
            return wrong(p, "the address of %s is not in the record", x->name);
        typed(out, f->symbol[i], 0, PTX_U64);
        out->space = x->space == PTX_SPACE_SHARED ? CWI_SHARED_MEMORY : CWI_LOCAL;
        out->variable = x;
        return true;
    }
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        if (!d->buffers[i].name || strlen(d->buffers[i].name) != size || memcmp(d->buffers[i].name, name, size))
            continue;
        typed(out, d->buffers[i].address, 0, PTX_U64);
        out->space = CWI_GLOBAL;
        for (uint32_t m = 0; m < p->s->side.program.ntexts; m++)
            for (uint32_t k = 0; k < p->s->side.program.modules[m]->nvars; k++)
                if (!strcmp(p->s->side.program.modules[m]->vars[k]->name, d->buffers[i].name))
                    out->variable = p->s->side.program.modules[m]->vars[k];
        return true;
    }
    *found = false;
    return false;
}

static bool expression(struct parser *p, unsigned level, struct cws_result *out);

static void
blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->p))
        p->p++;
}

static bool
follows(struct parser *p, char c)
{
    blanks(p);
    if (*p->p != c)
        return false;
    p->p++;
    return true;
}

/* TYPE[ADDRESS] */
static bool
memory(struct parser *p, unsigned type, enum cwi_where space, struct cws_result *out)
{
    struct cws_result a;
    uint8_t bytes[16];
    bool known[16];
    uint64_t low = 0, high = 0;
    unsigned n = ptx_type_bits((ptx_type)type) / 8;
    p->p++;
    if (!expression(p, 0, &a))
        return false;
    if (!follows(p, ']'))
        return wrong(p, "there is no ] behind the address");
    if (a.is_float)
        return wrong(p, "the address is a float");
    space = space != CWI_NOWHERE ? space : a.space != CWI_NOWHERE ? a.space : CWI_GLOBAL;
    uint64_t address = cws_place_of(p->s, space, (uint64_t)a.i);
    cws_memory(p->s, space, p->at->thread, address, n, cws_time(p->s, p->at->thread, p->at->step), bytes, known);
    for (unsigned i = 0; i < n; i++) {
        if (!known[i]) {
            return wrong(p, UNKNOWN "0x%llx is not known", (unsigned long long)address);
        }
        *(i < 8 ? &low : &high) |= (uint64_t)bytes[i] << 8 * (i % 8);
    }
    typed(out, low, high, type);
    return true;
}

static bool
number(struct parser *p, struct cws_result *out)
{
    char *end, hex[17] = "";
    uint64_t bits;
    if (p->p[0] == '0' && (p->p[1] == 'f' || p->p[1] == 'F' || p->p[1] == 'd' || p->p[1] == 'D')) {     /* PTX's exact floats */
        bool is_double = tolower((unsigned char)p->p[1]) == 'd';
        size_t n = 0, want = is_double ? 16 : 8;
        while (n < want && isxdigit((unsigned char)p->p[2 + n])) {
            hex[n] = p->p[2 + n];
            n++;
        }
        if (n != want)
            return wrong(p, "%.12s is no number", p->p);
        p->p += 2 + n;
        typed(out, strtoull(hex, NULL, 16), 0, is_double ? PTX_F64 : PTX_F32);
        return true;
    }
    errno = 0;
    bits = strtoull(p->p, &end, 0);
    if (!errno && end > p->p && *end != '.' && *end != 'e' && *end != 'E' && !isalnum((unsigned char)*end)) {
        p->p = end;
        plain(out, (wide)bits);
        return true;
    }
    *out = (struct cws_result){ .is_float = true, .f = strtod(p->p, &end) };
    if (end == p->p || isalnum((unsigned char)*end))
        return wrong(p, "%.12s is no number", p->p);
    p->p = end;
    return true;
}

static bool
name(struct parser *p, struct cws_result *out)
{
    const struct cws_thread *t = cws_thread(p->s, p->at->thread);
    const struct ptx_function *fn = t && p->at->frame < t->nframes ? t->frames[p->at->frame].fn : NULL;
    const char *at = p->p;
    size_t n = word(at), type_size;
    struct cws_bits bits;
    unsigned type;
    bool found;
    enum cwi_where space = cws_space_named(at, n);
    if (space != CWI_NOWHERE && at[n] == '.') {
        type_size = word(at + n + 1);
        type = cws_type_named(at + n + 1, type_size);
        if (type == PTX_NONE || at[n + 1 + type_size] != '[')
            return wrong(p, "SPACE.TYPE[ADDRESS] is meant: shared.f32[%%r1]");
        p->p += n + 1 + type_size;
        return memory(p, type, space, out);
    }
    type = cws_type_named(at, n);
    if (type != PTX_NONE && at[n] == '[') {
        p->p += n;
        return memory(p, type, CWI_NOWHERE, out);
    }
    if (*at == '%' && at[n] == '.' && isalpha((unsigned char)at[n + 1]))
        n += 1 + word(at + n + 1);
    p->p += n;
    if (special(p, at, n, out))
        return true;
    uint32_t reg = fn ? cws_find_register(fn, at, n) : CWS_NONE;
    if (reg != CWS_NONE) {
        if (!cws_named_register(p->s, p->at, reg, &bits, &type)) {
            return wrong(p, UNWRITTEN "%.*s here", (int)n, at);
        }
        typed(out, bits.low, bits.high, type);
        return true;
    }
    if (symbol(p, at, n, out, &found) || found)
        return found && !*p->why;
    return wrong(p, "%s has no register, parameter or variable %.*s", fn ? fn->sym->name : "the kernel", (int)(n < 80 ? n : 80), at);
}

static bool
primary(struct parser *p, struct cws_result *out)
{
    blanks(p);
    if (++p->depth > DEEPEST)
        return wrong(p, "the expression is too deep");
    char c = *p->p;
    bool ok;
    if (c == '(') {
        p->p++;
        ok = expression(p, 0, out);
        if (ok && !follows(p, ')'))
            ok = wrong(p, "there is no )");
    } else if (c == '-' || c == '!' || c == '~') {
        p->p++;
        ok = primary(p, out);
        if (ok && out->is_float && c == '~')
            ok = wrong(p, "~ takes an integer");
        else if (ok && out->is_float && c == '-')
            *out = (struct cws_result){ .is_float = true, .f = -out->f };
        else if (ok)
            plain(out, c == '-' ? -out->i : c == '~' ? ~out->i : out->is_float ? !out->f : !out->i);
    } else if (isdigit((unsigned char)c) || c == '.') {
        ok = number(p, out);
    } else if (isalpha((unsigned char)c) || c == '_' || c == '%' || c == '$') {
        ok = name(p, out);
    } else {
        ok = wrong(p, c ? "%c does not belong here" : "there is no value", c);
    }
    p->depth--;
    return ok;
}

/* ---- operators ----------------------------------------------------------------------------------------------------------------- */

static const char *const operators[][5] = {
    { "||" }, { "&&" }, { "|" }, { "^" }, { "&" }, { "==", "!=" }, { "<=", ">=", "<", ">" }, { "<<", ">>" }, { "+", "-" }, { "*", "/", "%" },
};
enum { LEVELS = sizeof operators / sizeof *operators };

static const char *
operator_at(struct parser *p, unsigned level)
{
    blanks(p);
    for (unsigned i = 0; i < 5 && operators[level][i]; i++) {
        const char *o = operators[level][i];
        size_t n = strlen(o);
        if (strncmp(p->p, o, n) || (n == 1 && (*o == '|' || *o == '&' || *o == '<' || *o == '>') && p->p[1] == *o))
            continue;
        p->p += n;
        return o;
    }
    return NULL;
}

static bool
floats(struct parser *p, const char *o, double a, double b, struct cws_result *out)
{
    switch (o[0]) {
    case '=': plain(out, a == b); return true;
    case '!': plain(out, a != b); return true;
    case '<': if (o[1] == '<') break; plain(out, o[1] ? a <= b : a < b); return true;
    case '>': if (o[1] == '>') break; plain(out, o[1] ? a >= b : a > b); return true;
    case '+': *out = (struct cws_result){ .is_float = true, .f = a + b }; return true;
    case '-': *out = (struct cws_result){ .is_float = true, .f = a - b }; return true;
    case '*': *out = (struct cws_result){ .is_float = true, .f = a * b }; return true;
    case '/': *out = (struct cws_result){ .is_float = true, .f = a / b }; return true;
    case '&': if (!o[1]) break; plain(out, a != 0 && b != 0); return true;
    case '|': if (!o[1]) break; plain(out, a != 0 || b != 0); return true;
    default:  break;
    }
    return wrong(p, "%s takes integers", o);
}

static bool
integers(struct parser *p, const char *o, wide a, wide b, struct cws_result *out)
{
    if ((*o == '/' || *o == '%') && !b)
        return wrong(p, "a division by 0");
    switch (o[0]) {
    case '=': a = a == b; break;
    case '!': a = a != b; break;
    case '<': a = o[1] == '<' ? (b < 0 || b > 127 ? 0 : (wide)((unsigned_wide)a << (int)b)) : o[1] ? a <= b : a < b; break;
    case '>': a = o[1] == '>' ? (b < 0 || b > 127 ? 0 : a >> (int)b) : o[1] ? a >= b : a > b; break;
    case '+': a = (wide)((unsigned_wide)a + (unsigned_wide)b); break;
    case '-': a = (wide)((unsigned_wide)a - (unsigned_wide)b); break;
    case '*': a = (wide)((unsigned_wide)a * (unsigned_wide)b); break;
    case '/': a = b == -1 ? (wide)-(unsigned_wide)a : a / b; break;
    case '%': a = b == -1 ? 0 : a % b; break;
    case '&': a = o[1] ? a && b : (a & b); break;
    case '|': a = o[1] ? a || b : (a | b); break;
    default:  a ^= b;
    }
    plain(out, a);
    return true;
}

static bool
expression(struct parser *p, unsigned level, struct cws_result *out)
{
    const char *o;
    struct cws_result b;
    if (level == LEVELS)
        return primary(p, out);
    if (!expression(p, level + 1, out))
        return false;
    while ((o = operator_at(p, level))) {
        if (!expression(p, level + 1, &b))
            return false;
        enum cwi_where space = out->space != CWI_NOWHERE ? out->space : b.space;
        bool ok = out->is_float || b.is_float ? floats(p, o, out->is_float ? out->f : (double)out->i, b.is_float ? b.f : (double)b.i, out)
                                              : integers(p, o, out->i, b.i, out);
        if (!ok)
            return false;
        out->space = *o == '+' || *o == '-' ? space : CWI_NOWHERE;
    }
    return true;
}

bool
cws_evaluate(struct cws *s, const struct cws_cursor *at, const char **text, struct cws_result *out, char *why, size_t size)
{
    struct parser p = { s, at, *text, why, size, 0 };
    *why = 0;
    bool ok = expression(&p, 0, out);
    *text = p.p;
    return ok;
}

bool
cws_unknown(const char *why)
{
    return !strncmp(why, UNWRITTEN, sizeof UNWRITTEN - 1) || !strncmp(why, UNKNOWN, sizeof UNKNOWN - 1);
}

bool
cws_holds(struct cws *s, const struct cws_cursor *at, const char *text)
{
    char why[8];
    struct cws_result r;
    return cws_evaluate(s, at, &text, &r, why, sizeof why) && (r.is_float ? r.f != 0 : r.i != 0);
}

/* ---- printing ------------------------------------------------------------------------------------------------------------------ */

bool
cws_read_format(const char **text, struct cws_format *out)
{
    const char *p = *text;
    char *end;
    *out = (struct cws_format){ .count = 1 };
    if (isdigit((unsigned char)*p)) {
        unsigned long n = strtoul(p, &end, 10);
        if (!n || n > 4096)
            return false;
        out->count = (unsigned)n;
        p = end;
    }
    size_t n = word(p);
    out->type = n ? cws_type_named(p, n) : PTX_NONE;
    for (size_t i = 0; out->type == PTX_NONE && i < n; i++) {
        if (strchr("xduotfca", p[i]) && !out->letter)
            out->letter = p[i];
        else if (strchr("bhwg", p[i]) && i + 1 == n)
            out->type = p[i] == 'b' ? PTX_U8 : p[i] == 'h' ? PTX_U16 : p[i] == 'w' ? PTX_U32 : PTX_U64;
        else
            return false;
    }
    if (out->letter == 'f' && (out->type == PTX_U16 || out->type == PTX_U32 || out->type == PTX_U64))
        out->type = out->type == PTX_U16 ? PTX_F16 : out->type == PTX_U32 ? PTX_F32 : PTX_F64;
    *text = p + n;
    return !**text || isspace((unsigned char)**text);
}

bool
cws_address_text(const struct cws *s, uint64_t address, char *out, size_t size)
{
    char where[160];
    uint32_t b = address ? cws_buffer(s, address) : CWS_NONE;
    if (b == CWS_NONE)
        return false;
    cwd_where(&s->side.dump, b, where, sizeof where);
    char *behind = strstr(where, " (which");
    if (behind)
        *behind = 0;
    const char *named = !strncmp(where, "parameter ", 10) ? where + 10 : !strncmp(where, "variable ", 9) ? where + 9 : NULL;
    if (named)
        snprintf(out, size, "%s", named);
    else
        snprintf(out, size, "buffer %u", b);
    uint64_t offset = address - s->side.dump.buffers[b].address;
    if (offset)
        snprintf(out + strlen(out), size - strlen(out), "+%llu", (unsigned long long)offset);
    return true;
}

static void
print_letter(uint64_t v, unsigned type, char letter, struct cw_buf *out)
{
    unsigned bits = ptx_type_bits((ptx_type)type);
    bits = bits && bits < 64 ? bits : 64;
    int64_t sv = (int64_t)(v << (64 - bits)) >> (64 - bits);
    float f;
    uint32_t b32 = (uint32_t)v;
    double d;
    switch (letter) {
    case 'd': cw_buf_printf(out, "%lld", (long long)sv); break;
    case 'u': cw_buf_printf(out, "%llu", (unsigned long long)v); break;
    case 'o': cw_buf_printf(out, "0%llo", (unsigned long long)v); break;
    case 'c': cw_buf_printf(out, v >= 32 && v < 127 ? "%lld '%c'" : "%lld", (long long)sv, (int)v); break;
    case 't':
        for (unsigned i = bits; i--;)
            cw_buf_puts(out, v >> i & 1 ? "1" : "0");
        break;
    case 'f':
        memcpy(&f, &b32, sizeof f);
        memcpy(&d, &v, sizeof d);
        cw_buf_printf(out, bits == 64 ? "%.17g" : "%.9g", bits == 64 ? d : bits == 16 ? half((uint16_t)v) : (double)f);
        break;
    default:  cw_buf_printf(out, "0x%0*llx", (int)(bits + 3) / 4, (unsigned long long)v);
    }
}

void
cws_print_bits(const struct cws *s, uint64_t low, uint64_t high, unsigned type, char letter, struct cw_buf *out)
{
    unsigned bits = ptx_type_bits((ptx_type)type);
    char text[160];
    if (bits && bits < 64)
        low &= (1ull << bits) - 1;
    if (letter && letter != 'a') {
        print_letter(low, type, letter, out);
        return;
    }
    if (bits == 128) {
        cw_buf_printf(out, "0x%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
    } else if (type == PTX_PRED) {
        cw_buf_puts(out, low ? "true" : "false");
    } else if (type == PTX_F16X2 || type == PTX_BF16X2) {
        double d[2];
        for (unsigned i = 0; i < 2; i++) {
            uint32_t b32 = (uint32_t)(low >> 16 * i & 0xffff) << 16;
            float f;
            memcpy(&f, &b32, sizeof f);
            d[i] = type == PTX_F16X2 ? half((uint16_t)(low >> 16 * i)) : (double)f;
        }
        cw_buf_printf(out, "{%.9g, %.9g} (0x%08llx)", d[0], d[1], (unsigned long long)low);
    } else if (bits == 64 && ptx_type_class((ptx_type)type) != PTX_CLASS_FLOAT && cws_address_text(s, cws_recorded_address(s, low), text, sizeof text)) {
        cw_buf_printf(out, "0x%llx <%s>", (unsigned long long)cws_recorded_address(s, low), text);
    } else {
        cwd_value_print(low, type, text, sizeof text);
        cw_buf_puts(out, text);
    }
}
