/* SPDX-License-Identifier: Apache-2.0
 * Loads object code into the process through ORC. Each object has an LLJIT instance of its own, which owns its memory, and a bare library
 * without a search order: compiled code can call the runtime's functions and those of support.c, nothing else in the process. */
#include "impl/base/log.h"
#include "jit/llvm/llvm.h"
#include "jit/loader/loader.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define X(ret, name, params) #name,
static const char *const runtime_names[] = { CWH_RT_MAP(X) };
#undef X
enum { RUNTIME_COUNT = sizeof runtime_names / sizeof *runtime_names };

/* What LLVM says of a session apart from a call's result: the cause of a failed look-up, and what cannot be given back at the end. */
struct cwj_loaded {
    LLVMOrcLLJITRef jit;
    struct cwj_diags *diags;            /* of the call that loads; NULL behind it */
    bool no_memory;
};

struct lookup {
    cw_result result;
    uint64_t address;
    struct cwj_diags *diags;
};

static void
on_lookup(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t count, void *user)
{
    struct lookup *l = user;
    l->result = cwj_llvm_check(error, "loading", l->diags);
    if (!l->result && count == 1)
        l->address = pairs[0].Sym.Address;
}

static void
on_session_error(void *user, LLVMErrorRef error)
{
    struct cwj_loaded *l = user;
    if (l->diags) {
        l->no_memory |= cwj_llvm_check(error, "loading", l->diags) == CW_ERR_NOMEM;
        return;
    }
    char *text = LLVMGetErrorMessage(error);
    cw_warn("code of a kernel stays in memory: %s", text);
    LLVMDisposeErrorMessage(text);
}

static cw_result
define_symbols(LLVMOrcExecutionSessionRef es, LLVMOrcJITDylibRef lib, const struct cwj_host_runtime *rt, struct cwj_diags *diags)
{
    size_t total = RUNTIME_COUNT + cwj_support_count;
    LLVMOrcCSymbolMapPair *pairs = calloc(total, sizeof *pairs);
    if (!pairs)
        return CW_ERR_NOMEM;
    for (size_t i = 0; i < total; i++) {
        bool runtime = i < RUNTIME_COUNT;
        pairs[i].Name = LLVMOrcExecutionSessionIntern(es, runtime ? runtime_names[i] : cwj_support_functions[i - RUNTIME_COUNT].name);
        pairs[i].Sym.Address = runtime ? (uintptr_t)rt->address[i] : rt->place ? rt->place->support[i - RUNTIME_COUNT]
            : (uintptr_t)cwj_support_functions[i - RUNTIME_COUNT].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    cw_result r = cwj_llvm_check(LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(pairs, total)), "defining the runtime", diags);
    free(pairs);
    return r;
}

/* Systems can forbid that what a process wrote is executed; LLVM would say "Permission denied", of what it does not say. */
static cw_result
code_allowed(struct cwj_diags *diags)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return CW_ERR_NOMEM;
    const int error = mprotect(p, size, PROT_READ | PROT_EXEC) ? errno : 0;
    (void)munmap(p, size);
    if (!error)
        return CW_OK;
    if (error == ENOMEM)
        return CW_ERR_NOMEM;
    cwj_diag_add(diags, PTX_ERROR, 5918, 0, 0, "the system does not let this process execute what it compiled (%s), as systemd's MemoryDenyWriteExecute has it: "
                 "set CUDAWAY_ISOLATE=1", strerror(error));
    return CW_ERR_IO;
}

/* ---- memory that another process has, too: an object's blocks, as RuntimeDyld asks for them ---- */

struct blocks {
    const struct cwj_host_place *place;
    void *block[16];            /* sections of an object */
    unsigned count;
};

static void *
blocks_create(void *place)
{
    struct blocks *b = calloc(1, sizeof *b);
    if (b)
        b->place = place;
    return b;
}

static uint8_t *
block_take(void *user, uintptr_t size, unsigned align, unsigned section, const char *name)
{
    struct blocks *b = user;
    if (!b || b->count == sizeof b->block / sizeof *b->block)
        return NULL;
    void *p = b->place->allocate(size ? size : 1, align ? align : 1);
    if (p)
        b->block[b->count++] = p;
    return p;
}

static uint8_t *
block_take_data(void *user, uintptr_t size, unsigned align, unsigned section, const char *name, LLVMBool read_only)
{
    return block_take(user, size, align, section, name);
}

static LLVMBool
blocks_ready(void *user, char **why)
{
    (void)user, (void)why;
    return 0;
}

static void
blocks_destroy(void *user)
{
    struct blocks *b = user;
    for (unsigned i = 0; b && i < b->count; i++)
        b->place->release(b->block[i]);
    free(b);
}

static void
blocks_end(void *place)
{
    (void)place;
}

static LLVMOrcObjectLayerRef
shared_layer(void *place, LLVMOrcExecutionSessionRef es, const char *triple)
{
    (void)triple;
    return LLVMOrcCreateRTDyldObjectLinkingLayerWithMCJITMemoryManagerLikeCallbacks(es, place, blocks_create, blocks_end, block_take, block_take_data,
                                                                                    blocks_ready, blocks_destroy);
}

cw_result
cwj_host_load(const void *object, size_t size, const struct cwj_host_runtime *rt, struct cwj_loaded **out, cwh_kernel_fn **run,
              struct cwj_diags *diags)
{
    *out = NULL;
    if (!rt || rt->count != RUNTIME_COUNT) {
        cwj_diag_add(diags, PTX_ERROR, 5903, 0, 0, "the engine has %u runtime functions, compiled code expects %u",
                     rt ? rt->count : 0, (unsigned)RUNTIME_COUNT);
        return CW_ERR_VERSION;
    }
    if (rt->place && rt->place->nsupport != cwj_support_count) {
        cwj_diag_add(diags, PTX_ERROR, 5903, 0, 0, "the process that runs kernels has %u support functions, compiled code expects %u", rt->place->nsupport,
                     cwj_support_count);
        return CW_ERR_VERSION;
    }
    cw_result r = rt->place ? CW_OK : code_allowed(diags);
    if (r)
        return r;
    cwj_llvm_init();
    struct cwj_loaded *l = calloc(1, sizeof *l);
    if (!l)
        return CW_ERR_NOMEM;
    l->diags = diags;
    LLVMOrcExecutionSessionRef es;
    LLVMOrcJITDylibRef lib;
    LLVMMemoryBufferRef copy;
    LLVMTargetMachineRef tm;
    r = cwj_llvm_machine(CWJ_TARGET_HOST, "x86-64", NULL, 0, &tm, diags);
    if (r)
        goto fail;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    cwj_orc_leave_process_alone(builder);
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(tm));
    if (rt->place)
        LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, shared_layer, (void *)(uintptr_t)rt->place);
    r = cwj_llvm_check(LLVMOrcCreateLLJIT(&l->jit, builder), "starting the loader", diags);
    if (r)
        goto fail;
    es = LLVMOrcLLJITGetExecutionSession(l->jit);
    LLVMOrcExecutionSessionSetErrorReporter(es, on_session_error, l);
    lib = LLVMOrcExecutionSessionCreateBareJITDylib(es, "kernel");
    r = define_symbols(es, lib, rt, diags);
    if (r)
        goto fail;
    copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, "kernel");
    r = cwj_llvm_check(LLVMOrcLLJITAddObjectFile(l->jit, lib, copy), "loading", diags);
    if (r)
        goto fail;

    struct lookup found = { .result = CW_ERR_LLVM, .diags = diags };
    LLVMOrcCJITDylibSearchOrderElement order = { lib, LLVMOrcJITDylibLookupFlagsMatchAllSymbols };
    LLVMOrcCLookupSetElement name = { LLVMOrcExecutionSessionIntern(es, "cwh_kernel"), LLVMOrcSymbolLookupFlagsRequiredSymbol };
    LLVMOrcExecutionSessionLookup(es, LLVMOrcLookupKindStatic, &order, 1, &name, 1, on_lookup, &found);
    r = found.result;
    if (!r && !found.address)
        r = CW_ERR_LLVM;
    if (r)
        goto fail;
    *run = (cwh_kernel_fn *)(uintptr_t)found.address;
    l->diags = NULL;
    *out = l;
    return CW_OK;
fail:
    if (!diags->errors)
        cwj_diag_add(diags, PTX_ERROR, 5901, 0, 0, "LLVM could not load the kernel");
    if (l->no_memory)
        r = CW_ERR_NOMEM;
    cwj_host_unload(l);
    return r;
}

void
cwj_host_unload(struct cwj_loaded *l)
{
    if (!l)
        return;
    if (l->jit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(l->jit));
    free(l);
}
