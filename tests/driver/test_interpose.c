/* SPDX-License-Identifier: Apache-2.0
 * Programs with functions of the C library of their own, which the libraries then call (the program exports them): allocators, profilers, sandboxes, file systems.
 * They call the driver from there, and fail. What must hold: no call waits for itself, memory goes back to the allocator that it is from, and a failed
 * function of the C library is an error of the call, which succeeds when it is repeated. */
#define _GNU_SOURCE
#include "tests/driver/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define OF_C(X) X(open) X(read) X(close) X(mmap) X(munmap) X(mprotect) X(pthread_create) X(sigaction) X(getenv) X(fopen) X(malloc) X(free)
#define X(name) IN_##name,
enum function { OF_C(X) FUNCTIONS };
#undef X
#define X(name) #name,
static const char *const names[] = { OF_C(X) };
#undef X

static atomic_ulong called[FUNCTIONS];
static void (*_Atomic ask)(void);                   /* called in those of `from` */
static unsigned from = -1u;
static atomic_ulong asked;
static atomic_long countdown[FUNCTIONS];            /* 1: the next call fails */
static int failure;                                 /* its errno */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* True: the call fails. */
static bool
enter(enum function f)
{
    void (*fn)(void) = atomic_load(&ask);
    if (inside)
        return false;
    atomic_fetch_add(&called[f], 1);
    if (fn && from >> f & 1) {
        int saved = errno;
        inside = true;
        fn();
        atomic_fetch_add(&asked, 1);
        inside = false;
        errno = saved;
    }
    if (!atomic_load(&countdown[f]) || atomic_fetch_sub(&countdown[f], 1) != 1)
        return false;
    errno = failure;
    return true;
}

#define PUBLIC __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_bool program_is_blocked;

/* pthread_create takes locks of the C library. A garbage collector may have stopped their holder by a signal, and wait for this thread to take its own. */
static void
look_at_mask(void)
{
    sigset_t mask;
    if (syscall(SYS_gettid) == getpid() && !pthread_sigmask(SIG_SETMASK, NULL, &mask) && sigismember(&mask, SIGUSR2))
        atomic_store(&program_is_blocked, true);
}

static int
opens(const char *path, int flags, va_list more)
{
    return enter(IN_open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0);
}

PUBLIC int
open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = opens(path, flags, more);
    va_end(more);
    return fd;
}

PUBLIC ssize_t read(int fd, void *to, size_t size) { return enter(IN_read) ? -1 : syscall(SYS_read, fd, to, size); }
PUBLIC int close(int fd) { return enter(IN_close) ? -1 : (int)syscall(SYS_close, fd); }
PUBLIC void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t from_there) { return enter(IN_mmap) ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, prot, flags, fd, from_there); }
PUBLIC int munmap(void *at, size_t size) { return enter(IN_munmap) ? -1 : (int)syscall(SYS_munmap, at, size); }
PUBLIC int mprotect(void *at, size_t size, int prot) { return enter(IN_mprotect) ? -1 : (int)syscall(SYS_mprotect, at, size, prot); }
PUBLIC int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg) { look_at_mask(); return enter(IN_pthread_create) ? EAGAIN : REAL(pthread_create)(t, a, fn, arg); }
PUBLIC int sigaction(int n, const struct sigaction *a, struct sigaction *old) { return enter(IN_sigaction) ? -1 : REAL(sigaction)(n, a, old); }
PUBLIC char *getenv(const char *name) { return enter(IN_getenv) ? NULL : REAL(getenv)(name); }
PUBLIC char *secure_getenv(const char *name) { return enter(IN_getenv) ? NULL : REAL(secure_getenv)(name); }
PUBLIC FILE *fopen(const char *path, const char *mode) { return enter(IN_fopen) ? NULL : REAL(fopen)(path, mode); }

/* ---- an allocator that knows its own ---- */

void *__libc_malloc(size_t size);
void __libc_free(void *p);
enum { MARK = 0x5a17c0de, LEAST = 16 };
struct head { void *base; size_t size; uint64_t mark, unused; };

static void *
give(size_t align, size_t size)
{
    align = align < LEAST ? LEAST : align;
    if (enter(IN_malloc) || size > SIZE_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    char *base = __libc_malloc(size + align + sizeof(struct head));
    if (!base)
        return NULL;
    char *p = base + sizeof(struct head);
    p += -(uintptr_t)p % align;
    ((struct head *)p)[-1] = (struct head){ base, size, MARK, 0 };
    return p;
}

static struct head *
head_of(void *p)
{
    struct head *h = (struct head *)p - 1;
    if (h->mark != MARK) {
        static const char text[] = "memory of another allocator, or freed twice\n";
        (void)syscall(SYS_write, 2, text, sizeof text - 1);
        abort();
    }
    return h;
}

PUBLIC void *malloc(size_t size) { return give(LEAST, size); }
PUBLIC void *memalign(size_t align, size_t size) { return give(align, size); }
PUBLIC void *aligned_alloc(size_t align, size_t size) { return give(align, size); }

PUBLIC int
posix_memalign(void **p, size_t align, size_t size)
{
    *p = give(align, size);
    return *p ? 0 : ENOMEM;
}

PUBLIC void *
calloc(size_t n, size_t size)
{
    size_t all = 0;
    void *p = __builtin_mul_overflow(n, size, &all) ? NULL : give(LEAST, all);
    if (p)
        memset(p, 0, all);
    return p;
}

PUBLIC void
free(void *p)
{
    if (!p)
        return;
    int saved = errno;
    (void)enter(IN_free);
    struct head *h = head_of(p);
    h->mark = 0;
    __libc_free(h->base);
    errno = saved;
}

PUBLIC void *
realloc(void *old, size_t size)
{
    void *p = give(LEAST, size);
    if (p && old) {
        size_t had = head_of(old)->size;
        memcpy(p, old, had < size ? had : size);
        free(old);
    }
    return p;
}

/* ---- cases ---- */

static void
own(void)
{
    must_work();
    EXPECT(called[IN_open] && called[IN_mmap] && called[IN_pthread_create] && called[IN_getenv] && called[IN_malloc] && called[IN_free]);
}

/* Calls that change nothing: no matter in the middle of which call the thread is. */
static void
questions(void)
{
    CUcontext c = NULL, popped;
    CUdevice d;
    CUmemorytype type;
    CUdeviceptr base;
    CUfunc_cache cache;
    CUmemoryPool pool;
    CUuuid uuid;
    char name[32];
    const char *error;
    size_t a, b;
    unsigned flags;
    unsigned long long id;
    int n, active;
    void *address = NULL;
    struct cudaPointerAttributes pointer;
    cuDriverGetVersion(&n);
    cuGetErrorName(CUDA_ERROR_UNKNOWN, &error);
    cuDeviceGetCount(&n);
    cuDeviceGet(&d, 0);
    cuDeviceGetName(name, sizeof name, 0);
    cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    cuDeviceTotalMem_v2(&a, 0);
    cuDeviceGetUuid(&uuid, 0);
    cuDeviceGetDefaultMemPool(&pool, 0);
    cuDeviceCanAccessPeer(&n, 0, 0);
    cuDevicePrimaryCtxGetState(0, &flags, &active);
    cuCtxGetCurrent(&c);
    cuCtxGetDevice(&d);
    cuCtxGetFlags(&flags);
    cuCtxGetLimit(&a, CU_LIMIT_STACK_SIZE);
    cuCtxGetCacheConfig(&cache);
    cuCtxGetApiVersion(NULL, &flags);
    cuCtxGetId(NULL, &id);
    cuMemGetInfo_v2(&a, &b);
    cuMemGetAddressRange_v2(&base, &a, (CUdeviceptr)(uintptr_t)&questions);
    cuMemHostGetFlags(&flags, &n);
    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&questions);
    cuGetProcAddress(name, &address, 12000, 0);
    cudaGetDevice(&n);
    cudaGetDeviceCount(&n);
    cudaDriverGetVersion(&n);
    cudaPeekAtLastError();
    if (c) {
        cuCtxPushCurrent_v2(c);
        cudaPointerGetAttributes(&pointer, &n);
        cuCtxPopCurrent_v2(&popped);
    }
}

static void
asks(void)
{
    atomic_store(&ask, questions);
    must_work();
    atomic_store(&ask, NULL);
    EXPECT(asked > 100);
}

/* The first call of all comes from such a function, or comes again in the middle of itself. */
static void
starts(void)
{
    cuInit(0);
}

static void
makes_context(void)
{
    size_t a, b;
    if (syscall(SYS_gettid) == getpid())            /* not on the libraries' threads, which whoever ends a context waits for */
        cudaMemGetInfo(&a, &b);
}

static void
start(void)
{
    static void (*const calls[])(void) = { starts, makes_context };
    for (enum function f = 0; f < IN_free; f++)     /* free aside: glibc's dlsym frees its last error, and again where free comes to dlsym */
        for (unsigned i = 0; i < 2; i++) {
            fflush(NULL);
            pid_t child = fork();
            if (!child) {
                failures = 0;
                alarm(120);
                from = 1u << f;
                atomic_store(&ask, calls[i]);
                cudaError_t e = cudaFree(NULL);
                atomic_store(&ask, NULL);
                if (e != cudaSuccess)
                    fprintf(stderr, "%s, %u: cudaFree gave %d\n", names[f], i, (int)e);
                EXPECT(e == cudaSuccess);
                must_work();
                _exit(failures != 0);
            }
            int status = status_of(child);
            if (status)
                fprintf(stderr, "a call from %s, %u: status 0x%x\n", names[f], i, (unsigned)status);
            EXPECT(!status);
        }
}

/* One call after another fails. Without memory or threads the error is out of memory; a file that cannot be read or written may be another. */
static bool
failed(enum function f, long n)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        failures = 0;
        alarm(120);
        atomic_store(&countdown[f], n);
        work();
        bool last = atomic_exchange(&countdown[f], 0) > 0;
        if (wrong || (failed_call && failed_code != CUDA_ERROR_OUT_OF_MEMORY && (failure == ENOMEM || failure == EAGAIN))) {
            fprintf(stderr, "%s %ld: %s gave %d; %s\n", names[f], n, failed_call ? failed_call : "nothing", failed_code, wrong ? wrong : "right results");
            failures++;
        }
        must_work();
        _exit(failures ? 1 : last ? 2 : 0);
    }
    int status = status_of(child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s %ld: signal %d\n", names[f], n, WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) != 2;
}

static void
fails(void)
{
    static const struct { enum function f; int code, step; } some[] = {
        { IN_mmap, ENOMEM, 7 }, { IN_mprotect, ENOMEM, 19 }, { IN_pthread_create, EAGAIN, 5 }, { IN_open, EACCES, 9 }, { IN_read, EIO, 5 }, { IN_fopen, EACCES, 1 },
        { IN_sigaction, EPERM, 97 }, { IN_getenv, 0, 61 }, { IN_close, EIO, 9 },
    };
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        failure = some[i].code;
        for (long n = 1; failed(some[i].f, n); n += some[i].step)
            ;
    }
}

/* What cannot be unmapped stays. */
static void
keeps(void)
{
    failure = ENOMEM;
    for (long n = 1; n < 30; n++) {
        atomic_store(&countdown[IN_munmap], n);
        work();
        atomic_store(&countdown[IN_munmap], 0);
    }
    must_work();
}

/* No call keeps signals from the program's thread while it may wait. */
static void
stays_open(void)
{
    must_work();
    EXPECT(atomic_load(&called[IN_pthread_create]) && !atomic_load(&program_is_blocked));
}

static const struct test tests[] = { { "own", own }, { "asks", asks }, { "start", start }, { "fails", fails }, { "keeps", keeps }, { "stays_open", stays_open }, { 0 } };

int
main(int argc, char **argv)
{
    return run_tests(argc, argv, tests, &(struct test){ 0 });
}
