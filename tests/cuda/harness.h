/* SPDX-License-Identifier: Apache-2.0
 * What the kernel tests share: the driver functions they call (found in libcuda.so.1 by name, declared here from the
 * documentation so that the tests are a second opinion on the ABI), buffers, launches and checks.
 *
 * A test is a function that gets the module compiled from its .cu file. Checks count; the first few failures of a test
 * are printed with their index and both values. A driver error ends the program with its name. */
#ifndef TESTS_CUDA_HARNESS_H
#define TESTS_CUDA_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;

#define DRIVER_FUNCTIONS(X)                                                                                             \
    X(cuInit, (unsigned flags))                                                                                         \
    X(cuDeviceGet, (CUdevice *device, int ordinal))                                                                     \
    X(cuDeviceGetName, (char *name, int size, CUdevice device))                                                         \
    X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                               \
    X(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device))                                            \
    X(cuCtxDestroy_v2, (CUcontext context))                                                                             \
    X(cuCtxSynchronize, (void))                                                                                         \
    X(cuCtxSetLimit, (int limit, size_t value))                                                                         \
    X(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned count, int *options, void **values))           \
    X(cuModuleUnload, (CUmodule module))                                                                                \
    X(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name))                                   \
    X(cuModuleGetGlobal_v2, (CUdeviceptr *address, size_t *size, CUmodule module, const char *name))                    \
    X(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                              \
    X(cuMemAlloc_v2, (CUdeviceptr *address, size_t size))                                                               \
    X(cuMemFree_v2, (CUdeviceptr address))                                                                              \
    X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size))                                                 \
    X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size))                                                       \
    X(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t size))                                                \
    X(cuLaunchKernel, (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,            \
                       unsigned bz, unsigned shared, CUstream stream, void **params, void **extra))                     \
    X(cuGetErrorName, (CUresult result, const char **name))

struct driver {
#define X(name, params) CUresult (*name) params;
    DRIVER_FUNCTIONS(X)
#undef X
};
extern struct driver cu;

/* Ends the program with the error's name when `result` is not success. */
void must(CUresult result, const char *what);
#define MUST(call) must((call), #call)

struct test {
    const char *name;
    const char *kernels;        /* the .cu file, without its ending */
    void (*run)(CUmodule module);
    bool ends_context;          /* the context is unusable afterwards */
};
/* Each tests_*.c defines one; ended by a NULL name. */
extern const struct test vector_tests[], block_tests[], program_tests[], heap_tests[];

CUfunction get_function(CUmodule module, const char *name);
/* A buffer on the device, with the host's bytes in it (NULL: zeros). Freed by buffer_free. */
CUdeviceptr buffer_new(const void *bytes, size_t size);
void buffer_read(void *to, CUdeviceptr from, size_t size);
void buffer_free(CUdeviceptr address);

struct dims {
    unsigned x, y, z;
};
/* `params` as cuLaunchKernel takes them; waits for the end. */
void launch(CUfunction f, struct dims grid, struct dims block, unsigned shared, void **params);
#define LAUNCH(f, grid, block, shared, ...) launch((f), (grid), (block), (shared), (void *[]){__VA_ARGS__})
#define D1(x) ((struct dims){(x), 1, 1})
#define D2(x, y) ((struct dims){(x), (y), 1})

/* Compare arrays; `what` and the numbers of the printf-like label name the case. Floating point: the difference may be
 * at most `relative` of the expected magnitude plus `absolute`; both 0 asks for the same bits (any NaN equals any). */
void check_u32(const char *what, unsigned variant, const uint32_t *got, const uint32_t *want, size_t n);
void check_u64(const char *what, unsigned variant, const uint64_t *got, const uint64_t *want, size_t n);
void check_f32(const char *what, unsigned variant, const float *got, const double *want, size_t n, double relative, double absolute);
void check_f64(const char *what, unsigned variant, const double *got, const double *want, size_t n, double relative, double absolute);
void check_true(const char *what, unsigned variant, bool ok);
unsigned checks_failed(void);

/* A small generator with a fixed start for each test. */
void     random_start(uint32_t seed);
uint32_t random_u32(void);
float    random_float(float low, float high);
void    *allocate(size_t size);

/* Standard output goes to a file between these; the second returns its text (to be freed). */
void  capture_start(void);
char *capture_end(void);

/* Block sizes: below a warp, whole warps, and neither. Ended by 0. */
extern const unsigned block_sizes[];

#endif
