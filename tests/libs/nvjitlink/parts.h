/* SPDX-License-Identifier: Apache-2.0
 * What the tests of nvJitLink link: a kernel, f, that calls a function, g, of another part; 5 becomes 19. */
#ifndef TESTS_NVJITLINK_PARTS_H
#define TESTS_NVJITLINK_PARTS_H

enum { PTX = 2, LTOIR = 3, ANY = 10 };      /* nvJitLinkInputType */

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
static const char kernel[] = HEAD
    ".extern .func (.param .b32 r) g(.param .b32 x);\n"
    ".visible .entry f(.param .u64 p) {\n"
    " .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];\n"
    " { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), g, (a); ld.param.b32 %r2, [b]; }\n"
    " st.global.u32 [%rd1], %r2; ret; }\n";
static const char function[] = HEAD
    ".visible .func (.param .b32 r) g(.param .b32 x) {\n"
    " .reg .b32 %r<2>; ld.param.b32 %r1, [x]; mad.lo.s32 %r1, %r1, 3, 4; st.param.b32 [r], %r1; ret; }\n";
/* What theirs.c takes for LTO-IR: how it begins, then the PTX that comes of it. */
#define LTO "\xed\x43\x4e\x7f"

#endif
