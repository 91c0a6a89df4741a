/* SPDX-License-Identifier: Apache-2.0
 * See track.h. Allocations are a sorted array; the rest are short lists. */
#include "replay/track.h"

#include "impl/base/file.h"
#include "impl/base/log.h"
#include "jit/link/linked_image.h"
#include "tracer/layer_private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_IMAGE_FILE (1ull << 30)

/* ---- allocations ------------------------------------------------------------------------------------------------------------ */

static struct cwd_alloc *allocs;
static size_t nallocs, alloc_capacity;

/* Index of the first allocation above address. */
static size_t
above(uint64_t address)
{
    size_t lo = 0, hi = nallocs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (allocs[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct cwd_alloc *
cwd_track_find(uint64_t address)
{
    size_t i = above(address);
    return i && address - allocs[i - 1].address < allocs[i - 1].size ? &allocs[i - 1] : NULL;
}

void
cwd_track_range(uint64_t *low, uint64_t *high)
{
    *low = nallocs ? allocs[0].address : 0;
    *high = nallocs ? allocs[nallocs - 1].address + allocs[nallocs - 1].size : 0;
}

static void
remove_at(size_t i)
{
    memmove(allocs + i, allocs + i + 1, (nallocs - i - 1) * sizeof *allocs);
    nallocs--;
}

void
cwd_track_add(uint64_t address, uint64_t size, enum cwd_kind kind)
{
    if (!address || !size || address > UINT64_MAX - size)
        return;
    /* What lies there was freed in a way that was not seen. */
    size_t i = above(address);
    if (i && address - allocs[i - 1].address < allocs[i - 1].size)
        remove_at(--i);
    while (i < nallocs && allocs[i].address - address < size)
        remove_at(i);
    if (nallocs == alloc_capacity) {
        size_t n = alloc_capacity ? alloc_capacity * 2 : 64;
        struct cwd_alloc *a = realloc(allocs, n * sizeof *a);
        if (!a)
            return;
        allocs = a;
        alloc_capacity = n;
    }
    memmove(allocs + i + 1, allocs + i, (nallocs - i) * sizeof *allocs);
    allocs[i] = (struct cwd_alloc){ address, size, kind };
    nallocs++;
}

void
cwd_track_remove(uint64_t address)
{
    size_t i = above(address);
    if (i && allocs[i - 1].address == address)
        remove_at(i - 1);
}

/* ---- short lists keyed by a handle ---------------------------------------------------------------------------------------- */

struct entry {
    struct entry *next;
    const void *handle;
    struct cwd_image *image;            /* of a module, library, linker run or its outcome */
    bool library;
    uint64_t size;                      /* outcome of a linker run */
    uint8_t start[64];                  /* its first bytes */
    CUDA_ARRAY3D_DESCRIPTOR desc;       /* mipmapped array */
    unsigned levels;
};

static struct entry *modules, *links, *linked, *mipmaps;

static struct entry *
find(struct entry *list, const void *handle)
{
    while (list && list->handle != handle)
        list = list->next;
    return list;
}

static struct entry *
add(struct entry **list, const void *handle)
{
    struct entry *e = calloc(1, sizeof *e);
    if (e) {
        e->handle = handle;
        e->next = *list;
        *list = e;
    }
    return e;
}

static void
image_put(struct cwd_image *im)
{
    if (!im || --im->references)
        return;
    for (uint32_t i = 0; i < im->ninputs; i++) {
        free(im->inputs[i].data);
        free((char *)im->inputs[i].name);
    }
    if (im->parsed)
        cwd_program_close(&im->program);
    free(im->inputs);
    free(im);
}

static void
drop(struct entry **list, const void *handle)
{
    for (; *list; list = &(*list)->next) {
        if ((*list)->handle != handle)
            continue;
        struct entry *e = *list;
        *list = e->next;
        image_put(e->image);
        free(e);
        return;
    }
}

static struct cwd_image *
image_new(void)
{
    struct cwd_image *im = calloc(1, sizeof *im);
    if (im)
        im->references = 1;
    return im;
}

/* Takes `data`, which has a spare byte behind it. */
static bool
image_add(struct cwd_image *im, enum cwd_input_kind kind, const char *name, uint8_t *data, uint64_t size)
{
    struct cwd_input *in = im ? realloc(im->inputs, (im->ninputs + 1) * sizeof *in) : NULL;
    if (!in) {
        free(data);
        return false;
    }
    im->inputs = in;
    data[size] = 0;
    in[im->ninputs++] = (struct cwd_input){ kind, name ? strdup(name) : NULL, data, size };
    return true;
}

static bool
image_copy(struct cwd_image *im, enum cwd_input_kind kind, const char *name, const void *data, uint64_t size)
{
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return false;
    memcpy(copy, data, size);
    return image_add(im, kind, name, copy, size);
}

/* ---- modules ---------------------------------------------------------------------------------------------------------------- */

static enum cwd_input_kind
kind_of(const struct cw_image *i)
{
    if (!strcmp(i->kind, "ptx"))
        return CWD_PTX;
    if (!strcmp(i->kind, "fatbin"))
        return CWD_FATBIN;
    uint16_t machine = 0;
    if (!strcmp(i->kind, "elf") && i->size > 20)
        memcpy(&machine, (const char *)i->data + 18, sizeof machine);
    return machine == 190 ? CWD_CUBIN : CWD_ELF;
}

/* A wrapper of relocatable device code lists containers that are to be linked. */
static const void *const *
wrapper_list(const void *image)
{
    struct { uint32_t magic, version; const void *data; const void *const *list; } w;
    memcpy(&w, image, sizeof w);
    return w.magic == 0x466243b1u && w.version == 2 ? w.list : NULL;
}

static struct cwd_image *
image_of(const void *data, uint64_t max)
{
    /* The outcome of a linker run, where it was left or copied elsewhere. */
    for (struct entry *l = linked; l; l = l->next) {
        if (data == l->handle || (l->size >= sizeof l->start && max >= l->size && !memcmp(data, l->start, 8) &&
                                  !memcmp(data, l->start, sizeof l->start))) {
            l->image->references++;
            return l->image;
        }
    }
    struct cwd_image *im = image_new();
    bool ok = false;
    if (im && cwj_linked_image_is(data, max)) {
        uint64_t size;
        memcpy(&size, (const char *)data + 16, sizeof size);
        ok = size < MAX_IMAGE_FILE && image_copy(im, CWD_BIN, NULL, data, size);
    } else if (im) {
        const void *const *list = max > 64 ? wrapper_list(data) : NULL;
        struct cw_image i = { 0 };
        if (list) {
            im->linked = true;
            for (ok = *list; ok && *list; list++) {
                i = cw_layer_image(*list, UINT64_MAX);
                ok = i.size && image_copy(im, CWD_FATBIN, NULL, i.data, i.size);
            }
        } else {
            i = cw_layer_image(data, max);
            ok = i.size && image_copy(im, kind_of(&i), NULL, i.data, i.size);
        }
    }
    if (!ok) {
        image_put(im);
        return NULL;
    }
    return im;
}

static void
loaded(const void *handle, struct cwd_image *im)
{
    if (!im)
        return;
    drop(&modules, handle);
    struct entry *e = add(&modules, handle);
    if (e)
        e->image = im;
    else
        image_put(im);
}

static void
loaded_file(const void *handle, const char *path)
{
    char *data;
    size_t size;
    if (!path || cw_file_read(path, MAX_IMAGE_FILE, &data, &size) != CW_OK)
        return;
    uint32_t magic = 0;
    memcpy(&magic, data, size < sizeof magic ? size : sizeof magic);
    /* cw_file_read leaves a NUL behind the data, as texts need it. A wrapper holds pointers: not from a file. */
    loaded(handle, size && magic != 0x466243b1u ? image_of(data, size < 64 ? UINT64_MAX : size + 1) : NULL);
    free(data);
}

struct cwd_image *
cwd_track_image(const void *handle)
{
    struct entry *e = find(modules, handle);
    return e ? e->image : NULL;
}

struct cwd_image *
cwd_track_library_image(CUmodule module, const struct cw_cuda_table *next)
{
    CUmodule m;
    for (struct entry *e = modules; e; e = e->next)
        if (e->library && next->cuLibraryGetModule(&m, (CUlibrary)(uintptr_t)e->handle) == CUDA_SUCCESS && m == module) {
            struct cwd_image *im = e->image;
            im->references++;
            loaded(module, im);         /* the next time it is known */
            return im;
        }
    return NULL;
}

/* ---- the linker -------------------------------------------------------------------------------------------------------------- */

static void
link_add(CUlinkState state, CUjitInputType type, const void *data, uint64_t size, const char *name)
{
    static const struct { int type; enum cwd_input_kind kind; } map[] = {
#define X(e, n, j) { j, e },
        CWD_INPUT_MAP(X)
#undef X
    };
    struct entry *l = find(links, state);
    if (!l || !data || !size || size > MAX_IMAGE_FILE)
        return;
    for (unsigned i = 0; i < sizeof map / sizeof *map; i++)
        if (map[i].type == (int)type) {
            image_copy(l->image, map[i].kind, name, data, size);
            return;
        }
}

static void
link_add_file(CUlinkState state, CUjitInputType type, const char *path)
{
    char *data;
    size_t size;
    if (!path || cw_file_read(path, MAX_IMAGE_FILE, &data, &size) != CW_OK)
        return;
    link_add(state, type, data, size, path);
    free(data);
}

static void
link_start(CUlinkState state)
{
    drop(&links, state);
    struct entry *l = add(&links, state);
    if (l && (l->image = image_new()))
        l->image->linked = true;
    else if (l)
        drop(&links, state);
}

static void
link_complete(CUlinkState state, const void *out, uint64_t size)
{
    struct entry *l = find(links, state), *o;
    if (!l || !out)
        return;
    drop(&linked, out);
    o = add(&linked, out);
    if (!o)
        return;
    o->image = l->image;
    o->image->references++;
    o->size = size;
    memcpy(o->start, out, size < sizeof o->start ? size : sizeof o->start);
}

/* ---- textures ---------------------------------------------------------------------------------------------------------------- */

static struct cwd_object *objects;
static size_t nobjects;

static void
object_remove(bool surface, uint64_t handle)
{
    for (size_t i = 0; i < nobjects; i++)
        if (objects[i].surface == surface && objects[i].handle == handle) {
            objects[i] = objects[--nobjects];
            return;
        }
}

static void
object_add(const struct cwd_object *o)
{
    object_remove(o->surface, o->handle);
    struct cwd_object *p = realloc(objects, (nobjects + 1) * sizeof *p);
    if (!p)
        return;
    objects = p;
    objects[nobjects++] = *o;
}

const struct cwd_object *
cwd_track_objects(size_t *count)
{
    *count = nobjects;
    return objects;
}

bool
cwd_track_mipmap(CUmipmappedArray m, CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned *levels)
{
    const struct entry *e = find(mipmaps, m);
    if (e) {
        *desc = e->desc;
        *levels = e->levels;
    }
    return e != NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

void
cwd_track_before(struct cw_call *c)
{
    switch (c->index) {
    case CW_FN_cuMemFree_v2:
    case CW_FN_cuMemFreeAsync:
    case CW_FN_cuMemFreeAsync_ptsz:
        cwd_track_remove(CW_ARG(c, 0, CUdeviceptr));
        break;
    case CW_FN_cuMemUnmap: {
        CUdeviceptr a = CW_ARG(c, 0, CUdeviceptr), end = a + CW_ARG(c, 1, size_t);
        for (size_t i = above(a ? a - 1 : 0); i < nallocs && allocs[i].address < end;)
            remove_at(i);
        break;
    }
    case CW_FN_cuMemFreeHost:
    case CW_FN_cuMemHostUnregister: {
        CUdeviceptr device;
        if (c->next->cuMemHostGetDevicePointer_v2(&device, CW_ARG(c, 0, void *), 0) == CUDA_SUCCESS)
            cwd_track_remove(device);
        break;
    }
    case CW_FN_cuModuleUnload:
    case CW_FN_cuLibraryUnload:
        drop(&modules, CW_ARG(c, 0, void *));
        break;
    case CW_FN_cuLinkDestroy: {
        CUlinkState state = CW_ARG(c, 0, CUlinkState);
        struct entry *l = find(links, state);
        for (struct entry *o = l ? linked : NULL, *n; o; o = n) {
            n = o->next;
            if (o->image == l->image)       /* its memory goes; copies of it are still recognised by their bytes */
                o->handle = NULL;
        }
        drop(&links, state);
        break;
    }
    case CW_FN_cuTexObjectDestroy:
        object_remove(false, CW_ARG(c, 0, CUtexObject));
        break;
    case CW_FN_cuSurfObjectDestroy:
        object_remove(true, CW_ARG(c, 0, CUsurfObject));
        break;
    case CW_FN_cuMipmappedArrayDestroy:
        drop(&mipmaps, CW_ARG(c, 0, void *));
        break;
    default:
        break;
    }
}

static void
host_memory(struct cw_call *c, void *p, uint64_t size)
{
    CUdeviceptr device;
    if (c->next->cuMemHostGetDevicePointer_v2(&device, p, 0) == CUDA_SUCCESS)
        cwd_track_add(device, size, CWD_HOST);
}

#define OUT(i, T) (*CW_ARG(c, i, T *))

/* Note of what was loaded whether it is a library. */
static void
mark_library(struct cw_call *c)
{
    struct entry *e = find(modules, OUT(0, void *));
    if (e)
        e->library = c->index == CW_FN_cuLibraryLoadData || c->index == CW_FN_cuLibraryLoadFromFile;
}

void
cwd_track_after(struct cw_call *c)
{
    if (c->result != CUDA_SUCCESS)
        return;
    switch (c->index) {
    case CW_FN_cuMemAlloc_v2:
    case CW_FN_cuMemAllocAsync:
    case CW_FN_cuMemAllocAsync_ptsz:
    case CW_FN_cuMemAllocFromPoolAsync:
    case CW_FN_cuMemAllocFromPoolAsync_ptsz:
        cwd_track_add(OUT(0, CUdeviceptr), CW_ARG(c, 1, size_t), CWD_GLOBAL);
        break;
    case CW_FN_cuMemAllocManaged:
        cwd_track_add(OUT(0, CUdeviceptr), CW_ARG(c, 1, size_t), CWD_MANAGED);
        break;
    case CW_FN_cuMemAllocPitch_v2:
        cwd_track_add(OUT(0, CUdeviceptr), OUT(1, size_t) * CW_ARG(c, 3, size_t), CWD_GLOBAL);
        break;
    case CW_FN_cuMemMap:
        cwd_track_add(CW_ARG(c, 0, CUdeviceptr), CW_ARG(c, 1, size_t), CWD_GLOBAL);
        break;
    case CW_FN_cuMemHostAlloc:
    case CW_FN_cuMemAllocHost_v2:
        host_memory(c, OUT(0, void *), CW_ARG(c, 1, size_t));
        break;
    case CW_FN_cuMemHostRegister:
    case CW_FN_cuMemHostRegister_v2:
        host_memory(c, CW_ARG(c, 0, void *), CW_ARG(c, 1, size_t));
        break;
    case CW_FN_cuModuleLoadData:
    case CW_FN_cuModuleLoadDataEx:
    case CW_FN_cuModuleLoadFatBinary:
    case CW_FN_cuLibraryLoadData:
        loaded(OUT(0, void *), image_of(CW_ARG(c, 1, const void *), UINT64_MAX));
        mark_library(c);
        break;
    case CW_FN_cuModuleLoad:
    case CW_FN_cuLibraryLoadFromFile:
        loaded_file(OUT(0, void *), CW_ARG(c, 1, const char *));
        mark_library(c);
        break;
    case CW_FN_cuLibraryGetModule: {
        struct cwd_image *im = cwd_track_image(CW_ARG(c, 1, void *));
        if (im && !cwd_track_image(OUT(0, void *))) {
            im->references++;
            loaded(OUT(0, void *), im);
        }
        break;
    }
    case CW_FN_cuLinkCreate:
    case CW_FN_cuLinkCreate_v2:
        link_start(OUT(3, CUlinkState));
        break;
    case CW_FN_cuLinkAddData:
    case CW_FN_cuLinkAddData_v2:
        link_add(CW_ARG(c, 0, CUlinkState), CW_ARG(c, 1, CUjitInputType), CW_ARG(c, 2, void *), CW_ARG(c, 3, size_t),
                 CW_ARG(c, 4, const char *));
        break;
    case CW_FN_cuLinkAddFile:
    case CW_FN_cuLinkAddFile_v2:
        link_add_file(CW_ARG(c, 0, CUlinkState), CW_ARG(c, 1, CUjitInputType), CW_ARG(c, 2, const char *));
        break;
    case CW_FN_cuLinkComplete:
        link_complete(CW_ARG(c, 0, CUlinkState), OUT(1, void *), CW_ARG(c, 2, size_t *) ? OUT(2, size_t) : 0);
        break;
    case CW_FN_cuTexObjectCreate: {
        struct cwd_object o = { .handle = OUT(0, CUtexObject), .resource = OUT(1, CUDA_RESOURCE_DESC), .texture = OUT(2, CUDA_TEXTURE_DESC) };
        if (CW_ARG(c, 3, const CUDA_RESOURCE_VIEW_DESC *)) {
            o.view = OUT(3, CUDA_RESOURCE_VIEW_DESC);
            o.has_view = true;
        }
        object_add(&o);
        break;
    }
    case CW_FN_cuSurfObjectCreate: {
        struct cwd_object o = { .surface = true, .handle = OUT(0, CUsurfObject), .resource = OUT(1, CUDA_RESOURCE_DESC) };
        object_add(&o);
        break;
    }
    case CW_FN_cuMipmappedArrayCreate: {
        drop(&mipmaps, OUT(0, void *));
        struct entry *e = add(&mipmaps, OUT(0, void *));
        if (e) {
            e->desc = OUT(1, CUDA_ARRAY3D_DESCRIPTOR);
            e->levels = CW_ARG(c, 2, unsigned);
        }
        break;
    }
    default:
        break;
    }
}
