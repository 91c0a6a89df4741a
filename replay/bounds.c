/* SPDX-License-Identifier: Apache-2.0
 * See bounds.h. */
#include "replay/bounds.h"

#include "replay/analyze.h"
#include "replay/tar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1ull << 30)               /* bytes of bounds, two for each byte of memory */

#define RESERVED 1024                   /* of shared memory, by NVIDIA's driver */

/* At least what a block has, from address 0 on. */
static uint64_t
shared_size(const struct cwl_side *s)
{
    uint64_t size = s->dump.shared + 64 + RESERVED;
    for (uint32_t t = 0; t < s->program.ntexts; t++) {
        const struct ptx_module *m = s->program.modules[t];
        for (uint32_t i = 0; i < m->nvars; i++)
            size += m->vars[i]->space == PTX_SPACE_SHARED ? m->vars[i]->size + m->vars[i]->align : 0;
    }
    for (uint32_t f = 0; f < s->program.nframes; f++) {
        const struct ptx_function *fn = s->program.frames[f].fn;
        for (uint32_t i = 0; i < fn->nlocals; i++)
            size += fn->locals[i]->space == PTX_SPACE_SHARED ? fn->locals[i]->size + fn->locals[i]->align : 0;
    }
    return (size + 7) & ~7ull;
}

/* The words are aligned from the buffer's begin on. */
static bool
is_followed(const struct cwd_buffer *b)
{
    return b->kind != CWD_CONSTANT && b->address % 8 == 0;
}

/* The bounds of the elements of a buffer; NULL: they have none. Rounded up. */
static uint8_t *
take(const struct cwd_buffer *b, const uint8_t *words)
{
    unsigned width = cwd_element_width(b);
    uint8_t *out = width == 4 || width == 8 ? malloc(b->size + 1) : NULL;
    for (uint64_t i = 0; out && i < b->size / width; i++) {
        double d;
        memcpy(&d, words + i * width * 2, sizeof d);
        if (d < 0)                          /* the upper half of an f64: of an f32 it is no bound */
            d = INFINITY;
        float f = (float)d;
        if ((double)f < d)
            f = nextafterf(f, INFINITY);
        memcpy(out + i * width, width == 4 ? (const void *)&f : (const void *)&d, width);
    }
    return out;
}

/* Of a run that counted them; at least 1. */
static uint64_t
most_additions(const uint8_t *slots, uint64_t n)
{
    double most = 1, d;
    for (uint64_t i = 0; i < n; i++) {
        memcpy(&d, slots + i * 8, sizeof d);
        if (d > most)
            most = d;
    }
    return most < 0x1p62 ? (uint64_t)most : UINT64_MAX;
}

cw_result
cwd_bounds_run(struct cwl_side *s, struct cwd_bounds *b, struct cwd_error *e)
{
    const struct cwd_dump *d = &s->dump;
    char place[700];
    uint32_t id, n = 0;
    const char *why = cwi_bound_refuses(&s->program, d->kernel, &id);
    *b = (struct cwd_bounds){ 0 };
    if (why) {
        cwi_place_text(&s->program, id, "", place, sizeof place);
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "no bounds: %s are not followed: %.300s", why, place);
    }
    size_t size = CWI_HEADER + d->nbuffers * (size_t)32;
    uint64_t *control = calloc(1, size), *at = calloc(d->nbuffers + (size_t)1, sizeof *at), shared = shared_size(s) * 2, bytes = size, slots;
    uint64_t blocks = (uint64_t)d->grid[0] * d->grid[1] * d->grid[2];
    b->buffers = calloc(d->nbuffers + (size_t)1, sizeof *b->buffers);
    if (!control || !at || !b->buffers) {
        free(control);
        free(at);
        return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    }
    b->nbuffers = d->nbuffers;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        if (!is_followed(&d->buffers[i]))
            continue;
        uint64_t *entry = control + (CWI_HEADER + 32 * n++) / 8;
        at[i] = bytes;
        entry[0] = d->buffers[i].address;
        entry[1] = d->buffers[i].size;
        entry[2] = bytes;
        bytes += (d->buffers[i].size + 7) / 8 * 16;
    }
    control[CWI_START] = n;
    control[CWI_ROOM] = bytes;
    control[CWI_SIZE] = shared;
    bytes += shared * blocks;
    slots = bytes;
    control[CWI_ADDRESS] = bytes;
    bytes += s->program.frame_bytes * blocks * d->block[0] * d->block[1] * d->block[2];
    control[CWI_COUNT] = !cwi_bound_counts(&s->program);
    cw_result r = bytes > MOST || shared > MOST ? cwd_fail(e, CW_ERR_UNSUPPORTED, "no bounds: the launch's memory is too large, bounds for it take %llu MiB of at most 1024", (unsigned long long)(bytes >> 20))
        : cwl_run_bounded(s, control, size, bytes, e);
    if (r == CW_OK && !control[CWI_COUNT]) {
        control[CWI_COUNT] = most_additions(s->log + size, (slots - size) / 8);
        r = cwl_run_bounded(s, control, size, bytes, e);
    }
    for (uint32_t i = 0; i < d->nbuffers && r == CW_OK; i++)
        if (at[i])
            b->buffers[i] = take(&d->buffers[i], s->log + at[i]);
    free(control);
    free(at);
    return r;
}

void
cwd_bounds_finish(struct cwd_bounds *b)
{
    for (uint32_t i = 0; i < b->nbuffers && b->buffers; i++)
        free(b->buffers[i]);
    free(b->buffers);
    *b = (struct cwd_bounds){ 0 };
}
