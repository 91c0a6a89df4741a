/* SPDX-License-Identifier: Apache-2.0
 * See signature.h. Patterns of one function rarely say which it is: the runtime's functions are alike. The linker moves a section
 * as a whole, though, so one place for the section must fit the patterns of all its functions. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/signature.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CODE = 1 << 30 };

void
cw_signatures_finish(struct cw_signatures *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].name);
    free(s->list);
    *s = (struct cw_signatures){ 0 };
}

/* The next word of the line, NUL-terminated in place; NULL at its end. */
static char *
word(char **line)
{
    char *p = *line + strspn(*line, " ");
    if (!*p)
        return NULL;
    char *end = p + strcspn(p, " ");
    *line = *end ? end + 1 : end;
    *end = 0;
    return p;
}

static bool
number(char **line, int base, uint64_t max, uint64_t *out)
{
    char *w = word(line), *end;
    if (!w || *w == '-' || *w == '+')
        return false;
    errno = 0;
    unsigned long long v = strtoull(w, &end, base);
    *out = v;
    return !errno && !*end && v <= max;
}

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
parse_pattern(const char *text, struct cw_signature *f)
{
    if (!text || strlen(text) != 2 * (size_t)f->length)
        return false;
    for (uint32_t i = 0; i < f->length; i++) {
        const char *p = text + 2 * (size_t)i;
        int high = hex_digit(p[0]), low = hex_digit(p[1]);
        if (high >= 0 && low >= 0) {
            f->bytes[i] = (uint8_t)(high << 4 | low);
            f->mask[i] = 0xff;
        } else if (memcmp(p, "..", 2)) {
            return false;
        }
    }
    return true;
}

static bool
parse_function(char *line, struct cw_signatures *s, size_t *room)
{
    char *name = word(&line);
    uint64_t offset, size, length;
    if (!name || strlen(name) > 255 || !cw_copy_is_runtime_name(name) || !s->nsections || s->count == CW_SIGNATURE_MAX_FUNCTIONS ||
        !number(&line, 16, MAX_CODE, &offset) || !number(&line, 10, MAX_CODE, &size) || !number(&line, 10, CW_SIGNATURE_BYTES, &length) ||
        !length || length > size)
        return false;
    if (s->count == *room) {
        size_t n = *room ? *room * 2 : 256;
        struct cw_signature *p = realloc(s->list, n * sizeof *p);
        if (!p)
            return false;
        s->list = p;
        *room = n;
    }
    struct cw_signature *f = &s->list[s->count];
    *f = (struct cw_signature){ .offset = offset, .size = size, .section = s->nsections - 1, .length = (uint32_t)length };
    if (!parse_pattern(word(&line), f) || word(&line) || !(f->name = strdup(name)))
        return false;
    s->count++;
    return true;
}

static bool
parse_line(char *line, struct cw_signatures *s, size_t *room)
{
    char *kind = word(&line);
    uint64_t v;
    if (!kind || *kind == '#')
        return true;
    if (!strcmp(kind, "runtime")) {
        if (!number(&line, 10, 99, &v) || word(&line))
            return false;
        s->major = (unsigned)v;
        return true;
    }
    if (!strcmp(kind, "section")) {
        if (!word(&line) || !number(&line, 10, MAX_CODE, &v) || word(&line) || s->nsections == CW_SIGNATURE_MAX_FUNCTIONS)
            return false;
        s->nsections++;
        return true;
    }
    return !strcmp(kind, "function") && parse_function(line, s, room);
}

cw_result
cw_signatures_parse(const char *text, size_t size, struct cw_signatures *out, unsigned *line)
{
    static const char magic[] = "cudaway-signatures ";
    *out = (struct cw_signatures){ 0 };
    *line = 1;
    if (size < sizeof magic || memcmp(text, magic, sizeof magic - 1))
        return CW_ERR_DAMAGED;
    if (text[sizeof magic - 1] != '1' || (size > sizeof magic && text[sizeof magic] != '\n'))
        return CW_ERR_VERSION;
    char *copy = strndup(text, size);
    if (!copy)
        return CW_ERR_NOMEM;
    size_t room = 0;
    bool ok = true;
    char *rest = copy, *one;
    for (strsep(&rest, "\n"); ok && (one = strsep(&rest, "\n"));) {
        ++*line;
        ok = parse_line(one, out, &room);
    }
    free(copy);
    if (ok && (out->major < 11 || !out->count))
        ok = false;
    if (!ok)
        cw_signatures_finish(out);
    return ok ? CW_OK : CW_ERR_DAMAGED;
}

/* The longest row of fixed bytes in a pattern. */
static uint32_t
fixed_run(const struct cw_signature *f, uint32_t *at)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < f->length;) {
        uint32_t n = 0;
        while (i + n < f->length && f->mask[i + n])
            n++;
        if (n > best) {
            best = n;
            *at = i;
        }
        i += n + 1;
    }
    return best;
}

static bool
fits(const struct cw_signature *f, const uint8_t *p)
{
    for (uint32_t i = 0; i < f->length; i++)
        if ((p[i] ^ f->bytes[i]) & f->mask[i])
            return false;
    return true;
}

/* Whether all of a section's functions fit where it begins at code + base. */
static bool
section_fits(const struct cw_signature *f, size_t n, const uint8_t *code, size_t size, uint64_t base)
{
    for (size_t i = 0; i < n; i++)
        if (f[i].offset > size - base || f[i].size > size - base - f[i].offset || !fits(&f[i], code + base + f[i].offset))
            return false;
    return true;
}

/* Where the section begins: true where there is just one place. */
static bool
place_section(const struct cw_signature *f, size_t n, const uint8_t *code, size_t size, uint64_t *base)
{
    const struct cw_signature *anchor = NULL;
    uint32_t run = CW_SIGNATURE_ANCHOR - 1, in = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = 0, length = fixed_run(&f[i], &at);
        if (length > run)
            anchor = &f[i], run = length, in = at;
    }
    if (!anchor)
        return false;
    uint64_t before = anchor->offset + in;
    unsigned found = 0;
    for (const uint8_t *p = code; (p = memmem(p, size - (size_t)(p - code), anchor->bytes + in, run)); p++) {
        uint64_t at = (uint64_t)(p - code);
        if (at >= before && section_fits(f, n, code, size, at - before)) {
            *base = at - before;
            found++;
        }
    }
    return found == 1;
}

cw_result
cw_signatures_match(const struct cw_signatures *s, const uint8_t *code, size_t size, uint64_t address, struct cw_copy *c)
{
    size_t bytes = 0, used = 0;
    for (size_t i = 0; i < s->count; i++)
        bytes += strlen(s->list[i].name) + 1;
    struct cw_copy_function *list = calloc(s->count + 1, sizeof *list);
    char *text = malloc(bytes + 1);
    if (!list || !text) {
        free(list);
        free(text);
        return CW_ERR_NOMEM;
    }
    size_t count = 0;
    for (size_t i = 0, n; i < s->count; i += n) {
        uint64_t base;
        for (n = 1; i + n < s->count && s->list[i + n].section == s->list[i].section; n++)
            ;
        if (!place_section(s->list + i, n, code, size, &base))
            continue;
        for (size_t k = i; k < i + n; k++) {
            const struct cw_signature *f = &s->list[k];
            size_t length = strlen(f->name) + 1;
            memcpy(text + used, f->name, length);
            list[count++] = (struct cw_copy_function){ text + used, address + base + f->offset, f->size };
            used += length;
        }
    }
    free(c->functions);
    free(c->text);
    c->functions = list;
    c->text = text;
    c->count = count;
    c->major = s->major;
    return CW_OK;
}

char *
cw_signatures_folder(void)
{
    const char *set = cw_env_get(CW_ENV_SIGNATURES), *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    char *path = NULL;
    if (set && *set)
        return strdup(set);
    int n = config && *config == '/' ? asprintf(&path, "%s/cudaway/signatures", config)
            : home && *home        ? asprintf(&path, "%s/.config/cudaway/signatures", home) : -1;
    return n < 0 ? NULL : path;
}

static cw_result
try_file(const char *path, const uint8_t *code, size_t size, uint64_t address, struct cw_copy *c)
{
    char *text;
    size_t n;
    unsigned line;
    struct cw_signatures s;
    cw_result r = cw_file_read(path, CW_SIGNATURE_MAX_FILE, &text, &n);
    if (!r) {
        r = cw_signatures_parse(text, n, &s, &line);
        free(text);
        if (r == CW_ERR_DAMAGED)
            cw_warn("%s: line %u is no line of a signature file; make it again with cudaway signatures", path, line);
    }
    if (r)
        return r == CW_ERR_NOMEM ? r : CW_OK;
    r = cw_signatures_match(&s, code, size, address, c);
    cw_signatures_finish(&s);
    return r;
}

static int
is_signature_file(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return n > 4 && !strcmp(d->d_name + n - 4, ".sig");
}

cw_result
cw_signatures_find(const struct cw_elf *e, struct cw_copy *c)
{
    cw_result r = CW_OK;
    char *folder = cw_signatures_folder(), path[PATH_MAX];
    const Elf64_Shdr *text = cw_elf_section_named(e, ".text");
    struct dirent **files = NULL;
    int n = folder && text ? scandir(folder, &files, is_signature_file, alphasort) : 0;
    uint8_t *code = n > 0 ? cw_elf_section_data(e, text, MAX_CODE) : NULL;
    for (int i = 0; i < n; i++) {
        if (code && !r && !c->count && snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name) < (int)sizeof path)
            r = try_file(path, code, text->sh_size, text->sh_addr, c);
        free(files[i]);
    }
    free(files);
    free(code);
    free(folder);
    return r;
}
