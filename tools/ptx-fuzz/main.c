/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptx-fuzz: see fuzz.h. Exit status: 0 no difference, 1 differences found, 2 trouble. */
#define _GNU_SOURCE
#include "tools/ptx-fuzz/fuzz.h"

#include "impl/base/file.h"
#include "impl/base/program.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
    stop = 1;
}

double
fuzz_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { TROUBLE = 2 };
enum { ON = 256, AGAINST, SEED, COUNT, SECONDS, SIZE, BATCH, PROFILE, UNIFORM, THREADS, APPROX, CONTRACT, NAN64, PTX, SM, TRIES, MAX, TIMEOUT, PRINT, FORMS };
static const struct cw_program program = {
    .name = "cudaway-ptx-fuzz",
    .summary = "compare two devices on random PTX programs",
    .description = "Makes random valid PTX programs, runs each on two devices and compares what it left in memory. A difference is reduced and written down as a test.",
    .options = (const struct cw_option[]){
        { ON, "on", "DEVICE", "default host", "host host:O0 hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { AGAINST, "against", "DEVICE", "default host:O0; cuda-native is the real driver (CUDAWAY_CUDA_LIBRARY), cuda-native:O0 the same without ptxas's optimizer; cuda, "
          "cuda:O0: our translation on it", "host host:O0 hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { SEED, "seed", "N", "seed of the first program (default 1); the next has the next one" },
        { COUNT, "count", "N", "programs (default: as many as the time allows)" },
        { SECONDS, "seconds", "N", "time (default 60 unless --count is given)" },
        { SIZE, "size", "N", "statements of a program, about, 1 to 400 (default 12)" },
        { BATCH, "batch", "N", "programs of a module, 1 to 16 (default 8)" },
        { PROFILE, "profile", "LIST", "of int bit f32 f64 half cmp select cvt mov video auto memory atomics flow calls warp barriers matrix async texture all, with commas "
          "between them (default all)" },
        { UNIFORM, "uniform", "N", "percentage of registers that begin with the same value in all threads (default 0): on AMD processors those are computed by other "
          "instructions" },
        { THREADS, "threads", "N", "of a program, at most; few are fast where they are interpreted" },
        { NAN64, "nan64", NULL, "also results of which PTX does not say which of two NaNs they are" },
        { APPROX, "approx", NULL, "also instructions whose last bits PTX leaves open" },
        { CONTRACT, "contract", NULL, "also operations that a compiler may fuse (default: unless a side is cuda or cuda-native)" },
        { PTX, "ptx", "N", ".version (default 86: 8.6)" },
        { SM, "sm", "N", ".target (default 89)" },
        { TRIES, "tries", "N", "runs that a reduction may take (default 600)" },
        { MAX, "max-findings", "N", "end after so many (default 20)" },
        { TIMEOUT, "timeout", "MS", "of computing for a module (default 60000)" },
        { 'o', "output", "DIR", "where findings go (default .)", "DIR" },
        { PRINT, "print", NULL, "print the programs and run nothing" },
        { FORMS, "forms", NULL, "print every instruction form and run nothing" },
        { 'q', "quiet", NULL, "only findings and the last line" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "no difference" }, { "1", "differences found" }, { "2", "trouble" }, { 0 } },
    .usage_status = TROUBLE,
};

/* The value of the option --`name`. False after a message. */
static bool
number(const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(optarg, &end, 0);
    if (errno || *end || end == optarg || *optarg == '-' || v < min || v > max)
        return cw_usage_error(&program, "--%s takes a number from %llu to %llu, not '%s'", name, (unsigned long long)min, (unsigned long long)max, optarg), false;
    *out = v;
    return true;
}

static bool
check_profile(const char *list)
{
    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        if (*list && !profile_known(s, n)) {
            struct cw_buf words;
            cw_buf_init(&words);
            profile_words(&words);
            fprintf(stderr, "cudaway-ptx-fuzz: --profile: there is no \"%.*s\"; known are %s, with commas between them\n", (int)n, s,
                    words.data ? words.data : "");
            cw_buf_finish(&words);
            return false;
        }
        s += n;
        if (!*s)
            return true;
    }
}

/* The instruction that a message complains about: "name:LINE:COLUMN: error" (ours) or "line N; error" (NVIDIA's). */
static bool
blamed(const struct shared_area *a, char *out, size_t size)
{
    const char *m = a->message, *s = strstr(m, ": error P"), *line = a->text;
    unsigned long n = 0;
    if (s) {
        int colons = 0;
        while (s > m && colons < 2) {
            s--;
            colons += *s == ':';
            if (s > m && colons == 1 && s[-1] == ':')
                break;
        }
        while (s > m && isdigit((unsigned char)s[-1]))
            s--;
        if (*s == ':')
            s++;
        n = strtoul(s, NULL, 10);
    } else if ((s = strstr(m, ", line ")) && strstr(s, "error")) {
        n = strtoul(s + 7, NULL, 10);
    }
    for (unsigned long k = 1; k < n && line; k++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!n || !line)
        return false;
    if (*line == '@') {
        line += strcspn(line, " \n");
        line += *line == ' ';
    }
    size_t k = strcspn(line, " ;\n");
    if (!k || k >= size || !strchr("abcdefghijklmnopqrstuvwxyz", *line))
        return false;
    memcpy(out, line, k);
    out[k] = 0;
    return true;
}

static bool
is_base(const char *mnemonic)
{
    static const char *const base[] = { "mov.b64", "mov.b32", "add.s64", "ld.param.u64", "bra", "call", "ret", "exit", "st.global.b32", "ld.global.b32" };
    for (unsigned i = 0; i < sizeof base / sizeof *base; i++)
        if (!strcmp(mnemonic, base[i]))
            return true;
    return false;
}

/* One program alone: leave out what a device refuses, and reduce a difference. */
static void
one_program(struct fuzzer *z, uint64_t seed)
{
    struct program p;
    struct difference d, first;
    char form[128];
    for (int attempt = 0; attempt < 40; attempt++) {
        program_generate(&p, seed, &z->o, &z->forms);
        if (p.failed || try_program(z, &p, &d)) {
            if (!p.failed && d.any) {
                first = d;
                z->findings++;
                if (!z->quiet)
                    printf("seed %llu: %s; reducing\n", (unsigned long long)seed, d.what), fflush(stdout);
                reduce_program(z, &p, &d);
                report_difference(z, &p, &first, &d);
            }
            program_finish(&p);
            return;
        }
        bool again = false;
        for (int s = 0; s < 2; s++) {
            const struct shared_area *a = z->side[s].area;
            if (job_end(&z->side[s], 0) != RUN_REFUSED)
                continue;
            if (blamed(a, form, sizeof form) && !is_base(form) && forms_refuse(&z->forms, form)) {
                const char *m = strstr(a->message, "error");
                printf("%s refuses %s: %.*s\n", z->side[s].device, form, (int)strcspn(m ? m : "", "\n"), m ? m : "");
                again = true;
            } else if (!again) {
                char path[4096];
                z->findings++;
                snprintf(path, sizeof path, "%s/refused_%llx.ptx", z->dir, (unsigned long long)seed);
                if (cw_file_write_atomic(path, a->text, a->text_size, 0644) != CW_OK)
                    fprintf(stderr, "cannot write %s\n", path);
                printf("seed %llu: %s refuses the program (%s): %.1500s\n", (unsigned long long)seed, z->side[s].device, path, a->message);
            }
        }
        fflush(stdout);
        program_finish(&p);
        z->refused++;
        if (!again)
            return;
    }
}

static void
one_batch(struct fuzzer *z, uint64_t seed, uint32_t n)
{
    static struct program p[MAX_KERNELS];
    bool good = true;
    for (uint32_t i = 0; i < n; i++) {
        program_generate(&p[i], seed + i, &z->o, &z->forms);
        good = good && !p[i].failed;
    }
    good = good && run_programs(z, p, n, -1);
    bool alone[MAX_KERNELS] = { false };
    for (uint32_t i = 0; i < n; i++) {
        struct difference d;
        alone[i] = !good || job_end(&z->side[0], i) != RUN_OK || job_end(&z->side[1], i) != RUN_OK ||
                   compare_outputs(&p[i], z->side[0].area->out[i], z->side[1].area->out[i], &d);
    }
    for (uint32_t i = 0; i < n; i++)
        program_finish(&p[i]);
    for (uint32_t i = 0; i < n && !stop; i++)
        if (alone[i])
            one_program(z, seed + i);
    z->programs += n;
    z->batches++;
}

int
main(int argc, char **argv)
{
    static struct fuzzer z = { .o = { .size = 12, .ptx = 86, .sm = 89 }, .timeout_ms = 60000, .dir = ".", .tries = 600 };
    const char *on = "host", *against = "host:O0";
    uint64_t seed = 1, count = 0, limit = 0, batch = 8, max = 20, v = 0;
    bool print = false, forms = false, ok = true;
    struct cw_command_line line = { &program, argc, argv };
    for (int c; ok && (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        switch (c) {
        case ON:       on = optarg; break;
        case AGAINST:  against = optarg; break;
        case SEED:     ok = number("seed", 0, UINT64_MAX, &seed); break;
        case COUNT:    ok = number("count", 1, UINT32_MAX, &count); break;
        case SECONDS:  ok = number("seconds", 1, 10000000, &limit); break;
        case SIZE:     ok = number("size", 1, 400, &v); z.o.size = (uint32_t)v; break;
        case BATCH:    ok = number("batch", 1, MAX_KERNELS, &batch); break;
        case PROFILE:
            if (!check_profile(optarg))
                return TROUBLE;
            z.o.profile = optarg;
            break;
        case UNIFORM:  ok = number("uniform", 0, 100, &v); z.o.uniform = (uint8_t)v; break;
        case THREADS:  ok = number("threads", 1, MAX_THREADS, &v); z.o.threads = (uint32_t)v; break;
        case APPROX:   z.o.approx = true; break;
        case CONTRACT: z.o.contract = true; break;
        case NAN64:    z.o.nan64 = true; break;
        case PTX:      ok = number("ptx", 0, 99, &v); z.o.ptx = (unsigned)v; break;
        case SM:       ok = number("sm", 0, 999, &v); z.o.sm = (unsigned)v; break;
        case TRIES:    ok = number("tries", 0, 100000, &v); z.tries = (uint32_t)v; break;
        case MAX:      ok = number("max-findings", 1, UINT32_MAX, &max); break;
        case TIMEOUT:  ok = number("timeout", 1, 3600000, &v); z.timeout_ms = (unsigned)v; break;
        case 'o':      z.dir = optarg; break;
        case PRINT:    print = true; break;
        case FORMS:    forms = true; break;
        case 'q':      z.quiet = true; break;
        default:       return line.status;
        }
    }
    if (!ok)
        return TROUBLE;
    if (optind != argc)
        return cw_usage_error(&program, "what is '%s' for?", argv[optind]);
    if (!count && !limit)
        limit = 60;
    if (!strstr(on, "cuda") && !strstr(against, "cuda"))
        z.o.contract = true;
    z.o.native = strstr(on, "cuda") || strstr(against, "cuda");
    forms_build(&z.forms, z.o.ptx, z.o.sm);
    if (forms) {
        for (uint32_t i = 0; i < z.forms.count; i++)
            printf("%s %s\n", category_name[z.forms.list[i].category], z.forms.list[i].text);
        return 0;
    }
    if (print) {
        struct cw_buf b;
        cw_buf_init(&b);
        print_header(&z.o, &b);
        for (uint64_t i = 0; i < (count ? count : 1); i++) {
            struct program p;
            program_generate(&p, seed + i, &z.o, &z.forms);
            print_program(&p, (uint32_t)i, false, &b);
            program_finish(&p);
        }
        if (!b.failed)
            fwrite(b.data, 1, b.size, stdout);
        return b.failed ? 2 : 0;
    }
    if (cw_mkdirs(z.dir, 0755) != CW_OK || !side_open(&z.side[0], on) || !side_open(&z.side[1], against)) {
        fprintf(stderr, "cudaway-ptx-fuzz: cannot start: %s%s\n", z.side[0].name, z.side[1].name);
        return 2;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    printf("%s (%s) against %s (%s), %u forms (%016llx), seed %llu, size %u\n", on, z.side[0].name, against, z.side[1].name, z.forms.count,
           (unsigned long long)z.forms.hash, (unsigned long long)seed, z.o.size);
    fflush(stdout);
    double start = fuzz_clock(), told = start, load[2] = { 0 }, run[2] = { 0 };
    z.deadline = limit ? start + (double)limit : 0;
    while (!stop && z.findings < max && (!count || z.programs < count) && (!limit || fuzz_clock() - start < (double)limit)) {
        uint32_t n = count && count - z.programs < batch ? (uint32_t)(count - z.programs) : (uint32_t)batch;
        one_batch(&z, seed + z.programs, n);
        for (int s = 0; s < 2; s++) {
            load[s] += z.side[s].area->load_s;
            run[s] += z.side[s].area->run_s;
        }
        if (!z.quiet && fuzz_clock() - told > 30) {
            told = fuzz_clock();
            printf("%llu programs, %.0f a minute, %llu findings; next seed %llu\n", (unsigned long long)z.programs,
                   60 * (double)z.programs / (told - start), (unsigned long long)z.findings, (unsigned long long)(seed + z.programs));
            fflush(stdout);
        }
    }
    double took = fuzz_clock() - start;
    printf("%llu programs in %.1f s (%.0f a minute), %llu findings (%llu of them not with ptxas -O0), %u forms refused; compiling %.1f s and %.1f s, running %.1f s and %.1f s; next seed %llu\n",
           (unsigned long long)z.programs, took, 60 * (double)z.programs / took, (unsigned long long)z.findings, (unsigned long long)z.optimizer,
           z.forms.nrefused, load[0], load[1],
           run[0], run[1], (unsigned long long)(seed + z.programs));
    side_close(&z.side[0]);
    side_close(&z.side[1]);
    side_close(&z.plain);
    forms_finish(&z.forms);
    return z.findings ? 1 : 0;
}
