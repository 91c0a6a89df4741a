/* SPDX-License-Identifier: Apache-2.0
 * The error log (CUDA Driver API, "Error Log Management Functions"): errors and warnings of the log (impl/base/log.h), kept whether they are
 * printed or not, for programs that register a callback or copy them out. The manual's size: 25,600 bytes, here 100 messages of at most 256.
 *
 * A callback runs in the thread whose call said something, under a lock of its own: once cuLogsUnregisterCallback has returned it runs nowhere.
 * What it makes the driver say is kept, and not told to callbacks. */
#include "impl/driver/driver.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 100, MESSAGE = 256 };

struct message {
    uint16_t length;                    /* without the zero behind it */
    char     text[MESSAGE];             /* ends in a newline */
};

struct callback {
    CUlogsCallback   f;                 /* NULL: to be freed */
    void            *data;
    struct callback *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message ring[MESSAGES];   /* lock: message i is ring[i % MESSAGES] */
static uint32_t next;                   /* lock: of the next message; an iterator is such a number */
static pthread_mutex_t calling = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;        /* before `lock` */
static struct callback *callbacks;      /* calling */
static unsigned depth;                  /* calling */

/* ---- what is said ------------------------------------------------------------------------------------------------------------- */

/* "[Time][TID][Source][Severity] Message" (CUDA Programming Guide, "Error Log Management"); the time is UTC, TID what pthread_self says, as in driver
 * 580's log. Returns where the message begins. */
static size_t
format(struct message *m, enum cw_log_level level, const char *text, size_t n)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned day = (unsigned)(t.tv_sec % 86400);
    size_t head = (size_t)snprintf(m->text, MESSAGE, "[%02u:%02u:%02u.%03u][%lu][CUDA][%c] ", day / 3600, day / 60 % 60, day % 60,
                                   (unsigned)(t.tv_nsec / 1000000), (unsigned long)pthread_self(), level == CW_LOG_ERROR ? 'E' : 'W');
    if (n > MESSAGE - 2 - head)
        n = MESSAGE - 2 - head;
    memcpy(m->text + head, text, n);
    m->text[head + n] = '\n';
    m->text[head + n + 1] = 0;
    m->length = (uint16_t)(head + n + 1);
    return head;
}

static void
sweep(void)
{
    for (struct callback **p = &callbacks, *c; (c = *p);) {
        if (c->f) {
            p = &c->next;
        } else {
            *p = c->next;
            free(c);
        }
    }
}

/* Callbacks get the message alone: so driver 580, seen on an H100. */
static void
tell(enum cw_log_level level, char *text, size_t n)
{
    pthread_mutex_lock(&calling);
    for (struct callback *c = depth++ ? NULL : callbacks; c; c = c->next)
        if (c->f)
            c->f(c->data, level == CW_LOG_ERROR ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING, text, n);
    if (!--depth)
        sweep();
    pthread_mutex_unlock(&calling);
}

static void
said(enum cw_log_level level, const char *text, size_t n)
{
    struct message m;
    size_t head = format(&m, level, text, n);
    pthread_mutex_lock(&lock);
    ring[next++ % MESSAGES] = m;
    pthread_mutex_unlock(&lock);
    m.text[m.length - 1] = 0;
    tell(level, m.text + head, m.length - 1 - head);
}

void
logs_start(void)
{
    cw_log_set_sink(said);
}

/* A lock may have been held by a thread that the child has not. */
void
logs_forked(void)
{
    cw_log_set_sink(NULL);
}

/* ---- callbacks ------------------------------------------------------------------------------------------------------------------ */

CUresult
drv_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out)
{
    READY();
    if (!callbackFunc)
        return CUDA_ERROR_INVALID_VALUE;
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&calling);
    *c = (struct callback){ callbackFunc, userData, callbacks };
    callbacks = c;
    pthread_mutex_unlock(&calling);
    if (callback_out)
        *callback_out = (CUlogsCallbackHandle)(void *)c;
    return CUDA_SUCCESS;
}

CUresult
drv_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    READY();
    pthread_mutex_lock(&calling);
    struct callback *c = callbacks;
    while (c && (!c->f || (CUlogsCallbackHandle)(void *)c != callback))
        c = c->next;
    if (c)
        c->f = NULL;
    if (!depth)
        sweep();
    pthread_mutex_unlock(&calling);
    return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

CUresult
drv_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    READY();
    if (!iterator_out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    const CUlogIterator now = next;
    pthread_mutex_unlock(&lock);
    *iterator_out = now;
    return CUDA_SUCCESS;
}

static const char truncated[] = "[older messages are missing]\n";

/* The messages from *iterator on (NULL: all), the last of them if not all fit into `room` bytes; a line at the head says if some are missing. */
static size_t
copy(CUlogIterator *iterator, char *to, size_t room)
{
    pthread_mutex_lock(&lock);
    uint32_t kept = next < MESSAGES ? next : MESSAGES, asked = iterator ? next - *iterator : next;
    if (asked > next)                   /* no iterator of this log's */
        asked = 0;
    uint32_t n = asked < kept ? asked : kept;
    size_t bytes = 0, fit = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += ring[(next - n + i) % MESSAGES].length;
    bool missing = n < asked || bytes > room;
    size_t left = missing ? room - (room < sizeof truncated - 1 ? room : sizeof truncated - 1) : room;
    uint32_t count = 0;
    while (count < n && fit + ring[(next - count - 1) % MESSAGES].length <= left)
        fit += ring[(next - count++ - 1) % MESSAGES].length;
    size_t at = 0;
    if (missing && count) {
        memcpy(to, truncated, sizeof truncated - 1);
        at = sizeof truncated - 1;
    }
    for (; count; count--) {
        const struct message *m = &ring[(next - count) % MESSAGES];
        memcpy(to + at, m->text, m->length);
        at += m->length;
    }
    bool too_small = n && !at;
    if (iterator && !too_small)
        *iterator = next;
    pthread_mutex_unlock(&lock);
    return too_small ? SIZE_MAX : at;
}

enum { ALL = MESSAGES * MESSAGE + sizeof truncated };

CUresult
drv_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    READY();
    if (!buffer || !size || !*size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    char *all = malloc(ALL);            /* the caller's memory is not touched under the lock */
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUlogIterator at = iterator ? *iterator : 0;
    const size_t room = *size - 1, n = copy(iterator ? &at : NULL, all, room < ALL ? room : ALL), got = n == SIZE_MAX ? 0 : n;
    memcpy(buffer, all, got);
    free(all);
    if (iterator && n != SIZE_MAX)
        *iterator = at;
    *size = got;
    buffer[got] = 0;
    return n == SIZE_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult
drv_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    READY();
    if (!pathToFile || flags)
        return CUDA_ERROR_INVALID_VALUE;
    char *all = malloc(ALL);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUlogIterator at = iterator ? *iterator : 0;
    size_t n = copy(iterator ? &at : NULL, all, ALL);
    bool written = cw_file_write(pathToFile, all, n) == CW_OK;
    free(all);
    if (written && iterator)
        *iterator = at;
    return written ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
