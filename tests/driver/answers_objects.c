/* SPDX-License-Identifier: Apache-2.0
 * Sections of `answers`: devices, contexts, modules, functions, arrays, textures. */
#include "tests/driver/answers.h"

static void
device(void)
{
    CUdevice d = 0;
    int n = 0, minor = 0;
    char name[64];
    size_t size;
    CUuuid uuid;
    A(cuDeviceGet(PP(CUdevice *, out, U(&d), 0), (int)P(ordinal, 0, -1, 99)));
    CUdevice dev = (CUdevice)P(device, 0, -1, -2, 99);
    A(cuDeviceGetName(PP(char *, name, U(name), 0), (int)P(length, 64, 0, 1, 2, -1), dev));
    A(cuDeviceTotalMem_v2(PP(size_t *, size, U(&size), 0), dev));
    A(cuDeviceGetUuid_v2(PP(CUuuid *, uuid, U(&uuid), 0), dev));
    A(cuDeviceGetPCIBusId(PP(char *, bus, U(name), 0), (int)P(blength, 64, 0, 1, 8, 12, 13, -1), dev));
    A(cuDeviceComputeCapability(PP(int *, major, U(&n), 0), PP(int *, minor, U(&minor), 0), dev));
    A(cuDeviceGetByPCIBusId(&d, PP(const char *, text, U("ffff:ff:ff.0"), U(""), U("nonsense"), U("ff:ff.0"), U("ffff:ff:ff.9"), 0)));
    A(cuDeviceCanAccessPeer(PP(int *, can, U(&n), 0), dev, (CUdevice)P(peer, 0, -1, 99)));
    A(cuDeviceGetP2PAttribute(&n, (CUdevice_P2PAttribute)RANGE(p2p, 1, 0, 7), dev, (CUdevice)P(peer2, 0, -1, 99)));
    A(cuDeviceGetExecAffinitySupport(&n, (CUexecAffinityType)P(affinity, 0, 1, 2, 99), dev));
    A(cuDeviceGetTexture1DLinearMaxWidth(&size, (CUarray_format)P(format, 0x20, 0, 1, 8, 0x10, 0x99), (unsigned)P(channels, 1, 0, 2, 3, 4, 5), dev));
    A(cuDevicePrimaryCtxSetFlags_v2(dev, (unsigned)P(flags, 0, 1, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512)));
    uint64_t v = 0;
    A(cuDeviceGetGraphMemAttribute(dev, (CUgraphMem_attribute)P(gattr, 0, 1, 2, 3, 4, 99), &v));
    A(cuDeviceSetGraphMemAttribute(dev, (CUgraphMem_attribute)P(sattr, 1, 0, 2, 3, 4, 99), &v));
    A(cuDeviceGraphMemTrim(dev));
    A(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)P(target, 0, 1, 99), (CUflushGPUDirectRDMAWritesScope)P(scope, 100, 0, 200, 99)));
}

static void
device_attribute(void)
{
    int v = -1;
    A(cuDeviceGetAttribute(PP(int *, out, U(&v), 0), (CUdevice_attribute)RANGE(attribute, 1, 0, 160), (CUdevice)P(device, 0, -1, 99)));
}

static void
context(void)
{
    CUcontext c = NULL;
    CUdevice d;
    unsigned f = 0;
    if (!A(cuCtxCreate_v2(PP(CUcontext *, out, U(&c), 0), (unsigned)P(flags, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64, 128, 256, 512),
        (CUdevice)P(device, 0, -1, 99)))) {
        A(cuCtxGetFlags(&f));
        V(f);
        A(cuCtxSetFlags((unsigned)P(set, 0, 1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512)));
        A(cuCtxGetFlags(&f));
        V(f);
        if (P(destroy, 0, 1))
            A(cuCtxDestroy_v2(c));
        else
            A(cuCtxPopCurrent_v2(&c));
    }
    A(cuCtxGetDevice(PP(CUdevice *, dout, U(&d), 0)));
    A(cuCtxGetFlags(PP(unsigned *, fout, U(&f), 0)));
    A(cuCtxGetApiVersion(PP(CUcontext, api, U(o.ctx), 0), PP(unsigned *, aout, U(&f), 0)));
    A(cuCtxGetStreamPriorityRange(PP(int *, least, U(&f), 0), PP(int *, greatest, U(&f), 0)));
    A(cuCtxSetCacheConfig((CUfunc_cache)P(cache, 0, 1, 2, 3, 4, 99)));
    A(cuCtxSetSharedMemConfig((CUsharedconfig)P(banks, 0, 1, 2, 3, 99)));
    CUexecAffinityParam a;
    A(cuCtxGetExecAffinity(&a, (CUexecAffinityType)P(affinity, 0, 1, 99)));
    unsigned long long id;
    A(cuCtxGetId(PP(CUcontext, idctx, U(o.ctx), 0, U(other)), PP(unsigned long long *, id, U(&id), 0)));
    A(cuCtxEnablePeerAccess(PP(CUcontext, peer, U(other), 0, U(o.ctx)), (unsigned)P(pflags, 0, 1)));
    A(cuCtxDisablePeerAccess(PP(CUcontext, dpeer, U(other), 0, U(o.ctx))));
    CUcontext popped = NULL;
    if (!A(cuCtxPushCurrent_v2(PP(CUcontext, push, U(other), 0, U(o.ctx)))))
        A(cuCtxPopCurrent_v2(PP(CUcontext *, pop, U(&popped), 0)));
    (void)cuCtxSetCurrent(o.ctx);
}

static void
limits(void)
{
    CUlimit l = (CUlimit)RANGE(limit, 1, 0, 10);
    size_t v = 0;
    A(cuCtxSetLimit(l, P(value, 1 << 20, 0, 1, 2, 24, 25, 1000, 1024, 64 << 20, 1ull << 40, ~0ull)));
    A(cuCtxGetLimit(PP(size_t *, out, U(&v), 0), l));
    if (l == CU_LIMIT_STACK_SIZE || l == CU_LIMIT_PRINTF_FIFO_SIZE || l == CU_LIMIT_MALLOC_HEAP_SIZE || l == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
        V(v);
    (void)cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024);
    (void)cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20);
}

/* ---- modules ---- */

#define PTX(version, target, body) ".version " version "\n.target " target "\n.address_size 64\n" body
#define BODY(x) PTX("7.1", "sm_60", \
    ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p<2>;\n    " x "\n    ret;\n}\n")

static void
module_load(void)
{
    static const char elf[4096] = "\177ELF\2\1\1\63", fat[4096] = "\x50\xed\x55\xba\1\0\x10\0", zero[4096], blank[4096] = "   \n\n", nul[64] = "";
    CUmodule m = NULL;
    const char *image = PP(const char *, image, U(text), 0, U(zero), U(elf), U(fat), U(blank), U("nonsense"), U(nul),
        U(PTX("99.9", "sm_60", "")), U(PTX("7.1", "sm_999", "")), U(PTX("7.1", "sm_10", "")), U(PTX("7.1", "sm_60", "")), U(PTX("1.0", "sm_60", "")),
        U(PTX("7.1", "", "")), U(".version 7.1\n"), U(".version 7.1\n.target sm_60\n"), U(".target sm_60\n.version 7.1\n"), U(PTX("7.1",
            "sm_60, debug", "")),
        U(PTX("7.1", "sm_60", ".visible .entry k()\n{\n")), U(PTX("7.1", "sm_60", "}")), U(PTX("7.1", "sm_60", ".visible .entry k()\n{\n ret\n}\n")),
        U(PTX("7.1", "sm_60", ".extern .func f();\n.visible .entry k()\n{\n call f, ();\n ret;\n}\n")),
        U(PTX("7.1", "sm_60",
            ".extern .global .u32 g;\n.visible .entry k()\n{\n .reg .b32 %r; ld.global.u32 %r, [g]; st.global.u32 [g], %r; ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k()\n{\n ret;\n}\n.visible .entry k()\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .global .u32 k;\n.visible .entry k()\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k()\n{\n .shared .b8 s[50000]; .reg .b32 %r; ld.volatile.shared.u32 %r, [s]; ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k()\n{\n .shared .b8 s[500000]; .reg .b32 %r; ld.volatile.shared.u32 %r, [s]; ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".const .b8 c[65537];\n.visible .entry k()\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".const .b8 c[65536];\n.visible .entry k()\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k(.param .b8 p[4353])\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k(.param .b8 p[4352])\n{\n ret;\n}\n")),
        U(PTX("7.1", "sm_60", ".visible .entry k()\n.maxntid 1025, 1, 1\n{\n ret;\n}\n")), U(PTX("7.1", "sm_60",
            ".visible .entry k()\n.maxntid 0, 1, 1\n{\n ret;\n}\n")),
        U(BODY("nonsense;")), U(BODY("add.s32 %r1, %r2;")), U(BODY("add.s32 %r1, %r2, %r9;")), U(BODY("add.s32 %r1, %r2, %f1;")),
            U(BODY("add.s32 %r1, %r2, %d1;")),
        U(BODY("add.f32 %f1, %f2, 1;")), U(BODY("ld.param.u64 %d1, [q];")), U(BODY("bra L;")), U(BODY("L: L: bra L;")), U(BODY("@%r1 ret;")),
        U(BODY("mov.u32 %r1, %nosuch;")), U(BODY("ld.global.v3.u32 {%r1, %r2, %r3}, [%d1];")), U(BODY("ld.global.u32 %r1, [%r2];")),
            U(BODY("st.const.u32 [%d1], %r1;")),
        U(BODY("redux.sync.add.u32 %r1, %r2, -1;")), U(BODY("cp.async.ca.shared.global [%r1], [%d1], 4;")),
            U(BODY("cp.async.ca.shared.global [%r1], [%d1], 5;")),
        U(BODY(".reg .b32 %r1;")), U(BODY("call f, ();")), U(BODY("mov.u64 %d1, k;")), U(BODY("bar.sync 16;")), U(BODY("bar.sync 0, 33;")),
            U(BODY("shf.l.wrap.b32 %r1, %r2, %r3;")),
        U(BODY("mov.b64 %d1, {%r1, %r2, %r3};")), U(BODY("setp.eq.s32 %r1, %r2, %r3;")), U(BODY("exit")), U(BODY("\1\2\3")),
            U(BODY("/* not closed")));
    if (!A(cuModuleLoadData(PP(CUmodule *, out, U(&m), 0), image))) {
        CUfunction f;
        A(cuModuleGetFunction(&f, m, PP(const char *, function, U("k"), U(""), U("nothing"), U("v"), 0)));
        A(cuModuleUnload(m));
    }
}

static void
module_options(void)
{
    CUmodule m = NULL;
    char log[256] = "";
    CUjit_option ids[2] = { (CUjit_option)RANGE(option, 7, 0, 40), CU_JIT_ERROR_LOG_BUFFER };
    void *values[2] = { PP(void *, value, 0, 1, 4, 5, 64, -1), log };
    if ((ids[0] == CU_JIT_INFO_LOG_BUFFER || ids[0] == CU_JIT_ERROR_LOG_BUFFER || (ids[0] >= CU_JIT_GLOBAL_SYMBOL_NAMES && ids[0] <= CU_JIT_GLOBAL_SYMBOL_COUNT) ||
         ids[0] >= 27) && values[0])
        values[0] = NULL;
    if (!A(cuModuleLoadDataEx(&m, text, (unsigned)P(n, 1, 0), PP(CUjit_option *, ids, U(ids), 0), PP(void **, values, U(values), 0))))
        A(cuModuleUnload(m));
}

static void
module_get(void)
{
    CUfunction f;
    CUdeviceptr p;
    size_t n = 0;
    CUtexref t;
    CUsurfref u;
    unsigned count = 0;
    CUmodule m = PP(CUmodule, module, U(o.module), 0);
    const char *name = PP(const char *, name, U("k"), U("v"), U("t"), U("u"), U("c"), U(""), U("two"), U("nothing"), 0);
    A(cuModuleGetFunction(PP(CUfunction *, out, U(&f), 0), m, name));
    A(cuModuleGetGlobal_v2(PP(CUdeviceptr *, outp, U(&p), 0), PP(size_t *, outn, U(&n), 0), m, name));
    V(n);
    A(cuModuleGetTexRef(PP(CUtexref *, outt, U(&t), 0), m, name));
    A(cuModuleGetSurfRef(PP(CUsurfref *, outu, U(&u), 0), m, name));
    A(cuModuleGetFunctionCount(PP(unsigned *, outc, U(&count), 0), m));
    V(count);
    CUfunction list[8];
    A(cuModuleEnumerateFunctions(PP(CUfunction *, list, U(list), 0), (unsigned)P(n, 4, 0, 1, 5, 8), m));
    CUmoduleLoadingMode mode;
    A(cuModuleGetLoadingMode(PP(CUmoduleLoadingMode *, mode, U(&mode), 0)));
}

static void
library(void)
{
    CUlibrary l = NULL;
    CUkernel k;
    CUlibraryOption ids[1] = { (CUlibraryOption)P(option, 1, 0, 2, 3, 99) };
    void *values[1] = { PP(void *, value, 0, 1) };
    if (!A(cuLibraryLoadData(PP(CUlibrary *, out, U(&l), 0), PP(const char *, image, U(text), 0, U("nonsense"), U(PTX("7.1", "sm_60", ""))), NULL,
        NULL, 0,
                             PP(CUlibraryOption *, ids, U(ids), 0), PP(void **, values, U(values), 0), (unsigned)P(n, 0, 1)))) {
        const char *name = PP(const char *, name, U("k"), U("v"), U(""), U("nothing"), 0);
        CUdeviceptr p;
        size_t size = 0;
        unsigned count = 0;
        CUmodule m;
        A(cuLibraryGetKernel(PP(CUkernel *, outk, U(&k), 0), l, name));
        A(cuLibraryGetGlobal(PP(CUdeviceptr *, outp, U(&p), 0), PP(size_t *, outn, U(&size), 0), l, name));
        A(cuLibraryGetManaged(&p, &size, l, name));
        void *unified;
        A(cuLibraryGetUnifiedFunction(&unified, l, name));
        A(cuLibraryGetModule(PP(CUmodule *, outm, U(&m), 0), l));
        A(cuLibraryGetKernelCount(PP(unsigned *, outc, U(&count), 0), l));
        V(count);
        CUkernel list[8];
        A(cuLibraryEnumerateKernels(PP(CUkernel *, list, U(list), 0), (unsigned)P(most, 4, 0, 1, 8), l));
        A(cuLibraryUnload(l));
    }
}

static void
kernel(void)
{
    int v = 0;
    CUkernel k = PP(CUkernel, kernel, U(o.kernel), 0);
    CUdevice d = (CUdevice)P(device, 0, -1, 99);
    CUfunction_attribute a = (CUfunction_attribute)RANGE(attribute, 8, 0, 18);
    A(cuKernelGetAttribute(PP(int *, out, U(&v), 0), a, k, d));
    A(cuKernelSetAttribute(a, (int)P(value, 0, 1, -1, 1024, 1 << 20, 101), k, d));
    A(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, o.kernel, 0));
    A(cuKernelSetCacheConfig(k, (CUfunc_cache)P(cache, 0, 1, 2, 3, 4, 99), d));
    CUfunction f;
    A(cuKernelGetFunction(PP(CUfunction *, outf, U(&f), 0), k));
    const char *name;
    A(cuKernelGetName(PP(const char **, name, U(&name), 0), k));
    size_t at, size;
    A(cuKernelGetParamInfo(k, P(index, 0, 1), &at, &size));
    CUlibrary l;
    A(cuKernelGetLibrary(PP(CUlibrary *, outl, U(&l), 0), k));
}

static void
function(void)
{
    int v = 0;
    CUfunction f = PP(CUfunction, function, U(o.func), U(o.shared), U(o.limited), 0, U(o.kernel));
    CUfunction_attribute a = (CUfunction_attribute)RANGE(attribute, 8, 0, 18);
    A(cuFuncGetAttribute(PP(int *, out, U(&v), 0), a, f));
    if (a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK || a == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES || a >= CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)
        V(v);
    A(cuFuncSetAttribute(f, a, (int)P(value, 0, 1, -1, -2, 50, 100, 101, 1024, 49152, 1 << 20)));
    (void)cuFuncSetAttribute(o.func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
    A(cuFuncSetCacheConfig(f, (CUfunc_cache)P(cache, 0, 1, 2, 3, 4, 99)));
    A(cuFuncSetSharedMemConfig(f, (CUsharedconfig)P(banks, 0, 1, 2, 3, 99)));
    CUmodule m;
    const char *name;
    A(cuFuncGetModule(PP(CUmodule *, outm, U(&m), 0), f));
    A(cuFuncGetName(PP(const char **, name, U(&name), 0), f));
    size_t at = 99, size = 99;
    A(cuFuncGetParamInfo(PP(CUfunction, pf, U(o.two), U(o.func), 0), P(index, 0, 1, 2, -1), PP(size_t *, at, U(&at), 0), PP(size_t *, size, U(&size),
        0)));
    V(at);
    V(size);
    CUfunctionLoadingState state;
    A(cuFuncIsLoaded(PP(CUfunctionLoadingState *, state, U(&state), 0), f));
    A(cuFuncLoad(f));
}

static size_t CUDA_CB
no_shared(int block)
{
    return 0;
}

static void
occupancy(void)
{
    int blocks = -1, grid = -1, block = -1;
    size_t bytes = 0;
    CUfunction f = PP(CUfunction, function, U(o.func), U(o.shared), U(o.limited), 0, U(o.kernel));
    int size = (int)P(block, 64, 0, -1, 1, 65, 1024, 1025);
    size_t shared = P(shared, 0, 1, 48 << 10, (48 << 10) + 1, 1 << 20);
    A(cuOccupancyMaxActiveBlocksPerMultiprocessor(PP(int *, out, U(&blocks), 0), f, size, shared));
    V(blocks > 0);
    A(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, size, shared, (unsigned)P(flags, 0, 1, 2)));
    A(cuOccupancyMaxPotentialBlockSize(PP(int *, grid, U(&grid), 0), PP(int *, outb, U(&block), 0), f, PP(CUoccupancyB2DSize, sizes, 0,
        U(no_shared)), shared,
                                       (int)P(limit, 0, 64, 2000, -1)));
    V(block);
    A(cuOccupancyAvailableDynamicSMemPerBlock(PP(size_t *, bytes, U(&bytes), 0), f, (int)P(blocks, 1, 0, -1, 8, 32, 33), size));
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    a.value.clusterDim.x = (unsigned)P(cx, 2, 0, 1, 3, 8, 9, 16);
    a.value.clusterDim.y = (unsigned)P(cy, 1, 0, 2);
    a.value.clusterDim.z = 1;
    CUlaunchConfig c = { .gridDimX = (unsigned)P(gx, 16, 0, 15), .gridDimY = 1, .gridDimZ = 1, .blockDimX = (unsigned)size, .blockDimY = 1,
        .blockDimZ = 1,
                         .sharedMemBytes = (unsigned)shared, .attrs = &a, .numAttrs = (unsigned)P(nattrs, 1, 0) };
    int n = -1;
    A(cuOccupancyMaxActiveClusters(PP(int *, outc, U(&n), 0), f, PP(CUlaunchConfig *, config, U(&c), 0)));
    A(cuOccupancyMaxPotentialClusterSize(PP(int *, outp, U(&n), 0), f, &c));
}

static void
linker(void)
{
    CUlinkState l = NULL;
    void *cubin = NULL;
    size_t n = 0;
    static const char nonsense[64] = "nonsense";
    CUjit_option ids[1] = { (CUjit_option)RANGE(option, 7, 0, 34) };
    void *values[1] = { PP(void *, value, 2, 0, 1, 4, 5, 99) };
    if ((ids[0] == CU_JIT_INFO_LOG_BUFFER || ids[0] == CU_JIT_ERROR_LOG_BUFFER || (ids[0] >= CU_JIT_GLOBAL_SYMBOL_NAMES && ids[0] <= CU_JIT_GLOBAL_SYMBOL_COUNT) ||
         ids[0] >= 27) && values[0])
        values[0] = NULL;
    if (A(cuLinkCreate_v2((unsigned)P(n, 0, 1), PP(CUjit_option *, ids, U(ids), 0), PP(void **, values, U(values), 0), PP(CUlinkState *, out, U(&l),
        0))))
        return;
    const char *data = PP(const char *, data, U(text), 0, U(nonsense), U(PTX("7.1", "sm_60", "")), U(BODY("nonsense;")),
                          U(PTX("7.1", "sm_60", ".extern .func f();\n.visible .entry k()\n{\n call f, ();\n ret;\n}\n")));
    size_t size = data ? strlen(data) + 1 : 10;
    A(cuLinkAddData_v2(l, (CUjitInputType)P(type, 1, 0, 2, 3, 4, 5, 6, 99), (void *)(uintptr_t)data, size - P(shorter, 0, 1, 2), PP(const char *,
        name, U("n"), 0, U("")), 0, NULL, NULL));
    if (P(twice, 0, 1))
        A(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "again", 0, NULL, NULL));
    if (P(complete, 1, 0)) {
        A(cuLinkComplete(l, PP(void **, cubin, U(&cubin), 0), PP(size_t *, size, U(&n), 0)));
        CUmodule m;
        if (cubin && !A(cuModuleLoadData(&m, cubin)))
            A(cuModuleUnload(m));
        if (P(again, 0, 1))
            A(cuLinkComplete(l, &cubin, &n));
        if (P(late, 0, 1))
            A(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "late", 0, NULL, NULL));
    }
    A(cuLinkDestroy(l));
}

static void
proc_address(void)
{
    void *p = NULL;
    CUdriverProcAddressQueryResult r = (CUdriverProcAddressQueryResult)9;
    const char *name = PP(const char *, name, U("cuMemAlloc"), U("cuMemAlloc_v2"), U("cuLibraryGetKernel"), U("cuCtxCreate"), U("cuNothing"), U(""),
        0, U("cuStreamBeginCapture"));
    A(cuGetProcAddress_v2(name, PP(void **, out, U(&p), 0), (int)P(version, 12000, 0, -1, 1, 2000, 3010, 3020, 11000, 13000, 13010, 14000, 99999),
        P(flags, 0, 1, 2, 3, 4),
                          PP(CUdriverProcAddressQueryResult *, result, U(&r), 0)));
    V(r);
    V(p != NULL);
}

/* ---- arrays and textures ---- */

#define FORMAT(name, usual) P(name, usual, 0, 1, 2, 3, 8, 9, 10, 0x10, 0x20, 0x50, 0x99, 0xb0, 0xb1, 0x91, 0xc0, 0xc3, 0xc6, 0x9f)

static void
array_create(void)
{
    CUarray a = NULL;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = P(width, 32, 0, 1, 131072, 131073, ~0ull), .Height = P(height, 16, 0, 1, 65536, 65537, ~0ull),
                                .Format = (CUarray_format)FORMAT(format, 0x20), .NumChannels = (unsigned)P(channels, 1, 0, 2, 3, 4, 5, 8, -1) };
    CUDA_ARRAY_DESCRIPTOR got;
    memset(&got, 0, sizeof got);
    if (!A(cuArrayCreate_v2(PP(CUarray *, out, U(&a), 0), PP(CUDA_ARRAY_DESCRIPTOR *, desc, U(&d), 0)))) {
        A(cuArrayGetDescriptor_v2(PP(CUDA_ARRAY_DESCRIPTOR *, get, U(&got), 0), a));
        V(got.Width);
        V(got.Height);
        V(got.Format);
        V(got.NumChannels);
        CUarray plane;
        A(cuArrayGetPlane(PP(CUarray *, plane, U(&plane), 0), a, (unsigned)P(plane_index, 0, 1)));
        CUDA_ARRAY_SPARSE_PROPERTIES s;
        A(cuArrayGetSparseProperties(&s, a));
        A(cuArrayDestroy(a));
    }
}

static CUDA_ARRAY3D_DESCRIPTOR
descriptor3d(void)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){ .Width = P(width, 32, 0, 1, 16, 16385, 131073), .Height = P(height, 32, 0, 1, 16, 16385, 65537),
        .Depth = P(depth, 0, 1, 4, 6, 7, 12, 2049, 16385),
        .Format = (CUarray_format)FORMAT(format, 0x20), .NumChannels = (unsigned)P(channels, 1, 0, 2, 3, 4, 5),
        .Flags = (unsigned)P(flags, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x22, 0x42) };
}

static void
array3d_create(void)
{
    CUarray a = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d = descriptor3d(), got;
    memset(&got, 0, sizeof got);
    if (!A(cuArray3DCreate_v2(PP(CUarray *, out, U(&a), 0), PP(CUDA_ARRAY3D_DESCRIPTOR *, desc, U(&d), 0)))) {
        A(cuArray3DGetDescriptor_v2(PP(CUDA_ARRAY3D_DESCRIPTOR *, get, U(&got), 0), a));
        V(got.Width);
        V(got.Height);
        V(got.Depth);
        V(got.Format);
        V(got.NumChannels);
        V(got.Flags);
        CUDA_ARRAY_DESCRIPTOR two;
        A(cuArrayGetDescriptor_v2(&two, a));
        A(cuArrayDestroy(a));
    }
}

static void
mipmap_create(void)
{
    CUmipmappedArray a = NULL;
    CUarray l = NULL;
    CUDA_ARRAY3D_DESCRIPTOR d = descriptor3d(), got;
    memset(&got, 0, sizeof got);
    if (!A(cuMipmappedArrayCreate(PP(CUmipmappedArray *, out, U(&a), 0), PP(CUDA_ARRAY3D_DESCRIPTOR *, desc, U(&d), 0), (unsigned)P(levels, 3, 0, 1,
        6, 7, 99)))) {
        if (!A(cuMipmappedArrayGetLevel(PP(CUarray *, outl, U(&l), 0), a, (unsigned)P(level, 1, 0, 2, 3, 5, 6, -1)))) {
            A(cuArray3DGetDescriptor_v2(&got, l));
            V(got.Width);
            V(got.Height);
            V(got.Depth);
            V(got.Flags);
            A(cuArrayDestroy(l));
        }
        A(cuMipmappedArrayDestroy(a));
    }
}

static CUDA_RESOURCE_DESC
resource(unsigned kind)
{
    CUDA_RESOURCE_DESC r;
    memset(&r, 0, sizeof r);
    r.flags = (unsigned)P(rflags, 0, 1);
    if (kind == CU_RESOURCE_TYPE_ARRAY) {
        r.res.array.hArray = PP(CUarray, array, U(o.array), 0, U(o.array1d), U(o.array3d), U(o.layered), U(o.surface));
    } else if (kind == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        r.res.mipmap.hMipmappedArray = PP(CUmipmappedArray, mipmap, U(o.mipmap), 0);
    } else if (kind == CU_RESOURCE_TYPE_LINEAR) {
        r.res.linear.devPtr = P(p, U(o.dev), 0, U(o.dev + 4), U(o.dev + 16), U(o.dev + 512), U(o.freed), U(o.pinned), U(o.managed), U(o.dev + SIZE));
        r.res.linear.format = (CUarray_format)FORMAT(format, 0x20);
        r.res.linear.numChannels = (unsigned)P(channels, 1, 0, 2, 3, 4, 5);
        r.res.linear.sizeInBytes = P(bytes, 1024, 0, 1, 2, 3, SIZE, SIZE + 4, 1ull << 40);
    } else {
        r.res.pitch2D.devPtr = P(p, U(o.dev), 0, U(o.dev + 4), U(o.dev + 32), U(o.dev + 512), U(o.freed), U(o.pinned), U(o.managed));
        r.res.pitch2D.format = (CUarray_format)FORMAT(format, 0x20);
        r.res.pitch2D.numChannels = (unsigned)P(channels, 1, 0, 2, 3, 4, 5);
        r.res.pitch2D.width = P(width, 32, 0, 1, 33, 131072, 131073);
        r.res.pitch2D.height = P(height, 16, 0, 1, 65000, 65001, 1 << 20);
        r.res.pitch2D.pitchInBytes = P(pitch, 512, 0, 4, 32, 128, 127, 160, 1 << 21);
    }
    r.resType = (CUresourcetype)P(type, kind, 4, 99);
    return r;
}

static void
texture(unsigned kind)
{
    CUDA_RESOURCE_DESC r = resource(kind), back;
    CUDA_TEXTURE_DESC t;
    CUDA_RESOURCE_VIEW_DESC v;
    CUtexObject x = 0;
    memset(&t, 0, sizeof t);
    memset(&v, 0, sizeof v);
    t.addressMode[0] = (CUaddress_mode)P(address0, 0, 1, 2, 3, 4, 99);
    t.addressMode[1] = (CUaddress_mode)P(address1, 0, 1, 2, 3, 4, 99);
    t.addressMode[2] = (CUaddress_mode)P(address2, 0, 1, 3, 4, 99);
    t.filterMode = (CUfilter_mode)P(filter, 0, 1, 2, 99);
    t.flags = (unsigned)P(tflags, 0, 1, 2, 3, 8, 16, 18, 32, 64, 128, 0x30);
    t.maxAnisotropy = (unsigned)P(anisotropy, 0, 1, 16, 17, 99);
    t.mipmapFilterMode = (CUfilter_mode)P(mipfilter, 0, 1, 2, 99);
    t.minMipmapLevelClamp = (float)P(min_clamp, 0, 1, 99);
    t.maxMipmapLevelClamp = (float)P(max_clamp, 0, 1, 99);
    t.reserved[0] = (int)P(reserved, 0, 1);
    v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    v.width = 32;
    v.height = 16;
    if (!A(cuTexObjectCreate(PP(CUtexObject *, out, U(&x), 0), PP(CUDA_RESOURCE_DESC *, resource, U(&r), 0), PP(CUDA_TEXTURE_DESC *, texture, U(&t),
        0),
                             PP(CUDA_RESOURCE_VIEW_DESC *, view, 0, U(&v))))) {
        A(cuTexObjectGetResourceDesc(PP(CUDA_RESOURCE_DESC *, get, U(&back), 0), x));
        A(cuTexObjectGetTextureDesc(&t, x));
        V(t.flags);
        V(t.filterMode);
        V(t.maxAnisotropy);
        A(cuTexObjectGetResourceViewDesc(&v, x));
        A(cuTexObjectDestroy(x));
    }
    CUsurfObject s = 0;
    if (!A(cuSurfObjectCreate(PP(CUsurfObject *, outs, U(&s), 0), &r))) {
        A(cuSurfObjectGetResourceDesc(&back, s));
        A(cuSurfObjectDestroy(s));
    }
}

static void texture_array(void) { texture(CU_RESOURCE_TYPE_ARRAY); }
static void texture_mipmap(void) { texture(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY); }
static void texture_linear(void) { texture(CU_RESOURCE_TYPE_LINEAR); }
static void texture_pitch(void) { texture(CU_RESOURCE_TYPE_PITCH2D); }

static void
texture_view(void)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;
    CUDA_RESOURCE_VIEW_DESC v;
    CUtexObject x = 0;
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    memset(&v, 0, sizeof v);
    r.resType = (CUresourcetype)P(type, CU_RESOURCE_TYPE_ARRAY, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
    if (r.resType == CU_RESOURCE_TYPE_ARRAY)
        r.res.array.hArray = PP(CUarray, array, U(o.surface), U(o.array), U(o.array3d), U(o.layered));
    else
        r.res.mipmap.hMipmappedArray = o.mipmap;
    v.format = (CUresourceViewFormat)RANGE(format, 0x16, 0, 0x24);
    v.width = P(width, 32, 0, 16, 31, 33, 64, 128);
    v.height = P(height, 16, 0, 8, 15, 17, 64);
    v.depth = P(depth, 0, 1, 2, 4, 6);
    v.firstMipmapLevel = (unsigned)P(first_level, 0, 1, 2, 9);
    v.lastMipmapLevel = (unsigned)P(last_level, 0, 1, 2, 9);
    v.firstLayer = (unsigned)P(first_layer, 0, 1, 9);
    v.lastLayer = (unsigned)P(last_layer, 0, 1, 3, 9);
    v.reserved[0] = (unsigned)P(reserved, 0, 1);
    if (!A(cuTexObjectCreate(&x, &r, &t, &v))) {
        memset(&v, 0, sizeof v);
        A(cuTexObjectGetResourceViewDesc(&v, x));
        V(v.format);
        V(v.width);
        V(v.depth);
        A(cuTexObjectDestroy(x));
    }
}

static void
texref(void)
{
    CUtexref t = NULL;
    MUST(cuTexRefCreate(&t));
    CUtexref r = PP(CUtexref, texref, U(t), 0);
    size_t at = 0;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = P(width, 32, 0, 131073), .Height = P(height, 16, 0, 70000), .Format = CU_AD_FORMAT_FLOAT,
        .NumChannels = (unsigned)P(dchannels, 1, 0, 3) };
    A(cuTexRefSetFormat(r, (CUarray_format)FORMAT(format, 0x20), (int)P(channels, 1, 0, 2, 3, 4, 5)));
    A(cuTexRefSetAddressMode(r, (int)P(dim, 0, 1, 2, 3, -1), (CUaddress_mode)P(address, 0, 1, 2, 3, 4, 99)));
    A(cuTexRefSetFilterMode(r, (CUfilter_mode)P(filter, 0, 1, 2, 99)));
    A(cuTexRefSetMipmapFilterMode(r, (CUfilter_mode)P(mipfilter, 0, 1, 2, 99)));
    A(cuTexRefSetMaxAnisotropy(r, (unsigned)P(anisotropy, 0, 1, 16, 17)));
    A(cuTexRefSetFlags(r, (unsigned)P(flags, 0, 1, 2, 3, 8, 16, 32, 255)));
    A(cuTexRefSetAddress_v2(PP(size_t *, offset, U(&at), 0), r, P(p, U(o.dev), 0, U(o.dev + 4), U(o.dev + 512), U(o.freed)), P(bytes, 1024, 0,
        SIZE + 4)));
    V(at);
    A(cuTexRefSetAddress2D_v3(r, PP(CUDA_ARRAY_DESCRIPTOR *, desc, U(&d), 0), P(q, U(o.dev), 0, U(o.dev + 4), U(o.freed)), P(pitch, 512, 0, 128, 127,
        32)));
    A(cuTexRefSetArray(r, PP(CUarray, array, U(o.array), 0, U(o.array3d)), (unsigned)P(aflags, 1, 0, 2)));
    A(cuTexRefSetMipmappedArray(r, PP(CUmipmappedArray, mipmap, U(o.mipmap), 0), (unsigned)P(mflags, 1, 0, 2)));
    CUarray a;
    A(cuTexRefGetArray(PP(CUarray *, geta, U(&a), 0), r));
    CUdeviceptr p;
    A(cuTexRefGetAddress_v2(PP(CUdeviceptr *, getp, U(&p), 0), r));
    CUarray_format f;
    int n;
    A(cuTexRefGetFormat(PP(CUarray_format *, getf, U(&f), 0), PP(int *, getn, U(&n), 0), r));
    CUaddress_mode m;
    A(cuTexRefGetAddressMode(&m, r, (int)P(gdim, 0, 1, 2, 3, -1)));
    (void)cuTexRefDestroy(t);
}

const struct section object_sections[] = {
    { "device", device, 60 }, { "device_attribute", device_attribute, 40 }, { "context", context, 60 }, { "limits", limits, 120 }, { "module_load",
        module_load, 0 },
    { "module_options", module_options, 60 }, { "module_get", module_get, 80 }, { "library", library, 60 }, { "kernel", kernel, 150 }, { "function",
        function, 200 },
    { "occupancy", occupancy, 200 }, { "linker", linker, 100 }, { "proc_address", proc_address, 200 }, { "array_create", array_create, 200 },
    { "array3d_create", array3d_create, 800 }, { "mipmap_create", mipmap_create, 400 }, { "texture_array", texture_array, 300 },
    { "texture_mipmap", texture_mipmap, 200 }, { "texture_linear", texture_linear, 300 }, { "texture_pitch", texture_pitch, 300 },
    { "texture_view", texture_view, 400 }, { "texref", texref, 150 }, { NULL, NULL, 0 },
};
