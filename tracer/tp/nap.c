/* SPDX-License-Identifier: Apache-2.0
 * libcudaway-nap.so, preloaded into the recording's own session daemon and its consumer. LTTng 2.13's consumer polls its threads' start
 * every 100 ms and the flush of a process's metadata every 200 ms, by usleep(); a recording of a short program is little else. The same
 * polls come after a millisecond here. */
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>

#define NAP_US 1000u

__attribute__((visibility("default"))) int
usleep(useconds_t us)
{
    unsigned nap = us < NAP_US ? us : NAP_US;
    return nanosleep(&(struct timespec){ .tv_nsec = (long)nap * 1000 }, NULL);
}
