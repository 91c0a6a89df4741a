/* SPDX-License-Identifier: Apache-2.0
 * See ld_search.h. The order is glibc's: RPATH of the object and of those that loaded it, unless the object has a RUNPATH; LD_LIBRARY_PATH; RUNPATH; the
 * cache; the default folders. Each folder may have subdirectories for better processors (glibc-hwcaps). Files for other machines are passed over. */
#define _GNU_SOURCE
#include "tracer/cli/ld_search.h"

#include "tracer/cli/cli.h"
#include "tracer/cli/ld_cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the system ---- */

static int
take_interpreter(struct dl_phdr_info *info, size_t size, void *out)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)     /* the first object is the program */
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)out = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

/* The text between the quotes of `key="text"`, in place; NULL: another line. A key that ends in [ has an index. */
static char *
value_of(char *line, const char *key)
{
    if (strncmp(line, key, strlen(key)) != 0)
        return NULL;
    char *from = strstr(line, "=\""), *to = from ? strrchr(from + 2, '"') : NULL;
    if (!to)
        return NULL;
    *to = 0;
    return from + 2;
}

static bool
append(char ***list, unsigned *count, const char *text)
{
    char **longer = realloc(*list, (*count + 2) * sizeof **list), *own = strdup(text);
    if (longer)
        *list = longer;
    if (!longer || !own) {
        free(own);
        return false;
    }
    longer[(*count)++] = own;
    longer[*count] = NULL;
    return true;
}

/* "x86-64-v4:x86-64-v3:x86-64-v2" and the mask of those that can be used, bit 0 for the first. */
static bool
take_hwcaps(struct ld_system *s, char *names, unsigned long active)
{
    bool ok = true;
    char *rest = names, *name;
    for (unsigned i = 0; (name = strsep(&rest, ":")) && i < 8 * sizeof active; i++)
        if (active >> i & 1)
            ok &= append(&s->hwcaps, &s->hwcap_count, name);
    return ok;
}

bool
ld_system_open(struct ld_system *s)
{
    const char *linker = NULL;
    char command[PATH_MAX + 64], *line = NULL, *value, *names = NULL;
    size_t capacity = 0;
    unsigned folders = 0;
    unsigned long active = 0;
    bool ok = true;
    memset(s, 0, sizeof *s);
    dl_iterate_phdr(take_interpreter, &linker);
    snprintf(command, sizeof command, "exec '%s' --list-diagnostics 2>/dev/null", linker ? linker : "");
    FILE *f = linker ? popen(command, "re") : NULL;
    while (f && getline(&line, &capacity, f) > 0) {
        if ((value = value_of(line, "dl_dst_lib=")))
            ok &= s->lib || (s->lib = strdup(value));
        else if ((value = value_of(line, "dl_platform=")))
            ok &= s->platform || (s->platform = strdup(value));
        else if ((value = value_of(line, "path.system_dirs[")))
            ok &= append(&s->folders, &folders, value);
        else if ((value = value_of(line, "dl_hwcaps_subdirs=")))
            ok &= names || (names = strdup(value));
        else if (!strncmp(line, "dl_hwcaps_subdirs_active=", 25))
            active = strtoul(line + 25, NULL, 0);
    }
    free(line);
    if (f)
        pclose(f);
    ok = ok && (!names || take_hwcaps(s, names, active));
    free(names);
    if (!ok || !folders) {
        say("%s: %s", linker ? linker : "the dynamic linker", ok ? "it does not say in which folders it looks (--list-diagnostics)" : "out of memory");
        ld_system_close(s);
        return false;
    }
    cw_result r = cw_file_map("/etc/ld.so.cache", &s->cache);
    if (r) {                    /* there need not be one */
        s->cache = (struct cw_mapped_file){ 0 };
        if (r != CW_ERR_NOT_FOUND)
            say("/etc/ld.so.cache cannot be read: %s", cw_result_text(r));
    }
    return true;
}

static void
free_list(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
}

void
ld_system_close(struct ld_system *s)
{
    free_list(s->folders);
    free_list(s->hwcaps);
    free(s->lib);
    free(s->platform);
    if (s->cache.data)
        cw_file_unmap(&s->cache);
    memset(s, 0, sizeof *s);
}

/* ---- the search ---- */

struct search {
    const struct ld_system *system;
    uint16_t machine;
    const char *name;
    char *found;
    bool over;                  /* found, or a file that the linker would refuse, which ends the search as well */
};

/* Whether the linker would take the file, as it says in its header. */
static void
try_file(struct search *s, const char *path)
{
    struct stat st;
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            say("%s cannot be opened: %s", path, strerror(errno));
        return;
    }
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        bool whole = read(fd, &h, sizeof h) == (ssize_t)sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_version == EV_CURRENT;
        bool other = whole && (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != s->machine);
        s->over = !other;
        if (whole && !other && !(s->found = strdup(path)))
            say("%s: out of memory", path);
    }
    close(fd);
}

static void
try_folder(struct search *s, const char *folder)
{
    char path[PATH_MAX];
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    for (unsigned i = 0; i < s->system->hwcap_count && !s->over; i++)
        if (snprintf(path, sizeof path, "%s%sglibc-hwcaps/%s/%s", folder, slash, s->system->hwcaps[i], s->name) < (int)sizeof path)
            try_file(s, path);
    if (!s->over && snprintf(path, sizeof path, "%s%s%s", folder, slash, s->name) < (int)sizeof path)
        try_file(s, path);
}

/* How long the token is that begins behind a dollar sign: ORIGIN or {ORIGIN}; 0: another. */
static size_t
token(const char *s, const char *name)
{
    size_t n = strlen(name);
    if (*s != '{')
        return strncmp(s, name, n) ? 0 : n;
    return strncmp(s + 1, name, n) || s[1 + n] != '}' ? 0 : n + 2;
}

/* $ORIGIN, $LIB and $PLATFORM in `n` bytes of text. False: it is too long, or one has no value. */
static bool
expand(const struct ld_system *s, const struct ld_object *of, const char *text, size_t n, char *out, size_t size)
{
    char real[PATH_MAX], *slash;
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        const char *value = NULL;
        size_t length = 1, skip;
        if (text[i] == '$' && (skip = token(text + i + 1, "ORIGIN"))) {
            if (!realpath(of->path, real) || !(slash = strrchr(real, '/')))
                return false;
            slash[slash == real] = 0;
            value = real;
        } else if (text[i] == '$' && (skip = token(text + i + 1, "PLATFORM"))) {
            value = s->platform;
        } else if (text[i] == '$' && (skip = token(text + i + 1, "LIB"))) {
            value = s->lib;
        } else {
            skip = 0;
            value = text + i;
        }
        if (skip)
            length = value ? strlen(value) : 0;
        if (!value || used + length >= size)
            return false;
        memcpy(out + used, value, length);
        used += length;
        i += 1 + skip;
    }
    out[used] = 0;
    return true;
}

/* The folders of a list: RPATH, RUNPATH, LD_LIBRARY_PATH. An empty name is the current one. */
static void
try_list(struct search *s, const struct ld_object *of, const char *list, const char *separators)
{
    char folder[PATH_MAX];
    for (const char *p = list; list && *list && !s->over;) {
        size_t n = strcspn(p, separators);
        if (expand(s->system, of, p, n, folder, sizeof folder))
            try_folder(s, *folder ? folder : ".");
        if (!p[n])
            break;
        p += n + 1;
    }
}

static bool
in_default_folder(const struct ld_system *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    for (char **f = s->folders; *f; f++) {
        size_t m = strlen(*f);
        m -= m > 1 && (*f)[m - 1] == '/';
        if (m == n && !memcmp(*f, path, n))
            return true;
    }
    return false;
}

char *
ld_search(const struct ld_system *sys, const struct ld_object *by, const char *needed)
{
    char name[PATH_MAX];
    struct search s = { sys, by->machine, needed, NULL, false };
    const struct ld_object *program = by;
    while (program->loader)
        program = program->loader;
    if (strchr(needed, '/')) {
        if (expand(sys, by, needed, strlen(needed), name, sizeof name))
            try_file(&s, name);
        return s.found;
    }
    for (const struct ld_object *o = by; o && !by->runpath && !s.over; o = o->loader)
        if (!o->runpath)
            try_list(&s, o, o->rpath, ":");
    if (!s.over)
        try_list(&s, program, getenv("LD_LIBRARY_PATH"), ":;");
    if (!s.over)
        try_list(&s, by, by->runpath, ":");
    uint32_t flags = by->machine == EM_X86_64 ? LD_CACHE_X86_64 : by->machine == EM_AARCH64 ? LD_CACHE_AARCH64 : 0;
    const char *cached = s.over || !sys->cache.data ? NULL :
                         ld_cache_find(sys->cache.data, sys->cache.size, needed, flags, (const char *const *)sys->hwcaps, sys->hwcap_count);
    if (cached && !(by->no_default_folders && in_default_folder(sys, cached)))
        try_file(&s, cached);
    for (char **f = sys->folders; *f && !by->no_default_folders && !s.over; f++)
        try_folder(&s, *f);
    return s.found;
}
