/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --info: the manifest for people. */
#include "replay/compare.h"
#include "impl/base/text.h"
#include "replay/replay.h"

#include "replay/analyze.h"

#include <stdio.h>
#include <string.h>

static void
print_params(const struct cwd_dump *d)
{
    cw_text_print(stdout, "parameters (%u bytes):\n", d->param_size);
    for (uint32_t i = 0; i < d->nparams; i++) {
        const struct cwd_param *p = &d->params[i];
        cw_text_print(stdout, "  %4u  %-6s %s", p->offset, p->type ? p->type : "?", p->name ? p->name : "");
        if (p->size <= 8) {
            uint64_t v = 0;
            memcpy(&v, d->param_block + p->offset, p->size);
            cw_text_print(stdout, " = 0x%llx", (unsigned long long)v);
        } else {
            cw_text_print(stdout, ", %u bytes", p->size);
        }
        putchar('\n');
    }
}

void
cwd_print_launch(const struct cwd_dump *d)
{
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_puts(&b, "{\"kernel\":");
    cw_buf_json_string(&b, d->kernel);
    cw_buf_printf(&b, ",\"launch\":%u}", d->launch);
    puts(b.failed ? "out of memory" : b.data);
    cw_buf_finish(&b);
}

int
cwd_info(const char *path)
{
    struct cwd_dump d;
    struct cwd_error e = { "" };
    if (cwd_read(path, 0, 0, &d, &e) != CW_OK) {
        cw_text_line(stderr, "cudaway-replay: %s", e.text);
        return 2;
    }
    cw_text_print(stdout, "kernel %s", d.kernel);
    if (d.launch)
        cw_text_print(stdout, ", launch %u", d.launch);
    cw_text_print(stdout, "\ngrid %u x %u x %u, block %u x %u x %u, dynamic shared memory %u bytes%s", d.grid[0], d.grid[1], d.grid[2], d.block[0],
                  d.block[1], d.block[2], d.shared, d.cooperative ? ", cooperative" : "");
    if (d.cluster[0])
        cw_text_print(stdout, ", clusters of %u x %u x %u", d.cluster[0], d.cluster[1], d.cluster[2]);
    putchar('\n');
    if (d.fault)
        cw_text_print(stdout, "failed with %s%s; memory is as it was then\n", d.fault, d.suspects > 1 ? ", this launch or another one" : "");
    cw_text_print(stdout, "recorded on %s (compute capability %u.%u, driver %u.%u) by CUDAway %s\n", d.device,
                  d.compute_capability / 10, d.compute_capability % 10, d.driver / 1000, d.driver % 1000 / 10, d.version ? d.version : "?");
    cw_text_print(stdout, "module%s:\n", d.linked ? ", linked" : "");
    for (uint32_t i = 0; i < d.ninputs; i++)
        cw_text_print(stdout, "  %s, %llu bytes%s%s\n", cwd_input_name(d.inputs[i].kind), (unsigned long long)d.inputs[i].size,
                      d.inputs[i].name ? ", " : "", d.inputs[i].name ? d.inputs[i].name : "");
    print_params(&d);
    if (d.nbuffers)
        cw_text_print(stdout, "buffers:\n");
    for (uint32_t i = 0; i < d.nbuffers; i++) {
        const struct cwd_buffer *b = &d.buffers[i];
        char where[160];
        cwd_where(&d, i, where, sizeof where);
        cw_text_print(stdout, "  %2u  0x%012llx  %10llu bytes  %-11s %-5s %s, %s\n", i, (unsigned long long)b->address, (unsigned long long)b->size,
                      cwd_kind_name(b->kind), b->element ? b->element : "", where,
                      !b->after ? "result unknown" : b->after == b->before ? "unchanged" : "changed");
    }
    if (d.narrays)
        cw_text_print(stdout, "arrays:\n");
    for (uint32_t i = 0; i < d.narrays; i++) {
        const struct cwd_array *a = &d.arrays[i];
        cw_text_print(stdout, "  %2u  %llu x %llu x %llu, format %u, %u channels, %s\n", i, (unsigned long long)a->width, (unsigned long long)a->height,
                      (unsigned long long)a->depth, a->format, a->channels,
                      !a->after ? "result unknown" : a->after == a->before ? "unchanged" : "changed");
    }
    if (d.ntextures)
        cw_text_print(stdout, "textures and surfaces:\n");
    for (uint32_t i = 0; i < d.ntextures; i++) {
        const struct cwd_texture *t = &d.textures[i];
        static const char *const resources[] = { "array", "mipmapped array", "linear memory", "pitched memory" };
        cw_text_print(stdout, "  %2u  %s 0x%llx of %s", i, t->surface ? "surface" : "texture", (unsigned long long)t->handle, resources[t->resource & 3]);
        if (t->array >= 0)
            cw_text_print(stdout, " %d", t->array);
        else
            cw_text_print(stdout, " at 0x%llx", (unsigned long long)t->address);
        putchar('\n');
    }
    cwd_finish(&d);
    return 0;
}
