/* SPDX-License-Identifier: Apache-2.0
 * What amdgcn_flush.c and amdgcn_mma.c leave for the end of AMD's code generator (jit/host/amd_flush.cpp): pieces of inline assembly whose text is no assembly but one of
 * these. There they become instructions; until then each is one, whatever its length, and that is most of what they would cost. Their registers are
 * vector registers, with numbers: what comes out, then what goes in, without what is tied to something that comes out. */
#ifndef CWJ_EMIT_FLUSH_CODE_H
#define CWJ_EMIT_FLUSH_CODE_H

/* Out: the least of 2 * bits - 1 of all f32 that go in, and two that are overwritten. */
#define EMIT_FLUSH_TEST "cwj_flush_test"

/* Operations follow, each behind a space: f, or + * or # (a fused product) with two or three operands between commas: the number of a register, behind ~
 * where its subnormals count as zeros, all that behind - where it is negated. Out: the result of each in this order, with zeros in place of subnormals, f's of what
 * is tied to it; and four that are overwritten and
 * a scalar one, a mask of lanes, that is, too. */
#define EMIT_FLUSH_AGAIN "cwj_flush_again"

/* Dot products of words of a row and of columns. Behind it, each behind a space: LLVM's name of the instruction; 1 where the row's elements have a sign (for
 * instructions that can choose), the same for the columns', how many words, and 1 for sums that saturate, once. Out: a sum for each column, tied to what it is added to,
 * and as many that are overwritten where sums saturate. In: the row's words, each column's. */
#define EMIT_DOTS "cwj_dots"

/* And single instructions, which are LLVM's assembly: they become instructions in front of the printer, which would start an assembler for each. Out, in
 * and a number or a scalar register. */
#define EMIT_MAX3 "v_max3_f32 $0, $2, $1, $2"
#define EMIT_MAX3_GFX12 "v_max3_num_f32 $0, $2, $1, $2"

#endif
