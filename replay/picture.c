/* SPDX-License-Identifier: Apache-2.0
 * See picture.h. Of each picture:
 *   where, type, elements, differ
 *   columns, rows, shape    how elements are laid out, and how that is known: "threads" (an element's row and column follow from the thread that stores
 *                           it), "array", "texture" (linear memory with a pitch), "fold" (nothing is known: a square)
 *   heat                    {columns, rows, wide, high, cells}: a cell is the largest distance in wide x high elements, in ULP (integers: absolute); 0 the
 *                           same, -1 where an infinity or a NaN is one of the two
 *   histogram, special      counts of distances 1, 2, 3..4, 5..8, ...; of elements with an infinity or a NaN
 *   worst                   [{index, byte, reference, subject, distance, thread, place}] */
#define _GNU_SOURCE
#include "replay/picture.h"

#include "impl/base/temp.h"
#include "replay/side.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 128, MAX_ROWS = 96, WORST = 12, BUCKETS = 65, SMALL_LOG = 2 << 20, LARGE_LOG = 64 << 20 };

struct element {
    uint64_t index, a, b;
    double   distance;                  /* infinity: not finite */
};

/* A store into the buffer. */
struct store {
    uint64_t index, block;
    uint32_t thread, id;
};

struct stores {
    struct cwl_side side;
    struct store *at;
    uint64_t count;
    bool all, open;                     /* there were not more of them; the side is open */
    char folder[PATH_MAX];
};

/* ---- who wrote ---------------------------------------------------------------------------------------------------------------- */

static bool
watch(struct stores *s, uint32_t buffer, unsigned width, uint64_t bytes, struct cwd_error *e)
{
    const struct cwd_buffer *b = &s->side.dump.buffers[buffer];
    const uint64_t control[16] = { [CWI_BLOCK] = UINT64_MAX, [CWI_COUNT] = 1, [CWI_ADDRESS] = b->address, [CWI_RAW] = UINT64_MAX, [CWI_SIZE] = b->size };
    uint64_t made, room = (bytes - CWI_HEADER) / 32;
    s->count = 0;
    if (cwl_run_rewritten(&s->side, CWI_WATCH, control, bytes, e) != CW_OK)
        return false;
    memcpy(&made, s->side.log + 8 * CWI_CURSOR, sizeof made);
    uint64_t n = made < room ? made : room;
    free(s->at);
    s->at = calloc(n + 1, sizeof *s->at);
    for (uint64_t i = 0; s->at && i < n; i++) {
        uint64_t w[4];
        memcpy(w, s->side.log + CWI_HEADER + i * 32, sizeof w);
        uint64_t offset = ~w[2] - s->side.address[buffer];         /* the run's own: it may have moved the buffer */
        if (CWI_KIND(w[0]) != CWI_LOAD && CWI_ID(w[0]) < s->side.program.ninsts && offset < b->size)
            s->at[s->count++] = (struct store){ offset / width, w[1], CWI_THREAD(w[0]), CWI_ID(w[0]) };
    }
    s->all = made <= room;
    return s->at;
}

static bool
find_stores(struct cwd_picture *p, const struct cwd_difference *x, struct stores *s)
{
    struct cwd_error e = { "" };
    s->side = (struct cwl_side){ .on = p->on, .folder = s->folder };
    snprintf(s->side.label, sizeof s->side.label, "%s", p->on ? p->on : "the default device");
    s->open = true;
    bool ok = cwl_folder(s->folder, sizeof s->folder, &e) && cwl_open(&s->side, p->file, &e) == CW_OK && cwl_parse(&s->side, p->compute_capability, &e) == CW_OK &&
              watch(s, (uint32_t)x->buffer, x->width, SMALL_LOG, &e) && (s->all || watch(s, (uint32_t)x->buffer, x->width, LARGE_LOG, &e));
    if (!ok && !p->note.size)
        cw_buf_printf(&p->note, "%s", *e.text ? e.text : "out of memory");
    return ok;
}

static void
close_stores(struct stores *s)
{
    if (s->open)
        cwl_close(&s->side);
    cw_temp_remove(s->folder);
    free(s->at);
}

/* Coordinates in the grid of threads. */
static void
place_of(const struct cwd_dump *d, const struct store *s, uint64_t xy[2])
{
    xy[0] = s->block % d->grid[0] * d->block[0] + s->thread % d->block[0];
    xy[1] = s->block / d->grid[0] % d->grid[1] * d->block[1] + s->thread / d->block[0] % d->block[1];
}

/* Elements of a row, if each element is at column x and row y of the thread that stores it; 0: it is not so. */
static uint64_t
row_of_threads(const struct cwd_dump *d, const struct stores *s)
{
    uint64_t first[2], xy[2], row = 0;
    if (!s->count)
        return 0;
    place_of(d, &s->at[0], first);
    for (uint64_t i = 1; i < s->count && !row; i++) {
        place_of(d, &s->at[i], xy);
        int64_t dy = (int64_t)(xy[1] - first[1]), di = (int64_t)(s->at[i].index - s->at[0].index) - (int64_t)(xy[0] - first[0]);
        if (dy && (di % dy || di / dy <= 0))
            return 0;
        row = dy ? (uint64_t)(di / dy) : 0;
    }
    for (uint64_t i = 1; i < s->count && row; i++) {
        place_of(d, &s->at[i], xy);
        if (s->at[i].index - s->at[0].index != (xy[0] - first[0]) + (xy[1] - first[1]) * row)
            return 0;
    }
    return row;
}

/* ---- the layout ---------------------------------------------------------------------------------------------------------------- */

struct layout {
    uint64_t columns, rows;
    const char *known;
};

static uint64_t
row_of_texture(const struct cwd_dump *d, const struct cwd_buffer *b, unsigned width)
{
    for (uint32_t i = 0; i < d->ntextures; i++) {
        const struct cwd_texture *t = &d->textures[i];
        if (t->array < 0 && t->pitch && t->address == b->address && t->pitch % width == 0)
            return t->pitch / width;
    }
    return 0;
}

static struct layout
layout_of(const struct cwd_dump *d, const struct cwd_difference *x, const struct stores *s)
{
    struct layout l = { 0, 0, "threads" };
    if (x->array >= 0) {
        const struct cwd_array *a = &d->arrays[x->array];
        l = (struct layout){ a->width * (a->channels ? a->channels : 1), 0, "array" };
    } else {
        l.columns = row_of_threads(d, s);
        if (!l.columns) {
            l.columns = row_of_texture(d, &d->buffers[x->buffer], x->width);
            l.known = "texture";
        }
    }
    if (!l.columns || l.columns > x->elements) {
        l.known = "fold";
        for (l.columns = 1; l.columns * l.columns < x->elements; l.columns *= 2)
            ;
    }
    l.rows = (x->elements + l.columns - 1) / l.columns;
    return l;
}

/* ---- elements ------------------------------------------------------------------------------------------------------------------ */

static double
distance_of(uint64_t a, uint64_t b, unsigned type)
{
    double u = cwd_value_number(a, type), v = cwd_value_number(b, type);
    uint64_t ulps;
    if (!isfinite(u) || !isfinite(v))
        return INFINITY;
    if (cwd_value_ulps(a, b, type, &ulps))
        return ulps ? (double)ulps : 1;         /* +0 and -0 */
    double apart = fabs(u - v);
    return apart >= 1 ? apart : 1;
}

struct drawing {
    struct layout layout;
    uint64_t wide, high, columns, rows, histogram[BUCKETS], special;
    double *cells;
    struct element worst[WORST];
    unsigned nworst;
};

static void
keep_worst(struct drawing *w, const struct element *x)
{
    unsigned at = w->nworst;
    while (at && w->worst[at - 1].distance < x->distance)
        at--;
    if (at == WORST)
        return;
    unsigned last = w->nworst < WORST ? w->nworst++ : WORST - 1;
    memmove(&w->worst[at + 1], &w->worst[at], (last - at) * sizeof *w->worst);
    w->worst[at] = *x;
}

static void
draw_element(struct drawing *w, const struct element *x)
{
    double *cell = &w->cells[x->index / w->layout.columns / w->high * w->columns + x->index % w->layout.columns / w->wide];
    *cell = *cell < 0 || isinf(x->distance) ? -1 : fmax(*cell, x->distance);
    if (isinf(x->distance))
        w->special++;
    else
        w->histogram[x->distance > 1 ? (unsigned)ceil(log2(x->distance)) : 0]++;
    keep_worst(w, x);
}

static bool
draw(struct drawing *w, const struct cwd_difference *x, const uint8_t *a, const uint8_t *b)
{
    w->wide = (w->layout.columns + MAX_COLUMNS - 1) / MAX_COLUMNS;
    w->high = (w->layout.rows + MAX_ROWS - 1) / MAX_ROWS;
    w->columns = (w->layout.columns + w->wide - 1) / w->wide;
    w->rows = (w->layout.rows + w->high - 1) / w->high;
    w->cells = calloc(w->columns * w->rows, sizeof *w->cells);
    for (uint64_t i = 0; w->cells && i < x->elements; i++) {
        struct element e = { .index = i };
        memcpy(&e.a, a + i * x->width, x->width);
        memcpy(&e.b, b + i * x->width, x->width);
        if (e.a == e.b)
            continue;
        e.distance = distance_of(e.a, e.b, x->kind);
        draw_element(w, &e);
    }
    return w->cells;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------------- */

static void
put_heat(struct cw_buf *out, const struct drawing *w)
{
    cw_buf_printf(out, ",\"columns\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"shape\":\"%s\",\"heat\":{\"columns\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"wide\":%" PRIu64 ",\"high\":%" PRIu64 ",\"cells\":[",
                  w->layout.columns, w->layout.rows, w->layout.known, w->columns, w->rows, w->wide, w->high);
    for (uint64_t i = 0; i < w->columns * w->rows; i++)
        cw_buf_printf(out, i ? ",%.9g" : "%.9g", w->cells[i]);
    cw_buf_puts(out, "]},\"histogram\":[");
    unsigned last = BUCKETS;
    while (last && !w->histogram[last - 1])
        last--;
    for (unsigned i = 0; i < last; i++)
        cw_buf_printf(out, i ? ",%" PRIu64 : "%" PRIu64, w->histogram[i]);
    cw_buf_printf(out, "],\"special\":%" PRIu64, w->special);
}

static void
put_writer(struct cw_buf *out, const struct cwd_dump *d, const struct stores *s, uint64_t index)
{
    const struct store *by = NULL;
    for (uint64_t i = 0; s->all && i < s->count; i++)
        if (s->at[i].index == index)
            by = &s->at[i];
    if (!by) {
        cw_buf_puts(out, ",\"thread\":null,\"place\":null");
        return;
    }
    char place[700];
    uint32_t t = by->thread;
    uint64_t b = by->block;
    cwi_place_text(&s->side.program, by->id, "", place, sizeof place);
    cw_buf_printf(out, ",\"thread\":\"(%u,%u,%u) of block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")\",\"place\":", t % d->block[0], t / d->block[0] % d->block[1], t / d->block[0] / d->block[1],
                  b % d->grid[0], b / d->grid[0] % d->grid[1], b / d->grid[0] / d->grid[1]);
    cw_buf_json_string(out, place);
}

static void
put_worst(struct cw_buf *out, const struct cwd_dump *d, const struct cwd_difference *x, const struct drawing *w, const struct stores *s)
{
    char text[48];
    cw_buf_puts(out, ",\"worst\":[");
    for (unsigned i = 0; i < w->nworst; i++) {
        const struct element *e = &w->worst[i];
        cw_buf_printf(out, "%s{\"index\":%" PRIu64 ",\"byte\":%" PRIu64 ",\"reference\":", i ? "," : "", e->index, e->index * x->width);
        cwd_value_print(e->a, x->kind, text, sizeof text);
        cw_buf_json_string(out, text);
        cw_buf_puts(out, ",\"subject\":");
        cwd_value_print(e->b, x->kind, text, sizeof text);
        cw_buf_json_string(out, text);
        cw_buf_printf(out, isinf(e->distance) ? ",\"distance\":null" : ",\"distance\":%.17g", e->distance);
        put_writer(out, d, s, e->index);
        cw_buf_puts(out, "}");
    }
    cw_buf_puts(out, "]");
}

void
cwd_picture_add(struct cwd_picture *p, const struct cwd_difference *x)
{
    struct stores s = { .count = 0 };
    struct drawing w = { .nworst = 0 };
    const struct cwd_dump *d = p->dump;
    bool array = x->array >= 0;
    const uint8_t *a = array ? d->arrays[x->array].after : d->buffers[x->buffer].after, *b = array ? p->outcome->arrays[x->array] : p->outcome->buffers[x->buffer];
    if (!array && !find_stores(p, x, &s))
        s.count = 0;
    w.layout = layout_of(d, x, &s);
    if (draw(&w, x, a, b)) {
        cw_buf_puts(&p->out, p->out.size ? ",{\"where\":" : "{\"where\":");
        cw_buf_json_string(&p->out, x->where);
        cw_buf_printf(&p->out, ",\"type\":\"%s\",\"unit\":\"%s\",\"elements\":%" PRIu64 ",\"differ\":%" PRIu64 ",\"allowed\":%" PRIu64, x->type, x->floats ? "ULP" : "apart", x->elements, x->count,
                      x->tolerated + x->bounded);
        put_heat(&p->out, &w);
        put_worst(&p->out, d, x, &w, &s);
        cw_buf_puts(&p->out, "}");
    } else {
        p->out.failed = true;
    }
    free(w.cells);
    close_stores(&s);
}

void
cwd_picture_print(struct cwd_picture *p)
{
    const struct cwd_dump *d = p->dump;
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_printf(&b, "{\"picture\":{\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"note\":", d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2]);
    cw_buf_json_string(&b, p->note.size ? p->note.data : "");
    cw_buf_puts(&b, ",\"buffers\":[");
    cw_buf_append(&b, p->out.data, p->out.size);
    cw_buf_puts(&b, "]}}");
    if (!b.failed && !p->out.failed)
        puts(b.data);
    cw_buf_finish(&b);
    cw_buf_finish(&p->out);
    cw_buf_finish(&p->note);
}
