/* SPDX-License-Identifier: Apache-2.0
 * Between the files that emit a function: function.c, slots.c, mask.c and branch.c. */
#ifndef CWJ_EMIT_FUNCTION_PRIVATE_H
#define CWJ_EMIT_FUNCTION_PRIVATE_H

#include "jit/emit/emit_private.h"

/* slots.c */
void emit_make_slots(struct emit *e, struct emit_fn *f);            /* and the basic blocks */
void emit_clear_slots(struct emit *e, uint32_t block);              /* those whose place is this block: no lane waits */
void emit_initialise_registers(struct emit *e, uint32_t block);     /* those whose place is this block become 0 */
void emit_initialise_locals(struct emit *e, uint32_t inst);         /* those whose place is in front of this instruction */

/* mask.c */
LLVMValueRef emit_together_mask(struct emit *e);                    /* lanes that run an unmasked block */
LLVMValueRef emit_current_mask(struct emit *e);                     /* of the block being emitted, without lanes that have exited since it began */
void emit_add_exited(struct emit *e, LLVMValueRef lanes);           /* these lanes exit the kernel; NULL: all */

/* branch.c */
LLVMValueRef emit_guard(struct emit *e, const struct ptx_inst *in); /* the value of a guard, with its negation: i1 in either shape */
void emit_enter_together(struct emit *e, uint32_t b);               /* from an unmasked block, enter block b with all lanes */
/* The terminator of a masked block, whose mask is e->mask: moves lanes to other masks, emits no branch. */
void emit_leave_masked(struct emit *e, uint32_t b, const struct ptx_inst *last);
/* The terminator of an unmasked block. Divergent edges lead into masked blocks or to the block where the lanes join. */
void emit_leave_unmasked(struct emit *e, uint32_t b, const struct ptx_inst *last);
/* After the masked block at position p: repeat the loops that end here, else go to the next masked position, else to where the lanes join. */
void emit_next_position(struct emit *e, uint32_t p);

#endif
