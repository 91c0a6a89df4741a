/* SPDX-License-Identifier: Apache-2.0
 * The directives `texture` and `surface`. */
#include "tools/ptxtest/read_private.h"

#include <string.h>

/* A property behind the size of a texture; false for other words. */
static bool
texture_option(struct pt_reader *r, struct pt_texture *x)
{
    static const struct { const char *word; uint8_t field; unsigned value; } words[] = {
        { "x1", 0, 1 }, { "x2", 0, 2 }, { "x4", 0, 4 }, { "layered", 1, CUDA_ARRAY3D_LAYERED }, { "cubemap", 1, CUDA_ARRAY3D_CUBEMAP },
        { "gather", 1, CUDA_ARRAY3D_TEXTURE_GATHER }, { "linear", 2, 0 }, { "mip-linear", 3, 0 },
        { "normalized", 4, CU_TRSF_NORMALIZED_COORDINATES }, { "integer", 4, CU_TRSF_READ_AS_INTEGER }, { "srgb", 4, CU_TRSF_SRGB },
        { "seamless", 4, CU_TRSF_SEAMLESS_CUBEMAP }, { "wrap", 5, CU_TR_ADDRESS_MODE_WRAP }, { "clamp", 5, CU_TR_ADDRESS_MODE_CLAMP },
        { "mirror", 5, CU_TR_ADDRESS_MODE_MIRROR }, { "border", 5, CU_TR_ADDRESS_MODE_BORDER }, { "linear-memory", 6, CU_RESOURCE_TYPE_LINEAR },
        { "pitched", 6, CU_RESOURCE_TYPE_PITCH2D }, { "reference", 7, 1 },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!rd_accept(r, words[i].word))
            continue;
        switch (words[i].field) {
        case 0:
            x->channels = words[i].value;
            break;
        case 1:
            x->flags |= words[i].value;
            break;
        case 2:
            x->desc.filterMode = CU_TR_FILTER_MODE_LINEAR;
            break;
        case 3:
            x->desc.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
            break;
        case 4:
            x->desc.flags |= words[i].value;
            break;
        case 6:
            x->memory = (uint8_t)words[i].value;
            break;
        case 7:
            x->reference = true;
            break;
        default:
            for (int k = 0; k < 3; k++)
                x->desc.addressMode[k] = (CUaddress_mode)words[i].value;
        }
        return true;
    }
    return false;
}

/* texture|surface NAME of BUFFER W[,H[,D]] [OPTIONS] */
bool
rd_texture(struct pt_reader *r, enum pt_decl_kind kind)
{
    struct pt_decl d = { .kind = (uint8_t)kind, .given = true, .line = r->first_line };
    struct pt_texture *x = rd_alloc(r, sizeof *x);
    if (!x || !(d.name = rd_name(r, "a name")) || !rd_expect(r, "of"))
        return false;
    memset(x, 0, sizeof *x);
    int at = r->tok.s ? rd_find(r, r->tok.s, r->tok.length) : -1;
    if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
        return rd_error(r, "a buffer declared above is expected here");
    const struct pt_decl *b = &r->f->decls[x->buffer = r->scope[at]];
    if (b->init.type->lanes != 1 || b->init.type->bits > 32 || (b->init.type->kind == PT_FLOAT && b->init.type->mantissa != 10 && b->init.type->mantissa != 23))
        return rd_error(r, "textures have elements of 8, 16 or 32-bit integers, f16 or f32");
    rd_next(r);
    x->dims = 1;
    for (size_t i = 0; r->tok.s && i < r->tok.length; i++)
        x->dims += r->tok.s[i] == ',';
    x->size[0] = x->size[1] = x->size[2] = x->channels = x->levels = 1;
    x->desc.maxMipmapLevelClamp = 1000;
    if (!rd_dims(r, x->size, 16384))
        return false;
    while (r->tok.s) {
        uint64_t v;
        if (rd_accept(r, "levels")) {
            if (!rd_number(r, "mipmap levels", 15, &v))
                return false;
            x->levels = v ? (uint32_t)v : 1;
        } else if (!texture_option(r, x)) {
            return rd_error(r, "'%.*s' is no property of a texture or surface", rd_shown(r), r->tok.s);
        }
    }
    bool layers = x->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    if (layers && x->dims == 2 && !(x->flags & CUDA_ARRAY3D_CUBEMAP)) {     /* W,LAYERS */
        x->size[2] = x->size[1];
        x->size[1] = x->dims = 1;
    }
    uint64_t need = 0;
    for (uint32_t l = 0; l < x->levels; l++) {
        uint64_t n = x->channels;
        for (int k = 0; k < 3; k++)
            n *= k == 2 && layers ? x->size[2] : x->size[k] >> l ? x->size[k] >> l : 1;
        need += n;
    }
    if (need != b->init.count)
        return rd_error_at(r, d.line, 1, "the texture has %llu elements, and %s has %u", (unsigned long long)need, b->name, b->init.count);
    if (x->memory != CU_RESOURCE_TYPE_ARRAY && (kind == PT_SURFACE || x->flags || x->levels > 1 || x->dims != (x->memory == CU_RESOURCE_TYPE_LINEAR ? 1u : 2u)))
        return rd_error_at(r, d.line, 1, "linear-memory and pitched are for textures of one dimension and of two, without layers or levels");
    if (kind == PT_SURFACE)
        x->flags |= CUDA_ARRAY3D_SURFACE_LDST;
    d.texture = x;
    d.init.type = pt_type_find("u64", 3);
    d.init.count = 1;
    if (!(d.init.bytes = rd_alloc(r, 8)))
        return false;
    memset(d.init.bytes, 0, 8);
    return rd_add_decl(r, &d);
}
