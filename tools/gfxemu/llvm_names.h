/* SPDX-License-Identifier: Apache-2.0
 * The instructions that LLVM knows for a processor, by their names in all encodings: what its disassembler finds in all encodings, that is
 * every value of the upper 19 bits of the first dword, with a few of the second; where opcodes reach lower (SOP1, VOP1), of the upper 24. */
#ifndef GFX_LLVM_NAMES_H
#define GFX_LLVM_NAMES_H

#include <stdint.h>

struct gfx_llvm_name { const char *text; uint32_t code[5]; };      /* the first encoding with it */

/* An array that ends with a NULL text, or NULL without memory or processor; free it with gfx_llvm_names_free. */
struct gfx_llvm_name *gfx_llvm_names(const char *processor);
void gfx_llvm_names_free(struct gfx_llvm_name *names);

#endif
