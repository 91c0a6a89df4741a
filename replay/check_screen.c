/* SPDX-License-Identifier: Apache-2.0
 * The launch with CWI_SCREEN: most have no fault, and need no records. */
#include "replay/check_private.h"

#include "impl/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_ACCESS = 16 };           /* in cells */
#define LARGEST_SHADOW (4ull << 30)
#define SHADOW 0x5d2ca7f000000000ull    /* where it is said to have been recorded: see NOWHERE of side.c */

static const struct ptx_function *
kernel_of(const struct cwl_side *s)
{
    for (uint32_t i = 0; i < s->program.ntexts; i++)
        for (uint32_t k = 0; k < s->program.modules[i]->nfuncs; k++) {
            const struct ptx_function *fn = s->program.modules[i]->funcs[k];
            if (fn->is_entry && fn->ninsts && !strcmp(fn->sym->name, s->dump.kernel))
                return fn;
        }
    return NULL;
}

static bool
reads_size(const struct ptx_inst *in)
{
    for (unsigned k = 0; k < in->noperands; k++) {
        unsigned r = in->operand[k].kind == PTX_OPND_SREG ? in->operand[k].index : PTX_SREG_LANEID;
        if (r == PTX_SREG_TOTAL_SMEM_SIZE || r == PTX_SREG_AGGR_SMEM_SIZE || r == PTX_SREG_DYNAMIC_SMEM_SIZE)
            return true;
    }
    return false;
}

static bool
uses_local(const struct ptx_inst *in)
{
    for (unsigned k = 0; k < in->noperands; k++) {
        const struct ptx_operand *o = &in->operand[k];
        bool named = (o->kind == PTX_OPND_ADDR && !o->has_reg) || o->kind == PTX_OPND_SYM;
        if (named && o->sym && o->sym->kind == PTX_SYM_VAR && o->sym->space == PTX_SPACE_LOCAL)
            return true;
    }
    return in->op == PTX_OP_ALLOCA || in->space == PTX_SPACE_LOCAL;
}

static unsigned
bytes_of(const struct ptx_inst *in, uint8_t space)
{
    bool access = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST || in->op == PTX_OP_ATOM || in->op == PTX_OP_RED;
    return access && (in->space == space || in->space == PTX_SPACE_GENERIC) ? ptx_type_bits((ptx_type)in->type[0]) / 8 : 0;
}

/* A cell of memory of the space stands for 4 >> shift bytes, in whose units all of it is accessed. False: some accesses are of too many. */
static bool
choose_shift(struct cwl_side *s, uint8_t space)
{
    const struct ptx_function *fn = kernel_of(s);
    unsigned smallest = 4;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        unsigned bytes = bytes_of(&fn->insts[i], space);
        smallest = bytes && bytes < smallest ? bytes : smallest;
    }
    s->program.shift = smallest == 4 ? 0 : smallest == 2 ? 1 : 2;
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (bytes_of(&fn->insts[i], space) * (fn->insts[i].vec ? fn->insts[i].vec : 1) / smallest > LARGEST_ACCESS)
            return false;
    return true;
}

static bool
can_screen(const struct check *c, unsigned screens)
{
    const struct cwl_side *s = c->side;
    const struct ptx_function *fn = kernel_of(s);
    const uint32_t *g = s->dump.grid;
    if (s->session ? !s->session->sequential : s->on && strncmp(s->on, "host", 4) != 0)
        return false;
    if (!fn || c->what & CWC_MEETINGS || (c->what & CWC_RACES && !(screens & CWI_SCREEN_BOUNDS)) || (uint64_t)g[0] * g[1] * g[2] >= UINT32_MAX - 1)
        return false;
    if (screens & CWI_SCREEN_SYNC && fn->module->version_major < 6)
        return false;                   /* no bar.warp.sync */
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (fn->insts[i].op == PTX_OP_CALL || (screens & CWI_SCREEN_CELLS && reads_size(&fn->insts[i])) ||
            (screens & CWI_SCREEN_FRESH && uses_local(&fn->insts[i])))
            return false;
    return true;
}

/* Bytes of shared memory that the program's variables take at most. */
static uint64_t
shared_variables(const struct cwi_program *p)
{
    uint64_t n = 16;
    for (uint32_t i = 0; i < p->ntexts; i++) {
        const struct ptx_module *m = p->modules[i];
        for (uint32_t k = 0; k < m->nvars; k++)
            n += m->vars[k]->space == PTX_SPACE_SHARED ? m->vars[k]->size + 2 * m->vars[k]->align : 0;
        for (uint32_t f = 0; f < m->nfuncs; f++)
            for (uint32_t k = 0; k < m->funcs[f]->nlocals; k++) {
                const struct ptx_symbol *v = m->funcs[f]->locals[k];
                n += v->space == PTX_SPACE_SHARED ? v->size + 2 * v->align : 0;
            }
    }
    return n;
}

static uint64_t
up(uint64_t n)
{
    return (n + 15) & ~15ull;
}

/* `stored`: by allocation, whether a plain store goes there; behind the run, and with CWI_SCREEN_GLOBAL before it. */
static bool
run_screen(struct check *c, unsigned screens, uint32_t *stored)
{
    struct cwl_side *s = c->side;
    const struct cwd_dump *d = &s->dump;
    unsigned shift = s->program.shift;
    struct cwd_error e = { "" };
    uint64_t n = CWI_SCREEN_SITES + (s->program.ninsts + 1ull) * 8, *control = calloc(1, n), shadow = 0, word = 1;
    if (!control)
        return false;
    s->program.screens = screens;
    control[CWI_ALLOCATIONS] = screens & CWI_SCREEN_BOUNDS ? d->nbuffers : 0;
    control[CWI_DYNAMIC] = d->shared;
    control[CWI_BEHIND] = up(d->shared);
    control[CWI_SHADOW] = screens & CWI_SCREEN_CELLS ? up((shared_variables(&s->program) + d->shared) << shift) : 0;
    for (uint32_t i = 0; i < control[CWI_ALLOCATIONS]; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        uint64_t *entry = control + 16 + 4 * i, owners = up((b->address & 15) + b->size) << shift;
        entry[0] = b->address;
        entry[1] = b->size;
        if (!(screens & CWI_SCREEN_GLOBAL) || !stored[i])
            continue;
        entry[2] = SHADOW + shadow + ((b->address & 15) << shift);
        entry[3] = entry[2] + owners;
        shadow += 2 * owners;
    }
    for (uint32_t i = 0; i <= s->program.ninsts; i++)
        control[CWI_SCREEN_SITES / 8 + i] = CWI_SCREEN_NONE;
    struct cwl_screen screen = { control, n, SHADOW, shadow, (uint32_t)(control[CWI_BEHIND] + control[CWI_SHADOW] + 16) };
    bool ran = shadow <= LARGEST_SHADOW && cwl_run_screened(s, &screen, &e) == CW_OK && s->sequential;
    if (ran)
        memcpy(&word, s->log + 8 * CWI_SUSPECT, sizeof word);
    for (uint32_t i = 0; i < CWI_TABLE && ran; i++) {
        uint32_t now;
        memcpy(&now, s->log + CWI_SCREEN_STORED + 4 * i, sizeof now);
        word |= screens & CWI_SCREEN_GLOBAL && now && !stored[i];       /* this time it stored elsewhere, where nobody looked */
        stored[i] = now;
    }
    cw_debug("%s without records on %s: %s", d->kernel, s->label, !ran ? e.text : word ? "there may be a fault" : "no fault");
    free(control);
    return ran && !word;
}

bool
screen_launch(struct check *c, bool bounds)
{
    struct cwl_side *s = c->side;
    unsigned screens = (bounds ? CWI_SCREEN_BOUNDS : 0) | (c->what & CWC_RACES ? CWI_SCREEN_SHARED : 0) | (c->what & CWC_UNINITIALISED ? CWI_SCREEN_FRESH : 0) |
                       (c->what & CWC_SYNC ? CWI_SCREEN_SYNC : 0);
    uint32_t stored[CWI_TABLE] = { 0 };
    bool any = false;
    if (!can_screen(c, screens) || (!choose_shift(s, PTX_SPACE_SHARED) && screens & CWI_SCREEN_CELLS) || !run_screen(c, screens, stored))
        return false;
    for (uint32_t i = 0; i < CWI_TABLE; i++)
        any = any || stored[i];
    return !any || !(c->what & CWC_RACES) || (choose_shift(s, PTX_SPACE_GLOBAL) && run_screen(c, CWI_SCREEN_BOUNDS | CWI_SCREEN_GLOBAL, stored));
}
