/* SPDX-License-Identifier: Apache-2.0
 * Sequences of any functions of the Runtime with any arguments, on one thread (any_call.h). */
#include "tests/runtime/any_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice s = { .data = data, .end = data + size };
    if (!size || size > 4096)
        return 0;
    if (!wrapper.data)
        register_program();
    for (unsigned i = 0; i < SHARED / 4; i++)
        make_objects(&s);
    while (s.data < s.end)
        any_step(&s, true);
    end_objects();
    if (failures)
        abort();
    return 0;
}
