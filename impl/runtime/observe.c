/* SPDX-License-Identifier: Apache-2.0
 * Calls that somebody looks at: written to the log when they have returned, and shown to the recorder before and after. */
#include "impl/runtime/observe.h"
#include "impl/runtime/runtime.h"

#include "impl/api/meta.h"
#include "impl/api/printer.h"
#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

bool rt_observed;

static bool logging, recording;                     /* written by the constructor alone */
static const struct cw_runtime_observer *observer;  /* written once, by load_observer; NULL: could not be loaded */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static __attribute__((constructor)) void
look(void)
{
    const char *socket = cw_env_get(CW_ENV_TRACE_SOCKET);
    logging = cw_log_enabled(CW_LOG_TRACE);
    recording = socket && *socket;
    rt_observed = logging || recording;
}

/* Not by the constructor: a process that makes no call loads no LTTng. */
static void
load_observer(void)
{
    char path[4096], *dir = cw_dir_of_object((const void *)(uintptr_t)&load_observer);
    int n = dir ? snprintf(path, sizeof path, "%s/" CW_RUNTIME_OBSERVER_FILE, dir) : -1;
    free(dir);
    if (n < 0 || n >= (int)sizeof path) {
        cw_error("the Runtime's calls are not recorded: libcudart cannot find its own folder");
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct cw_runtime_observer *o = library ? dlsym(library, CW_RUNTIME_OBSERVER) : NULL;
    if (!library)
        cw_error("the Runtime's calls are not recorded: %s", dlerror());
    else if (!o || o->version != CW_RUNTIME_OBSERVER_VERSION || *o->functions != rt_function_count)
        cw_error("the Runtime's calls are not recorded: %s is not of this version", path);
    else
        observer = o;
}

void
rt_before(unsigned function, void *const *args)
{
    if (!recording)
        return;
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);    /* a library is opened, and observers hold locks */
    pthread_once(&once, load_observer);
    if (observer)
        observer->before(function, args);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

static void
write_log(unsigned function, void *const *args, cudaError_t result)
{
    struct cw_buf b;

    cw_buf_init(&b);
    cw_cuda_print_call(&b, &cw_meta_functions[function], args, true, (int)result);
    if (!b.failed)
        cw_log(CW_LOG_TRACE, "%s", b.data);
    cw_buf_finish(&b);
}

void
rt_after(const struct rt_call *call)
{
    int saved = errno, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (logging)
        write_log(call->function, call->args, call->result);
    if (recording && observer)
        observer->after(call->function, call->args, (int)call->result);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}
