/* SPDX-License-Identifier: Apache-2.0
 * pthread_once of the release form of cudaway-cc (tools/cc/once.c), which is this program's: of threads that come at the same time one runs the
 * routine, and none goes on before it has ended, also where a routine calls pthread_once. */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FLAGS = 200, THREADS = 4 };

static pthread_once_t flags[FLAGS], inner[FLAGS], alone = PTHREAD_ONCE_INIT;
static atomic_int runs, inner_runs, alone_runs;
static int made[FLAGS], inner_made[FLAGS];      /* plain memory: what the routine wrote is there */
static _Thread_local int at;
static pthread_barrier_t together;

static void
make_inner(void)
{
    atomic_fetch_add(&inner_runs, 1);
    inner_made[at] = at + 2;
}

static void
make(void)
{
    atomic_fetch_add(&runs, 1);
    pthread_once(&inner[at], make_inner);
    nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);      /* the others come */
    made[at] = at + 1;
}

static void
make_alone(void)
{
    atomic_fetch_add(&alone_runs, 1);
}

static void *
work(void *unused)
{
    for (at = 0; at < FLAGS; at++) {
        pthread_barrier_wait(&together);
        assert(!pthread_once(&flags[at], make));
        assert(made[at] == at + 1 && inner_made[at] == at + 2);
    }
    return NULL;
}

int
main(void)
{
    pthread_t threads[THREADS];
    alarm(50);                  /* a thread that nobody wakes */
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert(!pthread_create(&threads[i], NULL, work, NULL));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(runs == FLAGS && inner_runs == FLAGS);
    for (int i = 0; i < 3; i++)
        assert(!pthread_once(&alone, make_alone));
    assert(alone_runs == 1);
    puts("ok   once");
    return 0;
}
