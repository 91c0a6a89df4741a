/* SPDX-License-Identifier: Apache-2.0
 * What the compiler's constructors register: fat binaries, and by the address of a host stub or shadow variable their kernels,
 * variables, texture and surface references. A binary is a library of the driver, loaded when one of its entries is first
 * used (CUDA_MODULE_LOADING=EAGER: with the first context); what an entry is in a context is looked up once and kept.
 *
 * Entries are found without a lock: a table of atomic slots, replaced as a whole when it grows. An entry lives until its
 * binary is unregistered; entries, caches and old tables are never freed, since another thread may still look at them. The
 * same address may be registered by several binaries (an inline kernel of a header): the newest that is left counts.
 *
 * Constructors of libraries register under the dynamic loader's lock. So no lock of this file is held while the driver may load a library:
 * when it loads a binary, for which it may need its compiler. */
#define _GNU_SOURCE
#include "impl/runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>

enum entry_kind { ENTRY_FUNCTION, ENTRY_VARIABLE, ENTRY_MANAGED, ENTRY_TEXTURE, ENTRY_SURFACE };

/* What an entry is in one context: a function, an address or a reference of the driver. */
struct bound {
    struct bound *next;
    CUcontext     context;
    unsigned      epoch;
    uint64_t      value;
    size_t        size;
};

struct binary;

struct entry {
    const void       *key;
    const char       *name;             /* of the program's image */
    struct binary    *binary;
    enum entry_kind   kind;
    size_t            size;             /* of a variable */
    _Atomic(CUkernel) kernel;
    _Atomic(struct bound *) bound;
    struct entry     *older;            /* lock: of the same key */
    struct entry     *next;             /* lock: of the same binary */
};

struct binary {
    void           *image;              /* first, so that the handle points to something that a program may read */
    pthread_mutex_t lock;
    bool            tried;              /* lock: and it was not memory that lacked */
    CUlibrary       library;            /* lock */
    cudaError_t     error;              /* lock: of loading */
    _Atomic bool    managed_ready;
    struct entry   *entries;            /* registry lock */
    struct binary  *next, **link;       /* registry lock */
    uint64_t        number;             /* in order of registration */
};

struct slot {
    _Atomic(const void *)   key;
    _Atomic(struct entry *) entry;
};

struct table {
    size_t        mask, used;           /* used: registry lock */
    struct table *before;               /* what this one replaced */
    struct slot   slots[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct table *) table;
static struct binary *binaries;         /* lock: the newest first */
static struct binary *unregistered;     /* lock: kept, like their entries, but found by nobody */

/* A fork may come while other threads hold the locks, which are nobody's in the child. The lists and the table are whole at each moment; what was
 * being loaded is not, but then the driver had started, and the child cannot use it. */
static void
forked_child(void)
{
    pthread_mutex_init(&lock, NULL);
    for (struct binary *b = binaries; b; b = b->next)
        pthread_mutex_init(&b->lock, NULL);
}

static __attribute__((constructor)) void
watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forked_child);
}

/* ---- the table ---------------------------------------------------------------------------------------------------------- */

static size_t
hash(const void *key)
{
    uint64_t x = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return (size_t)(x >> 32);
}

static struct entry *
find(const void *key)
{
    const struct table *t = atomic_load_explicit(&table, memory_order_acquire);

    for (size_t i = t ? hash(key) : 0; t; i++) {
        const struct slot *s = &t->slots[i & t->mask];
        const void *k = atomic_load_explicit(&s->key, memory_order_acquire);
        if (k == key)
            return atomic_load_explicit(&s->entry, memory_order_acquire);
        if (!k)
            break;
    }
    return NULL;
}

static struct slot *
slot_for(struct table *t, const void *key)
{
    for (size_t i = hash(key);; i++) {
        struct slot *s = &t->slots[i & t->mask];
        const void *k = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (!k || k == key)
            return s;
    }
}

static struct table *
grown(struct table *old)
{
    size_t n = old ? (old->mask + 1) * 2 : 256;
    struct table *t = calloc(1, sizeof *t + n * sizeof *t->slots);

    if (!t)
        return NULL;
    t->mask = n - 1;
    t->before = old;
    for (size_t i = 0; old && i <= old->mask; i++) {
        struct entry *e = atomic_load_explicit(&old->slots[i].entry, memory_order_relaxed);
        if (!e)
            continue;
        struct slot *s = slot_for(t, e->key);
        atomic_store_explicit(&s->entry, e, memory_order_relaxed);
        atomic_store_explicit(&s->key, e->key, memory_order_relaxed);
        t->used++;
    }
    return t;
}

/* Under the registry's lock. */
static bool
insert(struct entry *e)
{
    struct table *t = atomic_load_explicit(&table, memory_order_relaxed);

    if (!t || (t->used + 1) * 2 > t->mask) {
        t = grown(t);
        if (!t)
            return false;
        atomic_store_explicit(&table, t, memory_order_release);
    }
    struct slot *s = slot_for(t, e->key);
    e->older = atomic_load_explicit(&s->entry, memory_order_relaxed);
    atomic_store_explicit(&s->entry, e, memory_order_release);
    if (!atomic_load_explicit(&s->key, memory_order_relaxed)) {
        t->used++;
        atomic_store_explicit(&s->key, e->key, memory_order_release);
    }
    return true;
}

static void
withdraw(struct entry *e)
{
    struct table *t = atomic_load_explicit(&table, memory_order_relaxed);
    struct slot *s = slot_for(t, e->key);
    struct entry *top = atomic_load_explicit(&s->entry, memory_order_relaxed);

    if (top == e) {
        atomic_store_explicit(&s->entry, e->older, memory_order_release);
        return;
    }
    for (; top; top = top->older)
        if (top->older == e)
            top->older = e->older;
}

static void
add(void **handle, const void *key, const char *name, enum entry_kind kind, size_t size)
{
    struct binary *b = (struct binary *)(void *)handle;
    struct entry *e = b && key && name ? calloc(1, sizeof *e) : NULL;

    if (!e)
        return;
    e->key = key;
    e->name = name;
    e->kind = kind;
    e->size = size;
    e->binary = b;
    pthread_mutex_lock(&lock);
    if (insert(e)) {
        e->next = b->entries;
        b->entries = e;
    } else {
        free(e);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- binaries ------------------------------------------------------------------------------------------------------------ */

void **
rt___cudaRegisterFatBinary(void *fatCubin)
{
    struct binary *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->image = fatCubin;
    pthread_mutex_init(&b->lock, NULL);
    static uint64_t number;             /* lock */
    pthread_mutex_lock(&lock);
    b->number = ++number;
    b->next = binaries;
    b->link = &binaries;
    if (binaries)
        binaries->link = &b->next;
    binaries = b;
    pthread_mutex_unlock(&lock);
    return (void **)(void *)b;
}

static void managed_addresses(struct binary *b, CUlibrary l);
static bool managed_lost(struct binary *b);

void
rt___cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
}

void
rt___cudaUnregisterFatBinary(void **fatCubinHandle)
{
    struct binary *b;

    /* A program that was redirected here after its constructors ran has exit handlers with another runtime's handle, or two with the
     * same (docs/static-runtime.md). */
    pthread_mutex_lock(&lock);
    for (b = binaries; b && (void **)(void *)b != fatCubinHandle; b = b->next)
        ;
    if (!b) {
        pthread_mutex_unlock(&lock);
        return;
    }
    for (struct entry *e = b->entries; e; e = e->next)
        withdraw(e);
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    b->next = unregistered;
    unregistered = b;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&b->lock);
    CUlibrary l = b->library;
    b->library = NULL;
    b->tried = true;
    b->error = cudaErrorCudartUnloading;
    pthread_mutex_unlock(&b->lock);
    if (l)
        (void)CU(cuLibraryUnload)(l);   /* fails harmlessly when the driver has shut down before */
}

static cudaError_t
load_image(const struct binary *b, CUlibrary *out)
{
    return rt_result(CU(cuLibraryLoadData)(out, b->image, NULL, NULL, 0, NULL, NULL, 0));
}

/* The binary's library, loaded when it was not. Until one was loaded in the process, the driver's compiler may have to be: then no lock is
 * held, and of the threads that load a binary at once the first counts. */
static cudaError_t
load(struct binary *b, CUlibrary *out)
{
    static _Atomic bool any;
    CUlibrary l = NULL;
    cudaError_t e = cudaSuccess;

    INIT();
    pthread_mutex_lock(&b->lock);
    const bool early = !b->tried && !any;
    if (early) {
        pthread_mutex_unlock(&b->lock);
        e = load_image(b, &l);
        pthread_mutex_lock(&b->lock);
    }
    if (!b->tried) {
        if (!early)
            e = load_image(b, &l);
        b->library = l;
        l = NULL;
        b->error = e;
        b->tried = e != cudaErrorMemoryAllocation;
        any = any || e == cudaSuccess;
    }
    *out = b->library;
    e = b->error;
    pthread_mutex_unlock(&b->lock);
    if (l)
        (void)CU(cuLibraryUnload)(l);
    return e;
}

static bool
eager(void)
{
    const char *s = secure_getenv("CUDA_MODULE_LOADING");
    return s && !strcmp(s, "EAGER");
}

/* The newest binary that is older than `number`: of all, or of those that have managed variables in use. */
static struct binary *
older_binary(uint64_t number, bool all)
{
    pthread_mutex_lock(&lock);
    struct binary *b = binaries;
    while (b && (b->number >= number || !(all || b->managed_ready)))
        b = b->next;
    pthread_mutex_unlock(&lock);
    return b;
}

/* What the driver needs to find the binary's variables in the current context. */
static cudaError_t
load_here(struct binary *b, CUlibrary *l)
{
    CUmodule m;
    cudaError_t e = load(b, l);
    return e != cudaSuccess ? e : rt_result(CU(cuLibraryGetModule)(&m, *l));
}

void
rt_registry_context(void)
{
    CUlibrary l;
    bool all = eager();

    for (struct binary *b = older_binary(UINT64_MAX, all); b; b = older_binary(b->number, all)) {
        pthread_mutex_lock(&lock);
        bool lost = b->managed_ready && managed_lost(b);
        pthread_mutex_unlock(&lock);
        if (!(all || lost) || load_here(b, &l) != cudaSuccess || !lost)
            continue;
        pthread_mutex_lock(&lock);
        if (managed_lost(b))            /* no other thread was faster */
            managed_addresses(b, l);
        pthread_mutex_unlock(&lock);
    }
}

/* ---- what the compiler registers ----------------------------------------------------------------------------------------------- */

void
rt___cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName, int thread_limit,
                          uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
{
    add(fatCubinHandle, hostFun, deviceName, ENTRY_FUNCTION, 0);
}

void
rt___cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext, size_t size,
                     int constant, int global)
{
    add(fatCubinHandle, hostVar, deviceName, ENTRY_VARIABLE, size);
}

void
rt___cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size)
{
    add(fatCubinHandle, hostVar, deviceName, ENTRY_VARIABLE, size);
}

/* The program reads the variable through *hostVarPtrAddress. */
void
rt___cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress, const char *deviceName, int ext,
                            size_t size, int constant, int global)
{
    add(fatCubinHandle, hostVarPtrAddress, deviceName, ENTRY_MANAGED, size);
}

void
rt___cudaRegisterTexture(void **fatCubinHandle, const textureReference *hostVar, const void **deviceAddress, const char *deviceName,
                         int dim, int norm, int ext)
{
    add(fatCubinHandle, hostVar, deviceName, ENTRY_TEXTURE, 0);
}

void
rt___cudaRegisterSurface(void **fatCubinHandle, const surfaceReference *hostVar, const void **deviceAddress, const char *deviceName,
                         int dim, int ext)
{
    add(fatCubinHandle, hostVar, deviceName, ENTRY_SURFACE, 0);
}

void
rt___cudaRegisterUnifiedTable(void **fatCubinHandle, const void *table_)
{
    (void)rt_unsupported(rt_function_count, "__cudaRegisterUnifiedTable", "functions of host and device in one table");
}

/* ---- what an entry is -------------------------------------------------------------------------------------------------------- */

static struct bound *
bound_here(struct entry *e)
{
    unsigned epoch = atomic_load_explicit(&rt_epoch, memory_order_relaxed);
    struct bound *b = atomic_load_explicit(&e->bound, memory_order_acquire);

    while (b && (b->context != rt_self.context || b->epoch != epoch))
        b = b->next;
    return b;
}

static void
bind(struct entry *e, uint64_t value, size_t size)
{
    struct bound *b = malloc(sizeof *b);

    if (!b)
        return;                         /* looked up again next time */
    *b = (struct bound){ atomic_load(&e->bound), rt_self.context, rt_self.epoch, value, size };
    while (!atomic_compare_exchange_weak(&e->bound, &b->next, b))
        ;
}

static cudaError_t
kernel_of(struct entry *e, CUkernel *out)
{
    CUlibrary l;

    *out = atomic_load_explicit(&e->kernel, memory_order_acquire);
    if (*out)
        return cudaSuccess;
    cudaError_t r = load(e->binary, &l);
    if (r != cudaSuccess)
        return r;
    r = rt_result(CU(cuLibraryGetKernel)(out, l, e->name));
    if (r == cudaSuccess)
        atomic_store_explicit(&e->kernel, *out, memory_order_release);
    return r == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : r;
}

/* Neither a function that was registered nor a kernel's handle: CUDA 13's Runtime takes any address for a handle (seen on an H200). */
static cudaError_t
unknown_function(const void *entry)
{
    return entry && rt_version >= 13000 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
}

cudaError_t
rt_kernel(const void *entry, CUkernel *out)
{
    struct entry *e = find(entry);
    const char *name;

    if (e && e->kind == ENTRY_FUNCTION)
        return kernel_of(e, out);
    /* A cudaKernel_t stands for itself. */
    if (!entry || rt_init() != cudaSuccess || CU(cuKernelGetName)(&name, (CUkernel)(uintptr_t)entry) != CUDA_SUCCESS)
        return unknown_function(entry);
    *out = (CUkernel)(uintptr_t)entry;
    return cudaSuccess;
}

/* A kernel that a program asked for by handle: an entry under the handle, so that later launches find it as quickly. */
static struct entry *
entry_of_handle(const void *handle)
{
    struct entry *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    e->key = handle;
    e->kind = ENTRY_FUNCTION;
    atomic_store(&e->kernel, (CUkernel)(uintptr_t)handle);
    pthread_mutex_lock(&lock);
    if (!insert(e)) {
        free(e);
        e = NULL;
    }
    pthread_mutex_unlock(&lock);
    return e;
}

static cudaError_t
function_slow(const void *key, struct entry *e, CUfunction *out)
{
    CUkernel k = NULL;
    cudaError_t r = rt_kernel(key, &k);

    if (r == cudaSuccess)
        r = rt_result(CU(cuKernelGetFunction)(out, k));
    if (r == cudaErrorInvalidResourceHandle)
        return unknown_function(key);
    if (r != cudaSuccess)
        return r;
    if (!e)
        e = entry_of_handle(key);
    if (e)
        bind(e, (uint64_t)(uintptr_t)*out, 0);
    return cudaSuccess;
}

cudaError_t
rt_function(const void *entry, CUfunction *out)
{
    struct entry *e = find(entry);
    struct bound *b = LIKELY(e && e->kind == ENTRY_FUNCTION) ? bound_here(e) : NULL;

    if (!LIKELY(b != NULL))
        return function_slow(entry, e && e->kind == ENTRY_FUNCTION ? e : NULL, out);
    *out = (CUfunction)(uintptr_t)b->value;
    return cudaSuccess;
}

const char *
rt_function_name(const void *entry)
{
    struct entry *e = find(entry);
    return e && e->kind == ENTRY_FUNCTION ? e->name : NULL;
}

static bool
stands_for(struct entry *e, CUfunction f)
{
    CUkernel k = atomic_load_explicit(&e->kernel, memory_order_acquire);
    CUfunction here = NULL;

    if (e->kind != ENTRY_FUNCTION || !k)
        return false;
    return (CUfunction)(void *)k == f || (CU(cuKernelGetFunction)(&here, k) == CUDA_SUCCESS && here == f);
}

const void *
rt_entry_of(CUfunction f)
{
    const void *key = NULL;

    pthread_mutex_lock(&lock);
    for (struct binary *b = binaries; b && !key; b = b->next)
        for (struct entry *e = b->entries; e && !key; e = e->next)
            key = stands_for(e, f) ? e->key : NULL;
    pthread_mutex_unlock(&lock);
    return key;
}

static cudaError_t
address_of(struct entry *e, CUdeviceptr *address, size_t *size)
{
    CUlibrary l;
    struct bound *b = bound_here(e);

    if (b) {
        *address = b->value;
        *size = b->size;
        return cudaSuccess;
    }
    cudaError_t r = load(e->binary, &l);
    if (r == cudaSuccess)
        r = rt_result((e->kind == ENTRY_MANAGED ? CU(cuLibraryGetManaged) : CU(cuLibraryGetGlobal))(address, size, l, e->name));
    if (r == cudaErrorSymbolNotFound)
        return cudaErrorInvalidSymbol;
    if (r == cudaSuccess)
        bind(e, *address, *size);
    return r;
}

/* A managed variable by the address of its memory, which the program's own pointer holds: what the name of the variable means in
 * nvcc's code. */
static struct entry *
find_managed(const void *memory)
{
    struct entry *found = NULL;

    pthread_mutex_lock(&lock);
    for (struct binary *b = memory ? binaries : NULL; b && !found; b = b->next)
        for (struct entry *e = b->entries; e && !found; e = e->next)
            if (e->kind == ENTRY_MANAGED && *(void *const *)e->key == memory)
                found = e;
    pthread_mutex_unlock(&lock);
    return found;
}

cudaError_t
rt_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
    struct entry *e = find(symbol);

    if (!e)
        e = find_managed(symbol);
    if (!e || (e->kind != ENTRY_VARIABLE && e->kind != ENTRY_MANAGED))
        return cudaErrorInvalidSymbol;
    return address_of(e, address, size);
}

/* ---- managed variables --------------------------------------------------------------------------------------------------------- */

/* Let the program's pointers name the variables of the current context, where the binary's library l is loaded. Under the registry's lock. */
static void
managed_addresses(struct binary *b, CUlibrary l)
{
    CUdeviceptr a;
    size_t size;

    for (struct entry *e = b->entries; e; e = e->next)
        if (e->kind == ENTRY_MANAGED && CU(cuLibraryGetManaged)(&a, &size, l, e->name) == CUDA_SUCCESS)
            *(void **)(uintptr_t)e->key = rt_pointer(a);
}

/* Did a reset take the memory that the program's pointers name? A context of another device does not move them: what the program wrote is
 * where it was. */
static bool
managed_lost(struct binary *b)
{
    CUmemorytype type;

    for (struct entry *e = b->entries; e; e = e->next)
        if (e->kind == ENTRY_MANAGED && CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                                  (CUdeviceptr)*(uintptr_t *)(uintptr_t)e->key) != CUDA_SUCCESS)
            return true;
    return false;
}

/* The compiler's code calls this before the first access to a managed variable of the binary. */
char
rt___cudaInitModule(void **fatCubinHandle)
{
    struct binary *b = (struct binary *)(void *)fatCubinHandle;
    CUlibrary l;

    if (!b || rt_enter() != cudaSuccess)
        return 0;
    if (atomic_load_explicit(&b->managed_ready, memory_order_acquire))
        return 1;
    cudaError_t e = load_here(b, &l);
    pthread_mutex_lock(&lock);
    if (!b->managed_ready && e == cudaSuccess)
        managed_addresses(b, l);
    if (e != cudaErrorMemoryAllocation)
        b->managed_ready = true;
    pthread_mutex_unlock(&lock);
    return 1;
}

/* ---- texture and surface references ---------------------------------------------------------------------------------------------- */

static cudaError_t
reference(const void *key, enum entry_kind kind, uint64_t *out)
{
    struct entry *e = find(key);
    CUlibrary l;
    CUmodule m;

    if (!e || e->kind != kind)
        return kind == ENTRY_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface;
    struct bound *b = bound_here(e);
    if (b) {
        *out = b->value;
        return cudaSuccess;
    }
    cudaError_t r = load(e->binary, &l);
    if (r == cudaSuccess)
        r = rt_result(CU(cuLibraryGetModule)(&m, l));
    if (r == cudaSuccess && kind == ENTRY_TEXTURE)
        r = rt_result(CU(cuModuleGetTexRef)((CUtexref *)(void *)out, m, e->name));
    else if (r == cudaSuccess)
        r = rt_result(CU(cuModuleGetSurfRef)((CUsurfref *)(void *)out, m, e->name));
    if (r == cudaErrorSymbolNotFound)
        return kind == ENTRY_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface;
    if (r == cudaSuccess)
        bind(e, *out, 0);
    return r;
}

cudaError_t
rt_texture_reference(const void *key, CUtexref *out)
{
    uint64_t v = 0;
    cudaError_t r = reference(key, ENTRY_TEXTURE, &v);
    *out = (CUtexref)(uintptr_t)v;
    return r;
}

cudaError_t
rt_surface_reference(const void *key, CUsurfref *out)
{
    uint64_t v = 0;
    cudaError_t r = reference(key, ENTRY_SURFACE, &v);
    *out = (CUsurfref)(uintptr_t)v;
    return r;
}
