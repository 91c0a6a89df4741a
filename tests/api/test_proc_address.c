/* SPDX-License-Identifier: Apache-2.0
 * cuGetProcAddress over a table whose entry i is the number i + 1, so that an answer names the function that was found.
 * The expected answers are those of a real driver (proc_address_observed.txt) and, for the errors, observed there too. */
#include "impl/api/meta.h"
#include "impl/api/proc_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, checks;

#define CHECK(cond, ...)                                                                                              \
    do {                                                                                                              \
        checks++;                                                                                                     \
        if (!(cond)) {                                                                                                \
            printf("%s:%d: ", __FILE__, __LINE__);                                                                    \
            printf(__VA_ARGS__);                                                                                      \
            printf("\n");                                                                                             \
            failures++;                                                                                               \
        }                                                                                                             \
    } while (0)

static struct cw_cuda_table table;
#define UNTOUCHED ((void *)0xdead)

/* The versions for which the real driver was asked. */
static const int versions[] = {
    2000, 2010, 2020, 2030, 3000, 3010, 3020, 4000, 4010, 4020, 5000, 5050, 6000, 6050, 7000, 7050, 8000, 9000, 9010,
    9020, 10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020, 12030,
    12040, 12050, 12060, 12070, 12080, 12090, 13000,
};

static const char *
name_of(void *fn)
{
    uintptr_t i = (uintptr_t)fn;
    return i && i <= cw_meta_function_count ? cw_meta_functions[i - 1].name : NULL;
}

/* `steps` is "2000:cuMemAlloc 3020:cuMemAlloc_v2". */
static void
check_base(const char *base, char *steps, cuuint64_t flags)
{
    int from[16];
    const char *name[16];
    unsigned n = 0;
    char *save = NULL;

    for (char *s = strtok_r(steps, " \n", &save); s && n < 16; s = strtok_r(NULL, " \n", &save)) {
        char *colon = strchr(s, ':');
        from[n] = atoi(s);
        name[n++] = colon ? colon + 1 : "";
    }
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        const char *want = NULL;
        for (unsigned i = 0; i < n; i++)
            want = versions[v] >= from[i] ? name[i] : want;
        void *fn = UNTOUCHED;
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
        CUresult r = cw_proc_address(&table, base, &fn, versions[v], flags, &status);
        const char *got = name_of(fn);
        CHECK(r == CUDA_SUCCESS, "%s %d: result %d", base, versions[v], r);
        CHECK((want == NULL) == (got == NULL) && (!want || !strcmp(want, got)), "%s %d flags %d: %s, expected %s", base,
              versions[v], (int)flags, got ? got : "NULL", want ? want : "NULL");
        CHECK(status == (want ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
              "%s %d: status %d", base, versions[v], status);
    }
}

static void
check_observed(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[2048];
    unsigned bases = 0;

    CHECK(f, "cannot open %s", path);
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':'), *bar = strchr(line, '|'), copy[2048];
        if (line[0] == '#' || !colon || !bar)
            continue;
        *colon = *bar = 0;
        bases++;
        snprintf(copy, sizeof copy, "%s", colon + 1);
        check_base(line, copy, CU_GET_PROC_ADDRESS_DEFAULT);
        snprintf(copy, sizeof copy, "%s", colon + 1);
        check_base(line, copy, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        snprintf(copy, sizeof copy, "%s", bar + 1);
        check_base(line, copy, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        /* Both at once: the per-thread one wins. */
        check_base(line, bar + 1, 3);
    }
    if (f)
        fclose(f);
    CHECK(bases == cw_meta_base_count, "%u bases observed, the model has %u", bases, cw_meta_base_count);
}

struct error_case {
    const char *symbol;
    int         version;
    cuuint64_t  flags;
    CUresult    v2, v1;
    int         status;          /* -1: untouched */
    const char *name;            /* of v2; NULL: NULL; "?": untouched */
};

static const struct error_case errors[] = {
    { "cuMemAlloc", 12000, 4, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuMemAlloc", 12000, 8, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuMemAlloc", 12000, 1ull << 40, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuMemAlloc", 13001, 0, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuMemAlloc", 14000, 2, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuNoSuch", 14000, 2, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, -1, "?" },
    { "cuMemAlloc", 0, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, NULL },
    { "cuMemAlloc", 1999, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, NULL },
    { "cuMemAlloc", 3019, 0, CUDA_SUCCESS, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuMemAlloc" },
    { "cuMemAlloc", -1, 0, CUDA_SUCCESS, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuMemAlloc_v2" },
    { "cuMemcpy", -1, 2, CUDA_SUCCESS, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuMemcpy_ptds" },
    { "cuMemAlloc_v2", 12000, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
    { "cuMemcpyAsync_ptsz", 12000, 2, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
    { "cuNoSuch", 12000, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
    { "cudaMalloc", 12000, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
    { "", 12000, 0, CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
};

static void
check_errors(void)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const struct error_case *c = &errors[i];
        void *fn = UNTOUCHED;
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)-1;
        CUresult r = cw_proc_address(&table, c->symbol, &fn, c->version, c->flags, &status);
        CHECK(r == c->v2 && (int)status == c->status, "case %zu: result %d, status %d", i, r, (int)status);
        if (!c->name)
            CHECK(!fn, "case %zu: a function was returned", i);
        else if (*c->name == '?')
            CHECK(fn == UNTOUCHED, "case %zu: pfn was written", i);
        else
            CHECK(name_of(fn) && !strcmp(name_of(fn), c->name), "case %zu: %s", i, name_of(fn) ? name_of(fn) : "NULL");
        fn = UNTOUCHED;
        r = cw_proc_address_v1(&table, c->symbol, &fn, c->version, c->flags);
        CHECK(r == c->v1, "case %zu: version 1 gives %d", i, r);
        CHECK((r == CUDA_SUCCESS) == (fn != UNTOUCHED), "case %zu: version 1 and pfn", i);
    }
    void *fn = UNTOUCHED;
    CHECK(cw_proc_address(&table, NULL, &fn, 12000, 0, NULL) == CUDA_ERROR_INVALID_VALUE, "NULL symbol");
    CHECK(cw_proc_address(&table, "cuInit", NULL, 12000, 0, NULL) == CUDA_ERROR_INVALID_VALUE, "NULL pfn");
    CHECK(cw_proc_address_v1(&table, "cuInit", NULL, 12000, 0) == CUDA_ERROR_INVALID_VALUE, "NULL pfn, version 1");
    CHECK(cw_proc_address(&table, "cuNo", &fn, 12000, 0, NULL) == CUDA_SUCCESS && !fn, "no status wanted");

    /* A layer below that lacks a function. */
    struct cw_cuda_table hole = table;
    CUdriverProcAddressQueryResult status;
    hole.cuMemAlloc_v2 = NULL;
    CHECK(cw_proc_address(&hole, "cuMemAlloc", &fn, 12000, 0, &status) == CUDA_SUCCESS && !fn &&
          status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "a hole in the table");
}

int
main(int argc, char **argv)
{
    for (unsigned i = 0; i < CW_CUDA_FUNCTION_COUNT; i++)
        cw_cuda_table_set(&table, i, (void *)(uintptr_t)(i + 1));
    CHECK(CW_CUDA_FUNCTION_COUNT == 671 && cw_meta_function_count == 671,
          "CUDA 13.0: 637 functions in the toolkit's library and 34 of the graphics interoperability");
    for (unsigned i = 0; i < cw_meta_function_count; i++) {
        const struct cw_meta_function *f = cw_meta_find(cw_meta_functions[i].name);
        CHECK(f == &cw_meta_functions[i], "cw_meta_find(%s)", cw_meta_functions[i].name);
    }
    CHECK(!cw_meta_find("cuNoSuch") && !cw_meta_find("") && !cw_meta_find("cuMemAlloc_v9"), "cw_meta_find of nothing");
    check_observed(argc > 1 ? argv[1] : "proc_address_observed.txt");
    check_errors();
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
