/* SPDX-License-Identifier: Apache-2.0
 * See restart.h. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/restart.h"
#include "impl/runtime/redirect/patch.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* ---- the frame ---- */

struct walk {
    struct cw_copy *const *copies;
    size_t count;
    struct cw_restart_frame *out;
    bool found, was_last;           /* was_last: the frame visited before is out's */
    uintptr_t *running;
    size_t nrunning;
};

static _Unwind_Reason_Code
visit(struct _Unwind_Context *u, void *user)
{
    static const int preserved[6] = { 3, 6, 12, 13, 14, 15 };       /* DWARF's numbers (System V ABI, 3.6.2) */
    struct walk *w = user;
    int interrupted = 0;
    uintptr_t ip = _Unwind_GetIPInfo(u, &interrupted), sp = _Unwind_GetCFA(u);
    if (ip && !interrupted)
        ip--;                       /* into the call */
    if (w->was_last)
        w->out->cfa = sp;
    w->was_last = false;
    void *start = ip ? _Unwind_FindEnclosingFunction((void *)ip) : NULL;
    if (start && w->nrunning < CW_RESTART_RUNNING)
        w->running[w->nrunning++] = (uintptr_t)start;
    for (size_t i = 0; i < w->count && ip; i++) {
        const struct cw_copy_function *f = cw_copy_function_at(w->copies[i], ip - w->copies[i]->bias);
        if (!f)
            continue;
        *w->out = (struct cw_restart_frame){ .copy = w->copies[i], .function = f, .return_into = interrupted ? ip : ip + 1, .sp = sp, .interrupted = interrupted };
        for (unsigned k = 0; k < 6; k++)
            w->out->saved[k] = _Unwind_GetGR(u, preserved[k]);
        w->found = w->was_last = true;
        break;
    }
    return _URC_NO_REASON;
}

bool
cw_restart_find(struct cw_copy *const *copies, size_t count, struct cw_restart_frame *out, uintptr_t *running, size_t *nrunning)
{
    struct walk w = { .copies = copies, .count = count, .out = out, .running = running };
    _Unwind_Backtrace(visit, &w);
    *nrunning = w.nrunning;
    if (!w.found || out->cfa < out->sp + 8)
        return false;
    size_t n = out->cfa - 8 - out->sp;
    memcpy(out->stack, (const void *)out->sp, n < sizeof out->stack ? n : sizeof out->stack);
    return true;
}

/* ---- where a function keeps its arguments ---- */

enum {
    PROBE_STACK = 1 << 16, PROBE_STEPS = 20000,
    PROBE_SECONDS = 2,                  /* Valgrind and others that translate code do not step, so nothing would end it */
};

/* Halves of the arguments are marked each for itself: an int is one, and a dim3 may be taken apart. */
static uint32_t
marker(unsigned argument, unsigned half)
{
    return 0xa17e0000u | argument << 8 | half << 4 | 5u;
}

struct cw_restart_probe {
    uintptr_t entry, return_into, top;      /* top: the stack pointer at the entry, where the return address is */
    uintptr_t saved[6], sp;                 /* what the call that returns into return_into has */
    uint32_t  steps;
    volatile bool reached;
    uint8_t   stack[PROBE_STACK] __attribute__((aligned(64)));
    uint8_t   signals[1 << 15] __attribute__((aligned(64)));
    uint8_t   child[1 << 15] __attribute__((aligned(64)));
};
static struct cw_restart_probe *probing;               /* of the process that probes, while its parent waits */

void cw_restart_probe_entry(uintptr_t entry, uintptr_t stack, const uint64_t *arguments);

/* After each instruction: whether it was the call. */
static void
stepped(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    struct cw_restart_probe *p = probing;
    greg_t *r = u->uc_mcontext.gregs;
    uintptr_t sp = (uintptr_t)r[REG_RSP];
    if (signal != SIGTRAP || ++p->steps > PROBE_STEPS)
        _exit(1);
    if (sp >= p->top || sp < (uintptr_t)p->stack || *(uintptr_t *)sp != p->return_into)
        return;
    static const int preserved[6] = { REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15 };
    for (unsigned k = 0; k < 6; k++)
        p->saved[k] = (uintptr_t)r[preserved[k]];
    p->sp = sp + 8;
    p->reached = true;
    _exit(0);
}

static int
probe_child(void *user)
{
    struct cw_restart_probe *p = user;
    static const int caught[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGALRM };
    stack_t alternate = { .ss_sp = p->signals, .ss_size = sizeof p->signals };
    struct sigaction a = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigset_t none;
    sigemptyset(&none);
    uint64_t arguments[CW_RESTART_REGISTERS];
    for (unsigned i = 0; i < CW_RESTART_REGISTERS; i++)
        arguments[i] = marker(i, 0) | (uint64_t)marker(i, 1) << 32;
    if (sigaltstack(&alternate, NULL))
        _exit(1);
    for (unsigned i = 0; i < sizeof caught / sizeof *caught; i++)
        if (sigaction(caught[i], &a, NULL))
            _exit(1);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_sec = PROBE_SECONDS }, NULL))
        _exit(1);
    cw_restart_probe_entry(p->entry, p->top, arguments);
    _exit(1);
}

/* Switch to the stack, with a return address of 0 on it, and step: the trap flag counts from the instruction after popf. */
__asm__(".text\n"
        ".hidden cw_restart_probe_entry\n"
        ".globl cw_restart_probe_entry\n"
        ".type cw_restart_probe_entry, @function\n"
        "cw_restart_probe_entry:\n"
        "  movq %rdi, %r11\n"
        "  movq %rsi, %rsp\n"
        "  movq %rdx, %rax\n"
        "  movq $0, (%rsp)\n"
        "  movq (%rax), %rdi\n  movq 8(%rax), %rsi\n  movq 16(%rax), %rdx\n  movq 24(%rax), %rcx\n  movq 32(%rax), %r8\n  movq 40(%rax), %r9\n"
        "  xorl %ebx, %ebx\n  xorl %ebp, %ebp\n  xorl %r12d, %r12d\n  xorl %r13d, %r13d\n  xorl %r14d, %r14d\n  xorl %r15d, %r15d\n"
        "  xorl %eax, %eax\n  xorl %r10d, %r10d\n"
        "  pushfq\n"
        "  orq $0x100, (%rsp)\n"
        "  popfq\n"
        "  jmp *%r11\n"
        ".size cw_restart_probe_entry, .-cw_restart_probe_entry\n");

/* The half of an argument in the frame, wherever the probe's frame has its marker. All places must agree. */
static bool
find_half(const struct cw_restart_probe *p, const struct cw_restart_frame *f, uint32_t mark, uint32_t *out, bool *conflict)
{
    bool found = false;
    for (unsigned k = 0; k < 12; k++) {
        unsigned shift = k % 2 * 32;
        if ((uint32_t)(p->saved[k / 2] >> shift) != mark)
            continue;
        uint32_t v = (uint32_t)(f->saved[k / 2] >> shift);
        *conflict |= found && v != *out;
        *out = v;
        found = true;
    }
    for (uintptr_t at = p->sp; at + 4 <= p->top; at += 4) {
        uint32_t here, v;
        memcpy(&here, (const void *)at, 4);
        if (here != mark)
            continue;
        memcpy(&v, f->stack + (at - p->sp), 4);
        *conflict |= found && v != *out;
        *out = v;
        found = true;
    }
    return found;
}

bool
cw_restart_arguments(const struct cw_restart_probe *p, const struct cw_restart_frame *f, uint64_t arguments[CW_RESTART_REGISTERS])
{
    if (p->entry != f->copy->bias + f->function->address || p->return_into != f->return_into || p->top - p->sp != f->cfa - 8 - f->sp ||
        p->top - p->sp > CW_RESTART_FRAME)
        return false;
    bool conflict = false;
    for (unsigned i = 0; i < CW_RESTART_REGISTERS; i++) {
        uint32_t half[2] = { 0, 0 };
        for (unsigned h = 0; h < 2; h++)
            find_half(p, f, marker(i, h), &half[h], &conflict);
        arguments[i] = half[0] | (uint64_t)half[1] << 32;
    }
    return !conflict;
}

struct cw_restart_probe *
cw_restart_probe(const struct cw_restart_frame *f)
{
    struct cw_restart_probe *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    p->entry = f->copy->bias + f->function->address;
    p->return_into = f->return_into;
    p->top = (uintptr_t)p->stack + PROBE_STACK - 1024 - 8;          /* 16-byte aligned before the call, as the ABI wants it */
    int saved = errno, status = 0;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    probing = p;
    /* It shares the memory and has signal handlers of its own; this thread waits until it has ended, the others go on. */
    pid_t pid = clone(probe_child, p->child + sizeof p->child, CLONE_VM | CLONE_VFORK, p);
    while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
        ;
    probing = NULL;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    if (pid > 0 && p->reached)
        return p;
    cw_restart_probe_destroy(p);
    return NULL;
}

void
cw_restart_probe_destroy(struct cw_restart_probe *p)
{
    if (p)
        munmap(p, sizeof *p);
}

/* ---- the return ---- */

/* Calls to be taken over, by where their return address is: stacks are apart. No thread-local storage, whose first use allocates, since
 * a signal handler adds to them. */
static struct pending {
    _Atomic uintptr_t cfa;          /* 0: free; 1: being filled in */
    uintptr_t        address;       /* the caller's */
    cw_restart_done *done;
    void            *user;
} pending[CW_RESTART_PENDING];

/* What cw_restart_return needs from C; its layout is known to the code below. */
struct again {
    uint64_t  arguments[CW_RESTART_REGISTERS];
    uintptr_t target;               /* 0: return the function's result */
    uintptr_t address;              /* the caller's */
};

__attribute__((used)) static void returned(struct again *a) __asm__("cw_restart_returned_in_c");

static void
returned(struct again *a)
{
    int saved = errno;
    uintptr_t cfa = (uintptr_t)a + 96;
    struct pending *p = pending;
    while (atomic_load(&p->cfa) != cfa)         /* it is there: nothing else brings a thread here */
        p++;
    cw_restart_done *done = p->done;
    void *user = p->user;
    a->address = p->address;
    atomic_store(&p->cfa, 0);
    a->target = (uintptr_t)done(user, a->arguments);
    errno = saved;
}

void cw_restart_return(void);

/* The function returned here, so the stack pointer is as after the call; the return address is put back. rax and rdx carry results.
 * 0..63(%rsp): struct again; 64 and 72: rdx, rax; 80: rbp; 88: the return address. */
__asm__(".text\n"
        ".hidden cw_restart_return\n"
        ".globl cw_restart_return\n"
        ".type cw_restart_return, @function\n"
        "cw_restart_return:\n"
        "  .cfi_startproc\n"
        "  .cfi_undefined %rip\n"
        "  subq $8, %rsp\n"
        "  pushq %rbp\n"
        "  pushq %rax\n"
        "  pushq %rdx\n"
        "  subq $64, %rsp\n"
        "  movq %rsp, %rbp\n"
        "  movq %rsp, %rdi\n"
        "  andq $-64, %rsp\n"
        "  call cw_restart_returned_in_c\n"
        "  movq %rbp, %rsp\n"
        "  movq 56(%rsp), %rax\n"
        "  movq %rax, 88(%rsp)\n"
        "  movq 48(%rsp), %r11\n"
        "  testq %r11, %r11\n"
        "  jz 1f\n"
        "  movq (%rsp), %rdi\n  movq 8(%rsp), %rsi\n  movq 16(%rsp), %rdx\n  movq 24(%rsp), %rcx\n  movq 32(%rsp), %r8\n  movq 40(%rsp), %r9\n"
        "  addq $80, %rsp\n"
        "  popq %rbp\n"
        "  xorl %eax, %eax\n"
        "  jmp *%r11\n"
        "1:\n"
        "  addq $64, %rsp\n"
        "  popq %rdx\n"
        "  popq %rax\n"
        "  popq %rbp\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size cw_restart_return, .-cw_restart_return\n");

/* Whether the processor checks return addresses (Intel CET): rdssp does nothing where it does not. */
static bool
has_shadow_stack(void)
{
    uint64_t at = 0;
    __asm__ volatile("rdsspq %0" : "+r"(at));
    return at != 0;
}

bool
cw_restart_at_return(const struct cw_restart_frame *f, cw_restart_done *done, void *user)
{
    if (has_shadow_stack())
        return false;
    uintptr_t *at = (uintptr_t *)(f->cfa - 8);
    if (*at == (uintptr_t)cw_restart_return)
        return false;               /* it is taken over already */
    for (unsigned i = 0; i < CW_RESTART_PENDING; i++) {     /* of a call that was left by longjmp */
        uintptr_t stale = f->cfa;
        atomic_compare_exchange_strong(&pending[i].cfa, &stale, 0);
    }
    for (unsigned i = 0; i < CW_RESTART_PENDING; i++) {
        struct pending *p = &pending[i];
        uintptr_t unused = 0;
        if (!atomic_compare_exchange_strong(&p->cfa, &unused, 1))
            continue;
        p->address = *at;
        p->done = done;
        p->user = user;
        atomic_store(&p->cfa, f->cfa);
        *at = (uintptr_t)cw_restart_return;
        return true;
    }
    return false;
}
