/* SPDX-License-Identifier: Apache-2.0
 * libcudaway-tp.so, the LTTng provider: loaded by the layer only in a process that is being recorded, so that no other
 * process loads liblttng-ust or has its threads. Two symbols are looked up in it: cw_tp_ops by the layer, cw_tp_runtime
 * (impl/runtime/observe.h) by libcudart. */
#ifndef CW_TRACER_TP_H
#define CW_TRACER_TP_H

#include "impl/device_times.h"
#include "tracer/layer.h"

#include <stddef.h>

#define CW_TP_VERSION 3u

struct cw_tp_kernel {
    const struct cw_launch *launch;
    const void *params;          /* the argument bytes as the kernel sees them; at most CW_TP_PARAM_BYTES */
    unsigned    param_size;
};

struct cw_tp_module {
    uint64_t    handle;          /* CUmodule, CUlibrary or CUlinkState */
    const char *kind;            /* "ptx", "fatbin", "elf", "unknown" */
    uint64_t    size;            /* bytes, 0 when not known */
    const char *hash;            /* SHA-256 in hex, "" when the size is not known */
    const char *file;            /* "" for an image in memory */
};

struct cw_tp_name {
    uint64_t    handle;          /* CUfunction or CUkernel */
    uint64_t    module;
    const char *name;
};

/* An operation of the device (impl/device_times.h). */
struct cw_tp_submit {
    const struct cw_device_op *op;
    uint64_t    number;          /* of this process; 0 for a compilation */
    uint64_t    start, end;      /* of a compilation, as below */
};

struct cw_tp_executed {
    uint64_t    number;
    uint64_t    start, end;      /* ns of CLOCK_MONOTONIC, which is LTTng's clock; 0: not known */
};

/* Of this process, where it is a rank of MPI. */
struct cw_tp_process {
    uint64_t    rank;
};

#define CW_TP_PARAM_BYTES 4096u
#define CW_TP_TEXT_BYTES  4096u
#define CW_TP_ELEMENTS    64u

struct cw_tp_ops {
    unsigned version;
    void (*start)(void);                             /* once, before all others */
    /* Before the first call of function `index`: make its two events known. Once; any thread, not inside the driver. */
    void (*use)(unsigned index);
    void (*const *entry)(const struct cw_call *);    /* by function index */
    void (*const *exit)(const struct cw_call *);
    void (*kernel)(const struct cw_tp_kernel *);
    void (*module)(const struct cw_tp_module *);
    void (*name)(const struct cw_tp_name *);
    void (*submit)(const struct cw_tp_submit *);
    void (*executed)(const struct cw_tp_executed *);
    void (*process)(const struct cw_tp_process *);
};

/* Generated. The events in the order of the header: entry and exit of each function, then the others. */
extern const struct lttng_ust_probe_desc *cw_tp_all;
extern void (*const cw_tp_entry[])(const struct cw_call *);
extern void (*const cw_tp_exit[])(const struct cw_call *);
void cw_tp_kernel(const struct cw_tp_kernel *k);
void cw_tp_module(const struct cw_tp_module *k);
void cw_tp_name(const struct cw_tp_name *k);
void cw_tp_submit(const struct cw_tp_submit *k);
void cw_tp_executed(const struct cw_tp_executed *k);
void cw_tp_process(const struct cw_tp_process *k);

/* The same for the functions of the Runtime. A call's `index` is then the Runtime's, its `next` is NULL, and its result a
 * cudaError_t, which has the driver's numbers. */
extern const struct lttng_ust_probe_desc *cw_tp_runtime_all;
extern void (*const cw_tp_runtime_entry[])(const struct cw_call *);
extern void (*const cw_tp_runtime_exit[])(const struct cw_call *);
extern const unsigned cw_tp_runtime_count;
extern atomic_bool cw_tp_runtime_known[];        /* the function's events are known to LTTng */

/* provider.c: register events [first, first + count) of a list. What LTTng gets stays for good. */
void cw_tp_register(const struct lttng_ust_probe_desc *all, unsigned first, unsigned count);

#endif
