/* SPDX-License-Identifier: Apache-2.0
 * Records of CWI_STEP: what a debugger shows. Before each instruction a record says that the thread is there, with the address that it accesses;
 * what it stores follows, and behind the instruction its results. All records are in one log, in the order in which they were made. */
#include "replay/instrument_private.h"

#include <string.h>

/* The record of the chosen threads for which predicate `who` is set; its key, without the thread, is in lo, its value in v. */
static void
record_key(struct rewrite *w, const char *who)
{
    cwi_put(w, " mov.u64 $i, 0; @$%s atom.global.add.u64 $i, [$log+%d], 1; sub.u64 $i, $i, $start; setp.lt.and.u64 $q, $i, $room, $%s;"
               " shl.b64 $i, $i, 4; add.u64 $i, $i, $data; add.u64 $lo, $lo, $slot; not.b64 $v, $v; @$q st.global.v2.u64 [$i], {$lo, $v};",
            who, CWI_CURSOR * 8, who);
}

static void
record(struct rewrite *w, uint64_t key, const char *who)
{
    cwi_put(w, " mov.u64 $lo, %llu;", (unsigned long long)key);
    record_key(w, who);
}

const struct ptx_operand *
cwi_step_address(const struct ptx_inst *in, uint8_t *space)
{
    unsigned at;
    switch (in->op) {
    case PTX_OP_ST: case PTX_OP_RED: case PTX_OP_CP_ASYNC:                      at = 0; break;
    case PTX_OP_LD: case PTX_OP_LDU: case PTX_OP_ATOM: case PTX_OP_LDMATRIX:    at = 1; break;
    default:                                                                    return NULL;
    }
    if (at >= in->noperands || in->operand[at].kind != PTX_OPND_ADDR)
        return NULL;
    *space = in->op == PTX_OP_CP_ASYNC ? PTX_SPACE_SHARED : cwi_space(in, &in->operand[at]);
    bool shown = *space == PTX_SPACE_GENERIC || *space == PTX_SPACE_GLOBAL || *space == PTX_SPACE_SHARED || *space == PTX_SPACE_LOCAL;
    return shown ? &in->operand[at] : NULL;
}

const struct ptx_symbol *
cwi_step_symbol(const struct ptx_function *fn, unsigned n)
{
    const struct ptx_symbol *seen[CWI_STEP_SYMBOLS];
    unsigned count = 0;
    for (uint32_t i = 0; i < fn->ninsts; i++)
        for (unsigned k = 0; k < fn->insts[i].noperands; k++) {
            const struct ptx_operand *o = &fn->insts[i].operand[k];
            const struct ptx_symbol *s = (o->kind == PTX_OPND_ADDR && !o->has_reg) || o->kind == PTX_OPND_SYM ? o->sym : NULL;
            if (!s || s->kind != PTX_SYM_VAR || (s->space != PTX_SPACE_SHARED && s->space != PTX_SPACE_LOCAL))
                continue;
            unsigned at = 0;
            while (at < count && seen[at] != s)
                at++;
            bool own = false;           /* one of a block in the body cannot be named where the body begins */
            for (uint32_t l = 0; l < fn->nlocals; l++)
                own = own || fn->locals[l] == s;
            if (at < count || count == CWI_STEP_SYMBOLS || (own && (s->line > fn->insts[0].line || (s->line == fn->insts[0].line && s->column > fn->insts[0].column))))
                continue;
            if (count == n)
                return s;
            seen[count++] = s;
        }
    return NULL;
}

void
cwi_step_prologue(struct rewrite *w)
{
    cwi_put(w, " cvt.u64.u32 $v, $w; shl.b64 $slot, $v, 48; add.u64 $data, $log, %d; ld.global.u64 $start, [$log+%d]; ld.global.u64 $room, [$log+%d];",
            CWI_HEADER, CWI_START * 8, CWI_ROOM * 8);
}

void
cwi_step_entry(struct rewrite *w, uint32_t id)
{
    const struct ptx_symbol *s;
    cwi_put(w, " mov.u64 $v, 0;");
    record(w, CWI_KEY(CWI_ENTRY, 0, id), "p");
    for (uint32_t i = 0; i < w->fn->nparams && i < 256; i++) {
        if (!w->fn->params[i]->is_param_reg)
            continue;
        cwi_take(w, w->fn->params[i]->reg, false);
        record(w, CWI_KEY(CWI_ARGUMENT, i, id), "p");
    }
    for (unsigned i = 0; (s = cwi_step_symbol(w->fn, i)); i++) {
        cwi_put(w, " mov.u64 $v, %s;", s->name);
        if (s->space == PTX_SPACE_LOCAL)
            cwi_put(w, " and.b64 $v, $v, 0xffffffff;");
        record(w, CWI_KEY(CWI_SYMBOL, i, id), "p");
    }
}

/* v = the address; hi = its space in a key's part. Addresses of local memory lose what some devices have above it. */
static void
take_place(struct rewrite *w, const struct ptx_operand *a, uint8_t space)
{
    cwi_take_address(w, a, "v");
    if (space == PTX_SPACE_LOCAL)
        cwi_put(w, " and.b64 $v, $v, 0xffffffff;");
    if (space != PTX_SPACE_GENERIC) {
        enum cwi_where where = space == PTX_SPACE_GLOBAL ? CWI_GLOBAL : space == PTX_SPACE_SHARED ? CWI_SHARED_MEMORY : CWI_LOCAL;
        cwi_put(w, " mov.u64 $hi, %llu;", (unsigned long long)CWI_KEY(0, CWI_AT_SPACE(where), 0));
        return;
    }
    cwi_put(w, " isspacep.shared $q, $v; isspacep.local $s, $v; cvta.to.shared.u64 $i, $v; cvta.to.local.u64 $a, $v; and.b64 $a, $a, 0xffffffff;"
               " selp.b64 $v, $i, $v, $q; selp.b64 $v, $a, $v, $s; selp.b64 $hi, %llu, %llu, $q; selp.b64 $hi, %llu, $hi, $s;",
            (unsigned long long)CWI_KEY(0, CWI_AT_SPACE(CWI_SHARED_MEMORY), 0), (unsigned long long)CWI_KEY(0, CWI_AT_SPACE(CWI_GLOBAL), 0),
            (unsigned long long)CWI_KEY(0, CWI_AT_SPACE(CWI_LOCAL), 0));
}

void
cwi_step_at(struct rewrite *w, uint32_t id, bool operands)
{
    const struct ptx_inst *in = w->p->insts[id].in;
    uint8_t space;
    const struct ptx_operand *a = operands ? cwi_step_address(in, &space) : NULL;
    if (in->has_guard)
        cwi_keep_guard(w, in, true);
    if (a)
        take_place(w, a, space);
    else
        cwi_put(w, " mov.u64 $v, 0; mov.u64 $hi, 0;");
    cwi_put(w, " mov.u64 $lo, %llu; add.u64 $lo, $lo, $hi;", (unsigned long long)CWI_KEY(CWI_AT, in->has_guard ? 0 : CWI_AT_EXECUTED, id));
    if (in->has_guard)
        cwi_put(w, " selp.b64 $hi, %llu, 0, $g; add.u64 $lo, $lo, $hi;", (unsigned long long)CWI_KEY(0, CWI_AT_EXECUTED, 0));
    record_key(w, "p");
    if (!a || (in->op != PTX_OP_ST && in->op != PTX_OP_RED && in->op != PTX_OP_ATOM))
        return;
    /* Constants are in the instruction; results may overwrite the registers. */
    unsigned first = in->op == PTX_OP_ATOM ? 2 : 1, part = 0;
    for (unsigned k = first; k < in->noperands; k++) {
        const struct ptx_operand *o = &in->operand[k];
        unsigned n = o->kind == PTX_OPND_VEC ? o->count : 1;
        for (unsigned i = 0; i < n; i++, part += 2) {
            const struct ptx_operand *e = o->kind == PTX_OPND_VEC ? &o->elem[i] : o;
            if (e->kind != PTX_OPND_REG)
                continue;
            for (unsigned upper = 0; upper < (ptx_type_bits((ptx_type)w->fn->regs[e->index].type) > 64 ? 2u : 1u); upper++) {
                cwi_take(w, e->index, upper);
                record(w, CWI_KEY(CWI_STORE, part + upper, id), in->has_guard ? "g" : "p");
            }
        }
    }
}

void
cwi_step_results(struct rewrite *w, uint32_t id)
{
    const struct ptx_inst *in = w->p->insts[id].in;
    bool upper;
    uint32_t reg;
    for (unsigned part = 0; part < CWI_STEP_PARTS && (reg = cwi_result_register(w->fn, in, part, &upper)) != UINT32_MAX; part++) {
        cwi_take(w, reg, upper);
        record(w, CWI_KEY(CWI_RESULT, part, id), in->has_guard ? "g" : "p");
    }
}
