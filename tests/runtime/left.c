/* SPDX-License-Identifier: Apache-2.0
 * Any function of the Runtime with addresses that cannot be touched (any_call.h), in a program whose handler of SIGSEGV leaves the call by a long jump: no lock is
 * kept, since calls touch the program's memory without one (left.h). `left [seconds [seed]]`. tests/driver/test_left.c is
 * the same of the driver. */
#define _GNU_SOURCE
#include "tests/left.h"

#include "tests/runtime/any_call.h"

#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    static time_t end;
    static struct dice s;
    static unsigned i;
    end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
    s.state = 0x9e3779b97f4a7c15ull * (argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    handle_faults();
    register_program();
    for (; time(NULL) < end && !atomic_load(&failures); i++) {
        if (i % 64 == 0 && IS_LEFT(make_objects(&s)))
            atomic_fetch_add(&failures, (int)kept());
        if (i % 4096 == 4095)
            (void)cudaDeviceReset();
        if (IS_LEFT(any_step(&s, true)))
            atomic_fetch_add(&failures, (int)kept());
    }
    printf("%u calls left\n", left);
    fflush(NULL);
    _exit(left < 100 || atomic_load(&failures));        /* what the calls that were left had is lost */
}
