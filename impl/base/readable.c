/* SPDX-License-Identifier: Apache-2.0
 * See readable.h. */
#include "impl/base/readable.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t
rest_of_page(uintptr_t at)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return page - at % page;
}

/* The kernel reads the set, a word of the page, before it finds that there is no such operation. */
uint64_t
cw_readable(const void *p, uint64_t size)
{
    const uintptr_t from = (uintptr_t)p;
    const int saved = errno;
    uint64_t n = 0;
    if (size > UINTPTR_MAX - from)
        size = UINTPTR_MAX - from;
    while (n < size && !(syscall(SYS_rt_sigprocmask, -1, (from + n) & ~(uintptr_t)7, NULL, _NSIG / 8) && errno == EFAULT))
        n += rest_of_page(from + n);
    errno = saved;
    return n < size ? n : size;
}

bool
cw_readable_piece(struct cw_readable_page *last, const void *p, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p, end = from + (size ? size - 1 : 0);
    if (last->page && from / page == last->page && end / page == last->page)
        return true;
    if (!p || end < from || cw_readable(p, size ? size : 1) < size)
        return false;
    last->page = end / page;
    return true;
}

size_t
cw_readable_text(const char *s, size_t most)
{
    size_t n = 0;
    for (uint64_t part, found; n < most && cw_readable(s + n, 1); n += part) {
        part = rest_of_page((uintptr_t)(s + n));
        part = part < most - n ? part : most - n;
        found = strnlen(s + n, part);
        if (found < part)
            return n + found;
    }
    return n;
}
