/* SPDX-License-Identifier: Apache-2.0
 * A command-line program as a table: its options, what it does, its exit status. The table parses the command line, and makes --help, the manual
 * page and the completions of bash, zsh and fish, so that these cannot disagree.
 *
 * A program that cannot write its standard output says so and ends with usage_status, whatever it returned; where a pipe's reader is gone it says nothing.
 *
 * Every program has -h, --help and --version without naming them. The build asks for the pages with --cudaway-page=man|bash|zsh|fish, and the
 * pages of the settings, which are the same from each, with conf (manual page) and settings (docs/settings.md). */
#ifndef CW_PROGRAM_H
#define CW_PROGRAM_H

#include <stddef.h>

struct cw_option {
    int id;                     /* a letter for -X, else a number from 256; 0 ends the table */
    const char *name;           /* without "--"; NULL: -X alone */
    const char *value;          /* what the value is called in the help; "[=REGEX]": may be left out; NULL: takes none */
    const char *help;           /* NULL: internal, in no page */
    const char *complete;       /* words with blanks between them, or FILE, DIR, PROGRAM; NULL: nothing is offered */
};

struct cw_exit {
    const char *status;         /* "0", "126"; NULL ends the table */
    const char *meaning;
};

struct cw_program {
    const char *name;           /* "cudaway-cc"; of a command its own name: "run" */
    const char *summary;        /* one line without a full stop */
    const char *operands;       /* behind the options: "INPUT -o OUTPUT" */
    const char *description;    /* paragraphs, an empty line between two; NULL: the summary says it all */
    const struct cw_option *options;
    const struct cw_exit *exits;
    const char *complete;       /* of operands: as an option's */
    const struct cw_program *const *commands;   /* NULL-terminated; a program has these or options */
    const char *see_also;       /* "cudaway(1), cudaway.conf(5)" */
    const char *external;       /* a command that is a program of its own, by its name: "cudaway-cc" */
    int (*run)(int argc, char **argv);          /* of a command */
    int usage_status;           /* of a wrong command line */
    const struct cw_program *parent;            /* a command's program */
};

enum {
    CW_OPTIONS_END = -1,        /* the operands begin at argv[optind] */
    CW_OPTIONS_DONE = -2,       /* --help or the like was answered: leave with `status`, 0 */
    CW_OPTIONS_WRONG = -3,      /* said on standard error: leave with `status`, the program's usage_status */
};

/* One pass over a command line. Zero-initialise but for the first three. */
struct cw_command_line {
    const struct cw_program *program;
    int argc;
    char **argv;
    int status;
    int begun;
};

/* The next option's id, or one of the above; optarg and optind are as after getopt(). A program or command whose operands are another program's command line (complete is PROGRAM)
 * has its own options in front of them only. */
int cw_next_option(struct cw_command_line *c);

/* What happens at exit(): the process ends here if the standard output could not be written. For programs that leave by _exit(). */
void cw_finish_output(void);

/* Choose and run the command that argv[1] names; for programs with `commands`. Runs program->run of it with argv + 1. `other` executes an
 * external one; NULL where there are none. Returns the exit status. */
int cw_run_command(const struct cw_program *p, int argc, char **argv, int (*other)(const char *name, char **argv));

/* "NAME: WHAT; see NAME --help" on standard error. Returns the program's usage_status. */
int cw_usage_error(const struct cw_program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
