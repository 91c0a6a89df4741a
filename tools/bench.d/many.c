/* SPDX-License-Identifier: Apache-2.0
 * many: microseconds of calls that make and end objects, with few of their kind alive and with many. */
#include "tools/bench.d/bench.h"

#include <stdbool.h>
#include <stdint.h>

enum { FEW = 1000, MANY = 100000, MANY_MAPPINGS = 20000, BYTES = 4096 };
#define PIECE ((size_t)2 << 20)

enum call { ALLOC, FREE_AND_ALLOC, FREE, ALLOC_ASYNC, FREE_AND_ALLOC_ASYNC, FREE_ASYNC, MAP, SET_ACCESS, UNMAP, ADD_NODE, DESTROY_NODE, CALLS };
static const char *const names[CALLS] = {
    [ALLOC] = "cuMemAlloc", [FREE_AND_ALLOC] = "cuMemFree, cuMemAlloc", [FREE] = "cuMemFree", [ALLOC_ASYNC] = "cuMemAllocAsync",
    [FREE_AND_ALLOC_ASYNC] = "the same, Async", [FREE_ASYNC] = "cuMemFreeAsync", [MAP] = "cuMemMap", [SET_ACCESS] = "cuMemSetAccess", [UNMAP] = "cuMemUnmap",
    [ADD_NODE] = "cuGraphAddEmptyNode", [DESTROY_NODE] = "cuGraphDestroyNode",
};
static double us[CALLS][2];
static double since;

/* What n calls took since the last one of these. */
static void
note(enum call c, bool many, unsigned n)
{
    const double t = now();
    us[c][many] = (t - since) / n * 1e6;
    since = now();
}

static void
memory(bool many, unsigned n)
{
    CUdeviceptr *p = calloc(n, sizeof *p);
    since = now();
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemAlloc_v2(&p[i], BYTES));
    note(ALLOC, many, n);
    for (unsigned i = 0, k = 0; i < FEW; i++) {
        k = (k * 1664525u + 1013904223u) % n;
        MUST(cuMemFree_v2(p[k]));
        MUST(cuMemAlloc_v2(&p[k], BYTES));
    }
    note(FREE_AND_ALLOC, many, FEW);
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemFree_v2(p[i]));
    note(FREE, many, n);
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemAllocAsync(&p[i], BYTES, NULL));
    note(ALLOC_ASYNC, many, n);
    for (unsigned i = 0, k = 0; i < FEW; i++) {
        k = (k * 1664525u + 1013904223u) % n;
        MUST(cuMemFreeAsync(p[k], NULL));
        MUST(cuMemAllocAsync(&p[k], BYTES, NULL));
    }
    note(FREE_AND_ALLOC_ASYNC, many, FEW);
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemFreeAsync(p[i], NULL));
    note(FREE_ASYNC, many, n);
    MUST(cuCtxSynchronize());
    free(p);
}

/* One piece of memory at n places. */
static void
mappings(bool many, unsigned n)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle piece;
    CUdeviceptr at;
    MUST(cuMemCreate(&piece, PIECE, &prop, 0));
    MUST(cuMemAddressReserve(&at, n * PIECE, 0, 0, 0));
    since = now();
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemMap(at + i * PIECE, PIECE, 0, piece, 0));
    note(MAP, many, n);
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemSetAccess(at + i * PIECE, PIECE, &access, 1));
    note(SET_ACCESS, many, n);
    for (unsigned i = 0; i < n; i++)
        MUST(cuMemUnmap(at + i * PIECE, PIECE));
    note(UNMAP, many, n);
    MUST(cuMemAddressFree(at, n * PIECE));
    MUST(cuMemRelease(piece));
}

static void
nodes(bool many, unsigned n)
{
    CUgraphNode *node = calloc(n, sizeof *node);
    CUgraph g;
    MUST(cuGraphCreate(&g, 0));
    since = now();
    for (unsigned i = 0; i < n; i++)
        MUST(cuGraphAddEmptyNode(&node[i], g, i ? &node[i - 1] : NULL, i > 0));
    note(ADD_NODE, many, n);
    for (unsigned i = 0; i < n; i++)
        MUST(cuGraphDestroyNode(node[i]));
    note(DESTROY_NODE, many, n);
    MUST(cuGraphDestroy(g));
    free(node);
}

int
main(void)
{
    CUcontext c;
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&c, 0, 0));
    for (int many = 0; many < 2; many++) {
        memory(many, many ? MANY : FEW);
        mappings(many, many ? MANY_MAPPINGS : FEW);
        nodes(many, many ? MANY : FEW);
    }
    for (unsigned i = 0; i < CALLS; i++)
        printf("many     %-24s %6.2f us with %d, %7.2f us with %d: %.1f times\n", names[i], us[i][0], FEW, us[i][1], i >= MAP && i <= UNMAP ? MANY_MAPPINGS : MANY,
               us[i][1] / us[i][0]);
    return 0;
}
