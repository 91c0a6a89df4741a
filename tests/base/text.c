/* SPDX-License-Identifier: Apache-2.0
 * Text that others wrote: what a terminal would act on, what is not UTF-8, and that text in JSON is UTF-8. */
#include "impl/base/buf.h"
#include "impl/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void
safe(const char *text, const char *keep, const char *want)
{
    char s[100];
    bool same = !strcmp(text, want);
    strcpy(s, text);
    if (cw_text_is_safe(s, keep) != same || cw_text_make_safe(s, keep) != same || strcmp(s, want)) {
        fprintf(stderr, "\"%s\" for \"%s\"\n", s, want);
        failures++;
    }
}

static void
json(const char *text, const char *want)
{
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_json_string(&b, text);
    if (b.failed || strcmp(b.data, want)) {
        fprintf(stderr, "%s for %s\n", b.data ? b.data : "nothing", want);
        failures++;
    }
    cw_buf_finish(&b);
}

static void
line(const char *text, const char *want)
{
    char s[100];
    strcpy(s, text);
    if (cw_text_make_line(s) != strlen(want) || strcmp(s, want)) {
        fprintf(stderr, "the line \"%s\" for \"%s\"\n", s, want);
        failures++;
    }
}

static void
printed(void)
{
    static const char want[] = "a\tb\n?c?:5\nof f, 7: x y?\n";
    char got[100] = "";
    FILE *f = fmemopen(got, sizeof got, "w");
    if (!f)
        exit(2);
    cw_text_print(f, "%s:%d\n", "a\tb\n\033c\xff", 5);
    cw_text_line(f, "of %s, %d: %s", "f", 7, "x\ny\033\n\n");
    fclose(f);
    if (strcmp(got, want)) {
        fprintf(stderr, "printed \"%s\" for \"%s\"\n", got, want);
        failures++;
    }
}

/* A line that is longer than what print has for one. */
static void
printed_long(void)
{
    static char name[3000], got[4000];
    memset(name, 'x', sizeof name - 1);
    FILE *f = fmemopen(got, sizeof got, "w");
    if (!f)
        exit(2);
    cw_text_line(f, "%s", name);
    fclose(f);
    if (strncmp(got, name, sizeof name - 1) || strcmp(got + sizeof name - 1, "\n")) {
        fprintf(stderr, "printed \"%s\" for a line of %zu bytes\n", got, sizeof name - 1);
        failures++;
    }
}

int
main(void)
{
    safe("kernel<int>(a$b) \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7", "", "kernel<int>(a$b) \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7");
    safe("\033[31m\a\177", "", "?[31m??");
    safe("a\tb\nc\r", "\n\t", "a\tb\nc?");
    safe("a\tb\nc\r", "", "a?b?c?");
    safe("\xc2\x9b" "31m\xc2\xa0", "", "?31m\xc2\xa0");                               /* CSI of the second set; a space */
    safe("\xe2\x80\xaegpj.exe\xe2\x81\xa6\xd8\x9c", "", "?gpj.exe??");                  /* text from right to left */
    safe("\xff\xfe", "", "??");
    safe("\xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80", "", "?? ??? ??? ????");   /* overlong, a surrogate, too large */
    safe("\xe2\x82", "", "??");                                                         /* cut short */
    json("a\"\\\n\xc3\xa9", "\"a\\\"\\\\\\u000a\xc3\xa9\"");
    json("\t\033[2J\177 \xc2\x9b \xc2\xa0 \xe2\x80\xae \xe2\x81\xa9 \xd8\x9c \xe2\x82\xac \xf0\x9f\x90\xa7", "\"\\u0009\\u001b[2J\\u007f \\u009b \xc2\xa0 \\u202e \\u2069 \\u061c \xe2\x82\xac \xf0\x9f\x90\xa7\"");
    line("a\nb\tc\r\n\n", "a b\tc?");
    line("\n", "");
    printed();
    printed_long();
    json("p\xff\xfe\xe2\x82", "\"p\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    return failures != 0;
}
