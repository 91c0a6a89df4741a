/* SPDX-License-Identifier: Apache-2.0
 * Initialisers of variables for targets where these are LLVM globals (PTX ISA "Initializers"). */
#include "jit/emit/emit_private.h"

#include <string.h>

static void
store_token(uint8_t *bytes, const struct ptx_reloc *r)
{
    uint64_t token = (CWH_FUNC_TOKEN(r->target->link_id) + (uint64_t)r->addend) >> r->shift;
    for (unsigned k = 0; k < r->width; k++)
        bytes[r->offset + k] = (uint8_t)(token >> (8 * k));
}

/* Can LLVM express it? Only the whole address of a variable that exists when the module is loaded. */
static bool
is_whole_address(struct emit *e, const struct ptx_reloc *r)
{
    const struct cwj_link_var *t = cwj_program_link_var(e->program, r->target->link_id);
    return t && !t->undefined && t->space != PTX_SPACE_SHARED && r->width == 8 && !r->shift;
}

/* Of a variable that holds addresses: the type, and, unless g is NULL, the initialiser. It may name the variable itself. */
static LLVMTypeRef
with_addresses(struct emit *e, const struct cwj_link_var *v, LLVMValueRef g)
{
    const struct ptx_symbol *def = v->def;
    size_t most = 2 * (size_t)def->nrelocs + 1;
    uint8_t *bytes = cw_arena_alloc(&e->arena, def->size ? def->size : 1);
    LLVMValueRef *field = cw_arena_array(&e->arena, LLVMValueRef, most);
    LLVMTypeRef *type = cw_arena_array(&e->arena, LLVMTypeRef, most);
    const struct ptx_reloc **order = cw_arena_array(&e->arena, const struct ptx_reloc *, (size_t)def->nrelocs + 1);
    memset(bytes, 0, def->size);
    if (def->init)
        memcpy(bytes, def->init, def->size);
    uint32_t words = 0, n = 0;
    for (uint32_t i = 0; i < def->nrelocs; i++) {
        const struct ptx_reloc *r = &def->relocs[i];
        if (r->target->kind == PTX_SYM_FUNC || r->target->kind == PTX_SYM_ALIAS) {
            store_token(bytes, r);
        } else if (is_whole_address(e, r)) {
            uint32_t at = words++;
            for (; at && order[at - 1]->offset > r->offset; at--)
                order[at] = order[at - 1];
            order[at] = r;
        } else if (g) {
            e->result = CW_ERR_UNSUPPORTED;
            cwj_diag_add(e->diags, PTX_ERROR, 5001, def->line, def->column, "not supported on %s: %s is initialised with "
                         "a part of an address, or the address of a shared variable", e->target->name, v->name);
        }
    }
    uint64_t done = 0;
    for (uint32_t i = 0; i <= words; i++) {
        uint64_t next = i < words ? order[i]->offset : def->size;
        if (next < done)
            continue;               /* overlaps an earlier address */
        if (next > done || !words) {
            type[n] = LLVMArrayType2(e->i8, next - done);
            field[n++] = LLVMConstStringInContext(e->llvm, (const char *)bytes + done, (unsigned)(next - done), true);
        }
        done = next;
        if (i == words)
            break;
        type[n] = e->i64;
        field[n++] = g ? e->target->address_word(e, order[i]->target->link_id, order[i]) : NULL;
        done += 8;
    }
    if (g)
        LLVMSetInitializer(g, LLVMConstStructInContext(e->llvm, field, n, true));
    return LLVMStructTypeInContext(e->llvm, type, n, true);
}

LLVMTypeRef
emit_variable_type(struct emit *e, const struct cwj_link_var *v)
{
    if (v->def->nrelocs && v->space != PTX_SPACE_SHARED)
        return with_addresses(e, v, NULL);
    return LLVMArrayType2(e->i8, v->dynamic ? 0 : v->def->size);
}

void
emit_initialise(struct emit *e, const struct cwj_link_var *v, LLVMValueRef g)
{
    if (v->def->nrelocs)
        with_addresses(e, v, g);
    else if (v->def->init)
        LLVMSetInitializer(g, LLVMConstStringInContext(e->llvm, (const char *)v->def->init, (unsigned)v->def->size, true));
    else
        LLVMSetInitializer(g, LLVMConstNull(LLVMGlobalGetValueType(g)));
}
