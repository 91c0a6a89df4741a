/* SPDX-License-Identifier: Apache-2.0
 * Doubtful instructions, one a kernel, for test_checks.c. v77 and s77 are no registers that the compiler would use here. */
#define KERNEL __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
#define ID __builtin_amdgcn_workitem_id_x()
typedef unsigned int u32;

KERNEL written(__global u32 *d, __global u32 *a)
{
    u32 r;
    __asm__ volatile("s_mov_b32 s77, 5\n v_mov_b32 v77, %1\n v_add_f32 v77, v77, v77\n s_add_u32 s77, s77, 1\n v_mov_b32 %0, v77"
                     : "=v"(r) : "v"(a[ID]) : "v77", "s77", "scc");
    d[ID] = r;
}

KERNEL vector(__global u32 *d, __global u32 *a)
{
    u32 r;
    __asm__ volatile("v_add_f32 %0, v77, %1" : "=v"(r) : "v"(a[ID]));
    d[ID] = r;
}

/* Written in the lower lanes, read in all. */
KERNEL part(__global u32 *d, __global u32 *a)
{
    u32 r;
    if (ID < 16)
        __asm__ volatile("v_mov_b32 v77, %0" : : "v"(a[ID]) : "v77");
    __asm__ volatile("v_add_f32 %0, v77, %1" : "=v"(r) : "v"(a[ID]));
    d[ID] = r;
}

/* Written in the lower lanes, and read in them only. */
KERNEL same(__global u32 *d, __global u32 *a)
{
    if (ID < 16) {
        u32 r;
        __asm__ volatile("v_mov_b32 v77, %1\n v_add_f32 %0, v77, v77" : "=v"(r) : "v"(a[ID]) : "v77");
        d[ID] = r;
    }
}

/* Moved and stored, but nothing is done with it. */
KERNEL moved(__global u32 *d, __global u32 *a)
{
    u32 r, s;
    __asm__ volatile("v_mov_b32 %0, v77\n s_mov_b32 %1, s77" : "=v"(r), "=s"(s));
    d[ID] = s;
    a[ID] = r;
}

KERNEL scalar(__global u32 *d, __global u32 *a)
{
    u32 s;
    __asm__ volatile("s_add_u32 %0, s77, 1" : "=s"(s) : : "scc");
    d[ID] = a[ID] ^ s;
}

KERNEL odd_load(__global u32 *d, __global u32 *a)
{
    u32 r;
    __asm__ volatile("global_load_dword %0, %1, off offset:1\n s_waitcnt vmcnt(0)" : "=v"(r) : "v"(a));
    d[ID] = r;
}

KERNEL odd_store(__global u32 *d, __global u32 *a)
{
    __asm__ volatile("global_store_short %0, %1, off offset:3\n s_waitcnt vmcnt(0)" : : "v"(d), "v"(a[ID]) : "memory");
}

/* Dwords are enough for four of them, and bytes may be anywhere. */
KERNEL even(__global u32 *d, __global u32 *a)
{
    u32 r;
    uint4 q;
    __asm__ volatile("global_load_ubyte %0, %2, off offset:3\n global_load_dwordx4 %1, %2, off offset:4\n s_waitcnt vmcnt(0)"
                     : "=&v"(r), "=v"(q) : "v"(a));
    d[ID] = r + q.x;
}

KERNEL outside(__global u32 *d, __global u32 *a)
{
    d[ID] = a[ID + (1u << 20)];
}

KERNEL outside_lds(__global u32 *d, __global u32 *a)
{
    u32 r;
    __asm__ volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(r) : "v"(1u << 17 | a[ID] & 1));
    d[ID] = r;
}

KERNEL odd_atomic(__global u32 *d, __global u32 *a)
{
    __asm__ volatile("global_atomic_add %0, %1, off offset:2\n s_waitcnt vmcnt(0)" : : "v"(d), "v"(a[ID]) : "memory");
}

/* LLVM's descriptor asks for both modes of a kernel: DX10_CLAMP and IEEE. */
KERNEL modes(__global u32 *d, __global u32 *a)
{
    u32 modes;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_MODE, 8, 2)" : "=s"(modes));
    d[ID + (modes == 3 ? 0 : 1u << 20)] = a[ID];
}
