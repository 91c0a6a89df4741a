# SPDX-License-Identifier: Apache-2.0
# Tables of what graphics, video and machine learning use: sums of differences, cube maps, normalized numbers, dot products of bf16, the bits
# of 2/pi; and of instructions that one generation has and compilers rarely select.
from fractions import Fraction

from table import F16, F32, F64, I32, M16, M32, M64, Format, S, mem, op, signed, triples, un32

BF16 = Format(8, 7)
BYTES = [0, 0x01020304, 0xff00ff00, 0x80ff7f01, 0x12345678, M32, 0x00100000]
byte = lambda x, i: x >> 8 * i & 255
H = lambda x: signed(x, 16)


def sad(a, b, c, masked=False):
    return sum(abs(byte(a, i) - byte(b, i)) for i in range(4) if byte(b, i) or not masked) + c


def sums():
    t = triples(BYTES, BYTES, [0, 5, M32, 0x10000]) + [(M32, 0, M32), (0, M32, 0xfffffff0)]
    for name, f in (('v_msad_u8', lambda a, b, c: sad(a, b, c, True)), ('v_sad_hi_u8', lambda a, b, c: (sad(a, b, 0) << 16) + c)):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, f(a, b, c) & M32) for a, b, c in t])
        op('all', name + ' v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, min(f(a, b, c), M32)) for a, b, c in t])
    op('all', 'v_lerp_u8 v0, v1, v2, v3', 'v1 v2 v3', 'v0',
       [(a, b, c, sum((byte(a, i) + byte(b, i) + (c >> 8 * i & 1)) // 2 << 8 * i for i in range(4)))
        for a, b, c in triples(BYTES, BYTES, [0, 0x01010101, 0x01000100, 0xfefefeff])])
    quad = triples([0x0011223344556677, 0xff00ff00ff00ff00, 0x0102030405060708], BYTES, [0, 0xfff0000100020003, 0x0001ffff00000010])
    for name, masked in (('v_qsad_pk_u16_u8', False), ('v_mqsad_pk_u16_u8', True)):
        four = lambda a, b, c, limit, masked=masked: sum(limit(sad(a >> 8 * k & M32, b, c >> 16 * k & M16, masked)) << 16 * k for k in range(4))
        op('all', name + ' v[0:1], v[2:3], v4, v[6:7]', 'v2:2 v4 v6:2', 'v0:2', [(a, b, c, four(a, b, c, lambda x: x & M16)) for a, b, c in quad])
        op('all', name + ' v[0:1], v[2:3], v4, v[6:7] clamp', 'v2:2 v4 v6:2', 'v0:2',
           [(a, b, c, four(a, b, c, lambda x: min(x, M16))) for a, b, c in quad])
    rows = []
    for a, b, c in quad:
        d = [sad(a >> 8 * k & M32, b, (c * (k + 1) & M64) >> 16 & M32, True) & M32 for k in range(4)]
        e = [(c * (k + 1) & M64) >> 16 & M32 for k in range(4)]
        rows.append((a, b, e[0] | e[1] << 32, e[2] | e[3] << 32, d[0] | d[1] << 32, d[2] | d[3] << 32))
    op('all', 'v_mqsad_u32_u8 v[8:11], v[2:3], v4, v[12:15]', 'v2:2 v4 v12:2 v14:2', 'v8:2 v10:2', rows)
    sat = lambda x: min(max(H(x), 0), 255)
    op('all', 'v_sat_pk_u8_i16 v0, v1', 'v1', 'v0.l', [(x, sat(x & M16) | sat(x >> 16) << 8) for x in I32 + [0x00ff0100, 0x00fe8001, 0x0080007f]])


def limits():
    """Clamp of integers: a result that does not fit becomes the nearest that does."""
    u = lambda v, bits: min(v, (1 << bits) - 1)
    s = lambda v, bits: max(min(v, (1 << bits - 1) - 1), -1 << bits - 1) & (1 << bits) - 1
    t = triples(I32, I32, I32) + [(M32, M32, M32), (0x7fffff, 0x7fffff, 0x7fffffff), (0x800000, 0x7fffff, 0x80000000), (3, 5, 7)]
    u24, i24 = (lambda x: x & 0xffffff), (lambda x: signed(x, 24))
    op('all', 'v_mad_u32_u24 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, u(u24(a) * u24(b) + c, 32)) for a, b, c in t])
    op('all', 'v_mad_i32_i24 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, s(i24(a) * i24(b) + S(c), 32)) for a, b, c in t])
    op('all', 'v_mad_u32_u16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, u((a & M16) * (b & M16) + c, 32)) for a, b, c in t])
    op('all', 'v_mad_i32_i16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, s(H(a & M16) * H(b & M16) + S(c), 32)) for a, b, c in t])
    op('all', 'v_mad_u16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0.l', [(a, b, c, u((a & M16) * (b & M16) + (c & M16), 16)) for a, b, c in t])
    op('all', 'v_mad_i16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0.l', [(a, b, c, s(H(a & M16) * H(b & M16) + H(c & M16), 16)) for a, b, c in t])
    op('all', 'v_pk_mad_u16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0',
       [(a, b, c, u((a & M16) * (b & M16) + (c & M16), 16) | u((a >> 16) * (b >> 16) + (c >> 16), 16) << 16) for a, b, c in t])
    op('all', 'v_pk_mad_i16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0',
       [(a, b, c, s(H(a & M16) * H(b & M16) + H(c & M16), 16) | s(H(a >> 16) * H(b >> 16) + H(c >> 16), 16) << 16) for a, b, c in t])
    op('all', 'v_sad_u32 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, u(abs(a - b) + c, 32)) for a, b, c in t])
    op('all', 'v_sad_u16 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, u(abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c, 32)) for a, b, c in t])
    # unsigned products, a signed sum
    op('11,12', 'v_dot4_i32_iu8 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0',
       [(a, b, c, s(sum(byte(a, i) * byte(b, i) for i in range(4)) + S(c), 32)) for a, b, c in t])
    op('all', 'v_dot4_u32_u8 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, u(sum(byte(a, i) * byte(b, i) for i in range(4)) + c, 32)) for a, b, c in t])
    wide = [(a, b, c) for a, b, c in triples(I32, I32, [0, M64, 1 << 63, (1 << 63) - 1, 0xfffffffe00000001])]
    for names, co in (('9,90a,942,10,11', ''), ('12', 'co_')):
        op(names, 'v_mad_%su64_u32 v[0:1], $m8, v2, v3, v[4:5] clamp' % co, 'v2 v3 v4:2', 'v0:2', [(a, b, c, u(a * b + c, 64)) for a, b, c in wide])
        op(names, 'v_mad_%si64_i32 v[0:1], $m8, v2, v3, v[4:5] clamp' % co, 'v2 v3 v4:2', 'v0:2', [(a, b, c, s(S(a) * S(b) + signed(c, 64), 64)) for a, b, c in wide])
    op('11', 'v_cndmask_b16 v0, -|v1|, -v2, $vcc', 'v1 v2 vcc', 'v0.l', [(0x0304, 0x3c00, 0, 0x8304), (0x0304, 0x3c00, 'all', 0xbc00), (0x8304, 0x3c00, 0, 0x8304)])


def cube(x, y, z):
    """Face, twice the major axis, s and t."""
    ax, ay, az = abs(x), abs(y), abs(z)
    if az >= ax and az >= ay:
        return (5 if z < 0 else 4, 2 * z, -x if z < 0 else x, -y)
    if ay >= ax:
        return (3 if y < 0 else 2, 2 * y, x, -z if y < 0 else z)
    return (1 if x < 0 else 0, 2 * x, z if x < 0 else -z, -y)


def floats():
    bits = F32.round
    points = [(1, 2, 3), (1, 2, -3), (3, 1, 2), (-3, 1, 2), (1, 3, 2), (1, -3, 2), (2, 2, 2), (2, -2, 1), (-2, 2, 1), (5, 5, -5), (Fraction(1, 8), Fraction(-1, 4), Fraction(1, 16))]
    for k, name in enumerate(('v_cubeid_f32', 'v_cubema_f32', 'v_cubesc_f32', 'v_cubetc_f32')):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0',
           [tuple(bits(Fraction(c)) for c in p) + (bits(Fraction(cube(*p)[k])),) for p in points])
    low, one, two = 0xff7fffff, 0x3f800000, 0x40000000
    op('10+', 'v_mullit_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0',
       [(two, two, one, 0x40800000), (two, low, one, low), (two, 0xff800000, one, low), (two, 0x7fc00000, one, low), (two, two, 0, low),
        (two, two, 0xbf800000, low), (two, two, 0x7fc00000, low), (two, 0xff7ffffe, one, 0xff800000)])
    nan, inf = 0x7fc00000, 0x7f800000
    dx9 = [(0, inf, two, two), (inf, 0x80000000, one, one), (two, two, one, 0x40a00000), (0, nan, one, one), (inf, one, one, inf)]
    for targets, name in (('11,12', 'v_fma_dx9_zero_f32'), ('gfx1030', 'v_fma_legacy_f32')):
        op(targets, name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', dx9)
    for targets, name in (('11', 'v_fmac_dx9_zero_f32'), ('gfx1030', 'v_fmac_legacy_f32')):
        op(targets, name + ' v0, v1, v2', 'v1 v2 v0', 'v0', dx9)
    op('gfx900,gfx906,90a', 'v_mad_legacy_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0', dx9)
    for a, name in (('v_exp_legacy_f32', 3), ('v_log_legacy_f32', 8)):
        op('9,90a,942', a + ' v0, v1', 'v1', 'v0', [(bits(Fraction(name)), bits(Fraction(8 if name == 3 else 3)))])
    # 1 + 2^-10 squared is 1 + 2^-9 + 2^-20: the product is rounded before the sum
    c1 = F16.round(1) + 1
    for name in ('v_mad_f16', 'v_mad_legacy_f16'):
        op('9,90a,942', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(c1, c1, F16.round(-1), F16.round(Fraction(1, 512))), (0x4000, 0x4200, 0x3c00, 0x4700)])
    op('9,90a,942', 'v_madak_f16 v0, v1, v2, 0x3c00', 'v1 v2', 'v0.l', [(0x4000, 0x4200, 0x4700)])
    op('9,90a,942', 'v_madmk_f16 v0, v1, 0x4200, v2', 'v1 v2', 'v0.l', [(0x4000, 0x3c00, 0x4700)])
    op('9,90a,942', 'v_fma_legacy_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(c1, c1, F16.round(-1), F16.fma(c1, c1, F16.round(-1))), (0x4000, 0x4200, 0x3c00, 0x4700)])
    op('9,90a,942', 'v_div_fixup_legacy_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0x3c00, 0x4000, 0xc000, 0xbc00), (0x3c00, 0, 0x3c00, 0x7c00)])
    op('9,90a,942', 'v_mad_legacy_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0xffff, 5, 7, 2), (0x8000, 2, 1, 1)])


def norm(f, x, most, least):
    if f.is_nan(x):
        return 0
    v = (Fraction(2) if not x & f.sign else Fraction(-2)) if f.is_inf(x) else f.value(x)
    v = min(max(v * most, least), most)
    n = v.numerator // v.denominator
    rest = v - n
    return (n + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1))) & M16


def conversions():
    for f, p in ((F32, 'f32'), (F16, 'f16')):
        vals = [0, f.sign, f.round(1), f.round(-1), f.round(Fraction(1, 2)), f.round(Fraction(-1, 4)), f.round(2), f.round(-3), f.inf, f.sign | f.inf, f.nan,
                f.round(Fraction(1, 3)), 1, f.round(Fraction(3, 65534))]
        for sign, most, least in (('i', 32767, -32767), ('u', 65535, 0)):
            rows = [(a, b, norm(f, a, most, least) | norm(f, b, most, least) << 16) for a, b in zip(vals, vals[5:] + vals[:5])]
            op('11,12', 'v_cvt_pk_norm_%s16_%s v0, v1, v2' % (sign, p), 'v1 v2', 'v0', rows)
            op('9,90a,942,10', 'v_cvt_pknorm_%s16_%s v0, v1, v2' % (sign, p), 'v1 v2', 'v0', rows)
            if f is F16:
                op('all', 'v_cvt_norm_%s16_f16 v0, v1' % sign, 'v1', 'v0.l', [(a, norm(f, a, most, least)) for a in vals])
    cut = lambda x, lo, hi: F32.to_int(x, lo, hi) & M16
    vals = [F32.round(Fraction(x, 2)) for x in (0, 3, -3, 65535, 65536, -65536, -65537, 131070, 131071, 200000)] + [0x7f800000, 0xff800000, 0x7fc00000]
    for sign, lo, hi in (('i', -32768, 32767), ('u', 0, 65535)):
        op('11,12', 'v_cvt_pk_%s16_f32 v0, v1, v2' % sign, 'v1 v2', 'v0', [(a, b, cut(a, lo, hi) | cut(b, lo, hi) << 16) for a, b in zip(vals, vals[4:] + vals[:4])])
    un32(['all'], ['v_cvt_off_f32_i4'], lambda a: F32.round(Fraction(signed(a, 4), 16)), list(range(16)) + [0xfffffff3])
    op('950', 'v_cvt_pk_bf16_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x3f808000, 0x3f818000, 0x3f823f80), (0x7f800001, 0xff7fffff, 0xff807fc0)])
    op('950', 'v_cvt_pk_f16_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x3f800000, 0xc0000000, 0xc0003c00), (0x3f801000, 0x3f803000, 0x3c023c00)])
    op('950', 'v_cvt_f32_bf16 v0, v1', 'v1', 'v0', [(0xabcd3f80, 0x3f800000), (0xabcdc120, 0xc1200000)])
    op('950', 'v_ashr_pk_i8_i32 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0x1000, 0xffff0000, 4, 0x807f), (0x120, 0xfffffee0, 36, 0xee12)])
    op('950', 'v_ashr_pk_u8_i32 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0x1000, 0xffff0000, 4, 0x00ff), (0x120, 0x230, 4, 0x2312)])


def two_by_pi(n):
    """floor(2/pi * 2^n), by Machin's formula."""
    one = 1 << n + 64

    def arctan(x):
        term = total = one // x
        k = 1
        while term:
            term //= x * x
            k += 2
            total += -term // k if k % 4 == 3 else term // k
        return total
    return (one * one << 1) // (4 * (4 * arctan(5) - arctan(239))) >> 64


def angles():
    bits = two_by_pi(1201)
    rows = []
    for e in (0, 1000, 1023, 1077, 1078, 1100, 1500, 1967, 1968, 2046):
        for part in (0, 1, 2, 7, 22, 31):
            at = part * 53 + max(e - 1077, 0)
            field = (bits << 2048 >> 2048 + 1201 - 53 - at if 1201 - 53 - at >= 0 else bits << at + 53 - 1201) & (1 << 53) - 1
            rows.append((e << 52 | 0x123456789abcd, part, F64.round(Fraction(field) * Fraction(2) ** (-53 - at + (128 if e >= 1968 else 0)))))
    op('all', 'v_trig_preop_f64 v[0:1], v[2:3], v4', 'v2:2 v4', 'v0:2', rows)


def dots():
    one, half, minus = BF16.round(1), BF16.round(Fraction(1, 2)), BF16.round(-3)
    pairs = [(one, half, half, minus), (minus, minus, one, one), (BF16.round(256), one, BF16.round(Fraction(1, 256)), one)]
    rows = [(a | b << 16, c | d << 16, e, F32.fma(b << 16, d << 16, F32.fma(a << 16, c << 16, e)))
            for a, b, c, d in pairs for e in (0, 0x3f800000, 0xc0490fdb, 0x7f800000)]
    op('950,11,12', 'v_dot2_f32_bf16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', rows)
    op('950', 'v_dot2c_f32_bf16 v0, v1, v2', 'v1 v2 v0', 'v0', rows)
    vals = [(BF16.round(Fraction(257, 256)), BF16.round(Fraction(129, 128)), BF16.round(3)), (0x3f81, 0x3f81, 0xbf80), (0x4000, 0x0001, 0x3f80), (0x7f80, 0x3f80, 0xff80)]
    op('11,12', 'v_dot2_bf16_bf16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l',
       [(a | one << 16, b | a << 16, c, BF16.fma(one, a, BF16.fma(a, b, c))) for a, b, c in vals])
    h1 = F16.round(1)
    vals = [(F16.round(Fraction(1025, 1024)), F16.round(Fraction(1025, 1024)), F16.round(-1)), (0x4000, 0x4200, 0x3c00), (0x7bff, 0x4000, 0xfbff), (1, 0x3800, 0)]
    op('11,12', 'v_dot2_f16_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l',
       [(a | h1 << 16, b | a << 16, c, F16.fma(h1, a, F16.fma(a, b, c))) for a, b, c in vals])
    op('90a,942,10+', 'v_pk_fmac_f16 v0, v1, v2', 'v1 v2 v0', 'v0',
       [(a | b << 16, b | c << 16, c | a << 16, F16.fma(a, b, c) | F16.fma(b, c, a) << 16) for a, b, c in vals])


def moves():
    # the result of 65 bits: the uppermost goes to the mask
    for t, co in (('9,90a,942,10,11', ''), ('12', 'co_')):
        rows = [(a, b, c) for a, b, c in triples(I32, I32, [0, 1, M64, 1 << 63, (1 << 63) - 1, 0xfffffffe00000001])]
        exact = lambda a, b, c: S(a) * S(b) + signed(c, 64)
        op(t, 'v_mad_%si64_i32 v[0:1], $m8, v2, v3, v[4:5]' % co, 'v2 v3 v4:2', 'v0:2 m8',
           [(a, b, c, exact(a, b, c) & M64, 'all' if exact(a, b, c) >> 64 & 1 else 0) for a, b, c in rows])
        op(t, 'v_mad_%su64_u32 v[0:1], $m8, v2, v3, v[4:5]' % co, 'v2 v3 v4:2', 'v0:2 m8',
           [(a, b, c, a * b + c & M64, 'all' if a * b + c >> 64 else 0) for a, b, c in rows])
    # the classes asked for are in half a register, too: quiet NaN (1), +1 (8)
    op('11', 'v_cmp_class_f16_e64 $m8, v1.h, v2.h', 'v1 v2', 'm8',
       [(0x7e003c00, 0x00020100, 'all'), (0x7e003c00, 0x01000002, 0), (0x3c007e00, 0x01000002, 'all')])
    op('11', 'v_swap_b16 v0.l, v1.h', 'v0 v1', 'v0 v1', [(0x11112222, 0x33334444, 0x11113333, 0x22224444)])
    op('11', 'v_swap_b16 v0.l, v0.h', 'v0', 'v0', [(0x11112222, 0x22221111)])
    op('10+', 'v_swaprel_b32 v0, v1', 'v2 v4 m0', 'v2 v4', [(1, 2, 0x00020003, 2, 1)])
    op('12', 'v_permlane16_var_b32 v0, v1, v2', 'v1 v2', 'v0@0 v0@5 v0@17', [('lane', 3, 3, 3, 19)])
    op('12', 'v_permlanex16_var_b32 v0, v1, v2', 'v1 v2', 'v0@0 v0@5 v0@17', [('lane', 3, 19, 19, 3)])
    quad = lambda x, n: sum((x >> 4 * i & 15 != 0) << i for i in range(n))
    op('all', 's_quadmask_b32 s0, s4', 's4', 's0 scc', [(x, quad(x, 8), int(x != 0)) for x in (0, 1, 0x80, 0x10020, 0xf0000000, M32)])
    op('all', 's_quadmask_b64 s[0:1], s[4:5]', 's4:2', 's0:2 scc', [(x, quad(x, 16), int(x != 0)) for x in (0, 0x10, 1 << 63, M64, 0x0f00f00000000001)])
    op('all', 's_bitreplicate_b64_b32 s[0:1], s4', 's4', 's0:2', [(x, sum((x >> i & 1) * 3 << 2 * i for i in range(32))) for x in (0, 1, 5, 0x80000000, 0x12345678)])
    op('all', 's_movrels_b64 s[0:1], s[2:3]', 's4:2 m0', 's0:2', [(0x123456789abcdef0, 2, 0x123456789abcdef0)])
    op('all', 's_movreld_b64 s[0:1], s[2:3]', 's2:2 m0', 's4:2', [(0x123456789abcdef0, 4, 0x123456789abcdef0)])
    op('10+', 's_movrelsd_2_b32 s0, s2', 's3 m0', 's5', [(77, 0x00050001, 77)])


def memory():
    """Each m is the memory's value before; l2 is the dword at byte 8."""
    f1, f2, fz, nz, nan = 0x3f800000, 0x40000000, 0, 0x80000000, 0x7fc00000
    cases = [(f1, f2, f1, f2), (f1, f2, f2, f1), (fz, f2, nz, f2), (nan, f2, nan, nan)]      # before, new, compared with, after
    for t, name, order in (('9,90a,942,10', 'ds_cmpst', 'v3 v2'), ('11', 'ds_cmpstore', 'v2 v3')):
        op(t, name + '_f32 v1, v2, v3', 'v1 l2 ' + order, 'l2', [(8, m, n, c, r) for m, n, c, r in cases])
        op(t, name + '_rtn_f32 v0, v1, v2, v3', 'v1@0 exec l2 ' + order, 'l2 v0@0', [(8, 1, m, n, c, r, m) for m, n, c, r in cases])
        wide = [(0x3ff << 52, 1 << 62, 0x3ff << 52, 1 << 62), (0, 1 << 62, 1 << 63, 1 << 62), (1 << 62, 0, 0x3ff << 52, 1 << 62)]
        order = order.replace('v2', 'v4:2').replace('v3', 'v6:2')
        op(t, name + '_f64 v1, v[4:5], v[6:7]', 'v1 l2:2 ' + order, 'l2:2', [(8, m, n, c, r) for m, n, c, r in wide])
    for t, one, two in (('9,90a,942,10', 'ds_wrxchg2_rtn', 'ds_wrxchg2st64_rtn'), ('11,12', 'ds_storexchg_2addr_rtn', 'ds_storexchg_2addr_stride64_rtn')):
        op(t, one + '_b32 v[4:5], v1, v2, v3 offset0:1 offset1:3', 'v1@0 exec v2 v3', 'v4@0 v5@0 l1 l3', [(0, 1, 7, 9, mem(4, 4), mem(12, 4), 7, 9)])
        op(t, two + '_b32 v[4:5], v1, v2, v3 offset0:1 offset1:3', 'v1@0 exec v2 v3', 'v4@0 v5@0 l64 l192', [(0, 1, 7, 9, mem(256, 4), mem(768, 4), 7, 9)])
        op(t, one + '_b64 v[4:7], v1, v[8:9], v[10:11] offset0:1 offset1:3', 'v1@0 exec v8:2 v10:2', 'v4:2@0 v6:2@0 l2:2 l6:2',
           [(0, 1, 7 << 33, 9, mem(8, 8), mem(24, 8), 7 << 33, 9)])
        op(t, two + '_b64 v[4:7], v1, v[8:9], v[10:11] offset0:1 offset1:3', 'v1@0 exec v8:2 v10:2', 'v4:2@0 v6:2@0 l128:2 l384:2',
           [(0, 1, 7 << 33, 9, mem(512, 8), mem(1536, 8), 7 << 33, 9)])
    op('9,90a,942,10,11', 'ds_wrap_rtn_b32 v0, v1, v2, v3', 'v1@0 exec l2 v2 v3', 'v0@0 l2', [(8, 1, 10, 4, 100, 10, 6), (8, 1, 3, 4, 100, 3, 103)])
    op('all', 'ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3]', 'v1@0 exec l2:2 v2:2', 'v4:2@0 l2:2',
       [(8, 1, 0x1111111122222222, 0xb3333333c4444444, 0x1111111122222222, 0x3333333344444444),
        (8, 1, 0x1111111122222222, 0x33333333c4444444, 0x1111111122222222, 0x1111111144444444)])
    op('12', 'ds_cond_sub_rtn_u32 v0, v1, v2', 'v1@0 exec l2 v2', 'v0@0 l2', [(8, 1, 10, 4, 10, 6), (8, 1, 3, 4, 3, 3)])
    op('12', 'ds_sub_clamp_rtn_u32 v0, v1, v2', 'v1@0 exec l2 v2', 'v0@0 l2', [(8, 1, 10, 4, 10, 6), (8, 1, 3, 4, 3, 0)])
    for t, name in (('9,90a,942,10', 'read'), ('11,12', 'load')):
        op(t, 'ds_%s_addtid_b32 v0 offset:4' % name, 'm0', 'v0@0 v0@3', [(8, mem(12, 4), mem(24, 4))])
    for t, name in (('9,90a,942,10', 'write'), ('11,12', 'store')):
        op(t, 'ds_%s_addtid_b32 v1 offset:4' % name, 'm0 v1', 'l2 l3 l6', [(8, 'lane', mem(8, 4), 0, 3)])
    for t, load, store in (('gfx1030', 'dword_addtid', 'dword_addtid'), ('11,12', 'addtid_b32', 'addtid_b32')):
        op(t, 'global_load_%s v0, s[20:21] offset:8' % load, 'exec', 'v0@0 v0@3', [(0xf, mem(8, 4), mem(20, 4))])
        op(t, 'global_store_%s v1, s[20:21] offset:8' % store, 'exec v1', 'g1 g2 g5', [(0xf, 'lane', mem(4, 4), 0, 3)])
    for t, name in (('10', 'global_atomic_fcmpswap'), ('11', 'global_atomic_cmpswap_f32')):
        op(t, name + ' v[30:31], v[2:3], off', 'exec g0 v2 v3', 'g0', [(1, m, n, c, r) for m, n, c, r in cases])
    for t, name in (('gfx1030', 'global_atomic_csub v0, v[30:31], v2, off glc'), ('11', 'global_atomic_csub_u32 v0, v[30:31], v2, off glc'),
                    ('12', 'global_atomic_sub_clamp_u32 v0, v[30:31], v2, off th:TH_ATOMIC_RETURN')):
        op(t, name, 'exec g0 v2', 'g0 v0@0', [(1, 10, 4, 6, 10), (1, 3, 4, 0, 3)])
    for name, n, ext in (('u8', 1, False), ('i8', 1, True), ('u16', 2, False), ('i16', 2, True)):
        v = lambda at: signed(mem(at, n), 8 * n) & M32 if ext else mem(at, n)
        op('12', 's_buffer_load_%s s0, s[24:27], 0x8' % name, 'scc', 's0', [(0, v(8))])
        op('12', 's_buffer_load_%s s0, s[24:27], 0x100' % name, 'scc', 's0', [(0, 0)])      # behind the last byte
    op('12', 'ds_bpermute_fi_b32 v0, v1, v2', 'v1 v2 exec', 'v0@0', [(36, 'lane', 1, 9)])


def media():
    for part in (sums, limits, floats, conversions, angles, dots, moves, memory):
        part()
