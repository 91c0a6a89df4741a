/* SPDX-License-Identifier: Apache-2.0
 * See elf.h. */
#include "impl/runtime/redirect/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_SECTIONS = 1 << 20,             /* -ffunction-sections of a large library */
    MAX_TABLE = 1 << 30,                /* bytes of a symbol or string table */
};

bool
cw_elf_read(const struct cw_elf *e, uint64_t offset, void *to, uint64_t size)
{
    if (offset > e->size || size > e->size - offset)
        return false;
    if (e->memory) {
        memcpy(to, e->memory + offset, size);
        return true;
    }
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pread(e->fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return true;
}

/* A piece of the file and a NUL, malloc'd. */
static void *
read_piece(const struct cw_elf *e, uint64_t offset, uint64_t size, uint64_t limit)
{
    if (size > limit || offset > e->size || size > e->size - offset)
        return NULL;
    char *p = malloc(size + 1);
    if (!p)
        return NULL;
    if (!cw_elf_read(e, offset, p, size)) {
        free(p);
        return NULL;
    }
    p[size] = 0;
    return p;
}

static cw_result
read_tables(struct cw_elf *e)
{
    Elf64_Ehdr *h = &e->header;
    if (!cw_elf_read(e, 0, h, sizeof *h) || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64)
        return CW_ERR_INVALID;
    if (h->e_phnum) {
        if (h->e_phentsize != sizeof *e->segments)
            return CW_ERR_DAMAGED;
        e->segments = read_piece(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof *e->segments, MAX_TABLE);
        if (!e->segments)
            return CW_ERR_DAMAGED;
    }
    if (!h->e_shoff)
        return CW_OK;
    if (h->e_shentsize != sizeof *e->sections)
        return CW_ERR_DAMAGED;
    /* More sections than 16 bits count: the first one's size is their number, and its link the names' section. */
    Elf64_Shdr first;
    if (!cw_elf_read(e, h->e_shoff, &first, sizeof first))
        return CW_ERR_DAMAGED;
    uint64_t n = h->e_shnum ? h->e_shnum : first.sh_size, names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
    if (n > MAX_SECTIONS || names >= n)
        return n ? CW_ERR_DAMAGED : CW_OK;
    e->sections = read_piece(e, h->e_shoff, n * sizeof *e->sections, MAX_TABLE);
    if (!e->sections)
        return CW_ERR_DAMAGED;
    e->nsections = (uint32_t)n;
    const Elf64_Shdr *s = &e->sections[names];
    e->names = s->sh_type == SHT_STRTAB ? read_piece(e, s->sh_offset, s->sh_size, MAX_TABLE) : NULL;
    e->names_size = e->names ? s->sh_size : 0;
    return CW_OK;
}

static cw_result
finish_open(struct cw_elf *e)
{
    cw_result r = read_tables(e);
    if (r)
        cw_elf_close(e);
    return r;
}

cw_result
cw_elf_open(struct cw_elf *e, const char *path)
{
    *e = (struct cw_elf){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (e->fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : errno == ENOMEM || errno == EMFILE || errno == ENFILE ? CW_ERR_NOMEM : CW_ERR_IO;
    struct stat st;
    if (fstat(e->fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0) {
        cw_elf_close(e);
        return CW_ERR_INVALID;
    }
    e->size = (uint64_t)st.st_size;
    return finish_open(e);
}

cw_result
cw_elf_open_memory(struct cw_elf *e, const void *data, size_t size)
{
    static const uint8_t nothing[1];
    *e = (struct cw_elf){ .fd = -1, .memory = size ? data : nothing, .size = size };
    return finish_open(e);
}

void
cw_elf_close(struct cw_elf *e)
{
    if (e->fd >= 0)
        close(e->fd);
    free(e->segments);
    free(e->sections);
    free(e->names);
    *e = (struct cw_elf){ .fd = -1 };
}

void *
cw_elf_section_data(const struct cw_elf *e, const Elf64_Shdr *s, uint64_t limit)
{
    return s->sh_type == SHT_NOBITS ? NULL : read_piece(e, s->sh_offset, s->sh_size, limit);
}

const char *
cw_elf_section_name(const struct cw_elf *e, const Elf64_Shdr *s)
{
    return s->sh_name < e->names_size ? e->names + s->sh_name : "";
}

const Elf64_Shdr *
cw_elf_section_named(const struct cw_elf *e, const char *name)
{
    for (uint32_t i = 1; i < e->nsections; i++)
        if (!strcmp(cw_elf_section_name(e, &e->sections[i]), name))
            return &e->sections[i];
    return NULL;
}

const Elf64_Shdr *
cw_elf_section_typed(const struct cw_elf *e, uint32_t type)
{
    for (uint32_t i = 1; i < e->nsections; i++)
        if (e->sections[i].sh_type == type)
            return &e->sections[i];
    return NULL;
}

cw_result
cw_elf_symbols(const struct cw_elf *e, const Elf64_Shdr *table, struct cw_elf_symbols *out)
{
    *out = (struct cw_elf_symbols){ 0 };
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= e->nsections ||
        (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM))
        return CW_ERR_DAMAGED;
    const Elf64_Shdr *strings = &e->sections[table->sh_link];
    out->symbols = read_piece(e, table->sh_offset, table->sh_size, MAX_TABLE);
    out->strings = strings->sh_type == SHT_STRTAB ? read_piece(e, strings->sh_offset, strings->sh_size, MAX_TABLE) : NULL;
    if (!out->symbols || !out->strings) {
        cw_elf_symbols_finish(out);
        return CW_ERR_DAMAGED;
    }
    out->count = table->sh_size / sizeof(Elf64_Sym);
    out->strings_size = strings->sh_size;
    return CW_OK;
}

void
cw_elf_symbols_finish(struct cw_elf_symbols *s)
{
    free(s->symbols);
    free(s->strings);
    *s = (struct cw_elf_symbols){ 0 };
}

const char *
cw_elf_symbol_name(const struct cw_elf_symbols *s, const Elf64_Sym *symbol)
{
    return symbol->st_name < s->strings_size ? s->strings + symbol->st_name : "";
}

const Elf64_Phdr *
cw_elf_segment_at(const struct cw_elf *e, uint64_t address, uint64_t size)
{
    for (unsigned i = 0; e->segments && i < e->header.e_phnum; i++) {
        const Elf64_Phdr *p = &e->segments[i];
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr <= p->p_memsz && size <= p->p_memsz - (address - p->p_vaddr))
            return p;
    }
    return NULL;
}

bool
cw_elf_read_address(const struct cw_elf *e, uint64_t address, void *to, uint64_t size)
{
    const Elf64_Phdr *p = cw_elf_segment_at(e, address, size);
    if (!p)
        return false;
    uint64_t in = address - p->p_vaddr;
    if (in > p->p_filesz || size > p->p_filesz - in || p->p_offset > UINT64_MAX - in)
        return false;
    return cw_elf_read(e, p->p_offset + in, to, size);
}

bool
cw_elf_dynamic(const struct cw_elf *e, int64_t tag, uint64_t *value)
{
    for (unsigned i = 0; e->segments && i < e->header.e_phnum; i++) {
        const Elf64_Phdr *p = &e->segments[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= p->p_filesz; at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn d;
            if (at > UINT64_MAX - p->p_offset || !cw_elf_read(e, p->p_offset + at, &d, sizeof d) || d.d_tag == DT_NULL)
                return false;
            if (d.d_tag == tag) {
                *value = d.d_un.d_val;
                return true;
            }
        }
        return false;
    }
    return false;
}

void
cw_elf_soname(const struct cw_elf *e, char *name, size_t size)
{
    uint64_t strings, offset;
    name[0] = 0;
    if (!cw_elf_dynamic(e, DT_STRTAB, &strings) || !cw_elf_dynamic(e, DT_SONAME, &offset) || offset > UINT64_MAX - strings)
        return;
    for (size_t i = 0; i + 1 < size; i++) {
        name[i + 1] = 0;
        if (!cw_elf_read_address(e, strings + offset + i, name + i, 1)) {
            name[i] = 0;
            return;
        }
        if (!name[i])
            return;
    }
}
