/* SPDX-License-Identifier: Apache-2.0
 * The order in which LLVM asks whether two addresses may be the same. Private to jit/host. */
#ifndef CWJ_HOST_AMD_SPACES_H
#define CWJ_HOST_AMD_SPACES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Once for the process, when the target is initialised: functions for AMD are asked about their address spaces first. */
void cwj_amd_spaces_first(void);

#ifdef __cplusplus
}
#endif
#endif
