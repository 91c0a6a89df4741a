/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_COMPILE_LIMIT (docs/contain.md): a kernel whose compilation passes the limit is an error of the call, with the cause in the error log; the
 * process goes on, and other kernels compile and run. The calls are made by a thread with a small stack.
 *   test_limit WHICH        WHICH: a part of the message that the limit gives */
#include "tests/driver/test.h"
#include "tests/jit/driver/shapes.h"

#include <pthread.h>

enum { LARGE = 40000, STACK = 32 << 10, LOG = 8192 };

static const char *which;

static char *
text_of(const char *shape, unsigned n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    shape_write(out, shape_find(shape), n);
    return fclose(out) ? NULL : text;
}

/* Loads and runs kernel k0, with its result in *x. The first failure. */
static CUresult
run(const char *text, char *log, unsigned *x)
{
    CUjit_option names[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)(uintptr_t)LOG };
    CUmodule m = NULL;
    CUfunction f;
    CUdeviceptr d;
    void *params[] = { &d };
    log[0] = 0;
    CUresult r = cuModuleLoadDataEx(&m, text, 2, names, values);
    if (r)
        return r;
    OK(cuMemAlloc_v2(&d, 4 << 20));
    OK(cuMemsetD32_v2(d, 5, 1 << 20));
    r = cuModuleGetFunction(&f, m, "k0");
    if (!r)
        r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (!r)
        r = cuCtxSynchronize();
    if (!r)
        OK(cuMemcpyDtoH_v2(x, d, 4));
    OK(cuMemFree_v2(d));
    OK(cuModuleUnload(m));
    return r;
}

static void *
work(void *unused)
{
    static char log[LOG];
    unsigned x = 0, want = 5;
    char *large = text_of("branches", LARGE), *small = text_of("callees", 4);
    make_context();
    EXPECT_RESULT(run(large, log, &x), CUDA_ERROR_INVALID_PTX);
    if (log[0])
        EXPECT(strstr(log, "P5916") && strstr(log, which) && strstr(log, "k0"));
    for (unsigned i = 0; i < 4; i++)
        want = want * (i | 1) + 1;
    OK(run(small, log, &x));
    EXPECT(x == want);
    free(large);
    free(small);
    return unused;
}

int
main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t t;
    which = argc > 1 ? argv[1] : "";
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    EXPECT(!pthread_create(&t, &small, work, NULL) && !pthread_join(t, NULL));
    printf("%d failures\n", failures);
    return failures != 0;
}
