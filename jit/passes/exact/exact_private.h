/* SPDX-License-Identifier: Apache-2.0
 * What the passes of this folder share: what they ask of values (value.c), and groups of annotated values whose rare results one test finds (group.c). */
#ifndef CWJ_PASSES_EXACT_EXACT_PRIVATE_H
#define CWJ_PASSES_EXACT_EXACT_PRIVATE_H

#include "jit/emit/annotation.h"
#include "jit/passes/exact/exact.h"

#include <llvm-c/Core.h>
#include <stddef.h>

/* Does v call a function whose name begins with one of these? NULL ends the list. */
bool exact_calls(LLVMValueRef v, const char *const *prefixes);

/* x, where v is x with canonical NaN, of floats of this kind, else NULL. *nan: the constant. */
LLVMValueRef exact_canonical(LLVMValueRef v, LLVMTypeKind kind, LLVMValueRef *nan);
/* Such a v becomes r; its comparison goes if it was there for that alone. */
void exact_replace_canonical(LLVMValueRef v, LLVMValueRef r);

/* ---- group.c ------------------------------------------------------------------------------------------------------------------- */

enum { GROUP_VALUES = 32, GROUP_INPUTS = 48, GROUP_LATER = 32 };

/* value: annotated results in the order of the program, and what `joins` let in; input: registers that their operations read besides; later: what uses
 * values and may stand behind the group's code. */
struct group {
    const struct group_rules *rules;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    bool wave64;
    unsigned n, ninput, nlater;
    LLVMValueRef value[GROUP_VALUES], input[GROUP_INPUTS], later[GROUP_LATER];
};

/* What a pass knows of the values that it gathers. NULL: nothing of the kind. */
struct group_rules {
    enum emit_annotation first, last;
    unsigned values[2], registers[2];           /* how many at most, by wave64; registers: values and inputs */
    bool eager;                                 /* groups are to be large: integer code and conversions that use values wait, too */
    /* Replaces an annotation that needs no code, and erases it. */
    bool (*drop)(struct group *g, LLVMValueRef v);
    /* Can v, an operation of two operands without an annotation, be a value? */
    bool (*joins)(LLVMValueRef v);
    /* Needs an operand of a value no register of its own? */
    bool (*free)(const struct group *g, LLVMValueRef operand);
    /* Is it all the same to this user what a value's rare result is? */
    bool (*blind)(const struct group *g, LLVMValueRef user);
    /* v begins a group of its own: where does the one before it end? */
    LLVMValueRef (*restart)(struct group *g, LLVMValueRef v);
    /* Computes exact[i] of the values that are used at or behind `at` (out[i]), by code in front of it. It may split the block there. */
    void (*compute)(struct group *g, LLVMValueRef at, const bool *out, LLVMValueRef *exact);
};

/* Gathers the annotations of a module and replaces them by code. False: there are none. */
bool group_run(LLVMModuleRef m, bool wave64, const struct group_rules *rules);

/* Of a value: its result as the processor computes it, and the operands of its operation. */
bool group_is_annotated(const struct group *g, LLVMValueRef v);
LLVMValueRef group_result(const struct group *g, LLVMValueRef v);
unsigned group_operands(const struct group *g, LLVMValueRef v);
LLVMValueRef group_operand(const struct group *g, LLVMValueRef v, unsigned k);
int group_find(const LLVMValueRef *value, unsigned n, LLVMValueRef v);         /* -1: it is none of these */

#endif
