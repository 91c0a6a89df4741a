/* SPDX-License-Identifier: Apache-2.0
 * nvJitLink's calls (NVIDIA's manual of it); no header of NVIDIA's is needed. */
#ifndef TESTS_NVJITLINK_CALLS_H
#define TESTS_NVJITLINK_CALLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct linker *handle;
int nvJitLinkCreate(handle *h, uint32_t n, const char **options);
int nvJitLinkDestroy(handle *h);
int nvJitLinkAddData(handle h, int type, const void *data, size_t size, const char *name);
int nvJitLinkComplete(handle h);
int nvJitLinkGetLinkedCubinSize(handle h, size_t *size);
int nvJitLinkGetLinkedCubin(handle h, void *to);
int nvJitLinkGetLinkedPtxSize(handle h, size_t *size);
int nvJitLinkGetLinkedPtx(handle h, char *to);
int nvJitLinkGetErrorLogSize(handle h, size_t *size);
int nvJitLinkGetErrorLog(handle h, char *to);

#endif
