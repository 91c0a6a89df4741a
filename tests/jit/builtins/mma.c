/* SPDX-License-Identifier: Apache-2.0
 * The device library's float products (jit/builtins/mma.c, forms.c), compiled for this machine, against the plain arithmetic of the models, which was
 * compared with hardware: every form and every generation, over numbers that make trouble. */
#include "jit/builtins/forms.c"
#include "jit/builtins/mma.c"

#include <stdio.h>

static uint32_t
rnd(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 16);
}

/* A word of elements: any bits; exponents near each other; zeros and denormals; now and then infinities and NaNs. */
static uint32_t
word(uint8_t type, unsigned kind)
{
    unsigned bits = number_bits(type), m = (unsigned)number_mantissa(type), e = (unsigned)number_exponent_bits(type);
    uint32_t r = 0;
    if (type == PTX_TF32)
        m = 23;
    if (type == PTX_F32)
        m = 23, e = 8;
    for (unsigned i = 0; i < 32; i += bits) {
        uint32_t x = rnd(), middle = 1u << (e - 1), exponent = x >> m & ((1u << e) - 1);
        switch (kind) {
        case 0: break;
        case 1: exponent = middle + rnd() % 3 - 1; break;
        case 2: exponent = rnd() % 4 ? rnd() % 3 : 0; break;
        case 3: exponent = rnd() % 16 ? middle - 4 + rnd() % 8 : (1u << e) - 1; break;
        default: exponent = rnd() % 8 ? middle : rnd() % 2 ? 0 : (1u << e) - 2; break;
        }
        x = (x & ~(((1u << e) - 1) << m)) | exponent << m;
        if (rnd() % 8 == 0)
            x &= ~((1u << m) - 1);
        if (rnd() % 16 == 0)
            x = (x >> (bits - 1) & 1) << (bits - 1);
        r |= (bits == 32 ? x : x & ((1u << bits) - 1)) << i;
    }
    return r;
}

/* What amdgcn_product.c does: a row's or column's values and weights, and whether one is infinite or NaN. */
static bool
operand(uint8_t type, unsigned words, const uint32_t *in, uint32_t *out)
{
    bool special = false, narrow = type != PTX_BF16 && type != PTX_TF32;
    for (unsigned i = 0; i < words; i++)
        for (unsigned upper = 0; upper < (number_bits(type) == 8 ? 2 : 1); upper++) {
            uint32_t *at = out + 2 * words * upper + i, weights;
            switch (type) {
            case PTX_TF32: *at = weights = cwd_forms_pair_tf32(in[i]); break;
            case PTX_BF16: *at = cwd_forms_values_bf16(in[i]), at[words] = weights = cwd_forms_weights_wide(in[i]); break;
            case PTX_F16: *at = in[i], at[words] = weights = cwd_forms_weights_narrow(in[i]); break;
            default:
                *at = type == PTX_E4M3 ? cwd_forms_values_e4m3(in[i], upper) : cwd_forms_values_e5m2(in[i], upper);
                at[words] = weights = cwd_forms_weights_narrow(*at);
            }
            for (unsigned half = type == PTX_TF32; half < 2; half++)
                special |= (int16_t)(weights >> 16 * half) >= (narrow ? 15 << PAIR_NARROW : 127 << PAIR_WIDE);
        }
    return special;
}

/* By the forms' functions. */
static uint32_t
by_forms(const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    static const struct { enum pair_kind kind; unsigned words; uint8_t type;
                          uint32_t (*f)(const uint32_t *, const uint32_t *, const uint32_t *, const uint32_t *, uint32_t, uint32_t, uint32_t); } form[] = {
#define F(name, kind, words, type) { PAIR_OF_##kind, words, PTX_##type, cwd_forms_##name },
        CWD_FORMS(F)
#undef F
    };
    enum { WORDS = 4 * 8 };     /* values and weights of the longest operand */
    uint32_t row[WORDS], col[WORDS];
    bool add_c = number_bits(x->a) == 8, single = x->a == PTX_TF32;
    unsigned words = x->k * number_bits(x->a) / 32, blocks = add_c || (single && x->op == PTX_OP_WMMA_MMA) ? 2 : 1, n = single ? words / blocks : words;
    enum pair_kind kind = single ? PAIR_OF_SINGLE : x->a == PTX_BF16 ? PAIR_OF_WIDE : PAIR_OF_NARROW;
    uint8_t type = x->c == PTX_F32 ? PTX_F32 : x->d;
    bool special = operand(x->a, words, a, row);
    special |= operand(x->b, words, b, col);
    special |= rnd() % 4 == 0;          /* of another row or column */
    uint32_t run = add_c ? 0 : x->c == PTX_F16 && x->d == PTX_F32 ? cwd_forms_widen(c) : c;
    for (unsigned i = 0; i < blocks; i++) {
        const uint32_t *r = row + i * (single ? n : 2 * n), *l = col + i * (single ? n : 2 * n), *rw = single ? r : r + n, *lw = single ? l : l + n;
        uint32_t most = 0x80008000;
        unsigned f = 0;
        for (unsigned w = 0; w < n; w++)
            most = cwd_forms_most(most, rw[w], lw[w]);
        while (form[f].kind != kind || form[f].words != n || form[f].type != type)
            f++;
        run = form[f].f(r, l, rw, lw, most, run, special);
    }
    if (add_c)
        return x->d == PTX_F16 ? cwd_forms_add_f16(run, c) : cwd_forms_add_f32(run, c);
    return type == x->d ? run : cwd_forms_round(run);
}

/* m8n8k4 of f16; failures. */
static unsigned
quads(void)
{
    unsigned failures = 0;
    for (unsigned n = 0; n < 30000; n++) {
        uint32_t a[4], b[4], c = word(PTX_F32, n % 5), h = word(PTX_F16, n / 25 % 5) & 0xffff;
        for (unsigned k = 0; k < 4; k++) {
            a[k] = word(PTX_F16, n % 5) & 0xffff;
            b[k] = word(PTX_F16, n / 5 % 5) & 0xffff;
        }
        failures += cwd_forms_quad_f32_f32(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c) != dot_quad(PTX_F32, PTX_F32, a, b, c);
        failures += cwd_forms_quad_f32_f16(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], h) != dot_quad(PTX_F16, PTX_F32, a, b, h);
        failures += cwd_forms_quad_f16_f16(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], h) != dot_quad(PTX_F16, PTX_F16, a, b, h);
    }
    return failures;
}

int
main(void)
{
    static const struct { uint8_t op, type, k, c, d; } forms[] = {
        { 0, PTX_F16, 8, PTX_F32, PTX_F32 }, { 0, PTX_F16, 8, PTX_F16, PTX_F16 }, { 0, PTX_F16, 16, PTX_F32, PTX_F32 },
        { 0, PTX_F16, 16, PTX_F16, PTX_F16 }, { 1, PTX_F16, 16, PTX_F32, PTX_F16 }, { 1, PTX_F16, 16, PTX_F16, PTX_F32 },
        { 0, PTX_BF16, 8, PTX_F32, PTX_F32 }, { 0, PTX_BF16, 16, PTX_F32, PTX_F32 }, { 0, PTX_TF32, 4, PTX_F32, PTX_F32 },
        { 0, PTX_TF32, 8, PTX_F32, PTX_F32 }, { 1, PTX_TF32, 8, PTX_F32, PTX_F32 }, { 0, PTX_E4M3, 16, PTX_F32, PTX_F32 },
        { 0, PTX_E4M3, 32, PTX_F32, PTX_F32 }, { 0, PTX_E5M2, 16, PTX_F16, PTX_F16 }, { 0, PTX_E5M2, 32, PTX_F32, PTX_F32 },
        { 0, PTX_E4M3, 32, PTX_F16, PTX_F16 }, { 0, PTX_E4M3, 16, PTX_F16, PTX_F16 },
        { 1, PTX_F16, 8, PTX_F32, PTX_F16 }, { 1, PTX_F16, 8, PTX_F16, PTX_F32 },
    };
    unsigned failures = quads(), compared = 0, forms_compared = 0;
    for (uint32_t model = 0; model < MATRIX_MODELS; model++)
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++) {
            struct cwh_matrix x = { .op = forms[f].op ? PTX_OP_WMMA_MMA : PTX_OP_MMA, .m = 16, .n = 8, .k = forms[f].k, .a = forms[f].type,
                                    .b = forms[f].type, .c = forms[f].c, .d = forms[f].d };
            bool bytes = number_bits(x.a) == 8;
            if (bytes && matrix_models[model].sm < 89)
                continue;
            for (unsigned n = 0; n < 3000; n++, compared++) {
                uint32_t a[8], b[8], c = word(x.c, n % 5);
                if (bytes && n % 3 == 0)
                    x.b = x.a == PTX_E4M3 ? PTX_E5M2 : PTX_E4M3;
                for (unsigned i = 0; i < 8; i++) {
                    a[i] = word(x.a, n % 5);
                    b[i] = word(x.b, n / 5 % 5);
                }
                if (x.c == PTX_F16)
                    c &= 0xffff;
                uint32_t want = matrix_element(&matrix_models[model], &x, a, b, c), got = cwd_mma_float(&x, model, a, b, c);
                if (want != got && failures++ < 10)
                    printf("%s, form %u, case %u: got %08x, expected %08x\n", matrix_models[model].name, f, n, got, want);
                if (model == CWD_FORMS_MODEL) {
                    forms_compared++;
                    got = by_forms(&x, a, b, c);
                    if (want != got && failures++ < 10)
                        printf("form %u, case %u: got %08x, expected %08x by the forms' functions\n", f, n, got, want);
                }
                x.b = x.a;
            }
        }
    printf("%u compared, %u of them by the forms' functions, %u different\n", compared, forms_compared, failures);
    return failures || forms_compared < compared / 5;
}
