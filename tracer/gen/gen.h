/* SPDX-License-Identifier: Apache-2.0
 * The tracer's emitters. They read a model that loaded without complaint. */
#ifndef CW_TRACER_GEN_H
#define CW_TRACER_GEN_H

#include "impl/api/gen/model.h"

void emit_trace_exports(const struct model *m, struct cw_buf *out);
void emit_trace_points(const struct model *m, struct cw_buf *out);
void emit_trace_probes(const struct model *m, struct cw_buf *out);
void emit_status(const struct model *m, struct cw_buf *out);

#endif
