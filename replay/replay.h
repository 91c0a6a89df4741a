/* SPDX-License-Identifier: Apache-2.0
 * Between the files of cudaway-replay. Each returns the program's exit status. */
#ifndef CWD_REPLAY_H
#define CWD_REPLAY_H

#include <stdint.h>

/* --info */
int cwd_info(const char *path);

/* --serve: for each line on standard input, the path of a dump, run it and write what is found to standard output:
 *
 *   { text line that starts with a space }  differences and notes
 *   "= " STATUS [" " text]                  0 same, 1 different, 2 could not be run (text says why)
 *
 * Output of kernels is discarded: the application's own run prints it. Ends with the input. */
int cwd_serve(const char *on, uint32_t ulp);

#endif
