/* SPDX-License-Identifier: Apache-2.0
 * Which of a process's calls the recorder takes (cudaway-trace record --launch, --after, --kernel), and what the process tells the
 * recording program: that a call failed (--flight-recorder), or that the last launch of interest is done. Everything else that can be
 * chosen, LTTng's session chooses. */
#define _GNU_SOURCE
#include "tracer/layer_private.h"

#include "impl/api/meta.h"
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/base/regex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *control;
static bool flight, have_window, have_pattern;
static uint64_t first, last;                    /* launches, from 1 */
static regex_t pattern;
static _Atomic uint64_t launches;               /* those called so far; counted where there is a window */
static atomic_bool told_end, told_sticky, told[CW_CUDA_FUNCTION_COUNT];

void
cw_select_start(void)
{
    const char *window = cw_env_get(CW_ENV_TRACE_LAUNCHES), *regex = cw_env_get(CW_ENV_TRACE_KERNELS);
    unsigned long long a, b;
    control = cw_env_get(CW_ENV_TRACE_CONTROL);
    flight = control && cw_env_get(CW_ENV_TRACE_FLIGHT);
    if (window && sscanf(window, "%llu..%llu", &a, &b) == 2) {
        have_window = true;
        first = a;
        last = b;
    }
    char why[128];
    have_pattern = regex && cw_regex_compile(&pattern, regex, why, sizeof why);
    if (regex && !have_pattern)
        cw_error("all kernels are recorded: %.200s is no regular expression: %s", regex, why);
}

/* One line to the recording program. It may be gone: nothing depends on it. */
static void __attribute__((format(printf, 1, 2)))
tell(const char *fmt, ...)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!control || strlen(control) >= sizeof address.sun_path)
        return;
    strcpy(address.sun_path, control);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&address, sizeof address))
        (void)!send(fd, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, MSG_NOSIGNAL);
    if (fd >= 0)
        close(fd);
}

/* Whether the kernel's name matches; asked once a handle. */
static bool
wanted_kernel(const struct cw_launch *l)
{
    struct cw_known *k = (struct cw_known *)cw_layer_known((uint64_t)(uintptr_t)l->function);
    int state = k ? atomic_load_explicit(&k->wanted, memory_order_relaxed) : 0;
    if (!state)
        state = regexec(&pattern, l->name, 0, NULL, 0) ? 2 : 1;
    if (k)
        atomic_store_explicit(&k->wanted, state, memory_order_relaxed);
    return state == 1;
}

static bool
in_window(void)
{
    uint64_t n = atomic_load_explicit(&launches, memory_order_relaxed);
    return n >= first && n <= last;
}

bool
cw_select_call(const struct cw_call *c)
{
    struct cw_launch l;
    bool launch = (have_window || have_pattern) && cw_layer_is_launch(c->index);
    if (have_window && launch)
        atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    if (have_window && !in_window()) {
        uint64_t n = atomic_load_explicit(&launches, memory_order_relaxed);
        if (n > last && !atomic_exchange(&told_end, true))
            tell("launches %d %llu", (int)getpid(), (unsigned long long)last);
        return false;
    }
    return !have_pattern || (launch && cw_layer_decode_launch(c, &l) && wanted_kernel(&l));
}

bool
cw_select_operation(const struct cw_device_op *op)
{
    return (!have_window || in_window()) &&
           (!have_pattern || ((op->kind == CW_DEVICE_LAUNCH || op->kind == CW_DEVICE_COMPILE) && !regexec(&pattern, op->name, 0, NULL, 0)));
}

bool
cw_layer_selected(void)
{
    return !have_window || in_window();
}

bool
cw_layer_is_sticky(CUresult r)
{
    static const CUresult list[] = {
        CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
    };
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i] == r)
            return true;
    return false;
}

static const char *
name_of(CUresult r)
{
    const struct cw_meta_enum *e = &cw_meta_enums[cw_meta_result_enum];
    for (unsigned i = 0; i < e->count; i++)
        if (e->values[i].value == r)
            return e->values[i].name;
    return "an-unknown-error";
}

void
cw_select_result(const struct cw_call *c)
{
    if (!flight || c->result == CUDA_SUCCESS || c->result == CUDA_ERROR_NOT_READY)
        return;
    bool sticky = cw_layer_is_sticky(c->result);
    /* A function that fails harmlessly, time and again, is told of once; that must not hide a lost context. */
    if (sticky ? atomic_exchange(&told_sticky, true) : atomic_exchange(&told[c->index], true))
        return;
    tell("failed %d %s %s", (int)getpid(), cw_layer_name(c->index), name_of(c->result));
}
