/* SPDX-License-Identifier: Apache-2.0
 * Fuzzer: signature files and code to search, separated by a zero byte; and archives to make signatures of, whose text must be one
 * that is read again, and is searched for in the archive. */
#include "impl/runtime/redirect/signature.h"
#include "tools/cudaway/signature_make.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is found lies inside. */
static void
search(const struct cw_signatures *s, const uint8_t *code, size_t size)
{
    struct cw_copy c = { 0 };
    if (!cw_signatures_match(s, code, size, 0x1000, &c))
        for (size_t i = 0; i < c.count; i++)
            if (c.functions[i].address < 0x1000 || c.functions[i].address - 0x1000 > size || c.functions[i].size > size - (c.functions[i].address - 0x1000))
                abort();
    free(c.functions);
    free(c.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setenv("CUDAWAY_LOG", "off", 1);
    struct cw_signatures s;
    unsigned line;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    if (!cw_signatures_parse((const char *)data, n, &s, &line)) {
        if (zero)
            search(&s, zero + 1, size - n - 1);
        cw_signatures_finish(&s);
    }
    struct cw_buf b;
    struct signature_made made;
    cw_buf_init(&b);
    if (!signature_make("archive", (const char *)data, size, &b, &made)) {
        if (cw_signatures_parse(b.data, b.size, &s, &line))
            abort();
        if (s.count != made.functions)
            abort();
        search(&s, data, size);
        cw_signatures_finish(&s);
    }
    cw_buf_finish(&b);
    return 0;
}
