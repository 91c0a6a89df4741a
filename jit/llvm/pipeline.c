/* SPDX-License-Identifier: Apache-2.0
 * See pipeline.h. The tables below are the whole pipeline: passes run in the order of the rows.
 *
 * Each row names the forms of IR that it needs and those that it ends. A form is a guarantee by the emitter or a pass. If it does not hold
 * because a pass was skipped, optional rows that need it are skipped as well; for a required row that is an internal error. */
#include "jit/llvm/contain.h"
#include "jit/llvm/ending.h"
#include "jit/llvm/limit.h"
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
#include "impl/base/log.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum form {
    SSA = 1,                /* registers are values, not memory slots */
    NAN32 = 2,              /* the emitter's pattern of a canonical f32 NaN is unchanged */
    NAN64 = 4,              /* annotations of f64 NaN are present */
    FTZ = 8,                /* annotations of flushed subnormals are present */
    DIVIDE = 16,            /* calls stand for 64-bit divisions */
    SATURATE = 32,          /* saturating conversions to integers are present */
    EMITTED = NAN32 | NAN64 | FTZ | DIVIDE | SATURATE,      /* the forms that the emitter guarantees */
};
static const char *const float_names[] = { "nan", "ftz", "approx" };       /* of enum cwj_native */
static const char *const form_names[] = { "ssa", "nan32", "nan64", "ftz", "divide", "saturate" };

struct run {
    struct cwj_pipeline *p;
    LLVMPassBuilderOptionsRef builder;
    struct cwj_exact_options exact;
    unsigned forms;
    bool changed;           /* our last pass requests the clean-up in the next row */
};

struct row {
    const char *name;
    bool always;            /* at every level; otherwise at levels above 0 */
    bool required;          /* code generation needs it, or it works around a fault of LLVM: never skipped */
    bool workaround;        /* for the fault of its name in docs/llvm-faults/README.md */
    unsigned needs, makes, ends;                /* forms */
    bool (*when)(const struct run *r);
    const char *condition;  /* `when` in words */
    /* One of these: */
    bool (*finds)(LLVMModuleRef m);             /* a pass of ours; true: it requests the clean-up in the next row */
    void (*plain)(LLVMModuleRef m);             /* a pass of ours */
    cw_result (*pass)(struct run *r);           /* a pass of ours that needs more than the module */
    bool (*exact)(LLVMModuleRef m, const struct cwj_exact_options *o);          /* a pass of jit/passes/exact, */
    unsigned floats;                            /* run if one of these switches (enum cwj_native) is exact */
    const char *llvm;                           /* passes of LLVM, in opt's syntax */
    const char *(*choose)(const struct run *r); /* the same, depending on the compilation */
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

/* The device library is optimised differently from a program's device functions. */
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

/* gfx908 keeps global addresses as integers: otherwise LLVM loses a copy to an accumulation register when it merges two stores (work-around
 * gfx908-agpr-copy). */
static cw_result
follow_pointers(struct run *r)
{
    return pass_follow_pointers(r->p->m, !is_cpu(r, "gfx908"), &r->changed) ? CW_OK : CW_ERR_NOMEM;
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

/* ---- passes of LLVM ---------------------------------------------------------------------------------------------------------- */

#define PACK_F32 "function(slp-vectorizer,instcombine<no-verify-fixpoint>)"
/* Inlining reveals that addresses passed as arguments belong to variables and parameters: generic accesses become shared or global ones. */
#define AFTER_POINTERS "function(infer-address-spaces,early-cse,instcombine<no-verify-fixpoint>,reassociate,early-cse,infer-alignment)"

static const char *
by_level(const struct run *r)
{
    static const char *const defaults[] = { "default<O0>", "default<O1>", "default<O2>", "default<O3>" };
    return defaults[r->p->opt_level > 3 ? 3 : r->p->opt_level];
}

/* The compiler of the PTX has optimised it. LLVM's own pipeline for AMD takes twice as long as this one and gives longer code, since its
 * transformations of sums after `reassociate` undo the sharing of address parts. So: constants, calls and dead arguments; then, for each
 * function after its callees, what the emitter's IR needs.
 *
 * The device library is C code, with loops and switches that the call decides and with arguments in memory. It needs EarlyCSE with
 * MemorySSA; without, fetches of cube maps take half as many registers again. */
static const char *
simplify(const struct run *r)
{
    if (cwj_devlib_used(r->p->m))
        return "ipsccp,globalopt,cgscc(inline,function(infer-address-spaces,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
               "simplifycfg,loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),sroa,bdce,"
               "instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,bdce,infer-alignment)),deadargelim,amdgpu-attributor";
    return "ipsccp,cgscc(inline,function(infer-address-spaces,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,tailcallelim,"
           "loop-mssa(loop-rotate,licm),loop(loop-unroll-full),early-cse,instcombine<no-verify-fixpoint>,simplifycfg,reassociate,early-cse,"
           "infer-alignment)),amdgpu-attributor";
}

/* ---- the tables -------------------------------------------------------------------------------------------------------------- */

static bool
is_ours(const struct row *w)
{
    return !w->llvm && !w->choose;
}

static const struct row host_rows[] = {
    { "annotate-single-calls", .finds = pass_annotate_single_calls },
    { "inline-single-calls", .when = changed, .condition = "some were annotated", .llvm = "always-inline" },
    { "mem2reg", .makes = SSA, .llvm = "function(mem2reg)" },
    { "retype-floats", .needs = SSA, .floats = CWJ_NATIVE_NAN | CWJ_NATIVE_FTZ, .exact = pass_retype_floats },
    { "relax-nan", .needs = SSA | NAN32, .floats = CWJ_NATIVE_NAN, .exact = pass_relax_nan },
    { "optimise", .needs = SSA, .ends = NAN32, .choose = by_level },
    { "x86-ternlog", .workaround = true, .required = true, .plain = cwj_x86_workaround_ternlog },
    { "tabulate-constants", .always = true, .plain = pass_tabulate_constants },
    { 0 }
};

static const struct row nvptx_rows[] = {
    { "simplify", .llvm = "function(sroa,early-cse,simplifycfg,adce)" },     /* ptxas optimises the module again */
    { 0 }
};

static const struct row amdgcn_rows[] = {
    { "annotate-single-calls", .when = no_devlib, .condition = "no device library", .finds = pass_annotate_single_calls },
    { "inline-single-calls", .when = changed, .condition = "some were annotated", .llvm = "always-inline" },
    { "mem2reg", .makes = SSA, .llvm = "function(mem2reg)" },
    { "retype-floats", .needs = SSA, .floats = CWJ_NATIVE_NAN | CWJ_NATIVE_FTZ, .exact = pass_retype_floats },
    { "nan64", .always = true, .required = true, .needs = NAN64, .ends = NAN64, .floats = CWJ_NATIVE_NAN, .exact = pass_nan64 },
    { "follow-pointers", .needs = SSA, .pass = follow_pointers },
    { "large-roots", .always = true, .required = true, .floats = CWJ_NATIVE_APPROX, .exact = pass_large_roots },
    { "relax-nan", .needs = SSA | NAN32, .floats = CWJ_NATIVE_NAN, .exact = pass_relax_nan },
    { "flush", .always = true, .required = true, .needs = FTZ, .ends = FTZ, .floats = CWJ_NATIVE_FTZ, .exact = pass_flush },
    { "simplify", .needs = SSA, .ends = NAN32, .choose = simplify },
    { "follow-arguments", .needs = SSA, .pass = follow_pointers },
    { "simplify-addresses", .when = changed, .condition = "addresses became pointers", .llvm = AFTER_POINTERS },
    { "guard-recursion", .needs = SSA, .finds = pass_guard_recursion },
    { "inline-guards", .when = changed, .condition = "calls were guarded", .llvm = "always-inline,function(early-cse,simplifycfg)" },
    { "pack-f32", .needs = SSA, .when = packs_f32, .condition = "gfx90a, gfx942, gfx950", .llvm = PACK_F32 },
    { "shorten-nan", .needs = SSA, .floats = CWJ_NATIVE_NAN, .exact = pass_shorten_nan },
    { "cut-casts", .required = true, .plain = pass_cut_casts },
    { "order-blocks", .needs = SSA, .plain = pass_order_blocks },
    { "divide", .always = true, .required = true, .needs = DIVIDE, .ends = DIVIDE, .pass = divide },
    { "uniform-arguments", .workaround = true, .always = true, .required = true, .pass = uniform_arguments },
    { "close-precompiled", .always = true, .required = true, .plain = pass_close_precompiled },
    { "ballot", .workaround = true, .required = true, .plain = cwj_amd_workaround_ballot },
    { "drop-unused", .always = true, .required = true, .llvm = "globaldce" },
    { "convert", .always = true, .required = true, .needs = SATURATE, .ends = SATURATE, .plain = pass_amd_convert },
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

/* NULL: the target has none of this name. */
static const struct row *
row_named(enum cwj_target target, const char *name, size_t len)
{
    const struct row *w = rows_of(target);
    while (w->name && (strlen(w->name) != len || memcmp(w->name, name, len)))
        w++;
    return w->name ? w : NULL;
}

static bool
is_a_pass(enum cwj_target target, const char *name, size_t len)
{
    return row_named(target, name, len) || (target == CWJ_TARGET_AMDGCN && cwj_machine_pass_is_optional(name, len));
}

/* A program that compiles for several targets has one variable for all. Its own diagnostics nobody sees if it compiles. */
static void
check_variable(void)
{
    const char *list = cw_env_get(CW_ENV_SKIP_PASSES);
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (!is_a_pass(CWJ_TARGET_HOST, list, len) && !is_a_pass(CWJ_TARGET_NVPTX, list, len) && !is_a_pass(CWJ_TARGET_AMDGCN, list, len))
            cw_warn("%s: there is no pass '%.*s'; cudaway-cc --print-pipeline lists them", cw_env_name(CW_ENV_SKIP_PASSES), (int)len, list);
    }
}

const char *
cwj_skipped_passes(const struct cwj_pass_options *o)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (o && o->skip)
        return o->skip;
    pthread_once(&once, check_variable);
    return cw_env_get(CW_ENV_SKIP_PASSES);
}

void
cwj_pass_options_hash(const struct cwj_pass_options *o, struct cw_sha256 *s)
{
    const char *skip = cwj_skipped_passes(o);
    if (skip && *skip)
        cw_sha256_update(s, skip, strlen(skip) + 1);
}

/* Report names of required passes (an error) and unknown names (a warning). */
static cw_result
check_names(struct cwj_pipeline *p)
{
    const char *list = cwj_skipped_passes(p->passes);
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        const struct row *w = row_named(p->target, list, len);
        if (w && w->required) {
            cwj_diag_add(p->diags, PTX_ERROR, 5908, 0, 0, "the pass %s cannot be skipped: the code would be wrong without it", w->name);
            return CW_ERR_INVALID;
        }
        if (!is_a_pass(p->target, list, len))       /* may be another target's */
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
    if (cwj_ending())
        cwj_contain_ending();
    cw_result result = CW_OK;
    cwj_limit_step("the pass", w->name);
    if (w->exact)
        w->exact(p->m, &r->exact);
    else if (w->finds)
        r->changed = w->finds(p->m);
    else if (w->plain)
        w->plain(p->m);
    else
        result = w->pass ? w->pass(r) : run_llvm(r, w->llvm ? w->llvm : w->choose(r));
    r->forms = (r->forms | w->makes) & ~w->ends;
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
        if (!w->always && !(p->quick ? w->required : p->opt_level != 0))
            continue;
        bool ready = w->required || (r->forms & w->needs) == w->needs;
        bool native = w->floats && (w->floats & p->native_floats) == w->floats;
        bool runs = ready && !native && (!w->when || w->when(r)) && !cwj_pass_in_list(skip, w->name);
        if (is_ours(w))
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

/* 9 for gfx90a, 11 for gfx1100, ...; gfx9 has wave64. */
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
    cwj_limit_step("code generation", NULL);
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
        cw_buf_printf(out, "  %-22s %-9s %-5s", w->name, w->required ? "required" : "optional", is_ours(w) ? "ours" : "LLVM");
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
