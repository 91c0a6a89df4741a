/* SPDX-License-Identifier: Apache-2.0
 * A bounded reader of 64-bit little-endian x86-64 ELF files: programs, shared libraries, relocatable objects. It reads the
 * pieces that it is asked for, so that a library of a gigabyte costs what its tables cost. A damaged file gives CW_ERR_DAMAGED,
 * never a read outside of it. Source: System V ABI, "Object Files". */
#ifndef CW_REDIRECT_ELF_H
#define CW_REDIRECT_ELF_H

#include "impl/base/result.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_elf {
    int            fd;              /* -1: in memory */
    const uint8_t *memory;
    uint64_t       size;            /* bytes of the file */
    Elf64_Ehdr     header;
    Elf64_Phdr    *segments;        /* header.e_phnum of them; NULL when none */
    Elf64_Shdr    *sections;        /* nsections of them; NULL when none */
    uint32_t       nsections;
    char          *names;           /* names of the sections, names_size bytes and a NUL */
    uint64_t       names_size;
};

struct cw_elf_symbols {
    Elf64_Sym *symbols;
    uint64_t   count;
    char      *strings;             /* strings_size bytes and a NUL */
    uint64_t   strings_size;
};

/* Errors: CW_ERR_NOT_FOUND, CW_ERR_IO, CW_ERR_INVALID (no such ELF file), CW_ERR_DAMAGED, CW_ERR_NOMEM. cw_elf_close takes a
 * struct whose opening failed. A file in memory stays the caller's and is there until cw_elf_close. */
cw_result cw_elf_open(struct cw_elf *e, const char *path) CW_MUST_CHECK;
cw_result cw_elf_open_memory(struct cw_elf *e, const void *data, size_t size) CW_MUST_CHECK;
void cw_elf_close(struct cw_elf *e);

/* Bytes of the file into `to`. False where they are outside of it or cannot be read. */
bool cw_elf_read(const struct cw_elf *e, uint64_t offset, void *to, uint64_t size) CW_MUST_CHECK;
/* A copy of a section's bytes and a NUL, malloc'd; NULL where there are none or more than `limit`. */
void *cw_elf_section_data(const struct cw_elf *e, const Elf64_Shdr *s, uint64_t limit);
/* The section's name; "" where it has none. */
const char *cw_elf_section_name(const struct cw_elf *e, const Elf64_Shdr *s);
/* The first section of that name, of that type; NULL when there is none. */
const Elf64_Shdr *cw_elf_section_named(const struct cw_elf *e, const char *name);
const Elf64_Shdr *cw_elf_section_typed(const struct cw_elf *e, uint32_t type);
/* The symbols of a section of type SHT_SYMTAB or SHT_DYNSYM. */
cw_result cw_elf_symbols(const struct cw_elf *e, const Elf64_Shdr *table, struct cw_elf_symbols *out) CW_MUST_CHECK;
void cw_elf_symbols_finish(struct cw_elf_symbols *s);
/* The symbol's name, NUL-terminated; "" where its offset is outside of the strings. */
const char *cw_elf_symbol_name(const struct cw_elf_symbols *s, const Elf64_Sym *symbol);
/* Bytes at an address of a loadable segment that are in the file. False where the segment has not all of them there. */
bool cw_elf_read_address(const struct cw_elf *e, uint64_t address, void *to, uint64_t size) CW_MUST_CHECK;
/* The loadable segment that holds all of [address, address + size), in memory; NULL when there is none. */
const Elf64_Phdr *cw_elf_segment_at(const struct cw_elf *e, uint64_t address, uint64_t size);
/* A value of the dynamic section by its tag. */
bool cw_elf_dynamic(const struct cw_elf *e, int64_t tag, uint64_t *value);
/* The library's own name (DT_SONAME) into `name`, cut to `size`; "" when it has none. */
void cw_elf_soname(const struct cw_elf *e, char *name, size_t size);

#endif
