/* SPDX-License-Identifier: Apache-2.0
 * See note.h; "Code Object V5 Metadata" of LLVM's AMDGPU guide, MessagePack's specification, ELF. */
#define _GNU_SOURCE
#include "jit/objfile/note.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

static const char owner[8] = "AMDGPU";          /* padded to 4 bytes */
enum { NT_METADATA = 32, OWNER_SIZE = 7 };
static const char kernels_key[] = "amdhsa.kernels";

/* ---- MessagePack: just enough to find the array of kernels ---- */

struct pack {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t
number(struct pack *p, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(p->end - p->at) < bytes) {
        p->bad = true;
        return 0;
    }
    while (bytes--)
        v = v << 8 | *p->at++;
    return v;
}

/* Parse one value's head: the number of values (for a map, keys and values) and of bytes that follow it. */
static void
head(struct pack *p, uint64_t *values, uint64_t *bytes)
{
    static const uint8_t fixed[16] = { [0x0a] = 4, [0x0b] = 8, [0x0c] = 1, [0x0d] = 2, [0x0e] = 4, [0x0f] = 8 };    /* 0xc0 on */
    unsigned c = (unsigned)number(p, 1);
    *values = *bytes = 0;
    if (c >= 0x80 && c <= 0x8f)
        *values = 2 * (c & 15);
    else if (c >= 0x90 && c <= 0x9f)
        *values = c & 15;
    else if (c >= 0xa0 && c <= 0xbf)
        *bytes = c & 31;
    else if (c >= 0xc4 && c <= 0xc6)
        *bytes = number(p, 1u << (c - 0xc4));
    else if (c >= 0xc7 && c <= 0xc9)
        *bytes = number(p, 1u << (c - 0xc7)) + 1;
    else if (c >= 0xca && c <= 0xcf)
        *bytes = fixed[c - 0xc0];
    else if (c >= 0xd0 && c <= 0xd3)
        *bytes = 1u << (c - 0xd0);
    else if (c >= 0xd4 && c <= 0xd8)
        *bytes = (1u << (c - 0xd4)) + 1;
    else if (c >= 0xd9 && c <= 0xdb)
        *bytes = number(p, 1u << (c - 0xd9));
    else if (c == 0xdc || c == 0xdd)
        *values = number(p, c == 0xdc ? 2 : 4);
    else if (c == 0xde || c == 0xdf)
        *values = 2 * number(p, c == 0xde ? 2 : 4);
}

static void
skip(struct pack *p)
{
    uint64_t open = 1, values, bytes;
    while (open && !p->bad) {
        head(p, &values, &bytes);
        if (bytes > (uint64_t)(p->end - p->at) || values > (uint64_t)(p->end - p->at))
            p->bad = true;
        else
            p->at += bytes;
        open += values - 1;
    }
}

struct kernels {
    const uint8_t *array, *first, *end;     /* the array, its first element, its end */
    uint32_t count;
};

static bool
find_kernels(const uint8_t *data, size_t size, struct kernels *k)
{
    struct pack p = { data, data + size, false };
    uint64_t values, bytes;
    head(&p, &values, &bytes);
    for (uint64_t i = 0; i < values / 2 && !p.bad; i++) {
        const uint8_t *key = p.at;
        head(&p, &(uint64_t){ 0 }, &bytes);
        bool is = !p.bad && bytes == sizeof kernels_key - 1 && bytes <= (size_t)(p.end - p.at) && !memcmp(p.at, kernels_key, bytes);
        p.at = key;
        skip(&p);
        k->array = p.at;
        if (!is) {
            skip(&p);
            continue;
        }
        uint64_t n;
        head(&p, &n, &bytes);
        k->first = p.at;
        p.at = k->array;
        skip(&p);
        k->end = p.at;
        k->count = (uint32_t)n;
        return !p.bad && n <= UINT32_MAX;
    }
    return false;
}

/* ---- aliases ---- */

static void
append_string(struct cw_buf *out, const char *text, const char *suffix)
{
    size_t n = strlen(text) + strlen(suffix);
    const uint8_t long_head[5] = { 0xdb, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };
    cw_buf_append(out, long_head, sizeof long_head);
    cw_buf_puts(out, text);
    cw_buf_puts(out, suffix);
}

/* The bytes of a string, with p moved behind it; NULL: not a string. */
static const uint8_t *
string(struct pack *p, uint64_t *size)
{
    uint8_t c = p->at < p->end ? *p->at : 0;
    const uint8_t *start = p->at;
    uint64_t values;
    if (!((c >= 0xa0 && c <= 0xbf) || (c >= 0xd9 && c <= 0xdb))) {
        skip(p);
        return NULL;
    }
    head(p, &values, size);
    if (p->bad || *size > (size_t)(p->end - p->at))
        p->at = start;
    else
        p->at += *size;
    return p->bad ? NULL : p->at - *size;
}

static bool
is_text(const uint8_t *at, uint64_t size, const char *text)
{
    return at && size == strlen(text) && !memcmp(at, text, size);
}

/* Does the kernel's map at p have that name? Moves p behind the map. */
static bool
has_name(struct pack *p, const char *name)
{
    uint64_t values, bytes;
    bool has = false;
    head(p, &values, &bytes);
    for (uint64_t i = 0; i < values / 2 && !p->bad; i++) {
        uint64_t nk = 0, nv = 0;
        const uint8_t *key = string(p, &nk), *value = string(p, &nv);
        has |= is_text(key, nk, ".name") && is_text(value, nv, name);
    }
    return has && !p->bad;
}

/* A copy of the kernel's map at `map` with another name. */
static void
append_renamed(const uint8_t *map, const uint8_t *end, const char *name, struct cw_buf *out)
{
    struct pack p = { map, end, false };
    uint64_t values, bytes;
    head(&p, &values, &bytes);
    cw_buf_append(out, map, (size_t)(p.at - map));
    for (uint64_t i = 0; i < values / 2 && !p.bad; i++) {
        const uint8_t *pair = p.at;
        uint64_t n = 0;
        const uint8_t *key = string(&p, &n), *value = p.at;
        skip(&p);
        cw_buf_append(out, pair, (size_t)((is_text(key, n, ".name") || is_text(key, n, ".symbol") ? value : p.at) - pair));
        if (is_text(key, n, ".name") || is_text(key, n, ".symbol"))
            append_string(out, name, is_text(key, n, ".symbol") ? ".kd" : "");
    }
}

/* Append the aliases to the `count` elements of `elements`. False: an aliased kernel does not exist. */
static bool
append_aliases(struct cw_buf *elements, uint64_t count, const struct cwj_amd_alias *alias, size_t n)
{
    struct cw_buf more;
    bool all = true;
    cw_buf_init(&more);
    for (size_t i = 0; i < n && all; i++) {
        struct pack p = { (const uint8_t *)elements->data, (const uint8_t *)elements->data + elements->size, false };
        bool found = false;
        for (uint64_t k = 0; k < count && !found && !p.bad; k++) {
            const uint8_t *map = p.at;
            found = has_name(&p, alias[i].of);
            if (found)
                append_renamed(map, p.end, alias[i].name, &more);
        }
        all = found;
    }
    cw_buf_append(elements, more.data, more.size);
    elements->failed |= more.failed;
    cw_buf_finish(&more);
    return all;
}

/* ---- ELF ---- */

/* Take the metadata from an object's note, and void the section. NULL: there is none. */
static const uint8_t *
take_note(struct cw_buf *object, size_t *size)
{
    Elf64_Ehdr h;
    uint8_t *file = (uint8_t *)object->data;
    if (object->size < sizeof h)
        return NULL;
    memcpy(&h, file, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_REL || h.e_machine != EM_AMDGPU ||
        h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > object->size || h.e_shnum > (object->size - h.e_shoff) / sizeof(Elf64_Shdr))
        return NULL;
    for (unsigned i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr s;
        Elf64_Nhdr n;
        memcpy(&s, file + h.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOTE || s.sh_offset > object->size || s.sh_size > object->size - s.sh_offset ||
            s.sh_size < sizeof n + sizeof owner)
            continue;
        const uint8_t *note = file + s.sh_offset;
        memcpy(&n, note, sizeof n);
        if (n.n_type != NT_METADATA || n.n_namesz != OWNER_SIZE || memcmp(note + sizeof n, owner, OWNER_SIZE) ||
            n.n_descsz > s.sh_size - sizeof n - sizeof owner)
            continue;
        s.sh_type = SHT_NULL;
        memcpy(file + h.e_shoff + i * sizeof s, &s, sizeof s);
        *size = n.n_descsz;
        return note + sizeof n + sizeof owner;
    }
    return NULL;
}

/* Append an object like `model` whose only section is a note with this metadata. */
static void
append_object(const struct cw_buf *model, const struct cw_buf *metadata, struct cw_buf *out)
{
    static const char names[] = "\0.note\0.shstrtab";
    static const char padding[8];
    Elf64_Ehdr h;
    Elf64_Nhdr n = { .n_namesz = OWNER_SIZE, .n_descsz = (Elf64_Word)metadata->size, .n_type = NT_METADATA };
    size_t pad = -metadata->size & 3, note = sizeof n + sizeof owner + metadata->size + pad;
    Elf64_Shdr s[3] = {
        [1] = { .sh_name = 1, .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_offset = sizeof h, .sh_size = note, .sh_addralign = 4 },
        [2] = { .sh_name = 7, .sh_type = SHT_STRTAB, .sh_offset = sizeof h + note, .sh_size = sizeof names, .sh_addralign = 1 },
    };
    size_t tables = sizeof h + note + sizeof names, gap = -tables & 7;
    memcpy(&h, model->data, sizeof h);
    h.e_shoff = tables + gap;
    h.e_shnum = 3;
    h.e_shstrndx = 2;
    cw_buf_append(out, &h, sizeof h);
    cw_buf_append(out, &n, sizeof n);
    cw_buf_append(out, owner, sizeof owner);
    cw_buf_append(out, metadata->data, metadata->size);
    cw_buf_append(out, padding, pad);
    cw_buf_append(out, names, sizeof names);
    cw_buf_append(out, padding, gap);
    cw_buf_append(out, s, sizeof s);
}

cw_result
cwj_amd_notes_merge(struct cw_buf *const *objects, size_t n, const struct cwj_amd_alias *alias, size_t naliases, struct cw_buf *out)
{
    struct cw_buf elements, metadata;
    const uint8_t *first = NULL;
    size_t first_size = 0;
    struct kernels in_first = { 0 };
    uint64_t count = 0;
    cw_result r = CW_ERR_DAMAGED;
    cw_buf_init(&elements);
    cw_buf_init(&metadata);
    for (size_t i = 0; i < n; i++) {
        size_t size;
        struct kernels k;
        const uint8_t *data = take_note(objects[i], &size);
        if (!data || !find_kernels(data, size, &k))
            goto done;
        cw_buf_append(&elements, k.first, (size_t)(k.end - k.first));
        count += k.count;
        if (i == 0) {
            first = data;
            first_size = size;
            in_first = k;
        }
    }
    if (!first || count + naliases > UINT32_MAX || !append_aliases(&elements, count, alias, naliases))
        goto done;
    count += naliases;
    const uint8_t array[5] = { 0xdd, (uint8_t)(count >> 24), (uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count };
    cw_buf_append(&metadata, first, (size_t)(in_first.array - first));
    cw_buf_append(&metadata, array, sizeof array);
    cw_buf_append(&metadata, elements.data, elements.size);
    cw_buf_append(&metadata, in_first.end, (size_t)(first + first_size - in_first.end));
    r = elements.failed || metadata.failed ? CW_ERR_NOMEM : CW_OK;
    if (!r)
        append_object(objects[0], &metadata, out);
    if (!r && out->failed)
        r = CW_ERR_NOMEM;
done:
    cw_buf_finish(&elements);
    cw_buf_finish(&metadata);
    return r;
}
