/* SPDX-License-Identifier: Apache-2.0
 * The kind and length of a module image in memory: the driver API gives no length, so the image's own headers do. */
#include "tracer/layer_private.h"

#include "impl/base/readable.h"

#include <elf.h>
#include <string.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC         0xba55ed50u
#define MAX_IMAGE            ((uint64_t)1 << 32)

/* An image that the driver refused may say anything of its length. */
bool
cw_layer_readable(const void *p, uint64_t size)
{
    return p && cw_readable(p, size) == size;
}

/* A text that ends: its length; else 0. */
static uint64_t
text_size(const char *s, uint64_t max)
{
    const uint64_t n = cw_readable_text(s, max);
    if (n < max && cw_layer_readable(s + n, 1))
        return n;
    return max < MAX_IMAGE ? max : 0;       /* one whose end the caller knows needs no NUL */
}

static uint64_t
elf_size(const unsigned char *p)
{
    Elf64_Ehdr h;
    memcpy(&h, p, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    uint64_t end = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
    uint64_t segments = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
    return end > segments ? end : segments;
}

static uint64_t
fatbin_size(const unsigned char *p)
{
    uint16_t header;
    uint64_t body;
    memcpy(&header, p + 6, sizeof header);
    memcpy(&body, p + 8, sizeof body);
    return header + body;
}

struct cw_image
cw_layer_image(const void *image, uint64_t max)
{
    struct cw_image i = { .kind = "unknown", .data = image };
    uint32_t magic;
    if (max < 64 || !cw_layer_readable(image, max == UINT64_MAX ? sizeof magic : 64))
        return i;      /* shorter than any header */
    memcpy(&magic, image, sizeof magic);
    if (magic == FATBIN_WRAPPER_MAGIC) {
        i.kind = "fatbin";
        if (!cw_layer_readable(image, 16))
            return i;
        memcpy(&i.data, (const char *)image + 8, sizeof i.data);
        if (!cw_layer_readable(i.data, 16))
            return i;
        memcpy(&magic, i.data, sizeof magic);
        if (magic != FATBIN_MAGIC)
            return i;
    }
    if (magic == FATBIN_MAGIC) {
        i.kind = "fatbin";
        i.size = cw_layer_readable(i.data, 16) ? fatbin_size(i.data) : 0;
    } else if (!memcmp(image, ELFMAG, SELFMAG)) {
        i.kind = "elf";
        i.size = cw_layer_readable(image, 64) ? elf_size(image) : 0;
    } else {
        /* Text ends with a NUL and does not start with a control character. */
        unsigned char c = *(const unsigned char *)image;
        if (c != '\t' && c != '\n' && c != '\r' && (c < ' ' || c > '~'))
            return i;
        i.kind = "ptx";
        i.size = text_size(image, max < MAX_IMAGE ? max : MAX_IMAGE);
    }
    if (i.size > MAX_IMAGE || !cw_layer_readable(i.data, i.size))
        i.size = 0;
    return i;
}
