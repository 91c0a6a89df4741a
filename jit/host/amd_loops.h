/* SPDX-License-Identifier: Apache-2.0
 * A bound on LLVM's strength reduction of loops in AMD code. Private to jit/host. */
#ifndef CWJ_HOST_AMD_LOOPS_H
#define CWJ_HOST_AMD_LOOPS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Once a process, before passes are made; no other thread may be in LLVM. */
void cwj_amd_bound_loops(void);

#ifdef __cplusplus
}
#endif
#endif
