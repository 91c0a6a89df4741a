/* SPDX-License-Identifier: Apache-2.0
 * cudaway-kernels: the process that runs the host device's kernels for CUDAWAY_ISOLATE (docs/isolation.md, isolate_private.h). Started by libcuda.so.1
 * with a socket, it maps the device's memory and the code at the program's addresses, gives up all else, and does what it is told. A thread for each
 * channel runs launches, with the engine's pool. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"
#include "impl/host/isolate_private.h"
#include "impl/host/matrix.h"
#include "impl/host/texture.h"

#include "impl/base/confine.h"
#include "impl/base/fault.h"
#include "impl/base/log.h"
#include "impl/va.h"
#include "jit/loader/loader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* A context's heap: memory and its headers are the device's, the rest is here. */
struct heap {
    struct heap *next;
    uint64_t context;
    struct cwh_heap *heap;
};

static struct {
    uint64_t base, size;        /* of device memory */
    int region;
    pthread_mutex_t lock;
    struct heap *heaps;         /* lock */
} here = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- launches ------------------------------------------------------------------------------------------------------------- */

struct launch {
    struct cwh_exec_launch exec;
    int fd;
};

static void
say(int fd, const void *head, size_t size, const void *tail, size_t more)
{
    struct iovec data[2] = { { (void *)(uintptr_t)head, size }, { (void *)(uintptr_t)tail, more } };
    struct msghdr m = { .msg_iov = data, .msg_iovlen = more ? 2 : 1 };
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        _exit(0);               /* nobody is there */
}

static ssize_t
hear(int fd, void *to, size_t size)
{
    ssize_t n;
    do
        n = recv(fd, to, size, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static void
say_text(int fd, uint32_t kind, struct cwh_output *o)
{
    size_t size = 0;
    char *text = o ? cwh_output_take(o, &size) : NULL;
    for (size_t at = 0; at < size; at += CWH_MAX_TEXT) {
        struct cwh_remote_answer a = { .kind = kind, .size = (uint32_t)(size - at < CWH_MAX_TEXT ? size - at : CWH_MAX_TEXT) };
        say(fd, &a, sizeof a, text + at, a.size);
    }
    free(text);
}

static bool
heap_range(struct cwh_exec_launch *l, uint64_t *base, uint64_t *size)
{
    int fd = ((struct launch *)(void *)l)->fd;
    struct cwh_remote_answer a = { .kind = CWH_HEAP };
    struct cwh_remote_heap h = { 0, 0 };
    say(fd, &a, sizeof a, NULL, 0);
    if (hear(fd, &h, sizeof h) != (ssize_t)sizeof h)
        _exit(0);
    *base = h.base;
    *size = h.size;
    return h.base;
}

static struct cwh_heap *
heap_of(uint64_t context)
{
    pthread_mutex_lock(&here.lock);
    struct heap *h = here.heaps;
    while (h && h->context != context)
        h = h->next;
    if (!h && (h = calloc(1, sizeof *h))) {
        h->context = context;
        h->heap = cwh_heap_create(0);
        h->next = here.heaps;
        here.heaps = h;
    }
    pthread_mutex_unlock(&here.lock);
    return h ? h->heap : NULL;
}

static void
forget(uint64_t context)
{
    pthread_mutex_lock(&here.lock);
    struct heap **p = &here.heaps, *h;
    while (*p && (*p)->context != context)
        p = &(*p)->next;
    if ((h = *p)) {
        *p = h->next;
        cwh_heap_destroy(h->heap);
        free(h);
    }
    pthread_mutex_unlock(&here.lock);
}

static void
run(int fd, struct cwh_remote_launch *m, const uint8_t *params)
{
    _Atomic uint32_t cost = m->cost;
    struct launch l = { .fd = fd };
    m->kernel[sizeof m->kernel - 1] = 0;
    l.exec.abi = m->abi;
    l.exec.abi.params = params;
    l.exec.run = (cwh_kernel_fn *)(uintptr_t)m->run;
    l.exec.info = m->info;
    l.exec.kernel = m->kernel;
    l.exec.stack_per_thread = m->stack_per_thread;
    l.exec.cooperative = m->cooperative;
    l.exec.cost = m->has_cost ? &cost : NULL;
    l.exec.heap = heap_of(m->context);
    l.exec.heap_range = heap_range;
    l.exec.output = cwh_output_create(m->output_limit);
    l.exec.complaints = cwh_output_create(1 << 20);
    struct cwh_remote_answer a = { .kind = CWH_DONE, .result = CWB_NOMEM };
    if (l.exec.output && l.exec.complaints) {
        cwh_exec_run(&l.exec);
        a.result = (int32_t)l.exec.result;
        a.cost = atomic_load(&cost);
        memcpy(a.message, l.exec.message, sizeof a.message);
    }
    say_text(fd, CWH_OUTPUT, l.exec.output);
    say_text(fd, CWH_COMPLAINT, l.exec.complaints);
    say(fd, &a, sizeof a, NULL, 0);
    cwh_output_destroy(l.exec.output);
    cwh_output_destroy(l.exec.complaints);
}

static void *
channel_main(void *arg)
{
    int fd = (int)(intptr_t)arg;
    struct { struct cwh_remote_launch m; uint8_t params[CWH_MAX_PARAMS]; } *message = malloc(sizeof *message);
    uint8_t *params = aligned_alloc(64, CWH_MAX_PARAMS + 64);
    ssize_t n;
    while (message && params && (n = hear(fd, message, sizeof *message)) >= (ssize_t)sizeof message->m) {
        size_t size = (size_t)n - sizeof message->m;
        memcpy(params, message->params, size);
        memset(params + size, 0, 64);
        run(fd, &message->m, params);
    }
    free(message);
    free(params);
    close(fd);
    return NULL;
}

/* ---- what it is told ------------------------------------------------------------------------------------------------------ */

static cwb_result
pages(const struct cwh_request *q, int fd)
{
    void *at = (void *)(uintptr_t)q->address;
    if (q->address < here.base || q->size > here.size || q->address - here.base > here.size - q->size)
        return CWB_INVALID;
    if (q->memory == CW_VA_AS_BEFORE)
        return mprotect(at, q->size, q->prot) ? CWB_NOMEM : CWB_OK;
    bool file = q->memory == CW_VA_OF_FILE;
    void *p = mmap(at, q->size, q->prot, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file ? fd : here.region,
                   (off_t)(file ? q->offset : q->address - here.base));
    return p == MAP_FAILED ? CWB_NOMEM : CWB_OK;
}

/* The thread has the socket from then on. */
static cwb_result
channel(int *fd)
{
    pthread_t t;
    if (*fd < 0 || cw_thread_create(&t, NULL, channel_main, (void *)(intptr_t)*fd))
        return CWB_NOMEM;
    pthread_detach(t);
    *fd = -1;
    return CWB_OK;
}

static cwb_result
answer(const struct cwh_request *q, int *fd)
{
    switch (q->kind) {
    case CWH_PAGES:
        return pages(q, *fd);
    case CWH_TEXTURE:
        return cwh_texobj_mirror(&q->texture) ? CWB_OK : CWB_NOMEM;
    case CWH_TEXTURE_GONE:
        cwh_texobj_free(cwh_texobj_get(q->texture.handle));
        return CWB_OK;
    case CWH_CHANNEL:
        return channel(fd);
    case CWH_FORGET:
        forget(q->context);
        return CWB_OK;
    case CWH_STOP:
        cwh_exec_stop();
        return CWB_OK;
    default:
        return CWB_INVALID;
    }
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------ */

static bool
hear_request(struct cwh_request *q, int fds[3])
{
    union { struct cmsghdr header; char space[CMSG_SPACE(3 * sizeof(int))]; } c;
    struct iovec data = { q, sizeof *q };
    struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = c.space, .msg_controllen = sizeof c.space };
    ssize_t n;
    do
        n = recvmsg(CWH_CONTROL_FD, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    fds[0] = fds[1] = fds[2] = -1;
    const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (h && h->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
    return n == (ssize_t)sizeof *q;
}

/* Descriptors that the program did not mean to hand on. */
static void
close_others(void)
{
    struct rlimit most;
    if (!syscall(SYS_close_range, CWH_CONTROL_FD + 1, ~0u, 0))
        return;
    unsigned n = !getrlimit(RLIMIT_NOFILE, &most) && most.rlim_cur < 1 << 20 ? (unsigned)most.rlim_cur : 1 << 20;
    for (unsigned i = CWH_CONTROL_FD + 1; i < n; i++)
        close((int)i);
}

static bool
map(const struct cwh_request *q, const int fds[3], struct cwh_hello *h)
{
    void *device = (void *)(uintptr_t)q->address, *code = (void *)(uintptr_t)q->code;
    here.base = q->address;
    here.size = q->size;
    here.region = fds[0];
    if (mmap(device, q->size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fds[0], 0) != device ||
        mmap(code, q->code_size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fds[1], 0) != code) {
        h->taken = errno == EEXIST;
        snprintf(h->text, sizeof h->text, "it cannot have device memory or code at the program's addresses (%s)", strerror(errno));
        return false;
    }
    close(fds[1]);
    return true;
}

static bool
prepare(const struct cwh_request *q, const int fds[3], struct cwh_hello *h)
{
    struct cw_confine_error e;
    const struct cwj_host_runtime *rt = cwh_exec_runtime();
    if (!map(q, fds, h))
        return false;
    /* What reads settings and files does so now. */
    cw_log_enabled(CW_LOG_ERROR);
    (void)cwh_exec_threads();
    (void)cwh_matrix_model();
    cw_faults_claim();
    if (cw_confine_to_memory(&e) != CW_OK) {
        snprintf(h->text, sizeof h->text, "%s", e.text);
        return false;
    }
    h->nruntime = rt->count;
    h->nsupport = cwj_support_count;
    for (uint32_t i = 0; i < h->nruntime && i < CWH_MAX_ADDRESSES; i++)
        h->address[i] = (uintptr_t)rt->address[i];
    for (uint32_t i = 0; i < h->nsupport && h->nruntime + i < CWH_MAX_ADDRESSES; i++)
        h->address[h->nruntime + i] = (uintptr_t)cwj_support_functions[i].address;
    return true;
}

int
main(void)
{
    static struct cwh_hello hello;
    static struct cwh_request q;
    int fds[3];
    /* Faults alone end or interrupt it. It goes when the program does, whatever it is sent. */
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&others, faults[i]);
    sigprocmask(SIG_SETMASK, &others, NULL);
    close_others();
    if (!hear_request(&q, fds) || q.kind != CWH_SETUP) {
        fputs("cudaway-kernels: CUDA programs start it (docs/isolation.md)\n", stderr);
        return 2;
    }
    const int program = fds[2];
    hello.result = prepare(&q, fds, &hello) ? CWB_OK : CWB_UNSUPPORTED;
    if (send(CWH_CONTROL_FD, &hello, sizeof hello, MSG_NOSIGNAL) < 0 || hello.result != CWB_OK)
        return 1;
    for (;;) {
        /* A child of the program may hold the other end when the program has ended. */
        struct pollfd p[2] = { { .fd = CWH_CONTROL_FD, .events = POLLIN }, { .fd = program, .events = POLLIN } };
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents || !hear_request(&q, fds))
            _exit(0);
        int32_t r = (int32_t)answer(&q, &fds[0]);
        for (int i = 0; i < 3; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        if (send(CWH_CONTROL_FD, &r, sizeof r, MSG_NOSIGNAL) < 0)
            _exit(0);
    }
}
