/* SPDX-License-Identifier: Apache-2.0
 * A program's device code as a compiler embeds it, for tests that register it themselves. */
#ifndef RUNTIME_PROGRAM_H
#define RUNTIME_PROGRAM_H

#include "tests/jit/link/fatbin_writer.h"

static struct {
    int magic, version;
    const void *data, *more;
} wrapper = { 0x466243b1, 1, NULL, NULL };      /* its data: a container, made by pack_program() */

/* Put this text, its NUL included, into the container that `wrapper` names; once. */
static void
pack_program(const char *ptx, size_t size)
{
    static struct cw_buf container;
    if (wrapper.data)
        return;
    cw_buf_init(&container);
    size_t start = fatbin_begin(&container);
    fatbin_entry(&container, 1, 50, WRITE_PLAIN, NULL, ptx, size);
    fatbin_end(&container, start);
    wrapper.data = container.data;
}

#endif
