/* SPDX-License-Identifier: Apache-2.0
 * See step.h: registers and memory at a position of the record. */
#include "replay/step.h"

#include "replay/flow.h"
#include "replay/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- registers ----------------------------------------------------------------------------------------------------------------- */

/* The registers of one frame of a thread before a step; going on from there takes less than starting again. */
struct cws_registers {
    uint32_t frame, step, count;
    struct cws_bits *bits;
    bool *known;
};

void
cws_forget_registers(struct cws *s)
{
    for (uint32_t i = 0; s->registers && i < s->count; i++) {
        free(s->registers[i].bits);
        free(s->registers[i].known);
    }
    free(s->registers);
    s->registers = NULL;
}

static bool
begin_frame(const struct cws_thread *t, struct cws_registers *c, uint32_t frame)
{
    const struct cws_frame *f = &t->frames[frame];
    const struct ptx_function *fn = f->fn;
    if (c->count < fn->nregs || !c->bits) {
        free(c->bits);
        free(c->known);
        c->bits = calloc(fn->nregs + (size_t)1, sizeof *c->bits);
        c->known = calloc(fn->nregs + (size_t)1, sizeof *c->known);
        c->count = c->bits && c->known ? fn->nregs : 0;
        if (!c->bits || !c->known)
            return false;
    }
    memset(c->known, 0, fn->nregs * sizeof *c->known);
    c->frame = frame;
    c->step = f->first;
    for (uint32_t i = 0; i < fn->nparams && i < 256; i++) {
        const struct ptx_symbol *p = fn->params[i];
        if (!p->is_param_reg || p->reg >= fn->nregs || !f->argument)
            continue;
        c->known[p->reg] = true;
        c->bits[p->reg] = (struct cws_bits){ f->argument[i], 0, CWS_NONE };
    }
    return true;
}

/* The register of a frame that a value is of, or CWS_NONE. */
static uint32_t
register_of(const struct cws *s, const struct cws_thread *t, uint32_t frame, uint32_t step, const struct cws_value *v, bool *upper)
{
    const struct cws_step *x = &t->steps[step];
    const struct cwi_inst *i = &s->side.program.insts[v->id];
    if (v->kind != CWI_RESULT || (v->id == x->id ? x->frame : t->frames[x->frame].parent) != frame)
        return CWS_NONE;
    uint32_t reg = cwi_result_register(i->fn, i->in, v->part, upper);
    return reg < i->fn->nregs ? reg : CWS_NONE;
}

static void
apply_results(const struct cws *s, const struct cws_thread *t, struct cws_registers *c, uint32_t step)
{
    const struct cws_step *x = &t->steps[step];
    for (uint32_t k = 0; k < x->nvalues; k++) {
        const struct cws_value *v = &t->values[x->first + k];
        bool upper;
        uint32_t reg = register_of(s, t, c->frame, step, v, &upper);
        if (reg == CWS_NONE)
            continue;
        c->known[reg] = true;
        if (upper)
            c->bits[reg].high = v->bits;
        else
            c->bits[reg] = (struct cws_bits){ v->bits, 0, v->id };
    }
}

bool
cws_register(struct cws *s, uint32_t thread, uint32_t frame, uint32_t step, uint32_t reg, struct cws_bits *out)
{
    const struct cws_thread *t = cws_thread(s, thread);
    if (!t || frame >= t->nframes || reg >= t->frames[frame].fn->nregs)
        return false;
    if (!s->registers)
        s->registers = calloc(s->count, sizeof *s->registers);
    if (!s->registers)
        return false;
    struct cws_registers *c = &s->registers[thread - s->first];
    if ((!c->bits || c->frame != frame || c->step > step) && !begin_frame(t, c, frame))
        return false;
    for (; c->step < step && c->step < t->nsteps; c->step++)
        apply_results(s, t, c, c->step);
    *out = c->bits[reg];
    return c->known[reg];
}

bool
cws_writes(const struct cws *s, uint32_t thread, uint32_t frame, uint32_t step, uint32_t reg)
{
    const struct cws_thread *t = cws_thread(s, thread);
    const struct cws_step *x = t && step < t->nsteps ? &t->steps[step] : NULL;
    bool upper;
    for (uint32_t k = 0; x && k < x->nvalues; k++)
        if (register_of(s, t, frame, step, &t->values[x->first + k], &upper) == reg)
            return true;
    return false;
}

/* ---- types --------------------------------------------------------------------------------------------------------------------- */

struct cws_types {
    struct cws_types *next;
    const struct ptx_function *fn;
    uint8_t type[];                     /* by register */
};

struct use {
    struct cws_types *t;
    const struct cwi_inst *inst;
};

static void
used(void *user, uint32_t reg)
{
    const struct use *u = user;
    unsigned type = cwt_type(u->inst, reg, false);
    if (ptx_type_class((ptx_type)u->t->type[reg]) == PTX_CLASS_BITS)
        u->t->type[reg] = (uint8_t)type;
}

unsigned
cws_used_as(struct cws *s, const struct ptx_function *fn, uint32_t reg)
{
    struct cws_types *t = s->types;
    while (t && t->fn != fn)
        t = t->next;
    if (t)
        return t->type[reg];
    t = calloc(1, sizeof *t + fn->nregs + 1);
    if (!t)
        return fn->regs[reg].type;
    *t = (struct cws_types){ s->types, fn };
    s->types = t;
    for (uint32_t i = 0; i < fn->nregs; i++)
        t->type[i] = fn->regs[i].type;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct cwi_inst inst = { .fn = fn, .in = &fn->insts[i] };
        struct use u = { t, &inst };
        cwi_reads(inst.in, used, &u);
    }
    return t->type[reg];
}

void
cws_forget_types(struct cws *s)
{
    while (s->types) {
        struct cws_types *t = s->types;
        s->types = t->next;
        free(t);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

uint32_t
cws_buffer(const struct cws *s, uint64_t address)
{
    const struct cwd_dump *d = &s->side.dump;
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (address - d->buffers[i].address < d->buffers[i].size)
            return i;
    return CWS_NONE;
}

uint64_t
cws_recorded_address(const struct cws *s, uint64_t address)
{
    const struct cwd_dump *d = &s->side.dump;
    for (uint32_t i = 0; i < d->nbuffers && s->side.address; i++)
        if (s->side.address[i] && address - s->side.address[i] < d->buffers[i].size)
            return address - s->side.address[i] + d->buffers[i].address;
    return address;
}

uint64_t
cws_place_of(const struct cws *s, enum cwi_where space, uint64_t address)
{
    return space == CWI_GLOBAL ? cws_recorded_address(s, address) : space == CWI_LOCAL ? address & UINT32_MAX : address;
}

/* Memory of size bytes from address on, being filled. */
struct view {
    uint64_t address;
    uint32_t size;
    uint8_t *bytes;
    bool *known;
};

static void
put(const struct view *v, uint64_t address, uint64_t bits, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint64_t at = address + i - v->address;
        if (at >= v->size)
            continue;
        v->bytes[at] = (uint8_t)(bits >> 8 * i);
        v->known[at] = true;
    }
}

/* The old value where all of it is in the view. */
static bool
get(const struct view *v, uint64_t address, unsigned bytes, uint64_t *bits)
{
    *bits = 0;
    for (unsigned i = 0; i < bytes; i++) {
        uint64_t at = address + i - v->address;
        if (at >= v->size || !v->known[at])
            return false;
        *bits |= (uint64_t)v->bytes[at] << 8 * i;
    }
    return true;
}

/* A constant as the bits of the instruction's type. */
static uint64_t
constant(const struct ptx_operand *o, unsigned type)
{
    uint64_t bits = (uint64_t)o->imm;
    double d;
    float f;
    if (!o->is_float || ptx_type_class((ptx_type)type) != PTX_CLASS_FLOAT)
        return bits;
    uint32_t b32 = (uint32_t)bits;
    if (ptx_type_bits((ptx_type)type) == 32 && !o->imm_f32) {
        memcpy(&d, &bits, sizeof d);
        f = (float)d;
        memcpy(&b32, &f, sizeof b32);
        return b32;
    }
    return bits;
}

static const struct cws_value *
value_of(const struct cws_thread *t, const struct cws_step *x, enum cwi_kind kind, unsigned part)
{
    for (uint32_t k = 0; k < x->nvalues; k++)
        if (t->values[x->first + k].kind == kind && t->values[x->first + k].part == part)
            return &t->values[x->first + k];
    return NULL;
}

static bool
stored(const struct cws_thread *t, const struct cws_step *x, const struct ptx_operand *o, unsigned type, unsigned part, uint64_t *bits)
{
    const struct cws_value *v = value_of(t, x, CWI_STORE, part);
    if (o->kind == PTX_OPND_IMM)
        *bits = constant(o, type);
    else if (v)
        *bits = v->bits;
    return o->kind == PTX_OPND_IMM || v;
}

static void
store(const struct cws_thread *t, const struct cws_step *x, const struct ptx_inst *in, const struct view *v)
{
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8;
    const struct ptx_operand *o = &in->operand[1];
    unsigned n = o->kind == PTX_OPND_VEC ? o->count : 1;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *e = o->kind == PTX_OPND_VEC ? &o->elem[i] : o;
        uint64_t bits;
        if (!stored(t, x, e, in->type[0], 2 * i, &bits))
            continue;
        put(v, x->address + (uint64_t)i * bytes, bits, bytes < 8 ? bytes : 8);
        if (bytes == 16 && stored(t, x, e, in->type[0], 2 * i + 1, &bits))
            put(v, x->address + (uint64_t)i * bytes + 8, bits, 8);
    }
}

/* What a load saw, which corrects what is known: other blocks' stores leave no record. */
static void
loaded(const struct cws_thread *t, const struct cws_step *x, const struct cwi_inst *i, const struct view *v)
{
    const struct ptx_operand *o = &i->in->operand[0];
    unsigned bytes = ptx_type_bits((ptx_type)i->in->type[0]) / 8, part = 0;
    unsigned n = o->kind == PTX_OPND_VEC ? o->count : 1;
    for (unsigned k = 0; k < n; k++) {
        const struct ptx_operand *e = o->kind == PTX_OPND_VEC ? &o->elem[k] : o;
        unsigned parts = e->kind == PTX_OPND_REG ? ptx_type_bits((ptx_type)i->fn->regs[e->index].type) > 64 ? 2 : 1 : 0;
        for (unsigned p = 0; p < parts; p++, part++) {
            const struct cws_value *r = value_of(t, x, CWI_RESULT, part);
            if (r && 8 * p < bytes)
                put(v, x->address + (uint64_t)k * bytes + 8 * p, r->bits, bytes - 8 * p < 8 ? bytes - 8 * p : 8);
        }
    }
}

static double
as_double(uint64_t bits, unsigned type)
{
    uint32_t b = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &b, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return type == PTX_F32 ? (double)f : d;
}

static uint64_t
float_bits(double d, unsigned type)
{
    float f = (float)d;
    uint32_t b;
    uint64_t bits;
    memcpy(&b, &f, sizeof b);
    memcpy(&bits, &d, sizeof bits);
    return type == PTX_F32 ? b : bits;
}

/* What an atomic leaves (PTX ISA 9.7.13.6). False: not known. The sum of two f32 in double, rounded once, is exact enough to be theirs. */
static bool
combine(const struct ptx_inst *in, uint64_t old, uint64_t b, uint64_t c, uint64_t *out)
{
    unsigned type = in->type[0], bits = ptx_type_bits((ptx_type)type);
    bool is_float = type == PTX_F32 || type == PTX_F64, is_signed = ptx_type_class((ptx_type)type) == PTX_CLASS_SINT;
    int64_t x = (int64_t)(old << (64 - bits)) >> (64 - bits), y = (int64_t)(b << (64 - bits)) >> (64 - bits);
    if (bits > 64 || in->vec > 1 || (ptx_type_class((ptx_type)type) == PTX_CLASS_FLOAT && !is_float && in->atomop != PTX_ATOM_EXCH && in->atomop != PTX_ATOM_CAS))
        return false;
    switch (in->atomop) {
    case PTX_ATOM_AND:  *out = old & b; return true;
    case PTX_ATOM_OR:   *out = old | b; return true;
    case PTX_ATOM_XOR:  *out = old ^ b; return true;
    case PTX_ATOM_EXCH: *out = b; return true;
    case PTX_ATOM_CAS:  *out = old == b ? c : old; return true;
    case PTX_ATOM_ADD:  *out = is_float ? float_bits(as_double(old, type) + as_double(b, type), type) : old + b; return true;
    case PTX_ATOM_INC:  *out = old >= b ? 0 : old + 1; return true;
    case PTX_ATOM_DEC:  *out = !old || old > b ? b : old - 1; return true;
    case PTX_ATOM_MIN:
        *out = is_float ? float_bits(fmin(as_double(old, type), as_double(b, type)), type) : is_signed ? (uint64_t)(x < y ? x : y) : old < b ? old : b;
        return true;
    case PTX_ATOM_MAX:
        *out = is_float ? float_bits(fmax(as_double(old, type), as_double(b, type)), type) : is_signed ? (uint64_t)(x > y ? x : y) : old > b ? old : b;
        return true;
    default:
        return false;
    }
}

/* Lanes that change one place with one instruction do so in an order of the device's own, which sums do not tell. What was there comes from what is known, so that each
 * lane's part counts once; from the result where nothing is known, and where the operation depends on it. */
static void
atomic(const struct cws_thread *t, const struct cws_step *x, const struct ptx_inst *in, const struct view *v)
{
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8, first = in->op == PTX_OP_ATOM ? 2 : 1;
    const struct cws_value *result = in->op == PTX_OP_ATOM ? value_of(t, x, CWI_RESULT, 0) : NULL;
    uint64_t old, b = 0, c = 0, after;
    bool have = bytes <= 8 && get(v, x->address, bytes, &old);
    if (result && (!have || in->atomop == PTX_ATOM_CAS)) {
        old = result->bits;
        have = true;
    }
    if (bytes < 8 && have)
        old &= (1ull << bytes * 8) - 1;
    have = have && in->noperands > first && stored(t, x, &in->operand[first], in->type[0], 0, &b);
    if (have && in->atomop == PTX_ATOM_CAS)
        have = in->noperands > first + 1u && stored(t, x, &in->operand[first + 1], in->type[0], 2, &c);
    if (have && combine(in, old, b, c, &after)) {
        put(v, x->address, after, bytes);
        return;
    }
    for (unsigned i = 0; i < bytes * (in->vec ? in->vec : 1u); i++)        /* changed to what is not known */
        if (x->address + i - v->address < v->size)
            v->known[x->address + i - v->address] = false;
}

bool
cws_access(const struct cws *s, struct cws_ref ref, enum cwi_where space, uint32_t thread, uint64_t address, uint32_t size, uint8_t *bytes, bool *known,
           bool *writes)
{
    const struct cws_thread *t = cws_thread(s, ref.thread);
    const struct cws_step *x = &t->steps[ref.step];
    const struct cwi_inst *i = &s->side.program.insts[x->id];
    const struct view v = { address, size, bytes, known };
    enum { LARGEST = 64 };              /* bytes of an access */
    if (x->space != space || (space == CWI_LOCAL && ref.thread != thread) || x->address - address + LARGEST >= (uint64_t)size + LARGEST)
        return false;
    *writes = i->in->op == PTX_OP_ST || i->in->op == PTX_OP_RED || i->in->op == PTX_OP_ATOM;
    if (i->in->op == PTX_OP_ST)
        store(t, x, i->in, &v);
    else if (*writes)
        atomic(t, x, i->in, &v);
    else if (i->in->op == PTX_OP_LD || i->in->op == PTX_OP_LDU)
        loaded(t, x, i, &v);
    else
        return false;
    return true;
}

void
cws_memory(const struct cws *s, enum cwi_where space, uint32_t thread, uint64_t address, uint32_t size, uint32_t time, uint8_t *out, bool *known)
{
    bool writes;
    memset(known, 0, size * sizeof *known);
    memset(out, 0, size);
    for (uint32_t i = 0; space == CWI_GLOBAL && i < size; i++) {
        uint32_t b = cws_buffer(s, address + i);
        const struct cwd_buffer *x = b == CWS_NONE ? NULL : &s->side.dump.buffers[b];
        known[i] = x && x->before;
        if (known[i])
            out[i] = x->before[address + i - x->address];
    }
    for (uint32_t i = 0; i < s->naccesses; i++)
        if (cws_thread(s, s->accesses[i].thread)->steps[s->accesses[i].step].time < time)
            (void)cws_access(s, s->accesses[i], space, thread, address, size, out, known, &writes);
}
