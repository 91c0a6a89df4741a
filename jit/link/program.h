/* SPDX-License-Identifier: Apache-2.0
 * A linked program, for the emitter, the loader and the API. Private to jit/.
 *
 * Function ids number every function with a body, then each referenced name that is undefined or provided by the runtime; an id gives the
 * function's token (CWH_FUNC_TOKEN). Variable ids ("link ids") number every global, const, opaque and shared variable, of module and of
 * function scope. After linking, ptx_symbol.link_id holds the program-wide id of the definition, also for .extern declarations and aliases;
 * for names without one (parameters, .local) and for undefined references it is CWJ_NO_ID.
 *
 * Immutable after cwj_program_create, except the modules' lazily built CFGs and the fields that `lock` guards. */
#ifndef CWJ_LINK_PROGRAM_H
#define CWJ_LINK_PROGRAM_H

#include "jit/jit.h"

#include <pthread.h>

#define CWJ_NO_ID UINT32_MAX

/* Names that the runtime defines, however the program declares them. */
enum cwj_runtime_fn { CWJ_RT_NONE, CWJ_RT_VPRINTF, CWJ_RT_MALLOC, CWJ_RT_FREE, CWJ_RT_ASSERTFAIL };

struct cwj_function {
    const char *name;
    struct ptx_function *fn;        /* has_body, or a declaration (runtime or undefined) */
    uint8_t  runtime;               /* enum cwj_runtime_fn */
    bool     undefined;             /* no body, and not the runtime's (allow_undefined) */
    bool     calls_indirect;        /* has a call through a register */
    bool     address_taken;         /* by an instruction or an initialiser anywhere in the program */
    uint32_t signature;             /* number of its signature: the sizes of parameters and results; see cwj_link_scan */
    const uint32_t *targets;        /* signatures that it calls through registers, ascending */
    uint32_t ntargets;
    const uint32_t *callees;        /* ids of directly called functions and of .calltargets, ascending */
    uint32_t ncallees;
    const uint32_t *vars;           /* link ids of variables named in the body, ascending */
    uint32_t nvars;
};

/* The variable of a link id. */
struct cwj_link_var {
    const char *name;
    const struct ptx_symbol *def;   /* the definition; an .extern declaration if dynamic or undefined */
    uint8_t  space;                 /* PTX_SPACE_GLOBAL, _CONST or _SHARED; opaque references are GLOBAL */
    bool     dynamic;               /* extern unsized .shared: starts at cwj_shared_layout.dynamic_offset */
    bool     undefined;             /* referenced, not defined (allow_undefined); never dynamic */
    bool     module_scope;          /* not declared in a function's body */
    bool     pinned;                /* shared, named by an initialiser: has the same offset in every kernel */
    bool     ambiguous;             /* another non-shared variable has this name */
    uint32_t align;                 /* the greatest of its definition and declarations */
    uint64_t offset;                /* in the data segment (global, const, opaque); pinned: in shared memory */
};

/* Shared memory of one kernel. */
struct cwj_shared_layout {
    uint32_t size;                  /* bytes of the sized variables */
    uint32_t align;                 /* greatest alignment, at least 16 */
    uint32_t dynamic_offset;        /* size, rounded up to the alignment of the unsized arrays (16 if there are none) */
    uint32_t nvars;
    const struct cwj_shared_slot { uint32_t link_id, offset; } *vars;  /* ascending link_id; unsized ones have dynamic_offset */
};

/* The call closure of a kernel. */
struct cwj_closure {
    const uint32_t *funcs;          /* ids, the kernel first, then ascending; runtime and undefined ones included */
    uint32_t nfuncs;
    bool indirect;                  /* a call through a register is reachable: funcs includes all functions whose address is taken */
    bool recursive;                 /* the call graph has a cycle, or may have one through a register */
    struct cwj_shared_layout shared;
    uint8_t progress;                  /* enum cwj_progress + 1; 0: unknown yet; under the program's lock */
};

struct cwj_program {
    struct cw_arena arena;
    struct cw_arena scratch;        /* while it is made; both are guarded then */
    pthread_mutex_t lock;           /* held while compiling; guards CFGs and the disk cache's file names */
    struct ptx_module **modules;
    uint32_t nmodules;
    const struct ptx_module *device_runtime;    /* the last of them, or NULL: no module calls it */
    struct cwj_function *funcs;
    uint32_t nfuncs;
    uint32_t nsignatures;
    struct cwj_link_var *link_vars;
    uint32_t nlink_vars;
    uint32_t *pinned, npinned;      /* those of link_vars that are, ascending */
    struct cwj_kernel *kernels;
    struct cwj_closure *closure;        /* per kernel */
    uint32_t *kernel_func;          /* function id, per kernel */
    uint32_t nkernels;
    struct cwj_variable *vars;      /* those in the data segment, in its order */
    uint32_t nvars;
    struct cwj_image image;
    uint8_t content[32];            /* SHA-256 of the inputs, for the cache */
    struct cwj_input *inputs;       /* nmodules copies in the arena if CUDAWAY_JIT_DUMP is set, else NULL */
};

cw_result cwj_program_create(const struct cwj_input *in, size_t count, bool allow_undefined, struct cwj_program **out,
                             struct cwj_diags *diags) CW_MUST_CHECK;
void cwj_program_destroy(struct cwj_program *p);

/* addr32: addresses have 32 bits, in all modules of the program. */
bool cwj_program_is_addr32(const struct cwj_program *p);
/* NULL if id is out of range, as CWJ_NO_ID is. */
const struct cwj_function *cwj_program_function(const struct cwj_program *p, uint32_t id);
const struct cwj_link_var *cwj_program_link_var(const struct cwj_program *p, uint32_t id);
/* Offset of a shared variable in the layout; false if the kernel does not have it. */
bool cwj_shared_offset(const struct cwj_shared_layout *l, uint32_t link_id, uint32_t *offset);

/* icf.c, identical code folding: for each kernel in `take` (one element per kernel of the program), same[kernel] becomes the first one with
 * the same code, usually itself. */
cw_result cwj_link_icf(const struct cwj_program *p, const bool *take, uint32_t *same) CW_MUST_CHECK;

/* The name of variable `link_id` in the PTX of the nvptx target: its own, followed by its number if another variable of the data segment
 * has the same name. */
void cwj_nvptx_variable_name(const struct cwj_program *p, uint32_t link_id, struct cw_buf *out);

/* ---- between the files of jit/link -------------------------------------------------------------------------------------- */

/* resolve.c: give every symbol its link_id; fills funcs and link_vars (name, fn/def, space, flags). */
cw_result cwj_link_resolve(struct cwj_program *p, bool allow_undefined, struct cwj_diags *diags) CW_MUST_CHECK;
/* callgraph.c: callees, vars, address_taken; then closure.funcs of every kernel. */
void cwj_link_scan(struct cwj_program *p);
void cwj_link_closure(struct cwj_program *p, uint32_t kernel);
/* layout.c */
cw_result cwj_link_image(struct cwj_program *p, struct cwj_diags *diags) CW_MUST_CHECK;
cw_result cwj_link_shared(struct cwj_program *p, uint32_t kernel, struct cwj_diags *diags) CW_MUST_CHECK;

/* Walk an operand and everything inside it. */
void cwj_walk_operand(const struct ptx_operand *o, void (*visit)(void *user, const struct ptx_operand *o), void *user);

/* The function with the most instructions among those that these kernels reach; kernels[k] for each, NULL: of all. NULL if there is none. */
const struct ptx_function *cwj_program_largest(const struct cwj_program *p, const bool *kernels);

#endif
