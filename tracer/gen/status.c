/* SPDX-License-Identifier: Apache-2.0
 * What CUDAway implements of an API, as rows of C for tracer/cli/api_status.c: name, status, and the reason where it is partial or not supported. */
#include "tracer/gen/gen.h"

void
emit_status(const struct model *m, struct cw_buf *out)
{
    static const char *const status[] = { "CW_STATUS_UNSUPPORTED", "CW_STATUS_PARTIAL", "CW_STATUS_IMPLEMENTED" };
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        cw_buf_printf(out, "{ \"%s\", %s, ", f->name, status[f->status]);
        if (f->reason)
            cw_buf_json_string(out, f->reason);
        else
            cw_buf_puts(out, "NULL");
        cw_buf_puts(out, " },\n");
    }
}
