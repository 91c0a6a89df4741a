/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "image": fetches by AMD's image instructions, and those of buffers with a format, of textures that have a descriptor
 * for them (cw_texture.native); the others are left to part "tex". Results are the processor's, not NVIDIA's. The instructions are LLVM's
 * intrinsics by their names: clang has no builtins for them before LLVM 22. */
#include "impl/texture.h"
#include "jit/host/abi.h"
#include "jit/ptx/ir.h"

#include <stddef.h>

typedef uint32_t words __attribute__((ext_vector_type(4)));
typedef uint32_t words8 __attribute__((ext_vector_type(8)));
typedef float floats __attribute__((ext_vector_type(4)));

_Static_assert(offsetof(struct cw_texture, native) == offsetof(struct cw_texture, surface) + 1, "both are in one word");

#define CONSTANT __attribute__((address_space(4)))

/* dmask, coordinates, resource, sampler, texel coordinates, residency, cache policy. lz: level 0, not that of the quad's lanes. */
floats sample_lz(int dmask, float x, float y, words8 resource, words sampler, bool unorm, int tfe, int cache)
    __asm__("llvm.amdgcn.image.sample.lz.2d.v4f32.f32");
floats sample(int dmask, float x, float y, words8 resource, words sampler, bool unorm, int tfe, int cache)
    __asm__("llvm.amdgcn.image.sample.2d.v4f32.f32");
floats gather(int dmask, float x, float y, words8 resource, words sampler, bool unorm, int tfe, int cache)
    __asm__("llvm.amdgcn.image.gather4.lz.2d.v4f32.f32");
floats load(int dmask, int x, int y, words8 resource, int tfe, int cache) __asm__("llvm.amdgcn.image.load.2d.v4f32.i32");
floats load_buffer(words resource, int index, int offset, int scalar, int cache) __asm__("llvm.amdgcn.struct.buffer.load.format.v4f32");

words cwd_tex_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset);

/* The exact code, once for all fetches: it is long. */
static __attribute__((noinline)) words
exact(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return cwd_tex_fetch(handle, head, form, coord, extra0, extra1, offset);
}

static inline float
as_float(uint32_t bits)
{
    float f;
    __builtin_memcpy(&f, &bits, 4);
    return f;
}

static inline words
bits_of(floats f)
{
    words w;
    __builtin_memcpy(&w, &f, 16);
    return w;
}

/* What an image instruction gave of components from 0 to 1, as the integers that they are. */
static inline words
integers_of(floats f, float scale)
{
    words w;
    for (unsigned c = 0; c < 4; c++)
        w[c] = (uint32_t)__builtin_rintf(f[c] * scale);
    return w;
}

/* By image instructions. */
static inline __attribute__((always_inline)) floats
read_image(const struct cw_texture *t, unsigned op, unsigned geom, unsigned mode, bool by_place, words coord, bool extended)
{
    const words8 resource = *(const words8 *)(const void *)t->resource;
    if (!by_place)
        return load(15, (int)coord.x, (int)coord.y, resource, 0, 0);
    const words sampler = *(const words *)(const void *)t->sampler;
    float x = as_float(coord.x), y = geom == PTX_GEOM_2D ? as_float(coord.y) : 0.5f;
    if (op == PTX_OP_TLD4) {
        switch (mode & 3) {
        case 0: return gather(1, x, y, resource, sampler, false, 0, 0);
        case 1: return gather(2, x, y, resource, sampler, false, 0, 0);
        case 2: return gather(4, x, y, resource, sampler, false, 0, 0);
        default: return gather(8, x, y, resource, sampler, false, 0, 0);
        }
    }
    return extended ? sample_lz(15, x, y, resource, sampler, false, 0, 0) : sample(15, x, y, resource, sampler, false, 0, 0);
}

/* extended: the processor has the forms with a level, and gather4. All arguments but the coordinates are the caller's constants, and the
 * handle, most often, is the same for all lanes; where it is not, LLVM makes a loop over the different ones. */
static inline __attribute__((always_inline)) words
fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset, bool extended)
{
    unsigned op = head & 0xffff, geom = head >> 16 & 255, type = head >> 24, result = form & 255, flags = form >> 24;
    const struct cw_texture *t = (const struct cw_texture *)(const CONSTANT struct cw_texture *)handle;
    bool simple = !(flags & ~(CWH_TEX_LEVEL | CWH_TEX_GRADIENTS)) && (result == PTX_F32 || result == PTX_S32 || result == PTX_U32) &&
                  (geom == PTX_GEOM_1D || geom == PTX_GEOM_2D);
    bool by_place = type == PTX_F32, of_buffer = geom == PTX_GEOM_1D && !by_place;
    if (op == PTX_OP_TLD4 && (!extended || geom != PTX_GEOM_2D))
        simple = false;
    /* The object's small fields come as a word: scalar loads have no smaller unit. Floats are not scaled to integers. */
    uint32_t kind = *(const uint32_t *)(const void *)&t->surface & 0xffff, wanted = (uint32_t)(of_buffer ? CW_NATIVE_BUFFER : CW_NATIVE_IMAGE) << 8;
    bool scaled = !of_buffer && result != PTX_F32 && kind == CW_NATIVE_SCALED << 8;
    /* A handle that is no address at all ends the launch here, any other wrong one there. */
    if (!simple || (t->handle != handle) | ((kind != wanted) & !scaled))
        return exact(handle, head, form, coord, extra0, extra1, offset);
    if (of_buffer) {
        const words buffer = *(const words *)(const void *)t->resource;
        return coord.x < t->level[0].width ? bits_of(load_buffer(buffer, (int)coord.x, 0, 0, 0)) : (words){ 0, 0, 0, 0 };
    }
    floats f = read_image(t, op, geom, form >> 16, by_place, coord, extended);
    return scaled ? integers_of(f, t->scale) : bits_of(f);
}

/* As cwd_tex_fetch. */
words
cwd_image_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return fetch(handle, head, form, coord, extra0, extra1, offset, true);
}

/* On gfx90a, whose image instructions know nothing of levels. */
words
cwd_image_basic(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return fetch(handle, head, form, coord, extra0, extra1, offset, false);
}
