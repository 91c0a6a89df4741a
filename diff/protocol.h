/* SPDX-License-Identifier: Apache-2.0
 * Between the compared program and cudaway-diff: a Unix socket in the folder CUDAWAY_DIFF_DIR. A connection carries one line
 * and, when that has been handled, an answer of one byte: CWD_DIFF_YES, or to "A" also CWD_DIFF_NO.
 *
 *   "A " KERNEL                         shall this launch be compared?
 *   "D " LAUNCH " " NAME " " KERNEL     compare this dump, a file in the folder, whose NAME has no spaces; it may be gone after the answer
 *   "N " TEXT                           this launch is not compared, and why */
#ifndef CWD_DIFF_PROTOCOL_H
#define CWD_DIFF_PROTOCOL_H

#define CWD_DIFF_SOCKET "socket"
enum { CWD_DIFF_LINE = 8192, CWD_DIFF_YES = 'y', CWD_DIFF_NO = 'n' };

#endif
