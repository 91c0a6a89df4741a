/* SPDX-License-Identifier: Apache-2.0
 * LLVM takes every option of the table (jit/llvm/options.cpp), and code for a processor does not depend on what the process compiled before:
 * for one with options of its own (gfx908 with matrix instructions), and for another target; LLD, which resets options, has run.
 *   options FILE.ptx */
#include "impl/base/file.h"
#include "jit/driver/aot.h"
#include "jit/link/program.h"
#include "jit/llvm/options.h"

#include <llvm-c/Support.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned failures;

static void
expect(bool ok, const char *what)
{
    if (!ok) {
        printf("FAIL %s\n", what);
        failures++;
    }
}

static void
compile(const char *text, size_t size, enum cwj_target target, const char *cpu, enum cwj_emit emit, bool matrix_native, struct cw_buf *out)
{
    struct cwj_input in = { "options", text, size };
    struct cwj_aot_options o = { .target = target, .cpu = cpu, .emit = emit, .opt_level = 3, .matrix_native = matrix_native };
    struct cwj_program *p = NULL;
    struct cwj_diags d;
    cwj_diags_init(&d);
    cw_buf_init(out);
    cw_result r = cwj_program_create(&in, 1, false, &p, &d);
    if (!r)
        r = cwj_aot(p, &o, out, &d);
    for (const struct cwj_diag *x = d.first; x; x = x->next)
        printf("P%u: %s\n", x->code, x->text);
    expect(!r, cpu ? cpu : "host");
    cwj_program_destroy(p);
    cwj_diags_finish(&d);
}

static bool
same(const struct cw_buf *a, const struct cw_buf *b)
{
    return a->size == b->size && a->size > 1000 && !memcmp(a->data, b->data, a->size);
}

int
main(int argc, char **argv)
{
    struct cw_buf first, other, again, changed, options;
    char *text = NULL;
    size_t size;
    if (argc != 2 || cw_file_read(argv[1], 1 << 24, &text, &size)) {
        fprintf(stderr, "usage: options FILE.ptx\n");
        return 2;
    }
    compile(text, size, CWJ_TARGET_AMDGCN, "gfx1100", CWJ_EMIT_ASM, false, &first);
    cw_buf_init(&options);
    cwj_options_print(&options);
    cw_buf_append(&options, "", 1);
    expect(options.size > 100 && !strstr(options.data, "has none such"), options.data);
    compile(text, size, CWJ_TARGET_AMDGCN, "gfx908", CWJ_EMIT_OBJ, true, &other);
    cw_buf_finish(&other);
    compile(text, size, CWJ_TARGET_HOST, NULL, CWJ_EMIT_OBJ, false, &other);
    compile(text, size, CWJ_TARGET_AMDGCN, "gfx1100", CWJ_EMIT_ASM, false, &again);
    expect(same(&first, &again), "the same code before and after compilations for others");

    /* Had one of them left its option behind, it would show. */
    LLVMParseCommandLineOptions(2, (const char *const[]){ "options", "-disable-copyprop" }, NULL);
    compile(text, size, CWJ_TARGET_AMDGCN, "gfx1100", CWJ_EMIT_ASM, false, &changed);
    expect(!same(&first, &changed), "an option that stays on changes the code");
    printf("%s%u failures\n", options.data, failures);
    struct cw_buf *all[] = { &first, &other, &again, &changed, &options };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cw_buf_finish(all[i]);
    free(text);
    return failures != 0;
}
