/* SPDX-License-Identifier: Apache-2.0
 * See config.h. All memory is static: the first call may come from the audit module while the dynamic linker works, or from a child of fork,
 * where nothing may be allocated. */
#define _GNU_SOURCE
#include "impl/base/config.h"

#include "impl/base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading a text ---- */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cut blanks off both ends of [s, e), put a zero behind. */
static char *
trimmed(char *s, char *e)
{
    while (s < e && is_blank(*s))
        s++;
    while (e > s && is_blank(e[-1]))
        e--;
    *e = 0;
    return s;
}

/* Is `program` one of the names, with blanks between them? */
static bool
among(const char *names, const char *program)
{
    size_t n = strlen(program);
    for (const char *s = names; *s;) {
        size_t k = strcspn(s, " \t");
        if (k && k == n && !memcmp(s, program, n))
            return true;
        s += k + strspn(s + k, " \t");
    }
    return false;
}

void
cw_config_read(char *text, size_t size, const struct cw_config_reader *r)
{
    enum { NO_SECTION, MINE, OTHER } section = NO_SECTION;
    unsigned line = 0;
    text[size] = 0;
    for (char *s = text, *end = text + size; s < end;) {
        char *eol = memchr(s, '\n', (size_t)(end - s)), *next = eol ? eol + 1 : end;
        line++;
        if (memchr(s, 0, (size_t)((eol ? eol : end) - s))) {
            r->wrong(r->user, line, "a zero byte: this is no text");
            return;
        }
        char *word = trimmed(s, eol ? eol : end), *equals = strchr(word, '=');
        s = next;
        if (!*word || *word == '#')
            continue;
        size_t n = strlen(word);
        if (*word == '[') {
            section = OTHER;            /* of a wrong heading nothing counts */
            if (word[n - 1] != ']' || n < 3) {
                r->wrong(r->user, line, "a section is [PROGRAM ...]");
                continue;
            }
            word[n - 1] = 0;
            section = among(word + 1, r->program) ? MINE : OTHER;
        } else if (!equals) {
            r->wrong(r->user, line, "neither NAME = VALUE, [PROGRAM ...] nor # comment");
        } else if (section != OTHER) {
            char *value = trimmed(equals + 1, word + n), *name = trimmed(word, equals);
            r->setting(r->user, name, value, line, section == MINE);
        }
    }
}

/* ---- the files of this process ---- */

enum { SYSTEM, USER, FILES, MAX_COMPLAINTS = 16 };
static struct {
    char text[FILES][CW_CONFIG_MAX + 1], path[FILES][PATH_MAX];
    struct {
        const char *_Atomic value;
        unsigned line;
        unsigned char rank, file;       /* of what was read the highest rank counts */
    } at[CW_ENV_COUNT];
    char complaints[MAX_COMPLAINTS][PATH_MAX + 200];
    unsigned ncomplaints, file;
    bool read[FILES];                   /* or not to be */
} config;
static atomic_bool loaded;
static _Atomic pid_t loading;           /* the process whose thread reads them: a child of fork has not that thread */
static _Atomic pid_t loader;            /* that thread; its open or getenv may be the program's, and come here */

static void __attribute__((format(printf, 1, 2)))
complain(const char *fmt, ...)
{
    va_list ap;
    if (config.ncomplaints == MAX_COMPLAINTS)
        return;
    va_start(ap, fmt);
    vsnprintf(config.complaints[config.ncomplaints++], sizeof *config.complaints, fmt, ap);
    va_end(ap);
}

static void
on_setting(void *user, const char *name, const char *value, unsigned line, bool mine)
{
    unsigned rank = 1 + 2 * config.file + mine;
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        if (strcmp(name, cw_env_name((enum cw_env)i)))
            continue;
        if (cw_env_internal((enum cw_env)i) || i == CW_ENV_CONFIG)
            complain("%s:%u: %s is for the environment alone; ignored", config.path[config.file], line, name);
        else if (rank >= config.at[i].rank) {
            config.at[i].value = value;
            config.at[i].line = line;
            config.at[i].rank = (unsigned char)rank;
            config.at[i].file = (unsigned char)config.file;
        }
        return;
    }
    complain("%s:%u: unknown setting %.100s is ignored; CUDAWAY_LOG=help lists the known ones", config.path[config.file], line, name);
}

static void
on_wrong(void *user, unsigned line, const char *what)
{
    complain("%s:%u: %s; the line is ignored", config.path[config.file], line, what);
}

/* Why this file must not be believed: somebody else could have written it. NULL: it may. */
static const char *
untrusted(const struct stat *st, bool system)
{
    if (!S_ISREG(st->st_mode))
        return "is not a regular file";
    if (st->st_uid && (system || st->st_uid != geteuid()))
        return system ? "does not belong to root" : "belongs to somebody else";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by others (chmod go-w)";
    return NULL;
}

/* False: not now, for lack of descriptors. */
static bool
read_file(unsigned which, const char *program, bool must_be)
{
    const char *path = config.path[which], *why;
    struct stat st;
    if (config.read[which])
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return false;
    config.file = which;
    if (fd < 0) {
        if (must_be || (errno != ENOENT && errno != ENOTDIR))
            complain("%s: %s; no setting is taken from it", path, strerror(errno));
        config.read[which] = true;
        return true;
    }
    size_t n = 0;
    why = fstat(fd, &st) ? "cannot be examined" : untrusted(&st, which == SYSTEM);
    if (why) {
        complain("%s %s; no setting is taken from it", path, why);
    } else if (st.st_size > CW_CONFIG_MAX) {
        complain("%s has more than %d bytes; no setting is taken from it", path, CW_CONFIG_MAX);
    } else {
        for (ssize_t k; n < CW_CONFIG_MAX && ((k = read(fd, config.text[which] + n, CW_CONFIG_MAX - n)) > 0 || (k < 0 && errno == EINTR));)
            n += k > 0 ? (size_t)k : 0;
        cw_config_read(config.text[which], n, &(struct cw_config_reader){ program, on_setting, on_wrong, NULL });
    }
    close(fd);
    config.read[which] = true;
    return true;
}

/* False: not all now, for lack of descriptors. */
static bool
load(void)
{
    char self[PATH_MAX];
    bool all = true;
    int saved = errno;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(self, '/'), *program = slash ? slash + 1 : program_invocation_short_name;
    const char *given = secure_getenv("CUDAWAY_CONFIG"), *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    if (given && *given) {
        if (strcmp(given, "none")) {
            snprintf(config.path[USER], PATH_MAX, "%s", given);
            all = read_file(USER, program, true);
        }
    } else {
        snprintf(config.path[SYSTEM], PATH_MAX, "%s", CW_CONFIG_SYSTEM);
        all = read_file(SYSTEM, program, false);
        bool own = xdg && *xdg == '/';
        if ((own || (home && *home == '/')) &&
            snprintf(config.path[USER], PATH_MAX, "%s%s/cudaway/cudaway.conf", own ? xdg : home, own ? "" : "/.config") < PATH_MAX)
            all &= read_file(USER, program, false);
    }
    errno = saved;
    return all;
}

bool
cw_config_load(void)
{
    while (!atomic_load_explicit(&loaded, memory_order_acquire)) {
        const pid_t self = getpid();
        pid_t other = atomic_load(&loading);
        if (other == self && atomic_load(&loader) == gettid())
            return false;
        if (other == self || !atomic_compare_exchange_strong(&loading, &other, self)) {
            sched_yield();
            continue;
        }
        atomic_store(&loader, gettid());
        bool all = atomic_load(&loaded) || load();
        atomic_store(&loader, 0);
        atomic_store(&loaded, all);
        atomic_store(&loading, 0);
        if (!all)
            return false;
    }
    return true;
}

const char *
cw_config_get(unsigned var)
{
    (void)cw_config_load();
    return config.at[var].value;
}

const char *
cw_config_user_file(void)
{
    (void)cw_config_load();
    return config.path[USER];
}

const char *
cw_config_origin(unsigned var, char *out, size_t size)
{
    if (!cw_config_get(var))
        return NULL;
    snprintf(out, size, "%s:%u", config.path[config.at[var].file], config.at[var].line);
    return out;
}

void
cw_config_complaints(void (*say)(const char *text))
{
    (void)cw_config_load();
    for (unsigned i = 0; i < config.ncomplaints; i++)
        say(config.complaints[i]);
}
