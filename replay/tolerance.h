/* SPDX-License-Identifier: Apache-2.0
 * How far results may be apart, by kernel and buffer: the file of --tolerance (docs/replay-and-diff.md). */
#ifndef CWD_TOLERANCE_H
#define CWD_TOLERANCE_H

#include "replay/dump.h"

/* A value may differ if one of these allows it; all 0: every bit counts. */
struct cwd_allowance {
    double   absolute, relative;        /* relative: to the larger of the two values */
    uint32_t ulp;                       /* of floats alone */
};

struct cwd_rule {
    const char *kernel, *buffer;        /* patterns with * and ? */
    struct cwd_allowance allowance;
};

struct cwd_tolerances {
    struct cwd_rule *rules;
    uint32_t count;
    struct cwd_allowance otherwise;     /* where no rule matches */
    char *text;                         /* the patterns' */
};

/* Of `name`, for messages. CW_ERR_INVALID, CW_ERR_LIMIT, CW_ERR_NOMEM; on failure *t holds nothing. `otherwise` is left as it is. */
cw_result cwd_tolerances_parse(const char *name, const char *text, size_t size, struct cwd_tolerances *t, struct cwd_error *e) CW_MUST_CHECK;
cw_result cwd_tolerances_read(const char *path, struct cwd_tolerances *t, struct cwd_error *e) CW_MUST_CHECK;
void cwd_tolerances_finish(struct cwd_tolerances *t);

/* Of the last rule that matches the kernel, and the buffer by its name (NULL: it has none) or the number of its parameter (NULL: none points to it). */
const struct cwd_allowance *cwd_tolerances_find(const struct cwd_tolerances *t, const char *kernel, const char *buffer, const char *number);

#endif
