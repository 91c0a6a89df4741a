/* SPDX-License-Identifier: Apache-2.0
 * See progress.h. */
#include "impl/base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ll

int64_t
cw_progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

void
cw_progress_left(uint64_t done, uint64_t all, int64_t elapsed, char *out, size_t size)
{
    *out = 0;
    if (!all || !done || done > all)
        return;
    double seconds = (double)elapsed / SECOND * (double)(all - done) / (double)done + 0.5;
    if (seconds < 360000)
        snprintf(out, size, ", %d:%02d left", (int)(seconds / 60), (int)seconds % 60);
}

/* The same with what is known of the most that may be left. */
static void
most_left(const struct cw_progress *p, uint64_t done, int64_t elapsed, char *out, size_t size)
{
    char left[32];
    cw_progress_left(done, p->all, elapsed, left, sizeof left);
    if (p->limit && (!*left || (double)elapsed * (double)(p->all - done) > (double)done * (double)(p->limit - elapsed)))
        cw_progress_left((uint64_t)elapsed, (uint64_t)p->limit, elapsed, left, sizeof left);
    snprintf(out, size, "%s%s", (p->at_most || p->limit) && *left ? ", at most" : "", *left && (p->at_most || p->limit) ? left + 1 : left);
}

static FILE *
out_of(const struct cw_progress *p)
{
    return p->to ? p->to : stderr;
}

void
cw_progress_step(struct cw_progress *p, uint64_t done, uint64_t differ)
{
    char of[48] = "", left[48], differing[40] = "";
    int64_t t = cw_progress_now();
    p->done = done;
    p->differ = differ;
    if (!p->begin) {
        p->begin = t;
        p->off = p->off || !isatty(fileno(out_of(p)));
    }
    if (p->off || t - p->begin < 2 * SECOND || t - p->last < SECOND / 5)
        return;
    p->last = t;
    p->shown = true;
    if (p->all && done <= p->all)
        snprintf(of, sizeof of, " of %s%" PRIu64, p->at_most ? "at most " : "", p->all);
    if (differ != CW_NO_COUNT)
        snprintf(differing, sizeof differing, ", %" PRIu64 " differ", differ);
    most_left(p, done, t - p->begin, left, sizeof left);
    /* The cursor goes back, so that what others print comes over it. */
    fprintf(out_of(p), "\r%" PRIu64 "%s %s%s%s\033[K\r", done, of, p->what, differing, left);
}

void
cw_progress_clear(struct cw_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", out_of(p));
    p->shown = false;
    p->last = 0;
}
