/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: a program's module, with its kernels, their callees and its variables. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/analysis/find.h"
#include "jit/analysis/lockstep.h"

#include <stdio.h>
#include <string.h>

enum { AS_CONST = 4, CC_KERNEL = 91 };

/* The largest block whose threads can have 256 registers each (on GCN, half of that many): some RDNA3 and RDNA4 processors have 1536
 * registers per lane, allocated by 24; others have 1024. */
static unsigned
roomy(const char *cpu)
{
    static const char *const large[] = { "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201" };
    for (unsigned i = 0; cpu && i < sizeof large / sizeof *large; i++)
        if (!strcmp(cpu, large[i]))
            return 640;
    return 512;
}

/* Set the bounds of the block size, after the kernel is emitted. CUDA allows blocks of 1024 threads unless the kernel says otherwise, or
 * needs more registers than a multiprocessor has for that many. A kernel whose PTX needs more than CWJ_AMD_MANY registers at once gets 104
 * or more from ptxas, so CUDA launches no block of 640 threads of it: 53 kernels in 297 modules of public CUDA code (docs/performance.md).
 * A kernel with .maxnreg is meant to have few. */
static void
bound_group(struct emit *e, const struct cwj_kernel *k, LLVMValueRef fn)
{
    const struct emit_session *s = emit_session(e);
    const uint32_t *n = k->reqntid[0] ? k->reqntid : k->maxntid;
    unsigned max = 1024;
    if (n[0])
        max = n[0] * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
    else if (s->pressure > CWJ_AMD_MANY && !k->fn->maxnreg && !s->all_blocks && !e->one_warp_per_wave)
        max = roomy(e->cpu);
    if (!max || max > 1024)
        max = 1024;
    if (e->one_warp_per_wave)
        max = cwj_amd_group(max) < 1024 ? cwj_amd_group(max) : 1024;
    char text[32];
    snprintf(text, sizeof text, "1,%u", max);
    emit_set_text_attribute(fn, "amdgpu-flat-work-group-size", text);
}

/* Do lanes wait for each other in a way that only the flattened kernel can run? Returns that, or NULL. */
static const struct ptx_function *
flatten_waiting(struct emit *e, uint32_t index)
{
    const struct cwj_closure *c = &e->program->closure[index];
    const struct ptx_function *kernel = cwj_program_function(e->program, e->program->kernel_func[index])->fn;
    bool left = false;
    for (uint32_t i = 0; i < c->nfuncs && !left; i++) {
        const struct cwj_function *f = cwj_program_function(e->program, c->funcs[i]);
        if (!f->fn || !f->fn->has_body || f->runtime)
            continue;
        if (ptx_function_build_cfg(f->fn) != CW_OK)
            cw_arena_exhausted(&e->arena);
        left = emit_park_leaves(e, f->fn);
    }
    if (!left)
        return NULL;
    const char *why;
    const struct ptx_function *flat = emit_flatten(e, kernel, &why);
    if (!flat)
        cwj_diag_add(e->diags, PTX_WARNING, 5010, 0, 0, "kernel %s: if lanes of a warp wait for each other it hangs, since the release may be in "
                     "another function than the loop, and %s; CUDAWAY_DEVICE=host runs it", e->program->kernels[index].name, why);
    return flat;
}

static void
add_kernel(struct emit *e, uint32_t index, const struct ptx_function *flat)
{
    const struct cwj_kernel *k = &e->program->kernels[index];
    uint32_t id = e->program->kernel_func[index];
    unsigned words = (k->param_size + 7) / 8 + gcn_extra_arguments(e) / 8;
    LLVMTypeRef block = LLVMArrayType(e->i64, words);
    LLVMValueRef fn = LLVMAddFunction(e->module, k->name, LLVMFunctionType(e->void_, &block, words ? 1 : 0, false));
    LLVMSetFunctionCallConv(fn, CC_KERNEL);
    LLVMSetVisibility(fn, LLVMProtectedVisibility);
    emit_null_faults(e, fn);
    emit_set_text_attribute(fn, "uniform-work-group-size", "true");
    emit_session(e)->functions[id] = fn;
    emit_session(e)->flat = flat;
    emit_function(e, flat ? flat : cwj_program_function(e->program, id)->fn, fn, true);
    bound_group(e, k, fn);
    emit_session(e)->flat = NULL;
}

/* LLVM's data layout for amdgcn. The pipeline sets it on the finished module as well; allocas need it from the start. */
static const char data_layout[] =
    "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-"
    "v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9";

/* Callers before callees: LLVM inlines in the module's order, and copies each body once this way. The other way round each caller's body would
 * hold all that it calls when it is copied, which takes quadratic time for a chain of calls. */
static void
emit_device_functions(struct emit *e)
{
    uint32_t n, *ids = emit_needed(e, &n), *order = emit_callees_first(e->program, ids, n, &e->arena);
    for (uint32_t i = n; i-- > 0;) {
        const struct cwj_function *f = cwj_program_function(e->program, order[i]);
        if (f->fn && f->fn->has_body && !f->fn->is_entry && !f->runtime)
            emit_function(e, f->fn, emit_declare(e, order[i]), false);
    }
}

static bool
is_cluster_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BARRIER_CLUSTER;
}

void
emit_amdgcn_module(struct emit *e, void *user)
{
    const struct emit_simt *what = user;
    const char *cpu = what->cpu;
    struct emit_session *s = emit_session(e);
    struct cwj_program *p = e->program;
    e->target = &emit_target_amdgcn;
    s->module_image = what->module_image;
    s->matrix_model = gcn_matrix_model(what->matrix_sm);
    s->matrix_native = what->matrix_native;
    s->textures_native = what->textures_native;
    s->all_blocks = what->all_blocks;
    e->native_floats = what->native_floats;
    e->unchecked = !what->checked;
    s->declare_only = what->declare_only;
    s->clusters = what->clusters;
    e->features = EMIT_FEATURE_F16;
    e->cpu = cpu;
    e->width = 1;
    e->fast_code = true;
    e->wave64 = cwj_amd_wave64(cpu);
    e->one_warp_per_wave = e->wave64 && what->one_warp_per_wave;
    LLVMSetTarget(e->module, "amdgcn-amd-amdhsa");
    LLVMSetDataLayout(e->module, data_layout);
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorError, "amdhsa_code_object_version", 26,
                      LLVMValueAsMetadata(LLVMConstInt(e->i32, 500, false)));

    bool indirect = false;
    const struct ptx_function **flat = cw_arena_array(&e->arena, const struct ptx_function *, p->nkernels + 1);
    for (uint32_t k = 0; k < p->nkernels; k++)
        for (uint32_t i = 0; i < p->closure[k].nfuncs && (!what->kernels || what->kernels[k]); i++)
            s->needed[p->closure[k].funcs[i]] = true;
    for (uint32_t k = 0; k < p->nkernels; k++)
        if (!what->kernels || what->kernels[k])
            flat[k] = flatten_waiting(e, k);
    memset(s->needed, 0, p->nfuncs * sizeof *s->needed);
    for (uint32_t k = 0; k < p->nkernels; k++) {
        if (what->kernels && !what->kernels[k])
            continue;
        s->in_step |= cwj_needs_lockstep(p, k);
        s->closure = &p->closure[k];
        s->launch_numbers |= s->module_image && cwj_closure_has_inst(p, s->closure, gcn_names_launch);
        s->counts_exited |= cwj_closure_has_inst(p, s->closure, gcn_waits_for_all);
        s->cluster_barriers |= s->clusters && cwj_closure_has_inst(p, s->closure, is_cluster_barrier);
        if (flat[k])
            continue;                   /* it calls nothing */
        indirect |= p->closure[k].indirect;
        s->exits |= emit_has_exits(p, &p->closure[k]);
        for (uint32_t i = 0; i < p->closure[k].nfuncs; i++)
            s->needed[p->closure[k].funcs[i]] = true;
    }
    s->soft_barriers = s->counts_exited;
    /* Visible from outside: every variable of the program is in the code object, used or not. */
    for (uint32_t i = 0; i < p->nlink_vars && !s->module_image && !s->declare_only; i++)
        if (!p->link_vars[i].undefined && p->link_vars[i].space != PTX_SPACE_SHARED)
            gcn_variable(e, i, &p->link_vars[i]);
    if (s->launch_numbers)
        (void)gcn_loader_variable(e, "cudaway_launch");
    if (indirect)
        emit_function_table(e, "functions");
    for (uint32_t k = 0; k < p->nkernels; k++)
        if (!what->kernels || what->kernels[k])
            add_kernel(e, k, flat[k]);
    emit_device_functions(e);
    if (s->function_table && !LLVMGetFirstUse(s->function_table))
        LLVMDeleteGlobal(s->function_table);
    if (s->soft_barriers)
        for (uint32_t k = 0; k < p->nkernels; k++)
            if (!what->kernels || what->kernels[k])
                gcn_clear_barriers(e, s->functions[p->kernel_func[k]]);
    if (s->cluster_barriers)
        gcn_clear_marks(e, s->functions[s->closure->funcs[0]]);
    gcn_mufu_limit(e);
}
