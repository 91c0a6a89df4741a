/* SPDX-License-Identifier: Apache-2.0
 * Prints docs/ptx-coverage.md. Forms with one name and the same answers share a row; a form that differs has a row of its own. */
#include "tools/ptxgen/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { uint16_t first; const char *title; } sections[] = {
    { PTX_OP_ADD, "Integer arithmetic, extended precision, and what floats share with it (PTX ISA 9.7.1 - 9.7.5)" },
    { PTX_OP_TESTP, "Floating point (9.7.3 - 9.7.5)" },
    { PTX_OP_SET, "Comparison and selection (9.7.6, 9.7.7)" },
    { PTX_OP_AND, "Logic and shift (9.7.8)" },
    { PTX_OP_MOV, "Data movement and conversion (9.7.9)" },
    { PTX_OP_TEX, "Textures and surfaces (9.7.10, 9.7.11)" },
    { PTX_OP_BRA, "Control flow (9.7.12)" },
    { PTX_OP_BAR, "Synchronisation and communication (9.7.13)" },
    { PTX_OP_WMMA_LOAD, "Matrices (9.7.14 - 9.7.16)" },
    { PTX_OP_STACKSAVE, "Stack, video, miscellaneous (9.7.17 - 9.7.19)" },
};

struct row {
    uint32_t *form, count;
};

/* A form's name in the table: with its operands where forms of several shapes share the name. */
static const char *
name_of(struct cov_list *l, const struct cov_form *x)
{
    for (uint32_t i = 0; i < l->count && !x->sreg; i++) {
        const struct cov_form *o = &l->at[i];
        if (o->op == x->op && !o->sreg && !strcmp(o->label, x->label) && strcmp(o->shape, x->shape) && !x->raw) {
            const char *s = cw_arena_printf(&l->arena, "%s %s", x->label, x->shape);
            l->failed = l->failed || !s;
            return s ? s : "";
        }
    }
    return x->label;
}

static bool
same_answer(const struct cov_form *a, const struct cov_form *b)
{
    for (int t = 0; t < TARGETS; t++)
        if (!a->refused[t] != !b->refused[t] || (a->refused[t] && strcmp(a->refused[t], b->refused[t])))
            return false;
    return true;
}

/* The types of a row: "{a,b}.{c,d}" where all combinations exist, else one group for each first type. */
static void
print_types(const struct cov_list *l, const struct row *r, struct cw_buf *out)
{
    if (r->count == 1) {
        cw_buf_puts(out, l->at[r->form[0]].types);
        return;
    }
    /* The forms are sorted, so those with one first type are neighbours. */
    for (uint32_t i = 0, next; i < r->count; i = next) {
        const char *t = l->at[r->form[i]].types;
        size_t n = strcspn(t, ".");
        next = i + 1;
        while (next < r->count && strcspn(l->at[r->form[next]].types, ".") == n && !memcmp(l->at[r->form[next]].types, t, n))
            next++;
        cw_buf_puts(out, i ? ", " : "");
        if (next == i + 1 || !t[n]) {
            cw_buf_puts(out, t);
            continue;
        }
        cw_buf_printf(out, "%.*s.{", (int)n, t);
        for (uint32_t k = i; k < next; k++)
            cw_buf_printf(out, "%s%s", k > i ? "," : "", l->at[r->form[k]].types + n + 1);
        cw_buf_puts(out, "}");
    }
}

static uint32_t
footnote(const char **notes, uint32_t *count, const char *text)
{
    for (uint32_t i = 0; i < *count; i++)
        if (!strcmp(notes[i], text))
            return i + 1;
    notes[(*count)++] = text;
    return *count;
}

static void
print_row(struct cov_list *l, const struct row *r, const char **notes, uint32_t *nnotes, struct cw_buf *out)
{
    const struct cov_form *x = &l->at[r->form[0]];
    cw_buf_printf(out, "| `%s` | ", name_of(l, x));
    print_types(l, r, out);
    for (int t = 0; t < TARGETS; t++) {
        if (x->refused[t])
            cw_buf_printf(out, " | no (%u)", footnote(notes, nnotes, x->refused[t]));
        else
            cw_buf_puts(out, " | yes");
    }
    cw_buf_puts(out, " | ");
    /* The tests of all these forms, each once; beyond three only their number. */
    uint32_t shown = 0, tested = 0, total = 0;
    bool *seen = calloc(l->nfiles + 1, sizeof *seen);
    if (!seen) {
        l->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const struct cov_form *f = &l->at[r->form[i]];
        tested += f->nfiles > 0;
        for (uint32_t k = 0; k < f->nfiles; k++) {
            if (seen[f->files[k]])
                continue;
            seen[f->files[k]] = true;
            if (++total <= 3)
                cw_buf_printf(out, "%s%s", shown++ ? ", " : "", l->file[f->files[k]]);
        }
    }
    if (total > 3)
        cw_buf_printf(out, " and %u more", total - 3);
    if (tested && tested < r->count)
        cw_buf_printf(out, " (%u of %u)", tested, r->count);
    cw_buf_puts(out, " |\n");
    free(seen);
}

static void
print_section(struct cov_list *l, const char *title, uint32_t from, uint32_t to, struct cw_buf *out)
{
    const char **notes = calloc((to - from) * TARGETS + 1, sizeof *notes);
    bool *done = calloc(to - from + 1, sizeof *done);
    uint32_t *members = calloc(to - from + 1, sizeof *members), nnotes = 0;
    if (!notes || !done || !members) {
        l->failed = true;
        goto out;
    }
    cw_buf_printf(out, "\n## %s\n\n| form | types | host | nvptx | amdgcn | tests |\n|---|---|---|---|---|---|\n", title);
    for (uint32_t i = from; i < to; i++) {
        struct row r = { members, 0 };
        if (done[i - from])
            continue;
        for (uint32_t k = i; k < to; k++)
            if (!done[k - from] && l->at[k].op == l->at[i].op && !strcmp(l->at[k].label, l->at[i].label) && l->at[k].raw == l->at[i].raw &&
                !strcmp(l->at[k].shape, l->at[i].shape) && same_answer(&l->at[i], &l->at[k])) {
                done[k - from] = true;
                members[r.count++] = k;
            }
        print_row(l, &r, notes, &nnotes, out);
    }
    if (nnotes)
        cw_buf_puts(out, "\nRefused with:\n\n");
    for (uint32_t i = 0; i < nnotes; i++)
        cw_buf_printf(out, "%u. %s\n", i + 1, notes[i]);
out:
    free(notes);
    free(done);
    free(members);
}

static uint32_t
first_form(const struct cov_list *l, unsigned op)
{
    uint32_t i = 0;
    while (i < l->count && !l->at[i].sreg && l->at[i].op < op)
        i++;
    return i;
}

static void
print_totals(const struct cov_list *l, struct cw_buf *out)
{
    uint32_t emitted[TARGETS] = { 0 }, tested[TARGETS] = { 0 };
    for (uint32_t i = 0; i < l->count; i++)
        for (int t = 0; t < TARGETS; t++) {
            emitted[t] += !l->at[i].refused[t];
            tested[t] += !l->at[i].refused[t] && l->at[i].nfiles;
        }
    cw_buf_puts(out, "| target | forms | emitted | of these with a test | refused by name |\n|---|---|---|---|---|\n");
    for (int t = 0; t < TARGETS; t++)
        cw_buf_printf(out, "| %s%s%s | %u | %u | %u | %u |\n", cov_targets[t].name, cov_targets[t].cpu ? ", " : "",
                      cov_targets[t].cpu ? cov_targets[t].cpu : "", l->count, emitted[t], tested[t], l->count - emitted[t]);
}

/* The columns of ops.def, in the page's order of targets. */
#define ON(host, amdgcn, nvptx) { host, nvptx, amdgcn }
#define BY(f) "`" #f "`"
#define NO(why) "no: " why
#define OP(symbol, mnemonic, ndst, ptx, sm, traits, types, mods, sig, emitters) { mnemonic, emitters },
static const struct emitters {
    const char *mnemonic, *of[TARGETS];
} emitters[] = {
#include "jit/ptx/ops.def"
};
#undef OP
#undef NO
#undef BY
#undef ON

static bool
same_emitters(const struct emitters *a, const struct emitters *b)
{
    for (int t = 0; t < TARGETS; t++)
        if (strcmp(a->of[t], b->of[t]))
            return false;
    return true;
}

/* Opcodes with the same emitters share a row. */
static void
print_emitters(struct cw_buf *out)
{
    const size_t n = sizeof emitters / sizeof *emitters;
    cw_buf_puts(out, "\n## Where an opcode is emitted\n\nThe functions of `jit/emit` that `jit/ptx/ops.def` names, each in the file that\n"
                     "`grep -rn ^NAME jit/emit` finds.\n\n| opcodes | host | nvptx | amdgcn |\n|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !same_emitters(&emitters[k], &emitters[i]);
        if (!first)
            continue;
        for (size_t k = i; k < n; k++)
            if (same_emitters(&emitters[k], &emitters[i]))
                cw_buf_printf(out, "%s`%s`", k == i ? "| " : ", ", emitters[k].mnemonic);
        for (int t = 0; t < TARGETS; t++)
            cw_buf_printf(out, " | %s", emitters[i].of[t]);
        cw_buf_puts(out, " |\n");
    }
}

/* Is the form's line in the list of exceptions? A line is a form's text, or the beginning of some, which ends in '*'. */
static bool
excepted(const char *list, const char *text)
{
    for (const char *p = list, *end; *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        size_t n = strcspn(p, "#\n");
        while (n && p[n - 1] == ' ')
            n--;
        if (n && (p[n - 1] == '*' ? !strncmp(text, p, n - 1) : strlen(text) == n && !memcmp(text, p, n)))
            return true;
    }
    return false;
}

static bool
print_untested(struct cov_list *l, const char *untested, struct cw_buf *out)
{
    uint32_t excuses = 0, count = 0;
    struct cw_buf b;
    cw_buf_init(&b);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct cov_form *x = &l->at[i];
        if (x->nfiles || (x->refused[0] && x->refused[1] && x->refused[2]))
            continue;
        if (excepted(untested, x->text)) {
            excuses++;
            continue;
        }
        cw_buf_printf(&b, "    %s\n", x->text);
        count++;
    }
    if (count)
        cw_buf_printf(out, "\n## Without a test: %u\n\nEmitted for a target, and executed by no test of the corpus.\n\n%s", count, b.data);
    if (excuses)
        cw_buf_printf(out, "\n## Without a test, on purpose: %u\n\n`tools/ptxgen/untested.txt` lists them with the reasons.\n", excuses);
    l->failed = l->failed || b.failed;
    cw_buf_finish(&b);
    return !count;
}

bool
cov_print(struct cov_list *l, const char *untested, struct cw_buf *out)
{
    cw_buf_puts(out,
        "# Coverage of the PTX ISA\n\n"
        "Generated by `cudaway-ptxgen coverage` (`ninja cudaway-ptx-coverage-update`); a test fails when it is stale. The forms\n"
        "(`tools/ptxgen/forms.txt`: each type with the fewest modifiers, then each modifier once, where NVIDIA's assembler accepts the\n"
        "instruction) are compiled for each target, and the row has the emitter's answer. The last column names the tests of\n"
        "`tests/ptx/isa` that contain the form (loads, stores and atomics may have further modifiers). \"3 of 5\": only three of the row's\n"
        "types. `host:O0` uses host's emitter. `nvptx` is our translation on NVIDIA's driver (`cuda`). `docs/diagnostics.md` explains the\n"
        "diagnostic codes, `docs/ptx-left-out.md` why forms are left out. A test also fails when a row of the opcode table names an\n"
        "emitter for a target that refuses all of its forms, or names none for a target that emits one.\n\n");
    print_totals(l, out);
    size_t n = sizeof sections / sizeof *sections;
    uint32_t sregs = 0;
    while (sregs < l->count && !l->at[sregs].sreg)
        sregs++;
    for (size_t i = 0; i < n; i++)
        print_section(l, sections[i].title, first_form(l, sections[i].first), i + 1 < n ? first_form(l, sections[i + 1].first) : sregs, out);
    print_section(l, "Special registers (10)", sregs, l->count, out);
    print_emitters(out);
    bool all = print_untested(l, untested, out);
    l->failed = l->failed || out->failed;
    return all;
}
