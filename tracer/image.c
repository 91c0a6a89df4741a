/* SPDX-License-Identifier: Apache-2.0
 * The kind and length of a module image in memory: the driver API gives no length, so the image's own headers do. */
#include "tracer/layer_private.h"

#include <elf.h>
#include <string.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC         0xba55ed50u
#define MAX_IMAGE            ((uint64_t)1 << 32)

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
    if (!image || max < 64)
        return i;      /* shorter than any header */
    memcpy(&magic, image, sizeof magic);
    if (magic == FATBIN_WRAPPER_MAGIC) {
        memcpy(&i.data, (const char *)image + 8, sizeof i.data);
        i.kind = "fatbin";
        memcpy(&magic, i.data ? i.data : "\0\0\0", sizeof magic);
        if (magic != FATBIN_MAGIC)
            return i;
    }
    if (magic == FATBIN_MAGIC) {
        i.kind = "fatbin";
        i.size = fatbin_size(i.data);
    } else if (!memcmp(image, ELFMAG, SELFMAG)) {
        i.kind = "elf";
        i.size = elf_size(image);
    } else {
        /* Text ends with a NUL and does not start with a control character. */
        unsigned char c = *(const unsigned char *)image;
        if (c != '\t' && c != '\n' && c != '\r' && (c < ' ' || c > '~'))
            return i;
        i.kind = "ptx";
        i.size = strnlen(image, max < MAX_IMAGE ? max : MAX_IMAGE);
    }
    if (i.size > MAX_IMAGE)
        i.size = 0;
    return i;
}
