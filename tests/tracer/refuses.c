/* SPDX-License-Identifier: Apache-2.0
 * For LD_PRELOAD: files are refused from the call on that REFUSE_FROM counts. */
#define _GNU_SOURCE
#define REFUSE_FILES
#include "tests/refused.h"

#include <stdatomic.h>

static bool
fails(const void *caller)
{
    static atomic_long calls;
    const char *from = getenv("REFUSE_FROM");
    return from && !is_exempt(caller) && atomic_fetch_add(&calls, 1) >= atol(from);
}
