/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input is a binary of which `cudaway-trace check` reads the imports. Names lie inside of it with their ends, and there are no
 * more than its tables have room for, however the sections overlap. */
#include "tracer/cli/check_elf.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const char *file;
    size_t size, symbols, libraries;
};

static void
inside(const struct seen *s, const char *name)
{
    if (name < s->file || name >= s->file + s->size || !*name || !memchr(name, 0, (size_t)(s->file + s->size - name)) || strlen(name) >= ELF_NAME_MAX)
        abort();
}

static void
on_symbol(void *user, const char *name)
{
    struct seen *s = user;
    inside(s, name);
    if (++s->symbols > s->size / sizeof(Elf64_Sym))
        abort();
}

static void
on_library(void *user, const char *name)
{
    struct seen *s = user;
    inside(s, name);
    if (++s->libraries > s->size / sizeof(Elf64_Dyn))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *file = malloc(size ? size : 1);
    if (!file)
        return 0;
    if (size)
        memcpy(file, data, size);
    struct seen s = { .file = file, .size = size };
    elf_imports_read(file, size, &(struct elf_imports){ on_symbol, on_library, &s });
    free(file);
    return 0;
}
