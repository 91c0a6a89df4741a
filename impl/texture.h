/* SPDX-License-Identifier: Apache-2.0
 * Arrays, and textures and surfaces over them (jit/abi/texture.h), for devices where texture instructions are computed: the host
 * (impl/host/texture.c) and AMD GPUs (impl/hip/texture.c). */
#ifndef CW_TEXTURE_H
#define CW_TEXTURE_H

#include "impl/backend.h"

/* An array: its levels are one block of memory. */
struct cw_array {
    struct cwb_array_desc desc;
    uint32_t element;                   /* bytes of a texel */
    uint64_t memory;                    /* address, or 0 */
    size_t   size;
    struct cw_level level[CW_MAX_LEVELS];
};

uint32_t cw_format_bytes(enum cwb_format f);

/* Everything except the memory: size and levels, relative to address 0. Rows begin at multiples of `align` bytes, a power of
 * two. CWB_INVALID, CWB_NOMEM. */
cwb_result cw_array_layout(const struct cwb_array_desc *d, uint32_t align, struct cw_array *a);
/* Put it at this address. */
void       cw_array_place(struct cw_array *a, uint64_t memory);
/* Rewrite an ARRAY endpoint of a copy to its memory, of kind `loc`. */
cwb_result cw_array_side(struct cwb_side *s, enum cwb_loc loc);

/* All but the handle. d->array is a struct cw_array. */
cwb_result cw_texture_describe(const struct cwb_texture_desc *d, struct cw_texture *t);
cwb_result cw_surface_describe(const struct cw_array *a, uint32_t level, struct cw_texture *t);

#endif
