/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace report --html: one file with everything in it. This gathers what tracer/page/page.js shows as one JSON object:
 *   tracks   [{name, slices: [[start, duration, name, call, kind, detail]]}], ns since the first call; `call` is equal for a call and what
 *            the device did for it, 0 for none; kind: 0 call, 1 kernel, 2 copy, 3 memset, 4 compilation
 *   names, details   texts and lists of [what, value] that slices refer to by index
 *   memory   [[time, bytes]], cards, findings, tables (see page.js) */
#include "tracer/cli/report_html.h"

#include "tracer/cli/cli.h"
#include "tracer/cli/kernels.h"
#include "tracer/cli/page.h"
#include "tracer/cli/process.h"
#include "impl/base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLICES 2000000u
#define MAX_PTX 65536u
#define CREDIT "Made by cudaway-trace. Charts by d3 3.5, © Michael Bostock, BSD licence."

enum { KIND_CUDA, KIND_KERNEL, KIND_COPY, KIND_MEMSET, KIND_COMPILE };

/* Of a thread, or of a device's queue. */
struct track_key {
    uint64_t number;
    uint32_t pid, device;
};

struct track {
    struct cw_buf name, slices;
};

struct page {
    struct totals  memory;         /* follows allocations */
    struct kn_list kernels;
    struct tr_index names, details, track_index;
    struct track  *tracks;         /* by track_index */
    unsigned       track_count, queues;
    struct cw_buf  samples;
    int64_t        origin, end;
    uint64_t       in_use, slices, left_out;
    bool           nomem, timed;   /* the devices told when they ran */
};

static uint32_t
intern(struct page *p, struct tr_index *x, const char *s)
{
    uint32_t i = tr_index_of_text(x, s);
    p->nomem |= i == TR_NO_INDEX;
    return i == TR_NO_INDEX ? 0 : i;
}

/* ---- tracks ---- */

static struct track *
track_of(struct page *p, bool device, uint32_t pid, uint64_t number)
{
    struct track_key key = { number, pid, device };
    uint32_t i = tr_index_of(&p->track_index, &key, sizeof key);
    if (i < p->track_count)
        return &p->tracks[i];
    struct track *t = i == TR_NO_INDEX ? NULL : totals_grow(&p->memory, (void **)&p->tracks, &p->track_count, sizeof *t);
    p->nomem |= !t;
    return t;
}

static struct track *
thread_track(struct page *p, uint32_t pid, uint32_t tid, const char *procname)
{
    char suffix[128];
    struct track *t = track_of(p, false, pid, tid);
    if (t && !t->name.size && *procname)
        cw_buf_printf(&t->name, tr_process(pid).pid == tid ? "%s %u%s" : "%s %u%s, thread %u", procname, tr_process(pid).pid, tr_process_suffix(pid, suffix, sizeof suffix), tid);
    return t;
}

static struct track *
queue_track(struct page *p, const struct tr_op *o)
{
    char suffix[128];
    struct track *t = track_of(p, true, o->pid, o->queue);
    if (t && !t->name.size)
        cw_buf_printf(&t->name, "device %u, queue %u%s", o->device, ++p->queues, tr_process_suffix(o->pid, suffix, sizeof suffix));
    return t;
}

/* 52 bits: a number in JavaScript. */
static uint64_t
call_number(uint32_t pid, uint32_t tid, int64_t start)
{
    uint64_t h = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15u ^ (uint64_t)start;
    h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    return ((h ^ h >> 29) & 0xfffffffffffffu) | 1;
}

static void
slice(struct page *p, struct track *t, int64_t start, int64_t end, const char *name, uint64_t call, int kind, struct cw_buf *detail)
{
    if (!t || p->slices++ >= MAX_SLICES) {
        p->left_out += t != NULL;
        return;
    }
    p->end = end > p->end ? end : p->end;
    cw_buf_append(detail, "]", 2);          /* with the zero byte */
    p->nomem |= detail->failed;
    cw_buf_printf(&t->slices, "%s[%lld,%lld,%u,%llu,%d,%u]", t->slices.size ? "," : "", (long long)(start - p->origin),
                  (long long)(end - start), intern(p, &p->names, name), (unsigned long long)call, kind,
                  detail->failed ? 0 : intern(p, &p->details, detail->data));
}

static void
add(struct cw_buf *detail, const char *what, const char *value)
{
    cw_buf_puts(detail, detail->size > 1 ? ",[" : "[");
    cw_buf_json_string(detail, what);
    cw_buf_puts(detail, ",");
    cw_buf_json_string(detail, value);
    cw_buf_puts(detail, "]");
}

static void
add_shape(struct cw_buf *detail, const uint64_t grid[3], const uint64_t block[3])
{
    char text[160];
    snprintf(text, sizeof text, "%llu × %llu × %llu blocks of %llu × %llu × %llu threads", (unsigned long long)grid[0],
             (unsigned long long)grid[1], (unsigned long long)grid[2], (unsigned long long)block[0], (unsigned long long)block[1],
             (unsigned long long)block[2]);
    add(detail, "grid", text);
}

static void
add_params(struct page *p, struct cw_buf *detail, const struct tr_kernel *k)
{
    const struct kn_kernel *known = kernels_find(&p->kernels, k->name);
    struct cw_buf text;
    cw_buf_init(&text);
    if (known)
        kernels_values(&text, known, k->params);
    else
        for (uint64_t i = 0; k->params && i < k->params->count; i++)
            cw_buf_printf(&text, "%02x", (unsigned)(k->params->items[i] & 0xff));
    cw_buf_append(&text, "", 1);
    if (!text.failed && text.size > 1)
        add(detail, "parameters", text.data);
    cw_buf_finish(&text);
}

static void
on_call(void *ctx, const struct tr_call *c)
{
    struct page *p = ctx;
    struct cw_buf detail, value;
    cw_buf_init(&detail);
    cw_buf_puts(&detail, "[");
    for (unsigned i = 0; i < c->count; i++) {
        if (c->kernel.present)
            break;
        cw_buf_init(&value);
        tr_text(&value, &c->args[i]);
        cw_buf_append(&value, "", 1);
        add(&detail, c->args[i].name, value.failed ? "?" : value.data);
        cw_buf_finish(&value);
    }
    if (c->kernel.present) {
        add(&detail, "kernel", c->kernel.name);
        add_shape(&detail, c->kernel.grid, c->kernel.block);
        add_params(p, &detail, &c->kernel);
    }
    add(&detail, "result", !c->result ? "never returned" : c->result->text ? c->result->text : "?");
    struct track *t = thread_track(p, c->pid, c->tid, c->procname);
    slice(p, t, c->start, c->end, c->function, c->operations ? call_number(c->pid, c->tid, c->start) : 0, KIND_CUDA, &detail);
    if (c->kernel.present && !c->operations && !p->timed) {
        detail.size = 0;
        cw_buf_puts(&detail, "[");
        add_shape(&detail, c->kernel.grid, c->kernel.block);
        add_params(p, &detail, &c->kernel);
        slice(p, t, c->start, c->end, c->kernel.name, 0, KIND_KERNEL, &detail);
    }
    cw_buf_finish(&detail);
    totals_memory(&p->memory, c);
    if (p->memory.live[0] != p->in_use) {
        p->in_use = p->memory.live[0];
        cw_buf_printf(&p->samples, "%s[%lld,%llu]", p->samples.size ? "," : "", (long long)(c->end - p->origin), (unsigned long long)p->in_use);
    }
}

static void
on_op(void *ctx, const struct tr_op *o)
{
    static const int kinds[] = { [TR_LAUNCH] = KIND_KERNEL, [TR_COPY] = KIND_COPY, [TR_FILL] = KIND_MEMSET, [TR_COMPILE] = KIND_COMPILE };
    struct page *p = ctx;
    struct cw_buf detail;
    char text[96];
    if (!o->start)
        return;
    if (!p->origin)
        p->origin = o->call_start ? o->call_start : o->submitted;
    cw_buf_init(&detail);
    cw_buf_puts(&detail, "[");
    if (o->kind == TR_LAUNCH)
        add_shape(&detail, o->grid, o->block);
    if (o->occupancy) {
        snprintf(text, sizeof text, "%.1f %%", o->occupancy / 10.0);
        add(&detail, "occupancy", text);
    }
    if (o->bytes && o->kind != TR_COMPILE) {
        snprintf(text, sizeof text, "%llu, %.2f GB/s", (unsigned long long)o->bytes, o->end > o->start ? (double)o->bytes / (double)(o->end - o->start) : 0);
        add(&detail, "bytes", text);
    }
    if (o->kind == TR_COMPILE)
        add(&detail, "kernel cache", o->cached ? "had it" : "did not have it");
    else if (o->in_graph)
        add(&detail, "inside", "a graph");
    char name[256];
    slice(p, o->kind == TR_COMPILE ? thread_track(p, o->pid, o->tid, "") : queue_track(p, o), o->start, o->end,
          tr_op_name(o, name, sizeof name), o->kind == TR_COMPILE || !o->call_start ? 0 : call_number(o->pid, o->tid, o->call_start), kinds[o->kind], &detail);
    cw_buf_finish(&detail);
}

/* ---- what the tables say ---- */

static void
put_size(char *out, size_t size, uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double v = (double)bytes;
    unsigned u = 0;
    for (; v >= 1024 && u < 4; u++)
        v /= 1024;
    snprintf(out, size, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static void
put_time(char *out, size_t size, int64_t ns)
{
    double v = (double)ns;
    if (v < 1e6)
        snprintf(out, size, "%.1f µs", v / 1e3);
    else if (v < 1e9)
        snprintf(out, size, "%.2f ms", v / 1e6);
    else
        snprintf(out, size, "%.2f s", v / 1e9);
}

static void
card(struct cw_buf *b, const char *value, const char *label, bool bad)
{
    cw_buf_puts(b, b->size && b->data[b->size - 1] == ']' ? ",[" : "[");
    cw_buf_json_string(b, value);
    cw_buf_puts(b, ",");
    cw_buf_json_string(b, label);
    cw_buf_puts(b, bad ? ",1]" : ",0]");
}

static void
put_cards(struct cw_buf *b, const struct totals *t)
{
    char text[64];
    int64_t busy = 0, span = 0;
    for (unsigned i = 0; i < t->device_count; i++) {
        busy += t->devices[i].busy;
        span += t->devices[i].last - t->devices[i].first;
    }
    put_time(text, sizeof text, t->last - t->first);
    card(b, text, "from the first call to the last", false);
    if (t->device_total) {
        put_time(text, sizeof text, busy);
        card(b, text, "the device was busy", false);
        snprintf(text, sizeof text, "%.0f %%", span ? 100.0 * (double)busy / (double)span : 100.0);
        card(b, text, "of the time from its first to its last operation", false);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)t->launches);
    card(b, text, "kernel launches", false);
    snprintf(text, sizeof text, "%llu", (unsigned long long)t->calls);
    card(b, text, t->runtime_calls ? "CUDA calls, the Runtime's and the driver's" : "CUDA calls", false);
    put_size(text, sizeof text, t->peak[0]);
    card(b, text, "device memory at most", false);
    snprintf(text, sizeof text, "%llu", (unsigned long long)t->failed);
    card(b, text, "calls failed", t->failed > 0);
}

static void
finding(struct cw_buf *b, const char *class, const char *head, const char *text)
{
    cw_buf_puts(b, b->size && b->data[b->size - 1] == ']' ? ",[\"" : "[\"");
    cw_buf_puts(b, class);
    cw_buf_puts(b, "\",");
    cw_buf_json_string(b, head);
    cw_buf_puts(b, ",");
    cw_buf_json_string(b, text);
    cw_buf_puts(b, "]");
}

static void
find_idle(struct cw_buf *b, const struct totals *t)
{
    char head[160], text[320], time[32], at[32];
    for (unsigned i = 0; i < t->gap_count; i++) {
        const struct tot_gap *g = &t->gaps[i];
        int64_t all = t->last - t->first;
        if ((g->end - g->start) * 20 < all)         /* below 5 % */
            continue;
        put_time(time, sizeof time, g->end - g->start);
        put_time(at, sizeof at, g->start - t->first);
        snprintf(head, sizeof head, "Device %u was idle for %s, from %s on.", g->device, time, at);
        if (!g->call)
            snprintf(text, sizeof text, "The program was not in CUDA then. Work that it does there could run while the device works.");
        else if (strstr(g->call, "Launch"))
            snprintf(text, sizeof text, "The program was in %s, which compiled a kernel: see the column \"compiled in\". A second run takes it from the cache.", g->call);
        else
            snprintf(text, sizeof text, "The program was in %s.", g->call);
        finding(b, "warn", head, text);
    }
}

static void
put_findings(struct cw_buf *b, const struct totals *t, const struct page *p)
{
    char head[256], text[400], time[32], other[32];
    int64_t compile = 0;
    uint64_t compiled = 0, cached = 0;
    for (unsigned i = 0; i < t->error_count; i++) {
        snprintf(head, sizeof head, "%.100s gave %.60s, %llu times.", t->errors[i].function, t->errors[i].result, (unsigned long long)t->errors[i].count);
        finding(b, "bad", head, !strcmp(t->errors[i].result, "CUDA_ERROR_NOT_SUPPORTED") ?
                "This driver lacks it; docs/coverage-driver.md says what it has." : "`cudaway-trace show --failed` lists these calls with their arguments.");
    }
    if (t->lost) {
        snprintf(head, sizeof head, "%llu events are missing.", (unsigned long long)t->lost);
        finding(b, "bad", head, "The program wrote them faster than they could be stored, so all numbers here are too small.");
    }
    find_idle(b, t);
    if (t->sync_copies && (t->sync_time - t->sync_device) * 20 > t->last - t->first) {
        put_time(time, sizeof time, t->sync_time);
        put_time(other, sizeof other, t->sync_device);
        snprintf(head, sizeof head, "%llu copies made the program wait for %s.", (unsigned long long)t->sync_copies, time);
        snprintf(text, sizeof text, "The copies themselves took %s of that; in the rest they waited for earlier work of the device. cuMemcpyAsync with pinned memory lets the program go on.", other);
        finding(b, "warn", head, text);
    }
    for (unsigned i = 0; i < t->kernel_count; i++) {
        compile += t->kernels[i].compile_total;
        compiled += t->kernels[i].compiled;
        cached += t->kernels[i].cached;
    }
    if (compile * 20 > t->last - t->first) {
        put_time(time, sizeof time, compile);
        snprintf(head, sizeof head, "Compilation took %s.", time);
        snprintf(text, sizeof text, "Of %llu kernels the cache had %llu. The cache (CUDAWAY_CACHE_DIR) keeps them for the next run.", (unsigned long long)compiled, (unsigned long long)cached);
        finding(b, "warn", head, text);
    }
    for (unsigned i = 0; i < t->kernel_count; i++) {
        const struct tot_kernel *k = &t->kernels[i];
        if (k->device.count < 1000 || k->device.total / (int64_t)k->device.count > 10000)
            continue;
        put_time(time, sizeof time, k->device.total / (int64_t)k->device.count);
        snprintf(head, sizeof head, "%.120s was launched %llu times for %s each.", k->name, (unsigned long long)k->device.count, time);
        finding(b, "warn", head, "A launch costs as much. Larger grids, or a CUDA graph of many launches, make better use of the device.");
    }
    if (t->live[0]) {
        put_size(time, sizeof time, t->live[0]);
        snprintf(head, sizeof head, "%s of device memory were never freed.", time);
        finding(b, "", head, "The context's end frees them. In a program that runs on, memory grows.");
    }
    if (t->launches && !t->device_total)
        finding(b, "", "When the device ran what is not known.", "The driver did not tell. `cudaway-trace record --device-time` finds out by events.");
    if (p->left_out) {
        snprintf(head, sizeof head, "The timeline ends early: %llu calls and operations are left out.", (unsigned long long)p->left_out);
        finding(b, "warn", head, "The tables count all of them; `cudaway-trace export` writes all for Perfetto.");
    }
}

static void
row(struct cw_buf *b, const char *name, const char *kind, uint64_t launches, const struct tot_times *x, double occupancy, uint64_t bytes,
    int64_t compile, bool cached)
{
    cw_buf_puts(b, b->size && b->data[b->size - 1] == '}' ? ",{\"name\":" : "{\"name\":");
    cw_buf_json_string(b, name);
    cw_buf_printf(b, ",\"kind\":\"%s\",\"launches\":%llu,\"timed\":%llu,\"total\":%lld,\"min\":%lld,\"max\":%lld,\"occupancy\":%.1f,\"bytes\":%llu,"
                  "\"compile\":%lld,\"cached\":%d}", kind, (unsigned long long)launches, (unsigned long long)x->count, (long long)x->total,
                  (long long)x->shortest, (long long)x->longest, occupancy, (unsigned long long)bytes, (long long)compile, cached);
}

static void
put_kernels(struct cw_buf *b, const struct totals *t)
{
    for (unsigned i = 0; i < t->kernel_count; i++) {
        const struct tot_kernel *k = &t->kernels[i];
        row(b, k->name, "kernel", k->launches, &k->device, k->device.count ? (double)k->occupancy / 10 / (double)k->device.count : 0, 0,
            k->compile_total, k->compiled && k->cached == k->compiled);
    }
    if (t->graph_times.count)
        row(b, "graph launch", "graph", t->graph_times.count, &t->graph_times, 0, 0, 0, false);
    for (enum tr_way i = TR_HTOD; i <= TR_HTOH; i++)
        if (t->copy_times[i].count)
            row(b, tr_way_name(i), "copy", t->copy_times[i].count, &t->copy_times[i], 0, t->copy_bytes[i], 0, false);
    if (t->fill_times.count)
        row(b, "memset", "memset", t->fill_times.count, &t->fill_times, 0, t->fill_bytes, 0, false);
}

static void
put_tables(struct cw_buf *b, const struct totals *t)
{
    cw_buf_puts(b, ",\"functions\":[");
    for (unsigned i = 0; i < t->function_count; i++) {
        const struct tot_function *f = &t->functions[i];
        cw_buf_puts(b, i ? ",[" : "[");
        cw_buf_json_string(b, f->name);
        cw_buf_printf(b, ",%llu,%llu,%lld,%lld]", (unsigned long long)f->calls, (unsigned long long)f->errors, (long long)f->total, (long long)f->longest);
    }
    cw_buf_puts(b, "],\"problems\":[");
    for (unsigned i = 0; i < t->error_count + t->missing_count; i++) {
        const struct tot_error *e = i < t->error_count ? &t->errors[i] : &t->missing[i - t->error_count];
        cw_buf_puts(b, i ? ",[" : "[");
        cw_buf_json_string(b, e->function);
        cw_buf_puts(b, ",");
        cw_buf_json_string(b, i < t->error_count ? e->result : "not found by cuGetProcAddress");
        cw_buf_printf(b, ",%llu]", (unsigned long long)e->count);
    }
    cw_buf_puts(b, "]");
}

static void
put_texts(struct cw_buf *b, const struct tr_index *x, bool quote)
{
    for (uint32_t i = 0; i < x->count; i++) {
        cw_buf_puts(b, i ? "," : "");
        if (quote)
            cw_buf_json_string(b, tr_index_text(x, i));
        else
            cw_buf_puts(b, tr_index_text(x, i));
    }
}

static void
put_head(struct cw_buf *b, const cJSON *manifest)
{
    const cJSON *a, *seconds = cJSON_GetObjectItemCaseSensitive(manifest, "seconds");
    struct cw_buf text;
    cw_buf_init(&text);
    cJSON_ArrayForEach(a, cJSON_GetObjectItemCaseSensitive(manifest, "command"))
        cw_buf_printf(&text, "%s%s", text.size ? " " : "", cJSON_IsString(a) ? a->valuestring : "?");
    cw_buf_append(&text, "", 1);
    cw_buf_puts(b, "{\"title\":");
    cw_buf_json_string(b, text.failed || text.size < 2 ? "A recording" : text.data);
    text.size = 0;
    static const char *const keys[] = { "started", "device", "library", "cudaway" }, *const before[] = { "", "device ", "driver ", "CUDAway " };
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(manifest, keys[i]);
        if (cJSON_IsString(v))
            cw_buf_printf(&text, "%s%s%s", text.size ? " · " : "", before[i], v->valuestring);
        if (!i && cJSON_IsNumber(seconds))
            cw_buf_printf(&text, " · %.3f s with start-up and end", seconds->valuedouble);
    }
    cw_buf_append(&text, "", 1);
    cw_buf_puts(b, ",\"subtitle\":");
    cw_buf_json_string(b, text.failed ? "" : text.data);
    cw_buf_finish(&text);
}

static void
put_data(struct cw_buf *b, const struct page *p, const struct totals *t, const cJSON *manifest)
{
    put_head(b, manifest);
    cw_buf_printf(b, ",\"end\":%lld,\"deviceTotal\":%lld,\"cards\":[", (long long)(p->end - p->origin), (long long)t->device_total);
    put_cards(b, t);
    cw_buf_puts(b, "],\"findings\":[");
    put_findings(b, t, p);
    cw_buf_puts(b, "],\"kernels\":[");
    put_kernels(b, t);
    cw_buf_puts(b, "]");
    put_tables(b, t);
    cw_buf_puts(b, ",\"tracks\":[");
    for (unsigned i = 0; i < p->track_count; i++) {
        const struct track *k = &p->tracks[i];
        cw_buf_puts(b, !i ? "{\"name\":" : ",{\"name\":");
        cw_buf_json_string(b, k->name.size ? k->name.data : "");
        cw_buf_puts(b, ",\"slices\":[");
        cw_buf_append(b, k->slices.data, k->slices.size);
        cw_buf_puts(b, "]}");
        b->failed |= k->slices.failed;
    }
    cw_buf_puts(b, "],\"names\":[");
    put_texts(b, &p->names, true);
    cw_buf_puts(b, "],\"details\":[");
    put_texts(b, &p->details, false);
    cw_buf_puts(b, "],\"memory\":[");
    cw_buf_append(b, p->samples.data, p->samples.size);
    cw_buf_puts(b, "],\"ptx\":{");
    const char *sep = "";
    for (uint32_t i = 0; i < p->names.count; i++) {
        const struct kn_kernel *k = kernels_find(&p->kernels, tr_index_text(&p->names, i));
        if (!k || strlen(k->text) > MAX_PTX)
            continue;
        cw_buf_puts(b, sep);
        cw_buf_json_string(b, k->name);
        cw_buf_puts(b, ":");
        cw_buf_json_string(b, k->text);
        sep = ",";
    }
    cw_buf_puts(b, "}}");
}

/* ---- the file ---- */

static void
finish(struct page *p)
{
    for (unsigned i = 0; i < p->track_count; i++) {
        cw_buf_finish(&p->tracks[i].name);
        cw_buf_finish(&p->tracks[i].slices);
    }
    free(p->tracks);
    tr_index_finish(&p->names);
    tr_index_finish(&p->details);
    tr_index_finish(&p->track_index);
    cw_buf_finish(&p->samples);
    kernels_finish(&p->kernels);
    totals_finish(&p->memory);
}

bool
report_html(FILE *out, const char *dir, const struct totals *t, const cJSON *manifest)
{
    struct page p = { .timed = t->device_total > 0, .origin = t->first };
    struct cw_buf data;
    cw_buf_init(&data);
    cw_buf_init(&p.samples);
    kernels_load(dir, &p.kernels);
    struct tr_calls calls = { .call = on_call, .op = on_op, .ctx = &p };
    enum tr_status status = tr_read_calls(dir, &calls);
    if (p.end < p.origin)
        p.end = p.origin;
    put_data(&data, &p, t, manifest);
    bool ok = !p.nomem && !data.failed && status != TR_FAILED;
    if (!ok)
        say("out of memory");
    const struct { const char *mark, *text; } parts[] = {
        { "@CSS@", page_css }, { "@CREDIT@", CREDIT }, { "@D3@", page_d3 }, { "@DATA@", NULL }, { "@JS@", page_js },
    };
    const char *rest = page_html;
    for (unsigned i = 0; ok && i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(rest, parts[i].mark);
        fwrite(rest, 1, (size_t)(at - rest), out);
        if (parts[i].text)
            fputs(parts[i].text, out);
        else
            cw_text_put_in_script(out, data.data, data.size);
        rest = at + strlen(parts[i].mark);
    }
    if (ok)
        fputs(rest, out);
    cw_buf_finish(&data);
    finish(&p);
    return ok;
}
