/* SPDX-License-Identifier: Apache-2.0
 * Between the compared program and cudaway-diff: a Unix socket in the folder CUDAWAY_DIFF_DIR. A connection carries one line
 * and, when that has been handled, an answer of one byte.
 *
 *   "D " LAUNCH " " PATH " " KERNEL     compare this dump; PATH has no spaces and may be gone after the answer
 *   "N " TEXT                           this launch is not compared, and why */
#ifndef CWD_DIFF_PROTOCOL_H
#define CWD_DIFF_PROTOCOL_H

#define CWD_DIFF_SOCKET "socket"
enum { CWD_DIFF_LINE = 8192 };

#endif
