/* SPDX-License-Identifier: Apache-2.0
 * Rewritten PTX has to be PTX: each kernel of each file given is rewritten in both modes and parsed again. In the parsed text each
 * instruction of the original one has to be there still, in its order. Usage: instrument_test FILE... */
#include "replay/instrument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned failures, rewritten;

static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (*size = (size_t)ftell(f)) && !fseek(f, 0, SEEK_SET) && (p = malloc(*size + 1)) &&
        fread(p, 1, *size, f) == *size)
        p[*size] = 0;
    if (f)
        fclose(f);
    return p;
}

/* Every instruction of `a`, in its order, among those of `b`, which has those that were put in too. */
static bool
contains(const struct ptx_function *a, const struct ptx_function *b)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->ninsts; i++) {
        const struct ptx_inst *x = &a->insts[i], *y;
        for (;; k++) {
            if (k == b->ninsts)
                return false;
            y = &b->insts[k];
            if (x->line == y->line && x->op == y->op && !memcmp(x->type, y->type, sizeof x->type) && x->has_guard == y->has_guard &&
                (x->noperands == y->noperands) && x->flags == y->flags)
                break;
        }
        k++;
    }
    return true;
}

static void
check(const char *path, const struct cwi_program *p, enum cwi_mode mode, const char *kernel)
{
    static const uint32_t block[3] = { 32, 1, 1 };
    struct cw_buf out;
    struct cwd_error e = { "" };
    struct cwj_diags diags;
    struct ptx_module *m = NULL;
    cw_buf_init(&out);
    cwj_diags_init(&diags);
    if (cwi_rewrite(p, 0, mode, kernel, block, 1 << 20, &out, &e) != CW_OK) {
        printf("%s: %s: %s\n", path, kernel, e.text);
        failures++;
    } else if (ptx_parse("rewritten", out.data, out.size, &m, &diags) != CW_OK || diags.errors) {
        printf("%s: %s: the rewritten text is not PTX: line %u column %u: %s\n", path, kernel, diags.first->line, diags.first->column,
               diags.first->text);
        failures++;
    } else {
        for (uint32_t i = 0; i < p->modules[0]->nfuncs; i++)
            if (!contains(p->modules[0]->funcs[i], m->funcs[i])) {
                printf("%s: %s: %s lacks instructions\n", path, kernel, m->funcs[i]->sym->name);
                failures++;
            }
        rewritten++;
    }
    if (m)
        ptx_module_destroy(m);
    cwj_diags_finish(&diags);
    cw_buf_finish(&out);
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct cwi_program p;
        struct cwd_error e = { "" };
        struct cwj_input *in = calloc(1, sizeof *in);
        if (!in || !(in->text = read_file(argv[i], &in->size))) {
            printf("cannot read %s\n", argv[i]);
            return 2;
        }
        in->name = strdup(argv[i]);
        if (cwi_open(&p, in, 1, &e) != CW_OK) {
            printf("%s: %s\n", argv[i], e.text);
            failures++;
            continue;
        }
        for (uint32_t f = 0; f < p.modules[0]->nfuncs && p.modules[0]->address_size == 64; f++) {
            const struct ptx_function *fn = p.modules[0]->funcs[f];
            if (!fn->is_entry || !fn->has_body)
                continue;
            check(argv[i], &p, CWI_TRACE, fn->sym->name);
            check(argv[i], &p, CWI_WATCH, fn->sym->name);
        }
        cwi_close(&p);
    }
    printf("%u kernels rewritten, %u failures\n", rewritten, failures);
    return failures || !rewritten;
}
