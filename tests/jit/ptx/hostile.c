/* SPDX-License-Identifier: Apache-2.0
 * Enormous and hostile texts: each is parsed, checked, linked and given its flow graphs in a process of its own with a limit on
 * memory and on time, and comes to a known end: accepted, or refused with one code, with a place in the text.
 * Arguments: names of cases; none: all. -v prints time and memory of each. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "jit/link/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { MILLION = 1000000 };

static void
repeat(struct cw_buf *b, const char *s, unsigned n)
{
    while (n--)
        cw_buf_puts(b, s);
}

static void
numbered(struct cw_buf *b, const char *format, unsigned n)
{
    char line[256];
    for (unsigned i = 0; i < n; i++) {
        snprintf(line, sizeof line, format, i, i, i);
        cw_buf_puts(b, line);
    }
}

#define HEAD ".version 8.1\n.target sm_80\n.address_size 64\n"
#define BODY HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .pred %p<4>;\n"

static void braces(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "{", MILLION); repeat(b, "}", MILLION); cw_buf_puts(b, "}\n"); }
static void open_braces(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "{", MILLION); }
static void parentheses(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a = "); repeat(b, "(", MILLION); cw_buf_puts(b, "1"); repeat(b, ")", MILLION); cw_buf_puts(b, ";\n"); }
static void signs(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a = "); repeat(b, "- ", MILLION); cw_buf_puts(b, "1;\n"); }
static void casts(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b64 a = "); repeat(b, "(.s64)", MILLION); cw_buf_puts(b, "1;\n"); }
static void conditions(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a = "); repeat(b, "1 ? 2 : ", MILLION); cw_buf_puts(b, "1;\n"); }
static void long_sum(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a = 1"); repeat(b, "+1", MILLION); cw_buf_puts(b, ";\n"); }
static void nested_lists(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a[4] = "); repeat(b, "{", MILLION); cw_buf_puts(b, "1"); repeat(b, "}", MILLION); cw_buf_puts(b, ";\n"); }
static void too_many_values(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a[4] = {0"); repeat(b, ",1", MILLION); cw_buf_puts(b, "};\n"); }
static void long_list(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b32 a[] = {0"); repeat(b, ",1", MILLION); cw_buf_puts(b, "};\n"); }
static void big_array(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b8 a[1073741824];\n.visible .entry k() { ret; }\n"); }
static void bigger_array(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b8 a[1099511627776];\n"); }
static void huge_dimensions(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b64 a[4294967295][4294967295][4294967295];\n"); }
static void big_initialised(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b8 a[1073741824] = {1};\n"); }
static void many_big_initialised(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".visible .global .b8 a%u[268435456] = {1};\n", 64); }
static void register_range(struct cw_buf *b) { cw_buf_puts(b, BODY ".reg .b32 %x<4294967295>;\nret;\n}\n"); }
static void register_ranges(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, ".reg .b32 %%x%u_<60000>;\n", 1000); cw_buf_puts(b, "ret;\n}\n"); }
static void long_register_range(struct cw_buf *b) { cw_buf_puts(b, BODY ".reg .b32 %x"); repeat(b, "aaaaaaaaaa", 1000); cw_buf_puts(b, "<1000000>;\nret;\n}\n"); }
static void long_vector_range(struct cw_buf *b) { cw_buf_puts(b, BODY ".reg .v4 .b32 %x"); repeat(b, "aaaaaaaaaa", 1000); cw_buf_puts(b, "<100000>;\nret;\n}\n"); }
static void long_variable_range(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 x"); repeat(b, "aaaaaaaaaa", 1000); cw_buf_puts(b, "<65536>;\n"); }
static void variable_ranges(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".global .b32 x%u_<65536>;\n", 1000); }
static void registers(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, ".reg .b32 %%x%u;\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void labels(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, "L%u:\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void blocks(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, "L%u: @%%p1 bra L%u;\n", MILLION / 2); cw_buf_puts(b, "ret;\n}\n"); }
static void same_label(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "L:\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void missing_labels(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, "bra M%u;\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void instructions(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "add.u32 %r1, %r2, %r3;\n", 2 * MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void kernels(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".visible .entry k%u() { ret; }\n", MILLION / 5); }
static void variables(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".visible .global .b32 a%u = %u;\n", MILLION / 2); }
static void parameters(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .entry k("); numbered(b, ".param .b32 p%u,\n", MILLION); cw_buf_puts(b, ".param .b32 q) { ret; }\n"); }
static void parameters_5k(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .entry k("); numbered(b, ".param .b32 p%u,\n", 1300); cw_buf_puts(b, ".param .b32 q) { ret; }\n"); }
static void big_parameter(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .entry k(.param .align 8 .b8 p[1073741824]) { ret; }\n"); }
static void vector(struct cw_buf *b) { cw_buf_puts(b, BODY "ld.global.v4.b32 {%r1"); repeat(b, ",%r1", MILLION); cw_buf_puts(b, "}, [%d1];\nret;\n}\n"); }
static void operands(struct cw_buf *b) { cw_buf_puts(b, BODY "add.u32 %r1"); repeat(b, ",%r1", MILLION); cw_buf_puts(b, ";\nret;\n}\n"); }
static void arguments(struct cw_buf *b) { cw_buf_puts(b, HEAD ".extern .func f();\n.visible .entry k() { call f, (1"); repeat(b, ",1", MILLION); cw_buf_puts(b, ");\nret;\n}\n"); }
static void modifiers(struct cw_buf *b) { cw_buf_puts(b, BODY "add"); repeat(b, ".u32", MILLION); cw_buf_puts(b, " %r1, %r2, %r3;\nret;\n}\n"); }
static void table(struct cw_buf *b) { cw_buf_puts(b, BODY "L: ret;\nT: .branchtargets L"); repeat(b, ", L", MILLION); cw_buf_puts(b, ";\nbrx.idx %r1, T;\n}\n"); }
static void tables(struct cw_buf *b) { cw_buf_puts(b, BODY "L: ret;\n"); numbered(b, "T%u: .branchtargets L, L, L;\nbrx.idx %%r1, T%u;\n", MILLION / 10); cw_buf_puts(b, "}\n"); }
static void long_name(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .global .b32 "); repeat(b, "aaaaaaaaaa", MILLION); cw_buf_puts(b, ";\n"); }
static void long_comment(struct cw_buf *b) { cw_buf_puts(b, HEAD "/*"); repeat(b, "* /*", 5 * MILLION); }
static void long_line(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "                ", MILLION); cw_buf_puts(b, "frobnicate;\n}\n"); }
static void long_number(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .b32 a = "); repeat(b, "1", MILLION); cw_buf_puts(b, ";\n"); }
static void long_float(struct cw_buf *b) { cw_buf_puts(b, HEAD ".global .f32 a = 0."); repeat(b, "1", MILLION); cw_buf_puts(b, ";\n"); }
static void long_string(struct cw_buf *b) { cw_buf_puts(b, HEAD ".file 1 \""); repeat(b, "a", MILLION); cw_buf_puts(b, "\"\n.visible .entry k() { ret; }\n"); }
static void garbage(struct cw_buf *b) { repeat(b, "\x01\xff{;", MILLION); }
static void zeros(struct cw_buf *b) { char z[4096] = { 0 }; for (int i = 0; i < 4096; i++) cw_buf_append(b, z, sizeof z); }
static void locs(struct cw_buf *b) { cw_buf_puts(b, HEAD ".file 1 \"a\"\n.visible .entry k() {\n"); numbered(b, ".loc 1 %u 1\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }
static void alias_cycle(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .func a();\n.visible .func b();\n.alias a, b;\n.alias b, a;\n.visible .entry k() { call a; ret; }\n"); }
static void alias_chain(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .func f0() { ret; }\n"); for (unsigned i = 1; i < 20000; i++) cw_buf_printf(b, ".visible .func f%u();\n.alias f%u, f%u;\n", i, i, i - 1); cw_buf_puts(b, ".visible .entry k() { call f19999; ret; }\n"); }
static void signatures(struct cw_buf *b) { cw_buf_puts(b, HEAD); for (unsigned i = 1; i <= 200000; i++) cw_buf_printf(b, ".func f%u(.param .b8 a[%u]) { ret; }\n", i, i); cw_buf_puts(b, ".visible .entry k() { ret; }\n"); }
static void call_cycle(struct cw_buf *b) { cw_buf_puts(b, HEAD ".visible .func b();\n.visible .func a() { call b; ret; }\n.visible .func b() { call a; ret; }\n.visible .entry k() { call a; ret; }\n"); }
static void call_chain(struct cw_buf *b) { cw_buf_puts(b, HEAD ".func f0() { ret; }\n"); for (unsigned i = 1; i < 50000; i++) cw_buf_printf(b, ".func f%u() { call f%u; ret; }\n", i, i - 1); cw_buf_puts(b, ".visible .entry k() { call f49999; ret; }\n"); }
static void call_web(struct cw_buf *b)
{
    cw_buf_puts(b, HEAD);
    numbered(b, ".func f%u() { ret; }\n", 1000);
    for (unsigned i = 0; i < 1000; i++) {
        cw_buf_printf(b, ".visible .entry k%u() {\n", i);
        numbered(b, "call f%u;\n", 1000);
        cw_buf_puts(b, "ret; }\n");
    }
}
static void kernels_over_chain(struct cw_buf *b)
{
    cw_buf_puts(b, HEAD ".func f0() { ret; }\n");
    for (unsigned i = 1; i < 3000; i++)
        cw_buf_printf(b, ".func f%u() { call f%u; ret; }\n", i, i - 1);
    numbered(b, ".visible .entry k%u() { call f2999; ret; }\n", 3000);
}
static void address_cycle(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".visible .global .u64 a%u;\n", 0); cw_buf_puts(b, ".extern .global .u64 y;\n.visible .global .u64 x = y;\n.visible .global .u64 y = x;\n.visible .entry k() { ret; }\n"); }
static void scopes(struct cw_buf *b) { cw_buf_puts(b, BODY); numbered(b, "{ .reg .b32 %%x; .param .b32 q; mov.u32 %%x, %u; }\n", MILLION / 5); cw_buf_puts(b, "ret;\n}\n"); }
static void shared_everywhere(struct cw_buf *b) { cw_buf_puts(b, HEAD); numbered(b, ".shared .b8 s%u[16777216];\n", 100); cw_buf_puts(b, ".visible .entry k() { .reg .b64 %d;\n"); numbered(b, "mov.u64 %%d, s%u;\n", 100); cw_buf_puts(b, "ret; }\n"); }
static void errors(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, "frobnicate %r1;\n", MILLION); cw_buf_puts(b, "}\n"); }
static void pragmas(struct cw_buf *b) { cw_buf_puts(b, BODY); repeat(b, ".pragma \"nounroll\";\n", MILLION); cw_buf_puts(b, "ret;\n}\n"); }

/* code 0: accepted. Times are what a busy machine needs, not what is fine: the point is that nothing grows with the square. */
static const struct hostile {
    const char *name;
    void (*make)(struct cw_buf *b);
    unsigned code;
} cases[] = {
#define CASE(f, code) { #f, f, code }
    CASE(braces, 6001), CASE(open_braces, 6001), CASE(parentheses, 6002), CASE(signs, 6002), CASE(casts, 6002), CASE(conditions, 6002),
    CASE(long_sum, 0), CASE(nested_lists, 3070), CASE(too_many_values, 3069), CASE(long_list, 0), CASE(big_array, 0), CASE(bigger_array, 6101),
    CASE(huge_dimensions, 6005), CASE(big_initialised, 6003), CASE(many_big_initialised, 6012), CASE(register_range, 6007), CASE(register_ranges, 6007),
    CASE(long_register_range, 6013), CASE(long_vector_range, 6013),
    CASE(long_variable_range, 6013), CASE(variable_ranges, 6013), CASE(registers, 0), CASE(labels, 0), CASE(blocks, 0), CASE(same_label, 3003), CASE(missing_labels, 3002), CASE(instructions, 0), CASE(kernels, 0),
    CASE(variables, 0), CASE(parameters, 6008), CASE(parameters_5k, 0), CASE(big_parameter, 6009), CASE(vector, 6010), CASE(operands, 2014),
    CASE(arguments, 6010), CASE(modifiers, 2010), CASE(table, 0), CASE(tables, 0), CASE(long_name, 0), CASE(long_comment, 1002), CASE(long_line, 2003),
    CASE(long_number, 1008), CASE(long_float, 1004), CASE(long_string, 0), CASE(garbage, 1009), CASE(zeros, 3053), CASE(locs, 0), CASE(alias_cycle, 3009),
    CASE(alias_chain, 0), CASE(signatures, 0), CASE(call_cycle, 0), CASE(call_chain, 0), CASE(call_web, 0), CASE(kernels_over_chain, 0), CASE(address_cycle, 0),
    CASE(scopes, 0), CASE(shared_everywhere, 6102), CASE(errors, 2003), CASE(pragmas, 0),
};

static bool
run(const struct hostile *h)
{
    struct cw_buf text, log;
    struct cwj_diags d;
    struct cwj_program *p = NULL;
    bool good = true;
    cw_buf_init(&text);
    cw_buf_init(&log);
    h->make(&text);
    if (text.failed)
        return false;
    struct cwj_input in = { h->name, text.data, text.size };
    cwj_diags_init(&d);
    cw_result r = cwj_program_create(&in, 1, false, &p, &d);
    for (uint32_t m = 0; p && m < p->nmodules; m++)
        for (uint32_t i = 0; i < p->modules[m]->nfuncs; i++)
            if (ptx_function_build_cfg(p->modules[m]->funcs[i]) != CW_OK)
                good = false;
    const struct cwj_diag *first = d.first;
    while (first && first->severity != PTX_ERROR)
        first = first->next;
    if ((r == CW_OK) != !h->code || (h->code && (!first || first->code != h->code))) {
        fprintf(stderr, "%s: expected %s%u, result %d, first error P%u %s\n", h->name, h->code ? "P" : "", h->code, r, first ? first->code : 0, first ? first->text : "");
        good = false;
    }
    if (first && h->code < 4000 && (!first->line || !first->column)) {
        fprintf(stderr, "%s: no line and column\n", h->name);
        good = false;
    }
    cwj_diags_render(&d, h->name, text.data, text.size, &log);
    if (h->code && (!log.data || log.size > 64u << 10)) {
        fprintf(stderr, "%s: %zu bytes of messages\n", h->name, log.size);
        good = false;
    }
    cwj_program_destroy(p);
    cwj_diags_finish(&d);
    cw_buf_finish(&text);
    cw_buf_finish(&log);
    return good;
}

int
main(int argc, char **argv)
{
    unsigned failed = 0, ran = 0;
    bool verbose = argc > 1 && !strcmp(argv[1], "-v");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wanted = argc == 1 + verbose;
        for (int k = 1 + verbose; k < argc; k++)
            wanted |= !strcmp(argv[k], cases[i].name);
        if (!wanted)
            continue;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            struct rlimit cpu = { SANITIZED ? 300 : 20, SANITIZED ? 300 : 20 }, memory = { 3ull << 30, 3ull << 30 };
            setrlimit(RLIMIT_CPU, &cpu);
            if (!SANITIZED)
                setrlimit(RLIMIT_AS, &memory);
            _exit(run(&cases[i]) ? 0 : 1);
        }
        struct rusage u = { 0 };
        int status = 0;
        if (pid < 0 || wait4(pid, &status, 0, &u) < 0)
            return 2;
        if (WIFSIGNALED(status))
            fprintf(stderr, "%s: ended by signal %d (%s)\n", cases[i].name, WTERMSIG(status), strsignal(WTERMSIG(status)));
        if (verbose)
            printf("%-22s %6.2f s %6ld MB\n", cases[i].name, (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec, u.ru_maxrss / 1024);
        failed += status != 0;
        ran++;
    }
    printf("%u cases, %u failed\n", ran, failed);
    return failed || !ran;
}
