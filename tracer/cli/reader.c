/* SPDX-License-Identifier: Apache-2.0
 * CTF through libbabeltrace2: a source for the processes' traces, the muxer that orders them by time, and a sink here.
 * Damaged streams are repaired into a temporary folder first (repair.c). */
#define _GNU_SOURCE
#include "tracer/cli/reader.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/process.h"
#include "impl/base/file.h"
#include "impl/base/progress.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"

#include <babeltrace2/babeltrace.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE_MEMORY (1ull << 30)
enum { MEMORY_PER_BYTE = 64 };          /* of a trace: what babeltrace makes of a packet, and what the commands keep */

/* ---- fields ---- */

static struct tr_field convert(struct cw_arena *arena, const char *name, const bt_field *field);

static void
convert_array(struct cw_arena *arena, const bt_field *field, struct tr_field *out)
{
    uint64_t n = bt_field_array_get_length(field);
    out->kind = TR_ARRAY;
    out->items = cw_arena_array(arena, uint64_t, n ? n : 1);
    for (uint64_t i = 0; out->items && i < n; i++) {
        struct tr_field f = convert(arena, "", bt_field_array_borrow_element_field_by_index_const(field, i));
        out->items[i] = f.u;
        out->hex = f.hex;
        out->count = i + 1;
    }
}

/* Recordings come from others too, and their texts, also names in their metadata, go to terminals, tables and JSON. */
static const char *
safe_text(struct cw_arena *arena, const char *text)
{
    if (cw_text_is_safe(text, "\t"))
        return text;
    char *copy = cw_arena_strndup(arena, text, strlen(text));
    if (!copy)
        return "?";
    cw_text_make_safe(copy, "\t");
    return copy;
}

/* The first name of an enumeration's value; NULL: it has none. */
static const char *
label(struct cw_arena *arena, const bt_field *field, bool is_signed)
{
    bt_field_class_enumeration_mapping_label_array labels;
    uint64_t count = 0;
    int status = is_signed ? (int)bt_field_enumeration_signed_get_mapping_labels(field, &labels, &count)
                           : (int)bt_field_enumeration_unsigned_get_mapping_labels(field, &labels, &count);
    return status == 0 && count ? safe_text(arena, labels[0]) : NULL;
}

static struct tr_field
convert(struct cw_arena *arena, const char *name, const bt_field *field)
{
    struct tr_field out = { .name = name, .kind = TR_UINT };
    const bt_field_class *fc = bt_field_borrow_class_const(field);
    bt_field_class_type type = bt_field_get_class_type(field);
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
        out.kind = TR_INT;
        out.u = (uint64_t)bt_field_integer_signed_get_value(field);
    } else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
        out.u = bt_field_integer_unsigned_get_value(field);
    } else if (type == BT_FIELD_CLASS_TYPE_BOOL) {
        out.u = bt_field_bool_get_value(field);
    } else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
        out.kind = TR_REAL;
        out.d = bt_field_real_single_precision_get_value(field);
    } else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
        out.kind = TR_REAL;
        out.d = bt_field_real_double_precision_get_value(field);
    } else if (type == BT_FIELD_CLASS_TYPE_STRING) {
        out.kind = TR_STRING;
        out.text = safe_text(arena, bt_field_string_get_value(field));
    } else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
        convert_array(arena, field, &out);
    } else {
        out.kind = TR_STRING;
        out.text = "?";
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER))
        out.hex = bt_field_class_integer_get_preferred_display_base(fc) ==
                  BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL;
    if (type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION)
        out.text = label(arena, field, true);
    else if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
        out.text = label(arena, field, false);
    return out;
}

/* ---- the sink ---- */

/* An event by who wrote it and what it is. Snapshots of one buffer overlap, and the muxer puts the copies of an event side by side. */
struct identity {
    uint32_t pid, tid;
    uint64_t name;
};
enum { SAME_TIME = 64 };

struct run {
    const struct tr_sink *sink;
    bt_message_iterator  *iterator;
    struct cw_arena       arena;
    struct tr_field      *fields;
    unsigned              capacity;
    uint64_t              events;
    bool                  stopped, nomem;
    struct cw_progress    progress;             /* counts packets */
    uint64_t              impossible;           /* events left out, whose times are */
    bool                  overlap;              /* there are several snapshots */
    int64_t               now;                  /* of the events in `same` */
    struct identity       same[SAME_TIME];
    unsigned              same_count;
};

static bt_graph_simple_sink_component_initialize_func_status
sink_init(bt_message_iterator *iterator, void *data)
{
    ((struct run *)data)->iterator = iterator;
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static uint32_t
context_number(const bt_field *context, const char *name)
{
    const bt_field *f = context ? bt_field_structure_borrow_member_field_by_name_const(context, name) : NULL;
    if (!f)
        return 0;
    bt_field_class_type type = bt_field_get_class_type(f);
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
        return (uint32_t)bt_field_integer_signed_get_value(f);
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
        return (uint32_t)bt_field_integer_unsigned_get_value(f);
    return 0;
}

/* The host on which the event's trace was written. */
static const char *
host_of(const bt_event *event)
{
    const bt_trace *trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
    const bt_value *v = bt_trace_borrow_environment_entry_value_by_name_const(trace, "hostname");
    return v && bt_value_is_string(v) ? bt_value_string_get(v) : "";
}

/* The event's name without its provider; NULL: none of ours. */
static const char *
own_event(const char *name)
{
    static const char *const providers[] = { "cudaway:", "cudaway_runtime:" };
    for (unsigned i = 0; name && i < sizeof providers / sizeof *providers; i++)
        if (!strncmp(name, providers[i], strlen(providers[i])))
            return name + strlen(providers[i]);
    return NULL;
}

static bool
is_copy(struct run *r, const struct tr_event *e)
{
    struct identity id = { e->pid, e->tid, 0xcbf29ce484222325 };        /* FNV-1a */
    for (const char *p = e->name; *p; p++)
        id.name = (id.name ^ (uint8_t)*p) * 0x100000001b3;
    if (e->time != r->now)
        r->same_count = 0;
    r->now = e->time;
    for (unsigned i = 0; i < r->same_count; i++)
        if (r->same[i].pid == id.pid && r->same[i].tid == id.tid && r->same[i].name == id.name)
            return true;
    if (r->same_count < SAME_TIME)
        r->same[r->same_count++] = id;
    return false;
}

static bool
take_event(struct run *r, const bt_message *message)
{
    const bt_event *event = bt_message_event_borrow_event_const(message);
    const bt_event_class *class = bt_event_borrow_class_const(event);
    const char *name = own_event(bt_event_class_get_name(class));
    if (!name)
        return true;
    /* The arena serves many events: reset it when it has grown. */
    if (r->arena.total > (1u << 20)) {
        cw_arena_finish(&r->arena);
        cw_arena_init(&r->arena);
    }
    struct tr_event e = { .name = safe_text(&r->arena, name), .procname = "" };
    const bt_clock_snapshot *clock = bt_message_event_borrow_default_clock_snapshot_const(message);
    if (bt_clock_snapshot_get_ns_from_origin(clock, &e.time) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK || e.time < 0) {
        bt_current_thread_clear_error();        /* else its next call aborts */
        r->impossible++;
        return true;
    }
    e.clock = (int64_t)((uint64_t)e.time - bt_clock_snapshot_get_value(clock));
    const bt_field *context = bt_event_borrow_common_context_field_const(event);
    e.pid = tr_process_number(safe_text(&r->arena, host_of(event)), context_number(context, "vpid"));
    e.tid = context_number(context, "vtid");
    const bt_field *proc = context ? bt_field_structure_borrow_member_field_by_name_const(context, "procname") : NULL;
    if (proc && bt_field_get_class_type(proc) == BT_FIELD_CLASS_TYPE_STRING)
        e.procname = safe_text(&r->arena, bt_field_string_get_value(proc));
    if (r->overlap && is_copy(r, &e))
        return true;
    const bt_field *payload = bt_event_borrow_payload_field_const(event);
    uint64_t n = payload ? bt_field_class_structure_get_member_count(bt_field_borrow_class_const(payload)) : 0;
    if (n > r->capacity) {
        struct tr_field *p = realloc(r->fields, sizeof *p * n);
        if (!p) {
            r->nomem = true;
            return false;
        }
        r->fields = p;
        r->capacity = (unsigned)n;
    }
    bool empty = false;             /* the field before gave this one's length, 0 */
    for (uint64_t i = 0; i < n; i++) {
        const bt_field_class_structure_member *m =
            bt_field_class_structure_borrow_member_by_index_const(bt_field_borrow_class_const(payload), i);
        const char *field = safe_text(&r->arena, bt_field_class_structure_member_get_name(m));
        size_t length = strlen(field);
        /* The length of a sequence is a field of its own; the sequence knows it. */
        const bt_field *value = bt_field_structure_borrow_member_field_by_index_const(payload, i);
        if (length > 7 && field[0] == '_' && !strcmp(field + length - 7, "_length")) {
            empty = !convert(&r->arena, field, value).u;
            continue;
        }
        struct tr_field *f = &r->fields[e.count++];
        *f = convert(&r->arena, field, value);
        /* babeltrace 2.0 leaves the text of an earlier event in a text of length 0. */
        if (empty && f->kind == TR_STRING)
            f->text = "";
        empty = false;
    }
    e.fields = r->fields;
    const struct tr_field *rank = strcmp(e.name, "process") ? NULL : tr_find(e.fields, e.count, "rank");
    if (rank)
        tr_process_set_rank(e.pid, rank->u);
    return r->sink->event(r->sink->ctx, &e);
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *iterator, void *data)
{
    struct run *r = data;
    bt_message_array_const messages;
    uint64_t count;
    bt_message_iterator_next_status status = bt_message_iterator_next(iterator, &messages, &count);
    if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
        return (bt_graph_simple_sink_component_consume_func_status)status;
    for (uint64_t i = 0; i < count; i++) {
        bt_message_type type = bt_message_get_type(messages[i]);
        if (type == BT_MESSAGE_TYPE_EVENT && !r->stopped) {
            if (!(r->events++ & 0xfff))
                cw_progress_step(&r->progress, r->progress.done, CW_NO_COUNT);
            r->stopped = !take_event(r, messages[i]);
        } else if (type == BT_MESSAGE_TYPE_PACKET_END) {
            cw_progress_step(&r->progress, r->progress.done + 1, CW_NO_COUNT);
        } else if (type == BT_MESSAGE_TYPE_DISCARDED_EVENTS) {
            uint64_t n = 1;
            if (bt_message_discarded_events_get_count(messages[i], &n) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
                n = 1;
            r->sink->lost(r->sink->ctx, n);
        }
        bt_message_put_ref(messages[i]);
    }
    return r->stopped ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
                      : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph ---- */

struct paths {
    char   **item;
    unsigned count, capacity;
    uint64_t packets;                   /* that LTTng's indexes name */
    uint64_t bytes;                     /* of all files */
};

static struct paths *found;

/* index/STREAM.idx: four big-endian words, of which the first is INDEX_MAGIC and the last the bytes of each entry, then an entry for each packet. */
#define INDEX_MAGIC 0xc1f1dcc1u

static uint64_t
count_packets(const char *path, const struct stat *st)
{
    uint32_t head[4];
    FILE *f = S_ISREG(st->st_mode) ? fopen(path, "re") : NULL;
    bool ok = f && fread(head, sizeof head, 1, f) == 1 && be32toh(head[0]) == INDEX_MAGIC && head[3];
    if (f)
        fclose(f);
    return ok && (uint64_t)st->st_size > sizeof head ? ((uint64_t)st->st_size - sizeof head) / be32toh(head[3]) : 0;
}

static int
visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    size_t n = strlen(path);
    struct stat target;
    if (type == FTW_F)
        found->bytes += (uint64_t)st->st_size;
    else if (type == FTW_SL && !stat(path, &target) && S_ISREG(target.st_mode))
        found->bytes += (uint64_t)target.st_size;
    if (type == FTW_F && n > 4 && !strcmp(path + n - 4, ".idx"))
        found->packets += count_packets(path, st);
    /* A repaired folder has links to the intact files. */
    if ((type != FTW_F && type != FTW_SL) || strcmp(path + ftw->base, "metadata") || !st->st_size || cw_file_is_special(path))
        return 0;
    if (found->count == found->capacity) {
        unsigned cap = found->capacity ? found->capacity * 2 : 16;
        char **p = realloc(found->item, sizeof *p * cap);
        if (!p)
            return -1;
        found->item = p;
        found->capacity = cap;
    }
    char *dir = strndup(path, ftw->base ? (size_t)ftw->base - 1 : 0);
    if (!dir)
        return -1;
    found->item[found->count++] = dir;
    return 0;
}

/* LTTng's folders snapshot-1-TIME-0, snapshot-2-..., of a flight recorder. */
static bool
dirs_overlap(const struct paths *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->count; i++)
        n += strstr(p->item[i], "/snapshot-") != NULL;
    return n > 1;
}

static void
free_paths(struct paths *p)
{
    for (unsigned i = 0; i < p->count; i++)
        free(p->item[i]);
    free(p->item);
}

/* The innermost cause of babeltrace's current error, which is cleared. */
static void
take_error(char *out, size_t size)
{
    const bt_error *error = bt_current_thread_take_error();
    snprintf(out, size, "unknown cause");
    if (!error)
        return;
    if (bt_error_get_cause_count(error)) {
        const bt_error_cause *cause = bt_error_borrow_cause_by_index(error, 0);
        const char *text = bt_error_cause_get_message(cause);
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    }
    bt_error_release(error);
}

static const bt_component_class_source *source_class;
static const bt_component_class_filter *muxer_class;

static bool
load_plugins(void)
{
    static const bt_plugin *ctf, *utils;
    if (source_class && muxer_class)
        return true;
    /* A bundle carries babeltrace's plugins beside our libraries. */
    char *own = find_library("babeltrace2-plugins");
    if (own && !getenv("BABELTRACE_PLUGIN_PATH"))
        setenv("BABELTRACE_PLUGIN_PATH", own, 1);
    free(own);
    bt_plugin_find_status status = bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf);
    if (status == BT_PLUGIN_FIND_STATUS_OK) {
        source_class = bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
        status = bt_plugin_find("utils", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &utils);
    }
    if (status == BT_PLUGIN_FIND_STATUS_OK)
        muxer_class = bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
    if (source_class && muxer_class)
        return true;
    if (status == BT_PLUGIN_FIND_STATUS_OK || status == BT_PLUGIN_FIND_STATUS_NOT_FOUND) {
        say("babeltrace's ctf and utils plugins are missing; install the Debian package libbabeltrace2-0");
    } else {
        char why[200];
        take_error(why, sizeof why);
        say("babeltrace's ctf and utils plugins cannot be loaded: %s", why);
    }
    return false;
}

/* Add a source for one process's folder. Returns NULL, with the error left for take_error, when it cannot be read. */
static const bt_component_source *
add_source(bt_graph *graph, const char *dir, unsigned index)
{
    const bt_component_source *source = NULL;
    char name[32];
    snprintf(name, sizeof name, "source%u", index);
    bt_value *params = bt_value_map_create(), *inputs = NULL;
    if (params && bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) == 0 &&
        bt_value_array_append_string_element(inputs, dir) == 0 &&
        bt_graph_add_source_component(graph, source_class, name, params, BT_LOGGING_LEVEL_NONE, &source) != 0)
        source = NULL;
    bt_value_put_ref(params);
    return source;
}

/* Whether a folder can be opened at all; tried alone, since one unreadable process must not hide the others. */
static bool
readable(const char *dir, char *why, size_t size)
{
    bt_graph *graph = bt_graph_create(0);
    bool ok = graph && add_source(graph, dir, 0);
    if (!ok)
        take_error(why, size);
    bt_graph_put_ref(graph);
    return ok;
}

static bool
build(bt_graph *graph, const struct paths *dirs, struct run *r)
{
    const bt_component_filter *muxer;
    const bt_component_sink *sink;
    if (bt_graph_add_filter_component(graph, muxer_class, "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer) != 0 ||
        bt_graph_add_simple_sink_component(graph, "sink", sink_init, sink_consume, NULL, r, &sink) != 0)
        return false;
    uint64_t in = 0;
    for (unsigned i = 0; i < dirs->count; i++) {
        const bt_component_source *source = add_source(graph, dirs->item[i], i);
        if (!source)
            return false;
        uint64_t ports = bt_component_source_get_output_port_count(source);
        for (uint64_t p = 0; p < ports; p++) {
            const bt_port_output *out = bt_component_source_borrow_output_port_by_index_const(source, p);
            const bt_port_input *to = bt_component_filter_borrow_input_port_by_index_const(muxer, in++);
            if (bt_graph_connect_ports(graph, out, to, NULL) != 0)
                return false;
        }
    }
    const bt_port_output *out = bt_component_filter_borrow_output_port_by_index_const(muxer, 0);
    const bt_port_input *to = bt_component_sink_borrow_input_port_by_index_const(sink, 0);
    return bt_graph_connect_ports(graph, out, to, NULL) == 0;
}

static bt_graph *
create_graph(const struct paths *dirs, struct run *r)
{
    bt_graph *graph = bt_graph_create(0);
    if (graph && build(graph, dirs, r))
        return graph;
    bt_graph_put_ref(graph);
    return NULL;
}

/* Take the folders that cannot be opened out of the list, with a message for each. */
static void
leave_out(struct paths *dirs)
{
    char why[512];
    unsigned kept = 0;
    for (unsigned i = 0; i < dirs->count; i++) {
        if (readable(dirs->item[i], why, sizeof why)) {
            dirs->item[kept++] = dirs->item[i];
            continue;
        }
        char *slash = strrchr(dirs->item[i], '/');
        say("%s is damaged and left out: %s", slash ? slash + 1 : dirs->item[i], why);
        free(dirs->item[i]);
    }
    dirs->count = kept;
}

static enum tr_status
run_graph(struct paths *dirs, struct run *r)
{
    char why[512];
    enum tr_status status = TR_OK;
    bt_graph *graph = create_graph(dirs, r);
    if (!graph) {
        take_error(why, sizeof why);
        unsigned before = dirs->count;
        leave_out(dirs);
        if (!dirs->count)
            return TR_DAMAGED;
        status = dirs->count < before ? TR_DAMAGED : TR_OK;
        graph = create_graph(dirs, r);
    }
    if (!graph) {
        take_error(why, sizeof why);
        say("the trace cannot be read: %s", why);
        return TR_FAILED;
    }
    bt_graph_run_once_status run;
    do {
        run = bt_graph_run_once(graph);
        const bt_error *hidden = run == BT_GRAPH_RUN_ONCE_STATUS_OK ? bt_current_thread_take_error() : NULL;
        if (hidden) {           /* babeltrace 2.0's plugins lose the status of some; with an error left, its next call aborts */
            bt_current_thread_move_error(hidden);
            run = BT_GRAPH_RUN_ONCE_STATUS_ERROR;
        }
    } while (run == BT_GRAPH_RUN_ONCE_STATUS_OK || run == BT_GRAPH_RUN_ONCE_STATUS_AGAIN);
    if (run != BT_GRAPH_RUN_ONCE_STATUS_END) {
        take_error(why, sizeof why);
        say("the trace is damaged; nothing can be read beyond event %llu: %s", (unsigned long long)r->events, why);
        status = TR_DAMAGED;
    }
    bt_graph_put_ref(graph);
    if (r->impossible) {
        say("the trace is damaged: the times of %llu events are impossible; they are left out", (unsigned long long)r->impossible);
        status = TR_DAMAGED;
    }
    return status;
}

/* What holds babeltrace while it reads contents that may be damaged. */
struct contained {
    struct rlimit data;
    FILE *messages;         /* where ours go meanwhile; NULL: no other place */
};
static int messages_fd = STDERR_FILENO;
static bool reads;          /* the plugins are loaded */

/* babeltrace aborts, or worse, on contents that it takes for impossible, and where memory or descriptors are short. What was read is shown. */
static void
gave_up(int sig)
{
    static const char cannot_read[] = "cudaway-trace: the trace is damaged: babeltrace cannot read on\n",
                      cannot_start[] = "cudaway-trace: babeltrace cannot be started: memory or file descriptors are short (ulimit -v, ulimit -n)\n";
    struct rlimit data;
    (void)sig;
    if (!getrlimit(RLIMIT_DATA, &data))         /* ending needs memory, too */
        (void)setrlimit(RLIMIT_DATA, &(struct rlimit){ data.rlim_max, data.rlim_max });
    fflush(stdout);
    const ssize_t n = reads ? write(messages_fd, cannot_read, sizeof cannot_read - 1) : write(messages_fd, cannot_start, sizeof cannot_start - 1);
    _exit(n < 0 || !reads ? EXIT_USAGE : EXIT_DAMAGED);
}

/* babeltrace allocates what the contents say, were it a sequence of 2^32 elements. So memory has a limit, which no trace of `bytes` needs; a process that
 * reaches it is ended by GLib. */
static void
limit_memory(uint64_t bytes, struct rlimit *was)
{
    unsigned long data = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    bool known = f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &data) == 1;
    uint64_t all = (uint64_t)data * (uint64_t)sysconf(_SC_PAGESIZE) + SPARE_MEMORY + MEMORY_PER_BYTE * bytes;
    if (f)
        fclose(f);
    if (getrlimit(RLIMIT_DATA, was) || !known || (was->rlim_cur != RLIM_INFINITY && was->rlim_cur <= all))
        return;
    setrlimit(RLIMIT_DATA, &(struct rlimit){ all, was->rlim_max });
}

/* Before they end the process, babeltrace, GLib and libc say why, each in lines of its own beside ours: those go to /dev/null. Sanitizers report there, too. */
static FILE *
keep_for_ours(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return NULL;
#else
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FILE *ours = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!ours || null < 0 || dup2(null, STDERR_FILENO) < 0) {
        if (ours)
            fclose(ours);
        else if (fd >= 0)
            close(fd);
        ours = NULL;
    }
    if (null >= 0)
        close(null);
    if (ours)
        setvbuf(ours, NULL, _IONBF, 0);
    return ours;
#endif
}

static void
on_signals_of_abort(void (*handler)(int))
{
    static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP };
    static char stack[1 << 16];     /* GLib, when it has no memory for its message either, calls itself until the thread's is used up */
    struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESETHAND | SA_ONSTACK };       /* a second one ends it as ever */
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    sigemptyset(&a.sa_mask);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &a, NULL);
}

static void
contain_babeltrace(struct contained *c, uint64_t bytes)
{
    c->messages = keep_for_ours();
    say_to(c->messages);
    if (c->messages)
        messages_fd = fileno(c->messages);
    on_signals_of_abort(gave_up);
    limit_memory(bytes, &c->data);
}

static void
release_babeltrace(struct contained *c)
{
    setrlimit(RLIMIT_DATA, &c->data);
    on_signals_of_abort(SIG_DFL);
    if (!c->messages)
        return;
    say_to(NULL);
    dup2(messages_fd, STDERR_FILENO);
    messages_fd = STDERR_FILENO;
    fclose(c->messages);
}

enum tr_status
tr_read(const char *dir, const struct tr_sink *sink)
{
    struct paths dirs = { 0 };
    struct run r = { .sink = sink, .progress = { .what = "packets of events", .off = sink->quiet } };
    struct contained contained;
    unsigned damaged = 0;
    enum tr_status status = TR_FAILED;
    cw_arena_init(&r.arena);
    cw_progress_step(&r.progress, 0, CW_NO_COUNT);
    char *repaired = tr_repair(dir, &damaged);
    if (!manifest_streams_are_there(dir))
        damaged++;
    found = &dirs;
    if (nftw(repaired ? repaired : dir, visit, 16, FTW_PHYS)) {
        say("cannot read %s: %s", dir, strerror(errno));
        goto finish;
    }
    if (!dirs.count) {
        status = damaged ? TR_DAMAGED : TR_EMPTY;
        goto finish;
    }
    r.overlap = dirs_overlap(&dirs);
    r.progress.all = dirs.packets;
    contain_babeltrace(&contained, dirs.bytes);
    r.progress.to = contained.messages;
    reads = load_plugins();
    if (reads)
        status = run_graph(&dirs, &r);
    cw_progress_clear(&r.progress);
    r.progress.to = NULL;
    release_babeltrace(&contained);
    if (status == TR_OK && damaged)
        status = TR_DAMAGED;
    if (r.nomem) {
        say("out of memory");
        status = TR_FAILED;
    }
finish:
    cw_progress_clear(&r.progress);
    free_paths(&dirs);
    free(r.fields);
    cw_arena_finish(&r.arena);
    cw_temp_remove(repaired);
    free(repaired);
    return status;
}
