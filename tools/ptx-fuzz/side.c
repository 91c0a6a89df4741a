/* SPDX-License-Identifier: Apache-2.0
 * A device in a process of its own, which loads the driver (ours, or the real one for cuda-native) and runs batches from
 * memory that it shares with its parent. A crash or hang of it is a finding; the run continues. */
#define _GNU_SOURCE
#include "tools/ptx-fuzz/fuzz.h"

#include "cudaway/cuda_table.h"
#include "impl/base/env.h"
#include "impl/base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const run_status_name[] = { "ran", "refused", "failed", "crashed", "timed out" };

/* ---- the child ---- */

struct device {
    struct cw_cuda_table cu;
    CUdeviceptr in, out, atom, trace;
    CUtexObject tex[2];             /* numbers, clamped; four bytes as floats, zero outside */
    uint8_t *input;
    bool unoptimized;               /* cuda-native:O0 */
};

static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int said = -1;               /* what went to standard error */

static void
say(struct shared_area *a, const char *what, const struct device *d, CUresult r)
{
    const char *name = NULL;
    size_t n = strlen(a->message);
    if (d->cu.cuGetErrorName)
        d->cu.cuGetErrorName(r, &name);
    n += (size_t)snprintf(a->message + n, sizeof a->message - n, "%s: %s\n", what, name ? name : "unknown error");
    n = strlen(a->message);
    ssize_t more = said >= 0 ? pread(said, a->message + n, sizeof a->message - n - 1, 0) : 0;
    a->message[n + (more > 0 ? (size_t)more : 0)] = 0;
    if (said >= 0 && (ftruncate(said, 0) || lseek(said, 0, SEEK_SET) < 0))
        a->message[n] = 0;
}

/* Arrays and objects by which kernels read single texels. */
static CUresult
make_textures(struct device *d)
{
    uint8_t data[TEX_BYTES];
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++) {
        CUarray a;
        CUDA_ARRAY_DESCRIPTOR desc = { TEX_WIDTH, TEX_HEIGHT, i ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT32, i ? 4 : 1 };
        CUaddress_mode mode = i ? CU_TR_ADDRESS_MODE_BORDER : CU_TR_ADDRESS_MODE_CLAMP;
        CUDA_TEXTURE_DESC t = { .addressMode = { mode, mode, mode }, .filterMode = CU_TR_FILTER_MODE_POINT, .flags = i ? 0 : CU_TRSF_READ_AS_INTEGER };
        CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
        make_texture(i, data);
        r = d->cu.cuArrayCreate_v2(&a, &desc);
        CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = data, .srcPitch = TEX_WIDTH * 4, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                               .dstArray = a, .WidthInBytes = TEX_WIDTH * 4, .Height = TEX_HEIGHT };
        if (r == CUDA_SUCCESS)
            r = d->cu.cuMemcpy2D_v2(&copy);
        res.res.array.hArray = a;
        if (r == CUDA_SUCCESS)
            r = d->cu.cuTexObjectCreate(&d->tex[i], &res, &t, NULL);
    }
    return r;
}

static bool
device_open(struct device *d, const char *on, struct shared_area *a)
{
    bool native = !strncmp(on, "cuda-native", 11);
    d->unoptimized = !strcmp(on, "cuda-native:O0");     /* cuda:O0: impl/cuda hands it on */
    char path[PATH_MAX];
    const char *name = path, *given = cw_env_get(CW_ENV_CUDA_LIBRARY);
    if (native) {
        name = given && *given ? given : "libcuda.so.1";
    } else {
        char *dir = cw_dir_of_object((const void *)(uintptr_t)&device_open);
        snprintf(path, sizeof path, "%s/../lib/cudaway/libcuda.so.1", dir ? dir : ".");
        free(dir);
        setenv("CUDAWAY_DEVICE", on, 1);
        setenv("CUDAWAY_COMPUTE_CAPABILITY", "9.0", 0);
        setenv("CUDAWAY_CACHE_SIZE", "0", 0);
        setenv("CUDAWAY_HOST_THREADS", "1", 0);
    }
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        snprintf(a->message, sizeof a->message, "%s\n", dlerror());
        return false;
    }
#define X(index, symbol, type, parameters, arguments) cw_cuda_table_set(&d->cu, index, dlsym(lib, #symbol));
    CW_CUDA_FUNCTIONS(X)
#undef X
    CUdevice dev;
    CUcontext ctx;
    CUresult r = d->cu.cuInit ? d->cu.cuInit(0) : CUDA_ERROR_NOT_FOUND;
    if (r == CUDA_SUCCESS)
        r = d->cu.cuDeviceGet(&dev, 0);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuDevicePrimaryCtxRetain(&ctx, dev);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuCtxSetCurrent(ctx);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 16384);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemAlloc_v2(&d->in, IN_BYTES);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemAlloc_v2(&d->out, OUT_BYTES);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemAlloc_v2(&d->atom, ATOM_BYTES);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemAlloc_v2(&d->trace, TRACE_BYTES);
    if (r == CUDA_SUCCESS)
        r = make_textures(d);
    if (r != CUDA_SUCCESS)
        say(a, on, d, r);
    else if (d->cu.cuDeviceGetName)
        d->cu.cuDeviceGetName(a->message, 200, dev);
    d->input = malloc(IN_BYTES);
    return r == CUDA_SUCCESS && d->input;
}

static enum run_status
run_job(struct device *d, CUmodule m, struct shared_area *a, uint32_t k)
{
    struct job *j = &a->job[k];
    struct scalars s;
    CUfunction f;
    uint32_t base = j->base, tid = (uint32_t)j->trace;
    void *all[NPARAMS] = { &d->in, &d->out, &d->atom, &d->trace, &base, &tid, &s.x, &s.y, &s.z, &s.w, &s.h, s.arr, &d->tex[0], &d->tex[1] };
    void *params[NPARAMS];
    unsigned n = 0;
    for (unsigned i = 0; i < NPARAMS; i++)
        if (j->params >> i & 1)
            params[n++] = all[i];
    size_t bytes = (size_t)j->threads * OUT_STRIDE;
    double t = seconds();
    make_input(j->seed, d->input);
    make_scalars(j->seed, &s);
    CUresult r = d->cu.cuModuleGetFunction(&f, m, j->name);
    a->load_s += seconds() - t;
    if (r != CUDA_SUCCESS) {
        say(a, "cuModuleGetFunction", d, r);
        return RUN_REFUSED;
    }
    r = d->cu.cuMemcpyHtoD_v2(d->in, d->input, IN_BYTES);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemsetD8_v2(d->out, 0, bytes);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemsetD8_v2(d->atom, 0, ATOM_BYTES);
    if (r == CUDA_SUCCESS && j->trace >= 0)
        r = d->cu.cuMemsetD8_v2(d->trace, 0, TRACE_BYTES);
    t = seconds();
    if (r == CUDA_SUCCESS)
        r = d->cu.cuLaunchKernel(f, j->grid[0], j->grid[1], j->grid[2], j->block[0], j->block[1], j->block[2], j->shared, NULL, params, NULL);
    /* A kernel is compiled by its first launch, and messages about that come back from it. */
    if (r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_INVALID_IMAGE ||
        r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || r == CUDA_ERROR_INVALID_SOURCE) {
        say(a, "cuLaunchKernel", d, r);
        return RUN_REFUSED;
    }
    if (r == CUDA_SUCCESS)
        r = d->cu.cuCtxSynchronize();
    a->run_s += seconds() - t;
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemcpyDtoH_v2(a->out[k], d->out, bytes);
    if (r == CUDA_SUCCESS)
        r = d->cu.cuMemcpyDtoH_v2(a->out[k] + bytes, d->atom, ATOM_BYTES);
    if (r == CUDA_SUCCESS && j->trace >= 0)
        r = d->cu.cuMemcpyDtoH_v2(a->trace, d->trace, TRACE_BYTES);
    if (r != CUDA_SUCCESS)
        say(a, j->name, d, r);
    return r == CUDA_SUCCESS ? RUN_OK : RUN_FAILED;
}

/* A failed launch leaves the context unusable: the child ends after it. */
static bool
run_batch(struct device *d, struct shared_area *a)
{
    CUmodule m;
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL };
    void *values[] = { a->message, (void *)(uintptr_t)(sizeof a->message / 2), NULL };
    bool good = true;
    a->message[0] = 0;
    a->load_s = a->run_s = 0;
    double t = seconds();
    CUresult r = d->cu.cuModuleLoadDataEx(&m, a->text, d->unoptimized ? 3 : 2, options, values);
    a->load_s = seconds() - t;
    a->status = r == CUDA_SUCCESS ? RUN_OK : RUN_REFUSED;
    if (r != CUDA_SUCCESS) {
        say(a, "cuModuleLoadDataEx", d, r);
        return true;
    }
    for (uint32_t k = 0; k < a->njobs && good; k++) {
        a->job_status[k] = run_job(d, m, a, k);
        good = a->job_status[k] != RUN_FAILED;
    }
    d->cu.cuModuleUnload(m);
    return good;
}

static void
child(const struct side *s, int in, int out)
{
    static struct device d;
    char c;
    said = memfd_create("messages", MFD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    /* The answer contains the driver's messages about a module. */
    if (said >= 0 && !cw_env_get(CW_ENV_LOG_FILE))
        dup2(said, STDERR_FILENO);
    s->area->message[0] = 0;
    c = device_open(&d, s->device, s->area) ? 'r' : 'e';
    if (write(out, &c, 1) != 1 || c == 'e')
        _exit(2);
    while (read(in, &c, 1) == 1) {
        bool good = run_batch(&d, s->area);
        if (write(out, &c, 1) != 1 || !good)
            _exit(0);
    }
    _exit(0);
}

/* ---- the parent ---- */

/* CPU time of the child and its threads, in seconds. */
static double
cpu_seconds(pid_t pid)
{
    clockid_t id;
    struct timespec t;
    if (!pid || clock_getcpuclockid(pid, &id) || clock_gettime(id, &t))
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -1: it ended; -2: it used that much CPU time, or ten times as much wall time, since the machine may be busy. */
static int
wait_byte(struct side *s, unsigned timeout_ms)
{
    struct pollfd p = { .fd = s->from, .events = POLLIN };
    char c;
    double limit = timeout_ms / 1000.0, end = seconds() + 10 * limit, cpu = cpu_seconds(s->pid);
    for (;;) {
        int n = poll(&p, 1, timeout_ms < 200 ? (int)timeout_ms : 200);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && seconds() < end && cpu_seconds(s->pid) - cpu < limit)
            continue;
        if (n == 0)
            return -2;
        return n > 0 && read(s->from, &c, 1) == 1 ? c : -1;
    }
}

static void
reap(struct side *s, bool kill_it, int *status)
{
    if (!s->pid)
        return;
    if (kill_it)
        kill(s->pid, SIGKILL);
    close(s->to);
    close(s->from);
    while (waitpid(s->pid, status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

static bool
spawn(struct side *s)
{
    int in[2], out[2], status = 0;
    if (pipe2(in, O_CLOEXEC))
        return false;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        close(in[1]);
        close(out[0]);
        child(s, in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    s->to = in[1];
    s->from = out[0];
    if (s->pid < 0) {
        s->pid = 0;
        close(s->to);
        close(s->from);
        return false;
    }
    s->started++;
    if (wait_byte(s, 120000) == 'r')
        return true;
    reap(s, true, &status);
    return false;
}

bool
side_open(struct side *s, const char *device)
{
    *s = (struct side){ .device = device };
    signal(SIGPIPE, SIG_IGN);
    s->area = mmap(NULL, sizeof *s->area, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->area == MAP_FAILED) {
        s->area = NULL;
        return false;
    }
    if (!spawn(s)) {
        snprintf(s->name, sizeof s->name, "%.200s", s->area->message);
        return false;
    }
    snprintf(s->name, sizeof s->name, "%.200s", s->area->message);
    return true;
}

void
side_start(struct side *s)
{
    char c = 'g';
    struct shared_area *a = s->area;
    if (!s->pid && !spawn(s))
        return;
    a->status = RUN_CRASHED;
    for (uint32_t k = 0; k < MAX_KERNELS; k++)
        a->job_status[k] = RUN_CRASHED;
    if (write(s->to, &c, 1) != 1)
        reap(s, true, NULL);
}

enum run_status
side_wait(struct side *s, unsigned timeout_ms)
{
    struct shared_area *a = s->area;
    int status = 0, c;
    if (!s->pid) {
        a->status = RUN_CRASHED;
        return RUN_CRASHED;
    }
    c = wait_byte(s, timeout_ms);
    if (c == 'g') {
        bool failed = false;
        for (uint32_t k = 0; k < a->njobs; k++)
            failed |= a->job_status[k] == RUN_FAILED;
        if (failed)
            reap(s, false, &status);
        return (enum run_status)a->status;
    }
    s->crashes++;
    reap(s, true, &status);
    a->status = c == -2 ? RUN_TIMEOUT : RUN_CRASHED;
    if (c == -2)
        snprintf(a->message, sizeof a->message, "no answer after computing for %u ms\n", timeout_ms);
    else if (WIFSIGNALED(status))
        snprintf(a->message, sizeof a->message, "ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(a->message, sizeof a->message, "ended with status %d\n", WEXITSTATUS(status));
    return (enum run_status)a->status;
}

void
side_close(struct side *s)
{
    reap(s, true, NULL);
    if (s->area)
        munmap(s->area, sizeof *s->area);
    s->area = NULL;
}
