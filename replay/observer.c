/* SPDX-License-Identifier: Apache-2.0
 * Kernel dumps of a running program: the observer that CUDAWAY_DUMP_DIR switches on. A launch that cannot be dumped is reported
 * and goes on; the program observes no change except in timing. */
#define _GNU_SOURCE
#include "replay/capture.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/base/regex.h"
#include "replay/remains.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_REPORTS 20u

static const char *folder;
static regex_t pattern;
static bool have_pattern;
static uint64_t limit;
static atomic_uint_fast64_t taken;      /* dumps begun */
static atomic_uint number, reports;
static atomic_bool stopped;
static enum { ALWAYS, FAILED, REFUSED } when;

/* A launch between before and after. */
struct pending {
    struct cwd_dump dump;
};

/* Which launches: the observer that fits starts. */
static bool
choose_when(void)
{
    static const char *const names[] = { "always", "failed", "refused" };
    const char *text = cw_env_get(CW_ENV_DUMP_WHEN);
    for (unsigned i = 0; text && *text && i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) {
            when = i;
            return true;
        }
    }
    if (text && *text)
        cw_error("kernels are not dumped: %s=%s is none of always, failed, refused", cw_env_name(CW_ENV_DUMP_WHEN), text);
    return !text || !*text;
}

static bool
prepare(const struct cw_cuda_table *next)
{
    if (cw_mkdirs(folder, 0700) != CW_OK || access(folder, W_OK)) {
        cw_error("kernels are not dumped: the folder %s cannot be written: %s", folder, strerror(errno));
        return false;
    }
    char *absolute = realpath(folder, NULL);    /* the program may change its folder */
    folder = absolute ? absolute : folder;
    if (strlen(folder) + CWD_LONGEST_NAME >= PATH_MAX) {
        cw_error("kernels are not dumped: the name of the folder has %zu bytes, at most %u leave room for names of dumps", strlen(folder), PATH_MAX - CWD_LONGEST_NAME - 1);
        return false;
    }
    limit = cw_env_u64(CW_ENV_DUMP_LIMIT, 100, 1, UINT32_MAX);
    const char *regex = cw_env_get(CW_ENV_DUMP_KERNELS);
    if (regex && *regex) {
        char why[128];
        if (!cw_regex_compile(&pattern, regex, why, sizeof why)) {
            cw_error("kernels are not dumped: %s=%.200s is no regular expression: %s", cw_env_name(CW_ENV_DUMP_KERNELS), regex, why);
            return false;
        }
        have_pattern = true;
    }
    return cwd_capture_start(next);
}

static bool
start(const struct cw_cuda_table *next)
{
    folder = cw_env_get(CW_ENV_DUMP_DIR);
    return folder && *folder && choose_when() && when != REFUSED && prepare(next);
}

static bool
start_refused(const struct cw_cuda_table *next)
{
    if (!folder || !*folder || when != REFUSED || !prepare(next))
        return false;
    cwd_remains_start(next);
    return true;
}

static void
before(struct cw_call *call, void **scratch)
{
    cwd_capture_before(call);
}

static void
after(struct cw_call *call, void **scratch)
{
    cwd_capture_after(call);
}

static void
report(const char *kernel, unsigned launch, const char *why)
{
    unsigned n = atomic_fetch_add(&reports, 1);
    if (n < MAX_REPORTS)
        cw_warn("launch %u of %s is not dumped: %s", launch, kernel, why);
    else if (n == MAX_REPORTS)
        cw_warn("more launches that are not dumped are not listed");
}

static void
unseen(const char *what, const char *why)
{
    cw_warn("%s are not dumped: %s", what, why);
}

static void
before_launch(const struct cw_launch *l, void **scratch)
{
    struct cwd_error e;
    *scratch = NULL;
    if (cwd_capture_into_graph(l))
        return;
    unsigned launch = cwd_capture_count();
    if (!cw_layer_selected() || atomic_load(&stopped) || (have_pattern && regexec(&pattern, l->name, 0, NULL, 0)))
        return;
    if (atomic_fetch_add(&taken, 1) >= limit) {
        if (!atomic_exchange(&stopped, true))
            cw_warn("%llu kernel launches were dumped; no more (CUDAWAY_DUMP_LIMIT)", (unsigned long long)limit);
        return;
    }
    struct pending *p = calloc(1, sizeof *p);
    if (!p) {
        report(l->name, launch, "out of memory");
        return;
    }
    if (!cwd_capture_begin(l, &p->dump, &e)) {
        atomic_fetch_sub(&taken, 1);
        report(l->name, launch, e.text);
        free(p);
        return;
    }
    p->dump.launch = launch;
    *scratch = p;
}

/* A number that another process or an earlier run has used is skipped. */
static void
next_path(void *user, char *path)
{
    cwd_name(path, folder, atomic_fetch_add(&number, 1) + 1, user, 0);
}

static void
keep(struct cwd_dump *d, const char *kernel)
{
    struct cwd_error e;
    if (atomic_load(&stopped))
        return;
    cw_result r = cwd_write_new(d, folder, next_path, (void *)(uintptr_t)kernel, &e);
    if (r != CW_OK && !atomic_exchange(&stopped, true))
        cw_error("%s; no more kernels are dumped, the program goes on", e.text);
}

static void
after_launch(const struct cw_launch *l, void **scratch)
{
    struct pending *p = *scratch;
    struct cwd_error e;
    if (!p)
        return;
    *scratch = NULL;
    bool ran = cwd_capture_end(l, &p->dump, &e);
    if (!ran)
        cw_warn("launch %u of %s: %s; the dump has no results", p->dump.launch, l->name, e.text);
    if (!ran || when == ALWAYS)
        keep(&p->dump, l->name);
    else
        atomic_fetch_sub(&taken, 1);
    cwd_finish(&p->dump);
    free(p);
}

static void
keep_remains(struct cwd_dump *d, const char *kernel)
{
    if (atomic_fetch_add(&taken, 1) < limit)
        keep(d, kernel);
}

/* A fault is told by some later call. */
static void
after_call(struct cw_call *call, void **scratch)
{
    static atomic_bool told;
    cwd_capture_after(call);
    if (call->result == CUDA_SUCCESS)
        cwd_remains_settle(call);
    else if (cw_layer_is_sticky(call->result) && !atomic_exchange(&told, true))
        cwd_remains_dump(call->next, call->result, keep_remains);
}

/* A refused launch has changed nothing: memory is as before it. */
static void
after_refused(const struct cw_launch *l, void **scratch)
{
    struct cwd_dump dump;
    struct cwd_error e;
    unsigned launch = cwd_capture_into_graph(l) ? 0 : cwd_capture_count();
    if (launch && l->result == CUDA_SUCCESS)
        cwd_remains_add(l, launch);
    if (l->result == CUDA_SUCCESS || cw_layer_is_sticky(l->result) || !launch || atomic_load(&stopped) || atomic_fetch_add(&taken, 1) >= limit)
        return;
    if (!cwd_capture_begin(l, &dump, &e)) {
        report(l->name, launch, e.text);
        return;
    }
    dump.launch = launch;
    (void)cwd_capture_end(l, &dump, &e);
    keep(&dump, l->name);
    cwd_finish(&dump);
}

const struct cw_observer cw_dump_observer = {
    .name = "dump",
    .start = start,
    .before = before,
    .after = after,
    .before_launch = before_launch,
    .after_launch = after_launch,
    .unseen = unseen,
};

const struct cw_observer cw_refused_observer = {
    .name = "refused",
    .start = start_refused,
    .before = before,
    .after = after_call,
    .after_launch = after_refused,
};
