/* SPDX-License-Identifier: Apache-2.0
 * The compiler's interface, used by impl, cudaway-cc, replay and diff. The jit is a shared object of its own
 * (libcudaway-jit.so), loaded when the first module is, so that a program that is only traced never loads LLVM. Its one
 * exported symbol is cudaway_jit_api.
 *
 * Threads: a program may be used from several threads; it locks itself. Lifetimes: everything returned as const pointer
 * lives as long as the program, compiled code until cwj_host_code_release. */
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

/* One more whenever a structure of this header changes: programs and libraries of different releases must not mix. */
#define CWJ_API_VERSION 5

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
    uint32_t local_bytes;           /* .local and stack of the kernel itself, per thread */
    uint32_t nregs;                 /* 32-bit registers by the PTX declarations, clamped to 255 */
    uint32_t maxntid[3], reqntid[3], cluster[3], minnctapersm;  /* 0: not given; cluster: blocks of one, .reqnctapercluster */
    bool explicit_cluster;          /* has to be launched with a size of clusters */
    bool launches;                  /* it may leave records in __cudaway_device_launches (jit/link/device_runtime.ptx) */
    uint32_t ptx_version, sm;       /* 71, 86 */
    const struct ptx_function *fn;
};

/* A module-scope variable of space global, const or an opaque reference. Offsets are into the image. */
struct cwj_variable {
    const char *name;
    uint64_t offset, size;
    uint32_t align;
    uint8_t  space;                 /* PTX_SPACE_GLOBAL or _CONST */
    uint8_t  type;                  /* PTX_TEXREF, PTX_SURFREF, PTX_SAMPLERREF for references (image holds a u64 handle) */
    bool     managed, visible;
    uint32_t link_id;               /* private to jit/ */
};

/* At `offset` of the image put `width` bytes of (value >> shift). The value is target + addend, plus the address of the
 * image for CWJ_RELOC_IMAGE. `target` is an offset in the image, CWH_FUNC_TOKEN(id), or an offset in shared memory. */
enum cwj_reloc_kind { CWJ_RELOC_IMAGE, CWJ_RELOC_FUNC, CWJ_RELOC_SHARED };
struct cwj_reloc {
    uint64_t offset, target;
    int64_t  addend;
    uint8_t  kind, width, shift;
};

/* All variables of a program, laid out once; each module instance has a copy. */
struct cwj_image {
    uint64_t size;
    uint32_t align;
    const uint8_t *init;            /* size bytes */
    const struct cwj_reloc *relocs;
    uint32_t nrelocs;
    bool addr32;                    /* addresses in the program have 32 bits (jit/abi/host.h); the host device alone runs it */
};

struct cwj_program;
struct cwj_image_entry;

/* A kernel compiled for the host, loaded and callable. */
struct cwj_host_code {
    cwh_kernel_fn *run;
    struct cwh_code_info info;
    bool from_cache;
};

/* Where cwh_rt_* live: the engine hands the addresses in, in CWH_RT_MAP order. */
struct cwj_host_runtime {
    uint32_t count;
    const void *const *address;
};

/* Nanoseconds between two ticks of the steady counter, in 2^-32: of 100 MHz. */
#define CWJ_AMD_TICK (10ull << 32)
/* amdgcn: which processors run waves of 64 lanes, two warps (GCN and CDNA; RDNA runs 32); work-items of a group, and bytes of arguments
 * behind the parameters, of a kernel that was compiled with one_warp_per_wave; and of one that names its launch (module_image). */
enum { CWJ_AMD_LOCKS = 256, CWJ_AMD_SHAPE = 8, CWJ_AMD_LAUNCH = 16, CWJ_AMD_MANY = 128 };
static inline bool
cwj_amd_wave64(const char *cpu)
{
    return cpu && cpu[0] == 'g' && cpu[1] == 'f' && cpu[2] == 'x' && cpu[3] == '9';
}
/* Whether the processor has texture units: CDNA3 and 4 (gfx94x, gfx950) have none. */
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

/* Whether warps of a block may wait for each other at different places of a kernel (jit/analysis/progress.c), which two warps of one wave
 * cannot. PERHAPS: there is code that looks like it. SURE: barriers are made for it. */
enum cwj_progress { CWJ_PROGRESS_COMMON, CWJ_PROGRESS_MAYBE, CWJ_PROGRESS_REQUIRED };

enum cwj_target { CWJ_TARGET_HOST, CWJ_TARGET_NVPTX, CWJ_TARGET_AMDGCN };
enum cwj_emit   { CWJ_EMIT_IR, CWJ_EMIT_LLVM, CWJ_EMIT_ASM, CWJ_EMIT_OBJ };

/* For those who look for a fault in a pass; all zero: nothing special. The names are those of cudaway-cc --print-pipeline. Passes that
 * the code generator depends on are not skipped. */
struct cwj_pass_options {
    const char *skip;               /* names to leave out, comma-separated; NULL: CUDAWAY_SKIP_PASSES */
    const char *stop_after;         /* run nothing behind this pass; its result, IR or machine IR as text, is what is made */
    const char *print_after;        /* append the IR or machine IR behind this pass, or behind "all", to *printed */
    struct cw_buf *printed;         /* needed where one of the two above is set */
    bool verify;                    /* verify the IR behind every pass, and machine IR behind ours; debug builds always do */
};

/* What of floats an AMD processor computes by its own rules, not with the bits of NVIDIA's hardware. */
enum cwj_native {
    CWJ_NATIVE_NAN = 1,             /* which NaN an operation gives */
    CWJ_NATIVE_FTZ = 2,             /* .ftz has no effect: subnormals stay */
    CWJ_NATIVE_APPROX = 4,          /* .approx and .full operations */
    CWJ_NATIVE_FLOATS = 7
};

/* "exact", "native", or "native:" and a list of nan, ftz and approx between commas. False: it is none of these, and *native is as it was. */
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
    unsigned jobs;                  /* objects: a large program is compiled in parts by up to this many threads; which parts depends
                                     * on the program alone, so the result does too. 0: in one piece */
    bool module_image;              /* amdgcn: variables are not in the code object but at their offsets in an image (cwj_image); the
                                     * loader stores its address in the code object's u64 variable cudaway_image, and in cudaway_locks, if
                                     * there is one, that of CWJ_AMD_LOCKS zero words of the device's, which all its kernels share,
                                     * in cudaway_heap that of the heap (jit/builtins/heap.h), in cudaway_fifo that of the FIFO of what
                                     * kernels print (jit/builtins/print.h) or 0, in cudaway_tick the device's CWJ_AMD_TICK.
                                     * With a variable cudaway_launch its kernels take CWJ_AMD_LAUNCH more bytes of arguments, behind
                                     * the parameters rounded up to 8: the launch's number (%gridid), and the address of a
                                     * cooperative grid's workspace (%envreg1, see emit_host_workspace) or 0 */
    uint8_t matrix_sm;              /* amdgcn: the generation whose matrix arithmetic is meant (docs/matrix.md): 70, 75, 80, 89, 90; 0: 90 */
    bool matrix_native;             /* amdgcn: products of f16, bf16 and tf32 by WMMA or MFMA where there is such, with AMD's sums */
    bool textures_native;           /* amdgcn: textures by image instructions where the object allows it (cw_texture.native) */
    unsigned native_floats;         /* amdgcn: of enum cwj_native; 0: all as NVIDIA's hardware has it */
    bool one_warp_per_wave;                  /* amdgcn with waves of 64 lanes (else without effect): a wave carries one warp, in its lower lanes, not
                                     * two. A kernel is then launched with work-groups of cwj_amd_group(threads), 1, 1 work-items, at most
                                     * 1024, and takes CWJ_AMD_SHAPE more bytes of arguments, behind all others
                                     * rounded up to 8: the block's size, three u16 */
    bool all_blocks;                /* amdgcn: kernels that do not bound their blocks (.maxntid, .reqntid) take those of 1024 threads. Else one that
                                     * needs more than CWJ_AMD_MANY registers at a time is made for blocks of 640 or 512, by the processor, which have more */
    struct cwj_pass_options passes;
    bool cache;                     /* take the result from the disk cache, or put it there */
    bool *from_cache;               /* out, or NULL: the result came from there */
};

struct cwj_api {
    uint32_t version;

    /* Parse inputs and link them. Names unresolved after linking other than the runtime's (vprintf, malloc, free,
     * __assertfail) are an error P4001 each unless allow_undefined (cuLink adds more later). */
    cw_result (*program_create)(const struct cwj_input *in, size_t count, bool allow_undefined,
                                struct cwj_program **out, struct cwj_diags *diags);
    void (*program_destroy)(struct cwj_program *p);

    uint32_t (*kernel_count)(const struct cwj_program *p);
    const struct cwj_kernel *(*kernel)(const struct cwj_program *p, uint32_t index);
    uint32_t (*variable_count)(const struct cwj_program *p);
    const struct cwj_variable *(*variable)(const struct cwj_program *p, uint32_t index);
    const struct cwj_image *(*image)(const struct cwj_program *p);
    const char *(*function_name)(const struct cwj_program *p, uint32_t id);     /* of CWH_FUNC_TOKEN(id), or NULL */

    /* Compile kernel `index` for this CPU, or take it from the cache. */
    cw_result (*host_compile)(struct cwj_program *p, uint32_t index, const struct cwh_variant *v,
                              const struct cwj_host_runtime *rt, struct cwj_host_code **out, struct cwj_diags *diags);
    void (*host_release)(struct cwj_host_code *code);

    /* The passes that the target's pipeline has at this level, as text. */
    cw_result (*print_pipeline)(const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags);

    /* Ahead-of-time: the whole program (or named kernels) to `out`. */
    cw_result (*aot)(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags);

    /* What a compiled image from the wild holds: PTX text, fatbin (all wrapper kinds), ELF with fatbins, cubin, the image of
     * cuLinkComplete. Calls found() for each entry until it returns nonzero; text is decompressed. `size` is
     * CWJ_SIZE_UNKNOWN for a pointer that a program passes without one: then sizes come from the image's own headers,
     * and pointers of wrappers are followed. CW_ERR_INVALID: not such an image; CW_ERR_DAMAGED; CW_ERR_NO_PTX: no entry
     * was PTX (the diagnostic says what it holds). See jit/link/fatbin.h. */
    cw_result (*image_scan)(const void *data, size_t size, int (*found)(void *user, const struct cwj_image_entry *e),
                            void *user, struct cwj_diags *diags);

    /* What variable `index` is called in the PTX that `aot` makes for nvptx: appended to `out`. */
    void (*nvptx_name)(const struct cwj_program *p, uint32_t index, struct cw_buf *out);

    /* Of kernel `index`, with all that it calls; kept, so that asking again is cheap. */
    enum cwj_progress (*independent_progress)(struct cwj_program *p, uint32_t index);

    void (*diags_init)(struct cwj_diags *d);
    void (*diags_finish)(struct cwj_diags *d);
    void (*diags_render)(const struct cwj_diags *d, const char *name, const char *text, size_t size, struct cw_buf *out);
};

/* A size that the caller does not know (cuModuleLoadData). */
#define CWJ_SIZE_UNKNOWN SIZE_MAX

/* One entry of an image. `data` is valid during the callback only. Entries of one group are alternatives: the same code for
 * several architectures. A module is made of the best entry of every group (plain images have one group; several come
 * from cuLinkComplete and from relocatable device code, and go to program_create together). An executable has a group for
 * each of its translation units, each a module of its own. */
struct cwj_image_entry {
    enum { CWJ_ENTRY_PTX, CWJ_ENTRY_CUBIN, CWJ_ENTRY_OTHER } kind;
    uint32_t group;                 /* ascending from 0 */
    unsigned sm;                    /* 86 */
    char suffix;                    /* 'a', 'f' or 0 */
    const char *name;               /* or NULL */
    const char *data;
    size_t size;
    const char *compression;        /* "none", "lz4", "zstd" */
};

/* The only export of libcudaway-jit.so. NULL when version is not CWJ_API_VERSION. */
const struct cwj_api *cudaway_jit_api(uint32_t version);

#endif
