/* SPDX-License-Identifier: Apache-2.0
 * See meta.h: look-ups in the generated tables. */
#include "impl/api/meta.h"

#include <string.h>

/* The bases are sorted; the functions are not, but each belongs to a base. */
const struct cw_meta_base *
cw_meta_find_base(const char *name)
{
    unsigned low = 0, high = cw_meta_base_count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int c = strcmp(name, cw_meta_bases[middle].name);
        if (!c)
            return &cw_meta_bases[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct cw_meta_function *
cw_meta_find(const char *name)
{
    char base[64];
    size_t n = strlen(name);

    if (n >= sizeof base)
        return NULL;
    /* Longest first: a base may itself end like a suffix. */
    memcpy(base, name, n + 1);
    for (;;) {
        const struct cw_meta_base *b = cw_meta_find_base(base);
        for (unsigned i = 0; b && i < b->count; i++) {
            const struct cw_meta_function *f = &cw_meta_functions[cw_meta_versions[b->first + i].function];
            if (!strcmp(f->name, name))
                return f;
        }
        char *cut = strrchr(base, '_');
        if (!cut)
            return NULL;
        *cut = 0;
    }
}

const struct cw_meta_enum *
cw_meta_find_enum(const char *name)
{
    for (unsigned i = 0; i < cw_meta_enum_count; i++) {
        if (!strcmp(cw_meta_enums[i].name, name))
            return &cw_meta_enums[i];
    }
    return NULL;
}

const char *
cw_meta_enumerator(int enum_index, int64_t value)
{
    if (enum_index < 0 || (unsigned)enum_index >= cw_meta_enum_count)
        return NULL;
    const struct cw_meta_enum *e = &cw_meta_enums[enum_index];
    unsigned low = 0, high = e->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (e->values[middle].value == value)
            return e->values[middle].name;
        if (value < e->values[middle].value)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *
cw_meta_result_name(int result)
{
    return cw_meta_enumerator(cw_meta_result_enum, result);
}
