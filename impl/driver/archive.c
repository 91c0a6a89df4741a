/* SPDX-License-Identifier: Apache-2.0
 * `ar` archives as inputs of a link (cuLinkAddData of a static library): the members' PTX, and which of them a link needs. What a PTX text
 * defines and lacks is read from its declarations alone: linkage, kind and name of functions and variables at module scope (PTX ISA,
 * "Linking Directives"). */
#include "impl/driver/archive.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- the names of a PTX text ------------------------------------------------------------------------------------------------------ */

static bool
names_add(struct names *n, const char *s, size_t length)
{
    if (n->count == n->capacity) {
        size_t more = n->capacity ? n->capacity * 2 : 16;
        char **v = realloc(n->v, more * sizeof *v);
        if (!v)
            return false;
        n->v = v;
        n->capacity = more;
    }
    return (n->v[n->count] = strndup(s, length)) && ++n->count;
}

static void
names_finish(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->v[i]);
    free(n->v);
    *n = (struct names){ 0 };
}

static bool
names_has(const struct names *n, const char *s)
{
    for (size_t i = 0; i < n->count; i++)
        if (!strcmp(n->v[i], s))
            return true;
    return false;
}

/* One token; comments and blanks are skipped. A word is a directive, an identifier or a number; anything else is one character. */
struct token {
    const char *s;
    size_t n;
};

static struct token
next_token(const char **p, const char *end)
{
    const char *s = *p;
    for (;;) {
        while (s < end && isspace((unsigned char)*s))
            s++;
        if (end - s < 2 || s[0] != '/' || (s[1] != '/' && s[1] != '*'))
            break;
        if (s[1] == '/') {
            while (s < end && *s != '\n')
                s++;
        } else {
            for (s += 2; end - s >= 2 && !(s[0] == '*' && s[1] == '/'); s++)
                ;
            s = end - s >= 2 ? s + 2 : end;
        }
    }
    struct token t = { s, 0 };
    if (s < end && *s == '"') {
        for (s++; s < end && *s != '"'; s++)
            ;
        s += s < end;
    } else if (s < end) {
        while (s < end && (isalnum((unsigned char)*s) || strchr("._$%", *s)))
            s++;
        s += s == t.s;
    }
    t.n = (size_t)(s - t.s);
    *p = s;
    return t;
}

static bool
is(struct token t, const char *s)
{
    return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

/* Past the group that `open` began. */
static void
skip_group(const char **p, const char *end, char open, char close)
{
    for (unsigned depth = 1; depth && *p < end;) {
        struct token t = next_token(p, end);
        depth += t.n == 1 && *t.s == open;
        depth -= t.n == 1 && *t.s == close;
    }
}

/* The declaration that begins with a linkage directive, behind it: name and kind; false when it names nothing. */
static bool
declaration(const char **p, const char *end, struct token *name, bool *entry)
{
    bool function = false;
    *name = (struct token){ 0 };
    *entry = false;
    while (*p < end) {
        const char *before = *p;
        struct token t = next_token(p, end);
        if (is(t, ".func"))
            function = true;
        else if (is(t, ".entry"))
            function = *entry = true;
        else if (is(t, "(") && function && !name->n)
            skip_group(p, end, '(', ')');       /* what the function returns */
        else if (is(t, ".align"))
            (void)next_token(p, end);
        else if (t.n && *t.s != '.' && (isalpha((unsigned char)*t.s) || strchr("_$%", *t.s)))
            *name = t;
        else if (t.n && *t.s != '.') {
            *p = before;
            break;
        }
        if (name->n)
            break;
    }
    return name->n != 0;
}

bool
ptx_names(const char *text, size_t size, struct names *defined, struct names *lacking, bool *has_kernel)
{
    const char *p = text, *end = text + size;
    while (p < end) {
        struct token t = next_token(&p, end);
        bool extern_ = is(t, ".extern");
        if (is(t, "{")) {
            skip_group(&p, end, '{', '}');
        } else if (extern_ || is(t, ".visible") || is(t, ".weak") || is(t, ".common")) {
            struct token name;
            bool entry;
            if (!declaration(&p, end, &name, &entry))
                continue;
            *has_kernel |= entry && !extern_;
            if (!names_add(extern_ ? lacking : defined, name.s, name.n))
                return false;
        } else if (is(t, ".entry")) {
            *has_kernel = true;
        }
    }
    return true;
}

/* ---- archives ----------------------------------------------------------------------------------------------------------------------- */

#define MAGIC "!<arch>\n"

bool
is_archive(const void *data, size_t size)
{
    return size >= 8 && !memcmp(data, MAGIC, 8);
}

/* A decimal field of a header, padded with blanks. */
static bool
decimal(const char *s, size_t n, size_t *out)
{
    *out = 0;
    size_t i = 0;
    while (i < n && isdigit((unsigned char)s[i]))
        *out = *out * 10 + (size_t)(s[i++] - '0');
    return i > 0 && (i == n || s[i] == ' ');
}

static void
member_name(const char *header, const char *long_names, size_t long_size, char *out, size_t room)
{
    const char *s = header;
    size_t n = 16, at;
    if (header[0] == '/' && decimal(header + 1, 15, &at) && at < long_size) {   /* GNU: an offset into the table of long names */
        s = long_names + at;
        n = long_size - at;
    }
    size_t i = 0;
    while (i < n && i + 1 < room && s[i] != '/' && s[i] != '\n' && s[i]) {
        out[i] = s[i];
        i++;
    }
    while (i && out[i - 1] == ' ')
        i--;
    out[i] = 0;
}

static CUresult
member_add(struct archive *a, struct device *d, const char *data, size_t size, const char *name)
{
    if (a->count == a->capacity) {
        size_t n = a->capacity ? a->capacity * 2 : 16;
        struct member *m = realloc(a->members, n * sizeof *m);
        if (!m)
            return CUDA_ERROR_OUT_OF_MEMORY;
        a->members = m;
        a->capacity = n;
    }
    struct member *m = &a->members[a->count];
    *m = (struct member){ 0 };
    char *copy = malloc(size);          /* members begin at even addresses only */
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, size);
    CUresult e = ptx_collect(d, copy, size, name, true, &m->ptx);
    free(copy);
    a->count++;
    if (e == CUDA_ERROR_NO_BINARY_FOR_GPU || e == CUDA_ERROR_INVALID_IMAGE)
        return CUDA_SUCCESS;            /* without device code */
    for (size_t i = 0; i < m->ptx.count && e == CUDA_SUCCESS; i++)
        if (!ptx_names(m->ptx.in[i].text, m->ptx.in[i].size, &m->defined, &m->lacking, &m->has_kernel))
            e = CUDA_ERROR_OUT_OF_MEMORY;
    return e;
}

CUresult
archive_add(struct archive *a, struct device *d, const void *data, size_t size, const char *what)
{
    const char *base = data, *long_names = NULL;
    size_t long_size = 0;
    CUresult e = CUDA_SUCCESS;
    for (size_t at = 8; at < size && e == CUDA_SUCCESS;) {
        size_t n;
        const char *h = base + at;
        if (size - at < 60 || memcmp(h + 58, "`\n", 2) || !decimal(h + 48, 10, &n) || n > size - at - 60) {
            cw_error("%s: a damaged archive", what);
            return CUDA_ERROR_INVALID_IMAGE;
        }
        if (!memcmp(h, "//              ", 16)) {
            long_names = h + 60;
            long_size = n;
        } else if (memcmp(h, "/               ", 16) && memcmp(h, "/SYM64/         ", 16) && n) {
            char name[256];
            member_name(h, long_names, long_size, name, sizeof name);
            e = member_add(a, d, h + 60, n, name);
        }
        at += 60 + n + (n & 1);
    }
    return e;
}

/* Add the member's PTX to what is linked. */
static CUresult
take(struct member *m, struct ptx_list *list, struct names *defined, struct names *lacking)
{
    m->taken = true;
    CUresult e = CUDA_SUCCESS;
    for (size_t i = 0; i < m->ptx.count && e == CUDA_SUCCESS; i++)
        e = ptx_list_add(list, m->ptx.in[i].name, m->ptx.in[i].text, m->ptx.in[i].size);
    for (size_t i = 0; i < m->defined.count && e == CUDA_SUCCESS; i++)
        e = names_add(defined, m->defined.v[i], strlen(m->defined.v[i])) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < m->lacking.count && e == CUDA_SUCCESS; i++)
        e = names_add(lacking, m->lacking.v[i], strlen(m->lacking.v[i])) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    return e;
}

static bool
supplies(const struct member *m, const struct names *lacking, const struct names *defined)
{
    for (size_t i = 0; i < m->defined.count; i++)
        if (names_has(lacking, m->defined.v[i]) && !names_has(defined, m->defined.v[i]))
            return true;
    return false;
}

CUresult
archive_link(struct archive *a, struct ptx_list *list)
{
    struct names defined = { 0 }, lacking = { 0 };
    bool kernels = false, none = !list->count;
    CUresult e = CUDA_SUCCESS;
    for (size_t i = 0; i < list->count && e == CUDA_SUCCESS; i++)
        if (!ptx_names(list->in[i].text, list->in[i].size, &defined, &lacking, &kernels))
            e = CUDA_ERROR_OUT_OF_MEMORY;
    for (bool more = true; more && e == CUDA_SUCCESS;) {
        more = false;
        for (size_t i = 0; i < a->count && e == CUDA_SUCCESS; i++) {
            struct member *m = &a->members[i];
            if (m->taken || !(supplies(m, &lacking, &defined) || (none && m->has_kernel)))
                continue;
            e = take(m, list, &defined, &lacking);
            more = true;
        }
    }
    names_finish(&defined);
    names_finish(&lacking);
    return e;
}

void
archive_finish(struct archive *a)
{
    for (size_t i = 0; i < a->count; i++) {
        ptx_list_finish(&a->members[i].ptx);
        names_finish(&a->members[i].defined);
        names_finish(&a->members[i].lacking);
    }
    free(a->members);
    *a = (struct archive){ 0 };
}

/* ---- relocatable device code -------------------------------------------------------------------------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
in_sorted(const struct names *sorted, const char *s)
{
    return sorted->count && bsearch(&s, sorted->v, sorted->count, sizeof *sorted->v, compare_names);
}

/* What libcudadevrt calls of the driver: launches and the like from device code, and groups of several devices. */
static bool
is_system_call(const char *s)
{
    return !strncmp(s, "cnp", 3) || !strncmp(s, "__cuda_syscall_", 15);
}

/* A part of libcudadevrt: it lacks system calls, which nothing defines here. */
static bool
is_device_runtime(const struct member *m, const struct names *all)
{
    for (size_t i = 0; i < m->lacking.count; i++)
        if (is_system_call(m->lacking.v[i]) && !in_sorted(all, m->lacking.v[i]))
            return true;
    return false;
}

/* The program's modules, and of the device runtime's those that they need. True: some are. */
static bool
choose(struct member *members, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        members[i].taken = !members[i].device_runtime;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; members[i].taken && k < members[i].lacking.count; k++) {
                for (size_t j = 0; j < count; j++) {
                    if (members[j].taken || !names_has(&members[j].defined, members[i].lacking.v[k]))
                        continue;
                    members[j].taken = more = any = true;
                }
            }
        }
    }
    return any;
}

CUresult
relocatable_select(struct ptx_list *list, bool *device_runtime)
{
    struct names all = { 0 };
    CUresult e = CUDA_SUCCESS;
    size_t kept = 0;
    bool any = false;
    *device_runtime = false;
    if (list->count < 2)
        return e;
    struct member *members = calloc(list->count, sizeof *members);
    if (!members)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < list->count && e == CUDA_SUCCESS; i++) {
        struct member *m = &members[i];
        m->taken = true;
        bool ok = ptx_names(list->in[i].text, list->in[i].size, &m->defined, &m->lacking, &m->has_kernel);
        for (size_t k = 0; k < m->defined.count && ok; k++)
            ok = names_add(&all, m->defined.v[k], strlen(m->defined.v[k]));
        e = ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (e == CUDA_SUCCESS) {
        if (all.count)
            qsort(all.v, all.count, sizeof *all.v, compare_names);
        for (size_t i = 0; i < list->count; i++)
            any |= members[i].device_runtime = is_device_runtime(&members[i], &all);
        *device_runtime = any && choose(members, list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (e != CUDA_SUCCESS || members[i].taken) {
            list->in[kept++] = list->in[i];
        } else {
            free((char *)list->in[i].name);
            free((char *)list->in[i].text);
        }
        names_finish(&members[i].defined);
        names_finish(&members[i].lacking);
    }
    list->count = kept;
    names_finish(&all);
    free(members);
    return e;
}
