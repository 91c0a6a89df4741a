/* SPDX-License-Identifier: Apache-2.0
 * Reading the manifest of a recording, and the count of a trace's files, which is written and read. */
#define _GNU_SOURCE
#include "tracer/cli/manifest.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/json.h"

#include "impl/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    json_make_safe(m);
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

/* ---- the files of the trace ---- */

/* Those in `path` that are not empty; with `b` those of the folders below as well, as members of an object. */
static unsigned
count_files(struct cw_buf *b, const char *path, const char *name)
{
    unsigned count = 0;
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)); ) {
        char below[PATH_MAX], below_name[PATH_MAX];
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, "index") || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        count += S_ISREG(st.st_mode) && st.st_size;
        if (b && S_ISDIR(st.st_mode) && snprintf(below, sizeof below, "%s/%s", path, e->d_name) < (int)sizeof below &&
            snprintf(below_name, sizeof below_name, "%s/%s", name, e->d_name) < (int)sizeof below_name)
            count_files(b, below, below_name);
    }
    if (d)
        closedir(d);
    if (b && count) {
        cw_buf_puts(b, b->data[b->size - 1] == '{' ? "\n    " : ",\n    ");
        cw_buf_json_string(b, name);
        cw_buf_printf(b, ": %u", count);
    }
    return count;
}

void
manifest_put_streams(struct cw_buf *b, const char *dir)
{
    char path[PATH_MAX];
    cw_buf_puts(b, "{");
    if (!b->failed && snprintf(path, sizeof path, "%s/trace", dir) < (int)sizeof path)
        count_files(b, path, "trace");
    cw_buf_puts(b, "}");
}

bool
manifest_streams_are_there(const char *dir)
{
    char path[PATH_MAX], *data;
    size_t size;
    if (snprintf(path, sizeof path, "%s/manifest.json", dir) >= (int)sizeof path || cw_file_read_regular(path, 1u << 20, &data, &size) != CW_OK)
        return true;
    cJSON *m = cJSON_ParseWithLength(data, size);
    const cJSON *folder;
    bool ok = true;
    free(data);
    json_make_safe(m);
    cJSON_ArrayForEach(folder, cJSON_GetObjectItemCaseSensitive(m, "streams")) {
        if (!folder->string || !cJSON_IsNumber(folder) || snprintf(path, sizeof path, "%s/%s", dir, folder->string) >= (int)sizeof path)
            continue;
        unsigned there = count_files(NULL, path, "");
        if (there >= folder->valuedouble)
            continue;
        say("%s is damaged: %u of the %.0f files of %s are left", dir, there, folder->valuedouble, folder->string);
        ok = false;
        break;
    }
    cJSON_Delete(m);
    return ok;
}
