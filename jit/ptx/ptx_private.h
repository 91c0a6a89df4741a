/* SPDX-License-Identifier: Apache-2.0
 * Private to jit/ptx: the rows of ops.def with their columns, the lexer, the parser's state. Every name of the text is interned once
 * (struct ident); keywords are idents that carry their meaning, and an ident points to its binding, so look-up costs one hash per token.
 * Scopes undo bindings when they close. */
#ifndef CWJ_PTX_PTX_PRIVATE_H
#define CWJ_PTX_PTX_PRIVATE_H

#include "jit/ptx/ir.h"

#include <string.h>

/* ---- type sets: a bit per ptx_type ---- */
#define TB(t) (1ull << PTX_##t)
#define S_PRED   TB(PRED)
#define S_B16    TB(B16)
#define S_B32    TB(B32)
#define S_B64    TB(B64)
#define S_B128   TB(B128)
#define S_BITS   (TB(B16) | TB(B32) | TB(B64))
#define S_U32    TB(U32)
#define S_S32    TB(S32)
#define S_U64    TB(U64)
#define S_S64    TB(S64)
#define S_INT16  (TB(U16) | TB(S16))
#define S_INT32  (TB(U32) | TB(S32))
#define S_INT64  (TB(U64) | TB(S64))
#define S_INT    (S_INT16 | S_INT32 | S_INT64)
#define S_SINT   (TB(S16) | TB(S32) | TB(S64) | TB(S16X2))
#define S_I8     (TB(U8) | TB(S8))
#define S_I16X2  (TB(U16X2) | TB(S16X2))
#define S_SUB    (TB(U4) | TB(S4) | TB(U2) | TB(S2))
#define S_F32    TB(F32)
#define S_FLT    (TB(F32) | TB(F64))
#define S_HALF   (TB(F16) | TB(F16X2) | TB(BF16) | TB(BF16X2))
#define S_F32X2  TB(F32X2)
#define S_MEM    (TB(B8) | S_BITS | S_B128 | S_I8 | S_INT | S_FLT | S_HALF)
#define S_MEMB   (TB(B8) | S_BITS)
#define S_OPAQUE (TB(TEXREF) | TB(SAMPLERREF) | TB(SURFREF))
#define S_TEXD   (S_INT32 | S_F32 | TB(F16) | TB(F16X2))
#define S_TEXC   (S_S32 | S_F32)
#define S_MACC   (TB(F16) | TB(F32) | TB(S32) | TB(F64))
#define S_MATRIX (TB(F16) | TB(BF16) | TB(TF32) | TB(F64) | TB(E4M3) | TB(E5M2) | TB(S8) | TB(U8) | TB(S4) | TB(U4) | TB(B1))
#define S_FPMICRO (TB(E2M1X2) | TB(E2M3X2) | TB(E3M2X2) | TB(UE8M0X2))
#define S_CVT    (S_INT | S_I8 | S_FLT | S_HALF | TB(TF32) | TB(E4M3X2) | TB(E5M2X2) | S_FPMICRO)

#define S_OPT    (1ull << 63)

/* ---- modifier groups: a bit M_... for each ----
 * MATRIX: shapes, layouts, .x1 .x2 .x4, .trans. MBOOL: .xor.popc, .and.popc. MFRAG: wmma.load.a ... BULK: two state spaces, completion, cache
 * hint. TENSOR: dimensions and modes of tensor copies. ACC: .acc::f32 ... FIELD: tensormap.replace. CANCEL: clusterlaunchcontrol. */
#define MOD_GROUPS(X)                                                                                                                        \
    X(RND) X(IRND) X(FTZ) X(SAT) X(APPROX) X(FULL) X(CC) X(RELU) X(NAN) X(XORSIGN) X(SATFINITE) X(CLAMPWRAP) X(SYNC) X(ALIGNED) X(UNI) X(NC) \
    X(TO) X(SHIFTAMT) X(NOFTZ) X(ABS) X(CMP) X(BOOL) X(SPACE) X(SEM) X(SCOPE) X(ATOM) X(VEC) X(GEOM) X(HILO) X(LR) X(SHFL) X(VOTE) X(PRMT)   \
    X(BAR) X(TESTP) X(CACHE) X(LEVEL) X(QUERY) X(LOD) X(TLD4) X(SURF) X(VMAD) X(MASK) X(SCALED) X(OOB) X(UNIFIED) X(CTA) X(CPASYNC) X(MBAR)   \
    X(MATRIX) X(MBOOL) X(MFRAG) X(POLICY) X(PROXY) X(RESTRICT) X(BULK) X(TENSOR) X(ACC) X(FIELD) X(CANCEL) X(RAW)
enum mod_group_bit {
#define X(name) MB_##name,
    MOD_GROUPS(X)
#undef X
};
enum mod_group {
#define X(name) M_##name = 1ull << MB_##name,
    MOD_GROUPS(X)
#undef X
};

struct op_row {
    struct ptx_op_info info;
    uint8_t  ntypes;
    uint64_t types[PTX_MAX_TYPES];
    uint64_t mods;
    const char *sig;
};
extern const struct op_row ptx_op_rows[PTX_OP_COUNT];

/* One meaning of a modifier word. A word may have several; the groups that the opcode accepts select one. */
enum mod_field { MF_ROUND, MF_CMP, MF_BOOLOP, MF_MODE, MF_SPACE, MF_SEM, MF_SCOPE, MF_ATOMOP, MF_VEC, MF_GEOM, MF_FLAG, MF_AUX,
                 MF_MSHAPE, MF_MLAYOUT /* first that of A, then that of B */, MF_MFRAG, MF_MNUM,
                 MF_PRIORITY /* of createpolicy: first the primary one, then the secondary one */,
                 MF_SPACES /* first the destination's, then the source's */ };
struct mod_word {
    const char *word;
    uint64_t group;
    uint8_t  field;
    uint8_t  shift;             /* MF_AUX */
    uint64_t value;             /* MF_AUX: before shifting */
};
extern const struct mod_word ptx_mod_words[];
extern const unsigned ptx_mod_word_count;

/* The byte of the instruction that a field's (first) word sets, or NULL: then it sets bits of `aux`, as a second word does. */
static inline uint8_t *
ptx_mod_byte(struct ptx_inst *in, unsigned field)
{
    static const uint8_t at[] = {
#define AT(field, byte) [MF_##field] = offsetof(struct ptx_inst, byte)
        AT(ROUND, round), AT(CMP, cmp), AT(BOOLOP, boolop), AT(MODE, mode), AT(SPACE, space), AT(SPACES, space), AT(SEM, sem), AT(SCOPE, scope),
        AT(ATOMOP, atomop), AT(VEC, vec), AT(GEOM, geom),
#undef AT
    };
    return at[field] ? (uint8_t *)in + at[field] : NULL;
}
struct mod_bits { uint8_t shift, mask; };
const struct mod_bits *ptx_mod_bits(unsigned field, bool second);   /* mask 0: there is no such word */
/* What a word has set; 0: none was written. Not for MF_FLAG and MF_AUX. */
uint64_t ptx_mod_value(const struct ptx_inst *in, unsigned field, bool second);

/* ---- limits (P6xxx) ---- */
enum {
    PTX_NEWEST = 90,            /* 9.0 */
    MAX_TEXT = 1 << 30, MAX_SCOPES = 256, MAX_EXPR_DEPTH = 200, MAX_REGS = 1 << 20, MAX_VEC = 128, MAX_ARGS = 4096,
    MAX_INIT = 1 << 28, MAX_MODULE_INIT = 1 << 29, MAX_DIMS = 8, MAX_MODULE_REGS = 4 << 20,
    MAX_MODULE_NAMES = 256 << 20,
};

/* ---- names ---- */
enum bind_kind { BIND_NONE, BIND_REG, BIND_RANGE, BIND_VREG, BIND_SYM, BIND_TABLE };
struct binding {
    uint8_t  kind, type, vec;
    uint16_t depth;
    uint32_t reg;               /* REG; RANGE, VREG: first */
    uint32_t count;             /* RANGE */
    union {
        struct ptx_symbol *sym;
        struct ptx_table *table;
    };
};

struct ident {
    const char *name;
    uint64_t key;               /* its first 8 bytes: see lex.c */
    uint32_t len, hash;
    struct ident *next;
    struct binding bind;
    uint16_t op;                /* opcode with exactly this mnemonic */
    uint16_t op_child;          /* first opcode "name.xxx" */
    uint16_t sreg;
    uint16_t mod, nmods;        /* 1 + index of the first meaning in ptx_mod_words, and the number of meanings */
    uint8_t  type;
    uint8_t  dir;               /* enum directive */
    uint16_t label_depth;       /* != 0: scope depth of the label with this name */
    uint32_t label;
};

enum directive {
    DIR_NONE, DIR_VERSION, DIR_TARGET, DIR_ADDRESS_SIZE, DIR_FILE, DIR_LOC, DIR_SECTION, DIR_PRAGMA, DIR_ENTRY, DIR_FUNC,
    DIR_VISIBLE, DIR_EXTERN, DIR_WEAK, DIR_COMMON, DIR_ALIAS, DIR_GLOBAL, DIR_CONST, DIR_SHARED, DIR_LOCAL, DIR_TEX, DIR_PARAM,
    DIR_REG, DIR_SREG, DIR_ALIGN, DIR_ATTRIBUTE, DIR_MAXNTID, DIR_REQNTID, DIR_MINNCTAPERSM, DIR_MAXNREG, DIR_MAXNCTAPERSM,
    DIR_NORETURN, DIR_BRANCHTARGETS, DIR_CALLTARGETS, DIR_CALLPROTOTYPE, DIR_PTR, DIR_MAXCLUSTERRANK, DIR_REQNCTAPERCLUSTER,
    DIR_EXPLICITCLUSTER, DIR_BLOCKSARECLUSTERS, DIR_ABI_PRESERVE, DIR_ABI_PRESERVE_CONTROL, DIR_DWARF,
};

/* ---- tokens ---- */
enum tok_kind {
    T_EOF, T_IDENT, T_REG /* %rN of a range in scope */, T_DOT /* .word */, T_INT, T_FLOAT, T_STRING, T_PUNCT, T_BAD
};
enum { P_SHL = 256, P_SHR, P_LE, P_GE, P_EQ, P_NE, P_ANDAND, P_OROR };

struct token {
    uint8_t  kind;
    bool     is_unsigned;       /* INT: U suffix, or does not fit s64 */
    bool     is_f32;            /* FLOAT: 0f form, value holds f32 bits */
    uint16_t punct;
    uint32_t line, column;
    uint32_t reg;               /* REG */
    uint16_t range_depth;       /* REG: of the declaration of its range */
    const char *s;
    size_t   len;
    uint64_t value;             /* INT; FLOAT: bits */
    struct ident *ident;        /* IDENT, DOT (the word without its dot) */
};

struct undo {
    struct ident *ident;
    struct binding old;
};
struct label_undo {
    struct ident *ident;
    uint32_t label;
    uint16_t depth;
};
struct fixup {
    struct ident *ident;
    uint32_t *where;
    uint32_t line, column;
    uint16_t depth;
};

#define VEC_OF(T) struct { T *at; uint32_t n, cap; }

struct parser {
    const char *cur, *end, *line_start;
    uint32_t line;
    struct token tok;

    struct ptx_module *m;
    struct cw_arena *arena;             /* the module's */
    struct cwj_diags *diags;
    bool seen_version, seen_target, seen_dwarf;
    struct token debug_at;      /* of .target debug */

    struct ident **buckets;
    uint32_t nidents, nbuckets;
    struct cw_arena names;      /* idents and the vectors below; die with the parse */

    uint16_t depth;             /* 0: module */
    VEC_OF(struct undo) undo;
    VEC_OF(struct label_undo) label_undo;
    VEC_OF(struct fixup) fixups;

    struct ptx_function *fn;    /* the function whose body is being parsed */
    VEC_OF(struct ptx_inst) insts;
    VEC_OF(struct ptx_reg) regs;
    VEC_OF(struct ptx_symbol *) locals;
    VEC_OF(struct ptx_function *) funcs;
    VEC_OF(struct ptx_symbol *) vars;
    VEC_OF(struct ptx_operand) elems;   /* stack of operands being parsed */
    VEC_OF(struct ptx_symbol *) params;
    VEC_OF(struct ptx_reloc) relocs;
    VEC_OF(uint8_t) bytes;              /* of the initialiser being parsed */
    uint64_t total_regs, total_init, total_names;
    uint32_t loc_file, loc_line;
    uint32_t last_label;        /* position of the last label */
    bool numbered;              /* the function declares a register by a name that ends in a digit, which may be one of a range's */
    bool nounroll;              /* a pragma for the next instruction's block */
    uint16_t op_next_child[PTX_OP_COUNT];
};

/* Make room for n more elements in a VEC_OF; append one. */
#define VEC_GROW(p, v, more) ((v).at = cw_arena_grow(&(p)->names, (v).at, (v).n, (more), &(v).cap, sizeof *(v).at))
#define VEC_PUSH(p, v, value)           \
    do {                                \
        if ((v).n == (v).cap)           \
            VEC_GROW((p), (v), 1);      \
        (v).at[(v).n++] = (value);      \
    } while (0)

/* `n` elements, copied into the module's arena. */
void *ptx_copy(struct parser *p, const void *at, size_t n, size_t elem);

/* lex.c */
void ptx_lex_init(struct parser *p, const char *text, size_t size);
void ptx_next(struct parser *p);
struct ident *ptx_intern(struct parser *p, const char *s, size_t len);
struct ident *ptx_find(const struct parser *p, const char *s, size_t len);      /* NULL: no such word was read */
struct ident *ptx_tok_ident(struct parser *p);     /* of an IDENT or REG token */
const char *ptx_tok_text(const struct parser *p);  /* for messages; in the diagnostics' arena */

/* diagnostics at the current token or a place; return false for tail calls */
bool ptx_error(struct parser *p, unsigned code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool ptx_error_at(struct parser *p, uint32_t line, uint32_t col, unsigned code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void ptx_warn_at(struct parser *p, uint32_t line, uint32_t col, unsigned code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

static inline bool
is_punct(const struct parser *p, unsigned c)
{
    return p->tok.kind == T_PUNCT && p->tok.punct == c;
}

static inline bool
accept(struct parser *p, unsigned c)
{
    if (!is_punct(p, c))
        return false;
    ptx_next(p);
    return true;
}

bool ptx_expect(struct parser *p, unsigned c, const char *where);

/* scope.c */
void ptx_bind(struct parser *p, struct ident *id, const struct binding *b);
bool ptx_scope_open(struct parser *p);
void ptx_scope_close(struct parser *p);

/* parse_expr.c */
struct const_value {
    bool is_float, is_f32, is_unsigned;
    uint64_t bits;              /* integer, or f64 bits (f32 bits when is_f32) */
    const struct ptx_symbol *sym;  /* address + bits */
    bool generic;
    uint8_t mask_width, mask_shift; /* 0xFF00(sym) form */
};
/* A constant expression; symbols are accepted when allow_sym. */
bool ptx_parse_const(struct parser *p, struct const_value *v, bool allow_sym);
bool ptx_parse_int(struct parser *p, uint64_t *v, const char *what);
bool ptx_parse_count(struct parser *p, uint64_t *v);
bool ptx_parse_initialiser(struct parser *p, struct ptx_symbol *s, const uint64_t *dims, unsigned ndims, unsigned vec);
float  ptx_f32_of_bits(uint32_t bits);
double ptx_f64_of_bits(uint64_t bits);

/* parse_inst.c */
bool ptx_parse_instruction(struct parser *p);

/* parse_computed.c */
bool ptx_parse_sum(struct parser *p, struct ptx_operand *o);
bool ptx_parse_index(struct parser *p, const struct ptx_inst *in, unsigned i, struct ptx_operand *o);
bool ptx_split_convert(struct parser *p, struct ptx_inst *in);

/* check.c */
bool ptx_check_inst(struct parser *p, struct ptx_inst *in);

/* parse_decl.c */
bool ptx_parse_variable(struct parser *p, uint8_t linkage, enum directive space);
bool ptx_parse_reg_decl(struct parser *p);
bool ptx_add_register(struct parser *p, const char *name, uint8_t type, uint32_t *reg);
bool ptx_parse_function(struct parser *p, uint8_t linkage, bool entry);
bool ptx_parse_table(struct parser *p, struct ident *name, uint32_t line, uint32_t column);
bool ptx_parse_body(struct parser *p);
void ptx_skip_statement(struct parser *p, uint32_t line);
/* To behind the brace that closes the current one; `what` it is, for a message. */
bool ptx_skip_braces(struct parser *p, const char *what);
bool ptx_parse_loc(struct parser *p);
bool ptx_parse_pragma(struct parser *p);

#endif
