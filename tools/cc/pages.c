/* SPDX-License-Identifier: Apache-2.0
 * See pages.h. Where a page of a file is touched for the first time, Linux maps what the page cache has around it: 64 KB, or the whole piece
 * in which it is cached. Most of LLVM's code and tables is never used, so two thirds of what would be mapped of it are not touched. There is
 * no call that says so; but memory that a userfaultfd watches for writes is mapped by the page. Nothing is ever protected from writing here, so
 * nobody is told of anything, and UFFD_USER_MODE_ONLY asks for no right that every process does not have.
 *
 * What BOLT laid out as hot is left as it is: nearly all of it is touched. */
#define _GNU_SOURCE
#include "tools/cc/pages.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_ASYNC           /* Linux 6.7: for pages of files, too */
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

/* BOLT's, with -hot-text; 0 in a program that it has not seen. */
extern const char __hot_start[] __attribute__((weak)), __hot_end[] __attribute__((weak));

static void
watch(int fd, uintptr_t begin, uintptr_t end)
{
    if (begin >= end)
        return;
    struct uffdio_register r = { .range = { begin, end - begin }, .mode = UFFDIO_REGISTER_MODE_WP };
    if (ioctl(fd, UFFDIO_REGISTER, &r))
        return;
    (void)madvise((void *)begin, end - begin, MADV_NOHUGEPAGE);        /* 2 MB at a time, where the cache has it so */
    (void)madvise((void *)begin, end - begin, MADV_DONTNEED);          /* never written, so the file has it */
}

void
cc_pages_as_touched(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    const Elf64_Phdr *h = (const Elf64_Phdr *)getauxval(AT_PHDR);
    struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (fd < 0)
        return;
    if (ioctl(fd, UFFDIO_API, &api)) {
        close(fd);
        return;
    }
    uintptr_t hot = (uintptr_t)__hot_start & ~page, hot_end = ((uintptr_t)__hot_end + page) & ~page;
    for (unsigned long i = 0, n = h ? getauxval(AT_PHNUM) : 0; i < n; i++) {
        if (h[i].p_type != PT_LOAD || h[i].p_flags & PF_W)
            continue;
        uintptr_t begin = h[i].p_vaddr & ~page, end = (h[i].p_vaddr + h[i].p_memsz + page) & ~page;
        if (hot >= begin && hot_end <= end) {
            watch(fd, begin, hot);
            begin = hot_end;
        }
        watch(fd, begin, end);
    }
    /* fd stays open: what it watches is forgotten with it. */
}
