/* SPDX-License-Identifier: Apache-2.0
 * Fuzzer: files of objects, as the redirection reads them: the search for a copy of the Runtime, and for the constructors that register. */
#include "impl/runtime/redirect/copy.h"
#include "impl/runtime/redirect/register.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
search(const struct cw_registrant *o, const struct cw_elf *e)
{
    struct cw_registrations found;
    if (!cw_register_find(o, e, NULL, 0, &found))
        free(found.list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setenv("CUDAWAY_LOG", "off", 1);
    setenv("CUDAWAY_SIGNATURES", "/nonexistent", 1);
    struct cw_elf e;
    struct cw_copy *c;
    if (cw_elf_open_memory(&e, data, size))
        return 0;
    if (!cw_copy_find_in(&e, "/tmp/object", (uintptr_t)data, &c) && c) {
        for (size_t i = 1; i < c->count; i++)
            if (c->functions[i].address < c->functions[i - 1].address)
                abort();
        struct cw_registrant o;
        cw_registrant_of_copy(c, &o);
        search(&o, &e);
        cw_copy_destroy(c);
    }
    struct cw_registrant o;
    if (cw_registrant_of_importer(&e, "/tmp/object", (uintptr_t)data, &o))
        search(&o, &e);
    cw_elf_close(&e);
    return 0;
}
