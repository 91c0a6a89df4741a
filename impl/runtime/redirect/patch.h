/* SPDX-License-Identifier: Apache-2.0
 * Redirection of one copy of NVIDIA's runtime: each function that our Runtime has gets a jump at its entry, through a table near it,
 * to ours, which is loaded when the first of them is called. Nothing is written before every entry was found to hold what its
 * file holds there. */
#ifndef CW_REDIRECT_PATCH_H
#define CW_REDIRECT_PATCH_H

#include "impl/runtime/redirect/copy.h"

struct cw_runtime;                  /* our Runtime of one major version */

/* Our Runtime for copies of a major version: the file and what it exports, read once and kept. NULL after one message when there
 * is none; *again: memory or descriptors were short. Thread safe. */
struct cw_runtime *cw_runtime_for(unsigned major, bool *again);
/* Whether a file is one of ours: beside this code, or what CUDAWAY_RUNTIME_LIBRARY names. Also where that cannot be found out. */
bool cw_runtime_is_ours(const char *path);
/* What this and others ask the dynamic loader for, which waits while another thread loads a library: call it before locks are taken. */
void cw_runtime_know_folder(void);
bool cw_runtime_exports(const struct cw_runtime *r, const char *name);
/* Load it into the program's own namespace, if need be, and look a function up. NULL after a message when that fails. Takes the
 * dynamic linker's lock. */
void *cw_runtime_symbol(struct cw_runtime *r, const char *name);

enum cw_patch_state {
    CW_PATCH_NONE,                  /* nobody did */
    CW_PATCH_OURS,                  /* done before, in this process by whomever */
    CW_PATCH_REFUSED,               /* its code is not what its file has; said */
};
/* Compare the copy's code in memory with its file. */
enum cw_patch_state cw_patch_check(const struct cw_copy *c, const struct cw_runtime *r);
/* Write the jumps. CW_ERR_UNSUPPORTED after a message when memory near the copy or its protection cannot be had. */
cw_result cw_patch_apply(struct cw_copy *c, struct cw_runtime *r) CW_MUST_CHECK;
/* Take one function's jump out, or put it back in. False: it cannot be written, or has none. */
bool cw_patch_lift(const struct cw_copy *c, const struct cw_copy_function *f, bool lift);
/* While a thread registers device code again, what others call for the first time waits for it (up to ten seconds: it may wait for them). */
void cw_patch_hold(bool hold);
/* Whether the jumps are where they were written: not so where the object was unloaded and came back at the same address. */
bool cw_patch_in_place(const struct cw_copy *c);
/* Give the table back; the copy's code must be gone. */
void cw_patch_forget(struct cw_copy *c);

/* Read memory of this process that may not be there. */
bool cw_memory_read(uintptr_t from, void *to, size_t size) CW_MUST_CHECK;

#endif
