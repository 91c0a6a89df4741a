/* SPDX-License-Identifier: Apache-2.0
 * See confine.h. Constants of Landlock stand here, since the headers of a kernel older than the running one lack some. */
#define _GNU_SOURCE
#include "impl/base/confine.h"

#include "impl/base/config.h"
#include "impl/base/env.h"
#include "impl/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static cw_result __attribute__((format(printf, 2, 3)))
unsupported(struct cw_confine_error *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return CW_ERR_UNSUPPORTED;
}

/* ---- files: Landlock ("Landlock: unprivileged access control" of the kernel's documentation) -------------------------------------------- */

enum {
    SYS_CREATE_RULESET = 444, SYS_ADD_RULE = 445, SYS_RESTRICT_SELF = 446,
    FS_EXECUTE = 1, FS_WRITE_FILE = 1 << 1, FS_READ_FILE = 1 << 2, FS_READ_DIR = 1 << 3, FS_ALL_OF_1 = (1 << 13) - 1,
    FS_REFER = 1 << 13, FS_TRUNCATE = 1 << 14, FS_IOCTL_DEV = 1 << 15,
    FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,   /* a rule of a file may have no others */
    NET_BIND_AND_CONNECT = 3, SCOPE_SOCKETS_AND_SIGNALS = 3,
    READ = FS_READ_FILE | FS_READ_DIR, WRITE = FS_ALL_OF_1 & ~FS_EXECUTE,
};

struct ruleset_attr { uint64_t fs, net, scoped; };
struct path_attr { uint64_t access; int32_t fd; } __attribute__((packed));

struct rules {
    int fd;
    long abi;
    uint64_t handled;
    bool failed;
};

/* What is not there needs no rule. */
static void
allow(struct rules *r, const char *path, uint64_t access)
{
    struct stat st;
    int fd = path && *path ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && !S_ISDIR(st.st_mode))
        access &= FS_OF_FILES;
    struct path_attr a = { access & r->handled, fd };
    if (a.access && syscall(SYS_ADD_RULE, r->fd, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &a, 0))
        r->failed = true;
    close(fd);
}

static void
allow_folder_of(struct rules *r, const char *file, uint64_t access)
{
    char path[PATH_MAX];
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (slash && snprintf(path, sizeof path, "%.*s", (int)(slash - file), file) < (int)sizeof path)
        allow(r, path, access);
}

static void
allow_list(struct rules *r, const char *list, uint64_t access)
{
    char path[PATH_MAX];
    for (const char *at = list; at && *at; ) {
        size_t n = strcspn(at, ":");
        if (n && snprintf(path, sizeof path, "%.*s", (int)n, at) < (int)sizeof path)
            allow(r, path, access);
        at += n + (at[n] == ':');
    }
}

static void
allow_devices(struct rules *r, const char *prefix)
{
    char path[PATH_MAX];
    DIR *d = opendir("/dev");
    for (const struct dirent *e; d && (e = readdir(d)); )
        if (!strncmp(e->d_name, prefix, strlen(prefix)) && snprintf(path, sizeof path, "/dev/%s", e->d_name) < (int)sizeof path)
            allow(r, path, READ | FS_WRITE_FILE | FS_IOCTL_DEV);
    if (d)
        closedir(d);
}

/* This program and its libraries, wherever they are installed; it executes itself for another layout of the address space. */
static void
allow_ourselves(struct rules *r)
{
    char path[PATH_MAX];
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&cw_confine);
    allow(r, "/proc/self/exe", FS_READ_FILE | FS_EXECUTE);
    allow(r, "/lib64/ld-linux-x86-64.so.2", FS_READ_FILE | FS_EXECUTE);
    if (dir && snprintf(path, sizeof path, "%s/../lib", dir) < (int)sizeof path)
        allow(r, path, READ);
    allow(r, dir, READ);
    free(dir);
    allow_folder_of(r, cw_env_get(CW_ENV_CUDA_LIBRARY), READ);
    allow_folder_of(r, cw_env_get(CW_ENV_HIP_LIBRARY), READ);
    allow_list(r, secure_getenv("LD_LIBRARY_PATH"), READ);
    allow_list(r, secure_getenv("LD_PRELOAD"), READ);
    allow(r, cw_config_user_file(), FS_READ_FILE);
}

static cw_result
confine_files(const struct cw_confinement *c, struct cw_confine_error *e)
{
    static const char *const system[] = { "/usr", "/lib", "/lib64", "/opt", "/proc", "/sys" };
    /* The dynamic linker's, the clock's, our own, and what names the machine's device. */
    static const char *const settings[] = { "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/cudaway.conf",
                                            "/etc/machine-id" };
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full" };
    struct rules r = { .abi = syscall(SYS_CREATE_RULESET, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */) };
    if (r.abi < 1)
        return unsupported(e, "the kernel cannot confine it to its files: no Landlock (Linux 5.13 has it, lsm=landlock switches it on)");
    r.handled = FS_ALL_OF_1 | (r.abi >= 2 ? FS_REFER : 0u) | (r.abi >= 3 ? FS_TRUNCATE : 0u) | (r.abi >= 5 ? FS_IOCTL_DEV : 0u);
    struct ruleset_attr attr = { r.handled, r.abi >= 4 ? NET_BIND_AND_CONNECT : 0, r.abi >= 6 ? SCOPE_SOCKETS_AND_SIGNALS : 0 };
    r.fd = (int)syscall(SYS_CREATE_RULESET, &attr, r.abi >= 6 ? 24 : r.abi >= 4 ? 16 : 8, 0);
    if (r.fd < 0)
        return unsupported(e, "the kernel cannot confine it to its files: %s", strerror(errno));
    for (unsigned i = 0; i < sizeof system / sizeof *system; i++)
        allow(&r, system[i], READ);
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++)
        allow(&r, settings[i], READ);
    if (c->nvidia || c->amd)
        allow(&r, "/etc", READ);                                /* drivers have theirs there */
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++)
        allow(&r, devices[i], FS_READ_FILE | FS_WRITE_FILE);
    allow_ourselves(&r);
    for (const char *const *p = c->read; p && *p; p++)
        allow(&r, *p, READ);
    allow(&r, c->temp, READ | WRITE | FS_REFER | FS_TRUNCATE);
    allow(&r, cw_env_get(CW_ENV_LOG_FILE), FS_WRITE_FILE);
    allow(&r, cw_env_get(CW_ENV_JIT_DUMP), READ | WRITE);
    if (c->nvidia) {
        allow_devices(&r, "nvidia");
        allow(&r, "/proc/self/task", READ | FS_WRITE_FILE | FS_TRUNCATE);       /* NVIDIA's driver names its threads there, or fails */
    }
    if (c->amd) {
        allow_devices(&r, "kfd");
        allow_devices(&r, "dri");
    }
    bool ok = !r.failed && !syscall(SYS_RESTRICT_SELF, r.fd, 0);
    int saved = errno;
    close(r.fd);
    return ok ? CW_OK : unsupported(e, "the kernel cannot confine it to its files: %s", strerror(saved));
}

/* ---- network, other processes, the system: seccomp ------------------------------------------------------------------------------------------ */

/* Calls that the headers of older kernels do not name. Later ones do not exist for the process: the C library does without. */
enum {
    SYS_OPEN_TREE = 428, SYS_MOVE_MOUNT, SYS_FSOPEN, SYS_FSCONFIG, SYS_FSMOUNT, SYS_FSPICK, SYS_PIDFD_OPEN, SYS_CLOSE_RANGE = 436, SYS_OPENAT2, SYS_PIDFD_GETFD, SYS_FACCESSAT2,
    SYS_PROCESS_MADVISE, SYS_EPOLL_PWAIT2, SYS_MOUNT_SETATTR, SYS_QUOTACTL_FD, SYS_PROCESS_MRELEASE = 448, SYS_FUTEX_WAITV, SYS_HOME_NODE, SYS_FCHMODAT2 = 452,
    SYS_MAP_SHADOW_STACK, SYS_FUTEX_WAKE, SYS_FUTEX_WAIT, SYS_FUTEX_REQUEUE, SYS_MSEAL = 462, LATER_CALLS,
};

/* What a replay may call: memory, threads, time, files within the rules of Landlock, its own limits and its own children. Those with a condition stand in `conditions` too. */
static const int allowed[] = {
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_mlockall, SYS_munlockall,
    SYS_mbind, SYS_get_mempolicy, SYS_set_mempolicy, SYS_HOME_NODE, SYS_migrate_pages, SYS_move_pages, SYS_memfd_create, SYS_MSEAL, SYS_MAP_SHADOW_STACK,
    SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_membarrier,
    SYS_futex, SYS_FUTEX_WAITV, SYS_FUTEX_WAKE, SYS_FUTEX_WAIT, SYS_FUTEX_REQUEUE, SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_arch_prctl, SYS_prctl,
    SYS_clone, SYS_execve, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_personality,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall, SYS_pause,
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
    SYS_capget, SYS_uname, SYS_sysinfo, SYS_getrusage, SYS_times, SYS_getcpu, SYS_getrandom, SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_getpriority, SYS_setpriority,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_setparam, SYS_sched_getscheduler, SYS_sched_setscheduler,
    SYS_sched_getattr, SYS_sched_setattr, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_ioprio_get, SYS_ioprio_set,
    SYS_time, SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_alarm, SYS_getitimer, SYS_setitimer,
    SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,
    SYS_open, SYS_openat, SYS_OPENAT2, SYS_creat, SYS_close, SYS_CLOSE_RANGE, SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev,
    SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_sendfile, SYS_copy_file_range, SYS_fallocate, SYS_ftruncate, SYS_fadvise64, SYS_readahead, SYS_fsync, SYS_fdatasync,
    SYS_sync_file_range, SYS_flock, SYS_fcntl, SYS_ioctl, SYS_dup, SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2, SYS_eventfd, SYS_eventfd2, SYS_signalfd, SYS_signalfd4,
    SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_EPOLL_PWAIT2,
    SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_FACCESSAT2, SYS_readlink, SYS_readlinkat,
    SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
    SYS_getdents, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_umask, SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat,
    SYS_renameat2, SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat,
#ifdef __SANITIZE_ADDRESS__        /* the leak checker is a process that traces the threads of this one */
    SYS_ptrace,
#endif
};
/* NVIDIA's driver is closed, and calls what its next version likes: it may call everything but these. It does not start without a socket that it binds and
 * listens to. */
static const int refused[] = {
    SYS_connect,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_PIDFD_OPEN, SYS_PIDFD_GETFD, SYS_pidfd_send_signal, SYS_PROCESS_MADVISE, SYS_PROCESS_MRELEASE,
#ifndef __SANITIZE_ADDRESS__
    SYS_ptrace,
#endif
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_FSOPEN, SYS_FSMOUNT, SYS_FSCONFIG, SYS_FSPICK, SYS_MOUNT_SETATTR,
    SYS_execveat, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_acct, SYS_quotactl, SYS_QUOTACTL_FD, SYS_syslog, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_open_by_handle_at, SYS_vhangup,
    SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_FCHMODAT2, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat, SYS_truncate,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    SYS_inotify_init, SYS_inotify_init1, SYS_inotify_add_watch, SYS_fanotify_init, SYS_fanotify_mark,
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semctl, SYS_semop, SYS_semtimedop, SYS_msgget, SYS_msgctl, SYS_msgsnd, SYS_msgrcv, SYS_mq_open, SYS_mq_unlink,
};
/* A process in which kernels write where they like would start others without end. */
static const int new_processes[] = { SYS_fork, SYS_vfork };
/* Where Landlock does not keep signals inside. */
static const int refused_signals[] = { SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo };

/* A call is refused unless this holds for its argument's lower half, which is what the kernel takes of these. */
struct condition { int call; unsigned argument; uint32_t mask, value; };
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
static const struct condition conditions[] = {
    /* The caller, and neither another process nor a group. */
    { SYS_prlimit64, 0, ~0u, 0 }, { SYS_sched_setaffinity, 0, ~0u, 0 }, { SYS_sched_setscheduler, 0, ~0u, 0 }, { SYS_sched_setparam, 0, ~0u, 0 }, { SYS_sched_setattr, 0, ~0u, 0 },
    { SYS_setpriority, 0, ~0u, 0 /* PRIO_PROCESS */ }, { SYS_setpriority, 1, ~0u, 0 }, { SYS_ioprio_set, 0, ~0u, 1 /* IOPRIO_WHO_PROCESS */ }, { SYS_ioprio_set, 1, ~0u, 0 },
    { SYS_migrate_pages, 0, ~0u, 0 }, { SYS_move_pages, 0, ~0u, 0 },
    /* SOCK_STREAM and SOCK_SEQPACKET: a datagram would reach an address without connect(). */
    { SYS_socket, 0, ~0u, AF_UNIX }, { SYS_socket, 1, 0xb, 1 }, { SYS_socketpair, 1, 0xb, 1 },
};
/* Signals to others, when something happens to a file; news of files that it cannot read. */
static const uint32_t refused_fcntl[] = { F_SETOWN, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */, 1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */ };
/* Terminals take commands as if they were typed (TIOCSTI, TIOCLINUX): of them, line editing and questions. */
static const uint32_t allowed_ioctl[] = {
    0x5401 /* TCGETS */, 0x5402 /* TCSETS */, 0x5403 /* TCSETSW */, 0x5404 /* TCSETSF */, 0x802c542a /* TCGETS2 */, 0x402c542b /* TCSETS2 */, 0x402c542c /* TCSETSW2 */,
    0x402c542d /* TCSETSF2 */, 0x540f /* TIOCGPGRP */, 0x5413 /* TIOCGWINSZ */, 0x541b /* FIONREAD */, 0x5421 /* FIONBIO */, 0x5450 /* FIONCLEX */, 0x5451 /* FIOCLEX */,
};
/* Of terminals, consoles, file systems, sockets: NVIDIA's driver has numbers of any other kind. */
static const uint32_t refused_ioctl_types[] = { 'T' << 8, 'K' << 8, 'V' << 8, 'f' << 8, 'X' << 8, 0x89 << 8 };

#define COUNT(list) (sizeof (list) / sizeof *(list))
#define LOAD(field) STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define STATEMENT(code, k) f[n++] = (struct sock_filter){ (code), 0, 0, (uint32_t)(k) }
#define UNLESS(test, k, skip) f[n++] = (struct sock_filter){ BPF_JMP | (test) | BPF_K, 0, (skip), (uint32_t)(k) }
#define ANSWER(errnum) STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define ALLOW() STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* The number of the call is loaded, before and after. */
static unsigned
put_condition(struct sock_filter *f, unsigned n, const struct condition *c)
{
    UNLESS(BPF_JEQ, c->call, 5);
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + c->argument * sizeof(uint64_t));
    STATEMENT(BPF_ALU | BPF_AND | BPF_K, c->mask);
    f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, c->value };
    ANSWER(EPERM);
    LOAD(nr);
    return n;
}

/* The second argument is loaded; what it does not answer here is allowed. */
static unsigned
put_ioctl(struct sock_filter *f, unsigned n, const struct cw_confinement *c)
{
    for (unsigned i = 0; i < COUNT(allowed_ioctl); i++) {
        UNLESS(BPF_JEQ, allowed_ioctl[i], 1);
        ALLOW();
    }
    if (!c->nvidia && !c->amd) {
        ANSWER(EPERM);
        return n;
    }
    if (!c->nvidia) {                                           /* the driver's have a direction, a console's of the same letter have none */
        f[n++] = (struct sock_filter){ BPF_JMP | BPF_JSET | BPF_K, 1, 0, 0xc0000000u };
        ANSWER(EPERM);
    }
    STATEMENT(BPF_ALU | BPF_AND | BPF_K, 0xff00);
    if (!c->nvidia) {
        f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 'K' << 8 };
        f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 'd' << 8 };
        ANSWER(EPERM);
    }
    for (unsigned i = 0; c->nvidia && i < COUNT(refused_ioctl_types); i++) {
        UNLESS(BPF_JEQ, refused_ioctl_types[i], 1);
        ANSWER(EPERM);
    }
    ALLOW();
    return n;
}

static cw_result
install(struct sock_filter *f, unsigned n, const char *what, struct cw_confine_error *e)
{
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        return unsupported(e, "the kernel cannot keep it from %s: seccomp: %s", what, strerror(errno));
    return CW_OK;
}

static cw_result
confine_calls(const struct cw_confinement *c, bool signals, struct cw_confine_error *e)
{
    struct sock_filter f[2 * (COUNT(allowed) + COUNT(refused) + COUNT(refused_signals) + COUNT(refused_fcntl) + COUNT(allowed_ioctl) + COUNT(refused_ioctl_types) + COUNT(new_processes)) +
                         6 * (COUNT(conditions) + 2) + 40];
    const struct condition own_signals = { SYS_tgkill, 0, ~0u, (uint32_t)getpid() };
    const struct condition threads = { SYS_clone, 0, CLONE_THREAD | NAMESPACES, CLONE_THREAD }, processes = { SYS_clone, 0, NAMESPACES, 0 };
    const int *list = c->nvidia ? refused : allowed;
#ifdef __SANITIZE_ADDRESS__
    const bool copies = true;
#else
    const bool copies = c->copies;
#endif
    unsigned n = 0;
    LOAD(arch);
    f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64 };
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);       /* calls of 32-bit code */
    LOAD(nr);
    UNLESS(BPF_JGE, LATER_CALLS, 1);                            /* and x32 */
    ANSWER(ENOSYS);
    UNLESS(BPF_JEQ, SYS_clone3, 1);                             /* whose flags lie in memory: the C library takes clone instead */
    ANSWER(ENOSYS);
    for (unsigned i = 0; signals && i < COUNT(refused_signals); i++) {
        UNLESS(BPF_JEQ, refused_signals[i], 1);
        ANSWER(EPERM);
    }
    if (signals)
        n = put_condition(f, n, &own_signals);
    n = put_condition(f, n, copies ? &processes : &threads);
    for (unsigned i = 0; i < COUNT(new_processes); i++) {
        UNLESS(BPF_JEQ, new_processes[i], 1);
        STATEMENT(BPF_RET | BPF_K, copies ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
    }
    for (unsigned i = 0; i < COUNT(conditions); i++)
        n = put_condition(f, n, &conditions[i]);
    unsigned ioctl_at = n++;
    LOAD(args[1]);
    n = put_ioctl(f, n, c);
    f[ioctl_at] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(n - ioctl_at - 1), SYS_ioctl };
    UNLESS(BPF_JEQ, SYS_fcntl, 2 * COUNT(refused_fcntl) + 2);
    LOAD(args[1]);
    for (unsigned i = 0; i < COUNT(refused_fcntl); i++) {
        UNLESS(BPF_JEQ, refused_fcntl[i], 1);
        ANSWER(EPERM);
    }
    ALLOW();
    for (unsigned i = 0; i < (c->nvidia ? COUNT(refused) : COUNT(allowed)); i++) {
        UNLESS(BPF_JEQ, list[i], 1);
        STATEMENT(BPF_RET | BPF_K, c->nvidia ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
    }
    STATEMENT(BPF_RET | BPF_K, c->nvidia ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
    return install(f, n, "the network and from other processes", e);
}

/* Descriptors that came through exec, a shell's or a parent's, are not the replay's to use. Ours close on exec. */
static bool
close_inherited(void)
{
    DIR *d = opendir("/proc/self/fd");
    for (const struct dirent *x; d && (x = readdir(d)); ) {
        int fd = atoi(x->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(d) && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
            close(fd);
    }
    return d && !closedir(d);
}

/* Root's: with them it reads other processes and changes the system past all rules. */
static bool
drop_capabilities(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };
    return !syscall(SYS_capset, &header, none);
}

cw_result
cw_confine(const struct cw_confinement *c, struct cw_confine_error *e)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !drop_capabilities() || !close_inherited())
        return unsupported(e, "the kernel cannot confine it: %s", strerror(errno));
    cw_result r = confine_files(c, e);
    if (r == CW_OK)
        r = confine_calls(c, syscall(SYS_CREATE_RULESET, NULL, 0, 1) < 6, e);
    return r;
}

/* ---- a process that computes and answers messages -------------------------------------------------------------------------------------------- */

/* The C library's memory, threads, locks and clocks; the engine's stacks, its signal handler and the memory of clusters; messages. */
static const int computing[] = {
    SYS_futex, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_memfd_create, SYS_ftruncate, SYS_close,
    SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_poll, SYS_ppoll,
    SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_gettimeofday, SYS_sched_yield, SYS_sched_getaffinity, SYS_restart_syscall,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_set_robust_list, SYS_rseq, SYS_getrandom, SYS_exit, SYS_exit_group,
};

static cw_result
confine_to_computing(struct cw_confine_error *e)
{
    struct sock_filter f[2 * COUNT(computing) + 24];
    unsigned n = 0;
    LOAD(arch);
    f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64 };
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    LOAD(nr);
    for (unsigned i = 0; i < COUNT(computing); i++) {
        UNLESS(BPF_JEQ, computing[i], 1);
        ALLOW();
    }
    UNLESS(BPF_JEQ, SYS_clone3, 1);
    ANSWER(ENOSYS);
    UNLESS(BPF_JEQ, SYS_clone, 3);                              /* threads */
    LOAD(args);
    UNLESS(BPF_JSET, CLONE_THREAD, 1);
    ALLOW();
    ANSWER(EPERM);
    return install(f, n, "system calls", e);
}

/* The filter lets nothing be opened; rules for files that allow none are a second fence, where the kernel has them. */
cw_result
cw_confine_to_memory(struct cw_confine_error *e)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !drop_capabilities() || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return unsupported(e, "the kernel cannot confine it: %s", strerror(errno));
    const struct ruleset_attr attr = { FS_ALL_OF_1, 0, 0 };
    int fd = (int)syscall(SYS_CREATE_RULESET, &attr, 8, 0);
    if (fd >= 0) {
        (void)syscall(SYS_RESTRICT_SELF, fd, 0);
        close(fd);
    }
    return confine_to_computing(e);
}
