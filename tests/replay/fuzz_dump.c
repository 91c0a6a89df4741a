/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target of the reader. The input is a whole archive, and it is the manifest of an archive that is otherwise sound: it has each member that the
 * manifest names, with the size that stands there, and where the manifest is JSON the members' digests are put in. */
#include "replay/dump.h"
#include "tests/mutate_json.h"
#include "tests/replay/pack.h"

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 16, MEMBERS = 64 };

static void
try(const void *data, size_t size)
{
    struct cwd_dump d;
    struct cwd_error e;
    if (cwd_read_memory(data, size, 0, 64u << 20, &d, &e) == CW_OK)
        cwd_finish(&d);
    if (cwd_read_memory(data, size, CWD_HEADERS, 64u << 20, &d, &e) == CW_OK)
        cwd_finish(&d);
}

struct archive {
    struct cw_buf bytes, sums;
    char names[MEMBERS][100];
    unsigned count;
};

/* A member of that name and that many bytes, unless there is one. */
static void
add_member(struct archive *a, const char *name, size_t size)
{
    static const uint8_t zeros[LARGEST];
    for (unsigned i = 0; i < a->count; i++)
        if (!strcmp(a->names[i], name))
            return;
    if (a->count == MEMBERS || strlen(name) >= sizeof *a->names || size > sizeof zeros)
        return;
    strcpy(a->names[a->count++], name);
    const size_t length = strlen(name);
    if (length > 4 && !strcmp(name + length - 4, ".zst")) {
        uint8_t small[1024];
        pack_member(&a->bytes, &a->sums, name, small, ZSTD_compress(small, sizeof small, zeros, size, 1));
    } else {
        pack_member(&a->bytes, &a->sums, name, zeros, size);
    }
}

/* What is below an object of that size. */
static void
add_members(struct archive *a, cJSON *o, size_t size)
{
    static const uint8_t zeros[LARGEST];
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, "size"), *member = cJSON_GetObjectItemCaseSensitive(o, "member");
    if (cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble <= LARGEST)
        size = (size_t)n->valuedouble;
    if (cJSON_IsString(member)) {
        char hex[65];
        cJSON *digest = cJSON_GetObjectItemCaseSensitive(o, "sha256");
        add_member(a, member->valuestring, size);
        cw_sha256_hex(zeros, size, hex);
        if (cJSON_IsString(digest))
            cJSON_SetValuestring(digest, hex);
    }
    for (cJSON *c = o->child; c; c = c->next)
        add_members(a, c, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct archive a;
    try(data, size);
    if (size > 1u << 20)
        return 0;
    cw_buf_init(&a.bytes);
    cw_buf_init(&a.sums);
    a.count = 0;
    cJSON *manifest = cJSON_ParseWithLength((const char *)data, size);
    char *text = NULL;
    if (manifest) {
        add_members(&a, manifest, 0);
        text = cJSON_PrintUnformatted(manifest);
    }
    if (text)
        pack_member(&a.bytes, &a.sums, "manifest.json", text, strlen(text));
    else
        pack_member(&a.bytes, &a.sums, "manifest.json", data, size);
    pack_end(&a.bytes, &a.sums);
    if (!a.bytes.failed)
        try(a.bytes.data, a.bytes.size);
    cJSON_free(text);
    cJSON_Delete(manifest);
    cw_buf_finish(&a.bytes);
    cw_buf_finish(&a.sums);
    return 0;
}
