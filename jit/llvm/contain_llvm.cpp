/* SPDX-License-Identifier: Apache-2.0
 * See contain.h. operator new fails in LLVM's code, which has no handlers of exceptions and no clean-up code, and in the C++ library's,
 * some of which ends the process when an exception comes through: so its handler leaves before there is one. Where LLVM is linked in, the
 * C++ library is too, hidden, and the handler is ours alone; with shared libraries it is the process's, and passes on what is not
 * contained. This is the one file that is compiled with exceptions, for others than that. */
#include "jit/llvm/contain.h"

#include <llvm/Support/ErrorHandling.h>

#include <cstdio>
#include <exception>
#include <new>

namespace {

struct {
    void (*fatal)(const char *reason);
    void (*no_memory)(const char *reason);
    void (*no_new)(void);
} handlers;     /* written once, before LLVM does anything */

std::new_handler before;        /* as well */

void
on_fatal(void *, const char *reason, bool)
{
    handlers.fatal(reason);
}

void
on_bad_alloc(void *, const char *reason, bool)
{
    handlers.no_memory(reason);
}

void
on_new()
{
    handlers.no_new();
    if (!before)                        /* nothing is contained */
        throw std::bad_alloc();
    before();
}

} // namespace

extern "C" void
cwj_contain_install(void (*fatal)(const char *reason), void (*no_memory)(const char *reason), void (*no_new)(void))
{
    handlers = { fatal, no_memory, no_new };
    llvm::install_fatal_error_handler(on_fatal);
    llvm::install_bad_alloc_error_handler(on_bad_alloc);
    before = std::set_new_handler(on_new);
}

extern "C" bool
cwj_contain_call(void (*work)(void *user), void *user, bool *no_memory, char *text, unsigned size)
{
    try {
        work(user);
        return true;
    } catch (const std::bad_alloc &e) {
        *no_memory = true;
        std::snprintf(text, size, "%s", e.what());
    } catch (const std::exception &e) {
        *no_memory = false;
        std::snprintf(text, size, "%s", e.what());
    } catch (...) {
        *no_memory = false;
        std::snprintf(text, size, "an exception");
    }
    return false;
}
