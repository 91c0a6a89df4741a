/* SPDX-License-Identifier: Apache-2.0
 * Memory, pools and events between two processes: this one exports, a child of it (this program again, with an argument) imports. What
 * crosses is what a program sends: 64-byte handles and file descriptors. */
#include "tests/driver/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3 << 20, SMALL = 5000, CHUNK = 2 << 20 };

struct message {
    CUipcMemHandle large, small;
    CUipcEventHandle done, several;
    CUmemPoolPtrExportData pointer;
};

static uint32_t
word(uint32_t i, uint32_t seed)
{
    return i * 2654435761u + seed;
}

static void
fill(CUdeviceptr p, size_t bytes, uint32_t seed)
{
    uint32_t *h = malloc(bytes);
    for (uint32_t i = 0; i < bytes / 4; i++)
        h[i] = word(i, seed);
    OK(cuMemcpyHtoD_v2(p, h, bytes));
    free(h);
}

static bool
holds(CUdeviceptr p, size_t bytes, uint32_t seed)
{
    uint32_t *h = calloc(1, bytes), bad = 0;
    OK(cuMemcpyDtoH_v2(h, p, bytes));
    for (uint32_t i = 0; i < bytes / 4; i++)
        bad += h[i] != word(i, seed);
    free(h);
    return !bad;
}

static void
send_fd(int socket, int fd)
{
    char c = 'f', control[CMSG_SPACE(sizeof fd)] = { 0 };
    struct iovec v = { &c, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    *h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    EXPECT(sendmsg(socket, &m, 0) == 1);
}

static int
receive_fd(int socket)
{
    char c, control[CMSG_SPACE(sizeof(int))];
    int fd = -1;
    struct iovec v = { &c, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static CUmemAllocationProp
shareable(void)
{
    return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
}

static CUdeviceptr
map(CUmemGenericAllocationHandle h, size_t size)
{
    CUdeviceptr p = 0;
    CUmemAccessDesc rw = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    OK(cuMemAddressReserve(&p, size, 0, 0, 0));
    OK(cuMemMap(p, size, 0, h, 0));
    OK(cuMemSetAccess(p, size, &rw, 1));
    return p;
}

/* Threads open and close the same memory: what one got stays until it closes it, whether another has just closed its own. */
static struct { CUcontext c; CUipcMemHandle h; } shared;

static void *
opens_and_closes(void *unused)
{
    OK(cuCtxSetCurrent(shared.c));
    for (int i = 0; i < 3000 && !failures; i++) {
        CUdeviceptr p = 0;
        uint32_t w = 0;
        OK(cuIpcOpenMemHandle_v2(&p, shared.h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK(cuMemcpyDtoH_v2(&w, p, 4));
        EXPECT(w == word(0, 4));
        OK(cuIpcCloseMemHandle(p));
    }
    return unused;
}

static void
open_and_close(CUcontext c, CUipcMemHandle h)
{
    pthread_t t[2];
    CUdeviceptr p;
    shared.c = c;
    shared.h = h;
    OK(cuIpcOpenMemHandle_v2(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcCloseMemHandle(p));
    OK(cuIpcCloseMemHandle(p));         /* the caller's own: so the last one of the threads unmaps it */
    for (int i = 0; i < 2; i++)
        EXPECT(!pthread_create(&t[i], NULL, opens_and_closes, NULL));
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    OK(cuIpcOpenMemHandle_v2(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

/* Of memory in a file that a handle names (impl/driver/ipc.c), where and how much: no program sends these. */
static const uint64_t wild[][2] = { { 0, 0 }, { 0, ~0ull }, { 0, ~0ull - 4096 }, { 4096, ~0ull - 4096 }, { ~0ull, 1 }, { ~0ull - 4095, 4095 }, { 1ull << 60, 64 },
                                    { 64, 1ull << 60 }, { 0, 1ull << 63 } };

static int
child(int socket)
{
    CUcontext c = make_context();
    struct message m;
    CUdeviceptr large = 0, again = 0, small = 0, base = 0;
    CUevent done, several;
    CUstream s;
    size_t n = 0;
    char go = 'g';
    EXPECT(read(socket, &m, sizeof m) == sizeof m);
    OK(cuIpcOpenMemHandle_v2(&large, m.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    EXPECT_RESULT(cuIpcOpenMemHandle_v2(&again, m.large, 0), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {        /* sizes whose pages, or whose place, no number holds */
        CUipcMemHandle h = m.large;
        memcpy((char *)&h + 24, wild[i], sizeof wild[i]);
        EXPECT_RESULT(cuIpcOpenMemHandle_v2(&again, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuIpcOpenMemHandle_v2(&again, m.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));     /* the same mapping, counted */
    EXPECT(again == large);
    OK(cuIpcOpenMemHandle_v2(&small, m.small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuMemGetAddressRange_v2(&base, &n, large + 100));
    EXPECT(base == large && n == SIZE);
    EXPECT(holds(large, SIZE, 1) && holds(small, SMALL, 2));
    EXPECT_RESULT(cuMemFree_v2(large), CUDA_ERROR_INVALID_VALUE);
    m.large.reserved[20]++;
    EXPECT(cuIpcOpenMemHandle_v2(&base, m.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);

    /* The parent's event is pending until it lets its stream go on. */
    OK(cuIpcOpenEventHandle(&done, m.done));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuIpcOpenEventHandle(&several, m.several));
    OK(cuEventRecord(several, s));
    OK(cuStreamSynchronize(s));
    OK(cuEventQuery(several));          /* about the latest record, this one */
    EXPECT_RESULT(cuEventQuery(done), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(s, done, 0));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    EXPECT(write(socket, &go, 1) == 1);
    OK(cuStreamSynchronize(s));
    OK(cuEventSynchronize(done));
    OK(cuEventQuery(done));
    EXPECT(holds(large, SIZE, 3));      /* what the parent's stream had done before */
    fill(small, SMALL, 4);
    open_and_close(c, m.small);
    OK(cuIpcCloseMemHandle(large));
    EXPECT(holds(large, 4096, 3));      /* opened twice */
    OK(cuIpcCloseMemHandle(large));
    EXPECT_RESULT(cuMemsetD8_v2(large, 0, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuIpcCloseMemHandle(large), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventRecord(done, s));         /* either side may record */
    OK(cuStreamSynchronize(s));

    /* Physical memory by file descriptor. */
    int fd = receive_fd(socket);
    CUmemGenericAllocationHandle h;
    OK(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CUdeviceptr v = map(h, CHUNK);
    OK(cuMemRelease(h));
    EXPECT(holds(v, CHUNK, 5));
    fill(v, CHUNK, 6);
    EXPECT_RESULT(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)socket, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                  CUDA_ERROR_UNKNOWN);

    /* A pool and a pointer of it. */
    fd = receive_fd(socket);
    CUmemoryPool pool;
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    OK(cuMemPoolImportPointer(&v, pool, &m.pointer));
    EXPECT(holds(v, SMALL, 7));
    fill(v, SMALL, 8);
    EXPECT_RESULT(cuMemAllocFromPoolAsync(&base, 64, pool, s), CUDA_ERROR_INVALID_VALUE);   /* an imported pool gives no memory */
    OK(cuMemFreeAsync(v, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolDestroy(pool));
    EXPECT(write(socket, &go, 1) == 1);
    OK(cuCtxDestroy_v2(c));             /* with `small` still open */
    return failures != 0;
}

static int gate[2];

static void
wait_for_gate(void *unused)
{
    char c;
    EXPECT(read(gate[0], &c, 1) == 1);
}

/* What lies in the pages of memory that another thread shares is written all the while: by copies in a context of its own. */
static _Atomic CUdeviceptr written;     /* 0: the end */

static void *
write_on(void *context)
{
    CUdeviceptr p;
    OK(cuCtxSetCurrent(context));
    for (uint32_t i = 1, back; (p = atomic_load(&written)) != 0; i++) {
        OK(cuMemcpyHtoD_v2(p, &i, 4));
        OK(cuMemcpyDtoH_v2(&back, p, 4));
        if (back != i) {
            EXPECT(!"a write was lost");
            break;
        }
    }
    return NULL;
}

static void
written_while_shared(void)
{
    enum { ROUNDS = 200, SIZE = 512 };
    CUcontext mine, other;
    CUdeviceptr near, p[ROUNDS];
    CUipcMemHandle h;
    pthread_t t;
    OK(cuCtxGetCurrent(&mine));
    OK(cuCtxCreate_v2(&other, 0, 0));
    for (int i = 0; i < ROUNDS; i++) {
        do {                            /* what is not followed by the other lies in a gap, and goes with the context */
            OK(cuCtxSetCurrent(other));
            do
                OK(cuMemAlloc_v2(&near, SIZE));
            while (near % 4096);
            OK(cuCtxSetCurrent(mine));
            OK(cuMemAlloc_v2(&p[i], 128 * 4096 - SIZE));
            if (p[i] != near + SIZE)
                OK(cuMemFree_v2(p[i]));
        } while (p[i] != near + SIZE);
        if (!i) {
            atomic_store(&written, near);
            EXPECT(!pthread_create(&t, NULL, write_on, other));
        }
        atomic_store(&written, near);
        OK(cuIpcGetMemHandle(&h, p[i]));
    }
    atomic_store(&written, 0);
    pthread_join(t, NULL);
    for (int i = 0; i < ROUNDS; i++)
        OK(cuMemFree_v2(p[i]));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(mine));
}

/* Memory that the program writes itself lies on no page that moves: its thread blocks all signals, and lets the system write there, too. */
static _Atomic(volatile uint8_t *) own;

static void *
write_own(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    int zero = open("/dev/zero", O_RDONLY);
    volatile uint8_t *p;
    while ((p = atomic_load(&own)) != NULL) {
        *p = 1;
        if (read(zero, (void *)(uintptr_t)p, 1) != 1) {
            EXPECT(!"read() into memory of the program failed");
            break;
        }
    }
    close(zero);
    return unused;
}

static void
own_memory_stays(void)
{
    static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .b32 v;\n";
    enum { ROUNDS = 60, SIZE = 900000 };
    CUdeviceptr managed[ROUNDS], near[ROUNDS];
    CUmodule m[ROUNDS];
    CUipcMemHandle h;
    pthread_t t;
    int has = 0;
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    if (!has)
        return;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = 0;
        if (i % 2) {
            OK(cuMemAllocManaged(&managed[i], 100, CU_MEM_ATTACH_GLOBAL));
            OK(cuMemGetAddressRange_v2(NULL, &size, managed[i]));
            EXPECT(size == 100);
        } else {
            OK(cuModuleLoadData(&m[i], text));
            OK(cuModuleGetGlobal_v2(&managed[i], &size, m[i], "v"));
        }
        OK(cuMemAlloc_v2(&near[i], SIZE));
    }
    atomic_store(&own, (volatile uint8_t *)(uintptr_t)managed[0]);
    EXPECT(!pthread_create(&t, NULL, write_own, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&own, (volatile uint8_t *)(uintptr_t)managed[i]);
        usleep(500);
        OK(cuIpcGetMemHandle(&h, near[i]));
    }
    atomic_store(&own, NULL);
    pthread_join(t, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        OK(cuMemFree_v2(near[i]));
        OK(i % 2 ? cuMemFree_v2(managed[i]) : cuModuleUnload(m[i]));
    }
}

/* A process that is killed while its record is pending, and for whose status nobody has asked yet. */
static int
killed(int socket)
{
    CUipcEventHandle h;
    CUevent e;
    CUstream s;
    CUdeviceptr never;
    (void)make_context();
    EXPECT(read(socket, &h, sizeof h) == sizeof h);
    OK(cuIpcOpenEventHandle(&e, h));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&never, 4));
    OK(cuMemsetD32_v2(never, 0, 1));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32_v2(s, never, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuEventRecord(e, s));
    EXPECT(write(socket, failures ? "f" : "r", 1) == 1);
    pause();
    return 1;
}

static void
kill_recorder(void)
{
    int ends[2];
    char number[16], go = 0;
    CUipcEventHandle h;
    CUevent e;
    CUstream s;
    siginfo_t died;
    EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    snprintf(number, sizeof number, "%d", ends[1]);
    pid_t pid = fork();
    if (!pid) {
        (void)fcntl(ends[1], F_SETFD, 0);
        execl("/proc/self/exe", "test_driver_ipc", number, "killed", (char *)NULL);
        _exit(99);
    }
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&h, e));
    EXPECT(write(ends[0], &h, sizeof h) == sizeof h && read(ends[0], &go, 1) == 1 && go == 'r');
    EXPECT_RESULT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(s, e, 0));
    kill(pid, SIGKILL);
    EXPECT(!waitid(P_PID, (id_t)pid, &died, WEXITED | WNOWAIT));
    alarm(60);
    OK(cuEventSynchronize(e));
    OK(cuStreamSynchronize(s));
    alarm(0);
    EXPECT(waitpid(pid, NULL, 0) == pid);
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(s));
    close(ends[0]);
    close(ends[1]);
}

static int
exports(void)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    int ends[2], status = -1, fd = -1, has = 0;
    char number[16], go;
    EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends) && !pipe(gate));
    pid_t pid = fork();                 /* before anything is started here */
    if (!pid) {
        close(ends[0]);
        snprintf(number, sizeof number, "%d", ends[1]);
        execl("/proc/self/exe", "test_driver_ipc", number, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    CUcontext c = make_context();
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    if (!has) {
        printf("%s: no memory between processes on this device\n", device ? device : "auto");
        kill(pid, SIGKILL);
        return 77;
    }
    CUdeviceptr large, neighbour, small, p;
    CUstream s;
    CUevent done, several, plain;
    struct message m;
    own_memory_stays();                 /* while there are no gaps: what is allocated lies side by side */
    OK(cuMemAlloc_v2(&large, SIZE));
    OK(cuMemAlloc_v2(&neighbour, SMALL));
    OK(cuMemAlloc_v2(&small, SMALL));
    fill(large, SIZE, 1);
    fill(neighbour, SMALL, 9);
    fill(small, SMALL, 2);
    unsigned legacy = 0;
    unsigned long long types = 0;
    OK(cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, large));
    EXPECT(legacy == 1);
    OK(cuIpcGetMemHandle(&m.large, large));
    OK(cuIpcGetMemHandle(&m.small, small));
    CUipcMemHandle twice;
    OK(cuIpcGetMemHandle(&twice, small));
    EXPECT(!memcmp(&twice, &m.small, sizeof twice));
    EXPECT_RESULT(cuIpcGetMemHandle(&twice, 12345), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuIpcOpenMemHandle_v2(&p, m.small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(holds(large, SIZE, 1) && holds(neighbour, SMALL, 9) && holds(small, SMALL, 2));      /* sharing changes nothing here */

    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    EXPECT_RESULT(cuIpcGetEventHandle(&m.done, plain), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuEventCreate(&done, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);       /* it needs DISABLE_TIMING */
    OK(cuEventCreate(&done, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(done));
    OK(cuIpcGetEventHandle(&m.done, done));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));

    /* A stream waits for the record that was the latest then; later ones, here and of a process that is gone then, are over before. */
    CUstream held, idle, waits;
    _Atomic uint32_t *let;
    OK(cuMemHostAlloc((void **)&let, 4, 0));
    atomic_init(let, 0);
    OK(cuEventCreate(&several, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&m.several, several));
    OK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32_v2(held, (CUdeviceptr)let, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuEventRecord(several, held));
    OK(cuStreamWaitEvent(waits, several, 0));
    OK(cuEventRecord(several, idle));
    OK(cuStreamSynchronize(idle));
    OK(cuEventQuery(several));
    usleep(20000);
    EXPECT_RESULT(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);

    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool, private;
    CUdeviceptr of_pool;
    int pool_fd = -1;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&of_pool, SMALL, pool, s));
    OK(cuStreamSynchronize(s));
    OK(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, of_pool));
    EXPECT(types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    fill(of_pool, SMALL, 7);
    OK(cuMemPoolExportToShareableHandle(&pool_fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemPoolExportPointer(&m.pointer, of_pool));
    props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemPoolCreate(&private, &props));
    EXPECT_RESULT(cuMemPoolExportToShareableHandle(&fd, private, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemPoolExportPointer((CUmemPoolPtrExportData *)&twice, large), CUDA_ERROR_INVALID_VALUE);

    /* The stream waits at the gate; what comes after it, the child must not see before the event. */
    uint32_t *h = malloc(SIZE);
    for (uint32_t i = 0; i < SIZE / 4; i++)
        h[i] = word(i, 3);
    void *pinned;
    OK(cuMemHostAlloc(&pinned, SIZE, 0));
    memcpy(pinned, h, SIZE);
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemcpyHtoDAsync_v2(large, pinned, SIZE, s));
    OK(cuEventRecord(done, s));
    EXPECT_RESULT(cuEventQuery(done), CUDA_ERROR_NOT_READY);
    EXPECT(write(ends[0], &m, sizeof m) == sizeof m);
    EXPECT(read(ends[0], &go, 1) == 1);
    EXPECT(write(gate[1], "x", 1) == 1);
    OK(cuStreamSynchronize(s));
    OK(cuEventQuery(done));

    CUmemAllocationProp prop = shareable();
    CUmemGenericAllocationHandle phys, again;
    OK(cuMemCreate(&phys, CHUNK, &prop, 0));
    p = map(phys, CHUNK);
    fill(p, CHUNK, 5);
    OK(cuMemExportToShareableHandle(&fd, phys, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    EXPECT_RESULT(cuMemExportToShareableHandle(&fd, phys, CU_MEM_HANDLE_TYPE_WIN32, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(p + 4096)));
    EXPECT(again == phys);
    OK(cuMemRelease(again));
    OK(cuMemRelease(phys));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)p));      /* still mapped */
    OK(cuMemRelease(again));
    EXPECT_RESULT(cuMemRetainAllocationHandle(&again, h), CUDA_ERROR_INVALID_VALUE);
    send_fd(ends[0], fd);
    close(fd);
    send_fd(ends[0], pool_fd);
    close(pool_fd);
    EXPECT(read(ends[0], &go, 1) == 1);
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
    EXPECT(holds(small, SMALL, 4) && holds(neighbour, SMALL, 9) && holds(p, CHUNK, 6) && holds(of_pool, SMALL, 8));
    OK(cuEventQuery(done));             /* the child recorded it, and it is over */
    OK(cuEventQuery(several));
    usleep(20000);
    EXPECT_RESULT(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
    atomic_store(let, 1);
    OK(cuStreamSynchronize(waits));

    /* More records than an event knows apart (4,000): some are over later than they could be. */
    OK(cuStreamWaitValue32_v2(held, (CUdeviceptr)let, 2, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuEventRecord(several, held));
    OK(cuStreamWaitEvent(waits, several, 0));
    for (int i = 0; i < 9000; i++)
        OK(cuEventRecord(several, idle));
    EXPECT_RESULT(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
    atomic_store(let, 2);
    OK(cuStreamSynchronize(waits));
    OK(cuEventSynchronize(several));
    OK(cuStreamSynchronize(idle));

    /* The handles of a process that is gone. */
    OK(cuMemFreeAsync(of_pool, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolDestroy(pool));
    OK(cuMemFree_v2(small));
    OK(cuMemFree_v2(large));
    OK(cuMemAlloc_v2(&large, SIZE));    /* in the same place, and no longer shared */
    fill(large, SIZE, 10);
    EXPECT(holds(large, SIZE, 10) && holds(neighbour, SMALL, 9));
    free(h);
    written_while_shared();
    kill_recorder();
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}

static void *
exports_alone(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    exit(exports());
}

/* `test_driver_ipc alone`: the first thread of the process that exports has ended. */
int
main(int argc, char **argv)
{
    static pthread_t first;
    pthread_t t;
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "alone"))
        return argc > 2 ? killed(atoi(argv[1])) : child(atoi(argv[1]));
    if (argc == 1)
        return exports();
    first = pthread_self();
    if (pthread_create(&t, NULL, exports_alone, &first))
        return 1;
    pthread_exit(NULL);
}
