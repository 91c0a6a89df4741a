/* SPDX-License-Identifier: Apache-2.0
 * test_checks ARCH CODE-OBJECT: what the interpreter says of the kernels of checks.cl: reads of registers that nothing wrote, misaligned
 * accesses (both counted), and what ends a launch. */
#include "tools/gfxemu/gfx.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 64 };

static const struct {
    const char *name;
    bool unwritten, misaligned;
    enum gfx_fault fault;
    const char *text;               /* in the note or the message */
} cases[] = {
    { "written", false, false, FAULT_NONE, "" },
    { "vector", true, false, FAULT_NONE, "v_add_f32" },
    { "part", true, false, FAULT_NONE, "v_add_f32" },
    { "same", false, false, FAULT_NONE, "" },
    { "moved", false, false, FAULT_NONE, "" },
    { "scalar", true, false, FAULT_NONE, "s_add_u32" },
    { "odd_load", false, true, FAULT_NONE, "offset:1 (at odd_load+0x" },
    { "odd_store", false, true, FAULT_NONE, "offset:3 (at odd_store+0x" },
    { "even", false, false, FAULT_NONE, "" },
    { "outside", false, false, FAULT_MEMORY, "load of 4 bytes at 0x" },
    { "outside_lds", false, false, FAULT_LDS, "load of 4 bytes at LDS offset 0x2000" },
    { "odd_atomic", false, false, FAULT_MISALIGNED, "misaligned address" },
    { "modes", false, false, FAULT_NONE, "" },
};

static unsigned
run(struct gfx_object *object, unsigned n)
{
    static _Alignas(64) uint32_t d[THREADS], a[2 * THREADS];
    uint64_t params[2] = { (uintptr_t)d, (uintptr_t)a };
    struct gfx_launch l = { .object = object, .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 }, .params = params, .param_size = 16 };
    for (uint32_t i = 0; i < object->nkernels; i++)
        if (!strcmp(object->kernels[i].name, cases[n].name))
            l.kernel = &object->kernels[i];
    if (!l.kernel) {
        printf("%s: no such kernel\n", cases[n].name);
        return 1;
    }
    gfx_range_add((uintptr_t)d, sizeof d);
    gfx_range_add((uintptr_t)a, sizeof a);
    gfx_dispatch_run(&l);
    gfx_range_remove((uintptr_t)d);
    gfx_range_remove((uintptr_t)a);
    /* Each wave has one such instruction. */
    uint64_t unwritten = cases[n].unwritten ? l.counts.waves : 0, misaligned = cases[n].misaligned ? l.counts.waves : 0;
    const char *text = l.fault ? l.message : cases[n].misaligned ? l.noted[NOTE_MISALIGNED] : l.noted[NOTE_UNWRITTEN];
    if (l.counts.waves && l.fault == cases[n].fault && l.counts.unwritten_registers == unwritten && l.counts.misaligned == misaligned &&
        strstr(text, cases[n].text) && (*cases[n].text || !*text))
        return 0;
    printf("%s: fault %d, %llu unwritten (should be %llu), %llu misaligned (should be %llu): '%s', should have '%s'\n", cases[n].name,
           (int)l.fault, (unsigned long long)l.counts.unwritten_registers, (unsigned long long)unwritten,
           (unsigned long long)l.counts.misaligned, (unsigned long long)misaligned, text, cases[n].text);
    return 1;
}

int
main(int argc, char **argv)
{
    static char data[1 << 18];
    char error[256] = "";
    FILE *f = argc == 3 ? fopen(argv[2], "rb") : NULL;
    size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    const struct gfx_target *target = argc == 3 ? gfx_target_find(argv[1]) : NULL;
    struct gfx_object *object = NULL;
    if (f)
        fclose(f);
    if (!target || !gfx_object_load(target, data, size, &object, error)) {
        printf("usage: test_checks ARCH CODE-OBJECT %s\n", error);
        return 2;
    }
    unsigned failures = 0;
    for (unsigned n = 0; n < sizeof cases / sizeof *cases; n++)
        failures += run(object, n);
    gfx_object_unload(object);
    return failures != 0;
}
