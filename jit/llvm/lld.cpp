/* SPDX-License-Identifier: Apache-2.0
 * LLD through C++, as it has no C interface (see lld.h); and, where LLVM is linked statically, a stub for the hook of Polly, which Debian's
 * LLVM registers in its pass builder. */
#include "jit/llvm/lld.h"
#include "jit/llvm/contain.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <algorithm>
#include <cstring>

LLD_HAS_DRIVER(elf)

namespace {

/* LLD's messages. LLD ends the process after a fatal error. Only this stream can intercept that, and a fatal error looks like any other in
 * it, so the first error abandons the link. LLD writes a message in one piece; all messages of a link are kept, since a warning may explain
 * the error. */
class Messages : public llvm::raw_ostream {
public:
    Messages() : llvm::raw_ostream(true) {}

private:
    void
    write_impl(const char *data, size_t size) override
    {
        size_t n = std::min(size, sizeof text - 1 - used);
        std::memcpy(text + used, data, n);
        used += n;
        text[used] = 0;
        if (llvm::StringRef(data, size).contains("error: "))
            cwj_contain_abandon(CW_ERR_LLVM, 5906, "linking the code object: %s", text);
    }

    uint64_t current_pos() const override { return used; }

    char text[400] = "";
    size_t used = 0;
};

} // namespace

extern "C" void
cwj_lld_run(const char *const *argv, size_t argc)
{
    Messages messages;
    lld::Result result = lld::lldMain(llvm::ArrayRef<const char *>(argv, argc), messages, messages, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode)
        cwj_contain_abandon(CW_ERR_LLVM, 5906, "linking the code object: LLD failed");
}

#ifdef CUDAWAY_LLVM_STATIC
#if __has_include(<llvm/Passes/PassPlugin.h>)
#include <llvm/Passes/PassPlugin.h>
#else
#include <llvm/Plugins/PassPlugin.h>
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo
getPollyPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}
#endif
