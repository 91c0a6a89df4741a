/* SPDX-License-Identifier: Apache-2.0
 * Libraries: a program that is independent of contexts, instantiated as a module in each context that uses it, when it does
 * first. Kernels are handles of the library; in a context they stand for a function. */
#include "impl/driver/driver.h"
#include "impl/base/file.h"

#include <stdlib.h>

struct instance {
    struct instance *next;
    uint64_t ctx_id;
    CUmodule module;                    /* a handle: the context may have destroyed it */
};

struct library {
    struct obj obj;
    struct program *program;
    pthread_mutex_t lock;
    struct instance *instances;         /* lock */
    struct kernel **kernels;            /* lock: by index, made when asked for */
    struct ctx *home;                   /* lock: pinned primary context, for what was asked for without a context */
};

struct kernel {
    struct obj obj;
    struct library *library;            /* owned reference */
    const struct cwj_kernel *k;
    uint32_t index;
};

static void
kernel_finish(struct obj *o)
{
    struct kernel *k = (struct kernel *)o;
    handle_put(&k->library->obj);
    free(k);
}

static void
library_finish(struct obj *o)
{
    struct library *l = (struct library *)o;
    for (struct instance *i = l->instances, *n; i; i = n) {
        n = i->next;
        free(i);
    }
    if (l->home)
        primary_unpin(l->home);
    program_unref(l->program);
    pthread_mutex_destroy(&l->lock);
    free(l->kernels);
    free(l);
}

static const struct obj_class kernel_class = { .kind = KIND_KERNEL, .finish = kernel_finish };
static const struct obj_class library_class = { .kind = KIND_LIBRARY, .finish = library_finish };

/* Contexts that have ended leave instances behind, which nobody looks up again. l->lock is held. */
static void
forget_ended(struct library *l)
{
    for (struct instance **p = &l->instances; *p;) {
        struct instance *i = *p;
        if (handle_ended(i->module, KIND_MODULE) && !context_lives(i->ctx_id)) {
            *p = i->next;
            free(i);
        } else {
            p = &i->next;
        }
    }
}

/* The library's module in context c, with a reference. */
static CUresult
instantiate(struct library *l, struct ctx *c, struct module **out)
{
    CUresult e = CUDA_SUCCESS;
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    struct instance *i = l->instances;
    while (i && i->ctx_id != c->id)
        i = i->next;
    if (i)
        *out = handle_get(i->module, KIND_MODULE);
    CUmodule have = i ? i->module : NULL;
    pthread_mutex_unlock(&l->lock);
    if (*out)
        return CUDA_SUCCESS;
    if (have)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    struct module *m;
    e = module_make(c, l->program, &m);
    if (e != CUDA_SUCCESS)
        return e;
    struct instance *n = malloc(sizeof *n);
    pthread_mutex_lock(&l->lock);
    bool ended = !l->kernels;           /* unloaded meanwhile: it took the instances that there were */
    forget_ended(l);
    for (i = l->instances; i && i->ctx_id != c->id; i = i->next)
        ;
    if (n && !i && !ended) {
        *n = (struct instance){ l->instances, c->id, HANDLE(CUmodule, m) };
        l->instances = n;
        n = NULL;
    } else if (i) {
        *out = handle_get(i->module, KIND_MODULE);      /* another thread was faster */
    }
    bool mine = !i && !n && !ended;
    pthread_mutex_unlock(&l->lock);
    free(n);
    if (mine) {
        *out = m;
        return CUDA_SUCCESS;
    }
    (void)handle_end(&m->obj);
    handle_put(&m->obj);
    if (*out)
        return CUDA_SUCCESS;
    return ended ? CUDA_ERROR_INVALID_HANDLE : i ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult
kernel_function(struct ctx *c, CUkernel h, struct func **out)
{
    struct kernel *k AUTO_PUT = handle_get(h, KIND_KERNEL);
    if (!k)
        return CUDA_ERROR_INVALID_HANDLE;
    struct module *m AUTO_PUT = NULL;
    CUresult e = instantiate(k->library, c, &m);
    *out = NULL;
    return e == CUDA_SUCCESS ? module_function_at(m, k->index, out) : e;
}

static CUresult
load(CUlibrary *library, const void *code, size_t size, const char *what, unsigned n, CUjit_option *options, void **values)
{
    READY();
    if (!library || !code)
        return CUDA_ERROR_INVALID_VALUE;
    struct jit_options o;
    CUresult e = jit_options_parse(n, options, values, &o);
    if (e != CUDA_SUCCESS)
        return e;
    struct library *l = calloc(1, sizeof *l);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    e = program_load(&g.devices[0], code, size, what, &o, &l->program);
    if (e != CUDA_SUCCESS) {
        free(l);
        return e;
    }
    pthread_mutex_init(&l->lock, NULL);
    uint32_t count = jit_api()->kernel_count(l->program->p);
    l->kernels = calloc(count ? count : 1, sizeof *l->kernels);
    e = l->kernels ? handle_new(&l->obj, &library_class, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
    if (e != CUDA_SUCCESS) {
        program_unref(l->program);
        free(l->kernels);
        free(l);
        return e;
    }
    *library = HANDLE(CUlibrary, l);
    handle_put(&l->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
                      unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
                      unsigned int numLibraryOptions)
{
    return load(library, code, 0, "library", numJitOptions, jitOptions, jitOptionsValues);
}

CUresult
drv_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions, void **jitOptionsValues,
                          unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
                          unsigned int numLibraryOptions)
{
    READY();
    char *data;
    size_t size;
    if (!fileName)
        return CUDA_ERROR_INVALID_VALUE;
    cw_result r = cw_file_read(fileName, 1ull << 30, &data, &size);
    if (r != CW_OK) {
        cw_log(r == CW_ERR_NOMEM || r == CW_ERR_LIMIT ? CW_LOG_ERROR : CW_LOG_INFO, "%s: %s", fileName, cw_result_text(r)); /* programs try */
        return r == CW_ERR_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult e = size ? load(library, data, size, fileName, numJitOptions, jitOptions, jitOptionsValues) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return e;
}

#define LIBRARY(l, h)                                                                                                  \
    READY();                                                                                                           \
    struct library *l AUTO_PUT = handle_get(h, KIND_LIBRARY);                                                          \
    if (!l)                                                                                                            \
        return CUDA_ERROR_INVALID_HANDLE
#define KERNEL(k, h)                                                                                                   \
    READY();                                                                                                           \
    struct kernel *k AUTO_PUT = handle_get(h, KIND_KERNEL);                                                            \
    if (!k)                                                                                                            \
        return CUDA_ERROR_INVALID_HANDLE
/* The same of calls that take a missing kernel for a wrong value (driver 580; GIVEN in function.c). */
#define GIVEN_KERNEL(k, h)                                                                                             \
    READY();                                                                                                           \
    if (!(h))                                                                                                          \
        return CUDA_ERROR_INVALID_VALUE;                                                                               \
    KERNEL(k, h)

CUresult
drv_cuLibraryUnload(CUlibrary library)
{
    LIBRARY(l, library);
    CAPTURE_SAFE();
    if (!handle_kill(&l->obj))
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&l->lock);
    struct instance *i = l->instances;
    l->instances = NULL;
    struct kernel **kernels = l->kernels;
    l->kernels = NULL;
    pthread_mutex_unlock(&l->lock);
    for (struct instance *n; i; i = n) {
        n = i->next;
        struct module *m = handle_get(i->module, KIND_MODULE);
        if (m)
            (void)object_destroy(&m->obj, true, NULL);
        free(i);
    }
    uint32_t n = jit_api()->kernel_count(l->program->p);
    for (uint32_t k = 0; kernels && k < n; k++) {
        if (kernels[k]) {
            handle_kill(&kernels[k]->obj);
            handle_put(&kernels[k]->obj);
        }
    }
    free(kernels);
    return CUDA_SUCCESS;
}

static CUresult
kernel_at(struct library *l, uint32_t index, CUkernel *out)
{
    CUresult e = CUDA_SUCCESS;
    struct kernel *fresh = NULL;
    pthread_mutex_lock(&l->lock);
    struct kernel *k = l->kernels ? l->kernels[index] : NULL;
    if (!l->kernels) {
        e = CUDA_ERROR_INVALID_HANDLE;
    } else if (!k) {
        fresh = k = calloc(1, sizeof *k);
        e = k ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (k) {
            k->library = l;
            k->index = index;
            k->k = jit_api()->kernel(l->program->p, index);
            handle_ref(&l->obj);
            e = handle_new(&k->obj, &kernel_class, NULL);
            if (e == CUDA_SUCCESS) {
                l->kernels[index] = k;  /* with the reference */
                fresh = NULL;
            }
        }
    }
    const CUkernel h = e == CUDA_SUCCESS ? HANDLE(CUkernel, k) : NULL;
    pthread_mutex_unlock(&l->lock);
    if (fresh) {
        handle_put(&l->obj);
        free(fresh);
    }
    if (e == CUDA_SUCCESS)
        *out = h;
    return e;
}

CUresult
drv_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    LIBRARY(l, library);
    if (!pKernel || !name)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t i;
    return names_find(l->program, name, NAMED_KERNEL, &i) ? kernel_at(l, i, pKernel) : CUDA_ERROR_NOT_FOUND;
}

CUresult
drv_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    LIBRARY(l, lib);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = jit_api()->kernel_count(l->program->p);
    return CUDA_SUCCESS;
}

CUresult
drv_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    LIBRARY(l, lib);
    if (!kernels || !numKernels)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t n = jit_api()->kernel_count(l->program->p);
    CUresult e = CUDA_SUCCESS;
    for (uint32_t i = 0; i < n && i < numKernels && e == CUDA_SUCCESS; i++)
        e = kernel_at(l, i, &kernels[i]);
    return e;
}

CUresult
drv_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    USABLE(c);
    LIBRARY(l, library);
    if (!pMod)
        return CUDA_ERROR_INVALID_VALUE;
    struct module *m AUTO_PUT = NULL;
    CUresult e = instantiate(l, c, &m);
    if (e == CUDA_SUCCESS)
        *pMod = HANDLE(CUmodule, m);
    return e;
}

/* Where managed variables are, which need no context: in the current one, or in the first device's primary context, which stays then. With a
 * reference: what is another thread's to reset, or to replace in l->home, does not stay. */
static CUresult
context_for_managed(struct library *l, struct ctx **out)
{
    CUresult e = ctx_usable(out);
    if (e == CUDA_SUCCESS)
        ctx_ref(*out);
    if (e != CUDA_ERROR_INVALID_CONTEXT && e != CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return e;
    struct ctx *fresh = NULL;
    e = primary_pin(&g.devices[0], &fresh);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&l->lock);
    struct ctx *old = l->home;
    if (!old || atomic_load(&old->dead))
        l->home = fresh, fresh = old;
    ctx_ref(*out = l->home);
    pthread_mutex_unlock(&l->lock);
    if (fresh)
        primary_unpin(fresh);
    return CUDA_SUCCESS;
}

static CUresult
global(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name, bool managed)
{
    struct ctx *c;
    if (!managed) {
        CUresult usable = ctx_usable(&c);
        if (usable != CUDA_SUCCESS)
            return usable;
    }
    LIBRARY(l, library);
    if ((!dptr && !bytes) || !name)
        return CUDA_ERROR_INVALID_VALUE;
    uint32_t i;
    if (managed && !(names_find(l->program, name, NAMED_VARIABLE, &i) && jit_api()->variable(l->program->p, i)->managed))
        return *name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    struct module *m AUTO_PUT = NULL;
    CUresult e = managed ? context_for_managed(l, &c) : CUDA_SUCCESS;
    if (e == CUDA_SUCCESS) {
        e = instantiate(l, c, &m);
        if (managed)
            ctx_unref(c);
    }
    uint64_t a = 0;
    size_t size = 0;
    if (e == CUDA_SUCCESS)
        e = module_variable(m, name, &a, &size);
    if (e == CUDA_SUCCESS) {
        if (dptr)
            *dptr = a;
        if (bytes)
            *bytes = size;
    }
    return e;
}

CUresult
drv_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    return global(dptr, bytes, library, name, false);
}

CUresult
drv_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    return global(dptr, bytes, library, name, true);
}

CUresult
drv_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    USABLE(c);
    if (!pFunc)
        return CUDA_ERROR_INVALID_VALUE;
    struct func *f AUTO_PUT = NULL;
    CUresult e = kernel_function(c, kernel, &f);
    if (e == CUDA_SUCCESS)
        *pFunc = HANDLE(CUfunction, f);
    return e;
}

CUresult
drv_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    if (!pLib)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(k, kernel);
    *pLib = HANDLE(CUlibrary, k->library);
    return CUDA_SUCCESS;
}

CUresult
drv_cuKernelGetName(const char **name, CUkernel hfunc)
{
    GIVEN_KERNEL(k, hfunc);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = k->k->name;
    return CUDA_SUCCESS;
}

CUresult
drv_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    GIVEN_KERNEL(k, kernel);
    if (!paramOffset || paramIndex >= k->k->nparams)
        return CUDA_ERROR_INVALID_VALUE;
    *paramOffset = k->k->params[paramIndex].offset;
    if (paramSize)
        *paramSize = k->k->params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult
drv_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    USABLE(c);
    struct func *f AUTO_PUT = NULL;
    CUresult e = kernel_function(c, kernel, &f);
    if (e == CUDA_SUCCESS && !pi)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS && dev != c->device)
        e = CUDA_ERROR_INVALID_DEVICE;
    return e == CUDA_SUCCESS ? func_attribute(f, attrib, pi) : e;
}

CUresult
drv_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    USABLE(c);
    struct func *f AUTO_PUT = NULL;
    CUresult e = kernel_function(c, kernel, &f);
    if (e == CUDA_SUCCESS && dev != c->device)
        e = CUDA_ERROR_INVALID_DEVICE;
    return e == CUDA_SUCCESS ? func_set_attribute(f, attrib, val) : e;
}

CUresult
drv_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    KERNEL(k, kernel);
    struct device *d;
    CUresult e = device_get(dev, &d);
    return e != CUDA_SUCCESS ? e : (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
