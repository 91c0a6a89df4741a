/* SPDX-License-Identifier: Apache-2.0
 * What the writer and the reader of dumps share: names, sizes of arrays, ownership. */
#include "replay/dump.h"

#include "impl/api/cuda.h"

#include <stdlib.h>
#include <string.h>

const char *
cwd_kind_name(enum cwd_kind k)
{
    static const char *const names[] = {
#define X(e, n) n,
        CWD_KIND_MAP(X)
#undef X
    };
    return (unsigned)k < CWD_KIND_COUNT ? names[k] : "?";
}

const char *
cwd_input_name(enum cwd_input_kind k)
{
    static const char *const names[] = {
#define X(e, n, j) n,
        CWD_INPUT_MAP(X)
#undef X
    };
    return (unsigned)k < CWD_INPUT_COUNT ? names[k] : "?";
}

unsigned
cwd_texel_bytes(uint32_t format, uint32_t channels)
{
    unsigned one;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8:
        one = 1;
        break;
    case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16: case CU_AD_FORMAT_HALF:
        one = 2;
        break;
    case CU_AD_FORMAT_UNSIGNED_INT32: case CU_AD_FORMAT_SIGNED_INT32: case CU_AD_FORMAT_FLOAT:
        one = 4;
        break;
    default:
        return 0;
    }
    return channels == 1 || channels == 2 || channels == 4 ? one * channels : 0;
}

bool
cwd_array_level(const struct cwd_array *a, uint32_t level, uint64_t extent[3])
{
    const uint64_t most = 1u << 20;
    if (!a->width || a->width > most || a->height > most || a->depth > most || level >= (a->levels ? a->levels : 1) || level > 20)
        return false;
    bool layered = a->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    extent[0] = a->width >> level;
    extent[1] = a->height >> level;
    extent[2] = layered ? a->depth : a->depth >> level;
    for (int i = 0; i < 3; i++)
        if (!extent[i])
            extent[i] = 1;
    return true;
}

uint64_t
cwd_array_bytes(const struct cwd_array *a)
{
    uint64_t sum = 0, texel = cwd_texel_bytes(a->format, a->channels);
    for (uint32_t l = 0; l < (a->levels ? a->levels : 1); l++) {
        uint64_t e[3];
        if (!cwd_array_level(a, l, e))
            return 0;
        uint64_t texels = e[0] * e[1] * e[2];   /* 60 bits at most */
        sum += texels > 1ull << 40 ? 1ull << 41 : texels * texel;
        if (sum > 1ull << 40)
            return 0;
    }
    return sum;
}

void
cwd_init(struct cwd_dump *d)
{
    *d = (struct cwd_dump){ 0 };
    cw_arena_init(&d->arena);
}

void
cwd_finish(struct cwd_dump *d)
{
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        if (d->buffers[i].after != d->buffers[i].before)
            free(d->buffers[i].after);
        free(d->buffers[i].before);
    }
    for (uint32_t i = 0; i < d->narrays; i++) {
        if (d->arrays[i].after != d->arrays[i].before)
            free(d->arrays[i].after);
        free(d->arrays[i].before);
    }
    for (uint32_t i = 0; i < d->ninputs && !d->borrowed; i++)
        free(d->inputs[i].data);
    cw_arena_finish(&d->arena);
    *d = (struct cwd_dump){ 0 };
}
