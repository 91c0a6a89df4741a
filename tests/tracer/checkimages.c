/* SPDX-License-Identifier: Apache-2.0
 * Writes images for `cudaway-trace check` into the folder here:
 *
 *   sass.fatbin     machine code alone: sm_75 as it is, sm_86 LZ4, sm_90 Zstd. All have the kernel alpha, sm_90 delta besides; a device function
 *                   (beta) and a variable (gamma) are no kernels
 *   two.fatbin      PTX for sm_60 with the kernel older, for sm_90 with newer, and machine code with alpha
 *   empty.bin       a section: machine code without kernels and variables; then a module of PTX with the kernel older
 *   unnamed.fatbin  machine code for sm_80 whose table of symbols lies outside of it
 *   linked.bin      a section: machine code with the kernel older, as nvcc -rdc=true links it; relocatable.bin is the section with its parts: PTX
 *   cut.fatbin      a container that ends in the middle of an entry */
#include "tests/jit/link/fatbin_writer.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

enum { MACHINE_CUDA = 190, STO_CUDA_ENTRY = 0x10 };

static const char older[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry older() { ret; }\n";
static const char newer[] = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry newer() { ret; }\n";

struct symbol {
    const char *name;
    unsigned char type, other;
};

/* A cubin with these symbols, `outside` of it. */
static struct cw_buf
cubin(const struct symbol *symbols, unsigned count, bool outside)
{
    struct cw_buf b, names;
    cw_buf_init(&b);
    cw_buf_init(&names);
    cw_buf_append(&names, "", 1);
    Elf64_Sym table[8] = { 0 };
    for (unsigned i = 0; i < count; i++) {
        table[i + 1] = (Elf64_Sym){ .st_name = (Elf64_Word)names.size, .st_info = ELF64_ST_INFO(STB_GLOBAL, symbols[i].type), .st_other = symbols[i].other,
                                    .st_shndx = 1 };
        cw_buf_append(&names, symbols[i].name, strlen(symbols[i].name) + 1);
    }
    const size_t table_size = (count + 1) * sizeof *table, names_at = sizeof(Elf64_Ehdr) + table_size;
    const size_t sections_at = (names_at + names.size + 7) / 8 * 8;
    Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC, .e_machine = MACHINE_CUDA,
                     .e_version = EV_CURRENT, .e_shoff = sections_at, .e_ehsize = sizeof h, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2 };
    const Elf64_Shdr s[3] = {
        { 0 },
        { .sh_type = SHT_SYMTAB, .sh_offset = outside ? 1u << 20 : sizeof h, .sh_size = table_size, .sh_link = 2, .sh_entsize = sizeof *table },
        { .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names.size },
    };
    cw_buf_append(&b, &h, sizeof h);
    cw_buf_append(&b, table, table_size);
    cw_buf_append(&b, names.data, names.size);
    while (b.size < sections_at)
        cw_buf_append(&b, "", 1);
    cw_buf_append(&b, s, sizeof s);
    cw_buf_finish(&names);
    return b;
}

static void
save(const char *name, struct cw_buf *b, size_t size)
{
    FILE *f = fopen(name, "w");
    if (!f || b->failed || fwrite(b->data, 1, size, f) != size || fclose(f))
        exit(1);
    cw_buf_finish(b);
    cw_buf_init(b);
}

static void
add(struct cw_buf *b, unsigned sm, enum writer_how how, const struct symbol *symbols, unsigned count, bool outside)
{
    struct cw_buf c = cubin(symbols, count, outside);
    fatbin_entry(b, 2, sm, how, NULL, c.data, c.size);
    cw_buf_finish(&c);
}

int
main(void)
{
    const struct symbol all[] = { { "alpha", STT_FUNC, STO_CUDA_ENTRY }, { "beta", STT_FUNC, 0 }, { "gamma", STT_OBJECT, 0 }, { "delta", STT_FUNC, STO_CUDA_ENTRY } };
    const struct symbol linked[] = { { "older", STT_FUNC, STO_CUDA_ENTRY } };
    struct cw_buf b;
    cw_buf_init(&b);
    size_t at = fatbin_begin(&b);
    add(&b, 75, WRITE_PLAIN, all, 3, false);
    add(&b, 86, WRITE_LZ4, all, 3, false);
    add(&b, 90, WRITE_ZSTD, all, 4, false);
    fatbin_end(&b, at);
    save("sass.fatbin", &b, b.size);

    at = fatbin_begin(&b);
    add(&b, 80, WRITE_PLAIN, all, 1, false);
    fatbin_entry(&b, 1, 60, WRITE_LZ4, NULL, older, sizeof older);
    fatbin_entry(&b, 1, 90, WRITE_ZSTD, NULL, newer, sizeof newer);
    fatbin_end(&b, at);
    size_t whole = b.size;
    struct cw_buf cut;
    cw_buf_init(&cut);
    cw_buf_append(&cut, b.data, b.size);
    save("two.fatbin", &b, whole);
    save("cut.fatbin", &cut, 200);

    at = fatbin_begin(&b);
    add(&b, 80, WRITE_PLAIN, all, 0, false);
    fatbin_end(&b, at);
    at = fatbin_begin(&b);
    fatbin_entry(&b, 1, 60, WRITE_PLAIN, NULL, older, sizeof older);
    fatbin_end(&b, at);
    save("empty.bin", &b, b.size);

    at = fatbin_begin(&b);
    add(&b, 80, WRITE_PLAIN, all, 3, true);
    fatbin_end(&b, at);
    save("unnamed.fatbin", &b, b.size);

    at = fatbin_begin(&b);
    add(&b, 80, WRITE_PLAIN, linked, 1, false);
    fatbin_end(&b, at);
    save("linked.bin", &b, b.size);
    at = fatbin_begin(&b);
    fatbin_entry(&b, 1, 60, WRITE_PLAIN, NULL, older, sizeof older);
    fatbin_end(&b, at);
    save("relocatable.bin", &b, b.size);
    return 0;
}
