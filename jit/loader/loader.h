/* SPDX-License-Identifier: Apache-2.0
 * Kernels for this CPU: compile them (or take them from the disk cache), load them into the process, find their entry. Private to jit/. */
#ifndef CWJ_LOADER_LOADER_H
#define CWJ_LOADER_LOADER_H

#include "jit/jit.h"

/* See cwj_api. Thread-safe; holds the program's lock while it reads the program's IR. */
cw_result cwj_host_compile(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, const struct cwj_host_runtime *rt,
                           struct cwj_host_code **out, struct cwj_diags *diags) CW_MUST_CHECK;
void cwj_host_release(struct cwj_host_code *code);

/* ---- between the files of jit/loader ------------------------------------------------------------------------------------ */

/* Load an object; emit.h has the names of its entry and info. The caller unloads *out. */
struct cwj_loaded;
cw_result cwj_host_load(const void *object, size_t size, const struct cwj_host_runtime *rt, struct cwj_loaded **out,
                        cwh_kernel_fn **run, struct cwj_diags *diags) CW_MUST_CHECK;
void cwj_host_unload(struct cwj_loaded *l);

/* The names and addresses of C functions that compiled code may call (math.h, string.h, compiler support). */
struct cwj_support { const char *name; void *address; };
extern const struct cwj_support cwj_support_functions[];
extern const unsigned cwj_support_count;

/* CUDAWAY_JIT_DUMP: write `size` bytes to <folder>/<kernel>-<key>.<suffix>; nothing when the variable is unset. */
bool cwj_dump_enabled(void);
void cwj_dump(const char *kernel, const uint8_t key[32], const char *suffix, const void *data, size_t size);

#endif
