/* SPDX-License-Identifier: Apache-2.0
 * Records of CWI_CHECK. One function in the text checks and records; before each access it is called, with the access's address and
 * what is known of it, and its answer becomes the access's guard. Its loop over the allocations runs equally often for all threads, so
 * it does not change which of them run together. */
#include "replay/flow.h"
#include "replay/instrument_private.h"

#include <stdlib.h>
#include <string.h>

/* What is handed in besides addresses: space, bytes, whether the thread executes the access, which CWI_WANT_ this is. */
#define HOW(space, bytes, want) ((unsigned)(space) | (unsigned)(bytes) << 8 | (unsigned)(want) << 17)
#define EXECUTED 0x10000u

void
cwi_check_function(struct rewrite *w)
{
    /* a: address; key; v: value; block; how; low, size: of shared memory, or of what an access to a space of CWI_CONST and CWI_PARAMETERS has to be in; own, osize: of
     * local memory. size 0: not known. */
    cwi_put(w, " .func (.reg .b32 $ok) cudaway_check(.reg .b64 $a, .reg .b64 $key, .reg .b64 $v, .reg .b64 $b, .reg .b32 $how, .reg .b64 $low,"
               " .reg .b64 $size, .reg .b64 $own, .reg .b64 $osize) {"
               " .reg .pred $p, $q, $shared, $local, $global, $act, $bad, $out, $con; .reg .b64 $log, $t, $u, $n, $bytes, $at; .reg .b32 $x, $y, $want;"
               " mov.u64 $log, " CWI_VARIABLE "; and.b32 $x, $how, 0x10000; setp.ne.u32 $act, $x, 0;"
               " shr.u32 $x, $how, 8; and.b32 $x, $x, 255; cvt.u64.u32 $bytes, $x; and.b32 $y, $how, 255;"
               /* the space of a generic address; a = the address in it */
               " setp.eq.u32 $q, $y, 0; isspacep.shared $shared, $a; and.pred $shared, $shared, $q; isspacep.local $local, $a; and.pred $local, $local, $q;"
               " cvta.to.shared.u64 $t, $a; selp.b64 $a, $t, $a, $shared; cvta.to.local.u64 $t, $a; selp.b64 $a, $t, $a, $local;"
               " setp.eq.u32 $p, $y, %d; or.pred $shared, $shared, $p; setp.eq.u32 $p, $y, %d; or.pred $local, $local, $p;"
               " setp.eq.u32 $global, $y, %d; or.pred $p, $shared, $local; not.pred $p, $p; and.pred $p, $p, $q; or.pred $global, $global, $p;"
               " and.b64 $t, $a, 0xffffffff; selp.b64 $a, $t, $a, $local;",      /* some devices have more above it */
            CWI_SHARED_MEMORY, CWI_LOCAL, CWI_GLOBAL);
    /* Inside: a - begin <= size - bytes, with size >= bytes. */
    cwi_put(w, " mov.u64 $at, 0; mov.u64 $n, 0; setp.ne.u32 $out, $y, $y; @!$global bra CUDAWAY_DONE; ld.global.u64 $n, [$log+%d];"
               " CUDAWAY_NEXT: setp.ge.u64 $p, $at, $n; @$p bra CUDAWAY_DONE; shl.b64 $t, $at, 4; add.u64 $t, $t, $log; ld.global.u64 $u, [$t+128];"
               " sub.u64 $u, $a, $u; ld.global.u64 $t, [$t+136]; add.u64 $u, $u, $bytes; setp.le.u64 $p, $u, $t; setp.ge.and.u64 $p, $u, $bytes, $p;"
               " or.pred $out, $out, $p; add.u64 $at, $at, 1; bra CUDAWAY_NEXT; CUDAWAY_DONE:"
               " setp.eq.u64 $p, $n, 0; or.pred $out, $out, $p; not.pred $out, $out; and.pred $out, $out, $global;",
            CWI_START * 8);
    cwi_put(w, " sub.u64 $u, $a, $low; add.u64 $u, $u, $bytes; setp.gt.u64 $p, $u, $size; setp.lt.or.u64 $p, $u, $bytes, $p; setp.ne.and.u64 $p, $size, 0, $p;"
               " setp.eq.u32 $con, $y, %d; setp.eq.or.u32 $con, $y, %d, $con; or.pred $con, $con, $shared; and.pred $p, $p, $con; or.pred $out, $out, $p;"
               " sub.u64 $u, $a, $own; add.u64 $u, $u, $bytes; setp.gt.u64 $p, $u, $osize; setp.lt.or.u64 $p, $u, $bytes, $p; setp.ne.and.u64 $p, $osize, 0, $p;"
               " and.pred $p, $p, $local; or.pred $out, $out, $p; setp.ne.and.u64 $out, $bytes, 0, $out;"
               " sub.u64 $t, $bytes, 1; and.b64 $t, $t, $a; setp.ne.u64 $bad, $t, 0; setp.ne.and.u64 $bad, $bytes, 0, $bad;"
               " selp.b64 $u, %llu, 0, $bad; selp.b64 $t, %llu, 0, $out; or.b64 $u, $u, $t;"
               " or.b64 $key, $key, $u; or.pred $bad, $bad, $out; and.pred $bad, $bad, $act;",
            CWI_CONST, CWI_PARAMETERS, (unsigned long long)CWI_KEY(0, CWI_MISALIGNED, 0), (unsigned long long)CWI_KEY(0, CWI_OUTSIDE, 0));
    cwi_put(w, " selp.b64 $t, %llu, 0, $global; selp.b64 $t, %llu, $t, $shared; selp.b64 $t, %llu, $t, $local; or.b64 $key, $key, $t;"
               " ld.global.u64 $t, [$log+%d]; cvt.u32.u64 $x, $t; shr.u32 $want, $how, 17; and.b32 $x, $x, $want; setp.ne.u32 $p, $x, 0; and.pred $p, $p, $act;"
               " or.pred $p, $p, $bad; @!$p bra CUDAWAY_LEAVE; ld.global.u64 $n, [$log+%d]; mov.u64 $at, 0; @$p atom.global.add.u64 $at, [$log+%d], 1;"
               " setp.lt.and.u64 $p, $at, $n, $p; shl.b64 $at, $at, 5; add.u64 $at, $at, $log; not.b64 $t, $a; not.b64 $u, $v;"
               " @$p st.global.v2.u64 [$at+%d], {$key, $b}; @$p st.global.v2.u64 [$at+%d], {$t, $u}; CUDAWAY_LEAVE: selp.b32 $ok, 0, 1, $bad; ret; }",
            (unsigned long long)CWI_KEY(CWI_ACCESS(0, CWI_GLOBAL), 0, 0), (unsigned long long)CWI_KEY(CWI_ACCESS(0, CWI_SHARED_MEMORY), 0, 0),
            (unsigned long long)CWI_KEY(CWI_ACCESS(0, CWI_LOCAL), 0, 0), CWI_SIZE * 8, CWI_ROOM * 8, CWI_CURSOR * 8, CWI_HEADER, CWI_HEADER + 16);
}

/* ---- memory of its own spaces ------------------------------------------------------------------------------------------------ */

static const struct ptx_symbol *
named(const struct ptx_operand *o, uint8_t space)
{
    const struct ptx_symbol *s = (o->kind == PTX_OPND_ADDR && !o->has_reg) || o->kind == PTX_OPND_SYM ? o->sym : NULL;
    return s && s->kind == PTX_SYM_VAR && s->space == space ? s : NULL;
}

static bool
is_local(const struct ptx_function *fn, const struct ptx_symbol *s)
{
    for (uint32_t i = 0; i < fn->nlocals; i++)
        if (fn->locals[i] == s)
            return true;
    return false;
}

bool
cwi_extent(struct rewrite *w, uint8_t space)
{
    const struct ptx_symbol *seen[64];
    unsigned n = 0;
    for (uint32_t i = 0; i < w->fn->ninsts; i++)
        for (unsigned k = 0; k < w->fn->insts[i].noperands; k++) {
            const struct ptx_symbol *s = named(&w->fn->insts[i].operand[k], space);
            unsigned at = 0;
            while (at < n && seen[at] != s)
                at++;
            if (!s || at < n)
                continue;
            if (n == 64 || (is_local(w->fn, s) && s->line > w->fn->insts[0].line))
                return false;
            seen[n++] = s;
        }
    cwi_put(w, " mov.u64 $lo, -1; mov.u64 $hi, 0;");
    for (unsigned i = 0; i < n; i++) {
        cwi_put(w, " mov.u64 $v, %s; min.u64 $lo, $lo, $v;", seen[i]->name);
        if (seen[i]->unsized)
            cwi_put(w, w->mode == CWI_SCREEN ? " ld.global.u32 $x, [" CWI_VARIABLE "+%d];" : " mov.u32 $x, %%dynamic_smem_size;", CWI_DYNAMIC * 8);
        if (seen[i]->unsized)
            cwi_put(w, " cvt.u64.u32 $n, $x; add.u64 $v, $v, $n; max.u64 $hi, $hi, $v;");
        else
            cwi_put(w, " add.u64 $v, $v, %llu; max.u64 $hi, $hi, $v;", (unsigned long long)seen[i]->size);
    }
    return n;
}

void
cwi_check_prologue(struct rewrite *w)
{
    cwi_put(w, " .reg .b64 $low, $lsize, $own, $osize, $key, $fast; .reg .pred $slow, $wanted; ld.global.u64 $key, [" CWI_VARIABLE "+%d]; and.b64 $key, $key, %d;"
               " setp.ne.u64 $wanted, $key, 0; cvt.u64.u32 $v, $w; shl.b64 $slot, $v, 48;"
               " mov.u64 $low, 0; mov.u64 $lsize, 0; mov.u64 $own, 0; mov.u64 $osize, 0;", CWI_SIZE * 8, CWI_WANT_ACCESSES);
    /* Lanes of a warp run together, as on a GPU: who ended before others waited is told by the order of records. */
    if (w->fn->is_entry && w->fn->module->version_major >= 6)
        cwi_put(w, " bar.warp.sync -1;");
}

void
cwi_check_spaces(struct rewrite *w)
{
    bool calls = false;
    for (uint32_t i = 0; i < w->fn->ninsts; i++)
        calls = calls || w->fn->insts[i].op == PTX_OP_CALL;
    if (!calls && w->fn->is_entry && cwi_extent(w, PTX_SPACE_SHARED))
        cwi_put(w, " mov.b64 $low, $lo; sub.u64 $lsize, $hi, $lo;");
    if (!calls && w->fn->is_entry && cwi_extent(w, PTX_SPACE_LOCAL))
        cwi_put(w, " and.b64 $own, $lo, 0xffffffff; sub.u64 $osize, $hi, $lo;");
}

/* ---- instructions ------------------------------------------------------------------------------------------------------------ */

static enum cwi_where
where_of(uint8_t space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL: return CWI_GLOBAL;
    case PTX_SPACE_SHARED: return CWI_SHARED_MEMORY;
    case PTX_SPACE_LOCAL:  return CWI_LOCAL;
    default:               return CWI_NOWHERE;
    }
}

static bool
ordered(const struct ptx_inst *in)
{
    return in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK;
}

bool
cwi_access_of(const struct ptx_inst *in, struct access *a)
{
    unsigned at = in->op == PTX_OP_ST || in->op == PTX_OP_RED ? 0 : 1;
    switch (in->op) {
    case PTX_OP_LD: case PTX_OP_LDU:    *a = (struct access){ .what = ordered(in) ? CWI_SYNC_READ : CWI_READ }; break;
    case PTX_OP_ST:                     *a = (struct access){ .what = ordered(in) ? CWI_SYNC_WRITE : CWI_WRITE, .value = &in->operand[1] }; break;
    case PTX_OP_ATOM: case PTX_OP_RED:  *a = (struct access){ .what = CWI_MODIFY }; break;
    default:                            return false;
    }
    if (at >= in->noperands || in->operand[at].kind != PTX_OPND_ADDR)
        return false;
    a->address = &in->operand[at];
    a->space = cwi_space(in, a->address);
    a->bytes = ptx_type_bits((ptx_type)in->type[0]) / 8 * (in->vec ? in->vec : 1);
    return a->bytes && a->bytes <= 32 && (a->space == PTX_SPACE_GENERIC || where_of(a->space) != CWI_NOWHERE);
}

static void
call(struct rewrite *w, const struct ptx_inst *in, uint64_t key, unsigned how)
{
    if (in && in->has_guard)
        cwi_put(w, " selp.b32 $x, %u, %u, $g;", how | EXECUTED, how);
    else
        cwi_put(w, " mov.u32 $x, %u;", how | EXECUTED);
    cwi_put(w, " add.u64 $key, $slot, %llu; call ($x), cudaway_check, ($a, $key, $v, $block, $x, $low, $lsize, $own, $osize);", (unsigned long long)key);
}

static void
guard(struct rewrite *w, const struct ptx_inst *in)
{
    if (in->has_guard)
        cwi_keep_guard(w, in, false);
}

/* A record of something that is no access. */
static void
note(struct rewrite *w, uint32_t id, const struct ptx_inst *in, enum cwi_access what)
{
    call(w, in, CWI_KEY(CWI_ACCESS(what, CWI_NOWHERE), 0, id), HOW(7, 0, CWI_WANT_SYNC));
}

void
cwi_operand_value(struct rewrite *w, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_REG)
        cwi_take(w, o->index, false);
    else
        cwi_put(w, " mov.u64 $v, %lld;", o->kind == PTX_OPND_IMM ? (long long)o->imm : 0);
}

static void
written_value(struct rewrite *w, const struct ptx_operand *o)
{
    if (!o || o->kind != PTX_OPND_VEC) {
        if (o)
            cwi_operand_value(w, o);
        else
            cwi_put(w, " mov.u64 $v, 0;");
        return;
    }
    cwi_put(w, " mov.u64 $i, 0;");
    for (unsigned i = 0; i < o->count; i++) {
        cwi_operand_value(w, &o->elem[i]);
        cwi_put(w, " shl.b64 $n, $i, 7; add.u64 $i, $i, $n; xor.b64 $i, $i, $v;");
    }
    cwi_put(w, " mov.b64 $v, $i;");
}

/* libcudadevrt's barrier of the grid, which the instrumented text only declares. */
static bool
is_grid_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_CALL && in->noperands > 1 && in->operand[1].kind == PTX_OPND_SYM && strcmp(in->operand[1].sym->name, "cudaCGSynchronize") == 0;
}

bool
cwi_is_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER || is_grid_barrier(in);
}

/* v = number | threads << 32; a = 1 where all threads of a warp have to execute it together. */
static void
barrier_value(struct rewrite *w, const struct ptx_inst *in)
{
    if (is_grid_barrier(in)) {
        cwi_put(w, " mov.u64 $v, %u; mov.u64 $a, 0;", CWI_GRID);
        return;
    }
    unsigned first = in->mode == PTX_MODE_RED ? 1 : 0;
    const struct ptx_operand *o = &in->operand[first];
    bool counted = in->noperands > first + 1u && (o[1].kind == PTX_OPND_IMM || (o[1].kind == PTX_OPND_REG && w->fn->regs[o[1].index].type != PTX_PRED));
    cwi_put(w, " mov.u64 $i, 0;");
    if (counted) {
        cwi_operand_value(w, &o[1]);
        cwi_put(w, " shl.b64 $i, $v, 32;");
    }
    cwi_operand_value(w, o);
    cwi_put(w, " or.b64 $v, $v, $i; mov.u64 $a, %d;", in->op == PTX_OP_BAR || in->flags & PTX_F_ALIGNED);
}

static bool
is_wide_sync(const struct ptx_inst *in)
{
    return strncmp(ptx_op_info((ptx_op)in->op)->mnemonic, "mbarrier", 8) == 0 || strncmp(ptx_op_info((ptx_op)in->op)->mnemonic, "cp.async", 8) == 0;
}

const struct ptx_operand *
cwi_member_mask(const struct ptx_inst *in)
{
    bool sync = in->flags & PTX_F_SYNC && (in->op == PTX_OP_SHFL || in->op == PTX_OP_VOTE || in->op == PTX_OP_MATCH || in->op == PTX_OP_REDUX);
    if (in->op == PTX_OP_BAR_WARP_SYNC)
        return &in->operand[0];
    return sync && in->noperands ? &in->operand[in->noperands - 1] : NULL;
}

/* A branch to code that just ends the thread. */
static bool
leads_out(const struct rewrite *w, const struct ptx_inst *in)
{
    if (in->op != PTX_OP_BRA || !in->noperands || in->operand[0].kind != PTX_OPND_LABEL || in->operand[0].index >= w->fn->ninsts)
        return false;
    const struct ptx_inst *to = &w->fn->insts[in->operand[0].index];
    return w->fn->is_entry && (to->op == PTX_OP_RET || to->op == PTX_OP_EXIT) && !to->has_guard;
}

static void
before(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    const struct ptx_operand *mask = cwi_member_mask(in);
    bool gone = in->op == PTX_OP_EXIT || (in->op == PTX_OP_RET && w->fn->is_entry) || leads_out(w, in);
    if (mask) {
        guard(w, in);
        cwi_operand_value(w, mask);
        note(w, id, in, CWI_MEMBER);
    }
    if (in->op == PTX_OP_BAR_WARP_SYNC || is_wide_sync(in) || gone || cwi_is_barrier(in)) {
        guard(w, in);
        cwi_put(w, " mov.u64 $v, %d; mov.u64 $a, 0;", is_wide_sync(in));
        if (cwi_is_barrier(in))
            barrier_value(w, in);
        note(w, id, in, cwi_is_barrier(in) ? CWI_ARRIVE : gone ? CWI_GONE : CWI_WARP_ARRIVE);
    }
}

static void
after(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    if (cwi_is_barrier(in) && in->mode != PTX_MODE_ARRIVE) {
        guard(w, in);
        barrier_value(w, in);
        note(w, id, in, CWI_PASS);
    }
    if (in->op == PTX_OP_BAR_WARP_SYNC || is_wide_sync(in)) {
        guard(w, in);
        cwi_put(w, " mov.u64 $v, %d;", is_wide_sync(in));
        note(w, id, in, CWI_WARP_PASS);
    }
}

static bool
blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *
cwi_behind_guard(const char *s, const char *end)
{
    while (s < end && (*s == '@' || *s == '!' || blank(*s)))
        s++;
    while (s < end && !blank(*s))
        s++;
    while (s < end && blank(*s))
        s++;
    return s;
}

/* The access itself, where the answer is that it may. */
static void
write_if_right(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const char *text = w->p->texts[i->text].text, *s = text + i->begin, *end = text + i->end;
    cwi_put(w, " setp.ne.u32 $s, $x, 0;");
    if (in->has_guard) {
        cwi_put(w, " and.pred $s, $s, $g;");
        s = cwi_behind_guard(s, end);
    }
    cwi_put(w, " @$s ");
    cw_buf_append(w->out, s, (size_t)(end - s));
}

/* A load from constant memory or the parameters: it has to be in [n, n + k). */
static void
write_constant(struct rewrite *w, uint32_t id, const struct ptx_inst *in, const struct access *a)
{
    enum cwi_where where = a->space == PTX_SPACE_CONST ? CWI_CONST : CWI_PARAMETERS;
    unsigned how = HOW(where, a->bytes, 0);
    guard(w, in);
    cwi_take_address(w, a->address, "a");
    cwi_constant_place(w, a);
    cwi_put(w, " selp.u64 $n, 0, 1, $q; sub.u64 $n, $a, $n; mov.u64 $k, %u; add.u64 $key, $slot, %llu;", a->bytes,
            (unsigned long long)CWI_KEY(CWI_ACCESS(CWI_READ, where), a->bytes & CWI_BYTES, id));
    if (in->has_guard)
        cwi_put(w, " selp.b32 $x, %u, %u, $g;", how | EXECUTED, how);
    else
        cwi_put(w, " mov.u32 $x, %u;", how | EXECUTED);
    cwi_put(w, " call ($x), cudaway_check, ($a, $key, $v, $block, $x, $n, $k, $own, $osize);");
    write_if_right(w, id, in);
}

static void
write_access(struct rewrite *w, uint32_t id, const struct ptx_inst *in, const struct access *a)
{
    bool acquires = a->what == CWI_MODIFY || a->what == CWI_SYNC_READ;
    bool fast = a->space == PTX_SPACE_SHARED && !acquires;
    guard(w, in);
    cwi_take_address(w, a->address, "a");
    if (fast)                           /* most accesses are right and leave no record */
        cwi_put(w, " sub.u64 $fast, $a, $low; add.u64 $fast, $fast, %u; setp.gt.u64 $slow, $fast, $lsize; setp.lt.or.u64 $slow, $fast, %u, $slow;"
                   " and.b64 $fast, $a, %u; setp.ne.or.u64 $slow, $fast, 0, $slow; or.pred $slow, $slow, $wanted; mov.u32 $x, 1; @!$slow bra $FAST%u;",
                a->bytes, a->bytes, a->bytes - 1, id);
    written_value(w, a->value);
    call(w, in, CWI_KEY(CWI_ACCESS(a->what, CWI_NOWHERE), a->bytes & CWI_BYTES, id), HOW(where_of(a->space), a->bytes, CWI_WANT_ACCESSES));
    if (fast)
        cwi_put(w, " $FAST%u:", id);
    if (acquires)                       /* the load may write the address register */
        cwi_put(w, " mov.b64 $i, $a;");
    write_if_right(w, id, in);
    if (!acquires)
        return;
    cwi_put(w, " mov.b64 $a, $i; selp.b32 $x, %u, %u, $s; add.u64 $key, $slot, %llu;"
               " call ($x), cudaway_check, ($a, $key, $v, $block, $x, $low, $lsize, $own, $osize);",
            HOW(where_of(a->space), 0, CWI_WANT_ACCESSES) | EXECUTED, HOW(where_of(a->space), 0, CWI_WANT_ACCESSES),
            (unsigned long long)CWI_KEY(CWI_ACCESS(CWI_ACQUIRE, CWI_NOWHERE), 0, id));
}

bool
cwi_reads_unwritten(struct rewrite *w, const struct ptx_inst *in)
{
    if (w->unwritten_of != w->fn) {
        free(w->unwritten);
        w->unwritten = calloc(w->fn->ninsts + w->fn->nregs + (size_t)1, sizeof *w->unwritten);
        w->unwritten_of = w->fn;
        if (!w->unwritten || !cwi_unwritten((struct ptx_function *)(uintptr_t)w->fn, true, w->unwritten, w->unwritten + w->fn->ninsts))
            w->out->failed = true;
    }
    return w->unwritten && w->unwritten[in - w->fn->insts];
}

void
cwi_write_register(void *user, uint32_t reg)
{
    struct rewrite *w = user;
    unsigned bits = ptx_type_bits((ptx_type)w->fn->regs[reg].type);
    if (!w->unwritten[w->fn->ninsts + reg])
        return;
    if (bits == 1)
        cwi_put(w, " setp.ne.u32 %s, 0, 0;", w->fn->regs[reg].name);
    else if (bits >= 16 && bits <= 64)
        cwi_put(w, " mov.b%u %s, 0;", bits, w->fn->regs[reg].name);
}

void
cwi_check_instruction(struct rewrite *w, uint32_t id)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const struct ptx_inst *in = i->in;
    struct access a;
    bool unwritten = cwi_reads_unwritten(w, in);
    if (unwritten) {
        bool known = in->has_guard && !w->unwritten[w->fn->ninsts + in->guard];
        if (known)
            guard(w, in);
        cwi_put(w, " mov.u64 $v, 0; mov.u64 $a, 0;");
        note(w, id, known ? in : NULL, CWI_UNWRITTEN);
        cwi_reads(in, cwi_write_register, w);
    }
    before(w, id, in);
    if (cwi_access_of(in, &a))
        write_access(w, id, in, &a);
    else if (cwi_constant_of(w->fn, in, &a))
        write_constant(w, id, in, &a);
    else
        cw_buf_append(w->out, w->p->texts[i->text].text + i->begin, i->end - i->begin);
    after(w, id, in);
}
