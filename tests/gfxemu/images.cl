/* SPDX-License-Identifier: Apache-2.0
 * Image and typed-buffer instructions by LLVM's intrinsics, a lane each: test_images.c makes the resources and knows the results. A kernel's
 * name says what it does. EXTENDED: the processor has levels and gather4 (all but gfx90a). A16: coordinates may have 16 bits. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define V(t, n) t __attribute__((ext_vector_type(n)))
typedef V(float, 4) f4;
typedef V(float, 2) f2;
typedef V(half, 4) h4;
typedef V(uint, 4) u4;
typedef V(uint, 8) u8v;
typedef V(int, 4) i4;

/* The coordinates of a lane, floats and integers; 16 bytes of result. */
#define KERNEL(name, body) \
    __attribute__((reqd_work_group_size(64, 1, 1))) __kernel void name(__global f4 *out, __constant u8v *resource, __constant u4 *sampler, \
                                                                       __global const f4 *at, __global const f4 *data) \
    { \
        uint l = __builtin_amdgcn_workitem_id_x(); \
        f4 c = at[l], r = 0; \
        i4 n = __builtin_convertvector(c, i4); \
        body; \
        out[l] = r; \
    }
#define LOAD(name, dim, types, args) \
    f4 name##_(int mask, types, u8v resource, int tfe, int cache) __asm("llvm.amdgcn.image.load." dim ".v4f32.i32"); \
    KERNEL(name, r = name##_(15, args, *resource, 0, 0))
#define SAMPLE(name, intrinsic, types, args) \
    f4 name##_(int mask, types, u8v resource, u4 sampler, bool unorm, int tfe, int cache) __asm("llvm.amdgcn.image." intrinsic); \
    KERNEL(name, r = name##_(15, args, *resource, *sampler, 0, 0, 0))
#define L(...) __VA_ARGS__

LOAD(load_1d, "1d", L(int x), L(n.x))
LOAD(load_2d, "2d", L(int x, int y), L(n.x, n.y))
LOAD(load_3d, "3d", L(int x, int y, int z), L(n.x, n.y, n.z))
LOAD(load_2darray, "2darray", L(int x, int y, int z), L(n.x, n.y, n.z))
SAMPLE(sample_1d, "sample.1d.v4f32.f32", L(float x), L(c.x))
SAMPLE(sample_2d, "sample.2d.v4f32.f32", L(float x, float y), L(c.x, c.y))
SAMPLE(sample_3d, "sample.3d.v4f32.f32", L(float x, float y, float z), L(c.x, c.y, c.z))
SAMPLE(sample_2darray, "sample.2darray.v4f32.f32", L(float x, float y, float z), L(c.x, c.y, c.z))

void store_(f4 v, int mask, int x, int y, u8v resource, int tfe, int cache) __asm("llvm.amdgcn.image.store.2d.v4f32.i32");
KERNEL(store_2d, r = data[l]; store_(r, 15, n.x, n.y, *resource, 0, 0))
f2 load_two_(int mask, int x, int y, u8v resource, int tfe, int cache) __asm("llvm.amdgcn.image.load.2d.v2f32.i32");
KERNEL(load_2d_gb, r.xy = load_two_(6, n.x, n.y, *resource, 0, 0))
h4 sample_half_(int mask, float x, float y, u8v resource, u4 sampler, bool unorm, int tfe, int cache) __asm("llvm.amdgcn.image.sample.2d.v4f16.f32");
KERNEL(sample_2d_d16, r = __builtin_convertvector(sample_half_(15, c.x, c.y, *resource, *sampler, 0, 0, 0), f4))

#ifdef EXTENDED
SAMPLE(sample_2d_d, "sample.d.2d.v4f32.f32.f32", L(float a, float b, float d, float e, float x, float y), L(0.1f, 0.2f, 0.3f, 0.4f, c.x, c.y))
SAMPLE(sample_2d_lz, "sample.lz.2d.v4f32.f32", L(float x, float y), L(c.x, c.y))
SAMPLE(sample_3d_lz, "sample.lz.3d.v4f32.f32", L(float x, float y, float z), L(c.x, c.y, c.z))
SAMPLE(sample_2d_l, "sample.l.2d.v4f32.f32", L(float x, float y, float l), L(c.x, c.y, 2))
SAMPLE(sample_2d_lz_offset, "sample.lz.o.2d.v4f32.f32", L(int o, float x, float y), L(0x3e03, c.x, c.y))     /* 3, -2 */
f4 gather_(int mask, float x, float y, u8v resource, u4 sampler, bool unorm, int tfe, int cache) __asm("llvm.amdgcn.image.gather4.lz.2d.v4f32.f32");
KERNEL(gather_2d_r, r = gather_(1, c.x, c.y, *resource, *sampler, 0, 0, 0))
KERNEL(gather_2d_b, r = gather_(4, c.x, c.y, *resource, *sampler, 0, 0, 0))
f4 load_mip_(int mask, int x, int y, int level, u8v resource, int tfe, int cache) __asm("llvm.amdgcn.image.load.mip.2d.v4f32.i32");
KERNEL(load_2d_mip, r = load_mip_(15, n.x, n.y, l & 1, *resource, 0, 0))
f4 size_(int mask, int level, u8v resource, int tfe, int cache) __asm("llvm.amdgcn.image.getresinfo.2d.v4f32.i32");
KERNEL(size_2d, r = size_(15, 0, *resource, 0, 0))
#endif

#ifdef A16
f4 sample_a16_(int mask, half x, half y, u8v resource, u4 sampler, bool unorm, int tfe, int cache) __asm("llvm.amdgcn.image.sample.2d.v4f32.f16");
KERNEL(sample_2d_a16, r = sample_a16_(15, (half)c.x, (half)c.y, *resource, *sampler, 0, 0, 0))
#endif

f4 buffer_(u4 resource, int index, int offset, int scalar, int cache) __asm("llvm.amdgcn.struct.buffer.load.format.v4f32");
KERNEL(buffer_load, r = buffer_(*sampler, n.x, 0, 0, 0))
void buffer_store_(f4 v, u4 resource, int index, int offset, int scalar, int cache) __asm("llvm.amdgcn.struct.buffer.store.format.v4f32");
KERNEL(buffer_store, r = data[l]; buffer_store_(r, *sampler, n.x, 0, 0, 0))
