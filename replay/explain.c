/* SPDX-License-Identifier: Apache-2.0
 * See explain.h. First what another compiler or another setting computes otherwise, each time in the same way: a variant that gives the recorded
 * results to the bit explains them. Then what may be otherwise at any time: orders of threads, contents of memory that nobody wrote. An
 * element whose value changes with these cannot be expected to be the recorded one; only elements that do are explained so. */
#define _GNU_SOURCE
#include "replay/explain_private.h"

#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/analyze.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/replay.h"
#include "replay/tar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

const uint8_t *
explain_values(const struct cwd_dump *d, uint32_t c)
{
    return c < d->nbuffers ? d->buffers[c].after : d->arrays[c - d->nbuffers].after;
}

void
explain_compare(const struct explain *x, const struct cwd_dump *a, const struct cwd_dump *b, struct set *s)
{
    const struct cwd_dump *d = &x->base.dump;
    for (uint32_t c = 0; c < d->nbuffers + d->narrays; c++) {
        const uint8_t *p = explain_values(a, c), *q = explain_values(b, c);
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

/* ---- trying ------------------------------------------------------------------------------------------------------------------ */

bool
explain_runs(struct explain *x)
{
    x->over = x->over || (x->end && cw_progress_now() >= x->end);
    if (!x->over && !x->o->results)
        cw_progress_step(&x->progress, x->runs, CW_NO_COUNT);
    x->runs += !x->over;
    return !x->over;
}

/* What is left of the time, for a run. */
static unsigned
seconds_left(const struct explain *x)
{
    int64_t left = x->end - cw_progress_now();
    return !x->end ? 0 : left > 1000000000 ? (unsigned)(left / 1000000000) : 1;
}

enum tried
explain_try(struct explain *x, const struct cwv_variant *v, struct set *differs, struct cwl_side *side)
{
    struct cwl_side s = { 0 };
    if (!explain_runs(x))
        return NOT_POSSIBLE;
    cw_result r = cwv_open(&s, &x->base, v, &x->e);
    s.seconds = seconds_left(x);
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

/* The variant, for the next launch of the kernel. */
static void
print_variant(const struct explain *x, const struct setting *t, const uint8_t *fuse)
{
    const char *sep = ":";
    if (!x->o->results)
        return;
    cw_text_print(stdout, "{\"variant\":\"%td", t - settings);
    for (uint32_t i = 0; fuse && i < x->base.program.ninsts; i++)
        if (fuse[i]) {
            cw_text_print(stdout, "%s%" PRIu32 "=%u", sep, i, fuse[i]);
            sep = ",";
        }
    cw_text_print(stdout, "\",\"runs\":%" PRIu32 "}\n", x->runs);
}

static int
explained(struct explain *x, const struct setting *t, const uint8_t *fuse)
{
    cw_progress_clear(&x->progress);
    cw_text_print(stdout, "cause: %s: the results are equal to the bit %s%s%s\n", t->cause, t->text, fuse && *t->text ? ", and " : "",
                  fuse ? "when these products and sums are fused, as NVIDIA's compiler may do it:" : "");
    if (fuse)
        explain_say_fused(x, fuse);
    print_variant(x, t, fuse);
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
    if (t == settings) {        /* nothing is changed: what is to be explained */
        copy_set(x, now, best);
    } else {
        memset(now->in, 0, x->elements);
        now->count = 0;
        if (explain_try(x, &v, now, NULL) != TRIED)
            return TROUBLE;
        if (!now->count)
            return explained(x, t, NULL);
    }
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

/* The most runs that the search may make: each setting, alone and with four guesses of what is fused; the search for that; then what explain_chance tries:
 * orders of threads, with each place where they wait, more orders where floats are added atomically, patterns and guesses of memory nobody wrote. */
static uint64_t
most_runs(const struct explain *x, bool host, bool matrices)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < SETTINGS; i++)
        n += (!settings[i].gpu || !host) && (!settings[i].matrix || matrices);
    if (x->nsums)
        n = n * 5 + x->o->runs;
    return n + x->base.dump.nbuffers + 3 * (CWV_ORDERS + 2) + CWV_ALL_ORDERS + 3 * 14 + 4;
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
    bool ok = set_init(x, &now) && fuse && x->fuse;
    x->progress = (struct cw_progress){ .what = "runs", .all = most_runs(x, host, matrices), .at_most = true };
    for (unsigned i = 0; i < SETTINGS && ok && status == TROUBLE; i++)
        if ((!settings[i].gpu || !host) && (!settings[i].matrix || matrices))
            status = try_setting(x, &settings[i], best, with, &now, fuse);
    free(now.in);
    free(fuse);
    return status;
}

/* ---- the report -------------------------------------------------------------------------------------------------------------- */

void
explain_say_element(const struct explain *x, const struct set *s)
{
    char where[160];
    uint64_t i = 0, index;
    while (i < x->elements && !s->in[i])
        i++;
    uint32_t c = explain_content(x, i, &index);
    if (c < x->base.dump.nbuffers) {
        cwd_where(&x->base.dump, c, where, sizeof where);
        cw_text_print(stdout, "  first at buffer %u, %s, index %" PRIu64 "\n", c, where, index);
    }
}

/* The kernel, or a function that it might call. */
static bool
allocates(const struct explain *x)
{
    const struct cwi_program *p = &x->base.program;
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (cwi_allocates(p->insts[i].in) && (!p->insts[i].fn->is_entry || !strcmp(p->insts[i].fn->sym->name, x->base.dump.kernel)))
            return true;
    return false;
}

static int
fault(struct explain *x, const struct set *best, uint64_t plain)
{
    cw_text_print(stdout, "cause: translation fault: nothing that PTX or CUDA leaves open explains the difference (%u runs)\n", x->runs);
    explain_say_element(x, best);
    if (best->count < plain)
        cw_text_print(stdout, "  the nearest variant, with other products and sums fused or other rules for floats, leaves %" PRIu64 " of %" PRIu64 " differences\n", best->count, plain);
    if (allocates(x))
        puts("  the kernel calls malloc: the addresses that it gives, how much fits into the heap, and what lies there, which no dump holds, may differ without a fault");
    puts("  --locate --against DEVICE finds the first instruction whose result differs between two devices");
    return CWD_FAULT;
}

static int
trouble(const struct explain *x)
{
    fflush(stdout);
    cw_text_line(stderr, "cudaway-replay: %s: %s", x->o->file, *x->e.text ? x->e.text : "out of memory");
    return TROUBLE;
}

static void
print_difference(void *user, const struct cwd_difference *d)
{
    struct explain *x = user;
    struct cw_buf b;
    cw_buf_init(&b);
    if (x->o->results) {
        cwd_difference_json(d, &b);
        puts(b.failed ? "out of memory" : b.data);
    }
    cw_buf_finish(&b);
    cw_text_print(stdout, "%s, %s index %llu: %s on %s, %s on %s; %llu of %llu differ\n", d->where, d->type, (unsigned long long)d->index, d->expected,
                  x->base.dump.device, d->actual, x->base.label, (unsigned long long)d->count, (unsigned long long)d->elements);
}

/* No verdict: it differs, and that is all that is known. */
static int
time_up(const struct explain *x)
{
    cw_text_print(stdout, "cause: not known: the time was up, after %" PRIu32 " runs\n", x->runs);
    return EXPLAINED;
}

/* ---- what explained another launch of the kernel ----------------------------------------------------------------------------- */

/* The variant that print_variant wrote. False: it is of another module, or of another version of this program. */
static bool
read_variant(const struct explain *x, const char *text, const struct setting **t, uint8_t *fuse, bool *fuses)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || n >= SETTINGS || (*end && *end != ':'))
        return false;
    *t = &settings[n];
    *fuses = *end;
    memset(fuse, 0, x->base.program.ninsts);
    while (*end) {
        const char *at = end + 1;
        unsigned long id = strtoul(at, &end, 10), k = 0;
        if (end == at || *end != '=')
            return false;
        at = end + 1;
        k = strtoul(at, &end, 10);
        uint32_t i = 0;
        while (i < x->nsums && x->sums[i].id != id)
            i++;
        if (end == at || (*end && *end != ',') || i == x->nsums || k < 1 || k > 2 || x->sums[i].mul[k - 1] == CWV_NONE)
            return false;
        fuse[id] = (uint8_t)k;
    }
    return true;
}

/* What orders of threads and memory nobody wrote explain. TROUBLE: nothing. */
static int
try_chance(struct explain *x, struct set *differs)
{
    const struct cwv_variant plain = { .order = 0 };
    x->trying = true;
    int status = explain_chance(x, &plain, differs);
    x->trying = false;
    return status == EXPLAINED ? EXPLAINED : TROUBLE;
}

/* Does the same code give other results in another run? Then a variant that comes out as recorded may have done so by chance. */
static bool
varies(struct explain *x, const struct set *differs)
{
    const struct cwv_variant plain = { .order = 0 };
    struct set now;
    if (!set_init(x, &now))
        return false;
    bool other = explain_try(x, &plain, &now, NULL) == TRIED && (now.count != differs->count || memcmp(now.in, differs->in, x->elements));
    free(now.in);
    return other;
}

/* One run, instead of the dozens of a search. TROUBLE: it is none of these. */
static int
try_first(struct explain *x, struct set *differs)
{
    uint8_t *fuse = calloc(x->base.program.ninsts + (size_t)1, 1);
    struct set now;
    int status = TROUBLE;
    bool ok = fuse && set_init(x, &now), chance = false;
    for (unsigned i = 0; ok && i < CWD_FIRST && x->o->first[i] && status != EXPLAINED; i++) {
        const struct setting *t;
        bool fuses;
        if (!strcmp(x->o->first[i], "chance")) {
            chance = true;
        } else if (read_variant(x, x->o->first[i], &t, fuse, &fuses)) {
            struct cwv_variant v = t->v;
            v.fuse = fuses ? fuse : NULL;
            memset(now.in, 0, x->elements);
            now.count = 0;
            if (explain_try(x, &v, &now, NULL) == TRIED && !now.count)
                status = explained(x, t, v.fuse);
        }
    }
    if (ok)
        free(now.in);
    free(fuse);
    return status == EXPLAINED || !chance ? status : try_chance(x, differs);
}

/* ---- main -------------------------------------------------------------------------------------------------------------------- */

static int
search(struct explain *x, struct set *differs)
{
    uint64_t plain = differs->count;
    struct cwv_variant with = { .order = 0 };
    if (!cwv_sums(&x->base.program, x->base.dump.kernel, &x->sums, &x->nsums))
        return TROUBLE;
    int status = try_first(x, differs);
    if (status == TROUBLE && !x->over && varies(x, differs))
        status = try_chance(x, differs);
    if (status == TROUBLE && !x->over)
        status = try_settings(x, differs, &with);
    if (status == TROUBLE && !x->over)
        status = explain_chance(x, &with, differs);
    cw_progress_clear(&x->progress);
    if (status != EXPLAINED && x->over)
        return time_up(x);
    return status == CWD_FAULT ? fault(x, differs, plain) : status;
}

static int
explain(struct explain *x)
{
    struct cwl_side *s = &x->base;
    struct set differs = { 0 };
    x->end = x->o->seconds ? cw_progress_now() + x->o->seconds * 1000000000ll : 0;
    *s = (struct cwl_side){ .on = x->o->on, .folder = x->folder, .seconds = x->o->seconds };
    snprintf(s->label, sizeof s->label, "%s", s->on ? s->on : "the default device");
    if (!cwl_folder(x->folder, sizeof x->folder, &x->e) || cwl_open(s, x->o->file, &x->e) != CW_OK)
        return trouble(x);
    if (!cwd_has_results(&s->dump)) {
        cwd_fail(&x->e, CW_ERR_INVALID, "the dump holds no results to explain (the kernel failed when it was recorded)");
        return trouble(x);
    }
    if (cwl_run(s, &x->e) != CW_OK)
        return x->end && cw_progress_now() >= x->end ? time_up(x) : trouble(x);
    if (!count_elements(x) || !set_init(x, &differs))
        return trouble(x);
    explain_compare(x, &s->dump, &s->result, &differs);
    if (!differs.count) {
        cw_text_print(stdout, "%s: the results on %s are the recorded ones, of %s\n", s->dump.kernel, s->label, s->dump.device);
        free(differs.in);
        return SAME;
    }
    if (x->o->results)
        cwd_print_launch(&s->dump);
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
