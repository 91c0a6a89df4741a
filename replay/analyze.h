/* SPDX-License-Identifier: Apache-2.0
 * What a module's PTX says about a kernel: the layout of its parameters, the module's variables, what type it stores where, and
 * which parameters are texture handles. Uses the jit's parser (libcudaway-jit.so, loaded on first use); without PTX or the jit
 * fewer facts are known; that is never an error. */
#ifndef CWD_ANALYZE_H
#define CWD_ANALYZE_H

#include "jit/jit.h"
#include "replay/dump.h"

struct cwd_program {
    struct cwj_program *program;    /* NULL when there is no PTX, or it cannot be parsed */
    char *why;                      /* then: why, or NULL */
};

/* The PTX texts that a module is made of, as the implementation chooses them for a device of this compute capability. NULL: there are
 * none, *why says why (malloc'd). The result is malloc'd, with its texts. */
struct cwj_input *cwd_program_texts(const struct cwd_input *inputs, uint32_t count, unsigned cc, size_t *ntexts, char **why);
/* `cc`: compute capability, 86. Never fails: see why. */
void cwd_program_open(struct cwd_program *p, const struct cwd_input *inputs, uint32_t count, bool linked, unsigned cc);
void cwd_program_close(struct cwd_program *p);
const struct cwj_kernel *cwd_program_kernel(const struct cwd_program *p, const char *name);
uint32_t cwd_program_variable_count(const struct cwd_program *p);
const struct cwj_variable *cwd_program_variable(const struct cwd_program *p, uint32_t i);
/* Call visit for each 8-byte word of the variable `name` that its initialiser fills with the address of a function. */
void cwd_program_function_words(const struct cwd_program *p, const char *name, void (*visit)(void *user, uint64_t offset), void *user);
const char *cwd_type_name(unsigned ptx_type);       /* "f32"; NULL for none */
/* The reverse; PTX_NONE for NULL and unknown names. */
unsigned cwd_type_of(const char *name);
unsigned cwd_type_bytes(unsigned ptx_type);

/* One origin of a kernel's addresses. */
struct cwd_root {
    int32_t  param;                 /* byte offset in the parameter block, or -1 */
    const struct ptx_symbol *var;   /* module variable, or NULL */
    uint8_t  element;               /* ptx_type stored through it; PTX_NONE: nothing, or several */
};

struct cwd_facts {
    struct cwd_root *roots;
    uint32_t nroots;
    uint32_t *handles;              /* offsets in the parameter block that are used as texture or surface handles */
    uint32_t nhandles;
    bool     handles_elsewhere;     /* some texture operand comes from memory, a call or arithmetic */
    bool     uses_references;       /* texture or surface references by name */
    bool     order_matters;         /* atomics whose outcome depends on the order of threads: a result is used, or floats add */
    bool     approximate;           /* instructions whose last bits PTX leaves open (.approx, .full) */
    bool     fusible;               /* floating-point mul and add without rounding modifiers, which a compiler may fuse (PTX ISA, mul) */
};

/* False: out of memory. cwd_facts_finish in every case. */
bool cwd_facts_of(const struct cwj_kernel *k, struct cwd_facts *f);
void cwd_facts_finish(struct cwd_facts *f);
/* The type stored through parameter offset `param` or the variable `var`; PTX_NONE when not known. */
unsigned cwd_facts_element(const struct cwd_facts *f, int32_t param, const char *var);

#endif
