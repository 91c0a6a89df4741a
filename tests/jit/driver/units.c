/* SPDX-License-Identifier: Apache-2.0
 * How programs are divided into units: each kernel in one, units of about the size asked for, kernels that share code together. What they say
 * while they are compiled is not lost. */
#include "jit/driver/units.h"

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
    cw_buf_puts(b, ".version 7.0\n.target sm_80\n.address_size 64\n");
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

/* Says which kernel is the first of the unit, in two messages, and fails. */
static void
complain(struct cwj_unit *unit, void *user)
{
    unsigned k = 0;
    (void)user;
    while (!unit->kernels[k])
        k++;
    cwj_diag_add(&unit->diags, PTX_WARNING, 1, 0, 0, "unit of kernel %u", k);
    cwj_diag_add(&unit->diags, PTX_ERROR, 2, 0, 0, "kernel %u", k);
    unit->result = CW_ERR_SYNTAX;
}

/* What units say arrives, in the order of the units. */
static void
check_messages(struct cwj_units *units)
{
    struct cwj_diags diags;
    cwj_diags_init(&diags);
    CHECK(cwj_units_run(units, 1, complain, NULL, &diags) == CW_ERR_SYNTAX);
    CHECK(diags.errors == units->n && diags.warnings == units->n);
    const struct cwj_diag *d = diags.first;
    for (uint32_t i = 0; i < units->n && i < 10; i++) {
        char text[2][40];
        unsigned k = 0;
        while (!units->at[i].kernels[k])
            k++;
        snprintf(text[0], sizeof text[0], "unit of kernel %u", k);
        snprintf(text[1], sizeof text[1], "kernel %u", k);
        for (unsigned j = 0; j < 2; j++, d = d ? d->next : NULL)
            CHECK(d && !strcmp(d->text, text[j]));
    }
    cwj_diags_finish(&diags);
}

/* The number of units. unit[k]: that of kernel k, which is the only one. */
static uint32_t
divide(struct cw_buf *text, uint32_t limit, unsigned kernels, const bool *left_out, uint32_t *unit)
{
    struct cwj_input in = { "test", text->data, text->size };
    struct cwj_diags diags;
    struct cwj_program *p = NULL;
    struct cwj_units units;
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
    CHECK(cwj_units_make(p, take, limit, &units) == CW_OK);
    n = units.n;
    for (unsigned k = 0; k < kernels; k++) {
        unsigned places = 0;
        for (uint32_t i = 0; i < n; i++)
            if (units.at[i].kernels[k]) {
                unit[k] = i;
                places++;
            }
        CHECK(places == take[k]);
    }
    for (uint32_t i = 0; i < n; i++)
        CHECK(units.at[i].first == (i == 0));
    check_messages(&units);
    cwj_units_finish(&units);
    cwj_program_destroy(p);
    cwj_diags_finish(&diags);
    cw_buf_finish(text);
    return n;
}

int
main(void)
{
    static uint32_t unit[MAX_KERNELS];
    static bool left_out[MAX_KERNELS];
    struct cw_buf b;
    /* Forty of 25: four to a unit. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, LIMIT, 40, NULL, unit) == 10);
    for (unsigned k = 0; k < 40; k++)
        CHECK(unit[k] == k / 4);
    /* Half of them. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    for (unsigned k = 0; k < 40; k += 2)
        left_out[k] = true;
    CHECK(divide(&b, LIMIT, 40, left_out, unit) == 5);
    /* All in one, where that is asked for and where it is little. */
    begin(&b);
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, 0, 40, NULL, unit) == 1);
    begin(&b);
    for (unsigned k = 0; k < 10; k++)
        kernel(&b, k, 25, "");
    CHECK(divide(&b, LIMIT, 10, NULL, unit) == 1);
    /* There are never many more than 64. */
    begin(&b);
    for (unsigned k = 0; k < MAX_KERNELS; k++)
        kernel(&b, k, 50, "");
    CHECK(divide(&b, LIMIT, MAX_KERNELS, NULL, unit) <= 70);
    /* One function of 400 that all call: half of a unit may be that, not more, so 40 of 25 are two units and not ten or forty. */
    begin(&b);
    cw_buf_puts(&b, ".func shared()\n");
    body(&b, 400, "");
    for (unsigned k = 0; k < 40; k++)
        kernel(&b, k, 24, "call shared;");
    CHECK(divide(&b, LIMIT, 40, NULL, unit) >= 2 && unit[0] == unit[14] && unit[39] <= 2);
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
