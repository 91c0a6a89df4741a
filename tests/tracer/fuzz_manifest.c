/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input is the manifest of a recording, which `report` reads, prints and passes on as JSON. What is passed on
 * has to be JSON again. */
#include "tracer/cli/manifest.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    if (!out && !(out = fopen("/dev/null", "w")))
        abort();
    cJSON *m = manifest_parse((const char *)data, size, "manifest.json");
    if (!m)
        return 0;
    manifest_print(m, out);
    char *text = cJSON_Print(m);
    if (text) {
        cJSON *again = cJSON_Parse(text);
        if (!again)
            abort();
        cJSON_Delete(again);
    }
    cJSON_free(text);
    cJSON_Delete(m);
    return 0;
}
