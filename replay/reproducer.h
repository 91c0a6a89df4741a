/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --reproducer: a dump as a C program over the driver API. */
#ifndef CWD_REPRODUCER_H
#define CWD_REPRODUCER_H

struct cwd_dump;

/* Write the launch of dump `file` as a program to `out`. Exit status: 0 it is written, 2 trouble. */
int cwd_reproducer(const char *file, const char *out);
/* The same of a launch in memory. `from`: what it is of; `out_name`: what the report calls `out`; `recorded_on`: where its results come from. */
int cwd_reproducer_of(const struct cwd_dump *d, const char *from, const char *recorded_on, const char *out, const char *out_name);

#endif
