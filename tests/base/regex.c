/* SPDX-License-Identifier: Apache-2.0
 * Regular expressions of users: those of libc, but none that takes all memory or the stack. */
#include "impl/base/regex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void
expect(const char *text, bool good, const char *reason)
{
    regex_t r;
    char why[128] = "";
    bool ok = cw_regex_compile(&r, text, why, sizeof why);
    if (ok != good || (reason && !strstr(why, reason)) || (!ok && !*why)) {
        printf("%.60s: %s (%s)\n", text, ok ? "taken" : "refused", why);
        failures++;
    }
    if (ok)
        regfree(&r);
}

int
main(void)
{
    static char text[100001];
    expect("", true, NULL);
    expect("^(add|mul)_[a-z]{2,8}$", true, NULL);
    expect("a{,5}b{3}", true, NULL);
    expect("_Z[0-9]+matmul.*ILi(16|32)E", true, NULL);
    expect("(", false, NULL);
    expect("a{10001}", false, "repetitions");
    expect("((a{1,200}){1,200}){1,200}", false, "repetitions");
    expect("(a{1,100}){1,100}", true, NULL);
    expect("a{99999999999999999999}", false, "repetitions");
    memset(text, '(', 20000);
    expect(text, false, "4,096");
    text[51] = 0;
    expect(text, false, "50 parentheses");
    memset(text, 'x', sizeof text - 1);
    expect(text, false, "4,096");
    text[4096] = 0;
    expect(text, true, NULL);
    return failures != 0;
}
