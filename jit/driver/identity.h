/* SPDX-License-Identifier: Apache-2.0
 * What makes this compiler different from another: part of every key of the disk cache. Private to jit/. */
#ifndef CWJ_HOST_IDENTITY_H
#define CWJ_HOST_IDENTITY_H

#include "impl/base/hash.h"

/* LLVM's version and the build of this library. Any thread. */
void cwj_identity_hash(struct cw_sha256 *s);

#endif
