/* SPDX-License-Identifier: Apache-2.0
 * Tensor copies take any 128 bytes for a map, as a kernel may have written them, and any coordinates: they touch what the caller was asked about,
 * end, and count fewer bytes than an mbarrier object can. tensormap.replace takes any value. */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct who {
    jmp_buf out;
    uint64_t touched;
};
static void touches(struct who *who, uint64_t address, uint64_t size);
static void touched(const void *p, uint64_t size);

#define BULK_ATOMIC_LOAD(p)            (touched(p, sizeof *(p)), __atomic_load_n(p, __ATOMIC_RELAXED))
#define BULK_ATOMIC_SWAP(p, old, new)  __atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define BULK_TOUCHES(who, address, size) touches(who, address, size)
#include "jit/builtins/core/bulk_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GLOBAL = 1 << 16, SHARED = 1 << 16, MOST = 1 << 20 };

static uint8_t *global, *shared;
static struct {
    uint64_t address, size;
} asked[2];                             /* of what was asked last, for both sides */

static bool
lies_in(const uint8_t *base, uint64_t room, uint64_t address, uint64_t size)
{
    uint64_t at = address - (uintptr_t)base;
    return at < room && room - at >= size;
}

static void
touches(struct who *who, uint64_t address, uint64_t size)
{
    if (++who->touched > 2 * MOST)
        abort();
    if (!lies_in(global, GLOBAL, address, size) && !lies_in(shared, SHARED, address, size))
        longjmp(who->out, 1);
    asked[0] = asked[1];
    asked[1].address = address;
    asked[1].size = size;
}

/* Reductions change what was asked about, and no more than the words that contain it. */
static void
touched(const void *p, uint64_t size)
{
    uint64_t from = (uintptr_t)p, to = from + size;
    for (unsigned i = 0; i < 2; i++)
        if (from >= (asked[i].address & ~3ull) && to <= ((asked[i].address + asked[i].size + 3) & ~3ull) && !(from & (size - 1)))
            return;
    abort();
}

struct input {
    struct cwt_map map;
    int32_t coordinates[CWT_DIMS];
    uint32_t place, how;
    uint64_t offsets;
    uint8_t near;                       /* 1: the map is one, of memory that is there, as far as the other bytes let it */
    uint8_t field, index, shift;
    uint64_t value;
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    struct who who = { .touched = 0 };
    if (!global) {
        global = aligned_alloc(128, GLOBAL);
        shared = aligned_alloc(128, SHARED);
        if (!global || !shared)
            abort();
        memset(global, 1, GLOBAL);
        memset(shared, 2, SHARED);
    }
    memset(&in, 0, sizeof in);
    memcpy(&in, data, size < sizeof in ? size : sizeof in);
    if (in.near & 1) {
        in.map.magic = CWT_MAGIC;
        in.map.address = (uintptr_t)global + (in.map.address & (GLOBAL - 16));
        in.map.im2col &= 1;
        in.coordinates[0] &= ~15;
    }
    if (in.near & 2 && !bulk_replace(&in.map, in.field % (CWT_SWIZZLE_ATOMICITY + 1), in.index, in.value >> in.shift % 64))
        return 0;
    /* As kernels are compiled: a reduction has a type and an operation of the ISA's, and the element types do the rest. */
    in.how &= 0xffffff | CWT_HOW_STORE | CWT_HOW_REDUCE;
    in.place &= SHARED / 2 - 16;
    if (setjmp(who.out))
        return 0;
    uint32_t bytes = bulk_tensor(&who, &in.map, (uintptr_t)shared + in.place, in.place, in.coordinates, in.offsets, in.how);
    if (bytes >= MOST)
        abort();
    return 0;
}
