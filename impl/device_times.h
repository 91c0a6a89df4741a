/* SPDX-License-Identifier: Apache-2.0
 * When the device executed what: an observer above the driver (the tracer) learns of each launch, copy and fill, and of each
 * compilation. The interface is the export table (cuGetExportTable) named CW_DEVICE_TIMES_ID of CUDAway's own libcuda; NVIDIA's
 * driver has no such table. Without an observer an operation costs one load and one branch more. */
#ifndef CW_DEVICE_TIMES_H
#define CW_DEVICE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_DEVICE_TIMES_ID { 0x63, 0x75, 0x64, 0x61, 0x77, 0x61, 0x79, 0x2d, 0x74, 0x69, 0x6d, 0x65, 0x73, 0x00, 0x00, 0x01 }

enum cw_device_op_kind { CW_DEVICE_LAUNCH, CW_DEVICE_COPY, CW_DEVICE_FILL, CW_DEVICE_COMPILE };
enum cw_device_way { CW_WAY_HTOD, CW_WAY_DTOH, CW_WAY_DTOD, CW_WAY_HTOH };      /* of a copy */

struct cw_device_op {
    enum cw_device_op_kind kind;
    enum cw_device_way way;
    uint32_t    device;
    uint64_t    queue;              /* which queue of the device: equal for operations that follow each other; 0 for COMPILE */
    const char *name;               /* LAUNCH, COMPILE: the kernel; else "" */
    uint64_t    bytes;              /* COPY, FILL */
    uint32_t    grid[3], block[3];  /* LAUNCH */
    uint32_t    occupancy;          /* LAUNCH: threads that a multiprocessor holds at a time, of 1000 that it could */
    bool        cached;             /* COMPILE: the code came from the disk cache */
};

struct cw_device_observer {
    /* In the submitting thread, before the device has the operation. Returns the number that `done` gets. May run under the
     * driver's locks: it must not call the driver. Of COMPILE: after it, with no `done`. */
    uint64_t (*submit)(const struct cw_device_op *op, uint64_t start, uint64_t end);
    /* Once for each submit but COMPILE, in any thread, unless the process ends first: the operation began and ended at these times, ns of CLOCK_MONOTONIC; both
     * zero: it was not executed, or its times are not known. */
    void (*done)(uint64_t number, uint64_t start, uint64_t end);
};

/* What cuGetExportTable gives. */
struct cw_device_times {
    size_t size;                    /* of this structure */
    /* Take this observer for good; it must stay. False: there is one already. */
    bool (*observe)(const struct cw_device_observer *o);
};

#endif
