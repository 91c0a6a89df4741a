/* SPDX-License-Identifier: Apache-2.0
 * Pages of the program's own file (docs/performance.md, "Memory of a compilation"). */
#ifndef CC_PAGES_H
#define CC_PAGES_H

/* From now on the system maps of the program's file just the pages that are touched, and forgets those that it mapped beside others before. Once,
 * before there are other threads. Does nothing where the system cannot (before Linux 6.7, or where it is forbidden). */
void cc_pages_as_touched(void);

#endif
