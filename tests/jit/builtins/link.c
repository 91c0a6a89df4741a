/* SPDX-License-Identifier: Apache-2.0
 * The device library is linked to a module that calls it: only what is needed, nothing left undefined, nothing visible, and code comes out
 * for waves of both sizes. Calls that it cannot serve are diagnosed. */
#include "jit/builtins/devlib.h"
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(c) ((c) ? (void)0 : (void)(printf("%s:%d: %s\n", __FILE__, __LINE__, #c), failures++))

static const char good[] =
    "target triple = \"amdgcn-amd-amdhsa\"\n"
    "declare i32 @cwd_forms_round(i32)\n"
    "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %c) {\n"
    "  %v = call i32 @cwd_forms_round(i32 %c)\n"
    "  store i32 %v, ptr addrspace(1) %p\n"
    "  ret void\n}\n";
static const char unknown[] = "declare i32 @cwd_forms_nothing(i32)\ndefine i32 @k() {\n %v = call i32 @cwd_forms_nothing(i32 0)\n ret i32 %v\n}\n";
static const char no_part[] = "declare i32 @cwd_nothing_at_all(i32)\ndefine i32 @k() {\n %v = call i32 @cwd_nothing_at_all(i32 0)\n ret i32 %v\n}\n";
static const char other_type[] = "declare i64 @cwd_forms_round(i32)\ndefine i64 @k() {\n %v = call i64 @cwd_forms_round(i32 0)\n ret i64 %v\n}\n";

static LLVMModuleRef
parse(LLVMContextRef c, const char *text)
{
    char *message = NULL;
    LLVMModuleRef m = NULL;
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    if (LLVMParseIRInContext(c, b, &m, &message)) {
        printf("%s\n", message);
        LLVMDisposeMessage(message);
        failures++;
    }
    return m;
}

static void
test_good(struct cwj_diags *diags, const char *cpu)
{
    LLVMContextRef c = cwj_llvm_context(true, diags);
    LLVMModuleRef m = parse(c, good);
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef code = NULL;
    CHECK(cwj_llvm_machine(CWJ_TARGET_AMDGCN, cpu, NULL, 3, &tm, diags) == CW_OK);
    CHECK(cwj_devlib_link(m, NULL, diags) == CW_OK);
    LLVMValueRef f = LLVMGetNamedFunction(m, "cwd_forms_round");
    CHECK(f && !LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMInternalLinkage);
    CHECK(!LLVMGetNamedFunction(m, "cwd_forms_widen"));      /* nobody calls it */
    CHECK(LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "no-builtins", 11) == NULL);
    struct cwj_pipeline pipeline = { .m = m, .tm = tm, .target = CWJ_TARGET_AMDGCN, .opt_level = 3, .diags = diags };
    CHECK(cwj_pipeline_run(&pipeline) == CW_OK);
    CHECK(!LLVMGetNamedFunction(m, "cwd_forms_round"));         /* inlined */
    CHECK(cwj_pipeline_codegen(&pipeline, LLVMAssemblyFile, &code, NULL) == CW_OK);
    CHECK(code && strstr(LLVMGetBufferStart(code), "v_cmp"));
    if (code)
        LLVMDisposeMemoryBuffer(code);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
}

static void
test_bad(const char *text, const char *says)
{
    struct cwj_diags diags;
    cwj_diags_init(&diags);
    LLVMContextRef c = cwj_llvm_context(true, &diags);
    LLVMModuleRef m = parse(c, text);
    CHECK(cwj_devlib_link(m, NULL, &diags) != CW_OK);
    CHECK(diags.errors == 1 && diags.first && strstr(diags.first->text, says));
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    cwj_diags_finish(&diags);
}

int
main(void)
{
    struct cwj_diags diags;
    cwj_diags_init(&diags);
    test_good(&diags, "gfx1100");
    test_good(&diags, "gfx90a");
    CHECK(diags.errors == 0);
    cwj_diags_finish(&diags);
    test_bad(unknown, "lacks cwd_forms_nothing");
    test_bad(no_part, "lacks cwd_nothing_at_all");
    test_bad(other_type, "another type for cwd_forms_round");
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
