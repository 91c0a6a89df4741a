/* SPDX-License-Identifier: Apache-2.0
 * What the commands do with JSON in the same way. */
#ifndef CW_TRACE_JSON_H
#define CW_TRACE_JSON_H

#include "tracer/cli/totals.h"
#include "impl/base/text.h"

#include <cjson/cJSON.h>

/* A new object at the array's end. */
static inline cJSON *
json_item(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(array, o);
    return o;
}

/* Recordings and binaries may come from someone else, and their names go to terminals, tables and JSON. */
static inline void
json_make_safe(cJSON *v)
{
    for (; v; v = v->next) {
        if (v->valuestring)
            cw_text_make_safe(v->valuestring, "\t");
        if (v->string)
            cw_text_make_safe(v->string, "\t");
        json_make_safe(v->child);
    }
}

static inline void
json_number(cJSON *o, const char *key, uint64_t v)
{
    cJSON_AddNumberToObject(o, key, (double)v);
}

static inline void
json_module(cJSON *o, const struct tot_module *m)
{
    cJSON_AddStringToObject(o, "kind", m->kind);
    cJSON_AddStringToObject(o, "file", m->file);
    cJSON_AddStringToObject(o, "sha256", m->hash);
    json_number(o, "size", m->size);
    json_number(o, "loads", m->loads);
    json_number(o, "refused", m->refused);
}

#endif
