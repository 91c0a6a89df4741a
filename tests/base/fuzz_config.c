/* SPDX-License-Identifier: Apache-2.0
 * The reader of configuration files takes any bytes, and hands out only strings of the text, in the order of its lines. */
#include "impl/base/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const char *text;
    size_t size;
    unsigned line, lines;
};

static void
inside(const struct seen *s, const char *p)
{
    if (p < s->text || p > s->text + s->size || p + strlen(p) > s->text + s->size || strchr(p, '\n'))
        abort();
}

static void
in_order(struct seen *s, unsigned line)
{
    if (line <= s->line || line > s->lines)
        abort();
    s->line = line;
}

static void
on_setting(void *user, const char *name, const char *value, unsigned line, bool mine)
{
    struct seen *s = user;
    inside(s, name);
    inside(s, value);
    if (name + strlen(name) >= value || strchr(name, '='))
        abort();
    in_order(s, line);
}

static void
on_wrong(void *user, unsigned line, const char *what)
{
    in_order(user, line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    struct seen s = { text, size, 0, 1 };
    for (size_t i = 0; i < size; i++)
        s.lines += data[i] == '\n';
    cw_config_read(text, size, &(struct cw_config_reader){ "app", on_setting, on_wrong, &s });
    free(text);
    return 0;
}
