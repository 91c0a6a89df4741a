/* SPDX-License-Identifier: Apache-2.0
 * Kernels that fail on a device that executes: the context keeps the error, other contexts go on; a process that exits while
 * a kernel runs for ever ends soon. */
#include "tests/driver/test.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" \
             "    .reg .b64 %d<3>; .reg .b32 %r<2>; .reg .pred %q<2>;\n    ld.param.u64 %d1, [p];\n    mov.u32 %r1, 7;\n"

static const struct {
    const char *what, *text;
    CUresult want;
} cases[] = {
    { "trap", HEAD "    trap;\n    ret;\n}\n", CUDA_ERROR_LAUNCH_FAILED },
    { "null", HEAD "    mov.u64 %d1, 0;\n    st.global.u32 [%d1], %r1;\n    ret;\n}\n", CUDA_ERROR_ILLEGAL_ADDRESS },
    { "freed", HEAD "    st.global.u32 [%d1], %r1;\n    ret;\n}\n", CUDA_ERROR_ILLEGAL_ADDRESS },
};
static const char forever[] = HEAD "AGAIN:\n    ld.volatile.global.u32 %r1, [%d1];\n    setp.eq.u32 %q1, %r1, 0;\n"
                                   "    @%q1 bra AGAIN;\n    ret;\n}\n";

static CUfunction
kernel(const char *text)
{
    CUmodule m;
    CUfunction f = NULL;
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    return f;
}

static int
hang(void)
{
    CUdeviceptr p;
    make_context();
    CUfunction f = kernel(forever);
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuMemsetD32_v2(p, 0, 1));
    void *params[] = { &p };
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    return failures != 0;               /* with the kernel running */
}

int
main(int argc, char **argv)
{
    if (argc == 2)
        return hang();
    pid_t pid = fork();
    if (!pid) {
        execl("/proc/self/exe", argv[0], "hang", (char *)NULL);
        _exit(127);
    }

    CUcontext good = make_context();
    CUdeviceptr fine;
    OK(cuMemAlloc_v2(&fine, 4));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUcontext c;
        CUdeviceptr p;
        CUevent e;
        unsigned v;
        OK(cuCtxCreate_v2(&c, 0, 0));
        OK(cuEventCreate(&e, 0));
        OK(cuMemAlloc_v2(&p, 4 << 20));
        if (!strcmp(cases[i].what, "freed"))
            OK(cuMemFree_v2(p));
        CUfunction f = kernel(cases[i].text);
        void *params[] = { &p };
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        EXPECT_RESULT(cuCtxSynchronize(), cases[i].want);
        EXPECT_RESULT(cuStreamSynchronize(NULL), cases[i].want);
        EXPECT_RESULT(cuMemcpyDtoH_v2(&v, fine, 4), cases[i].want);
        EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), cases[i].want);
        OK(cuCtxPopCurrent_v2(NULL));
        OK(cuMemcpyDtoH_v2(&v, fine, 4));
        OK(cuCtxDestroy_v2(c));
    }
    OK(cuCtxDestroy_v2(good));

    int status = -1;
    time_t start = time(NULL);
    waitpid(pid, &status, 0);
    EXPECT(status == 0);
    EXPECT(time(NULL) - start < 20);
    return failures != 0;
}
