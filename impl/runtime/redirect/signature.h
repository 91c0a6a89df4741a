/* SPDX-License-Identifier: Apache-2.0
 * Signatures: what `cudaway signatures` makes of a toolkit's libcudart_static.a, so that the runtime is found in stripped programs.
 * They are made and kept by the user ($CUDAWAY_SIGNATURES, $XDG_CONFIG_HOME/cudaway/signatures or ~/.config/cudaway/signatures);
 * none comes with this project. The form is text, a record a line (docs/static-runtime.md):
 *
 *   cudaway-signatures 1
 *   runtime 12                          major version
 *   section .text 489060                a section of a member that the linker moves as a whole, and its size
 *   function cudaMalloc 4cec0 501 48 HEX   name, offset (hex), size, bytes of the pattern, the pattern: two hex digits a byte, .. where
 *                                       the linker writes */
#ifndef CW_REDIRECT_SIGNATURE_H
#define CW_REDIRECT_SIGNATURE_H

#include "impl/runtime/redirect/copy.h"

enum {
    CW_SIGNATURE_BYTES = 64,            /* the longest pattern of a function */
    CW_SIGNATURE_ANCHOR = 12,           /* fixed bytes in a row that a search needs */
    CW_SIGNATURE_MAX_FUNCTIONS = 65536,
    CW_SIGNATURE_MAX_FILE = 64 << 20,
};

struct cw_signature {
    char    *name;
    uint64_t offset, size;              /* in its section; bytes */
    uint32_t section;
    uint32_t length;                    /* bytes of the pattern */
    uint8_t  bytes[CW_SIGNATURE_BYTES], mask[CW_SIGNATURE_BYTES];      /* mask: 0xff where the byte is fixed, else 0 */
};

struct cw_signatures {
    unsigned major;
    uint32_t nsections;
    struct cw_signature *list;          /* by section, then as written */
    size_t   count;
};

/* Read a signature file's text. CW_ERR_DAMAGED: not of that form; *line says where. CW_ERR_VERSION: of another version. */
cw_result cw_signatures_parse(const char *text, size_t size, struct cw_signatures *out, unsigned *line) CW_MUST_CHECK;
void cw_signatures_finish(struct cw_signatures *s);
/* Functions of `s` in code that begins at linked address `address`, into c->functions, names and major version.
 * A section counts as found where every pattern of it fits at one and only one place. CW_OK with c->count 0: not found. */
cw_result cw_signatures_match(const struct cw_signatures *s, const uint8_t *code, size_t size, uint64_t address, struct cw_copy *c) CW_MUST_CHECK;
/* The folder of signature files, malloc'd; NULL when there is no home folder. */
char *cw_signatures_folder(void);
/* Try every signature file of the folder on the object's code. */
cw_result cw_signatures_find(const struct cw_elf *e, struct cw_copy *c) CW_MUST_CHECK;

#endif
