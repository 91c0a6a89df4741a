/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay: run the launch of a kernel dump again, alone. Exit status: 0 it ran (and the results are the recorded ones), 1
 * the results differ, 2 it could not be done, 3 nothing explains a difference (--explain); nothing else. */
#define _GNU_SOURCE
#include "impl/base/program.h"
#include "impl/base/version.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/explain.h"
#include "replay/locate.h"
#include "replay/reduce.h"
#include "replay/replay.h"
#include "replay/session.h"
#include "replay/tar.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };
#define ATTEMPTS 4u
#define EXPLAIN_RUNS 400u
#define REDUCE_SECONDS 600u

struct options {
    const char *on, *output, *file, *where, *against, *against_module;
    bool check, info, serve, locate, explain, reduce;
    uint32_t repeat, ulp, attempt, seconds;
    unsigned checks;                        /* enum cwc_what */
};

enum { ON = 256, CHECK, INFO, REPEAT, ULP, SERVE, ATTEMPT, LOCATE, AGAINST, MODULE, WHERE, EXPLAIN, MEMCHECK, RACECHECK, INITCHECK, SYNCCHECK, REDUCE, SECONDS };
static const struct cw_program program = {
    .name = "cudaway-replay",
    .summary = "run the kernel launch of a dump again",
    .operands = "FILE",
    .description = "Runs the kernel launch that FILE, a kernel dump, holds.",
    .options = (const struct cw_option[]){
        { ON, "on", "DEVICE", "where: a value of CUDAWAY_DEVICE (host, host:O0, hip, ...), or cuda-native for the module untranslated on the real CUDA driver, "
          "cuda-native:O0 without its compiler's optimiser, which fuses mul and add", "host host:O0 hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { CHECK, "check", NULL, "compare with the recorded results" },
        { ULP, "ulp", "N", "with --check: floats may differ by N units in the last place (default 0: every bit counts)" },
        { REPEAT, "repeat", "N", "run N times more and print the times from launch to completion" },
        { INFO, "info", NULL, "print what the dump holds, and run nothing" },
        { LOCATE, "locate", NULL, "run on two devices, and name the first element that differs, the thread that wrote it, and its first instruction whose result differs" },
        { REDUCE, "reduce", NULL, "leave out blocks, threads, instructions and contents of memory as long as the results on two devices still differ, and write what is "
          "left as a test in PTX to --output" },
        { SECONDS, "seconds", "N", "with --reduce: stop after N seconds (default 600)" },
        { AGAINST, "against", "DEVICE", "with --locate and --reduce: what --on is compared with, another device; without it and --against-module, with the recorded results, and "
          "only the thread is named", "host host:O0 hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { MODULE, "against-module", "FILE", "with --locate and --reduce: other PTX than the recorded module", "FILE" },
        { EXPLAIN, "explain", NULL, "say why the results differ from the recorded ones, by running variants: other products and sums fused, other rules for floats, "
          "another order of threads, memory that nobody wrote" },
        { MEMCHECK, "memcheck", NULL, "look for accesses to memory out of bounds and misaligned" },
        { RACECHECK, "racecheck", NULL, "look for races in shared and in global memory" },
        { INITCHECK, "initcheck", NULL, "look for reads of shared and local memory and registers that nothing wrote" },
        { SYNCCHECK, "synccheck", NULL, "look for divergent barriers and wrong member masks" },
        { 'o', "output", "FILE", "write a dump with the results of this run", "FILE" },
        { SERVE, "serve" },                 /* internal: cudaway-diff */
        { ATTEMPT, "attempt", "N" },        /* internal: see try_again */
        { WHERE, "where", "FILE" },         /* internal: --locate */
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "the launch ran (--check: with the recorded results)" }, { "1", "results differ, or a check found something" }, { "2", "trouble" },
                                       { "3", "(--explain) results differ and nothing explains it: a translation fault" }, { 0 } },
    .complete = "FILE",
    .see_also = "cudaway(1), cudaway-trace(1), cudaway-diff(1), cudaway.conf(5)",
    .usage_status = TROUBLE,
};

static int __attribute__((format(printf, 1, 2)))
trouble(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudaway-replay: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return TROUBLE;
}

/* Start over with another layout of the address space: first the fixed one, then random ones. */
static void
try_again(const struct options *o, char **argv)
{
    int persona = personality(0xffffffff);
    if (persona < 0)
        return;
    bool fix = o->attempt == 0;
    personality(fix ? (unsigned long)persona | ADDR_NO_RANDOMIZE : (unsigned long)persona & ~(unsigned long)ADDR_NO_RANDOMIZE);
    char *option;
    size_t n = 0, skip = argv[1] && !strncmp(argv[1], "--attempt=", 10) ? 2 : 1;
    while (argv[n])
        n++;
    char **args = calloc(n + 2, sizeof *args);
    if (!args || asprintf(&option, "--attempt=%u", o->attempt + 1) < 0)
        return;
    args[0] = argv[0];
    args[1] = option;
    memcpy(args + 2, argv + skip, (n - skip) * sizeof *args);
    fflush(NULL);
    execv("/proc/self/exe", args);
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
print_times(const struct cwd_outcome *o)
{
    uint32_t n = o->nms;
    qsort(o->ms, n, sizeof *o->ms, by_value);
    double median = n % 2 ? o->ms[n / 2] : (o->ms[n / 2 - 1] + o->ms[n / 2]) / 2;
    printf("%u runs: min %.3f ms, median %.3f ms, max %.3f ms\n", n, o->ms[0], median, o->ms[n - 1]);
}

static void
print_difference(void *user, const struct cwd_difference *x)
{
    struct cw_buf b;
    cw_buf_init(&b);
    cwd_difference_print(x, "recorded", "replayed", &b);
    fputs(b.data ? b.data : "out of memory\n", stdout);
    cw_buf_finish(&b);
}

/* The dump with this run's results instead of the recorded ones. */
static cw_result
write_outcome(const struct cwd_session *s, struct cwd_dump *d, struct cwd_outcome *o, const char *path, unsigned flags, struct cwd_error *e)
{
    struct cwd_dump copy = *d;
    struct cwd_buffer *buffers = calloc(d->nbuffers + (size_t)1, sizeof *buffers);
    struct cwd_array *arrays = calloc(d->narrays + (size_t)1, sizeof *arrays);
    cw_result r = buffers && arrays ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < d->nbuffers && r == CW_OK; i++) {
        buffers[i] = d->buffers[i];
        buffers[i].after = o->buffers[i];
    }
    for (uint32_t i = 0; i < d->narrays && r == CW_OK; i++) {
        arrays[i] = d->arrays[i];
        arrays[i].after = o->arrays[i];
    }
    copy.buffers = buffers;
    copy.arrays = arrays;
    copy.device = s->device;
    copy.driver = s->driver;
    copy.compute_capability = s->compute_capability;
    copy.version = cw_version();
    if (r == CW_OK)
        r = cwd_write(&copy, path, flags, e);
    free(buffers);
    free(arrays);
    return r;
}

/* Addresses of objects, for --locate; a line each: kind, number, address or handle. */
static bool
write_where(const struct cwd_session *s, const struct cwd_dump *d, const struct cwd_outcome *o, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "capability %u 0\n", s->compute_capability);
    for (uint32_t i = 0; i < d->nbuffers; i++)
        fprintf(f, "buffer %u %llx\n", i, (unsigned long long)o->address[i]);
    for (uint32_t i = 0; i < d->ntextures; i++)
        fprintf(f, "texture %u %llx\n", i, (unsigned long long)o->handle[i]);
    return !fclose(f);
}

/* A rewritten kernel keeps more across calls, and the driver does not know how deep recursion goes. */
static void
enlarge_stack(const struct cwd_session *s)
{
    size_t size = 0;
    if (s->cu.cuCtxGetLimit && s->cu.cuCtxSetLimit && s->cu.cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS &&
        s->cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size < 2048 ? 8192 : size * 4) != CUDA_SUCCESS)
        fprintf(stderr, "cudaway-replay: note: the stack is not larger than usual\n");
}

static int
replay(const struct options *o, char **argv)
{
    struct cwd_dump d;
    struct cwd_session s;
    struct cwd_outcome out;
    struct cwd_error e = { "" };
    if (cwd_read(o->file, 0, 0, &d, &e) != CW_OK)
        return trouble("%s", e.text);
    if (o->check && !cwd_has_results(&d)) {
        cwd_finish(&d);
        return trouble("%s holds no results to compare with (the kernel failed when it was recorded)", o->file);
    }
    cw_result r = cwd_session_open(&s, o->on, &e);
    if (r == CW_OK) {
        if (o->where)
            enlarge_stack(&s);
        r = cwd_session_run(&s, &d, o->attempt < ATTEMPTS ? 0 : CWD_RUN_MAY_MOVE, o->repeat, &out, &e);
        if (r == CW_ERR_NOT_FOUND && o->attempt < ATTEMPTS) {
            try_again(o, argv);
            r = cwd_session_run(&s, &d, CWD_RUN_MAY_MOVE, o->repeat, &out, &e);
        }
    }
    if (r != CW_OK) {
        cwd_session_close(&s);
        cwd_finish(&d);
        return trouble("%s: %s", o->file, e.text);
    }
    for (char *line = out.notes.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        fprintf(stderr, "cudaway-replay: note: %.*s\n", (int)(end - line), line);
    }
    int status = SAME;
    if (out.nms)
        print_times(&out);
    if (o->check) {
        uint32_t n = cwd_compare(&d, &out, o->ulp, print_difference, NULL);
        status = n ? DIFFERENT : SAME;
        printf("%s on %s: %s\n", d.kernel, s.device, n ? "the results differ from the recorded ones" : "the results are the recorded ones");
    } else if (!o->repeat) {
        printf("%s ran on %s\n", d.kernel, s.device);
    }
    if (o->output && write_outcome(&s, &d, &out, o->output, o->where ? CWD_STORED : 0, &e) != CW_OK)
        status = trouble("%s", e.text);
    if (o->where && !write_where(&s, &d, &out, o->where))
        status = trouble("cannot write %s: %s", o->where, strerror(errno));
    cwd_outcome_finish(&out);
    cwd_session_close(&s);
    cwd_finish(&d);
    return status;
}

static bool
number(const char *s, uint32_t max, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (errno || *end || end == s || *s == '-' || v > max)
        return false;
    *out = (uint32_t)v;
    return true;
}

int
main(int argc, char **argv)
{
    struct options o = { 0 };
    struct cw_command_line line = { &program, argc, argv };
    for (int c; (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        switch (c) {
        case ON:     o.on = optarg; break;
        case CHECK:  o.check = true; break;
        case INFO:   o.info = true; break;
        case SERVE:  o.serve = true; break;         /* internal: cudaway-diff */
        case LOCATE: o.locate = true; break;
        case MEMCHECK: o.checks |= CWC_MEMORY; break;
        case RACECHECK: o.checks |= CWC_RACES; break;
        case INITCHECK: o.checks |= CWC_UNINITIALISED; break;
        case SYNCCHECK: o.checks |= CWC_SYNC; break;
        case REDUCE: o.reduce = true; break;
        case SECONDS:
            if (!number(optarg, 1000000, &o.seconds) || !o.seconds)
                return trouble("--seconds %s is not a number from 1 to 1000000", optarg);
            break;
        case EXPLAIN: o.explain = true; break;
        case AGAINST: o.against = optarg; break;
        case MODULE: o.against_module = optarg; break;
        case WHERE:  o.where = optarg; break;       /* internal: --locate */
        case 'o':    o.output = optarg; break;
        case REPEAT:
            if (!number(optarg, 1000000, &o.repeat) || !o.repeat)
                return trouble("--repeat %s is not a number from 1 to 1000000", optarg);
            break;
        case ULP:
            if (!number(optarg, INT32_MAX, &o.ulp))
                return trouble("--ulp %s is not a number", optarg);
            break;
        case ATTEMPT:                               /* internal: see try_again */
            if (!number(optarg, 100, &o.attempt))
                return trouble("--attempt %s is not a number", optarg);
            break;
        default:
            return line.status;
        }
    }
    if (o.serve && optind == argc)
        return cwd_serve(o.on, o.ulp);
    if (optind + 1 != argc)
        return cw_usage_error(&program, optind == argc ? "no dump given" : "one dump at a time");
    o.file = argv[optind];
    if (!o.locate && !o.reduce && (o.against || o.against_module))
        return cw_usage_error(&program, "--against and --against-module belong to --locate and --reduce");
    if (o.seconds && !o.reduce)
        return cw_usage_error(&program, "--seconds belongs to --reduce");
    if (o.reduce && (!o.output || (!o.against && !o.against_module)))
        return cw_usage_error(&program, "--reduce needs --output FILE, and --against DEVICE or --against-module FILE");
    if (o.reduce) {
        const struct cwd_reduce x = { o.file, o.on, o.against ? o.against : o.on, o.against_module, o.output, o.ulp, o.seconds ? o.seconds : REDUCE_SECONDS };
        int status = cwd_reduce(&x);
        return fflush(stdout) || ferror(stdout) ? trouble("cannot write the output: %s", strerror(errno)) : status;
    }
    if (o.locate) {
        const struct cwd_locate l = { o.file, o.on, o.against ? o.against : o.on, o.against_module, !o.against && !o.against_module, o.ulp };
        int status = cwd_locate(&l);
        return fflush(stdout) || ferror(stdout) ? trouble("cannot write the output: %s", strerror(errno)) : status;
    }
    if (o.checks) {
        int status = cwc_check(o.file, o.on, o.checks);
        return fflush(stdout) || ferror(stdout) ? trouble("cannot write the output: %s", strerror(errno)) : status;
    }
    if (o.explain) {
        const struct cwd_explain x = { o.file, o.on, EXPLAIN_RUNS };
        int status = cwd_explain(&x);
        return fflush(stdout) || ferror(stdout) ? trouble("cannot write the output: %s", strerror(errno)) : status;
    }
    int status = o.info ? cwd_info(o.file) : replay(&o, argv);
    if (fflush(stdout) || ferror(stdout))
        return trouble("cannot write the output: %s", strerror(errno));
    return status;
}
