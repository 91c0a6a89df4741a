/* SPDX-License-Identifier: Apache-2.0
 * The one C++ file: LLD gives no C interface. See lld.h. */
#include "jit/host/lld.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <string>

LLD_HAS_DRIVER(elf)

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
