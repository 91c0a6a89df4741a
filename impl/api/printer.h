/* SPDX-License-Identifier: Apache-2.0
 * Text for arguments and results of CUDA calls, from the run-time tables (meta.h). What is printed: enumerations and flags
 * by name, handles and addresses in hex, strings quoted and cut, small arrays and described structures member by member.
 * The functions append to a cw_buf and read only what the direction and the call's outcome make readable. */
#ifndef CW_API_PRINTER_H
#define CW_API_PRINTER_H

#include "impl/api/meta.h"
#include "impl/base/buf.h"

#include <stdbool.h>

/* A number in the way its kind asks for. `value` is zero- or sign-extended by the caller as the C type is signed.
 * An enumerator without a name is printed as a number; flags as "A|B|0x40", 0 as "0". */
void cw_cuda_print_number(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, uint64_t value);

/* One value in memory of `size` bytes. struct_index >= 0: a structure. */
void cw_cuda_print_value(struct cw_buf *out, enum cw_meta_kind kind, int enum_index, int struct_index, const void *value,
                         size_t size);

/* "name=value" of parameter `index`. args[i] points to the storage of argument i (as a caller's &argument). With `after`,
 * the call has returned: out parameters are printed by value, or as addresses when it failed (`ok` false). */
void cw_cuda_print_param(struct cw_buf *out, const struct cw_meta_function *f, unsigned index, void *const *args,
                         bool after, bool ok);

/* "cuMemAlloc_v2(dptr=0x7f.., bytesize=1024)", and " = CUDA_SUCCESS" when `after`. */
void cw_cuda_print_call(struct cw_buf *out, const struct cw_meta_function *f, void *const *args, bool after, int result);

#endif
