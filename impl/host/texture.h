/* SPDX-License-Identifier: Apache-2.0
 * Arrays, textures and surfaces of the host device. A handle is an index into a process-wide table with a generation;
 * looking one up takes no lock. An object that a queued kernel may still use is kept until that kernel has finished
 * (device.c decides when to call cwh_texobj_free). */
#ifndef CWH_TEXTURE_H
#define CWH_TEXTURE_H

#include "impl/texture.h"

cwb_result cwh_array_create(const struct cwb_array_desc *d, struct cw_array **out);
void       cwh_array_destroy(struct cw_array *a);

cwb_result cwh_texture_create(const struct cwb_texture_desc *d, struct cw_texture **out);
cwb_result cwh_surface_create(const struct cw_array *a, uint32_t level, struct cw_texture **out);
/* NULL for an invalid handle. */
struct cw_texture *cwh_texobj_get(uint64_t handle);
void cwh_texobj_free(struct cw_texture *t);
/* A copy of another process's object, under its handle. False: no such handle can be, or no memory. */
bool cwh_texobj_mirror(const struct cw_texture *t);

/* tex_fast.c: a fetch of level 0 from a `fast` object, for all lanes. geom is 1D or 2D. coord: [component][lane].
 * False: nothing was done, since some lane is a special case. */
struct cwh_tex;
bool cwh_tex_fast(const struct cw_texture *t, const struct cwh_tex *x);
bool cwh_tex_fast_avx2(const struct cw_texture *t, const struct cwh_tex *x);   /* x86-64 CPUs that have it */

#endif
