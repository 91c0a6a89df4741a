/* SPDX-License-Identifier: Apache-2.0
 * test_units ARCH CODE-OBJECT: the kernels that units.sh writes, on the interpreter. */
#include "tools/gfxemu/gfx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, LENGTH = 1200, THREADS = 40 };

static unsigned failures;

static bool
run(struct gfx_object *object, const char *name, uint32_t *out)
{
    uint64_t address = (uintptr_t)out;
    struct gfx_launch l = { .object = object, .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 }, .params = &address, .param_size = 8 };
    for (uint32_t i = 0; i < object->nkernels; i++)
        if (!strcmp(object->kernels[i].name, name))
            l.kernel = &object->kernels[i];
    if (l.kernel && gfx_dispatch_run(&l))
        return true;
    printf("%s: %s\n", name, l.kernel ? l.message : "no such kernel");
    failures++;
    return false;
}

static void
check(const char *name, uint32_t i, uint32_t got, uint32_t want)
{
    if (got == want)
        return;
    printf("%s[%u]: %u, should be %u\n", name, i, got, want);
    failures++;
}

static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(1 << 22);
    *size = f && data ? fread(data, 1, 1 << 22, f) : 0;
    if (f)
        fclose(f);
    return data;
}

/* Kernel `name`, which adds k + 1, and what it gives the total. */
static void
step(struct gfx_object *object, const char *name, uint32_t k, uint32_t *out, uint32_t *total)
{
    memset(out, 0, THREADS * sizeof *out);
    *total += k + 1;
    if (!run(object, name, out))
        return;
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t x = t;
        for (int i = 0; i < LENGTH; i++)
            x = x * 1664525u + k + 1;
        check(name, t, out[t], x + 3);
    }
}

static uint64_t
entry(const struct gfx_object *object, const char *name)
{
    for (uint32_t i = 0; i < object->nkernels; i++)
        if (!strcmp(object->kernels[i].name, name))
            return object->kernels[i].entry;
    return 0;
}

int
main(int argc, char **argv)
{
    size_t size = 0;
    char error[256] = "", *data = argc == 3 ? read_file(argv[2], &size) : NULL;
    struct gfx_object *object = NULL;
    const struct gfx_target *target = argc == 3 ? gfx_target_find(argv[1]) : NULL;
    if (!target || !gfx_object_load(target, data, size, &object, error)) {
        printf("usage: test_units ARCH CODE-OBJECT %s\n", error);
        return 2;
    }
    check("kernels", 0, object->nkernels, STEPS + 2);
    check("code of twin3 and step3", 0, entry(object, "twin3") == entry(object, "step3"), true);
    check("code of step2 and step3", 0, entry(object, "step2") == entry(object, "step3"), false);
    static uint32_t out[THREADS];
    gfx_range_add((uintptr_t)out, sizeof out);
    uint32_t total = 5;
    for (uint32_t k = 0; k < STEPS; k++) {
        char name[16];
        snprintf(name, sizeof name, "step%u", k);
        step(object, name, k, out, &total);
    }
    step(object, "twin3", 3, out, &total);
    if (run(object, "last", out))
        check("total", 0, out[0], total);
    gfx_range_remove((uintptr_t)out);
    gfx_object_unload(object);
    free(data);
    return failures != 0;
}
