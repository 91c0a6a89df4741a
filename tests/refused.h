/* SPDX-License-Identifier: Apache-2.0
 * The program's functions in place of the C library's that ask the system for something, which refuse where the test says so: fails(), which who includes
 * this defines. One of REFUSE_THREADS, REFUSE_MAPPINGS, REFUSE_UNMAPPINGS and REFUSE_FILES says which. Needs _GNU_SOURCE. */
#ifndef TESTS_REFUSED_H
#define TESTS_REFUSED_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether this call, of the code at that address, is refused. */
static bool fails(const void *caller);

/* The dynamic loader, and a thread that plays the GPU. */
static bool
is_exempt(const void *caller)
{
    char name[16] = "";
    Dl_info info;
    return (!pthread_getname_np(pthread_self(), name, sizeof name) && !strcmp(name, "cudaway-gpu")) ||
           (dladdr(caller, &info) && (uintptr_t)info.dli_fbase == getauxval(AT_BASE));
}

#define OURS __attribute__((visibility("default")))
#define REFUSE(error, result)                              \
    do                                                     \
        if (fails(__builtin_return_address(0))) {          \
            errno = error;                                 \
            return result;                                 \
        }                                                  \
    while (0)
#define NEXT(name) __extension__ ({ static __typeof__(name) *next; if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); next; })

#ifdef REFUSE_THREADS
OURS int
pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *user)
{
    return fails(__builtin_return_address(0)) ? EAGAIN : NEXT(pthread_create)(t, a, f, user);
}
OURS pid_t fork(void) { REFUSE(EAGAIN, -1); return NEXT(fork)(); }
#endif

#ifdef REFUSE_MAPPINGS
OURS void *
mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    REFUSE(ENOMEM, MAP_FAILED);
    return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}
OURS void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset) __attribute__((alias("mmap")));
OURS int mprotect(void *at, size_t size, int prot) { REFUSE(ENOMEM, -1); return (int)syscall(SYS_mprotect, at, size, prot); }
OURS int madvise(void *at, size_t size, int advice) { REFUSE(ENOMEM, -1); return (int)syscall(SYS_madvise, at, size, advice); }
#endif

#ifdef REFUSE_UNMAPPINGS
OURS int munmap(void *at, size_t size) { REFUSE(ENOMEM, -1); return (int)syscall(SYS_munmap, at, size); }
#endif

#ifdef REFUSE_FILES
OURS int
open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const int mode = va_arg(ap, int);
    va_end(ap);
    REFUSE(EMFILE, -1);
    return openat(AT_FDCWD, path, flags, mode);
}
OURS int open64(const char *path, int flags, ...) __attribute__((alias("open")));
OURS FILE *fopen(const char *path, const char *mode) { REFUSE(EMFILE, NULL); return NEXT(fopen)(path, mode); }
OURS FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
OURS int memfd_create(const char *name, unsigned flags) { REFUSE(EMFILE, -1); return (int)syscall(SYS_memfd_create, name, flags); }
OURS int pipe2(int p[2], int flags) { REFUSE(EMFILE, -1); return (int)syscall(SYS_pipe2, p, flags); }
OURS int socketpair(int domain, int type, int protocol, int pair[2]) { REFUSE(EMFILE, -1); return (int)syscall(SYS_socketpair, domain, type, protocol, pair); }
OURS int dup(int fd) { REFUSE(EMFILE, -1); return (int)syscall(SYS_dup, fd); }
OURS int stat(const char *path, struct stat *s) { REFUSE(ENOMEM, -1); return (int)syscall(SYS_stat, path, s); }
#endif

#endif
