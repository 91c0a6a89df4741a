/* SPDX-License-Identifier: Apache-2.0
 * cudaway-cc: compile the GPU code of a file ahead of time, for any target, to any stage. All the work is the jit's; this
 * reads the file, chooses what to compile, and writes the result.
 *
 * Exit code: 0 done; 1 the input is at fault (it does not compile, or holds nothing to compile); 2 anything else. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/program.h"
#include "impl/base/progress.h"
#include "jit/jit.h"
#include "jit/link/linked_image.h"
#include "tools/cc/cc.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INPUT = 1, EXIT_TOOL = 2, MAX_JOBS = 256, MAX_TARGETS = 32, DEFAULT_SM = 80 };
#define MAX_INPUT (1ull << 32)
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };         /* memory that is not given back is reported on exit */
#else
enum { SANITIZED = 0 };
#endif

enum { OPT_TARGET = 256, OPT_EMIT, OPT_KERNEL, OPT_ARCH, OPT_MODULE, OPT_MATRIX, OPT_FLOATS, OPT_TEXTURES, OPT_FAULTS, OPT_WARPS, OPT_BLOCKS, OPT_LIST, OPT_PIPELINE, OPT_SKIP,
       OPT_STOP, OPT_PRINT, OPT_VERIFY, OPT_EMBED, OPT_SYMBOL, OPT_DEPFILE, OPT_COMPILER, OPT_PASS, OPT_PRECOMPILE };
static const struct cw_option option_table[] = {
    { OPT_TARGET, "target", "T", "gfx1030, gfx1100, gfx90a, gfx942, ...; host (default); nvptx:sm_90. Several AMD processors, with commas between them, make one container "
      "(clang's offload bundle), which hipModuleLoad takes", "host gfx1030 gfx1100 gfx1101 gfx1201 gfx906 gfx90a gfx942 nvptx:sm_90" },
    { OPT_EMIT, "emit", "WHAT", "obj (default), asm, llvm (LLVM IR), ir (the PTX as understood, with its basic blocks), ptx (the PTX as it is, for cuModuleLoadData; of CUDA C what nvcc or clang "
      "makes)", "obj asm llvm ir ptx" },
    { 'O', NULL, "N", "optimisation, 0 to 3 (default 2)", "0 1 2 3" },
    { 'j', NULL, "N", "threads (default 1, 0: one for each processor); a large program is compiled in parts, the same for every N" },
    { OPT_TEXTURES, "textures", "WHAT", "amdgcn: textures with NVIDIA's filters (exact, the default) or by the processor's image instructions (native)", "exact native" },
    { OPT_FLOATS, "floats", "WHAT", "amdgcn: NaN, .ftz and .approx with NVIDIA's bits (exact, the default) or by the processor's own rules (native); by those only "
      "some: native: and a list, as native:nan,ftz,approx", "exact native native:nan native:ftz native:approx" },
    { OPT_MATRIX, "matrix", "MODEL", "amdgcn: whose matrix products: 70, 75, 80, 89, 90 (default; NVIDIA's generations by sm), or native: AMD's own", "70 75 80 89 90 native" },
    { OPT_WARPS, "warps-per-wave", "N", "amdgcn, waves of 64 lanes: 2 (default) or 1, which kernels want whose warps wait for each other; they are launched in another "
      "way then (docs/amd.md)", "1 2" },
    { OPT_FAULTS, "faults", "WHAT", "amdgcn: misaligned accesses, and local ones that no thread can have, end the kernel (exact) or do what the processor does (native, the default)", "exact native" },
    { OPT_BLOCKS, "all-blocks", NULL, "amdgcn: kernels that need many registers take blocks of 1024 threads, too, not of 640 or 512 at most (docs/amd.md)" },
    { OPT_KERNEL, "kernel", "NAME", "only this kernel and what it calls; may be repeated" },
    { OPT_ARCH, "arch", "SM", "of several PTX texts take the one for sm_SM (default: the highest); of CUDA C, what it is compiled for (default 80)" },
    { OPT_MODULE, "module", "N", "of several modules take the N-th, from 0" },
    { OPT_PIPELINE, "print-pipeline", NULL, "list the passes of the target at this level, in order; needs no INPUT" },
    { OPT_SKIP, "skip", "P,...", "leave these optional passes out" },
    { OPT_STOP, "stop-after", "P", "write the IR or machine IR behind the pass P, and go no further" },
    { OPT_PRINT, "print-after", "P,...", "write the IR behind these passes, or behind \"all\", to standard error" },
    { OPT_VERIFY, "verify", NULL, "verify the IR behind every pass" },
    { OPT_EMBED, "embed", "LANGUAGE", "write source text that holds the result, aligned, and a table of its kernels: c, cpp or rust", "c cpp rust" },
    { OPT_SYMBOL, "symbol", "NAME", "with --embed: what it is called (default: by the name of INPUT)" },
    { 'M', NULL, "D", "also write OUTPUT.d, a rule for make with the files that OUTPUT was made from (-MD)", "D" },
    { OPT_DEPFILE, "depfile", "FILE", "the same, into FILE", "FILE" },
    { OPT_COMPILER, "compiler", "PROGRAM", "what compiles CUDA C: nvcc or clang (default: nvcc if it is in PATH, in CUDA_HOME or in /usr/local/cuda, else clang-22 or clang)", "nvcc clang-22 clang" },
    { 'I', NULL, "DIR", "for that compiler", "DIR" },
    { 'D', NULL, "NAME[=VALUE]", "for that compiler" },
    { OPT_PASS, "pass", "OPTION", "an option for that compiler; may be repeated" },
    { OPT_PRECOMPILE, "precompile", NULL, "fill the kernel cache with the kernels of INPUT, a program, and of its libraries; takes --target and -j, and several INPUTs "
      "(cudaway-precompile(1))" },
    { OPT_LIST, "list", NULL, "show what INPUT holds, compile nothing" },
    { 'o', "output", "FILE", "output; - is standard output (default for asm, llvm and ir)", "FILE" },
    { 0 },
};
static const struct cw_program program = {
    .name = "cudaway-cc",
    .summary = "compile PTX or CUDA C for AMD GPUs, this CPU or an NVIDIA GPU",
    .operands = "INPUT -o OUTPUT",
    .description = "Compile PTX or CUDA C for AMD GPUs, this CPU or an NVIDIA GPU. INPUT is PTX text, a fatbin, a program, library or object that holds one, or CUDA C "
                   "(.cu), which nvcc or clang compiles to PTX first.",
    .options = option_table,
    .exits = (const struct cw_exit[]){ { "0", "done" }, { "1", "the input does not compile or holds no PTX" }, { "2", "any other error" }, { 0 } },
    .complete = "FILE",
    .see_also = "cudaway(1), cudaway-precompile(1), cudaway.conf(5)",
    .usage_status = EXIT_TOOL,
};

struct entry {
    struct cwj_image_entry e;
    char *text;                 /* a copy; PTX only */
    char *name;
};

struct found {
    struct entry *at;
    size_t n, cap;
    bool nomem;
};

struct options {
    const char *input, *output;
    struct cwj_aot_options aot;
    const char **kernels, **passed;
    unsigned nkernels, npassed, arch, ntargets;
    struct { enum cwj_target target; char *cpu; } targets[MAX_TARGETS];
    const char *embed, *symbol, *depfile, *compiler;
    char *own_symbol, *own_depfile;
    char arch_suffix;
    long module;
    const char *target_list, *jobs;     /* as given */
    bool list, emit_given, print_pipeline, make_rule, precompile, only_precompile, emit_ptx;
    struct cw_buf files;            /* that the result was made from, each with a zero behind */
    struct cw_buf printed;          /* what --stop-after or --print-after asked for */
};

static int
complain(const char *fmt, const char *a, const char *b)
{
    fputs("cudaway-cc: ", stderr);
    fprintf(stderr, fmt, a, b);
    fputc('\n', stderr);
    return EXIT_TOOL;
}

void
cc_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudaway-cc: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

static int
collect(void *user, const struct cwj_image_entry *e)
{
    struct found *f = user;
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 16;
        struct entry *p = realloc(f->at, cap * sizeof *p);
        if (!p) {
            f->nomem = true;
            return 1;
        }
        f->at = p;
        f->cap = cap;
    }
    struct entry *x = &f->at[f->n];
    *x = (struct entry){ .e = *e };
    x->name = e->name ? strdup(e->name) : NULL;
    if (e->kind == CWJ_ENTRY_PTX) {
        x->text = malloc(e->size + 1);
        if (!x->text) {
            f->nomem = true;
            free(x->name);
            return 1;
        }
        memcpy(x->text, e->data, e->size);
        x->text[e->size] = 0;
    }
    f->n++;
    return 0;
}

static void
forget(struct found *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->at[i].text);
        free(f->at[i].name);
    }
    free(f->at);
}

static void
list(const struct found *f)
{
    static const char *const kinds[] = { "PTX", "cubin", "other" };
    printf("module  kind   arch     compression  bytes     name\n");
    for (size_t i = 0; i < f->n; i++) {
        const struct entry *x = &f->at[i];
        char arch[32];
        snprintf(arch, sizeof arch, "sm_%u%s", x->e.sm, x->e.suffix ? (char[]){ x->e.suffix, 0 } : "");
        printf("%-7u %-6s %-8s %-12s %-9zu %s\n", x->e.group, kinds[x->e.kind], arch, x->e.compression, x->e.size,
               x->name ? x->name : "");
    }
}

/* What to do next about a diagnostic of the jit that names no option of this program. */
static const struct { unsigned code; const char *text; } next_steps[] = {
    { 4009, "--emit ir writes the kernels that it has" },
    { 4105, "give the file that has the kernels as PTX: often a library; --list shows what a file holds, --precompile PROGRAM takes its libraries along" },
    { 5908, "--print-pipeline lists the passes" },
};

/* Print and drop what the jit had to say. True when there was an error. */
static bool
show(const struct cwj_api *jit, struct cwj_diags *d, const char *name, const char *text, size_t size)
{
    bool errors = d->errors;
    struct cw_buf b;
    cw_buf_init(&b);
    jit->diags_render(d, name, text, size, &b);
    if (b.data)
        fwrite(b.data, 1, b.size, stderr);
    cw_buf_finish(&b);
    for (unsigned i = 0; i < sizeof next_steps / sizeof *next_steps; i++)
        for (const struct cwj_diag *x = d->first; x; x = x->next)
            if (x->code == next_steps[i].code) {
                cc_say("%s: %s", name, next_steps[i].text);
                break;
            }
    return errors;
}

/* One target, or several with commas between them. */
static bool
parse_targets(struct options *o, const char *list)
{
    for (unsigned i = 0; i < o->ntargets; i++)
        free(o->targets[i].cpu);
    o->ntargets = 0;
    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        char *t = o->ntargets < MAX_TARGETS ? strndup(s, n) : NULL;
        if (!t)
            return false;
        o->targets[o->ntargets].cpu = NULL;
        o->targets[o->ntargets++].target = CWJ_TARGET_HOST;
        if (!strncmp(t, "gfx", 3) && t[3]) {
            o->targets[o->ntargets - 1].target = CWJ_TARGET_AMDGCN;
            o->targets[o->ntargets - 1].cpu = t;
        } else if (!strncmp(t, "nvptx:sm_", 9) && t[9]) {
            o->targets[o->ntargets - 1].target = CWJ_TARGET_NVPTX;
            o->targets[o->ntargets - 1].cpu = strdup(t + 6);
            free(t);
        } else {
            bool host = !strcmp(t, "host");
            free(t);
            if (!host)
                return false;
        }
        s += n;
        if (!*s)
            break;
    }
    o->aot.target = o->targets[0].target;
    o->aot.cpu = o->targets[0].cpu;
    return true;
}

static bool
parse_emit(struct options *o, const char *s)
{
    o->emit_ptx = !strcmp(s, "ptx");
    if (o->emit_ptx)
        return true;
    static const char *const names[] = { [CWJ_EMIT_IR] = "ir", [CWJ_EMIT_LLVM] = "llvm", [CWJ_EMIT_ASM] = "asm", [CWJ_EMIT_OBJ] = "obj" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s, names[i])) {
            o->aot.emit = (enum cwj_emit)i;
            o->emit_given = true;
            return true;
        }
    return false;
}

/* A whole decimal number up to max, with an optional trailing letter where `suffix` is given. */
static bool
parse_number(const char *s, unsigned max, unsigned *out, char *suffix)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || errno || v > max)
        return false;
    if (suffix && (*end == 'a' || *end == 'f'))
        *suffix = *end++;
    *out = (unsigned)v;
    return !*end;
}

static unsigned
processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > MAX_JOBS ? MAX_JOBS : (unsigned)n;
}

static int
write_output(const struct options *o, const struct cw_buf *b)
{
    if (o->output && strcmp(o->output, "-")) {
        if (cw_file_write_atomic(o->output, b->data ? b->data : "", b->size, 0644))
            return complain("cannot write %s: %s", o->output, strerror(errno));
        return 0;
    }
    if (fwrite(b->data ? b->data : "", 1, b->size, stdout) != b->size || fflush(stdout))
        return complain("cannot write to standard output: %s%s", strerror(errno), "");
    return 0;
}

static int
exit_code(cw_result r)
{
    switch (r) {
    case CW_OK:
        return 0;
    case CW_ERR_NOMEM:
    case CW_ERR_IO:
    case CW_ERR_INTERNAL:
    case CW_ERR_LLVM:
        return EXIT_TOOL;
    default:
        return EXIT_INPUT;
    }
}

static int
print_pipeline(const struct options *o)
{
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    struct cwj_diags d;
    struct cw_buf out;
    if (!jit)
        return complain("libcudaway-jit.so is of another version%s%s", "", "");
    jit->diags_init(&d);
    cw_buf_init(&out);
    cw_result r = jit->print_pipeline(&o->aot, &out, &d);
    (void)show(jit, &d, "cudaway-cc", NULL, 0);
    int code = r ? exit_code(r) : write_output(o, &out);
    jit->diags_finish(&d);
    cw_buf_finish(&out);
    return code;
}

/* Become cudaway-precompile beside this program. It uses the driver, which a static program cannot load. */
static int
precompile(const struct options *o, int argc, char **argv)
{
    if (!o->only_precompile)
        return cw_usage_error(&program, "--precompile takes --target and -j, and no other option");
    char *self = realpath("/proc/self/exe", NULL), *path = NULL;
    const char **args = calloc((size_t)argc + 8, sizeof *args);
    if (!args || !self || asprintf(&path, "%.*s/cudaway-precompile", (int)(strrchr(self, '/') - self), self) < 0)
        return complain("%s%s", strerror(errno), "");
    size_t n = 0;
    args[n++] = path;
    if (o->target_list) {
        args[n++] = "--target";
        args[n++] = o->target_list;
    }
    if (o->jobs) {
        args[n++] = "-j";
        args[n++] = o->jobs;
    }
    args[n++] = "--";
    for (int i = optind; i < argc; i++)
        args[n++] = argv[i];
    fflush(NULL);
    execv(path, (char **)args);
    complain("%s: %s", path, strerror(errno));
    free(self);
    free(path);
    free(args);
    return EXIT_TOOL;
}

/* -1: go on; else the exit code. */
static int
parse_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){ .aot = { .target = CWJ_TARGET_HOST, .emit = CWJ_EMIT_OBJ, .opt_level = 2, .jobs = 1 }, .module = -1, .ntargets = 1, .only_precompile = true };
    cw_buf_init(&o->printed);
    cw_buf_init(&o->files);
    o->kernels = calloc((size_t)argc + 1, sizeof *o->kernels);
    o->passed = calloc(2 * (size_t)argc + 1, sizeof *o->passed);
    if (!o->kernels || !o->passed)
        return complain("out of memory%s%s", "", "");
    unsigned n;
    struct cw_command_line line = { &program, argc, argv };
    for (int c; (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        o->only_precompile &= c == OPT_PRECOMPILE || c == OPT_TARGET || c == 'j';
        switch (c) {
        case OPT_PRECOMPILE:
            o->precompile = true;
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'O':
            if (!parse_number(optarg, 3, &o->aot.opt_level, NULL))
                return cw_usage_error(&program, "-O takes 0 to 3, not '%s'", optarg);
            break;
        case 'j':
            if (!parse_number(optarg, MAX_JOBS, &o->aot.jobs, NULL))
                return cw_usage_error(&program, "-j takes 0 to 256, not '%s'", optarg);
            if (!o->aot.jobs)
                o->aot.jobs = processors();
            o->jobs = optarg;
            break;
        case OPT_TARGET:
            if (!parse_targets(o, optarg))
                return cw_usage_error(&program, "unknown target '%s': gfxNNN, host or nvptx:sm_NN; several gfxNNN with commas between them", optarg);
            o->target_list = optarg;
            break;
        case OPT_EMIT:
            if (!parse_emit(o, optarg))
                return cw_usage_error(&program, "cannot emit '%s': obj, asm, llvm, ir or ptx", optarg);
            break;
        case OPT_KERNEL:
            o->kernels[o->nkernels++] = optarg;
            break;
        case OPT_EMBED:
            if (strcmp(optarg, "c") && strcmp(optarg, "cpp") && strcmp(optarg, "rust"))
                return cw_usage_error(&program, "--embed takes c, cpp or rust, not '%s'", optarg);
            o->embed = optarg;
            break;
        case OPT_SYMBOL:
            o->symbol = optarg;
            break;
        case 'M':
            if (strcmp(optarg, "D"))
                return cw_usage_error(&program, "there is no option -M%s; -MD writes a rule for make", optarg);
            o->make_rule = true;
            break;
        case OPT_DEPFILE:
            o->make_rule = true;
            o->depfile = optarg;
            break;
        case OPT_COMPILER:
            o->compiler = optarg;
            break;
        case 'I':
        case 'D':
            o->passed[o->npassed++] = c == 'I' ? "-I" : "-D";
            o->passed[o->npassed++] = optarg;
            break;
        case OPT_PASS:
            o->passed[o->npassed++] = optarg;
            break;
        case OPT_ARCH:
            if (!parse_number(!strncmp(optarg, "sm_", 3) ? optarg + 3 : optarg, 999, &o->arch, &o->arch_suffix))
                return cw_usage_error(&program, "--arch takes a number as 86 or 90a, not '%s'", optarg);
            break;
        case OPT_MODULE:
            if (!parse_number(optarg, 1u << 30, &n, NULL))
                return cw_usage_error(&program, "--module takes a number, not '%s'", optarg);
            o->module = n;
            break;
        case OPT_MATRIX:
            o->aot.matrix_native = !strcmp(optarg, "native");
            if (!o->aot.matrix_native && (!parse_number(optarg, 99, &n, NULL) || (n != 70 && n != 75 && n != 80 && n != 89 && n != 90)))
                return cw_usage_error(&program, "--matrix takes 70, 75, 80, 89, 90 or native, not '%s'", optarg);
            o->aot.matrix_sm = o->aot.matrix_native ? 0 : (uint8_t)n;
            break;
        case OPT_FLOATS:
            if (!cwj_parse_floats(optarg, &o->aot.native_floats))
                return cw_usage_error(&program, "--floats takes exact, native, or native: and a list of nan, ftz and approx, not '%s'", optarg);
            break;
        case OPT_TEXTURES:
            if (strcmp(optarg, "exact") && strcmp(optarg, "native"))
                return cw_usage_error(&program, "--textures takes exact or native, not '%s'", optarg);
            o->aot.textures_native = !strcmp(optarg, "native");
            break;
        case OPT_FAULTS:
            if (strcmp(optarg, "exact") && strcmp(optarg, "native"))
                return cw_usage_error(&program, "--faults takes exact or native, not '%s'", optarg);
            o->aot.checked = !strcmp(optarg, "exact");
            break;
        case OPT_WARPS:
            if (strcmp(optarg, "1") && strcmp(optarg, "2"))
                return cw_usage_error(&program, "--warps-per-wave takes 1 or 2, not '%s'", optarg);
            o->aot.one_warp_per_wave = *optarg == '1';
            break;
        case OPT_BLOCKS:
            o->aot.all_blocks = true;
            break;
        case OPT_LIST:
            o->list = true;
            break;
        case OPT_PIPELINE:
            o->print_pipeline = true;
            break;
        case OPT_SKIP:
            o->aot.passes.skip = optarg;
            break;
        case OPT_STOP:
            o->aot.passes.stop_after = optarg;
            o->aot.passes.printed = &o->printed;
            break;
        case OPT_PRINT:
            o->aot.passes.print_after = optarg;
            o->aot.passes.printed = &o->printed;
            break;
        case OPT_VERIFY:
            o->aot.passes.verify = true;
            break;
        default:
            return line.status;
        }
    }
    if (o->precompile)
        return precompile(o, argc, argv);
    if (o->print_pipeline)
        return print_pipeline(o);
    if (optind == argc)
        return cw_usage_error(&program, "no input file");
    if (optind + 1 != argc)
        return cw_usage_error(&program, "one input file, please: '%s' is too much", argv[optind + 1]);
    o->input = argv[optind];
    if (o->nkernels)
        o->aot.kernels = o->kernels;
    if (o->aot.target == CWJ_TARGET_NVPTX && !o->emit_given)
        o->aot.emit = CWJ_EMIT_ASM;
    if (o->emit_ptx && (o->target_list || o->aot.passes.printed || o->nkernels))
        return cw_usage_error(&program, "--emit ptx writes the PTX as it is: leave out --target, --kernel, --stop-after and --print-after");
    for (unsigned i = 0; i < o->ntargets; i++) {
        bool amd = o->targets[i].target == CWJ_TARGET_AMDGCN;
        if (o->aot.textures_native && amd && !cwj_amd_images(o->targets[i].cpu))
            return cw_usage_error(&program, "%s has no image instructions, which --textures native asks for", o->targets[i].cpu);
        if (o->ntargets > 1 && (!amd || o->aot.emit != CWJ_EMIT_OBJ || o->aot.passes.printed))
            return cw_usage_error(&program, "several targets make a container of AMD code objects: give gfxNNN only, and no other --emit");
    }
    bool object = o->aot.emit == CWJ_EMIT_OBJ && !o->aot.passes.stop_after;
    if (o->embed && !object)
        return cw_usage_error(&program, "--embed takes objects and PTX: leave out --stop-after and other forms of --emit");
    if (o->make_rule && !o->depfile) {
        if (!o->output || !strcmp(o->output, "-"))
            return cw_usage_error(&program, "-MD writes OUTPUT.d: name OUTPUT with -o, or the rule's file with --depfile");
        if (asprintf(&o->own_depfile, "%s.d", o->output) < 0)
            return complain("out of memory%s%s", "", "");
        o->depfile = o->own_depfile;
    }
    if (o->embed && !o->symbol)
        o->symbol = o->own_symbol = cc_symbol(o->input);
    if (!o->output && !o->list && !o->aot.passes.stop_after && !o->emit_ptx && o->aot.emit == CWJ_EMIT_OBJ)
        return cw_usage_error(&program, "-o FILE is needed for an object");
    return -1;
}

/* Is a the better one for this request? */
static bool
better(const struct options *o, const struct entry *a, const struct entry *b)
{
    if (!b)
        return true;
    if (a->e.sm != b->e.sm)
        return a->e.sm > b->e.sm;
    return !a->e.suffix && b->e.suffix;     /* the portable text of two for one architecture */
}

/* The PTX texts that make the module to compile. */
static int
choose(const struct options *o, const struct found *f, bool linked, struct cwj_input *in, size_t *count)
{
    *count = 0;
    bool any = false;
    for (size_t i = 0; i < f->n;) {
        uint32_t group = f->at[i].e.group;
        const struct entry *best = NULL;
        for (; i < f->n && f->at[i].e.group == group; i++) {
            const struct entry *x = &f->at[i];
            if (x->e.kind != CWJ_ENTRY_PTX || (o->module >= 0 && (uint32_t)o->module != group))
                continue;
            any = true;
            if (o->arch && (x->e.sm != o->arch || x->e.suffix != o->arch_suffix))
                continue;
            if (better(o, x, best))
                best = x;
        }
        if (best)
            in[(*count)++] = (struct cwj_input){ o->input, best->text, best->e.size };
    }
    if (!*count) {
        complain(any ? "%s holds no PTX for the architecture asked for; --list shows what it holds%s"
                     : "%s has no such module with PTX; --list shows what it holds%s", o->input, "");
        return EXIT_INPUT;
    }
    if (*count > 1 && !linked)
        return complain("%s holds several modules: choose one with --module (--list shows them)%s", o->input, "");
    return 0;
}

/* Kernels that want --warps-per-wave 1 and have not got it. */
static void
warn_waits(const struct cwj_api *jit, struct cwj_program *p, const struct options *o)
{
    bool two = false;
    for (unsigned i = 0; i < o->ntargets; i++)
        two = two || (o->targets[i].target == CWJ_TARGET_AMDGCN && cwj_amd_wave64(o->targets[i].cpu));
    if (!two || o->aot.one_warp_per_wave)
        return;
    for (uint32_t i = 0; i < jit->kernel_count(p); i++) {
        const char *name = jit->kernel(p, i)->name;
        bool asked = !o->nkernels;
        for (unsigned k = 0; k < o->nkernels && !asked; k++)
            asked = !strcmp(o->kernels[k], name);
        enum cwj_progress w = asked ? jit->independent_progress(p, i) : CWJ_PROGRESS_COMMON;
        if (w != CWJ_PROGRESS_COMMON)
            complain("warning: %s: its warps %s for each other, which two of one wave cannot do at different places of the program: "
                     "see --warps-per-wave", name, w == CWJ_PROGRESS_REQUIRED ? "wait" : "may wait");
    }
}

/* Code for each target, in one file. */
static cw_result
container(const struct cwj_api *jit, const struct options *o, struct cwj_program *p, struct cw_buf *out, struct cwj_diags *d)
{
    struct cc_object objects[MAX_TARGETS];
    struct cw_progress progress = { .what = "targets", .all = o->ntargets };
    cw_result r = CW_OK;
    unsigned n = 0;
    while (n < o->ntargets && !r) {
        cw_progress_step(&progress, n, CW_NO_COUNT);
        struct cwj_aot_options aot = o->aot;
        aot.cpu = objects[n].cpu = o->targets[n].cpu;
        cw_buf_init(&objects[n].code);
        r = jit->aot(p, &aot, &objects[n++].code, d);
    }
    cw_progress_clear(&progress);
    if (!r) {
        cc_bundle(out, objects, n);
        r = out->failed ? CW_ERR_NOMEM : CW_OK;
    }
    while (n)
        cw_buf_finish(&objects[--n].code);
    return r;
}

static int
write_embedded(const struct cwj_api *jit, const struct options *o, struct cwj_program *p, const struct cw_buf *code)
{
    struct cw_buf text;
    uint32_t n = 0, count = jit->kernel_count(p);
    struct cc_kernel *kernels = calloc(count + (size_t)1, sizeof *kernels);
    cw_buf_init(&text);
    for (uint32_t i = 0; i < count && kernels; i++) {
        const struct cwj_kernel *k = jit->kernel(p, i);
        bool wanted = !o->nkernels;
        for (unsigned j = 0; j < o->nkernels && !wanted; j++)
            wanted = !strcmp(o->kernels[j], k->name);
        if (wanted)
            kernels[n++] = (struct cc_kernel){ k->name, k->nparams, k->param_size };
    }
    int status = kernels && o->symbol && cc_embed(&text, o->embed, o->symbol, code->data, code->size, kernels, n) ? write_output(o, &text)
                                                                                                               : complain("out of memory%s%s", "", "");
    free(kernels);
    cw_buf_finish(&text);
    return status;
}

static int
write_rule(const struct options *o)
{
    struct cw_buf rule;
    cw_buf_init(&rule);
    cc_make_rule(&rule, o->output ? o->output : "-", &o->files);
    int status = rule.failed ? complain("out of memory%s%s", "", "") : 0;
    if (!status && cw_file_write_atomic(o->depfile, rule.data, rule.size, 0644))
        status = complain("cannot write %s: %s", o->depfile, strerror(errno));
    cw_buf_finish(&rule);
    return status;
}

/* The text; with a NUL behind it where a program hands its address to the driver. */
static cw_result
copy_ptx(const struct options *o, const struct cwj_input *in, size_t count, struct cw_buf *out)
{
    if (count != 1)
        return CW_ERR_UNSUPPORTED;      /* relocatable code: several texts */
    cw_buf_append(out, in->text, in->size);
    if (o->embed)
        cw_buf_append(out, "", 1);
    return out->failed ? CW_ERR_NOMEM : CW_OK;
}

static int
compile(const struct cwj_api *jit, const struct options *o, const struct found *f, bool linked)
{
    struct cwj_input *in = calloc(f->n ? f->n : 1, sizeof *in);
    size_t count;
    if (!in)
        return complain("out of memory%s%s", "", "");
    int code = choose(o, f, linked, in, &count);
    if (code) {
        free(in);
        return code;
    }
    struct cwj_diags d;
    struct cw_buf out;
    struct cwj_program *p = NULL;
    jit->diags_init(&d);
    cw_buf_init(&out);
    cw_result r = jit->program_create(in, count, false, &p, &d);
    if (!r && o->emit_ptx)
        r = copy_ptx(o, in, count, &out);
    else if (!r)
        r = o->ntargets > 1 ? container(jit, o, p, &out, &d) : jit->aot(p, &o->aot, &out, &d);
    bool said = show(jit, &d, o->input, count == 1 ? in[0].text : NULL, count == 1 ? in[0].size : 0);
    if (r && !said)
        complain("%s: %s", o->input, cw_result_text(r));
    if (!r && !o->emit_ptx)
        warn_waits(jit, p, o);
    const struct cw_buf *printed = o->aot.passes.printed;
    if (printed && !o->aot.passes.stop_after)
        fwrite(printed->data ? printed->data : "", 1, printed->size, stderr);
    code = r ? exit_code(r) : o->embed ? write_embedded(jit, o, p, &out) : write_output(o, o->aot.passes.stop_after ? printed : &out);
    if (!code && o->make_rule)
        code = write_rule(o);
    jit->program_destroy(p);
    jit->diags_finish(&d);
    cw_buf_finish(&out);
    free(in);
    return code;
}

#ifdef CUDAWAY_CC_COUNTS
int __llvm_profile_write_file(void);    /* the library's atexit is not called: see above */
#endif

static _Noreturn void
leave(int code)
{
#ifdef CUDAWAY_CC_COUNTS
    if (__llvm_profile_write_file())
        code = EXIT_TOOL;
#endif
#ifdef CUDAWAY_CC_EXITS                 /* BOLT's counters are written on exit */
    exit(code);
#else
    if (SANITIZED)
        exit(code);
    cw_finish_output();
    if (fflush(NULL) && !code)
        code = EXIT_TOOL;
    _exit(code);
#endif
}

int
main(int argc, char **argv)
{
    struct options o;
    struct found found = { 0 };
    char *data = NULL;
    size_t size = 0;
    int code = parse_options(argc, argv, &o);
    if (code >= 0)
        goto done;
    cw_env_warn_unknown();
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    if (!jit) {
        code = complain("libcudaway-jit.so is of another version%s%s", "", "");
        goto done;
    }
    cw_result r = CW_OK;
    if (cc_is_source(o.input) && !o.list) {
        if (access(o.input, R_OK)) {
            code = complain("cannot read %s: %s", o.input, strerror(errno));
            goto done;
        }
        struct cc_source source = { o.input, o.compiler, o.passed, o.arch ? o.arch : DEFAULT_SM };
        data = cc_source_to_ptx(&source, &size, &o.files);
        o.arch = 0;                 /* of several texts; here is one */
        o.arch_suffix = 0;
        if (!data) {
            code = EXIT_INPUT;
            goto done;
        }
    } else {
        cw_buf_append(&o.files, o.input, strlen(o.input) + 1);
        r = cw_file_read(o.input, MAX_INPUT, &data, &size);
    }
    if (r) {
        code = complain("cannot read %s: %s", o.input, r == CW_ERR_IO || r == CW_ERR_NOT_FOUND ? strerror(errno) : cw_result_text(r));
        goto done;
    }
    cc_heap_for(size);
    struct cwj_diags d;
    jit->diags_init(&d);
    r = jit->image_scan(data, size, collect, &found, &d);
    if (o.list && found.n)
        list(&found);
    else if (o.list && r == CW_ERR_NO_PTX)
        cc_say("%s holds no GPU code", o.input);
    bool said = r != CW_OK && !(o.list && r == CW_ERR_NO_PTX) && show(jit, &d, o.input, NULL, 0);
    jit->diags_finish(&d);
    if (found.nomem)
        code = complain("out of memory%s%s", "", "");
    else if (r && !(o.list && r == CW_ERR_NO_PTX))
        code = said ? exit_code(r) : (complain("%s: %s", o.input, cw_result_text(r)), exit_code(r));
    else if (o.list)
        code = 0;
    else {
        bool linked = cwj_linked_image_is(data, size);
        free(data);             /* `found` has copies */
        data = NULL;
        code = compile(jit, &o, &found, linked);
    }
done:
    forget(&found);
    free(data);
    free(o.kernels);
    free(o.passed);
    free(o.own_symbol);
    free(o.own_depfile);
    for (unsigned i = 0; i < o.ntargets; i++)
        free(o.targets[i].cpu);
    cw_buf_finish(&o.printed);
    cw_buf_finish(&o.files);
    leave(code);
}
