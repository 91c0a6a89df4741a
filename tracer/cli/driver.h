/* SPDX-License-Identifier: Apache-2.0
 * Which CUDA driver a program would find. */
#ifndef CW_TRACE_DRIVER_H
#define CW_TRACE_DRIVER_H

/* The file that dlopen("libcuda.so.1") gives a program here and that is not CUDAway's; NULL: there is none. malloc'd. It is loaded in a
 * process of its own, so nothing of it runs in the caller's. */
char *driver_of_system(void);

#endif
