/* SPDX-License-Identifier: Apache-2.0
 * Registration done again: where a copy is redirected after the constructors of an object ran, those that told the copy of the object's
 * kernels and variables are called once more, and tell ours. The object is the one that holds the copy or, where the copy is a shared
 * library, any that imports its functions. */
#ifndef CW_REDIRECT_REGISTER_H
#define CW_REDIRECT_REGISTER_H

#include "impl/runtime/redirect/copy.h"

enum { CW_REGISTER_TARGETS = 8 };

/* An object that registers device code. Addresses are as linked. */
struct cw_registrant {
    const char *path, *shown;       /* its file; its name, for messages */
    uintptr_t   bias;
    const struct cw_copy *copy;     /* that it holds; NULL: it imports */
    uint64_t    linked_counter;     /* of crt/link.stub, or 0 */
    uint64_t    targets[CW_REGISTER_TARGETS];   /* what code refers to that calls __cudaRegisterFatBinary: it, its PLT entry, its GOT slot */
    size_t      ntargets;
};

/* The object that holds the copy. */
void cw_registrant_of_copy(const struct cw_copy *c, struct cw_registrant *out);
/* An object that imports __cudaRegisterFatBinary. False: it does not. */
bool cw_registrant_of_importer(const struct cw_elf *e, const char *path, uintptr_t bias, struct cw_registrant *out);

struct cw_registrations {
    uint64_t *list;                 /* constructors, as linked, in their order; malloc'd */
    size_t    count;
    size_t    ran;                  /* how many of them, from the first, have run to their end */
};

/* Constructors of the object that register device code: an entry of .init_array that is named so, or whose code refers to one of the
 * targets. `running` lists functions (addresses in memory) that are on this thread's stack: where one of them is a constructor of the
 * object, it and those after it have not run to their end. CW_ERR_UNSUPPORTED after a message: registration cannot be told from other
 * constructors, or not be repeated. */
cw_result cw_register_find(const struct cw_registrant *o, const struct cw_elf *e, const uintptr_t *running, size_t nrunning, struct cw_registrations *out) CW_MUST_CHECK;

/* Call those that have run. */
void cw_register_again(const struct cw_registrant *o, const uintptr_t *running, size_t nrunning);

#endif
