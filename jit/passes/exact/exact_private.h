/* SPDX-License-Identifier: Apache-2.0
 * Shared by the passes of this folder: queries of values (value.c), and groups of annotated values that share one test for rare results
 * (group.c). */
#ifndef CWJ_PASSES_EXACT_EXACT_PRIVATE_H
#define CWJ_PASSES_EXACT_EXACT_PRIVATE_H

#include "jit/emit/annotation.h"
#include "jit/passes/exact/exact.h"

#include <llvm-c/Core.h>
#include <stddef.h>

typedef LLVMValueRef V;

#ifdef __cplusplus
extern "C" {
#endif

/* Does v call a function whose name begins with one of these? NULL ends the list. */
bool exact_calls(LLVMValueRef v, const char *const *prefixes);

/* If v is x of this kind with canonical NaN: x, and the constant in *nan. Else NULL. */
LLVMValueRef exact_canonical(LLVMValueRef v, LLVMTypeKind kind, LLVMValueRef *nan);
/* Replace such a v by r. Its comparison goes if nothing else uses it. */
void exact_replace_canonical(LLVMValueRef v, LLVMValueRef r);

/* block.cpp: for two instructions of one block. */
bool exact_comes_before(LLVMValueRef a, LLVMValueRef b);
/* Split the block before the instruction, which is not a PHI. The first part branches to the second, which is returned. */
LLVMBasicBlockRef exact_split_block(LLVMValueRef instruction);

/* ---- group.c ------------------------------------------------------------------------------------------------------------------- */

enum { GROUP_VALUES = 32, GROUP_INPUTS = 48, GROUP_LATER = 32 };

/* value: annotated results in program order, and others that `joins` admits; input: registers that their operations read besides; later:
 * users of values that may move behind the group's code. */
struct group {
    const struct group_rules *rules;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    bool wave64;
    unsigned n, ninput, nlater;
    LLVMValueRef value[GROUP_VALUES], input[GROUP_INPUTS], later[GROUP_LATER];
};

/* A pass's knowledge of the values that it gathers. A hook may be NULL. */
struct group_rules {
    enum emit_annotation first, last;
    unsigned values[2], registers[2];           /* limits, by wave64; registers: values and inputs */
    bool eager;                                 /* make groups large: integer code and conversions that use values move behind the group,
                                                 * too */
    /* Replaces and erases an annotation that needs no code. */
    bool (*drop)(struct group *g, LLVMValueRef v);
    /* Can v, a binary operation without an annotation, be a value of a group? */
    bool (*joins)(LLVMValueRef v);
    /* Does an operand of a value need no register? */
    bool (*free)(const struct group *g, LLVMValueRef operand);
    /* Is this user indifferent to a value's rare result? */
    bool (*blind)(const struct group *g, LLVMValueRef user);
    /* v begins a new group: where does the one before it end? */
    LLVMValueRef (*restart)(struct group *g, LLVMValueRef v);
    /* Computes exact[i] for the values that are used at or behind `at` (out[i]), with code before it. May split the block there. */
    void (*compute)(struct group *g, LLVMValueRef at, const bool *out, LLVMValueRef *exact);
};

/* Gathers the annotations of a module and replaces them by code. Returns false if there are none. */
bool group_run(LLVMModuleRef m, bool wave64, const struct group_rules *rules);

/* For a value: its result as the processor computes it, and the operands of its operation. */
bool group_is_annotated(const struct group *g, LLVMValueRef v);
LLVMValueRef group_result(const struct group *g, LLVMValueRef v);
unsigned group_operands(const struct group *g, LLVMValueRef v);
LLVMValueRef group_operand(const struct group *g, LLVMValueRef v, unsigned k);
int group_find(const LLVMValueRef *value, unsigned n, LLVMValueRef v);         /* -1: not found */

#ifdef __cplusplus
}
#endif
#endif
