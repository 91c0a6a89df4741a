/* SPDX-License-Identifier: Apache-2.0
 * A library whose constructor and destructor launch a kernel each, as those of C++'s global objects do. See reload.c. */
#include "tests/driver/test.h"

static int runs;
__attribute__((visibility("default"))) int *plugin_runs = &runs;     /* how many kernels gave the right result */

static void
run(const char *text)
{
    CUcontext c = make_context();
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    void *params[] = { &p };
    int v = 0;
    OK(cuMemAlloc_v2(&p, sizeof v));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuLaunchKernel(f, 1, 1, 1, 7, 1, 1, 0, NULL, params, NULL));     /* on host, code for 7 threads is compiled by the stream's thread */
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&v, p, sizeof v));
    OK(cuCtxDestroy_v2(c));
    *plugin_runs += v == 7 && !failures;
}

#define KERNEL(more) ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %a; .reg .b32 %r;\n" \
                     "ld.param.u64 %a, [p]; mov.u32 %r, 7;\n" more "st.global.u32 [%a], %r; ret;\n}\n"

__attribute__((constructor)) static void
begin(void)
{
    run(KERNEL(""));
}

__attribute__((destructor)) static void
end(void)
{
    run(KERNEL("bar.sync 0;\n"));      /* another one: compiled now */
}
