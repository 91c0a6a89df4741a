/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_CHECK: every launch of a program is checked before it runs. A dump of it goes to a cudaway-replay --serve with the
 * checks, whose report is printed on standard error; then the launch runs as if nothing had been. The observer also keeps what the program allocated
 * and freed: for the reports, and for what is left when a context is destroyed or the program ends.
 *
 * One lock, held by a launch from its dump to the end of its check, and while a list changes. */
#define _GNU_SOURCE
#include "replay/capture.h"
#include "replay/subject.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FREED = 256, MAX_FRAMES = 16, MAX_SEEN = 4096, MAX_REPORTS = 20 };

struct allocation {
    uint64_t address, size;
    CUcontext context;
    char text[400];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct subject server = { .device = "host", .inside = true };
static const char *options[8];
static bool leaks, stopped;
static char folder[128], replay[PATH_MAX];
static pid_t owner;                     /* who started it: a forked child reports for itself alone */
static struct allocation *live;         /* in the order of allocation */
static size_t nlive, room;
static struct allocation freed[MAX_FREED];      /* the latest; a ring */
static unsigned nfreed;
static uint64_t calls, launches, faulty, lost, unchecked;
static uint64_t seen[MAX_SEEN];         /* hashes of reports that were printed */
static unsigned nseen;

static void __attribute__((format(printf, 1, 2)))
say(const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(line, sizeof line, "cudaway-check: ");
    vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t size = cw_text_make_line(line);
    line[size++] = '\n';
    if (!cw_write_all(STDERR_FILENO, line, size))
        stopped = stopped || errno == EPIPE;
}

/* ---- the settings ------------------------------------------------------------------------------------------------------------ */

static const struct { const char *name, *option; } names[] = {
    { "memcheck", "--memcheck" }, { "racecheck", "--racecheck" }, { "initcheck", "--initcheck" }, { "synccheck", "--synccheck" }, { "leaks", NULL },
};
enum { NAMES = sizeof names / sizeof *names };

static bool
choose(const char *list)
{
    unsigned n = 0;
    for (const char *at = list; *at;) {
        size_t size = strcspn(at, ",");
        bool known = false, all = size == 3 && !memcmp(at, "all", 3);
        for (unsigned i = 0; i < NAMES; i++) {
            if (!all && (strlen(names[i].name) != size || memcmp(at, names[i].name, size)))
                continue;
            known = true;
            leaks = leaks || !names[i].option;
            if (names[i].option && n + 1 < sizeof options / sizeof *options)
                options[n++] = names[i].option;
        }
        if (!known) {
            cw_error("nothing is checked: %s has %.*s, which is none of memcheck, racecheck, initcheck, synccheck, leaks and all", cw_env_name(CW_ENV_CHECK),
                     (int)size, at);
            return false;
        }
        at += size + (at[size] == ',');
    }
    return true;
}

static void say_leaks(CUcontext context, bool any);

static void
at_end(void)
{
    if (getpid() != owner)
        return;
    pthread_mutex_lock(&lock);
    if (leaks)
        say_leaks(NULL, true);
    if (*options && unchecked)
        say("%" PRIu64 " launches were not checked", unchecked);
    say("%" PRIu64 " launches checked, faults in %" PRIu64 ", %" PRIu64 " allocations leaked", launches, faulty, lost);
    stopped = true;
    subject_stop(&server);
    cw_temp_remove(folder);
    pthread_mutex_unlock(&lock);
}

static bool
start(const struct cw_cuda_table *next)
{
    const char *list = cw_env_get(CW_ENV_CHECK);
    if (!list || !*list || !choose(list))
        return false;
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&start);
    snprintf(replay, sizeof replay, "%s/../../../bin/cudaway-replay", dir ? dir : "");
    free(dir);
    if (access(replay, X_OK)) {
        cw_error("nothing is checked: %s is missing; the installation is damaged", replay);
        return false;
    }
    if (!cw_temp_make("/dev/shm", "check", folder, sizeof folder) && !cw_temp_make("/tmp", "check", folder, sizeof folder)) {
        cw_error("nothing is checked: no folder for temporary files, /dev/shm and /tmp cannot be written");
        return false;
    }
    if (!cwd_capture_start(next)) {
        cw_error("nothing is checked: launches are being dumped or compared; do one at a time");
        return false;
    }
    server.replay = replay;
    server.checks = options;
    owner = getpid();
    atexit(at_end);
    return true;
}

/* ---- allocations ------------------------------------------------------------------------------------------------------------- */

static bool
is_in(const void *frame, const Dl_info *library)
{
    Dl_info at;
    return dladdr(frame, &at) && at.dli_fbase == library->dli_fbase;
}

/* The call, and the first frame behind this library's. backtrace itself may be somebody else's, with a frame before. */
static void
describe(char *out, size_t size, const char *what, const struct cw_call *call)
{
    void *frames[MAX_FRAMES];
    Dl_info own, at = { 0 };
    int n = backtrace(frames, MAX_FRAMES), i = 0;
    if (!dladdr((const void *)(uintptr_t)&describe, &own))
        n = 0;
    while (i < n && !is_in(frames[i], &own))
        i++;
    while (i < n && (is_in(frames[i], &own) || !dladdr(frames[i], &at)))
        i++;
    int used = snprintf(out, size, "%s by call %" PRIu64 ", %s", what, calls, cw_layer_name(call->index));
    if (i == n || used < 0 || (size_t)used >= size || !at.dli_fname)
        return;
    const char *slash = strrchr(at.dli_fname, '/');
    snprintf(out + used, size - (size_t)used, ", in %s(%s+0x%" PRIxPTR ")", slash ? slash + 1 : at.dli_fname, at.dli_sname ? at.dli_sname : "",
             (uintptr_t)frames[i] - (uintptr_t)(at.dli_sname ? at.dli_saddr : at.dli_fbase));
    (void)cw_text_make_line(out);       /* files may have any name */
}

static void
allocated(const struct cw_call *call, uint64_t address, uint64_t size)
{
    if (nlive == room) {
        size_t n = room ? 2 * room : 64;
        struct allocation *more = realloc(live, n * sizeof *more);
        if (!more)
            return;
        live = more;
        room = n;
    }
    struct allocation *a = &live[nlive++];
    *a = (struct allocation){ .address = address, .size = size };
    if (call->next->cuCtxGetCurrent(&a->context) != CUDA_SUCCESS)
        a->context = NULL;
    describe(a->text, sizeof a->text, "allocated", call);
}

static void
freeing(const struct cw_call *call, uint64_t address)
{
    for (size_t i = 0; i < nlive; i++) {
        if (live[i].address != address)
            continue;
        struct allocation *f = &freed[nfreed++ % MAX_FREED];
        *f = live[i];
        size_t n = strlen(f->text);
        snprintf(f->text + n, sizeof f->text - n, ", ");
        n = strlen(f->text);
        describe(f->text + n, sizeof f->text - n, "freed", call);
        memmove(live + i, live + i + 1, (nlive - i - 1) * sizeof *live);
        nlive--;
        return;
    }
}

static void
say_leaks(CUcontext context, bool any)
{
    size_t kept = 0;
    for (size_t i = 0; i < nlive; i++) {
        if (!any && live[i].context != context) {
            live[kept++] = live[i];
            continue;
        }
        if (leaks && lost++ < MAX_REPORTS)
            say("leak: %" PRIu64 " bytes at 0x%" PRIx64 ", %s, are not freed when %s", live[i].size, live[i].address, live[i].text,
                any ? "the program ends" : "their context is destroyed");
    }
    nlive = kept;
}

static void
before(struct cw_call *call, void **scratch)
{
    pthread_mutex_lock(&lock);
    calls++;
    switch (call->index) {
    case CW_FN_cuMemFree_v2:
    case CW_FN_cuMemFreeAsync:
    case CW_FN_cuMemFreeAsync_ptsz:
        freeing(call, CW_ARG(call, 0, CUdeviceptr));
        break;
    case CW_FN_cuCtxDestroy_v2:
        say_leaks(CW_ARG(call, 0, CUcontext), false);
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&lock);
    cwd_capture_before(call);
}

static void
after(struct cw_call *call, void **scratch)
{
    cwd_capture_after(call);
    if (call->result != CUDA_SUCCESS)
        return;
    uint64_t size;
    switch (call->index) {
    case CW_FN_cuMemAlloc_v2:
    case CW_FN_cuMemAllocManaged:
    case CW_FN_cuMemAllocAsync:
    case CW_FN_cuMemAllocAsync_ptsz:
    case CW_FN_cuMemAllocFromPoolAsync:
    case CW_FN_cuMemAllocFromPoolAsync_ptsz:
        size = CW_ARG(call, 1, size_t);
        break;
    case CW_FN_cuMemAllocPitch_v2:
        size = *CW_ARG(call, 1, size_t *) * CW_ARG(call, 3, size_t);
        break;
    default:
        return;
    }
    pthread_mutex_lock(&lock);
    allocated(call, *CW_ARG(call, 0, CUdeviceptr *), size);
    pthread_mutex_unlock(&lock);
}

/* ---- launches ---------------------------------------------------------------------------------------------------------------- */

static void
write_history(const char *path)
{
    FILE *f = fopen(path, "we");
    for (unsigned i = nfreed > MAX_FREED ? nfreed - MAX_FREED : 0; f && i < nfreed; i++) {
        const struct allocation *a = &freed[i % MAX_FREED];
        fprintf(f, "freed %" PRIx64 " %" PRIu64 " %s\n", a->address, a->size, a->text);
    }
    for (size_t i = 0; f && i < nlive; i++)
        fprintf(f, "live %" PRIx64 " %" PRIu64 " %s\n", live[i].address, live[i].size, live[i].text);
    if (f)
        fclose(f);
}

static uint64_t
hash(const char *kernel, const char *lines)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (const char *s = kernel; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
    for (const char *s = lines; s && *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
    return h;
}

static bool
was_seen(uint64_t h)
{
    for (unsigned i = 0; i < nseen; i++)
        if (seen[i] == h)
            return true;
    if (nseen < MAX_SEEN)
        seen[nseen++] = h;
    return false;
}

static void
not_checked(const char *kernel, unsigned launch, const char *why)
{
    if (unchecked++ < MAX_REPORTS)
        say("%s, launch %u: not checked: %s", kernel, launch, why);
}

static void
report(const char *kernel, unsigned launch, int status, char *lines)
{
    if (status == 2) {
        char *eol = lines ? strchr(lines, '\n') : NULL;
        if (eol)
            *eol = 0;
        not_checked(kernel, launch, lines ? lines : "out of memory");
        return;
    }
    launches++;
    faulty += status == 1;
    if (!lines || !*lines || was_seen(hash(kernel, lines)))
        return;
    say("%s, launch %u:", kernel, launch);
    for (char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1)
        say("  %.*s", (int)(end - line), line);
}

static void
check(const struct cwd_dump *d, const char *kernel)
{
    char path[PATH_MAX + 16], aside[PATH_MAX + 32];
    struct cwd_error e = { "" };
    struct cw_buf lines;
    cw_buf_init(&lines);
    snprintf(path, sizeof path, "%s/%u" CWD_SUFFIX, folder, d->launch);
    snprintf(aside, sizeof aside, "%s.history", path);
    if (cwd_write(d, path, CWD_STORED, &e) != CW_OK) {
        not_checked(kernel, d->launch, e.text);
    } else {
        write_history(aside);
        int status = subject_run(&server, path, &lines);
        report(kernel, d->launch, status, lines.data);
    }
    unlink(path);
    unlink(aside);
    cw_buf_finish(&lines);
}

static void
before_launch(const struct cw_launch *l, void **scratch)
{
    struct cwd_dump d;
    struct cwd_error e;
    if (cwd_capture_into_graph(l) || !*options)
        return;
    unsigned launch = cwd_capture_count();
    pthread_mutex_lock(&lock);
    if (stopped || getpid() != owner) {
        ;
    } else if (!cwd_capture_begin(l, &d, &e)) {
        not_checked(l->name, launch, e.text);
    } else {
        d.launch = launch;
        check(&d, l->name);
        cwd_finish(&d);
        cwd_capture_drop();
    }
    pthread_mutex_unlock(&lock);
}

static void
unseen(const char *what, const char *why)
{
    pthread_mutex_lock(&lock);
    unchecked++;
    say("%s are not checked: %s", what, why);
    pthread_mutex_unlock(&lock);
}

const struct cw_observer cw_check_observer = {
    .name = "check",
    .start = start,
    .before = before,
    .after = after,
    .before_launch = before_launch,
    .unseen = unseen,
};
