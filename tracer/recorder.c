/* SPDX-License-Identifier: Apache-2.0
 * The observer that writes LTTng events. It is active when CUDAWAY_TRACE_SOCKET is set (cudaway-trace record does); only
 * then is the provider, and with it liblttng-ust, loaded. */
#define _GNU_SOURCE
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/hash.h"
#include "impl/base/log.h"
#include "impl/device_times.h"
#include "tracer/layer_private.h"
#include "tracer/tp/tp.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE ((size_t)1 << 32)

static const struct cw_tp_ops *tp;

/* ---- what the device does ---- */

static _Atomic uint64_t operations;

static uint64_t
on_submit(const struct cw_device_op *op, uint64_t start, uint64_t end)
{
    if (!cw_select_operation(op))
        return 0;
    uint64_t number = op->kind == CW_DEVICE_COMPILE ? 0 : atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed) + 1;
    tp->submit(&(struct cw_tp_submit){ .op = op, .number = number, .start = start, .end = end });
    return number;
}

static void
on_done(uint64_t number, uint64_t start, uint64_t end)
{
    if (number)
        tp->executed(&(struct cw_tp_executed){ .number = number, .start = start, .end = end });
}

static const struct cw_device_observer device_observer = { .submit = on_submit, .done = on_done };

/* Our own driver tells the times of what its device does; with another one, or when the setting is "events", events do if that is wanted. */
static void
observe_device(const struct cw_cuda_table *next)
{
    static const CUuuid id = { CW_DEVICE_TIMES_ID };
    const void *table = NULL;
    const char *wanted = cw_env_get(CW_ENV_TRACE_DEVICE_TIME);
    if ((wanted && !strcmp(wanted, "events")) || next->cuGetExportTable(&table, &id) != CUDA_SUCCESS || !table) {
        if (wanted && *wanted)
            cw_device_time_start(next, &device_observer);
        return;
    }
    const struct cw_device_times *times = table;
    if (times->size < sizeof *times || !times->observe(&device_observer))
        cw_warn("the driver below does not tell the times of the device's operations");
}

/* What MPI's and Slurm's launchers tell their processes. */
static void
tell_rank(void)
{
    static const char *const variables[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID" };
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = secure_getenv(variables[i]);
        char *end;
        unsigned long rank = value ? strtoul(value, &end, 10) : 0;
        if (value && *value >= '0' && *value <= '9' && !*end) {
            tp->process(&(struct cw_tp_process){ .rank = rank });
            return;
        }
    }
}

static bool
recorder_start(const struct cw_cuda_table *next)
{
    const char *socket = cw_env_get(CW_ENV_TRACE_SOCKET);
    if (!socket || !*socket)
        return false;
    char path[PATH_MAX], *dir = cw_dir_of_object((const void *)&cw_layer_exports);
    int n = dir ? snprintf(path, sizeof path, "%s/libcudaway-tp.so", dir) : -1;
    free(dir);
    if (n < 0 || n >= (int)sizeof path) {
        cw_error("calls are not recorded: the tracer cannot find its own folder");
        return false;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        cw_error("calls are not recorded: %s", dlerror());
        return false;
    }
    tp = dlsym(handle, "cw_tp_ops");
    if (!tp || tp->version != CW_TP_VERSION) {
        cw_error("calls are not recorded: %s is not of this version", path);
        tp = NULL;
        return false;
    }
    cw_select_start();
    tp->start();
    tell_rank();
    observe_device(next);
    return true;
}

static atomic_bool used[CW_CUDA_FUNCTION_COUNT];      /* the function's events are known to LTTng */

/* *scratch says whether the call is recorded. */
static void
recorder_before(struct cw_call *c, void **scratch)
{
    if (cw_select_call(c)) {
        *scratch = c;
        if (!atomic_load_explicit(&used[c->index], memory_order_acquire)) {
            tp->use(c->index);
            atomic_store_explicit(&used[c->index], true, memory_order_release);
        }
        tp->entry[c->index](c);
    }
    cw_device_time_before(c);
}

/* Keep a module's image, once by content: under its hash, in the recording's folder. */
static void
keep_image(const char *hash, const char *kind, const void *data, uint64_t size)
{
    const char *folder = cw_env_get(CW_ENV_TRACE_MODULES);
    char path[PATH_MAX];
    if (!folder || !*folder || snprintf(path, sizeof path, "%s/%s.%s", folder, hash, kind) >= (int)sizeof path || !access(path, F_OK))
        return;
    if (cw_file_write_atomic(path, data, size, 0600) != CW_OK)
        cw_warn("a module is missing from the recording: cannot write %s: %s", path, strerror(errno));
}

static void
module_event(uint64_t handle, const void *data, const char *kind, uint64_t size, const char *file)
{
    char hash[65] = "";
    if (size && cw_layer_readable(data, size))      /* the size of a linker's input is the program's word */
        cw_sha256_hex(data, size, hash);
    if (*hash)
        keep_image(hash, kind, data, size);
    tp->module(&(struct cw_tp_module){ .handle = handle, .kind = kind, .size = size, .hash = hash, .file = file });
}

static void
image_event(uint64_t handle, const void *image)
{
    struct cw_image i = cw_layer_image(image, UINT64_MAX);
    module_event(handle, i.data, i.kind, i.size, "");
}

/* A module that the driver reads from a file: its content is kept as well. */
static void
file_event(uint64_t handle, const char *file)
{
    char *data = NULL;
    size_t size = 0;
    if (file && cw_file_read(file, MAX_FILE, &data, &size) == CW_OK)
        module_event(handle, data, cw_layer_image(data, size).kind, size, file);
    else
        module_event(handle, NULL, "file", 0, file ? file : "");
    free(data);
}

static uint64_t
written_handle(const struct cw_call *c, unsigned i)
{
    const void *const *p = c->result == CUDA_SUCCESS ? CW_ARG(c, i, const void *const *) : NULL;
    return p ? (uint64_t)(uintptr_t)*p : 0;
}

/* The driver knew the form of the image and refused what is in it: so it can be read as far as its headers, or the NUL of a text, say. */
static bool
is_refused(CUresult r)
{
    return r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_NOT_SUPPORTED;
}

static void
record_module(const struct cw_call *c)
{
    if (c->result != CUDA_SUCCESS && !is_refused(c->result))
        return;
    switch (c->index) {
    case CW_FN_cuModuleLoadData:
    case CW_FN_cuModuleLoadDataEx:
    case CW_FN_cuModuleLoadFatBinary:
    case CW_FN_cuLibraryLoadData:
        image_event(written_handle(c, 0), CW_ARG(c, 1, const void *));
        break;
    case CW_FN_cuModuleLoad:
    case CW_FN_cuLibraryLoadFromFile:
        file_event(written_handle(c, 0), CW_ARG(c, 1, const char *));
        break;
    case CW_FN_cuLinkAddData:
    case CW_FN_cuLinkAddData_v2: {
        const void *data = CW_ARG(c, 2, const void *);
        size_t size = CW_ARG(c, 3, size_t);
        module_event(c->result == CUDA_SUCCESS ? (uint64_t)(uintptr_t)CW_ARG(c, 0, void *) : 0, data, cw_layer_image(data, size).kind, size, "");
        break;
    }
    default:
        break;
    }
}

static void
recorder_after(struct cw_call *c, void **scratch)
{
    struct cw_tp_name name;
    cw_device_time_after(c);
    record_module(c);
    if (cw_layer_told_name(c, &name.handle, &name.module, &name.name))
        tp->name(&name);
    if (*scratch)
        tp->exit[c->index](c);
    cw_select_result(c);
}

static void
recorder_before_launch(const struct cw_launch *l, void **scratch)
{
    if (!*scratch)
        return;
    unsigned char params[CW_TP_PARAM_BYTES];
    struct cw_tp_kernel k = { .launch = l, .params = params };
    k.param_size = cw_layer_param_bytes(l, params, sizeof params);
    tp->kernel(&k);
    cw_device_time_launch(l);
}

const struct cw_observer cw_recorder_observer = {
    .name = "recorder",
    .start = recorder_start,
    .before = recorder_before,
    .after = recorder_after,
    .before_launch = recorder_before_launch,
};
