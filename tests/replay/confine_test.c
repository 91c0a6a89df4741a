/* SPDX-License-Identifier: Apache-2.0
 * What code can do in a confined replay: it reads the system's files and the one it was given, writes into one folder, and reaches nothing else. `confine_test FOLDER`. */
#define _GNU_SOURCE
#include "impl/base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int failures;
#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno));                   \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)
#define REFUSED(call) EXPECT((call) == -1 && (errno == EACCES || errno == EPERM || errno == EXDEV))

static char given[4200], secret[4200], temp[4200], inside[4300], outside[4300];
static int inherited, own;              /* descriptors as a shell's `7<file` leaves them, and as this program opens its own */
static int semaphore, queue;            /* another program's: numbers, which anybody can guess */

static void
write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        exit(2);
}

static void *
thread(void *user)
{
    REFUSED(open(secret, O_RDONLY));
    return user;
}

static void
files(void)
{
    struct stat st;
    int fd;
    EXPECT((fd = open(given, O_RDONLY)) >= 0);
    REFUSED(open(given, O_RDWR));
    EXPECT(open("/proc/cpuinfo", O_RDONLY) >= 0);
    REFUSED(open(secret, O_RDONLY));
    REFUSED(open(outside, O_WRONLY | O_CREAT, 0600));
    REFUSED(truncate(secret, 0));
    REFUSED(unlink(secret));
    REFUSED(mkdir(outside, 0700));
    EXPECT((fd = open(inside, O_RDWR | O_CREAT, 0600)) >= 0 && write(fd, "x", 1) == 1 && !close(fd));
    REFUSED(rename(inside, outside));
    unlink(inside);
    REFUSED(link(secret, inside));
    EXPECT(!symlink(secret, inside));       /* names it, and does not open it */
    REFUSED(open(inside, O_RDONLY));
    EXPECT(!stat(secret, &st) && st.st_size == 6);
    EXPECT((fd = memfd_create("m", 0)) >= 0 && !close(fd));
}

static void
processes(void)
{
    char path[64];
    pid_t parent = getppid();
    snprintf(path, sizeof path, "/proc/%d/environ", (int)parent);
    char byte;
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);
    EXPECT(n <= 0);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
    REFUSED(open(path, O_RDWR));
    REFUSED(kill(parent, 0));
#ifndef __SANITIZE_ADDRESS__
    REFUSED(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
#endif
    REFUSED(socket(AF_INET, SOCK_STREAM, 0));
    REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }));
    REFUSED(sendto(STDIN_FILENO, "x", 1, 0, NULL, 0));
    REFUSED(setsid());
    REFUSED(truncate(given, 0));
    REFUSED(unshare(CLONE_NEWUSER));
    REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    REFUSED(syscall(SYS_io_uring_setup, 1, NULL));
    REFUSED(execl("/bin/true", "true", (char *)NULL));
}

/* The terminal, other processes' limits and priorities, what stands beside a file's contents, news of files, descriptors of whoever started the process. On every
 * device. */
static void
others(void)
{
    const pid_t parent = getppid();
    char byte = '\n';
    struct rlimit limit;
    struct timeval times[2] = { { 0 } };
    struct sched_param none = { 0 };
    cpu_set_t cpus;
    int pair[2];
    EXPECT(fcntl(inherited, F_GETFD) == -1 && errno == EBADF);
    EXPECT(fcntl(own, F_GETFD) == FD_CLOEXEC);
    REFUSED(ioctl(STDIN_FILENO, TIOCSTI, &byte));
    REFUSED(syscall(SYS_ioctl, STDIN_FILENO, 0xffffffff00000000 | TIOCSTI, &byte));
    REFUSED(ioctl(STDIN_FILENO, TIOCLINUX, &byte));
    REFUSED(ioctl(STDIN_FILENO, TIOCSCTTY, 0));
    REFUSED(open("/dev/tty", O_RDWR));
    REFUSED(prlimit(parent, RLIMIT_NOFILE, NULL, &limit));
    EXPECT(!prlimit(0, RLIMIT_NOFILE, NULL, &limit) && !setrlimit(RLIMIT_NOFILE, &limit));
    REFUSED(setpriority(PRIO_PROCESS, (id_t)parent, 19));
    REFUSED(setpriority(PRIO_PGRP, 0, 19));
    EXPECT(!setpriority(PRIO_PROCESS, 0, 19));
    EXPECT(!sched_getaffinity(parent, sizeof cpus, &cpus) && !sched_setaffinity(0, sizeof cpus, &cpus));
    REFUSED(sched_setaffinity(parent, sizeof cpus, &cpus));
    REFUSED(sched_setscheduler(parent, SCHED_IDLE, &none));
    REFUSED(sched_setparam(parent, &none));
    REFUSED(syscall(SYS_sched_setattr, parent, &none, 0));
    REFUSED(syscall(SYS_ioprio_set, 1, parent, 3 << 13));
    REFUSED(syscall(SYS_ioprio_set, 3, 0, 3 << 13));
    REFUSED(syscall(SYS_move_pages, parent, 0, NULL, NULL, NULL, 0));
    REFUSED(chmod(secret, 0777));
    REFUSED(fchmodat(AT_FDCWD, secret, 0777, 0));
    REFUSED(syscall(452 /* fchmodat2 */, AT_FDCWD, secret, 0777, 0));
    int fd = open(given, O_RDONLY);
    REFUSED(fchmod(fd, 0777));
    REFUSED(fchown(fd, getuid(), getgid()));
    REFUSED(fsetxattr(fd, "user.x", "y", 1, 0));
    REFUSED(fcntl(fd, F_SETOWN, parent));
    REFUSED(fcntl(fd, F_SETLEASE, F_RDLCK));
    EXPECT(fcntl(fd, F_GETFL) >= 0);
    close(fd);
    REFUSED(chown(secret, getuid(), getgid()));
    REFUSED(lchown(secret, getuid(), getgid()));
    REFUSED(fchownat(AT_FDCWD, secret, getuid(), getgid(), 0));
    REFUSED(syscall(SYS_utime, secret, NULL));
    REFUSED(utimes(secret, times));
    REFUSED(utimensat(AT_FDCWD, secret, NULL, 0));
    REFUSED(setxattr(secret, "user.x", "y", 1, 0));
    REFUSED(lsetxattr(secret, "user.x", "y", 1, 0));
    REFUSED(removexattr(secret, "user.x"));
    REFUSED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    REFUSED(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REFUSED(semctl(semaphore, 0, IPC_RMID));
    REFUSED(semctl(semaphore, 0, GETVAL));
    REFUSED(semop(semaphore, &(struct sembuf){ 0, 1, IPC_NOWAIT }, 1));
    REFUSED(semtimedop(semaphore, &(struct sembuf){ 0, 1, IPC_NOWAIT }, 1, NULL));
    REFUSED(msgctl(queue, IPC_RMID, NULL));
    REFUSED(msgsnd(queue, &(struct { long type; }){ 1 }, 0, IPC_NOWAIT));
    REFUSED(msgrcv(queue, &(struct { long type; }){ 1 }, 0, 0, IPC_NOWAIT));
    REFUSED(inotify_init1(0));
    REFUSED(inotify_add_watch(0, "/", IN_ALL_EVENTS));
    REFUSED(syscall(SYS_fanotify_init, 0, 0));
    EXPECT(syscall(469 /* file_setattr */, AT_FDCWD, secret, NULL, 0, 0) == -1 && errno == ENOSYS);
}

/* `made` in both processes, if there are two. */
static void
no_process(long made, int error)
{
    if (!made)
        _exit(3);
    EXPECT(made == -1 && errno == error);
}

/* Neither one nor, however often it is tried, many. Threads are as before. */
static void
new_processes(void)
{
    char program[] = "/proc/self/exe", *arguments[] = { program, NULL };
    uint64_t clone3[11] = { [4] = SIGCHLD };
    pthread_t t;
    pid_t child;
    for (unsigned i = 0; i < 300; i++) {
        no_process(fork(), EPERM);
        no_process(syscall(SYS_fork), EPERM);
        no_process(syscall(SYS_vfork), EPERM);
        no_process(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM);
        no_process(syscall(SYS_clone, 0, 0, 0, 0, 0), EPERM);
        no_process(syscall(SYS_clone, 0xffffffff00000000 | SIGCHLD, 0, 0, 0, 0), EPERM);
        no_process(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0), EPERM);
        no_process(syscall(SYS_clone3, clone3, sizeof clone3), ENOSYS);
        EXPECT(posix_spawn(&child, program, NULL, NULL, arguments, environ) == EPERM);
        EXPECT(system("exit 0") != 0);
    }
    EXPECT(wait(NULL) == -1 && errno == ECHILD);
    EXPECT(!pthread_create(&t, NULL, thread, NULL) && !pthread_join(t, NULL));
}

/* The confinement is inherited, by threads and children, and ordinary work goes on. */
static void
goes_on(void)
{
    pthread_t t;
    int status = -1;
    EXPECT(!pthread_create(&t, NULL, thread, NULL) && !pthread_join(t, NULL));
    pid_t child = fork();
    if (!child) {
        REFUSED(open(secret, O_RDONLY));
        _exit(failures != 0);
    }
    EXPECT(waitpid(child, &status, 0) == child && !status);
}

/* What NVIDIA's driver needs besides, and no more. */
static void
for_nvidia(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/run/nobody" };
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)getpid());
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), name = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    EXPECT(s >= 0 && name >= 0);
    EXPECT(write(name, "driver", 6) == 6);
    REFUSED(connect(s, (struct sockaddr *)&address, sizeof address));
    REFUSED(socket(AF_INET, SOCK_STREAM, 0));
    REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
    REFUSED(open("/proc/self/oom_score_adj", O_WRONLY));
    REFUSED(open(secret, O_RDONLY));
}

int
main(int argc, char **argv)
{
    struct cw_confine_error e = { "" };
    int result = 0;
    if (argc != 2)
        return 2;
    snprintf(given, sizeof given, "%s/given", argv[1]);
    snprintf(secret, sizeof secret, "%s/secret", argv[1]);
    snprintf(outside, sizeof outside, "%s/outside", argv[1]);
    snprintf(temp, sizeof temp, "%s/temp", argv[1]);
    snprintf(inside, sizeof inside, "%s/temp/inside", argv[1]);
    mkdir(argv[1], 0700);
    mkdir(temp, 0700);
    unlink(inside);
    unlink(outside);
    write_text(given, "given");
    write_text(secret, "secret");
    const char *const read[] = { given, NULL };
    inherited = open(secret, O_RDWR);
    own = open(given, O_RDONLY | O_CLOEXEC);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    for (int kind = 0; kind < 4 && !result; kind++) {
#ifdef __SANITIZE_ADDRESS__            /* whose leak checker is a process */
        const bool nvidia = kind & 1, copies = true;
#else
        const bool nvidia = kind & 1, copies = kind & 2;
#endif
        unlink(inside);
        pid_t child = fork();
        int status = -1;
        if (!child) {
            if (cw_confine(&(struct cw_confinement){ .read = read, .temp = temp, .nvidia = nvidia, .copies = copies }, &e) != CW_OK) {
                printf("%s\n", e.text);
                _exit(77);
            }
            others();
            if (nvidia) {
                for_nvidia();
            } else {
                files();
                processes();
            }
            if (copies)
                goes_on();
            else
                new_processes();
            exit(failures != 0);
        }
        waitpid(child, &status, 0);
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    semctl(semaphore, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    return result;
}
