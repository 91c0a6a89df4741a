/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_ISOLATE=1: kernels that go for the program's memory, for the process that runs them, and the end of that process; programs whose signals,
 * children and stacks it could get in the way of. */
#define _GNU_SOURCE
#include "tests/driver/leaks.h"
#include "tests/driver/test.h"
#include "tests/inject.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
    OK(cuInit(0));
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

static int kernels_descriptor;          /* of kernels_process() */

/* The process is no child of ours: its number stands beside the one descriptor of a process that the library has. 0: there is none. */
static pid_t
kernels_process(void)
{
    int pid = 0;
    kernels_descriptor = -1;
    DIR *d = opendir("/proc/self/fdinfo");
    for (const struct dirent *e; d && pid <= 0 && (e = readdir(d)); ) {
        char path[300], line[256];
        snprintf(path, sizeof path, "/proc/self/fdinfo/%s", e->d_name);
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
            if (!strncmp(line, "NSpid:", 6))            /* the last one is ours: /proc may be another namespace's */
                kernels_descriptor = atoi(e->d_name), pid = atoi(strrchr(line, '\t'));
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return pid > 0 ? pid : 0;
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
    EXPECT(inject_call(thread, SYS_vfork, 0, NULL, 0, 0, 0) == none);
    EXPECT(inject_call(thread, SYS_clone, 0, NULL, SIGCHLD, 0, 0) == none);
    EXPECT(inject_call(thread, SYS_clone, 0, NULL, CLONE_VM | CLONE_PARENT | SIGCHLD, 0, 0) == none);
    EXPECT(inject_call(thread, SYS_clone3, 0, NULL, 0, 0, 0) == -ENOSYS);
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

/* ---- what the program does with signals, children and stacks ---------------------------------------------------------- */

/* Signals that are sent to the program's process group, as a terminal does, are the program's. */
static void
group_signals(void)
{
    uint32_t *p;
    EXPECT(getpgid(0) == getpid() || !setpgid(0, 0));
    begin();
    OK(cuMemHostAlloc((void **)&p, 4, 0));
    *p = 1;
    launch("twice", (uintptr_t)p, 0);
    OK(cuCtxSynchronize());
    const pid_t kernels = kernels_process();
    char path[64], folder[PATH_MAX] = "/";
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)kernels);
    (void)!readlink(path, folder, sizeof folder - 1);       /* not everybody may */
    EXPECT(kernels && getsid(kernels) != getsid(0) && !strcmp(folder, "/"));
    static const int sent[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        signal(sent[i], SIG_IGN);
        EXPECT(!kill(0, sent[i]) && !kill(kernels, sent[i]));
    }
    launch("twice", (uintptr_t)p, 0);
    OK(cuCtxSynchronize());
    EXPECT(*p == 4 && kernels_process() == kernels);
    end();
}

static void
kill_kernels(void)
{
    begin();
    const pid_t kernels = kernels_process();
    EXPECT(kernels && !kill(kernels, SIGKILL));
    while (kernels_process()) {         /* until a call finds that it has ended */
        (void)cuMemAlloc_v2(&(CUdeviceptr){ 0 }, 4);
        usleep(1000);
    }
    end();
}

/* A program that is given orphans has no child that wait() sees. What stays for that ends with the process. */
static void
no_children(void)
{
    for (unsigned i = 0; i < 3; i++) {
        works();
        EXPECT(wait(NULL) == -1 && errno == ECHILD);
        EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) == 0);
        kill_kernels();
        EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
    }
}

static void
takes_orphans(void)
{
    EXPECT(!prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    no_children();
}

static void
in_child(void (*run)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        failures = 0;
        signal(SIGALRM, _exit);         /* the default action is not for process 1 */
        alarm(100);
        run();
        exit(failures != 0);
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    if (status) {
        fprintf(stderr, "a child ended with %#x\n", status);
        failures++;
    }
}

/* A process that has been stopped, or does not care, does not keep the program from ending. */
static void
answers_nothing(void)
{
    begin();
    EXPECT(!kill(kernels_process(), SIGSTOP));
    alarm(20);
}

/* The program has the number of one descriptor for a file of its own. */
static void
number_taken(void)
{
    struct stat st;
    begin();
    const pid_t kernels = kernels_process();
    const int number = kernels_descriptor, null = open("/dev/null", O_RDONLY);
    EXPECT(dup2(null, number) == number && !kill(kernels, SIGKILL));
    while (cuMemAlloc_v2(&(CUdeviceptr){ 0 }, 4 << 20) == CUDA_SUCCESS)
        usleep(1000);
    end();
    works();
    EXPECT(!fstat(number, &st) && S_ISCHR(st.st_mode));
}

/* Process 1 of its own, where the system lets us. */
static void
is_first(void)
{
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
        printf("no process 1 of ours (%s): it is not tried\n", strerror(errno));
    else
        in_child(no_children);
    leaks_looked_for = getppid();       /* the checker starts a process: this one cannot any more */
}

static atomic_bool over;

static void *
takes_all(void *unused)
{
    while (!atomic_load(&over))
        if (waitpid(-1, NULL, __WALL) < 0)
            sched_yield();
    return unused;
}

/* A thread that waits for whatever ends. */
static void
takes_ends(void)
{
    pthread_t t;
    EXPECT(!pthread_create(&t, NULL, takes_all, NULL));
    for (unsigned i = 0; i < 20; i++) {
        works();
        kill_kernels();
    }
    atomic_store(&over, true);
    pthread_join(t, NULL);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__      /* whose frames are larger */
static void *
works_thread(void *unused)
{
    works();
    return unused;
}

/* The process's default stacks, here and in what it executes. */
static void
small_stacks(void)
{
    pthread_t t;
    pthread_attr_t small;
    struct rlimit l = { 32 << 10, 32 << 10 };
    EXPECT(!setrlimit(RLIMIT_STACK, &l));
    EXPECT(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 32 << 10) && !pthread_setattr_default_np(&small));
    EXPECT(!pthread_create(&t, NULL, works_thread, NULL));
    pthread_join(t, NULL);
}
#else
static void small_stacks(void) {}
#endif

static bool
is_alive(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    bool read = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    return read && !strstr(line, ") Z ");
}

/* Until the process has so many; false: it has not within ten seconds. */
static bool
has_threads(pid_t pid, int count)
{
    char path[64], line[256];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    for (unsigned i = 0; i < 1000 && n < count; i++, usleep(10000)) {
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
            sscanf(line, "Threads: %d", &n);
        if (f)
            fclose(f);
    }
    return n >= count;
}

/* In the middle of a kernel, by a signal that nobody can take; `many`: a kernel that has started threads, which nothing of the process bounds. */
static void
ends_with_the_program(bool many)
{
    int ends[2], pid = 0;
    EXPECT(!pipe(ends));
    fflush(NULL);
    pid_t program = fork();
    if (!program) {
        uint32_t *p;
        begin();
        OK(cuMemHostAlloc((void **)&p, 4, 0));
        *p = 0;
        launch("forever", (uintptr_t)p, 0);
        pid = kernels_process();
        (void)!write(ends[1], &pid, sizeof pid);
        pause();
    }
    EXPECT(read(ends[0], &pid, sizeof pid) == sizeof pid && pid > 0);
    if (many) {
        pid_t thread;
        while (!(thread = inject_stop(pid)))
            usleep(20000);
        if (thread > 0)
            EXPECT(inject_run(thread, inject_threads, sizeof inject_threads) && has_threads(pid, 400));
    }
    EXPECT(!kill(program, SIGKILL) && waitpid(program, NULL, 0) == program);
    for (unsigned i = 0; i < 10000 && is_alive(pid); i++)
        usleep(1000);
    EXPECT(!is_alive(pid));
    close(ends[0]);
    close(ends[1]);
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
    in_child(group_signals);            /* before anything is started here */
    in_child(takes_orphans);
    in_child(is_first);
    in_child(takes_ends);
    in_child(answers_nothing);
    in_child(number_taken);
    in_child(small_stacks);
    ends_with_the_program(false);
#if defined __x86_64__
    ends_with_the_program(true);
#endif
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
