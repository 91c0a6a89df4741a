/* SPDX-License-Identifier: Apache-2.0
 * See ld_cache.h. The layout is that of glibc's <dl-cache.h>, little endian; offsets of strings count from the header:
 *
 *   header     "glibc-ld.so.cache" "1.1", u32 entries, u32 bytes of strings, u8 flags, 3 bytes, u32 offset of extensions, 12 bytes
 *   entry      u32 flags, u32 name, u32 path, u32 unused, u64 hwcap: bit 62 is set for glibc-hwcaps, whose number is in the low half
 *   extensions u32 magic, u32 count; each u32 tag, u32 flags, u32 offset, u32 size. Tag 1: offsets of the names of glibc-hwcaps, u32 each
 *
 * ldconfig -c compat writes an older list in front: "ld.so-1.7.0", u32 entries of 12 bytes each. */
#include "tracer/cli/ld_cache.h"

#include "impl/base/buf.h"

#include <string.h>

enum { HEADER = 48, ENTRY = 24, OLD_HEADER = 16, OLD_ENTRY = 12, EXTENSION_HEADER = 8, EXTENSION = 16, TAG_HWCAPS = 1 };
#define MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"
#define EXTENSION_MAGIC 0xEAA42174u
#define HWCAP_NAMED (1ull << 62)

struct cache {
    const uint8_t *data;        /* from the header on */
    size_t size;
    const uint8_t *hwcaps;      /* offsets of their names */
    uint64_t hwcap_count;
};

static const char *
string_at(const struct cache *c, uint64_t offset)
{
    return offset < c->size && memchr(c->data + offset, 0, c->size - offset) ? (const char *)c->data + offset : "";
}

static int
open_cache(struct cache *c, const uint8_t *data, size_t size)
{
    *c = (struct cache){ data, size, NULL, 0 };
    if (size >= OLD_HEADER && !memcmp(data, OLD_MAGIC, sizeof OLD_MAGIC - 1)) {
        uint64_t old = (OLD_HEADER + cw_read_le(data + 12, 4) * OLD_ENTRY + 7) / 8 * 8;
        if (old > size)
            return 0;
        c->data += old;
        c->size -= old;
    }
    if (c->size < HEADER || memcmp(c->data, MAGIC, sizeof MAGIC - 1))
        return 0;
    uint64_t extensions = cw_read_le(c->data + 32, 4);
    if (!extensions || extensions > c->size || c->size - extensions < EXTENSION_HEADER || cw_read_le(c->data + extensions, 4) != EXTENSION_MAGIC)
        return 1;
    uint64_t count = cw_read_le(c->data + extensions + 4, 4);
    for (uint64_t i = 0, at = extensions + EXTENSION_HEADER; i < count && c->size - at >= EXTENSION; i++, at += EXTENSION) {
        uint64_t offset = cw_read_le(c->data + at + 8, 4), bytes = cw_read_le(c->data + at + 12, 4);
        if (cw_read_le(c->data + at, 4) == TAG_HWCAPS && offset <= c->size && bytes <= c->size - offset) {
            c->hwcaps = c->data + offset;
            c->hwcap_count = bytes / 4;
        }
    }
    return 1;
}

/* How well an entry fits this processor, 0 the best; hwcap_count of the plain ones, above that: not at all. */
static unsigned
rank_of(const struct cache *c, uint64_t hwcap, const char *const *hwcaps, unsigned hwcap_count)
{
    if (!hwcap)
        return hwcap_count;
    uint64_t index = hwcap & UINT32_MAX;
    if (!(hwcap & HWCAP_NAMED) || index >= c->hwcap_count)
        return hwcap_count + 1;
    const char *name = string_at(c, cw_read_le(c->hwcaps + 4 * index, 4));
    for (unsigned i = 0; i < hwcap_count; i++)
        if (!strcmp(hwcaps[i], name))
            return i;
    return hwcap_count + 1;
}

const char *
ld_cache_find(const void *data, size_t size, const char *name, uint32_t flags, const char *const *hwcaps, unsigned hwcap_count)
{
    struct cache c;
    const char *best = NULL;
    unsigned best_rank = hwcap_count + 1;
    if (!open_cache(&c, data, size))
        return NULL;
    uint64_t count = cw_read_le(c.data + 20, 4), room = (c.size - HEADER) / ENTRY;
    size_t length = strlen(name) + 1;
    for (uint64_t i = 0; i < count && i < room; i++) {
        const uint8_t *e = c.data + HEADER + i * ENTRY;
        uint64_t key = cw_read_le(e + 4, 4);
        if (cw_read_le(e, 4) != flags || key > c.size || length > c.size - key || memcmp(c.data + key, name, length) != 0)
            continue;
        unsigned rank = rank_of(&c, cw_read_le(e + 16, 8), hwcaps, hwcap_count);
        const char *path = rank < best_rank ? string_at(&c, cw_read_le(e + 8, 4)) : "";
        if (*path) {
            best = path;
            best_rank = rank;
        }
    }
    return best;
}
