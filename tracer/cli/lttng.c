/* SPDX-License-Identifier: Apache-2.0
 * A session daemon of our own for one recording, driven by the lttng command.
 *
 * Every recording gets a private daemon, independent of one that runs already. An ordinary user's daemon keeps all its files
 * below LTTNG_HOME. Root's daemon always uses /run/lttng: it gets a mount namespace in which that folder is private; the
 * application finds the daemon by LTTNG_HOME in both cases. The folder is in /tmp and its name short, because socket paths are
 * limited to 108 bytes. The daemon ends when this process does. */
#define _GNU_SOURCE
#include "tracer/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SESSION "cudaway"
#define CHANNEL "calls"
/* A full ring buffer makes the application wait this long for the consumer before an event is dropped (and counted).
 * Bounded, since a consumer that died must not hang the application. */
#define BLOCKING_TIMEOUT_US "10000000"

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

static void
exec_daemon(struct lttng *l, pid_t parent, int status_fd)
{
    char *schema = schema_folder();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    /* Its own process group: an interrupt from the terminal is for the application. */
    setpgid(0, 0);
    char own = geteuid() == 0 && private_mounts(l);
    if (write(status_fd, &own, 1) != 1)
        _exit(1);
    close(status_fd);
    int null = open("/dev/null", O_RDWR);
    int log = open(l->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setenv("LTTNG_HOME", l->home, 1);
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
            say("lttng-sessiond did not start: %s", why);
            return false;
        }
    }
}

bool
lttng_start(struct lttng *l)
{
    l->sessiond = find_tool("lttng-sessiond");
    l->client = find_tool("lttng");
    if (!l->sessiond || !l->client) {
        say("%s is missing; install the Debian package lttng-tools", l->sessiond ? "lttng" : "lttng-sessiond");
        return false;
    }
    l->consumerd = find_tool("lttng-consumerd");   /* only a bundle has it here; a distribution's daemon finds its own */
    const char *tmp = getenv("TMPDIR");
    if (!tmp || strlen(tmp) > 30 || access(tmp, W_OK))
        tmp = "/tmp";
    snprintf(l->home, sizeof l->home, "%s/cudaway-XXXXXX", tmp);
    if (!mkdtemp(l->home)) {
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
    if (pipe2(status, O_CLOEXEC)) {
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

/* Run one lttng command; its output is kept for the message. */
static bool
command(struct lttng *l, const char *const *args)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC)) {
        say("cannot run lttng: %s", strerror(errno));
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, 0) < 0 || dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
            _exit(1);
        if (l->own_mounts) {
            if (!enter_mounts(l->pid)) {
                dprintf(2, "Error: cannot enter the daemon's mount namespace: %s\n", strerror(errno));
                _exit(1);
            }
        }
        setenv("LTTNG_HOME", l->home, 1);
        unsetenv("LD_PRELOAD");
        const char *argv[24];
        int n = 0;
        argv[n++] = "lttng";
        argv[n++] = "--no-sessiond";
        if (geteuid() != 0)
            argv[n++] = "--group=cudaway-no-such-group";   /* never the system's daemon */
        for (unsigned i = 0; args[i] && n < 23; i++)
            argv[n++] = args[i];
        argv[n] = NULL;
        execv(l->client, (char **)argv);
        dprintf(2, "Error: %s: %s\n", l->client, strerror(errno));
        _exit(127);
    }
    close(out[1]);
    char text[4096];
    size_t n = 0;
    for (;;) {
        char drop[512];
        bool room = n < sizeof text - 1;
        ssize_t got = pid > 0 ? read(out[0], room ? text + n : drop, room ? sizeof text - 1 - n : sizeof drop) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (room)
            n += (size_t)got;
    }
    text[n] = 0;
    close(out[0]);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    char why[320];
    first_line(text, why, sizeof why);
    say("lttng %s failed: %s", args[0], *why ? why : "no message");
    return false;
}

bool
lttng_session(struct lttng *l, const char *output, uint64_t subbuf_size, unsigned subbufs)
{
    char out[PATH_MAX + 16], size[48], count[32];
    snprintf(out, sizeof out, "--output=%s", output);
    snprintf(size, sizeof size, "--subbuf-size=%llu", (unsigned long long)subbuf_size);
    snprintf(count, sizeof count, "--num-subbuf=%u", subbufs);
    const char *create[] = { "create", SESSION, out, NULL };
    /* One set of buffers a process: a process that is killed inside a trace point cannot stall the others. */
    const char *channel[] = { "enable-channel", "--userspace", CHANNEL, "--discard", "--buffers-pid",
                              "--blocking-timeout=" BLOCKING_TIMEOUT_US, size, count, NULL };
    const char *events[] = { "enable-event", "--userspace", "cudaway:*", "--channel=" CHANNEL, NULL };
    const char *context[] = { "add-context", "--userspace", "--channel=" CHANNEL, "--type=vpid", "--type=vtid",
                              "--type=procname", NULL };
    const char *start[] = { "start", NULL };
    if (!command(l, create))
        return false;
    l->session = true;
    return command(l, channel) && command(l, events) && command(l, context) && command(l, start);
}

bool
lttng_stop(struct lttng *l)
{
    const char *stop[] = { "stop", NULL };
    const char *destroy[] = { "destroy", NULL };
    if (!l->pid || !l->session)
        return true;
    l->session = false;
    bool ok = command(l, stop);
    return command(l, destroy) && ok;
}

void
lttng_finish(struct lttng *l)
{
    if (l->pid) {
        kill(l->pid, SIGTERM);
        for (int i = 0;; i++) {
            int status;
            pid_t got = waitpid(l->pid, &status, WNOHANG);
            if (got == l->pid || (got < 0 && errno != EINTR))
                break;
            if (i == 1000)
                kill(l->pid, SIGKILL);
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        }
        l->pid = 0;
    }
    if (l->home[0])
        remove_tree(l->home);
    l->home[0] = 0;
    free(l->sessiond);
    free(l->client);
    free(l->consumerd);
    l->sessiond = l->client = l->consumerd = NULL;
}
