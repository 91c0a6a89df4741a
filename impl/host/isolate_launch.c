/* SPDX-License-Identifier: Apache-2.0
 * See isolate.h. A launch takes a channel, and its thread serves what the process asks meanwhile. What comes from there may come from a kernel: sizes
 * are checked, results are of the enumeration, and texts end. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"
#include "impl/host/isolate.h"
#include "impl/host/isolate_private.h"

#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_COMPLAINTS = 4 << 20 };     /* bytes of a launch */

static bool
send_all(int fd, const void *head, size_t size, const void *tail, size_t more)
{
    struct iovec data[2] = { { (void *)(uintptr_t)head, size }, { (void *)(uintptr_t)tail, more } };
    struct msghdr m = { .msg_iov = data, .msg_iovlen = more ? 2 : 1 };
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)(size + more);
}

static bool
send_launch(const struct cwh_channel *channel, const struct cwb_context *c, const struct cwh_exec_launch *l, uint32_t param_size)
{
    struct cwh_remote_launch m;
    memset(&m, 0, sizeof m);
    m.abi = l->abi;
    m.abi.params = NULL;
    m.run = (uintptr_t)l->run;
    m.context = (uintptr_t)c;
    m.stack_per_thread = l->stack_per_thread;
    m.output_limit = cwh_output_limit_of(l->output);
    m.info = l->info;
    m.cost = l->cost ? atomic_load_explicit(l->cost, memory_order_relaxed) : 0;
    m.has_cost = l->cost != NULL;
    m.cooperative = l->cooperative;
    m.param_size = param_size;
    strncpy(m.kernel, l->kernel, sizeof m.kernel - 1);
    return send_all(channel->fd, &m, sizeof m, l->abi.params, param_size);
}

struct message { struct cwh_remote_answer a; char text[CWH_MAX_TEXT]; };

/* False: the process ended, or talks nonsense. */
static bool
serve(const struct cwh_channel *channel, struct cwh_exec_launch *l, struct message *m)
{
    size_t complaints = 0;
    for (;;) {
        ssize_t n;
        do
            n = recv(channel->fd, m, sizeof *m, 0);
        while (n < 0 && errno == EINTR);
        if (n < (ssize_t)sizeof m->a || m->a.size != (size_t)n - sizeof m->a)
            return false;
        struct cwh_remote_heap heap = { 0, 0 };
        switch (m->a.kind) {
        case CWH_OUTPUT:
            cwh_output_append(l->output, m->text, m->a.size);
            break;
        case CWH_COMPLAINT:
            complaints += m->a.size;
            if (complaints > MOST_COMPLAINTS || !cw_stderr_write(m->text, m->a.size))
                complaints = MOST_COMPLAINTS;
            break;
        case CWH_HEAP:
            if (!cwh_heap_range(l->heap, &heap.base, &heap.size))
                heap.base = heap.size = 0;
            if (!send_all(channel->fd, &heap, sizeof heap, NULL, 0))
                return false;
            break;
        case CWH_DONE:
            if (m->a.result < 0 || m->a.result >= CWB_RESULT_COUNT)
                return false;
            l->result = (cwb_result)m->a.result;
            memcpy(l->message, m->a.message, sizeof l->message);
            l->message[sizeof l->message - 1] = 0;
            cw_text_make_safe(l->message, "");      /* for the log */
            if (l->cost)
                atomic_store_explicit(l->cost, m->a.cost, memory_order_relaxed);
            return true;
        default:
            return false;
        }
    }
}

void
cwh_isolate_run(uint64_t process, const struct cwb_context *c, struct cwh_exec_launch *l, uint32_t param_size)
{
    l->result = CWB_LAUNCH_FAILED;
    l->message[0] = 0;
    if (param_size > CWH_MAX_PARAMS) {
        cwh_fail(l, CWB_RESOURCES, "kernel %s: %u bytes of parameters cannot be handed to the process that runs kernels, %u can", l->kernel, param_size,
                 (unsigned)CWH_MAX_PARAMS);
        return;
    }
    cwb_result why;
    struct cwh_channel *channel = cwh_channel_get(process, &why);
    struct message *m = channel ? malloc(sizeof *m) : NULL;     /* a program's threads may have small stacks */
    if (channel && !m) {
        cwh_channel_put(channel, true);
        channel = NULL;
        why = CWB_NOMEM;
    }
    bool good = channel && send_launch(channel, c, l, param_size) && serve(channel, l, m);
    free(m);
    if (!good)
        cwh_fail(l, why, channel ? "kernel %s: the process that runs kernels ended"
                         : why == CWB_NOMEM ? "kernel %s: no memory for a way to the process that runs kernels"
                                            : "kernel %s: the process that runs kernels is not there", l->kernel);
    if (channel)
        cwh_channel_put(channel, good);
}
