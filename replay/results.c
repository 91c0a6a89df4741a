/* SPDX-License-Identifier: Apache-2.0
 * See results.h. */
#include "replay/results.h"

#include "impl/base/text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *
cwd_severity_name(enum cwd_severity s)
{
    static const char *const names[] = {
#define X(e, t) t,
        CWD_SEVERITY_MAP(X)
#undef X
    };
    return (unsigned)s < CWD_SEVERITIES ? names[s] : "?";
}

/* ---- filling ----------------------------------------------------------------------------------------------------------------- */

static uint64_t
get(const cJSON *o, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    if (!cJSON_IsNumber(v) || !(v->valuedouble > 0))
        return 0;
    return v->valuedouble < 18446744073709551616.0 ? (uint64_t)v->valuedouble : UINT64_MAX;
}

static void
join(struct cwd_sum *to, const struct cwd_sum *s)
{
    to->differ += s->differ;
    to->elements += s->elements;
    to->tolerated += s->tolerated;
    to->bounded += s->bounded;
    to->unbounded += s->unbounded;
    to->absolute = fmax(to->absolute, s->absolute);
    to->relative = fmax(to->relative, s->relative);
    to->ulp = s->ulp > to->ulp ? s->ulp : to->ulp;
    to->floats |= s->floats;
}

/* The distances are those of what differs; where all is within what is allowed, of that. */
static void
take_buffer(struct cwd_launch *l, const cJSON *o)
{
    struct cwd_sum s = { get(o, "differ"), get(o, "elements"), get(o, "tolerated"), get(o, "bounded"), get(o, "unbounded"), 0, 0, 0, false };
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(o, "type"), *d = cJSON_GetObjectItemCaseSensitive(o, s.differ ? "largest" : "allowed");
    const cJSON *absolute = cJSON_GetObjectItemCaseSensitive(d, "absolute"), *relative = cJSON_GetObjectItemCaseSensitive(d, "relative");
    if (s.differ && !l->sum.differ)
        l->sum.absolute = l->sum.relative = 0, l->sum.ulp = 0;
    if (s.differ || !l->sum.differ) {
        s.absolute = cJSON_IsNumber(absolute) ? absolute->valuedouble : INFINITY;
        s.relative = cJSON_IsNumber(relative) ? relative->valuedouble : 0;
        s.ulp = get(d, "ulp");
    }
    s.floats = cJSON_IsString(type) && strchr("fb", type->valuestring[0]) && strcmp(type->valuestring, "b8");
    join(&l->sum, &s);
}

/* For a terminal, too: JSON's escapes may hold control characters. */
static char *
text_of(const cJSON *o)
{
    char *text = cJSON_IsString(o) ? strdup(o->valuestring) : NULL;
    if (text)
        cw_text_make_safe(text, "");
    return text;
}

/* Anew, since the parser accepts more than JSON; what was escaped is as safe as a name. */
static char *
json_of(const cJSON *o)
{
    char *text = cJSON_PrintUnformatted(o);
    if (text)
        cw_text_make_safe(text, "");
    return text;
}

/* The line becomes part of other JSON: not as it is, with what stands behind the object. */
static void
take_line(struct cwd_launch *l, const char *line, size_t n, struct cw_buf *buffers)
{
    cJSON *o = cJSON_ParseWithLength(line, n);
    const cJSON *v;
    if (cJSON_GetObjectItemCaseSensitive(o, "where")) {
        char *text = json_of(o);
        take_buffer(l, o);
        cw_buf_puts(buffers, buffers->size ? "," : "");
        cw_buf_puts(buffers, text ? text : "{}");
        cJSON_free(text);
    }
    if ((v = cJSON_GetObjectItemCaseSensitive(o, "kernel")) && !l->kernel)
        l->kernel = text_of(v);
    if ((v = cJSON_GetObjectItemCaseSensitive(o, "launch")) && !l->number)
        l->number = (unsigned)get(o, "launch");
    if ((v = cJSON_GetObjectItemCaseSensitive(o, "may_be")) && !l->may_be)
        l->may_be = text_of(v);
    if (cJSON_GetObjectItemCaseSensitive(o, "picture") && !l->picture)
        l->picture = json_of(o);
    cJSON_Delete(o);
}

static void
finish_launch(struct cwd_launch *l)
{
    free(l->kernel);
    free(l->dump);
    free(l->says);
    free(l->cause);
    free(l->buffers);
    free(l->may_be);
    free(l->picture);
}

struct cwd_launch *
cwd_results_add(struct cwd_results *r, const char *kernel, unsigned number, const char *dump, int status, const char *lines)
{
    struct cwd_launch l = { .kernel = kernel ? strdup(kernel) : NULL, .dump = dump ? strdup(dump) : NULL, .number = number };
    struct cw_buf buffers, says;
    cw_buf_init(&buffers);
    cw_buf_init(&says);
    for (const char *s = lines; s && *s;) {
        size_t n = strcspn(s, "\n");
        if (*s == '{') {
            take_line(&l, s, n, &buffers);
        } else {
            cw_buf_append(&says, s, n);
            cw_buf_puts(&says, "\n");
        }
        s += n + (s[n] == '\n');
    }
    bool differs = l.sum.differ || (status && !l.sum.tolerated && !l.sum.bounded);
    l.severity = status == 2 ? CWD_S_NOT_RUN : status == 3 ? CWD_S_FAULT : differs ? CWD_S_DIFFERENT : l.sum.bounded ? CWD_S_BOUNDED : l.sum.tolerated ? CWD_S_TOLERATED : CWD_S_SAME;
    r->seen[l.severity]++;
    if (buffers.size && !buffers.failed && (l.buffers = malloc(buffers.size + 3)))
        sprintf(l.buffers, "[%s]", buffers.data);
    l.says = says.data && !says.failed ? strdup(says.data) : NULL;
    cw_buf_finish(&buffers);
    cw_buf_finish(&says);
    if (l.severity == CWD_S_SAME) {
        finish_launch(&l);
        return NULL;
    }
    if (!l.kernel)
        l.kernel = strdup("?");
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 64;
        struct cwd_launch *more = realloc(r->launches, capacity * sizeof *more);
        r->launches = more ? more : r->launches;
        r->capacity = more ? capacity : r->capacity;
    }
    if (!l.kernel || r->count == r->capacity) {
        r->failed = true;
        finish_launch(&l);
        return NULL;
    }
    r->launches[r->count] = l;
    return &r->launches[r->count++];
}

struct cwd_launch *
cwd_results_find(const struct cwd_results *r, const char *dump)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->launches[i].dump && !strcmp(r->launches[i].dump, dump))
            return &r->launches[i];
    return NULL;
}

void
cwd_results_cause(struct cwd_results *r, struct cwd_launch *l, const char *cause, enum cwd_severity severity)
{
    free(l->cause);
    l->cause = strdup(cause);
    r->seen[l->severity]--;
    l->severity = severity;
    r->seen[severity]++;
    r->failed |= !l->cause;
}

void
cwd_results_finish(struct cwd_results *r)
{
    for (size_t i = 0; i < r->count; i++)
        finish_launch(&r->launches[i]);
    free(r->launches);
    *r = (struct cwd_results){ 0 };
}

/* ---- by kernel and cause ----------------------------------------------------------------------------------------------------- */

/* NULL: nobody looked. */
static const char *
cause_of(const struct cwd_launch *l)
{
    if (l->cause)
        return l->cause;
    return l->severity == CWD_S_DIFFERENT ? NULL : cwd_severity_name(l->severity);
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int
compare_text(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Groups together; those that nobody looked into behind those of the same kernel with a cause. */
static int
by_group(const void *p, const void *q)
{
    const struct cwd_launch *a = *(const struct cwd_launch *const *)p, *b = *(const struct cwd_launch *const *)q;
    int c = (int)b->severity - (int)a->severity;
    c = c ? c : strcmp(a->kernel, b->kernel);
    c = c ? c : -compare_text(cause_of(a), cause_of(b));
    return c ? c : a < b ? -1 : a > b;
}

struct cwd_group *
cwd_results_groups(const struct cwd_results *r, size_t *count)
{
    const struct cwd_launch **order = calloc(r->count + 1, sizeof *order);
    struct cwd_group *g = calloc(r->count + 1, sizeof *g), *last = NULL;
    *count = 0;
    for (size_t i = 0; order && i < r->count; i++)
        order[i] = &r->launches[i];
    if (order)
        qsort(order, r->count, sizeof *order, by_group);
    for (size_t i = 0; g && order && i < r->count; i++) {
        const struct cwd_launch *l = order[i];
        if (!last || last->severity != l->severity || strcmp(last->kernel, l->kernel) || !same_text(last->cause, cause_of(l))) {
            last = &g[(*count)++];
            *last = (struct cwd_group){ .kernel = l->kernel, .cause = cause_of(l), .severity = l->severity };
        }
        last->dump = last->dump ? last->dump : l->dump;
        last->launches++;
        join(&last->sum, &l->sum);
    }
    free(order);
    if (!order) {
        free(g);
        g = NULL;
    }
    return g;
}

/* ---- the table --------------------------------------------------------------------------------------------------------------- */

enum { MAX_KERNEL = 48, MAX_CAUSE = 32 };

static void
text_fits(char *out, size_t most, const char *s)
{
    size_t n = strlen(s);
    if (n <= most)
        strcpy(out, s);
    else
        sprintf(out, "%.*s...", (int)most - 3, s);
}

static void
distance(char *out, size_t size, double v)
{
    snprintf(out, size, isfinite(v) ? "%.3g" : "overflow", v);
}

struct row {
    char kernel[MAX_KERNEL + 1], cause[MAX_CAUSE + 1], launches[16], elements[48], absolute[24], relative[24], ulp[24];
};

static void
fill_row(struct row *row, const struct cwd_group *g)
{
    const struct cwd_sum *s = &g->sum;
    bool allowed = g->severity == CWD_S_TOLERATED || g->severity == CWD_S_BOUNDED;
    *row = (struct row){ .elements = "-", .absolute = "-", .relative = "-", .ulp = "-" };
    text_fits(row->kernel, MAX_KERNEL, g->kernel);
    text_fits(row->cause, MAX_CAUSE, g->cause ? g->cause : "not looked into");
    snprintf(row->launches, sizeof row->launches, "%u", g->launches);
    if (!s->elements)
        return;
    snprintf(row->elements, sizeof row->elements, "%" PRIu64 " of %" PRIu64, allowed ? s->tolerated + s->bounded : s->differ, s->elements);
    distance(row->absolute, sizeof row->absolute, s->absolute);
    distance(row->relative, sizeof row->relative, s->relative);
    if (s->floats)
        snprintf(row->ulp, sizeof row->ulp, "%" PRIu64, s->ulp);
}

static int
widest(int width, const char *s)
{
    return (int)strlen(s) > width ? (int)strlen(s) : width;
}

void
cwd_results_table(const struct cwd_results *r, const char *before, FILE *out)
{
    size_t count;
    struct cwd_group *g = cwd_results_groups(r, &count);
    struct row *rows = calloc(count + 1, sizeof *rows);
    int kernel = 0, cause = 0, elements = 0;
    if (rows)
        rows[0] = (struct row){ "kernel", "cause", "launches", "elements", "absolute", "relative", "ULP" };
    for (size_t i = 0; g && rows && i <= count; i++) {
        if (i)
            fill_row(&rows[i], &g[i - 1]);
        kernel = widest(kernel, rows[i].kernel);
        cause = widest(cause, rows[i].cause);
        elements = widest(elements, rows[i].elements);
    }
    for (size_t i = 0; g && rows && count && i <= count; i++)
        cw_text_print(out, "%s%-*s  %-*s  %8s  %*s  %9s  %9s  %10s\n", before, kernel, rows[i].kernel, cause, rows[i].cause, rows[i].launches, elements, rows[i].elements, rows[i].absolute,
                      rows[i].relative, rows[i].ulp);
    if (!g || !rows || r->failed)
        cw_text_print(out, "%sout of memory: the table is not complete\n", before);
    free(rows);
    free(g);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------------- */

static void
put_text(struct cw_buf *b, const char *name, const char *value)
{
    cw_buf_printf(b, "\"%s\":", name);
    if (value)
        cw_buf_json_string(b, value);
    else
        cw_buf_puts(b, "null");
}

static void
put_number(struct cw_buf *b, const char *name, double v)
{
    cw_buf_printf(b, isfinite(v) ? ",\"%s\":%.17g" : ",\"%s\":null", name, v);
}

static void
put_groups(struct cw_buf *b, const struct cwd_results *r)
{
    size_t count;
    struct cwd_group *g = cwd_results_groups(r, &count);
    b->failed |= !g;
    for (size_t i = 0; g && i < count; i++) {
        const struct cwd_sum *s = &g[i].sum;
        cw_buf_puts(b, i ? ",\n{" : "\n{");
        put_text(b, "kernel", g[i].kernel);
        cw_buf_puts(b, ",");
        put_text(b, "cause", g[i].cause);
        cw_buf_printf(b, ",\"severity\":\"%s\",\"launches\":%u,\"elements\":%" PRIu64 ",\"differ\":%" PRIu64 ",\"tolerated\":%" PRIu64 ",\"bounded\":%" PRIu64 ",\"unbounded\":%" PRIu64,
                      cwd_severity_name(g[i].severity), g[i].launches, s->elements, s->differ, s->tolerated, s->bounded, s->unbounded);
        put_number(b, "absolute", s->absolute);
        put_number(b, "relative", s->relative);
        cw_buf_printf(b, ",\"ulp\":%" PRIu64 ",", s->ulp);
        put_text(b, "dump", g[i].dump);
        cw_buf_puts(b, "}");
    }
    free(g);
}

static void
put_launch(struct cw_buf *b, const struct cwd_launch *l)
{
    cw_buf_puts(b, "{");
    put_text(b, "kernel", l->kernel);
    cw_buf_printf(b, ",\"launch\":%u,\"severity\":\"%s\",", l->number, cwd_severity_name(l->severity));
    put_text(b, "cause", cause_of(l));
    cw_buf_puts(b, ",");
    put_text(b, "may_be", l->may_be);
    cw_buf_puts(b, ",");
    put_text(b, "dump", l->dump);
    cw_buf_puts(b, ",");
    put_text(b, "says", l->says);
    cw_buf_printf(b, ",\"buffers\":%s}", l->buffers ? l->buffers : "[]");
}

void
cwd_results_json(const struct cwd_results *r, const char *head, struct cw_buf *b)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < CWD_SEVERITIES; i++)
        all += r->seen[i];
    cw_buf_printf(b, "{\"format\":1,%s\"compared\":%" PRIu64 ",\"severities\":{", head, all);
    for (unsigned i = 0; i < CWD_SEVERITIES; i++)
        cw_buf_printf(b, "%s\"%s\":%" PRIu64, i ? "," : "", cwd_severity_name(i), r->seen[i]);
    cw_buf_puts(b, "},\"kernels\":[");
    put_groups(b, r);
    cw_buf_puts(b, "],\"launches\":[");
    for (size_t i = 0; i < r->count; i++) {
        cw_buf_puts(b, i ? ",\n" : "\n");
        put_launch(b, &r->launches[i]);
    }
    cw_buf_puts(b, "]}\n");
    b->failed |= r->failed;
}
