/* SPDX-License-Identifier: Apache-2.0
 * See program.h: parsing and --help. The pages are in program_page.c. */
#define _GNU_SOURCE
#include "impl/base/program.h"

#include "impl/base/program_page.h"
#include "impl/base/version.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPTIONS = 64, OPT_VERSION = 0x10000, OPT_PAGE, WIDTH = 120, INDENT = 26 };

void
cw_program_full_name(const struct cw_program *p, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", p->parent ? p->parent->name : "", p->parent ? " " : "", p->name);
}

int
cw_usage_error(const struct cw_program *p, const char *fmt, ...)
{
    char name[80];
    va_list ap;
    cw_program_full_name(p, name, sizeof name);
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", name);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "; see %s --help\n", name);
    va_end(ap);
    return p->usage_status;
}

/* ---- the end ---- */

static const struct cw_program *running;

/* Output that nobody got is no success. A pipe whose reader is gone has nobody to tell. */
void
cw_finish_output(void)
{
    errno = 0;
    if (!running || (!fflush(stdout) && !ferror(stdout)))
        return;
    if (errno != EPIPE)
        fprintf(stderr, "%s: cannot write the output%s%s\n", running->parent ? running->parent->name : running->name, errno ? ": " : "", errno ? strerror(errno) : "");
    _exit(running->usage_status ? running->usage_status : 1);
}

/* A standard stream that is closed gets /dev/null, so that no file or pipe gets its number, and our messages with it. It is opened the wrong way round, so that
 * using it fails as before, and is closed in programs that are executed. */
static void
fill_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
            return;
}

static void
begin(const struct cw_program *p)
{
    if (!running) {
        fill_standard_streams();
        (void)atexit(cw_finish_output);
    }
    running = p;
}

/* ---- --help ---- */

/* Words from column `at` on, in lines of WIDTH whose further ones begin at `indent`. */
static void
wrap(FILE *out, const char *text, int at, int indent)
{
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, " \n");
        if (at > indent && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fwrite(s, 1, (size_t)n, out);
        at += n;
        s += n;
        if (!strncmp(s, "\n\n", 2)) {
            fprintf(out, "\n\n%*s", indent, "");
            at = indent;
        }
        s += strspn(s, " \n");
    }
    fputc('\n', out);
}

static void
help_line(FILE *out, const char *left, const char *help)
{
    int n = fprintf(out, "%s", left);
    if (n + 2 > INDENT) {
        n = 0;
        fputc('\n', out);
    }
    fprintf(out, "%*s", INDENT - n, "");
    wrap(out, help, INDENT, INDENT);
}

static void
print_help(const struct cw_program *p, FILE *out)
{
    char name[80], left[120];
    cw_program_full_name(p, name, sizeof name);
    fprintf(out, "usage: %s%s%s%s\n", name, p->commands ? " COMMAND [OPTIONS]" : " [OPTIONS]", p->operands ? " " : "", p->operands ? p->operands : "");
    if (p->description)
        wrap(out, p->description, 0, 0);
    else
        fprintf(out, "%c%s.\n", toupper((unsigned char)*p->summary), p->summary + 1);
    fputc('\n', out);
    for (const struct cw_program *const *c = p->commands; c && *c; c++) {
        snprintf(left, sizeof left, "  %s", (*c)->name);
        help_line(out, left, (*c)->summary);
    }
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (!o->help)
            continue;
        int n = o->id < 256 ? snprintf(left, sizeof left, "  -%c%s", o->id, o->name ? ", " : "") : snprintf(left, sizeof left, "      ");
        snprintf(left + n, sizeof left - (size_t)n, "%s%s%s%s", o->name ? "--" : "", o->name ? o->name : "", o->value && *o->value != '[' ? " " : "", o->value ? o->value : "");
        help_line(out, left, o->help);
    }
    help_line(out, "  -h, --help", "print this text");
    help_line(out, "      --version", "print the version");
    char exits[1024] = "";
    size_t n = 0;
    for (const struct cw_exit *e = p->exits; e && e->status && n < sizeof exits; e++)
        n += (size_t)snprintf(exits + n, sizeof exits - n, "%s%s %s%s", e == p->exits ? "Exit status: " : "; ", e->status, e->meaning, e[1].status ? "" : ".");
    if (n) {
        fputc('\n', out);
        wrap(out, exits, 0, 0);
    }
    if (p->commands)
        fprintf(out, "\n`%s COMMAND --help` lists a command's options.\n", name);
}

/* What all programs answer alike: 1 done, 0 not one of these, -1 wrong. */
static int
answer(const struct cw_program *p, int id, const char *value)
{
    char name[80];
    switch (id) {
    case 'h':
        print_help(p, stdout);
        return 1;
    case OPT_VERSION:
        cw_program_full_name(p->parent ? p->parent : p, name, sizeof name);
        printf("%s %s\n", name, cw_version());
        return 1;
    case OPT_PAGE:
        return cw_program_page(p, value, stdout) ? 1 : (cw_usage_error(p, "there is no page '%s': man, bash, zsh, fish, conf or settings", value), -1);
    default:
        return 0;
    }
}

/* ---- parsing ---- */

/* getopt's two forms of the table. False: more options than the arrays hold. */
static bool
tables(const struct cw_program *p, char *letters, struct option *longs)
{
    unsigned n = 0;
    char *s = letters;
    if (p->complete && !strcmp(p->complete, "PROGRAM"))
        *s++ = '+';
    *s++ = ':';
    *s++ = 'h';
    longs[n++] = (struct option){ "help", no_argument, NULL, 'h' };
    longs[n++] = (struct option){ "version", no_argument, NULL, OPT_VERSION };
    longs[n++] = (struct option){ "cudaway-page", required_argument, NULL, OPT_PAGE };
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (n + 1 >= MAX_OPTIONS)
            return false;
        if (o->id < 256) {
            *s++ = (char)o->id;
            if (o->value)
                *s++ = ':';
        }
        if (o->name)
            longs[n++] = (struct option){ o->name, !o->value ? no_argument : *o->value == '[' ? optional_argument : required_argument, NULL, o->id };
    }
    longs[n] = (struct option){ 0 };
    *s = 0;
    return true;
}

int
cw_next_option(struct cw_command_line *c)
{
    char letters[2 * MAX_OPTIONS + 4];
    struct option longs[MAX_OPTIONS];
    if (!tables(c->program, letters, longs)) {
        c->status = cw_usage_error(c->program, "the table of options is too long");
        return CW_OPTIONS_WRONG;
    }
    if (!c->begun) {
        begin(c->program);
        optind = 0;             /* glibc: begin anew, with another table */
        c->begun = 1;
    }
    int id = getopt_long(c->argc, c->argv, letters, longs, NULL);
    if (id == -1)
        return CW_OPTIONS_END;
    if (id == ':' || id == '?') {
        const char *given = c->argv[optind - 1];
        if (id == ':')
            c->status = cw_usage_error(c->program, "%s needs a value", given);
        else if (optopt > 0 && optopt < 256 && strncmp(given, "--", 2))
            c->status = cw_usage_error(c->program, "there is no option -%c", optopt);
        else if (optopt)
            c->status = cw_usage_error(c->program, "%s takes no value", given);
        else
            c->status = cw_usage_error(c->program, "there is no option %s, or it is short for several", given);
        return CW_OPTIONS_WRONG;
    }
    int common = answer(c->program, id, optarg);
    if (common)
        c->status = common < 0 ? c->program->usage_status : 0;
    return common < 0 ? CW_OPTIONS_WRONG : common > 0 ? CW_OPTIONS_DONE : id;
}

int
cw_run_command(const struct cw_program *p, int argc, char **argv, int (*other)(const char *name, char **argv))
{
    begin(p);
    if (argc < 2)
        return cw_usage_error(p, "no command given");
    if (argv[1][0] == '-' || (!strcmp(argv[1], "help") && argc == 2)) {
        struct cw_command_line c = { p, 2, (char *[]){ argv[0], argv[1][0] == '-' ? argv[1] : "--help", NULL } };
        int id = cw_next_option(&c);
        return id == CW_OPTIONS_END ? cw_usage_error(p, "no command given") : c.status;
    }
    for (const struct cw_program *const *c = p->commands; *c; c++)
        if (!strcmp(argv[1], (*c)->name))
            return (*c)->external ? other((*c)->external, argv + 1) : (*c)->run(argc - 1, argv + 1);
    return cw_usage_error(p, "there is no command %s", argv[1]);
}
