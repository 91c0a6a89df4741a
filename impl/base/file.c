/* SPDX-License-Identifier: Apache-2.0
 * See file.h. */
#define _GNU_SOURCE
#include "impl/base/file.h"

#include "impl/base/log.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { ANY, REGULAR, OWN };

/* Closes fd. */
static cw_result
read_all(int fd, enum kind kind, size_t max_size, char **data, size_t *size)
{
    cw_result r = CW_ERR_IO;
    char *buf = NULL;
    size_t n = 0, cap = 0;
    struct stat st;
    if (fstat(fd, &st))
        goto fail;
    if ((kind != ANY && !S_ISREG(st.st_mode)) || (kind == OWN && (st.st_uid != geteuid() || st.st_mode & 022))) {
        r = CW_ERR_INVALID;
        errno = kind == OWN ? EPERM : EINVAL;
        goto fail;
    }
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        goto fail;
    }
    if ((uint64_t)st.st_size > max_size) {
        r = CW_ERR_LIMIT;
        goto fail;
    }
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : (size_t)st.st_size + 4096;
            char *p = realloc(buf, cap);
            if (!p) {
                r = CW_ERR_NOMEM;
                goto fail;
            }
            buf = p;
        }
        ssize_t got = read(fd, buf + n, cap - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            goto fail;
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > max_size) {
            r = CW_ERR_LIMIT;
            goto fail;
        }
    }
    buf[n] = 0;
    close(fd);
    *data = buf;
    *size = n;
    return CW_OK;
fail:;
    int saved = errno;
    free(buf);
    close(fd);
    errno = saved;
    return r;
}

cw_result
cw_file_read(const char *path, size_t max_size, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : CW_ERR_IO;
    return read_all(fd, ANY, max_size, data, size);
}

cw_result
cw_file_read_regular(const char *path, size_t max_size, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : errno == ENXIO ? CW_ERR_INVALID : CW_ERR_IO;    /* ENXIO: a socket */
    return read_all(fd, REGULAR, max_size, data, size);
}

cw_result
cw_file_read_own(const char *path, size_t max_size, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);      /* a pipe without a writer opens at once */
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : errno == ELOOP || errno == ENXIO || errno == EACCES ? CW_ERR_INVALID : CW_ERR_IO;
    return read_all(fd, OWN, max_size, data, size);
}

cw_result
cw_file_map(const char *path, struct cw_mapped_file *out)
{
    struct stat st;
    *out = (struct cw_mapped_file){ 0 };
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : CW_ERR_IO;
    cw_result r = fstat(fd, &st) ? CW_ERR_IO : S_ISREG(st.st_mode) && st.st_size > 0 ? CW_OK : CW_ERR_INVALID;
    void *p = r ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (!r && p == MAP_FAILED)
        r = CW_ERR_IO;
    if (!r)
        *out = (struct cw_mapped_file){ p, (size_t)st.st_size };
    int saved = errno;
    close(fd);
    errno = saved;
    return r;
}

void
cw_file_unmap(struct cw_mapped_file *f)
{
    if (f->data)
        munmap((void *)f->data, f->size);
    *f = (struct cw_mapped_file){ 0 };
}

bool
cw_file_is_special(const char *path)
{
    struct stat s;
    return !stat(path, &s) && !S_ISREG(s.st_mode);
}

enum { AS_IT_IS = -1 };

static bool
write_all(int fd, const void *data, size_t size, int64_t offset)
{
    sigset_t ours, before, pending;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);    /* callers hold locks */
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    sigaddset(&ours, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    bool ok = true;
    for (size_t off = 0; ok && off < size;) {
        size_t step = size - off < 1u << 30 ? size - off : 1u << 30;
        /* By number: the thread sanitizer would take pwrite's reading for one that nothing orders. */
        ssize_t w = offset == AS_IT_IS ? write(fd, (const char *)data + off, step)
                                       : syscall(SYS_pwrite64, fd, (const char *)data + off, step, offset + (int64_t)off);
        if (w < 0 && errno == EINTR)
            continue;
        ok = w > 0;
        off += ok ? (size_t)w : 0;
    }
    int saved = errno;
    /* What this raised is pending for this thread; what was pending before is the application's. */
    if (!ok && (saved == EFBIG || saved == EPIPE)) {
        int sig = saved == EFBIG ? SIGXFSZ : SIGPIPE;
        sigemptyset(&ours);
        sigaddset(&ours, sig);
        if (!sigismember(&pending, sig))
            while (sigtimedwait(&ours, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
                ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return ok;
}

bool
cw_write_all(int fd, const void *data, size_t size)
{
    return write_all(fd, data, size, AS_IT_IS);
}

bool
cw_write_all_at(int fd, const void *data, size_t size, uint64_t offset)
{
    return write_all(fd, data, size, (int64_t)offset);
}

void
cw_stdout_write(const void *data, size_t size)
{
    flockfile(stdout);
    while (fflush(stdout) && errno == EINTR)
        ;
    int fd = fileno(stdout);
    if (fd >= 0) {
        (void)cw_write_all(fd, data, size);
    } else {                            /* closed, or the program's own kind of stream */
        fwrite(data, 1, size, stdout);
        fflush(stdout);
    }
    funlockfile(stdout);
}

/* ---- descriptors -------------------------------------------------------------------------------------------------------------------- */

int
cw_fd_keep(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), saved = errno;
    close(fd);
    errno = saved;
    return other;
}

bool
cw_fd_file(int fd, struct cw_fd_file *out)
{
    struct stat st;
    if (fstat(fd, &st))
        return false;
    *out = (struct cw_fd_file){ st.st_dev, st.st_ino };
    return true;
}

bool
cw_fd_is(int fd, const struct cw_fd_file *file)
{
    int saved = errno;
    struct cw_fd_file now;
    bool same = cw_fd_file(fd, &now) && now.device == file->device && now.inode == file->inode;
    errno = saved;
    return same;
}

void
cw_fd_close(int fd, const struct cw_fd_file *file)
{
    if (cw_fd_is(fd, file))
        close(fd);
}

int
cw_memory_file(const char *name, uint64_t size)
{
    int fd = cw_memory_file_own(name, size);
    if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        int saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    return fd;
}

int
cw_memory_file_own(const char *name, uint64_t size)
{
    struct rlimit most;
    if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur < size) {      /* it would raise SIGXFSZ */
        errno = EFBIG;
        return -1;
    }
    int fd = cw_fd_keep(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd >= 0 && ftruncate(fd, (off_t)size)) {
        int saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    return fd;
}

/* ---- files that are there whole or not at all --------------------------------------------------------------------------------------- */

/* The thread's: a process whose first thread has ended has no /proc/self/fd. */
static const char descriptors[] = "/proc/thread-self/fd";

static int
open_unnamed(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".") >= (int)sizeof folder ||
        access(descriptors, X_OK))
        return -1;
    return cw_fd_keep(open(*folder ? folder : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

cw_result
cw_new_file_begin(struct cw_new_file *f, const char *path, unsigned mode)
{
    if (cw_file_is_special(path)) {
        *f = (struct cw_new_file){ .fd = cw_fd_keep(open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)), .special = true };
        return f->fd < 0 ? CW_ERR_IO : CW_OK;
    }
    *f = (struct cw_new_file){ .fd = open_unnamed(path), .path = strdup(path) };
    if (f->path && f->fd < 0 && asprintf(&f->temporary, "%s.tmp-XXXXXX", path) < 0)
        f->temporary = NULL;
    if (f->temporary && (f->fd = cw_fd_keep(mkostemp(f->temporary, O_CLOEXEC))) < 0) {
        free(f->temporary);
        f->temporary = NULL;
    }
    /* A confined process may not (confine.h), and some file systems have no modes: then the file is the user's alone, as it was made. */
    if (f->path && f->fd >= 0 && (!fchmod(f->fd, mode) || errno == EPERM))
        return CW_OK;
    (void)cw_new_file_finish(f, false);
    return CW_ERR_IO;
}

/* The unnamed file under a name: its own where nothing has it, else another one that is then renamed. */
static bool
give_name(const struct cw_new_file *f)
{
    char self[48], other[PATH_MAX];
    static _Atomic unsigned number;
    snprintf(self, sizeof self, "%s/%d", descriptors, f->fd);
    if (!linkat(AT_FDCWD, self, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW))
        return true;
    for (unsigned i = 0; errno == EEXIST && i < 100; i++) {
        if (snprintf(other, sizeof other, "%s.tmp-%06x", f->path, ((unsigned)getpid() * 64 + ++number) & 0xffffffu) >= (int)sizeof other) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (linkat(AT_FDCWD, self, AT_FDCWD, other, AT_SYMLINK_FOLLOW))
            continue;
        if (!rename(other, f->path))
            return true;
        int saved = errno;
        unlink(other);
        errno = saved;
        return false;
    }
    return false;
}

bool
cw_new_file_claim(struct cw_new_file *f, const char *path)
{
    char self[48];
    snprintf(self, sizeof self, "%s/%d", descriptors, f->fd);
    if (f->special)
        return true;
    if (!f->temporary)
        return f->named = !linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    f->named = !renameat2(AT_FDCWD, f->temporary, AT_FDCWD, path, RENAME_NOREPLACE);
    if (!f->named && errno == EINVAL)   /* a file system that cannot: NFS */
        f->named = !link(f->temporary, path) && !unlink(f->temporary);
    return f->named;
}

cw_result
cw_new_file_finish(struct cw_new_file *f, bool keep)
{
    int saved = errno;
    bool ok = keep;
    if (ok && !f->temporary && !f->special && !f->named)
        ok = give_name(f);
    if (f->fd >= 0 && close(f->fd))
        ok = false;
    if (ok && f->temporary && !f->named)
        ok = !rename(f->temporary, f->path);
    if (keep && !ok)
        saved = errno;
    if (!ok && f->temporary && !f->named)
        unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (struct cw_new_file){ .fd = -1 };
    errno = saved;
    return ok || !keep ? CW_OK : CW_ERR_IO;
}

cw_result
cw_file_write_atomic(const char *path, const void *data, size_t size, unsigned mode)
{
    char target[PATH_MAX];
    struct cw_new_file f;
    if (!cw_file_is_special(path) && realpath(path, target)) /* keep a symbolic link: replace the file that it names */
        path = target;
    cw_result r = cw_new_file_begin(&f, path, mode);
    if (r != CW_OK)
        return r;
    bool ok = cw_write_all(f.fd, data, size);
    r = cw_new_file_finish(&f, ok);
    return ok ? r : CW_ERR_IO;
}

cw_result
cw_file_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? CW_ERR_NOT_FOUND : CW_ERR_IO;
    bool ok = cw_write_all(fd, data, size);
    int saved = errno;
    if (close(fd) && ok) {
        ok = false;
        saved = errno;
    }
    errno = saved;
    return ok ? CW_OK : CW_ERR_IO;
}

cw_result
cw_mkdirs(const char *path, unsigned mode)
{
    char tmp[PATH_MAX];
    size_t n = strlen(path);
    if (!n || n >= sizeof tmp) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return CW_ERR_IO;
    }
    memcpy(tmp, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (tmp[i] != '/' && tmp[i] != 0)
            continue;
        char c = tmp[i];
        tmp[i] = 0;
        if (!mkdir(tmp, mode)) {
            if (!(mode & 077))
                (void)chmod(tmp, mode);         /* whatever the umask */
        } else if (errno != EEXIST) {
            return CW_ERR_IO;
        }
        tmp[i] = c;
    }
    struct stat st;
    if (stat(path, &st))
        return CW_ERR_IO;
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return CW_ERR_IO;
    }
    return CW_OK;
}

/* ---- removing a folder ---------------------------------------------------------------------------------------------------------------- */

enum { DEEPEST = 32 };          /* folders open at a time; what is deeper is moved to the top first */

static void empty(int folder, int top, unsigned depth);

/* True: it went. */
static bool
remove_folder(int parent, const char *name, int top, unsigned depth)
{
    static _Atomic unsigned moved;
    char other[32];
    if (depth == DEEPEST) {
        snprintf(other, sizeof other, "deep-%u", ++moved);
        if (renameat(parent, name, top, other) && errno == EACCES && !fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW))
            (void)renameat(parent, name, top, other);
        return false;                   /* the next pass over the top finds it */
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && !fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW))
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        empty(fd, depth ? top : fd, depth);
    return !unlinkat(parent, name, AT_REMOVEDIR);
}

/* Closes the folder. */
static void
empty(int folder, int top, unsigned depth)
{
    struct stat st;
    if (!fstat(folder, &st) && (st.st_mode & 0700) != 0700)
        (void)fchmod(folder, 0700);
    DIR *d = fdopendir(folder);
    if (!d) {
        close(folder);
        return;
    }
    for (bool again = true; again;) {
        again = false;
        rewinddir(d);
        for (struct dirent *e; (e = readdir(d));) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                continue;
            again |= !unlinkat(folder, e->d_name, 0) || (errno == EISDIR && remove_folder(folder, e->d_name, top, depth + 1));
        }
    }
    closedir(d);
}

void
cw_remove_tree_at(int folder, const char *name)
{
    (void)remove_folder(folder, name, -1, 0);
}

void
cw_remove_tree(const char *path)
{
    cw_remove_tree_at(AT_FDCWD, path);
}

_Static_assert(CW_PATH_MAX >= PATH_MAX, "realpath's");

static bool
folder_of(const Dl_info *info, char dir[CW_PATH_MAX])
{
    /* For the program itself this is argv[0]: a bare name when the shell found it in PATH. */
    if (!realpath(strchr(info->dli_fname, '/') ? info->dli_fname : "/proc/self/exe", dir))
        return false;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    return true;
}

/* The folder of the library that this code is in, where the dynamic linker knows a relative name of it (a relative LD_LIBRARY_PATH): that is
 * meant from the folder where the process was when it loaded the library. */
static char loaded_from[CW_PATH_MAX];
static const void *loaded_at;

static __attribute__((constructor)) void
note_folder(void)
{
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&note_folder, &info) && info.dli_fname && *info.dli_fname != '/' && strchr(info.dli_fname, '/') &&
        folder_of(&info, loaded_from))
        loaded_at = info.dli_fbase;
}

bool
cw_dir_of_object_in(const void *address, char dir[CW_PATH_MAX])
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    if (!loaded_at || info.dli_fbase != loaded_at)
        return folder_of(&info, dir);
    strcpy(dir, loaded_from);
    return true;
}

char *
cw_dir_of_object(const void *address)
{
    char dir[CW_PATH_MAX];
    return cw_dir_of_object_in(address, dir) ? strdup(dir) : NULL;
}

void *
cw_dlopen(const char *path)
{
    Dl_info info;
    void *map;
    Lmid_t space = LM_ID_BASE;
    if (!dladdr1((const void *)(uintptr_t)&cw_dlopen, &info, &map, RTLD_DL_LINKMAP) || dlinfo(map, RTLD_DI_LMID, &space))
        space = LM_ID_BASE;
    return dlmopen(space, path, RTLD_NOW | RTLD_LOCAL);
}

static void *
open_library(const char *path, size_t need, char *text, size_t size, bool *no_memory)
{
    void *enough = need ? malloc(need) : NULL;
    if (need && !enough) {
        *no_memory = true;
        snprintf(text, size, "%s: out of memory", path);
        return NULL;
    }
    free(enough);
    if (strchr(path, '/') && cw_file_is_special(path)) {          /* a pipe: dlopen would wait for who writes into it */
        snprintf(text, size, "%s is no regular file", path);
        return NULL;
    }
    void *library = cw_dlopen(path);
    void (*use_stderr)(const struct cw_fd_file *) = library ? (void (*)(const struct cw_fd_file *))dlsym(library, "cudaway_use_stderr") : NULL;
    if (use_stderr)
        use_stderr(cw_log_stderr());
    if (library)
        return library;
    const char *why = dlerror();
    *no_memory = !why || strstr(why, strerror(ENOMEM)) || strstr(why, strerror(EMFILE)) || strstr(why, strerror(ENFILE)) || !strcmp(why, "out of memory");
    snprintf(text, size, "%s", why ? why : "out of memory");
    return NULL;
}

void *
cw_open_library(const void *address, const char *name, size_t need, char *text, size_t size, bool *no_memory)
{
    *no_memory = false;
    if (!address)
        return open_library(name, need, text, size, no_memory);
    char *folder = cw_dir_of_object(address), *path = NULL;
    void *library = NULL;
    if (!folder || asprintf(&path, "%s/%s", folder, name) < 0) {
        *no_memory = folder || errno == ENOMEM || errno == EMFILE || errno == ENFILE;
        snprintf(text, size, "%s: cannot find the folder that it is in: %s", name, strerror(errno));
    } else {
        library = open_library(path, need, text, size, no_memory);
        free(path);
    }
    free(folder);
    return library;
}

char *
cw_folder_for_list(const char *folder, const char *link)
{
    static const char separators[] = " \t\n:;";
    if (!strpbrk(folder, separators))
        return strdup(folder);
    if (strpbrk(link, separators)) {
        errno = EINVAL;
        return NULL;
    }
    if (symlink(folder, link))
        return NULL;
    return strdup(link);
}
