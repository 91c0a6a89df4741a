/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input is a binary of which `cudaway-trace check` reads what the dynamic linker would, and a cubin of which it reads the kernels.
 * Names lie inside of it with their ends, and there are no more than its tables have room for, however the sections overlap. */
#include "tracer/cli/check_elf.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const char *file;
    size_t size, symbols, libraries, kernels, bytes;
};

static size_t
inside(const struct seen *s, const char *name)
{
    if (name < s->file || name >= s->file + s->size || !*name || !memchr(name, 0, (size_t)(s->file + s->size - name)))
        abort();
    return strlen(name);
}

static void
on_symbol(void *user, const char *name, enum elf_symbol_kind kind)
{
    struct seen *s = user;
    if (inside(s, name) >= ELF_NAME_MAX || kind > ELF_EXPORT || ++s->symbols > s->size / sizeof(Elf64_Sym))
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

static void
on_kernel(void *user, const char *name, bool kernel)
{
    struct seen *s = user;
    s->bytes += inside(s, name);
    if (++s->kernels > s->size / sizeof(Elf64_Sym) || s->bytes > s->size)
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
    struct elf_dynamic d = { .symbol = on_symbol, .library = on_library, .user = &s };
    elf_dynamic_read(file, size, &d);
    const char *const texts[] = { d.soname, d.rpath, d.runpath };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i])
            inside(&s, texts[i]);
    if (elf_cubin_read(file, size, on_kernel, &s) && !elf_is_cubin(file, size))
        abort();
    free(file);
    return 0;
}
