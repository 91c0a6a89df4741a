/* SPDX-License-Identifier: Apache-2.0
 * What cuTensorMapEncode* and cuTensorMapReplaceAddress answer to each argument. The cases are data (tensor_maps.txt says how a line reads); this
 * program makes the arguments.
 *
 *     test_driver_tensor_map TABLE [--library LIBCUDA] [--record]
 *
 * The default library is libcuda.so.1. --record prints each case with what the library answers instead of what the table says, and fails for none. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"

#include <ctype.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 5, MEMORY = 1 << 20, NOT_FOUND = -1, FAULT = -2, UNKNOWN_RESULT = 99999 };

#define FUNCTIONS(X) X(cuInit) X(cuCtxCreate_v2) X(cuCtxSetCurrent) X(cuMemAlloc_v2) X(cuTensorMapEncodeTiled) X(cuTensorMapEncodeIm2col) \
    X(cuTensorMapReplaceAddress)
static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    __typeof__(cuTensorMapEncodeIm2colWide) *cuTensorMapEncodeIm2colWide;       /* since 12.8 */
} cu;

static CUcontext context;
static CUdeviceptr memory;

/* Arguments; their defaults are a map that a function takes. */
struct arguments {
    uint64_t map, address;                      /* bytes behind a good one */
    uint64_t type, rank, interleave, swizzle, promotion, fill, channels, pixels, mode, raw;
    uint64_t dim[DIMS], stride[DIMS - 1];
    uint64_t box[DIMS], step[DIMS];
    int64_t lower[3], upper[3];
    /* 1: the array or pointer is NULL; no context is current */
    uint64_t no_map, no_address, no_dim, no_stride, no_box, no_step, no_lower, no_upper, no_context;
    uint64_t is_raw;                            /* the map that gets another address has bytes `raw` */
};

static const struct arguments tiled = {
    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, .rank = 3, .dim = { 64, 64, 8, 4, 2 }, .stride = { 256, 16384, 131072, 524288 }, .box = { 16, 8, 2, 1, 1 },
    .step = { 1, 1, 1, 1, 1 },
};
static const struct arguments im2col = {
    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, .rank = 4, .dim = { 64, 16, 16, 4, 2 }, .stride = { 128, 2048, 32768, 131072 }, .step = { 1, 1, 1, 1, 1 },
    .channels = 64, .pixels = 32, .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
};

static const struct field {
    const char *name;
    size_t at;
} fields[] = {
#define F(name) { #name, offsetof(struct arguments, name) }
#define A(name, i) { #name #i, offsetof(struct arguments, name) + i * sizeof(uint64_t) }
    F(map), F(address), F(type), F(rank), F(interleave), F(swizzle), F(promotion), F(fill), F(channels), F(pixels), F(mode), F(raw),
    A(dim, 0), A(dim, 1), A(dim, 2), A(dim, 3), A(dim, 4), A(stride, 0), A(stride, 1), A(stride, 2), A(stride, 3),
    A(box, 0), A(box, 1), A(box, 2), A(box, 3), A(box, 4), A(step, 0), A(step, 1), A(step, 2), A(step, 3), A(step, 4),
    A(lower, 0), A(lower, 1), A(lower, 2), A(upper, 0), A(upper, 1), A(upper, 2),
#undef A
#undef F
}, nulls[] = {
#define F(name) { #name, offsetof(struct arguments, no_##name) }
    F(map), F(address), F(dim), F(stride), F(box), F(step), F(lower), F(upper), F(context),
#undef F
};

static const struct result {
    const char *name;
    int code;
} results[] = { { "SUCCESS", CUDA_SUCCESS }, { "INVALID_VALUE", CUDA_ERROR_INVALID_VALUE }, { "INVALID_CONTEXT", CUDA_ERROR_INVALID_CONTEXT },
                { "NOT_SUPPORTED", CUDA_ERROR_NOT_SUPPORTED }, { "INVALID_DEVICE", CUDA_ERROR_INVALID_DEVICE },
                { "FAULT", FAULT } };

static const char *
result_name(int code)
{
    static char number[16];
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].code == code)
            return results[i].name;
    snprintf(number, sizeof number, "%d", code);
    return number;
}

static int
result_code(const char *name)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (!strcmp(results[i].name, name))
            return results[i].code;
    return UNKNOWN_RESULT;
}

/* KEY=NUMBER, where the number may be 2^N or end in +N or -N; or KEY=null. */
static bool
set(struct arguments *a, const char *word)
{
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t)(value++ - word) : 0;
    bool is_null = value && !strcmp(value, "null");
    const struct field *table = is_null ? nulls : fields;
    for (size_t i = 0; i < (is_null ? sizeof nulls : sizeof fields) / sizeof *table; i++) {
        if (strlen(table[i].name) != n || strncmp(table[i].name, word, n))
            continue;
        uint64_t *to = (uint64_t *)(void *)((char *)a + table[i].at);
        char *end;
        if (is_null) {
            *to = 1;
            return true;
        }
        *to = (uint64_t)strtoll(value, &end, 0);
        if (*to == 2 && *end == '^')
            *to = 1ull << (strtoul(end + 1, &end, 10) & 63);
        if (*end == '+' || *end == '-')
            *to += (uint64_t)strtoll(end, &end, 10);
        a->is_raw |= to == &a->raw;
        return end != value && !*end;
    }
    return false;
}

static int
call(const char *function, const struct arguments *a)
{
    static char place[3 * sizeof(CUtensorMap)] __attribute__((aligned(128)));
    CUtensorMap *map = a->no_map ? NULL : (CUtensorMap *)(void *)(place + a->map);
    void *address = a->no_address ? NULL : (void *)(uintptr_t)(memory + a->address);
    uint32_t box[DIMS], step[DIMS];
    int lower[3], upper[3];
    for (int i = 0; i < DIMS; i++) {
        box[i] = (uint32_t)a->box[i];
        step[i] = (uint32_t)a->step[i];
    }
    for (int i = 0; i < 3; i++) {
        lower[i] = (int)a->lower[i];
        upper[i] = (int)a->upper[i];
    }
    memset(place, (int)a->raw, sizeof place);
    if (!a->is_raw && cu.cuTensorMapEncodeTiled((CUtensorMap *)(void *)place, (CUtensorMapDataType)tiled.type, (uint32_t)tiled.rank, (void *)(uintptr_t)memory,
                                                tiled.dim, tiled.stride, (const uint32_t[]){ 16, 8, 2 }, (const uint32_t[]){ 1, 1, 1 }, 0, 0, 0, 0))
        return UNKNOWN_RESULT;          /* replace has a map */
    if (a->no_context)
        (void)cu.cuCtxSetCurrent(NULL);
    int e = NOT_FOUND;
#define COMMON map, (CUtensorMapDataType)a->type, (uint32_t)a->rank, address, a->no_dim ? NULL : a->dim, a->no_stride ? NULL : a->stride
#define LAYOUT (CUtensorMapInterleave)a->interleave, (CUtensorMapSwizzle)a->swizzle
#define REST (CUtensorMapL2promotion)a->promotion, (CUtensorMapFloatOOBfill)a->fill
    if (!strcmp(function, "tiled"))
        e = (int)cu.cuTensorMapEncodeTiled(COMMON, a->no_box ? NULL : box, a->no_step ? NULL : step, LAYOUT, REST);
    else if (!strcmp(function, "im2col"))
        e = (int)cu.cuTensorMapEncodeIm2col(COMMON, a->no_lower ? NULL : lower, a->no_upper ? NULL : upper, (uint32_t)a->channels, (uint32_t)a->pixels,
                                            a->no_step ? NULL : step, LAYOUT, REST);
    else if (!strcmp(function, "wide") && cu.cuTensorMapEncodeIm2colWide)
        e = (int)cu.cuTensorMapEncodeIm2colWide(COMMON, lower[0], upper[0], (uint32_t)a->channels, (uint32_t)a->pixels, a->no_step ? NULL : step,
                                                (CUtensorMapInterleave)a->interleave, (CUtensorMapIm2ColWideMode)a->mode, (CUtensorMapSwizzle)a->swizzle, REST);
    else if (!strcmp(function, "replace"))
        e = (int)cu.cuTensorMapReplaceAddress(map, address);
#undef COMMON
#undef LAYOUT
#undef REST
    if (a->no_context)
        (void)cu.cuCtxSetCurrent(context);
    return e;
}

static unsigned cases, wrong;
static sigjmp_buf back;

/* NVIDIA's driver follows some null pointers. */
static void
on_fault(int number)
{
    siglongjmp(back, number);
}

/* FUNCTION KEY=VALUE... => RESULT [here RESULT] # SOURCE */
static bool
run(char *line, unsigned number, bool record)
{
    char copy[1024];
    char *source = strstr(line, " # "), *words, *save = NULL;
    if (*line == '#' || line[strspn(line, " \t\n")] == 0)
        return true;
    snprintf(copy, sizeof copy, "%.*s", (int)(source ? source - line : 0), line);
    const char *function = strtok_r(copy, " ", &save);
    struct arguments a = function && (!strcmp(function, "im2col") || !strcmp(function, "wide")) ? im2col : tiled;
    while ((words = strtok_r(NULL, " ", &save)) && strcmp(words, "=>") != 0)
        if (!set(&a, words)) {
            fprintf(stderr, "tensor_maps.txt:%u: '%s' sets nothing\n", number, words);
            return false;
        }
    const char *documented = strtok_r(NULL, " ", &save), *here = strtok_r(NULL, " ", &save);
    int want = result_code(documented ? documented : "");
    if (here)
        want = strcmp(here, "here") ? UNKNOWN_RESULT : result_code((words = strtok_r(NULL, " ", &save)) ? words : "");
    if (!source || want == UNKNOWN_RESULT) {
        fprintf(stderr, "tensor_maps.txt:%u: a line is FUNCTION KEY=VALUE... => RESULT [here RESULT] # SOURCE\n", number);
        return false;
    }
    int got = sigsetjmp(back, 1) ? FAULT : call(function, &a);
    cases++;
    if (record)
        printf("%c %.*s %s\n", got == result_code(documented) ? ' ' : '!', (int)(source - line), line, result_name(got));
    else if (got != want) {
        fprintf(stderr, "tensor_maps.txt:%u: %.*s, and not %s\n", number, (int)(source - line), line, result_name(got));
        wrong++;
    }
    return true;
}

int
main(int argc, char **argv)
{
    const char *library = "libcuda.so.1";
    bool record = false, ok = true;
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "--record"))
            record = true;
        else if (!strcmp(argv[i], "--library") && i + 1 < argc)
            library = argv[++i];
        else
            return 2;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    void *l = dlopen(library, RTLD_NOW);
    if (!f || !l) {
        fprintf(stderr, "%s\n", f ? dlerror() : "test_driver_tensor_map TABLE [--library LIBCUDA] [--record]");
        return 2;
    }
#define X(name) \
    if (!(*(void **)&cu.name = dlsym(l, #name))) { \
        fprintf(stderr, "no %s\n", #name); \
        return 2; \
    }
    FUNCTIONS(X)
#undef X
    *(void **)&cu.cuTensorMapEncodeIm2colWide = dlsym(l, "cuTensorMapEncodeIm2colWide");
    if (cu.cuInit(0) || cu.cuCtxCreate_v2(&context, 0, 0) || cu.cuMemAlloc_v2(&memory, MEMORY)) {
        fprintf(stderr, "no context\n");
        return 2;
    }
    (void)sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = on_fault }, NULL);
    char line[1024];
    for (unsigned n = 1; fgets(line, sizeof line, f); n++)
        ok = run(line, n, record) && ok;
    fclose(f);
    printf("%u cases, %u wrong\n", cases, wrong);
    return !ok || wrong || !cases;
}
