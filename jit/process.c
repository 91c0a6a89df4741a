/* SPDX-License-Identifier: Apache-2.0
 * Where LLVM is linked into libcudaway-jit.so: what its code may not do to the process. These definitions are the library's own,
 * hidden, and so take the calls of its code alone. */
#include <signal.h>
#include <string.h>

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);

/* Static variables are never destroyed. A process may end, by exit() or by returning from main, while another of its threads compiles, and
 * nothing can stop that thread first: LLVM makes many variables when it first needs them, and exit() destroys the latest first. */
int
__cxa_atexit(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}

/* No signal handlers. LLD, for one, has fifteen set to see whether it can write a file. Every signal has the default handler, as far
 * as LLVM knows. */
int
sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    (void)signal, (void)action;
    if (old)
        memset(old, 0, sizeof *old);
    return 0;
}
