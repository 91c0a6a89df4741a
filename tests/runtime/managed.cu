/* SPDX-License-Identifier: Apache-2.0
 * Managed memory: advice, prefetching, attributes of ranges; memory of another process (where the device shares memory so). */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void
increment(int *p)
{
    p[TID_X]++;
}

static cudaMemLocation
place(cudaMemLocationType type, int id)
{
    cudaMemLocation l;
    memset(&l, 0, sizeof l);
    l.type = type;
    l.id = id;
    return l;
}

static void
advice(void)
{
    int *p, value = -9, preferred = -9;
    cudaStream_t s;
    const size_t size = 1 << 16;

    OK(cudaStreamCreate(&s));
    OK(cudaMallocManaged((void **)&p, size, cudaMemAttachGlobal));
    memset(p, 0, size);
    OK(cudaMemAdvise(p, size, cudaMemAdviseSetReadMostly, place(cudaMemLocationTypeDevice, 0)));
    OK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, p, size));
    EXPECT(value == 1);
    OK(cudaMemAdvise(p, size, cudaMemAdviseUnsetReadMostly, place(cudaMemLocationTypeDevice, 0)));
    OK(cudaMemAdvise(p, size, cudaMemAdviseSetPreferredLocation, place(cudaMemLocationTypeDevice, 0)));
    void *data[2] = { &value, &preferred };
    size_t sizes[2] = { sizeof value, sizeof preferred };
    cudaMemRangeAttribute which[2] = { cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation };
    OK(cudaMemRangeGetAttributes(data, sizes, which, 2, p, size));
    EXPECT(value == 0 && preferred == 0);
    OK(cudaMemPrefetchAsync(p, size, place(cudaMemLocationTypeDevice, 0), 0, s));
    increment<<<1, 32, 0, s>>>(p);
    OK(cudaMemPrefetchAsync(p, size, place(cudaMemLocationTypeHost, 0), 0, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(p[0] == 1 && p[31] == 1 && p[32] == 0);
    OK(cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachSingle));
    OK(cudaStreamSynchronize(s));
    int *not_managed;
    OK(cudaMalloc((void **)&not_managed, 64));
    REFUSED(cudaMemAdvise(not_managed, 64, cudaMemAdviseSetReadMostly, place(cudaMemLocationTypeDevice, 0)), cudaErrorInvalidValue);
    OK(cudaFree(not_managed));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

#ifdef __NVCC__
/* A __managed__ variable: memory that both sides use, with what managed memory has. */
static void
attributes(int *p)
{
    cudaPointerAttributes a;
    int value = -9;

    OK(cudaPointerGetAttributes(&a, p));
    EXPECT(a.type == cudaMemoryTypeManaged && a.device == 0 && a.devicePointer == p && a.hostPointer == p);
    OK(cudaMemAdvise(p, 4 * sizeof *p, cudaMemAdviseSetReadMostly, place(cudaMemLocationTypeDevice, 0)));
    OK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, p, 4 * sizeof *p));
    EXPECT(value == 1);
    OK(cudaMemAdvise(p, 4 * sizeof *p, cudaMemAdviseUnsetReadMostly, place(cudaMemLocationTypeDevice, 0)));
    OK(cudaMemPrefetchAsync(p, 4 * sizeof *p, place(cudaMemLocationTypeDevice, 0), 0, 0));
    REFUSED(cudaFree(p), cudaErrorInvalidValue);
}

__device__ int before = 3;
__managed__ int shared_numbers[4] = { 1, 2, 3, 4 };
__device__ int behind = 5;

__global__ void
add_all()
{
    shared_numbers[TID_X] += before * 10 + behind;
}

static void
variable(void)
{
    cudaPointerAttributes a;
    int copy[4], *ordinary;

    EXPECT(shared_numbers[0] == 1 && shared_numbers[3] == 4);
    shared_numbers[2] = 100;            /* the host writes, the device adds 35 */
    add_all<<<1, 4>>>();
    OK(cudaDeviceSynchronize());
    EXPECT(shared_numbers[0] == 36 && shared_numbers[2] == 135 && shared_numbers[3] == 39);
    attributes(shared_numbers);
    OK(cudaMemcpyFromSymbol(copy, shared_numbers, sizeof copy));
    EXPECT(copy[1] == 37 && copy[2] == 135);
    /* Its neighbours are ordinary. */
    OK(cudaGetSymbolAddress((void **)&ordinary, before));
    OK(cudaPointerGetAttributes(&a, ordinary));
    EXPECT(a.type == cudaMemoryTypeDevice);
    REFUSED(cudaMemAdvise(ordinary, 4, cudaMemAdviseSetReadMostly, place(cudaMemLocationTypeDevice, 0)), cudaErrorInvalidValue);
    OK(cudaGetSymbolAddress((void **)&ordinary, behind));
    OK(cudaPointerGetAttributes(&a, ordinary));
    EXPECT(a.type == cudaMemoryTypeDevice);
}
#endif

/* The child is the program itself: a process that used CUDA cannot go on after a fork. */
static int
child(const char *hex)
{
    cudaIpcMemHandle_t h;
    int *p;
    for (size_t i = 0; i < sizeof h; i++)
        if (sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&h + i) != 1)
            return 2;
    OK(cudaIpcOpenMemHandle((void **)&p, h, cudaIpcMemLazyEnablePeerAccess));
    increment<<<1, 32>>>(p);
    OK(cudaDeviceSynchronize());
    OK(cudaIpcCloseMemHandle(p));
    return test_result();
}

static void
other_process(char **argv)
{
    cudaIpcMemHandle_t m;
    char hex[2 * sizeof m + 1];
    int *p, h[32], status = -1;

    OK(cudaMalloc((void **)&p, sizeof h));
    OK(cudaMemset(p, 0, sizeof h));
    OK(cudaDeviceSynchronize());
    OK(cudaIpcGetMemHandle(&m, p));
    for (size_t i = 0; i < sizeof m; i++)
        sprintf(hex + 2 * i, "%02x", ((unsigned char *)&m)[i]);
    pid_t pid = fork();
    if (!pid) {
        execl(argv[0], argv[0], hex, (char *)NULL);
        _exit(3);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(h[i] == 1);
    REFUSED(cudaIpcGetMemHandle(&m, &status), cudaErrorInvalidValue);
    OK(cudaFree(p));
}

int
main(int argc, char **argv)
{
    if (argc > 1)
        return child(argv[1]);
    advice();
#ifdef __NVCC__                         /* clang has no __managed__ for NVIDIA's devices; registration.c registers one */
    variable();
#endif
    if (on_host())
        other_process(argv);
    return test_result();
}
