/* SPDX-License-Identifier: Apache-2.0
 * printf in kernels: formats each lane's packed arguments (CUDA C++ Programming Guide, "Formatted Output") into the
 * context's FIFO, which keeps the newest text when it overflows and goes to standard output at synchronisation.
 * The lanes' text is built on the stack before the lock is taken, since reading the arguments may fault. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "impl/base/file.h"
#include "impl/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cwh_output {
    pthread_mutex_t lock;
    char *text;
    size_t size, capacity, limit;
    bool lost;
};

struct cwh_output *
cwh_output_create(size_t limit)
{
    struct cwh_output *o = calloc(1, sizeof *o);
    if (o) {
        pthread_mutex_init(&o->lock, NULL);
        o->limit = limit;
    }
    return o;
}

void
cwh_output_destroy(struct cwh_output *o)
{
    if (!o)
        return;
    pthread_mutex_destroy(&o->lock);
    free(o->text);
    free(o);
}

void
cwh_output_limit(struct cwh_output *o, size_t limit)
{
    pthread_mutex_lock(&o->lock);
    o->limit = limit;
    pthread_mutex_unlock(&o->lock);
}

/* CUDA's FIFO overwrites the oldest output when it is full. Lock held. */
static void
append(struct cwh_output *o, const char *s, size_t n)
{
    if (o->size + n > o->limit) {
        size_t drop = o->size + n - o->limit;
        if (drop >= o->size) {
            if (n > o->limit) {
                s += n - o->limit;
                n = o->limit;
            }
            o->size = 0;
        } else {
            memmove(o->text, o->text + drop, o->size - drop);
            o->size -= drop;
        }
        o->lost = true;
    }
    if (o->size + n > o->capacity) {
        size_t c = o->capacity ? o->capacity * 2 : 4096;
        while (c < o->size + n)
            c *= 2;
        char *t = realloc(o->text, c);
        if (!t)
            return;
        o->text = t;
        o->capacity = c;
    }
    if (n)                              /* or there may be no text yet */
        memcpy(o->text + o->size, s, n);
    o->size += n;
}

void
cwh_output_append(struct cwh_output *o, const char *text, size_t size)
{
    pthread_mutex_lock(&o->lock);
    append(o, text, size);
    pthread_mutex_unlock(&o->lock);
}

size_t
cwh_output_limit_of(struct cwh_output *o)
{
    pthread_mutex_lock(&o->lock);
    size_t limit = o->limit;
    pthread_mutex_unlock(&o->lock);
    return limit;
}

char *
cwh_output_take(struct cwh_output *o, size_t *size)
{
    pthread_mutex_lock(&o->lock);
    char *text = o->text;
    *size = o->size;
    o->text = NULL;
    o->size = o->capacity = 0;
    o->lost = false;
    pthread_mutex_unlock(&o->lock);
    return text;
}

void
cwh_output_flush(struct cwh_output *o)
{
    if (!o)
        return;
    size_t size;
    char *text = cwh_output_take(o, &size);
    if (size)
        cw_stdout_write(text, size);
    free(text);
}

/* Not ended within what the kernel may read: cut there. */
static const char *
bounded_string(const struct cwh_gang *gang, uint64_t address, char *buffer, size_t size)
{
    uint64_t n = cwh_bound_extent(gang, address);
    if (!n)
        cwh_abort(cwh_fiber_of(gang), CWB_ILLEGAL_ADDRESS, "printf: a text at 0x%llx is not the kernel's to read", (unsigned long long)address);
    if (n == UINT64_MAX)
        return (const char *)(uintptr_t)address;
    if (n > size - 1)
        n = size - 1;
    n = strnlen((const char *)(uintptr_t)address, n);
    memcpy(buffer, (const char *)(uintptr_t)address, n);
    buffer[n] = 0;
    return buffer;
}

static const char *
string(void *gang, uint64_t address, char *buffer, size_t size)
{
    const struct cwh_gang *g = gang;
    return bounded_string(g, g->block->launch->window ? cwh_widen(g, (uint32_t)address) : address, buffer, size);
}

void
cwh_rt_vprintf(struct cwh_gang *gang, uint64_t mask, const uint64_t *formats, const uint64_t *args, int32_t *results)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_output *o = f->worker->launch->output;
    char text[CW_FORMAT_MAX];
    size_t size;
    bool addr32 = gang->block->launch->window, bounded = f->worker->launch->info.bounded;
    for (uint64_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        char format[CW_FORMAT_MAX];
        results[lane] = cw_format(formats[lane] ? bounded_string(gang, formats[lane], format, sizeof format) : NULL, (const uint8_t *)(uintptr_t)args[lane],
                                  cwh_bound_extent(gang, args[lane]), addr32 ? 4 : 8, addr32 || bounded ? string : NULL, gang, text, &size);
        if (o)
            cwh_output_append(o, text, size);
        else
            fwrite(text, 1, size, stdout);
        if (results[lane] == CW_FORMAT_OVER)
            cwh_abort(f, CWB_ILLEGAL_ADDRESS, "printf: not all arguments at 0x%llx are the kernel's to read", (unsigned long long)args[lane]);
    }
}
