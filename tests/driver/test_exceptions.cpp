/* SPDX-License-Identifier: Apache-2.0
 * C++ programs whose functions throw through the driver: a user object's destructor runs in the call that drops the last reference, and that call may stand in
 * a try block, and so may a call whose error a callback of the log hears of. The thread is as before then: its calls are not taken for a destructor's, and it can be cancelled. */
extern "C" {
#include "tests/driver/test.h"
}
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct thrown {};

void CUDA_CB
throws(void *)
{
    throw thrown();
}

void CUDA_CB
throws_from_callback(CUstream, CUresult, void *)
{
    throw thrown();
}

void
as_before()
{
    CUdeviceptr p = 0;
    int cancel;
    OK(cuMemAlloc_v2(&p, 100));
    OK(cuMemFree_v2(p));
    EXPECT(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel) && cancel == PTHREAD_CANCEL_ENABLE);
}

void
object()
{
    CUuserObject o;
    bool caught = false;
    OK(cuUserObjectCreate(&o, nullptr, throws, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    try {
        OK(cuUserObjectRelease(o, 1));
    } catch (const thrown &) {
        caught = true;
    }
    EXPECT(caught);
    as_before();
    EXPECT_RESULT(cuUserObjectRelease(o, 1), CUDA_ERROR_INVALID_VALUE);     /* it has gone */
}

void
graph()
{
    CUuserObject o;
    CUgraph g;
    bool caught = false;
    OK(cuGraphCreate(&g, 0));
    OK(cuUserObjectCreate(&o, nullptr, throws, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    try {
        OK(cuGraphDestroy(g));
    } catch (const thrown &) {
        caught = true;
    }
    EXPECT(caught);
    as_before();
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphDestroy(g));
}

/* The call that drops the last reference is one of a graph that stays, or of an executable graph: nothing of them stays behind (for the leak sanitizer). */
void
graph_that_stays()
{
    CUuserObject o;
    CUgraph g;
    CUgraphExec x;
    for (int executable = 0; executable < 2; executable++) {
        bool caught = false;
        OK(cuGraphCreate(&g, 0));
        OK(cuUserObjectCreate(&o, nullptr, throws, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
        if (executable) {
            OK(cuGraphInstantiateWithFlags(&x, g, 0));
            OK(cuGraphLaunch(x, nullptr));
            OK(cuCtxSynchronize());
            OK(cuGraphReleaseUserObject(g, o, 1));
        }
        try {
            OK(executable ? cuGraphExecDestroy(x) : cuGraphReleaseUserObject(g, o, 1));
        } catch (const thrown &) {
            caught = true;
        }
        EXPECT(caught);
        as_before();
        OK(cuGraphDestroy(g));
    }
}

int heard;

void CUDA_CB
throws_when_told(void *, CUlogLevel, char *, size_t)
{
    heard++;
    throw thrown();
}

void *
leaves_when_told(void *)
{
    (void)cuMemFree_v2(12345);
    EXPECT(!"a call that ended the thread");
    return nullptr;
}

void CUDA_CB
ends_its_thread(void *, CUlogLevel, char *, size_t)
{
    heard++;
    pthread_exit(nullptr);
}

/* A callback of the log throws out of the call that failed, or ends its thread: others are told as before. */
void
of_the_log()
{
    CUlogsCallbackHandle a;
    OK(cuLogsRegisterCallback(throws_when_told, nullptr, &a));
    for (int i = 1; i <= 2; i++) {
        bool caught = false;
        try {
            (void)cuMemFree_v2(12345);
        } catch (const thrown &) {
            caught = true;
        }
        EXPECT(caught && heard == i);
        as_before();
    }
    OK(cuLogsUnregisterCallback(a));
    OK(cuLogsRegisterCallback(ends_its_thread, nullptr, &a));
    for (int i = 3; i <= 4; i++) {
        pthread_t t;
        EXPECT(!pthread_create(&t, nullptr, leaves_when_told, nullptr) && !pthread_join(t, nullptr) && heard == i);
    }
    OK(cuLogsUnregisterCallback(a));
    EXPECT_RESULT(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);
    EXPECT(heard == 4);
}

/* On the device's thread nobody catches: the C++ library ends the process, as with any thread's function. */
void
of_a_stream(bool callback)
{
    fflush(nullptr);
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        alarm(60);
        make_context();
        try {
            if (callback)
                cuStreamAddCallback(nullptr, throws_from_callback, nullptr, 0);
            else
                cuLaunchHostFunc(nullptr, throws, nullptr);
            cuCtxSynchronize();
        } catch (const thrown &) {
        }
        _exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

}

int
main()
{
    of_a_stream(false);         /* first: a child has no driver that its parent has started */
    of_a_stream(true);
    CUcontext c = make_context();
    object();
    graph();
    graph_that_stays();
    of_the_log();
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
