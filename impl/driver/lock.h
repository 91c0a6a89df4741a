/* SPDX-License-Identifier: Apache-2.0
 * The driver's lock order. A thread that holds a lock may take only locks further down this list, and never two of one line.
 *
 *  -1  module.launching     a kernel runs that launches kernels (device_launch.c); driver calls are made under it
 *   0  exec.lock           an executable graph; held while a launch of it waits for a condition's value
 *      graph_lock          structure of graphs, and captures; comes after an executable graph's
 *   1  g.lock              start-up, the device list
 *   2  primary.making, then primary.lock   one per device: the primary context's instance; its retain count
 *      imports (ipc.c)      memory of other processes that is mapped here
 *      mappings (vmm.c)     reservations, mappings, what multicast objects stand for
 *   3  ctx.lock            lists of a context's objects, its limits and settings
 *   4  module.lock         function and reference tables of a module; link, library and
 *                           texture reference state (of those, a texture reference's comes last)
 *   5  ctx.order           order of submission to streams (default-stream rules); backend *submit* ops run under it
 *   6  pools_lock, then pool.lock; ranges; objmap; locals; descs_lock   tables of pools and their blocks, addresses, texture objects, values of
 *                           contexts, descriptors of resources: no call is made under them, but a pool's of mem_use, mem_extend, mem_cut
 *   7  handle free list, contexts_lock (the list of contexts), memory_lock and conditions_lock (graphs'), log, later.c's, the backend's own and
 *      impl/va.c's: leaves
 *
 * malloc, mmap, open and others of the C library may be the program's own, and call the driver: nothing of the C library is called under primary.lock,
 * ctx.lock and that of ranges, which such calls take that only ask (tests/driver/test_interpose.c).
 * The dynamic loader has a lock of its own, under which constructors of libraries call the driver: no lock of ours is held where a library may
 * be loaded (jit_open, cwb_backend.load).
 * Handle look-up takes no lock (an atomic count per slot); the handle of a stream, an event or a graph's node ends with ctx.order or graph_lock
 * taken and given back, since those who hold it borrow such objects (docs/handles.md). No driver lock is held while a host function of the application
 * runs, while a kernel is compiled, or while a thread waits for queued work; exceptions: a texture reference
 * that is bound anew waits for the kernels that use its old texture, and module.launching. Thread-local state (context stack, per-thread streams) needs none. */
#ifndef CWD_LOCK_H
#define CWD_LOCK_H

#include <pthread.h>

#endif
