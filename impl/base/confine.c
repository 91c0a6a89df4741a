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
    allow_list(r, getenv("LD_LIBRARY_PATH"), READ);
    allow_list(r, getenv("LD_PRELOAD"), READ);
    allow(r, cw_config_user_file(), FS_READ_FILE);
}

static cw_result
confine_files(const struct cw_confinement *c, struct cw_confine_error *e)
{
    static const char *const system[] = { "/usr", "/lib", "/lib64", "/opt", "/proc", "/sys" };
    /* The dynamic linker's, the clock's, our own, and what names the machine's device. */
    static const char *const settings[] = { "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/cudaway.conf",
                                            "/etc/machine-id" };
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/tty" };
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

/* NVIDIA's driver opens sockets of the machine's own, or fails: those it gets, but nobody to connect to. */
static const int refused_sockets[] = { SYS_socket, SYS_bind, SYS_listen, SYS_accept, SYS_accept4 };
static const int refused[] = {
    SYS_connect, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
#ifndef __SANITIZE_ADDRESS__        /* the leak checker traces its own threads */
    SYS_ptrace,
#endif
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsmount, SYS_fsconfig,
    SYS_execveat, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_acct, SYS_quotactl, SYS_syslog, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_open_by_handle_at, SYS_fanotify_init,
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_msgget, SYS_mq_open, SYS_mq_unlink,
};
/* Where Landlock does not keep signals inside. */
static const int refused_signals[] = { SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo };

enum {
    COUNT_REFUSED = sizeof refused / sizeof *refused, COUNT_SOCKETS = sizeof refused_sockets / sizeof *refused_sockets,
    COUNT_SIGNALS = sizeof refused_signals / sizeof *refused_signals,
};
#define STATEMENT(code, k) f[n++] = (struct sock_filter){ (code), 0, 0, (uint32_t)(k) }
#define UNLESS(test, k, skip) f[n++] = (struct sock_filter){ BPF_JMP | (test) | BPF_K, 0, (skip), (uint32_t)(k) }
#define ANSWER(errnum) STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))

static cw_result
confine_calls(bool sockets, bool signals, struct cw_confine_error *e)
{
    struct sock_filter f[2 * (COUNT_REFUSED + COUNT_SOCKETS + COUNT_SIGNALS) + 24];
    const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    unsigned n = 0;
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64 };
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);       /* calls of 32-bit code */
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    UNLESS(BPF_JGE, 0x40000000, 1);                             /* x32 */
    ANSWER(ENOSYS);
    for (unsigned i = 0; i < COUNT_REFUSED; i++) {
        UNLESS(BPF_JEQ, refused[i], 1);
        ANSWER(EPERM);
    }
    for (unsigned i = 0; sockets && i < COUNT_SOCKETS; i++) {
        UNLESS(BPF_JEQ, refused_sockets[i], 1);
        ANSWER(EPERM);
    }
    if (!sockets) {
        UNLESS(BPF_JEQ, SYS_socket, 4);
        STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
        UNLESS(BPF_JEQ, AF_UNIX, 1);
        STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        ANSWER(EPERM);
    }
    for (unsigned i = 0; signals && i < COUNT_SIGNALS; i++) {
        UNLESS(BPF_JEQ, refused_signals[i], 1);
        ANSWER(EPERM);
    }
    UNLESS(BPF_JEQ, SYS_clone3, 1);                             /* whose flags lie in memory: the C library takes clone instead */
    ANSWER(ENOSYS);
    UNLESS(BPF_JEQ, SYS_clone, 3);
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
    UNLESS(BPF_JSET, namespaces, 1);
    ANSWER(EPERM);
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        return unsupported(e, "the kernel cannot keep it from the network and from other processes: seccomp: %s", strerror(errno));
    return CW_OK;
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
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !drop_capabilities())
        return unsupported(e, "the kernel cannot confine it: %s", strerror(errno));
    cw_result r = confine_files(c, e);
    if (r == CW_OK)
        r = confine_calls(!c->nvidia, syscall(SYS_CREATE_RULESET, NULL, 0, 1) < 6, e);
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
enum { COUNT_COMPUTING = sizeof computing / sizeof *computing };

static cw_result
confine_to_computing(struct cw_confine_error *e)
{
    struct sock_filter f[2 * COUNT_COMPUTING + 24];
    unsigned n = 0;
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64 };
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < COUNT_COMPUTING; i++) {
        UNLESS(BPF_JEQ, computing[i], 1);
        STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    UNLESS(BPF_JEQ, SYS_clone3, 1);
    ANSWER(ENOSYS);
    UNLESS(BPF_JEQ, SYS_clone, 3);                              /* threads */
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
    UNLESS(BPF_JSET, CLONE_THREAD, 1);
    STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    ANSWER(EPERM);
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        return unsupported(e, "the kernel cannot keep it from system calls: seccomp: %s", strerror(errno));
    return CW_OK;
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
