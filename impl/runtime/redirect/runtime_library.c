/* SPDX-License-Identifier: Apache-2.0
 * Our libcudart.so.N: where it is, what it exports (read from the file, so that a program which never calls the Runtime never loads
 * it), and its loading. See patch.h. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/patch.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_MAJOR = 11, MAJORS = 3 };

struct cw_runtime {
    char   *path;
    bool    tried;
    struct cw_elf_symbols symbols;
    const char **names;             /* sorted, in symbols.strings; NULL: there is no such library */
    size_t  count;
    void *_Atomic handle;
};

static struct cw_runtime runtimes[MAJORS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* of `tried` and what is filled in with it; a leaf */

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names; CW_ERR_INVALID where the file is no library of the Runtime. */
static cw_result
read_exports(struct cw_runtime *r)
{
    struct cw_elf e;
    cw_result result = cw_elf_open(&e, r->path);
    if (result)
        return result;
    const Elf64_Shdr *table = cw_elf_section_typed(&e, SHT_DYNSYM);
    result = table ? cw_elf_symbols(&e, table, &r->symbols) : CW_ERR_INVALID;
    cw_elf_close(&e);
    if (result)
        return result;
    r->names = calloc(r->symbols.count + 1, sizeof *r->names);
    for (uint64_t i = 0; r->names && i < r->symbols.count; i++) {
        const Elf64_Sym *s = &r->symbols.symbols[i];
        const char *name = cw_elf_symbol_name(&r->symbols, s);
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && cw_copy_is_runtime_name(name))
            r->names[r->count++] = name;
    }
    if (!r->names)
        return CW_ERR_NOMEM;
    qsort(r->names, r->count, sizeof *r->names, by_name);
    return r->count ? CW_OK : CW_ERR_INVALID;
}

static char folder[CW_PATH_MAX];        /* of this library, once it is known */
static _Atomic bool folder_known;

/* A function of its own, since its buffer is large: the caller's thread may have 16 KiB of stack. */
static __attribute__((noinline)) bool
ask_for_folder(void)
{
    static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;
    char now[CW_PATH_MAX];
    if (!cw_dir_of_object_in(runtimes, now))
        return false;
    pthread_mutex_lock(&filling);
    if (!folder_known)
        memcpy(folder, now, sizeof folder);
    atomic_store_explicit(&folder_known, true, memory_order_release);
    pthread_mutex_unlock(&filling);
    return true;
}

/* The folder of this library, or NULL. The dynamic loader is asked once, under whose lock others wait for the locks of this folder. */
static const char *
own_folder(void)
{
    return atomic_load_explicit(&folder_known, memory_order_acquire) || ask_for_folder() ? folder : NULL;
}

void
cw_runtime_know_folder(void)
{
    (void)own_folder();
}

static cw_result
find_runtime(struct cw_runtime *r, unsigned major)
{
    const char *set = cw_env_get(CW_ENV_RUNTIME_LIBRARY);
    if (set && *set) {
        r->path = strdup(set);
    } else {
        const char *dir = own_folder();
        if (!dir || asprintf(&r->path, "%s/libcudart.so.%s", dir, major == 11 ? "11.0" : major == 12 ? "12" : "13") < 0)
            r->path = NULL;
    }
    cw_result result = r->path ? read_exports(r) : CW_ERR_NOMEM;
    if (result) {
        cw_error("%s, the CUDA Runtime to redirect to, cannot be read: %s", r->path ? r->path : "libcudart.so", cw_result_text(result));
        free(r->names);
        r->names = NULL;
        r->count = 0;
        cw_elf_symbols_finish(&r->symbols);
        free(r->path);
        r->path = NULL;
    }
    return result;
}

struct cw_runtime *
cw_runtime_for(unsigned major, bool *again)
{
    *again = false;
    if (major < FIRST_MAJOR || major >= FIRST_MAJOR + MAJORS)
        return NULL;
    struct cw_runtime *r = &runtimes[major - FIRST_MAJOR];
    pthread_mutex_lock(&lock);
    if (!r->tried) {
        *again = find_runtime(r, major) == CW_ERR_NOMEM;
        r->tried = !*again;
    }
    pthread_mutex_unlock(&lock);
    return r->names ? r : NULL;
}

/* What is not there is nothing of ours. What cannot be looked at (memory is short, a sandbox forbids it) may be. */
static bool
may_be_there(void)
{
    return errno != ENOENT && errno != ENOTDIR;
}

static bool
same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) || stat(b, &y) ? may_be_there() : x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Allocates nothing, and says yes in doubt: ours, taken for another's, would be redirected to itself, and run for ever. */
bool
cw_runtime_is_ours(const char *path)
{
    const char *set = cw_env_get(CW_ENV_RUNTIME_LIBRARY);
    if (set && *set && same_file(path, set))
        return true;
    /* A link to a file of ours, from wherever, is ours as well. */
    char dir[CW_PATH_MAX];
    const char *own = own_folder();
    if (!own)
        return false;
    if (!realpath(path, dir))
        return may_be_there();
    char *slash = strrchr(dir, '/');
    *slash = 0;
    return same_file(own, slash == dir ? "/" : dir);
}

bool
cw_runtime_exports(const struct cw_runtime *r, const char *name)
{
    return bsearch(&name, r->names, r->count, sizeof *r->names, by_name) != NULL;
}

void *
cw_runtime_symbol(struct cw_runtime *r, const char *name)
{
    /* No lock here: the caller may hold the dynamic linker's, and another thread may want it for the same library. Opening twice is
     * opening once. An audit module lives in a namespace of its own; the Runtime belongs into the program's. */
    void *handle = atomic_load(&r->handle);
    if (!handle) {
        handle = dlmopen(LM_ID_BASE, r->path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            cw_error("the CUDA Runtime cannot be loaded: %s", dlerror());
            return NULL;
        }
        atomic_store(&r->handle, handle);
    }
    void *p = dlsym(handle, name);
    if (!p)
        cw_error("%s: %s", r->path, dlerror());
    return p;
}
