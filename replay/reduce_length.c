/* SPDX-License-Identifier: Apache-2.0
 * See reduce_private.h. What is accessed of a buffer is told by one run on each device that records all accesses (CWI_CHECK): behind that nothing of it is needed. To try
 * shorter and shorter ones would not tell: devices let accesses behind a buffer's end pass. */
#include "replay/reduce_private.h"

#include "replay/instrument_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG (64ull << 20)               /* of records, at most */
enum { SECONDS = 200 };                 /* what records has to be compiled first */

/* Accesses without a record, to memory that may be a buffer's. */
static bool
unseen(const struct ptx_inst *in)
{
    struct access a;
    if (cwi_hidden(in))
        return true;
    if (cwi_access_of(in, &a))
        return false;
    switch (in->op) {
    case PTX_OP_PREFETCH: case PTX_OP_PREFETCHU: case PTX_OP_APPLYPRIORITY:
        return false;
    default:
        break;
    }
    for (unsigned k = 0; k < in->noperands; k++) {
        uint8_t space = in->operand[k].kind == PTX_OPND_ADDR ? cwi_space(in, &in->operand[k]) : PTX_SPACE_REG;
        if (space == PTX_SPACE_GENERIC || space == PTX_SPACE_GLOBAL)
            return true;
    }
    return false;
}

/* used[i]: bytes of buffer i of this run up to the last that is accessed. NULL, or what prevented it. */
static const char *
find_used(struct reduced_side *x, unsigned compute_capability, uint64_t *used, struct cwd_error *e)
{
    struct cwl_side *s = &x->s;
    uint64_t control[CWI_HEADER / 8] = { [CWI_SIZE] = CWI_WANT_ACCESSES }, made, w[4];
    s->seconds = SECONDS;
    if (cwl_parse(s, compute_capability, e) != CW_OK)
        return e->text;
    for (uint32_t i = 0; i < s->program.ninsts; i++)
        if (unseen(s->program.insts[i].in))
            return "an instruction that is left accesses memory without a record";
    if (cwl_run_recorded(s, CWI_CHECK, control, LOG, &made, e) != CW_OK)
        return e->text;
    if (made > control[CWI_ROOM])
        return "what is left accesses memory too often";
    for (uint64_t i = 0; i < made; i++) {
        memcpy(w, s->log + CWI_HEADER + i * 32, sizeof w);
        uint64_t bytes = CWI_PART(w[0]) & CWI_BYTES;
        for (uint32_t b = 0; b < s->dump.nbuffers; b++) {
            uint64_t at = ~w[2] - s->address[b];
            if (s->address[b] && at < s->dump.buffers[b].size && at + bytes > used[b])
                used[b] = at + bytes < s->dump.buffers[b].size ? at + bytes : s->dump.buffers[b].size;
        }
    }
    return NULL;
}

static bool
is_variable(const struct cwd_buffer *b)
{
    return b->kind == CWD_VARIABLE || b->kind == CWD_CONSTANT;
}

static bool
points_to(const uint8_t *data, uint64_t size, const struct cwd_buffer *b)
{
    for (uint64_t at = 0, word; at + 8 <= size; at += 8) {
        memcpy(&word, data + at, 8);
        if (word - b->address <= b->size)
            return true;
    }
    return false;
}

/* Whether the launch can come to a buffer that it did not access: its address may be computed with. */
static bool
needed(const struct reduced_side *x, uint32_t i)
{
    const struct cwd_dump *d = &x->s.dump;
    const struct cwd_buffer *b = &d->buffers[i];
    for (uint32_t t = 0; is_variable(b) && t < x->ntexts; t++)
        if (reduce_mentions(&x->texts[t], 0, x->texts[t].size, b->name))
            return true;
    for (uint32_t k = 0; k < d->nparams && !is_variable(b); k++)
        if (points_to(d->param_block + d->params[k].offset, d->params[k].size, b))
            return true;
    for (uint32_t k = 0; k < d->nbuffers && !is_variable(b); k++)
        if (k != i && points_to(d->buffers[k].before, d->buffers[k].size, b))
            return true;
    return false;
}

/* The bytes to be left of buffer i. */
static uint64_t
length(const struct reduced_side *x, uint32_t i, uint64_t used)
{
    const struct cwd_buffer *b = &x->s.dump.buffers[i];
    uint64_t width = cwd_element_width(b), size = (used + width - 1) / width * width;
    if (!used && !needed(x, i))
        return 0;
    return is_variable(b) || size > b->size ? b->size : size ? size : width;
}

void
reduce_lengths(struct reduction *r)
{
    uint32_t n = r->side[0].dump.nbuffers;
    struct reduced_side x;
    const char *why = r->side[0].dump.ntextures ? "the launch uses textures" : NULL;
    uint64_t *used = calloc(n + (size_t)1, sizeof *used), *size = calloc(n + (size_t)1, sizeof *size), *was = r->now.size;
    if (!used || !size)
        why = "out of memory";
    for (unsigned k = 0; k < 2 && !why; k++) {
        why = !reduce_side_open(r, k, &x) ? "out of memory" : find_used(&x, r->side[0].compute_capability, used, &r->e);
        for (uint32_t i = 0; k && i < n && !why; i++)
            size[i] = length(&x, i, used[i]);
        reduce_side_close(&x);
    }
    r->now.size = why ? was : size;
    if (!why && !reduce_differs(r)) {
        why = "shorter ones do not show the difference";
        r->now.size = was;
    }
    snprintf(r->whole, sizeof r->whole, "%s", why ? why : "");
    free(used);
    free(r->now.size == size ? was : size);
}
