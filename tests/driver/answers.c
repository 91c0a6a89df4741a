/* SPDX-License-Identifier: Apache-2.0
 * What a driver answers to calls with one or two arguments that are not as usual (answers.h): `answers [-p PAIRS] [-j JOBS] [-t SECONDS] [SECTION...]`. The same
 * program runs on NVIDIA's driver (answers_observed.txt holds what it printed) and on this one. Each section runs in a process; where a call ends it,
 * does not return or spoils the context, the next process goes on behind it. */
#define _GNU_SOURCE
#include "tests/driver/answers.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POINTS = 64, LINE = 1024, RUNS = 4096, TIME_S = 20, ALTERNATIVES = 256 };

const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.visible .global .align 8 .b64 v;\n.visible .const .align 4 .b32 c[4];\n.global .texref t;\n"
    ".global .surfref u;\n"
    ".visible .entry k()\n{\n    ret;\n}\n"
    ".visible .entry two(.param .u32 a, .param .u64 b)\n{\n    ret;\n}\n"
    ".visible .entry shared()\n{\n    .shared .align 4 .b8 s[1024];\n    .reg .b32 %r<2>;\n    ld.volatile.shared.u32 %r1, [s];\n    ret;\n}\n"
    ".visible .entry limited()\n.maxntid 64, 1, 1\n{\n    ret;\n}\n";

struct set o;
CUcontext other;
CUdeviceptr other_dev;
CUstream other_stream;
char host[1 << 16] __attribute__((aligned(4096))), out[1 << 16] __attribute__((aligned(4096)));

struct deviation {
    uint8_t point, alternative;
};

struct run {
    struct deviation d[2];
    uint8_t n;
};

/* What outlives a child. */
static struct shared {
    unsigned next, runs;                /* next: the run to make, or that is being made */
    unsigned npoints;
    time_t end;                         /* 0: none */
    struct point {
        char name[32];
        unsigned n;
        bool ends[ALTERNATIVES];        /* this one alone ends the process */
    } points[POINTS];
    struct run run[RUNS];
    char label[256], line[LINE];
} *sh;

static unsigned at, taken, most_pairs = ~0u;    /* at: the next point of this run; taken: deviations so far */

static void
append(char *to, size_t size, const char *fmt, ...)
{
    size_t n = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to + n, size - n, fmt, ap);
    va_end(ap);
}

/* The n-th of `texts`, without U( ) and spaces. */
static void
nth(char *to, size_t size, const char *texts, unsigned n)
{
    int depth = 0;
    const char *p = texts;
    bool quoted = false;
    for (; n && *p; p++) {
        quoted ^= *p == '"' && p[-1] != '\\';
        if (quoted)
            continue;
        depth += *p == '(' || *p == '{';
        depth -= *p == ')' || *p == '}';
        n -= *p == ',' && !depth;
    }
    size_t k = 0;
    bool u = false;
    for (; isspace((unsigned char)*p); p++)
        ;
    if (p[0] == 'U' && p[1] == '(') {
        p += 2;
        u = true;
        depth++;
    }
    for (quoted = false; *p && (depth || quoted || *p != ',') && k + 1 < size; p++) {
        quoted ^= *p == '"' && p[-1] != '\\';
        depth += !quoted && (*p == '(' || *p == '{');
        depth -= !quoted && (*p == ')' || *p == '}');
        if (u && !depth)
            break;
        if (!isspace((unsigned char)*p))
            to[k++] = *p;
    }
    to[k] = 0;
}

/* Which alternative this run takes at a point; 0 is the usual one. */
static unsigned
chosen(const char *name, unsigned n)
{
    const struct run *r = &sh->run[sh->next];
    unsigned i = at++;
    if (sh->next == 0 && i < POINTS) {
        for (unsigned k = 0; k < i; k++)
            if (!strcmp(sh->points[k].name, name))
                append(sh->line, sizeof sh->line, " [two points %s]", name);
        snprintf(sh->points[i].name, sizeof sh->points[i].name, "%s", name);
        sh->points[i].n = n < ALTERNATIVES ? n : ALTERNATIVES;
        sh->npoints = i + 1;
    }
    for (unsigned k = 0; k < r->n; k++)
        if (!strcmp(sh->points[r->d[k].point].name, name))
            return r->d[k].alternative;
    return 0;
}

static void
name_it(const char *name, const char *value)
{
    taken++;
    append(sh->label, sizeof sh->label, " %s=%s", name, value);
}

uint64_t
pick(const char *name, const char *texts, const uint64_t *values, size_t n)
{
    unsigned a = chosen(name, (unsigned)n);
    if (a) {
        char t[64];
        nth(t, sizeof t, texts, a);
        if (strlen(t) > 24)
            snprintf(t, sizeof t, "#%u", a);
        name_it(name, t);
    }
    return values[a];
}

uint64_t
pick_range(const char *name, uint64_t usual, uint64_t first, uint64_t last)
{
    unsigned a = chosen(name, (unsigned)(last - first + 2));
    if (!a)
        return usual;
    char t[32];
    snprintf(t, sizeof t, "%lld", (long long)(first + a - 1));
    name_it(name, t);
    return first + a - 1;
}

CUresult
answer(CUresult e)
{
    append(sh->line, sizeof sh->line, " %d", (int)e);
    return e;
}

void
value_is(uint64_t v)
{
    append(sh->line, sizeof sh->line, " (%llx)", (unsigned long long)v);
}

void
must(CUresult e, const char *call)
{
    if (e != CUDA_SUCCESS)
        append(sh->line, sizeof sh->line, " [%s: %d]", call, (int)e);
}

static void
make_set(void)
{
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&other, 0, 0));
    MUST(cuMemAlloc_v2(&other_dev, SIZE));
    MUST(cuStreamCreate(&other_stream, CU_STREAM_NON_BLOCKING));
    MUST(cuCtxCreate_v2(&o.ctx, CU_CTX_MAP_HOST, 0));
    MUST(cuStreamCreate(&o.stream, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&o.blocking, 0));
    MUST(cuStreamCreate(&o.dead_stream, 0));
    MUST(cuStreamDestroy_v2(o.dead_stream));
    MUST(cuEventCreate(&o.event, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&o.timed, 0));
    MUST(cuEventCreate(&o.late, 0));
    MUST(cuEventCreate(&o.dead_event, 0));
    MUST(cuEventDestroy_v2(o.dead_event));
    MUST(cuEventRecord(o.timed, NULL));
    MUST(cuModuleLoadData(&o.module, text));
    MUST(cuModuleGetFunction(&o.func, o.module, "k"));
    MUST(cuModuleGetFunction(&o.two, o.module, "two"));
    MUST(cuModuleGetFunction(&o.shared, o.module, "shared"));
    MUST(cuModuleGetFunction(&o.limited, o.module, "limited"));
    CUDA_ARRAY_DESCRIPTOR d2 = { .Width = 32, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4 };
    CUDA_ARRAY3D_DESCRIPTOR d3 = { .Width = 32, .Height = 16, .Depth = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    MUST(cuArrayCreate_v2(&o.array, &d2));
    MUST(cuArrayCreate_v2(&o.dead_array, &d2));
    MUST(cuArrayDestroy(o.dead_array));
    d2.Height = 0;
    MUST(cuArrayCreate_v2(&o.array1d, &d2));
    MUST(cuArray3DCreate_v2(&o.array3d, &d3));
    MUST(cuMipmappedArrayCreate(&o.mipmap, &d3, 2));
    d3.Flags = CUDA_ARRAY3D_LAYERED;
    MUST(cuArray3DCreate_v2(&o.layered, &d3));
    d3 = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = 32, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST };
    MUST(cuArray3DCreate_v2(&o.surface, &d3));
    MUST(cuMemAlloc_v2(&o.dev, SIZE));
    MUST(cuMemAlloc_v2(&o.freed, 1 << 26));
    MUST(cuMemFree_v2(o.freed));
    o.freed += 32 << 20;                /* the begin is perhaps another allocation's by now */
    MUST(cuMemAllocManaged(&o.managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocPitch_v2(&o.pitched, &o.pitch, 100, 16, 4));
    MUST(cuMemHostAlloc(&o.pinned, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    o.registered = aligned_alloc(4096, SIZE);
    MUST(cuMemHostRegister_v2(o.registered, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    MUST(cuGraphCreate(&o.graph, 0));
    MUST(cuGraphCreate(&o.other_graph, 0));
    MUST(cuGraphAddEmptyNode(&o.node, o.graph, NULL, 0));
    MUST(cuGraphAddEmptyNode(&o.other_node, o.other_graph, NULL, 0));
    MUST(cuLibraryLoadData(&o.library, text, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&o.kernel, o.library, "k"));
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    MUST(cuMemPoolCreate(&o.pool, &props));
    MUST(cuTexRefCreate(&o.texref));
    MUST(cuCtxSynchronize());
}

/* All deviations, then pairs of them. */
static void
plan(unsigned pairs)
{
    unsigned n = 1;
    for (unsigned p = 0; p < sh->npoints; p++)
        for (unsigned a = 1; a < sh->points[p].n && n < RUNS; a++)
            sh->run[n++] = (struct run){ .d = { { (uint8_t)p, (uint8_t)a } }, .n = 1 };
    unsigned singles = n;
    uint64_t all = 0, seed = 88172645463325252u;
    for (unsigned i = 1; i < singles; i++)
        for (unsigned k = i + 1; k < singles; k++)
            all += sh->run[i].d[0].point != sh->run[k].d[0].point;
    for (unsigned i = 1; i < singles; i++) {
        for (unsigned k = i + 1; k < singles; k++) {
            if (sh->run[i].d[0].point == sh->run[k].d[0].point)
                continue;
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            if ((all <= pairs || (seed >> 16) % all < pairs) && n < RUNS)
                sh->run[n++] = (struct run){ .d = { sh->run[i].d[0], sh->run[k].d[0] }, .n = 2 };
        }
    }
    sh->runs = n;
}

static bool
skipped(const struct run *r)
{
    for (unsigned k = 0; k < r->n && r->n > 1; k++)
        if (sh->points[r->d[k].point].ends[r->d[k].alternative])
            return true;
    return false;
}

static void
print(const char *section, int status)
{
    printf("%s%s:%s", section, sh->label, sh->line);
    if (status && WIFSIGNALED(status))
        printf(" %s%d", WTERMSIG(status) == SIGALRM ? "hang" : "SIG", WTERMSIG(status));
    else if (status)
        printf(" exit%d", WEXITSTATUS(status));
    putchar('\n');
    fflush(stdout);
}

/* The runs from the next one on; returns where the context is spoilt. */
static void
child(const struct section *s)
{
    *sh->line = *sh->label = 0;
    alarm(60);
    make_set();
    if (*sh->line && sh->next == 0)
        print("setup", 0);
    for (; sh->next < sh->runs && (!sh->end || time(NULL) < sh->end); sh->next++) {
        const struct run *r = &sh->run[sh->next];
        if (skipped(r))
            continue;
        *sh->line = *sh->label = 0;
        at = taken = 0;
        alarm(TIME_S);
        s->run();
        CUcontext c;
        bool spoilt = cuCtxSynchronize() != CUDA_SUCCESS || cuCtxGetCurrent(&c) != CUDA_SUCCESS || c != o.ctx;
        if (spoilt)
            append(sh->line, sizeof sh->line, " spoilt");
        if (taken == r->n)              /* else a call before gave an error, and the run is another one's */
            print(s->name, 0);
        if (sh->next == 0)
            plan(s->pairs < most_pairs ? s->pairs : most_pairs);
        if (spoilt) {
            if (r->n == 1)
                sh->points[r->d[0].point].ends[r->d[0].alternative] = true;
            sh->next++;
            _exit(0);
        }
    }
    _exit(0);
}

static void
section(const struct section *s, time_t end)
{
    memset(sh, 0, sizeof *sh);
    sh->runs = 1;
    sh->end = end;
    while (sh->next < sh->runs && (!end || time(NULL) < end)) {
        int status;
        fflush(stdout);
        unsigned before = sh->next;
        pid_t pid = fork();
        if (pid == 0)
            child(s);
        waitpid(pid, &status, 0);
        if (status) {
            const struct run *r = &sh->run[sh->next];
            if (r->n == 1)
                sh->points[r->d[0].point].ends[r->d[0].alternative] = true;
            print(s->name, status);
            if (sh->next == 0)
                plan(0);
            sh->next++;
        } else if (sh->next == before) {
            break;
        }
    }
}

static bool
wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(name, argv[i]))
            return true;
    return !argc;
}

int
main(int argc, char **argv)
{
    int jobs = 1, c, seconds = 0;
    while ((c = getopt(argc, argv, "p:j:t:")) != -1) {
        if (c == 'p')
            most_pairs = (unsigned)atoi(optarg);
        else if (c == 'j')
            jobs = atoi(optarg);
        else if (c == 't')
            seconds = atoi(optarg);
        else
            return 2;
    }
    static const struct section *const lists[] = { order_sections, memory_sections, object_sections, work_sections, rare_sections };
    time_t start = time(NULL);
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    setvbuf(stdout, NULL, _IOLBF, 0);
    enum { MOST = 256 };
    static FILE *files[MOST];
    unsigned n = 0;
    int running = 0;
    for (unsigned l = 0; l < COUNT(lists); l++) {
        for (const struct section *s = lists[l]; s->name; s++) {
            if (!wanted(s->name, argc - optind, argv + optind) || n == MOST)
                continue;
            if (running == jobs) {
                wait(NULL);
                running--;
            }
            files[n] = tmpfile();
            if (!files[n])
                return 2;
            if (fork() == 0) {
                dup2(fileno(files[n]), STDOUT_FILENO);
                sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                if (sh == MAP_FAILED)
                    _exit(2);
                section(s, seconds ? start + seconds : 0);
                _exit(0);
            }
            running++;
            n++;
        }
    }
    while (running-- > 0)
        wait(NULL);
    for (unsigned i = 0; i < n; i++) {
        static char buffer[1 << 16];
        size_t got;
        rewind(files[i]);
        while ((got = fread(buffer, 1, sizeof buffer, files[i])) > 0)
            fwrite(buffer, 1, got, stdout);
    }
    return 0;
}
