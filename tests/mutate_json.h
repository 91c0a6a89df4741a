/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer's mutator for targets whose inputs are JSON: nodes are changed, copied, taken out and put in each other's place, so that the text stays JSON and the
 * reader comes to its later fields. Inputs that are none, and one in eight of those that are, have their bytes changed. Include it in the target's source. */
#ifndef TESTS_MUTATE_JSON_H
#define TESTS_MUTATE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Without libFuzzer there is neither, and no need of them. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { MUTATE_NODES = 4096 };
struct mutate_node { cJSON *parent, *node; };

static unsigned
mutate_collect(struct mutate_node *nodes, unsigned n, cJSON *parent)
{
    for (cJSON *c = parent->child; c && n < MUTATE_NODES; c = c->next) {
        nodes[n++] = (struct mutate_node){ parent, c };
        n = mutate_collect(nodes, n, c);
    }
    return n;
}

static double
mutate_number(double v, unsigned random)
{
    static const double edges[] = { 0, 1, -1, 2, 3, 4, 7, 8, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, 1099511627776, 9007199254740992, 1e19, 1e300, 0.5 };
    switch (random % 4) {
    case 0: return v + 1;
    case 1: return v - 1;
    case 2: return v * 2;
    default: return edges[random / 4 % (sizeof edges / sizeof *edges)];
    }
}

static cJSON *
mutate_string(const char *s, unsigned random)
{
    static const char *const edges[] = { "", "0x0", "0x1", "0xffffffffffffffff", "0x7fc0ec800000", "\x1b[31m", "\xff", "/", "../x" };
    char text[256] = "";
    if (random % 2)
        return cJSON_CreateString(edges[random / 2 % (sizeof edges / sizeof *edges)]);
    strncpy(text, s, sizeof text - 1);
    text[LLVMFuzzerMutate((uint8_t *)text, strlen(text), sizeof text - 1)] = 0;
    return cJSON_CreateString(text);
}

/* What takes the node's place, or NULL. */
static cJSON *
mutate_node(const cJSON *v, unsigned random)
{
    if (cJSON_IsNumber(v))
        return cJSON_CreateNumber(mutate_number(v->valuedouble, random));
    if (cJSON_IsString(v))
        return mutate_string(v->valuestring, random);
    if (cJSON_IsBool(v))
        return cJSON_CreateBool(!cJSON_IsTrue(v));
    return cJSON_IsNull(v) ? cJSON_CreateString("name") : cJSON_CreateNull();
}

static void
mutate_replace(const struct mutate_node *at, cJSON *by)
{
    const bool named = cJSON_IsObject(at->parent) && at->node->string;
    if (by && !(named ? cJSON_ReplaceItemInObjectCaseSensitive(at->parent, at->node->string, by) : cJSON_ReplaceItemViaPointer(at->parent, at->node, by)))
        cJSON_Delete(by);
}

static void
mutate_tree(cJSON *root, unsigned random)
{
    static struct mutate_node nodes[MUTATE_NODES];
    const unsigned n = mutate_collect(nodes, 0, root);
    if (!n)
        return;
    const struct mutate_node *at = &nodes[random / 8 % n];
    const cJSON *other = nodes[random / 8 / n % n].node;
    switch (random % 8) {
    case 0: cJSON_Delete(cJSON_DetachItemViaPointer(at->parent, at->node)); break;
    case 1: mutate_replace(at, cJSON_Duplicate(other, 1)); break;
    case 2:
        if (cJSON_IsArray(at->parent))
            cJSON_AddItemToArray(at->parent, cJSON_Duplicate(at->node, 1));
        else if (other->string)
            cJSON_AddItemToObject(at->parent, other->string, cJSON_Duplicate(other, 1));
        break;
    default: mutate_replace(at, mutate_node(at->node, random / 8 / n)); break;
    }
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    cJSON *root = seed % 8 ? cJSON_ParseWithLength((const char *)data, size) : NULL;
    char *text = NULL;
    size_t length = 0;
    if (root) {
        for (unsigned i = 0; i <= seed / 8 % 4; i++)
            mutate_tree(root, (seed / 32 + i) * 2654435761u >> 3);
        text = cJSON_PrintUnformatted(root);
        length = text ? strlen(text) : 0;
    }
    if (length && length <= max) {
        memcpy(data, text, length);
        size = length;
    } else {
        size = LLVMFuzzerMutate(data, size, max);
    }
    cJSON_free(text);
    cJSON_Delete(root);
    return size;
}

#endif
