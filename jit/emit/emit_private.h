/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of jit/emit that emit functions (not by the arithmetic). */
#ifndef CWJ_EMIT_EMIT_PRIVATE_H
#define CWJ_EMIT_EMIT_PRIVATE_H

#include "jit/emit/attribute.h"
#include "jit/emit/emit.h"
#include "jit/emit/target.h"
#include "jit/analysis/flow.h"
#include "jit/analysis/waits.h"
#include "jit/link/program.h"

#include "impl/base/buf.h"

typedef LLVMValueRef V;             /* in private headers alone, for the files that build code */

/* What park.c has added to a function. */
struct emit_park {
    uint32_t reg;                   /* u32: the number of the loop to which a lane returns, 0: none */
    uint32_t *heads, nheads;        /* blocks to which parked lanes return */
    uint32_t *latches, nlatches;    /* blocks from which they do */
};

/* Where slots become 0. */
struct emit_places {
    uint32_t *at;                   /* per slot: the place, a block at whose begin it does; FLOW_NONE: the entry */
    uint32_t *next;                 /* ...: the next slot of that place, FLOW_NONE: none */
    uint32_t *first;                /* per place: its first slot */
};

/* State of the function being emitted. */
struct emit_fn {
    struct flow flow;
    struct emit_park park;
    bool *latch;                    /* per block: in park.latches; NULL: none is */
    LLVMValueRef fn;
    LLVMBasicBlockRef entry, exit;
    LLVMBuilderRef entry_b;         /* positioned in `entry`: allocas and values that dominate everything */
    LLVMValueRef *slot;             /* per register */
    LLVMTypeRef  *slot_type;
    LLVMValueRef *slot_base;        /* AFFINE64 registers: the 32-bit base; `slot` has the offset */
    LLVMValueRef *mask_slot;        /* per block: lanes waiting for it; NULL where the block is not masked */
    struct emit_places clear;       /* of mask slots (by masked block) and pending flags (by unmasked block) */
    struct emit_places initial;     /* of registers */
    struct emit_places local_initial;   /* of scalar .param variables; the places are instructions, in front of which they do */
    uint32_t *joined;               /* per block: 1 + the last position of the run whose end tests its pending flag */
    LLVMValueRef *pending;          /* per unmasked block reached from masked ones: i1 slot, set when lanes join there */
    LLVMBasicBlockRef *bb;          /* per block */
    LLVMValueRef entry_mask;        /* lanes that run the function; NULL: all */
    LLVMValueRef *local;            /* per fn->locals: storage of .local and .param variables */
    LLVMValueRef *param;            /* per fn->params of a device function: storage */
    LLVMValueRef *ret;              /* per fn->rets: storage */
    LLVMValueRef carry;             /* slot of CC.CF */
    const struct ptx_inst *chain, *chain_end;   /* nvptx: these instructions have been emitted (emit_carry_chain) */
    const struct ptx_inst *paired_from; /* amdgcn: bits of the instructions from here on that have been emitted (mma_pair.c) */
    uint64_t paired;
    LLVMValueRef guard;             /* guard of the instruction being emitted (i1, either shape), or NULL */
    uint32_t block;                 /* block being emitted */
    bool is_kernel, linear_x;

    /* Only if a device function of the program has `exit` (emit_session.exits): */
    LLVMValueRef exited;            /* slot shared by all functions of the gang: lanes that have exited */
    LLVMValueRef alive;             /* slot: lanes of entry_mask that have not; vector shape only */
    LLVMValueRef block_mask;        /* mask at the start of the block being emitted; NULL: all */
    LLVMBasicBlockRef bail;         /* target when no lane of the block is left */

    LLVMValueRef cluster_rank, cluster_shared;  /* amdgcn, with emit_session.clusters: i32; address of the shared memory of rank 0, i64 */
    LLVMValueRef stack, stack_top;  /* amdgcn: scratch for `alloca`, and an i32 slot with the bytes in use; NULL without `alloca` */

    /* host target: context, loaded once */
    LLVMValueRef gang, block_ctx, launch, params, image, shared;
    LLVMValueRef cluster_place;     /* with emit_session.clusters: i64, from rank 0's shared memory, which `shared` is then, to the block's own */
    LLVMValueRef local_top;         /* host, bounded: what of local memory was free when the function began */
    LLVMValueRef window, local_base, local_low, shared_size;   /* with 32-bit addresses */
    LLVMValueRef tid[3];
    LLVMValueRef matrix[5];         /* target/host/matrix.c: scratch for registers passed to and from the engine */
    LLVMValueRef exchanged;         /* width 1: for values of warp_exchange that nobody reads */
    bool near_known, near_used;     /* of emit_is_near */
    LLVMValueRef dummy;             /* storage for the accesses of inactive lanes */
};

/* Module-level state of one compilation: every struct emit is the first member of one. */
struct emit_session {
    struct emit e;
    const struct cwh_variant *variant;
    const struct cwj_closure *closure;  /* of the kernel being compiled (host; amdgcn with `clusters`) */
    LLVMValueRef *functions;        /* per program function id: LLVM function or NULL */
    LLVMTypeRef *function_types;
    bool *needed;                   /* per program function id: a kernel of this module can reach it */
    LLVMValueRef function_table;    /* [nfuncs x { function, number of its signature }], or NULL without indirect calls */
    struct emit_signature_number {
        LLVMTypeRef type;
        uint32_t number;
    } *signatures;                  /* of the functions in it; a hash table, signature_mask + 1 places */
    uint32_t signature_mask, nsignatures;
    LLVMValueRef *variables;        /* per link id: LLVM global (amdgcn) */
    uint32_t kernel;
    uint32_t sites;                 /* numbering of warp_exchange sites */
    bool uses_fibers, yields;       /* host: as uses_fibers and waits in struct cwh_code_info */
    uint32_t split_barriers;        /* barriers without .aligned that lanes of a gang may reach separately */
    bool exits;                     /* some device function has `exit` */
    bool soft_barriers;             /* amdgcn: numbered barriers are used */
    bool all_blocks;                /* amdgcn: as in cwj_aot_options */
    uint32_t pressure;              /* amdgcn: flow_pressure of the last kernel */
    bool clusters;                  /* amdgcn: as in cwj_aot_options; host: .shared addresses count from rank 0's memory */
    bool cluster_barriers;          /* amdgcn: the same, and some function has barrier.cluster */
    bool counts_exited;            /* amdgcn: some barrier waits for all threads except exited ones */
    bool module_image;              /* amdgcn: variables are in the module's data segment, see cwj_aot_options */
    bool launch_numbers;            /* amdgcn: kernels take CWJ_AMD_LAUNCH more bytes of arguments */
    bool declare_only;              /* amdgcn: see emit_simt */
    uint8_t matrix_model;           /* amdgcn: index into matrix_models (jit/builtins/core/matrix_core.h) */
    bool textures_native;           /* amdgcn: as in cwj_aot_options */
    bool matrix_native;             /* amdgcn: as in cwj_aot_options */
    bool lockstep;                  /* width 1: lanes of a warp access memory in lockstep */
    bool lanes_wait;                /* lanes of a warp may wait for each other where only independent lanes make progress (park.c) */
    const struct ptx_function *flat;    /* amdgcn: the kernel being emitted, if emit_flatten made it: its lanes run in rounds if they have to */
    struct waits *waits;            /* facts of the functions in `needed`; NULL: not needed so far */
    bool in_step;                   /* the kernel relies on that without saying so (cwj_needs_lockstep) */
    struct cw_buf text, constraints;    /* nvptx: of the instruction being emitted */
};

static inline struct emit_session *
emit_session(struct emit *e)
{
    return (struct emit_session *)e;
}

static inline LLVMValueRef
i32(struct emit *e, uint32_t v)
{
    return LLVMConstInt(e->i32, v, false);
}

/* ops.c: emit an instruction by the target's emitter; read a special register. */
void emit_one(struct emit *e, const struct ptx_inst *in);
LLVMValueRef emit_sreg(struct emit *e, ptx_sreg r);

/* function.c */
void emit_function(struct emit *e, const struct ptx_function *fn, LLVMValueRef llvm_fn, bool is_kernel);
LLVMValueRef emit_alloca(struct emit *e, LLVMTypeRef type, unsigned align, const char *name);   /* zeroed, in the entry block */
LLVMBasicBlockRef emit_new_block(struct emit *e, const char *name);
void emit_goto(struct emit *e, LLVMBasicBlockRef bb);
/* On to a new block where `c` holds. Returns the other one, to which emit_goto goes at the end. */
LLVMBasicBlockRef emit_if(struct emit *e, LLVMValueRef c, const char *then, const char *behind);
/* Where `ok` does not hold, which is hardly ever, end the kernel. */
void emit_demand(struct emit *e, LLVMValueRef ok, void (*end)(struct emit *e), const char *bad, const char *good);
LLVMValueRef emit_iota(struct emit *e, LLVMTypeRef scalar);     /* <0, 1, 2, ...> */

/* mask.c */
LLVMTypeRef  emit_mask_storage(struct emit *e);
LLVMValueRef emit_mask_load(struct emit *e, LLVMValueRef slot);
void         emit_mask_store(struct emit *e, LLVMValueRef slot, LLVMValueRef mask);
LLVMValueRef emit_any(struct emit *e, LLVMValueRef mask);       /* i1: some lane is set */
LLVMValueRef emit_all(struct emit *e, LLVMValueRef mask);
LLVMValueRef emit_mask_bits(struct emit *e, LLVMValueRef mask); /* i32, a bit per lane; NULL mask: all lanes of the gang */
LLVMValueRef emit_mask_from_bits(struct emit *e, LLVMValueRef bits32);
LLVMValueRef emit_mask_and(struct emit *e, LLVMValueRef a, LLVMValueRef b); /* either may be NULL = all */
LLVMValueRef emit_full_mask(struct emit *e, LLVMValueRef mask); /* never NULL: all-ones vector */
/* Run body(lane, user) once per active lane, in lane order: a loop over the bits of the mask. `lane` is an i32. */
void emit_for_lanes(struct emit *e, LLVMValueRef mask, void (*body)(struct emit *e, LLVMValueRef lane, void *user), void *user);
/* After a call, in which lanes may have exited the kernel. */
void emit_drop_exited(struct emit *e);
/* Does a device function have `exit`? One behind a trap, where compilers put it, is never executed and does not count. */
bool emit_has_exits(const struct cwj_program *p, const struct cwj_closure *closure);

/* park.c: the function, or a copy in which lanes that wait for others of their warp let them run. */
const struct ptx_function *emit_park(struct emit *e, const struct ptx_function *fn, struct emit_park *park);
/* Would lanes of the function still wait for each other? */
bool emit_park_leaves(struct emit *e, const struct ptx_function *fn);
/* Facts of the functions that are emitted; collected at the first call. */
struct waits *emit_wait_facts(struct emit *e);

/* flatten.c: the kernel as one function with all that it calls, in e->arena. NULL: it has none; *why says why. */
const struct ptx_function *emit_flatten(struct emit *e, const struct ptx_function *kernel, const char **why);

/* affine.c: values base + step * lane. Emit an instruction that writes an affine register; read one as a vector. */
bool emit_affine(struct emit *e, const struct ptx_inst *in);
LLVMValueRef emit_affine_read(struct emit *e, uint32_t reg);
/* If operand o is an address that moves by `stride` bytes per lane: the address of lane 0 (scalar i64), and whether that holds for all
 * lanes without wrap-around (scalar i1). */
bool emit_affine_address(struct emit *e, const struct ptx_operand *o, uint64_t stride, LLVMValueRef *first, LLVMValueRef *ok);

/* memory.c: limit a fence or an atomic instruction to the PTX scope (if none is given, the device) on targets with scopes (amdgcn, where
 * that of a cluster of several blocks is the device); elsewhere it stays at the whole system. Returns the instruction. */
LLVMValueRef emit_scoped(struct emit *e, LLVMValueRef instruction, ptx_scope scope);
/* Give a fence or an atomic instruction one of LLVM's synchronisation scopes by its name ("": the whole system). */
void emit_set_scope(LLVMValueRef instruction, const char *scope);

/* memory.c */
/* The address of element i of a vector of elements of `size` bytes. */
LLVMValueRef emit_element_address(struct emit *e, LLVMValueRef address, unsigned i, unsigned size);
/* The space of an access to o: the instruction's, or if it names none, that of a shared variable. */
ptx_space emit_effective_space(const struct ptx_inst *in, const struct ptx_operand *o);
LLVMValueRef emit_address(struct emit *e, const struct ptx_operand *o, ptx_space space);    /* i64, either shape */
/* Ends the kernel where an active lane's address is no multiple of `align`; for targets that check, and spaces whose addresses a program computes. */
void emit_check_alignment(struct emit *e, LLVMValueRef address, ptx_space space, unsigned align);
/* Load/store of one value of a representation type at i64 addresses of either shape, under the current mask. */
LLVMValueRef emit_load(struct emit *e, LLVMValueRef address, LLVMTypeRef scalar, ptx_space space, unsigned align);
void emit_store(struct emit *e, LLVMValueRef address, LLVMValueRef value, ptx_space space, unsigned align);

/* i64 addresses of per-lane storage: base + lane * size, in vector shape when width > 1. */
LLVMValueRef emit_lane_address(struct emit *e, LLVMValueRef storage, uint64_t size);
uint64_t emit_lane_stride(const struct ptx_symbol *s);  /* bytes from one lane's copy to the next */
void emit_invariant(struct emit *e, LLVMValueRef load);

/* call.c */
/* Call the external function of this name, declaring it if needed. At most 16 arguments. */
LLVMValueRef emit_external(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n);
LLVMValueRef emit_declare(struct emit *e, uint32_t function_id);
/* Address 0 faults on a device; for LLVM it would be undefined, and code behind it unreachable. Functions that differ in this are not
 * inlined. */
void         emit_null_faults(struct emit *e, LLVMValueRef function);
/* The storage of a .param variable of the function, a parameter or a result. */
LLVMValueRef emit_param_storage(struct emit *e, const struct ptx_symbol *sym);
bool emit_param_is_scalar(const struct ptx_symbol *sym);
LLVMTypeRef emit_param_type(struct emit *e, const struct ptx_symbol *sym);

LLVMTypeRef emit_signature(struct emit *e, const struct ptx_function *fn);
void emit_bind_params(struct emit *e);
void emit_return(struct emit *e);

/* operand.c: does the kernel being compiled request clusters? */
bool emit_in_explicit_cluster(struct emit *e);
/* The variable that a symbol names. NULL, with a diagnostic: nothing defines it. */
const struct cwj_link_var *emit_link_var(struct emit *e, const struct ptx_symbol *sym);
/* The offset of a variable in the shared memory of the kernel being compiled, whose closure is known. */
uint32_t emit_shared_offset(struct emit *e, const struct ptx_symbol *sym);
/* i1: does an address, relative to where `place` counts from, lie in a constant variable? */
LLVMValueRef emit_in_constant(struct emit *e, LLVMValueRef address, LLVMValueRef (*place)(struct emit *e, uint32_t id, const struct cwj_link_var *v));
/* The address of a variable, parameter or function, as an i64 in struct emit_target's representation. */
LLVMValueRef emit_symbol_place(struct emit *e, const struct ptx_operand *o);
/* What a slot that lanes write separately holds when the lanes that execute the instruction write v. */
LLVMValueRef emit_merged(struct emit *e, LLVMValueRef v, LLVMTypeRef type, LLVMValueRef slot);

/* addr32.c: conversion between the addresses of 32-bit modules (struct emit.addr32), which memory and registers hold, and those that
 * accesses use, i64 in struct emit_target's representation; either shape. enter: load the values needed, as struct emit_target's. */
void         emit_addr32_enter(struct emit *e);
LLVMValueRef emit_widen(struct emit *e, LLVMValueRef address, ptx_space space);
LLVMValueRef emit_widen_or_null(struct emit *e, LLVMValueRef address);  /* generic; 0 stays 0: for run-time functions */
LLVMValueRef emit_addr32(struct emit *e, LLVMValueRef address, ptx_space space);   /* i64 below 2^32 */
LLVMValueRef emit_addr32_symbol(struct emit *e, const struct ptx_symbol *s, LLVMValueRef place);
void         emit_addr32_cvta(struct emit *e, const struct ptx_inst *in);
/* addr32.c: addresses of local memory and constants that a module with 64-bit addresses keeps in 32 bits (clang's -fcuda-short-ptr,
 * alloca.u32), which suffices on NVIDIA's GPUs. On the host device the upper half comes from something nearby: the stack, or the module's
 * variables. near: i32 to i64. is_near: does the function being emitted make such addresses? */
LLVMValueRef emit_near(struct emit *e, LLVMValueRef low, ptx_space space);
bool         emit_is_near(struct emit *e);

/* session.c */
/* Make a module: body(e, user) fills it. e->arena is guarded meanwhile. Returns e->result; if that is CW_OK, the caller owns *module, else it is
 * NULL. */
typedef void emit_body(struct emit *e, void *user);
cw_result emit_module(struct cwj_program *p, LLVMContextRef llvm, emit_body *body, void *user, LLVMModuleRef *module, struct cwj_diags *diags) CW_MUST_CHECK;
emit_body emit_amdgcn_module, emit_nvptx_module;        /* user: a const struct emit_simt */
/* The ids of the functions in s->needed. */
uint32_t *emit_needed(struct emit *e, uint32_t *n);
/* The functions `funcs`, callees before callers except in recursion. */
uint32_t *emit_callees_first(const struct cwj_program *p, const uint32_t *funcs, uint32_t nfuncs, struct cw_arena *a);
/* Make s->function_table: by token, the functions in s->needed whose address is taken. Others (of signatures that no kernel here calls) are null. */
void emit_function_table(struct emit *e, const char *name);
LLVMTypeRef emit_function_table_entry(struct emit *e);
/* The number of a signature in it; EMIT_NO_SIGNATURE: no function there has it. */
enum { EMIT_NO_SIGNATURE = -1 };
uint32_t emit_signature_number(struct emit *e, LLVMTypeRef type);
/* memory/async.c: the number of bytes that a cp.async reads; NULL: all. */
LLVMValueRef emit_async_size(struct emit *e, const struct ptx_inst *in);
/* warp.c: the source lane of shfl and whether it is valid; the results of vote and match, from the bits of the lanes for which the predicate holds, or
 * which have the same value, and of those that take part; one step of redux. */
LLVMValueRef emit_shuffle_source(struct emit *e, const struct ptx_inst *in, LLVMValueRef lane, LLVMValueRef b, LLVMValueRef c,
                                 LLVMValueRef *valid);
void emit_vote(struct emit *e, const struct ptx_inst *in, LLVMValueRef set, LLVMValueRef active);
void emit_match(struct emit *e, const struct ptx_inst *in, LLVMValueRef same, LLVMValueRef active);
LLVMValueRef emit_redux_identity(struct emit *e, const struct ptx_inst *in);
LLVMValueRef emit_redux_step(struct emit *e, const struct ptx_inst *in, LLVMValueRef a, LLVMValueRef b);

/* initializer.c, for targets whose variables are LLVM globals. A variable that holds addresses is a packed struct of byte runs and 64-bit words;
 * function tokens are plain bytes. variable_type: its LLVM type. initialise: give g its initialiser; an address that LLVM cannot express is an
 * error. */
LLVMTypeRef emit_variable_type(struct emit *e, const struct cwj_link_var *v);
void emit_initialise(struct emit *e, const struct cwj_link_var *v, LLVMValueRef g);

#endif
