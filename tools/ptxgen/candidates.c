/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptxgen candidates: instructions that the opcode table's columns allow. Every combination of types with the fewest
 * modifiers that our checker accepts, then the same with each modifier of the row's groups, with a second destination, with all
 * operands. They include more than PTX: tests/ptx/author/forms.py keeps those that NVIDIA's assembler accepts, which are
 * forms.txt. */
#include "tools/ptxgen/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Combinations of modifiers that some types need; single ones are tried for all. */
static const struct { uint16_t op; const char *words; } pairs[] = {
    { PTX_OP_CVT, "rn.satfinite" }, { PTX_OP_CVT, "rna" }, { PTX_OP_CVT, "rn.relu" },
};
/* Modifiers that another one may need beside it. */
static const char *const helpers[] = { "gpu", "relaxed", "rn", "global", "to", "and", "acquire", "release" };

#define MAX_WORDS 6

struct attempt {
    const struct op_row *row;
    uint16_t op;
    uint8_t type[PTX_MAX_TYPES];
    uint16_t word[MAX_WORDS];
    unsigned nwords;
    unsigned optional;          /* number of optional operands that are present */
    bool pair;
};

/* ---- text of a form --------------------------------------------------------------------------------------------------------- */

const char *
cov_register(unsigned bits)
{
    return bits == 1 ? "%p" : bits <= 16 ? "%h" : bits <= 32 ? "%r" : bits <= 64 ? "%l" : "%x";
}

static bool
uses(const struct attempt *a, const char *word)
{
    for (unsigned i = 0; i < a->nwords; i++)
        if (!strcmp(ptx_mod_words[a->word[i]].word, word))
            return true;
    return false;
}

static void
put_operand(const struct attempt *a, char role, char type, unsigned number, struct cw_buf *out)
{
    unsigned bits = type == 'p' ? 1 : type == 'u' ? 32 : type == 'q' || type == 'x' ? 64 : 0;
    unsigned vec = uses(a, "v2") ? 2 : uses(a, "v4") ? 4 : uses(a, "v8") ? 8 : 1;
    if (!bits) {
        bits = ptx_type_bits(a->type[type == 'w' ? 0 : type - '0']);
        if (type == 'w' && uses(a, "wide"))
            bits *= 2;
        if (a->type[0] == PTX_NONE && bits == 0)
            bits = 32;
    }
    if (a->op == PTX_OP_CVT && bits < 32 && (a->type[type - '0'] == PTX_U4 || a->type[type - '0'] == PTX_S4))
        bits = 32;
    const char *reg = cov_register(bits);
    unsigned first = bits == 128 ? 1 : number;
    switch (role) {
    case 'a':
        cw_buf_printf(out, "[%%l%u]", number);
        break;
    case 'i':
        cw_buf_puts(out, "1");
        break;
    case 'l':
        cw_buf_puts(out, "L");
        break;
    case 't':
        cw_buf_puts(out, "table");
        break;
    case 'v':
        if (vec == 1) {
            cw_buf_printf(out, "%s%u", reg, first);
            break;
        }
        for (unsigned i = 0; i < vec; i++)
            cw_buf_printf(out, "%s%s%u%s", i ? ", " : "{", reg, bits == 128 ? 1 + i % 3 : 1 + i, i + 1 == vec ? "}" : "");
        break;
    case 'k':
        cw_buf_printf(out, a->pair ? "%s%u|%%p7" : "%s%u", reg, first);
        break;
    default:
        cw_buf_printf(out, "%s%u", reg, first);
    }
}

static void
put_attempt(const struct attempt *a, struct cw_buf *out)
{
    unsigned optional = 0, n = 0;
    cw_buf_puts(out, a->row->info.mnemonic);
    for (unsigned i = 0; i < a->nwords; i++)
        cw_buf_printf(out, ".%s", ptx_mod_words[a->word[i]].word);
    for (unsigned i = 0; i < a->row->ntypes; i++)
        if (a->type[i] != PTX_NONE)
            cw_buf_printf(out, ".%s", ptx_type_name(a->type[i]));
    for (const char *s = a->row->sig; *s;) {
        bool may = s[2] == '?';
        if (!may || optional++ < a->optional) {
            cw_buf_puts(out, n ? ", " : " ");
            put_operand(a, s[0], s[1], ++n, out);
        }
        s += 2 + may;
        s += *s == ',';
    }
}

static bool
parses(struct cov_list *l, const struct attempt *a, bool print)
{
    struct cw_buf b;
    const struct ptx_function *fn;
    cw_buf_init(&b);
    put_attempt(a, &b);
    const struct ptx_inst *in = b.failed ? NULL : cov_parse_inst(l, b.data, &fn, NULL);
    bool ok = in && in->op == a->op && !(in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT);
    if (ok && print) {      /* the assembler requires modifiers in the manual's order, which the printer uses */
        const char *token = cov_token(&l->arena, fn, in);
        printf("%s: %s%s\n", cov_op_symbol(a->op), token ? token : "", b.data + strcspn(b.data, " "));
    }
    cw_buf_finish(&b);
    cov_drop_last(l, in);
    return ok;
}

/* Is it valid, with as few of the optional operands as possible? */
static bool
valid(struct cov_list *l, struct attempt *a)
{
    unsigned optional = 0;
    for (const char *s = a->row->sig; *s; s++)
        optional += *s == '?';
    for (a->optional = 0; a->optional <= optional; a->optional++)
        if (parses(l, a, false))
            return true;
    a->optional = 0;
    return false;
}

/* ---- from a row of the table ------------------------------------------------------------------------------------------------ */

static bool
in_groups(const struct op_row *row, unsigned word)
{
    return (row->mods & ptx_mod_words[word].group) != 0;
}

/* Another spelling of an earlier word, or another meaning that this opcode does not use. */
static bool
is_alias(const struct op_row *row, unsigned word)
{
    const struct mod_word *w = &ptx_mod_words[word];
    for (unsigned i = 0; i < word; i++) {
        const struct mod_word *o = &ptx_mod_words[i];
        if (!in_groups(row, i))
            continue;
        if (!strcmp(o->word, w->word) || (o->group == w->group && o->field == w->field && o->value == w->value && o->shift == w->shift))
            return true;
    }
    return false;
}

static unsigned
split(const char *words, const struct op_row *row, uint16_t *out)
{
    unsigned n = 0;
    while (*words && n < MAX_WORDS) {
        size_t length = strcspn(words, ".");
        for (unsigned i = 0; i < ptx_mod_word_count; i++)
            if (in_groups(row, i) && strlen(ptx_mod_words[i].word) == length && !memcmp(ptx_mod_words[i].word, words, length)) {
                out[n++] = (uint16_t)i;
                break;
            }
        words += length + (words[length] == '.');
    }
    return n;
}

/* The fewest modifiers with which these types are valid. */
static bool
find_base(struct cov_list *l, struct attempt *a)
{
    a->nwords = 0;
    if (valid(l, a))
        return true;
    for (unsigned i = 0; i < ptx_mod_word_count; i++) {
        if (!in_groups(a->row, i) || is_alias(a->row, i))
            continue;
        a->word[0] = (uint16_t)i;
        a->nwords = 1;
        if (valid(l, a))
            return true;
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].op != a->op)
            continue;
        a->nwords = split(pairs[i].words, a->row, a->word);
        if (valid(l, a))
            return true;
    }
    return false;
}

static bool
same_field(unsigned a, unsigned b)
{
    const struct mod_word *x = &ptx_mod_words[a], *y = &ptx_mod_words[b];
    return x->field == y->field && x->field != MF_FLAG && (x->field != MF_AUX || x->shift == y->shift);
}

/* With one modifier more: alone, beside the base, in place of the base's of its kind, and each with a helper. */
static void
add_word(struct cov_list *l, const struct attempt *base, unsigned word)
{
    struct attempt a = *base;
    for (unsigned helper = 0; helper <= sizeof helpers / sizeof *helpers; helper++) {
        uint16_t extra[1];
        unsigned nextra = helper ? split(helpers[helper - 1], base->row, extra) : 0;
        if (helper && (!nextra || extra[0] == word))
            continue;
        for (int with_base = 0; with_base < 2; with_base++) {
            a.nwords = 0;
            for (unsigned i = 0; with_base && i < base->nwords; i++)
                if (!same_field(base->word[i], word) && (!nextra || !same_field(base->word[i], extra[0])))
                    a.word[a.nwords++] = base->word[i];
            if (a.nwords + nextra + 1 > MAX_WORDS)
                continue;
            if (nextra)
                a.word[a.nwords++] = extra[0];
            a.word[a.nwords++] = (uint16_t)word;
            if (valid(l, &a)) {
                parses(l, &a, true);
                return;
            }
        }
    }
}

static void
add_types(struct cov_list *l, struct attempt *a)
{
    if (!find_base(l, a))
        return;
    struct attempt base = *a;
    parses(l, a, true);
    for (unsigned i = 0; i < ptx_mod_word_count; i++) {
        bool in_base = false;
        for (unsigned k = 0; k < base.nwords; k++)
            in_base = in_base || base.word[k] == i;
        if (in_groups(a->row, i) && !is_alias(a->row, i) && !in_base)
            add_word(l, &base, i);
    }
    if (strchr(a->row->sig, 'k')) {
        *a = base;
        a->pair = true;
        parses(l, a, true);
    }
    unsigned optional = 0;
    for (const char *s = a->row->sig; *s; s++)
        optional += *s == '?';
    if (optional > base.optional) {
        *a = base;
        a->optional = optional;
        parses(l, a, true);
    }
}

static void
each_type(struct cov_list *l, struct attempt *a, unsigned position)
{
    if (position == a->row->ntypes) {
        struct attempt copy = *a;
        add_types(l, &copy);
        return;
    }
    uint64_t set = a->row->types[position];
    unsigned count = 0;
    for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
        count += set >> t & 1;
    if (set & S_OPT) {
        a->type[position] = PTX_NONE;
        each_type(l, a, position + 1);
        if (count > 6)      /* cvt's third type, which no form needs */
            return;
    }
    for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
        if (set >> t & 1) {
            a->type[position] = (uint8_t)t;
            each_type(l, a, position + 1);
        }
    a->type[position] = PTX_NONE;
}

void
cov_candidates(struct cov_list *l)
{
    for (unsigned op = 1; op < PTX_OP_COUNT && !l->failed; op++) {
        const struct op_row *row = &ptx_op_rows[op];
        struct attempt a = { .row = row, .op = (uint16_t)op };
        if (!(row->mods & M_RAW) && row->sig[0] != '*')
            each_type(l, &a, 0);
    }
}
