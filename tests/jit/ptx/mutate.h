/* SPDX-License-Identifier: Apache-2.0
 * What a fuzzed text goes through; shared by the libFuzzer target and the deterministic run. A text that is accepted must
 * be valid, must have a flow graph, and its print must be accepted again. */
#ifndef TEST_PTX_MUTATE_H
#define TEST_PTX_MUTATE_H

#include "impl/base/buf.h"
#include "jit/ptx/ir.h"

#include <stdio.h>
#include <stdlib.h>

static inline int
try_text(const char *text, size_t size)
{
    struct cwj_diags d;
    struct ptx_module *m = NULL, *again = NULL;
    struct cw_buf b;
    int accepted = 0;
    cwj_diags_init(&d);
    cw_buf_init(&b);
    if (ptx_parse("fuzz", text, size, &m, &d) == CW_OK) {
        accepted = 1;
        for (uint32_t i = 0; i < m->nfuncs; i++)
            if (ptx_function_build_cfg(m->funcs[i]) != CW_OK)
                abort();
        if (ptx_module_validate(m, &d) != CW_OK) {
            cwj_diags_render(&d, "fuzz", text, size, &b);
            fprintf(stderr, "accepted, but not valid:\n%s", b.data);
            abort();
        }
        ptx_module_print(m, &b);
        if (!b.data || b.failed)
            abort();
        if (ptx_parse("print", b.data, b.size, &again, &d) != CW_OK) {
            struct cw_buf t;
            cw_buf_init(&t);
            cwj_diags_render(&d, "print", b.data, b.size, &t);
            fprintf(stderr, "the print is not accepted:\n%s\n%s", t.data, b.data);
            abort();
        }
        ptx_module_destroy(again);
    } else {
        if (!d.errors || m)
            abort();
        cwj_diags_render(&d, "fuzz", text, size, &b);
    }
    cw_buf_finish(&b);
    ptx_module_destroy(m);
    cwj_diags_finish(&d);
    return accepted;
}

#endif
