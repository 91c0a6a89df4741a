/* SPDX-License-Identifier: Apache-2.0
 * printf and assert on AMD devices: records that kernels append to a FIFO in pinned memory (jit/builtins/print.h) are read, formatted and
 * written to standard output (assert: standard error) when the host waits for the device. Records that do not fit are lost; the
 * log says so. */
#define _GNU_SOURCE
#include "impl/hip/device.h"

#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/format.h"
#include "jit/builtins/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIFO_SIZE = 1 << 20, FAULT = 8, HEAD = CWD_PRINT_HEAD, RECORD = CWD_PRINT_RECORD };

/* ---- the FIFO ---- */

uint64_t
hip_fifo_address(struct cwb_context *c)
{
    pthread_mutex_lock(&c->fifo_lock);
    if (!c->fifo) {
        void *p = NULL;
        hip_use(c);
        if (hip.hipHostMalloc(&p, FIFO_SIZE + FAULT, hipHostMallocPortable | hipHostMallocMapped) == hipSuccess) {
            uint32_t head[2] = { 0, FIFO_SIZE - HEAD };
            memset(p, 0, FIFO_SIZE + FAULT);
            memcpy(p, head, sizeof head);
            c->fifo = p;
        } else {
            cw_warn("there is no memory for the output of kernels: printf prints nothing");
        }
    }
    uint64_t address = (uintptr_t)c->fifo;
    pthread_mutex_unlock(&c->fifo_lock);
    return address;
}

uint64_t
hip_fault_address(struct cwb_context *c)
{
    uint64_t fifo = hip_fifo_address(c);
    return fifo ? fifo + FIFO_SIZE : 0;
}

/* Strings are in the device's memory, and of that in one allocation. A kernel may give any address: HIP would take one that it does not know
 * for the host's and read it. */
static const char *
device_string(void *user, uint64_t address, char *buffer, size_t size)
{
    struct cwb_context *c = user;
    size_t n = 0, room = 0;
    hipDeviceptr_t base = NULL;
    hip_use(c);
    if (hip.hipMemGetAddressRange(&base, &room, (hipDeviceptr_t)(uintptr_t)address) != hipSuccess || address - (uintptr_t)base >= room)
        room = 0;
    else
        room -= address - (uintptr_t)base;
    if (room > size - 1)
        room = size - 1;
    for (size_t step; n < room; n += step) {
        step = room - n < 256 ? room - n : 256;
        if (hip.hipMemcpy(buffer + n, (const void *)(uintptr_t)(address + n), step, hipMemcpyDefault) != hipSuccess)
            break;
        if (memchr(buffer + n, 0, step))
            return buffer;
    }
    (void)hip.hipGetLastError();
    buffer[n] = 0;
    return buffer;
}

static void
print_assert(struct cwb_context *c, const uint8_t *args, size_t size)
{
    uint64_t at[3];
    uint32_t v[7];
    char text[3][512];
    if (size < sizeof at + sizeof v)
        return;
    memcpy(at, args, sizeof at);
    memcpy(v, args + sizeof at, sizeof v);
    for (int i = 0; i < 3; i++)
        (void)device_string(c, at[i], text[i], sizeof text[i]);
    char line[2048];
    int n = snprintf(line, sizeof line, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", text[1], v[0], text[2], v[1],
                     v[2], v[3], v[4], v[5], v[6], text[0]);
    (void)cw_stderr_write(line, (size_t)n);
}

/* Not on the caller's stack, which may have 16 KiB. */
struct print {
    char format[4096], text[CW_FORMAT_MAX];
};

static void
print_format(struct cwb_context *c, struct print *p, uint64_t format, const uint8_t *args, size_t size, struct cw_buf *all)
{
    size_t n;
    if (!p) {
        all->failed = true;
        return;
    }
    (void)cw_format(device_string(c, format, p->format, sizeof p->format), args, size, 8, device_string, c, p->text, &n);
    cw_buf_append(all, p->text, n);
}

void
hip_fifo_flush(struct cwb_context *c, bool idle)
{
    uint8_t *const fifo = atomic_load(&c->fifo);
    if (!fifo)
        return;
    uint8_t *const base = fifo + HEAD;
    pthread_mutex_lock(&c->fifo_lock);
    uint32_t taken = __atomic_load_n((uint32_t *)(void *)fifo, __ATOMIC_ACQUIRE), room = FIFO_SIZE - HEAD;
    uint32_t end = taken < room ? taken : room;
    struct print *print = NULL;
    struct cw_buf all;
    cw_buf_init(&all);
    if (!c->told)
        c->told = __atomic_load_n((uint32_t *)(void *)(fifo + FIFO_SIZE), __ATOMIC_RELAXED);
    while (c->fifo_read + RECORD <= end) {
        uint8_t *r = base + c->fifo_read;
        uint32_t size = __atomic_load_n((uint32_t *)(void *)r, __ATOMIC_ACQUIRE), kind;
        uint64_t format;
        if (size < RECORD || size > end - c->fifo_read || size & 7)
            break;                      /* not complete, or it did not fit */
        memcpy(&kind, r + 4, 4);
        memcpy(&format, r + 8, 8);
        if (kind == CWD_PRINT_ASSERT) {
            print_assert(c, r + RECORD, size - RECORD);
            c->asserted = true;
        } else if (kind == CWD_PRINT_FORMAT) {
            print = print ? print : malloc(sizeof *print);
            print_format(c, print, format, r + RECORD, size - RECORD, &all);
        }
        c->fifo_read += size;
    }
    free(print);
    /* Begin at the start again if no kernel of another thread has taken more, or has not yet written what it took. What did not fit is never
     * written. */
    if (idle && taken && (c->fifo_read == taken || taken > room)) {
        memset(base, 0, taken > room ? room : c->fifo_read);
        if (__atomic_compare_exchange_n((uint32_t *)(void *)fifo, &taken, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            c->fifo_read = 0;
            if (taken > room)
                cw_warn("the output of kernels between two waits was more than %u bytes: the rest is lost", room);
        }
    }
    if (all.failed)
        cw_warn("there is no memory for the output of kernels: some of it is lost");
    if (all.size)
        cw_stdout_write(all.data, all.size);
    cw_buf_finish(&all);
    pthread_mutex_unlock(&c->fifo_lock);
}
