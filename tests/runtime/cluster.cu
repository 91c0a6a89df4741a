/* SPDX-License-Identifier: Apache-2.0
 * Clusters of blocks (CUDA Programming Guide, "Thread Block Clusters"): declared by the kernel and asked for by the launch; shared memory of
 * other blocks; occupancy. Needs a device of compute capability 9.0 (CUDAWAY_COMPUTE_CAPABILITY). */
#include "test.h"

#ifdef __NVCC__
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CLUSTER_SIZE() cg::this_cluster().num_blocks()
#define CLUSTER_SYNC() cg::this_cluster().sync()
#define OF_RANK(p, r)  cg::this_cluster().map_shared_rank(p, r)
#define ATOMIC_ADD(p, v) atomicAdd(p, v)
#define DECLARED __cluster_dims__(4, 1, 1)
#define ASKED    0              /* of the launch, for what DECLARED has */
#else
#define CLUSTER_SIZE() __nvvm_read_ptx_sreg_cluster_nctarank()
#define CLUSTER_SYNC() (__nvvm_barrier_cluster_arrive(), __nvvm_barrier_cluster_wait())
#define OF_RANK(p, r)  ((int *)__nvvm_mapa(p, r))
#define ATOMIC_ADD(p, v) __nvvm_atom_add_gen_i(p, v)
#define DECLARED                /* clang 22 writes no directive for its cluster_dims */
#define ASKED    4
#endif

/* A histogram over the cluster's shared memory: block r has the bins r, r + size, ...; each block writes its own. */
__device__ static void
histogram(const int *values, int *out, int n)
{
    __shared__ int bins[4];
    unsigned size = CLUSTER_SIZE();

    if (TID_X < 4)
        bins[TID_X] = 0;
    CLUSTER_SYNC();
    for (unsigned i = GLOBAL_X; i < (unsigned)n; i += NTID_X * NCTAID_X) {
        unsigned bin = (unsigned)values[i] % (4 * size);
        ATOMIC_ADD(OF_RANK(&bins[bin / size], bin % size), 1);
    }
    CLUSTER_SYNC();
    if (TID_X < 4)
        out[CTAID_X * 4 + TID_X] = bins[TID_X];
}

__global__ void DECLARED
declared(const int *values, int *out, int n)
{
    histogram(values, out, n);
}

__global__ void
sized(const int *values, int *out, int n)
{
    histogram(values, out, n);
}

enum { N = 4096, BLOCKS = 8 };

/* The bins of each cluster by hand: value i is (7 i) % 64, and thread i % (BLOCKS * 32) of the grid takes it. */
static void
check(const int *out, unsigned size)
{
    int want[BLOCKS * 4] = { 0 };

    for (int i = 0; i < N; i++) {
        unsigned block = (unsigned)i % (BLOCKS * 32) / 32, bin = (unsigned)(7 * i % 64) % (4 * size);
        want[(block / size * size + bin % size) * 4 + bin / size]++;
    }
    for (int i = 0; i < BLOCKS * 4; i++)
        EXPECT_EQ(out[i], want[i]);
}

static cudaError_t
launch(const void *f, unsigned size, const int *values, int *out, unsigned blocks, cudaStream_t stream = NULL)
{
    int n = N;
    void *args[] = { &values, &out, &n };
    cudaLaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = size;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    cudaLaunchConfig_t c;
    memset(&c, 0, sizeof c);
    c.gridDim = dim3(blocks);
    c.blockDim = dim3(32);
    c.stream = stream;
    c.attrs = &a;
    c.numAttrs = size ? 1 : 0;
    return cudaLaunchKernelExC(&c, f, args);
}

/* Launches of two streams, whose clusters grow: each has its own shared memory. */
static void
streams(const int *values)
{
    enum { EACH = 4 };
    int *out[2], back[BLOCKS * 4];
    cudaStream_t stream[2];

    for (int s = 0; s < 2; s++) {
        OK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        OK(cudaMalloc((void **)&out[s], EACH * sizeof back));
    }
    for (int i = 0; i < EACH; i++)
        for (int s = 0; s < 2; s++)
            OK(launch((const void *)sized, s ? 8 >> i : 1 << i, values, out[s] + i * BLOCKS * 4, BLOCKS, stream[s]));
    for (int s = 0; s < 2; s++) {
        OK(cudaStreamSynchronize(stream[s]));
        for (int i = 0; i < EACH; i++) {
            OK(cudaMemcpy(back, out[s] + i * BLOCKS * 4, sizeof back, cudaMemcpyDeviceToHost));
            check(back, s ? 8 >> i : 1 << i);
        }
        OK(cudaStreamDestroy(stream[s]));
        OK(cudaFree(out[s]));
    }
}

int
main()
{
    static int h[N], back[BLOCKS * 4];
    int *values, *out, supported = 0;

    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0));
    OK(cudaMalloc((void **)&values, sizeof h));
    OK(cudaMalloc((void **)&out, sizeof back));
    for (int i = 0; i < N; i++)
        h[i] = 7 * i % 64;
    OK(cudaMemcpy(values, h, sizeof h, cudaMemcpyHostToDevice));
    if (!supported) {                   /* a clear answer, and nothing has run */
        OK(cudaMemset(out, 0xff, sizeof back));
        REFUSED(launch((const void *)declared, ASKED, values, out, BLOCKS), cudaErrorNotSupported);
        REFUSED(launch((const void *)sized, 2, values, out, BLOCKS), cudaErrorNotSupported);
        OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
        EXPECT_EQ(back[0], -1);
        EXPECT(!on_host());
        return test_result();
    }
    OK(launch((const void *)declared, ASKED, values, out, BLOCKS));
    OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
    check(back, 4);
    for (unsigned size = 1; size <= 8; size *= 2) {
        OK(launch((const void *)sized, size, values, out, BLOCKS));
        OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
        check(back, size);
    }
    streams(values);
#ifdef __NVCC__
    REFUSED(launch((const void *)declared, 2, values, out, BLOCKS), cudaErrorInvalidClusterSize);
#endif
    REFUSED(launch((const void *)sized, 4, values, out, 6), cudaErrorInvalidClusterSize);
    REFUSED(launch((const void *)sized, 16, values, out, 16), cudaErrorInvalidClusterSize);

    cudaLaunchConfig_t c;
    memset(&c, 0, sizeof c);
    c.gridDim = dim3(BLOCKS);
    c.blockDim = dim3(32);
    int n = 0, one = 0;
    OK(cudaOccupancyMaxPotentialClusterSize(&n, (const void *)sized, &c));
    EXPECT_EQ(n, 8);
    NOTE(cudaOccupancyMaxActiveClusters(&one, (const void *)sized, &c));    /* of no size: an error by the manual */
    NOTE(one);
    cudaLaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = 1;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    c.attrs = &a;
    c.numAttrs = 1;
    OK(cudaOccupancyMaxActiveClusters(&one, (const void *)sized, &c));
    a.val.clusterDim.x = 4;
    OK(cudaOccupancyMaxActiveClusters(&n, (const void *)sized, &c));
    /* Four blocks each. A cluster lies within a cluster of multiprocessors, whose number need not be a multiple of four: then there are fewer. */
    NOTE(one);
    NOTE(n);
    EXPECT(n > 0 && n <= one / 4);
    if (!on_nvidia())
        EXPECT_EQ(n, one / 4);
    OK(cudaFree(values));
    OK(cudaFree(out));
    return test_result();
}
