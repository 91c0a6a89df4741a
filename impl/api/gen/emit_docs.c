/* SPDX-License-Identifier: Apache-2.0
 * docs/coverage.md: what is there and what is not, for people. */
#include "impl/api/gen/emit.h"

#include <string.h>

static const char *const status_names[] = { "unsupported", "partial", "implemented" };

static void
emit_totals(struct cw_buf *out, const struct model *m, const char *area)
{
    unsigned n[3] = { 0 }, total = 0;

    for (unsigned i = 0; i < m->function_count; i++) {
        if (area && strcmp(m->functions[i].area, area))
            continue;
        n[m->functions[i].status]++;
        total++;
    }
    cw_buf_printf(out, "| %s | %u | %u | %u | %u |\n", area ? area : "**all**", total, n[STATUS_IMPLEMENTED],
                  n[STATUS_PARTIAL], n[STATUS_UNSUPPORTED]);
}

/* How many symbols each library of a model of several has. */
static void
emit_libraries(struct cw_buf *out, const struct model *m)
{
    cw_buf_printf(out, "Every function of the public headers, and what the compiler's code calls, is exported with the name and version that"
                       " programs ask for.\nOne that is not implemented returns `cudaErrorNotSupported` and says so once on the log.\n\n"
                       "| library | CUDA | symbols |\n|---|---|---:|\n");
    for (unsigned l = 0; l < m->library_count; l++) {
        unsigned n = 0;
        for (unsigned i = 0; i < m->function_count; i++)
            n += m->functions[i].in >> l & 1;
        cw_buf_printf(out, "| `%s` | %u.%u | %u |\n", m->libraries[l].soname, m->libraries[l].cuda_version / 1000,
                      m->libraries[l].cuda_version % 1000 / 10, n);
    }
    cw_buf_puts(out, "\nThe tables count a symbol once for each shape that it had.\n\n");
}

static void
emit_in(struct cw_buf *out, const struct model *m, const struct function *f)
{
    if (f->in == (1u << m->library_count) - 1)
        return;
    cw_buf_puts(out, " (in");
    for (unsigned l = 0; l < m->library_count; l++)
        if (f->in >> l & 1)
            cw_buf_printf(out, " %u", m->libraries[l].major);
    cw_buf_puts(out, ")");
}

static void
emit_driver(struct cw_buf *out, const struct model *m)
{
    unsigned toolkit = 0;
    for (unsigned i = 0; i < m->function_count; i++)
        toolkit += m->functions[i].in_toolkit;
    cw_buf_printf(out, "Every function that the driver library of CUDA %u.%u exports is exported here too (%u symbols of"
                       " the toolkit's\nlibrary and %u of the graphics interoperability; versions and per-thread-stream"
                       " variants counted). One that is not implemented returns"
                       " `CUDA_ERROR_NOT_SUPPORTED` and says so once on the log.\n\n",
                  m->cuda_version / 1000, m->cuda_version % 1000 / 10, toolkit, m->function_count - toolkit);
}

void
emit_coverage(const struct model *m, struct cw_buf *out)
{
    cw_buf_printf(out, "<!-- SPDX-License-Identifier: Apache-2.0. Generated from impl/api: change the model or its status.json"
                       " and build the target cudaway-api-update. -->\n# Coverage of the %s API\n\n", m->library_count ? m->name : "CUDA driver");
    if (m->library_count)
        emit_libraries(out, m);
    else
        emit_driver(out, m);
    cw_buf_puts(out, "| area | symbols | implemented | partial | unsupported |\n|---|---:|---:|---:|---:|\n");
    for (unsigned a = 0; a < m->area_count; a++)
        emit_totals(out, m, m->areas[a]);
    emit_totals(out, m, NULL);
    for (unsigned a = 0; a < m->area_count; a++) {
        cw_buf_printf(out, "\n## %s\n\n| function | status | since CUDA | HIP | Windows |\n|---|---|---|---|---|\n", m->areas[a]);
        for (unsigned i = 0; i < m->function_count; i++) {
            const struct function *f = &m->functions[i];
            if (f->plain || strcmp(f->area, m->areas[a]))
                continue;
            cw_buf_printf(out, "| `%s`", f->name);
            if (f->variant)
                cw_buf_printf(out, " `_%s`", f->variant->suffix);
            if (m->library_count)
                emit_in(out, m, f);
            cw_buf_printf(out, " | %s%s%s | %u.%u | ", status_names[f->status], f->reason ? ": " : "",
                          f->reason ? f->reason : "", f->since / 1000, f->since % 1000 / 10);
            cw_buf_printf(out, f->hip ? "`%s`" : "", f->hip);
            cw_buf_printf(out, " | %s |\n", f->windows ? "yes" : "no");
        }
    }
}
