/* SPDX-License-Identifier: Apache-2.0
 * The layer without a recording: every function is there, calls reach the library below, what that lacks fails in order,
 * and no LTTng library is loaded. Arguments: the layer, the library below. */
#include "cudaway/cuda_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        if (!(x)) {                                                                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                                          \
            failures++;                                                                                              \
        }                                                                                                            \
    } while (0)

static int
mapped(const char *name)
{
    char line[1024];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

static __typeof__(&cuInit) init;

/* The first call, which loads the library below, in a thread that is to be cancelled: the others go on. */
static void *
cancelled(void *user)
{
    pthread_cancel(pthread_self());
    *(CUresult *)user = init(0);
    pthread_testcancel();
    return NULL;
}

static void
first_call(void)
{
    pthread_t t;
    void *end;
    CUresult r = CUDA_ERROR_UNKNOWN;
    CHECK(!pthread_create(&t, NULL, cancelled, &r) && !pthread_join(t, &end));
    CHECK(r == CUDA_SUCCESS);
    CHECK(end == PTHREAD_CANCELED);
}

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    setenv("CUDAWAY_CUDA_LIBRARY", argv[2], 1);
    unsetenv("CUDAWAY_TRACE_SOCKET");
    void *layer = dlopen(argv[1], RTLD_NOW);
    if (!layer) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    /* Loading is not using: the library below is loaded by the first call. */
    CHECK(!mapped("below.so"));
    unsigned missing = 0;
#define X(index, name, type, params, args) missing += !dlsym(layer, #name);
    CW_CUDA_FUNCTIONS(X)
#undef X
    CHECK(missing == 0);

    alarm(100);
    init = (__typeof__(&cuInit))dlsym(layer, "cuInit");
    first_call();
    CHECK(init(0) == CUDA_SUCCESS);
    CHECK(init(1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(mapped("below.so"));
    CHECK(!mapped("lttng"));
    __typeof__(&cuCtxSynchronize) sync = (__typeof__(&cuCtxSynchronize))dlsym(layer, "cuCtxSynchronize");
    CHECK(sync() == CUDA_ERROR_NOT_SUPPORTED);

    __typeof__(&cuGetProcAddress_v2) get = (__typeof__(&cuGetProcAddress_v2))dlsym(layer, "cuGetProcAddress_v2");
    CUdriverProcAddressQueryResult status;
    void *fn = NULL;
    CHECK(get("cuMemAlloc", &fn, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(fn && fn == dlsym(layer, "cuMemAlloc_v2") && status == CU_GET_PROC_ADDRESS_SUCCESS);
    /* An address that the library below does not export: found by name and version. */
    CHECK(get("cuMemFree", &fn, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(fn && fn == dlsym(layer, "cuMemFree_v2"));
    fn = &fn;
    CHECK(get("cuNoSuchThing", &fn, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(!fn && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    /* A symbol that is newer than the model: the library's own function is better than none. */
    CHECK(get("cuFromTheFuture", &fn, 12000, 0, &status) == CUDA_SUCCESS && fn);
    return failures != 0;
}
