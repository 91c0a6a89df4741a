/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions for a gang, one lane at a time (tex_inst.c); the common plain fetches go to tex_fast.c.
 *
 * Reading texels may fault when the program freed the memory; no lock is held here. */
#include "impl/host/exec_private.h"
#include "impl/host/texture.h"

#include "jit/builtins/core/tex_inst.c"

static void
refuse(struct cwh_fiber *f, const struct cw_texture *t, enum tex_access r, const struct tex_fault *bad)
{
    const struct cw_level *l = &t->level[0];
    if (r == TEX_ACCESS_OUTSIDE)
        cwh_abort(f, CWB_ILLEGAL_ADDRESS, "surface access outside: x = %lld bytes, y = %lld, z = %lld of %u x %u x %u texels of %u bytes",
                  (long long)bad->x, (long long)bad->y, (long long)bad->z, l->width, l->height, l->depth, t->element);
    if (r == TEX_ACCESS_MISALIGNED)
        cwh_abort(f, CWB_MISALIGNED, "surface access of %u bytes at x = %lld", bad->size, (long long)bad->x);
}

static void
fetch_lane(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane)
{
    struct operands o = { { 0 } };
    struct texel s;
    unsigned n = coordinates(x), coords = n + is_layered(x), extra = x->flags & CWH_TEX_GRADIENTS ? (n == 3 ? 7 : 2 * n) : x->flags & CWH_TEX_LEVEL ? 1 : 0;
    for (unsigned i = 0; i < coords; i++)
        o.coord[i] = x->coord[i * x->width + lane];
    for (unsigned i = 0; i < extra; i++)
        o.extra[i] = x->extra[i * x->width + lane];
    for (unsigned i = 0; x->flags & CWH_TEX_OFFSET && i < n; i++)
        o.offset[i] = (int32_t)x->offset[i * x->width + lane];
    fetch(t, x, &o, &s);
    pack_result(x, &s);
    for (unsigned i = 0; i < x->vec && i < 4; i++)
        x->result[i * x->width + lane] = s.w[i];
}

static enum tex_access
access_lane(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane, struct tex_fault *bad)
{
    unsigned coords = coordinates(x) + is_layered(x), bytes = surface_bytes(x->result_type), words = bytes == 8 ? 2 : 1;
    uint32_t c[3] = { 0 };
    cw_texel_byte *p;
    for (unsigned i = 0; i < coords && i < 3; i++)
        c[i] = x->coord[i * x->width + lane];
    enum tex_access r = surface_place(t, x, c, bad, &p);
    if (r || surface_special(t, x, lane, p))
        return r;
    for (unsigned k = 0; k < x->vec * words; k++) {             /* two words a component of 64 bits, low one first */
        uint32_t *v = &x->result[k * x->width + lane];
        if (x->op == PTX_OP_SULD)
            *v = p ? tex_load(p + bytes / words * k, bytes / words) : 0;
        else if (p)
            tex_store(p + bytes / words * k, *v, bytes / words);
    }
    return TEX_ACCESS_DONE;
}

static bool
fast_fetch(const struct cw_texture *t, const struct cwh_tex *x)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return cwh_tex_fast_avx2(t, x);
#endif
    return cwh_tex_fast(t, x);
}

/* An object outlives the memory of the program that it was made over. */
static void
must_own(const struct cwh_gang *gang, const struct cw_texture *t)
{
    const struct cw_level *l = &t->level[0];
    cwh_must_own(gang, (uintptr_t)l->base, (size_t)(l->depth - 1) * l->slice + (size_t)(l->height - 1) * l->pitch + (size_t)l->width * t->element);
}

void
cwh_rt_tex(struct cwh_gang *gang, const struct cwh_tex *x)
{
    struct cwh_fiber *f = cwh_enter(gang);
    const struct cw_texture *t = NULL;
    uint64_t handle = 0;
    bool is_surface = x->op == PTX_OP_SULD || x->op == PTX_OP_SUST || x->op == PTX_OP_SURED || x->op == PTX_OP_SUQ;
    bool may_be_fast = x->op == PTX_OP_TEX && x->flags == 0 && x->coord_type == PTX_F32 && (x->geom == PTX_GEOM_2D || x->geom == PTX_GEOM_1D) &&
                       (x->result_type == PTX_F32 || x->result_type == PTX_S32 || x->result_type == PTX_U32);
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        if (!t || x->texture[lane] != handle) {
            handle = x->texture[lane];
            t = cwh_texobj_get(handle);
            if (!t || t->surface != is_surface)
                cwh_abort(f, CWB_ILLEGAL_ADDRESS, "0x%llx is not a %s object", (unsigned long long)handle, is_surface ? "surface" : "texture");
            must_own(gang, t);
            if (may_be_fast && t->fast && m == x->mask) {
                uint64_t other = 0;
                unsigned i = 0;
                for (; i + 4 <= x->width; i += 4)
                    other |= (x->texture[i] ^ handle) | (x->texture[i + 1] ^ handle) | (x->texture[i + 2] ^ handle) | (x->texture[i + 3] ^ handle);
                for (; i < x->width; i++)
                    other |= x->texture[i] ^ handle;
                if (other) {        /* may be garbage in inactive lanes */
                    other = 0;
                    for (uint64_t n = m & (m - 1); n; n &= n - 1)
                        other |= x->texture[__builtin_ctzll(n)] ^ handle;
                }
                if (!other && fast_fetch(t, x))
                    return;
            }
        }
        struct tex_fault bad;
        switch (x->op) {
        case PTX_OP_TEX:
        case PTX_OP_TLD4:
            fetch_lane(t, x, lane);
            break;
        case PTX_OP_TXQ:
        case PTX_OP_SUQ:
            x->result[lane] = query(t, x, lane);
            break;
        case PTX_OP_SULD:
        case PTX_OP_SUST:
        case PTX_OP_SURED:
            refuse(f, t, access_lane(t, x, lane, &bad), &bad);
            break;
        default:
            cwh_abort(f, CWB_INTERNAL, "texture operation %u is not known", x->op);
        }
    }
}
