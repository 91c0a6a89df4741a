/* SPDX-License-Identifier: Apache-2.0
 * Rewritten PTX has to be PTX: each kernel of each file given is rewritten in each mode and parsed again. In the parsed text each
 * instruction of the original one has to be there still, in its order. Usage:
 *   instrument_test FILE...
 *   instrument_test --dump trace|watch|step|bound IN OUT      a dump whose kernel is rewritten, and that has the results of the plain one; of
 *                                                  the records, thread 0 traced, or what is stored to the last buffer
 *   instrument_test --print trace|watch|step|bound FILE KERNEL
 *   instrument_test --all trace|watch|step IN OUT       a text all of whose kernels are rewritten and do record, whatever loads it: of all
 *                                                  threads of block 0 the first 8 results, or all stores to global memory (the range
 *                                                  is all addresses, from a variable's on and around to it: where there is an
 *                                                  ldmatrix its first word is read) */
#include "replay/side.h"

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
check(const char *path, struct cwi_program *p, enum cwi_mode mode, const char *kernel)
{
    static const uint32_t block[3] = { 32, 1, 1 };
    struct cw_buf out;
    struct cwd_error e = { "" };
    struct cwj_diags diags;
    struct ptx_module *m = NULL;
    uint32_t id;
    if (mode == CWI_BOUND && cwi_bound_refuses(p, kernel, &id))
        return;
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
        uint32_t put_in = m->nfuncs - p->modules[0]->nfuncs;       /* functions, which come first */
        for (uint32_t i = 0; i < p->modules[0]->nfuncs; i++)
            if (!contains(p->modules[0]->funcs[i], m->funcs[put_in + i])) {
                printf("%s: %s: %s lacks instructions\n", path, kernel, m->funcs[put_in + i]->sym->name);
                failures++;
            }
        rewritten++;
    }
    if (m)
        ptx_module_destroy(m);
    cwj_diags_finish(&diags);
    cw_buf_finish(&out);
}

static enum cwi_mode
mode_of(const char *name)
{
    return !strcmp(name, "watch") ? CWI_WATCH : !strcmp(name, "step") ? CWI_STEP : !strcmp(name, "bound") ? CWI_BOUND : CWI_TRACE;
}

static int
dump(const char *mode, const char *in, const char *out)
{
    enum { BYTES = 1 << 20, SHARED = 1 << 15 };
    bool watch = !strcmp(mode, "watch"), bound = !strcmp(mode, "bound");
    uint32_t id;
    struct cwl_side s = { .folder = "/tmp", .number = 9, .label = "dump" };
    struct cwd_error e = { "" };
    cw_result r = cwl_open(&s, in, &e);
    const struct cwd_buffer *b = r == CW_OK && s.dump.nbuffers ? &s.dump.buffers[s.dump.nbuffers - 1] : NULL;
    uint64_t bytes = BYTES, blocks = (uint64_t)s.dump.grid[0] * s.dump.grid[1] * s.dump.grid[2], bounds[16] = { [CWI_ROOM] = CWI_HEADER, [CWI_SIZE] = SHARED };
    const uint64_t control[16] = { [CWI_COUNT] = 1, [CWI_ROOM] = watch ? 0 : (BYTES - CWI_HEADER) / 16 - 1, [CWI_ADDRESS] = b ? b->address : 0,
                                   [CWI_RAW] = UINT64_MAX, [CWI_SIZE] = b ? b->size : 0 };
    if (r == CW_OK)
        r = cwl_parse(&s, 86, &e);
    if (r == CW_OK && bound && cwi_bound_refuses(&s.program, s.dump.kernel, &id))
        r = CW_ERR_NO_PTX;
    if (r == CW_OK && bound) {          /* of no buffer, of 16 KiB of shared memory, and the threads' frames */
        bounds[CWI_ADDRESS] = CWI_HEADER + blocks * SHARED;
        bytes = bounds[CWI_ADDRESS] + blocks * s.dump.block[0] * s.dump.block[1] * s.dump.block[2] * s.program.frame_bytes;
    }
    if (r == CW_OK)
        r = cwl_write_rewritten(&s, mode_of(mode), bound ? bounds : control, bytes, out, &e);
    cwl_close(&s);
    if (r != CW_OK)
        printf("%s: %s\n", in, e.text);
    return r == CW_OK ? 0 : r == CW_ERR_NO_PTX ? 77 : 1;
}

static int
all(const char *mode, const char *path, const char *to)
{
    static const char variable[] = " .visible .global .align 16 .u8 " CWI_VARIABLE "[1048576]", first[] = "cudaway_first";
    struct cwi_program p;
    struct cwd_error e = { "" };
    struct cw_buf out;
    bool ok = false;
    uint64_t control[16] = { [CWI_COUNT] = 1024, [CWI_ROOM] = 8, [CWI_RAW] = UINT64_MAX, [CWI_SIZE] = UINT64_MAX - 63 };
    struct cwj_input *in = calloc(1, sizeof *in);
    if (!in || !(in->text = read_file(path, &in->size)) || !(in->name = strdup(path)))
        return 2;
    if (cwi_open(&p, in, 1, &e) != CW_OK) {
        printf("%s: %s\n", path, e.text);
        return 1;
    }
    cw_buf_init(&out);
    cw_result r = cwi_rewrite(&p, 0, mode_of(mode), NULL, NULL, 1 << 20, &out, &e);
    char *at = r == CW_OK ? strstr(out.data, variable) : NULL;
    FILE *f = at ? fopen(to, "wb") : NULL;
    if (f) {
        fprintf(f, "%.*s .global .align 8 .b64 %s;%s", (int)(at - out.data), out.data, first, variable);
        at += sizeof variable - 1;
        for (unsigned i = 0; i < 128; i++) {
            fputs(i ? "," : " = {", f);
            if (i / 8 == CWI_ADDRESS)
                fprintf(f, "0x%llx(%s)", 0xffull << i % 8 * 8, first);
            else
                fprintf(f, "%u", (unsigned)(control[i / 8] >> i % 8 * 8 & 0xff));
        }
        fputc('}', f);
        fwrite(at, 1, out.size - (size_t)(at - out.data), f);
        ok = !fclose(f);
    }
    if (!ok)
        printf("%s: %s\n", path, e.text);
    cw_buf_finish(&out);
    cwi_close(&p);
    return !ok;
}

int
main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--all"))
        return all(argv[2], argv[3], argv[4]);
    if (argc == 5 && !strcmp(argv[1], "--dump"))
        return dump(argv[2], argv[3], argv[4]);
    bool print = argc == 5 && !strcmp(argv[1], "--print");
    for (int i = print ? 3 : 1; i < (print ? 4 : argc); i++) {
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
        if (print) {
            struct cw_buf out;
            cw_buf_init(&out);
            cw_result r = cwi_rewrite(&p, 0, mode_of(argv[2]), argv[4], (const uint32_t[]){ 32, 1, 1 }, 1 << 20, &out, &e);
            puts(r == CW_OK ? out.data : e.text);
            cw_buf_finish(&out);
            cwi_close(&p);
            return r != CW_OK;
        }
        for (uint32_t f = 0; f < p.modules[0]->nfuncs && p.modules[0]->address_size == 64; f++) {
            const struct ptx_function *fn = p.modules[0]->funcs[f];
            if (!fn->is_entry || !fn->has_body)
                continue;
            check(argv[i], &p, CWI_TRACE, fn->sym->name);
            check(argv[i], &p, CWI_WATCH, fn->sym->name);
            check(argv[i], &p, CWI_STEP, fn->sym->name);
            check(argv[i], &p, CWI_BOUND, fn->sym->name);
        }
        cwi_close(&p);
    }
    printf("%u kernels rewritten, %u failures\n", rewritten, failures);
    return failures || !rewritten;
}
