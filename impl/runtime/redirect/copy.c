/* SPDX-License-Identifier: Apache-2.0
 * See copy.h. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/copy.h"
#include "impl/runtime/redirect/signature.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1 << 30 };       /* bytes of a symbol table's names */

/* What every runtime since CUDA 9 defines; a program's own function of one of these names is no runtime. */
static const char *const core[] = {
    "__cudaRegisterFatBinary", "__cudaUnregisterFatBinary", "__cudaRegisterFunction", "cudaGetExportTable", "cudaGetErrorString",
    "cudaLaunchKernel", "cudaMalloc", "cudaFree",
};

bool
cw_copy_is_runtime_name(const char *name)
{
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

/* cudaInitDevice came with 12.0. cudaGetDeviceProperties_v2 is what 12's headers call; 13 gave its meaning to the plain name. */
unsigned
cw_copy_major(bool (*has)(const void *, const char *), const void *user)
{
    if (has(user, "cudaGetDeviceProperties_v2"))
        return 12;
    return has(user, "cudaInitDevice") ? 13 : 11;
}

static bool
copy_has(const void *user, const char *name)
{
    return cw_copy_function_named(user, name) != NULL;
}

static int
by_address(const void *a, const void *b)
{
    const struct cw_copy_function *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

const struct cw_copy_function *
cw_copy_function_at(const struct cw_copy *c, uint64_t address)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->functions[mid].address <= address)
            low = mid + 1;
        else
            high = mid;
    }
    const struct cw_copy_function *f = low ? &c->functions[low - 1] : NULL;
    return f && address - f->address < f->size ? f : NULL;
}

const struct cw_copy_function *
cw_copy_function_named(const struct cw_copy *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->functions[i].name, name))
            return &c->functions[i];
    return NULL;
}

const char *
cw_copy_source_text(enum cw_copy_source s)
{
    switch (s) {
    case CW_COPY_SYMBOLS: return "its symbol table";
    case CW_COPY_EXPORTS: return "its exports";
    default:              return "signatures";
    }
}

static bool
is_code(const struct cw_elf *e, const Elf64_Sym *s)
{
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || !s->st_size)
        return false;
    const Elf64_Phdr *p = cw_elf_segment_at(e, s->st_value, s->st_size);
    return p && p->p_flags & PF_X;
}

/* The counter in __cudaRegisterLinkedBinary of crt/link.stub, whose mangled name depends on the compiler:
 * _ZZL<n>__cudaRegisterLinkedBinaryPK...E3__i. */
static bool
is_linked_counter(const char *name)
{
    static const char end[] = "E3__i", middle[] = "__cudaRegisterLinkedBinaryP";
    size_t n = strlen(name);
    return n > sizeof end && !strncmp(name, "_ZZ", 3) && !strcmp(name + n - (sizeof end - 1), end) && strstr(name, middle);
}

uint64_t
cw_copy_linked_counter(const struct cw_elf_symbols *s)
{
    for (uint64_t i = 0; i < s->count; i++)
        if (ELF64_ST_TYPE(s->symbols[i].st_info) == STT_OBJECT && s->symbols[i].st_size == 4 && is_linked_counter(cw_elf_symbol_name(s, &s->symbols[i])))
            return s->symbols[i].st_value;
    return 0;
}

/* Functions of a symbol table. CW_ERR_NOMEM, or CW_OK; c->count is 0 where it has no runtime. */
static cw_result
take_symbols(struct cw_copy *c, const struct cw_elf *e, struct cw_elf_symbols *s)
{
    size_t n = 0;
    for (uint64_t i = 0; i < s->count; i++)
        n += cw_copy_is_runtime_name(cw_elf_symbol_name(s, &s->symbols[i])) && is_code(e, &s->symbols[i]);
    c->functions = calloc(n + 1, sizeof *c->functions);
    if (!c->functions)
        return CW_ERR_NOMEM;
    for (uint64_t i = 0; i < s->count; i++) {
        const Elf64_Sym *y = &s->symbols[i];
        const char *name = cw_elf_symbol_name(s, y);
        if (cw_copy_is_runtime_name(name) && is_code(e, y))
            c->functions[c->count++] = (struct cw_copy_function){ name, y->st_value, y->st_size };
    }
    c->linked_counter = cw_copy_linked_counter(s);
    qsort(c->functions, c->count, sizeof *c->functions, by_address);
    for (unsigned i = 0; i < sizeof core / sizeof *core; i++)
        if (!cw_copy_function_named(c, core[i]))
            c->count = 0;
    c->text = s->strings;
    s->strings = NULL;
    return CW_OK;
}

static cw_result
by_table(struct cw_copy *c, const struct cw_elf *e, uint32_t type)
{
    const Elf64_Shdr *table = cw_elf_section_typed(e, type);
    if (!table || table->sh_link >= e->nsections)
        return CW_OK;
    /* Most objects have no such name: their symbols are not read. */
    const Elf64_Shdr *strings = &e->sections[table->sh_link];
    char *text = cw_elf_section_data(e, strings, MAX_NAMES);
    bool any = text && memmem(text, strings->sh_size, core[0], strlen(core[0]) + 1);
    free(text);
    if (!any)
        return CW_OK;
    struct cw_elf_symbols s;
    cw_result r = cw_elf_symbols(e, table, &s);
    if (r)
        return r == CW_ERR_NOMEM ? r : CW_OK;       /* a damaged symbol table is as good as none */
    r = take_symbols(c, e, &s);
    cw_elf_symbols_finish(&s);
    return r;
}

/* Whether the constants of a section name the driver and the Runtime's errors; read in pieces, since it may be large. */
static bool
has_texts(const struct cw_elf *e, const Elf64_Shdr *s)
{
    enum { PIECE = 1 << 20, OVERLAP = 64 };
    static const char driver[] = "libcuda.so.1", error[] = "cudaErrorMemoryAllocation";
    char *data = s->sh_type == SHT_NOBITS ? NULL : malloc(PIECE);
    bool has_driver = false, has_error = false;
    for (uint64_t at = 0; data && at < s->sh_size && !(has_driver && has_error); at += PIECE - OVERLAP) {
        size_t n = s->sh_size - at < PIECE ? (size_t)(s->sh_size - at) : PIECE;
        if (at > UINT64_MAX - s->sh_offset || !cw_elf_read(e, s->sh_offset + at, data, n))
            break;
        has_driver = has_driver || memmem(data, n, driver, sizeof driver);
        has_error = has_error || memmem(data, n, error, sizeof error);
    }
    free(data);
    return has_driver && has_error;
}

/* A runtime looks its driver up at run time. Few objects import dlopen and dlsym, and fewer name libcuda.so.1 and the Runtime's errors. */
static bool
looks_like_runtime(const struct cw_elf *e)
{
    const Elf64_Shdr *table = cw_elf_section_typed(e, SHT_DYNSYM), *rodata = cw_elf_section_named(e, ".rodata");
    struct cw_elf_symbols s;
    if (!table || !rodata || cw_elf_symbols(e, table, &s))
        return false;
    unsigned imports = 0;
    for (uint64_t i = 0; i < s.count; i++)
        if (s.symbols[i].st_shndx == SHN_UNDEF) {
            const char *name = cw_elf_symbol_name(&s, &s.symbols[i]);
            imports |= !strcmp(name, "dlopen") ? 1 : !strcmp(name, "dlsym") ? 2 : 0;
        }
    cw_elf_symbols_finish(&s);
    if (imports != 3)
        return false;
    return has_texts(e, rodata);
}

cw_result
cw_copy_find_in(const struct cw_elf *e, const char *path, uintptr_t bias, struct cw_copy **out)
{
    *out = NULL;
    if ((e->header.e_type != ET_EXEC && e->header.e_type != ET_DYN) || !e->sections)
        return CW_OK;
    struct cw_copy *c = calloc(1, sizeof *c);
    if (!c || !(c->path = strdup(path))) {
        free(c);
        return CW_ERR_NOMEM;
    }
    c->bias = bias;
    const char *slash = strrchr(c->path, '/');
    c->shown = slash ? slash + 1 : c->path;
    char soname[64];
    cw_elf_soname(e, soname, sizeof soname);
    bool library = !strncmp(soname, "libcudart.so", 12);
    c->source = library ? CW_COPY_EXPORTS : CW_COPY_SYMBOLS;
    cw_result r = by_table(c, e, library ? SHT_DYNSYM : SHT_SYMTAB);
    if (!r && c->count) {
        c->major = cw_copy_major(copy_has, c);
    } else if (!r && !library && looks_like_runtime(e)) {
        free(c->functions);
        free(c->text);
        c->functions = NULL;
        c->text = NULL;
        c->source = CW_COPY_SIGNATURES;
        r = cw_signatures_find(e, c);
        if (c->count)
            qsort(c->functions, c->count, sizeof *c->functions, by_address);
        if (!r && !c->count)
            r = CW_ERR_UNSUPPORTED;
    }
    if (r || !c->count) {
        cw_copy_destroy(c);
        return r;
    }
    *out = c;
    return CW_OK;
}

cw_result
cw_copy_find(const char *path, uintptr_t bias, struct cw_copy **out)
{
    struct cw_elf e;
    *out = NULL;
    cw_result r = cw_elf_open(&e, path);
    if (r)
        return r == CW_ERR_NOMEM ? r : CW_OK;       /* the vDSO, a file that is gone: nothing that could be redirected */
    r = cw_copy_find_in(&e, path, bias, out);
    cw_elf_close(&e);
    return r;
}

void
cw_copy_destroy(struct cw_copy *c)
{
    if (!c)
        return;
    free(c->path);
    free(c->functions);
    free(c->text);
    free(c);
}
