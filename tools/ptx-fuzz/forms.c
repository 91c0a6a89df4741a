/* SPDX-License-Identifier: Apache-2.0
 * The instruction forms that programs consist of: hand-written patterns where PTX restricts combinations, and, for every opcode
 * that no pattern names, combinations of the types and modifiers of its row in jit/ptx/ops.def, so that a new row is tested
 * without a change here. Forms that the front end rejects are left out. */
#include "tools/ptx-fuzz/fuzz.h"
#include "jit/ptx/ptx_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

const char *const category_name[NCATEGORIES] = { "int", "bit", "f32", "f64", "half", "cmp", "select", "cvt", "mov", "video", "auto" };

/* ---- patterns ---- */

/* text  alternatives in braces; T and U between dots are replaced by each type of their lists.
 * ops   destination first. A type, T, U, W (T doubled), P a predicate source, p a predicate, #n a constant below n; "x|p" with a
 *       predicate result, "!x" not zero, "~x" a register that may be wider, "%x" as a constant below 256, "=x" no constant. A leading "-": no destination. */
struct pattern {
    uint8_t category, flags;
    const char *text, *ops, *t, *u;
};

#define INT  "u16 s16 u32 s32 u64 s64"
#define INT8 "u8 s8 u16 s16 u32 s32 u64 s64"
#define RND  "{rn,rz,rm,rp}"
#define IRND "{rni,rzi,rmi,rpi}"
#define CMPI "{eq,ne,lt,le,gt,ge}"
#define CMPF "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define BOOL "{and,or,xor}"

static const struct pattern patterns[] = {
    { CAT_INT, 0, "{add,sub}.T", "T T T", INT, NULL },
    { CAT_INT, 0, "{add,sub}.sat.s32", "s32 s32 s32", NULL, NULL },
    { CAT_INT, 0, "mul.{lo,hi}.T", "T T T", INT, NULL },
    { CAT_INT, 0, "mul.wide.T", "W T T", "u16 s16 u32 s32", NULL },
    { CAT_INT, 0, "mad.{lo,hi}.T", "T T T T", INT, NULL },
    { CAT_INT, 0, "mad.wide.T", "W T T W", "u16 s16 u32 s32", NULL },
    { CAT_INT, FORM_LOOSE, "mad.hi.sat.s32", "s32 s32 s32 s32", NULL, NULL },
    { CAT_INT, 0, "mul24.{lo,hi}.T", "T T T", "u32 s32", NULL },
    { CAT_INT, 0, "mad24.{lo,hi}.T", "T T T T", "u32 s32", NULL },
    { CAT_INT, 0, "mad24.hi.sat.s32", "s32 s32 s32 s32", NULL, NULL },
    { CAT_INT, 0, "sad.T", "T T T T", INT, NULL },
    { CAT_INT, 0, "{div,rem}.T", "T T !T", INT, NULL },
    { CAT_INT, FORM_LOOSE, "neg.T", "T T", "s16 s32 s64", NULL },
    { CAT_INT, FORM_LOOSE, "abs.T", "T T", "s16 s32 s64", NULL },
    { CAT_INT, 0, "{min,max}.T", "T T T", INT, NULL },
    { CAT_INT, 0, "dp4a.T.U", "u32 u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_INT, 0, "dp2a.{lo,hi}.T.U", "u32 u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_BIT, 0, "{popc,clz}.T", "u32 T", "b32 b64", NULL },
    { CAT_BIT, 0, "bfind{,.shiftamt}.T", "u32 T", "u32 s32 u64 s64", NULL },
    { CAT_BIT, 0, "brev.T", "T T", "b32 b64", NULL },
    { CAT_BIT, 0, "bfe.T", "T T =u32 =u32", "u32 s32 u64 s64", NULL },
    { CAT_BIT, 0, "bfi.T", "T T T =u32 =u32", "b32 b64", NULL },
    { CAT_BIT, 0, "fns.b32", "u32 u32 #32 s32", NULL, NULL },
    { CAT_BIT, 0, "szext.{clamp,wrap}.T", "T T u32", "u32 s32", NULL },
    { CAT_BIT, 0, "bmsk.{clamp,wrap}.b32", "u32 u32 u32", NULL, NULL },
    { CAT_BIT, 0, "{and,or,xor}.T", "T T T", "b16 b32 b64", NULL },
    { CAT_BIT, 0, "{and,or,xor}.pred", "p P P", NULL, NULL },
    { CAT_BIT, 0, "not.T", "T T", "b16 b32 b64", NULL },
    { CAT_BIT, FORM_LOOSE, "cnot.T", "T T", "b16 b32 b64", NULL },
    { CAT_BIT, 0, "not.pred", "p P", NULL, NULL },
    { CAT_BIT, 0, "lop3.b32", "b32 b32 b32 b32 #256", NULL, NULL },
    { CAT_BIT, 0, "lop3.{and,or}.b32", "b32|p b32 b32 b32 #256 P", NULL, NULL },
    { CAT_BIT, 0, "shf.{l,r}.{clamp,wrap}.b32", "b32 b32 b32 u32", NULL, NULL },
    { CAT_BIT, 0, "shl.T", "T T %u32", "b16 b32 b64", NULL },
    { CAT_BIT, 0, "shr.T", "T T =u32", "b16 b32 b64 " INT, NULL },
    { CAT_BIT, 0, "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "b32 b32 b32 b32", NULL, NULL },

    { CAT_F32, 0, "{add,sub,mul}." RND "{,.ftz}{,.sat}.f32", "f32 f32 f32", NULL, NULL },
    { CAT_F32, FORM_CONTRACT, "{add,sub,mul}{,.ftz}{,.sat}.f32", "f32 f32 f32", NULL, NULL },
    { CAT_F32, 0, "{fma,mad}." RND "{,.ftz}{,.sat}.f32", "f32 f32 f32 f32", NULL, NULL },
    { CAT_F32, 0, "div." RND "{,.ftz}.f32", "f32 f32 f32", NULL, NULL },
    { CAT_F32, 0, "{rcp,sqrt}." RND "{,.ftz}.f32", "f32 f32", NULL, NULL },
    { CAT_F32, FORM_LOOSE, "{abs,neg}{,.ftz}.f32", "f32 f32", NULL, NULL },
    { CAT_F32, 0, "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "f32 f32 f32", NULL, NULL },
    { CAT_F32, 0, "testp.{finite,infinite,number,notanumber,normal,subnormal}.T", "p T", "f32 f64", NULL },
    { CAT_F32, 0, "copysign.T", "T T T", "f32 f64", NULL },
    { CAT_F32, FORM_APPROX, "div.{approx,full}{,.ftz}.f32", "f32 f32 f32", NULL, NULL },
    { CAT_F32, FORM_APPROX, "{rcp,sqrt,rsqrt,sin,cos,lg2,ex2}.approx{,.ftz}.f32", "f32 f32", NULL, NULL },
    { CAT_F32, FORM_APPROX, "tanh.approx.f32", "f32 f32", NULL, NULL },
    { CAT_F64, FORM_NAN64, "{add,sub,mul}." RND ".f64", "f64 f64 f64", NULL, NULL },
    { CAT_F64, FORM_CONTRACT | FORM_NAN64, "{add,sub,mul}.f64", "f64 f64 f64", NULL, NULL },
    { CAT_F64, FORM_NAN64, "{fma,mad}." RND ".f64", "f64 f64 f64 f64", NULL, NULL },
    { CAT_F64, FORM_NAN64, "div." RND ".f64", "f64 f64 f64", NULL, NULL },
    { CAT_F64, 0, "{rcp,sqrt}." RND ".f64", "f64 f64", NULL, NULL },
    { CAT_F64, FORM_LOOSE, "{abs,neg}.f64", "f64 f64", NULL, NULL },
    { CAT_F64, FORM_NAN64, "{min,max}.f64", "f64 f64 f64", NULL, NULL },
    { CAT_F64, FORM_APPROX, "{rcp,rsqrt}.approx.ftz.f64", "f64 f64", NULL, NULL },
    { CAT_F64, FORM_APPROX, "rsqrt.approx.f64", "f64 f64", NULL, NULL },
    { CAT_HALF, 0, "{add,sub,mul}.rn{,.ftz}{,.sat}.T", "T T T", "f16 f16x2", NULL },
    { CAT_HALF, FORM_CONTRACT, "{add,sub,mul}{,.ftz}{,.sat}.T", "T T T", "f16 f16x2", NULL },
    { CAT_HALF, 0, "fma.rn{,.ftz}{,.sat,.relu}.T", "T T T T", "f16 f16x2", NULL },
    { CAT_HALF, FORM_SM90, "{add,sub,mul}.rn.T", "T T T", "bf16 bf16x2", NULL },
    { CAT_HALF, 0, "fma.rn{,.relu}.T", "T T T T", "bf16 bf16x2", NULL },
    { CAT_HALF, FORM_LOOSE, "{abs,neg}{,.ftz}.T", "T T", "f16 f16x2", NULL },
    { CAT_HALF, FORM_LOOSE, "{abs,neg}.T", "T T", "bf16 bf16x2", NULL },
    { CAT_HALF, 0, "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.T", "T T T", "f16 f16x2", NULL },
    { CAT_HALF, 0, "{min,max}{,.NaN}{,.xorsign.abs}.T", "T T T", "bf16 bf16x2", NULL },
    { CAT_HALF, FORM_APPROX, "{ex2,tanh}.approx.T", "T T", "f16 f16x2", NULL },
    { CAT_HALF, FORM_APPROX, "ex2.approx.ftz.T", "T T", "bf16 bf16x2", NULL },
    { CAT_HALF, FORM_APPROX, "tanh.approx.T", "T T", "bf16 bf16x2", NULL },

    { CAT_CMP, 0, "setp." CMPI ".T", "p T T", INT, NULL },
    { CAT_CMP, 0, "setp.{eq,ne}.T", "p T T", "b16 b32 b64", NULL },
    { CAT_CMP, 0, "setp.{lo,ls,hi,hs}.T", "p T T", "u16 u32 u64", NULL },
    { CAT_CMP, 0, "setp." CMPF "{,.ftz}.f32", "p f32 f32", NULL, NULL },
    { CAT_CMP, 0, "setp." CMPF ".f64", "p f64 f64", NULL, NULL },
    { CAT_CMP, 0, "setp." CMPF "{,.ftz}.f16", "p f16 f16", NULL, NULL },
    { CAT_CMP, 0, "setp." CMPF "{,.ftz}.f16x2", "p|p f16x2 f16x2", NULL, NULL },
    { CAT_CMP, 0, "setp." CMPI "." BOOL ".T", "p|p T T P", "u16 s32 u64 s64", NULL },
    { CAT_CMP, 0, "setp." CMPF "." BOOL "{,.ftz}.f32", "p|p f32 f32 P", NULL, NULL },
    { CAT_CMP, 0, "set." CMPI ".U.T", "U T T", INT, "u32 s32 f32" },
    { CAT_CMP, 0, "set." CMPI "." BOOL ".U.T", "U T T P", "u32 s64 u16", "u32 s32 f32" },
    { CAT_CMP, 0, "set." CMPF "{,.ftz}.U.f32", "U f32 f32", NULL, "u32 s32 f32" },
    { CAT_CMP, 0, "set." CMPF ".U.f64", "U f64 f64", NULL, "u32 s32 f32" },
    { CAT_CMP, 0, "set." CMPF "{,.ftz}.U.f16", "U f16 f16", NULL, "u16 s16 u32 s32" },
    { CAT_CMP, FORM_LOOSE, "set." CMPF "{,.ftz}.f16x2.f16x2", "f16x2 f16x2 f16x2", NULL, NULL },
    { CAT_SELECT, 0, "selp.T", "T T T P", "b16 b32 b64 " INT " f32 f64", NULL },
    { CAT_SELECT, 0, "slct.T.s32", "T T T =s32", "b16 b32 b64 " INT " f32 f64", NULL },
    { CAT_SELECT, 0, "slct{,.ftz}.T.f32", "T T T f32", "b16 b32 b64 " INT " f32 f64", NULL },
    { CAT_MOV, 0, "mov.T", "T T", "b16 b32 b64 u32 s32 u64 f32 f64 u16", NULL },
    { CAT_MOV, 0, "mov.pred", "p P", NULL, NULL },

    { CAT_CVT, 0, "cvt.T.U", "~T ~U", INT8, INT8 },
    { CAT_CVT, FORM_LOOSE, "cvt.sat.T.U", "~T ~U", INT8, INT8 },
    { CAT_CVT, 0, "cvt." IRND "{,.ftz}{,.sat}.T.f32", "~T f32", INT8, NULL },
    { CAT_CVT, 0, "cvt." IRND "{,.sat}.T.U", "~T U", INT8, "f64 f16" },
    { CAT_CVT, 0, "cvt." RND "{,.sat}.U.T", "U ~T", INT8, "f16 f32 f64" },
    { CAT_CVT, 0, "cvt{,.ftz}{,.sat}.f32.f16", "f32 f16", NULL, NULL },
    { CAT_CVT, 0, "cvt." RND "{,.ftz}{,.sat}.f16.f32", "f16 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt." RND "{,.ftz}{,.sat}.f32.f64", "f32 f64", NULL, NULL },
    { CAT_CVT, 0, "cvt." RND "{,.sat}.f16.f64", "f16 f64", NULL, NULL },
    { CAT_CVT, 0, "cvt{,.ftz}{,.sat}.f64.f32", "f64 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt{,.sat}.f64.f16", "f64 f16", NULL, NULL },
    { CAT_CVT, 0, "cvt." IRND "{,.ftz}{,.sat}.f32.f32", "f32 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt{.ftz,.sat,.ftz.sat}.f32.f32", "f32 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt." IRND "{,.sat}.f64.f64", "f64 f64", NULL, NULL },
    { CAT_CVT, 0, "cvt.sat.f64.f64", "f64 f64", NULL, NULL },
    { CAT_CVT, FORM_LOOSE, "cvt.T.T", "T T", "f32 f64", NULL },
    { CAT_CVT, 0, "cvt." IRND "{,.sat}.f16.f16", "f16 f16", NULL, NULL },
    { CAT_CVT, FORM_LOOSE, "cvt{,.sat}.f16.f16", "f16 f16", NULL, NULL },
    { CAT_CVT, 0, "cvt.{rn,rz}{,.relu}.bf16.f32", "bf16 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt.f32.bf16", "f32 bf16", NULL, NULL },
    { CAT_CVT, 0, "cvt.{rn,rz}{,.relu}.T.f32", "T f32 f32", "f16x2 bf16x2", NULL },
    { CAT_CVT, 0, "cvt.rna{,.satfinite}.tf32.f32", "tf32 f32", NULL, NULL },
    { CAT_CVT, 0, "cvt.rn.satfinite{,.relu}.T.f32", "b16 f32 f32", "e4m3x2 e5m2x2", NULL },
    { CAT_CVT, 0, "cvt.rn.satfinite{,.relu}.T.f16x2", "b16 f16x2", "e4m3x2 e5m2x2", NULL },
    { CAT_CVT, 0, "cvt.rn{,.relu}.f16x2.T", "f16x2 =b16", "e4m3x2 e5m2x2", NULL },
    { CAT_CVT, 0, "cvt.pack.sat.{u16,s16}.s32", "u32 s32 s32", NULL, NULL },
    { CAT_CVT, 0, "cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32", "u32 s32 s32 u32", NULL, NULL },

    { CAT_VIDEO, 0, "v{add,sub,absdiff,min,max}.T.U.{u32,s32}", "u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, FORM_LOOSE, "v{add,sub,absdiff,min,max}.T.U.{u32,s32}.sat", "u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, FORM_LOOSE, "v{add,sub,absdiff,min,max}.T.U.s32.{add,min,max}", "u32 u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, 0, "v{shl,shr}.T.U.u32{.clamp,.wrap}", "u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, 0, "vset.T.U." CMPI, "u32 u32 u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, FORM_LOOSE, "vmad.u32.u32.u32{,.sat}{,.shr7,.shr15}", "u32 u32 u32 u32", NULL, NULL },
    { CAT_VIDEO, FORM_LOOSE, "vmad.s32.{u32.s32,s32.u32,s32.s32}{,.sat}{,.shr7,.shr15}", "u32 u32 u32 u32", NULL, NULL },
    { CAT_VIDEO, 0, "v{add,sub,avrg,absdiff,min,max}{2,4}.T.U.{u32,s32}{.sat,}", "u32 =u32 =u32 =u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, 0, "v{add,sub,avrg,absdiff,min,max}{2,4}.T.U.s32.add", "u32 =u32 =u32 =u32", "u32 s32", "u32 s32" },
    { CAT_VIDEO, 0, "vset{2,4}.T.U." CMPI "{,.add}", "u32 =u32 =u32 =u32", "u32 s32", "u32 s32" },
};

/* ---- checking ---- */

static bool
parse_role(const char *s, size_t n, const char *t, const char *u, struct role *r)
{
    char name[24];
    *r = (struct role){ 0 };
    while (n && strchr("!~%=", *s)) {
        r->nonzero |= *s == '!';
        r->relaxed |= *s == '~';
        r->small |= *s == '%';
        r->variable |= *s == '=';
        s++, n--;
    }
    if (n > 2 && s[n - 2] == '|') {
        r->pair = true;
        n -= 2;
    }
    if (!n || n >= sizeof name)
        return false;
    memcpy(name, s, n);
    name[n] = 0;
    if (name[0] == '#') {
        r->kind = ROLE_IMM;
        r->limit = (uint16_t)atoi(name + 1);
        return true;
    }
    if (!strcmp(name, "P") || !strcmp(name, "p")) {
        r->kind = name[0] == 'P' ? ROLE_PRED_SRC : ROLE_TYPE;
        r->type = PTX_PRED;
        return true;
    }
    const char *want = !strcmp(name, "T") || !strcmp(name, "W") ? t : !strcmp(name, "U") ? u : name;
    for (unsigned k = 1; want && k < PTX_TYPE_COUNT; k++)
        if (!strcmp(want, ptx_type_name((ptx_type)k)))
            r->type = (uint8_t)k;
    if (!strcmp(name, "W"))
        r->type = ptx_type_bits((ptx_type)r->type) == 16 ? PTX_U32 : PTX_U64;
    return r->type != PTX_NONE;
}

static const char *
register_for(unsigned type, bool dst, unsigned k)
{
    static const char *const names[][2] = { { "%h0", "%h1" }, { "%r0", "%r1" }, { "%d0", "%d1" }, { "%p0", "%p1" } };
    unsigned bits = ptx_type_bits((ptx_type)type);
    return names[type == PTX_PRED ? 3 : bits <= 16 ? 0 : bits == 32 ? 1 : 2][dst || k % 2];
}

/* Does the front end accept it, and does the table say that it is emitted? */
static bool
acceptable(const struct form *f, unsigned ptx, unsigned sm)
{
    struct cw_buf b;
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    cw_buf_init(&b);
    cw_buf_printf(&b, ".version %u.%u\n.target sm_%u\n.address_size 64\n.entry k() {\n.reg .b16 %%h<2>;\n.reg .b32 %%r<2>;\n.reg .b64 %%d<2>;\n"
                  ".reg .pred %%p<2>;\n%s ", ptx / 10, ptx % 10, sm, f->text);
    for (unsigned i = 0; i < f->nroles; i++) {
        const struct role *r = &f->role[i];
        cw_buf_puts(&b, i ? ", " : "");
        if (r->kind == ROLE_IMM)
            cw_buf_puts(&b, "1");
        else
            cw_buf_puts(&b, register_for(r->type, r->dst, i));
        if (r->pair)
            cw_buf_puts(&b, "|%p0");
    }
    cw_buf_puts(&b, ";\n}\n");
    cwj_diags_init(&d);
    bool ok = !b.failed && ptx_parse("form", b.data, b.size, &m, &d) == CW_OK && !d.warnings;
    if (ok)
        ok = m->funcs[0]->ninsts && ptx_op_info((ptx_op)m->funcs[0]->insts[0].op)->traits & PTX_T_HOST;
    ptx_module_destroy(m);
    cwj_diags_finish(&d);
    cw_buf_finish(&b);
    return ok;
}

static void
add_form(struct forms *f, const struct form *x)
{
    if (f->count == f->capacity) {
        uint32_t n = f->capacity ? f->capacity * 2 : 4096;
        struct form *l = realloc(f->list, n * sizeof *l);
        if (!l)
            return;
        f->list = l;
        f->capacity = n;
    }
    f->list[f->count] = *x;
    f->list[f->count++].text = cw_arena_printf(&f->arena, "%s", x->text);
}

/* ---- by hand ---- */

struct expansion {
    struct forms *f;
    const struct pattern *p;
    unsigned ptx, sm;
};

/* A saturating conversion has to narrow the range. */
static bool
contains(const char *t, const char *u)
{
    int a = atoi(t + 1), b = atoi(u + 1);
    return *t == *u ? a >= b : *t == 's' && a > b;
}

static void
with_types(struct expansion *x, const char *text, const char *t, const char *u)
{
    char out[160];
    size_t n = 0;
    struct form f = { .category = x->p->category, .flags = x->p->flags, .text = out };
    for (const char *s = text; *s && n + 20 < sizeof out; s++) {
        bool alone = s > text && s[-1] == '.' && (s[1] == '.' || !s[1]);
        const char *r = alone && *s == 'T' ? t : alone && *s == 'U' ? u : NULL;
        if (r)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s", r);
        else
            out[n++] = *s;
    }
    out[n] = 0;
    if (!strcmp(x->p->text, "cvt.sat.T.U") && contains(t, u))
        return;
    for (const char *s = x->p->ops; *s;) {
        size_t k = strcspn(s, " ");
        if (f.nroles == 8 || !parse_role(s, k, t, u, &f.role[f.nroles]))
            return;
        f.role[f.nroles].dst = f.nroles == 0;
        f.nroles++;
        s += k + (s[k] == ' ');
    }
    if ((!(f.flags & FORM_SM90) || x->sm >= 90) && acceptable(&f, x->ptx, x->sm))
        add_form(x->f, &f);
}

static void
each_word(struct expansion *x, const char *text, const char *list, const char *t)
{
    char word[16];
    for (const char *s = list ? list : "-"; *s;) {
        size_t k = strcspn(s, " ");
        snprintf(word, sizeof word, "%.*s", (int)k, s);
        if (t)
            with_types(x, text, t, word);
        else
            each_word(x, text, x->p->u, word);
        s += k + (s[k] == ' ');
    }
}

/* Every choice of every {a,b,c}; they nest. */
static void
expand(struct expansion *x, const char *text)
{
    const char *open = strchr(text, '{'), *s, *from;
    char next[240];
    int depth = 0;
    if (!open) {
        each_word(x, text, x->p->t, NULL);
        return;
    }
    const char *close = open;
    for (;; close++) {
        depth += *close == '{' ? 1 : *close == '}' ? -1 : 0;
        if (!depth)
            break;
    }
    for (s = from = open + 1; s <= close; s++) {
        depth += *s == '{' ? 1 : *s == '}' && s < close ? -1 : 0;
        if (s == close || (*s == ',' && !depth)) {
            snprintf(next, sizeof next, "%.*s%.*s%s", (int)(open - text), text, (int)(s - from), from, close + 1);
            expand(x, next);
            from = s + 1;
        }
    }
}

/* ---- from the table ---- */

static bool
named_by_hand(const struct forms *f, uint32_t count, const char *mnemonic)
{
    size_t n = strlen(mnemonic);
    for (uint32_t i = 0; i < count; i++)
        if (!strncmp(f->list[i].text, mnemonic, n) && (f->list[i].text[n] == '.' || !f->list[i].text[n]))
            return true;
    return false;
}

/* The order of modifiers in PTX. */
static int
rank_of(uint64_t group)
{
    static const uint64_t order[] = { M_CMP, M_BOOL, M_LR, M_HILO, M_SHIFTAMT, M_TESTP, M_RND, M_IRND, M_CLAMPWRAP, M_APPROX, M_FULL, M_FTZ,
                                      M_NAN, M_XORSIGN, M_SATFINITE, M_SAT, M_RELU, M_ABS };
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        if (group == order[i])
            return (int)i;
    return -1;
}

static void
from_row(struct forms *f, const struct op_row *row, unsigned ptx, unsigned sm)
{
    struct rng r = { 0x5eed0000u };
    for (const char *s = row->info.mnemonic; *s; s++)
        r.s = rng_hash(r.s, (uint8_t)*s);
    uint32_t first = f->count;
    for (unsigned attempt = 0; attempt < 400 && f->count - first < 60; attempt++) {
        char text[160];
        size_t n = (size_t)snprintf(text, sizeof text, "%s", row->info.mnemonic);
        uint8_t type[PTX_MAX_TYPES] = { 0 };
        struct form x = { .category = CAT_AUTO, .text = text };
        for (unsigned g = 0; g < 18; g++) {
            uint64_t group = 0;
            for (unsigned b = 0; b < 63; b++)
                if (rank_of(1ull << b) == (int)g)
                    group = 1ull << b;
            if (!(row->mods & group) || rng_percent(&r, 50))
                continue;
            const char *words[20];
            unsigned nwords = 0;
            for (unsigned w = 0; w < ptx_mod_word_count && nwords < 20; w++)
                if (ptx_mod_words[w].group == group)
                    words[nwords++] = ptx_mod_words[w].word;
            const char *w = nwords ? words[rng_below(&r, nwords)] : NULL;
            if (w)
                n += (size_t)snprintf(text + n, sizeof text - n, ".%s", w);
            x.flags |= group == M_APPROX || group == M_FULL ? FORM_APPROX : 0;
        }
        for (unsigned k = 0; k < row->ntypes; k++) {
            uint8_t set[PTX_TYPE_COUNT];
            unsigned c = 0;
            for (unsigned b = 1; b < PTX_TYPE_COUNT; b++)
                if (row->types[k] >> b & 1)
                    set[c++] = (uint8_t)b;
            if (!c || (row->types[k] & S_OPT && rng_percent(&r, 50)))
                continue;
            type[k] = set[rng_below(&r, c)];
            n += (size_t)snprintf(text + n, sizeof text - n, ".%s", ptx_type_name((ptx_type)type[k]));
        }
        bool usable = true;
        for (const char *s = row->sig; *s && usable;) {
            size_t k = strcspn(s, ",");
            struct role *o = &x.role[x.nroles];
            if (s[k - 1] == '?' && rng_percent(&r, 50)) {
                s += k + (s[k] == ',');
                continue;
            }
            *o = (struct role){ .dst = s[0] == 'd' || s[0] == 'k', .pair = s[0] == 'k' && rng_percent(&r, 30) };
            char ty = s[1];
            o->type = ty >= '0' && ty <= '3' ? type[ty - '0'] : ty == 'w' ? type[0] : ty == 'p' ? PTX_PRED : ty == 'u' ? PTX_U32 : ty == 'q' ? PTX_U64 : 0;
            if (s[0] == 'i') {
                o->kind = ROLE_IMM;
                o->limit = 16;
            } else if (ty == 'p' && s[0] == 's') {
                o->kind = ROLE_PRED_SRC;
            }
            if (!strchr("dksi", s[0]) || (!o->type && o->kind != ROLE_IMM) || ptx_type_bits((ptx_type)o->type) > 64 || x.nroles == 7)
                usable = false;
            o->relaxed = ptx_type_bits((ptx_type)o->type) < 16 && o->type != PTX_PRED;
            x.nroles++;
            s += k + (s[k] == ',');
        }
        bool known = false;
        for (uint32_t i = first; i < f->count; i++)
            known |= !strcmp(f->list[i].text, text);
        if (usable && x.nroles && x.role[0].dst && !known && acceptable(&x, ptx, sm))
            add_form(f, &x);
    }
}

void
forms_build(struct forms *f, unsigned ptx, unsigned sm)
{
    *f = (struct forms){ 0 };
    cw_arena_init(&f->arena);
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct expansion x = { f, &patterns[i], ptx, sm };
        expand(&x, patterns[i].text);
    }
    uint32_t by_hand = f->count;
    for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
        const struct op_row *row = &ptx_op_rows[i];
        uint32_t t = row->info.traits;
        if (!(t & PTX_T_HOST) || t & (PTX_T_READS_MEM | PTX_T_WRITES_MEM | PTX_T_TERMINATOR | PTX_T_CONVERGENT | PTX_T_CALL) ||
            strchr(row->sig, '*') || strchr(row->sig, 'a') || !row->ntypes || row->mods & (M_RAW | M_SPACE | M_CC) ||
            row->info.min_ptx > ptx || row->info.min_sm > sm || named_by_hand(f, by_hand, row->info.mnemonic) ||
            i == PTX_OP_ALLOCA || i == PTX_OP_ISTYPEP || !strncmp(row->info.mnemonic, "mbarrier", 8) || i == PTX_OP_STACKSAVE || i == PTX_OP_STACKRESTORE)
            continue;
        from_row(f, row, ptx, sm);
    }
    for (unsigned c = 0; c < NCATEGORIES; c++)
        f->of[c] = cw_arena_array(&f->arena, uint32_t, f->count + 1);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct form *x = &f->list[i];
        if (f->of[x->category])
            f->of[x->category][f->n[x->category]++] = i;
        for (const char *s = x->text; *s; s++)
            f->hash = rng_hash(f->hash, (uint8_t)*s);
    }
}

bool
forms_refused(const struct forms *f, const char *text)
{
    for (uint32_t i = 0; i < f->nrefused; i++)
        if (!strcmp(f->refused[i], text))
            return true;
    return false;
}

bool
forms_refuse(struct forms *f, const char *text)
{
    if (forms_refused(f, text))
        return false;
    if (f->nrefused == f->crefused) {
        uint32_t n = f->crefused ? f->crefused * 2 : 64;
        char **l = realloc(f->refused, n * sizeof *l);
        if (!l)
            return false;
        f->refused = l;
        f->crefused = n;
    }
    f->refused[f->nrefused++] = cw_arena_printf(&f->arena, "%s", text);
    return true;
}

void
forms_finish(struct forms *f)
{
    free(f->list);
    free(f->refused);
    cw_arena_finish(&f->arena);
}
