/* SPDX-License-Identifier: Apache-2.0
 * Two devices: a kernel on one writes to the other's memory once that is allowed, and what is allowed is said right. */
#include "impl/api/cuda.h"
#include "tests/driver/test.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 v)\n{\n"
    " .reg .b64 %d<3>; .reg .b32 %r<3>;\n"
    " ld.param.u64 %d0, [p]; ld.param.u32 %r0, [v]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1;\n"
    " add.u32 %r0, %r0, %r1; st.global.u32 [%d0], %r0; ret;\n}\n";

int
main(void)
{
    enum { N = 64 };
    int n, can;
    CUcontext c[2];
    CUdeviceptr p, q;
    CUmodule m;
    CUfunction f;
    unsigned data[N], first = 7;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    EXPECT(n == 2);
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0);
    OK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 0));
    EXPECT(can == 1);
    for (int i = 0; i < 2; i++)
        OK(cuDevicePrimaryCtxRetain(&c[i], i));
    OK(cuCtxSetCurrent(c[1]));
    OK(cuMemAlloc_v2(&p, sizeof data));
    OK(cuCtxSetCurrent(c[0]));
    OK(cuMemAlloc_v2(&q, sizeof data));
    EXPECT_RESULT(cuCtxDisablePeerAccess(c[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT_RESULT(cuCtxEnablePeerAccess(c[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    OK(cuCtxEnablePeerAccess(c[1], 0));
    EXPECT_RESULT(cuCtxEnablePeerAccess(c[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, (void *[]){ &p, &first }, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyPeer(q, c[0], p, c[1], sizeof data));
    OK(cuMemcpyDtoH_v2(data, q, sizeof data));
    for (unsigned i = 0; i < N; i++)
        EXPECT(data[i] == 7 + i);
    OK(cuCtxDisablePeerAccess(c[1]));
    OK(cuCtxEnablePeerAccess(c[1], 0));     /* HIP's own access stayed */
    return failures != 0;
}
