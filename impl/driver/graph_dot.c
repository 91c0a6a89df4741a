/* SPDX-License-Identifier: Apache-2.0
 * cuGraphDebugDotPrint: a graph as Graphviz draws it, and the memory that graphs hold. */
#include "impl/driver/graph.h"

#include "impl/base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const types[] = {
    "kernel", "memcpy", "memset", "host", "graph", "empty", "wait for event", "record event", "semaphores signal", "semaphores wait",
    "allocation", "free", "memory operations", "conditional",
};

/* A name inside a quoted string: C++ names hold no quotes, but nothing forbids them. */
static void
put_name(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        fputc(*s, f);
    }
}

static void
end_text(char *to, size_t size, CUmemorytype t, const void *host, CUdeviceptr device, CUarray array)
{
    if (t == CU_MEMORYTYPE_ARRAY)
        snprintf(to, size, "array %p", (void *)array);
    else if (t == CU_MEMORYTYPE_HOST)
        snprintf(to, size, "host %p", host);
    else
        snprintf(to, size, "0x%" PRIx64, (uint64_t)device);
}

static void
put_details(FILE *f, const struct work *w, unsigned flags)
{
    const bool all = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;
    switch ((int)w->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const struct cwb_launch *l = &w->kernel.l;
        fputs("\\n", f);
        put_name(f, w->kernel.f->k->name);
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)
            fprintf(f, "\\n%u x %u x %u blocks of %u x %u x %u\\n%u bytes of shared memory", l->grid[0], l->grid[1], l->grid[2], l->block[0],
                    l->block[1], l->block[2], l->dynamic_shared);
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)
            fprintf(f, "\\npriority %d%s", w->kernel.hints.priority, l->flags & CWB_LAUNCH_COOPERATIVE ? ", cooperative" : "");
        break;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS) {
            const CUDA_MEMCPY3D *p = &w->copy.p;
            char dst[64], src[64];
            end_text(dst, sizeof dst, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray);
            end_text(src, sizeof src, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray);
            fprintf(f, "\\n%zu x %zu x %zu bytes\\n%s to %s", p->WidthInBytes, p->Height, p->Depth, src, dst);
        }
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)
            fprintf(f, "\\n%zu x %zu elements of %u at 0x%" PRIx64 "\\nvalue 0x%x", w->fill.p.width, w->fill.p.height, w->fill.p.elementSize,
                    (uint64_t)w->fill.p.dst, w->fill.p.value);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)
            fprintf(f, "\\n%p(%p)", (void *)(uintptr_t)w->host.fn, w->host.userData);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)
            fprintf(f, "\\n%p", HANDLE(void *, w->event));
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)
            fprintf(f, "\\n%zu bytes at 0x%" PRIx64, w->alloc.p.bytesize, (uint64_t)w->alloc.p.dptr);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)
            fprintf(f, "\\n0x%" PRIx64, (uint64_t)w->free.address);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        fprintf(f, "\\n%u", w->batch.count);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
        static const char *const kinds[] = { "if", "while", "switch" };
        fprintf(f, "\\n%s", kinds[w->cond.type]);
        if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS)
            fprintf(f, "\\nhandle 0x%" PRIx64 ", %u bodies", w->cond.c->address, w->cond.size);
        break;
    }
    }
}

static void put_graph(FILE *f, struct graph *g, unsigned flags, unsigned *number);

static void
put_nested(FILE *f, const struct node *n, struct graph *in, unsigned mine, unsigned flags, unsigned *number)
{
    if (in->first) {
        fprintf(f, "  g%u_n%u -> g%u_n0 [style=dashed, arrowhead=none];\n", mine, n->mark, *number);
        put_graph(f, in, flags, number);
    }
}

/* A child graph, and each body of a conditional node, is a box of its own beside its node. */
static void
put_graph(FILE *f, struct graph *g, unsigned flags, unsigned *number)
{
    const unsigned mine = (*number)++;
    fprintf(f, "  subgraph cluster_%u {\n    label=\"graph %u\";\n", mine, mine);
    graph_number(g);
    for (struct node *n = g->first; n; n = n->next) {
        fprintf(f, "    g%u_n%u [shape=%s, label=\"%u: %s", mine, n->mark, n->w.type == CU_GRAPH_NODE_TYPE_KERNEL ? "box" : "ellipse", n->mark,
                (unsigned)n->w.type < COUNT(types) ? types[n->w.type] : "?");
        put_details(f, &n->w, flags);
        if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
            fprintf(f, "\\n%p", (void *)node_handle(n));
        fputs("\"];\n", f);
    }
    for (struct node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->dependents.n; i++)
            fprintf(f, "    g%u_n%u -> g%u_n%u;\n", mine, n->mark, mine, n->dependents.v[i]->mark);
    fputs("  }\n", f);
    for (struct node *n = g->first; n; n = n->next) {
        if (n->w.type == CU_GRAPH_NODE_TYPE_GRAPH)
            put_nested(f, n, n->w.child, mine, flags, number);
        for (unsigned i = 0; n->w.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->w.cond.size; i++)
            put_nested(f, n, n->w.cond.bodies[i], mine, flags, number);
    }
}

CUresult
drv_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    READY();
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    if (!g || !path)
        return CUDA_ERROR_INVALID_VALUE;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned number = 0;
    fputs("digraph cuda {\n  node [fontname=\"monospace\"];\n", f);
    pthread_mutex_lock(&graph_lock);
    put_graph(f, g, flags, &number);
    pthread_mutex_unlock(&graph_lock);
    fputs("}\n", f);
    bool failed = ferror(f);
    failed |= fclose(f) != 0;
    CUresult e = failed ? CUDA_ERROR_OUT_OF_MEMORY : cw_file_write(path, text, size) == CW_OK ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    free(text);
    return e;
}

/* ---- memory that graphs hold ---------------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t high[MAX_DEVICES];

CUresult
drv_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    if (e != CUDA_SUCCESS)
        return e;
    if (!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t used = graph_memory_used(device), top = atomic_load(&high[device]);
    while (used > top && !atomic_compare_exchange_weak(&high[device], &top, used))
        ;
    const bool current = attr == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
    *(cuuint64_t *)value = current || used > top ? used : top;
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    if (e != CUDA_SUCCESS)
        return e;
    if (!value || (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) || *(cuuint64_t *)value)
        return CUDA_ERROR_INVALID_VALUE;        /* the high marks may be reset, nothing else */
    atomic_store(&high[device], graph_memory_used(device));
    return CUDA_SUCCESS;
}

CUresult
drv_cuDeviceGraphMemTrim(CUdevice device)
{
    struct device *d;
    return device_get(device, &d);      /* memory is held by graphs alone: none is cached beside them */
}
