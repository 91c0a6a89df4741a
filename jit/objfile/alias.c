/* SPDX-License-Identifier: Apache-2.0
 * See note.h. Appends to the end of the file a longer symbol table and its names. */
#include "jit/objfile/note.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct tables {
    size_t symbols_at, names_at;    /* the section headers' positions in the file */
    Elf64_Shdr symbols, names;
};

static bool
section(const struct cw_buf *o, const Elf64_Ehdr *h, unsigned i, size_t *at, Elf64_Shdr *s)
{
    *at = h->e_shoff + i * sizeof *s;
    if (i >= h->e_shnum)
        return false;
    memcpy(s, o->data + *at, sizeof *s);
    return s->sh_type == SHT_NOBITS || (s->sh_offset <= o->size && s->sh_size <= o->size - s->sh_offset);
}

static bool
find_tables(const struct cw_buf *o, struct tables *t)
{
    Elf64_Ehdr h;
    if (o->size < sizeof h)
        return false;
    memcpy(&h, o->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_REL || h.e_machine != EM_AMDGPU ||
        h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > o->size || h.e_shnum > (o->size - h.e_shoff) / sizeof(Elf64_Shdr))
        return false;
    for (unsigned i = 0; i < h.e_shnum; i++)
        if (section(o, &h, i, &t->symbols_at, &t->symbols) && t->symbols.sh_type == SHT_SYMTAB)
            return section(o, &h, t->symbols.sh_link, &t->names_at, &t->names) && t->names.sh_type == SHT_STRTAB && t->names.sh_size &&
                   !o->data[t->names.sh_offset + t->names.sh_size - 1];
    return false;
}

/* The symbol called NAME followed by SUFFIX. */
static bool
find_symbol(const struct cw_buf *o, const struct tables *t, const char *name, const char *suffix, Elf64_Sym *out)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < t->symbols.sh_size / sizeof *out; i++) {
        memcpy(out, o->data + t->symbols.sh_offset + i * sizeof *out, sizeof *out);
        const char *text = out->st_name < t->names.sh_size ? o->data + t->names.sh_offset + out->st_name : "";
        if (out->st_shndx != SHN_UNDEF && !strncmp(text, name, n) && !strcmp(text + n, suffix))
            return true;
    }
    return false;
}

static cw_result
collect(const struct cw_buf *o, const struct tables *t, const struct cwj_amd_alias *alias, size_t n, struct cw_buf *symbols, struct cw_buf *names)
{
    static const char *const suffixes[] = { "", ".kd" };
    cw_buf_append(symbols, o->data + t->symbols.sh_offset, t->symbols.sh_size);
    cw_buf_append(names, o->data + t->names.sh_offset, t->names.sh_size);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 2; k++) {
            Elf64_Sym s;
            if (!find_symbol(o, t, alias[i].of, suffixes[k], &s))
                return CW_ERR_DAMAGED;
            s.st_name = (Elf64_Word)names->size;
            cw_buf_append(symbols, &s, sizeof s);
            cw_buf_puts(names, alias[i].name);
            cw_buf_append(names, suffixes[k], strlen(suffixes[k]) + 1);
        }
    return symbols->failed || names->failed || names->size > UINT32_MAX ? CW_ERR_NOMEM : CW_OK;
}

cw_result
cwj_amd_add_aliases(struct cw_buf *object, const struct cwj_amd_alias *alias, size_t naliases)
{
    static const char padding[8];
    struct tables t;
    struct cw_buf symbols, names;
    if (!naliases)
        return CW_OK;
    if (!find_tables(object, &t))
        return CW_ERR_DAMAGED;
    cw_buf_init(&symbols);
    cw_buf_init(&names);
    cw_result r = collect(object, &t, alias, naliases, &symbols, &names);
    if (!r) {
        cw_buf_append(object, padding, -object->size & 7);
        t.symbols.sh_offset = object->size;
        t.symbols.sh_size = symbols.size;
        cw_buf_append(object, symbols.data, symbols.size);
        t.names.sh_offset = object->size;
        t.names.sh_size = names.size;
        cw_buf_append(object, names.data, names.size);
        r = object->failed ? CW_ERR_NOMEM : CW_OK;
    }
    if (!r) {
        memcpy(object->data + t.symbols_at, &t.symbols, sizeof t.symbols);
        memcpy(object->data + t.names_at, &t.names, sizeof t.names);
    }
    cw_buf_finish(&symbols);
    cw_buf_finish(&names);
    return r;
}
