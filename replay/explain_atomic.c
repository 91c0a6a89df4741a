/* SPDX-License-Identifier: Apache-2.0
 * Sums by atomic operations. The values that were added to an element are recorded (CWI_WATCH), and added here in other orders until
 * the recorded sum comes out to the bit. */
#include "replay/compare.h"
#include "replay/explain_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG = 64 << 20, MAX_ORDERS = 20000 };     /* LOG: at most */
#define MAX_STEPS 200000000ull          /* additions in all */

struct addition {
    uint64_t address, value;
    uint32_t id;
};

static int
by_address(const void *a, const void *b)
{
    const struct addition *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The records. NULL: memory is out. Plain stores count as additions of no instruction that adds. */
static struct addition *
read_log(const struct cwl_side *s, uint64_t made)
{
    struct addition *a = calloc(made + 1, sizeof *a);
    for (uint64_t i = 0; a && i < made; i++) {
        uint64_t w[4];
        memcpy(w, s->log + CWI_HEADER + i * 32, sizeof w);
        a[i] = (struct addition){ ~w[2], ~w[3], CWI_ID(w[0]) };
    }
    if (a)
        qsort(a, made, sizeof *a, by_address);
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

/* The elements of one buffer. */
static bool
one_buffer(struct explain *x, struct cwl_side *side, uint32_t b, const struct set *differs, struct set *proven, char *evidence, size_t size)
{
    const struct cwd_buffer *buffer = &x->base.dump.buffers[b];
    unsigned width = explain_width(x, b);
    uint64_t first = UINT64_MAX, last = 0, n = x->start[b + 1] - x->start[b], made, steps = 0;
    for (uint64_t i = 0; i < n; i++)
        if (differs->in[x->start[b] + i]) {
            first = first == UINT64_MAX ? i : first;
            last = i;
        }
    if (first == UINT64_MAX || !buffer->after || (width != 4 && width != 8))
        return true;
    uint64_t control[16] = { [CWI_BLOCK] = UINT64_MAX, [CWI_ADDRESS] = buffer->address + first * width, [CWI_RAW] = UINT64_MAX,
                                   [CWI_SIZE] = (last - first + 1) * width };
    if (!explain_runs(x) || cwl_run_recorded(side, CWI_WATCH, control, LOG, &made, &x->e) != CW_OK)
        return false;
    uint64_t moved = side->address[b] - buffer->address;
    struct addition *a = made <= control[CWI_ROOM] ? read_log(side, made) : NULL;
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
        if (!prove(side, a + i, k - i, before, recorded, &steps))
            continue;
        uint8_t *in = &proven->in[x->start[b] + offset / width];
        if (!proven->count && !*in) {
            char place[700];
            explain_place(x, side, a[i].id, place, sizeof place);
            snprintf(evidence, size, "buffer %u, index %llu: the same %llu values, added in another order, give the recorded sum to the bit; added at %s", b,
                     (unsigned long long)(offset / width), (unsigned long long)(k - i), place);
        }
        proven->count += !*in;
        *in = 1;
    }
    free(a);
    return true;
}

bool
explain_atomics(struct explain *x, struct cwl_side *side, const struct set *differs, struct set *proven, char *evidence, size_t size)
{
    bool any = false;
    unsigned type;
    *evidence = 0;
    for (uint32_t i = 0; i < side->program.ninsts; i++)
        any = any || adds_floats(side, i, &type);
    for (uint32_t b = 0; any && b < x->base.dump.nbuffers; b++)
        if (!one_buffer(x, side, b, differs, proven, evidence, size))
            return false;
    return true;
}
