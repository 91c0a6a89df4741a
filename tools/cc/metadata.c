/* SPDX-License-Identifier: Apache-2.0
 * LLVM writes a module's AMD metadata as YAML even where nobody reads it, which takes 0.5 % of the compile time of a small module. Only assembly has it as
 * text; of the binary form nothing changes. */
#include "jit/host/codegen.h"

/* llvm::msgpack::Document::toYAML(llvm::raw_ostream &), by the linker's --wrap */
void __real__ZN4llvm7msgpack8Document6toYAMLERNS_11raw_ostreamE(void *document, void *stream);
void __wrap__ZN4llvm7msgpack8Document6toYAMLERNS_11raw_ostreamE(void *document, void *stream);

void
__wrap__ZN4llvm7msgpack8Document6toYAMLERNS_11raw_ostreamE(void *document, void *stream)
{
    if (cwj_codegen_is_text())
        __real__ZN4llvm7msgpack8Document6toYAMLERNS_11raw_ostreamE(document, stream);
}
