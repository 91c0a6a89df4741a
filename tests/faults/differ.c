/* SPDX-License-Identifier: Apache-2.0
 * Launches each kernel of differ.ptx three times, with 64, 256 and 512 threads: `differ FILE`. Over the driver API of the libcuda.so.1 that the
 * loader finds; recorded on a GPU, its launches are traces/differ. */
#include "impl/api/cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        CUresult r_ = (call);                                                           \
        if (r_ != CUDA_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, (int)r_); \
            exit(3);                                                                    \
        }                                                                               \
    } while (0)

/* Leaves numbers in shared memory that no kernel of the file writes. */
static const char dirty[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry dirty()\n{\n"
    "    .shared .align 4 .b8 cells[16384];\n    .reg .u32 %a, %t, %v; .reg .pred %p;\n"
    "    mov.u32 %a, cells; mov.u32 %t, %tid.x; mad.lo.u32 %a, %t, 4, %a; mov.u32 %v, 0;\n"
    "more:\n    xor.b32 %t, %a, 0x3f8ccccd; st.volatile.shared.u32 [%a], %t; add.u32 %a, %a, 4096; add.u32 %v, %v, 1; setp.lt.u32 %p, %v, 4;\n"
    "    @%p bra more;\n    ret;\n}\n";

static char text[1 << 20];

int
main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f || !fread(text, 1, sizeof text - 1, f)) {
        fprintf(stderr, "usage: differ FILE.ptx\n");
        return 2;
    }
    fclose(f);
    CUcontext c;
    CUdevice d;
    CUmodule dirt;
    CUfunction k, fill;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&d, 0));
    CHECK(cuDevicePrimaryCtxRetain(&c, d));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoadData(&dirt, dirty));
    CHECK(cuModuleGetFunction(&fill, dirt, "dirty"));
    uint32_t state = 12345, launches = 0;
    const char *entry = "\n.visible .entry ", *head = strstr(text, ".version"), *first = strstr(text, entry);
    for (const char *p = first, *next; p; p = next) {
        static char module[1 << 16];            /* of this kernel alone, so that dumps are small */
        char name[64];
        CUmodule m;
        next = strstr(p + 1, entry);
        snprintf(module, sizeof module, "%.*s%.*s", (int)(first - head), head, next ? (int)(next - p) : (int)strlen(p), p);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p + strlen(entry), "("), p + strlen(entry));
        CHECK(cuModuleLoadData(&m, module));
        CHECK(cuModuleGetFunction(&k, m, name));
        for (uint32_t n = 64; n <= 512; n = n == 64 ? 256 : n * 2) {
            CUdeviceptr out, in;
            union { double f64[512]; float f32[1024]; } data;
            for (uint32_t i = 0; i < 2 * n; i++) {
                state = state * 1664525 + 1013904223;
                double v = 0.5 + state / 4294967296.0;
                if (!strstr(name, "double"))
                    data.f32[i] = (float)v;
                else if (i < n)
                    data.f64[i] = v;
            }
            CHECK(cuMemAlloc_v2(&out, n * 8));
            CHECK(cuMemAlloc_v2(&in, n * 8));
            CHECK(cuMemsetD8_v2(out, 0, n * 8));
            CHECK(cuMemcpyHtoD_v2(in, &data, n * 8));
            CHECK(cuLaunchKernel(fill, 264, 1, 1, 1024, 1, 1, 0, NULL, NULL, NULL));
            void *args[] = { &out, &in, &n, &launches };
            uint32_t threads = n == 64 ? 64 : 128;
            CHECK(cuLaunchKernel(k, n / threads, 1, 1, threads, 1, 1, 0, NULL, args, NULL));
            CHECK(cuCtxSynchronize());
            CHECK(cuMemFree_v2(out));
            CHECK(cuMemFree_v2(in));
            launches++;
        }
        CHECK(cuModuleUnload(m));
    }
    printf("%u launches\n", launches);
    return 0;
}
