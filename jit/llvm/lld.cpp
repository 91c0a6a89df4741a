/* SPDX-License-Identifier: Apache-2.0
 * LLD through C++, as it has no C interface (see lld.h); and, where LLVM is linked statically, a stub for the hook of Polly, which Debian's
 * LLVM registers in its pass builder. */
#include "jit/llvm/lld.h"
#include "jit/llvm/contain.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/Signals.h>
#include <llvm/Support/raw_ostream.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <mutex>
#include <system_error>

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
            cwj_contain_abandon(cause(), 5906, "linking the code object: %s", text);
    }

    /* All files are this process's own: one that cannot be opened or written is for the operating system to answer. The message ends with its words. */
    cw_result
    cause() const
    {
        constexpr int of_system[] = {ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, ENOENT};
        return std::any_of(std::begin(of_system), std::end(of_system), [this](int e) { return std::strstr(text, std::generic_category().message(e).c_str()); })
                   ? CW_ERR_IO : CW_ERR_LLVM;
    }

    uint64_t current_pos() const override { return used; }

    char text[400] = "";
    size_t used = 0;
};

#ifndef CUDAWAY_LLVM_STATIC
/* As llvm::sys installs its handlers of signals that end a process, and that of SIGUSR1. (dladdr would tell, but waits for who loads a library, which may be
 * waiting for this code.) */
bool
is_of_llvm(const struct sigaction &a)
{
    constexpr int all = SA_NODEFER | static_cast<int>(SA_RESETHAND) | SA_ONSTACK | SA_SIGINFO;
    const int flags = a.sa_flags & (all | SA_RESTART);
    return flags == all || flags == SA_ONSTACK;
}

/* With its first temporary file, which LLD makes to see whether it can write, LLVM handles fifteen signals for the rest of the process, which is the
 * application's. It does so once: here, where what was there before is put back at once. (Where LLVM is linked in, jit/process.c takes its calls.) */
void
leave_signals_alone()
{
    struct sigaction before[NSIG], now;
    for (int s = 1; s < NSIG; s++)
        if (sigaction(s, nullptr, &before[s]))
            before[s].sa_handler = nullptr;
    llvm::sys::RemoveFileOnSignal("");
    llvm::sys::DontRemoveFileOnSignal("");
    for (int s = 1; s < NSIG; s++)
        if (!sigaction(s, nullptr, &now) && now.sa_handler != before[s].sa_handler && is_of_llvm(now))
            sigaction(s, &before[s], nullptr);
}
#endif

} // namespace

extern "C" void
cwj_lld_run(const char *const *argv, size_t argc)
{
#ifndef CUDAWAY_LLVM_STATIC
    static std::once_flag once;
    std::call_once(once, leave_signals_alone);
#endif
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
