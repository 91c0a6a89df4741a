/* SPDX-License-Identifier: Apache-2.0
 * The operations that a device must have so that CUDA can be implemented over it: one struct. The driver (impl/driver) owns
 * every CUDA rule (handles, context stacks, default-stream ordering, pointer look-up, pools); a backend owns devices, memory,
 * queues and the execution of kernels. Backends: host (impl/host), hip (impl/hip), cuda (impl/cuda), null
 * (impl/driver/backend_null.c, for tests).
 *
 * General rules, valid unless an op says otherwise:
 *  - Thread: any thread may call any op at any time, also concurrently on the same object, except that nobody uses an
 *    object while or after it is destroyed (the driver guarantees that).
 *  - Locks: the driver may hold its ordering lock (impl/driver/lock.h) during a *submit* op (marked so). A submit op
 *    therefore never waits for queued work, never runs a host function inline and never calls the driver.
 *  - Blocking: only ops marked "blocks" wait for queued work.
 *  - Ownership: structs passed in are borrowed for the duration of the call; what must live longer is copied. Objects
 *    returned belong to the driver until the matching destroy op.
 *  - Errors: an op that fails changed nothing. Failures of queued work are reported by the context's sticky error.
 *  - Backends never call exit or abort because of what a user passed in. */
#ifndef CWB_BACKEND_H
#define CWB_BACKEND_H

#include "jit/abi/texture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CWB_ABI_VERSION 1

struct cwj_api;
struct cwj_program;
struct cw_buf;

/* X(name, text). The driver maps each to one CUresult (impl/driver/result.c). The ones from ILLEGAL_ADDRESS to LAUNCH_FAILED
 * are faults of a kernel: they become the context's sticky error. */
#define CWB_RESULT_MAP(X)                                                              \
    X(CWB_OK,                 "success")                                               \
    X(CWB_NOT_READY,          "queued work has not finished")                          \
    X(CWB_NOMEM,              "out of memory")                                         \
    X(CWB_INVALID,            "invalid argument")                                      \
    X(CWB_UNSUPPORTED,        "not supported by this device")                          \
    X(CWB_NO_DEVICE,          "no such device")                                        \
    X(CWB_SHUT_DOWN,          "the device was shut down")                              \
    X(CWB_COMPILE,            "the kernel cannot be compiled")                         \
    X(CWB_RESOURCES,          "the launch needs more than the device has")             \
    X(CWB_ADDRESS_IN_USE,     "the address range is taken")                            \
    X(CWB_ALREADY,            "already registered or mapped")                          \
    X(CWB_NOT_PERMITTED,      "not permitted in a host function")                      \
    X(CWB_SYSTEM,             "the operating system refused a file or a process")      \
    X(CWB_INTERNAL,           "internal error")                                        \
    X(CWB_ILLEGAL_ADDRESS,    "illegal memory address")                                \
    X(CWB_MISALIGNED,         "misaligned address")                                    \
    X(CWB_ILLEGAL_INSTRUCTION, "illegal instruction")                                  \
    X(CWB_TRAP,               "trap executed")                                         \
    X(CWB_ASSERT,             "device-side assert triggered")                          \
    X(CWB_STACK,              "kernel stack overflow")                                 \
    X(CWB_INVALID_PC,         "invalid program counter or indirect call target")       \
    X(CWB_TIMEOUT,            "the kernel was ended by a time-out")                    \
    X(CWB_LAUNCH_FAILED,      "unspecified launch failure")

typedef enum cwb_result {
#define X(name, text) name,
    CWB_RESULT_MAP(X)
#undef X
    CWB_RESULT_COUNT
} cwb_result;

#define CWB_IS_FAULT(r) ((r) >= CWB_ILLEGAL_ADDRESS && (r) <= CWB_LAUNCH_FAILED)

/* Capability bits. An op named after a bit is NULL exactly when the bit is clear; all other ops are required. */
enum cwb_cap {
    CWB_CAP_MANAGED      = 1u << 0,     /* mem_alloc kind MANAGED */
    CWB_CAP_VMM          = 1u << 1,     /* va_*, phys_* */
    CWB_CAP_REGISTER     = 1u << 2,     /* mem_register, mem_unregister */
    CWB_CAP_TEXTURES     = 1u << 3,     /* array_*, texture_*, surface_* */
    CWB_CAP_STREAM_VALUE = 1u << 4,     /* stream_wait_value, stream_write_value */
    CWB_CAP_UNIFIED      = 1u << 5,     /* memory that the device gives has one address everywhere, for kernels and the program at the same time */
    CWB_CAP_COOPERATIVE  = 1u << 6,     /* CWB_LAUNCH_COOPERATIVE: all blocks of the grid make progress together */
    CWB_CAP_NO_EXECUTE   = 1u << 7,     /* launches are accepted but not executed (null) */
    CWB_CAP_ADDR32       = 1u << 8,     /* modules with 32-bit addresses (cwj_image.addr32) */
    CWB_CAP_STREAM_TIME  = 1u << 9,     /* stream_time */
    CWB_CAP_CLUSTER      = 1u << 10,    /* cwb_launch.cluster of several blocks */
    CWB_CAP_MULTICAST    = 1u << 12,    /* multimem instructions work on what cuMulticastBind* mapped */
    CWB_CAP_PAGEABLE     = 1u << 11,    /* kernels can use all memory of the process (the host device) */
    CWB_CAP_HOST_THREAD  = 1u << 13,    /* stream_host_fn calls on one thread a context, which is fit for functions of the program (driver/host_call.c) */
};

/* The thread runs a function of the program for which streams may wait; an operation that waits for streams would not end. Set by the driver, and by a backend
 * while it calls back. */
extern _Thread_local bool cwb_in_host_function __attribute__((tls_model("initial-exec")));      /* asked by every call */

/* Opaque, defined by each backend. */
struct cwb_context;
struct cwb_stream;
struct cwb_event;
struct cwb_array;
struct cwb_module;
struct cwb_kernel;
struct cwb_phys;

/* ---- devices ------------------------------------------------------------------------------------------------------- */

/* Zero means "the driver's default for a device of this compute capability" (docs/host-device.md) except where noted. */
struct cwb_device_props {
    char     name[256];
    uint8_t  uuid[16];                  /* stable across processes of one machine */
    uint32_t cc_major, cc_minor;        /* 0.0: let the driver decide (cw_env_compute_capability) */
    uint64_t total_memory;              /* bytes; required */
    uint32_t multiprocessors;           /* required; host: worker threads */
    uint32_t clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
    uint32_t max_threads_per_block;     /* 1024 */
    uint32_t max_threads_per_mp;        /* 1536 */
    uint32_t max_blocks_per_mp;         /* 16 */
    uint32_t shared_per_block;          /* 48 KiB: without opt-in */
    uint32_t shared_per_block_optin;    /* 163 KiB on 8.0; the driver refuses larger launches */
    uint32_t shared_per_mp;             /* 164 KiB */
    uint32_t registers_per_block, registers_per_mp; /* 65536 */
    uint32_t pci_domain, pci_bus, pci_device;
    bool     integrated;                /* shares memory with the CPU */
};

/* ---- memory -------------------------------------------------------------------------------------------------------- */

enum cwb_mem_kind { CWB_MEM_DEVICE, CWB_MEM_PINNED, CWB_MEM_MANAGED };

/* ---- copies and fills ---------------------------------------------------------------------------------------------- */

enum cwb_loc { CWB_LOC_HOST, CWB_LOC_DEVICE, CWB_LOC_ARRAY };

/* One endpoint of a rectangular copy. For pointers: address + x + y * pitch + z * slice is the first byte. For arrays: x in
 * bytes, y in rows, z in slices or layers; pitch and slice are ignored. */
struct cwb_side {
    enum cwb_loc loc;
    uint64_t address;                   /* HOST, DEVICE */
    struct cwb_array *array;            /* ARRAY */
    uint32_t level;                     /* ARRAY: mip level */
    size_t   x, y, z;
    size_t   pitch, slice;              /* bytes from row to row, from slice to slice */
};

struct cwb_copy {
    struct cwb_side dst, src;
    size_t width, height, depth;        /* bytes, rows, slices; the driver checked them against both endpoints, all nonzero */
};

struct cwb_fill {
    struct cwb_side dst;                /* DEVICE or HOST */
    uint32_t value;                     /* low `size` bytes */
    uint32_t size;                      /* 1, 2 or 4: element size */
    size_t width, height, depth;        /* elements, rows, slices */
};

/* ---- arrays, textures, surfaces -------------------------------------------------------------------------------------- */

enum { CWB_ARRAY_LAYERED = 1, CWB_ARRAY_CUBEMAP = 2, CWB_ARRAY_SURFACE = 4, CWB_ARRAY_GATHER = 8 };

struct cwb_array_desc {
    size_t   width, height, depth;      /* elements; height 0: 1D; depth 0: 2D. Layered and cube: depth = layers (cube: x 6) */
    enum cwb_format format;
    uint32_t channels;                  /* 1, 2 or 4 */
    uint32_t levels;                    /* 1, or the mipmap's */
    uint32_t flags;
};

struct cwb_texture_desc {
    enum { CWB_TEX_ARRAY, CWB_TEX_LINEAR, CWB_TEX_PITCH2D } kind;
    struct cwb_array *array;            /* ARRAY (all its levels) */
    uint64_t address;                   /* LINEAR, PITCH2D */
    size_t   size;                      /* LINEAR: bytes */
    size_t   width, height, pitch;      /* PITCH2D: elements, rows, bytes */
    enum cwb_format format;             /* how the element is read */
    uint32_t channels;
    enum cwb_address address_mode[3];
    bool     linear;                    /* filter: false = point */
    bool     mip_linear;
    bool     normalized;                /* coordinates in [0, 1) */
    bool     read_as_integer;           /* integers stay integers; else 8 and 16-bit ones become floats in [0,1] or [-1,1] */
    bool     srgb;
    bool     seamless_cube;
    uint32_t max_anisotropy;
    float    mip_bias, min_level, max_level;
    float    border[4];
    uint32_t first_level, last_level, first_layer, last_layer;  /* resource view; 0..all when no view was given */
};

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

/* Facts for attributes, limits and occupancy. */
struct cwb_kernel_facts {
    uint32_t max_threads_per_block;     /* 0: the device's */
    uint32_t static_shared;             /* bytes */
    uint32_t const_bytes, local_bytes;
    uint32_t registers;                 /* per thread */
    uint32_t one_warp_per_wave_threads;              /* blocks of up to that many threads take two warps' places for each warp */
    const char *limit_reason;           /* why max_threads_per_block is less than the module says; NULL: it is not */
    uint32_t ptx_version, binary_version; /* 71, 86 */
    bool from_cache;                    /* the code that there is came from the disk cache */
};

enum { CWB_PORTABLE_CLUSTER = 8 };      /* blocks of a cluster that every GPU with clusters takes; more need an opt-in */
enum { CWB_LAUNCH_COOPERATIVE = 1, CWB_LAUNCH_CLUSTER = 2 };     /* CLUSTER: the launch itself asked for clusters, whatever their size */

struct cwb_launch {
    uint32_t grid[3], block[3];         /* all nonzero and within the device's limits */
    uint32_t dynamic_shared;            /* bytes */
    uint32_t flags;
    uint32_t cluster[3];                /* blocks of a cluster, which divide the grid; 0: the kernel's own (cwj_kernel), else 1 */
    const void *params;                 /* the kernel's parameter block, param_size bytes; copied before the op returns */
    uint32_t param_size;
    uint64_t number;                    /* what failed_launch tells; 0: nobody asks */
};

/* Called when the stream gets there. `status` is CWB_OK or the context's sticky error (then earlier work may not have run).
 * Always called exactly once, also after a fault and at shutdown. */
typedef void cwb_host_fn(void *user, cwb_result status);

/* The device's time in ns of the host's CLOCK_MONOTONIC; 0: not known. Called exactly once, in any thread, also inside another op, so
 * it calls neither the backend nor the driver, and takes none of their locks. The end of the process may come first. */
typedef void cwb_time_fn(void *user, uint64_t ns);

enum cwb_limit { CWB_LIMIT_STACK, CWB_LIMIT_PRINTF_FIFO, CWB_LIMIT_MALLOC_HEAP };
enum { CWB_EVENT_TIMING = 1, CWB_EVENT_BLOCKING_SYNC = 2 };
enum cwb_compare { CWB_COMPARE_GEQ, CWB_COMPARE_EQ, CWB_COMPARE_AND, CWB_COMPARE_NOR };     /* (int)(mem - value) >= 0; ==; &; ~(|) */

/* ---- the table --------------------------------------------------------------------------------------------------------- */

/* What cuTensorMapEncodeTiled and ...Im2col get; enumerators as CUDA numbers them. */
struct cwb_tensor {
    bool im2col;
    uint32_t type, rank;
    uint64_t address;
    const uint64_t *dim, *stride;       /* rank, rank - 1 */
    const uint32_t *box;                /* rank; im2col: channels, pixels */
    const uint32_t *step;               /* rank */
    const int *lower, *upper;           /* im2col: rank - 2 */
    uint32_t interleave, swizzle, promotion, fill;
};

struct cwb_backend {
    uint32_t abi_version;               /* CWB_ABI_VERSION */
    const char *name;                   /* "host" */
    uint32_t caps;

    /* Load and start the libraries that the backend needs. No lock is held, for the dynamic loader takes its own, under which
     * constructors call the driver; so several threads may call it at once, and again. What fails is logged. `option` as open's. NULL:
     * it needs none. */
    cwb_result (*load)(const char *option);
    /* Start the backend, after a `load` that succeeded; called once per process, before any other op, under the driver's init lock. `option` is what
     * follows the colon of CUDAWAY_DEVICE ("O0"), or NULL. Worker threads are best started by the first stream. May be called
     * again in a forked child (nothing of the parent is used then). */
    cwb_result (*open)(const char *option, uint32_t *device_count);
    /* The process is exiting. Bounded: stop taking queued work, let running blocks finish for at most a second, park the
     * workers; calls every pending host function with CWB_SHUT_DOWN. Memory stays mapped. Later ops may return CWB_SHUT_DOWN. */
    void (*shutdown)(void);
    cwb_result (*device_props)(uint32_t device, struct cwb_device_props *out);
    /* A CUdevice_attribute that is the hardware's own; false: the driver's default. NULL: always false. */
    bool (*device_attribute)(uint32_t device, int attribute, int *value);
    /* Free and total bytes of the device's memory. */
    cwb_result (*memory_info)(uint32_t device, size_t *free_bytes, size_t *total_bytes);

    /* Whether kernels on `device` can use memory of `peer`, and allowing it for good. NULL: as CWB_CAP_UNIFIED says. */
    bool (*peer_possible)(uint32_t device, uint32_t peer);
    cwb_result (*peer_enable)(uint32_t device, uint32_t peer);

    /* A context groups memory, streams and a sticky error. */
    cwb_result (*context_create)(uint32_t device, struct cwb_context **out);
    /* Blocks until the context's queued work is done or dropped. All its objects were destroyed before. */
    void (*context_destroy)(struct cwb_context *c);
    /* Blocks until all work of all its streams is done. Returns the sticky error. */
    cwb_result (*context_sync)(struct cwb_context *c);
    /* The sticky error (CWB_OK when none); after a fault, queued kernels and copies of the context are skipped. */
    cwb_result (*context_error)(struct cwb_context *c);
    /* The number of the launch whose fault is the sticky error; 0: none. NULL: the device does not tell. */
    uint64_t (*failed_launch)(struct cwb_context *c);
    /* Takes effect for later launches. */
    cwb_result (*context_limit)(struct cwb_context *c, enum cwb_limit limit, size_t value);

    /* Allocate `size` bytes aligned to at least `align` (a power of two, >= 256 from the driver). DEVICE and MANAGED memory comes
     * from the device address region (impl/va.h: a fixed virtual address, so that recorded addresses can be asked for
     * again), not zeroed necessarily. On a CWB_CAP_UNIFIED device all kinds may be used from both sides. */
    cwb_result (*mem_alloc)(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address);
    /* Frees at once; the driver synchronised. `address` and `size` as allocated. */
    cwb_result (*mem_free)(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size);
    /* Whether the program has these bytes of a piece of DEVICE memory; at first it has them all. The contents of pages that it has no part of go, and to touch
     * them is a fault. A leaf: called with locks held. NULL: all of a piece can always be touched. */
    cwb_result (*mem_use)(uint64_t address, size_t size, bool used);
    /* A piece of DEVICE memory at `address` gets `more` bytes behind its end, of which the program has none yet (mem_use), or CWB_ADDRESS_IN_USE; it loses [from, from + size), and
     * what is left are one or two pieces. All are whole pages. Leaves: called with locks held. NULL, both: a piece stays as it is. */
    cwb_result (*mem_extend)(struct cwb_context *c, uint64_t address, size_t more);
    cwb_result (*mem_cut)(struct cwb_context *c, uint64_t address, uint64_t from, size_t size);
    /* Is the address in the part of the process's address space that is kept for device memory, allocated or not? NULL: none is kept. */
    bool (*va_contains)(uint64_t address, size_t size);
    /* Make host memory usable by the device; *device_address is what kernels use. CWB_CAP_REGISTER. */
    cwb_result (*mem_register)(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address);
    cwb_result (*mem_unregister)(struct cwb_context *c, void *ptr, size_t size);

    /* Virtual memory management (CWB_CAP_VMM); sizes and addresses are multiples of 2 MiB. `hint` 0: anywhere in the device
     * region; else exactly there or CWB_ADDRESS_IN_USE. Nothing is accessible until va_protect. */
    cwb_result (*va_reserve)(size_t size, size_t align, uint64_t hint, uint64_t *address);
    cwb_result (*va_release)(uint64_t address, size_t size);
    cwb_result (*phys_create)(uint32_t device, size_t size, bool shared, struct cwb_phys **out);        /* shared: it may be exported */
    void       (*phys_destroy)(struct cwb_phys *p);     /* nothing of it is mapped, unless it was imported: then it lives on while it is */
    cwb_result (*va_map)(uint64_t address, size_t size, struct cwb_phys *p, size_t offset);
    cwb_result (*va_unmap)(uint64_t address, size_t size);
    cwb_result (*va_protect)(uint64_t address, size_t size, bool readable, bool writable);

    /* Sharing memory with other processes, by file descriptors. NULL: not possible.
     * mem_share: share [address, address + size) of mem_alloc's device memory: map *offset of the file *fd, which stays the
     * backend's. The driver synchronised. phys_export: a descriptor of the caller's. phys_import: fd stays the caller's; size:
     * of the file, or less. CWB_INVALID: not such a file. */
    cwb_result (*mem_share)(uint64_t address, size_t size, int *fd, uint64_t *offset);
    cwb_result (*phys_export)(struct cwb_phys *p, int *fd);
    cwb_result (*phys_import)(uint32_t device, int fd, size_t size, struct cwb_phys **out);

    /* Textures (CWB_CAP_TEXTURES). The 64-bit handles are what kernels get and what the driver hands out as CUtexObject and
     * CUsurfObject: unique while they live, never 0, and a wrong one in a kernel is a fault, not a crash. */
    cwb_result (*array_create)(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out);
    void       (*array_destroy)(struct cwb_array *a);
    cwb_result (*texture_create)(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle);
    void       (*texture_destroy)(struct cwb_context *c, uint64_t handle);
    cwb_result (*surface_create)(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle);
    void       (*surface_destroy)(struct cwb_context *c, uint64_t handle);

    /* Write the 128 bytes of a tensor map as the device's code reads it; replace its address. NULL: the driver writes
     * the layout of jit/abi/bulk.h, which our compiled code reads. */
    cwb_result (*tensor_map)(struct cwb_context *c, const struct cwb_tensor *t, void *map);
    cwb_result (*tensor_map_address)(struct cwb_context *c, void *map, uint64_t address);

    /* Streams: first in, first out; different streams run concurrently. priority: 0 normal, negative more urgent. */
    cwb_result (*stream_create)(struct cwb_context *c, int priority, struct cwb_stream **out);
    /* Does not wait: work already queued still runs; resources go when it is done. */
    void       (*stream_destroy)(struct cwb_stream *s);
    /* CWB_OK when all work submitted so far is done, CWB_NOT_READY, or the sticky error. */
    cwb_result (*stream_query)(struct cwb_stream *s);
    /* Blocks until all work submitted before the call is done. Must not be called from a host function of the same context. */
    cwb_result (*stream_sync)(struct cwb_stream *s);
    /* Whether more is queued in it than a program may have waiting (asked under the lock of submissions); and, where that was so, to wait until there is
     * room again, with no lock of the driver held. NULL: the device's own calls wait. */
    bool       (*stream_is_full)(struct cwb_stream *s);
    void       (*stream_make_room)(struct cwb_stream *s);

    /* Events. A fresh one counts as complete. event_destroy may be called while a record or a wait is pending. */
    cwb_result (*event_create)(struct cwb_context *c, uint32_t flags, struct cwb_event **out);
    void       (*event_destroy)(struct cwb_event *e);
    /* Submit. Re-recording replaces the earlier record for later queries and waits; waits already submitted keep theirs. */
    cwb_result (*event_record)(struct cwb_event *e, struct cwb_stream *s);
    cwb_result (*event_query)(struct cwb_event *e);
    cwb_result (*event_sync)(struct cwb_event *e);      /* blocks until the latest record is done */
    /* Milliseconds between the completions; both have TIMING. CWB_NOT_READY when one is pending, CWB_INVALID when one was never
     * recorded. */
    cwb_result (*event_elapsed)(struct cwb_event *start, struct cwb_event *end, float *ms);
    /* Submit. Later work of `s` waits for the latest record of `e` (nothing when never recorded). Any context. */
    cwb_result (*stream_wait_event)(struct cwb_stream *s, struct cwb_event *e);
    /* Submit. `fn` runs on a thread of the backend that may block and may take driver locks; later work waits for it. */
    cwb_result (*stream_host_fn)(struct cwb_stream *s, cwb_host_fn *fn, void *user);

    /* Submit. The driver made sure that host memory stays valid: it waits for pageable memory. A copy may cross contexts. */
    cwb_result (*stream_copy)(struct cwb_stream *s, const struct cwb_copy *c);
    cwb_result (*stream_fill)(struct cwb_stream *s, const struct cwb_fill *f);
    /* Submit. CWB_CAP_STREAM_VALUE. `bits` is 32 or 64. */
    cwb_result (*stream_wait_value)(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare);
    cwb_result (*stream_write_value)(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits);

    /* Submit. CWB_CAP_STREAM_TIME. `fn` gets the time at which all earlier work of the stream was done: at once, with a later op
     * of the context, or at shutdown. After an error `fn` is not called. */
    cwb_result (*stream_time)(struct cwb_stream *s, cwb_time_fn *fn, void *user);

    /* Instantiate the program's variables: a copy of cwj_image with relocations applied, in device memory (16-byte
     * aligned or more). `program` must outlive the module. *image_address is where offset 0 of the image is. */
    cwb_result (*module_load)(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program,
                              struct cwb_module **out, uint64_t *image_address);
    /* Where variable `index` of the program is, for a backend that does not keep them together (*image_address is then of no
     * meaning). NULL: at image_address + its offset. */
    cwb_result (*module_variable)(struct cwb_module *m, uint32_t index, uint64_t *address);
    /* The driver synchronised the context. Destroys its kernels too. */
    void       (*module_unload)(struct cwb_module *m);
    /* The kernel `index` of the program (cwj_api.kernel). With `compile` the code is made ready now (slow, blocks, holds no
     * driver lock); without, when first launched. Called again for a kernel it returns the same object. Compiler messages
     * are appended to `log` when that is not NULL. */
    cwb_result (*kernel_prepare)(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log);
    /* Works before the code exists (from the PTX). */
    cwb_result (*kernel_facts)(struct cwb_kernel *k, struct cwb_kernel_facts *out);
    /* Submit. The driver called kernel_prepare(compile) before the first launch, outside its locks. Returns CWB_RESOURCES when it
     * could never run. */
    cwb_result (*launch)(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l);
};

/* The backends of this build. Which of them exist is decided in impl/CMakeLists.txt (CW_HAVE_HOST). */
extern const struct cwb_backend cwb_null;
extern const struct cwb_backend cwb_host;
extern const struct cwb_backend cwb_host_isolated;     /* the same for CUDAWAY_ISOLATE */
extern const struct cwb_backend cwb_host_checked;      /* and for host:checked */
extern const struct cwb_backend cwb_cuda;      /* impl/cuda: NVIDIA's driver underneath */
extern const struct cwb_backend cwb_hip;       /* impl/hip: AMD GPUs, and the GPU-less AMD device */

const char *cwb_result_text(cwb_result r);

#endif
