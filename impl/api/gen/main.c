/* SPDX-License-Identifier: Apache-2.0
 * cudaway-apigen: reads the API model and writes what is made from it. A file that would not change is left alone, so
 * that nothing is rebuilt for nothing. Exit status: 0 done, 1 the model has mistakes or a check failed, 2 usage or I/O. */
#include "impl/api/gen/emit.h"

#include "impl/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
    const char *name;
    void (*emit)(const struct model *m, struct cw_buf *out);
};

/* Into the output folder given with --out. */
static const struct output outputs[] = {
    { "cuda_table.h", emit_table },
    { "drv_prototypes.h", emit_drv_prototypes },
    { "cuda_exports.c", emit_exports },
    { "cuda.map", emit_map },
    { "cuda_meta.c", emit_meta },
};

/* The same for a model of several libraries: those of all, and with %u for its major version those of each. */
static const struct output runtime_outputs[] = {
    { "runtime_prototypes.h", emit_rt_prototypes },
    { "runtime_meta.c", emit_meta },
};

static const struct {
    const char *format;
    void (*emit)(const struct model *m, unsigned library, struct cw_buf *out);
} library_outputs[] = {
    { "cudart_exports_%u.c", emit_rt_exports },
    { "cudart_%u.map", emit_rt_map },
};

/* Single files, each written by the option of its name (or compared, with --check). */
static const struct output documents[] = {
    { "header", emit_header },
    { "coverage", emit_coverage },
    { "abi", emit_abi },
};

static bool
same_as_file(const char *path, const struct cw_buf *b)
{
    char *data = NULL;
    size_t size = 0;

    if (cw_file_read(path, (size_t)64 << 20, &data, &size) != CW_OK)
        return false;
    bool same = size == b->size && !memcmp(data, b->data, size);
    free(data);
    return same;
}

/* Writes or compares what an emitter left in b, and frees it. */
static int
deliver(struct cw_buf b, const char *path, bool check)
{
    int rc = 0;

    if (b.failed) {
        fprintf(stderr, "cudaway-apigen: out of memory\n");
        rc = 2;
    } else if (same_as_file(path, &b)) {
        rc = 0;
    } else if (check) {
        fprintf(stderr, "cudaway-apigen: %s is not what the model gives; build the target cudaway-api-update\n", path);
        rc = 1;
    } else if (cw_file_write_atomic(path, b.data, b.size, 0644) != CW_OK) {
        fprintf(stderr, "cudaway-apigen: cannot write %s\n", path);
        rc = 2;
    }
    cw_buf_finish(&b);
    return rc;
}

static int
produce(const struct model *m, const struct output *o, const char *path, bool check)
{
    struct cw_buf b;

    cw_buf_init(&b);
    o->emit(m, &b);
    return deliver(b, path, check);
}

/* Everything that goes into the output folder. */
static int
produce_all(const struct model *m, const char *dir, bool check)
{
    const struct output *list = m->library_count ? runtime_outputs : outputs;
    size_t count = m->library_count ? sizeof runtime_outputs / sizeof *runtime_outputs : sizeof outputs / sizeof *outputs;
    char path[4096], name[64];
    int rc = 0;

    for (size_t o = 0; rc < 2 && o < count; o++) {
        int r = snprintf(path, sizeof path, "%s/%s", dir, list[o].name) >= (int)sizeof path ? 2 : produce(m, &list[o], path, check);
        rc = r > rc ? r : rc;
    }
    for (unsigned l = 0; l < m->library_count; l++) {
        for (size_t o = 0; rc < 2 && o < sizeof library_outputs / sizeof *library_outputs; o++) {
            struct cw_buf b;
           snprintf(name, sizeof name, library_outputs[o].format, m->libraries[l].major);
            cw_buf_init(&b);
            library_outputs[o].emit(m, l, &b);
            if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
                b.failed = true;
            int r = deliver(b, path, check);
            rc = r > rc ? r : rc;
        }
    }
    return rc;
}

static int
usage(void)
{
    fprintf(stderr, "usage: cudaway-apigen --model DIR [--status FILE] [--out DIR] [--header FILE] [--coverage FILE]\n"
                    "                      [--abi FILE] [--check]\n"
                    "  --status takes another status file than the model's\n"
                    "  --check compares the named files instead of writing them\n");
    return 2;
}

int
main(int argc, char **argv)
{
    const char *model_dir = NULL, *out_dir = NULL, *status = NULL;
    const char *document_paths[sizeof documents / sizeof *documents] = { 0 };
    bool check = false;

    for (int i = 1; i < argc; i++) {
        const char **target = NULL;
        if (!strcmp(argv[i], "--check")) {
            check = true;
            continue;
        }
        if (!strcmp(argv[i], "--model"))
            target = &model_dir;
        else if (!strcmp(argv[i], "--out"))
            target = &out_dir;
        else if (!strcmp(argv[i], "--status"))
            target = &status;
        for (size_t d = 0; !strncmp(argv[i], "--", 2) && d < sizeof documents / sizeof *documents; d++) {
            if (!strcmp(argv[i] + 2, documents[d].name))
                target = &document_paths[d];
        }
        if (!target || ++i >= argc)
            return usage();
        *target = argv[i];
    }
    if (!model_dir)
        return usage();

    struct model m;
    int rc = 0;
    if (!model_load_with_status(&m, model_dir, status)) {
        fprintf(stderr, "%s", m.errors.data ? m.errors.data : "cudaway-apigen: out of memory\n");
        fprintf(stderr, "cudaway-apigen: nothing generated: %u mistake(s) in the model\n", m.error_count);
        model_finish(&m);
        return 1;
    }
    for (size_t d = 0; d < sizeof documents / sizeof *documents; d++) {
        int r = document_paths[d] ? produce(&m, &documents[d], document_paths[d], check) : 0;
        rc = r > rc ? r : rc;
    }
    if (out_dir && cw_mkdirs(out_dir, 0755) != CW_OK) {
        fprintf(stderr, "cudaway-apigen: cannot create %s\n", out_dir);
        rc = 2;
    }
    if (out_dir && rc < 2) {
        int r = produce_all(&m, out_dir, check);
        rc = r > rc ? r : rc;
    }
    model_finish(&m);
    return rc;
}
