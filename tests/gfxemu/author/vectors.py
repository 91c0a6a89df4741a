# SPDX-License-Identifier: Apache-2.0
# Tables of vector instructions: integers, floats, conversions, comparisons, lane crossing, pairs.
from fractions import Fraction

from table import (ALL, DN, DS, F16, F32, F64, FN, FS, HN, HS, I16, I32, I64, M16, M32, M64, S, SHIFT, bin32, leading, leading_signs, op, pairs,
                   relation, reverse, signed, tri32, triples, un32)

# ---- integers -----------------------------------------------------------------------------------------------------------------

def integers():
    un32(ALL, ['v_mov_b32'], lambda a: a)
    un32(ALL, ['v_not_b32'], lambda a: ~a)
    un32(ALL, ['v_bfrev_b32'], reverse)
    un32(['9,90a,942,10', '11,12'], ['v_ffbh_u32', 'v_clz_i32_u32'], leading)
    un32(['9,90a,942,10', '11,12'], ['v_ffbl_b32', 'v_ctz_i32_b32'], lambda a: (a & -a).bit_length() - 1 if a else M32)
    un32(['9,90a,942,10', '11,12'], ['v_ffbh_i32', 'v_cls_i32'], leading_signs, I32 + [0x40000000, 0xc0000000, 0xfffffffe])
    bin32(ALL, ['v_and_b32'], lambda a, b: a & b)
    bin32(ALL, ['v_or_b32'], lambda a, b: a | b)
    bin32(ALL, ['v_xor_b32'], lambda a, b: a ^ b)
    bin32(ALL, ['v_xnor_b32'], lambda a, b: ~(a ^ b))
    bin32(ALL, ['v_lshlrev_b32'], lambda a, b: b << (a & 31), SHIFT)
    bin32(ALL, ['v_lshrrev_b32'], lambda a, b: b >> (a & 31), SHIFT)
    bin32(ALL, ['v_ashrrev_i32'], lambda a, b: S(b) >> (a & 31), SHIFT)
    bin32(ALL, ['v_min_u32'], min)
    bin32(ALL, ['v_max_u32'], max)
    bin32(ALL, ['v_min_i32'], lambda a, b: min(S(a), S(b)))
    bin32(ALL, ['v_max_i32'], lambda a, b: max(S(a), S(b)))
    bin32(['9,90a,942', '10+'], ['v_add_u32', 'v_add_nc_u32'], lambda a, b: a + b)
    bin32(['9,90a,942', '10+'], ['v_sub_u32', 'v_sub_nc_u32'], lambda a, b: a - b)
    bin32(['9,90a,942', '10+'], ['v_subrev_u32', 'v_subrev_nc_u32'], lambda a, b: b - a)
    clamp_u = lambda v: min(max(v, 0), M32)
    clamp_i = lambda v: min(max(v, -1 << 31), (1 << 31) - 1)
    for t, add, sub in (('9,90a,942', 'v_add_u32_e64', 'v_sub_u32_e64'), ('10+', 'v_add_nc_u32_e64', 'v_sub_nc_u32_e64')):
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_u(a + b)) for a, b in pairs(I32, I32)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_u(a - b)) for a, b in pairs(I32, I32)])
    for t, add, sub in (('9,90a,942', 'v_add_i32', 'v_sub_i32'), ('10+', 'v_add_nc_i32', 'v_sub_nc_i32')):
        op(t, add + ' v0, v1, v2', 'v1 v2', 'v0', [(a, b, (a + b) & M32) for a, b in pairs(I32, I32)])
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_i(S(a) + S(b)) & M32) for a, b in pairs(I32, I32)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_i(S(a) - S(b)) & M32) for a, b in pairs(I32, I32)])
    bin32(ALL, ['v_mul_lo_u32'], lambda a, b: a * b)
    bin32(ALL, ['v_mul_hi_u32'], lambda a, b: a * b >> 32)
    bin32(ALL, ['v_mul_hi_i32'], lambda a, b: S(a) * S(b) >> 32)
    u24 = lambda x: x & 0xffffff
    i24 = lambda x: signed(x, 24)
    bin32(ALL, ['v_mul_u32_u24'], lambda a, b: u24(a) * u24(b))
    bin32(ALL, ['v_mul_i32_i24'], lambda a, b: i24(a) * i24(b))
    bin32(ALL, ['v_mul_hi_u32_u24'], lambda a, b: u24(a) * u24(b) >> 32)
    bin32(ALL, ['v_mul_hi_i32_i24'], lambda a, b: i24(a) * i24(b) >> 32)
    bin32(ALL, ['v_bfm_b32'], lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), SHIFT, SHIFT)
    bin32(ALL, ['v_bcnt_u32_b32'], lambda a, b: bin(a).count('1') + b)
    tri32('all', 'v_mad_u32_u24', lambda a, b, c: u24(a) * u24(b) + c)
    tri32('all', 'v_mad_i32_i24', lambda a, b, c: i24(a) * i24(b) + c)
    tri32('all', 'v_add3_u32', lambda a, b, c: a + b + c)
    tri32('all', 'v_lshl_add_u32', lambda a, b, c: (a << (b & 31)) + c, I32, SHIFT)
    tri32('all', 'v_add_lshl_u32', lambda a, b, c: (a + b & M32) << (c & 31), I32, I32, SHIFT)
    tri32('all', 'v_lshl_or_b32', lambda a, b, c: (a << (b & 31)) | c, I32, SHIFT)
    tri32('all', 'v_and_or_b32', lambda a, b, c: (a & b) | c)
    tri32('all', 'v_or3_b32', lambda a, b, c: a | b | c)
    tri32('10+', 'v_xor3_b32', lambda a, b, c: a ^ b ^ c)
    tri32('all', 'v_xad_u32', lambda a, b, c: (a ^ b) + c)
    tri32('all', 'v_bfi_b32', lambda a, b, c: (a & b) | (~a & c))
    tri32('all', 'v_bfe_u32', lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1), I32, SHIFT, SHIFT)

    def bfe_i(a, b, c):
        n = c & 31
        return signed(a >> (b & 31) & ((1 << n) - 1), n) if n else 0
    # A field that reaches beyond bit 31: the value shifted is the sign-extended one.
    tri32('all', 'v_bfe_i32', bfe_i, I32, [0, 1, 4, 7, 8, 16], [0, 1, 4, 8, 15, 16])
    tri32('all', 'v_alignbit_b32', lambda a, b, c: (a << 32 | b) >> (c & 31), I32, I32, SHIFT)
    tri32('all', 'v_alignbyte_b32', lambda a, b, c: (a << 32 | b) >> 8 * (c & 3), I32, I32, SHIFT)
    mid = lambda a, b, c: sorted((a, b, c))[1]
    tri32('all', 'v_min3_u32', min)
    tri32('all', 'v_max3_u32', max)
    tri32('all', 'v_med3_u32', mid)
    tri32('all', 'v_min3_i32', lambda a, b, c: min(S(a), S(b), S(c)))
    tri32('all', 'v_max3_i32', lambda a, b, c: max(S(a), S(b), S(c)))
    tri32('all', 'v_med3_i32', lambda a, b, c: mid(S(a), S(b), S(c)))
    tri32('11,12', 'v_maxmin_u32', lambda a, b, c: min(max(a, b), c))
    tri32('11,12', 'v_minmax_u32', lambda a, b, c: max(min(a, b), c))
    tri32('11,12', 'v_maxmin_i32', lambda a, b, c: min(max(S(a), S(b)), S(c)))
    tri32('11,12', 'v_minmax_i32', lambda a, b, c: max(min(S(a), S(b)), S(c)))
    tri32('all', 'v_sad_u32', lambda a, b, c: abs(a - b) + c)
    byte = lambda x, i: x >> 8 * i & 255
    tri32('all', 'v_sad_u8', lambda a, b, c: sum(abs(byte(a, i) - byte(b, i)) for i in range(4)) + c)
    tri32('all', 'v_sad_u16', lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c)

    def perm(a, b, c):
        data, r = a << 32 | b, 0
        for i in range(4):
            s = byte(c, i)
            if s >= 13:
                v = 255
            elif s == 12:
                v = 0
            elif s >= 8:            # the sign of bytes 1, 3, 5, 7
                v = 255 if data >> (16 * (s - 8) + 15) & 1 else 0
            else:
                v = data >> 8 * s & 255
            r |= v << 8 * i
        return r
    tri32('all', 'v_perm_b32', perm, [0x01828384, 0x85060788], [0x890a0b8c, 0x0d8e0f90], [0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0xff120405])
    op('all', 'v_mbcnt_lo_u32_b32 v0, v1, v2', 'v1 v2', 'v0@0 v0@1 v0@31',
       [(m, c, c, (c + (m & 1)) & M32, (c + bin(m & 0x7fffffff).count('1')) & M32) for m in I32 for c in (0, 5)])
    for c in range(2):
        op('9,90a,942', 'v_mbcnt_hi_u32_b32 v0, v1, v2', 'v1 v2', 'v0@5 v0@32 v0@34 v0@63',
           [(m, c, c, c, c + (m & 1) + (m >> 1 & 1), c + bin(m & 0x7fffffff).count('1')) for m in I32])
    op('9,90a,942', 'v_readlane_b32 s4, v1, 37', 'v1', 's4', [('lane', 37), (0xdeadbeef, 0xdeadbeef)])
    op('all', 'v_readlane_b32 s4, v1, s5', 'v1 s5', 's4', [('lane', 3, 3), ('lane', 31, 31)])
    op('all', 'v_readfirstlane_b32 s4, v1', 'v1 exec', 's4', [('lane', 'all', 0), ('lane', 8, 3), ('lane', 0xf0000000, 28), ('lane', 0, 0)])
    op('all', 'v_writelane_b32 v0, s4, 5', 's4', 'v0@4 v0@5 v0@6', [(7, 0xa5a5a5a5, 7, 0xa5a5a5a5)])
    op('all', 'v_mov_b32 v0, v1', 'v1 exec', 'v0@0 v0@1', [(7, 2, 0xa5a5a5a5, 7), (7, 0, 0xa5a5a5a5, 0xa5a5a5a5)])
    # 64 bits
    sh64 = [(s, x) for s in (0, 1, 31, 32, 63, 64, 0xffffffff) for x in I64[2:6]]
    op('9,90a,942,10,11', 'v_lshlrev_b64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, x << (s & 63) & M64) for s, x in sh64])
    op('all', 'v_lshrrev_b64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, x >> (s & 63)) for s, x in sh64])
    op('all', 'v_ashrrev_i64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, signed(x, 64) >> (s & 63) & M64) for s, x in sh64])
    op('942', 'v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]', 'v2:2 v4 v6:2', 'v0:2',
       [(x, s, y, ((x << s) + y) & M64) for x in I64 for s, y in ((0, 1), (1, I64[5]), (4, M64))])
    op('90a,942', 'v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]', 'v2:2 v4:2', 'v0:2',
       [(x, y, (x & M32) | (y >> 32 << 32)) for x, y in pairs(I64, I64, 8)])
    rows = [(a, b, c, (a * b + c) & M64, 'all' if a * b + c > M64 else 0) for a, b, c in triples(I32, I32, I64)]
    op('9,90a,942,10,11', 'v_mad_u64_u32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2 m8', rows)
    op('12', 'v_mad_co_u64_u32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2 m8', rows)
    op('9,90a,942,10,11', 'v_mad_i64_i32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2',
       [(a, b, c, (S(a) * S(b) + c) & M64) for a, b, c in triples(I32, I32, I64)])


def carries():
    cases = pairs(I32, I32)
    mask = lambda c: 'all' if c else 0
    for t, n in (('9,90a,942', '_e32'), ('10+', '')):
        out = 'vcc' if n else 'm8'
        dst = '$vcc' if n else '$m8'
        op(t, 'v_add_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (a + b) & M32, mask(a + b > M32)) for a, b in cases])
        op(t, 'v_sub_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (a - b) & M32, mask(b > a)) for a, b in cases])
        op(t, 'v_subrev_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (b - a) & M32, mask(a > b)) for a, b in cases])
    for t, add, sub, rev in (('9,90a,942', 'v_addc_co_u32_e32', 'v_subb_co_u32_e32', 'v_subbrev_co_u32_e32'),
                             ('10+', 'v_add_co_ci_u32_e32', 'v_sub_co_ci_u32_e32', 'v_subrev_co_ci_u32_e32')):
        for n, f in ((add, lambda a, b, c: a + b + c), (sub, lambda a, b, c: a - b - c), (rev, lambda a, b, c: b - a - c)):
            op(t, n + ' v0, $vcc, v1, v2, $vcc', 'v1 v2 vcc', 'v0 vcc',
               [(a, b, mask(c), f(a, b, c) & M32, mask(not 0 <= f(a, b, c) <= M32)) for c in (0, 1) for a, b in cases])
    # only lanes that are active write, and set bits of the mask
    op('9,90a,942', 'v_add_co_u32_e32 v0, $vcc, v1, v2', 'v1 v2 exec', 'v0@0 v0@1 vcc', [(M32, 1, 1, 0, 0xa5a5a5a5, 1)])
    op('all', 'v_cndmask_b32_e64 v0, v1, v2, $m8', 'v1 v2 m8', 'v0@0 v0@1', [(1, 2, 2, 1, 2), (1, 2, 1, 2, 1)])
    op('all', 'v_cndmask_b32_e64 v0, -v1, |v2|, $m8', 'v1 v2 m8', 'v0@0 v0@1', [(0x3f800000, 0xbf800000, 2, 0xbf800000, 0x3f800000)])


def halves():
    """16-bit integers. What becomes of the upper half: cleared on GCN and CDNA, kept since RDNA1."""
    for t, keep in (('9,90a,942', False), ('10+', True)):
        up = 0xa5a50000 if keep else 0
        nc = 'nc_' if keep else ''

        def two(name, f, a=I16, b=I16, t=t, up=up):
            op(t, name + ' v0, v1, v2', 'v1 v2', 'v0', [(x | 0xabcd0000, y, up | (f(x, y) & M16)) for x, y in pairs(a, b, 16)])
        H = lambda x: signed(x, 16)
        two('v_add_%su16' % nc, lambda a, b: a + b)
        two('v_sub_%su16' % nc, lambda a, b: a - b)
        two('v_mul_lo_u16', lambda a, b: a * b)
        two('v_min_u16', min)
        two('v_max_u16', max)
        two('v_min_i16', lambda a, b: min(H(a), H(b)))
        two('v_max_i16', lambda a, b: max(H(a), H(b)))
        sh = [0, 1, 15, 16, 17, 0xffff]
        two('v_lshlrev_b16', lambda a, b: b << (a & 15), sh)
        two('v_lshrrev_b16', lambda a, b: b >> (a & 15), sh)
        two('v_ashrrev_i16', lambda a, b: H(b) >> (a & 15), sh)
        add, sub = ('v_add_nc_i16', 'v_sub_nc_i16') if keep else ('v_add_i16', 'v_sub_i16')
        sat = lambda v: min(max(v, -32768), 32767) & M16
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0.l', [(a, b, sat(H(a) + H(b))) for a, b in pairs(I16, I16, 16)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0.l', [(a, b, sat(H(a) - H(b))) for a, b in pairs(I16, I16, 16)])
    H = lambda x: signed(x, 16)
    for name, f in (('v_min3_u16', min), ('v_max3_u16', max), ('v_med3_u16', lambda a, b, c: sorted((a, b, c))[1])):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, f(a, b, c)) for a, b, c in triples(I16, I16, I16)])
    for name, f in (('v_min3_i16', min), ('v_max3_i16', max), ('v_med3_i16', lambda a, b, c: sorted((a, b, c))[1])):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, f(H(a), H(b), H(c)) & M16) for a, b, c in triples(I16, I16, I16)])
    op('all', 'v_mad_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, (a * b + c) & M16) for a, b, c in triples(I16, I16, I16)])
    op('all', 'v_mad_u32_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, (a * b + c) & M32) for a, b, c in triples(I16, I16, I32)])
    op('all', 'v_mad_i32_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, (H(a) * H(b) + c) & M32) for a, b, c in triples(I16, I16, I32)])
    op('all', 'v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]', 'v1 v2', 'v0', [(0x3c004000, 0x12344400, 0x44003c00)])
    for name in ('v_and_b16', 'v_or_b16', 'v_xor_b16'):
        f = {'v_and_b16': lambda a, b: a & b, 'v_or_b16': lambda a, b: a | b, 'v_xor_b16': lambda a, b: a ^ b}[name]
        op('11,12', name + ' v0, v1, v2', 'v1 v2', 'v0.l', [(a, b, f(a, b)) for a, b in pairs(I16, I16, 8)])


# ---- floats --------------------------------------------------------------------------------------------------------------------

def floats():
    for f, p, vals, ins, out in ((F32, 'f32', FS, 'v1 v2', 'v0'), (F16, 'f16', HS, 'v1 v2', 'v0.l'), (F64, 'f64', DS, 'v2:2 v4:2', 'v0:2')):
        regs = 'v[0:1], v[2:3], v[4:5]' if f is F64 else 'v0, v1, v2'
        c = pairs(vals, vals, 40)
        # with two NaNs ISA documents do not say whose comes out
        c = [(a, b) for a, b in c if not (f.is_nan(a) and f.is_nan(b))]
        op('all', 'v_add_%s %s' % (p, regs), ins, out, [(a, b, f.add(a, b)) for a, b in c])
        op('all', 'v_mul_%s %s' % (p, regs), ins, out, [(a, b, f.mul(a, b)) for a, b in c])
        if f is not F64:
            op('all', 'v_sub_%s %s' % (p, regs), ins, out, [(a, b, f.add(a, b if f.is_nan(b) else b ^ f.sign)) for a, b in c if not f.is_nan(b)])
            op('all', 'v_subrev_%s %s' % (p, regs), ins, out, [(a, b, f.add(b, a ^ f.sign)) for a, b in c if not f.is_nan(a)])
        snan = f.inf | 1
        cs = c + [(snan, vals[2]), (vals[2], snan), (f.nan, vals[2]), (vals[2], f.nan | f.sign)]
        # up to RDNA3 with the IEEE mode, in which kernels start; RDNA4 has minimumNumber, for which a signalling NaN is one as any
        for name in ('min', 'max'):
            op('9,90a,942,10,11', 'v_%s_%s %s' % (name, p, regs), ins, out, [(a, b, f.minmax(a, b, name == 'max', True)) for a, b in cs])
            op('12', 'v_%s_num_%s %s' % (name, p, regs), ins, out, [(a, b, f.minmax(a, b, name == 'max', False)) for a, b in cs])
        t3 = triples(vals[:-1], vals[:-1], vals[:-1]) + [(vals[2], vals[4], vals[-1]), (vals[-1], vals[2], vals[2])]
        r3 = 'v[0:1], v[2:3], v[4:5], v[6:7]' if f is F64 else 'v0, v1, v2, v3'
        i3 = 'v2:2 v4:2 v6:2' if f is F64 else 'v1 v2 v3'
        exact = [(vals[2] + 1, vals[2] + 1, f.sign | (vals[2] + 2)), (vals[2] + 1, vals[2] - 1, f.sign | vals[2])]     # the last bits of a product
        op('all', 'v_fma_%s %s' % (p, r3), i3, out, [(a, b, d, f.fma(a, b, d)) for a, b, d in t3 + exact])
        one = (ins.split()[0], regs.rsplit(', ', 1)[0])
        odd = [f.round(Fraction(x, 4)) for x in (-14, -10, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 10, 14, 400001)]
        for how in ('floor', 'ceil', 'trunc', 'rndne'):
            op('all', 'v_%s_%s %s' % (how, p, one[1]), one[0], out, [(x, f.integral(x, how)) for x in vals + odd])
        if f is not F64:
            op('all', 'v_fract_%s %s' % (p, one[1]), one[0], out,
               [(x, min(f.round(f.value(x) - (f.value(x).numerator // f.value(x).denominator)), f.round(1) - 1)) for x in odd + [0, vals[2], vals[4]] if not f.is_inf(x)])
        # exact reciprocals and roots
        powers = [f.round(Fraction(2) ** k) for k in (-3, -1, 0, 1, 5)]
        def transcendental(name, cases, f=f, p=p, one=one, out=out):
            op('all', 'v_%s_%s %s' % (name, p, one[1]), one[0], out, cases)
            if f is not F64:    # the same from a scalar register to one
                op('12', 'v_s_%s_%s s0, s4' % (name, p), 's4', 's0', cases)
        transcendental('rcp', [(x, f.round(1 / f.value(x))) for x in powers] + [(0, f.inf), (f.sign, f.inf | f.sign), (f.inf, 0), (f.inf | f.sign, f.sign)])
        transcendental('sqrt', [(f.round(Fraction(k * k)), f.round(Fraction(k))) for k in (1, 2, 3, 10)] + [(0, 0), (f.sign, f.sign), (f.inf, f.inf)])
        transcendental('rsq', [(f.round(Fraction(4) ** k), f.round(Fraction(2) ** -k)) for k in (-2, 0, 3)]
                       + [(0, f.inf), (f.sign, f.inf | f.sign), (f.inf, 0)])
        if f is not F64:
            transcendental('exp', [(f.round(Fraction(k)), f.round(Fraction(2) ** k)) for k in (-4, -1, 0, 1, 10)] + [(f.inf, f.inf), (f.inf | f.sign, 0)])
            transcendental('log', [(f.round(Fraction(2) ** k), f.round(Fraction(k))) for k in (-4, -1, 0, 1, 10)] + [(0, f.inf | f.sign), (f.inf, f.inf)])
            # in turns; multiples of a quarter are exact
            turns = [(0, 0, 1), (Fraction(1, 4), 1, 0), (Fraction(1, 2), 0, -1), (Fraction(3, 4), -1, 0)]
            op('all', 'v_sin_%s %s' % (p, one[1]), one[0], out, [(f.round(Fraction(x)), f.round(Fraction(s))) for x, s, _ in turns if s])
            op('all', 'v_cos_%s %s' % (p, one[1]), one[0], out, [(f.round(Fraction(x)), f.round(Fraction(q))) for x, _, q in turns if q])
        # significand in [1/2, 1) and exponent
        def frexp(x, f=f):
            v, e = abs(f.value(x)), 0
            while v >= 1:
                v, e = v / 2, e + 1
            while v < Fraction(1, 2):
                v, e = v * 2, e - 1
            return (-v if x & f.sign else v), e
        fin = [x for x in vals if not f.is_nan(x) and not f.is_inf(x) and x & ~f.sign]
        op('all', 'v_frexp_mant_%s %s' % (p, one[1]), one[0], out, [(x, f.round(frexp(x)[0])) for x in fin] + [(0, 0), (f.sign, f.sign), (f.inf, f.inf)])
        dst = {'f32': 'v_frexp_exp_i32_f32 v0, v1', 'f16': 'v_frexp_exp_i16_f16 v0, v1', 'f64': 'v_frexp_exp_i32_f64 v0, v[2:3]'}[p]
        bits = 16 if f is F16 else 32
        op('all', dst, one[0], 'v0.l' if f is F16 else 'v0', [(x, frexp(x)[1] & ((1 << bits) - 1)) for x in fin] + [(0, 0), (f.inf, 0), (f.nan, 0)])
        shifts = [0, 1, M32, 5, 0xfffffff0] if f is not F16 else [0, 1, M16, 5, 0xfff0]
        if f is not F64:
            op('all', 'v_ldexp_%s v0, v1, v2' % p, 'v1 v2', out,
               [(x, k, f.round(f.value(x) * Fraction(2) ** signed(k, bits), x & f.sign)) for x in fin[:5] + [0, f.sign] for k in shifts])
        else:
            op('all', 'v_ldexp_f64 v[0:1], v[2:3], v4', 'v2:2 v4', 'v0:2',
               [(x, k, f.round(f.value(x) * Fraction(2) ** signed(k, 32), x & f.sign)) for x in fin[:5] for k in shifts])


def modifiers():
    one, two, half = 0x3f800000, 0x40000000, 0x3f000000
    op('all', 'v_add_f32_e64 v0, -v1, |v2|', 'v1 v2', 'v0', [(one, 0xc0000000, one), (0xbf800000, 0xbf800000, two), (0x80000000, 0x80000000, 0)])
    op('all', 'v_mul_f32_e64 v0, v1, v2 clamp', 'v1 v2', 'v0',
       [(two, two, one), (half, half, 0x3e800000), (0xc0000000, two, 0), (0x7fc00000, one, 0), (0x80000000, one, 0), (0x7f800000, one, one)])
    # clamping of NaN needs DX10_CLAMP (mode bit 8); RDNA4 has no such bit and always does
    op('9,90a,942,10,11', 'v_mul_f32_e64 v0, v1, v2 clamp', 'v1 v2 mode', 'v0', [(0x7fc00000, one, 0x2f0, 0x7fc00000), (two, two, 0x2f0, one)])
    # omod: ignored with the IEEE mode (bit 9) and where denormal results are enabled (bit 5); else it applies, before clamping
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 mul:2', 'v1 v2 mode', 'v0',
       [(one, one, 0x3f0, two), (one, one, 0x1c0, 0x40800000), (half, one, 0x1c0, 0x40400000),
        (0x80000000, 0x80000000, 0x1c0, 0), (0x80000000, 0x80000000, 0x3f0, 0x80000000)])
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 mul:4', 'v1 v2 mode', 'v0', [(one, one, 0x1c0, 0x41000000)])
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 clamp div:2', 'v1 v2 mode', 'v0', [(half, one, 0x1c0, 0x3f400000), (two, two, 0x1c0, one)])
    # denormals: bits 4 (sources) and 5 (results) of the mode for f32, 6 and 7 for f16 and f64
    op('all', 'v_add_f32 v0, v1, v2', 'v1 v2 mode', 'v0',
       [(1, 0, 0x3f0, 1), (1, 0, 0x3c0, 0), (0x80000001, 0x80000000, 0x3c0, 0x80000000), (0x00800000, 0x80000001, 0x3c0, 0x00800000),
        (0x00800001, 0x80800000, 0x3d0, 0)])
    op('all', 'v_mul_f32 v0, v1, v2', 'v1 v2 mode', 'v0', [(0x00800000, half, 0x3f0, 0x00400000), (0x00800000, half, 0x3d0, 0)])
    # rounding: 1 + 2^-24 under the modes nearest, up, down, to zero
    op('all', 'v_add_f32 v0, v1, v2', 'v1 v2 mode', 'v0',
       [(one, 0x33800000, 0x3f0, one), (one, 0x33800000, 0x3f1, one + 1), (one, 0x33800000, 0x3f2, one), (one, 0x33800000, 0x3f3, one),
        (0xbf800000, 0xb3800000, 0x3f1, 0xbf800000), (0xbf800000, 0xb3800000, 0x3f2, 0xbf800001), (0xbf800000, 0xb3800000, 0x3f3, 0xbf800000)])
    op('all', 'v_add_f64 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2 mode', 'v0:2',
       [(0x3ff0000000000000, 0x3ca0000000000000, 0x3f0, 0x3ff0000000000000), (0x3ff0000000000000, 0x3ca0000000000000, 0x3f4, 0x3ff0000000000001)])
    # inline constants: f32 instructions take 1.0 as f32, integer ones their value, 64-bit floats as f64
    op('all', 'v_add_f32 v0, 1.0, v1', 'v1', 'v0', [(one, two)])
    op('all', 'v_add_f16 v0, 1.0, v1', 'v1', 'v0.l', [(0x3c00, 0x4000)])
    op('all', 'v_and_b32 v0, -4, v1', 'v1', 'v0', [(M32, 0xfffffffc)])
    op('all', 'v_and_b32 v0, 0x12345678, v1', 'v1', 'v0', [(M32, 0x12345678)])
    op('all', 'v_add_f64 v[0:1], 1.0, v[2:3]', 'v2:2', 'v0:2', [(0x3ff0000000000000, 0x4000000000000000)])
    op('all', 'v_and_b32 v0, s4, v1', 's4 v1', 'v0', [(0xff00ff00, 0x12345678, 0x12005600)])
    # the median of three
    def med(a, b, c):
        order = sorted((a, b, c), key=lambda x: F32.value(x))
        return order[1]
    fin = [0x3f800000, 0xbf800000, 0x40490fdb, 0x41200000, 0xc1200000]
    for t, n in (('9,90a,942,10,11', 'v_med3_f32'), ('12', 'v_med3_num_f32')):
        op(t, n + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, med(a, b, c)) for a, b, c in triples(fin, fin, fin)])
    for t, lo, hi in (('9,90a,942,10,11', 'v_min3_f32', 'v_max3_f32'), ('12', 'v_min3_num_f32', 'v_max3_num_f32')):
        for name, want in ((lo, False), (hi, True)):
            op(t, name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0',
               [(a, b, c, F32.minmax(F32.minmax(a, b, want, False), c, want, False)) for a, b, c in triples(FN, FN, FN) + [(0x7fc00000, one, two)]])
    op('12', 'v_minimum_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x7fc00000, one, 0x7fc00000), (one, 0x7fc00000, 0x7fc00000), (0, 0x80000000, 0x80000000), (one, two, one)])
    op('12', 'v_maximum_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x7fc00000, one, 0x7fc00000), (one, 0x7fc00000, 0x7fc00000), (0x80000000, 0, 0), (one, two, two)])
    fmac = [(a, b, c, F32.fma(a, b, c)) for a, b, c in triples(FN, FN, FN)]
    op('90a,942,10,11,12', 'v_fmac_f32 v0, v1, v2', 'v1 v2 v0', 'v0', fmac)
    op('10+', 'v_fmaak_f32 v0, v1, v2, 0x40000000', 'v1 v2', 'v0', [(a, b, F32.fma(a, b, two)) for a, b in pairs(FN, FN, 8)])
    op('10+', 'v_fmamk_f32 v0, v1, 0x40000000, v2', 'v1 v2', 'v0', [(a, b, F32.fma(a, two, b)) for a, b in pairs(FN, FN, 8)])
    op('9,90a,942,10', 'v_mul_legacy_f32 v0, v1, v2', 'v1 v2', 'v0', [(0, 0x7f800000, 0), (0x7fc00000, 0, 0), (two, two, 0x40800000)])
    op('11,12', 'v_mul_dx9_zero_f32 v0, v1, v2', 'v1 v2', 'v0', [(0, 0x7f800000, 0), (0x7fc00000, 0, 0), (two, two, 0x40800000)])


def conversions():
    ints = [0, 1, M32, 0x7fffffff, 0x80000000, 0x01000001, 0x01000003, 0xffffff7f, 0x12345678]
    un32(ALL, ['v_cvt_f32_i32'], lambda a: F32.round(Fraction(S(a))), ints)
    un32(ALL, ['v_cvt_f32_u32'], lambda a: F32.round(Fraction(a)), ints)
    op('all', 'v_cvt_f64_i32 v[0:1], v1', 'v1', 'v0:2', [(a, F64.round(Fraction(S(a)))) for a in ints])
    op('all', 'v_cvt_f64_u32 v[0:1], v1', 'v1', 'v0:2', [(a, F64.round(Fraction(a))) for a in ints])
    big = [0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x3f7fffff, 0xbf7fffff, 0x3fc00000, 0xbfc00000, 0x3f000000, 0xbf000000]
    lo, hi = -1 << 31, (1 << 31) - 1
    un32(ALL, ['v_cvt_i32_f32'], lambda a: F32.to_int(a, lo, hi), FS + big)
    un32(ALL, ['v_cvt_u32_f32'], lambda a: F32.to_int(a, 0, M32), FS + big)
    un32(['9,90a,942,10', '11,12'], ['v_cvt_flr_i32_f32', 'v_cvt_floor_i32_f32'], lambda a: F32.to_int(a, lo, hi, 'floor'), FS + big)
    un32(['9,90a,942,10', '11,12'], ['v_cvt_rpi_i32_f32', 'v_cvt_nearest_i32_f32'], lambda a: F32.to_int(a, lo, hi, 'nearest'), FS + big)
    dbl = DS + [0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0xbfefffffffffffff, 0x3ff8000000000000]
    op('all', 'v_cvt_i32_f64 v0, v[2:3]', 'v2:2', 'v0', [(a, F64.to_int(a, lo, hi) & M32) for a in dbl])
    op('all', 'v_cvt_u32_f64 v0, v[2:3]', 'v2:2', 'v0', [(a, F64.to_int(a, 0, M32)) for a in dbl])

    def convert(x, f, t, mode='rn'):
        if f.is_nan(x):
            sign, man = bool(x & f.sign), x & ((1 << f.m) - 1)
            man = man >> (f.m - t.m) if f.m > t.m else man << (t.m - f.m)
            return (t.sign if sign else 0) | t.inf | man | t.quiet
        if f.is_inf(x):
            return (t.sign if x & f.sign else 0) | t.inf
        return t.round(f.value(x), t.sign if x & f.sign else 0, mode)
    op('all', 'v_cvt_f64_f32 v[0:1], v1', 'v1', 'v0:2', [(x, convert(x, F32, F64)) for x in FS])
    edge = [0x3ff0000010000000, 0x3ff0000030000000, 0x3ff000001fffffff, 0x47efffffe0000000, 0x47effffff0000000, 0x3690000000000000, 0x36a0000000000000,
            0x3680000000000000]
    op('all', 'v_cvt_f32_f64 v0, v[2:3]', 'v2:2', 'v0', [(x, convert(x, F64, F32)) for x in DN + edge])
    op('all', 'v_cvt_f32_f16 v0, v1', 'v1', 'v0', [(x, convert(x, F16, F32)) for x in HS])
    small = [0x3f801000, 0x3f803000, 0x3f800fff, 0x477fe000, 0x477ff000, 0x33800000, 0x33000000, 0x33000001, 0x387fc000, 0x387fe000]
    op('all', 'v_cvt_f16_f32 v0, v1', 'v1', 'v0.l', [(x, convert(x, F32, F16)) for x in FN + small])
    for t, n in (('9,90a,942,10', 'v_cvt_pkrtz_f16_f32'), ('11,12', 'v_cvt_pk_rtz_f16_f32')):
        op(t, n + ' v0, v1, v2', 'v1 v2', 'v0', [(x, y, convert(x, F32, F16, 'rz') | convert(y, F32, F16, 'rz') << 16)
                                                for x, y in pairs(small + [0x3f800000, 0xbf800000, 0x7f7fffff], [0xbf803000, 0x477ff000, 0])])
    op('all', 'v_cvt_f16_u16 v0, v1', 'v1', 'v0.l', [(x, F16.round(Fraction(x))) for x in I16 + [2049, 2051, 65519]])
    op('all', 'v_cvt_f16_i16 v0, v1', 'v1', 'v0.l', [(x, F16.round(Fraction(signed(x, 16)))) for x in I16 + [2049, 2051]])
    op('all', 'v_cvt_u16_f16 v0, v1', 'v1', 'v0.l', [(x, F16.to_int(x, 0, M16)) for x in HS])
    op('all', 'v_cvt_i16_f16 v0, v1', 'v1', 'v0.l', [(x, F16.to_int(x, -32768, 32767) & M16) for x in HS])
    for k in range(4):
        un32(ALL, ['v_cvt_f32_ubyte%d' % k], lambda a, k=k: F32.round(Fraction(a >> 8 * k & 255)), [0, 0x01020304, 0xfffefdfc])
    op('all', 'v_cvt_pk_u16_u32 v0, v1, v2', 'v1 v2', 'v0', [(a, b, min(a, M16) | min(b, M16) << 16) for a, b in pairs([0, 5, M16, 0x10000, M32], [1, M32, 7], 15)])
    sat = lambda v: min(max(v, -32768), 32767) & M16
    op('all', 'v_cvt_pk_i16_i32 v0, v1, v2', 'v1 v2', 'v0', [(a, b, sat(S(a)) | sat(S(b)) << 16) for a, b in pairs([0, 5, 0x7fff, 0x8000, M32, 0x80000000], [1, 0xffff8000, 0xffff7fff])])
    op('all', 'v_cvt_pk_u8_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0',
       [(0x42c80000, 0, 0x11223344, 0x11223364), (0x42c80000, 1, 0x11223344, 0x11226444), (0x43960000, 2, 0x11223344, 0x11ff3344),
        (0xbf800000, 3, 0x11223344, 0x00223344), (0x7fc00000, 3, 0x11223344, 0x00223344)])
    op('11,12', 'v_cvt_i32_i16 v0, v1', 'v1', 'v0', [(x, signed(x, 16) & M32) for x in I16])
    op('11,12', 'v_cvt_u32_u16 v0, v1', 'v1', 'v0', [(x | 0xabcd0000, x) for x in I16])


# ---- comparisons -------------------------------------------------------------------------------------------------------------------

def comparisons():
    ints = {'lt': lambda a, b: a < b, 'eq': lambda a, b: a == b, 'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b, 'ne': lambda a, b: a != b,
            'ge': lambda a, b: a >= b}
    mask = lambda c: 'all' if c else 0
    for p, vals, ins, regs in (('i32', I32, 'v1 v2', 'v1, v2'), ('u32', I32, 'v1 v2', 'v1, v2'), ('i64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'),
                               ('u64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'), ('i16', I16, 'v1 v2', 'v1, v2'), ('u16', I16, 'v1 v2', 'v1, v2')):
        bits = int(p[1:])
        for name, f in ints.items():
            val = (lambda x: signed(x, bits)) if p[0] == 'i' else (lambda x: x)
            rows = [(a, b, mask(f(val(a), val(b)))) for a, b in pairs(vals, vals, 12)] + [(vals[2], vals[2], mask(f(0, 0)))]
            op('all', 'v_cmp_%s_%s_e64 $m8, %s' % (name, p, regs), ins, 'm8', rows)
    fl = {'lt': lambda r: r == '<', 'eq': lambda r: r == '=', 'le': lambda r: r in '<=', 'gt': lambda r: r == '>', 'lg': lambda r: r in '<>',
          'ge': lambda r: r in '>=', 'o': lambda r: r != '?', 'u': lambda r: r == '?', 'nge': lambda r: r not in '>=', 'nlg': lambda r: r not in '<>',
          'ngt': lambda r: r != '>', 'nle': lambda r: r not in '<=', 'neq': lambda r: r != '=', 'nlt': lambda r: r != '<'}
    for f, p, vals, ins, regs in ((F32, 'f32', FS, 'v1 v2', 'v1, v2'), (F16, 'f16', HS, 'v1 v2', 'v1, v2'), (F64, 'f64', DS, 'v2:2 v4:2', 'v[2:3], v[4:5]')):
        def rel(a, b):
            if f.is_nan(a) or f.is_nan(b):
                return '?'
            key = lambda x: (-1 if x & f.sign else 1) * Fraction(10) ** 400 if f.is_inf(x) else f.value(x)
            return '<' if key(a) < key(b) else '>' if key(a) > key(b) else '='
        for name, g in fl.items():
            op('all', 'v_cmp_%s_%s_e64 $m8, %s' % (name, p, regs), ins, 'm8',
               [(a, b, mask(g(rel(a, b)))) for a, b in pairs(vals, vals, 14) + [(0, f.sign), (vals[-1], vals[-1])]])

        def cls(x):
            if f.is_snan(x):
                return 0
            if f.is_nan(x):
                return 1
            neg, mag = bool(x & f.sign), x & ~f.sign
            if mag == f.inf:
                return 2 if neg else 9
            if mag >> f.m:
                return 3 if neg else 8
            return (4 if neg else 7) if mag else (5 if neg else 6)
        sel = 'v6' if f is F64 else 'v2'
        a = ins.split()[0]
        op('all', 'v_cmp_class_%s_e64 $m8, %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'm8',
           [(x, 1 << k, mask(cls(x) == k)) for x in vals + [f.inf | 1] for k in (cls(x), (cls(x) + 3) % 10)])
    # the mask is that of the active lanes; v_cmpx writes it to EXEC
    op('all', 'v_cmp_lt_u32_e64 $m8, v1, v2', 'v1 v2 exec', 'm8', [('lane', 4, 0xc, 0xc), ('lane', 4, 0xf0, 0)])
    op('9,90a,942', 'v_cmpx_lt_u32_e32 vcc, v1, v2', 'v1 v2 exec', 'vcc exec', [('lane', 4, 'all', 0xf, 0xf), ('lane', 4, 0xc, 0xc, 0xc)])
    op('10+', 'v_cmpx_lt_u32_e32 v1, v2', 'v1 v2 exec', 'exec', [('lane', 4, 'all', 0xf), ('lane', 4, 0xc, 0xc)])
    op('10+', 'v_cmpx_eq_f32_e32 v1, v2', 'v1 v2', 'exec', [(0, 0x80000000, 'all'), (0x7fc00000, 0x7fc00000, 0)])


# ---- lane crossing, sub-dwords, pairs ------------------------------------------------------------------------------------------------------

def crossing():
    def dpp(targets, text, f, lanes=32, bound=True):
        """f: the lane that lane l reads; None: there is none (bound_ctrl gives zero, else the destination stays)."""
        probe = [l for l in (0, 1, 2, 3, 5, 7, 8, 14, 15, 16, 17, 23, 30, 31) if l < lanes]
        got = [f(l) for l in probe]
        op(targets, 'v_mov_b32_dpp v0, v1 ' + text, 'v1', ' '.join('v0@%d' % l for l in probe),
           [['lane'] + [g if g is not None else (0 if bound else 0xa5a5a5a5) for g in got]])
    row = lambda l: l & ~15
    inside = lambda l, n: n if row(l) <= n < row(l) + 16 else None
    full = ' row_mask:0xf bank_mask:0xf'
    bc = full + ' bound_ctrl:1'
    dpp('all', 'quad_perm:[3,2,1,0]' + full, lambda l: (l & ~3) | (3 - (l & 3)))
    dpp('all', 'quad_perm:[1,1,0,2]' + full, lambda l: (l & ~3) | (1, 1, 0, 2)[l & 3])
    for n in (1, 3, 15):
        dpp('all', 'row_shl:%d' % n + bc, lambda l: inside(l, l + n))
        dpp('all', 'row_shr:%d' % n + bc, lambda l: inside(l, l - n))
        dpp('all', 'row_ror:%d' % n + full, lambda l: row(l) | ((l - n) & 15))
    dpp('all', 'row_shr:1' + full, lambda l: inside(l, l - 1), bound=False)
    dpp('all', 'row_mirror' + full, lambda l: row(l) | (15 - (l & 15)))
    dpp('all', 'row_half_mirror' + full, lambda l: (l & ~7) | (7 - (l & 7)))
    dpp('9,90a,942', 'wave_shl:1' + bc, lambda l: l + 1)
    dpp('9,90a,942', 'wave_shr:1' + bc, lambda l: l - 1 if l else None)
    dpp('9,90a,942', 'wave_rol:1' + full, lambda l: l + 1)
    dpp('9,90a,942', 'wave_ror:1' + full, lambda l: (l - 1) & 63)
    dpp('9,90a,942', 'row_bcast:15 row_mask:0xa bank_mask:0xf', lambda l: 15 if l >= 16 else None, bound=False)
    dpp('90a,942', 'row_newbcast:5' + full, lambda l: row(l) | 5)
    dpp('10+', 'row_share:5' + full, lambda l: row(l) | 5)
    dpp('10+', 'row_xmask:6' + full, lambda l: l ^ 6)
    dpp('10+', 'dpp8:[7,6,5,4,3,2,1,0]', lambda l: (l & ~7) | (7 - (l & 7)))
    dpp('10+', 'dpp8:[0,0,1,1,2,2,7,7]', lambda l: (l & ~7) | (0, 0, 1, 1, 2, 2, 7, 7)[l & 7])
    # row_mask and bank_mask: lanes that keep what they have
    dpp('all', 'quad_perm:[0,0,0,0] row_mask:0x2 bank_mask:0xf', lambda l: (l & ~3) if l >= 16 else None, bound=False)
    dpp('all', 'quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0x1', lambda l: (l & ~3) if l & 12 == 0 else None, bound=False)
    op('all', 'v_add_f32_dpp v0, -v1, |v2| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf', 'v1@0 v1@1 v2', 'v0@0 v0@1',
       [(0x40000000, 0x3f800000, 0xc0400000, 0x40000000, 0x3f800000)])
    # any lane of the row, of the other row; in pairs of selectors' registers
    op('10+', 'v_permlane16_b32 v0, v1, s4, s5', 'v1 s4 s5', 'v0@0 v0@1 v0@15 v0@16 v0@31', [('lane', 0x76543210, 0xfedcba98, 0, 1, 15, 16, 31),
       ('lane', 0x0123456f, 0x3edcba98, 15, 6, 3, 31, 19)])
    op('10+', 'v_permlanex16_b32 v0, v1, s4, s5', 'v1 s4 s5', 'v0@0 v0@1 v0@15 v0@16 v0@31', [('lane', 0x76543210, 0xfedcba98, 16, 17, 31, 0, 15)])
    # sub-dword operands and results
    w = '9,10'
    op(w, 'v_and_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD', 'v1 v2', 'v0', [(0x11223344, M32, 0x33)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3', 'v1 v2', 'v0', [(0x11220000, 0x44000000, 0x1166)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x12, 0x4, 0xa516a5a5)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x12, 0x84, 0x9600)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x8000, 1, 0xffff8001), (0x4000, 1, 0x4001)])
    op(w, 'v_or_b32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD', 'v1 v2', 'v0', [(0x80, 0, 0xffffff80), (0x7f, 0, 0x7f)])
    op('9', 'v_min_u16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1', 'v1 v2', 'v0', [(0x12348000, 0x90000001, 0x8000)])
    op('9', 'v_add_u16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD', 'v1 v2', 'v0', [(0xffff1234, 0x56780001, 0)])
    op(w, 'v_add_f32_sdwa v0, v1, -v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x40400000, 0x3f800000, 0x40000000)])
    # VOPD: both halves read before either writes
    op('11,12', 'v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x40000000, 0x40400000, 0x3f800000, 0x3f800000, 0x40c00000, 0x40000000)])
    op('11,12', 'v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0', 'v0 v1', 'v0 v1', [(1, 2, 2, 1)])
    op('11,12', 'v_dual_fmac_f32 v0, v1, v2 :: v_dual_sub_f32 v3, v4, v5', 'v0 v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x40000000, 0x40400000, 0x40400000, 0x3f800000, 0x40e00000, 0x40000000)])
    op('11,12', 'v_dual_subrev_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3',
       [(0x3f800000, 0x40400000, 0x40000000, 0x40000000, 0x40000000, 0x40800000)])
    op('11,12', 'v_dual_add_f32 v0, v1, v2 :: v_dual_add_nc_u32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x3f800000, M32, 2, 0x40000000, 1)])
    op('11,12', 'v_dual_add_f32 v0, v1, v2 :: v_dual_lshlrev_b32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x3f800000, 33, 3, 0x40000000, 6)])
    op('11,12', 'v_dual_cndmask_b32 v0, v1, v2 :: v_dual_and_b32 v3, v4, v5', 'v1 v2 v4 v5 vcc', 'v0@0 v0@1 v3', [(1, 2, 0xff, 0x0f, 2, 1, 2, 0xf)])


def packed():
    lo, hi = (lambda x: x & M16), (lambda x: x >> 16)
    H = lambda x: signed(x, 16)
    vals = [0x00010002, 0x7fff8000, 0xffff0001, 0x12345678, 0x80007fff]
    def two(name, f, targets='all', vals=vals):
        op(targets, name + ' v0, v1, v2', 'v1 v2', 'v0', [(a, b, (f(lo(a), lo(b)) & M16) | (f(hi(a), hi(b)) & M16) << 16) for a, b in pairs(vals, vals, 12)])
    two('v_pk_add_u16', lambda a, b: a + b)
    two('v_pk_sub_u16', lambda a, b: a - b)
    two('v_pk_add_i16', lambda a, b: a + b)
    two('v_pk_sub_i16', lambda a, b: a - b)
    two('v_pk_mul_lo_u16', lambda a, b: a * b)
    two('v_pk_min_u16', min)
    two('v_pk_max_u16', max)
    two('v_pk_min_i16', lambda a, b: min(H(a), H(b)))
    two('v_pk_max_i16', lambda a, b: max(H(a), H(b)))
    two('v_pk_lshlrev_b16', lambda a, b: b << (a & 15))
    two('v_pk_lshrrev_b16', lambda a, b: b >> (a & 15))
    two('v_pk_ashrrev_i16', lambda a, b: H(b) >> (a & 15))
    sat = lambda v: min(max(v, -32768), 32767) & M16
    op('all', 'v_pk_add_i16 v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, sat(H(lo(a)) + H(lo(b))) | sat(H(hi(a)) + H(hi(b))) << 16) for a, b in pairs(vals, vals, 12)])
    op('all', 'v_pk_sub_u16 v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, max(lo(a) - lo(b), 0) | max(hi(a) - hi(b), 0) << 16) for a, b in pairs(vals, vals, 12)])
    op('all', 'v_pk_mad_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, ((lo(a) * lo(b) + lo(c)) & M16) | ((hi(a) * hi(b) + hi(c)) & M16) << 16) for a, b, c in triples(vals, vals, vals)])
    op('all', 'v_pk_mad_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, ((lo(a) * lo(b) + lo(c)) & M16) | ((hi(a) * hi(b) + hi(c)) & M16) << 16) for a, b, c in triples(vals, vals, vals)])
    # A constant of integers has 32 bits, also where it is written as a float: LLVM counts on it.
    op('all', 'v_pk_add_u16 v0, v1, 0.5', 'v1', 'v0', [(a, lo(a) | ((hi(a) + 0x3f00) & M16) << 16) for a in vals[:6]])
    op('all', 'v_pk_sub_i16 v0, v1, -1.0 op_sel_hi:[1,0]', 'v1', 'v0', [(a, lo(a) | hi(a) << 16) for a in vals[:6]])
    op('all', 'v_pk_add_u16 v0, v1, -5', 'v1', 'v0', [(a, ((lo(a) - 5) & M16) | ((hi(a) - 1) & M16) << 16) for a in vals[:6]])
    op('all', 'v_pk_add_u16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]', 'v1 v2', 'v0', [(a, b, ((hi(a) + lo(b)) & M16) | ((lo(a) + hi(b)) & M16) << 16) for a, b in pairs(vals, vals, 12)])
    hv = [0x3c004000, 0xbc003800, 0x7c000001, 0xfc000400, 0x7bff7bff]
    two('v_pk_add_f16', F16.add, vals=hv)
    two('v_pk_mul_f16', F16.mul, vals=hv)
    for n, w in (('min', False), ('max', True)):
        two('v_pk_%s_f16' % n, lambda a, b, w=w: F16.minmax(a, b, w, True), '9,90a,942,10,11', hv)
        two('v_pk_%s_num_f16' % n, lambda a, b, w=w: F16.minmax(a, b, w, False), '12', hv)
    op('all', 'v_pk_fma_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F16.fma(lo(a), lo(b), lo(c)) | F16.fma(hi(a), hi(b), hi(c)) << 16) for a, b, c in triples(hv, hv, hv)])
    op('all', 'v_pk_add_f16 v0, v1, v2 neg_lo:[1,0] neg_hi:[0,1]', 'v1 v2', 'v0', [(0x3c003c00, 0x40004000, 0xbc003c00)])
    fv = [0x3f800000c0000000, 0x7f80000000000001, 0x404000003f000000]
    q = lambda f, a, b: f(a & M32, b & M32) | f(a >> 32, b >> 32) << 32
    op('90a,942', 'v_pk_add_f32 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2', 'v0:2', [(a, b, q(F32.add, a, b)) for a in fv for b in fv])
    op('90a,942', 'v_pk_mul_f32 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2', 'v0:2', [(a, b, q(F32.mul, a, b)) for a in fv for b in fv])
    op('90a,942', 'v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2',
       [(a, b, c, F32.fma(a & M32, b & M32, c & M32) | F32.fma(a >> 32, b >> 32, c >> 32) << 32) for a in fv for b in fv for c in fv[:1]])
    # mixed precision: op_sel_hi makes a source a half, op_sel picks which
    op('all', 'v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]', 'v1 v2 v3', 'v0', [(0x40003c00, 0x00004200, 0x3f800000, 0x40e00000)])
    op('all', 'v_fma_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0xa5a54700)])
    op('all', 'v_fma_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0x4700a5a5)])
    part = lambda x, bits, i, s: signed(x >> bits * i, bits) if s else x >> bits * i & ((1 << bits) - 1)
    dot = lambda a, b, c, bits, s: sum(part(a, bits, i, s) * part(b, bits, i, s) for i in range(32 // bits)) + c
    dv, cv = [0x80ff7f01, 0x01020304, 0xfedcba98, M32], [0, 5, 0x7ffffff0, 0x80000000]
    U = '9,90a,942,10'
    op(U + ',11,12', 'v_dot4_u32_u8 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 8, False) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U + ',11,12', 'v_dot8_u32_u4 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 4, False) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U, 'v_dot4_i32_i8 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 8, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U, 'v_dot8_i32_i4 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 4, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op('9,90a,942,10', 'v_dot2_i32_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 16, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op('9,90a,942,10', 'v_dot2_u32_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 16, False) & M32) for a, b, c in triples(dv, dv, cv)])
    mixed = lambda a, b, c, bits, sa, sb: sum(part(a, bits, i, sa) * part(b, bits, i, sb) for i in range(32 // bits)) + S(c)
    for bits, n in ((8, 'v_dot4_i32_iu8'), (4, 'v_dot8_i32_iu4')):
        for sa in (0, 1):
            for sb in (0, 1):
                op('11,12', '%s v0, v1, v2, v3 neg_lo:[%d,%d,0]' % (n, sa, sb), 'v1 v2 v3', 'v0', [(a, b, c, mixed(a, b, c, bits, sa, sb) & M32) for a, b, c in triples(dv, dv, cv)])
    clampi = lambda v: min(max(v, -1 << 31), (1 << 31) - 1) & M32
    op(U, 'v_dot4_i32_i8 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, clampi(mixed(a, b, c, 8, 1, 1))) for a, b, c in triples(dv, dv, cv)])
    op('11,12', 'v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp', 'v1 v2 v3', 'v0', [(a, b, c, clampi(mixed(a, b, c, 8, 1, 1))) for a, b, c in triples(dv, dv, cv)])


def more_vectors():
    mask = lambda c: 'all' if c else 0
    signs = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'ne': '<>', 'ge': '>='}
    floats_ = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'lg': '<>', 'ge': '>=', 'o': '<=>', 'u': '?', 'nge': '<?', 'nlg': '=?', 'ngt': '<=?', 'nle': '>?',
               'neq': '<>?', 'nlt': '>=?'}
    for p, vals, ins, regs in (('i32', I32, 'v1 v2', 'v1, v2'), ('u32', I32, 'v1 v2', 'v1, v2'), ('i64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'),
                               ('u64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'), ('i16', I16, 'v1 v2', 'v1, v2'), ('u16', I16, 'v1 v2', 'v1, v2')):
        bits = int(p[1:])
        val = (lambda x: signed(x, bits)) if p[0] == 'i' else (lambda x: x)
        for n, want in signs.items():
            rows = [(a, b, mask(('<' if val(a) < val(b) else '>' if val(a) > val(b) else '=') in want)) for a, b in pairs(vals, vals, 8) + [(vals[2], vals[2])]]
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), ins, 'm8 exec', [r + (r[-1],) for r in rows])
            op('10+', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), ins, 'exec', rows)
    for f, p, vals, ins, regs in ((F32, 'f32', FS, 'v1 v2', 'v1, v2'), (F16, 'f16', HS, 'v1 v2', 'v1, v2'), (F64, 'f64', DS, 'v2:2 v4:2', 'v[2:3], v[4:5]')):
        for n, want in floats_.items():
            rows = [(a, b, mask(relation(f, a, b) in want)) for a, b in pairs(vals, vals, 8) + [(0, f.sign), (vals[-1], vals[-1])]]
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), ins, 'm8 exec', [r + (r[-1],) for r in rows])
            op('10+', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), ins, 'exec', rows)
        sel = 'v6' if f is F64 else 'v2'
        a = ins.split()[0]
        rows = [(0, 1 << 6, 'all'), (f.sign, 1 << 6, 0), (f.inf, 1 << 9, 'all'), (f.nan, 1 << 1, 'all'), (f.inf | 1, 1, 'all'), (1, 1 << 7, 'all')]
        op('9,90a,942', 'v_cmpx_class_%s_e64 $m8, %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'm8 exec', [r + (r[-1],) for r in rows])
        op('10+', 'v_cmpx_class_%s_e64 %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'exec', rows)
    for p, regs in (('i32', 'v1, v2'), ('u32', 'v1, v2'), ('i64', 'v[2:3], v[4:5]'), ('u64', 'v[2:3], v[4:5]')):
        for n, v in (('f', 0), ('t', 'all')):
            op('9,90a,942,10,11', 'v_cmp_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8', [(1, 2, v), (2, 2, v)])
    for p, regs in (('f32', 'v1, v2'), ('f16', 'v1, v2'), ('f64', 'v[2:3], v[4:5]')):
        op('9,90a,942,10,11', 'v_cmp_f_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 0)])
        op('9,90a,942,10', 'v_cmp_tru_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 'all')])
        op('11', 'v_cmp_t_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 'all')])
    # always and never, written to EXEC too
    for p, regs, targets in (('i16', 'v1, v2', '9,90a,942'), ('u16', 'v1, v2', '9,90a,942')):
        for n, v in (('f', 0), ('t', 'all')):
            op(targets, 'v_cmp_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8', [(1, 2, v), (2, 2, v)])
            op(targets, 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8 exec', [(1, 2, v, v)])
    for p, regs in (('i32', 'v1, v2'), ('u32', 'v1, v2'), ('i64', 'v[2:3], v[4:5]'), ('u64', 'v[2:3], v[4:5]'), ('f32', 'v1, v2'), ('f16', 'v1, v2'),
                    ('f64', 'v[2:3], v[4:5]')):
        for n, v in (('f', 0), ('tru' if p[0] == 'f' else 't', 'all')):
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8 exec', [(1, 2, v, v), (2, 2, v, v)])
            op('10', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), 'v1 v2', 'exec', [(1, 2, v), (2, 2, v)])
            op('11', 'v_cmpx_%s_%s_e64 %s' % (n[0], p, regs), 'v1 v2', 'exec', [(1, 2, v), (2, 2, v)])
    op('11,12', 'v_permlane64_b32 v0, v1', 'v1', 'v0', [('lane', 0xa5a5a5a5)])      # no operation in a wave of 32
    op('942', 'v_mov_b64 v[0:1], v[2:3]', 'v2:2', 'v0:2', [(x, x) for x in I64])
    op('10+', 'v_swap_b32 v0, v1', 'v0 v1', 'v0 v1', [(1, 2, 2, 1)])
    op('90a,942', 'v_accvgpr_write_b32 a5, v1', 'v1', 'v1', [(7, 7)])
    op('90a,942', 'v_accvgpr_read_b32 v0, a5', 'v1', 'v0', [(7, 0xa5a5a5a5)])
    op('90a,942', 'v_accvgpr_mov_b32 a3, a5', 'v1', 'v1', [(7, 7)])
    op('11,12', 'v_not_b16 v0, v1', 'v1', 'v0.l', [(x, ~x & M16) for x in I16])
    op('11,12', 'v_cndmask_b16 v0, v1, v2, $m8', 'v1 v2 m8', 'v0.l', [(1, 2, 0, 1), (1, 2, 'all', 2)])
    op('9,90a,942', 'v_subrev_u16 v0, v1, v2', 'v1 v2', 'v0', [(a, b, (b - a) & M16) for a, b in pairs(I16, I16, 10)])
    H = lambda x: signed(x, 16)
    op('all', 'v_mad_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, (H(a) * H(b) + H(c)) & M16) for a, b, c in triples(I16, I16, I16)])
    op('12', 'v_mad_co_i64_i32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2', [(a, b, c, (S(a) * S(b) + c) & M64) for a, b, c in triples(I32, I32, I64)])
    op('9,90a', 'v_mad_f32 v0, v1, v2, v3', 'v1 v2 v3 mode', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0x3c0, 0x40e00000)])
    fin = [x for x in FN if not F32.is_denormal(x)]
    for t, n1, n2 in (('11', 'v_maxmin_f32', 'v_minmax_f32'), ('12', 'v_maxmin_num_f32', 'v_minmax_num_f32')):
        op(t, n1 + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, True, False), c, False, False)) for a, b, c in triples(fin, fin, fin)])
        op(t, n2 + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, False, False), c, True, False)) for a, b, c in triples(fin, fin, fin)])
    for name, w in (('minimum3', False), ('maximum3', True)):
        op('12', 'v_%s_f32 v0, v1, v2, v3' % name, 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, w, False), c, w, False)) for a, b, c in triples(fin, fin, fin)]
           + [(0x7fc00000, 0, 0, 0x7fc00000), (0, 0, 0x7fc00000, 0x7fc00000)])
    for name, w in (('minimum', False), ('maximum', True)):
        op('12', 'v_pk_%s_f16 v0, v1, v2' % name, 'v1 v2', 'v0', [(0x3c004000, 0x40003c00, 0x40004000 if w else 0x3c003c00), (0x7e003c00, 0x3c007e00, 0x7e007e00), (0x80000000, 0x8000, 0 if w else 0x80008000)])
    hfin = [x for x in HN]
    for t, pre in (('9,90a,942,10,11', ''), ('12', 'num_')):
        for name, w in (('min3', False), ('max3', True)):
            op(t, 'v_%s_%sf16 v0, v1, v2, v3' % (name, pre), 'v1 v2 v3', 'v0.l', [(a, b, c, F16.minmax(F16.minmax(a, b, w, False), c, w, False)) for a, b, c in triples(hfin, hfin, hfin)])
        op(t, 'v_med3_%sf16 v0, v1, v2, v3' % pre, 'v1 v2 v3', 'v0.l', [(a, b, c, sorted((a, b, c), key=F16.value)[1]) for a, b, c in triples([0x3c00, 0xbc00, 0x4248, 0x4900], [0xc900, 0x3800, 0x4400], [0x4000, 0xc000])])
    op('10+', 'v_rcp_iflag_f32 v0, v1', 'v1', 'v0', [(0x40000000, 0x3f000000), (0x3f800000, 0x3f800000)])
    op('9,90a,942', 'v_rcp_iflag_f32 v0, v1', 'v1', 'v0', [(0x40000000, 0x3f000000), (0x3f800000, 0x3f800000)])
    op('all', 'v_fract_f64 v[0:1], v[2:3]', 'v2:2', 'v0:2', [(F64.round(Fraction(x, 4)), F64.round(Fraction(x % 4, 4))) for x in (-14, -5, -1, 1, 5, 14)])
    op('90a,942', 'v_fmac_f64 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2 v0:2', 'v0:2', [(a, b, c, F64.fma(a, b, c)) for a, b, c in triples(DN, DN, DN)])
    op('10+', 'v_fmac_f16 v0, v1, v2', 'v1 v2 v0', 'v0.l', [(a, b, c, F16.fma(a, b, c)) for a, b, c in triples(HN, HN, HN)])
    op('10+', 'v_fmaak_f16 v0, v1, v2, 0x4000', 'v1 v2', 'v0.l', [(a, b, F16.fma(a, b, 0x4000)) for a, b in pairs(HN, HN, 8)])
    op('10+', 'v_fmamk_f16 v0, v1, 0x4000, v2', 'v1 v2', 'v0.l', [(a, b, F16.fma(a, 0x4000, b)) for a, b in pairs(HN, HN, 8)])
    # the last step of a division: what the quotient (first) is for special operands (denominator, numerator)
    one, two, inf, nan = 0x3f800000, 0x40000000, 0x7f800000, 0x7fc00000
    neg = 0x80000000
    fix = [(0x3f000000, two, one, 0x3f000000), (0x3f000000, neg | two, one, 0xbf000000), (nan, one, nan, nan), (nan, 0, 0, nan), (nan, inf, inf, nan),
           (nan, 0, one, inf), (nan, neg, one, inf | neg), (nan, inf, one, 0), (nan, inf | neg, one, neg), (nan, one, inf, inf), (nan, one, 0, 0), (nan, neg | one, 0, neg)]
    for q, d, n, want in fix:
        if F32.is_nan(want) and not F32.is_nan(d) and not F32.is_nan(n):
            continue            # whose sign the NaN of 0/0 has is not said
        op('all', 'v_div_fixup_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(q, d, n, want)])
    w = lambda x: {0x3f000000: 0x3fe << 52, one: 0x3ff << 52, two: 1 << 62, inf: 0x7ff << 52, nan: 0x7ff8 << 48, 0: 0}[x & ~neg] | (1 << 63 if x & neg else 0)
    hh = lambda x: {0x3f000000: 0x3800, one: 0x3c00, two: 0x4000, inf: 0x7c00, nan: 0x7e00, 0: 0}[x & ~neg] | (0x8000 if x & neg else 0)
    rows = [r for r in fix if not F32.is_nan(r[3])]
    op('all', 'v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2', [tuple(w(x) for x in r) for r in rows])
    op('all', 'v_div_fixup_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [tuple(hh(x) for x in r) for r in rows])
    # fma; what the documents say of a set VCC gives no right quotients with what they say of v_div_scale: tests of quotients have that
    op('all', 'v_div_fmas_f32 v0, v1, v2, v3', 'v1 v2 v3 vcc', 'v0', [(two, two, one, 0, 0x40a00000)])
    op('all', 'v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2 vcc', 'v0:2', [(1 << 62, 1 << 62, 0x3ff << 52, 0, 0x4014 << 48)])
    # operands that need no scaling stay
    op('9,90a,942,10,11', 'v_div_scale_f32 v0, $vcc, v1, v2, v3', 'v1 v2 v3', 'v0 vcc', [(two, two, one, two, 0), (one, two, one, one, 0)])
    op('12', 'v_div_scale_f32 v0, $vcc, v1, v2, v3', 'v1 v2 v3', 'v0 vcc', [(two, two, one, two, 0), (one, two, one, one, 0)])
    op('all', 'v_div_scale_f64 v[0:1], $vcc, v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2 vcc', [(1 << 62, 1 << 62, 0x3ff << 52, 1 << 62, 0)])
    # dot products: exact products of halves
    op('9,90a,942,10,11,12', 'v_dot2_f32_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000), (0, 0, one, one)])
    dv, cv = [0x80ff7f01, 0x01020304, 0xfedcba98, M32], [0, 5, 0x7ffffff0, 0x80000000]
    part = lambda x, bits, i: signed(x >> bits * i, bits)
    dot = lambda a, b, c, bits: (sum(part(a, bits, i) * part(b, bits, i) for i in range(32 // bits)) + c) & M32
    for t, n, bits in (('90a,942,10', 'v_dot4c_i32_i8', 8), ('90a,942', 'v_dot8c_i32_i4', 4), ('90a,942', 'v_dot2c_i32_i16', 16)):
        op(t, n + ' v0, v1, v2', 'v1 v2 v0', 'v0', [(a, b, c, dot(a, b, c, bits)) for a, b, c in triples(dv, dv, cv)])
    op('90a,942,10', 'v_dot2c_f32_f16 v0, v1, v2', 'v1 v2 v0', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000)])
    op('11', 'v_dot2acc_f32_f16 v0, v1, v2', 'v1 v2 v0', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000), (0x3c00, 0xc000, 0x40000000, 0)])
