/* SPDX-License-Identifier: Apache-2.0
 * Constant expressions (4.5) and initialisers (5.4.4). Integers are 64 bits, signed unless an operand is unsigned. */
#include "jit/ptx/ptx_private.h"

#include <math.h>

float
ptx_f32_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

double
ptx_f64_of_bits(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static double
value_double(const struct const_value *v)
{
    if (v->is_float)
        return v->is_f32 ? (double)ptx_f32_of_bits((uint32_t)v->bits) : ptx_f64_of_bits(v->bits);
    return v->is_unsigned ? (double)v->bits : (double)(int64_t)v->bits;
}

static void
set_double(struct const_value *v, double d)
{
    v->is_float = true;
    v->is_f32 = false;
    memcpy(&v->bits, &d, 8);
}

static void
set_int(struct const_value *v, uint64_t bits, bool is_unsigned)
{
    memset(v, 0, sizeof *v);
    v->bits = bits;
    v->is_unsigned = is_unsigned;
}

static bool expr(struct parser *p, struct const_value *v, unsigned min, unsigned depth, bool allow_sym);

static bool
unary(struct parser *p, struct const_value *v, unsigned depth, bool allow_sym)
{
    if (depth > MAX_EXPR_DEPTH)
        return ptx_error(p, 6002, "a constant expression nested more than %d deep", MAX_EXPR_DEPTH);
    struct token t = p->tok;
    memset(v, 0, sizeof *v);
    if (t.kind == T_INT) {
        v->bits = t.value;
        v->is_unsigned = t.is_unsigned;
        ptx_next(p);
        /* the mask form of initialisers: 0xFF00(symbol) */
        if (allow_sym && is_punct(p, '(') && t.value) {
            ptx_next(p);
            struct const_value inner;
            if (!expr(p, &inner, 0, depth + 1, true) || !ptx_expect(p, ')', "after the address of a mask form"))
                return false;
            unsigned shift = (unsigned)__builtin_ctzll(t.value);
            if (t.value >> shift != 0xff || shift % 8)
                return ptx_error_at(p, t.line, t.column, 3060, "a mask form selects one byte: 0xFF, 0xFF00, ...");
            if (!inner.sym) {
                set_int(v, inner.bits >> shift & 0xff, false);
                return true;
            }
            *v = inner;
            v->mask_width = 1;
            v->mask_shift = (uint8_t)shift;
        }
        return true;
    }
    if (t.kind == T_FLOAT) {
        v->bits = t.value;
        v->is_float = true;
        v->is_f32 = t.is_f32;
        ptx_next(p);
        return true;
    }
    if (t.kind == T_IDENT) {
        if (!strcmp(t.ident->name, "WARP_SZ")) {
            v->bits = 32;
            ptx_next(p);
            return true;
        }
        if (allow_sym && !strcmp(t.ident->name, "generic") && t.ident->bind.kind == BIND_NONE) {
            ptx_next(p);
            if (!ptx_expect(p, '(', "after generic") || !expr(p, v, 0, depth + 1, true) || !ptx_expect(p, ')', "after generic(..."))
                return false;
            v->generic = true;
            return true;
        }
        if (t.ident->bind.kind == BIND_SYM) {
            if (!allow_sym)
                return ptx_error(p, 3061, "'%s' is not a constant", t.ident->name);
            v->sym = t.ident->bind.sym;
            ptx_next(p);
            return true;
        }
        return ptx_error(p, 3001, "'%s' is not declared", t.ident->name);
    }
    if (t.kind != T_PUNCT)
        return ptx_error(p, 2020, "expected a constant, found %s", ptx_tok_text(p));
    ptx_next(p);
    switch (t.punct) {
    case '(':
        if (p->tok.kind == T_DOT && (p->tok.ident->type == PTX_S64 || p->tok.ident->type == PTX_U64)) {
            bool is_unsigned = p->tok.ident->type == PTX_U64;
            ptx_next(p);
            if (!ptx_expect(p, ')', "after a cast") || !unary(p, v, depth + 1, allow_sym))
                return false;
            if (v->is_float || v->sym)
                return ptx_error_at(p, t.line, t.column, 3062, "a cast of something that is no integer");
            v->is_unsigned = is_unsigned;
            return true;
        }
        return expr(p, v, 0, depth + 1, allow_sym) && ptx_expect(p, ')', "in a constant expression");
    case '+': case '-': case '~': case '!':
        if (!unary(p, v, depth + 1, allow_sym))
            return false;
        if (v->sym && t.punct != '+')
            return ptx_error_at(p, t.line, t.column, 3063, "this operator does not apply to an address");
        if (t.punct == '-') {
            if (v->is_float)
                v->bits ^= v->is_f32 ? 1ull << 31 : 1ull << 63;
            else
                v->bits = -v->bits;
        } else if (t.punct == '~') {
            if (v->is_float)
                return ptx_error_at(p, t.line, t.column, 3064, "this operator does not apply to a float");
            v->bits = ~v->bits;
        } else if (t.punct == '!') {
            set_int(v, v->is_float ? value_double(v) == 0 : v->bits == 0, false);
        }
        return true;
    default:
        p->tok = t;
        return ptx_error(p, 2020, "expected a constant, found %s", ptx_tok_text(p));
    }
}

static unsigned
precedence(const struct parser *p)
{
    if (p->tok.kind != T_PUNCT)
        return 0;
    switch (p->tok.punct) {
    case '*': case '/': case '%': return 11;
    case '+': case '-': return 10;
    case P_SHL: case P_SHR: return 9;
    case '<': case '>': case P_LE: case P_GE: return 8;
    case P_EQ: case P_NE: return 7;
    case '&': return 6;
    case '^': return 5;
    case '|': return 4;
    case P_ANDAND: return 3;
    case P_OROR: return 2;
    case '?': return 1;
    default: return 0;
    }
}

static bool
float_binary(struct parser *p, struct const_value *v, unsigned op, const struct const_value *r, const struct token *at)
{
    double a = value_double(v), b = value_double(r);
    switch (op) {
    case '*': set_double(v, a * b); return true;
    case '/': set_double(v, a / b); return true;
    case '+': set_double(v, a + b); return true;
    case '-': set_double(v, a - b); return true;
    case '<': set_int(v, a < b, false); return true;
    case '>': set_int(v, a > b, false); return true;
    case P_LE: set_int(v, a <= b, false); return true;
    case P_GE: set_int(v, a >= b, false); return true;
    case P_EQ: set_int(v, a == b, false); return true;
    case P_NE: set_int(v, a != b, false); return true;
    case P_ANDAND: set_int(v, a != 0 && b != 0, false); return true;
    case P_OROR: set_int(v, a != 0 || b != 0, false); return true;
    default: return ptx_error_at(p, at->line, at->column, 3064, "this operator does not apply to a float");
    }
}

static bool
int_binary(struct parser *p, struct const_value *v, unsigned op, const struct const_value *r, const struct token *at)
{
    uint64_t a = v->bits, b = r->bits, x;
    bool u = v->is_unsigned || r->is_unsigned, lu = v->is_unsigned;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case '*': x = a * b; break;
    case '/': case '%':
        if (!b)
            return ptx_error_at(p, at->line, at->column, 3065, "division by zero in a constant expression");
        if (u)
            x = op == '/' ? a / b : a % b;
        else if (sb == -1)
            x = op == '/' ? -a : 0;
        else
            x = (uint64_t)(op == '/' ? sa / sb : sa % sb);
        break;
    case '+': x = a + b; break;
    case '-': x = a - b; break;
    case P_SHL: x = b > 63 ? 0 : a << b; u = lu; break;
    case P_SHR: x = lu ? (b > 63 ? 0 : a >> b) : (uint64_t)(sa >> (b > 63 ? 63 : b)); u = lu; break;
    case '<': set_int(v, u ? a < b : sa < sb, false); return true;
    case '>': set_int(v, u ? a > b : sa > sb, false); return true;
    case P_LE: set_int(v, u ? a <= b : sa <= sb, false); return true;
    case P_GE: set_int(v, u ? a >= b : sa >= sb, false); return true;
    case P_EQ: set_int(v, a == b, false); return true;
    case P_NE: set_int(v, a != b, false); return true;
    case '&': x = a & b; break;
    case '^': x = a ^ b; break;
    case '|': x = a | b; break;
    case P_ANDAND: set_int(v, a && b, false); return true;
    default: set_int(v, a || b, false); return true;
    }
    set_int(v, x, u);
    return true;
}

static bool
expr(struct parser *p, struct const_value *v, unsigned min, unsigned depth, bool allow_sym)
{
    if (!unary(p, v, depth, allow_sym))
        return false;
    for (unsigned prec; (prec = precedence(p)) != 0 && prec > min;) {
        struct token op = p->tok;
        struct const_value r;
        ptx_next(p);
        if (op.punct == '?') {
            struct const_value a, b;
            if (v->sym)
                return ptx_error_at(p, op.line, op.column, 3063, "this operator does not apply to an address");
            if (!expr(p, &a, 0, depth + 1, allow_sym) || !ptx_expect(p, ':', "in a conditional expression") ||
                !expr(p, &b, 0, depth + 1, allow_sym))
                return false;
            bool take = v->is_float ? value_double(v) != 0 : v->bits != 0;
            bool u = !a.is_float && !b.is_float && (a.is_unsigned || b.is_unsigned);
            *v = take ? a : b;
            v->is_unsigned = v->is_unsigned || u;
            continue;
        }
        if (!expr(p, &r, prec, depth + 1, allow_sym))
            return false;
        if (v->sym || r.sym) {
            bool add = op.punct == '+', sub = op.punct == '-';
            if ((!add && !sub) || (v->sym && r.sym) || (r.sym && sub) || v->is_float || r.is_float)
                return ptx_error_at(p, op.line, op.column, 3063, "only an integer can be added to or subtracted from an address");
            if (r.sym) {
                r.bits += v->bits;
                *v = r;
            } else {
                v->bits = add ? v->bits + r.bits : v->bits - r.bits;
            }
        } else if (v->is_float || r.is_float) {
            if (!float_binary(p, v, op.punct, &r, &op))
                return false;
        } else if (!int_binary(p, v, op.punct, &r, &op)) {
            return false;
        }
    }
    return true;
}

bool
ptx_parse_const(struct parser *p, struct const_value *v, bool allow_sym)
{
    return expr(p, v, 0, 0, allow_sym);
}

bool
ptx_parse_int(struct parser *p, uint64_t *v, const char *what)
{
    struct const_value c;
    struct token at = p->tok;
    if (!expr(p, &c, 0, 0, false))
        return false;
    if (c.is_float)
        return ptx_error_at(p, at.line, at.column, 3066, "%s is an integer", what);
    *v = c.bits;
    return true;
}

/* The N of <N>: not an expression, since comparison operators would swallow the bracket. */
bool
ptx_parse_count(struct parser *p, uint64_t *v)
{
    struct const_value c;
    struct token at = p->tok;
    if (!expr(p, &c, 8, 0, false))
        return false;
    if (c.is_float)
        return ptx_error_at(p, at.line, at.column, 3066, "a count is an integer");
    *v = c.bits;
    return true;
}

/* ---- initialisers ---- */

struct init {
    struct ptx_symbol *s;
    uint32_t elem;              /* bytes of an element */
    const uint64_t *dims;       /* dims[0] is UINT64_MAX when open */
    unsigned ndims;
};

static bool
ensure_size(struct parser *p, uint64_t end)
{
    if (end > MAX_INIT)
        return ptx_error(p, 6003, "an initialiser of more than %d bytes", MAX_INIT);
    if (end > p->bytes.n) {
        uint32_t more = (uint32_t)end - p->bytes.n;
        VEC_GROW(p, p->bytes, more);
        memset(p->bytes.at + p->bytes.n, 0, more);      /* of earlier initialisers */
        p->bytes.n += more;
    }
    return true;
}

static uint16_t
half_of_double(double d)
{
    _Float16 h = (_Float16)d;
    uint16_t u;
    memcpy(&u, &h, 2);
    return u;
}

static bool
store(struct parser *p, struct init *n, uint64_t offset, const struct const_value *v, const struct token *at)
{
    uint64_t bits = v->bits;
    enum ptx_type_class cls = ptx_type_class(n->s->type);
    if (!ensure_size(p, offset + n->elem))
        return false;
    if (v->sym) {
        if (cls == PTX_CLASS_FLOAT || cls == PTX_CLASS_PRED)
            return ptx_error_at(p, at->line, at->column, 3067, "an address in a variable of type .%s", ptx_type_name(n->s->type));
        struct ptx_reloc r = { .offset = offset, .target = v->sym, .addend = (int64_t)v->bits, .generic = v->generic,
                               .width = v->mask_width ? v->mask_width : (uint8_t)n->elem,
                               .shift = v->mask_width ? v->mask_shift : 0 };
        VEC_PUSH(p, p->relocs, r);
        return true;
    }
    if (cls == PTX_CLASS_FLOAT) {
        if (n->s->type == PTX_F64) {
            double d = value_double(v);
            memcpy(&bits, &d, 8);
            if (v->is_float && !v->is_f32)
                bits = v->bits;         /* keeps the payload of a NaN */
        } else if (n->s->type == PTX_F32) {
            float f = (float)value_double(v);
            uint32_t w;
            memcpy(&w, &f, 4);
            bits = v->is_float && v->is_f32 ? v->bits : w;
        } else if (n->s->type == PTX_F16 && v->is_float) {
            bits = half_of_double(value_double(v));
        } else if (v->is_float) {
            return ptx_error_at(p, at->line, at->column, 3068, "a float constant for a variable of type .%s", ptx_type_name(n->s->type));
        }
    } else if (v->is_float && cls == PTX_CLASS_BITS && n->elem == (v->is_f32 ? 4u : 8u)) {
        bits = v->bits;
    } else if (v->is_float) {
        return ptx_error_at(p, at->line, at->column, 3068, "a float constant for a variable of type .%s", ptx_type_name(n->s->type));
    }
    for (uint32_t i = 0; i < n->elem && i < 8; i++)
        p->bytes.at[offset + i] = (uint8_t)(bits >> (8 * i));
    return true;
}

static bool
level(struct parser *p, struct init *n, unsigned d, uint64_t offset, uint64_t extent)
{
    if (!ptx_expect(p, '{', "to open an initialiser"))
        return false;
    uint64_t stride = n->elem, limit = extent;
    for (unsigned i = d + 1; i < n->ndims; i++)
        stride *= n->dims[i];
    uint64_t count = 0;
    while (!is_punct(p, '}')) {
        struct token here = p->tok;
        if (limit != UINT64_MAX && stride && offset + count * n->elem >= offset + limit && !is_punct(p, '{'))
            return ptx_error(p, 3069, "more initialisers than elements");
        if (is_punct(p, '{')) {
            if (d + 1 >= n->ndims || !stride)
                return ptx_error(p, 3070, "braces nested deeper than the array");
            /* braces start at the next row */
            uint64_t row = (count * n->elem + stride - 1) / stride;
            if (limit != UINT64_MAX && row * stride >= limit)
                return ptx_error(p, 3069, "more initialisers than elements");
            if (!level(p, n, d + 1, offset + row * stride, stride))
                return false;
            count = (row + 1) * stride / n->elem;
            if (!ensure_size(p, offset + count * n->elem))
                return false;
        } else {
            struct const_value v;
            if (!ptx_parse_const(p, &v, true) || !store(p, n, offset + count * n->elem, &v, &here))
                return false;
            count++;
        }
        if (!accept(p, ','))
            break;
    }
    return ptx_expect(p, '}', "to close an initialiser");
}

bool
ptx_parse_initialiser(struct parser *p, struct ptx_symbol *s, const uint64_t *dims, unsigned ndims, unsigned vec)
{
    struct init n = { .s = s, .elem = ptx_type_bits(s->type) / 8, .dims = dims, .ndims = ndims };
    struct token at = p->tok;
    bool open = ndims && dims[0] == UINT64_MAX;
    p->relocs.n = p->bytes.n = 0;
    if (!n.elem)
        return ptx_error(p, 3071, "a variable of type .%s has no initialiser", ptx_type_name(s->type));
    if (p->tok.kind == T_STRING) {
        if (n.elem != 1 || !ndims)
            return ptx_error(p, 3072, "a string initialises an array of bytes");
        const char *q = p->tok.s, *e = q + p->tok.len;
        uint64_t i = 0;
        for (; q < e; i++) {
            unsigned char c = (unsigned char)*q++;
            if (c == '\\' && q < e) {
                c = (unsigned char)*q++;
                if (c >= '0' && c <= '7') {
                    unsigned v = c - '0';
                    for (int k = 0; k < 2 && q < e && *q >= '0' && *q <= '7'; k++)
                        v = v * 8 + (unsigned)(*q++ - '0');
                    c = (unsigned char)v;
                } else {
                    c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
                }
            }
            if (!open && i >= s->size)
                return ptx_error_at(p, at.line, at.column, 3069, "more initialisers than elements");
            if (!ensure_size(p, i + 1))
                return false;
            p->bytes.at[i] = c;
        }
        if (open && !ensure_size(p, i + 1))
            return false;
        ptx_next(p);
    } else if (!ndims && vec <= 1 && !is_punct(p, '{')) {
        struct const_value v;
        if (!ptx_parse_const(p, &v, true) || !store(p, &n, 0, &v, &at))
            return false;
    } else {
        /* a vector is one more dimension */
        uint64_t all[MAX_DIMS + 1];
        unsigned k = 0;
        for (; k < ndims; k++)
            all[k] = dims[k];
        if (vec > 1 || !ndims)
            all[k++] = vec > 1 ? vec : 1;
        n.dims = all;
        n.ndims = k;
        if (!level(p, &n, 0, 0, open ? UINT64_MAX : s->size))
            return false;
    }
    if (open) {
        uint64_t stride = (uint64_t)n.elem * (vec ? vec : 1);
        for (unsigned i = 1; i < ndims; i++)
            stride *= dims[i];
        s->size = stride ? (p->bytes.n + stride - 1) / stride * stride : 0;
        s->unsized = false;
    }
    if (s->size > MAX_INIT)
        return ptx_error_at(p, at.line, at.column, 6003, "an initialised variable of more than %d bytes", MAX_INIT);
    if ((p->total_init += s->size) > MAX_MODULE_INIT)
        return ptx_error_at(p, at.line, at.column, 6012, "more than %d bytes of initialised variables in a module", MAX_MODULE_INIT);
    uint8_t *bytes = cw_arena_alloc(p->arena, s->size ? s->size : 1);
    if (p->bytes.n)
        memcpy(bytes, p->bytes.at, p->bytes.n < s->size ? p->bytes.n : s->size);
    s->init = bytes;
    if (p->relocs.n) {
        s->relocs = ptx_copy(p, p->relocs.at, p->relocs.n, sizeof *p->relocs.at);
        s->nrelocs = p->relocs.n;
    }
    return true;
}
