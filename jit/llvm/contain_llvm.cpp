/* SPDX-License-Identifier: Apache-2.0
 * See contain.h. operator new can fail in LLVM's code, which has no exception handlers and no clean-up code, and in the C++ library's, some
 * of which ends the process when an exception passes through. So our handler of failed allocations leaves before one is thrown. With a
 * static LLVM the C++ library is static and hidden too, and the handler is ours alone; with shared libraries it belongs to the process, and
 * passes uncontained failures on to its predecessor. Of LLVM's clients this is the one file compiled with exceptions, to catch those of
 * other code. */
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
} handlers;     /* written once, before LLVM is used */

std::new_handler before;        /* likewise */

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
    if (!before)                        /* uncontained */
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
