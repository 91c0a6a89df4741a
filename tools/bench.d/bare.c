/* SPDX-License-Identifier: Apache-2.0
 * Nanoseconds for the bare trace points of one call (two for cuDeviceGet, three for cuLaunchKernel), in the bursts of
 * calls.c. To be run by cudaway-trace record; fails when nothing records it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tools/bench.d/bare_tp.h"
#include "tools/bench.d/bench.h"

#define BURSTS 60

int
main(void)
{
    double t[BURSTS];
    int device = 0;
    const unsigned dims[] = { 1, 1, 1, 32, 1, 1, 0 };
    const uint8_t bytes[12] = { 0 };
    const unsigned calls = 500, launches = 100;

    for (unsigned i = 0; !lttng_ust_tracepoint_enabled(cudaway, bare_get_entry); i++) {
        if (i == 500) {
            fprintf(stderr, "bare: no session records this program\n");
            return 1;
        }
        nap(10000000);
    }
    for (unsigned b = 0; b < BURSTS; b++) {
        double from = now();
        for (unsigned i = 0; i < calls; i++) {
            lttng_ust_tracepoint(cudaway, bare_get_entry, &device, 0);
            lttng_ust_tracepoint(cudaway, bare_get_exit, device, 0);
        }
        t[b] = (now() - from) / calls * 1e9;
        nap(2000000);
    }
    printf("cuDeviceGet %.1f ns\n", median(t, BURSTS));
    for (unsigned b = 0; b < BURSTS; b++) {
        double from = now();
        for (unsigned i = 0; i < launches; i++) {
            lttng_ust_tracepoint(cudaway, bare_launch_entry, 1, dims, 0, (uint64_t)(uintptr_t)&dims, 0);
            lttng_ust_tracepoint(cudaway, bare_kernel, "empty", 1, 2, dims, 0, bytes, sizeof bytes);
            lttng_ust_tracepoint(cudaway, bare_launch_exit, 0);
        }
        t[b] = (now() - from) / launches * 1e9;
        nap(2000000);
    }
    printf("cuLaunchKernel %.1f ns\n", median(t, BURSTS));
    return 0;
}
