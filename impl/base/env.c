/* SPDX-License-Identifier: Apache-2.0
 * See env.h. */
#define _GNU_SOURCE
#include "impl/base/env.h"

#include "impl/base/config.h"
#include "impl/base/file.h"
#include "impl/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static const struct row {
    const char *name, *form, *help;
} rows[] = {
#define X(sym, name, form, help) { "CUDAWAY_" name, form, help },
#include "impl/base/env.def"
#undef X
};

const char *
cw_env_get(enum cw_env var)
{
    const char *s = secure_getenv(rows[var].name);
    return s ? s : cw_config_get(var);
}

bool
cw_env_internal(enum cw_env var)
{
    return !strncmp(rows[var].help, "internal:", 9);
}

const char *
cw_env_origin(enum cw_env var, char *out, size_t size)
{
    if (!secure_getenv(rows[var].name))
        return cw_config_origin(var, out, size);
    snprintf(out, size, "environment");
    return out;
}

const char *
cw_env_name(enum cw_env var)
{
    return rows[var].name;
}

bool
cw_parse_size(const char *s, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 0);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'k')
        shift = 10, end++;
    else if (*end == 'M' || *end == 'm')
        shift = 20, end++;
    else if (*end == 'G' || *end == 'g')
        shift = 30, end++;
    if (errno || end == s || *end || *s == '-' || v > (UINT64_MAX >> shift))
        return false;
    *out = v << shift;
    return true;
}

uint64_t
cw_env_u64(enum cw_env var, uint64_t fallback, uint64_t min, uint64_t max)
{
    const char *s = cw_env_get(var);
    uint64_t v;
    if (!s || !*s)
        return fallback;
    if (!cw_parse_size(s, &v) || v < min || v > max) {
        cw_warn("%s=%s is not a number from %llu to %llu (suffixes K, M, G); using %llu", rows[var].name, s,
                (unsigned long long)min, (unsigned long long)max, (unsigned long long)fallback);
        return fallback;
    }
    return v;
}

unsigned
cw_env_compute_capability(void)
{
    const unsigned fallback = 80;
    const char *s = cw_env_get(CW_ENV_COMPUTE_CAPABILITY);
    unsigned major, minor;
    char rest;
    if (!s || !*s)
        return fallback;
    if (sscanf(s, "%2u.%1u%c", &major, &minor, &rest) == 2 && major >= 3 && major <= 12)
        return major * 10 + minor;
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        cw_warn("%s=%s is not MAJOR.MINOR from 3.0 to 12.9; using %u.%u", cw_env_name(CW_ENV_COMPUTE_CAPABILITY), s, fallback / 10,
                fallback % 10);
    return fallback;
}

static void
complain(const char *text)
{
    cw_warn("%s", text);
}

static void
warn_unknown(void)
{
    cw_config_complaints(complain);
    for (char **e = environ; e && *e; e++) {
        if (strncmp(*e, "CUDAWAY_", 8))
            continue;
        const char *eq = strchr(*e, '=');
        size_t n = eq ? (size_t)(eq - *e) : strlen(*e);
        bool known = false;
        for (unsigned i = 0; i < CW_ENV_COUNT && !known; i++)
            known = strlen(rows[i].name) == n && !strncmp(rows[i].name, *e, n);
        if (!known)
            cw_warn("unknown variable %.*s is ignored; CUDAWAY_LOG=help lists the known ones", (int)n, *e);
    }
}

void
cw_env_warn_unknown(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, warn_unknown);
}

void
cw_env_help(int fd)
{
    char text[2048];
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        int n = snprintf(text, sizeof text, "%s=%s\n        %s\n", rows[i].name, rows[i].form, rows[i].help);
        (void)cw_write_all(fd, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    }
}

void
cw_env_row(enum cw_env var, const char **form, const char **help)
{
    *form = rows[var].form;
    *help = rows[var].help;
}
