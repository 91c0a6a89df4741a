/* SPDX-License-Identifier: Apache-2.0
 * See many.h. Each dump has a process of its own: a fault of one launch does not end the others. */
#define _GNU_SOURCE
#include "replay/many.h"

#include "impl/base/buf.h"
#include "impl/base/children.h"
#include "impl/base/file.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/dump.h"
#include "replay/results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TROUBLE = 2, MOST_SAID = 256 << 20 };     /* bytes of a dump's output that are kept: a hostile one prints without end */

struct list {
    char **path;
    size_t count;
};

struct said {
    int status;
    char line[400];                     /* the cause, or the last line */
    struct cw_buf all;
};

bool
cwd_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool
add(struct list *l, char *path)
{
    char **more = path ? realloc(l->path, (l->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(path);
        return false;
    }
    l->path = more;
    more[l->count++] = path;
    return true;
}

static int
is_dump(const struct dirent *d)
{
    size_t n = strlen(d->d_name), suffix = strlen(CWD_SUFFIX);
    return n > suffix && !strcmp(d->d_name + n - suffix, CWD_SUFFIX);
}

static bool
add_folder(struct list *l, const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_dump, versionsort);
    bool ok = n >= 0, left_out = false;
    if (n == 0)
        cw_text_print(stderr, "cudaway-replay: %s: no dump (*" CWD_SUFFIX ") is in this folder; `cudaway-trace record --dump-kernels` and `cudaway-diff` write dumps\n", folder);
    else if (n < 0)
        cw_text_line(stderr, "cudaway-replay: %s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path;
        ok = ok && asprintf(&path, "%s/%s", folder, names[i]->d_name) > 0;
        if (ok && cw_file_is_special(path)) {           /* a pipe would be waited for */
            cw_text_line(stderr, "cudaway-replay: %s: not a regular file, left out", path);
            free(path);
            left_out = true;
        } else {
            ok = ok && add(l, path);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return ok && !left_out && n > 0;
}

static void
keep_line(struct said *s, const char *line)
{
    if (*line && *line != '{' && (strncmp(s->line, "cause: ", 7) || !strncmp(line, "cause: ", 7)))
        snprintf(s->line, sizeof s->line, "%s", strncmp(line, "cudaway-replay: ", 16) ? line : line + 16);
}

/* Without its end. False: there is none, or no memory. */
static bool
read_line(FILE *f, struct cw_buf *line)
{
    char part[4096];
    bool any = false, whole = false;
    line->size = 0;
    while (!whole && fgets(part, sizeof part, f)) {
        size_t n = strcspn(part, "\n");
        any = true;
        whole = part[n];
        if (line->size + n < MOST_SAID)
            cw_buf_append(line, part, n);
    }
    return any && line->data && !line->failed;
}

char **
cwd_arguments(const char *self, const char *const *internal, char *const *options, const char *dump)
{
    size_t n = 0, count = 4;
    for (size_t i = 0; internal[i]; i++)
        count++;
    for (size_t i = 0; options[i]; i++)
        count++;
    const char **args = calloc(count, sizeof *args);
    if (!args)
        return NULL;
    args[n++] = self;
    while (*internal)
        args[n++] = *internal++;
    while (*options)
        args[n++] = *options++;
    args[n++] = "--";
    args[n] = dump;
    return (char **)(uintptr_t)args;
}

static void
run(const struct cwd_many *m, const char *dump, struct said *s)
{
    int to[2];
    *s = (struct said){ .status = TROUBLE, .line = "it did not start" };
    cw_buf_init(&s->all);
    if (pipe2(to, O_CLOEXEC))
        return;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        const char *internal[4] = { "--one" };
        unsigned n = 1;
        if (m->compares)
            internal[n++] = "--results";
        if (m->html)
            internal[n++] = "--picture";
        char **args = cwd_arguments(m->self, internal, m->options, dump);
        dup2(to[1], STDOUT_FILENO);
        dup2(to[1], STDERR_FILENO);
        if (args)
            execv("/proc/self/exe", args);
        _exit(TROUBLE);
    }
    close(to[1]);
    FILE *f = fdopen(to[0], "r");
    struct cw_buf line;
    cw_buf_init(&line);
    while (f && read_line(f, &line)) {
        cw_text_make_safe(line.data, "\t");
        if (s->all.size + line.size < MOST_SAID)
            cw_buf_printf(&s->all, "%s\n", line.data);
        cw_text_make_safe(line.data, "");
        keep_line(s, line.data);
    }
    cw_buf_finish(&line);
    if (f)
        fclose(f);
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFSIGNALED(status))
        snprintf(s->line, sizeof s->line, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (pid > 0)
        s->status = WEXITSTATUS(status);
}

static void
add_result(struct cwd_results *r, const char *dump, const struct said *s)
{
    struct cwd_launch *l = cwd_results_add(r, NULL, 0, dump, s->status, s->all.failed ? NULL : s->all.data);
    if (!l || strncmp(s->line, "cause: ", 7))
        return;
    char cause[100];
    snprintf(cause, sizeof cause, "%.*s", (int)strcspn(s->line + 7, ":"), s->line + 7);
    cwd_results_cause(r, l, cause, l->severity);
}

static void
put_head(struct cw_buf *head, const struct list *l, const struct said *said, int status)
{
    cw_buf_printf(head, "\"status\":%d,\"dumps\":[", status);
    for (size_t i = 0; i < l->count; i++) {
        cw_buf_puts(head, i ? ",\n{\"dump\":" : "\n{\"dump\":");
        cw_buf_json_string(head, l->path[i]);
        cw_buf_printf(head, ",\"status\":%d,\"says\":", said[i].status);
        cw_buf_json_string(head, said[i].line);
        cw_buf_puts(head, "}");
    }
    cw_buf_puts(head, "],");
}

/* False after a message. */
static bool
write_results(const struct cwd_many *m, const struct list *l, const struct said *said, const struct cwd_results *r, int status)
{
    struct cw_buf head, all;
    char title[80];
    cw_buf_init(&head);
    cw_buf_init(&all);
    put_head(&head, l, said, status);
    if (m->json && !head.failed)
        cwd_results_json(r, head.data, &all);
    bool ok = !head.failed && !all.failed && (!m->json || fwrite(all.data, 1, all.size, stdout) == all.size);
    if (!ok)
        fputs("cudaway-replay: out of memory\n", stderr);
    snprintf(title, sizeof title, l->count == 1 ? "A kernel launch, replayed" : "%zu kernel launches, replayed", l->count);
    if (ok && m->html && !(ok = cwd_results_html_file(r, title, head.data, m->html)))
        cw_text_line(stderr, "cudaway-replay: cannot write %s: %s", m->html, strerror(errno));
    cw_buf_finish(&head);
    cw_buf_finish(&all);
    return ok;
}

static void
print_line(const char *path, int width, const struct said *s)
{
    char *name = strdup(path);
    if (name)
        cw_text_make_safe(name, "");
    cw_text_print(stdout, "%6d  %-*s  %s\n", s->status, width, name ? name : "", s->line);
    free(name);
}

int
cwd_many(const struct cwd_many *m)
{
    struct list l = { 0 };
    struct cwd_results results = { 0 };
    int worst = 0, width = 4;
    uint64_t differ = 0;
    for (char **a = m->dumps; *a; a++)
        if (!(cwd_is_folder(*a) ? add_folder(&l, *a) : add(&l, strdup(*a))))
            worst = TROUBLE;
    struct said *said = calloc(l.count + 1, sizeof *said);
    struct cw_progress progress = { .what = "dumps", .all = l.count, .off = isatty(STDOUT_FILENO) && !m->json };
    for (size_t i = 0; i < l.count; i++)
        width = (int)strlen(l.path[i]) > width ? (int)strlen(l.path[i]) : width;
    if (said && !m->json && l.count)
        cw_text_print(stdout, "status  %-*s  says\n", width, "dump");
    for (size_t i = 0; i < l.count && said; i++) {
        cw_progress_step(&progress, i, differ);
        run(m, l.path[i], &said[i]);
        differ += said[i].status != 0;
        worst = said[i].status > worst ? said[i].status : worst;
        if (!m->json)
            print_line(l.path[i], width, &said[i]);
        fflush(stdout);
        if (m->compares)
            add_result(&results, l.path[i], &said[i]);
        cw_buf_finish(&said[i].all);
    }
    cw_progress_clear(&progress);
    if (m->compares && !m->json && results.count) {
        putchar('\n');
        cwd_results_table(&results, "", stdout);
    }
    if (!said || results.failed || ((m->json || m->html) && !write_results(m, &l, said, &results, worst)))
        worst = TROUBLE;
    cwd_results_finish(&results);
    for (size_t i = 0; i < l.count; i++)
        free(l.path[i]);
    free(l.path);
    free(said);
    return worst;
}

bool
cwd_take_input(char *folder, size_t folder_size, char *path, size_t path_size, const char **why)
{
    static char chunk[1 << 16];
    const char *base = getenv("TMPDIR");
    *folder = 0;
    *why = "no folder for temporary files: TMPDIR and /tmp cannot be written";
    if (!(base && cw_temp_make(base, "input", folder, folder_size)) && !cw_temp_make("/tmp", "input", folder, folder_size))
        return false;
    snprintf(path, path_size, "%s/input" CWD_SUFFIX, folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = -1;
    while (fd >= 0 && ((n = read(STDIN_FILENO, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0 && !cw_write_all(fd, chunk, (size_t)n)) {
            n = -1;
            break;
        }
    *why = strerror(errno);
    if (fd >= 0)
        close(fd);
    return n == 0;
}
