/* SPDX-License-Identifier: Apache-2.0
 * Attributes of kernels, occupancy, kernels by handle, libraries of the program's own ("Execution Control", "Occupancy",
 * "Library Management", CUDA Runtime API). */
#include "test.h"

__global__ void __attribute__((launch_bounds(128)))
bounded(int *p, long long n, char c)
{
    __shared__ int block[32];
    block[TID_X & 31] = c;
    SYNC();
    if ((long long)TID_X < n)
        p[TID_X] = block[TID_X & 31] + 1;
}

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 4 .u32 value = 17;\n"
    ".visible .entry twice(.param .u64 out)\n"
    "{\n .reg .b64 %rd<2>;\n .reg .b32 %r<2>;\n"
    " ld.param.u64 %rd1, [out];\n ld.global.u32 %r1, [value];\n add.u32 %r1, %r1, %r1;\n st.global.u32 [%rd1], %r1;\n ret;\n}\n";

static void
not_a_kernel(void)
{
}

/* CUDAway refuses what is no code when it is loaded. NVIDIA's lazy loading may look at it later: what each call says then is printed. */
static void
not_code(void)
{
    cudaLibrary_t lib = NULL;
    cudaKernel_t k = NULL;
    unsigned count = 77;

    if (!on_nvidia()) {
        REFUSED(cudaLibraryLoadData(&lib, "no code at all", NULL, NULL, 0, NULL, NULL, 0), cudaErrorInvalidKernelImage);
        return;
    }
    NOTE(cudaLibraryLoadData(&lib, "no code at all", NULL, NULL, 0, NULL, NULL, 0));
    NOTE(cudaGetLastError());
    if (!lib)
        return;
    NOTE(cudaLibraryGetKernelCount(&count, lib));
    NOTE(count);
    NOTE(cudaLibraryGetKernel(&k, lib, "twice"));
    NOTE(cudaLibraryUnload(lib));
    cudaGetLastError();
    NOTE(cudaLibraryLoadData(&lib, ".version 7.0\n.target sm_52\n.entry f() { no such; }\n", NULL, NULL, 0, NULL, NULL, 0));
    NOTE(cudaLibraryGetKernelCount(&count, lib));
    NOTE(cudaLibraryGetKernel(&k, lib, "f"));
    NOTE(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), NULL, 0, 0));
    NOTE(cudaGetLastError());
    NOTE(cudaDeviceSynchronize());
}

int
main(void)
{
    const void *f = (const void *)bounded;
    cudaFuncAttributes a;
    int blocks = 0, *d = NULL, h[128];
    size_t size = 0, offset = 99;
    const char *name = NULL;

    OK(cudaFuncGetAttributes(&a, f));
    EXPECT_EQ(a.maxThreadsPerBlock, 128);
    EXPECT_EQ(a.sharedSizeBytes, 128);
    EXPECT(a.numRegs > 0 && a.ptxVersion >= 50 && a.binaryVersion >= 50);
    OK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 4096));
    OK(cudaFuncGetAttributes(&a, f));
    EXPECT_EQ(a.maxDynamicSharedSizeBytes, 4096);
    REFUSED(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30), cudaErrorInvalidValue);
    REFUSED(cudaFuncGetAttributes(&a, (const void *)not_a_kernel), NOT_A_KERNEL);
    REFUSED(cudaFuncGetAttributes(NULL, f), cudaErrorInvalidValue);
    OK(cudaFuncSetCacheConfig(f, cudaFuncCachePreferL1));
    OK(cudaFuncGetName(&name, f));
    EXPECT(name && strstr(name, "bounded"));
    OK(cudaFuncGetParamInfo(f, 1, &offset, &size));
    EXPECT_EQ(offset, 8);
    EXPECT_EQ(size, 8);
    OK(cudaFuncGetParamInfo(f, 2, &offset, &size));
    EXPECT_EQ(offset, 16);
    EXPECT_EQ(size, 1);
    REFUSED(cudaFuncGetParamInfo(f, 3, &offset, &size), cudaErrorInvalidValue);

    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0));
    EXPECT(blocks >= 1);
    int fewer = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&fewer, f, 128, 40000, cudaOccupancyDefault));
    EXPECT(fewer <= blocks);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, f, 1, 128));
    EXPECT(size > 0);
    REFUSED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 128, 0), cudaErrorInvalidValue);

    OK(cudaMalloc((void **)&d, sizeof h));
    long long n = 128;
    char c = 'A';
    void *args[] = { &d, &n, &c };
    cudaKernel_t k = NULL, again = NULL;
    OK(cudaGetKernel(&k, f));
    OK(cudaGetKernel(&again, f));
    EXPECT(k);
    EXPECT_EQ(k, again);
    OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(128), args, 0, 0));
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++)
        EXPECT_EQ(h[i], 'B');
    REFUSED(cudaLaunchKernel(f, dim3(1), dim3(256), args, 0, 0), cudaErrorInvalidValue);
    OK(cudaKernelSetAttributeForDevice(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 2048, 0));

    cudaLibrary_t lib = NULL;
    void *address = NULL;
    unsigned count = 0;
    OK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, lib));
    EXPECT_EQ(count, 1);
    OK(cudaLibraryGetKernel(&k, lib, "twice"));
    void *one[] = { &d };
    OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), one, 0, 0));
    OK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(h[0], 34);
    OK(cudaLibraryGetGlobal(&address, &size, lib, "value"));
    EXPECT_EQ(size, 4);
    int v = 50;
    OK(cudaMemcpy(address, &v, 4, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), one, 0, 0));
    OK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(h[0], 100);
    REFUSED(cudaLibraryGetKernel(&k, lib, "thrice"), cudaErrorSymbolNotFound);
    OK(cudaLibraryUnload(lib));
    not_code();

    void *entry = NULL;
    cudaDriverEntryPointQueryResult q;
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, cudaEnableDefault, &q));
    EXPECT(entry);
    EXPECT_EQ(q, cudaDriverEntryPointSuccess);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &entry, 12000, cudaEnableDefault, &q));
    EXPECT_EQ(entry, 0);
    EXPECT_EQ(q, cudaDriverEntryPointSymbolNotFound);
    OK(cudaFree(d));
    return test_result();
}
