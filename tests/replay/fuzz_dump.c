/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target of the reader: the input is a whole archive, and once more the manifest of an archive that is otherwise
 * sound, with members of the names that a small dump has. */
#include "replay/dump.h"
#include "tests/replay/pack.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try(const void *data, size_t size)
{
    struct cwd_dump d;
    struct cwd_error e;
    if (cwd_read_memory(data, size, 0, 64u << 20, &d, &e) == CW_OK)
        cwd_finish(&d);
    if (cwd_read_memory(data, size, CWD_HEADERS, 64u << 20, &d, &e) == CW_OK)
        cwd_finish(&d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cw_buf b, sums;
    static const char zero[64];
    try(data, size);
    if (size > 1u << 20)
        return 0;
    cw_buf_init(&b);
    cw_buf_init(&sums);
    pack_member(&b, &sums, "manifest.json", data, size);
    pack_member(&b, &sums, "module.ptx", "// empty", 8);
    pack_member(&b, &sums, "params.bin", zero, 16);
    pack_member(&b, &sums, "before/0", zero, 64);
    pack_member(&b, &sums, "after/0", zero, 64);
    pack_end(&b, &sums);
    if (!b.failed)
        try(b.data, b.size);
    cw_buf_finish(&b);
    cw_buf_finish(&sums);
    return 0;
}
