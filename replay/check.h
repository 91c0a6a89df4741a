/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --memcheck, --racecheck, --initcheck, --synccheck: what a launch does wrong, from the records of CWI_CHECK. */
#ifndef CWD_CHECK_H
#define CWD_CHECK_H

#include "replay/side.h"

enum cwc_what { CWC_MEMORY = 1, CWC_RACES = 2, CWC_UNINITIALISED = 4, CWC_SYNC = 8 };

struct cwc_report {
    struct cw_buf lines;                /* findings, each with its evidence */
    struct cw_buf notes;                /* what was not looked at */
    unsigned found;                     /* kinds of findings, one for each place in the text */
    unsigned kinds;                     /* of enum cwc_what */
};

/* Run a parsed side's launch with checks (bits of enum cwc_what). cwc_report_finish in any case. */
cw_result cwc_run(struct cwl_side *s, unsigned what, struct cwc_report *r, struct cwd_error *e) CW_MUST_CHECK;
void cwc_report_finish(struct cwc_report *r);

/* The command. Exit status: 0 nothing found, 1 something is, 2 trouble. */
int cwc_check(const char *file, const char *on, unsigned what);

#endif
