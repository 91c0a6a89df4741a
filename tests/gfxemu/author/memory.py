# SPDX-License-Identifier: Apache-2.0
# Tables of loads, stores, atomics and images.
from fractions import Fraction

from table import DN, F32, F64, I32, I64, M16, M32, mem, op, pairs, signed


OLD, NEW = '9,90a,942,10', '11,12'


def buffer_forms(targets, text):
    """RDNA4 writes an offset of zero as null."""
    if not text.startswith('buffer') or targets == OLD:
        return [(targets, text)]
    return [('11', text), ('12', text.replace('], 0', '], null'))]


def loads_and_stores():
    def reads(prefix, operands, offset, keep=0xa5a5a5a5):
        """operands: what stands between the destination and the offset."""
        b, w = mem(offset, 1), mem(offset, 2)
        for old, new, value in (('ubyte', 'u8', b), ('sbyte', 'i8', signed(b, 8) & M32), ('ushort', 'u16', w), ('sshort', 'i16', signed(w, 16) & M32),
                                ('dword', 'b32', mem(offset, 4)), ('short_d16', 'd16_b16', keep & 0xffff0000 | w),
                                ('short_d16_hi', 'd16_hi_b16', keep & M16 | w << 16), ('ubyte_d16', 'd16_u8', keep & 0xffff0000 | b),
                                ('ubyte_d16_hi', 'd16_hi_u8', keep & M16 | b << 16), ('sbyte_d16', 'd16_i8', keep & 0xffff0000 | signed(b, 8) & M16),
                                ('sbyte_d16_hi', 'd16_hi_i8', keep & M16 | (signed(b, 8) & M16) << 16)):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_load_%s v0, %s' % (prefix, n, operands), 'v0', value
        for k, old, new in ((2, 'dwordx2', 'b64'), (3, 'dwordx3', 'b96'), (4, 'dwordx4', 'b128')):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_load_%s v[0:%d], %s' % (prefix, n, k - 1, operands), ' '.join('v%d' % j for j in range(k)), \
                    [mem(offset + 4 * j, 4) for j in range(k)]

    def writes(prefix, fmt):
        """fmt: the operands around the data's registers. The data is 0x44332211 and on, stored at 8."""
        for old, new, size, hi in (('byte', 'b8', 1, 0), ('short', 'b16', 2, 0), ('dword', 'b32', 4, 0), ('byte_d16_hi', 'd16_hi_b8', 1, 1),
                                   ('short_d16_hi', 'd16_hi_b16', 2, 1)):
            m = (1 << 8 * size) - 1
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_store_%s %s' % (prefix, n, fmt % 'v2'), 'v2', [0x44332211], [mem(8, 4) & ~m | (0x44332211 >> 16 * hi) & m, mem(12, 4), mem(16, 4), mem(20, 4)]
        data = [0x44332211, 0x88776655, 0xccbbaa99, 0x10ffeedd]
        for k, old, new in ((2, 'dwordx2', 'b64'), (3, 'dwordx3', 'b96'), (4, 'dwordx4', 'b128')):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_store_%s %s' % (prefix, n, fmt % ('v[2:%d]' % (k + 1))), ' '.join('v%d' % (2 + j) for j in range(k)), data[:k], \
                    [data[j] if j < k else mem(8 + 4 * j, 4) for j in range(4)]

    as_list = lambda v: v if isinstance(v, list) else [v]
    for t, text, outs, value in reads('global', 'v[30:31], off offset:6', 6):
        op(t, text, 'exec', outs, [['all'] + as_list(value)])
    for t, text, outs, value in reads('flat', 'v[30:31]', 0):
        op(t, text, 'exec', outs, [['all'] + as_list(value)])
    for t, text, outs, value in reads('scratch', 'v1, off offset:4', 12):
        op(t, text, 'v1', outs, [[8] + as_list(value)])
    for t, text, outs, value in reads('buffer', 'off, s[24:27], 0 offset:4', 4):
        for tt, tx in buffer_forms(t, text):
            op(tt, tx, 'exec', outs, [['all'] + as_list(value)])
    for prefix, fmt, col, ins, vals in (('global', 'v[30:31], %s, off offset:8', 'g', '', []), ('scratch', 'v1, %s, off offset:4', 'p', 'v1 ', [4]),
                                        ('flat', 'v[0:1], %s', 'g', None, None), ('buffer', '%s, off, s[24:27], 0 offset:8', 'g', '', [])):
        if prefix == 'flat':
            fmt, ins, vals = 'v[30:31], %s', '', []
        for t, text, cols, data, want in writes(prefix, fmt):
            outs = ' '.join('%s%d' % (col, j) for j in ((0, 1, 2, 3) if prefix == 'flat' else (2, 3, 4, 5)))
            if prefix == 'flat':        # at 0: what stands there is other
                n = 4 * len(data)
                size = 1 if 'byte' in text or '_b8' in text else 2 if 'short' in text or '_b16' in text else n
                m = (1 << 8 * size) - 1
                src = data[0] >> 16 if '_hi' in text else data[0]
                want = [mem(0, 4) & ~m | src & m] + [mem(4 * j, 4) for j in (1, 2, 3)] if size < 4 else data + [mem(4 * j, 4) for j in range(len(data), 4)]
            for tt, tx in buffer_forms(t, text):
                op(tt, tx, ins + cols, outs, [vals + data + want])
    # addresses: each lane its own; a scalar base; descriptors bound what they reach
    op('all', 'global_load_dword v0, v1, s[20:21] offset:4' , 'v1', 'v0@0 v0@1 v0@31', [('lane', mem(4, 4), mem(5, 4), mem(35, 4))])
    op('9,90a,942,10', 'buffer_load_dword v0, v1, s[24:27], 0 offen', 'v1', 'v0', [(8, mem(8, 4)), (256, 0), (0xfffffff0, 0)])
    op('9,90a,942,10', 'buffer_load_dword v0, v1, s[24:27], s4 offen offset:4', 'v1 s4', 'v0', [(8, 4, mem(16, 4))])
    for t, a, b, c in ((OLD, 'dword', 'dwordx2', 'dwordx4'), (NEW, 'b32', 'b64', 'b128')):
        op(t, 's_load_%s s0, s[20:21], 0x8' % a, 'scc', 's0', [(0, mem(8, 4))])
        op(t, 's_load_%s s[0:1], s[20:21], 0x8' % b, 'scc', 's0:2', [(0, mem(8, 8))])
        op(t, 's_load_%s s[0:3], s[20:21], 0x10' % c, 'scc', 's0 s1 s2 s3', [(0, mem(16, 4), mem(20, 4), mem(24, 4), mem(28, 4))])
    for n, v in (('u8', mem(5, 1)), ('i8', signed(mem(5, 1), 8) & M32), ('u16', mem(5 - 1, 2)), ('i16', signed(mem(4, 2), 16) & M32)):
        op('12', 's_load_%s s0, s[20:21], 0x%x' % (n, 5 if '8' in n else 4), 'scc', 's0', [(0, v)])
    # LDS
    for old, new, value in (('u8', 'u8', mem(5, 1)), ('i8', 'i8', signed(mem(5, 1), 8) & M32), ('u16', 'u16', mem(6, 2)), ('i16', 'i16', signed(mem(6, 2), 16) & M32),
                            ('b32', 'b32', mem(8, 4)), ('u16_d16', 'u16_d16', 0xa5a50000 | mem(6, 2)), ('u16_d16_hi', 'u16_d16_hi', 0xa5a5 | mem(6, 2) << 16),
                            ('u8_d16', 'u8_d16', 0xa5a50000 | mem(5, 1)), ('u8_d16_hi', 'u8_d16_hi', 0xa5a5 | mem(5, 1) << 16),
                            ('i8_d16', 'i8_d16', 0xa5a50000 | signed(mem(5, 1), 8) & M16), ('i8_d16_hi', 'i8_d16_hi', 0xa5a5 | (signed(mem(5, 1), 8) & M16) << 16)):
        at = 8 if old == 'b32' else 6 if '16' in old.split('_')[0] else 5
        for t, n in ((OLD, 'ds_read_' + old), (NEW, 'ds_load_' + new)):
            op(t, n + ' v0, v1 offset:3', 'v1', 'v0', [(at - 3, value)])
    for k in (2, 3, 4):
        for t, n in ((OLD, 'ds_read_b%d' % (32 * k)), (NEW, 'ds_load_b%d' % (32 * k))):
            op(t, n + ' v[2:%d], v1 offset:16' % (k + 1), 'v1', ' '.join('v%d' % (2 + j) for j in range(k)), [[0] + [mem(16 + 4 * j, 4) for j in range(k)]])
        data = [0x44332211, 0x88776655, 0xccbbaa99, 0x10ffeedd][:k]
        for t, n in ((OLD, 'ds_write_b%d' % (32 * k)), (NEW, 'ds_store_b%d' % (32 * k))):
            op(t, n + ' v1, v[2:%d] offset:16' % (k + 1), 'v1 ' + ' '.join('v%d' % (2 + j) for j in range(k)), 'l3 ' + ' '.join('l%d' % (4 + j) for j in range(k)), [[0] + data + [mem(12, 4)] + data])
    for old, new, size, hi in (('b8', 'b8', 1, 0), ('b16', 'b16', 2, 0), ('b32', 'b32', 4, 0), ('b16_d16_hi', 'b16_d16_hi', 2, 1), ('b8_d16_hi', 'b8_d16_hi', 1, 1)):
        m = (1 << 8 * size) - 1
        for t, n in ((OLD, 'ds_write_' + old), (NEW, 'ds_store_' + new)):
            op(t, n + ' v1, v2 offset:8', 'v1 v2', 'l2 l3', [(0, 0x44332211, mem(8, 4) & ~m | (0x44332211 >> 16 * hi) & m, mem(12, 4))])
    for st, unit in (('', 1), ('st64', 64)):
        for t, n in ((OLD, 'ds_read2%s_b32' % st), (NEW, 'ds_load_2addr%s_b32' % ('_stride64' if st else ''))):
            op(t, n + ' v[2:3], v1 offset0:1 offset1:3', 'v1', 'v2 v3', [(4, mem(4 + 4 * unit, 4), mem(4 + 12 * unit, 4))])
        for t, n in ((OLD, 'ds_read2%s_b64' % st), (NEW, 'ds_load_2addr%s_b64' % ('_stride64' if st else ''))):
            op(t, n + ' v[2:5], v1 offset0:1 offset1:3', 'v1', 'v2:2 v4:2', [(8, mem(8 + 8 * unit, 8), mem(8 + 24 * unit, 8))])
        for t, n in ((OLD, 'ds_write2%s_b32' % st), (NEW, 'ds_store_2addr%s_b32' % ('_stride64' if st else ''))):
            op(t, n + ' v1, v2, v3 offset0:1 offset1:3', 'v1 v2 v3', 'l%d l%d l%d' % (1 + unit, 1 + 3 * unit, 1 + 2 * unit), [(4, 0x1234, 0x5678, 0x1234, 0x5678, mem(4 + 8 * unit, 4))])
        for t, n in ((OLD, 'ds_write2%s_b64' % st), (NEW, 'ds_store_2addr%s_b64' % ('_stride64' if st else ''))):
            op(t, n + ' v1, v[2:3], v[4:5] offset0:1 offset1:3', 'v1 v2:2 v4:2', 'l%d:2 l%d:2' % (2 + 2 * unit, 2 + 6 * unit), [(8, I64[5], I64[2], I64[5], I64[2])])
    # lanes: bpermute reads the lane at address / 4, permute writes to it; an idle lane's value reads as zero
    op('all', 'ds_bpermute_b32 v0, v1, v2', 'v1@0 v1@1 v1@2 v2', 'v0@0 v0@1 v0@2', [(20, 0, 124, 'lane', 5, 0, 31)])
    op('all', 'ds_bpermute_b32 v0, v1, v2 offset:8', 'v1 v2 exec', 'v0@0 v0@1', [(20, 'lane', 'all', 7, 7), (0, 'lane', 5, 2, 0xa5a5a5a5), (20, 'lane', 1, 0, 0xa5a5a5a5)])
    op('all', 'ds_permute_b32 v0, v1, v2', 'v1@0 v1@1 v2 exec', 'v0@0 v0@1', [(4, 0, 'lane', 3, 1, 0)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)', 'v1', 'v0@0 v0@1 v0@6', [('lane', 3, 2, 5)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,8)', 'v1', 'v0@0 v0@9 v0@31', [('lane', 8, 1, 23)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,4,2)', 'v1', 'v0@0 v0@5 v0@31', [('lane', 2, 6, 30)])


def atomics():
    def ops_for(bits):
        m = (1 << bits) - 1
        si = lambda x: signed(x, bits)
        return {'add': lambda o, d: (o + d) & m, 'sub': lambda o, d: (o - d) & m, 'smin': lambda o, d: min(si(o), si(d)) & m, 'umin': min,
                'smax': lambda o, d: max(si(o), si(d)) & m, 'umax': max, 'and': lambda o, d: o & d, 'or': lambda o, d: o | d,
                'xor': lambda o, d: o ^ d, 'inc': lambda o, d: 0 if o >= d else o + 1, 'dec': lambda o, d: d if o == 0 or o > d else o - 1,
                'swap': lambda o, d: d}
    new_name = {'add': 'add_u', 'sub': 'sub_u', 'smin': 'min_i', 'umin': 'min_u', 'smax': 'max_i', 'umax': 'max_u', 'and': 'and_b', 'or': 'or_b',
                'xor': 'xor_b', 'inc': 'inc_u', 'dec': 'dec_u', 'swap': 'swap_b', 'cmpswap': 'cmpswap_b'}
    returns = (('9,90a,10', 'glc'), ('942', 'sc0'), ('11', 'glc'), ('12', 'th:TH_ATOMIC_RETURN'))
    for bits, vals, sfx in ((32, I32, ''), (64, I64, '_x2')):
        reg, d, g, old = ('v2', 'v2', 'g2', 'v0@0') if bits == 32 else ('v[2:3]', 'v2:2', 'g2:2', 'v0:2@0')
        dst = 'v0' if bits == 32 else 'v[0:1]'
        for n, f in ops_for(bits).items():
            rows = [(1, o, x, f(o, x), o) for o, x in pairs(vals, vals, 10)] + [(1, 5, 5, f(5, 5), 5), (1, 5, 7, f(5, 7), 5)]
            for t, r in returns:
                name = new_name[n] + str(bits) if t in ('11', '12') else n + sfx
                op(t, 'global_atomic_%s %s, v[30:31], %s, off offset:8 %s' % (name, dst, reg, r), 'exec %s %s' % (g, d), '%s %s' % (g, old), rows)
            t, name = OLD, n + sfx
            op(t, 'flat_atomic_%s v[30:31], %s' % (name, reg), 'exec %s %s' % (g.replace('g2', 'g0'), d), g.replace('g2', 'g0'), [r[:4] for r in rows[:4]])
            op(NEW, 'flat_atomic_%s%d v[30:31], %s' % (new_name[n], bits, reg), 'exec %s %s' % (g.replace('g2', 'g0'), d), g.replace('g2', 'g0'), [r[:4] for r in rows[:4]])
            op(t, 'buffer_atomic_%s %s, off, s[24:27], 0 offset:8' % (name, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
            op('11', 'buffer_atomic_%s%d %s, off, s[24:27], 0 offset:8' % (new_name[n], bits, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
            op('12', 'buffer_atomic_%s%d %s, off, s[24:27], null offset:8' % (new_name[n], bits, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
        # compare and swap: the new value first, then what is compared
        pair = 'v[2:3]' if bits == 32 else 'v[2:5]'
        cols = 'v2 v3' if bits == 32 else 'v2:2 v4:2'
        for t, r in returns:
            name = 'cmpswap_b%d' % bits if t in ('11', '12') else 'cmpswap' + sfx
            op(t, 'global_atomic_%s %s, v[30:31], %s, off offset:8 %s' % (name, dst, pair, r), 'exec %s %s' % (g, cols), '%s %s' % (g, old),
               [(1, 5, 9, 5, 9, 5), (1, 5, 9, 6, 5, 5), (1, vals[3], vals[2], vals[3], vals[2], vals[3])])
    # all lanes of a wave add, one after the other
    op('9,90a,942', 'global_atomic_add v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 64), (10, 2, 138)])
    op('10', 'global_atomic_add v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 32)])
    op('11,12', 'global_atomic_add_u32 v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 32)])
    op('90a,942', 'global_atomic_add_f32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])
    op('11,12', 'global_atomic_add_f32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])
    op('90a,942', 'global_atomic_add_f64 v[30:31], v[2:3], off offset:8', 'exec g2:2 v2:2', 'g2:2', [(1, o, x, F64.add(o, x)) for o, x in pairs(DN[2:5], DN[2:5], 9)])
    # LDS
    for bits, vals in ((32, I32), (64, I64)):
        reg, d, l, old = ('v2', 'v2', 'l2', 'v0@0') if bits == 32 else ('v[2:3]', 'v2:2', 'l2:2', 'v0:2@0')
        dst = 'v0' if bits == 32 else 'v[0:1]'
        fs = ops_for(bits)
        m = (1 << bits) - 1
        names = {'add_u': fs['add'], 'sub_u': fs['sub'], 'rsub_u': lambda o, x: (x - o) & m, 'inc_u': fs['inc'], 'dec_u': fs['dec'], 'min_i': fs['smin'],
                 'max_i': fs['smax'], 'min_u': fs['umin'], 'max_u': fs['umax'], 'and_b': fs['and'], 'or_b': fs['or'], 'xor_b': fs['xor']}
        for n, f in names.items():
            base, k = n.split('_')
            rows = [(8, 1, o, x, f(o, x), o) for o, x in pairs(vals, vals, 10)] + [(8, 1, 5, 5, f(5, 5), 5)]
            op('all', 'ds_%s_%s%d v1, %s' % (base, k, bits, reg), 'v1 exec %s %s' % (l, d), l, [r[:5] for r in rows])
            op('all', 'ds_%s_rtn_%s%d %s, v1, %s' % (base, k, bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), rows)
        two, cols = ('v2, v3', 'v2 v3') if bits == 32 else ('v[2:3], v[4:5]', 'v2:2 v4:2')
        a, b = vals[5], vals[2]
        # ds_cmpst: what is compared, then the new value; ds_cmpstore (RDNA3): the other way round
        op(OLD, 'ds_cmpst_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, a, b, b), (8, 1, a, b, a, a)])
        op(OLD, 'ds_cmpst_rtn_b%d %s, v1, %s' % (bits, dst, two), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, a, a, b, b, a), (8, 1, a, b, 7, a, a)])
        op(NEW, 'ds_cmpstore_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, b, a, b), (8, 1, a, a, b, a)])
        op(NEW, 'ds_cmpstore_rtn_b%d %s, v1, %s' % (bits, dst, two), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, a, b, a, b, a), (8, 1, a, 7, b, a, a)])
        op('all', 'ds_mskor_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, 0xff00, 0x1200, a & ~0xff00 | 0x1200)])
        op(OLD, 'ds_wrxchg_rtn_b%d %s, v1, %s' % (bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), [(8, 1, a, b, b, a)])
        op(NEW, 'ds_storexchg_rtn_b%d %s, v1, %s' % (bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), [(8, 1, a, b, b, a)])
    op('all', 'ds_add_f32 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])


def more_atomics():
    one, two = 0x3f800000, 0x40000000
    # smaller and larger of floats; LDS takes f64 too
    op('all', 'ds_add_rtn_f32 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, one, two, 0x40400000, one)])
    for t, a, b in (('9,90a,942,10,11', 'min', 'max'), ('12', 'min_num', 'max_num')):
        for n, w in ((a, False), (b, True)):
            rows = [(8, 1, o, x, F32.minmax(o, x, w, False), o) for o, x in ((one, two), (two, one), (0xbf800000, one), (0x7f800000, 0xff800000))]
            op(t, 'ds_%s_f32 v1, v2' % n, 'v1 exec l2 v2', 'l2', [r[:5] for r in rows])
            op(t, 'ds_%s_rtn_f32 v0, v1, v2' % n, 'v1 exec l2 v2', 'l2 v0@0', rows)
            rows = [(8, 1, o, x, F64.minmax(o, x, w, False), o) for o, x in ((0x3ff << 52, 1 << 62), (1 << 62, 0x3ff << 52), (0xbff << 52, 0x3ff << 52))]
            op(t, 'ds_%s_f64 v1, v[2:3]' % n, 'v1 exec l2:2 v2:2', 'l2:2', [r[:5] for r in rows])
            op(t, 'ds_%s_rtn_f64 v[4:5], v1, v[2:3]' % n, 'v1 exec l2:2 v2:2', 'l2:2 v4:2@0', rows)
    op('90a,942', 'ds_add_f64 v1, v[2:3]', 'v1 exec l2:2 v2:2', 'l2:2', [(8, 1, 0x3ff << 52, 1 << 62, 0x4008 << 48)])
    op('90a,942', 'ds_add_rtn_f64 v[4:5], v1, v[2:3]', 'v1 exec l2:2 v2:2', 'l2:2 v4:2@0', [(8, 1, 0x3ff << 52, 1 << 62, 0x4008 << 48, 0x3ff << 52)])
    for bits, two_, cols in ((32, 'v2, v3', 'v2 v3'), (64, 'v[2:3], v[4:5]', 'v2:2 v4:2')):
        l, dst, old = ('l2', 'v0', 'v0@0') if bits == 32 else ('l2:2', 'v[6:7]', 'v6:2@0')
        op('all', 'ds_mskor_rtn_b%d %s, v1, %s' % (bits, dst, two_), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, 0x12345678, 0xff00, 0x1200, 0x12341278, 0x12345678)])
        # memory: the new value first, then what is compared
        pair = 'v[2:3]' if bits == 32 else 'v[2:5]'
        g = 'g2' if bits == 32 else 'g2:2'
        sfx = '' if bits == 32 else '_x2'
        rows = [(1, 5, 9, 5, 9), (1, 5, 9, 6, 5)]
        op('9,90a,942,10', 'buffer_atomic_cmpswap%s %s, off, s[24:27], 0 offset:8' % (sfx, pair), 'exec %s %s' % (g, cols), g, rows)
        op('11', 'buffer_atomic_cmpswap_b%d %s, off, s[24:27], 0 offset:8' % (bits, pair), 'exec %s %s' % (g, cols), g, rows)
        op('12', 'buffer_atomic_cmpswap_b%d %s, off, s[24:27], null offset:8' % (bits, pair), 'exec %s %s' % (g, cols), g, rows)
        g0 = g.replace('g2', 'g0')
        op('9,90a,942,10', 'flat_atomic_cmpswap%s v[30:31], %s' % (sfx, pair), 'exec %s %s' % (g0, cols), g0, rows)
        op('11,12', 'flat_atomic_cmpswap_b%d v[30:31], %s' % (bits, pair), 'exec %s %s' % (g0, cols), g0, rows)
    frows = lambda f, w, vals: [(1, o, x, f.minmax(o, x, w, False)) for o, x in vals]
    v32, v64 = ((one, two), (two, one), (0xbf800000, one)), ((0x3ff << 52, 1 << 62), (1 << 62, 0x3ff << 52), (0xbff << 52, 0x3ff << 52))
    for w, g10, g11, g12, g90 in ((False, 'fmin', 'min_f32', 'min_num_f32', 'min_f64'), (True, 'fmax', 'max_f32', 'max_num_f32', 'max_f64')):
        op('10', 'global_atomic_%s v[30:31], v2, off offset:8' % g10, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'global_atomic_%s v[30:31], v2, off offset:8' % g11, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('12', 'global_atomic_%s v[30:31], v2, off offset:8' % g12, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'flat_atomic_%s v[30:31], v2' % g11, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('12', 'flat_atomic_%s v[30:31], v2' % g12, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('10', 'flat_atomic_%s v[30:31], v2' % g10, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('10', 'buffer_atomic_%s v2, off, s[24:27], 0 offset:8' % g10, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'buffer_atomic_%s v2, off, s[24:27], 0 offset:8' % g11, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('12', 'buffer_atomic_%s v2, off, s[24:27], null offset:8' % g12, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('10', 'global_atomic_%s_x2 v[30:31], v[2:3], off offset:8' % g10, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('10', 'flat_atomic_%s_x2 v[30:31], v[2:3]' % g10, 'exec g0:2 v2:2', 'g0:2', frows(F64, w, v64))
        op('10', 'buffer_atomic_%s_x2 v[2:3], off, s[24:27], 0 offset:8' % g10, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('90a,942', 'global_atomic_%s v[30:31], v[2:3], off offset:8' % g90, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('90a,942', 'flat_atomic_%s v[30:31], v[2:3]' % g90, 'exec g0:2 v2:2', 'g0:2', frows(F64, w, v64))
        op('90a,942', 'buffer_atomic_%s v[2:3], off, s[24:27], 0 offset:8' % g90, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
    add32 = [(1, one, two, 0x40400000), (1, 0, one, one)]
    op('942,11,12', 'flat_atomic_add_f32 v[30:31], v2', 'exec g0 v2', 'g0', add32)
    op('90a,942,11', 'buffer_atomic_add_f32 v2, off, s[24:27], 0 offset:8', 'exec g2 v2', 'g2', add32)
    op('12', 'buffer_atomic_add_f32 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', add32)
    add64 = [(1, 0x3ff << 52, 1 << 62, 0x4008 << 48)]
    op('90a,942', 'flat_atomic_add_f64 v[30:31], v[2:3]', 'exec g0:2 v2:2', 'g0:2', add64)
    op('90a,942', 'buffer_atomic_add_f64 v[2:3], off, s[24:27], 0 offset:8', 'exec g2:2 v2:2', 'g2:2', add64)
    op('90a,942', 'global_atomic_pk_add_f16 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'flat_atomic_pk_add_f16 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'global_atomic_pk_add_bf16 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'flat_atomic_pk_add_bf16 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'ds_pk_add_f16 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'ds_pk_add_bf16 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'ds_pk_add_rtn_f16 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, 0x3c004000, 0x40003c00, 0x42004200, 0x3c004000)])
    op('942', 'ds_pk_add_rtn_bf16 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, 0x3f804000, 0x40003f80, 0x40404040, 0x3f804000)])
    op('942', 'buffer_atomic_pk_add_f16 v2, off, s[24:27], 0 offset:8', 'exec g2 v2', 'g2', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('12', 'buffer_atomic_pk_add_bf16 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('12', 'buffer_atomic_cond_sub_u32 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', [(1, 9, 5, 4), (1, 4, 5, 4)])
    op('12', 'flat_atomic_cond_sub_u32 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 9, 5, 4), (1, 4, 5, 4)])
    op('12', 'global_atomic_cond_sub_u32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 9, 5, 4), (1, 5, 5, 0), (1, 4, 5, 4)])


def images():
    """The image has texels 0 to 15, 4 bytes each (test_insn.c); outside, loads give zeros, and samples the nearest."""
    texel = lambda i: [mem(4 * i + k, 1) for k in range(4)]
    f = lambda v: F32.round(Fraction(v))
    for t, dim, two in (('9', '', 'v[1:2]'), ('90a', '', 'v[2:3]'), ('10', ' dim:SQ_RSRC_IMG_2D', 'v[1:2]'), ('11', ' dim:SQ_RSRC_IMG_2D', 'v[1:2]'),
                        ('12', ' dim:SQ_RSRC_IMG_2D', '[v1, v2]')):
        apart = lambda *n: '[%s]' % ', '.join('v%d' % k for k in n) if t == '12' else 'v[%d:%d]' % (n[0], n[-1])
        zeros = [0, 0, 0, 0]
        image, sampled, four = 's[32:39]', 's[32:39], s[40:43]', 'v4 v5 v6 v7'
        load = lambda name, regs, address, rest, ins, outs, rows: op(t, '%s %s, %s, %s' % (name, regs, address, rest.replace('!', dim, 1) if '!' in rest else
                                                                                          rest + dim), ins, outs, rows)
        xy = 'v2 v3' if t == '90a' else 'v1 v2'        # which has pairs of registers from even ones on
        load('image_load', 'v[4:7]', two, image + ' dmask:0xf', xy, four, [[3, 0] + texel(3), [15, 0] + texel(15), [16, 0] + zeros, [3, 1] + zeros,
                                                                              [M32, 0] + zeros])
        load('image_load', 'v[4:5]', two, image + ' dmask:0xa', xy, 'v4 v5', [[3, 0, texel(3)[1], texel(3)[3]]])
        load('image_load', 'v[4:5]', two, image + ' dmask:0xf! d16', xy, 'v4 v5', [[3, 0, texel(3)[0] | texel(3)[1] << 16, texel(3)[2] | texel(3)[3] << 16]])
        if t != '90a':
            load('image_load_mip', 'v[4:7]', apart(1, 2, 3), image + ' dmask:0xf', 'v1 v2 v3', four, [[3, 0, 0] + texel(3), [3, 0, 1] + zeros])
        for name, address, ins, before in (('image_store', two, xy, [3, 0]), ('image_store_mip', apart(1, 2, 3), 'v1 v2 v3', [3, 0, 0])):
            if t != '90a' or name == 'image_store':
                load(name, 'v[4:7]', address, image + ' dmask:0xf', ins + ' ' + four, 'g3 g4',
                     [before + [1, 255, 256, M32, 0xffffff01, mem(16, 4)], before[:1] + [1] + before[2:] + [1, 2, 3, 4, mem(12, 4), mem(16, 4)]])
        places = [(Fraction(13, 4), 3), (Fraction(1023, 256), 3), (-5, 0), (40, 15)]
        samples = [('image_sample', two, xy, lambda x: [x, 0])]
        if t != '90a':
            samples += [('image_sample_lz', two, 'v1 v2', lambda x: [x, 0]), ('image_sample_l', apart(1, 2, 3), 'v1 v2 v3', lambda x: [x, 0, f(2)]),
                        ('image_sample_b', apart(1, 2, 3), 'v1 v2 v3', lambda x: [f(1), x, 0])]
        if t in ('9', '10'):
            samples += [('image_sample_d', 'v[20:25]', 'v24 v25', lambda x: [x, 0])]
        for name, address, ins, before in samples:
            load(name, 'v[4:7]', address, sampled + ' dmask:0xf', ins, four, [before(f(x)) + texel(i) for x, i in places])
        if t in ('10', '11'):
            load('image_sample_lz', 'v[4:7]', '[v9, v2]', sampled + ' dmask:0xf', 'v9 v2', four, [[f(x), 0] + texel(i) for x, i in places])
        if t == '90a':
            continue
        offset = lambda x, y: x & 63 | (y & 63) << 8
        for name, more in (('image_sample_o', []), ('image_sample_lz_o', []), ('image_sample_l_o', [0])):
            regs = [1, 2, 3] + [8 + k for k in range(len(more))] if t == '12' else [1, 2, 3, 4][:3 + len(more)]
            load(name, 'v[12:15]', apart(*regs), sampled + ' dmask:0xf', ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
                 [[offset(dx, dy), f(x), 0] + more + texel(i) for x, dx, dy, i in ((Fraction(13, 4), 2, 0, 5), (Fraction(13, 4), -2, 1, 1), (3, -8, 0, 0))])
        moved = ((Fraction(13, 4), 2, 0, 5), (Fraction(13, 4), -2, 1, 1), (3, -8, 0, 0))
        regs = [1, 2, 3, 8] if t == '12' else [1, 2, 3, 4]
        load('image_sample_b_o', 'v[12:15]', apart(*regs), sampled + ' dmask:0xf', ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
             [[offset(dx, dy), f(1), f(x), 0] + texel(i) for x, dx, dy, i in moved])
        if t in ('9', '10'):
            load('image_sample_d_o', 'v[12:15]', 'v[20:26]', sampled + ' dmask:0xf', 'v20 v25 v26', 'v12 v13 v14 v15',
                 [[offset(dx, dy), f(x), 0] + texel(i) for x, dx, dy, i in moved])
        # texels 2 and 3 lie around 3.25
        for name, regs, before in (('image_gather4', [1, 2], lambda x: [x, 0]), ('image_gather4_lz', [1, 2], lambda x: [x, 0]),
                                   ('image_gather4_l', [1, 2, 3], lambda x: [x, 0, 0]), ('image_gather4_o', [1, 2, 3], lambda x: [offset(1, 0), x, 0]),
                                   ('image_gather4_lz_o', [1, 2, 3], lambda x: [offset(1, 0), x, 0]),
                                   ('image_gather4_l_o', [1, 2, 3, 4], lambda x: [offset(1, 0), x, 0, 0])):
            by = 1 if name.endswith('_o') else 0
            g = lambda c, i: [texel(i + 0)[c], texel(i + 1)[c], texel(i + 1)[c], texel(i + 0)[c]]
            for c in (0, 2) if name != 'image_gather4_l_o' or t in ('9', '10') else ():
                load(name, 'v[12:15]', apart(*regs), sampled + ' dmask:0x%x' % (1 << c), ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
                     [before(f(Fraction(13, 4))) + g(c, 2 + by)])
        load('image_get_resinfo', 'v[4:7]', 'v1', image + ' dmask:0xf', 'v1', four, [[0, 16, 1, 1, 1], [1, 0, 0, 0, 1]])
    for t, zero in (('9,90a,942,10,11', '0'), ('12', 'null')):
        for n, name in ((1, 'x'), (2, 'xy'), (3, 'xyz'), (4, 'xyzw')):
            regs = 'v4' if n == 1 else 'v[4:%d]' % (3 + n)
            cols = ' '.join('v%d' % (4 + k) for k in range(n))
            op(t, 'buffer_load_format_%s %s, v1, s[44:47], %s idxen' % (name, regs, zero), 'v1', cols, [[3] + texel(3)[:n], [15] + texel(15)[:n], [16] + [0] * n])
            data = [1, 255, 256, M32][:n]
            word = sum(min(v, 255) << 8 * k for k, v in enumerate(data))
            op(t, 'buffer_store_format_%s %s, v1, s[44:47], %s idxen' % (name, regs, zero), 'v1 ' + cols, 'g3 g4', [[3] + data + [word, mem(16, 4)]])
