/* SPDX-License-Identifier: Apache-2.0
 * The device library's float products (jit/devlib/mma.c), compiled for this machine, against the plain arithmetic of the models, which was
 * compared with hardware: every form and every generation, over numbers that make trouble. */
#include "jit/devlib/mma.c"

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

int
main(void)
{
    static const struct { uint8_t op, type, k, c, d; } forms[] = {
        { 0, PTX_F16, 8, PTX_F32, PTX_F32 }, { 0, PTX_F16, 8, PTX_F16, PTX_F16 }, { 0, PTX_F16, 16, PTX_F32, PTX_F32 },
        { 0, PTX_F16, 16, PTX_F16, PTX_F16 }, { 1, PTX_F16, 16, PTX_F32, PTX_F16 }, { 1, PTX_F16, 16, PTX_F16, PTX_F32 },
        { 0, PTX_BF16, 8, PTX_F32, PTX_F32 }, { 0, PTX_BF16, 16, PTX_F32, PTX_F32 }, { 0, PTX_TF32, 4, PTX_F32, PTX_F32 },
        { 0, PTX_TF32, 8, PTX_F32, PTX_F32 }, { 1, PTX_TF32, 8, PTX_F32, PTX_F32 }, { 0, PTX_E4M3, 16, PTX_F32, PTX_F32 },
        { 0, PTX_E4M3, 32, PTX_F32, PTX_F32 }, { 0, PTX_E5M2, 16, PTX_F16, PTX_F16 }, { 0, PTX_E5M2, 32, PTX_F32, PTX_F32 },
        { 0, PTX_E4M3, 32, PTX_F16, PTX_F16 },
    };
    unsigned failures = 0, compared = 0;
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
                x.b = x.a;
            }
        }
    printf("%u compared, %u different\n", compared, failures);
    return failures || !compared;
}
