/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "jit/emit/arith/arith_private.h"
#include "jit/emit/arith/mufu_private.h"
#include "jit/passes/exact/exact.h"
#include "jit/ptx/ir.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGS = 8, MAX_INPUTS = 6, RANDOM = 1500 };

typedef void lane_fn(const void *const *in, void *const *out);

struct regs {
    ptx_type type[MAX_REGS];
    unsigned nin, n;
};

/* ---- what stands in for the rest of the emitter: a target like this CPU, the opcode table, operands ---- */

static const struct emit_target target = { .name = "the harness", .default_nan = true };

/* The emitters that are linked in; the others are NULL. */
#define ON(host, amdgcn, nvptx) host
#define NO(why)
#define BY(f) emit_op_fn f __attribute__((weak));
#define OP(symbol, mnemonic, ndst, ptx, sm, traits, types, mods, sig, emitters) emitters
#include "jit/ptx/ops.def"
#undef OP
#undef BY
#undef NO
#define BY(f) f
#define NO(why) NULL
#define OP(symbol, mnemonic, ndst, ptx, sm, traits, types, mods, sig, emitters) [PTX_OP_##symbol] = emitters,
static emit_op_fn *const emitters[PTX_OP_COUNT] = {
#include "jit/ptx/ops.def"
};
#undef OP

static LLVMValueRef reg_value[64], carry;
static const struct ptx_function *current;
static bool refused;

static LLVMValueRef
reinterpret(struct emit *e, LLVMValueRef v, ptx_type t, bool is_signed)
{
    LLVMTypeRef want = emit_type(e, t), have = emit_scalar_type(v);

    if (want == have)
        return v;
    if (LLVMGetTypeKind(have) != LLVMIntegerTypeKind)
        v = emit_bitcast(e, v, have == e->f64 ? e->i64 : have == e->f32 ? e->i32 : e->i16);
    unsigned bits = want == e->f64 ? 64 : want == e->f32 ? 32 : want == e->f16 ? 16 : LLVMGetIntTypeWidth(want);
    v = emit_resize(e, v, LLVMIntTypeInContext(e->llvm, bits), is_signed);
    return emit_bitcast(e, v, want);
}

LLVMValueRef
emit_operand(struct emit *e, const struct ptx_operand *o, ptx_type t)
{
    LLVMValueRef v;

    if (o->kind == PTX_OPND_IMM) {
        if (!o->is_float)
            return emit_bitcast(e, emit_int(e, t == PTX_F32 ? e->i32 : emit_type(e, t), (uint64_t)o->imm), emit_type(e, t));
        double d;
        float f;
        uint32_t bits = (uint32_t)o->imm;
        memcpy(&d, &o->imm, 8);
        memcpy(&f, &bits, 4);
        return LLVMConstReal(emit_type(e, t), o->imm_f32 ? f : d);
    }
    if (o->kind != PTX_OPND_REG || o->index >= 64 || !reg_value[o->index]) {
        fprintf(stderr, "operand of kind %d in a test\n", o->kind);
        exit(2);
    }
    v = reinterpret(e, reg_value[o->index], t, false);
    if (o->negate_pred)
        v = v_not(e, v);
    return v;
}

LLVMValueRef
emit_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t)
{
    return emit_operand(e, &in->operand[i], t);
}

void
emit_dst_operand(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v)
{
    if (o->kind == PTX_OPND_SINK)
        return;
    reg_value[o->index] = reinterpret(e, v, current->regs[o->index].type, type_is_signed(t));
}

void
emit_dst(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, LLVMValueRef v)
{
    emit_dst_operand(e, &in->operand[i], t, v);
}

void
emit_dst_pair(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v, LLVMValueRef second)
{
    emit_dst_operand(e, o->kind == PTX_OPND_PRED_PAIR ? &o->elem[0] : o, t, v);
    if (o->kind == PTX_OPND_PRED_PAIR)
        emit_dst_operand(e, &o->elem[1], PTX_PRED, second);
}

LLVMValueRef
emit_carry_in(struct emit *e)
{
    return carry ? carry : LLVMConstInt(e->i1, 0, 0);
}

void
emit_carry_out(struct emit *e, LLVMValueRef v)
{
    carry = v;
}

void
emit_unsupported(struct emit *e, const struct ptx_inst *in, const char *why)
{
    fprintf(stderr, "refused: %s\n", why);
    refused = true;
}

/* ---- inputs ---- */

static const uint64_t edges64[] = {
    0, 1, 2, 3, 5, 7, 8, 24, 31, 32, 33, 63, 64, 65, 100, 0x7f, 0x80, 0xff, 0x100, 0x1234, 0x7fff, 0x8000, 0xffff, 0x10000,
    0x7fffff, 0x800000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffff80, 0xfffffffe, 0xffffffff, 0x100000000,
    0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe, 0xffffffffffffffff,
    0x0020000000000001, 0xfffffffffffff7ff, 0x0000008000008001, 0xffffff8000000001,
};
static const uint32_t edges_f32[] = {
    0, 1, 2, 0x00000fff, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000, 0x33800000, 0x34000000, 0x3effffff,
    0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000, 0x3fffffff, 0x40000000, 0x40200000, 0x40490fdb,
    0x3dcccccd, 0x3e924925, 0x40e00000, 0x42fe0000, 0x43000000, 0x437f8000, 0x46ffff00, 0x477fe000, 0x477ff000, 0x4b000001,
    0x4b7fffff, 0x4effffff, 0x4f000000, 0x4f800000, 0x5effffff, 0x5f000000, 0x7e800000, 0x7e800001, 0x7f000000, 0x7f7fffff,
    0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x7fa5a5a5, 0x1f800000, 0x20000001, 0x38800000, 0x387fe000, 0x33000000, 0x33000001,
};
static const uint64_t edges_f64[] = {
    0, 1, 2, 0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001, 0x0020000000000000, 0x3c90000000000001,
    0x3ca0000000000000, 0x3fe0000000000000, 0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0x3ff8000000000000,
    0x4000000000000000, 0x4004000000000000, 0x400921fb54442d18, 0x3fb999999999999a, 0x3fd2492492492492, 0x40dfffffc0000000,
    0x41dfffffffc00000, 0x41e0000000000000, 0x41efffffffe00000, 0x43e0000000000000, 0x43dfffffffffffff, 0x43f0000000000000,
    0x7fe0000000000000, 0x7fefffffffffffff, 0x7fefffffe0000000, 0x7fefffffd0000000, 0x47efffffe0000000, 0x47effffff0000000,
    0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000,
    0x7ff8000000000123, 0x1ff0000000000000, 0x1ff0000000000001, 0x0360000000000003, 0x40effe0000000000, 0x40efffffffffffff,
};
static const uint16_t edges_f16[] = {
    0, 1, 2, 0x3ff, 0x400, 0x401, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4248, 0x7000, 0x7bff, 0x7c00, 0x7c01, 0x7e00,
    0x2e66, 0x1400, 0x0800, 0x5bff, 0x7800,
};
static const uint16_t edges_bf16[] = {
    0, 1, 2, 0x7f, 0x80, 0x81, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0x3fc0, 0x4000, 0x4049, 0x7f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0,
    0x3dcd, 0x1f80, 0x2000, 0x0100, 0x5f80,
};

static uint64_t rng_state = 0x9e3779b97f4a7c15;

static uint64_t
rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state * 0x2545f4914f6cdd1d;
}

static unsigned
edge_count(ptx_type t)
{
    switch (t) {
    case PTX_PRED:   return 2;
    case PTX_F32:    return 2 * sizeof edges_f32 / sizeof *edges_f32;
    case PTX_F64:    return 2 * sizeof edges_f64 / sizeof *edges_f64;
    case PTX_F16:    return 2 * sizeof edges_f16 / sizeof *edges_f16;
    case PTX_BF16:   return 2 * sizeof edges_bf16 / sizeof *edges_bf16;
    case PTX_F16X2:  case PTX_BF16X2: return 64;
    default:         return sizeof edges64 / sizeof *edges64;
    }
}

static uint64_t
edge(ptx_type t, unsigned i)
{
    uint64_t neg = i & 1;

    switch (t) {
    case PTX_PRED:  return i & 1;
    case PTX_F32:   return edges_f32[i / 2] | neg << 31;
    case PTX_F64:   return edges_f64[i / 2] | neg << 63;
    case PTX_F16:   return edges_f16[i / 2] | neg << 15;
    case PTX_BF16:  return edges_bf16[i / 2] | neg << 15;
    case PTX_F16X2: case PTX_BF16X2: {
        ptx_type h = t == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        unsigned n = edge_count(h);
        return edge(h, i * 7 % n) | edge(h, (i * 13 + 5) % n) << 16;
    }
    default:        return edges64[i];
    }
}

static uint64_t
random_value(ptx_type t)
{
    uint64_t r = rng();

    if (rng() % 4 == 0)
        return edge(t, (unsigned)(rng() % edge_count(t)));
    if (t == PTX_F32 && rng() % 2)      /* numbers of like size meet */
        return (r & 0x807fffff) | (0x3f000000 + (rng() % 24 << 23));
    if (t == PTX_F64 && rng() % 2)
        return (r & 0x800fffffffffffff) | (UINT64_C(0x3f80000000000000) + (rng() % 90 << 52));
    if (t == PTX_F64 && rng() % 4 == 0)
        return (r & 0x800fffffffffffff) | rng() % 110 << 52;
    if (rng() % 3 == 0 && (t == PTX_U32 || t == PTX_S32 || t == PTX_U64 || t == PTX_S64 || t == PTX_B32 || t == PTX_B64))
        return r >> (rng() % 63);
    return r;
}

/* ---- building ---- */

static unsigned
size_of(ptx_type t)
{
    unsigned bits = ptx_type_bits(t);
    return bits <= 8 ? 1 : bits / 8;
}

static bool
parse_types(const char *s, struct regs *r)
{
    char word[16];
    int used;
    bool out = false;

    memset(r, 0, sizeof *r);
    while (sscanf(s, "%15s%n", word, &used) == 1) {
        s += used;
        if (!strcmp(word, ">")) {
            r->nin = r->n;
            out = true;
            continue;
        }
        ptx_type t = PTX_NONE;
        for (int i = 1; i < PTX_TYPE_COUNT; i++) {
            if (!strcmp(ptx_type_name((ptx_type)i), word))
                t = (ptx_type)i;
        }
        if (t == PTX_NONE || r->n == MAX_REGS)
            return false;
        r->type[r->n++] = t;
    }
    return out;
}

static LLVMTypeRef
memory_type(struct emit *e, ptx_type t)
{
    LLVMTypeRef s = t == PTX_PRED ? e->i8 : emit_type(e, t);
    return e->width == 1 ? s : LLVMVectorType(s, e->width);
}

static struct ptx_module *
parse_case(const struct arith_case *c, const struct regs *r)
{
    char text[2048];
    struct cwj_diags diags;
    struct ptx_module *m = NULL;
    size_t n = 0;

    n += (size_t)snprintf(text + n, sizeof text - n, ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n");
    for (unsigned i = 0; i < r->n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ".reg .%s %%%c%u;\n",
                              r->type[i] == PTX_F16X2 || r->type[i] == PTX_BF16X2 ? "b32" : r->type[i] == PTX_BF16 ? "b16" :
                              ptx_type_name(r->type[i]), i < r->nin ? 'a' : 'd', i < r->nin ? i : i - r->nin);
    n += (size_t)snprintf(text + n, sizeof text - n, "%s\nret;\n}\n", c->body);
    cwj_diags_init(&diags);
    cw_result res = ptx_parse("case", text, n, &m, &diags);
    if (res != CW_OK) {
        for (struct cwj_diag *d = diags.first; d; d = d->next)
            printf("%s: P%u: %s\n", c->body, d->code, d->text);
        m = NULL;
    }
    cwj_diags_finish(&diags);
    return m;
}

/* Function `name` in e->module: loads the inputs, emits the body, stores the outputs. */
static bool
build_case(struct emit *e, const struct arith_case *c, const struct regs *r, const char *name)
{
    struct ptx_module *m = parse_case(c, r);
    LLVMTypeRef params[2] = { e->ptr, e->ptr };

    if (!m)
        return false;
    const struct ptx_function *fn = m->funcs[0];
    LLVMValueRef f = LLVMAddFunction(e->module, name, LLVMFunctionType(e->void_, params, 2, 0));
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, f, ""));
    memset(reg_value, 0, sizeof reg_value);
    current = fn;
    carry = NULL;
    refused = false;
    for (unsigned i = 0; i < r->n; i++) {
        LLVMValueRef v = LLVMConstNull(memory_type(e, r->type[i]));
        if (i < r->nin) {
            LLVMValueRef k = LLVMConstInt(e->i32, i, 0);
            LLVMValueRef p = LLVMBuildLoad2(e->b, e->ptr, LLVMBuildGEP2(e->b, e->ptr, LLVMGetParam(f, 0), &k, 1, ""), "");
            v = LLVMBuildLoad2(e->b, memory_type(e, r->type[i]), p, "");
            LLVMSetAlignment(v, 1);
        }
        if (r->type[i] == PTX_PRED)
            v = emit_resize(e, v, e->i1, false);
        reg_value[i] = v;
    }
    bool ok = true;
    for (uint32_t i = 0; i + 1 < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        if (emitters[in->op]) {
            emitters[in->op](e, in);
        } else {
            printf("%s: its emitter is not linked in\n", c->body);
            ok = false;
        }
    }
    for (unsigned i = r->nin; i < r->n; i++) {
        LLVMValueRef k = LLVMConstInt(e->i32, i - r->nin, 0), v = emit_splat(e, reg_value[i]);
        LLVMValueRef p = LLVMBuildLoad2(e->b, e->ptr, LLVMBuildGEP2(e->b, e->ptr, LLVMGetParam(f, 1), &k, 1, ""), "");
        if (r->type[i] == PTX_PRED)
            v = emit_resize(e, v, e->i8, false);
        LLVMSetAlignment(LLVMBuildStore(e->b, v, p), 1);
    }
    LLVMBuildRetVoid(e->b);
    ptx_module_destroy(m);
    return ok && !refused;
}

/* ---- running ---- */

static bool
same(ptx_type t, union val got, union val want)
{
    if (t == PTX_F64 && got.f64 != got.f64 && want.f64 != want.f64)
        return true;
    return !memcmp(&got, &want, size_of(t));
}

struct rows {
    uint8_t *in[MAX_INPUTS], *out[MAX_REGS];
    size_t count;
};

static size_t
plan(const struct arith_case *c, const struct regs *r)
{
    size_t n = 1;

    if (c->sweep)
        return (size_t)((UINT64_C(1) << 32) / c->sweep);
    if (r->nin <= 2) {
        for (unsigned i = 0; i < r->nin; i++)
            n *= edge_count(r->type[i]);
        return n + RANDOM;
    }
    return 4 * RANDOM;
}

static void
input_row(const struct arith_case *c, const struct regs *r, size_t row, size_t edges, union val *v)
{
    size_t k = row;

    for (unsigned i = 0; i < r->nin; i++) {
        if (c->sweep)
            v[i].u64 = (uint32_t)(row * c->sweep);
        else if (r->nin <= 2 && row < edges)
            v[i].u64 = edge(r->type[i], (unsigned)(k % edge_count(r->type[i])));
        else
            v[i].u64 = random_value(r->type[i]);
        if (r->type[i] == PTX_PRED)
            v[i].u64 &= 1;
        k /= edge_count(r->type[i]);
    }
}

/* With ARITH_EXPORT=FOLDER in the environment each case is written there as a kernel, its inputs and the results computed
 * here, so that a machine with the real hardware can run it and compare (tools to do so are up to the user). */
static FILE *
export_open(size_t number, const char *name, const char *suffix)
{
    char path[512];
    const char *dir = getenv("ARITH_EXPORT");

    if (!dir)
        return NULL;
    snprintf(path, sizeof path, "%s/%s%zu.%s", dir, name, number, suffix);
    return fopen(path, "wb");
}

static void
export_kernel(FILE *f, const struct arith_case *c, const struct regs *r)
{
    fprintf(f, "// %u %u", r->nin, r->n);
    for (unsigned i = 0; i < r->n; i++)
        fprintf(f, " %u", size_of(r->type[i]));
    fprintf(f, " %s\n.version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 n", c->accept ? "~" : "=");
    for (unsigned i = 0; i < r->n; i++)
        fprintf(f, ", .param .u64 p%u", i);
    fprintf(f, ")\n{\n.reg .b64 %%q<4>;\n.reg .b32 %%t<4>;\n.reg .b16 %%h;\n.reg .pred %%go;\n");
    for (unsigned i = 0; i < r->n; i++)
        fprintf(f, ".reg .%s %%%c%u;\n", r->type[i] == PTX_F16X2 || r->type[i] == PTX_BF16X2 ? "b32" : r->type[i] == PTX_BF16 ? "b16" :
                ptx_type_name(r->type[i]), i < r->nin ? 'a' : 'd', i < r->nin ? i : i - r->nin);
    fprintf(f, "mov.u32 %%t0, %%ctaid.x;\nmov.u32 %%t1, %%ntid.x;\nmov.u32 %%t2, %%tid.x;\nmad.lo.u32 %%t0, %%t0, %%t1, %%t2;\n"
               "cvt.u64.u32 %%q0, %%t0;\nld.param.u64 %%q1, [n];\nsetp.ge.u64 %%go, %%q0, %%q1;\n@%%go ret;\n");
    for (unsigned i = 0; i < r->n; i++) {
        if (i == r->nin)
            fprintf(f, "%s\n", c->body);
        fprintf(f, "ld.param.u64 %%q1, [p%u];\nmad.lo.u64 %%q1, %%q0, %u, %%q1;\n", i, size_of(r->type[i]));
        const char *op = i < r->nin ? "ld" : "st";
        char reg[8];
        snprintf(reg, sizeof reg, "%%%c%u", i < r->nin ? 'a' : 'd', i < r->nin ? i : i - r->nin);
        if (r->type[i] == PTX_PRED && i < r->nin)
            fprintf(f, "ld.global.u8 %%h, [%%q1];\nsetp.ne.u16 %s, %%h, 0;\n", reg);
        else if (r->type[i] == PTX_PRED)
            fprintf(f, "selp.u16 %%h, 1, 0, %s;\nst.global.u8 [%%q1], %%h;\n", reg);
        else if (i < r->nin)
            fprintf(f, "%s.global.b%u %s, [%%q1];\n", op, size_of(r->type[i]) * 8, reg);
        else
            fprintf(f, "%s.global.b%u [%%q1], %s;\n", op, size_of(r->type[i]) * 8, reg);
    }
    fprintf(f, "ret;\n}\n");
}

static int
check_case(const char *name, size_t number, const struct arith_case *c, const struct regs *r, lane_fn *fn, unsigned width,
           bool optimised)
{
    enum { CHUNK = 32 };
    size_t total = plan(c, r), edges = total > RANDOM ? total - RANDOM : total;
    uint8_t in[MAX_INPUTS][CHUNK * 8], out[MAX_REGS][CHUNK * 8];
    int bad = 0;
    FILE *kernel = width == CHUNK && !c->sweep ? export_open(number, name, "ptx") : NULL;
    FILE *data = kernel ? export_open(number, name, "bin") : NULL;
    size_t stride = total / 6000 + 1;

    if (kernel) {
        export_kernel(kernel, c, r);
        fprintf(kernel, "// %s\n", c->body);
        fclose(kernel);
    }
    for (size_t row = 0; row < total; row += CHUNK) {
        union val v[CHUNK][MAX_INPUTS];
        memset(v, 0, sizeof v);
        for (unsigned k = 0; k < CHUNK; k++) {
            input_row(c, r, row + k < total ? row + k : 0, edges, v[k]);
            for (unsigned i = 0; i < r->nin; i++)
                memcpy(&in[i][k * size_of(r->type[i])], &v[k][i], size_of(r->type[i]));
        }
        for (unsigned k = 0; k < CHUNK; k += width) {
            const void *ip[MAX_INPUTS];
            void *op[MAX_REGS];
            for (unsigned i = 0; i < r->nin; i++)
                ip[i] = &in[i][k * size_of(r->type[i])];
            for (unsigned i = r->nin; i < r->n; i++)
                op[i - r->nin] = &out[i][k * size_of(r->type[i])];
            fn(ip, op);
        }
        for (unsigned i = 0; data && row / CHUNK % stride == 0 && i < r->n; i++)
            fwrite(i < r->nin ? in[i] : out[i], size_of(r->type[i]), CHUNK, data);
        for (unsigned k = 0; k < CHUNK && row + k < total; k++) {
            union val want[MAX_REGS], got;
            for (unsigned i = 0; i < r->nin; i++) {     /* the reference sees what the register holds */
                union val x = { 0 };
                memcpy(&x, &v[k][i], size_of(r->type[i]));
                v[k][i] = x;
            }
            memset(want, 0, sizeof want);
            c->ref(v[k], want);
            for (unsigned i = r->nin; i < r->n; i++) {
                memset(&got, 0, sizeof got);
                memcpy(&got, &out[i][k * size_of(r->type[i])], size_of(r->type[i]));
                if (c->accept ? c->accept(v[k], got, want[i - r->nin]) : same(r->type[i], got, want[i - r->nin]))
                    continue;
                if (++bad <= 3) {
                    printf("FAIL %s (width %u%s) %%d%u:", c->body, width, optimised ? ", optimised" : "", i - r->nin);
                    for (unsigned j = 0; j < r->nin; j++)
                        printf(" 0x%llx", (unsigned long long)v[k][j].u64);
                    printf(" -> 0x%llx, expected 0x%llx\n", (unsigned long long)got.u64,
                           (unsigned long long)want[i - r->nin].u64);
                }
            }
        }
    }
    if (data)
        fclose(data);
    return bad ? 1 : 0;
}

static void
die(const char *what, LLVMErrorRef err)
{
    char *msg = err ? LLVMGetErrorMessage(err) : NULL;
    fprintf(stderr, "%s: %s\n", what, msg ? msg : "failed");
    exit(2);
}

static int
run_width(const char *name, const struct arith_case *cases, size_t count, unsigned width, bool optimise)
{
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMOrcThreadSafeContextRef ts = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(ctx);
    struct cwj_diags diags;
    struct emit e = { .llvm = ctx, .target = &target, .width = width, .fast_code = optimise, .diags = &diags };
    LLVMOrcJITTargetMachineBuilderRef jtmb;
    LLVMOrcLLJITRef jit;
    LLVMErrorRef err;
    char *msg = NULL, fname[32];
    int bad = 0;
    bool *built = calloc(count, 1);

#if defined(__x86_64__)
    __builtin_cpu_init();
    e.features = (__builtin_cpu_supports("f16c") ? EMIT_FEATURE_F16 : 0) |
                 (__builtin_cpu_supports("avx512f") ? EMIT_FEATURE_PERMUTE : 0);
#else
    e.features = EMIT_FEATURE_F16;
#endif
    cwj_diags_init(&diags);
    e.module = LLVMModuleCreateWithNameInContext(name, ctx);
    e.b = LLVMCreateBuilderInContext(ctx);
    e.i1 = LLVMInt1TypeInContext(ctx), e.i8 = LLVMInt8TypeInContext(ctx), e.i16 = LLVMInt16TypeInContext(ctx);
    e.i32 = LLVMInt32TypeInContext(ctx), e.i64 = LLVMInt64TypeInContext(ctx), e.i128 = LLVMInt128TypeInContext(ctx);
    e.f16 = LLVMHalfTypeInContext(ctx), e.f32 = LLVMFloatTypeInContext(ctx), e.f64 = LLVMDoubleTypeInContext(ctx);
    e.ptr = LLVMPointerTypeInContext(ctx, 0), e.void_ = LLVMVoidTypeInContext(ctx);

    for (size_t i = 0; i < count; i++) {
        struct regs r;
        snprintf(fname, sizeof fname, "case%zu", i);
        if (!parse_types(cases[i].types, &r) || !build_case(&e, &cases[i], &r, fname)) {
            printf("FAIL %s: not built\n", cases[i].body);
            bad++;
            LLVMValueRef f = LLVMGetNamedFunction(e.module, fname);
            if (f)
                LLVMDeleteFunction(f);
            continue;
        }
        built[i] = true;
    }
    LLVMDisposeBuilder(e.b);
    if (LLVMVerifyModule(e.module, LLVMReturnStatusAction, &msg)) {
        fprintf(stderr, "%s: %s\n", name, msg);
        exit(2);
    }
    LLVMDisposeMessage(msg);

    if ((err = LLVMOrcJITTargetMachineBuilderDetectHost(&jtmb)))
        die("host", err);
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, jtmb);
    if ((err = LLVMOrcCreateLLJIT(&jit, builder)))
        die("jit", err);
    LLVMSetTarget(e.module, LLVMOrcLLJITGetTripleString(jit));
    LLVMSetDataLayout(e.module, LLVMOrcLLJITGetDataLayoutStr(jit));
    if (optimise) {
        pass_relax_nan(e.module, &(struct cwj_exact_options){ 0 });
        LLVMPassBuilderOptionsRef opt = LLVMCreatePassBuilderOptions();
        if ((err = LLVMRunPasses(e.module, "default<O2>", NULL, opt)))
            die("passes", err);
        LLVMDisposePassBuilderOptions(opt);
    }
    LLVMOrcDefinitionGeneratorRef gen;
    if ((err = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&gen, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL)))
        die("generator", err);
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), gen);
    if ((err = LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit), LLVMOrcCreateNewThreadSafeModule(e.module, ts))))
        die("module", err);
    for (size_t i = 0; i < count; i++) {
        struct regs r;
        LLVMOrcExecutorAddress addr;
        if (!built[i])
            continue;
        snprintf(fname, sizeof fname, "case%zu", i);
        parse_types(cases[i].types, &r);
        if ((err = LLVMOrcLLJITLookup(jit, &addr, fname)))
            die(fname, err);
        struct arith_case c = cases[i];
        if (c.sweep && width != 32)
            c.sweep *= 37;      /* the dense sweep once is enough */
        bad += check_case(name, i, &c, &r, (lane_fn *)(uintptr_t)addr, width, optimise);
    }
    if ((err = LLVMOrcDisposeLLJIT(jit)))
        die("dispose", err);
    LLVMOrcDisposeThreadSafeContext(ts);
    cwj_diags_finish(&diags);
    free(built);
    return bad;
}

int
arith_run(const char *name, const struct arith_case *cases, size_t count)
{
    int bad = 0;

    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    bad += run_width(name, cases, count, 1, false);
    bad += run_width(name, cases, count, 8, true);
    bad += run_width(name, cases, count, 32, true);
    printf("%s: %zu cases, %d failures\n", name, count, bad);
    return bad;
}
