/* SPDX-License-Identifier: Apache-2.0
 * Sequences of any functions of the driver with any arguments, on one thread (any_call.h). */
#include "tests/driver/any_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice s = { .data = data, .end = data + size };
    if (!size || size > 4096)
        return 0;
    lenient = true;
    OK(cuInit(0));
    make_contexts();
    while (s.data < s.end) {
        switch (rnd(&s) % 8) {
        case 0: (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS])); break;
        case 1: context_step(&s); break;
        case 2:
        case 3: work_step(&s); break;
        default: any_step(&s); break;
        }
    }
    end_everything();
    forget_any();
    if (failures)
        abort();
    return 0;
}
