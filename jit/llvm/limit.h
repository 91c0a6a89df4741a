/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_COMPILE_LIMIT: bounds on the time and the memory of one compilation. Nothing can stop LLVM in the middle of a pass and leave it usable, so with
 * a limit each compilation runs in a child process (fork), which is killed when it is over (docs/contain.md). Without a limit there is no child.
 * Private to jit/. */
#ifndef CWJ_LLVM_LIMIT_H
#define CWJ_LLVM_LIMIT_H

#include "impl/base/buf.h"
#include "jit/llvm/contain.h"

#include <stdint.h>

/* One compilation. In the child `work` runs, then `pack` appends what it leaves in *user; in this process `unpack` takes that. */
struct cwj_limited {
    cw_result (*work)(void *user);
    void (*pack)(void *user, struct cw_buf *out);
    bool (*unpack)(void *user, const char *data, size_t size);      /* false: out of memory */
    void *user;
    pthread_mutex_t *lock;          /* protects what the work reads; it is taken before the process divides, so that the child finds it whole and free */
    const char *what;               /* for the message: "kernel k" */
    const char *largest;            /* the largest function, its number of instructions, and where it begins in the PTX */
    uint32_t instructions, line;
};

/* As cwj_contain. Over the limit: CW_ERR_LLVM with P5916. No child can be made: CW_ERR_NOMEM with P5917. */
cw_result cwj_contain_limited(enum cwj_contain_kind kind, const struct cwj_limited *l, struct cwj_diags *diags) CW_MUST_CHECK;

/* Is there a limit? */
bool cwj_limit_set(void);

/* What the compilation does now, for the message; elsewhere than in a child it does nothing. */
void cwj_limit_step(const char *step, const char *name);

/* Around work on LLVM in this process, so that no child begins with LLVM's locks held by a thread that it does not have. */
void cwj_limit_enter(void);
void cwj_limit_leave(void);

#endif
