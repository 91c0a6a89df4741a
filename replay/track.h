/* SPDX-License-Identifier: Apache-2.0
 * What the recorded program allocated, loaded and created. Private to capture; every function expects its lock to be held. */
#ifndef CWD_TRACK_H
#define CWD_TRACK_H

#include "replay/analyze.h"
#include "tracer/layer.h"

struct cwd_alloc {
    uint64_t address, size;
    enum cwd_kind kind;
};

/* The bytes of a module, library or linker run; shared by those made of it. */
struct cwd_image {
    unsigned references;
    struct cwd_input *inputs;
    uint32_t ninputs;
    bool linked;
    bool parsed;
    struct cwd_program program;     /* when parsed */
};

struct cwd_object {
    bool surface;
    uint64_t handle;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
};

/* Of successful calls; `before` sees those that end the life of something. */
void cwd_track_before(struct cw_call *call);
void cwd_track_after(struct cw_call *call);

const struct cwd_alloc *cwd_track_find(uint64_t address);
/* Bounds of all addresses known, for a quick look. */
void cwd_track_range(uint64_t *low, uint64_t *high);
void cwd_track_add(uint64_t address, uint64_t size, enum cwd_kind kind);
void cwd_track_remove(uint64_t address);
/* Of a CUmodule or CUlibrary; NULL when its bytes are not known. */
struct cwd_image *cwd_track_image(const void *handle);
/* Of a module that a library has in this context, when the program has not asked for it: a kernel node of a graph leads there. */
struct cwd_image *cwd_track_library_image(CUmodule module, const struct cw_cuda_table *next);
const struct cwd_object *cwd_track_objects(size_t *count);
/* Levels of a mipmapped array and its description; false when it is not known. */
bool cwd_track_mipmap(CUmipmappedArray m, CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned *levels);

#endif
