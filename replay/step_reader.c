/* SPDX-License-Identifier: Apache-2.0
 * See step_reader.h. Lines are edited with libedit on a terminal alone. */
#define _GNU_SOURCE
#include "replay/step_reader.h"

#include "impl/base/text.h"
#include "replay/step_private.h"

#include <editline/readline.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMPT "(step) "

static char *
complete(const char *text, int state)
{
    static unsigned next;               /* libedit asks one by one */
    const char *name;
    if (!state)
        next = 0;
    while ((name = cws_command_name(next))) {
        next++;
        if (!strncmp(name, text, strlen(text)))
            return strdup(name);
    }
    return NULL;
}

static volatile sig_atomic_t interrupted;

static void
interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* A line; NULL: the end of the input. Control-C begins another; a run is another process, which it ends. */
static char *
next_line(void)
{
    char *line;
    do {
        interrupted = 0;
        line = readline(PROMPT);
        if (!line && interrupted)
            putchar('\n');
    } while (!line && interrupted);
    return line;
}

static void
from_terminal(struct cws_ui *u)
{
    char *line, *last = NULL;
    const struct sigaction action = { .sa_handler = interrupt };
    sigaction(SIGINT, &action, NULL);
    rl_initialize();
    rl_readline_name = "cudaway-replay";
    rl_completion_entry_function = complete;
    while (!u->quit && (line = next_line())) {
        if (*line) {                    /* an empty line: the last one again */
            add_history(line);
            free(last);
            last = line;
        } else {
            free(line);
        }
        if (last)
            cws_command(u, last);
        fflush(stdout);
    }
    free(last);
    if (!u->quit)
        putchar('\n');
}

static void
from_script(struct cws_ui *u)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while (!u->quit && (n = getline(&line, &room, stdin)) >= 0) {
        if (n && line[n - 1] == '\n')
            line[n - 1] = 0;
        if (!u->json && *line)
            cw_text_print(stdout, PROMPT "%.*s\n", CWS_LONGEST, line);
        cws_command(u, line);
        fflush(stdout);
    }
    free(line);
}

int
cwd_step(const struct cwd_step *o)
{
    struct cws_ui u = { .file = o->file, .source = o->source, .json = o->json };
    struct cwd_error e = { "" };
    const char *no_color = getenv("NO_COLOR");
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (cws_open(&u.s, o->file, o->on, o->record_bytes, &e) != CW_OK) {
        cw_text_line(stderr, "cudaway-replay: %s: %s", o->file, e.text);
        return 2;
    }
    cw_buf_init(&u.out);
    u.colour = isatty(STDOUT_FILENO) && (!no_color || !*no_color) && !o->json;
    if (!o->json)
        cws_show_launch(&u);
    if (terminal && !o->json)
        from_terminal(&u);
    else
        from_script(&u);
    bool wrong = u.wrong && !terminal;
    cws_ui_finish(&u);
    return wrong ? 2 : 0;
}
