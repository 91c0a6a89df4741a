/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --step: reads commands from a terminal or a script, and runs them. */
#ifndef CWS_STEP_READER_H
#define CWS_STEP_READER_H

#include <stdbool.h>
#include <stdint.h>

enum { CWS_LONGEST = 4000 };            /* characters of a command */

struct cwd_step {
    const char *file, *on;
    const char *source;                 /* folder of the source files, or NULL */
    uint64_t record_bytes;
    bool json;
};

/* The exit status: 0; 2: trouble, or a script had a wrong command. */
int cwd_step(const struct cwd_step *o);

/* Names of commands, for completion; NULL: there are no more. */
const char *cws_command_name(unsigned n);
struct cws_ui;
void cws_ui_finish(struct cws_ui *u);

#endif
