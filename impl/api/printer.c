/* SPDX-License-Identifier: Apache-2.0
 * See printer.h. */
#include "impl/api/printer.h"

#include "impl/base/readable.h"

#include <inttypes.h>
#include <string.h>

#define MAX_STRING   256    /* characters of a string that are shown */
#define MAX_ELEMENTS 16     /* elements of an array that are shown */
#define MAX_DEPTH    3      /* structures in structures */

static void
print_string(struct cw_buf *out, const char *s, size_t limit)
{
    if (!s) {
        cw_buf_puts(out, "NULL");
        return;
    }
    const size_t most = limit < MAX_STRING ? limit : MAX_STRING, n = cw_readable_text(s, most);
    cw_buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            cw_buf_printf(out, "\\%c", c);
        else if (c == '\n')
            cw_buf_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            cw_buf_printf(out, "\\x%02x", c);
        else
            cw_buf_append(out, &s[i], 1);
    }
    cw_buf_puts(out, n == MAX_STRING && limit > n && !(cw_readable(s + n, 1) && !s[n]) ? "\"..." : "\"");
}

static void
print_flags(struct cw_buf *out, int enum_index, uint64_t value)
{
    const struct cw_meta_enum *e =
        enum_index >= 0 && (unsigned)enum_index < cw_meta_enum_count ? &cw_meta_enums[enum_index] : NULL;
    const char *name = e ? cw_meta_enumerator(enum_index, (int64_t)value) : NULL;
    bool first = true;

    if (name || !value) {
        cw_buf_puts(out, name ? name : "0");
        return;
    }
    for (unsigned i = 0; e && i < e->count; i++) {
        uint64_t bit = (uint64_t)e->values[i].value;
        if (!bit || (bit & (bit - 1)) || !(value & bit))
            continue;
        cw_buf_printf(out, "%s%s", first ? "" : "|", e->values[i].name);
        value &= ~bit;
        first = false;
    }
    if (value)
        cw_buf_printf(out, "%s0x%" PRIx64, first ? "" : "|", value);
}

void
cw_cuda_print_number(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, uint64_t value)
{
    const char *name;

    switch (kind) {
    case CW_KIND_ENUM:
        name = cw_meta_enumerator(enum_index, (int64_t)value);
        if (name)
            cw_buf_puts(out, name);
        else
            cw_buf_printf(out, "%" PRId64, (int64_t)value);
        break;
    case CW_KIND_FLAGS:
        print_flags(out, enum_index, value);
        break;
    case CW_KIND_BOOL:
        cw_buf_puts(out, value ? "true" : "false");
        break;
    case CW_KIND_DEVICE:
    case CW_KIND_INT:
        cw_buf_printf(out, "%" PRId64, (int64_t)value);
        break;
    case CW_KIND_SIZE:
    case CW_KIND_COUNT:
    case CW_KIND_UINT:
        cw_buf_printf(out, "%" PRIu64, value);
        break;
    case CW_KIND_BYTE:
        cw_buf_printf(out, "%02x", (unsigned)(value & 0xff));
        break;
    default:
        if (value)
            cw_buf_printf(out, "0x%" PRIx64, value);
        else
            cw_buf_puts(out, "NULL");
    }
}

static bool
is_signed(enum cw_meta_kind kind)
{
    return kind == CW_KIND_INT || kind == CW_KIND_ENUM || kind == CW_KIND_DEVICE;
}

static uint64_t
load(const void *p, size_t size, bool sign)
{
    uint64_t v = 0;

    if (!size || size > 8)
        return 0;
    memcpy(&v, p, size);      /* little endian, as every host that CUDA knows */
    if (sign && size < 8 && (v >> (size * 8 - 1)) & 1)
        v |= ~(uint64_t)0 << (size * 8);
    return v;
}

static void print_struct(struct cw_buf *out, int struct_index, const char *base, unsigned depth);

static void
print_at(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, int struct_index, const void *value, size_t size,
         unsigned depth)
{
    if (kind == CW_KIND_STRUCT && struct_index >= 0 && (unsigned)struct_index < cw_meta_struct_count) {
        print_struct(out, struct_index, value, depth);
    } else if (kind == CW_KIND_FLOAT && size == sizeof(float)) {
        float f;
        memcpy(&f, value, sizeof f);
        cw_buf_printf(out, "%g", (double)f);
    } else if (kind == CW_KIND_STRING && size == sizeof(char *)) {
        const char *s;
        memcpy(&s, value, sizeof s);
        print_string(out, s, SIZE_MAX);
    } else if (size <= 8) {
        cw_cuda_print_number(out, kind, enum_index, load(value, size, is_signed(kind)));
    } else {
        cw_buf_puts(out, "{...}");
    }
}

static void
print_array(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, int struct_index, const char *elements,
            size_t element_size, uint64_t count, unsigned depth)
{
    cw_buf_puts(out, "[");
    for (uint64_t i = 0; i < count && i < MAX_ELEMENTS; i++) {
        if (i && kind != CW_KIND_BYTE)
            cw_buf_puts(out, ", ");
        print_at(out, kind, enum_index, struct_index, elements + i * element_size, element_size, depth);
    }
    cw_buf_puts(out, count > MAX_ELEMENTS ? ", ...]" : "]");
}

static void
print_struct(struct cw_buf *out, int struct_index, const char *base, unsigned depth)
{
    const struct cw_meta_struct *s = &cw_meta_structs[struct_index];

    if (!s->count || depth >= MAX_DEPTH) {
        cw_buf_puts(out, "{...}");
        return;
    }
    cw_buf_puts(out, "{");
    for (unsigned i = 0; i < s->count; i++) {
        const struct cw_meta_field *f = &s->fields[i];
        cw_buf_printf(out, "%s%s=", i ? ", " : "", f->name);
        /* A pointer inside a structure is an address here: how much is behind it is not described. */
        int inner = f->pointers ? -1 : f->struct_index;
        enum cw_meta_kind kind = f->pointers ? CW_KIND_HOST_POINTER : (enum cw_meta_kind)f->kind;
        if (f->count)
            print_array(out, kind, f->enum_index, inner, base + f->offset, f->size / f->count, f->count, depth + 1);
        else
            print_at(out, kind, f->enum_index, inner, base + f->offset, f->size, depth + 1);
    }
    cw_buf_puts(out, "}");
}

void
cw_cuda_print_value(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, int struct_index, const void *value,
                    size_t size)
{
    print_at(out, kind, enum_index, struct_index, value, size, 0);
}

/* Number of elements (or bytes) of a parameter with a length. */
static uint64_t
length_of(const struct cw_meta_function *f, const struct cw_meta_param *p, void *const *args)
{
    uint64_t n = p->length_const;

    if (p->length >= 0) {
        const struct cw_meta_param *l = &f->params[p->length];
        const void *from = args[p->length];
        if (p->length_deref) {
            memcpy(&from, from, sizeof from);
            if (!from || cw_readable(from, l->value_size) < l->value_size)
                return 0;
        }
        n = load(from, l->value_size, l->kind == CW_KIND_INT);
        if (l->kind == CW_KIND_INT && (int64_t)n < 0)
            n = 0;
    }
    return n > p->length_less ? n - p->length_less : 0;
}

void
cw_cuda_print_param(struct cw_buf *out, const struct cw_meta_function *f, unsigned index, void *const *args, bool after,
                    bool ok)
{
    const struct cw_meta_param *p = &f->params[index];
    enum cw_meta_kind kind = (enum cw_meta_kind)p->kind;
    bool readable = p->direction == CW_DIR_IN || p->direction == CW_DIR_INOUT ? true : after && ok;
    const char *pointer = NULL;

    cw_buf_printf(out, "%s=", p->name);
    if (!p->pointers) {
        print_at(out, kind, p->enum_index, p->struct_index, args[index], p->size, 0);
        return;
    }
    memcpy(&pointer, args[index], sizeof pointer);
    bool address_only = !pointer || !readable || !p->value_size || kind == CW_KIND_HOST_BUFFER ||
                        kind == CW_KIND_IMAGE || kind == CW_KIND_KERNEL_PARAMS || kind == CW_KIND_LAUNCH_EXTRA ||
                        kind == CW_KIND_USER_POINTER || kind == CW_KIND_TYPED_VALUE ||
                        (p->direction == CW_DIR_IN && kind != CW_KIND_ARRAY && kind != CW_KIND_STRUCT &&
                         kind != CW_KIND_STRING);
    /* The call may have refused something else before it would have touched this. Strings are read as far as they go. */
    const bool is_text = (kind == CW_KIND_STRING && p->pointers == 1) || kind == CW_KIND_STRING_BUFFER;
    if (!address_only && !is_text) {
        uint64_t n = kind == CW_KIND_ARRAY ? length_of(f, p, args) : 1;
        n = n < MAX_ELEMENTS ? n : MAX_ELEMENTS;
        address_only = cw_readable(pointer, n * p->value_size) < n * p->value_size;
    }
    if (address_only)
        cw_cuda_print_number(out, CW_KIND_HOST_POINTER, -1, (uint64_t)(uintptr_t)pointer);
    else if (kind == CW_KIND_STRING && p->pointers == 1)
        print_string(out, pointer, SIZE_MAX);
    else if (kind == CW_KIND_STRING_BUFFER)
        print_string(out, pointer, length_of(f, p, args));
    else if (kind == CW_KIND_ARRAY)
        print_array(out, (enum cw_meta_kind)p->of, p->enum_index, p->struct_index, pointer, p->value_size,
                    length_of(f, p, args), 0);
    else
        print_at(out, kind, p->enum_index, p->pointers > 1 ? -1 : p->struct_index, pointer, p->value_size, 0);
}

void
cw_cuda_print_call(struct cw_buf *out, const struct cw_meta_function *f, void *const *args, bool after, int result)
{
    cw_buf_printf(out, "%s(", f->name);
    for (unsigned i = 0; i < f->param_count; i++) {
        if (i)
            cw_buf_puts(out, ", ");
        cw_cuda_print_param(out, f, i, args, after, result == 0);
    }
    cw_buf_puts(out, ")");
    if (after) {
        cw_buf_puts(out, " = ");
        cw_cuda_print_number(out, CW_KIND_ENUM, cw_meta_result_enum, (uint64_t)(int64_t)result);
    }
}
