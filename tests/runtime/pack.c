/* SPDX-License-Identifier: Apache-2.0
 * pack OUT NAME=SM=PTX-FILE...: a fatbin container with these PTX texts, as the compiler embeds one into a program. */
#include "impl/base/file.h"
#include "tests/jit/link/fatbin_writer.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
    struct cw_buf b;
    cw_buf_init(&b);
    size_t start = fatbin_begin(&b);
    for (int i = 2; i < argc; i++) {
        char *sm = strchr(argv[i], '='), *path = sm ? strchr(sm + 1, '=') : NULL, *text;
        size_t size;
        if (!path)
            return 2;
        *sm++ = *path++ = 0;
        if (cw_file_read(path, (size_t)64 << 20, &text, &size) != CW_OK) {
            fprintf(stderr, "pack: cannot read %s\n", path);
            return 2;
        }
        fatbin_entry(&b, 1, (unsigned)atoi(sm), WRITE_LZ4, argv[i], text, size + 1);   /* the text's own NUL is part of it */
        free(text);
    }
    fatbin_end(&b, start);
    int rc = argc > 2 && cw_file_write_atomic(argv[1], b.data, b.size, 0644) == CW_OK ? 0 : 2;
    cw_buf_finish(&b);
    return rc;
}
