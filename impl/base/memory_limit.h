/* SPDX-License-Identifier: Apache-2.0
 * How much memory the process may have: a program that takes what a device reports is killed where that is more. */
#ifndef CW_MEMORY_LIMIT_H
#define CW_MEMORY_LIMIT_H

#include <stdint.h>

/* The least of RAM, what the process's control groups and those above them allow, and its limits of addresses and of data (RLIMIT_AS, RLIMIT_DATA); of the
 * first call. */
uint64_t cw_memory_limit(void);
/* What the control groups of both versions allow, mounted where they usually are; UINT64_MAX: any amount. A group that is not to be seen, because it lies outside
 * of a container, does not count. root: "", or a folder that stands for "/". */
uint64_t cw_cgroup_memory(const char *root);

#endif
