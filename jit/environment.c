/* SPDX-License-Identifier: Apache-2.0
 * The environment of the process is not LLVM's and LLD's: a program, perhaps one with rights that its user lacks, would write the file that LLD_REPRODUCE names.
 * Hidden in the library, this serves the calls of its code alone; what is ours calls secure_getenv (tools.sources.layers). */
#include <stdlib.h>

char *
getenv(const char *name)
{
    (void)name;
    return NULL;
}
