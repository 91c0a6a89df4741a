/* SPDX-License-Identifier: Apache-2.0
 * See register.h. What compilers write is known from what they write: nvcc's __sti____cudaRegisterAll (crt/host_runtime.h,
 * crt/link.stub), clang's __cuda_module_ctor. Where the names are gone, the constructor's code still has the distance to
 * __cudaRegisterFatBinary in it, as four bytes; where each function begins is in .eh_frame_hdr (LSB core, 10.6.2), which strip keeps. */
#include "impl/runtime/redirect/register.h"
#include "impl/base/log.h"
#include "impl/runtime/redirect/patch.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_FUNCTIONS = 1 << 22,
    MAX_CONSTRUCTORS = 1 << 16,
    MAX_SECTION = 1 << 28,          /* relocations, a PLT: bytes */
    MAX_SEARCHED = 1 << 28,
    MAX_BODY = 1 << 20,             /* bytes of a constructor: clang's has three calls a kernel */
    DEPTH = 3,                      /* constructor, __cudaRegisterLinkedBinary_ID, __cudaRegisterLinkedBinary */
};

struct search {
    const struct cw_registrant *o;
    const struct cw_elf *e;
    uint64_t *starts;               /* of functions, ascending */
    size_t nstarts;
    uint8_t *searched;              /* of each of them: through how many calls it was searched in vain, and 1 */
    uint64_t budget;                /* bytes of code that are still searched */
    struct cw_elf_symbols symbols;
};

static bool
read_starts(struct search *s)
{
    const Elf64_Phdr *p = NULL;
    for (unsigned i = 0; i < s->e->header.e_phnum; i++)
        if (s->e->segments[i].p_type == PT_GNU_EH_FRAME)
            p = &s->e->segments[i];
    struct { uint8_t version, frame, count_form, table; int32_t frame_at; uint32_t count; } h;
    /* version 1; the frame's place relative to itself; the count as it is; the table sorted, relative to this header */
    if (!p || !cw_elf_read_address(s->e, p->p_vaddr, &h, sizeof h) || h.version != 1 || h.frame != 0x1b || h.count_form != 0x03 || h.table != 0x3b ||
        h.count > MAX_FUNCTIONS || p->p_filesz < sizeof h + (uint64_t)h.count * 8)
        return false;
    int32_t (*table)[2] = malloc((size_t)h.count * 8 + 1);
    s->starts = malloc(((size_t)h.count + 1) * sizeof *s->starts);
    s->searched = calloc((size_t)h.count + 1, 1);
    bool ok = table && s->starts && s->searched && cw_elf_read_address(s->e, p->p_vaddr + sizeof h, table, (uint64_t)h.count * 8);
    for (uint32_t i = 0; ok && i < h.count; i++) {
        s->starts[i] = p->p_vaddr + (uint64_t)(int64_t)table[i][0];
        ok = !i || s->starts[i] >= s->starts[i - 1];
    }
    s->nstarts = ok ? h.count : 0;
    free(table);
    return ok;
}

/* The function's index in `starts`; nstarts when none begins there. */
static size_t
start_at(const struct search *s, uint64_t address)
{
    size_t low = 0, high = s->nstarts;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->starts[mid] < address)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->nstarts && s->starts[low] == address ? low : s->nstarts;
}

static bool
is_target(const struct cw_registrant *o, uint64_t address)
{
    for (size_t i = 0; i < o->ntargets; i++)
        if (o->targets[i] == address)
            return true;
    return false;
}

/* Whether the function that begins at `address` refers to a target, itself or through functions of the object that it calls. */
static bool
refers(struct search *s, uint64_t address, unsigned depth)
{
    size_t i = start_at(s, address);
    if (i == s->nstarts || s->searched[i] >= DEPTH - depth || (depth && s->o->copy && cw_copy_function_at(s->o->copy, address)))
        return false;
    uint64_t size = (i + 1 < s->nstarts ? s->starts[i + 1] : address + 4096) - address;
    const Elf64_Phdr *p = cw_elf_segment_at(s->e, address, 1);
    if (!p || !(p->p_flags & PF_X))
        return false;
    uint64_t room = p->p_vaddr + p->p_filesz - address;
    size = size > room ? room : size > MAX_BODY ? MAX_BODY : size;
    size = size > s->budget ? s->budget : size;
    s->budget -= size;
    s->searched[i] = (uint8_t)(DEPTH - depth);
    uint8_t *body = malloc(size + 1);
    bool found = false;
    if (body && cw_elf_read_address(s->e, address, body, size)) {
        for (uint64_t at = 1; !found && at + 4 <= size; at++) {
            int32_t relative;
            memcpy(&relative, body + at, 4);
            uint64_t to = address + at + 4 + (uint64_t)(int64_t)relative;
            found = is_target(s->o, to) || (depth + 1 < DEPTH && (body[at - 1] == 0xe8 || body[at - 1] == 0xe9) && to != address && refers(s, to, depth + 1));
        }
    }
    free(body);
    if (found)
        s->searched[i] = 0;         /* whoever calls it finds it again */
    return found;
}

static int
by_value(const void *a, const void *b)
{
    const Elf64_Sym *x = a, *y = b;
    return x->st_value < y->st_value ? -1 : x->st_value > y->st_value;
}

/* The functions of the symbol table, by address; the others leave it. */
static void
read_names(struct search *s)
{
    const Elf64_Shdr *table = cw_elf_section_typed(s->e, SHT_SYMTAB);
    if (!table || cw_elf_symbols(s->e, table, &s->symbols)) {
        s->symbols = (struct cw_elf_symbols){ 0 };
        return;
    }
    uint64_t n = 0;
    for (uint64_t i = 0; i < s->symbols.count; i++)
        if (ELF64_ST_TYPE(s->symbols.symbols[i].st_info) == STT_FUNC && s->symbols.symbols[i].st_shndx != SHN_UNDEF)
            s->symbols.symbols[n++] = s->symbols.symbols[i];
    s->symbols.count = n;
    if (n)
        qsort(s->symbols.symbols, n, sizeof *s->symbols.symbols, by_value);
}

static const char *
function_name(const struct search *s, uint64_t address)
{
    const Elf64_Sym key = { .st_value = address };
    const Elf64_Sym *y = s->symbols.count ? bsearch(&key, s->symbols.symbols, s->symbols.count, sizeof key, by_value) : NULL;
    return y ? cw_elf_symbol_name(&s->symbols, y) : NULL;
}

static bool
is_registration_name(const char *name)
{
    return strstr(name, "__sti____cudaRegisterAll") || !strcmp(name, "__cuda_module_ctor") || strstr(name, "offloading.cuda_fatbin_reg");
}

/* GCC's and clang's names for several constructors in one function: running it again would run the program's own again. */
static bool
is_merged_name(const char *name)
{
    return !strncmp(name, "_GLOBAL__", 9) || !strncmp(name, "_sub_I_", 7);
}

static cw_result
cannot(const struct search *s, const char *why)
{
    cw_error("%s: its kernels cannot be registered again: %s; start it with `cudaway run`, or link it with -cudart shared", s->o->shown, why);
    return CW_ERR_UNSUPPORTED;
}

static cw_result
find(struct search *s, const uintptr_t *running, size_t nrunning, struct cw_registrations *out)
{
    bool stop = false;
    uint64_t array, size;
    if (!cw_elf_dynamic(s->e, DT_INIT_ARRAY, &array) || !cw_elf_dynamic(s->e, DT_INIT_ARRAYSZ, &size))
        return CW_OK;
    bool code = cw_elf_section_named(s->e, ".nvFatBinSegment") != NULL, linked = cw_elf_section_named(s->e, "__nv_relfatbin") != NULL;
    for (uint64_t i = 0; i < size / 8 && i < MAX_CONSTRUCTORS; i++) {
        uintptr_t pointer;
        if (!cw_memory_read(s->o->bias + array + i * 8, &pointer, sizeof pointer))
            return CW_ERR_DAMAGED;
        for (size_t k = 0; k < nrunning; k++)
            stop |= running[k] == pointer;
        uint64_t at = pointer - s->o->bias;
        const Elf64_Phdr *p = cw_elf_segment_at(s->e, at, 1);
        if (!p || !(p->p_flags & PF_X))
            continue;
        const char *name = function_name(s, at);
        if (!(name && is_registration_name(name)) && !refers(s, at, 0))
            continue;
        if (name && is_merged_name(name))
            return cannot(s, "link-time optimisation has merged it into other constructors");
        out->list[out->count++] = at;
        out->ran += !stop;
    }
    if (linked && out->count && !s->o->linked_counter)
        return cannot(s, "it was stripped, and its device code is relocatable");
    return code && !s->nstarts && !s->symbols.count ? cannot(s, "it has neither symbols nor unwind tables") : CW_OK;
}

cw_result
cw_register_find(const struct cw_registrant *o, const struct cw_elf *e, const uintptr_t *running, size_t nrunning, struct cw_registrations *out)
{
    struct search s = { .o = o, .e = e, .budget = MAX_SEARCHED };
    *out = (struct cw_registrations){ .list = calloc(MAX_CONSTRUCTORS, sizeof *out->list) };
    if (!out->list)
        return CW_ERR_NOMEM;
    read_names(&s);
    if (!read_starts(&s))
        s.nstarts = 0;              /* names alone */
    cw_result r = find(&s, running, nrunning, out);
    free(s.starts);
    free(s.searched);
    cw_elf_symbols_finish(&s.symbols);
    if (r) {
        free(out->list);
        *out = (struct cw_registrations){ 0 };
    }
    return r;
}

void
cw_registrant_of_copy(const struct cw_copy *c, struct cw_registrant *out)
{
    *out = (struct cw_registrant){ .path = c->path, .shown = c->shown, .bias = c->bias, .copy = c, .linked_counter = c->linked_counter };
    const struct cw_copy_function *f = cw_copy_function_named(c, "__cudaRegisterFatBinary");
    if (f)
        out->targets[out->ntargets++] = f->address;
}

static void
add_target(struct cw_registrant *o, uint64_t address)
{
    if (o->ntargets < CW_REGISTER_TARGETS && !is_target(o, address))
        o->targets[o->ntargets++] = address;
}

/* GOT slots of the symbol, by its relocations; and PLT entries, which are 16 bytes and jump through a slot (jmp *slot(%rip)). */
static void
add_slots(struct cw_registrant *o, const struct cw_elf *e, uint64_t symbol)
{
    for (uint32_t i = 1; i < e->nsections; i++) {
        const Elf64_Shdr *h = &e->sections[i];
        Elf64_Rela *list = h->sh_type == SHT_RELA ? cw_elf_section_data(e, h, MAX_SECTION) : NULL;
        for (uint64_t k = 0; list && k < h->sh_size / sizeof *list; k++) {
            uint32_t type = (uint32_t)ELF64_R_TYPE(list[k].r_info);
            if (ELF64_R_SYM(list[k].r_info) == symbol && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
                add_target(o, list[k].r_offset);
        }
        free(list);
    }
    size_t nslots = o->ntargets;
    for (uint32_t i = 1; i < e->nsections; i++) {
        const Elf64_Shdr *h = &e->sections[i];
        uint8_t *code = !strncmp(cw_elf_section_name(e, h), ".plt", 4) ? cw_elf_section_data(e, h, MAX_SECTION) : NULL;
        for (uint64_t at = 2; code && at + 4 <= h->sh_size; at++) {
            int32_t relative;
            memcpy(&relative, code + at, 4);
            uint64_t to = h->sh_addr + at + 4 + (uint64_t)(int64_t)relative;
            for (size_t k = 0; k < nslots && code[at - 2] == 0xff && code[at - 1] == 0x25; k++)
                if (o->targets[k] == to)
                    add_target(o, (h->sh_addr + at) & ~15ull);
        }
        free(code);
    }
}

bool
cw_registrant_of_importer(const struct cw_elf *e, const char *path, uintptr_t bias, struct cw_registrant *out)
{
    struct cw_elf_symbols s;
    const char *slash = strrchr(path, '/');
    *out = (struct cw_registrant){ .path = path, .shown = slash ? slash + 1 : path, .bias = bias };
    const Elf64_Shdr *table = cw_elf_section_typed(e, SHT_DYNSYM);
    if (!table || cw_elf_symbols(e, table, &s))
        return false;
    for (uint64_t i = 0; i < s.count; i++)
        if (s.symbols[i].st_shndx == SHN_UNDEF && !strcmp(cw_elf_symbol_name(&s, &s.symbols[i]), "__cudaRegisterFatBinary"))
            add_slots(out, e, i);
    cw_elf_symbols_finish(&s);
    table = out->ntargets ? cw_elf_section_typed(e, SHT_SYMTAB) : NULL;
    if (table && !cw_elf_symbols(e, table, &s)) {
        out->linked_counter = cw_copy_linked_counter(&s);
        cw_elf_symbols_finish(&s);
    }
    return out->ntargets;
}

void
cw_register_again(const struct cw_registrant *o, const uintptr_t *running, size_t nrunning)
{
    struct cw_elf e;
    struct cw_registrations all;
    if (cw_elf_open(&e, o->path))
        return;
    cw_result r = cw_register_find(o, &e, running, nrunning, &all);
    if (!r && o->linked_counter) {
        const Elf64_Phdr *p = cw_elf_segment_at(&e, o->linked_counter, 4);
        if (all.ran < all.count || !p || !(p->p_flags & PF_W))
            all.ran = 0;            /* until the last file has announced itself nothing was registered */
        else
            *(volatile int32_t *)(o->bias + o->linked_counter) = 0;
    }
    cw_elf_close(&e);
    if (r)
        return;
    for (size_t i = 0; i < all.ran; i++)
        ((void (*)(int, char **, char **))(o->bias + all.list[i]))(0, NULL, NULL);
    cw_info("%s: %zu registration%s of device code done again", o->shown, all.ran, all.ran == 1 ? "" : "s");
    free(all.list);
}
