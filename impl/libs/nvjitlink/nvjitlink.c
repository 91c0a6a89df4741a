/* SPDX-License-Identifier: Apache-2.0
 * libnvJitLink.so.12 and .13 of our own (NVIDIA's "nvJitLink" manual has the interface). NVIDIA's links to machine code of its GPUs, which
 * no device of ours executes; this one links to an image of PTX, by the driver's cuLink functions, that every call takes which takes a
 * cubin. LTO-IR is NVIDIA's own intermediate form: its library, where there is one, makes one PTX text of all inputs in that form
 * ("-lto -ptx"), and that is linked with the rest.
 *
 * A handle is a struct of ours, used by one thread at a time, as the manual has it. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum result {                       /* nvJitLinkResult */
    SUCCESS, UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT, PTX_COMPILE, NVVM_COMPILE, INTERNAL, THREADPOOL, UNRECOGNIZED_INPUT,
    FINALIZE, NULL_INPUT,
};
enum input { CUBIN = 1, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, ANY = 10 };     /* nvJitLinkInputType */

typedef struct linker *handle;

struct piece {
    enum input type;
    char      *name, *data;
    size_t     size;
};

struct linker {
    char        **options;
    uint32_t      noptions;
    bool          arch, lto, ptx;   /* what of them is there */
    struct piece *pieces;
    size_t        npieces;
    bool          complete;
    struct cw_buf image, text, errors;      /* the linked image; the PTX, where -ptx asks for it; messages */
};

/* The file of NVIDIA's that this library stands for. The audit module, which gives programs this one in its place, writes it. */
EXPORT char cudaway_nvjitlink_stands_for[PATH_MAX];

/* ---- NVIDIA's library, for LTO-IR ---- */

struct theirs {
    enum result (*create)(void **, uint32_t, const char **);
    enum result (*destroy)(void **);
    enum result (*add)(void *, enum input, const void *, size_t, const char *);
    enum result (*complete)(void *);
    enum result (*ptx_size)(void *, size_t *);
    enum result (*ptx)(void *, char *);
    enum result (*log_size)(void *, size_t *);
    enum result (*log)(void *, char *);
};

static bool
is_this(const char *path)
{
    Dl_info own;
    struct stat a, b;
    return dladdr(cudaway_nvjitlink_stands_for, &own) && !stat(own.dli_fname, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Where the library that was asked for is not known: the folders that the dynamic linker is told of, and a toolkit's. */
static void *
open_elsewhere(void)
{
    static const char toolkit[] = "/usr/local/cuda/lib64";
    const char *path = secure_getenv("LD_LIBRARY_PATH");
    char *all = NULL, *rest, *folder, file[PATH_MAX];
    void *l = NULL;
    if (asprintf(&all, "%s:%s", path ? path : "", toolkit) < 0)
        return NULL;
    for (rest = all; !l && (folder = strsep(&rest, ":"));)
        if (*folder && snprintf(file, sizeof file, "%s/" NVJITLINK_SONAME, folder) < (int)sizeof file && !access(file, R_OK) && !is_this(file))
            l = cw_dlopen(file);
    free(all);
    return l;
}

static bool
open_theirs(struct theirs *t)
{
    const char *known = cudaway_nvjitlink_stands_for, *slash = strrchr(known, '/');
    char file[PATH_MAX + 2];
    void *l = NULL;
    if (slash && !is_this(known)) {     /* by another spelling: to the dynamic linker the first one is this library now */
        snprintf(file, sizeof file, "%.*s/.%s", (int)(slash - known), known, slash);
        l = cw_dlopen(file);
    }
    if (!l && !(l = open_elsewhere()))
        return false;
    *(void **)&t->create = dlsym(l, "nvJitLinkCreate");
    *(void **)&t->destroy = dlsym(l, "nvJitLinkDestroy");
    *(void **)&t->add = dlsym(l, "nvJitLinkAddData");
    *(void **)&t->complete = dlsym(l, "nvJitLinkComplete");
    *(void **)&t->ptx_size = dlsym(l, "nvJitLinkGetLinkedPtxSize");
    *(void **)&t->ptx = dlsym(l, "nvJitLinkGetLinkedPtx");
    *(void **)&t->log_size = dlsym(l, "nvJitLinkGetErrorLogSize");
    *(void **)&t->log = dlsym(l, "nvJitLinkGetErrorLog");
    return t->create && t->destroy && t->add && t->complete && t->ptx_size && t->ptx && t->log_size && t->log;
}

/* One PTX text, NUL-terminated, of all inputs that are LTO-IR. */
static enum result
ptx_of_lto(struct linker *l, struct cw_buf *out)
{
    struct theirs t;
    void *h = NULL;
    size_t size = 0;
    if (!open_theirs(&t)) {
        cw_buf_puts(&l->errors, "LTO-IR is NVIDIA's own form: linking it needs NVIDIA's " NVJITLINK_SONAME
                    " (PyPI: nvidia-nvjitlink), by `cudaway run`, or in LD_LIBRARY_PATH; or compile to PTX\n");
        return NVVM_COMPILE;
    }
    const char **options = calloc((size_t)l->noptions + 2, sizeof *options);
    if (!options)
        return INTERNAL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->noptions; i++)
        if (strcmp(l->options[i], "-lto") && strcmp(l->options[i], "-ptx"))
            options[n++] = l->options[i];
    options[n++] = "-lto";
    options[n++] = "-ptx";
    enum result r = t.create(&h, n, options);
    for (size_t i = 0; r == SUCCESS && i < l->npieces; i++)
        if (l->pieces[i].type == LTOIR || l->pieces[i].type == INDEX)
            r = t.add(h, l->pieces[i].type, l->pieces[i].data, l->pieces[i].size, l->pieces[i].name);
    if (r == SUCCESS)
        r = t.complete(h);
    if (r == SUCCESS && (r = t.ptx_size(h, &size)) == SUCCESS) {
        char *text = calloc(1, size + 1);
        r = text ? t.ptx(h, text) : INTERNAL;
        if (r == SUCCESS)
            cw_buf_append(out, text, strlen(text) + 1);
        if (out->failed)
            r = INTERNAL;
        free(text);
    } else if (h && t.log_size(h, &size) == SUCCESS && size) {
        char *text = calloc(1, size + 1);
        if (text && t.log(h, text) == SUCCESS)
            cw_buf_puts(&l->errors, text);
        free(text);
    }
    if (h && t.destroy(&h) != SUCCESS)
        cw_debug(NVJITLINK_SONAME ": NVIDIA's handle stays");
    free(options);
    return r;
}

/* ---- linking ---- */

static bool
takes_lto(const struct piece *p)
{
    return p->type == LTOIR || p->type == INDEX;
}

/* The driver links in a context; the thread's own, or for so long the first device's. */
static CUresult
enter(bool *entered, CUdevice *device)
{
    CUcontext now = NULL;
    CUresult e = cuInit(0);
    if (e == CUDA_SUCCESS)
        e = cuCtxGetCurrent(&now);
    if (e != CUDA_SUCCESS || now)
        return e;
    if ((e = cuDeviceGet(device, 0)) != CUDA_SUCCESS || (e = cuDevicePrimaryCtxRetain(&now, *device)) != CUDA_SUCCESS)
        return e;
    e = cuCtxPushCurrent_v2(now);
    *entered = e == CUDA_SUCCESS;
    if (!*entered)
        (void)cuDevicePrimaryCtxRelease_v2(*device);
    return e;
}

/* Of -maxrregcount; 0: not given. */
static unsigned
max_registers(const struct linker *l)
{
    static const char name[] = "-maxrregcount=";
    unsigned n = 0;
    for (uint32_t i = 0; i < l->noptions; i++)
        if (!strncmp(l->options[i], name, sizeof name - 1))
            n = (unsigned)strtoul(l->options[i] + sizeof name - 1, NULL, 10);
    return n;
}

static enum result
link_pieces(struct linker *l, const struct cw_buf *lto)
{
    char log[8192] = "";
    CUjit_option keys[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS };
    void *values[] = { log, (void *)(uintptr_t)sizeof log, (void *)(uintptr_t)max_registers(l) };
    CUlinkState state = NULL;
    CUdevice device = 0;
    CUcontext popped;
    bool entered = false;
    void *image = NULL;
    size_t size = 0;
    CUresult e = enter(&entered, &device);
    enum result r = INTERNAL;

    if (e == CUDA_SUCCESS)
        e = cuLinkCreate_v2(values[2] ? 3 : 2, keys, values, &state);
    if (e == CUDA_SUCCESS && lto->size) {
        r = NVVM_COMPILE;
        e = cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, lto->data, lto->size, "linked LTO-IR", 0, NULL, NULL);
    }
    for (size_t i = 0; e == CUDA_SUCCESS && i < l->npieces; i++) {
        struct piece *p = &l->pieces[i];
        r = p->type == PTX ? PTX_COMPILE : INVALID_INPUT;
        if (!takes_lto(p))          /* all but PTX is told by its content, as of a fatbin */
            e = cuLinkAddData_v2(state, p->type == PTX ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_FATBINARY, p->data, p->size, p->name, 0, NULL, NULL);
    }
    if (e == CUDA_SUCCESS) {
        r = FINALIZE;
        e = cuLinkComplete(state, &image, &size);
    }
    if (e == CUDA_SUCCESS)
        cw_buf_append(&l->image, image, size);
    if (l->image.failed)
        e = CUDA_ERROR_OUT_OF_MEMORY;
    if (*log)
        cw_buf_printf(&l->errors, "%s\n", log);
    else if (e != CUDA_SUCCESS)
        cw_buf_printf(&l->errors, "the driver refused an input with error %d; CUDAWAY_LOG=info says more\n", (int)e);
    if (state)
        (void)cuLinkDestroy(state);
    if (entered) {
        (void)cuCtxPopCurrent_v2(&popped);
        (void)cuDevicePrimaryCtxRelease_v2(device);
    }
    return e == CUDA_SUCCESS ? SUCCESS : r;
}

/* ---- the interface; each under several names, as NVIDIA's library has them ---- */

#ifdef NVJITLINK_12
#define VERSIONS(X, f) X(f, 12_0) X(f, 12_1) X(f, 12_2) X(f, 12_3) X(f, 12_4) X(f, 12_5) X(f, 12_6) X(f, 12_7) X(f, 12_8) X(f, 12_9)
enum { MAJOR = 12, MINOR = 9 };
#else
#define VERSIONS(X, f) X(f, 13_0) X(f, 13_1) X(f, 13_2) X(f, 13_3) X(f, 13_4) X(f, 13_5)
enum { MAJOR = 13, MINOR = 0 };
#endif
#define ALIAS(f, version) extern __typeof__(nvJitLink##f) __nvJitLink##f##_##version __attribute__((alias("nvJitLink" #f), visibility("default")));
#define VERSIONED(f) VERSIONS(ALIAS, f)

EXPORT enum result
nvJitLinkDestroy(handle *h)
{
    if (!h || !*h)
        return NULL_INPUT;
    struct linker *l = *h;
    for (uint32_t i = 0; i < l->noptions; i++)
        free(l->options[i]);
    for (size_t i = 0; i < l->npieces; i++) {
        free(l->pieces[i].name);
        free(l->pieces[i].data);
    }
    free(l->options);
    free(l->pieces);
    cw_buf_finish(&l->image);
    cw_buf_finish(&l->text);
    cw_buf_finish(&l->errors);
    free(l);
    *h = NULL;
    return SUCCESS;
}
VERSIONED(Destroy)

EXPORT enum result
nvJitLinkCreate(handle *h, uint32_t noptions, const char **options)
{
    if (!h || (noptions && !options))
        return NULL_INPUT;
    struct linker *l = calloc(1, sizeof *l);
    *h = l;
    if (!l || !(l->options = calloc((size_t)noptions + 1, sizeof *l->options))) {
        free(l);
        *h = NULL;
        return INTERNAL;
    }
    cw_buf_init(&l->image);
    cw_buf_init(&l->text);
    cw_buf_init(&l->errors);
    enum result r = SUCCESS;
    for (uint32_t i = 0; i < noptions && r == SUCCESS; i++) {
        const char *o = options[i];
        if (!o || *o != '-')
            r = UNRECOGNIZED_OPTION;
        else if (!(l->options[l->noptions] = strdup(o)))
            r = INTERNAL;
        else
            l->noptions++;
        l->arch |= r == SUCCESS && (!strncmp(o, "-arch=sm_", 9) || !strncmp(o, "-arch=compute_", 14));
        l->lto |= r == SUCCESS && !strcmp(o, "-lto");
        l->ptx |= r == SUCCESS && !strcmp(o, "-ptx");
    }
    if (r == SUCCESS && !l->arch)
        r = MISSING_ARCH;
    if (r != SUCCESS && nvJitLinkDestroy(h) != SUCCESS)
        return INTERNAL;
    return r;
}
VERSIONED(Create)

EXPORT enum result
nvJitLinkAddData(handle l, enum input type, const void *data, size_t size, const char *name)
{
    static const unsigned char lto_ir[] = { 0xed, 0x43, 0x4e, 0x7f };   /* how NVRTC's -dlto output begins */
    if (!l || !data)
        return NULL_INPUT;
    if (l->complete || !size || ((type < CUBIN || type > INDEX) && type != ANY))
        return INVALID_INPUT;
    if (type == ANY)
        type = size > sizeof lto_ir && !memcmp(data, lto_ir, sizeof lto_ir) ? LTOIR : FATBIN;
    struct piece *all = realloc(l->pieces, (l->npieces + 1) * sizeof *all);
    if (!all)
        return INTERNAL;
    l->pieces = all;
    struct piece p = { .type = type, .name = strdup(name && *name ? name : "input"), .data = malloc(size + 1), .size = size };
    if (!p.name || !p.data) {
        free(p.name);
        free(p.data);
        return INTERNAL;
    }
    memcpy(p.data, data, size);
    p.data[size] = 0;               /* a text that lacks it */
    if (takes_lto(&p) && !l->lto) {
        cw_buf_printf(&l->errors, "%s is LTO-IR, and the option -lto is not there\n", p.name);
        free(p.name);
        free(p.data);
        return INVALID_INPUT;
    }
    l->pieces[l->npieces++] = p;
    return SUCCESS;
}
VERSIONED(AddData)

EXPORT enum result
nvJitLinkAddFile(handle l, enum input type, const char *path)
{
    char *data;
    size_t size;
    if (!l || !path)
        return NULL_INPUT;
    cw_result c = cw_file_read(path, 1ull << 30, &data, &size);
    if (c != CW_OK) {
        cw_buf_printf(&l->errors, "%s: %s\n", path, cw_result_text(c));
        return INVALID_INPUT;
    }
    enum result r = nvJitLinkAddData(l, type, data, size, path);
    free(data);
    return r;
}
VERSIONED(AddFile)

EXPORT enum result
nvJitLinkComplete(handle l)
{
    if (!l)
        return NULL_INPUT;
    if (l->complete || !l->npieces)
        return INVALID_INPUT;
    size_t nlto = 0;
    for (size_t i = 0; i < l->npieces; i++)
        nlto += takes_lto(&l->pieces[i]);
    if (l->ptx && nlto < l->npieces) {
        cw_buf_puts(&l->errors, "-ptx requires that all inputs are LTO-IR\n");
        return INVALID_INPUT;
    }
    cw_buf_finish(&l->text);        /* what an attempt that failed left */
    cw_buf_finish(&l->image);
    enum result r = nlto ? ptx_of_lto(l, &l->text) : SUCCESS;
    if (r == SUCCESS && !l->ptx)
        r = link_pieces(l, &l->text);
    l->complete = r == SUCCESS;
    if (l->errors.size)
        cw_info(NVJITLINK_SONAME ": %.*s", (int)strcspn(l->errors.data, "\n"), l->errors.data);
    return r;
}
VERSIONED(Complete)

static enum result
get_size(const struct linker *l, const struct cw_buf *b, size_t *size)
{
    if (!l || !size)
        return NULL_INPUT;
    *size = b->size;
    return b->size ? SUCCESS : INTERNAL;
}

static enum result
get(const struct linker *l, const struct cw_buf *b, void *to)
{
    if (!l || !to)
        return NULL_INPUT;
    if (!b->size)
        return INTERNAL;
    memcpy(to, b->data, b->size);
    return SUCCESS;
}

EXPORT enum result
nvJitLinkGetLinkedCubinSize(handle l, size_t *size)
{
    return get_size(l, l ? &l->image : NULL, size);
}
VERSIONED(GetLinkedCubinSize)

EXPORT enum result
nvJitLinkGetLinkedCubin(handle l, void *to)
{
    return get(l, l ? &l->image : NULL, to);
}
VERSIONED(GetLinkedCubin)

EXPORT enum result
nvJitLinkGetLinkedPtxSize(handle l, size_t *size)
{
    return get_size(l, l ? &l->text : NULL, size);
}
VERSIONED(GetLinkedPtxSize)

EXPORT enum result
nvJitLinkGetLinkedPtx(handle l, char *to)
{
    return get(l, l ? &l->text : NULL, to);
}
VERSIONED(GetLinkedPtx)

EXPORT enum result
nvJitLinkGetErrorLogSize(handle l, size_t *size)
{
    if (!l || !size)
        return NULL_INPUT;
    *size = l->errors.size + 1;
    return SUCCESS;
}
VERSIONED(GetErrorLogSize)

EXPORT enum result
nvJitLinkGetErrorLog(handle l, char *to)
{
    if (!l || !to)
        return NULL_INPUT;
    if (l->errors.size)
        memcpy(to, l->errors.data, l->errors.size);
    to[l->errors.size] = 0;
    return SUCCESS;
}
VERSIONED(GetErrorLog)

EXPORT enum result
nvJitLinkGetInfoLogSize(handle l, size_t *size)
{
    if (!l || !size)
        return NULL_INPUT;
    *size = 1;
    return SUCCESS;
}
VERSIONED(GetInfoLogSize)

EXPORT enum result
nvJitLinkGetInfoLog(handle l, char *to)
{
    if (!l || !to)
        return NULL_INPUT;
    *to = 0;
    return SUCCESS;
}
VERSIONED(GetInfoLog)

EXPORT enum result
nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor)
        return NULL_INPUT;
    *major = MAJOR;
    *minor = MINOR;
    return SUCCESS;
}
