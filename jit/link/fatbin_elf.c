/* SPDX-License-Identifier: Apache-2.0
 * ELF files: a cubin is one entry; in a host executable, library or object, scan every fatbin container in its sections. 64-bit little
 * endian only, as all CUDA hosts are. See fatbin.h. */
#include "jit/link/fatbin.h"

#include <elf.h>
#include <string.h>

enum { MACHINE_CUDA = 190, BIGGEST = 1u << 31 };

static cw_result
bad_elf(struct cwj_scan *s, const char *what)
{
    cwj_diag_add(s->diags, PTX_ERROR, 4106, 0, 0, "the ELF file is damaged: %s", what);
    return CW_ERR_DAMAGED;
}

/* The size of a cubin of unknown size: the end of its last section or header table. */
static uint64_t
extent(const uint8_t *p, const Elf64_Ehdr *h)
{
    uint64_t end = sizeof *h;
    uint64_t table = h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize;
    if (h->e_shoff && h->e_shoff < BIGGEST && h->e_shentsize >= sizeof(Elf64_Shdr)) {
        end = table > end ? table : end;
        for (unsigned i = 0; i < h->e_shnum; i++) {
            Elf64_Shdr sh;
            memcpy(&sh, p + h->e_shoff + (uint64_t)i * h->e_shentsize, sizeof sh);
            if (sh.sh_type != SHT_NOBITS && sh.sh_offset < BIGGEST && sh.sh_size < BIGGEST && sh.sh_offset + sh.sh_size > end)
                end = sh.sh_offset + sh.sh_size;
        }
    }
    uint64_t phend = h->e_phoff + (uint64_t)h->e_phnum * h->e_phentsize;
    return h->e_phoff < BIGGEST && phend > end ? phend : end;
}

static void
report_cubin(struct cwj_scan *s, const uint8_t *p, uint64_t size, const Elf64_Ehdr *h)
{
    /* Up to ABI 7 the SM version is the low byte of the flags; since then (OS/ABI 0x41) the byte above it. */
    unsigned sm = h->e_ident[EI_OSABI] == 0x41 ? h->e_flags >> 8 & 0xff : h->e_flags & 0xff;
    struct cwj_image_entry e = { .kind = CWJ_ENTRY_CUBIN, .group = s->group++, .sm = sm, .data = (const char *)p, .size = size,
                                 .compression = "none" };
    cwj_scan_report(s, &e);
}

/* Containers are at multiples of 8 bytes, with zeros in between. */
static cw_result
scan_section(struct cwj_scan *s, const uint8_t *p, uint64_t size)
{
    for (uint64_t at = 0; at + 16 <= size && !s->stop;) {
        if (cw_read_le(p + at, 4) != CWJ_FATBIN_MAGIC) {
            at += 8;
            continue;
        }
        uint64_t used = 0;
        cw_result r = cwj_scan_container(s, p + at, size - at, &used);
        if (r)
            return r;
        at += (used + 7) / 8 * 8;
    }
    return CW_OK;
}

cw_result
cwj_scan_elf(struct cwj_scan *s, const uint8_t *p, uint64_t size)
{
    Elf64_Ehdr h;
    if (size < sizeof h)
        return bad_elf(s, "it is shorter than its header");
    memcpy(&h, p, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB) {
        cwj_diag_add(s->diags, PTX_ERROR, 4104, 0, 0, "only 64-bit little-endian ELF files can hold CUDA code");
        return CW_ERR_INVALID;
    }
    if (h.e_machine == MACHINE_CUDA) {
        report_cubin(s, p, size == UINT64_MAX ? extent(p, &h) : size, &h);
        return CW_OK;
    }
    if (size == UINT64_MAX)
        size = extent(p, &h);
    if (!h.e_shoff || !h.e_shnum)
        return bad_elf(s, "it has no sections");
    if (h.e_shentsize < sizeof(Elf64_Shdr) || h.e_shoff > size || (uint64_t)h.e_shnum * h.e_shentsize > size - h.e_shoff)
        return bad_elf(s, "its section table is outside the file");
    if (h.e_shstrndx >= h.e_shnum)
        return bad_elf(s, "it has no section names");
    const uint8_t *table = p + h.e_shoff;
    Elf64_Shdr names;
    memcpy(&names, table + (uint64_t)h.e_shstrndx * h.e_shentsize, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
        return bad_elf(s, "its section names are outside the file");
    for (unsigned i = 0; i < h.e_shnum && !s->stop; i++) {
        Elf64_Shdr sh;
        memcpy(&sh, table + (uint64_t)i * h.e_shentsize, sizeof sh);
        if (sh.sh_type == SHT_NOBITS || sh.sh_name >= names.sh_size)
            continue;
        const char *name = (const char *)p + names.sh_offset + sh.sh_name;
        size_t rest = names.sh_size - sh.sh_name;
        if (strnlen(name, rest) == rest || (strcmp(name, ".nv_fatbin") && strcmp(name, "__nv_relfatbin")))
            continue;
        if (sh.sh_offset > size || sh.sh_size > size - sh.sh_offset)
            return bad_elf(s, "a section is outside the file");
        s->relocatable = *name == '_';
        cw_result r = scan_section(s, p + sh.sh_offset, sh.sh_size);
        s->relocatable = false;
        if (r)
            return r;
    }
    return CW_OK;
}
