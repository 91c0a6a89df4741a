/* SPDX-License-Identifier: Apache-2.0
 * The modules of an image: which PTX a device would take of each, what the compiler's front end says of it, and the kernels; see check.h. */
#define _GNU_SOURCE
#include "tracer/cli/check.h"
#include "tracer/cli/check_cubin.h"
#include "tracer/cli/kernels.h"

#include "impl/base/env.h"
#include "impl/ptx_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Errors that are told of a module, and bytes of machine code that one image may decompress to. */
enum { MAX_ERRORS = 1000 };
#define MAX_UNPACKED ((size_t)2 << 30)

/* Machine code of the group that is read; kept until it is known whether there is PTX beside it. */
struct cubin {
    unsigned sm;
    char suffix;
    char *data;
    size_t size;
    const char *compression;
};

struct scan {
    const struct cwj_api *jit;
    cJSON *modules;
    unsigned cc;
    uint32_t group, entries, others;
    char *text;                         /* the PTX that a device would take of the group */
    size_t text_size;
    unsigned sm;
    char suffix;
    bool fits, relocatable;
    struct cubin *cubins;
    unsigned ncubins;
    size_t room;                        /* of MAX_UNPACKED */
    bool no_memory;
};

const char *
check_text(const cJSON *o, const char *key)
{
    const char *s = cJSON_GetStringValue(CHECK_ITEM(o, key));
    return s ? s : "";
}

static void
add_sm(cJSON *list, unsigned sm, char suffix)
{
    char text[24];
    snprintf(text, sizeof text, "sm_%u%.1s", sm, &suffix);
    const cJSON *x;
    cJSON_ArrayForEach(x, list)
        if (!strcmp(cJSON_GetStringValue(x), text))
            return;
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* ---- PTX ---- */

static cJSON *
add_kernel(cJSON *kernels, const char *name, const char *verdict)
{
    cJSON *k = cJSON_CreateObject();
    cJSON_AddStringToObject(k, "name", name);
    cJSON_AddStringToObject(k, "verdict", verdict);
    if (kernels)
        cJSON_AddItemToArray(kernels, k);
    return k;
}

/* Where the lines of a text begin. */
struct lines {
    const char *text;
    size_t size, *at, count;
};

static bool
lines_find(struct lines *l, const char *text, size_t size)
{
    size_t capacity = 1;
    for (const char *p = text, *end = text + size; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        capacity++;
    *l = (struct lines){ text, size, malloc(capacity * sizeof *l->at), 0 };
    if (!l->at)
        return false;
    l->at[l->count++] = 0;
    for (const char *p = text, *end = text + size; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        l->at[l->count++] = (size_t)(p + 1 - text);
    return true;
}

static void
describe(cJSON *o, const struct cwj_diag *d, const struct lines *l)
{
    char code[16], source[201];
    snprintf(code, sizeof code, "P%u", d->code);
    cJSON_AddNumberToObject(o, "line", d->line);
    cJSON_AddNumberToObject(o, "column", d->column);
    cJSON_AddStringToObject(o, "code", code);
    cJSON_AddStringToObject(o, "message", d->text);
    if (!d->line || d->line > l->count)
        return;
    const char *p = l->text + l->at[d->line - 1], *end = l->text + l->size, *eol = memchr(p, '\n', (size_t)(end - p));
    end = eol ? eol : end;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    size_t n = (size_t)(end - p) < sizeof source ? (size_t)(end - p) : sizeof source - 1;
    memcpy(source, p, n);
    source[n] = 0;
    cJSON_AddStringToObject(o, "source", source);
}

/* The first error in the kernel, or NULL. Its other ones count as told. */
static const struct cwj_diag *
take_errors(const struct kn_kernel *k, const struct cwj_diags *diags, const struct lines *l, bool *told)
{
    const struct cwj_diag *first = NULL;
    size_t last = k->at + strlen(k->text), i = 0;
    for (const struct cwj_diag *d = diags->first; d; d = d->next, i++) {
        if (d->severity != PTX_ERROR || !d->line || d->line > l->count)
            continue;
        size_t place = l->at[d->line - 1] + (d->column ? d->column - 1 : 0);
        if (place < k->at || place >= last)
            continue;
        told[i] = true;
        first = first ? first : d;
    }
    return first;
}

/* A module that the front end refuses: which of its kernels are at fault. */
static bool
blame(cJSON *o, cJSON *kernels, const struct cwj_diags *diags, const char *text, size_t size)
{
    struct kn_list list = { 0 };
    struct lines l = { 0 };
    cJSON *errors = cJSON_AddArrayToObject(o, "errors"), *x;
    size_t count = 0;
    for (const struct cwj_diag *d = diags->first; d; d = d->next)
        count++;
    bool *told = calloc(count + 1, sizeof *told);
    if (!told || !lines_find(&l, text, size)) {
        free(told);
        return false;
    }
    kernels_scan(&list, text, size);
    for (const struct kn_kernel *k = list.first; k; k = k->next) {
        const struct cwj_diag *d = take_errors(k, diags, &l, told);
        x = add_kernel(NULL, k->name, d ? "refused" : "no fault found");
        if (d)
            describe(x, d, &l);
        cJSON_InsertItemInArray(kernels, 0, x);         /* the list has the last one first */
    }
    size_t i = 0;
    for (const struct cwj_diag *d = diags->first; d; d = d->next, i++) {
        if (d->severity != PTX_ERROR || told[i])
            continue;
        describe(x = cJSON_CreateObject(), d, &l);
        cJSON_AddItemToArray(errors, x);
    }
    free(told);
    free(l.at);
    kernels_finish(&list);
    return true;
}

static void
compile(struct scan *s, cJSON *o, cJSON *kernels)
{
    struct cwj_diags diags;
    struct cwj_program *p = NULL;
    s->jit->diags_init(&diags);
    diags.limit = MAX_ERRORS;
    cw_result r = s->jit->program_create(&(struct cwj_input){ "PTX", s->text, s->text_size }, 1, true, &p, &diags);
    cJSON_AddStringToObject(o, "verdict", r ? "refused" : "compiles");
    for (uint32_t i = 0; !r && i < s->jit->kernel_count(p); i++)
        add_kernel(kernels, s->jit->kernel(p, i)->name, "compiles");
    if (!r)
        s->jit->program_destroy(p);
    else if (diags.errors)
        s->no_memory |= !blame(o, kernels, &diags, s->text, s->text_size);
    else
        cJSON_AddStringToObject(o, "message", cw_result_text(r));
    s->jit->diags_finish(&diags);
}

/* ---- machine code ---- */

struct naming {
    cJSON *kernels;
    const struct cubin *from;
    bool variables;
};

static void
on_symbol(void *user, const char *name, bool kernel)
{
    struct naming *n = user;
    cJSON *k;
    n->variables |= !kernel;
    if (!kernel)
        return;
    cJSON_ArrayForEach(k, n->kernels)
        if (!strcmp(check_text(k, "name"), name))
            break;
    if (!k) {
        k = add_kernel(n->kernels, name, "machine code alone");
        cJSON_AddArrayToObject(k, "machine_code");
    }
    add_sm(CHECK_ITEM(k, "machine_code"), n->from->sm, n->from->suffix);
}

static void
name_kernels(struct scan *s, cJSON *o, cJSON *kernels)
{
    cJSON *unnamed = cJSON_AddArrayToObject(o, "unnamed");
    struct naming n = { .kernels = kernels };
    for (unsigned i = 0; i < s->ncubins; i++) {
        struct cubin *c = &s->cubins[i];
        n.from = c;
        if (!c->data || !cubin_read(c->data, c->size, c->compression, &s->room, on_symbol, &n))
            add_sm(unnamed, c->sm, c->suffix);
    }
    bool empty = !s->others && !n.variables && !cJSON_GetArraySize(kernels) && !cJSON_GetArraySize(unnamed);
    cJSON_AddStringToObject(o, "verdict", empty ? "empty" : "no PTX");
}

/* ---- groups ---- */

static void
forget_cubins(struct scan *s)
{
    for (unsigned i = 0; i < s->ncubins; i++) {
        free(s->cubins[i].data);
        s->cubins[i].data = NULL;
        s->cubins[i].size = 0;
    }
}

/* The group is complete. */
static void
end_group(struct scan *s)
{
    if (s->entries) {
        cJSON *o = cJSON_CreateObject(), *code;
        cJSON_AddNumberToObject(o, "module", s->group);
        if (s->text) {
            char sm[24];
            snprintf(sm, sizeof sm, "sm_%u%.1s", s->sm, &s->suffix);
            cJSON_AddStringToObject(o, "ptx", sm);
            cJSON_AddBoolToObject(o, "newer_than_device", !s->fits);
        }
        code = cJSON_AddArrayToObject(o, "machine_code");
        for (unsigned i = 0; i < s->ncubins; i++)
            add_sm(code, s->cubins[i].sm, s->cubins[i].suffix);
        cJSON_AddNumberToObject(o, "other_entries", s->others);
        cJSON_AddBoolToObject(o, "relocatable", s->relocatable);
        cJSON *kernels = cJSON_AddArrayToObject(o, "kernels");
        if (s->text)
            compile(s, o, kernels);
        else
            name_kernels(s, o, kernels);
        cJSON_AddItemToArray(s->modules, o);
    }
    forget_cubins(s);
    free(s->text);
    s->text = NULL;
    s->entries = s->others = s->ncubins = 0;
}

static bool
keep_cubin(struct scan *s, const struct cwj_image_entry *e)
{
    struct cubin *longer = realloc(s->cubins, (s->ncubins + 1) * sizeof *longer);
    if (!longer)
        return false;
    s->cubins = longer;
    struct cubin *c = &longer[s->ncubins++];
    *c = (struct cubin){ .sm = e->sm, .suffix = e->suffix, .size = e->size };
    c->compression = !strcmp(e->compression, "lz4") ? "lz4" : !strcmp(e->compression, "zstd") ? "zstd" : "none";
    if (s->text)                        /* what it holds, the PTX says */
        return true;
    c->data = malloc(e->size + 1);
    if (c->data)
        memcpy(c->data, e->data, e->size);
    return c->data;
}

static bool
keep_text(struct scan *s, const struct cwj_image_entry *e)
{
    bool fits = cw_ptx_fits(s->cc, e->sm, e->suffix);
    if (s->text && !cw_ptx_better(fits, e->sm, s->fits, s->sm))
        return true;
    char *copy = malloc(e->size + 1);
    if (!copy)
        return false;
    memcpy(copy, e->data, e->size);
    copy[e->size] = 0;
    free(s->text);
    s->text = copy;
    s->text_size = e->size;
    s->sm = e->sm;
    s->suffix = e->suffix;
    s->fits = fits;
    forget_cubins(s);
    return true;
}

static int
on_entry(void *user, const struct cwj_image_entry *e)
{
    struct scan *s = user;
    if (e->group != s->group)
        end_group(s);
    s->group = e->group;
    s->entries++;
    s->relocatable = e->relocatable;
    s->others += e->kind == CWJ_ENTRY_OTHER;
    s->no_memory |= (e->kind == CWJ_ENTRY_PTX && !keep_text(s, e)) || (e->kind == CWJ_ENTRY_CUBIN && !keep_cubin(s, e));
    return s->no_memory;
}

/* A kernel of relocatable code with PTX. */
static bool
is_linked(const cJSON *modules, const char *kernel)
{
    const cJSON *m, *k;
    cJSON_ArrayForEach(m, modules)
        if (cJSON_IsTrue(CHECK_ITEM(m, "relocatable")) && !strcmp(check_text(m, "verdict"), "compiles"))
            cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels"))
                if (!strcmp(check_text(k, "name"), kernel))
                    return true;
    return false;
}

/* nvcc -rdc=true links the machine code of relocatable parts into a module of its own, and keeps the parts: the driver links their PTX. */
static void
find_linked(cJSON *modules)
{
    cJSON *m;
    const cJSON *k;
    bool any = false;
    cJSON_ArrayForEach(m, modules)
        any |= cJSON_IsTrue(CHECK_ITEM(m, "relocatable"));
    cJSON_ArrayForEach(m, modules) {
        bool linked = any && !cJSON_IsTrue(CHECK_ITEM(m, "relocatable")) && !strcmp(check_text(m, "verdict"), "no PTX") &&
                      !cJSON_GetArraySize(CHECK_ITEM(m, "unnamed"));
        cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels"))
            linked = linked && is_linked(modules, check_text(k, "name"));
        if (linked)
            cJSON_ReplaceItemInObjectCaseSensitive(m, "verdict", cJSON_CreateString("linked"));
    }
}

cJSON *
check_modules(const struct cwj_api *jit, const void *data, size_t size)
{
    struct scan s = { .jit = jit, .modules = cJSON_CreateArray(), .cc = cw_env_compute_capability(), .group = UINT32_MAX, .room = MAX_UNPACKED };
    struct cwj_diags diags;
    jit->diags_init(&diags);
    cw_result r = jit->image_scan(data, size, on_entry, &s, &diags);
    end_group(&s);
    free(s.cubins);
    r = s.no_memory ? CW_ERR_NOMEM : r;
    /* Neither a file of another kind nor one without GPU code is damaged. */
    if (r && r != CW_ERR_INVALID && r != CW_ERR_NO_PTX) {
        const struct cwj_diag *d = diags.first;
        while (d && d->severity != PTX_ERROR)
            d = d->next;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "verdict", "damaged");
        cJSON_AddStringToObject(o, "message", d ? d->text : cw_result_text(r));
        cJSON_AddItemToArray(s.modules, o);
    }
    jit->diags_finish(&diags);
    find_linked(s.modules);
    return s.modules;
}

bool
check_modules_run(const cJSON *modules)
{
    static const char *const good[] = { "compiles", "empty", "linked" };
    const cJSON *m;
    cJSON_ArrayForEach(m, modules) {
        unsigned i = 0;
        while (i < sizeof good / sizeof *good && strcmp(check_text(m, "verdict"), good[i]) != 0)
            i++;
        if (i == sizeof good / sizeof *good)
            return false;
    }
    return true;
}
