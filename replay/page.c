/* SPDX-License-Identifier: Apache-2.0
 * The page of results (cwd_results_html), embedded when the program is built. The build defines PAGE_DIR, PAGE_CSS and PAGE_D3. */
#define _GNU_SOURCE
#include "replay/results.h"

#include "impl/base/file.h"
#include "impl/base/text.h"

#include <string.h>
#include <unistd.h>

#define CREDIT "Made by CUDAway. Charts by d3 3.5, © Michael Bostock, BSD licence."

#define EMBED(name, file)                                                                                              \
    extern const char name[];                                                                                          \
    __asm__(".pushsection .rodata\n.globl " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n")

EMBED(cwd_page_html, PAGE_DIR "/diff.html");
EMBED(cwd_page_common_css, PAGE_CSS);
EMBED(cwd_page_css, PAGE_DIR "/diff.css");
EMBED(cwd_page_js, PAGE_DIR "/diff.js");
EMBED(cwd_page_d3, PAGE_D3);

static void
put_data(struct cw_buf *b, const struct cwd_results *r, const char *title, const char *head)
{
    const char *separator = "";
    cw_buf_puts(b, "{\"title\":");
    cw_buf_json_string(b, title);
    cw_buf_puts(b, ",\"results\":");
    cwd_results_json(r, head, b);
    cw_buf_puts(b, ",\"pictures\":[");
    for (size_t i = 0; i < r->count; i++)
        if (r->launches[i].picture) {
            cw_buf_printf(b, "%s\n{\"of\":%zu,", separator, i);
            cw_buf_puts(b, r->launches[i].picture + 1);         /* {"picture": ... } */
            separator = ",";
        }
    cw_buf_puts(b, "]}");
}

bool
cwd_results_html(const struct cwd_results *r, const char *title, const char *head, FILE *out)
{
    struct cw_buf data;
    cw_buf_init(&data);
    put_data(&data, r, title, head);
    const struct { const char *mark, *text; } parts[] = {
        { "@CSS@", cwd_page_common_css }, { "@MORE_CSS@", cwd_page_css }, { "@CREDIT@", CREDIT }, { "@D3@", cwd_page_d3 }, { "@DATA@", NULL }, { "@JS@", cwd_page_js },
    };
    const char *rest = cwd_page_html;
    for (unsigned i = 0; !data.failed && i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(rest, parts[i].mark);
        fwrite(rest, 1, (size_t)(at - rest), out);
        if (parts[i].text)
            fputs(parts[i].text, out);
        else
            cw_text_put_in_script(out, data.data, data.size);
        rest = at + strlen(parts[i].mark);
    }
    fputs(rest, out);
    bool ok = !data.failed;
    cw_buf_finish(&data);
    return ok;
}

bool
cwd_results_html_file(const struct cwd_results *r, const char *title, const char *head, const char *path)
{
    struct cw_new_file f;
    if (cw_new_file_begin(&f, path, 0644) != CW_OK)
        return false;
    int fd = dup(f.fd);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = out && cwd_results_html(r, title, head, out);
    if (out)
        ok = !fclose(out) && ok;
    return cw_new_file_finish(&f, ok) == CW_OK && ok;
}
