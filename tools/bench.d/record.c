/* SPDX-License-Identifier: Apache-2.0
 * LAUNCHES launches of a kernel that takes MICROSECONDS on the device, waited for every BATCH. Per launch in microseconds: all of them by the
 * clock, the fastest tenth of the batches, which other programs disturbed least, and CPU time of this process. The kernel's length is set before, in this process; ITERATIONS gives it instead, so
 * that programs which are compared do the same. */
#include "tools/bench.d/bench.h"

static const char spin[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                           ".visible .entry spin(.param .u64 out, .param .u32 n)\n{\n"
                           " .reg .pred %p;\n .reg .b32 %i, %n, %x;\n .reg .b64 %o;\n"
                           " ld.param.u64 %o, [out];\n ld.param.u32 %n, [n];\n mov.u32 %i, 0;\n mov.u32 %x, 1;\n"
                           "again:\n mad.lo.u32 %x, %x, 1664525, 1013904223;\n xor.b32 %x, %x, %i;\n add.u32 %i, %i, 1;\n"
                           " setp.lt.u32 %p, %i, %n;\n @%p bra again;\n st.global.u32 [%o], %x;\n ret;\n}\n";

static CUfunction f;
static CUdeviceptr out;

/* `each`: the times of the whole batches, or NULL. */
static double
run(unsigned launches, unsigned batch, unsigned n, double *each)
{
    void *params[] = { &out, &n };
    double from = now(), last = from, t;
    for (unsigned i = 1; i <= launches; i++) {
        MUST(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        if (i % batch && i != launches)
            continue;
        MUST(cuCtxSynchronize());
        t = now();
        if (each && i % batch == 0)
            *each++ = t - last;
        last = t;
    }
    return last - from;
}

int
main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    if (argc < 4) {
        fprintf(stderr, "usage: record LAUNCHES MICROSECONDS BATCH [ITERATIONS]\n");
        return 2;
    }
    unsigned launches = (unsigned)atoi(argv[1]), batch = (unsigned)atoi(argv[3]), n = 100000;
    double wanted = atof(argv[2]) * 1e-6, t[60];
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    MUST(cuModuleLoadData(&module, spin));
    MUST(cuModuleGetFunction(&f, module, "spin"));
    MUST(cuMemAlloc_v2(&out, 4));
    run(10, 1, 10, NULL);
    if (argc > 4) {
        n = (unsigned)atoi(argv[4]);
    } else {
        for (unsigned tries = 0; tries < 3; tries++) {
            for (unsigned i = 0; i < sizeof t / sizeof *t; i++)
                t[i] = run(10, 10, n, NULL) / 10;
            (void)median(t, sizeof t / sizeof *t);      /* sorts: the shortest is what a busy machine did not disturb */
            n = (unsigned)(n * wanted / t[0]) + 1;
        }
    }
    if (!launches) {
        printf("%u\n", n);
        return 0;
    }
    unsigned batches = launches / batch;
    double *each = calloc(batches + 1, sizeof *each), cpu = cpu_now(), elapsed = each ? run(launches, batch, n, each) : 0;
    cpu = cpu_now() - cpu;
    (void)median(each, batches);        /* sorts */
    printf("elapsed %.4f us\nfastest %.4f us\ncpu %.4f us\n", elapsed / launches * 1e6, each[batches / 10] / batch * 1e6, cpu / launches * 1e6);
    free(each);
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
