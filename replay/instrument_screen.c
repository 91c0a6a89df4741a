/* SPDX-License-Identifier: Apache-2.0
 * CWI_SCREEN: inserted code that decides by itself whether a launch may have a fault, and leaves one word that says so.
 *
 * Bounds. Each place in the text remembers the allocation that it accessed last; another one is searched for by a function. Shared and
 * local memory are compared with their extent.
 *
 * Cells. A cell of 32 bits stands for `grain` bytes of memory:
 *
 *     31        14 13       3     2          1          0
 *     | barriers   | thread   | written | several  | written
 *     | passed + 1 |          | ever    | readers  | since the barrier
 *
 * An access is in order if the cell's barriers are fewer than the thread's, or it is the same thread; or both just read. What is written
 * into the cell is read again: where lanes of a gang have the same cell, one does not find its own. Cells of shared memory lie behind the
 * block's dynamic shared memory, which no other block and no other thread of the machine uses. THREAD_ATOMIC stands for whichever threads
 * access atomically.
 *
 * Owners. A word for each cell of global memory: the block that accesses it, + 1; MANY: several blocks read it. Cells of global memory are
 * used by their owner alone. Blocks run side by side, and no operation here is atomic: a block writes its number, looks whether the cell was
 * used, uses it, and looks whether the number is still there, with a fence between any two of these; so of two that come to a cell at the same
 * time one sees the other. Allocations that no plain store goes to have neither owners nor cells: a first run finds out which these are.
 *
 * All that errs on the side of a fault: equal values, atomics and .volatile as order are not known here. check.c then asks CWI_CHECK. */
#include "replay/flow.h"
#include "replay/instrument_private.h"

#include <stdio.h>

enum { WRITTEN = 1, SEVERAL = 2, EVER = 4, THREAD_SHIFT = 3, THREAD_ATOMIC = 1024, PASSED = 1 << 14 };

static bool
screens(const struct rewrite *w, unsigned what)
{
    return w->p->screens & what;
}

/* ---- functions --------------------------------------------------------------------------------------------------------------- */

static void
suspect(struct rewrite *w, const char *predicate)
{
    cwi_put(w, " @$%s st.global.u32 [$log+%d], $yes;", predicate, CWI_SUSPECT * 8);
}

/* Registers of cell(). */
#define CELL_REGISTERS " .reg .b64 $log; .reg .b32 $c, $cx, $cy, $yes; .reg .pred $co, $ce, $cq, $sus; mov.u64 $log, " CWI_VARIABLE "; mov.u32 $yes, 1;"

/* A plain access, or an atomic one, by lanes with `act` (NULL: all) whose word is me, to the cell at [cell] with c in it. sus |= it is out of
 * order. */
static void
cell(struct rewrite *w, const char *space, bool writes, const char *act)
{
    char on[32] = "";
    if (act)
        snprintf(on, sizeof on, "@%%cudaway_%s ", act);
    cwi_put(w, " setp.lt.u32 $co, $c, $ep; xor.b32 $cx, $c, $me; and.b32 $cx, $cx, %d; setp.eq.u32 $ce, $cx, 0;", ~(EVER | WRITTEN));
    if (writes) {
        cwi_put(w, " or.pred $co, $co, $ce; not.pred $cq, $co; or.b32 $cy, $me, %d;", EVER | WRITTEN);
    } else {
        cwi_put(w, " or.b32 $cx, $c, %d; selp.b32 $cy, $c, $cx, $ce; and.b32 $cx, $c, %d; or.b32 $cx, $cx, $me; selp.b32 $cy, $cx, $cy, $co;", SEVERAL, EVER);
        cwi_put(w, " or.pred $co, $co, $ce; not.pred $co, $co; and.b32 $cx, $c, %d; setp.ne.and.u32 $cq, $cx, 0, $co;", WRITTEN);
    }
    if (act)
        cwi_put(w, " and.pred $cq, $cq, $%s;", act);
    cwi_put(w, " or.pred $sus, $sus, $cq; %sst.%s.u32 [$cell], $cy; %sld.%s.u32 $cx, [$cell]; setp.ne.u32 $cq, $cx, $cy;", on, space, on, space);
    if (act)
        cwi_put(w, " and.pred $cq, $cq, $%s;", act);
    if (writes)
        cwi_put(w, " or.pred $sus, $sus, $cq;");
    else
        cwi_put(w, " or.b32 $cx, $cx, %d; @$cq st.%s.u32 [$cell], $cx;", SEVERAL, space);
}

static void
shared_functions(struct rewrite *w)
{
    for (unsigned writes = 0; writes < 2; writes++) {
        cwi_put(w, " .func cudaway_shared_%s(.reg .b32 $cell, .reg .b32 $me, .reg .b32 $ep) {" CELL_REGISTERS " ld.shared.u32 $c, [$cell]; setp.ne.u32 $sus, $yes, $yes;",
                writes ? "write" : "read");
        cell(w, "shared", writes, NULL);
        suspect(w, "sus");
        cwi_put(w, " ret; }");
    }
}

/* None has a result: what depends on it in a loop would be taken for a wait for another thread. */
static void
global_functions(struct rewrite *w)
{
    for (unsigned writes = 0; writes < 2; writes++) {
        cwi_put(w, " .func cudaway_global_%s(.reg .b64 $owner, .reg .b64 $cell, .reg .b32 $me, .reg .b32 $ep, .reg .b32 $b1) {" CELL_REGISTERS
                   " .reg .b32 $o, $many; .reg .pred $fresh, $other, $uses, $first;"
                   " ld.global.u32 $o, [$owner]; mov.u32 $many, -1; setp.eq.u32 $fresh, $o, 0; setp.eq.u32 $uses, $o, $b1; or.pred $uses, $uses, $fresh; not.pred $other, $uses;",
                writes ? "write" : "read");
        if (writes)
            cwi_put(w, " mov.pred $sus, $other; @$fresh st.global.u32 [$owner], $b1; @$fresh membar.gl; @$uses ld.global.u32 $c, [$cell];");
        else
            cwi_put(w, " setp.ne.and.u32 $other, $o, $many, $other; @$fresh st.global.u32 [$owner], $b1; @$other st.global.u32 [$owner], $many; or.pred $first, $fresh, $other;"
                       " @$first membar.gl; or.pred $first, $uses, $other; @$first ld.global.u32 $c, [$cell]; and.b32 $cx, $c, %d; setp.ne.and.u32 $sus, $cx, 0, $other;", EVER);
        cwi_put(w, " setp.ne.and.u32 $cq, $c, 0, $fresh; or.pred $sus, $sus, $cq; mov.pred $first, $fresh;");
        if (writes)
            cwi_put(w, " and.b32 $cx, $c, %d; setp.eq.and.u32 $first, $cx, 0, $uses;", EVER);
        cell(w, "global", writes, "uses");
        cwi_put(w, " @$first membar.gl; @$first ld.global.u32 $o, [$owner]; setp.ne.and.u32 $cq, $o, $b1, $first;%s or.pred $sus, $sus, $cq;",
                writes ? "" : " setp.ne.and.u32 %cudaway_cq, %cudaway_o, %cudaway_many, %cudaway_cq;");
        suspect(w, "sus");
        cwi_put(w, " ret; }");
    }
    /* Lanes whose allocation is not the one that the place in the text accessed last. */
    cwi_put(w, " .func cudaway_track(.reg .b64 $a, .reg .b64 $found, .reg .b32 $bytes, .reg .b32 $writes, .reg .b32 $me, .reg .b32 $ep, .reg .b32 $b1) {"
               " .reg .pred $end, $none, $write; .reg .b64 $log, $t, $owner, $cell; .reg .b32 $at, $n;"
               " mov.u64 $log, " CWI_VARIABLE "; add.u64 $found, $found, $log; ld.global.u64 $t, [$found+128]; sub.u64 $t, $a, $t; shl.b64 $t, $t, %u;"
               " ld.global.u64 $owner, [$found+144]; setp.eq.u64 $none, $owner, 0; @$none bra CUDAWAY_LEAVE; add.u64 $owner, $owner, $t;"
               " ld.global.u64 $cell, [$found+152]; add.u64 $cell, $cell, $t; shl.b32 $n, $bytes, %u; mov.u32 $at, 0; setp.ne.u32 $write, $writes, 0;"
               " CUDAWAY_CELL: setp.ge.u32 $end, $at, $n; @$end bra CUDAWAY_LEAVE; @$write bra CUDAWAY_WRITE; call cudaway_global_read, ($owner, $cell, $me, $ep, $b1);"
               " bra CUDAWAY_ON; CUDAWAY_WRITE: call cudaway_global_write, ($owner, $cell, $me, $ep, $b1); CUDAWAY_ON:"
               " add.u64 $owner, $owner, 4; add.u64 $cell, $cell, 4; add.u32 $at, $at, 4; bra CUDAWAY_CELL; CUDAWAY_LEAVE: ret; }",
            w->p->shift, w->p->shift);
}

void
cwi_screen_functions(struct rewrite *w)
{
    cwi_put(w, " .extern .shared .align 16 .b8 cudaway_shadow[];");
    /* The entry of the allocation that an access to global memory is in, which is remembered at `site`; -1: it is wrong. It is marked as stored
     * to: `stores`. */
    cwi_put(w, " .func (.reg .b64 $found) cudaway_find(.reg .b64 $a, .reg .b64 $site, .reg .b64 $bytes, .reg .b32 $stores) {"
               " .reg .pred $p, $sus; .reg .b64 $log, $at, $n, $t, $u, $v; .reg .b32 $yes;"
               " mov.u64 $log, " CWI_VARIABLE "; mov.u32 $yes, 1; ld.global.u64 $n, [$log+%d]; mov.u64 $at, 0; mov.u64 $found, -1;"
               " CUDAWAY_NEXT: setp.ge.u64 $p, $at, $n; @$p bra CUDAWAY_DONE; shl.b64 $t, $at, 5; add.u64 $u, $t, $log; ld.global.u64 $v, [$u+128];"
               " sub.u64 $v, $a, $v; ld.global.u64 $u, [$u+136]; add.u64 $v, $v, $bytes; setp.le.u64 $p, $v, $u; setp.ge.and.u64 $p, $v, $bytes, $p;"
               " selp.b64 $found, $t, $found, $p; add.u64 $at, $at, 1; bra CUDAWAY_NEXT; CUDAWAY_DONE:"
               " sub.u64 $t, $bytes, 1; and.b64 $t, $t, $a; setp.ne.u64 $sus, $t, 0; selp.b64 $found, -1, $found, $sus; setp.eq.u64 $sus, $found, -1;",
            CWI_ALLOCATIONS * 8);
    suspect(w, "sus");
    cwi_put(w, " @$sus bra CUDAWAY_LEAVE; st.global.u64 [$site], $found; shr.u64 $t, $found, 3; add.u64 $t, $t, $log; setp.ne.u32 $p, $stores, 0;"
               " @$p st.global.u32 [$t+%u], $yes; CUDAWAY_LEAVE: ret; }", CWI_SCREEN_STORED);
    if (screens(w, CWI_SCREEN_GLOBAL))
        global_functions(w);
    if (screens(w, CWI_SCREEN_SHARED))
        shared_functions(w);
}

/* ---- where a kernel begins --------------------------------------------------------------------------------------------------- */

static bool
is_aligned_barrier(const struct ptx_inst *in)
{
    return cwi_is_barrier(in) && (in->op == PTX_OP_BAR || in->flags & PTX_F_ALIGNED);
}

static bool
any(const struct rewrite *w, bool (*is)(const struct ptx_inst *in))
{
    for (uint32_t i = 0; i < w->fn->ninsts; i++)
        if (is(&w->fn->insts[i]))
            return true;
    return false;
}

static bool
has_members(const struct ptx_inst *in)
{
    return cwi_member_mask(in);
}

static bool
ends(const struct ptx_inst *in)
{
    return in->op == PTX_OP_RET || in->op == PTX_OP_EXIT;
}

/* w: the thread's number; block: the block's. */
void
cwi_screen_prologue(struct rewrite *w)
{
    cwi_put(w, " .reg .b64 $low, $lsize, $own, $osize, $entry, $owner, $cell, $found; .reg .b32 $yes, $me, $ep, $b1, $slow, $sh, $off, $all, $bytes, $c, $passed, $first; .reg .pred $bad, $act, $keep,"
               " $is, $il, $sus, $cq;"
               " mov.u32 $yes, 1; mov.u32 $ep, %d; shl.b32 $me, $w, %d; or.b32 $me, $me, $ep; cvt.u32.u64 $b1, $block; add.u32 $b1, $b1, 1;"
               " mov.u64 $low, 0; mov.u64 $lsize, 0; mov.u64 $own, 0; mov.u64 $osize, 0; mov.u32 $slow, 0; mov.u32 $sh, 0; mov.u32 $passed, 1;",
            PASSED, THREAD_SHIFT);
    if (screens(w, CWI_SCREEN_SYNC) && any(w, has_members))
        cwi_put(w, " bar.warp.sync -1; activemask.b32 $all;");
}

void
cwi_screen_spaces(struct rewrite *w)
{
    bool shared = cwi_extent(w, PTX_SPACE_SHARED), cells = shared && screens(w, CWI_SCREEN_CELLS), barriers = screens(w, CWI_SCREEN_SYNC) && any(w, is_aligned_barrier);
    if (shared)
        cwi_put(w, " and.b64 $low, $lo, -16; sub.u64 $lsize, $hi, $low; cvt.u32.u64 $slow, $low;");
    if (cells || barriers)              /* 16 bytes for the barriers that the first thread to end has passed, then cells; zero where the block begins */
        cwi_put(w, " mov.u32 $first, cudaway_shadow; ld.global.u32 $x, [$log+%d]; add.u32 $first, $first, $x; add.u32 $sh, $first, 16; mov.u32 $c, 0; st.shared.u32 [$first], $c;",
                CWI_BEHIND * 8);
    if (cells) {
        cwi_put(w, " ld.global.u64 $v, [$log+%d]; shl.b64 $n, $lsize, %u; setp.gt.u64 $bad, $n, $v;", CWI_SHADOW * 8, w->p->shift);
        suspect(w, "bad");
        cwi_put(w, " @$bad ret; cvt.u32.u64 $x, $n; shl.b32 $y, $w, 2; CUDAWAY_ZERO: setp.ge.u32 $q, $y, $x; @$q bra CUDAWAY_ZEROED; add.u32 $z, $sh, $y;"
                   " st.shared.u32 [$z], $c; add.u32 $y, $y, %llu; bra CUDAWAY_ZERO; CUDAWAY_ZEROED:", (unsigned long long)w->threads * 4);
    }
    if (cells || barriers)
        cwi_put(w, " bar.sync 0;");
    if (cwi_extent(w, PTX_SPACE_LOCAL))
        cwi_put(w, " and.b64 $own, $lo, 0xffffffff; sub.u64 $osize, $hi, $lo;");
}

/* ---- accesses ---------------------------------------------------------------------------------------------------------------- */

static bool
reads_only(const struct access *a)
{
    return a->what == CWI_READ || a->what == CWI_SYNC_READ;
}

static bool
plain(const struct access *a)
{
    return a->what == CWI_READ || a->what == CWI_WRITE;
}

static unsigned
cells_of(const struct rewrite *w, const struct access *a)
{
    return (a->bytes << w->p->shift) / 4;
}

/* In each of these: lanes with `keep` access address a; keep becomes those of them that may. */

static void
global(struct rewrite *w, uint32_t id, const struct access *a)
{
    bool cells = plain(a) && screens(w, CWI_SCREEN_GLOBAL), writes = a->what == CWI_WRITE;
    unsigned site = CWI_SCREEN_SITES + 8 * id;
    if (!screens(w, CWI_SCREEN_BOUNDS))
        return;
    /* A place that has accessed nothing has an entry that nothing is in. */
    cwi_put(w, " ld.global.u64 $entry, [$log+%u]; add.u64 $entry, $entry, $log; ld.global.u64 $lo, [$entry+128]; ld.global.u64 $n, [$entry+136];"
               " sub.u64 $n, $n, %d; max.s64 $n, $n, 0; sub.u64 $i, $a, $lo; setp.ge.u64 $bad, $i, $n;",
            site, (int)a->bytes - 1);
    if (a->bytes > 1)
        cwi_put(w, " and.b64 $k, $a, %u; setp.ne.or.u64 $bad, $k, 0, $bad;", a->bytes - 1);
    cwi_put(w, " not.pred $act, $bad; and.pred $act, $act, $keep; and.pred $bad, $bad, $keep; mov.pred $keep, $act; @!$bad bra $HERE%u;"
               " add.u64 $k, $log, %u; mov.u64 $n, %u; mov.u32 $x, %d; call ($found), cudaway_find, ($a, $k, $n, $x); setp.ne.u64 $keep, $found, -1;",
            id, site, a->bytes, writes);
    if (cells)
        cwi_put(w, " @!$keep bra $HERE%u; mov.u32 $x, %u; mov.u32 $y, %d; call cudaway_track, ($a, $found, $x, $y, $me, $ep, $b1);", id, a->bytes, writes);
    cwi_put(w, " $HERE%u:", id);
    if (!cells)
        return;
    cwi_put(w, " ld.global.u64 $owner, [$entry+144]; setp.eq.u64 $cq, $owner, 0; @$cq bra $OWN%u; @!$act bra $OWN%u;"
               " shl.b64 $i, $i, %u; add.u64 $owner, $owner, $i; ld.global.u64 $cell, [$entry+152]; add.u64 $cell, $cell, $i;", id, id, w->p->shift);
    for (unsigned i = 0; i < cells_of(w, a); i++)
        cwi_put(w, "%s call cudaway_global_%s, ($owner, $cell, $me, $ep, $b1);", i ? " add.u64 %cudaway_owner, %cudaway_owner, 4; add.u64 %cudaway_cell, %cudaway_cell, 4;" : "", writes ? "write" : "read");
    cwi_put(w, " $OWN%u:", id);
}

static void
shared(struct rewrite *w, uint32_t id, const struct access *a)
{
    bool races = (plain(a) || a->what == CWI_MODIFY) && screens(w, CWI_SCREEN_SHARED), fresh = screens(w, CWI_SCREEN_FRESH);
    bool reads = a->what != CWI_WRITE && a->what != CWI_SYNC_WRITE;
    cwi_put(w, " cvt.u32.u64 $off, $a; sub.u32 $off, $off, $slow; cvt.u32.u64 $bytes, $lsize; sub.u32 $bytes, $bytes, %d; max.s32 $bytes, $bytes, 0; setp.ge.u32 $bad, $off, $bytes;",
            (int)a->bytes - 1);
    if (a->bytes > 1)
        cwi_put(w, " and.b32 $x, $off, %u; setp.ne.or.u32 $bad, $x, 0, $bad;", a->bytes - 1);
    cwi_put(w, " and.pred $sus, $bad, $keep; not.pred $bad, $bad; and.pred $keep, $keep, $bad;");
    suspect(w, "sus");
    if (!races && !fresh)
        return;
    cwi_put(w, " shl.b32 $off, $off, %u; add.u32 $off, $off, $sh; mov.u32 $y, 0;", w->p->shift);
    for (unsigned i = 0; fresh && i < cells_of(w, a); i++) {
        cwi_put(w, " @$keep ld.shared.u32 $c, [$off+%u];", 4 * i);
        if (!reads_only(a) && !races)
            cwi_put(w, " or.b32 $x, $c, %d; @$keep st.shared.u32 [$off+%u], $x;", EVER, 4 * i);
        cwi_put(w, " or.b32 $y, $y, $c;");
    }
    if (fresh && reads) {
        cwi_put(w, " and.b32 $y, $y, %d; setp.eq.and.u32 $sus, $y, 0, $keep;", EVER);
        suspect(w, "sus");
    }
    if (!races)
        return;
    if (a->what == CWI_MODIFY)
        cwi_put(w, " or.b32 $z, $ep, %d;", THREAD_ATOMIC << THREAD_SHIFT);
    else
        cwi_put(w, " mov.b32 $z, $me;");
    cwi_put(w, " @!$keep bra $CELL%u;", id);
    for (unsigned i = 0; i < cells_of(w, a); i++)
        cwi_put(w, "%s call cudaway_shared_%s, ($off, $z, $ep);", i ? " add.u32 %cudaway_off, %cudaway_off, 4;" : "", reads_only(a) ? "read" : "write");
    cwi_put(w, " $CELL%u:", id);
}

static void
local(struct rewrite *w, const struct access *a)
{
    cwi_put(w, " and.b64 $i, $a, 0xffffffff; sub.u64 $i, $i, $own; sub.u64 $n, $osize, %d; max.s64 $n, $n, 0; setp.ge.u64 $bad, $i, $n; setp.ne.and.u64 $bad, $osize, 0, $bad;"
               " and.b64 $k, $a, %u; setp.ne.or.u64 $bad, $k, 0, $bad; and.pred $sus, $bad, $keep; not.pred $bad, $bad; and.pred $keep, $keep, $bad;",
            (int)a->bytes - 1, a->bytes - 1);
    suspect(w, "sus");
}

static void
constant(struct rewrite *w, const struct access *a)
{
    cwi_constant_place(w, a);
    cwi_put(w, " not.pred $bad, $q; and.b64 $k, $a, %u; setp.ne.or.u64 $bad, $k, 0, $bad; and.pred $sus, $bad, $keep; not.pred $bad, $bad; and.pred $keep, $keep, $bad;",
            a->bytes - 1);
    suspect(w, "sus");
}

/* act: lanes that access; then the parts for each space with those of them that are in it. */
static void
generic(struct rewrite *w, uint32_t id, const struct access *a)
{
    cwi_put(w, " .reg .pred $all%u, $done%u; .reg .b64 $was%u; mov.pred $all%u, $keep; mov.b64 $was%u, $a; isspacep.shared $is, $a; isspacep.local $il, $a;"
               " and.pred $keep, $is, $all%u; cvta.to.shared.u64 $a, $a;", id, id, id, id, id, id);
    shared(w, id, a);
    cwi_put(w, " mov.pred $done%u, $keep; mov.b64 $a, $was%u; and.pred $keep, $il, $all%u; cvta.to.local.u64 $a, $a;", id, id, id);
    if (screens(w, CWI_SCREEN_FRESH))
        suspect(w, "keep");
    local(w, a);
    cwi_put(w, " or.pred $done%u, $done%u, $keep; mov.b64 $a, $was%u; or.pred $keep, $is, $il; not.pred $keep, $keep; and.pred $keep, $keep, $all%u;", id, id, id, id);
    global(w, id, a);
    cwi_put(w, " or.pred $keep, $keep, $done%u;", id);
}

static void
take_guard(struct rewrite *w, const struct ptx_inst *in)
{
    if (in->has_guard)
        cwi_put(w, in->guard_negated ? " not.pred $keep, %s;" : " mov.pred $keep, %s;", w->fn->regs[in->guard].name);
    else
        cwi_put(w, " setp.eq.u32 $keep, $yes, $yes;");
}

static void
access_memory(struct rewrite *w, uint32_t id, const struct ptx_inst *in, const struct access *a)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const char *text = w->p->texts[i->text].text, *s = text + i->begin, *end = text + i->end;
    take_guard(w, in);
    cwi_take_address(w, a->address, "a");
    switch (a->space) {
    case PTX_SPACE_GLOBAL: global(w, id, a); break;
    case PTX_SPACE_SHARED: shared(w, id, a); break;
    case PTX_SPACE_LOCAL:  local(w, a); break;
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:  constant(w, a); break;
    default:               generic(w, id, a); break;
    }
    if (in->has_guard)
        s = cwi_behind_guard(s, end);
    cwi_put(w, " @$keep ");
    cw_buf_append(w->out, s, (size_t)(end - s));
}

/* ---- what lanes do together -------------------------------------------------------------------------------------------------- */

/* Which barriers a thread has passed is a number that has to be the same for all threads of a block where they end. Members that execute an
 * instruction together have no fault. */
static void
together(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    const struct ptx_operand *mask = cwi_member_mask(in);
    if (is_aligned_barrier(in)) {
        take_guard(w, in);
        cwi_put(w, " @$keep mad.lo.u32 $passed, $passed, 16777619, %u;", id + 1);
    }
    if (ends(in) && any(w, is_aligned_barrier)) {
        take_guard(w, in);
        cwi_put(w, " @$keep ld.shared.u32 $x, [$first]; setp.eq.and.u32 $cq, $x, 0, $keep; @$cq st.shared.u32 [$first], $passed; @$keep ld.shared.u32 $x, [$first];"
                   " setp.ne.and.u32 $cq, $x, $passed, $keep;");
        suspect(w, "cq");
    }
    if (!mask)
        return;
    take_guard(w, in);
    cwi_put(w, " activemask.b32 $x; not.pred $keep, $keep;");
    if (mask->kind == PTX_OPND_IMM) {
        cwi_put(w, " mov.u32 $y, %%laneid; mov.u32 $z, %lld; shr.u32 $y, $z, $y; and.b32 $y, $y, 1; setp.eq.or.u32 $keep, $y, 0, $keep; not.b32 $x, $x; and.b32 $x, $x, $all;"
                   " and.b32 $x, $x, $z; setp.ne.or.u32 $keep, $x, 0, $keep;", (long long)(uint32_t)mask->imm);
    } else {                            /* the same for all, if it is what is active */
        cwi_operand_value(w, mask);
        cwi_put(w, " cvt.u32.u64 $y, $v; and.b32 $y, $y, $all; setp.ne.or.u32 $keep, $x, $y, $keep;");
    }
    suspect(w, "keep");
}

/* Barriers of the whole block begin a new time. */
static void
pass(struct rewrite *w, const struct ptx_inst *in)
{
    if (!cwi_is_barrier(in) || in->mode == PTX_MODE_ARRIVE || !screens(w, CWI_SCREEN_SHARED | CWI_SCREEN_GLOBAL))
        return;
    unsigned first = in->mode == PTX_MODE_RED ? 1 : 0;
    const struct ptx_operand *o = &in->operand[first];
    bool counted = in->noperands > first + 1u && (o[1].kind == PTX_OPND_IMM || (o[1].kind == PTX_OPND_REG && w->fn->regs[o[1].index].type != PTX_PRED));
    take_guard(w, in);
    if (counted) {
        cwi_operand_value(w, &o[1]);
        cwi_put(w, " setp.eq.and.u64 $keep, $v, %llu, $keep;", (unsigned long long)w->threads);
    }
    if (counted || in->has_guard)
        cwi_put(w, " @$keep add.u32 $ep, $ep, %d; @$keep add.u32 $me, $me, %d;", PASSED, PASSED);
    else
        cwi_put(w, " add.u32 $ep, $ep, %d; add.u32 $me, $me, %d;", PASSED, PASSED);
    cwi_put(w, " setp.eq.u32 $sus, $ep, 0;");       /* more barriers than a cell can tell */
    suspect(w, "sus");
}

void
cwi_screen_instruction(struct rewrite *w, uint32_t id)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const struct ptx_inst *in = i->in;
    struct access a;
    if (cwi_reads_unwritten(w, in)) {
        bool known = in->has_guard && !w->unwritten[w->fn->ninsts + in->guard];
        if (known)
            take_guard(w, in);
        else
            cwi_put(w, " setp.eq.u32 $keep, $yes, $yes;");
        if (screens(w, CWI_SCREEN_FRESH))
            suspect(w, "keep");
        cwi_reads(in, cwi_write_register, w);
    }
    if (screens(w, CWI_SCREEN_SYNC))
        together(w, id, in);
    if (cwi_access_of(in, &a) || cwi_constant_of(w->fn, in, &a))
        access_memory(w, id, in, &a);
    else
        cw_buf_append(w->out, w->p->texts[i->text].text + i->begin, i->end - i->begin);
    pass(w, in);
}
