/* SPDX-License-Identifier: Apache-2.0
 * See loader.h. A compilation owns an LLVM context from emission to object code. Code is always loaded from an object, whether compiled now
 * or taken from the cache, so both run the same bytes. */
#include "jit/loader/loader.h"
#include "jit/analysis/lockstep.h"
#include "jit/emit/emit.h"
#include "jit/driver/cache.h"
#include "jit/driver/identity.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/limit.h"
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"
#include "jit/link/program.h"

#include "impl/base/hash.h"
#include "impl/base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct host_code {
    struct cwj_host_code pub;
    struct cwj_loaded *loaded;
    struct host_code *next;             /* in `kept` */
};

/* Code that LLVM could not unload. Known here, it is no leak to a checker. */
static struct host_code *_Atomic kept;

static void
make_key(const struct cwj_program *p, const char *kernel, const struct cwh_variant *v, uint8_t key[32])
{
    struct cw_sha256 s;
    cw_sha256_init(&s);
    cw_sha256_update(&s, "cudaway host kernel 2", 22);
    cw_sha256_update(&s, p->content, sizeof p->content);
    cw_sha256_update(&s, kernel, strlen(kernel) + 1);
    uint8_t variant[6] = { v->linear_x, v->o0, v->max_width8, v->tier == CWH_TIER_QUICK, (uint8_t)cwj_lockstep_setting(), v->bounded };
    cw_sha256_update(&s, variant, sizeof variant);
    cwj_identity_hash(&s);
    cw_sha256_update(&s, cwj_llvm_host_cpu(), strlen(cwj_llvm_host_cpu()) + 1);
    cw_sha256_update(&s, cwj_llvm_host_features(), strlen(cwj_llvm_host_features()) + 1);
    cwj_pass_options_hash(NULL, &s);
    cw_sha256_finish(&s, key);
}

/* ---- compiling ------------------------------------------------------------------------------------------------------------ */

static void
dump_module(LLVMModuleRef m, const char *kernel, const uint8_t key[32], const char *suffix)
{
    if (!cwj_dump_enabled())
        return;
    char *text = cwj_contain_need(LLVMPrintModuleToString(m));
    cwj_dump(kernel, key, suffix, text, strlen(text));
    LLVMDisposeMessage(text);
}

static void
dump_sources(const struct cwj_program *p, const char *kernel, const uint8_t key[32])
{
    if (!cwj_dump_enabled())
        return;
    struct cw_buf ptx, ir;
    cw_buf_init(&ptx);
    cw_buf_init(&ir);
    for (uint32_t i = 0; i < p->nmodules; i++) {
        if (p->nmodules > 1)
            cw_buf_printf(&ptx, "// module %u of %u: %s\n", i + 1, p->nmodules, p->modules[i]->name);
        if (p->inputs)
            cw_buf_append(&ptx, p->inputs[i].text, strnlen(p->inputs[i].text, p->inputs[i].size));
        ptx_module_print(p->modules[i], &ir);
    }
    if (!ptx.failed && ptx.size)
        cwj_dump(kernel, key, "ptx", ptx.data, ptx.size);
    if (!ir.failed && ir.size)
        cwj_dump(kernel, key, "ir", ir.data, ir.size);
    cw_buf_finish(&ptx);
    cw_buf_finish(&ir);
}

/* allow_undefined permits linking with a called function that exists nowhere, but not compiling. */
static cw_result
check_defined(const struct cwj_program *p, uint32_t index, struct cwj_diags *diags)
{
    const struct cwj_closure *r = &p->closure[index];
    cw_result result = CW_OK;
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const struct cwj_function *f = &p->funcs[r->funcs[i]];
        if (f->undefined) {
            cwj_diag_add(diags, PTX_ERROR, 4001, 0, 0, "'%s' is not defined", f->name);
            result = CW_ERR_UNRESOLVED;
        }
        for (uint32_t k = 0; k < f->nvars; k++)
            if (p->link_vars[f->vars[k]].undefined) {
                cwj_diag_add(diags, PTX_ERROR, 4001, 0, 0, "'%s' is not defined", p->link_vars[f->vars[k]].name);
                result = CW_ERR_UNRESOLVED;
            }
    }
    return result;
}

/* CPU time of a compilation in milliseconds, for the log. */
struct times {
    double all, llvm;               /* everything; only LLVM's optimiser, code generator and loader */
    double from;                    /* start of the current phase */
};

static double
cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One compilation and its results. */
struct job {
    struct cwj_program *p;
    uint32_t index;
    const struct cwh_variant *v;
    const struct cwj_host_runtime *rt;
    struct cwj_diags *diags;
    uint8_t key[32];
    struct cw_buf object;
    struct host_code *code;
    struct times times;
};

static cw_result
is_cancelled(const struct job *j)
{
    return j->v->cancelled && j->v->cancelled(j->v->user) ? CW_ERR_CANCELLED : CW_OK;
}

/* Runs contained: fills `object` and the code's info. */
static cw_result
compile(void *user)
{
    struct job *j = user;
    struct cwj_program *p = j->p;
    struct cwj_diags *diags = j->diags;
    struct times *times = &j->times;
    struct cwh_code_info *info = &j->code->pub.info;
    const uint8_t *key = j->key;
    const char *name = p->kernels[j->index].name;
    LLVMModuleRef module = NULL;
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef object = NULL;
    bool quick = !j->v->o0 && (j->v->tier == CWH_TIER_QUICK || p->kernels[j->index].too_large);
    unsigned level = j->v->o0 || quick ? 0 : 2;
    uint64_t frames = 0;
    double start = cpu_ms();
    LLVMContextRef llvm = cwj_llvm_context(cwj_dump_enabled(), diags);
    if (!llvm)
        return CW_ERR_NOMEM;

    cwj_limit_step("emission", NULL);
    cwj_contain_lock(&p->lock);
    cw_result r = check_defined(p, j->index, diags);
    if (!r)
        r = emit_host_kernel(p, j->index, j->v, llvm, &module, info, diags);
    dump_sources(p, name, key);
    cwj_contain_unlock(&p->lock);
    if (!r)
        r = cwj_llvm_machine(CWJ_TARGET_HOST, NULL, NULL, level, &tm, diags);
    if (!r)
        dump_module(module, name, key, "ll");
    times->from = cpu_ms();
    struct cwj_pipeline pipeline = { .m = module, .tm = tm, .target = CWJ_TARGET_HOST, .opt_level = level, .quick = quick, .diags = diags };
    if (!r)
        r = is_cancelled(j);
    if (!r)
        r = cwj_pipeline_run(&pipeline);
    if (!r)
        cwj_host_watch_frames(module);
    times->llvm += cpu_ms() - times->from;
    if (!r && level)
        dump_module(module, name, key, "opt.ll");
    times->from = cpu_ms();
    if (!r)
        r = is_cancelled(j);
    if (!r)
        r = cwj_pipeline_codegen(&pipeline, LLVMObjectFile, &object, &frames);
    times->llvm += cpu_ms() - times->from;
    info->stack_hint = frames < (1u << 30) ? (uint32_t)frames : 1u << 30;
    if (!r) {
        cwj_dump(name, key, "o", LLVMGetBufferStart(object), LLVMGetBufferSize(object));
        cw_buf_append(&j->object, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
        r = j->object.failed ? CW_ERR_NOMEM : CW_OK;
    }
    if (object)
        LLVMDisposeMemoryBuffer(object);
    if (module)
        LLVMDisposeModule(module);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    LLVMContextDispose(llvm);
    times->all += cpu_ms() - start;
    return r;
}

/* Runs contained: load the object into the process. */
static cw_result
load(void *user)
{
    struct job *j = user;
    double start = cpu_ms();
    cw_result r = cwj_host_load(j->object.data, j->object.size, j->rt, &j->code->loaded, &j->code->pub.run, j->diags);
    j->times.llvm += cpu_ms() - start;
    j->times.all += cpu_ms() - start;
    return r;
}

static cw_result
unload(void *user)
{
    cwj_host_unload(user);
    return CW_OK;
}

/* Runs contained, since LLVM names this CPU: compute the key, and load the object that the cache has for it. */
static cw_result
load_cached(void *user)
{
    struct job *j = user;
    char *cached = NULL;
    size_t size = 0;
    make_key(j->p, j->p->kernels[j->index].name, j->v, j->key);
    if (cwj_dump_enabled() || !cwj_cache_get(j->key, &j->code->pub.info, &cached, &size))
        return CW_ERR_NOT_FOUND;
    cw_buf_append(&j->object, cached, size);
    free(cached);
    cw_result r = j->object.failed ? CW_ERR_NOMEM : load(j);
    /* An object with a good checksum that does not load should not exist; if it does, compile. */
    if (r)
        cw_info("the cache entry of kernel %s does not load; it is compiled again", j->p->kernels[j->index].name);
    return r;
}

/* CW_OK or CW_ERR_NOMEM; any other result means: compile. */
static cw_result
find_cached(struct job *j)
{
    struct cwj_diags *diags = j->diags, mine;
    cwj_diags_init(&mine);
    j->diags = &mine;
    cw_result r = cwj_contain(CWJ_CONTAIN_LOAD, load_cached, j, &mine);
    j->diags = diags;
    if (r == CW_ERR_NOMEM && mine.first)
        cwj_diag_add(diags, PTX_ERROR, mine.first->code, 0, 0, "%s", mine.first->text);
    cwj_diags_finish(&mine);
    if (r) {
        cw_buf_finish(&j->object);
        cw_buf_init(&j->object);
    }
    return r;
}

/* What a compilation leaves in a job, from a child process (jit/llvm/limit.h). */
struct packed {
    struct cwh_code_info info;
    struct times times;
};

static void
pack(void *user, struct cw_buf *out)
{
    const struct job *j = user;
    struct packed all = { j->code->pub.info, j->times };
    cw_buf_append(out, (const char *)&all, sizeof all);
    cw_buf_append(out, j->object.data, j->object.size);
}

static bool
unpack(void *user, const char *data, size_t size)
{
    struct job *j = user;
    struct packed all;
    if (size < sizeof all)
        return false;
    memcpy(&all, data, sizeof all);
    j->code->pub.info = all.info;
    j->times = all.times;
    cw_buf_append(&j->object, data + sizeof all, size - sizeof all);
    return !j->object.failed;
}

static cw_result
compile_within_limit(struct job *j)
{
    const struct cwj_kernel *k = &j->p->kernels[j->index];
    const struct ptx_function *largest = NULL;
    char what[200];
    bool *only = calloc(j->p->nkernels, sizeof *only);
    if (!only)
        return CW_ERR_NOMEM;
    only[j->index] = true;
    largest = cwj_program_largest(j->p, only);
    free(only);
    snprintf(what, sizeof what, "kernel %s", k->name);
    struct cwj_limited l = {
        .work = compile, .pack = pack, .unpack = unpack, .user = j, .lock = &j->p->lock, .what = what,
        .largest = largest ? largest->sym->name : k->name, .instructions = largest ? largest->ninsts : 0,
        .line = largest && largest->ninsts ? largest->insts[0].line : 0,
    };
    return cwj_contain_limited(CWJ_CONTAIN_HOST, &l, j->diags);
}

static cw_result
compile_and_load(struct job *j)
{
    cw_result r = compile_within_limit(j);
    if (!r)
        r = cwj_contain(CWJ_CONTAIN_LOAD, load, j, j->diags);
    if (!r)
        cwj_cache_put(j->key, &j->code->pub.info, j->object.data, j->object.size);
    return r;
}

cw_result
cwj_host_compile(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, const struct cwj_host_runtime *rt,
                 struct cwj_host_code **out, struct cwj_diags *diags)
{
    *out = NULL;
    if (index >= p->nkernels)
        return CW_ERR_INVALID;
    struct job j = { .p = p, .index = index, .v = v, .rt = rt, .diags = diags, .code = calloc(1, sizeof *j.code) };
    if (!j.code)
        return CW_ERR_NOMEM;
    cw_buf_init(&j.object);
    cw_result r = find_cached(&j);
    j.code->pub.from_cache = !r;
    if (r && r != CW_ERR_NOMEM)
        r = v->tier == CWH_TIER_CACHED ? CW_ERR_NOT_FOUND : compile_and_load(&j);
    cw_buf_finish(&j.object);
    if (r) {
        free(j.code);
        return r;
    }
    cw_debug("kernel %s: %s, width %u%s; %.3f ms, of them LLVM %.3f", p->kernels[index].name,
             j.code->pub.from_cache ? "from the cache" : "compiled", j.code->pub.info.width, j.code->pub.info.uses_fibers ? ", fibers" : "",
             j.times.all, j.times.llvm);
    *out = &j.code->pub;
    return CW_OK;
}

void
cwj_host_release(struct cwj_host_code *code)
{
    if (!code)
        return;
    struct host_code *c = (struct host_code *)code;
    struct cwj_diags ignored;
    cwj_diags_init(&ignored);
    if (cwj_contain(CWJ_CONTAIN_LOAD, unload, c->loaded, &ignored)) {
        cw_info("the code of a kernel stays loaded: %s", ignored.first ? ignored.first->text : "out of memory");
        c->next = atomic_load(&kept);
        while (!atomic_compare_exchange_weak(&kept, &c->next, c)) { }
    } else {
        free(c);
    }
    cwj_diags_finish(&ignored);
}
