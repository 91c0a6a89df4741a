/* SPDX-License-Identifier: Apache-2.0
 * Between the layer's own files: functions and modules, launches, and the recorder. */
#ifndef CW_TRACER_LAYER_PRIVATE_H
#define CW_TRACER_LAYER_PRIVATE_H

#include "impl/device_times.h"
#include "tracer/layer.h"

/* ---- track.c ---- */

/* What is known of one CUfunction or CUkernel. Entries are never freed or changed, except for the layout and
 * `wanted`, which the first launch queries. */
struct cw_known {
    struct cw_known *next;
    uint64_t         handle;
    CUmodule         module;
    atomic_int       layout_state;      /* 0 not asked, 1 being asked, 2 known, 3 the library below cannot say */
    atomic_int       wanted;            /* select.c: 0 not asked, 1 yes, 2 no */
    unsigned         param_count, param_bytes;
    unsigned        *offsets, *sizes;
    char             name[];
};

void cw_layer_track_start(const struct cw_cuda_table *next);
/* After a call: remember the names that it returned. */
void cw_layer_track(const struct cw_call *call);
/* NULL when the handle is not known and cannot be asked about. Allocates only for a handle seen for the first time. */
const struct cw_known *cw_layer_known(uint64_t handle);
/* The function whose name a successful call returned. */
bool cw_layer_told_name(const struct cw_call *call, uint64_t *handle, uint64_t *module, const char **name);
bool cw_layer_is_launch(unsigned index);
bool cw_layer_decode_launch(const struct cw_call *call, struct cw_launch *out);

/* ---- graph.c ---- */
/* Replace the functions of t that launch and change executable graphs. */
void cw_layer_graphs_start(const struct cw_cuda_table *next, struct cw_cuda_table *t);
/* layer.c: notify the observers that asked for it. */
void cw_layer_unseen(const char *what, const char *why);

/* ---- names.c ---- */
/* Our function for a cuGetProcAddress query, or NULL. */
const void *cw_layer_by_name(const char *symbol, int version, cuuint64_t flags);

/* ---- image.c ---- */
struct cw_image {
    const char *kind;       /* "ptx", "fatbin", "elf", "unknown" */
    const void *data;       /* what to hash: behind the wrapper */
    uint64_t    size;       /* 0 when not known */
};
/* The kind and length of a module image. Reads no further than its own headers say, than `max` (UINT64_MAX where the driver API gives no length), and than memory
 * can be read; an image that does not end before has the size 0. */
struct cw_image cw_layer_image(const void *image, uint64_t max);
/* Whether the bytes from p on can be read. */
bool cw_layer_readable(const void *p, uint64_t size);

/* ---- device_time.c: times by events, for a driver that does not tell them ---- */
void cw_device_time_start(const struct cw_cuda_table *next, const struct cw_device_observer *o);
/* Around every call, between its entry event and its exit event; nothing is done before the start. */
void cw_device_time_before(const struct cw_call *c);
void cw_device_time_launch(const struct cw_launch *l);
void cw_device_time_after(const struct cw_call *c);

/* ---- select.c: what is recorded, and what the recording program is told ---- */
void cw_select_start(void);
/* Before each call, once: whether it is recorded. Counts launches. */
bool cw_select_call(const struct cw_call *c);
bool cw_select_operation(const struct cw_device_op *op);
/* After each call. */
void cw_select_result(const struct cw_call *c);

/* ---- recorder.c: the LTTng events ---- */
extern const struct cw_observer cw_recorder_observer;

#endif
