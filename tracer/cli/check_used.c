/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace check of a recording: the same list as of a binary, of what the program used: functions called, modules loaded, kernels launched,
 * and what was refused. The recording may have been made with NVIDIA's driver. */
#define _GNU_SOURCE
#include "tracer/cli/check.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/json.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/totals.h"

#include "impl/base/file.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has_trace, has_recording;

/* The metadata of a CTF trace, in packets or as text; a recording below has a manifest. */
static int
look(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    char start[6] = "";
    FILE *f = type == FTW_F && S_ISREG(st->st_mode) && !strcmp(path + ftw->base, "metadata") ? fopen(path, "re") : NULL;
    has_recording |= type == FTW_F && !strcmp(path + ftw->base, "manifest.json");
    if (!f)
        return 0;
    size_t n = fread(start, 1, sizeof start, f);
    fclose(f);
    has_trace |= n == sizeof start && (!memcmp(start, "\x57\x1d\xd1\x75", 4) || !memcmp(start, "/* CTF", 6));
    return 0;
}

bool
check_is_recording(const char *dir)
{
    char path[PATH_MAX], *data = NULL;
    size_t size;
    if (snprintf(path, sizeof path, "%s/manifest.json", dir) < (int)sizeof path && cw_file_read_regular(path, 1u << 20, &data, &size) == CW_OK) {
        bool ours = memmem(data, size, "\"cudaway-trace\"", 15);
        free(data);
        return ours;
    }
    /* What an lttng-relayd wrote has a trace alone. A folder of binaries may have recordings in it. */
    has_trace = has_recording = false;
    nftw(dir, look, 16, FTW_PHYS);
    return has_trace && !has_recording;
}

/* What a driver answers when it cannot do what was asked, rather than when the program is wrong. */
static bool
is_refusal(const char *result)
{
    static const char *const names[] = {
        "CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "CUDA_ERROR_INVALID_SOURCE", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "CUDA_ERROR_JIT_COMPILATION_DISABLED", "cudaErrorNotSupported",
        "cudaErrorInvalidKernelImage", "cudaErrorNoKernelImageForDevice", "cudaErrorInvalidPtx", "cudaErrorUnsupportedPtxVersion", "cudaErrorInvalidSource",
        "cudaErrorJitCompilerNotFound", "cudaErrorJitCompilationDisabled", "cudaErrorInvalidDeviceFunction" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], result))
            return true;
    return false;
}

static bool
add_functions(cJSON *to, const struct totals *t)
{
    bool all = true;
    cJSON *list = cJSON_AddArrayToObject(to, "functions"), *missing = cJSON_AddArrayToObject(to, "missing");
    for (unsigned i = 0; i < t->function_count; i++) {
        const struct tot_function *f = &t->functions[i];
        cJSON *o = check_function(f->name, false);
        if (!o)
            continue;
        json_number(o, "calls", f->calls);
        json_number(o, "failed", f->errors);
        cJSON_AddItemToArray(list, o);
        if (strcmp(check_text(o, "status"), "missing") != 0)
            continue;
        all = false;
        cJSON_AddItemToArray(missing, cJSON_CreateString(f->name));
    }
    list = cJSON_AddArrayToObject(to, "not_found");
    for (unsigned i = 0; i < t->missing_count; i++) {
        cJSON *o = json_item(list);
        cJSON_AddStringToObject(o, "name", t->missing[i].function);
        json_number(o, "asked", t->missing[i].count);
    }
    list = cJSON_AddArrayToObject(to, "refused");
    for (unsigned i = 0; i < t->error_count; i++) {
        if (!is_refusal(t->errors[i].result))
            continue;
        cJSON *o = json_item(list);
        cJSON_AddStringToObject(o, "function", t->errors[i].function);
        cJSON_AddStringToObject(o, "result", t->errors[i].result);
        json_number(o, "count", t->errors[i].count);
        all = false;
    }
    return all;
}

/* The image that the recording kept, or NULL. */
static cJSON *
read_module(const struct cwj_api *jit, const char *dir, const struct tot_module *m)
{
    char path[PATH_MAX];
    struct cw_mapped_file f;
    if (!*m->hash || strchr(m->hash, '/') || strchr(m->kind, '/') ||
        snprintf(path, sizeof path, "%s/modules/%s.%s", dir, m->hash, m->kind) >= (int)sizeof path || cw_file_map(path, &f) != CW_OK)
        return NULL;
    cJSON *o = check_modules(jit, f.data, f.size);
    cw_file_unmap(&f);
    return o;
}

static bool
add_modules(const struct cwj_api *jit, const char *dir, cJSON *to, const struct totals *t)
{
    bool all = true;
    cJSON *list = cJSON_AddArrayToObject(to, "images");
    for (unsigned i = 0; i < t->module_count; i++) {
        const struct tot_module *m = &t->modules[i];
        cJSON *o = json_item(list), *modules = read_module(jit, dir, m);
        json_module(o, m);
        cJSON_AddBoolToObject(o, "kept", modules != NULL);
        all &= !modules || check_modules_run(modules);
        cJSON_AddItemToObject(o, "modules", modules ? modules : cJSON_CreateArray());
    }
    return all;
}

/* What the modules say of a kernel, rather one that loads than one that does not; "" if none has it. */
static const char *
verdict_of(const cJSON *images, const char *kernel)
{
    const cJSON *i, *m, *k;
    const char *found = "";
    cJSON_ArrayForEach(i, images)
        cJSON_ArrayForEach(m, CHECK_ITEM(i, "modules"))
            cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels"))
                if (!strcmp(check_text(k, "name"), kernel) && strcmp(found, "compiles") != 0)
                    found = check_text(k, "verdict");
    return found;
}

bool
check_recording(const struct cwj_api *jit, const char *dir, cJSON *to, bool *lacks)
{
    struct totals t;
    enum tr_status status = totals_read(dir, &t);
    if (status == TR_EMPTY)
        manifest_say_empty(dir);
    if (status == TR_EMPTY || status == TR_FAILED) {
        totals_finish(&t);
        return false;
    }
    cJSON_AddStringToObject(to, "recording", dir);
    cJSON_AddNullToObject(to, "verdict");
    cJSON_AddBoolToObject(to, "complete", status == TR_OK && !t.lost);
    bool runs = add_functions(to, &t);
    runs &= add_modules(jit, dir, to, &t);
    cJSON *kernels = cJSON_AddArrayToObject(to, "kernels");
    for (unsigned i = 0; i < t.kernel_count; i++) {
        const struct tot_kernel *k = &t.kernels[i];
        cJSON *o = json_item(kernels);
        cJSON_AddStringToObject(o, "name", k->name);
        json_number(o, "launches", k->launches);
        json_number(o, "failed", k->errors);
        cJSON_AddStringToObject(o, "verdict", verdict_of(CHECK_ITEM(to, "images"), k->name));
    }
    cJSON_ReplaceItemInObjectCaseSensitive(to, "verdict", cJSON_CreateString(runs ? "runs" : "lacks something"));
    *lacks = !runs;
    totals_finish(&t);
    return true;
}
