/* SPDX-License-Identifier: Apache-2.0
 * What the layers are made of: the table of function pointers, the prototypes that the driver defines, the exported
 * symbols over them, and the linker map.
 *
 * Default stream of the per-thread variants (_ptsz, _ptds): where the function has a stream parameter, a NULL stream
 * becomes CU_STREAM_PER_THREAD before the drv_ function sees it; the same for a stream inside a structure that the model
 * names (stream_member), on a copy. Every per-thread variant also holds the thread-local drv_ptds non-zero during the
 * call, which is how functions without a stream know that "the default stream" is the thread's own. */
#include "impl/api/gen/emit.h"

#include <string.h>

void
emit_table(const struct model *m, struct cw_buf *out)
{
    emit_banner(out, "The table of driver functions that every layer implements and calls.");
    cw_buf_puts(out, "#ifndef CW_CUDA_TABLE_H\n#define CW_CUDA_TABLE_H\n\n#include \"impl/api/cuda.h\"\n\n");
    cw_buf_printf(out, "#define CW_CUDA_FUNCTION_COUNT %u\n\n", m->function_count);
    cw_buf_puts(out, "/* X(index, name, result type, (parameters), (arguments)) in table order. */\n"
                     "#define CW_CUDA_FUNCTIONS(X) \\\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        cw_buf_printf(out, "    X(%u, %s, CUresult, (", i, f->name);
        emit_params(out, f);
        cw_buf_puts(out, "), (");
        emit_args(out, f);
        cw_buf_puts(out, i + 1 < m->function_count ? ")) \\\n" : "))\n");
    }
    cw_buf_puts(out, "\nenum cw_cuda_index {\n");
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    CW_FN_%s = %u,\n", m->functions[i].name, i);
    cw_buf_puts(out, "};\n\n/* Members are plain function pointers in index order, so that a table is also an array of them\n"
                     " * (cw_cuda_table_get and cw_cuda_table_set). A NULL member: the layer below lacks the function. */\n"
                     "struct cw_cuda_table {\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        cw_buf_printf(out, "    CUresult (CUDAAPI *%s)(", m->functions[i].name);
        emit_params(out, &m->functions[i]);
        cw_buf_puts(out, ");\n");
    }
    cw_buf_puts(out, "};\n\n"
                     "_Static_assert(sizeof(struct cw_cuda_table) == CW_CUDA_FUNCTION_COUNT * sizeof(void (*)(void)),\n"
                     "               \"a table is an array of function pointers\");\n\n"
                     "static inline void *\n"
                     "cw_cuda_table_get(const struct cw_cuda_table *t, unsigned index)\n"
                     "{\n"
                     "    return index < CW_CUDA_FUNCTION_COUNT ? ((void *const *)(const void *)t)[index] : (void *)0;\n"
                     "}\n\n"
                     "static inline void\n"
                     "cw_cuda_table_set(struct cw_cuda_table *t, unsigned index, void *fn)\n"
                     "{\n"
                     "    if (index < CW_CUDA_FUNCTION_COUNT)\n"
                     "        ((void **)(void *)t)[index] = fn;\n"
                     "}\n\n#endif\n");
}

void
emit_drv_prototypes(const struct model *m, struct cw_buf *out)
{
    emit_banner(out, "The functions that the driver defines: one for each symbol that status.json calls implemented or partial.");
    cw_buf_puts(out, "#ifndef CW_DRV_PROTOTYPES_H\n#define CW_DRV_PROTOTYPES_H\n\n#include \"cudaway/cuda_table.h\"\n\n"
                     "/* Non-zero during a call through a per-thread variant (_ptsz, _ptds): a NULL stream that a drv_ function\n"
                     " * finds anywhere, or the stream of a function that has none, is then CU_STREAM_PER_THREAD. */\n"
                     "extern _Thread_local int drv_ptds;\n\n"
                     "/* Calls of the driver's functions that the thread is in. */\n"
                     "extern _Thread_local unsigned drv_calls __attribute__((tls_model(\"initial-exec\")));\n\n"
                     "/* The implementation as a layer. Its pointers are the library's own functions, whoever interposes. */\n"
                     "extern const struct cw_cuda_table cw_impl_table;\n\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (f->plain)
            continue;
        if (!i || strcmp(f->area, m->functions[i - 1].area))
            cw_buf_printf(out, "/* %s */\n", f->area);
        cw_buf_printf(out, "CUresult drv_%s(", f->name);
        emit_params(out, f);
        cw_buf_puts(out, ");\n");
    }
    cw_buf_puts(out, "\n#endif\n");
}

/* Before the call of a per-thread variant: its default stream. */
static void
emit_per_thread_body(const struct model *m, struct cw_buf *out, const struct function *f)
{
    int stream = function_stream_param(m, f);

    if (stream >= 0)
        cw_buf_printf(out, "    if (!%s)\n        %s = %s;\n", f->params[stream].name, f->params[stream].name,
                      m->per_thread_stream);
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        if (!p->stream_member)
            continue;
        cw_buf_printf(out, "    %s mapped_%s;\n"
                           "    if (%s && !%s->%s) {\n"
                           "        mapped_%s = *%s;\n"
                           "        mapped_%s.%s = CU_STREAM_PER_THREAD;\n"
                           "        %s = &mapped_%s;\n"
                           "    }\n",
                      p->base, p->name, p->name, p->name, p->stream_member, p->name, p->name, p->name, p->stream_member,
                      p->name, p->name);
    }
    cw_buf_puts(out, "    int cancel_ __attribute__((cleanup(leave_per_thread))) = enter_per_thread();\n");
}

void
emit_exports(const struct model *m, struct cw_buf *out)
{
    emit_banner(out, "Every exported symbol of the implementation, over the driver's drv_ functions.");
    cw_buf_puts(out, "#include \"cudaway/drv_prototypes.h\"\n\n#include \"impl/base/log.h\"\n#include \"impl/driver/logs.h\"\n\n#include <pthread.h>\n#include <stdatomic.h>\n"
                     "#include <stdbool.h>\n\n"
                     "_Thread_local int drv_ptds;\n"
                     "_Thread_local unsigned drv_calls;\n\n"
                     "/* A call is no cancellation point: a thread that ended in one would leave locks behind. A call may be left by an exception of a function of the\n"
                     " * program (a user object's destructor): hence cleanups. */\n"
                     "static inline int\n"
                     "enter(void)\n"
                     "{\n"
                     "    int before;\n"
                     "    drv_calls++;\n"
                     "    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);\n"
                     "    return before;\n"
                     "}\n\n"
                     "static inline void\n"
                     "leave(const int *before)\n"
                     "{\n"
                     "    pthread_setcancelstate(*before, NULL);\n"
                     "    drv_calls--;\n"
                     "}\n\n"
                     "static inline int\n"
                     "enter_per_thread(void)\n"
                     "{\n"
                     "    drv_ptds++;\n"
                     "    return enter();\n"
                     "}\n\n"
                     "static inline void\n"
                     "leave_per_thread(const int *before)\n"
                     "{\n"
                     "    leave(before);\n"
                     "    drv_ptds--;\n"
                     "}\n\n"
                     "/* Says once for each function that a program wanted it. */\n"
                     "static CUresult __attribute__((cold, noinline))\n"
                     "unsupported(unsigned index, const char *name, const char *reason)\n"
                     "{\n"
                     "    static atomic_bool said[CW_CUDA_FUNCTION_COUNT];\n\n"
                     "    if (!atomic_exchange_explicit(&said[index], true, memory_order_relaxed))\n"
                     "        cw_warn(\"%s is not supported%s%s\", name, *reason ? \": \" : \"\", reason);\n"
                     "    return CUDA_ERROR_NOT_SUPPORTED;\n"
                     "}\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        cw_buf_printf(out, "\nstatic CUresult CUDAAPI\nexport_%s(", f->name);
        emit_params(out, f);
        cw_buf_puts(out, ")\n{\n");
        const bool ends = !f->lockless;         /* a call that may say something */
        if (f->plain)
            emit_per_thread_body(m, out, f);
        else if (ends)
            cw_buf_puts(out, "    int cancel_ __attribute__((cleanup(leave))) = enter();\n");
        cw_buf_puts(out, ends ? "    return logs_call_ends(" : "    return ");
        if (f->status == STATUS_UNSUPPORTED) {
            cw_buf_printf(out, "unsupported(%u, \"%s\", ", i, f->name);
            cw_buf_json_string(out, f->reason ? f->reason : "");
        } else {
            cw_buf_printf(out, "drv_%s(", f->plain ? f->plain->name : f->name);
            emit_args(out, f);
        }
        if (ends)
            cw_buf_printf(out, "), \"%s\"", f->name);
        cw_buf_puts(out, ");\n");
        cw_buf_printf(out, "}\n__attribute__((visibility(\"default\"), alias(\"export_%s\"))) CUresult CUDAAPI\n%s(",
                      f->name, f->name);
        emit_params(out, f);
        cw_buf_puts(out, ");\n");
    }
    cw_buf_puts(out, "\nconst struct cw_cuda_table cw_impl_table = {\n");
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    .%s = export_%s,\n", m->functions[i].name, m->functions[i].name);
    cw_buf_puts(out, "};\n");
}

void
emit_map(const struct model *m, struct cw_buf *out)
{
    /* An anonymous version node: the real library's symbols have no version. */
    cw_buf_puts(out, "/* SPDX-License-Identifier: Apache-2.0\n * The exported symbols; generated. */\n{\nglobal:\n");
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    %s;\n", m->functions[i].name);
    cw_buf_puts(out, "local:\n    *;\n};\n");
}
