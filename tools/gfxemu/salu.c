/* SPDX-License-Identifier: Apache-2.0
 * Scalar ALU, branches, barriers and program control. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

#define SI(x) ((int32_t)(x))

/* d, a, b of 32 bits; `scc` is an expression of r, a, b, or KEEP. */
#define KEEP w->scc
#define A2(name, expr, flag) static void name(W, I) { uint32_t a = s32(w, &i->op[1]), b = s32(w, &i->op[2]), r = (uint32_t)(expr); \
    (void)a; (void)b; w->scc = (uint32_t)(flag); set_s32(w, &i->op[0], r); }
#define A1(name, expr, flag) static void name(W, I) { uint32_t a = s32(w, &i->op[1]), r = (uint32_t)(expr); \
    (void)a; w->scc = (uint32_t)(flag); set_s32(w, &i->op[0], r); }
#define B2(name, expr, flag) static void name(W, I) { uint64_t a = s64(w, &i->op[1]), b = s64(w, &i->op[2]), r = (uint64_t)(expr); \
    (void)a; (void)b; w->scc = (uint32_t)(flag); set_s64(w, &i->op[0], r); }
#define B1(name, expr, flag) static void name(W, I) { uint64_t a = s64(w, &i->op[1]), r = (uint64_t)(expr); \
    (void)a; w->scc = (uint32_t)(flag); set_s64(w, &i->op[0], r); }
/* 64-bit value, 32-bit amount. */
#define BS(name, expr, flag) static void name(W, I) { uint64_t a = s64(w, &i->op[1]), r; uint32_t b = s32(w, &i->op[2]); r = (uint64_t)(expr); \
    w->scc = (uint32_t)(flag); set_s64(w, &i->op[0], r); }
#define C2(name, expr) static void name(W, I) { uint32_t a = s32(w, &i->op[0]), b = s32(w, &i->op[1]); w->scc = (uint32_t)(expr); }
#define C64(name, expr) static void name(W, I) { uint64_t a = s64(w, &i->op[0]), b = s64(w, &i->op[1]); w->scc = (uint32_t)(expr); }

A1(mov, a, KEEP)
B1(mov64, a, KEEP)
A1(not, ~a, r != 0)
B1(not64, ~a, r != 0)
static uint32_t
rev32(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
A1(brev, rev32(a), KEEP)
B1(brev64, (uint64_t)rev32((uint32_t)a) << 32 | rev32((uint32_t)(a >> 32)), KEEP)

static void
cmov(W, I)
{
    if (w->scc)
        set_s32(w, &i->op[0], s32(w, &i->op[1]));
}

static void
cmov64(W, I)
{
    if (w->scc)
        set_s64(w, &i->op[0], s64(w, &i->op[1]));
}

/* Counts: a 64-bit source gives a 32-bit result (arg 1). */
#define COUNT(name, expr, flag) static void name(W, I) { uint64_t a = i->arg ? s64(w, &i->op[1]) : s32(w, &i->op[1]); \
    uint64_t width = i->arg ? 64 : 32; (void)width; uint32_t r = (uint32_t)(expr); w->scc = (uint32_t)(flag); set_s32(w, &i->op[0], r); }
COUNT(bcnt1, __builtin_popcountll(a), r != 0)
COUNT(bcnt0, width - (uint64_t)__builtin_popcountll(a), r != 0)
COUNT(ff1, a ? __builtin_ctzll(a) : -1, KEEP)
COUNT(ff0, (width == 64 ? ~a : (uint64_t)(uint32_t)~a) ? __builtin_ctzll(~a) : -1, KEEP)
COUNT(flbit, a ? __builtin_clzll(a) - (width == 32 ? 32 : 0) : -1, KEEP)
static uint32_t
sign_run(uint64_t a, bool wide)
{
    int64_t v = wide ? (int64_t)a : (int64_t)SI(a);
    uint64_t x = (uint64_t)(v < 0 ? ~v : v);
    if (!x)
        return ~0u;
    return (uint32_t)__builtin_clzll(x) - (wide ? 0 : 32);
}
COUNT(flbit_i, sign_run(a, width == 64), KEEP)
A1(sext8, (int32_t)(int8_t)a, KEEP)
A1(sext16, (int32_t)(int16_t)a, KEEP)
A1(abs_i32, SI(a) < 0 ? 0u - a : a, r != 0)

static void
bitset(W, I)        /* arg bit 0: value, bit 1: 64 bits wide */
{
    uint32_t n = s32(w, &i->op[1]);
    if (i->arg & 2) {
        uint64_t d = s64(w, &i->op[0]), m = 1ull << (n & 63);
        set_s64(w, &i->op[0], i->arg & 1 ? d | m : d & ~m);
    } else {
        uint32_t d = s32(w, &i->op[0]), m = 1u << (n & 31);
        set_s32(w, &i->op[0], i->arg & 1 ? d | m : d & ~m);
    }
}

/* wqm: a whole quad where one of its lanes is on. */
static uint64_t
quads(uint64_t a)
{
    uint64_t r = 0;
    for (unsigned q = 0; q < 64; q += 4)
        if (a >> q & 15)
            r |= 15ull << q;
    return r;
}
/* quadmask: a bit for each quad, set where one of its lanes is on. */
static uint64_t
quad_mask(uint64_t a)
{
    uint64_t r = 0;
    for (unsigned q = 0; q < 64; q += 4)
        r |= (uint64_t)((a >> q & 15) != 0) << q / 4;
    return r;
}
A1(quadmask, quad_mask(a), r != 0)
B1(quadmask64, quad_mask(a), r != 0)
static void
bitreplicate(W, I)
{
    uint64_t r = 0, a = s32(w, &i->op[1]);
    for (unsigned k = 0; k < 32; k++)
        r |= (a >> k & 1) * 3 << 2 * k;
    set_s64(w, &i->op[0], r);
}
A1(wqm, quads(a), r != 0)
B1(wqm64, quads(a), r != 0)

A2(add_u32, a + b, r < a)
A2(sub_u32, a - b, b > a)
A2(add_i32, a + b, ((a ^ r) & (b ^ r)) >> 31)
A2(sub_i32, a - b, ((a ^ b) & (a ^ r)) >> 31)
static void
addc(W, I)
{
    uint64_t r = (uint64_t)s32(w, &i->op[1]) + s32(w, &i->op[2]) + w->scc;
    w->scc = r >> 32 != 0;
    set_s32(w, &i->op[0], (uint32_t)r);
}

static void
subb(W, I)
{
    uint64_t r = (uint64_t)s32(w, &i->op[1]) - s32(w, &i->op[2]) - w->scc;
    w->scc = r >> 32 != 0;
    set_s32(w, &i->op[0], (uint32_t)r);
}
B2(add_u64, a + b, KEEP)
B2(sub_u64, a - b, KEEP)
B2(mul_u64, a * b, KEEP)
A2(min_i32, SI(a) < SI(b) ? a : b, SI(a) < SI(b))
A2(min_u32, a < b ? a : b, a < b)
A2(max_i32, SI(a) > SI(b) ? a : b, SI(a) >= SI(b))
A2(max_u32, a > b ? a : b, a >= b)
A2(cselect, w->scc ? a : b, KEEP)
B2(cselect64, w->scc ? a : b, KEEP)
A2(and, a & b, r != 0)
A2(or, a | b, r != 0)
A2(xor, a ^ b, r != 0)
A2(andn2, a & ~b, r != 0)
A2(orn2, a | ~b, r != 0)
A2(nand, ~(a & b), r != 0)
A2(nor, ~(a | b), r != 0)
A2(xnor, ~(a ^ b), r != 0)
B2(and64, a & b, r != 0)
B2(or64, a | b, r != 0)
B2(xor64, a ^ b, r != 0)
B2(andn264, a & ~b, r != 0)
B2(orn264, a | ~b, r != 0)
B2(nand_64, ~(a & b), r != 0)
B2(nor64, ~(a | b), r != 0)
B2(xnor64, ~(a ^ b), r != 0)
A2(lshl, a << (b & 31), r != 0)
A2(lshr, a >> (b & 31), r != 0)
A2(ashr, SI(a) >> (b & 31), r != 0)
BS(lshl64, a << (b & 63), r != 0)
BS(lshr64, a >> (b & 63), r != 0)
BS(ashr64, (int64_t)a >> (b & 63), r != 0)
A2(bfm, ((1u << (a & 31)) - 1) << (b & 31), KEEP)
static void
bfm64(W, I)
{
    uint32_t a = s32(w, &i->op[1]), b = s32(w, &i->op[2]);
    set_s64(w, &i->op[0], ((1ull << (a & 63)) - 1) << (b & 63));
}
A2(mul_i32, a * b, KEEP)
A2(mul_hi_u32, (uint64_t)a * b >> 32, KEEP)
A2(mul_hi_i32, (uint64_t)((int64_t)SI(a) * SI(b)) >> 32, KEEP)
/* A signed source goes on beyond its last bit with its sign. */
static uint64_t
field(uint64_t a, uint32_t b, bool sign, unsigned bits)
{
    unsigned at = b & (bits - 1), n = b >> 16 & 127;
    if (!n)
        return 0;
    if (n > bits)
        n = bits;
    if (bits == 32)
        a = sign ? (uint64_t)(int64_t)SI(a) : a & 0xffffffffu;
    uint64_t v = sign ? (uint64_t)((int64_t)a >> at) : a >> at;
    if (n < 64) {
        v &= (1ull << n) - 1;
        if (sign && v >> (n - 1) & 1)
            v |= ~0ull << n;
    }
    return v;
}
A2(bfe_u32, field(a, b, false, 32), r != 0)
A2(bfe_i32, field(a, b, true, 32), r != 0)
BS(bfe_u64, field(a, b, false, 64), r != 0)
BS(bfe_i64, field(a, b, true, 64), r != 0)
A2(absdiff, SI(a - b) < 0 ? b - a : a - b, r != 0)     /* the difference wraps around */
A2(pack_ll, (a & 0xffff) | b << 16, KEEP)
A2(pack_lh, (a & 0xffff) | (b & 0xffff0000u), KEEP)
A2(pack_hh, a >> 16 | (b & 0xffff0000u), KEEP)
A2(pack_hl, a >> 16 | b << 16, KEEP)
static void
lshl_add(W, I)      /* arg: shift */
{
    uint64_t r = ((uint64_t)s32(w, &i->op[1]) << i->arg) + s32(w, &i->op[2]);
    w->scc = r >> 32 != 0;
    set_s32(w, &i->op[0], (uint32_t)r);
}

C2(cmp_eq, a == b)
C2(cmp_lg, a != b)
C2(cmp_gt_i, SI(a) > SI(b))
C2(cmp_ge_i, SI(a) >= SI(b))
C2(cmp_lt_i, SI(a) < SI(b))
C2(cmp_le_i, SI(a) <= SI(b))
C2(cmp_gt_u, a > b)
C2(cmp_ge_u, a >= b)
C2(cmp_lt_u, a < b)
C2(cmp_le_u, a <= b)
C64(cmp_eq64, a == b)
C64(cmp_lg64, a != b)
C2(bitcmp0, !(a >> (b & 31) & 1))
C2(bitcmp1, a >> (b & 31) & 1)
static void
bitcmp64(W, I)
{
    w->scc = (s64(w, &i->op[0]) >> (s32(w, &i->op[1]) & 63) & 1) == i->arg;
}

/* 16-bit immediates; what the text prints as one is sign-extended here from the encoding. */
static int32_t
simm(I)
{
    return (int16_t)i->raw[0];
}

static void
movk(W, I)
{
    set_s32(w, &i->op[0], (uint32_t)simm(i));
}

static void
cmovk(W, I)
{
    if (w->scc)
        set_s32(w, &i->op[0], (uint32_t)simm(i));
}

static void
addk(W, I)
{
    uint32_t a = s32(w, &i->op[0]), b = (uint32_t)simm(i), r = a + b;
    w->scc = ((a ^ r) & (b ^ r)) >> 31;
    set_s32(w, &i->op[0], r);
}

static void
mulk(W, I)
{
    set_s32(w, &i->op[0], s32(w, &i->op[0]) * (uint32_t)simm(i));
}

static void
cmpk(W, I)          /* arg: 0 eq 1 lg 2 gt 3 ge 4 lt 5 le; +8 unsigned */
{
    uint32_t a = s32(w, &i->op[0]);
    int64_t x = i->arg & 8 ? (int64_t)a : (int64_t)SI(a), y = i->arg & 8 ? (int64_t)(uint16_t)i->raw[0] : (int64_t)simm(i);
    switch (i->arg & 7) {
    case 0: w->scc = x == y; break;
    case 1: w->scc = x != y; break;
    case 2: w->scc = x > y; break;
    case 3: w->scc = x >= y; break;
    case 4: w->scc = x < y; break;
    default: w->scc = x <= y; break;
    }
}

/* ---- masks of execution ---- */

/* arg: 0 and, 1 or, 2 xor, 3 andn2 (source and not exec), 4 orn2, 5 nand, 6 nor, 7 xnor, 8 andn1 (not source and exec), 9 orn1;
 * +16: 32 bits wide; +32: the destination gets the new mask, not the old ("wrexec"). */
static void
saveexec(W, I)
{
    bool narrow = i->arg & 16;
    uint64_t s = narrow ? s32(w, &i->op[1]) : s64(w, &i->op[1]), e = gfx_exec_mask(w), r;
    if (narrow)
        e &= 0xffffffffu;
    switch (i->arg & 15) {
    case 0: r = s & e; break;
    case 1: r = s | e; break;
    case 2: r = s ^ e; break;
    case 3: r = s & ~e; break;
    case 4: r = s | ~e; break;
    case 5: r = ~(s & e); break;
    case 6: r = ~(s | e); break;
    case 7: r = ~(s ^ e); break;
    case 8: r = ~s & e; break;
    default: r = ~s | e; break;
    }
    if (narrow)
        r &= 0xffffffffu;
    uint64_t d = i->arg & 32 ? r : e;
    if (narrow)
        set_s32(w, &i->op[0], (uint32_t)d);
    else
        set_s64(w, &i->op[0], d);
    w->s[S_EXEC] = (uint32_t)r;
    if (!narrow)
        w->s[S_EXEC + 1] = (uint32_t)(r >> 32);
    w->scc = r != 0;
}

/* ---- program counter ---- */

static void
branch_to(W, I)
{
    w->next_pc = i->pc + 4 + (uint64_t)(int64_t)simm(i) * 4;
}

static void
branch(W, I)
{
    branch_to(w, i);
}

static void
cbranch(W, I)       /* arg: 0 scc0 1 scc1 2 vccz 3 vccnz 4 execz 5 execnz */
{
    bool yes;
    switch (i->arg) {
    case 0: yes = !w->scc; break;
    case 1: yes = w->scc; break;
    case 2: yes = !vcc_mask(w); break;
    case 3: yes = vcc_mask(w) != 0; break;
    case 4: yes = !(gfx_exec_mask(w) & all_lanes(w)); break;
    default: yes = (gfx_exec_mask(w) & all_lanes(w)) != 0; break;
    }
    if (yes)
        branch_to(w, i);
}

static void
getpc(W, I)
{
    set_s64(w, &i->op[0], w->next_pc);
}

static void
setpc(W, I)
{
    w->next_pc = s64(w, &i->op[0]);
}

static void
swappc(W, I)
{
    uint64_t to = s64(w, &i->op[1]);
    set_s64(w, &i->op[0], w->next_pc);
    w->next_pc = to;
}

static void
call(W, I)
{
    set_s64(w, &i->op[0], w->next_pc);
    branch_to(w, i);
}

static void
endpgm(W, I)
{
    (void)i;
    w->state = WAVE_DONE;
}

static void
barrier(W, I)
{
    (void)i;
    w->state = WAVE_BARRIER;
}

static void
nothing(W, I)
{
    (void)w;
    (void)i;
}

static void
trap(W, I)
{
    /* Trap 2 is llvm.trap by LLVM's ABI; 3 is a debugger's break point, which goes on without one. */
    if ((i->raw[0] & 0xff) != 3)
        gfx_fault(w, FAULT_TRAP, "trap %u", i->raw[0] & 0xff);
}

static void
sendmsg(W, I)
{
    /* Message 9 stops a wave of a trap handler; the others (released registers, ...) concern only the hardware. */
    (void)w;
    (void)i;
}

/* hwreg: id in bits 0-5, offset 6-10, size - 1 in 11-15 of the immediate. */
enum { HW_MODE = 1, HW_STATUS = 2, HW_HW_ID = 4, HW_SHADER_CYCLES = 29, HW_SHADER_CYCLES_HI = 30, HW_SH_MEM_BASES = 15 };

static void
getreg(W, I)
{
    unsigned imm = i->raw[0] & 0xffff, id = imm & 63, at = imm >> 6 & 31, n = (imm >> 11 & 31) + 1;
    uint64_t v = 0;
    if (id == HW_MODE)
        v = w->mode;
    else if (id == HW_SHADER_CYCLES)
        v = gfx_wall_clock();           /* 20 bits of it on gfx11, by the instruction's size; the lower half on gfx12 */
    else if (id == HW_SHADER_CYCLES_HI)
        v = gfx_wall_clock() >> 32;
    else if (id == HW_SH_MEM_BASES)
        v = (uint64_t)(GFX_SHARED_APERTURE >> 16) << 16 | GFX_PRIVATE_APERTURE >> 16;
    set_s32(w, &i->op[0], (uint32_t)(v >> at & ((1ull << n) - 1)));
}

static void
setreg_value(W, I, uint32_t value)
{
    unsigned imm = i->raw[0] & 0xffff, id = imm & 63, at = imm >> 6 & 31, n = (imm >> 11 & 31) + 1;
    uint32_t mask = (uint32_t)(((1ull << n) - 1) << at);
    if (id == HW_MODE)
        w->mode = (w->mode & ~mask) | (value << at & mask);
}

static void
setreg(W, I)
{
    setreg_value(w, i, s32(w, &i->op[i->noperands - 1]));
}

static void
setreg_imm(W, I)
{
    setreg_value(w, i, i->raw[1]);
}

static void
round_mode(W, I)
{
    w->mode = (w->mode & ~15u) | (i->raw[0] & 15);
}

static void
denorm_mode(W, I)
{
    w->mode = (w->mode & ~0xf0u) | (i->raw[0] & 15) << 4;
}

static void
memtime(W, I)
{
    set_s64(w, &i->op[0], gfx_wall_clock());
}

/* s_sendmsg_rtn_b64: a question to the hardware. */
static void
sendmsg_rtn(W, I)
{
    enum { MSG_RTN_GET_REALTIME = 131 };
    unsigned message = i->raw[0] & 0xff;
    if (message == MSG_RTN_GET_REALTIME)
        set_s64(w, &i->op[0], gfx_wall_clock());
    else
        gfx_fault(w, FAULT_INSTRUCTION, "message %u", message);
}

/* ---- relative moves: the register number plus m0 ---- */

static void
movrels(W, I)
{
    unsigned r = i->op[1].reg + w->s[S_M0];
    if (i->op[1].kind == GFX_SGPR && r < S_COUNT)
        set_s32(w, &i->op[0], w->s[r]);
}

static void
movreld(W, I)
{
    unsigned r = i->op[0].reg + w->s[S_M0];
    if (i->op[0].kind == GFX_SGPR && r < S_COUNT)
        w->s[r] = s32(w, &i->op[1]);
}

/* 64 bits wide; arg bit 0: the source is relative, bit 1 the destination. */
static void
movrel64(W, I)
{
    struct gfx_insn moved = *i;
    unsigned m0 = w->s[S_M0], n = i->arg & 1 ? 1 : 0, r = i->op[n].reg + m0;
    if (i->op[n].kind != GFX_SGPR || m0 >= S_COUNT || r + 2 > S_COUNT)
        return;
    moved.op[n].reg = (uint16_t)r;
    set_s64(w, &moved.op[0], s64(w, &moved.op[1]));
}

/* Both relative, by 10 bits of M0 each. */
static void
movrelsd_2(W, I)
{
    unsigned from = i->op[1].reg + (w->s[S_M0] & 0x3ff), to = i->op[0].reg + (w->s[S_M0] >> 16 & 0x3ff);
    if (i->op[0].kind == GFX_SGPR && i->op[1].kind == GFX_SGPR && from < S_COUNT && to < S_COUNT)
        w->s[to] = w->s[from];
}

#define S(name, fn) { "s_" name, fn, GFX_C_SALU, 0 }
#define SA(name, fn, arg) { "s_" name, fn, GFX_C_SALU, arg }
#define SB(name, fn, arg) { "s_" name, fn, GFX_C_BRANCH, arg }
#define SO(name, fn) { "s_" name, fn, GFX_C_OTHER, 0 }
#define EXECS(name, code) SA(name "_saveexec_b64", saveexec, code), SA(name "_saveexec_b32", saveexec, (code) + 16)
const struct gfx_row gfx_salu[] = {
    S("mov_b32", mov), S("mov_b64", mov64), S("cmov_b32", cmov), S("cmov_b64", cmov64), S("not_b32", not), S("not_b64", not64),
    S("brev_b32", brev), S("brev_b64", brev64), SA("bcnt0_i32_b32", bcnt0, 0), SA("bcnt0_i32_b64", bcnt0, 1),
    SA("bcnt1_i32_b32", bcnt1, 0), SA("bcnt1_i32_b64", bcnt1, 1), SA("ff1_i32_b32", ff1, 0), SA("ff1_i32_b64", ff1, 1),
    SA("ctz_i32_b32", ff1, 0), SA("ctz_i32_b64", ff1, 1), SA("ff0_i32_b32", ff0, 0), SA("ff0_i32_b64", ff0, 1),
    SA("flbit_i32_b32", flbit, 0), SA("flbit_i32_b64", flbit, 1), SA("clz_i32_u32", flbit, 0), SA("clz_i32_u64", flbit, 1),
    SA("flbit_i32", flbit_i, 0), SA("flbit_i32_i64", flbit_i, 1), SA("cls_i32", flbit_i, 0), SA("cls_i32_i64", flbit_i, 1),
    S("sext_i32_i8", sext8), S("sext_i32_i16", sext16), S("abs_i32", abs_i32), SA("bitset0_b32", bitset, 0), SA("bitset1_b32", bitset, 1),
    SA("bitset0_b64", bitset, 2), SA("bitset1_b64", bitset, 3), S("quadmask_b32", quadmask), S("quadmask_b64", quadmask64),
    S("bitreplicate_b64_b32", bitreplicate), SA("movrels_b64", movrel64, 1), SA("movreld_b64", movrel64, 2), S("movrelsd_2_b32", movrelsd_2),
    S("wqm_b32", wqm), S("wqm_b64", wqm64),
    S("add_u32", add_u32), S("sub_u32", sub_u32), S("add_i32", add_i32), S("sub_i32", sub_i32), S("add_co_u32", add_u32),
    S("sub_co_u32", sub_u32), S("add_co_i32", add_i32), S("sub_co_i32", sub_i32), S("addc_u32", addc), S("subb_u32", subb),
    S("add_co_ci_u32", addc), S("sub_co_ci_u32", subb), S("mul_u64", mul_u64),
    S("add_nc_u64", add_u64), S("sub_nc_u64", sub_u64), S("min_i32", min_i32), S("min_u32", min_u32), S("max_i32", max_i32),
    S("max_u32", max_u32), S("cselect_b32", cselect), S("cselect_b64", cselect64), S("and_b32", and), S("or_b32", or), S("xor_b32", xor),
    S("andn2_b32", andn2), S("and_not1_b32", andn2), S("orn2_b32", orn2), S("or_not1_b32", orn2), S("nand_b32", nand), S("nor_b32", nor),
    S("xnor_b32", xnor), S("and_b64", and64), S("or_b64", or64), S("xor_b64", xor64), S("andn2_b64", andn264), S("and_not1_b64", andn264),
    S("orn2_b64", orn264), S("or_not1_b64", orn264), S("nand_b64", nand_64), S("nor_b64", nor64), S("xnor_b64", xnor64),
    S("lshl_b32", lshl), S("lshr_b32", lshr), S("ashr_i32", ashr), S("lshl_b64", lshl64), S("lshr_b64", lshr64), S("ashr_i64", ashr64),
    S("bfm_b32", bfm), S("bfm_b64", bfm64), S("mul_i32", mul_i32), S("mul_hi_u32", mul_hi_u32), S("mul_hi_i32", mul_hi_i32),
    S("bfe_u32", bfe_u32), S("bfe_i32", bfe_i32), S("bfe_u64", bfe_u64), S("bfe_i64", bfe_i64), S("absdiff_i32", absdiff),
    S("pack_ll_b32_b16", pack_ll), S("pack_lh_b32_b16", pack_lh), S("pack_hh_b32_b16", pack_hh), S("pack_hl_b32_b16", pack_hl),
    SA("lshl1_add_u32", lshl_add, 1), SA("lshl2_add_u32", lshl_add, 2), SA("lshl3_add_u32", lshl_add, 3), SA("lshl4_add_u32", lshl_add, 4),
    S("cmp_eq_i32", cmp_eq), S("cmp_eq_u32", cmp_eq), S("cmp_lg_i32", cmp_lg), S("cmp_lg_u32", cmp_lg), S("cmp_gt_i32", cmp_gt_i),
    S("cmp_ge_i32", cmp_ge_i), S("cmp_lt_i32", cmp_lt_i), S("cmp_le_i32", cmp_le_i), S("cmp_gt_u32", cmp_gt_u), S("cmp_ge_u32", cmp_ge_u),
    S("cmp_lt_u32", cmp_lt_u), S("cmp_le_u32", cmp_le_u), S("cmp_eq_u64", cmp_eq64), S("cmp_lg_u64", cmp_lg64),
    S("bitcmp0_b32", bitcmp0), S("bitcmp1_b32", bitcmp1), SA("bitcmp0_b64", bitcmp64, 0), SA("bitcmp1_b64", bitcmp64, 1),
    S("movk_i32", movk), S("cmovk_i32", cmovk), S("addk_i32", addk), S("addk_co_i32", addk), S("mulk_i32", mulk),
    SA("cmpk_eq_i32", cmpk, 0), SA("cmpk_lg_i32", cmpk, 1), SA("cmpk_gt_i32", cmpk, 2), SA("cmpk_ge_i32", cmpk, 3),
    SA("cmpk_lt_i32", cmpk, 4), SA("cmpk_le_i32", cmpk, 5), SA("cmpk_eq_u32", cmpk, 8), SA("cmpk_lg_u32", cmpk, 9),
    SA("cmpk_gt_u32", cmpk, 10), SA("cmpk_ge_u32", cmpk, 11), SA("cmpk_lt_u32", cmpk, 12), SA("cmpk_le_u32", cmpk, 13),
    EXECS("and", 0), EXECS("or", 1), EXECS("xor", 2), EXECS("andn2", 3), EXECS("and_not1", 3), EXECS("orn2", 4), EXECS("or_not1", 4),
    EXECS("nand", 5), EXECS("nor", 6), EXECS("xnor", 7), EXECS("andn1", 8), EXECS("and_not0", 8), EXECS("orn1", 9), EXECS("or_not0", 9),
    SA("andn1_wrexec_b64", saveexec, 8 + 32), SA("andn2_wrexec_b64", saveexec, 3 + 32), SA("andn1_wrexec_b32", saveexec, 8 + 48),
    SA("andn2_wrexec_b32", saveexec, 3 + 48), SA("and_not0_wrexec_b64", saveexec, 8 + 32), SA("and_not1_wrexec_b64", saveexec, 3 + 32),
    SA("and_not0_wrexec_b32", saveexec, 8 + 48), SA("and_not1_wrexec_b32", saveexec, 3 + 48),
    SB("branch", branch, 0), SB("cbranch_scc0", cbranch, 0), SB("cbranch_scc1", cbranch, 1), SB("cbranch_vccz", cbranch, 2),
    SB("cbranch_vccnz", cbranch, 3), SB("cbranch_execz", cbranch, 4), SB("cbranch_execnz", cbranch, 5), SB("getpc_b64", getpc, 0),
    SB("setpc_b64", setpc, 0), SB("swappc_b64", swappc, 0), SB("call_b64", call, 0), SO("endpgm", endpgm), SO("endpgm_saved", endpgm),
    SO("barrier", barrier), SO("barrier_wait", barrier), SO("barrier_signal", nothing), SO("nop", nothing), SO("sleep", nothing),
    SO("waitcnt", nothing), SO("waitcnt_depctr", nothing), SO("waitcnt_vscnt", nothing), SO("waitcnt_vmcnt", nothing),
    SO("waitcnt_lgkmcnt", nothing), SO("waitcnt_expcnt", nothing), SO("wait_loadcnt", nothing), SO("wait_storecnt", nothing),
    SO("wait_dscnt", nothing), SO("wait_kmcnt", nothing), SO("wait_expcnt", nothing), SO("wait_samplecnt", nothing),
    SO("wait_bvhcnt", nothing), SO("wait_loadcnt_dscnt", nothing), SO("wait_storecnt_dscnt", nothing), SO("wait_alu", nothing),
    SO("wait_idle", nothing), SO("clause", nothing), SO("delay_alu", nothing), SO("inst_prefetch", nothing),
    SO("set_inst_prefetch_distance", nothing), SO("setprio", nothing), SO("sethalt", nothing), SO("icache_inv", nothing),
    SO("dcache_inv", nothing), SO("dcache_wb", nothing), SO("gl1_inv", nothing), SO("wakeup", nothing), SO("ttracedata", nothing),
    SO("prefetch_inst", nothing), SO("prefetch_inst_pc_rel", nothing), SO("prefetch_data", nothing), SO("setkill", nothing),
    SO("ttracedata_imm", nothing), SO("sleep_var", nothing), SO("wait_event", nothing), SO("version", nothing), SO("dcache_discard", nothing),
    SO("dcache_discard_x2", nothing), SO("dcache_inv_vol", nothing), SO("dcache_wb_vol", nothing), SO("prefetch_data_pc_rel", nothing),
    SO("buffer_prefetch_data", nothing), SO("sendmsghalt", sendmsg),
    /* No debugger has set these conditions. */
    SO("cbranch_cdbgsys", nothing), SO("cbranch_cdbguser", nothing), SO("cbranch_cdbgsys_or_user", nothing),
    SO("cbranch_cdbgsys_and_user", nothing),
    SO("incperflevel", nothing), SO("decperflevel", nothing), SO("sendmsg", sendmsg), SO("trap", trap), SO("getreg_b32", getreg),
    SO("setreg_b32", setreg), SO("setreg_imm32_b32", setreg_imm), SO("round_mode", round_mode), SO("denorm_mode", denorm_mode),
    SO("memtime", memtime), SO("memrealtime", memtime), SO("sendmsg_rtn_b64", sendmsg_rtn), S("movrels_b32", movrels), S("movreld_b32", movreld),
    { NULL, NULL, 0, 0 },
};
