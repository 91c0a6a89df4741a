/* SPDX-License-Identifier: Apache-2.0
 * See reduce.h. Every step leaves something out, runs the rest on both devices, and keeps what still differs: first all but one block and
 * one thread, whose coordinates become constants; then functions, instructions, guards; then declarations, the length of buffers, and contents of memory. Registers that
 * nothing writes any more are set to zero, so that no device computes with what happens to lie there. */
#define _GNU_SOURCE
#include "replay/reduce_private.h"

#include "impl/base/file.h"
#include "impl/base/reduce.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/reproducer.h"
#include "replay/tar.h"
#include "replay/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAME = 0, REDUCED = 1, TROUBLE = 2, RUN_SECONDS = 20, LOG = 2 << 20 };

static bool
is_nan(const char *value)
{
    return strstr(value, "nan");
}

/* Two NaN that differ are another difference than the one to be kept, unless that is one. */
static void
note_difference(void *user, const struct cwd_difference *x)
{
    struct cwd_difference *first = user;
    if (!first->count || (is_nan(first->expected) && is_nan(first->actual)))
        *first = *x;
}

static void
forget(struct reduction *r)
{
    for (unsigned k = 0; k < 2 && r->has_result; k++)
        cwd_finish(&r->result[k]);
    r->has_result = false;
}

/* The contents with pieces of zeros; owned where it is another. */
static uint8_t *
content(const struct reduction *r, uint32_t b, bool *owned)
{
    const struct cwd_buffer *x = &r->side[0].dump.buffers[b];
    uint64_t size = r->now.size[b];
    *owned = r->zero[b];
    if (!*owned)
        return x->before;
    uint8_t *data = malloc(size);
    if (!data)
        return NULL;
    memcpy(data, x->before, size);
    uint64_t piece = (size / 8 + PIECES - 1) / PIECES * 8;
    for (uint32_t i = 0; i < PIECES; i++) {
        uint64_t at = i * piece, n = at < size ? size - at : 0;
        if (r->zero[b][i] && n)
            memset(data + at, 0, n < piece && i + 1 < PIECES ? n : i + 1 == PIECES ? n : piece);
    }
    return data;
}

static bool
take_texts(struct reduced_side *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        cw_buf_append(&x->texts[i], "", 1);
        x->inputs[i] = (struct cwd_input){ .kind = CWD_PTX, .name = "reduced", .data = (uint8_t *)x->texts[i].data, .size = x->texts[i].size - 1 };
        if (x->texts[i].failed)
            return false;
    }
    x->s.dump.inputs = x->inputs;
    x->s.dump.ninputs = n;
    x->s.dump.linked = x->s.dump.linked || n > 1;
    return true;
}

static bool
take_memory(const struct reduction *r, struct reduced_side *x)
{
    struct cwd_dump *d = &x->s.dump;
    uint32_t n = 0, params = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        if (!r->now.size[i])
            continue;
        x->buffers[n] = d->buffers[i];
        x->buffers[n].size = r->now.size[i];
        x->buffers[n].after = x->buffers[n].before = content(r, i, &x->owned[n]);
        if (!x->buffers[n++].before)
            return false;
    }
    for (uint32_t i = 0; i < d->nparams; i++)
        if (!r->now.param[i])
            x->params[params++] = d->params[i];
    d->buffers = x->buffers;
    d->nbuffers = n;
    d->params = x->params;
    d->nparams = params;
    return true;
}

bool
reduce_side_open(struct reduction *r, unsigned k, struct reduced_side *x)
{
    const struct cwl_side *from = &r->side[k];
    uint32_t n = from->program.ntexts, count;
    *x = (struct reduced_side){ .s = { .on = from->on, .folder = r->folder, .number = k, .dump = from->dump, .seconds = RUN_SECONDS },
                                .ntexts = n, .nbuffers = from->dump.nbuffers };
    snprintf(x->s.label, sizeof x->s.label, "%s", from->label);
    x->texts = calloc(n + (size_t)1, sizeof *x->texts);
    x->inputs = calloc(n + (size_t)1, sizeof *x->inputs);
    x->buffers = calloc(from->dump.nbuffers + (size_t)1, sizeof *x->buffers);
    x->params = calloc(from->dump.nparams + (size_t)1, sizeof *x->params);
    x->owned = calloc(from->dump.nbuffers + (size_t)1, sizeof *x->owned);
    if (!x->texts || !x->inputs || !x->buffers || !x->params || !x->owned || !reduce_texts(r, k, x->texts, &count) || !take_texts(x, n) || !take_memory(r, x))
        return false;
    for (unsigned c = 0; c < 3; c++) {
        x->s.dump.grid[c] = r->now.one_block ? 1 : x->s.dump.grid[c];
        x->s.dump.block[c] = r->now.one_thread ? 1 : x->s.dump.block[c];
    }
    return true;
}

void
reduce_side_close(struct reduced_side *x)
{
    cwl_close(&x->s);
    for (uint32_t i = 0; x->texts && i < x->ntexts; i++)
        cw_buf_finish(&x->texts[i]);
    for (uint32_t i = 0; x->owned && x->buffers && i < x->nbuffers; i++)
        if (x->owned[i])
            free(x->buffers[i].before);
    free(x->texts);
    free(x->inputs);
    free(x->buffers);
    free(x->params);
    free(x->owned);
}

/* Run what is left on one device. */
static bool
run_side(struct reduction *r, unsigned k)
{
    struct reduced_side x;
    bool ok = reduce_side_open(r, k, &x) && cwl_run(&x.s, &r->e) == CW_OK;
    if (ok) {
        r->result[k] = x.s.result;
        x.s.has_result = false;
    }
    reduce_side_close(&x);
    return ok;
}

bool
reduce_differs(void *user)
{
    struct reduction *r = user;
    struct cwd_dump kept[2] = { r->result[0], r->result[1] };
    struct cwd_difference x = { 0 };
    bool had = r->has_result;
    if (time(NULL) > r->end)
        return false;
    cw_progress_step(&r->progress, r->runs++, CW_NO_COUNT);
    r->has_result = false;
    bool first = run_side(r, 0), second = first && run_side(r, 1);
    bool differs = second && cwl_compare(&r->result[0], &r->result[1], r->o->ulp, note_difference, &x) && x.count &&
                   (r->nan || !is_nan(x.expected) || !is_nan(x.actual));
    if (!differs) {
        if (first)
            cwd_finish(&r->result[0]);
        if (second)
            cwd_finish(&r->result[1]);
        r->result[0] = kept[0];
        r->result[1] = kept[1];
        r->has_result = had;
        return false;
    }
    for (unsigned k = 0; k < 2 && had; k++)
        cwd_finish(&kept[k]);
    r->has_result = true;
    return true;
}

static bool
still_zero(void *user)
{
    struct reduction *r = user;
    r->zero[r->buffer] = r->zeroing;
    return reduce_differs(r);
}

/* ---- steps ------------------------------------------------------------------------------------------------------------------- */

/* Who wrote the first element that differs? */
static bool
find_writer(struct reduction *r, const struct cwd_difference *x)
{
    struct cwl_side *s = &r->side[0];
    const uint32_t *b = s->dump.block, *g = s->dump.grid;
    if (x->buffer < 0)
        return false;
    const uint64_t control[16] = { [CWI_BLOCK] = UINT64_MAX, [CWI_ADDRESS] = s->dump.buffers[x->buffer].address + x->offset, [CWI_RAW] = UINT64_MAX,
                                   [CWI_SIZE] = x->width };
    struct cwd_error e;
    if (cwl_run_rewritten(s, CWI_WATCH, control, LOG, &e) != CW_OK)
        return false;
    uint64_t made, room = (LOG - CWI_HEADER) / 32, w[4];
    memcpy(&made, s->log + 8 * CWI_CURSOR, sizeof made);
    if (!made || made > room)
        return false;
    memcpy(w, s->log + CWI_HEADER + (made - 1) * 32, sizeof w);
    uint32_t t = CWI_THREAD(w[0]);
    memcpy(r->now.ctaid, (uint32_t[]){ (uint32_t)(w[1] % g[0]), (uint32_t)(w[1] / g[0] % g[1]), (uint32_t)(w[1] / g[0] / g[1]) }, sizeof r->now.ctaid);
    memcpy(r->now.tid, (uint32_t[]){ t % b[0], t / b[0] % b[1], t / b[0] / b[1] }, sizeof r->now.tid);
    return true;
}

static void
reduce_shape(struct reduction *r)
{
    struct shape *now = &r->now;
    now->one_block = now->one_thread = true;
    if (reduce_differs(r))
        return;
    now->one_thread = false;
    if (!reduce_differs(r))
        now->one_block = false;
}

/* Functions that can go as a whole; other kernels first, all at once. */
static void
reduce_functions(struct reduction *r)
{
    const struct cwi_program *p = &r->side[0].program;
    for (unsigned entries = 2; entries-- > 0;) {
        uint32_t n = 0;
        for (uint32_t id = 0; id < p->ninsts; id++)
            if ((!id || p->insts[id - 1].fn != p->insts[id].fn) && p->insts[id].fn->is_entry == entries &&
                strcmp(p->insts[id].fn->sym->name, r->side[0].dump.kernel)) {
                n += !r->now.fn[id];
                r->now.fn[id] = true;
            }
        if (!n || reduce_differs(r))
            continue;
        for (uint32_t id = 0; id < p->ninsts; id++)
            if (p->insts[id].fn->is_entry == entries)
                r->now.fn[id] = false;
    }
}

static void
reduce_guards(struct reduction *r)
{
    const struct cwi_program *p = &r->side[0].program;
    for (uint32_t id = 0; id < p->ninsts; id++) {
        if (r->now.inst[id] || r->now.guard[id] || r->now.fn[id] || !p->insts[id].in->has_guard)
            continue;
        r->now.guard[id] = true;
        if (!reduce_differs(r))
            r->now.guard[id] = false;
    }
}

/* Registers and variables that nothing uses any more, and the kernel's parameters that neither of the two programs uses. */
static void
reduce_declared(struct reduction *r)
{
    struct cw_buf *texts[2] = { 0 };
    const struct cwd_dump *d = &r->side[0].dump;
    uint32_t count, left = 0;
    bool ok = true;
    r->now.declared = true;
    if (!reduce_differs(r))
        r->now.declared = false;
    for (unsigned k = 0; k < 2; k++) {
        texts[k] = calloc(r->side[k].program.ntexts + (size_t)1, sizeof **texts);
        ok = ok && texts[k] && reduce_texts(r, k, texts[k], &count);
    }
    for (uint32_t i = 0; i < d->nparams && ok; i++) {
        bool used = false;
        for (unsigned k = 0; k < 2; k++)
            for (uint32_t t = 0; t < r->side[k].program.ntexts; t++)
                used = used || reduce_uses_param(d->kernel, i, &texts[k][t]);
        r->now.param[i] = !used;
        left += !used;
    }
    if (left && !reduce_differs(r))
        memset(r->now.param, 0, d->nparams * sizeof *r->now.param);
    for (unsigned k = 0; k < 2; k++) {
        for (uint32_t t = 0; texts[k] && t < r->side[k].program.ntexts; t++)
            cw_buf_finish(&texts[k][t]);
        free(texts[k]);
    }
}

static void
reduce_memory(struct reduction *r)
{
    for (uint32_t i = 0; i < r->side[0].dump.nbuffers; i++) {
        if (!r->now.size[i])
            continue;
        bool *off = calloc(PIECES, sizeof *off);
        r->buffer = i;
        r->zeroing = off;
        if (!off)
            return;
        r->zero[i] = NULL;
        bool any = cw_reduce(PIECES, off, still_zero, r);
        r->zero[i] = any ? off : NULL;
        if (!any)
            free(off);
    }
}

static void
reduce(struct reduction *r)
{
    const struct cwi_program *p = &r->side[0].program;
    reduce_shape(r);
    reduce_functions(r);
    for (unsigned round = 0; round < 4; round++) {
        /* those of functions that are gone count as left out */
        for (uint32_t id = 0, first = 0; id < p->ninsts; id++) {
            first = id && p->insts[id - 1].fn == p->insts[id].fn ? first : id;
            r->now.inst[id] = r->now.inst[id] || r->now.fn[first];
        }
        if (!cw_reduce(p->ninsts, r->now.inst, reduce_differs, r))
            break;
        if (!r->now.one_thread || !r->now.one_block)
            reduce_shape(r);
        reduce_guards(r);
    }
    reduce_declared(r);
    reduce_lengths(r);
    reduce_memory(r);
}

/* ---- main -------------------------------------------------------------------------------------------------------------------- */

static int
trouble(const struct reduction *r, const char *what)
{
    fflush(stdout);
    cw_text_line(stderr, "cudaway-replay: %s: %s", r->o->file, what);
    return TROUBLE;
}

static bool
prepare(struct reduction *r)
{
    const struct cwd_reduce *o = r->o;
    if (!cwl_folder(r->folder, sizeof r->folder, &r->e))
        return false;
    for (unsigned k = 0; k < 2; k++) {
        struct cwl_side *s = &r->side[k];
        *s = (struct cwl_side){ .on = k ? o->on : o->against, .module = k ? NULL : o->against_module, .folder = r->folder, .number = k };
        snprintf(s->label, sizeof s->label, "%s%s", s->on ? s->on : "the default device", s->module ? ", other PTX" : "");
        if (cwl_open(s, o->file, &r->e) != CW_OK || cwl_run(s, &r->e) != CW_OK)
            return false;
    }
    for (unsigned k = 0; k < 2; k++)
        if (cwl_parse(&r->side[k], r->side[0].compute_capability, &r->e) != CW_OK)
            return false;
    const struct cwi_program *p = &r->side[0].program, *q = &r->side[1].program;
    uint32_t *same = cwt_align(p, q);
    r->from = malloc((q->ninsts + (size_t)1) * sizeof *r->from);
    r->now.inst = calloc(p->ninsts + (size_t)1, sizeof(bool));
    r->now.guard = calloc(p->ninsts + (size_t)1, sizeof(bool));
    r->now.fn = calloc(p->ninsts + (size_t)1, sizeof(bool));
    r->now.param = calloc(r->side[0].dump.nparams + (size_t)1, sizeof(bool));
    r->now.size = calloc(r->side[0].dump.nbuffers + (size_t)1, sizeof *r->now.size);
    r->zero = calloc(r->side[0].dump.nbuffers + (size_t)1, sizeof *r->zero);
    bool ok = same && r->from && r->now.inst && r->now.guard && r->now.fn && r->now.param && r->now.size && r->zero;
    for (uint32_t i = 0; ok && i < r->side[0].dump.nbuffers; i++)
        r->now.size[i] = r->side[0].dump.buffers[i].size;
    for (uint32_t i = 0; ok && i < q->ninsts; i++)
        r->from[i] = UINT32_MAX;
    for (uint32_t i = 0; ok && i < p->ninsts; i++)
        if (same[i] != CWT_NO_ID)
            r->from[same[i]] = i;
    free(same);
    if (!ok)
        cwd_fail(&r->e, CW_ERR_NOMEM, "out of memory");
    return ok;
}

static bool
write_test(const struct reduction *r)
{
    struct cw_buf out;
    cw_buf_init(&out);
    bool ok = reduce_write(r, &out) && cw_file_write_atomic(r->o->output, out.data, out.size, 0644) == CW_OK;
    cw_buf_finish(&out);
    return ok;
}

/* What the second run had, with the first's results. */
static bool
write_reproducer(const struct reduction *r)
{
    struct cwd_dump d = r->result[1];
    const char *base = strrchr(r->o->file, '/');
    char from[PATH_MAX + 32];
    snprintf(from, sizeof from, "%s, reduced", base ? base + 1 : r->o->file);
    d.buffers = calloc(d.nbuffers + (size_t)1, sizeof *d.buffers);
    if (!d.buffers)
        return false;
    for (uint32_t i = 0; i < d.nbuffers; i++) {
        d.buffers[i] = r->result[1].buffers[i];
        d.buffers[i].after = r->result[0].buffers[i].after;
    }
    bool ok = cwd_reproducer_of(&d, from, r->side[0].label, r->o->reproducer, r->o->reproducer_name) == SAME;
    free(d.buffers);
    return ok;
}

static int
run(struct reduction *r)
{
    struct cwd_difference x = { 0 };
    if (!prepare(r))
        return trouble(r, r->e.text);
    cwl_compare(&r->side[0].result, &r->side[1].result, r->o->ulp, note_difference, &x);
    if (!x.count) {
        cw_text_print(stdout, "%s: the results are the same on %s and on %s\n", r->side[0].dump.kernel, r->side[0].label, r->side[1].label);
        return SAME;
    }
    r->end = time(NULL) + r->o->seconds;
    r->progress = (struct cw_progress){ .what = "runs", .limit = r->o->seconds * 1000000000ll };
    r->nan = is_nan(x.expected) && is_nan(x.actual);
    if (!reduce_differs(r)) {
        cw_progress_clear(&r->progress);
        return trouble(r, *r->e.text ? r->e.text : "the launch's PTX, as text, does not show the difference: it cannot be reduced");
    }
    find_writer(r, &x);
    reduce(r);
    cw_progress_clear(&r->progress);
    uint32_t count = 0;
    struct cw_buf *texts = calloc(r->side[0].program.ntexts + (size_t)1, sizeof *texts);
    if (texts && reduce_texts(r, 0, texts, &count))
        cw_text_print(stdout, "%s: %u of %u instructions are left, after %u runs%s%s\n", r->side[0].dump.kernel, count, r->side[0].program.ninsts, r->runs, r->o->output ? ": " : "",
                      r->o->output ? r->o->output_name : "");
    for (uint32_t i = 0; texts && i < r->side[0].program.ntexts; i++)
        cw_buf_finish(&texts[i]);
    free(texts);
    if (time(NULL) > r->end)
        cw_text_line(stderr, "cudaway-replay: note: the time was up (%u s); more might be left out", r->o->seconds);
    else if (*r->whole)
        cw_text_line(stderr, "cudaway-replay: note: buffers are as long as they were: %s", r->whole);
    if (r->o->output && !write_test(r))
        return trouble(r, "the reduced test cannot be written");
    return r->o->reproducer && !write_reproducer(r) ? TROUBLE : REDUCED;
}

int
cwd_reduce(const struct cwd_reduce *o)
{
    struct reduction r = { .o = o };
    int status = run(&r);
    forget(&r);
    for (uint32_t i = 0; r.zero && i < r.side[0].dump.nbuffers; i++)
        free(r.zero[i]);
    for (unsigned k = 0; k < 2; k++)
        cwl_close(&r.side[k]);
    cw_temp_remove(r.folder);
    free(r.from);
    free(r.now.inst);
    free(r.now.guard);
    free(r.now.fn);
    free(r.now.param);
    free(r.now.size);
    free(r.zero);
    return status;
}
