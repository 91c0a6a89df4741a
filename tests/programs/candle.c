/* SPDX-License-Identifier: Apache-2.0
 * candle LIBCUDA OTHER [MODULE...]: each kernel of candle's modules, from PTX on our driver's device and on another: with OTHER a HIP library from a
 * container, with a CUDA driver from PTX. PTX and containers are inside of this program (candle.sh embeds them, and defines MODULES), and a module is loaded
 * when its first kernel is asked for. Inputs are the same; what they write must be the same to the bit. The arguments follow from a kernel's name: the
 * families of candle's kernels share a parameter list each. */
#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 640, ROW = 32, BYTES = 32768, BUFFERS = 6, BLOCK = 128, WORDS = 16 };

/* Letters, one a parameter. n: size_t N; r: size_t ROW; A, B, C: inputs of the kernel's type; i: input of the index type; j: indices as u32;
 * O: output; S: output that starts as zeros; v, w: values of the kernel's type; x: u32 ROW; y: u32 N / ROW; z: int ROW as a power of two; U, Z: u32 1 and 0;
 * e: a small float; Q, R: inputs of blocks, all of whose 16-bit words are small numbers as halves; I, J, T, H, G, V, W: shapes and strides, see `info`.
 * #1: size_t; %1: int; ?1: bool; ~1: double. */
static const struct family {
    const char *name, *parameters;
    unsigned grid[3], block[2], shared;
} families[] = {
    { "uelu_*",      "n#1IvAO",     { 5 }, { BLOCK }, 0 }, { "upowf_*", "n#1IvAO", { 5 }, { BLOCK }, 0 },
    { "upsample_nearest2d_*",  "#12#16~0.5~0.5HAO",            { 12 }, { BLOCK }, 0 },
    { "upsample_bilinear2d_*", "#16#12?0?1~2?0~0HAO",          { 12 }, { BLOCK }, 0 },
    { "u*",          "n#1IAO",      { 5 }, { BLOCK }, 0 },
    { "b*",          "n#1IABO",     { 5 }, { BLOCK }, 0 }, { "[egln][qet]_*", "n#1IABO", { 5 }, { BLOCK }, 0 },
    { "cast_*",      "n#1IAO",      { 5 }, { BLOCK }, 0 },
    { "affine_*",    "n#1IAOvw",    { 5 }, { BLOCK }, 0 },
    { "where_*",     "n#1IiABO",    { 5 }, { BLOCK }, 0 },
    { "fill_*",      "Ovn",         { 5 }, { BLOCK }, 0 },
    { "const_set_*", "n#1IvO",      { 5 }, { BLOCK }, 0 },
    { "copy2d_*",    "AOyxxx",      { 5 }, { BLOCK }, 0 },
    { "softmax_*",   "AOx",         { N / ROW }, { 1, 32 }, 0 },
    { "fast_*",      "nr#1IAO",     { N / ROW }, { ROW }, 0 },
    { "sum_*16",     "n#1#1WAS",    { 5 }, { BLOCK }, 0 }, { "sum_*", "n#1#1VAS", { 5 }, { BLOCK }, 0 },
    { "rmsnorm_*",   "AOBxxe",      { N / ROW }, { 32 }, 0 }, { "layernorm_*", "AOBCxxe", { N / ROW }, { 32 }, 0 },
    { "rope_i_*",    "ABCOyxZ",     { 5 }, { BLOCK }, 0 }, { "rope_thd_*", "ABCOyUUxZ", { 5 }, { BLOCK }, 0 }, { "rope_*", "ABCOyxxZ", { 5 }, { BLOCK }, 0 },
    { "conv1d_*",    "#240#20#1#1#1JABO",           { 2 }, { BLOCK }, 0 }, { "conv_transpose1d_*", "#240#20#1#1#0#1TABO", { 2 }, { BLOCK }, 0 },
    { "conv2d_*",    "#480#8#6#1#1#1HABO",          { 4 }, { BLOCK }, 0 }, { "conv_transpose2d_*", "#480#8#6#1#1#0#1GABO", { 4 }, { BLOCK }, 0 },
    { "im2col1d_*",  "#480#20#3#1#1#1JAO",          { 4 }, { BLOCK }, 0 }, { "col2im1d_*", "#152#19#9#4#3#2AO", { 2 }, { BLOCK }, 0 },
    { "im2col_*",    "#3456#6#8#3#3#1#1#1HAO",      { 27 }, { BLOCK }, 0 },
    { "*_pool2d_*",  "#384#2#2#2#2HAO",             { 3 }, { BLOCK }, 0 },
    { "mul_mat_vec_*_cuda1",  "QRO%256%8%512%8", { 8 }, { 32, 4 }, 0 }, { "mul_mat_vec_*_cuda[234]", "QRO%256%8%512%8", { 4 }, { 32, 4 }, 0 },
    { "mul_mat_vec_*_cuda[5678]", "QRO%256%8%512%8", { 4 }, { 32, 2 }, 0 },
    { "mul_mat_q*",  "QRO%256%8%8%512%8",           { 1 }, { 32, 4 }, 0 },
    { "indexed_moe_forward_*", "QRjO%8%256%2%2%512%1", { 8, 2, 2 }, { 32, 4 }, 0 },
    { "dequantize_mul_mat_vec_q5_k", "QRO%256",     { 8 }, { 32 }, 0 },
    { "dequantize_mul_mat_vec_*", "QRO%256%8",      { 8 }, { 32 }, 0 }, { "quantize_q8_1", "QO%256%512", { 2 }, { 256 }, 0 },
    { "dequantize_block_q[48]_[01]_*", "QO%32",     { 4 }, { 32 }, 0 }, { "dequantize_block_q5_[01]_*", "QO%1024", { 2 }, { 256 }, 0 },
    { "dequantize_block_q[48]_K_*", "QO",           { 4 }, { 32 }, 0 }, { "dequantize_block_q?_K_*", "QO", { 4 }, { 64 }, 0 },
    { "get_rows_q4_0", "QjO#256#144", { 4, 1 }, { 256 }, 0 }, { "get_rows_q4_1", "QjO#256#160", { 4, 1 }, { 256 }, 0 },
    { "get_rows_q5_0", "QjO#256#176", { 4, 1 }, { 256 }, 0 }, { "get_rows_q5_1", "QjO#256#192", { 4, 1 }, { 256 }, 0 },
    { "get_rows_q8_0", "QjO#256#272", { 4, 1 }, { 256 }, 0 }, { "get_rows_q2_K", "QjO#256#84",  { 4, 1 }, { 64 }, 0 },
    { "get_rows_q3_K", "QjO#256#110", { 4, 1 }, { 64 }, 0 },  { "get_rows_q4_K", "QjO#256#144", { 4, 1 }, { 32 }, 0 },
    { "get_rows_q5_K", "QjO#256#176", { 4, 1 }, { 64 }, 0 },  { "get_rows_q6_K", "QjO#256#210", { 4, 1 }, { 64 }, 0 },
    { "get_rows_*",  "AjO#160#0",    { 4, 1 }, { 256 }, 0 },
    { "asort_*",     "AOxz",         { N / ROW }, { ROW }, ROW * 4 },
    { "is_*",        "n#1IiAO#1#4r#4", { 5 }, { BLOCK }, 0 },
    { "gather_*",    "niAO#1#4r#4",    { 5 }, { BLOCK }, 0 },
    { "ia_*",        "i#16AS#5#16#4#8", { 1 }, { BLOCK }, 0 }, { "sa_*", "iAS#5#16#4#8", { 1 }, { BLOCK }, 0 }, { "s_*", "iAS#5#16#4#8", { 1 }, { BLOCK }, 0 },
};

/* What a letter's pointer leads to: dimensions, strides; then those of the convolution's kernel, or the dimensions that are summed. The sums of halves have two
 * operands, and those of wider numbers are exact, so that the order of atomics makes no difference. */
static const struct { char letter; size_t words[WORDS]; } info[] = {
    { 'I', { N, 1, 1, 1 } },
    { 'V', { N, 1, 32, 1 } }, { 'W', { N, 1, 2, 1 } },
    { 'J', { 2, 4, 20, 80, 20, 1, 6, 4, 3, 12, 3, 1 } },
    { 'T', { 2, 4, 20, 80, 20, 1, 4, 6, 3, 18, 3, 1 } },
    { 'H', { 2, 4, 6, 8, 192, 48, 8, 1, 5, 4, 3, 3, 36, 9, 3, 1 } },
    { 'G', { 2, 4, 6, 8, 192, 48, 8, 1, 4, 5, 3, 3, 45, 9, 3, 1 } },
};
enum { INFOS = sizeof info / sizeof *info };

struct cudaway_kernel { const char *name; unsigned parameters, bytes; };
#define DECLARE(m) extern const unsigned char m##_ptx[], m##_native[]; extern const struct cudaway_kernel m##_ptx_kernels[];
MODULES(DECLARE)
#define ROW(m) { #m, m##_ptx, m##_native, m##_ptx_kernels },
static const struct embedded { const char *name; const unsigned char *ptx, *native; const struct cudaway_kernel *kernels; } embedded[] = { MODULES(ROW) };
enum { EMBEDDED = sizeof embedded / sizeof *embedded };

struct side {
    void *lib;
    bool hip;
    void *buffer[BUFFERS], *info, *module[EMBEDDED], *context;
};
static struct side host, other;

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

/* One parameter at *p, which moves on. Returns its size. */
static unsigned
parameter(const char **p, const char *kernel, const struct side *s, unsigned char v[8])
{
    const char *type = type_of(kernel, false), *first = type_of(kernel, true);
    const char *source = !strncmp(kernel, "cast_", 5) ? first : type;
    char letter = *(*p)++;
    double number = strchr("#%?~", letter) ? strtod(*p, (char **)(uintptr_t)p) : 0;
    for (unsigned i = 0; i < INFOS; i++)
        if (info[i].letter == letter)
            return memcpy(v, &(uint64_t){ (uintptr_t)s->info + i * sizeof info[i].words }, 8), 8;
    switch (letter) {
    case 'A': case 'B': case 'C': case 'i': case 'j': {
        bool index = letter == 'i' || letter == 'j';
        unsigned b = letter == 'i' ? 3 : letter == 'j' ? 5 : (unsigned)(letter - 'A');
        fill(b, letter == 'i' ? first : letter == 'j' ? "u32" : source, index);
        return memcpy(v, &s->buffer[b], 8), 8;
    }
    case 'Q': case 'R':
        for (unsigned i = 0; i < BYTES / 2; i++)
            value("f16", (unsigned)letter, i, input[letter - 'Q'] + 2 * i);
        return memcpy(v, &s->buffer[letter - 'Q'], 8), 8;
    case 'O': case 'S':
        memset(input[4], letter == 'O' ? 0xee : 0, BYTES);
        return memcpy(v, &s->buffer[4], 8), 8;
    case 'v': case 'w':
        return value(type, 9, (unsigned)letter, v), width(type);
    case 'n': case 'r':
        return memcpy(v, &(uint64_t){ letter == 'n' ? N : ROW }, 8), 8;
    case '#':
        return memcpy(v, &(uint64_t){ (uint64_t)number }, 8), 8;
    case '~':
        return memcpy(v, &number, 8), 8;
    case '?':
        return v[0] = number != 0, 1;
    case 'e':
        return memcpy(v, &(float){ 1e-5f }, 4), 4;
    default: {
        unsigned u = letter == '%' ? (unsigned)number : letter == 'y' ? N / ROW : letter == 'U' ? 1 : letter == 'Z' ? 0 : ROW;
        return memcpy(v, &u, 4), 4;
    }
    }
}

static size_t
block(const struct family *f, const char *kernel, const struct side *s, unsigned char *out)
{
    size_t at = 0;
    for (const char *p = f->parameters; *p;) {
        unsigned char v[8] = { 0 };
        unsigned size = parameter(&p, kernel, s, v);
        at = (at + size - 1) / size * size;
        memcpy(out + at, v, size);
        at += size;
    }
    return at;
}

/* A kernel of embedded module `m`, which is loaded for the first one. */
static void *
get_function(struct side *s, unsigned m, const char *kernel)
{
    void *function;
    if (s->hip) {
        if (!s->module[m])
            CALL(s, hipModuleLoadData, &s->module[m], embedded[m].native);
        CALL(s, hipModuleGetFunction, &function, s->module[m], kernel);
    } else {
        if (!s->module[m])
            CALL(s, cuModuleLoadData, &s->module[m], embedded[m].ptx);
        CALL(s, cuModuleGetFunction, &function, s->module[m], kernel);
    }
    return function;
}

static void
run(struct side *s, const struct family *f, unsigned m, const struct cudaway_kernel *k, unsigned char *result)
{
    unsigned char parameters[256];
    if (!s->hip)
        CALL(s, cuCtxSetCurrent, s->context);
    void *function = get_function(s, m, k->name);
    size_t size = block(f, k->name, s, parameters);
    if (size != k->bytes) {
        fprintf(stderr, "%s takes %u bytes of parameters, not %zu\n", k->name, k->bytes, size);
        exit(2);
    }
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, s->hip ? (void *)3 : CU_LAUNCH_PARAM_END };    /* the other two are the same in HIP */
    unsigned gy = f->grid[1] ? f->grid[1] : 1, gz = f->grid[2] ? f->grid[2] : 1, by = f->block[1] ? f->block[1] : 1;
    for (unsigned b = 0; b < BUFFERS; b++) {
        if (s->hip)
            CALL(s, hipMemcpy, s->buffer[b], (void *)input[b], (size_t)BYTES, 1);
        else
            CALL(s, cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)s->buffer[b], (void *)input[b], (size_t)BYTES);
    }
    if (s->hip) {
        CALL(s, hipModuleLaunchKernel, function, f->grid[0], gy, gz, f->block[0], by, 1u, f->shared, (void *)NULL, (void **)NULL, (void **)extra);
        CALL(s, hipDeviceSynchronize);
        CALL(s, hipMemcpy, (void *)result, s->buffer[4], (size_t)BYTES, 2);
    } else {
        CALL(s, cuLaunchKernel, function, f->grid[0], gy, gz, f->block[0], by, 1u, f->shared, (CUstream)NULL, (void **)NULL, (void **)extra);
        CALL(s, cuMemcpyDtoH_v2, (void *)result, (CUdeviceptr)(uintptr_t)s->buffer[4], (size_t)BYTES);
    }
}

static void
open_side(struct side *s, const char *library)
{
    unsigned char words[INFOS * sizeof info[0].words];
    CUdevice device;
    s->lib = dlopen(library, RTLD_NOW);
    if (!s->lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (unsigned i = 0; i < INFOS; i++)
        memcpy(words + i * sizeof info[i].words, info[i].words, sizeof info[i].words);
    s->hip = !dlsym(s->lib, "cuInit");
    if (s->hip) {
        CALL(s, hipInit, 0);
    } else {
        CALL(s, cuInit, 0);
        CALL(s, cuDeviceGet, &device, 0);
        CALL(s, cuDevicePrimaryCtxRetain, &s->context, device);
        CALL(s, cuCtxSetCurrent, s->context);
    }
    for (unsigned b = 0; b <= BUFFERS; b++) {
        void **at = b < BUFFERS ? &s->buffer[b] : &s->info;
        size_t room = b < BUFFERS ? BYTES : sizeof words;
        if (s->hip)
            CALL(s, hipMalloc, at, room);
        else
            CALL(s, cuMemAlloc_v2, at, room);
    }
    if (s->hip)
        CALL(s, hipMemcpy, s->info, (void *)words, sizeof words, 1);
    else
        CALL(s, cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)s->info, (void *)words, sizeof words);
}

static unsigned same, different, unknown;

static void
compare(unsigned m, const struct cudaway_kernel *k)
{
    static unsigned char expected[BYTES], got[BYTES];
    const struct family *f = families, *end = families + sizeof families / sizeof *families;
    while (f < end && fnmatch(f->name, k->name, 0))
        f++;
    if (f == end || (strpbrk(f->parameters, "ABCivw") && !type_of(k->name, false))) {
        printf("%s: its parameters are not known here\n", k->name);
        unknown++;
        return;
    }
    run(&host, f, m, k, expected);
    run(&other, f, m, k, got);
    if (!memcmp(expected, input[4], BYTES)) {
        printf("%s wrote nothing\n", k->name);
        different++;
    } else if (memcmp(expected, got, BYTES)) {
        unsigned i = 0;
        while (expected[i] == got[i])
            i++;
        printf("%s differs at byte %u: %02x, not %02x\n", k->name, i, got[i], expected[i]);
        different++;
    } else {
        same++;
    }
}

int
main(int argc, char **argv)
{
    unsigned loaded = 0, failures = 0;
    if (argc < 3)
        return 2;
    open_side(&host, argv[1]);
    open_side(&other, argv[2]);
    for (unsigned m = 0; m < EMBEDDED; m++) {
        bool wanted = argc == 3;
        for (int i = 3; i < argc; i++)
            wanted |= !strcmp(argv[i], embedded[m].name);
        same = different = unknown = 0;
        for (const struct cudaway_kernel *k = embedded[m].kernels; wanted && k->name; k++)
            compare(m, k);
        if (wanted)
            printf("%s: %u kernels the same, %u different, %u not run\n", embedded[m].name, same, different, unknown);
        failures += different + unknown + (wanted && !same);
        loaded += other.module[m] != NULL;
    }
    printf("%u of %u modules loaded\n", loaded, (unsigned)EMBEDDED);
    return failures || !loaded;
}
