/* SPDX-License-Identifier: Apache-2.0
 * The one C++ file: what LLVM gives no C interface for. LLD and options (see lld.h); and, where LLVM is linked statically, the hook of
 * Polly, which Debian's LLVM registers in its pass builder and which nothing here uses. */
#include "jit/host/lld.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>
#include <string>

LLD_HAS_DRIVER(elf)

namespace lld {
std::string getLLDVersion();        /* lld/Common/Version.h, which includes a file that is not installed */
}

extern "C" bool
cwj_lld_run(const char *const *argv, size_t argc, struct cw_buf *messages)
{
    std::string text;
    llvm::raw_string_ostream stream(text);
    lld::Result result = lld::lldMain(llvm::ArrayRef<const char *>(argv, argc), stream, stream, {{lld::Gnu, &lld::elf::link}});
    stream.flush();
    cw_buf_append(messages, text.data(), text.size());
    return result.retCode == 0;
}

extern "C" const char *
cwj_lld_version(void)
{
    static const std::string version = lld::getLLDVersion();
    return version.c_str();
}

/* NULL: this LLVM has none of that name. */
static llvm::cl::Option *
find_option(const char *name)
{
    return llvm::cl::getRegisteredOptions().lookup(name);
}

template <typename T>
static void
set(const char *option, T value)
{
    if (llvm::cl::Option *o = find_option(option))
        static_cast<llvm::cl::opt<T> *>(o)->setInitialValue(value);
}

extern "C" void
cwj_llvm_set_option(const char *option, bool value)
{
    set(option, value);
}

extern "C" void
cwj_llvm_set_choice(const char *option, bool value)
{
    set(option, value ? llvm::cl::BOU_TRUE : llvm::cl::BOU_FALSE);
}

extern "C" void
cwj_llvm_set_number(const char *option, unsigned value)
{
    set(option, value);
}

extern "C" void
cwj_llvm_set_long(const char *option, unsigned long value)
{
    set(option, value);
}

extern "C" void
cwj_llvm_give_option(const char *option, bool value)
{
    static std::mutex lock;
    std::lock_guard<std::mutex> hold(lock);
    llvm::cl::Option *o = find_option(option);
    if (o && !o->getNumOccurrences())
        o->addOccurrence(1, option, value ? "true" : "false");
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
