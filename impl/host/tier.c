/* SPDX-License-Identifier: Apache-2.0
 * See tier.h. One thread for the process, begun with the first request, detached; it takes requests in their order. A request is in the
 * queue or running, never both; a kernel that has one is not destroyed (cwh_tier_forget). The thread holds the kernel's lock only to
 * change its code. */
#include "impl/host/tier.h"

#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/fault.h"
#include "impl/base/log.h"
#include "impl/host/exec.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* LLVM optimises 3,000 to 5,000 instructions or 300 to 500 branches a second, and fewer the longer the function is: two seconds and more from LARGE on. From
 * VERY_LARGE on even vector code without optimisation takes ten seconds and more; scalar code is selected 4 to 30 times as fast. Beyond MOST vector code takes
 * minutes and gigabytes: scalar code is all that there is. */
enum { LARGE = 10000, VERY_LARGE = 50000, MOST = 200000, BRANCH = 10, INSTRUCTIONS_PER_SECOND = 4000 };

struct request {
    struct request *next;
    struct cwb_kernel *kernel;
    enum cwh_shape shape;
};

static struct {
    pthread_mutex_t lock;               /* a leaf; protects all but `cancel` */
    pthread_cond_t changed;
    struct request *first;
    const struct request *running;
    bool begun, stop;
    _Atomic bool cancel;                /* what runs is not wanted any more */
} tier = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Instructions, or what the branches cost in instructions, whichever is more. */
static uint32_t
size_of(const struct cwb_kernel *k)
{
    uint64_t branches = (uint64_t)k->info->branches * BRANCH;
    return branches > UINT32_MAX ? UINT32_MAX : branches > k->info->instructions ? (uint32_t)branches : k->info->instructions;
}

bool
cwh_tier_applies(const struct cwb_kernel *k)
{
    const char *s = cw_env_get(CW_ENV_TIERS);
    static _Atomic bool said;
    if (s && *s && strcmp(s, "on") && strcmp(s, "off") && !atomic_exchange(&said, true))
        cw_warn("%s=%s is not on or off; using on", cw_env_name(CW_ENV_TIERS), s);
    return !cwh_device.o0 && size_of(k) >= LARGE && !(s && !strcmp(s, "off"));
}

void
cwh_tier_quick(const struct cwb_kernel *k, struct cwh_variant *v)
{
    v->tier = CWH_TIER_QUICK;
    if (size_of(k) < VERY_LARGE)
        return;
    v->o0 = 1;
    v->linear_x = v->max_width8 = 0;
}

static int
cancelled(void *user)
{
    return atomic_load(&tier.cancel);
}

static void
optimise(const struct request *r)
{
    struct cwb_kernel *k = r->kernel;
    const struct cwj_api *jit = k->module->jit;
    struct cwh_variant v = cwh_variant_of(r->shape);
    struct cwj_host_code *code = NULL;
    struct cwj_diags diags;
    uint64_t start = cwh_now();
    v.cancelled = cancelled;
    jit->diags_init(&diags);
    cw_info("kernel %s: %s", k->info->name, k->info->too_large ? "compiling it to vectors" : "optimising it");
    cw_result e = jit->host_compile(k->module->program, k->index, &v, cwh_runtime(), &code, &diags);
    if (e == CW_OK) {
        pthread_mutex_lock(&k->lock);
        k->quick[r->shape] = k->code[r->shape];     /* launches may execute it: it stays as long as the kernel */
        k->code[r->shape] = code;
        pthread_mutex_unlock(&k->lock);
        atomic_store(&k->cost[r->shape], 0);
        cw_info("kernel %s: %s in %.1f s; the next launch takes that code", k->info->name, k->info->too_large ? "compiled to vectors" : "optimised",
                (double)(cwh_now() - start) / 1e9);
    } else if (e != CW_ERR_CANCELLED && !(diags.first && diags.first->code == CWH_ENDING)) {
        struct cw_buf text;
        cw_buf_init(&text);
        jit->diags_render(&diags, k->info->name, NULL, 0, &text);
        cw_warn("kernel %s cannot be optimised (%s); it keeps its code without optimisation%s%s", k->info->name, cw_result_text(e),
                text.size ? ": " : "", text.size ? text.data : "");
        cw_buf_finish(&text);
    }
    jit->diags_finish(&diags);
}

static void *
work(void *unused)
{
    pthread_mutex_lock(&tier.lock);
    while (!tier.stop) {
        struct request *r = tier.first;
        if (!r) {
            pthread_cond_wait(&tier.changed, &tier.lock);
            continue;
        }
        tier.first = r->next;
        tier.running = r;
        atomic_store(&tier.cancel, false);
        pthread_mutex_unlock(&tier.lock);
        optimise(r);
        pthread_mutex_lock(&tier.lock);
        tier.running = NULL;
        free(r);
        pthread_cond_broadcast(&tier.changed);
    }
    pthread_mutex_unlock(&tier.lock);
    return NULL;
}

/* tier.lock held. */
static bool
begin(void)
{
    pthread_t thread;
    if (tier.begun)
        return true;
    tier.begun = !cw_thread_create(&thread, NULL, work, NULL);
    if (tier.begun)
        pthread_detach(thread);
    return tier.begun;
}

/* Once for each shape. Holds no lock of the caller. */
static void
optimise_later(struct cwb_kernel *k, enum cwh_shape shape)
{
    struct request *r = calloc(1, sizeof *r), **last = &tier.first;
    bool ok = r != NULL;
    pthread_mutex_lock(&tier.lock);
    if (ok && !tier.stop && (ok = begin())) {
        r->kernel = k;
        r->shape = shape;
        while (*last)
            last = &(*last)->next;
        *last = r;
        r = NULL;
        pthread_cond_broadcast(&tier.changed);
    }
    pthread_mutex_unlock(&tier.lock);
    free(r);
    if (!ok)
        cw_warn("kernel %s: no thread to optimise it on; it keeps its code without optimisation", k->info->name);
}

void
cwh_tier_begin(struct cwb_kernel *k, enum cwh_shape shape)
{
    int64_t ms = (int64_t)size_of(k) * 1000 / INSTRUCTIONS_PER_SECOND;
    if (k->info->too_large && size_of(k) > MOST) {
        cw_info("kernel %s has %u instructions and %u branches: it keeps this code, which is plain and executes one thread at a time", k->info->name,
                k->info->instructions, k->info->branches);
        return;
    }
    cw_info("kernel %s has %u instructions and %u branches: this code is not optimised; better code is made in the background when it has run for %.1f s",
            k->info->name, k->info->instructions, k->info->branches, (double)ms / 1000);
    atomic_store(&k->patience[shape], ms * 1000000);
}

void
cwh_tier_ran(struct cwb_kernel *k, enum cwh_shape shape, uint64_t ns)
{
    int64_t left = atomic_load(&k->patience[shape]), next;
    do {
        if (left <= 0)
            return;
        next = left - (int64_t)ns > 0 ? left - (int64_t)ns : 0;
    } while (!atomic_compare_exchange_weak(&k->patience[shape], &left, next));
    if (!next)
        optimise_later(k, shape);
}

/* tier.lock held. Requests of the module, or with NULL all, leave the queue. */
static void
drop(const struct cwb_module *m)
{
    for (struct request **r = &tier.first; *r;) {
        struct request *gone = *r;
        if (m && gone->kernel->module != m) {
            r = &gone->next;
            continue;
        }
        *r = gone->next;
        free(gone);
    }
}

void
cwh_tier_forget(const struct cwb_module *m)
{
    pthread_mutex_lock(&tier.lock);
    drop(m);
    while (tier.running && tier.running->kernel->module == m) {
        atomic_store(&tier.cancel, true);
        pthread_cond_wait(&tier.changed, &tier.lock);
    }
    pthread_mutex_unlock(&tier.lock);
}

void
cwh_tier_stop(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&tier.lock);
    tier.stop = true;
    atomic_store(&tier.cancel, true);
    drop(NULL);
    pthread_cond_broadcast(&tier.changed);
    while (tier.running && !pthread_cond_timedwait(&tier.changed, &tier.lock, &until))
        continue;
    pthread_mutex_unlock(&tier.lock);
}

void
cwh_tier_after_fork(void)
{
    pthread_mutex_init(&tier.lock, NULL);
    pthread_cond_init(&tier.changed, NULL);
    tier.first = NULL;                  /* the parent's: what it holds is leaked with all else of the parent's */
    tier.running = NULL;
    tier.begun = tier.stop = false;
}
