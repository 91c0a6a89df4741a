/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: several texts, with a form feed between them, are parsed and linked to a program, and what is known about each
 * kernel is looked at. Undefined names are allowed where the input begins with a '?'. */
#include "jit/link/program.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXTS = 4 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[TEXTS] = { "one", "two", "three", "four" };
    struct cwj_input in[TEXTS];
    struct cwj_program *p = NULL;
    struct cwj_diags d;
    struct cw_buf b;
    size_t n = 0;
    bool undefined = size && data[0] == '?';
    const uint8_t *at = data + undefined, *end = data + size;
    if (size > 1u << 18)
        return 0;
    while (n < TEXTS) {
        const uint8_t *stop = n + 1 < TEXTS && at < end ? memchr(at, '\f', (size_t)(end - at)) : NULL;
        in[n] = (struct cwj_input){ names[n], (const char *)at, (size_t)((stop ? stop : end) - at) };
        n++;
        if (!stop)
            break;
        at = stop + 1;
    }
    cwj_diags_init(&d);
    cw_buf_init(&b);
    cw_result r = cwj_program_create(in, n, undefined, &p, &d);
    if ((r == CW_OK) != (p != NULL) || (r != CW_OK && r != CW_ERR_NOMEM && !d.errors))
        __builtin_trap();
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; p && i < p->nkernels; i++) {
        const struct cwj_kernel *k = &p->kernels[i];
        sum += k->param_size + strlen(k->name) + p->closure[i].nfuncs + p->closure[i].shared.size;
        for (uint32_t v = 0; v < p->closure[i].shared.nvars; v++)
            sum += p->closure[i].shared.vars[v].offset;
    }
    for (uint32_t i = 0; p && i < p->image.nrelocs; i++)
        if (p->image.relocs[i].width > 8 || p->image.relocs[i].offset + p->image.relocs[i].width > p->image.size)
            __builtin_trap();
    cwj_diags_render(&d, "fuzz", (const char *)in[0].text, in[0].size, &b);
    cw_buf_finish(&b);
    cwj_program_destroy(p);
    cwj_diags_finish(&d);
    return 0;
}
