/* SPDX-License-Identifier: Apache-2.0
 * Names and texts of cw_result. */
#include "impl/base/result.h"

static const char *const names[] = {
#define X(name, text) #name,
    CW_RESULT_MAP(X)
#undef X
};

static const char *const texts[] = {
#define X(name, text) text,
    CW_RESULT_MAP(X)
#undef X
};

const char *
cw_result_name(cw_result r)
{
    return (unsigned)r < CW_RESULT_COUNT ? names[r] : "CW_ERR_?";
}

const char *
cw_result_text(cw_result r)
{
    return (unsigned)r < CW_RESULT_COUNT ? texts[r] : "unknown result code";
}
