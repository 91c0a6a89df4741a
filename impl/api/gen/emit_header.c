/* SPDX-License-Identifier: Apache-2.0
 * impl/api/cuda.h: the types, constants and prototypes of the model as one C header that depends on nothing. */
#include "impl/api/gen/emit.h"

#include <string.h>

void
emit_banner(struct cw_buf *out, const char *what)
{
    cw_buf_printf(out, "/* SPDX-License-Identifier: Apache-2.0\n"
                       " * %s\n"
                       " * Generated from impl/api by cudaway-apigen: change the model, not this file. */\n", what);
}

void
emit_declaration(struct cw_buf *out, const char *type, const char *name)
{
    size_t n = strlen(type);
    cw_buf_printf(out, "%s%s%s", type, n && type[n - 1] == '*' ? "" : " ", name);
}

void
emit_params(struct cw_buf *out, const struct function *f)
{
    if (!f->param_count)
        cw_buf_puts(out, "void");
    for (unsigned i = 0; i < f->param_count; i++) {
        if (i)
            cw_buf_puts(out, ", ");
        emit_declaration(out, f->params[i].type, f->params[i].name);
    }
}

void
emit_args(struct cw_buf *out, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++)
        cw_buf_printf(out, "%s%s", i ? ", " : "", f->params[i].name);
}

static void
indent(struct cw_buf *out, unsigned level)
{
    while (level--)
        cw_buf_puts(out, "    ");
}

static void
emit_fields(struct cw_buf *out, const cJSON *fields, unsigned level)
{
    const cJSON *f;

    cJSON_ArrayForEach(f, fields) {
        indent(out, level);
        if (cJSON_IsString(f)) {
            cw_buf_printf(out, "%s;\n", f->valuestring);
            continue;
        }
        const cJSON *s = cJSON_GetObjectItemCaseSensitive(f, "struct");
        const cJSON *u = cJSON_GetObjectItemCaseSensitive(f, "union");
        const cJSON *tag = cJSON_GetObjectItemCaseSensitive(f, "tag");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(f, "name");
        cw_buf_printf(out, "%s%s%s {\n", s ? "struct" : "union", tag ? " " : "", tag ? tag->valuestring : "");
        emit_fields(out, s ? s : u, level + 1);
        indent(out, level);
        cw_buf_printf(out, "}%s%s;\n", name ? " " : "", name ? name->valuestring : "");
    }
}

static void
emit_type(struct cw_buf *out, const struct type *t)
{
    if (t->unless)
        cw_buf_printf(out, "#ifndef %s\n", t->unless);
    switch (t->form) {
    case TYPE_ALIAS:
        cw_buf_printf(out, "typedef %s %s;\n", t->target, t->name);
        break;
    case TYPE_HANDLE:
        cw_buf_printf(out, "typedef struct %s *%s;\n", t->tag, t->name);
        break;
    case TYPE_CALLBACK: {
        const cJSON *p;
        bool first = true;
        cw_buf_printf(out, "typedef %s (CUDA_CB *%s)(", t->target, t->name);
        cJSON_ArrayForEach(p, t->fields) {
            cw_buf_printf(out, "%s%s", first ? "" : ", ", p->valuestring);
            first = false;
        }
        cw_buf_puts(out, first ? "void);\n" : ");\n");
        break;
    }
    case TYPE_STRUCT:
    case TYPE_UNION:
        cw_buf_printf(out, "\ntypedef %s ", t->form == TYPE_STRUCT ? "struct" : "union");
        if (t->align)
            cw_buf_printf(out, "__attribute__((aligned(%u))) ", t->align);
        cw_buf_printf(out, "%s {\n", t->tag ? t->tag : "");
        emit_fields(out, t->fields, 1);
        cw_buf_printf(out, "} %s;\n", t->name);
        break;
    }
    if (t->unless)
        cw_buf_puts(out, "#endif\n");
}

static void
emit_enum(struct cw_buf *out, const struct enumeration *e)
{
    cw_buf_puts(out, "\n");
    if (!e->macros)
        cw_buf_printf(out, "typedef enum %s {\n", e->tag ? e->tag : e->name);
    for (unsigned i = 0; i < e->count; i++) {
        long long v = (long long)e->values[i].value;
        bool hex = e->flags || v > 0xffff;
        if (e->macros)
            cw_buf_printf(out, hex ? "#define %s 0x%02llx\n" : "#define %s %lld\n", e->values[i].name, v);
        else
            cw_buf_printf(out, hex ? "    %s = 0x%llx,\n" : "    %s = %lld,\n", e->values[i].name, v);
    }
    if (!e->macros)
        cw_buf_printf(out, "} %s;\n", e->name);
}

static void
emit_prologue(const struct model *m, struct cw_buf *out)
{
    if (!m->library_count) {
        emit_banner(out, "The CUDA driver API: types, constants and prototypes of every exported function.");
        cw_buf_puts(out, "#ifndef CW_CUDA_H\n#define CW_CUDA_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
                         "#define CUDAAPI\n#define CUDA_CB\n\n");
    } else {
        emit_banner(out, "The CUDA Runtime API: types, constants and prototypes of every exported function. Types are those of the newest\n"
                         " * version; a structure that was different before has the last version that had it so in its name. A program for\n"
                         " * an older library defines CW_CUDART_MAJOR and sees the prototypes of that library.");
        cw_buf_printf(out, "#ifndef CW_CUDA_RUNTIME_H\n#define CW_CUDA_RUNTIME_H\n\n#include \"impl/api/cuda.h\"\n\n#define CUDARTAPI\n\n"
                           "#ifndef CW_CUDART_MAJOR\n#define CW_CUDART_MAJOR %u\n#endif\n\n", m->libraries[m->library_count - 1].major);
    }
    cw_buf_puts(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
}

/* The condition under which a symbol that not all libraries have is declared. */
static bool
emit_condition(const struct model *m, struct cw_buf *out, const struct function *f)
{
    bool first = true;

    if (!m->library_count || f->in == (1u << m->library_count) - 1)
        return false;
    cw_buf_puts(out, "#if ");
    for (unsigned i = 0; i < m->library_count; i++) {
        if (!(f->in >> i & 1))
            continue;
        cw_buf_printf(out, "%sCW_CUDART_MAJOR == %u", first ? "" : " || ", m->libraries[i].major);
        first = false;
    }
    cw_buf_puts(out, "\n");
    return true;
}

void
emit_header(const struct model *m, struct cw_buf *out)
{
    emit_prologue(m, out);
    for (unsigned i = 0; i < m->constant_count; i++)
        cw_buf_printf(out, "#define %s %s\n", cJSON_GetArrayItem(m->constants[i], 0)->valuestring,
                      cJSON_GetArrayItem(m->constants[i], 1)->valuestring);
    for (unsigned i = 0; i < m->enum_count; i++)
        emit_enum(out, &m->enums[i]);
    cw_buf_puts(out, "\n");
    for (unsigned i = 0; i < m->type_count; i++)
        emit_type(out, &m->types[i]);
    cw_buf_puts(out, "\n#pragma GCC visibility push(default)\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (!i || strcmp(f->area, m->functions[i - 1].area))
            cw_buf_printf(out, "\n/* %s */\n", f->area);
        bool guarded = emit_condition(m, out, f);
        cw_buf_printf(out, "%s%s%s%s(", f->returns, f->returns[strlen(f->returns) - 1] == '*' ? "" : " ",
                      m->library_count ? "CUDARTAPI " : "CUDAAPI ", f->name);
        emit_params(out, f);
        cw_buf_puts(out, guarded ? ");\n#endif\n" : ");\n");
    }
    cw_buf_puts(out, "\n#pragma GCC visibility pop\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
