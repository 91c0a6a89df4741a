/* SPDX-License-Identifier: Apache-2.0
 * Code objects: AMD's ELF ("Code Object Format" of LLVM's AMDGPU guide, versions 4 and 5), also inside a clang offload bundle. Every
 * offset of the file is checked against its size. Also the registry of memory that kernels may touch. */
#define _GNU_SOURCE
#include "tools/gfxemu/gfx.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory that exists ---- */

struct range { uint64_t start, end; };
static pthread_rwlock_t range_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct range *ranges;            /* sorted, disjoint */
static size_t nranges, range_room;
static _Atomic uint64_t range_generation = 1;

static size_t
first_after(uint64_t address)           /* the first range that starts above the address */
{
    size_t lo = 0, hi = nranges;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].start > address)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool
gfx_range_add(uint64_t address, uint64_t size)
{
    pthread_rwlock_wrlock(&range_lock);
    if (nranges == range_room) {
        size_t room = range_room ? 2 * range_room : 64;
        struct range *r = realloc(ranges, room * sizeof *r);
        if (r) {
            ranges = r;
            range_room = room;
        }
    }
    bool fits = nranges < range_room;
    if (fits && size) {
        size_t at = first_after(address);
        memmove(ranges + at + 1, ranges + at, (nranges - at) * sizeof *ranges);
        ranges[at] = (struct range){ address, address + size };
        nranges++;
        range_generation++;
    }
    pthread_rwlock_unlock(&range_lock);
    return fits;
}

void
gfx_range_remove(uint64_t address)
{
    pthread_rwlock_wrlock(&range_lock);
    size_t at = first_after(address);
    if (at && ranges[at - 1].start == address) {
        memmove(ranges + at - 1, ranges + at, (nranges - at) * sizeof *ranges);
        nranges--;
        range_generation++;
    }
    pthread_rwlock_unlock(&range_lock);
}

bool
gfx_range_of(uint64_t address, uint64_t *start, uint64_t *size)
{
    pthread_rwlock_rdlock(&range_lock);
    size_t at = first_after(address);
    bool found = at && address < ranges[at - 1].end;
    if (found) {
        *start = ranges[at - 1].start;
        *size = ranges[at - 1].end - ranges[at - 1].start;
    }
    pthread_rwlock_unlock(&range_lock);
    return found;
}

bool
gfx_range_has(uint64_t address, uint64_t size)
{
    static _Thread_local struct { uint64_t start, end, generation; } last[4];
    static _Thread_local unsigned turn;
    uint64_t generation = atomic_load_explicit(&range_generation, memory_order_acquire);
    for (int k = 0; k < 4; k++)
        if (last[k].generation == generation && address >= last[k].start && address < last[k].end)
            return size <= last[k].end - address;
    uint64_t start, n;
    if (!gfx_range_of(address, &start, &n))
        return false;
    turn = (turn + 1) & 3;
    last[turn].start = start;
    last[turn].end = start + n;
    last[turn].generation = generation;
    return size <= start + n - address;
}

enum { MAX_KERNARG = 1 << 20 };         /* bytes of arguments; real ones have some kilobytes */

/* ---- MessagePack: just what the metadata notes use ---- */

struct pack { const uint8_t *p, *end; bool bad, no_memory; };

static uint64_t
big(struct pack *m, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(m->end - m->p) < n) {
        m->bad = true;
        m->p = m->end;
        return 0;
    }
    while (n--)
        v = v << 8 | *m->p++;
    return v;
}

enum pack_kind { PK_OTHER, PK_UINT, PK_STR, PK_ARRAY, PK_MAP };
struct value { enum pack_kind kind; uint64_t n; const char *s; };

static struct value
next(struct pack *m)
{
    struct value v = { PK_OTHER, 0, NULL };
    unsigned t = (unsigned)big(m, 1);
    if (m->bad)
        return v;
    if (t < 0x80) {
        v = (struct value){ PK_UINT, t, NULL };
    } else if (t < 0x90) {
        v = (struct value){ PK_MAP, t & 15, NULL };
    } else if (t < 0xa0) {
        v = (struct value){ PK_ARRAY, t & 15, NULL };
    } else if (t < 0xc0) {
        v = (struct value){ PK_STR, t & 31, NULL };
    } else if (t >= 0xe0) {
        v = (struct value){ PK_UINT, (uint64_t)(int64_t)(int8_t)t, NULL };
    } else {
        switch (t) {
        case 0xc0: break;
        case 0xc2: case 0xc3: v = (struct value){ PK_UINT, t & 1, NULL }; break;
        case 0xca: big(m, 4); break;
        case 0xcb: big(m, 8); break;
        case 0xcc: case 0xcd: case 0xce: case 0xcf: v = (struct value){ PK_UINT, big(m, 1u << (t - 0xcc)), NULL }; break;
        case 0xd0: case 0xd1: case 0xd2: case 0xd3: v = (struct value){ PK_UINT, big(m, 1u << (t - 0xd0)), NULL }; break;
        case 0xd9: case 0xda: case 0xdb: v = (struct value){ PK_STR, big(m, 1u << (t - 0xd9)), NULL }; break;
        case 0xdc: case 0xdd: v = (struct value){ PK_ARRAY, big(m, t == 0xdc ? 2 : 4), NULL }; break;
        case 0xde: case 0xdf: v = (struct value){ PK_MAP, big(m, t == 0xde ? 2 : 4), NULL }; break;
        default: m->bad = true; break;
        }
    }
    if (v.kind == PK_STR) {
        if ((uint64_t)(m->end - m->p) < v.n) {
            m->bad = true;
            return v;
        }
        v.s = (const char *)m->p;
        m->p += v.n;
    }
    if (v.n > 1u << 24)
        m->bad = true;
    return v;
}

static void
skip(struct pack *m, unsigned depth)
{
    struct value v = next(m);
    if (depth > 16)
        m->bad = true;
    uint64_t n = v.kind == PK_ARRAY ? v.n : v.kind == PK_MAP ? 2 * v.n : 0;
    while (n-- && !m->bad)
        skip(m, depth + 1);
}

static bool
is(const struct value *v, const char *s)
{
    return v->kind == PK_STR && v->n == strlen(s) && !memcmp(v->s, s, v->n);
}

static uint8_t
hidden_kind(const struct value *v)
{
    static const struct { const char *name; uint8_t kind; } known[] = {
        { "hidden_block_count_x", HID_BLOCKS }, { "hidden_block_count_y", HID_BLOCKS + 1 }, { "hidden_block_count_z", HID_BLOCKS + 2 },
        { "hidden_group_size_x", HID_GROUP_SIZE }, { "hidden_group_size_y", HID_GROUP_SIZE + 1 }, { "hidden_group_size_z", HID_GROUP_SIZE + 2 },
        { "hidden_remainder_x", HID_REMAINDER }, { "hidden_remainder_y", HID_REMAINDER + 1 }, { "hidden_remainder_z", HID_REMAINDER + 2 },
        { "hidden_global_offset_x", HID_OFFSET }, { "hidden_global_offset_y", HID_OFFSET + 1 }, { "hidden_global_offset_z", HID_OFFSET + 2 },
        { "hidden_grid_dims", HID_GRID_DIMS }, { "hidden_private_base", HID_PRIVATE_BASE }, { "hidden_shared_base", HID_SHARED_BASE },
        { "hidden_dynamic_lds_size", HID_DYNAMIC_LDS },
    };
    for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
        if (is(v, known[k].name))
            return known[k].kind;
    return HID_NONE;
}

/* One kernel's map. Its hidden arguments go to k; its symbol's name to `symbol`. */
static void
kernel_metadata(struct pack *m, struct gfx_kernel *k, struct value *symbol)
{
    struct value map = next(m);
    if (map.kind != PK_MAP) {
        m->bad = true;
        return;
    }
    for (uint64_t i = 0; i < map.n && !m->bad; i++) {
        struct value key = next(m);
        if (is(&key, ".args")) {
            struct value args = next(m);
            if (args.kind != PK_ARRAY || args.n > 65536 || k->hidden) {     /* or a second list */
                m->bad = true;
                return;
            }
            k->hidden = calloc(args.n ? args.n : 1, sizeof *k->hidden);
            m->no_memory |= !k->hidden;
            for (uint64_t a = 0; a < args.n && !m->bad; a++) {
                struct value arg = next(m);
                struct gfx_hidden h = { HID_NONE, 0, 0 };
                bool hidden = false;
                if (arg.kind != PK_MAP)
                    m->bad = true;
                for (uint64_t f = 0; f < arg.n && !m->bad; f++) {
                    struct value name = next(m);
                    if (is(&name, ".offset")) {
                        h.offset = (uint32_t)next(m).n;
                    } else if (is(&name, ".size")) {
                        h.size = (uint32_t)next(m).n;
                    } else if (is(&name, ".value_kind")) {
                        struct value kind = next(m);
                        h.kind = hidden_kind(&kind);
                        hidden = kind.kind == PK_STR && kind.n > 7 && !memcmp(kind.s, "hidden_", 7);
                    } else {
                        skip(m, 0);
                    }
                }
                if (!hidden) {
                    h.kind = HID_PARAMETER;
                    if (h.offset > MAX_KERNARG || h.size > MAX_KERNARG - h.offset) {
                        m->bad = true;
                        return;
                    }
                    if (h.offset + h.size > k->explicit_size)
                        k->explicit_size = h.offset + h.size;
                }
                if (h.kind && k->hidden)
                    k->hidden[k->nhidden++] = h;
            }
        } else if (is(&key, ".symbol")) {
            *symbol = next(m);
        } else if (is(&key, ".kernarg_segment_size")) {
            uint64_t size = next(m).n;
            m->bad |= size > MAX_KERNARG;
            k->kernarg_size = size > MAX_KERNARG ? 0 : (uint32_t)size;
        } else if (is(&key, ".vgpr_count")) {
            k->vgprs = (uint32_t)next(m).n;
        } else if (is(&key, ".agpr_count")) {
            k->agprs = (uint32_t)next(m).n;
        } else if (is(&key, ".sgpr_count")) {
            k->sgprs = (uint32_t)next(m).n;
        } else if (is(&key, ".vgpr_spill_count")) {
            k->vgpr_spills = (uint32_t)next(m).n;
        } else if (is(&key, ".sgpr_spill_count")) {
            k->sgpr_spills = (uint32_t)next(m).n;
        } else if (is(&key, ".max_flat_workgroup_size")) {
            k->max_group = (uint32_t)next(m).n;
        } else if (is(&key, ".uses_dynamic_stack")) {
            k->dynamic_stack = next(m).n != 0;
        } else if (is(&key, ".reqd_workgroup_size")) {
            struct value a = next(m);
            for (uint64_t d = 0; d < a.n && !m->bad; d++) {
                struct value x = next(m);
                if (d < 3)
                    k->reqd[d] = (uint32_t)x.n;
            }
        } else {
            skip(m, 0);
        }
    }
}

/* Damaged metadata count as far as they are whole. False: out of memory. */
static bool
metadata(struct gfx_object *o, const uint8_t *data, size_t size)
{
    struct pack m = { data, data + size, false, false };
    struct value map = next(&m);
    if (map.kind != PK_MAP)
        return true;
    for (uint64_t i = 0; i < map.n && !m.bad; i++) {
        struct value key = next(&m);
        if (!is(&key, "amdhsa.kernels")) {
            skip(&m, 0);
            continue;
        }
        struct value list = next(&m);
        for (uint64_t n = 0; list.kind == PK_ARRAY && n < list.n && !m.bad; n++) {
            struct gfx_kernel k = { 0 };
            struct value symbol = { PK_OTHER, 0, NULL };
            kernel_metadata(&m, &k, &symbol);
            bool used = false;
            for (uint32_t j = 0; j < o->nkernels && !used && symbol.n > 3; j++) {
                struct gfx_kernel *t = &o->kernels[j];
                if (strlen(t->name) != symbol.n - 3 || memcmp(t->name, symbol.s, symbol.n - 3) || t->hidden)
                    continue;
                used = true;
                t->hidden = k.hidden;
                t->nhidden = k.nhidden;
                t->explicit_size = k.explicit_size;
                if (k.kernarg_size > t->kernarg_size)
                    t->kernarg_size = k.kernarg_size;
                t->vgprs = k.vgprs;
                t->agprs = k.agprs;
                t->sgprs = k.sgprs;
                t->vgpr_spills = k.vgpr_spills;
                t->sgpr_spills = k.sgpr_spills;
                t->max_group = k.max_group;
                t->dynamic_stack |= k.dynamic_stack;
                memcpy(t->reqd, k.reqd, sizeof k.reqd);
            }
            if (!used)
                free(k.hidden);
        }
    }
    return !m.no_memory;
}

/* ---- ELF ---- */

struct file { const uint8_t *data; size_t size; };

static const void *
part(const struct file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset ? f->data + offset : NULL;
}

static bool
fail(char *error, const char *fmt, const char *what)
{
    errno = EINVAL;
    snprintf(error, 256, fmt, what);
    return false;
}

static bool
no_memory(char *error)
{
    (void)fail(error, "%s", "out of memory");
    errno = ENOMEM;
    return false;
}

/* The entry of a clang offload bundle for this target. */
static bool
unbundle(const struct gfx_target *t, struct file *f, char *error)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    uint64_t n, at = sizeof magic - 1 + 8;
    if (f->size < at || memcmp(f->data, magic, sizeof magic - 1))
        return true;
    memcpy(&n, f->data + sizeof magic - 1, 8);
    for (uint64_t i = 0; i < n && i < 1024; i++) {
        uint64_t h[3];
        const void *p = part(f, at, 24);
        if (!p)
            break;
        memcpy(h, p, 24);
        const char *id = part(f, at + 24, h[2]);
        if (!id || h[2] > 4096)
            break;
        at += 24 + h[2];
        size_t k = strlen(t->name);
        const char *found = memmem(id, h[2], t->name, k);
        if (found && (found + k == id + h[2] || found[k] == ':') && part(f, h[0], h[1]) && h[1]) {
            f->data += h[0];
            f->size = h[1];
            return true;
        }
    }
    return fail(error, "the offload bundle has no code for %s", t->name);
}

static uint8_t *
at_address(const struct gfx_object *o, uint64_t vaddr, uint64_t size)
{
    return vaddr <= o->image_size && size <= o->image_size - vaddr ? o->image + vaddr : NULL;
}

static bool
add_symbol(struct gfx_object *o, const char *name, const Elf64_Sym *s, char *error)
{
    size_t n = strlen(name);
    if (n > 3 && !strcmp(name + n - 3, ".kd")) {
        const uint8_t *d = at_address(o, s->st_value, 64);
        if (!d)
            return fail(error, "the kernel descriptor %s is outside of the image", name);
        struct gfx_kernel *k = realloc(o->kernels, (o->nkernels + 1) * sizeof *k);
        if (!k)
            return no_memory(error);
        o->kernels = k;
        k += o->nkernels++;
        *k = (struct gfx_kernel){ .name = strndup(name, n - 3), .descriptor = (uintptr_t)d };
        int64_t entry;
        memcpy(&k->lds_size, d, 4);
        memcpy(&k->scratch_size, d + 4, 4);
        memcpy(&k->kernarg_size, d + 8, 4);
        memcpy(&entry, d + 16, 8);
        memcpy(&k->rsrc3, d + 44, 4);
        memcpy(&k->rsrc1, d + 48, 4);
        memcpy(&k->rsrc2, d + 52, 4);
        memcpy(&k->properties, d + 56, 2);
        memcpy(&k->preload, d + 58, 2);
        k->entry = (uintptr_t)d + (uint64_t)entry;
        k->wave64 = o->target->family < GFX10 || !(k->properties >> 10 & 1);
        k->dynamic_stack = k->properties >> 11 & 1;
        if (!k->name)
            return no_memory(error);
        if (k->kernarg_size > MAX_KERNARG || k->scratch_size > 1u << 26)
            return fail(error, "the kernel descriptor %s is damaged", name);
    } else if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size && at_address(o, s->st_value, s->st_size)) {
        struct gfx_symbol *v = realloc(o->variables, (o->nvariables + 1) * sizeof *v);
        if (!v)
            return no_memory(error);
        o->variables = v;
        v[o->nvariables] = (struct gfx_symbol){ strdup(name), (uintptr_t)o->image + s->st_value, s->st_size };
        if (!v[o->nvariables].name)
            return no_memory(error);
        o->nvariables++;
    }
    return true;
}

static bool
dynamic_part(struct gfx_object *o, uint64_t vaddr, uint64_t size, char *error)
{
    uint64_t sym = 0, str = 0, str_size = 0, hash = 0, rela = 0, rela_size = 0;
    for (uint64_t at = 0; at + 16 <= size; at += 16) {
        Elf64_Dyn d;
        const uint8_t *p = at_address(o, vaddr + at, 16);
        if (!p)
            break;
        memcpy(&d, p, 16);
        if (d.d_tag == DT_NULL)
            break;
        switch (d.d_tag) {
        case DT_SYMTAB: sym = d.d_un.d_ptr; break;
        case DT_STRTAB: str = d.d_un.d_ptr; break;
        case DT_STRSZ: str_size = d.d_un.d_val; break;
        case DT_HASH: hash = d.d_un.d_ptr; break;
        case DT_RELA: rela = d.d_un.d_ptr; break;
        case DT_RELASZ: rela_size = d.d_un.d_val; break;
        default: break;
        }
    }
    uint32_t counts[2] = { 0, 0 };
    const uint8_t *h = at_address(o, hash, 8);
    const char *strings = (const char *)at_address(o, str, str_size);
    if (h && hash)
        memcpy(counts, h, 8);
    const uint8_t *symbols = at_address(o, sym, (uint64_t)counts[1] * sizeof(Elf64_Sym));
    if (!symbols || !strings || !str_size || strings[str_size - 1])
        return fail(error, "%s", "the dynamic symbol table is damaged");
    for (uint32_t i = 1; i < counts[1]; i++) {
        Elf64_Sym s;
        memcpy(&s, symbols + i * sizeof s, sizeof s);
        if (s.st_name >= str_size)
            return fail(error, "%s", "a symbol's name is outside of the string table");
        if (s.st_shndx == SHN_UNDEF) {
            if (ELF64_ST_BIND(s.st_info) != STB_WEAK)
                return fail(error, "undefined symbol %.200s", strings + s.st_name);
            continue;
        }
        if (!add_symbol(o, strings + s.st_name, &s, error))
            return false;
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= rela_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        const uint8_t *p = at_address(o, rela + at, sizeof r);
        if (!p)
            return fail(error, "%s", "the relocations are outside of the image");
        memcpy(&r, p, sizeof r);
        uint32_t type = (uint32_t)ELF64_R_TYPE(r.r_info), index = (uint32_t)ELF64_R_SYM(r.r_info);
        uint64_t value = (uintptr_t)o->image + (uint64_t)r.r_addend;
        unsigned width = 8;
        enum { ABS32_LO = 1, ABS32_HI = 2, ABS64 = 3, ABS32 = 6, RELATIVE64 = 13 };
        if (type != RELATIVE64) {
            Elf64_Sym s;
            if (index >= counts[1])
                return fail(error, "%s", "a relocation names a symbol that does not exist");
            memcpy(&s, symbols + index * sizeof s, sizeof s);
            value = s.st_shndx == SHN_UNDEF ? 0 : (uintptr_t)o->image + s.st_value + (uint64_t)r.r_addend;
            if (type == ABS32_HI)
                value >>= 32;
            if (type != ABS64)
                width = 4;
            if (type != ABS64 && type != ABS32 && type != ABS32_LO && type != ABS32_HI)
                return fail(error, "%s", "a relocation has a type that is not known");
        }
        uint8_t *to = at_address(o, r.r_offset, width);
        if (!to)
            return fail(error, "%s", "a relocation is outside of the image");
        memcpy(to, &value, width);
    }
    return true;
}

bool
gfx_object_load(const struct gfx_target *target, const void *data, size_t size, struct gfx_object **out, char *error)
{
    struct file f = { data, size };
    *out = NULL;
    if (!unbundle(target, &f, error))
        return false;
    Elf64_Ehdr e;
    if (f.size < sizeof e || memcmp(f.data, ELFMAG, SELFMAG))
        return fail(error, "%s", "this is no code object");
    memcpy(&e, f.data, sizeof e);
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_AMDGPU || e.e_type != ET_DYN)
        return fail(error, "%s", "this ELF file is no linked AMD code object");
    if ((e.e_flags & 0xff) != target->elf_mach)
        return fail(error, "the code object is for another processor than %s", target->name);
    if (e.e_phentsize != sizeof(Elf64_Phdr) || !part(&f, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr)))
        return fail(error, "%s", "the program headers are outside of the file");
    uint64_t end = 0;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, f.data + e.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD)
            continue;
        if (!part(&f, p.p_offset, p.p_filesz) || p.p_filesz > p.p_memsz || p.p_vaddr > 1ull << 32 || p.p_memsz > 1ull << 32)
            return fail(error, "%s", "a segment is outside of the file");
        if (p.p_vaddr + p.p_memsz > end)
            end = p.p_vaddr + p.p_memsz;
    }
    if (!end)
        return fail(error, "%s", "the code object has nothing to load");
    struct gfx_object *o = calloc(1, sizeof *o);
    if (!o)
        return no_memory(error);
    o->target = target;
    o->image_size = end;
    void *image = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image == MAP_FAILED) {
        free(o);
        return no_memory(error);
    }
    o->image = image;
    bool ok = gfx_range_add((uintptr_t)image, end) || no_memory(error);
    uint64_t text = 0, text_size = 0;
    for (unsigned i = 0; i < e.e_phnum && ok; i++) {
        Elf64_Phdr p;
        memcpy(&p, f.data + e.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD)
            continue;
        memcpy(o->image + p.p_vaddr, f.data + p.p_offset, p.p_filesz);
        if (p.p_flags & PF_X && !text_size) {
            text = p.p_vaddr;
            text_size = p.p_memsz;
        }
    }
    for (unsigned i = 0; i < e.e_phnum && ok; i++) {
        Elf64_Phdr p;
        memcpy(&p, f.data + e.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_DYNAMIC)
            ok = dynamic_part(o, p.p_vaddr, p.p_memsz, error);
    }
    for (unsigned i = 0; i < e.e_phnum && ok; i++) {
        Elf64_Phdr p;
        memcpy(&p, f.data + e.e_phoff + i * sizeof p, sizeof p);
        const uint8_t *note = p.p_type == PT_NOTE ? part(&f, p.p_offset, p.p_filesz) : NULL;
        for (uint64_t at = 0; ok && note && at + 12 <= p.p_filesz;) {
            uint32_t h[3];
            memcpy(h, note + at, 12);
            uint64_t name = at + 12, desc = name + ((h[0] + 3ull) & ~3ull), after = desc + ((h[1] + 3ull) & ~3ull);
            if (desc > p.p_filesz || h[1] > p.p_filesz - desc)
                break;
            if (h[2] == 32 && h[0] == 7 && !memcmp(note + name, "AMDGPU", 7))
                ok = metadata(o, note + desc, h[1]) || no_memory(error);
            at = after;
        }
    }
    if (ok && text_size) {
        o->code = gfx_code_create(target, o->image + text, (uintptr_t)o->image + text, text_size);
        ok = o->code || no_memory(error);
    }
    if (!ok) {
        int e = errno;
        gfx_object_unload(o);
        errno = e;
        return false;
    }
    *out = o;
    return true;
}

void
gfx_object_unload(struct gfx_object *o)
{
    if (!o)
        return;
    gfx_code_destroy(o->code);
    for (uint32_t i = 0; i < o->nkernels; i++) {
        free(o->kernels[i].name);
        free(o->kernels[i].hidden);
    }
    for (uint32_t i = 0; i < o->nvariables; i++)
        free(o->variables[i].name);
    free(o->kernels);
    free(o->variables);
    gfx_range_remove((uintptr_t)o->image);
    munmap(o->image, o->image_size);
    free(o);
}
