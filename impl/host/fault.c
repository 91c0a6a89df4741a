/* SPDX-License-Identifier: Apache-2.0
 * How a launch ends early: traps and other failures that the runtime finds (cwh_abort), and processor faults in compiled
 * code, which the owner of faults (impl/base/fault.h) turns into the same switch back to the worker's root. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"
#include "impl/host/device.h"

#include "impl/base/fault.h"
#include "impl/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* initial-exec: the handler may run on a thread that never had this variable, where it must not allocate. */
static __thread struct cwh_worker *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum { ALT_STACK = 64 * 1024 };

void
cwh_fail(struct cwh_exec_launch *l, cwb_result r, const char *fmt, ...)
{
    if (atomic_exchange(&l->failed, 1))
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(l->message, sizeof l->message, fmt, ap);
    va_end(ap);
    l->result = r;
}

void
cwh_where(const struct cwh_fiber *f, char *buf, size_t size)
{
    const struct cwh_worker *w = f->worker;
    const uint32_t *c = w->block.ctaid;
    if (f->gang.lanes == 1)
        snprintf(buf, size, "kernel %s, block (%u,%u,%u), thread %u", w->launch->kernel, c[0], c[1], c[2], f->gang.first);
    else
        snprintf(buf, size, "kernel %s, block (%u,%u,%u), threads %u to %u", w->launch->kernel, c[0], c[1], c[2], f->gang.first,
                 f->gang.first + f->gang.lanes - 1);
}

static void
leave(struct cwh_worker *w)
{
    w->aborted = true;
    cwh_context_switch(&w->current->context, &w->root);
}

void
cwh_abort(struct cwh_fiber *f, cwb_result r, const char *fmt, ...)
{
    char text[256], where[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cwh_where(f, where, sizeof where);
    cwh_fail(f->worker->launch, r, "%s: %s", where, text);
    leave(f->worker);
    __builtin_unreachable();
}

/* As if the guard page had been touched; the switch may touch it indeed. */
void
cwh_stack_ends(struct cwh_fiber *f)
{
    struct cwh_worker *w = f->worker;
    w->fault_signal = SIGSEGV;
    w->fault_fiber = f;
    w->fault_code = SEGV_ACCERR;
    w->fault_address = (uintptr_t)f->context.lo - 1;
    leave(w);
    __builtin_unreachable();
}

void
cwh_fault_record(struct cwh_worker *w)
{
    const struct cwh_fiber *f = w->fault_fiber;
    char where[200];
    cwh_where(f, where, sizeof where);
    uintptr_t a = w->fault_address, lo = (uintptr_t)f->context.lo;
    int sig = w->fault_signal;
    w->fault_signal = 0;
    if (sig == SIGFPE)
        cwh_fail(w->launch, CWB_LAUNCH_FAILED, "%s: arithmetic exception", where);
    else if (sig == SIGILL)
        cwh_fail(w->launch, CWB_ILLEGAL_INSTRUCTION, "%s: illegal instruction", where);
    else if (sig == SIGSEGV && a < lo && lo - a <= CWH_GUARD)
        cwh_fail(w->launch, CWB_STACK, "%s: stack overflow (%zu bytes for %u threads); cuCtxSetLimit(CU_LIMIT_STACK_SIZE) gives more",
                 where, f->context.size, f->gang.lanes);
    else if (w->fault_code == SI_KERNEL)
        cwh_fail(w->launch, CWB_ILLEGAL_ADDRESS, "%s: illegal address (not a canonical one)", where);
    else
        cwh_fail(w->launch, CWB_ILLEGAL_ADDRESS, "%s: illegal address 0x%llx%s", where, (unsigned long long)a,
                 w->fault_write < 0 ? "" : w->fault_write ? " (write)" : " (read)");
}

static void
on_fault(int sig, const siginfo_t *info, void *context)
{
    struct cwh_worker *w = self;
    if (!w || !w->in_kernel)
        return;
    w->fault_signal = sig;
    w->fault_fiber = w->current;
    w->fault_code = info->si_code;
    w->fault_address = (uintptr_t)info->si_addr;
    w->fault_write = -1;
#if defined(__x86_64__)
    if (sig == SIGSEGV)
        w->fault_write = (((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#endif
    w->in_kernel = 0;
    cw_faults_leave(context);
    leave(w);
}

static void
free_worker(void *p)
{
    struct cwh_worker *w = p;
    self = NULL;
    sigaltstack(&w->old_alt_stack, NULL);
    munmap(w->alt_stack, ALT_STACK);
    cwh_worker_release(w);
    free(w);
}

static void
init_once(void)
{
    if (pthread_key_create(&key, free_worker))
        cw_error("cannot create a thread key: kernel threads will leak");
    cw_faults_owner(on_fault);
}

struct cwh_worker *
cwh_worker_self(void)
{
    cw_faults_open();
    if (self)
        return self;
    pthread_once(&once, init_once);
    struct cwh_worker *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->alt_stack = mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->alt_stack == MAP_FAILED) {
        free(w);
        return NULL;
    }
    stack_t ss = { .ss_sp = w->alt_stack, .ss_size = ALT_STACK };
    sigaltstack(&ss, &w->old_alt_stack);
    cwh_context_adopt(&w->root);
    pthread_setspecific(key, w);
    self = w;
    return w;
}
