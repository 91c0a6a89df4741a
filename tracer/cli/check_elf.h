/* SPDX-License-Identifier: Apache-2.0
 * What an ELF file imports: undefined dynamic symbols, and libraries. The file may be damaged or made to harm: nothing outside of it is read, and
 * the time is in proportion to its size. */
#ifndef TRACER_CLI_CHECK_ELF_H
#define TRACER_CLI_CHECK_ELF_H

#include <stddef.h>

/* No name of CUDA's is as long; longer ones are left out, since each of many entries may name the same long string. */
enum { ELF_NAME_MAX = 256 };

struct elf_imports {
    void (*symbol)(void *user, const char *name);       /* names lie in the file, with their end */
    void (*library)(void *user, const char *name);
    void *user;
};

/* `data` is aligned to 8. Reads the first table of dynamic symbols and the first dynamic section, of which a file has one each. A file of another
 * kind imports nothing. */
void elf_imports_read(const void *data, size_t size, const struct elf_imports *to);

#endif
