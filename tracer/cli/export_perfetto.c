/* SPDX-License-Identifier: Apache-2.0
 * Perfetto's native format: a file is a message Trace, a sequence of TracePackets (protos/perfetto/trace/trace.proto of Perfetto). Field
 * numbers are those of its documentation; the wire format is protobuf's: a tag (field number and wire type), then a varint, eight bytes,
 * or a length and that many bytes. */
#include "tracer/cli/export.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_DESCRIPTOR = 60 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5, COUNTER_UNIT = 3 };
enum { UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME = 23, EVENT_COUNTER = 30, EVENT_FLOW = 47 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum { NOTE_UINT = 3, NOTE_INT = 4, NOTE_DOUBLE = 5, NOTE_STRING = 6, NOTE_POINTER = 7, NOTE_NAME = 10 };
enum { SEQUENCE = 1 };            /* all packets are of one writer */

static void
varint(struct cw_buf *b, uint64_t v)
{
    do {
        char byte = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        cw_buf_append(b, &byte, 1);
        v >>= 7;
    } while (v);
}

static void
number(struct cw_buf *b, unsigned field, uint64_t v)
{
    varint(b, (uint64_t)field << 3 | VARINT);
    varint(b, v);
}

static void
fixed64(struct cw_buf *b, unsigned field, uint64_t v)
{
    char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(v >> 8 * i);
    varint(b, (uint64_t)field << 3 | FIXED64);
    cw_buf_append(b, bytes, sizeof bytes);
}

static void
bytes(struct cw_buf *b, unsigned field, const void *data, size_t size)
{
    varint(b, (uint64_t)field << 3 | BYTES);
    varint(b, size);
    cw_buf_append(b, data, size);
}

static void
text(struct cw_buf *b, unsigned field, const char *s)
{
    bytes(b, field, s, strlen(s));
}

/* A message inside another one; frees it. */
static void
message(struct cw_buf *b, unsigned field, struct cw_buf *inner)
{
    b->failed |= inner->failed;
    bytes(b, field, inner->data, inner->size);
    cw_buf_finish(inner);
}

static void
packet(struct ex_writer *w, bool timed, int64_t time, unsigned field, struct cw_buf *inner)
{
    struct cw_buf p;
    cw_buf_init(&p);
    if (timed)
        number(&p, PACKET_TIMESTAMP, (uint64_t)time);
    number(&p, PACKET_SEQUENCE, SEQUENCE);
    message(&p, field, inner);
    message(&w->b, TRACE_PACKET, &p);
}

static void
nothing(struct ex_writer *w)
{
}

static void
track(struct ex_writer *w, const struct ex_track *t)
{
    struct cw_buf d, inner;
    cw_buf_init(&d);
    cw_buf_init(&inner);
    number(&d, TRACK_UUID, t->id);
    if (t->parent)
        number(&d, TRACK_PARENT, t->parent);
    if (t->kind != EX_PROCESS && t->kind != EX_THREAD)
        text(&d, TRACK_NAME, t->name);
    if (t->kind == EX_PROCESS) {
        number(&inner, PROCESS_PID, t->pid);
        text(&inner, PROCESS_NAME, t->name);
        message(&d, TRACK_PROCESS, &inner);
    } else if (t->kind == EX_THREAD) {
        number(&inner, THREAD_PID, t->pid);
        number(&inner, THREAD_TID, t->tid);
        text(&inner, THREAD_NAME, t->name);
        message(&d, TRACK_THREAD, &inner);
    } else if (t->kind == EX_COUNTER) {
        number(&inner, COUNTER_UNIT, t->bytes ? UNIT_SIZE_BYTES : UNIT_COUNT);
        message(&d, TRACK_COUNTER, &inner);
    }
    packet(w, false, 0, PACKET_DESCRIPTOR, &d);
}

static void
annotation(struct cw_buf *event, const struct tr_field *f)
{
    struct cw_buf note, value;
    cw_buf_init(&note);
    text(&note, NOTE_NAME, f->name);
    if (f->kind == TR_REAL) {
        uint64_t bits;
        memcpy(&bits, &f->d, sizeof bits);
        fixed64(&note, NOTE_DOUBLE, bits);
    } else if ((f->kind == TR_UINT || f->kind == TR_INT) && !f->text) {
        number(&note, f->hex ? NOTE_POINTER : f->kind == TR_INT ? NOTE_INT : NOTE_UINT, f->u);
    } else if (f->text) {
        text(&note, NOTE_STRING, f->text);
    } else {
        cw_buf_init(&value);
        tr_text(&value, f);
        message(&note, NOTE_STRING, &value);
    }
    message(event, EVENT_ANNOTATION, &note);
}

static void
slice(struct ex_writer *w, const struct ex_slice *s)
{
    struct cw_buf e;
    cw_buf_init(&e);
    number(&e, EVENT_TYPE, TYPE_BEGIN);
    number(&e, EVENT_TRACK, s->track->id);
    text(&e, EVENT_CATEGORY, s->category);
    text(&e, EVENT_NAME, s->name);
    for (unsigned i = 0; i < s->count; i++)
        annotation(&e, &s->args[i]);
    if (s->flow)
        fixed64(&e, EVENT_FLOW, s->flow);
    packet(w, true, s->start, PACKET_EVENT, &e);
    cw_buf_init(&e);
    number(&e, EVENT_TYPE, TYPE_END);
    number(&e, EVENT_TRACK, s->track->id);
    packet(w, true, s->end, PACKET_EVENT, &e);
}

static void
counter(struct ex_writer *w, const struct ex_track *t, int64_t time, uint64_t value)
{
    struct cw_buf e;
    cw_buf_init(&e);
    number(&e, EVENT_TYPE, TYPE_COUNTER);
    number(&e, EVENT_TRACK, t->id);
    number(&e, EVENT_COUNTER, value);
    packet(w, true, time, PACKET_EVENT, &e);
}

const struct ex_format ex_perfetto = { .name = "perfetto", .begin = nothing, .track = track, .slice = slice, .counter = counter, .end = nothing };
