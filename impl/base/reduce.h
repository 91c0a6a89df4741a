/* SPDX-License-Identifier: Apache-2.0
 * Reducing what shows a fault: leave out as much as possible (after Zeller's delta debugging). */
#ifndef CW_REDUCE_H
#define CW_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

/* Leave out runs of the `n` parts, long ones first: set off[] where `still`, which looks at off[], says that the fault still shows.
 * Parts that are off stay so. Returns whether anything was left out. */
bool cw_reduce(uint32_t n, bool *off, bool (*still)(void *user), void *user);

#endif
