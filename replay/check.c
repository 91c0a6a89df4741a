/* SPDX-License-Identifier: Apache-2.0
 * See check.h. */
#define _GNU_SOURCE
#include "replay/check_private.h"

#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/tar.h"

#include <inttypes.h>
#include <stdarg.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING = 0, FOUND = 1, TROUBLE = 2 };
#define LOG (512ull << 20)              /* at most */

static int
order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
by_place(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    bool turn_x = x->act[1].id < x->act[0].id, turn_y = y->act[1].id < y->act[0].id;
    int r = order_of(x->kind, y->kind);
    r = r ? r : order_of(x->act[turn_x].id, y->act[turn_y].id);
    r = r ? r : order_of(x->act[!turn_x].id, y->act[!turn_y].id);
    return r ? r : order_of(x->what, y->what);
}

static int
by_thread(const struct finding *x, const struct finding *y)
{
    int r = 0;
    for (unsigned i = 0; i < 2 && !r; i++) {
        const struct who *a = &x->act[i].who, *b = &y->act[i].who;
        r = order_of(a->block, b->block);
        r = r ? r : order_of(a->thread, b->thread);
    }
    return r;
}

void
check_found(struct check *c, const struct finding *f)
{
    void *known = tfind(f, &c->findings, by_place);
    if (known) {
        struct finding *k = *(struct finding **)known;
        uint64_t count = k->count + 1;
        if (by_thread(f, k) < 0)
            *k = *f;
        k->count = count;
        return;
    }
    struct finding *k = malloc(sizeof *k);
    if (!k || (*k = *f, !tsearch(k, &c->findings, by_place))) {
        free(k);
        c->failed = true;
        return;
    }
    k->count = 1;
    c->report->kinds |= k->kind;
    c->report->found++;
}

void
check_who(const struct check *c, struct who w, char *out, size_t size)
{
    const uint32_t *b = c->side->dump.block, *g = c->side->dump.grid;
    snprintf(out, size, "thread (%u,%u,%u) of block (%u,%u,%u)", w.thread % b[0], w.thread / b[0] % b[1], w.thread / b[0] / b[1],
             (unsigned)(w.block % g[0]), (unsigned)(w.block / g[0] % g[1]), (unsigned)(w.block / g[0] / g[1]));
}

void
check_place(const struct check *c, uint32_t id, char *out, size_t size)
{
    cwi_place_text(&c->side->program, id, "", out, size);
}

void
check_say(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cw_buf_vprintf(&c->report->lines, fmt, ap);
    va_end(ap);
    cw_buf_puts(&c->report->lines, "\n");
}

static bool
read_record(const struct check *c, uint64_t i, struct record *r)
{
    uint64_t w[4];
    memcpy(w, c->side->log + CWI_HEADER + i * 32, sizeof w);
    enum cwi_kind kind = CWI_KIND(w[0]);
    *r = (struct record){ CWI_WHAT(kind), CWI_WHERE(kind), CWI_PART(w[0]) & CWI_BYTES, CWI_PART(w[0]) & CWI_OUTSIDE, CWI_PART(w[0]) & CWI_MISALIGNED,
                          CWI_ID(w[0]), { w[1], CWI_THREAD(w[0]) }, ~w[2], ~w[3], i + 1 };
    return r->id < c->side->program.ninsts && r->who.thread < c->threads;
}

/* Memory that no dump holds: the device's heap, parameters by generic address, and the workspace of a cooperative grid, whose address is
 * in %envreg1 and 2. */
static bool
uses_other_memory(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        if (cwi_allocates(in) || (in->op == PTX_OP_CVTA && in->space == PTX_SPACE_PARAM))
            return true;
        for (unsigned k = 0; k < in->noperands; k++)
            if (in->operand[k].kind == PTX_OPND_SREG && (in->operand[k].index == PTX_SREG_ENVREG1 || in->operand[k].index == PTX_SREG_ENVREG2))
                return true;
    }
    return false;
}

static bool
has_unknown_constants(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (cwi_constant_unknown(p->insts[i].fn, p->insts[i].in))
            return true;
    return false;
}

/* Other blocks' shared memory, and barriers of several blocks, are in no model of the checkers. */
static bool
uses_clusters(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        if (in->op == PTX_OP_BARRIER_CLUSTER || in->op == PTX_OP_MAPA || in->space == PTX_SPACE_SHARED_CLUSTER)
            return true;
    }
    return false;
}

/* Run with a log that all records fit into, or as many as there may be. *made: records that there are. */
static cw_result
run(struct check *c, uint64_t *made, uint64_t *kept, struct cwd_error *e)
{
    struct cwl_side *s = c->side;
    const struct cwd_dump *d = &s->dump;
    uint64_t control[CWI_HEADER / 8] = { 0 };
    bool bounds = d->nbuffers <= CWI_TABLE && !uses_other_memory(&s->program);
    if (!bounds)
        cw_buf_puts(&c->report->notes, d->nbuffers > CWI_TABLE ? "there are too many allocations: bounds in global memory were not checked\n"
                                                               : "the kernel uses the heap, a cooperative grid's workspace, or generic addresses of parameters: bounds in global memory were not checked\n");
    if (c->what & CWC_MEMORY && has_unknown_constants(&s->program))
        cw_buf_puts(&c->report->notes, "the sizes of variables in constant memory are not known, or these are more than 64: bounds there were not checked\n");
    control[CWI_START] = !bounds ? 0 : d->nbuffers ? d->nbuffers : 1;      /* 0: bounds are not checked; an empty range is in no allocation */
    control[CWI_SIZE] = (c->what & (CWC_RACES | CWC_UNINITIALISED | CWC_MEETINGS) ? CWI_WANT_ACCESSES | CWI_WANT_SYNC : 0) | (c->what & CWC_SYNC ? CWI_WANT_SYNC : 0);
    for (uint32_t i = 0; i < d->nbuffers && bounds; i++) {
        control[16 + 2 * i] = d->buffers[i].address;
        control[17 + 2 * i] = d->buffers[i].size;
    }
    *made = *kept = 0;
    if (screen_launch(c, bounds))
        return CW_OK;
    cw_result r = cwl_run_recorded(s, CWI_CHECK, control, LOG, made, e);
    *kept = *made < control[CWI_ROOM] ? *made : control[CWI_ROOM];
    return r;
}

/* Does the record order what different blocks do? */
static bool
between_blocks(const struct record *r)
{
    switch (r->what) {
    case CWI_MODIFY: case CWI_SYNC_READ: case CWI_SYNC_WRITE: case CWI_ACQUIRE:
        return r->where == CWI_GLOBAL;
    case CWI_ARRIVE: case CWI_PASS:
        return r->value == CWI_GRID;
    default:
        return false;
    }
}

/* The numbers of the records, block after block. Where nothing orders blocks, their order in time is chance, and a report must not depend on it. NULL: something
 * orders them, or there is no memory; the order in time is to be used. */
static uint32_t *
by_block(const struct check *c, uint64_t kept)
{
    const uint32_t *g = c->side->dump.grid;
    uint64_t blocks = (uint64_t)g[0] * g[1] * g[2], *next = kept < UINT32_MAX ? calloc(blocks + 1, sizeof *next) : NULL;
    uint32_t *order = next ? malloc((kept + 1) * sizeof *order) : NULL;
    bool ok = order;
    struct record r;
    for (uint64_t i = 0; ok && i < kept; i++) {
        ok = read_record(c, i, &r) && r.who.block < blocks && !between_blocks(&r);
        next[ok ? r.who.block + 1 : 0]++;
    }
    for (uint64_t i = 0; ok && i < blocks; i++)
        next[i + 1] += next[i];
    for (uint64_t i = 0; ok && i < kept; i++) {
        (void)read_record(c, i, &r);
        order[next[r.who.block]++] = (uint32_t)i;
    }
    free(next);
    if (!ok) {
        free(order);
        return NULL;
    }
    return order;
}

static void
describe(const void *node, VISIT visit, void *user)
{
    const struct finding *f = *(struct finding *const *)node;
    if (visit == postorder || visit == leaf)
        (f->kind == CWC_SYNC ? sync_say : memory_say)(user, f);
}

static void
note_count(const void *node, VISIT visit, void *user)
{
    const struct finding *f = *(struct finding *const *)node;
    struct check *c = user;
    char place[700];
    if ((visit != postorder && visit != leaf) || f->count < 2)
        return;
    check_place(c, f->act[0].id, place, sizeof place);
    cw_buf_printf(&c->report->notes, "%" PRIu64 " times what is said of %s\n", f->count, place);
}

static cw_result
look(struct check *c, uint64_t made, uint64_t kept, struct cwd_error *e)
{
    c->truncated = kept < made;
    if (c->truncated)
        cw_buf_printf(&c->report->notes, "only the first %" PRIu64 " of %" PRIu64 " records fit and were looked at\n", kept, made);
    bool ok = memory_open(c) && sync_open(c), sense = true;
    uint32_t *order = ok && !(c->what & CWC_MEETINGS) ? by_block(c, kept) : NULL;
    for (uint64_t i = 0; ok && i < kept && !c->failed && sense; i++) {
        struct record r;
        sense = read_record(c, order ? order[i] : i, &r);
        r.order = i + 1;
        if (sense) {
            memory_record(c, &r);
            sync_record(c, &r);
        }
    }
    free(order);
    if (!sense)
        return cwd_fail(e, CW_ERR_INTERNAL, "%s: a record that makes no sense", c->side->label);
    if (ok && !c->failed) {
        sync_finish(c);
        memory_finish(c);
        twalk_r(c->findings, describe, c);
    }
    return ok && !c->failed ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
}

cw_result
cwc_run(struct cwl_side *s, unsigned what, struct cwc_report *report, struct cwd_error *e)
{
    const uint32_t *b = s->dump.block;
    struct check c = { .side = s, .what = what, .report = report, .threads = (uint64_t)b[0] * b[1] * b[2] };
    uint64_t made = 0, kept = 0;
    *report = (struct cwc_report){ .found = 0 };
    cw_buf_init(&report->lines);
    cw_buf_init(&report->notes);
    if (uses_clusters(&s->program))
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "the kernel's blocks work together in clusters, which cannot be checked");
    cw_result r = run(&c, &made, &kept, e);
    if (r == CW_OK)
        r = look(&c, made, kept, e);
    twalk_r(c.findings, note_count, &c);
    memory_close(&c);
    sync_close(&c);
    tdestroy(c.findings, free);
    return r;
}

void
cwc_report_finish(struct cwc_report *r)
{
    cw_buf_finish(&r->lines);
    cw_buf_finish(&r->notes);
    free(r->meets);
    free(r->last);
}

int
cwc_check(const char *file, const char *on, unsigned what)
{
    /* Twice without records, and twice with: of a part of them, and of all. Each is tried with plain code first. */
    struct cw_progress progress = { .what = "runs", .all = 8, .at_most = true };
    struct cwl_side s = { .on = on, .progress = &progress };
    struct cwd_error e = { "" };
    struct cwc_report report = { .found = 0 };
    char folder[PATH_MAX] = "";
    s.folder = folder;
    snprintf(s.label, sizeof s.label, "%s", on ? on : "the default device");
    int status = TROUBLE;
    if (cwl_folder(folder, sizeof folder, &e) && cwl_open(&s, file, &e) == CW_OK &&
        cwl_parse(&s, s.dump.compute_capability ? s.dump.compute_capability : 86, &e) == CW_OK && cwc_run(&s, what, &report, &e) == CW_OK) {
        cw_text_print(stdout, "%s", report.lines.data ? report.lines.data : "");
        cw_text_print(stdout, "%s", report.notes.data ? report.notes.data : "");
        cw_text_print(stdout, "%s on %s: %u faults found\n", s.dump.kernel, s.label, report.found);
        status = report.found ? FOUND : NOTHING;
    } else {
        cw_text_line(stderr, "cudaway-replay: %s: %s", file, e.text);
    }
    cwc_report_finish(&report);
    cwl_close(&s);
    cw_temp_remove(folder);
    return status;
}
