/* SPDX-License-Identifier: Apache-2.0
 * Functions whose last call only the code generator takes away: an intrinsic that asks whether a value is a constant is answered there. Before LLVM 22
 * one that is left ends the process. */
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"

#include <llvm-c/IRReader.h>

#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(x) ((x) ? (void)0 : (void)(printf("FAILED line %d: %s\n", __LINE__, #x), failures++))

/* %u is what lanes never come to, %s are functions. */
static const char kernel[] =
    "declare i1 @llvm.is.constant.i32(i32)\n"
    "%s"
    "define protected amdgpu_kernel void @kernel(ptr addrspace(1) %%p, i32 %%i) {\n"
    " %%c = call i1 @llvm.is.constant.i32(i32 %%i)\n br i1 %%c, label %%known, label %%end\n"
    "known:\n %s\n br label %%end\n"
    "end:\n store i32 %%i, ptr addrspace(1) %%p\n %s\n ret void\n}\n";

static const char stores[] = "define internal void @uncalled(ptr addrspace(1) %p) noinline {\n store i32 7, ptr addrspace(1) %p\n ret void\n}\n";
/* As jit/emit/target/amdgcn/precompiled.c makes them. */
static const char prepared[] =
    "define internal i32 @uncalled(i32 %x) noinline \"cudaway-overwrites\"=\"VGPR0 VGPR1\" {\n"
    " %r = call i32 asm \"v_add_nc_u32 v1, v0, v0\\0A v_mov_b32 v0, v1\", \"={v0},{v0}\"(i32 %x)\n ret i32 %r\n}\n";
static const char each_other[] =
    "define internal void @uncalled(ptr addrspace(1) %p, i32 %n) noinline {\n %z = icmp eq i32 %n, 0\n br i1 %z, label %end, label %more\n"
    "more:\n %m = sub i32 %n, 1\n call void @neither(ptr addrspace(1) %p, i32 %m)\n store i32 %m, ptr addrspace(1) %p\n br label %end\n"
    "end:\n ret void\n}\n"
    "define internal void @neither(ptr addrspace(1) %p, i32 %n) noinline {\n %m = add i32 %n, -1\n"
    " call void @uncalled(ptr addrspace(1) %p, i32 %m)\n store i32 %m, ptr addrspace(1) %p\n ret void\n}\n";

static bool
has(LLVMMemoryBufferRef code, const char *label)
{
    return strstr(LLVMGetBufferStart(code), label) != NULL;
}

static void
compile(const char *functions, const char *never, const char *always, unsigned opt_level)
{
    char text[4096];
    struct cwj_diags diags;
    char *message = NULL;
    LLVMModuleRef m = NULL;
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef code = NULL;
    cwj_diags_init(&diags);
    LLVMContextRef c = cwj_llvm_context(true, &diags);
    int n = snprintf(text, sizeof text, kernel, functions, never, always);
    if (LLVMParseIRInContext(c, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, (size_t)n, "test"), &m, &message)) {
        printf("FAILED: %s\n", message);
        LLVMDisposeMessage(message);
        failures++;
        return;
    }
    CHECK(cwj_llvm_machine(CWJ_TARGET_AMDGCN, "gfx1100", NULL, opt_level, &tm, &diags) == CW_OK);
    struct cwj_pipeline pipeline = { .m = m, .tm = tm, .target = CWJ_TARGET_AMDGCN, .opt_level = 0, .diags = &diags };
    CHECK(cwj_pipeline_run(&pipeline) == CW_OK);        /* which would answer, too */
    CHECK(cwj_pipeline_codegen(&pipeline, LLVMAssemblyFile, &code, NULL) == CW_OK);
    CHECK(code && has(code, "\nkernel:"));
    CHECK(code && has(code, "\nuncalled:") == (*always != '\0'));
    CHECK(code && (*always || !has(code, "\nneither:")));
    if (code)
        LLVMDisposeMemoryBuffer(code);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    cwj_diags_finish(&diags);
}

int
main(void)
{
    static const char once[] = "call void @uncalled(ptr addrspace(1) %p)", pair[] = "call void @uncalled(ptr addrspace(1) %p, i32 5)",
                      value[] = "%r = call i32 @uncalled(i32 %i)", other[] = "%s = call i32 @uncalled(i32 %i)";
    for (unsigned level = 0; level <= 2; level += 2) {
        compile(stores, once, "", level);
        compile(prepared, value, "", level);
        compile(each_other, pair, "", level);
        compile(stores, once, once, level);
        compile(prepared, value, other, level);
        compile(each_other, pair, pair, level);
    }
    if (!failures)
        printf("ok\n");
    return failures ? 1 : 0;
}
