/* SPDX-License-Identifier: Apache-2.0
 * hostile_test REPLAY FOLDER: dumps whose kernels go for the process that replays them. Each replay ends with a line that says what the kernel did,
 * and what the process could do in its place is tried from the thread that runs it (tests/inject.h). */
#define _GNU_SOURCE
#include "replay/dump.h"
#include "tests/inject.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int failures;
#define EXPECT(what)                                                                     \
    do {                                                                                 \
        if (!(what)) {                                                                   \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);           \
            failures++;                                                                  \
        }                                                                                \
    } while (0)
#define REFUSED(call) EXPECT(refused(call))

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n    .local .align 8 .b64 mine[4];\n" \
             "    .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %p1;\n    ld.param.u64 %d1, [p];\n    mov.u64 %d2, mine;\n    cvta.local.u64 %d2, %d2;\n"

static const struct {
    const char *name, *text, *says;     /* says: one of two */
    const char *or;
} cases[] = {
    { "read", HEAD "    mov.u64 %d3, 0x400000;\n    ld.u64 %d4, [%d3];\n    st.u64 [%d1], %d4;\n    ret;\n}\n", "CUDA_ERROR_ILLEGAL_ADDRESS", NULL },
    { "write", HEAD "    mov.u64 %d3, 0x10;\n    st.u64 [%d3], %d1;\n    ret;\n}\n", "CUDA_ERROR_ILLEGAL_ADDRESS", NULL },
    /* What lies above its variables, word by word: saved registers, return addresses, the end of the stack. */
    { "stack", HEAD "    mov.u64 %d3, 0;\nAGAIN:\n    add.u64 %d4, %d2, %d3;\n    st.u64 [%d4], %d1;\n    add.u64 %d3, %d3, 8;\n"
      "    setp.lt.u64 %p1, %d3, 268435456;\n    @%p1 bra AGAIN;\n    ret;\n}\n", "CUDA_ERROR_ILLEGAL_ADDRESS", "ended by signal" },
    /* What looks like an address of code there is written to. */
    { "code", HEAD "    mov.u64 %d3, 64;\nAGAIN:\n    add.u64 %d4, %d2, %d3;\n    ld.u64 %d5, [%d4];\n    add.u64 %d3, %d3, 8;\n    shr.u64 %d6, %d5, 40;\n"
      "    setp.ne.u64 %p1, %d6, 127;\n    @%p1 bra AGAIN;\n    and.b64 %d5, %d5, -8;\n    st.u64 [%d5], %d1;\n    bra AGAIN;\n}\n", "CUDA_ERROR_ILLEGAL_ADDRESS", "ended by signal" },
};
/* All in its own code: one that waits for memory sleeps in the engine. */
static const char forever[] = HEAD "    ld.global.u32 %r1, [%d1];\nAGAIN:\n    mul.lo.u32 %r1, %r1, 5;\n    setp.ne.u32 %p1, %r1, 1;\n    @%p1 bra AGAIN;\n    st.global.u32 [%d1], %r1;\n    ret;\n}\n";

/* printf("\x1b]0;x\x07\x1b[2J\xc3\xa9\n") */
static const char prints[] = ".version 7.1\n.target sm_60\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 f[14] = {27, 93, 48, 59, 120, 7, 27, 91, 50, 74, 195, 169, 10, 0};\n.visible .entry k(.param .u64 p)\n{\n    .reg .b64 %d<3>;\n    .reg .b32 %r<2>;\n"
    "    mov.u64 %d1, f;\n    cvta.global.u64 %d1, %d1;\n    mov.u64 %d2, 0;\n    {\n    .param .b64 a0;\n    st.param.b64 [a0], %d1;\n    .param .b64 a1;\n    st.param.b64 [a1], %d2;\n"
    "    .param .b32 r0;\n    call.uni (r0), vprintf, (a0, a1);\n    ld.param.b32 %r1, [r0];\n    }\n    ret;\n}\n";

static int input[2];                    /* standard input of the replays, which others read from too */
static char folder[PATH_MAX], dump[PATH_MAX + 16], outside[PATH_MAX + 16];

static void
write_dump(const char *text)
{
    static uint8_t zeros[4096];
    uint64_t p = 0x700000200000;
    struct cwd_param parameter = { "p", "u64", 0, 8 };
    struct cwd_buffer buffer = { CWD_GLOBAL, NULL, "u32", p, sizeof zeros, zeros, zeros };
    struct cwd_input input = { CWD_PTX, NULL, (uint8_t *)(uintptr_t)text, strlen(text) };
    struct cwd_error e = { "" };
    struct cwd_dump d;
    cwd_init(&d);
    d.version = "0";
    d.device = "test";
    d.driver = 13000;
    d.compute_capability = 86;
    d.kernel = "k";
    d.grid[0] = d.grid[1] = d.grid[2] = d.block[0] = d.block[1] = d.block[2] = 1;
    d.params = &parameter;
    d.nparams = 1;
    d.param_block = (uint8_t *)&p;
    d.param_size = 8;
    d.inputs = &input;
    d.ninputs = 1;
    d.buffers = &buffer;
    d.nbuffers = 1;
    d.borrowed = true;
    if (cwd_write(&d, dump, 0, &e) != CW_OK) {
        fprintf(stderr, "%s\n", e.text);
        exit(2);
    }
}

static bool copies;                     /* the replay may start processes: it compiles in one */
static unsigned most;                   /* processes and threads of the user; 0: as for this program */

static pid_t
start(const char *replay, bool terminal, int *out)
{
    const struct rlimit limit = { most, most };
    int ends[2];
    if (terminal ? openpty(&ends[0], &ends[1], NULL, NULL, NULL) : pipe(ends))
        exit(2);
    pid_t pid = fork();
    if (!pid) {
        dup2(input[0], 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        if (chdir(folder) || setenv("TMPDIR", folder, 1) || (copies && setenv("CUDAWAY_COMPILE_LIMIT", "1000", 1)) || (most && setrlimit(RLIMIT_NPROC, &limit)))
            _exit(2);
        execl(replay, replay, "--on", "host", dump, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

static int
finish(pid_t pid, int out, char *text, size_t size)
{
    size_t n = 0;
    int status = -1;
    for (ssize_t r; n + 1 < size && (r = read(out, text + n, size - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = 0;
    close(out);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned
files(void)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d)); )
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d)
        closedir(d);
    return n;
}

static pid_t replaying, stopped;

static pid_t
parent_of(pid_t pid)
{
    char path[64], line[256];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "PPid: %d", &parent);
    if (f)
        fclose(f);
    return parent;
}

/* Of the processes that the replay is made of, the one that runs the kernel, whose thread is then stopped. */
static bool
runs_it(pid_t pid)
{
    pid_t p = pid;
    while (p > 1 && p != replaying)
        p = parent_of(p);
    stopped = p == replaying ? inject_stop(pid) : 0;
    return stopped != 0;
}

static bool
refused(long result)
{
    if (result != -EACCES && result != -EPERM)
        fprintf(stderr, "the call gave %ld\n", result);
    return result == -EACCES || result == -EPERM;
}

static void
take_over(const char *replay)
{
    char text[4096];
    int out;
    pid_t child;
    write_dump(forever);
    replaying = start(replay, false, &out);
    while (!(child = inject_find("cudaway-replay", runs_it)))      /* until it is in the kernel */
        usleep(20000);
    const pid_t thread = stopped;
    long fd;
    if (thread < 0) {
        printf("this system lets nobody trace a process (%s): calls are not tried\n", strerror(errno));
    } else {
        EXPECT(inject_call(thread, SYS_getpid, 0, NULL, 0, 0, 0) == child);
        EXPECT(inject_call(thread, SYS_openat, 2, "/proc/self/status", AT_FDCWD, 0, O_RDONLY) >= 0);
        REFUSED(inject_call(thread, SYS_openat, 2, "/etc/hostname", AT_FDCWD, 0, O_RDONLY));
        REFUSED(inject_call(thread, SYS_openat, 2, "/etc/passwd", AT_FDCWD, 0, O_RDONLY));
        REFUSED(inject_call(thread, SYS_openat, 2, outside, AT_FDCWD, 0, O_WRONLY | O_CREAT));
        REFUSED(inject_call(thread, SYS_openat, 2, "here", AT_FDCWD, 0, O_WRONLY | O_CREAT));
        REFUSED(inject_call(thread, SYS_openat, 2, dump, AT_FDCWD, 0, O_RDWR));
        REFUSED(inject_call(thread, SYS_unlink, 1, dump, 0, 0, 0));
        REFUSED(inject_call(thread, SYS_socket, 0, NULL, AF_INET, SOCK_STREAM, 0));
        REFUSED(inject_call(thread, SYS_socket, 0, NULL, AF_UNIX, SOCK_STREAM, 0));
        REFUSED(inject_call(thread, SYS_kill, 0, NULL, getpid(), SIGKILL, 0));
#ifndef __SANITIZE_ADDRESS__            /* whose leak checker is a process */
        REFUSED(inject_call(thread, SYS_fork, 0, NULL, 0, 0, 0));
        REFUSED(inject_call(thread, SYS_vfork, 0, NULL, 0, 0, 0));
        REFUSED(inject_call(thread, SYS_clone, 0, NULL, SIGCHLD, 0, 0));
        REFUSED(inject_call(thread, SYS_clone, 0, NULL, CLONE_VM | CLONE_PARENT | SIGCHLD, 0, 0));
#endif
        EXPECT(inject_call(thread, SYS_clone3, 0, NULL, 0, 0, 0) == -ENOSYS);
        /* What the next program of a script would read. */
        if ((fd = inject_call(thread, SYS_openat, 2, "/proc/self/fd/0", AT_FDCWD, 0, O_WRONLY | O_NONBLOCK)) >= 0)
            (void)inject_call(thread, SYS_write, 2, "rm", fd, 0, 2);
        EXPECT(poll(&(struct pollfd){ .fd = input[0], .events = POLLIN }, 1, 0) == 0);
        REFUSED(inject_call(thread, SYS_execve, 1, "/bin/true", 0, 0, 0));
        EXPECT(!ptrace(PTRACE_DETACH, thread, NULL, NULL));
    }
    kill(child, SIGKILL);
    EXPECT(finish(replaying, out, text, sizeof text) != 0);
    EXPECT(strstr(text, "ended by signal 9") != NULL);
}

/* Nothing that a terminal acts on. On a pipe it is as the kernel printed it. */
static void
print(const char *replay, bool terminal)
{
    char text[4096];
    int out;
    write_dump(prints);
    const pid_t pid = start(replay, terminal, &out);
    EXPECT(finish(pid, out, text, sizeof text) == 0);
    EXPECT(strstr(text, terminal ? "?]0;x??[2J\xc3\xa9\r\n" : "\x1b]0;x\x07\x1b[2J\xc3\xa9\n"));
    EXPECT(strstr(text, "k ran on "));
}

static bool
is_below(pid_t pid)
{
    pid_t p = parent_of(pid);
    while (p > 1 && p != replaying)
        p = parent_of(p);
    return p == replaying;
}

/* The replay of an endless kernel ends with the process that was started, which removes its folder unless it is killed. */
static void
end_it(const char *replay, int sig)
{
    char text[4096];
    int out, status = 0;
    write_dump(forever);
    replaying = start(replay, false, &out);
    while (!inject_find("cudaway-replay", is_below))
        usleep(20000);
    usleep(500000);
    kill(replaying, sig);
    while (read(out, text, sizeof text) > 0)        /* until nobody is left who could write */
        ;
    close(out);
    waitpid(replaying, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == sig);
    EXPECT(sig == SIGKILL || files() == 1);
}

/* The newest process of the system. */
static pid_t
last_pid(void)
{
    FILE *f = fopen("/proc/loadavg", "re");
    int pid = 0;
    if (f && fscanf(f, "%*s %*s %*s %*s %d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

/* Runs this code in the process that runs the kernel. Its process group; 0: the system lets nobody trace a process. */
static pid_t
replay_code(const char *replay, const uint8_t *code, size_t size, int *out)
{
    pid_t child;
    write_dump(forever);
    replaying = start(replay, false, out);
    while (!(child = inject_find("cudaway-replay", runs_it)))
        usleep(20000);
    const pid_t group = getpgid(child);
    EXPECT(group > 0 && group != getpgrp());
    if (stopped > 0)
        EXPECT(inject_run(stopped, code, size));
    return stopped > 0 ? group : 0;
}

/* A process that starts one in its place each millisecond, and ends: they end with the replay, whose folder goes. */
static void
run_away(const char *replay)
{
#if defined __x86_64__
    static const uint8_t code[] = {
        0x31, 0xff, 0x31, 0xf6, 0xba, 1, 0, 0, 0, 0xb8, SYS_poll, 0, 0, 0, 0x0f, 0x05,     /* again: poll(NULL, 0, 1) */
        0xb8, SYS_fork, 0, 0, 0, 0x0f, 0x05, 0x85, 0xc0, 0x74, 0xe5,                       /* if (!fork()) goto again; */
        0x31, 0xff, 0xb8, SYS_exit, 0, 0, 0, 0x0f, 0x05,                                   /* exit(0) */
    };
    char text[4096];
    int out, status = 0;
    copies = true;
    const pid_t group = replay_code(replay, code, sizeof code, &out);
    usleep(300000);
    unsigned born = 0;
    for (const pid_t began = last_pid(); born < 100 && !usleep(10000); born++)
        if (last_pid() > began + 10)
            break;
    EXPECT(!group || born < 100);           /* they run away */
    kill(replaying, SIGTERM);
    while (read(out, text, sizeof text) > 0)
        ;
    close(out);
    waitpid(replaying, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    EXPECT(files() == 1);
    EXPECT(!group || (kill(-group, SIGKILL) && errno == ESRCH));
    copies = false;
#else
    (void)replay;
#endif
}

/* The kernel's own limit, where it holds for this user, is the user's: the replay itself could not start within it. */
static bool
is_limited(void)
{
    const struct rlimit one = { 1, 1 };
    int status = 0;
    pid_t child = fork();
    if (!child) {
        if (setrlimit(RLIMIT_NPROC, &one))
            _exit(1);
        child = fork();
        _exit(child < 0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

/* Processes, or threads, that become more and more are ended, all of them, when they are more than the user may have. Here they would stop by themselves, at 512
 * and 400. */
static void
multiply(const char *replay, bool processes)
{
#if defined __x86_64__
    static const uint8_t forks[] = {
        0xbb, 9, 0, 0, 0, 0xb8, SYS_fork, 0, 0, 0, 0x0f, 0x05, 0xff, 0xcb, 0x75, 0xf5,      /* for (n = 9; n; n--) fork() */
        0x31, 0xff, 0x31, 0xf6, 0xba, 0xff, 0xff, 0xff, 0xff, 0xb8, SYS_poll, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xee,      /* for (;;) poll(NULL, 0, -1) */
    };
    char text[4096];
    int out;
    if (is_limited()) {
        printf("the system limits this user's processes and threads: it is not tried here\n");
        return;
    }
    most = 200;
    copies = processes;
    const pid_t group = processes ? replay_code(replay, forks, sizeof forks, &out) : replay_code(replay, inject_threads, sizeof inject_threads, &out);
    if (!group)
        kill(replaying, SIGTERM);
    const int status = finish(replaying, out, text, sizeof text);
    if (group && (status != 2 || !strstr(text, "it had more than 200 processes and threads, and was ended"))) {
        fprintf(stderr, "%s: status %d: %s\n", processes ? "processes" : "threads", status, text);
        failures++;
    }
    EXPECT(files() == 1);
    EXPECT(!group || (kill(-group, SIGKILL) && errno == ESRCH));
    most = 0;
    copies = false;
#else
    (void)replay;
    (void)processes;
#endif
}

static void
remove_folders(void)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -rf '%s'/.cudaway-tmp-*", folder);
    EXPECT(!system(command));
}

int
main(int argc, char **argv)
{
    if (argc != 3 || (mkdir(argv[2], 0700) && errno != EEXIST) || !realpath(argv[2], folder))
        return 2;
    snprintf(dump, sizeof dump, "%s/k.cwdump", folder);
    snprintf(outside, sizeof outside, "%s-outside", folder);
    unlink(outside);
    remove_folders();
    if (pipe(input))
        return 2;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        int out;
        write_dump(cases[i].text);
        const pid_t pid = start(argv[1], false, &out);
        const int status = finish(pid, out, text, sizeof text);
        if (status != 2 || (!strstr(text, cases[i].says) && !(cases[i].or && strstr(text, cases[i].or)))) {
            fprintf(stderr, "%s: status %d: %s\n", cases[i].name, status, text);
            failures++;
        }
        EXPECT(files() == 1 && access(outside, F_OK));
    }
    print(argv[1], true);
    print(argv[1], false);
    take_over(argv[1]);
    EXPECT(files() == 1 && access(outside, F_OK));
    run_away(argv[1]);
    multiply(argv[1], true);
    multiply(argv[1], false);
    end_it(argv[1], SIGTERM);
    end_it(argv[1], SIGHUP);
    end_it(argv[1], SIGINT);
    end_it(argv[1], SIGKILL);
    remove_folders();
    return failures != 0;
}
