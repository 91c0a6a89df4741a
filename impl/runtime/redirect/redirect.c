/* SPDX-License-Identifier: Apache-2.0
 * See redirect.h. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/redirect.h"
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/runtime/redirect/patch.h"
#include "impl/runtime/redirect/register.h"
#include "impl/runtime/redirect/threads.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char own_program[] = "/proc/thread-self/exe";      /* a process whose first thread has ended has no /proc/self/exe */

/* Does the file have the segments of the running program? The link does not lead to it in a program that was started as `ld.so PROGRAM` or under Valgrind;
 * without /proc there is no link. */
static bool
holds_program(const char *path)
{
    struct cw_elf e;
    const void *segments = (const void *)getauxval(AT_PHDR);
    if (cw_elf_open(&e, path))
        return false;
    const bool same = e.segments && segments && e.header.e_phnum == getauxval(AT_PHNUM) && !memcmp(e.segments, segments, e.header.e_phnum * sizeof *e.segments);
    cw_elf_close(&e);
    return same;
}

const char *
cw_redirect_program(void)
{
    const char *started = holds_program(own_program) ? NULL : (const char *)getauxval(AT_EXECFN);
    return started ? started : own_program;
}

static char program_name[PATH_MAX];     /* empty: not known */

static void
find_program_name(void)
{
    ssize_t n = readlink(own_program, program_name, sizeof program_name - 1);
    program_name[n > 0 ? n : 0] = 0;
}

/* The name for messages: of a file that was replaced, the link still leads to the old one. */
static const char *
named(const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (strcmp(path, own_program))
        return path;
    pthread_once(&once, find_program_name);
    return access(program_name, R_OK) ? path : program_name;
}

bool
cw_redirect_enabled(void)
{
    const char *s = cw_env_get(CW_ENV_STATIC_RUNTIME);
    if (!s || !*s || !strcmp(s, "on"))
        return true;
    static _Atomic bool said;
    if (strcmp(s, "off") && !atomic_exchange(&said, true))
        cw_warn("%s=%s is not on or off; using on", cw_env_name(CW_ENV_STATIC_RUNTIME), s);
    return !strcmp(s, "off") ? false : true;
}

/* Once: each call into the driver looks again. */
static void
say_unread(const char *path)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        cw_warn("%s cannot be read for want of memory or descriptors; it is looked at again when the driver is called again", path);
}

/* The object's copy when it is to be redirected: there, checked, not redirected before. Else NULL, after a message where one is due; *again: memory was
 * short. */
static struct cw_copy *
find_copy(const char *path, uintptr_t bias, struct cw_runtime **runtime, bool *again)
{
    struct cw_copy *c;
    *again = false;
    if (cw_runtime_is_ours(path))
        return NULL;
    path = named(path);
    const char *slash = strrchr(path, '/');
    cw_result r = cw_copy_find(path, bias, &c);
    *again = r == CW_ERR_NOMEM;
    if (*again)
        say_unread(path);
    else if (r == CW_ERR_UNSUPPORTED)
        cw_warn("%s seems to hold a stripped CUDA Runtime, which cannot be redirected to ours; run `cudaway signatures` on the "
                "libcudart_static.a that it was linked with, or link it with -cudart shared", slash ? slash + 1 : path);
    else if (r)
        cw_warn("%s: %s", path, cw_result_text(r));
    if (r || !c)
        return NULL;
    *runtime = cw_runtime_for(c->major, again);
    if (!*runtime && !*again)
        cw_error("%s: the CUDA Runtime %u inside is not redirected: CUDAway's is missing", c->shown, c->major);
    if (*runtime && cw_patch_check(c, *runtime) == CW_PATCH_NONE)
        return c;
    cw_copy_destroy(c);
    return NULL;
}

struct cw_copy *
cw_redirect_object(const char *path, uintptr_t bias)
{
    struct cw_runtime *runtime;
    bool again;
    struct cw_copy *c = find_copy(path, bias, &runtime, &again);
    if (c && cw_patch_apply(c, runtime)) {
        cw_copy_destroy(c);
        return NULL;
    }
    return c;
}

void
cw_redirect_forget(struct cw_copy *c)
{
    if (c)
        cw_patch_forget(c);
    cw_copy_destroy(c);
}

/* ---- at a call into the driver ---- */

struct object {
    char     *path;
    uintptr_t bias;
    bool      seen, there;          /* looked at before; in this listing */
    struct cw_copy *copy;           /* redirected, or about to be; NULL: it has none */
    struct cw_runtime *runtime;
};

/* Of the list that follows; a leaf. Redirecting loads our Runtime and runs constructors, for which the dynamic linker takes its own
 * lock, and a thread that holds that may call the driver: so nothing is redirected with this lock held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static size_t nobjects;
static bool unread;                     /* of the last listing: memory or descriptors were short */
static _Atomic unsigned long long looked_at;                /* dlpi_adds + 1 of the last listing; 0: none */
static _Thread_local bool busy, restarting;

static int
count_loads(struct dl_phdr_info *info, size_t size, void *user)
{
    *(unsigned long long *)user = info->dlpi_adds + 1;
    return 1;
}

static int
list_object(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : user;
    static const char vdso[] = "linux-vdso";
    if (!strncmp(path, vdso, sizeof vdso - 1))
        return 0;
    for (size_t i = 0; i < nobjects; i++)
        if (objects[i].bias == info->dlpi_addr && !strcmp(objects[i].path, path)) {
            struct cw_copy *c = objects[i].copy;
            objects[i].there = true;
            if (c && c->patch && !cw_patch_in_place(c)) {
                cw_redirect_forget(c);
                objects[i].copy = NULL;
                objects[i].seen = false;
            }
            return 0;
        }
    struct object *p = realloc(objects, (nobjects + 1) * sizeof *p);
    char *name = strdup(path);
    if (p)
        objects = p;
    if (!p || !name) {
        free(name);
        return 0;
    }
    objects[nobjects++] = (struct object){ .path = name, .bias = info->dlpi_addr, .there = true };
    return 0;
}

/* Bring the list up to date; an object that is gone leaves it. Holds the lock. */
static void
list_objects(void)
{
    for (size_t i = 0; i < nobjects; i++)
        objects[i].there = false;
    dl_iterate_phdr(list_object, (void *)(uintptr_t)cw_redirect_program());
    size_t kept = 0;
    for (size_t i = 0; i < nobjects; i++) {
        if (objects[i].there) {
            objects[kept++] = objects[i];
            continue;
        }
        cw_redirect_forget(objects[i].copy);
        free(objects[i].path);
    }
    nobjects = kept;
}

/* What is redirected at once, with the calls in progress. Lives until each of these has been made again. */
struct batch {
    struct cw_copy **copies;
    struct cw_runtime **runtimes;
    size_t count;
    struct place { char *path; uintptr_t bias; } *importers;    /* every object, where a copy is a shared library; else none */
    size_t nimporters;
    uintptr_t running[CW_RESTART_RUNNING];
    size_t nrunning;
    struct cw_thread_call own, *others;     /* this thread's call; CW_THREADS_MAX of others, or NULL */
    size_t nothers;
    struct cw_restart_probe *probes[CW_THREADS_MAX + 1];
    size_t nprobes;
    _Atomic bool complete;          /* redirected and registered */
    _Atomic unsigned users;         /* threads that still have to come */
};

static void
batch_release(struct batch *b)
{
    if (!b || atomic_fetch_sub(&b->users, 1) != 1)
        return;
    for (size_t i = 0; i < b->nprobes; i++)
        cw_restart_probe_destroy(b->probes[i]);
    for (size_t i = 0; i < b->nimporters; i++)
        free(b->importers[i].path);
    free(b->importers);
    free(b->others);
    free(b->copies);
    free(b->runtimes);
    free(b);
}

static struct batch *
new_copies(void)
{
    bool shared = false;
    struct batch *b = calloc(1, sizeof *b);
    unread = true;
    if (!b)
        return NULL;
    b->users = 1;
    b->copies = calloc(nobjects + 1, sizeof *b->copies);
    b->runtimes = calloc(nobjects + 1, sizeof *b->runtimes);
    unread = !b->copies || !b->runtimes;
    for (size_t i = 0; b->copies && b->runtimes && i < nobjects; i++) {
        struct object *o = &objects[i];
        if (o->seen)
            continue;
        bool again;
        o->copy = find_copy(o->path, o->bias, &o->runtime, &again);
        o->seen = !again;
        unread |= again;
        if (!o->copy && !again)
            cw_redirect_compiler(o->path, o->bias);
        if (o->copy) {
            b->copies[b->count] = o->copy;
            b->runtimes[b->count++] = o->runtime;
            shared |= o->copy->source == CW_COPY_EXPORTS;
        }
    }
    b->importers = shared ? calloc(nobjects, sizeof *b->importers) : NULL;
    for (size_t i = 0; b->importers && i < nobjects; i++) {
        struct place *p = &b->importers[b->nimporters];
        *p = (struct place){ strdup(objects[i].path), objects[i].bias };
        b->nimporters += p->path && !objects[i].copy;
        if (objects[i].copy)
            free(p->path);
    }
    return b;
}

/* The thread is to get errors from the driver: its call is taken over. */
static _Atomic int failing[CW_THREADS_MAX];
static _Atomic unsigned nfailing;

static void
set_failing(int tid, bool on)
{
    for (unsigned i = 0; i < CW_THREADS_MAX; i++) {
        int want = on ? 0 : tid;
        if (atomic_compare_exchange_strong(&failing[i], &want, on ? tid : 0)) {
            atomic_fetch_add(&nfailing, on ? 1 : -1u);
            return;
        }
    }
}

static bool
is_failing(void)
{
    if (!atomic_load_explicit(&nfailing, memory_order_acquire))
        return false;
    int tid = (int)syscall(SYS_gettid);
    for (unsigned i = 0; i < CW_THREADS_MAX; i++)
        if (atomic_load(&failing[i]) == tid)
            return true;
    return false;
}

/* The function of ours that takes a call over; NULL after a message. */
static void *
successor(const struct batch *b, const struct cw_thread_call *call)
{
    const struct cw_restart_frame *f = &call->frame;
    const char *why = "CUDAway's Runtime has no such function";
    for (size_t i = 0; i < b->count; i++)
        if (b->copies[i] == f->copy && f->copy->patch && cw_runtime_exports(b->runtimes[i], f->function->name)) {
            void *p = call->has_arguments ? cw_runtime_symbol(b->runtimes[i], f->function->name) : NULL;
            if (p) {
                cw_info("%s: its first call, %s, is made again", f->copy->shown, f->function->name);
                return p;
            }
            why = "its arguments cannot be told";
        }
    cw_error("%s: its first call, %s, fails: %s; start the program with `cudaway run`", f->copy->shown, f->function->name, why);
    return NULL;
}

/* The copy's function has returned with the error that the driver gave it. */
static void *
take_over(void *user, uint64_t arguments[CW_RESTART_REGISTERS])
{
    struct batch *b = user;
    busy = restarting = false;
    memcpy(arguments, b->own.arguments, sizeof b->own.arguments);
    void *target = successor(b, &b->own);
    batch_release(b);
    return target;
}

/* The same in another thread. It waits until all is redirected, but not for ever: what it holds may be waited for. */
static void *
take_over_other(void *user, uint64_t arguments[CW_RESTART_REGISTERS])
{
    struct cw_thread_call *call = user;
    struct batch *b = call->user;
    for (unsigned ms = 0; ms < 10000 && !atomic_load(&b->complete); ms++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    set_failing(call->tid, false);
    memcpy(arguments, call->arguments, sizeof call->arguments);
    void *target = successor(b, call);
    batch_release(b);
    return target;
}

/* The call's arguments, by what is known of its call site, or by a probe of it, for which a jump at its entry is taken out. */
static void
find_arguments(struct batch *b, struct cw_thread_call *call)
{
    for (size_t i = 0; i < b->nprobes && !call->has_arguments; i++)
        call->has_arguments = cw_restart_arguments(b->probes[i], &call->frame, call->arguments);
    if (call->has_arguments || b->nprobes == sizeof b->probes / sizeof *b->probes)
        return;
    bool lifted = call->frame.copy->patch && cw_patch_lift(call->frame.copy, call->frame.function, true);
    struct cw_restart_probe *p = cw_restart_probe(&call->frame);
    if (lifted && !cw_patch_lift(call->frame.copy, call->frame.function, false))
        cw_warn("%s: %s is redirected no longer", call->frame.copy->shown, call->frame.function->name);
    if (p) {
        b->probes[b->nprobes++] = p;
        call->has_arguments = cw_restart_arguments(p, &call->frame, call->arguments);
    }
}

/* Other threads that are inside of the copies, until there is no further one. Called before the entries are patched and after that, for
 * those that came in between. */
static void
capture_others(struct batch *b)
{
    enum { ROUNDS = 8 };
    static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;
    if (!b->others)
        b->others = calloc(CW_THREADS_MAX, sizeof *b->others);
    if (!b->others || pthread_mutex_trylock(&capturing))
        return;
    for (unsigned round = 0; round < ROUNDS; round++) {
        atomic_fetch_add(&b->users, CW_THREADS_MAX);        /* they may come before they are counted */
        size_t had = b->nothers;
        b->nothers = cw_threads_capture(b->copies, b->count, b->others, had, take_over_other, b);
        atomic_fetch_sub(&b->users, CW_THREADS_MAX - (unsigned)(b->nothers - had));
        for (size_t i = had; i < b->nothers; i++) {
            set_failing(b->others[i].tid, true);
            find_arguments(b, &b->others[i]);
        }
        if (b->nothers == had)
            break;
    }
    pthread_mutex_unlock(&capturing);
}

static void
register_again(const struct batch *b)
{
    struct cw_registrant o;
    for (size_t i = 0; i < b->count; i++)
        if (b->copies[i]->patch && b->copies[i]->source != CW_COPY_EXPORTS) {
            cw_registrant_of_copy(b->copies[i], &o);
            cw_register_again(&o, b->running, b->nrunning);
        }
    for (size_t i = 0; i < b->nimporters; i++) {
        const struct place *p = &b->importers[i];
        struct cw_elf e;
        if (cw_runtime_is_ours(p->path) || cw_elf_open(&e, p->path))
            continue;
        bool imports = cw_registrant_of_importer(&e, p->path, p->bias, &o);
        cw_elf_close(&e);
        if (imports)
            cw_register_again(&o, b->running, b->nrunning);
    }
}

/* Redirect the batch, whose reference this takes. True: a call of this thread is in progress, and is taken over when it returns. */
static bool
redirect_batch(struct batch *b)
{
    bool inside = false;
    if (b && b->count) {
        inside = cw_restart_find(b->copies, b->count, &b->own.frame, b->running, &b->nrunning);
        if (inside)
            find_arguments(b, &b->own);
        capture_others(b);
        cw_patch_hold(true);
        for (size_t i = 0; i < b->count; i++)
            if (cw_patch_apply(b->copies[i], b->runtimes[i]))
                cw_debug("%s stays as it is", b->copies[i]->shown);
        capture_others(b);
        register_again(b);
        cw_patch_hold(false);
        atomic_store(&b->complete, true);
        if (inside && cw_restart_at_return(&b->own.frame, take_over, b))
            return true;
        if (inside)
            cw_error("%s: its first call, %s, fails: this system checks return addresses; start the program with `cudaway run`",
                     b->own.frame.copy->shown, b->own.frame.function->name);
    }
    batch_release(b);
    return false;
}

bool
cw_redirect_at_driver_call(void)
{
    if (restarting || is_failing())
        return true;
    if (busy)
        return false;
    unsigned long long loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (loads == atomic_load_explicit(&looked_at, memory_order_acquire) || !cw_redirect_enabled())
        return false;
    busy = true;
    cw_runtime_know_folder();
    pthread_mutex_lock(&lock);
    list_objects();
    struct batch *b = new_copies();
    atomic_store_explicit(&looked_at, unread ? 0 : loads, memory_order_release);
    pthread_mutex_unlock(&lock);
    restarting = redirect_batch(b);
    if (!restarting)
        busy = false;
    return restarting;
}
