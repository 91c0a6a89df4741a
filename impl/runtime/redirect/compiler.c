/* SPDX-License-Identifier: Apache-2.0
 * NVRTC gives machine code of an NVIDIA GPU to a program that compiles for a real architecture (-arch=sm_86), and has the PTX that it made
 * this from as well (NVRTC manual, "nvrtcGetPTX", "nvrtcGetCUBIN"). No device of ours executes that machine code, and every call that
 * takes it takes PTX. So in a loaded libnvrtc.so.N the functions that give the one get a jump to those of the same parameters that give
 * the other. */
#include "impl/base/log.h"
#include "impl/runtime/redirect/patch.h"
#include "impl/runtime/redirect/redirect.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JUMP = 5 };

static const char *const exchanged[][2] = {
    { "nvrtcGetCUBINSize", "nvrtcGetPTXSize" },
    { "nvrtcGetCUBIN", "nvrtcGetPTX" },
};
enum { EXCHANGED = sizeof exchanged / sizeof *exchanged };

static uint64_t
address_of(const struct cw_elf_symbols *s, const char *name, uint64_t *size)
{
    for (uint64_t i = 0; i < s->count; i++)
        if (s->symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->symbols[i].st_info) == STT_FUNC &&
            !strcmp(cw_elf_symbol_name(s, &s->symbols[i]), name)) {
            *size = s->symbols[i].st_size;
            return s->symbols[i].st_value;
        }
    return 0;
}

/* Why the function at `from` cannot get its jump to `to`; NULL: it can, or has it, and *jump is it. */
static const char *
check(const struct cw_elf *e, uintptr_t bias, uint64_t from, uint64_t size, uint64_t to, uint8_t jump[JUMP])
{
    uint8_t want[JUMP], have[JUMP];
    const Elf64_Phdr *p = from && to ? cw_elf_segment_at(e, from, JUMP) : NULL;
    int64_t away = (int64_t)(to - from - JUMP);

    if (!p || !(p->p_flags & PF_X) || size < JUMP || away != (int32_t)away)
        return "is not there";
    int32_t relative = (int32_t)away;
    jump[0] = 0xe9;
    memcpy(jump + 1, &relative, sizeof relative);
    if (!cw_elf_read_address(e, from, want, JUMP) || !cw_memory_read(bias + from, have, JUMP) ||
        (memcmp(want, have, JUMP) && memcmp(jump, have, JUMP)))
        return "is not in memory what it is in the file";
    return NULL;
}

static bool
write_code(uintptr_t at, const uint8_t *code, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = at & ~(page - 1), last = (at + size + page - 1) & ~(page - 1);

    if (mprotect((void *)first, last - first, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    memcpy((void *)at, code, size);
    return !mprotect((void *)first, last - first, PROT_READ | PROT_EXEC);
}

void
cw_redirect_compiler(const char *path, uintptr_t bias)
{
    static const char prefix[] = "libnvrtc.so";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *why = NULL;
    struct cw_elf e;
    struct cw_elf_symbols s;
    uint8_t jumps[EXCHANGED][JUMP];
    uint64_t from[EXCHANGED];

    if (strncmp(name, prefix, sizeof prefix - 1) || cw_elf_open(&e, path))
        return;
    const Elf64_Shdr *table = cw_elf_section_typed(&e, SHT_DYNSYM);
    if (table && !cw_elf_symbols(&e, table, &s)) {
        unsigned i;
        for (i = 0; i < EXCHANGED && !why; i++) {
            uint64_t size = 0, unused;
            from[i] = address_of(&s, exchanged[i][0], &size);
            why = check(&e, bias, from[i], size, address_of(&s, exchanged[i][1], &unused), jumps[i]);
        }
        const char *function = exchanged[i - 1][0];
        for (i = 0; i < EXCHANGED && !why; i++)
            if (!write_code(bias + from[i], jumps[i], JUMP))
                why = "cannot be written", function = exchanged[i][0];
        if (why)
            cw_warn("%s: %s %s: what programs compile with it for a real architecture (-arch=sm_...) cannot be loaded; compile for compute_...",
                    name, function, why);
        else
            cw_info("%s gives PTX to programs that ask it for a cubin", name);
        cw_elf_symbols_finish(&s);
    }
    cw_elf_close(&e);
}
