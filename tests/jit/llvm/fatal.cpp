// SPDX-License-Identifier: Apache-2.0
// LLVM has no C function that fails fatally.
#include <llvm/Support/ErrorHandling.h>

extern "C" [[noreturn]] void test_fatal(const char *reason);

void
test_fatal(const char *reason)
{
    llvm::report_fatal_error(reason);
}
