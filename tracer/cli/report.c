/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace report: the totals of a recording as text or as one JSON object. */
#include "tracer/cli/cli.h"
#include "tracer/cli/json.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/process.h"
#include "tracer/cli/report_html.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const places[2] = { "device", "host" };
static const char *const ways[4] = { "host to device", "device to host", "on the device", "other" };
static const char *const op_ways[4] = { "host to device", "device to host", "on the device", "host to host" };
static const char *const op_way_keys[4] = { "host_to_device", "device_to_host", "device_to_device", "host_to_host" };
static const char *const way_keys[4] = { "host_to_device", "device_to_host", "device_to_device", "other" };

static void
print_size(uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double v = (double)bytes;
    unsigned u = 0;
    while (v >= 1024 && u < 4) {
        v /= 1024;
        u++;
    }
    printf(u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

/* The functions of one API. A Runtime call's time has the driver's calls in it. */
static void
print_functions(const struct totals *t, bool runtime)
{
    const char *head = runtime ? "Runtime function" : "function";
    int width = 10;
    bool any = false;
    for (unsigned i = 0; i < t->function_count; i++) {
        any |= tr_of_runtime(t->functions[i].name) == runtime;
        if ((int)strlen(t->functions[i].name) > width)
            width = (int)strlen(t->functions[i].name);
    }
    if (!any)
        return;
    printf("\n%-*s %9s %7s %12s %11s %11s\n", width, head, "calls", "errors", "total ms", "average us", "longest us");
    for (unsigned i = 0; i < t->function_count; i++) {
        const struct tot_function *f = &t->functions[i];
        if (tr_of_runtime(f->name) != runtime)
            continue;
        printf("%-*s %9llu %7llu %12.3f %11.3f %11.3f%s\n", width, f->name, (unsigned long long)f->calls,
               (unsigned long long)f->errors, (double)f->total / 1e6, (double)f->total / 1e3 / (double)f->calls,
               (double)f->longest / 1e3, f->unfinished ? "  (not all returned)" : "");
    }
}

/* As wide as the longest kernel's name, within reason. */
static int
kernel_width(const struct totals *t)
{
    int width = 22;
    for (unsigned i = 0; i < t->kernel_count; i++)
        if ((int)strlen(t->kernels[i].name) > width)
            width = (int)strlen(t->kernels[i].name);
    return width > 60 ? 60 : width;
}

static void
print_kernels(const struct totals *t)
{
    int width = kernel_width(t);
    printf("\nkernels: %llu launches of %u\n", (unsigned long long)t->launches, t->kernel_count);
    printf("%-*s %9s %7s %12s %12s %12s\n", width, "kernel", "launches", "failed", "in calls ms", "compiling ms", "from cache");
    for (unsigned i = 0; i < t->kernel_count; i++) {
        const struct tot_kernel *k = &t->kernels[i];
        char compiling[32] = "-", cached[48] = "-";
        if (k->compiled) {
            snprintf(compiling, sizeof compiling, "%.3f", (double)k->compile_total / 1e6);
            snprintf(cached, sizeof cached, "%llu of %llu", (unsigned long long)k->cached, (unsigned long long)k->compiled);
        }
        printf("%-*s %9llu %7llu %12.3f %12s %12s\n", width, k->name, (unsigned long long)k->launches, (unsigned long long)k->errors,
               (double)k->total / 1e6, compiling, cached);
        for (unsigned g = 0; g < k->grid_count; g++) {
            const struct tot_grid *x = &k->grids[g];
            printf("    grid (%llu,%llu,%llu) block (%llu,%llu,%llu): %llu\n", (unsigned long long)x->grid[0],
                   (unsigned long long)x->grid[1], (unsigned long long)x->grid[2], (unsigned long long)x->block[0],
                   (unsigned long long)x->block[1], (unsigned long long)x->block[2], (unsigned long long)x->launches);
        }
        if (k->other_grids)
            printf("    other grids: %llu\n", (unsigned long long)k->other_grids);
    }
}

static void
print_times(const struct totals *t, int width, const char *name, const struct tot_times *x)
{
    printf("%-*s %9llu %12.3f %6.1f %% %11.3f %11.3f %11.3f", width, name, (unsigned long long)x->count, (double)x->total / 1e6,
           t->device_total ? (double)x->total * 100 / (double)t->device_total : 0, (double)x->total / 1e3 / (double)x->count,
           (double)x->shortest / 1e3, (double)x->longest / 1e3);
}

static void
print_rate(uint64_t bytes, int64_t ns)
{
    printf("  ");
    print_size(bytes);
    if (ns > 0)
        printf(", %.2f GB/s", (double)bytes / (double)ns);
    printf("\n");
}

static void
print_busy(const struct totals *t)
{
    char suffix[128];
    for (unsigned i = 0; i < t->device_count; i++) {
        const struct tot_device *d = &t->devices[i];
        int64_t span = d->last - d->first;
        printf("device %u of process %u%s: busy %.3f ms of %.3f ms (%.1f %%)\n", d->device, tr_process(d->pid).pid, tr_process_suffix(d->pid, suffix, sizeof suffix), (double)d->busy / 1e6,
               (double)span / 1e6, span ? (double)d->busy * 100 / (double)span : 100.0);
    }
    for (unsigned i = 0; i < t->gap_count; i++) {
        const struct tot_gap *g = &t->gaps[i];
        printf("  idle for %.3f ms from %.3f ms on: the program was %s%s\n", (double)(g->end - g->start) / 1e6,
               (double)(g->start - t->first) / 1e6, g->call ? "in " : "outside of CUDA", g->call ? g->call : "");
    }
    if (t->sync_copies)
        printf("  %llu copies that wait: %.3f ms in these calls, of which the copies took %.3f ms\n",
               (unsigned long long)t->sync_copies, (double)t->sync_time / 1e6, (double)t->sync_device / 1e6);
    if (t->unknown_ops)
        printf("  of %llu operations the times are not known\n", (unsigned long long)t->unknown_ops);
}

/* What the devices did, by their own clocks. */
static void
print_device(const struct totals *t)
{
    int width = kernel_width(t);
    printf("\n%-*s %9s %12s %8s %11s %11s %11s\n", width, "on the device", "count", "total ms", "share", "average us", "shortest us",
           "longest us");
    for (unsigned i = 0; i < t->kernel_count; i++) {
        const struct tot_kernel *k = &t->kernels[i];
        if (!k->device.count)
            continue;
        print_times(t, width, k->name, &k->device);
        if (k->occupancy)
            printf("  occupancy %.0f %%", (double)k->occupancy / 10 / (double)k->device.count);
        printf("\n");
    }
    if (t->graph_times.count) {
        print_times(t, width, "[graph]", &t->graph_times);
        printf("\n");
    }
    for (unsigned i = 0; i < 4; i++) {
        char name[40];
        snprintf(name, sizeof name, "[copy %s]", op_ways[i]);
        if (!t->copy_times[i].count)
            continue;
        print_times(t, width, name, &t->copy_times[i]);
        print_rate(t->copy_bytes[i], t->copy_times[i].total);
    }
    if (t->fill_times.count) {
        print_times(t, width, "[memset]", &t->fill_times);
        print_rate(t->fill_bytes, t->fill_times.total);
    }
    print_busy(t);
}

/* Where there is more to say of them than how many they are. */
static void
print_processes(const struct totals *t)
{
    bool any = tr_host_count() > 1;
    char suffix[128];
    for (unsigned i = 0; i < t->process_count; i++)
        any |= tr_process(t->process_list[i].pid).rank >= 0;
    if (any)
        printf("\nprocesses\n");
    for (unsigned i = 0; any && i < t->process_count; i++) {
        const struct tot_process *p = &t->process_list[i];
        printf("  process %u%s: %llu calls, %llu launches, %llu failed\n", tr_process(p->pid).pid, tr_process_suffix(p->pid, suffix, sizeof suffix),
               (unsigned long long)p->calls, (unsigned long long)p->launches, (unsigned long long)p->failed);
    }
}

static void
print_memory(const struct totals *t)
{
    printf("\nmemory\n");
    for (unsigned i = 0; i < 2; i++) {
        if (!t->allocations[i])
            continue;
        printf("  %s: %llu allocations, ", places[i], (unsigned long long)t->allocations[i]);
        print_size(t->allocated[i]);
        printf(" in all, at most ");
        print_size(t->peak[i]);
        printf(" at a time, ");
        print_size(t->live[i]);
        printf(" never freed\n");
    }
    for (unsigned i = 0; i < 4; i++) {
        if (!t->copies[i])
            continue;
        printf("  copied %s: %llu copies, ", ways[i], (unsigned long long)t->copies[i]);
        print_size(t->copied[i]);
        printf("\n");
    }
}

static bool
is_unsupported(const struct tot_error *e)
{
    return !strcmp(e->result, "CUDA_ERROR_NOT_SUPPORTED") || !strcmp(e->result, "cudaErrorNotSupported");
}

static void
print_text(const struct totals *t, const cJSON *manifest)
{
    if (manifest)
        manifest_print(manifest, stdout);
    printf("recorded    %llu calls, ", (unsigned long long)t->calls);
    if (t->runtime_calls)
        printf("%llu of them the Runtime's, ", (unsigned long long)t->runtime_calls);
    printf("%llu failed, %u processes, %u threads", (unsigned long long)t->failed, t->process_count, t->thread_index.count);
    if (t->calls)
        printf(", over %.3f s", (double)(t->last - t->first) / 1e9);
    printf("\n");
    if (t->lost)
        printf("LOST        %llu events were dropped while recording; the totals are too small\n",
               (unsigned long long)t->lost);
    if (!t->calls)
        return;
    print_functions(t, true);
    print_functions(t, false);
    if (t->module_count) {
        printf("\nmodules\n");
        for (unsigned i = 0; i < t->module_count; i++) {
            const struct tot_module *m = &t->modules[i];
            printf("  %s, %llu bytes%s%s%s%.16s, loaded %llu times", m->kind, (unsigned long long)m->size,
                   *m->file ? ", " : "", m->file, *m->hash ? ", sha256 " : "", m->hash, (unsigned long long)m->loads);
            printf(m->refused ? ", refused %llu times\n" : "\n", (unsigned long long)m->refused);
        }
    }
    print_processes(t);
    if (t->kernel_count)
        print_kernels(t);
    if (t->span_count || t->unknown_ops)
        print_device(t);
    else if (t->launches)
        printf("\nthe driver did not tell when its device ran what; `record --device-time` finds out by events\n");
    if (t->allocations[0] || t->allocations[1] || t->copies[0] || t->copies[1] || t->copies[2] || t->copies[3])
        print_memory(t);
    if (t->error_count) {
        printf("\nerrors\n");
        for (unsigned i = 0; i < t->error_count; i++)
            printf("  %s: %s, %llu times\n", t->errors[i].function, t->errors[i].result,
                   (unsigned long long)t->errors[i].count);
    }
    bool any = t->missing_count;
    for (unsigned i = 0; i < t->error_count; i++)
        any |= is_unsupported(&t->errors[i]);
    if (!any)
        return;
    printf("\nmissing\n");
    for (unsigned i = 0; i < t->error_count; i++)
        if (is_unsupported(&t->errors[i]))
            printf("  %s is not supported (called %llu times)\n", t->errors[i].function,
                   (unsigned long long)t->errors[i].count);
    for (unsigned i = 0; i < t->missing_count; i++)
        printf("  %s was not found by cuGetProcAddress (asked %llu times)\n", t->missing[i].function,
               (unsigned long long)t->missing[i].count);
}

/* ---- JSON ---- */

static cJSON *
triple(const uint64_t v[3])
{
    cJSON *a = cJSON_CreateArray();
    for (unsigned i = 0; a && i < 3; i++)
        cJSON_AddItemToArray(a, cJSON_CreateNumber((double)v[i]));
    return a;
}

static cJSON *
times_of(cJSON *o, const char *key, const struct tot_times *x)
{
    cJSON *d = cJSON_AddObjectToObject(o, key);
    json_number(d, "count", x->count);
    json_number(d, "total_ns", (uint64_t)x->total);
    json_number(d, "shortest_ns", (uint64_t)x->shortest);
    json_number(d, "longest_ns", (uint64_t)x->longest);
    return d;
}

/* Rank and host of a process, where they are known. */
static void
add_who(cJSON *o, uint32_t process)
{
    struct tr_process p = tr_process(process);
    if (p.rank >= 0)
        json_number(o, "rank", (uint64_t)p.rank);
    if (*p.host)
        cJSON_AddStringToObject(o, "host", p.host);
}

static void
add_processes(cJSON *root, const struct totals *t)
{
    cJSON *a = cJSON_AddArrayToObject(root, "process_list");
    for (unsigned i = 0; i < t->process_count; i++) {
        const struct tot_process *p = &t->process_list[i];
        cJSON *o = json_item(a);
        json_number(o, "pid", tr_process(p->pid).pid);
        add_who(o, p->pid);
        json_number(o, "calls", p->calls);
        json_number(o, "launches", p->launches);
        json_number(o, "failed", p->failed);
    }
}

static void
add_device(cJSON *root, const struct totals *t)
{
    cJSON *o, *a, *device = cJSON_AddObjectToObject(root, "device_time");
    json_number(device, "total_ns", (uint64_t)t->device_total);
    json_number(device, "unknown", t->unknown_ops);
    for (unsigned i = 0; i < 4; i++)
        json_number(times_of(device, op_way_keys[i], &t->copy_times[i]), "bytes", t->copy_bytes[i]);
    json_number(times_of(device, "memset", &t->fill_times), "bytes", t->fill_bytes);
    times_of(device, "graph", &t->graph_times);
    json_number(device, "synchronous_copies", t->sync_copies);
    json_number(device, "synchronous_copies_ns", (uint64_t)t->sync_time);
    json_number(device, "synchronous_copies_device_ns", (uint64_t)t->sync_device);
    a = cJSON_AddArrayToObject(device, "devices");
    for (unsigned i = 0; i < t->device_count; i++) {
        const struct tot_device *d = &t->devices[i];
        o = json_item(a);
        json_number(o, "pid", tr_process(d->pid).pid);
        add_who(o, d->pid);
        json_number(o, "device", d->device);
        json_number(o, "operations", d->operations);
        json_number(o, "busy_ns", (uint64_t)d->busy);
        json_number(o, "span_ns", (uint64_t)(d->last - d->first));
    }
    a = cJSON_AddArrayToObject(device, "gaps");
    for (unsigned i = 0; i < t->gap_count; i++) {
        o = json_item(a);
        json_number(o, "device", t->gaps[i].device);
        json_number(o, "start_ns", (uint64_t)(t->gaps[i].start - t->first));
        json_number(o, "ns", (uint64_t)(t->gaps[i].end - t->gaps[i].start));
        cJSON_AddItemToObject(o, "call", t->gaps[i].call ? cJSON_CreateString(t->gaps[i].call) : cJSON_CreateNull());
    }
}

static bool
print_json(const struct totals *t, cJSON *manifest)
{
    cJSON *root = cJSON_CreateObject(), *a, *o;
    if (!root)
        return false;
    if (manifest)
        cJSON_AddItemReferenceToObject(root, "manifest", manifest);
    json_number(root, "calls", t->calls);
    json_number(root, "runtime_calls", t->runtime_calls);
    json_number(root, "failed", t->failed);
    json_number(root, "lost", t->lost);
    json_number(root, "launches", t->launches);
    json_number(root, "processes", t->process_count);
    json_number(root, "threads", t->thread_index.count);
    json_number(root, "nanoseconds", t->calls ? (uint64_t)(t->last - t->first) : 0);
    a = cJSON_AddArrayToObject(root, "functions");
    for (unsigned i = 0; i < t->function_count; i++) {
        const struct tot_function *f = &t->functions[i];
        o = json_item(a);
        cJSON_AddStringToObject(o, "name", f->name);
        cJSON_AddStringToObject(o, "api", tr_of_runtime(f->name) ? "runtime" : "driver");
        json_number(o, "calls", f->calls);
        json_number(o, "errors", f->errors);
        json_number(o, "unfinished", f->unfinished);
        json_number(o, "total_ns", (uint64_t)f->total);
        json_number(o, "longest_ns", (uint64_t)f->longest);
    }
    a = cJSON_AddArrayToObject(root, "kernels");
    for (unsigned i = 0; i < t->kernel_count; i++) {
        const struct tot_kernel *k = &t->kernels[i];
        o = json_item(a);
        cJSON_AddStringToObject(o, "name", k->name);
        json_number(o, "launches", k->launches);
        json_number(o, "errors", k->errors);
        json_number(o, "launch_ns", (uint64_t)k->total);
        json_number(o, "other_grids", k->other_grids);
        json_number(times_of(o, "device", &k->device), "occupancy_permille", k->device.count ? k->occupancy / k->device.count : 0);
        json_number(o, "compiled", k->compiled);
        json_number(o, "cached", k->cached);
        json_number(o, "compile_ns", (uint64_t)k->compile_total);
        cJSON *grids = cJSON_AddArrayToObject(o, "grids");
        for (unsigned g = 0; g < k->grid_count; g++) {
            cJSON *x = json_item(grids);
            cJSON_AddItemToObject(x, "grid", triple(k->grids[g].grid));
            cJSON_AddItemToObject(x, "block", triple(k->grids[g].block));
            json_number(x, "launches", k->grids[g].launches);
        }
    }
    a = cJSON_AddArrayToObject(root, "modules");
    for (unsigned i = 0; i < t->module_count; i++)
        json_module(json_item(a), &t->modules[i]);
    cJSON *memory = cJSON_AddObjectToObject(root, "memory");
    for (unsigned i = 0; i < 2; i++) {
        o = cJSON_AddObjectToObject(memory, places[i]);
        json_number(o, "allocations", t->allocations[i]);
        json_number(o, "allocated", t->allocated[i]);
        json_number(o, "frees", t->frees[i]);
        json_number(o, "freed", t->freed[i]);
        json_number(o, "peak", t->peak[i]);
        json_number(o, "live", t->live[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        o = cJSON_AddObjectToObject(memory, way_keys[i]);
        json_number(o, "copies", t->copies[i]);
        json_number(o, "bytes", t->copied[i]);
    }
    add_processes(root, t);
    add_device(root, t);
    a = cJSON_AddArrayToObject(root, "errors");
    cJSON *missing = cJSON_AddArrayToObject(root, "missing");
    for (unsigned i = 0; i < t->error_count; i++) {
        o = json_item(a);
        cJSON_AddStringToObject(o, "function", t->errors[i].function);
        cJSON_AddStringToObject(o, "result", t->errors[i].result);
        json_number(o, "count", t->errors[i].count);
        if (is_unsupported(&t->errors[i])) {
            o = json_item(missing);
            cJSON_AddStringToObject(o, "function", t->errors[i].function);
            cJSON_AddStringToObject(o, "why", "not supported");
            json_number(o, "count", t->errors[i].count);
        }
    }
    for (unsigned i = 0; i < t->missing_count; i++) {
        o = json_item(missing);
        cJSON_AddStringToObject(o, "function", t->missing[i].function);
        cJSON_AddStringToObject(o, "why", "not found by cuGetProcAddress");
        json_number(o, "count", t->missing[i].count);
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text)
        puts(text);
    free(text);
    return text != NULL;
}

enum { OPT_JSON = 256, OPT_HTML };

static int
report(int argc, char **argv)
{
    bool json = false, html = false;
    const char *output = NULL;
    FILE *out = stdout;
    int c;
    struct cw_command_line line = { &report_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case OPT_JSON: json = true; break;
        case OPT_HTML: html = true; break;
        case 'o': output = optarg; break;
        default: return line.status;
        }
    }
    if (argc - optind > 1)
        return cw_usage_error(&report_command, "one recording at a time");
    if (json && html)
        return cw_usage_error(&report_command, "--json or --html, not both");
    if (output && !html)
        return cw_usage_error(&report_command, "-o goes with --html");
    char *dir = find_recording(argv[optind]);
    if (!dir)
        return EXIT_USAGE;
    struct totals t;
    cJSON *manifest = manifest_read(dir);
    enum tr_status status = totals_read(dir, &t);
    if (status != TR_FAILED) {
        if (status == TR_EMPTY)
            manifest_say_empty(dir);
        if (html && output && !(out = fopen(output, "w"))) {
            say("cannot write %s: %s", output, strerror(errno));
            status = TR_FAILED;
        } else if (html) {
            status = report_html(out, dir, &t, manifest) ? status : TR_FAILED;
        } else if (!json)
            print_text(&t, manifest);
        else if (!print_json(&t, manifest))
            say("out of memory"), status = TR_FAILED;
        if (out && (fflush(out) || ferror(out) || (out != stdout && fclose(out)))) {
            say("cannot write %s: %s", output ? output : "the output", strerror(errno));
            status = TR_FAILED;
        }
    }
    totals_finish(&t);
    cJSON_Delete(manifest);
    free(dir);
    return status == TR_OK || status == TR_EMPTY ? 0 : status == TR_DAMAGED ? EXIT_DAMAGED : EXIT_USAGE;
}

const struct cw_program report_command = {
    .name = "report",
    .parent = &trace_program,
    .summary = "totals: functions, kernels, memory, errors, what is missing",
    .operands = "[DIR]",
    .description = "Prints totals of a recording: functions, kernels, memory, errors, what is missing. "
                   "DIR is what `record` left; without it, the newest cudaway-trace-* folder here.",
    .options = (const struct cw_option[]){ { OPT_JSON, "json", NULL, "print JSON" },
                                           { OPT_HTML, "html", NULL, "write a page to look at, one file without references to others" },
                                           { 'o', "output", "FILE", "where the page goes (default: standard output)", "FILE" }, { 0 } },
    .complete = "DIR",
    .run = report,
    .usage_status = EXIT_USAGE,
};
