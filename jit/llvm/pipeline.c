/* SPDX-License-Identifier: Apache-2.0
 * See pipeline.h. The tables below are the whole pipeline: a pass runs where its row says, in the order of the rows.
 *
 * Each row names the forms of IR that it needs and the ones that it ends. A form is a promise that the emitter or a pass made.
 * Where the promise was not made because a pass was skipped, optional rows that need it are skipped, too; a required row
 * whose needs do not hold is an internal error. */
#include "jit/llvm/contain.h"
#include "jit/llvm/pipeline.h"

#include "jit/builtins/devlib.h"
#include "jit/emit/emit.h"
#include "jit/llvm/amdgpu/inreg.h"
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/llvm/codegen.h"
#include "jit/llvm/llvm.h"
#include "jit/passes/amd_divide.h"
#include "jit/passes/exact/exact.h"
#include "jit/passes/passes.h"

#include "impl/base/env.h"
#include "impl/base/hash.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

enum form {
    SSA = 1,                /* registers are values, not slots in memory */
    NAN32 = 2,              /* the emitter's pattern of a canonical f32 NaN, as it was written */
    NAN64 = 4,              /* annotations of which NaN an f64 operation gives */
    FTZ = 8,                /* annotations of where subnormals are zero */
    DIVIDE = 16,            /* calls that stand for 64-bit divisions */
    SATURATE = 32,          /* saturating conversions to integers */
    EMITTED = NAN32 | NAN64 | FTZ | DIVIDE | SATURATE,      /* what the emitter leaves */
};
static const char *const float_names[] = { "nan", "ftz", "approx" };       /* of enum cwj_native */
static const char *const form_names[] = { "ssa", "nan32", "nan64", "ftz", "divide", "saturate" };

struct run {
    struct cwj_pipeline *p;
    LLVMPassBuilderOptionsRef builder;
    struct cwj_exact_options exact;
    unsigned forms;
    bool changed;           /* the last row with a pass of ours changed something that the next row cleans up after */
};

struct row {
    const char *name;
    bool always;            /* at every level; else where the level is above 0 */
    bool required;          /* code generation depends on it, or it mends a fault of LLVM's: never skipped */
    bool workaround;        /* it mends the fault of its name in docs/llvm-faults/README.md */
    unsigned needs, ends;   /* forms */
    bool (*when)(const struct run *r);
    const char *condition;  /* `when` in words */
    cw_result (*pass)(struct run *r);           /* ours; or */
    bool (*exact)(LLVMModuleRef m, const struct cwj_exact_options *o);          /* one of jit/passes/exact, */
    unsigned floats;        /* that runs where one of these switches, of enum cwj_native, is exact; or */
    const char *(*llvm)(const struct run *r);   /* passes of LLVM, in opt's syntax */
};

static cw_result
run_llvm(struct run *r, const char *passes)
{
    return cwj_llvm_check(LLVMRunPasses(r->p->m, passes, r->p->tm, r->builder), "optimising", r->p->diags);
}

/* ---- conditions ------------------------------------------------------------------------------------------------------------ */

static bool
is_cpu(const struct run *r, const char *name)
{
    char *cpu = cwj_contain_need(LLVMGetTargetMachineCPU(r->p->tm));
    bool is = !strcmp(cpu, name);
    LLVMDisposeMessage(cpu);
    return is;
}

/* Only then is a device function's code not part of the device library, which is optimised in a way of its own. */
static bool
no_devlib(const struct run *r)
{
    return !cwj_devlib_used(r->p->m);
}

static bool
changed(const struct run *r)
{
    return r->changed;
}

static bool
packs_f32(const struct run *r)
{
    return is_cpu(r, "gfx90a") || is_cpu(r, "gfx942") || is_cpu(r, "gfx950");
}

/* ---- passes of ours, as rows call them --------------------------------------------------------------------------------------- */

static cw_result
inline_single_calls(struct run *r)
{
    r->changed = pass_annotate_single_calls(r->p->m);
    return CW_OK;
}

/* gfx908 keeps global addresses as integers: LLVM loses a copy to an accumulation register where two stores become one
 * (work-around gfx908-agpr-copy). */
static cw_result
follow_pointers(struct run *r)
{
    return emit_follow_pointers(r->p->m, !is_cpu(r, "gfx908"), &r->changed) ? CW_OK : CW_ERR_NOMEM;
}

static cw_result
annotate_loops(struct run *r)
{
    r->changed = pass_annotate_loops(r->p->m);
    return CW_OK;
}

static cw_result
reroll(struct run *r)
{
    r->changed = emit_reroll(r->p->m);
    return CW_OK;
}

static cw_result
guard_recursion(struct run *r)
{
    r->changed = emit_guard_recursion(r->p->m);
    return CW_OK;
}

static cw_result
unroll_arrays(struct run *r)
{
    return cwj_llvm_check(pass_unroll_arrays(r->p->m, r->p->tm, r->builder), "optimising", r->p->diags);
}

static cw_result
hoist_parameters(struct run *r)
{
    emit_hoist_parameters(r->p->m);
    return CW_OK;
}

static cw_result
cut_casts(struct run *r)
{
    emit_cut_casts(r->p->m);
    return CW_OK;
}

static cw_result
order_blocks(struct run *r)
{
    emit_order_blocks(r->p->m);
    return CW_OK;
}

static cw_result
divide(struct run *r)
{
    cwj_amd_divide(r->p->m, r->p->tm);
    return CW_OK;
}

static cw_result
uniform_arguments(struct run *r)
{
    cwj_amd_pass_uniform(r->p->m, r->p->tm);
    return CW_OK;
}

static cw_result
close_precompiled(struct run *r)
{
    pass_close_precompiled(r->p->m);
    return CW_OK;
}

static cw_result
ballot(struct run *r)
{
    cwj_amd_guard_ballot(r->p->m);
    return CW_OK;
}

static cw_result
convert(struct run *r)
{
    cwj_amd_convert(r->p->m);
    return CW_OK;
}

static cw_result
ternlog(struct run *r)
{
    cwj_x86_guard_ternlog(r->p->m);
    return CW_OK;
}

/* ---- passes of LLVM ---------------------------------------------------------------------------------------------------------- */

static const char *
mem2reg(const struct run *r)
{
    return "function(mem2reg)";
}

static const char *
always_inline(const struct run *r)
{
    return "always-inline";
}

static const char *
by_level(const struct run *r)
{
    static const char *const defaults[] = { "default<O0>", "default<O1>", "default<O2>", "default<O3>" };
    return defaults[r->p->opt_level > 3 ? 3 : r->p->opt_level];
}

/* ptxas optimises it again; between the two it stays as it is. */
static const char *
as_it_was(const struct run *r)
{
    return "function(sroa,early-cse,simplifycfg,adce)";
}

/* PTX was optimised by whoever made it. LLVM's own pipeline for AMD takes twice the time of this one and makes code that is longer,
 * since what it does to sums after `reassociate` undoes what that does for addresses. So: constants, calls and dead arguments;
 * then, for each function after those that it calls, what the emitter's IR needs.
 *
 * Functions of the device library are C, with loops and switches whose answers the call knows and arguments in memory: hence
 * EarlyCSE with MemorySSA, without which fetches of cube maps take half as many registers again. */
static const char *
simplify(const struct run *r)
{
    if (cwj_devlib_used(r->p->m))
        return "ipsccp,globalopt,cgscc(inline,function(infer-address-spaces,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
               "simplifycfg,loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),sroa,bdce,"
               "instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,bdce,infer-alignment)),deadargelim,amdgpu-attributor";
#define BEGIN  "ipsccp,cgscc(inline,function(infer-address-spaces,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,tailcallelim," \
               "loop-mssa(loop-rotate,licm)"
#define UNROLL ",loop(loop-unroll-full),early-cse,instcombine<no-verify-fixpoint>,simplifycfg"
#define END    ",reassociate,early-cse,infer-alignment)),amdgpu-attributor"
    return r->changed ? BEGIN UNROLL END : BEGIN END;
#undef BEGIN
#undef UNROLL
#undef END
}

/* Addresses that functions were given are variables' and parameters' where these are inlined: what was generic is shared or global now. */
static const char *
after_pointers(const struct run *r)
{
    return "function(infer-address-spaces,early-cse,instcombine<no-verify-fixpoint>,reassociate,early-cse,infer-alignment)";
}

static const char *
simplify_cfg(const struct run *r)
{
    return "function(simplifycfg)";
}

static const char *
inline_and_simplify(const struct run *r)
{
    return "always-inline,function(early-cse,simplifycfg)";
}

static const char *
pack_f32(const struct run *r)
{
    return "function(slp-vectorizer,instcombine<no-verify-fixpoint>)";
}

static const char *
drop_unused(const struct run *r)
{
    return "globaldce";
}

/* ---- the tables -------------------------------------------------------------------------------------------------------------- */

static const struct row host_rows[] = {
    { "mem2reg", .llvm = mem2reg },
    { "retype-floats", .needs = SSA, .floats = CWJ_NATIVE_NAN | CWJ_NATIVE_FTZ, .exact = pass_retype_floats },
    { "relax-nan", .needs = SSA | NAN32, .floats = CWJ_NATIVE_NAN, .exact = pass_relax_nan },
    { "optimise", .needs = SSA, .ends = NAN32, .llvm = by_level },
    { "x86-ternlog", .workaround = true, .required = true, .pass = ternlog },
    { 0 }
};

static const struct row nvptx_rows[] = {
    { "simplify", .llvm = as_it_was },
    { 0 }
};

static const struct row amdgcn_rows[] = {
    { "annotate-single-calls", .when = no_devlib, .condition = "no device library", .pass = inline_single_calls },
    { "inline-single-calls", .when = changed, .condition = "some are marked", .llvm = always_inline },
    { "mem2reg", .llvm = mem2reg },
    { "retype-floats", .needs = SSA, .floats = CWJ_NATIVE_NAN | CWJ_NATIVE_FTZ, .exact = pass_retype_floats },
    { "nan64", .always = true, .required = true, .needs = NAN64, .ends = NAN64, .floats = CWJ_NATIVE_NAN, .exact = pass_nan64 },
    { "follow-pointers", .needs = SSA, .pass = follow_pointers },
    { "large-roots", .always = true, .required = true, .floats = CWJ_NATIVE_APPROX, .exact = pass_large_roots },
    { "relax-nan", .needs = SSA | NAN32, .floats = CWJ_NATIVE_NAN, .exact = pass_relax_nan },
    { "flush", .always = true, .required = true, .needs = FTZ, .ends = FTZ, .floats = CWJ_NATIVE_FTZ, .exact = pass_flush },
    { "annotate-loops", .needs = SSA, .pass = annotate_loops },
    { "simplify", .needs = SSA, .ends = NAN32, .llvm = simplify },
    { "follow-arguments", .needs = SSA, .pass = follow_pointers },
    { "simplify-addresses", .when = changed, .condition = "addresses became pointers", .llvm = after_pointers },
    { "reroll", .needs = SSA, .pass = reroll },
    { "simplify-rerolled", .when = changed, .condition = "loops were rerolled", .llvm = simplify_cfg },
    { "guard-recursion", .needs = SSA, .pass = guard_recursion },
    { "inline-guards", .when = changed, .condition = "calls were guarded", .llvm = inline_and_simplify },
    { "unroll-arrays", .needs = SSA, .when = no_devlib, .condition = "no device library", .pass = unroll_arrays },
    { "pack-f32", .needs = SSA, .when = packs_f32, .condition = "gfx90a, gfx942, gfx950", .llvm = pack_f32 },
    { "shorten-nan", .needs = SSA, .floats = CWJ_NATIVE_NAN, .exact = pass_shorten_nan },
    { "hoist-parameters", .needs = SSA, .pass = hoist_parameters },
    { "cut-casts", .required = true, .pass = cut_casts },
    { "order-blocks", .needs = SSA, .pass = order_blocks },
    { "divide", .always = true, .required = true, .needs = DIVIDE, .ends = DIVIDE, .pass = divide },
    { "uniform-arguments", .workaround = true, .always = true, .required = true, .pass = uniform_arguments },
    { "close-precompiled", .always = true, .required = true, .pass = close_precompiled },
    { "ballot", .workaround = true, .required = true, .pass = ballot },
    { "drop-unused", .always = true, .required = true, .llvm = drop_unused },
    { "convert", .always = true, .required = true, .needs = SATURATE, .ends = SATURATE, .pass = convert },
    { 0 }
};

static const struct row *
rows_of(enum cwj_target target)
{
    static const struct row *const rows[] = { [CWJ_TARGET_HOST] = host_rows, [CWJ_TARGET_NVPTX] = nvptx_rows, [CWJ_TARGET_AMDGCN] = amdgcn_rows };
    return rows[target];
}

/* ---- running them ------------------------------------------------------------------------------------------------------------ */

bool
cwj_pass_in_list(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (list && *list) {
        size_t len = strcspn(list, ",");
        if (len == n && !memcmp(list, name, n))
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

static bool
is_printed(const struct cwj_pass_options *o, const char *name)
{
    return o && o->printed && o->print_after && (!strcmp(o->print_after, "all") || cwj_pass_in_list(o->print_after, name));
}

static cw_result
print_module(struct cwj_pipeline *p, const char *name)
{
    struct cw_buf *out = p->passes->printed;
    char *text = cwj_contain_need(LLVMPrintModuleToString(p->m));
    cw_buf_printf(out, "; after %s\n%s", name, text);
    LLVMDisposeMessage(text);
    return out->failed ? CW_ERR_NOMEM : CW_OK;
}

static bool
verifies(const struct cwj_pipeline *p)
{
#ifdef NDEBUG
    return p->passes && p->passes->verify;
#else
    return true;
#endif
}

static cw_result
verify(struct cwj_pipeline *p, const char *after)
{
    char *message = NULL;
    cw_result r = CW_OK;
    if (LLVMVerifyModule(p->m, LLVMReturnStatusAction, &message)) {
        cwj_diag_add(p->diags, PTX_ERROR, 5902, 0, 0, "internal error: LLVM refuses the code behind %s: %s", after, message);
        r = CW_ERR_INTERNAL;
    }
    LLVMDisposeMessage(message);
    return r;
}

const char *
cwj_skipped_passes(const struct cwj_pass_options *o)
{
    return o && o->skip ? o->skip : cw_env_get(CW_ENV_SKIP_PASSES);
}

void
cwj_pass_options_hash(const struct cwj_pass_options *o, struct cw_sha256 *s)
{
    const char *skip = cwj_skipped_passes(o);
    if (skip && *skip)
        cw_sha256_update(s, skip, strlen(skip) + 1);
}

/* Names that no row has, and those of rows that must run, are mistakes of whoever gave them. */
static cw_result
check_names(struct cwj_pipeline *p)
{
    const char *list = cwj_skipped_passes(p->passes);
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        const struct row *w = rows_of(p->target);
        while (w->name && (strlen(w->name) != len || memcmp(w->name, list, len)))
            w++;
        if (w->name && w->required) {
            cwj_diag_add(p->diags, PTX_ERROR, 5908, 0, 0, "the pass %s cannot be skipped: the code would be wrong without it", w->name);
            return CW_ERR_INVALID;
        }
        if (!w->name && !(p->target == CWJ_TARGET_AMDGCN && cwj_machine_pass_is_optional(list, len)))   /* another target's, perhaps */
            cwj_diag_add(p->diags, PTX_WARNING, 5908, 0, 0, "there is no pass '%.*s' to skip for this target", (int)len, list);
    }
    return CW_OK;
}

static cw_result
run_row(struct run *r, const struct row *w)
{
    struct cwj_pipeline *p = r->p;
    if ((r->forms & w->needs) != w->needs) {
        cwj_diag_add(p->diags, PTX_ERROR, 5902, 0, 0, "internal error: the pass %s comes too early or too late", w->name);
        return CW_ERR_INTERNAL;
    }
    cw_result result = CW_OK;
    if (w->exact)
        w->exact(p->m, &r->exact);
    else
        result = w->pass ? w->pass(r) : run_llvm(r, w->llvm(r));
    r->forms &= ~w->ends;
    if (w->llvm == mem2reg)
        r->forms |= SSA;
    if (!result && verifies(p))
        result = verify(p, w->name);
    return result;
}

static cw_result
run_rows(struct run *r)
{
    struct cwj_pipeline *p = r->p;
    const struct cwj_pass_options *o = p->passes;
    const char *skip = cwj_skipped_passes(o);
    for (const struct row *w = rows_of(p->target); w->name; w++) {
        if (!w->always && !p->opt_level)
            continue;
        bool ready = w->required || (r->forms & w->needs) == w->needs;
        bool native = w->floats && (w->floats & p->native_floats) == w->floats;
        bool runs = ready && !native && (!w->when || w->when(r)) && !cwj_pass_in_list(skip, w->name);
        if (!w->llvm)
            r->changed = false;
        if (!runs)
            continue;
        cw_result result = run_row(r, w);
        if (!result && is_printed(o, w->name))
            result = print_module(p, w->name);
        if (result)
            return result;
        if (o && o->stop_after && !strcmp(o->stop_after, w->name)) {
            p->stopped = true;
            return is_printed(o, w->name) ? CW_OK : print_module(p, w->name);
        }
    }
    return CW_OK;
}

static void
set_layout(struct cwj_pipeline *p)
{
    char *triple = cwj_contain_need(LLVMGetTargetMachineTriple(p->tm));
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(p->tm);
    LLVMSetTarget(p->m, triple);
    LLVMSetModuleDataLayout(p->m, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

/* 9 of gfx90a, 11 of gfx1100, ...; 9 has waves of 64 lanes. */
static unsigned
generation(LLVMTargetMachineRef tm)
{
    char *cpu = cwj_contain_need(LLVMGetTargetMachineCPU(tm));
    unsigned g = strlen(cpu) > 6 ? (unsigned)(cpu[3] - '0') * 10 + (unsigned)(cpu[4] - '0') : 9;
    LLVMDisposeMessage(cpu);
    return g;
}

/* The caller disposes of the builder. */
static struct run
begin(struct cwj_pipeline *p, unsigned forms)
{
    return (struct run){
        .p = p,
        .builder = LLVMCreatePassBuilderOptions(),
        .exact = { .gfx = p->target == CWJ_TARGET_AMDGCN ? generation(p->tm) : 0 },
        .forms = forms,
    };
}

cw_result
cwj_pipeline_run(struct cwj_pipeline *p)
{
    p->stopped = false;
    set_layout(p);
    cw_result result = verify(p, "the emitter");
    if (!result)
        result = check_names(p);
    if (result)
        return result;
    struct run r = begin(p, EMITTED);
    result = run_rows(&r);
    LLVMDisposePassBuilderOptions(r.builder);
    return result;
}

cw_result
cwj_pipeline_run_pass(struct cwj_pipeline *p, const char *name, bool *changed)
{
    const struct row *w = rows_of(p->target);
    while (w->name && strcmp(w->name, name))
        w++;
    if (!w->name)
        return CW_ERR_NOT_FOUND;
    struct run r = begin(p, EMITTED | SSA);
    cw_result result = run_row(&r, w);
    *changed = r.changed;
    LLVMDisposePassBuilderOptions(r.builder);
    return result;
}

cw_result
cwj_pipeline_codegen(struct cwj_pipeline *p, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out, uint64_t *frames)
{
    LLVMContextRef c = LLVMGetModuleContext(p->m);
    struct cwj_listener listener = { .diags = p->diags };
    uint32_t errors = p->diags->errors;
    *out = NULL;
    cwj_llvm_listen(c, &listener);
    cw_result r = cwj_codegen(p, type == LLVMAssemblyFile, verifies(p), out);
    cwj_llvm_unlisten(c, p->diags);
    if (frames)
        *frames += listener.frames;
    if (!r && p->diags->errors == errors)
        return CW_OK;
    if (*out)
        LLVMDisposeMemoryBuffer(*out);
    *out = NULL;
    return r ? r : CW_ERR_LLVM;
}

/* ---- printing the tables ----------------------------------------------------------------------------------------------------- */

static void
print_names(struct cw_buf *out, const char *what, const char *const *names, unsigned n, unsigned set)
{
    const char *separator = what;
    for (unsigned i = 0; i < n; i++)
        if (set >> i & 1) {
            cw_buf_printf(out, "%s%s", separator, names[i]);
            separator = "+";
        }
}

cw_result
cwj_pipeline_print(enum cwj_target target, const char *cpu, unsigned opt_level, struct cw_buf *out, struct cwj_diags *diags)
{
    cw_buf_printf(out, "LLVM IR\n");
    for (const struct row *w = rows_of(target); w->name; w++) {
        if (!w->always && !opt_level)
            continue;
        cw_buf_printf(out, "  %-22s %-9s %-5s", w->name, w->required ? "required" : "optional", w->llvm ? "LLVM" : "ours");
        if (w->workaround)
            cw_buf_printf(out, " mends LLVM");
        if (w->condition)
            cw_buf_printf(out, " if %s", w->condition);
        print_names(out, " if exact ", float_names, 3, w->floats);
        print_names(out, " needs ", form_names, sizeof form_names / sizeof *form_names, w->needs);
        print_names(out, " ends ", form_names, sizeof form_names / sizeof *form_names, w->ends);
        cw_buf_printf(out, "\n");
    }
    cw_result r = cwj_codegen_print(target, cpu, opt_level, out, diags);
    return r ? r : out->failed ? CW_ERR_NOMEM : CW_OK;
}
