/* SPDX-License-Identifier: Apache-2.0
 * What instrument.c, instrument_check.c and variant.c put text into PTX by. */
#ifndef CWI_INSTRUMENT_PRIVATE_H
#define CWI_INSTRUMENT_PRIVATE_H

#include "replay/instrument.h"

/* The next character of `set` outside of comments and strings, or NULL. */
const char *cwi_find(const char *s, const char *end, const char *set);
/* The body whose first instruction is at `at`: the last brace at depth 0 before it. */
const char *cwi_body(const char *text, size_t size, size_t at);
/* Where declarations may begin: behind the directives that come first; NULL: not found. */
const char *cwi_behind_directives(const char *s, const char *end);

struct rewrite {
    const struct cwi_program *p;
    enum cwi_mode mode;
    struct cw_buf *out;
    const struct ptx_function *fn;
    uint64_t room;                      /* WATCH: records */
    const struct ptx_function *unwritten_of;
    uint64_t threads;                   /* SCREEN: of a block */
    bool *unwritten;                    /* CHECK, SCREEN: by instruction of that function, whether it reads a register that nothing wrote;
                                         * then by register, whether one does */
};

/* Behind the declarations that the body at `body` begins with, before the first label; `first`: its first instruction. */
size_t cwi_behind_declarations(const char *text, size_t body, size_t first);

/* In inserted text, $ stands for the names' prefix, which no name of the program has. */
void cwi_put(struct rewrite *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* v = the bits of a register. */
void cwi_take(struct rewrite *w, uint32_t reg, bool upper);
/* g = its guard, and this thread is chosen (or just its guard). */
void cwi_keep_guard(struct rewrite *w, const struct ptx_inst *in, bool chosen);
uint8_t cwi_space(const struct ptx_inst *in, const struct ptx_operand *address);
/* `to` = an address operand's value. */
void cwi_take_address(struct rewrite *w, const struct ptx_operand *a, const char *to);

/* instrument_check.c: CWI_CHECK. */
void cwi_check_function(struct rewrite *w);
void cwi_check_prologue(struct rewrite *w);
void cwi_check_spaces(struct rewrite *w);       /* behind the declarations */
void cwi_check_instruction(struct rewrite *w, uint32_t id);

/* The memory that an instruction accesses, one place a thread. */
struct access {
    enum cwi_access what;
    const struct ptx_operand *address, *value;
    uint8_t space;
    unsigned bytes;
};
/* False: it accesses none, or none that is looked at. */
bool cwi_access_of(const struct ptx_inst *in, struct access *a);

/* instrument_constant.c: whether the instruction loads from constant memory, or from the kernel's parameters through a register, and that has to be checked. */
bool cwi_constant_of(const struct ptx_function *fn, const struct ptx_inst *in, struct access *a);
/* $v = the place that $a is in or nearest to, as cwi_constant_nearest reads it; $q: the access is inside. */
void cwi_constant_place(struct rewrite *w, const struct access *a);

/* v = a register or a number. */
void cwi_operand_value(struct rewrite *w, const struct ptx_operand *o);
bool cwi_is_barrier(const struct ptx_inst *in);
/* The mask operand of an instruction with .sync; NULL: none. */
const struct ptx_operand *cwi_member_mask(const struct ptx_inst *in);
/* Behind "@!%p ", at the opcode. */
const char *cwi_behind_guard(const char *s, const char *end);
/* Whether the instruction reads registers that nothing wrote; fills w->unwritten. */
bool cwi_reads_unwritten(struct rewrite *w, const struct ptx_inst *in);
/* A register that nothing wrote holds 0: some compilers refuse what depends on it. `user`: the rewrite. */
void cwi_write_register(void *user, uint32_t reg);

/* instrument_screen.c: CWI_SCREEN. */
void cwi_screen_functions(struct rewrite *w);
void cwi_screen_prologue(struct rewrite *w);
void cwi_screen_spaces(struct rewrite *w);      /* behind the declarations */
void cwi_screen_instruction(struct rewrite *w, uint32_t id);

/* instrument_step.c: CWI_STEP. */
void cwi_step_prologue(struct rewrite *w);
void cwi_step_entry(struct rewrite *w, uint32_t id);        /* behind the declarations */
void cwi_step_at(struct rewrite *w, uint32_t id, bool operands);
void cwi_step_results(struct rewrite *w, uint32_t id);

/* lo, hi: from the first to behind the last variable of the space that the kernel names; false: it names none, or some in blocks of its
 * body, which cannot be named where it begins. */
bool cwi_extent(struct rewrite *w, uint8_t space);

/* instrument_bound.c: CWI_BOUND. */
void cwi_bound_function(struct rewrite *w);
void cwi_bound_prologue(struct rewrite *w);
void cwi_bound_instruction(struct rewrite *w, uint32_t id);
/* What of an instruction is not followed, NULL: nothing. */
const char *cwi_bound_refusal(const struct ptx_function *fn, const struct ptx_inst *in);
/* $eX = how far an operand is off. */
void cwi_bound_take(struct rewrite *w, const struct ptx_operand *o, char x);
/* The bound of a register, where the instruction's guard lets it. */
void cwi_bound_set(struct rewrite *w, const struct ptx_inst *in, uint32_t reg, const char *from);

/* $vX = an operand's value, as f64. */
void cwi_bound_value(struct rewrite *w, const struct ptx_operand *o, unsigned type, char x);
/* $er = infinity if a source register, an address among them, is not exact; from operand `first` on. */
void cwi_bound_inexact(struct rewrite *w, const struct ptx_inst *in, unsigned first);
/* $sl = where the bounds of the access are, 0: nowhere; $u2 = the bound of what is read then; $p: there is a place; $a, $s: in shared memory its offset, and that it is there. */
void cwi_bound_slot(struct rewrite *w, const struct ptx_inst *in, const struct ptx_operand *a, uint8_t space);
/* All results' bounds. */
void cwi_bound_results(struct rewrite *w, const struct ptx_inst *in, const char *from);
/* Does it round, or read what is not followed? */
bool cwi_bound_unknown(const struct ptx_inst *in);

/* instrument_bound_matrix.c: matrix instructions. */
const char *cwi_bound_refuses_matrix(const struct ptx_inst *in);
void cwi_bound_matrix_functions(struct rewrite *w);
void cwi_bound_before_matrix(struct rewrite *w, const struct ptx_inst *in);
void cwi_bound_behind_matrix(struct rewrite *w, const struct ptx_inst *in);
void cwi_bound_before_rows(struct rewrite *w, const struct ptx_inst *in);      /* ldmatrix, stmatrix */
void cwi_bound_before_lines(struct rewrite *w, const struct ptx_inst *in);     /* wmma.load, wmma.store */

/* instrument_bound_call.c: calls, and what they are given and give. */
void cwi_bound_frame(struct rewrite *w);        /* at the begin of a function */
void cwi_bound_ret(struct rewrite *w);
bool cwi_bound_is_param(const struct ptx_inst *in);         /* a load or store of .param by name */
void cwi_bound_store_param(struct rewrite *w, const struct ptx_inst *in);
void cwi_bound_load_param(struct rewrite *w, const struct ptx_inst *in);
void cwi_bound_before_call(struct rewrite *w, const struct ptx_inst *in);
void cwi_bound_behind_call(struct rewrite *w, const struct ptx_inst *in);
/* Whether the kernel reaches the function. */
bool cwi_bound_follows(const struct cwi_program *p, const struct ptx_function *fn);

/* instrument.c: ld.param of a call's result, behind which code belongs that belongs behind the call. */
bool cwi_takes_result(const struct cwi_program *p, uint32_t id);

#endif
