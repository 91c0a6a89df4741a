/* SPDX-License-Identifier: Apache-2.0
 * What an observer above the driver (the tracer's flight recorder) may ask about a context that a fault has ended. The interface is the export
 * table (cuGetExportTable) named CW_POST_MORTEM_ID of CUDAway's own libcuda; NVIDIA's driver has no such table. Without watch() a
 * launch costs one load and one branch more. */
#ifndef CW_POST_MORTEM_H
#define CW_POST_MORTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_POST_MORTEM_ID { 0x63, 0x75, 0x64, 0x61, 0x77, 0x61, 0x79, 0x2d, 0x66, 0x61, 0x75, 0x6c, 0x74, 0x00, 0x00, 0x01 }

/* What cuGetExportTable gives. All may be called by any thread. */
struct cw_post_mortem {
    size_t size;                    /* of this structure */
    /* Number the launches of this process from now on, from 1, for good. */
    void (*watch)(void);
    /* The number of the last launch that the calling thread has submitted; 0: none. */
    uint64_t (*last)(void);
    /* The launch that ended the current context, 0: none did, or the device does not tell. */
    uint64_t (*failed)(void);
    /* From `on` to off the calling thread's calls are not refused because its context has a fault. Its copies and launches are still not executed. */
    void (*ignore_fault)(bool on);
};

#endif
