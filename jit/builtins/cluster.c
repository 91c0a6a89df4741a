/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "cluster": barrier.cluster (PTX 9.7.13.4) among work-groups. The state of a cluster's barrier is a word in global
 * memory: how many threads have arrived in this phase, how many have exited, and the phase. It changes as a whole, so the one change that
 * completes the phase, be it an arrival or an exit, begins the next. */
#include <stdint.h>

enum { EXITED_SHIFT = 16, PHASE_SHIFT = 32, COUNT_MASK = 0xffff };

/* What a thread remembers of its arrival; 0: of none. */
static uint32_t
mark_of(uint64_t word)
{
    return (uint32_t)(word >> PHASE_SHIFT) << 1 | 1;
}

static uint64_t
load(const uint64_t *barrier)
{
    return __scoped_atomic_load_n(barrier, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
}

static int
swap(uint64_t *barrier, uint64_t *old, uint64_t new)
{
    return __scoped_atomic_compare_exchange_n(barrier, old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
}

/* `now` is the word as this thread left it. If another one has changed it since, that one looks as well. */
static void
end_phase(uint64_t *barrier, uint64_t now, uint32_t threads)
{
    uint64_t arrived = now & COUNT_MASK, exited = now >> EXITED_SHIFT & COUNT_MASK;
    if (arrived && arrived + exited >= threads)
        swap(barrier, &now, (now - arrived) + (1ull << PHASE_SHIFT));
}

/* One of `threads` of the cluster arrives. Returns its mark. */
uint32_t
cwd_cluster_arrive(uint64_t *barrier, uint32_t threads)
{
    uint64_t old = __scoped_atomic_fetch_add(barrier, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
    end_phase(barrier, old + 1, threads);
    return mark_of(old);
}

void
cwd_cluster_wait(const uint64_t *barrier, uint32_t mark)
{
    while (mark_of(load(barrier)) == mark)
        __builtin_amdgcn_s_sleep(1);
}

/* A thread exits, maybe without having waited for the phase in which it arrived: then it counts as exited, no longer as arrived. */
void
cwd_cluster_leave(uint64_t *barrier, uint32_t threads, uint32_t mark)
{
    uint64_t old = load(barrier), new;
    if (mark_of(old) == mark) {
        do
            new = old + (1ull << EXITED_SHIFT) - (mark_of(old) == mark);
        while (!swap(barrier, &old, new));
    } else {
        new = __scoped_atomic_fetch_add(barrier, 1ull << EXITED_SHIFT, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) + (1ull << EXITED_SHIFT);
    }
    end_phase(barrier, new, threads);
}
