/* SPDX-License-Identifier: Apache-2.0
 * See limit.h. Process-wide state: `setting`, written once; `forks`, held for writing while the process divides; `place`, set in children alone.
 *
 * The child answers through a pipe: struct answer, its diagnostics (struct line and text each), and what `pack` wrote. It ends with _exit. */
#define _GNU_SOURCE
#include "jit/llvm/limit.h"
#include "jit/jit.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 120, MOST_SECONDS = 1000000 };

static struct {
    uint64_t seconds, bytes;        /* 0: not bounded */
} setting;

/* Shared with a child. */
struct place {
    char step[TEXT], name[TEXT];
};

static struct place *place;
static pthread_rwlock_t forks = PTHREAD_RWLOCK_INITIALIZER;

struct answer {
    uint32_t result, ndiags;
};

struct line {
    uint32_t severity, code, line, column, size;
};

/* ---- the setting --------------------------------------------------------------------------------------------------------- */

/* SECONDS, SECONDS,BYTES or ,BYTES */
static bool
parse(const char *s)
{
    char *end = (char *)s;
    if (*s >= '0' && *s <= '9') {
        setting.seconds = strtoull(s, &end, 10);
        if (!setting.seconds || setting.seconds > MOST_SECONDS)
            return false;
    }
    if (*end == ',')
        return cw_parse_size(end + 1, &setting.bytes) && setting.bytes;
    return end != s && !*end;
}

static void
read_setting(void)
{
    const char *s = cw_env_get(CW_ENV_COMPILE_LIMIT);
    if (s && *s && !parse(s)) {
        cw_warn("%s=%s is not SECONDS, SECONDS,BYTES or ,BYTES; compilations are not limited", cw_env_name(CW_ENV_COMPILE_LIMIT), s);
        setting.seconds = setting.bytes = 0;
    }
}

bool
cwj_limit_set(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_setting);
    return setting.seconds || setting.bytes;
}

void
cwj_limit_enter(void)
{
    if (cwj_limit_set())
        pthread_rwlock_rdlock(&forks);
}

void
cwj_limit_leave(void)
{
    if (cwj_limit_set())
        pthread_rwlock_unlock(&forks);
}

void
cwj_limit_step(const char *step, const char *name)
{
    if (!place)
        return;
    snprintf(place->step, sizeof place->step, "%s", step);
    snprintf(place->name, sizeof place->name, "%s", name ? name : "");
}

/* ---- the child ----------------------------------------------------------------------------------------------------------- */

struct child {
    const struct cwj_limited *l;
    struct cwj_diags *diags;
    struct cwj_diag **from;         /* the child's first diagnostic */
    struct rlimit memory;           /* the process's own */
    struct place *place;
    int in, out;                    /* of the pipe */
    pid_t pid;
};

__attribute__((noreturn)) static void
send_answer(void *user, cw_result result)
{
    struct child *c = user;
    struct answer a = { .result = (uint32_t)result };
    struct cw_buf out, body;
    setrlimit(RLIMIT_AS, &c->memory);           /* to have room for the answer */
    cw_buf_init(&out);
    cw_buf_init(&body);
    for (const struct cwj_diag *d = *c->from; d; d = d->next, a.ndiags++) {
        struct line line = { d->severity, d->code, d->line, d->column, (uint32_t)strlen(d->text) };
        cw_buf_append(&body, (const char *)&line, sizeof line);
        cw_buf_append(&body, d->text, line.size);
    }
    if (!result)
        c->l->pack(c->l->user, &body);
    cw_buf_append(&out, (const char *)&a, sizeof a);
    cw_buf_append(&out, body.data, body.size);
    _exit(out.failed || body.failed || !cw_write_all(c->out, out.data, out.size));
}

static void
bound_memory(struct child *c)
{
    struct rlimit core = { 0, 0 };
    unsigned long pages = 0;
    getrlimit(RLIMIT_AS, &c->memory);
    setrlimit(RLIMIT_CORE, &core);
    FILE *f = setting.bytes ? fopen("/proc/self/statm", "re") : NULL;
    if (f && fscanf(f, "%lu", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + setting.bytes;
        if (most < c->memory.rlim_cur)
            setrlimit(RLIMIT_AS, &(struct rlimit){ most, c->memory.rlim_max });
    }
    if (f)
        fclose(f);
}

/* The application's handlers are not for this process; its signals are blocked on this thread. */
static cw_result
run_child(struct child *c)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        signal(faults[i], SIG_DFL);
    close(c->in);
    place = c->place;
    if (c->l->lock)
        pthread_mutex_unlock(c->l->lock);
    cwj_contain_at_end(send_answer, c);
    bound_memory(c);
    return c->l->work(c->l->user);
}

/* ---- this process -------------------------------------------------------------------------------------------------------- */

static int64_t
now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Read until the child closes the pipe. False: the time is over. */
static bool
receive(const struct child *c, struct cw_buf *answer)
{
    int64_t end = now_ms() + (int64_t)setting.seconds * 1000;
    static const size_t chunk = 64 << 10;
    char *part = malloc(chunk);
    bool in_time = true;
    while (part) {
        int64_t left = end - now_ms();
        struct pollfd p = { .fd = c->in, .events = POLLIN };
        if (setting.seconds && left <= 0) {
            in_time = false;
            break;
        }
        int n = poll(&p, 1, !setting.seconds ? -1 : left < 1000 ? (int)left : 1000);
        if (n <= 0)
            continue;
        ssize_t got = read(c->in, part, chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        cw_buf_append(answer, part, (size_t)got);
    }
    answer->failed |= !part;
    free(part);
    return in_time;
}

static cw_result
over_limit(const struct child *c, bool time)
{
    const struct cwj_limited *l = c->l;
    const struct place *p = c->place;
    cwj_diag_add(c->diags, PTX_ERROR, 5916, l->line, 0,
                 "compiling %s needs more than the %llu %s of %s; it was at %s%s%s%s, and its largest function is %s, with %u instructions", l->what,
                 (unsigned long long)(time ? setting.seconds : setting.bytes), time ? "s" : "bytes", cw_env_name(CW_ENV_COMPILE_LIMIT),
                 p->step[0] ? p->step : "the start", p->name[0] ? " (" : "", p->name, p->name[0] ? ")" : "", l->largest, l->instructions);
    return CW_ERR_LLVM;
}

/* Take the child's answer apart. */
static cw_result
take_answer(const struct child *c, const struct cw_buf *in, int status)
{
    struct answer a;
    size_t at = sizeof a;
    if (in->failed)
        return CW_ERR_NOMEM;
    if (in->size < sizeof a) {
        cwj_diag_add(c->diags, PTX_ERROR, 5910, c->l->line, 0, "the process that compiled %s ended%s%s", c->l->what,
                     status >= 0 && WIFSIGNALED(status) ? " by signal " : "", status >= 0 && WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "");
        return CW_ERR_LLVM;
    }
    memcpy(&a, in->data, sizeof a);
    const bool memory = a.result == CW_ERR_NOMEM && setting.bytes;
    for (uint32_t i = 0; i < a.ndiags; i++) {
        struct line line;
        memcpy(&line, in->data + at, sizeof line);
        at += sizeof line;
        if (!memory)
            cwj_diag_add(c->diags, (enum ptx_severity)line.severity, line.code, line.line, line.column, "%.*s", (int)line.size, in->data + at);
        at += line.size;
    }
    if (memory)
        return over_limit(c, false);
    if (!a.result && !c->l->unpack(c->l->user, in->data + at, in->size - at))
        return CW_ERR_NOMEM;
    return (cw_result)a.result;
}

/* Somebody else in the process may have waited for the child already: then the status is unknown. */
static int
end_child(const struct child *c, bool by_force)
{
    int status = -1;
    if (by_force)
        kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static cw_result
wait_for_child(struct child *c)
{
    struct cw_buf in;
    close(c->out);
    cw_buf_init(&in);
    bool in_time = receive(c, &in);
    int status = end_child(c, !in_time || in.failed);
    close(c->in);
    cw_result r = in_time ? take_answer(c, &in, status) : over_limit(c, true);
    cw_buf_finish(&in);
    return r;
}

/* Runs contained, in both processes. */
static cw_result
divide(void *user)
{
    struct child *c = user;
    int fd[2], e = 0;
    c->place = mmap(NULL, sizeof *c->place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->place == MAP_FAILED || pipe2(fd, O_CLOEXEC)) {
        e = errno;
        goto fail;
    }
    c->in = fd[0];
    c->out = fd[1];
    c->from = c->diags->tail;
    pthread_rwlock_wrlock(&forks);
    if (c->l->lock)
        pthread_mutex_lock(c->l->lock);
    c->pid = fork();
    if (!c->pid)
        return run_child(c);
    e = errno;
    if (c->l->lock)
        pthread_mutex_unlock(c->l->lock);
    pthread_rwlock_unlock(&forks);
    if (c->pid < 0) {
        close(c->in);
        close(c->out);
        goto fail;
    }
    cw_result r = wait_for_child(c);
    munmap(c->place, sizeof *c->place);
    return r;
fail:
    if (c->place != MAP_FAILED)
        munmap(c->place, sizeof *c->place);
    cwj_diag_add(c->diags, PTX_ERROR, 5917, 0, 0, "cannot start the process that compiles within %s: %s; without that variable none is needed",
                 cw_env_name(CW_ENV_COMPILE_LIMIT), strerror(e));
    return CW_ERR_NOMEM;
}

cw_result
cwj_contain_limited(enum cwj_contain_kind kind, const struct cwj_limited *l, struct cwj_diags *diags)
{
    if (!cwj_limit_set())
        return cwj_contain(kind, l->work, l->user, diags);
    struct child c = { .l = l, .diags = diags };
    return cwj_contain_elsewhere(kind, divide, &c, diags);
}
