/* SPDX-License-Identifier: Apache-2.0
 * The program under test: its arguments are the calls that it makes, in this order. "result N" is what a call returned. Compiled as a
 * library (LIBRARY), main is `entry`. */
#include "tests/runtime/redirect/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int
call(const char *what)
{
    void *p = (void *)0x123456789abcdef0;
    int number = 42;
    if (!strcmp(what, "malloc"))
        return cudaMalloc(&p, 100);
    if (!strcmp(what, "free"))
        return cudaFree(NULL);
    if (!strcmp(what, "device"))
        return cudaSetDevice(-3);
    if (!strcmp(what, "async"))
        return cudaMemcpyAsync(p, (void *)0xfedcba9876543210, 0x1122334455667788, 3, (void *)0x77);
    if (!strcmp(what, "array"))
        return cudaMemcpy2DToArray((void *)0x10, 1, 2, (void *)0x40, 5, 6, 7, 2);
    if (!strcmp(what, "3d")) {
        struct pitched q = { 0 };
        int e = cudaMalloc3D(&q, (struct extent){ 11, 22, 33 });
        return e ? e : q.p != (void *)0x2000;
    }
    if (!strcmp(what, "launch"))
        return cudaLaunchKernel((void *)0x50, (struct dim3){ 1, 2, 3 }, (struct dim3){ 4, 5, 6 }, (void *[]){ &number }, 99, (void *)0x88);
    if (!strcmp(what, "init"))
        return cudaInitDevice(1, 2, 3);
    if (!strcmp(what, "driver")) {          /* the program's own use of it, before the Runtime's */
        void *lib = dlopen("libcuda.so.1", RTLD_NOW);
        int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
        return init ? init(0) : -1;
    }
    if (!strcmp(what, "full")) {            /* the same while no file can be opened */
        void *lib = dlopen("libcuda.so.1", RTLD_NOW);
        int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
        struct rlimit all, none;
        if (!init || getrlimit(RLIMIT_NOFILE, &all))
            return -1;
        none = all;
        none.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &none);
        (void)init(0);
        setrlimit(RLIMIT_NOFILE, &all);
        return 0;
    }
    if (!strcmp(what, "only"))
        return cudaOnlyStatic(0);
    return -1;
}

static void *
in_thread(void *what)
{
    printf("result %d\n", call(what));
    return NULL;
}

/* Every call three times, at the same time, each as its thread's first. */
static int
many_threads(void)
{
    static const char *const calls[] = { "malloc", "free", "device", "async", "array", "3d", "launch", "init" };
    enum { COUNT = sizeof calls / sizeof *calls, THREADS = 3 * COUNT };
    pthread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, in_thread, (void *)calls[i % COUNT]))
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return 0;
}

#ifdef EARLY
/* Before the constructors that register device code. */
__attribute__((constructor(101))) static void
early(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("early %d\n", call("malloc"));
}
#endif

#ifdef LIBRARY
int entry(int argc, char **argv);
int
entry(int argc, char **argv)
#else
int
main(int argc, char **argv)
#endif
{
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("begin\n");
    for (int i = 1; i < argc; i++) {
        pthread_t t;
        if (!strcmp(argv[i], "child")) {        /* the rest is for a child, started anew */
            pid_t pid = fork();
            if (!pid) {
                argv[i] = argv[0];
                execv(argv[0], argv + i);
                _exit(1);
            }
            waitpid(pid, NULL, 0);
            return 0;
        }
        if (!strcmp(argv[i], "threads")) {
            if (many_threads())
                return 1;
            continue;
        }
        if (*argv[i] == '@') {
            if (pthread_create(&t, NULL, in_thread, argv[i] + 1) || pthread_join(t, NULL))
                return 1;
            continue;
        }
        printf("result %d\n", call(argv[i]));
    }
    return 0;
}
