/* SPDX-License-Identifier: Apache-2.0
 * A C program that prints sizes, offsets and values of everything in the model, and whose compilation checks every
 * signature. Compiled once against impl/api/cuda.h and once (-DCW_ABI_INSTALLED) against the CUDA toolkit's own header,
 * it must print the same: tests/api/abi.sh. The graphics interoperability, whose headers need those of OpenGL, EGL and
 * VDPAU, is left out. */
#include "impl/api/gen/emit.h"

#include <stdio.h>
#include <string.h>

static void
emit_field(struct cw_buf *out, const struct type *t, const char *prefix, const char *declaration)
{
    char name[96];
    const char *s = strstr(declaration, "(*");
    size_t n;

    if (s) {
        s += 2;
        n = strcspn(s, ")");
    } else {
        const char *end = strchr(declaration, '[');
        end = end ? end : declaration + strlen(declaration);
        for (s = end; s > declaration && s[-1] != ' ' && s[-1] != '*';)
            s--;
        n = (size_t)(end - s);
    }
    snprintf(name, sizeof name, "%.*s", (int)n, s);
    cw_buf_printf(out, "    printf(\"%s.%s%s %%zu %%zu\\n\", offsetof(%s, %s%s), sizeof(((%s *)0)->%s%s));\n", t->name, prefix,
                  name, t->name, prefix, name, t->name, prefix, name);
}

static void
emit_fields(struct cw_buf *out, const struct type *t, const cJSON *fields, const char *prefix)
{
    const cJSON *f;

    cJSON_ArrayForEach(f, fields) {
        if (cJSON_IsString(f)) {
            emit_field(out, t, prefix, f->valuestring);
            continue;
        }
        const cJSON *inner = cJSON_GetObjectItemCaseSensitive(f, "struct");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(f, "name");
        char path[192];
        if (!inner)
            inner = cJSON_GetObjectItemCaseSensitive(f, "union");
        snprintf(path, sizeof path, "%s%s%s", prefix, name ? name->valuestring : "", name ? "." : "");
        emit_fields(out, t, inner, path);
    }
}

/* Of the Runtime: as C++, where the toolkit's headers have names for their enumerations. Left out are what the newest version does not
 * have, what the headers do not declare, and the graphics interoperability. */
static void
emit_abi_runtime(const struct model *m, struct cw_buf *out)
{
    unsigned newest = m->library_count - 1;

    emit_banner(out, "Sizes, offsets, values and signatures of the CUDA Runtime API.");
    cw_buf_puts(out, "#ifdef CW_ABI_INSTALLED\n#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n#else\n"
                     "#include \"impl/api/cuda_runtime.h\"\n#endif\n\n#include <stddef.h>\n#include <stdio.h>\n#include <type_traits>\n\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (f->plain || !(f->in >> newest & 1) || !strcmp(f->area, "graphics") || !strcmp(f->area, "registration"))
            continue;
        cw_buf_printf(out, "static_assert(std::is_same<decltype(%s), %s(", f->name, f->returns);
        for (unsigned p = 0; p < f->param_count; p++)
            cw_buf_printf(out, "%s%s", p ? ", " : "", f->params[p].type);
        cw_buf_printf(out, ")>::value, \"%s\");\n", f->name);
    }
    cw_buf_puts(out, "\nstatic void\ntypes()\n{\n");
    for (unsigned i = 0; i < m->type_count; i++) {
        const struct type *t = &m->types[i];
        const char *version = strstr(t->name, "_v");
        if (strncmp(t->name, "cuda", 4) || t->last || version || !strncmp(t->name, "cudaEgl", 7))
            continue;
        cw_buf_printf(out, "    printf(\"%s %%zu %%zu\\n\", sizeof(%s), alignof(%s));\n", t->name, t->name, t->name);
        if (t->form >= TYPE_STRUCT)
            emit_fields(out, t, t->fields, "");
    }
    cw_buf_puts(out, "}\n\nstatic void\nvalues()\n{\n");
    for (unsigned i = 0; i < m->enum_count; i++) {
        const struct enumeration *e = &m->enums[i];
        if (!strncmp(e->name, "cudaEgl", 7) || !strncmp(e->name, "cudaGL", 6))
            continue;
        for (unsigned k = 0; k < e->count; k++)
            if (!e->values[k].last)
                cw_buf_printf(out, "    printf(\"%s %%lld\\n\", (long long)%s);\n", e->values[k].name, e->values[k].name);
    }
    cw_buf_puts(out, "}\n\nint\nmain()\n{\n    types();\n    values();\n    return 0;\n}\n");
}

void
emit_abi(const struct model *m, struct cw_buf *out)
{
    if (m->library_count) {
        emit_abi_runtime(m, out);
        return;
    }
    emit_banner(out, "Sizes, offsets, values and signatures of the CUDA driver API.");
    cw_buf_puts(out, "#ifdef CW_ABI_INSTALLED\n"
                     "/* All versions of all functions and structures, without the counting enumerators. */\n"
                     "#define __CUDA_API_VERSION_INTERNAL\n#define __CUDA_API_VERSION_INTERNAL_ODR\n"
                     "#include <cuda.h>\n#include <cudaProfiler.h>\n#else\n#include \"impl/api/cuda.h\"\n#endif\n\n"
                     "#include <stddef.h>\n#include <stdio.h>\n\n"
                     "#define SIGNATURE(name, ...) \\\n"
                     "    _Static_assert(__builtin_types_compatible_p(__typeof__(name), CUresult(__VA_ARGS__)), #name)\n\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (!f->in_toolkit)
            continue;
        cw_buf_printf(out, "SIGNATURE(%s, ", f->name);
        emit_params(out, f);
        cw_buf_puts(out, ");\n");
    }
    cw_buf_puts(out, "\nstatic void\ntypes(void)\n{\n");
    for (unsigned i = 0; i < m->type_count; i++) {
        const struct type *t = &m->types[i];
        if (!strncmp(t->name, "CUegl", 5))
            continue;
        cw_buf_printf(out, "    printf(\"%s %%zu %%zu\\n\", sizeof(%s), _Alignof(%s));\n", t->name, t->name, t->name);
        if (t->size)
            cw_buf_printf(out, "    _Static_assert(sizeof(%s) == %u, \"%s\");\n", t->name, t->size, t->name);
        if (t->form >= TYPE_STRUCT)
            emit_fields(out, t, t->fields, "");
    }
    cw_buf_puts(out, "}\n\nstatic void\nvalues(void)\n{\n");
    for (unsigned i = 0; i < m->enum_count; i++) {
        const struct enumeration *e = &m->enums[i];
        if (!strncmp(e->name, "CUegl", 5) || !strncmp(e->name, "CUGL", 4))
            continue;
        if (!e->macros)
            cw_buf_printf(out, "    printf(\"%s %%zu\\n\", sizeof(%s));\n", e->name, e->name);
        for (unsigned k = 0; k < e->count; k++)
            cw_buf_printf(out, "    printf(\"%s %%lld\\n\", (long long)%s);\n", e->values[k].name, e->values[k].name);
    }
    for (unsigned i = 0; i < m->constant_count; i++) {
        const char *name = cJSON_GetArrayItem(m->constants[i], 0)->valuestring;
        cw_buf_printf(out, "    printf(\"%s %%lld\\n\", (long long)%s);\n", name, name);
    }
    cw_buf_puts(out, "}\n\nint\nmain(void)\n{\n    types();\n    values();\n    return 0;\n}\n");
}
