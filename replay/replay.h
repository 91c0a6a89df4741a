/* SPDX-License-Identifier: Apache-2.0
 * Between the files of cudaway-replay. Each returns the program's exit status. */
#ifndef CWD_REPLAY_H
#define CWD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct cwd_dump;
struct cwd_tolerances;
struct cw_buf;

/* --info */
int cwd_info(const char *path);

/* --serve: for each path of a dump on standard input, which a NUL ends, run it and write what is found to standard output:
 *
 *   { text line that starts with a space }  differences and notes
 *   { JSON object in a line }               differences (cwd_difference_json), and causes that the kernel's instructions allow for
 *   "= " STATUS [" " text]                  0 same, 1 different, 2 could not be run (text says why)
 *
 * Output of kernels is discarded: the application's own run prints it. Ends with the input, and with `program`, a descriptor of a process; -1: its parent.
 *
 * With `checks`, bits of enum cwc_what, each dump is checked instead, and "1" says that something was found. Beside a dump may lie FILE.history, lines of
 * "live|freed ADDRESS SIZE TEXT": the program's allocations. */
int cwd_serve(const char *on, const struct cwd_tolerances *t, bool bounds, unsigned checks, int program);

/* A line of JSON that says which launch it is. */
void cwd_print_launch(const struct cwd_dump *d);

#endif
