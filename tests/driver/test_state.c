/* SPDX-License-Identifier: Apache-2.0
 * What a process has besides its memory stays the program's, whatever the device: signals, limits, locale, folder, environment, rounding, timers. LLVM, LLD and a
 * process for kernels have ideas of their own about some. What is opened does not pass to the programs that this one starts. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

enum { TIMERS = 3, MOST_FDS = 256 };

static struct state {
    void (*handler[NSIG])(int);
    sigset_t mask;
    char locale[256], folder[4096], name[16];
    mode_t umask;
    struct rlimit limits[RLIMIT_NLIMITS];
    char **environment;
    unsigned variables;
    int rounding, traps, dumpable, nice, reaper;
    bool timer[TIMERS], open[MOST_FDS];
} before, after;

static void
look(struct state *s)
{
    struct sigaction a;
    struct itimerval t;
    for (int i = 1; i < NSIG; i++)
        s->handler[i] = sigaction(i, NULL, &a) ? SIG_ERR : a.sa_handler;
    pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    EXPECT(getcwd(s->folder, sizeof s->folder));
    prctl(PR_GET_NAME, s->name);
    s->umask = umask(0);
    umask(s->umask);
    for (int i = 0; i < RLIMIT_NLIMITS; i++)
        (void)getrlimit((__rlimit_resource_t)i, &s->limits[i]);
    s->environment = environ;
    for (s->variables = 0; environ[s->variables]; s->variables++) { }
    s->rounding = fegetround();
    s->traps = fegetexcept();
    s->dumpable = prctl(PR_GET_DUMPABLE);
    prctl(PR_GET_CHILD_SUBREAPER, &s->reaper);
    s->nice = getpriority(PRIO_PROCESS, 0);
    for (int i = 0; i < TIMERS; i++)
        s->timer[i] = !getitimer((__itimer_which_t)i, &t) && (t.it_value.tv_sec || t.it_value.tv_usec);
    for (int i = 0; i < MOST_FDS; i++)
        s->open[i] = fcntl(i, F_GETFD) >= 0;
}

static void CUDA_CB
called(void *of)
{
    (*(unsigned *)of)++;
}

static void
work(void)
{
    static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n    .reg .b64 %p;\n"
                               "    ld.param.u64 %p, [p];\n    st.global.u32 [%p], 7;\n    ret;\n}\n";
    static unsigned calls;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUdeviceptr p;
    CUlinkState l;
    CUgraph g;
    CUgraphExec x;
    void *image, *args[] = { &p };
    size_t size;
    unsigned got = 0;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuLinkCreate_v2(0, NULL, NULL, &l));
    OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "text", 0, NULL, NULL));
    OK(cuLinkComplete(l, &image, &size));
    OK(cuModuleLoadData(&m, image));
    OK(cuLinkDestroy(l));
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
    OK(cuLaunchHostFunc(s, called, &calls));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphInstantiateWithFlags(&x, g, 0));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(&got, p, 4));
    EXPECT(calls == 1);
    OK(cuGraphExecDestroy(x));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
    OK(cuMemFree_v2(p));
    OK(cuModuleUnload(m));
    OK(cuCtxDestroy_v2(c));
}

#define SAME(what) EXPECT(!memcmp(&before.what, &after.what, sizeof before.what))

int
main(void)
{
    umask(027);
    feenableexcept(FE_DIVBYZERO);
    fesetround(FE_UPWARD);
    look(&before);
    work();
    look(&after);
    for (int i = 1; i < NSIG; i++)
        if (before.handler[i] != after.handler[i] && i != SIGSEGV && i != SIGBUS && i != SIGFPE && i != SIGILL) {
            fprintf(stderr, "signal %d (%s) has another handler\n", i, strsignal(i));
            failures++;
        }
    SAME(mask);
    EXPECT(!strcmp(before.locale, after.locale));
    EXPECT(!strcmp(before.folder, after.folder));
    EXPECT(!strcmp(before.name, after.name));
    SAME(umask);
    SAME(limits);
    SAME(environment);
    SAME(variables);
    SAME(rounding);
    SAME(traps);
    SAME(dumpable);
    SAME(reaper);
    SAME(nice);
    SAME(timer);
    for (int i = 0; i < MOST_FDS; i++)
        if (after.open[i] && !before.open[i] && !(fcntl(i, F_GETFD) & FD_CLOEXEC)) {
            char link[32], to[256] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", i);
            (void)!readlink(link, to, sizeof to - 1);
            fprintf(stderr, "file %d (%s) would pass to programs that this one starts\n", i, to);
            failures++;
        }
    return failures != 0;
}
