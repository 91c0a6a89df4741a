/* SPDX-License-Identifier: Apache-2.0
 * trace_points.h and trace_points.c: an LTTng-UST event at the entry and one at the exit of each function.
 *
 * Every event takes the call as its one argument and reads the fields from it. At entry: every parameter (pointers as
 * addresses; strings, arrays and structures that the call reads also by content). At exit: what the call wrote through
 * its out parameters, read only when it succeeded and the pointer is not null, and the result. The helpers in
 * tracer/tp/fields.h bound values without a bound of their own. Structure members are fields named PARAM__MEMBER.
 *
 * Each model has a provider and files of its own: LTTng's names and the header's are global to a compilation. */
#include "tracer/gen/gen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What the files of a model are called. */
struct names {
    const char *provider;        /* of the events */
    const char *header;          /* that declares them, in cudaway/ */
    const char *guard;
    const char *prefix;          /* of what the C file defines */
};

static const struct names driver_names = { "cudaway", "trace_points.h", "CW_TRACE_POINTS_H", "cw_tp" };
static const struct names runtime_names = { "cudaway_runtime", "runtime_points.h", "CW_RUNTIME_POINTS_H", "cw_tp_runtime" };

static const struct names *
names_of(const struct model *m)
{
    return strcmp(m->prefix, "cu") ? &runtime_names : &driver_names;
}

/* Libraries of several versions may have one name for two functions of different parameters: then the implementing
 * function's name tells them apart. */
static void
event_name(const struct model *m, const struct function *f, char *out, size_t size)
{
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *other = &m->functions[i];
        if (other != f && !strcmp(other->name, f->name)) {
            snprintf(out, size, "%s%s", f->impl, f->plain ? f->suffix : "");
            return;
        }
    }
    snprintf(out, size, "%s", f->name);
}

enum shape { SHAPE_NONE, SHAPE_SIGNED, SHAPE_UNSIGNED, SHAPE_HEX, SHAPE_FLOAT, SHAPE_ENUM };

struct value {
    enum shape  shape;
    const char *type;                   /* C type of the value */
    const struct enumeration *enumeration;
};

static bool
fits_int(const struct enumeration *e)
{
    for (unsigned i = 0; i < e->count; i++)
        if (e->values[i].value > INT32_MAX || e->values[i].value < INT32_MIN)
            return false;
    return e->count > 0 && !e->flags && !e->macros;
}

/* How a value of C type `type` (no pointer) and meaning `kind` is recorded. */
static struct value
shape_of(const struct model *m, const char *type, enum kind kind)
{
    struct value v = { .type = type };
    const char *plain = model_resolve(m, type);
    const struct type *t = model_type(m, type);
    if ((v.enumeration = model_enum(m, plain)))
        v.shape = kind != KIND_FLAGS && fits_int(v.enumeration) ? SHAPE_ENUM : SHAPE_HEX;
    else if (t && t->form == TYPE_HANDLE)
        v.shape = SHAPE_HEX;
    else if (t && t->form == TYPE_CALLBACK)
        v.shape = SHAPE_HEX;
    else if (t)
        v.shape = SHAPE_NONE;
    else if (!strcmp(plain, "float") || !strcmp(plain, "double"))
        v.shape = SHAPE_FLOAT;
    else if (kind == KIND_DEVICE_POINTER || kind == KIND_HANDLE || kind == KIND_FLAGS || kind == KIND_VALUE ||
             !strncmp(type, "CUdeviceptr", 11))
        v.shape = SHAPE_HEX;
    else if (!strcmp(plain, "int") || !strcmp(plain, "long long") || !strcmp(plain, "char") || !strcmp(plain, "short"))
        v.shape = SHAPE_SIGNED;
    else if (!strncmp(plain, "unsigned", 8) || !strcmp(plain, "size_t") || strstr(plain, "int32_t") || strstr(plain, "int64_t"))
        v.shape = SHAPE_UNSIGNED;
    return v;                   /* what is left: void, and structures of another model */
}

/* One scalar field; `expr` has the value's C type. */
static void
scalar(const struct model *m, struct cw_buf *out, const struct value *v, const char *name, const char *expr)
{
    switch (v->shape) {
    case SHAPE_ENUM:
        cw_buf_printf(out, "    lttng_ust_field_enum(%s, %s, int, %s, (int)%s)\n", names_of(m)->provider, v->enumeration->name, name, expr);
        break;
    case SHAPE_SIGNED:
        cw_buf_printf(out, "    lttng_ust_field_integer(int64_t, %s, %s)\n", name, expr);
        break;
    case SHAPE_UNSIGNED:
        cw_buf_printf(out, "    lttng_ust_field_integer(uint64_t, %s, %s)\n", name, expr);
        break;
    case SHAPE_HEX:
        cw_buf_printf(out, "    lttng_ust_field_integer_hex(uint64_t, %s, (uint64_t)%s)\n", name, expr);
        break;
    case SHAPE_FLOAT:
        cw_buf_printf(out, "    lttng_ust_field_float(double, %s, %s)\n", name, expr);
        break;
    case SHAPE_NONE:
        break;
    }
}

/* "unsigned int width[3]" -> type, name, count (1 without brackets; 0 for other declarations). */
static unsigned
split_member(const char *text, char *type, char *name, size_t size)
{
    const char *bracket = strchr(text, '['), *end = bracket ? bracket : text + strlen(text);
    const char *start = end;
    while (start > text && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
        start--;
    if (start == text || start == end || (size_t)(end - start) >= size || (size_t)(start - text) >= size ||
        strchr(text, '('))
        return 0;
    snprintf(name, size, "%.*s", (int)(end - start), start);
    while (start > text && start[-1] == ' ')
        start--;
    const char *from = !strncmp(text, "const ", 6) ? text + 6 : text;
    snprintf(type, size, "%.*s", (int)(start - from), from);
    if (!bracket)
        return 1;
    unsigned n = 0;
    return sscanf(bracket, "[%u]", &n) == 1 && !strchr(bracket + 1, '[') ? n : 0;
}

/* The plain members of a structure: behind a pointer, where `valid` is the C condition under which it may be read, or passed by
 * value. */
static void
members(const struct model *m, struct cw_buf *out, const struct param *p, unsigned index, const char *valid)
{
    const struct type *t = model_type(m, p->base);
    const cJSON *f;
    if (!t || t->form != TYPE_STRUCT || p->pointers > 1)
        return;
    cJSON_ArrayForEach(f, t->fields) {
        char type[96], name[96], field[256], expr[512];
        unsigned count = cJSON_IsString(f) ? split_member(f->valuestring, type, name, sizeof type) : 0;
        if (!count || !strncmp(name, "reserved", 8) || !strncmp(name, "Reserved", 8))
            continue;
        snprintf(field, sizeof field, "%s__%s", p->name, name);
        size_t n = strlen(type);
        struct value v = shape_of(m, type, KIND_INT);
        if (n && type[n - 1] == '*')
            v = (struct value){ .shape = SHAPE_HEX, .type = "void *" };
        if (v.shape == SHAPE_NONE)
            continue;
        if (count == 1 && !p->pointers) {
            snprintf(expr, sizeof expr, "(*(%s *)c->args[%u]).%s", p->base, index, name);
            scalar(m, out, &v, field, expr);
        } else if (count == 1) {
            snprintf(expr, sizeof expr, "(%s ? (*(%s *const *)c->args[%u])->%s : (__typeof__(((%s *)0)->%s))0)", valid,
                     p->base, index, name, p->base, name);
            scalar(m, out, &v, field, expr);
        } else if (p->pointers && v.shape != SHAPE_FLOAT && n && type[n - 1] != '*') {
            cw_buf_printf(out, "    lttng_ust_field_sequence%s(%s, %s, (%s ? (*(%s *const *)c->args[%u])->%s : "
                               "(const void *)cw_tp_zero), unsigned, %s ? %uu : 0u)\n",
                          v.shape == SHAPE_HEX || !strcmp(model_resolve(m, type), "char") ? "_hex" : "",
                          v.shape == SHAPE_ENUM ? "int" : !strcmp(type, "char") ? "uint8_t" : type, field, valid, p->base,
                          index, name, valid, count);
        }
    }
}

/* A structure passed by value. Members of one unsigned type (dim3, cudaExtent) are an array, other plain ones fields of their
 * own; what has none (an identifier of 64 bytes) is its bytes. */
static void
by_value(const struct model *m, struct cw_buf *out, const struct param *p, unsigned index)
{
    const struct type *t = model_type(m, p->base);
    char type[96], name[96], first[96] = "";
    unsigned fields = 0, plain = 0, same = 0;
    const cJSON *f;
    const cJSON *all = t && t->form == TYPE_STRUCT ? t->fields : NULL;
    cJSON_ArrayForEach(f, all) {
        fields++;
        if (!cJSON_IsString(f) || split_member(f->valuestring, type, name, sizeof type) != 1)
            continue;
        plain += strchr(type, '*') || shape_of(m, type, KIND_INT).shape != SHAPE_NONE;
        if (!*first)
            snprintf(first, sizeof first, "%s", type);
        same += !strcmp(type, first) && shape_of(m, type, KIND_INT).shape == SHAPE_UNSIGNED;
    }
    if (fields && same == fields)
        cw_buf_printf(out, "    lttng_ust_field_array(%s, %s, (const %s *)c->args[%u], %u)\n", first, p->name, first, index, fields);
    else if (fields && plain == fields)
        members(m, out, p, index, "");
    else
        cw_buf_printf(out, "    lttng_ust_field_array_hex(uint8_t, %s, (const uint8_t *)c->args[%u], sizeof(%s))\n",
                      p->name, index, p->base);
}

/* The number of elements of an array parameter as a C expression, bounded. */
static void
length_of(char *out, size_t size, const struct function *f, const struct param *p, const char *valid)
{
    if (p->length < 0) {
        snprintf(out, size, "cw_tp_count(%s, %lldu)", valid, (long long)p->length_const);
        return;
    }
    const struct param *n = &f->params[p->length];
    if (p->length_deref)
        snprintf(out, size, "(cw_tp_in(c, %d) ? cw_tp_count(%s, cw_tp_less(**(%s *const *)c->args[%d], %uu)) : 0u)",
                 p->length, valid, n->base, p->length, p->length_less);
    else
        snprintf(out, size, "cw_tp_count(%s, cw_tp_less((uint64_t)*(%s *)c->args[%d], %uu))", valid, n->type, p->length,
                 p->length_less);
}

static void
array(const struct model *m, struct cw_buf *out, const struct function *f, const struct param *p, unsigned index,
      const char *field, const char *valid)
{
    char count[512];
    struct value v = shape_of(m, p->base, p->of);
    length_of(count, sizeof count, f, p, valid);
    if (p->of == KIND_BYTE)
        cw_buf_printf(out, "    lttng_ust_field_sequence_hex(uint8_t, %s, cw_tp_at(c, %u), unsigned, %s)\n", field, index,
                      count);
    else if (p->pointers > 1)
        cw_buf_printf(out, "    lttng_ust_field_sequence_hex(uint64_t, %s, cw_tp_at(c, %u), unsigned, %s)\n", field, index,
                      count);
    else if (v.shape == SHAPE_ENUM || v.shape == SHAPE_SIGNED || v.shape == SHAPE_UNSIGNED || v.shape == SHAPE_HEX)
        cw_buf_printf(out, "    lttng_ust_field_sequence%s(%s, %s, cw_tp_at(c, %u), unsigned, %s)\n",
                      v.shape == SHAPE_HEX ? "_hex" : "",
                      v.enumeration ? "int" : v.shape == SHAPE_HEX ? "uint64_t" : p->base, field, index, count);
}

static bool
reads(const struct param *p)
{
    return p->dir != DIR_OUT;
}

static void
try_array(struct cw_buf *out, const struct function *f, const struct param *p, unsigned index)
{
    char count[512], valid[64];
    if (p->length >= 0 && p->length_deref)
        cw_buf_printf(out, "    cw_tp_try(c, %d, sizeof(%s));\n", p->length, f->params[p->length].base);
    snprintf(valid, sizeof valid, "cw_tp_at(c, %u)", index);
    length_of(count, sizeof count, f, p, valid);
    cw_buf_printf(out, "    cw_tp_try(c, %u, (uint64_t)%s * sizeof(%s));\n", index, count, p->of == KIND_BYTE ? "char" : p->pointers > 1 ? "void *" : p->base);
}

/* Before an event: what its fields read is tried. Texts are, as far as they go, in their fields. */
static void
entry_tries(const struct model *m, struct cw_buf *out, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        const struct type *t = model_type(m, p->base);
        if (!p->pointers || !reads(p))
            continue;
        if (p->kind == KIND_ARRAY && p->of != KIND_STRUCT)
            try_array(out, f, p, i);
        else if (p->kind == KIND_STRUCT && p->pointers == 1 && t && t->form == TYPE_STRUCT)
            cw_buf_printf(out, "    cw_tp_try(c, %u, sizeof(%s));\n", i, p->base);
    }
}

/* A call that succeeds need not have written everything: the rest of a capture's information where there is none. */
static void
exit_tries(const struct model *m, struct cw_buf *out, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        const struct type *t = model_type(m, p->base);
        if (p->dir == DIR_IN || !p->pointers || p->kind == KIND_TYPED_VALUE || p->kind == KIND_HOST_BUFFER || p->kind == KIND_STRING_BUFFER)
            continue;
        if (p->kind == KIND_ARRAY && p->of != KIND_STRUCT)
            try_array(out, f, p, i);
        else if (p->kind != KIND_ARRAY && p->pointers > 1)
            cw_buf_printf(out, "    cw_tp_try(c, %u, sizeof(void *));\n", i);
        else if (p->kind != KIND_ARRAY && strcmp(p->base, "void") && (p->kind != KIND_STRUCT || (t && t->form == TYPE_STRUCT)))
            cw_buf_printf(out, "    cw_tp_try(c, %u, sizeof(%s));\n", i, p->base);
    }
}

static void
entry_fields(const struct model *m, struct cw_buf *out, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        char expr[256], valid[64];
        snprintf(valid, sizeof valid, "cw_tp_in(c, %u)", i);
        if (!p->pointers) {
            struct value v = shape_of(m, p->base, p->kind);
            snprintf(expr, sizeof expr, "(*(%s *)c->args[%u])", p->type, i);
            if (v.shape == SHAPE_NONE)
                by_value(m, out, p, i);
            else
                scalar(m, out, &v, p->name, expr);
        } else if (p->kind == KIND_STRING && reads(p) && p->pointers == 1) {
            cw_buf_printf(out, "    lttng_ust_field_sequence_text(char, %s, cw_tp_text(c, %u), unsigned, "
                               "cw_tp_text_length(c, %u))\n", p->name, i, i);
        } else if (p->kind == KIND_ARRAY && reads(p) && p->of != KIND_STRUCT) {
            array(m, out, f, p, i, p->name, valid);
        } else {
            cw_buf_printf(out, "    lttng_ust_field_integer_hex(uint64_t, %s, (uint64_t)(uintptr_t)cw_tp_at(c, %u))\n",
                          p->name, i);
            if (p->kind == KIND_STRUCT && p->pointers == 1 && reads(p))
                members(m, out, p, i, valid);
        }
    }
}

static void
exit_fields(const struct model *m, struct cw_buf *out, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        const struct param *p = &f->params[i];
        char expr[512], valid[64];
        if (p->dir == DIR_IN || !p->pointers)
            continue;
        snprintf(valid, sizeof valid, "cw_tp_out(c, %u)", i);
        if (p->kind == KIND_STRING && p->pointers == 2) {
            cw_buf_printf(out, "    lttng_ust_field_sequence_text(char, %s, cw_tp_out_text(c, %u), unsigned, "
                               "cw_tp_out_text_length(c, %u))\n", p->name, i, i);
        } else if (p->kind == KIND_STRING_BUFFER && p->length >= 0) {
            length_of(expr, sizeof expr, f, p, valid);
            cw_buf_printf(out, "    lttng_ust_field_sequence_text(char, %s, cw_tp_out_bytes(c, %u), unsigned, "
                               "cw_tp_buffer_length(c, %u, %s))\n", p->name, i, i, expr);
        } else if (p->kind == KIND_ARRAY && p->of != KIND_STRUCT) {
            array(m, out, f, p, i, p->name, valid);
        } else if (p->kind == KIND_STRUCT && p->pointers == 1) {
            members(m, out, p, i, valid);
        } else if (p->kind == KIND_TYPED_VALUE || p->kind == KIND_HOST_BUFFER || p->kind == KIND_ARRAY) {
            continue;
        } else if (p->pointers > 1) {
            cw_buf_printf(out, "    lttng_ust_field_integer_hex(uint64_t, %s, (uint64_t)(uintptr_t)(%s ? "
                               "**(void ***)c->args[%u] : (void *)0))\n", p->name, valid, i);
        } else {
            struct value v = shape_of(m, p->base, p->kind);
            snprintf(expr, sizeof expr, "(%s ? **(%s **)c->args[%u] : (%s)0)", valid, p->base, i, p->base);
            scalar(m, out, &v, p->name, expr);
        }
    }
    cw_buf_printf(out, "    lttng_ust_field_enum(%s, %s, int, result, (int)c->result)\n", names_of(m)->provider, m->result);
}

static void
event(const struct model *m, struct cw_buf *out, const struct function *f, const char *when)
{
    const char *provider = names_of(m)->provider;
    char class[128], name[128];
    event_name(m, f->plain ? f->plain : f, class, sizeof class);
    event_name(m, f, name, sizeof name);
    cw_buf_printf(out, "LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(%s, %s_%s, %s, %s_%s, CW_TP_CALL)\n", provider, class, when, provider,
                  name, when);
}

void
emit_trace_points(const struct model *m, struct cw_buf *out)
{
    const struct names *n = names_of(m);
    cw_buf_printf(out, "/* SPDX-License-Identifier: Apache-2.0\n"
                       " * The LTTng-UST events. Generated from impl/api by cudaway-tracegen. */\n"
                       "#undef LTTNG_UST_TRACEPOINT_PROVIDER\n#define LTTNG_UST_TRACEPOINT_PROVIDER %s\n"
                       "#undef LTTNG_UST_TRACEPOINT_INCLUDE\n#define LTTNG_UST_TRACEPOINT_INCLUDE \"cudaway/%s\"\n\n"
                       "#if !defined(%s) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)\n"
                       "#define %s\n\n%s#include \"tracer/tp/fields.h\"\n\n#include <lttng/tracepoint.h>\n\n"
                       "#undef CW_TP_CALL\n#define CW_TP_CALL LTTNG_UST_TP_ARGS(const struct cw_call *, c)\n\n",
                  n->provider, n->header, n->guard, n->guard,
                  n == &runtime_names ? "#include \"impl/api/cuda_runtime.h\"\n" : "");
    for (unsigned i = 0; i < m->enum_count; i++) {
        const struct enumeration *e = &m->enums[i];
        if (!fits_int(e))
            continue;
        cw_buf_printf(out, "LTTNG_UST_TRACEPOINT_ENUM(%s, %s, LTTNG_UST_TP_ENUM_VALUES(\n", n->provider, e->name);
        for (unsigned k = 0; k < e->count; k++)
            cw_buf_printf(out, "    lttng_ust_field_enum_value(\"%s\", %lld)\n", e->values[k].name,
                          (long long)e->values[k].value);
        cw_buf_puts(out, "))\n");
    }
    for (unsigned i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        if (!f->plain) {
            char name[128];
            event_name(m, f, name, sizeof name);
            cw_buf_printf(out, "\nLTTNG_UST_TRACEPOINT_EVENT_CLASS(%s, %s_entry, CW_TP_CALL, LTTNG_UST_TP_FIELDS(\n",
                          n->provider, name);
            entry_fields(m, out, f);
            cw_buf_printf(out, "))\nLTTNG_UST_TRACEPOINT_EVENT_CLASS(%s, %s_exit, CW_TP_CALL, LTTNG_UST_TP_FIELDS(\n",
                          n->provider, name);
            exit_fields(m, out, f);
            cw_buf_puts(out, "))\n");
        }
        event(m, out, f, "entry");
        event(m, out, f, "exit");
    }
    cw_buf_printf(out, "\n%s#endif\n\n#include <lttng/tracepoint-event.h>\n",
                  n == &driver_names ? "#include \"tracer/tp/events.h\"\n\n" : "");
}

/* The events beside the calls: tracer/tp/events.h. */
static void
other_probes(struct cw_buf *out)
{
    static const char *const events[] = { "kernel", "module", "name", "submit", "executed", "process" };
    for (unsigned i = 0; i < sizeof events / sizeof *events; i++)
        cw_buf_printf(out, "\nvoid\ncw_tp_%s(const struct cw_tp_%s *k)\n{\n    lttng_ust_tracepoint(cudaway, %s, k);\n}\n",
                      events[i], events[i], events[i]);
}

void
emit_trace_probes(const struct model *m, struct cw_buf *out)
{
    const struct names *n = names_of(m);
    cw_buf_printf(out, "/* SPDX-License-Identifier: Apache-2.0\n"
                       " * From a call to its events. Generated from impl/api by cudaway-tracegen.\n"
                       " * The header's constructor would register all events, and each costs a question to the session daemon and some\n"
                       " * kilobytes of metadata: it leaves its list with us instead, and tracer/tp/provider.c registers what is used. */\n"
                       "#include \"tracer/tp/tp.h\"\n\n#include <lttng/ust-events.h>\n\n"
                       "const struct lttng_ust_probe_desc *%s_all;\n\n"
                       "static struct lttng_ust_registered_probe *\nkeep(const struct lttng_ust_probe_desc *desc)\n{\n"
                       "    static char registered;\n    %s_all = desc;\n"
                       "    return (struct lttng_ust_registered_probe *)&registered;\n}\n\n"
                       "#define lttng_ust_probe_register(desc) keep(desc)\n#define lttng_ust_probe_unregister(probe) ((void)(probe))\n"
                       "#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#define LTTNG_UST_TRACEPOINT_DEFINE\n"
                       "#include \"cudaway/%s\"\n",
                  n->prefix, n->prefix, n->header);
    static const char *const when[] = { "entry", "exit" };
    for (unsigned w = 0; w < 2; w++) {
        for (unsigned i = 0; i < m->function_count; i++) {
            char name[128];
            event_name(m, &m->functions[i], name, sizeof name);
            struct cw_buf tries;
            cw_buf_init(&tries);
            (w ? exit_tries : entry_tries)(m, &tries, &m->functions[i]);
            if (tries.size)
                cw_buf_printf(out, "\nstatic void\n%s_%u(const struct cw_call *call)\n{\n"
                                   "    if (!lttng_ust_tracepoint_enabled(%s, %s_%s))\n        return;\n"
                                   "    struct cw_call copy = *call, *c = &copy;\n%s%s%s"
                                   "    lttng_ust_do_tracepoint(%s, %s_%s, c);\n}\n",
                              when[w], i, n->provider, name, when[w], w ? "    if (c->result == CUDA_SUCCESS) {\n" : "", tries.data,
                              w ? "    }\n" : "", n->provider, name, when[w]);
            else
                cw_buf_printf(out, "\nstatic void\n%s_%u(const struct cw_call *c)\n{\n"
                                   "    lttng_ust_tracepoint(%s, %s_%s, c);\n}\n", when[w], i, n->provider, name, when[w]);
            cw_buf_finish(&tries);
        }
        cw_buf_printf(out, "\nvoid (*const %s_%s[])(const struct cw_call *) = {\n", n->prefix, when[w]);
        for (unsigned i = 0; i < m->function_count; i++)
            cw_buf_printf(out, "    %s_%u,\n", when[w], i);
        cw_buf_puts(out, "};\n");
    }
    if (n == &driver_names)
        other_probes(out);
    else
        cw_buf_printf(out, "\nconst unsigned %s_count = %u;\natomic_bool %s_known[%u];\n", n->prefix, m->function_count, n->prefix,
                      m->function_count);
}
