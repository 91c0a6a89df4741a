/* SPDX-License-Identifier: Apache-2.0
 * What the dynamic linker reads of an ELF file: dynamic symbols, needed libraries, where to look for them; and the kernels of a cubin. The file may
 * be damaged or made to harm: nothing outside of it is read, and the time is in proportion to its size. */
#ifndef TRACER_CLI_CHECK_ELF_H
#define TRACER_CLI_CHECK_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No name of CUDA's is as long; longer ones are left out, since each of many entries may name the same long string. */
enum { ELF_NAME_MAX = 256 };

enum elf_symbol_kind { ELF_IMPORT, ELF_WEAK_IMPORT, ELF_EXPORT };

struct elf_dynamic {
    void (*symbol)(void *user, const char *name, enum elf_symbol_kind kind);    /* names lie in the file, with their end */
    void (*library)(void *user, const char *name);
    void *user;
    /* out: of the file, NULL where it has none */
    const char *soname, *rpath, *runpath;
    bool     no_default_folders;        /* DF_1_NODEFLIB */
    uint16_t machine, type;             /* EM_X86_64; ET_DYN. 0: no 64-bit ELF file */
};

/* `data` is aligned to 8. Reads the first table of dynamic symbols and the first dynamic section, of which a file has one each. A file of another
 * kind imports nothing. */
void elf_dynamic_read(const void *data, size_t size, struct elf_dynamic *d);

/* Machine code for NVIDIA's processors. */
bool elf_is_cubin(const void *data, size_t size);
/* Each kernel and each variable of a cubin, by its symbol. `data` need not be aligned. Names lie in the file, with their end; all of them together are no longer
 * than the file. False: it has no table of symbols that could be read to its end. */
bool elf_cubin_read(const void *data, size_t size, void (*found)(void *user, const char *name, bool kernel), void *user);

#endif
