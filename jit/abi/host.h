/* SPDX-License-Identifier: Apache-2.0
 * The contract between code compiled for the host device and the engine that runs it (impl/host).
 *
 * A kernel is compiled to one function that runs one *gang*: `width` consecutive threads of a block. If it has warp-level instructions, the
 * gang is the warp (32); otherwise it is narrower, one native vector, since no instruction can tell; for host:O0 it is one thread. The
 * engine calls the function once per gang. If a kernel has barriers (uses_fibers), each gang runs on a stack of its own and cwh_rt_* calls
 * may switch between them; all gangs of a block run on one OS thread, so shared memory needs no host atomics.
 *
 * Addresses: global, const, param and local addresses are host addresses, and so is a generic address. A .shared address is an offset from
 * cwh_block.shared, so that it survives truncation to 32 bits. The shared memory of a cluster's blocks lies cluster_stride apart. In a kernel that notices
 * clusters (jit/analysis/clusters.h) .shared and .shared::cluster addresses are offsets from the memory of rank 0, so that they mean the same in all
 * blocks. A function's address is a token, CWH_FUNC_TOKEN(id), the same on every device.
 *
 * In modules with `.address_size 32` registers and memory hold 32-bit addresses, which compiled code widens at memory accesses: generic,
 * global and const addresses lie in one window of 4 GiB (cwh_launch.window), which contains all device memory. Its upper end maps to memory
 * of the block, launch and thread, CWH_ADDR32_*. A .shared address is an offset from the block's own memory there; that of a cluster's blocks is mapped once more
 * 4 GiB above, so an offset to one before it can be truncated.
 *
 * Bounded code (host:checked) has gangs of one thread and tests every address before it is used. Local memory is then an area of the gang's own,
 * which grows down, and not on the stack; everything else that kernels may touch is in cwh_launch.region, or impl/host/bound.c knows it. */
#ifndef CWJ_ABI_HOST_H
#define CWJ_ABI_HOST_H

#include <stddef.h>
#include <stdint.h>

#define CWH_FUNC_TOKEN(id) (((uint64_t)(id) + 1) << 4)

/* Generic addresses of 32 bits: device memory ends at SHARED; then the block's shared memory, up to its size; the kernel's parameters; the
 * gang's stack, whose upper end is 2^32. Any other address faults. A .local or .param address equals its generic address. */
#define CWH_ADDR32_SHARED 0xde000000u
#define CWH_ADDR32_PARAM  0xdf000000u
#define CWH_ADDR32_LOCAL  0xe0000000u
#define CWH_ADDR32_PARAM_SIZE 65536u
/* Bounded code: bytes of a thread's local memory, that of its calls included. CUDA has at most 512 KiB for each. */
#define CWH_LOCAL_SIZE (1u << 20)
#define CWH_GRID_WORKSPACE 8    /* bytes of cwh_launch.grid_workspace */

/* Fixed for one launch; shared by all workers, which only read it. The emitter knows the offsets. */
struct cwh_launch {
    uint32_t grid[3];           /*  0: blocks */
    uint32_t block[3];          /* 12: threads */
    const uint8_t *params;      /* 24: kernel parameter block, param_size bytes, 64-byte aligned */
    uint8_t *image;             /* 32: the data segment (struct cwj_image) of this module instance */
    uint64_t shared_size;       /* 40: static + dynamic, bytes */
    uint64_t dynamic_shared;    /* 48: offset at which extern shared arrays start */
    uint64_t grid_id;           /* 56: %gridid */
    void    *runtime;           /* 64: the engine's own */
    uint32_t dynamic_shared_size; /* 72 */
    uint32_t reserved;
    uint64_t grid_workspace;    /* 80: a cooperative launch's, else 0; see emit_host_workspace */
    uint64_t window;            /* 88: base of a 32-bit module's window; 0 for other modules */
    uint32_t cluster[3];        /* 96: blocks of a cluster, at least 1 */
    uint32_t explicit_cluster;  /* 108: the program asked for clusters */
    uint64_t cluster_stride;    /* 112: from the shared memory of one block of a cluster to the next's, by rank */
    uint64_t region, region_size; /* 120: bounded code: device memory lies here (impl/va.h) */
    uint64_t param_size;        /* 136: of params */
};

/* Fixed for one block while it runs. */
struct cwh_block {
    const struct cwh_launch *launch;  /*  0 */
    uint8_t *shared;            /*  8: base of the block's shared memory, 128-byte aligned */
    uint32_t ctaid[3];          /* 16 */
    uint32_t worker;            /* 28: number of the OS thread, for %smid */
    void    *runtime;           /* 32: the engine's own */
    uint32_t cluster_rank;      /* 40: its number in the cluster */
    uint32_t reserved;
};

/* One gang. */
struct cwh_gang {
    const struct cwh_block *block;    /*  0 */
    uint32_t first;             /*  8: linear thread number of lane 0 in the block */
    uint32_t lanes;             /* 12: threads that exist (1..width) */
    void    *runtime;           /* 16: the engine's own (fiber) */
    uint64_t local_base;        /* 24: 32-bit modules: base of local addresses, the stack's upper end - 2^32 */
    uint32_t local_low;         /* 32: 32-bit modules: the lowest local address, of the stack's lower end or CWH_ADDR32_LOCAL */
    uint32_t reserved;
    uint64_t local;             /* 40: bounded code: local memory, CWH_LOCAL_SIZE bytes */
    uint64_t local_top;         /* 48: its part below this is free */
};

typedef void cwh_kernel_fn(struct cwh_gang *gang);

/* Facts of a compiled kernel that the engine needs; emitted as a constant with the code. */
struct cwh_code_info {
    uint32_t width;             /* threads per gang */
    uint32_t uses_fibers;       /* barriers, or warp operations when width is 1 */
    uint32_t static_shared;     /* bytes, all reachable functions included */
    uint32_t shared_align;
    uint32_t stack_hint;        /* bytes of stack that a gang's frames need (recursion excepted); 0 in objects made ahead of time */
    uint32_t bounded;           /* compiled as cwh_variant.bounded */
    uint32_t waits;             /* a loop waits for memory that other threads write (cwh_rt_yield) */
};

/* The specialisation of a kernel. linear_x: blockDim.x is a multiple of the gang width, so a gang has a single tid.y and tid.z, consecutive
 * tid.x, and no missing lanes. */
struct cwh_variant {
    uint8_t linear_x;
    uint8_t o0;                 /* plainest code: width 1, no optimisation */
    uint8_t bounded;            /* width 1, every address is tested */
    uint8_t max_width8;             /* at most 8 lanes, unless the kernel needs whole warps: for blocks with short rows */
    uint8_t tier;                   /* enum cwh_tier */
    int (*cancelled)(void *user);   /* NULL, or asked between steps: then the compilation ends with CW_ERR_CANCELLED */
    void *user;
};

/* CACHED: optimised code from the disk cache, else CW_ERR_NOT_FOUND. QUICK: not optimised, compiled in about a tenth of the time, kept in the cache beside
 * the optimised code. */
enum cwh_tier { CWH_TIER_OPTIMISED, CWH_TIER_CACHED, CWH_TIER_QUICK };

/* Functions that compiled code calls and the engine defines (impl/host/rt_*.c). Lane-indexed arrays have `width` elements; `mask` has a bit
 * per lane of the gang. A row is X(return, name, parameters).
 *
 *  barrier:   bar.sync/barrier.sync id, count (count 0: all threads of the block). Suspends the gang.
 *  cluster_*: barrier.cluster of all threads of the block's cluster; wait suspends the gang until the phase in which it arrived is over.
 *  bar_red:   op is ptx_boolop (and, or, popc); preds has a bit per lane; returns the result for every lane.
 *  warp_*:    only if width is 1: rendezvous of the lanes of a warp. `site` numbers the instruction in layout order.
 *             warp_exchange publishes a 64-bit value. When all of `members` (if members is 0, all lanes that reach this site
 *             together) have arrived, it returns the mask of participants; values[32] gets their values.
 *  tex:       one texture or surface instruction for a gang, see struct cwh_tex.
 *  vprintf:   format and packed argument block per lane; stores the per-lane result.
 *  cp_async:  each lane copies count bytes and fills up to `size` with zeros. It copies at once, so waiting does nothing.
 *  bulk_*:    one lane's bulk copy (jit/abi/bulk.h), made at once; addresses are generic, barrier is an mbarrier object that counts the bytes,
 *             or 0; blocks: the blocks of the cluster that get a copy, or CWT_ONE_BLOCK. place: the box's address in shared memory.
 *  mma:       mma and wmma.mma of a whole warp: fragments as [register][32 lanes], 32 bits each, 64 for f64.
 *  mma_lane:  the same for one lane, with width 1: `operands` has, per lane, the address of its registers of A, B and C, one
 *             after the other in 8 bytes each (0: no such lane); d gets this lane's.
 *  matrix_move: wmma.load, wmma.store (address[0], stride in elements), ldmatrix, stmatrix (one address per lane), for the
 *             lanes in mask. registers: [register][width].
 *  mbarrier:  op is enum cwh_mbarrier_op; addresses are generic; value is a count, a state or a parity.
 *  bound:     ends the launch unless the gang may touch size bytes at a generic address.
 *  local:     bounded code: size bytes of local memory, aligned to a power of two; local_free gives all back that lies below `top`.
 *  trap:      ends the launch with an error; kind: 0 trap, 1 brkpt, 2 bad indirect call, 3 unreachable, 4 misaligned access. Does not return. */
struct cwh_tex;
struct cwh_matrix;
#define CWH_RT_MAP(X)                                                                                                      \
    X(void,     cwh_rt_barrier,      (struct cwh_gang *gang, uint32_t id, uint32_t count, uint64_t mask))                   \
    X(void,     cwh_rt_barrier_arrive, (struct cwh_gang *gang, uint32_t id, uint32_t count, uint64_t mask))                 \
    X(uint32_t, cwh_rt_bar_red,      (struct cwh_gang *gang, uint32_t op, uint32_t id, uint32_t count, uint64_t mask, uint64_t preds)) \
    X(void,     cwh_rt_cluster_arrive, (struct cwh_gang *gang))                                                             \
    X(void,     cwh_rt_cluster_wait, (struct cwh_gang *gang))                                                               \
    X(uint32_t, cwh_rt_warp_exchange, (struct cwh_gang *gang, uint32_t site, uint32_t members, uint64_t value, uint64_t values[32])) \
    X(uint32_t, cwh_rt_step_store,   (struct cwh_gang *gang, uint32_t site, uint64_t address))                              \
    X(void,     cwh_rt_tex,          (struct cwh_gang *gang, const struct cwh_tex *tex))                                    \
    X(void,     cwh_rt_vprintf,      (struct cwh_gang *gang, uint64_t mask, const uint64_t *formats, const uint64_t *args, int32_t *results)) \
    X(void,     cwh_rt_malloc,       (struct cwh_gang *gang, uint64_t mask, const uint64_t *sizes, uint64_t *results))      \
    X(void,     cwh_rt_free,         (struct cwh_gang *gang, uint64_t mask, const uint64_t *pointers))                      \
    X(void,     cwh_rt_assertfail,   (struct cwh_gang *gang, uint64_t mask, const uint64_t *message, const uint64_t *file, const uint32_t *line, const uint64_t *function)) \
    X(void,     cwh_rt_bound,        (struct cwh_gang *gang, uint64_t address, uint32_t size))                              \
    X(uint64_t, cwh_rt_local,        (struct cwh_gang *gang, uint64_t size, uint32_t align))                                \
    X(void,     cwh_rt_local_free,   (struct cwh_gang *gang, uint64_t top))                                                 \
    X(void,     cwh_rt_trap,         (struct cwh_gang *gang, uint64_t mask, uint32_t kind))                                 \
    X(uint64_t, cwh_rt_clock,        (void))                                                                                \
    X(uint64_t, cwh_rt_globaltimer,  (void))                                                                                \
    X(void,     cwh_rt_nanosleep,    (struct cwh_gang *gang, uint32_t ns))                                                  \
    X(void,     cwh_rt_yield,        (struct cwh_gang *gang))                                                               \
    X(void,     cwh_rt_cp_async,     (struct cwh_gang *gang, uint64_t mask, uint32_t size, const uint64_t *to, const uint64_t *from, const uint32_t *count)) \
    X(void,     cwh_rt_mbarrier,     (struct cwh_gang *gang, uint64_t mask, uint32_t op, const uint64_t *address, const uint64_t *value, uint64_t *result)) \
    X(void,     cwh_rt_bulk_copy,    (struct cwh_gang *gang, uint64_t to, uint64_t from, uint32_t size, uint32_t bytes, uint64_t barrier, uint32_t blocks)) \
    X(void,     cwh_rt_bulk_reduce,  (struct cwh_gang *gang, uint64_t to, uint64_t from, uint32_t size, uint32_t how, uint64_t barrier)) \
    X(void,     cwh_rt_bulk_fill,    (struct cwh_gang *gang, uint64_t to, uint64_t size))                                   \
    X(void,     cwh_rt_bulk_tensor,  (struct cwh_gang *gang, uint64_t map, uint64_t shared, uint32_t place, uint64_t barrier, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t c4, uint64_t offsets, uint32_t how, uint32_t blocks)) \
    X(void,     cwh_rt_bulk_replace, (struct cwh_gang *gang, uint64_t map, uint32_t field, uint32_t index, uint64_t value)) \
    X(void,     cwh_rt_bulk_cancel,  (struct cwh_gang *gang, uint64_t to, uint64_t barrier))                                \
    X(void,     cwh_rt_mma,          (struct cwh_gang *gang, const struct cwh_matrix *x, const void *a, const void *b, const void *c, void *d)) \
    X(void,     cwh_rt_mma_lane,     (struct cwh_gang *gang, const struct cwh_matrix *x, const uint64_t operands[32], uint32_t lane, void *d)) \
    X(void,     cwh_rt_matrix_move,  (struct cwh_gang *gang, const struct cwh_matrix *x, uint64_t mask, const uint64_t *address, uint32_t stride, void *registers))

enum cwh_mbarrier_op { CWH_MBARRIER_INIT, CWH_MBARRIER_INVAL, CWH_MBARRIER_ARRIVE, CWH_MBARRIER_DROP, CWH_MBARRIER_EXPECT,
                       CWH_MBARRIER_COMPLETE, CWH_MBARRIER_TEST, CWH_MBARRIER_TEST_PARITY };

/* An mbarrier object, by bit offset: arrivals expected in each phase (0), transactions pending (20, signed), 2^20 minus the arrivals
 * pending in this phase (43), the phase's parity (63). The state that mbarrier.arrive returns has the previous values of the last two. An
 * H200 has the same layout. */
enum { CWH_MBARRIER_COUNT_BITS = 20, CWH_MBARRIER_TX_SHIFT = 20, CWH_MBARRIER_TX_BITS = 22, CWH_MBARRIER_PENDING_SHIFT = 43,
       CWH_MBARRIER_PHASE_SHIFT = 63 };

/* One matrix instruction; constant data of the compiled code. Types are ptx_type, matrices as in jit/ptx/matrix.h. */
struct cwh_matrix {
    uint16_t op;                /* ptx_op */
    uint16_t m, n, k;
    uint8_t  a, b, c, d;        /* element types; wmma.load, wmma.store: d */
    uint8_t  na, nb, nc, nd;    /* registers per lane */
    uint8_t  a_col, b_col;      /* layouts; wmma.load, wmma.store: a_col */
    uint8_t  boolop, round, satfinite;
    uint8_t  fragment;          /* wmma.load, wmma.store: 0..3 for a b c d; mma.sp: the selector */
    uint8_t  trans;             /* ldmatrix, stmatrix */
    uint8_t  width;             /* lanes of `registers` */
};

enum { CWH_TEX_LEVEL = 1, CWH_TEX_GRADIENTS = 2, CWH_TEX_FORMATTED = 4, CWH_TEX_OFFSET = 8, CWH_TEX_PLAIN = 16 };    /* PLAIN:
                                                                                                                      * target/amdgcn/tex.c */

/* One tex/tld4/txq/suld/sust/sured/suq instruction. Coordinates and results are [component][lane], 32-bit words. */
struct cwh_tex {
    uint32_t width;             /* lanes */
    uint16_t op;                /* ptx_op */
    uint8_t  geom;              /* enum ptx_geom */
    uint8_t  coord_type;        /* ptx_type: s32 or f32 */
    uint8_t  result_type;       /* ptx_type: f32, s32, u32, f16 ...; surfaces: b8..b64 */
    uint8_t  vec;               /* result components */
    uint8_t  mode;              /* surfaces: 0 trap, 1 clamp, 2 zero, and for sured ptx_atomop << 2; queries, tld4: which */
    uint8_t  flags;             /* CWH_TEX_* */
    uint64_t mask;
    const uint64_t *texture;    /* handle per lane */
    const uint64_t *sampler;    /* NULL in unified mode */
    const uint32_t *coord;      /* up to 4 components x width */
    const uint32_t *extra;      /* level, gradients */
    const uint32_t *offset;     /* CWH_TEX_OFFSET: texels to add, one component per dimension */
    uint32_t *result;           /* vec x width (surface stores: the source) */
};

#define X(ret, name, params) ret name params;
CWH_RT_MAP(X)
#undef X

#endif
