/* SPDX-License-Identifier: Apache-2.0
 * Work whose memory has gone when its turn comes: the context's sticky error, as for a kernel's bad address, and never a signal; and addresses
 * of device memory that is not allocated, which are no host memory. Each case is a process of its own. The argument "waits": the device's
 * unmapping waits for its work, which then has its memory. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4 << 20 };

static _Atomic bool gate;
static CUstream stream;
static CUdeviceptr mapped, other;
static bool waits, over_cuda;

static void CUDA_CB
wait_for_gate(void *unused)
{
    while (!atomic_load(&gate))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void *
open_gate(void *unused)
{
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    atomic_store(&gate, true);
    return unused;
}

static CUdeviceptr
map(void)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    OK(cuMemAddressReserve(&p, SIZE, 0, 0, 0));
    OK(cuMemCreate(&h, SIZE, &prop, 0));
    OK(cuMemMap(p, SIZE, 0, h, 0));
    OK(cuMemSetAccess(p, SIZE, &access, 1));
    return p;
}

static void fill(void) { OK(cuMemsetD32Async(mapped + 64, 7, 1000, stream)); }
static void fill_2d(void) { OK(cuMemsetD2D8Async(mapped, 4096, 7, 100, 100, stream)); }
static void copy_from(void) { OK(cuMemcpyDtoDAsync_v2(other, mapped, SIZE, stream)); }
static void copy_to(void) { OK(cuMemcpyDtoDAsync_v2(mapped, other, SIZE, stream)); }
static void write_value(void) { OK(cuStreamWriteValue32_v2(stream, mapped, 1, 0)); }
static void wait_value(void) { OK(cuStreamWaitValue32_v2(stream, mapped, 0, CU_STREAM_WAIT_VALUE_EQ)); }

static void
queued(void (*submit)(void))
{
    pthread_t t;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    mapped = map();
    OK(cuMemAlloc_v2(&other, SIZE));
    OK(cuLaunchHostFunc(stream, wait_for_gate, NULL));
    submit();
    pthread_create(&t, NULL, open_gate, NULL);
    OK(cuMemUnmap(mapped, SIZE));
    CUresult want = waits ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    const CUresult got = cuStreamSynchronize(stream);
    if (over_cuda && got == CUDA_ERROR_LAUNCH_FAILED)
        want = got;                     /* NVIDIA's driver on an H200: of fill, write_value and wait_value (fill.unmapped_while_queued in fault_table.txt) */
    EXPECT_RESULT(got, want);
    EXPECT_RESULT(cuMemsetD8_v2(other, 0, 4), want);
    pthread_join(t, NULL);
}

/* Neither end of a copy is the host's because nobody knows it. Where device memory has no place of its own (HIP), the copy fails later. */
static void
unallocated(void)
{
    static char host[SIZE];
    CUdeviceptr p, live;
    OK(cuMemAlloc_v2(&live, SIZE));
    OK(cuMemAlloc_v2(&p, SIZE));
    OK(cuMemFree_v2(p));
    EXPECT_RESULT(cuMemcpyDtoH_v2(host, p, 4), CUDA_ERROR_INVALID_VALUE);
    if (!waits) {
        EXPECT_RESULT(cuMemcpy(live, p, SIZE), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuMemcpy(p, live, SIZE), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuMemcpy((uintptr_t)host, p, 4), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuMemcpyHtoD_v2(live, (void *)(uintptr_t)p, 4), CUDA_ERROR_INVALID_VALUE);
        OK(cuCtxSynchronize());
    } else {
        EXPECT(cuMemcpy((uintptr_t)host, p, 4) != CUDA_SUCCESS);
    }
}

/* A host pointer that names nothing is read by a thread of the device. */
static void
bad_host(void)
{
    CUdeviceptr p;
    void *h = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(cuMemAlloc_v2(&p, SIZE));
    mprotect(h, SIZE, PROT_NONE);
    EXPECT(cuMemcpyHtoD_v2(p, h, SIZE) != CUDA_SUCCESS);
}

/* 4 GiB: also an address of the address sanitizer's own memory. */
static void
wild_host(void)
{
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, SIZE));
    EXPECT(cuMemcpyHtoD_v2(p, (void *)(uintptr_t)(1ull << 32), SIZE) != CUDA_SUCCESS);
}

static void
graph_of_freed(void)
{
    CUcontext c;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUdeviceptr p;
    OK(cuCtxGetCurrent(&c));
    OK(cuMemAlloc_v2(&p, SIZE));
    CUDA_MEMSET_NODE_PARAMS set = { .dst = p, .elementSize = 4, .value = 3, .width = 100, .height = 1 };
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemsetNode(&n, g, NULL, 0, &set, c));
    OK(cuGraphInstantiateWithFlags(&x, g, 0));
    OK(cuGraphLaunch(x, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(p));
    CUresult e = cuGraphLaunch(x, NULL);
    if (e == CUDA_SUCCESS)
        e = cuCtxSynchronize();
    EXPECT(e == CUDA_ERROR_INVALID_VALUE || e == CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const struct {
    const char *name;
    void (*submit)(void), (*run)(void);
} cases[] = {
    { "fill", fill, NULL }, { "fill_2d", fill_2d, NULL }, { "copy_from", copy_from, NULL }, { "copy_to", copy_to, NULL },
    { "write_value", write_value, NULL }, { "wait_value", wait_value, NULL }, { "unallocated", NULL, unallocated },
    { "bad_host", NULL, bad_host }, { "wild_host", NULL, wild_host }, { "graph_of_freed", NULL, graph_of_freed },
};

int
main(int argc, char **argv)
{
    const size_t count = sizeof cases / sizeof *cases;
    waits = argc > 1 && !strcmp(argv[1], "waits");
    over_cuda = is_over_cuda();
    for (size_t i = 0; i < count; i++) {
        pid_t pid = fork();
        if (!pid) {
            failures = 0;
            make_context();
            if (cases[i].submit)
                queued(cases[i].submit);
            else
                cases[i].run();
            _exit(failures != 0);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        if (status) {
            fprintf(stderr, "%s: status %#x\n", cases[i].name, (unsigned)status);
            failures++;
        }
    }
    return failures != 0;
}
