/* SPDX-License-Identifier: Apache-2.0
 * See remains.h. */
#define _GNU_SOURCE
#include "replay/remains.h"

#include "impl/base/log.h"
#include "impl/post_mortem.h"
#include "replay/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 256, MAX_PARAM_BYTES = 32768, FIRST_BYTES = 256 };

struct kept {
    uint64_t number;                    /* the driver's; 0: none, or it is over */
    unsigned launch;                    /* the program's */
    CUcontext context;
    struct cw_launch l;                 /* `name` is `text`; the parameters are in `bytes` */
    char text[256];
    uint8_t *bytes;
    size_t size, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct cw_post_mortem *driver;     /* written before the first call goes on */
static struct kept *ring;               /* lock, as what follows */
static unsigned next_place;

void
cwd_remains_start(const struct cw_cuda_table *next)
{
    static const CUuuid id = { CW_POST_MORTEM_ID };
    const void *table = NULL;
    const struct cw_post_mortem *p;
    if (next->cuGetExportTable(&table, &id) != CUDA_SUCCESS || !table || (p = table)->size < sizeof *p)
        return;
    ring = calloc(KEPT, sizeof *ring);
    if (!ring)
        return;
    driver = p;
    driver->watch();
}

/* The whole block, in a buffer that grows to the largest. */
static bool
keep_params(struct kept *k, const struct cw_launch *l)
{
    for (size_t room = k->room ? k->room : FIRST_BYTES; room <= MAX_PARAM_BYTES; room *= 2) {
        if (room > k->room) {
            free(k->bytes);
            k->bytes = malloc(room);
            k->room = k->bytes ? room : 0;
            if (!k->bytes)
                return false;
        }
        k->size = cw_layer_param_bytes(l, k->bytes, (unsigned)room);
        if (k->size < room)
            return true;
    }
    return k->size == MAX_PARAM_BYTES;
}

void
cwd_remains_add(const struct cw_launch *l, unsigned launch)
{
    CUcontext context = NULL;
    if (!driver || l->attribute_count || l->next->cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    struct kept *k = &ring[next_place++ % KEPT];
    k->number = keep_params(k, l) ? driver->last() : 0;
    k->launch = launch;
    k->context = context;
    k->l = *l;
    strncpy(k->text, l->name, sizeof k->text - 1);
    pthread_mutex_unlock(&lock);
}

void
cwd_remains_settle(const struct cw_call *call)
{
    bool all = call->index == CW_FN_cuCtxSynchronize, legacy = call->index == CW_FN_cuMemcpyDtoH_v2;
    bool one = call->index == CW_FN_cuStreamSynchronize;
    CUcontext context = NULL;
    if (!driver || !(all || legacy || one) || call->next->cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return;
    CUstream stream = one ? CW_ARG(call, 0, CUstream) : NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < KEPT; i++)
        if (ring[i].context == context && (all || (ring[i].l.stream == stream && !ring[i].l.per_thread)))
            ring[i].number = 0;
    pthread_mutex_unlock(&lock);
}

static int
by_number(const void *a, const void *b)
{
    const struct kept *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static void
dump(struct kept *k, const struct cw_cuda_table *next, CUresult error, unsigned suspects, void (*keep)(struct cwd_dump *d, const char *kernel))
{
    struct cw_call call = { .index = CW_FN_cuLaunchKernel, .next = next, .result = error };
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, k->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &k->size, CU_LAUNCH_PARAM_END };
    struct cw_launch l = k->l;
    struct cwd_dump d;
    struct cwd_error e;
    const char *name = NULL;
    l.call = &call;
    l.name = k->text;
    l.params = NULL;
    l.extra = extra;
    l.attributes = NULL;
    l.next = next;
    l.result = error;
    if (!cwd_capture_remains(&l, &d, &e)) {
        cw_warn("launch %u of %s, which %s, is not dumped: %s", k->launch, k->text, suspects > 1 ? "may have failed" : "failed", e.text);
        return;
    }
    (void)cwd_capture_end(&l, &d, &e);
    if (!k->size && d.param_size) {     /* the layout was not known when it was launched */
        cw_warn("launch %u of %s is not dumped: its parameters are not known", k->launch, k->text);
        cwd_finish(&d);
        return;
    }
    d.launch = k->launch;
    d.fault = next->cuGetErrorName(error, &name) == CUDA_SUCCESS && name ? name : "unknown";
    d.suspects = suspects;
    keep(&d, k->text);
    cwd_finish(&d);
}

void
cwd_remains_dump(const struct cw_cuda_table *next, CUresult error, void (*keep)(struct cwd_dump *d, const char *kernel))
{
    struct kept *suspect[KEPT];
    unsigned n = 0;
    CUcontext context = NULL;
    if (!driver || next->cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return;
    uint64_t failed = driver->failed();
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < KEPT; i++)
        if (ring[i].number && ring[i].context == context && (!failed || ring[i].number == failed))
            suspect[n++] = &ring[i];
    qsort(suspect, n, sizeof *suspect, by_number);
    driver->ignore_fault(true);
    for (unsigned i = 0; i < n; i++)
        dump(suspect[i], next, error, n, keep);
    driver->ignore_fault(false);
    pthread_mutex_unlock(&lock);
    if (!n)
        cw_warn("the launch that failed is not dumped: it was none of the last %d that were launched one by one", KEPT);
}
