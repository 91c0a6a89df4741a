/* SPDX-License-Identifier: Apache-2.0
 * What programs call to print on AMD devices, in PTX. output.c says what it writes. */
#include "impl/hip/output_ptx.h"

const char hip_device_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 8 .u64 cudaway_fifo;\n"
    /* Take `need` bytes: the record's address, or 0. */
    ".func (.param .b64 at) cudaway_take(.param .b32 need)\n{\n"
    " .reg .b64 %a<4>; .reg .b32 %r<6>; .reg .pred %p;\n"
    " mov.u64 %a0, cudaway_fifo; ld.global.u64 %a1, [%a0]; mov.u64 %a2, 0;\n"
    " setp.eq.u64 %p, %a1, 0; @%p bra $none;\n"
    " ld.param.u32 %r0, [need]; atom.global.add.u32 %r1, [%a1], %r0; ld.global.u32 %r2, [%a1+4];\n"
    " setp.gt.u32 %p, %r1, %r2; @%p bra $none;\n"
    " sub.u32 %r3, %r2, %r1; setp.lt.u32 %p, %r3, %r0; @%p bra $none;\n"
    " cvt.u64.u32 %a2, %r1; add.u64 %a2, %a2, %a1; add.u64 %a2, %a2, 8;\n"
    "$none:\n st.param.b64 [at], %a2; ret;\n}\n"
    /* The size of the arguments follows from the format: %[flags][width][.precision][size]type, each at its alignment. */
    ".visible .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 args)\n{\n"
    " .reg .b64 %a<5>; .reg .b32 %c, %b, %s, %n, %t, %low, %res, %k; .reg .pred %p, %q;\n"
    " ld.param.u64 %a0, [format]; ld.param.u64 %a1, [args]; mov.u64 %a2, %a0;\n"
    " mov.u32 %s, 0; mov.u32 %n, 0; mov.u32 %res, -1;\n"
    "$next:\n"
    " ld.u8 %c, [%a2]; add.u64 %a2, %a2, 1;\n"
    " setp.eq.u32 %p, %c, 0; @%p bra $counted;\n"
    " setp.ne.u32 %p, %c, 37; @%p bra $next;\n"
    " mov.u32 %b, 4;\n"
    "$spec:\n"
    " ld.u8 %c, [%a2]; add.u64 %a2, %a2, 1;\n"
    " setp.eq.u32 %p, %c, 0; @%p bra $counted;\n"
    " setp.eq.u32 %p, %c, 37; @%p bra $next;\n"
    " setp.eq.u32 %p, %c, 42; @%p bra $star;\n"                                         /* * */
    " setp.eq.u32 %p, %c, 108; setp.eq.or.u32 %p, %c, 106, %p; setp.eq.or.u32 %p, %c, 122, %p;\n" /* l j z */
    " setp.eq.or.u32 %p, %c, 116, %p; setp.eq.or.u32 %p, %c, 76, %p; @%p bra $long;\n"  /* t L */
    " setp.eq.u32 %p, %c, 45; setp.eq.or.u32 %p, %c, 43, %p; setp.eq.or.u32 %p, %c, 32, %p;\n" /* - + blank */
    " setp.eq.or.u32 %p, %c, 35, %p; setp.eq.or.u32 %p, %c, 46, %p; setp.eq.or.u32 %p, %c, 104, %p; @%p bra $spec;\n" /* # . h */
    " sub.u32 %t, %c, 48; setp.lt.u32 %p, %t, 10; @%p bra $spec;\n"
    " or.b32 %low, %c, 32;\n"
    " setp.eq.u32 %p, %c, 115; setp.eq.or.u32 %p, %c, 112, %p;\n"                        /* s p */
    " sub.u32 %t, %low, 101; setp.lt.or.u32 %p, %t, 3, %p; setp.eq.or.u32 %p, %low, 97, %p; @%p bra $eight;\n" /* e f g a */
    " setp.eq.u32 %p, %c, 99; @%p bra $four;\n"                                          /* c */
    " setp.eq.u32 %p, %c, 100; setp.eq.or.u32 %p, %c, 105, %p; setp.eq.or.u32 %p, %c, 117, %p;\n" /* d i u */
    " setp.eq.or.u32 %p, %c, 111, %p; setp.eq.or.u32 %p, %low, 120, %p; @%p bra $argument;\n" /* o x */
    " bra $next;\n"
    "$star:\n add.u32 %s, %s, 3; and.b32 %s, %s, -4; add.u32 %s, %s, 4; bra $spec;\n"
    "$long:\n mov.u32 %b, 8; bra $spec;\n"
    "$eight:\n mov.u32 %b, 8; bra $argument;\n"
    "$four:\n mov.u32 %b, 4;\n"
    "$argument:\n"
    " sub.u32 %t, %b, 1; add.u32 %s, %s, %t; not.b32 %t, %t; and.b32 %s, %s, %t; add.u32 %s, %s, %b; add.u32 %n, %n, 1;\n"
    " bra $next;\n"
    "$counted:\n"
    " add.u32 %s, %s, 7; and.b32 %s, %s, -8; add.u32 %t, %s, 16;\n"
    " { .param .b32 need; .param .b64 at; st.param.b32 [need], %t; call (at), cudaway_take, (need); ld.param.b64 %a3, [at]; }\n"
    " setp.eq.u64 %q, %a3, 0; @%q bra $done;\n"
    " st.global.u32 [%a3+4], 0; st.global.u64 [%a3+8], %a0; mov.u64 %a4, %a3; mov.u32 %k, 0;\n"
    "$copy:\n"
    " setp.ge.u32 %p, %k, %s; @%p bra $copied;\n"
    " ld.u32 %c, [%a1]; st.global.u32 [%a4+16], %c; add.u64 %a1, %a1, 4; add.u64 %a4, %a4, 4; add.u32 %k, %k, 4; bra $copy;\n"
    "$copied:\n"
    " st.release.sys.global.u32 [%a3], %t; mov.u32 %res, %n;\n"
    "$done:\n st.param.b32 [result], %res; ret;\n}\n"
    ".visible .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 width)\n{\n"
    " .reg .b64 %a<3>; .reg .b32 %r<3>; .reg .pred %p;\n"
    " mov.u32 %r0, 72;\n"
    " { .param .b32 need; .param .b64 at; st.param.b32 [need], %r0; call (at), cudaway_take, (need); ld.param.b64 %a0, [at]; }\n"
    " setp.eq.u64 %p, %a0, 0; @%p bra $trap;\n"
    " st.global.u32 [%a0+4], 1;\n"
    " ld.param.u64 %a1, [message]; st.global.u64 [%a0+16], %a1; ld.param.u64 %a1, [file]; st.global.u64 [%a0+24], %a1;\n"
    " ld.param.u64 %a1, [function]; st.global.u64 [%a0+32], %a1; ld.param.u32 %r1, [line]; st.global.u32 [%a0+40], %r1;\n"
    " mov.u32 %r1, %ctaid.x; st.global.u32 [%a0+44], %r1; mov.u32 %r1, %ctaid.y; st.global.u32 [%a0+48], %r1;\n"
    " mov.u32 %r1, %ctaid.z; st.global.u32 [%a0+52], %r1; mov.u32 %r1, %tid.x; st.global.u32 [%a0+56], %r1;\n"
    " mov.u32 %r1, %tid.y; st.global.u32 [%a0+60], %r1; mov.u32 %r1, %tid.z; st.global.u32 [%a0+64], %r1;\n"
    " st.release.sys.global.u32 [%a0], %r0;\n"
    "$trap:\n trap;\n ret;\n}\n";
