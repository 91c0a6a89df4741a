/* SPDX-License-Identifier: Apache-2.0
 * The C functions that compiled code may call: those to which LLVM lowers operations, the float and double functions of math.h, and the
 * compiler's support routines for operations that the CPU lacks (128-bit division, half precision). */
#define _GNU_SOURCE
#include "jit/loader/loader.h"

#include <math.h>
#include <string.h>

/* libgcc; their exact types do not matter for taking the address. */
#define SUPPORT(X) X(__udivti3) X(__umodti3) X(__divti3) X(__modti3) X(__multi3) X(__ashlti3) X(__lshrti3) X(__ashrti3) \
    X(__floattisf) X(__floattidf) X(__floatuntisf) X(__floatuntidf) X(__fixsfti) X(__fixdfti) X(__fixunssfti) X(__fixunsdfti) \
    X(__extendhfsf2) X(__truncsfhf2) X(__truncdfhf2) X(__popcountdi2)
#define X(f) extern void f(void);
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
SUPPORT(X)
#undef X

#define BOTH(X) \
    X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(exp) X(exp2) \
    X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(floor) X(ceil) X(trunc) X(rint) X(nearbyint) X(round) \
    X(roundeven) X(fabs) X(erf) X(erfc) X(lgamma) X(tgamma) X(exp10) X(pow) X(atan2) X(fmod) X(remainder) X(hypot) \
    X(fmin) X(fmax) X(copysign) X(fdim) X(fma) X(ldexp) X(frexp) X(scalbn) X(ilogb) X(logb) X(nextafter) X(modf) \
    X(lrint) X(llrint) X(sincos)

#define ROW(f) { #f, (void *)f },
#define ROWS(x) { #x, (void *)x }, { #x "f", (void *)x##f },

const struct cwj_support cwj_support_functions[] = {
    BOTH(ROWS) SUPPORT(ROW)
    ROW(memcpy) ROW(memmove) ROW(memset) ROW(memcmp)
};
const unsigned cwj_support_count = sizeof cwj_support_functions / sizeof *cwj_support_functions;
