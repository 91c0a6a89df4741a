/* SPDX-License-Identifier: Apache-2.0
 * The error log: what the driver says reaches callbacks and copies in the manual's form, whether it is printed or not ("Error Log Management
 * Functions"). What is said here: a block of parameters that is too long (an error), an array of no known format (a warning). */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <unistd.h>

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry quiet()\n{\n    ret;\n}\n";
static CUfunction f;

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

static struct { int errors, warnings, good; CUlogsCallbackHandle unregister; } heard;

static void
hear(void *data, CUlogLevel level, char *message, size_t length)
{
    EXPECT(data == &heard && length && message[length - 1] != '\n' && strlen(message) == length && message[0] != '[');     /* H100: the message alone */
    *(level == CU_LOG_LEVEL_ERROR ? &heard.errors : &heard.warnings) += 1;
    heard.good += strstr(message, level == CU_LOG_LEVEL_ERROR ? "quiet" : "0x7777") != NULL;
    if (heard.unregister)
        OK(cuLogsUnregisterCallback(heard.unregister));
}

static void
callbacks(void)
{
    CUlogsCallbackHandle a, b;
    EXPECT_RESULT(cuLogsRegisterCallback(NULL, NULL, &a), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsRegisterCallback(hear, &heard, &a));
    error();
    EXPECT(heard.errors == 1 && heard.warnings == 0 && heard.good == 1);
    warning();
    EXPECT(heard.errors == 1 && heard.warnings == 1 && heard.good == 2);
    OK(cuLogsRegisterCallback(hear, &heard, &b));
    error();
    EXPECT(heard.errors == 3);
    OK(cuLogsUnregisterCallback(b));
    EXPECT_RESULT(cuLogsUnregisterCallback(b), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsUnregisterCallback(NULL), CUDA_ERROR_INVALID_VALUE);
    error();
    EXPECT(heard.errors == 4);
    OK(cuLogsRegisterCallback(hear, &heard, NULL));     /* no place for the handle is asked for: stays */
    heard.unregister = a;               /* by itself, while it runs */
    heard.errors = 0;
    error();
    heard.unregister = NULL;
    int then = heard.errors;
    error();
    EXPECT(then >= 1 && heard.errors == then + 1);      /* the one that stays */
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
    const char *second = strchr(all, '\n') + 1, *third = strchr(second, '\n') + 1;
    EXPECT(size == strlen(all) && lines(all) == 3 && is_line(all, 'E', "quiet") && is_line(second, 'W', "0x7777") && is_line(third, 'E', "quiet"));
    OK(cuLogsCurrent(&again, 0));
    EXPECT(at == again);                /* it has advanced */
    size_t one = strlen(third), head;

    /* Too small for all: a line says so, and the most recent are there. */
    at = here;
    size = strlen(all);                 /* the zero does not fit */
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == strlen(all) && all[0] == '[' && !is_line(all, 'E', "quiet") && is_line(all + size - one, 'E', "quiet"));
    head = (size_t)(strchr(all, '\n') + 1 - all);
    EXPECT(lines(all) >= 2 && at == again);
    at = here;
    size = head + one + 1;
    OK(cuLogsDumpToMemory(&at, all, &size, 0));
    EXPECT(size == head + one && lines(all) == 2 && is_line(all + head, 'E', "quiet"));
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
    EXPECT(in && n == 1 && is_line(line, 'E', "quiet"));
    if (in)
        fclose(in);
    unlink(path);
    EXPECT_RESULT(cuLogsDumpToFile(&at, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToFile(&at, path, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLogsDumpToFile(&at, "/no/such/folder/file", 0), CUDA_ERROR_INVALID_VALUE);
}

int
main(void)
{
    CUmodule m;
    CUlogIterator i;

    EXPECT_RESULT(cuLogsCurrent(&i, 0), CUDA_ERROR_NOT_INITIALIZED);
    setenv("CUDAWAY_LOG", "off", 1);    /* nothing is printed */
    OK(cuInit(0));
    (void)make_context();
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "quiet"));
    callbacks();
    copies();
    file();
    return failures != 0;
}
