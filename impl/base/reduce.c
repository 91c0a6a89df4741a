/* SPDX-License-Identifier: Apache-2.0
 * See reduce.h. */
#include "impl/base/reduce.h"

#include <stdlib.h>
#include <string.h>

bool
cw_reduce(uint32_t n, bool *off, bool (*still)(void *user), void *user)
{
    bool progress = false, *was = malloc(n + (size_t)1);
    for (uint32_t size = n / 2 ? n / 2 : 1; was && n && size; size /= 2) {
        for (uint32_t from = 0; from < n; from += size) {
            uint32_t to = from + size < n ? from + size : n;
            bool any = false;
            for (uint32_t i = from; i < to; i++) {
                any = any || !off[i];
                was[i] = off[i];
                off[i] = true;
            }
            if (any && still(user))
                progress = true;
            else
                memcpy(off + from, was + from, (to - from) * sizeof *off);
        }
    }
    free(was);
    return progress;
}
