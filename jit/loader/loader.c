/* SPDX-License-Identifier: Apache-2.0
 * See loader.h. A compilation owns an LLVM context from emission to object code; what is loaded is always an object, whether
 * compiled now or taken from the cache, so that both run the same bytes. */
#include "jit/host/loader.h"
#include "jit/emit/emit.h"
#include "jit/host/cache.h"
#include "jit/host/identity.h"
#include "jit/host/llvm.h"
#include "jit/link/program.h"

#include "impl/base/hash.h"
#include "impl/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct host_code {
    struct cwj_host_code pub;
    struct cwj_loaded *loaded;
};

static void
make_key(const struct cwj_program *p, const char *kernel, const struct cwh_variant *v, uint8_t key[32])
{
    struct cw_sha256 s;
    cw_sha256_init(&s);
    cw_sha256_update(&s, "cudaway host kernel 2", 22);
    cw_sha256_update(&s, p->content, sizeof p->content);
    cw_sha256_update(&s, kernel, strlen(kernel) + 1);
    uint8_t variant[3] = { v->linear_x, v->o0, v->narrow };
    cw_sha256_update(&s, variant, sizeof variant);
    cwj_identity_hash(&s);
    cw_sha256_update(&s, cwj_llvm_host_cpu(), strlen(cwj_llvm_host_cpu()) + 1);
    cw_sha256_update(&s, cwj_llvm_host_features(), strlen(cwj_llvm_host_features()) + 1);
    cw_sha256_finish(&s, key);
}

/* ---- compiling ------------------------------------------------------------------------------------------------------------ */

static void
dump_module(LLVMModuleRef m, const char *kernel, const uint8_t key[32], const char *suffix)
{
    if (!cwj_dump_enabled())
        return;
    char *text = LLVMPrintModuleToString(m);
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

/* A function that is called but exists nowhere can be linked with allow_undefined, but not compiled. */
static cw_result
check_defined(const struct cwj_program *p, uint32_t index, struct cwj_diags *diags)
{
    const struct cwj_reach *r = &p->reach[index];
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

/* Where the CPU time of a compilation goes, in milliseconds: logged. */
struct times {
    double llvm;                    /* LLVM's optimiser, code generator and loader */
    double from;                    /* when this part began */
};

static double
cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static cw_result
compile(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, const uint8_t key[32], struct cwh_code_info *info,
        LLVMMemoryBufferRef *object, struct times *times, struct cwj_diags *diags)
{
    const char *name = p->kernels[index].name;
    LLVMModuleRef module = NULL;
    LLVMTargetMachineRef tm = NULL;
    unsigned level = v->o0 ? 0 : 2;
    uint64_t frames = 0;
    LLVMContextRef llvm = cwj_llvm_context(cwj_dump_enabled(), diags);
    if (!llvm)
        return CW_ERR_NOMEM;

    pthread_mutex_lock(&p->lock);
    cw_result r = check_defined(p, index, diags);
    if (!r)
        r = emit_host_kernel(p, index, v, llvm, &module, info, diags);
    dump_sources(p, name, key);
    pthread_mutex_unlock(&p->lock);
    if (!r)
        r = cwj_llvm_machine(CWJ_TARGET_HOST, NULL, NULL, level, &tm, diags);
    if (!r)
        dump_module(module, name, key, "ll");
    times->from = cpu_ms();
    if (!r)
        r = cwj_llvm_optimise(module, tm, level, diags);
    if (!r)
        cwj_host_watch_frames(module);
    times->llvm += cpu_ms() - times->from;
    if (!r && level)
        dump_module(module, name, key, "opt.ll");
    times->from = cpu_ms();
    if (!r)
        r = cwj_llvm_emit(module, tm, LLVMObjectFile, object, &frames, NULL, diags);
    times->llvm += cpu_ms() - times->from;
    info->stack_hint = frames < (1u << 30) ? (uint32_t)frames : 1u << 30;
    if (!r)
        cwj_dump(name, key, "o", LLVMGetBufferStart(*object), LLVMGetBufferSize(*object));
    if (module)
        LLVMDisposeModule(module);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    LLVMContextDispose(llvm);
    return r;
}

cw_result
cwj_host_compile(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, const struct cwj_host_runtime *rt,
                 struct cwj_host_code **out, struct cwj_diags *diags)
{
    *out = NULL;
    if (index >= p->nkernels)
        return CW_ERR_INVALID;
    struct host_code *c = calloc(1, sizeof *c);
    if (!c)
        return CW_ERR_NOMEM;
    uint8_t key[32];
    struct times times = { 0 };
    double start = cpu_ms();
    make_key(p, p->kernels[index].name, v, key);

    char *cached = NULL;
    size_t size = 0;
    LLVMMemoryBufferRef object = NULL;
    cw_result r = CW_OK;
    if (!cwj_dump_enabled() && cwj_cache_get(key, &c->pub.info, &cached, &size)) {
        /* A good checksum over an object that does not load should not happen; if it does, compile. */
        struct cwj_diags ignored;
        cwj_diags_init(&ignored);
        c->pub.from_cache = !cwj_host_load(cached, size, rt, &c->loaded, &c->pub.run, &ignored);
        if (!c->pub.from_cache)
            cw_info("the cache entry of kernel %s does not load; it is compiled again", p->kernels[index].name);
        cwj_diags_finish(&ignored);
        free(cached);
    }
    if (!c->pub.from_cache) {
        r = compile(p, index, v, key, &c->pub.info, &object, &times, diags);
        times.from = cpu_ms();
        if (!r)
            r = cwj_host_load(LLVMGetBufferStart(object), LLVMGetBufferSize(object), rt, &c->loaded, &c->pub.run, diags);
        times.llvm += cpu_ms() - times.from;
        if (!r)
            cwj_cache_put(key, &c->pub.info, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
        if (object)
            LLVMDisposeMemoryBuffer(object);
    }
    if (r) {
        free(c);
        return r;
    }
    cw_debug("kernel %s: %s, width %u%s; %.3f ms, of them LLVM %.3f", p->kernels[index].name,
             c->pub.from_cache ? "from the cache" : "compiled", c->pub.info.width, c->pub.info.uses_fibers ? ", fibers" : "",
             cpu_ms() - start, times.llvm);
    *out = &c->pub;
    return CW_OK;
}

void
cwj_host_release(struct cwj_host_code *code)
{
    if (!code)
        return;
    struct host_code *c = (struct host_code *)code;
    cwj_host_unload(c->loaded);
    free(c);
}
