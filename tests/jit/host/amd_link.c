/* SPDX-License-Identifier: Apache-2.0
 * The code objects that cwj_amd_link makes are LLD's, to the byte; it leaves to LLD what it does not know; damaged objects do it no harm. */
#include "jit/host/lld.h"
#include "jit/host/codegen.h"
#include "jit/host/llvm.h"

#include <llvm-c/IRReader.h>
#include <llvm/Config/llvm-config.h>

#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(x) ((x) ? (void)0 : (void)(printf("FAILED line %d: %s\n", __LINE__, #x), failures++))

/* LLVM 20 and later say in symbols without a section how many registers a kernel uses; such objects are LLD's. */
static const bool known = LLVM_VERSION_MAJOR < 20;

static const char kernel[] =
    "define protected amdgpu_kernel void @%s_%u(ptr addrspace(1) %%p, i32 %%i) {\n %%v = mul i32 %%i, %u\n"
    " store i32 %%v, ptr addrspace(1) %%p\n ret void\n}\n";
/* Constants, and a function that is called: relocations in the text. */
static const char with_table[] =
    "@table = internal addrspace(4) constant [200 x i32] [i32 7, i32 8 %s]\n"
    "@odd = internal addrspace(4) constant [3 x i8] c\"abc\"\n"
    "define internal i32 @twice(i32 %%i) noinline {\n %%d = mul i32 %%i, %%i\n ret i32 %%d\n}\n"
    "define protected amdgpu_kernel void @reads(ptr addrspace(1) %%p, i32 %%i) {\n"
    " %%a = getelementptr i32, ptr addrspace(4) @table, i32 %%i\n %%v = load i32, ptr addrspace(4) %%a\n"
    " %%b = getelementptr i8, ptr addrspace(4) @odd, i32 %%i\n %%c = load i8, ptr addrspace(4) %%b\n %%w = zext i8 %%c to i32\n"
    " %%s = add i32 %%v, %%w\n %%t = call i32 @twice(i32 %%s)\n store i32 %%t, ptr addrspace(1) %%p\n ret void\n}\n";
static const char with_variable[] =
    "@variable = protected addrspace(1) global i32 3\n"
    "define protected amdgpu_kernel void @counts(ptr addrspace(1) %p) {\n %v = load i32, ptr addrspace(1) @variable\n"
    " store i32 %v, ptr addrspace(1) %p\n ret void\n}\n";
static const char seen_by_all[] =
    "define protected amdgpu_kernel void @k(ptr addrspace(1) %p) {\n store i32 1, ptr addrspace(1) %p\n ret void\n}\n"
    "define void @replaceable() {\n ret void\n}\n";

/* Compile LLVM IR for a processor. */
static bool
compile(const char *text, const char *cpu, struct cw_buf *object)
{
    struct cwj_diags diags;
    char *message = NULL;
    LLVMModuleRef m = NULL;
    LLVMTargetMachineRef tm = NULL;
    LLVMMemoryBufferRef code = NULL;
    cwj_diags_init(&diags);
    LLVMContextRef c = cwj_llvm_context(true, &diags);
    if (LLVMParseIRInContext(c, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test"), &m, &message)) {
        printf("FAILED: %s\n", message);
        LLVMDisposeMessage(message);
        failures++;
        return false;
    }
    bool moved = false;
    const struct cwj_codegen_how how = { .moved = &moved };
    bool ok = cwj_llvm_machine(CWJ_TARGET_AMDGCN, cpu, NULL, 2, &tm, &diags) == CW_OK && cwj_llvm_optimise(m, tm, 0, &diags) == CW_OK &&
              cwj_llvm_emit(m, tm, LLVMObjectFile, &code, NULL, &how, &diags) == CW_OK;
    CHECK(ok);
    if (ok)
        cw_buf_append(object, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
    if (code)
        LLVMDisposeMemoryBuffer(code);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    cwj_diags_finish(&diags);
    return ok;
}

static void
compare(const char *what, const char *cpu, const struct cw_buf *ours, const struct cw_buf *lld)
{
    size_t i = 0;
    while (i < ours->size && i < lld->size && ours->data[i] == lld->data[i])
        i++;
    if (ours->size == lld->size && i == ours->size)
        return;
    printf("FAILED: %s for %s: %zu bytes, LLD's %zu, different from 0x%zx on\n", what, cpu, ours->size, lld->size, i);
    failures++;
}

static void
link_both(const char *what, const char *text, const char *cpu, bool ours_is_it)
{
    struct cw_buf object, ours, lld, *objects[1] = { &object };
    struct cwj_diags diags;
    cw_buf_init(&object);
    cw_buf_init(&ours);
    cw_buf_init(&lld);
    cwj_diags_init(&diags);
    if (compile(text, cpu, &object)) {
        CHECK(cwj_lld_link(true, objects, 1, &lld, &diags) == CW_OK);
        bool linked = cwj_amd_link(&object, &ours);
        if (linked != ours_is_it) {
            printf("FAILED: %s for %s is %slinked\n", what, cpu, linked ? "" : "not ");
            failures++;
        }
        if (linked)
            compare(what, cpu, &ours, &lld);
        else
            CHECK(!ours.size);
    }
    cwj_diags_finish(&diags);
    cw_buf_finish(&object);
    cw_buf_finish(&ours);
    cw_buf_finish(&lld);
}

/* Numbers of kernels about the places where the hash tables grow, names of several lengths. */
static void
kernels(const char *cpu)
{
    static const unsigned counts[] = { 1, 2, 3, 4, 5, 6, 8, 10, 11, 31, 33, 150 };
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct cw_buf text;
        char what[32];
        cw_buf_init(&text);
        for (unsigned k = 0; k < counts[i]; k++)
            cw_buf_printf(&text, kernel, k % 3 ? "_Z20kernel_of_a_templatePfi" : "k", k, k + 1);
        snprintf(what, sizeof what, "%u kernels", counts[i]);
        link_both(what, text.data, cpu, known);
        cw_buf_finish(&text);
    }
}

static void
table(const char *cpu)
{
    struct cw_buf numbers, text;
    cw_buf_init(&numbers);
    cw_buf_init(&text);
    for (unsigned i = 2; i < 200; i++)
        cw_buf_printf(&numbers, ", i32 %u", i * i);
    cw_buf_printf(&text, with_table, numbers.data);
    link_both("a table and a function", text.data, cpu, known);
    cw_buf_finish(&numbers);
    cw_buf_finish(&text);
}

/* A sanitizer sees what reads or writes beyond. */
static void
damaged(void)
{
    struct cw_buf object, broken, out;
    uint32_t random = 1;
    unsigned refused = 0;
    cw_buf_init(&object);
    cw_buf_init(&broken);
    char text[512];
    snprintf(text, sizeof text, kernel, "k", 1, 1);
    if (!compile(text, "gfx1100", &object))
        return;
    for (size_t size = 0; size < object.size; size += 7) {
        cw_buf_init(&out);
        broken.size = 0;
        cw_buf_append(&broken, object.data, size);
        CHECK(!cwj_amd_link(&broken, &out) && !out.size);       /* the section headers are last */
        cw_buf_finish(&out);
    }
    for (unsigned i = 0; i < 20000; i++) {
        cw_buf_init(&out);
        broken.size = 0;
        cw_buf_append(&broken, object.data, object.size);
        for (unsigned k = 0; k <= i % 3; k++) {
            random = random * 1664525 + 1013904223;
            /* Half of them in the headers, and there nearly always in what counts. */
            size_t at = i & 1 ? (random >> 8) % object.size : object.size - 1 - (random >> 8) % (8 * 64);
            broken.data[at] = (char)(random >> 3);
        }
        refused += !cwj_amd_link(&broken, &out);
        cw_buf_finish(&out);
    }
    CHECK(refused > 2000);
    cw_buf_finish(&object);
    cw_buf_finish(&broken);
}

int
main(void)
{
    static const char *const cpus[] = { "gfx1100", "gfx90a", "gfx908" };
    for (unsigned i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        kernels(cpus[i]);
        table(cpus[i]);
        link_both("a variable", with_variable, cpus[i], false);
        link_both("a function that others may replace", seen_by_all, cpus[i], false);
    }
    damaged();
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
