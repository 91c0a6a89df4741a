/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_ISOLATE: kernels of the host device run in a process of their own (docs/isolation.md), the program `cudaway-kernels`, which has device memory
 * at the same addresses and nothing else of this one. Here is the side of the program: isolate.c has the process and what is told to it,
 * isolate_launch.c the launches. Thread: any. */
#ifndef CWH_ISOLATE_H
#define CWH_ISOLATE_H

#include "impl/host/exec.h"
#include "impl/texture.h"

/* From host_open on. */
bool cwh_isolated(void);
/* In host_open, before there is device memory: does CUDAWAY_ISOLATE ask for it? CWB_OK also if it does not; else why it cannot be is on the log. */
cwb_result cwh_isolate_open(void);
/* For a context: the number of the process, which is started if none runs. */
cwb_result cwh_isolate_start(uint64_t *process);
/* What compiled code calls there. */
const struct cwj_host_runtime *cwh_isolate_runtime(void);
/* Textures, which compiled code finds by their handles. */
cwb_result cwh_isolate_texture(const struct cw_texture *t);
void cwh_isolate_texture_gone(uint64_t handle);
/* What the process keeps for a context goes. */
void cwh_isolate_forget(uint64_t process, const struct cwb_context *c);
/* Launches stop between blocks. */
void cwh_isolate_stop(void);
void cwh_isolate_kill(void);

/* cwh_exec_run there. The result is as there; CWB_LAUNCH_FAILED also if the process ended, and then for all later launches of its contexts. */
void cwh_isolate_run(uint64_t process, const struct cwb_context *c, struct cwh_exec_launch *l, uint32_t param_size);

#endif
