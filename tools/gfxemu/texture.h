/* SPDX-License-Identifier: Apache-2.0
 * Between hip.c and texture.c. */
#ifndef GFX_TEXTURE_H
#define GFX_TEXTURE_H

#include "tools/gfxemu/gfx.h"

/* The device's processor; NULL where there is none. */
const struct gfx_target *gfx_hip_target(void);

#endif
