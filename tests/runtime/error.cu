/* SPDX-License-Identifier: Apache-2.0
 * The last error: of the thread, kept until it is read; errors that end a context stay. Names and texts. */
#include "test.h"

#include <pthread.h>
#include <unistd.h>

__global__ void
fault(int *p)
{
    asm volatile("trap;");
    *p = 1;
}

static void *
other_thread(void *)
{
    EXPECT_RESULT(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_RESULT(cudaSetDevice(99), cudaErrorInvalidDevice);
    EXPECT_RESULT(cudaGetLastError(), cudaErrorInvalidDevice);
    return NULL;
}

static void
hear(void *data, cudaLogLevel level, char *message, size_t length)
{
    ++*(int *)data;
    EXPECT(level == cudaLogLevelError || level == cudaLogLevelWarning);
    EXPECT(length && length == strlen(message) && !strstr(message, "]["));       /* H100: the message alone */
}

/* What was wrong with a call, in words ("Error Log Management", Programming Guide). The driver's own test is tests/driver/test_logs.c. */
static void
error_log(void)
{
    char text[4000] = "";
    size_t size = sizeof text;
    int heard = 0;
    void *p;
    cudaLibrary_t lib;
    cudaLogIterator at;
    cudaLogsCallbackHandle h = NULL;

    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsRegisterCallback(hear, &heard, &h));
    if (on_nvidia()) {
        REFUSED(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
        NOTE(heard);
        OK(cudaMalloc(&p, 4));
        OK(cudaFree(p));
    } else {
        REFUSED(cudaLibraryLoadData(&lib, "no code at all", NULL, NULL, 0, NULL, NULL, 0), cudaErrorInvalidKernelImage);
        EXPECT(heard >= 1);
    }
    OK(cudaLogsUnregisterCallback(h));
    OK(cudaLogsDumpToMemory(&at, text, &size, 0));
    EXPECT(size == strlen(text));
    EXPECT(on_nvidia() || strstr(text, "][CUDA][E] "));
    if (on_nvidia())
        fprintf(stderr, "%s:%d: note: the error log has: %s\n", __FILE__, __LINE__, text);
}

int
main(void)
{
    void *p;
    pthread_t t;

    EXPECT(!strcmp(cudaGetErrorName(cudaSuccess), "cudaSuccess"));
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady"));
    EXPECT(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"));
    EXPECT(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
    EXPECT(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    for (int i = 0; i <= 999; i++)
        EXPECT(*cudaGetErrorName((cudaError_t)i) && *cudaGetErrorString((cudaError_t)i));

    OK(cudaGetLastError());
    EXPECT_RESULT(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 4));                          /* success does not clear it */
    EXPECT_RESULT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT(!pthread_create(&t, NULL, other_thread, NULL));
    pthread_join(t, NULL);
    EXPECT_RESULT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT_RESULT(cudaMemcpy(p, p, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);   /* a later one replaces it */
    EXPECT_RESULT(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
    OK(cudaGetLastError());
    error_log();

    /* A trap ends the context: every call that needs it says so until the device is reset. A HIP process cannot go on, and on an H200
     * memory is refused after the reset, too (46). */
    if (on_host()) {
        fault<<<1, 1>>>((int *)p);
        EXPECT_RESULT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        EXPECT_RESULT(cudaGetLastError(), cudaErrorLaunchFailure);
        OK(cudaGetLastError());
        EXPECT_RESULT(cudaMalloc(&p, 4), cudaErrorLaunchFailure);
        EXPECT_RESULT(cudaMemset(p, 0, 4), cudaErrorLaunchFailure);
        OK(cudaDeviceReset());
        EXPECT_RESULT(cudaGetLastError(), cudaErrorLaunchFailure);
        OK(cudaMalloc(&p, 4));
        OK(cudaMemset(p, 0, 4));
        OK(cudaFree(p));
    }
    return test_result();
}
