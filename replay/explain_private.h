/* SPDX-License-Identifier: Apache-2.0
 * Between explain.c, which tries what is computed otherwise, explain_chance.c: what is otherwise from run to run, explain_fuse.c, which
 * searches what was fused, explain_atomic.c, which searches orders of additions, and explain_rows.c, which compares what threads store at each other's places. */
#ifndef CWD_EXPLAIN_PRIVATE_H
#define CWD_EXPLAIN_PRIVATE_H

#include "replay/explain.h"
#include "replay/results.h"
#include "replay/variant.h"

#include <limits.h>

enum { SAME = 0, EXPLAINED = 1, TROUBLE = 2 };          /* beside CWD_FAULT */

/* The elements of all contents, one byte each: whether it is in the set. */
struct set {
    uint8_t *in;
    uint64_t count;
};

struct explain {
    const struct cwd_explain *o;
    struct cwl_side base;               /* as recorded */
    char folder[PATH_MAX];
    uint64_t elements, *start;          /* in all; where each buffer's, then each array's begin */
    uint8_t *fuse;                      /* what the best variant so far fuses */
    struct cwv_sum *sums;
    uint32_t nsums;
    uint32_t runs;                      /* made */
    int64_t end;                        /* ns of the monotonic clock when the time is up; 0: never */
    bool over;                          /* it is, and a run was left out */
    bool trying;                        /* what explained another launch: not to be said where it does not explain this one */
    struct cw_progress progress;
    struct cwd_error e;
};

enum tried { TRIED, NOT_POSSIBLE, FAILED };

/* One more run begins. False: the time is up. */
bool explain_runs(struct explain *x);

/* Run a variant and compare with the recorded results. `side`, unless NULL, keeps it open for the caller. */
enum tried explain_try(struct explain *x, const struct cwv_variant *v, struct set *differs, struct cwl_side *side);
/* Elements in which two results differ, added to `s`. */
void explain_compare(const struct explain *x, const struct cwd_dump *a, const struct cwd_dump *b, struct set *s);
bool set_init(const struct explain *x, struct set *s);
unsigned explain_width(const struct explain *x, uint32_t content);
/* Content and index of an element. */
uint32_t explain_content(const struct explain *x, uint64_t element, uint64_t *index);
/* The contents behind the launch. */
const uint8_t *explain_values(const struct cwd_dump *d, uint32_t content);
/* "first at buffer 2, parameter out, index 7" */
void explain_say_element(const struct explain *x, const struct set *s);
void explain_place(const struct explain *x, const struct cwl_side *s, uint32_t id, char *out, size_t size);

/* explain_fuse.c: find in fuse[], by instruction, what besides `with` makes the results equal, or more equal than `differs`, which is
 * `with` alone and then that. False: nothing makes fewer differ. */
bool explain_fuse(struct explain *x, const struct cwv_variant *with, struct set *differs, uint8_t *fuse);
void explain_say_fused(const struct explain *x, const uint8_t *fuse);

/* explain_atomic.c: of the elements that differ, those whose recorded value the same values added in another order give. */
bool explain_atomics(struct explain *x, struct cwl_side *side, const struct set *differs, struct set *proven, char *evidence, size_t size);

/* explain_rows.c: the recorded results are those of the launch with threads at each other's places. `places`: all elements that change with the order of threads, or
 * differ. False, too: that cannot be said. */
bool explain_rows(struct explain *x, struct cwl_side *side, const struct set *places);

/* explain_chance.c: judge what `with`, which leaves `differs`, does not explain: orders of threads, contents of memory that nobody wrote.
 * EXPLAINED and CWD_FAULT print nothing more; TROUBLE: x->e says why. */
int explain_chance(struct explain *x, const struct cwv_variant *with, struct set *differs);

#endif
