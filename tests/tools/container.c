/* SPDX-License-Identifier: Apache-2.0
 * container HIP_LIBRARY: the container that cudaway-cc embedded as `kernels` loads with hipModuleLoadData, has the kernels of its table, and
 * computes what this program computes. For container.sh. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cudaway_kernel { const char *name; unsigned parameters, bytes; };
extern const unsigned char kernels[];
extern const size_t kernels_size;
extern const struct cudaway_kernel kernels_kernels[];

#define CALL(name, ...) ({ int e_ = ((int (*)())dlsym(hip, #name))(__VA_ARGS__); if (e_) { fprintf(stderr, "%s: error %d\n", #name, e_); exit(1); } })

int
main(int argc, char **argv)
{
    enum { N = 1000 };
    void *hip = dlopen(argv[1], RTLD_NOW), *module, *function, *device;
    static float x[N];
    unsigned seen = 0;
    if (!hip) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if ((size_t)kernels % 4096) {
        fprintf(stderr, "the container is not aligned to a page\n");
        return 1;
    }
    CALL(hipInit, 0);
    CALL(hipModuleLoadData, &module, kernels);
    for (const struct cudaway_kernel *k = kernels_kernels; k->name; k++, seen++) {
        CALL(hipModuleGetFunction, &function, module, k->name);
        if (!strcmp(k->name, "twice") && (k->parameters != 2 || k->bytes != 12)) {
            fprintf(stderr, "twice has %u parameters of %u bytes in the table\n", k->parameters, k->bytes);
            return 1;
        }
    }
    CALL(hipModuleGetFunction, &function, module, "twice");
    CALL(hipMalloc, &device, sizeof x);
    for (unsigned i = 0; i < N; i++)
        x[i] = (float)i / 4;
    CALL(hipMemcpy, device, x, sizeof x, 1);
    /* The parameters are one block, as PTX has them: HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END. */
    struct { void *x; unsigned n; } parameters = { device, N };
    size_t size = 12;
    void *extra[] = { (void *)1, &parameters, (void *)2, &size, (void *)3 };
    CALL(hipModuleLaunchKernel, function, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, NULL, extra);
    CALL(hipDeviceSynchronize);
    CALL(hipMemcpy, x, device, sizeof x, 2);
    for (unsigned i = 0; i < N; i++)
        if (x[i] != (float)i / 2) {
            fprintf(stderr, "x[%u] is %g, not %g\n", i, x[i], (double)i / 2);
            return 1;
        }
    printf("%u kernels, %zu bytes\n", seen, kernels_size);
    return 0;
}
