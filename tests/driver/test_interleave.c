/* SPDX-License-Identifier: Apache-2.0
 * The handle table (impl/driver/handle.c, docs/handles.md) under every interleaving of a few threads with at most N preemptions. The file
 * is compiled into this test with its atomic operations and locks as the points at which another thread may go on; threads are fibers, and
 * a depth-first search runs each scenario once for each schedule. `test_driver_interleave [preemptions]`.
 * Memory is sequentially consistent here: what weaker orders do is the thread sanitizer's to see (test_storm.c). */
#include "impl/driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

/* ---- the machine -------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, STACK = 64 << 10, DEPTH = 4096 };

static struct fiber {
    ucontext_t u;
    void (*run)(void);
    const int *waits;                   /* for this lock; NULL: it can go on */
    bool over;
    char *stack;
} fibers[THREADS];
static unsigned nfibers, current, bound;
static ucontext_t machine;
static struct choice {
    uint8_t taken, of;
} path[DEPTH];                          /* the schedule: at each point, which of the threads that can go on */
static unsigned depth, known, preemptions;
static unsigned long schedules;
static const char *scenario;

static void
fail(const char *what)
{
    printf("%s: %s, in schedule", scenario, what);
    for (unsigned i = 0; i < depth; i++)
        if (path[i].of > 1)
            printf(" %u:%u", i, path[i].taken);
    printf("\n");
    exit(1);
}
#define CHECK(what) do { if (!(what)) fail(#what); } while (0)

static bool
can_go_on(unsigned i)
{
    return !fibers[i].over && !(fibers[i].waits && *fibers[i].waits);
}

/* Who goes on: the one that ran first in line, the others for a preemption while it could have. */
static int
next_fiber(void)
{
    unsigned line[THREADS], n = 0;
    bool same = current < nfibers && can_go_on(current);
    if (same)
        line[n++] = current;
    if (!same || preemptions < bound)
        for (unsigned i = 0; i < nfibers; i++)
            if (i != current && can_go_on(i))
                line[n++] = i;
    if (!n)
        return -1;
    if (depth == DEPTH)
        fail("too many steps");
    struct choice *c = &path[depth];
    if (depth >= known) {
        *c = (struct choice){ 0, (uint8_t)n };
        known = depth + 1;
    }
    depth++;
    if (same && c->taken)
        preemptions++;
    return (int)line[c->taken];
}

/* Another thread may go on here. */
static void
step(void)
{
    if (current < nfibers)
        swapcontext(&fibers[current].u, &machine);
}

static void
start(void)
{
    fibers[current].run();
    fibers[current].over = true;
    swapcontext(&fibers[current].u, &machine);
}

static void
model_lock(pthread_mutex_t *m)
{
    int *held = (int *)m;
    step();
    if (current >= nfibers) {
        CHECK(!*held);
    } else {
        while (*held) {
            fibers[current].waits = held;
            swapcontext(&fibers[current].u, &machine);
        }
        fibers[current].waits = NULL;
    }
    *held = 1;
}

static void
model_unlock(pthread_mutex_t *m)
{
    CHECK(*(int *)m == 1);
    *(int *)m = 0;
    step();
}

/* ---- the file under test ----------------------------------------------------------------------------------------------------------- */

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_and_explicit
#undef atomic_compare_exchange_weak_explicit
#define PLAIN(p) __typeof__((void)0, *(p))
#define atomic_load_explicit(p, order) __extension__({ step(); PLAIN(p) v_; __atomic_load((p), &v_, __ATOMIC_SEQ_CST); v_; })
#define atomic_load(p) atomic_load_explicit(p, 0)
#define atomic_store_explicit(p, v, order) __extension__({ step(); PLAIN(p) v_ = (v); __atomic_store((p), &v_, __ATOMIC_SEQ_CST); })
#define atomic_store(p, v) atomic_store_explicit(p, v, 0)
#define atomic_exchange_explicit(p, v, order)                                                                          \
    __extension__({ step(); PLAIN(p) v_ = (v), o_; __atomic_exchange((p), &v_, &o_, __ATOMIC_SEQ_CST); o_; })
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, 0)
#define atomic_fetch_add_explicit(p, v, order) __extension__({ step(); __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST); })
#define atomic_fetch_sub_explicit(p, v, order) __extension__({ step(); __atomic_fetch_sub((p), (v), __ATOMIC_SEQ_CST); })
#define atomic_fetch_and_explicit(p, v, order) __extension__({ step(); __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST); })
#define atomic_compare_exchange_weak_explicit(p, e, v, yes, no)                                                        \
    __extension__({ step(); PLAIN(p) v_ = (v); __atomic_compare_exchange((p), (e), &v_, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); })
#define pthread_mutex_lock(m) model_lock(m)
#define pthread_mutex_unlock(m) model_unlock(m)

#ifndef HANDLE_C
#define HANDLE_C "impl/driver/handle.c"
#endif
#include HANDLE_C

/* ---- what it works on ---------------------------------------------------------------------------------------------------------------- */

enum { OBJECTS = 4 };

static struct thing {
    struct obj obj;
    unsigned finished, queued;          /* queued: work that uses it and is not done */
    bool created;
} things[OBJECTS];
static struct ctx ctx;
static bool ctx_gone, drained, ended;    /* drained: closed, and its work is done */
static uintptr_t shared;                /* the handle that the threads know, */
static const struct thing *shared_thing;    /* and what it was given for */
static bool one_slot;                   /* the table has one, so that a stale handle meets the next object in it */

_Thread_local bool drv_ignores_fault;

CUresult
result_of_failure(cwb_result r)
{
    return CUDA_ERROR_UNKNOWN;
}

static cwb_result
context_error(struct cwb_context *c)
{
    return CWB_OK;
}

static cwb_result
context_sync(struct cwb_context *c)
{
    step();
    for (unsigned i = 0; i < OBJECTS; i++)
        things[i].queued = 0;
    return CWB_OK;
}

CUresult
memory_settle(struct ctx *c)
{
    return result_of(context_sync(c->be));
}

bool
memory_settled(struct ctx *c)
{
    step();
    for (unsigned i = 0; i < OBJECTS; i++)
        if (things[i].queued)
            return false;
    return true;
}

static const struct cwb_backend backend = { .context_sync = context_sync, .context_error = context_error };

void
ctx_ref(struct ctx *c)
{
    CHECK(!ctx_gone);
    atomic_fetch_add_explicit(&c->refs, 1, 0);
}

void
ctx_unref(struct ctx *c)
{
    CHECK(!ctx_gone && atomic_load(&c->refs));
    if (atomic_fetch_sub_explicit(&c->refs, 1, 0) != 1)
        return;
    objects_collect(c);
    ctx_gone = true;
}

/* An object that is gone is overwritten, so that touching it afterwards ends badly. */
static void
finish(struct obj *o)
{
    struct thing *t = (struct thing *)o;
    CHECK(!t->finished);
    CHECK(!t->queued);
    CHECK(!o->link);
    memset(o, 0, sizeof *o);
    t->finished++;
}

static pthread_mutex_t *
order_of(struct obj *o)
{
    return &o->ctx->order;
}

static const struct obj_class stream_like = { .kind = KIND_STREAM, .finish = finish, .borrow = order_of };
static const struct obj_class module_like = { .kind = KIND_MODULE, .finish = finish, .quiesce = true };
static const struct obj_class *class;

static void
use(struct thing *t)
{
    CHECK(!t->finished);
    step();
    CHECK(!t->finished);
}

static void
create(struct thing *t)
{
    CUresult e = handle_new(&t->obj, class, &ctx);
    CHECK(e == CUDA_SUCCESS || e == CUDA_ERROR_CONTEXT_IS_DESTROYED || (one_slot && e == CUDA_ERROR_OUT_OF_MEMORY));
    if (e != CUDA_SUCCESS)
        return;
    t->created = true;
    use(t);
    shared = (uintptr_t)t->obj.handle;
    shared_thing = t;
    handle_put(&t->obj);
}

/* ---- the threads --------------------------------------------------------------------------------------------------------------------------- */

static void creator(void) { create(&things[1]); }

/* What the handle finds, if anything: the object that it was given for, not the next one in its place. */
static struct thing *
get(void)
{
    const struct thing *meant = shared_thing;
    struct thing *t = handle_get((void *)shared, class->kind);
    CHECK(!t || t == meant);
    return t;
}

static void
user(void)
{
    struct thing *t = get();
    if (t) {
        use(t);
        handle_put(&t->obj);
    }
}

static void
destroyer(void)
{
    struct thing *t = get();
    if (t)
        (void)object_destroy(&t->obj, true, NULL);
}

static void
trier(void)                             /* ends the object as a graph that has its last reference does, then makes another without waiting */
{
    struct thing *t = get();
    if (!t)
        return;
    ctx_ref(&ctx);
    (void)handle_end(&t->obj);
    handle_put(&t->obj);
    objects_try(&ctx);
    ctx_unref(&ctx);
}

static void
submitter(void)                         /* borrows, as submissions do */
{
    pthread_mutex_lock(&ctx.order);
    const struct thing *meant = shared_thing;
    struct thing *t = handle_peek((void *)shared, class->kind, &ctx);
    CHECK(!t || t == meant);
    if (t)
        use(t);
    pthread_mutex_unlock(&ctx.order);
}

static void
launcher(void)                          /* looks up, submits work that uses the object, forgets the object */
{
    struct thing *t = get();
    if (!t)
        return;
    pthread_mutex_lock(&ctx.order);
    if (!atomic_load(&ctx.dead)) {
        use(t);
        CHECK(!drained);
        t->queued++;
    }
    pthread_mutex_unlock(&ctx.order);
    handle_put(&t->obj);
}

static void
ender(void)                             /* ctx_kill, with the caller's reference */
{
    if (!objects_close(&ctx))
        return;
    (void)context_sync(NULL);
    drained = true;
    objects_end(&ctx);
    CHECK(!ctx.objects);
    objects_collect(&ctx);
    ended = true;
}

static void
again(void)                             /* ends the object and makes another, in whose place the slot is */
{
    destroyer();
    create(&things[2]);
}

/* ---- the search --------------------------------------------------------------------------------------------------------------------------------- */

static void
reset(void)
{
    struct slot *c = chunks[0];
    if (c)
        memset(c, 0, CHUNK * sizeof *c);
    first_free = last_free = nfree = used = 0;
    if (one_slot)
        used = CHUNK * MAX_CHUNKS, first_free = last_free = nfree = 1;
    memset(&free_lock, 0, sizeof free_lock);
    memset(things, 0, sizeof things);
    memset(&ctx, 0, sizeof ctx);
    ctx.refs = 1;
    ctx.b = &backend;
    ctx_gone = drained = ended = false;
    current = THREADS;                  /* nobody: no steps */
    create(&things[0]);                 /* what there is at the start */
}

static void
run_once(unsigned n, void (*const thread[])(void))
{
    reset();
    depth = preemptions = 0;
    for (unsigned i = 0; i < n; i++) {
        struct fiber *f = &fibers[i];
        if (!f->stack)
            f->stack = malloc(STACK);
        char *stack = f->stack;
        *f = (struct fiber){ .run = thread[i], .stack = stack };
        getcontext(&f->u);
        f->u.uc_stack.ss_sp = stack;
        f->u.uc_stack.ss_size = STACK;
        makecontext(&f->u, start, 0);
    }
    nfibers = n;
    for (int i; (i = next_fiber()) >= 0;) {
        current = (unsigned)i;
        swapcontext(&machine, &fibers[i].u);
    }
    for (unsigned i = 0; i < n; i++)
        if (!fibers[i].over)
            fail("threads wait for each other");
    nfibers = 0;
    current = THREADS;
    /* Everything ends with the context: each object once, also those that lost the race for it. */
    if (!ended)
        ender();
    CHECK(ctx.refs == 1);
    ctx_unref(&ctx);
    CHECK(ctx_gone);
    for (unsigned i = 0; i < OBJECTS; i++)
        CHECK(things[i].finished == things[i].created);
}

static void
explore(const char *name, const struct obj_class *k, unsigned n, void (*const thread[])(void))
{
    unsigned long before = schedules;
    scenario = name;
    class = k;
    known = 0;
    do {
        run_once(n, thread);
        schedules++;
        known = depth;
        while (known && path[known - 1].taken + 1u >= path[known - 1].of)
            known--;
        if (known)
            path[known - 1].taken++;
    } while (known);
    printf("%-44s %8lu schedules\n", name, schedules - before);
}

#define EXPLORE(k, ...)                                                                                                \
    do {                                                                                                               \
        void (*const t_[])(void) = { __VA_ARGS__ };                                                                    \
        explore(#k ": " #__VA_ARGS__, &k, sizeof t_ / sizeof *t_, t_);                                                 \
    } while (0)

int
main(int argc, char **argv)
{
    bound = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    EXPLORE(module_like, creator, ender);
    EXPLORE(module_like, destroyer, ender);
    EXPLORE(module_like, user, destroyer, ender);
    EXPLORE(module_like, launcher, destroyer, ender);
    EXPLORE(module_like, launcher, destroyer, destroyer);
    EXPLORE(module_like, creator, destroyer, ender);
    EXPLORE(module_like, launcher, ender, ender);
    EXPLORE(module_like, launcher, trier, ender);
    EXPLORE(module_like, launcher, trier, trier);
    EXPLORE(stream_like, creator, ender);
    EXPLORE(stream_like, submitter, destroyer, ender);
    EXPLORE(stream_like, submitter, user, destroyer);
    EXPLORE(stream_like, submitter, creator, ender);
    one_slot = true;
    EXPLORE(stream_like, submitter, again);
    EXPLORE(stream_like, submitter, again, ender);
    EXPLORE(stream_like, user, again, destroyer);
    printf("%lu schedules with at most %u preemptions\n", schedules, bound);
    return 0;
}
