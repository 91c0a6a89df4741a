/* SPDX-License-Identifier: Apache-2.0
 * What has to wait for queued work where the program's call must not: memory of graphs, what executable graphs refer to. Each piece has a
 * thread of its own, so that one that waits for long holds up no other. It may call destructors of the program. */
#include "impl/driver/driver.h"
#include "impl/base/thread.h"

#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* a leaf */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned waiting;                /* lock: pieces that were begun and have not ended */

static void *
thread(void *p)
{
    struct later *l = p;
    l->run(l);
    pthread_mutex_lock(&lock);
    waiting--;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

void
later_run(struct later *l, void (*run)(struct later *l))
{
    l->run = run;
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_mutex_unlock(&lock);
    if (cw_thread_create_for_program(thread, l))
        (void)thread(l);
}

bool
later_wait(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    pthread_mutex_lock(&lock);
    unsigned before = waiting;
    while (waiting && !pthread_cond_timedwait(&ended, &lock, &end))
        ;
    bool fewer = waiting < before;
    pthread_mutex_unlock(&lock);
    return fewer;
}
