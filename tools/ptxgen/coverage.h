/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptxgen coverage: the page docs/ptx-coverage.md. Everything on it is measured: the forms come from the opcode table
 * (forms.c), each is compiled for every target (ask.c), and the corpus shows which tests execute it (corpus.c). */
#ifndef PTXGEN_COVERAGE_H
#define PTXGEN_COVERAGE_H

#include "jit/jit.h"
#include "jit/ptx/ptx_private.h"

enum { TARGETS = 3, MAX_FILES = 8192 };
extern const struct cov_target { const char *name; enum cwj_target target; const char *cpu; } cov_targets[TARGETS];

enum { COV_WORDS = 8 };             /* times 64: room for all of ptx_mod_words */
struct cov_words { uint64_t bits[COV_WORDS]; };

struct cov_form {
    uint16_t op, sreg;              /* sreg: a read of this special register, else 0 */
    bool raw;                       /* kept as text by the parser: compared by its token */
    uint32_t order;                 /* in forms.txt */
    const char *text;               /* the instruction, without ';' */
    const char *token;              /* mnemonic and suffixes as the printer writes them */
    const char *label, *types;      /* the token without the types; "f32.u8" */
    const struct ptx_inst *inst;    /* as parsed; NULL: the parser refuses it */
    struct cov_words words;
    char shape[72];                 /* of its operands */
    const char *refused[TARGETS];   /* why; NULL: emitted */
    uint32_t *files, nfiles;        /* tests that execute it, ascending */
};

struct cov_list {
    struct cw_arena arena;
    struct cov_form *at;
    uint32_t count, capacity;
    struct ptx_module **modules;    /* of the parsed forms */
    uint32_t nmodules, cap_modules;
    const char **file;              /* names of tests, GROUP/NAME */
    uint32_t nfiles;
    bool failed, wrong;             /* out of memory; forms.txt needs work */
};

/* Read forms.txt. False with messages when an opcode of the table has no form there. */
bool cov_forms(struct cov_list *l, const char *forms);
/* Fill in `refused`. */
bool cov_ask(struct cov_list *l, const struct cwj_api *jit);
/* Does each row of ops.def that names an emitter emit some form, and each that refuses none? False with messages. */
bool cov_table_holds(const struct cov_list *l);
/* Fill in `files` from the tests under `folder`. */
bool cov_scan(struct cov_list *l, const char *folder);
/* The page; false when a form that is emitted has no test and no exception in `untested`. */
bool cov_print(struct cov_list *l, const char *untested, struct cw_buf *out);
void cov_candidates(struct cov_list *l);
void cov_finish(struct cov_list *l);

/* A module with one kernel k<N> for each form of [from, to), which has COV_LINES lines; the first one's instruction is on *first. */
void cov_module_text(const struct cov_list *l, uint32_t from, uint32_t to, struct cw_buf *out, uint32_t *first);
enum { COV_LINES = 3 };
/* Parse a module; NULL when it is not valid PTX, with the first error in *why. */
struct ptx_module *cov_parse(const char *text, size_t size, const char **why, struct cw_arena *arena);
/* The same for one instruction, in a kernel that declares what forms.txt names. */
const struct ptx_inst *cov_parse_inst(struct cov_list *l, const char *text, const struct ptx_function **fn, const char **why);
void cov_drop_last(struct cov_list *l, const struct ptx_inst *in);
const char *cov_token(struct cw_arena *arena, const struct ptx_function *fn, const struct ptx_inst *in);
void cov_words(const struct ptx_inst *in, struct cov_words *out);
void cov_shape(const struct ptx_inst *in, char *out, size_t size);
const char *cov_register(unsigned bits);
const char *cov_op_symbol(unsigned op);

#endif
