/* SPDX-License-Identifier: Apache-2.0
 * See model.h. Loading is in passes: enumerations and types, then functions, then status; every look-up that fails is
 * one line in m->errors. */
#include "impl/api/gen/model.h"

#include "impl/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)8 << 20)

static void
complain(struct model *m, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    cw_buf_vprintf(&m->errors, fmt, ap);
    va_end(ap);
    cw_buf_puts(&m->errors, "\n");
    m->error_count++;
}

const char *
kind_name(enum kind k)
{
    static const char *const names[] = {
#define X(e, s) [KIND_##e] = s,
        KIND_MAP(X)
#undef X
    };
    return k < KIND_TOTAL ? names[k] : "?";
}

const char *
kind_enumerator(enum kind k)
{
    static const char *const names[] = {
#define X(e, s) [KIND_##e] = #e,
        KIND_MAP(X)
#undef X
    };
    return k < KIND_TOTAL ? names[k] : "?";
}

static bool
kind_parse(const char *s, enum kind *k)
{
    for (int i = 0; s && i < KIND_TOTAL; i++) {
        if (!strcmp(kind_name((enum kind)i), s)) {
            *k = (enum kind)i;
            return true;
        }
    }
    return false;
}

static cJSON *
load_tree(struct model *m, const char *dir, const char *file)
{
    const char *path = dir ? cw_arena_printf(&m->arena, "%s/%s", dir, file) : file;
    char *data = NULL;
    size_t size = 0;

    if (cw_file_read(path, MAX_FILE, &data, &size) != CW_OK) {
        complain(m, "%s: cannot be read", path);
        return NULL;
    }
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithLengthOpts(data, size + 1, &end, 1);
    if (!tree) {
        unsigned line = 1;
        for (const char *p = data; end && p < end && *p; p++)
            line += *p == '\n';
        complain(m, "%s:%u: malformed JSON", path, line);
    } else {
        cJSON **trees = realloc(m->trees, sizeof *trees * (m->tree_count + 1));
        if (!trees) {
            complain(m, "out of memory");
            cJSON_Delete(tree);
            tree = NULL;
        } else {
            m->trees = trees;
            m->trees[m->tree_count++] = tree;
        }
    }
    free(data);
    return tree;
}

static const char *
string_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Grow a model array by one zeroed element. */
static void *
push(struct model *m, void **array, unsigned *count, size_t element)
{
    char *p = realloc(*array, element * (*count + 1));
    if (!p) {
        complain(m, "out of memory");
        return NULL;
    }
    *array = p;
    memset(p + element * *count, 0, element);
    return p + element * (*count)++;
}
#define PUSH(m, array, count) push((m), (void **)&(m)->array, &(m)->count, sizeof *(m)->array)

static void
load_enum(struct model *m, const cJSON *e, bool macros)
{
    struct enumeration *out = PUSH(m, enums, enum_count);
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(e, "values"), *v;

    if (!out)
        return;
    out->index = m->enum_count - 1;
    out->name = string_of(e, "name");
    out->tag = string_of(e, "tag");
    out->flags = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(e, "flags"));
    out->macros = macros;
    if (!out->name || !cJSON_IsArray(values)) {
        complain(m, "enumeration %s: needs name and values", out->name ? out->name : "(unnamed)");
        out->name = out->name ? out->name : "";
        return;
    }
    out->values = cw_arena_array(&m->arena, struct enumerator, cJSON_GetArraySize(values) + 1);
    cJSON_ArrayForEach(v, values) {
        const cJSON *name = cJSON_GetArrayItem(v, 0), *value = cJSON_GetArrayItem(v, 1);
        if (!cJSON_IsString(name) || !cJSON_IsNumber(value)) {
            complain(m, "enumeration %s: a value must be [name, number]", out->name);
            continue;
        }
        const cJSON *last = cJSON_GetArrayItem(v, 2);
        out->values[out->count].last = cJSON_IsNumber(last) ? (unsigned)last->valueint : 0;
        out->values[out->count].name = name->valuestring;
        out->values[out->count++].value = (int64_t)value->valuedouble;
    }
}

static void
load_type(struct model *m, const cJSON *t)
{
    static const struct { const char *key; enum type_form form; } forms[] = {
        { "alias", TYPE_ALIAS }, { "handle", TYPE_HANDLE }, { "callback", TYPE_CALLBACK },
        { "struct", TYPE_STRUCT }, { "union", TYPE_UNION },
    };
    struct type *out = PUSH(m, types, type_count);

    if (!out)
        return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (string_of(t, forms[i].key)) {
            out->form = forms[i].form;
            out->name = string_of(t, forms[i].key);
        }
    }
    if (!out->name) {
        complain(m, "types: an entry has none of alias, handle, callback, struct, union");
        out->name = "";
        return;
    }
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(t, "align");
    out->align = cJSON_IsNumber(n) ? (unsigned)n->valueint : 0;
    n = cJSON_GetObjectItemCaseSensitive(t, "size");
    out->size = cJSON_IsNumber(n) ? (unsigned)n->valueint : 0;
    n = cJSON_GetObjectItemCaseSensitive(t, "last");
    out->last = cJSON_IsNumber(n) ? (unsigned)n->valueint : 0;
    out->tag = string_of(t, "tag");
    out->unless = string_of(t, "unless");
    out->target = string_of(t, out->form == TYPE_CALLBACK ? "returns" : "type");
    out->fields = cJSON_GetObjectItemCaseSensitive(t, out->form == TYPE_CALLBACK ? "params" : "fields");
    if ((out->form == TYPE_ALIAS || out->form == TYPE_CALLBACK) && !out->target)
        complain(m, "type %s: needs %s", out->name, out->form == TYPE_ALIAS ? "type" : "returns");
    if (out->form == TYPE_HANDLE && !out->tag)
        complain(m, "type %s: needs tag", out->name);
    if (out->form >= TYPE_CALLBACK && !cJSON_IsArray(out->fields))
        complain(m, "type %s: needs %s", out->name, out->form == TYPE_CALLBACK ? "params" : "fields");
    if (out->form >= TYPE_STRUCT && !out->size)
        complain(m, "type %s: needs size", out->name);
}

static void
load_types(struct model *m, const char *dir, const char *file)
{
    const cJSON *tree = load_tree(m, dir, file), *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "enums"))
        load_enum(m, item, false);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "flag_groups"))
        load_enum(m, item, true);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "types"))
        load_type(m, item);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "constants")) {
        const cJSON **c = PUSH(m, constants, constant_count);
        if (c)
            *c = item;
        if (!cJSON_IsString(cJSON_GetArrayItem(item, 0)) || !cJSON_IsString(cJSON_GetArrayItem(item, 1)))
            complain(m, "%s: a constant must be [name, text]", file);
    }
}

const struct enumeration *
model_enum(const struct model *m, const char *name)
{
    for (unsigned i = 0; name && i < m->enum_count; i++) {
        if (!strcmp(m->enums[i].name, name))
            return &m->enums[i];
    }
    return NULL;
}

static const struct type *
find_type(const struct model *m, const char *name)
{
    for (unsigned i = 0; name && i < m->type_count; i++) {
        if (!strcmp(m->types[i].name, name))
            return &m->types[i];
    }
    return NULL;
}

const struct type *
model_type(const struct model *m, const char *name)
{
    const struct type *t = find_type(m, name);

    for (int depth = 0; t && t->form == TYPE_ALIAS && depth < 8; depth++)
        t = find_type(m, t->target);
    return t;
}

const char *
model_resolve(const struct model *m, const char *name)
{
    for (int depth = 0; depth < 8; depth++) {
        const struct type *t = find_type(m, name);
        if (!t || t->form != TYPE_ALIAS)
            break;
        name = t->target;
    }
    return name;
}

int
function_stream_param(const struct model *m, const struct function *f)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        if (!strcmp(f->params[i].type, m->stream))
            return (int)i;
    }
    return -1;
}

/* Split "const CUfoo **" into its base, pointer levels and constness. */
static void
split_type(struct model *m, struct param *p)
{
    size_t n = strlen(p->type);
    const char *s = p->type;

    if (!strncmp(s, "const ", 6)) {
        p->is_const = true;
        s += 6;
        n -= 6;
    }
    for (;;) {
        if (n && (s[n - 1] == '*' || s[n - 1] == ' ')) {
            p->pointers += s[n - 1] == '*';
            n--;
        } else if (n > 6 && !memcmp(s + n - 6, "*const", 6)) {     /* "const void *const *" */
            n -= 5;
        } else {
            break;
        }
    }
    p->base = cw_arena_strndup(&m->arena, s, n);
}

static const char *const plain_types[] = {
    "void", "char", "int", "float", "size_t", "unsigned char", "unsigned short", "unsigned int", "unsigned long long",
    "uint32_t", "uint64_t", "long long", "double",
};

static bool
is_plain(const char *name)
{
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++) {
        if (!strcmp(plain_types[i], name))
            return true;
    }
    return false;
}

static int
param_index(const struct function *f, const char *name)
{
    for (unsigned i = 0; i < f->param_count; i++) {
        if (f->params[i].name && !strcmp(f->params[i].name, name))
            return (int)i;
    }
    return -1;
}

static void
load_param(struct model *m, const struct function *f, struct param *p, const cJSON *j)
{
    const char *dir = string_of(j, "dir"), *kind = string_of(j, "kind");

    p->name = string_of(j, "name");
    p->type = string_of(j, "type");
    p->length = p->selector = -1;
    if (!p->name || !p->type) {
        complain(m, "%s: a parameter has no name or no type", f->name);
        p->name = p->name ? p->name : "?";
        p->type = p->type ? p->type : "int";
    }
    split_type(m, p);
    if (dir && !strcmp(dir, "in"))
        p->dir = DIR_IN;
    else if (dir && !strcmp(dir, "out"))
        p->dir = DIR_OUT;
    else if (dir && !strcmp(dir, "inout"))
        p->dir = DIR_INOUT;
    else
        complain(m, "%s: parameter %s: dir must be in, out or inout", f->name, p->name);
    if (!kind_parse(kind, &p->kind))
        complain(m, "%s: parameter %s: %s", f->name, p->name, kind ? "unknown kind" : "kind is missing");
    if (p->dir != DIR_IN && !p->pointers)
        complain(m, "%s: parameter %s: a value cannot be an out parameter", f->name, p->name);
    if (!is_plain(p->base) && !find_type(m, p->base) && !model_enum(m, p->base))
        complain(m, "%s: parameter %s: type %s is not in the model", f->name, p->name, p->base);
    p->stream_member = string_of(j, "stream_member");
}

/* Second pass over a function's parameters: what refers to other parameters or to enumerations. */
static void
link_param(struct model *m, const struct function *f, struct param *p, const cJSON *j)
{
    const cJSON *length = cJSON_GetObjectItemCaseSensitive(j, "length");
    const cJSON *less = cJSON_GetObjectItemCaseSensitive(j, "less");

    if (cJSON_IsString(length)) {
        const char *s = length->valuestring;
        p->length_deref = *s == '*';
        p->length = param_index(f, s + p->length_deref);
        if (p->length < 0)
            complain(m, "%s: parameter %s: length names no parameter (%s)", f->name, p->name, s);
        else if (p->length_deref != (f->params[p->length].pointers == 1))
            complain(m, "%s: parameter %s: length %s does not fit that parameter's type", f->name, p->name, s);
    } else if (cJSON_IsNumber(length)) {
        p->length_const = (int64_t)length->valuedouble;
    }
    p->length_less = cJSON_IsNumber(less) ? (unsigned)less->valueint : 0;
    bool needs_length = p->kind == KIND_ARRAY || p->kind == KIND_HOST_BUFFER || p->kind == KIND_STRING_BUFFER;
    if (needs_length && p->length < 0 && p->length_const <= 0)
        complain(m, "%s: parameter %s: kind %s needs a length", f->name, p->name, kind_name(p->kind));
    if (p->kind == KIND_ARRAY && !kind_parse(string_of(j, "of"), &p->of))
        complain(m, "%s: parameter %s: an array needs \"of\", the kind of its elements", f->name, p->name);
    if (p->kind == KIND_TYPED_VALUE) {
        const char *selector = string_of(j, "selector");
        p->selector = selector ? param_index(f, selector) : -1;
        if (p->selector < 0)
            complain(m, "%s: parameter %s: a typed value needs its selector", f->name, p->name);
    }
    if (p->kind == KIND_ENUM || (p->kind == KIND_ARRAY && p->of == KIND_ENUM)) {
        p->enumeration = model_enum(m, model_resolve(m, p->base));
        if (!p->enumeration)
            complain(m, "%s: parameter %s: %s is no enumeration", f->name, p->name, p->base);
    }
    if (p->kind == KIND_FLAGS) {
        const cJSON *flags = cJSON_GetObjectItemCaseSensitive(j, "flags");
        if (cJSON_IsString(flags)) {
            p->enumeration = model_enum(m, flags->valuestring);
            if (!p->enumeration)
                complain(m, "%s: parameter %s: no enumeration %s", f->name, p->name, flags->valuestring);
        } else if (!cJSON_IsNull(flags)) {
            complain(m, "%s: parameter %s: flags needs the enumeration of its bits, or null", f->name, p->name);
        }
    }
    const char *resolved = model_resolve(m, p->base);
    bool points = strchr(resolved, '*') != NULL;
    bool handle = p->kind == KIND_HANDLE || (p->kind == KIND_ARRAY && p->of == KIND_HANDLE);
    const struct type *t = model_type(m, p->base);
    if (handle && !(t && t->form == TYPE_HANDLE) && !points && strncmp(p->base, "CU", 2))
        complain(m, "%s: parameter %s: %s is no handle", f->name, p->name, p->base);
    bool structure = p->kind == KIND_STRUCT || (p->kind == KIND_ARRAY && p->of == KIND_STRUCT);
    if (structure && !(t && t->form >= TYPE_STRUCT))
        complain(m, "%s: parameter %s: %s is no structure", f->name, p->name, p->base);
}

static unsigned
version_of(const char *name, const char *base)
{
    size_t n = strlen(base);

    if (!strcmp(name, base))
        return 1;
    if (strncmp(name, base, n) || strncmp(name + n, "_v", 2))
        return 0;
    unsigned long v = strtoul(name + n + 2, NULL, 10);
    return v > 1 && v < 100 ? (unsigned)v : 0;
}

/* "in": [11, 12]: the libraries that export a symbol, as bits. */
static unsigned
load_in(struct model *m, const char *name, const cJSON *j, unsigned fallback)
{
    const cJSON *in = cJSON_GetObjectItemCaseSensitive(j, "in"), *item;
    unsigned mask = 0;

    if (!in)
        return fallback;
    cJSON_ArrayForEach(item, in) {
        unsigned i = 0;
        while (i < m->library_count && !(cJSON_IsNumber(item) && (unsigned)item->valueint == m->libraries[i].major))
            i++;
        if (i == m->library_count)
            complain(m, "%s: in names a library that the model does not have", name);
        mask |= 1u << i;
    }
    if (!mask || mask & ~fallback)
        complain(m, "%s: in must be a list of libraries, of those of the plain symbol for a variant", name);
    return mask & fallback;
}

static bool
has_prefix(const struct model *m, const char *name)
{
    size_t n = strlen(m->prefix);
    return !strncmp(name, m->prefix, n) || (!strncmp(name, "__", 2) && m->library_count && !strncmp(name + 2, m->prefix, n));
}

static void
load_function(struct model *m, const char *area, bool in_toolkit, const cJSON *j)
{
    const char *name = string_of(j, "name");
    const cJSON *since = cJSON_GetObjectItemCaseSensitive(j, "since");
    const cJSON *hip = cJSON_GetObjectItemCaseSensitive(j, "hip");
    const cJSON *windows = cJSON_GetObjectItemCaseSensitive(j, "windows");
    const cJSON *lockless = cJSON_GetObjectItemCaseSensitive(j, "lockless");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(j, "params"), *item;
    const cJSON *per_thread = cJSON_GetObjectItemCaseSensitive(j, "per_thread");

    if (!name || !has_prefix(m, name)) {
        complain(m, "area %s: a function without a name that starts with %s", area, m->prefix);
        return;
    }
    unsigned in = load_in(m, name, j, (1u << (m->library_count ? m->library_count : 1)) - 1);
    for (unsigned i = 0; i < m->function_count; i++) {
        if (!strcmp(m->functions[i].name, name) && m->functions[i].in & in)
            complain(m, "%s: described twice", name);
    }
    struct function *f = PUSH(m, functions, function_count);
    if (!f)
        return;
    f->name = name;
    f->area = area;
    f->in = in;
    f->impl = string_of(j, "impl") ? string_of(j, "impl") : name;
    f->returns = string_of(j, "returns") ? string_of(j, "returns") : m->result;
    f->in_toolkit = in_toolkit;
    f->base = string_of(j, "base") ? string_of(j, "base") : name;
    f->suffix = "";
    f->version = version_of(name, f->base);
    if (!f->version)
        complain(m, "%s: is no version of its base %s", name, f->base);
    if (cJSON_IsNumber(since) && since->valueint >= 1000 && (unsigned)since->valueint <= m->cuda_version)
        f->since = (unsigned)since->valueint;
    else
        complain(m, "%s: since must be a CUDA version (major * 1000 + minor * 10) up to %u", name, m->cuda_version);
    if (cJSON_IsString(hip))
        f->hip = hip->valuestring;
    else if (!cJSON_IsNull(hip))
        complain(m, "%s: hip must be the name of HIP's counterpart, or null", name);
    if (!cJSON_IsBool(windows))
        complain(m, "%s: windows must be true or false", name);
    f->windows = cJSON_IsTrue(windows);
    if (lockless && !cJSON_IsBool(lockless))
        complain(m, "%s: lockless must be true or false", name);
    f->lockless = cJSON_IsTrue(lockless);
    if (!cJSON_IsArray(params)) {
        complain(m, "%s: params is missing", name);
        return;
    }
    f->param_count = (unsigned)cJSON_GetArraySize(params);
    f->params = cw_arena_array(&m->arena, struct param, f->param_count + 1);
    unsigned i = 0;
    cJSON_ArrayForEach(item, params)
        load_param(m, f, &f->params[i++], item);
    i = 0;
    cJSON_ArrayForEach(item, params)
        link_param(m, f, &f->params[i++], item);
    if (!per_thread)
        return;
    const char *suffix = string_of(per_thread, "suffix");
    since = cJSON_GetObjectItemCaseSensitive(per_thread, "since");
    if (!suffix || (strcmp(suffix, "ptsz") && strcmp(suffix, "ptds")) || !cJSON_IsNumber(since)) {
        complain(m, "%s: per_thread needs suffix (ptsz or ptds) and since", name);
        return;
    }
    unsigned plain = m->function_count - 1;
    struct function *v = PUSH(m, functions, function_count);
    if (!v)
        return;
    *v = m->functions[plain];
    v->name = cw_arena_printf(&m->arena, "%s_%s", name, suffix);
    v->suffix = suffix;
    v->in = load_in(m, v->name, per_thread, v->in);
    v->since = (unsigned)since->valueint;
    /* The array still moves; the indices are turned into pointers when all functions are in. */
    v->plain = (const struct function *)(uintptr_t)(plain + 1);
}

static void
load_functions(struct model *m, const char *dir, const char *file)
{
    const cJSON *tree = load_tree(m, dir, file), *item;
    const char *area = string_of(tree, "area");

    if (!tree)
        return;
    if (!area) {
        complain(m, "%s: area is missing", file);
        return;
    }
    bool in_toolkit = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(tree, "in_toolkit"));
    const char **a = PUSH(m, areas, area_count);
    if (a)
        *a = area;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "functions"))
        load_function(m, area, in_toolkit, item);
}

static void
set_status(struct model *m, const char *name, enum status status, const char *reason)
{
    bool any = false;

    for (unsigned i = 0; i < m->function_count; i++) {
        struct function *f = &m->functions[i];
        if (f->plain || strcmp(f->impl, name))
            continue;
        if (f->status != STATUS_UNSUPPORTED || f->reason)
            complain(m, "status: %s is listed twice", name);
        f->status = status;
        f->reason = reason;
        any = true;
    }
    if (any)
        return;
    complain(m, "status: %s is not in the model (per-thread variants follow their plain symbol)", name);
}

static void
load_status(struct model *m, const char *dir, const char *file)
{
    static const struct { const char *key; enum status status; } lists[] = {
        { "partial", STATUS_PARTIAL }, { "unsupported", STATUS_UNSUPPORTED },
    };
    const cJSON *tree = load_tree(m, dir, file), *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "implemented")) {
        if (cJSON_IsString(item))
            set_status(m, item->valuestring, STATUS_IMPLEMENTED, NULL);
        else
            complain(m, "%s: implemented must be a list of names", file);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, lists[i].key)) {
            if (cJSON_IsString(item) && *item->valuestring)
                set_status(m, item->string, lists[i].status, item->valuestring);
            else
                complain(m, "%s: %s: %s needs a reason", file, lists[i].key, item->string ? item->string : "?");
        }
    }
}

static void
load_libraries(struct model *m, const cJSON *tree)
{
    static const struct { const char *key, *fallback; size_t at; } texts[] = {
        { "name", "CUDA driver", offsetof(struct model, name) }, { "prefix", "cu", offsetof(struct model, prefix) },
        { "result", "CUresult", offsetof(struct model, result) }, { "stream", "CUstream", offsetof(struct model, stream) },
        { "stream_per_thread", "CU_STREAM_PER_THREAD", offsetof(struct model, per_thread_stream) },
    };
    const cJSON *item;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *s = string_of(tree, texts[i].key);
        *(const char **)((char *)m + texts[i].at) = s ? s : texts[i].fallback;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "libraries")) {
        const cJSON *major = cJSON_GetObjectItemCaseSensitive(item, "major");
        const cJSON *version = cJSON_GetObjectItemCaseSensitive(item, "cuda_version");
        if (!cJSON_IsNumber(major) || !cJSON_IsNumber(version) || !string_of(item, "soname") || m->library_count == MAX_LIBRARIES) {
            complain(m, "model.json: a library needs major, cuda_version and soname; at most %d", MAX_LIBRARIES);
            continue;
        }
        m->libraries[m->library_count++] =
            (struct library){ string_of(item, "soname"), (unsigned)major->valueint, (unsigned)version->valueint };
    }
}

bool
model_load(struct model *m, const char *dir)
{
    return model_load_with_status(m, dir, NULL);
}

bool
model_load_with_status(struct model *m, const char *dir, const char *status)
{
    memset(m, 0, sizeof *m);
    cw_arena_init(&m->arena);
    cw_buf_init(&m->errors);

    const cJSON *tree = load_tree(m, dir, "model.json"), *item;
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(tree, "cuda_version");
    if (!tree)
        return false;
    if (!cJSON_IsNumber(version) || !string_of(tree, "status")) {
        complain(m, "model.json: needs cuda_version and status");
        return false;
    }
    m->cuda_version = (unsigned)version->valueint;
    load_libraries(m, tree);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "types")) {
        if (cJSON_IsString(item))
            load_types(m, dir, item->valuestring);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "functions")) {
        if (cJSON_IsString(item))
            load_functions(m, dir, item->valuestring);
    }
    if (status)
        load_status(m, NULL, status);
    else
        load_status(m, dir, string_of(tree, "status"));
    for (unsigned i = 0; i < m->function_count; i++) {
        struct function *f = &m->functions[i];
        f->index = i;
        if (f->plain) {
            struct function *plain = &m->functions[(uintptr_t)f->plain - 1];
            f->plain = plain;
            plain->variant = f;
            f->status = plain->status;
            f->reason = plain->reason;
        }
    }
    if (m->errors.failed)
        complain(m, "out of memory");
    return m->error_count == 0;
}

void
model_finish(struct model *m)
{
    for (unsigned i = 0; i < m->tree_count; i++)
        cJSON_Delete(m->trees[i]);
    free(m->trees);
    free(m->enums);
    free(m->types);
    free(m->constants);
    free(m->functions);
    free(m->areas);
    cw_buf_finish(&m->errors);
    cw_arena_finish(&m->arena);
}
