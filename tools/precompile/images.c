/* SPDX-License-Identifier: Apache-2.0
 * See precompile.h. The dynamic linker itself says which libraries a program loads (ld.so --list), so that RPATH, LD_LIBRARY_PATH and its cache count as they
 * do when the program runs. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/jit.h"
#include "tools/precompile/precompile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINKER "/lib64/ld-linux-x86-64.so.2"

extern char **environ;

/* What nvcc and clang hand to __cudaRegisterFatBinary (jit/link/fatbin.h); version 2 lists the containers of relocatable code. */
struct wrapper {
    uint32_t magic, version;
    const void *container;
    const void *const *list;
};

/* One file while it is read. */
struct reader {
    struct images *to;
    const char *file;               /* a copy that stays */
    uint32_t group;
    const void *container, *had;    /* of the group; the last one that was taken */
    bool cubin, ptx;                /* in the group */
    const void **relocatable;       /* NULL-terminated */
    size_t nrelocatable, without_ptx;
    bool nomem;
};

static bool
add(struct images *m, const void *data, const char *file)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 64;
        struct image *p = realloc(m->at, cap * sizeof *p);
        if (!p)
            return false;
        m->at = p;
        m->cap = cap;
    }
    m->at[m->n++] = (struct image){ data, file };
    return true;
}

static bool
add_relocatable(struct reader *r, const void *container)
{
    const void **p = realloc(r->relocatable, (r->nrelocatable + 2) * sizeof *p);
    if (!p)
        return false;
    r->relocatable = p;
    p[r->nrelocatable++] = container;
    p[r->nrelocatable] = NULL;
    return true;
}

static void
end_group(struct reader *r)
{
    r->without_ptx += r->cubin && !r->ptx;
    r->cubin = r->ptx = false;
}

static int
on_entry(void *user, const struct cwj_image_entry *e)
{
    struct reader *r = user;
    if (e->group != r->group)
        end_group(r);
    r->group = e->group;
    r->cubin |= e->kind == CWJ_ENTRY_CUBIN;
    if (e->kind != CWJ_ENTRY_PTX || (e->container && e->container == r->had))
        return 0;
    r->ptx = true;
    r->had = e->container;
    if (e->relocatable)
        r->nomem = !add_relocatable(r, e->container);
    else if (e->container)
        r->nomem = !add(r->to, e->container, r->file);
    else {                          /* PTX text as a file of its own: the driver wants a NUL behind it */
        char *text = strndup(e->data, e->size);
        r->nomem = !text || !add(r->to, text, r->file);
    }
    return r->nomem;
}

static bool
is_elf(const struct cw_mapped_file *f)
{
    return f->size > sizeof(Elf64_Ehdr) && !memcmp(f->data, ELFMAG, SELFMAG);
}

/* Files are looked into once, whatever their names. */
static bool
seen(const char *path)
{
    static struct { dev_t dev; ino_t ino; } *files;
    static size_t n;
    struct stat st;
    if (stat(path, &st))
        return false;
    for (size_t i = 0; i < n; i++)
        if (files[i].dev == st.st_dev && files[i].ino == st.st_ino)
            return true;
    void *p = realloc(files, (n + 1) * sizeof *files);
    if (p) {
        files = p;
        files[n].dev = st.st_dev;
        files[n++].ino = st.st_ino;
    }
    return false;
}

/* `named`: by the user, who wants to hear of a file that is no such thing. */
static bool
read_file(struct images *m, const char *path, bool named, bool *elf)
{
    struct cw_mapped_file f;
    *elf = false;
    if (seen(path))
        return true;
    cw_result e = cw_file_map(path, &f);
    if (e) {
        if (named || e != CW_ERR_INVALID) {
            say("%s: %s", path, e == CW_ERR_INVALID ? "no file with contents" : strerror(errno));
            m->trouble = true;
        }
        return true;
    }
    *elf = is_elf(&f);
    if (!*elf && !named) {
        cw_file_unmap(&f);
        return true;
    }
    m->files++;
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    struct cwj_diags diags;
    struct reader r = { .to = m, .file = strdup(path), .group = UINT32_MAX };
    if (!r.file)
        return false;
    size_t had = m->n;
    jit->diags_init(&diags);
    e = jit->image_scan(f.data, f.size, on_entry, &r, &diags);
    end_group(&r);
    if (e != CW_OK && e != CW_ERR_NO_PTX && (named || e != CW_ERR_INVALID)) {
        struct cw_buf text;
        cw_buf_init(&text);
        jit->diags_render(&diags, path, NULL, 0, &text);
        fwrite(text.data ? text.data : "", 1, text.size, stderr);
        cw_buf_finish(&text);
        m->trouble = true;
    }
    jit->diags_finish(&diags);
    struct wrapper *w = r.nrelocatable ? malloc(sizeof *w) : NULL;
    if (w) {
        *w = (struct wrapper){ .magic = 0x466243B1, .version = 2, .list = r.relocatable };
        r.nomem |= !add(m, w, r.file);
    }
    r.nomem |= r.nrelocatable && !w;
    if (!r.nrelocatable)            /* else it is what nvlink made of the modules that were taken */
        m->without_ptx += r.without_ptx;
    if (m->n == had)
        cw_file_unmap(&f);
    return !r.nomem;
}

/* What the dynamic linker prints of a program or library: "\tNAME => PATH (0xADDRESS)". malloc'd, NULL where it does not take the file. */
static char *
linked_libraries(const char *path)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int failed = posix_spawn(&pid, LINKER, &actions, NULL, (char *[]){ (char *)LINKER, (char *)"--list", (char *)path, NULL }, environ), status = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    struct cw_buf text;
    cw_buf_init(&text);
    char some[4096];
    for (ssize_t n; !failed && ((n = read(out[0], some, sizeof some)) > 0 || (n < 0 && errno == EINTR));)
        if (n > 0)
            cw_buf_append(&text, some, (size_t)n);
    close(out[0]);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    cw_buf_append(&text, "", 1);
    if (failed || text.failed || !WIFEXITED(status)) {
        cw_buf_finish(&text);
        return NULL;
    }
    return text.data;
}

static bool
read_libraries(struct images *m, const char *path)
{
    char *text = linked_libraries(path);
    bool ok = true, elf;
    for (char *line = text ? strtok(text, "\n") : NULL; line && ok; line = strtok(NULL, "\n")) {
        char *file = strstr(line, " => "), *end = file ? strrchr(file, '(') : NULL;
        if (file && strstr(file, "not found"))
            say("%s: %.*s is not found: its kernels, if it has some, are not compiled", path, (int)strcspn(line + strspn(line, "\t "), " "), line + strspn(line, "\t "));
        if (!end || file[4] != '/')
            continue;
        end[-1] = 0;
        ok = read_file(m, file + 4, false, &elf);
    }
    free(text);
    return ok;
}

static struct images *visited;
static bool enough_memory;

static int
visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    bool elf;
    enough_memory = type != FTW_F || !S_ISREG(st->st_mode) || read_file(visited, path, false, &elf);
    return !enough_memory;
}

/* Where our libraries stand in for NVIDIA's, a program finds them as it does under `cudaway run`. */
static void
search_first(const char *folder)
{
    static bool done;
    const char *old = getenv("LD_LIBRARY_PATH");
    char *value;
    if (!done && asprintf(&value, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") > 0) {
        setenv("LD_LIBRARY_PATH", value, 1);
        free(value);
    }
    done = true;
    unsetenv("LD_AUDIT");
    unsetenv("LD_PRELOAD");
}

bool
images_of(struct images *m, const char *path, const char *library_folder)
{
    struct stat st;
    bool elf;
    search_first(library_folder);
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        visited = m;
        enough_memory = true;
        if (nftw(path, visit, 16, FTW_PHYS) && enough_memory) {
            say("%s: %s", path, strerror(errno));
            m->trouble = true;
        }
        return enough_memory;
    }
    char *real = realpath(path, NULL);      /* ld.so looks for a name without a slash elsewhere */
    bool ok = read_file(m, real ? real : path, true, &elf);
    if (ok && elf && real)
        ok = read_libraries(m, real);
    free(real);
    return ok;
}
