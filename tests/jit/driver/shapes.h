/* SPDX-License-Identifier: Apache-2.0
 * PTX texts by shape and size, to measure how compile time and memory grow. */
#ifndef CUDAWAY_TESTS_JIT_SHAPES_H
#define CUDAWAY_TESTS_JIT_SHAPES_H

#include <stdio.h>
#include <string.h>

struct shape {
    const char *name;
    const char *what;
    void (*body)(FILE *out, unsigned n);        /* of kernel k: %x = tid.x + clock, %p0 = x < 7, %d = the parameter; result in %x */
    void (*whole)(FILE *out, unsigned n);       /* instead of `body`: the text behind the header */
};

/* Each half has a value of its own, and the join selects by memory of the branch, as a compiler writes it. */
static void
shape_branches(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>; .reg .pred %%q<%u>;\nmov.u32 %%v0, %%x;\n", 2 * n + 2, n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "setp.lt.u32 %%q%u, %%v%u, %u;\n@%%q%u bra E%u;\nadd.u32 %%v%u, %%v%u, %%x;\nbra X%u;\nE%u:\nxor.b32 %%v%u, %%v%u, %u;\nX%u:\n",
                i, 2 * i, i * 7919, i, i, 2 * i + 2, 2 * i, i, i, 2 * i + 2, 2 * i, i | 1, i);
    fprintf(out, "mov.u32 %%x, %%v%u;\n", 2 * n);
}

static void
shape_loops(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>; .reg .pred %%q<%u>;\nmov.u32 %%v0, %%x;\n", n + 2, n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "mov.u32 %%v%u, %%v%u;\nL%u:\nmad.lo.u32 %%v%u, %%v%u, 3, %%x;\nsetp.lt.u32 %%q%u, %%v%u, %u;\n@%%q%u bra L%u;\n", i + 1, i, i, i + 1,
                i + 1, i, i + 1, i * 7919, i, i);
    fprintf(out, "mov.u32 %%x, %%v%u;\n", n);
}

static void
shape_nested_ifs(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>; .reg .pred %%q<%u>;\nmov.u32 %%v0, %%x;\n", n + 2, n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "setp.eq.u32 %%q%u, %%v%u, %u;\nadd.u32 %%v%u, %%v%u, %%x;\n@%%q%u bra X%u;\n", i, i, i * 7919, i + 1, i, i, i);
    for (unsigned i = n; i-- > 0;)
        fprintf(out, "xor.b32 %%x, %%x, %u;\nX%u:\n", i, i);
}

static void
shape_nested_loops(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>; .reg .pred %%q<%u>;\n", n + 1, n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "mov.u32 %%v%u, 0;\nL%u:\n", i, i);
    fprintf(out, "mad.lo.u32 %%x, %%x, 5, 1;\n");
    for (unsigned i = n; i-- > 0;)
        fprintf(out, "add.u32 %%v%u, %%v%u, 1;\nsetp.lt.u32 %%q%u, %%v%u, %%x;\n@%%q%u bra L%u;\n", i, i, i, i, i, i);
}

static void
shape_cases(FILE *out, unsigned n)
{
    fprintf(out, "rem.u32 %%y, %%x, %u;\nT: .branchtargets C0", n);
    for (unsigned i = 1; i < n; i++)
        fprintf(out, ", C%u", i);
    fprintf(out, ";\nbrx.idx %%y, T;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "C%u:\nmad.lo.u32 %%x, %%x, %u, %u;\nbra OUT;\n", i, i | 1, i);
    fprintf(out, "OUT:\n");
}

static void
shape_adds(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>;\nmov.u32 %%v0, %%x;\nmov.u32 %%v1, %%x;\n", n + 2);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, i % 2 ? "add.u32 %%v%u, %%v%u, %%v%u;\n" : "xor.b32 %%v%u, %%v%u, %%v%u;\n", i + 2, i + 1, i);
    fprintf(out, "mov.u32 %%x, %%v%u;\n", n + 1);
}

/* What is read first is used last. */
static void
shape_values(FILE *out, unsigned n)
{
    fprintf(out, ".reg .b32 %%v<%u>;\n", n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "ld.volatile.global.u32 %%v%u, [%%d+%u];\n", i, i * 4);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "mad.lo.u32 %%x, %%x, 3, %%v%u;\n", i);
}

static void
shape_stores(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "st.global.u32 [%%d+%u], %%x;\nld.global.u32 %%x, [%%d+%u];\n", i * 4, i * 8);
}

static void
shape_barriers(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "@%%p0 bra X%u;\nst.shared.u32 [s+%u], %%x;\nX%u:\nbar.sync 0;\nld.shared.u32 %%y, [s+%u];\nadd.u32 %%x, %%x, %%y;\n", i, i % 64 * 4, i,
                (i + 1) % 64 * 4);
}

/* All leave to one place. */
static void
shape_leaves(FILE *out, unsigned n)
{
    fprintf(out, ".reg .pred %%q<%u>;\n", n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "mad.lo.u32 %%x, %%x, 3, %u;\nsetp.eq.u32 %%q%u, %%x, %u;\n@%%q%u bra OUT;\n", i, i, i * 7919, i);
    fprintf(out, "OUT:\n");
}

static void
shape_guards(FILE *out, unsigned n)
{
    fprintf(out, ".reg .pred %%q<%u>;\n", n + 1);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "setp.lt.u32 %%q%u, %%x, %u;\n@%%q%u mad.lo.u32 %%x, %%x, 3, %u;\n", i, i * 7919, i, i);
}

static void
shape_kernel(FILE *out, unsigned k, void (*body)(FILE *, unsigned), unsigned n)
{
    fprintf(out, ".visible .entry k%u(.param .u64 p)\n{\n.reg .b32 %%x, %%y; .reg .b64 %%d; .reg .pred %%p0; .shared .b32 s[64];\n"
                 "ld.param.u64 %%d, [p];\nmov.u32 %%x, %%tid.x;\nmov.u32 %%y, %%clock;\nsetp.lt.u32 %%p0, %%x, 7;\nadd.u32 %%x, %%x, %%y;\n", k);
    body(out, n);
    fprintf(out, "st.global.u32 [%%d], %%x;\nret;\n}\n");
}

static void
shape_few(FILE *out, unsigned n)
{
    shape_adds(out, 4 + n * 0);
}

static void
shape_kernels(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        shape_kernel(out, i, shape_few, 1);
}

static void
shape_variables(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".visible .global .u32 g%u = %u;\n", i, i);
    fprintf(out, ".visible .entry k0(.param .u64 p)\n{\n.reg .b32 %%x, %%y; .reg .b64 %%d;\nld.param.u64 %%d, [p];\nmov.u32 %%x, 0;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "ld.global.u32 %%y, [g%u];\nadd.u32 %%x, %%x, %%y;\n", i);
    fprintf(out, "st.global.u32 [%%d], %%x;\nret;\n}\n");
}

static void
shape_calls(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fprintf(out, ".func (.param .b32 r) f%u(.param .b32 a)\n{ .reg .b32 %%a; ld.param.b32 %%a, [a]; xor.b32 %%a, %%a, %u; add.u32 %%a, %%a, 1;\n", i, i);
        if (i)
            fprintf(out, "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%a; call.uni (s), f%u, (q); ld.param.b32 %%a, [s]; }\n", i - 1);
        fprintf(out, "st.param.b32 [r], %%a; ret; }\n");
    }
    fprintf(out, ".visible .entry k0(.param .u64 p)\n{ .reg .b32 %%x; .reg .b64 %%d; ld.param.u64 %%d, [p]; ld.global.u32 %%x, [%%d];\n"
                 "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%x; call.uni (s), f%u, (q); ld.param.b32 %%x, [s]; }\nst.global.u32 [%%d], %%x; ret; }\n", n - 1);
}

/* A kernel that calls N functions one after the other. */
static void
shape_callees(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".func (.param .b32 r) f%u(.param .b32 a)\n{ .reg .b32 %%a; ld.param.b32 %%a, [a]; mad.lo.u32 %%a, %%a, %u, 1;\nst.param.b32 [r], %%a; ret; }\n", i,
                i | 1);
    fprintf(out, ".visible .entry k0(.param .u64 p)\n{ .reg .b32 %%x; .reg .b64 %%d; ld.param.u64 %%d, [p]; ld.global.u32 %%x, [%%d];\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%x; call.uni (s), f%u, (q); ld.param.b32 %%x, [s]; }\n", i);
    fprintf(out, "st.global.u32 [%%d], %%x; ret; }\n");
}

/* Calls through a register. */
static void
shape_pointers(FILE *out, unsigned n)
{
    fprintf(out, ".visible .func f() { ret; }\n.visible .entry k0(.param .u64 p)\n{ .reg .b32 %%x; .reg .b64 %%d, %%f; ld.param.u64 %%d, [p]; mov.u64 %%f, f;\nP: .callprototype _ ();\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "call %%f, P;\n");
    fprintf(out, "st.global.u64 [%%d], %%f; ret; }\n");
}

/* Functions of which no two have the same signature. */
static void
shape_signatures(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".visible .func f%u(.param .b8 a[%u]) { ret; }\n", i, i + 1);
    shape_kernel(out, 0, shape_few, 1);
}

/* ((((1+1)+1)+1 ...: an initial value of a variable. */
static void
shape_expression(FILE *out, unsigned n)
{
    fprintf(out, ".visible .global .u32 g = ");
    for (unsigned i = 0; i < n; i++)
        fputc('(', out);
    fputc('1', out);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "+1)");
    fprintf(out, ";\n");
    shape_kernel(out, 0, shape_few, 1);
}

/* { { { ... } } } */
static void
shape_scopes(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "{\n.reg .b32 %%t;\nadd.u32 %%t, %%x, %u;\nxor.b32 %%x, %%t, %%y;\n", i);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "}\n");
}

/* No branch goes to them. */
static void
shape_labels(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "L%u:\nmad.lo.u32 %%x, %%x, 3, %u;\n", i, i);
}

static void
shape_locs(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".loc 1 %u 1\nmad.lo.u32 %%x, %%x, 3, %u;\n", i + 1, i);
}

static void
shape_lines(FILE *out, unsigned n)
{
    fprintf(out, ".file 1 \"a.cu\"\n");
    shape_kernel(out, 0, shape_locs, n);
}

/* Of a function: a kernel's have a limit. */
static void
shape_parameters(FILE *out, unsigned n)
{
    fprintf(out, ".func (.param .b32 r) f(.param .b32 a0");
    for (unsigned i = 1; i < n; i++)
        fprintf(out, ", .param .b32 a%u", i);
    fprintf(out, ")\n{ .reg .b32 %%a, %%b; mov.u32 %%a, 0;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "ld.param.b32 %%b, [a%u];\nmad.lo.u32 %%a, %%a, 3, %%b;\n", i);
    fprintf(out, "st.param.b32 [r], %%a; ret; }\n.visible .entry k0(.param .u64 p)\n{ .reg .b32 %%x; .reg .b64 %%d; ld.param.u64 %%d, [p]; ld.global.u32 %%x, [%%d];\n{ .param .b32 s;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".param .b32 q%u; st.param.b32 [q%u], %%x; add.u32 %%x, %%x, 1;\n", i, i);
    fprintf(out, "call.uni (s), f, (q0");
    for (unsigned i = 1; i < n; i++)
        fprintf(out, ", q%u", i);
    fprintf(out, "); ld.param.b32 %%x, [s]; }\nst.global.u32 [%%d], %%x; ret; }\n");
}

static void
shape_list(FILE *out, unsigned n)
{
    fprintf(out, ".visible .global .b32 g[%u] = { 0", n);
    for (unsigned i = 1; i < n; i++)
        fprintf(out, ", %u", i);
    fprintf(out, " };\n");
    shape_kernel(out, 0, shape_few, 1);
}

/* Addresses of variables in a list: each is a relocation. */
static void
shape_addresses(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".visible .global .b32 v%u;\n", i);
    fprintf(out, ".visible .global .u64 g[%u] = { v0", n);
    for (unsigned i = 1; i < n; i++)
        fprintf(out, ", v%u", i);
    fprintf(out, " };\n");
    shape_kernel(out, 0, shape_few, 1);
}

static void
shape_strings(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".global .align 1 .b8 s%u[8] = { 37, 117, 32, %u, %u, %u, 10 };\n", i, i % 251 + 1, i / 251 % 251 + 1, i / 63001 + 1);
    fprintf(out, ".visible .entry k0(.param .u64 p)\n{\n.reg .b64 %%x, %%y, %%d;\nld.param.u64 %%d, [p];\nmov.u64 %%x, 0;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "mov.u64 %%y, s%u;\nxor.b64 %%x, %%x, %%y;\n", i);
    fprintf(out, "st.global.u64 [%%d], %%x;\nret;\n}\n");
}

static void
shape_textures(FILE *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, ".global .texref t%u;\n", i);
    fprintf(out, ".visible .entry k0(.param .u64 p)\n{\n.reg .f32 %%f<5>; .reg .b32 %%x; .reg .b64 %%d;\nld.param.u64 %%d, [p];\nmov.u32 %%x, %%tid.x;\nmov.f32 %%f4, 0f00000000;\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "tex.1d.v4.f32.s32 {%%f0, %%f1, %%f2, %%f3}, [t%u, {%%x}];\nadd.f32 %%f4, %%f4, %%f0;\n", i);
    fprintf(out, "st.global.f32 [%%d], %%f4;\nret;\n}\n");
}

static const struct shape shapes[] = {
    { "branches", "diamonds in a row", shape_branches, NULL },
    { "loops", "loops in a row", shape_loops, NULL },
    { "nested_ifs", "branches within each other", shape_nested_ifs, NULL },
    { "nested_loops", "loops within each other", shape_nested_loops, NULL },
    { "cases", "targets of one brx.idx", shape_cases, NULL },
    { "leaves", "branches to one place", shape_leaves, NULL },
    { "guards", "instructions with guards", shape_guards, NULL },
    { "adds", "additions in a row", shape_adds, NULL },
    { "values", "values that live at once", shape_values, NULL },
    { "stores", "stores and loads in a row", shape_stores, NULL },
    { "barriers", "barriers and branches", shape_barriers, NULL },
    { "calls", "functions that call each other", NULL, shape_calls },
    { "callees", "functions that one kernel calls", NULL, shape_callees },
    { "pointers", "calls through a register", NULL, shape_pointers },
    { "signatures", "signatures of functions", NULL, shape_signatures },
    { "kernels", "kernels", NULL, shape_kernels },
    { "variables", "variables", NULL, shape_variables },
    { "labels", "labels", shape_labels, NULL },
    { "lines", "lines of the source (.loc)", NULL, shape_lines },
    { "parameters", "parameters of a function", NULL, shape_parameters },
    { "list", "values of an array", NULL, shape_list },
    { "addresses", "addresses of variables in an array", NULL, shape_addresses },
    { "strings", "texts", NULL, shape_strings },
    { "textures", "textures", NULL, shape_textures },
    { "expression", "nested parentheses", NULL, shape_expression },
    { "scopes", "nested scopes", shape_scopes, NULL },
};

static const struct shape *
shape_find(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, name))
            return &shapes[i];
    return NULL;
}

static void
shape_write(FILE *out, const struct shape *s, unsigned n)
{
    fprintf(out, ".version 8.0\n.target sm_80\n.address_size 64\n");
    if (s->whole)
        s->whole(out, n);
    else
        shape_kernel(out, 0, s->body, n);
}

#endif
