/* SPDX-License-Identifier: Apache-2.0
 * See isolate.h. There is one process at a time. It is started for the first context, and for a context that is created after it has ended; contexts
 * of one that has ended have an error. What its pages are is kept here for a next one.
 *
 * Lock: isolate.lock protects all of this and orders what is said on the control socket. impl/va.c calls in with its own held, so nothing here asks
 * it for memory under isolate.lock. code_lock is a leaf. */
#define _GNU_SOURCE
#include "impl/host/isolate.h"
#include "impl/host/isolate_private.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/va.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

enum { CODE_SIZE = 512 << 20, WAIT_SECONDS = 30, WAIT_SECONDS_AT_EXIT = 1 };
static const char program[] = "cudaway-kernels";

/* Code, for one process. Contexts may still compile for one that has ended, so these stay. */
struct runtime {
    struct cwj_host_runtime pub;
    struct cwj_host_place place;
    const void *address[CWH_MAX_ADDRESSES];
    uint64_t support[CWH_MAX_ADDRESSES];
    struct runtime *older;
};

/* Pages of the region that are not its file's PROT_NONE. */
struct pages {
    uint64_t from, to;
    int prot, fd;               /* fd: -1, or of another file: */
    bool lasts;                 /* impl/va.c's, else ours */
    uint64_t offset;
    struct cw_fd_file file;     /* of fd */
};

static struct {
    pthread_mutex_t lock;
    bool on;                    /* set once */
    pid_t owner;                /* by this process; a child of fork has the pages and sockets, and nobody who answers them */
    int region_fd, code_fd;
    struct cw_fd_file region_file;
    uint64_t base, size;
    uint8_t *code;
    uint64_t process;           /* the latest one's number */
    bool alive;
    int pidfd, control;
    struct cw_fd_file pidfd_file, control_file;
    pid_t parent;               /* of the process, where somebody must stay for that (see child); 0: nobody */
    void *parent_memory;
    struct runtime *runtime;    /* the latest one's */
    struct cwh_channel *idle;
    struct pages *pages;        /* sorted */
    size_t npages, capacity;
} isolate = { .lock = PTHREAD_MUTEX_INITIALIZER, .region_fd = -1, .code_fd = -1, .pidfd = -1, .control = -1 };

bool
cwh_isolated(void)
{
    return isolate.on;
}

/* ---- memory for code: blocks in use, sorted; first fit ------------------------------------------------------------------- */

struct code_block { uint64_t from, to; };
static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static struct code_block *code_blocks;          /* code_lock, and so on */
static size_t ncode, code_capacity;

static void *
code_allocate(size_t size, size_t align)
{
    uint8_t *result = NULL;
    pthread_mutex_lock(&code_lock);
    if (ncode == code_capacity) {
        size_t n = code_capacity ? code_capacity * 2 : 64;
        struct code_block *b = realloc(code_blocks, n * sizeof *b);
        if (b) {
            code_blocks = b;
            code_capacity = n;
        }
    }
    uint64_t from = 0;
    size_t i = 0;
    if (align < 64)
        align = 64;             /* no two blocks have a cache line in common: one is written while the other runs */
    for (; ncode < code_capacity && i <= ncode; i++) {
        uint64_t end = i < ncode ? code_blocks[i].from : CODE_SIZE;
        from = (from + align - 1) & ~(uint64_t)(align - 1);
        if (from <= end && size <= end - from) {
            memmove(code_blocks + i + 1, code_blocks + i, (ncode - i) * sizeof *code_blocks);
            code_blocks[i] = (struct code_block){ from, from + size };
            ncode++;
            result = isolate.code + from;
            break;
        }
        from = i < ncode ? code_blocks[i].to : from;
    }
    pthread_mutex_unlock(&code_lock);
    return result;
}

static void
code_release(void *memory)
{
    uint64_t from = (uint64_t)((uint8_t *)memory - isolate.code);
    pthread_mutex_lock(&code_lock);
    for (size_t i = 0; i < ncode; i++) {
        if (code_blocks[i].from == from) {
            memmove(code_blocks + i, code_blocks + i + 1, (ncode - i - 1) * sizeof *code_blocks);
            ncode--;
            break;
        }
    }
    pthread_mutex_unlock(&code_lock);
}

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

static bool
send_request(const struct cwh_request *q, const int *fds, unsigned nfds)
{
    union { struct cmsghdr header; char space[CMSG_SPACE(3 * sizeof(int))]; } c;
    struct iovec data = { (void *)(uintptr_t)q, sizeof *q };
    struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
    ssize_t n;
    if (!cw_fd_is(isolate.control, &isolate.control_file))
        return false;
    if (nfds) {
        memset(&c, 0, sizeof c);
        m.msg_control = c.space;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        c.header.cmsg_level = SOL_SOCKET;
        c.header.cmsg_type = SCM_RIGHTS;
        c.header.cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(&c.header), fds, nfds * sizeof(int));
    }
    do
        n = sendmsg(isolate.control, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *q;
}

/* For an answer, and for room for a request. */
static void
wait_at_most(int fd, int seconds)
{
    const struct timeval limit = { seconds, 0 };
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static ssize_t
receive(void *to, size_t size)
{
    ssize_t n;
    do
        n = recv(isolate.control, to, size, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

enum { CHILD_STACK = 64 * 1024, PROCESSES = 4, END_MS = 1000 };
struct start {
    char path[4200], threads[64], model[96], capability[64];
    char *arguments[2], *environment[5];
    int socket, pidfd;
    bool stays;
    _Atomic uint32_t done;      /* the process is started, or cannot be */
    uint8_t *stack;
};
enum { SPAWN_SIZE = 2 * CHILD_STACK + sizeof(struct start) };

/* Lock held. The parent ends when the process has. What does not end in time is left alone. */
static void
bury_parent(void)
{
    struct pollfd p = { .fd = isolate.pidfd, .events = POLLIN };
    if (isolate.parent && poll(&p, 1, END_MS) > 0) {
        while (waitpid(isolate.parent, NULL, __WCLONE) < 0 && errno == EINTR)
            ;
        munmap(isolate.parent_memory, SPAWN_SIZE);
    }
    isolate.parent = 0;
}

/* Lock held. The process ended, or is of no use any more. */
static void
bury(bool ended)
{
    if (!isolate.alive)
        return;
    isolate.alive = false;
    if (ended)
        cw_error("the process that runs kernels ended; contexts that have launched kernels there are of no use any more");
    const bool ours = cw_fd_is(isolate.pidfd, &isolate.pidfd_file);
    if (ours)
        (void)syscall(SYS_pidfd_send_signal, isolate.pidfd, SIGKILL, NULL, 0);     /* refused: it ends when its socket closes */
    cw_fd_close(isolate.control, &isolate.control_file);
    isolate.control = -1;
    if (ours) {
        bury_parent();
        close(isolate.pidfd);
    }
    isolate.parent = 0;
    isolate.pidfd = -1;
    while (isolate.idle) {
        struct cwh_channel *c = isolate.idle;
        isolate.idle = c->next;
        cw_fd_close(c->fd, &c->file);
        free(c);
    }
}

/* Lock held. */
static cwb_result
request(const struct cwh_request *q, const int *fds, unsigned nfds)
{
    int32_t r;
    if (!isolate.alive)
        return CWB_LAUNCH_FAILED;
    if (!send_request(q, fds, nfds) || receive(&r, sizeof r) != (ssize_t)sizeof r || r < 0 || r >= CWB_RESULT_COUNT) {
        bury(true);
        return CWB_LAUNCH_FAILED;
    }
    return (cwb_result)r;
}

/* ---- pages ---------------------------------------------------------------------------------------------------------------- */

/* Room for n more. */
static bool
pages_reserve(size_t n)
{
    if (isolate.capacity - isolate.npages >= n)
        return true;
    size_t c = isolate.capacity ? isolate.capacity * 2 : 64;
    struct pages *more = realloc(isolate.pages, c * sizeof *more);
    if (!more)
        return false;
    isolate.pages = more;
    isolate.capacity = c;
    return true;
}

static bool
pages_insert(size_t at, struct pages p)
{
    if (!pages_reserve(1))
        return false;
    memmove(isolate.pages + at + 1, isolate.pages + at, (isolate.npages - at) * sizeof *isolate.pages);
    isolate.pages[at] = p;
    isolate.npages++;
    return true;
}

static void
pages_remove(size_t at)
{
    if (isolate.pages[at].fd >= 0 && !isolate.pages[at].lasts)
        cw_fd_close(isolate.pages[at].fd, &isolate.pages[at].file);
    memmove(isolate.pages + at, isolate.pages + at + 1, (isolate.npages - at - 1) * sizeof *isolate.pages);
    isolate.npages--;
}

/* Cut the entry that has `a` inside in two. */
static bool
pages_split(uint64_t a)
{
    for (size_t i = 0; i < isolate.npages && isolate.pages[i].from < a; i++) {
        struct pages p = isolate.pages[i];
        if (p.to <= a)
            continue;
        p.offset += a - p.from;
        p.from = a;
        if (p.fd >= 0 && !p.lasts && (!cw_fd_is(p.fd, &p.file) || (p.fd = fcntl(p.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0))
            return false;
        isolate.pages[i].to = a;
        return pages_insert(i + 1, p);
    }
    return true;
}

/* Keep the change for a process that is started later. */
static bool
pages_keep(const struct cw_va_pages *p)
{
    const uint64_t from = p->address, to = from + p->size;
    size_t i = 0;
    if (!pages_split(from) || !pages_split(to))
        return false;
    while (i < isolate.npages && isolate.pages[i].from < from)
        i++;
    if (p->memory == CW_VA_AS_BEFORE) {
        uint64_t at = from;
        for (; i < isolate.npages && isolate.pages[i].from < to; i++) {
            if (at < isolate.pages[i].from && !pages_insert(i, (struct pages){ .from = at, .to = isolate.pages[i].from, .prot = p->prot, .fd = -1 }))
                return false;
            isolate.pages[i].prot = p->prot;
            at = isolate.pages[i].to;
        }
        return at >= to || pages_insert(i, (struct pages){ .from = at, .to = to, .prot = p->prot, .fd = -1 });
    }
    while (i < isolate.npages && isolate.pages[i].from < to)
        pages_remove(i);
    if (p->memory == CW_VA_OF_REGION && p->prot == PROT_NONE)
        return true;
    struct pages keep = { .from = from, .to = to, .prot = p->prot, .fd = -1, .lasts = p->lasts, .offset = p->offset };
    if (p->memory == CW_VA_OF_FILE) {
        keep.fd = p->lasts ? p->fd : fcntl(p->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (keep.fd < 0 || !cw_fd_file(keep.fd, &keep.file))
            return false;
    }
    /* Neighbours of the region's file are one, so that the list stays as short as the kernel's own. */
    if (keep.fd < 0 && i > 0 && isolate.pages[i - 1].to == from && isolate.pages[i - 1].fd < 0 && isolate.pages[i - 1].prot == keep.prot) {
        isolate.pages[i - 1].to = to;
        return true;
    }
    return pages_insert(i, keep);
}

static bool
on_pages(const struct cw_va_pages *p)
{
    struct cwh_request q = { .kind = CWH_PAGES, .prot = p->prot, .memory = p->memory, .address = p->address, .size = p->size, .offset = p->offset };
    const bool taken_away = p->memory == CW_VA_OF_REGION && p->prot == PROT_NONE;
    pthread_mutex_lock(&isolate.lock);
    /* Two entries are cut, and one is new. What cannot be noted as taken away stays known: a later process then has pages that nobody uses. */
    bool kept = pages_reserve(3) && pages_keep(p);
    if ((kept || taken_away) && isolate.alive && request(&q, &p->fd, p->memory == CW_VA_OF_FILE) != CWB_OK) {
        cw_error("the process that runs kernels cannot have the memory at 0x%llx", (unsigned long long)p->address);
        bury(false);
    }
    pthread_mutex_unlock(&isolate.lock);
    return kept || taken_away;
}

/* ---- the process ---------------------------------------------------------------------------------------------------------- */

/* The thread sanitizer takes what a child does in this memory for the calling thread's own. */
#ifdef __SANITIZE_THREAD__
enum { SHARED_MEMORY = 0 };
#else
enum { SHARED_MEMORY = CLONE_VM };
#endif

/* In the process to be, which shares this one's memory until it executes: system calls alone. */
static int
grandchild(void *user)
{
    const struct start *s = user;
    int null = open("/dev/null", O_RDWR);
    if (s->socket == CWH_CONTROL_FD)
        fcntl(s->socket, F_SETFD, 0);
    else if (dup2(s->socket, CWH_CONTROL_FD) < 0)
        _exit(127);
    for (int i = 0; i < 3; i++)
        if (null < 0 || dup2(null, i) < 0)
            _exit(127);
    execve(s->path, s->arguments, s->environment);
    _exit(127);
}

/* System calls in a process that has this one's memory and goes on beside it: errno is the calling thread's here, which may be gone. */
static long
call(long number, uintptr_t a, uintptr_t b, uintptr_t c)
{
    register long fourth __asm__("r10") = 0;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}

/* No wait() without __WALL sees a child that sends no signal when it ends; and one that has executed a program sends SIGCHLD. So the process is started
 * by a child, which shares memory and descriptors, and is none of the program's own. Most often that child ends at once, and the process is an
 * orphan. A program that is given the orphans would have it as a child again: there the first child stays as its parent, and ends after it.
 * It has the program's memory, but none of its descriptors, no thread-local variables, and no signals. */
static int
child(void *user)
{
    struct start *s = user;
    setsid();                   /* signals to the program's group, and from its terminal, are the program's */
    int failed = chdir("/") || clone(grandchild, s->stack + CHILD_STACK, SHARED_MEMORY | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, s, &s->pidfd) < 0;
    if (!s->stays)
        return failed;
    call(SYS_prctl, PR_SET_NAME, (uintptr_t)"cudaway-parent", 0);
    bool alone = !call(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);   /* before Linux 5.9 it cannot be, and must not keep descriptors open */
    atomic_store(&s->done, 1);
    call(SYS_futex, (uintptr_t)&s->done, FUTEX_WAKE, 1);
    while (alone && !failed && call(SYS_wait4, (uintptr_t)-1, 0, __WALL) == -EINTR)
        ;
    for (;;)
        call(SYS_exit_group, 0, 0, 0);
}

/* The child that stays has started the process, or has ended. */
static void
wait_for_start(struct start *s, pid_t pid)
{
    const struct timespec t = { 0, 100000000 };
    while (!atomic_load(&s->done) && !waitpid(pid, NULL, __WCLONE | WNOHANG))
        (void)syscall(SYS_futex, &s->done, FUTEX_WAIT, 0, &t, NULL, 0);
}

static bool
adopts_orphans(void)
{
    int is = 0;
    return getpid() == 1 || (!prctl(PR_GET_CHILD_SUBREAPER, &is, 0, 0, 0) && is);
}

static void
pass(struct start *s, unsigned *n, char *text, size_t size, enum cw_env var)
{
    const char *value = cw_env_get(var);
    if (value && snprintf(text, size, "%s=%s", cw_env_name(var), value) < (int)size)
        s->environment[(*n)++] = text;
}

/* Lock held. The program gets no SIGCHLD of it, and its wait() does not see it. A descriptor of the process, or -1. The status of the child says nothing:
 * another thread of the program may take it. */
static int
spawn(int socket)
{
    static char no_config[] = "CUDAWAY_CONFIG=none";
    unsigned n = 0;
    int pidfd;
    uint8_t *memory = mmap(NULL, SPAWN_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    struct start *s = (struct start *)(void *)(memory + 2 * CHILD_STACK);
    *s = (struct start){ .socket = socket, .pidfd = -1, .stack = memory, .stays = adopts_orphans() };
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&cwh_isolated);
    bool ok = dir && snprintf(s->path, sizeof s->path, "%s/%s", dir, program) < (int)sizeof s->path;
    free(dir);
    s->arguments[0] = s->path;
    s->environment[n++] = no_config;
    pass(s, &n, s->threads, sizeof s->threads, CW_ENV_HOST_THREADS);
    pass(s, &n, s->model, sizeof s->model, CW_ENV_MATRIX_MODEL);
    pass(s, &n, s->capability, sizeof s->capability, CW_ENV_COMPUTE_CAPABILITY);
    if (ok) {
        if (access(s->path, X_OK))
            cw_error("%s: %s; it runs kernels for %s", s->path, strerror(errno), cw_env_name(CW_ENV_ISOLATE));
        /* A handler of the program must not run in a process whose memory is the program's. */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        pid_t pid = clone(child, memory + 2 * CHILD_STACK, SHARED_MEMORY | (s->stays ? 0 : CLONE_VFORK) | CLONE_FILES, s);
        if (pid > 0 && s->stays)
            wait_for_start(s, pid);
        if (pid > 0 && s->stays && s->pidfd >= 0) {
            isolate.parent = pid;
            isolate.parent_memory = memory;
        }
        while (pid > 0 && !isolate.parent && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
            ;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pidfd = cw_fd_keep(s->pidfd);
    if (!isolate.parent)
        munmap(memory, SPAWN_SIZE);
    return pidfd;
}

/* Lock held. *taken: the kernel has placed something of the process where the program has device memory or code. CWB_UNSUPPORTED: it cannot be used; CWB_SYSTEM: it
 * ended. */
static cwb_result
greet(struct runtime *r, bool *taken)
{
    struct cwh_request q = { .kind = CWH_SETUP, .address = isolate.base, .size = isolate.size, .code = (uintptr_t)isolate.code, .code_size = CODE_SIZE };
    struct cwh_hello *h = calloc(1, sizeof *h);
    const int fds[3] = { isolate.region_fd, isolate.code_fd, (int)syscall(SYS_pidfd_open, getpid(), 0) };
    const char *why = "out of memory";
    bool ok = false, ended = false;
    *taken = false;
    if (h && (!send_request(&q, fds, fds[2] < 0 ? 2 : 3) || receive(h, sizeof *h) != (ssize_t)sizeof *h)) {
        why = "it ended";
        ended = true;
    } else if (h) {
        h->text[sizeof h->text - 1] = 0;
        ok = h->result == CWB_OK && h->nruntime == cwh_exec_runtime()->count && h->nsupport <= CWH_MAX_ADDRESSES - h->nruntime;
        why = h->result != CWB_OK ? h->text : "it is of another build";
        *taken = h->result != CWB_OK && h->taken;
    }
    for (uint32_t i = 0; ok && i < h->nruntime + h->nsupport; i++) {
        if (i < h->nruntime)
            r->address[i] = (const void *)(uintptr_t)h->address[i];
        else
            r->support[i - h->nruntime] = h->address[i];
    }
    if (ok) {
        r->place = (struct cwj_host_place){ h->nsupport, r->support, code_allocate, code_release };
        r->pub = (struct cwj_host_runtime){ h->nruntime, r->address, &r->place };
    } else if (*taken) {
        cw_info("%s: the process that runs kernels: %s", cw_env_name(CW_ENV_ISOLATE), why);
    } else {
        cw_error("%s: the process that runs kernels, %s, cannot be used: %s", cw_env_name(CW_ENV_ISOLATE), program, why);
    }
    if (fds[2] >= 0)
        close(fds[2]);
    const cwb_result result = ok ? CWB_OK : !h ? CWB_NOMEM : ended ? CWB_SYSTEM : CWB_UNSUPPORTED;
    free(h);
    return result;
}

/* Both ends stay open. False with errno. */
static bool
make_pair(int pair[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return false;
    pair[0] = cw_fd_keep(pair[0]);
    pair[1] = cw_fd_keep(pair[1]);
    if (pair[0] >= 0 && pair[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
    return false;
}

/* Lock held. */
static cwb_result
make_process(void)
{
    int pair[2];
    if (!cw_fd_is(isolate.region_fd, &isolate.region_file)) {
        cw_error("%s: no process for kernels can be made: the program has closed the descriptor of device memory", cw_env_name(CW_ENV_ISOLATE));
        return CWB_UNSUPPORTED;
    }
    if (!make_pair(pair))
        return CWB_NOMEM;
    wait_at_most(pair[0], WAIT_SECONDS);
    isolate.pidfd = spawn(pair[1]);
    close(pair[1]);
    if (isolate.pidfd < 0) {
        cw_error("%s: no process for kernels can be made: %s", cw_env_name(CW_ENV_ISOLATE), strerror(errno));
        close(pair[0]);
        return CWB_NOMEM;
    }
    isolate.control = pair[0];
    (void)cw_fd_file(isolate.control, &isolate.control_file);
    (void)cw_fd_file(isolate.pidfd, &isolate.pidfd_file);
    isolate.alive = true;
    return CWB_OK;
}

/* Lock held. */
static cwb_result
start(void)
{
    struct runtime *r = calloc(1, sizeof *r);
    bool taken = true;
    cwb_result result = CWB_NOMEM;
    if (!r)
        return CWB_NOMEM;
    /* Each process has its own random places: about one in a thousand has something at an address that is needed. */
    for (unsigned i = 0; taken && i < PROCESSES; i++) {
        cwb_result e = make_process();
        if (e != CWB_OK) {
            free(r);
            return e;
        }
        result = greet(r, &taken);
        if (taken)
            bury(false);
    }
    if (taken)
        cw_error("%s: %u processes had something at the addresses of the program's device memory or code", cw_env_name(CW_ENV_ISOLATE), PROCESSES);
    for (size_t i = 0; result == CWB_OK && i < isolate.npages; i++) {
        const struct pages *p = &isolate.pages[i];
        struct cwh_request q = { .kind = CWH_PAGES, .prot = p->prot, .memory = p->fd < 0 ? CW_VA_OF_REGION : CW_VA_OF_FILE, .address = p->from,
                                 .size = p->to - p->from, .offset = p->offset };
        if (request(&q, &p->fd, p->fd >= 0) != CWB_OK)
            result = CWB_UNSUPPORTED;
    }
    if (result != CWB_OK) {
        bury(false);
        free(r);
        return result;
    }
    r->older = isolate.runtime;
    isolate.runtime = r;
    isolate.process++;
    cw_info("kernels run in a process of their own");
    return CWB_OK;
}

cwb_result
cwh_isolate_open(void)
{
    const char *s = cw_env_get(CW_ENV_ISOLATE);
    if (!s || !*s || !strcmp(s, "0"))
        return CWB_OK;
    if (strcmp(s, "1")) {
        cw_error("%s=%s is not 0 or 1", cw_env_name(CW_ENV_ISOLATE), s);
        return CWB_INVALID;
    }
    if (isolate.on && isolate.owner == getpid())
        return CWB_OK;                          /* a second cuInit, after one that failed behind this */
    if (isolate.on) {
        cw_error("%s: not in a child of fork", cw_env_name(CW_ENV_ISOLATE));
        return CWB_UNSUPPORTED;
    }
    cwb_result r = cw_va_share_all(on_pages, &isolate.region_fd, &isolate.base, &isolate.size);
    if (r != CWB_OK)
        return r;
    (void)cw_fd_file(isolate.region_fd, &isolate.region_file);
    isolate.code_fd = cw_memory_file("cudaway-code", CODE_SIZE);
    isolate.code = isolate.code_fd < 0 ? MAP_FAILED : mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, isolate.code_fd, 0);
    if (isolate.code == MAP_FAILED) {
        cw_error("%s: no memory for the code of kernels: %s", cw_env_name(CW_ENV_ISOLATE), strerror(errno));
        if (isolate.code_fd >= 0)
            close(isolate.code_fd);
        return CWB_NOMEM;
    }
    isolate.owner = getpid();
    isolate.on = true;
    return CWB_OK;
}

cwb_result
cwh_isolate_start(uint64_t *process)
{
    pthread_mutex_lock(&isolate.lock);
    cwb_result r = isolate.alive ? CWB_OK : start();
    *process = isolate.process;
    pthread_mutex_unlock(&isolate.lock);
    return r;
}

const struct cwj_host_runtime *
cwh_isolate_runtime(void)
{
    pthread_mutex_lock(&isolate.lock);
    const struct cwj_host_runtime *r = &isolate.runtime->pub;
    pthread_mutex_unlock(&isolate.lock);
    return r;
}

/* ---- what it is told ------------------------------------------------------------------------------------------------------ */

static cwb_result
tell(const struct cwh_request *q)
{
    pthread_mutex_lock(&isolate.lock);
    cwb_result r = request(q, NULL, 0);
    pthread_mutex_unlock(&isolate.lock);
    return r;
}

cwb_result
cwh_isolate_texture(const struct cw_texture *t)
{
    return tell(&(struct cwh_request){ .kind = CWH_TEXTURE, .texture = *t });
}

void
cwh_isolate_texture_gone(uint64_t handle)
{
    (void)tell(&(struct cwh_request){ .kind = CWH_TEXTURE_GONE, .texture.handle = handle });
}

void
cwh_isolate_forget(uint64_t process, const struct cwb_context *c)
{
    const struct cwh_request q = { .kind = CWH_FORGET, .context = (uintptr_t)c };
    pthread_mutex_lock(&isolate.lock);
    if (process == isolate.process)
        (void)request(&q, NULL, 0);
    pthread_mutex_unlock(&isolate.lock);
}

void
cwh_isolate_stop(void)
{
    const struct cwh_request q = { .kind = CWH_STOP };
    pthread_mutex_lock(&isolate.lock);
    if (isolate.alive && cw_fd_is(isolate.control, &isolate.control_file))
        wait_at_most(isolate.control, WAIT_SECONDS_AT_EXIT);
    (void)request(&q, NULL, 0);
    pthread_mutex_unlock(&isolate.lock);
}

void
cwh_isolate_kill(void)
{
    pthread_mutex_lock(&isolate.lock);
    bury(false);
    pthread_mutex_unlock(&isolate.lock);
}

/* ---- channels ------------------------------------------------------------------------------------------------------------- */

struct cwh_channel *
cwh_channel_get(uint64_t process, cwb_result *why)
{
    struct cwh_channel *c = NULL;
    int pair[2];
    *why = CWB_LAUNCH_FAILED;
    pthread_mutex_lock(&isolate.lock);
    if (isolate.alive && !cw_fd_is(isolate.control, &isolate.control_file))
        bury(true);
    if (isolate.alive && process == isolate.process) {
        c = isolate.idle;
        if (c) {
            isolate.idle = c->next;
        } else if ((c = calloc(1, sizeof *c)) && make_pair(pair)) {
            c->fd = pair[0];
            (void)cw_fd_file(c->fd, &c->file);
            c->process = process;
            cwb_result r = request(&(struct cwh_request){ .kind = CWH_CHANNEL }, &pair[1], 1);
            close(pair[1]);
            if (r != CWB_OK) {
                close(pair[0]);
                free(c);
                c = NULL;
            }
        } else {
            free(c);
            c = NULL;
            *why = CWB_NOMEM;
        }
    }
    pthread_mutex_unlock(&isolate.lock);
    return c;
}

void
cwh_channel_put(struct cwh_channel *c, bool good)
{
    pthread_mutex_lock(&isolate.lock);
    if (good && isolate.alive && c->process == isolate.process) {
        c->next = isolate.idle;
        isolate.idle = c;
        c = NULL;
    } else if (!good && c->process == isolate.process) {
        bury(true);
    }
    pthread_mutex_unlock(&isolate.lock);
    if (c) {
        cw_fd_close(c->fd, &c->file);
        free(c);
    }
}
