/* SPDX-License-Identifier: Apache-2.0
 * candle LIBCUDA HIP_LIBRARY PTX CONTAINER: each kernel of a module of candle's, from the container on the GPU-less AMD device and from the PTX on the host
 * device, with the same inputs; what they write must be the same to the bit. The arguments follow from a kernel's name: the families of candle's
 * kernels share a parameter list each. For candle.sh. */
#include "impl/api/cuda.h"
#include "impl/base/file.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 640, ROW = 32, BYTES = 16384, BUFFERS = 5, BLOCK = 128 };

/* A letter for each parameter. n: size_t N; r: size_t ROW; 1, 4: size_t; I: dims and strides of a contiguous tensor; A, B, C: inputs of the kernel's
 * type; i: input of the index type; O: output; v, w: values of the kernel's type; x: u32 ROW; y: u32 N / ROW; z: int ROW as a power of two. */
static const struct family {
    const char *name, *parameters;
    unsigned grid, x, y, shared;
} families[] = {
    { "uelu_*",      "n1IvAO",     5, BLOCK, 1, 0 }, { "upowf_*", "n1IvAO", 5, BLOCK, 1, 0 },
    { "u*",          "n1IAO",      5, BLOCK, 1, 0 },
    { "b*",          "n1IABO",     5, BLOCK, 1, 0 }, { "[egln][qet]_*", "n1IABO", 5, BLOCK, 1, 0 },
    { "cast_*",      "n1IAO",      5, BLOCK, 1, 0 },
    { "affine_*",    "n1IAOvw",    5, BLOCK, 1, 0 },
    { "where_*",     "n1IiABO",    5, BLOCK, 1, 0 },
    { "fill_*",      "Ovn",        5, BLOCK, 1, 0 },
    { "const_set_*", "n1IvO",      5, BLOCK, 1, 0 },
    { "copy2d_*",    "AOyxxx",     5, BLOCK, 1, 0 },
    { "softmax_*",   "AOx",        N / ROW, 1, 32, 0 },
    { "fast_*",      "nr1IAO",     N / ROW, ROW, 1, 0 },
    { "asort_*",     "AOxz",       N / ROW, ROW, 1, ROW * 4 },
    { "is_*",        "n1IiAO14r4", 5, BLOCK, 1, 0 },
    { "gather_*",    "niAO14r4",   5, BLOCK, 1, 0 },
};

struct side {
    const char *name;
    void *lib;
    void *buffer[BUFFERS], *info, *module;
};
static struct side host = { "host" }, amd = { "amd" };

#define CALL(s, f, ...) ({ int (*p_)() = (int (*)())dlsym((s)->lib, #f); int e_ = p_ ? p_(__VA_ARGS__) : -1; \
    if (e_) { fprintf(stderr, "%s: error %d\n", #f, e_); exit(2); } })

static unsigned char input[BUFFERS][BYTES];

/* The type that a name of candle's ends in, or that stands in front of the last one. */
static const char *
type_of(const char *kernel, bool index)
{
    static const char *const types[] = { "f8_e4m3", "bf16", "f16", "f32", "f64", "u8", "u32", "i16", "i32", "i64" };
    const char *best = NULL, *at = NULL;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        for (const char *p = kernel; (p = strstr(p, types[i])); p++)
            if (p[-1] == '_' && (!at || (index ? p < at : p > at))) {
                best = types[i];
                at = p;
            }
    return best;
}

static unsigned
width(const char *type)
{
    return !strcmp(type, "f8_e4m3") ? 1 : (unsigned)atoi(type + strcspn(type, "0123456789")) / 8;
}

/* Element `i` of input `b`: of floats small numbers of both signs with fractions, of integers any bits. */
static void
value(const char *type, unsigned b, unsigned i, void *out)
{
    unsigned h = (i * 2654435761u) ^ (b * 0x9e3779b9u);
    h ^= h >> 15;
    float f = (float)((int)(h % 511) - 255) / 16;
    double d = (double)((int)(h % 4093) - 2046) / 192;
    unsigned bits;
    memcpy(&bits, &f, 4);
    if (!strcmp(type, "f32"))
        memcpy(out, &f, 4);
    else if (!strcmp(type, "f64"))
        memcpy(out, &d, 8);
    else if (!strcmp(type, "bf16"))
        memcpy(out, &(unsigned short){ (unsigned short)(bits >> 16) }, 2);
    else if (!strcmp(type, "f16"))
        memcpy(out, &(unsigned short){ (unsigned short)((h & 0x83ff) | (12 + h / 65536 % 7) << 10) }, 2);
    else if (!strcmp(type, "f8_e4m3"))
        *(unsigned char *)out = (unsigned char)((h & 0xff) == 0x7f || (h & 0xff) == 0xff ? 0x38 : h);
    else
        for (unsigned k = 0; k < width(type); k++)
            ((unsigned char *)out)[k] = (unsigned char)(h >> (k % 4 * 8));
}

static void
fill(unsigned b, const char *type, bool index)
{
    memset(input[b], 0, BYTES);
    for (unsigned i = 0, w = width(type); i < N; i++)
        if (index)
            input[b][i * w] = (unsigned char)(i * 7 % 4);      /* of four rows */
        else
            value(type, b, i, input[b] + i * w);
}

static size_t
block(const struct family *f, const char *kernel, const struct side *s, unsigned char *out)
{
    const char *type = type_of(kernel, false), *first = type_of(kernel, true);
    const char *source = !strncmp(kernel, "cast_", 5) ? first : type;
    size_t at = 0;
    for (const char *p = f->parameters; *p; p++) {
        unsigned char v[8] = { 0 };
        unsigned size = 8;
        unsigned long long n = *p == 'n' ? N : *p == 'r' ? ROW : *p >= '0' && *p <= '9' ? (unsigned)(*p - '0') : *p == 'y' ? N / ROW : ROW;
        memcpy(v, &n, 8);
        if (strchr("ABCi", *p)) {
            unsigned b = *p == 'i' ? 3 : (unsigned)(*p - 'A');
            fill(b, *p == 'i' ? first : source, *p == 'i');
            memcpy(v, &s->buffer[b], 8);
        } else if (*p == 'O' || *p == 'I') {
            memcpy(v, *p == 'O' ? &s->buffer[4] : &s->info, 8);
        } else if (*p == 'v' || *p == 'w') {
            memset(v, 0, 8);
            value(type, 9, *p, v);
            size = width(type);
        } else if (strchr("xyz", *p)) {
            size = 4;
        }
        at = (at + size - 1) / size * size;
        memcpy(out + at, v, size);
        at += size;
    }
    return at;
}

static void
run_host(const struct family *f, const char *kernel, unsigned char *result)
{
    unsigned char parameters[256];
    CUfunction function;
    size_t size = block(f, kernel, &host, parameters);
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    for (unsigned b = 0; b < BUFFERS; b++)
        CALL(&host, cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)host.buffer[b], (void *)input[b], (size_t)BYTES);
    CALL(&host, cuModuleGetFunction, &function, (CUmodule)host.module, kernel);
    CALL(&host, cuLaunchKernel, function, f->grid, 1u, 1u, f->x, f->y, 1u, f->shared, (CUstream)NULL, (void **)NULL, (void **)extra);
    CALL(&host, cuMemcpyDtoH_v2, (void *)result, (CUdeviceptr)(uintptr_t)host.buffer[4], (size_t)BYTES);
}

static void
run_amd(const struct family *f, const char *kernel, unsigned char *result)
{
    unsigned char parameters[256];
    void *function;
    size_t size = block(f, kernel, &amd, parameters);
    void *extra[] = { (void *)1, parameters, (void *)2, &size, (void *)3 };
    for (unsigned b = 0; b < BUFFERS; b++)
        CALL(&amd, hipMemcpy, amd.buffer[b], (void *)input[b], (size_t)BYTES, 1);
    CALL(&amd, hipModuleGetFunction, &function, amd.module, kernel);
    CALL(&amd, hipModuleLaunchKernel, function, f->grid, 1u, 1u, f->x, f->y, 1u, f->shared, (void *)NULL, (void **)NULL, (void **)extra);
    CALL(&amd, hipDeviceSynchronize);
    CALL(&amd, hipMemcpy, (void *)result, amd.buffer[4], (size_t)BYTES, 2);
}

static void
open_sides(char **argv)
{
    static const size_t tensor[] = { N, 1, 1, 1 };    /* a dimension, and strides of three operands */
    char *text, *code;
    size_t size;
    CUdevice device;
    CUcontext context;
    host.lib = dlopen(argv[1], RTLD_NOW);
    amd.lib = dlopen(argv[2], RTLD_NOW);
    if (!host.lib || !amd.lib || cw_file_read(argv[3], 1 << 28, &text, &size) || cw_file_read(argv[4], 1 << 28, &code, &size)) {
        fprintf(stderr, "cannot read %s or %s: %s\n", argv[3], argv[4], dlerror());
        exit(2);
    }
    CALL(&host, cuInit, 0);
    CALL(&host, cuDeviceGet, &device, 0);
    CALL(&host, cuDevicePrimaryCtxRetain, &context, device);
    CALL(&host, cuCtxSetCurrent, context);
    CALL(&host, cuModuleLoadData, &host.module, text);
    CALL(&amd, hipInit, 0);
    CALL(&amd, hipModuleLoadData, &amd.module, (void *)code);
    for (unsigned b = 0; b < BUFFERS; b++) {
        CALL(&host, cuMemAlloc_v2, &host.buffer[b], (size_t)BYTES);
        CALL(&amd, hipMalloc, &amd.buffer[b], (size_t)BYTES);
    }
    CALL(&host, cuMemAlloc_v2, &host.info, sizeof tensor);
    CALL(&amd, hipMalloc, &amd.info, sizeof tensor);
    CALL(&host, cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)host.info, (void *)tensor, sizeof tensor);
    CALL(&amd, hipMemcpy, amd.info, (void *)tensor, sizeof tensor, 1);
}

int
main(int argc, char **argv)
{
    static unsigned char expected[BYTES], got[BYTES];
    unsigned same = 0, different = 0, other = 0;
    char *text;
    size_t size;
    if (argc != 5 || cw_file_read(argv[3], 1 << 28, &text, &size))
        return 2;
    open_sides(argv);
    for (char *p = text; (p = strstr(p, ".entry ")); p++) {
        char kernel[200];
        const struct family *f = families, *end = families + sizeof families / sizeof *families;
        if (sscanf(p, ".entry %199[A-Za-z0-9_]", kernel) != 1)
            continue;
        while (f < end && fnmatch(f->name, kernel, 0))
            f++;
        if (f == end || !type_of(kernel, false)) {
            other++;
            continue;
        }
        memset(input[4], 0xee, BYTES);
        run_host(f, kernel, expected);
        run_amd(f, kernel, got);
        if (!memcmp(expected, input[4], BYTES)) {
            printf("%s wrote nothing\n", kernel);
            different++;
        } else if (memcmp(expected, got, BYTES)) {
            unsigned i = 0;
            while (expected[i] == got[i])
                i++;
            printf("%s differs at byte %u: %02x, not %02x\n", kernel, i, got[i], expected[i]);
            different++;
        } else {
            same++;
        }
    }
    printf("%u kernels the same, %u different, %u not run\n", same, different, other);
    return different || !same;
}
