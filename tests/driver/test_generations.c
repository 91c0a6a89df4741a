/* SPDX-License-Identifier: Apache-2.0
 * What a device reports that CUDAWAY_COMPUTE_CAPABILITY gives a compute capability, 5.0 to 12.1: the values are those of the table
 * "Technical specifications per compute capability" in the CUDA programming guide. It also takes that generation's PTX. */
#include "tests/driver/test.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct generation {
    int major, minor, threads, blocks, shared_kib, optin_kib;   /* of a multiprocessor; optin: of a block */
} generations[] = {
    { 5, 0, 2048, 32, 64, 48 },  { 7, 0, 2048, 32, 96, 96 },    { 7, 5, 1024, 16, 64, 64 },    { 8, 0, 2048, 32, 164, 163 },
    { 8, 6, 1536, 16, 100, 99 }, { 8, 9, 1536, 24, 100, 99 },   { 9, 0, 2048, 32, 228, 227 },  { 10, 0, 2048, 32, 228, 227 },
    { 10, 3, 2048, 32, 228, 227 }, { 12, 0, 1536, 24, 100, 99 }, { 12, 1, 1536, 24, 100, 99 },
};

static int
attribute(CUdevice_attribute a)
{
    int v = -1;
    OK(cuDeviceGetAttribute(&v, a, 0));
    return v;
}

static void
check(const struct generation *g)
{
    char value[16], ptx[256];
    CUmodule module;
    CUfunction f;
    int version = 0;
    snprintf(value, sizeof value, "%d.%d", g->major, g->minor);
    setenv("CUDAWAY_COMPUTE_CAPABILITY", value, 1);
    make_context();
#define IS(name, want) do { int got = attribute(CU_DEVICE_ATTRIBUTE_##name); \
        if (got != (want)) fprintf(stderr, "%s: " #name " is %d, not %d\n", value, got, (want)), failures++; } while (0)
    IS(COMPUTE_CAPABILITY_MAJOR, g->major);
    IS(COMPUTE_CAPABILITY_MINOR, g->minor);
    IS(MAX_THREADS_PER_MULTIPROCESSOR, g->threads);
    IS(MAX_BLOCKS_PER_MULTIPROCESSOR, g->blocks);
    IS(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, g->shared_kib << 10);
    IS(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, g->optin_kib << 10);
    snprintf(ptx, sizeof ptx, ".version %s\n.target sm_%d%d\n.address_size 64\n.visible .entry k() { ret; }\n",
             g->major >= 10 ? "8.8" : "7.8", g->major, g->minor);
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&f, module, "k"));
    OK(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    EXPECT(version == g->major * 10 + g->minor);
}

int
main(void)
{
    for (unsigned i = 0; i < sizeof generations / sizeof *generations; i++) {
        int status = 0;
        pid_t child = fork();
        if (!child) {
            check(&generations[i]);
            fflush(NULL);
            _exit(failures ? 1 : 0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            fprintf(stderr, "compute capability %d.%d: status %d\n", generations[i].major, generations[i].minor, status);
            failures++;
        }
    }
    return failures;
}
