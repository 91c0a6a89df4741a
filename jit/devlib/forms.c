/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "forms": one element of a matrix product of the forms in forms.h. Arguments: the words of A's row, those of B's column, C's
 * element. Elsewhere LLVM would make each of these of cwd_mma_float, for every program, in three times what the rest takes. */
#include "jit/devlib/forms.h"
#include "jit/devlib/mma.h"

#define ARGS_4(x) uint32_t x##0, uint32_t x##1, uint32_t x##2, uint32_t x##3
#define ARGS_8(x) ARGS_4(x), uint32_t x##4, uint32_t x##5, uint32_t x##6, uint32_t x##7
#define LIST_4(x) { x##0, x##1, x##2, x##3 }
#define LIST_8(x) { x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7 }

#define F(name, o, size, to, ta, tb, tc, words)                                                                     \
    __attribute__((noinline)) uint32_t cwd_forms_##name(ARGS_##words(r), ARGS_##words(l), uint32_t c)                 \
    {                                                                                                                 \
        const struct cwh_matrix x = { .op = PTX_OP_##o, .k = size, .a = PTX_##ta, .b = PTX_##tb, .c = PTX_##tc, .d = PTX_##to }; \
        const uint32_t row[] = LIST_##words(r), col[] = LIST_##words(l);                                              \
        return mma_float(&x, CWD_FORMS_MODEL, row, col, c);                                                           \
    }
CWD_FORMS(F)
