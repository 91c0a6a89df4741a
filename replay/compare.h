/* SPDX-License-Identifier: Apache-2.0
 * Comparing the results of a launch with those in its dump. */
#ifndef CWD_COMPARE_H
#define CWD_COMPARE_H

#include "impl/base/buf.h"
#include "replay/session.h"

/* The largest of elements that are numbers; infinities and NaN have no distance. */
struct cwd_distance {
    double   absolute, relative;        /* relative: to the larger of the two */
    uint64_t ulps;                      /* of floats alone */
};

/* The first difference of one buffer or array. */
struct cwd_difference {
    char     where[160];        /* "parameter c", "variable counter", "array of the texture at parameter t", ... */
    char     name[100];         /* "c", "counter"; "": it has none */
    uint64_t offset, index, count, elements;    /* byte; element; how many differ, of how many */
    uint64_t tolerated, bounded;        /* that differ, too, but are within the tolerance, or within their bounds of error */
    uint64_t unbounded;         /* of `count`: those that have no bound */
    uint64_t special;           /* of `count`: infinities and NaN are among the two values */
    int32_t  buffer, array;     /* number of the buffer or of the array; -1: it is the other */
    const char *type;           /* PTX's name */
    unsigned kind;              /* enum ptx_type */
    uint32_t width;             /* bytes of an element */
    char     expected[48], actual[48];
    struct cwd_distance apart, allowed; /* of `count`; of `tolerated` and `bounded` */
    bool     floats;
};

struct cwd_tolerances;
/* How far each element may be from the exact value, for --bounds: of each buffer NULL, or as many elements of its type. */
struct cwd_bounds {
    uint8_t **buffers;
    uint32_t nbuffers;
};

/* Calls found() for each buffer and array that differs; returns how many do. `ulp`: how far two floats may be apart, in units
 * in the last place; 0: every bit counts. Contents that the dump or the outcome does not know are not compared. */
uint32_t cwd_compare(const struct cwd_dump *d, const struct cwd_outcome *o, uint32_t ulp,
                     void (*found)(void *user, const struct cwd_difference *x), void *user);

/* The same with a tolerance for each buffer, and bounds or NULL: two results are the same where they are at most two bounds apart. found() is also called
 * where all elements are tolerated or within bounds, `count` 0; such are not among those that are returned. */
uint32_t cwd_compare_by(const struct cwd_dump *d, const struct cwd_outcome *o, const struct cwd_tolerances *t, const struct cwd_bounds *b,
                        void (*found)(void *user, const struct cwd_difference *x), void *user);
/* One JSON object, on one line (docs/replay-and-diff.md). */
void cwd_difference_json(const struct cwd_difference *x, struct cw_buf *out);

/* "parameter c" and so on for a buffer. */
void cwd_where(const struct cwd_dump *d, uint32_t buffer, char *out, size_t size);
/* Bytes of the elements in which a buffer is compared. */
unsigned cwd_element_width(const struct cwd_buffer *b);
/* Whether the dump has results to compare with. */
bool cwd_has_results(const struct cwd_dump *d);
/* Whether two values are the same: bit by bit, or as floats that are at most `ulp` units in the last place apart. */
bool cwd_value_same(uint64_t a, uint64_t b, unsigned type, uint32_t ulp);
/* The value as a number; integers of 64 bits are rounded. */
double cwd_value_number(uint64_t bits, unsigned type);
/* Units in the last place between two floats; false: they are none, or one is a NaN. */
bool cwd_value_ulps(uint64_t a, uint64_t b, unsigned type, uint64_t *ulps);
/* A value as one reads it: "1.5 (0x3fc00000)". `type`: enum ptx_type. */
void cwd_value_print(uint64_t bits, unsigned type, char *out, size_t size);
/* One line for a difference. */
void cwd_difference_print(const struct cwd_difference *x, const char *expected, const char *actual, struct cw_buf *out);

#endif
