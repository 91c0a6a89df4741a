/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptxtest: PTX files whose comments say how to launch their kernels and what they compute (docs/ptx-tests.md).
 *
 *   read.c    text -> struct pt_file, with read_list.c, read_texture.c and read_tensor.c. Input is untrusted: everything is bounded, errors
 * become messages with line and column
 *   value.c   element types, literals, edge values
 *   run.c     a launch on a device, and the comparison
 *   texture.c textures, surfaces and tensor maps made of buffers
 *   record.c  writes a device's results into the text
 *   main.c    options, worker processes, totals */
#ifndef PTXTEST_H
#define PTXTEST_H

#include "impl/base/arena.h"
#include "impl/base/buf.h"
#include "replay/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- element types ---------------------------------------------------------------------------------------------------------- */

enum pt_kind { PT_BITS, PT_UINT, PT_SINT, PT_FLOAT };

/* `lanes` equal parts, the lowest first, each of `bits` bits. Floats: sign, `exponent` bits, `mantissa` bits. */
struct pt_type {
    const char *name;
    uint8_t kind, bits, lanes;
    uint8_t exponent, mantissa;
    bool finite;                    /* no infinities: the largest exponent holds numbers, all ones is NaN (e4m3) */
};

/* The bits of one element. */
struct pt_bits { uint64_t lo, hi; };

const struct pt_type *pt_type_find(const char *name, size_t length);
unsigned pt_type_size(const struct pt_type *t);         /* bytes of an element */
bool pt_is_nan(const struct pt_type *t, uint64_t lane); /* lane: the bits of one part */
double pt_to_double(const struct pt_type *t, uint64_t lane);
struct pt_bits pt_load(const struct pt_type *t, const uint8_t *data, size_t index);
void pt_store(const struct pt_type *t, uint8_t *data, size_t index, struct pt_bits v);
/* Read `s` as an element; false with a reason. */
bool pt_parse(const struct pt_type *t, const char *s, size_t length, struct pt_bits *out, const char **why);
void pt_print(const struct pt_type *t, struct pt_bits v, struct cw_buf *out);       /* value and bits, for people */
void pt_print_bits(const struct pt_type *t, struct pt_bits v, struct cw_buf *out);  /* 0x and as many digits as the type has */

/* Named sets and sequences; `count` is how many values there are of a set. */
enum pt_set { PT_EDGE, PT_FEW, PT_SHIFT, PT_RANDOM, PT_NEAR_ONE };
unsigned pt_set_count(const struct pt_type *t, enum pt_set set);    /* 0: as many as one likes */
struct pt_bits pt_set_value(const struct pt_type *t, enum pt_set set, uint64_t seed, unsigned index);

/* ---- a file ----------------------------------------------------------------------------------------------------------------- */

enum {
    PT_MAX_TEXT = 8 << 20, PT_MAX_ELEMENTS = 1 << 20, PT_MAX_BYTES = 64 << 20, PT_MAX_DECLS = 4096, PT_MAX_SCOPE = 64,
    PT_MAX_LAUNCHES = 1024, PT_MAX_ERRORS = 20, PT_MAX_NAME = 128,
};

/* The meaning of a list's element. */
enum pt_how { PT_EXACT, PT_ANY, PT_ANY_NAN, PT_ADDRESS };

struct pt_list {
    const struct pt_type *type;
    uint32_t count;
    uint8_t *bytes;
    uint8_t *how;                   /* enum pt_how of each, or NULL: all exact */
    uint16_t *target;               /* PT_ADDRESS: the declaration whose address plus the value is meant; or NULL */
};

/* A texture or surface: a CUDA array made of the values of a buffer, its levels one after the other; or a texture on linear memory
 * (one dimension) or on pitched memory (two). */
struct pt_texture {
    uint16_t buffer;                /* declaration */
    uint8_t memory;                 /* CU_RESOURCE_TYPE_ARRAY (also for mipmaps), _LINEAR or _PITCH2D */
    bool reference;                 /* the module's variable of this name is bound to it, and it is no parameter */
    uint32_t size[3], dims, channels, levels, flags;        /* flags: CUDA_ARRAY3D_* */
    CUDA_TEXTURE_DESC desc;
};

/* A tensor map of a buffer, a parameter of 128 bytes. */
struct pt_tensor {
    uint16_t buffer;                /* declaration */
    CUtensorMapDataType type;
    uint32_t rank;
    uint64_t dim[5], stride[4];     /* stride: bytes */
    uint32_t box[5], step[5];       /* im2col: box has channels and pixels */
    CUtensorMapSwizzle swizzle;
    bool nan, im2col;
    int lower[3], upper[3];         /* im2col */
};

enum pt_decl_kind { PT_BUFFER, PT_VARIABLE, PT_VALUE, PT_TEXTURE, PT_SURFACE, PT_TENSOR };
struct pt_decl {
    uint8_t kind;
    const char *name;               /* values may have none: "" */
    struct pt_list init;
    const struct pt_texture *texture;   /* TEXTURE, SURFACE; then init is a u64 without meaning */
    const struct pt_tensor *tensor; /* TENSOR; the same */
    bool given;                     /* VARIABLE: `init` holds values; else the module's initial value is kept */
    uint32_t line;
};

/* UNKNOWN: to be recorded. SAME: what another launch expects, once that is known. */
enum pt_origin { PT_DERIVED, PT_RECORDED, PT_UNKNOWN, PT_IGNORED, PT_SAME };
struct pt_expect {
    uint16_t decl;
    uint8_t origin;
    const char *label;              /* or NULL */
    struct pt_list list;
    uint32_t ulp;
    double abs;                     /* allowed absolute difference; 0: none */
    bool nan_any;                   /* any NaN matches an expected NaN */
    bool in_values;                 /* the list is in the side file */
    bool pending;                   /* SAME: the other list is to be recorded */
    uint32_t line, last_line;
};

struct pt_note { const char *device, *reason; };    /* todo, skip */

struct pt_launch {
    const char *test, *kernel;
    uint32_t line, last_line;       /* last_line: of the last directive that belongs to it */
    uint16_t param[PT_MAX_SCOPE], scope[PT_MAX_SCOPE];  /* declarations */
    uint32_t nparams, nscope;
    uint32_t grid[3], block[3], shared;
    bool cooperative;
    uint32_t count, threads;        /* `each`: that many elements, and threads; 0: not given */
    struct pt_expect *expects;
    uint32_t nexpects;
    const char *error, *error_text; /* the CUDA error that is expected, and a part of the JIT log; or NULL */
    struct pt_note *todo, *skip;
    uint32_t ntodo, nskip;
    uint32_t sm, ptx;               /* required: 80, 70 */
    uint32_t target;                /* .target: what NVIDIA's driver needs; ours translate for any */
    uint64_t memory;                /* bytes that the device must have */
};

struct pt_file {
    struct cw_arena arena;
    const char *path;
    const char *text;               /* NUL-terminated */
    size_t size;
    const char *values;             /* the side file NAME.values, or NULL */
    size_t values_size;
    bool addr32;                    /* addresses of the module have 32 bits */
    struct pt_decl *decls;
    uint32_t ndecls;
    struct pt_launch *launches;
    uint32_t nlaunches;
    uint32_t errors;
    struct cw_buf messages;         /* "path:line:column: error: text" lines */
};

/* Read the directives of `text`, which stays the caller's and must live as long as `f`. False: there are messages.
 * pt_file_finish in any case. */
bool pt_read(struct pt_file *f, const char *path, const char *text, size_t size, const char *values, size_t values_size);
void pt_file_finish(struct pt_file *f);

/* ---- running ---------------------------------------------------------------------------------------------------------------- */

enum pt_outcome { PT_PASSED, PT_FAILED, PT_TODO, PT_SKIPPED };

struct pt_runner {
    struct cwd_driver driver;
    const char *on;
    const char *over;               /* NULL, or the device that the driver under `on` has */
    uint32_t limit;                 /* lines printed for one buffer */
    uint32_t filter_steps;          /* tolerance of linear filters, in 1/256 of the largest texel */
    CUdeviceptr memory;
    uint64_t memory_size, total;
    bool lost;                      /* the context cannot be used any more: start a new process */
    bool keep;                      /* recording: keep what comes out */
};

/* The contents of a buffer after a launch. */
struct pt_after { uint8_t *bytes; bool changed; };
struct pt_result {
    enum pt_outcome outcome;
    char reason[160];               /* skipped, todo */
    struct pt_after after[PT_MAX_SCOPE];    /* by position in scope; malloc'd; only when keep is set */
};

/* The kinds that are memory of the device, with contents to expect. */
static inline bool
pt_in_memory(const struct pt_decl *d)
{
    return d->kind <= PT_VARIABLE;
}

static inline bool
pt_is_parameter(const struct pt_decl *d)
{
    return d->kind != PT_VARIABLE && !(d->texture && d->texture->reference);
}

/* An array, or memory, with its texture or surface object, or bound to a reference of the module; made of `bytes`, the contents
 * of the buffer. */
struct pt_object {
    CUarray array;
    CUmipmappedArray mipmap;
    CUdeviceptr memory;
    uint64_t handle;
    bool surface;
};
CUresult pt_object_create(struct pt_runner *r, CUmodule module, const struct pt_decl *d, const struct pt_type *type, const uint8_t *bytes,
                          struct pt_object *out);
/* Copies a surface's contents to device memory. */
CUresult pt_object_store(struct pt_runner *r, const struct pt_decl *d, const struct pt_type *type, const struct pt_object *x, CUdeviceptr to);
void pt_object_destroy(struct pt_runner *r, struct pt_object *x);

CUresult pt_tensor_encode(struct pt_runner *r, const struct pt_tensor *x, CUdeviceptr memory, CUtensorMap *out);

struct pt_module;
/* Load the module of `f`. NULL when that failed; then *status and *log (malloc'd or NULL) say why. */
struct pt_module *pt_module_load(struct pt_runner *r, const struct pt_file *f, CUresult *status, char **log);
void pt_module_unload(struct pt_runner *r, struct pt_module *m);
/* Run one launch and print its failures. m NULL: the module could not be loaded. */
void pt_run(struct pt_runner *r, const struct pt_file *f, const struct pt_launch *l, struct pt_module *m, CUresult status,
            const char *log, struct pt_result *out);
void pt_result_finish(struct pt_result *x);

/* Why this launch is skipped on this device; NULL: it is not. */
const char *pt_skip_reason(const struct pt_runner *r, const struct pt_launch *l, char *buf, size_t size);
const struct pt_note *pt_find_note(const struct pt_note *list, uint32_t count, const char *on);

/* ---- recording -------------------------------------------------------------------------------------------------------------- */

struct pt_recorder;
struct pt_recorder *pt_recorder_create(const struct pt_file *f, const char *label, bool overwrite);
void pt_record(struct pt_recorder *c, const struct pt_launch *l, const struct pt_result *x);
/* Write the file and its side file when something was added; true when nothing failed. */
bool pt_recorder_finish(struct pt_recorder *c, uint32_t *added);

#endif
