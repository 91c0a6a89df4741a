/* SPDX-License-Identifier: Apache-2.0
 * Ahead-of-time compilation for every target, see cwj_api.aot. Private to jit/. */
#ifndef CWJ_DRIVER_AOT_H
#define CWJ_DRIVER_AOT_H

#include "jit/jit.h"

cw_result cwj_aot(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

#endif
