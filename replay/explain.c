/* SPDX-License-Identifier: Apache-2.0
 * See explain.h. First what another compiler or another setting computes otherwise, each time in the same way: a variant that gives the recorded
 * results to the bit explains them. Then what may be otherwise at any time: orders of threads, contents of memory that nobody wrote. An
 * element whose value changes with these cannot be expected to be the recorded one; only elements that do are explained so. */
#define _GNU_SOURCE
#include "replay/explain_private.h"

#include "impl/base/temp.h"
#include "replay/analyze.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/tar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAME = 0, EXPLAINED = 1, TROUBLE = 2 };

/* ---- elements ---------------------------------------------------------------------------------------------------------------- */

unsigned
explain_width(const struct explain *x, uint32_t content)
{
    const struct cwd_dump *d = &x->base.dump;
    return content < d->nbuffers ? cwd_element_width(&d->buffers[content]) : 1;
}

static bool
count_elements(struct explain *x)
{
    const struct cwd_dump *d = &x->base.dump;
    x->start = calloc(d->nbuffers + d->narrays + (size_t)2, sizeof *x->start);
    if (!x->start)
        return false;
    for (uint32_t c = 0; c < d->nbuffers + d->narrays; c++) {
        x->start[c] = x->elements;
        x->elements += c < d->nbuffers ? d->buffers[c].size / explain_width(x, c) : d->arrays[c - d->nbuffers].size;
    }
    x->start[d->nbuffers + d->narrays] = x->elements;
    return true;
}

uint32_t
explain_content(const struct explain *x, uint64_t element, uint64_t *index)
{
    uint32_t c = 0;
    while (x->start[c + 1] <= element)
        c++;
    *index = element - x->start[c];
    return c;
}

bool
set_init(const struct explain *x, struct set *s)
{
    *s = (struct set){ .in = calloc(x->elements + 1, 1) };
    return s->in;
}

static const uint8_t *
content(const struct cwd_dump *d, uint32_t c)
{
    return c < d->nbuffers ? d->buffers[c].after : d->arrays[c - d->nbuffers].after;
}

void
explain_compare(const struct explain *x, const struct cwd_dump *a, const struct cwd_dump *b, struct set *s)
{
    const struct cwd_dump *d = &x->base.dump;
    for (uint32_t c = 0; c < d->nbuffers + d->narrays; c++) {
        const uint8_t *p = content(a, c), *q = content(b, c);
        unsigned width = explain_width(x, c);
        uint64_t n = x->start[c + 1] - x->start[c];
        if (!p || !q || !memcmp(p, q, n * width))
            continue;
        for (uint64_t i = 0; i < n; i++) {
            uint8_t *in = &s->in[x->start[c] + i];
            if (!*in && memcmp(p + i * width, q + i * width, width)) {
                *in = 1;
                s->count++;
            }
        }
    }
}

static bool
within(const struct explain *x, const struct set *a, const struct set *b)
{
    for (uint64_t i = 0; i < x->elements; i++)
        if (a->in[i] && !b->in[i])
            return false;
    return true;
}

/* ---- trying ------------------------------------------------------------------------------------------------------------------ */

enum tried
explain_try(struct explain *x, const struct cwv_variant *v, struct set *differs, struct cwl_side *side)
{
    struct cwl_side s = { 0 };
    x->runs++;
    cw_result r = cwv_open(&s, &x->base, v, &x->e);
    if (r == CW_OK)
        r = cwl_run(&s, &x->e);
    if (r == CW_OK)
        explain_compare(x, &x->base.dump, &s.result, differs);
    if (r == CW_OK && side)
        *side = s;
    else
        cwl_close(&s);
    return r == CW_OK ? TRIED : r == CW_ERR_NOMEM ? FAILED : NOT_POSSIBLE;
}

void
explain_place(const struct explain *x, const struct cwl_side *s, uint32_t id, char *out, size_t size)
{
    (void)x;
    cwi_place_text(&s->program, id, "", out, size);
}

/* ---- what is computed otherwise ---------------------------------------------------------------------------------------------- */

struct setting {
    const char *cause, *text;
    struct cwv_variant v;
    bool matrix, gpu;                   /* only for kernels with matrix instructions; on devices that are no host */
};

static const struct setting settings[] = {
    { "contraction", "", { .env = NULL }, .gpu = false },
    { "flush to zero", "when f32 instructions flush subnormal numbers to zero (.ftz)", { .flush = true } },
    { "precise division", "when division, reciprocal and square root are correctly rounded, not approximate (.approx, .full)", { .precise = true } },
    { "approximate division", "when division, reciprocal and square root are approximate (-prec-div=false, -prec-sqrt=false)", { .approximate = true } },
    { "native floats", "when floats have NVIDIA's bits (CUDAWAY_FLOATS=exact)", { .env = "CUDAWAY_FLOATS=exact" }, .gpu = true },
    { "native floats", "when approximate functions are the device's own (CUDAWAY_FLOATS=native:approx)", { .env = "CUDAWAY_FLOATS=native:approx" }, .gpu = true },
    { "native floats", "when subnormal numbers are the device's own (CUDAWAY_FLOATS=native:ftz)", { .env = "CUDAWAY_FLOATS=native:ftz" }, .gpu = true },
    { "native floats", "when NaN is the device's own (CUDAWAY_FLOATS=native:nan)", { .env = "CUDAWAY_FLOATS=native:nan" }, .gpu = true },
    { "native floats", "when floats follow the device's own rules (CUDAWAY_FLOATS=native)", { .env = "CUDAWAY_FLOATS=native" }, .gpu = true },
    { "native textures", "when textures are filtered as NVIDIA's (CUDAWAY_TEXTURES=exact)", { .env = "CUDAWAY_TEXTURES=exact" }, .gpu = true },
    { "native textures", "when textures are filtered by the device (CUDAWAY_TEXTURES=native)", { .env = "CUDAWAY_TEXTURES=native" }, .gpu = true },
    { "matrix sums", "when matrix instructions add in Volta's order", { .env = "CUDAWAY_MATRIX_MODEL=volta" }, .matrix = true },
    { "matrix sums", "when matrix instructions add in Turing's order", { .env = "CUDAWAY_MATRIX_MODEL=turing" }, .matrix = true },
    { "matrix sums", "when matrix instructions add in Ampere's order", { .env = "CUDAWAY_MATRIX_MODEL=ampere" }, .matrix = true },
    { "matrix sums", "when matrix instructions add in Ada's order", { .env = "CUDAWAY_MATRIX_MODEL=ada" }, .matrix = true },
    { "matrix sums", "when matrix instructions add in Hopper's order", { .env = "CUDAWAY_MATRIX_MODEL=hopper" }, .matrix = true },
    { "matrix sums", "when matrix instructions add in the device's own order", { .env = "CUDAWAY_MATRIX_MODEL=native" }, .matrix = true, .gpu = true },
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static bool
has_matrices(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (p->insts[i].in->op == PTX_OP_MMA || p->insts[i].in->op == PTX_OP_WMMA_MMA)
            return true;
    return false;
}

static int
explained(const struct explain *x, const struct setting *t, const uint8_t *fuse)
{
    printf("cause: %s: the results are equal to the bit %s%s%s\n", t->cause, t->text, fuse && *t->text ? ", and " : "",
           fuse ? "when these products and sums are fused, as NVIDIA's compiler may do it:" : "");
    if (fuse)
        explain_say_fused(x, fuse);
    return EXPLAINED;
}

static void
copy_set(const struct explain *x, struct set *to, const struct set *from)
{
    memcpy(to->in, from->in, x->elements);
    to->count = from->count;
}

/* A setting alone, then with what may be fused besides. */
static int
try_setting(struct explain *x, const struct setting *t, struct set *best, struct cwv_variant *with, struct set *now, uint8_t *fuse)
{
    struct cwv_variant v = t->v;
    memset(now->in, 0, x->elements);
    now->count = 0;
    if (explain_try(x, &v, now, NULL) != TRIED)
        return TROUBLE;
    if (!now->count)
        return explained(x, t, NULL);
    if (now->count < best->count) {
        copy_set(x, best, now);
        *with = v;
    }
    if (!x->nsums || !explain_fuse(x, &v, now, fuse))
        return TROUBLE;
    if (!now->count)
        return explained(x, t, fuse);
    if (now->count < best->count) {
        copy_set(x, best, now);
        memcpy(x->fuse, fuse, x->base.program.ninsts);
        *with = v;
        with->fuse = x->fuse;
    }
    return TROUBLE;
}

/* `best`: the fewest elements that differ, and with which variant. TROUBLE: nothing explains all. */
static int
try_settings(struct explain *x, struct set *best, struct cwv_variant *with)
{
    bool host = !x->base.on || !strncmp(x->base.on, "host", 4), matrices = has_matrices(&x->base.program);
    struct set now;
    uint8_t *fuse = calloc(x->base.program.ninsts + (size_t)1, 1);
    int status = TROUBLE;
    x->fuse = calloc(x->base.program.ninsts + (size_t)1, 1);
    bool ok = set_init(x, &now) && fuse && x->fuse && cwv_sums(&x->base.program, &x->sums, &x->nsums);
    for (unsigned i = 0; i < SETTINGS && ok && status == TROUBLE; i++)
        if ((!settings[i].gpu || !host) && (!settings[i].matrix || matrices))
            status = try_setting(x, &settings[i], best, with, &now, fuse);
    free(now.in);
    free(fuse);
    return status;
}

/* ---- what may be otherwise at any time --------------------------------------------------------------------------------------- */

struct chance {
    struct set order, fill, added;      /* elements that change with it; sums proven to be of another order */
    double *low, *high;                 /* of each element over all orders */
    struct cwc_report races;            /* of the launch, and reads of what nobody wrote */
    bool permuted;                      /* the elements that differ are the recorded ones at other places */
    char evidence[1000];
    bool checked;                       /* races is what the checks found */
};

static double
number(const struct explain *x, const struct cwd_dump *d, uint32_t c, uint64_t i)
{
    unsigned width = explain_width(x, c), type = c < d->nbuffers ? cwd_type_of(x->base.dump.buffers[c].element) : PTX_NONE;
    uint64_t v = 0;
    float f;
    double g;
    memcpy(&v, content(d, c) + i * width, width);
    memcpy(&f, &v, sizeof f);
    memcpy(&g, &v, sizeof g);
    return type == PTX_F32 ? (double)f : type == PTX_F64 ? g : (double)v;
}

static void
widen(const struct explain *x, struct chance *c, const struct cwd_dump *result)
{
    uint64_t index;
    for (uint64_t i = 0; i < x->elements; i++) {
        if (!c->order.in[i])
            continue;
        uint32_t k = explain_content(x, i, &index);
        double v = number(x, result, k, index);
        c->low[i] = v < c->low[i] ? v : c->low[i];
        c->high[i] = v > c->high[i] ? v : c->high[i];
    }
}

/* Run what is nearest to the recorded results again, changed by `v`: which elements change? */
static bool
vary(struct explain *x, const struct cwd_dump *result, const struct cwv_variant *v, struct set *changes, struct chance *order)
{
    struct cwl_side s;
    struct set differs;
    if (!set_init(x, &differs))
        return false;
    enum tried t = explain_try(x, v, &differs, &s);
    if (t == TRIED) {
        explain_compare(x, result, &s.result, changes);
        if (order) {
            widen(x, order, result);
            widen(x, order, &s.result);
        }
        cwl_close(&s);
    }
    free(differs.in);
    return t != FAILED;
}

static int
by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Are the elements that differ the same ones at other places? */
static bool
permuted(const struct explain *x, const struct cwd_dump *result, const struct set *differs)
{
    uint64_t n = 0, index;
    double *a = malloc((differs->count + 1) * sizeof *a), *b = malloc((differs->count + 1) * sizeof *b);
    for (uint64_t i = 0; i < x->elements && a && b; i++)
        if (differs->in[i]) {
            uint32_t k = explain_content(x, i, &index);
            a[n] = number(x, &x->base.dump, k, index);
            b[n++] = number(x, result, k, index);
        }
    bool same = a && b;
    if (same) {
        qsort(a, n, sizeof *a, by_number);
        qsort(b, n, sizeof *b, by_number);
        for (uint64_t i = 0; i < n && same; i++)
            same = a[i] == b[i];
    }
    free(a);
    free(b);
    return same;
}

static bool
try_chances(struct explain *x, struct cwl_side *near, const struct cwv_variant *with, const struct set *differs, struct chance *c)
{
    struct cwd_dump result = near->result;
    near->has_result = false;           /* kept here; the side may run again */
    bool ok = explain_atomics(x, near, differs, &c->added, c->evidence, sizeof c->evidence);
    for (unsigned k = 0; k <= CWV_ORDERS && ok; k++) {
        struct cwv_variant v = *with;
        v.order = k;
        ok = vary(x, &result, &v, &c->order, c);
    }
    for (unsigned k = CWV_ZEROS; k <= CWV_ONES && ok; k++) {
        struct cwv_variant v = *with;
        v.fill = (enum cwv_fill)k;
        ok = vary(x, &result, &v, &c->fill, NULL);
    }
    c->permuted = permuted(x, &result, differs);
    cwd_finish(&result);
    /* Where records cannot be put in, or the checked kernel does not run, there is no such evidence. */
    c->checked = ok && cwc_run(near, CWC_RACES | CWC_UNINITIALISED, &c->races, &x->e) == CW_OK;
    if (!c->checked)
        c->races.kinds = 0;
    return ok;
}

/* What orders of threads may have made: elements that change with them, to numbers about as far apart as the recorded one. */
static bool
by_order(const struct explain *x, const struct set *differs, const struct chance *c, bool same_elements)
{
    uint64_t index;
    for (uint64_t i = 0; i < x->elements; i++) {
        if (!differs->in[i] || c->added.in[i])
            continue;
        uint32_t k = explain_content(x, i, &index);
        double v = number(x, &x->base.dump, k, index), spread = c->high[i] - c->low[i];
        if (!c->order.in[i] || !(same_elements || (v >= c->low[i] - spread && v <= c->high[i] + spread)))
            return false;
    }
    return true;
}

static void
say_element(const struct explain *x, const struct set *s)
{
    char where[160];
    uint64_t i = 0, index;
    while (i < x->elements && !s->in[i])
        i++;
    uint32_t c = explain_content(x, i, &index);
    if (c < x->base.dump.nbuffers) {
        cwd_where(&x->base.dump, c, where, sizeof where);
        printf("  first at buffer %u, %s, index %" PRIu64 "\n", c, where, index);
    }
}

/* Does the kernel, or a function of its modules? */
static bool
adds_floats(const struct cwi_program *p, const char *kernel)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        const struct ptx_function *fn = p->insts[i].fn;
        if (fn->is_entry && strcmp(fn->sym->name, kernel))
            continue;
        if ((in->op == PTX_OP_ATOM || in->op == PTX_OP_RED) && ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT)
            return true;
    }
    return false;
}

static int
judge(struct explain *x, const struct set *differs, const struct chance *c, const struct cwv_variant *with)
{
    const char *also = with->fuse ? " besides those that fused products and sums explain" : "";
    if (within(x, differs, &c->added)) {
        printf("cause: order of atomics: all %" PRIu64 " elements that differ%s are sums of floats that threads add atomically, in an order that CUDA leaves open\n",
               differs->count, also);
        printf("  %s\n", c->evidence);
        return EXPLAINED;
    }
    struct set changes = { 0 };
    bool races = c->races.kinds & CWC_RACES;
    if (races && set_init(x, &changes)) {
        for (uint64_t i = 0; i < x->elements; i++)
            changes.in[i] = c->order.in[i] || c->added.in[i] || c->fill.in[i];
        races = within(x, differs, &changes);
    }
    free(changes.in);
    if (races) {
        printf("cause: race: all %" PRIu64 " elements that differ%s change with the order in which threads run, and threads race:\n", differs->count, also);
        say_element(x, differs);
        fputs(c->races.lines.data, stdout);
        return EXPLAINED;
    }
    /* Changed text may change the order in which floats are added, too: then only a read that the checks found is evidence. */
    bool stale = within(x, differs, &c->fill), ordered = by_order(x, differs, c, c->permuted);
    bool adds = adds_floats(&x->base.program, x->base.dump.kernel);
    if (stale && (c->races.kinds & CWC_UNINITIALISED || !(ordered || (adds && c->checked)))) {
        printf("cause: uninitialised: all %" PRIu64 " elements that differ%s change with what shared memory, local memory and registers hold when the kernel begins\n",
               differs->count, also);
        say_element(x, differs);
        if (c->races.kinds & CWC_UNINITIALISED)
            fputs(c->races.lines.data, stdout);
        return EXPLAINED;
    }
    if (!ordered)
        return CWD_FAULT;
    if (adds) {
        printf("cause: order of atomics: all %" PRIu64 " elements that differ%s change with the order in which threads run, and threads add floats atomically\n",
               differs->count, also);
        say_element(x, differs);
        return EXPLAINED;
    }
    printf("cause: order of threads: all %" PRIu64 " elements that differ%s change with the order in which blocks and threads run\n", differs->count, also);
    say_element(x, differs);
    return EXPLAINED;
}

static int
by_chance(struct explain *x, const struct cwv_variant *with, struct set *differs)
{
    struct chance c = { .evidence = "" };
    struct cwl_side near = { 0 };
    struct set again;
    int status = TROUBLE;
    c.low = malloc((x->elements + 1) * sizeof *c.low);
    c.high = malloc((x->elements + 1) * sizeof *c.high);
    bool ok = set_init(x, &c.order) && set_init(x, &c.fill) && set_init(x, &c.added) && set_init(x, &again) && c.low && c.high;
    for (uint64_t i = 0; ok && i < x->elements; i++) {
        c.low[i] = INFINITY;
        c.high[i] = -INFINITY;
    }
    if (ok && explain_try(x, with, &again, &near) == TRIED) {
        if (try_chances(x, &near, with, differs, &c))
            status = judge(x, differs, &c, with);
        cwl_close(&near);
    }
    free(c.order.in);
    free(c.fill.in);
    free(c.added.in);
    cwc_report_finish(&c.races);
    free(c.low);
    free(c.high);
    free(again.in);
    return status;
}

static int
fault(struct explain *x, const struct set *best, uint64_t plain)
{
    printf("cause: translation fault: nothing that PTX or CUDA leaves open explains the difference (%u runs)\n", x->runs);
    say_element(x, best);
    if (best->count < plain)
        printf("  the nearest variant, with other products and sums fused or other rules for floats, leaves %" PRIu64 " of %" PRIu64 " differences\n", best->count, plain);
    puts("  --locate --against DEVICE finds the first instruction whose result differs between two devices");
    return CWD_FAULT;
}

/* ---- main -------------------------------------------------------------------------------------------------------------------- */

static int
trouble(const struct explain *x)
{
    fflush(stdout);
    fprintf(stderr, "cudaway-replay: %s: %s\n", x->o->file, *x->e.text ? x->e.text : "out of memory");
    return TROUBLE;
}

static void
print_difference(void *user, const struct cwd_difference *d)
{
    struct explain *x = user;
    printf("%s, %s index %llu: %s on %s, %s on %s; %llu of %llu differ\n", d->where, d->type, (unsigned long long)d->index, d->expected,
           x->base.dump.device, d->actual, x->base.label, (unsigned long long)d->count, (unsigned long long)d->elements);
}

static int
search(struct explain *x, struct set *differs)
{
    uint64_t plain = differs->count;
    struct cwv_variant with = { .order = 0 };
    int status = try_settings(x, differs, &with);
    if (status == TROUBLE)
        status = by_chance(x, &with, differs);
    return status == CWD_FAULT ? fault(x, differs, plain) : status;
}

static int
explain(struct explain *x)
{
    struct cwl_side *s = &x->base;
    struct set differs = { 0 };
    *s = (struct cwl_side){ .on = x->o->on, .folder = x->folder };
    snprintf(s->label, sizeof s->label, "%s", s->on ? s->on : "the default device");
    if (!cwl_folder(x->folder, sizeof x->folder, &x->e) || cwl_open(s, x->o->file, &x->e) != CW_OK)
        return trouble(x);
    if (!cwd_has_results(&s->dump)) {
        cwd_fail(&x->e, CW_ERR_INVALID, "the dump holds no results to explain (the kernel failed when it was recorded)");
        return trouble(x);
    }
    if (cwl_run(s, &x->e) != CW_OK || !count_elements(x) || !set_init(x, &differs))
        return trouble(x);
    explain_compare(x, &s->dump, &s->result, &differs);
    if (!differs.count) {
        printf("%s: the results on %s are the recorded ones, of %s\n", s->dump.kernel, s->label, s->dump.device);
        free(differs.in);
        return SAME;
    }
    if (!cwl_compare(&s->dump, &s->result, 0, print_difference, x))
        return trouble(x);
    int status = cwl_parse(s, s->compute_capability, &x->e) == CW_OK ? search(x, &differs) : TROUBLE;
    free(differs.in);
    return status == TROUBLE ? trouble(x) : status;
}

int
cwd_explain(const struct cwd_explain *o)
{
    struct explain x = { .o = o };
    int status = explain(&x);
    cwl_close(&x.base);
    cw_temp_remove(x.folder);
    free(x.start);
    free(x.fuse);
    free(x.sums);
    return status;
}
