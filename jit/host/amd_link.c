/* SPDX-License-Identifier: Apache-2.0
 * See lld.h. A code object of one relocatable object that has text, constants and the metadata's note, which is what nearly all kernels are:
 * without files, locks and a linker's tables, whose setting up is most of what LLD does for so little. All else (variables, tables that are merged,
 * several objects, symbols from elsewhere) is LLD's.
 *
 * Invariant: the bytes are those that LLD writes, its name in .comment included, so that what loads LLD's code objects loads these, and
 * tests/jit/host/amd_link.c compares. Sources: ELF's specification, "Relocation Records" of LLVM's AMDGPU guide, the GNU hash table as the loaders read it. */
#define _GNU_SOURCE
#include "jit/host/lld.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { REL64 = 5, REL32_LO = 10, REL32_HI = 11 };       /* R_AMDGPU_ */
enum { PAGE = 0x1000, SEGMENTS = 8, DYNAMIC = 7, GNU_SHIFT = 26, MAX_SIZE = 1 << 28 };

/* The sections, in the order of the file. */
enum { NOTE = 1, DYNSYM, GNU_HASH, HASH, DYNSTR, RODATA, TEXT, DYNAMIC_SECTION, PADDING, COMMENT, SYMTAB, SHSTRTAB, STRTAB, SECTIONS };

static const char section_names[SECTIONS][16] = { "", ".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".rodata", ".text", ".dynamic",
    ".relro_padding", ".comment", ".symtab", ".shstrtab", ".strtab" };

/* A symbol that others see. */
struct export {
    Elf64_Sym symbol;               /* the object's */
    const char *name;
    uint32_t hash, bucket, order;
};

struct link {
    const struct cw_buf *object;
    Elf64_Ehdr head;
    Elf64_Shdr note, text, rodata, symbols, names, relocations[2];
    unsigned itext, irodata, nrelocations;
    struct export *exports;
    size_t nexports, nlocals;       /* locals: but for section symbols */
    size_t buckets, mask_words;     /* of .gnu.hash */
    struct cw_buf dynstr, strtab, shstrtab, comment;
    uint64_t at[SECTIONS], size[SECTIONS], offset[SECTIONS];
    uint64_t headers;               /* the section headers' offset */
    uint8_t *image;
};

/* ---- what the object has ---- */

static bool
read_header(const struct link *l, unsigned i, Elf64_Shdr *s)
{
    const struct cw_buf *o = l->object;
    if (i >= l->head.e_shnum)
        return false;
    memcpy(s, o->data + l->head.e_shoff + i * sizeof *s, sizeof *s);
    return s->sh_offset <= o->size && s->sh_size <= o->size - s->sh_offset && s->sh_addralign && !(s->sh_addralign & (s->sh_addralign - 1)) &&
           s->sh_addralign <= PAGE;
}

static bool
take_once(Elf64_Shdr *kept, const Elf64_Shdr *s)
{
    if (kept->sh_type)
        return false;
    *kept = *s;
    return s->sh_size != 0;
}

static bool
take_section(struct link *l, unsigned i, const Elf64_Shdr *s, const char *name)
{
    switch (s->sh_type) {
    case SHT_STRTAB:
        return true;
    case SHT_SYMTAB:
        return s->sh_entsize == sizeof(Elf64_Sym) && take_once(&l->symbols, s) && read_header(l, s->sh_link, &l->names);
    case SHT_RELA:
        if (l->nrelocations == 2 || s->sh_entsize != sizeof(Elf64_Rela))
            return false;
        l->relocations[l->nrelocations++] = *s;
        return true;
    case SHT_NOTE:
        return !strcmp(name, ".note") && s->sh_flags == SHF_ALLOC && s->sh_addralign == 4 && take_once(&l->note, s);
    case SHT_PROGBITS:
        if (!strcmp(name, ".text") && s->sh_flags == (SHF_ALLOC | SHF_EXECINSTR)) {
            l->itext = i;
            return take_once(&l->text, s);
        }
        if (!strcmp(name, ".rodata") && s->sh_flags == SHF_ALLOC) {
            l->irodata = i;
            return take_once(&l->rodata, s);
        }
        return !strcmp(name, ".note.GNU-stack") && !s->sh_size && !s->sh_flags;
    default:
        return false;
    }
}

static bool
is_table(const struct link *l, const Elf64_Shdr *s)
{
    return s->sh_type == SHT_STRTAB && s->sh_size && !l->object->data[s->sh_offset + s->sh_size - 1];
}

static bool
read_object(struct link *l)
{
    const struct cw_buf *o = l->object;
    Elf64_Shdr names, s;
    if (o->size < sizeof l->head || o->size > MAX_SIZE)
        return false;
    memcpy(&l->head, o->data, sizeof l->head);
    const Elf64_Ehdr *h = &l->head;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL ||
        h->e_machine != EM_AMDGPU || h->e_shentsize != sizeof s || h->e_shoff > o->size || h->e_shnum > (o->size - h->e_shoff) / sizeof s)
        return false;
    if (!read_header(l, h->e_shstrndx, &names) || !is_table(l, &names))
        return false;
    for (unsigned i = 1; i < h->e_shnum; i++)
        if (!read_header(l, i, &s) || s.sh_name >= names.sh_size || !take_section(l, i, &s, o->data + names.sh_offset + s.sh_name))
            return false;
    return l->note.sh_type && l->text.sh_type && l->rodata.sh_type && l->symbols.sh_type && is_table(l, &l->names);
}

static Elf64_Sym
symbol_at(const struct link *l, size_t i)
{
    Elf64_Sym s;
    memcpy(&s, l->object->data + l->symbols.sh_offset + i * sizeof s, sizeof s);
    return s;
}

static size_t
count_symbols(const struct link *l)
{
    return l->symbols.sh_size / sizeof(Elf64_Sym);
}

static const char *
name_of(const struct link *l, const Elf64_Sym *s)
{
    return l->object->data + l->names.sh_offset + s->st_name;
}

static bool
is_local(const Elf64_Sym *s)
{
    return ELF64_ST_BIND(s->st_info) == STB_LOCAL;
}

static uint32_t
gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (const uint8_t *p = (const uint8_t *)name; *p; p++)
        h = h * 33 + *p;
    return h;
}

static uint32_t
sysv_hash(const char *name)
{
    uint32_t h = 0;
    for (const uint8_t *p = (const uint8_t *)name; *p; p++) {
        h = (h << 4) + *p;
        uint32_t high = h & 0xf0000000;
        h ^= high >> 24;
        h &= ~high;
    }
    return h;
}

static bool
read_symbols(struct link *l)
{
    size_t n = count_symbols(l);
    l->exports = calloc(n ? n : 1, sizeof *l->exports);
    if (!l->exports)
        return false;
    for (size_t i = 1; i < n; i++) {
        Elf64_Sym s = symbol_at(l, i);
        unsigned type = ELF64_ST_TYPE(s.st_info), bind = ELF64_ST_BIND(s.st_info);
        if ((s.st_shndx != l->itext && s.st_shndx != l->irodata) || s.st_name >= l->names.sh_size)
            return false;
        if (type == STT_SECTION)
            continue;
        if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE)
            return false;
        if (bind == STB_LOCAL) {
            l->nlocals++;
            continue;
        }
        if (bind != STB_GLOBAL || ELF64_ST_VISIBILITY(s.st_other) != STV_PROTECTED)
            return false;
        const char *name = name_of(l, &s);
        l->exports[l->nexports] = (struct export){ s, name, gnu_hash(name), 0, (uint32_t)l->nexports };
        l->nexports++;
    }
    return l->nexports != 0;
}

/* ---- where everything goes ---- */

static uint64_t
up(uint64_t x, uint64_t alignment)
{
    return (x + alignment - 1) & ~(alignment - 1);
}

static int
by_bucket(const void *a, const void *b)
{
    const struct export *x = a, *y = b;
    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A segment begins in the same place of a page in memory and in the file: the next page in memory, the same one in the file. */
static void
place(struct link *l, unsigned section, uint64_t *at, uint64_t *offset, uint64_t alignment, bool segment)
{
    if (segment)
        *at = up(*at, PAGE) + *at % PAGE;
    *at = up(*at, alignment);
    *offset += (*at - *offset) % PAGE;
    l->at[section] = *at;
    l->offset[section] = *offset;
    *at += l->size[section];
    *offset += l->size[section];
}

static bool
lay_out(struct link *l)
{
    l->buckets = l->nexports < 8 ? 1 : l->nexports / 4;
    for (l->mask_words = 1; l->mask_words <= l->nexports * 12 / 64;)
        l->mask_words *= 2;
    for (size_t i = 0; i < l->nexports; i++)
        l->exports[i].bucket = (uint32_t)(l->exports[i].hash % l->buckets);
    l->size[NOTE] = l->note.sh_size;
    l->size[DYNSYM] = (l->nexports + 1) * sizeof(Elf64_Sym);
    l->size[GNU_HASH] = 16 + l->mask_words * 8 + (l->buckets + l->nexports) * 4;
    l->size[HASH] = (2 + 2 * (l->nexports + 1)) * 4;
    l->size[DYNSTR] = l->dynstr.size;
    l->size[RODATA] = l->rodata.sh_size;
    l->size[TEXT] = l->text.sh_size;
    l->size[DYNAMIC_SECTION] = DYNAMIC * sizeof(Elf64_Dyn);
    uint64_t at = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr), offset = at;
    place(l, NOTE, &at, &offset, 4, false);
    place(l, DYNSYM, &at, &offset, 8, false);
    place(l, GNU_HASH, &at, &offset, 8, false);
    place(l, HASH, &at, &offset, 4, false);
    place(l, DYNSTR, &at, &offset, 1, false);
    place(l, RODATA, &at, &offset, l->rodata.sh_addralign, false);
    place(l, TEXT, &at, &offset, l->text.sh_addralign, true);
    place(l, DYNAMIC_SECTION, &at, &offset, 8, true);
    l->at[PADDING] = at;
    l->offset[PADDING] = offset;
    l->size[PADDING] = up(at, PAGE) - at;
    static const unsigned unloaded[] = { COMMENT, SYMTAB, SHSTRTAB, STRTAB };
    l->size[COMMENT] = l->comment.size;
    l->size[SYMTAB] = (2 + l->nlocals + l->nexports) * sizeof(Elf64_Sym);      /* and _DYNAMIC */
    l->size[SHSTRTAB] = l->shstrtab.size;
    l->size[STRTAB] = l->strtab.size;
    for (unsigned i = 0; i < sizeof unloaded / sizeof *unloaded; i++) {
        unsigned s = unloaded[i];
        l->offset[s] = offset = s == SYMTAB ? up(offset, 8) : offset;
        offset += l->size[s];
    }
    l->headers = up(offset, 8);
    return l->size[PADDING] != 0;
}

/* Names, in the order in which LLD meets them. */
static void
collect_names(struct link *l)
{
    cw_buf_append(&l->dynstr, "", 1);
    cw_buf_append(&l->strtab, "", 1);
    for (size_t i = 1; i < count_symbols(l); i++) {
        Elf64_Sym s = symbol_at(l, i);
        if (is_local(&s) && ELF64_ST_TYPE(s.st_info) != STT_SECTION)
            cw_buf_append(&l->strtab, name_of(l, &s), strlen(name_of(l, &s)) + 1);
    }
    for (size_t i = 0; i < l->nexports; i++) {
        struct export *e = &l->exports[i];
        size_t size = strlen(e->name) + 1;
        cw_buf_append(&l->dynstr, e->name, size);
        cw_buf_append(&l->strtab, e->name, size);
    }
    cw_buf_append(&l->strtab, "_DYNAMIC", sizeof "_DYNAMIC");
    for (unsigned i = 0; i < SECTIONS; i++)
        cw_buf_append(&l->shstrtab, section_names[i], strlen(section_names[i]) + 1);
    cw_buf_printf(&l->comment, "Linker: %s", cwj_lld_version());
    cw_buf_append(&l->comment, "", 1);
}

/* ---- the file ---- */

static void
put(struct link *l, uint64_t offset, const void *data, size_t size)
{
    memcpy(l->image + offset, data, size);
}

static void
put32(struct link *l, uint64_t offset, uint32_t value)
{
    put(l, offset, &value, sizeof value);
}

static Elf64_Sym
linked_symbol(const struct link *l, Elf64_Sym s, size_t name)
{
    unsigned section = s.st_shndx == l->itext ? TEXT : RODATA;
    s.st_value += l->at[section];
    s.st_shndx = (Elf64_Half)section;
    s.st_name = (Elf64_Word)name;
    return s;
}

static void
put_symbols(struct link *l)
{
    uint64_t at = l->offset[SYMTAB];
    size_t name = 1;
    Elf64_Sym dynamic = { .st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), .st_other = STV_HIDDEN, .st_shndx = DYNAMIC_SECTION,
                          .st_value = l->at[DYNAMIC_SECTION], .st_name = (Elf64_Word)(l->strtab.size - sizeof "_DYNAMIC") };
    for (size_t i = 1; i < count_symbols(l); i++) {
        Elf64_Sym s = symbol_at(l, i);
        if (!is_local(&s) || ELF64_ST_TYPE(s.st_info) == STT_SECTION)
            continue;
        Elf64_Sym made = linked_symbol(l, s, name);
        put(l, at += sizeof made, &made, sizeof made);
        name += strlen(name_of(l, &s)) + 1;
    }
    put(l, at += sizeof dynamic, &dynamic, sizeof dynamic);
    for (size_t i = 0; i < l->nexports; i++) {
        Elf64_Sym made = linked_symbol(l, l->exports[i].symbol, name);
        put(l, at += sizeof made, &made, sizeof made);
        name += strlen(l->exports[i].name) + 1;
    }
}

/* In the order of the GNU hash table's buckets; the other table follows. */
static void
put_dynamic_symbols(struct link *l)
{
    size_t name = 1;
    for (size_t i = 0; i < l->nexports; i++) {
        struct export *e = &l->exports[i];
        e->symbol = linked_symbol(l, e->symbol, name);
        name += strlen(e->name) + 1;
    }
    qsort(l->exports, l->nexports, sizeof *l->exports, by_bucket);
    uint64_t gnu = l->offset[GNU_HASH], filter = gnu + 16, buckets = filter + l->mask_words * 8, values = buckets + l->buckets * 4;
    const uint32_t head[] = { (uint32_t)l->buckets, 1, (uint32_t)l->mask_words, GNU_SHIFT };
    put(l, gnu, head, sizeof head);
    uint32_t n = (uint32_t)l->nexports + 1, *chains = (uint32_t *)(l->image + l->offset[HASH]) + 2 + n;
    put32(l, l->offset[HASH], n);
    put32(l, l->offset[HASH] + 4, n);
    for (uint32_t i = 1; i < n; i++) {
        const struct export *e = &l->exports[i - 1];
        bool first = i == 1 || e[-1].bucket != e->bucket, last = i + 1 == n || e[1].bucket != e->bucket;
        uint64_t word, at = filter + (e->hash / 64 & (l->mask_words - 1)) * 8;
        memcpy(&word, l->image + at, sizeof word);
        word |= UINT64_C(1) << e->hash % 64 | UINT64_C(1) << (e->hash >> GNU_SHIFT) % 64;
        put(l, at, &word, sizeof word);
        if (first)
            put32(l, buckets + e->bucket * 4, i);
        put32(l, values + (i - 1) * 4, (e->hash & ~1u) | last);
        put(l, l->offset[DYNSYM] + i * sizeof e->symbol, &e->symbol, sizeof e->symbol);
        uint32_t *bucket = chains - n + sysv_hash(e->name) % n;
        chains[i] = *bucket;
        *bucket = i;
    }
}

static bool
relocate(struct link *l, const Elf64_Shdr *table)
{
    unsigned section = table->sh_info == l->itext ? TEXT : RODATA;
    if (table->sh_info != l->itext && table->sh_info != l->irodata)
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        memcpy(&r, l->object->data + table->sh_offset + i * sizeof r, sizeof r);
        size_t index = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info), bytes = type == REL64 ? 8 : 4;
        if (!index || index >= count_symbols(l) || r.r_offset > l->size[section] || bytes > l->size[section] - r.r_offset)
            return false;
        if (type != REL64 && type != REL32_LO && type != REL32_HI)
            return false;
        Elf64_Sym s = linked_symbol(l, symbol_at(l, index), 0);
        uint64_t value = s.st_value + (uint64_t)r.r_addend - (l->at[section] + r.r_offset);
        if (type == REL32_HI)
            value >>= 32;
        put(l, l->offset[section] + r.r_offset, &value, bytes);
    }
    return true;
}

static void
put_dynamic_section(struct link *l)
{
    const Elf64_Dyn d[DYNAMIC] = {
        { DT_SYMTAB, { l->at[DYNSYM] } }, { DT_SYMENT, { sizeof(Elf64_Sym) } }, { DT_STRTAB, { l->at[DYNSTR] } },
        { DT_STRSZ, { l->size[DYNSTR] } }, { DT_GNU_HASH, { l->at[GNU_HASH] } }, { DT_HASH, { l->at[HASH] } }, { DT_NULL, { 0 } },
    };
    put(l, l->offset[DYNAMIC_SECTION], d, sizeof d);
}

static void
put_segments(struct link *l)
{
    uint64_t rodata_end = l->offset[RODATA] + l->size[RODATA], dynamic = l->offset[DYNAMIC_SECTION], at = l->at[DYNAMIC_SECTION];
    uint64_t size = l->size[DYNAMIC_SECTION], padded = size + l->size[PADDING], heads = SEGMENTS * sizeof(Elf64_Phdr);
    const Elf64_Phdr p[SEGMENTS] = {
        { PT_PHDR, PF_R, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr), heads, heads, 8 },
        { PT_LOAD, PF_R, 0, 0, 0, rodata_end, rodata_end, PAGE },
        { PT_LOAD, PF_R | PF_X, l->offset[TEXT], l->at[TEXT], l->at[TEXT], l->size[TEXT], l->size[TEXT], PAGE },
        { PT_LOAD, PF_R | PF_W, dynamic, at, at, size, padded, PAGE },
        { PT_DYNAMIC, PF_R | PF_W, dynamic, at, at, size, size, 8 },
        { PT_GNU_RELRO, PF_R, dynamic, at, at, size, padded, 1 },
        { PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 0 },
        { PT_NOTE, PF_R, l->offset[NOTE], l->at[NOTE], l->at[NOTE], l->size[NOTE], l->size[NOTE], 4 },
    };
    put(l, sizeof(Elf64_Ehdr), p, sizeof p);
}

static void
put_headers(struct link *l)
{
    static const Elf64_Shdr kinds[SECTIONS] = {
        [NOTE] = { .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_addralign = 4 },
        [DYNSYM] = { .sh_type = SHT_DYNSYM, .sh_flags = SHF_ALLOC, .sh_link = DYNSTR, .sh_info = 1, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) },
        [GNU_HASH] = { .sh_type = SHT_GNU_HASH, .sh_flags = SHF_ALLOC, .sh_link = DYNSYM, .sh_addralign = 8 },
        [HASH] = { .sh_type = SHT_HASH, .sh_flags = SHF_ALLOC, .sh_link = DYNSYM, .sh_addralign = 4, .sh_entsize = 4 },
        [DYNSTR] = { .sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC, .sh_addralign = 1 },
        [RODATA] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC },
        [TEXT] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR },
        [DYNAMIC_SECTION] = { .sh_type = SHT_DYNAMIC, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_link = DYNSTR, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Dyn) },
        [PADDING] = { .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_addralign = 1 },
        [COMMENT] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_MERGE | SHF_STRINGS, .sh_addralign = 1, .sh_entsize = 1 },
        [SYMTAB] = { .sh_type = SHT_SYMTAB, .sh_link = STRTAB, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) },
        [SHSTRTAB] = { .sh_type = SHT_STRTAB, .sh_addralign = 1 },
        [STRTAB] = { .sh_type = SHT_STRTAB, .sh_addralign = 1 },
    };
    uint32_t name = 1;
    for (unsigned i = 1; i < SECTIONS; i++) {
        Elf64_Shdr s = kinds[i];
        s.sh_name = name;
        s.sh_addr = l->at[i];
        s.sh_offset = l->offset[i];
        s.sh_size = l->size[i];
        if (i == TEXT || i == RODATA)
            s.sh_addralign = (i == TEXT ? &l->text : &l->rodata)->sh_addralign;
        if (i == SYMTAB)
            s.sh_info = (Elf64_Word)l->nlocals + 2;
        put(l, l->headers + i * sizeof s, &s, sizeof s);
        name += (uint32_t)strlen(section_names[i]) + 1;
    }
    Elf64_Ehdr h = l->head;
    h.e_type = ET_DYN;
    h.e_phoff = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = SEGMENTS;
    h.e_shoff = l->headers;
    h.e_shnum = SECTIONS;
    h.e_shstrndx = SHSTRTAB;
    put(l, 0, &h, sizeof h);
}

static bool
write_image(struct link *l)
{
    const char *in = l->object->data;
    l->image = calloc(1, l->headers + SECTIONS * sizeof(Elf64_Shdr));
    if (!l->image)
        return false;
    put(l, l->offset[NOTE], in + l->note.sh_offset, l->note.sh_size);
    put(l, l->offset[RODATA], in + l->rodata.sh_offset, l->rodata.sh_size);
    put(l, l->offset[TEXT], in + l->text.sh_offset, l->text.sh_size);
    put(l, l->offset[DYNSTR], l->dynstr.data, l->dynstr.size);
    put(l, l->offset[COMMENT], l->comment.data, l->comment.size);
    put(l, l->offset[SHSTRTAB], l->shstrtab.data, l->shstrtab.size);
    put(l, l->offset[STRTAB], l->strtab.data, l->strtab.size);
    for (unsigned i = 0; i < l->nrelocations; i++)
        if (!relocate(l, &l->relocations[i]))
            return false;
    put_symbols(l);
    put_dynamic_symbols(l);
    put_dynamic_section(l);
    put_segments(l);
    put_headers(l);
    return true;
}

bool
cwj_amd_link(const struct cw_buf *object, struct cw_buf *out)
{
    struct link l = { .object = object };
    bool done = false;
    cw_buf_init(&l.dynstr);
    cw_buf_init(&l.strtab);
    cw_buf_init(&l.shstrtab);
    cw_buf_init(&l.comment);
    if (read_object(&l) && read_symbols(&l)) {
        collect_names(&l);
        if (!l.dynstr.failed && !l.strtab.failed && !l.shstrtab.failed && !l.comment.failed && lay_out(&l) && write_image(&l)) {
            cw_buf_append(out, l.image, l.headers + SECTIONS * sizeof(Elf64_Shdr));
            done = true;
        }
    }
    cw_buf_finish(&l.dynstr);
    cw_buf_finish(&l.strtab);
    cw_buf_finish(&l.shstrtab);
    cw_buf_finish(&l.comment);
    free(l.exports);
    free(l.image);
    return done;
}
