/* SPDX-License-Identifier: Apache-2.0
 * For programs with children of fork, once in a program. Such a child has none of its parent's threads, which alone knew where some memory is: the
 * leak checker of the address sanitizer has nothing to say there. */
#ifndef DRIVER_LEAKS_H
#define DRIVER_LEAKS_H

#include <unistd.h>

static pid_t leaks_looked_for;         /* the one process in which; 0: in every one */

int __lsan_is_turned_off(void) __attribute__((visibility("default")));

int
__lsan_is_turned_off(void)
{
    return leaks_looked_for && getpid() != leaks_looked_for;
}

#endif
