/* SPDX-License-Identifier: Apache-2.0
 * See cc.h: the compiler runs in a folder of its own under TMPDIR, which is gone afterwards. */
#define _GNU_SOURCE
#include "impl/base/file.h"
#include "tools/cc/cc.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PTX (1ull << 32)
extern char **environ;

bool
cc_is_source(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".cuda"));
}

/* FOLDER/NAME of the first folder in a list that has such a program; malloc'd or NULL. */
static char *
in_folders(const char *list, const char *name)
{
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ":");
        char *path;
        if (n && asprintf(&path, "%.*s/%s", (int)n, p, name) > 0) {
            if (!access(path, X_OK))
                return path;
            free(path);
        }
        p += n + (p[n] == ':');
    }
    return NULL;
}

static char *
toolkit_folder(const char *sub)
{
    const char *home = getenv("CUDA_HOME");
    char *path;
    return asprintf(&path, "%s/%s", home && *home ? home : "/usr/local/cuda", sub) > 0 ? path : NULL;
}

/* nvcc in PATH or in the toolkit, else clang. */
static char *
find_compiler(void)
{
    static const char *const clangs[] = { "clang-22", "clang" };
    char *bin = toolkit_folder("bin"), *found = in_folders(getenv("PATH"), "nvcc");
    if (!found)
        found = in_folders(bin, "nvcc");
    for (unsigned i = 0; i < sizeof clangs / sizeof *clangs && !found; i++)
        found = in_folders(getenv("PATH"), clangs[i]);
    free(bin);
    return found;
}

/* Run it; false after a message. What the compiler has to say it says itself. */
static bool
run(char *const *argv)
{
    pid_t pid;
    int status = 0, e = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    while (!e && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (e)
        cc_say("%s: %s", argv[0], strerror(e));
    else if (!WIFEXITED(status) || WEXITSTATUS(status))
        cc_say("%s failed", argv[0]);
    return !e && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The names behind the colon of a rule that a compiler wrote. */
static void
read_rule(char *s, struct cw_buf *files)
{
    s = strstr(s, ": ");
    for (s = s ? s + 1 : NULL; s && *s;) {
        s += strspn(s, " \t\r\n");
        if (*s == '\\' && (s[1] == '\n' || s[1] == '\r')) {
            s++;
            continue;
        }
        size_t had = files->size;
        for (; *s && !strchr(" \t\r\n", *s); s++) {
            if (*s == '\\' && (s[1] == ' ' || s[1] == '#'))
                s++;
            else if (*s == '$' && s[1] == '$')
                s++;
            cw_buf_append(files, s, 1);
        }
        if (files->size != had)
            cw_buf_append(files, "", 1);
    }
}

char *
cc_source_to_ptx(const struct cc_source *s, size_t *size, struct cw_buf *files)
{
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX], out[PATH_MAX + 8], rule[PATH_MAX + 8], arch[40], *data = NULL, *text = NULL;
    char *compiler = s->compiler ? strdup(s->compiler) : find_compiler(), *header = toolkit_folder("include/cuda_runtime.h");
    size_t n = 0, count = 0, length;
    while (s->options[count])
        count++;
    char **argv = calloc(count + 32, sizeof *argv);
    if (!compiler || !argv || !header) {
        cc_say(!compiler ? "cannot compile %s: there is neither nvcc nor clang in PATH; install clang-22, or name a compiler with --compiler" : "%s: out of memory",
               s->path);
        goto finish;
    }
    snprintf(folder, sizeof folder, "%s/cudaway-cc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        cc_say("%s: %s", folder, strerror(errno));
        goto finish;
    }
    snprintf(out, sizeof out, "%s/a.ptx", folder);
    snprintf(rule, sizeof rule, "%s/a.d", folder);
    const char *base = strrchr(compiler, '/') ? strrchr(compiler, '/') + 1 : compiler;
    argv[n++] = compiler;
    if (!strncmp(base, "nvcc", 4)) {
        snprintf(arch, sizeof arch, "-arch=compute_%u", s->sm);
        argv[n++] = "-ptx";
        argv[n++] = arch;
        argv[n++] = "-O3";
    } else {
        snprintf(arch, sizeof arch, "--cuda-gpu-arch=sm_%u", s->sm);
        for (const char *const *p = (const char *const[]){ "-x", "cuda", "--cuda-device-only", arch, "-O3", "-S", NULL }; *p; p++)
            argv[n++] = (char *)*p;
        if (access(header, R_OK))       /* no toolkit: the source brings its own declarations, and clang knows no version of PTX */
            for (const char *const *p = (const char *const[]){ "--cuda-path=/nonexistent", "-nocudainc", "-nocudalib", s->sm > 90 ? "--cuda-feature=+ptx88" : "--cuda-feature=+ptx78", NULL }; *p; p++)
                argv[n++] = (char *)*p;
    }
    for (size_t i = 0; i < count; i++)
        argv[n++] = (char *)s->options[i];
    for (const char *const *p = (const char *const[]){ "-MD", "-MF", rule, s->path, "-o", out, NULL }; *p; p++)
        argv[n++] = (char *)*p;
    bool ok = run(argv);
    if (ok && (cw_file_read(out, MAX_PTX, &data, size) || cw_file_read(rule, 1 << 26, &text, &length))) {
        cc_say("%s left no PTX for %s", compiler, s->path);
        free(data);
        data = NULL;
    } else if (ok) {
        read_rule(text, files);
    }
    free(text);
    unlink(out);
    unlink(rule);
    rmdir(folder);
finish:
    free(compiler);
    free(header);
    free(argv);
    return data;
}
