/* SPDX-License-Identifier: Apache-2.0
 * The parts of the HTML report, embedded when the program is built. */
#ifndef CW_TRACE_PAGE_H
#define CW_TRACE_PAGE_H

/* Each ends with a zero byte. d3 is Debian's libjs-d3. */
extern const char page_html[], page_css[], page_js[], page_d3[];

#endif
