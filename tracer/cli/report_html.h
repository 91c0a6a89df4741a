/* SPDX-License-Identifier: Apache-2.0
 * The HTML form of `report`. */
#ifndef CW_TRACE_REPORT_HTML_H
#define CW_TRACE_REPORT_HTML_H

#include "tracer/cli/totals_private.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* Write the page of the recording in `dir`, whose totals are known. False after a message; whether the file took it all is the caller's
 * question. `manifest` may be NULL. */
bool report_html(FILE *out, const char *dir, const struct totals *t, const cJSON *manifest);

#endif
