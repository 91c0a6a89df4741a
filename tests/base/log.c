/* SPDX-License-Identifier: Apache-2.0
 * What a message becomes on the log and for its sink: one line of text, whatever names are in it. */
#define _GNU_SOURCE
#include "impl/base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct { const char *name, *want; } cases[] = {
    { "kernel", "kernel" },
    { "a\tb \xc3\xa4", "a\tb \xc3\xa4" },
    { "a\ncudaway: error: b", "a cudaway: error: b" },
    { "two\nlines\n\n", "two lines" },
    { "\x1b[2Ja\rb\x7f", "?[2Ja?b?" },
    { "\xff\xe2\x80\xae", "??" },          /* no character; one that turns the direction */
    { "", "" },
};

static char sunk[4096];

static void
sink(enum cw_log_level level, const char *text, size_t length)
{
    snprintf(sunk, sizeof sunk, "%d %zu %s", (int)level, length, text);
}

int
main(void)
{
    enum { LONG = 5000 };
    char path[] = "/tmp/cudaway-log-XXXXXX", line[LONG], want[LONG], *huge = malloc(LONG);
    int failures = 0, fd = mkstemp(path);
    if (fd < 0 || !huge || setenv("CUDAWAY_LOG_FILE", path, 1) || setenv("CUDAWAY_LOG", "w\x1b[2J\n", 1))
        return 1;
    cw_log_set_sink(sink);
    FILE *f = fdopen(fd, "r");
    /* What the settings of the log itself are told of; the level is as without it. */
    cw_warn("first");
    if (!f || !fgets(line, sizeof line, f) || strncmp(line, "cudaway: warning: CUDAWAY_LOG=w?[2J  is not one of off", 54) || !fgets(line, sizeof line, f)) {
        fprintf(stderr, "CUDAWAY_LOG: '%s'\n", line);
        failures++;
    }
    for (size_t i = 0; f && i < sizeof cases / sizeof *cases; i++) {
        cw_warn("%s", cases[i].name);
        snprintf(want, sizeof want, "cudaway: warning: %s\n", cases[i].want);
        if (!fgets(line, sizeof line, f) || strcmp(line, want)) {
            fprintf(stderr, "case %zu: '%s'\n", i, line);
            failures++;
        }
        snprintf(want, sizeof want, "%d %zu %s", CW_LOG_WARN, strlen(cases[i].want), cases[i].want);
        if (strcmp(sunk, want)) {
            fprintf(stderr, "case %zu, sink: '%s'\n", i, sunk);
            failures++;
        }
    }
    memset(huge, '\n', LONG - 1);
    huge[LONG - 1] = 0;
    memset(huge, 'x', 3000);
    cw_warn("%s", huge);
    if (!f || !fgets(line, sizeof line, f) || line[strlen(line) - 1] != '\n' || strlen(line) > 2048 || fgets(line, sizeof line, f)) {
        fprintf(stderr, "a long one\n");
        failures++;
    }
    free(huge);
    unlink(path);
    return failures != 0 || !f;
}
