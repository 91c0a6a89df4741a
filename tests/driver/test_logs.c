/* SPDX-License-Identifier: Apache-2.0
 * The error log: what the driver says reaches callbacks and copies in the manual's form, whether it is printed or not ("Error Log Management
 * Functions"), and so does each call that fails, as on an H200. What is said here: a block of parameters that is too long (two errors), an array of no known format (a
 * warning and an error), a kernel's fault (an error, by a thread that is not the program's). */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry quiet()\n{\n    ret;\n}\n"
                           ".visible .entry wild()\n{\n    .reg .b64 %d<2>;\n    mov.u64 %d1, 64;\n    st.global.u64 [%d1], %d1;\n    ret;\n}\n";
static CUmodule m;
static CUfunction f, wild;

static void
error(void)
{
    size_t size = 8, block = 0;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

static void
warning(void)
{
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 4, .Height = 1, .Format = (CUarray_format)0x7777, .NumChannels = 1 };
    CUarray a;
    EXPECT(cuArrayCreate_v2(&a, &d) != CUDA_SUCCESS);
}

/* "[Time][TID][Source][Severity] Message\n" */
static int
is_line(const char *s, char severity, const char *part)
{
    unsigned h, m, sec, ms;
    unsigned long tid;
    int at = 0;
    char who = 0;
    if (sscanf(s, "[%2u:%2u:%2u.%3u][%lu][CUDA][%c] %n", &h, &m, &sec, &ms, &tid, &who, &at) < 6 || !at)
        return 0;
    const char *end = strchr(s, '\n');
    return h < 24 && m < 60 && sec < 60 && ms < 1000 && tid == (unsigned long)pthread_self() && who == severity && end && strstr(s + at, part) && strstr(s + at, part) < end;
}

static const char RETURNING[] = "Returning 701 (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) from cuLaunchKernel", RETURNING_1[] = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuArrayCreate_v2";

static struct { int errors, warnings, good, order; CUlogsCallbackHandle unregister; } heard;

static void
hear(void *data, CUlogLevel level, char *message, size_t length)
{
    EXPECT(data == &heard && length && message[length - 1] != '\n' && strlen(message) == length && message[0] != '[');     /* H100: the message alone */
    *(level == CU_LOG_LEVEL_ERROR ? &heard.errors : &heard.warnings) += 1;
    heard.good += strstr(message, level == CU_LOG_LEVEL_WARNING ? "0x7777" : heard.errors % 2 ? "quiet" : RETURNING) != NULL;
    const CUlogsCallbackHandle a = heard.unregister;
    heard.unregister = NULL;
    if (a)
        OK(cuLogsUnregisterCallback(a));
}

static void
hear_second(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)level, (void)message, (void)length;
    EXPECT(data == &heard.order && heard.errors == ++heard.order);      /* H200: after those that were registered before it */
}

static void
callbacks(void)
{
    CUlogsCallbackHandle a, b;
    EXPECT_RESULT(cuLogsRegisterCallback(NULL, NULL, &a), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsRegisterCallback(hear, &heard, &a));
    error();
    EXPECT(heard.errors == 2 && heard.warnings == 0 && heard.good == 2);
    warning();
    EXPECT(heard.errors == 3 && heard.warnings == 1 && heard.good == 3);
    OK(cuLogsRegisterCallback(hear_second, &heard.order, &b));
    heard.order = heard.errors;
    error();
    EXPECT(heard.errors == 5 && heard.order == 5);
    OK(cuLogsUnregisterCallback(b));
    EXPECT_RESULT(cuLogsUnregisterCallback(b), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsUnregisterCallback(NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(heard.errors == 7 && heard.order == 5);
    CUstream s;
    OK(cuStreamCreate(&s, 0));
    const CUresult e = cuStreamQuery(s);
    EXPECT((e == CUDA_SUCCESS || e == CUDA_ERROR_NOT_READY) && heard.errors == 7);      /* NOT_READY is no error */
    OK(cuStreamDestroy_v2(s));
    OK(cuLogsRegisterCallback(hear, &heard, NULL));     /* no place for the handle is asked for: stays */
    heard.unregister = a;               /* by itself, while it runs */
    heard.errors = 0;
    error();
    EXPECT(heard.errors == 1 + 2);      /* a and the one that stays; then that alone */
    error();
    EXPECT(heard.errors == 5);
}

/* ---- calls that callbacks make ---- */

static int depth, told;

/* A module is loaded under locks of the driver, and a launch holds its stream. */
static void
uses_the_driver(void *data, CUlogLevel level, char *message, size_t length)
{
    CUdeviceptr p;
    CUmodule again;
    CUlogIterator i;
    (void)data, (void)level, (void)message, (void)length;
    EXPECT(depth++ == 0);
    told++;
    EXPECT_RESULT(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);      /* kept, and told to nobody */
    OK(cuLogsCurrent(&i, 0));
    OK(cuMemAlloc_v2(&p, 16));
    OK(cuMemFree_v2(p));
    OK(cuModuleLoadData(&again, text));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(again));
    depth--;
}

static void
calls(void)
{
    CUlogsCallbackHandle a;
    CUmodule bad;
    CUresult e;
    OK(cuLogsRegisterCallback(uses_the_driver, NULL, &a));
    error();
    EXPECT(told == 2);
    e = cuModuleLoadData(&bad, "nonsense");
    EXPECT(e != CUDA_SUCCESS && told >= 4);
    told = 0;
    warning();
    EXPECT(told == 2);
    OK(cuLogsUnregisterCallback(a));
}

/* ---- what other threads say ---- */

static pthread_t program;
static int of_kernel;

static void
on_the_programs_thread(void *data, CUlogLevel level, char *message, size_t length)
{
    sigset_t now;
    (void)data, (void)level, (void)length;
    EXPECT(!pthread_sigmask(SIG_SETMASK, NULL, &now) && !sigismember(&now, SIGUSR1) && pthread_equal(pthread_self(), program));
    of_kernel += strstr(message, "wild") != NULL;
}

static void
kernel_fault(void)
{
    CUlogsCallbackHandle a;
    CUresult e = CUDA_ERROR_NOT_READY;
    program = pthread_self();
    OK(cuLogsRegisterCallback(on_the_programs_thread, NULL, &a));
    OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    usleep(100000);
    EXPECT(!of_kernel);                 /* the program's thread was in no call */
    while (e == CUDA_ERROR_NOT_READY)
        e = cuStreamQuery(NULL);
    EXPECT_RESULT(e, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(of_kernel == 1);
    OK(cuLogsUnregisterCallback(a));
}

/* Its log begins empty: a thread that it has not may have been writing. */
static void
child(void)
{
    pid_t pid = fork();
    int status = -1;
    if (!pid) {
        char all[600];
        size_t size = sizeof all;
        const int before = heard.errors;
        EXPECT_RESULT(cuMemFree_v2(1), CUDA_ERROR_NOT_INITIALIZED);
        OK(cuLogsDumpToMemory(NULL, all, &size, 0));
        EXPECT(heard.errors == before + 1 && is_line(all, 'E', "Returning 3 (CUDA_ERROR_NOT_INITIALIZED) from cuMemFree_v2") && !strchr(strchr(all, '\n') + 1, '\n'));
        _exit(failures != 0);
    }
    waitpid(pid, &status, 0);
    EXPECT(!status);
}

static size_t
lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void
copies(void)
{
    static char all[25600 + 100];
    CUlogIterator here, at, again;
    size_t size = sizeof all;

    EXPECT_RESULT(cuLogsCurrent(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsCurrent(&here, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsCurrent(&here, 0));
    at = here;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == 0 && all[0] == 0 && at == here);     /* nothing to copy */
    error();
    warning();
    error();
    size = sizeof all;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    static const struct { char severity; const char *part; } want[] = { { 'E', "quiet" }, { 'E', RETURNING }, { 'W', "0x7777" }, { 'E', RETURNING_1 }, { 'E', "quiet" }, { 'E', RETURNING } };
    const char *last = all;
    EXPECT(size == strlen(all) && lines(all) == sizeof want / sizeof *want);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++, last = strchr(last, '\n') + 1) {
        EXPECT(is_line(last, want[i].severity, want[i].part));
        if (!strchr(strchr(last, '\n') + 1, '\n'))
            break;
    }
    OK(cuLogsCurrent(&again, 0));
    EXPECT(at == again);                /* it has advanced */
    size_t one = strlen(last), head;

    /* Too small for all: a line says so, and the most recent are there. */
    at = here;
    size = strlen(all);                 /* the zero does not fit */
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == strlen(all) && all[0] == '[' && !is_line(all, 'E', "quiet") && is_line(all + size - one, 'E', RETURNING));
    head = (size_t)(strchr(all, '\n') + 1 - all);
    EXPECT(lines(all) >= 2 && at == again);
    at = here;
    size = head + one + 1;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == head + one && lines(all) == 2 && is_line(all + head, 'E', RETURNING));
    at = here;
    size = head + one;                  /* not even one */
    EXPECT_RESULT(cuLogsDumpToMemory(&at, all, &size, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(size == 0 && all[0] == 0 && at == here);
    size = sizeof all;
    EXPECT_RESULT(cuLogsDumpToMemory(&at, NULL, &size, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToMemory(&at, all, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToMemory(&at, all, &size, 1), CUDA_ERROR_INVALID_VALUE);

    /* The oldest are overwritten. */
    for (int i = 0; i < 300; i++)
        error();
    size = sizeof all;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size <= 25600 + head && lines(all) == 101 && !is_line(all, 'E', "quiet"));
    size = sizeof all;
    OK(cuLogsDumpToMemory(NULL, all, &size, 0));
    EXPECT(lines(all) == 101);
    at = again + 1000000;               /* of no message */
    size = sizeof all;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == 0);
}

static void
file(void)
{
    char path[] = "/tmp/cudaway-logs-XXXXXX", line[600] = "";
    CUlogIterator at;
    int fd = mkstemp(path), n = 0;
    EXPECT(fd >= 0);
    close(fd);
    OK(cuLogsCurrent(&at, 0));
    error();
    OK(cuLogsDumpToFile(&at, path, 0));
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        n++;
    EXPECT(in && n == 2 && is_line(line, 'E', RETURNING));
    if (in)
        fclose(in);
    unlink(path);
    EXPECT_RESULT(cuLogsDumpToFile(&at, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToFile(&at, path, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToFile(&at, "/no/such/folder/file", 0), CUDA_ERROR_INVALID_VALUE);
}

/* CUDA_LOG_FILE: in a program of its own, since it is read as the library is loaded. */
static int
fails_once(void)
{
    CUlogIterator i;
    CUdeviceptr p;
    OK(cuLogsCurrent(&i, 0));           /* H200: before cuInit */
    OK(cuInit(0));
    EXPECT_RESULT(cuMemAlloc_v2(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
    return failures != 0;
}

static void
log_file(const char *self)
{
    char folder[] = "/tmp/cudaway-logs-XXXXXX", command[9000], line[600] = "";
    static const char *const names[] = { "log", "$PWD/log", "stdout", "stderr" };
    EXPECT(mkdtemp(folder));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(command, sizeof command, "cd %s && for i in 1 2; do CUDA_LOG_FILE=%s %s once %s; done && cat log", folder, names[i], self,
                 i < 2 ? "" : i == 2 ? ">> log" : "2>> log");
        FILE *in = popen(command, "r");
        int n = 0;
        while (in && fgets(line, sizeof line, in)) {
            unsigned time[4];
            unsigned long tid;
            int at = 0;
            n++;
            EXPECT(sscanf(line, "[%2u:%2u:%2u.%3u][%lu][CUDA][E] %n", time, time + 1, time + 2, time + 3, &tid, &at) == 5 && at &&
                   !strcmp(line + at, "Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuMemAlloc_v2\n"));
        }
        EXPECT(in && !pclose(in) && n == 2);
        snprintf(line, sizeof line, "%s/log", folder);
        unlink(line);
    }
    rmdir(folder);
    snprintf(command, sizeof command, "CUDA_LOG_FILE=/no/such/folder/log %s once", self);
    EXPECT(!system(command));
}

int
main(int argc, char **argv)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    const bool says_faults = !device || !strncmp(device, "host", 4);    /* gfxemu, as HIP, is another library */
    setenv("CUDAWAY_LOG", "off", 1);    /* nothing is printed */
    if (argc > 1)
        return fails_once();
    OK(cuInit(0));
    (void)make_context();
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "quiet"));
    OK(cuModuleGetFunction(&wild, m, "wild"));
    callbacks();
    calls();
    copies();
    file();
    child();
    log_file(argv[0]);
    if (says_faults)
        kernel_fault();
    return failures != 0;
}
