/* SPDX-License-Identifier: Apache-2.0
 * See contain.h. Process-wide state: the contained work of each thread (`key`), and `root`. */
#define _GNU_SOURCE
#include "jit/llvm/contain.h"
#include "jit/jit.h"
#include "jit/llvm/ending.h"
#include "jit/llvm/limit.h"

#include "impl/base/log.h"
#include "impl/base/thread.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* LLVM recurses through expressions and blocks; clang compiles with 8 MiB. The C library caches a free stack of this size for the next
 * thread. */
enum { STACK_SIZE = 32 << 20, TEXT = 400, MAX_LOCKS = 8 };
enum { PLENTY = 512 << 10 };            /* of stack, for what does not call LLVM: constants nested to the limit take 100 KiB */

/* What must be free before work begins. The first of a kind makes LLVM's tables, and LLVM cannot be used after a failure there: it begins
 * only where small kernels can be compiled to the end. */
enum { ENOUGH = 64 << 10, ENOUGH_FOR_FIRST = 32 << 20 };

struct work {
    enum cwj_contain_kind kind;
    cw_result (*run)(void *user);
    void *user;
    struct cwj_diags *diags;
    cw_result result;
    sigjmp_buf recovery;
    unsigned setup;                 /* nesting of sections that change LLVM's global tables */
    pthread_mutex_t *lock[MAX_LOCKS];
    unsigned nlocks;
    bool elsewhere;                 /* a child process does it */
    void (*end)(void *user, cw_result r);   /* in that child, else NULL */
    void *end_user;
    unsigned code;                  /* 0, or the diagnostic with which it was abandoned */
    char text[TEXT];
};

static struct {
    pthread_mutex_t lock;           /* held while `why` is written */
    atomic_bool warm[CWJ_CONTAIN_KINDS];
    atomic_bool unusable;
    char why[TEXT];                 /* written once, before `unusable` is set */
    locale_t c_locale;              /* 0 if unavailable; set once */
} root = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Not thread-local: the C library ends the process if it cannot allocate such a variable, and the handlers may run on any thread. */
static pthread_key_t key;
static bool have_key;               /* both set once */

/* Shares a block of thread-local storage with LLVM's variables, if LLVM is linked in. */
static _Thread_local volatile char touched;

static struct work *
current(void)
{
    return have_key ? pthread_getspecific(key) : NULL;
}

/* ---- failures ---------------------------------------------------------------------------------------------------------- */

/* Must not allocate. */
__attribute__((noreturn)) static void
abandon(struct work *w, cw_result r, unsigned code)
{
    w->result = r;
    w->code = code;
    siglongjmp(w->recovery, 1);
}

/* LLVM ends the process when this returns. */
static void
on_fatal(const char *reason)
{
    struct work *w = current();
    if (!w) {
        cw_error("LLVM gave up outside of a compilation: %s", reason);
        return;
    }
    snprintf(w->text, sizeof w->text, "LLVM gave up: %s", reason);
    abandon(w, CW_ERR_LLVM, 5910);
}

static void
on_no_memory(const char *reason)
{
    struct work *w = current();
    if (!w) {
        cw_error("LLVM ran out of memory outside of a compilation: %s", reason);
        abort();        /* as LLVM does without a handler, which must not return */
    }
    snprintf(w->text, sizeof w->text, "LLVM ran out of memory: %s", reason);
    abandon(w, CW_ERR_NOMEM, 5911);
}

static void
on_no_new(void)
{
    if (current())
        on_no_memory("operator new");
}

void
cwj_contain_abandon(cw_result r, unsigned code, const char *fmt, ...)
{
    char text[TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct work *w = current();
    if (!w) {
        cw_error("outside of a compilation: %s", text);
        abort();
    }
    memcpy(w->text, text, sizeof text);
    abandon(w, r, code);
}

static const char ends[] = "nothing is compiled any more: the process is ending";
enum { ENDING = 5914 };

void
cwj_contain_ending(void)
{
    cwj_contain_abandon(CW_ERR_LLVM, ENDING, "%s", ends);
}

void *
cwj_contain_need(void *allocated)
{
    if (!allocated)
        cwj_contain_abandon(CW_ERR_NOMEM, 5911, "LLVM ran out of memory");
    return allocated;
}

static void
make_unusable(const struct work *w)
{
    pthread_mutex_lock(&root.lock);
    if (!atomic_load(&root.unusable))
        memcpy(root.why, w->text, sizeof root.why);
    atomic_store(&root.unusable, true);
    pthread_mutex_unlock(&root.lock);
}

/* What abandoned work may have left locked in LLVM, by the cause:
 * - A fatal error: nothing. LLVM reports those from passes and code generation, which hold no lock, and calls its handler without one.
 * - A failed allocation: perhaps the lock of a table, or the guard of a static variable, that LLVM was initialising. It does so during
 *   set-up and when it does something for the first time. Later it takes its locks only for look-ups, which do not allocate.
 * Whoever waits for such a lock waits for ever, so later work is refused instead. docs/contain.md goes through the tables. */
static void
recover(struct work *w)
{
    while (w->nlocks)
        pthread_mutex_unlock(w->lock[--w->nlocks]);
    if (!w->elsewhere && (w->setup || (w->result == CW_ERR_NOMEM && !atomic_load(&root.warm[w->kind]))))
        make_unusable(w);
    if (w->code == ENDING)
        cw_debug("%s", w->text);
    else
        cw_error("%s; the compilation is abandoned%s", w->text, atomic_load(&root.unusable) ? ", and LLVM cannot be used any more in this process" : "");
    cwj_diag_add(w->diags, PTX_ERROR, w->code, 0, 0, "%s", w->text);
}

/* ---- the thread -------------------------------------------------------------------------------------------------------- */

static void
run_work(void *user)
{
    struct work *w = user;
    w->result = w->run(w->user);
}

/* siglongjmp may jump back to the first line at any time after it; all state is in *w. */
static void
run_with_recovery(struct work *w)
{
    bool no_memory = false;
    char text[TEXT / 2];
    if (sigsetjmp(w->recovery, 0))
        recover(w);
    else if (!cwj_contain_call(run_work, w, &no_memory, text, sizeof text)) {
        snprintf(w->text, sizeof w->text, no_memory ? "LLVM ran out of memory: %s" : "LLVM gave up: %s", text);
        w->result = no_memory ? CW_ERR_NOMEM : CW_ERR_LLVM;
        w->code = no_memory ? 5911 : 5910;
        recover(w);
    } else if (!w->result && !w->elsewhere) {
        atomic_store(&root.warm[w->kind], true);
    }
    if (w->end)
        w->end(w->end_user, w->result);
}

/* The C library ends the process if it cannot allocate a thread's variables of a dlopened library. Force the allocation here, where memory
 * is known to be available. */
static bool
make_thread_locals(const struct work *w)
{
    void *enough = malloc(atomic_load(&root.warm[w->kind]) ? ENOUGH : ENOUGH_FOR_FIRST);
    if (!enough)
        return false;
    free(enough);
    touched = 1;
    return true;
}

/* Not the caller's settings: constants are read and folded with the CPU's arithmetic, and LLVM prints numbers with printf. */
static void
settle(void)
{
    pthread_setname_np(pthread_self(), CW_THREAD_NAME "-jit");
    fesetenv(FE_DFL_ENV);
    if (root.c_locale)
        uselocale(root.c_locale);
    cw_thread_open_faults();           /* the program's handler may report a fault of LLVM */
}

/* The same on the caller's own thread, which gets its settings back. */
static cw_result
run_settled(cw_result (*work)(void *user), void *user)
{
    fenv_t floats;
    fegetenv(&floats);
    fesetenv(FE_DFL_ENV);
    locale_t before = root.c_locale ? uselocale(root.c_locale) : (locale_t)0;
    cw_result r = work(user);
    if (before)
        uselocale(before);
    fesetenv(&floats);
    return r;
}

static void *
thread_main(void *user)
{
    struct work *w = user;
    settle();
    if (make_thread_locals(w) && !pthread_setspecific(key, w)) {
        run_with_recovery(w);
        pthread_setspecific(key, NULL);
    } else {
        w->result = CW_ERR_NOMEM;
        cwj_diag_add(w->diags, PTX_ERROR, 5911, 0, 0, "out of memory before the compilation began");
    }
    return NULL;
}

/* Run main(user) on a thread, and wait for it. */
static int
run_thread(void *(*main)(void *user), void *user)
{
    pthread_attr_t attr;
    pthread_t thread;
    int cancel, e = pthread_attr_init(&attr);
    if (e)
        return e;
    e = pthread_attr_setstacksize(&attr, STACK_SIZE);
    if (!e)
        e = cw_thread_create_as(&thread, &attr, main, user, NULL);
    pthread_attr_destroy(&attr);
    if (!e) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);    /* *user is on this stack */
        pthread_join(thread, NULL);
        pthread_setcancelstate(cancel, NULL);
    }
    return e;
}

static cw_result
no_thread(struct cwj_diags *diags, int e)
{
    cwj_diag_add(diags, PTX_ERROR, 5913, 0, 0, "cannot start a thread for the compilation: %s", strerror(e));
    return CW_ERR_NOMEM;
}

/* ---- the interface ------------------------------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
set_up(void)
{
    have_key = !pthread_key_create(&key, NULL);
    root.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    cwj_contain_install(on_fatal, on_no_memory, on_no_new);
}

static cw_result
contain(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags, bool elsewhere)
{
    pthread_once(&once, set_up);
    if (current())
        return work(user);
    if (!have_key) {
        cwj_diag_add(diags, PTX_ERROR, 5913, 0, 0, "cannot start a compilation: the process has no thread-specific key left");
        return CW_ERR_NOMEM;
    }
    if (atomic_load(&root.unusable)) {
        cwj_diag_add(diags, PTX_ERROR, 5912, 0, 0, "nothing is compiled any more in this process, since LLVM failed while it was set up: %s",
                     root.why);
        return CW_ERR_LLVM;
    }
    if (!cwj_ending_enter()) {
        cwj_diag_add(diags, PTX_ERROR, ENDING, 0, 0, "%s", ends);
        return CW_ERR_LLVM;
    }
    struct work *w = calloc(1, sizeof *w);
    cw_result r = CW_ERR_NOMEM;
    if (w) {
        *w = (struct work){ .kind = kind, .run = work, .user = user, .diags = diags, .elsewhere = elsewhere };
        if (!elsewhere)
            cwj_limit_enter();
        int e = run_thread(thread_main, w);
        r = e ? no_thread(diags, e) : w->result;
        if (!elsewhere)
            cwj_limit_leave();
    }
    free(w);
    cwj_ending_leave();
    return r;
}

cw_result
cwj_contain(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags)
{
    return contain(kind, work, user, diags, false);
}

cw_result
cwj_contain_elsewhere(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags)
{
    return contain(kind, work, user, diags, true);
}

/* From `low` up; false: the C library does not know. */
static bool
stack_of_thread(uintptr_t *low, size_t *size)
{
    pthread_attr_t attr;
    void *end;
    if (pthread_getattr_np(pthread_self(), &attr))
        return false;
    bool known = !pthread_attr_getstack(&attr, &end, size);
    pthread_attr_destroy(&attr);
    *low = (uintptr_t)end;
    return known;
}

static uintptr_t main_top;              /* written once */
static void
find_main_top(void)
{
    uintptr_t low;
    size_t size;
    if (stack_of_thread(&low, &size))
        main_top = low + size;
}

/* Has the calling thread PLENTY of stack left? False on a stack that is not its own, such as a coroutine's. */
static bool
has_stack(void)
{
    static pthread_once_t found = PTHREAD_ONCE_INIT;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), usual = 8 << 20;
    uintptr_t low;
    size_t size;
    if (syscall(SYS_gettid) != getpid())
        return stack_of_thread(&low, &size) && here - low < size && here - low > PLENTY;
    pthread_once(&found, find_main_top);        /* which reads /proc/self/maps */
    const uintptr_t used = main_top - here;
    struct rlimit l;
    return !getrlimit(RLIMIT_STACK, &l) && used < usual - PLENTY && (l.rlim_cur >= usual || used + PLENTY < l.rlim_cur);
}

struct plain {
    cw_result (*run)(void *user);
    void *user;
    cw_result result;
};

static void *
plain_main(void *user)
{
    struct plain *p = user;
    settle();
    p->result = p->run(p->user);
    return NULL;
}

cw_result
cwj_with_stack(cw_result (*work)(void *user), void *user, struct cwj_diags *diags)
{
    struct plain p = { work, user, CW_ERR_NOMEM };
    pthread_once(&once, set_up);
    if (has_stack())
        return run_settled(work, user);
    int e = run_thread(plain_main, &p);
    return e ? no_thread(diags, e) : p.result;
}

void
cwj_contain_at_end(void (*end)(void *user, cw_result r), void *user)
{
    struct work *w = current();
    w->end_user = user;
    w->end = end;
}

void
cwj_contain_lock(pthread_mutex_t *lock)
{
    struct work *w = current();
    pthread_mutex_lock(lock);
    if (w && w->nlocks < MAX_LOCKS)
        w->lock[w->nlocks++] = lock;
}

void
cwj_contain_unlock(pthread_mutex_t *lock)
{
    struct work *w = current();
    if (w && w->nlocks && w->lock[w->nlocks - 1] == lock)
        w->nlocks--;
    pthread_mutex_unlock(lock);
}

void
cwj_contain_enter_setup(void)
{
    struct work *w = current();
    if (w)
        w->setup++;
}

void
cwj_contain_leave_setup(void)
{
    struct work *w = current();
    if (w)
        w->setup--;
}
