/* SPDX-License-Identifier: Apache-2.0
 * libcudaway-audit.so, a module for LD_AUDIT (rtld-audit(7)): copies of NVIDIA's runtime are redirected when their object has been
 * mapped, before its constructors run, and a driver, Runtime or nvJitLink that is asked for by its full path is ours. It lives in a namespace
 * of its own with a C library of its own. */
#define _GNU_SOURCE
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/runtime/redirect/elf.h"
#include "impl/runtime/redirect/redirect.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OURS = 1 };                  /* an object's cookie: a copy, or this, or 0 */

static bool enabled;
static char *folder;                /* where this module and the driver are */

EXPORT unsigned
la_version(unsigned version)
{
    enabled = cw_redirect_enabled();
    folder = cw_dir_of_object(&folder);
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static bool
is_ours(const char *path)
{
    size_t n = folder ? strlen(folder) : 0;
    return n && path && !strncmp(path, folder, n) && path[n] == '/';
}

/* The libnvJitLink.so.N for which ours was given; it needs that one for what only NVIDIA's can do. Under the dynamic linker's lock. */
static char stood_for[PATH_MAX];

/* Tell it, in a variable of its own that has no initial value: nothing of the object has run yet. */
static void
tell_linker(const struct link_map *map)
{
    static const char variable[] = "cudaway_nvjitlink_stands_for";
    struct cw_elf e;
    struct cw_elf_symbols s;
    if (!*stood_for || !strstr(map->l_name, "/libnvJitLink.so.") || cw_elf_open(&e, map->l_name))
        return;
    const Elf64_Shdr *table = cw_elf_section_typed(&e, SHT_DYNSYM);
    if (table && !cw_elf_symbols(&e, table, &s)) {
        for (uint64_t i = 0; i < s.count; i++)
            if (!strcmp(cw_elf_symbol_name(&s, &s.symbols[i]), variable) && s.symbols[i].st_size == sizeof stood_for)
                memcpy((void *)(map->l_addr + s.symbols[i].st_value), stood_for, sizeof stood_for);
        cw_elf_symbols_finish(&s);
    }
    cw_elf_close(&e);
}

EXPORT unsigned
la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    *cookie = 0;
    if (is_ours(map->l_name)) {
        *cookie = OURS;
        tell_linker(map);
    }
    else if (enabled && namespace == LM_ID_BASE) {
        *cookie = (uintptr_t)cw_redirect_object(map->l_name && *map->l_name ? map->l_name : cw_redirect_program(), map->l_addr);
        cw_redirect_compiler(map->l_name, map->l_addr);
    }
    return 0;                       /* no symbol bindings: calls cost what they cost without us */
}

/* Copies of objects that were closed. dlclose closes objects, announces the deletion, and unmaps them; at the end of a process the
 * announcement comes first and nothing is unmapped, so that threads that still run find their way. Under the dynamic linker's lock. */
static struct cw_copy **closed;
static size_t nclosed;

EXPORT unsigned
la_objclose(uintptr_t *cookie)
{
    struct cw_copy **p = *cookie && *cookie != OURS ? realloc(closed, (nclosed + 1) * sizeof *p) : NULL;
    if (p) {
        closed = p;
        closed[nclosed++] = (struct cw_copy *)*cookie;
    }
    *cookie = 0;
    return 0;
}

EXPORT void
la_activity(uintptr_t *cookie, unsigned activity)
{
    if (activity == LA_ACT_DELETE)
        while (nclosed)
            cw_redirect_forget(closed[--nclosed]);
}

/* The library of ours that stands for what `name` names, or NULL. A program that is recorded gets the tracer's also where nothing is
 * redirected: below it may be NVIDIA's driver, for which the Runtime stays as it is. */
static const char *
ours(const char *name)
{
    static const char *const same[] = { "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13" };
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    bool layered = cw_env_get(CW_ENV_TRACE_SOCKET) || cw_env_get(CW_ENV_DUMP_DIR) || cw_env_get(CW_ENV_DIFF_DIR) || cw_env_get(CW_ENV_CHECK);
    if (!strcmp(base, "libcuda.so.1") || !strcmp(base, "libcuda.so"))
        return layered ? "trace/libcuda.so.1" : enabled ? "libcuda.so.1" : NULL;
    for (unsigned i = 0; enabled && i < sizeof same / sizeof *same; i++)
        if (!strcmp(base, same[i]))
            return same[i];
    return NULL;
}

EXPORT char *
la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    /* As it was asked for, before any path is searched: a program's RPATH comes before LD_LIBRARY_PATH. Our own libraries may mean
     * NVIDIA's: the cuda device, the tracer over another driver. */
    const char *own = folder && flag == LA_SER_ORIG && *cookie != OURS ? ours(name) : NULL;
    char *path = NULL;
    if (!own || is_ours(name) || asprintf(&path, "%s/%s", folder, own) < 0)
        return (char *)(uintptr_t)name;
    if (access(path, R_OK)) {
        free(path);
        return (char *)(uintptr_t)name;
    }
    if (strstr(own, "libnvJitLink") && strchr(name, '/') && strlen(name) < sizeof stood_for)
        strcpy(stood_for, name);
    cw_info("%s is asked for: %s is loaded", name, path);
    return path;                    /* the linker keeps it */
}
