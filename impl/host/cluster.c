/* SPDX-License-Identifier: Apache-2.0
 * Launches in clusters of several blocks. A team runs clusters one after the other: an OS thread for each block of one, of which one
 * runs at a time and passes the turn on where it would wait (barrier.cluster, spin loops) and at its end. So a cluster's shared memory
 * needs no host atomics, as a block's does not; several teams work side by side.
 *
 * A team's shared memory is one mapping, a stride for each block, and the same once more 4 GiB above (jit/abi/host.h). */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "impl/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIRROR (4ull << 30)

struct cwh_team {
    struct cwh_exec_launch *launch;
    uint32_t blocks;                    /* of a cluster */
    uint64_t clusters;                  /* of the launch */
    uint8_t *map;                       /* NULL: none */
    size_t size;
    pthread_barrier_t meet;             /* before and behind each cluster */
    uint64_t cluster;                   /* being run; written by the thread of rank 0 before the others are let through */

    pthread_mutex_t lock;
    pthread_cond_t passed;
    uint32_t turn;                      /* lock: the rank that runs */
    bool done[CWH_MAX_CLUSTER];         /* lock */
    struct cwh_cluster_barrier barrier; /* the turn's */
};

struct member {
    struct cwh_team *team;
    struct cwh_gate *gate;
    uint32_t rank;
    pthread_t thread;
};

/* ---- the turn ---- */

/* The lock is held. */
static void
give_turn(struct cwh_team *t, uint32_t rank)
{
    for (uint32_t i = 1; i <= t->blocks; i++) {
        uint32_t next = (rank + i) % t->blocks;
        if (!t->done[next]) {
            t->turn = next;
            pthread_cond_broadcast(&t->passed);
            return;
        }
    }
}

static void
await_turn(struct cwh_team *t, uint32_t rank)
{
    while (t->turn != rank)
        pthread_cond_wait(&t->passed, &t->lock);
}

void
cwh_team_pass(struct cwh_worker *w)
{
    struct cwh_team *t = w->team;
    uint32_t rank = w->block.cluster_rank;
    pthread_mutex_lock(&t->lock);
    give_turn(t, rank);
    await_turn(t, rank);
    pthread_mutex_unlock(&t->lock);
}

struct cwh_cluster_barrier *
cwh_team_barrier(struct cwh_team *t)
{
    return &t->barrier;
}

/* ---- one cluster ---- */

/* The block's number in the grid: clusters and the blocks of one are counted along x first. */
static uint64_t
block_number(const struct cwh_team *t, uint32_t rank)
{
    const uint32_t *grid = t->launch->abi.grid, *size = t->launch->abi.cluster;
    uint64_t x = t->cluster % (grid[0] / size[0]), rest = t->cluster / (grid[0] / size[0]);
    uint64_t y = rest % (grid[1] / size[1]), z = rest / (grid[1] / size[1]);
    x = x * size[0] + rank % size[0];
    y = y * size[1] + rank / size[0] % size[1];
    z = z * size[2] + rank / size[0] / size[1];
    return (z * grid[1] + y) * grid[0] + x;
}

static bool
next_cluster(struct cwh_team *t, uint32_t rank)
{
    struct cwh_exec_launch *l = t->launch;
    if (!rank) {
        t->cluster = atomic_load(&l->failed) ? t->clusters : atomic_fetch_add(&l->next, 1);
        t->turn = 0;
        memset(t->done, 0, sizeof t->done);
        t->barrier = (struct cwh_cluster_barrier){ .live = t->blocks * l->nthreads };
    }
    pthread_barrier_wait(&t->meet);
    return t->cluster < t->clusters;
}

static void
run_member(struct cwh_team *t, uint32_t rank)
{
    struct cwh_exec_launch *l = t->launch;
    struct cwh_worker *w = cwh_worker_self();
    bool ready = w && cwh_worker_prepare(w, l);
    if (!w)
        cwh_fail(l, CWB_RESOURCES, "kernel %s: out of memory", l->kernel);
    if (ready) {
        w->number = rank;
        w->team = t;
        w->block.cluster_rank = rank;
        w->block.shared = t->map + rank * l->abi.cluster_stride;
    }
    while (next_cluster(t, rank)) {
        pthread_mutex_lock(&t->lock);
        await_turn(t, rank);
        pthread_mutex_unlock(&t->lock);
        uint64_t block = block_number(t, rank);
        if (ready && !atomic_load_explicit(&l->failed, memory_order_relaxed))
            (void)cwh_run_blocks(w, block, block + 1);
        pthread_mutex_lock(&t->lock);
        t->done[rank] = true;
        give_turn(t, rank);
        pthread_mutex_unlock(&t->lock);
        pthread_barrier_wait(&t->meet);
    }
    if (w) {
        w->launch = NULL;
        w->team = NULL;
    }
}

static void *
member_main(void *arg)
{
    struct member *m = arg;
    if (cwh_gate_wait(m->gate))
        run_member(m->team, m->rank);
    return NULL;
}

/* ---- teams ---- */

static bool
map_shared(struct cwh_team *t)
{
    t->size = t->blocks * t->launch->abi.cluster_stride;
    int fd = cw_memory_file_own("cudaway-cluster", t->size);
    uint8_t *p = fd < 0 ? MAP_FAILED : mmap(NULL, MIRROR + t->size + CWH_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool ok = p != MAP_FAILED;
    for (unsigned i = 0; i < 2 && ok; i++)
        ok = mmap(p + i * MIRROR, t->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    if (fd >= 0)
        close(fd);
    t->map = p != MAP_FAILED ? p : NULL;
    return ok;
}

static bool
team_start(struct cwh_team *t, struct cwh_exec_launch *l, uint32_t blocks, uint64_t clusters)
{
    t->launch = l;
    t->blocks = blocks;
    t->clusters = clusters;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->passed, NULL);
    pthread_barrier_init(&t->meet, NULL, blocks);
    return map_shared(t);
}

static void
team_finish(struct cwh_team *t)
{
    if (t->map)
        munmap(t->map, MIRROR + t->size + CWH_GUARD);
    pthread_barrier_destroy(&t->meet);
    pthread_cond_destroy(&t->passed);
    pthread_mutex_destroy(&t->lock);
}

void
cwh_run_clusters(struct cwh_exec_launch *l)
{
    const uint32_t *size = l->abi.cluster;
    uint32_t blocks = size[0] * size[1] * size[2];
    uint64_t clusters = l->nblocks / blocks, nteams = cwh_exec_threads() < clusters ? cwh_exec_threads() : clusters, started = 0, made;
    struct cwh_team *teams = calloc(nteams, sizeof *teams);
    struct member *members = calloc(nteams * blocks, sizeof *members);
    bool ok = teams && members;
    l->abi.cluster_stride = (l->abi.shared_size + CWH_GUARD) & ~(uint64_t)(CWH_GUARD - 1);
    while (ok && started < nteams)
        ok = team_start(&teams[started++], l, blocks, clusters);
    struct cwh_gate gate = CWH_GATE;
    for (made = 1; ok && made < nteams * blocks; made += ok) {
        members[made] = (struct member){ .team = &teams[made / blocks], .gate = &gate, .rank = (uint32_t)(made % blocks) };
        ok = cwh_thread_start(member_main, &members[made], &members[made].thread);
    }
    if (!ok)
        cwh_fail(l, CWB_RESOURCES, "kernel %s: no memory or threads for %llu clusters of %u blocks at a time; fewer CUDAWAY_HOST_THREADS need less",
                 l->kernel, (unsigned long long)nteams, blocks);
    cwh_gate_open(&gate, ok);
    if (ok)
        run_member(&teams[0], 0);
    for (uint64_t i = 1; i < made; i++)
        pthread_join(members[i].thread, NULL);
    for (uint64_t i = 0; i < started; i++)
        team_finish(&teams[i]);
    free(teams);
    free(members);
}
