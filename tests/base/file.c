/* SPDX-License-Identifier: Apache-2.0
 * cw_file_write_atomic: a plain file is replaced whole, a link stays one, and what is no plain file is written to and stays what it is. Descriptors: none of
 * the standard ones is taken, and what is closed is not taken for another file. */
#define _GNU_SOURCE
#include "impl/base/file.h"
#include "impl/base/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(x) ((x) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x)))

static bool
holds(const char *path, const char *text)
{
    char *data;
    size_t size;
    if (cw_file_read(path, 100, &data, &size))
        return false;
    bool same = size == strlen(text) && !memcmp(data, text, size);
    free(data);
    return same;
}

static void
mapped_files(void)
{
    struct cw_mapped_file f;
    CHECK(cw_file_map("plain", &f) == CW_OK && f.size == 3 && !memcmp(f.data, "two", 3));
    cw_file_unmap(&f);
    CHECK(!f.data);
    cw_file_unmap(&f);
    CHECK(cw_file_map("none", &f) == CW_ERR_NOT_FOUND && cw_file_map(".", &f) == CW_ERR_INVALID && cw_file_map("/dev/zero", &f) == CW_ERR_INVALID);
    CHECK(cw_file_write_atomic("empty", "", 0, 0600) == CW_OK && cw_file_map("empty", &f) == CW_ERR_INVALID && !f.data && !unlink("empty"));
}

/* A pipe without a writer, a link and what others can write to are not read, and nothing waits. */
static void
own_files(void)
{
    char *data;
    size_t size;
    alarm(20);
    CHECK(!mkfifo("waits", 0600) && cw_file_read_own("waits", 100, &data, &size) == CW_ERR_INVALID);
    CHECK(!symlink("plain", "other") && cw_file_read_own("other", 100, &data, &size) == CW_ERR_INVALID);
    CHECK(cw_file_read_own("/dev/zero", 100, &data, &size) == CW_ERR_INVALID && cw_file_read_own("none", 100, &data, &size) == CW_ERR_NOT_FOUND);
    CHECK(!chmod("plain", 0620) && cw_file_read_own("plain", 100, &data, &size) == CW_ERR_INVALID && !chmod("plain", 0600));
    CHECK(cw_file_read_own("plain", 100, &data, &size) == CW_OK && size == 3);
    free(data);
    CHECK(cw_file_read_regular("waits", 100, &data, &size) == CW_ERR_INVALID && cw_file_read_regular(".", 100, &data, &size) == CW_ERR_INVALID);
    CHECK(cw_file_read_own(".", 100, &data, &size) == CW_ERR_INVALID && cw_file_read_regular("none", 100, &data, &size) == CW_ERR_NOT_FOUND);
    CHECK(cw_file_read_regular("other", 100, &data, &size) == CW_OK && size == 3);
    free(data);
    CHECK(!unlink("waits") && !unlink("other"));
    alarm(0);
}

/* The limit of file sizes is an error of the write and no signal, the old file stays, and modes hold under any umask. */
static void
sizes_and_modes(void)
{
    static char big[100000];
    struct rlimit old, low;
    struct stat s;
    mode_t mask = umask(0777);
    CHECK(cw_file_write_atomic("private", "one", 3, 0600) == CW_OK && !stat("private", &s) && (s.st_mode & 0777) == 0600);
    CHECK(cw_mkdirs("a/b", 0700) == CW_OK && !stat("a/b", &s) && (s.st_mode & 0777) == 0700);
    umask(mask);
    getrlimit(RLIMIT_FSIZE, &old);
    low = (struct rlimit){ 4096, old.rlim_max };
    setrlimit(RLIMIT_FSIZE, &low);
    CHECK(cw_file_write_atomic("private", big, sizeof big, 0600) == CW_ERR_IO && errno == EFBIG && holds("private", "one"));
    setrlimit(RLIMIT_FSIZE, &old);
    int p[2];
    CHECK(!pipe(p) && !close(p[0]) && !cw_write_all(p[1], "x", 1) && errno == EPIPE);
    close(p[1]);
    CHECK(!unlink("private") && !rmdir("a/b") && !rmdir("a"));
}

/* With 0, 1 and 2 closed no descriptor that stays open is one of them. */
static void
standard_descriptors(void)
{
    pid_t pid = fork();
    if (!pid) {
        struct cw_new_file f;
        struct cw_fd_file file;
        for (int i = 0; i < 3; i++)
            close(i);
        int fd = cw_memory_file("test", 4096);
        bool ok = fd > 2 && cw_fd_file(fd, &file) && cw_fd_is(fd, &file) && fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(0, F_GETFD) < 0;
        ok &= cw_new_file_begin(&f, "new", 0600) == CW_OK && f.fd > 2 && cw_new_file_finish(&f, false) == CW_OK;
        ok &= cw_fd_keep(-1) == -1 && cw_fd_keep(fd) == fd;
        ok &= !close(fd) && !cw_fd_is(fd, &file) && open("/dev/null", O_RDONLY) == 0 && dup2(0, fd) == fd && !cw_fd_is(fd, &file);
        cw_fd_close(fd, &file);
        _exit(!ok || fcntl(fd, F_GETFD) < 0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

#ifndef __SANITIZE_THREAD__     /* which does not wait for a first thread */
static void *
writes_later(void *main_thread)
{
    char *data;
    size_t size;
    if (pthread_join(*(pthread_t *)main_thread, NULL))
        _exit(2);
    const bool ok = cw_file_write_atomic("late", "one", 3, 0600) == CW_OK && cw_file_write_atomic("late", "two", 3, 0600) == CW_OK &&
                    cw_file_read("late", 100, &data, &size) == CW_OK && size == 3 && !memcmp(data, "two", 3) && !unlink("late");
    _exit(!ok);
}

/* A process goes on when its first thread has ended. */
static void
first_thread_ended(void)
{
    pid_t pid = fork();
    if (!pid) {
        static pthread_t first, other;
        first = pthread_self();
        if (pthread_create(&other, NULL, writes_later, &first))
            _exit(3);
        pthread_exit(NULL);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}
#endif

static unsigned
count(const char *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* A process that is killed before the end leaves nothing. */
static void
killed(void)
{
    unsigned before = count(".");
    pid_t pid = fork();
    if (!pid) {
        struct cw_new_file f;
        if (cw_new_file_begin(&f, "cut", 0600) == CW_OK && cw_write_all(f.fd, "half", 4))
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFSIGNALED(status) && count(".") == before);
}

/* What nobody has locked and what looks like a temporary folder, but has not the reserved prefix: a recording, dumps that were kept. */
static void
folders_of_others(const char *base)
{
    static const char *const names[] = { "cudaway-trace-matmul-20260101-000000", "cudaway-diff-matmul", "cudaway-diff-abcdef", "cudaway-replay-aBcDeF" };
    const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
    char path[200];
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(!mkdir(names[i], 0700) && !utimensat(AT_FDCWD, names[i], old, 0));
    pid_t pid = fork();                 /* a process cleans a place once */
    if (!pid) {
        bool ok = cw_temp_make(base, "test", path, sizeof path);
        cw_temp_remove(path);
        _exit(!ok);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK(!status);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(!rmdir(names[i]));
}

/* A name that another process has taken is not replaced. */
static void
claimed_names(void)
{
    struct cw_new_file f;
    CHECK(cw_new_file_begin(&f, "0001", 0600) == CW_OK && cw_write_all(f.fd, "mine", 4));
    CHECK(cw_file_write_atomic("0001", "theirs", 6, 0600) == CW_OK);
    CHECK(!cw_new_file_claim(&f, "0001") && errno == EEXIST && cw_new_file_claim(&f, "0002") && cw_new_file_finish(&f, true) == CW_OK);
    CHECK(holds("0001", "theirs") && holds("0002", "mine") && !unlink("0001") && !unlink("0002"));
    int fd = open("beside", O_RDWR | O_CREAT | O_CLOEXEC, 0600);        /* as where files cannot be without a name */
    f = (struct cw_new_file){ .fd = fd, .path = strdup("0001"), .temporary = strdup("beside") };
    CHECK(cw_file_write_atomic("0001", "theirs", 6, 0600) == CW_OK && !cw_new_file_claim(&f, "0001") && errno == EEXIST);
    CHECK(cw_new_file_claim(&f, "0002") && cw_new_file_finish(&f, true) == CW_OK && holds("0001", "theirs") && holds("0002", ""));
    CHECK(!unlink("0001") && !unlink("0002") && access("beside", F_OK));
}

/* Deeper than the files that a process may open, without rights, and links to what must stay. */
static void
removed_trees(void)
{
    struct rlimit old, low;
    getrlimit(RLIMIT_NOFILE, &old);
    low = (struct rlimit){ 64, old.rlim_max };
    int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(!mkdir("stays", 0700) && !close(open("stays/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) && !mkdir("tree", 0700));
    for (unsigned i = 0; i < 150 && at >= 0; i++) {
        int next = openat(at, i ? "d" : "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(!mkdirat(next, "d", 0700) && !symlinkat("../stays", next, "link") && !mkdirat(next, "closed", 0700) && !mkdirat(next, "closed/x", 0700));
        CHECK(!fchmodat(next, "closed", 0, 0) && !close(openat(next, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0)));
        close(at);
        at = next;
    }
    close(at);
    setrlimit(RLIMIT_NOFILE, &low);
    cw_remove_tree("tree");
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK(access("tree", F_OK) && !symlink("stays", "tree"));
    cw_remove_tree("tree");
    CHECK(!access("stays/file", F_OK) && !unlink("tree") && !unlink("stays/file") && !rmdir("stays"));
}

/* A folder is emptied, its owner puts a link in place of one that is being emptied: what that link names stays. */
static void
moved_folders(void)
{
    char path[100];
    CHECK(!mkdir("stays", 0700) && !mkdir("tree", 0700) && !mkdir("tree/d", 0700) && !close(open("stays/precious", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
    for (unsigned i = 0; i < 500; i++) {
        snprintf(path, sizeof path, "tree/d/%u", i);
        CHECK(!close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
    }
    CHECK(!close(open("tree/d/precious", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
    int ready[2];
    CHECK(!pipe(ready));
    pid_t pid = fork();
    if (!pid) {
        char events[4096];
        int in = inotify_init();
        if (inotify_add_watch(in, "tree/d", IN_DELETE) < 0 || write(ready[1], "", 1) != 1 || read(in, events, sizeof events) <= 0 || rename("tree/d", "away") ||
            symlink("../stays", "tree/d"))
            _exit(1);
        _exit(0);
    }
    CHECK(read(ready[0], path, 1) == 1);
    cw_remove_tree("tree");
    waitpid(pid, NULL, 0);
    CHECK(!access("stays/precious", F_OK));
    cw_remove_tree("tree");
    cw_remove_tree("away");
    CHECK(!unlink("stays/precious") && !rmdir("stays") && !close(ready[0]) && !close(ready[1]));
}

/* The next process removes the folder of a killed one, and not that of one that lives. */
static void
temporary_folders(const char *base)
{
    const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
    char mine[200], path[200];
    int p[2], hold[2];
    CHECK(!pipe(p) && !pipe(hold));
    for (int k = 0; k < 2; k++) {
        pid_t pid = fork();
        if (!pid) {
            char c;
            close(hold[1]);
            if (!cw_temp_make(base, "test", path, sizeof path) || chdir(path) || close(open("file", O_CREAT | O_WRONLY, 0600)) || utimensat(AT_FDCWD, path, old, 0) ||
                write(p[1], path, sizeof path) != sizeof path)
                _exit(1);
            if (k)
                (void)!read(hold[0], &c, 1);
            kill(getpid(), SIGKILL);
        }
        if (!k)
            waitpid(pid, NULL, 0);
    }
    char dead[200], live[200];
    CHECK(read(p[0], dead, sizeof dead) == sizeof dead && read(p[0], live, sizeof live) == sizeof live);
    CHECK(cw_temp_make(base, "test", mine, sizeof mine));
    CHECK(access(dead, F_OK) && !access(live, F_OK) && !access(mine, F_OK));
    cw_temp_remove(mine);
    CHECK(access(mine, F_OK));
    close(hold[1]);
    wait(NULL);
    CHECK(!chdir(live) && !unlink("file") && !chdir(base) && !rmdir(live));
    for (int i = 0; i < 2; i++)
        close(p[i]);
    close(hold[0]);
}

int
main(void)
{
    char dir[] = "/tmp/cudaway-file-XXXXXX", text[8];
    struct stat s;
    if (!mkdtemp(dir) || chdir(dir))
        return perror(dir), 1;

    CHECK(cw_file_write_atomic("plain", "one", 3, 0640) == CW_OK && holds("plain", "one"));
    CHECK(!stat("plain", &s) && (s.st_mode & 0777) == 0640);
    CHECK(!symlink("plain", "link") && cw_file_write_atomic("link", "two", 3, 0644) == CW_OK);
    CHECK(holds("plain", "two") && !lstat("link", &s) && S_ISLNK(s.st_mode));

    int fd = mkfifo("pipe", 0600) ? -1 : open("pipe", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && cw_file_is_special("pipe") && cw_file_write_atomic("pipe", "three", 5, 0644) == CW_OK);
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 5 && !memcmp(text, "three", 5));
    CHECK(!lstat("pipe", &s) && S_ISFIFO(s.st_mode));
    struct cw_new_file f;               /* also what is written piece by piece */
    CHECK(cw_new_file_begin(&f, "pipe", 0600) == CW_OK && cw_write_all(f.fd, "four", 4) && cw_new_file_finish(&f, true) == CW_OK);
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 4 && !lstat("pipe", &s) && S_ISFIFO(s.st_mode));
    CHECK(cw_new_file_begin(&f, "pipe", 0600) == CW_OK && cw_new_file_finish(&f, false) == CW_OK && !lstat("pipe", &s) && S_ISFIFO(s.st_mode));
    CHECK(cw_file_is_special("/dev/null") && !cw_file_is_special("plain") && !cw_file_is_special("none"));
    CHECK(cw_file_write_atomic(".", "x", 1, 0644) == CW_ERR_IO && cw_file_write_atomic("no/where", "x", 1, 0644) == CW_ERR_IO);

    if (fd >= 0)
        close(fd);
    mapped_files();
    own_files();
    sizes_and_modes();
    standard_descriptors();
#ifndef __SANITIZE_THREAD__
    first_thread_ended();
#endif
    killed();
    folders_of_others(dir);
    temporary_folders(dir);
    claimed_names();
    removed_trees();
    moved_folders();
    CHECK(!unlink("link") && !unlink("plain") && !unlink("pipe") && !rmdir(dir)); /* and no temporary file is left */
    return failures != 0;
}
