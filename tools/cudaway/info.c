/* SPDX-License-Identifier: Apache-2.0
 * cudaway info: what is here. Each kind of device is asked in a process of its own, because a process has one. Facts are gathered into
 * one struct, which is then written for people or as JSON (docs/cudaway.md has the fields). */
#define _GNU_SOURCE
#include "impl/api/cuda.h"
#include "impl/base/children.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/version.h"
#include "impl/runtime/redirect/signature.h"
#include "tools/cudaway/cudaway.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LISTED = 16, SECONDS = 30 };

struct device {
    char     name[256];
    int      major, minor, multiprocessors;
    uint64_t memory;
};

/* What a process that opened one kind of device writes to its parent. */
struct answer {
    int  error;                     /* a CUresult */
    char text[256];                 /* of the error */
    int  driver_version, count;
    struct device list[MAX_LISTED];
};

struct folder_use {
    uint64_t files, bytes;
};

static const char *const kinds[] = { "auto", "host", "hip", "cuda", "gfxemu" };
enum { KINDS = sizeof kinds / sizeof *kinds };
static const char *const parts[] = { "libcuda.so.1", "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13", "libcudaway-jit.so",
                                     "libcudaway-audit.so", "libcudaway-gfxemu.so", "cudaway-kernels", "trace/libcuda.so.1" };
enum { PARTS = sizeof parts / sizeof *parts };

struct facts {
    char *libraries;
    bool  part[PARTS];
    struct answer devices[KINDS];
    char *hip_library, *rocm_folder, *rocm_version, *toolkit, *toolkit_version, *nvidia_library, *nvidia_version;
    char *cache_folder, *cache_limit, *signature_folder;
    struct folder_use cache;
    glob_t signatures;
};

/* ---- devices ---- */

static void
ask_driver(const char *path, struct answer *a)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        a->error = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
        snprintf(a->text, sizeof a->text, "%s", dlerror());
        return;
    }
#define FUNCTION(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(lib, #name)
    FUNCTION(cuInit);
    FUNCTION(cuDriverGetVersion);
    FUNCTION(cuDeviceGetCount);
    FUNCTION(cuDeviceGetName);
    FUNCTION(cuDeviceGetAttribute);
    FUNCTION(cuGetErrorString);
    CUresult (*total)(size_t *, CUdevice) = (CUresult (*)(size_t *, CUdevice))dlsym(lib, "cuDeviceTotalMem_v2");
#undef FUNCTION
    p_cuDriverGetVersion(&a->driver_version);
    a->error = p_cuInit(0);
    if (a->error == CUDA_SUCCESS)
        a->error = p_cuDeviceGetCount(&a->count);
    const char *error;
    if (a->error != CUDA_SUCCESS && p_cuGetErrorString((CUresult)a->error, &error) == CUDA_SUCCESS)
        snprintf(a->text, sizeof a->text, "%s", error);
    a->count = a->count > MAX_LISTED ? MAX_LISTED : a->count;
    for (int i = 0; i < a->count; i++) {
        struct device *d = &a->list[i];
        size_t bytes = 0;
        p_cuDeviceGetName(d->name, sizeof d->name, i);
        p_cuDeviceGetAttribute(&d->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
        p_cuDeviceGetAttribute(&d->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i);
        p_cuDeviceGetAttribute(&d->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i);
        total(&bytes, i);
        d->memory = bytes;
    }
}

static void
ask(const struct facts *f, const char *kind, struct answer *a)
{
    int p[2];
    *a = (struct answer){ .error = CUDA_ERROR_UNKNOWN };
    snprintf(a->text, sizeof a->text, "opening it ended the process that tried");
    if (pipe2(p, O_CLOEXEC))
        return;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        cw_child_dies_with(parent);
        struct answer mine = { 0 };
        char *path = text("%s/libcuda.so.1", f->libraries);
        setenv("CUDAWAY_LOG", "off", 1);
        /* CUDAWAY_DEVICE names gfxemu with a processor: the one that is its default. */
        setenv("CUDAWAY_DEVICE", strcmp(kind, "gfxemu") ? kind : "gfxemu:gfx1100", 1);
        alarm(SECONDS);
        ask_driver(path, &mine);
        _exit(write(p[1], &mine, sizeof mine) != sizeof mine);
    }
    close(p[1]);
    size_t got = 0;
    struct answer read_in;
    for (ssize_t n; pid > 0 && got < sizeof read_in && ((n = read(p[0], (char *)&read_in + got, sizeof read_in - got)) > 0 || (n < 0 && errno == EINTR));)
        got += n > 0 ? (size_t)n : 0;
    close(p[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    if (got == sizeof read_in)
        *a = read_in;
}

/* ---- files ---- */

/* The first line of a file without its end, or NULL. */
static char *
first_line(const char *path)
{
    char *data, *line;
    size_t size;
    if (cw_file_read(path, 1 << 20, &data, &size))
        return NULL;
    line = text("%.*s", (int)strcspn(data, "\r\n"), data);
    free(data);
    return line;
}

/* The first of the names that is a file. */
static char *
first_file(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        glob_t g;
        char *found = NULL;
        if (!glob(names[i], 0, NULL, &g) && g.gl_pathc)
            found = realpath(g.gl_pathv[g.gl_pathc - 1], NULL);
        globfree(&g);
        if (found)
            return found;
    }
    return NULL;
}
#define FIRST_FILE(...) first_file((const char *const[]){ __VA_ARGS__ }, sizeof(const char *[]){ __VA_ARGS__ } / sizeof(const char *))

/* The word after `before` in a file. */
static char *
word_after(const char *path, const char *before)
{
    char *data, *word = NULL;
    size_t size;
    if (!path || cw_file_read(path, 1 << 20, &data, &size))
        return NULL;
    char *at = strstr(data, before);
    if (at) {
        at += strlen(before);
        at += strspn(at, " \t\":");
        word = text("%.*s", (int)strcspn(at, " \t\r\n\","), at);
    }
    free(data);
    return word;
}

static void
find_others(struct facts *f)
{
    const char *set = cw_env_get(CW_ENV_HIP_LIBRARY), *home = getenv("CUDA_HOME");
    f->hip_library = set && *set ? realpath(set, NULL)
                                 : FIRST_FILE("/opt/rocm/lib/libamdhip64.so", "/opt/rocm*/lib/libamdhip64.so*", "/usr/lib/x86_64-linux-gnu/libamdhip64.so*",
                                              "/usr/lib64/libamdhip64.so*", "/usr/lib/libamdhip64.so*");
    char *version = FIRST_FILE("/opt/rocm/.info/version", "/opt/rocm*/.info/version");
    if (version) {
        f->rocm_version = first_line(version);
        *strstr(version, "/.info/version") = 0;
        f->rocm_folder = version;
    }
    char *there = home && *home ? text("%s/bin/nvcc", home) : NULL;
    char *nvcc = there && !access(there, X_OK) ? realpath(there, NULL) : FIRST_FILE("/usr/local/cuda/bin/nvcc", "/usr/local/cuda*/bin/nvcc", "/usr/bin/nvcc");
    free(there);
    if (nvcc) {
        char *bin = strstr(nvcc, "/bin/nvcc");
        if (bin)
            *bin = 0;
        f->toolkit = nvcc;
        char *header = text("%s/include/cuda.h", nvcc), *number = word_after(header, "define CUDA_VERSION");
        long v = number ? strtol(number, NULL, 10) : 0;
        f->toolkit_version = v ? text("%ld.%ld", v / 1000, v % 1000 / 10) : NULL;
        free(header);
        free(number);
    }
    set = cw_env_get(CW_ENV_CUDA_LIBRARY);
    f->nvidia_library = set && *set ? realpath(set, NULL) : FIRST_FILE("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                                                                       "/usr/lib/wsl/lib/libcuda.so.1", "/usr/lib/libcuda.so.1");
    f->nvidia_version = first_line("/sys/module/nvidia/version");
}

static struct folder_use counted;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type == FTW_F) {
        counted.files++;
        counted.bytes += (uint64_t)st->st_blocks * 512;
    }
    return 0;
}

static void
find_caches(struct facts *f)
{
    const char *dir = cw_env_get(CW_ENV_CACHE_DIR), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *limit = cw_env_get(CW_ENV_CACHE_SIZE);
    f->cache_folder = dir && *dir              ? text("%s/kernels-%u", dir, (unsigned)geteuid())
                      : xdg && *xdg == '/'     ? text("%s/cudaway/kernels-%u", xdg, (unsigned)geteuid())
                      : home && *home == '/'   ? text("%s/.cache/cudaway/kernels-%u", home, (unsigned)geteuid()) : NULL;
    f->cache_limit = text("%s", limit && *limit ? limit : "1G");
    counted = (struct folder_use){ 0 };
    if (f->cache_folder)
        nftw(f->cache_folder, count_file, 16, FTW_PHYS);
    f->cache = counted;
    f->signature_folder = cw_signatures_folder();
    char *pattern = f->signature_folder ? text("%s/*.sig", f->signature_folder) : text("/nonexistent");
    if (glob(pattern, 0, NULL, &f->signatures))
        f->signatures.gl_pathc = 0;
    free(pattern);
}

/* ---- writing ---- */

static void
field(struct cw_buf *b, const char *name, const char *value)
{
    cw_buf_json_string(b, name);
    cw_buf_puts(b, ": ");
    if (value)
        cw_buf_json_string(b, value);
    else
        cw_buf_puts(b, "null");
}

static void
json_devices(struct cw_buf *b, const struct facts *f)
{
    cw_buf_puts(b, "  \"devices\": [");
    for (unsigned k = 0; k < KINDS; k++) {
        const struct answer *a = &f->devices[k];
        cw_buf_printf(b, "%s\n    { ", k ? "," : "");
        field(b, "kind", kinds[k]);
        cw_buf_puts(b, ", ");
        field(b, "error", a->error ? a->text : NULL);
        cw_buf_puts(b, ", \"list\": [");
        for (int i = 0; i < a->count; i++) {
            const struct device *d = &a->list[i];
            cw_buf_puts(b, i ? ", { " : " { ");
            field(b, "name", d->name);
            cw_buf_printf(b, ", \"compute_capability\": \"%d.%d\", \"multiprocessors\": %d, \"memory\": %llu }", d->major, d->minor, d->multiprocessors,
                          (unsigned long long)d->memory);
        }
        cw_buf_puts(b, a->count ? " ] }" : "] }");
    }
    cw_buf_puts(b, "\n  ],\n");
}

static void
write_json(struct cw_buf *b, const struct facts *f)
{
    cw_buf_puts(b, "{\n  ");
    field(b, "version", cw_version());
    cw_buf_printf(b, ",\n  \"driver_version\": %d,\n  ", f->devices[1].driver_version);
    field(b, "libraries", f->libraries);
    cw_buf_puts(b, ",\n  \"parts\": {");
    for (unsigned i = 0; i < PARTS; i++) {
        cw_buf_puts(b, i ? ", " : " ");
        cw_buf_json_string(b, parts[i]);
        cw_buf_puts(b, f->part[i] ? ": true" : ": false");
    }
    cw_buf_puts(b, " },\n");
    json_devices(b, f);
    const struct { const char *name, *first, *first_value, *second, *second_value; } found[] = {
        { "hip", "library", f->hip_library, NULL, NULL },
        { "rocm", "folder", f->rocm_folder, "version", f->rocm_version },
        { "cuda_toolkit", "folder", f->toolkit, "version", f->toolkit_version },
        { "nvidia_driver", "library", f->nvidia_library, "version", f->nvidia_version },
    };
    for (unsigned i = 0; i < sizeof found / sizeof *found; i++) {
        cw_buf_printf(b, "  \"%s\": { ", found[i].name);
        field(b, found[i].first, found[i].first_value);
        if (found[i].second) {
            cw_buf_puts(b, ", ");
            field(b, found[i].second, found[i].second_value);
        }
        cw_buf_puts(b, " },\n");
    }
    cw_buf_puts(b, "  \"settings\": [");
    const char *between = " ";
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        char origin[PATH_MAX + 16];
        if (!cw_env_origin((enum cw_env)i, origin, sizeof origin))
            continue;
        cw_buf_printf(b, "%s{ ", between);
        field(b, "name", cw_env_name((enum cw_env)i));
        cw_buf_puts(b, ", ");
        field(b, "value", cw_env_get((enum cw_env)i));
        cw_buf_puts(b, ", ");
        field(b, "from", origin);
        cw_buf_puts(b, " }");
        between = ", ";
    }
    cw_buf_puts(b, " ],\n  \"kernel_cache\": { ");
    field(b, "folder", f->cache_folder);
    cw_buf_printf(b, ", \"files\": %llu, \"bytes\": %llu, ", (unsigned long long)f->cache.files, (unsigned long long)f->cache.bytes);
    field(b, "limit", f->cache_limit);
    cw_buf_puts(b, " },\n  \"signatures\": { ");
    field(b, "folder", f->signature_folder);
    cw_buf_puts(b, ", \"files\": [");
    for (size_t i = 0; i < f->signatures.gl_pathc; i++) {
        cw_buf_puts(b, i ? ", " : " ");
        cw_buf_json_string(b, strrchr(f->signatures.gl_pathv[i], '/') + 1);
    }
    cw_buf_puts(b, f->signatures.gl_pathc ? " ] }\n}\n" : "] }\n}\n");
}

static void
write_found(struct cw_buf *b, const char *title, const char *what, const char *version)
{
    cw_buf_printf(b, "%-16s%s%s%s\n", title, what ? what : version ? "" : "not found", version ? what ? ", version " : "version " : "", version ? version : "");
}

static void
write_text(struct cw_buf *b, const struct facts *f)
{
    int v = f->devices[1].driver_version;
    cw_buf_printf(b, "CUDAway %s, CUDA driver interface %d.%d\n\nDevices\n", cw_version(), v / 1000, v % 1000 / 10);
    for (unsigned k = 0; k < KINDS; k++) {
        const struct answer *a = &f->devices[k];
        if (a->error || !a->count)
            cw_buf_printf(b, "  %-14s%s\n", kinds[k], a->error ? a->text : "none");
        for (int i = 0; i < a->count; i++) {
            const struct device *d = &a->list[i];
            cw_buf_printf(b, "  %-14s%s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", i ? "" : kinds[k], d->name, d->major, d->minor, d->multiprocessors,
                          (double)d->memory / (double)(1ull << 30));
        }
    }
    cw_buf_puts(b, "\nInstallation\n");
    write_found(b, "  libraries", f->libraries, NULL);
    for (unsigned i = 0; i < PARTS; i++)
        if (!f->part[i])
            cw_buf_printf(b, "  %-14s%s\n", "missing", parts[i]);
    cw_buf_puts(b, "\nFound on this machine\n");
    write_found(b, "  HIP", f->hip_library, NULL);
    write_found(b, "  ROCm", f->rocm_folder, f->rocm_version);
    write_found(b, "  CUDA toolkit", f->toolkit, f->toolkit_version);
    write_found(b, "  NVIDIA driver", f->nvidia_library, f->nvidia_version);
    bool set = false;
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        char origin[PATH_MAX + 16];
        if (!cw_env_origin((enum cw_env)i, origin, sizeof origin))
            continue;
        cw_buf_printf(b, "%s  %s=%s (%s)\n", set ? "" : "\nSettings\n", cw_env_name((enum cw_env)i), cw_env_get((enum cw_env)i), origin);
        set = true;
    }
    cw_buf_puts(b, "\nKept for this user\n");
    cw_buf_printf(b, "  %-14s%s, %llu files, %.1f MiB of %s\n", "kernels", f->cache_folder ? f->cache_folder : "nowhere", (unsigned long long)f->cache.files,
                  (double)f->cache.bytes / (1 << 20), f->cache_limit);
    cw_buf_printf(b, "  %-14s%s, %zu files\n", "signatures", f->signature_folder ? f->signature_folder : "nowhere", f->signatures.gl_pathc);
}

static void
finish(struct facts *f)
{
    char *all[] = { f->libraries, f->hip_library, f->rocm_folder, f->rocm_version, f->toolkit, f->toolkit_version, f->nvidia_library, f->nvidia_version,
                    f->cache_folder, f->cache_limit, f->signature_folder };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    globfree(&f->signatures);
}

enum { OPT_JSON = 256 };

static int
info(int argc, char **argv)
{
    bool json = false;
    int c;
    struct cw_command_line line = { &info_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        if (c != OPT_JSON)
            return line.status;
        json = true;
    }
    static struct facts f;
    f.libraries = library_folder();
    if (!f.libraries) {
        say("the libraries (lib/cudaway) are missing beside this program; the installation is damaged");
        return EXIT_TOOL;
    }
    for (unsigned i = 0; i < PARTS; i++) {
        char *path = text("%s/%s", f.libraries, parts[i]);
        f.part[i] = !access(path, R_OK);
        free(path);
    }
    for (unsigned k = 0; k < KINDS; k++)
        ask(&f, kinds[k], &f.devices[k]);
    find_others(&f);
    find_caches(&f);
    struct cw_buf b;
    cw_buf_init(&b);
    if (json)
        write_json(&b, &f);
    else
        write_text(&b, &f);
    bool ok = !b.failed && fwrite(b.data, 1, b.size, stdout) == b.size && !fflush(stdout);
    cw_buf_finish(&b);
    finish(&f);
    return ok ? 0 : EXIT_TOOL;
}

const struct cw_program info_command = {
    .name = "info",
    .parent = &cudaway_program,
    .summary = "devices, versions, and what is found of HIP, ROCm and CUDA",
    .options = (const struct cw_option[]){ { OPT_JSON, "json", NULL, "print JSON (docs/cudaway.md has the fields)" }, { 0 } },
    .run = info,
    .usage_status = EXIT_USAGE,
};
