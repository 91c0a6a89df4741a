/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptx-fuzz: random valid PTX programs, run on two devices and compared.
 *
 *   seed --gen.c--> struct program (a tree) --print.c--> PTX text --side.c--> two child processes, one a device
 *   a difference --reduce.c--> the same tree with less in it --print.c--> a corpus test
 *
 * A program is a tree so that anything can be taken out of it and what remains is a program still: every register has a
 * value from the start, loops are bounded by counters that nothing else writes, member masks are made when printing from what
 * the tree still holds, and code that needs a barrier brings it along. Everything is in the program's arena. */
#ifndef PTX_FUZZ_H
#define PTX_FUZZ_H

#include "impl/base/arena.h"
#include "impl/base/buf.h"
#include "jit/ptx/ir.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- random numbers: the same on every machine ---- */

struct rng { uint64_t s; };
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);                  /* 0 when n is 0 */
static inline bool rng_percent(struct rng *r, uint32_t p) { return rng_below(r, 100) < p; }
uint64_t rng_hash(uint64_t a, uint64_t b);

/* ---- registers ---- */

enum reg_class { C_H, C_R, C_F, C_S, C_D, C_G, C_P, NCLASSES };
enum { MAX_POOL = 10 };                                         /* registers of a class */
struct class_info { const char *prefix, *type; uint8_t bytes, count; };
extern const struct class_info class_info[NCLASSES];

/* ---- instruction forms (forms.c) ---- */

enum category { CAT_INT, CAT_BIT, CAT_F32, CAT_F64, CAT_HALF, CAT_CMP, CAT_SELECT, CAT_CVT, CAT_MOV, CAT_VIDEO, CAT_AUTO, NCATEGORIES };
extern const char *const category_name[NCATEGORIES];

enum form_flag {
    FORM_APPROX = 1,        /* PTX leaves bits of the result open */
    FORM_CONTRACT = 2,      /* may be fused with another instruction */
    FORM_SM90 = 4,
    FORM_LOOSE = 16,        /* ptxas takes liberties with it (docs/ptx-fuzz.md) */
    FORM_NAN64 = 8,         /* either of two NaNs may be the result */
};

enum { ROLE_TYPE, ROLE_PRED_SRC, ROLE_IMM };
struct role {
    uint8_t kind, type;     /* ptx_type */
    bool dst, pair, nonzero, relaxed, small, variable; /* pair: "d|p"; relaxed: the register may be wider */
    uint16_t limit;         /* ROLE_IMM: below it */
};

struct form {
    const char *text;       /* "add.sat.s32" */
    uint8_t nroles, category, flags;
    struct role role[8];
};

struct forms {
    struct cw_arena arena;
    struct form *list;
    uint32_t count, capacity;
    uint32_t *of[NCATEGORIES], n[NCATEGORIES];
    uint64_t hash;          /* of all texts */
    char **refused;         /* form texts that a device refused */
    uint32_t nrefused, crefused;
};
/* All forms that the front end accepts for this target and the opcode table has for the host. */
void forms_build(struct forms *f, unsigned ptx, unsigned sm);
bool forms_refused(const struct forms *f, const char *text);
bool forms_refuse(struct forms *f, const char *text);           /* false: known already */
void forms_finish(struct forms *f);

/* ---- programs ---- */

enum operand_kind { O_REG, O_IMM, O_TEXT };
struct operand {
    uint8_t kind, cls, index, type;
    bool dst, fixed;        /* fixed: reduction must not make it a constant */
    uint64_t imm;
    const char *text;
};

/* LEAF     lines of `text`; $0..$9 operands, $m the member mask, $u a number unique to the node; a line that begins with '?'
 *          takes the guard. `text2` is used where the mask may be partial.
 * IF       seq[0], seq[1] under `text`, which sets the predicate $c.       LOOP  `text` sets the trip count $n.
 * SWITCH   `text` sets the index $n.                                       WILD  two blocks that jump into each other
 * CALL     func (or any of its family where indirect)                      EXIT, BREAK, CONTINUE: where $c */
enum node_kind { N_LEAF, N_IF, N_LOOP, N_SWITCH, N_WILD, N_CALL, N_EXIT, N_BREAK, N_CONTINUE };

struct node;
struct seq { struct node **list; uint32_t count, capacity; };

struct node {
    uint8_t kind, nops, nseqs;
    bool off;               /* reduction took it out */
    bool unwrapped;         /* IF, LOOP, SWITCH, WILD: only seq[keep] is left, in line */
    uint8_t keep;
    bool uniform, warp, barrier, late; /* warp: needs a member mask; late: LOOP that tests at its end */
    int8_t guard;           /* predicate, or -1 */
    bool guard_negated;
    uint32_t id;
    const char *text, *text2, *form;
    struct operand op[10];
    struct seq seq[8];
    struct func *func;
    bool indirect, recursive;
};

enum { MAX_PARAMS = 5, MAX_FUNCS = 4, MAX_KERNELS = 16 };
struct func {
    uint32_t number;
    uint8_t nparams, param[MAX_PARAMS], ret;    /* ptx_type; ret: b32, f32, b64 */
    bool reg_params, recursive;
    struct seq body;
    uint64_t cost;
};

struct program {
    struct cw_arena arena;
    uint64_t seed;
    uint32_t grid[3], block[3], shared;
    uint32_t base;          /* added to the thread number to index the input */
    bool use_warp, use_barrier, use_matrix, dynamic_shared;
    struct func func[MAX_FUNCS];
    uint32_t nfuncs;
    struct seq body;
    struct node **node;     /* all, in order of creation */
    uint32_t nnodes, cnodes;
    uint64_t constants;     /* seed of the read-only tables */
    uint8_t uniform;        /* percentage of registers that start with the same value in all threads */
    bool literal;           /* registers start from literals (one thread) */
    bool minimal;           /* only the parameters and registers that are used */
    bool failed;            /* out of memory */
};

struct options {
    uint32_t size, threads; /* threads: at most for a program; 0: no limit */
    uint8_t uniform;
    const char *profile;
    bool approx, contract, nan64;
    bool native;            /* ptxas compiles for one of the devices: see docs/ptx-fuzz.md */
    unsigned ptx, sm;
};

/* The words that a profile may have, between commas; profile_words: all, between spaces. */
bool profile_known(const char *word, size_t n);
void profile_words(struct cw_buf *out);
void program_generate(struct program *p, uint64_t seed, const struct options *o, struct forms *f);
void program_finish(struct program *p);
/* Leave out what a device refused. */
void program_drop_refused(struct program *p, const struct forms *f);
uint32_t program_threads(const struct program *p);

/* ---- text (print.c) ---- */

enum {
    IN_COMMON = 1024, IN_STRIDE = 160, OUT_STRIDE = 256, OUT_OWN = 160, OWN_BYTES = 64, ATOM_BYTES = 2048, TABLE_BYTES = 128,
    MAX_THREADS = 512, OUT_BYTES = MAX_THREADS * OUT_STRIDE, IN_BYTES = IN_COMMON + MAX_THREADS * IN_STRIDE,
    TRACE_EVENTS = 4096, TRACE_BYTES = 16 * (TRACE_EVENTS + 1),
};

/* Where a register is in a thread's part of `out`. */
unsigned dump_offset(enum reg_class c, unsigned index);
/* Kernel `k<number>` and its functions. `trace`: the thread of number p_tid also records every result. */
void print_header(const struct options *o, struct cw_buf *out);
/* The parameters of a kernel, in order. */
enum { NPARAMS = 14 };
extern const struct param_info { const char *name, *decl; } param_info[NPARAMS];
/* Which of them the text of program 0 names. */
bool param_used(const char *text, unsigned i);
void print_program(const struct program *p, uint32_t number, bool trace, struct cw_buf *out);
/* Copy without the registers that are declared only. */
void prune_declarations(const char *text, struct cw_buf *out);
/* A module as it is run and written: header and programs; a minimal one omits registers that are only declared. */
void print_module(const struct options *o, const struct program *p, uint32_t n, bool trace, struct cw_buf *out);
/* The input of both device runs: IN_BYTES. */
void make_input(uint64_t seed, uint8_t *in);
/* The textures' contents: two of TEX_WIDTH * TEX_HEIGHT texels of 32 bits, one of a number, one of four bytes that are read as floats. */
enum { TEX_WIDTH = 16, TEX_HEIGHT = 8, TEX_BYTES = TEX_WIDTH * TEX_HEIGHT * 4 };
void make_texture(unsigned i, uint8_t *out);
/* Scalar parameters of a kernel: x, y, z, w, h, and an array. */
struct scalars { uint32_t x; uint64_t y; uint32_t z; uint64_t w; uint16_t h; uint8_t arr[24]; };
void make_scalars(uint64_t seed, struct scalars *s);

/* ---- running (side.c) ---- */

struct job {
    char name[16];
    uint32_t grid[3], block[3], shared, threads, base;
    uint32_t params;        /* a bit for each that the kernel has */
    uint64_t seed;
    int64_t trace;          /* thread, or -1 */
};

enum run_status { RUN_OK, RUN_REFUSED, RUN_FAILED, RUN_CRASHED, RUN_TIMEOUT };
extern const char *const run_status_name[];

struct shared_area {        /* one a side, shared with the child */
    uint32_t njobs, text_size;
    struct job job[MAX_KERNELS];
    int32_t status;         /* of the batch: RUN_REFUSED when it could not be loaded */
    int32_t job_status[MAX_KERNELS];
    char message[8192];
    uint8_t out[MAX_KERNELS][OUT_BYTES + ATOM_BYTES];
    _Alignas(uint64_t) uint8_t trace[TRACE_BYTES];    /* words */
    double load_s, run_s;
    char text[1 << 20];
};

struct side {
    const char *device;
    pid_t pid;
    int to, from;
    struct shared_area *area;
    uint64_t started, crashes;
    char name[256];
};
bool side_open(struct side *s, const char *device);
/* Start the batch in `s->area`; side_wait gets the result. If the child has ended, the next call starts a new one. */
void side_start(struct side *s);
enum run_status side_wait(struct side *s, unsigned timeout_ms);
void side_close(struct side *s);

/* ---- comparing and reducing (reduce.c) ---- */

struct difference {
    bool any;
    int kind;               /* 0: memory differs, else the run_status of the device run that failed */
    int side;
    bool varies;            /* the finding does not repeat on every run */
    uint32_t thread, offset;
    uint64_t a, b;
    char what[256];
};

struct fuzzer {
    struct options o;
    struct forms forms;
    struct side side[2];
    unsigned timeout_ms;
    const char *dir;        /* for findings */
    bool quiet;
    struct side plain;      /* cuda-native:O0 or cuda:O0, opened after the first difference from the optimized device */
    uint64_t programs, batches, findings, refused, optimizer;
    uint32_t tries;         /* bound of a reduction */
    double deadline;        /* on fuzz_clock: reductions end here; 0: none */
};

double fuzz_clock(void);
bool compare_outputs(const struct program *p, const uint8_t *a, const uint8_t *b, struct difference *d);
/* Run n programs on both sides as one module; trace: the thread whose results are recorded, or -1. */
bool run_programs(struct fuzzer *z, const struct program *p, uint32_t n, int64_t trace);
enum run_status job_end(const struct side *s, uint32_t k);
/* Run one program on both devices. False: one refused it. */
bool try_program(struct fuzzer *z, const struct program *p, struct difference *d);
void reduce_program(struct fuzzer *z, struct program *p, struct difference *d);
/* Does the difference vanish where ptxas does not optimize? Then ptxas causes it. */
bool optimizer_difference(struct fuzzer *z, const struct program *p);
void report_difference(struct fuzzer *z, const struct program *p, const struct difference *first, struct difference *d);

#endif
