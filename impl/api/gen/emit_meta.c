/* SPDX-License-Identifier: Apache-2.0
 * cuda_meta.c: the tables that meta.h declares. Sizes and offsets are left to the C compiler (sizeof, offsetof). */
#include "impl/api/gen/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A C declaration of a structure's member taken apart. */
struct member {
    char        base[96], name[96];
    unsigned    pointers;
    const char *array;          /* "[16]..." or "" */
    bool        function;       /* a pointer to a function */
};

static bool
parse_member(const char *declaration, struct member *out)
{
    const char *s = declaration, *bracket = strchr(s, '[');

    memset(out, 0, sizeof *out);
    if (strstr(s, "(*")) {
        const char *start = strstr(s, "(*") + 2;
        size_t n = strcspn(start, ")");
        if (n >= sizeof out->name)
            return false;
        memcpy(out->name, start, n);
        strcpy(out->base, "void");
        out->pointers = 1;
        out->function = true;
        out->array = "";
        return true;
    }
    out->array = bracket ? bracket : "";
    size_t end = bracket ? (size_t)(bracket - s) : strlen(s), start = end;
    while (start && s[start - 1] != ' ' && s[start - 1] != '*')
        start--;
    if (end - start >= sizeof out->name)
        return false;
    memcpy(out->name, s + start, end - start);
    if (!strncmp(s, "const ", 6)) {
        s += 6;
        start -= 6;
    }
    while (start && (s[start - 1] == '*' || s[start - 1] == ' ')) {
        out->pointers += s[start - 1] == '*';
        start--;
    }
    if (start >= sizeof out->base)
        return false;
    memcpy(out->base, s, start);
    return true;
}

static int
enum_index(const struct model *m, const char *base)
{
    const struct enumeration *e = model_enum(m, model_resolve(m, base));
    return e ? (int)e->index : -1;
}

static int
struct_index(const struct model *m, const char *base)
{
    const struct type *t = model_type(m, base);
    int index = 0;

    if (!t || t->form < TYPE_STRUCT)
        return -1;
    for (const struct type *i = m->types; i < t; i++)
        index += i->form >= TYPE_STRUCT;
    return index;
}

static const char *
member_kind(const struct model *m, const struct member *d)
{
    const struct type *t = model_type(m, d->base);
    const char *c = model_resolve(m, d->base);

    if (d->function || (t && t->form == TYPE_CALLBACK && !d->pointers))
        return "CALLBACK";
    if (d->pointers)
        return d->pointers == 1 && !strcmp(d->base, "char") ? "STRING" : "HOST_POINTER";
    if (!strncmp(d->base, "CUdeviceptr", 11))
        return "DEVICE_POINTER";
    if (!strncmp(d->base, "CUdevice", 8) && !strcmp(c, "int"))
        return "DEVICE";
    if (t && t->form == TYPE_HANDLE)
        return "HANDLE";
    if (t && t->form >= TYPE_STRUCT)
        return "STRUCT";
    if (model_enum(m, c))
        return "ENUM";
    if (!strcmp(c, "size_t"))
        return "SIZE";
    if (!strcmp(c, "float"))
        return "FLOAT";
    if (!strcmp(c, "char") || !strcmp(c, "unsigned char"))
        return *d->array ? "BYTE" : "UINT";
    return !strcmp(c, "int") || !strcmp(c, "long long") ? "INT" : "UINT";
}

static void
emit_members(const struct model *m, struct cw_buf *out, const struct type *t, const cJSON *fields, const char *prefix,
             unsigned *count)
{
    const cJSON *f;

    cJSON_ArrayForEach(f, fields) {
        if (!cJSON_IsString(f)) {
            const cJSON *s = cJSON_GetObjectItemCaseSensitive(f, "struct");
            const cJSON *name = cJSON_GetObjectItemCaseSensitive(f, "name");
            char path[192] = "";
            if (!s)
                continue;
            if (name)
                snprintf(path, sizeof path, "%s%s.", prefix, name->valuestring);
            emit_members(m, out, t, s, name ? path : prefix, count);
            continue;
        }
        struct member d;
        if (!parse_member(f->valuestring, &d))
            continue;
        if (!strncmp(d.name, "reserved", 8) || !strncmp(d.name, "_internal", 9) || !strcmp(d.name, "pad"))
            continue;
        cw_buf_printf(out, "    { \"%s%s\", \"%s", prefix, d.name, d.base);
        for (unsigned i = 0; i < d.pointers; i++)
            cw_buf_puts(out, i ? "*" : " *");
        cw_buf_printf(out, "\", offsetof(%s, %s%s), sizeof(((%s *)0)->%s%s), ", t->name, prefix, d.name, t->name, prefix, d.name);
        if (*d.array)
            cw_buf_printf(out, "sizeof(((%s *)0)->%s%s) / sizeof(*((%s *)0)->%s%s), ", t->name, prefix, d.name, t->name,
                          prefix, d.name);
        else
            cw_buf_puts(out, "0, ");
        cw_buf_printf(out, "CW_KIND_%s, %u, %d, %d },\n", member_kind(m, &d), d.pointers,
                      d.pointers ? -1 : enum_index(m, d.base), d.pointers > 1 ? -1 : struct_index(m, d.base));
        (*count)++;
    }
}

static void
emit_structs(const struct model *m, struct cw_buf *out)
{
    unsigned *counts = calloc(m->type_count + 1, sizeof *counts);

    if (!counts) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < m->type_count; i++) {
        const struct type *t = &m->types[i];
        if (t->form != TYPE_STRUCT)
            continue;
        cw_buf_printf(out, "\nstatic const struct cw_meta_field fields_%s[] = {\n", t->name);
        emit_members(m, out, t, t->fields, "", &counts[i]);
        cw_buf_puts(out, "    { 0 },\n};\n");
    }
    cw_buf_puts(out, "\nconst struct cw_meta_struct cw_meta_structs[] = {\n");
    unsigned total = 0;
    for (unsigned i = 0; i < m->type_count; i++) {
        const struct type *t = &m->types[i];
        if (t->form == TYPE_STRUCT)
            cw_buf_printf(out, "    { \"%s\", fields_%s, %u, sizeof(%s) },\n", t->name, t->name, counts[i], t->name);
        else if (t->form == TYPE_UNION)
            cw_buf_printf(out, "    { \"%s\", NULL, 0, sizeof(%s) },\n", t->name, t->name);
        total += t->form >= TYPE_STRUCT;
    }
    cw_buf_printf(out, "};\nconst unsigned cw_meta_struct_count = %u;\n", total);
    free(counts);
}

static int
compare_enumerators(const void *a, const void *b)
{
    const struct enumerator *const *x = a, *const *y = b;
    if ((*x)->value != (*y)->value)
        return (*x)->value < (*y)->value ? -1 : 1;
    return *x < *y ? -1 : 1;     /* the one described first */
}

/* The distinct values in order; the caller frees. */
const struct enumerator **
sorted_enumerators(const struct enumeration *e, unsigned *count)
{
    const struct enumerator **v = calloc(e->count + 1, sizeof *v);
    unsigned n = 0;

    *count = 0;
    if (!v)
        return NULL;
    for (unsigned i = 0; i < e->count; i++)
        v[i] = &e->values[i];
    qsort(v, e->count, sizeof *v, compare_enumerators);
    for (unsigned i = 0; i < e->count; i++) {
        if (!n || v[i]->value != v[n - 1]->value)
            v[n++] = v[i];
    }
    *count = n;
    return v;
}

static void
emit_enums(const struct model *m, struct cw_buf *out)
{
    unsigned *counts = calloc(m->enum_count + 1, sizeof *counts);

    if (!counts) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < m->enum_count; i++) {
        const struct enumerator **v = sorted_enumerators(&m->enums[i], &counts[i]);
        if (!v) {
            out->failed = true;
            break;
        }
        cw_buf_printf(out, "\nstatic const struct cw_meta_enumerator values_%s[] = {\n", m->enums[i].name);
        for (unsigned k = 0; k < counts[i]; k++)
            cw_buf_printf(out, "    { \"%s\", %lld },\n", v[k]->name, (long long)v[k]->value);
        cw_buf_puts(out, "};\n");
        free(v);
    }
    cw_buf_puts(out, "\nconst struct cw_meta_enum cw_meta_enums[] = {\n");
    for (unsigned i = 0; i < m->enum_count; i++)
        cw_buf_printf(out, "    { \"%s\", values_%s, %u, %d },\n", m->enums[i].name, m->enums[i].name, counts[i],
                      m->enums[i].flags);
    cw_buf_printf(out, "};\nconst unsigned cw_meta_enum_count = %u;\n", m->enum_count);
    cw_buf_printf(out, "const int cw_meta_result_enum = %d;\n", enum_index(m, m->result));
    free(counts);
}

static void
emit_param_row(const struct model *m, struct cw_buf *out, const struct param *p)
{
    static const char *const directions[] = { "IN", "OUT", "INOUT" };
    bool value_void = !strcmp(p->base, "void") && p->pointers <= 1;

    cw_buf_printf(out, "    { \"%s\", \"%s\", CW_KIND_%s, CW_KIND_%s, CW_DIR_%s, %u, sizeof(", p->name, p->type,
                  kind_enumerator(p->kind), kind_enumerator(p->kind == KIND_ARRAY ? p->of : p->kind),
                  directions[p->dir], p->pointers);
    cw_buf_puts(out, p->pointers ? "void *), " : p->type);
    if (!p->pointers)
        cw_buf_puts(out, "), ");
    if (value_void)
        cw_buf_puts(out, "0, ");
    else if (p->pointers > 1)
        cw_buf_puts(out, "sizeof(void *), ");
    else
        cw_buf_printf(out, "sizeof(%s), ", p->base);
    cw_buf_printf(out, "%d, %d, %u, %lld, %d, %d, %d },\n", p->length, p->length_deref, p->length_less,
                  (long long)p->length_const, p->selector, p->enumeration ? (int)p->enumeration->index : -1,
                  struct_index(m, p->base));
}

static int
compare_versions(const void *a, const void *b)
{
    const struct function *const *x = a, *const *y = b;
    int c = strcmp((*x)->base, (*y)->base);

    if (c)
        return c;
    if ((*x)->since != (*y)->since)
        return (*x)->since < (*y)->since ? -1 : 1;
    if ((*x)->version != (*y)->version)
        return (*x)->version < (*y)->version ? -1 : 1;
    return (*x)->index < (*y)->index ? -1 : 1;
}

static void
emit_versions(const struct model *m, struct cw_buf *out)
{
    const struct function **v = calloc(m->function_count + 1, sizeof *v);
    unsigned bases = 0;

    if (!v) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < m->function_count; i++)
        v[i] = &m->functions[i];
    qsort(v, m->function_count, sizeof *v, compare_versions);
    cw_buf_puts(out, "\nconst struct cw_meta_version cw_meta_versions[] = {\n");
    for (unsigned i = 0; i < m->function_count; i++)
        cw_buf_printf(out, "    { %u, %u, %d },\n", v[i]->since, v[i]->index, v[i]->plain != NULL);
    cw_buf_puts(out, "};\n\nconst struct cw_meta_base cw_meta_bases[] = {\n");
    for (unsigned i = 0; i < m->function_count; bases++) {
        unsigned n = 0;
        bool per_thread = false;
        for (; i + n < m->function_count && !strcmp(v[i + n]->base, v[i]->base); n++)
            per_thread |= v[i + n]->plain != NULL;
        cw_buf_printf(out, "    { \"%s\", %u, %u, %d },\n", v[i]->base, i, n, per_thread);
        i += n;
    }
    cw_buf_printf(out, "};\nconst unsigned cw_meta_base_count = %u;\n", bases);
    free(v);
}

void
emit_meta(const struct model *m, struct cw_buf *out)
{
    static const char *const status[] = { "UNSUPPORTED", "PARTIAL", "IMPLEMENTED" };

    emit_banner(out, "The API model as tables; see impl/api/meta.h.");
    cw_buf_puts(out, m->library_count ? "#include \"impl/api/cuda_runtime.h\"\n" : "#include \"cudaway/cuda_table.h\"\n");
    cw_buf_puts(out, "#include \"impl/api/meta.h\"\n");
    emit_enums(m, out);
    emit_structs(m, out);
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (f->plain || !f->param_count)
            continue;
        cw_buf_printf(out, "\nstatic const struct cw_meta_param params_%u[] = { /* %s */\n", f->index, f->name);
        for (unsigned p = 0; p < f->param_count; p++)
            emit_param_row(m, out, &f->params[p]);
        cw_buf_puts(out, "};\n");
    }
    cw_buf_puts(out, "\nconst struct cw_meta_function cw_meta_functions[] = {\n");
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        cw_buf_printf(out, "    { \"%s\", \"%s\", \"%s\", ", f->name, f->base, f->area);
        cw_buf_printf(out, f->hip ? "\"%s\", " : "NULL, ", f->hip);
        if (f->reason)
            cw_buf_json_string(out, f->reason);
        else
            cw_buf_puts(out, "NULL");
        cw_buf_printf(out, f->param_count ? ", params_%u" : ", NULL", f->plain ? f->plain->index : f->index);
        cw_buf_printf(out, ", %u, %u, %d, %d, CW_STATUS_%s },\n", f->param_count, f->since,
                      f->plain ? (int)f->plain->index : -1, f->windows, status[f->status]);
    }
    cw_buf_printf(out, "};\nconst unsigned cw_meta_function_count = %u;\n", m->function_count);
    emit_versions(m, out);
}
