/* SPDX-License-Identifier: Apache-2.0
 * Comparing the results of a launch with those in its dump. */
#ifndef CWD_COMPARE_H
#define CWD_COMPARE_H

#include "impl/base/buf.h"
#include "replay/session.h"

/* The first difference of one buffer or array. */
struct cwd_difference {
    char     where[160];        /* "parameter c", "variable counter", "array of the texture at parameter t", ... */
    uint64_t offset, index, count, elements;    /* byte; element; how many differ, of how many */
    int32_t  buffer;            /* number of the buffer; -1: it is an array */
    const char *type;           /* PTX's name */
    uint32_t width;             /* bytes of an element */
    char     expected[48], actual[48];
};

/* Calls found() for each buffer and array that differs; returns how many do. `ulp`: how far two floats may be apart, in units
 * in the last place; 0: every bit counts. Contents that the dump or the outcome does not know are not compared. */
uint32_t cwd_compare(const struct cwd_dump *d, const struct cwd_outcome *o, uint32_t ulp,
                     void (*found)(void *user, const struct cwd_difference *x), void *user);

/* "parameter c" and so on for a buffer. */
void cwd_where(const struct cwd_dump *d, uint32_t buffer, char *out, size_t size);
/* Bytes of the elements in which a buffer is compared. */
unsigned cwd_element_width(const struct cwd_buffer *b);
/* Whether the dump has results to compare with. */
bool cwd_has_results(const struct cwd_dump *d);
/* Whether two values are the same: bit by bit, or as floats that are at most `ulp` units in the last place apart. */
bool cwd_value_same(uint64_t a, uint64_t b, unsigned type, uint32_t ulp);
/* A value as one reads it: "1.5 (0x3fc00000)". `type`: enum ptx_type. */
void cwd_value_print(uint64_t bits, unsigned type, char *out, size_t size);
/* One line for a difference. */
void cwd_difference_print(const struct cwd_difference *x, const char *expected, const char *actual, struct cw_buf *out);

#endif
