/* SPDX-License-Identifier: Apache-2.0
 * Copies of NVIDIA's CUDA Runtime in programs and libraries: linked in from libcudart_static.a, or a libcudart.so.N that was
 * loaded by its full path. A copy is described by its functions: where each begins and how long it is. Only names, addresses and
 * sizes are read here; docs/static-runtime.md has the rules by which a copy is known. */
#ifndef CW_REDIRECT_COPY_H
#define CW_REDIRECT_COPY_H

#include "impl/runtime/redirect/elf.h"

enum cw_copy_source {
    CW_COPY_SYMBOLS,                /* .symtab */
    CW_COPY_EXPORTS,                /* .dynsym of a libcudart.so.N */
    CW_COPY_SIGNATURES,             /* patterns of a user's archive */
};

struct cw_copy_function {
    const char *name;               /* in cw_copy.text */
    uint64_t    address, size;      /* as linked, without the load bias; bytes */
};

struct cw_copy {
    char       *path;               /* of the file, for reading it */
    const char *shown;              /* the last part of its name, for messages */
    uintptr_t   bias;               /* what is added to linked addresses */
    unsigned    major;              /* 11, 12 or 13: whose structures and names it has */
    enum cw_copy_source source;
    struct cw_copy_function *functions;     /* by address */
    size_t      count;
    char       *text;               /* the names */
    uint64_t    linked_counter;     /* address of the counter of relocatable device code's registration, or 0 */
    struct cw_patch *patch;         /* patch.c; NULL: not redirected */
};

/* Look for a copy in a loaded object's file. CW_OK with *out NULL: there is none. CW_ERR_UNSUPPORTED: there is one whose
 * functions nothing describes. *out is the caller's, for cw_copy_destroy, which takes NULL. */
cw_result cw_copy_find(const char *path, uintptr_t bias, struct cw_copy **out) CW_MUST_CHECK;
/* The same of an open file; `path` is kept for messages. */
cw_result cw_copy_find_in(const struct cw_elf *e, const char *path, uintptr_t bias, struct cw_copy **out) CW_MUST_CHECK;
void cw_copy_destroy(struct cw_copy *c);
/* The function whose code holds the linked address; NULL when none does. */
const struct cw_copy_function *cw_copy_function_at(const struct cw_copy *c, uint64_t address);
const struct cw_copy_function *cw_copy_function_named(const struct cw_copy *c, const char *name);
/* The address of the counter of relocatable device code's registration, or 0. */
uint64_t cw_copy_linked_counter(const struct cw_elf_symbols *s);
/* "its symbol table" and the like, for messages. */
const char *cw_copy_source_text(enum cw_copy_source s);

/* 11, 12 or 13, by the names that a runtime has; `has` says whether there is one of that name. */
unsigned cw_copy_major(bool (*has)(const void *user, const char *name), const void *user);
/* Whether the name is one that the Runtime gives to its functions: cudaX, __cudaX. */
bool cw_copy_is_runtime_name(const char *name);

#endif
