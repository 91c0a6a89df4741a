/* SPDX-License-Identifier: Apache-2.0
 * See reduce.h. Every step leaves something out, runs the rest on both devices, and keeps what still differs: first all but one block and
 * one thread, whose coordinates become constants; then functions, instructions, guards; then contents of memory. Registers that
 * nothing writes any more are set to zero, so that no device computes with what happens to lie there. */
#define _GNU_SOURCE
#include "replay/reduce_private.h"

#include "impl/base/file.h"
#include "impl/base/reduce.h"
#include "impl/base/temp.h"
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
    *owned = r->zero[b];
    if (!*owned)
        return x->before;
    uint8_t *data = malloc(x->size);
    if (!data)
        return NULL;
    memcpy(data, x->before, x->size);
    uint64_t piece = (x->size / 8 + PIECES - 1) / PIECES * 8;
    for (uint32_t i = 0; i < PIECES; i++) {
        uint64_t at = i * piece, n = at < x->size ? x->size - at : 0;
        if (r->zero[b][i] && n)
            memset(data + at, 0, n < piece && i + 1 < PIECES ? n : i + 1 == PIECES ? n : piece);
    }
    return data;
}

/* Run what is left on one device. */
static bool
run_side(struct reduction *r, unsigned k)
{
    const struct cwl_side *from = &r->side[k];
    uint32_t n = from->program.ntexts, count;
    struct cw_buf *texts = calloc(n + (size_t)1, sizeof *texts);
    struct cwd_input *inputs = calloc(n + (size_t)1, sizeof *inputs);
    struct cwd_buffer *buffers = calloc(from->dump.nbuffers + (size_t)1, sizeof *buffers);
    bool *owned = calloc(from->dump.nbuffers + (size_t)1, sizeof *owned);
    bool ok = texts && inputs && buffers && owned && reduce_texts(r, k, texts, &count);
    struct cwl_side s = { .on = from->on, .folder = r->folder, .number = k, .dump = from->dump, .seconds = RUN_SECONDS };
    snprintf(s.label, sizeof s.label, "%s", from->label);
    for (uint32_t i = 0; i < from->dump.nbuffers && ok; i++) {
        buffers[i] = from->dump.buffers[i];
        buffers[i].after = buffers[i].before = content(r, i, &owned[i]);
        ok = buffers[i].before;
    }
    for (uint32_t i = 0; i < n && ok; i++) {
        cw_buf_append(&texts[i], "", 1);
        inputs[i] = (struct cwd_input){ .kind = CWD_PTX, .name = "reduced", .data = (uint8_t *)texts[i].data, .size = texts[i].size - 1 };
    }
    if (ok) {
        s.dump.inputs = inputs;
        s.dump.ninputs = n;
        s.dump.linked = s.dump.linked || n > 1;
        s.dump.buffers = buffers;
        for (unsigned c = 0; c < 3; c++) {
            s.dump.grid[c] = r->now.one_block ? 1 : s.dump.grid[c];
            s.dump.block[c] = r->now.one_thread ? 1 : s.dump.block[c];
        }
        ok = cwl_run(&s, &r->e) == CW_OK;
    }
    if (ok) {
        r->result[k] = s.result;
        s.has_result = false;
    }
    cwl_close(&s);
    for (uint32_t i = 0; texts && i < n; i++)
        cw_buf_finish(&texts[i]);
    for (uint32_t i = 0; owned && i < from->dump.nbuffers; i++)
        if (owned[i])
            free(buffers[i].before);
    free(texts);
    free(inputs);
    free(buffers);
    free(owned);
    return ok;
}

static bool
still(void *user)
{
    struct reduction *r = user;
    struct cwd_dump kept[2] = { r->result[0], r->result[1] };
    struct cwd_difference x = { 0 };
    bool had = r->has_result;
    if (time(NULL) > r->end)
        return false;
    cwd_progress_step(&r->progress, r->runs++, CWD_NO_COUNT);
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
    return still(r);
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
    if (still(r))
        return;
    now->one_thread = false;
    if (!still(r))
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
        if (!n || still(r))
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
        if (!still(r))
            r->now.guard[id] = false;
    }
}

static void
reduce_memory(struct reduction *r)
{
    for (uint32_t i = 0; i < r->side[0].dump.nbuffers; i++) {
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
        if (!cw_reduce(p->ninsts, r->now.inst, still, r))
            break;
        if (!r->now.one_thread || !r->now.one_block)
            reduce_shape(r);
        reduce_guards(r);
    }
    reduce_memory(r);
}

/* ---- main -------------------------------------------------------------------------------------------------------------------- */

static int
trouble(const struct reduction *r, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "cudaway-replay: %s: %s\n", r->o->file, what);
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
    r->zero = calloc(r->side[0].dump.nbuffers + (size_t)1, sizeof *r->zero);
    bool ok = same && r->from && r->now.inst && r->now.guard && r->now.fn && r->zero;
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

static int
run(struct reduction *r)
{
    struct cwd_difference x = { 0 };
    struct cw_buf out;
    if (!prepare(r))
        return trouble(r, r->e.text);
    cwl_compare(&r->side[0].result, &r->side[1].result, r->o->ulp, note_difference, &x);
    if (!x.count) {
        printf("%s: the results are the same on %s and on %s\n", r->side[0].dump.kernel, r->side[0].label, r->side[1].label);
        return SAME;
    }
    r->end = time(NULL) + r->o->seconds;
    r->progress = (struct cwd_progress){ .what = "runs", .limit = r->o->seconds * 1000000000ll };
    r->nan = is_nan(x.expected) && is_nan(x.actual);
    if (!still(r)) {
        cwd_progress_clear(&r->progress);
        return trouble(r, *r->e.text ? r->e.text : "the launch's PTX, as text, does not show the difference: it cannot be reduced");
    }
    find_writer(r, &x);
    reduce(r);
    cwd_progress_clear(&r->progress);
    cw_buf_init(&out);
    bool written = reduce_write(r, &out) && cw_file_write_atomic(r->o->output, out.data, out.size, 0644) == CW_OK;
    uint32_t count = 0;
    struct cw_buf *texts = calloc(r->side[0].program.ntexts + (size_t)1, sizeof *texts);
    if (texts && reduce_texts(r, 0, texts, &count))
        printf("%s: %u of %u instructions are left, after %u runs: %s\n", r->side[0].dump.kernel, count, r->side[0].program.ninsts, r->runs, r->o->output_name);
    for (uint32_t i = 0; texts && i < r->side[0].program.ntexts; i++)
        cw_buf_finish(&texts[i]);
    free(texts);
    cw_buf_finish(&out);
    if (time(NULL) > r->end)
        fprintf(stderr, "cudaway-replay: note: the time was up (%u s); more might be left out\n", r->o->seconds);
    return written ? REDUCED : trouble(r, "the reduced test cannot be written");
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
    free(r.zero);
    return status;
}
