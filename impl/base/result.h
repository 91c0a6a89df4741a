/* SPDX-License-Identifier: Apache-2.0
 * The one result enumeration of the project's libraries (not of the CUDA API, which has CUresult).
 * A row is: name, text for people. CW_OK is zero; every other value is a failure whose details were logged or collected as diagnostics where it was
 * found. */
#ifndef CW_RESULT_H
#define CW_RESULT_H

#define CW_RESULT_MAP(X)                                                                     \
    X(CW_OK,                 "success")                                                      \
    X(CW_ERR_NOMEM,          "out of memory")                                                \
    X(CW_ERR_IO,             "input/output error")                                           \
    X(CW_ERR_NOT_FOUND,      "not found")                                                    \
    X(CW_ERR_INVALID,        "invalid argument or malformed input")                          \
    X(CW_ERR_SYNTAX,         "the PTX text is malformed")                                    \
    X(CW_ERR_UNSUPPORTED,    "not supported")                                                \
    X(CW_ERR_NO_PTX,         "the image holds no PTX")                                       \
    X(CW_ERR_UNRESOLVED,     "undefined symbol")                                             \
    X(CW_ERR_DUPLICATE,      "symbol defined twice")                                         \
    X(CW_ERR_LIMIT,          "a documented limit was exceeded")                              \
    X(CW_ERR_LLVM,           "LLVM reported an error")                                       \
    X(CW_ERR_DAMAGED,        "damaged file")                                                 \
    X(CW_ERR_VERSION,        "unsupported format version")                                   \
    X(CW_ERR_CANCELLED,      "given up: its result is not wanted any more")                   \
    X(CW_ERR_INTERNAL,       "internal error")

typedef enum cw_result {
#define X(name, text) name,
    CW_RESULT_MAP(X)
#undef X
    CW_RESULT_COUNT
} cw_result;

#define CW_MUST_CHECK __attribute__((warn_unused_result))

/* The enumerator's spelling ("CW_ERR_IO") and its text. Never NULL, also for values out of range. */
const char *cw_result_name(cw_result r);
const char *cw_result_text(cw_result r);

#endif
