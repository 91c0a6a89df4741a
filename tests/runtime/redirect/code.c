/* SPDX-License-Identifier: Apache-2.0
 * Device code and its registration, as nvcc writes them into every object file (LINKED: with -rdc=true, two files and what links them),
 * or as clang does (CLANG). FILE_ID tells the files apart. */
#include "tests/runtime/redirect/runtime.h"

#include <stdlib.h>

struct wrapper { unsigned magic, version; const void *data, *list; };

#define NAME2(a, b) a##b
#define NAME(a, b) NAME2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

void NAME(kernel, FILE_ID)(void);
void
NAME(kernel, FILE_ID)(void)
{
}

static const unsigned long long container[2] __attribute__((section(".nv_fatbin,\"a\",@progbits#"))) = { 0x00100001ba55ed50ull, 0 };
static const struct wrapper wrapper __attribute__((section(".nvFatBinSegment"), used)) = { 0x466243b1, 1, container, NULL };

#ifdef LINKED
static const unsigned relocatable[1] __attribute__((section("__nv_relfatbin,\"a\",@progbits#"), used)) = { 1 };
static void register_all(void **handle);
void __cudaRegisterLinkedBinary_link(const struct wrapper *, void (*)(void **));
static void __sti____cudaRegisterAll(void) __attribute__((constructor));
static void
__sti____cudaRegisterAll(void)
{
    __cudaRegisterLinkedBinary_link(&wrapper, register_all);
}
#else
static void **handle;

static void
unregister(void)
{
    __cudaUnregisterFatBinary(handle);
}

static void register_all(void **h);
#ifdef CLANG
#define CONSTRUCTOR __cuda_module_ctor
#else
#define CONSTRUCTOR __sti____cudaRegisterAll
#endif
static void CONSTRUCTOR(void) __attribute__((constructor));
static void
CONSTRUCTOR(void)
{
    handle = __cudaRegisterFatBinary((void *)&wrapper);
    register_all(handle);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(unregister);
}
#endif

static void
register_all(void **h)
{
    __cudaRegisterFunction(h, (const char *)NAME(kernel, FILE_ID), (char *)"kernel" TEXT(FILE_ID), "kernel" TEXT(FILE_ID), -1, NULL, NULL, NULL, NULL, NULL);
}
