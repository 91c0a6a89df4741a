/* SPDX-License-Identifier: Apache-2.0
 * A process that ends while a stream's thread compiles, at several moments of the compilation: it ends as it says, without a signal. */
#include "tests/driver/test.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CASES = 10, STEP_MS = 15, ADDS = 400 };

/* Blocks of 7 threads: another compilation than the one before the first launch, by the stream's thread. */
static void
compile(void)
{
    static char text[ADDS * 40 + 1000];
    size_t n = (size_t)sprintf(text, ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                                     "    .reg .b64 %%d<2>; .reg .f32 %%f<2>;\n    ld.param.u64 %%d1, [p];\n    ld.global.f32 %%f1, [%%d1];\n");
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    void *params[] = { &p };
    for (int i = 0; i < ADDS; i++)
        n += (size_t)sprintf(text + n, "    sqrt.rn.f32 %%f1, %%f1;\n");
    sprintf(text + n, "    st.global.f32 [%%d1], %%f1;\n    ret;\n}\n");
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuLaunchKernel(f, 1, 1, 1, 7, 1, 1, 0, NULL, params, NULL));
}

int
main(void)
{
    for (int i = 0; i < CASES; i++) {
        pid_t pid = fork();
        if (!pid) {
            alarm(300);
            make_context();
            compile();
            nanosleep(&(struct timespec){ .tv_nsec = i * STEP_MS * 1000000L }, NULL);
            exit(failures ? 1 : 42);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 42) {
            fprintf(stderr, "after %d ms: status %#x\n", i * STEP_MS, (unsigned)status);
            failures++;
        }
    }
    return failures != 0;
}
