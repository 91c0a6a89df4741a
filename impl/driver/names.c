/* SPDX-License-Identifier: Apache-2.0
 * Kernels and variables of a program by name: a hash table that is made with the program and never changes. Programs of thousands of kernels look each of
 * them up when they start. */
#include "impl/driver/driver.h"

#include <stdlib.h>

/* Kernels have the numbers below kernel_count, variables those from there on. A slot holds a number + 1, or 0. */
static const char *
name_of(const struct program *p, uint32_t number, enum named *what)
{
    const struct cwj_api *api = jit_api();
    const uint32_t kernels = api->kernel_count(p->p);
    if (number < kernels) {
        *what = NAMED_KERNEL;
        return api->kernel(p->p, number)->name;
    }
    const struct cwj_variable *v = api->variable(p->p, number - kernels);
    *what = v->type == PTX_TEXREF ? NAMED_TEXREF : v->type == PTX_SURFREF ? NAMED_SURFREF : v->type == PTX_SAMPLERREF ? NAMED_SAMPLER : NAMED_VARIABLE;
    return v->name;
}

/* FNV-1a. */
static uint32_t
hash(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

bool
names_make(struct program *p)
{
    const uint32_t n = jit_api()->kernel_count(p->p) + jit_api()->variable_count(p->p);
    uint32_t size = 16;
    enum named what;
    while (size / 2 < n)
        size *= 2;
    p->names = calloc(size, sizeof *p->names);
    if (!p->names)
        return false;
    p->names_mask = size - 1;
    for (uint32_t i = 0; i < n; i++) {  /* in order: of equal names the first is found first */
        uint32_t at = hash(name_of(p, i, &what)) & p->names_mask;
        while (p->names[at])
            at = (at + 1) & p->names_mask;
        p->names[at] = i + 1;
    }
    return true;
}

bool
names_find(const struct program *p, const char *name, unsigned whats, uint32_t *index)
{
    enum named what;
    for (uint32_t at = hash(name) & p->names_mask; p->names[at]; at = (at + 1) & p->names_mask) {
        uint32_t number = p->names[at] - 1;
        if (strcmp(name_of(p, number, &what), name) || !(what & whats))
            continue;
        *index = what == NAMED_KERNEL ? number : number - jit_api()->kernel_count(p->p);
        return true;
    }
    return false;
}
