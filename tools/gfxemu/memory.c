/* SPDX-License-Identifier: Apache-2.0
 * Loads, stores and atomics: scalar, global, flat, scratch, buffer and LDS (DS), with the lane exchanges that DS has.
 *
 * A row's argument encodes the name's parts: bits 0-2 the access (enum access), bits 3-5 dwords, bits 6-7 the family. Addresses
 * are checked against the device's blocks of memory; outside of them, or misaligned for an atomic, the launch ends. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

#include <stdlib.h>

enum access { DWORDS, U8, I8, U16, I16, D16, D16_HI, U8_HI };
enum family { GLOBAL, FLAT, SCRATCH, BUFFER };

/* ---- addresses ---- */

/* A lane's address as bytes of this process, or NULL after a fault. */
static uint8_t *
global_bytes(W, I, uint64_t address, unsigned size, unsigned lane, const char *what)
{
    if (gfx_range_has(address, size))
        return (uint8_t *)(uintptr_t)address;
    gfx_fault(w, FAULT_MEMORY, "%s of %u bytes at 0x%llx (lane %u) is outside of every allocation: %s", what, size,
              (unsigned long long)address, lane, i->text);
    return NULL;
}

static uint8_t *
scratch_bytes(W, I, uint64_t offset, unsigned size, unsigned lane, const char *what)
{
    if (offset <= w->scratch_size && size <= w->scratch_size - offset)
        return w->scratch + (size_t)lane * w->scratch_size + offset;
    gfx_fault(w, FAULT_MEMORY, "%s of %u bytes at scratch offset 0x%llx (lane %u) is outside of its %u bytes: %s", what, size,
              (unsigned long long)offset, lane, w->scratch_size, i->text);
    return NULL;
}

/* Hardware drops stores to LDS out of bounds and gives 0 for loads; here it ends the launch, since no correct program does it. */
static uint8_t *
lds_bytes(W, I, uint64_t offset, unsigned size, unsigned lane, const char *what)
{
    if (offset <= w->group->lds_size && size <= w->group->lds_size - offset)
        return w->group->lds + offset;
    gfx_fault(w, FAULT_LDS, "%s of %u bytes at LDS offset 0x%llx (lane %u) is outside of its %u bytes: %s", what, size,
              (unsigned long long)offset, lane, w->group->lds_size, i->text);
    return NULL;
}

static void
lds_mark(W, const uint8_t *p, unsigned n)
{
    if (w->group->lds_written)
        memset(w->group->lds_written + (p - w->group->lds), 1, n);
}

static void
lds_check(W, const uint8_t *p, unsigned n)
{
    if (w->group->lds_written)
        for (unsigned k = 0; k < n; k++)
            if (!w->group->lds_written[p - w->group->lds + k]) {
                w->group->lds_unwritten++;
                break;
            }
}

static uint8_t *
flat_bytes(W, I, uint64_t address, unsigned size, unsigned lane, const char *what, bool *lds)
{
    *lds = false;
    if (address >> 32 == GFX_SHARED_APERTURE) {
        *lds = true;
        return lds_bytes(w, i, (uint32_t)address, size, lane, what);
    }
    if (address >> 32 == GFX_PRIVATE_APERTURE)
        return scratch_bytes(w, i, (uint32_t)address, size, lane, what);
    return global_bytes(w, i, address, size, lane, what);
}

/* The operands of a memory instruction after data and destination: in i->op from `at` on. */
static uint8_t *
lane_bytes(W, I, enum family f, unsigned at, unsigned size, unsigned l, const char *what, bool *lds)
{
    const struct gfx_operand *a = &i->op[at], *b = &i->op[at + 1];
    uint64_t address = 0;
    *lds = false;
    switch (f) {
    case GLOBAL: case FLAT:
        if (a->kind == GFX_VGPR && b->kind == GFX_SGPR && f == GLOBAL)      /* base in scalars, 32-bit offset in a vector */
            address = s64(w, b) + w->v[a->reg][l];
        else if (a->kind == GFX_VGPR && a->reg + 1 < V_COUNT)
            address = w->v[a->reg][l] | (uint64_t)w->v[a->reg + 1][l] << 32;
        address += (uint64_t)(int64_t)i->offset;
        return f == FLAT ? flat_bytes(w, i, address, size, l, what, lds) : global_bytes(w, i, address, size, l, what);
    case SCRATCH:
        if (a->kind == GFX_VGPR)
            address = w->v[a->reg][l];
        else if (a->kind == GFX_SGPR)
            address = w->s[a->reg];
        if (b->kind == GFX_SGPR)
            address += w->s[b->reg];
        return scratch_bytes(w, i, (uint32_t)(address + (uint64_t)(int64_t)i->offset), size, l, what);
    default: {
        /* vaddr (or off), resource, soffset */
        const struct gfx_operand *rsrc = b, *so = &i->op[at + 2];
        if (rsrc->kind != GFX_SGPR || rsrc->reg + 3 >= S_COUNT)
            return NULL;
        const uint32_t *r = &w->s[rsrc->reg];
        uint64_t base = r[0] | (uint64_t)(r[1] & 0xffff) << 32;
        uint32_t stride = r[1] >> 16 & 0x3fff, records = r[2], index = 0, offset = (uint32_t)i->offset, soffset = s32(w, so);
        if (i->idxen)
            index = w->v[a->reg][l];
        if (i->offen)
            offset += w->v[a->reg + (i->idxen ? 1 : 0)][l];
        if (r[1] >> 31 || (r[3] >> 23 & 1)) {
            /* A swizzled buffer is scratch: offsets are a lane's, the scalar part is counted for the whole wave. */
            return scratch_bytes(w, i, soffset / w->lanes + offset, size, l, what);
        }
        uint64_t at_byte = (uint64_t)index * stride + offset;
        if (stride ? index >= records : at_byte + soffset + size > records)
            return NULL;                /* out of range: loads give 0, stores do nothing; by definition, not an error */
        return global_bytes(w, i, base + at_byte + soffset, size, l, what);
    }
    }
}

static unsigned
bytes_of(enum access a, unsigned dwords)
{
    return a == DWORDS ? 4 * dwords : a == U8 || a == I8 || a == U8_HI ? 1 : 2;
}

/* Misaligned: not on the element's size, of dwords not on 4 bytes. `bits` are all lanes' addresses together. LDS lies on 256 bytes, scratch on 4. */
static inline void
check_alignment(W, I, uintptr_t bits, unsigned size)
{
    if (bits & ((size < 4 ? size : 4) - 1))
        gfx_note(w, NOTE_MISALIGNED, i);
}

static void
load_lane(W, unsigned reg, unsigned l, enum access a, unsigned dwords, const uint8_t *p)
{
    uint32_t x = 0, all[8] = { 0 };
    uint16_t h = 0;
    if (p && a != DWORDS)
        mem_read(&h, p, a == U8 || a == I8 ? 1 : 2);
    switch (a) {
    case DWORDS:
        if (p)
            mem_read(all, p, 4 * dwords);
        for (unsigned k = 0; k < dwords && reg + k < V_COUNT; k++)
            w->v[reg + k][l] = all[k];
        return;
    case U8: x = h; break;
    case I8: x = (uint32_t)(int32_t)(int8_t)h; break;
    case U16: x = h; break;
    case I16: x = (uint32_t)(int32_t)(int16_t)h; break;
    case D16: x = (w->v[reg][l] & 0xffff0000u) | h; break;
    default: x = (w->v[reg][l] & 0xffff) | (uint32_t)h << 16; break;
    }
    w->v[reg][l] = x;
}

static void
store_lane(W, unsigned reg, unsigned l, unsigned dwords, uint8_t *p)
{
    uint32_t all[8];
    unsigned n = reg + dwords < V_COUNT ? dwords : V_COUNT - reg;
    for (unsigned k = 0; k < n; k++)
        all[k] = w->v[reg + k][l];
    mem_write(p, all, 4 * n);
}

static void
mark(W, unsigned reg, unsigned n)
{
    for (unsigned k = 0; k < n && reg + k < V_COUNT; k++)
        w->written[reg + k] |= gfx_exec_mask(w);
}

#define PACK(a, n, f) ((uint8_t)((a) | (n) << 3 | (f) << 6))
#define ARG_ACCESS ((enum access)(i->arg & 7))
#define ARG_DWORDS ((i->arg >> 3 & 7u) == 0 ? 1u : (i->arg >> 3 & 7u))
#define ARG_FAMILY ((enum family)(i->arg >> 6))

static void
load(W, I)
{
    enum access a = ARG_ACCESS;
    unsigned n = ARG_DWORDS, reg = i->op[0].reg;
    if (i->op[0].kind != GFX_VGPR)
        return;
    /* Two passes: an address register may be among the destinations. */
    uint8_t *p[LANES];
    uintptr_t bits = 0;
    bool lds;
    FOR_ACTIVE {
        p[l] = lane_bytes(w, i, ARG_FAMILY, 1, bytes_of(a, n), l, "load", &lds);
        bits |= (uintptr_t)p[l];
        if (lds && p[l])
            lds_check(w, p[l], bytes_of(a, n));
    }
    if (w->state == WAVE_FAULT)
        return;
    check_alignment(w, i, bits, bytes_of(a, n));
    { FOR_ACTIVE load_lane(w, reg, l, a, n, p[l]); }
    mark(w, reg, a == DWORDS ? n : 1);
}

/* d16 loads of a byte: the value is extended to 16 bits in one half. arg as for load, with access D16/D16_HI, and dwords 1 for signed. */
static void
load_d16_byte(W, I)
{
    unsigned reg = i->op[0].reg;
    uint8_t *p[LANES];
    bool lds, high = ARG_ACCESS == D16_HI, sign = (i->arg >> 3 & 7) == 1;
    FOR_ACTIVE p[l] = lane_bytes(w, i, ARG_FAMILY, 1, 1, l, "load", &lds);
    if (w->state == WAVE_FAULT)
        return;
    { FOR_ACTIVE {
        uint32_t x = p[l] ? __atomic_load_n(p[l], __ATOMIC_RELAXED) : 0;
        if (sign)
            x = (uint32_t)(int32_t)(int8_t)x & 0xffff;
        w->v[reg][l] = high ? (w->v[reg][l] & 0xffff) | x << 16 : (w->v[reg][l] & 0xffff0000u) | x;
    } }
    mark(w, reg, 1);
}

/* Order of operands: global and flat: address, data, base; scratch: address, data, scalar; buffer: data, address, ... */
static void
store(W, I)
{
    enum access a = ARG_ACCESS;
    enum family f = ARG_FAMILY;
    unsigned n = ARG_DWORDS;
    struct gfx_insn moved = *i;
    const struct gfx_operand *data = &i->op[f == BUFFER ? 0 : 1];
    if (f != BUFFER)
        moved.op[1] = i->op[2];         /* address, base */
    unsigned at = f == BUFFER ? 1 : 0;
    uintptr_t bits = 0;
    bool lds;
    FOR_ACTIVE {
        uint8_t *p = lane_bytes(w, &moved, f, at, bytes_of(a, n), l, "store", &lds);
        if (!p)
            continue;
        bits |= (uintptr_t)p;
        if (a == DWORDS) {
            store_lane(w, data->reg, l, n, p);
        } else {
            uint32_t x = w->v[data->reg][l] >> (a == D16_HI || data->high ? 16 : 0);
            mem_write(p, &x, bytes_of(a, 1));
        }
        if (lds)
            lds_mark(w, p, bytes_of(a, n));
    }
    check_alignment(w, i, bits, bytes_of(a, n));
}

static void
store_byte_hi(W, I)
{
    enum family f = ARG_FAMILY;
    struct gfx_insn moved = *i;
    const struct gfx_operand *data = &i->op[f == BUFFER ? 0 : 1];
    if (f != BUFFER)
        moved.op[1] = i->op[2];
    bool lds;
    FOR_ACTIVE {
        uint8_t *p = lane_bytes(w, &moved, f, f == BUFFER ? 1 : 0, 1, l, "store", &lds);
        if (p)
            __atomic_store_n(p, (uint8_t)(w->v[data->reg][l] >> 16), __ATOMIC_RELAXED);
    }
}

/* ---- atomics ---- */

enum atomic { SWAP, CMPSWAP, ADD, SUB, SMIN, UMIN, SMAX, UMAX, AND, OR, XOR, INC, DEC, ADD_F32, MIN_F32, MAX_F32, ADD_F64, MIN_F64,
    MAX_F64, PK_ADD_F16, PK_ADD_BF16, RSUB, WRAP, MSKOR, COND_SUB, CLAMP_SUB, CMPSWAP_F, COND_SWAP };

static uint64_t
apply(enum atomic op, uint64_t old, uint64_t v, uint64_t cmp, bool wide)
{
    int64_t so = wide ? (int64_t)old : (int32_t)old, sv = wide ? (int64_t)v : (int32_t)v;
    double d, e;
    switch (op) {
    case SWAP: return v;
    case CMPSWAP: return old == cmp ? v : old;
    case ADD: return old + v;
    case SUB: return old - v;
    case RSUB: return v - old;
    case SMIN: return so < sv ? old : v;
    case UMIN: return old < v ? old : v;
    case SMAX: return so > sv ? old : v;
    case UMAX: return old > v ? old : v;
    case AND: return old & v;
    case OR: return old | v;
    case XOR: return old ^ v;
    case INC: return old >= v ? 0 : old + 1;
    case DEC: return old == 0 || old > v ? v : old - 1;
    case COND_SUB: return old >= v ? old - v : old;
    case CLAMP_SUB: return old >= v ? old - v : 0;
    case WRAP: return old >= v ? old - v : old + cmp;
    case CMPSWAP_F:
        return (wide ? f64_of(old) == f64_of(cmp) : f32_of((uint32_t)old) == f32_of((uint32_t)cmp)) ? v : old;
    case COND_SWAP: {           /* each half where its sign bit, which is not stored, says so */
        uint64_t low = v >> 31 & 1 ? v & 0x7fffffffu : old & 0xffffffffu;
        return low | (v >> 63 ? v & 0x7fffffff00000000u : old & 0xffffffff00000000u);
    }
    case MSKOR: return (old & ~v) | cmp;
    case ADD_F32: return f32_bits(f32_of((uint32_t)old) + f32_of((uint32_t)v));
    case MIN_F32: return f32_bits(fminf(f32_of((uint32_t)old), f32_of((uint32_t)v)));
    case MAX_F32: return f32_bits(fmaxf(f32_of((uint32_t)old), f32_of((uint32_t)v)));
    case ADD_F64:
        return f64_bits(f64_of(old) + f64_of(v));
    case MIN_F64: case MAX_F64:
        d = f64_of(old);
        e = f64_of(v);
        return f64_bits(op == MIN_F64 ? fmin(d, e) : fmax(d, e));
    case PK_ADD_F16:
        return f16_bits(f16_of((uint32_t)old & 0xffff) + f16_of((uint32_t)v & 0xffff)) |
               (uint32_t)f16_bits(f16_of((uint32_t)(old >> 16) & 0xffff) + f16_of((uint32_t)(v >> 16) & 0xffff)) << 16;
    case PK_ADD_BF16: {
        uint32_t r = 0;
        for (unsigned k = 0; k < 32; k += 16) {
            uint32_t b = f32_bits(f32_of((uint32_t)(old >> k) << 16) + f32_of((uint32_t)(v >> k) << 16));
            b = (b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16;
            r |= (b & 0xffff) << k;
        }
        return r;
    }
    default: return old;
    }
}

/* Other work-groups run on other threads: every operation is a compare-and-swap loop of the host. */
static uint64_t
atomic_apply(uint8_t *p, enum atomic op, uint64_t v, uint64_t cmp, bool wide)
{
    if (wide) {
        uint64_t old = __atomic_load_n((uint64_t *)(void *)p, __ATOMIC_SEQ_CST), new;
        do
            new = apply(op, old, v, cmp, true);
        while (!__atomic_compare_exchange_n((uint64_t *)(void *)p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        return old;
    }
    uint32_t old = __atomic_load_n((uint32_t *)(void *)p, __ATOMIC_SEQ_CST), new;
    do
        new = (uint32_t)apply(op, old, (uint32_t)v, (uint32_t)cmp, false);
    while (!__atomic_compare_exchange_n((uint32_t *)(void *)p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}

/* arg: bits 0-4 the operation, bit 5 64 bits wide, bits 6-7 family (scratch has none: LDS there). */
static void
atomic(W, I)
{
    enum atomic op = (enum atomic)(i->arg & 31);
    bool wide = i->arg & 32, lds;
    enum family f = (enum family)(i->arg >> 6);
    unsigned size = wide ? 8 : 4;
    /* Global and flat: [d,] address, data[, base]; buffer: data (also d), address, resource, offset. */
    bool returns;
    unsigned at, data, dst = 0;
    struct gfx_insn moved = *i;
    if (f == BUFFER) {
        returns = i->glc;
        data = 0;
        at = 1;
    } else {
        unsigned full = f == GLOBAL ? 4 : 3;
        returns = i->noperands >= full;
        at = returns ? 1 : 0;
        data = at + 1;
        moved.op[at + 1] = i->op[data + 1];
    }
    const struct gfx_operand *d = &i->op[data];
    uint32_t old_lo[LANES] = { 0 }, old_hi[LANES] = { 0 };
    FOR_ACTIVE {
        uint8_t *p = lane_bytes(w, &moved, f, at, size, l, "atomic", &lds);
        if (!p) {
            if (w->state == WAVE_FAULT)
                return;
            continue;
        }
        if ((uintptr_t)p % size) {
            gfx_fault(w, FAULT_MISALIGNED, "atomic at a misaligned address (lane %u): %s", l, i->text);
            return;
        }
        uint64_t v = w->v[d->reg][l], cmp = 0;
        if (wide)
            v |= (uint64_t)w->v[d->reg + 1][l] << 32;
        if (op == CMPSWAP || op == CMPSWAP_F)
            cmp = wide ? w->v[d->reg + 2][l] | (uint64_t)w->v[d->reg + 3][l] << 32 : w->v[d->reg + 1][l];
        if (lds)
            lds_mark(w, p, size);
        uint64_t old = atomic_apply(p, op, v, cmp, wide);
        old_lo[l] = (uint32_t)old;
        old_hi[l] = (uint32_t)(old >> 32);
    }
    if (returns) {
        put_reg(w, i->op[dst].reg, old_lo);
        if (wide)
            put_reg(w, i->op[dst].reg + 1u, old_hi);
    }
}

/* ---- scalar loads ---- */

static void
s_load(W, I)        /* arg: dwords; 64 more: a buffer resource; 128 more: sub-dword, with bits 0-1 the access */
{
    unsigned n = i->arg & 63;
    uint64_t address, offset = 0;
    const struct gfx_operand *o = &i->op[2];
    if (i->op[1].kind != GFX_SGPR || i->op[0].kind != GFX_SGPR)
        return;
    if (i->noperands > 2)
        offset = o->kind == GFX_SGPR ? w->s[o->reg] : o->kind == GFX_NULL ? 0 : (uint64_t)o->imm;
    offset += (uint64_t)(int64_t)i->offset;
    address = s64(w, &i->op[1]);
    if (i->arg & 64) {
        address &= 0xffffffffffffull;
        if (offset + 4 * n > w->s[i->op[1].reg + 2]) {
            for (unsigned k = 0; k < n; k++)
                w->s[i->op[0].reg + k] = 0;
            return;
        }
    }
    check_alignment(w, i, address + offset, 4);
    address = (address + offset) & ~3ull;
    if (!gfx_range_has(address, 4 * n)) {
        gfx_fault(w, FAULT_MEMORY, "scalar load of %u bytes at 0x%llx is outside of every allocation: %s", 4 * n,
                  (unsigned long long)address, i->text);
        return;
    }
    uint32_t tmp[16];
    mem_read(tmp, (const uint8_t *)(uintptr_t)address, 4 * n);
    for (unsigned k = 0; k < n && i->op[0].reg + k < S_COUNT; k++)
        w->s[i->op[0].reg + k] = tmp[k];
}

static void
s_load_small(W, I)  /* arg: enum access; 64 more: a buffer resource */
{
    const struct gfx_operand *o = &i->op[2];
    enum access a = (enum access)(i->arg & 7);
    uint64_t address = s64(w, &i->op[1]), offset = (uint64_t)(int64_t)i->offset;
    if (i->noperands > 2)
        offset += o->kind == GFX_SGPR ? w->s[o->reg] : o->kind == GFX_NULL ? 0 : (uint64_t)o->imm;
    unsigned n = bytes_of(a, 1);
    if (i->arg & 64) {
        address &= 0xffffffffffffull;
        if (offset + n > w->s[i->op[1].reg + 2]) {
            set_s32(w, &i->op[0], 0);
            return;
        }
    }
    address += offset;
    if (!gfx_range_has(address, n)) {
        gfx_fault(w, FAULT_MEMORY, "scalar load at 0x%llx is outside of every allocation: %s", (unsigned long long)address, i->text);
        return;
    }
    uint16_t h = 0;
    check_alignment(w, i, address, n);
    mem_read(&h, (const uint8_t *)(uintptr_t)address, n);
    set_s32(w, &i->op[0], a == I8 ? (uint32_t)(int32_t)(int8_t)h : a == I16 ? (uint32_t)(int32_t)(int16_t)h : h);
}

/* ---- LDS ---- */

/* Lanes of one instruction that access a bank at different addresses wait for each other: 32 banks of 4 bytes. */
static void
bank_conflicts(W, const uint32_t addr[LANES])
{
    uint8_t uses[32] = { 0 };
    uint32_t seen[32][8];
    unsigned worst = 1;
    FOR_ACTIVE {
        unsigned b = addr[l] >> 2 & 31, k;
        for (k = 0; k < uses[b] && seen[b][k] != addr[l] >> 2; k++)
            ;
        if (k == uses[b] && k < 8) {
            seen[b][k] = addr[l] >> 2;
            uses[b]++;
        }
        if (uses[b] > worst)
            worst = uses[b];
    }
    w->bank_conflicts += worst - 1;
}

static void
ds_read(W, I)
{
    enum access a = ARG_ACCESS;
    unsigned n = ARG_DWORDS, reg = i->op[0].reg;
    uint32_t addr[LANES], bits = 0;
    uint8_t *p[LANES];
    FOR_ACTIVE {
        addr[l] = w->v[i->op[1].reg][l] + (uint32_t)i->offset;
        bits |= addr[l];
        p[l] = lds_bytes(w, i, addr[l], bytes_of(a, n), l, "load");
        if (!p[l])
            return;
        lds_check(w, p[l], bytes_of(a, n));
    }
    { FOR_ACTIVE load_lane(w, reg, l, a, n, p[l]); }
    mark(w, reg, a == DWORDS ? n : 1);
    check_alignment(w, i, bits, bytes_of(a, n));
    bank_conflicts(w, addr);
}

static void
ds_read_d16_byte(W, I)
{
    unsigned reg = i->op[0].reg;
    bool high = ARG_ACCESS == D16_HI, sign = (i->arg >> 3 & 7) == 1;
    FOR_ACTIVE {
        uint8_t *p = lds_bytes(w, i, w->v[i->op[1].reg][l] + (uint32_t)i->offset, 1, l, "load");
        if (!p)
            return;
        uint32_t x = sign ? (uint32_t)(int32_t)(int8_t)*p & 0xffff : *p;
        w->v[reg][l] = high ? (w->v[reg][l] & 0xffff) | x << 16 : (w->v[reg][l] & 0xffff0000u) | x;
    }
    mark(w, reg, 1);
}

static void
ds_write(W, I)
{
    enum access a = ARG_ACCESS;
    unsigned n = ARG_DWORDS;
    const struct gfx_operand *data = &i->op[1];
    uint32_t addr[LANES], bits = 0;
    FOR_ACTIVE {
        addr[l] = w->v[i->op[0].reg][l] + (uint32_t)i->offset;
        bits |= addr[l];
        uint8_t *p = lds_bytes(w, i, addr[l], bytes_of(a, n), l, "store");
        if (!p)
            return;
        if (a == DWORDS) {
            store_lane(w, data->reg, l, n, p);
        } else {
            uint32_t x = w->v[data->reg][l] >> (a == D16_HI || a == U8_HI || data->high ? 16 : 0);
            mem_write(p, &x, bytes_of(a, 1));
        }
        lds_mark(w, p, bytes_of(a, n));
    }
    check_alignment(w, i, bits, bytes_of(a, n));
    bank_conflicts(w, addr);
}

/* Two at once: offsets in units of the element (arg bit 0: 8 bytes), times 64 with arg bit 1. */
static void
ds_read2(W, I)
{
    unsigned n = i->arg & 1 ? 2 : 1, unit = 4 * n * (i->arg & 2 ? 64 : 1), reg = i->op[0].reg;
    uint8_t *p[LANES], *q[LANES];
    uint32_t bits = 0;
    FOR_ACTIVE {
        uint32_t base = w->v[i->op[1].reg][l];
        bits |= base;
        p[l] = lds_bytes(w, i, base + (uint32_t)i->offset * unit, 4 * n, l, "load");
        q[l] = lds_bytes(w, i, base + (uint32_t)i->offset1 * unit, 4 * n, l, "load");
        if (!p[l] || !q[l])
            return;
        lds_check(w, p[l], 4 * n);
        lds_check(w, q[l], 4 * n);
    }
    { FOR_ACTIVE {
        load_lane(w, reg, l, DWORDS, n, p[l]);
        load_lane(w, reg + n, l, DWORDS, n, q[l]);
    } }
    mark(w, reg, 2 * n);
    check_alignment(w, i, bits, 4);
}

static void
ds_write2(W, I)
{
    unsigned n = i->arg & 1 ? 2 : 1, unit = 4 * n * (i->arg & 2 ? 64 : 1);
    uint32_t bits = 0;
    FOR_ACTIVE {
        uint32_t base = w->v[i->op[0].reg][l];
        bits |= base;
        uint8_t *p = lds_bytes(w, i, base + (uint32_t)i->offset * unit, 4 * n, l, "store");
        uint8_t *q = lds_bytes(w, i, base + (uint32_t)i->offset1 * unit, 4 * n, l, "store");
        if (!p || !q)
            return;
        for (unsigned k = 0; k < n; k++) {
            memcpy(p + 4 * k, &w->v[i->op[1].reg + k][l], 4);
            memcpy(q + 4 * k, &w->v[i->op[2].reg + k][l], 4);
        }
        lds_mark(w, p, 4 * n);
        lds_mark(w, q, 4 * n);
    }
    check_alignment(w, i, bits, 4);
}

/* Exchanges at both; offsets as of ds_read2. */
static void
ds_exchange2(W, I)
{
    unsigned n = i->arg & 1 ? 2 : 1, unit = 4 * n * (i->arg & 2 ? 64 : 1);
    uint32_t old[4][LANES] = { { 0 } };
    FOR_ACTIVE {
        uint32_t base = w->v[i->op[1].reg][l];
        for (unsigned k = 0; k < 2; k++) {
            uint32_t at = base + (uint32_t)(k ? i->offset1 : i->offset) * unit;
            uint8_t *p = lds_bytes(w, i, at, 4 * n, l, "atomic");
            if (!p)
                return;
            if (at % (4 * n)) {
                gfx_fault(w, FAULT_MISALIGNED, "atomic at a misaligned LDS offset (lane %u): %s", l, i->text);
                return;
            }
            for (unsigned d = 0; d < n; d++) {
                memcpy(&old[k * n + d][l], p + 4 * d, 4);
                memcpy(p + 4 * d, &w->v[i->op[2 + k].reg + d][l], 4);
            }
            lds_mark(w, p, 4 * n);
        }
    }
    for (unsigned d = 0; d < 2 * n; d++)
        put_reg(w, i->op[0].reg + d, old[d]);
}

/* A dword for each lane, one after the other from M0's lower half on. arg 1: store. */
static void
ds_addtid(W, I)
{
    FOR_ACTIVE {
        uint8_t *p = lds_bytes(w, i, (w->s[S_M0] & 0xffff) + (uint32_t)i->offset + 4 * l, 4, l, i->arg ? "store" : "load");
        if (!p)
            return;
        if (i->arg) {
            memcpy(p, &w->v[i->op[0].reg][l], 4);
            lds_mark(w, p, 4);
        } else {
            lds_check(w, p, 4);
            memcpy(&w->v[i->op[0].reg][l], p, 4);
        }
    }
    if (!i->arg)
        mark(w, i->op[0].reg, 1);
}

/* The same in memory, from an address in scalar registers on. */
static void
global_addtid(W, I)
{
    uint64_t base = i->op[1].kind == GFX_SGPR ? s64(w, &i->op[1]) : 0;
    FOR_ACTIVE {
        uint8_t *p = global_bytes(w, i, base + (uint64_t)(int64_t)i->offset + 4 * l, 4, l, i->arg ? "store" : "load");
        if (!p)
            return;
        if (i->arg)
            mem_write(p, &w->v[i->op[0].reg][l], 4);
        else
            mem_read(&w->v[i->op[0].reg][l], p, 4);
    }
    if (!i->arg)
        mark(w, i->op[0].reg, 1);
}

/* arg: bits 0-4 operation, bit 5 wide, bit 6 returns the old value. Compare-and-swap: address, then gfx9/10 compare and new
 * value, gfx11 on new value and compare. */
static void
ds_atomic(W, I)
{
    enum atomic op = (enum atomic)(i->arg & 31);
    bool wide = i->arg & 32, returns = i->arg & 64;
    unsigned at = returns ? 1 : 0, size = wide ? 8 : 4;
    bool value_first = w->group->target->family >= GFX11;
    const struct gfx_operand *a = &i->op[at + 1], *b = &i->op[at + 2];
    if ((op == CMPSWAP || op == CMPSWAP_F) && !value_first) {
        const struct gfx_operand *t = a;
        a = b;
        b = t;
    }
    uint32_t lo[LANES] = { 0 }, hi[LANES] = { 0 };
    FOR_ACTIVE {
        uint8_t *p = lds_bytes(w, i, w->v[i->op[at].reg][l] + (uint32_t)i->offset, size, l, "atomic");
        if (!p)
            return;
        if ((uintptr_t)(p - w->group->lds) % size) {
            gfx_fault(w, FAULT_MISALIGNED, "atomic at a misaligned LDS offset (lane %u): %s", l, i->text);
            return;
        }
        uint64_t old = 0, v = w->v[a->reg][l], cmp = 0, new;
        if (wide)
            v |= (uint64_t)w->v[a->reg + 1][l] << 32;
        if (op == CMPSWAP || op == CMPSWAP_F || op == MSKOR || op == WRAP)
            cmp = wide ? w->v[b->reg][l] | (uint64_t)w->v[b->reg + 1][l] << 32 : w->v[b->reg][l];
        memcpy(&old, p, size);
        new = apply(op, old, v, cmp, wide);     /* one thread runs all waves of a work-group */
        memcpy(p, &new, size);
        lds_mark(w, p, size);
        lo[l] = (uint32_t)old;
        hi[l] = (uint32_t)(old >> 32);
    }
    if (returns) {
        put_reg(w, i->op[0].reg, lo);
        if (wide)
            put_reg(w, i->op[0].reg + 1u, hi);
    }
}

/* ---- exchange between lanes ---- */

static void
bpermute(W, I)      /* d, lane * 4, value: idle lanes give 0, except with arg 1 */
{
    uint32_t d[LANES] = { 0 };
    uint64_t exec = gfx_exec_mask(w);
    unsigned half = w->lanes == 64 && w->group->target->family >= GFX10 ? 32 : w->lanes;
    FOR_ACTIVE {
        unsigned from = (w->v[i->op[1].reg][l] + (uint32_t)i->offset) >> 2;
        from = (l & ~(half - 1)) | (from & (half - 1));
        d[l] = i->arg || (exec >> from & 1) ? w->v[i->op[2].reg][from] : 0;
    }
    put_reg(w, i->op[0].reg, d);
}

static void
permute(W, I)
{
    uint32_t d[LANES] = { 0 };
    FOR_ACTIVE d[(w->v[i->op[1].reg][l] + (uint32_t)i->offset) >> 2 & (w->lanes - 1)] = w->v[i->op[2].reg][l];
    put_reg(w, i->op[0].reg, d);
}

static void
swizzle(W, I)       /* the pattern is in the low 16 bits of the encoding */
{
    uint32_t d[LANES] = { 0 }, pattern = i->raw[0] & 0xffff;
    uint64_t exec = gfx_exec_mask(w);
    for (unsigned l = 0; l < w->lanes; l++) {
        unsigned from;
        if (pattern >> 15)
            from = (l & ~3u) + (pattern >> 2 * (l & 3) & 3);
        else
            from = (l & ~31u) | (((l & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
        d[l] = exec >> from & 1 ? w->v[i->op[1].reg][from] : 0;
    }
    put_reg(w, i->op[0].reg, d);
}

static void
nothing(W, I)
{
    (void)w;
    (void)i;
}

/* ---- tables ---- */

#define SMEM(name, n) { "s_load_" name, s_load, GFX_C_SMEM, n }, { "s_buffer_load_" name, s_load, GFX_C_SMEM, (n) | 64 }
#define VM(p, name, fn, a, n, f, cls) { p name, fn, cls, PACK(a, n, f) }
#define LOADS(p, f, cls) \
    VM(p, "load_dword", load, DWORDS, 1, f, cls), VM(p, "load_b32", load, DWORDS, 1, f, cls), \
    VM(p, "load_dwordx2", load, DWORDS, 2, f, cls), VM(p, "load_b64", load, DWORDS, 2, f, cls), \
    VM(p, "load_dwordx3", load, DWORDS, 3, f, cls), VM(p, "load_b96", load, DWORDS, 3, f, cls), \
    VM(p, "load_dwordx4", load, DWORDS, 4, f, cls), VM(p, "load_b128", load, DWORDS, 4, f, cls), \
    VM(p, "load_ubyte", load, U8, 0, f, cls), VM(p, "load_u8", load, U8, 0, f, cls), \
    VM(p, "load_sbyte", load, I8, 0, f, cls), VM(p, "load_i8", load, I8, 0, f, cls), \
    VM(p, "load_ushort", load, U16, 0, f, cls), VM(p, "load_u16", load, U16, 0, f, cls), \
    VM(p, "load_sshort", load, I16, 0, f, cls), VM(p, "load_i16", load, I16, 0, f, cls), \
    VM(p, "load_short_d16", load, D16, 0, f, cls), VM(p, "load_d16_b16", load, D16, 0, f, cls), \
    VM(p, "load_short_d16_hi", load, D16_HI, 0, f, cls), VM(p, "load_d16_hi_b16", load, D16_HI, 0, f, cls), \
    VM(p, "load_ubyte_d16", load_d16_byte, D16, 0, f, cls), VM(p, "load_d16_u8", load_d16_byte, D16, 0, f, cls), \
    VM(p, "load_ubyte_d16_hi", load_d16_byte, D16_HI, 0, f, cls), VM(p, "load_d16_hi_u8", load_d16_byte, D16_HI, 0, f, cls), \
    VM(p, "load_sbyte_d16", load_d16_byte, D16, 1, f, cls), VM(p, "load_d16_i8", load_d16_byte, D16, 1, f, cls), \
    VM(p, "load_sbyte_d16_hi", load_d16_byte, D16_HI, 1, f, cls), VM(p, "load_d16_hi_i8", load_d16_byte, D16_HI, 1, f, cls), \
    VM(p, "store_dword", store, DWORDS, 1, f, cls), VM(p, "store_b32", store, DWORDS, 1, f, cls), \
    VM(p, "store_dwordx2", store, DWORDS, 2, f, cls), VM(p, "store_b64", store, DWORDS, 2, f, cls), \
    VM(p, "store_dwordx3", store, DWORDS, 3, f, cls), VM(p, "store_b96", store, DWORDS, 3, f, cls), \
    VM(p, "store_dwordx4", store, DWORDS, 4, f, cls), VM(p, "store_b128", store, DWORDS, 4, f, cls), \
    VM(p, "store_byte", store, U8, 0, f, cls), VM(p, "store_b8", store, U8, 0, f, cls), \
    VM(p, "store_short", store, U16, 0, f, cls), VM(p, "store_b16", store, U16, 0, f, cls), \
    VM(p, "store_byte_d16_hi", store_byte_hi, 0, 0, f, cls), VM(p, "store_d16_hi_b8", store_byte_hi, 0, 0, f, cls), \
    VM(p, "store_short_d16_hi", store, D16_HI, 0, f, cls), VM(p, "store_d16_hi_b16", store, D16_HI, 0, f, cls)
#define AT(p, name, op, wide, f) { p "atomic_" name, atomic, (f) == FLAT ? GFX_C_FLAT : GFX_C_VMEM, (uint8_t)((op) | (wide) << 5 | (f) << 6) }
#define ATOM2(p, old, new, op, f) AT(p, old, op, 0, f), AT(p, old "_x2", op, 1, f), AT(p, new "32", op, 0, f), AT(p, new "64", op, 1, f)
#define ATOMICS(p, f) ATOM2(p, "swap", "swap_b", SWAP, f), ATOM2(p, "cmpswap", "cmpswap_b", CMPSWAP, f), ATOM2(p, "add", "add_u", ADD, f), \
    ATOM2(p, "sub", "sub_u", SUB, f), ATOM2(p, "smin", "min_i", SMIN, f), ATOM2(p, "umin", "min_u", UMIN, f), \
    ATOM2(p, "smax", "max_i", SMAX, f), ATOM2(p, "umax", "max_u", UMAX, f), ATOM2(p, "and", "and_b", AND, f), \
    ATOM2(p, "or", "or_b", OR, f), ATOM2(p, "xor", "xor_b", XOR, f), ATOM2(p, "inc", "inc_u", INC, f), ATOM2(p, "dec", "dec_u", DEC, f), \
    AT(p, "add_f32", ADD_F32, 0, f), AT(p, "fmin", MIN_F32, 0, f), AT(p, "fmax", MAX_F32, 0, f), AT(p, "min_f32", MIN_F32, 0, f), \
    AT(p, "max_f32", MAX_F32, 0, f), AT(p, "min_num_f32", MIN_F32, 0, f), AT(p, "max_num_f32", MAX_F32, 0, f), \
    AT(p, "add_f64", ADD_F64, 1, f), AT(p, "min_f64", MIN_F64, 1, f), AT(p, "max_f64", MAX_F64, 1, f), AT(p, "fmin_x2", MIN_F64, 1, f), \
    AT(p, "fmax_x2", MAX_F64, 1, f), AT(p, "pk_add_f16", PK_ADD_F16, 0, f), AT(p, "pk_add_bf16", PK_ADD_BF16, 0, f), \
    AT(p, "cond_sub_u32", COND_SUB, 0, f), AT(p, "csub", CLAMP_SUB, 0, f), AT(p, "csub_u32", CLAMP_SUB, 0, f), \
    AT(p, "sub_clamp_u32", CLAMP_SUB, 0, f), AT(p, "fcmpswap", CMPSWAP_F, 0, f), AT(p, "fcmpswap_x2", CMPSWAP_F, 1, f), \
    AT(p, "cmpswap_f32", CMPSWAP_F, 0, f)
#define DR(name, fn, a, n) { "ds_" name, fn, GFX_C_LDS, PACK(a, n, 0) }
#define DX(name, fn, arg) { "ds_" name, fn, GFX_C_LDS, arg }
#define DA(name, op) DX(name "_u32", ds_atomic, op), DX(name "_rtn_u32", ds_atomic, (op) | 64), DX(name "_u64", ds_atomic, (op) | 32), \
    DX(name "_rtn_u64", ds_atomic, (op) | 96)
#define DAI(name, op) DX(name "_i32", ds_atomic, op), DX(name "_rtn_i32", ds_atomic, (op) | 64), DX(name "_i64", ds_atomic, (op) | 32), \
    DX(name "_rtn_i64", ds_atomic, (op) | 96)
#define DAB(name, op) DX(name "_b32", ds_atomic, op), DX(name "_rtn_b32", ds_atomic, (op) | 64), DX(name "_b64", ds_atomic, (op) | 32), \
    DX(name "_rtn_b64", ds_atomic, (op) | 96)
#define DF(name, op) DX(name "_f32", ds_atomic, op), DX(name "_rtn_f32", ds_atomic, (op) | 64), \
    DX(name "_f64", ds_atomic, ((op) + ADD_F64 - ADD_F32) | 32), DX(name "_rtn_f64", ds_atomic, ((op) + ADD_F64 - ADD_F32) | 96)
const struct gfx_row gfx_memory[] = {
    SMEM("dword", 1), SMEM("dwordx2", 2), SMEM("dwordx4", 4), SMEM("dwordx8", 8), SMEM("dwordx16", 16), SMEM("b32", 1), SMEM("b64", 2),
    SMEM("b96", 3), SMEM("b128", 4), SMEM("b256", 8), SMEM("b512", 16), { "s_load_u8", s_load_small, GFX_C_SMEM, U8 },
    { "s_load_i8", s_load_small, GFX_C_SMEM, I8 }, { "s_load_u16", s_load_small, GFX_C_SMEM, U16 },
    { "s_buffer_load_u8", s_load_small, GFX_C_SMEM, U8 | 64 }, { "s_buffer_load_i8", s_load_small, GFX_C_SMEM, I8 | 64 },
    { "s_buffer_load_u16", s_load_small, GFX_C_SMEM, U16 | 64 }, { "s_buffer_load_i16", s_load_small, GFX_C_SMEM, I16 | 64 }, { "s_load_i16", s_load_small, GFX_C_SMEM, I16 },
    LOADS("global_", GLOBAL, GFX_C_VMEM), LOADS("flat_", FLAT, GFX_C_FLAT), LOADS("scratch_", SCRATCH, GFX_C_SCRATCH),
    LOADS("buffer_", BUFFER, GFX_C_VMEM), ATOMICS("global_", GLOBAL), ATOMICS("flat_", FLAT), ATOMICS("buffer_", BUFFER),
    { "buffer_gl0_inv", nothing, GFX_C_OTHER, 0 }, { "buffer_gl1_inv", nothing, GFX_C_OTHER, 0 }, { "buffer_wbinvl1", nothing, GFX_C_OTHER, 0 },
    { "buffer_wbinvl1_vol", nothing, GFX_C_OTHER, 0 }, { "buffer_wbl2", nothing, GFX_C_OTHER, 0 }, { "buffer_invl2", nothing, GFX_C_OTHER, 0 },
    { "buffer_inv", nothing, GFX_C_OTHER, 0 }, { "global_inv", nothing, GFX_C_OTHER, 0 }, { "global_wb", nothing, GFX_C_OTHER, 0 },
    { "global_wbinv", nothing, GFX_C_OTHER, 0 }, { "ds_nop", nothing, GFX_C_OTHER, 0 },
    DR("read_b32", ds_read, DWORDS, 1), DR("load_b32", ds_read, DWORDS, 1), DR("read_b64", ds_read, DWORDS, 2), DR("load_b64", ds_read, DWORDS, 2),
    DR("read_b96", ds_read, DWORDS, 3), DR("load_b96", ds_read, DWORDS, 3), DR("read_b128", ds_read, DWORDS, 4), DR("load_b128", ds_read, DWORDS, 4),
    DR("read_u8", ds_read, U8, 0), DR("load_u8", ds_read, U8, 0), DR("read_i8", ds_read, I8, 0), DR("load_i8", ds_read, I8, 0),
    DR("read_u16", ds_read, U16, 0), DR("load_u16", ds_read, U16, 0), DR("read_i16", ds_read, I16, 0), DR("load_i16", ds_read, I16, 0),
    DR("read_u16_d16", ds_read, D16, 0), DR("load_u16_d16", ds_read, D16, 0), DR("read_u16_d16_hi", ds_read, D16_HI, 0),
    DR("load_u16_d16_hi", ds_read, D16_HI, 0), DR("read_u8_d16", ds_read_d16_byte, D16, 0), DR("load_u8_d16", ds_read_d16_byte, D16, 0),
    DR("read_u8_d16_hi", ds_read_d16_byte, D16_HI, 0), DR("load_u8_d16_hi", ds_read_d16_byte, D16_HI, 0),
    DR("read_i8_d16", ds_read_d16_byte, D16, 1), DR("load_i8_d16", ds_read_d16_byte, D16, 1),
    DR("read_i8_d16_hi", ds_read_d16_byte, D16_HI, 1), DR("load_i8_d16_hi", ds_read_d16_byte, D16_HI, 1),
    DR("write_b32", ds_write, DWORDS, 1), DR("store_b32", ds_write, DWORDS, 1), DR("write_b64", ds_write, DWORDS, 2),
    DR("store_b64", ds_write, DWORDS, 2), DR("write_b96", ds_write, DWORDS, 3), DR("store_b96", ds_write, DWORDS, 3),
    DR("write_b128", ds_write, DWORDS, 4), DR("store_b128", ds_write, DWORDS, 4), DR("write_b8", ds_write, U8, 0), DR("store_b8", ds_write, U8, 0),
    DR("write_b16", ds_write, U16, 0), DR("store_b16", ds_write, U16, 0), DR("write_b16_d16_hi", ds_write, D16_HI, 0),
    DR("store_b16_d16_hi", ds_write, D16_HI, 0), DR("write_b8_d16_hi", ds_write, U8_HI, 0), DR("store_b8_d16_hi", ds_write, U8_HI, 0),
    DX("read2_b32", ds_read2, 0), DX("load_2addr_b32", ds_read2, 0), DX("read2_b64", ds_read2, 1), DX("load_2addr_b64", ds_read2, 1),
    DX("read2st64_b32", ds_read2, 2), DX("load_2addr_stride64_b32", ds_read2, 2), DX("read2st64_b64", ds_read2, 3),
    DX("load_2addr_stride64_b64", ds_read2, 3), DX("write2_b32", ds_write2, 0), DX("store_2addr_b32", ds_write2, 0),
    DX("write2_b64", ds_write2, 1), DX("store_2addr_b64", ds_write2, 1), DX("write2st64_b32", ds_write2, 2),
    DX("store_2addr_stride64_b32", ds_write2, 2), DX("write2st64_b64", ds_write2, 3), DX("store_2addr_stride64_b64", ds_write2, 3),
    DA("add", ADD), DA("sub", SUB), DA("rsub", RSUB), DA("inc", INC), DA("dec", DEC), DA("min", UMIN), DA("max", UMAX),
    DAI("min", SMIN), DAI("max", SMAX), DAB("and", AND), DAB("or", OR), DAB("xor", XOR), DAB("mskor", MSKOR), DAB("cmpst", CMPSWAP),
    DAB("cmpstore", CMPSWAP), DF("add", ADD_F32), DF("min", MIN_F32), DF("max", MAX_F32), DF("min_num", MIN_F32), DF("max_num", MAX_F32),
    DX("wrxchg_rtn_b32", ds_atomic, SWAP | 64), DX("wrxchg_rtn_b64", ds_atomic, SWAP | 96), DX("storexchg_rtn_b32", ds_atomic, SWAP | 64),
    DX("storexchg_rtn_b64", ds_atomic, SWAP | 96), DX("pk_add_f16", ds_atomic, PK_ADD_F16), DX("pk_add_rtn_f16", ds_atomic, PK_ADD_F16 | 64),
    DX("pk_add_bf16", ds_atomic, PK_ADD_BF16), DX("pk_add_rtn_bf16", ds_atomic, PK_ADD_BF16 | 64),
    DX("cmpst_f32", ds_atomic, CMPSWAP_F), DX("cmpst_rtn_f32", ds_atomic, CMPSWAP_F | 64), DX("cmpst_f64", ds_atomic, CMPSWAP_F | 32),
    DX("cmpst_rtn_f64", ds_atomic, CMPSWAP_F | 96), DX("cmpstore_f32", ds_atomic, CMPSWAP_F), DX("cmpstore_rtn_f32", ds_atomic, CMPSWAP_F | 64),
    DX("cmpstore_f64", ds_atomic, CMPSWAP_F | 32), DX("cmpstore_rtn_f64", ds_atomic, CMPSWAP_F | 96), DX("wrap_rtn_b32", ds_atomic, WRAP | 64),
    DX("cond_sub_u32", ds_atomic, COND_SUB), DX("cond_sub_rtn_u32", ds_atomic, COND_SUB | 64), DX("sub_clamp_u32", ds_atomic, CLAMP_SUB),
    DX("sub_clamp_rtn_u32", ds_atomic, CLAMP_SUB | 64), DX("condxchg32_rtn_b64", ds_atomic, COND_SWAP | 96),
    DX("wrxchg2_rtn_b32", ds_exchange2, 0), DX("wrxchg2_rtn_b64", ds_exchange2, 1), DX("wrxchg2st64_rtn_b32", ds_exchange2, 2),
    DX("wrxchg2st64_rtn_b64", ds_exchange2, 3), DX("storexchg_2addr_rtn_b32", ds_exchange2, 0), DX("storexchg_2addr_rtn_b64", ds_exchange2, 1),
    DX("storexchg_2addr_stride64_rtn_b32", ds_exchange2, 2), DX("storexchg_2addr_stride64_rtn_b64", ds_exchange2, 3),
    DX("read_addtid_b32", ds_addtid, 0), DX("load_addtid_b32", ds_addtid, 0), DX("write_addtid_b32", ds_addtid, 1),
    DX("store_addtid_b32", ds_addtid, 1), { "global_load_dword_addtid", global_addtid, GFX_C_VMEM, 0 },
    { "global_load_addtid_b32", global_addtid, GFX_C_VMEM, 0 }, { "global_store_dword_addtid", global_addtid, GFX_C_VMEM, 1 },
    { "global_store_addtid_b32", global_addtid, GFX_C_VMEM, 1 }, DX("bpermute_fi_b32", bpermute, 1),
    DX("bpermute_b32", bpermute, 0), DX("permute_b32", permute, 0), DX("swizzle_b32", swizzle, 0),
    { NULL, NULL, 0, 0 },
};
