/* SPDX-License-Identifier: Apache-2.0
 * Which function of a target emits a matrix instruction (PTX ISA "Warp Level Matrix Multiply-Accumulate Instructions"). */
#include "jit/emit/emit_private.h"

bool
emit_matrix(struct emit *e, const struct ptx_inst *in, const struct emit_matrix_target *target)
{
    void (*emit)(struct emit *, const struct ptx_inst *);
    switch (in->op) {
    case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: case PTX_OP_WMMA_MMA: emit = target->product; break;
    case PTX_OP_WMMA_LOAD: case PTX_OP_WMMA_STORE:  emit = target->fragment; break;
    case PTX_OP_LDMATRIX: case PTX_OP_STMATRIX:     emit = target->rows; break;
    case PTX_OP_MOVMATRIX:                          emit = target->transpose; break;
    default:
        return false;
    }
    if (in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT)
        emit_unsupported(e, in, "a form that came after sm_90");
    else
        emit(e, in);
    return true;
}
