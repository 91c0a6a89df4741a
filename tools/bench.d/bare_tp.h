/* SPDX-License-Identifier: Apache-2.0
 * Trace points with the payload that the tracer records for cuDeviceGet and cuLaunchKernel, and nothing around them.
 * They carry the tracer's provider name because that is what its session enables. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER cudaway
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tools/bench.d/bare_tp.h"

#if !defined(CW_BARE_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CW_BARE_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(cudaway, bare_get_entry, LTTNG_UST_TP_ARGS(const void *, device, int, ordinal),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer_hex(uint64_t, device, (uint64_t)(uintptr_t)device)
        lttng_ust_field_integer(int64_t, ordinal, ordinal)))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, bare_get_exit, LTTNG_UST_TP_ARGS(int, device, int, result),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int64_t, device, device)
        lttng_ust_field_integer(int, result, result)))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, bare_launch_entry,
    LTTNG_UST_TP_ARGS(uint64_t, f, const unsigned *, d, uint64_t, stream, uint64_t, params, uint64_t, extra),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer_hex(uint64_t, f, f)
        lttng_ust_field_integer(uint64_t, gridDimX, d[0])
        lttng_ust_field_integer(uint64_t, gridDimY, d[1])
        lttng_ust_field_integer(uint64_t, gridDimZ, d[2])
        lttng_ust_field_integer(uint64_t, blockDimX, d[3])
        lttng_ust_field_integer(uint64_t, blockDimY, d[4])
        lttng_ust_field_integer(uint64_t, blockDimZ, d[5])
        lttng_ust_field_integer(uint64_t, sharedMemBytes, d[6])
        lttng_ust_field_integer_hex(uint64_t, hStream, stream)
        lttng_ust_field_integer_hex(uint64_t, kernelParams, params)
        lttng_ust_field_integer_hex(uint64_t, extra, extra)))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, bare_kernel,
    LTTNG_UST_TP_ARGS(const char *, name, uint64_t, f, uint64_t, module, const unsigned *, d, uint64_t, stream,
                      const uint8_t *, params, unsigned, size),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(name, name)
        lttng_ust_field_integer_hex(uint64_t, function, f)
        lttng_ust_field_integer_hex(uint64_t, module, module)
        lttng_ust_field_integer(uint32_t, grid_x, d[0])
        lttng_ust_field_integer(uint32_t, grid_y, d[1])
        lttng_ust_field_integer(uint32_t, grid_z, d[2])
        lttng_ust_field_integer(uint32_t, block_x, d[3])
        lttng_ust_field_integer(uint32_t, block_y, d[4])
        lttng_ust_field_integer(uint32_t, block_z, d[5])
        lttng_ust_field_integer(uint32_t, shared, d[6])
        lttng_ust_field_integer_hex(uint64_t, stream, stream)
        lttng_ust_field_sequence_hex(uint8_t, params, params, unsigned, size)))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, bare_launch_exit, LTTNG_UST_TP_ARGS(int, result),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, result, result)))

#endif

#include <lttng/tracepoint-event.h>
