/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --memcheck, --racecheck, --initcheck, --synccheck: what a launch does wrong, from the records of CWI_CHECK. */
#ifndef CWD_CHECK_H
#define CWD_CHECK_H

#include "replay/side.h"

enum cwc_what {
    CWC_MEMORY = 1, CWC_RACES = 2, CWC_UNINITIALISED = 4, CWC_SYNC = 8,
    CWC_MEETINGS = 16,                  /* alone, for --explain: no faults, but what the order of threads decides */
};

/* A store to global memory with no other store to the same bytes ordered behind it: its value may be what stays. Only where there are
 * several. */
struct cwc_last {
    uint64_t address, value;
    uint32_t bytes, id;
};
enum { CWC_MEETS_READING = 1, CWC_MEETS_WRITING = 2 };

struct cwc_report {
    struct cw_buf lines;                /* findings, each with its evidence */
    struct cw_buf notes;                /* what was not looked at */
    unsigned found;                     /* kinds of findings, one for each place in the text */
    unsigned kinds;                     /* of enum cwc_what */
    /* With CWC_MEETINGS: by instruction of the program, CWC_MEETS_ bits of accesses that nothing but .volatile accesses or atomics to the
     * same bytes orders. */
    uint8_t *meets;
    struct cwc_last *last;
    uint64_t nlast;
};

/* Run a parsed side's launch with checks (bits of enum cwc_what). cwc_report_finish in any case. */
cw_result cwc_run(struct cwl_side *s, unsigned what, struct cwc_report *r, struct cwd_error *e) CW_MUST_CHECK;
void cwc_report_finish(struct cwc_report *r);

/* The command. Exit status: 0 nothing found, 1 something is, 2 trouble. */
int cwc_check(const char *file, const char *on, unsigned what);

#endif
