/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace check: what a binary, and the libraries that it would load, need of CUDA, before it runs: functions that they import, CUDA's
 * libraries, and kernels, each compiled from the PTX that the driver would choose, as far as the front end goes. Binaries are files of other
 * people: everything that is read of them is bounded by the file's size.
 *
 * Each file is looked at once, whoever loads it. */
#define _GNU_SOURCE
#include "tracer/cli/check.h"
#include "tracer/cli/api_status.h"
#include "tracer/cli/check_elf.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/json.h"
#include "tracer/cli/ld_search.h"

#include "impl/base/file.h"
#include "impl/base/progress.h"
#include "impl/runtime/redirect/copy.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FATBIN_MAGIC "\x50\xed\x55\xba"

struct names {
    char   **at;
    unsigned count, capacity;
};

/* One file. */
struct object {
    struct object *next;
    dev_t    device;
    ino_t    inode;
    char    *path, *soname, *rpath, *runpath;
    bool     no_default_folders, cuda, own_runs, named;
    cJSON   *loaded_by;                     /* paths; of one that is not named */
    uint16_t machine;
    struct names needed, imports, weak_imports, exports;    /* the last three: of functions whose names are like CUDA's */
    cJSON   *report;                        /* NULL until a program that has it is judged */
    cJSON   *modules;                       /* its report's, later */
    const char *runtime_trouble;            /* of a copy of NVIDIA's Runtime inside; or NULL */
    unsigned runtime;                       /* the copy's major version, 0: none */
};

/* A file in the order in which a program loads it. */
struct loaded {
    struct object *object;
    const struct loaded *loader;
    struct ld_object search;
    char *name;                             /* as the loader needs it; of the program NULL */
};

static struct {
    const struct cwj_api *jit;
    struct ld_system system;
    struct object *objects;
    cJSON *files, *recordings;
    struct object **named;                  /* by the command line, or in a folder that it names */
    unsigned named_count;
    struct cw_progress progress;            /* through the files of a folder */
    bool   lacks, folder, trouble;
} all;

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static void *
need_memory(void *p)
{
    if (p)
        return p;
    say("out of memory");
    exit(EXIT_USAGE);
}

static char *
copy_of(const char *s)
{
    return s ? need_memory(strdup(s)) : NULL;
}

static void
add_name(struct names *n, const char *name)
{
    if (n->count == n->capacity) {
        n->capacity = n->capacity ? 2 * n->capacity : 16;
        n->at = need_memory(realloc(n->at, n->capacity * sizeof *n->at));
    }
    n->at[n->count++] = copy_of(name);
}

static void
free_names(struct names *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->at[i]);
    free(n->at);
}

static bool
has_name(const struct names *n, const char *name)
{
    for (unsigned i = 0; i < n->count; i++)
        if (!strcmp(n->at[i], name))
            return true;
    return false;
}

/* ---- a file ---- */

static void
on_symbol(void *user, const char *name, enum elf_symbol_kind kind)
{
    struct object *o = user;
    if (api_library_of(name))
        add_name(kind == ELF_EXPORT ? &o->exports : kind == ELF_IMPORT ? &o->imports : &o->weak_imports, name);
}

static void
on_library(void *user, const char *name)
{
    struct object *o = user;
    add_name(&o->needed, name);
}

/* A copy of NVIDIA's Runtime in it is redirected to ours, if its functions are known. */
static void
find_runtime(struct object *o)
{
    struct cw_copy *copy = NULL;
    cw_result r = cw_copy_find(o->path, 0, &copy);
    /* It is known by the texts in it, which other programs may have. */
    if (r == CW_ERR_UNSUPPORTED && cJSON_GetArraySize(o->modules))
        o->runtime_trouble = "a copy of NVIDIA's CUDA Runtime, of which nothing says where its functions are: see `cudaway signatures`";
    else if (r == CW_ERR_NOMEM)
        need_memory(NULL);
    else if (r == CW_OK && copy)
        o->runtime = copy->major;
    cw_copy_destroy(copy);
}

static struct object *
read_object(const char *path, const struct stat *st, const struct cw_mapped_file *m)
{
    struct object *o = need_memory(calloc(1, sizeof *o));
    struct elf_dynamic d = { .symbol = on_symbol, .library = on_library, .user = o };
    *o = (struct object){ .next = all.objects, .device = st->st_dev, .inode = st->st_ino, .path = copy_of(path),
                           .loaded_by = need_memory(cJSON_CreateArray()) };
    all.objects = o;
    elf_dynamic_read(m->data, m->size, &d);
    o->soname = copy_of(d.soname);
    o->rpath = copy_of(d.rpath);
    o->runpath = copy_of(d.runpath);
    o->no_default_folders = d.no_default_folders;
    o->machine = d.machine;
    o->modules = need_memory(check_modules(all.jit, m->data, m->size));
    if (d.machine)
        find_runtime(o);
    bool cuda_library = o->soname && api_is_cuda_library(o->soname);
    for (unsigned i = 0; i < o->needed.count; i++)
        cuda_library |= api_is_cuda_library(o->needed.at[i]);
    o->cuda = cuda_library || cJSON_GetArraySize(o->modules) || o->runtime || o->runtime_trouble;
    return o;
}

/* The file's object, read if it is new. NULL: *r and errno say why. */
static struct object *
open_object(const char *path, cw_result *r)
{
    struct stat st;
    struct cw_mapped_file m;
    *r = CW_OK;
    if (!stat(path, &st))
        for (struct object *o = all.objects; o; o = o->next)
            if (o->device == st.st_dev && o->inode == st.st_ino)
                return o;
    *r = cw_file_map(path, &m);
    if (*r)
        return NULL;
    struct object *o = read_object(path, &st, &m);
    cw_file_unmap(&m);
    return o;
}

/* ---- what it loads ---- */

struct program {
    struct loaded **all;
    unsigned count;
    cJSON *not_found;               /* { "name", "needed_by" } */
};

static void
load(struct program *p, struct object *o, const struct loaded *loader, const char *name)
{
    struct loaded *l = need_memory(calloc(1, sizeof *l));
    *l = (struct loaded){ .object = o, .loader = loader, .name = copy_of(name) };
    l->search = (struct ld_object){ .loader = loader ? &loader->search : NULL, .path = o->path, .rpath = o->rpath, .runpath = o->runpath,
                                    .no_default_folders = o->no_default_folders, .machine = loader ? loader->search.machine : o->machine };
    p->all = need_memory(realloc(p->all, (p->count + 1) * sizeof *p->all));
    p->all[p->count++] = l;
}

static bool
is_loaded(const struct program *p, const char *name)
{
    for (unsigned i = 0; i < p->count; i++)
        if ((p->all[i]->name && !strcmp(p->all[i]->name, name)) || (p->all[i]->object->soname && !strcmp(p->all[i]->object->soname, name)))
            return true;
    return false;
}

static bool
is_ours(const char *soname)
{
    char *path = api_is_cuda_library(soname) ? find_library(soname) : NULL;
    free(path);
    return path;
}

static void
load_library(struct program *p, const struct loaded *by, const char *name)
{
    if (is_ours(name) || is_loaded(p, name))
        return;
    char *path = ld_search(&all.system, &by->search, name);
    cw_result r = CW_ERR_NOT_FOUND;
    struct object *o = path ? open_object(path, &r) : NULL;
    if (path && r)
        say("%s cannot be read: %s", path, r == CW_ERR_IO ? strerror(errno) : cw_result_text(r));
    free(path);
    bool there = false;
    for (unsigned i = 0; o && i < p->count; i++)
        there |= p->all[i]->object == o;
    if (o && !there)
        load(p, o, by, name);
    if (o || api_is_cuda_library(name))
        return;                     /* CUDA's are told of in any case */
    const cJSON *x;
    cJSON_ArrayForEach(x, p->not_found)
        if (!strcmp(check_text(x, "name"), name))
            return;
    cJSON *lost = cJSON_CreateObject();
    cJSON_AddStringToObject(lost, "name", name);
    cJSON_AddStringToObject(lost, "needed_by", by->object->path);
    cJSON_AddItemToArray(p->not_found, lost);
}

static void
load_all(struct program *p, struct object *o)
{
    load(p, o, NULL, NULL);
    for (unsigned i = 0; i < p->count; i++)         /* breadth first, as the dynamic linker does */
        for (unsigned k = 0; k < p->all[i]->object->needed.count; k++)
            load_library(p, p->all[i], p->all[i]->object->needed.at[k]);
}

static void
unload(struct program *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        free(p->all[i]->name);
        free(p->all[i]);
    }
    free(p->all);
}

/* ---- the verdict of one file ---- */

cJSON *
check_function(const char *name, bool elsewhere)
{
    const char *library = api_library_of(name);
    const struct api_status *s = api_status_find(name);
    if (!library)
        return NULL;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddStringToObject(o, "library", library);
    cJSON_AddStringToObject(o, "status", (s ? s->status == CW_STATUS_IMPLEMENTED : elsewhere) ? "implemented" :
                            s && s->status == CW_STATUS_PARTIAL ? "partial" : "missing");
    if (s && s->reason)
        cJSON_AddStringToObject(o, "reason", s->reason);
    return o;
}

static void
on_export(void *user, const char *name, enum elf_symbol_kind kind)
{
    if (kind == ELF_EXPORT)
        add_name(user, name);
}

static void
no_library(void *user, const char *name)
{
}

/* What our library of that name exports. */
static void
read_exports(const char *soname, struct names *to)
{
    char *path = find_library(soname);
    struct cw_mapped_file m;
    if (path && cw_file_map(path, &m) == CW_OK) {       /* else its functions are missing */
        elf_dynamic_read(m.data, m.size, &(struct elf_dynamic){ .symbol = on_export, .library = no_library, .user = to });
        cw_file_unmap(&m);
    }
    free(path);
}

/* A library or the program itself has a function that is called like CUDA's. */
static bool
defined_by_program(const struct program *p, const char *name)
{
    for (unsigned i = 0; i < p->count; i++)
        if ((!p->all[i]->name || !api_is_cuda_library(p->all[i]->name)) && has_name(&p->all[i]->object->exports, name))
            return true;
    return false;
}

/* `ours`: what those of our libraries export that the file needs; `runtime`: the Runtime is among them, in which not each version has each function. */
static void
add_functions(cJSON *to, cJSON *missing, const struct program *p, const struct names *list, const struct names *ours, bool runtime, bool weak)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (defined_by_program(p, list->at[i]))
            continue;
        bool exported = has_name(ours, list->at[i]);
        cJSON *f = need_memory(check_function(list->at[i], exported));
        if (runtime && !exported && !strcmp(check_text(f, "library"), "Runtime")) {
            cJSON_ReplaceItemInObjectCaseSensitive(f, "status", cJSON_CreateString("missing"));
            cJSON_DeleteItemFromObjectCaseSensitive(f, "reason");
        }
        bool lacks = !strcmp(check_text(f, "status"), "missing");
        if (weak)
            cJSON_AddTrueToObject(f, "weak");
        cJSON_AddItemToArray(to, f);
        if (lacks && !weak)
            cJSON_AddItemToArray(missing, cJSON_CreateString(list->at[i]));
    }
}

static const struct loaded *
find_loaded(const struct program *p, const char *name)
{
    for (unsigned i = 1; i < p->count; i++)
        if (!strcmp(p->all[i]->name, name))
            return p->all[i];
    return NULL;
}

/* Of a file that is loaded in `p`; once. */
static void
report(const struct program *p, struct object *o)
{
    struct names ours = { 0 };
    bool libraries = true, runtime = false;
    o->report = need_memory(cJSON_CreateObject());
    cJSON_AddStringToObject(o->report, "file", o->path);
    cJSON_AddNullToObject(o->report, "verdict");
    cJSON *functions = cJSON_AddArrayToObject(o->report, "functions"), *missing = cJSON_AddArrayToObject(o->report, "missing");
    cJSON *list = cJSON_AddArrayToObject(o->report, "libraries");
    for (unsigned i = 0; i < o->needed.count; i++) {
        const char *name = o->needed.at[i];
        if (!api_is_cuda_library(name))
            continue;
        const struct loaded *other = find_loaded(p, name);
        bool here = is_ours(name) || (other && other->object->runtime);
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "name", name);
        cJSON_AddBoolToObject(x, "here", here);
        if (other)
            cJSON_AddStringToObject(x, "file", other->object->path);
        cJSON_AddItemToArray(list, x);
        read_exports(name, &ours);
        libraries &= here;
        runtime |= starts(name, "libcudart") && is_ours(name);
    }
    add_functions(functions, missing, p, &o->imports, &ours, runtime, false);
    add_functions(functions, missing, p, &o->weak_imports, &ours, runtime, true);
    free_names(&ours);
    if (o->runtime || o->runtime_trouble) {
        cJSON *x = cJSON_AddObjectToObject(o->report, "runtime_inside");
        if (o->runtime)
            cJSON_AddNumberToObject(x, "version", o->runtime);
        else
            cJSON_AddStringToObject(x, "message", o->runtime_trouble);
    }
    cJSON_AddItemToObject(o->report, "modules", o->modules);
    o->own_runs = libraries && !cJSON_GetArraySize(missing) && !o->runtime_trouble && check_modules_run(o->modules);
    o->cuda |= cJSON_GetArraySize(functions) > 0;
    const char *verdict = !o->cuda ? "no CUDA" : o->own_runs ? "runs" : "lacks something";
    cJSON_ReplaceItemInObjectCaseSensitive(o->report, "verdict", cJSON_CreateString(verdict));
}

/* The verdict of a file with what it loads. */
static void
judge(struct object *o)
{
    struct program p = { .not_found = cJSON_CreateArray() };
    cJSON *lacking = cJSON_CreateArray(), *loads = cJSON_CreateArray();
    cJSON *others = cJSON_CreateArray();
    bool runs = true, cuda = false;
    load_all(&p, o);
    for (unsigned i = 0; i < p.count; i++)
        if (!p.all[i]->object->report)
            report(&p, p.all[i]->object);
    for (unsigned i = 0; i < p.count; i++) {
        struct object *x = p.all[i]->object;
        cuda |= x->cuda;
        runs &= x->own_runs;
        if (i && !x->cuda)
            cJSON_AddItemToArray(others, cJSON_CreateString(x->path));
        if (!x->own_runs)
            cJSON_AddItemToArray(lacking, cJSON_CreateString(x->path));
        if (!i || !x->cuda)
            continue;
        cJSON *l = cJSON_CreateObject();
        cJSON_AddStringToObject(l, "file", x->path);
        cJSON_AddStringToObject(l, "needed_by", p.all[i]->loader->object->path);
        cJSON_AddStringToObject(l, "verdict", x->own_runs ? "runs" : "lacks something");
        cJSON_AddItemToArray(loads, l);
        cJSON_AddItemToArray(x->loaded_by, cJSON_CreateString(o->path));
    }
    runs &= !cJSON_GetArraySize(p.not_found);
    cJSON *r = cJSON_Duplicate(o->report, true);
    cJSON_ReplaceItemInObjectCaseSensitive(r, "verdict", cJSON_CreateString(!cuda ? "no CUDA" : runs ? "runs" : "lacks something"));
    cJSON_AddItemToObject(r, "lacking", lacking);
    cJSON_AddItemToObject(r, "loads", loads);
    cJSON_AddItemToObject(r, "loads_without_cuda", others);
    cJSON_AddItemToObject(r, "not_found", p.not_found);
    all.lacks |= cuda && !runs;
    if (cuda || !all.folder)
        cJSON_AddItemToArray(all.files, r);
    else
        cJSON_Delete(r);
    unload(&p);
}

/* ---- the command line ---- */

static void
name_file(const char *path)
{
    cw_result r;
    struct object *o = open_object(path, &r);
    if (o && !o->named) {
        o->named = true;
        all.named = need_memory(realloc(all.named, (all.named_count + 1) * sizeof *all.named));
        all.named[all.named_count++] = o;
    }
    if (o || (r == CW_ERR_INVALID && all.folder))
        return;
    if (r == CW_ERR_INVALID)
        say("%s is no file with contents", path);
    else
        say("%s: %s", path, strerror(errno));
    all.trouble = true;
}

/* Whether a file of a folder is looked at. */
static bool
may_have_code(const char *path)
{
    char magic[4];
    size_t n = strlen(path);
    FILE *f = fopen(path, "re");
    bool may = !f || (fread(magic, 1, sizeof magic, f) == sizeof magic && (!memcmp(magic, ELFMAG, SELFMAG) || !memcmp(magic, FATBIN_MAGIC, 4)));
    if (f)
        fclose(f);
    return may || (n > 4 && !strcmp(path + n - 4, ".ptx"));
}

static int
count(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    all.progress.all += type == FTW_F && S_ISREG(st->st_mode);
    return 0;
}

static int
visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type != FTW_F || !S_ISREG(st->st_mode))
        return 0;
    cw_progress_step(&all.progress, all.progress.done, CW_NO_COUNT);
    all.progress.done++;
    if (may_have_code(path))
        name_file(path);
    return 0;
}

static void
look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        name_file(path);
    } else if (check_is_recording(path)) {
        bool lacks = false;
        cJSON *o = cJSON_CreateObject();
        if (check_recording(all.jit, path, o, &lacks)) {
            cJSON_AddItemToArray(all.recordings, o);
        } else {
            all.trouble = true;
            cJSON_Delete(o);
        }
        all.lacks |= lacks;
    } else {
        all.folder = true;
        all.progress = (struct cw_progress){ .what = "files" };
        bool walked = !nftw(path, count, 16, FTW_PHYS) && !nftw(path, visit, 16, FTW_PHYS);
        cw_progress_clear(&all.progress);
        if (!walked) {
            say("%s: %s", path, strerror(errno));
            all.trouble = true;
        }
    }
}

static const struct cwj_api *
load_jit(void)
{
    char *path = find_library("libcudaway-jit.so");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct cwj_api *(*get)(uint32_t) = lib ? (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api") : NULL;
    const struct cwj_api *api = get ? get(CWJ_API_VERSION) : NULL;
    if (!api)
        say("the compiler cannot be loaded: %s", !path ? "lib/cudaway/libcudaway-jit.so is missing; the installation is damaged" :
            lib ? "it has another version" : dlerror());
    free(path);
    return api;
}

/* The files that were named, then the libraries that they load and that use CUDA, then recordings. */
static void
judge_all(void)
{
    for (unsigned i = 0; i < all.named_count; i++)
        judge(all.named[i]);
    for (struct object *o = all.objects; o; o = o->next) {
        if (o->named || !o->cuda || !cJSON_GetArraySize(o->loaded_by))
            continue;
        cJSON *r = cJSON_Duplicate(o->report, true);
        cJSON_AddItemToObject(r, "loaded_by", cJSON_Duplicate(o->loaded_by, true));
        cJSON_AddItemToArray(all.files, r);
    }
    while (cJSON_GetArraySize(all.recordings))
        cJSON_AddItemToArray(all.files, cJSON_DetachItemFromArray(all.recordings, 0));
}

static void
forget_objects(void)
{
    while (all.objects) {
        struct object *o = all.objects;
        all.objects = o->next;
        struct names *const lists[] = { &o->needed, &o->imports, &o->weak_imports, &o->exports };
        for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
            free_names(lists[i]);
        cJSON_Delete(o->report ? o->report : o->modules);       /* the report has the modules */
        cJSON_Delete(o->loaded_by);
        free(o->path);
        free(o->soname);
        free(o->rpath);
        free(o->runpath);
        free(o);
    }
    free(all.named);
}

enum { OPT_JSON = 256, OPT_FUNCTIONS };

static int
check(int argc, char **argv)
{
    bool json = false, functions = false;
    int c;
    struct cw_command_line line = { &check_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        if (c < 0)
            return line.status;
        json |= c == OPT_JSON;
        functions |= c == OPT_FUNCTIONS;
    }
    if (optind >= argc)
        return cw_usage_error(&check_command, "no binary and no folder given");
    all.jit = load_jit();
    if (!all.jit || !ld_system_open(&all.system))
        return EXIT_USAGE;
    all.files = cJSON_CreateArray();
    all.recordings = cJSON_CreateArray();
    for (int i = optind; i < argc; i++)
        look_at(argv[i]);
    judge_all();
    json_make_safe(all.files);
    const cJSON *f;
    char *text = json ? cJSON_Print(all.files) : NULL;
    if (text)
        puts(text);
    else
        cJSON_ArrayForEach(f, all.files)
            if (CHECK_ITEM(f, "recording"))
                check_print_recording(f);
            else
                check_print_file(f, functions);
    if (!json && !all.trouble && !cJSON_GetArraySize(all.files))
        puts("nothing here uses CUDA");
    free(text);
    cJSON_Delete(all.files);
    cJSON_Delete(all.recordings);
    ld_system_close(&all.system);
    forget_objects();
    return all.trouble ? EXIT_USAGE : all.lacks;
}

const struct cw_program check_command = {
    .name = "check",
    .parent = &trace_program,
    .summary = "say what a program needs and whether it is here, before it runs; or what a recorded one used",
    .operands = "BINARY|DIR|RECORDING...",
    .description = "Lists the functions of CUDA that a binary imports, the CUDA libraries that it loads, and its kernels: from which PTX, or why not; and the same of "
                   "every library that it would load, as ld.so(8) finds it. In a folder, of every ELF file, fatbin and .ptx file that uses CUDA. What a program finds at "
                   "run time (dlopen, cuGetProcAddress) a recording shows.\n\n"
                   "Of a recording: the functions that were called and how often, the modules that were loaded, the kernels that were launched, and what was refused.",
    .options = (const struct cw_option[]){
        { OPT_FUNCTIONS, "functions", NULL, "name every function that is imported, not only those that are not here" },
        { OPT_JSON, "json", NULL, "print JSON" },
        { 0 } },
    .exits = (const struct cw_exit[]){ { "0", "all that was looked for is here" }, { "1", "something is not" }, { "2", "trouble" }, { 0 } },
    .complete = "FILE",
    .run = check,
    .usage_status = EXIT_USAGE,
};
