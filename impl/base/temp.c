/* SPDX-License-Identifier: Apache-2.0
 * See temp.h. */
#define _GNU_SOURCE
#include "impl/base/temp.h"

#include "impl/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "cudaway-"
enum { MIN_AGE_S = 60 };        /* a younger folder's owner may not have its lock yet */

struct folder {
    struct folder *next;
    int fd;                     /* with the lock */
    struct cw_fd_file file;
    char path[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct folder *folders;  /* lock, and so on */
static struct swept { struct swept *next; char base[]; } *swept;        /* places that this process has cleaned */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    (void)remove(path);
    return 0;
}

static void
remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Of this user, not new, and nobody has its lock. */
static bool
is_left_behind(int dir, const char *name, time_t now)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool left = fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && st.st_mtim.tv_sec < now - MIN_AGE_S && !flock(fd, LOCK_EX | LOCK_NB);
    if (fd >= 0)
        close(fd);
    return left;
}

/* What mkdtemp makes of our names: PREFIX, a kind, '-' and six characters. */
static bool
is_ours(const char *name)
{
    size_t n = strlen(name);
    return !strncmp(name, PREFIX, sizeof PREFIX - 1) && n > sizeof PREFIX + 6 && name[n - 7] == '-' && !strchr(name + n - 6, '-');
}

static void
sweep(const char *base)
{
    for (const struct swept *s = swept; s; s = s->next)
        if (!strcmp(s->base, base))
            return;
    struct swept *s = malloc(sizeof *s + strlen(base) + 1);
    DIR *d = s ? opendir(base) : NULL;
    if (!d) {
        free(s);
        return;
    }
    strcpy(s->base, base);
    s->next = swept;
    swept = s;
    time_t now = time(NULL);
    for (struct dirent *e; (e = readdir(d));) {
        char path[PATH_MAX];
        if (is_ours(e->d_name) && is_left_behind(dirfd(d), e->d_name, now) && snprintf(path, sizeof path, "%s/%s", base, e->d_name) < (int)sizeof path)
            remove_tree(path);
    }
    closedir(d);
}

bool
cw_temp_make(const char *base, const char *kind, char *path, size_t size)
{
    if (snprintf(path, size, "%s/" PREFIX "%s-XXXXXX", base, kind) >= (int)size) {
        errno = ENAMETOOLONG;
        return false;
    }
    struct folder *f = malloc(sizeof *f + strlen(path) + 1);
    if (!f)
        return false;
    pthread_mutex_lock(&lock);
    sweep(base);
    bool made = mkdtemp(path) != NULL;
    int saved = errno;
    if (made) {
        (void)chmod(path, 0700);        /* whatever the umask */
        strcpy(f->path, path);
        f->fd = cw_fd_keep(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (f->fd >= 0 && cw_fd_file(f->fd, &f->file))
            (void)flock(f->fd, LOCK_SH);
        f->next = folders;
        folders = f;
    } else {
        free(f);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
    return made;
}

void
cw_temp_remove(const char *path)
{
    struct folder *f = NULL;
    if (!path || !*path)
        return;
    pthread_mutex_lock(&lock);
    for (struct folder **l = &folders; *l && !f;)
        if (!strcmp((*l)->path, path)) {
            f = *l;
            *l = f->next;
        } else {
            l = &(*l)->next;
        }
    pthread_mutex_unlock(&lock);
    remove_tree(path);
    if (f && f->fd >= 0)
        cw_fd_close(f->fd, &f->file);
    free(f);
}
