/* SPDX-License-Identifier: Apache-2.0
 * See temp.h. What is removed is told by three things together: the reserved prefix, this user as the owner, and a lock that nobody holds. */
#define _GNU_SOURCE
#include "impl/base/temp.h"

#include "impl/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* Remove it if it is of this user, not new, and nobody has its lock; with the lock. */
static void
remove_left_behind(int dir, const char *name, time_t now)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && st.st_uid == geteuid() && st.st_mtim.tv_sec < now - MIN_AGE_S && !flock(fd, LOCK_EX | LOCK_NB))
        cw_remove_tree_at(dir, name);
    close(fd);
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
    for (struct dirent *e; (e = readdir(d));)
        if (!strncmp(e->d_name, CW_TEMP_PREFIX, sizeof CW_TEMP_PREFIX - 1))
            remove_left_behind(dirfd(d), e->d_name, now);
    closedir(d);
}

/* Without the lock others would take it for left behind; where the file system has none, nobody gets it. */
static int
lock_folder(const char *path)
{
    int fd = cw_fd_keep(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0)
        (void)flock(fd, LOCK_SH);
    return fd;
}

bool
cw_temp_make(const char *base, const char *kind, char *path, size_t size)
{
    if (snprintf(path, size, "%s/" CW_TEMP_PREFIX "%s-XXXXXX", base, kind) >= (int)size) {
        errno = ENAMETOOLONG;
        return false;
    }
    struct folder *f = malloc(sizeof *f + strlen(path) + 1);
    if (!f)
        return false;
    pthread_mutex_lock(&lock);
    sweep(base);
    bool made = mkdtemp(path) != NULL;
    if (made)
        (void)chmod(path, 0700);        /* whatever the umask; a confined process may not, and has none that matters */
    f->fd = made ? lock_folder(path) : -1;
    int saved = errno;
    if (f->fd >= 0) {
        strcpy(f->path, path);
        (void)cw_fd_file(f->fd, &f->file);
        f->next = folders;
        folders = f;
    } else {
        if (made)
            (void)rmdir(path);
        free(f);
        made = false;
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
    cw_remove_tree(path);
    if (f)
        cw_fd_close(f->fd, &f->file);
    free(f);
}
