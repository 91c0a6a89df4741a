/* SPDX-License-Identifier: Apache-2.0
 * Atomic operations whose outcome depends on the order of threads. What was added to an element, or exchanged with it, is recorded (CWI_WATCH).
 * Sums of floats are added here in other orders until the recorded sum comes out to the bit. Of exchanges (atom.exch, atom.cas) some order must leave
 * the recorded value. That is asked of kernels without barriers and warp operations alone: nothing there but stores that threads wait for
 * keeps them in an order. */
#include "replay/compare.h"
#include "replay/explain_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG = 64 << 20, MAX_ORDERS = 20000 };     /* LOG: at most */
#define MAX_STEPS 200000000ull          /* additions in all */

struct addition {
    uint64_t address, value, block, at; /* at: its place in the log */
    uint32_t id, thread;
    enum cwi_kind kind;
};

/* By element, thread, and time. */
static int
in_order(const void *a, const void *b)
{
    const struct addition *x = a, *y = b;
    const uint64_t l[] = { x->address, x->block, x->thread, x->at }, r[] = { y->address, y->block, y->thread, y->at };
    for (unsigned i = 0; i < 4; i++)
        if (l[i] != r[i])
            return l[i] < r[i] ? -1 : 1;
    return 0;
}

/* The records. NULL: memory is out. Plain stores count as additions of no instruction that adds. */
static struct addition *
read_log(const struct cwl_side *s, uint64_t made)
{
    struct addition *a = calloc(made + 1, sizeof *a);
    for (uint64_t i = 0; a && i < made; i++) {
        uint64_t w[4];
        memcpy(w, s->log + CWI_HEADER + i * 32, sizeof w);
        a[i] = (struct addition){ ~w[2], ~w[3], w[1], i, CWI_ID(w[0]), CWI_THREAD(w[0]), CWI_KIND(w[0]) };
    }
    if (a)
        qsort(a, made, sizeof *a, in_order);
    return a;
}

static bool
adds_floats(const struct cwl_side *s, uint32_t id, unsigned *type)
{
    if (id >= s->program.ninsts)
        return false;
    const struct ptx_inst *in = s->program.insts[id].in;
    *type = in->type[0];
    return (in->op == PTX_OP_RED || in->op == PTX_OP_ATOM) && in->atomop == PTX_ATOM_ADD && (*type == PTX_F32 || *type == PTX_F64);
}

static double
number(uint64_t bits, unsigned type)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return type == PTX_F32 ? (double)f : d;
}

static double
sum(double start, const double *v, uint64_t n, unsigned type)
{
    float f = (float)start;
    double d = start;
    for (uint64_t i = 0; i < n; i++) {
        f += (float)v[i];
        d += v[i];
    }
    return type == PTX_F32 ? (double)f : d;
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Does some order give `want`? */
static bool
search(double start, double *v, uint64_t n, unsigned type, double want, uint64_t *steps)
{
    uint64_t random = 0x9e3779b97f4a7c15ull;
    if (sum(start, v, n, type) == want)
        return true;
    qsort(v, n, sizeof *v, ascending);
    for (unsigned order = 0; order < MAX_ORDERS && *steps < MAX_STEPS; order++) {
        if (sum(start, v, n, type) == want)
            return true;
        *steps += n;
        for (uint64_t i = n; i-- > 1;) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            uint64_t k = (random >> 33) % (i + 1);
            double t = v[i];
            v[i] = v[k];
            v[k] = t;
        }
    }
    return false;
}

/* ---- exchanges --------------------------------------------------------------------------------------------------------------- */

struct swap {
    uint64_t from, to;
    uint32_t id;
    bool any;                           /* exch: whatever is there */
    bool seen;                          /* `to` is reached */
};

static bool
swaps(const struct cwl_side *s, uint32_t id)
{
    if (id >= s->program.ninsts)
        return false;
    const struct ptx_inst *in = s->program.insts[id].in;
    return in->op == PTX_OP_ATOM && (in->atomop == PTX_ATOM_EXCH || in->atomop == PTX_ATOM_CAS);
}

static int
by_from(const void *a, const void *b)
{
    const struct swap *x = a, *y = b;
    return x->any != y->any ? (x->any ? 1 : -1) : (x->from > y->from) - (x->from < y->from);
}

/* The exchanges of one element, by what they compare with, those of any value last. False: there is something else, or a thread makes several that are not the
 * same, whose order is then not open. */
static bool
read_swaps(const struct cwl_side *s, const struct addition *a, uint64_t n, unsigned width, struct swap *out, uint64_t *count)
{
    const uint64_t mask = width < 8 ? (1ull << 8 * width) - 1 : UINT64_MAX;
    bool varied = false, cas = false;
    *count = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool any = swaps(s, a[i].id) && s->program.insts[a[i].id].in->atomop == PTX_ATOM_EXCH;
        struct swap x = { .to = a[i].value & mask, .id = a[i].id, .any = any };
        if (!swaps(s, a[i].id) || ptx_type_bits((ptx_type)s->program.insts[a[i].id].in->type[0]) != width * 8)
            return false;
        if (!any) {
            const struct addition *c = &a[i++];     /* a comparison, then its exchange */
            if (c->kind != CWI_COMPARE || i == n || a[i].kind != CWI_ATOMIC || a[i].id != c->id || a[i].block != c->block || a[i].thread != c->thread)
                return false;
            x.from = c->value & mask;
            x.to = a[i].value & mask;
            cas = true;
        }
        struct swap *before = *count && i >= (any ? 1u : 2u) ? &out[*count - 1] : NULL;
        const struct addition *prior = before ? &a[i - (any ? 1 : 2)] : NULL;
        if (prior && prior->block == a[i].block && prior->thread == a[i].thread) {
            varied = varied || before->any != x.any || before->from != x.from || before->to != x.to;
            *before = x;                /* the later one; the same, where that matters */
        } else {
            out[(*count)++] = x;
        }
    }
    qsort(out, *count, sizeof *out, by_from);
    return *count > 1 && !(cas && varied);
}

/* May `want` be what stays? An exch may come last. Comparisons follow each other from `start`, or from what an exch put there, until `want` is reached; those
 * that are left over come when the element is not what they compare with, of which there are at least two values. */
static const struct swap *
reach(struct swap *x, uint64_t n, uint64_t start, uint64_t want)
{
    uint64_t *line = malloc((n + 2) * sizeof *line), head = 0, tail = 0, compares = n;
    const struct swap *found = NULL;
    if (!line)
        return NULL;
    line[tail++] = start;
    while (compares && x[compares - 1].any) {
        found = x[--compares].to == want ? &x[compares] : found;
        line[tail++] = x[compares].to;
    }
    while (head < tail && !found) {
        uint64_t now = line[head++], low = 0, high = compares;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (x[middle].from < now)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < compares && x[low].from == now && !found; low++) {
            if (x[low].seen || x[low].to == now)
                continue;
            x[low].seen = true;
            if (x[low].to == want)
                found = &x[low];
            else
                line[tail++] = x[low].to;
        }
    }
    free(line);
    return found;
}

static const struct swap *
prove_swap(const struct cwl_side *s, const struct addition *a, uint64_t n, unsigned width, uint64_t before, uint64_t recorded, struct swap *room)
{
    uint64_t count;
    return n && read_swaps(s, a, n, width, room, &count) ? reach(room, count, before, recorded) : NULL;
}

/* Does the kernel, or a function of its modules, have an exchange, and nothing that makes threads wait for each other? */
static bool
swaps_freely(const struct cwl_side *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->program.ninsts; i++) {
        const struct ptx_inst *in = s->program.insts[i].in;
        const struct ptx_function *fn = s->program.insts[i].fn;
        if (fn->is_entry && strcmp(fn->sym->name, s->dump.kernel))
            continue;
        if (ptx_op_info((ptx_op)in->op)->traits & (PTX_T_BARRIER | PTX_T_WARP) || in->op == PTX_OP_MBARRIER_INIT)
            return false;
        any = any || swaps(s, i);
    }
    return any && !s->dump.cooperative;
}

/* ---- the elements ------------------------------------------------------------------------------------------------------------ */

/* One element: the additions from `a` on have its address. */
static bool
prove(const struct cwl_side *s, const struct addition *a, uint64_t n, uint64_t before, uint64_t recorded, uint64_t *steps)
{
    unsigned type, other;
    double *v = malloc((n + 1) * sizeof *v);
    bool ok = v && n > 1 && adds_floats(s, a->id, &type);
    for (uint64_t i = 0; ok && i < n; i++) {
        ok = adds_floats(s, a[i].id, &other) && other == type;
        v[i] = number(a[i].value, type);
    }
    ok = ok && search(number(before, type), v, n, type, number(recorded, type), steps);
    free(v);
    return ok;
}

/* What says so of the first element that is proven. */
static void
say_proof(struct explain *x, const struct cwl_side *side, uint32_t b, uint64_t index, const struct swap *swap, uint64_t n, uint32_t id, char *evidence, size_t size)
{
    char place[700];
    explain_place(x, side, swap ? swap->id : id, place, sizeof place);
    if (swap)
        snprintf(evidence, size, "buffer %u, index %llu: exchanges in another order leave the recorded value there, the last one at %s", b, (unsigned long long)index, place);
    else
        snprintf(evidence, size, "buffer %u, index %llu: the same %llu values, added in another order, give the recorded sum to the bit; added at %s", b,
                 (unsigned long long)index, (unsigned long long)n, place);
}

enum { EXCHANGES_ALONE = 16 };          /* elements that are looked at one by one where there are too many records of all */

/* The elements from `first` to `last` of a buffer. `fits`: whether the records did. */
static bool
some_elements(struct explain *x, struct cwl_side *side, uint32_t b, uint64_t first, uint64_t last, bool free_swaps, const struct set *differs, struct set *proven, char *evidence,
              size_t size, bool *fits)
{
    const struct cwd_buffer *buffer = &x->base.dump.buffers[b];
    unsigned width = explain_width(x, b);
    uint64_t made, steps = 0;
    uint64_t control[16] = { [CWI_BLOCK] = UINT64_MAX, [CWI_ADDRESS] = buffer->address + first * width, [CWI_RAW] = UINT64_MAX,
                             [CWI_SIZE] = (last - first + 1) * width };
    if (!explain_runs(x) || cwl_run_recorded(side, CWI_WATCH, control, LOG, &made, &x->e) != CW_OK)
        return false;
    uint64_t moved = side->address[b] - buffer->address;
    struct addition *a = made <= control[CWI_ROOM] ? read_log(side, made) : NULL;
    struct swap *room = a && free_swaps ? calloc(made + 1, sizeof *room) : NULL;
    *fits = a != NULL;
    for (uint64_t i = 0, k; a && i < made; i = k) {
        for (k = i; k < made && a[k].address == a[i].address; k++)
            ;
        uint64_t offset = a[i].address - buffer->address, before = 0, recorded = 0;
        if (offset >= buffer->size)
            offset -= moved;
        if (offset >= buffer->size || offset % width || !differs->in[x->start[b] + offset / width])
            continue;
        memcpy(&before, buffer->before + offset, width);
        memcpy(&recorded, buffer->after + offset, width);
        const struct swap *swap = room ? prove_swap(side, a + i, k - i, width, before, recorded, room) : NULL;
        if (!swap && !prove(side, a + i, k - i, before, recorded, &steps))
            continue;
        uint8_t *in = &proven->in[x->start[b] + offset / width];
        if (!proven->count && !*in)
            say_proof(x, side, b, offset / width, swap, k - i, a[i].id, evidence, size);
        proven->count += !*in;
        *in = 1;
    }
    free(room);
    free(a);
    return true;
}

static bool
one_buffer(struct explain *x, struct cwl_side *side, uint32_t b, bool free_swaps, const struct set *differs, struct set *proven, char *evidence, size_t size)
{
    unsigned width = explain_width(x, b), alone = 0;
    uint64_t first = UINT64_MAX, last = 0, n = x->start[b + 1] - x->start[b];
    bool fits;
    for (uint64_t i = 0; i < n; i++)
        if (differs->in[x->start[b] + i]) {
            first = first == UINT64_MAX ? i : first;
            last = i;
        }
    if (first == UINT64_MAX || !x->base.dump.buffers[b].after || (width != 4 && width != 8))
        return true;
    if (!some_elements(x, side, b, first, last, free_swaps, differs, proven, evidence, size, &fits))
        return false;
    for (uint64_t i = first; i <= last && !fits && last > first && free_swaps && alone < EXCHANGES_ALONE; i++) {
        bool now;
        if (!differs->in[x->start[b] + i])
            continue;
        alone++;
        if (!some_elements(x, side, b, i, i, free_swaps, differs, proven, evidence, size, &now))
            return false;
    }
    return true;
}

bool
explain_atomics(struct explain *x, struct cwl_side *side, const struct set *differs, struct set *proven, char *evidence, size_t size)
{
    bool free_swaps = swaps_freely(side), any = free_swaps;
    unsigned type;
    *evidence = 0;
    for (uint32_t i = 0; i < side->program.ninsts; i++)
        any = any || adds_floats(side, i, &type);
    for (uint32_t b = 0; any && b < x->base.dump.nbuffers; b++)
        if (!one_buffer(x, side, b, free_swaps, differs, proven, evidence, size))
            return false;
    return true;
}
