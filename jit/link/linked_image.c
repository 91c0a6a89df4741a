/* SPDX-License-Identifier: Apache-2.0
 * See linked_image.h. */
#include "jit/link/linked_image.h"

#include <string.h>

enum { HEADER = 24, RECORD = 16 };

size_t
cwj_skip_blank(const char *p, size_t size)
{
    size_t i = size >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (i < size && p[i]) {
        if (p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r')) {
            i++;
        } else if (p[i] == '/' && i + 1 < size && p[i + 1] == '/') {
            while (i < size && p[i] && p[i] != '\n')
                i++;
        } else if (p[i] == '/' && i + 1 < size && p[i + 1] == '*') {
            i += 2;
            while (i < size && p[i] && !(p[i] == '*' && i + 1 < size && p[i + 1] == '/'))
                i++;
            i = i + 2 <= size && p[i] ? i + 2 : size;
        } else {
            return i;
        }
    }
    return size;
}

bool
cwj_is_ptx(const char *text, size_t size)
{
    static const char first[] = ".version";
    size_t i = cwj_skip_blank(text, size);
    return size - i >= sizeof first - 1 && !strncmp(text + i, first, sizeof first - 1);
}

static void
append_int(struct cw_buf *b, uint64_t v, unsigned bytes)
{
    uint8_t le[8];
    for (unsigned i = 0; i < bytes; i++)
        le[i] = (uint8_t)(v >> (8 * i));
    cw_buf_append(b, le, bytes);
}

static size_t
padding(size_t n)
{
    return -n & 7;
}

cw_result
cwj_linked_image_write(const struct cwj_linked_module *modules, size_t count, struct cw_buf *out)
{
    static const uint8_t zeros[8];
    if (count > CWJ_LINKED_MAX_MODULES)
        return CW_ERR_LIMIT;
    size_t start = out->size;
    cw_buf_append(out, CWJ_LINKED_MAGIC, 8);
    append_int(out, CWJ_LINKED_VERSION, 4);
    append_int(out, count, 4);
    append_int(out, 0, 8);
    for (size_t i = 0; i < count; i++) {
        const char *name = modules[i].name ? modules[i].name : "";
        size_t len = strlen(name);
        if (len > UINT32_MAX)
            return CW_ERR_LIMIT;
        append_int(out, len, 4);
        append_int(out, modules[i].max_registers, 4);
        append_int(out, modules[i].size, 8);
        cw_buf_append(out, name, len + 1);
        cw_buf_append(out, modules[i].text, modules[i].size);
        cw_buf_append(out, zeros, 1);
        cw_buf_append(out, zeros, padding(out->size - start));
    }
    if (out->failed)
        return CW_ERR_NOMEM;
    uint64_t total = out->size - start;
    for (unsigned i = 0; i < 8; i++)
        out->data[start + 16 + i] = (char)(total >> (8 * i));
    return CW_OK;
}

bool
cwj_linked_image_is(const void *data, size_t size)
{
    const char *p = data;
    for (unsigned i = 0; i < 8; i++)
        if (i >= size || p[i] != CWJ_LINKED_MAGIC[i])
            return false;
    return true;
}

cw_result
cwj_linked_image_read(const void *data, size_t size, int (*found)(void *user, const struct cwj_linked_module *m), void *user)
{
    const uint8_t *p = data;
    if (!cwj_linked_image_is(data, size))
        return CW_ERR_INVALID;
    if (size < HEADER)
        return CW_ERR_DAMAGED;
    if (cw_read_le(p + 8, 4) != CWJ_LINKED_VERSION)
        return CW_ERR_VERSION;
    uint64_t count = cw_read_le(p + 12, 4), total = cw_read_le(p + 16, 8);
    if (total > size || total < HEADER || total > SIZE_MAX / 2 || count > CWJ_LINKED_MAX_MODULES)
        return CW_ERR_DAMAGED;
    uint64_t at = HEADER;
    for (uint64_t i = 0; i < count; i++) {
        if (total - at < RECORD)
            return CW_ERR_DAMAGED;
        uint64_t name = cw_read_le(p + at, 4), registers = cw_read_le(p + at + 4, 4), text = cw_read_le(p + at + 8, 8);
        at += RECORD;
        if (text > total || name + 1 + text + 1 > total - at || p[at + name] || p[at + name + 1 + text])
            return CW_ERR_DAMAGED;
        struct cwj_linked_module m = { (const char *)p + at, (const char *)p + at + name + 1, text, (uint32_t)registers };
        at += name + 1 + text + 1;
        at += padding(at);
        if (at > total)
            return CW_ERR_DAMAGED;
        if (found(user, &m))
            return CW_OK;
    }
    return CW_OK;
}
