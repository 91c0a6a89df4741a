/* SPDX-License-Identifier: Apache-2.0
 * See totals.h. Short lists are scanned. Only live allocations are kept, and the newest are searched first. */
#include "tracer/cli/totals_private.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/process.h"

#include <stdlib.h>
#include <string.h>

void *
totals_grow(struct totals *t, void **array, unsigned *count, size_t size)
{
    /* Doubling at powers of two needs no capacity field. */
    if ((*count & (*count - 1)) == 0) {
        void *p = realloc(*array, size * (*count ? 2 * (size_t)*count : 1));
        if (!p) {
            t->nomem = true;
            return NULL;
        }
        *array = p;
    }
    char *e = (char *)*array + size * (*count)++;
    memset(e, 0, size);
    return e;
}

static char *
copy(struct totals *t, const char *s)
{
    char *p = strdup(s ? s : "");
    t->nomem |= !p;
    return p;
}

static struct tot_function *
function_of(struct totals *t, const char *name)
{
    uint32_t i = tr_index_of_text(&t->function_index, name);
    t->nomem |= i == TR_NO_INDEX;
    if (i < t->function_count || i == TR_NO_INDEX)
        return i == TR_NO_INDEX ? NULL : &t->functions[i];
    struct tot_function *f = TOTALS_GROW(t, functions, function_count);
    if (f)
        f->name = tr_index_text(&t->function_index, i);
    return f;
}

struct tot_kernel *
totals_kernel(struct totals *t, const char *name)
{
    uint32_t i = tr_index_of_text(&t->kernel_index, name);
    t->nomem |= i == TR_NO_INDEX;
    if (i < t->kernel_count || i == TR_NO_INDEX)
        return i == TR_NO_INDEX ? NULL : &t->kernels[i];
    struct tot_kernel *k = TOTALS_GROW(t, kernels, kernel_count);
    if (k)
        k->name = tr_index_text(&t->kernel_index, i);
    return k;
}

static void
count_pair(struct totals *t, struct tot_error **list, unsigned *count, const char *function, const char *result)
{
    for (unsigned i = 0; i < *count; i++) {
        if (!strcmp((*list)[i].function, function) && !strcmp((*list)[i].result, result)) {
            (*list)[i].count++;
            return;
        }
    }
    char *f = copy(t, function), *r = copy(t, result);
    struct tot_error *e = f && r ? totals_grow(t, (void **)list, count, sizeof **list) : NULL;
    if (e) {
        *e = (struct tot_error){ f, r, 1 };
    } else {
        free(f);
        free(r);
    }
}

static uint64_t
arg(const struct tr_call *c, const char *name)
{
    const struct tr_field *f = tr_find(c->args, c->count, name);
    return f && (f->kind == TR_UINT || f->kind == TR_INT) ? f->u : 0;
}

static struct tot_process *
process_of(struct totals *t, uint32_t pid)
{
    uint32_t i = tr_index_of(&t->process_index, &pid, sizeof pid);
    t->nomem |= i == TR_NO_INDEX;
    if (i < t->process_count || i == TR_NO_INDEX)
        return i == TR_NO_INDEX ? NULL : &t->process_list[i];
    struct tot_process *p = TOTALS_GROW(t, process_list, process_count);
    if (p)
        p->pid = pid;
    return p;
}

static void
count_process(struct totals *t, const struct tr_call *c)
{
    struct tot_process *p = process_of(t, c->pid);
    if (!p)
        return;
    p->calls++;
    p->launches += c->kernel.present;
    p->failed += c->failed;
}

/* By rank; those without one behind the others. */
static int
by_rank(const void *a, const void *b)
{
    const struct tot_process *x = a, *y = b;
    int64_t p = tr_process(x->pid).rank, q = tr_process(y->pid).rank;
    if (p != q)
        return p < 0 ? 1 : q < 0 ? -1 : p < q ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* ---- memory ---- */

static void
allocated(struct totals *t, const struct tr_call *c, bool host, uint64_t address, uint64_t size)
{
    struct tot_block *b = TOTALS_GROW(t, blocks, block_count);
    if (b)
        *b = (struct tot_block){ address, size, c->pid, host, true };
    t->allocations[host]++;
    t->allocated[host] += size;
    t->live[host] += size;
    if (t->live[host] > t->peak[host])
        t->peak[host] = t->live[host];
}

static void
freed(struct totals *t, const struct tr_call *c, bool host, uint64_t address)
{
    /* The newest allocations are freed most often. */
    for (unsigned i = t->block_count; i-- > 0;) {
        struct tot_block *b = &t->blocks[i];
        if (!b->live || b->address != address || b->host != host || b->pid != c->pid)
            continue;
        t->frees[host]++;
        t->freed[host] += b->size;
        t->live[host] -= b->size;
        *b = t->blocks[--t->block_count];
        return;
    }
}

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

void
totals_memory(struct totals *t, const struct tr_call *c)
{
    const char *f = c->function;
    if (!c->result || c->result->u)
        return;
    if (starts(f, "cuMemAllocHost") || starts(f, "cuMemHostAlloc")) {
        allocated(t, c, true, arg(c, "pp"), arg(c, "bytesize"));
    } else if (starts(f, "cuMemAllocPitch")) {
        allocated(t, c, false, arg(c, "dptr"), arg(c, "pPitch") * arg(c, "Height"));
    } else if (starts(f, "cuMemAlloc")) {
        allocated(t, c, false, arg(c, "dptr"), arg(c, "bytesize"));
    } else if (starts(f, "cuMemFreeHost")) {
        freed(t, c, true, arg(c, "p"));
    } else if (starts(f, "cuMemFree")) {
        freed(t, c, false, arg(c, "dptr"));
    } else if (starts(f, "cuMemcpy")) {
        /* cuMemcpyHtoD_v2, cuMemcpy2DAsync_v2: the direction is in the name or in the structure. */
        uint64_t bytes = arg(c, "ByteCount");
        unsigned way = 3;
        if (!bytes && tr_find(c->args, c->count, "pCopy__WidthInBytes")) {
            uint64_t height = arg(c, "pCopy__Height"), depth = arg(c, "pCopy__Depth");
            bytes = arg(c, "pCopy__WidthInBytes") * (height ? height : 1) * (depth ? depth : 1);
            uint64_t from = arg(c, "pCopy__srcMemoryType"), to = arg(c, "pCopy__dstMemoryType");
            way = from == 1 && to == 1 ? 3 : from == 1 ? 0 : to == 1 ? 1 : 2;
        } else if (strstr(f, "HtoD") || strstr(f, "HtoA")) {
            way = 0;
        } else if (strstr(f, "DtoH") || strstr(f, "AtoH")) {
            way = 1;
        } else if (strstr(f, "DtoD") || strstr(f, "AtoA") || strstr(f, "DtoA") || strstr(f, "AtoD")) {
            way = 2;
        }
        t->copies[way]++;
        t->copied[way] += bytes;
    }
}

/* ---- kernels ---- */

static void
count_kernel(struct totals *t, const struct tr_call *c)
{
    struct tot_kernel *k = totals_kernel(t, c->kernel.name);
    if (!k)
        return;
    t->launches++;
    k->launches++;
    k->errors += c->failed;
    k->total += c->end - c->start;
    for (unsigned i = 0; i < k->grid_count; i++) {
        struct tot_grid *g = &k->grids[i];
        if (!memcmp(g->grid, c->kernel.grid, sizeof g->grid) && !memcmp(g->block, c->kernel.block, sizeof g->block)) {
            g->launches++;
            return;
        }
    }
    if (k->grid_count == MAX_GRIDS) {
        k->other_grids++;
        return;
    }
    struct tot_grid *g = &k->grids[k->grid_count++];
    memcpy(g->grid, c->kernel.grid, sizeof g->grid);
    memcpy(g->block, c->kernel.block, sizeof g->block);
    g->launches = 1;
}

static void
on_call(void *ctx, const struct tr_call *c)
{
    struct totals *t = ctx;
    struct tot_function *f = function_of(t, c->function);
    if (!f)
        return;
    int64_t time = c->end - c->start;
    t->calls++;
    t->runtime_calls += tr_of_runtime(c->function);
    f->calls++;
    f->errors += c->failed;
    f->unfinished += !c->result;
    f->total += time;
    struct tot_span *made = TOTALS_GROW(t, made, made_count);
    if (made)
        *made = (struct tot_span){ c->start, c->end, (uint64_t)(f - t->functions) };
    if (totals_is_sync_copy(c->function)) {
        t->sync_copies++;
        t->sync_time += time;
    }
    if (time > f->longest)
        f->longest = time;
    if (!t->first || c->start < t->first)
        t->first = c->start;
    if (c->end > t->last)
        t->last = c->end;
    uint64_t thread = (uint64_t)c->pid << 32 | c->tid;
    t->nomem |= tr_index_of(&t->thread_index, &thread, sizeof thread) == TR_NO_INDEX;
    count_process(t, c);
    if (c->failed) {
        t->failed++;
        count_pair(t, &t->errors, &t->error_count, c->function, c->result->text ? c->result->text : "unknown error");
    }
    if (starts(c->function, "cuGetProcAddress") && c->result) {
        const struct tr_field *symbol = tr_find(c->args, c->count, "symbol"), *pfn = tr_find(c->args, c->count, "pfn");
        if (symbol && symbol->text && (c->result->u || (pfn && pfn->kind == TR_UINT && !pfn->u)))
            count_pair(t, &t->missing, &t->missing_count, symbol->text, "");
    }
    if (c->kernel.present)
        count_kernel(t, c);
    totals_memory(t, c);
}

static void
on_other(void *ctx, const struct tr_event *e)
{
    struct totals *t = ctx;
    if (strcmp(e->name, "module"))
        return;
    const struct tr_field *kind = tr_find(e->fields, e->count, "kind"), *file = tr_find(e->fields, e->count, "file");
    const struct tr_field *size = tr_find(e->fields, e->count, "size"), *hash = tr_find(e->fields, e->count, "sha256");
    const struct tr_field *handle = tr_find(e->fields, e->count, "handle");
    bool refused = handle && !handle->u;
    if (!kind || !kind->text || !file || !file->text || !size || !hash || !hash->text)
        return;
    for (unsigned i = 0; i < t->module_count; i++) {
        struct tot_module *m = &t->modules[i];
        if (m->size == size->u && !strcmp(m->hash, hash->text) && !strcmp(m->file, file->text)) {
            m->loads += !refused;
            m->refused += refused;
            return;
        }
    }
    struct tot_module *m = TOTALS_GROW(t, modules, module_count);
    if (m)
        *m = (struct tot_module){ copy(t, kind->text), copy(t, file->text), copy(t, hash->text), size->u, !refused, refused };
}

static int
by_time(const void *a, const void *b)
{
    const struct tot_function *x = a, *y = b;
    return x->total < y->total ? 1 : x->total > y->total ? -1 : strcmp(x->name, y->name);
}

static int
by_cost(const void *a, const void *b)
{
    const struct tot_kernel *x = a, *y = b;
    if (x->device.total != y->device.total)
        return x->device.total < y->device.total ? 1 : -1;
    return x->launches < y->launches ? 1 : x->launches > y->launches ? -1 : strcmp(x->name, y->name);
}

enum tr_status
totals_read(const char *dir, struct totals *t)
{
    memset(t, 0, sizeof *t);
    struct tr_calls calls = { .call = on_call, .other = on_other, .op = totals_op, .ctx = t };
    enum tr_status status = tr_read_calls(dir, &calls);
    t->lost = calls.lost;
    totals_find_gaps(t);        /* before the functions are sorted */
    if (t->function_count)
        qsort(t->functions, t->function_count, sizeof *t->functions, by_time);
    if (t->kernel_count)
        qsort(t->kernels, t->kernel_count, sizeof *t->kernels, by_cost);
    if (t->process_count)
        qsort(t->process_list, t->process_count, sizeof *t->process_list, by_rank);
    if (t->nomem) {
        say("out of memory");
        status = TR_FAILED;
    }
    return status;
}

static void
free_pairs(struct tot_error *e, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        free(e[i].function);
        free(e[i].result);
    }
    free(e);
}

void
totals_finish(struct totals *t)
{
    for (unsigned i = 0; i < t->module_count; i++) {
        free(t->modules[i].kind);
        free(t->modules[i].file);
        free(t->modules[i].hash);
    }
    free(t->functions);
    free(t->kernels);
    free(t->modules);
    free(t->blocks);
    free(t->spans);
    free(t->made);
    free(t->devices);
    free(t->process_list);
    tr_index_finish(&t->function_index);
    tr_index_finish(&t->kernel_index);
    tr_index_finish(&t->thread_index);
    tr_index_finish(&t->process_index);
    free_pairs(t->errors, t->error_count);
    free_pairs(t->missing, t->missing_count);
    memset(t, 0, sizeof *t);
}
