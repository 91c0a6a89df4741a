/* SPDX-License-Identifier: Apache-2.0
 * See regex.h. */
#include "impl/base/regex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 4096, MAX_PARENTHESES = 50, MAX_REPETITION = 10000 };

/* glibc compiles by recursion, a few hundred bytes of stack for each parenthesis, and writes out what is repeated. */
static const char *
too_large(const char *text)
{
    unsigned parentheses = 0;
    unsigned long long repeated = 1;
    if (strlen(text) > MAX_LENGTH)
        return "it is longer than 4,096 bytes";
    for (const char *s = text; *s; s++) {
        parentheses += *s == '(';
        if (*s != '{')
            continue;
        unsigned long from = strtoul(s + 1, NULL, 10), to = s[1 + strspn(s + 1, "0123456789")] == ',' ? strtoul(strchr(s, ',') + 1, NULL, 10) : from;
        unsigned long n = to > from ? to : from;
        repeated *= n ? n : 1;
        if (n > MAX_REPETITION || repeated > MAX_REPETITION)
            return "its repetitions multiply to more than 10,000";
    }
    return parentheses > MAX_PARENTHESES ? "it has more than 50 parentheses" : NULL;
}

bool
cw_regex_compile(regex_t *regex, const char *text, char *why, size_t size)
{
    const char *large = too_large(text);
    if (large) {
        snprintf(why, size, "%s", large);
        return false;
    }
    int r = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (r)
        regerror(r, regex, why, size);
    return !r;
}
