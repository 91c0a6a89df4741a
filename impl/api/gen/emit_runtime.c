/* SPDX-License-Identifier: Apache-2.0
 * The Runtime's libraries: the prototypes of the rt_ functions that impl/runtime defines, and for each version of the library
 * its exported symbols over them and its linker map.
 *
 * A call that fails becomes the thread's last error (rt_failed). A call that somebody looks at (the log, a recording) goes
 * through a function of its own beside the fast one, which has the arguments in memory: rt_before, the call, rt_after. The
 * default stream of the per-thread variants is mapped as the driver's is (emit_table.c), with rt_ptds in the place of drv_ptds. */
#include "impl/api/gen/emit.h"

#include <string.h>

static bool
is_result(const struct model *m, const struct function *f)
{
    return !strcmp(f->returns, m->result);
}

/* What only reports errors records none. */
static bool
records(const struct model *m, const struct function *f)
{
    return is_result(m, f) && strcmp(f->area, "error");
}

static void
emit_signature(struct cw_buf *out, const struct function *f, const char *prefix, const char *name)
{
    cw_buf_printf(out, "%s%s%s%s(", f->returns, f->returns[strlen(f->returns) - 1] == '*' ? "" : " ", prefix, name);
    emit_params(out, f);
    cw_buf_puts(out, ")");
}

void
emit_rt_prototypes(const struct model *m, struct cw_buf *out)
{
    emit_banner(out, "The functions that the Runtime defines: one for each name that status.json calls implemented or partial.");
    cw_buf_puts(out, "#ifndef CW_RUNTIME_PROTOTYPES_H\n#define CW_RUNTIME_PROTOTYPES_H\n\n#include \"impl/api/cuda_runtime.h\"\n\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        bool again = f->plain != NULL;
        for (unsigned k = 0; k < i && !again; k++)
            again = !strcmp(m->functions[k].impl, f->impl);
        if (again)
            continue;
        if (!i || strcmp(f->area, m->functions[i - 1].area))
            cw_buf_printf(out, "/* %s */\n", f->area);
        emit_signature(out, f, "rt_", f->impl);
        cw_buf_puts(out, ";\n");
    }
    cw_buf_puts(out, "\n#endif\n");
}

/* The default stream of a per-thread variant. */
static void
emit_map_stream(const struct model *m, struct cw_buf *out, const struct function *f)
{
    int stream = function_stream_param(m, f);

    if (stream >= 0)
        cw_buf_printf(out, "    if (!%s)\n        %s = %s;\n", f->params[stream].name, f->params[stream].name, m->per_thread_stream);
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        if (!p->stream_member)
            continue;
        cw_buf_printf(out, "    %s mapped_%s;\n"
                           "    if (%s && !%s->%s) {\n"
                           "        mapped_%s = *%s;\n"
                           "        mapped_%s.%s = %s;\n"
                           "        %s = &mapped_%s;\n"
                           "    }\n",
                      p->base, p->name, p->name, p->name, p->stream_member, p->name, p->name, p->name, p->stream_member,
                      m->per_thread_stream, p->name, p->name);
    }
}

static void
emit_call(struct cw_buf *out, const struct function *f)
{
    if (f->status == STATUS_UNSUPPORTED) {
        cw_buf_printf(out, "rt_unsupported(%u, \"%s\", ", f->index, f->name);
        cw_buf_json_string(out, f->reason ? f->reason : "");
    } else {
        cw_buf_printf(out, "rt_%s(", f->impl);
        emit_args(out, f);
    }
    cw_buf_puts(out, ")");
}

static void
emit_export(const struct model *m, struct cw_buf *out, const struct function *f)
{
    bool ptds = f->plain != NULL, is_void = !strcmp(f->returns, "void"), result = is_result(m, f);

    if (result) {
        cw_buf_puts(out, "\nstatic COLD ");
        emit_signature(out, f, "observed_", f->name);
        cw_buf_puts(out, "\n{\n    void *const args_[] = { ");
        for (unsigned i = 0; i < f->param_count; i++)
            cw_buf_printf(out, "&%s, ", f->params[i].name);
        cw_buf_printf(out, "NULL };\n    rt_before(%u, args_);\n    struct rt_call call_ __attribute__((cleanup(rt_after))) = { %u, args_, cudaSuccess };\n"
                           "    return call_.result = ", f->index, f->index);
        emit_call(out, f);
        cw_buf_puts(out, ";\n}\n");
    }
    cw_buf_puts(out, "\nEXPORT ");
    emit_signature(out, f, "", f->name);
    cw_buf_puts(out, "\n{\n");
    if (ptds) {
        emit_map_stream(m, out, f);
        cw_buf_puts(out, "    int outer_ __attribute__((cleanup(leave_per_thread))) = rt_ptds++;\n");
    }
    cw_buf_puts(out, "    ");
    if (!is_void)
        cw_buf_printf(out, "%s%sresult_ = ", f->returns, f->returns[strlen(f->returns) - 1] == '*' ? "" : " ");
    if (result) {
        cw_buf_printf(out, "__builtin_expect(rt_observed, 0) ? observed_%s(", f->name);
        emit_args(out, f);
        cw_buf_puts(out, ") : ");
    }
    emit_call(out, f);
    cw_buf_puts(out, ";\n");
    if (records(m, f))
        cw_buf_puts(out, "    if (__builtin_expect(result_ != cudaSuccess, 0))\n        rt_failed(result_);\n");
    if (!is_void)
        cw_buf_puts(out, "    return result_;\n");
    cw_buf_puts(out, "}\n");
}

void
emit_rt_exports(const struct model *m, unsigned library, struct cw_buf *out)
{
    emit_banner(out, "Every exported symbol of one version of the Runtime's library, over the rt_ functions.");
    cw_buf_printf(out, "#define CW_CUDART_MAJOR %u\n#include \"cudaway/runtime_prototypes.h\"\n#include \"impl/runtime/exports.h\"\n\n"
                       "#define EXPORT __attribute__((visibility(\"default\")))\n#define COLD __attribute__((cold, noinline))\n\n"
                       "const int rt_version = %u;\nconst unsigned rt_function_count = %u;\n\n"
                       "/* Cleanups, since an exception of the program's (a user object's destructor) may leave a call. */\n"
                       "static inline void\nleave_per_thread(const int *outer)\n{\n    rt_ptds = *outer;\n}\n",
                  m->libraries[library].major, m->libraries[library].cuda_version, m->function_count);
    for (unsigned i = 0; i < m->function_count; i++)
        if (m->functions[i].in >> library & 1)
            emit_export(m, out, &m->functions[i]);
}

void
emit_rt_map(const struct model *m, unsigned library, struct cw_buf *out)
{
    cw_buf_printf(out, "/* SPDX-License-Identifier: Apache-2.0\n * The exported symbols; generated. */\n%s {\nglobal:\n",
                  m->libraries[library].soname);
    for (unsigned i = 0; i < m->function_count; i++)
        if (m->functions[i].in >> library & 1)
            cw_buf_printf(out, "    %s;\n", m->functions[i].name);
    cw_buf_puts(out, "local:\n    *;\n};\n");
}
