/* SPDX-License-Identifier: Apache-2.0
 * A kernel dump: one launch of one kernel with all it can reach, in one file (docs/dump-format.md). This is the form in memory
 * with its writer and its reader; capture.h fills it, session.h runs it.
 *
 * Ownership: names and lists live in the dump's arena; `data` pointers are malloc'd and belong to the dump, except those
 * of which `borrowed` is set. The reader trusts nothing that it reads: sizes are bounded before memory is allocated. */
#ifndef CWD_DUMP_H
#define CWD_DUMP_H

#include "impl/base/arena.h"
#include "impl/base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CWD_FORMAT_VERSION 1
#define CWD_SUFFIX ".cwdump"

/* X(enumerator, name in the manifest) */
#define CWD_KIND_MAP(X)                                                                                     \
    X(CWD_GLOBAL, "global")         /* device memory */                                                     \
    X(CWD_MANAGED, "managed")                                                                               \
    X(CWD_HOST, "host-mapped")      /* page-locked or registered host memory; the address is the device's */ \
    X(CWD_VARIABLE, "variable")     /* a module's variable in global memory */                              \
    X(CWD_CONSTANT, "constant")     /* a module's variable in constant memory */

enum cwd_kind {
#define X(e, n) e,
    CWD_KIND_MAP(X)
#undef X
    CWD_KIND_COUNT
};

/* What a module was made of. More than one input, or the flag `linked`: cuLinkCreate, cuLinkAddData for each,
 * cuLinkComplete. X(enumerator, name and member suffix, CUjitInputType) */
#define CWD_INPUT_MAP(X)                                    \
    X(CWD_PTX, "ptx", CU_JIT_INPUT_PTX)                     \
    X(CWD_FATBIN, "fatbin", CU_JIT_INPUT_FATBINARY)         \
    X(CWD_CUBIN, "cubin", CU_JIT_INPUT_CUBIN)               \
    X(CWD_ELF, "elf", CU_JIT_INPUT_OBJECT)                  \
    X(CWD_LIBRARY, "library", CU_JIT_INPUT_LIBRARY)         \
    X(CWD_BIN, "bin", CU_JIT_INPUT_CUBIN)

enum cwd_input_kind {
#define X(e, n, j) e,
    CWD_INPUT_MAP(X)
#undef X
    CWD_INPUT_COUNT
};

struct cwd_input {
    enum cwd_input_kind kind;
    const char *name;           /* for messages; may be NULL */
    uint8_t *data;              /* a NUL follows, which is not counted */
    uint64_t size;
};

struct cwd_param {
    const char *name;           /* NULL when not known */
    const char *type;           /* PTX's name of the type ("u64", "f32"); "b8" for an aggregate; NULL when not known */
    uint32_t offset, size;
};

struct cwd_buffer {
    enum cwd_kind kind;
    const char *name;           /* of a variable, else NULL */
    const char *element;        /* PTX's name of the type that the kernel stores there, or NULL when that is not known */
    uint64_t address, size;
    uint8_t *before;            /* NULL when only the headers were read */
    uint8_t *after;             /* NULL when not known; may equal before */
};

/* A CUDA array or mipmapped array: all levels, layers and rows one after the other, without padding. */
struct cwd_array {
    uint64_t width, height, depth;
    uint32_t format, channels, flags;       /* CUarray_format, CUDA_ARRAY3D_* */
    uint32_t levels;                        /* 0: not mipmapped */
    uint64_t size;
    uint8_t *before, *after;
};

/* Where a handle lies: in the parameter block (buffer -1), or in a buffer's content before the launch. */
struct cwd_use {
    int32_t  buffer;
    uint64_t offset;
};

/* A texture or surface object. Numbers are the CUDA API's. */
struct cwd_texture {
    bool     surface;
    uint64_t handle;
    uint32_t resource;                      /* CUresourcetype */
    int32_t  array;                         /* index, or -1 */
    uint64_t address, size, width, height, pitch;   /* linear: size; pitch2D: the others */
    uint32_t format, channels;
    uint32_t address_mode[3], filter, flags, anisotropy, mip_filter;
    float    mip_bias, min_level, max_level, border[4];
    bool     has_view;
    uint32_t view_format, first_level, last_level, first_layer, last_layer;
    uint64_t view_width, view_height, view_depth;
    struct cwd_use *uses;
    uint32_t nuses;
};

struct cwd_dump {
    struct cw_arena arena;
    /* Who made it. */
    const char *version;                    /* of CUDAway */
    const char *device;
    uint32_t driver, compute_capability;    /* 13000; 86 */
    /* The launch. */
    const char *kernel;
    uint32_t launch;                        /* number in its program, from 1; 0 not known */
    uint32_t grid[3], block[3], shared;
    uint32_t cluster[3];                    /* blocks of a cluster, where the launch asked for them; else 0 */
    bool     cooperative;
    const char *fault;                      /* the launch failed with this CUDA error, and memory is as it was then; else NULL */
    uint32_t suspects;                      /* with `fault`: of so many launches it was one, this or another */
    struct cwd_param *params;
    uint32_t nparams;
    uint8_t *param_block;
    uint32_t param_size;
    struct cwd_input *inputs;
    uint32_t ninputs;
    bool     linked;
    struct cwd_buffer *buffers;
    uint32_t nbuffers;
    struct cwd_array *arrays;
    uint32_t narrays;
    struct cwd_texture *textures;
    uint32_t ntextures;
    bool     borrowed;                      /* inputs[].data belong to the arena or to someone else */
};

void cwd_init(struct cwd_dump *d);
void cwd_finish(struct cwd_dump *d);

struct cwd_error {
    char text[512];                         /* one line: cause and remedy */
};

enum cwd_flags {
    CWD_HEADERS = 1,                        /* read: leave the contents of memory and arrays out (they are still verified) */
    CWD_STORED = 2,                         /* write: do not compress (dumps that live for a moment) */
};

/* Write `d` to `path`, through a temporary file beside it. On failure nothing is left behind. */
cw_result cwd_write(const struct cwd_dump *d, const char *path, unsigned flags, struct cwd_error *e) CW_MUST_CHECK;
/* The same into a folder that other processes write into: under the first of next's names, PATH_MAX bytes each and in that folder, that no file has. */
typedef void cwd_next_path(void *user, char *path);
/* FOLDER/0001-kernel.cwdump; with `again` 1, FOLDER/0001-kernel-1.cwdump, and so on. At most CWD_LONGEST_NAME bytes longer than the folder's name;
 * `path` has room for that. */
enum { CWD_LONGEST_NAME = 160 };
void cwd_name(char *path, const char *folder, unsigned number, const char *kernel, unsigned again);
cw_result cwd_write_new(const struct cwd_dump *d, const char *folder, cwd_next_path *next, void *user, struct cwd_error *e) CW_MUST_CHECK;

/* Read and verify. On success the caller owns *d and calls cwd_finish. `limit` bounds the bytes of memory that contents may
 * take, 0: three quarters of this machine's. CW_ERR_NOT_FOUND, CW_ERR_IO, CW_ERR_DAMAGED, CW_ERR_VERSION, CW_ERR_LIMIT,
 * CW_ERR_NOMEM. */
cw_result cwd_read(const char *path, unsigned flags, uint64_t limit, struct cwd_dump *d, struct cwd_error *e) CW_MUST_CHECK;
cw_result cwd_read_memory(const void *data, size_t size, unsigned flags, uint64_t limit, struct cwd_dump *d,
                          struct cwd_error *e) CW_MUST_CHECK;

const char *cwd_kind_name(enum cwd_kind k);
const char *cwd_input_name(enum cwd_input_kind k);
/* Bytes of one texel of a CUarray_format with so many channels; 0 for a format that dumps do not hold. */
unsigned cwd_texel_bytes(uint32_t format, uint32_t channels);
/* Extent of a level of an array in texels, rows and slices (layers and faces count as slices), each at least 1. False: beyond
 * bounds or a combination that dumps do not hold. */
bool cwd_array_level(const struct cwd_array *a, uint32_t level, uint64_t extent[3]);
/* Bytes of all levels; 0 when out of bounds. */
uint64_t cwd_array_bytes(const struct cwd_array *a);

#endif
