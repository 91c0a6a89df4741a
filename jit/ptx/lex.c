/* SPDX-License-Identifier: Apache-2.0
 * The lexer, and the table of names. Tokens point into the text, which is bounded by `end` and never written; a name is copied once, when
 * first seen. A register declared by a range in scope (%r12 of %r<100>) is resolved here, without entering the table. */
#include "jit/ptx/ptx_private.h"

#include <stdlib.h>

enum { C_SPACE = 1, C_IDENT = 2, C_DIGIT = 4, C_START = 8, C_PUNCT = 16, C_TWO = 32 /* may begin a two-character token */ };
static const uint8_t cls[256] = {
    [' '] = C_SPACE, ['\t'] = C_SPACE, ['\r'] = C_SPACE, ['\f'] = C_SPACE, ['\v'] = C_SPACE,
    ['0' ... '9'] = C_IDENT | C_DIGIT, ['a' ... 'z'] = C_IDENT | C_START, ['A' ... 'Z'] = C_IDENT | C_START,
    ['_'] = C_IDENT | C_START, ['$'] = C_IDENT | C_START, ['%'] = C_START | C_PUNCT,
    ['<'] = C_PUNCT | C_TWO, ['>'] = C_PUNCT | C_TWO, ['='] = C_PUNCT | C_TWO, ['!'] = C_PUNCT | C_TWO, ['&'] = C_PUNCT | C_TWO,
    ['|'] = C_PUNCT | C_TWO, ['{'] = C_PUNCT, ['}'] = C_PUNCT, ['['] = C_PUNCT, [']'] = C_PUNCT, ['('] = C_PUNCT, [')'] = C_PUNCT,
    ['+'] = C_PUNCT, ['-'] = C_PUNCT, ['*'] = C_PUNCT, ['/'] = C_PUNCT, ['^'] = C_PUNCT, ['~'] = C_PUNCT, ['?'] = C_PUNCT,
    [':'] = C_PUNCT, [';'] = C_PUNCT, [','] = C_PUNCT, ['.'] = C_PUNCT, ['@'] = C_PUNCT,
};

/* The first 8 bytes of a name as a number, padded with zeros; `readable` bytes may be read. */
static inline uint64_t
name_key(const char *s, size_t n, size_t readable)
{
    uint64_t w = 0;
    if (readable >= 8) {
        memcpy(&w, s, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return n >= 8 ? w : w & ((1ull << 8 * n) - 1);
#else
        return n >= 8 ? w : n ? w & ~(~0ull >> 8 * n) : 0;
#endif
    }
    for (size_t i = 0; i < n && i < 8 && i < readable; i++)
        ((unsigned char *)&w)[i] = (unsigned char)s[i];
    return w;
}

static inline uint32_t
name_hash(const char *s, size_t n, uint64_t key)
{
    uint64_t h = (key ^ n) * 0x9e3779b97f4a7c15u;
    if (n > 8) {
        for (size_t i = 8; i + 8 < n; i += 8) {
            uint64_t w;
            memcpy(&w, s + i, 8);
            h = (h ^ h >> 29 ^ w) * 0x9e3779b97f4a7c15u;
        }
        uint64_t w;             /* the last 8 bytes, overlapping earlier ones */
        memcpy(&w, s + n - 8, 8);
        h = (h ^ h >> 29 ^ w) * 0x9e3779b97f4a7c15u;
    }
    return (uint32_t)(h >> 32);
}

static inline struct ident *
find(const struct parser *p, const char *s, size_t len, uint64_t key, uint32_t h)
{
    for (struct ident *i = p->buckets[h & (p->nbuckets - 1)]; i; i = i->next)
        if (i->key == key && i->len == len && (len <= 8 || (i->hash == h && !memcmp(i->name + 8, s + 8, len - 8))))
            return i;
    return NULL;
}

static void
rehash(struct parser *p, uint32_t n)
{
    struct ident **b = cw_arena_array(&p->names, struct ident *, n);
    for (uint32_t i = 0; i < p->nbuckets; i++) {
        for (struct ident *id = p->buckets[i], *next; id; id = next) {
            next = id->next;
            id->next = b[id->hash & (n - 1)];
            b[id->hash & (n - 1)] = id;
        }
    }
    p->buckets = b;
    p->nbuckets = n;
}

static struct ident *
insert(struct parser *p, const char *s, size_t len, uint64_t key, uint32_t h)
{
    if (p->nidents >= p->nbuckets)
        rehash(p, p->nbuckets * 2);
    struct ident *i = cw_arena_new(&p->names, struct ident);
    i->name = cw_arena_strndup(p->arena, s, len);
    i->len = (uint32_t)len;
    i->key = key;
    i->hash = h;
    i->next = p->buckets[h & (p->nbuckets - 1)];
    p->buckets[h & (p->nbuckets - 1)] = i;
    p->nidents++;
    return i;
}

/* `readable` bytes may be read from s on. */
static inline struct ident *
intern(struct parser *p, const char *s, size_t len, size_t readable)
{
    uint64_t key = name_key(s, len, readable);
    uint32_t h = name_hash(s, len, key);
    struct ident *i = find(p, s, len, key, h);
    return i ? i : insert(p, s, len, key, h);
}

struct ident *
ptx_find(const struct parser *p, const char *s, size_t len)
{
    uint64_t key = name_key(s, len, len);
    return find(p, s, len, key, name_hash(s, len, key));
}

struct ident *
ptx_intern(struct parser *p, const char *s, size_t len)
{
    return intern(p, s, len, len);
}

void
ptx_lex_init(struct parser *p, const char *text, size_t size)
{
    static const struct { const char *word; uint8_t dir; } dirs[] = {
        { "version", DIR_VERSION }, { "target", DIR_TARGET }, { "address_size", DIR_ADDRESS_SIZE }, { "file", DIR_FILE },
        { "loc", DIR_LOC }, { "section", DIR_SECTION }, { "pragma", DIR_PRAGMA }, { "entry", DIR_ENTRY }, { "func", DIR_FUNC },
        { "visible", DIR_VISIBLE }, { "extern", DIR_EXTERN }, { "weak", DIR_WEAK }, { "common", DIR_COMMON },
        { "alias", DIR_ALIAS }, { "global", DIR_GLOBAL }, { "const", DIR_CONST }, { "shared", DIR_SHARED },
        { "local", DIR_LOCAL }, { "tex", DIR_TEX }, { "param", DIR_PARAM }, { "reg", DIR_REG }, { "sreg", DIR_SREG },
        { "align", DIR_ALIGN }, { "attribute", DIR_ATTRIBUTE }, { "maxntid", DIR_MAXNTID }, { "reqntid", DIR_REQNTID },
        { "minnctapersm", DIR_MINNCTAPERSM }, { "maxnreg", DIR_MAXNREG }, { "maxnctapersm", DIR_MAXNCTAPERSM },
        { "noreturn", DIR_NORETURN }, { "branchtargets", DIR_BRANCHTARGETS }, { "calltargets", DIR_CALLTARGETS },
        { "callprototype", DIR_CALLPROTOTYPE }, { "ptr", DIR_PTR }, { "maxclusterrank", DIR_MAXCLUSTERRANK },
        { "reqnctapercluster", DIR_REQNCTAPERCLUSTER }, { "explicitcluster", DIR_EXPLICITCLUSTER },
        { "blocksareclusters", DIR_BLOCKSARECLUSTERS }, { "abi_preserve", DIR_ABI_PRESERVE },
        { "abi_preserve_control", DIR_ABI_PRESERVE_CONTROL },
    };
    p->cur = p->line_start = text;
    p->end = text + size;
    p->line = 1;
    rehash(p, 2048);
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        ptx_intern(p, dirs[i].word, strlen(dirs[i].word))->dir = dirs[i].dir;
    for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
        ptx_intern(p, ptx_type_name(t), strlen(ptx_type_name(t)))->type = (uint8_t)t;
    for (unsigned i = 0; i < ptx_mod_word_count; i++) {
        struct ident *id = ptx_intern(p, ptx_mod_words[i].word, strlen(ptx_mod_words[i].word));
        if (!id->mod)
            id->mod = (uint16_t)(i + 1);
        if (id->mod + id->nmods == (int)i + 1)
            id->nmods++;
    }
    for (unsigned op = 1; op < PTX_OP_COUNT; op++) {
        const char *name = ptx_op_rows[op].info.mnemonic, *dot = strchr(name, '.');
        struct ident *id = ptx_intern(p, name, dot ? (size_t)(dot - name) : strlen(name));
        if (dot) {
            p->op_next_child[op] = id->op_child;
            id->op_child = (uint16_t)op;
        } else {
            id->op = (uint16_t)op;
        }
    }
    for (unsigned r = 1; r < PTX_SREG_COUNT; r++)
        ptx_intern(p, ptx_sreg_info(r)->name, strlen(ptx_sreg_info(r)->name))->sreg = (uint16_t)r;
}

static int
digit_value(unsigned char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static void
bad(struct parser *p, unsigned code, const char *text)
{
    p->tok.kind = T_BAD;
    ptx_error_at(p, p->tok.line, p->tok.column, code, "%s", text);
}

/* 0f/0d constants: exactly 8 or 16 hexadecimal digits (4.5.2). */
static const char *
hex_float(struct parser *p, const char *s, unsigned digits)
{
    uint64_t v = 0;
    unsigned n = 0;
    for (; s < p->end && digit_value((unsigned char)*s) < 16 && n < digits; s++, n++)
        v = v << 4 | (unsigned)digit_value((unsigned char)*s);
    if (n != digits || (s < p->end && (cls[(unsigned char)*s] & C_IDENT)))
        bad(p, 1003, "a hexadecimal float constant has 8 digits after 0f, 16 after 0d");
    p->tok.kind = p->tok.kind == T_BAD ? T_BAD : T_FLOAT;
    p->tok.is_f32 = digits == 8;
    p->tok.value = v;
    while (s < p->end && (cls[(unsigned char)*s] & C_IDENT))
        s++;
    return s;
}

static const char *
number(struct parser *p, const char *s)
{
    const char *start = s;
    unsigned base = 10;
    if (*s == '0' && s + 1 < p->end) {
        char c = s[1];
        if (c == 'f' || c == 'F')
            return hex_float(p, s + 2, 8);
        if (c == 'd' || c == 'D')
            return hex_float(p, s + 2, 16);
        if (c == 'x' || c == 'X')
            base = 16, s += 2;
        else if (c == 'b' || c == 'B')
            base = 2, s += 2;
        else
            base = 8;
    }
    uint64_t v = 0;
    bool overflow = false, any = false, bad_octal = false;
    const char *digits = s;
    for (; s < p->end; s++) {
        unsigned d = (unsigned)digit_value((unsigned char)*s);
        if (base == 8 && (d == 8 || d == 9))
            bad_octal = true;       /* unless it is a float: 09.5 */
        else if (d >= base)
            break;
        any = true;
        if (v > (UINT64_MAX - d) / base)
            overflow = true;
        v = v * base + d;
    }
    if (base != 16 && base != 2 && s < p->end && ((*s == '.' && s + 1 < p->end && (cls[(unsigned char)s[1]] & C_DIGIT)) ||
        (*s == '.' && !(s + 1 < p->end && (cls[(unsigned char)s[1]] & C_START))) || *s == 'e' || *s == 'E')) {
        char text[80];
        s = start;
        while (s < p->end && (cls[(unsigned char)*s] & C_DIGIT))
            s++;
        if (s < p->end && *s == '.')
            for (s++; s < p->end && (cls[(unsigned char)*s] & C_DIGIT);)
                s++;
        if (s < p->end && (*s == 'e' || *s == 'E')) {
            const char *e = s + 1;
            if (e < p->end && (*e == '+' || *e == '-'))
                e++;
            if (e < p->end && (cls[(unsigned char)*e] & C_DIGIT))
                for (s = e; s < p->end && (cls[(unsigned char)*s] & C_DIGIT);)
                    s++;
        }
        size_t n = (size_t)(s - start);
        if (n >= sizeof text) {
            bad(p, 1004, "a decimal float constant of more than 79 characters");
            return s;
        }
        memcpy(text, start, n);
        text[n] = 0;
        double d = strtod(text, NULL);
        p->tok.kind = T_FLOAT;
        p->tok.is_f32 = false;
        memcpy(&p->tok.value, &d, 8);
        if (s < p->end && (cls[(unsigned char)*s] & C_IDENT))
            bad(p, 1005, "junk after a number");
        return s;
    }
    p->tok.kind = T_INT;
    p->tok.value = v;
    p->tok.is_unsigned = v > INT64_MAX;
    if (s < p->end && *s == 'U') {
        p->tok.is_unsigned = true;
        s++;
    }
    if (s < p->end && (cls[(unsigned char)*s] & C_IDENT)) {
        while (s < p->end && (cls[(unsigned char)*s] & C_IDENT))
            s++;
        bad(p, 1005, "junk after a number");
    } else if (!any || s == digits) {
        bad(p, 1006, "a number without digits");
    } else if (bad_octal) {
        bad(p, 1007, "an octal number with a digit 8 or 9");
    } else if (overflow) {
        bad(p, 1008, "an integer constant that does not fit 64 bits");
    }
    return s;
}

/* %r12: if a range %r<N> in scope covers it, the register; unless a nested scope may have redeclared the name. */
static bool
range_register(struct parser *p, const char *s, const char *e)
{
    const char *d = e;
    while (d > s && (cls[(unsigned char)d[-1]] & C_DIGIT))
        d--;
    if (d == e || d == s || e - d > 9 || (*d == '0' && e - d > 1))
        return false;
    uint32_t n = 0;
    for (const char *q = d; q < e; q++)
        n = n * 10 + (uint32_t)(*q - '0');
    size_t len = (size_t)(d - s);
    uint64_t key = name_key(s, len, (size_t)(p->end - s));
    struct ident *pre = find(p, s, len, key, name_hash(s, len, key));
    if (!pre || pre->bind.kind != BIND_RANGE || n >= pre->bind.count)
        return false;
    if (p->depth > pre->bind.depth) {
        len = (size_t)(e - s);
        key = name_key(s, len, (size_t)(p->end - s));
        struct ident *own = find(p, s, len, key, name_hash(s, len, key));
        if (own && own->bind.kind != BIND_NONE && own->bind.depth > pre->bind.depth)
            return false;
    }
    p->tok.kind = T_REG;
    p->tok.reg = pre->bind.reg + n;
    p->tok.range_depth = pre->bind.depth;
    return true;
}

struct ident *
ptx_tok_ident(struct parser *p)
{
    return p->tok.kind == T_IDENT ? p->tok.ident : ptx_intern(p, p->tok.s, p->tok.len);
}

static const char *
skip_blank(struct parser *p, const char *s)
{
    for (;;) {
        while (s < p->end && (cls[(unsigned char)*s] & C_SPACE))
            s++;
        if (s >= p->end)
            return s;
        if (*s == '\n') {
            s++;
            p->line++;
            p->line_start = s;
        } else if (*s == '/' && s + 1 < p->end && s[1] == '/') {
            const char *nl = memchr(s, '\n', (size_t)(p->end - s));
            s = nl ? nl : p->end;
        } else if (*s == '/' && s + 1 < p->end && s[1] == '*') {
            uint32_t line = p->line, col = (uint32_t)(s - p->line_start) + 1;
            for (s += 2; s + 1 < p->end && !(s[0] == '*' && s[1] == '/'); s++) {
                if (*s == '\n') {
                    p->line++;
                    p->line_start = s + 1;
                }
            }
            if (s + 1 >= p->end) {
                ptx_error_at(p, line, col, 1002, "a comment that is not closed");
                return p->end;
            }
            s += 2;
        } else {
            return s;
        }
    }
}

void
ptx_next(struct parser *p)
{
    const char *s = skip_blank(p, p->cur);
    struct token *t = &p->tok;
    t->line = p->line;
    t->column = (uint32_t)(s - p->line_start) + 1;
    t->s = s;
    t->len = 0;
    t->ident = NULL;
    if (s >= p->end) {
        t->kind = T_EOF;
        p->cur = s;
        return;
    }
    unsigned char c = (unsigned char)*s;
    if ((cls[c] & C_START) && (c != '%' || (s + 1 < p->end && (cls[(unsigned char)s[1]] & C_IDENT)))) {
        const char *e = s + 1;
        while (e < p->end && (cls[(unsigned char)*e] & C_IDENT))
            e++;
        p->cur = e;
        t->len = (size_t)(e - s);
        if (p->fn && (cls[(unsigned char)e[-1]] & C_DIGIT) && range_register(p, s, e))
            return;
        t->kind = T_IDENT;
        t->ident = intern(p, s, t->len, (size_t)(p->end - s));
        if (!t->ident)
            t->kind = T_EOF;
        return;
    }
    if (cls[c] & C_DIGIT) {
        p->cur = number(p, s);
        t->len = (size_t)(p->cur - s);
        return;
    }
    if (c == '.' && s + 1 < p->end && (cls[(unsigned char)s[1]] & C_IDENT)) {
        const char *e = s + 1;
        while (e < p->end && ((cls[(unsigned char)*e] & C_IDENT) || (*e == ':' && e + 2 < p->end && e[1] == ':' && (cls[(unsigned char)e[2]] & C_IDENT))))
            e += *e == ':' ? 2 : 1;
        p->cur = e;
        t->kind = T_DOT;
        t->len = (size_t)(e - s);
        t->ident = intern(p, s + 1, t->len - 1, (size_t)(p->end - s) - 1);
        if (!t->ident)
            t->kind = T_EOF;
        return;
    }
    if (c == '"') {
        const char *e = s + 1;
        while (e < p->end && *e != '"' && *e != '\n')
            e += *e == '\\' && e + 1 < p->end && e[1] != '\n' ? 2 : 1;
        if (e >= p->end || *e != '"') {
            p->cur = e < p->end ? e : p->end;
            bad(p, 1001, "a string that is not closed");
            return;
        }
        p->cur = e + 1;
        t->kind = T_STRING;
        t->s = s + 1;
        t->len = (size_t)(e - s) - 1;
        return;
    }
    static const struct { char a, b; uint16_t punct; } two[] = {
        { '<', '<', P_SHL }, { '>', '>', P_SHR }, { '<', '=', P_LE }, { '>', '=', P_GE }, { '=', '=', P_EQ },
        { '!', '=', P_NE }, { '&', '&', P_ANDAND }, { '|', '|', P_OROR },
    };
    t->kind = T_PUNCT;
    t->len = 1;
    t->punct = c;
    if ((cls[c] & C_TWO) && s + 1 < p->end) {
        for (unsigned i = 0; i < sizeof two / sizeof *two; i++) {
            if (two[i].a == (char)c && two[i].b == s[1]) {
                t->punct = two[i].punct;
                t->len = 2;
            }
        }
    }
    p->cur = s + t->len;
    if (!(cls[c] & C_PUNCT)) {
        p->cur = s + 1;
        bad(p, 1009, c == 0 ? "a NUL byte inside the text" : "a character that PTX does not know");
    }
}

const char *
ptx_tok_text(const struct parser *p)
{
    const struct token *t = &p->tok;
    if (t->kind == T_EOF)
        return "the end of the text";
    const char *s = t->kind == T_STRING ? t->s - 1 : t->s;
    size_t n = t->kind == T_STRING ? t->len + 2 : t->len;
    const char *r = cw_arena_printf(&p->diags->arena, "'%.*s'", (int)(n > 60 ? 60 : n), s);
    return r ? r : "a token";
}
