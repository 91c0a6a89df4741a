/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace check: what a binary needs of CUDA, before it runs: the driver and runtime functions that it imports, the CUDA libraries that it
 * loads, and its kernels, each compiled from the PTX that the driver would choose, as far as the front end goes. Binaries are files of other
 * people: everything that is read of them is bounded by the file's size. */
#define _GNU_SOURCE
#include "tracer/cli/check_elf.h"
#include "tracer/cli/cli.h"

#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/jit.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The names that impl/api's status.json calls implemented or partial; the build takes them out of the generated prototypes. */
const char *const implemented_functions[] = {
#include "cudaway/check_names.h"
};
const unsigned implemented_count = sizeof implemented_functions / sizeof *implemented_functions;

struct image {
    const uint8_t *data;
    size_t size;
};

/* What one binary needs. */
struct found {
    const struct cwj_api *jit;
    cJSON *functions, *missing, *libraries, *others, *kernels, *refused;
    uint32_t group, entries;            /* the group that is being read */
    char *text;                         /* the best PTX of it so far */
    size_t text_size;
    unsigned text_sm, cubins, ptx, groups_without;
    bool group_has_cubin;
};

/* The variants of the per-thread default stream are generated for what is implemented. */
static bool
is_implemented(const char *name)
{
    size_t n = strlen(name);
    if (n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds")))
        n -= 5;
    for (unsigned i = 0; i < implemented_count; i++)
        if (!strncmp(implemented_functions[i], name, n) && !implemented_functions[i][n])
            return true;
    return false;
}

/* ---- imports ---- */

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static void
import(void *user, const char *name)
{
    struct found *f = user;
    bool driver = starts(name, "cu") && name[2] >= 'A' && name[2] <= 'Z', runtime = starts(name, "cuda") && name[4] >= 'A' && name[4] <= 'Z';
    if (!driver && !runtime)
        return;
    cJSON_AddItemToArray(f->functions, cJSON_CreateString(name));
    if (!is_implemented(name))
        cJSON_AddItemToArray(f->missing, cJSON_CreateString(name));
}

static bool
is_cuda_library(const char *name)
{
    static const char *const stems[] = { "libcuda", "libcublas", "libcufft", "libcurand", "libcusparse", "libcusolver", "libcudnn", "libnccl",
                                         "libnvrtc", "libnvJitLink", "libnvidia-ml", "libnvcuvid", "libcupti", "libnpp", "libnvjpeg" };
    for (unsigned i = 0; i < sizeof stems / sizeof *stems; i++)
        if (starts(name, stems[i]))
            return true;
    return false;
}

/* The C and C++ libraries use no CUDA. */
static bool
is_base_library(const char *name)
{
    static const char *const stems[] = { "libc.so.", "libm.so.", "libdl.so.", "libpthread.so.", "librt.so.", "ld-linux", "libgcc_s.so.", "libstdc++.so." };
    for (unsigned i = 0; i < sizeof stems / sizeof *stems; i++)
        if (starts(name, stems[i]))
            return true;
    return false;
}

static void
need(void *user, const char *name)
{
    struct found *f = user;
    if (!is_cuda_library(name)) {
        if (!is_base_library(name))
            cJSON_AddItemToArray(f->others, cJSON_CreateString(name));
        return;
    }
    char *ours = find_library(name);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddBoolToObject(o, "here", ours != NULL);
    cJSON_AddItemToArray(f->libraries, o);
    free(ours);
}

/* ---- kernels ---- */

/* The group is complete: compile its best PTX as far as the front end. */
static void
end_group(struct found *f)
{
    if (f->entries && !f->text && f->group_has_cubin)
        f->groups_without++;
    if (f->text) {
        struct cwj_diags diags;
        struct cwj_program *p = NULL;
        f->jit->diags_init(&diags);
        cw_result r = f->jit->program_create(&(struct cwj_input){ "PTX", f->text, f->text_size }, 1, true, &p, &diags);
        if (r == CW_OK) {
            for (uint32_t i = 0; i < f->jit->kernel_count(p); i++) {
                cJSON *o = cJSON_CreateObject();
                cJSON_AddStringToObject(o, "name", f->jit->kernel(p, i)->name);
                cJSON_AddNumberToObject(o, "sm", f->text_sm);
                cJSON_AddItemToArray(f->kernels, o);
            }
            f->jit->program_destroy(p);
        } else {
            struct cw_buf text;
            cw_buf_init(&text);
            f->jit->diags_render(&diags, "PTX", f->text, f->text_size, &text);
            cw_buf_append(&text, "", 1);
            cJSON_AddItemToArray(f->refused, cJSON_CreateString(text.failed || text.size < 2 ? cw_result_text(r) : text.data));
            cw_buf_finish(&text);
        }
        f->jit->diags_finish(&diags);
    }
    free(f->text);
    f->text = NULL;
    f->text_sm = f->entries = 0;
    f->group_has_cubin = false;
}

static int
on_entry(void *user, const struct cwj_image_entry *e)
{
    struct found *f = user;
    if (e->group != f->group)
        end_group(f);
    f->group = e->group;
    f->entries++;
    f->cubins += e->kind == CWJ_ENTRY_CUBIN;
    f->ptx += e->kind == CWJ_ENTRY_PTX;
    f->group_has_cubin |= e->kind == CWJ_ENTRY_CUBIN;
    if (e->kind == CWJ_ENTRY_PTX && (!f->text || e->sm > f->text_sm)) {
        char *copy = malloc(e->size + 1);
        if (!copy)
            return 1;
        memcpy(copy, e->data, e->size);
        copy[e->size] = 0;
        free(f->text);
        f->text = copy;
        f->text_size = e->size;
        f->text_sm = e->sm;
    }
    return 0;
}

/* ---- a file ---- */

static cJSON *
text_list(cJSON *o, const char *key)
{
    return cJSON_AddArrayToObject(o, key);
}

static cJSON *
check_image(const struct cwj_api *jit, const char *path, const struct image *m, bool *runs)
{
    cJSON *o = cJSON_CreateObject();
    struct cwj_diags diags;
    cJSON_AddStringToObject(o, "file", path);
    struct found f = { .jit = jit, .group = UINT32_MAX };
    f.functions = text_list(o, "functions");
    f.missing = text_list(o, "missing");
    f.libraries = text_list(o, "libraries");
    f.others = text_list(o, "not_looked_at");
    f.kernels = text_list(o, "kernels");
    f.refused = text_list(o, "refused");
    elf_imports_read(m->data, m->size, &(struct elf_imports){ import, need, &f });
    jit->diags_init(&diags);
    (void)jit->image_scan(m->data, m->size, on_entry, &f, &diags);
    jit->diags_finish(&diags);
    end_group(&f);
    cJSON_AddNumberToObject(o, "ptx", f.ptx);
    cJSON_AddNumberToObject(o, "cubins", f.cubins);
    cJSON_AddNumberToObject(o, "without_ptx", f.groups_without);
    bool libraries = true;
    const cJSON *l;
    cJSON_ArrayForEach(l, f.libraries)
        libraries &= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(l, "here"));
    *runs = !cJSON_GetArraySize(f.missing) && !cJSON_GetArraySize(f.refused) && !f.groups_without && libraries;
    bool none = !cJSON_GetArraySize(f.functions) && !cJSON_GetArraySize(f.libraries) && !f.ptx && !f.cubins;
    cJSON_AddStringToObject(o, "verdict", none ? cJSON_GetArraySize(f.others) ? "no CUDA of its own" : "no CUDA" : *runs ? "runs" : "lacks something");
    return o;
}

static void
print_names(const cJSON *list, const char *what)
{
    const cJSON *n;
    if (!cJSON_GetArraySize(list))
        return;
    printf("  %s:", what);
    cJSON_ArrayForEach(n, list)
        printf(" %s", cJSON_GetStringValue(n));
    printf("\n");
}

static void
print_file(const cJSON *o)
{
#define ITEM(key) cJSON_GetObjectItemCaseSensitive(o, key)
    const cJSON *x;
    printf("%s: %s\n", cJSON_GetStringValue(ITEM("file")), cJSON_GetStringValue(ITEM("verdict")));
    if (cJSON_GetArraySize(ITEM("functions")))
        printf("  imports %d CUDA functions, of which %d are not here\n", cJSON_GetArraySize(ITEM("functions")), cJSON_GetArraySize(ITEM("missing")));
    print_names(ITEM("missing"), "not here");
    cJSON_ArrayForEach(x, ITEM("libraries"))
        printf("  loads %s: %s\n", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, "name")),
               cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(x, "here")) ? "CUDAway has it" : "CUDAway does not have it");
    print_names(ITEM("not_looked_at"), "loads these as well, which were not looked at");
    if (cJSON_GetArraySize(ITEM("kernels")))
        printf("  %d kernels with PTX that compiles\n", cJSON_GetArraySize(ITEM("kernels")));
    cJSON_ArrayForEach(x, ITEM("kernels"))
        printf("    %s, from PTX for sm_%d\n", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, "name")),
               cJSON_GetObjectItemCaseSensitive(x, "sm")->valueint);
    if (ITEM("without_ptx")->valueint)
        printf("  %d modules with machine code of NVIDIA's alone, without PTX: they cannot run here; build them with -gencode arch=compute_80,code=compute_80\n",
               ITEM("without_ptx")->valueint);
    cJSON_ArrayForEach(x, ITEM("refused"))
        printf("  refused: %s\n", cJSON_GetStringValue(x));
#undef ITEM
}

static struct {
    const struct cwj_api *jit;
    cJSON *files;
    bool   lacks, folder, trouble;
} all;

static void
check_file(const char *path)
{
    struct cw_mapped_file m;
    cw_result r = cw_file_map(path, &m);
    if (r == CW_ERR_INVALID && all.folder)
        return;
    if (r) {
        if (r == CW_ERR_INVALID)
            say("%s is no file with contents", path);
        else
            say("%s: %s", path, strerror(errno));
        all.trouble = true;
        return;
    }
    bool runs, elf = m.size > SELFMAG && !memcmp(m.data, ELFMAG, SELFMAG);
    if (elf || !all.folder) {
        cJSON *o = check_image(all.jit, path, &(struct image){ m.data, m.size }, &runs);
        bool none = starts(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "verdict")), "no CUDA");
        all.lacks |= !runs;
        if (none && all.folder)
            cJSON_Delete(o);
        else
            cJSON_AddItemToArray(all.files, o);
    }
    cw_file_unmap(&m);
}

static int
visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type == FTW_F && S_ISREG(st->st_mode))
        check_file(path);
    return 0;
}

static const struct cwj_api *
load_jit(void)
{
    char *path = find_library("libcudaway-jit.so");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct cwj_api *(*get)(uint32_t) = lib ? (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api") : NULL;
    const struct cwj_api *api = get ? get(CWJ_API_VERSION) : NULL;
    if (!api)
        say("the compiler cannot be loaded: %s", !path ? "lib/cudaway/libcudaway-jit.so is missing; the installation is damaged" : lib ? "it has another version" : dlerror());
    free(path);
    return api;
}

enum { OPT_JSON = 256 };

static int
check(int argc, char **argv)
{
    bool json = false;
    int c;
    struct cw_command_line line = { &check_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        if (c != OPT_JSON)
            return line.status;
        json = true;
    }
    if (optind >= argc)
        return cw_usage_error(&check_command, "no binary and no folder given");
    all.jit = load_jit();
    if (!all.jit)
        return EXIT_USAGE;
    all.files = cJSON_CreateArray();
    for (int i = optind; i < argc; i++) {
        struct stat st;
        all.folder = !stat(argv[i], &st) && S_ISDIR(st.st_mode);
        if (!all.folder)
            check_file(argv[i]);
        else if (nftw(argv[i], visit, 16, FTW_PHYS)) {
            say("%s: %s", argv[i], strerror(errno));
            all.trouble = true;
        }
    }
    const cJSON *f;
    char *text = json ? cJSON_Print(all.files) : NULL;
    if (text)
        puts(text);
    else
        cJSON_ArrayForEach(f, all.files)
            print_file(f);
    if (!json && !all.trouble && !cJSON_GetArraySize(all.files))
        puts("nothing here uses CUDA");
    free(text);
    cJSON_Delete(all.files);
    return all.trouble ? EXIT_USAGE : all.lacks;
}

const struct cw_program check_command = {
    .name = "check",
    .parent = &trace_program,
    .summary = "say what a program needs and whether it is here, before it runs",
    .operands = "BINARY|DIR...",
    .description = "Lists the CUDA functions that a binary imports, the CUDA libraries that it loads, and its kernels: from which PTX, or why not. "
                   "In a folder, of every ELF file that uses CUDA. What a program finds at run time (dlopen, cuGetProcAddress) a recording shows.",
    .options = (const struct cw_option[]){ { OPT_JSON, "json", NULL, "print JSON" }, { 0 } },
    .exits = (const struct cw_exit[]){ { "0", "all that was looked for is here" }, { "1", "something is not" }, { "2", "trouble" }, { 0 } },
    .complete = "FILE",
    .run = check,
    .usage_status = EXIT_USAGE,
};
