/* SPDX-License-Identifier: Apache-2.0
 * See signature_make.h. A pattern is the first bytes of a function, without those that the linker writes or may rewrite. */
#define _GNU_SOURCE
#include "tools/cudaway/signature_make.h"
#include "impl/runtime/redirect/signature.h"

#include <ar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_PATTERN = 16 };

struct function {
    char    *name;
    uint32_t section;               /* number in `sections` */
    uint64_t offset, size;
    uint32_t known, length;         /* bytes that were read; that the pattern gets */
    uint8_t  bytes[CW_SIGNATURE_BYTES], mask[CW_SIGNATURE_BYTES];
};

struct section {
    char    *name;
    uint64_t size;
    uint32_t functions;
};

struct maker {
    struct function *functions;
    size_t count, room;
    struct section *sections;
    uint32_t nsections;
};

/* Which bytes around a relocation are the linker's: its field, and for those that linkers relax (x86-64 psABI, B.2; ELF Handling For
 * Thread-Local Storage, 11) the instructions around it. */
static void
relocated(uint32_t type, uint32_t *before, uint32_t *after)
{
    *before = 0;
    *after = 4;
    switch (type) {
    case R_X86_64_NONE: *after = 0; break;
    case R_X86_64_64: case R_X86_64_PC64: case R_X86_64_TPOFF64: case R_X86_64_DTPOFF64: case R_X86_64_GOTOFF64: case R_X86_64_GOTPC64:
    case R_X86_64_SIZE64: *after = 8; break;
    case R_X86_64_16: case R_X86_64_PC16: *after = 2; break;
    case R_X86_64_8: case R_X86_64_PC8: *after = 1; break;
    case R_X86_64_GOTPCRELX: *before = 2; *after = 5; break;
    case R_X86_64_REX_GOTPCRELX: case R_X86_64_GOTPCREL: case R_X86_64_GOTTPOFF: *before = 3; break;
    case R_X86_64_TLSGD: *before = 4; *after = 12; break;
    case R_X86_64_TLSLD: *before = 3; *after = 10; break;
    default: break;
    }
}

static bool
add_function(struct maker *m, const struct function *f, const char *name)
{
    if (m->count == m->room) {
        size_t n = m->room ? m->room * 2 : 512;
        struct function *p = realloc(m->functions, n * sizeof *p);
        if (!p)
            return false;
        m->functions = p;
        m->room = n;
    }
    m->functions[m->count] = *f;
    m->functions[m->count].name = strdup(name);
    return m->functions[m->count].name && ++m->count;
}

/* Whether a name can stand in a line of the file. */
static bool
is_word(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return n && n <= 255;
}

static bool
add_section(struct maker *m, const char *name, uint64_t size)
{
    struct section *p = realloc(m->sections, (m->nsections + 1) * sizeof *p);
    if (!p)
        return false;
    m->sections = p;
    p[m->nsections] = (struct section){ .name = strdup(is_word(name) ? name : "-"), .size = size };
    return p[m->nsections++].name != NULL;
}

static void
mask_relocations(struct function *f, const Elf64_Rela *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t before, after;
        relocated((uint32_t)ELF64_R_TYPE(list[i].r_info), &before, &after);
        uint64_t from = list[i].r_offset > before ? list[i].r_offset - before : 0, to = list[i].r_offset + after;
        for (uint64_t at = from > f->offset ? from : f->offset; at < to && at - f->offset < f->known; at++)
            f->mask[at - f->offset] = 0;
    }
}

/* The functions of one section of a member. False: out of memory. */
static bool
read_section(struct maker *m, const struct cw_elf *e, uint32_t index, const struct cw_elf_symbols *symbols)
{
    const Elf64_Shdr *s = &e->sections[index];
    uint8_t *code = cw_elf_section_data(e, s, SIGNATURE_MAX_ARCHIVE);
    Elf64_Rela *relocations = NULL;
    size_t nrelocations = 0, first = m->count;
    bool ok = true;
    for (uint32_t i = 1; code && i < e->nsections && !relocations; i++)
        if (e->sections[i].sh_type == SHT_RELA && e->sections[i].sh_info == index) {
            relocations = cw_elf_section_data(e, &e->sections[i], SIGNATURE_MAX_ARCHIVE);
            nrelocations = relocations ? e->sections[i].sh_size / sizeof *relocations : 0;
        }
    for (uint64_t i = 0; code && ok && i < symbols->count; i++) {
        const Elf64_Sym *y = &symbols->symbols[i];
        const char *name = cw_elf_symbol_name(symbols, y);
        if (y->st_shndx != index || ELF64_ST_TYPE(y->st_info) != STT_FUNC || !cw_copy_is_runtime_name(name) || !y->st_size ||
            y->st_value > s->sh_size || y->st_size > s->sh_size - y->st_value || !is_word(name))
            continue;
        struct function f = { .section = m->nsections, .offset = y->st_value, .size = y->st_size };
        f.known = y->st_size < CW_SIGNATURE_BYTES ? (uint32_t)y->st_size : CW_SIGNATURE_BYTES;
        memcpy(f.bytes, code + y->st_value, f.known);
        memset(f.mask, 0xff, f.known);
        mask_relocations(&f, relocations, nrelocations);
        ok = add_function(m, &f, name);
    }
    if (ok && m->count > first) {
        ok = add_section(m, cw_elf_section_name(e, s), s->sh_size);
        if (ok)
            m->sections[m->nsections - 1].functions = (uint32_t)(m->count - first);
    }
    free(relocations);
    free(code);
    return ok;
}

static bool
read_member(struct maker *m, const char *data, size_t size)
{
    struct cw_elf e;
    if (cw_elf_open_memory(&e, data, size))
        return true;                /* another machine's, or a list of names */
    struct cw_elf_symbols symbols;
    const Elf64_Shdr *table = cw_elf_section_typed(&e, SHT_SYMTAB);
    bool ok = true;
    if (table && e.header.e_type == ET_REL && !cw_elf_symbols(&e, table, &symbols)) {
        for (uint32_t i = 1; ok && i < e.nsections; i++)
            if (e.sections[i].sh_flags & SHF_EXECINSTR)
                ok = read_section(m, &e, i, &symbols);
        cw_elf_symbols_finish(&symbols);
    }
    cw_elf_close(&e);
    return ok;
}

/* Members of an archive (ar(5)), or one object. */
static cw_result
read_archive(struct maker *m, const char *data, size_t size)
{
    bool ok = true;
    if (size < SARMAG || memcmp(data, ARMAG, SARMAG)) {
        ok = read_member(m, data, size);
    } else {
        for (size_t at = SARMAG; ok && at <= size && sizeof(struct ar_hdr) <= size - at;) {
            struct ar_hdr h;
            char digits[sizeof h.ar_size + 1] = "";
            memcpy(&h, data + at, sizeof h);
            memcpy(digits, h.ar_size, sizeof h.ar_size);
            unsigned long long n = strtoull(digits, NULL, 10);
            at += sizeof h;
            if (memcmp(h.ar_fmag, ARFMAG, 2) || n > size - at)
                return CW_ERR_DAMAGED;
            ok = read_member(m, data + at, n);
            at += n + n % 2;
        }
    }
    return ok ? CW_OK : CW_ERR_NOMEM;
}

/* As few bytes as tell a function from the others; those that nothing tells apart are told by their place. */
static void
choose_lengths(struct maker *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->functions[i].length = m->functions[i].known < MIN_PATTERN ? m->functions[i].known : MIN_PATTERN;
    for (size_t i = 0; i < m->count; i++)
        for (size_t k = 0; k < i; k++) {
            struct function *a = &m->functions[i], *b = &m->functions[k];
            uint32_t at = 0;
            while (at < a->known && at < b->known && !((a->bytes[at] ^ b->bytes[at]) & a->mask[at] & b->mask[at]))
                at++;
            uint32_t la = at < a->known ? at + 1 : a->known, lb = at < b->known ? at + 1 : b->known;
            a->length = la > a->length ? la : a->length;
            b->length = lb > b->length ? lb : b->length;
        }
}

static bool
has_name(const void *user, const char *name)
{
    const struct maker *m = user;
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->functions[i].name, name))
            return true;
    return false;
}

static void
write_text(const struct maker *m, unsigned major, const char *path, struct cw_buf *b)
{
    cw_buf_puts(b, "cudaway-signatures 1\n# of ");
    for (const char *p = path; *p; p++)
        cw_buf_append(b, (unsigned char)*p < ' ' ? "?" : p, 1);
    cw_buf_printf(b, "\nruntime %u\n", major);
    uint32_t section = UINT32_MAX;
    for (size_t i = 0; i < m->count; i++) {
        const struct function *f = &m->functions[i];
        if (f->section != section) {
            section = f->section;
            cw_buf_printf(b, "section %s %llu\n", m->sections[section].name, (unsigned long long)m->sections[section].size);
        }
        cw_buf_printf(b, "function %s %llx %llu %u ", f->name, (unsigned long long)f->offset, (unsigned long long)f->size, f->length);
        for (uint32_t k = 0; k < f->length; k++)
            if (f->mask[k])
                cw_buf_printf(b, "%02x", f->bytes[k]);
            else
                cw_buf_puts(b, "..");
        cw_buf_puts(b, "\n");
    }
}

cw_result
signature_make(const char *path, const char *data, size_t size, struct cw_buf *out, struct signature_made *made)
{
    struct maker m = { 0 };
    cw_result r = read_archive(&m, data, size);
    if (!r && (!has_name(&m, "__cudaRegisterFatBinary") || !has_name(&m, "cudaMalloc")))
        r = CW_ERR_NOT_FOUND;
    if (!r) {
        choose_lengths(&m);
        *made = (struct signature_made){ cw_copy_major(has_name, &m), m.count, m.nsections };
        write_text(&m, made->major, path, out);
        r = out->failed ? CW_ERR_NOMEM : CW_OK;
    }
    for (size_t i = 0; i < m.count; i++)
        free(m.functions[i].name);
    for (uint32_t i = 0; i < m.nsections; i++)
        free(m.sections[i].name);
    free(m.functions);
    free(m.sections);
    return r;
}
