/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --reproducer: a dump as a C program over the driver API. */
#ifndef CWD_REPRODUCER_H
#define CWD_REPRODUCER_H

/* Write the launch of dump `file` as a program to `out`. Exit status: 0 it is written, 2 trouble. */
int cwd_reproducer(const char *file, const char *out);

#endif
