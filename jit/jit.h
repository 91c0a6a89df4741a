/* SPDX-License-Identifier: Apache-2.0
 * The compiler's interface, used by impl, cudaway-cc, replay and diff. The jit is a shared object of its own (libcudaway-jit.so), loaded
 * with the first module, so that a program that is only traced never loads LLVM. It exports cudaway_jit_api and cudaway_use_stderr.
 *
 * Threads: a program may be used from several threads; it locks itself. Lifetimes: everything returned as a const pointer lives as long as
 * the program, compiled code until host_release. */
#ifndef CWJ_JIT_H
#define CWJ_JIT_H

#include "impl/base/buf.h"
#include "impl/base/result.h"
#include "jit/abi/host.h"
#include "jit/ptx/ir.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Incremented whenever a structure of this header changes: programs and libraries of different releases must not mix. */
#define CWJ_API_VERSION 10

/* One PTX text. `name` is for diagnostics. */
struct cwj_input {
    const char *name;
    const char *text;
    size_t size;
};

struct cwj_param {
    const char *name;
    uint32_t offset, size, align;   /* bytes in the parameter block */
    uint8_t  type;                  /* ptx_type of an element */
    bool     is_array;
    uint8_t  ptr_space;             /* ptx_space of .ptr, else PTX_SPACE_REG */
};

struct cwj_kernel {
    const char *name;
    const struct cwj_param *params;
    uint32_t nparams, param_size;
    uint32_t static_shared;         /* bytes, with the functions it calls */
    uint32_t local_bytes;           /* .local, per thread: of the kernel or function that has most */
    uint32_t nregs;                 /* 32-bit registers by the PTX declarations, clamped to 255 */
    uint32_t instructions;          /* of PTX, with the functions it calls */
    uint32_t branches;              /* those of them that end a block or have a guard, and several for a call through a register */
    bool too_large;                 /* one of them is too large to be optimised for the host: its code is plain there */
    uint32_t maxntid[3], reqntid[3], cluster[3], minnctapersm;  /* 0: not given; cluster: blocks of one, .reqnctapercluster */
    bool explicit_cluster;          /* has to be launched with a size of clusters */
    bool launches;                  /* may leave records in __cudaway_device_launches (jit/link/device_runtime.ptx) */
    uint32_t ptx_version, sm;       /* 71, 86 */
    const struct ptx_function *fn;
};

/* A module-scope variable of space global, const or an opaque reference. Offsets are into the data segment. */
struct cwj_variable {
    const char *name;
    uint64_t offset, size;
    uint32_t align;
    uint8_t  space;                 /* PTX_SPACE_GLOBAL or _CONST */
    uint8_t  type;                  /* PTX_TEXREF, PTX_SURFREF, PTX_SAMPLERREF for references (the data segment holds a u64 handle) */
    bool     managed, visible;
    uint32_t link_id;               /* private to jit/ */
};

/* Write `width` bytes of (value >> shift) at `offset` of the data segment. The value is target + addend, plus the address of the data
 * segment for CWJ_RELOC_IMAGE. `target` is an offset in the data segment, CWH_FUNC_TOKEN(id), or an offset in shared memory. */
enum cwj_reloc_kind { CWJ_RELOC_IMAGE, CWJ_RELOC_FUNC, CWJ_RELOC_SHARED };
struct cwj_reloc {
    uint64_t offset, target;
    int64_t  addend;
    uint8_t  kind, width, shift;
};

/* The data segment: all variables of a program, laid out once; each module instance has a copy. */
struct cwj_image {
    uint64_t size;
    uint32_t align;
    const uint8_t *init;            /* size bytes */
    const struct cwj_reloc *relocs;
    uint32_t nrelocs;
    uint32_t const_bytes;           /* of its constants, and the gaps between them */
    bool addr32;                    /* the program's addresses have 32 bits (jit/abi/host.h); only the host device runs it */
};

struct cwj_program;
struct cwj_image_entry;

/* A kernel compiled for the host, loaded and callable. */
struct cwj_host_code {
    cwh_kernel_fn *run;
    struct cwh_code_info info;
    bool from_cache;
};

/* Addresses of the engine's cwh_rt_* functions, in CWH_RT_MAP order. */
struct cwj_host_runtime {
    uint32_t count;
    const void *const *address;
    const struct cwj_host_place *place;     /* NULL: the code runs in this process */
};

/* Another process runs the code, and has the memory that it is put into at the same addresses. Functions: thread-safe. */
struct cwj_host_place {
    uint32_t nsupport;
    const uint64_t *support;    /* what cwj_support_functions (jit/loader/loader.h) are there */
    /* All of it within 2 GiB, and writable here. NULL: no memory. */
    void *(*allocate)(size_t size, size_t align);
    void (*release)(void *memory);
};

/* Nanoseconds per tick of a steady counter of 100 MHz, in units of 2^-32. */
#define CWJ_AMD_TICK (10ull << 32)
/* amdgcn, arguments of a kernel compiled with `clusters` (docs/amd-abi.md). It is launched with work-groups in one dimension: those of a
 * cluster by rank, clusters one behind the other. */
struct cwj_amd_cluster {
    uint64_t shared;                /* address of the blocks' shared memory, 2^shift bytes each, in the order of the work-groups */
    uint64_t barriers;              /* address of a barrier (jit/builtins/cluster.c) for each cluster, CWJ_AMD_BARRIER bytes apart, initially zero */
    uint32_t first;                 /* number in the grid of the launch's first cluster; they are counted along x first */
    uint32_t grid[3];               /* blocks of the grid */
    uint32_t size[3];               /* blocks of a cluster */
    uint32_t shift;
    uint32_t shared_size, dynamic_size; /* bytes of a block's shared memory, and those of it that the launch added */
};

/* amdgcn. LOCKS: locks of a device. SHAPE, LAUNCH, CLUSTER: bytes of arguments behind the parameters, of a kernel compiled with
 * one_warp_per_wave, of one that needs its launch (module_image) and of one compiled with `clusters`. MANY: see all_blocks. wave64: does the processor run 64 lanes, two warps (GCN and CDNA;
 * RDNA runs 32)? */
enum { CWJ_AMD_LOCKS = 256, CWJ_AMD_SHAPE = 8, CWJ_AMD_LAUNCH = 16, CWJ_AMD_CLUSTER = sizeof(struct cwj_amd_cluster), CWJ_AMD_BARRIER = 64,
       CWJ_AMD_MANY = 128 };
/* What a kernel stores in the u32 at cudaway_fault before it ends itself with a trap: as CUresult has it. */
enum { CWJ_AMD_FAULT_ADDRESS = 700, CWJ_AMD_FAULT_MISALIGNED = 716, CWJ_AMD_FAULT_PC = 718 };
static inline bool
cwj_amd_wave64(const char *cpu)
{
    return cpu && cpu[0] == 'g' && cpu[1] == 'f' && cpu[2] == 'x' && cpu[3] == '9';
}
/* Does the processor have texture units? CDNA3 and 4 (gfx94x, gfx950) have none. */
static inline bool
cwj_amd_images(const char *cpu)
{
    return cpu && !(cwj_amd_wave64(cpu) && (cpu[4] == '4' || cpu[4] == '5'));
}
static inline uint32_t
cwj_amd_group(uint32_t threads)
{
    return (threads + 31) / 32 * 64;
}

/* May warps of a block wait for each other at different places of a kernel (jit/analysis/progress.c)? Two warps of one wave cannot. MAYBE:
 * some code may do so. REQUIRED: the kernel has barriers for it. */
enum cwj_progress { CWJ_PROGRESS_COMMON, CWJ_PROGRESS_MAYBE, CWJ_PROGRESS_REQUIRED };

enum cwj_target { CWJ_TARGET_HOST, CWJ_TARGET_NVPTX, CWJ_TARGET_AMDGCN };
enum cwj_emit   { CWJ_EMIT_IR, CWJ_EMIT_LLVM, CWJ_EMIT_ASM, CWJ_EMIT_OBJ };

/* To find a fault in a pass; all zero: nothing special. The names are those of cudaway-cc --print-pipeline. Passes that the code generator
 * depends on are not skipped. */
struct cwj_pass_options {
    const char *skip;               /* names to skip, comma-separated; NULL: CUDAWAY_SKIP_PASSES */
    const char *stop_after;         /* run no pass behind this one; its result, IR or machine IR as text, is the output */
    const char *print_after;        /* append the IR or machine IR behind this pass, or behind "all", to *printed */
    struct cw_buf *printed;         /* required if one of the two above is set */
    bool verify;                    /* verify the IR behind every pass, and machine IR behind ours; debug builds always do */
};

/* Properties of floats that an AMD processor computes by its own rules, not with the bits of NVIDIA's hardware. */
enum cwj_native {
    CWJ_NATIVE_NAN = 1,             /* the NaN of an operation */
    CWJ_NATIVE_FTZ = 2,             /* .ftz has no effect: subnormals stay */
    CWJ_NATIVE_APPROX = 4,          /* .approx and .full operations */
    CWJ_NATIVE_FLOATS = 7
};

/* Parse "exact", "native", or "native:" and a comma-separated list of nan, ftz and approx. False: invalid, and *native is unchanged. */
static inline bool
cwj_parse_floats(const char *text, unsigned *native)
{
    static const char *const names[] = { "nan", "ftz", "approx" };
    unsigned found = !strcmp(text, "native") ? CWJ_NATIVE_FLOATS : 0;
    bool list = !strncmp(text, "native:", 7);

    if (!list && !found && strcmp(text, "exact"))
        return false;
    for (const char *at = text + 7; list; at++) {
        size_t n = strcspn(at, ",");
        unsigned i = 0;
        while (i < 3 && (strlen(names[i]) != n || strncmp(at, names[i], n) != 0))
            i++;
        if (i == 3)
            return false;
        found |= 1u << i;
        at += n;
        list = *at;
    }
    *native = found;
    return true;
}

struct cwj_aot_options {
    enum cwj_target target;
    const char *cpu;                /* "gfx1100", "sm_90", NULL = this CPU */
    enum cwj_emit emit;
    unsigned opt_level;             /* 0..3 */
    const char *const *kernels;     /* NULL-terminated names, or NULL for all */
    unsigned jobs;                  /* objects: up to this many threads compile a large program in codegen units; the split depends on the
                                     * program alone, and so does the result. 0: one unit */
    bool module_image;              /* amdgcn: variables are not in the code object but at their offsets in a data segment (cwj_image). The
                                     * loader stores addresses in u64 variables of the code object, those that exist: cudaway_image, the
                                     * data segment; cudaway_locks, CWJ_AMD_LOCKS words of the device, initially zero, which all its kernels
                                     * share; cudaway_heap, the heap (jit/builtins/heap.h); cudaway_fifo, the print FIFO
                                     * (jit/builtins/print.h) or 0; cudaway_fault, a u32 that is 0, for CWJ_AMD_FAULT_*, or 0; and in cudaway_tick the device's CWJ_AMD_TICK. If it has a variable
                                     * cudaway_launch, its kernels take CWJ_AMD_LAUNCH more bytes of arguments, behind the parameters
                                     * rounded up to 8: the launch's number (%gridid), and the address of a cooperative grid's workspace
                                     * (%envreg1, see emit_host_workspace) or 0 */
    uint8_t matrix_sm;              /* amdgcn: the GPU generation whose matrix arithmetic to use (docs/matrix.md): 70, 75, 80, 89, 90; 0: 90 */
    bool matrix_native;             /* amdgcn: products of f16, bf16 and tf32 by WMMA or MFMA if available, with AMD's sums */
    bool textures_native;           /* amdgcn: textures by image instructions if the object allows it (cw_texture.native) */
    unsigned native_floats;         /* amdgcn: enum cwj_native; 0: everything as on NVIDIA's hardware */
    bool one_warp_per_wave;                  /* amdgcn with wave64 (otherwise no effect): a wave carries one warp, in its lower lanes, not
                                              * two. A kernel is then launched with work-groups of cwj_amd_group(threads), 1, 1 work-items,
                                              * at most 1024, and takes CWJ_AMD_SHAPE more bytes of arguments, behind all others rounded up
                                              * to 8: the block's size, three u16 */
    bool all_blocks;                /* amdgcn: kernels without .maxntid and .reqntid accept blocks of 1024 threads. Otherwise one that needs
                                     * more than CWJ_AMD_MANY registers at once is compiled for blocks of 640 or 512 threads (by processor),
                                     * which may have more registers */
    bool clusters;                  /* amdgcn with module_image and one kernel: for launches in clusters of several blocks. Shared memory is in
                                     * global memory, where a cluster's blocks reach each other's; the kernel takes CWJ_AMD_CLUSTER more
                                     * bytes of arguments, behind those of the launch and before the block's size */
    bool checked;                   /* amdgcn: accesses that are not aligned to their size, or outside of what a thread can have of local memory,
                                     * end the kernel with CUDA's error (docs/faults.md). Otherwise the processor executes them as it does */
    struct cwj_pass_options passes;
    bool cache;                     /* use the disk cache */
    bool *from_cache;               /* out, or NULL: did the result come from the disk cache? */
};

struct cwj_api {
    uint32_t version;

    /* Parse inputs and link them. Each name that is still unresolved, except the runtime's (vprintf, malloc, free, __assertfail), is an
     * error P4001, unless allow_undefined (cuLink adds more later). The caller destroys *out. */
    cw_result (*program_create)(const struct cwj_input *in, size_t count, bool allow_undefined,
                                struct cwj_program **out, struct cwj_diags *diags);
    void (*program_destroy)(struct cwj_program *p);

    uint32_t (*kernel_count)(const struct cwj_program *p);
    const struct cwj_kernel *(*kernel)(const struct cwj_program *p, uint32_t index);
    uint32_t (*variable_count)(const struct cwj_program *p);
    const struct cwj_variable *(*variable)(const struct cwj_program *p, uint32_t index);
    const struct cwj_image *(*image)(const struct cwj_program *p);
    const char *(*function_name)(const struct cwj_program *p, uint32_t id);     /* the name of CWH_FUNC_TOKEN(id), or NULL */

    /* Compile kernel `index` for this CPU, or take it from the cache. The caller releases *out. */
    cw_result (*host_compile)(struct cwj_program *p, uint32_t index, const struct cwh_variant *v,
                              const struct cwj_host_runtime *rt, struct cwj_host_code **out, struct cwj_diags *diags);
    void (*host_release)(struct cwj_host_code *code);

    /* Append the passes of the target's pipeline at this level, as text. */
    cw_result (*print_pipeline)(const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags);

    /* Ahead-of-time compilation: the whole program, or named kernels, to `out`. */
    cw_result (*aot)(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags);

    /* Scan a compiled image in any form: PTX text, fatbin (all wrapper kinds), ELF with fatbins, cubin, the image of cuLinkComplete. Calls
     * found() for each entry until it returns nonzero; text is decompressed. `size` is CWJ_SIZE_UNKNOWN for a pointer that a program passes
     * without one: sizes then come from the image's own headers, and pointers of wrappers are followed. CW_ERR_INVALID: not such an image;
     * CW_ERR_DAMAGED; CW_ERR_NO_PTX: no entry was PTX (the diagnostic says what the image holds). See jit/link/fatbin.h. */
    cw_result (*image_scan)(const void *data, size_t size, int (*found)(void *user, const struct cwj_image_entry *e),
                            void *user, struct cwj_diags *diags);

    /* Append the name of variable `index` in the PTX that `aot` makes for nvptx. */
    void (*nvptx_name)(const struct cwj_program *p, uint32_t index, struct cw_buf *out);

    /* For kernel `index` with its call closure; cached. */
    enum cwj_progress (*independent_progress)(struct cwj_program *p, uint32_t index);
    /* Does kernel `index`, with its call closure, notice that its blocks are in clusters? Otherwise a launch of clusters is any launch. */
    bool (*uses_clusters)(struct cwj_program *p, uint32_t index);

    void (*diags_init)(struct cwj_diags *d);
    void (*diags_finish)(struct cwj_diags *d);
    void (*diags_render)(const struct cwj_diags *d, const char *name, const char *text, size_t size, struct cw_buf *out);
};

/* For a size that the caller does not know (cuModuleLoadData). */
#define CWJ_SIZE_UNKNOWN SIZE_MAX

/* One entry of an image. `data` is valid during the callback only. Entries of one group are alternatives: the same code for several
 * architectures. A module is made from the best entry of every group (plain images have one group; cuLinkComplete and relocatable device
 * code give several, which go to program_create together). An executable has a group for each of its translation units, each a module of
 * its own. */
struct cwj_image_entry {
    enum { CWJ_ENTRY_PTX, CWJ_ENTRY_CUBIN, CWJ_ENTRY_OTHER } kind;
    uint32_t group;                 /* ascending from 0 */
    unsigned sm;                    /* 86 */
    char suffix;                    /* 'a', 'f' or 0 */
    const char *name;               /* or NULL */
    const char *data;
    size_t size;
    const char *compression;        /* "none", "lz4", "zstd" */
    const void *container;          /* the fatbin container that holds the entry, as a program registers it, in the image; or NULL */
    bool relocatable;               /* relocatable device code of an ELF file: all its containers make one module */
};

/* NULL if version is not CWJ_API_VERSION. */
const struct cwj_api *cudaway_jit_api(uint32_t version);

#endif
