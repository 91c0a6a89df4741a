/* SPDX-License-Identifier: Apache-2.0
 * checkjson FILE: the Trace Event Format as Perfetto needs it. Prints the number of calls and of kernels. */
#include <cjson/cJSON.h>
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
    unsigned calls = 0, kernels = 0;
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
        if (strcmp(ph->valuestring, "X"))
            continue;
        if (!cJSON_IsString(cat) || !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "ts")) ||
            !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(e, "dur")))
            goto finish;
        calls += !strcmp(cat->valuestring, "cuda");
        kernels += !strcmp(cat->valuestring, "kernel");
    }
    printf("%u calls, %u kernels\n", calls, kernels);
    rc = 0;
finish:
    cJSON_Delete(root);
    return rc;
}
