/* SPDX-License-Identifier: Apache-2.0
 * Tables of 64-bit ELF files (System V ABI, chapters 4 and 5), found by the section headers. In a cubin a kernel is a function whose symbol has
 * STO_CUDA_ENTRY in st_other. */
#include "tracer/cli/check_elf.h"

#include <elf.h>
#include <string.h>

enum { MACHINE_CUDA = 190, STO_CUDA_ENTRY = 0x10 };

struct image {
    const uint8_t *data;
    size_t size;
    uint64_t budget;            /* bytes of strings that may still be read: entries may share one */
};

static const void *
at(const struct image *m, uint64_t offset, uint64_t size)
{
    return offset <= m->size && size <= m->size - offset ? m->data + offset : NULL;
}

/* "" if there is none. */
static const char *
string_at(struct image *m, const Elf64_Shdr *table, uint64_t offset, uint64_t longest)
{
    if (!table || offset >= table->sh_size || !at(m, table->sh_offset, table->sh_size))
        return "";
    const char *s = (const char *)m->data + table->sh_offset + offset;
    uint64_t most = table->sh_size - offset;
    most = most < longest ? most : longest;
    most = most < m->budget ? most : m->budget;
    const char *end = memchr(s, 0, most);
    m->budget -= end ? (uint64_t)(end - s) : most;
    return end ? s : "";
}

/* The section headers; NULL: no such file. */
static const uint8_t *
sections(const struct image *m, Elf64_Ehdr *h)
{
    const void *p = at(m, 0, sizeof *h);
    if (!p)
        return NULL;
    memcpy(h, p, sizeof *h);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    return at(m, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
}

static void
symbols(struct image *m, const Elf64_Shdr *section, const Elf64_Shdr *names, struct elf_dynamic *d)
{
    const Elf64_Sym *y = (const Elf64_Sym *)(m->data + section->sh_offset);
    for (uint64_t k = 0; k < section->sh_size / sizeof *y; k++) {
        unsigned bind = ELF64_ST_BIND(y[k].st_info);
        if (bind == STB_LOCAL)
            continue;
        const char *name = string_at(m, names, y[k].st_name, ELF_NAME_MAX);
        if (*name)
            d->symbol(d->user, name, y[k].st_shndx != SHN_UNDEF ? ELF_EXPORT : bind == STB_WEAK ? ELF_WEAK_IMPORT : ELF_IMPORT);
    }
}

static void
dynamic(struct image *m, const Elf64_Shdr *section, const Elf64_Shdr *names, struct elf_dynamic *d)
{
    const Elf64_Dyn *e = (const Elf64_Dyn *)(m->data + section->sh_offset);
    const char *name;
    for (uint64_t k = 0; k < section->sh_size / sizeof *e && e[k].d_tag != DT_NULL; k++) {
        const char **text = e[k].d_tag == DT_SONAME ? &d->soname : e[k].d_tag == DT_RPATH ? &d->rpath : e[k].d_tag == DT_RUNPATH ? &d->runpath : NULL;
        if (e[k].d_tag == DT_NEEDED && *(name = string_at(m, names, e[k].d_un.d_val, UINT64_MAX)))
            d->library(d->user, name);
        else if (text && *(name = string_at(m, names, e[k].d_un.d_val, UINT64_MAX)))
            *text = name;               /* of several the last, as in the dynamic linker */
        else if (e[k].d_tag == DT_FLAGS_1)
            d->no_default_folders = e[k].d_un.d_val & DF_1_NODEFLIB;
    }
}

void
elf_dynamic_read(const void *data, size_t size, struct elf_dynamic *d)
{
    struct image m = { data, size, size };
    Elf64_Ehdr h;
    d->soname = d->rpath = d->runpath = NULL;
    d->no_default_folders = false;
    d->machine = d->type = 0;
    const Elf64_Shdr *s = (const Elf64_Shdr *)sections(&m, &h);
    if (!s || h.e_shoff % 8)
        return;
    d->machine = h.e_machine;
    d->type = h.e_type;
    bool have_symbols = false, have_dynamic = false;
    for (unsigned i = 0; i < h.e_shnum; i++) {
        const Elf64_Shdr *names = s[i].sh_link < h.e_shnum ? &s[s[i].sh_link] : NULL;
        if (s[i].sh_type == SHT_NOBITS || s[i].sh_offset % 8 || !at(&m, s[i].sh_offset, s[i].sh_size))
            continue;
        if (s[i].sh_type == SHT_DYNSYM && !have_symbols) {
            have_symbols = true;
            m.budget = size;
            symbols(&m, &s[i], names, d);
        } else if (s[i].sh_type == SHT_DYNAMIC && !have_dynamic) {
            have_dynamic = true;
            m.budget = size;
            dynamic(&m, &s[i], names, d);
        }
    }
}

bool
elf_is_cubin(const void *data, size_t size)
{
    const struct image m = { data, size, 0 };
    Elf64_Ehdr h;
    return sections(&m, &h) && h.e_machine == MACHINE_CUDA;
}

bool
elf_cubin_read(const void *data, size_t size, void (*found)(void *user, const char *name, bool kernel), void *user)
{
    struct image m = { data, size, size };
    Elf64_Ehdr h;
    Elf64_Shdr s, names;
    const uint8_t *table = sections(&m, &h);
    for (unsigned i = 0; table && h.e_machine == MACHINE_CUDA && i < h.e_shnum; i++) {
        memcpy(&s, table + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (s.sh_link >= h.e_shnum || !at(&m, s.sh_offset, s.sh_size))
            return false;
        memcpy(&names, table + s.sh_link * sizeof names, sizeof names);
        for (uint64_t k = 0; k < s.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym y;
            memcpy(&y, m.data + s.sh_offset + k * sizeof y, sizeof y);
            bool kernel = ELF64_ST_TYPE(y.st_info) == STT_FUNC && y.st_other & STO_CUDA_ENTRY;
            if ((!kernel && ELF64_ST_TYPE(y.st_info) != STT_OBJECT) || y.st_shndx == SHN_UNDEF)
                continue;
            const char *name = string_at(&m, &names, y.st_name, UINT64_MAX);
            if (!*name)
                return false;
            found(user, name, kernel);
        }
        return true;
    }
    return false;
}
