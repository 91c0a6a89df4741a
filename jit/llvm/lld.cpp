/* SPDX-License-Identifier: Apache-2.0
 * What LLVM gives no C interface for: LLD (see lld.h); and, where LLVM is linked statically, the hook of
 * Polly, which Debian's LLVM registers in its pass builder and which nothing here uses. */
#include "jit/llvm/lld.h"
#include "jit/llvm/contain.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <algorithm>
#include <cstring>
#include <string>

LLD_HAS_DRIVER(elf)

namespace lld {
std::string getLLDVersion();        /* lld/Common/Version.h, which includes a file that is not installed */
}

namespace {

/* LLD's messages. After an error it may end the process: it does after those that it calls fatal, with nothing to hook but this stream, in
 * which they look like others. So the link is abandoned with the first. LLD writes a message in one piece; those of a link are kept,
 * as a warning may say more. */
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

extern "C" const char *
cwj_lld_version(void)
{
    static const std::string version = lld::getLLDVersion();
    return version.c_str();
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
