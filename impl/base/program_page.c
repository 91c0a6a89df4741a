/* SPDX-License-Identifier: Apache-2.0
 * The manual page and the completions of a program, from its table. */
#include "impl/base/program_page.h"

#include "impl/base/config.h"
#include "impl/base/env.h"
#include "impl/base/version.h"

#include <ctype.h>
#include <string.h>

/* The name as a shell function's: "cudaway_cc". */
static void
identifier(const char *name, FILE *out)
{
    for (; *name; name++)
        fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

/* ---- man ---- */

static void
roff(const char *s, FILE *out)
{
    bool begin = true;
    for (; *s; s++) {
        if (begin && (*s == '.' || *s == '\''))
            fputs("\\&", out);
        begin = *s == '\n';
        if (*s == '\\')
            fputs("\\e", out);
        else if (*s == '-')
            fputs("\\-", out);
        else if (!strncmp(s, "\n\n", 2))
            fputs("\n.PP", out);
        else
            fputc(*s, out);
    }
}

static void
man_name(const char *font, const char *dashes, const char *name, FILE *out)
{
    fprintf(out, "\\f%s", font);
    roff(dashes, out);
    roff(name, out);
    fputs("\\fR", out);
}

static void
man_options(const struct cw_program *p, FILE *out)
{
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (!o->help)
            continue;
        fputs(".TP\n", out);
        if (o->id < 256)
            man_name("B", "-", (char[]){ (char)o->id, 0 }, out);
        if (o->name) {
            if (o->id < 256)
                fputs(", ", out);
            man_name("B", "--", o->name, out);
        }
        if (o->value) {
            if (*o->value != '[')
                fputc(' ', out);
            man_name("I", "", o->value, out);
        }
        fputc('\n', out);
        roff(o->help, out);
        fputs(".\n", out);
    }
}

static void
man_synopsis(const struct cw_program *p, FILE *out)
{
    char name[80];
    cw_program_full_name(p, name, sizeof name);
    man_name("B", "", name, out);
    fputs(p->commands ? " \\fICOMMAND\\fR [\\fIOPTIONS\\fR] " : " [\\fIOPTIONS\\fR] ", out);
    roff(p->operands ? p->operands : "", out);
    fputc('\n', out);
}

static void
description(const struct cw_program *p, FILE *out)
{
    if (p->description) {
        roff(p->description, out);
        fputc('\n', out);
    } else {
        fputc(toupper((unsigned char)*p->summary), out);
        roff(p->summary + 1, out);
        fputs(".\n", out);
    }
}

static void
man_commands(const struct cw_program *p, FILE *out)
{
    if (p->commands)
        fputs(".SH COMMANDS\n", out);
    for (const struct cw_program *const *c = p->commands; c && *c; c++) {
        const struct cw_program *x = *c;
        fputs(".SS ", out);
        roff(x->name, out);
        fputc('\n', out);
        if (x->external) {
            roff(x->summary, out);
            fputs(": see ", out);
            man_name("B", "", x->external, out);
            fputs("(1).\n", out);
            continue;
        }
        man_synopsis(x, out);
        fputs(".PP\n", out);
        description(x, out);
        man_options(x, out);
    }
}

static void
man(const struct cw_program *p, FILE *out)
{
    fputs(".\\\" Made from the program's table of options (impl/base/program.h).\n.TH ", out);
    for (const char *s = p->name; *s; s++)
        fputc(toupper((unsigned char)*s), out);
    fprintf(out, " 1 \"\" \"CUDAway %s\" \"CUDAway\"\n.SH NAME\n", cw_version());
    roff(p->name, out);
    fputs(" \\- ", out);
    roff(p->summary, out);
    fputs("\n.SH SYNOPSIS\n", out);
    man_synopsis(p, out);
    fputs(".SH DESCRIPTION\n", out);
    description(p, out);
    man_commands(p, out);
    fputs(".SH OPTIONS\n", out);
    man_options(p, out);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a summary of the options.\n.TP\n\\fB\\-\\-version\\fR\nprint the version.\n", out);
    if (p->exits)
        fputs(".SH \"EXIT STATUS\"\n", out);
    for (const struct cw_exit *e = p->exits; e && e->status; e++) {
        fputs(".TP\n", out);
        man_name("B", "", e->status, out);
        fputc('\n', out);
        roff(e->meaning, out);
        fputs(".\n", out);
    }
    fputs(".SH ENVIRONMENT\nVariables whose names begin with\n.B CUDAWAY_\nare settings;\n.BR cudaway.conf (5)\nlists them.\n", out);
    if (p->see_also) {
        fputs(".SH \"SEE ALSO\"\n", out);
        roff(p->see_also, out);
        fputc('\n', out);
    }
}

/* ---- completions ---- */

/* A help text as one line of a list: its first clause, without what a shell's quotes or brackets would take. */
static void
brief(const char *help, FILE *out)
{
    for (const char *s = help; *s; s++) {
        if (!strncmp(s, "; ", 2) || !strncmp(s, ". ", 2) || !strncmp(s, ": ", 2) || !strncmp(s, " (", 2))
            break;
        if (!strchr("'\"`[]:\\$\n", *s))
            fputc(*s, out);
        else if (*s == '\n')
            fputc(' ', out);
    }
}

static bool
is(const char *complete, const char *what)
{
    return complete && !strcmp(complete, what);
}

static void
bash_words(const char *complete, const char *indent, FILE *out)
{
    if (is(complete, "FILE") || is(complete, "DIR") || is(complete, "PROGRAM"))
        fprintf(out, "%smapfile -t COMPREPLY < <(compgen -%s -- \"$cur\")\n", indent, is(complete, "DIR") ? "d" : is(complete, "FILE") ? "f" : "c -f");
    else if (complete)
        fprintf(out, "%smapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n", indent, complete);
}

/* The function of a program without commands, or of a command. */
static void
bash_function(const struct cw_program *p, FILE *out)
{
    char name[80];
    cw_program_full_name(p, name, sizeof name);
    fputc('_', out);
    identifier(name, out);
    fputs("() {\n    local cur=$1 prev=$2\n    case $prev in\n", out);
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (!o->help || !o->value || *o->value == '[')
            continue;
        fputs("        ", out);
        if (o->id < 256)
            fprintf(out, "-%c%s", o->id, o->name ? "|" : "");
        fprintf(out, "%s%s)\n", o->name ? "--" : "", o->name ? o->name : "");
        bash_words(o->complete, "            ", out);
        fputs("            return ;;\n", out);
    }
    fputs("    esac\n    case $cur in\n        -*)\n            mapfile -t COMPREPLY < <(compgen -W '", out);
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (o->help && o->name)
            fprintf(out, "--%s ", o->name);
        else if (o->help)
            fprintf(out, "-%c ", o->id);
    }
    fputs("--help --version' -- \"$cur\")\n            return ;;\n    esac\n", out);
    bash_words(p->complete, "    ", out);
    fputs("}\n", out);
}

static void
bash(const struct cw_program *p, FILE *out)
{
    if (!p->commands)
        bash_function(p, out);
    for (const struct cw_program *const *c = p->commands; c && *c; c++)
        if (!(*c)->external)
            bash_function(*c, out);
    fputs("_", out);
    identifier(p->name, out);
    fputs("_complete() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n    COMPREPLY=()\n", out);
    if (!p->commands) {
        fputs("    _", out);
        identifier(p->name, out);
        fputs(" \"$cur\" \"$prev\"\n", out);
    } else {
        fputs("    if [ \"$COMP_CWORD\" = 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W '", out);
        for (const struct cw_program *const *c = p->commands; *c; c++)
            fprintf(out, "%s ", (*c)->name);
        fputs("--help --version' -- \"$cur\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", out);
        for (const struct cw_program *const *c = p->commands; *c; c++) {
            fprintf(out, "        %s)\n            ", (*c)->name);
            if ((*c)->external) {       /* whose completion has a file of its own */
                fputs("declare -F _", out);
                identifier((*c)->external, out);
                fprintf(out, "_complete >/dev/null || . \"${BASH_SOURCE[0]%%/*}/%s\" 2>/dev/null || return\n            ", (*c)->external);
                fprintf(out, "COMP_WORDS=(%s \"${COMP_WORDS[@]:2}\")\n            COMP_CWORD=$((COMP_CWORD - 1))\n            _", (*c)->external);
                identifier((*c)->external, out);
                fputs("_complete ;;\n", out);
            } else {
                char name[80];
                cw_program_full_name(*c, name, sizeof name);
                fputc('_', out);
                identifier(name, out);
                fputs(" \"$cur\" \"$prev\" ;;\n", out);
            }
        }
        fputs("    esac\n", out);
    }
    fputs("}\ncomplete -o filenames -F _", out);
    identifier(p->name, out);
    fprintf(out, "_complete %s\n", p->name);
}

static void
zsh_value(const char *value, const char *complete, FILE *out)
{
    fprintf(out, ":%s:", value);
    if (is(complete, "FILE"))
        fputs("_files", out);
    else if (is(complete, "DIR"))
        fputs("_files -/", out);
    else if (complete)
        fprintf(out, "(%s)", complete);
}

static void
zsh_arguments(const struct cw_program *p, const char *indent, FILE *out)
{
    fprintf(out, "%s_arguments -s \\\n", indent);
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        for (int which = 0; which < 2 && o->help; which++) {
            if (which ? !o->name : o->id >= 256)
                continue;
            if (which)
                fprintf(out, "%s  '--%s[", indent, o->name);
            else
                fprintf(out, "%s  '-%c[", indent, o->id);
            brief(o->help, out);
            fputc(']', out);
            if (o->value && *o->value != '[')
                zsh_value(o->value, o->complete, out);
            fputs("' \\\n", out);
        }
    }
    fprintf(out, "%s  '(-)'{-h,--help}'[print a summary of the options]' '(-)--version[print the version]'", indent);
    if (is(p->complete, "PROGRAM"))
        fprintf(out, " \\\n%s  '(-)1:program:_command_names -e' '*::arguments:_normal'", indent);
    else if (p->complete) {
        fprintf(out, " \\\n%s  '*", indent);
        zsh_value("operand", p->complete, out);
        fputc('\'', out);
    }
    fputc('\n', out);
}

static void
zsh(const struct cw_program *p, FILE *out)
{
    fprintf(out, "#compdef %s\n", p->name);
    if (!p->commands) {
        zsh_arguments(p, "", out);
        return;
    }
    fputs("local -a line\nlocal state\n_arguments -C '(-)'{-h,--help}'[print a summary]' '(-)--version[print the version]' '1:command:((", out);
    for (const struct cw_program *const *c = p->commands; *c; c++) {
        fprintf(out, "%s%s\\:\"", c == p->commands ? "" : " ", (*c)->name);
        brief((*c)->summary, out);
        fputc('"', out);
    }
    fputs("))' '*::arguments:->rest'\n[[ $state = rest ]] || return\ncase $line[1] in\n", out);
    for (const struct cw_program *const *c = p->commands; *c; c++) {
        fprintf(out, "  %s)\n", (*c)->name);
        if ((*c)->external)
            fprintf(out, "    words[1]=%s\n    _dispatch %s %s\n", (*c)->external, (*c)->external, (*c)->external);
        else
            zsh_arguments(*c, "    ", out);
        fputs("    ;;\n", out);
    }
    fputs("esac\n", out);
}

static void
fish_options(const struct cw_program *p, const char *program, const char *condition, FILE *out)
{
    for (const struct cw_option *o = p->options; o && o->id; o++) {
        if (!o->help)
            continue;
        fprintf(out, "complete -c %s%s", program, condition);
        if (o->id < 256)
            fprintf(out, " -s %c", o->id);
        if (o->name)
            fprintf(out, " -l %s", o->name);
        if (is(o->complete, "FILE"))
            fputs(" -r -F", out);
        else if (o->value && *o->value != '[')
            fprintf(out, " -x%s", is(o->complete, "DIR") ? " -a '(__fish_complete_directories)'" : "");
        if (o->value && o->complete && !is(o->complete, "FILE") && !is(o->complete, "DIR"))
            fprintf(out, " -a '%s'", o->complete);
        fputs(" -d '", out);
        brief(o->help, out);
        fputs("'\n", out);
    }
    if (is(p->complete, "PROGRAM"))
        fprintf(out, "complete -c %s%s -x -a '(__fish_complete_subcommand)'\n", program, condition);
    else if (p->complete && !is(p->complete, "FILE"))
        fprintf(out, "complete -c %s%s -f -a '%s'\n", program, condition, is(p->complete, "DIR") ? "(__fish_complete_directories)" : p->complete);
}

static void
fish(const struct cw_program *p, FILE *out)
{
    fprintf(out, "complete -c %s -s h -l help -d 'print a summary of the options'\ncomplete -c %s -l version -d 'print the version'\n", p->name, p->name);
    if (!p->commands)
        fish_options(p, p->name, "", out);
    for (const struct cw_program *const *c = p->commands; c && *c; c++) {
        char condition[128];
        fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", p->name, (*c)->name);
        brief((*c)->summary, out);
        fputs("'\n", out);
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", (*c)->name);
        if ((*c)->external)
            fprintf(out, "complete -c %s%s -x -a '(__fish_complete_subcommand --fcs-skip=1)'\n", p->name, condition);
        else
            fish_options(*c, p->name, condition, out);
    }
}

/* ---- settings: the same for every program ---- */

static void
conf(const struct cw_program *p, FILE *out)
{
    fprintf(out, ".\\\" Made from the table of settings (impl/base/env.def).\n.TH CUDAWAY.CONF 5 \"\" \"CUDAway %s\" \"CUDAway\"\n.SH NAME\ncudaway.conf \\- settings of "
            "CUDAway\n", cw_version());
    fputs(".SH SYNOPSIS\n.I " CW_CONFIG_SYSTEM "\n.br\n.I $XDG_CONFIG_HOME/cudaway/cudaway.conf\nor\n.I \\(ti/.config/cudaway/cudaway.conf\n.SH DESCRIPTION\n"
          "A setting is a variable of the environment, or a line\n.IR \"NAME \" = \" VALUE\"\nof one of these files, by the same name. The environment comes first, then "
          "the user's file, then the system's. Lines below\n.RI [ \"PROGRAM ...\" ]\nare for the programs whose file names are listed there, and come before the lines "
          "above the first such section. A line that begins with # is a comment.\n.PP\nA file counts if it is a regular file of at most 32768 bytes that nobody else can write: the "
          "system's must belong to root, a user's to the user or root. Programs that run with other rights than their user's (setuid) take settings from the system's file "
          "alone.\n.SH SETTINGS\n", out);
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        const char *form, *help;
        if (cw_env_internal((enum cw_env)i))
            continue;
        cw_env_row((enum cw_env)i, &form, &help);
        fputs(".TP\n", out);
        man_name("B", "", cw_env_name((enum cw_env)i), out);
        fputc('=', out);
        man_name("I", "", form, out);
        fputc('\n', out);
        roff(help, out);
        fputs(".\n", out);
    }
    fputs(".SH \"SEE ALSO\"\ncudaway(1)\n", out);
}

static void
settings(const struct cw_program *p, FILE *out)
{
    fputs("# Settings\n\nEach is a variable of the environment or a line of a configuration file ([ld-preload.md](ld-preload.md#settings)). "
          "`cudaway info` prints those that are set, and where.\n\n| name | value | what |\n|---|---|---|\n", out);
    for (unsigned i = 0; i < CW_ENV_COUNT; i++) {
        const char *form, *help;
        cw_env_row((enum cw_env)i, &form, &help);
        fprintf(out, "| `%s` | `", cw_env_name((enum cw_env)i));
        for (; *form; form++)
            fprintf(out, *form == '|' ? "\\%c" : "%c", *form);
        fprintf(out, "` | %s |\n", help);
    }
    fputs("\nMade from `impl/base/env.def` by `ninja -C build cudaway-settings-update`.\n", out);
}

bool
cw_program_page(const struct cw_program *p, const char *kind, FILE *out)
{
    static const struct {
        const char *kind;
        void (*write)(const struct cw_program *, FILE *);
    } pages[] = { { "man", man }, { "bash", bash }, { "zsh", zsh }, { "fish", fish }, { "conf", conf }, { "settings", settings } };
    for (unsigned i = 0; i < sizeof pages / sizeof *pages; i++)
        if (!strcmp(kind, pages[i].kind)) {
            pages[i].write(p, out);
            return true;
        }
    return false;
}
