/* SPDX-License-Identifier: Apache-2.0
 * See tolerance.h. */
#include "replay/tolerance.h"

#include "impl/base/file.h"
#include "replay/tar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 20, MAX_RULES = 10000, MAX_WORDS = 8 };

/* Linear in the pattern times the name, whatever stars the pattern has. */
static bool
matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static cw_result
wrong(const char *name, unsigned line, const char *what, const char *word, struct cwd_error *e)
{
    return cwd_fail(e, CW_ERR_INVALID, "%s:%u: %s%s%.100s%s; a line is KERNEL BUFFER and absolute=X, relative=X or ulp=N", name, line, what, *word ? " \"" : "", word,
                    *word ? "\"" : "");
}

/* "absolute=1e-6" */
static const char *
read_bound(const char *word, struct cwd_allowance *a)
{
    static const char *const names[] = { "absolute=", "relative=", "ulp=" };
    unsigned which = 0;
    char *end;
    while (which < 3 && strncmp(word, names[which], strlen(names[which])))
        which++;
    if (which == 3)
        return "not a bound:";
    const char *value = word + strlen(names[which]);
    errno = 0;
    if (which == 2) {
        unsigned long n = strtoul(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || errno || n > INT32_MAX)
            return "not a number of units in the last place:";
        a->ulp = (uint32_t)n;
        return NULL;
    }
    double v = strtod(value, &end);
    if (end == value || *end || errno || !isfinite(v) || v < 0)
        return "not a number from 0:";
    *(which ? &a->relative : &a->absolute) = v;
    return NULL;
}

static cw_result
read_line(const char *name, unsigned line, char *s, struct cwd_tolerances *t, struct cwd_error *e)
{
    char *words[MAX_WORDS];
    unsigned n = 0;
    for (char *save, *w = strtok_r(s, " \t\r", &save); w && *w != '#'; w = strtok_r(NULL, " \t\r", &save)) {
        if (n == MAX_WORDS)
            return wrong(name, line, "too many words:", w, e);
        words[n++] = w;
    }
    if (!n)
        return CW_OK;
    if (n < 3)
        return wrong(name, line, n == 1 ? "no buffer and no bound behind" : "no bound behind", words[n - 1], e);
    if (t->count == MAX_RULES)
        return cwd_fail(e, CW_ERR_LIMIT, "%s:%u: more than %d rules", name, line, MAX_RULES);
    if (!(t->count & (t->count - 1))) {
        struct cwd_rule *more = realloc(t->rules, (t->count ? 2 * (size_t)t->count : 1) * sizeof *more);
        if (!more)
            return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
        t->rules = more;
    }
    struct cwd_rule *r = &t->rules[t->count++];
    *r = (struct cwd_rule){ .kernel = words[0], .buffer = words[1] };
    for (unsigned i = 2; i < n; i++) {
        const char *what = read_bound(words[i], &r->allowance);
        if (what)
            return wrong(name, line, what, words[i], e);
    }
    return CW_OK;
}

cw_result
cwd_tolerances_parse(const char *name, const char *text, size_t size, struct cwd_tolerances *t, struct cwd_error *e)
{
    t->rules = NULL;
    t->count = 0;
    t->text = NULL;
    if (size > MAX_SIZE)
        return cwd_fail(e, CW_ERR_LIMIT, "%s: larger than %d bytes", name, MAX_SIZE);
    if (!(t->text = malloc(size + 1)))
        return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    if (size)
        memcpy(t->text, text, size);
    t->text[size] = 0;
    cw_result r = CW_OK;
    unsigned line = 1;
    for (char *s = t->text, *end = s + size, *eol; s < end && r == CW_OK; s = eol + 1, line++) {
        eol = memchr(s, '\n', (size_t)(end - s));
        eol = eol ? eol : end;
        *eol = 0;
        r = memchr(s, 0, (size_t)(eol - s)) ? wrong(name, line, "a zero byte", "", e) : read_line(name, line, s, t, e);
    }
    if (r != CW_OK)
        cwd_tolerances_finish(t);
    return r;
}

cw_result
cwd_tolerances_read(const char *path, struct cwd_tolerances *t, struct cwd_error *e)
{
    char *data;
    size_t size;
    cw_result r = cw_file_read(path, MAX_SIZE, &data, &size);
    if (r != CW_OK)
        return cwd_fail(e, r, "cannot read the tolerances %s: %s", path, r == CW_ERR_IO ? strerror(errno) : cw_result_text(r));
    r = cwd_tolerances_parse(path, data, size, t, e);
    free(data);
    return r;
}

void
cwd_tolerances_finish(struct cwd_tolerances *t)
{
    free(t->rules);
    free(t->text);
    t->rules = NULL;
    t->text = NULL;
    t->count = 0;
}

const struct cwd_allowance *
cwd_tolerances_find(const struct cwd_tolerances *t, const char *kernel, const char *buffer, const char *number)
{
    for (uint32_t i = t->count; i-- > 0;) {
        const struct cwd_rule *r = &t->rules[i];
        if (matches(r->kernel, kernel) && (matches(r->buffer, buffer ? buffer : "") || (number && matches(r->buffer, number))))
            return &r->allowance;
    }
    return &t->otherwise;
}
