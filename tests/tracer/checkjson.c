/* SPDX-License-Identifier: Apache-2.0
 * checkjson FILE: the Trace Event Format as Perfetto needs it: each slice inside its track, arrows from a call to a later operation. Prints the
 * number of calls, kernels, other operations, arrows and counters. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    static char data[16 << 20];
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    size_t n = f ? fread(data, 1, sizeof data - 1, f) : 0;
    cJSON *root = cJSON_ParseWithLength(data, n), *e;
    cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    unsigned calls = 0, kernels = 0, others = 0, arrows = 0, counters = 0, device_tid = 0x40000000;
    int rc = 1;
    if (f)
        fclose(f);
    if (!cJSON_IsArray(events)) {
        fprintf(stderr, "no JSON with traceEvents\n");
        goto finish;
    }
    cJSON_ArrayForEach(e, events) {
        const cJSON *ph = cJSON_GetObjectItemCaseSensitive(e, "ph"), *cat = cJSON_GetObjectItemCaseSensitive(e, "cat");
        if (!cJSON_IsString(ph) || !cJSON_IsString(cJSON_GetObjectItemCaseSensitive(e, "name")) ||
            !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "pid")) ||
            !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "tid")))
            goto finish;
        const cJSON *ts = cJSON_GetObjectItemCaseSensitive(e, "ts");
        if (!strcmp(ph->valuestring, "C"))
            counters++;
        if (!strcmp(ph->valuestring, "f")) {        /* what begins the arrow is somewhere in the file, on a thread, and before */
            const cJSON *id = cJSON_GetObjectItemCaseSensitive(e, "id"), *o;
            bool found = false;
            cJSON_ArrayForEach(o, events) {
                if (strcmp(cJSON_GetObjectItemCaseSensitive(o, "ph")->valuestring, "s") ||
                    strcmp(cJSON_GetObjectItemCaseSensitive(o, "id")->valuestring, id->valuestring))
                    continue;
                found = cJSON_GetObjectItemCaseSensitive(o, "ts")->valuedouble <= ts->valuedouble &&
                        cJSON_GetObjectItemCaseSensitive(o, "tid")->valuedouble < device_tid;
            }
            if (!found) {
                fprintf(stderr, "an arrow without a call before it\n");
                goto finish;
            }
            arrows++;
        }
        if (strcmp(ph->valuestring, "X"))
            continue;
        if (!cJSON_IsString(cat) || !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "ts")) ||
            !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "dur")))
            goto finish;
        calls += !strcmp(cat->valuestring, "cuda");
        kernels += !strcmp(cat->valuestring, "kernel");
        others += !strcmp(cat->valuestring, "copy") || !strcmp(cat->valuestring, "memset");
    }
    printf("%u calls, %u kernels, %u others, %u arrows, %s\n", calls, kernels, others, arrows, counters ? "counters" : "no counters");
    rc = 0;
finish:
    cJSON_Delete(root);
    return rc;
}
