/* SPDX-License-Identifier: Apache-2.0
 * See aot.h. The stages: the IR as text; LLVM IR; assembly; an object, which for amdgcn LLD links into a code object. */
#define _GNU_SOURCE
#include "jit/driver/aot.h"
#include "jit/analysis/lockstep.h"
#include "jit/builtins/devlib.h"
#include "jit/emit/emit.h"
#include "jit/objfile/note.h"
#include "jit/driver/cache.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/limit.h"
#include "jit/driver/identity.h"
#include "jit/llvm/lld.h"
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"
#include "jit/driver/units.h"
#include "jit/link/program.h"

#include "impl/base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Linker.h>

/* take[k]: is kernel k requested? */
static cw_result
choose_kernels(const struct cwj_program *p, const struct cwj_aot_options *o, bool *take, struct cwj_diags *diags)
{
    cw_result r = CW_OK;
    memset(take, !o->kernels, p->nkernels);
    for (const char *const *k = o->kernels; k && *k; k++) {
        bool found = false;
        for (uint32_t i = 0; i < p->nkernels; i++)
            if (!strcmp(p->kernels[i].name, *k))
                found = take[i] = true;
        if (!found) {
            cwj_diag_add(diags, PTX_ERROR, 4009, 0, 0, "there is no kernel '%s'", *k);
            r = CW_ERR_NOT_FOUND;
        }
    }
    return r;
}

/* LLVM accepts an unknown processor with a message on standard error; refuse it instead. */
static cw_result
check_cpu(const struct cwj_aot_options *o, struct cwj_diags *diags)
{
    static const char *const gfx[] = { "gfx900", "gfx906", "gfx908", "gfx90a", "gfx90c", "gfx942", "gfx950",
        "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx1100",
        "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1200", "gfx1201" };
    static const char *const sm[] = { "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80",
        "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a",
        "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f" };
    if (o->target == CWJ_TARGET_HOST || o->emit == CWJ_EMIT_IR)
        return CW_OK;
    if (o->target == CWJ_TARGET_NVPTX) {
        for (unsigned i = 0; o->cpu && i < sizeof sm / sizeof *sm; i++)
            if (!strcmp(sm[i], o->cpu))
                return CW_OK;
        cwj_diag_add(diags, PTX_ERROR, 5907, 0, 0, "no NVIDIA architecture '%s' is known; sm_50 to sm_121f are", o->cpu ? o->cpu : "");
        return CW_ERR_UNSUPPORTED;
    }
    for (unsigned i = 0; o->cpu && i < sizeof gfx / sizeof *gfx; i++)
        if (!strcmp(gfx[i], o->cpu))
            return CW_OK;
    cwj_diag_add(diags, PTX_ERROR, 5907, 0, 0, "no AMD processor '%s' is known; gfx900 to gfx950, gfx1010 to gfx1201 are",
                 o->cpu ? o->cpu : "");
    return CW_ERR_UNSUPPORTED;
}

/* The host form of a program: the modules of all kernels linked into one, each entry and info renamed after its kernel. */
static cw_result
emit_host(struct cwj_program *p, const struct cwj_aot_options *o, const bool *take, LLVMContextRef llvm, LLVMModuleRef *out,
          struct cwj_diags *diags)
{
    struct cwh_variant v = { .o0 = o->opt_level == 0 };
    cw_result result = CW_OK;
    *out = LLVMModuleCreateWithNameInContext("cudaway", llvm);
    for (uint32_t i = 0; i < p->nkernels; i++) {
        if (!take[i])
            continue;
        LLVMModuleRef m = NULL;
        struct cwh_code_info info;
        cw_result r = emit_host_kernel(p, i, &v, llvm, &m, &info, diags);
        if (r) {
            result = result ? result : r;
            continue;
        }
        struct cw_buf name;
        cw_buf_init(&name);
        LLVMValueRef entry = LLVMGetNamedFunction(m, "cwh_kernel"), facts = LLVMGetNamedGlobal(m, "cwh_info");
        cw_buf_printf(&name, "%s", p->kernels[i].name);
        if (entry && !name.failed)
            LLVMSetValueName2(entry, name.data, name.size);
        cw_buf_printf(&name, ".info");
        if (facts && !name.failed)
            LLVMSetValueName2(facts, name.data, name.size);
        cw_buf_finish(&name);
        for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
            if (f != entry && !LLVMIsDeclaration(f))
                LLVMSetLinkage(f, LLVMInternalLinkage);
        if (LLVMLinkModules2(*out, m) && !result)       /* destroys m */
            result = CW_ERR_LLVM;
    }
    return result;
}

/* PTX as LLVM prints it, with the program's language version, which its instructions need. */
static void
append_ptx(const struct cwj_program *p, const char *text, size_t size, struct cw_buf *out)
{
    unsigned want = 0, major = 0, minor = 0;
    for (uint32_t i = 0; i < p->nmodules; i++)
        if (p->modules[i]->version_major * 10 + p->modules[i]->version_minor > want)
            want = p->modules[i]->version_major * 10 + p->modules[i]->version_minor;
    static const char directive[] = "\n.version ";
    const char *at = memmem(text, size, directive, sizeof directive - 1), *end = text + size;
    if (at) {
        const char *number = at + sizeof directive - 1, *after = memchr(number, '\n', (size_t)(end - number));
        if (after && sscanf(number, "%u.%u", &major, &minor) == 2 && major * 10 + minor < want) {
            cw_buf_append(out, text, (size_t)(number - text));
            cw_buf_printf(out, "%u.%u", want / 10, want % 10);
            text = after;
        }
    }
    cw_buf_append(out, text, (size_t)(end - text));
}

static cw_result
append_module_text(LLVMModuleRef m, struct cw_buf *out)
{
    char *text = cwj_contain_need(LLVMPrintModuleToString(m));
    cw_buf_puts(out, text);
    LLVMDisposeMessage(text);
    return out->failed ? CW_ERR_NOMEM : CW_OK;
}

static cw_result
print_ir(struct cwj_program *p, struct cw_buf *out)
{
    for (uint32_t i = 0; i < p->nmodules; i++) {
        struct ptx_module *m = p->modules[i];
        for (uint32_t k = 0; k < m->nfuncs; k++)
            if (m->funcs[k]->has_body && ptx_function_build_cfg(m->funcs[k]))
                return CW_ERR_NOMEM;
        if (p->nmodules > 1)
            cw_buf_printf(out, "// module %u of %u: %s\n", i + 1, p->nmodules, m->name);
        ptx_module_print(m, out);
    }
    return out->failed ? CW_ERR_NOMEM : CW_OK;
}

struct aot {
    struct cwj_program *p;
    const struct cwj_aot_options *o;
};

static cw_result
emit(struct cwj_program *p, const struct cwj_aot_options *o, const struct cwj_unit *unit, LLVMContextRef llvm, LLVMModuleRef *out, struct cwj_diags *diags)
{
    const struct emit_simt what = { .target = o->target, .cpu = o->cpu, .kernels = unit->kernels, .module_image = o->module_image, .matrix_sm = o->matrix_sm, .matrix_native = o->matrix_native,
                                    .native_floats = o->native_floats, .one_warp_per_wave = o->one_warp_per_wave, .textures_native = o->textures_native, .all_blocks = o->all_blocks, .checked = o->checked, .clusters = o->clusters,
                                    .declare_only = !unit->first };
    return o->target == CWJ_TARGET_HOST ? emit_host(p, o, unit->kernels, llvm, out, diags) : emit_simt_module(p, &what, llvm, out, diags);
}

/* Compile one unit to LLVM IR, assembly or an object. Holds the program's lock while it reads the program's IR. */
static cw_result
compile(struct aot *a, struct cwj_unit *unit)
{
    const struct cwj_aot_options *o = a->o;
    struct cwj_diags *diags = &unit->diags;
    unsigned level = o->opt_level > 3 ? 3 : o->opt_level;
    bool plain = false;
    for (uint32_t k = 0; k < a->p->nkernels && o->target == CWJ_TARGET_HOST && level; k++)
        plain |= unit->kernels[k] && a->p->kernels[k].too_large;
    level = plain ? 0 : level;
    LLVMModuleRef module = NULL;
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef code = NULL;
    LLVMContextRef llvm = cwj_llvm_context(o->emit == CWJ_EMIT_LLVM, diags);
    if (!llvm)
        return CW_ERR_NOMEM;
    /* gfx908: LLVM loses values that it moves through accumulation registers around calls (docs/llvm-faults, gfx908-agpr-copy); without
     * matrix instructions there are none. */
    bool no_accumulators = o->target == CWJ_TARGET_AMDGCN && o->cpu && !strcmp(o->cpu, "gfx908") && !o->matrix_native;
    /* gfx11, gfx12: LLVM loses constants of 16-bit PHIs that it keeps in halves of registers (docs/llvm-faults, true16-constant). */
    bool halves = o->target == CWJ_TARGET_AMDGCN && o->cpu && (!strncmp(o->cpu, "gfx11", 5) || !strncmp(o->cpu, "gfx12", 5));
    cw_result r = cwj_llvm_machine(o->target, o->cpu, no_accumulators ? "-mai-insts" : halves ? "-real-true16" : NULL, level, &tm, diags);
    if (r)
        goto done;
    cwj_limit_step("emission", NULL);
    cwj_contain_lock(&a->p->lock);
    r = emit(a->p, o, unit, llvm, &module, diags);
    cwj_contain_unlock(&a->p->lock);
    if (!r && o->target == CWJ_TARGET_AMDGCN)
        r = cwj_devlib_link(module, o->cpu, diags);
    struct cwj_pipeline pipeline = { .m = module, .tm = tm, .target = o->target, .opt_level = level, .quick = plain, .native_floats = o->native_floats,
                                     .passes = &o->passes, .diags = diags };
    if (!r)
        r = cwj_pipeline_run(&pipeline);
    if (r || pipeline.stopped)
        goto done;
    if (o->target == CWJ_TARGET_HOST)
        cwj_host_watch_frames(module);
    if (o->emit == CWJ_EMIT_LLVM) {
        r = append_module_text(module, &unit->out);
        goto done;
    }
    r = cwj_pipeline_codegen(&pipeline, o->emit == CWJ_EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile, &code, NULL);
    if (!r)
        cw_buf_append(&unit->out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
done:
    if (code)
        LLVMDisposeMemoryBuffer(code);
    if (module)
        LLVMDisposeModule(module);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    LLVMContextDispose(llvm);
    return r;
}

struct job {
    struct aot *a;
    struct cwj_unit *unit;
};

static cw_result
compile_job(void *user)
{
    struct job *j = user;
    return compile(j->a, j->unit);
}

/* From a child process (jit/llvm/limit.h). */
static void
pack_unit(void *user, struct cw_buf *out)
{
    const struct job *j = user;
    cw_buf_append(out, j->unit->out.data, j->unit->out.size);
}

static bool
unpack_unit(void *user, const char *data, size_t size)
{
    struct job *j = user;
    cw_buf_append(&j->unit->out, data, size);
    return !j->unit->out.failed;
}

static void
compile_unit(struct cwj_unit *unit, void *user)
{
    static const enum cwj_contain_kind kinds[] = {
        [CWJ_TARGET_HOST] = CWJ_CONTAIN_HOST, [CWJ_TARGET_NVPTX] = CWJ_CONTAIN_NVPTX, [CWJ_TARGET_AMDGCN] = CWJ_CONTAIN_AMDGCN,
    };
    struct job job = { user, unit };
    const struct cwj_aot_options *o = job.a->o;
    struct cwj_program *p = job.a->p;
    uint32_t first = 0, n = 0;
    char what[200];
    if (o->passes.printed) {            /* text of the passes, for a person who waits for it */
        unit->result = cwj_contain(kinds[o->target], compile_job, &job, &unit->diags);
        return;
    }
    for (uint32_t k = p->nkernels; k-- > 0;)
        if (unit->kernels[k]) {
            first = k;
            n++;
        }
    if (n > 1)
        snprintf(what, sizeof what, "kernel %s and %u others", p->kernels[first].name, n - 1);
    else
        snprintf(what, sizeof what, "kernel %s", n ? p->kernels[first].name : "-");
    const struct ptx_function *largest = cwj_program_largest(p, unit->kernels);
    struct cwj_limited l = {
        .work = compile_job, .pack = pack_unit, .unpack = unpack_unit, .user = &job, .lock = &p->lock, .what = what,
        .largest = largest ? largest->sym->name : "-", .instructions = largest ? largest->ninsts : 0,
        .line = largest && largest->ninsts ? largest->insts[0].line : 0,
    };
    unit->result = cwj_contain_limited(kinds[o->target], &l, &unit->diags);
}

/* Folded kernels, which have another kernel's code and are not compiled. */
struct folded {
    struct cwj_amd_alias *alias;
    size_t n;
};

/* Remove folded kernels from `take`. */
static cw_result
find_identical(const struct cwj_program *p, bool *take, struct folded *t)
{
    uint32_t *of = calloc(p->nkernels ? p->nkernels : 1, sizeof *of);
    t->alias = calloc(p->nkernels ? p->nkernels : 1, sizeof *t->alias);
    cw_result r = of && t->alias ? cwj_link_icf(p, take, of) : CW_ERR_NOMEM;
    for (uint32_t k = 0; !r && k < p->nkernels; k++)
        if (of[k] != k) {
            take[k] = false;
            t->alias[t->n++] = (struct cwj_amd_alias){ p->kernels[k].name, p->kernels[of[k]].name };
        }
    free(of);
    return r;
}

struct joined {
    struct cw_buf **objects;
    size_t n;
    const struct folded *folded;
};

/* Runs contained. */
static cw_result
join_objects(void *user)
{
    const struct joined *j = user;
    return cwj_amd_join(j->objects, j->n, j->folded->alias, j->folded->n);
}

/* Link the units' objects into one. */
static cw_result
link_units(const struct cwj_aot_options *o, struct cwj_units *units, const struct folded *folded, struct cw_buf *out, struct cwj_diags *diags)
{
    bool amdgcn = o->target == CWJ_TARGET_AMDGCN;
    struct joined j = { calloc(units->n, sizeof *j.objects), units->n, folded };
    cw_result r = CW_OK;
    if (!j.objects)
        return CW_ERR_NOMEM;
    for (uint32_t i = 0; i < units->n; i++)
        j.objects[i] = &units->at[i].out;
    if (amdgcn && (j.n > 1 || folded->n))
        r = cwj_contain(CWJ_CONTAIN_LINK, join_objects, &j, diags);
    if (r == CW_ERR_DAMAGED) {
        cwj_diag_add(diags, PTX_ERROR, 5902, 0, 0, "internal error: LLVM's objects have no metadata or symbols as it is documented");
        r = CW_ERR_INTERNAL;
    }
    if (!r && (amdgcn || j.n > 1))
        r = cwj_lld_link(amdgcn, j.objects, j.n, out, diags);
    else if (!r)
        cw_buf_append(out, j.objects[0]->data, j.objects[0]->size);
    free(j.objects);
    return r;
}

/* PTX instructions per unit. With this size, LLVM's set-up takes a hundredth of a unit's time, and peak memory (one unit's machine code per
 * thread) is half of that with 4000. */
enum { UNIT_SIZE = 1000 };

static cw_result
run(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags)
{
    bool *take = calloc(p->nkernels ? p->nkernels : 1, sizeof *take);
    struct folded folded = { 0 };
    if (!take)
        return CW_ERR_NOMEM;
    cw_result r = choose_kernels(p, o, take, diags);
    if (!r)
        r = check_cpu(o, diags);
    if (!r && o->emit == CWJ_EMIT_IR) {
        pthread_mutex_lock(&p->lock);
        r = print_ir(p, out);
        pthread_mutex_unlock(&p->lock);
        goto done;
    }
    if (!r && o->target == CWJ_TARGET_NVPTX && o->emit == CWJ_EMIT_OBJ) {
        cwj_diag_add(diags, PTX_ERROR, 5904, 0, 0, "nvptx has no object form here: its assembly is PTX (emit asm)");
        r = CW_ERR_UNSUPPORTED;
    }
    if (r)
        goto done;
    struct cwj_units units;
    struct aot a = { .p = p, .o = o };
    if (o->target == CWJ_TARGET_AMDGCN && o->emit == CWJ_EMIT_OBJ)
        r = find_identical(p, take, &folded);
    if (!r)
        r = cwj_units_make(p, take, o->emit == CWJ_EMIT_OBJ && o->jobs && !o->passes.printed ? UNIT_SIZE : 0, &units);
    if (r)
        goto done;
    r = cwj_units_run(&units, o->jobs, compile_unit, &a, diags);
    const struct cw_buf *only = &units.at[0].out;
    if (o->passes.stop_after)       /* the output is in o->passes.printed */
        goto finish;
    if (!r && o->emit == CWJ_EMIT_OBJ)
        r = link_units(o, &units, &folded, out, diags);
    else if (!r && o->target == CWJ_TARGET_NVPTX && o->emit == CWJ_EMIT_ASM)
        append_ptx(p, only->data, only->size, out);
    else if (!r)
        cw_buf_append(out, only->data, only->size);
finish:
    cwj_units_finish(&units);
    if (!r && out->failed)
        r = CW_ERR_NOMEM;
done:
    free(folded.alias);
    free(take);
    return r;
}

static void
make_key(const struct cwj_program *p, const struct cwj_aot_options *o, uint8_t key[32])
{
    struct cw_sha256 s;
    uint8_t how[] = { (uint8_t)o->target, (uint8_t)o->emit, (uint8_t)o->opt_level, o->module_image, o->matrix_sm, o->matrix_native,
                      (uint8_t)o->native_floats, o->one_warp_per_wave, o->textures_native, o->all_blocks, o->checked, o->clusters,
                      (uint8_t)cwj_lockstep_setting() };
    const char *cpu = o->cpu ? o->cpu : "";
    cw_sha256_init(&s);
    cw_sha256_update(&s, "cudaway code object 1", 22);
    cw_sha256_update(&s, p->content, sizeof p->content);
    cw_sha256_update(&s, how, sizeof how);
    cw_sha256_update(&s, cpu, strlen(cpu) + 1);
    for (const char *const *k = o->kernels; k && *k; k++)
        cw_sha256_update(&s, *k, strlen(*k) + 1);
    cwj_pass_options_hash(&o->passes, &s);
    cwj_identity_hash(&s);
    cw_sha256_finish(&s, key);
}

cw_result
cwj_aot(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags)
{
    uint8_t key[32];
    struct cwh_code_info none = { 0 };
    char *cached = NULL;
    size_t size = 0, before = out->size;
    if (o->from_cache)
        *o->from_cache = false;
    if (!o->cache || o->target == CWJ_TARGET_HOST)      /* host: the key would have to include this CPU's features */
        return run(p, o, out, diags);
    make_key(p, o, key);
    if (cwj_cache_get(key, &none, &cached, &size)) {
        cw_debug("%s for %s: from the cache", o->kernels && o->kernels[0] ? o->kernels[0] : "a program", o->cpu ? o->cpu : "");
        cw_buf_append(out, cached, size);
        free(cached);
        if (o->from_cache)
            *o->from_cache = true;
        return out->failed ? CW_ERR_NOMEM : CW_OK;
    }
    cw_result r = run(p, o, out, diags);
    if (!r) {
        none = (struct cwh_code_info){ 0 };
        cwj_cache_put(key, &none, out->data + before, out->size - before);
    }
    return r;
}
