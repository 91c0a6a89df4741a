/* SPDX-License-Identifier: Apache-2.0
 * registration LIBRARY MAJOR: what compilers' constructors do, done by hand: fat binaries of one and of several containers
 * (relocatable code), variables, managed variables, texture and surface references of CUDA 11, two binaries with a kernel at one
 * address, and what is left after a binary was unregistered. */
#include "impl/api/cuda_runtime.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define EXPECT(what)                                                                                                        \
    do {                                                                                                                    \
        if (!(what)) {                                                                                                      \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                              \
            failures++;                                                                                                     \
        }                                                                                                                   \
    } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)

#define FUNCTIONS(X)                                                                                                        \
    X(__cudaRegisterFatBinary, void **, (void *)) X(__cudaRegisterFatBinaryEnd, void, (void **))                             \
    X(__cudaUnregisterFatBinary, void, (void **)) X(__cudaInitModule, char, (void **))                                       \
    X(__cudaRegisterFunction, void, (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *)) \
    X(__cudaRegisterVar, void, (void **, char *, char *, const char *, int, size_t, int, int))                               \
    X(__cudaRegisterManagedVar, void, (void **, void **, char *, const char *, int, size_t, int, int))                       \
    X(cudaLaunchKernel, cudaError_t, (const void *, dim3, dim3, void **, size_t, cudaStream_t))                              \
    X(cudaGetDeviceCount, cudaError_t, (int *)) X(cudaSetDevice, cudaError_t, (int))                                         \
    X(cudaMalloc, cudaError_t, (void **, size_t)) X(cudaFree, cudaError_t, (void *))                                         \
    X(cudaMemcpy, cudaError_t, (void *, const void *, size_t, cudaMemcpyKind))                                               \
    X(cudaMemcpyToSymbol, cudaError_t, (const void *, const void *, size_t, size_t, cudaMemcpyKind))                         \
    X(cudaPointerGetAttributes, cudaError_t, (void *, const void *))                                                         \
    X(cudaDeviceSynchronize, cudaError_t, (void)) X(cudaDeviceReset, cudaError_t, (void)) X(cudaGetLastError, cudaError_t, (void))

static struct {
#define X(name, result, parameters) result (*name) parameters;
    FUNCTIONS(X)
#undef X
} rt;

static cudaError_t unknown_function = cudaErrorInvalidDeviceFunction;    /* what launching one gives: by version */
#define HEAD ".version 6.0\n.target sm_50\n.address_size 64\n"

/* out[0] = variable + managed; managed += 1 */
static const char variables_ptx[] = HEAD
    ".visible .global .align 4 .u32 variable = 30;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 4;\n"
    ".visible .entry sum(.param .u64 out)\n{\n .reg .b64 %rd<3>;\n .reg .b32 %r<4>;\n"
    " ld.param.u64 %rd1, [out];\n ld.global.u32 %r1, [variable];\n ld.global.u32 %r2, [shared_value];\n"
    " add.u32 %r3, %r1, %r2;\n st.global.u32 [%rd1], %r3;\n add.u32 %r2, %r2, 1;\n st.global.u32 [shared_value], %r2;\n ret;\n}\n";
#define CONSTANT_KERNEL(value)                                                                                              \
    HEAD ".visible .entry say(.param .u64 out)\n{\n .reg .b64 %rd<2>;\n .reg .b32 %r<2>;\n ld.param.u64 %rd1, [out];\n"      \
         " mov.u32 %r1, " value ";\n st.global.u32 [%rd1], %r1;\n ret;\n}\n"
static const char first_ptx[] = CONSTANT_KERNEL("111"), second_ptx[] = CONSTANT_KERNEL("222");
/* A kernel in one object, what it calls in another. */
static const char caller_ptx[] = HEAD
    ".extern .func (.param .b32 r) thrice(.param .b32 x);\n"
    ".visible .entry call(.param .u64 out)\n{\n .reg .b64 %rd<2>;\n .reg .b32 %r<3>;\n ld.param.u64 %rd1, [out];\n mov.u32 %r1, 14;\n"
    " {\n .param .b32 a;\n .param .b32 b;\n st.param.b32 [a], %r1;\n call.uni (b), thrice, (a);\n ld.param.b32 %r2, [b];\n }\n"
    " st.global.u32 [%rd1], %r2;\n ret;\n}\n";
static const char callee_ptx[] = HEAD
    ".visible .func (.param .b32 r) thrice(.param .b32 x)\n{\n .reg .b32 %r<3>;\n ld.param.b32 %r1, [x];\n mul.lo.u32 %r2, %r1, 3;\n"
    " st.param.b32 [r], %r2;\n ret;\n}\n";
/* Of a device library: its kernel's system call is defined nowhere, and nothing here needs it. */
static const char library_ptx[] = HEAD
    ".extern .func cnpSomething (.param .b32 x);\n"
    ".visible .entry helper(.param .u64 out)\n{\n .reg .b32 %r<2>;\n mov.u32 %r1, 1;\n"
    " {\n .param .b32 a;\n st.param.b32 [a], %r1;\n call.uni cnpSomething, (a);\n }\n ret;\n}\n";
static const char texture_ptx[] = HEAD
    ".global .texref tex;\n.global .surfref surf;\n"
    ".visible .entry read(.param .u64 out)\n{\n .reg .b64 %rd<2>;\n .reg .b32 %r<8>;\n .reg .f32 %f<8>;\n ld.param.u64 %rd1, [out];\n"
    " mov.u32 %r1, 2;\n tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%r1}];\n cvt.rzi.s32.f32 %r2, %f1;\n st.global.u32 [%rd1], %r2;\n"
    " mov.u32 %r3, %tid.x;\n add.u32 %r3, %r3, 4;\n mov.u32 %r4, 1;\n mov.u32 %r5, 77;\n sust.b.2d.b32.trap [surf, {%r3, %r4}], {%r5};\n ret;\n}\n";

struct wrapper {
    int   magic, version;
    void *data, *more;
};

static void *
container(const char *ptx)
{
    uint64_t size = (strlen(ptx) + 1 + 7) / 8 * 8;
    char *b = calloc(1, 80 + size);
    if (!b)
        exit(2);
    memcpy(b, &(struct { uint32_t magic; uint16_t version, header; uint64_t size; }){ 0xBA55ED50u, 1, 16, size + 64 }, 16);
    memcpy(b + 16, &(struct { uint16_t kind, version; uint32_t header; uint64_t size; }){ 1, 0x101, 64, size }, 16);
    memcpy(b + 40, &(struct { uint16_t minor, major; uint32_t sm; }){ 0, 6, 50 }, 8);
    strcpy(b + 80, ptx);
    return b;
}

static void *device_word;

static int
run(const void *stub)
{
    void *args[] = { &device_word };
    int v = -1;
    cudaError_t e = rt.cudaLaunchKernel(stub, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, NULL);
    if (e != cudaSuccess)
        return -(int)e;
    OK(rt.cudaMemcpy(&v, device_word, 4, cudaMemcpyDeviceToHost));
    return v;
}

static void
function(void **handle, const void *stub, const char *name)
{
    rt.__cudaRegisterFunction(handle, stub, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL, NULL, NULL);
}

static void
variables(void)
{
    static struct wrapper w = { 0x466243b1, 1, NULL, NULL };
    static char stub, shadow;
    static int *managed;
    int v = 60;
    w.data = container(variables_ptx);
    void **h = rt.__cudaRegisterFatBinary(&w);
    EXPECT(h);
    function(h, &stub, "sum");
    rt.__cudaRegisterVar(h, &shadow, (char *)"variable", "variable", 0, 4, 0, 0);
    rt.__cudaRegisterManagedVar(h, (void **)(void *)&managed, (char *)"shared_value", "shared_value", 0, 4, 0, 0);
    rt.__cudaRegisterFatBinaryEnd(h);
    EXPECT(rt.__cudaInitModule(h) && managed && *managed == 4);
    EXPECT(run(&stub) == 34);
    EXPECT(*managed == 5);
    *managed = 100;
    OK(rt.cudaMemcpyToSymbol(&shadow, &v, 4, 0, cudaMemcpyHostToDevice));
    EXPECT(run(&stub) == 160);
    OK(rt.cudaMemcpyToSymbol(&managed, &v, 4, 0, cudaMemcpyHostToDevice));
    OK(rt.cudaDeviceSynchronize());
    EXPECT(*managed == 60);
    v = 61;                             /* nvcc's code names it by its memory, too */
    OK(rt.cudaMemcpyToSymbol(managed, &v, 4, 0, cudaMemcpyHostToDevice));
    OK(rt.cudaDeviceSynchronize());
    EXPECT(*managed == 61);
    cudaMemoryType attributes[32] = { 0 };      /* more than each version's structure, which begins with the type */
    OK(rt.cudaPointerGetAttributes(attributes, managed));
    EXPECT(attributes[0] == cudaMemoryTypeManaged);
    /* The context of a second device, where there is one, leaves the program's pointer and what is there. */
    int devices = 0, *before = managed;
    OK(rt.cudaGetDeviceCount(&devices));
    if (devices > 1) {
        void *other = NULL;
        OK(rt.cudaSetDevice(1));
        OK(rt.cudaMalloc(&other, 4));
        OK(rt.cudaFree(other));
        EXPECT(managed == before && *managed == 61);
        OK(rt.cudaSetDevice(0));
        EXPECT(run(&stub) == 121 && *managed == 62);
    }
    /* A reset gives a new context, whose variables are as the image says; the program's pointer follows. */
    OK(rt.cudaDeviceReset());
    OK(rt.cudaMalloc(&device_word, 4));
    EXPECT(*managed == 4);
    EXPECT(run(&stub) == 34);
    EXPECT(rt.cudaMemcpyToSymbol(&managed, &v, 8, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    rt.__cudaUnregisterFatBinary(h);
    EXPECT(run(&stub) == -(int)unknown_function);
    EXPECT(rt.cudaMemcpyToSymbol(&shadow, &v, 4, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidSymbol);
}

/* The newest registration of an address counts; when its binary goes, the older is back. */
static void
same_address(void)
{
    static struct wrapper a = { 0x466243b1, 1, NULL, NULL }, b = { 0x466243b1, 1, NULL, NULL };
    static char stub;
    a.data = container(first_ptx);
    b.data = container(second_ptx);
    void **ha = rt.__cudaRegisterFatBinary(&a), **hb;
    function(ha, &stub, "say");
    EXPECT(run(&stub) == 111);
    hb = rt.__cudaRegisterFatBinary(&b);
    function(hb, &stub, "say");
    EXPECT(run(&stub) == 222);
    rt.__cudaUnregisterFatBinary(hb);
    EXPECT(run(&stub) == 111);
    rt.__cudaUnregisterFatBinary(ha);
    EXPECT(run(&stub) == -(int)unknown_function);
}

static void
relocatable(void)
{
    static struct wrapper w = { 0x466243b1, 2, NULL, NULL };
    static void *list[4];
    static char stub;
    list[0] = container(caller_ptx);
    list[1] = container(callee_ptx);
    list[2] = container(library_ptx);
    /* What the linker made of them, here nothing. */
    static struct { uint32_t magic; uint16_t version, header; uint64_t size; } linked = { 0xBA55ED50u, 1, 16, 0 };
    w.data = &linked;
    w.more = list;
    void **h = rt.__cudaRegisterFatBinary(&w);
    function(h, &stub, "call");
    rt.__cudaRegisterFatBinaryEnd(h);
    EXPECT(run(&stub) == 42);
    rt.__cudaUnregisterFatBinary(h);
}

static void
bad_image(void)
{
    static struct wrapper w = { 0x466243b1, 1, NULL, NULL };
    static char stub;
    w.data = container(HEAD ".visible .entry broken(.param .u64 out)\n{\n no.such.instruction;\n}\n");
    void **h = rt.__cudaRegisterFatBinary(&w);
    function(h, &stub, "broken");
    EXPECT(run(&stub) < 0 && run(&stub) != -(int)unknown_function);
    rt.__cudaUnregisterFatBinary(h);
    (void)rt.cudaGetLastError();
}

#define CALL(name, ...) ((cudaError_t (*)(__VA_ARGS__))dlsym(library, name))

static void
references(void *library)
{
    static struct wrapper w = { 0x466243b1, 1, NULL, NULL };
    static textureReference tex;
    static surfaceReference surf;
    static char stub;
    cudaChannelFormatDesc f = { 32, 0, 0, 0, cudaChannelFormatKindFloat }, u = { 32, 0, 0, 0, cudaChannelFormatKindUnsigned };
    float h[4] = { 5, 6, 7, 8 };
    unsigned back[2 * 4] = { 0 };
    void *d;
    cudaArray_t a;
    size_t offset = 9;
    const textureReference *found = NULL;

    w.data = container(texture_ptx);
    void **b = rt.__cudaRegisterFatBinary(&w);
    function(b, &stub, "read");
    ((void (*)(void **, const void *, const void **, const char *, int, int, int))dlsym(library, "__cudaRegisterTexture"))(b, &tex, NULL, "tex", 1, 0, 0);
    ((void (*)(void **, const void *, const void **, const char *, int, int))dlsym(library, "__cudaRegisterSurface"))(b, &surf, NULL, "surf", 2, 0);
    OK(rt.cudaMalloc(&d, sizeof h));
    OK(rt.cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    OK(CALL("cudaMallocArray", cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t, unsigned)(&a, &u, 4, 2, cudaArraySurfaceLoadStore));
    OK(CALL("cudaMemcpy2DToArray", cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind)(a, 0, 0, back, 16, 16, 2,
                                                                                                                      cudaMemcpyHostToDevice));
    OK(CALL("cudaBindTexture", size_t *, const textureReference *, const void *, const cudaChannelFormatDesc *, size_t)(&offset, &tex, d, &f,
                                                                                                                        sizeof h));
    EXPECT(offset == 0);
    OK(CALL("cudaBindSurfaceToArray", const surfaceReference *, cudaArray_const_t, const cudaChannelFormatDesc *)(&surf, a, &u));
    EXPECT(run(&stub) == 7);
    OK(CALL("cudaMemcpy2DFromArray", void *, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t, cudaMemcpyKind)(back, 16, a, 0, 0, 16, 2,
                                                                                                                        cudaMemcpyDeviceToHost));
    EXPECT(back[5] == 77 && back[4] == 0);
    OK(CALL("cudaGetTextureReference", const textureReference **, const void *)(&found, &tex));
    EXPECT(found == &tex);
    OK(CALL("cudaUnbindTexture", const textureReference *)(&tex));
    EXPECT(CALL("cudaUnbindTexture", const void *)(&stub) == cudaErrorInvalidTexture);
    rt.__cudaUnregisterFatBinary(b);
    OK(rt.cudaFree(d));
}

int
main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
#define X(name, result, parameters) *(void **)&rt.name = dlsym(library, #name);
    FUNCTIONS(X)
#undef X
    if (argc > 2 && atoi(argv[2]) >= 13)
        unknown_function = cudaErrorInvalidResourceHandle;
    OK(rt.cudaMalloc(&device_word, 4));
    variables();
    same_address();
    relocatable();
    bad_image();
    if (argc > 2 && atoi(argv[2]) == 11)
        references(library);
    return failures != 0;
}
