/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 from FIPS 180-4. Every module is hashed when it is loaded, so it uses the CPU's SHA instructions where it has them. */
#include "impl/base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t
ror(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static inline uint32_t
big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round; the caller renames the variables from round to round instead of moving their values. */
#define ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        uint32_t t = (h) + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((g) ^ ((e) & ((f) ^ (g)))) + k[i] + w[(i) & 15]; \
        (d) += t; \
        (h) = t + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + (((a) & (b)) | ((c) & ((a) | (b)))); \
    } while (0)

void
cw_sha256_blocks_plain(uint32_t h[8], const uint8_t *p, size_t count)
{
    for (; count; count--, p += 64) {
        uint32_t w[16], v[8];
        for (int i = 0; i < 16; i++)
            w[i] = big_endian(p + 4 * i);
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; i += 8) {
            if (i >= 16) {
                for (int j = i; j < i + 8; j++) {
                    uint32_t a = w[(j - 15) & 15], b = w[(j - 2) & 15];
                    w[j & 15] += (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + w[(j - 7) & 15] + (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
                }
            }
            ROUND(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], i);
            ROUND(v[7], v[0], v[1], v[2], v[3], v[4], v[5], v[6], i + 1);
            ROUND(v[6], v[7], v[0], v[1], v[2], v[3], v[4], v[5], i + 2);
            ROUND(v[5], v[6], v[7], v[0], v[1], v[2], v[3], v[4], i + 3);
            ROUND(v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3], i + 4);
            ROUND(v[3], v[4], v[5], v[6], v[7], v[0], v[1], v[2], i + 5);
            ROUND(v[2], v[3], v[4], v[5], v[6], v[7], v[0], v[1], i + 6);
            ROUND(v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[0], i + 7);
        }
        for (int i = 0; i < 8; i++)
            h[i] += v[i];
    }
}

#if defined(__x86_64__)
/* The SHA extensions: two rounds an instruction, the state as the halves ABEF and CDGH. */
static __attribute__((target("sha,sse4.1,ssse3"))) void
blocks_sha(uint32_t h[8], const uint8_t *p, size_t count)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    __m128i dcba = _mm_loadu_si128((const __m128i *)h), hgfe = _mm_loadu_si128((const __m128i *)(h + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; count; count--, p += 64) {
        __m128i w[4], abef0 = abef, cdgh0 = cdgh;
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            if (i >= 4) {       /* w[i] from w[i - 4 .. i - 1], four words at a time */
                __m128i seven = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
                w[i & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), seven), w[(i + 3) & 3]);
            }
            __m128i t = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(k + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, t);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(t, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static bool
has_sha(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) && __builtin_cpu_supports("sse4.1");
}
#endif

static void
blocks(uint32_t h[8], const uint8_t *p, size_t count)
{
#if defined(__x86_64__)
    static _Atomic signed char known;   /* 0: not asked yet */
    signed char n = atomic_load_explicit(&known, memory_order_relaxed);
    if (!n)
        atomic_store_explicit(&known, n = has_sha() ? 1 : -1, memory_order_relaxed);
    if (n > 0) {
        blocks_sha(h, p, count);
        return;
    }
#endif
    cw_sha256_blocks_plain(h, p, count);
}

void
cw_sha256_init(struct cw_sha256 *s)
{
    static const uint32_t h0[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(s->h, h0, sizeof h0);
    s->length = 0;
}

void
cw_sha256_update(struct cw_sha256 *s, const void *data, size_t size)
{
    const uint8_t *p = data;
    while (size) {
        size_t at = s->length % 64, n = 64 - at < size ? 64 - at : size;
        if (!at && size >= 64) {
            n = size & ~(size_t)63;
            blocks(s->h, p, n / 64);
        } else {
            memcpy(s->block + at, p, n);
            if (at + n == 64)
                blocks(s->h, s->block, 1);
        }
        s->length += n;
        p += n;
        size -= n;
    }
}

void
cw_sha256_finish(struct cw_sha256 *s, uint8_t digest[32])
{
    uint64_t bits = s->length * 8;
    uint8_t pad[72] = { 0x80 };
    size_t n = (s->length % 64 < 56 ? 56 : 120) - s->length % 64;
    for (int i = 0; i < 8; i++)
        pad[n + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    cw_sha256_update(s, pad, n + 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void
cw_hex(const uint8_t *bytes, size_t n, char *hex)
{
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    hex[2 * n] = 0;
}

void
cw_sha256_hex(const void *data, size_t size, char hex[65])
{
    struct cw_sha256 s;
    uint8_t d[32];
    cw_sha256_init(&s);
    cw_sha256_update(&s, data, size);
    cw_sha256_finish(&s, d);
    cw_hex(d, 32, hex);
}
