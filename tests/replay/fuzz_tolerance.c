/* SPDX-License-Identifier: Apache-2.0
 * The reader of tolerances takes any bytes; what it takes can be asked, and an error is one line. */
#include "replay/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cwd_tolerances t = { 0 };
    struct cwd_error e = { "" };
    cw_result r = cwd_tolerances_parse("fuzz", (const char *)data, size, &t, &e);
    if (r != CW_OK) {
        if (!*e.text || strchr(e.text, '\n') || t.rules || t.text)
            abort();
        return 0;
    }
    for (uint32_t i = 0; i < t.count; i++) {
        const struct cwd_allowance *a = &t.rules[i].allowance;
        if (!isfinite(a->absolute) || a->absolute < 0 || !isfinite(a->relative) || a->relative < 0)
            abort();
        /* A rule without stars matches its own words. */
        const struct cwd_allowance *found = cwd_tolerances_find(&t, t.rules[i].kernel, t.rules[i].buffer, NULL);
        if (found < &t.rules[i].allowance || found > &t.rules[t.count - 1].allowance)
            abort();
    }
    cwd_tolerances_find(&t, "", NULL, "0");
    cwd_tolerances_finish(&t);
    return 0;
}
