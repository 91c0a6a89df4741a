/* SPDX-License-Identifier: Apache-2.0
 * cudaway-tracegen: from the driver's API model, the tracer's exported functions and wrappers (trace_exports.c), the LTTng events
 * (trace_points.h) and the calls of them (trace_points.c); from the Runtime's, its events and the calls of them
 * (runtime_points.h, runtime_points.c); from both, what is implemented (driver_status.h, runtime_status.h). Exit status as cudaway-apigen's. */
#include "tracer/gen/gen.h"

#include "impl/base/file.h"

#include <stdio.h>
#include <string.h>

static int
produce(const struct model *m, const char *dir, const char *name, void (*emit)(const struct model *, struct cw_buf *))
{
    struct cw_buf b;
    char path[4096];
    int rc = 0;
    cw_buf_init(&b);
    emit(m, &b);
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path || b.failed ||
        cw_file_write_atomic(path, b.data, b.size, 0644) != CW_OK) {
        fprintf(stderr, "cudaway-tracegen: cannot write %s/%s\n", dir, name);
        rc = 2;
    }
    cw_buf_finish(&b);
    return rc;
}

int
main(int argc, char **argv)
{
    struct model m;
    if (argc != 5 || strcmp(argv[1], "--model") || strcmp(argv[3], "--out")) {
        fprintf(stderr, "usage: cudaway-tracegen --model DIR --out DIR\n");
        return 2;
    }
    int rc = 1;
    if (!model_load(&m, argv[2])) {
        fprintf(stderr, "%s", m.errors.data ? m.errors.data : "cudaway-tracegen: the model cannot be read\n");
    } else if (!strcmp(m.prefix, "cu")) {
        rc = produce(&m, argv[4], "trace_exports.c", emit_trace_exports);
        rc = rc ? rc : produce(&m, argv[4], "trace_points.h", emit_trace_points);
        rc = rc ? rc : produce(&m, argv[4], "trace_points.c", emit_trace_probes);
        rc = rc ? rc : produce(&m, argv[4], "driver_status.h", emit_status);
    } else {
        rc = produce(&m, argv[4], "runtime_points.h", emit_trace_points);
        rc = rc ? rc : produce(&m, argv[4], "runtime_points.c", emit_trace_probes);
        rc = rc ? rc : produce(&m, argv[4], "runtime_status.h", emit_status);
    }
    model_finish(&m);
    return rc;
}
