/* SPDX-License-Identifier: Apache-2.0
 * A target of the emitter: one constant struct in jit/emit/target/NAME/. Files outside of those folders query its capabilities and call its
 * hooks; they never ask which target it is. A hook may be NULL if its comment says so. */
#ifndef CWJ_EMIT_TARGET_H
#define CWJ_EMIT_TARGET_H

#include "jit/emit/emit.h"
#include "jit/emit/ops.h"

struct mufu_target;                 /* arith/mufu_private.h */

struct emit_target {
    const char *name;               /* as diagnostics call it */
    const struct emit_op *ops;      /* by ptx_op: its column of jit/ptx/ops.def */
    const struct emit_sreg *sregs;  /* by ptx_sreg: its column of jit/ptx/sregs.def */

    /* ---- functions and values ---- */
    bool takes_text;                /* its emitters accept instructions that the parser keeps as text */
    bool passes_gang;               /* functions take the gang, and its mask in vector shape, before their parameters */
    bool array_words;               /* array parameters and results travel as their words, which stay in registers */
    bool convergent_calls;          /* LLVM must not move calls to where more or fewer lanes are active */
    bool switched_calls;            /* indirect calls of few functions become switches, so that LLVM can inline those */
    bool undefined_slots;           /* registers written before they are read need no initial value */
    bool near_addresses;            /* 32-bit addresses of local memory and constants in modules with 64-bit ones: memory/addr32.c */
    uint8_t storage_space;          /* LLVM's address space of allocas */
    uint8_t constant_space;         /* and of constant tables */
    /* Called before an instruction's emitter. True: this hook has emitted it, now or together with an earlier one. NULL: never. */
    bool (*claims)(struct emit *e, const struct ptx_inst *in);
    /* Called with the builders at the start of the entry block: load the context. Values for the whole function are made with entry_b.
     * leave: in the exit block, before the return. Both may be NULL. */
    void (*enter)(struct emit *e);
    void (*leave)(struct emit *e);
    /* NULL, or called at the end of the entry block, after everything else is emitted; must branch to the function's first block. */
    void (*start)(struct emit *e);
    /* `exit` in a device function, where the hardware ends a thread: code behind it is unreachable. NULL: masks exclude exited lanes. */
    void (*exit_thread)(struct emit *e);
    /* The lanes with `guard` (NULL: all active ones) are about to exit the kernel; called only if emit_session.counts_exited or
     * cluster_barriers. */
    void (*leaving)(struct emit *e, LLVMValueRef guard);
    void (*bad_call)(struct emit *e);                            /* an indirect call of an invalid token: end the kernel */
    bool (*runtime_call)(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *args, unsigned nargs,
                         LLVMValueRef *result);                  /* vprintf, malloc, free, __assertfail */

    /* Some lane's access is not aligned to its size: end the kernel. NULL: accesses are not checked (a GPU does it itself, or does not). */
    void (*misaligned)(struct emit *e);
    /* A thread's local memory lies at addresses from 0 to less than 2^19, the most that CUDA has; local_fault ends the kernel for other addresses.
     * NULL: it lies elsewhere. Its accesses are checked for alignment as well then. */
    void (*local_fault)(struct emit *e);

    /* End the kernel unless it may touch `size` bytes at a scalar address. Called if emit.bounded alone. */
    void (*bound)(struct emit *e, LLVMValueRef address, ptx_space space, unsigned size);

    /* A value about which LLVM must know nothing, in a block that it must neither copy nor skip; the target runs lanes of a warp in step.
     * NULL: they are independent of each other, or masks keep them apart. */
    LLVMValueRef (*fixed)(struct emit *e, LLVMValueRef value);

    /* ---- memory. Addresses are integers; values have either shape unless a comment says otherwise ---- */
    bool plain_atomics;             /* ordered accesses need not be volatile as well */
    bool counting_atomics;          /* atom.inc and atom.dec are instructions */
    const char *const *scopes;      /* by ptx_scope: LLVM's synchronisation scopes; NULL: the scope of the whole system serves for all */
    /* The address of a variable or kernel parameter, as a scalar i64 in its own space. Not called for .local. */
    LLVMValueRef (*symbol)(struct emit *e, const struct ptx_symbol *sym);
    /* The constant i64 for the address of variable `id` in an initialiser. NULL: emit_initialise is not used. */
    LLVMValueRef (*address_word)(struct emit *e, uint32_t id, const struct ptx_reloc *r);
    /* Scalar integer address in a space -> LLVM pointer for a load or store. */
    LLVMValueRef (*pointer)(struct emit *e, LLVMValueRef address, ptx_space space);
    /* i64 between generic and `space`; isspacep. NULL if the target emits these instructions, and those that need them, as themselves. */
    LLVMValueRef (*to_generic)(struct emit *e, LLVMValueRef address, ptx_space space);
    LLVMValueRef (*from_generic)(struct emit *e, LLVMValueRef address, ptx_space space);
    LLVMValueRef (*isspacep)(struct emit *e, LLVMValueRef address, ptx_space space);
    /* Per-lane storage of a .local variable: pointer to `width` copies of `size` bytes each. */
    LLVMValueRef (*local_storage)(struct emit *e, uint64_t size, uint32_t align);
    /* Exchange the 128 bits at a pointer if they equal `want`; always if want is NULL. Returns the old i128. NULL: LLVM's instructions do
     * it. */
    LLVMValueRef (*swap128)(struct emit *e, LLVMValueRef cell, LLVMValueRef want, LLVMValueRef fresh);
    /* mbarrier_object: the object at an address operand, for `mbarrier`, which does one operation on it and returns the previous state, or
     * the result of a test. NULL if the target emits the instructions as themselves. */
    LLVMValueRef (*mbarrier_object)(struct emit *e, const struct ptx_operand *o, ptx_space space);
    LLVMValueRef (*mbarrier)(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef object, LLVMValueRef value);
    /* Call the run-time function of that name (jit/abi/host.h, jit/builtins/bulk.c) for one lane. NULL as above. */
    void (*bulk)(struct emit *e, const char *name, LLVMValueRef *args, unsigned n);
    /* yield: at the head of a loop that waits for other threads. step (width 1): before an access to memory that the threads of a warp
     * share. NULL if the hardware does it. */
    void (*yield)(struct emit *e);
    void (*step)(struct emit *e);
    /* step before a store. Returns i1: does this lane store? Of lanes that store to one address together, the last does. */
    LLVMValueRef (*step_store)(struct emit *e, LLVMValueRef address);

    /* ---- arithmetic ---- */
    bool overflow_results;          /* a sum and its carry are one instruction */
    bool unsigned_quotients;        /* signed 32-bit division is done with unsigned integers */
    bool ordered_zeros;             /* llvm.minnum and maxnum of floats order zeros */
    bool halves;                    /* f16 sums, products and fused products, scalar or packed, are instructions with IEEE 754's results
                                     * except for NaN */
    bool default_nan;               /* an f64 operation without a NaN operand gives FP_NAN_F64 by itself if it gives NaN */
    bool annotates_floats;              /* annotations (jit/emit/annotation.h), which passes expand, say which NaN an f64 result is, and
                                         * where subnormals of f32 are flushed */
    /* Quotient or remainder of two i64. NULL: LLVM's instructions do. */
    LLVMValueRef (*divide64)(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool is_signed, bool rem);
    /* The target's own f32 approximation of rcp .. ex2 if requested, else NULL; the hook may be NULL, too. */
    LLVMValueRef (*approx)(struct emit *e, ptx_op op, LLVMValueRef a);
    const struct mufu_target *mufu; /* its own paths for the special function unit; NULL: none */
};

/* Processor features, for targets that are this CPU: struct emit.features. */
enum emit_feature {
    EMIT_FEATURE_F16 = 1,           /* conversions from and to f16 are instructions */
    EMIT_FEATURE_PERMUTE = 2,       /* llvm.x86.avx512.vpermi2var.d.512 is */
};

#endif
