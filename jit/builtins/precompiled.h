/* SPDX-License-Identifier: Apache-2.0
 * Machine code of functions that kernels call for matrix products, approximations, divisions, printing, heap and textures, made when
 * CUDAway is built (jit/builtins/precompile): compiling one takes LLVM 400,000 instructions or more each time. Private to jit/. */
#ifndef CWJ_BUILTINS_PRECOMPILED_H
#define CWJ_BUILTINS_PRECOMPILED_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"

/* A function in AMD's C calling convention, without its first waits and its return: it ends by reaching its end. It takes and returns
 * 32-bit or 64-bit integers or pointers in VGPRs, preserves the return address and the stack pointer, and uses `stack` bytes per lane from
 * the latter on. */
struct gcn_precompiled {
    const char *cpu, *name;     /* NULL: end of the list */
    const char *registers;      /* registers that it overwrites, by LLVM's names */
    const uint32_t *code;
    uint32_t words;
    uint32_t stack;
    bool memory;                /* accesses memory; otherwise it computes, with at most the module's constants */
    int16_t table;              /* the first of two SGPRs with the address of a table, a constant of the module; -1: no table */
};
/* Weak: programs that are not linked with the list (the one that makes it) compile the functions. */
extern const struct gcn_precompiled gcn_precompiled_functions[] __attribute__((weak));

/* Defined only by the program that makes the list, which compiles functions without their callers: gets a line for each function
 * (jit/llvm/amdgpu/precompiled_facts.cpp). */
extern struct cw_buf gcn_precompiled_facts __attribute__((weak, visibility("hidden")));

/* Suffix of the name of a precompiled function that also exists for inlining. */
#define EMIT_CALLED ".called"

/* Attribute of such a function: its registers, for jit/llvm/amdgpu/precompiled.cpp. */
#define EMIT_OVERWRITES "cudaway-overwrites"
/* Attribute: its stack in bytes. */
#define EMIT_STACK "cudaway-stack"

/* Attribute of a device library function: preserve the return address registers if possible. */
#define EMIT_KEEPS_RETURN "cudaway-keeps-return"

#ifdef __cplusplus
}
#endif
#endif
