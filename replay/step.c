/* SPDX-License-Identifier: Apache-2.0
 * See step.h: the run that is recorded, and its log sorted by thread. */
#include "replay/step.h"

#include "impl/base/temp.h"
#include "replay/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, RECORD = 16, SMALL_LOG = 4 << 20, SLACK = 1 << 16 };

uint32_t
cws_block_threads(const struct cws *s)
{
    const uint32_t *b = s->side.dump.block;
    return b[0] * b[1] * b[2];
}

uint64_t
cws_grid_blocks(const struct cws *s)
{
    const uint32_t *g = s->side.dump.grid;
    return (uint64_t)g[0] * g[1] * g[2];
}

static cw_result
nomem(struct cwd_error *e)
{
    return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
}

cw_result
cws_open(struct cws *s, const char *file, const char *on, uint64_t limit, struct cwd_error *e)
{
    *s = (struct cws){ .side = { .on = on }, .limit = limit };
    s->side.folder = s->folder;
    snprintf(s->side.label, sizeof s->side.label, "%s", on ? on : "the default device");
    cw_result r = cwl_folder(s->folder, sizeof s->folder, e) ? CW_OK : CW_ERR_IO;
    if (r == CW_OK)
        r = cwl_open(&s->side, file, e);
    if (r == CW_OK)
        r = cwl_parse(&s->side, s->side.dump.compute_capability ? s->side.dump.compute_capability : 86, e);
    uint32_t threads = r == CW_OK ? cws_block_threads(s) : 1;
    if (!threads || threads > CWI_SLOTS)
        r = cwd_fail(e, CW_ERR_UNSUPPORTED, "a block of %u threads cannot be", threads);
    if (r != CW_OK)
        cws_close(s);
    return r;
}

static void
forget(struct cws *s)
{
    cws_forget_registers(s);
    for (uint32_t i = 0; s->threads && i < s->count; i++) {
        struct cws_thread *t = &s->threads[i];
        for (uint32_t f = 0; f < t->nframes; f++) {
            free(t->frames[f].symbol);
            free(t->frames[f].argument);
        }
        free(t->frames);
        free(t->steps);
        free(t->values);
    }
    free(s->threads);
    free(s->all);
    free(s->accesses);
    s->threads = NULL;
    s->all = s->accesses = NULL;
    s->nall = s->naccesses = s->count = 0;
    s->made = s->kept = 0;
}

void
cws_close(struct cws *s)
{
    forget(s);
    cws_forget_types(s);
    cwl_close(&s->side);
    cw_temp_remove(s->folder);
    *s = (struct cws){ 0 };
}

/* ---- reading the log ----------------------------------------------------------------------------------------------------------- */

/* A value with the step that it belongs to, which need not be the last one: of instructions in front of a call all results follow the call. */
struct loose {
    uint32_t step;
    struct cws_value value;
};

struct reader {
    struct cws *s;
    struct growing {
        struct loose *values;
        uint32_t capsteps, capvalues, capframes, frame;
    } *of;                              /* by thread */
    struct group {                      /* lanes of a warp that are at one instruction */
        bool open;
        uint32_t id, time, lanes;
    } group[CWI_SLOTS / WARP];
    uint32_t capall;
};

/* Room for one more of `size` bytes. */
static bool
grow(void **array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    uint32_t n = *capacity ? *capacity * 2 : 16;
    void *p = n > *capacity ? realloc(*array, n * size) : NULL;
    if (!p)
        return false;
    *array = p;
    *capacity = n;
    return true;
}

#define GROW(array, count, capacity) grow((void **)&(array), (count), &(capacity), sizeof *(array))

static bool
enter(struct cws_thread *t, struct growing *g, const struct ptx_function *fn)
{
    if (!GROW(t->frames, t->nframes, g->capframes))
        return false;
    struct cws_frame *f = &t->frames[t->nframes];
    *f = (struct cws_frame){ .fn = fn, .parent = g->frame, .call = t->nsteps ? t->nsteps - 1 : CWS_NONE, .first = t->nsteps };
    f->depth = g->frame == CWS_NONE ? 0 : t->frames[g->frame].depth + 1;
    g->frame = t->nframes++;
    return true;
}

/* Element n of an array of a frame, which most frames do not need. */
static bool
keep(uint64_t **array, size_t size, unsigned n, uint64_t value)
{
    if (!*array && (*array = malloc(size * sizeof **array)))
        memset(*array, 0xff, size * sizeof **array);
    if (*array)
        (*array)[n] = value;
    return *array;
}

/* The frame of an instruction: where records were left out, calls and returns may be among them. */
static bool
find_frame(struct cws_thread *t, struct growing *g, const struct ptx_function *fn)
{
    uint32_t f = g->frame;
    while (f != CWS_NONE && t->frames[f].fn != fn)
        f = t->frames[f].parent;
    if (f == CWS_NONE)
        return enter(t, g, fn);
    g->frame = f;
    return true;
}

static uint32_t
time_of(struct reader *r, uint32_t thread, uint32_t id)
{
    struct group *g = &r->group[thread / WARP];
    uint32_t lane = 1u << thread % WARP;
    if (!g->open || g->id != id || g->lanes & lane)
        *g = (struct group){ true, id, r->s->nall, 0 };
    g->lanes |= lane;
    return g->time;
}

static bool
read_at(struct reader *r, uint32_t index, uint64_t key, uint64_t value)
{
    struct cws *s = r->s;
    struct cws_thread *t = &s->threads[index];
    struct growing *g = &r->of[index];
    const struct cwi_inst *i = &s->side.program.insts[CWI_ID(key)];
    unsigned part = CWI_PART(key);
    if (!find_frame(t, g, i->fn) || !GROW(t->steps, t->nsteps, g->capsteps) || !GROW(s->all, s->nall, r->capall))
        return false;
    struct cws_step *x = &t->steps[t->nsteps];
    *x = (struct cws_step){ .id = CWI_ID(key), .frame = g->frame, .time = time_of(r, s->first + index, CWI_ID(key)), .executed = part & CWI_AT_EXECUTED,
                            .space = (uint8_t)(part >> 1), .address = value };
    if (x->space == CWI_GLOBAL)
        x->address = cws_recorded_address(s, value);
    s->naccesses += x->executed && x->space != CWI_NOWHERE;
    s->all[s->nall++] = (struct cws_ref){ s->first + index, t->nsteps++ };
    if (i->in->op == PTX_OP_RET && x->executed && t->frames[g->frame].parent != CWS_NONE)
        g->frame = t->frames[g->frame].parent;
    return true;
}

static bool
read_value(struct reader *r, uint32_t index, uint64_t key, uint64_t value)
{
    struct cws_thread *t = &r->s->threads[index];
    struct growing *g = &r->of[index];
    uint32_t step = t->nsteps, first = g->frame == CWS_NONE ? 0 : t->frames[g->frame].first;
    while (step > first && (t->steps[step - 1].id != CWI_ID(key) || t->steps[step - 1].frame != g->frame))
        step--;
    if (step == first)
        return true;                    /* its instruction is before the record's begin */
    if (!GROW(g->values, t->nvalues, g->capvalues))
        return false;
    if (r->s->side.program.insts[CWI_ID(key)].in->op == PTX_OP_CALL)
        step = t->nsteps;               /* it is there when the function has returned */
    t->steps[step - 1].nvalues++;
    g->values[t->nvalues++] = (struct loose){ step - 1, { (uint8_t)CWI_KIND(key), (uint8_t)CWI_PART(key), CWI_ID(key), value } };
    return true;
}

static bool
read_record(struct reader *r, uint32_t index, uint64_t key, uint64_t value)
{
    struct cws_thread *t = &r->s->threads[index];
    struct growing *g = &r->of[index];
    const struct cwi_inst *i = &r->s->side.program.insts[CWI_ID(key)];
    if (CWI_KIND(key) == CWI_AT)
        return read_at(r, index, key, value);
    r->group[(r->s->first + index) / WARP].open = false;
    switch (CWI_KIND(key)) {
    case CWI_ENTRY:
        return enter(t, g, i->fn);
    case CWI_ARGUMENT:
        if (g->frame != CWS_NONE && t->frames[g->frame].fn == i->fn && CWI_PART(key) < i->fn->nparams)
            return keep(&t->frames[g->frame].argument, i->fn->nparams, CWI_PART(key), value);
        return true;
    case CWI_SYMBOL:
        if (g->frame != CWS_NONE && t->frames[g->frame].fn == i->fn && CWI_PART(key) < CWI_STEP_SYMBOLS)
            return keep(&t->frames[g->frame].symbol, CWI_STEP_SYMBOLS, CWI_PART(key), value);
        return true;
    default:
        return read_value(r, index, key, value);
    }
}

/* Values in the order of their steps. */
static bool
settle(struct cws_thread *t, const struct growing *g)
{
    t->values = malloc((t->nvalues + (size_t)1) * sizeof *t->values);
    if (!t->values)
        return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->nsteps; i++) {
        t->steps[i].first = at;
        at += t->steps[i].nvalues;
        t->steps[i].nvalues = 0;
    }
    for (uint32_t i = 0; i < t->nvalues; i++) {
        struct cws_step *x = &t->steps[g->values[i].step];
        t->values[x->first + x->nvalues++] = g->values[i].value;
    }
    return true;
}

static bool
list_accesses(struct cws *s)
{
    uint32_t n = 0;
    s->accesses = malloc((s->naccesses + (size_t)1) * sizeof *s->accesses);
    for (uint32_t i = 0; s->accesses && i < s->nall; i++) {
        const struct cws_step *x = &s->threads[s->all[i].thread - s->first].steps[s->all[i].step];
        if (x->executed && x->space != CWI_NOWHERE)
            s->accesses[n++] = s->all[i];
    }
    return s->accesses;
}

static cw_result
read_log(struct cws *s, const uint8_t *records, struct cwd_error *e)
{
    struct reader r = { .s = s };
    s->threads = calloc(s->count, sizeof *s->threads);
    r.of = calloc(s->count, sizeof *r.of);
    bool ok = s->threads && r.of;
    cw_result result = CW_OK;
    for (uint32_t i = 0; ok && i < s->count; i++)
        r.of[i].frame = CWS_NONE;
    for (uint64_t i = 0; ok && result == CW_OK && i < s->kept; i++) {
        uint64_t w[2];
        memcpy(w, records + i * RECORD, sizeof w);
        uint32_t index = CWI_THREAD(w[0]) - s->first;
        if (index >= s->count || CWI_ID(w[0]) >= s->side.program.ninsts)
            result = cwd_fail(e, CW_ERR_INTERNAL, "%s: a record that makes no sense", s->side.label);
        else
            ok = read_record(&r, index, w[0], ~w[1]);
    }
    for (uint32_t i = 0; ok && i < s->count; i++)
        ok = settle(&s->threads[i], &r.of[i]);
    ok = ok && list_accesses(s);
    for (uint32_t i = 0; r.of && i < s->count; i++)
        free(r.of[i].values);
    free(r.of);
    if (result == CW_OK && !ok)
        result = nomem(e);
    if (result != CW_OK)
        forget(s);
    return result;
}

/* ---- the run --------------------------------------------------------------------------------------------------------------------- */

cw_result
cws_record(struct cws *s, uint64_t block, uint32_t first, uint32_t count, uint64_t start, struct cwd_error *e)
{
    if (s->fixed)
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "nothing else is recorded");
    forget(s);
    if (block >= cws_grid_blocks(s) || first >= cws_block_threads(s) || !count || count > cws_block_threads(s) - first)
        return cwd_fail(e, CW_ERR_INVALID, "the launch has no such block or thread");
    s->block = block;
    s->first = first;
    s->count = count;
    s->start = start;
    cw_result r = CW_OK;
    for (uint64_t bytes = SMALL_LOG; r == CW_OK; bytes = CWI_HEADER + (s->made - start + SLACK) * RECORD) {
        bytes = (bytes < s->limit ? bytes : s->limit) / RECORD * RECORD;
        uint64_t room = bytes > CWI_HEADER ? (bytes - CWI_HEADER) / RECORD : 0;
        if (!room)
            return cwd_fail(e, CW_ERR_LIMIT, "no record fits into %llu bytes", (unsigned long long)s->limit);
        const uint64_t control[16] = { [CWI_BLOCK] = block, [CWI_FIRST] = first, [CWI_COUNT] = count, [CWI_START] = start, [CWI_ROOM] = room };
        r = cwl_run_rewritten(&s->side, CWI_STEP, control, bytes, e);
        if (r != CW_OK)
            break;
        memcpy(&s->made, s->side.log + 8 * CWI_CURSOR, sizeof s->made);
        s->kept = s->made <= start ? 0 : s->made - start < room ? s->made - start : room;
        if (s->made <= start + room || bytes >= s->limit / RECORD * RECORD)
            break;
    }
    return r == CW_OK ? read_log(s, s->side.log + CWI_HEADER, e) : r;
}

cw_result
cws_read(struct cws *s, uint64_t block, uint32_t first, uint32_t count, const uint8_t *records, uint64_t n, struct cwd_error *e)
{
    forget(s);
    s->block = block;
    s->first = first;
    s->count = count;
    s->made = s->kept = n;
    s->start = 0;
    s->fixed = true;
    return read_log(s, records, e);
}

cw_result
cws_record_around(struct cws *s, uint64_t block, uint32_t thread, struct cwd_error *e)
{
    uint32_t n = cws_block_threads(s), warp = thread / WARP * WARP;
    const uint32_t first[] = { 0, warp, thread }, count[] = { n, n - warp < WARP ? n - warp : WARP, 1 };
    cw_result r = CW_OK;
    for (unsigned i = 0; i < 3 && r == CW_OK; i++) {
        if (i && count[i] == count[i - 1])
            continue;
        r = cws_record(s, block, first[i], count[i], 0, e);
        if (r == CW_OK && s->kept == s->made)
            break;
    }
    return r;
}

const struct cws_thread *
cws_thread(const struct cws *s, uint32_t thread)
{
    return s->threads && thread - s->first < s->count ? &s->threads[thread - s->first] : NULL;
}

uint32_t
cws_step_at(const struct cws *s, uint32_t thread, uint32_t time)
{
    const struct cws_thread *t = cws_thread(s, thread);
    uint32_t low = 0, high = t ? t->nsteps : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->steps[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t
cws_time(const struct cws *s, uint32_t thread, uint32_t step)
{
    const struct cws_thread *t = cws_thread(s, thread);
    if (!t || !t->nsteps)
        return 0;
    return step < t->nsteps ? t->steps[step].time : t->steps[t->nsteps - 1].time + 1;
}
