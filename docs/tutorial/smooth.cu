// SPDX-License-Identifier: Apache-2.0
#include "device.h"

// The mean of each number and its two neighbours in a block of 256; the ends stay as they are.
extern "C" __global__ void
smooth(const float *numbers, float *means)
{
    __shared__ float part[256];
    unsigned i = threadIdx.x, at = blockIdx.x * 256 + i;
    part[i] = numbers[at];
    if (i > 0 && i < 255)
        means[at] = (part[i - 1] + part[i] + part[i + 1]) / 3;
    else
        means[at] = part[i];
}
