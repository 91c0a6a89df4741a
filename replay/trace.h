/* SPDX-License-Identifier: Apache-2.0
 * Comparing what one thread did on two devices: the records of CWI_TRACE (instrument.h), up to the first that differs.
 *
 * Addresses differ between devices and are no difference: values that name the same byte of memory that was moved, addresses of
 * local and shared memory and of functions, and what is computed from those alone. A load through such an address is compared. */
#ifndef CWT_TRACE_H
#define CWT_TRACE_H

#include "replay/instrument.h"

#define CWT_NO_ID UINT32_MAX

/* Two ranges that are the same memory, or two handles of the same object (size 1). */
struct cwt_place {
    uint64_t at[2], size;
};

struct cwt_operand {
    uint32_t reg[2];                    /* in the functions of the two programs; CWT_NO_ID: the instruction there has fewer */
    uint64_t value[2];
    bool known[2];                      /* the value is; else something that leaves no record made it */
    bool differs, address;              /* as an address does */
};

enum cwt_found {
    CWT_NOTHING,                        /* the traces are the same */
    CWT_VALUE,                          /* a result */
    CWT_BRANCH,                         /* a branch, though its predicate is not known to differ */
    CWT_FLOW,                           /* the threads go on at different instructions */
};

struct cwt_difference {
    enum cwt_found found;
    uint32_t id[2];                     /* of the instruction; FLOW: the next ones, CWT_NO_ID: it ended */
    uint32_t nth;                       /* which execution of it by this thread, from 1 */
    unsigned part;                      /* of its result */
    uint64_t value[2];
    bool has_place;
    uint64_t place[2];                  /* what a load or atomic read: CWI_PLACE */
    struct cwt_operand operand[32];
    uint32_t noperands;
    uint32_t branch;                    /* FLOW: the last branch that both came by, or CWT_NO_ID */
    uint32_t address_id;                /* NOTHING: the first instruction whose results differ as addresses do, or CWT_NO_ID */
};

struct cwt;

/* As which type a register of the instruction is best read: the instruction's, where that is a number and fits. */
unsigned cwt_type(const struct cwi_inst *i, uint32_t reg, bool result);

/* `same[id]`: number in the second program of instruction `id` of the first, or CWT_NO_ID; NULL: the programs are the same.
 * Floats that are at most `ulp` units in the last place apart are the same. What is handed in has to live as long. NULL: out of
 * memory. */
struct cwt *cwt_create(const struct cwi_program *a, const struct cwi_program *b, const uint32_t *same, const struct cwt_place *places,
                       uint32_t nplaces, uint32_t ulp);
void cwt_destroy(struct cwt *c);
/* Stop, with nothing found, at the nth result of this instruction of the first program. */
void cwt_stop_at(struct cwt *c, uint32_t id, uint32_t nth);
/* Go on with these records, pairs of key and ~value; true: it is decided. `last`: there are no more. False as well when memory is
 * out, see cwt_failed. */
bool cwt_feed(struct cwt *c, const uint64_t *a, uint64_t na, const uint64_t *b, uint64_t nb, bool last);
bool cwt_failed(const struct cwt *c);
const struct cwt_difference *cwt_result(const struct cwt *c);

/* What the instruction read on both sides when it was executed last; false: it was not, or that is not known. */
bool cwt_place(const struct cwt *c, uint32_t id, uint64_t place[2]);

/* Which instructions of two texts are the same: aligned by function name, then by opcode with its modifiers. NULL: out of memory. */
uint32_t *cwt_align(const struct cwi_program *a, const struct cwi_program *b);

#endif
