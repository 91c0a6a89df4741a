/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target for the image reader: clang -fsanitize=fuzzer,address; see CMakeLists.txt (CUDAWAY_FUZZ). */
#include "jit/link/fatbin.h"

static int
found(void *user, const struct cwj_image_entry *e)
{
    volatile unsigned sum = 0;
    for (size_t i = 0; i < e->size; i++)
        sum += (unsigned char)e->data[i];
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cwj_diags d;
    cwj_diags_init(&d);
    cw_result r = cwj_image_scan(data, size, found, NULL, &d);
    (void)r;
    cwj_diags_finish(&d);
    return 0;
}
