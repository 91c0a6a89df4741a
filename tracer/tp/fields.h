/* SPDX-License-Identifier: Apache-2.0
 * What the generated events use to read a call. Null checks and bounds: no field reads memory that the call would not read. What a parameter points to
 * is tried first, since a call may refuse another parameter before it touches this one. A fault inside of an event would keep LTTng's locks where the
 * program's handler leaves it by a long jump. */
#ifndef CW_TRACER_TP_FIELDS_H
#define CW_TRACER_TP_FIELDS_H

#include "impl/base/readable.h"
#include "tracer/tp/tp.h"

#include <stdint.h>
#include <string.h>

static const uint64_t cw_tp_zero[8] __attribute__((unused));

/* The pointer that parameter i holds. */
static inline const void *
cw_tp_at(const struct cw_call *c, unsigned i)
{
    return *(const void *const *)c->args[i];
}

/* The same, or NULL where cw_tp_try could not read. */
static inline const void *
cw_tp_in(const struct cw_call *c, unsigned i)
{
    return c->unreadable >> i & 1 ? NULL : cw_tp_at(c, i);
}

/* Can `size` bytes be read where parameter i points? */
static inline void
cw_tp_try(struct cw_call *c, unsigned i, uint64_t size)
{
    const void *p = cw_tp_at(c, i);
    if (p && size && cw_readable(p, size) < size)
        c->unreadable |= 1ull << i;
}

/* After the call: the same where the call may have written through it, else NULL. */
static inline const void *
cw_tp_out(const struct cw_call *c, unsigned i)
{
    return c->result == CUDA_SUCCESS ? cw_tp_in(c, i) : NULL;
}

static inline unsigned
cw_tp_count(const void *valid, uint64_t n)
{
    return !valid ? 0 : n < CW_TP_ELEMENTS ? (unsigned)n : CW_TP_ELEMENTS;
}

static inline uint64_t
cw_tp_less(uint64_t n, uint64_t less)
{
    return n > less ? n - less : 0;
}

static inline const char *
cw_tp_text(const struct cw_call *c, unsigned i)
{
    const char *s = cw_tp_at(c, i);
    return s ? s : "";
}

static inline unsigned
cw_tp_text_length(const struct cw_call *c, unsigned i)
{
    return (unsigned)cw_readable_text(cw_tp_text(c, i), CW_TP_TEXT_BYTES);
}

static inline const char *
cw_tp_out_text(const struct cw_call *c, unsigned i)
{
    const char *const *p = cw_tp_out(c, i);
    return p && *p ? *p : "";
}

static inline unsigned
cw_tp_out_text_length(const struct cw_call *c, unsigned i)
{
    return (unsigned)strnlen(cw_tp_out_text(c, i), CW_TP_TEXT_BYTES);
}

static inline const char *
cw_tp_out_bytes(const struct cw_call *c, unsigned i)
{
    const char *p = cw_tp_out(c, i);
    return p ? p : "";
}

static inline unsigned
cw_tp_buffer_length(const struct cw_call *c, unsigned i, uint64_t size)
{
    return (unsigned)cw_readable_text(cw_tp_out_bytes(c, i), size < CW_TP_TEXT_BYTES ? size : CW_TP_TEXT_BYTES);
}

#endif
