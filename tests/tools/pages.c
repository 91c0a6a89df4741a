/* SPDX-License-Identifier: Apache-2.0
 * tools/cc/pages.c: after the call a page of the program's file is mapped when it is touched, and no other; what it holds is what it held. */
#define _GNU_SOURCE
#include "tools/cc/pages.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1024, STEP = 24, SKIPPED = 77 };

/* Of the file, and not zero. */
__asm__(".pushsection .rodata\n.balign 4096\ntable:\n.rept 1024\n.quad 0x5ca1ab1e\n.skip 4088, 0x5a\n.endr\n.popsection");
extern const uint64_t table[PAGES][PAGE / 8] __attribute__((visibility("hidden")));

/* How many of the table's pages are mapped; -1: not to be known. */
static int
mapped(void)
{
    static uint64_t entry[PAGES];
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), n = 0;
    ssize_t size = fd < 0 ? -1 : pread(fd, entry, sizeof entry, (off_t)((uintptr_t)table / PAGE * sizeof *entry));
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; i < PAGES; i++)
        n += (int)(entry[i] >> 63);
    return size == sizeof entry ? n : -1;
}

/* Every STEP-th page from `first` on; how many. */
static int
touch(unsigned first)
{
    int n = 0;
    for (unsigned i = first; i < PAGES; i += STEP, n++) {
        const volatile uint64_t *page = table[i];
        if (page[0] != 0x5ca1ab1e || page[PAGE / 8 - 1] != 0x5a5a5a5a5a5a5a5a) {
            printf("FAIL: page %u is not what it was\n", i);
            return -1;
        }
    }
    return n;
}

/* Whether this system can do it: asked otherwise than by what is tested. */
static int
possible(void)
{
    struct uffdio_api api = { .api = UFFD_API, .features = 1 << 15 };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1), ok = fd >= 0 && !ioctl(fd, UFFDIO_API, &api);
    if (fd >= 0)
        close(fd);
    return ok && sysconf(_SC_PAGESIZE) == PAGE;
}

int
main(void)
{
    int before = touch(0), around = mapped();
    if (before < 0)
        return 1;
    cc_pages_as_touched();
    if (around < 0 || !possible()) {
        puts("skipped: this system has no userfaultfd with asynchronous write protection (Linux 6.7), or no /proc/self/pagemap");
        return touch(STEP / 2) < 0 ? 1 : SKIPPED;
    }
    int forgotten = mapped(), again = touch(STEP / 2), now = mapped();
    printf("%d pages touched: %d mapped; afterwards %d; %d touched: %d mapped\n", before, around, forgotten, again, now);
    if (forgotten != 0 || again <= 0 || now != again) {
        puts("FAIL: those that were touched should be mapped, and no others");
        return 1;
    }
    return touch(0) < 0;
}
