/* SPDX-License-Identifier: Apache-2.0
 * The GPU-less AMD device: an interpreter of AMD machine code.
 *
 * A code object is loaded by object.c, its instructions are taken apart once by decode.c (LLVM's disassembler gives the text, the
 * table of names below gives the function), dispatch.c runs the waves of work-groups over threads, and salu.c, valu_*.c, vop3p.c,
 * memory.c and image.c hold one function an instruction. Facts: AMD's public ISA documents (GCN "Vega", CDNA2, CDNA3, RDNA1 to RDNA4) and
 * LLVM's "User Guide for AMDGPU Backend".
 *
 * Addresses are those of this process; LDS and scratch are seen by flat instructions through two apertures. */
#ifndef GFX_H
#define GFX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gfx_family { GFX9, GFX90A, GFX940, GFX950, GFX10, GFX11, GFX12 };

struct gfx_target {
    const char *name;               /* "gfx1100" */
    enum gfx_family family;
    uint32_t elf_mach;              /* EF_AMDGPU_MACH of the code object's e_flags */
    bool packed_ids;                /* work-item ids x, y, z in 10 bits each of v0 */
    bool flat_scratch;              /* scratch by offset in a lane's memory; else through a swizzled buffer */
    uint32_t lds;                   /* bytes that a work-group may have */
};

const struct gfx_target *gfx_target_find(const char *name);
const struct gfx_target *gfx_target_at(size_t i);       /* NULL after the last */

/* High halves of the apertures' addresses: outside of a process's address space. */
#define GFX_SHARED_APERTURE  0x00010000u
#define GFX_PRIVATE_APERTURE 0x00020000u

/* ---- decoded instructions --------------------------------------------------------------------------------------------- */

enum gfx_kind { GFX_NONE, GFX_VGPR, GFX_SGPR, GFX_INT, GFX_LITERAL, GFX_FLOAT, GFX_SCC, GFX_NULL, GFX_OFF, GFX_VCCZ, GFX_EXECZ,
    GFX_SHARED_BASE, GFX_SHARED_LIMIT, GFX_PRIVATE_BASE, GFX_PRIVATE_LIMIT };

/* Numbers of the registers that have names, in one file with s0..s105. */
enum { S_VCC = 106, S_TTMP = 108, S_M0 = 124, S_EXEC = 126, S_FLAT_SCRATCH = 128, S_XNACK = 130, S_COUNT = 132 };
enum { V_AGPR = 256, V_COUNT = 512 };
/* Room behind the register files, for operands of several registers that begin at the last one. */
enum { S_SPARE = 16, V_SPARE = 64 };

struct gfx_operand {
    uint8_t  kind;                  /* enum gfx_kind */
    uint8_t  dwords;                /* of a register range */
    uint8_t  neg, abs, sext;
    uint8_t  high;                  /* .h of a 16-bit register */
    uint16_t reg;
    int64_t  imm;
    double   real;
};

struct gfx_insn;
struct gfx_wave;
typedef void gfx_exec(struct gfx_wave *w, const struct gfx_insn *i);

enum gfx_class { GFX_C_SALU, GFX_C_SMEM, GFX_C_VALU, GFX_C_TRANS, GFX_C_MATRIX, GFX_C_VMEM, GFX_C_FLAT, GFX_C_LDS, GFX_C_SCRATCH, GFX_C_BRANCH,
    GFX_C_OTHER, GFX_C_COUNT };

/* Lane crossing of the first source. */
enum gfx_dpp { DPP_NONE, DPP_QUAD, DPP_ROW_SHL, DPP_ROW_SHR, DPP_ROW_ROR, DPP_WAVE_SHL, DPP_WAVE_ROL, DPP_WAVE_SHR, DPP_WAVE_ROR,
    DPP_MIRROR, DPP_HALF_MIRROR, DPP_BCAST15, DPP_BCAST31, DPP_ROW_SHARE, DPP_ROW_XMASK, DPP_NEWBCAST, DPP_8 };
enum gfx_sel { SEL_DWORD, SEL_BYTE_0, SEL_BYTE_1, SEL_BYTE_2, SEL_BYTE_3, SEL_WORD_0, SEL_WORD_1 };

struct gfx_insn {
    gfx_exec *exec;                 /* NULL: unknown */
    const char *name;               /* without encoding suffix */
    uint32_t raw[2];
    uint8_t  size;                  /* bytes */
    uint8_t  noperands;
    uint8_t  cls;                   /* enum gfx_class */
    uint8_t  arg;                   /* of the table row: a parameter for functions that implement several names */
    struct gfx_operand op[6];
    int32_t  offset, offset1;       /* memory: bytes; ds_*2: units */
    uint8_t  clamp, omod;           /* 1: *2, 2: *4, 3: /2 */
    uint8_t  glc;                   /* returns the old value */
    uint8_t  offen, idxen;
    uint8_t  op_sel, op_sel_hi, neg_lo, neg_hi;     /* a bit an operand */
    bool     dpp, sdwa, has_op_sel_hi;
    uint8_t  dpp_kind, row_mask, bank_mask, bound_ctrl;
    uint32_t dpp_arg;               /* shift, or eight selectors of 3 bits */
    uint8_t  dst_sel, dst_unused, sel[2];   /* SDWA; dst_unused: 0 pad, 1 sext, 2 preserve */
    uint8_t  cbsz, abid, blgp;      /* MFMA */
    uint8_t  bitop3;                /* truth table of v_bitop3, a bit for each of 4 a + 2 b + c */
    /* Images: registers of the address, the components wanted, the kind that the instruction names (a resource's TYPE; 0: none). */
    uint8_t  naddr, dmask, dim;
    bool     unorm, array, a16, d16, tfe;
    uint16_t addr[14];
    struct gfx_insn *dual;          /* VOPD: the other half */
    /* reads.c: vector registers that must be written (at least three entries, filled up with V_COUNT), scalar ones as sets of
     * s0..s105, and the scalar ones that it writes; whether there are any of these. */
    uint8_t  nreads;
    bool     scalars;
    uint16_t reads[8];
    uint64_t sreads[2], swrites[2];
    uint64_t pc;
    char    *text;
};

/* A row of the tables that salu.c, valu_*.c, vop3p.c, matrix.c, memory.c and image.c export. */
struct gfx_row {
    const char *name;
    gfx_exec *exec;
    uint8_t cls, arg;
};
/* They end with a NULL name. */
extern const struct gfx_row gfx_salu[], gfx_salu_float[], gfx_valu_int[], gfx_valu_float[], gfx_valu_div[], gfx_valu_cvt[];
extern const struct gfx_row gfx_indexed[], gfx_vop3p[], gfx_matrix[], gfx_memory[], gfx_image[], gfx_compare[], gfx_minmax[], gfx_valu_media[];

/* Instructions that are not executed (left_out.c); the list ends with a NULL name. */
struct gfx_left_out { const char *name, *reason; };
extern const struct gfx_left_out gfx_left_out[];
const struct gfx_left_out *gfx_left_out_find(const char *name);     /* NULL: not listed */

struct gfx_code;                    /* the executable part of a code object, with its decoded instructions */

/* Decode the instruction at `pc`. Returns NULL with a message in `error` (>= 256 bytes) outside of the code, or for bytes that
 * are not an instruction. The result may have no exec. Any thread. */
const struct gfx_insn *gfx_decode(struct gfx_code *c, uint64_t pc, bool wave64, char *error);
struct gfx_code *gfx_code_create(const struct gfx_target *t, const uint8_t *bytes, uint64_t address, size_t size);
void gfx_code_destroy(struct gfx_code *c);
void gfx_find_reads(struct gfx_insn *i);    /* decode.c's last step */

/* ---- execution ---------------------------------------------------------------------------------------------------------- */

enum gfx_state { WAVE_READY, WAVE_BARRIER, WAVE_DONE, WAVE_FAULT };

struct gfx_group;

struct gfx_wave {
    uint64_t pc, next_pc;
    unsigned lanes;                 /* 32 or 64 */
    uint32_t scc;
    enum gfx_state state;
    bool indexed;                   /* indexed.c's mode */
    uint32_t mode;                  /* bits 0-1 f32 rounding, 2-3 f64/f16 rounding, 4-5 f32 denormals, 6-7 f64/f16, 8 dx10 clamp, 9 ieee */
    struct gfx_group *group;
    struct gfx_code *code;
    uint8_t *scratch;               /* lanes x scratch_size */
    uint32_t scratch_size;
    uint32_t s[S_COUNT + S_SPARE];
    uint64_t written[V_COUNT + V_SPARE];    /* lanes of a register that were written; V_COUNT: all */
    uint64_t s_written[2];          /* s0..s105 as a set; the others always count as written */
    uint64_t counts[GFX_C_COUNT], active_lanes, valu_lanes, bank_conflicts, unwritten_registers, misaligned;
    uint32_t v[V_COUNT + V_SPARE][64];
};

struct gfx_group {
    const struct gfx_target *target;
    uint8_t *lds;
    uint32_t lds_size;
    uint8_t *lds_written;           /* a byte each, or NULL */
    uint32_t nwaves;
    struct gfx_wave **waves;
    uint32_t signalled;             /* split barriers of gfx12 */
    uint64_t lds_unwritten;
    struct gfx_launch *launch;
};

static inline uint64_t
gfx_exec_mask(const struct gfx_wave *w)
{
    return w->s[S_EXEC] | (uint64_t)w->s[S_EXEC + 1] << 32;
}

/* Count a doubtful instruction; the first of a launch is kept in its `noted`. */
enum gfx_note { NOTE_UNWRITTEN, NOTE_MISALIGNED, NOTE_COUNT };
void gfx_note(struct gfx_wave *w, enum gfx_note kind, const struct gfx_insn *i);

/* End the launch: the first fault of it is kept. */
enum gfx_fault { FAULT_NONE, FAULT_MEMORY, FAULT_LDS, FAULT_MISALIGNED, FAULT_INSTRUCTION, FAULT_TRAP };
void gfx_fault(struct gfx_wave *w, enum gfx_fault kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The memory that kernels may access. Any thread; one reader-writer lock. */
bool gfx_range_add(uint64_t address, uint64_t size);     /* false: out of memory */
void gfx_range_remove(uint64_t address);
bool gfx_range_has(uint64_t address, uint64_t size);
/* The block that holds the address: its start and size. */
bool gfx_range_of(uint64_t address, uint64_t *start, uint64_t *size);

/* ---- code objects --------------------------------------------------------------------------------------------------------- */

struct gfx_hidden {                 /* one argument: a hidden one, or a parameter of the kernel's own */
    uint8_t kind;                   /* enum gfx_hidden_kind */
    uint32_t offset, size;
};
enum gfx_hidden_kind { HID_NONE, HID_BLOCKS, HID_GROUP_SIZE = HID_BLOCKS + 3, HID_REMAINDER = HID_GROUP_SIZE + 3,
    HID_OFFSET = HID_REMAINDER + 3, HID_GRID_DIMS = HID_OFFSET + 3, HID_PRIVATE_BASE, HID_SHARED_BASE, HID_DYNAMIC_LDS, HID_POINTER,
    HID_PARAMETER };

struct gfx_kernel {
    char *name;
    uint64_t descriptor, entry;     /* addresses */
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties;            /* kernel_code_properties */
    uint16_t preload;
    uint32_t lds_size, scratch_size, kernarg_size, explicit_size;
    uint32_t vgprs, sgprs, max_group, reqd[3], agprs, vgpr_spills, sgpr_spills;
    bool wave64, dynamic_stack;
    struct gfx_hidden *hidden;
    uint32_t nhidden;
};

struct gfx_symbol {
    char *name;
    uint64_t address, size;
};

struct gfx_object {
    const struct gfx_target *target;
    uint8_t *image;                 /* the loaded segments */
    uint64_t image_size;
    struct gfx_code *code;
    struct gfx_kernel *kernels;
    uint32_t nkernels;
    struct gfx_symbol *variables;
    uint32_t nvariables;
};

/* Load a code object (or the one of `target` in a clang offload bundle). False with a message of up to 255 characters;
 * errno is ENOMEM if memory ran out. */
bool gfx_object_load(const struct gfx_target *target, const void *data, size_t size, struct gfx_object **out, char *error);
void gfx_object_unload(struct gfx_object *o);

/* ---- dispatch --------------------------------------------------------------------------------------------------------------- */

struct gfx_counts {
    uint64_t insns[GFX_C_COUNT], waves, active_lanes, valu_lanes, bank_conflicts, lds_unwritten, unwritten_registers, misaligned;
};

struct gfx_launch {
    struct gfx_object *object;
    const struct gfx_kernel *kernel;
    uint32_t grid[3], block[3];     /* work-groups, work-items */
    uint32_t dynamic_lds;
    const void *params;
    uint32_t param_size;
    bool cooperative;
    /* out */
    enum gfx_fault fault;
    char message[512];
    struct gfx_counts counts;
    char noted[NOTE_COUNT][256];    /* text and address of the first, or "" */
    /* dispatch.c's own */
    struct gfx_dispatch *own;
};

/* Execute both halves of a VOPD instruction; a vector instruction in the mode of indexed registers. */
void gfx_step_dual(struct gfx_wave *w, const struct gfx_insn *i);
void gfx_step_indexed(struct gfx_wave *w, const struct gfx_insn *i);

/* Bytes of stack, besides the frames that the compiler knows, that a lane has in kernels with a stack of unknown size. Set before launches. */
extern _Atomic uint32_t gfx_stack_size;

/* Run it to the end (blocks); false on a fault, in l->message. */
bool gfx_dispatch_run(struct gfx_launch *l);
uint64_t gfx_wall_clock(void);      /* ticks of 10 ns, like the 100 MHz counter of the devices */

#endif
