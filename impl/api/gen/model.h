/* SPDX-License-Identifier: Apache-2.0
 * The API model in memory: what impl/api/ *.json says, checked. The loader collects every complaint (file, function,
 * parameter, what is missing) and fails once at the end, so that one run shows all that has to be annotated.
 * A function here is one exported symbol; the per-thread variant of a symbol is a function of its own that points to the
 * symbol it varies (`plain`) and shares its parameters. All strings live in the parsed JSON trees, which the model owns. */
#ifndef CW_API_GEN_MODEL_H
#define CW_API_GEN_MODEL_H

#include "impl/api/meta.h"
#include "impl/base/arena.h"
#include "impl/base/buf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum direction { DIR_IN, DIR_OUT, DIR_INOUT };

/* The kinds are those of the run-time tables. */
#define KIND_MAP CW_META_KIND_MAP

enum kind {
#define X(e, s) KIND_##e,
    KIND_MAP(X)
#undef X
    KIND_TOTAL
};

struct enumerator {
    const char *name;
    int64_t     value;
    unsigned    last;                     /* of the libraries' headers that have it, the last's major version; 0: the newest */
};

struct enumeration {
    const char        *name, *tag;
    bool               flags;      /* a set of bits */
    bool               macros;     /* written as #define, not as an enum */
    struct enumerator *values;
    unsigned           count, index;
};

enum type_form { TYPE_ALIAS, TYPE_HANDLE, TYPE_CALLBACK, TYPE_STRUCT, TYPE_UNION };

struct type {
    enum type_form form;
    const char    *name, *tag, *target;   /* target: of an alias; result of a callback */
    const char    *unless;                /* not defined where this macro is */
    const cJSON   *fields;                /* fields of a structure, parameters of a callback */
    unsigned       last;                  /* as an enumerator's */
    unsigned       align, size;
};

struct param {
    const char  *name, *type;
    enum direction dir;
    enum kind    kind, of;
    int          length;          /* index of the parameter that holds the number of elements, or -1 */
    bool         length_deref;    /* that parameter points to the number */
    int64_t      length_const;    /* fixed number of elements when length is -1; 0: none */
    unsigned     length_less;     /* the array is this much shorter than the number says */
    int          selector;        /* typed_value: index of the parameter that selects the type */
    const char  *base;            /* the C type without const and pointers */
    unsigned     pointers;        /* pointer levels of the C type */
    bool         is_const;
    const struct enumeration *enumeration;   /* of the value: enum and flags (may be NULL for flags) */
    const char  *stream_member;   /* structure: its member that names the stream */
};

enum status { STATUS_UNSUPPORTED, STATUS_PARTIAL, STATUS_IMPLEMENTED };

struct function {
    const char  *name, *base, *area, *hip, *suffix, *reason;
    const char  *impl;                /* the implementing function without its prefix; more than one symbol may have it */
    const char  *returns;             /* C type of the result */
    unsigned     in;                  /* bit i: exported by the model's library i */
    unsigned     index, version, since, param_count;   /* version: 1 for the unsuffixed symbol, n for _vn */
    bool         windows;
    bool         lockless;            /* takes no lock and waits for nothing: a thread that is cancelled in it leaves nothing behind */
    bool         in_toolkit;          /* the toolkit's stub library and cuda.h have it too, not only the driver's library */
    struct param *params;
    const struct function *plain;     /* the symbol that this is the per-thread variant of, or NULL */
    const struct function *variant;   /* the per-thread variant of this symbol, or NULL */
    enum status  status;
};

/* One of the shared libraries that a model describes, where it describes several versions of one. */
struct library {
    const char *soname;               /* also the version of its symbols */
    unsigned    major, cuda_version;
};

enum { MAX_LIBRARIES = 8 };

struct model {
    const char     *name, *prefix, *result, *stream, *per_thread_stream;   /* "CUDA driver", "cu", "CUresult", ... */
    struct library  libraries[MAX_LIBRARIES];
    unsigned        library_count;       /* 0: one library whose symbols have no version */
    struct cw_arena arena;
    cJSON         **trees;
    unsigned        tree_count;
    unsigned        cuda_version;
    struct enumeration *enums;      unsigned enum_count;
    struct type        *types;      unsigned type_count;
    const cJSON       **constants;  unsigned constant_count;   /* each [name, text] */
    struct function    *functions;  unsigned function_count;
    const char        **areas;      unsigned area_count;
    struct cw_buf       errors;     unsigned error_count;
};

/* Load DIR/model.json and all it names. False: m->errors has the complaints. model_finish in any case. */
bool model_load(struct model *m, const char *dir);
/* The same with another status file than the model names (a path; NULL: the model's). */
bool model_load_with_status(struct model *m, const char *dir, const char *status);
void model_finish(struct model *m);

const char *kind_name(enum kind k);              /* "device_pointer" */
const char *kind_enumerator(enum kind k);     /* "DEVICE_POINTER" */
const struct enumeration *model_enum(const struct model *m, const char *name);
/* Follow aliases; NULL when the name is a plain C type or an enumeration. */
const struct type *model_type(const struct model *m, const char *name);
/* The C spelling behind aliases ("CUdeviceptr" -> "unsigned long long"); for others the name itself. */
const char *model_resolve(const struct model *m, const char *name);
/* Number of the function's stream parameter (by value), or -1. */
int function_stream_param(const struct model *m, const struct function *f);

#endif
