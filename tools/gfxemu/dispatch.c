/* SPDX-License-Identifier: Apache-2.0
 * Work-groups over threads, waves of a work-group in turns. A wave runs until it waits at a barrier, ends, or its turn is over
 * (a wave may wait for another one in a loop). The kernel descriptor determines the initial registers ("Initial Kernel
 * Execution State" of LLVM's AMDGPU guide). */
#define _GNU_SOURCE
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "tools/gfxemu/exec.h"

#include "impl/base/fault.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURN = 20000, MAX_THREADS = 64, PATIENCE = 50, MOST_LIVE = 256 };

_Atomic uint32_t gfx_stack_size = 16384;

struct gfx_dispatch {
    struct gfx_launch *launch;
    uint8_t *kernarg;
    uint32_t kernarg_size;
    uint8_t packet[64];             /* hsa_kernel_dispatch_packet_t */
    uint8_t queue[256];             /* amd_queue_t, as far as kernels look */
    uint64_t groups;
    _Atomic uint64_t next;
    _Atomic bool stop;
    pthread_mutex_t lock;           /* launch->fault, message, counts */
    unsigned threads;
};

uint64_t
gfx_wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 100000000u + (uint64_t)t.tv_nsec / 10;
}

void
gfx_fault(struct gfx_wave *w, enum gfx_fault kind, const char *fmt, ...)
{
    struct gfx_dispatch *d = w->group->launch ? w->group->launch->own : NULL;
    w->state = WAVE_FAULT;
    if (!d)             /* an instruction alone */
        return;
    pthread_mutex_lock(&d->lock);
    if (!d->launch->fault) {
        va_list ap;
        va_start(ap, fmt);
        d->launch->fault = kind;
        vsnprintf(d->launch->message, sizeof d->launch->message, fmt, ap);
        va_end(ap);
        size_t n = strlen(d->launch->message);
        if (n < sizeof d->launch->message)
            snprintf(d->launch->message + n, sizeof d->launch->message - n, " (at %s+0x%llx)", d->launch->kernel->name,
                     (unsigned long long)(w->pc - d->launch->kernel->entry));
    }
    pthread_mutex_unlock(&d->lock);
    d->stop = true;
}

void
gfx_note(struct gfx_wave *w, enum gfx_note kind, const struct gfx_insn *i)
{
    uint64_t *count = kind == NOTE_UNWRITTEN ? &w->unwritten_registers : &w->misaligned;
    struct gfx_dispatch *d = w->group->launch ? w->group->launch->own : NULL;
    if ((*count)++ || !d)
        return;
    pthread_mutex_lock(&d->lock);
    char *to = d->launch->noted[kind];
    if (!*to)
        snprintf(to, sizeof d->launch->noted[kind], "%s (at %s+0x%llx)", i->text, d->launch->kernel->name,
                 (unsigned long long)(w->pc - d->launch->kernel->entry));
    pthread_mutex_unlock(&d->lock);
}

/* ---- one wave ---- */

void
gfx_step_dual(struct gfx_wave *w, const struct gfx_insn *i)
{
    /* Both halves read before either writes: the second reads the first's destination before the write. */
    uint32_t old[LANES], new[LANES];
    unsigned r = i->op[0].reg;
    memcpy(old, w->v[r], sizeof old);
    i->exec(w, i);
    memcpy(new, w->v[r], sizeof new);
    memcpy(w->v[r], old, sizeof old);
    i->dual->exec(w, i->dual);
    memcpy(w->v[r], new, sizeof new);
}

/* Does it read vector registers that nothing wrote, in a lane that is active? */
static inline bool
reads_unwritten(struct gfx_wave *w, const struct gfx_insn *i)
{
    uint64_t held = w->written[i->reads[0]] & w->written[i->reads[1]] & w->written[i->reads[2]];
    for (unsigned k = 3; k < i->nreads; k++)
        held &= w->written[i->reads[k]];
    uint64_t missing = gfx_exec_mask(w) & ~held;
    return missing && (missing & all_lanes(w));
}

static inline void
check_registers(struct gfx_wave *w, const struct gfx_insn *i)
{
    bool unwritten = i->nreads && reads_unwritten(w, i);
    if (i->scalars) {
        unwritten |= (i->sreads[0] & ~w->s_written[0]) || (i->sreads[1] & ~w->s_written[1]);
        w->s_written[0] |= i->swrites[0];
        w->s_written[1] |= i->swrites[1];
    }
    if (__builtin_expect(unwritten, 0))
        gfx_note(w, NOTE_UNWRITTEN, i);
}

static void
run_wave(struct gfx_wave *w)
{
    char error[256];
    for (unsigned n = 0; n < TURN && w->state == WAVE_READY; n++) {
        const struct gfx_insn *i = gfx_decode(w->code, w->pc, w->lanes == 64, error);
        if (!i) {
            gfx_fault(w, FAULT_INSTRUCTION, "%s", error);
            return;
        }
        if (!i->exec || (i->dual && !i->dual->exec)) {
            gfx_fault(w, FAULT_INSTRUCTION, "instruction at 0x%llx (0x%08x 0x%08x) is not known to the emulator: %s", (unsigned long long)w->pc,
                      i->raw[0], i->size > 4 ? i->raw[1] : 0, i->text);
            return;
        }
        w->next_pc = w->pc + i->size;
        w->counts[i->cls]++;
        if (i->cls == GFX_C_VALU || i->cls == GFX_C_TRANS || i->cls == GFX_C_MATRIX) {
            w->active_lanes += (uint64_t)__builtin_popcountll(gfx_exec_mask(w) & all_lanes(w));
            w->valu_lanes += w->lanes;
        }
        check_registers(w, i);
        if (i->dual) {
            check_registers(w, i->dual);
            gfx_step_dual(w, i);
        } else if (__builtin_expect(w->indexed, 0) && (i->cls == GFX_C_VALU || i->cls == GFX_C_TRANS)) {
            gfx_step_indexed(w, i);
        } else {
            i->exec(w, i);
        }
        if (w->state == WAVE_FAULT)
            return;
        w->pc = w->next_pc;
    }
}

/* ---- the first state ---- */

static void
put64(struct gfx_wave *w, unsigned *at, uint64_t v)
{
    w->s[(*at)++] = (uint32_t)v;
    w->s[(*at)++] = (uint32_t)(v >> 32);
}

static void
start_wave(struct gfx_dispatch *d, struct gfx_group *g, struct gfx_wave *w, unsigned index, const uint32_t id[3])
{
    const struct gfx_launch *l = d->launch;
    const struct gfx_kernel *k = l->kernel;
    const struct gfx_target *t = g->target;
    unsigned n = 0, lanes = k->wave64 ? 64 : 32, threads = l->block[0] * l->block[1] * l->block[2], first = index * lanes;
    uint8_t *scratch = w->scratch;
    uint32_t scratch_size = w->scratch_size;
    memset(w, 0, sizeof *w);
    w->scratch = scratch;
    w->scratch_size = scratch_size;
    w->lanes = lanes;
    w->group = g;
    w->code = l->object->code;
    w->pc = k->entry;
    w->mode = k->rsrc1 >> 12 & 0xff;
    if (t->family < GFX12)          /* the bits mean something else in gfx12, which has neither mode */
        w->mode |= (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9;
    if (k->properties & 1) {        /* scratch as a swizzled buffer */
        put64(w, &n, (uint64_t)1 << 63);
        put64(w, &n, 0xffffffffu);
    }
    if (k->properties >> 1 & 1)
        put64(w, &n, (uintptr_t)d->packet);
    if (k->properties >> 2 & 1)
        put64(w, &n, (uintptr_t)d->queue);
    if (k->properties >> 3 & 1)
        put64(w, &n, (uintptr_t)d->kernarg);
    if (k->properties >> 4 & 1)
        put64(w, &n, 0);
    if (k->properties >> 5 & 1)
        put64(w, &n, 0);
    if (k->properties >> 6 & 1)
        w->s[n++] = scratch_size;
    for (unsigned p = 0; p < (k->preload & 127u) && n < 32; p++) {
        uint32_t at = 4 * ((k->preload >> 7) + p);
        if (at + 4 <= d->kernarg_size)
            memcpy(&w->s[n], d->kernarg + at, 4);
        n++;
    }
    if (t->family >= GFX12) {
        w->s[S_TTMP + 9] = id[0];
        w->s[S_TTMP + 7] = (id[1] & 0xffff) | id[2] << 16;
    } else {
        unsigned user = k->rsrc2 >> 1 & 31;
        if (user > n)
            n = user;
        for (unsigned a = 0; a < 3; a++)
            if (k->rsrc2 >> (7 + a) & 1)
                w->s[n++] = id[a];
        if (k->rsrc2 >> 10 & 1)
            w->s[n++] = 0;
        if ((k->rsrc2 & 1) && !t->flat_scratch)
            w->s[n++] = 0;          /* byte offset of the wave's scratch: each wave has its own here */
    }
    /* LLVM adds the offset of the wave's scratch before it knows that there is none, and the descriptor has no such register. */
    for (unsigned r = 0; r < n + (t->flat_scratch ? 0 : 1); r++)
        w->s_written[r >> 6] |= 1ull << (r & 63);
    unsigned ids = k->rsrc2 >> 11 & 3;
    uint64_t exec = 0;
    for (unsigned lane = 0; lane < lanes && first + lane < threads; lane++) {
        unsigned x = (first + lane) % l->block[0], y = (first + lane) / l->block[0] % l->block[1], z = (first + lane) / l->block[0] / l->block[1];
        exec |= 1ull << lane;
        if (t->packed_ids) {
            w->v[0][lane] = x | (ids >= 1 ? y << 10 : 0) | (ids >= 2 ? z << 20 : 0);
        } else {
            w->v[0][lane] = x;
            if (ids >= 1)
                w->v[1][lane] = y;
            if (ids >= 2)
                w->v[2][lane] = z;
        }
    }
    w->written[V_COUNT] = ~0ull;
    for (unsigned a = 0; a < (t->packed_ids ? 1u : ids + 1); a++)
        w->written[a] = exec;
    w->s[S_EXEC] = (uint32_t)exec;
    w->s[S_EXEC + 1] = (uint32_t)(exec >> 32);
}

/* ---- work-groups ---- */

static struct gfx_group *
group_create(struct gfx_dispatch *d)
{
    const struct gfx_launch *l = d->launch;
    const struct gfx_kernel *k = l->kernel;
    unsigned lanes = k->wave64 ? 64 : 32, threads = l->block[0] * l->block[1] * l->block[2];
    struct gfx_group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->target = l->object->target;
    g->launch = d->launch;
    g->nwaves = (threads + lanes - 1) / lanes;
    g->waves = calloc(g->nwaves, sizeof *g->waves);
    g->lds_size = k->lds_size + l->dynamic_lds;
    /* Stores of 16 bytes at the end of LDS are checked against lds_size; the space behind it is only for alignment. */
    if (posix_memalign((void **)&g->lds, 256, g->lds_size + 64))
        g->lds = NULL;
    g->lds_written = malloc(g->lds_size + 1);
    uint32_t scratch = ((k->scratch_size + 3) & ~3u) + (k->dynamic_stack ? gfx_stack_size : 0);   /* dwords, as the hardware's */
    for (unsigned i = 0; g->waves && i < g->nwaves; i++) {
        g->waves[i] = calloc(1, sizeof **g->waves);
        if (!g->waves[i])
            break;
        g->waves[i]->scratch_size = scratch;
        if (scratch && !(g->waves[i]->scratch = malloc((size_t)scratch * lanes)))
            break;
        if (i + 1 == g->nwaves && g->lds && g->lds_written)
            return g;
    }
    for (unsigned i = 0; g->waves && i < g->nwaves; i++)
        if (g->waves[i]) {
            free(g->waves[i]->scratch);
            free(g->waves[i]);
        }
    free(g->waves);
    free(g->lds);
    free(g->lds_written);
    free(g);
    return NULL;
}

static void
group_destroy(struct gfx_group *g)
{
    for (unsigned i = 0; i < g->nwaves; i++) {
        free(g->waves[i]->scratch);
        free(g->waves[i]);
    }
    free(g->waves);
    free(g->lds);
    free(g->lds_written);
    free(g);
}

static void
group_start(struct gfx_dispatch *d, struct gfx_group *g, uint64_t number)
{
    const uint32_t *grid = d->launch->grid;
    uint32_t id[3] = { (uint32_t)(number % grid[0]), (uint32_t)(number / grid[0] % grid[1]), (uint32_t)(number / grid[0] / grid[1]) };
    memset(g->lds_written, 0, g->lds_size + 1);
    memset(g->lds, 0xcd, g->lds_size);  /* the initial value is undefined */
    g->lds_unwritten = 0;
    for (unsigned i = 0; i < g->nwaves; i++)
        start_wave(d, g, g->waves[i], i, id);
}

/* One turn for every wave. True while the work-group has something to run. */
static bool
group_turn(struct gfx_group *g)
{
    unsigned done = 0, waiting = 0;
    for (unsigned i = 0; i < g->nwaves; i++) {
        struct gfx_wave *w = g->waves[i];
        if (w->state == WAVE_READY)
            run_wave(w);
        if (w->state == WAVE_FAULT)
            return false;
        done += w->state == WAVE_DONE;
        waiting += w->state == WAVE_BARRIER;
    }
    if (waiting && done + waiting == g->nwaves)
        for (unsigned i = 0; i < g->nwaves; i++)
            if (g->waves[i]->state == WAVE_BARRIER)
                g->waves[i]->state = WAVE_READY;
    return done < g->nwaves;
}

/* The interpreter checks every address; the memory behind one may have gone all the same (an application unmaps what it has registered). */
struct turn { struct gfx_group *group; bool more; };

static void
take_turn(void *p)
{
    struct turn *t = p;
    t->more = group_turn(t->group);
}

static bool
guarded_turn(struct gfx_dispatch *d, struct gfx_group *g)
{
    struct turn t = { g, false };
    uintptr_t address;
    if (cw_guarded(take_turn, &t, &address))
        return t.more;
    pthread_mutex_lock(&d->lock);
    if (!d->launch->fault) {
        d->launch->fault = FAULT_MEMORY;
        snprintf(d->launch->message, sizeof d->launch->message, "the memory at 0x%llx went away while the kernel ran", (unsigned long long)address);
    }
    pthread_mutex_unlock(&d->lock);
    d->stop = true;
    return false;
}

static void
group_count(struct gfx_group *g, struct gfx_counts *c)
{
    for (unsigned i = 0; i < g->nwaves; i++) {
        const struct gfx_wave *w = g->waves[i];
        for (int k = 0; k < GFX_C_COUNT; k++)
            c->insns[k] += w->counts[k];
        c->waves++;
        c->active_lanes += w->active_lanes;
        c->valu_lanes += w->valu_lanes;
        c->bank_conflicts += w->bank_conflicts;
        c->unwritten_registers += w->unwritten_registers;
        c->misaligned += w->misaligned;
    }
    c->lds_unwritten += g->lds_unwritten;
}

static void
add_counts(struct gfx_dispatch *d, const struct gfx_counts *c)
{
    uint64_t *to = (uint64_t *)&d->launch->counts;
    const uint64_t *from = (const uint64_t *)c;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < sizeof *c / 8; i++)
        to[i] += from[i];
    pthread_mutex_unlock(&d->lock);
}

static void
out_of_memory(struct gfx_dispatch *d)
{
    pthread_mutex_lock(&d->lock);
    if (!d->launch->fault) {
        d->launch->fault = FAULT_MEMORY;
        snprintf(d->launch->message, sizeof d->launch->message, "out of memory for the work-groups' registers");
    }
    pthread_mutex_unlock(&d->lock);
    d->stop = true;
}

/* A worker takes work-groups one after the other. A GPU has many at once, which may wait for each other: where none ends in PATIENCE turns, as many again get
 * turns. */
static void *
worker(void *arg)
{
    struct gfx_dispatch *d = arg;
    struct gfx_counts c = { 0 };
    struct gfx_group *g[MOST_LIVE];     /* the live ones are first */
    unsigned made = 0, live = 0, turns = 0;
    bool left = true;
    while (!d->stop) {
        unsigned want = live ? live : 1;
        if (++turns > PATIENCE) {
            turns = 0;
            want = 2 * live < MOST_LIVE ? 2 * live : MOST_LIVE;
        }
        while (left && live < want) {
            if (live == made && !(g[made] = group_create(d))) {
                if (!live)
                    out_of_memory(d);
                break;
            }
            made += live == made;
            uint64_t n = atomic_fetch_add(&d->next, 1);
            left = n < d->groups;
            if (left)
                group_start(d, g[live++], n);
        }
        if (!live)
            break;
        for (unsigned i = 0; i < live && !d->stop;) {
            struct gfx_group *now = g[i];
            if (guarded_turn(d, now)) {
                i++;
                continue;
            }
            group_count(now, &c);
            g[i] = g[--live];
            g[live] = now;
            turns = 0;
        }
        if (turns)
            sched_yield();              /* they may wait for another launch, whose thread under a real-time policy would not run */
    }
    for (unsigned i = 0; i < live; i++)
        group_count(g[i], &c);
    while (made)
        group_destroy(g[--made]);
    add_counts(d, &c);
    return NULL;
}

/* Cooperative: all work-groups exist at once, and a worker gives each of its own a turn. */
static void *
cooperative_worker(void *arg)
{
    struct gfx_dispatch *d = arg;
    struct gfx_counts c = { 0 };
    uint64_t me = atomic_fetch_add(&d->next, 1), n = (d->groups - me + d->threads - 1) / d->threads, live = 0;
    struct gfx_group **g = calloc(n ? n : 1, sizeof *g);
    for (uint64_t i = 0; g && i < n; i++) {
        g[i] = group_create(d);
        if (!g[i]) {
            out_of_memory(d);
            break;
        }
        group_start(d, g[i], me + i * d->threads);
        live++;
    }
    bool more = g && live == n;
    while (more && !d->stop) {
        more = false;
        for (uint64_t i = 0; i < live && !d->stop; i++)
            more |= guarded_turn(d, g[i]);
        sched_yield();
    }
    for (uint64_t i = 0; i < live; i++) {
        group_count(g[i], &c);
        group_destroy(g[i]);
    }
    free(g);
    add_counts(d, &c);
    return NULL;
}

/* ---- a launch ---- */

static void
hidden_arguments(struct gfx_dispatch *d)
{
    const struct gfx_launch *l = d->launch;
    const struct gfx_kernel *k = l->kernel;
    for (uint32_t i = 0; i < k->nhidden; i++) {
        const struct gfx_hidden *h = &k->hidden[i];
        uint64_t v = 0;
        if (h->kind >= HID_BLOCKS && h->kind < HID_BLOCKS + 3)
            v = l->grid[h->kind - HID_BLOCKS];
        else if (h->kind >= HID_GROUP_SIZE && h->kind < HID_GROUP_SIZE + 3)
            v = l->block[h->kind - HID_GROUP_SIZE];
        else if (h->kind == HID_GRID_DIMS)
            v = l->grid[2] * l->block[2] > 1 ? 3 : l->grid[1] * l->block[1] > 1 ? 2 : 1;
        else if (h->kind == HID_PRIVATE_BASE)
            v = GFX_PRIVATE_APERTURE;
        else if (h->kind == HID_SHARED_BASE)
            v = GFX_SHARED_APERTURE;
        else if (h->kind == HID_DYNAMIC_LDS)
            v = l->dynamic_lds;
        if (h->kind != HID_PARAMETER && h->size <= 8 && h->offset <= d->kernarg_size && h->size <= d->kernarg_size - h->offset)
            memcpy(d->kernarg + h->offset, &v, h->size);
    }
}

static void
dispatch_packet(struct gfx_dispatch *d)
{
    const struct gfx_launch *l = d->launch;
    uint16_t head[2] = { 0, 3 }, group[3] = { (uint16_t)l->block[0], (uint16_t)l->block[1], (uint16_t)l->block[2] };
    uint32_t grid[3] = { l->grid[0] * l->block[0], l->grid[1] * l->block[1], l->grid[2] * l->block[2] };
    uint32_t sizes[2] = { l->kernel->scratch_size, l->kernel->lds_size + l->dynamic_lds };
    memcpy(d->packet, head, 4);
    memcpy(d->packet + 4, group, 6);
    memcpy(d->packet + 12, grid, 12);
    memcpy(d->packet + 24, sizes, 8);
    memcpy(d->packet + 32, &l->kernel->descriptor, 8);
    memcpy(d->packet + 40, &(uint64_t){ (uintptr_t)d->kernarg }, 8);
    uint32_t apertures[2] = { GFX_SHARED_APERTURE, GFX_PRIVATE_APERTURE };
    memcpy(d->queue + 0x40, apertures, 8);
}

static unsigned
thread_count(void)
{
    static atomic_bool said;
    const char *s = cw_env_get(CW_ENV_GFXEMU_THREADS);
    char *end = NULL;
    long n = s && *s ? strtol(s, &end, 10) : 0;
    if (end && (*end || n < 1)) {
        if (!atomic_exchange(&said, true))
            cw_warn("%s=%s is not a number from 1; there is one thread per CPU", cw_env_name(CW_ENV_GFXEMU_THREADS), s);
        n = 0;
    }
    if (!n)
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

bool
gfx_dispatch_run(struct gfx_launch *l)
{
    const struct gfx_kernel *k = l->kernel;
    struct gfx_dispatch *d = calloc(1, sizeof *d);
    l->fault = FAULT_NONE;
    memset(&l->counts, 0, sizeof l->counts);
    memset(l->noted, 0, sizeof l->noted);
    if (!d) {
        l->fault = FAULT_MEMORY;
        snprintf(l->message, sizeof l->message, "out of memory");
        return false;
    }
    l->own = d;
    d->launch = l;
    pthread_mutex_init(&d->lock, NULL);
    d->groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    d->kernarg_size = k->kernarg_size > l->param_size ? k->kernarg_size : l->param_size;
    d->kernarg = calloc(1, d->kernarg_size + 64);
    uint64_t lds = (uint64_t)k->lds_size + l->dynamic_lds;
    if (lds > l->object->target->lds || !d->kernarg) {
        l->fault = FAULT_MEMORY;
        if (d->kernarg)
            snprintf(l->message, sizeof l->message, "the launch wants %llu bytes of LDS", (unsigned long long)lds);
        else
            snprintf(l->message, sizeof l->message, "out of memory");
    } else {
        if (l->param_size)
            memcpy(d->kernarg, l->params, l->param_size);
        hidden_arguments(d);
        dispatch_packet(d);
        gfx_range_add((uintptr_t)d->kernarg, d->kernarg_size + 64);
        gfx_range_add((uintptr_t)d->packet, sizeof d->packet);
        gfx_range_add((uintptr_t)d->queue, sizeof d->queue);
        unsigned n = thread_count(), started = 0;
        if (n > d->groups)
            n = (unsigned)d->groups;
        d->threads = n;
        pthread_t t[MAX_THREADS];
        void *(*fn)(void *) = l->cooperative ? cooperative_worker : worker;
        for (unsigned i = 1; i < n; i++) {
            if (cw_thread_create(&t[started], NULL, fn, d)) {
                if (l->cooperative)
                    out_of_memory(d);       /* without it its share of the work-groups would not run */
                break;
            }
            started++;
        }
        fn(d);
        while (started)
            pthread_join(t[--started], NULL);
        gfx_range_remove((uintptr_t)d->kernarg);
        gfx_range_remove((uintptr_t)d->packet);
        gfx_range_remove((uintptr_t)d->queue);
    }
    free(d->kernarg);
    pthread_mutex_destroy(&d->lock);
    free(d);
    l->own = NULL;
    return l->fault == FAULT_NONE;
}
