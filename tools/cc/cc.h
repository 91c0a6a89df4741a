/* SPDX-License-Identifier: Apache-2.0
 * What the files of cudaway-cc share. Texts of errors go to standard error; each function returns false or NULL then. */
#ifndef CW_TOOL_CC_H
#define CW_TOOL_CC_H

#include "impl/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

void cc_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- heap.c ---- */

/* Choose malloc's heap by the size of the text to be compiled, before a thread allocates. */
void cc_heap_for(size_t text);

/* ---- source.c: CUDA C to PTX, by nvcc or clang ---- */

struct cc_source {
    const char *path, *compiler;        /* compiler: NULL for the one that is found here */
    const char **options;               /* for the compiler; NULL-terminated */
    unsigned sm;
};
bool cc_is_source(const char *path);
/* The PTX, malloc'd with a zero behind, and the names of the files that it was made from, each with a zero behind. */
char *cc_source_to_ptx(const struct cc_source *s, size_t *size, struct cw_buf *files);

/* ---- container.c: several code objects in one file, and files as source text ---- */

/* clang's offload bundle, which hipModuleLoad takes: begin, an entry for each processor, end. */
struct cc_object {
    const char *cpu;
    struct cw_buf code;
};
void cc_bundle(struct cw_buf *out, const struct cc_object *at, size_t n);

struct cc_kernel {
    const char *name;
    unsigned parameters, bytes;         /* how many, and the size of their block */
};
/* Source text that defines the bytes `symbol`, aligned to a page, and the table symbol_kernels. `language`: c, cpp or rust. */
bool cc_embed(struct cw_buf *out, const char *language, const char *symbol, const void *data, size_t size, const struct cc_kernel *kernels, size_t n);
/* A name for a C symbol from a file's: "a-b.cu" gives a_b. malloc'd. */
char *cc_symbol(const char *path);
/* A rule for make: `target` depends on these files, each with a zero behind. */
void cc_make_rule(struct cw_buf *out, const char *target, const struct cw_buf *files);

#endif
