/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/emit/amdgcn_matrix.h"

void
gcn_mma(struct emit *e, const struct ptx_inst *in)
{
    emit_unsupported(e, in, "matrix products are not emitted for amdgcn");
}
