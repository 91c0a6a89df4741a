/* SPDX-License-Identifier: Apache-2.0
 * Sequences of driver calls that a fuzzer chooses, on one thread: each byte is a choice of at_random.h. Wrong handles must be recognised,
 * results must be among those that the call can have, and with all contexts gone nothing is left (the sanitizer looks). */
#include "tests/driver/at_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice s = { .data = data, .end = data + size };
    if (!size || size > 4096)
        return 0;
    OK(cuInit(0));
    make_contexts();
    while (s.data < s.end) {
        unsigned what = rnd(&s) % 8;
        if (what == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        else if (what == 1)
            context_step(&s);
        else
            work_step(&s);
    }
    end_everything();
    if (failures)
        abort();
    return 0;
}
