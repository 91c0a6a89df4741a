/* SPDX-License-Identifier: Apache-2.0
 * A session daemon of our own for one recording, driven through liblttng-ctl.
 *
 * Every recording gets a private daemon, independent of one that runs already. An ordinary user's daemon keeps all its files
 * below LTTNG_HOME. Root's daemon always uses /run/lttng: it gets a mount namespace in which that folder is private; the
 * application finds the daemon by LTTNG_HOME in both cases. The folder is in /tmp and its name short, because socket paths are
 * limited to 108 bytes. The daemon ends when this process does: a guard, a third process, sees to it. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"
#include "impl/base/children.h"
#include "impl/base/file.h"
#include "impl/base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lttng/lttng.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SESSION "cudaway"
#define CHANNEL "calls"
#define MODULES "modules"     /* of a flight recorder: names and modules, which must not be overwritten by calls */
#define MODULES_SUBBUF 32768u
#define MODULES_SUBBUFS 4u
/* A full ring buffer makes the application wait this long for the consumer before an event is dropped (and counted).
 * Bounded, since a consumer that died must not hang the application. */
#define BLOCKING_TIMEOUT_US 10000000
enum { MESSAGE = 512 };

/* The first informative line of the daemon's or a command's output, without its prefix. */
static void
first_line(const char *text, char *out, size_t size)
{
    const char *best = text, *error = strstr(text, "Error: ");
    if (error)
        best = error + 7;
    size_t n = strcspn(best, "\n");
    snprintf(out, size, "%.*s", (int)(n < 300 ? n : 300), best);
}

/* Why the daemon ended: its own message, or else the status from waitpid(). */
static void
explain_log(const struct lttng *l, int status, char *out, size_t size)
{
    char text[4096];
    int fd = open(l->log, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0) {
        if (WIFSIGNALED(status))
            snprintf(out, size, "signal %d ended it, and it printed nothing", WTERMSIG(status));
        else
            snprintf(out, size, "it ended with status %d and printed nothing", WEXITSTATUS(status));
        return;
    }
    text[n] = 0;
    first_line(text, out, size);
}

/* In the daemon's process: give it a /run/lttng of its own. Without the privilege it uses the real one. */
static bool
private_mounts(const struct lttng *l)
{
    char run[80];
    snprintf(run, sizeof run, "%s/run", l->home);
    if (mkdir("/run/lttng", 0755) && errno != EEXIST)
        return false;
    return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount(run, "/run/lttng", NULL, MS_BIND, NULL);
}

/* A bundle has the daemon's schema in share/lttng (NULL if not: a distribution's daemon knows where its own is). Call it before
 * the mount namespace changes: afterwards, in a changed root folder, /proc/self/exe no longer names our path. */
static char *
schema_folder(void)
{
    char *own = own_dir(), *file = NULL, *folder = NULL;
    if (own && asprintf(&file, "%s/../share/lttng/session.xsd", own) < 0)
        file = NULL;
    if (file && !access(file, R_OK)) {
        *strrchr(file, '/') = 0;
        folder = realpath(file, NULL);
    }
    free(file);
    free(own);
    return folder;
}

/* In the guard's process: wait until the process that records is gone, however it ended, then end the daemon and its helpers. A signal on the parent's death would
 * not do: the daemon forks, and early it loses a signal. The daemon's PID, the number of its group as well, comes through the pipe. */
static void
guard(int from, const char *home)
{
    pid_t daemon = 0;
    int null = open("/dev/null", O_RDWR);
    setsid();
    if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(from, 0) < 0 || chdir("/"))
        _exit(1);
    (void)syscall(SYS_close_range, 3, ~0u, 0);
    (void)prctl(PR_SET_NAME, "cudaway-guard");
    ssize_t got = read(0, &daemon, sizeof daemon);
    for (char c; got == sizeof daemon && read(0, &c, 1) > 0;)
        ;
    if (got == sizeof daemon) {
        kill(daemon, SIGTERM);
        for (unsigned i = 0; i < 30 && !kill(-daemon, 0); i++)
            nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        kill(-daemon, SIGKILL);
        for (unsigned i = 0; i < 300 && !kill(-daemon, 0); i++)         /* until then it may still make files */
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    cw_remove_tree(home);
    _exit(0);
}

static bool
start_guard(struct lttng *l)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (pid == 0)
        guard(p[0], l->home);
    close(p[0]);
    if (pid < 0) {
        close(p[1]);
        return false;
    }
    l->guard = pid;
    l->guarded = p[1];
    return true;
}

static void
exec_daemon(struct lttng *l, pid_t parent, int status_fd)
{
    char *schema = schema_folder(), *nap = find_library("trace/libcudaway-nap.so");
    pid_t self = getpid();
    /* Its own process group: an interrupt from the terminal is for the application. */
    setpgid(0, 0);
    if (write(l->guarded, &self, sizeof self) != sizeof self || getppid() != parent)
        _exit(1);
    char own = geteuid() == 0 && private_mounts(l);
    if (write(status_fd, &own, 1) != 1)
        _exit(1);
    close(status_fd);
    int null = open("/dev/null", O_RDWR);
    int log = open(l->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(1);
    static const int terminal[] = { SIGINT, SIGQUIT };
    for (unsigned i = 0; i < sizeof terminal / sizeof *terminal; i++) {         /* drop one that came while this was still in the terminal's group */
        signal(terminal[i], SIG_IGN);
        signal(terminal[i], SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setenv("LTTNG_HOME", l->home, 1);
    if (nap && !strpbrk(nap, ": "))
        setenv("LD_PRELOAD", nap, 1);
    else
        unsetenv("LD_PRELOAD");
    if (schema)
        setenv("LTTNG_SESSION_CONFIG_XSD_PATH", schema, 0);
    char socket[112], consumer[PATH_MAX + 32], libdir[PATH_MAX + 32];
    snprintf(socket, sizeof socket, "--apps-sock=%s/.lttng/lttng-ust-sock-8", l->home);
    const char *argv[12];
    int n = 0;
    argv[n++] = l->sessiond;
    argv[n++] = "--no-kernel";
    argv[n++] = "--sig-parent";
    argv[n++] = socket;
    if (l->consumerd) {
        snprintf(consumer, sizeof consumer, "--consumerd64-path=%s", l->consumerd);
        argv[n++] = consumer;
        char *slash = strrchr(l->consumerd, '/');
        snprintf(libdir, sizeof libdir, "--consumerd64-libdir=%.*s", (int)(slash - l->consumerd), l->consumerd);
        argv[n++] = libdir;
    }
    argv[n] = NULL;
    execv(l->sessiond, (char **)argv);
    dprintf(2, "Error: %s: %s\n", l->sessiond, strerror(errno));
    _exit(127);
}

/* The daemon signals SIGUSR1 when it takes commands. SIGUSR1 and SIGCHLD are blocked by now. */
static bool
wait_ready(struct lttng *l)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    struct timespec limit = { .tv_sec = 30 };
    char why[320];
    for (;;) {
        siginfo_t info;
        int sig = sigtimedwait(&set, &info, &limit);
        if (sig == SIGUSR1 && info.si_pid == l->pid)
            return true;
        if (sig < 0 && errno == EINTR)
            continue;
        if (sig < 0) {
            say("lttng-sessiond was not ready after 30 seconds");
            return false;
        }
        int status;
        if (waitpid(l->pid, &status, WNOHANG) == l->pid) {
            l->pid = 0;
            explain_log(l, status, why, sizeof why);
            say("lttng-sessiond did not start: %s%s", why, !l->own_mounts && geteuid() == 0 && strstr(why, "already running")
                ? "; root has one daemon in a root folder that is no mount point (a plain chroot): mount --bind FOLDER FOLDER before chroot gives each recording its own" : "");
            return false;
        }
    }
}

bool
lttng_start(struct lttng *l)
{
    l->sessiond = find_tool("lttng-sessiond");
    if (!l->sessiond) {
        say("lttng-sessiond is missing; install the Debian package lttng-tools");
        return false;
    }
    l->consumerd = find_tool("lttng-consumerd");   /* only a bundle has it here; a distribution's daemon finds its own */
    const char *tmp = getenv("TMPDIR");
    if (!tmp || strlen(tmp) > 30 || access(tmp, W_OK))
        tmp = "/tmp";
    if (!cw_temp_make(tmp, "t", l->home, sizeof l->home)) {
        say("cannot make a folder in %s: %s", tmp, strerror(errno));
        l->home[0] = 0;
        return false;
    }
    char path[96];
    snprintf(path, sizeof path, "%s/run", l->home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.lttng", l->home);
    mkdir(path, 0700);
    snprintf(l->log, sizeof l->log, "%s/log", l->home);
    int status[2];
    if (!start_guard(l) || pipe2(status, O_CLOEXEC)) {
        say("cannot start lttng-sessiond: %s", strerror(errno));
        return false;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        exec_daemon(l, parent, status[1]);
    close(status[1]);
    if (pid < 0) {
        say("cannot start lttng-sessiond: %s", strerror(errno));
        close(status[0]);
        return false;
    }
    l->pid = pid;
    char own = 0;
    ssize_t got = read(status[0], &own, 1);
    close(status[0]);
    l->own_mounts = got == 1 && own;
    return wait_ready(l);
}

/* Enter the namespace with the daemon's /run/lttng. That sets the root folder to the namespace's, which differs from ours in a
 * chroot: restore the daemon's own. */
static bool
enter_mounts(pid_t daemon)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)daemon);
    int mounts = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/root", (int)daemon);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* Refused where a thread shares the working folder, and a sanitizer's runtime has a thread of its own. */
    return mounts >= 0 && root >= 0 && !unshare(CLONE_FS) && !setns(mounts, CLONE_NEWNS) && !fchdir(root) && !chroot(".");
}

/* What the daemon is told, in a process of its own: that one may enter the daemon's mount namespace, and liblttng-ctl reads
 * LTTNG_HOME. The work gives LTTng's error, negative; what it did last is in *step; what it prints into `reply` the caller gets. */
typedef int work_fn(const struct lttng_order *order, int reply, const char **step);

static bool
control(struct lttng *l, work_fn *work, const struct lttng_order *order, char *text, size_t size)
{
    int out[2];
    text[0] = 0;
    if (pipe2(out, O_CLOEXEC)) {
        say("cannot talk to lttng-sessiond: %s", strerror(errno));
        return false;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        const char *step = "entering the daemon's mount namespace";
        setpgid(0, 0);
        setenv("LTTNG_HOME", l->home, 1);
        errno = 0;
        if (l->own_mounts && !enter_mounts(l->pid)) {
            dprintf(out[1], "%s: %s", step, strerror(errno));
            _exit(1);
        }
        lttng_set_tracing_group("cudaway-no-such-group");      /* never the system's daemon */
        int r = work(order, out[1], &step);
        if (r < 0)
            dprintf(out[1], "%s: %s", step, lttng_strerror(r));
        _exit(r < 0);
    }
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    while (pid > 0 && n < size - 1 && ((got = read(out[0], text + n, size - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    text[n] = 0;
    close(out[0]);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    say("lttng-sessiond refused: %s", n ? text : "no message");
    return false;
}

static int
add_contexts(struct lttng_handle *handle, const char *channel)
{
    static const enum lttng_event_context_type contexts[] = { LTTNG_EVENT_CONTEXT_VPID, LTTNG_EVENT_CONTEXT_VTID,
                                                              LTTNG_EVENT_CONTEXT_PROCNAME };
    int r = 0;
    for (unsigned i = 0; i < sizeof contexts / sizeof *contexts && r >= 0; i++) {
        struct lttng_event_context c = { .ctx = contexts[i] };
        r = lttng_add_context(handle, &c, NULL, channel);
    }
    return r;
}

static int
make_channel(struct lttng_handle *handle, struct lttng_domain *domain, const char *name, bool overwrite, uint64_t subbuf_size, unsigned subbufs)
{
    struct lttng_channel *channel = lttng_channel_create(domain);
    if (!channel)
        return -LTTNG_ERR_NOMEM;
    strcpy(channel->name, name);
    channel->attr.overwrite = overwrite;
    channel->attr.subbuf_size = subbuf_size;
    channel->attr.num_subbuf = subbufs;
    int r = overwrite ? 0 : lttng_channel_set_blocking_timeout(channel, BLOCKING_TIMEOUT_US);
    if (r >= 0)
        r = lttng_enable_channel(handle, channel);
    lttng_channel_destroy(channel);
    return r;
}

/* An event by its name without the provider (that of the Runtime has functions cudaXxx and __cudaXxx), in one of the channels; of "*" what is kept from the beginning is left out where that has a channel. */
static int
enable(struct lttng_handle *handle, const char *channel, const char *name, const char *suffix, bool but_modules)
{
    static char but[3][LTTNG_SYMBOL_NAME_LEN] = { "cudaway:module", "cudaway:name", "cudaway:process" };
    char *exclusions[] = { but[0], but[1], but[2] };
    struct lttng_event *event = lttng_event_create();
    if (!event)
        return -LTTNG_ERR_NOMEM;
    event->type = LTTNG_EVENT_TRACEPOINT;
    event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
    event->loglevel = -1;
    bool runtime = !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
    snprintf(event->name, sizeof event->name, "cudaway%s:%s%s", runtime ? "_runtime" : "", name, suffix);
    int r = lttng_enable_event_with_exclusions(handle, event, channel, NULL, but_modules ? 3 : 0, but_modules ? exclusions : NULL);
    lttng_event_destroy(event);
    return r;
}

static int
enable_all(struct lttng_handle *handle, const struct lttng_order *o)
{
    static const char *const always[] = { "kernel", "submit", "executed", "module", "name", "process" };
    enum { MODULE_EVENTS = 3 };     /* the last ones */
    unsigned n = sizeof always / sizeof *always;
    int r = 0;
    if (!o->functions)
        r = enable(handle, CHANNEL, "*", "", o->flight);
    if (r >= 0 && !o->functions && !o->driver)
        r = enable(handle, CHANNEL, "cuda*", "", false);
    if (r >= 0 && !o->functions && !o->driver)     /* what nvcc's code calls */
        r = enable(handle, CHANNEL, "__cuda*", "", false);
    for (unsigned i = 0; o->functions && i < o->count && r >= 0; i++) {
        r = enable(handle, CHANNEL, o->functions[i], "_entry", false);
        if (r >= 0)
            r = enable(handle, CHANNEL, o->functions[i], "_exit", false);
    }
    for (unsigned i = o->functions ? 0 : n - MODULE_EVENTS; (o->functions || o->flight) && i < n && r >= 0; i++)
        r = enable(handle, o->flight && i >= n - MODULE_EVENTS ? MODULES : CHANNEL, always[i], "", false);
    return r;
}

/* One set of buffers a process: a process that is killed inside a trace point cannot stall the others. Those would go with the process,
 * however, and a flight recorder's are wanted after its end. */
static int
set_up(const struct lttng_order *o, int reply, const char **step)
{
    struct lttng_domain domain = { .type = LTTNG_DOMAIN_UST, .buf_type = o->flight ? LTTNG_BUFFER_PER_UID : LTTNG_BUFFER_PER_PID };
    *step = "making the session";
    int r = o->flight ? lttng_create_session_snapshot(SESSION, o->output) : lttng_create_session(SESSION, o->output);
    if (r < 0)
        return r;
    struct lttng_handle *handle = lttng_create_handle(SESSION, &domain);
    if (!handle)
        return -LTTNG_ERR_NOMEM;
    *step = "making the channel";
    r = make_channel(handle, &domain, CHANNEL, o->flight, o->subbuf_size, o->subbufs);
    if (r >= 0 && o->flight)
        r = make_channel(handle, &domain, MODULES, true, MODULES_SUBBUF, MODULES_SUBBUFS);
    if (r >= 0) {
        *step = "enabling the events";
        r = enable_all(handle, o);
    }
    if (r >= 0)
        r = add_contexts(handle, CHANNEL);
    if (r >= 0 && o->flight)
        r = add_contexts(handle, MODULES);
    if (r >= 0) {
        *step = "starting the session";
        r = lttng_start_tracing(SESSION);
    }
    lttng_destroy_handle(handle);
    return r;
}

static int
snapshot(const struct lttng_order *o, int reply, const char **step)
{
    *step = "writing the buffers";
    return lttng_snapshot_record(SESSION, NULL, 0);
}

static int
rotate(const struct lttng_order *o, int reply, const char **step)
{
    struct lttng_rotation_handle *h = NULL;
    enum lttng_rotation_state state = LTTNG_ROTATION_STATE_ONGOING;
    const struct lttng_trace_archive_location *where;
    const char *path;
    *step = "closing a chunk of the trace";
    int r = lttng_rotate_session(SESSION, NULL, &h);
    if (r < 0)
        return r;
    while (lttng_rotation_handle_get_state(h, &state) == LTTNG_ROTATION_STATUS_OK && state == LTTNG_ROTATION_STATE_ONGOING)
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    if (state == LTTNG_ROTATION_STATE_COMPLETED && lttng_rotation_handle_get_archive_location(h, &where) == LTTNG_ROTATION_STATUS_OK &&
        lttng_trace_archive_location_local_get_absolute_path(where, &path) == LTTNG_TRACE_ARCHIVE_LOCATION_STATUS_OK)
        dprintf(reply, "%s", path);
    lttng_rotation_handle_destroy(h);
    return 0;
}

/* lttng_stop_tracing() asks every 200 ms whether all is written. The session is not destroyed: that would wait half a second for
 * more, and the daemon ends anyhow. */
static int
stop(const struct lttng_order *o, int reply, const char **step)
{
    *step = "stopping the session";
    int r = lttng_stop_tracing_no_wait(SESSION);
    for (long ns = 1000000; r >= 0 && (r = lttng_data_pending(SESSION)) > 0; ns = ns < 20000000 ? ns * 2 : ns)
        nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
    return r;
}

bool
lttng_session(struct lttng *l, const struct lttng_order *order)
{
    char text[MESSAGE];
    l->session = control(l, set_up, order, text, sizeof text);
    return l->session;
}

bool
lttng_snapshot(struct lttng *l)
{
    char text[MESSAGE];
    return l->pid && l->session && control(l, snapshot, NULL, text, sizeof text);
}

bool
lttng_rotate(struct lttng *l, char *chunk, size_t size)
{
    chunk[0] = 0;
    return l->pid && l->session && control(l, rotate, NULL, chunk, size);
}

bool
lttng_stop(struct lttng *l)
{
    char text[MESSAGE];
    if (!l->pid || !l->session)
        return true;
    l->session = false;
    return control(l, stop, NULL, text, sizeof text);
}

static void
kill_children(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    if (f && !fgets(text, sizeof text, f))
        text[0] = 0;
    if (f)
        fclose(f);
    for (char *p = text, *end; *p; p = end) {
        long child = strtol(p, &end, 10);
        if (end == p)
            break;
        kill((pid_t)child, SIGKILL);
    }
}

/* All is written, or the recording is given up: an ordered end would take the daemon half a second more. Its helpers become children of
 * ours, so that they are gone, too, when this returns. */
void
lttng_finish(struct lttng *l)
{
    if (l->pid) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        kill_children(l->pid);
        kill(l->pid, SIGKILL);
    }
    if (l->guard) {
        kill(l->guard, SIGKILL);
        close(l->guarded);
        while (waitpid(l->guard, NULL, 0) < 0 && errno == EINTR)
            ;
        l->guard = 0;
    }
    if (l->pid) {
        for (int i = 0; i < 1000; i++) {
            pid_t got = waitpid(-1, NULL, WNOHANG);
            if (got < 0 && errno == ECHILD)
                break;
            if (got == 0)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        l->pid = 0;
    }
    cw_temp_remove(l->home);
    l->home[0] = 0;
    free(l->sessiond);
    free(l->consumerd);
    l->sessiond = l->consumerd = NULL;
}
