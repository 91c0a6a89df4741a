/* SPDX-License-Identifier: Apache-2.0
 * test_matrix ARCH CODE-OBJECT...: the kernels of matrix.cl on the interpreter against products computed here.
 *
 * Which element a lane's registers hold is written down from the lane's side (AMD's ISA documents, and the output of AMD's matrix instruction
 * calculator); the interpreter has it from the element's side. Three sets of numbers: small integers, whose products and sums are exact in
 * any order; random ones within the bound that any order keeps; and denormals, which gfx90a's f16 and bf16 forms take as zero. */
#include "tools/gfxemu/gfx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { F64, F32, XF32, F16, BF16, FP8, BF8, I8, I4, I32 };
enum set { SMALL, ANY, DENORMAL, SETS };
static const unsigned bits_of[] = { 64, 32, 32, 16, 16, 8, 8, 8, 4, 32 };

static struct form {
    const char *name;
    unsigned m, n, k, blocks;
    enum type a, b, d;
    unsigned cbsz, abid, blgp, neg;     /* neg: bit a source */
    bool ua, ub, clamp, high;
} form;
static enum gfx_family family;
static unsigned lanes, failures, forms, elements;
static double va[2048], vb[2048], vc[2048];     /* [block][row or column][k], [block][row][column] */
static uint32_t ra[64 * 16], rb[64 * 16], rc[64 * 32], rd[64 * 32];

static uint32_t
rnd(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 16);
}

/* ---- layouts, from the lane's side ------------------------------------------------------------------------------------------ */

/* Elements that a lane holds of A or B. */
static unsigned
held(void)
{
    if (family < GFX10)
        return form.m * form.k * form.blocks / 64;
    if (family == GFX11)
        return form.k;
    return form.k == 16 && form.a == I4 ? 8 : form.k * 16 / lanes;
}

/* Element e of lane l: its row (column of B), k and block. */
static void
in_lane(unsigned l, unsigned e, unsigned *block, unsigned *row, unsigned *k)
{
    *row = l % form.m;
    *block = 0;
    if (family < GFX10) {
        *block = l / form.m % form.blocks;
        *k = e + held() * (l / (form.m * form.blocks));
    } else if (family == GFX11) {
        *k = e;
    } else if (bits_of[form.a] == 16) {
        *k = lanes == 32 ? 8 * (e / 4) + 4 * (l / 16) + e % 4 : 4 * (l / 16) + e;
    } else if (lanes == 32 || held() == 8) {
        *k = lanes == 32 ? held() * (l / 16) + e : form.k == 16 ? 8 * (l / 16 % 2) + e : 16 * (l / 16 % 2) + 8 * (l / 32) + e;
    } else {
        *k = 8 * (l / 16 % 2) + 4 * (l / 32) + e;
    }
}

static unsigned
held_d(void)
{
    return form.m * form.n * form.blocks / lanes;
}

static void
out_lane(unsigned l, unsigned e, unsigned *block, unsigned *i, unsigned *j)
{
    *j = l % form.n;
    *block = 0;
    if (form.d == F64) {
        *block = form.m == 4 ? l / 4 % 4 : 0;
        *i = form.m == 4 ? l / 16 : 4 * e + l / 16;
    } else if (family < GFX10) {
        *block = form.m == 32 ? e / 16 : form.m == 16 ? e / 4 : l / 4;
        *i = form.m == 32 ? 8 * (e / 4 % 4) + 4 * (l / 32) + e % 4 : form.m == 16 ? 4 * (l / 16) + e % 4 : e;
    } else if (family == GFX11) {
        *i = e * (lanes / 16) + l / 16;
    } else {
        *i = lanes == 32 ? 8 * (l / 16) + e : 8 * (l / 16 % 2) + 4 * (l / 32) + e;
    }
}

/* The bit of a lane's registers where element e of D begins. */
static unsigned
out_bit(unsigned e)
{
    if (family == GFX11 && bits_of[form.d] == 16)
        return e * 32 + form.high * 16;
    return e * bits_of[form.d];
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------------ */

static double
f8_value(uint32_t x, bool bf8)
{
    /* value = (-1)^s * 2^(e - bias) * 1.m; CDNA3's have their bias one higher, no infinities, no negative zero */
    unsigned mb = bf8 ? 2 : 3, e = (x & 127) >> mb, m = x & ((1u << mb) - 1);
    int bias = (bf8 ? 15 : 7) + (family == GFX940);
    double v = e ? (1 + m / (double)(1u << mb)) * pow(2, (int)e - bias) : m / (double)(1u << mb) * pow(2, 1 - bias);
    return x & 128 ? -v : v;
}

static bool
f8_finite(uint32_t x, bool bf8)
{
    if (family == GFX940)
        return x != 0x80;
    return bf8 ? (x & 0x7c) != 0x7c : (x & 0x7f) != 0x7f;
}

static double
value_of(enum type t, uint64_t x, bool is_unsigned)
{
    float f;
    double d;
    _Float16 h;
    uint32_t w = (uint32_t)x;
    switch (t) {
    case F64: memcpy(&d, &x, 8); return d;
    case XF32: w &= 0xffffe000u; /* 10 bits of significand */
        __attribute__((fallthrough));
    case F32: memcpy(&f, &w, 4); return f;
    case F16: { uint16_t s = (uint16_t)x; memcpy(&h, &s, 2); return (double)h; }
    case BF16: w <<= 16; memcpy(&f, &w, 4); return f;
    case FP8: case BF8: return f8_value(w & 255, t == BF8);
    case I8: return is_unsigned ? (double)(w & 255) : (double)(int8_t)w;
    case I4: return is_unsigned ? (double)(w & 15) : (double)((int)((w & 15) ^ 8) - 8);
    default: return (double)(int32_t)w;
    }
}

/* The bits of a number that the type has. */
static uint64_t
bits_from(enum type t, double v)
{
    float f = (float)v;
    _Float16 h = (_Float16)v;
    uint64_t x = 0;
    uint32_t w;
    uint16_t s;
    switch (t) {
    case F64: memcpy(&x, &v, 8); return x;
    case F32: case XF32: memcpy(&w, &f, 4); return w;
    case F16: memcpy(&s, &h, 2); return s;
    case BF16: memcpy(&w, &f, 4); return w >> 16;
    case FP8: case BF8:
        for (w = 0; w < 256; w++)
            if (f8_finite(w, t == BF8) && f8_value(w, t == BF8) == v)
                return w;
        return 0;
    default: return (uint64_t)(int64_t)v & (t == I32 ? 0xffffffffu : t == I8 ? 0xff : 0xf);
    }
}

static uint64_t
random_bits(enum type t, enum set set, bool is_b)
{
    bool integer = t == I8 || t == I4 || t == I32;
    if (set == DENORMAL && !integer)            /* A: half of the smallest normal number */
        return is_b ? bits_from(t, 1) : t == F16 ? 0x200 : t == BF16 ? 0x40 : 0;
    if (set == SMALL && !integer)
        return bits_from(t, (int)(rnd() % 9) - 4);
    if (integer)
        return t == I32 ? (set == SMALL ? rnd() % 2001 - 1000 : rnd()) : rnd() & ((1u << bits_of[t]) - 1);
    if (t == FP8 || t == BF8)
        for (;;) {
            uint32_t x = rnd() & 255;
            if (f8_finite(x, t == BF8))
                return x;
        }
    double v = ((int)(rnd() % 2000001) - 1000000) * pow(2, -20 + (int)(rnd() % 6));
    return bits_from(t, v);
}

/* ---- running ------------------------------------------------------------------------------------------------------------------------ */

static void
put_bits(uint32_t *regs, unsigned bit, unsigned n, uint64_t x)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t *w = &regs[(bit + i) / 32], m = 1u << (bit + i) % 32;
        *w = (uint32_t)(x >> i & 1) ? *w | m : *w & ~m;
    }
}

static uint64_t
get_bits(const uint32_t *regs, unsigned bit, unsigned n)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++)
        x |= (uint64_t)(regs[(bit + i) / 32] >> (bit + i) % 32 & 1) << i;
    return x;
}

/* The registers of a side and the numbers in them. */
static unsigned
make_side(enum type t, enum set set, uint32_t *regs, double *v, bool is_b)
{
    bool is_unsigned = is_b ? form.ub : form.ua;
    unsigned n = held(), dwords = (n * bits_of[t] + 31) / 32, block, row, k;
    bool copies = family == GFX11 || (t == I4 && form.k == 16 && lanes == 64);
    for (unsigned l = 0; l < lanes; l++)
        for (unsigned e = 0; e < n; e++) {
            uint64_t x = random_bits(t, set, is_b);
            in_lane(l, e, &block, &row, &k);
            if (copies && family == GFX11 && l >= 16)
                x = get_bits(regs + l % 16 * dwords, e * bits_of[t], bits_of[t]);
            put_bits(regs + l * dwords, e * bits_of[t], bits_of[t], x);
            if (!copies || l < (family == GFX11 ? 16 : 32))
                v[(block * form.m + row) * form.k + k] = value_of(t, x, is_unsigned);
        }
    return dwords;
}

static double
a_of(unsigned block, unsigned i, unsigned k)
{
    unsigned from = form.cbsz ? block / (1u << form.cbsz) * (1u << form.cbsz) + form.abid : block;
    return (form.neg & 1 ? -1 : 1) * va[(from * form.m + i) * form.k + k];
}

static double
b_of(unsigned block, unsigned j, unsigned k)
{
    if (form.blgp) {            /* of forms with one element a lane: lane = n * k + j */
        unsigned l = form.n * k + j;
        l = form.blgp == 1 ? l % 32 : form.blgp == 2 ? l % 32 + 32 : form.blgp == 3 ? (l + 16) % 64 : l % 16 + 16 * (form.blgp - 4);
        k = l / form.n;
        j = l % form.n;
    }
    return (form.neg & 2 ? -1 : 1) * vb[(block * form.n + j) * form.k + k];
}

static bool
agrees(enum set set, double got, unsigned block, unsigned i, unsigned j, double *want, double *bound)
{
    bool integer = form.d == I32, flush = family == GFX90A && (form.a == F16 || form.a == BF16);
    double c = (form.neg & 4 ? -1 : 1) * vc[(block * form.m + i) * form.n + j], s = c, size = fabs(c);
    for (unsigned k = 0; k < form.k; k++) {
        double p = a_of(block, i, k) * b_of(block, j, k);
        if (set == DENORMAL && flush)
            p = 0;
        s += p;
        size += fabs(p);
    }
    if (integer)
        s = form.clamp ? fmax(fmin(s, INT32_MAX), INT32_MIN) : (double)(int32_t)(uint32_t)(int64_t)s;
    *want = s;
    *bound = set == SMALL || integer ? 0 : form.d == F64 ? size * 0x1p-48 : size * 0x1p-18;
    if (form.d == F16 || form.d == BF16)        /* rounded once more; small integers may be too long for them */
        *bound += fabs(s) * (form.d == F16 ? 0x1p-11 : 0x1p-8);
    return fabs(got - s) <= *bound;
}

static void
check(enum set set)
{
    unsigned block, i, j, before = failures, dwords = family == GFX11 && bits_of[form.d] == 16 ? held_d() : held_d() * bits_of[form.d] / 32;
    for (unsigned l = 0; l < lanes && failures == before; l++)
        for (unsigned e = 0; e < held_d(); e++) {
            double want, bound, got = value_of(form.d, get_bits(rd + l * dwords, out_bit(e), bits_of[form.d]), false);
            out_lane(l, e, &block, &i, &j);
            elements++;
            if (!agrees(set, got, block, i, j, &want, &bound)) {
                printf("%s: set %d: block %u row %u column %u (lane %u): got %.17g, expected %.17g within %g\n", form.name, (int)set, block, i,
                       j, l, got, want, bound);
                failures++;
                return;
            }
        }
}

static void
run(struct gfx_object *o, const struct gfx_kernel *k, enum set set)
{
    memset(rd, 0xee, sizeof rd);
    memset(rc, 0, sizeof rc);
    make_side(form.a, set, ra, va, false);
    make_side(form.b, set, rb, vb, true);
    unsigned dwords = family == GFX11 && bits_of[form.d] == 16 ? held_d() : held_d() * bits_of[form.d] / 32, block, i, j;
    for (unsigned l = 0; l < lanes; l++)
        for (unsigned e = 0; e < held_d(); e++) {
            uint64_t x = set == DENORMAL ? 0 : random_bits(form.d, set, false);
            if (form.clamp && e % 2)
                x = 0x7fffff00u + e;
            put_bits(rc + l * dwords, out_bit(e), bits_of[form.d], x);
            out_lane(l, e, &block, &i, &j);
            vc[(block * form.m + i) * form.n + j] = value_of(form.d, x, false);
        }
    uint64_t params[4] = { (uintptr_t)rd, (uintptr_t)ra, (uintptr_t)rb, (uintptr_t)rc };
    struct gfx_launch l = { .object = o, .kernel = k, .grid = { 1, 1, 1 }, .block = { lanes, 1, 1 }, .params = params, .param_size = sizeof params };
    if (!gfx_dispatch_run(&l)) {
        printf("%s: %s\n", form.name, l.message);
        failures++;
    } else if (l.counts.insns[GFX_C_MATRIX] != 1) {
        printf("%s: %llu matrix instructions were executed\n", form.name, (unsigned long long)l.counts.insns[GFX_C_MATRIX]);
        failures++;
    } else {
        check(set);
    }
}

/* ---- names ---------------------------------------------------------------------------------------------------------------------------- */

static enum type
type_named(const char **s)
{
    static const struct { const char *name; enum type t; } types[] = { { "xf32", XF32 }, { "bf16", BF16 }, { "f64", F64 }, { "f32", F32 },
        { "f16", F16 }, { "fp8", FP8 }, { "bf8", BF8 }, { "iu8", I8 }, { "iu4", I4 }, { "i8", I8 }, { "i32", I32 } };
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (!strncmp(*s, types[i].name, strlen(types[i].name))) {
            *s += strlen(types[i].name);
            return types[i].t;
        }
    printf("no type: %s\n", *s);
    exit(1);
}

/* "f32_16x16x32_fp8_bf8", "i32_4x4x4i8", ... The blocks follow from the number of lanes. */
static void
take_name(const char *name)
{
    const char *s = name, *tail;
    form = (struct form){ .name = name, .blocks = 1 };
    form.d = type_named(&s);
    if (sscanf(s, "_%ux%ux%u", &form.m, &form.n, &form.k) != 3) {
        printf("no shape: %s\n", name);
        exit(1);
    }
    s = strrchr(s, 'x');
    if (s[1] == 'f')            /* xf32 */
        for (s--; *s != 'x'; s--)
            ;
    for (s++; *s >= '0' && *s <= '9'; s++)
        ;
    s += *s == '_';
    form.a = form.b = type_named(&s);
    if (*s == '_' && (s[1] == 'f' || s[1] == 'b') && s[2] != 'l') {
        s++;
        form.b = type_named(&s);
    }
    unsigned k1 = form.a == F32 ? 1 : 4;      /* k of the forms that fill the wave with blocks */
    if (form.a == BF16 && !strstr(name, "_1k"))
        k1 = 2;
    if (family < GFX10 && form.d != F64 && form.k == k1 && form.a != XF32)
        if (!(form.m == 32 && form.a == BF16 && form.k == 4 && !strstr(name, "_1k")))
            form.blocks = form.m == 32 ? 2 : form.m == 16 ? 4 : 16;
    if (form.d == F64 && form.m == 4)
        form.blocks = 4;
    if ((tail = strstr(name, "_cbsz")))
        sscanf(tail, "_cbsz%u_abid%u", &form.cbsz, &form.abid);
    if ((tail = strstr(name, "_blgp")))
        sscanf(tail, "_blgp%u", &form.blgp);
    if ((tail = strstr(name, "_neg")))
        sscanf(tail, "_neg%u", &form.neg);
    form.ua = strstr(name, "_ua");
    form.ub = strstr(name, "_ub");
    form.clamp = strstr(name, "_clamp");
    form.high = strstr(name, "_high");
}

int
main(int argc, char **argv)
{
    const struct gfx_target *t = argc > 2 ? gfx_target_find(argv[1]) : NULL;
    if (!t) {
        printf("usage: test_matrix ARCH CODE-OBJECT...\n");
        return 2;
    }
    family = t->family;
    gfx_range_add((uintptr_t)ra, sizeof ra);
    gfx_range_add((uintptr_t)rb, sizeof rb);
    gfx_range_add((uintptr_t)rc, sizeof rc);
    gfx_range_add((uintptr_t)rd, sizeof rd);
    for (int n = 2; n < argc; n++) {
        char error[256];
        static char data[1 << 20];
        struct gfx_object *o;
        FILE *f = fopen(argv[n], "rb");
        size_t size = f ? fread(data, 1, sizeof data, f) : 0;
        if (f)
            fclose(f);
        if (!gfx_object_load(t, data, size, &o, error)) {
            printf("%s: %s\n", argv[n], error);
            return 1;
        }
        for (uint32_t k = 0; k < o->nkernels; k++) {
            lanes = o->kernels[k].wave64 ? 64 : 32;
            take_name(o->kernels[k].name);
            forms++;
            for (enum set set = SMALL; set < SETS; set++)
                run(o, &o->kernels[k], set);
        }
        gfx_object_unload(o);
    }
    printf("%s: %u kernels, %u elements, %u failures\n", argv[1], forms, elements, failures);
    return failures || !forms;
}
