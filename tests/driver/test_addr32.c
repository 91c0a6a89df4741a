/* SPDX-License-Identifier: Apache-2.0
 * Modules with 32-bit addresses: what device memory they can name, and what fails clearly because they cannot. On devices that do not
 * run them (any but host), that loading says so. */
#include "tests/driver/test.h"

#define HEAD ".version 7.1\n.target sm_60\n"

static const char text[] = HEAD ".address_size 32\n"
    ".visible .entry copy(.param .u32 to, .param .u32 from)\n{\n"
    "    .reg .b32 %to, %from, %v;\n"
    "    ld.param.u32 %to, [to];\n    ld.param.u32 %from, [from];\n"
    "    ld.global.u32 %v, [%from];\n    st.global.u32 [%to], %v;\n    ret;\n}\n";
static const char wide[] = HEAD ".address_size 64\n.visible .func other() { ret; }\n";

static char jit_log[1024];

static CUresult
load(CUmodule *m)
{
    CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *v[] = { jit_log, (void *)sizeof jit_log };
    return cuModuleLoadDataEx(m, text, 2, o, v);
}

/* Copy a word with the kernel; what was copied. */
static unsigned
copied(CUmodule m, CUdeviceptr to, CUdeviceptr from)
{
    CUfunction f;
    unsigned got = 0;
    void *params[] = { &to, &from };
    OK(cuModuleGetFunction(&f, m, "copy"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&got, to, sizeof got));
    return got;
}

static void
link_mixed(void)
{
    CUlinkState s;
    void *image;
    size_t size;
    CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *v[] = { jit_log, (void *)sizeof jit_log };
    OK(cuLinkCreate_v2(2, o, v, &s));
    CUresult r = cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)text, sizeof text, "narrow.ptx", 0, NULL, NULL);
    if (r == CUDA_SUCCESS)
        r = cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, (void *)wide, sizeof wide, "wide.ptx", 0, NULL, NULL);
    if (r == CUDA_SUCCESS)
        r = cuLinkComplete(s, &image, &size);
    EXPECT(r != CUDA_SUCCESS);
    EXPECT(strstr(jit_log, "P4010"));
    OK(cuLinkDestroy(s));
}

int
main(void)
{
    CUcontext c = make_context();
    CUmodule m, second;
    CUdeviceptr a, b, far;
    unsigned word = 0x12345678, *host;
    const char *device = getenv("CUDAWAY_DEVICE");
    if (!device || strncmp(device, "host", 4)) {
        EXPECT_RESULT(load(&m), CUDA_ERROR_INVALID_PTX);
        EXPECT(strstr(jit_log, "P3090"));
        return failures != 0;
    }
    OK(cuMemAlloc_v2(&a, 4));           /* before the module is loaded */
    OK(cuMemcpyHtoD_v2(a, &word, 4));
    EXPECT((a & UINT32_MAX) != 0);      /* which would be the null pointer */
    OK(load(&m));
    OK(cuMemAlloc_v2(&b, 4));
    EXPECT(a >> 32 == b >> 32 && (b & UINT32_MAX) != 0);
    EXPECT(copied(m, b, a) == word);

    /* Pinned memory is where the module can name it, too; other host memory is refused. */
    OK(cuMemHostAlloc((void **)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CUdeviceptr p;
    OK(cuMemHostGetDevicePointer_v2(&p, host, 0));
    host[5] = 77;
    EXPECT(copied(m, b, p + 20) == 77);
    OK(cuMemFreeHost(host));
    static char mine[8192] __attribute__((aligned(4096)));
    int registers = 0;
    OK(cuDeviceGetAttribute(&registers, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0));
    EXPECT_RESULT(cuMemHostRegister_v2(mine, sizeof mine, 0), CUDA_ERROR_NOT_SUPPORTED);

    /* No place beyond 32 bits while such a module is there, and no such module while something is there. */
    EXPECT_RESULT(cuMemAddressReserve(&far, 5ull << 30, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAddressReserve(&far, 3ull << 30, 0, 0, 0));
    OK(cuMemAddressFree(far, 3ull << 30));
    OK(load(&second));
    OK(cuModuleUnload(m));
    EXPECT_RESULT(cuMemAddressReserve(&far, 5ull << 30, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuModuleUnload(second));
    OK(cuMemAddressReserve(&far, 5ull << 30, 0, 0, 0));
    EXPECT_RESULT(load(&m), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAddressFree(far, 5ull << 30));
    if (registers) {
        OK(cuMemHostRegister_v2(mine, sizeof mine, 0));
        OK(cuMemHostUnregister(mine));
    }
    OK(load(&m));
    EXPECT(copied(m, b, a) == word);
    OK(cuModuleUnload(m));
    link_mixed();
    OK(cuMemFree_v2(a));
    OK(cuMemFree_v2(b));
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
