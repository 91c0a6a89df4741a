/* SPDX-License-Identifier: Apache-2.0
 * Runs the cases of negative.txt: each text must be rejected with exactly the errors that the case lists. */
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/ptx/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    ".version 9.0\n.target sm_100\n.address_size 64\n.entry k (.param .u64 p) {\n"
    ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<8>;\n";

static unsigned cases, failures;

static void
run(unsigned line, const char *expect, const char *text, size_t size)
{
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    struct cw_buf all, got;
    cwj_diags_init(&d);
    cw_buf_init(&all);
    cw_buf_init(&got);
    bool body = !strncmp(expect, "body ", 5);
    expect += body ? 5 : 7;
    cw_buf_puts(&all, body ? head : "");
    cw_buf_append(&all, text, size);
    cw_buf_puts(&all, body ? "\nret;\n}\n" : "");
    cw_result r = ptx_parse("case", all.data, all.size, &m, &d);
    for (const struct cwj_diag *g = d.first; g; g = g->next)
        if (g->severity == PTX_ERROR)
            cw_buf_printf(&got, "%sP%04u %u:%u", got.size ? " " : "", g->code, g->line, g->column);
    cases++;
    if (r == CW_OK || m || !got.data || strcmp(got.data, expect)) {
        failures++;
        printf("negative.txt:%u: expected %s, got %s\n", line, expect, got.data ? got.data : "no error");
        got.size = 0;
        cwj_diags_render(&d, "case", all.data, all.size, &got);
        printf("%s", got.data ? got.data : "");
    }
    ptx_module_destroy(m);
    cw_buf_finish(&all);
    cw_buf_finish(&got);
    cwj_diags_finish(&d);
}

int
main(int argc, char **argv)
{
    char *data;
    size_t size;
    if (argc != 2 || cw_file_read(argv[1], 1 << 20, &data, &size) != CW_OK)
        return 2;
    unsigned line = 1, case_line = 0;
    char expect[400] = "";
    const char *from = NULL;
    for (char *s = data; s <= data + size; line++) {
        char *e = s < data + size ? strchr(s, '\n') : NULL;
        e = e ? e : data + size;
        bool start = !strncmp(s, "== ", 3);
        if (from && (start || s >= data + size)) {
            const char *end = s;
            while (end > from && (end[-1] == '\n' || end[-1] == '\r'))
                end--;
            run(case_line, expect, from, (size_t)(end - from));
        }
        if (start) {
            snprintf(expect, sizeof expect, "%.*s", (int)(e - s - 3), s + 3);
            case_line = line;
            from = e + 1;
        }
        s = e + 1;
    }
    free(data);
    printf("%u cases, %u failures\n", cases, failures);
    return failures || cases < 50;
}
