/* SPDX-License-Identifier: Apache-2.0
 * The libraries in someone else's process: children, cancelled threads, small stacks, timers, alternate stacks, floating point, filters of system calls, addresses.
 * Its files and descriptors: test_descriptors.c. */
#define _GNU_SOURCE
#include "tests/driver/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define HEADER ".version 7.1\n.target sm_60\n.address_size 64\n"

/* ---- children ------------------------------------------------------------------------------------------------------------ */

static void
vfork_and_exec(void)
{
    volatile pid_t child = vfork();
    if (!child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(3);
    }
    EXPECT(status_of(child) == 0);
}

/* A child that goes on without CUDA, and ends as programs do: exit handlers and destructors run. */
static void
fork_and_exit(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        void *p = malloc(1 << 20);
        free(p);
        exit(p ? 5 : 6);
    }
    EXPECT(status_of(child) == 5 << 8);
}

/* CUDA programming guide: a context of the parent cannot be used in a child. NVIDIA's driver: 3 from every call. */
static void
child_calls(void)
{
    CUdeviceptr p;
    CUstream s;
    int n;
    EXPECT_RESULT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cuMemAlloc_v2(&p, 100), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cuStreamCreate(&s, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cudaMalloc((void **)&p, 100) == cudaErrorInitializationError);
}

static void
fork_and_call(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        failures = 0;
        alarm(300);
        child_calls();
        exit(failures != 0);
    }
    EXPECT(status_of(child) == 0);
}

/* Before the parent's first call a child starts anew. */
static void
fork_before(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        failures = 0;
        alarm(300);
        must_work();
        exit(failures != 0);
    }
    EXPECT(status_of(child) == 0);
    must_work();
}

/* A child that is made while another thread starts the driver or loads a program gets answers, and ends as programs do. */
void **__cudaRegisterFatBinary(void *image);
void   __cudaUnregisterFatBinary(void **handle);
void   __cudaRegisterManagedVar(void **handle, void **variable, char *device, const char *name, int ext, size_t size, int constant, int global);
char   __cudaInitModule(void **handle);

static char managed_text[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .u32 v = 5;\n.visible .entry e(){ ret; }\n";
static void **registered;
static void *managed_variable;

static void *
starts(void *unused)
{
    cuInit(0);
    if (registered)
        __cudaInitModule(registered);
    return unused;
}

static void
fork_in_the_middle(unsigned us, bool loading)
{
    fflush(NULL);
    pid_t child = fork();               /* nothing is started in it */
    if (!child) {
        pthread_t t;
        if (loading) {
            registered = __cudaRegisterFatBinary(managed_text);
            __cudaRegisterManagedVar(registered, &managed_variable, NULL, "v", 0, 4, 0, 0);
            EXPECT(cudaFree(NULL) == cudaSuccess);
        }
        EXPECT(!pthread_create(&t, NULL, starts, NULL));
        usleep(us);
        pid_t grandchild = fork();
        if (!grandchild) {
            alarm(60);
            CUresult e = cuInit(0);
            if (registered)
                __cudaUnregisterFatBinary(registered);
            _exit(e != CUDA_SUCCESS && e != CUDA_ERROR_NOT_INITIALIZED);
        }
        EXPECT(status_of(grandchild) == 0);
        pthread_join(t, NULL);
        _exit(failures != 0);
    }
    EXPECT(status_of(child) == 0);
}

static void
fork_while_starting(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return;                         /* one may hold its allocator's lock as the process forks, the other misses the thread that the fork left behind */
#endif
    for (unsigned us = 0; us < 4000 && !failures; us += 200)
        fork_in_the_middle(us, false);
    for (unsigned us = 0; us < 8000 && !failures; us += 500)
        fork_in_the_middle(us, true);
}

static atomic_bool over;

static void *
works_on(void *user)
{
    CUcontext c;
    CUdeviceptr p;
    (void)user;
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemAlloc_v2(&p, 1 << 16));
    while (!atomic_load(&over)) {
        OK(cuMemsetD8Async(p, 1, 1 << 16, NULL));
        OK(cuCtxSynchronize());
    }
    OK(cuCtxDestroy_v2(c));
    return NULL;
}

static void
children(void)
{
    pthread_t t;
    must_work();
    pthread_create(&t, NULL, works_on, NULL);
    for (unsigned i = 0; i < 20; i++) {
        vfork_and_exec();
        fork_and_exit();
        fork_and_call();
    }
    atomic_store(&over, true);
    pthread_join(t, NULL);
    must_work();
}

/* ---- cancelled threads --------------------------------------------------------------------------------------------------- */

static CUcontext shared_context;
static CUfunction shared_kernel;
static atomic_uint rounds;

/* All calls that wait, write or look into files. */
static void *
to_be_cancelled(void *user)
{
    (void)user;
    cuCtxSetCurrent(shared_context);
    for (;;) {
        CUdeviceptr p = 0;
        CUstream s = NULL;
        CUmodule m = NULL;
        uint32_t n = N;
        void *params[] = { &p, &n };
        if (!cuMemAlloc_v2(&p, 1 << 16) && !cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) {
            cuMemsetD8Async(p, 1, 1 << 16, s);
            cuLaunchKernel(shared_kernel, 1, 1, 1, N, 1, 1, 0, s, params, NULL);
            cuStreamSynchronize(s);
            cuModuleLoadData(&m, text);
            cuMemcpyDtoH_v2(values, p, sizeof values);
            cuCtxSynchronize();
        }
        if (m)
            cuModuleUnload(m);
        if (s)
            cuStreamDestroy_v2(s);
        if (p)
            cuMemFree_v2(p);
        atomic_fetch_add(&rounds, 1);
        pthread_testcancel();
    }
    return NULL;
}

static void
cancelled(void)
{
    CUmodule m;
    must_work();
    OK(cuCtxCreate_v2(&shared_context, 0, 0));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&shared_kernel, m, "add"));
    for (unsigned i = 0; i < 200; i++) {
        pthread_t t;
        void *result;
        struct timespec pause = { 0, (i * 37 % 100) * 20000 };
        pthread_create(&t, NULL, to_be_cancelled, NULL);
        nanosleep(&pause, NULL);
        pthread_cancel(t);
        pthread_join(t, &result);
        EXPECT(result == PTHREAD_CANCELED);
        OK(cuCtxSynchronize());
    }
    EXPECT(atomic_load(&rounds) > 0);
    OK(cuCtxDestroy_v2(shared_context));
    must_work();
}

/* ---- host functions that end their thread ---- */

/* CUDA says nothing of these. The stream goes on: what waits for it does not wait for ever. A message names the cause. */
static void
ends_thread(void *count)
{
    ++*(int *)count;
    pthread_exit(NULL);
}

static void
ends_thread_in_callback(CUstream s, CUresult status, void *count)
{
    (void)s, (void)status;
    ends_thread(count);
}

static void
cancels_itself(void *count)
{
    ++*(int *)count;
    pthread_cancel(pthread_self());
    pthread_testcancel();
}

static void
counts(void *count)
{
    ++*(int *)count;
}

static void
ended_threads(void)
{
    char said[4096], file[] = "/tmp/ended-threads-XXXXXX";
    int log = mkstemp(file), count = 0, after = 0;
    EXPECT(log >= 0 && !setenv("CUDAWAY_LOG", "error", 1) && !setenv("CUDAWAY_LOG_FILE", file, 1));
    CUstream s;
    CUcontext c = make_context();
    CUdeviceptr p;
    uint32_t got = 0;
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int i = 1; i <= 20; i++) {
        OK(cuLaunchHostFunc(s, i % 3 ? ends_thread : cancels_itself, &count));
        OK(cuStreamAddCallback(s, ends_thread_in_callback, &count, 0));
        OK(cuMemsetD32Async(p, (unsigned)i, 1, s));
        OK(cuLaunchHostFunc(s, counts, &after));
        OK(cuStreamSynchronize(s));
        EXPECT(count == 2 * i && after == i);
        OK(cuMemcpyDtoH_v2(&got, p, 4));
        EXPECT(got == (unsigned)i);
    }
    OK(cuStreamDestroy_v2(s));
    OK(cuLaunchHostFunc(NULL, ends_thread, &count));
    OK(cuCtxDestroy_v2(c));
    EXPECT(count == 41);
    const ssize_t n = read(log, said, sizeof said - 1);
    said[n > 0 ? n : 0] = 0;
    EXPECT(strstr(said, "has ended its thread"));
    close(log);
    unlink(file);
    must_work();
}

/* ---- small stacks -------------------------------------------------------------------------------------------------------- */

static void *
must_work_thread(void *user)
{
    (void)user;
    must_work();
    return NULL;
}

static void
on_stack(size_t size, void *(*run)(void *))
{
    pthread_t t;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    EXPECT(!pthread_attr_setstacksize(&attr, size));
    EXPECT(!pthread_create(&t, &attr, run, NULL));
    pthread_join(t, NULL);
}

static void
small_stack(void)
{
    on_stack(32 << 10, must_work_thread);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__      /* whose frames are larger */
    on_stack(16 << 10, must_work_thread);
#endif
}

/* The first call of all, by the Runtime: it looks at the program and loads the libraries. */
static void *
first_call_thread(void *unused)
{
    EXPECT(cudaFree(NULL) == cudaSuccess);
    must_work();
    return unused;
}

static void
first_call(void)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    on_stack(16 << 10, first_call_thread);
#else
    on_stack(32 << 10, first_call_thread);
#endif
}

static void
host_function(void *done)
{
    volatile char room[256 << 10];
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[i] = 1;
    *(int *)done = room[0];
}

/* A program may make its threads' stacks small: that is not for the thread that calls its host functions. */
static void
default_stack(void)
{
    if (THREAD_SANITIZER)           /* its frames are larger */
        return;
    pthread_attr_t small;
    int done = 0;
    EXPECT(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 32 << 10) && !pthread_setattr_default_np(&small));
    must_work();
    CUcontext c = make_context();
    OK(cuLaunchHostFunc(NULL, host_function, &done));
    OK(cuCtxSynchronize());
    EXPECT(done == 1);
    OK(cuCtxDestroy_v2(c));
}

/* The reader of constants recurses with these texts: value, or refused beyond 200 levels. */
static const struct {
    const char *open, *inner, *close;
    unsigned depth;
    int32_t value;
    CUresult result;
} nests[] = {
    { "(", "6", ")", 190, 6, CUDA_SUCCESS }, { "-", "7", "", 190, 7, CUDA_SUCCESS }, { "0 ? 1 : ", "8", "", 190, 8, CUDA_SUCCESS },
    { "1 ? ", "9", " : 1", 190, 9, CUDA_SUCCESS }, { "(", "1", ")", 3000, 0, CUDA_ERROR_INVALID_PTX },
};

static void *
deep_text_thread(void *unused)
{
    static char nested[64 << 10];
    CUcontext c = make_context();
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        CUmodule m;
        CUdeviceptr v;
        size_t size;
        int32_t got = -1;
        char *to = stpcpy(nested, ".version 7.1\n.target sm_60\n.address_size 64\n.global .align 4 .b32 v = ");
        for (unsigned n = 0; n < nests[i].depth; n++)
            to = stpcpy(to, nests[i].open);
        to = stpcpy(to, nests[i].inner);
        for (unsigned n = 0; n < nests[i].depth; n++)
            to = stpcpy(to, nests[i].close);
        stpcpy(to, ";\n");
        EXPECT_RESULT(cuModuleLoadData(&m, nested), nests[i].result);
        if (nests[i].result != CUDA_SUCCESS)
            continue;
        OK(cuModuleGetGlobal_v2(&v, &size, m, "v"));
        OK(cuMemcpyDtoH_v2(&got, v, sizeof got));
        EXPECT(got == nests[i].value);
        OK(cuModuleUnload(m));
    }
    OK(cuCtxDestroy_v2(c));
    return unused;
}

static void
deep_text(void)
{
    on_stack(32 << 10, deep_text_thread);
}

/* ---- signals ------------------------------------------------------------------------------------------------------------- */

static atomic_uint ticks, off_stack;
static uint8_t *alternate;
enum { ALTERNATE = 16 << 10 };

static void
tick(int signal)
{
    char here;
    (void)signal;
    atomic_fetch_add(&ticks, 1);
    if (alternate && ((uint8_t *)&here < alternate || (uint8_t *)&here >= alternate + ALTERNATE))
        atomic_fetch_add(&off_stack, 1);
}

static void
with_timer(int which, int signal, int flags)
{
    struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
    struct sigaction a = { .sa_handler = tick, .sa_flags = flags };
    sigaction(signal, &a, NULL);
    setitimer(which, &every, NULL);
    for (unsigned i = 0; i < 3; i++)
        must_work();
    setitimer(which, &none, NULL);
    EXPECT(atomic_load(&ticks) > 5);
}

static void profiled(void) { with_timer(ITIMER_PROF, SIGPROF, 0); }
static void profiled_restart(void) { with_timer(ITIMER_PROF, SIGPROF, SA_RESTART); }
static void interrupted(void) { with_timer(ITIMER_REAL, SIGALRM, 0); }

/* Signals of the program arrive on its alternate stack: on no thread of ours, and on no kernel's stack. */
static void
alternate_stack(void)
{
    if (THREAD_SANITIZER)           /* it runs handlers on a stack of its own choice */
        return;
    alternate = mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = { .ss_sp = alternate, .ss_size = ALTERNATE }, now;
    sigaltstack(&s, NULL);
    with_timer(ITIMER_PROF, SIGPROF, SA_ONSTACK | SA_RESTART);
    EXPECT(!sigaltstack(NULL, &now) && now.ss_sp == alternate && now.ss_size == ALTERNATE);
    EXPECT(!atomic_load(&off_stack));
}

/* Signals that all threads of the program block, and one waits for: threads of ours take none away, and do not end the process. */
static void *
compiles_on(void *user)
{
    static char source[8 << 10];
    CUcontext c;
    (void)user;
    OK(cuCtxCreate_v2(&c, 0, 0));
    for (unsigned n = 100; !atomic_load(&over); n++) {      /* one more each time: compiled anew */
        CUmodule m;
        CUfunction f;
        CUdeviceptr p;
        void *params[] = { &p };
        char *to = stpcpy(source, HEADER ".visible .entry k(.param .u64 p)\n{ .reg .b64 %a; .reg .f32 %f;\nld.param.u64 %a, [p]; ld.global.f32 %f, [%a];\n");
        for (unsigned i = 0; i < 100 + n % 150; i++)
            to = stpcpy(to, "sqrt.rn.f32 %f, %f;\n");
        sprintf(to, "add.f32 %%f, %%f, 0f%08X;\nst.global.f32 [%%a], %%f; ret; }\n", n);
        OK(cuModuleLoadData(&m, source));
        OK(cuModuleGetFunction(&f, m, "k"));
        OK(cuMemAlloc_v2(&p, 4));
        OK(cuMemsetD8Async(p, 0, 4, NULL));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        OK(cuCtxSynchronize());
        OK(cuMemFree_v2(p));
        OK(cuModuleUnload(m));
    }
    OK(cuCtxDestroy_v2(c));
    return NULL;
}

static void
waited_for(void)
{
    static const int awaited[] = { SIGTRAP, SIGABRT, SIGSYS, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGUSR1 };
    const struct timespec patience = { 30, 0 }, pause = { 0, 5000000 };
    pthread_t t;
    sigset_t all, one;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    must_work();
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&t, NULL, compiles_on, NULL);
    for (unsigned i = 0; i < 20; i++)
        for (unsigned k = 0; k < sizeof awaited / sizeof *awaited; k++) {
            sigemptyset(&one);
            sigaddset(&one, awaited[k]);
            nanosleep(&pause, NULL);
            kill(getpid(), awaited[k]);
            int got;
            while ((got = sigtimedwait(&one, NULL, &patience)) < 0 && errno == EINTR)
                ;                       /* a thread of ours had it first and gave it back */
            EXPECT(got == awaited[k]);
        }
    atomic_store(&over, true);
    pthread_join(t, NULL);
}

/* ---- floating point ------------------------------------------------------------------------------------------------------ */

static const char floats[] = HEADER
    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %a; .reg .f32 %f<3>;\nld.param.u64 %a, [p];\n"
    "ld.global.f32 %f1, [%a]; mul.rn.f32 %f2, %f1, 0f3F000000; st.global.f32 [%a], %f2;\n"             /* times 0.5 */
    "ld.global.f32 %f1, [%a+4]; add.rn.f32 %f2, %f1, 0f33000000; st.global.f32 [%a+4], %f2; ret;\n}\n"; /* plus 2 to the -25 */

/* As it is, and with what the program may set for its own arithmetic: kernels have none of it, and the program keeps it. */
static void
floating_point(void (*set)(void))
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    CUevent a, b;
    float ms;
    void *params[] = { &p };
    uint32_t in[2] = { 0x006ce3ee, 0x3f800000 }, out[2];
    set();
    const int round = fegetround();
    CUcontext c = make_context();
    OK(cuMemAlloc_v2(&p, sizeof in));
    OK(cuMemcpyHtoD_v2(p, in, sizeof in));
    OK(cuModuleLoadData(&m, floats));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuEventCreate(&a, 0));
    OK(cuEventCreate(&b, 0));
    OK(cuEventRecord(a, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuEventRecord(b, NULL));
    OK(cuCtxSynchronize());
    feenableexcept(fegetexcept() ? FE_ALL_EXCEPT : 0);
    OK(cuEventElapsedTime(&ms, a, b));
    OK(cuMemcpyDtoH_v2(out, p, sizeof out));
    EXPECT(out[0] == 0x003671f7 && out[1] == 0x3f800000);
    EXPECT(fegetround() == round);
    OK(cuCtxDestroy_v2(c));
}

static void upward(void) { fesetround(FE_UPWARD); }
static void trapping(void) { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); }
static void float_upward(void) { floating_point(upward); }
static void float_trapping(void) { floating_point(trapping); }
#if defined __x86_64__
static void flushing(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }
static void float_flushing(void) { floating_point(flushing); }
#endif

/* ---- filters of system calls --------------------------------------------------------------------------------------------- */

/* What sandboxes of containers and browsers refuse, and what this work must not need. */
static const int refused[] = {
    SYS_userfaultfd, SYS_perf_event_open, SYS_memfd_create, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_bpf,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages, SYS_io_uring_setup,
    SYS_unshare, SYS_setns, SYS_mount, SYS_personality, SYS_pidfd_open, SYS_pidfd_getfd, SYS_modify_ldt, SYS_quotactl, SYS_acct,
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_lookup_dcookie, SYS_syslog, SYS_socket, SYS_execve, SYS_execveat, SYS_sched_setaffinity,
    SYS_mlock, SYS_mlockall, SYS_setpriority, SYS_sched_setscheduler, SYS_fanotify_init, SYS_inotify_init1, SYS_chroot, SYS_landlock_create_ruleset,
};
enum { REFUSED = sizeof refused / sizeof *refused };

static void
filter(uint32_t action)
{
    leaks_looked_for = getppid();       /* not in this process: the checker traces it */
    struct sock_filter f[REFUSED + 8];
    unsigned n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < REFUSED; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused[i], (uint8_t)(REFUSED - i), 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    struct sock_fprog p = { (unsigned short)n, f };
    EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0));
}

static void
refusing(void)
{
    filter(SECCOMP_RET_ERRNO | EPERM);
    EXPECT(syscall(SYS_memfd_create, "x", 0) == -1 && errno == EPERM);
    must_work();
}

static void
killing(void)
{
    filter(SECCOMP_RET_KILL_PROCESS);
    must_work();
}

/* A sandbox that answers system calls in a handler, on whichever thread they are made. */
static void
answers(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void
answered(void)
{
    leaks_looked_for = getppid();
    struct sigaction a = { .sa_sigaction = answers, .sa_flags = SA_SIGINFO };
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = { sizeof f / sizeof *f, f };
    EXPECT(!sigaction(SIGSYS, &a, NULL));
    EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0));
    EXPECT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == -1 && errno == EPERM);
    must_work();
}

/* ---- memory that was written is never executed ---- */

#ifndef PR_SET_MDWE
#define PR_SET_MDWE             65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* As systemd's MemoryDenyWriteExecute does. */
static bool
no_new_code(void)
{
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)) {
        fprintf(stderr, "skipped: this Linux cannot refuse executable memory (6.3)\n");
        return false;
    }
    return true;
}

/* The host device, and it alone, says so. */
static void
unexecutable(void)
{
    if (!no_new_code())
        return;
    if (strcmp(getenv("CUDAWAY_DEVICE"), "host")) {
        must_work();
        return;
    }
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    CUcontext c = make_context();
    OK(cuMemAlloc_v2(&p, 8));
    OK(cuModuleLoadData(&m, floats));
    OK(cuModuleGetFunction(&f, m, "k"));
    for (int i = 0; i < 2; i++)
        EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p }, NULL), CUDA_ERROR_OPERATING_SYSTEM);
    OK(cuMemsetD32_v2(p, 1, 2));
    OK(cuCtxDestroy_v2(c));
}

static void
unexecutable_isolated(void)
{
    EXPECT(!setenv("CUDAWAY_ISOLATE", "1", 1));
    if (no_new_code())
        must_work();
}

/* ---- the thread that calls host functions ---- */

static struct seen {
    pthread_t thread;
    sigset_t mask;
    int rounding;
    unsigned long calls;
} seen;
static sem_t stopped;
static atomic_int traps;

static void
stops(int signal)
{
    (void)signal;
    sem_post(&stopped);
}

static void
traps_too(int signal)
{
    (void)signal;
    traps++;
}

static void
looks(void *same_thread)
{
    EXPECT(!same_thread || pthread_equal(pthread_self(), seen.thread));
    seen.thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &seen.mask);
    seen.rounding = fegetround();
    seen.calls++;
#if defined __x86_64__
    __asm__ volatile("int3");           /* as compiled Lisp does */
#endif
}

static unsigned
threads_now(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

static bool
mask_is(const sigset_t *want)
{
    for (int s = 1; s < SIGRTMIN; s++)
        if (sigismember(&seen.mask, s) != sigismember(want, s))
            return false;
    return true;
}

/* NVIDIA's driver 580.159.04 on an H200: one thread a context, with the signal mask and the rounding of the one that launched the first function, also between
 * functions, when a garbage collector stops it; it ends with the context. */
static void
host_thread(void)
{
    sigset_t mask, other;
    CUstream s[2];
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    struct timespec end;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGWINCH);
    sigemptyset(&other);
    sem_init(&stopped, 0, 0);
    signal(SIGUSR2, stops);
    signal(SIGTRAP, traps_too);
    CUcontext c = make_context();
    OK(cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&s[1], CU_STREAM_NON_BLOCKING));
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    fesetround(FE_UPWARD);
    OK(cuLaunchHostFunc(s[0], looks, NULL));
    OK(cuStreamSynchronize(s[0]));
    EXPECT(mask_is(&mask) && seen.rounding == FE_UPWARD);
    fesetround(FE_TONEAREST);
    pthread_sigmask(SIG_SETMASK, &other, NULL);
    for (int i = 0; i < 10; i++) {
        OK(cuLaunchHostFunc(s[i % 2], looks, &seen));
        OK(cuLaunchHostFunc(NULL, looks, &seen));
    }
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &(CUDA_HOST_NODE_PARAMS){ looks, &seen }));
    OK(cuGraphInstantiate(&x, g, NULL, NULL, 0));
    OK(cuGraphLaunch(x, s[1]));
    OK(cuCtxSynchronize());
    EXPECT(seen.calls == 22 && mask_is(&mask) && seen.rounding == FE_UPWARD);
#if defined __x86_64__
    EXPECT(traps == 22);
#endif
    const pthread_t thread = seen.thread;
    EXPECT(!pthread_kill(thread, SIGUSR2));
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    EXPECT(!sem_timedwait(&stopped, &end));

    CUcontext two = make_context();
    OK(cuLaunchHostFunc(NULL, looks, NULL));
    OK(cuCtxSynchronize());
    EXPECT(!pthread_equal(seen.thread, thread) && mask_is(&other) && seen.rounding == FE_TONEAREST);
    const unsigned before = threads_now();
    OK(cuCtxDestroy_v2(two));
    for (int i = 0; i < 6000 && threads_now() >= before; i++)
        usleep(10000);
    EXPECT(threads_now() < before);
    OK(cuGraphExecDestroy(x));
    OK(cuGraphDestroy(g));
    OK(cuCtxDestroy_v2(c));
    must_work();
}

/* ---- a program that polls on one processor under a real-time policy ---- */

static void
real_time(void)
{
    cpu_set_t one;
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    CUmodule m;
    CUfunction f;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    EXPECT(!sched_setaffinity(0, sizeof one, &one));
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 })) {
        fprintf(stderr, "skipped: a real-time policy needs CAP_SYS_NICE\n");
        return;
    }
    alarm(60);
    CUcontext c = make_context();
    OK(cuMemAlloc_v2(&p, 8));
    OK(cuMemsetD32_v2(p, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuModuleLoadData(&m, floats));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, 0));
    for (int i = 0; i < 10; i++) {
        CUresult r;
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &p }, NULL));
        OK(cuEventRecord(e, s));
        while ((r = i % 2 ? cuStreamQuery(s) : cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
            ;
        OK(r);
    }
    alarm(0);
    OK(cuCtxDestroy_v2(c));
}

/* ---- limits -------------------------------------------------------------------------------------------------------------- */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static void
skipped(void)
{
    fprintf(stderr, "addresses, data: skipped: sanitizers reserve terabytes of them\n");
}
#else
static void
addresses(void)
{
    struct rlimit l = { 4ull << 30, 4ull << 30 };
    EXPECT(!setrlimit(RLIMIT_AS, &l));
    must_work();
}

/* A device has no more memory than the process, and gives no more than it has. */
static void
data(void)
{
    enum { LIMIT = 1 << 30, SIZE = 16 << 20 };
    const struct rlimit l = { LIMIT, LIMIT };
    CUdeviceptr p;
    size_t before, most, got = 0;
    CUresult e;
    EXPECT(!setrlimit(RLIMIT_DATA, &l));
    CUcontext c = make_context();
    OK(cuMemGetInfo_v2(&before, &most));
    EXPECT(before <= most && most <= LIMIT);
    while ((e = cuMemAlloc_v2(&p, SIZE)) == CUDA_SUCCESS && got <= LIMIT)
        got += SIZE;
    EXPECT_RESULT(e, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(got <= before && got > before / 2);
    OK(cuCtxDestroy_v2(c));
    must_work();
}
#endif

/* ---- constants ---- */

/* A text's decimal constants are what they say, whatever rounds in the program, which keeps its setting. */
static void
rounding(void)
{
    static const char constants[] = ".version 7.1\n.target sm_60\n.address_size 64\n"
        ".visible .global .align 8 .f64 g[3] = { 0.3, 2.1, 1e-310 };\n"
        ".visible .entry k(.param .u64 p)\n{ .reg .b64 %a; .reg .f64 %x; ld.param.u64 %a, [p]; mov.f64 %x, 0.3; st.global.f64 [%a], %x; ret; }\n";
    static const uint64_t want[3] = { 0x3fd3333333333333, 0x4000cccccccccccd, 0x000012688b70e62b };
    CUmodule m;
    CUfunction f;
    CUdeviceptr g, p;
    uint64_t got[3];
    size_t size;
    make_context();
    OK(cuMemAlloc_v2(&p, 8));
    fesetround(FE_UPWARD);
#if defined(__x86_64__)                 /* denormals are zero and flushed to zero, as -ffast-math has it */
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
    OK(cuModuleLoadData(&m, constants));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuModuleGetGlobal_v2(&g, &size, m, "g"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
    OK(cuMemcpyDtoH_v2(got, g, sizeof got));
    EXPECT(!memcmp(got, want, sizeof want));
    OK(cuMemcpyDtoH_v2(got, p, 8));
    EXPECT(got[0] == want[0]);
    EXPECT(fegetround() == FE_UPWARD);
#if defined(__x86_64__)
    EXPECT((__builtin_ia32_stmxcsr() & 0x8040) == 0x8040);
#endif
}

/* ---- */

static const struct test tests[] = {
    { "children", children }, { "fork_before", fork_before }, { "fork_while_starting", fork_while_starting },
    { "cancelled", cancelled }, { "ended_threads", ended_threads }, { "small_stack", small_stack }, { "first_call", first_call }, { "default_stack", default_stack },
    { "deep_text", deep_text }, { "profiled", profiled },
    { "profiled_restart", profiled_restart }, { "interrupted", interrupted, true }, { "alternate_stack", alternate_stack }, { "refusing", refusing },
    { "waited_for", waited_for }, { "float_upward", float_upward }, { "float_trapping", float_trapping },
#if defined __x86_64__
    { "float_flushing", float_flushing },
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    { "limits", skipped },
#else
    { "addresses", addresses }, { "data", data },
#endif
    { "killing", killing }, { "answered", answered }, { "host_thread", host_thread }, { "rounding", rounding }, { "real_time", real_time },
    { "unexecutable", unexecutable }, { "unexecutable_isolated", unexecutable_isolated }, { 0 },
};

int
main(int argc, char **argv)
{
    return run_tests(argc, argv, tests, &(struct test){ 0 });
}
