/* SPDX-License-Identifier: Apache-2.0
 * The passes that turn the emitter's module into an object: one table of passes over LLVM IR per target (pipeline.c), and for AMD one of
 * passes between those of LLVM's code generator (amdgpu/machine_passes.cpp). */
#ifndef CWJ_LLVM_PIPELINE_H
#define CWJ_LLVM_PIPELINE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"
#include "jit/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

struct cw_sha256;

/* One module in the pipeline. The caller owns everything in it; `passes` may be NULL: all passes, nothing printed. */
struct cwj_pipeline {
    LLVMModuleRef m;
    LLVMTargetMachineRef tm;
    enum cwj_target target;
    unsigned opt_level;                     /* 0..3 */
    bool quick;                             /* at level 0, vectors: required passes run all the same */
    unsigned native_floats;                 /* enum cwj_native */
    const struct cwj_pass_options *passes;
    struct cwj_diags *diags;
    bool stopped;                           /* out: stopped after a pass, whose output is in passes->printed */
};

/* Set the triple and the layout, verify, and run the table of the target. */
cw_result cwj_pipeline_run(struct cwj_pipeline *p) CW_MUST_CHECK;

/* Run one pass of the target's table alone, whatever its condition, for tests. The module must be valid and have its triple and layout; the
 * forms of IR that the pass needs are assumed to hold. *changed: the pass needs the clean-up that follows it. CW_ERR_NOT_FOUND: no such
 * pass. */
cw_result cwj_pipeline_run_pass(struct cwj_pipeline *p, const char *name, bool *changed) CW_MUST_CHECK;

/* Object or assembly into a memory buffer that the caller disposes of. Adds the sizes of the functions' stack frames to *frames, unless
 * NULL (host only, after cwj_host_watch_frames). */
cw_result cwj_pipeline_codegen(struct cwj_pipeline *p, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out, uint64_t *frames) CW_MUST_CHECK;

/* Append the passes of a target at a level as text, one per line: name, whether it may be skipped, when it runs and what it needs; and the
 * passes of LLVM's code generator with ours among them. */
cw_result cwj_pipeline_print(enum cwj_target target, const char *cpu, unsigned opt_level, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

/* Hash the options (NULL: none given) that change the code, for a cache key. */
void cwj_pass_options_hash(const struct cwj_pass_options *o, struct cw_sha256 *s);

/* The names of passes to skip, from the options or the environment; NULL: none. */
const char *cwj_skipped_passes(const struct cwj_pass_options *o);

/* Is `name` one of the comma-separated names in `list` (NULL: empty)? */
bool cwj_pass_in_list(const char *list, const char *name);

#endif
