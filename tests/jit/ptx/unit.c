/* SPDX-License-Identifier: Apache-2.0
 * The IR of small texts, field by field. Expected values come from the PTX manual's rules, worked out by hand. */
#include "impl/base/buf.h"
#include "jit/ptx/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned checks, failures;
#define CHECK(cond) (checks++, (cond) ? 1 : (failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #cond), 0))

static struct ptx_module *
parse(const char *text)
{
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    cwj_diags_init(&d);
    if (ptx_parse("unit", text, strlen(text), &m, &d) != CW_OK || ptx_module_validate(m, &d) != CW_OK) {
        struct cw_buf b;
        cw_buf_init(&b);
        cwj_diags_render(&d, "unit", text, strlen(text), &b);
        printf("%s", b.data);
        cw_buf_finish(&b);
        failures++;
    }
    cwj_diags_finish(&d);
    if (!m)
        exit(1);
    return m;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static const struct ptx_symbol *
var(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->nvars; i++)
        if (!strcmp(m->vars[i]->name, name))
            return m->vars[i];
    printf("no variable %s\n", name);
    exit(1);
}

static uint64_t
word(const struct ptx_symbol *s, uint64_t at, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n && s->init; i++)
        v |= (uint64_t)s->init[at + i] << (8 * i);
    return v;
}

static void
test_header_and_params(void)
{
    struct ptx_module *m = parse(".version 8.7\n.target sm_90a, texmode_independent\n.address_size 64\n"
        ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 16 .b8 c[20],\n"
        "                  .param .u16 d, .param .v2 .f32 e)\n"
        ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 64\n{ ret; }\n"
        ".weak .entry l() .reqntid 32 { exit; }\n");
    const struct ptx_function *k = m->funcs[0];
    CHECK(m->version_major == 8 && m->version_minor == 7 && m->sm == 90 && m->sm_suffix == 'a' && m->texmode_independent);
    CHECK(k->is_entry && k->has_body && k->nparams == 5 && k->sym->linkage == PTX_LINK_VISIBLE);
    CHECK(k->params[0]->offset == 0 && k->params[0]->size == 1);
    CHECK(k->params[1]->offset == 8 && k->params[1]->ptr_space == PTX_SPACE_GLOBAL && k->params[1]->ptr_align == 16);
    CHECK(k->params[2]->offset == 16 && k->params[2]->size == 20 && k->params[2]->is_array && k->params[2]->align == 16);
    CHECK(k->params[3]->offset == 36 && k->params[3]->ptr_space == PTX_SPACE_REG);
    CHECK(k->params[4]->offset == 40 && k->params[4]->size == 8);
    CHECK(k->param_size == 48);
    CHECK(k->maxntid[0] == 128 && k->maxntid[1] == 2 && k->maxntid[2] == 1 && k->minnctapersm == 3 && k->maxnreg == 64);
    CHECK(m->funcs[1]->reqntid[0] == 32 && m->funcs[1]->reqntid[1] == 1 && m->funcs[1]->sym->linkage == PTX_LINK_WEAK);
    ptx_module_destroy(m);
}

static void
test_initialisers(void)
{
    struct ptx_module *m = parse(HEAD
        ".global .s64 a[] = { 1 + 2 * 3, (1 + 2) * 3, -7 / 2, -7 % 3, 1 << 40, -16 >> 2, 0x10 | 3 & 2, 5 > 3 ? 10 : 20,\n"
        "  !5, ~0, (.s64) -1 < 0, 0xFFFFFFFFFFFFFFFFU > 0, 010, 0b1011, 7U, WARP_SZ, 1 == 1 && 0 || 1, 6 ^ 3, -1U / 2,\n"
        "  (.u64) -16 >> 60, 3 <= 2, 2 != 2 };\n"
        ".global .f32 f[] = { 1.5, 0f3F800000, 2, -0.25, 1e10, 0d4000000000000000, 1.0 / 4.0 };\n"
        ".global .f64 d = 0d400921FB54442D18;\n"
        ".const .b8 s[] = \"ab\\n\\101\";\n"
        ".global .u16 m[2][3] = { { 1 }, { 4, 5, 6 } };\n"
        ".global .align 16 .v4 .u32 v[2] = { { 1, 2, 3, 4 }, { 5 } };\n"
        ".global .u64 p[3] = { a, a + 24, generic(a) - 8 };\n"
        ".global .u8 q[4] = { 0xFF(a), 0xFF00(a), 9, 0xFF0000(a + 2) };\n"
        ".func fn; .global .u64 fp = fn;\n"
        ".extern .global .u32 x[]; .visible .global .u32 x[2] = { 8, 9 };\n"
        ".global .u32 z[4];\n");
    static const int64_t expect[] = { 7, 9, -3, -1, 1ll << 40, -4, 18, 10, 0, -1, 1, 1, 8, 11, 7, 32, 1, 5, INT64_MAX, 15, 0, 0 };
    const struct ptx_symbol *a = var(m, "a"), *f = var(m, "f");
    CHECK(a->size == sizeof expect && a->is_array && !a->unsized && a->align == 8);
    for (unsigned i = 0; i < sizeof expect / 8; i++)
        if (!CHECK((int64_t)word(a, 8 * i, 8) == expect[i]))
            printf("  element %u is %lld\n", i, (long long)word(a, 8 * i, 8));
    static const uint32_t bits[] = { 0x3FC00000, 0x3F800000, 0x40000000, 0xBE800000, 0x501502F9, 0x40000000, 0x3E800000 };
    for (unsigned i = 0; i < 7; i++)
        CHECK(word(f, 4 * i, 4) == bits[i]);
    CHECK(word(var(m, "d"), 0, 8) == 0x400921FB54442D18);
    CHECK(var(m, "s")->size == 5 && !memcmp(var(m, "s")->init, "ab\nA", 5));
    CHECK(var(m, "m")->size == 12 && word(var(m, "m"), 0, 6) == 1 && word(var(m, "m"), 6, 6) == 0x000600050004);
    CHECK(var(m, "v")->size == 32 && word(var(m, "v"), 12, 8) == 0x500000004 && var(m, "v")->align == 16);
    const struct ptx_symbol *p = var(m, "p"), *q = var(m, "q");
    CHECK(p->nrelocs == 3 && p->relocs[1].offset == 8 && p->relocs[1].addend == 24 && p->relocs[1].target == a && p->relocs[1].width == 8);
    CHECK(p->relocs[2].generic && p->relocs[2].addend == -8 && !p->relocs[0].generic);
    CHECK(q->nrelocs == 3 && q->relocs[1].width == 1 && q->relocs[1].shift == 8 && q->relocs[2].offset == 3 &&
          q->relocs[2].shift == 16 && q->relocs[2].addend == 2 && q->init[2] == 9);
    CHECK(var(m, "fp")->relocs[0].target->kind == PTX_SYM_FUNC);
    CHECK(var(m, "x")->size == 8 && var(m, "x")->linkage == PTX_LINK_VISIBLE && word(var(m, "x"), 4, 4) == 9);
    CHECK(!var(m, "z")->init && var(m, "z")->size == 16);
    ptx_module_destroy(m);
}

static void
test_instructions(void)
{
    struct ptx_module *m = parse(HEAD
        ".global .texref tx;\n.extern .shared .align 16 .b8 dyn[];\n"
        ".entry k(.param .u64 p) {\n"
        ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<9>; .reg .b16 %h<3>; .reg .v2 .u32 %v;\n"
        "@!%p1 add.cc.u32 %r1, %r2, -5;\n"                                  /* 0 */
        "setp.lt.and.ftz.f32 %p1|%p2, %f1, 0f3F000000, !%p0;\n"             /* 1 */
        "ld.volatile.global.v4.f32 {%f0, %f1, %f2, _}, [%rd1+-16];\n"       /* 2 */
        "tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [tx, {%f4, %f5}], %f6;\n" /* 3 */
        "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, %rd2, {%r1, %r2}];\n"    /* 4 */
        "mov.b64 {%r1, %r2}, %rd1;\n"                                       /* 5 */
        "mov.u32 %r1, %tid.y;\n"                                            /* 6 */
        "atom.acq_rel.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;\n"          /* 7 */
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\n"                     /* 8 */
        "cvt.rni.sat.u8.f32 %r1, %f1;\n"                                    /* 9 */
        "bar.red.popc.u32 %r1, 1, 64, !%p1;\n"                              /* 10 */
        "mov.u64 %rd1, dyn+8;\n"                                            /* 11 */
        "vadd.u32.u32.s32.sat.add %r1.b0, %r2.h1, -%r3.b3, %r4;\n"          /* 12 */
        "mov.v2.u32 %v, {1, 2}; add.u32 %r1, %v.x, %v.y;\n"                 /* 13, 14 */
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;\n"  /* 15 */
        "prmt.b32.f4e %r1, %r2, %r3, %r4;\n"                                /* 16 */
        "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x96, %p2;\n"                  /* 17 */
        "}\n");
    const struct ptx_function *k = m->funcs[0];
    const struct ptx_inst *i = k->insts;
    CHECK(k->ninsts == 19 && i[18].op == PTX_OP_RET);
    CHECK(i[0].op == PTX_OP_ADD && i[0].has_guard && i[0].guard_negated && i[0].guard == 1 && (i[0].flags & PTX_F_CC) &&
          i[0].operand[2].imm == -5 && i[0].line == 8 && i[0].column == 7);
    CHECK(i[1].cmp == PTX_LT && i[1].boolop == PTX_BOOL_AND && (i[1].flags & PTX_F_FTZ) && i[1].operand[0].kind == PTX_OPND_PRED_PAIR &&
          i[1].operand[0].elem[1].index == 2 && i[1].operand[2].is_float && i[1].operand[2].imm_f32 && i[1].operand[3].negate_pred);
    CHECK(i[2].sem == PTX_SEM_VOLATILE && i[2].space == PTX_SPACE_GLOBAL && i[2].vec == 4 && i[2].operand[0].count == 4 &&
          i[2].operand[0].elem[3].kind == PTX_OPND_SINK && i[2].operand[1].has_reg && i[2].operand[1].imm == -16);
    CHECK(i[3].geom == PTX_GEOM_2D && PTX_AUX(&i[3], LOD) == 2 && i[3].noperands == 5 && i[3].operand[1].kind == PTX_OPND_SYM &&
          i[3].operand[2].kind == PTX_OPND_NONE && i[3].operand[3].count == 2 && i[3].operand[4].kind == PTX_OPND_REG);
    CHECK(i[4].operand[2].kind == PTX_OPND_REG && i[4].type[1] == PTX_S32 && i[4].noperands == 4);
    CHECK(i[5].operand[0].kind == PTX_OPND_VEC && i[5].operand[0].elem[1].index == i[0].operand[0].index + 1);
    CHECK(i[6].operand[1].kind == PTX_OPND_SREG && i[6].operand[1].index == PTX_SREG_TID_Y);
    CHECK(i[7].sem == PTX_SEM_ACQ_REL && i[7].scope == PTX_SCOPE_GPU && i[7].atomop == PTX_ATOM_CAS && i[7].noperands == 4);
    CHECK((i[8].flags & PTX_F_SYNC) && i[8].mode == PTX_MODE_BFLY && i[8].operand[0].kind == PTX_OPND_PRED_PAIR && i[8].noperands == 5);
    CHECK(i[9].round == PTX_RNI && (i[9].flags & PTX_F_SAT) && i[9].type[0] == PTX_U8 && i[9].type[1] == PTX_F32);
    CHECK(i[10].mode == PTX_MODE_RED && i[10].boolop == PTX_BOOL_POPC && i[10].noperands == 4 && i[10].operand[3].negate_pred);
    CHECK(i[11].operand[1].kind == PTX_OPND_SYM && i[11].operand[1].imm == 8 && i[11].operand[1].sym->unsized);
    CHECK(i[12].atomop == PTX_ATOM_ADD && (i[12].flags & PTX_F_SAT) && i[12].operand[0].video_sel == 0 &&
          i[12].operand[1].video_sel == 5 && i[12].operand[2].negate && i[12].operand[2].video_sel == 3 && i[12].operand[3].video_sel == -1);
    CHECK(i[13].vec == 2 && i[13].operand[0].count == 2 && i[14].operand[2].index == i[14].operand[1].index + 1);
    CHECK(i[15].op == PTX_OP_WGMMA_MMA_ASYNC && i[15].operand[0].kind == PTX_OPND_TEXT);
    CHECK(i[16].mode == PTX_MODE_F4E && i[17].boolop == PTX_BOOL_OR && i[17].operand[4].imm == 0x96);
    ptx_module_destroy(m);
}

/* Matrix instructions; the forms that came after sm_90 stay text. */
static void
test_matrices(void)
{
    struct ptx_module *m = parse(HEAD
        ".entry k(.param .u64 p) {\n"
        ".reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<9>;\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, _}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, 0f3F800000};\n"
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r0, %r1}, {%r2}, {%r3}, {%r4, 5};\n"
        "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, {%r0,%r1}, {%r2,%r3}, {%r4,%r5,%r6,%r7};\n"
        "wmma.mma.sync.aligned.col.row.m8n32k16.s32.u8.u8.s32.satfinite {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r1}, {%r0,%r1,%r2,%r3},"
        " {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};\n"
        "wmma.load.b.sync.aligned.m16n16k16.col.shared::cta.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%r1+16], 24;\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%rd1], {%r0,%r1,%r2,%r3};\n"
        "ldmatrix.sync.aligned.x2.m8n8.trans.shared.b16 {%r0, %r1}, [%r2];\n"
        "stmatrix.sync.aligned.m8n8.x1.b16 [%rd2], {%r0};\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;\n"
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];\n"
        "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1}, {%r2,%r3}, {%r4,%r5}, {%r6,%r7}, %r8, 0x0;\n"
        "}\n");
    const struct ptx_inst *i = m->funcs[0]->insts;
    CHECK(i[0].op == PTX_OP_MMA && PTX_AUX(&i[0], MSHAPE) == PTX_M16N8K16 && PTX_AUX(&i[0], ALAYOUT) == 1 && PTX_AUX(&i[0], BLAYOUT) == 2 &&
          i[0].type[0] == PTX_F32 && i[0].type[1] == PTX_BF16 && i[0].noperands == 4 && i[0].operand[1].count == 4 && (i[0].flags & PTX_F_ALIGNED));
    CHECK(i[1].boolop == PTX_BOOL_AND && (i[1].aux >> PTX_AUX_MPOPC & 1) && i[1].type[2] == PTX_B1);
    CHECK(PTX_AUX(&i[2], ALAYOUT) == 2 && PTX_AUX(&i[2], BLAYOUT) == 1 && i[2].type[3] == PTX_F16);
    CHECK(i[3].op == PTX_OP_WMMA_MMA && (i[3].flags & PTX_F_SATFINITE) && PTX_AUX(&i[3], MSHAPE) == PTX_M8N32K16);
    CHECK(i[4].op == PTX_OP_WMMA_LOAD && PTX_AUX(&i[4], MFRAG) == 2 && PTX_AUX(&i[4], ALAYOUT) == 2 && i[4].space == PTX_SPACE_SHARED &&
          i[4].operand[1].imm == 16 && i[4].operand[2].imm == 24);
    CHECK(i[5].op == PTX_OP_WMMA_STORE && PTX_AUX(&i[5], MFRAG) == 4 && i[5].noperands == 2);
    CHECK(i[6].op == PTX_OP_LDMATRIX && PTX_AUX(&i[6], MNUM) == 2 && (i[6].aux >> PTX_AUX_MTRANS & 1));
    CHECK(i[7].op == PTX_OP_STMATRIX && PTX_AUX(&i[7], MNUM) == 1 && i[8].op == PTX_OP_MOVMATRIX && i[8].noperands == 2);
    CHECK(i[9].op == PTX_OP_LDMATRIX && i[9].operand[0].kind == PTX_OPND_TEXT);
    CHECK(i[10].op == PTX_OP_MMA_SP && i[10].noperands == 6 && i[10].operand[1].count == 2 && i[10].operand[5].imm == 0);
    ptx_module_destroy(m);
}

static void
test_scopes_and_calls(void)
{
    struct ptx_module *m = parse(HEAD
        ".func (.param .b32 r) f (.param .b32 a, .param .align 8 .b8 b[16]);\n"
        ".func g (.reg .u32 x) .noreturn { trap; }\n.func h;\n.visible .func al;\n.alias al, h;\n"
        ".entry k() {\n"
        ".reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
        "{ .reg .u32 %r1; .param .b32 a; .param .align 8 .b8 b[16]; .param .b32 r; st.param.b32 [a], %r1;\n"
        "  call.uni (r), f, (a, b); bra L; L: bra M; }\n"
        "call g, (7);\ncall h;\n"
        "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "{ .param .b32 a; .param .b32 r; call (r), %rd1, (a), P; }\n"
        "T: .branchtargets L, M, L;\nL: brx.idx %r1, T;\nM: ret;\n}\n"
        ".func h { ret; }\n");
    const struct ptx_function *k = NULL;
    for (uint32_t i = 0; i < m->nfuncs; i++)
        k = m->funcs[i]->is_entry ? m->funcs[i] : k;
    const struct ptx_inst *i = k->insts;
    CHECK(m->nfuncs == 5 && m->funcs[2]->has_body && m->funcs[1]->noreturn && m->funcs[1]->params[0]->is_param_reg);
    CHECK(m->funcs[3]->sym->kind == PTX_SYM_ALIAS && m->funcs[3]->sym->alias == m->funcs[2]->sym);
    CHECK(i[0].operand[1].index == 6 && k->nregs == 7);     /* the inner %r1 */
    CHECK(i[1].op == PTX_OP_CALL && i[1].noperands == 4 && i[1].operand[0].kind == PTX_OPND_LIST && i[1].operand[1].sym->func == m->funcs[0] &&
          i[1].operand[2].count == 2 && i[1].operand[2].elem[1].sym->size == 16 && i[1].operand[3].kind == PTX_OPND_NONE);
    CHECK(i[2].operand[0].index == 3 && i[3].operand[0].index == 8);    /* the inner L, the outer M */
    CHECK(i[4].operand[0].kind == PTX_OPND_NONE && i[4].operand[2].elem[0].imm == 7 && i[5].operand[2].kind == PTX_OPND_NONE);
    CHECK(i[6].operand[1].kind == PTX_OPND_REG && i[6].operand[3].table->proto->nrets == 1);
    CHECK(i[7].op == PTX_OP_BRX_IDX && i[7].operand[1].table->count == 3 && i[7].operand[1].table->labels[1] == 8);
    CHECK(k->nlocals == 5 && k->locals[3]->space == PTX_SPACE_PARAM);
    ptx_module_destroy(m);
}

static void
test_cfg(void)
{
    struct ptx_module *m = parse(HEAD
        ".entry k() { .reg .pred %p<2>; .reg .b32 %r<2>;\n"
        "A: @%p1 bra C;\n add.u32 %r1, %r1, 1;\n bra D;\n mov.u32 %r1, 0;\n"     /* 0 1 2 | 3 unreachable */
        "C: mov.u32 %r1, 1;\n @%p1 ret;\n"                                      /* 4 5 */
        "D: T: .branchtargets A, D, A; @%p1 brx.idx %r1, T;\n exit;\n}\n");     /* 6 7 */
    struct ptx_function *k = m->funcs[0];
    CHECK(ptx_function_build_cfg(k) == CW_OK && k->nblocks == 6);
    const struct ptx_block *b = k->blocks;
    /* 0: empty entry (A is a target); 1: bra; 2: add, bra D; 3: C; 4: D; 5: exit */
    CHECK(b[0].count == 0 && b[0].npred == 0 && b[0].nsucc == 1 && b[0].succ[0] == 1);
    CHECK(b[1].first == 0 && b[1].count == 1 && b[1].nsucc == 2 && b[1].succ[0] == 3 && b[1].succ[1] == 2 && b[1].npred == 2);
    CHECK(b[2].first == 1 && b[2].count == 2 && b[2].nsucc == 1 && b[2].succ[0] == 4);
    CHECK(b[3].first == 4 && b[3].count == 2 && b[3].nsucc == 1 && b[3].succ[0] == 4);
    CHECK(b[4].first == 6 && b[4].nsucc == 3 && b[4].succ[0] == 1 && b[4].succ[1] == 4 && b[4].succ[2] == 5 && b[4].npred == 3);
    CHECK(b[5].first == 7 && b[5].nsucc == 0);
    struct cwj_diags d;
    cwj_diags_init(&d);
    CHECK(ptx_module_validate(m, &d) == CW_OK);
    k->insts[1].operand[0].index = 99;      /* broken on purpose: the validator must see each */
    k->insts[4].op = 60000;
    k->blocks[5].succ = &(uint32_t){ 0 };
    k->blocks[5].nsucc = 1;
    CHECK(ptx_module_validate(m, &d) == CW_ERR_INTERNAL && d.errors == 3);
    cwj_diags_finish(&d);
    ptx_module_destroy(m);
}

static void
test_diagnostics(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.entry k {\n\tfrob;\n\tret;\n}\n";
    struct cwj_diags d;
    struct ptx_module *m;
    struct cw_buf b;
    cwj_diags_init(&d);
    cw_buf_init(&b);
    CHECK(ptx_parse("x.ptx", text, sizeof text, &m, &d) == CW_ERR_SYNTAX && !m && d.errors == 1);
    cwj_diags_render(&d, "x.ptx", text, sizeof text - 1, &b);
    CHECK(!strcmp(b.data, "x.ptx:4:2: error P2003: unknown instruction 'frob'\n     frob;\n     ^\n"));
    cw_buf_finish(&b);
    cwj_diags_finish(&d);

    /* no more than 20 are kept, and parsing ends */
    cw_buf_init(&b);
    cw_buf_puts(&b, ".version 8.0\n.target sm_80\n.entry k {\n");
    for (int i = 0; i < 1000; i++)
        cw_buf_puts(&b, "frob;\n");
    cw_buf_puts(&b, "}\n");
    cwj_diags_init(&d);
    CHECK(ptx_parse("x.ptx", b.data, b.size, &m, &d) == CW_ERR_SYNTAX && d.errors == 20);
    unsigned n = 0;
    for (const struct cwj_diag *g = d.first; g; g = g->next)
        n++;
    CHECK(n == 20);
    cwj_diags_finish(&d);
    cw_buf_finish(&b);
}

/* What is just within a limit; negative.txt has what is not. */
static void
test_limits(void)
{
    static const char *const texts[] = {
        ".version 7.1\n.target sm_10\n.entry k { ret; }\n",             /* which an H200 loads as well */
        ".version 8.0\n.target sm_90a\n.entry k() .reqnctapercluster 0 { ret; }\n",
        ".version 7.1\n.target sm_60\n.entry k(.param .b8 p[4352])\n.maxntid 1025, 1, 1\n{ ret; }\n",
        ".version 8.1\n.target sm_70\n.entry k(.param .b8 p[32764]) { ret; }\n",
        ".version 7.1\n.target sm_60, debug\n.entry k { ret; }\n.section .debug_loc { }\n",
        HEAD ".entry k { .reg .b32 %r<4>, %r4, %r2<9>; { .reg .b32 %r1; } bar.sync 15, 1024; bar.sync 0, 0; barrier.sync %r1, %r2; ret; }\n",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        ptx_module_destroy(parse(texts[i]));
}

static void
test_tables(void)
{
    for (unsigned op = 1; op < PTX_OP_COUNT; op++) {
        const struct ptx_op_info *i = ptx_op_info(op);
        CHECK(i->mnemonic && i->mnemonic[0] && i->min_ptx >= 10 && i->min_sm >= 10 && i->ndst <= 2);
        for (unsigned other = 1; other < op; other++)
            CHECK(strcmp(ptx_op_info(other)->mnemonic, i->mnemonic));
    }
    CHECK(!strcmp(ptx_op_info(PTX_OP_ADD)->mnemonic, "add") && (ptx_op_info(PTX_OP_SHFL)->traits & PTX_T_WARP));
    CHECK(!strcmp(ptx_sreg_info(PTX_SREG_LANEID)->name, "%laneid") && ptx_sreg_info(PTX_SREG_CLOCK64)->type == PTX_U64);
    CHECK(!strcmp(ptx_type_name(PTX_F16X2), "f16x2") && ptx_type_bits(PTX_B128) == 128 && ptx_type_class(PTX_S8) == PTX_CLASS_SINT);
    CHECK(ptx_op_info(60000)->traits == 0 && !strcmp(ptx_type_name(200), "<invalid>"));
}

int
main(void)
{
    test_header_and_params();
    test_initialisers();
    test_instructions();
    test_matrices();
    test_scopes_and_calls();
    test_cfg();
    test_diagnostics();
    test_limits();
    test_tables();
    printf("%u checks, %u failures\n", checks, failures);
    return failures != 0;
}
