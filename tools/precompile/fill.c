/* SPDX-License-Identifier: Apache-2.0
 * See precompile.h. The driver itself loads every module and compiles every kernel, so that what it looks for later has the same keys: the device's options,
 * the choice among PTX texts, the linking of relocatable code are its own. Its observer (impl/device_times.h) says what came from the cache. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"
#include "impl/base/progress.h"
#include "impl/device_times.h"
#include "tools/precompile/precompile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRIVER(X)                                                                                                                                            \
    X(cuInit) X(cuDeviceGet) X(cuDeviceGetName) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunctionCount) \
    X(cuModuleEnumerateFunctions) X(cuFuncLoad) X(cuFuncGetName) X(cuGetExportTable)
#define MEMBER(name) __typeof__(name) *name;
static struct { DRIVER(MEMBER) } cu;

/* A module whose kernels are being compiled. */
struct module {
    struct module *next;
    size_t image;
    CUmodule handle;
    CUfunction *functions;
    unsigned n, taken, done;
};

static struct {
    const struct images *images;
    const char *device;
    CUcontext context;
    pthread_mutex_t lock;           /* protects all below */
    pthread_cond_t changed;
    size_t next;                    /* image that nobody has taken */
    unsigned loading;               /* threads that load one */
    struct module *open;            /* with kernels that nobody has taken */
    size_t kernels, failed;
    size_t loaded, known;           /* modules, and the kernels in them */
    unsigned running;               /* threads */
    struct cw_progress progress;
    bool any;                       /* a kernel compiled: this one */
    size_t any_image;
    unsigned any_index;
} work = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static atomic_uint compiled, cached;

static uint64_t
on_submit(const struct cw_device_op *op, uint64_t start, uint64_t end)
{
    if (op->kind == CW_DEVICE_COMPILE)
        atomic_fetch_add(op->cached ? &cached : &compiled, 1);
    return 0;
}

static void
on_done(uint64_t number, uint64_t start, uint64_t end)
{
}

static bool
load_driver(const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/libcuda.so.1", folder) < 0)
        return false;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (!lib) {
        say("%s", dlerror());
        return false;
    }
#define LOAD(name) if (!(*(void **)&cu.name = dlsym(lib, #name))) { say("%s", dlerror()); return false; }
    DRIVER(LOAD)
    return true;
}

static bool
begin(void)
{
    static const struct cw_device_observer observer = { on_submit, on_done };
    static const CUuuid id = { CW_DEVICE_TIMES_ID };
    static char name[256];
    const void *table = NULL;
    CUdevice device;
    if (cu.cuInit(0) || cu.cuDeviceGet(&device, 0) || cu.cuDevicePrimaryCtxRetain(&work.context, device)) {
        say("%s%sthe driver has no such device; CUDAWAY_LOG=info says why", work.device ? work.device : "", work.device ? ": " : "");
        return false;
    }
    if (cu.cuGetExportTable(&table, &id) || !table || !((const struct cw_device_times *)table)->observe(&observer)) {
        say("the driver is of another version");
        return false;
    }
    if (!work.device)
        work.device = cu.cuDeviceGetName(name, sizeof name, device) ? "the device" : name;
    return true;
}

/* With the lock held. Modules that are not loaded yet are taken to have as many kernels as those that are. */
static void
show_progress(void)
{
    work.progress.all = work.loaded ? (work.known * work.images->n + work.loaded - 1) / work.loaded : 0;
    cw_progress_step(&work.progress, work.kernels, CW_NO_COUNT);
}

/* Without the lock. NULL: it does not load, and the driver has said why. */
static struct module *
load(size_t image)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->image = image;
    if (cu.cuModuleLoadData(&m->handle, work.images->at[image].data)) {
        free(m);
        return NULL;
    }
    if (cu.cuModuleGetFunctionCount(&m->n, m->handle) || !(m->functions = calloc(m->n + (size_t)1, sizeof *m->functions)) ||
        (m->n && cu.cuModuleEnumerateFunctions(m->functions, m->n, m->handle))) {
        (void)cu.cuModuleUnload(m->handle);
        free(m->functions);
        free(m);
        return NULL;
    }
    return m;
}

static void
unload(struct module *m)
{
    (void)cu.cuModuleUnload(m->handle);
    free(m->functions);
    free(m);
}

/* With the lock held: a kernel to compile; NULL when all are taken. */
static struct module *
take(unsigned *index)
{
    for (;;) {
        struct module *m = work.open;
        if (m) {
            *index = m->taken++;
            if (m->taken == m->n)
                work.open = m->next;
            return m;
        }
        if (work.next < work.images->n) {
            size_t image = work.next++;
            work.loading++;
            pthread_mutex_unlock(&work.lock);
            m = load(image);
            if (!m)
                say("%s: a module of %s does not load", work.device, work.images->at[image].file);
            unsigned n = m ? m->n : 0;
            if (m && !n)
                unload(m);
            pthread_mutex_lock(&work.lock);
            work.loading--;
            work.loaded++;
            work.known += n;
            work.failed += !m;
            if (n) {
                m->next = work.open;
                work.open = m;
            }
            pthread_cond_broadcast(&work.changed);
        } else if (work.loading) {
            pthread_cond_wait(&work.changed, &work.lock);
        } else {
            return NULL;
        }
    }
}

static void *
compile(void *unused)
{
    unsigned i;
    (void)cu.cuCtxSetCurrent(work.context);
    pthread_mutex_lock(&work.lock);
    for (struct module *m; (m = take(&i));) {
        pthread_mutex_unlock(&work.lock);
        const char *name = "";
        bool ok = !cu.cuFuncLoad(m->functions[i]);
        if (!ok && !cu.cuFuncGetName(&name, m->functions[i]))
            say("%s: kernel %s of %s does not compile", work.device, name, work.images->at[m->image].file);
        pthread_mutex_lock(&work.lock);
        work.kernels++;
        work.failed += !ok;
        if (ok && !work.any) {
            work.any = true;
            work.any_image = m->image;
            work.any_index = i;
        }
        if (++m->done == m->n)
            unload(m);
    }
    work.running--;
    pthread_cond_broadcast(&work.changed);
    pthread_mutex_unlock(&work.lock);
    return NULL;
}

/* Until the threads are done, of which `missing` did not start. */
static void
wait_for(unsigned missing)
{
    struct timespec until;
    pthread_mutex_lock(&work.lock);
    while (work.running > missing) {
        show_progress();
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&work.changed, &work.lock, &until);
    }
    pthread_mutex_unlock(&work.lock);
}

/* Does the cache have what was compiled first? It may be off, or too small. */
static bool
kept(void)
{
    (void)cu.cuCtxSetCurrent(work.context);
    struct module *m = load(work.any_image);
    unsigned before = atomic_load(&cached);
    bool ok = m && work.any_index < m->n && !cu.cuFuncLoad(m->functions[work.any_index]) && atomic_load(&cached) > before;
    if (m)
        unload(m);
    return ok;
}

static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
fill(const struct images *m, const char *device, const char *library_folder, unsigned jobs)
{
    double start = seconds();
    char what[120];
    work.images = m;
    work.device = device;
    snprintf(what, sizeof what, "kernels for %s", device ? device : "this device");
    work.progress = (struct cw_progress){ .what = what };
    cw_progress_step(&work.progress, 0, CW_NO_COUNT);
    if (!load_driver(library_folder) || !begin())
        return EXIT_TOOL;
    pthread_t *threads = calloc(jobs, sizeof *threads);
    unsigned n = 0;
    work.running = jobs;
    while (threads && n < jobs && !pthread_create(&threads[n], NULL, compile, NULL))
        n++;
    if (!n)
        compile(NULL);
    else
        wait_for(jobs - n);
    while (n)
        pthread_join(threads[--n], NULL);
    free(threads);
    cw_progress_clear(&work.progress);
    unsigned made = atomic_load(&compiled), had = atomic_load(&cached);
    if (work.any && !kept()) {
        say("%s: the cache does not keep what is compiled: it is off, cannot be written, or is too small (CUDAWAY_CACHE_DIR, CUDAWAY_CACHE_SIZE)", work.device);
        return EXIT_TOOL;
    }
    printf("%s: %zu kernels of %zu modules: %u compiled, %u were in the cache, %zu failed; %.1f s\n", work.device, work.kernels, work.images->n, made, had, work.failed,
           seconds() - start);
    return work.failed ? EXIT_INPUT : 0;
}
