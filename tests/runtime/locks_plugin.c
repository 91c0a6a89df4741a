/* SPDX-License-Identifier: Apache-2.0
 * A library whose constructor calls back (locks.c). */
void constructed(void);

static __attribute__((constructor)) void
begin(void)
{
    constructed();
}
