/* SPDX-License-Identifier: Apache-2.0
 * trace_exports.c: for each function the export, the wrapper that passes the call to the observers, and the stand-in for a
 * library below that lacks it. */
#include "tracer/gen/gen.h"

#include <string.h>

static void
params(struct cw_buf *out, const struct function *f)
{
    if (!f->param_count)
        cw_buf_puts(out, "void");
    for (unsigned i = 0; i < f->param_count; i++) {
        const char *type = f->params[i].type;
        cw_buf_printf(out, "%s%s%s%s", i ? ", " : "", type, type[strlen(type) - 1] == '*' ? "" : " ", f->params[i].name);
    }
}

static void
args(struct cw_buf *out, const struct function *f, const char *prefix)
{
    for (unsigned i = 0; i < f->param_count; i++)
        cw_buf_printf(out, "%s%s%s", i ? ", " : "", prefix, f->params[i].name);
}

static void
table(const struct model *m, struct cw_buf *out, const char *name, const char *prefix)
{
    cw_buf_printf(out, "\nconst struct cw_cuda_table %s = {\n", name);
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    .%s = %s_%s,\n", m->functions[i].name, prefix, m->functions[i].name);
    cw_buf_puts(out, "};\n");
}

void
emit_trace_exports(const struct model *m, struct cw_buf *out)
{
    cw_buf_puts(out, "/* SPDX-License-Identifier: Apache-2.0\n"
                     " * The interposing layer's functions. Generated from impl/api by cudaway-tracegen. */\n"
                     "#include \"tracer/layer.h\"\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        cw_buf_printf(out, "\nstatic CUresult CUDAAPI\nexport_%s(", f->name);
        params(out, f);
        cw_buf_printf(out, ")\n{\n    return cw_layer_table()->%s(", f->name);
        args(out, f, "");
        cw_buf_printf(out, ");\n}\n__attribute__((visibility(\"default\"), alias(\"export_%s\"))) CUresult CUDAAPI\n%s(",
                      f->name, f->name);
        params(out, f);
        cw_buf_printf(out, ");\n\nstatic CUresult CUDAAPI\nobserved_%s(", f->name);
        params(out, f);
        cw_buf_puts(out, ")\n{\n    void *const args_[] = { ");
        if (f->param_count)
            args(out, f, "&");
        else
            cw_buf_puts(out, "NULL");
        cw_buf_printf(out, " };\n    struct cw_call call_ = { .index = %u, .args = args_ };\n"
                           "    cw_layer_before(&call_);\n    struct cw_call *left_ CW_LAYER_LEFT = &call_;\n    call_.result = cw_layer_next.%s(", i, f->name);
        args(out, f, "");
        cw_buf_printf(out, ");\n    left_ = NULL;\n    cw_layer_after(&call_);\n    return call_.result;\n}\n\n"
                           "static CUresult CUDAAPI\nmissing_%s(", f->name);
        params(out, f);
        cw_buf_printf(out, ")\n{\n    return cw_layer_lacks(%u);\n}\n", i);
    }
    table(m, out, "cw_layer_exports", "export");
    table(m, out, "cw_layer_observed", "observed");
    table(m, out, "cw_layer_missing", "missing");
    cw_buf_puts(out, "\nstatic const char *const names[CW_CUDA_FUNCTION_COUNT] = {\n");
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    \"%s\",\n", m->functions[i].name);
    cw_buf_puts(out, "};\n\nconst char *\ncw_layer_name(unsigned index)\n{\n"
                     "    return index < CW_CUDA_FUNCTION_COUNT ? names[index] : \"?\";\n}\n");
}
