/* SPDX-License-Identifier: Apache-2.0
 * A library for `cudaway-trace check`: it imports one function of the driver and one that no driver has. */
int cuInit(unsigned flags);
int cuNoSuchFunction(void);
int needs(void);

int
needs(void)
{
    return cuInit(0) + cuNoSuchFunction();
}
