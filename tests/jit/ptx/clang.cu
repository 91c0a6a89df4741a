/* SPDX-License-Identifier: Apache-2.0
 * A bit of everything that clang turns into different PTX; only parsed, never run. No CUDA header is needed. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct pair { int a[5]; double d; };
__constant__ float weights[4] = { 1.0f, -0.5f, 0.25f, 1e-40f };
__device__ const char *message = "text";
__device__ int counter;
extern __shared__ int dynamic[];
extern "C" __device__ int vprintf(const char *, const char *);
__device__ int (*pointer)(int);

__device__ __attribute__((noinline)) pair make(int x, pair y) { y.a[x & 3] = x; return y; }
__device__ __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__global__ void __launch_bounds__(256, 2)
arithmetic(float *f, double *d, int *i, unsigned long long *u, short *s, signed char *c)
{
    int t = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
    f[t] = f[t + 1] * f[t + 2] + f[t + 3] / f[t + 4];
    f[t] += __builtin_sqrtf(f[t]) + __builtin_fabsf(f[t + 1]) + __builtin_fminf(f[t], f[t + 2]);
    d[t] = d[t + 1] / d[t] - (double)f[t] + (double)u[t];
    i[t] = i[t + 1] / (i[t + 2] | 1) + i[t] % 7 + (i[t] >> 3) + __builtin_popcount(i[t]) + __builtin_clz(i[t]);
    u[t] = u[t] * u[t + 1] / (u[t + 2] | 1) + (u[t] << 7 | u[t] >> 57) + (unsigned long long)f[t];
    s[t] = s[t + 1] * s[t + 2] - c[t];
    c[t] = (signed char)(i[t] + d[t]);
    for (int k = 0; k < 4; k++)
        f[t] += weights[k] * f[t + k];
}

__global__ void
control(pair *p, int n, int *out)
{
    __shared__ int tile[64];
    int local[16];
    int t = __nvvm_read_ptx_sreg_tid_x();
    for (int k = 0; k < 16; k++)
        local[k] = n * k;
    tile[t & 63] = dynamic[t] + local[n & 15];
    __syncthreads();
    p[t] = make(n, p[t + 1]);
    switch (n) {
    case 0: out[t] = 3; break;
    case 1: out[t] = fib(t); break;
    case 2: out[t] = pointer(t); break;
    case 3: out[t] = tile[t ^ 1]; break;
    case 4: out[t] = message[t]; break;
    case 5: out[t] = vprintf("%d\n", (const char *)local); break;
    default: out[t] = -1;
    }
    if (n == 9)
        __builtin_trap();
    __nvvm_atom_add_gen_i(&counter, 1);
    __nvvm_atom_cas_gen_i(&counter, 1, 2);
    __nvvm_membar_gl();
    asm volatile("{ .reg .pred q; setp.eq.s32 q, %0, 0; @q bra SKIP; st.global.b32 [%1], %0; SKIP: }" :: "r"(n), "l"(out));
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %0, 0; @q bra SKIP; st.global.b32 [%1], %0; SKIP: }" :: "r"(n), "l"(out));
}

#if __CUDA_ARCH__ >= 700
__global__ void
lanes(int *a)
{
    a[0] = __nvvm_shfl_sync_bfly_i32(-1, a[1], 3, 31) + __nvvm_vote_ballot_sync(-1, a[2]) + __nvvm_shfl_sync_up_i32(-1, a[1], 1, 0);
    a[1] = __nvvm_match_any_sync_i32(-1, a[3]) + __nvvm_vote_all_sync(-1, a[4]);
    __nvvm_bar_warp_sync(-1);
}
#endif
