/* SPDX-License-Identifier: Apache-2.0
 * See driver.h. */
#define _GNU_SOURCE
#include "tracer/cli/driver.h"

#include "impl/base/children.h"
#include "impl/base/env.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* CUDAway's driver and its trace layer stand beside libraries that nobody else has. */
static int
is_ours(const char *path)
{
    static const char *const beside[] = { "libcudaway-jit.so", "libcudaway-tp.so" };
    char near[PATH_MAX + 32];
    const char *slash = strrchr(path, '/');
    for (unsigned i = 0; slash && i < sizeof beside / sizeof *beside; i++) {
        snprintf(near, sizeof near, "%.*s/%s", (int)(slash - path), path, beside[i]);
        if (!access(near, F_OK))
            return 1;
    }
    return 0;
}

static void
look(int out)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];
    unsetenv("LD_PRELOAD");
    void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, path) && dlsym(handle, "cuInit") && !is_ours(path))
        if (write(out, path, strlen(path)) < 0)
            _exit(1);
    _exit(0);
}

char *
driver_of_system(void)
{
    int out[2];
    char path[PATH_MAX];
    size_t n = 0;
    ssize_t got;
    if (pipe2(out, O_CLOEXEC))
        return NULL;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        look(out[1]);
    }
    close(out[1]);
    while (pid > 0 && n < sizeof path - 1 && ((got = read(out[0], path + n, sizeof path - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    close(out[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    path[n] = 0;
    return n ? strdup(path) : NULL;
}

static const char *
setting(enum cw_env var)
{
    const char *s = cw_env_get(var);
    return s && *s ? s : NULL;
}

bool
driver_choose(struct driver_choice *c, char *why, size_t size)
{
    const char *library = c->device ? NULL : setting(CW_ENV_CUDA_LIBRARY);
    c->device = c->device ? c->device : setting(CW_ENV_DEVICE);
    if (c->library) {
        c->owned = realpath(c->library, NULL);
        if (!c->owned || access(c->owned, R_OK)) {
            snprintf(why, size, "--library %s: %s", c->library, strerror(errno));
            return false;
        }
        c->library = c->owned;
    } else if (library || c->device) {
        c->library = library;
    } else {
        c->library = c->owned = driver_of_system();
        c->found = c->owned;
    }
    return true;
}

void
driver_text(const struct driver_choice *c, char *out, size_t size)
{
    if (c->library)
        snprintf(out, size, "the driver %s%s", c->library, c->found ? ", which it would find without us; --device takes CUDAway's" : "");
    else
        snprintf(out, size, "CUDAway's driver, device %s", c->device ? c->device : "auto");
}

bool
driver_set_environment(const struct driver_choice *c)
{
    /* An empty variable counts as none, and covers what a configuration file says. */
    const char *library = c->library ? c->library : setting(CW_ENV_CUDA_LIBRARY) ? "" : NULL;
    return (!c->device || !setenv("CUDAWAY_DEVICE", c->device, 1)) && (!library || !setenv("CUDAWAY_CUDA_LIBRARY", library, 1));
}

void
driver_finish(struct driver_choice *c)
{
    free(c->owned);
    c->owned = NULL;
}
