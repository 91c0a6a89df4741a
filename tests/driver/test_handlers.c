/* SPDX-License-Identifier: Apache-2.0
 * An application's handlers of faults beside ours: a kernel's fault is the context's error whatever the application installed and when, and its own
 * faults reach it. Each case is a process of its own, which ends as `signal` says. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n    .reg .b64 %d<2>;\n"
                           "    mov.u64 %d1, 64;\n    st.global.u64 [%d1], %d1;\n    ret;\n}\n";

/* Sanitizers have handlers of their own, which end the process. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *
__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}

const char *
__tsan_default_options(void)
{
    return __asan_default_options();
}

static sigjmp_buf back;
static struct sigaction old;
static volatile unsigned caught;

static void
fault(void)
{
    *(volatile int *)sysconf(_SC_PAGESIZE) = 1;         /* nothing is mapped there */
}

static void
kernel_fault(void)
{
    CUmodule m;
    CUfunction f;
    CUcontext c;
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(c));
}

static void
leave(int sig)
{
    caught++;
    siglongjmp(back, 1);
}

static void
pass_on(int sig, siginfo_t *info, void *context)
{
    caught++;
    if (old.sa_flags & SA_SIGINFO)
        old.sa_sigaction(sig, info, context);
    else
        _exit(3);
}

static void
install(void (*simple)(int), void (*full)(int, siginfo_t *, void *))
{
    struct sigaction a = { .sa_flags = SA_ONSTACK | (full ? SA_SIGINFO : 0) };
    if (full)
        a.sa_sigaction = full;
    else
        a.sa_handler = simple;
    sigemptyset(&a.sa_mask);
    sigaction(SIGSEGV, &a, &old);
}

static void
own_faults(unsigned want)
{
    if (!sigsetjmp(back, 1) || caught < want)
        fault();
    EXPECT(caught == want);
}

static void
before(void)
{
    install(leave, NULL);
    OK(cuInit(0));
    kernel_fault();
    own_faults(3);
}

static void
after(void)
{
    OK(cuInit(0));
    kernel_fault();
    install(leave, NULL);
    own_faults(2);
    kernel_fault();
    own_faults(5);
    kernel_fault();
}

static void
after_passing_on(void)
{
    OK(cuInit(0));
    kernel_fault();
    install(NULL, pass_on);
    kernel_fault();
    EXPECT(caught == 0);
    fault();                    /* the application's handler, then what was there before us: the default */
}

static void
after_default(void)
{
    OK(cuInit(0));
    kernel_fault();
    install(SIG_DFL, NULL);
    kernel_fault();
    fault();
}

static int
deep(volatile char *p)
{
    volatile char page[4096];
    page[0] = p ? *p : 1;
    return (page[0] ? deep(page) : 0) + page[0];
}

/* The application's handler runs on the stack that it chose. */
static void
alternate_stack(void)
{
    stack_t s = { .ss_sp = malloc(65536), .ss_size = 65536 };
    OK(cuInit(0));
    kernel_fault();
    sigaltstack(&s, NULL);
    install(leave, NULL);
    kernel_fault();
    if (!sigsetjmp(back, 1))
        caught += (unsigned)deep(NULL) & 0;
    EXPECT(caught == 1);
    stack_t now;
    sigaltstack(NULL, &now);
    EXPECT(now.ss_sp == s.ss_sp);
}

/* Timers' signals never run on a kernel's stack. */
static void
profiling(void)
{
    struct sigaction a = { .sa_handler = SIG_IGN };
    sigset_t set;
    sigaction(SIGPROF, &a, NULL);
    sigemptyset(&set);
    OK(cuInit(0));
    for (int i = 0; i < 3; i++)
        kernel_fault();
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    EXPECT(!sigismember(&set, SIGPROF));        /* starting threads changed nothing here */
}

static const struct {
    const char *name;
    void (*run)(void);
    int signal;
} cases[] = {
    { "before", before, 0 }, { "after", after, 0 }, { "after_passing_on", after_passing_on, SIGSEGV },
    { "after_default", after_default, SIGSEGV }, { "alternate_stack", alternate_stack, 0 }, { "profiling", profiling, 0 },
};

int
main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = fork();
        if (!pid) {
            failures = 0;
            alarm(300);         /* a fault that handlers pass to each other for ever */
            cases[i].run();
            _exit(failures != 0);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        if (cases[i].signal ? !WIFSIGNALED(status) || WTERMSIG(status) != cases[i].signal : status) {
            fprintf(stderr, "%s: status %#x\n", cases[i].name, (unsigned)status);
            failures++;
        }
    }
    return failures != 0;
}
