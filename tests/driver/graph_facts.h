/* SPDX-License-Identifier: Apache-2.0
 * Between the files of graph_facts: the kernels and memory that every section uses, and how a fact is printed. */
#ifndef GRAPH_FACTS_H
#define GRAPH_FACTS_H

#include "impl/api/cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define LEGACY CU_STREAM_LEGACY
#define PER_THREAD CU_STREAM_PER_THREAD
#define MUST(call) do { CUresult r_ = (call); if (r_) { printf("%s: %d, cannot go on\n", #call, (int)r_); fflush(stdout); _exit(0); } } while (0)

extern const char ptx[];
extern CUcontext ctx;
extern CUmodule mod;
extern CUfunction mad, zero;
extern CUdeviceptr mem, mem2;
extern void *pinned;
extern uint32_t pageable[64];
extern bool strict;                     /* also what this driver is known to answer otherwise */

void setup(void);                       /* all of the above, in this process */
CUresult launch(CUstream s, CUfunction f);
void fact(const char *fmt, ...);
int status(CUstream s);                 /* of its capture; 1000 + the error when that cannot be told */
int place(CUgraph g, CUgraphNode n);    /* in its graph's list, or -1; -2: the graph gives no list */
void shape(const char *name, CUgraph g);        /* print the types of a graph's nodes, and its edges as places */
void copy_params(const char *name, CUgraphNode n), set_params(const char *name, CUgraphNode n);         /* print what a node copies, sets */
CUstream stream(unsigned flags);
CUevent event(void);
void nothing(void *p);
void *in_thread(void *call);            /* a thread that makes the call (CUresult (*)(void)) and leaves what it gave: */
extern CUresult call_result;

/* graph_capture.c: beginning, ending, what is known of a capture, what becomes of each operation. */
void exchange(void), ends(void), infos(void), operations(void);

/* graph_built.c: graphs built by hand. */
void explicit_graphs(void), node_params(void), updates(void), others(void), memory_nodes(void);

/* graph_calls.c: which calls are allowed while a stream is captured, in each mode. */
void calls_global(void), calls_thread(void), calls_relaxed(void);

#endif
