/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target of --step: the input is records, which a kernel may have written, and behind the first line break commands. Kinds, instructions and threads are mostly
 * made such as there are. */
#include "replay/step_private.h"
#include "replay/step_reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n.visible .global .align 4 .u32 total;\n"
    ".func (.reg .f32 %r) grow(.reg .f32 %x)\n{\n.reg .f32 %y;\n.loc 1 4 1\nmul.rn.f32 %y, %x, %x;\nadd.rn.f32 %r, %y, 0f3F800000;\nret;\n}\n"
    ".visible .entry k(.param .u64 in, .param .align 8 .b8 s[24])\n{\n.shared .align 4 .f32 part[64]; .local .align 8 .b8 own[64];\n"
    ".reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p; .reg .b16 %h<3>;\n.loc 1 10 1\nld.param.u64 %d1, [in];\nmov.u64 %d2, own;\nmov.u32 %r1, part;\n"
    "again: call (%f1), grow, (%f1);\n.loc 1 11 1\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+8];\nst.shared.v2.f32 [%r1], {%f1, 0f3F800000};\n@%p st.local.u16 [%d2+2], %h1;\n"
    "atom.global.cas.b32 %r5, [%d1], %r6, 7;\nred.shared.add.f32 [%r1], %f2;\natom.global.inc.u32 %r5, [%d1], %r6;\n.loc 1 12 1\n@%p bra again;\nld.u64 %d3, [%d2];\nret;\n}\n";

static bool
begin(struct cws_ui *u)
{
    struct cwd_error e;
    struct cwd_dump *d = &u->s.side.dump;
    struct cwj_input *in = calloc(1, sizeof *in);
    static uint8_t block[32], before[256];
    static struct cwd_buffer buffers[] = { { CWD_GLOBAL, NULL, NULL, 4096, sizeof before, before }, { CWD_VARIABLE, "total", NULL, 8192, 4, before } };
    cwd_init(d);
    *d = (struct cwd_dump){ .arena = d->arena, .kernel = "k", .grid = { 2, 1, 1 }, .block = { 8, 4, 2 }, .param_block = block, .param_size = sizeof block, .buffers = buffers, .nbuffers = 2 };
    u->s.side.folder = "/nonexistent";
    block[1] = 16;                      /* in = 4096 */
    if (!in)
        return false;
    *in = (struct cwj_input){ .name = strdup("module.ptx"), .text = strdup(ptx), .size = sizeof ptx - 1 };
    return cwi_open(&u->s.side.program, in, 1, &e) == CW_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum cwi_kind kinds[] = { CWI_AT, CWI_RESULT, CWI_STORE, CWI_ENTRY, CWI_ARGUMENT, CWI_SYMBOL, CWI_AT, CWI_AT };
    struct cws_ui u = { .json = size & 1 };
    struct cwd_error e;
    const uint8_t *lines = memchr(data, '\n', size);
    size_t n = (lines ? (size_t)(lines - data) : size) / 4;
    uint64_t *records = calloc(2 * n + 2, sizeof *records);
    cw_buf_init(&u.out);
    if (!freopen("/dev/null", "w", stdout) || !records || !begin(&u))
        abort();
    for (size_t i = 0; i < n; i++) {
        const uint8_t *b = data + 4 * i;
        uint32_t id = b[1] == 255 ? UINT32_MAX : b[1] % u.s.side.program.ninsts;
        records[2 * i] = CWI_KEY(kinds[b[0] & 7], b[2] & 128 ? b[2] : b[2] & 7, id) | (uint64_t)(b[0] >> 3) << 48;
        records[2 * i + 1] = ~(b[3] & 128 ? (uint64_t)b[3] << 56 : 4096 + (uint64_t)b[3]);
    }
    if (cws_read(&u.s, 0, 0, 64, (const uint8_t *)records, n, &e) == CW_OK) {
        for (unsigned i = 0; lines && i < 40 && !u.quit; i++) {
            char line[200];
            const uint8_t *end = memchr(lines + 1, '\n', size - (size_t)(lines + 1 - data));
            size_t k = (end ? (size_t)(end - lines) : size - (size_t)(lines - data)) - 1;
            k = k < sizeof line ? k : sizeof line - 1;
            memcpy(line, lines + 1, k);
            line[k] = 0;
            cws_command(&u, line);
            lines = end;
        }
    }
    free(records);
    cws_ui_finish(&u);
    return 0;
}
