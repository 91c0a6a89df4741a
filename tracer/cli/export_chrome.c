/* SPDX-License-Identifier: Apache-2.0
 * The Trace Event Format that chrome://tracing and Perfetto read. A slice is a complete event ("X"), an arrow a pair "s" and "f". Times are
 * microseconds since the start of the call that ended first. The format knows processes and threads: a device's queue is a thread. */
#include "tracer/cli/export.h"

/* The format's times are microseconds with a fraction. */
static void
microseconds(struct cw_buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    cw_buf_printf(b, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(v / 1000), (unsigned)(v % 1000));
}

static void
head(struct ex_writer *w, const char *phase, const char *name, const struct ex_track *t)
{
    cw_buf_printf(&w->b, "%s{\"ph\":\"%s\",\"name\":", w->started ? ",\n" : "\n", phase);
    w->started = true;
    cw_buf_json_string(&w->b, name);
    cw_buf_printf(&w->b, ",\"pid\":%u,\"tid\":%u", t->pid, t->tid);
}

static void
begin(struct ex_writer *w)
{
    cw_buf_puts(&w->b, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static void
track(struct ex_writer *w, const struct ex_track *t)
{
    if (t->kind == EX_COUNTER || t->kind == EX_DEVICE)
        return;
    head(w, "M", t->kind == EX_PROCESS ? "process_name" : "thread_name", t);
    cw_buf_puts(&w->b, ",\"args\":{\"name\":");
    cw_buf_json_string(&w->b, t->name);
    cw_buf_puts(&w->b, "}}");
}

static void
slice(struct ex_writer *w, const struct ex_slice *s)
{
    head(w, "X", s->name, s->track);
    cw_buf_printf(&w->b, ",\"cat\":\"%s\",\"ts\":", s->category);
    microseconds(&w->b, s->start - w->origin);
    cw_buf_puts(&w->b, ",\"dur\":");
    microseconds(&w->b, s->end - s->start);
    cw_buf_puts(&w->b, ",\"args\":{");
    for (unsigned i = 0; i < s->count; i++) {
        cw_buf_puts(&w->b, i ? "," : "");
        cw_buf_json_string(&w->b, s->args[i].name);
        cw_buf_puts(&w->b, ":");
        tr_json(&w->b, &s->args[i]);
    }
    cw_buf_puts(&w->b, "}}");
    if (!s->flow)
        return;
    head(w, s->flow_begins ? "s" : "f", "submit", s->track);
    cw_buf_printf(&w->b, ",\"cat\":\"flow\",\"id\":\"0x%llx\"%s,\"ts\":", (unsigned long long)s->flow, s->flow_begins ? "" : ",\"bp\":\"e\"");
    microseconds(&w->b, s->start - w->origin);
    cw_buf_puts(&w->b, "}");
}

static void
counter(struct ex_writer *w, const struct ex_track *t, int64_t time, uint64_t value)
{
    head(w, "C", t->name, t);
    cw_buf_puts(&w->b, ",\"ts\":");
    microseconds(&w->b, time - w->origin);
    cw_buf_printf(&w->b, ",\"args\":{\"value\":%llu}}", (unsigned long long)value);
}

static void
end(struct ex_writer *w)
{
    cw_buf_puts(&w->b, "\n]}\n");
}

const struct ex_format ex_chrome = { .name = "chrome", .begin = begin, .track = track, .slice = slice, .counter = counter, .end = end };
