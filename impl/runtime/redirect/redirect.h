/* SPDX-License-Identifier: Apache-2.0
 * Redirection of NVIDIA's CUDA Runtime inside of programs and libraries to ours, as the driver and the audit module ask for it.
 * docs/static-runtime.md has the design. */
#ifndef CW_REDIRECT_H
#define CW_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

struct cw_copy;

/* Whether CUDAWAY_STATIC_RUNTIME leaves it on. */
bool cw_redirect_enabled(void);

/* The file of the program itself, whose name the dynamic linker leaves empty. */
const char *cw_redirect_program(void);

/* Redirect the object's copy, if it has one, before its constructors run. `path` is its file. Reports on the log. Allocates; the
 * dynamic linker's lock may be held. Returns the copy for cw_redirect_forget, or NULL: nothing was redirected. */
struct cw_copy *cw_redirect_object(const char *path, uintptr_t bias);
/* The object is about to go; its destructors ran. Takes NULL. */
void cw_redirect_forget(struct cw_copy *c);

/* Where the object is NVRTC: let it give PTX to programs that ask for machine code (compiler.c). Reports on the log. */
void cw_redirect_compiler(const char *path, uintptr_t bias);

/* Called by driver functions with which a runtime begins (cuInit, cuDriverGetVersion, cuGetProcAddress, cuGetExportTable): redirect
 * copies in objects that were loaded since the last time, and register their device code again. True: the driver's function must
 * fail, because it was called by a copy that our Runtime takes over when the call in progress returns. */
bool cw_redirect_at_driver_call(void);

#endif
