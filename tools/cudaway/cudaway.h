/* SPDX-License-Identifier: Apache-2.0
 * What the files of the command `cudaway` share. Every sub-command returns the program's exit status. */
#ifndef CW_TOOL_CUDAWAY_H
#define CW_TOOL_CUDAWAY_H

#include "impl/base/buf.h"
#include "impl/base/program.h"

#include <stdbool.h>

/* Of a failure of ours, as env(1) has them; `run` gives the program's own status otherwise. */
enum { EXIT_USAGE = 2, EXIT_TOOL = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

extern const struct cw_program cudaway_program, run_command, info_command, signatures_command;

/* One line on standard error, "cudaway: ...". */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The folder of this program, and the one of the libraries (lib/cudaway); malloc'd, NULL when they are not there. */
char *program_folder(void);
char *library_folder(void);
/* malloc'd text; ends the program when memory runs out. */
char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2), malloc));

#endif
