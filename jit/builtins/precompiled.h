/* SPDX-License-Identifier: Apache-2.0
 * Machine code of functions that kernels call for matrix products, approximations, divisions and to print, made when CUDAway is built (jit/builtins/precompile): LLVM takes some 400,000
 * instructions and more for each, every time. Private to jit/. */
#ifndef CWJ_BUILTINS_PRECOMPILED_H
#define CWJ_BUILTINS_PRECOMPILED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function in AMD's C calling convention without its first waits and its return, where it is left at its end. It takes and returns integers of 32 or
 * 64 bits, or pointers, in vector registers, leaves the return address and the stack pointer as they are, and has `stack` bytes a lane from the latter on. */
struct gcn_precompiled {
    const char *cpu, *name;     /* NULL: the list's end */
    const char *registers;      /* what it overwrites, as LLVM calls them */
    const uint32_t *code;
    uint32_t words;
    uint32_t stack;
    bool memory;                /* it reads or writes some; else it computes, with constants of the module at most */
    int16_t table;              /* the first of two scalar registers with the address of a table, a constant of the module; -1: it has none */
};
/* Weak: programs that are not linked with the list (the one that makes it) have their functions compiled. */
extern const struct gcn_precompiled gcn_precompiled_functions[] __attribute__((weak));

/* Defined only by the program that makes the list: it takes functions as they are, without their callers. */
extern const bool gcn_makes_precompiled __attribute__((weak, visibility("hidden")));

/* What follows in the name of a function that is precompiled code of one that is also inlined. */
#define EMIT_CALLED ".called"

/* The attribute of such a function that holds its registers, for jit/llvm/amdgpu/guards.cpp. */
#define EMIT_OVERWRITES "cudaway-overwrites"
/* And one for its stack. */
#define EMIT_STACK "cudaway-stack"

/* The attribute of a function, of the device library, that is to leave its return address where it is, if it can. */
#define EMIT_KEEPS_RETURN "cudaway-keeps-return"

#ifdef __cplusplus
}
#endif
#endif
