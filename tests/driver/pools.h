/* SPDX-License-Identifier: Apache-2.0
 * What tests of memory pools share. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { SIZE = 1 << 20, CHUNK = 32 << 20 };

static int gate[2];

/* A host function: what is behind it in its stream waits for a byte in gate[1]. */
static void
wait_for_gate(void *unused)
{
    char c;
    EXPECT(read(gate[0], &c, 1) == 1);
}

static cuuint64_t
get(CUmemoryPool p, CUmemPool_attribute a)
{
    cuuint64_t v = ~0ull;
    OK(cuMemPoolGetAttribute(p, a, &v));
    return v;
}

static CUmemoryPool
make_pool(size_t most)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, .maxSize = most };
    CUmemoryPool p = NULL;
    OK(cuMemPoolCreate(&p, &props));
    return p;
}

static CUdeviceptr
alloc(CUmemoryPool p, size_t size, CUstream s)
{
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, size, p, s));
    return a;
}

static void
set(CUmemoryPool p, CUmemPool_attribute a, cuuint64_t v)
{
    OK(cuMemPoolSetAttribute(p, a, &v));
}

static bool
holds(CUdeviceptr a, size_t size, uint8_t value)
{
    uint8_t *h = malloc(size);
    OK(cuMemcpyDtoH_v2(h, a, size));
    bool all = true;
    for (size_t i = 0; i < size; i++)
        all = all && h[i] == value;
    free(h);
    return all;
}
