/* SPDX-License-Identifier: Apache-2.0
 * Instructions: mnemonic, modifiers, operands. The opcode's row in ops.def says which modifiers and types it accepts; operands are parsed
 * here by their own syntax, and checked by check.c. */
#include "jit/ptx/ptx_private.h"

static bool operand(struct parser *p, struct ptx_operand *o, unsigned depth);

static void
push_operands(struct parser *p, struct ptx_operand *o, uint32_t base)
{
    uint32_t n = p->elems.n - base;
    o->elem = ptx_copy(p, &p->elems.at[base], n, sizeof *o->elem);
    o->count = (uint8_t)n;
    p->elems.n = base;
}

/* { a, b } or ( a, b ), up to `close`; the opening token is current. */
static bool
list(struct parser *p, struct ptx_operand *o, uint8_t kind, unsigned close, unsigned depth)
{
    uint32_t base = p->elems.n;
    if (depth > 2)
        return ptx_error(p, 2050, "operands nested too deep");
    o->kind = kind;
    ptx_next(p);
    while (!is_punct(p, close)) {
        struct ptx_operand e = { .video_sel = -1 };
        if (p->elems.n - base >= MAX_VEC)
            return ptx_error(p, 6010, "more than %d elements in one operand", MAX_VEC);
        if (!operand(p, &e, depth + 1)) {
            p->elems.n = base;
            return false;
        }
        VEC_PUSH(p, p->elems, e);
        if (!accept(p, ','))
            break;
    }
    if (!ptx_expect(p, close, "to end the list")) {
        p->elems.n = base;
        return false;
    }
    push_operands(p, o, base);
    return true;
}

static void
set_imm(struct ptx_operand *o, const struct const_value *v)
{
    if (v->sym) {
        o->kind = PTX_OPND_SYM;
        o->sym = v->sym;
        o->imm = (int64_t)v->bits;
        return;
    }
    o->kind = PTX_OPND_IMM;
    o->is_float = v->is_float;
    o->imm_f32 = v->is_float && v->is_f32;
    o->imm = (int64_t)v->bits;
}

/* .h10 .b7654: parts of the operands of SIMD video instructions, or lanes of their results */
static bool
simd_selector(const char *w, struct ptx_operand *o)
{
    unsigned sel = 0, n = 0, limit = *w == 'h' ? 2 : *w == 'b' ? 4 : 0;
    for (w++; *w >= '0' && *w <= '7' && n < limit; w++, n++)
        sel = sel << 3 | (unsigned)(*w - '0');
    if (*w || n < 2)
        return false;
    o->simd_sel = (uint16_t)(sel | n << PTX_SIMD_COUNT_SHIFT | (limit == 4 ? PTX_SIMD_BYTES : 0));
    return true;
}

static bool
video_selector(struct parser *p, struct ptx_operand *o)
{
    const char *w = p->tok.ident->name;
    if (w[0] == 'b' && w[1] >= '0' && w[1] <= '3' && !w[2])
        o->video_sel = (int8_t)(w[1] - '0');
    else if (w[0] == 'h' && w[1] >= '0' && w[1] <= '1' && !w[2])
        o->video_sel = (int8_t)(4 + w[1] - '0');
    else if (!simd_selector(w, o))
        return ptx_error(p, 2051, "%s does not select a part of an operand", ptx_tok_text(p));
    ptx_next(p);
    return true;
}

static bool
vector_register(struct parser *p, struct ptx_operand *o, const struct binding *b)
{
    if (p->tok.kind == T_DOT) {
        const char *w = p->tok.ident->name;
        unsigned i = 0;
        while (i < 8 && "xyzwrgba"[i] != w[0])
            i++;
        if (w[1] || i >= 8 || i % 4 >= b->vec)
            return ptx_error(p, 2052, "%s is no element of this vector", ptx_tok_text(p));
        ptx_next(p);
        o->kind = PTX_OPND_REG;
        o->index = b->reg + i % 4;
        return true;
    }
    uint32_t base = p->elems.n;
    o->kind = PTX_OPND_VEC;
    for (unsigned i = 0; i < b->vec; i++) {
        struct ptx_operand e = { .kind = PTX_OPND_REG, .video_sel = -1, .index = b->reg + i };
        VEC_PUSH(p, p->elems, e);
    }
    push_operands(p, o, base);
    return true;
}

/* %tid.x, or the whole vector %tid */
static bool
special_register(struct parser *p, struct ptx_operand *o, const struct token *t)
{
    char name[48];
    if (t->ident->sreg) {
        o->kind = PTX_OPND_SREG;
        o->index = t->ident->sreg;
        return true;
    }
    if (t->len + 3 >= sizeof name)
        return false;
    memcpy(name, t->s, t->len);
    name[t->len] = '.';
    name[t->len + 2] = 0;
    if (p->tok.kind == T_DOT && p->tok.len == 2) {
        name[t->len + 1] = p->tok.s[1];
        struct ident *id = ptx_intern(p, name, t->len + 2);
        if (id->sreg) {
            ptx_next(p);
            o->kind = PTX_OPND_SREG;
            o->index = id->sreg;
            return true;
        }
        return false;
    }
    uint32_t base = p->elems.n;
    for (unsigned i = 0; i < 4; i++) {
        name[t->len + 1] = "xyzw"[i];
        struct ident *id = ptx_intern(p, name, t->len + 2);
        struct ptx_operand e = { .kind = PTX_OPND_SREG, .video_sel = -1 };
        if (!id->sreg) {
            p->elems.n = base;
            return false;
        }
        e.index = id->sreg;
        VEC_PUSH(p, p->elems, e);
    }
    o->kind = PTX_OPND_VEC;
    push_operands(p, o, base);
    return true;
}

static bool
named(struct parser *p, struct ptx_operand *o)
{
    if (p->tok.kind == T_REG) {
        o->kind = PTX_OPND_REG;
        o->index = p->tok.reg;
        ptx_next(p);
        return p->tok.kind != T_DOT || video_selector(p, o);
    }
    struct binding *b = &p->tok.ident->bind;
    switch (b->kind) {
    case BIND_REG:
        o->kind = PTX_OPND_REG;
        o->index = b->reg;
        ptx_next(p);
        return p->tok.kind != T_DOT || video_selector(p, o);
    case BIND_VREG:
        ptx_next(p);
        return vector_register(p, o, b);
    case BIND_TABLE:
        o->kind = PTX_OPND_TABLE;
        o->table = b->table;
        ptx_next(p);
        return true;
    case BIND_SYM: {
        struct const_value v;
        /* `sym` or an address expression; `|` is not an operator here, nor is it one for addresses. */
        if (!ptx_parse_const(p, &v, true))
            return false;
        set_imm(o, &v);
        return true;
    }
    default:
        break;
    }
    struct token t = p->tok;
    if (t.len == 1 && t.s[0] == '_') {
        o->kind = PTX_OPND_SINK;
        ptx_next(p);
        return true;
    }
    if (t.s[0] == '%') {
        ptx_next(p);
        if (special_register(p, o, &t))
            return true;
        return ptx_error_at(p, t.line, t.column, 3001, "register '%.*s' is not declared", (int)(t.len > 60 ? 60 : t.len), t.s);
    }
    if (!strcmp(t.ident->name, "WARP_SZ")) {
        struct const_value v;
        if (!ptx_parse_const(p, &v, false))
            return false;
        set_imm(o, &v);
        return true;
    }
    return ptx_error(p, 3001, "'%s' is not declared", t.ident->name);
}

/* [ base + offset ], up to the token behind the offset. */
static bool
address(struct parser *p, struct ptx_operand *o)
{
    o->kind = PTX_OPND_ADDR;
    if (p->tok.kind == T_REG || (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_REG)) {
        o->has_reg = true;
        o->index = p->tok.kind == T_REG ? p->tok.reg : p->tok.ident->bind.reg;
        ptx_next(p);
        if (is_punct(p, '+') || is_punct(p, '-')) {
            bool minus = is_punct(p, '-');
            uint64_t v;
            if (!minus)
                ptx_next(p);        /* `-` is part of the constant */
            if (!ptx_parse_int(p, &v, "an address offset"))
                return false;
            o->imm = (int64_t)v;
        }
        return true;
    }
    if (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_NONE && p->tok.s[0] == '%')
        return ptx_error(p, 3001, "register '%s' is not declared", p->tok.ident->name);
    struct const_value v;
    struct token at = p->tok;
    if (!ptx_parse_const(p, &v, true))
        return false;
    if (v.is_float)
        return ptx_error_at(p, at.line, at.column, 3030, "an address is an integer");
    o->sym = v.sym;
    o->imm = (int64_t)v.bits;
    return true;
}

/* Make t the current token again; `after` is the text behind it. */
static void
back(struct parser *p, const struct token *t, const char *after)
{
    p->cur = after;
    p->tok = *t;
    p->line = t->line;
    p->line_start = t->s - (t->column - 1);
}

/* `|p` behind a result. */
static bool
pair(struct parser *p, struct ptx_operand *o, unsigned depth)
{
    if (!is_punct(p, '|') || (o->kind != PTX_OPND_REG && o->kind != PTX_OPND_SINK && o->kind != PTX_OPND_VEC) || depth)
        return true;
    uint32_t base = p->elems.n;
    struct ptx_operand second = { .video_sel = -1 };
    ptx_next(p);
    if (p->tok.kind != T_REG && p->tok.kind != T_IDENT)
        return ptx_error(p, 2053, "expected a predicate after '|', found %s", ptx_tok_text(p));
    VEC_PUSH(p, p->elems, *o);
    if (!named(p, &second))
        return false;
    VEC_PUSH(p, p->elems, second);
    memset(o, 0, sizeof *o);
    o->video_sel = -1;
    o->kind = PTX_OPND_PRED_PAIR;
    push_operands(p, o, base);
    return true;
}

static bool
operand(struct parser *p, struct ptx_operand *o, unsigned depth)
{
    o->video_sel = -1;
    if (p->tok.kind == T_REG || p->tok.kind == T_IDENT)
        return named(p, o) && pair(p, o, depth);
    if (is_punct(p, '{'))
        return list(p, o, PTX_OPND_VEC, '}', depth) && pair(p, o, depth);
    if (is_punct(p, '[')) {
        ptx_next(p);
        return address(p, o) && ptx_expect(p, ']', "after an address");
    }
    if (p->tok.kind == T_INT) {         /* most constants are single numbers */
        uint64_t v = p->tok.value;
        struct token t = p->tok;
        const char *save = p->cur;
        ptx_next(p);
        if (is_punct(p, ',') || is_punct(p, ';')) {
            o->kind = PTX_OPND_IMM;
            o->imm = (int64_t)v;
            return true;
        }
        back(p, &t, save);
    }
    if (is_punct(p, '!') || is_punct(p, '-')) {
        struct token t = p->tok;
        const char *save = p->cur;
        ptx_next(p);
        if (p->tok.kind == T_REG || (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_REG)) {
            o->negate_pred = t.punct == '!';
            o->negate = t.punct == '-';
            return named(p, o);
        }
        back(p, &t, save);      /* an expression */
    }
    struct const_value v;
    if (!ptx_parse_const(p, &v, true))
        return false;
    set_imm(o, &v);
    return true;
}

/* ---- modifiers ---- */

/* False: another word has set it. */
static bool
apply(struct ptx_inst *in, const struct mod_word *w)
{
    if (w->field == MF_FLAG) {
        in->flags |= (uint32_t)w->value;    /* xorsign and abs share one flag */
        return true;
    }
    if (w->field == MF_AUX) {
        if (w->value > 1 && (in->aux >> w->shift & w->value) == w->value)
            return false;
        in->aux |= w->value << w->shift;
        return true;
    }
    if (w->field == MF_SEM && in->sem == PTX_SEM_MMIO && w->value == PTX_SEM_RELAXED)
        return true;            /* always written .mmio.relaxed */
    uint8_t *byte = ptx_mod_byte(in, w->field);
    const bool set = byte ? *byte > (byte == &in->vec) : ptx_mod_value(in, w->field, false);
    if (!set && byte) {
        *byte = (uint8_t)w->value;
        return true;
    }
    const struct mod_bits *bits = ptx_mod_bits(w->field, set);
    if (!bits->mask || in->aux >> bits->shift & bits->mask)
        return false;
    in->aux |= w->value << bits->shift;
    return true;
}

static bool
modifiers(struct parser *p, struct ptx_inst *in, const struct op_row *row)
{
    unsigned ntypes = 0;
    while (p->tok.kind == T_DOT) {
        struct ident *w = p->tok.ident;
        if (w->type && row->ntypes) {
            if (ntypes >= row->ntypes)
                return ptx_error(p, 2010, "'%s' takes no more than %u type%s", row->info.mnemonic, row->ntypes, row->ntypes > 1 ? "s" : "");
            if (!(row->types[ntypes] >> w->type & 1))
                return ptx_error(p, 2011, "'%s' does not take type .%s here", row->info.mnemonic, w->name);
            in->type[ntypes++] = w->type;
            ptx_next(p);
            continue;
        }
        const struct mod_word *found = NULL;
        if (w->mod)
            for (unsigned i = w->mod - 1u; i < w->mod - 1u + w->nmods; i++)
                if (row->mods & ptx_mod_words[i].group) {
                    found = &ptx_mod_words[i];
                    break;
                }
        if (!found)
            return ptx_error(p, 2012, "'%s' does not take modifier .%s", row->info.mnemonic, w->name);
        if (!apply(in, found))
            return ptx_error(p, 2013, "modifier .%s contradicts another one before it", w->name);
        ptx_next(p);
    }
    return true;
}

/* ---- forms with a syntax of their own ---- */

struct args {
    struct ptx_operand at[PTX_MAX_OPERANDS];
    unsigned n;
};

static struct ptx_operand *
next_arg(struct parser *p, struct args *a)
{
    if (a->n >= PTX_MAX_OPERANDS) {
        ptx_error(p, 2014, "more than %d operands", PTX_MAX_OPERANDS);
        return NULL;
    }
    struct ptx_operand *o = &a->at[a->n++];
    memset(o, 0, sizeof *o);
    o->video_sel = -1;
    return o;
}

/* [ texture {, sampler} , coordinates ] */
static bool
texture_address(struct parser *p, struct args *a, bool sampler)
{
    struct ptx_operand *tex = next_arg(p, a), *smp = sampler ? next_arg(p, a) : NULL, *coord;
    ptx_next(p);
    if (!tex || (sampler && !smp) || !operand(p, tex, 1) || !ptx_expect(p, ',', "after the texture or surface"))
        return false;
    if (!(coord = next_arg(p, a)) || !operand(p, coord, 1))
        return false;
    if (sampler && is_punct(p, ',')) {
        *smp = *coord;
        ptx_next(p);
        memset(coord, 0, sizeof *coord);
        if (!operand(p, coord, 1))
            return false;
    }
    return ptx_expect(p, ']', "after the coordinates");
}

/* [ address ], or [ tensor map, coordinates ], which become two operands. */
static bool
tensor_address(struct parser *p, struct args *a)
{
    struct ptx_operand *o = next_arg(p, a), *coordinates;
    ptx_next(p);
    if (!o || !address(p, o))
        return false;
    if (accept(p, ',') && (!(coordinates = next_arg(p, a)) || !operand(p, coordinates, 1)))
        return false;
    return ptx_expect(p, ']', "after an address");
}

static bool
call_operands(struct parser *p, struct args *a)
{
    for (unsigned i = 0; i < 4; i++)
        if (!next_arg(p, a))
            return false;
    if (is_punct(p, '(')) {
        if (!list(p, &a->at[0], PTX_OPND_LIST, ')', 0) || !ptx_expect(p, ',', "after the results"))
            return false;
    }
    struct token at = p->tok;
    if (at.kind != T_IDENT && at.kind != T_REG)
        return ptx_error(p, 2054, "expected a function, found %s", ptx_tok_text(p));
    if (!operand(p, &a->at[1], 1))
        return false;
    bool direct = a->at[1].kind == PTX_OPND_SYM;
    if (direct ? a->at[1].sym->kind == PTX_SYM_VAR || a->at[1].sym->kind == PTX_SYM_PARAM : a->at[1].kind != PTX_OPND_REG)
        return ptx_error_at(p, at.line, at.column, 3006, "%.*s is not a function", (int)(at.len > 60 ? 60 : at.len), at.s);
    if (accept(p, ',')) {
        if (is_punct(p, '(')) {
            if (!list(p, &a->at[2], PTX_OPND_LIST, ')', 0))
                return false;
            if (!accept(p, ','))
                return true;
        }
        if (p->tok.kind != T_IDENT || !operand(p, &a->at[3], 1))
            return ptx_error(p, 2055, "expected a table or a prototype, found %s", ptx_tok_text(p));
        if (a->at[3].kind != PTX_OPND_TABLE)
            return ptx_error(p, 3007, "this is neither a .calltargets nor a .callprototype");
    }
    return true;
}

static bool
branch_target(struct parser *p, struct ptx_operand *o, uint32_t **where, struct fixup *f)
{
    if (p->tok.kind != T_IDENT)
        return ptx_error(p, 2056, "expected a label, found %s", ptx_tok_text(p));
    o->kind = PTX_OPND_LABEL;
    *f = (struct fixup){ p->tok.ident, NULL, p->tok.line, p->tok.column, p->depth };
    *where = &o->index;
    ptx_next(p);
    return true;
}

static bool
raw_text(struct parser *p, struct args *a)
{
    const char *start = p->tok.s;
    struct ptx_operand *o = next_arg(p, a);
    while (!is_punct(p, ';')) {
        if (p->tok.kind == T_EOF)
            return ptx_error(p, 2001, "expected ';', found the end of the text");
        ptx_next(p);
    }
    size_t n = (size_t)(p->tok.s - start);
    while (n && (start[n - 1] == ' ' || start[n - 1] == '\n' || start[n - 1] == '\t' || start[n - 1] == '\r'))
        n--;
    o->kind = PTX_OPND_TEXT;
    o->text = cw_arena_strndup(p->arena, start, n);
    return true;
}

/* Forms of matrix instructions newer than sm_90 are kept as text: block-scaled products, matrices of bytes. */
static bool
is_newer_form(const struct parser *p, const struct op_row *row, unsigned op)
{
    static const struct { uint16_t op; const char *word; } forms[] = {
        { PTX_OP_MMA, ".kind::" }, { PTX_OP_MMA, ".block_scale" }, { PTX_OP_MMA_SP, ".kind::" }, { PTX_OP_MMA_SP_ORDERED, ".kind::" }, { PTX_OP_LDMATRIX, ".m16n16" }, { PTX_OP_LDMATRIX, ".m8n16" },
        { PTX_OP_LDMATRIX, ".b8" }, { PTX_OP_STMATRIX, ".m16n8" }, { PTX_OP_STMATRIX, ".b8" },
    };
    if (!(row->mods & M_MATRIX))
        return false;
    const char *end = memchr(p->tok.s, ';', (size_t)(p->end - p->tok.s));
    for (unsigned i = 0; end && i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i].word);
        for (const char *s = p->tok.s; forms[i].op == op && (size_t)(end - s) >= n; s++)
            if (!memcmp(s, forms[i].word, n))
                return true;
    }
    return false;
}

static unsigned
find_opcode(struct parser *p, const struct ident *id)
{
    unsigned best = id->op;
    if (!id->op_child || p->tok.kind != T_DOT)
        return best;
    size_t best_len = 0, left = (size_t)(p->end - p->tok.s);
    for (unsigned c = id->op_child; c; c = p->op_next_child[c]) {
        const char *rest = ptx_op_rows[c].info.mnemonic + id->len;
        size_t n = strlen(rest);
        if (n > best_len && n <= left && !memcmp(rest, p->tok.s, n)) {
            unsigned char after = n < left ? (unsigned char)p->tok.s[n] : 0;
            if (after == '_' || after == ':' || after == '$' || (after >= '0' && after <= '9') || ((after | 32) >= 'a' && (after | 32) <= 'z'))
                continue;
            best = c;
            best_len = n;
        }
    }
    if (best_len) {
        p->cur = p->tok.s + best_len;
        ptx_next(p);
    }
    return best;
}

static bool
guard(struct parser *p, struct ptx_inst *in)
{
    ptx_next(p);
    in->has_guard = true;
    if (accept(p, '!'))
        in->guard_negated = true;
    if (p->tok.kind == T_REG)
        in->guard = p->tok.reg;
    else if (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_REG)
        in->guard = p->tok.ident->bind.reg;
    else if (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_NONE)
        return ptx_error(p, 3001, "register '%s' is not declared", p->tok.ident->name);
    else
        return ptx_error(p, 2057, "expected a predicate register, found %s", ptx_tok_text(p));
    if (p->regs.at[in->guard].type != PTX_PRED)
        return ptx_error(p, 3031, "the guard %s is not a predicate", ptx_tok_text(p));
    ptx_next(p);
    return true;
}

/* Also parses labels and tables, which differ from instructions only behind the first word. */
bool
ptx_parse_instruction(struct parser *p)
{
    struct ptx_inst in = { .vec = 1, .loc_file = p->loc_file, .loc_line = p->loc_line,
                           .nounroll = p->nounroll };
    p->nounroll = false;
    struct args a = { .n = 0 };
    struct fixup fix;
    uint32_t *where = NULL;
    if (is_punct(p, '@') && !guard(p, &in))
        return false;
    in.line = p->tok.line;
    in.column = p->tok.column;
    if (p->tok.kind != T_IDENT)
        return ptx_error(p, 2002, "expected an instruction, found %s", ptx_tok_text(p));
    struct token name = p->tok;
    ptx_next(p);
    if (is_punct(p, ':') && !in.has_guard) {
        ptx_next(p);
        if (p->tok.kind == T_DOT && (p->tok.ident->dir == DIR_BRANCHTARGETS || p->tok.ident->dir == DIR_CALLTARGETS ||
            p->tok.ident->dir == DIR_CALLPROTOTYPE))
            return ptx_parse_table(p, name.ident, name.line, name.column);
        if (name.ident->label_depth == p->depth)
            return ptx_error_at(p, name.line, name.column, 3003, "label '%s' is declared twice", name.ident->name);
        struct label_undo u = { name.ident, name.ident->label, name.ident->label_depth };
        VEC_PUSH(p, p->label_undo, u);
        name.ident->label = p->last_label = p->insts.n;
        name.ident->label_depth = p->depth;
        return true;
    }
    in.op = (uint16_t)find_opcode(p, name.ident);
    if (!in.op) {
        if (name.ident->op_child && p->tok.kind == T_DOT)
            return ptx_error_at(p, name.line, name.column, 2003, "unknown instruction '%s.%s'", name.ident->name, p->tok.ident->name);
        return ptx_error_at(p, name.line, name.column, 2003, "unknown instruction '%s'", name.ident->name);
    }
    const struct op_row *row = &ptx_op_rows[in.op];
    if ((row->mods & M_RAW) || is_newer_form(p, row, in.op)) {
        if (!raw_text(p, &a))
            return false;
    } else {
        if (!modifiers(p, &in, row))
            return false;
        if (in.op == PTX_OP_CALL) {
            if (!call_operands(p, &a))
                return false;
        } else if (!is_punct(p, ';')) {
            do {
                struct ptx_operand *o;
                if (in.geom && is_punct(p, '[')) {
                    if (!texture_address(p, &a, in.op == PTX_OP_TEX || in.op == PTX_OP_TLD4))
                        return false;
                    continue;
                }
                if ((row->mods & M_TENSOR) && is_punct(p, '[')) {
                    if (!tensor_address(p, &a))
                        return false;
                    continue;
                }
                if (!(o = next_arg(p, &a)))
                    return false;
                if (row->sig[0] == 'l' ? !branch_target(p, o, &where, &fix) : !operand(p, o, 0))
                    return false;
                if (is_punct(p, '[') && o->kind == PTX_OPND_SYM && !ptx_parse_index(p, &in, a.n - 1, o))
                    return false;
                if (is_punct(p, '+') && o->kind == PTX_OPND_REG && a.n > row->info.ndst && !ptx_parse_sum(p, o))
                    return false;
            } while (accept(p, ','));
        }
    }
    if (!is_punct(p, ';'))
        return ptx_error(p, 2001, "expected ';', found %s", ptx_tok_text(p));
    in.noperands = (uint8_t)a.n;
    in.operand = ptx_copy(p, a.at, a.n, sizeof *a.at);
    if (where) {
        fix.where = &in.operand[0].index;
        VEC_PUSH(p, p->fixups, fix);
    }
    if (!ptx_check_inst(p, &in)) {
        ptx_next(p);
        return true;        /* already reported; the statement is complete, so there is nothing to skip */
    }
    if (!ptx_split_convert(p, &in))
        return false;
    ptx_next(p);
    VEC_PUSH(p, p->insts, in);
    return true;
}
