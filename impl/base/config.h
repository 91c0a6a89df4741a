/* SPDX-License-Identifier: Apache-2.0
 * Configuration files: settings by the names that they have in the environment (env.h). The environment comes first, then the user's file, then
 * the system's; within a file what stands in a section of the running program comes before what stands in none.
 *
 *     # For everybody here
 *     CUDAWAY_CACHE_SIZE = 8G
 *
 *     [ffmpeg ffprobe]
 *     CUDAWAY_DEVICE = host
 *
 * In a process that runs with other rights than its user's (AT_SECURE, getauxval(3)) only the system's file counts, and no variable of the
 * environment. */
#ifndef CW_CONFIG_H
#define CW_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum { CW_CONFIG_MAX = 32768 };         /* bytes of a file */
#define CW_CONFIG_SYSTEM "/etc/cudaway.conf"

struct cw_config_reader {
    const char *program;                /* the running program's file name: whose sections count */
    /* A setting; name and value lie in the text, which the reader has cut there with zeros. `mine`: in a section of this program. */
    void (*setting)(void *user, const char *name, const char *value, unsigned line, bool mine);
    void (*wrong)(void *user, unsigned line, const char *what);
    void *user;
};

/* Read a file's text, which is changed: text[size] is there and is overwritten. Goes on behind lines that are wrong. */
void cw_config_read(char *text, size_t size, const struct cw_config_reader *r);

/* ---- for env.c ---- */

/* Read the files, once. False: some file cannot be opened for lack of descriptors, or this thread is reading them; the next call of any of these tries
 * again. */
bool cw_config_load(void);
/* The value that the files give a variable, or NULL; for the whole life of the process. The first call reads them. */
const char *cw_config_get(unsigned var);
/* "/etc/cudaway.conf:3", where the value stands; NULL without one. */
const char *cw_config_origin(unsigned var, char *out, size_t size);
/* The user's file, whether it is there or not; "" where there can be none. */
const char *cw_config_user_file(void);
/* Call say() for each line of the files that was not understood. */
void cw_config_complaints(void (*say)(const char *text));

#endif
