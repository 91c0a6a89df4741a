/* SPDX-License-Identifier: Apache-2.0
 * The hip backend's own objects. device.c: the library, devices, contexts, memory, queues. module.c: modules, kernels. launch.c: launches.
 * memory.c: memory of all kinds, virtual memory management. texture.c: arrays, textures, surfaces; native.c: those for AMD's image
 * instructions. output.c: what kernels print. */
#ifndef CW_HIP_DEVICE_H
#define CW_HIP_DEVICE_H

#include "impl/backend.h"
#include "impl/hip/hip.h"

#include <pthread.h>
#include <stdatomic.h>

struct cw_texture;

struct hip_api {
#define R(name) name
#define X(need, since, name, params) hipError_t (*name) params;
    HIP_FUNCTIONS(X)
#undef X
#undef R
};
extern struct hip_api hip;

struct cwb_context {
    int device;
    _Atomic int error;              /* cwb_result: sticky */
    size_t stack;                   /* bytes a thread, 0: HIP's */
    pthread_mutex_t fifo_lock;      /* the rest: output.c */
    _Atomic(uint8_t *) fifo;        /* pinned, or NULL while no module prints */
    uint32_t fifo_read;             /* bytes of it that were printed */
    bool asserted;
    uint32_t told;                  /* CWJ_AMD_FAULT_*: what a kernel said before its trap, or 0 */
    pthread_mutex_t shared_lock;    /* the rest: shared.c; also the arenas of streams */
    void *locks, *heap;             /* device memory or NULL */
    size_t heap_limit;
    pthread_mutex_t texture_lock;   /* the rest: texture.c */
    atomic_bool fell_back;          /* a texture did not fit them, and the log says so */
    bool images;                    /* textures are made for image instructions; does not change */
    struct hip_slab *slabs;
    struct hip_slot *vacant, *waiting;
    uint32_t nwaiting;
    pthread_mutex_t kept_lock;      /* the rest: memory.c */
    struct hip_kept *kept;
    pthread_mutex_t closed_lock;
    struct cwb_stream *closed;      /* streams that were closed with work queued */
    pthread_mutex_t clock_lock;
    struct cw_event_clock *_Atomic clock;   /* clock_lock: made by the first stream_time, stays */
};

/* Shared memory of blocks in clusters, and the clusters' barriers. */
struct hip_arena {
    struct hip_arena *next;
    void *memory;                   /* of the device */
    size_t size;
};

struct cwb_stream {
    struct cwb_context *c;
    hipStream_t s;
    void *_Atomic grid;             /* device memory in which its cooperative grids synchronise, one after another; made for the
                                     * first */
    struct hip_arena *arenas;       /* shared_lock; the first is in use, the others may be by queued launches */
    struct cwb_stream *next;        /* context.closed */
};

struct cwb_event {
    struct cwb_context *c;
    hipEvent_t e;
};

/* One compilation of a kernel. */
struct hip_code {
    hipModule_t module;
    _Atomic hipFunction_t function; /* NULL: not compiled */
    cwb_result failed;              /* what the compiler said */
    uint32_t most;                  /* threads of a block */
    bool from_cache;                /* the disk cache had it */
    bool launch_numbers;            /* takes CWJ_AMD_LAUNCH more bytes of arguments */
};

/* Variants of a kernel: HIP_ALL takes blocks of up to 1024 threads; HIP_USUAL may use more registers and take smaller blocks.
 * HIP_CLUSTERS are for launches in clusters of several blocks. */
enum hip_purpose { HIP_USUAL, HIP_ONE_WARP_PER_WAVE, HIP_ALL, HIP_CLUSTERS, HIP_CLUSTERS_ONE_WARP_PER_WAVE, HIP_CODES };
static inline bool
hip_one_warp_per_wave(enum hip_purpose p)
{
    return p == HIP_ONE_WARP_PER_WAVE || p == HIP_CLUSTERS_ONE_WARP_PER_WAVE;
}
static inline bool
hip_in_clusters(enum hip_purpose p)
{
    return p == HIP_CLUSTERS || p == HIP_CLUSTERS_ONE_WARP_PER_WAVE;
}

struct cwb_kernel {
    struct cwb_module *module;
    uint32_t index;
    bool one_warp_per_wave;                  /* one warp per wave of 64 lanes (jit.h), else as many warps as a wave holds */
    bool uses_clusters;             /* cwj_api.uses_clusters */
    bool must;                      /* then always: larger blocks are refused */
    atomic_bool warned;             /* the warning that a block was too large for one warp per wave */
    pthread_mutex_t lock;           /* code */
    struct hip_code code[HIP_CODES];
};

struct cwb_module {
    struct cwb_context *c;
    const struct cwj_api *jit;
    struct cwj_program *program;
    void *image;                    /* device memory */
    uint32_t nkernels;
    pthread_mutex_t lock;           /* kernels */
    struct cwb_kernel **kernels;
};

/* HIP's device is a property of the thread. */
void hip_use(const struct cwb_context *c);
cwb_result hip_result(hipError_t e);
/* The result of an operation on queued work: a fault stays with the context. */
cwb_result hip_outcome(struct cwb_context *c, hipError_t e);
const char *hip_arch(int device);   /* "gfx1100" */
uint32_t hip_multiprocessors(int device);
int hip_device_count(void);
int hip_version(void);              /* of the runtime: 60000000 is 6.0 */

/* memory.c */
cwb_result hip_mem_alloc(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address);
cwb_result hip_mem_free(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size);
cwb_result hip_mem_register(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address);
cwb_result hip_mem_unregister(struct cwb_context *c, void *ptr, size_t size);
void hip_memory_trim(struct cwb_context *c);        /* free the kept memory */
bool hip_has_vmm(void);
cwb_result hip_va_reserve(size_t size, size_t align, uint64_t hint, uint64_t *address);
cwb_result hip_va_release(uint64_t address, size_t size);
cwb_result hip_phys_create(uint32_t device, size_t size, bool shared, struct cwb_phys **out);
void hip_phys_destroy(struct cwb_phys *p);
cwb_result hip_va_map(uint64_t address, size_t size, struct cwb_phys *p, size_t offset);
cwb_result hip_va_unmap(uint64_t address, size_t size);
cwb_result hip_va_protect(uint64_t address, size_t size, bool readable, bool writable);

/* texture.c */
cwb_result hip_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out);
void hip_array_destroy(struct cwb_array *a);
cwb_result hip_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle);
cwb_result hip_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle);
void hip_texture_destroy(struct cwb_context *c, uint64_t handle);      /* surfaces, too */
/* time.c: stream_time. */
cwb_result hip_stream_time(struct cwb_stream *s, cwb_time_fn *fn, void *user);
void hip_times_poll(struct cwb_context *c);         /* hand out the times of what is done */
void hip_times_finish(struct cwb_context *c);

/* Before and after waiting until the context is idle: slots of objects destroyed by then become free. */
struct hip_slot *hip_textures_leave(struct cwb_context *c);
void hip_textures_left(struct cwb_context *c, struct hip_slot *gone);
void hip_textures_finish(struct cwb_context *c);

/* native.c */
enum { HIP_IMAGE_PITCH = 256 };                     /* alignment of linear images and of their rows, in bytes */
bool hip_images_wanted(int device);                 /* CUDAWAY_TEXTURES=native, and the processor has texture units; logs a refusal */
/* Fill in t->native, resource and sampler, if image instructions can read the texture. Returns HIP's texture object, which the
 * caller destroys when no kernel uses it any more, or NULL. */
hipTextureObject_t hip_native_texture(struct cwb_context *c, const struct cwb_texture_desc *d, struct cw_texture *t);

/* output.c: what kernels print. */
/* shared.c */
void hip_shared_init(struct cwb_context *c);
void hip_shared_finish(struct cwb_context *c);
hipError_t hip_shared_give(struct cwb_context *c, hipModule_t code);            /* set the variables of a code object that was
                                                                                 * just loaded */
cwb_result hip_heap_limit(struct cwb_context *c, size_t bytes);                 /* CWB_INVALID when a heap of another size exists */
uint64_t hip_fifo_address(struct cwb_context *c);   /* 0 when out of memory */
uint64_t hip_fault_address(struct cwb_context *c);  /* the u32 behind the FIFO; 0 when out of memory */
/* Print the complete records. `idle`: nothing runs in the context, so the FIFO can start over. */
void hip_fifo_flush(struct cwb_context *c, bool idle);

cwb_result hip_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                           uint64_t *image_address);
void hip_module_unload(struct cwb_module *m);
cwb_result hip_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log);
cwb_result hip_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *out);
/* Compiled for launches of that many threads a block, or in clusters of several such blocks; NULL with *r set. */
struct hip_code *hip_code_for(struct cwb_kernel *k, uint32_t threads, bool clusters, cwb_result *r);
/* launch.c */
void hip_arenas_finish(struct cwb_stream *s);
cwb_result hip_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l);

#endif
