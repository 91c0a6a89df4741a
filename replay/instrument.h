/* SPDX-License-Identifier: Apache-2.0
 * Rewriting PTX so that a kernel records what it does. The text stays as it is, line by line; behind its instructions others
 * are inserted that write records into a variable of the module. So it runs on every device, the real driver included.
 *
 * Inserted code has no branches: predicated stores do not change which lanes run together.
 *
 *   CWI_TRACE   chosen threads of one block record each result of each instruction
 *   CWI_WATCH   every thread records stores that touch a range of memory, and one chosen thread its loads from there
 *   CWI_STEP    chosen threads of one block record each instruction, its results and what it stores (instrument_step.c)
 *   CWI_CHECK   every access to memory is checked, and not executed where it is wrong; wrong ones are recorded, or all, with
 *               what synchronises threads (instrument_check.c)
 *   CWI_SCREEN  what CWI_CHECK looks for is looked for without records, and only whether it may be there is said (instrument_screen.c)
 *   CWI_BOUND   of each register and of memory it is recorded how far its value may be off (instrument_bound.c)
 *
 * The variable, CWI_VARIABLE, is little-endian u64 words: control (enum cwi_word), CWI_SLOTS cursors, then records. */
#ifndef CWI_INSTRUMENT_H
#define CWI_INSTRUMENT_H

#include "impl/base/buf.h"
#include "jit/jit.h"
#include "replay/dump.h"

#define CWI_VARIABLE "cudaway_locate_log"

enum { CWI_SLOTS = 1024, CWI_HEADER = 128 + CWI_SLOTS * 8 };    /* threads traced at once; bytes before the records */

enum cwi_word {                     /* of the control block */
    CWI_BLOCK,                      /* chosen: linear number of the block, first thread (linear in the block), how many */
    CWI_FIRST, CWI_COUNT,
    CWI_START,                      /* TRACE: records of a thread before this one are left out; STEP: of all before this one */
    CWI_ROOM,                       /* records that fit: TRACE: of one thread; WATCH, STEP: of all */
    CWI_ADDRESS, CWI_RAW,           /* WATCH: the range begins at ADDRESS + ~RAW: one that replay may change, and one that it may not */
    CWI_SIZE,                       /* WATCH: bytes of the range */
    CWI_SHARED,                     /* WATCH: 1: the range is in the chosen block's shared memory */
    CWI_CURSOR,                     /* WATCH, STEP: records made, also those that did not fit. (TRACE: in the slots.) */
};

/* A record of TRACE: key, ~value; of STEP: key | thread << 48, ~value. Of WATCH: key | thread << 48, block, ~address, ~value. Values are kept inverted, so that replay does
 * not take them for pointers that it has to change. */
enum cwi_kind {
    CWI_RESULT,                     /* component CWI_PART of what instruction CWI_ID made */
    CWI_ENTRY,                      /* of the function whose first instruction is CWI_ID */
    CWI_ARGUMENT,                   /* register parameter CWI_PART of it */
    CWI_LEAVE,                      /* ret or exit; value: 1 */
    CWI_BRANCH,                     /* guarded bra: whether it is taken; brx: the index */
    CWI_PLACE,                      /* address that a load or atomic reads; in shared memory its offset, with CWI_PLACE_SHARED */
    CWI_STORE, CWI_LOAD, CWI_ATOMIC,/* of WATCH; value: what is stored, loaded, or combined (the last operand) */
    CWI_COPY,                       /* of WATCH: cp.async; value: where from */
    CWI_COMPARE,                    /* of WATCH, before the record of an atom.cas: what it compares with; none where the result's register had that */
    CWI_AT,                         /* of STEP: before the instruction; part: CWI_AT_; value: the address that it accesses */
    CWI_SYMBOL,                     /* of STEP, behind ENTRY; value: address of cwi_step_symbol(CWI_PART) */
};
/* STEP also has ENTRY, ARGUMENT, RESULT, and STORE: register operand CWI_PART / 2 behind the address (its upper half: + 1). */
#define CWI_AT_EXECUTED 1u          /* the guard let it */
#define CWI_AT_SPACE(where) ((unsigned)(where) << 1)        /* enum cwi_where */
enum { CWI_STEP_SYMBOLS = 64, CWI_STEP_PARTS = 64 };
#define CWI_PLACE_SHARED (1ull << 63)
#define CWI_KEY(kind, part, id) ((uint64_t)(kind) << 40 | (uint64_t)(part) << 32 | (id))
#define CWI_ID(key) ((uint32_t)(key))
#define CWI_PART(key) ((unsigned)((key) >> 32) & 0xff)
#define CWI_KIND(key) ((enum cwi_kind)((key) >> 40 & 0xff))
#define CWI_THREAD(key) ((uint32_t)((key) >> 48))

enum cwi_mode { CWI_TRACE, CWI_WATCH, CWI_CHECK, CWI_STEP, CWI_BOUND, CWI_SCREEN };

/* Of CHECK. Behind the control words are CWI_START allocations, a word each for address and size. A record is one of WATCH's, with
 * kind CWI_ACCESS(what, space), and for accesses part: bytes | CWI_OUTSIDE | CWI_MISALIGNED. */
enum { CWI_TABLE = 512, CWI_OUTSIDE = 0x80, CWI_MISALIGNED = 0x40, CWI_BYTES = 0x3f };
enum cwi_access {
    CWI_READ, CWI_WRITE,                /* value of WRITE: what is written, its parts combined by xor */
    CWI_MODIFY,                         /* atomic */
    CWI_SYNC_READ, CWI_SYNC_WRITE,      /* volatile or with ordering */
    CWI_ACQUIRE,                        /* behind MODIFY and SYNC_READ */
    CWI_ARRIVE, CWI_PASS,               /* before and behind a barrier; value: number, or CWI_GRID | threads << 32, 0 for all; address: 1 where .aligned */
    CWI_WARP_ARRIVE, CWI_WARP_PASS,     /* the same of bar.warp.sync, and of mbarrier and the like for the block */
    CWI_MEMBER,                         /* instruction with a member mask: value */
    CWI_GONE,                           /* ret or exit, or a branch to one */
    CWI_UNWRITTEN,                      /* a register is read that nothing was written to */
};
#define CWI_GRID UINT32_MAX
enum cwi_where { CWI_NOWHERE, CWI_GLOBAL, CWI_SHARED_MEMORY, CWI_LOCAL, CWI_CONST, CWI_PARAMETERS };
#define CWI_ACCESS(what, where) ((enum cwi_kind)((what) | (where) << 4))
#define CWI_WHAT(kind) ((enum cwi_access)((unsigned)(kind) & 15))
#define CWI_WHERE(kind) ((enum cwi_where)((unsigned)(kind) >> 4))
/* CWI_SIZE of the control words: which records are made besides those of wrong accesses. */
enum { CWI_WANT_ACCESSES = 1, CWI_WANT_SYNC = 2 };

/* Of SCREEN: control words; CWI_TABLE entries of 32 bytes: an allocation's address, its size, the address of its owners and of its cells, 0 for
 * none (instrument_screen.c); an entry that nothing is in; for each entry a word of 4 bytes, that is not 0 behind the run if a plain store goes
 * there; and from CWI_SCREEN_SITES on for each instruction the offset of an entry, CWI_SCREEN_NONE at first. */
enum {
    CWI_ALLOCATIONS = CWI_START,        /* entries used */
    CWI_BEHIND = CWI_ROOM,              /* where cells of shared memory begin: bytes of dynamic shared memory that are the kernel's, rounded up */
    CWI_DYNAMIC = CWI_SHARED,           /* bytes of dynamic shared memory that are the kernel's */
    CWI_SHADOW = CWI_SIZE,              /* bytes of cells of shared memory */
    CWI_SUSPECT = CWI_CURSOR,           /* result: not 0: there may be a fault */
    CWI_SCREEN_NONE = 32 * CWI_TABLE,
    CWI_SCREEN_STORED = 128 + CWI_SCREEN_NONE + 32,
    CWI_SCREEN_SITES = CWI_SCREEN_STORED + 4 * CWI_TABLE,
};
enum {
    CWI_SCREEN_BOUNDS = 1,              /* of global memory; those of shared and local memory in any case */
    CWI_SCREEN_SHARED = 2, CWI_SCREEN_GLOBAL = 4,       /* races there */
    CWI_SCREEN_FRESH = 8,               /* reads of shared memory and of registers that nothing was written to */
    CWI_SCREEN_SYNC = 16,
    CWI_SCREEN_CELLS = CWI_SCREEN_SHARED | CWI_SCREEN_FRESH,    /* cells of shared memory */
};

/* Of BOUND: behind the control block CWI_START entries of 32 bytes, one a buffer: its begin, its size, and where in the variable the bounds of its
 * words are, an f64 each. CWI_ROOM: where those of shared memory are; CWI_SIZE: the bytes of each block; CWI_ADDRESS: where the threads' frames are. CWI_COUNT: the most atomic additions to
 * one element; where it is 0, the run counts them, and the slots hold counts instead of bounds. */

/* An instruction of the program; its place in the array is its number. */
struct cwi_inst {
    uint32_t text;
    const struct ptx_function *fn;
    const struct ptx_inst *in;
    size_t   begin, end;            /* in the text: from the guard to behind the semicolon; a ret that is not written is empty */
};

/* Of BOUND: where a thread has the bounds of what a function is given and gives. */
struct cwi_frame {
    const struct ptx_function *fn;
    uint64_t at;
    bool     open;                      /* while calls are looked for */
};

struct cwi_program {
    struct cwj_input *texts;        /* owned, as are name and text */
    struct ptx_module **modules;
    uint32_t ntexts;
    struct cwi_inst *insts;
    uint32_t ninsts;
    struct cwi_frame *frames;           /* BOUND: the functions that the kernel reaches; owned */
    uint32_t nframes;
    uint64_t frame_bytes;               /* BOUND: of a thread */
    unsigned screens, shift;            /* SCREEN: CWI_SCREEN_ bits; a cell stands for 4 >> shift bytes */
};

/* Parse `texts`, which become the program's own, also on failure. */
cw_result cwi_open(struct cwi_program *p, struct cwj_input *texts, size_t count, struct cwd_error *e) CW_MUST_CHECK;
void cwi_close(struct cwi_program *p);

/* Append text `i` as it is to run to `out`. `block`: of the launch of `kernel`;
 * with NULL for both, all kernels of the program are rewritten. `bytes`: of the variable. CW_ERR_UNSUPPORTED: a text that
 * cannot be rewritten. */
cw_result cwi_rewrite(const struct cwi_program *p, uint32_t i, enum cwi_mode mode, const char *kernel, const uint32_t block[3],
                      uint64_t bytes, struct cw_buf *out, struct cwd_error *e) CW_MUST_CHECK;

/* What CWI_BOUND cannot follow in the kernel and the functions that it calls, "recursive calls", at instruction *id; NULL: nothing. Once before the program is
 * rewritten so. */
const char *cwi_bound_refuses(struct cwi_program *p, const char *kernel, uint32_t *id);

/* Whether CWI_BOUND needs to know how many additions there are to an element. */
bool cwi_bound_counts(const struct cwi_program *p);

/* Whether the instruction allocates on the device's heap, which no dump holds. */
bool cwi_allocates(const struct ptx_inst *in);

/* The operand that is the instruction's result; NULL when it has none, or cwi_hidden. */
const struct ptx_operand *cwi_result(const struct ptx_inst *in);
/* Register `part` of the result (elements of vectors and pairs in their order, registers of 128 bits twice); UINT32_MAX: there is none. */
uint32_t cwi_result_register(const struct ptx_function *fn, const struct ptx_inst *in, unsigned part, bool *upper);
/* The n-th variable in shared or local memory that the function names, whose address STEP records; NULL: there are fewer. */
const struct ptx_symbol *cwi_step_symbol(const struct ptx_function *fn, unsigned n);
/* The address that STEP records, and its space, of which generic ones have one only when they run; NULL: none. */
const struct ptx_operand *cwi_step_address(const struct ptx_inst *in, uint8_t *space);
/* Whether the instruction has effects that no record shows: the parser keeps it as text, or it is a store by several threads
 * together. */
bool cwi_hidden(const struct ptx_inst *in);

/* The variable or parameter that a wrong load of CWI_CONST or CWI_PARAMETERS was nearest to, and how far from its begin; `value`: of the record. NULL: not known. */
const struct ptx_symbol *cwi_constant_nearest(const struct cwi_program *p, uint32_t id, uint64_t value, int64_t *offset);
/* Whether such a load is not checked: sizes are not known, or there are too many variables. */
bool cwi_constant_unknown(const struct ptx_function *fn, const struct ptx_inst *in);

/* The instruction as written, its blanks made one. */
void cwi_written(const struct cwi_program *p, uint32_t id, char *out, size_t size);
/* "blur.cu:41 (module.ptx:212: st.global.f32 [%rd9], %f12)"; `times` goes behind the line's number. */
void cwi_place_text(const struct cwi_program *p, uint32_t id, const char *times, char *out, size_t size);

#endif
