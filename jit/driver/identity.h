/* SPDX-License-Identifier: Apache-2.0
 * What distinguishes this compiler from others: part of every key of the disk cache. Private to jit/. */
#ifndef CWJ_DRIVER_IDENTITY_H
#define CWJ_DRIVER_IDENTITY_H

#include "impl/base/hash.h"

/* LLVM's version and options, and the build of this library. Any thread. */
void cwj_identity_hash(struct cw_sha256 *s);

#endif
