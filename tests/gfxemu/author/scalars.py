# SPDX-License-Identifier: Apache-2.0
# Tables of scalar instructions, of those that change the execution mask or what comes next, and of what one processor has alone.
from fractions import Fraction

from table import (F16, F32, FN, FS, HN, HS, I32, I64, M16, M32, M64, S, SHIFT, leading, leading_signs, mem, op, pairs, relation, reverse, signed,
                   triples)


def scalars():
    old, new = '9,90a,942,10,11', '12'
    def two(targets, name, f, scc, a=I32, b=I32, bits=32):
        regs, ins, out = ('s0, s4, s6', 's4 s6', 's0') if bits == 32 else ('s[0:1], s[4:5], s[6:7]', 's4:2 s6:2', 's0:2')
        m = (1 << bits) - 1
        op(targets, '%s %s' % (name, regs), ins + ' scc', out + (' scc' if scc else ''),
           [(x, y, c, f(x, y, c) & m) + ((int(scc(x, y, c)),) if scc else ()) for c in (0, 1) for x, y in pairs(a, b, 14)])
    ov = lambda v: not -1 << 31 <= v < 1 << 31
    for t, add, sub, addi, subi, addc, subc in ((old, 's_add_u32', 's_sub_u32', 's_add_i32', 's_sub_i32', 's_addc_u32', 's_subb_u32'),
                                               (new, 's_add_co_u32', 's_sub_co_u32', 's_add_co_i32', 's_sub_co_i32', 's_add_co_ci_u32', 's_sub_co_ci_u32')):
        two(t, add, lambda a, b, c: a + b, lambda a, b, c: a + b > M32)
        two(t, sub, lambda a, b, c: a - b, lambda a, b, c: b > a)
        two(t, addi, lambda a, b, c: a + b, lambda a, b, c: ov(S(a) + S(b)))
        two(t, subi, lambda a, b, c: a - b, lambda a, b, c: ov(S(a) - S(b)))
        two(t, addc, lambda a, b, c: a + b + c, lambda a, b, c: a + b + c > M32)
        two(t, subc, lambda a, b, c: a - b - c, lambda a, b, c: b + c > a)
    two('all', 's_min_u32', lambda a, b, c: min(a, b), lambda a, b, c: a < b if a != b else False, [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_max_u32', lambda a, b, c: max(a, b), lambda a, b, c: a > b, [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_min_i32', lambda a, b, c: min(S(a), S(b)), lambda a, b, c: S(a) < S(b), [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_max_i32', lambda a, b, c: max(S(a), S(b)), lambda a, b, c: S(a) > S(b), [1, 5, M32], [2, 4, 0x80000000])
    nz = lambda f, m: (lambda a, b, c: f(a, b, c) & m != 0)
    logic = {'and': lambda a, b, c: a & b, 'or': lambda a, b, c: a | b, 'xor': lambda a, b, c: a ^ b, 'nand': lambda a, b, c: ~(a & b),
             'nor': lambda a, b, c: ~(a | b), 'xnor': lambda a, b, c: ~(a ^ b)}
    for n, f in logic.items():
        two('all', 's_%s_b32' % n, f, nz(f, M32))
        two('all', 's_%s_b64' % n, f, nz(f, M64), I64, I64, 64)
    for t, n, f in (('9,90a,942,10', 'andn2', lambda a, b, c: a & ~b), ('11,12', 'and_not1', lambda a, b, c: a & ~b),
                    ('9,90a,942,10', 'orn2', lambda a, b, c: a | ~b), ('11,12', 'or_not1', lambda a, b, c: a | ~b)):
        two(t, 's_%s_b32' % n, f, nz(f, M32))
        two(t, 's_%s_b64' % n, f, nz(f, M64), I64, I64, 64)
    for n, f in (('s_lshl_b32', lambda a, b, c: a << (b & 31)), ('s_lshr_b32', lambda a, b, c: a >> (b & 31)), ('s_ashr_i32', lambda a, b, c: S(a) >> (b & 31))):
        two('all', n, f, nz(f, M32), I32, SHIFT)
    for n, f in (('s_lshl_b64', lambda a, b: a << (b & 63)), ('s_lshr_b64', lambda a, b: a >> (b & 63)), ('s_ashr_i64', lambda a, b: signed(a, 64) >> (b & 63))):
        op('all', n + ' s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(a, b, f(a, b) & M64, int(f(a, b) & M64 != 0)) for a, b in pairs(I64, SHIFT, 20)])
    two('all', 's_mul_i32', lambda a, b, c: a * b, None)
    two('all', 's_mul_hi_u32', lambda a, b, c: a * b >> 32, None)
    two('all', 's_mul_hi_i32', lambda a, b, c: S(a) * S(b) >> 32, None)
    two('all', 's_bfm_b32', lambda a, b, c: ((1 << (a & 31)) - 1) << (b & 31), None, SHIFT, SHIFT)
    for k in (1, 2, 3, 4):
        two('all', 's_lshl%d_add_u32' % k, lambda a, b, c: (a << k) + b, lambda a, b, c: (a << k) + b > M32)
    two('all', 's_absdiff_i32', lambda a, b, c: abs(S(a - b)),      # the difference wraps around
        lambda a, b, c: (a - b) & M32 != 0)
    two('all', 's_pack_ll_b32_b16', lambda a, b, c: (a & M16) | (b & M16) << 16, None)
    two('all', 's_pack_lh_b32_b16', lambda a, b, c: (a & M16) | (b >> 16) << 16, None)
    two('all', 's_pack_hh_b32_b16', lambda a, b, c: (a >> 16) | (b >> 16) << 16, None)
    two('all', 's_cselect_b32', lambda a, b, c: a if c else b, None)
    fields = [0, 0x80000, 0x80004, 0x100010, 0x1f0001, 0x40007]
    bf = lambda f: (f & 31, f >> 16 & 127)
    ub = lambda a, b, c: a >> bf(b)[0] & ((1 << bf(b)[1]) - 1)
    sb = lambda a, b, c: signed(ub(a, b, c), bf(b)[1]) if bf(b)[1] else 0
    two('all', 's_bfe_u32', ub, nz(ub, M32), I32, fields)
    two('all', 's_bfe_i32', sb, nz(sb, M32), I32, fields)
    def one(targets, name, f, scc, a=I32, bits=32, obits=None):
        obits = obits or bits
        src, ins = ('s4', 's4') if bits == 32 else ('s[4:5]', 's4:2')
        dst, out = ('s0', 's0') if obits == 32 else ('s[0:1]', 's0:2')
        m = (1 << obits) - 1
        op(targets, '%s %s, %s' % (name, dst, src), ins, out + (' scc' if scc else ''), [(x, f(x) & m) + ((int(f(x) & m != 0),) if scc else ()) for x in a])
    one('all', 's_mov_b32', lambda a: a, False)
    one('all', 's_mov_b64', lambda a: a, False, I64, 64)
    one('all', 's_not_b32', lambda a: ~a, True)
    one('all', 's_not_b64', lambda a: ~a, True, I64, 64)
    one('all', 's_brev_b32', reverse, False)
    one('all', 's_brev_b64', lambda a: reverse(a, 64), False, I64, 64)
    one('all', 's_bcnt1_i32_b32', lambda a: bin(a).count('1'), True)
    one('all', 's_bcnt0_i32_b32', lambda a: 32 - bin(a).count('1'), True)
    one('all', 's_bcnt1_i32_b64', lambda a: bin(a).count('1'), True, I64, 64, 32)
    one('all', 's_bcnt0_i32_b64', lambda a: 64 - bin(a).count('1'), True, I64, 64, 32)
    first = lambda a: (a & -a).bit_length() - 1 if a else M32
    lead64 = lambda a: 64 - a.bit_length() if a else M32
    for t, ff, fl, fi in (('9,90a,942,10', 's_ff1_i32', 's_flbit_i32', 's_flbit_i32'), ('11,12', 's_ctz_i32', 's_clz_i32', 's_cls_i32')):
        u = 'u' if fl == 's_clz_i32' else 'b'
        one(t, ff + '_b32', first, False)
        one(t, ff + '_b64', first, False, I64, 64, 32)
        one(t, '%s_%s32' % (fl, u), leading, False)
        one(t, '%s_%s64' % (fl, u), lead64, False, I64, 64, 32)
        one(t, fi, leading_signs, False)
    one('all', 's_sext_i32_i8', lambda a: signed(a, 8), False)
    one('all', 's_sext_i32_i16', lambda a: signed(a, 16), False)
    one('all', 's_abs_i32', lambda a: abs(S(a)), True)
    for n, f in (('eq', lambda a, b: a == b), ('lg', lambda a, b: a != b), ('gt', lambda a, b: a > b), ('ge', lambda a, b: a >= b), ('lt', lambda a, b: a < b),
                 ('le', lambda a, b: a <= b)):
        op('all', 's_cmp_%s_i32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(f(S(a), S(b)))) for a, b in pairs(I32, I32, 14) + [(5, 5)]])
        op('all', 's_cmp_%s_u32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(f(a, b))) for a, b in pairs(I32, I32, 14) + [(5, 5)]])
        if n in ('eq', 'lg'):
            op('all', 's_cmp_%s_u64 s[4:5], s[6:7]' % n, 's4:2 s6:2', 'scc', [(a, b, int(f(a, b))) for a, b in pairs(I64, I64, 10) + [(M64, M64)]])
    op('all', 's_bitcmp1_b32 s4, s6', 's4 s6', 'scc', [(a, b, a >> (b & 31) & 1) for a, b in pairs(I32, SHIFT, 14)])
    op('all', 's_bitcmp0_b32 s4, s6', 's4 s6', 'scc', [(a, b, 1 - (a >> (b & 31) & 1)) for a, b in pairs(I32, SHIFT, 14)])
    op('all', 's_bitset1_b32 s0, s4', 's0 s4', 's0', [(a, b, a | 1 << (b & 31)) for a, b in pairs(I32, SHIFT, 10)])
    op('all', 's_bitset0_b32 s0, s4', 's0 s4', 's0', [(a, b, a & ~(1 << (b & 31))) for a, b in pairs(I32, SHIFT, 10)])
    op('all', 's_movk_i32 s0, 0x8000', 's0', 's0', [(0, 0xffff8000)])
    op('9,90a,942,10,11', 's_addk_i32 s0, 0x8000', 's0', 's0 scc', [(0, 0xffff8000, 0), (0x80000000, 0x7fff8000, 1), (0x8000, 0, 0)])
    op('all', 's_mulk_i32 s0, 0xffff', 's0', 's0', [(5, 0xfffffffb)])
    op('all', 's_cmov_b32 s0, s4', 's0 s4 scc', 's0', [(1, 2, 0, 1), (1, 2, 1, 2)])
    op('9,90a,942', 's_and_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x3c, 0x3c, 0x30, 1), (0xf, 0xf0, 0xf0, 0, 0)])
    op('9,90a,942', 's_or_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x0c, 0x0c, 0xfc, 1), (0, 0, 0, 0, 0)])
    op('9,90a,942', 's_xor_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x3c, 0x3c, 0xcc, 1), (0xf, 0xf, 0xf, 0, 0)])
    op('10+', 's_and_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x3c, 0x3c, 0x30, 1), (0xf, 0xf0, 0xf0, 0, 0)])
    op('10+', 's_or_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x0c, 0x0c, 0xfc, 1), (0, 0, 0, 0, 0)])
    op('10+', 's_xor_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x3c, 0x3c, 0xcc, 1), (0xf, 0xf, 0xf, 0, 0)])
    # scalar floats
    for n, f in (('s_add_f32', F32.add), ('s_mul_f32', F32.mul)):
        op('12', n + ' s0, s4, s6', 's4 s6', 's0', [(a, b, f(a, b)) for a, b in pairs(FN, FN, 20)])


def exec_and_control():
    gcn = '9,90a,942'
    funcs = {'and': lambda s, e: s & e, 'or': lambda s, e: s | e, 'xor': lambda s, e: s ^ e, 'nand': lambda s, e: ~(s & e), 'nor': lambda s, e: ~(s | e),
             'xnor': lambda s, e: ~(s ^ e), 'andn2': lambda s, e: s & ~e, 'orn2': lambda s, e: s | ~e, 'andn1': lambda s, e: ~s & e, 'orn1': lambda s, e: ~s | e}
    renamed = {'andn2': 'and_not1', 'orn2': 'or_not1', 'andn1': 'and_not0', 'orn1': 'or_not0'}
    for n, f in funcs.items():
        for t, name, bits in ((gcn, n, 64), ('10', n, 32), ('11,12', renamed.get(n, n), 32)) :
            m = (1 << bits) - 1
            d, s, i, o = ('s[0:1]', 's[4:5]', 's4:2', 's0:2') if bits == 64 else ('s0', 's4', 's4', 's0')
            rows = [(a, e, e, f(a, e) & m, int(f(a, e) & m != 0)) for a, e in ((0xf0, 0x3c), (0xf, 0xf0), (0xff, 0xff), (0, 0), (m, 0x55))]
            op(t, 's_%s_saveexec_b%d %s, %s' % (name, bits, d, s), i + ' exec', o + ' exec scc', rows)
            if n in ('andn1', 'andn2'):         # both get the result
                op(t, 's_%s_wrexec_b%d %s, %s' % (name, bits, d, s), i + ' exec', o + ' exec scc', [(a, e, f(a, e) & m, f(a, e) & m, int(f(a, e) & m != 0)) for a, e, *_ in rows])
    for n in ('andn1', 'andn2', 'orn1', 'orn2'):    # of waves of 64, here with 32 lanes
        f, m = funcs[n], (1 << 64) - 1
        rows = [(a, e, e, f(a, e) & M32, int(f(a, e) & m != 0)) for a, e in ((0xf0, 0x3c), (0xf, 0xf0), (0xff, 0xff), (0, 0), (M32, 0x55))]
        op('11,12', 's_%s_saveexec_b64 s[0:1], s[4:5]' % renamed[n], 's4:2 exec', 's0:2 exec scc', rows)
        if n in ('andn1', 'andn2'):
            op('11,12', 's_%s_wrexec_b64 s[0:1], s[4:5]' % renamed[n], 's4:2 exec', 's0:2 exec scc', [(a, e, r, r, b) for a, e, _, r, b in rows])
    far = 12                    # s_branch 3: four bytes each, from the next instruction
    op('all', 's_branch 3', 'scc', 'pc', [(0, far)])
    op('all', 's_branch 0xfffe', 'scc', 'pc', [(0, M64 - 7)])
    op('all', 's_cbranch_scc0 3', 'scc', 'pc', [(0, far), (1, 0)])
    op('all', 's_cbranch_scc1 3', 'scc', 'pc', [(0, 0), (1, far)])
    op('all', 's_cbranch_vccz 3', 'vcc', 'pc', [(0, far), (1, 0), ('all', 0)])
    op('all', 's_cbranch_vccnz 3', 'vcc', 'pc', [(0, 0), (1, far), (0x80000000, far)])
    op('all', 's_cbranch_execz 3', 'exec', 'pc', [(0, far), (1, 0)])
    op('all', 's_cbranch_execnz 3', 'exec', 'pc', [(0, 0), (1, far)])
    for t, hints in (('all', ['s_nop 3', 's_sleep 1', 's_setprio 1', 's_icache_inv', 's_ttracedata']), ('9,90a,942,10', ['s_waitcnt 0', 's_dcache_inv', 's_incperflevel 0', 's_decperflevel 0']),
                     ('10', ['s_waitcnt_vscnt null, 0', 's_waitcnt_vmcnt null, 0', 's_waitcnt_lgkmcnt null, 0', 's_waitcnt_expcnt null, 0', 's_waitcnt_depctr 0', 's_inst_prefetch 1', 's_clause 1', 's_gl1_inv']),
                     ('11', ['s_waitcnt 0', 's_delay_alu 1', 's_clause 1', 's_set_inst_prefetch_distance 1', 's_waitcnt_depctr 0', 's_waitcnt_vscnt null, 0', 's_wait_idle']),
                     ('12', ['s_wait_loadcnt 0', 's_wait_storecnt 0', 's_wait_dscnt 0', 's_wait_kmcnt 0', 's_wait_expcnt 0', 's_wait_samplecnt 0', 's_wait_bvhcnt 0',
                             's_wait_loadcnt_dscnt 0', 's_wait_storecnt_dscnt 0', 's_delay_alu 1', 's_clause 1', 's_wait_alu 0', 's_wait_idle', 's_barrier_signal -1']),
                     (gcn, ['s_dcache_wb', 's_wakeup', 's_setkill 0', 's_sethalt 0', 'v_nop']), ('10+', ['v_nop']),
                     ('9', ['buffer_wbinvl1', 'buffer_wbinvl1_vol']), ('90a', ['buffer_wbl2', 'buffer_invl2', 'buffer_wbinvl1']), ('942', ['buffer_inv', 'buffer_wbl2']),
                     ('10,11', ['buffer_gl0_inv', 'buffer_gl1_inv']), ('12', ['global_inv', 'global_wb', 'global_wbinv']), ('all', ['ds_nop'])):
        for hint in hints:      # nothing that a program sees
            op(t, hint, 's0 v0 scc', 's0 v0 scc exec pc', [(0x1234, 0x5678, 1, 0x1234, 0x5678, 1, 'all', 0)])
    # the mode register: rounding of f32 in bits 0-1, of f64 and f16 in 2-3; denormals in 4-5 and 6-7
    op('all', 's_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x5', 'mode', 'mode', [(0x3f0, 0x3f5), (0x3ff, 0x3f5)])
    op('all', 's_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4', 's4 mode', 'mode', [(0, 0x3f0, 0x3c0), (M32, 0x3c3, 0x3f3)])
    op('all', 's_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)', 'mode', 's0', [(0x3f0, 0xf), (0x3c3, 0xc)])
    op('10+', 's_round_mode 0x5', 'mode', 'mode', [(0x3f0, 0x3f5), (0x3fa, 0x3f5)])
    op('10+', 's_denorm_mode 0x3', 'mode', 'mode', [(0x3c5, 0x335), (0x3f0, 0x330)])


def more_scalars():
    # the register's number plus m0
    op('all', 's_movrels_b32 s0, s4', 's4 s6 m0', 's0', [(1, 2, 0, 1), (1, 2, 2, 2)])
    op('all', 's_movreld_b32 s0, s4', 's4 m0', 's2', [(7, 2, 7)])
    k = [0, 1, 0x7fff, 0xffff8000, M32, 5]
    for n, f in (('eq', lambda a, b: a == b), ('lg', lambda a, b: a != b), ('gt', lambda a, b: a > b), ('ge', lambda a, b: a >= b), ('lt', lambda a, b: a < b),
                 ('le', lambda a, b: a <= b)):
        op('9,90a,942,10,11', 's_cmpk_%s_i32 s4, 0x8000' % n, 's4', 'scc', [(a, int(f(S(a), -32768))) for a in k])
        op('9,90a,942,10,11', 's_cmpk_%s_u32 s4, 0x8000' % n, 's4', 'scc', [(a, int(f(a, 0x8000))) for a in k])
    op('all', 's_cmovk_i32 s0, 0xffff', 's0 scc', 's0', [(5, 0, 5), (5, 1, M32)])
    op('12', 's_addk_co_i32 s0, 0x8000', 's0', 's0 scc', [(0, 0xffff8000, 0), (0x80000000, 0x7fff8000, 1)])
    op('all', 's_cmov_b64 s[0:1], s[4:5]', 's0:2 s4:2 scc', 's0:2', [(1, I64[5], 0, 1), (1, I64[5], 1, I64[5])])
    op('all', 's_cselect_b64 s[0:1], s[4:5], s[6:7]', 's4:2 s6:2 scc', 's0:2', [(1, I64[5], 0, I64[5]), (1, I64[5], 1, 1)])
    op('9,90a,942,10', 's_ff0_i32_b32 s0, s4', 's4', 's0', [(0, 0), (1, 1), (0xff, 8), (M32, M32)])
    op('9,90a,942,10', 's_ff0_i32_b64 s0, s[4:5]', 's4:2', 's0', [(0, 0), (1, 1), (M32, 32), (M64, M32)])

    def signs64(x):
        for i in range(1, 64):
            if (x >> (63 - i) & 1) != x >> 63:
                return i
        return M32
    for t, n in (('9,90a,942,10', 's_flbit_i32_i64'), ('11,12', 's_cls_i32_i64')):
        op(t, n + ' s0, s[4:5]', 's4:2', 's0', [(x, signs64(x)) for x in I64 + [1 << 62]])
    op('all', 's_bitset1_b64 s[0:1], s4', 's0:2 s4', 's0:2', [(0, s, 1 << (s & 63)) for s in (0, 31, 32, 63, 64)])
    op('all', 's_bitset0_b64 s[0:1], s4', 's0:2 s4', 's0:2', [(M64, s, M64 & ~(1 << (s & 63))) for s in (0, 31, 32, 63, 64)])
    op('all', 's_bitcmp1_b64 s[4:5], s6', 's4:2 s6', 'scc', [(1 << 40, s, int(s == 40)) for s in (0, 8, 40)])
    op('all', 's_bitcmp0_b64 s[4:5], s6', 's4:2 s6', 'scc', [(1 << 40, s, int(s != 40)) for s in (0, 8, 40)])
    wqm = lambda x, n: sum(15 << i for i in range(0, n, 4) if x >> i & 15)
    op('all', 's_wqm_b32 s0, s4', 's4', 's0 scc', [(x, wqm(x, 32), int(x != 0)) for x in (0, 1, 0x80, 0x10020, 0xf0000000)])
    op('all', 's_wqm_b64 s[0:1], s[4:5]', 's4:2', 's0:2 scc', [(x, wqm(x, 64), int(x != 0)) for x in (0, 1, 0x80, 1 << 63, 1 << 33)])
    op('all', 's_bfm_b64 s[0:1], s4, s6', 's4 s6', 's0:2', [(a, b, (((1 << (a & 63)) - 1) << (b & 63)) & M64) for a, b in ((0, 0), (1, 63), (40, 3), (63, 0), (64, 5), (33, 40))])
    f64 = [0, 0x80000, 0x200010, 0x3f0001, 0x400000, 0x140028]
    field = lambda x, b: x >> (b & 63) & ((1 << (b >> 16 & 127)) - 1)
    op('all', 's_bfe_u64 s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(x, b, field(x, b), int(field(x, b) != 0)) for x in I64[3:6] for b in f64])

    def sfield(x, b):
        n = b >> 16 & 127
        v = field(x, b)
        return signed(v, min(n, 64)) & M64 if n else 0
    op('all', 's_bfe_i64 s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(x, b, sfield(x, b), int(sfield(x, b) != 0)) for x in I64[3:6] for b in f64])
    op('11,12', 's_pack_hl_b32_b16 s0, s4, s6', 's4 s6', 's0', [(0x12345678, 0x9abcdef0, 0xdef01234)])
    for n, f in (('s_add_nc_u64', lambda a, b: a + b), ('s_sub_nc_u64', lambda a, b: a - b), ('s_mul_u64', lambda a, b: a * b)):
        op('12', n + ' s[0:1], s[4:5], s[6:7]', 's4:2 s6:2', 's0:2', [(a, b, f(a, b) & M64) for a, b in pairs(I64, I64, 12)])
    for t, n, size in (('9,90a,942,10', 'dwordx8', 8), ('11,12', 'b256', 8), ('9,90a,942,10', 'dwordx16', 16), ('11,12', 'b512', 16)):
        op(t, 's_load_%s s[0:%d], s[20:21], 0x20' % (n, size - 1), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(32 + 4 * j, 4) for j in range(size)]])
        op(t, 's_buffer_load_%s s[0:%d], s[24:27], 0x20' % (n, size - 1), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(32 + 4 * j, 4) for j in range(size)]])
    for t, n, size in (('9,90a,942,10', 'dword', 1), ('11,12', 'b32', 1), ('9,90a,942,10', 'dwordx2', 2), ('11,12', 'b64', 2), ('9,90a,942,10', 'dwordx4', 4), ('11,12', 'b128', 4), ('12', 'b96', 3)):
        dst = 's0' if size == 1 else 's[0:%d]' % (size - 1)
        op(t, 's_buffer_load_%s %s, s[24:27], 0x10' % (n, dst), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(16 + 4 * j, 4) for j in range(size)]])
    op('12', 's_load_b96 s[0:2], s[20:21], 0x10', 'scc', 's0 s1 s2', [(0, mem(16, 4), mem(20, 4), mem(24, 4))])
    # scalar floats of RDNA4
    t = '12'
    op(t, 's_sub_f32 s0, s4, s6', 's4 s6', 's0', [(a, b, F32.add(a, b ^ F32.sign)) for a, b in pairs(FN, FN, 20)])
    for n, w in (('min', False), ('max', True)):
        op(t, 's_%s_num_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20) + [(0x7fc00000, 0x3f800000), (0x3f800000, 0x7fc00000)]])
    odd = [F32.round(Fraction(x, 4)) for x in (-14, -10, -6, -2, -1, 1, 2, 3, 6, 10)]
    for how in ('ceil', 'floor', 'trunc', 'rndne'):
        op(t, 's_%s_f32 s0, s4' % how, 's4', 's0', [(x, F32.integral(x, how)) for x in FS + odd])
    op(t, 's_fmac_f32 s0, s4, s6', 's4 s6 s0', 's0', [(a, b, c, F32.fma(a, b, c)) for a, b, c in triples(FN, FN, FN)])
    op(t, 's_fmaak_f32 s0, s4, s6, 0x40000000', 's4 s6', 's0', [(a, b, F32.fma(a, b, 0x40000000)) for a, b in pairs(FN, FN, 8)])
    op(t, 's_fmamk_f32 s0, s4, 0x40000000, s6', 's4 s6', 's0', [(a, b, F32.fma(a, 0x40000000, b)) for a, b in pairs(FN, FN, 8)])
    ints = [0, 1, M32, 0x7fffffff, 0x80000000, 0x01000001, 0x01000003]
    op(t, 's_cvt_f32_i32 s0, s4', 's4', 's0', [(a, F32.round(Fraction(S(a)))) for a in ints])
    op(t, 's_cvt_f32_u32 s0, s4', 's4', 's0', [(a, F32.round(Fraction(a))) for a in ints])
    op(t, 's_cvt_i32_f32 s0, s4', 's4', 's0', [(a, F32.to_int(a, -1 << 31, (1 << 31) - 1) & M32) for a in FS])
    op(t, 's_cvt_u32_f32 s0, s4', 's4', 's0', [(a, F32.to_int(a, 0, M32)) for a in FS])
    fl = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'lg': '<>', 'ge': '>=', 'o': '<=>', 'u': '?', 'nge': '<?', 'nlg': '=?', 'ngt': '<=?', 'nle': '>?', 'neq': '<>?', 'nlt': '>=?'}
    low = lambda x: 0xabcd0000 | x      # the upper halves of operands do not count; that of the result is zero
    for n, w in (('min', False), ('max', True)):
        op(t, 's_%s_num_f16 s0, s4, s6' % n, 's4 s6', 's0', [(low(a), low(b), F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20) + [(0x7e00, 0x3c00), (0x3c00, 0x7e00)]])
        op(t, 's_%simum_f16 s0, s4, s6' % n, 's4 s6', 's0', [(low(a), low(b), F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20)] + [(0x7e00, 0x3c00, 0x7e00), (0x3c00, 0x7e00, 0x7e00)])
        op(t, 's_%simum_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20)] + [(0x7fc00000, 0x3f800000, 0x7fc00000), (0x3f800000, 0x7fc00000, 0x7fc00000)])
    for n, want in fl.items():
        op(t, 's_cmp_%s_f16 s4, s6' % n, 's4 s6', 'scc', [(low(a), low(b), int(relation(F16, a, b) in want)) for a, b in pairs(HS, HS, 14) + [(0, F16.sign), (HS[-1], HS[-1])]])
        op(t, 's_cmp_%s_f32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(relation(F32, a, b) in want)) for a, b in pairs(FS, FS, 14) + [(0, F32.sign), (FS[-1], FS[-1])]])


def named():
    """What only one processor of a family has, or has not: tables of its own."""
    op('gfx1010', 'v_mul_lo_i32 v0, v1, v2', 'v1 v2', 'v0', [(0xfffffffd, 5, 0xfffffff1)])
    op('gfx1010', 'v_mac_legacy_f32 v0, v1, v2', 'v1 v2 v0', 'v0', [(0, 0x7f800000, 0x40000000, 0x40000000), (0x40000000, 0x40000000, 0x3f800000, 0x40a00000)])
    one, two = 0x3f800000, 0x40000000
    op('gfx900', 'v_mad_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]', 'v1 v2 v3', 'v0', [(0x40003c00, 0x00004200, one, 0x40e00000), (0xc0003c00, 0x4200, one, 0xc0a00000)])
    op('gfx900', 'v_mad_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(two, 0x40400000, one, 0xa5a54700)])
    op('gfx900', 'v_mad_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(two, 0x40400000, one, 0x4700a5a5)])
    t, twice = 'gfx900', lambda f, a, b, c: f.add(f.mul(a, b), c)       # rounded twice
    some = [one, 0xbf800000, two, 0x40490fdb, 0x3eaaaaab, 0xc2f60000]
    third = [0x3c00, 0xbc00, 0x4248, 0x3555, 0xd7b0]
    op(t, 'v_mac_f32 v0, v1, v2', 'v1 v2 v0', 'v0', [(a, b, c, twice(F32, a, b, c)) for a, b, c in triples(some, some, some)])
    op(t, 'v_madak_f32 v0, v1, v2, 0x40490fdb', 'v1 v2', 'v0', [(a, b, twice(F32, a, b, 0x40490fdb)) for a, b in pairs(some, some, 12)])
    op(t, 'v_madmk_f32 v0, v1, 0x40490fdb, v2', 'v1 v2', 'v0', [(a, b, twice(F32, a, 0x40490fdb, b)) for a, b in pairs(some, some, 12)])
    op(t, 'v_mac_f16 v0, v1, v2', 'v1 v2 v0', 'v0.l', [(a, b, c, twice(F16, a, b, c)) for a, b, c in triples(third, third, third)])
    op(t, 'v_mad_legacy_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0xffff1234, 0x89ab5678, 0x12349abc, (0x1234 * 0x5678 + 0x9abc) & M16), (0xffff, 0xffff, 2, 3)])
    for n, w in (('min', False), ('max', True)):
        op('gfx1151', 's_%s_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20)])
        op('gfx1151', 's_%s_f16 s0, s4, s6' % n, 's4 s6', 's0', [(0xabcd0000 | a, 0xabcd0000 | b, F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20)])
