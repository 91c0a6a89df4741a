/* SPDX-License-Identifier: Apache-2.0
 * The API model at run time: what the tracer, the printers and cuGetProcAddress know of every function. The tables are
 * generated (cuda_meta.c) and constant; functions are in the order of struct cw_cuda_table. */
#ifndef CW_API_META_H
#define CW_API_META_H

#include <stddef.h>
#include <stdint.h>

#define CW_META_KIND_MAP(X)                                                                                           \
    X(HANDLE, "handle")                 /* an object of the driver; the C type says which */                           \
    X(DEVICE, "device")                 /* ordinal of a device */                                                      \
    X(DEVICE_POINTER, "device_pointer")                                                                                \
    X(HOST_POINTER, "host_pointer")     /* an address whose target nobody should print */                              \
    X(HOST_BUFFER, "host_buffer")       /* host memory read or written by the call; has a length */                    \
    X(USER_POINTER, "user_pointer")     /* handed back to a callback untouched */                                      \
    X(IMAGE, "image")                   /* a code image: PTX text, fatbin or ELF */                                    \
    X(KERNEL_PARAMS, "kernel_params")   /* addresses of the arguments of a launch */                                   \
    X(LAUNCH_EXTRA, "launch_extra")     /* CU_LAUNCH_PARAM_* list */                                                   \
    X(TYPED_VALUE, "typed_value")       /* memory whose type another parameter (selector) chooses */                   \
    X(STRING, "string")                                                                                                \
    X(STRING_BUFFER, "string_buffer")   /* characters written by the call; has a length */                             \
    X(CALLBACK, "callback")                                                                                            \
    X(STRUCT, "struct")                 /* one structure, by value or by pointer */                                    \
    X(ARRAY, "array")                   /* has of (kind of an element) and length */                                   \
    X(ENUM, "enum")                                                                                                    \
    X(FLAGS, "flags")                   /* bits; of an enumeration where any is defined */                             \
    X(BOOL, "bool")                                                                                                    \
    X(SIZE, "size")                     /* bytes */                                                                    \
    X(COUNT, "count")                   /* number of things */                                                         \
    X(INT, "int")                                                                                                      \
    X(UINT, "uint")                                                                                                    \
    X(FLOAT, "float")                                                                                                  \
    X(BYTE, "byte")                                                                                                    \
    X(VALUE, "value")                   /* element of an option list: a pointer-sized value */

enum cw_meta_kind {
#define X(e, s) CW_KIND_##e,
    CW_META_KIND_MAP(X)
#undef X
    CW_KIND_TOTAL
};

enum cw_meta_direction { CW_DIR_IN, CW_DIR_OUT, CW_DIR_INOUT };

enum cw_meta_status { CW_STATUS_UNSUPPORTED, CW_STATUS_PARTIAL, CW_STATUS_IMPLEMENTED };

struct cw_meta_enumerator {
    const char *name;
    int64_t     value;
};

struct cw_meta_enum {
    const char *name;
    const struct cw_meta_enumerator *values;   /* by value, each value once; its first name */
    uint16_t    count;
    uint8_t     flags;                         /* a set of bits */
};

/* A member of a structure. Members of nested structures are in the nested structure's own table; members of unions are
 * not described (which one is valid depends on other members). */
struct cw_meta_field {
    const char *name, *type;
    uint16_t    offset, size;       /* of the whole member */
    uint16_t    count;              /* elements of an array; 0: no array */
    uint8_t     kind;               /* enum cw_meta_kind, of an element */
    uint8_t     pointers;
    int16_t     enum_index, struct_index;   /* or -1 */
};

struct cw_meta_struct {
    const char *name;
    const struct cw_meta_field *fields;
    uint16_t    count, size;
};

struct cw_meta_param {
    const char *name, *type;
    uint8_t     kind, of;           /* enum cw_meta_kind; of: element of an array */
    uint8_t     direction;          /* enum cw_meta_direction */
    uint8_t     pointers;           /* levels in the C type; 0: passed by value */
    uint16_t    size;               /* of the argument itself (8 for a pointer; structures by value: their size) */
    uint16_t    value_size;         /* of the value: the pointee of an out parameter, an array's element; 0: void */
    int8_t      length;             /* parameter with the number of elements or bytes, or -1 */
    uint8_t     length_deref;       /* that parameter points to the number */
    uint8_t     length_less;        /* the array is this much shorter */
    uint8_t     length_const;       /* fixed number of elements, with length -1 */
    int8_t      selector;           /* parameter that selects the type of a typed value, or -1 */
    int16_t     enum_index, struct_index;   /* or -1 */
};

struct cw_meta_function {
    const char *name, *base, *area;
    const char *hip;                /* HIP's counterpart, or NULL */
    const char *reason;             /* why partial or unsupported, or NULL */
    const struct cw_meta_param *params;
    uint16_t    param_count, since; /* since: the CUDA version that introduced it, 1000 * major + 10 * minor */
    int16_t     plain;              /* per-thread variant: index of the plain function; else -1 */
    uint8_t     windows, status;    /* status: enum cw_meta_status */
};

/* One exported version of a base name, for cuGetProcAddress. */
struct cw_meta_version {
    uint16_t since, function;
    uint8_t  per_thread;
};

struct cw_meta_base {
    const char *name;
    uint16_t    first, count;       /* in cw_meta_versions, oldest first */
    uint8_t     per_thread;         /* some version has a per-thread variant */
};

extern const struct cw_meta_function cw_meta_functions[];
extern const unsigned                cw_meta_function_count;
extern const struct cw_meta_enum     cw_meta_enums[];
extern const unsigned                cw_meta_enum_count;
extern const struct cw_meta_struct   cw_meta_structs[];
extern const unsigned                cw_meta_struct_count;
extern const struct cw_meta_version  cw_meta_versions[];
extern const struct cw_meta_base     cw_meta_bases[];     /* by name */
extern const unsigned                cw_meta_base_count;
extern const int                     cw_meta_result_enum; /* index of CUresult */

/* NULL when no function (exact exported name), enumeration or structure is called so. Thread safe, no allocation. */
const struct cw_meta_function *cw_meta_find(const char *name);
const struct cw_meta_enum     *cw_meta_find_enum(const char *name);
const struct cw_meta_base     *cw_meta_find_base(const char *name);
/* Name of an enumeration's value; NULL when the value has none or enum_index is out of range. */
const char *cw_meta_enumerator(int enum_index, int64_t value);
/* "CUDA_ERROR_INVALID_VALUE"; NULL for an unknown number. */
const char *cw_meta_result_name(int result);

#endif
