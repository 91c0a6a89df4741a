/* SPDX-License-Identifier: Apache-2.0
 * Any function of the driver with addresses that cannot be touched (any_call.h), in a program whose handler of SIGSEGV leaves the call by a long jump: no lock is
 * kept, since calls touch the program's memory without one (left.h). `test_driver_left [seconds [seed]]`. */
#define _GNU_SOURCE
#include "tests/left.h"

#include "tests/driver/any_call.h"

/* Lists and values that are only looked at when all the rest of the call is right, which chance seldom is. */
#define LEFT(call)                                                                                                     \
    do {                                                                                                               \
        static CUresult e_;                                                                                            \
        if (!IS_LEFT(e_ = (call))) {                                                                                   \
            fprintf(stderr, "%s: %d\n", #call, (int)e_);                                                               \
            failures++;                                                                                                \
        }                                                                                                              \
        failures += kept();                                                                                            \
    } while (0)
static void
right_but_for_memory(void)
{
    static CUgraph g;
    static CUgraphNode kernel, empty;
    static CUstream stream;
    static CUmodule module;
    static CUfunction f;
    void *nothing = untouchable();
    CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
    OK(cuCtxSetCurrent(atomic_load(&contexts[0])));
    OK(cuModuleLoadData(&module, ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k() { ret; }\n"));
    OK(cuModuleGetFunction(&f, module, "k"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    const CUDA_KERNEL_NODE_PARAMS p = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    OK(cuGraphAddKernelNode_v2(&kernel, g, NULL, 0, &p));
    LEFT(cuGraphAddEmptyNode(&empty, g, nothing, 1));
    OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    LEFT(cuGraphAddNode_v2(&empty, g, nothing, NULL, 1, &any));
    LEFT(cuGraphAddNode_v2(&empty, g, &kernel, nothing, 1, &any));
    LEFT(cuGraphAddDependencies_v2(g, &kernel, nothing, NULL, 1));
    LEFT(cuGraphAddDependencies_v2(g, nothing, &empty, NULL, 1));
    LEFT(cuGraphAddDependencies_v2(g, &kernel, &empty, nothing, 1));
    OK(cuGraphAddDependencies_v2(g, &kernel, &empty, NULL, 1));
    LEFT(cuGraphRemoveDependencies_v2(g, &kernel, nothing, NULL, 1));
    LEFT(cuGraphKernelNodeGetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, nothing));
    LEFT(cuGraphKernelNodeGetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, nothing));
    LEFT(cuGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, nothing));
    LEFT(cuGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, nothing));
    LEFT(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nothing));
    LEFT(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nothing));
    LEFT(cuStreamBeginCaptureToGraph(stream, g, nothing, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCaptureToGraph(stream, g, &kernel, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    LEFT(cuStreamUpdateCaptureDependencies_v2(stream, nothing, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    LEFT(cuStreamUpdateCaptureDependencies_v2(stream, &kernel, nothing, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuStreamEndCapture(stream, &g));
}

int
main(int argc, char **argv)
{
    static time_t end;
    static struct dice s;
    end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
    s = (struct dice){ .state = 0x9e3779b97f4a7c15ull * (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) };
    handle_faults();
    lenient = true;
    no_log();
    OK(cuInit(0));
    make_contexts();
    right_but_for_memory();
    static unsigned i;
    for (; time(NULL) < end && !failures; i++) {
        if (i % 8 == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        if (i % 4 == 0)
            work_step(&s);
        if (i % 1024 == 0)
            context_step(&s);
        if (IS_LEFT(any_step(&s)))
            failures += kept();
    }
    printf("%u calls left\n", left);
    EXPECT(left > 100);
    fflush(NULL);
    _exit(failures != 0);       /* what the calls that were left had is lost */
}
