/* SPDX-License-Identifier: Apache-2.0
 * Between check.c, which runs the launch and reads the records in their order; check_memory.c: memory and registers; check_sync.c:
 * barriers and member masks; check_screen.c: whether there is anything to look at. */
#ifndef CWD_CHECK_PRIVATE_H
#define CWD_CHECK_PRIVATE_H

#include "replay/check.h"

struct who {
    uint64_t block;
    uint32_t thread;
};

struct record {
    enum cwi_access what;
    enum cwi_where where;
    unsigned bytes;
    bool outside, misaligned;
    uint32_t id;
    struct who who;
    uint64_t address, value;
    uint64_t order;                     /* from 1 */
};

/* What a thread did at a place in the text. */
struct act {
    struct who who;
    uint32_t id;
    enum cwi_access what;
};

/* What was found at a place in the text, or at two. */
struct finding {
    enum cwc_what kind;
    unsigned what;                      /* of its checker */
    struct act act[2];                  /* the second: a race's, or a barrier's */
    struct record record;               /* of the memory, or the mask */
    uint64_t count;
};

struct check {
    struct cwl_side *side;
    unsigned what;
    struct cwc_report *report;
    void *findings;                     /* tsearch's tree of struct finding, in the order of the text */
    uint64_t threads;                   /* of a block */
    bool truncated, failed;
    struct memory *memory;
    struct sync *sync;
};

/* Count a finding. Of several at the same place the one of the first block's first thread is described: which record comes first is chance, where blocks run at
 * the same time. */
void check_found(struct check *c, const struct finding *f);
void check_who(const struct check *c, struct who w, char *out, size_t size);
void check_place(const struct check *c, uint32_t id, char *out, size_t size);
void check_say(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* check_screen.c: true: the launch ran, and has no fault. `bounds`: all of global memory is known. */
bool screen_launch(struct check *c, bool bounds);

bool memory_open(struct check *c);
void memory_record(struct check *c, const struct record *r);
void memory_finish(struct check *c);    /* after the last record */
void memory_say(struct check *c, const struct finding *f);      /* of the kinds that are not CWC_SYNC */
void memory_close(struct check *c);

bool sync_open(struct check *c);
void sync_record(struct check *c, const struct record *r);
void sync_finish(struct check *c);      /* after the last record */
void sync_say(struct check *c, const struct finding *f);
void sync_close(struct check *c);

#endif
