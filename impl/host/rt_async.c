/* SPDX-License-Identifier: Apache-2.0
 * cp.async and mbarrier (PTX 9.7.9.25, 9.7.13.15). All threads of a block run on one thread of the machine, so barrier objects need
 * no atomics; a test that fails lets the other gangs run. */
#include "impl/host/exec_private.h"

#include <string.h>

void
cwh_rt_cp_async(struct cwh_gang *gang, uint64_t mask, uint32_t size, const uint64_t *to, const uint64_t *from, const uint32_t *count)
{
    struct cwh_fiber *f = cwh_enter(gang);
    for (uint64_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        if ((to[lane] | (count[lane] ? from[lane] : 0)) & (size - 1))
            cwh_abort(f, CWB_MISALIGNED, "cp.async of %u bytes from 0x%llx to 0x%llx", size,
                      (unsigned long long)from[lane], (unsigned long long)to[lane]);
        cwh_must_own(gang, to[lane], size);
        if (count[lane])
            cwh_must_own(gang, from[lane], count[lane] < size ? count[lane] : size);
        uint8_t *d = (uint8_t *)(uintptr_t)to[lane];
        const uint8_t *s = (const uint8_t *)(uintptr_t)from[lane];
        uint32_t n = count[lane];
        if (n >= size) {
            /* copies of constant size are single loads and stores */
            if (size == 16)
                memcpy(d, s, 16);
            else if (size == 8)
                memcpy(d, s, 8);
            else
                memcpy(d, s, 4);
        } else {
            if (n)
                memcpy(d, s, n);
            memset(d + n, 0, size - n);
        }
    }
}

/* ---- mbarrier objects ---- */

enum { COUNT_MASK = (1 << CWH_MBARRIER_COUNT_BITS) - 1, TX_MASK = (1 << CWH_MBARRIER_TX_BITS) - 1 };

struct barrier {
    uint32_t pending, expected, phase;
    int32_t tx;
};

static struct barrier
unpack(uint64_t w)
{
    unsigned unused = 64 - CWH_MBARRIER_TX_BITS;
    return (struct barrier){
        .pending = (0u - (uint32_t)(w >> CWH_MBARRIER_PENDING_SHIFT)) & COUNT_MASK, .expected = w & COUNT_MASK, .phase = (uint32_t)(w >> CWH_MBARRIER_PHASE_SHIFT),
        .tx = (int32_t)((int64_t)((w >> CWH_MBARRIER_TX_SHIFT) << unused) >> unused),
    };
}

static uint64_t
pack(const struct barrier *b)
{
    return (uint64_t)b->expected | (uint64_t)((0u - b->pending) & COUNT_MASK) << CWH_MBARRIER_PENDING_SHIFT |
           (uint64_t)((uint32_t)b->tx & TX_MASK) << CWH_MBARRIER_TX_SHIFT | (uint64_t)b->phase << CWH_MBARRIER_PHASE_SHIFT;
}

/* The phase ends when nothing is pending. */
static void
complete(struct barrier *b)
{
    if (b->pending || b->tx)
        return;
    b->phase ^= 1;
    b->pending = b->expected;
}

static uint64_t
operate(struct cwh_fiber *f, uint32_t op, uint64_t *object, uint64_t value, bool *waits)
{
    uint64_t old = *object;
    struct barrier b = unpack(old);
    uint32_t n = (uint32_t)value;
    switch (op) {
    case CWH_MBARRIER_INIT:
        if (!n || n > COUNT_MASK)
            cwh_abort(f, CWB_ILLEGAL_INSTRUCTION, "mbarrier.init with a count of %u", n);
        b = (struct barrier){ n, n, 0, 0 };
        break;
    case CWH_MBARRIER_INVAL:
        b = (struct barrier){ 0, 0, 0, 0 };
        break;
    case CWH_MBARRIER_ARRIVE:
    case CWH_MBARRIER_DROP:
        if (!n || n > b.pending)
            cwh_abort(f, CWB_ILLEGAL_INSTRUCTION, "%u arrivals at an mbarrier with %u pending", n, b.pending);
        b.pending -= n;
        if (op == CWH_MBARRIER_DROP)
            b.expected = b.expected > n ? b.expected - n : 0;
        complete(&b);
        break;
    case CWH_MBARRIER_EXPECT:
        b.tx = (int32_t)((uint32_t)b.tx + n);
        break;
    case CWH_MBARRIER_COMPLETE:
        b.tx = (int32_t)((uint32_t)b.tx - n);
        complete(&b);
        break;
    case CWH_MBARRIER_TEST:
        old = b.phase != value >> CWH_MBARRIER_PHASE_SHIFT;
        *waits |= !old;
        return old;
    case CWH_MBARRIER_TEST_PARITY:
        old = b.phase != (value & 1);
        *waits |= !old;
        return old;
    default:
        cwh_abort(f, CWB_INTERNAL, "mbarrier operation %u is not known", op);
    }
    *object = pack(&b);
    return old >> CWH_MBARRIER_PENDING_SHIFT << CWH_MBARRIER_PENDING_SHIFT;
}

void
cwh_rt_mbarrier(struct cwh_gang *gang, uint64_t mask, uint32_t op, const uint64_t *address, const uint64_t *value, uint64_t *result)
{
    struct cwh_fiber *f = cwh_enter(gang);
    bool waits = false;
    for (uint64_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        if (address[lane] & 7)
            cwh_abort(f, CWB_MISALIGNED, "mbarrier object at 0x%llx", (unsigned long long)address[lane]);
        cwh_must_own(gang, address[lane], 8);
        result[lane] = operate(f, op, (uint64_t *)(uintptr_t)address[lane], value[lane], &waits);
    }
    if (waits)
        cwh_rt_yield(gang);
}

void
cwh_mbarrier_complete(struct cwh_fiber *f, uint64_t object, uint32_t bytes)
{
    bool waits;
    if (object & 7)
        cwh_abort(f, CWB_MISALIGNED, "mbarrier object at 0x%llx", (unsigned long long)object);
    cwh_must_own(&f->gang, object, 8);
    (void)operate(f, CWH_MBARRIER_COMPLETE, (uint64_t *)(uintptr_t)object, bytes, &waits);
}
