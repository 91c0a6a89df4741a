/* SPDX-License-Identifier: Apache-2.0
 * Start-up and end of the driver in a process: choice of the backend, cuInit, the lazily loaded jit, fork and exit.
 * A forked child of an initialised process gets CUDA_ERROR_NOT_INITIALIZED from every call, as with NVIDIA's driver; after
 * exit handlers ran, calls give CUDA_ERROR_DEINITIALIZED. */
#include "impl/driver/driver.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/runtime/redirect/redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct global g = { .lock = PTHREAD_MUTEX_INITIALIZER };

CUresult
driver_not_ready(void)
{
    switch (atomic_load_explicit(&g.state, memory_order_acquire)) {
    case STATE_READY:  return CUDA_SUCCESS;     /* since the caller looked */
    case STATE_EXITED: return CUDA_ERROR_DEINITIALIZED;
    default:           return CUDA_ERROR_NOT_INITIALIZED;
    }
}

CUresult
device_get(CUdevice d, struct device **out)
{
    READY();
    if (d < 0 || (uint32_t)d >= g.ndevices)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = &g.devices[d];
    return CUDA_SUCCESS;
}

CUresult
unsupported(const char *function, const char *what)
{
    cw_warn("%s: %s is not supported", function, what);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void
forked_child(void)
{
    int s = atomic_load(&g.state);
    if (s == STATE_READY || s == STATE_FAILED)
        atomic_store(&g.state, STATE_FORKED);
}

static void
fill_props(struct cwb_device_props *p)
{
    if (!p->cc_major) {
        p->cc_major = 8;
        p->cc_minor = 6;
        const char *s = cw_env_get(CW_ENV_COMPUTE_CAPABILITY);
        if (s && *s) {
            unsigned major, minor;
            char rest;
            if (sscanf(s, "%2u.%1u%c", &major, &minor, &rest) == 2 && major >= 3 && major <= 12) {
                p->cc_major = major;
                p->cc_minor = minor;
            } else {
                cw_warn("%s=%s is not MAJOR.MINOR from 3.0 to 12.9; using %u.%u", cw_env_name(CW_ENV_COMPUTE_CAPABILITY), s,
                        p->cc_major, p->cc_minor);
            }
        }
    }
    /* "Technical specifications per compute capability", CUDA programming guide. */
    unsigned cc = p->cc_major * 10 + p->cc_minor;
    bool blackwell = cc == 100 || cc == 103, big = cc == 60 || cc == 70 || cc == 80 || cc == 90 || blackwell;   /* the data-centre parts */
#define DEFAULT(field, value) do { if (!p->field) p->field = (value); } while (0)
    DEFAULT(max_threads_per_block, 1024);
    DEFAULT(max_threads_per_mp, cc == 75 ? 1024 : big || cc < 80 ? 2048 : 1536);
    DEFAULT(max_blocks_per_mp, cc == 75 ? 16 : cc == 86 || cc == 87 ? 16 : cc == 89 || cc >= 110 ? 24 : 32);
    DEFAULT(shared_per_block, 48 << 10);
    DEFAULT(shared_per_mp, cc < 60 ? 64 << 10 : cc == 60 ? 64 << 10 : cc < 70 ? 96 << 10 : cc < 75 ? 96 << 10 : cc == 75 ? 64 << 10 :
            cc == 80 || cc == 87 ? 164 << 10 : cc < 90 ? 100 << 10 : cc == 90 || blackwell || cc == 110 ? 228 << 10 : 100 << 10);
    DEFAULT(shared_per_block_optin, cc < 70 ? 48 << 10 : cc < 75 ? 96 << 10 : cc == 75 ? 64 << 10 : p->shared_per_mp - (1 << 10));
    DEFAULT(registers_per_block, 65536);
    DEFAULT(registers_per_mp, 65536);
    DEFAULT(clock_khz, 1000000);
    DEFAULT(memory_clock_khz, 1000000);
    DEFAULT(memory_bus_bits, 64);
    DEFAULT(l2_bytes, 4 << 20);
#undef DEFAULT
}

static CUresult
open_backend(void)
{
    const char *want = cw_env_get(CW_ENV_DEVICE);
    if (!want || !*want)
        want = "auto";
    const char *colon = strchr(want, ':');
    size_t n = colon ? (size_t)(colon - want) : strlen(want);
    const char *option = colon ? colon + 1 : NULL;
    const struct cwb_backend *b = NULL;
#define IS(name) (n == sizeof name - 1 && !memcmp(want, name, n))
    if (IS("null")) {
        b = &cwb_null;
#ifdef CW_HAVE_HOST
    } else if ((IS("auto") && !option) || (IS("host") && (!option || !strcmp(option, "O0")))) {
        b = &cwb_host;
#endif
    } else if (IS("cuda") && (!option || !strcmp(option, "O0"))) {
        b = &cwb_cuda;
    } else if ((IS("hip") && !option) || (IS("gfxemu") && option && *option)) {
        b = &cwb_hip;
    } else if (IS("hip") || IS("cuda") || IS("gfxemu") || IS("host") || IS("auto")) {
        cw_error("%s=%s: this build has no such device", cw_env_name(CW_ENV_DEVICE), want);
        return CUDA_ERROR_NO_DEVICE;
    } else {
        cw_error("%s=%s: unknown device; known are auto, host, host:O0, hip, cuda, cuda:O0, gfxemu:ARCH", cw_env_name(CW_ENV_DEVICE), want);
        return CUDA_ERROR_NO_DEVICE;
    }
    if (b->abi_version != CWB_ABI_VERSION)
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    uint32_t count = 0;
    cwb_result r = CWB_NO_DEVICE;
    /* auto takes an AMD GPU where there is one. Without its kernel driver there is none, and loading the HIP runtime, which
     * takes long, would tell nothing more. */
    if (IS("auto") && (!access("/dev/kfd", F_OK) || cw_env_get(CW_ENV_HIP_LIBRARY)) && (r = cwb_hip.open(NULL, &count)) == CWB_OK)
        b = &cwb_hip;
    if (r != CWB_OK)
        r = b->open(option, &count);
#undef IS
    if (r != CWB_OK) {
        cw_error("the %s device cannot be opened: %s", b->name, cwb_result_text(r));
        return r == CWB_NO_DEVICE ? CUDA_ERROR_NO_DEVICE : result_of(r);
    }
    if (!count)
        return CUDA_ERROR_NO_DEVICE;
    if (count > MAX_DEVICES) {
        cw_warn("only the first %d of %u devices are used", MAX_DEVICES, count);
        count = MAX_DEVICES;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct device *d = &g.devices[i];
        d->b = b;
        d->index = i;
        r = b->device_props(i, &d->props);
        if (r != CWB_OK)
            return result_of(r);
        fill_props(&d->props);
        CUresult e = primary_setup(d, (CUdevice)i);
        if (e != CUDA_SUCCESS)
            return e;
    }
    g.backend = b;
    g.ndevices = count;
    cw_info("device: %s (%s%s%s), compute capability %u.%u", g.devices[0].props.name, b->name, option ? ":" : "", option ? option : "",
            g.devices[0].props.cc_major, g.devices[0].props.cc_minor);
    return CUDA_SUCCESS;
}

CUresult
drv_cuInit(unsigned int Flags)
{
    if (cw_redirect_at_driver_call())
        return CUDA_ERROR_UNKNOWN;
    int s = atomic_load_explicit(&g.state, memory_order_acquire);
    if (s == STATE_EXITED)
        return CUDA_ERROR_DEINITIALIZED;
    if (s == STATE_FORKED)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (Flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (s == STATE_READY)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&g.lock);
    CUresult e = g.init_error;
    s = atomic_load(&g.state);
    if (s == STATE_NEW) {
        cw_env_warn_unknown();
        static bool handlers;
        if (!handlers) {
            handlers = true;
            pthread_atfork(NULL, NULL, forked_child);
        }
        e = g.init_error = open_backend();
        atomic_store_explicit(&g.state, e == CUDA_SUCCESS ? STATE_READY : STATE_FAILED, memory_order_release);
    }
    pthread_mutex_unlock(&g.lock);
    return e;
}

/* Runs after the application's exit handlers and static destructors that were registered later than the library's load. */
static __attribute__((destructor)) void
at_exit(void)
{
    int s = atomic_exchange(&g.state, STATE_EXITED);
    if (s == STATE_READY)
        g.backend->shutdown();
}

CUresult
drv_cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    if (cw_redirect_at_driver_call())
        return CUDA_ERROR_UNKNOWN;
    *driverVersion = DRIVER_VERSION;
    return CUDA_SUCCESS;
}

static const struct cwj_api *jit;

static void
load_jit(void)
{
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&load_jit);
    char path[4096];
    if (!dir || snprintf(path, sizeof path, "%s/libcudaway-jit.so", dir) >= (int)sizeof path) {
        cw_error("cannot find the folder of this library, needed to load libcudaway-jit.so");
        free(dir);
        return;
    }
    free(dir);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        cw_error("the compiler cannot be loaded: %s", dlerror());
        return;
    }
    const struct cwj_api *(*get)(uint32_t) = (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api");
    jit = get ? get(CWJ_API_VERSION) : NULL;
    if (!jit)
        cw_error("%s does not offer interface version %d", path, CWJ_API_VERSION);
}

const struct cwj_api *
jit_api(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_jit);
    return jit;
}
