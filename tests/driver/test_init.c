/* SPDX-License-Identifier: Apache-2.0
 * Start-up, error texts, device properties, fork. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int over;

static void *
calls(void *c)
{
    CUevent e;
    OK(cuCtxSetCurrent(c));
    while (!atomic_load(&over)) {
        OK(cuEventCreate(&e, 0));
        OK(cuEventRecord(e, CU_STREAM_PER_THREAD));
        OK(cuEventDestroy_v2(e));
    }
    return c;
}

static void
leave(void *unused)
{
    _exit(0);
}

/* A child's thread ends, whatever locks other threads held as it was made. */
static void
forked_thread_ends(void)
{
    CUcontext c = make_context();
    pthread_t t[2];
    pthread_key_t last;
    OK(cuMemsetD8Async(0, 0, 0, CU_STREAM_PER_THREAD));     /* it has a stream of its own */
    EXPECT(!pthread_key_create(&last, leave));      /* behind the driver's, so that its destructor comes last */
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, calls, c);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (!pid) {
            alarm(60);
            pthread_setspecific(last, &last);
            pthread_exit(NULL);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        EXPECT(status == 0);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    OK(cuCtxDestroy_v2(c));
}

int
main(void)
{
    int v = 0, n = 0;
    const char *s = NULL;
    CUdevice d;
    EXPECT_RESULT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&v));
    EXPECT(v == 13000);
    setenv("CUDAWAY_DRIVER_VERSION", "13.4", 1);
    OK(cuDriverGetVersion(&v));
    EXPECT(v == 13040);
    setenv("CUDAWAY_DRIVER_VERSION", "13.40", 1);
    OK(cuDriverGetVersion(&v));
    EXPECT(v == 13000);
    unsetenv("CUDAWAY_DRIVER_VERSION");
    EXPECT_RESULT(cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));

    /* Values from the driver API manual's table of results. */
    OK(cuGetErrorName((CUresult)700, &s));
    EXPECT(!strcmp(s, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    OK(cuGetErrorName((CUresult)0, &s));
    EXPECT(!strcmp(s, "CUDA_SUCCESS"));
    OK(cuGetErrorString((CUresult)209, &s));
    EXPECT(!strcmp(s, "no kernel image is available for execution on the device"));
    EXPECT_RESULT(cuGetErrorName((CUresult)12345, &s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(s == NULL);

    OK(cuDeviceGetCount(&n));
    EXPECT(n >= 1);
    EXPECT_RESULT(cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceGet(&d, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGet(&d, 0));
    char name[8];
    OK(cuDeviceGetName(name, sizeof name, d));
    EXPECT(memchr(name, 0, sizeof name) != NULL);
    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++) {
        v = -12345;
        OK(cuDeviceGetAttribute(&v, (CUdevice_attribute)a, d));
        EXPECT(v != -12345);
    }
    EXPECT_RESULT(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX, d), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetAttribute(&v, (CUdevice_attribute)0, d), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d));
    EXPECT(v == 32);
    int major = 0, minor = 0;
    OK(cuDeviceComputeCapability(&major, &minor, d));
    EXPECT(major == 8 && minor == 0);
    size_t total = 0;
    OK(cuDeviceTotalMem_v2(&total, d));
    EXPECT(total >= 64u << 20);
    char bus[16];
    CUdevice again = -1;
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, d));
    OK(cuDeviceGetByPCIBusId(&again, bus));
    EXPECT(again == d);

    void *fn = NULL;
    CUdriverProcAddressQueryResult q;
    OK(cuGetProcAddress_v2("cuMemAlloc", &fn, 12000, 0, &q));
    EXPECT(fn == (void *)cuMemAlloc_v2 && q == CU_GET_PROC_ADDRESS_SUCCESS);

    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        failures = 0;
        EXPECT_RESULT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_RESULT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
        _exit(failures != 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT(status == 0);
    forked_thread_ends();
    return failures != 0;
}
