/* SPDX-License-Identifier: Apache-2.0
 * What the files with instructions share: operands as one value (scalar) or one value a lane, and results under the mask.
 *
 * Vector sources are fetched whole, then modified (lane crossing, sub-dword selection, abs, neg), then the operation
 * runs over all lanes and the result is stored where the execution mask is set. */
#ifndef GFX_EXEC_H
#define GFX_EXEC_H

#include "tools/gfxemu/gfx.h"

#include <fenv.h>
#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LANES 64
#define W struct gfx_wave *w
#define I const struct gfx_insn *i

static inline float    f32_of(uint32_t x) { float f; memcpy(&f, &x, 4); return f; }
static inline uint32_t f32_bits(float f) { uint32_t x; memcpy(&x, &f, 4); return x; }
static inline double   f64_of(uint64_t x) { double f; memcpy(&f, &x, 8); return f; }
static inline uint64_t f64_bits(double f) { uint64_t x; memcpy(&x, &f, 8); return x; }
static inline float    f16_of(uint32_t x) { uint16_t h = (uint16_t)x; _Float16 f; memcpy(&f, &h, 2); return (float)f; }
static inline uint16_t f16_raw(_Float16 f) { uint16_t h; memcpy(&h, &f, 2); return h; }
static inline uint16_t f16_bits(float f) { return f16_raw((_Float16)f); }

static inline float
flush32(float f)
{
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

/* ---- f32: a NaN result is the first operand that is one, made quiet, else 0x7fc00000 ---- */

static inline float
quiet(float f)
{
    return f32_of(f32_bits(f) | 0x00400000u);
}

static inline float
nan2(float a, float b, float r)
{
    return !isnan(r) ? r : isnan(a) ? quiet(a) : isnan(b) ? quiet(b) : f32_of(0x7fc00000u);
}

static inline float
nan3(float a, float b, float c, float r)
{
    return !isnan(r) ? r : isnan(a) ? quiet(a) : isnan(b) ? quiet(b) : isnan(c) ? quiet(c) : f32_of(0x7fc00000u);
}

/* How an operand's constant is read. */
enum gfx_type { T_B16, T_F16, T_BF16, T_B32, T_F32, T_B64, T_F64 };

uint64_t gfx_constant(const struct gfx_wave *w, const struct gfx_operand *o, enum gfx_type t);

/* ---- scalars ---- */

static inline uint32_t
s32(W, const struct gfx_operand *o)
{
    return o->kind == GFX_SGPR ? w->s[o->reg] : (uint32_t)gfx_constant(w, o, T_B32);
}

static inline uint64_t
s64(W, const struct gfx_operand *o)
{
    return o->kind == GFX_SGPR ? w->s[o->reg] | (uint64_t)w->s[o->reg + 1] << 32 : gfx_constant(w, o, T_B64);
}

static inline void
set_s32(W, const struct gfx_operand *o, uint32_t v)
{
    if (o->kind == GFX_SGPR)
        w->s[o->reg] = v;
}

static inline void
set_s64(W, const struct gfx_operand *o, uint64_t v)
{
    if (o->kind == GFX_SGPR) {
        w->s[o->reg] = (uint32_t)v;
        w->s[o->reg + 1] = (uint32_t)(v >> 32);
    }
}

/* A lane mask: one register with 32 lanes, two with 64. */
static inline uint64_t
smask(W, const struct gfx_operand *o)
{
    return w->lanes == 64 ? s64(w, o) : s32(w, o);
}

static inline void
set_smask(W, const struct gfx_operand *o, uint64_t v)
{
    if (w->lanes == 64)
        set_s64(w, o, v);
    else
        set_s32(w, o, (uint32_t)v);
}

static inline uint64_t
all_lanes(W)
{
    return w->lanes == 64 ? ~0ull : 0xffffffffull;
}

static inline uint64_t
vcc_mask(W)
{
    return (w->s[S_VCC] | (uint64_t)w->s[S_VCC + 1] << 32) & all_lanes(w);
}

/* ---- vectors (lanes.c) ---- */

/* Source n (an index in i->op) as bits, before neg and abs. `first`: it is the instruction's first source, which DPP moves
 * across lanes and SDWA's first selector applies to. */
void gfx_src32(W, I, unsigned n, unsigned source, enum gfx_type t, uint32_t x[LANES]);
void gfx_src64(W, I, unsigned n, enum gfx_type t, uint64_t x[LANES]);
void gfx_srcf(W, I, unsigned n, unsigned source, float x[LANES]);
void gfx_srch(W, I, unsigned n, unsigned source, float x[LANES]);   /* halves, as floats */
void gfx_srcd(W, I, unsigned n, double x[LANES]);
/* The two halves of a packed instruction's source: op_sel and op_sel_hi pick them, neg_lo and neg_hi negate floats. */
void gfx_halves(W, I, unsigned n, enum gfx_type t, uint32_t lo[LANES], uint32_t hi[LANES]);
uint32_t gfx_clamp_half(W, uint32_t x);
void gfx_put32(W, I, const uint32_t x[LANES]);                      /* to i->op[0] */
void gfx_put64(W, I, const uint64_t x[LANES]);
void gfx_put16(W, I, const uint32_t x[LANES]);
void gfx_putf(W, I, float x[LANES]);                                /* with omod and clamp */
void gfx_puth(W, I, float x[LANES]);
void gfx_putd(W, I, double x[LANES]);
/* Store a result in a register, without modifiers. */
static inline void
put_reg(W, unsigned reg, const uint32_t x[LANES])
{
    uint64_t m = gfx_exec_mask(w);
    if ((m & all_lanes(w)) == all_lanes(w)) {
        memcpy(w->v[reg], x, 4 * w->lanes);
    } else {
        for (unsigned l = 0; l < w->lanes; l++)
            if (m >> l & 1)
                w->v[reg][l] = x[l];
    }
    w->written[reg] |= m;
}

static inline unsigned
rounding(unsigned mode)
{
    static const int map[4] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    return (unsigned)map[mode & 3];
}

/* ---- memory ---- */

#define FOR_ACTIVE uint64_t exec_ = gfx_exec_mask(w) & all_lanes(w); \
    for (unsigned l = 0; l < LANES && exec_ >> l; l++) if (exec_ >> l & 1)

/* Kernels may race: memory is read and written by relaxed atomic accesses, by one where it is aligned. GPUs do so up to 16 bytes, and programs rely
 * on it; x86 has that where it has AVX. The thread sanitizer knows no such access, so that these are kept from it. */
#ifdef __SSE2__
#define MEM_AT_ONCE(p, n) ((n) >= 16 && !((uintptr_t)(p) & 15))
static inline void __attribute__((no_sanitize_thread))
mem_read16(void *to, const void *p)
{
    _mm_storeu_si128(to, *(const volatile __m128i *)p);
}

static inline void __attribute__((no_sanitize_thread))
mem_write16(void *p, const void *from)
{
    *(volatile __m128i *)p = _mm_loadu_si128(from);
}
#else
#define MEM_AT_ONCE(p, n) false
static inline void mem_read16(void *to, const void *p) { memcpy(to, p, 16); }
static inline void mem_write16(void *p, const void *from) { memcpy(p, from, 16); }
#endif

#define MEM_STEP(type, access) if (n >= sizeof(type) && !((uintptr_t)p & (sizeof(type) - 1))) { type x; access; step = sizeof(type); }

static inline void
mem_read(void *to, const uint8_t *p, unsigned n)
{
    uint8_t *d = to;
    for (unsigned step; n; n -= step, p += step, d += step) {
#define READ(type) MEM_STEP(type, x = __atomic_load_n((const type *)(const void *)p, __ATOMIC_RELAXED); memcpy(d, &x, sizeof x))
        if (MEM_AT_ONCE(p, n)) { mem_read16(d, p); step = 16; }
        else READ(uint64_t)
        else READ(uint32_t)
        else READ(uint16_t)
        else READ(uint8_t)
#undef READ
    }
}

static inline void
mem_write(uint8_t *p, const void *from, unsigned n)
{
    const uint8_t *s = from;
    for (unsigned step; n; n -= step, p += step, s += step) {
#define WRITE(type) MEM_STEP(type, memcpy(&x, s, sizeof x); __atomic_store_n((type *)(void *)p, x, __ATOMIC_RELAXED))
        if (MEM_AT_ONCE(p, n)) { mem_write16(p, s); step = 16; }
        else WRITE(uint64_t)
        else WRITE(uint32_t)
        else WRITE(uint16_t)
        else WRITE(uint8_t)
#undef WRITE
    }
}

/* The host's rounding follows the wave's mode around an operation: shift 0 for f32, 2 for f64 and f16. */
#define ROUND_BEGIN(shift) \
    unsigned rm_ = w->mode >> (shift) & 3; \
    if (rm_) \
        fesetround((int)rounding(rm_))
#define ROUND_END() \
    if (rm_) \
        fesetround(FE_TONEAREST)

#endif
