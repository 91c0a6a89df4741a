/* SPDX-License-Identifier: Apache-2.0
 * If LLVM is linked into libcudaway-jit.so: keeps its code from changing the process. These definitions are hidden in the library, and so
 * serve the calls of its code alone. */
#include <signal.h>
#include <string.h>

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);

/* Never destroy static variables. A process may end, by exit() or by returning from main, while another of its threads compiles, and
 * nothing can stop that thread first: LLVM creates many variables on first use, and exit() destroys the latest first. */
int
__cxa_atexit(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}

/* No signal handlers. LLD, for one, installs fifteen to test whether it can write a file. LLVM always sees the default handler. */
int
sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    (void)signal, (void)action;
    if (old)
        memset(old, 0, sizeof *old);
    return 0;
}
