/* SPDX-License-Identifier: Apache-2.0
 * System calls made in another process by a thread that runs a kernel: what the kernel could do if it had written over its own code. Such a
 * kernel is hard to stage from PTX, since code is not writable; a debugger's means do it, and the process cannot tell. */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process of this name for which `mine` holds; 0: none. */
static inline pid_t
inject_find(const char *name, bool (*mine)(pid_t pid))
{
    DIR *d = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *e; d && !found && (e = readdir(d)); ) {
        char path[300], line[256];
        int pid = atoi(e->d_name);
        bool named = false, ended = false;
        snprintf(path, sizeof path, "/proc/%d/status", pid);
        FILE *f = pid > 0 ? fopen(path, "re") : NULL;
        while (f && fgets(line, sizeof line, f)) {
            named |= !strncmp(line, "Name:\t", 6) && !strncmp(line + 6, name, strnlen(name, 15));
            ended |= !strncmp(line, "State:\tZ", 8);
        }
        if (f)
            fclose(f);
        found = named && !ended && mine(pid) ? pid : 0;
    }
    if (d)
        closedir(d);
    return found;
}

/* Is this the address of a kernel's code: executable memory of no file? */
static inline bool
inject_is_generated(pid_t pid, uint64_t address)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long long from = 0, to = 0;
        char execute = 0, name[256] = "";
        const int n = sscanf(line, "%llx-%llx %*c%*c%c%*c %*s %*s %*s %255s", &from, &to, &execute, name);
        found = n >= 3 && execute == 'x' && address >= from && address < to && (!*name || !strncmp(name, "/memfd:", 7));
    }
    if (f)
        fclose(f);
    return found;
}

/* Stop the thread of the process that is in a kernel's code. 0: none is, at this moment; -1 with errno: the system does not let this process. */
static inline pid_t
inject_stop(pid_t pid)
{
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && !found && (e = readdir(d)); ) {
        struct user_regs_struct r;
        const pid_t thread = atoi(e->d_name);
        if (thread <= 0)
            continue;
        if (ptrace(PTRACE_ATTACH, thread, NULL, NULL)) {
            found = errno == ESRCH ? 0 : -1;            /* ESRCH: it has ended */
        } else if (waitpid(thread, NULL, __WALL) == thread) {
            if (!ptrace(PTRACE_GETREGS, thread, NULL, &r) && inject_is_generated(pid, r.rip))
                found = thread;
            else
                ptrace(PTRACE_DETACH, thread, NULL, NULL);
        }
    }
    const int error = errno;
    if (d)
        closedir(d);
    errno = error;
    return found;
}

/* An instruction that calls the system, in the page of code that the kernel gives each process; 0: not found. No instruction is put in: a kernel's code
 * may lie in memory that even a debugger cannot write to. */
static inline uint64_t
inject_gate(pid_t pid)
{
    char path[64], line[512];
    unsigned long long from = 0, to = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx", &from, &to) != 2)
            from = to = 0;
    if (f)
        fclose(f);
    for (uint64_t at = from; at < to; at += 8) {
        errno = 0;
        const uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
        for (unsigned i = 0; i < 7 && !errno; i++)
            if ((word >> 8 * i & 0xffff) == 0x050f)
                return at + i;
    }
    return 0;
}

/* A call with a text, which is put below the stack pointer, as argument `at` (0: none). Its result, negative errno as the kernel has it. */
static inline long
inject_call(pid_t thread, long number, unsigned at, const char *text, long a, long b, long c)
{
    struct user_regs_struct saved, r;
    int status;
    const uint64_t gate = inject_gate(thread);
    if (!gate || ptrace(PTRACE_GETREGS, thread, NULL, &saved))
        return -ESRCH;
    r = saved;
    const uint64_t place = (saved.rsp - 4096) & ~15ull;
    for (size_t i = 0; at && i <= strlen(text); i += 8) {
        long word = 0;
        memcpy(&word, text + i, strnlen(text + i, 8));
        if (ptrace(PTRACE_POKEDATA, thread, place + i, word))
            return -EFAULT;
    }
    r.rip = gate;
    r.rax = (unsigned long long)number;
    r.orig_rax = ~0ull;
    r.rdi = at == 1 ? place : (unsigned long long)a;
    r.rsi = at == 2 ? place : (unsigned long long)b;
    r.rdx = (unsigned long long)c;
    r.r10 = 0;
    ptrace(PTRACE_SETREGS, thread, NULL, &r);
    ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL);
    if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, thread, NULL, &r))
        return -ESRCH;
    ptrace(PTRACE_SETREGS, thread, NULL, &saved);
    return (long)r.rax;
}

/* The stopped thread goes on with this code, on a page of its stack. */
static inline bool
inject_run(pid_t thread, const uint8_t *code, size_t size)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, thread, NULL, &r))
        return false;
    const uint64_t place = (r.rsp - 16384) & ~4095ull;
    if (inject_call(thread, SYS_mprotect, 0, NULL, (long)place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    for (size_t i = 0; i < size; i += 8) {
        long word = 0;
        memcpy(&word, code + i, size - i < 8 ? size - i : 8);
        if (ptrace(PTRACE_POKEDATA, thread, place + i, word))
            return false;
    }
    r.rip = place;
    r.orig_rax = ~0ull;
    return !ptrace(PTRACE_SETREGS, thread, NULL, &r) && !ptrace(PTRACE_DETACH, thread, NULL, NULL);
}

/* for (n = 400; n; n--) if (!clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, sp, 0, 0, 0)) break; for (;;) poll(NULL, 0, -1)
 * Not more, where nothing stops them. */
static const uint8_t inject_threads[] = {
    0xbb, 0x90, 1, 0, 0, 0xbf, 0, 0x0f, 5, 0, 0x48, 0x89, 0xe6, 0x31, 0xd2, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, SYS_clone, 0, 0, 0, 0x0f, 0x05, 0x85, 0xc0, 0x74, 4,
    0xff, 0xcb, 0x75, 0xe1,
    0x31, 0xff, 0x31, 0xf6, 0xba, 0xff, 0xff, 0xff, 0xff, 0xb8, SYS_poll, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xee,
};

#endif
