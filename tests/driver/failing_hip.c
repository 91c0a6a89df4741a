/* SPDX-License-Identifier: Apache-2.0
 * A HIP library over another one (HIP_UNDER), in which the function and calls that HIP_FAIL names fail: "hipMalloc@2-3=700", the second and
 * third call, with that error. Each function is a jump to the one under it with its arguments untouched, after a question whether to fail. */
#include "impl/hip/hip.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(need, since, name, parameters) NUMBER_##name,
enum { HIP_FUNCTIONS(X) NUMBERS };
#undef X
#define X(need, since, name, parameters) #name,
static const char *const names[] = { HIP_FUNCTIONS(X) };
#undef X

void *failing_under[NUMBERS];           /* visible to the assembler code below */
static int failing = -1, error;
static _Atomic long calls;
static long from, to;

static __attribute__((constructor)) void
load(void)
{
    const char *under = getenv("HIP_UNDER"), *what = getenv("HIP_FAIL");
    void *lib = under ? dlopen(under, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (int i = 0; i < NUMBERS; i++) {
        failing_under[i] = lib ? dlsym(lib, names[i]) : NULL;
        size_t n = strlen(names[i]);
        if (what && !strncmp(what, names[i], n) && sscanf(what + n, "@%ld-%ld=%d", &from, &to, &error) == 3)
            failing = i;
    }
    if (!lib || (what && failing < 0)) {
        fprintf(stderr, "failing_hip: HIP_UNDER=%s, HIP_FAIL=%s: %s\n", under ? under : "", what ? what : "",
                lib ? "it names no function and calls" : dlerror());
        abort();
    }
}

int failing_now(int number);
int
failing_now(int number)
{
    if (number != failing)
        return hipSuccess;
    long call = atomic_fetch_add(&calls, 1) + 1;
    return call >= from && call <= to ? error : hipSuccess;
}

/* What the library under it lacks (it may, if it is optional) is not supported here. */
int failing_lacks(void);
int
failing_lacks(void)
{
    return hipErrorNotSupported;
}

#define X(need, since, name, parameters)                                                                               \
    __attribute__((naked, no_sanitize("thread", "address"), visibility("default"))) hipError_t name parameters         \
    {                                                                                                                  \
        __asm__("push %%rdi\n push %%rsi\n push %%rdx\n push %%rcx\n push %%r8\n push %%r9\n sub $8, %%rsp\n"         \
                "mov %0, %%edi\n call failing_now@PLT\n add $8, %%rsp\n"                                               \
                "pop %%r9\n pop %%r8\n pop %%rcx\n pop %%rdx\n pop %%rsi\n pop %%rdi\n"                               \
                "test %%eax, %%eax\n jnz 1f\n mov failing_under@GOTPCREL(%%rip), %%rax\n mov 8*%c0(%%rax), %%rax\n"    \
                "test %%rax, %%rax\n jz failing_lacks@PLT\n jmp *%%rax\n1: ret" : : "i"(NUMBER_##name));              \
    }
HIP_FUNCTIONS(X)
