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
#include <sys/ptrace.h>
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

/* The thread of the process that has used most CPU time: an endless kernel's. */
static inline pid_t
inject_busiest(pid_t pid)
{
    char path[300], line[1024];
    pid_t best = 0;
    unsigned long most = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)); ) {
        unsigned long user = 0, system = 0;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)pid, e->d_name);
        FILE *f = fopen(path, "re");
        const char *behind = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        if (f)
            fclose(f);
        if (behind && sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2 && user + system > most) {
            most = user + system;
            best = atoi(e->d_name);
        }
    }
    if (d)
        closedir(d);
    return most >= 10 ? best : 0;       /* a tenth of a second: it is in the kernel */
}

/* Stop the thread. False with errno: the system does not let this process. */
static inline bool
inject_attach(pid_t thread)
{
    return !ptrace(PTRACE_ATTACH, thread, NULL, NULL) && waitpid(thread, NULL, __WALL) == thread;
}

/* A call with a text, which is put below the stack pointer, as argument `at` (0: none). Its result, negative errno as the kernel has it. */
static inline long
inject_call(pid_t thread, long number, unsigned at, const char *text, long a, long b, long c)
{
    struct user_regs_struct saved, r;
    int status;
    if (ptrace(PTRACE_GETREGS, thread, NULL, &saved))
        return -ESRCH;
    r = saved;
    const uint64_t place = (saved.rsp - 4096) & ~15ull;
    for (size_t i = 0; at && i <= strlen(text); i += 8) {
        long word = 0;
        memcpy(&word, text + i, strnlen(text + i, 8));
        if (ptrace(PTRACE_POKEDATA, thread, place + i, word))
            return -EFAULT;
    }
    const long code = ptrace(PTRACE_PEEKTEXT, thread, saved.rip, NULL);
    ptrace(PTRACE_POKETEXT, thread, saved.rip, (code & ~0xffffl) | 0x050f);
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
    ptrace(PTRACE_POKETEXT, thread, saved.rip, code);
    ptrace(PTRACE_SETREGS, thread, NULL, &saved);
    return (long)r.rax;
}

#endif
