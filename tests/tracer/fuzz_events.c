/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input is the events of a recording, in place of what babeltrace would read (reader.c), and a command that reads them. A damaged or
 * hostile trace can have any: calls that end twice or never began, times that run backwards, numbers of all sizes, fields that are missing or of another
 * kind. What comes out is as the command promises: JSON is JSON, Perfetto's packets end where the file ends, a page has the scripts that it always has, and
 * text is safe for a terminal. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/process.h"
#include "tracer/cli/reader.h"
#include "impl/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 15, MAX_TEXT = 40, MAX_ITEMS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cw_program trace_program = { .name = "cudaway-trace", .usage_status = EXIT_USAGE };

/* ---- events from bytes ---- */

static const char *const calls[] = {
    "cuInit", "cuMemAlloc_v2", "cuMemAllocPitch_v2", "cuMemFree_v2", "cuMemAllocHost_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
    "cuMemcpyDtoDAsync_v2", "cuMemcpy2D_v2", "cuLaunchKernel", "cuGraphLaunch", "cuGetProcAddress_v2", "cuModuleLoadData", "cuStreamSynchronize", "cudaMalloc",
    "cudaLaunchKernel", "cudaGetLastError", "__cudaPushCallConfiguration",
};
static const char *const others[] = { "kernel", "submit", "executed", "module", "process", "something_else" };
static const char *const names[] = {
    "result", "name", "number", "op", "way", "device", "cached", "occupancy", "start", "end", "queue", "bytes", "grid", "block", "params", "shared", "stream",
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "hStream", "pp", "p", "dptr", "bytesize", "pPitch", "Height", "ByteCount", "pCopy__Height",
    "pCopy__Depth", "pCopy__WidthInBytes", "pCopy__srcMemoryType", "pCopy__dstMemoryType", "symbol", "pfn", "kind", "file", "size", "sha256", "handle", "rank",
};
static const char *const texts[] = { "saxpy", "[graph]", "ptx", "modules/1.ptx", "CUDA_SUCCESS", "CUDA_ERROR_NOT_READY", "", "</script><!--", "\"\\" };
#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct {
    const uint8_t *at, *end;
} in;

static uint8_t
byte(void)
{
    return in.at < in.end ? *in.at++ : 0;
}

static uint64_t
raw(unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)byte() << (8 * i);
    return v;
}

/* Mostly small: what counts is often whether two are the same. */
static uint64_t
number(void)
{
    uint8_t b = byte();
    return b < 0xf8 ? b : b < 0xfc ? raw(4) : raw(8);
}

/* As the reader hands texts on. The caller's buffer has MAX_TEXT + 16 bytes. */
static const char *
text(char *buffer)
{
    uint8_t b = byte();
    if (b < COUNT(texts))
        return texts[b];
    size_t n = b % MAX_TEXT;
    for (size_t i = 0; i < n; i++)
        buffer[i] = (char)byte();
    buffer[n] = 0;
    cw_text_make_safe(buffer, "\t");
    return buffer;
}

struct event {
    char name[MAX_TEXT + 16], procname[MAX_TEXT + 16];
    char field_names[MAX_FIELDS][MAX_TEXT + 16], field_texts[MAX_FIELDS][MAX_TEXT + 16];
    uint64_t items[MAX_FIELDS][MAX_ITEMS];
    struct tr_field fields[MAX_FIELDS];
};

static void
put_name(struct event *e)
{
    uint8_t b = byte(), which = b & 0x3f;
    if (which < COUNT(others)) {
        strcpy(e->name, others[which]);
        return;
    }
    char other[MAX_TEXT + 16];
    const char *call = which - COUNT(others) < COUNT(calls) ? calls[which - COUNT(others)] : text(other);
    snprintf(e->name, sizeof e->name, "%s%s", call, b & 0x80 ? "_exit" : "_entry");
}

static void
put_field(struct event *e, unsigned i)
{
    uint8_t name = byte(), kind = byte();
    struct tr_field *f = &e->fields[i];
    *f = (struct tr_field){ .name = name < COUNT(names) ? names[name] : text(e->field_names[i]), .kind = (enum tr_kind)(kind % (TR_ARRAY + 1)), .hex = kind & 0x80 };
    switch (f->kind) {
    case TR_UINT:
    case TR_INT:
        f->u = number();
        if (kind & 0x40)
            f->text = text(e->field_texts[i]);
        break;
    case TR_REAL: {
        uint64_t bits = raw(8);
        memcpy(&f->d, &bits, sizeof bits);
        break;
    }
    case TR_STRING:
        f->text = text(e->field_texts[i]);
        break;
    case TR_ARRAY:
        f->items = e->items[i];
        for (f->count = byte() % MAX_ITEMS, name = 0; name < f->count; name++)
            f->items[name] = number();
        break;
    }
}

enum tr_status
tr_read(const char *dir, const struct tr_sink *sink)
{
    static struct event e;
    const uint8_t *begin = in.at;
    int64_t now = 0;
    (void)dir;
    while (in.at < in.end) {
        put_name(&e);
        uint8_t flags = byte();
        now = (int64_t)((flags & 1 ? raw(8) : (uint64_t)now + number()) & INT64_MAX);
        struct tr_event v = { .name = e.name, .time = now, .clock = flags & 2 ? (int64_t)raw(8) : 1000000, .procname = flags & 4 ? text(e.procname) : "app",
                              .pid = tr_process_number(flags & 8 ? "here" : "there", (uint32_t)number()), .tid = (uint32_t)number(), .fields = e.fields };
        for (v.count = byte() % (MAX_FIELDS + 1), flags = 0; flags < v.count; flags++)
            put_field(&e, flags);
        if (!sink->event(sink->ctx, &v))
            break;
    }
    in.at = begin;          /* a page reads twice */
    return TR_OK;
}

/* ---- what comes out ---- */

static void
expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void
json(const char *out, size_t size)
{
    cJSON *v = cJSON_ParseWithLength(out, size);
    if (!v)
        fprintf(stderr, "%.*s\n", (int)size, out);
    expect(v, "what should be JSON is not");
    cJSON_Delete(v);
}

static void
json_lines(const char *out, size_t size)
{
    for (const char *at = out, *end = out + size, *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        expect(next, "the last line does not end");
        json(at, (size_t)(next - at));
    }
}

static void
safe(const char *out, size_t size)
{
    expect(strlen(out) == size && cw_text_is_safe(out, "\t\n"), "the text is not safe for a terminal");
}

/* A sequence of `packet`, field 1 of Trace: 0x0a, the length as a varint, and so many bytes. */
static void
perfetto(const char *out, size_t size)
{
    const uint8_t *at = (const uint8_t *)out, *end = at + size;
    while (at < end) {
        uint64_t length = 0;
        unsigned shift = 0;
        expect(*at++ == 0x0a, "something else than a packet");
        do
            expect(at < end && shift < 63, "a length that does not end");
        while (length |= (uint64_t)(*at & 0x7f) << shift, shift += 7, *at++ & 0x80);
        expect(length <= (uint64_t)(end - at), "a packet that does not end");
        at += length;
    }
}

static void
page(const char *out, size_t size)
{
    static unsigned usual;
    unsigned scripts = 0;
    for (const char *at = out; (at = strcasestr(at, "</script")); at++)
        scripts++;
    usual = usual ? usual : scripts;        /* the first input is the empty one */
    if (scripts != usual)
        fwrite(out, 1, size, stderr);
    expect(strlen(out) == size && scripts == usual, "a page with other scripts");
}

static const struct command {
    const struct cw_program *program;
    const char *options[2];
    void (*check)(const char *out, size_t size);
} commands[] = {
    { &show_command, { NULL }, safe },
    { &show_command, { "--relative", "--failed" }, safe },
    { &show_command, { "--json" }, json_lines },
    { &report_command, { NULL }, safe },
    { &report_command, { "--json" }, json },
    { &report_command, { "--html" }, page },
    { &export_command, { "--format=chrome" }, json },
    { &export_command, { "--format=perfetto" }, perfetto },
};

static void
run(const struct command *c)
{
    char *argv[5] = { (char *)c->program->name }, *out = NULL;
    int argc = 1;
    size_t size = 0;
    for (unsigned i = 0; i < COUNT(c->options) && c->options[i]; i++)
        argv[argc++] = (char *)c->options[i];
    argv[argc++] = RECORDING;
    FILE *was = stdout;
    stdout = open_memstream(&out, &size);
    if (!stdout)
        abort();
    int status = c->program->run(argc, argv);
    fclose(stdout);
    stdout = was;
    expect(status == 0, "the command failed");
    c->check(out, size);
    free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    if (!begun) {
        FILE *nowhere = fopen("/dev/null", "w");
        if (!nowhere)
            abort();
        say_to(nowhere);
        begun = true;
        for (unsigned i = 0; i < COUNT(commands); i++)
            run(&commands[i]);
    }
    if (!size)
        return 0;
    in.at = data + 1;
    in.end = data + size;
    run(&commands[data[0] % COUNT(commands)]);
    in.at = in.end = NULL;
    return 0;
}
