/* SPDX-License-Identifier: Apache-2.0
 * How programs are divided into parts: each kernel in one, parts of about the size asked for, kernels that share code together, those that
 * fetch from textures together, too. What they say while they are compiled is not lost. */
#include "jit/driver/parts.h"

#include "impl/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(x) ((x) ? (void)0 : (void)(printf("FAILED line %d: %s\n", __LINE__, #x), failures++))

enum { LIMIT = 100, MAX_KERNELS = 400 };

static void
begin(struct cw_buf *b)
{
    cw_buf_init(b);
    cw_buf_puts(b, ".version 7.0\n.target sm_80\n.address_size 64\n.global .texref image;\n");
}

static void
body(struct cw_buf *b, unsigned instructions, const char *more)
{
    cw_buf_puts(b, "{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n");
    for (unsigned i = 2; i < instructions; i++)
        cw_buf_printf(b, "add.s32 %%r1, %%r1, %u;\n", i);
    cw_buf_printf(b, "%s\nret;\n}\n", more);
}

static void
kernel(struct cw_buf *b, unsigned k, unsigned instructions, const char *more)
{
    cw_buf_printf(b, ".visible .entry k%u()\n", k);
    body(b, instructions, more);
}

/* Says which kernel is the first of the part, in two messages, and fails. */
static void
complain(struct cwj_part *part, void *user)
{
    unsigned k = 0;
    (void)user;
    while (!part->kernels[k])
        k++;
    cwj_diag_add(&part->diags, PTX_WARNING, 1, 0, 0, "part of kernel %u", k);
    cwj_diag_add(&part->diags, PTX_ERROR, 2, 0, 0, "kernel %u", k);
    part->result = CW_ERR_SYNTAX;
}

/* What parts say arrives, in the order of the parts. */
static void
check_messages(struct cwj_parts *parts)
{
    struct cwj_diags diags;
    cwj_diags_init(&diags);
    CHECK(cwj_parts_run(parts, 1, complain, NULL, &diags) == CW_ERR_SYNTAX);
    CHECK(diags.errors == parts->n && diags.warnings == parts->n);
    const struct cwj_diag *d = diags.first;
    for (uint32_t i = 0; i < parts->n && i < 10; i++) {
        char text[2][40];
        unsigned k = 0;
        while (!parts->at[i].kernels[k])
            k++;
        snprintf(text[0], sizeof text[0], "part of kernel %u", k);
        snprintf(text[1], sizeof text[1], "kernel %u", k);
        for (unsigned j = 0; j < 2; j++, d = d ? d->next : NULL)
            CHECK(d && !strcmp(d->text, text[j]));
    }
    cwj_diags_finish(&diags);
}

/* The number of parts. part[k]: that of kernel k, which is the only one. */
static uint32_t
divide(struct cw_buf *text, uint32_t limit, unsigned kernels, const bool *left_out, uint32_t *part)
{
    struct cwj_input in = { "test", text->data, text->size };
    struct cwj_diags diags;
    struct cwj_program *p = NULL;
    struct cwj_parts parts;
    bool take[MAX_KERNELS] = { 0 };
    uint32_t n = 0;
    cwj_diags_init(&diags);
    CHECK(cwj_program_create(&in, 1, false, &p, &diags) == CW_OK);
    if (!p || p->nkernels != kernels) {
        printf("FAILED: %s\n", diags.first ? diags.first->text : "the number of kernels");
        exit(1);
    }
    for (unsigned k = 0; k < kernels; k++)
        take[k] = !left_out || !left_out[k];
    CHECK(cwj_parts_make(p, take, limit, &parts) == CW_OK);
    n = parts.n;
    for (unsigned k = 0; k < kernels; k++) {
        unsigned places = 0;
        for (uint32_t i = 0; i < n; i++)
            if (parts.at[i].kernels[k]) {
                part[k] = i;
                places++;
            }
        CHECK(places == take[k]);
    }
    for (uint32_t i = 0; i < n; i++)
        CHECK(parts.at[i].first == (i == 0));
    check_messages(&parts);
    cwj_parts_finish(&parts);
    cwj_program_destroy(p);
    cwj_diags_finish(&diags);
    cw_buf_finish(text);
    return n;
}

int
main(void)
{
    static uint32_t part[MAX_KERNELS];
    static bool left_out[MAX_KERNELS];
    struct cw_buf b;
    /* Forty of 25: four to a part. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, LIMIT, 40, NULL, part) == 10);
    for (unsigned k = 0; k < 40; k++)
        CHECK(part[k] == k / 4);
    /* Half of them. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    for (unsigned k = 0; k < 40; k += 2)
        left_out[k] = true;
    CHECK(divide(&b, LIMIT, 40, left_out, part) == 5);
    /* All in one, where that is asked for and where it is little. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, 0, 40, NULL, part) == 1);
    begin(&b);
    for (unsigned k = 0; k < 10; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, LIMIT, 10, NULL, part) == 1);
    /* There are never many more than 64. */
    begin(&b);
    for (unsigned k = 0; k < MAX_KERNELS; k++)
        kernel(&b, k, 50, "");
    CHECK(divide(&b, LIMIT, MAX_KERNELS, NULL, part) <= 70);
    /* One function of 400 that all call: half of a part may be that, not more, so 40 of 25 are two parts and not ten or forty. */
    begin(&b);
    cw_buf_puts(&b, ".func shared()\n");
    body(&b, 400, "");
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 24, "call shared;");
    CHECK(divide(&b, LIMIT, 40, NULL, part) >= 2 && part[0] == part[14] && part[39] <= 2);
    /* Every other one fetches: those are together in the last part, whose texture code is worth thousands of instructions. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, k % 2 ? "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];" : "");
    CHECK(divide(&b, LIMIT, 40, NULL, part) == 6);
    for (unsigned k = 0; k < 40; k++)
        CHECK(part[k] == (k % 2 ? 5 : k / 8));
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
