/* SPDX-License-Identifier: Apache-2.0
 * cuLink*: collects PTX texts; completing checks that they link and gives an image (jit/link/linked_image.h) that holds them all,
 * to be compiled when a kernel of it is first launched. The image belongs to the link state. */
#include "impl/driver/archive.h"
#include "impl/base/file.h"
#include "jit/link/linked_image.h"

#include <stdlib.h>

struct link {
    struct obj obj;
    pthread_mutex_t lock;
    struct ptx_list list;               /* lock */
    struct archive archive;             /* lock: members, to be linked if they are needed */
    struct jit_options o;               /* lock */
    struct cw_buf image;                /* lock */
    bool complete;                      /* lock */
};

static void
link_finish(struct obj *o)
{
    struct link *l = (struct link *)o;
    ptx_list_finish(&l->list);
    archive_finish(&l->archive);
    cw_buf_finish(&l->image);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static const struct obj_class link_class = { .kind = KIND_LINK, .finish = link_finish };

CUresult
drv_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
    USABLE(c);
    if (!stateOut)
        return CUDA_ERROR_INVALID_VALUE;
    struct jit_options o;
    CUresult e = jit_options_parse(numOptions, options, optionValues, &o);
    if (e == CUDA_SUCCESS)
        e = jit_open();
    if (e != CUDA_SUCCESS)
        return e;
    struct link *l = calloc(1, sizeof *l);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&l->lock, NULL);
    cw_buf_init(&l->image);
    l->o = o;                           /* buffers and values stay the caller's until the state is destroyed, as documented */
    e = handle_new(&l->obj, &link_class, c);
    if (e != CUDA_SUCCESS) {
        pthread_mutex_destroy(&l->lock);
        free(l);
        return e;
    }
    *stateOut = HANDLE(CUlinkState, l);
    handle_put(&l->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
    return drv_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

/* What each input was told when it was added; what is found when they come together is no fault of PTX (so driver 580). */
static CUresult
result_of_linking(cw_result r)
{
    return r == CW_ERR_DUPLICATE || r == CW_ERR_UNRESOLVED ? CUDA_ERROR_UNKNOWN : result_of_cw(r);
}

/* Whether each of the list's inputs from `first` on is accepted by itself; else they go. */
static CUresult
check_inputs(struct link *l, size_t first)
{
    cw_result r = CW_OK;
    for (size_t i = first; r == CW_OK && i < l->list.count; i++) {
        struct program *p;
        r = program_link(&(struct ptx_list){ .in = &l->list.in[i], .count = 1 }, true, &l->o, &p);
        if (r == CW_OK)
            program_unref(p);
    }
    if (r != CW_OK)
        ptx_list_cut(&l->list, first);
    return result_of_cw(r);
}

static CUresult
add(CUlinkState state, CUjitInputType type, const void *data, size_t size, const char *name)
{
    CURRENT(c);
    struct link *l AUTO_PUT = handle_get(state, KIND_LINK);
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size)
        return CUDA_ERROR_INVALID_VALUE;
    bool is_text = cwj_is_ptx(data, size);
    if (type == CU_JIT_INPUT_PTX ? !is_text : is_text && type == CU_JIT_INPUT_CUBIN)
        return CUDA_ERROR_INVALID_IMAGE;
    if (is_text && (type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY))
        return CUDA_ERROR_UNKNOWN;      /* so driver 580 */
    if (!name || !*name)
        name = "input";
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&l->lock);
    size_t before = l->list.count;
    if (l->complete) {
        e = CUDA_ERROR_INVALID_VALUE;
    } else switch ((int)type) {
    case CU_JIT_INPUT_PTX:
        e = ptx_list_add(&l->list, name, data, size);
        break;
    case CU_JIT_INPUT_FATBINARY:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
    case CU_JIT_INPUT_CUBIN:
        e = is_archive(data, size) ? archive_add(&l->archive, c->dev, data, size, name) : ptx_collect(c->dev, data, size, name, false, &l->list);
        break;
    case CU_JIT_INPUT_NVVM:
        e = unsupported("cuLinkAddData", "NVVM IR as input");
        break;
    default:
        e = CUDA_ERROR_INVALID_VALUE;
    }
    if (e == CUDA_SUCCESS)
        e = check_inputs(l, before);
    pthread_mutex_unlock(&l->lock);
    return e;
}

CUresult
drv_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned int numOptions,
                     CUjit_option *options, void **optionValues)
{
    return add(state, type, data, size, name);
}

CUresult
drv_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned int numOptions,
                  CUjit_option *options, void **optionValues)
{
    return add(state, type, data, size, name);
}

CUresult
drv_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions, CUjit_option *options,
                     void **optionValues)
{
    READY();
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    char *data;
    size_t size;
    cw_result r = cw_file_read(path, 1ull << 30, &data, &size);
    if (r != CW_OK) {
        cw_log(r == CW_ERR_NOMEM || r == CW_ERR_LIMIT ? CW_LOG_ERROR : CW_LOG_INFO, "%s: %s", path, cw_result_text(r));     /* programs try */
        return r == CW_ERR_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult e = add(state, type, data, size, path);
    free(data);
    return e;
}

CUresult
drv_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions, CUjit_option *options,
                  void **optionValues)
{
    return drv_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

CUresult
drv_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    CURRENT(c);
    (void)c;
    struct link *l AUTO_PUT = handle_get(state, KIND_LINK);
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!cubinOut)
        return CUDA_ERROR_INVALID_VALUE;
    static const char nothing[] = ".version 6.0\n.target sm_30\n.address_size 64\n";
    CUresult e = CUDA_SUCCESS;
    bool device_runtime = false;
    pthread_mutex_lock(&l->lock);
    if (!l->complete)
        e = archive_link(&l->archive, &l->list);
    if (e == CUDA_SUCCESS && !l->complete)
        e = relocatable_select(&l->list, &device_runtime);
    if (e == CUDA_SUCCESS && l->complete)
        e = CUDA_ERROR_INVALID_HANDLE;
    if (e == CUDA_SUCCESS && !l->list.count)        /* of nothing, a module without anything */
        e = ptx_list_add(&l->list, "empty", nothing, sizeof nothing);
    if (e == CUDA_SUCCESS) {
        struct program *p;              /* only to report errors here, where the caller looks for them */
        e = result_of_linking(program_link(&l->list, device_runtime, &l->o, &p));
        if (e == CUDA_SUCCESS)
            program_unref(p);
    }
    if (e == CUDA_SUCCESS) {
        struct cwj_linked_module *in = calloc(l->list.count, sizeof *in);
        for (size_t i = 0; in && i < l->list.count; i++)
            in[i] = (struct cwj_linked_module){ l->list.in[i].name, l->list.in[i].text, l->list.in[i].size,
                                                l->o.max_registers };
        e = in ? result_of_cw(cwj_linked_image_write(in, l->list.count, &l->image)) : CUDA_ERROR_OUT_OF_MEMORY;
        free(in);
    }
    if (e == CUDA_SUCCESS) {
        l->complete = true;
        ptx_list_finish(&l->list);
    }
    void *const data = l->image.data;
    const size_t size = l->image.size;
    pthread_mutex_unlock(&l->lock);
    if (e == CUDA_SUCCESS)
        *cubinOut = data;
    if (e == CUDA_SUCCESS && sizeOut)
        *sizeOut = size;
    return e;
}

CUresult
drv_cuLinkDestroy(CUlinkState state)
{
    READY();
    struct link *l AUTO_PUT = handle_get(state, KIND_LINK);
    return l && handle_kill(&l->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
