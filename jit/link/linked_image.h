/* SPDX-License-Identifier: Apache-2.0
 * The result of cuLinkComplete: a container of the added PTX texts, which are parsed and linked when it is loaded. Little endian:
 *
 *   offset 0   8  "CUDAWAYL"
 *          8   4  version (1)
 *         12   4  count of modules
 *         16   8  size of the whole, header included
 *         24      per module: u32 name length, u32 CU_JIT_MAX_REGISTERS or 0, u64 text length, name, 0, text, 0, padded to 8 bytes
 *
 * image_scan (jit.h) reports each module as an entry in a group of its own, so a loader that takes the best entry of every group and passes
 * all to program_create need not know this format. Linked into the driver and the jit; needs only impl/base. */
#ifndef CWJ_LINK_LINKED_IMAGE_H
#define CWJ_LINK_LINKED_IMAGE_H

#include "impl/base/buf.h"
#include "impl/base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CWJ_LINKED_MAGIC   "CUDAWAYL"
#define CWJ_LINKED_VERSION 1
enum { CWJ_LINKED_MAX_MODULES = 65536 };

struct cwj_linked_module {
    const char *name;           /* NUL-terminated; NULL or "": no name */
    const char *text;
    size_t size;                /* excludes the NUL */
    uint32_t max_registers;     /* CU_JIT_MAX_REGISTERS of the link, or 0 */
};

/* Where the text's first word is, behind a byte order mark, white space and comments; `size`: nowhere. */
size_t cwj_skip_blank(const char *text, size_t size);
/* Whether a text is PTX: a module begins with .version (PTX ISA 11.1.1). Reads to the first NUL at most. */
bool cwj_is_ptx(const char *text, size_t size);

/* Append the image to `out`. CW_ERR_LIMIT: too many modules; CW_ERR_NOMEM. */
cw_result cwj_linked_image_write(const struct cwj_linked_module *modules, size_t count, struct cw_buf *out) CW_MUST_CHECK;

/* Does `data` begin with the magic? Reads at most 8 bytes, and stops at the first that differs. */
bool cwj_linked_image_is(const void *data, size_t size);

/* Call found() for each module until it returns nonzero. The strings point into `data`. `size` may be SIZE_MAX (unknown); the image's own
 * size is then trusted. CW_ERR_INVALID: not this format; CW_ERR_VERSION; CW_ERR_DAMAGED. */
cw_result cwj_linked_image_read(const void *data, size_t size, int (*found)(void *user, const struct cwj_linked_module *m),
                                void *user) CW_MUST_CHECK;

#endif
