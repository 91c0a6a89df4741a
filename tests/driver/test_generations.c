/* SPDX-License-Identifier: Apache-2.0
 * What a device reports that CUDAWAY_COMPUTE_CAPABILITY gives a compute capability, 5.0 to 12.1: the values are those of the table
 * "Technical specifications per compute capability" in the CUDA programming guide. It also takes that generation's PTX. Without the
 * variable, and with a bad value, it is 8.0, which takes newer PTX too and says on the log, once, how to report its generation. */
#include "tests/driver/test.h"

#include <stdbool.h>
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

static bool
logged(const char *file, const char *text, int times)
{
    char line[512];
    int n = 0;
    FILE *f = fopen(file, "r");
    EXPECT(f);
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, text) != NULL;
    if (f)
        fclose(f);
    if (n != times)
        fprintf(stderr, "%d lines with '%s', not %d\n", n, text, times);
    return n == times;
}

/* value: NULL for unset. */
static void
check_default(const char *value)
{
    char log[] = "/tmp/generations-XXXXXX";
    CUmodule module;
    CUfunction f;
    int version = 0, fd = mkstemp(log);
    EXPECT(fd >= 0);
    close(fd);
    setenv("CUDAWAY_LOG_FILE", log, 1);
    setenv("CUDAWAY_LOG", "warn", 1);
    unsetenv("CUDAWAY_COMPUTE_CAPABILITY");
    if (value)
        setenv("CUDAWAY_COMPUTE_CAPABILITY", value, 1);
    make_context();
    IS(COMPUTE_CAPABILITY_MAJOR, 8);
    IS(COMPUTE_CAPABILITY_MINOR, 0);
    for (int i = 0; i < 2; i++) {
        OK(cuModuleLoadData(&module, ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k() { ret; }\n"));
        OK(cuModuleGetFunction(&f, module, "k"));
        OK(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
        EXPECT(version == 80);
    }
    EXPECT(logged(log, "only PTX for sm_120a is there, newer than the device's compute capability 8.0; trying it "
                  "(CUDAWAY_COMPUTE_CAPABILITY=12.0 makes the device report that one)", 1));
    EXPECT(logged(log, "is not MAJOR.MINOR from 3.0 to 12.9; using 8.0", value != NULL));
    /* Machine code alone: a cubin of sm_86, by its header's flags. */
    unsigned char cubin[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7, [16] = 2, [18] = 190, [20] = 1, [48] = 86, [49] = 5, [50] = 86, [52] = 64 };
    EXPECT_RESULT(cuModuleLoadData(&module, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT(logged(log, "the image holds machine code for sm_86 only", 1));
    EXPECT(logged(log, "set CUDAWAY_COMPUTE_CAPABILITY to one of theirs", 1));
    unlink(log);
}

static void
in_child(const struct generation *g, const char *value)
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        if (g)
            check(g);
        else
            check_default(value);
        fflush(NULL);
        _exit(failures ? 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) {
        if (g)
            fprintf(stderr, "compute capability %d.%d: status %d\n", g->major, g->minor, status);
        else
            fprintf(stderr, "compute capability by default, variable %s: status %d\n", value ? value : "unset", status);
        failures++;
    }
}

int
main(void)
{
    for (unsigned i = 0; i < sizeof generations / sizeof *generations; i++)
        in_child(&generations[i], NULL);
    in_child(NULL, NULL);
    in_child(NULL, "13.0");
    in_child(NULL, "8.6x");
    return failures;
}
