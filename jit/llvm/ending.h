/* SPDX-License-Identifier: Apache-2.0
 * The end of a process while another of its threads compiles. exit() destroys the static variables of a shared LLVM, and LLVM uses them. Where LLVM
 * is linked in nothing of it is destroyed (jit/process.c), and these do nothing. Private to jit/. */
#ifndef CWJ_LLVM_ENDING_H
#define CWJ_LLVM_ENDING_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>

/* The calling thread may be the one that ends the process: have it wait for compilations first, at most a minute. Any thread, any number of
 * times; before each compilation and when a module is loaded. */
void cwj_ending_watch(void);

/* The process is ending: a compilation had better stop. */
bool cwj_ending(void);

/* Around a compilation. False: the process is ending, and it must not begin. */
bool cwj_ending_enter(void);
void cwj_ending_leave(void);

#ifdef __cplusplus
}
#endif
#endif
