/* SPDX-License-Identifier: Apache-2.0
 * See fault.h. `first` is what was installed before us; `handlers` are those that the application put over ours later, which ours went above. An
 * application's handler may pass on to ours, which it found when it was installed: a fault that comes back to us goes to what ours was above then.
 *
 * An application may also put back a handler of ours that it found. So that one tells what it was above, its mask has that handler's number in the
 * last real-time signals: on_signal gives the thread its mask back before anything else can notice. Programs that know signal() alone put it back
 * with neither mask nor SA_SIGINFO, and call it with the number alone: it stands for `first` then. */
#define _GNU_SOURCE
#include "impl/base/fault.h"

#include "impl/base/log.h"
#include "impl/base/readable.h"
#include "impl/base/thread.h"

#include <errno.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { COUNT = sizeof signals / sizeof *signals, NUMBER_BITS = 16 };

/* Never freed: a signal handler may be reading it. */
struct handler {
    struct sigaction action;
    unsigned number;
    atomic_bool spent;                  /* it was called, and has SA_RESETHAND: it is the default action now */
    struct handler *older, *under;      /* under: what ours was above when the application put it there, which is older; NULL: the default */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* installing */
static bool said[COUNT];                                    /* lock: that the signal cannot be handled */
static struct handler first[COUNT];                         /* number 0 */
static struct handler by_default;
static struct handler *_Atomic handlers[COUNT];             /* newest first, the last is `first` */
static atomic_uint below[COUNT];                            /* the number of what ours was above when that was last looked at */
static _Atomic(cw_fault_fn *) owner;
static _Atomic(cw_fault_again_fn *) again;

/* What a thread is at. initial-exec: the handler may run on a thread that never had these, inside of malloc, so it must not allocate. */
#define OF_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
struct guard {
    sigjmp_buf out;
    volatile uintptr_t address;
};
OF_THREAD struct guard *volatile guard;                     /* what runs guarded, or NULL */
OF_THREAD volatile bool closed;                             /* a thread of ours that may have faults blocked */
OF_THREAD struct given {                                    /* the fault that an application's handler has from us */
    const void *context, *frame;
    const struct handler *to;
    bool moved;                                             /* it left on_signal for good */
} given;

static void on_signal(int sig, siginfo_t *info, void *context);

static bool
is_ours(const struct sigaction *a)
{
    return a->sa_sigaction == on_signal;
}

/* Ours as we install it. */
static bool
is_whole(const struct sigaction *a)
{
    return is_ours(a) && a->sa_flags & SA_SIGINFO;
}

static unsigned
number_of(const struct sigaction *ours)
{
    unsigned number = 0;
    for (int i = 0; i < NUMBER_BITS; i++)
        number |= (unsigned)sigismember(&ours->sa_mask, _NSIG - 1 - i) << i;
    return number;
}

static bool
is_function(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* NULL: none. */
static struct handler *
numbered(size_t n, unsigned number)
{
    struct handler *h = atomic_load(&handlers[n]);
    while (h && h->number != number)
        h = h->older;
    return h;
}

/* What ours is above. *ours: ours is what the kernel calls; else an application's handler above it does. */
static struct handler *
found_below(size_t n, bool *ours)
{
    struct sigaction now;
    *ours = !sigaction(signals[n], NULL, &now) && is_ours(&now);
    struct handler *h = numbered(n, *ours ? number_of(&now) : atomic_load(&below[n]));
    return h ? h : &by_default;
}

enum {
    KERNEL_MASK = 8,                    /* bytes of a context's set that are there */
    INFO_AT = 304,                      /* siginfo follows: from the context on */
};

static void
mask_at(const void *context, sigset_t *mask)
{
    sigemptyset(mask);
    memcpy(mask, &((const ucontext_t *)context)->uc_sigmask, KERNEL_MASK);
}

void
cw_faults_leave(const void *context)
{
    sigset_t mask;
    mask_at(context, &mask);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* As the kernel does before it calls a handler. */
static void
block_for(const struct sigaction *a, int sig, const void *context)
{
    sigset_t mask;
    mask_at(context, &mask);
    for (int s = 1; s < _NSIG; s++)
        if (sigismember(&a->sa_mask, s) == 1)
            sigaddset(&mask, s);
    if (!(a->sa_flags & SA_NODEFER))
        sigaddset(&mask, sig);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* False: the signal has had its default action, or is ignored. sent: by somebody; else a fault. */
static bool
has_function(struct handler *h, int sig, bool sent)
{
    const struct sigaction *a = &h->action;
    /* Ignoring a fault would raise it again for ever; a signal that was sent can be ignored. */
    if (a->sa_handler == SIG_IGN && sent)
        return false;
    if (is_function(a) && !(a->sa_flags & SA_RESETHAND && atomic_exchange(&h->spent, true)))
        return true;
    signal(sig, SIG_DFL);
    if (sent)
        raise(sig);
    return false;
}

/* What on_signal was called with. CONTEXT: the kernel has left out siginfo, as it does without SA_SIGINFO. NOTHING: a handler that knows the number alone
 * has called it. */
enum with { ALL, CONTEXT, NOTHING };

static enum with
is_with(int sig, const siginfo_t *info, const void *context)
{
    struct sigaction now;
    if (cw_readable(info, 8) < 8 || cw_readable(context, 8) < 8)
        return NOTHING;
    if (!sigaction(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO))
        return (uintptr_t)info - (uintptr_t)context == INFO_AT ? CONTEXT : NOTHING;
    return info->si_signo == sig ? ALL : NOTHING;
}

/* What the kernel did not fill in: a fault, as the processor left it. */
static void
fill_in(int sig, siginfo_t *info, const void *context)
{
    memset(info, 0, sizeof *info);
    info->si_signo = sig;
    info->si_code = SI_KERNEL;
#if defined __x86_64__
    enum { PAGE_FAULT = 14 };
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    if (r[REG_TRAPNO] == PAGE_FAULT) {
        info->si_code = SEGV_ACCERR;
        info->si_addr = (void *)(uintptr_t)r[REG_CR2];
    }
#endif
}

/* ---- the stack that was interrupted ----
 *
 * The kernel calls ours on the alternate stack at SIGSEGV, for kernels of the host device that have no other left. A handler below that did not ask for it gets the
 * stack that was interrupted: its runtime may walk that, and need more of it than the alternate one has. The kernel's frame is copied there, and the handler
 * returns from the copy. Where that stack is full, the process ends by SIGSEGV, as it does without us. */
struct frame {                          /* Linux, arch/x86/include/asm/sigframe.h: struct rt_sigframe */
    void *restorer;                     /* where the handler returns to */
    uint8_t context[INFO_AT];           /* a ucontext_t up to the set's KERNEL_MASK bytes */
    siginfo_t info;
};

#if defined __x86_64__ && !defined __SANITIZE_THREAD__      /* which calls handlers itself, in a frame of its own */
static size_t
fp_size(const uint8_t *fp)
{
    enum { AREA = 512, SOFTWARE = 464, MAGIC = 0x46505853 };
    uint32_t words[2];                  /* struct _fpx_sw_bytes: the magic, the size of all */
    memcpy(words, fp + SOFTWARE, sizeof words);
    return words[0] == MAGIC ? words[1] : AREA;
}

/* NULL: the handler is to be called where ours is: it has asked for that, something other than the kernel called ours, or there is no other stack. */
static struct frame *
moved_frame(const struct sigaction *a, const siginfo_t *info, const void *context, const void *own)
{
    const ucontext_t *c = context;
    const struct frame *f = (const void *)((const char *)context - offsetof(struct frame, context));
    const uintptr_t there = (uintptr_t)c->uc_mcontext.gregs[REG_RSP], base = (uintptr_t)c->uc_stack.ss_sp;
    const void *const fp = c->uc_mcontext.fpregs;
    enum { RED_ZONE = 128, FP_ALIGN = 64, ALIGN = 16 };
    if (a->sa_flags & SA_ONSTACK || (const void *)((void *const *)(const void *)f - 1) != own || info != &f->info || !fp ||
        (uintptr_t)own - base >= c->uc_stack.ss_size || there - base < c->uc_stack.ss_size)
        return NULL;
    const size_t size = fp_size(fp);
    uint8_t *const fp_to = (uint8_t *)((there - RED_ZONE - size) & ~(uintptr_t)(FP_ALIGN - 1));
    struct frame *to = (struct frame *)((((uintptr_t)fp_to - sizeof *to) & ~(uintptr_t)(ALIGN - 1)) - sizeof(void *));
    memcpy(fp_to, fp, size);
    memcpy(to, f, sizeof *to);
    memcpy(to->context + offsetof(ucontext_t, uc_mcontext.fpregs), &fp_to, sizeof fp_to);
    return to;
}

/* Part of on_signal, so that what called it is what the handler returns to. */
static inline __attribute__((always_inline, noreturn)) void
enter_frame(const struct sigaction *a, int sig, struct frame *f)
{
    __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(f), "r"(a->sa_sigaction), "D"(sig), "S"(&f->info), "d"(f->context) : "memory");
    __builtin_unreachable();
}
#else
#define moved_frame(a, info, context, own) ((void)(own), (struct frame *)NULL)
#define enter_frame(a, sig, f) abort()
#endif

/* Made by cw_thread_create_as of any of our libraries, or by such a thread. */
static bool
on_thread_of_ours(void)
{
    char name[16] = "";
    return syscall(SYS_gettid) != getpid() && !prctl(PR_GET_NAME, name) && !strncmp(name, CW_THREAD_NAME, sizeof CW_THREAD_NAME - 1);
}

/* Where a signal goes that the application's handler `from` passed on to us. */
static struct handler *
next_of(const struct handler *from)
{
    return from->under ? from->under : &by_default;
}

static void
on_signal(int sig, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    const enum with with = is_with(sig, info, context);
    const void *frame = __builtin_frame_address(0);
    const struct given outer = given;
    size_t n = 0;
    bool by_kernel = false;
    while (n < COUNT && signals[n] != sig)
        n++;
    if (n == COUNT)
        return;
    if (with == NOTHING) {
        struct handler *to = outer.to && (uintptr_t)frame < (uintptr_t)outer.frame ? next_of(outer.to) : found_below(n, &by_kernel);
        errno = saved_errno;
        if (has_function(to, sig, false))
            to->action.sa_sigaction(sig, info, context);
        return;
    }
    if (with == CONTEXT)
        fill_in(sig, info, context);
    if (info->si_code > 0) {
        cw_fault_again_fn *may = atomic_load(&again);
        if (may && sig == SIGSEGV && may((uintptr_t)info->si_addr))
            return;
        if (guard && (sig == SIGSEGV || sig == SIGBUS)) {
            guard->address = (uintptr_t)info->si_addr;
            cw_faults_leave(context);
            siglongjmp(guard->out, 1);
        }
        cw_fault_fn *fn = atomic_load(&owner);
        if (fn)
            fn(sig, info, context);
    } else if (info->si_code != SI_TKILL && on_thread_of_ours()) {
        /* It was sent to the process, and this thread had to leave it open for its own faults. Another may wait for it. The kernel lets nobody
         * pass on who sent it by kill(). */
        sigaddset(&((ucontext_t *)context)->uc_sigmask, sig);
        closed = true;
        if (syscall(SYS_rt_sigqueueinfo, getpid(), sig, info))
            (void)kill(getpid(), sig);
        errno = saved_errno;
        return;
    }
    /* The same fault again, further down this stack: an application's handler passed it on. A handler that was left by a long jump
     * leaves its entry behind, which says nothing of a new fault: that is not further down, or has another context. So does one that was moved; where its
     * context was, there is no other unless the alternate stack is gone. */
    const bool passed_on = outer.context == context && (uintptr_t)frame < (uintptr_t)outer.frame && (!outer.moved || ((const ucontext_t *)context)->uc_stack.ss_size);
    struct handler *to = passed_on ? next_of(outer.to) : found_below(n, &by_kernel);
    const struct sigaction *a = &to->action;
    if (!has_function(to, sig, info->si_code <= 0))
        return;
    struct frame *there = by_kernel ? moved_frame(a, info, context, frame) : NULL;
    if (by_kernel)
        block_for(a, sig, context);
    given = there ? (struct given){ there->context, there, to, true } : (struct given){ context, frame, to, false };
    errno = saved_errno;
    if (there)
        enter_frame(a, sig, there);
    a->sa_sigaction(sig, info, context);    /* all three arguments, as from the kernel: one without SA_SIGINFO may be on_signal of another copy of this library */
    given = outer;
}

/* Real-time signals aside: those are another handler's number where that is a copy of ours, in another library. */
static bool
same(const struct sigaction *a, const struct sigaction *b)
{
    if (a->sa_flags != b->sa_flags || a->sa_sigaction != b->sa_sigaction)
        return false;
    for (int s = 1; s < SIGRTMIN; s++)
        if (sigismember(&a->sa_mask, s) != sigismember(&b->sa_mask, s))
            return false;
    return true;
}

/* lock held. NULL: out of memory, or of numbers. */
static struct handler *
handler_of(size_t n, const struct sigaction *found)
{
    struct handler *const newest = atomic_load(&handlers[n]), *h = newest;
    while (h && !same(&h->action, found))
        h = h->older;
    if (h) {
        atomic_store(&h->spent, false);
        return h;
    }
    const unsigned number = newest ? newest->number + 1 : 0;
    h = !newest ? &first[n] : number >> NUMBER_BITS ? NULL : calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->action = *found;
    h->number = number;
    h->under = newest ? numbered(n, atomic_load(&below[n])) : NULL;
    h->older = newest;
    atomic_store(&handlers[n], h);      /* known before a fault can ask for it */
    return h;
}

static void
install(size_t n)
{
    struct sigaction found;
    bool ok = true;
    pthread_mutex_lock(&lock);
    if (sigaction(signals[n], NULL, &found)) {
        ok = false;
    } else if (!is_whole(&found)) {
        const struct handler *h = is_ours(&found) ? numbered(n, number_of(&found)) : handler_of(n, &found);
        if (h) {
            struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
            if (!is_function(&h->action) || h->action.sa_flags & SA_RESTART)
                ours.sa_flags |= SA_RESTART;
            /* The handler below gets the stack that it asked for: its runtime walks that stack (Mono, at SIGFPE). A kernel that has no stack left raises SIGSEGV, which
             * is moved to the other stack. */
            if (!is_function(&h->action) || h->action.sa_flags & SA_ONSTACK || signals[n] == SIGSEGV)
                ours.sa_flags |= SA_ONSTACK;
            /* A signal that the handler below keeps out must not interrupt ours: it would find the thread on the alternate stack before the runtime has recorded
             * the fault (SBCL, which stops threads by SIGUSR2). */
            if (is_function(&h->action))
                ours.sa_mask = h->action.sa_mask;
            for (int i = 0; i < NUMBER_BITS; i++)
                (void)(h->number >> i & 1 ? sigaddset(&ours.sa_mask, _NSIG - 1 - i) : sigdelset(&ours.sa_mask, _NSIG - 1 - i));
            atomic_store(&below[n], h->number);
            ok = !sigaction(signals[n], &ours, NULL);
        }
    }
    if (!ok && !said[n])
        cw_error("cannot handle signal %d: a fault in a kernel will end the program", signals[n]);
    said[n] = !ok;
    pthread_mutex_unlock(&lock);
}

void
cw_faults_claim(void)
{
    struct sigaction now;
    for (size_t n = 0; n < COUNT; n++) {
        if (sigaction(signals[n], NULL, &now) || !is_whole(&now))
            install(n);
        else
            atomic_store(&below[n], number_of(&now));
    }
    cw_faults_open();
}

void
cw_faults_owner(cw_fault_fn *fn)
{
    atomic_store(&owner, fn);
}

void
cw_faults_again(cw_fault_again_fn *fn)
{
    atomic_store(&again, fn);
}

void
cw_faults_open(void)
{
    if (closed) {
        closed = false;
        cw_thread_open_faults();
    }
}

static void
begin_closed(void)
{
    closed = true;
}

int
cw_thread_create(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    return cw_thread_create_as(t, attr, fn, arg, begin_closed);
}

bool
cw_guarded(void (*fn)(void *), void *p, uintptr_t *address)
{
    struct guard here;
    cw_faults_claim();
    struct guard *const outer = guard;
    if (sigsetjmp(here.out, 0)) {
        guard = outer;
        *address = here.address;
        return false;
    }
    guard = &here;
    fn(p);
    guard = outer;
    return true;
}
