/* SPDX-License-Identifier: Apache-2.0
 * An application's handlers of faults beside ours: a kernel's fault is the context's error whatever the application installed and when, and its own
 * faults reach it. Each case is a process of its own, which ends as `signal` says. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n    .reg .b64 %d<2>;\n"
                           "    mov.u64 %d1, 64;\n    st.global.u64 [%d1], %d1;\n    ret;\n}\n";

/* Sanitizers have handlers of their own, which end the process. */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__tsan_default_options(void) __attribute__((visibility("default")));

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

/* ---- what a runtime of another language takes for granted ---- */

static char alternate[1 << 16];
static volatile bool in_handler;
static volatile unsigned collected, outside;
static atomic_bool over;

/* A collector's signal. Where its handler finds this stack in use by nothing of its own, it cannot know what the thread does. */
static void
collect(int sig)
{
    stack_t s;
    (void)sig;
    collected++;
    if (!in_handler && !sigaltstack(NULL, &s) && s.ss_flags & SS_ONSTACK)
        outside++;
}

static void
skip(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    in_handler = true;          /* until the jump has ended, which opens the signal first */
    caught++;
    siglongjmp(back, 1);
}

static void *
sends(void *to)
{
    while (!atomic_load(&over))
        (void)pthread_kill(*(pthread_t *)to, SIGUSR2);
    return NULL;
}

/* SBCL's, and Boehm's: the handler of faults keeps the collector's signal out, and has the stack to itself. */
static void
collected_meanwhile(void)
{
    if (THREAD_SANITIZER)                   /* it calls handlers of sent signals when it likes */
        return;
    struct sigaction a = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    struct sigaction usr2 = { .sa_handler = collect };
    pthread_t t, self = pthread_self();
    EXPECT(!sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL));
    sigemptyset(&a.sa_mask);
    sigaddset(&a.sa_mask, SIGUSR2);
    EXPECT(!sigaction(SIGSEGV, &a, NULL) && !sigaction(SIGUSR2, &usr2, NULL));
    OK(cuInit(0));
    kernel_fault();
    EXPECT(!pthread_create(&t, NULL, sends, &self));
    if (!sigsetjmp(back, 1) || caught < 20000) {
        in_handler = false;
        fault();
    }
    atomic_store(&over, true);
    pthread_join(t, NULL);
    EXPECT(collected > 0 && outside == 0);
    kernel_fault();
}

static volatile bool on_alternate;

static void
divides(int sig)
{
    stack_t s;
    (void)sig;
    on_alternate = sigaltstack(NULL, &s) || s.ss_flags & SS_ONSTACK;
    siglongjmp(back, 1);
}

/* Mono's: there is an alternate stack, for SIGSEGV, and the handler of another fault runs on the thread's own. */
static void
stack_that_was_chosen(void)
{
    struct sigaction a = { .sa_handler = divides };
    EXPECT(!sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL));
    EXPECT(!sigaction(SIGFPE, &a, NULL));
    OK(cuInit(0));
    kernel_fault();
    on_alternate = true;
    if (!sigsetjmp(back, 1))
        raise(SIGFPE);
    EXPECT(!on_alternate);
    a.sa_flags = SA_ONSTACK;
    EXPECT(!sigaction(SIGFPE, &a, NULL));
    kernel_fault();
    if (!sigsetjmp(back, 1))
        raise(SIGFPE);
    EXPECT(on_alternate);
    kernel_fault();
}

/* The same at SIGSEGV, for which ours needs the alternate stack. */
static char *page;
static stack_t in_place;
static sigset_t blocked;

/* What the handler finds is what it would find without us. */
static void
opens(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *c = context;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    stack_t s;
    sigset_t now;
    caught++;
    on_alternate = here - (uintptr_t)in_place.ss_sp < in_place.ss_size;
    EXPECT(sig == SIGSEGV && (info->si_code <= 0 || (info->si_addr == page && info->si_code == SEGV_ACCERR)));
    EXPECT(c->uc_stack.ss_sp == in_place.ss_sp && c->uc_stack.ss_flags == in_place.ss_flags && c->uc_stack.ss_size == in_place.ss_size);
    EXPECT(!sigaltstack(NULL, &s) && (s.ss_flags == SS_DISABLE) == (in_place.ss_flags != 0) && !(s.ss_flags & SS_ONSTACK) == !on_alternate);
    EXPECT(!memcmp(&c->uc_sigmask, &blocked, 8) && !pthread_sigmask(SIG_SETMASK, NULL, &now));
    for (int i = 1; i < NSIG; i++)
        EXPECT(sigismember(&now, i) == (sigismember(&blocked, i) || i == SIGSEGV));
#ifdef __x86_64__
    __asm__ volatile("pxor %%xmm5, %%xmm5" : : : "xmm5");
#endif
    EXPECT(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
}

/* The thread's registers are as before, whatever the handler does with them. */
static void
touches(int sig)
{
    (void)sig;
#ifdef __x86_64__
    const uint64_t value = 0x3ff123456789abcd;
    uint64_t kept = 0;
    __asm__ volatile("movq %1, %%xmm5\n\tmovb $1, (%2)\n\tmovq %%xmm5, %0" : "=&r"(kept) : "r"(value), "r"(page) : "xmm5", "memory");
    EXPECT(kept == value);
#else
    *(volatile char *)page = 1;
#endif
}

static void
stays(void)
{
    stack_t s;
    sigset_t now;
    EXPECT(!pthread_sigmask(SIG_SETMASK, NULL, &now) && !memcmp(&now, &blocked, 8));
    EXPECT(!sigaltstack(NULL, &s) && s.ss_sp == in_place.ss_sp && s.ss_flags == in_place.ss_flags && s.ss_size == in_place.ss_size);
}

static void
faults(void (*fn)(int), unsigned times, bool on)
{
    const unsigned before = caught;
    EXPECT(!mprotect(page, 4096, PROT_NONE));
    on_alternate = !on;
    fn(SIGSEGV);
    EXPECT(caught == before + times && on_alternate == on);
    stays();
}

static void
raises(int sig)
{
    (void)raise(sig);
}

static void
raises_usr1(int sig)
{
    (void)sig;
    raises(SIGUSR1);
}

static void
stack_of_its_own(void)
{
    struct sigaction a = { .sa_sigaction = opens, .sa_flags = SA_SIGINFO }, usr1 = { .sa_handler = touches, .sa_flags = SA_ONSTACK | SA_NODEFER };
    const unsigned disarm = 1u << 31;       /* SS_AUTODISARM */
    if (THREAD_SANITIZER)                   /* its own handler calls ours */
        return;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED && !sigaction(SIGSEGV, &a, NULL) && !sigaction(SIGUSR1, &usr1, NULL));
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    EXPECT(!pthread_sigmask(SIG_SETMASK, &blocked, NULL));
    OK(cuInit(0));
    for (int i = 0; i < 3; i++) {
        in_place = (stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate, .ss_flags = i == 2 ? (int)disarm : 0 };
        EXPECT(!sigaltstack(&in_place, NULL));
        kernel_fault();
        faults(touches, 1, false);
        faults(raises, 1, false);
        if (i == 0)
            faults(raises_usr1, 1, true);       /* a fault of what runs there already */
    }
    a.sa_flags |= SA_ONSTACK;
    in_place.ss_flags = 0;
    EXPECT(!sigaltstack(&in_place, NULL) && !sigaction(SIGSEGV, &a, NULL));
    kernel_fault();
    faults(touches, 1, true);
    kernel_fault();
    a.sa_flags = SA_SIGINFO;
    a.sa_sigaction = pass_on;               /* to `opens`, on the stack where it is */
    EXPECT(!sigaction(SIGSEGV, &a, &old));
    kernel_fault();
    for (int i = 0; i < 2; i++)
        faults(touches, 2, false);
    kernel_fault();
}

static int
deep(volatile char *p)
{
    volatile char page[4096];
    page[0] = p ? *p : 1;
    return (page[0] ? deep(page) : 0) + page[0];
}

/* As without us: the handler's stack is full, and nobody can be called. */
static void
no_stack_of_its_own(void)
{
    struct sigaction a = { .sa_handler = leave };
    if (THREAD_SANITIZER)
        return;
    OK(cuInit(0));
    EXPECT(!sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL) && !sigaction(SIGSEGV, &a, NULL));
    kernel_fault();
    if (!sigsetjmp(back, 1))
        caught += (unsigned)deep(NULL) & 0;
    EXPECT(false);
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

/* ---- what the kernel does for a handler ---- */

static void
install_with(void (*handler)(int), int flags, struct sigaction *before)
{
    struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
    sigemptyset(&a.sa_mask);
    sigaddset(&a.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &a, before);
}

static void
once(int sig)
{
    (void)sig;
    if (caught++)
        _exit(3);
}

/* SA_RESETHAND: the second fault ends the process. */
static void
reset(void)
{
    install_with(once, SA_RESETHAND, NULL);
    OK(cuInit(0));
    kernel_fault();
    fault();
}

static void
reset_after(void)
{
    OK(cuInit(0));
    kernel_fault();
    install_with(once, SA_RESETHAND, NULL);
    kernel_fault();
    fault();
}

/* SA_NODEFER: a handler that is left without its mask, three times. */
static void
no_defer(void)
{
    install_with(leave, SA_NODEFER, NULL);
    OK(cuInit(0));
    kernel_fault();
    if (!sigsetjmp(back, 0) || caught < 3)
        fault();
    EXPECT(caught == 3);
}

static sigset_t within;

static void
look(int sig)
{
    (void)sig;
    pthread_sigmask(SIG_BLOCK, NULL, &within);
    siglongjmp(back, 1);
}

static void
masks(void)
{
    sigset_t now;
    OK(cuInit(0));
    kernel_fault();
    install_with(leave, 0, NULL);
    kernel_fault();
    install_with(look, 0, NULL);
    kernel_fault();
    if (!sigsetjmp(back, 1))
        fault();
    for (int s = 1; s <= SIGRTMAX; s++)
        EXPECT(sigismember(&within, s) == (s == SIGSEGV || s == SIGUSR1));
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    EXPECT(sigisemptyset(&now));
}

/* SA_RESTART: a signal that is sent does not end a read. */
static void
restarts(void)
{
    int ends[2];
    char byte = 0;
    install_with(once, SA_RESTART, NULL);
    OK(cuInit(0));
    kernel_fault();
    EXPECT(!pipe(ends));
    pid_t child = fork();
    if (!child) {
        usleep(100000);
        kill(getppid(), SIGSEGV);
        usleep(100000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT(read(ends[0], &byte, 1) == 1 && byte == 'x' && caught == 1);
    waitpid(child, NULL, 0);
}

/* A thread of ours may get what was queued for a thread that waits. */
static void
queued(void)
{
    sigset_t set;
    siginfo_t info = { .si_signo = 0 };
    CUcontext c;
    CUdeviceptr p;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuMemsetD8Async(p, 0, 64, NULL));
    OK(cuCtxSynchronize());
    EXPECT(!sigqueue(getpid(), SIGSEGV, (union sigval){ .sival_int = 4711 }));
    usleep(100000);
    EXPECT(sigtimedwait(&set, &info, &(struct timespec){ 10, 0 }) == SIGSEGV && info.si_code == SI_QUEUE && info.si_value.sival_int == 4711);
}

static void
never(int sig)
{
    _exit(sig ? 3 : 4);
}

/* Handlers of ours that the application found, and puts back: each stands for what it was above. */
static void
put_back(void)
{
    struct sigaction bare, with_leave;
    OK(cuInit(0));
    kernel_fault();
    install_with(leave, 0, &bare);
    kernel_fault();
    install_with(never, 0, &with_leave);
    kernel_fault();
    sigaction(SIGSEGV, &with_leave, NULL);
    own_faults(2);
    kernel_fault();
    own_faults(3);
    sigaction(SIGSEGV, &bare, NULL);
    kernel_fault();
    fault();
}

/* A handler that is there before ours and after it, and passes on to itself in this way. */
static void
circle(void)
{
    install(NULL, pass_on);
    OK(cuInit(0));
    kernel_fault();
    install(NULL, pass_on);
    kernel_fault();
    fault();
}

/* Three handlers, each of which passes on to the one that it found: a fault reaches all, the newest first. */
static struct sigaction found[3];
static char order[8];

static void
pass_down(unsigned n, int sig, siginfo_t *info, void *context)
{
    if (strlen(order) < sizeof order - 1)
        order[strlen(order)] = (char)('0' + n);
    if (found[n].sa_flags & SA_SIGINFO)
        found[n].sa_sigaction(sig, info, context);
    else
        siglongjmp(back, 1);
}

static void
pass_0(int sig, siginfo_t *info, void *context)
{
    pass_down(0, sig, info, context);
}

static void
pass_1(int sig, siginfo_t *info, void *context)
{
    pass_down(1, sig, info, context);
}

static void
pass_2(int sig, siginfo_t *info, void *context)
{
    pass_down(2, sig, info, context);
}

static void
three(void)
{
    static void (*const each[])(int, siginfo_t *, void *) = { pass_0, pass_1, pass_2 };
    for (unsigned i = 0; i < 3; i++) {
        install(NULL, each[i]);
        found[i] = old;
        OK(cuInit(0));
        kernel_fault();
    }
    for (unsigned i = 0; i < 2; i++) {
        memset(order, 0, sizeof order);
        if (!sigsetjmp(back, 1))
            fault();
        EXPECT(!strcmp(order, "210"));
    }
}

/* signal() knows neither masks nor SA_SIGINFO: a handler of ours that it puts back is called without what it looks at. */
static void
put_back_by_signal(void)
{
    if (THREAD_SANITIZER)                   /* its signal() gives and takes handlers of its own */
        return;
    install(leave, NULL);
    OK(cuInit(0));
    kernel_fault();
    void (*const ours)(int) = signal(SIGSEGV, never);
    signal(SIGSEGV, ours);
    own_faults(3);                          /* before anything else of ours is called */
    kernel_fault();
    own_faults(6);
    signal(SIGSEGV, never);
    kernel_fault();
    signal(SIGSEGV, ours);
    kernel_fault();
    own_faults(9);
}

static void (*simple_old)(int);

static void
pass_on_simply(int sig)
{
    caught++;
    simple_old(sig);
}

static void
passed_on_by_signal(void)
{
    install(leave, NULL);
    OK(cuInit(0));
    kernel_fault();
    simple_old = signal(SIGSEGV, pass_on_simply);
    own_faults(4);                          /* both, each time */
    kernel_fault();
    own_faults(8);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__      /* whose malloc is another */
static void
caught_in_malloc(int sig)
{
    _exit(sig != SIGSEGV);
}

static void *
break_heap(void *unused)
{
    char *volatile free_block = malloc(3000), *volatile behind = malloc(100);
    (void)behind;
    free(free_block);
    ((void *volatile *)(void *)free_block)[1] = (void *)0x1234560;
    free_block = malloc(5000);
    return unused;
}

/* A crash that has the lock of malloc: handing it over takes none. Thread-specific data would: of the first 32 keys alone each thread has room. */
static void
in_malloc(void)
{
    pthread_key_t key;
    pthread_t t;
    for (unsigned i = 0; i < 64; i++)
        EXPECT(!pthread_key_create(&key, NULL));
    OK(cuInit(0));
    kernel_fault();
    install(caught_in_malloc, NULL);
    kernel_fault();
    pthread_create(&t, NULL, break_heap, NULL);
    pthread_join(t, NULL);
    EXPECT(!"a crash");
}
#endif

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
    { "before", before, 0 }, { "collected_meanwhile", collected_meanwhile, 0 }, { "stack_that_was_chosen", stack_that_was_chosen, 0 }, { "after", after, 0 }, { "after_passing_on", after_passing_on, SIGSEGV },
    { "reset", reset, SIGSEGV }, { "reset_after", reset_after, SIGSEGV }, { "no_defer", no_defer, 0 }, { "masks", masks, 0 }, { "restarts", restarts, 0 },
    { "put_back", put_back, SIGSEGV }, { "circle", circle, SIGSEGV }, { "queued", queued, 0 }, { "three", three, 0 }, { "put_back_by_signal", put_back_by_signal, 0 },
    { "passed_on_by_signal", passed_on_by_signal, 0 },
    { "stack_of_its_own", stack_of_its_own, 0 }, { "no_stack_of_its_own", no_stack_of_its_own, THREAD_SANITIZER ? 0 : SIGSEGV },
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    { "in_malloc", in_malloc, 0 },
#endif
    { "after_default", after_default, SIGSEGV }, { "alternate_stack", alternate_stack, 0 }, { "profiling", profiling, 0 },
};

int
main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = fork();
        if (!pid) {
            failures = 0;
            alarm(60);          /* a fault that handlers pass to each other for ever */
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
