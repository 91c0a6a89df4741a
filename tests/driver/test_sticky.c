/* SPDX-License-Identifier: Apache-2.0
 * Kernels that fail on a device that executes: the context keeps the error; a process that exits while a kernel runs for ever ends soon.
 * Other contexts go on, or, with the argument "process", have the error as well: HIP knows no contexts, CUDA's documentation promises
 * no more ("leaves the process in an inconsistent state and any further CUDA work will return the same error"), and NVIDIA's driver
 * 580 does it too. */
#include "tests/driver/test.h"

#include <stdbool.h>
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

static int
fault(const char *name, bool process)
{
    size_t i = 0;
    while (strcmp(cases[i].what, name))
        i++;
    const CUresult want = cases[i].want;
    CUcontext good = make_context(), c;
    CUdeviceptr fine, p;
    CUevent e;
    CUmodule m;
    CUfunction g;
    unsigned v = 0;
    OK(cuMemAlloc_v2(&fine, 4));
    OK(cuMemsetD32_v2(fine, 5, 1));
    CUfunction write = kernel(cases[2].text);
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuEventCreate(&e, 0));
    OK(cuMemAlloc_v2(&p, 4 << 20));
    if (!strcmp(cases[i].what, "freed"))
        OK(cuMemFree_v2(p));
    CUfunction f = kernel(cases[i].text);
    void *params[] = { &p };
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT_RESULT(cuCtxSynchronize(), want);
    EXPECT_RESULT(cuStreamSynchronize(NULL), want);
    EXPECT_RESULT(cuStreamQuery(NULL), want);
    EXPECT_RESULT(cuMemcpyDtoH_v2(&v, fine, 4), want);
    EXPECT_RESULT(cuMemAlloc_v2(&p, 4), want);
    EXPECT_RESULT(cuModuleLoadData(&m, cases[0].text), want);
    EXPECT_RESULT(cuEventCreate(&e, 0), want);
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), want);
    OK(cuFuncGetModule(&m, f));         /* what asks the driver alone still answers */
    OK(cuModuleGetFunction(&g, m, "k"));
    OK(cuCtxPopCurrent_v2(NULL));
    params[0] = &fine;
    const CUresult other = process ? want : CUDA_SUCCESS;
    EXPECT_RESULT(cuCtxSynchronize(), other);
    EXPECT_RESULT(cuLaunchKernel(write, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), other);
    EXPECT_RESULT(cuMemcpyDtoH_v2(&v, fine, 4), other);
    EXPECT(v == (process ? 0 : 7));
    OK(cuCtxDestroy_v2(c));
    OK(cuCtxDestroy_v2(good));
    return failures != 0;
}

/* This program anew, with another argument in front. */
static pid_t
start(char **argv, const char *what)
{
    pid_t pid = fork();
    if (!pid) {
        execl("/proc/self/exe", argv[0], what, argv[1], (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int
status_of(pid_t pid)
{
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

int
main(int argc, char **argv)
{
    bool process = argc > 1 && !strcmp(argv[argc - 1], "process");
    if (argc > 1 && !strcmp(argv[1], "hang"))
        return hang();
    if (argc - process == 2)
        return fault(argv[1], process);
    time_t begin = time(NULL);
    pid_t pid = start(argv, "hang");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = status_of(start(argv, cases[i].what));
        if (status)
            fprintf(stderr, "%s: status %#x\n", cases[i].what, (unsigned)status);
        EXPECT(status == 0);
    }
    EXPECT(status_of(pid) == 0);
    EXPECT(time(NULL) - begin < 20);
    return failures != 0;
}
