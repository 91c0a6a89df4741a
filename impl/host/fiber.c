/* SPDX-License-Identifier: Apache-2.0
 * See fiber.h. A suspended context has its callee-saved registers on its stack. */
#define _GNU_SOURCE
#include "impl/host/fiber.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#ifdef CWH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef CWH_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void  __tsan_destroy_fiber(void *fiber);
void  __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* cwh_asm_switch(void **save, void *to): push what the ABI lets a callee expect, swap stacks, pop.
 * cwh_asm_start: where a new context begins; calls entry(arg), both taken from callee-saved registers. */
void cwh_asm_switch(void **save, void *to) __attribute__((visibility("hidden")));
void cwh_asm_start(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl cwh_asm_switch\n.hidden cwh_asm_switch\n.type cwh_asm_switch,@function\n"
        "cwh_asm_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size cwh_asm_switch, . - cwh_asm_switch\n"
        ".p2align 4\n"
        ".globl cwh_asm_start\n.hidden cwh_asm_start\n.type cwh_asm_start,@function\n"
        "cwh_asm_start:\n"
        "    .cfi_startproc\n    .cfi_undefined rip\n"
        "    xorl %ebp, %ebp\n    movq %r12, %rdi\n    call *%r13\n    ud2\n"
        "    .cfi_endproc\n"
        ".size cwh_asm_start, . - cwh_asm_start\n");

static void *
initial_frame(uint8_t *top, void (*entry)(void *), void *arg)
{
    uint64_t *sp = (uint64_t *)((uintptr_t)top & ~(uintptr_t)15);
    *--sp = 0;                                          /* keeps the stack 16-byte aligned at the call */
    *--sp = 0;
    *--sp = (uint64_t)(uintptr_t)cwh_asm_start;         /* ret */
    *--sp = 0;                                          /* rbp */
    *--sp = 0;                                          /* rbx */
    *--sp = (uint64_t)(uintptr_t)arg;                   /* r12 */
    *--sp = (uint64_t)(uintptr_t)entry;                 /* r13 */
    *--sp = 0;                                          /* r14 */
    *--sp = 0;                                          /* r15 */
    return sp;
}

uint64_t
cwh_float_enter(void)
{
    uint32_t old = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return old;
}

void
cwh_float_leave(uint64_t old)
{
    __builtin_ia32_ldmxcsr((uint32_t)old);
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl cwh_asm_switch\n.hidden cwh_asm_switch\n.type cwh_asm_switch,%function\n"
        "cwh_asm_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n    add sp, sp, #160\n"
        "    ret\n"
        ".size cwh_asm_switch, . - cwh_asm_switch\n"
        ".p2align 4\n"
        ".globl cwh_asm_start\n.hidden cwh_asm_start\n.type cwh_asm_start,%function\n"
        "cwh_asm_start:\n"
        "    mov x29, xzr\n    mov x0, x19\n    blr x20\n    brk #1\n"
        ".size cwh_asm_start, . - cwh_asm_start\n");

static void *
initial_frame(uint8_t *top, void (*entry)(void *), void *arg)
{
    uint64_t *sp = (uint64_t *)((uintptr_t)top & ~(uintptr_t)15) - 20;
    memset(sp, 0, 160);
    sp[0] = (uint64_t)(uintptr_t)arg;                   /* x19 */
    sp[1] = (uint64_t)(uintptr_t)entry;                 /* x20 */
    sp[11] = (uint64_t)(uintptr_t)cwh_asm_start;        /* x30 */
    return sp;
}

uint64_t
cwh_float_enter(void)
{
    uint64_t old;
    __asm__ volatile("mrs %0, fpcr\n msr fpcr, xzr" : "=&r"(old));
    return old;
}

void
cwh_float_leave(uint64_t old)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(old));
}
#else
#error "the host engine needs a context switch for this architecture: see fiber.c"
#endif

void
cwh_context_adopt(struct cwh_context *c)
{
    memset(c, 0, sizeof *c);
#ifdef CWH_ASAN
    pthread_attr_t attr;
    void *lo;
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstack(&attr, &lo, &c->size);
        c->lo = lo;
        pthread_attr_destroy(&attr);
    }
#endif
#ifdef CWH_TSAN
    c->tsan = __tsan_get_current_fiber();
#endif
}

void
cwh_context_start(struct cwh_context *c, void (*entry)(void *), void *arg, unsigned colour)
{
#ifdef CWH_ASAN
    __asan_unpoison_memory_region(c->lo, c->size);
    c->asan_fake = NULL;
#endif
#ifdef CWH_TSAN
    if (c->tsan)
        __tsan_destroy_fiber(c->tsan);
    c->tsan = __tsan_create_fiber(0);
#endif
    c->sp = initial_frame(c->lo + c->size - colour % 16 * 256, entry, arg);
}

void
cwh_context_entered(void)
{
#ifdef CWH_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

void
cwh_context_switch(struct cwh_context *from, struct cwh_context *to)
{
#ifdef CWH_ASAN
    __sanitizer_start_switch_fiber(&from->asan_fake, to->lo, to->size);
#endif
#ifdef CWH_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    cwh_asm_switch(&from->sp, to->sp);
#ifdef CWH_ASAN
    __sanitizer_finish_switch_fiber(from->asan_fake, NULL, NULL);
#endif
}

void *
cwh_context_rest(const struct cwh_context *own)
{
    void *from = NULL;
#ifdef CWH_ASAN
    enum { BELOW = 4096 };              /* frames between the caller's and the switch, with the caller's registers */
    if (own->lo) {
        from = (uint8_t *)__builtin_frame_address(0) - BELOW;
        __lsan_register_root_region(from, (size_t)(own->lo + own->size - (uint8_t *)from));
    }
#else
    (void)own;
#endif
    return from;
}

void
cwh_context_resume(const struct cwh_context *own, void *rested)
{
#ifdef CWH_ASAN
    if (rested)
        __lsan_unregister_root_region(rested, (size_t)(own->lo + own->size - (uint8_t *)rested));
#else
    (void)own, (void)rested;
#endif
}

void
cwh_context_finish(struct cwh_context *c)
{
#ifdef CWH_ASAN
    __asan_unpoison_memory_region(c->lo, c->size);
#endif
#ifdef CWH_TSAN
    if (c->tsan)
        __tsan_destroy_fiber(c->tsan);
#endif
    c->tsan = NULL;
}

uint8_t *
cwh_stacks_map(size_t size, unsigned count)
{
    size_t total = (size + CWH_GUARD) * count;
    uint8_t *base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        if (mprotect(base + (size_t)i * (size + CWH_GUARD), CWH_GUARD, PROT_NONE)) {
            munmap(base, total);
            return NULL;
        }
    }
    return base;
}

void
cwh_stacks_unmap(uint8_t *base, size_t size, unsigned count)
{
    if (base)
        munmap(base, (size + CWH_GUARD) * count);
}
