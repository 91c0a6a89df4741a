/* SPDX-License-Identifier: Apache-2.0
 * The dynamic symbols and the dynamic section of a 64-bit ELF file (System V ABI, chapters 4 and 5), found by the section headers. */
#include "tracer/cli/check_elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct image {
    const uint8_t *data;
    size_t size;
};

static const void *
at(const struct image *m, uint64_t offset, uint64_t size)
{
    return offset <= m->size && size <= m->size - offset ? m->data + offset : NULL;
}

/* "" if there is none. */
static const char *
string_at(const struct image *m, const Elf64_Shdr *table, uint64_t offset)
{
    if (!table || offset >= table->sh_size || !at(m, table->sh_offset, table->sh_size))
        return "";
    const char *s = (const char *)m->data + table->sh_offset + offset;
    uint64_t most = table->sh_size - offset;
    return memchr(s, 0, most < ELF_NAME_MAX ? most : ELF_NAME_MAX) ? s : "";
}

static void
symbols(const struct image *m, const Elf64_Shdr *section, const Elf64_Shdr *names, const struct elf_imports *to)
{
    const Elf64_Sym *y = (const Elf64_Sym *)(m->data + section->sh_offset);
    for (uint64_t k = 0; k < section->sh_size / sizeof *y; k++) {
        const char *name = y[k].st_shndx == SHN_UNDEF ? string_at(m, names, y[k].st_name) : "";
        if (*name)
            to->symbol(to->user, name);
    }
}

static void
libraries(const struct image *m, const Elf64_Shdr *section, const Elf64_Shdr *names, const struct elf_imports *to)
{
    const Elf64_Dyn *d = (const Elf64_Dyn *)(m->data + section->sh_offset);
    for (uint64_t k = 0; k < section->sh_size / sizeof *d; k++) {
        const char *name = d[k].d_tag == DT_NEEDED ? string_at(m, names, d[k].d_un.d_val) : "";
        if (*name)
            to->library(to->user, name);
    }
}

void
elf_imports_read(const void *data, size_t size, const struct elf_imports *to)
{
    const struct image m = { data, size };
    const Elf64_Ehdr *h = at(&m, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8)
        return;
    const Elf64_Shdr *s = at(&m, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);
    bool have_symbols = false, have_libraries = false;
    for (unsigned i = 0; s && i < h->e_shnum && !(have_symbols && have_libraries); i++) {
        const Elf64_Shdr *names = s[i].sh_link < h->e_shnum ? &s[s[i].sh_link] : NULL;
        if (s[i].sh_type == SHT_NOBITS || s[i].sh_offset % 8 || !at(&m, s[i].sh_offset, s[i].sh_size))
            continue;
        if (s[i].sh_type == SHT_DYNSYM && !have_symbols) {
            have_symbols = true;
            symbols(&m, &s[i], names, to);
        } else if (s[i].sh_type == SHT_DYNAMIC && !have_libraries) {
            have_libraries = true;
            libraries(&m, &s[i], names, to);
        }
    }
}
