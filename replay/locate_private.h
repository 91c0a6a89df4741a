/* SPDX-License-Identifier: Apache-2.0
 * Between locate.c, which follows a difference, and locate_text.c, which prints it. Device run 0 is the reference
 * (--against). */
#ifndef CWD_LOCATE_PRIVATE_H
#define CWD_LOCATE_PRIVATE_H

#include "replay/compare.h"
#include "replay/locate.h"
#include "replay/side.h"
#include "replay/trace.h"

#include <limits.h>

struct thread {
    uint64_t block;                     /* linear, as is the thread in it */
    uint32_t thread;
};

/* A record of CWI_WATCH. */
struct event {
    enum cwi_kind kind;
    uint32_t id;
    unsigned part;
    struct thread who;
    uint64_t address, value;
    uint64_t order;                     /* its number in the log */
};

/* A memory range in each device run: of a buffer (recorded addresses), of a block's shared memory (offsets), or raw addresses. */
struct range {
    int32_t  buffer;                    /* -1: of none */
    bool     shared;
    uint64_t block;                     /* of shared memory */
    uint64_t at[2], size;
};

struct locate {
    const struct cwd_locate *o;
    struct cwl_side side[2];
    char folder[PATH_MAX];
    uint32_t *same;                     /* see cwt_create */
    struct cwd_difference element;
    struct cw_progress progress;        /* all: what is foreseen */
    struct cwd_error e;
};

/* locate_text.c */
void say_element(const struct locate *l);
/* "thread (27,0,0) of block (0,3,0)" */
void thread_text(const struct locate *l, struct thread t, char *out, size_t size);
/* "blur.cu:41 (module.ptx:212: st.global.f32 [%rd9], %f12)" */
void place_text(const struct locate *l, unsigned side, uint32_t id, uint32_t nth, char *out, size_t size);
void range_text(const struct locate *l, const struct range *r, char *out, size_t size);
void say_difference(const struct locate *l, const struct cwt_difference *d, const char *whose);
/* A known reason why this instruction may legitimately differ, or NULL. */
void say_reason(const struct locate *l, const struct cwt_difference *d);
/* The rewritten kernel does not differ any more. */
void say_vanished(const struct locate *l);
/* Instructions that leave no records. */
void say_hidden(const struct locate *l);

#endif
