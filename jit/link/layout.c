/* SPDX-License-Identifier: Apache-2.0
 * Layout of variables: all global, const and opaque ones of a program in one data segment, and the shared ones of each kernel in that
 * kernel's shared memory. That holds only the variables of the kernel's call closure; unsized arrays all start at one offset behind the
 * sized ones (5.1.7: they share the dynamically sized part). */
#include "jit/link/program.h"

#include <stdlib.h>
#include <string.h>

#define MAX_IMAGE  (4ull << 30)
#define MAX_SHARED (1ull << 30)
#define MAX_CONST  65536u               /* CUDA's. Gaps of alignment and unused variables count */

static uint64_t
round_up(uint64_t v, uint32_t align)
{
    return (v + align - 1) / align * align;
}

static bool
in_image(const struct cwj_link_var *v)
{
    return v->space != PTX_SPACE_SHARED && !v->undefined;
}

static bool
is_opaque(const struct ptx_symbol *s)
{
    return s->space == PTX_SPACE_TEX || ptx_type_class(s->type) == PTX_CLASS_OPAQUE;
}

static uint64_t
image_bytes(const struct ptx_symbol *s)
{
    return is_opaque(s) && s->size < 8 ? 8 : s->size;
}

static bool
add_reloc(struct cwj_program *p, struct cwj_reloc *out, uint64_t at, const struct ptx_reloc *r)
{
    uint32_t id = r->target->link_id;
    *out = (struct cwj_reloc){ .offset = at + r->offset, .addend = r->addend, .width = r->width, .shift = r->shift };
    if (r->target->kind == PTX_SYM_FUNC || r->target->kind == PTX_SYM_ALIAS) {
        if (id >= p->nfuncs)
            return false;
        out->kind = CWJ_RELOC_FUNC;
        out->target = CWH_FUNC_TOKEN(id);
        return true;
    }
    if (id >= p->nlink_vars || p->link_vars[id].undefined)
        return false;
    const struct cwj_link_var *v = &p->link_vars[id];
    out->kind = v->space == PTX_SPACE_SHARED ? CWJ_RELOC_SHARED : CWJ_RELOC_IMAGE;
    out->target = v->offset;
    if (out->kind == CWJ_RELOC_SHARED && r->generic && cwj_program_is_addr32(p))
        out->target += CWH_ADDR32_SHARED;
    return true;
}

cw_result
cwj_link_image(struct cwj_program *p, struct cwj_diags *diags)
{
    uint64_t size = 0, pinned = 0, constants = 0;
    uint32_t align = 16, nvars = 0, pinned_cap = 0;
    size_t nrelocs = 0;
    for (uint32_t id = 0; id < p->nlink_vars; id++) {
        struct cwj_link_var *v = &p->link_vars[id];
        if (v->pinned && !v->dynamic && !v->undefined) {
            v->offset = round_up(pinned, v->align);
            pinned = v->offset + v->def->size;
            if (v->def->size > MAX_SHARED || pinned > MAX_SHARED) {
                cwj_diag_add(diags, PTX_ERROR, 6102, v->def->line, v->def->column, "shared variables take more than %llu bytes",
                             (unsigned long long)MAX_SHARED);
                return CW_ERR_LIMIT;
            }
            p->pinned = cw_arena_grow(&p->arena, p->pinned, p->npinned, 1, &pinned_cap, sizeof *p->pinned);
            p->pinned[p->npinned++] = id;
        }
        if (v->pinned && v->dynamic) {
            cwj_diag_add(diags, PTX_ERROR, 4007, v->def->line, v->def->column, "the address of '%s', which differs from kernel "
                         "to kernel, is used as an initialiser", v->name);
            return CW_ERR_UNSUPPORTED;
        }
        if (!in_image(v))
            continue;
        uint64_t bytes = image_bytes(v->def);
        uint32_t a = v->align < 16 && bytes >= 16 ? 16 : v->align < 8 && is_opaque(v->def) ? 8 : v->align;
        v->offset = round_up(size, a);
        size = v->offset + bytes;
        if (bytes > MAX_IMAGE || size > MAX_IMAGE) {
            cwj_diag_add(diags, PTX_ERROR, 6101, v->def->line, v->def->column, "the variables of the module take more than "
                         "%llu bytes", (unsigned long long)MAX_IMAGE);
            return CW_ERR_LIMIT;
        }
        if (v->space == PTX_SPACE_CONST && (constants = round_up(constants, v->align) + bytes) > MAX_CONST) {
            cwj_diag_add(diags, PTX_ERROR, 6103, v->def->line, v->def->column, "the constant variables take more than %u bytes", MAX_CONST);
            return CW_ERR_LIMIT;
        }
        if (a > align)
            align = a;
        nvars++;
        nrelocs += v->def->nrelocs;
    }
    size = round_up(size, 16);
    struct cwj_reloc *relocs = cw_arena_array(&p->arena, struct cwj_reloc, nrelocs + 1);
    p->vars = cw_arena_array(&p->arena, struct cwj_variable, (size_t)nvars + 1);
    uint8_t *init = calloc(1, size ? size : 1);         /* may be large, and the pages that nothing initialises stay untouched */
    p->image = (struct cwj_image){ .size = size, .align = align, .const_bytes = (uint32_t)constants, .addr32 = cwj_program_is_addr32(p), .init = init, .relocs = relocs };
    if (!init)
        return CW_ERR_NOMEM;
    for (uint32_t id = 0; id < p->nlink_vars; id++) {
        const struct cwj_link_var *v = &p->link_vars[id];
        if (!in_image(v))
            continue;
        const struct ptx_symbol *s = v->def;
        if (s->init)
            memcpy(init + v->offset, s->init, s->size);
        for (uint32_t i = 0; i < s->nrelocs; i++) {
            const struct ptx_reloc *r = &s->relocs[i];
            if (r->width < 1 || r->width > 8 || r->shift > 63 || r->offset > s->size || r->width > s->size - r->offset) {
                cwj_diag_add(diags, PTX_ERROR, 4008, s->line, s->column, "an address in the initialiser of '%s' does not fit",
                             s->name);
                return CW_ERR_INVALID;
            }
            if (add_reloc(p, &relocs[p->image.nrelocs], v->offset, r))
                p->image.nrelocs++;
        }
        p->vars[p->nvars++] = (struct cwj_variable){
            .name = s->name, .offset = v->offset, .size = image_bytes(s), .align = v->align, .space = v->space,
            .type = s->space == PTX_SPACE_TEX ? PTX_TEXREF : s->type, .managed = s->managed,
            .visible = s->linkage != PTX_LINK_LOCAL && v->module_scope, .link_id = id,
        };
    }
    return CW_OK;
}

static int
ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The shared variables of a kernel, ascending: those of its call closure, and the pinned ones. Programs have thousands of kernels and of variables:
 * nothing here is done for each of both. */
static const uint32_t *
shared_ids(struct cwj_program *p, const struct cwj_closure *r, size_t *count)
{
    size_t most = p->npinned, n = 0;
    for (uint32_t i = 0; i < r->nfuncs; i++)
        most += p->funcs[r->funcs[i]].nvars;
    uint32_t *ids = cw_arena_array(&p->scratch, uint32_t, most + 1);
    for (uint32_t i = 0; i < p->npinned; i++)
        ids[n++] = p->pinned[i];
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const struct cwj_function *f = &p->funcs[r->funcs[i]];
        for (uint32_t k = 0; k < f->nvars; k++) {
            const struct cwj_link_var *v = &p->link_vars[f->vars[k]];
            if (v->space == PTX_SPACE_SHARED && !v->undefined)
                ids[n++] = f->vars[k];
        }
    }
    qsort(ids, n, sizeof *ids, ascending);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (!*count || ids[i] != ids[*count - 1])
            ids[(*count)++] = ids[i];
    return ids;
}

cw_result
cwj_link_shared(struct cwj_program *p, uint32_t kernel, struct cwj_diags *diags)
{
    struct cwj_closure *r = &p->closure[kernel];
    struct cwj_shared_layout *l = &r->shared;
    uint64_t end = 0;
    uint32_t dynamic_align = 16;
    size_t count;
    l->align = 16;
    const uint32_t *ids = shared_ids(p, r, &count);
    for (uint32_t i = 0; i < p->npinned; i++) {
        const struct cwj_link_var *v = &p->link_vars[p->pinned[i]];
        if (v->offset + v->def->size > end)
            end = v->offset + v->def->size;
    }
    struct cwj_shared_slot *slots = cw_arena_array(&p->arena, struct cwj_shared_slot, count + 1);
    for (size_t i = 0; i < count; i++) {
        const uint32_t id = ids[i];
        const struct cwj_link_var *v = &p->link_vars[id];
        if (v->dynamic) {
            if (v->align > dynamic_align)
                dynamic_align = v->align;
            slots[i] = (struct cwj_shared_slot){ id, 0 };
        } else if (v->pinned) {
            slots[i] = (struct cwj_shared_slot){ id, (uint32_t)v->offset };
        } else {
            end = round_up(end, v->align);
            slots[i] = (struct cwj_shared_slot){ id, (uint32_t)end };
            if (v->def->size > MAX_SHARED || end + v->def->size > MAX_SHARED) {
                cwj_diag_add(diags, PTX_ERROR, 6102, v->def->line, v->def->column,
                             "the shared variables of '%s' take more than %llu bytes", p->kernels[kernel].name,
                             (unsigned long long)MAX_SHARED);
                return CW_ERR_LIMIT;
            }
            end += v->def->size;
        }
        if (v->align > l->align)
            l->align = v->align;
    }
    l->size = (uint32_t)end;
    l->dynamic_offset = (uint32_t)round_up(end, dynamic_align);
    for (size_t i = 0; i < count; i++)
        if (p->link_vars[slots[i].link_id].dynamic)
            slots[i].offset = l->dynamic_offset;
    l->vars = slots;
    l->nvars = (uint32_t)count;
    return CW_OK;
}

bool
cwj_shared_offset(const struct cwj_shared_layout *l, uint32_t link_id, uint32_t *offset)
{
    uint32_t lo = 0, hi = l->nvars;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->vars[mid].link_id < link_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == l->nvars || l->vars[lo].link_id != link_id)
        return false;
    *offset = l->vars[lo].offset;
    return true;
}
