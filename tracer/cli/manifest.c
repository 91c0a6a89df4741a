/* SPDX-License-Identifier: Apache-2.0
 * Reading the manifest of a recording. */
#include "tracer/cli/manifest.h"
#include "tracer/cli/cli.h"

#include "impl/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

cJSON *
manifest_parse(const char *data, size_t size, const char *path)
{
    cJSON *m = cJSON_ParseWithLength(data, size);
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(m, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(m, "version");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, "cudaway-trace") || !cJSON_IsNumber(version)) {
        say("%s is damaged; the report goes without it", path);
        cJSON_Delete(m);
        return NULL;
    }
    if (version->valuedouble > 1)
        say("%s has format version %g, this program knows version 1; some of it may be missing here", path,
            version->valuedouble);
    return m;
}

cJSON *
manifest_read(const char *dir)
{
    char path[PATH_MAX], *data;
    size_t size;
    if (snprintf(path, sizeof path, "%s/manifest.json", dir) >= (int)sizeof path)
        return NULL;
    cw_result r = cw_file_read_regular(path, 1u << 20, &data, &size);
    if (r != CW_OK) {
        say("%s: %s; the report goes without it", path, r == CW_ERR_NOT_FOUND ? "missing" : r == CW_ERR_INVALID ? "not a regular file" : strerror(errno));
        return NULL;
    }
    cJSON *m = manifest_parse(data, size, path);
    free(data);
    return m;
}

static const char *
text_of(const cJSON *m, const char *key, const char *none)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(m, key);
    return cJSON_IsString(v) ? v->valuestring : none;
}

void
manifest_print(const cJSON *m, FILE *out)
{
    const cJSON *a, *exit = cJSON_GetObjectItemCaseSensitive(m, "exit");
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(exit, "code");
    const cJSON *signal = cJSON_GetObjectItemCaseSensitive(exit, "signal");
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(m, "seconds");
    fprintf(out, "program    ");
    cJSON_ArrayForEach(a, cJSON_GetObjectItemCaseSensitive(m, "command"))
        fprintf(out, " %s", cJSON_IsString(a) ? a->valuestring : "?");
    fprintf(out, "\nstarted     %s", text_of(m, "started", "?"));
    if (cJSON_IsNumber(seconds))
        fprintf(out, ", %.3f s", seconds->valuedouble);
    if (cJSON_IsNumber(code))
        fprintf(out, ", exit status %d", code->valueint);
    else if (cJSON_IsNumber(signal))
        fprintf(out, ", ended by signal %d", signal->valueint);
    else
        fprintf(out, ", the recording was not finished");
    fprintf(out, "\ndevice      %s\n", text_of(m, "device", "auto"));
    if (text_of(m, "library", NULL))
        fprintf(out, "library     %s\n", text_of(m, "library", NULL));
    const cJSON *only = cJSON_GetObjectItemCaseSensitive(m, "only"), *snapshots = cJSON_GetObjectItemCaseSensitive(m, "snapshots");
    cJSON_ArrayForEach(a, only)
        fprintf(out, "only        %s %s\n", a->string, cJSON_IsString(a) ? a->valuestring : "?");
    cJSON_ArrayForEach(a, snapshots)
        fprintf(out, "snapshot    %s: %s\n", text_of(a, "time", "?"), text_of(a, "why", "?"));
    if (text_of(m, "note", NULL))
        fprintf(out, "note        %s\n", text_of(m, "note", NULL));
}

void
manifest_say_empty(const char *dir)
{
    cJSON *m = manifest_read(dir);
    const char *trace = text_of(m, "trace", "");
    if (strstr(trace, "://"))
        say("%s holds no trace: it is at %s", dir, trace);
    else if (cJSON_GetObjectItemCaseSensitive(m, "flight_recorder"))
        say("%s holds no trace: no call failed and nobody took a snapshot", dir);
    else
        say("%s holds no trace: the program made no CUDA call", dir);
    cJSON_Delete(m);
}
