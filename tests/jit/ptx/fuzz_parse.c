/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: build with clang and -DCUDAWAY_FUZZ=ON, run on tests/ptx/corpus. */
#include "tests/jit/ptx/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_text((const char *)data, size);
    return 0;
}
