/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "image": fetches by AMD's image and typed-buffer instructions, for textures with a descriptor for them
 * (cw_texture.native); part "tex" handles the others. Results are the processor's, not NVIDIA's. The instructions are LLVM intrinsics,
 * declared by name. */
#include "jit/abi/host.h"
#include "jit/abi/texture.h"
#include "jit/builtins/core/bits.h"
#include "jit/ptx/ir.h"

#include <stddef.h>

typedef uint32_t words __attribute__((ext_vector_type(4)));
typedef uint32_t words8 __attribute__((ext_vector_type(8)));
typedef float floats __attribute__((ext_vector_type(4)));

_Static_assert(offsetof(struct cw_texture, native) == offsetof(struct cw_texture, surface) + 1, "both are in one word");

#define CONSTANT __attribute__((address_space(4)))

/* dmask, coordinates, resource, sampler, normalised coordinates, residency, cache policy. lz: level 0, not the level computed from a quad
 * of lanes. */
#define SAMPLER words8 resource, words sampler, bool unorm, int tfe, int cache
floats sample_lz(int dmask, float x, float y, SAMPLER) __asm__("llvm.amdgcn.image.sample.lz.2d.v4f32.f32");
floats sample_lz_3d(int dmask, float x, float y, float z, SAMPLER) __asm__("llvm.amdgcn.image.sample.lz.3d.v4f32.f32");
floats sample_lz_array(int dmask, float x, float y, float layer, SAMPLER) __asm__("llvm.amdgcn.image.sample.lz.2darray.v4f32.f32");
floats sample(int dmask, float x, float y, SAMPLER) __asm__("llvm.amdgcn.image.sample.2d.v4f32.f32");
floats sample_3d(int dmask, float x, float y, float z, SAMPLER) __asm__("llvm.amdgcn.image.sample.3d.v4f32.f32");
floats sample_array(int dmask, float x, float y, float layer, SAMPLER) __asm__("llvm.amdgcn.image.sample.2darray.v4f32.f32");
floats gather(int dmask, float x, float y, SAMPLER) __asm__("llvm.amdgcn.image.gather4.lz.2d.v4f32.f32");
floats load(int dmask, int x, int y, words8 resource, int tfe, int cache) __asm__("llvm.amdgcn.image.load.2d.v4f32.i32");
floats load_3d(int dmask, int x, int y, int z, words8 resource, int tfe, int cache) __asm__("llvm.amdgcn.image.load.3d.v4f32.i32");
floats load_array(int dmask, int x, int y, int layer, words8 resource, int tfe, int cache) __asm__("llvm.amdgcn.image.load.2darray.v4f32.i32");
floats load_buffer(words resource, int index, int offset, int scalar, int cache) __asm__("llvm.amdgcn.struct.buffer.load.format.v4f32");

words cwd_tex_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset);

/* The exact code, which is long: one copy for all fetches. */
static __attribute__((noinline)) words
exact(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return cwd_tex_fetch(handle, head, form, coord, extra0, extra1, offset);
}

BITS_FUNCTION(bits_of, floats, words)

/* Components in [0, 1] from an image instruction, converted back to integers. */
static inline words
integers_of(floats f, float scale)
{
    words w;
    for (unsigned c = 0; c < 4; c++)
        w[c] = (uint32_t)__builtin_rintf(f[c] * scale);
    return w;
}

/* Integer coordinates: zero outside of the image, except that a layer is clamped. */
static inline __attribute__((always_inline)) floats
load_image(const struct cw_texture *t, unsigned geom, words c)
{
    const words8 resource = *(const words8 *)(const void *)t->resource;
    uint32_t last = t->last_layer - t->first_layer;
    int layer = (int)(c.x < last ? c.x : last);
    switch (geom) {
    case PTX_GEOM_2D: return load(15, (int)c.x, (int)c.y, resource, 0, 0);
    case PTX_GEOM_3D: return load_3d(15, (int)c.x, (int)c.y, (int)c.z, resource, 0, 0);
    case PTX_GEOM_A1D: return load_array(15, (int)c.y, 0, layer, resource, 0, 0);
    default: return load_array(15, (int)c.y, (int)c.z, layer, resource, 0, 0);
    }
}

/* A 1D texture is a 2D image of one row, read at its upper edge, as on NVIDIA's hardware. The unit rounds to the nearest layer. */
static inline __attribute__((always_inline)) floats
sample_image(const struct cw_texture *t, unsigned geom, words c, bool extended)
{
    const words8 resource = *(const words8 *)(const void *)t->resource;
    const words sampler = *(const words *)(const void *)t->sampler;
    float x = f32_of(c.x), y = f32_of(c.y), z = f32_of(c.z), layer = (float)c.x;
    switch (geom) {
    case PTX_GEOM_1D: y = 0;
        __attribute__((fallthrough));
    case PTX_GEOM_2D: return extended ? sample_lz(15, x, y, resource, sampler, false, 0, 0) : sample(15, x, y, resource, sampler, false, 0, 0);
    case PTX_GEOM_3D:
        return extended ? sample_lz_3d(15, x, y, z, resource, sampler, false, 0, 0) : sample_3d(15, x, y, z, resource, sampler, false, 0, 0);
    case PTX_GEOM_A1D: z = 0;
        __attribute__((fallthrough));
    default:
        return extended ? sample_lz_array(15, y, z, layer, resource, sampler, false, 0, 0) : sample_array(15, y, z, layer, resource, sampler, false, 0, 0);
    }
}

static inline __attribute__((always_inline)) floats
gather_image(const struct cw_texture *t, unsigned component, words c)
{
    const words8 resource = *(const words8 *)(const void *)t->resource;
    const words sampler = *(const words *)(const void *)t->sampler;
    float x = f32_of(c.x), y = f32_of(c.y);
    switch (component) {        /* dmask must be a constant */
    case 0: return gather(1, x, y, resource, sampler, false, 0, 0);
    case 1: return gather(2, x, y, resource, sampler, false, 0, 0);
    case 2: return gather(4, x, y, resource, sampler, false, 0, 0);
    default: return gather(8, x, y, resource, sampler, false, 0, 0);
    }
}

/* The kind of object that such a fetch reads. */
static inline enum cw_native
kind_of(unsigned geom, bool by_place)
{
    switch (geom) {
    case PTX_GEOM_1D: return by_place ? CW_NATIVE_IMAGE : CW_NATIVE_BUFFER;
    case PTX_GEOM_2D: return CW_NATIVE_IMAGE;
    case PTX_GEOM_3D: return CW_NATIVE_VOLUME;
    case PTX_GEOM_A1D: case PTX_GEOM_A2D: return CW_NATIVE_LAYERS;
    default: return CW_NATIVE_NONE;
    }
}

/* extended: the processor has image instructions with a level, and gather4. All arguments except coordinates are constants of the caller;
 * the handle is usually uniform, otherwise LLVM makes a loop over the different handles. */
static inline __attribute__((always_inline)) words
fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset, bool extended)
{
    unsigned op = head & 0xffff, geom = head >> 16 & 255, type = head >> 24, result = form & 255, flags = form >> 24;
    const struct cw_texture *t = (const struct cw_texture *)(const CONSTANT struct cw_texture *)handle;
    bool by_place = type == PTX_F32, gathers = op == PTX_OP_TLD4;
    enum cw_native wanted = kind_of(geom, by_place);
    bool simple = !(flags & ~(CWH_TEX_LEVEL | CWH_TEX_GRADIENTS | CWH_TEX_PLAIN)) && (result == PTX_F32 || result == PTX_S32 || result == PTX_U32) &&
                  wanted != CW_NATIVE_NONE && (!gathers || (extended && geom == PTX_GEOM_2D));
    /* Load the object's small fields as a word, the smallest unit of scalar loads. Float results are not scaled to integers. */
    uint32_t kind = *(const uint32_t *)(const void *)&t->surface & 0xffff;
    bool scaled = wanted != CW_NATIVE_BUFFER && result != PTX_F32 && kind == (uint32_t)(wanted | CW_NATIVE_SCALED) << 8;
    /* A handle that is not an address ends the launch here; other invalid ones do so in the exact code. */
    if (!simple || (t->handle != handle) | ((kind != (uint32_t)wanted << 8) & !scaled))
        return exact(handle, head, form, coord, extra0, extra1, offset);
    if (wanted == CW_NATIVE_BUFFER) {
        const words buffer = *(const words *)(const void *)t->resource;
        return coord.x < t->level[0].width ? bits_of(load_buffer(buffer, (int)coord.x, 0, 0, 0)) : (words){ 0, 0, 0, 0 };
    }
    floats f = gathers ? gather_image(t, form >> 16 & 3, coord) : by_place ? sample_image(t, geom, coord, extended) : load_image(t, geom, coord);
    return scaled ? integers_of(f, t->scale) : bits_of(f);
}

/* As cwd_tex_fetch. */
words
cwd_image_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return fetch(handle, head, form, coord, extra0, extra1, offset, true);
}

/* For gfx90a, whose image instructions have no levels. */
words
cwd_image_basic(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    return fetch(handle, head, form, coord, extra0, extra1, offset, false);
}
