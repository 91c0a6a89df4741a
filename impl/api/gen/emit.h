/* SPDX-License-Identifier: Apache-2.0
 * The emitters: each appends one generated file to a buffer. They read a model that loaded without complaint. */
#ifndef CW_API_GEN_EMIT_H
#define CW_API_GEN_EMIT_H

#include "impl/api/gen/model.h"

/* "CUdeviceptr *dptr", and the whole list ("void" when empty) or the bare names. */
void emit_declaration(struct cw_buf *out, const char *type, const char *name);
void emit_params(struct cw_buf *out, const struct function *f);
void emit_args(struct cw_buf *out, const struct function *f);
void emit_banner(struct cw_buf *out, const char *what);

/* The values of an enumeration in order, each once; the caller frees the array. NULL: out of memory. */
const struct enumerator **sorted_enumerators(const struct enumeration *e, unsigned *count);

void emit_header(const struct model *m, struct cw_buf *out);             /* impl/api/cuda.h */
void emit_table(const struct model *m, struct cw_buf *out);              /* cuda_table.h */
void emit_drv_prototypes(const struct model *m, struct cw_buf *out);     /* drv_prototypes.h */
void emit_exports(const struct model *m, struct cw_buf *out);            /* cuda_exports.c */
void emit_map(const struct model *m, struct cw_buf *out);                /* cuda.map */
void emit_meta(const struct model *m, struct cw_buf *out);               /* cuda_meta.c */
void emit_coverage(const struct model *m, struct cw_buf *out);           /* docs/coverage.md */
void emit_rt_prototypes(const struct model *m, struct cw_buf *out);      /* runtime_prototypes.h */
void emit_rt_exports(const struct model *m, unsigned library, struct cw_buf *out);  /* cudart_exports_N.c */
void emit_rt_map(const struct model *m, unsigned library, struct cw_buf *out);      /* cudart_N.map */
void emit_abi(const struct model *m, struct cw_buf *out);                /* a test program */

#endif
