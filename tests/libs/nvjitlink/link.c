/* SPDX-License-Identifier: Apache-2.0
 * Our libnvJitLink: PTX and stand-ins of LTO-IR are linked, loaded and run; wrong use gives the manual's results.
 * Arguments: the library to open, and "lto", "no_lto" (whether NVIDIA's, of which theirs.c plays the part, can be found). */
#include "impl/api/cuda.h"
#include "tests/libs/nvjitlink/parts.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); exit(1); } } while (0)

typedef struct linker *handle;

static int (*create)(handle *, uint32_t, const char **), (*destroy)(handle *), (*add)(handle, int, const void *, size_t, const char *),
    (*add_file)(handle, int, const char *), (*complete)(handle), (*cubin_size)(handle, size_t *), (*cubin)(handle, void *),
    (*ptx_size)(handle, size_t *), (*ptx)(handle, char *), (*log_size)(handle, size_t *), (*get_log)(handle, char *), (*version)(unsigned *, unsigned *);

static void *
look_up(void *l, const char *name)
{
    void *p = dlsym(l, name);
    if (!p)
        fprintf(stderr, "no %s\n", name);
    CHECK(p);
    return p;
}

static handle
linker(const char *o1, const char *o2)
{
    handle h = NULL;
    const char *options[] = { "-arch=sm_80", o1, o2 };
    CHECK(create(&h, 1 + !!o1 + !!o2, options) == 0 && h);
    return h;
}

static const char *
log_of(handle h)
{
    static char text[4096];
    size_t size;
    CHECK(log_size(h, &size) == 0 && size && size <= sizeof text && get_log(h, text) == 0 && strlen(text) == size - 1);
    return text;
}

/* Load what was linked, and run it: 5 -> 3 * 5 + 4. */
static void
run(handle h)
{
    size_t size = 0;
    CUmodule m;
    CUfunction f;
    CUdeviceptr d;
    int v = 5;
    CHECK(cubin_size(h, &size) == 0 && size);
    void *image = malloc(size);
    CHECK(cubin(h, image) == 0);
    CHECK(cuModuleLoadData(&m, image) == CUDA_SUCCESS && cuModuleGetFunction(&f, m, "f") == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&d, 4) == CUDA_SUCCESS && cuMemcpyHtoD_v2(d, &v, 4) == CUDA_SUCCESS);
    void *args[] = { &d };
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS && cuMemcpyDtoH_v2(&v, d, 4) == CUDA_SUCCESS);
    CHECK(v == 19);
    CHECK(cuMemFree_v2(d) == CUDA_SUCCESS && cuModuleUnload(m) == CUDA_SUCCESS);
    free(image);
    CHECK(destroy(&h) == 0 && !h);
}

static void
wrong_use(void)
{
    handle h = NULL;
    size_t size;
    const char *no_arch[] = { "-lto" }, *no_option[] = { "-arch=sm_80", "lto" };
    CHECK(create(&h, 1, no_arch) == 2 && !h);               /* NVJITLINK_ERROR_MISSING_ARCH */
    CHECK(create(&h, 2, no_option) == 1 && !h);             /* NVJITLINK_ERROR_UNRECOGNIZED_OPTION */
    CHECK(create(NULL, 1, no_arch) == 10);                  /* NVJITLINK_ERROR_NULL_INPUT */
    CHECK(destroy(&h) == 10);
    h = linker(NULL, NULL);
    CHECK(complete(h) == 3);                                /* NVJITLINK_ERROR_INVALID_INPUT: nothing to link */
    CHECK(add(h, 99, kernel, sizeof kernel, "k") == 3 && add(h, PTX, NULL, 1, "k") == 10);
    CHECK(add(h, LTOIR, LTO, 4, "l") == 3 && strstr(log_of(h), "-lto"));
    CHECK(add_file(h, PTX, "/nonexistent/a.ptx") == 3 && strstr(log_of(h), "/nonexistent/a.ptx"));
    CHECK(cubin_size(h, &size) != 0);
    CHECK(destroy(&h) == 0);
    h = linker(NULL, NULL);                                 /* a function that nothing defines */
    CHECK(add(h, PTX, kernel, sizeof kernel, "k") == 0 && complete(h) == 9 && strstr(log_of(h), "g"));
    CHECK(destroy(&h) == 0);
    h = linker(NULL, NULL);
    CHECK(add(h, PTX, "nonsense", 8, "n") == 0 && complete(h) != 0 && *log_of(h));
    CHECK(destroy(&h) == 0);
    h = linker("-lto", "-ptx");
    CHECK(add(h, PTX, kernel, sizeof kernel, "k") == 0 && complete(h) == 3 && strstr(log_of(h), "-ptx"));
    CHECK(destroy(&h) == 0);
}

int
main(int argc, char **argv)
{
    CHECK(argc == 3);
    void *l = dlopen(argv[1], RTLD_NOW);
    if (!l)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(l);
    bool twelve = strstr(argv[1], ".so.12") != NULL;
#define GET(pointer, name) *(void **)&pointer = look_up(l, name)
    GET(create, twelve ? "__nvJitLinkCreate_12_4" : "__nvJitLinkCreate_13_0");
    GET(destroy, twelve ? "__nvJitLinkDestroy_12_0" : "__nvJitLinkDestroy_13_0");
    GET(add, "nvJitLinkAddData");
    GET(add_file, "nvJitLinkAddFile");
    GET(complete, "nvJitLinkComplete");
    GET(cubin_size, "nvJitLinkGetLinkedCubinSize");
    GET(cubin, "nvJitLinkGetLinkedCubin");
    GET(ptx_size, "nvJitLinkGetLinkedPtxSize");
    GET(ptx, "nvJitLinkGetLinkedPtx");
    GET(log_size, "nvJitLinkGetErrorLogSize");
    GET(get_log, "nvJitLinkGetErrorLog");
    GET(version, "nvJitLinkVersion");

    unsigned major = 0, minor = 99;
    CHECK(version(&major, &minor) == 0 && major == (twelve ? 12 : 13) && minor < 20);
    wrong_use();

    handle h = linker(NULL, NULL);                          /* without a context of the program's */
    CUcontext c = NULL;
    CHECK(add(h, PTX, kernel, sizeof kernel, "k") == 0 && add(h, ANY, function, strlen(function), NULL) == 0 && complete(h) == 0);
    CHECK(cuInit(0) == CUDA_SUCCESS && cuCtxGetCurrent(&c) == CUDA_SUCCESS && !c);
    CHECK(cuDevicePrimaryCtxRetain(&c, 0) == CUDA_SUCCESS && cuCtxSetCurrent(c) == CUDA_SUCCESS);
    run(h);

    char lto[sizeof LTO + sizeof function];
    size_t size = (size_t)snprintf(lto, sizeof lto, "%s%s", LTO, function);
    h = linker("-lto", "-O3");
    CHECK(add(h, PTX, kernel, sizeof kernel, "k") == 0 && add(h, ANY, lto, size, "lto") == 0);
    if (!strcmp(argv[2], "lto")) {
        CHECK(complete(h) == 0);
        run(h);
        h = linker("-lto", "-ptx");
        CHECK(add(h, LTOIR, lto, size, "lto") == 0 && complete(h) == 0 && cubin_size(h, &size) != 0);
        char text[sizeof function];
        CHECK(ptx_size(h, &size) == 0 && size == sizeof function && ptx(h, text) == 0 && !strcmp(text, function));
    } else {
        CHECK(complete(h) != 0 && *log_of(h));     /* a toolkit's library, where there is one, does not take this */
    }
    CHECK(destroy(&h) == 0);
    puts("ok");
    return 0;
}
