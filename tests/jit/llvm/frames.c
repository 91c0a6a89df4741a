/* SPDX-License-Identifier: Apache-2.0
 * The size of stack frames: what code generation says of them is counted, no warning is left, and large frames are probed. */
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"

#include <llvm-c/IRReader.h>

#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(x) ((x) ? (void)0 : (void)(printf("FAILED line %d: %s\n", __LINE__, #x), failures++))

static const char text[] =
    "declare void @use(ptr)\n"
    "define void @large() { %p = alloca [100000 x i8]\n call void @use(ptr %p)\n ret void }\n"
    "define void @small() { %p = alloca [1000 x i8]\n call void @use(ptr %p)\n call void @large()\n ret void }\n";

int
main(void)
{
    struct cwj_diags diags;
    char *message = NULL;
    LLVMModuleRef m = NULL;
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef code = NULL;
    uint64_t frames = 0;

    cwj_diags_init(&diags);
    LLVMContextRef c = cwj_llvm_context(true, &diags);
    if (LLVMParseIRInContext(c, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test"), &m, &message)) {
        printf("%s\n", message);
        return 1;
    }
    CHECK(cwj_llvm_machine(CWJ_TARGET_HOST, NULL, NULL, 2, &tm, &diags) == CW_OK);
    struct cwj_pipeline pipeline = { .m = m, .tm = tm, .target = CWJ_TARGET_HOST, .opt_level = 2, .diags = &diags };
    CHECK(cwj_pipeline_run(&pipeline) == CW_OK);
    cwj_host_watch_frames(m);
    CHECK(cwj_pipeline_codegen(&pipeline, LLVMAssemblyFile, &code, &frames) == CW_OK);
    /* The two arrays, and what little is beside them; `large` is inlined, or not: then its frame counts by itself. */
    CHECK(frames >= 101000 && frames < 210000);
    CHECK(!diags.first);
    CHECK(code && strstr(LLVMGetBufferStart(code), "$4096, %rsp"));     /* a page at a time */
    LLVMDisposeMemoryBuffer(code);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    cwj_diags_finish(&diags);
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
