/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_ISOLATE=1: kernels that go for the program's memory, for the process that runs them, and the end of that process. */
#include "tests/driver/test.h"
#include "tests/inject.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECRET = 0x5ec4e7 };
static volatile uint32_t global_secret = SECRET;

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".visible .entry take(.param .u64 from, .param .u64 to)\n{\n    .reg .b64 %d<3>; .reg .b32 %r1;\n"
    "    ld.param.u64 %d1, [from];\n    ld.param.u64 %d2, [to];\n    ld.global.u32 %r1, [%d1];\n    st.global.u32 [%d2], %r1;\n    ret;\n}\n"
    ".visible .entry put(.param .u64 at)\n{\n    .reg .b64 %d1;\n    ld.param.u64 %d1, [at];\n    st.global.u32 [%d1], 0;\n    ret;\n}\n"
    ".visible .entry twice(.param .u64 at)\n{\n    .reg .b64 %d1; .reg .b32 %r1;\n    ld.param.u64 %d1, [at];\n    ld.global.u32 %r1, [%d1];\n"
    "    add.u32 %r1, %r1, %r1;\n    st.global.u32 [%d1], %r1;\n    ret;\n}\n"
    /* over its own stack, and all that lies above: the return addresses of the engine first */
    ".visible .entry smash(.param .u64 value)\n{\n    .local .b64 mine[4]; .reg .b64 %d<5>; .reg .pred %p1;\n    ld.param.u64 %d1, [value];\n"
    "    mov.u64 %d2, mine;\n    cvta.local.u64 %d2, %d2;\n    mov.u64 %d3, 0;\n"
    "AGAIN:\n    add.u64 %d4, %d2, %d3;\n    st.u64 [%d4], %d1;\n    add.u64 %d3, %d3, 8;\n    setp.lt.u64 %p1, %d3, 268435456;\n    @%p1 bra AGAIN;\n    ret;\n}\n"
    /* all in its own code: one that waits for memory sleeps in the engine */
    ".visible .entry forever(.param .u64 at)\n{\n    .reg .b64 %d1; .reg .b32 %r1; .reg .pred %p1;\n    ld.param.u64 %d1, [at];\n"
    "    ld.global.u32 %r1, [%d1];\nAGAIN:\n    mul.lo.u32 %r1, %r1, 5;\n    setp.ne.u32 %p1, %r1, 1;\n    @%p1 bra AGAIN;\n    st.global.u32 [%d1], %r1;\n    ret;\n}\n";

/* A context of its own, whose end is a fault as often as not. */
static CUcontext context;
static CUmodule module;

static CUresult
launch(const char *name, uint64_t a, uint64_t b)
{
    CUfunction f;
    void *params[] = { &a, &b };
    OK(cuModuleGetFunction(&f, module, name));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return CUDA_SUCCESS;
}

static void
begin(void)
{
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
}

static void
end(void)
{
    OK(cuCtxDestroy_v2(context));
}

/* A context, and the process that runs its kernels, in good order. */
static void
works(void)
{
    uint32_t *p;
    begin();
    OK(cuMemHostAlloc((void **)&p, 4, 0));
    *p = 21;
    launch("twice", (uintptr_t)p, 0);
    OK(cuCtxSynchronize());
    EXPECT(*p == 42);
    end();
}

static void
reads(const char *what, volatile const uint32_t *secret)
{
    uint32_t *out;
    begin();
    OK(cuMemHostAlloc((void **)&out, 4, 0));
    *out = 1;
    launch("take", (uintptr_t)secret, (uintptr_t)out);
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (*out != 1 || *secret != SECRET) {
        fprintf(stderr, "%s: read %#x\n", what, *out);
        failures++;
    }
    end();
}

static void
writes(const char *what, volatile uint32_t *secret)
{
    const uint32_t before = *secret;
    begin();
    launch("put", (uintptr_t)secret, 0);
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (*secret != before) {
        fprintf(stderr, "%s: written\n", what);
        failures++;
    }
    end();
}

static pid_t one;

/* The process is no child of ours, but of our process group. */
static bool
is_mine(pid_t pid)
{
    return getpgid(pid) == getpid();
}

static bool
is_other(pid_t pid)
{
    return is_mine(pid) && pid != one;
}

/* The one that there is. One that was ended may take its time to go: it is waited for. */
static pid_t
kernels_process(void)
{
    do
        one = inject_find("cudaway-kernels", is_mine);
    while (one && inject_find("cudaway-kernels", is_other) && !usleep(1000));
    return one;
}

/* What the kernel says of the process: a filter for system calls, no privileges, and no file of ours. */
static void
is_confined(int mine)
{
    char path[64], line[256];
    int seccomp = 0, privileges = 0;
    unsigned long long capabilities = 1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)kernels_process());
    FILE *f = fopen(path, "re");
    EXPECT(f != NULL);
    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "Seccomp: %d", &seccomp);
        sscanf(line, "NoNewPrivs: %d", &privileges);
        sscanf(line, "CapEff: %llx", &capabilities);
    }
    if (f)
        fclose(f);
    EXPECT(seccomp == 2 && privileges == 1 && capabilities == 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)kernels_process(), mine);
    EXPECT(readlink(path, line, sizeof line) < 0);
}

/* By the thread that runs a kernel. */
static void
makes_calls(pid_t kernels)
{
    pid_t thread;
    while (!(thread = inject_stop(kernels)))        /* until it is in the kernel */
        usleep(20000);
    if (thread < 0) {
        printf("the process that runs kernels cannot be traced (%s): calls are not tried\n", strerror(errno));
        return;
    }
    const long none = -EPERM;
    EXPECT(inject_call(thread, SYS_getpid, 0, NULL, 0, 0, 0) == kernels);
    EXPECT(inject_call(thread, SYS_openat, 2, "/etc/hostname", -100, 0, O_RDONLY) == none);
    EXPECT(inject_call(thread, SYS_openat, 2, "/proc/self/status", -100, 0, O_RDONLY) == none);
    EXPECT(inject_call(thread, SYS_open, 1, "/dev/null", 0, O_RDWR, 0) == none);
    EXPECT(inject_call(thread, SYS_openat, 2, "/tmp/cudaway-isolate-test", -100, 0, O_WRONLY | O_CREAT) == none);
    EXPECT(inject_call(thread, SYS_socket, 0, NULL, AF_INET, SOCK_STREAM, 0) == none);
    EXPECT(inject_call(thread, SYS_kill, 0, NULL, getpid(), SIGKILL, 0) == none);
    EXPECT(inject_call(thread, SYS_process_vm_readv, 0, NULL, getpid(), 0, 0) == none);
    EXPECT(inject_call(thread, SYS_ptrace, 0, NULL, PTRACE_ATTACH, getpid(), 0) == none);
    EXPECT(inject_call(thread, SYS_execve, 1, "/bin/true", 0, 0, 0) == none);
    EXPECT(inject_call(thread, SYS_fork, 0, NULL, 0, 0, 0) == none);
    EXPECT(inject_call(thread, SYS_write, 2, "text", 2, 0, 4) == none);
    EXPECT(!ptrace(PTRACE_DETACH, thread, NULL, NULL));
}

static void
ends_in_a_launch(void)
{
    uint32_t *p;
    pid_t kernels = kernels_process();
    CUcontext other;
    begin();
    other = context;
    begin();
    OK(cuMemHostAlloc((void **)&p, 4, 0));
    *p = 0;
    launch("forever", (uintptr_t)p, 0);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    makes_calls(kernels);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    EXPECT(kernels > 0 && !kill(kernels, SIGKILL));
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_RESULT(cuMemAlloc_v2(&(CUdeviceptr){ 0 }, 4), CUDA_ERROR_LAUNCH_FAILED);
    end();
    works();                            /* in another process */
    EXPECT(kernels_process() != kernels);
    OK(cuCtxSetCurrent(other));         /* whose process is gone */
    module = NULL;
    OK(cuCtxDestroy_v2(other));
    EXPECT(waitpid(-1, NULL, WNOHANG) == -1);
}

int
main(void)
{
    volatile uint32_t stack_secret = SECRET;
#ifdef __SANITIZE_THREAD__               /* whose heap has the same addresses in both processes */
    uint32_t *heap_secret = mmap(NULL, sizeof *heap_secret, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
    uint32_t *heap_secret = malloc(sizeof *heap_secret);
#endif
    *heap_secret = SECRET;
    int mine = open("/dev/null", O_RDONLY), high = fcntl(mine, F_DUPFD, 100);     /* passed on by exec */
    EXPECT(getpgid(0) == getpid() || !setpgid(0, 0));
    OK(cuInit(0));
    works();
    is_confined(high);
    reads("stack", &stack_secret);
    reads("heap", heap_secret);
    reads("global", &global_secret);
    writes("stack", &stack_secret);
    writes("heap", heap_secret);
    writes("the C library's variable", (volatile uint32_t *)(void *)&stdout);
    writes("the C library's code", (volatile uint32_t *)(uintptr_t)&getpid);
    works();
    begin();
    launch("smash", (uintptr_t)&stack_secret, 0);
    CUresult r = cuCtxSynchronize();
    EXPECT(r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_FAILED);
    end();
    works();
    EXPECT(stack_secret == SECRET && *heap_secret == SECRET && global_secret == SECRET);
    ends_in_a_launch();
#ifndef __SANITIZE_THREAD__
    free(heap_secret);
#endif
    return failures != 0;
}
