/* SPDX-License-Identifier: Apache-2.0
 * Sequences of driver calls that a fuzzer chooses, on one thread: each byte is a choice of at_random.h. Wrong handles must be recognised,
 * results must be among those that the call can have, and with all contexts gone nothing is left (the sanitizer looks). */
#include "tests/driver/at_random.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What another process, which is there as long as this one, has to share: handles are bytes that come from outside. Not every device can share. */
static struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUmemPoolPtrExportData pointer;
} offer;
static int pool_file = -1;
static bool asked;

/* A pool is shared by a descriptor: the child writes which, and this process opens it there. */
static void
offer_things(int to)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUcontext c;
    CUdeviceptr p, q;
    CUevent e;
    CUmemoryPool pool;
    int fd = -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemAlloc_v2(&p, BYTES));
    if (cuIpcGetMemHandle(&offer.memory, p) == CUDA_ERROR_NOT_SUPPORTED)
        _exit(0);
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&offer.event, e));
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&q, BYTES, pool, NULL));
    OK(cuMemPoolExportPointer(&offer.pointer, q));
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    EXPECT(write(to, &offer, sizeof offer) == sizeof offer && write(to, &fd, sizeof fd) == sizeof fd);
    if (failures)
        _exit(1);
    for (;;)
        pause();
}

static void
start_other(void)
{
    int ends[2], fd, status;
    char path[64];
    if (pipe(ends))
        abort();
    const pid_t pid = fork();
    if (!pid)
        offer_things(ends[1]);
    close(ends[1]);
    if (pid > 0 && read(ends[0], &offer, sizeof offer) == sizeof offer && read(ends[0], &fd, sizeof fd) == sizeof fd) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        pool_file = open(path, O_RDWR | O_CLOEXEC);
    } else if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
        abort();
    }
    close(ends[0]);
}

/* Up to three bytes are others than they were. */
static void
damage(struct dice *s, void *handle, size_t size)
{
    for (unsigned n = rnd(s) % 4; n; n--)
        ((uint8_t *)handle)[rnd(s) % size] ^= (uint8_t)rnd(s);
}

static void
use_memory(CUdeviceptr p)
{
    note(cuMemsetD8_v2(p, 1, BYTES));
    note(cuIpcCloseMemHandle(p));
}

static void
offered_ops(struct dice *s)
{
    struct offer o = offer;
    CUdeviceptr p;
    CUevent e;
    CUmemoryPool pool;
    damage(s, &o, sizeof o);
    switch (rnd(s) % 3) {
    case 0:
        if (cuIpcOpenMemHandle_v2(&p, o.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS)
            use_memory(p);
        break;
    case 1:
        if (cuIpcOpenEventHandle(&e, o.event) == CUDA_SUCCESS) {
            note(cuEventRecord(e, NULL));
            note(cuEventQuery(e));
            note(cuEventDestroy_v2(e));
        }
        break;
    case 2:
        if (cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)pool_file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS) {
            if (cuMemPoolImportPointer(&p, pool, &o.pointer) == CUDA_SUCCESS)
                note(cuMemFree_v2(p));
            note(cuMemPoolDestroy(pool));
        }
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice s = { .data = data, .end = data + size };
    if (!size || size > 4096)
        return 0;
    if (!asked)
        start_other();
    asked = true;
    OK(cuInit(0));
    make_contexts();
    while (s.data < s.end) {
        unsigned what = rnd(&s) % 8;
        if (what == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        else if (what == 1)
            context_step(&s);
        else if (what == 2 && rnd(&s) % 2 && pool_file >= 0)
            offered_ops(&s);
        else
            work_step(&s);
    }
    end_everything();
    if (failures)
        abort();
    return 0;
}
