/* SPDX-License-Identifier: Apache-2.0
 * Output of printf and assert: a FIFO in memory that kernels write and the loader of AMD code reads; its address is in the code object's
 * variable cudaway_fifo. While that is 0, vprintf returns -1, and a failed assertion only ends the kernel.
 *
 * FIFO: u32 bytes taken (0 at first), u32 capacity, then that many bytes for records, zero at first. Record, aligned to 8: u32 size in
 * bytes, a multiple of 8, stored last (0 while incomplete), u32 kind, u64: a printf's format or 0, then
 *   CWD_PRINT_FORMAT  the arguments as CUDA packs them (each at its own alignment, 4 or 8 bytes), padded to 8 bytes;
 *   CWD_PRINT_ASSERT  u64 message, file and function, u32 line, %ctaid and %tid, x, y and z each, u32 unused.
 * Strings are addresses in device memory. A record that does not fit is dropped; `taken` counts it. */
#ifndef CWJ_BUILTINS_PRINT_H
#define CWJ_BUILTINS_PRINT_H

#include <stdint.h>

enum { CWD_PRINT_HEAD = 8, CWD_PRINT_RECORD = 16 };            /* bytes before the records, and before a record's arguments */
enum { CWD_PRINT_FORMAT = 0, CWD_PRINT_ASSERT = 1 };           /* kinds */

#endif
