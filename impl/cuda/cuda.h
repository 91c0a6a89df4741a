/* SPDX-License-Identifier: Apache-2.0
 * The cuda backend: impl/backend.h over NVIDIA's driver, which runs PTX that our compiler made from the program's PTX.
 * Private to impl/cuda. Each context of ours is a context of the real driver; every operation makes it current first. A
 * fault that the real driver reports is kept as the context's sticky error. */
#ifndef CWC_CUDA_H
#define CWC_CUDA_H

#include "impl/backend.h"
#include "impl/base/buf.h"
#include "impl/base/log.h"
#include "jit/jit.h"

#include "cudaway/cuda_table.h"

#include <pthread.h>
#include <stdatomic.h>

/* The real driver; members are NULL where it lacks a function, except those that library.c requires. */
extern struct cw_cuda_table cwc;
extern bool cwc_unoptimised;    /* cuda:O0: the real driver compiles without its optimiser. Set when the device is opened */

/* Load it once. False: one line on the log says why not. */
bool cwc_load(void);

struct cwc_freed {
    struct cwc_freed *next;
    uint64_t address;
};

struct cwb_context {
    CUcontext real;
    CUdevice device;
    CUstream query;             /* nothing is ever queued on it */
    _Atomic int error;          /* cwb_result: the first fault */
    pthread_mutex_t lock;
    struct cwc_freed *freed;    /* lock: freed in a host function, where the real driver must not be called */
};

/* The real driver takes 1,020 launches, copies, fills and values into a stream whose work does not go on; its next call waits, and would do so under a lock of
 * impl/driver. So an event marks every 50th operation, and impl/driver, without a lock, waits for the oldest mark before that one is used again. */
enum { CWC_STRETCH = 50, CWC_MARKS = 20 };

struct cwb_stream {
    struct cwb_context *c;
    CUstream real;
    CUevent marks[CWC_MARKS];   /* a ring; made when first needed */
    _Atomic unsigned next;      /* the mark that is used next, thus the oldest one */
    unsigned since;             /* operations since the newest one */
    bool room;                  /* the work behind the oldest is known to be done */
};

struct cwb_event  { struct cwb_context *c; CUevent real; };

struct cwb_array {
    struct cwb_context *c;
    struct cwb_array_desc desc;
    CUarray one;                /* without levels */
    CUmipmappedArray mipmap;    /* with */
};

/* Set while the real driver runs a host function on this thread. */
extern _Thread_local bool cwc_in_host_fn;

/* Translate; a fault sticks to c (which may be NULL). */
cwb_result cwc_result(struct cwb_context *c, CUresult r);

/* Make c current on this thread, or return from the function with the error. In a host function the real driver refuses that, and takes what names a stream, an
 * event or a graph, whose context it is then. */
#define ENTER(c)                                                                 \
    do {                                                                         \
        CUresult enter_ = cwc_in_host_fn ? CUDA_SUCCESS : cwc.cuCtxSetCurrent((c)->real);       \
        if (enter_ != CUDA_SUCCESS)                                              \
            return cwc_result((c), enter_);                                      \
    } while (0)

/* stream.c */
cwb_result cwc_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out);
void       cwc_stream_destroy(struct cwb_stream *s);
cwb_result cwc_stream_query(struct cwb_stream *s);
cwb_result cwc_stream_sync(struct cwb_stream *s);
bool       cwc_stream_is_full(struct cwb_stream *s);
void       cwc_stream_make_room(struct cwb_stream *s);
cwb_result cwc_stream_added(struct cwb_stream *s, CUresult r);  /* r: of one more operation */
cwb_result cwc_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out);
void       cwc_event_destroy(struct cwb_event *e);
cwb_result cwc_event_record(struct cwb_event *e, struct cwb_stream *s);
cwb_result cwc_event_query(struct cwb_event *e);
cwb_result cwc_event_sync(struct cwb_event *e);
cwb_result cwc_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms);
cwb_result cwc_stream_wait_event(struct cwb_stream *s, struct cwb_event *e);
cwb_result cwc_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user);
cwb_result cwc_stream_copy(struct cwb_stream *s, const struct cwb_copy *c);
cwb_result cwc_stream_fill(struct cwb_stream *s, const struct cwb_fill *f);
cwb_result cwc_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare);
cwb_result cwc_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits);

/* texture.c */
cwb_result cwc_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out);
void       cwc_array_destroy(struct cwb_array *a);
cwb_result cwc_array_level(const struct cwb_array *a, uint32_t level, CUarray *out);    /* its context is current */
cwb_result cwc_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle);
void       cwc_texture_destroy(struct cwb_context *c, uint64_t handle);
cwb_result cwc_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle);
void       cwc_surface_destroy(struct cwb_context *c, uint64_t handle);
cwb_result cwc_tensor_map(struct cwb_context *c, const struct cwb_tensor *t, void *map);
cwb_result cwc_tensor_map_address(struct cwb_context *c, void *map, uint64_t address);

/* module.c */
cwb_result cwc_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                           uint64_t *image_address);
cwb_result cwc_module_variable(struct cwb_module *m, uint32_t index, uint64_t *address);
void       cwc_module_unload(struct cwb_module *m);
cwb_result cwc_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log);
cwb_result cwc_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out);
cwb_result cwc_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l);

#endif
