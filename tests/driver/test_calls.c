/* SPDX-License-Identifier: Apache-2.0
 * What calls answer in which state of the thread's context, for which class of arguments. The cases are data (calls.txt says how a line
 * reads); this program makes the states and the arguments. `test_driver_calls TABLE [only this function]`.
 * `test_driver_calls TABLE --record usual|sticky [FIRST COUNT]` prints what the driver answers instead, a line a case, over any
 * libcuda.so.1 (LD_LIBRARY_PATH): a child runs the cases, and where a call ends it or does not return, the next child goes on behind it.
 * sticky: the cases of that state alone, since a GPU's fault is every context's. */
#include "tests/driver/test.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGS = 14, BUFFER = 8192 };

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.visible .global .align 8 .b64 v;\n"
    ".visible .entry k()\n{\n    ret;\n}\n"
    ".visible .entry two(.param .u32 a, .param .u64 b)\n{\n    ret;\n}\n"
    ".visible .entry tail(.param .u64 a, .param .u32 b)\n{\n    ret;\n}\n"
    ".visible .entry fault()\n{\n    .reg .u64 %p;\n    mov.u64 %p, 8;\n    st.global.u32 [%p], 1;\n    ret;\n}\n";

/* ---- objects: one set in the context that is called home, one in a context with a sticky error -------------------------------------- */

struct set {
    CUcontext ctx;
    CUstream stream, dead_stream;
    CUevent event, timed, dead_event;
    CUmodule module, dead_module;
    CUfunction func, two, tail;
    CUarray array, dead_array;
    CUmipmappedArray mipmap;
    CUdeviceptr dev, freed, managed;
    void *pinned;
    CUgraph graph, dead_graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUlinkState link;
    CUlibrary library;
    CUkernel kernel;
    CUmemoryPool pool, dead_pool;
    CUtexref texref;
};

static struct set home, ill;
static CUcontext other, primary, dead_ctx;
static char buffers[MAX_ARGS][BUFFER] __attribute__((aligned(64)));
static char host[1 << 16] __attribute__((aligned(4096)));
static bool executes;

static const CUDA_ARRAY_DESCRIPTOR array2d = { .Width = 32, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4 };
static const CUDA_ARRAY_DESCRIPTOR array_bad = { .Width = 32, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 3 };
static const CUDA_ARRAY_DESCRIPTOR array_empty = { .Width = 0, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4 };
static const CUDA_ARRAY3D_DESCRIPTOR array3d = { .Width = 32, .Height = 16, .Depth = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
static const CUDA_ARRAY3D_DESCRIPTOR cube_bad = { .Width = 32, .Height = 16, .Depth = 6, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1,
                                                  .Flags = CUDA_ARRAY3D_CUBEMAP };
static const CUmemPoolProps pool_props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static const CUmemPoolProps pool_bad = { .allocType = CU_MEM_ALLOCATION_TYPE_INVALID, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static const CUmemAllocationProp phys_props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static const CUmemAllocationProp phys_bad = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 99 } };

static void
nothing(void *unused)
{
}

static void
make_set(struct set *o)
{
    OK(cuCtxCreate_v2(&o->ctx, 0, 0));
    OK(cuStreamCreate(&o->stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&o->dead_stream, 0));
    OK(cuStreamDestroy_v2(o->dead_stream));
    OK(cuEventCreate(&o->event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&o->timed, 0));
    OK(cuEventRecord(o->timed, NULL));
    OK(cuEventCreate(&o->dead_event, 0));
    OK(cuEventDestroy_v2(o->dead_event));
    OK(cuModuleLoadData(&o->module, text));
    OK(cuModuleLoadData(&o->dead_module, text));
    OK(cuModuleUnload(o->dead_module));
    OK(cuModuleGetFunction(&o->func, o->module, "k"));
    OK(cuModuleGetFunction(&o->two, o->module, "two"));
    OK(cuModuleGetFunction(&o->tail, o->module, "tail"));
    OK(cuArrayCreate_v2(&o->array, &array2d));
    OK(cuArrayCreate_v2(&o->dead_array, &array2d));
    OK(cuArrayDestroy(o->dead_array));
    OK(cuMipmappedArrayCreate(&o->mipmap, &array3d, 2));
    OK(cuMemAlloc_v2(&o->dev, 1 << 16));
    OK(cuMemAlloc_v2(&o->freed, 1 << 24));
    OK(cuMemFree_v2(o->freed));
    o->freed += 8 << 20;        /* the begin is perhaps another allocation's by now, a pool's for one */
    OK(cuMemAllocManaged(&o->managed, 1 << 16, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc(&o->pinned, 1 << 16, 0));
    OK(cuGraphCreate(&o->graph, 0));
    OK(cuGraphAddEmptyNode(&o->node, o->graph, NULL, 0));
    OK(cuGraphInstantiateWithFlags(&o->exec, o->graph, 0));
    OK(cuGraphCreate(&o->dead_graph, 0));
    OK(cuGraphDestroy(o->dead_graph));
    OK(cuLinkCreate_v2(0, NULL, NULL, &o->link));
    OK(cuLibraryLoadData(&o->library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&o->kernel, o->library, "k"));
    OK(cuMemPoolCreate(&o->pool, &pool_props));
    OK(cuMemPoolCreate(&o->dead_pool, &pool_props));
    OK(cuMemPoolDestroy(o->dead_pool));
    OK(cuTexRefCreate(&o->texref));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(NULL));
}

static void *
destroy_it(void *c)
{
    OK(cuCtxDestroy_v2(c));
    return NULL;
}

static void
make_objects(void)
{
    OK(cuInit(0));
    make_set(&home);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    if (executes) {
        CUfunction f;
        make_set(&ill);
        OK(cuCtxSetCurrent(ill.ctx));
        OK(cuModuleGetFunction(&f, ill.module, "fault"));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        EXPECT(cuCtxSynchronize() != CUDA_SUCCESS);
        OK(cuCtxSetCurrent(NULL));
    }
    CUcontext d;
    OK(cuCtxCreate_v2(&d, 0, 0));
    OK(cuCtxDestroy_v2(d));
    dead_ctx = d;
}

/* ---- states ----------------------------------------------------------------------------------------------------------------------------- */

static bool
enter(const char *state)
{
    CUcontext c;
    if (!strcmp(state, "uninit"))
        return true;                    /* this process's first cases */
    OK(cuCtxSetCurrent(home.ctx));      /* each case finds the work of the others done */
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(NULL));
    if (!strcmp(state, "none"))
        return true;
    if (!strcmp(state, "ctx"))
        return cuCtxSetCurrent(home.ctx) == CUDA_SUCCESS;
    if (!strcmp(state, "other"))
        return cuCtxSetCurrent(other) == CUDA_SUCCESS;
    if (!strcmp(state, "primary"))
        return cuCtxSetCurrent(primary) == CUDA_SUCCESS;
    if (!strcmp(state, "sticky"))
        return cuCtxSetCurrent(ill.ctx) == CUDA_SUCCESS;
    if (!strcmp(state, "inactive"))
        return cuCtxSetCurrent(primary) == CUDA_SUCCESS && cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS;
    if (!strcmp(state, "destroyed")) {  /* by another thread, while it is current here */
        pthread_t t;
        if (cuCtxCreate_v2(&c, 0, 0) != CUDA_SUCCESS || pthread_create(&t, NULL, destroy_it, c))
            return false;
        pthread_join(t, NULL);
        return true;
    }
    return false;
}

static void
leave(const char *state)
{
    CUcontext c;
    if (!strcmp(state, "uninit"))
        return;
    if (!strcmp(state, "inactive"))
        OK(cuDevicePrimaryCtxRetain(&c, 0));
    while (cuCtxPopCurrent_v2(&c) == CUDA_SUCCESS)
        ;
}

/* ---- arguments ------------------------------------------------------------------------------------------------------------------------------ */

static bool
argument(const char *word, unsigned i, const struct set *o, uint64_t *v)
{
    const struct {
        const char *name;
        uint64_t value;
    } names[] = {
#define H(name, x) { name, (uint64_t)(uintptr_t)(x) }
        H("null", 0), H("out", buffers[i]), H("host", host), H("bad", 0x4000000000abcde0u), H("stream", o->stream), H("legacy", CU_STREAM_LEGACY),
        H("ptds", CU_STREAM_PER_THREAD), H("dead_stream", o->dead_stream), H("event", o->event), H("timed", o->timed),
        H("dead_event", o->dead_event), H("module", o->module), H("dead_module", o->dead_module), H("func", o->func), H("two", o->two), H("tail", o->tail),
        H("array", o->array), H("dead_array", o->dead_array), H("mipmap", o->mipmap), H("freed", o->freed), H("managed", o->managed),
        H("pinned", o->pinned), H("graph", o->graph), H("dead_graph", o->dead_graph), H("exec", o->exec), H("node", o->node), H("link", o->link),
        H("library", o->library), H("kernel", o->kernel), H("pool", o->pool), H("dead_pool", o->dead_pool), H("texref", o->texref),
        H("home", o->ctx), H("other", other), H("primary", primary), H("dead_ctx", dead_ctx), H("array2d", &array2d), H("array_bad", &array_bad),
        H("array_empty", &array_empty), H("array3d", &array3d), H("cube_bad", &cube_bad), H("pool_props", &pool_props),
        H("pool_bad", &pool_bad), H("phys_props", &phys_props), H("phys_bad", &phys_bad), H("text", text), H("fn", nothing), H("dev", o->dev),
#undef H
    };
    if (!strncmp(word, "str:", 4)) {
        snprintf(buffers[i], BUFFER, "%s", word + 4);
        *v = (uintptr_t)buffers[i];
        return true;
    }
    if (!strncmp(word, "extra:", 6)) {
        struct { void *list[5]; size_t size; char block[4200]; } *x = (void *)buffers[i];
        _Static_assert(sizeof *x <= BUFFER, "");
        memset(x, 0, sizeof *x);
        x->size = strtoull(word + 6, NULL, 0);
        memcpy(x->list, (void *[]){ CU_LAUNCH_PARAM_BUFFER_POINTER, x->block, CU_LAUNCH_PARAM_BUFFER_SIZE, &x->size, CU_LAUNCH_PARAM_END },
               sizeof x->list);
        *v = (uintptr_t)x->list;
        return x->size <= sizeof x->block;
    }
    if (!strncmp(word, "dev+", 4)) {
        *v = o->dev + strtoull(word + 4, NULL, 0);
        return true;
    }
    if (!strcmp(word, "new_stream") || !strcmp(word, "new_event") || !strcmp(word, "new_dev") || !strcmp(word, "new_module")) {       /* for calls that end it */
        CUcontext was;
        CUresult e;
        OK(cuCtxGetCurrent(&was));
        OK(cuCtxPushCurrent_v2(o->ctx));
        CUdeviceptr p = 0;
        e = word[4] == 's' ? cuStreamCreate((CUstream *)v, 0) : word[4] == 'e' ? cuEventCreate((CUevent *)v, 0)
          : word[4] == 'm' ? cuModuleLoadData((CUmodule *)v, text) : cuMemAlloc_v2(&p, 64);
        if (p)
            *v = p;
        OK(cuCtxPopCurrent_v2(&was));
        return e == CUDA_SUCCESS;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!strcmp(word, names[k].name)) {
            *v = names[k].value;
            return true;
        }
    }
    char *end;
    *v = strtoull(word, &end, 0);
    return isdigit((unsigned char)*word) && !*end;
}

/* ---- the table ----------------------------------------------------------------------------------------------------------------------------------- */

static CUresult
code(const char *name)
{
    static const int known[] = {
        CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_DEVICE,
        CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY, CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PTX,
        CUDA_ERROR_UNSUPPORTED_LIMIT, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_UNKNOWN,
        CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    };
    char full[96];
    snprintf(full, sizeof full, "%s%s", strcmp(name, "SUCCESS") ? "CUDA_ERROR_" : "CUDA_", name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *n;
        if (cuGetErrorName((CUresult)known[i], &n) == CUDA_SUCCESS && !strcmp(n, full))
            return (CUresult)known[i];
    }
    return (CUresult)-1;
}

struct row {
    unsigned line;
    char *states, *function, *args[MAX_ARGS], *want;
    unsigned nargs;
    bool todo;
};

static unsigned cases, wrong, todo_passed;

/* --record: the case that runs, in memory that outlives the child; those before `first` were run by another one. */
static struct record { unsigned at, first, end; bool sticky; } *record;

typedef CUresult call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t);

static void
run_case(const struct row *r, const char *state)
{
    if (record && (record->at++ < record->first || record->at > record->end || (record->sticky && strcmp(state, "sticky"))))
        return;
    const struct set *o = !strcmp(state, "sticky") ? &ill : &home;
    uint64_t a[MAX_ARGS] = { 0 };
    const char *got_name = "?", *problem = NULL;
    /* All parameters of the calls in the table are integers or pointers, which a call passes alike. */
    call *f = (call *)(uintptr_t)dlsym(RTLD_DEFAULT, r->function);
    CUresult want = code(r->want), got = CUDA_SUCCESS;
    if (!f)
        problem = "no such function";
    else if ((int)want < 0)
        problem = "no such result";
    else if (!enter(state))
        problem = "no such state";
    for (unsigned i = 0; i < r->nargs && !problem; i++)
        if (!argument(r->args[i], i, o, &a[i]))
            problem = r->args[i];
    if (!problem) {
        got = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
        if (record) {
            (void)cuGetErrorName(got, &got_name);
            printf("%u %s %s %d\n", r->line, state, got_name, (int)got);
            fflush(stdout);
        }
        leave(state);
        cases++;
    }
    if (record)
        return;
    if (problem || (got != want) != r->todo) {
        (void)cuGetErrorName(got, &got_name);
        fprintf(stderr, "calls.txt:%u: %s: %s", r->line, state, r->function);
        for (unsigned i = 0; i < r->nargs; i++)
            fprintf(stderr, " %s", r->args[i]);
        if (problem)
            fprintf(stderr, ": not understood: %s\n", problem);
        else if (got == want)
            fprintf(stderr, " gives %s as it should: take the todo away\n", got_name);
        else
            fprintf(stderr, " gives %s (%d), not %s\n", got_name, (int)got, r->want);
        todo_passed += !problem && got == want;
        wrong++;
    }
}

/* STATE[,STATE...] FUNCTION ARGUMENT... => RESULT [todo] # SOURCE */
static bool
parse(char *line, struct row *r)
{
    char *source = strchr(line, '#'), *save, *w;
    if (source)
        *source++ = 0;
    r->states = strtok_r(line, " \t\n", &save);
    if (!r->states)
        return false;
    r->function = strtok_r(NULL, " \t\n", &save);
    r->nargs = 0;
    r->todo = false;
    r->want = NULL;
    while ((w = strtok_r(NULL, " \t\n", &save)) && strcmp(w, "=>"))
        if (r->nargs < MAX_ARGS)
            r->args[r->nargs++] = w;
    r->want = w ? strtok_r(NULL, " \t\n", &save) : NULL;
    w = r->want ? strtok_r(NULL, " \t\n", &save) : NULL;
    r->todo = w && !strcmp(w, "todo");
    while (source && isspace((unsigned char)*source))
        source++;
    if (r->function && r->want && (!w || r->todo) && source && *source)
        return true;
    fprintf(stderr, "calls.txt:%u: a line is STATES FUNCTION ARGUMENTS => RESULT [todo] # SOURCE\n", r->line);
    wrong++;
    return false;
}

static void
run(const char *path, bool uninit, const char *only)
{
    FILE *f = fopen(path, "r");
    char line[512];
    struct row r;
    EXPECT(f);
    for (r.line = 1; f && fgets(line, sizeof line, f); r.line++) {
        if (*line == '#' || *line == '\n' || !parse(line, &r) || (only && strcmp(only, r.function)))
            continue;
        char *save, states[128];
        snprintf(states, sizeof states, "%s", r.states);
        for (char *s = strtok_r(states, ",", &save); s; s = strtok_r(NULL, ",", &save))
            if (!strcmp(s, "uninit") == uninit && (executes || strcmp(s, "sticky")))
                run_case(&r, s);
    }
    if (f)
        fclose(f);
}

/* The cases before and behind cuInit; contexts in which nothing is under way when the process ends. */
static void
run_all(const char *path, const char *only)
{
    run(path, true, only);
    make_objects();
    run(path, false, only);
    CUcontext in[] = { home.ctx, other, primary };
    for (unsigned i = 0; i < 3; i++) {
        OK(cuCtxSetCurrent(in[i]));
        OK(cuCtxSynchronize());
    }
}

static int
record_all(const char *path, char **range)
{
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED)
        return 2;
    *record = (struct record){ .first = range[0] ? (unsigned)atoi(range[0]) : 0, .end = UINT32_MAX, .sticky = executes };
    if (range[0] && range[1])
        record->end = record->first + (unsigned)atoi(range[1]);
    for (;;) {
        int status = 0;
        record->at = 0;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            alarm(300);
            run_all(path, NULL);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 2;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        if (record->at <= record->first)        /* not in a case: it would end there for ever */
            return 1;
        printf("case %u: signal %d\n", record->at - 1, WTERMSIG(status));
        record->first = record->at;
        if (record->first >= record->end)
            return 0;
    }
}

int
main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2 && !strcmp(argv[2], "--record")) {
        executes = argc > 3 && !strcmp(argv[3], "sticky");
        return record_all(argv[1], argc > 4 ? argv + 4 : (char *[2]){ 0 });
    }
    const char *device = getenv("CUDAWAY_DEVICE"), *only = argc > 2 ? argv[2] : NULL;
    executes = device && !strncmp(device, "host", 4);   /* where a fault is one context's */
    run_all(argv[1], only);
    printf("%u cases, %u wrong\n", cases, wrong);
    EXPECT(only || cases > 300);
    return wrong || failures;
}
