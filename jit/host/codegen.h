/* SPDX-License-Identifier: Apache-2.0
 * LLVM's code generator without LLVMTargetMachineEmitToMemoryBuffer, which resets the module's data layout. Private to jit/. */
#ifndef CWJ_HOST_CODEGEN_H
#define CWJ_HOST_CODEGEN_H

#ifdef __cplusplus
extern "C" {
#endif

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

/* amdgcn: take address spaces 7 to 9, buffer resources, out of the module's data layout. The emitter makes no pointers to them, but
 * LLVM's alias analysis counts in numbers as wide as the widest pointer of any space, which are 192 bits, are on the heap, and
 * are several times slower than 64. */
void cwj_codegen_narrow_layout(LLVMModuleRef m);

struct cwj_codegen_how {
    bool ends;                  /* the process does, soon, and its memory need not be given back */
    bool *moved;                /* unless NULL: set where the code is not to be used, and the module is to be made again and compiled with
                                   another machine and scalar registers not in lanes */
    void (*trim)(void);         /* unless NULL: called where much of what a long function took is free again */
};

/* Object code or assembly. False: the target cannot make it. The caller disposes of *out. */
bool cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, struct cwj_codegen_how how, LLVMMemoryBufferRef *out);

/* Is the calling thread in cwj_codegen, and makes assembly? */
bool cwj_codegen_is_text(void);

/* amdgcn: whether scalar registers that find no place may go to lanes of vector registers, or else to memory. To be said before anything is done
 * with the module. */
void cwj_codegen_scalars_in_lanes(LLVMModuleRef m, LLVMTargetMachineRef tm, bool yes);

#ifdef __cplusplus
}
#endif
#endif
