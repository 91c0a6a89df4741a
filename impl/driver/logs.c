/* SPDX-License-Identifier: Apache-2.0
 * The error log (CUDA Driver API, "Error Log Management Functions"): errors and warnings of the log (impl/base/log.h), kept whether they are
 * printed or not, and a line for each call that fails, for programs that register a callback or copy them out, and for CUDA_LOG_FILE. The manual's size: 25,600 bytes,
 * here 100 messages of at most 256.
 *
 * A callback runs at the end of the call that said something, in its thread, when no lock of the driver is held: it may make calls. What they say is kept, and not told
 * to callbacks. What the library's own threads say (a kernel's fault) is told at the end of the next call of any thread: the program's signals are blocked in them, and
 * NVIDIA's driver calls none there. Once cuLogsUnregisterCallback has returned, the callback runs nowhere. */
#include "impl/driver/driver.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/driver/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 100, MESSAGE = 256 };

struct message {
    uint16_t  head, length;             /* the text begins at `head`; without the zero behind it */
    bool      error, untold, anyones;   /* not a warning; callbacks have not heard it; a thread of the library's own said it */
    pthread_t by;
    char      text[MESSAGE];            /* ends in a newline */
};

struct callback {
    CUlogsCallback   f;                 /* NULL: to be freed */
    void            *data;
    struct callback *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message ring[MESSAGES];   /* lock: message i is ring[i % MESSAGES] */
static uint32_t next;                   /* lock: of the next message; an iterator is such a number */
static unsigned registered;             /* lock: callbacks */
static pthread_mutex_t calling = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;        /* before `lock` */
static struct callback *callbacks;      /* calling: in the order of their registration */
static char file_path[4096];            /* CUDA_LOG_FILE's, whole; empty: none, or one of the standard descriptors */
static int file_fd = -1;

_Thread_local bool logs_said;
_Atomic bool logs_said_elsewhere;
static _Thread_local bool telling;      /* the thread calls callbacks */

/* ---- what is said ------------------------------------------------------------------------------------------------------------- */

/* "[Time][TID][Source][Severity] Message" (CUDA Programming Guide, "Error Log Management"); the time is UTC, TID what pthread_self says, as in driver
 * 580's log. */
static void
format(struct message *m, const char *text, size_t n)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned day = (unsigned)(t.tv_sec % 86400);
    m->head = (uint16_t)snprintf(m->text, MESSAGE, "[%02u:%02u:%02u.%03u][%lu][CUDA][%c] ", day / 3600, day / 60 % 60, day % 60,
                                 (unsigned)(t.tv_nsec / 1000000), (unsigned long)m->by, m->error ? 'E' : 'W');
    if (n > MESSAGE - 2u - m->head)
        n = MESSAGE - 2u - m->head;
    memcpy(m->text + m->head, text, n);
    m->text[m->head + n] = '\n';
    m->text[m->head + n + 1] = 0;
    m->length = (uint16_t)(m->head + n + 1);
}

/* The file is opened anew each time: its descriptor would be one more for the program to close. */
static void
write_out(const struct message *m)
{
    int fd = *file_path ? open(file_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666) : file_fd;
    if (fd == STDERR_FILENO)
        (void)cw_stderr_write(m->text, m->length);
    else if (fd >= 0)
        (void)cw_write_all(fd, m->text, m->length);
    if (*file_path && fd >= 0)
        close(fd);
}

static void
said(enum cw_log_level level, const char *text, size_t n)
{
    struct message m = { .error = level == CW_LOG_ERROR, .anyones = !drv_calls, .by = pthread_self() };
    format(&m, text, n);
    pthread_mutex_lock(&lock);
    m.untold = registered && !telling;
    ring[next++ % MESSAGES] = m;
    if (m.untold && m.anyones)
        atomic_store_explicit(&logs_said_elsewhere, true, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    if (m.untold && !m.anyones)
        logs_said = true;
    write_out(&m);
}

/* CUDA_LOG_FILE (CUDA Programming Guide, "Error Log Management"): a file, which grows, or stdout or stderr. */
static void
find_file(void)
{
    const char *s = secure_getenv("CUDA_LOG_FILE");
    char folder[2048] = "";
    int n = 0;
    if (!s || !*s)
        return;
    if (!strcmp(s, "stdout") || !strcmp(s, "stderr"))
        file_fd = s[3] == 'o' ? STDOUT_FILENO : STDERR_FILENO;
    else if (*s == '/' || getcwd(folder, sizeof folder))
        n = snprintf(file_path, sizeof file_path, "%s%s%s", folder, *folder ? "/" : "", s);
    if (n >= (int)sizeof file_path)
        *file_path = 0;
}

/* As the library is loaded: a program may register a callback before it calls cuInit, and change its folder. */
static __attribute__((constructor)) void
start(void)
{
    int saved = errno;
    find_file();
    cw_log_set_sink(said);
    errno = saved;
}

/* The log of the child is empty: another thread may have held the locks, and have been in the middle of a message. */
void
logs_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    calling = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    next = 0;
    logs_said = false;
    atomic_store(&logs_said_elsewhere, false);
}

/* ---- callbacks ------------------------------------------------------------------------------------------------------------------ */

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

/* The oldest message that this thread has to tell. */
static bool
take(struct message *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = next < MESSAGES ? 0 : next - MESSAGES; !found && i != next; i++) {
        struct message *m = &ring[i % MESSAGES];
        found = m->untold && (m->anyones || pthread_equal(m->by, pthread_self()));
        if (found) {
            m->untold = false;
            *out = *m;
        }
    }
    if (!found) {
        logs_said = false;
        atomic_store_explicit(&logs_said_elsewhere, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void
told(const bool *unused)
{
    (void)unused;
    telling = false;
    sweep();
    pthread_mutex_unlock(&calling);
}

/* Callbacks get the message alone: so driver 580, seen on an H100. One may throw, or end its thread. */
static void
tell(void)
{
    if (logs_said)
        pthread_mutex_lock(&calling);
    else if (pthread_mutex_trylock(&calling))
        return;                         /* who has it tells everything of the library's own threads */
    struct message m;
    bool held __attribute__((cleanup(told))) = true;
    telling = true;
    while (take(&m)) {
        m.text[m.length - 1] = 0;
        for (struct callback *c = callbacks; c; c = c->next)
            if (c->f)
                c->f(c->data, m.error ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING, m.text + m.head, m.length - 1u - m.head);
    }
}

/* The line is NVIDIA's (580.159.04, an H200): "Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuMemAlloc_v2". */
void
logs_at_end(CUresult result, const char *function)
{
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) {
        char text[MESSAGE];
        const char *name;
        if (drv_cuGetErrorName(result, &name) != CUDA_SUCCESS)
            name = "?";
        said(CW_LOG_ERROR, text, (size_t)snprintf(text, sizeof text, "Returning %d (%s) from %s", (int)result, name, function));
    }
    if (drv_calls == 1 && (logs_said || atomic_load(&logs_said_elsewhere)))      /* 1: not a call that a callback makes */
        tell();
}

static void
count(int change)
{
    pthread_mutex_lock(&lock);
    registered += (unsigned)change;
    pthread_mutex_unlock(&lock);
}

CUresult
drv_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out)
{
    if (!callbackFunc)
        return CUDA_ERROR_INVALID_VALUE;
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct callback){ callbackFunc, userData, NULL };
    pthread_mutex_lock(&calling);
    struct callback **p = &callbacks;
    while (*p)
        p = &(*p)->next;
    *p = c;
    count(1);
    pthread_mutex_unlock(&calling);
    if (callback_out)
        *callback_out = (CUlogsCallbackHandle)(void *)c;
    return CUDA_SUCCESS;
}

CUresult
drv_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    pthread_mutex_lock(&calling);
    struct callback *c = callbacks;
    while (c && (!c->f || (CUlogsCallbackHandle)(void *)c != callback))
        c = c->next;
    if (c) {
        c->f = NULL;
        count(-1);
    }
    if (!telling)
        sweep();
    pthread_mutex_unlock(&calling);
    return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

CUresult
drv_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
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
