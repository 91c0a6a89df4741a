/* SPDX-License-Identifier: Apache-2.0
 * Between the files of `answers`: a section is a function that makes some calls whose arguments are points, each with a usual value and others. The
 * program (answers.c) runs the section with every usual value, then with each other value of each point, then with pairs of these, and prints a line
 * a run: what each call answered. The line is all that a driver is compared by,
     so no argument or printed value may depend on addresses or on the GPU. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "impl/api/cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define U(x) ((uint64_t)(uintptr_t)(x))

/* A point: its name, its usual value, the others. */
#define P(name, ...) pick(#name, #__VA_ARGS__, (const uint64_t[]){ __VA_ARGS__ }, COUNT(((const uint64_t[]){ __VA_ARGS__ })))
#define PP(type, name, ...) ((type)(uintptr_t)pick(#name, #__VA_ARGS__, (const uint64_t[]){ __VA_ARGS__ }, \
    COUNT(((const uint64_t[]){ __VA_ARGS__ }))))
/* All from first to last, where the usual one is `usual`. */
#define RANGE(name, usual, first, last) pick_range(#name, usual, first, last)
/* A call whose answer is printed; a value that is. */
#define A(call) answer(call)
#define V(value) value_is((uint64_t)(value))
/* A stream, of any kind or of another context. */
#define STREAM(name) PP(CUstream, name, U(o.stream), 0, U(CU_STREAM_LEGACY), U(CU_STREAM_PER_THREAD), U(o.blocking), U(other_stream))
#define MUST(call) must(call, #call)

struct set {
    CUcontext ctx;
    CUstream stream, blocking, dead_stream;
    CUevent event, timed, late, dead_event;
    CUmodule module;
    CUfunction func, two, shared, limited;
    CUarray array, array1d, array3d, layered, surface, dead_array;
    CUmipmappedArray mipmap;
    CUdeviceptr dev, freed, managed, pitched;
    size_t pitch;
    void *pinned, *registered;
    CUgraph graph, other_graph;
    CUgraphNode node, other_node;
    CUlibrary library;
    CUkernel kernel;
    CUmemoryPool pool;
    CUtexref texref;
};
extern struct set o;
extern CUcontext other;
extern CUdeviceptr other_dev;
extern CUstream other_stream;
extern char host[1 << 16], out[1 << 16];
extern const char text[];

enum { SIZE = 1 << 16 };                /* of dev, managed, pinned, host, other_dev */

uint64_t pick(const char *name, const char *texts, const uint64_t *values, size_t n);
uint64_t pick_range(const char *name, uint64_t usual, uint64_t first, uint64_t last);
CUresult answer(CUresult e);
void value_is(uint64_t v);
void must(CUresult e, const char *call);

struct section {
    const char *name;
    void (*run)(void);
    unsigned pairs;                     /* how many pairs of deviations, at most */
};
extern const struct section memory_sections[], object_sections[], work_sections[], order_sections[],
    rare_sections[];         /* the last one has no name */

#endif
