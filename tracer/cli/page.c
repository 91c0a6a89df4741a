/* SPDX-License-Identifier: Apache-2.0
 * See page.h. The build defines PAGE_DIR and PAGE_D3. */
#include "tracer/cli/page.h"

#define EMBED(name, file)                                                                                              \
    __asm__(".pushsection .rodata\n.globl " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n")

EMBED(page_html, PAGE_DIR "/page.html");
EMBED(page_css, PAGE_DIR "/page.css");
EMBED(page_js, PAGE_DIR "/page.js");
EMBED(page_d3, PAGE_D3);
