/* SPDX-License-Identifier: Apache-2.0
 * Linking: which definition a name means, what is an error, where variables are put, what a kernel reaches. Expected layouts
 * are worked out by hand from sizes and alignments. */
#include "tests/jit/check.h"

#include <stdlib.h>

unsigned failures;
static struct cwj_diags diags;

static struct cwj_program *
link_texts(const char *const *texts, size_t n, bool allow_undefined, cw_result expect, unsigned expect_code)
{
    static const char *const names[] = { "one", "two", "three" };
    struct cwj_input in[3];
    struct cwj_program *p = NULL;
    for (size_t i = 0; i < n; i++)
        in[i] = (struct cwj_input){ names[i], texts[i], strlen(texts[i]) };
    cwj_diags_init(&diags);
    cw_result r = cwj_program_create(in, n, allow_undefined, &p, &diags);
    bool found = !expect_code;
    for (const struct cwj_diag *d = diags.first; d; d = d->next) {
        found |= d->code == expect_code;
        if (d->code != expect_code)
            printf("  P%u: %s\n", d->code, d->text);
    }
    CHECK_INT(r, expect);
    CHECK(found);
    CHECK((p != NULL) == (r == CW_OK));
    cwj_diags_finish(&diags);
    return p;
}

#define LINK(expect, code, ...) \
    link_texts((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), false, expect, code)

static const struct cwj_variable *
variable(const struct cwj_program *p, const char *name)
{
    for (uint32_t i = 0; p && i < p->nvars; i++)
        if (!strcmp(p->vars[i].name, name))
            return &p->vars[i];
    printf("no variable %s\n", name);
    failures++;
    static const struct cwj_variable none;
    return &none;
}

static uint32_t
kernel(const struct cwj_program *p, const char *name)
{
    for (uint32_t i = 0; p && i < p->nkernels; i++)
        if (!strcmp(p->kernels[i].name, name))
            return i;
    printf("no kernel %s\n", name);
    failures++;
    return 0;
}

static bool
reaches(const struct cwj_program *p, const char *k, const char *function)
{
    const struct cwj_closure *r = &p->closure[kernel(p, k)];
    for (uint32_t i = 0; i < r->nfuncs; i++)
        if (!strcmp(p->funcs[r->funcs[i]].name, function))
            return true;
    return false;
}

static void
test_image(void)
{
    /* a at 0 (4 bytes), b aligned to 8 at 8, c 3 bytes at 16, d aligned to 64 at 64, e: 20 bytes, so aligned to 16, at 80 */
    struct cwj_program *p = LINK(CW_OK, 0, HEAD
        ".visible .global .u32 a = 7;\n"
        ".global .u64 b[1] = { generic(a) };\n"
        ".const .b8 c[3] = { 1, 2, 3 };\n"
        ".visible .global .align 64 .b8 d[16];\n"
        ".global .b8 e[20] = { 9 };\n"
        ".visible .func f() { ret; }\n"
        ".global .u64 g = f;\n"
        ".global .u64 h = d+5;\n"
        ".global .texref t;\n");
    if (!p)
        return;
    CHECK_INT(p->nvars, 8);
    CHECK_INT(variable(p, "a")->offset, 0);
    CHECK_INT(variable(p, "b")->offset, 8);
    CHECK_INT(variable(p, "c")->offset, 16);
    CHECK_INT(variable(p, "c")->space, PTX_SPACE_CONST);
    CHECK_INT(variable(p, "d")->offset, 64);
    CHECK_INT(variable(p, "e")->offset, 80);
    CHECK_INT(variable(p, "g")->offset, 104);
    CHECK_INT(variable(p, "h")->offset, 112);
    CHECK_INT(variable(p, "t")->offset, 120);
    CHECK_INT(variable(p, "t")->size, 8);
    CHECK_INT(variable(p, "t")->type, PTX_TEXREF);
    CHECK(variable(p, "a")->visible && !variable(p, "b")->visible);
    CHECK_INT(p->image.size, 128);
    CHECK_INT(p->image.align, 64);
    CHECK_INT(p->image.init[0], 7);
    CHECK_INT(p->image.init[18], 3);
    CHECK_INT(p->image.init[80], 9);
    CHECK_INT(p->image.init[64], 0);
    CHECK_INT(p->image.nrelocs, 3);
    const struct cwj_reloc *r = p->image.relocs;
    CHECK(r[0].offset == 8 && r[0].kind == CWJ_RELOC_IMAGE && r[0].target == 0 && r[0].addend == 0 && r[0].width == 8);
    CHECK(r[1].offset == 104 && r[1].kind == CWJ_RELOC_FUNC && r[1].target == CWH_FUNC_TOKEN(0) && r[1].width == 8);
    CHECK(r[2].offset == 112 && r[2].kind == CWJ_RELOC_IMAGE && r[2].target == 64 && r[2].addend == 5);
    CHECK(p->funcs[0].address_taken);
    cwj_program_destroy(p);
}

static const char shared_text[] = HEAD
    ".shared .align 4 .b8 s1[10];\n"
    ".shared .align 8 .b8 s2[8];\n"
    ".shared .align 4 .b8 unused[1000];\n"
    ".extern .shared .align 32 .b8 dyn[];\n"
    ".extern .shared .align 4 .b8 other[];\n"
    ".func inner() { .reg .b32 r; .shared .align 2 .b16 mine; ld.shared.u16 r, [mine]; st.shared.u32 [s2], r; ret; }\n"
    ".visible .entry k1() { .reg .b32 r; ld.shared.u32 r, [s1]; call inner; st.shared.u32 [dyn], r; ret; }\n"
    ".visible .entry k2() { .reg .b32 r; ld.shared.u32 r, [s2]; st.shared.u32 [other], r; ret; }\n"
    ".visible .entry k3() { ret; }\n";

static void
test_shared(void)
{
    struct cwj_program *p = LINK(CW_OK, 0, shared_text);
    if (!p)
        return;
    /* k1: s1 at 0, s2 at 16 (12 rounded to 8), inner's variable at 24, dynamic at 32 */
    const struct cwj_shared_layout *l = &p->closure[kernel(p, "k1")].shared;
    uint32_t offset[4], n = 0;
    for (uint32_t i = 0; i < l->nvars; i++) {
        const char *name = p->link_vars[l->vars[i].link_id].name;
        if (!strcmp(name, "s1"))
            CHECK_INT(l->vars[i].offset, 0), n++;
        else if (!strcmp(name, "s2"))
            CHECK_INT(l->vars[i].offset, 16), n++;
        else if (!strcmp(name, "mine"))
            CHECK_INT(l->vars[i].offset, 24), n++;
        else if (!strcmp(name, "dyn"))
            CHECK_INT(l->vars[i].offset, 32), n++;
        CHECK(cwj_shared_offset(l, l->vars[i].link_id, &offset[0]) && offset[0] == l->vars[i].offset);
    }
    CHECK_INT(n, 4);
    CHECK_INT(l->nvars, 4);
    CHECK_INT(l->size, 26);
    CHECK_INT(l->align, 32);
    CHECK_INT(l->dynamic_offset, 32);
    CHECK_INT(p->kernels[kernel(p, "k1")].static_shared, 26);
    l = &p->closure[kernel(p, "k2")].shared;
    CHECK_INT(l->size, 8);
    CHECK_INT(l->dynamic_offset, 16);
    CHECK_INT(l->nvars, 2);
    l = &p->closure[kernel(p, "k3")].shared;
    CHECK_INT(l->size, 0);
    CHECK_INT(l->nvars, 0);
    CHECK(!cwj_shared_offset(l, 0, &offset[0]));
    cwj_program_destroy(p);
}

static void
test_names(void)
{
    static const char user[] = HEAD
        ".extern .global .u32 x;\n.extern .func (.param .b32 r) twice (.param .b32 a);\n"
        ".visible .entry k(.param .u64 out) { .reg .b32 v; .reg .b64 p; ld.global.u32 v, [x];\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], v; call (r), twice, (a); ld.param.b32 v, [r]; }\n"
        "ld.param.u64 p, [out]; st.global.u32 [p], v; ret; }\n";
    static const char twice[] = ".visible .func (.param .b32 r) twice (.param .b32 a) { .reg .b32 v; ld.param.b32 v, [a];\n"
                                "add.u32 v, v, v; st.param.b32 [r], v; ret; }\n";
    char other[1000];

    snprintf(other, sizeof other, "%s.visible .global .u32 x = 4;\n%s", HEAD, twice);
    struct cwj_program *p = LINK(CW_OK, 0, user, other);
    if (p) {
        CHECK_INT(p->nvars, 1);
        CHECK(reaches(p, "k", "twice"));
        CHECK_INT(p->nfuncs, 2);
        CHECK_INT(p->modules[0]->vars[0]->link_id, p->modules[1]->vars[0]->link_id);
        CHECK_INT(p->image.init[0], 4);
    }
    cwj_program_destroy(p);

    /* the other order */
    p = LINK(CW_OK, 0, other, user);
    cwj_program_destroy(p);

    /* undefined: named, and only where it is used */
    p = LINK(CW_ERR_UNRESOLVED, 4001, user);
    p = LINK(CW_OK, 0, HEAD ".extern .global .u32 nobody;\n.extern .func nothing();\n.visible .entry k() { ret; }\n");
    cwj_program_destroy(p);
    p = link_texts((const char *const[]){ user }, 1, true, CW_OK, 0);
    if (p) {
        CHECK(reaches(p, "k", "twice"));
        for (uint32_t i = 0; i < p->nfuncs; i++)
            CHECK_INT(p->funcs[i].undefined, !strcmp(p->funcs[i].name, "twice"));
        CHECK_INT(p->nvars, 0);
    }
    cwj_program_destroy(p);

    /* twice the same */
    LINK(CW_ERR_DUPLICATE, 4002, HEAD ".visible .global .u32 x;\n", HEAD ".visible .global .u32 x;\n");
    LINK(CW_ERR_DUPLICATE, 4002, HEAD ".visible .entry k() { ret; }\n", HEAD ".visible .entry k() { ret; }\n");

    /* a name without a directive is its module's own */
    p = LINK(CW_OK, 0, HEAD ".global .u32 x = 1;\n.func f() { ret; }\n.visible .entry a() { call f; ret; }\n",
             HEAD ".global .u32 x = 2;\n.func f() { ret; }\n.visible .entry b() { call f; ret; }\n");
    if (p) {
        CHECK_INT(p->nvars, 2);
        CHECK_INT(p->nfuncs, 4);
        CHECK(p->closure[kernel(p, "a")].funcs[1] != p->closure[kernel(p, "b")].funcs[1]);
    }
    cwj_program_destroy(p);

    /* weak: the first of several, and any strong one before it */
    p = LINK(CW_OK, 0, HEAD ".weak .global .u32 x = 1;\n", HEAD ".weak .global .u32 x = 2;\n");
    if (p)
        CHECK_INT(p->image.init[0], 1), CHECK_INT(p->nvars, 1);
    cwj_program_destroy(p);
    p = LINK(CW_OK, 0, HEAD ".weak .global .u32 x = 1;\n", HEAD ".visible .global .u32 x = 2;\n", HEAD ".weak .global .u32 x = 3;\n");
    if (p)
        CHECK_INT(p->image.init[0], 2), CHECK_INT(p->nvars, 1);
    cwj_program_destroy(p);

    /* common: merged, the largest size; a definition wins */
    p = LINK(CW_OK, 0, HEAD ".common .global .align 4 .b8 x[4];\n", HEAD ".common .global .align 8 .b8 x[40];\n");
    if (p)
        CHECK_INT(p->nvars, 1), CHECK_INT(variable(p, "x")->size, 40), CHECK_INT(variable(p, "x")->align, 8);
    cwj_program_destroy(p);
    p = LINK(CW_OK, 0, HEAD ".common .global .u32 x;\n", HEAD ".visible .global .u32 x = 5;\n");
    if (p)
        CHECK_INT(p->image.init[0], 5), CHECK_INT(p->nvars, 1);
    cwj_program_destroy(p);

    /* contradictions */
    LINK(CW_ERR_UNRESOLVED, 4003, HEAD ".visible .func x() { ret; }\n", HEAD ".visible .global .u32 x;\n");
    LINK(CW_ERR_UNRESOLVED, 4003, HEAD ".extern .const .u32 x;\n", HEAD ".visible .global .u32 x;\n");
    LINK(CW_ERR_UNRESOLVED, 4004, HEAD ".extern .func twice (.param .b64 a);\n", other);

    /* the runtime's functions need no definition, but may have one */
    static const char uses[] = HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
        ".visible .entry k() { .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call (r), malloc, (n); ret; }\n";
    p = LINK(CW_OK, 0, uses);
    if (p)
        CHECK_INT(p->funcs[1].runtime, CWJ_RT_MALLOC), CHECK(!p->funcs[1].undefined);
    cwj_program_destroy(p);
    p = LINK(CW_OK, 0, uses, HEAD ".visible .func (.param .b64 r) malloc (.param .b64 n) { ret; }\n");
    if (p)
        CHECK_INT(p->nfuncs, 2), CHECK_INT(p->funcs[1].runtime, CWJ_RT_NONE);
    cwj_program_destroy(p);

    /* an extern shared array that another module gives a size */
    p = LINK(CW_OK, 0, HEAD ".extern .shared .u64 stacks[];\n.visible .entry k() { .reg .b64 v; ld.shared.u64 v, [stacks+8]; ret; }\n",
             HEAD ".visible .shared .u64 stacks[32];\n");
    if (p)
        CHECK_INT(p->kernels[0].static_shared, 256), CHECK(!p->link_vars[p->closure[0].shared.vars[0].link_id].dynamic);
    cwj_program_destroy(p);

    /* .alias */
    p = LINK(CW_OK, 0, ".version 6.3\n.target sm_70\n.address_size 64\n.visible .func real() { ret; }\n.visible .func other();\n"
             ".alias other, real;\n.visible .entry k() { call other; ret; }\n",
             HEAD ".extern .func other();\n.visible .entry j() { call other; ret; }\n");
    if (p)
        CHECK(reaches(p, "k", "real")), CHECK(reaches(p, "j", "real"));
    cwj_program_destroy(p);
}

static void
test_reach(void)
{
    struct cwj_program *p = LINK(CW_OK, 0, HEAD
        ".visible .func leaf() { ret; }\n.visible .func taken() { call leaf; ret; }\n.visible .func lonely() { ret; }\n"
        ".visible .func self();\n.visible .func self() { call self; ret; }\n"
        ".global .u64 table[1] = { taken };\n"
        ".visible .entry direct() { call leaf; ret; }\n"
        ".visible .entry loops() { call self; ret; }\n"
        ".visible .entry indirect() { .reg .b64 f; ld.global.u64 f, [table]; proto: .callprototype _ (); call f, proto; ret; }\n");
    if (!p)
        return;
    CHECK(reaches(p, "direct", "leaf") && !reaches(p, "direct", "taken"));
    CHECK(!p->closure[kernel(p, "direct")].indirect && !p->closure[kernel(p, "direct")].recursive);
    CHECK(p->closure[kernel(p, "loops")].recursive);
    CHECK(p->closure[kernel(p, "indirect")].indirect);
    CHECK(reaches(p, "indirect", "taken") && reaches(p, "indirect", "leaf") && !reaches(p, "indirect", "lonely"));
    CHECK_INT(p->closure[kernel(p, "indirect")].nfuncs, 3);
    cwj_program_destroy(p);

    /* a chain deep enough to overflow a recursive walk's stack is merely long */
    enum { DEPTH = 60000 };
    char *text = malloc(DEPTH * 64 + 200), *t = text;
    if (!text)
        return;
    t += sprintf(t, "%s.func f0() { ret; }\n", HEAD);
    for (int i = 1; i < DEPTH; i++)
        t += sprintf(t, ".func f%d() { call f%d; ret; }\n", i, i - 1);
    sprintf(t, ".visible .entry k() { call f%d; ret; }\n", DEPTH - 1);
    p = LINK(CW_OK, 0, text);
    if (p)
        CHECK_INT(p->closure[0].nfuncs, DEPTH + 1);
    cwj_program_destroy(p);
    free(text);
}

static void
test_kernels(void)
{
    struct cwj_program *p = LINK(CW_OK, 0, ".version 7.1\n.target sm_86\n.address_size 64\n"
        ".visible .entry k(.param .u8 a, .param .align 8 .b8 s[12], .param .u64 .ptr .global .align 16 q)\n"
        ".maxntid 128, 2, 1 .minnctapersm 3 { .local .align 8 .b8 l[20]; .local .u32 m; .reg .b64 r<3>; .reg .f32 f; .reg .pred p<9>; ret; }\n");
    if (!p)
        return;
    const struct cwj_kernel *k = &p->kernels[0];
    CHECK_INT(k->nparams, 3);
    CHECK(k->params[0].offset == 0 && k->params[1].offset == 8 && k->params[2].offset == 24);
    CHECK(k->params[1].size == 12 && k->params[1].is_array && !k->params[2].is_array);
    CHECK_INT(k->params[2].ptr_space, PTX_SPACE_GLOBAL);
    CHECK_INT(k->param_size, 32);
    CHECK_INT(k->maxntid[0] * 100 + k->maxntid[1] * 10 + k->maxntid[2], 12821);
    CHECK_INT(k->minnctapersm, 3);
    CHECK_INT(k->local_bytes, 24);
    CHECK_INT(k->nregs, 7);
    CHECK_INT(k->sm, 86);
    CHECK_INT(k->ptx_version, 71);
    cwj_program_destroy(p);
}

int
main(void)
{
    test_image();
    test_shared();
    test_names();
    test_reach();
    test_kernels();
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
