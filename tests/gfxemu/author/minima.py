# SPDX-License-Identifier: Apache-2.0
# Tables of floats' minima, maxima and medians with NaN of both kinds, in both states of the IEEE mode; and of bit fields.
from table import F16, F32, F64, M16, M32, M64, op, signed

IEEE, NOT = 0x3f0, 0x1f0
# Which NaN of two quiet ones comes out: "Vega", "CDNA3" and "RDNA2" test S0 first, "RDNA3" S1.
FAMILIES = (('9,90a,942,10', 'second', ''), ('11', 'first', ''), ('12', 'quiet', '_num'))


def loses(f, a, b, want_max, rule, ieee):
    """V_MIN, V_MAX (RDNA4: V_MIN_NUM, V_MAX_NUM)."""
    if rule == 'quiet':             # RDNA4 has no IEEE mode
        if f.is_nan(a) and f.is_nan(b):
            return f.quieted(a)
    elif ieee:
        for x in (a, b):
            if f.is_snan(x):
                return f.quieted(x)
    if rule == 'first' and f.is_nan(b):
        return a
    if f.is_nan(a):
        return b
    if f.is_nan(b):
        return a
    return (b if f.less(a, b) else a) if want_max else (a if f.less(a, b) else b)


def wins(f, a, b, want_max):
    """V_MINIMUM, V_MAXIMUM."""
    for test in (f.is_snan, f.is_nan):
        for x in (a, b):
            if test(x):
                return f.quieted(x)
    return loses(f, a, b, want_max, 'quiet', False)


def values(f):
    one = f.round(1)
    return [0, f.sign, one, f.sign | one, f.inf, f.sign | f.inf, 1, f.nan | 5, f.sign | f.nan | 3, f.inf | 9, f.sign | f.inf | 6]


def pairs_of(f):
    v = values(f)
    return [(a, b) for a in v for b in v if f.is_nan(a) or f.is_nan(b)] + [(v[i], v[j]) for i in range(7) for j in (0, 1, 2, 5)]


def triples_of(f):
    v = values(f)
    return [(v[(i + k) % 11], v[(3 * i + k) % 11], v[(7 * i + 2 * k) % 11]) for i in range(11) for k in range(4)]


def median(f, a, b, c, m2):
    if any(f.is_nan(x) for x in (a, b, c)):
        return m2(m2(a, b, False), c, False)
    low, mid, high = sorted((a, b, c), key=lambda x: (f.inf + 1) * 2 + (-1 - (x & ~f.sign) if x & f.sign else x))
    same = lambda x, y: x == y or not (x | y) & ~f.sign     # the two zeros are equal where the largest is looked for
    return m2(b, c, True) if same(high, a) else m2(a, c, True) if same(high, b) else m2(a, b, True)


def minima():
    for f, p, out in ((F32, 'f32', 'v0'), (F16, 'f16', 'v0.l'), (F64, 'f64', 'v0:2')):
        regs, ins = ('v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2') if f is F64 else ('v0, v1, v2', 'v1 v2')
        for targets, rule, num in FAMILIES:
            for name in ('min', 'max'):
                m = lambda a, b, mode, w=name == 'max', rule=rule: loses(f, a, b, w, rule, mode == IEEE)
                op(targets, 'v_%s%s_%s %s' % (name, num, p, regs), ins + ' mode', out,
                   [(a, b, mode, m(a, b, mode)) for mode in (IEEE, NOT) for a, b in pairs_of(f)])
                if f is not F64:
                    op(targets, 'v_%s3%s_%s v0, v1, v2, v3' % (name, num, p), 'v1 v2 v3 mode', out,
                       [(a, b, c, mode, m(m(a, b, mode), c, mode)) for mode in (IEEE, NOT) for a, b, c in triples_of(f)])
            if f is F64:
                continue
            m2 = lambda a, b, w, mode, rule=rule: loses(f, a, b, w, rule, mode == IEEE)
            op(targets, 'v_med3%s_%s v0, v1, v2, v3' % (num, p), 'v1 v2 v3 mode', out,
               [(a, b, c, mode, median(f, a, b, c, lambda x, y, w, mode=mode: m2(x, y, w, mode))) for mode in (IEEE, NOT) for a, b, c in triples_of(f)])
            if rule != 'second':
                for name, first in (('maxmin', True), ('minmax', False)):
                    op(targets, 'v_%s%s_%s v0, v1, v2, v3' % (name, num, p), 'v1 v2 v3 mode', out,
                       [(a, b, c, mode, m2(m2(a, b, first, mode), c, not first, mode)) for mode in (IEEE, NOT) for a, b, c in triples_of(f)])
        for name, w in (('minimum', False), ('maximum', True)):
            op('12', 'v_%s_%s %s' % (name, p, regs), ins, out, [(a, b, wins(f, a, b, w)) for a, b in pairs_of(f)])
            if f is not F64:
                other = 'maximum' if name == 'minimum' else 'minimum'
                op('12', 'v_%s3_%s v0, v1, v2, v3' % (name, p), 'v1 v2 v3', out,
                   [(a, b, c, wins(f, wins(f, a, b, w), c, w)) for a, b, c in triples_of(f)])
                op('12', 'v_%s%s_%s v0, v1, v2, v3' % (name, other, p), 'v1 v2 v3', out,
                   [(a, b, c, wins(f, wins(f, a, b, w), c, not w)) for a, b, c in triples_of(f)])
                # from scalar registers: a half clears the upper 16 bits
                op('12', 's_%s_%s s0, s4, s6' % (name, p), 's4 s6', 's0', [(a, b, wins(f, a, b, w)) for a, b in pairs_of(f)])
    op('950', 'v_minimum3_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, wins(F32, wins(F32, a, b, False), c, False)) for a, b, c in triples_of(F32)])
    for f, p in ((F32, 'f32'), (F16, 'f16')):
        for name, w in (('min', False), ('max', True)):
            op('gfx1151', 's_%s_%s s0, s4, s6' % (name, p), 's4 s6 mode', 's0',
               [(a, b, mode, loses(f, a, b, w, 'first', mode == IEEE)) for mode in (IEEE, NOT) for a, b in pairs_of(f)])
            op('12', 's_%s_num_%s s0, s4, s6' % (name, p), 's4 s6', 's0', [(a, b, loses(f, a, b, w, 'quiet', False)) for a, b in pairs_of(f)])
    packed_minima()


def packed_minima():
    two = pairs_of(F16)
    both = [(a | x << 16, b | y << 16) for (a, b), (x, y) in zip(two, two[7:] + two[:7])]
    for targets, rule, num in FAMILIES:
        for name, w in (('min', False), ('max', True)):
            m = lambda a, b, mode, w=w, rule=rule: loses(F16, a & M16, b & M16, w, rule, mode == IEEE)
            op(targets, 'v_pk_%s%s_f16 v0, v1, v2' % (name, num), 'v1 v2 mode', 'v0',
               [(a, b, mode, m(a, b, mode) | m(a >> 16, b >> 16, mode) << 16) for mode in (IEEE, NOT) for a, b in both])
    for name, w in (('minimum', False), ('maximum', True)):
        m = lambda a, b, w=w: wins(F16, a & M16, b & M16, w)
        op('12', 'v_pk_%s_f16 v0, v1, v2' % name, 'v1 v2', 'v0', [(a, b, m(a, b) | m(a >> 16, b >> 16) << 16) for a, b in both])
        op('950', 'v_pk_%s3_f16 v0, v1, v2, v3' % name, 'v1 v2 v3', 'v0',
           [(a, b, a ^ 0x80008000, m(m(a, b), a ^ 0x8000) | m(m(a >> 16, b >> 16), a >> 16 ^ 0x8000) << 16) for a, b in both])


def fields():
    """Bit fields that reach beyond the source: the signed ones are shifted as signed numbers, then cut, then extended."""
    def cut(x, at, n, bits):
        v = signed(x, bits) >> at
        return signed(v & (1 << n) - 1, n) if n else 0
    sources = [0xbdd3869b, 0x80000000, 0x7fffffff, 0xffffffff, 0x40000001]
    places = [(17, 16), (31, 2), (31, 31), (16, 17), (20, 12), (20, 13), (1, 31), (0, 31), (30, 1), (31, 1), (5, 0)]
    assert cut(0xbdd3869b, 17, 16, 32) & M32 == 0xffffdee9
    rows = [(a, at, n) for a in sources for at, n in places]
    op('all', 'v_bfe_i32 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, at, n, cut(a, at, n, 32) & M32) for a, at, n in rows])
    op('all', 's_bfe_i32 s0, s4, s5', 's4 s5', 's0 scc',
       [(a, at | n << 16, cut(a, at, n, 32) & M32, int(cut(a, at, n, 32) != 0)) for a, at, n in rows + [(a, 0, 32) for a in sources]])
    wide = [0xbdd3869b12345678, 1 << 63, (1 << 63) - 1, M64, 0x40000000ffff0000]
    places = [(33, 40), (63, 2), (63, 63), (32, 33), (40, 24), (1, 63), (0, 64), (5, 0)]
    rows = [(a, at, n) for a in wide for at, n in places]
    op('all', 's_bfe_i64 s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc',
       [(a, at | n << 16, cut(a, at, n, 64) & M64, int(cut(a, at, n, 64) != 0)) for a, at, n in rows])
