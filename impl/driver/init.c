/* SPDX-License-Identifier: Apache-2.0
 * Start-up and end of the driver in a process: choice of the backend, cuInit, the lazily loaded jit, fork and exit.
 * A forked child of an initialised process gets CUDA_ERROR_NOT_INITIALIZED from every call, as with NVIDIA's driver; after
 * exit handlers ran, calls give CUDA_ERROR_DEINITIALIZED. */
#include "impl/driver/driver.h"
#include "impl/driver/logs.h"
#include "impl/base/config.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/runtime/redirect/redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct global g = { .lock = PTHREAD_MUTEX_INITIALIZER };

CUresult
driver_not_ready(void)
{
    switch (atomic_load_explicit(&g.state, memory_order_acquire)) {
    case STATE_READY:  return cwb_in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;     /* since the caller looked */
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

/* A program that asks in a loop would fill its log. */
CUresult
unsupported(const char *function, const char *what)
{
    static _Atomic(const char *) said[64];
    const char *at = NULL;

    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        if (atomic_compare_exchange_strong(&said[i], &at, what))
            break;
        if (at == what)
            return CUDA_ERROR_NOT_SUPPORTED;
        at = NULL;
    }
    cw_warn("%s: %s is not supported", function, what);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static _Atomic unsigned starting;       /* threads in start-up or in the redirection, or about to be */

/* A fork in the middle of another thread's start-up leaves half of that here, and locks that nobody will give back. */
static void
forked_child(void)
{
    logs_forked();
    int s = atomic_load(&g.state);
    if (s == STATE_READY || s == STATE_FAILED || (s == STATE_NEW && atomic_load(&starting)))
        atomic_store(&g.state, STATE_FORKED);
}

/* The thread is in the start-up, which waits for locks of ours and of the HIP library's. What that uses of the C library (open, malloc, getenv) may be the program's own, and call
 * the driver. */
static _Thread_local bool starts __attribute__((tls_model("initial-exec")));

bool
driver_redirects(void)
{
    if (starts || atomic_load_explicit(&g.state, memory_order_relaxed) == STATE_FORKED)
        return false;
    atomic_fetch_add(&starting, 1);
    starts = true;
    (void)cw_config_load();
    starts = false;
    bool fails = cw_redirect_at_driver_call();
    atomic_fetch_sub(&starting, 1);
    return fails;
}

static _Atomic bool handlers;

/* As the library is loaded: there is no start-up that a fork could come before this in. Where there is no memory for it, cuInit tries again. */
static __attribute__((constructor)) void
watch_forks(void)
{
    if (!atomic_load(&handlers))
        atomic_store(&handlers, !pthread_atfork(NULL, NULL, forked_child));
}

static void
fill_props(struct cwb_device_props *p)
{
    if (!p->cc_major) {
        unsigned cc = cw_env_compute_capability();
        p->cc_major = cc / 10;
        p->cc_minor = cc % 10;
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

/* The device that is to be opened. */
struct choice {
    const struct cwb_backend *b, *first;        /* first: to be tried before, or NULL */
    const char *option;
    cwb_result loaded, first_loaded;
};

static CUresult
choose(struct choice *k)
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
    } else if ((IS("auto") && !option) || (IS("host") && (!option || !strcmp(option, "O0") || !strcmp(option, "checked")))) {
        const char *isolate = cw_env_get(CW_ENV_ISOLATE);
        b = isolate && *isolate && strcmp(isolate, "0") ? &cwb_host_isolated : option && !strcmp(option, "checked") ? &cwb_host_checked : &cwb_host;
#endif
    } else if (IS("cuda") && (!option || !strcmp(option, "O0"))) {
        b = &cwb_cuda;
    } else if ((IS("hip") && !option) || (IS("gfxemu") && option && *option)) {
        b = &cwb_hip;
    } else {
        cw_error("%s=%s: there is no such device; known are auto, host, host:O0, host:checked, hip, cuda, cuda:O0, and gfxemu:ARCH, as gfxemu:gfx1100",
                 cw_env_name(CW_ENV_DEVICE), want);
        return CUDA_ERROR_NO_DEVICE;
    }
    if (b->abi_version != CWB_ABI_VERSION)
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    *k = (struct choice){ .b = b, .option = option };
    /* auto takes an AMD GPU where there is one. Without its kernel driver there is none, and loading the HIP runtime, which
     * takes long, would tell nothing more. */
    if (IS("auto") && (!access("/dev/kfd", F_OK) || cw_env_get(CW_ENV_HIP_LIBRARY)))
        k->first = &cwb_hip;
#undef IS
    return CUDA_SUCCESS;
}

/* What has to be done with no lock held. */
static void
choice_load(struct choice *k)
{
    k->first_loaded = k->first && k->first->load ? k->first->load(NULL) : CWB_OK;
    k->loaded = k->b->load ? k->b->load(k->option) : CWB_OK;
}

static CUresult
open_backend(const struct choice *k)
{
    const struct cwb_backend *b = k->b;
    const char *option = k->option;
    uint32_t count = 0;
    cwb_result r = CWB_NO_DEVICE;
    if (k->first && k->first_loaded == CWB_OK && (r = k->first->open(NULL, &count)) == CWB_OK)
        b = k->first;
    if (r != CWB_OK && (r = k->loaded) == CWB_OK)
        r = b->open(option, &count);
    if (r != CWB_OK) {
        cw_error("the %s device cannot be opened: %s; `cudaway info` shows what this machine has, and %s=host takes the CPU", b->name, cwb_result_text(r),
                 cw_env_name(CW_ENV_DEVICE));
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

static CUresult
read_settings(struct choice *k)
{
    if (!cw_config_load())
        return CUDA_ERROR_OUT_OF_MEMORY;
    cw_env_warn_unknown();
    return choose(k);
}

CUresult
drv_cuInit(unsigned int Flags)
{
    if (starts)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (driver_redirects())
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
    atomic_fetch_add(&starting, 1);
    struct choice k = { 0 };
    CUresult chosen = CUDA_SUCCESS;
    starts = true;
    if (s == STATE_NEW) {
        chosen = read_settings(&k);
        if (chosen == CUDA_SUCCESS)
            choice_load(&k);
    }
    pthread_mutex_lock(&g.lock);
    CUresult e = g.init_error;
    s = atomic_load(&g.state);
    if (s == STATE_NEW) {
        watch_forks();
        e = !atomic_load(&handlers) ? CUDA_ERROR_OUT_OF_MEMORY : chosen != CUDA_SUCCESS ? chosen : open_backend(&k);
        g.init_error = e;
        if (e != CUDA_ERROR_OUT_OF_MEMORY)      /* after which the next call tries again */
            atomic_store_explicit(&g.state, e == CUDA_SUCCESS ? STATE_READY : STATE_FAILED, memory_order_release);
    }
    pthread_mutex_unlock(&g.lock);
    starts = false;
    atomic_fetch_sub(&starting, 1);
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

/* A client whose toolkit is newer may have a compiler to machine code inside, which it uses where the driver is older. */
static int
driver_version(void)
{
    const char *s = cw_env_get(CW_ENV_DRIVER_VERSION);
    unsigned major, minor;
    char rest;
    if (!s || !*s)
        return DRIVER_VERSION;
    if (sscanf(s, "%2u.%1u%c", &major, &minor, &rest) == 2 && major >= 11 && major <= 14)
        return (int)(major * 1000 + minor * 10);
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        cw_warn("%s=%s is not MAJOR.MINOR from 11.0 to 14.9; using %d.%d", cw_env_name(CW_ENV_DRIVER_VERSION), s, DRIVER_VERSION / 1000,
                DRIVER_VERSION % 1000 / 10);
    return DRIVER_VERSION;
}

CUresult
drv_cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    if (driver_redirects())
        return CUDA_ERROR_UNKNOWN;
    *driverVersion = driver_version();
    return CUDA_SUCCESS;
}

static _Atomic(const struct cwj_api *) jit;

/* LLVM's constructors need less. */
enum { FOR_CONSTRUCTORS = 1 << 20 };

static CUresult
load_jit(void)
{
    char why[500];
    bool no_memory;
    fenv_t program;             /* may let inexact results trap, which LLVM's constructors have */
    fegetenv(&program);
    fesetenv(FE_DFL_ENV);
    void *lib = cw_open_library((const void *)(uintptr_t)&load_jit, "libcudaway-jit.so", FOR_CONSTRUCTORS, why, sizeof why, &no_memory);
    fesetenv(&program);
    if (!lib) {
        cw_error("the compiler cannot be loaded: %s", why);
        return no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    }
    const struct cwj_api *(*get)(uint32_t) = (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api");
    const struct cwj_api *api = get ? get(CWJ_API_VERSION) : NULL;
    if (!api) {
        cw_error("libcudaway-jit.so does not offer interface version %d", CWJ_API_VERSION);
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    }
    atomic_store(&jit, api);            /* each thread that loads it at once finds the same */
    return CUDA_SUCCESS;
}

/* Loads with no lock held: the dynamic loader has its own, under which a library's constructors may come here. */
CUresult
jit_open(void)
{
    static _Atomic CUresult result = CUDA_ERROR_OUT_OF_MEMORY;      /* of the last attempt */
    if (jit_api())
        return CUDA_SUCCESS;
    CUresult e = atomic_load(&result);
    if (e == CUDA_ERROR_OUT_OF_MEMORY)
        atomic_store(&result, e = load_jit());
    return e;
}

const struct cwj_api *
jit_api(void)
{
    return atomic_load_explicit(&jit, memory_order_acquire);
}
