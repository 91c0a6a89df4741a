/* SPDX-License-Identifier: Apache-2.0
 * vprintf and __assertfail for AMD devices: a PTX module, linked to programs that call them. It writes records to the FIFO (output.c)
 * whose address is in its variable cudaway_fifo. While that is 0, vprintf returns -1 and prints nothing, and __assertfail just traps. */
#ifndef CUDAWAY_IMPL_HIP_OUTPUT_PTX_H
#define CUDAWAY_IMPL_HIP_OUTPUT_PTX_H

extern const char hip_device_ptx[];

#endif
