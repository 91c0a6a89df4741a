/* SPDX-License-Identifier: Apache-2.0
 * The libraries in a process whose files and descriptors are its own affair: closed and redirected ones, numbers that it uses again, none left, limits on files,
 * another folder, output that signals interrupt. */
#define _GNU_SOURCE
#include "tests/driver/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

/* ---- limits -------------------------------------------------------------------------------------------------------------- */

/* No file may be longer than nothing: no kernel is kept. Code for AMD is linked through files, so there it is an error of the call. */
static void
no_files(void)
{
    struct rlimit before, l;
    EXPECT(!getrlimit(RLIMIT_FSIZE, &before));
    l = before;
    l.rlim_cur = 0;
    EXPECT(!setrlimit(RLIMIT_FSIZE, &l));
    work();
    EXPECT(!setrlimit(RLIMIT_FSIZE, &before));      /* messages go to files, too */
    const char *device = getenv("CUDAWAY_DEVICE");
    if (!device || strncmp(device, "gfxemu", 6))
        EXPECT(!failed_call);
    EXPECT(!wrong);
    must_work();
}

/* Each call that writes a file is an error of its own, and no signal, whose default is to end the process. */
static void
file_limit(void)
{
    char log[] = "/tmp/cudaway-log-XXXXXX", dot[] = "/tmp/cudaway-dot-XXXXXX";
    CUcontext c = make_context();
    CUevent event;
    CUmemoryPool pool = NULL;
    CUmemGenericAllocationHandle allocation;
    CUgraph graph;
    CUgraphNode node;
    CUmodule m;
    CUdeviceptr memory = 0;
    CUipcMemHandle handle;
    const CUmemPoolProps shared = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAllocationProp pinned = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    struct rlimit before, l;
    int fd = -1;
    close(mkstemp(log));
    close(mkstemp(dot));
    OK(cuMemAlloc_v2(&memory, 4096));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    bool pools = cuMemPoolCreate(&pool, &shared) == CUDA_SUCCESS, handles = cuIpcGetMemHandle(&handle, memory) == CUDA_SUCCESS;
    EXPECT(!handles || !cuMemFree_v2(memory));
    EXPECT(!handles || !cuMemAlloc_v2(&memory, 4 << 20));
    EXPECT(cuModuleLoadData(&m, "no text of a module"));         /* something for the log */
    EXPECT(!getrlimit(RLIMIT_FSIZE, &before));
    l = before;
    l.rlim_cur = 0;
    EXPECT(!setrlimit(RLIMIT_FSIZE, &l));
    CUresult got[] = {
        cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), cuMemCreate(&allocation, 2 << 20, &pinned, 0),
        cuGraphDebugDotPrint(graph, dot, 0), pools ? cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) : 0,
        handles ? cuIpcGetMemHandle(&handle, memory) : 0, cuLogsDumpToFile(NULL, log, 0),
    };
    EXPECT(!setrlimit(RLIMIT_FSIZE, &before));
    EXPECT_RESULT(got[0], CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_RESULT(got[1], CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_RESULT(got[2], CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_RESULT(got[3], pools ? CUDA_ERROR_OPERATING_SYSTEM : 0);
    EXPECT_RESULT(got[4], handles ? CUDA_ERROR_OUT_OF_MEMORY : 0);
    EXPECT_RESULT(got[5], CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsDumpToFile(NULL, log, 0));
    OK(cuGraphDebugDotPrint(graph, dot, 0));
    EXPECT(!unlink(dot) && !unlink(log));
    OK(cuCtxDestroy_v2(c));
}

/* ---- descriptors ----------------------------------------------------------------------------------------------------------- */

/* This program again, with some of the descriptors 0 to 2 closed (bits), for the part `name`. Its status. */
static int
again(const char *name, unsigned closed)
{
    char self[] = "test_driver_descriptors", here[] = "--here", part[64], *const arguments[] = { self, here, part, NULL };
    snprintf(part, sizeof part, "%s", name);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        alarm(300);
        for (int i = 0; i < 3; i++)
            if (closed >> i & 1)
                close(i);
        execv("/proc/self/exe", arguments);
        _exit(9);
    }
    return status_of(child);
}

static int
at_stderr(const char *path, int flags)
{
    int fd = open(path, flags | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd == STDERR_FILENO);
    return fd;
}

static void
fault(void)
{
    static const char wild[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n.reg .b64 %d;\nmov.u64 %d, 64; st.global.u64 [%d], %d; ret;\n}\n";
    CUmodule m;
    CUfunction k;
    (void)make_context();
    OK(cuModuleLoadData(&m, wild));
    OK(cuModuleGetFunction(&k, m, "k"));
    OK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(cuCtxSynchronize() != CUDA_SUCCESS);
}

/* Nothing of ours has a number that the program prints to. */
static void
standard_closed_part(void)
{
    const CUmemAllocationProp pinned = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle allocation;
    CUevent event;
    CUcontext c = make_context();
    OK(cuMemCreate(&allocation, 2 << 20, &pinned, 0));
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    must_work();
    for (int i = 0; i < 3; i++)
        EXPECT(fcntl(i, F_GETFD) < 0 && errno == EBADF);
    OK(cuEventDestroy_v2(event));
    OK(cuMemRelease(allocation));
    OK(cuCtxDestroy_v2(c));
}

static void
standard_closed(void)
{
    char log[] = "/tmp/cudaway-log-XXXXXX";
    close(mkstemp(log));
    setenv("CUDAWAY_LOG", "info", true);
    setenv("CUDAWAY_LOG_FILE", log, true);
    EXPECT(again("standard_closed_part", 7) == 0);
    EXPECT(!unlink(log));
}

/* What the program opens as descriptor 2 is its own: there was none when it started, */
static void
none_at_start_part(void)
{
    struct stat st;
    int fd = at_stderr("none_at_start", O_WRONLY);
    fault();
    exit(failures || fstat(fd, &st) || st.st_size || unlink("none_at_start"));
}

/* or it has closed that and opened a file to read and write. */
static void
closed_by_program_part(void)
{
    struct stat st;
    close(STDERR_FILENO);
    int fd = at_stderr("closed_by_program", O_RDWR);
    fault();
    exit(failures || fstat(fd, &st) || st.st_size || unlink("closed_by_program"));
}

/* A file that can only be written to is where the program wants messages. */
static void
redirected_part(void)
{
    struct stat st;
    close(STDERR_FILENO);
    int fd = at_stderr("redirected", O_WRONLY | O_APPEND);
    fault();
    exit(failures || fstat(fd, &st) || !st.st_size || unlink("redirected"));
}

static void
standard_error(void)
{
    char folder[] = "/tmp/cudaway-stderr-XXXXXX";
    EXPECT(mkdtemp(folder) && !chdir(folder));
    setenv("CUDAWAY_LOG", "warn", true);
    EXPECT(again("none_at_start_part", 4) == 0);
    EXPECT(again("closed_by_program_part", 0) == 0);
    EXPECT(again("redirected_part", 0) == 0);
    EXPECT(!rmdir(folder));
}

static void
no_reader_part(void)
{
    OK(cuInit(0));
}

/* What the settings themselves give rise to ends no program, either. */
static void
no_reader(void)
{
    int ends[2], was = dup(STDERR_FILENO), status[2];
    EXPECT(!pipe(ends) && !close(ends[0]) && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && !close(ends[1]));
    setenv("CUDAWAY_LOG", "nonsense", true);
    status[0] = again("no_reader_part", 0);
    setenv("CUDAWAY_LOG", "help", true);
    status[1] = again("no_reader_part", 0);
    dup2(was, STDERR_FILENO);
    EXPECT(!status[0] && !status[1]);
}

/* closefrom(3), as daemons do, and a program whose sockets have all the numbers since: nothing is written to them, and none is closed. */
static void
closed_from_part(void)
{
    enum { SOCKETS = 40 };
    int pair[2], s[SOCKETS];
    char byte;
    CUdeviceptr p;
    CUcontext c = make_context();
    must_work();
    syscall(SYS_close_range, 3, ~0u, 0);
    EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair));
    for (unsigned i = 0; i < SOCKETS; i++)
        s[i] = dup(pair[0]);
    if (!cuMemAlloc_v2(&p, 4096))
        cuMemFree_v2(p);
    work();                             /* whatever comes of it */
    cuCtxDestroy_v2(c);
    EXPECT(recv(pair[1], &byte, 1, 0) < 0 && errno == EAGAIN);
    for (unsigned i = 0; i < SOCKETS; i++)
        EXPECT(fcntl(s[i], F_GETFD) >= 0);
}

static void
closed_from(void)
{
    char log[] = "/tmp/cudaway-log-XXXXXX";
    const char *device = getenv("CUDAWAY_DEVICE");
    close(mkstemp(log));
    setenv("CUDAWAY_LOG", "info", true);
    setenv("CUDAWAY_LOG_FILE", log, true);
    int messages = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);          /* the log goes there once its file is closed */
    int status = again("closed_from_part", 0), isolated = 0;
    if (device && !strcmp(device, "host")) {
        setenv("CUDAWAY_ISOLATE", "1", true);
        isolated = again("closed_from_part", 0);
    }
    dup2(messages, STDERR_FILENO);
    EXPECT(status == 0 && isolated == 0);
    EXPECT(!unlink(log));
}

/* No descriptor is free for a moment: the error is that memory is short, and later all works, with the settings of the file. */
static void
no_descriptors_part(void)
{
    struct rlimit l = { 64, 64 };
    int fd[64], n = 0, version = 0;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &l));
    while ((fd[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    EXPECT_RESULT(cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 16; i++)
        close(fd[--n]);
    CUcontext c = make_context();
    OK(cuDriverGetVersion(&version));
    EXPECT(version == 12030);
    while ((fd[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    work();
    EXPECT(failed_code == CUDA_ERROR_OUT_OF_MEMORY);
    while (n)
        close(fd[--n]);
    failed_call = wrong = NULL;
    must_work();
    OK(cuCtxDestroy_v2(c));
}

static void
no_descriptors(void)
{
    char path[] = "/tmp/cudaway-conf-XXXXXX";
    int fd = mkstemp(path);
    EXPECT(fd >= 0 && dprintf(fd, "CUDAWAY_DRIVER_VERSION = 12.3\n") > 0 && !close(fd));
    setenv("CUDAWAY_CONFIG", path, true);
    EXPECT(again("no_descriptors_part", 0) == 0);
    EXPECT(!unlink(path));
}

/* ---- another folder -------------------------------------------------------------------------------------------------------- */

static void
moved_part(void)
{
    EXPECT(!chdir("/"));
    must_work();
}

/* The library path is relative, and the process changes its folder before it needs the compiler. */
static void
moved(void)
{
    char library[4096], *slash, folder[] = "/tmp/cudaway-moved-XXXXXX", link[100];
    Dl_info info;
    EXPECT(dladdr((const void *)(uintptr_t)&cuInit, &info) && realpath(info.dli_fname, library) && (slash = strrchr(library, '/')) != NULL);
    *slash = 0;
    EXPECT(mkdtemp(folder) && snprintf(link, sizeof link, "%s/lib", folder) > 0 && !symlink(library, link) && !chdir(folder));
    setenv("LD_LIBRARY_PATH", "lib", true);
    EXPECT(again("moved_part", 0) == 0);
    EXPECT(!unlink(link) && !rmdir(folder));
}

/* ---- output ---------------------------------------------------------------------------------------------------------------- */

static void
tick(int signal)
{
    (void)signal;
}

/* Kernels print more than a pipe holds, and signals interrupt the write. */
static void
printed(void)
{
    enum { LINE = 33, THREADS = 256, BLOCKS = 20 };
    static const char prints[] = ".version 7.1\n.target sm_60\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 fmt[34] = {48,49,50,51,52,53,54,55,56,57,48,49,50,51,52,53,54,55,56,57,48,49,50,51,52,53,54,55,56,57,48,49,10,0};\n"
        ".visible .entry k()\n{\n.reg .b64 %d<3>; .reg .b32 %r<2>;\nmov.u64 %d1, fmt; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 r;\nst.param.b64 [a], %d1; st.param.b64 [b], %d2; call.uni (r), vprintf, (a, b); }\nret;\n}\n";
    const struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
    const struct sigaction a = { .sa_handler = tick };
    int p[2];
    CUmodule m;
    CUfunction k;
    EXPECT(!pipe(p));
    fflush(NULL);
    pid_t reader = fork();
    if (!reader) {
        char some[512];
        size_t sum = 0;
        close(p[1]);
        usleep(100000);
        for (ssize_t n; (n = read(p[0], some, sizeof some)) > 0; sum += (size_t)n)
            usleep(300);
        _exit(sum == (size_t)LINE * THREADS * BLOCKS + 6 ? 0 : 1);
    }
    dup2(p[1], STDOUT_FILENO);
    close(p[0]);
    close(p[1]);
    CUcontext c = make_context();
    OK(cuModuleLoadData(&m, prints));
    OK(cuModuleGetFunction(&k, m, "k"));
    printf("first\n");                  /* in the stream's buffer */
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    OK(cuLaunchKernel(k, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    setitimer(ITIMER_REAL, &none, NULL);
    OK(cuCtxDestroy_v2(c));
    fclose(stdout);
    EXPECT(status_of(reader) == 0);
}

/* ---- */

static const struct test parts[] = {    /* programs of their own (again()) */
    { "standard_closed_part", standard_closed_part }, { "none_at_start_part", none_at_start_part }, { "closed_by_program_part", closed_by_program_part },
    { "redirected_part", redirected_part }, { "no_reader_part", no_reader_part }, { "closed_from_part", closed_from_part }, { "no_descriptors_part", no_descriptors_part },
    { "moved_part", moved_part }, { 0 },
};

static const struct test tests[] = {
    { "no_files", no_files }, { "file_limit", file_limit }, { "standard_closed", standard_closed }, { "standard_error", standard_error }, { "no_reader", no_reader }, { "closed_from", closed_from },
    { "no_descriptors", no_descriptors }, { "moved", moved }, { "printed", printed, true }, { 0 },
};

int
main(int argc, char **argv)
{
    return run_tests(argc, argv, tests, parts);
}
