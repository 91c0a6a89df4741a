/* SPDX-License-Identifier: Apache-2.0
 * The events beside the calls; read by the generated trace_points.h, several times over, so without a guard. */
LTTNG_UST_TRACEPOINT_EVENT(cudaway, kernel, LTTNG_UST_TP_ARGS(const struct cw_tp_kernel *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_sequence_text(char, name, k->launch->name, unsigned,
                                  (unsigned)strnlen(k->launch->name, CW_TP_TEXT_BYTES))
    lttng_ust_field_integer_hex(uint64_t, function, (uint64_t)(uintptr_t)k->launch->function)
    lttng_ust_field_integer_hex(uint64_t, module, (uint64_t)(uintptr_t)k->launch->module)
    lttng_ust_field_integer(unsigned, grid_x, k->launch->grid[0])
    lttng_ust_field_integer(unsigned, grid_y, k->launch->grid[1])
    lttng_ust_field_integer(unsigned, grid_z, k->launch->grid[2])
    lttng_ust_field_integer(unsigned, block_x, k->launch->block[0])
    lttng_ust_field_integer(unsigned, block_y, k->launch->block[1])
    lttng_ust_field_integer(unsigned, block_z, k->launch->block[2])
    lttng_ust_field_integer(unsigned, shared, k->launch->shared)
    lttng_ust_field_integer_hex(uint64_t, stream, (uint64_t)(uintptr_t)k->launch->stream)
    lttng_ust_field_sequence_hex(uint8_t, params, (const uint8_t *)k->params, unsigned, k->param_size)
))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, module, LTTNG_UST_TP_ARGS(const struct cw_tp_module *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer_hex(uint64_t, handle, k->handle)
    lttng_ust_field_string(kind, k->kind)
    lttng_ust_field_integer(uint64_t, size, k->size)
    lttng_ust_field_string(sha256, k->hash)
    lttng_ust_field_sequence_text(char, file, k->file, unsigned, (unsigned)strnlen(k->file, CW_TP_TEXT_BYTES))
))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, name, LTTNG_UST_TP_ARGS(const struct cw_tp_name *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer_hex(uint64_t, handle, k->handle)
    lttng_ust_field_integer_hex(uint64_t, module, k->module)
    lttng_ust_field_sequence_text(char, name, k->name, unsigned, (unsigned)strnlen(k->name, CW_TP_TEXT_BYTES))
))

LTTNG_UST_TRACEPOINT_ENUM(cudaway, device_op, LTTNG_UST_TP_ENUM_VALUES(
    lttng_ust_field_enum_value("launch", CW_DEVICE_LAUNCH)
    lttng_ust_field_enum_value("copy", CW_DEVICE_COPY)
    lttng_ust_field_enum_value("fill", CW_DEVICE_FILL)
    lttng_ust_field_enum_value("compile", CW_DEVICE_COMPILE)
))

LTTNG_UST_TRACEPOINT_ENUM(cudaway, device_way, LTTNG_UST_TP_ENUM_VALUES(
    lttng_ust_field_enum_value("host to device", CW_WAY_HTOD)
    lttng_ust_field_enum_value("device to host", CW_WAY_DTOH)
    lttng_ust_field_enum_value("on the device", CW_WAY_DTOD)
    lttng_ust_field_enum_value("host to host", CW_WAY_HTOH)
))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, submit, LTTNG_UST_TP_ARGS(const struct cw_tp_submit *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint64_t, number, k->number)
    lttng_ust_field_enum(cudaway, device_op, int, op, (int)k->op->kind)
    lttng_ust_field_enum(cudaway, device_way, int, way, (int)k->op->way)
    lttng_ust_field_integer(unsigned, device, k->op->device)
    lttng_ust_field_integer_hex(uint64_t, queue, k->op->queue)
    lttng_ust_field_sequence_text(char, name, k->op->name, unsigned, (unsigned)strnlen(k->op->name, CW_TP_TEXT_BYTES))
    lttng_ust_field_integer(uint64_t, bytes, k->op->bytes)
    lttng_ust_field_array(unsigned, grid, k->op->grid, 3)
    lttng_ust_field_array(unsigned, block, k->op->block, 3)
    lttng_ust_field_integer(unsigned, occupancy, k->op->occupancy)
    lttng_ust_field_integer(unsigned, cached, k->op->cached)
    lttng_ust_field_integer(uint64_t, start, k->start)
    lttng_ust_field_integer(uint64_t, end, k->end)
))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, executed, LTTNG_UST_TP_ARGS(const struct cw_tp_executed *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint64_t, number, k->number)
    lttng_ust_field_integer(uint64_t, start, k->start)
    lttng_ust_field_integer(uint64_t, end, k->end)
))

LTTNG_UST_TRACEPOINT_EVENT(cudaway, process, LTTNG_UST_TP_ARGS(const struct cw_tp_process *, k), LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint64_t, rank, k->rank)
))
