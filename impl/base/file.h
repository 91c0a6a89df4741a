/* SPDX-License-Identifier: Apache-2.0
 * Small file helpers. Errors: CW_ERR_NOT_FOUND, CW_ERR_IO (errno kept for the message), CW_ERR_LIMIT, CW_ERR_NOMEM. */
#ifndef CW_FILE_H
#define CW_FILE_H

#include "impl/base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a whole file; *data is malloc'd with a NUL after *size bytes; files above max_size give CW_ERR_LIMIT. */
cw_result cw_file_read(const char *path, size_t max_size, char **data, size_t *size) CW_MUST_CHECK;
/* The same of a file that somebody else put into a folder: CW_ERR_INVALID for what is not a regular file, links followed. Does not block. */
cw_result cw_file_read_regular(const char *path, size_t max_size, char **data, size_t *size) CW_MUST_CHECK;
/* A file in memory, to look into: a large library costs what is read of it. CW_ERR_INVALID: not a regular file, or an empty one. Another process that shortens the
 * file meanwhile makes reads fault, as of any mapped file. */
struct cw_mapped_file {
    const void *data;
    size_t size;
};
cw_result cw_file_map(const char *path, struct cw_mapped_file *out) CW_MUST_CHECK;
void cw_file_unmap(struct cw_mapped_file *f);
/* Whether path exists and is not a regular file, links followed: a device, a pipe, a folder. */
bool cw_file_is_special(const char *path);
/* The file is replaced whole (cw_new_file), fsync-free. Nothing is left behind on failure. A link to a file is
 * followed; a device or pipe is written to as it is. */
cw_result cw_file_write_atomic(const char *path, const void *data, size_t size, unsigned mode) CW_MUST_CHECK;
/* The same into the file as it is, or a new one with the mode that the umask leaves, as fopen makes it: for what the program names. */
cw_result cw_file_write(const char *path, const void *data, size_t size) CW_MUST_CHECK;
/* A file of this process's user alone, as cw_file_read: CW_ERR_INVALID for a link, a pipe, a device, and what another user owns or can write to.
 * Does not block. */
cw_result cw_file_read_own(const char *path, size_t max_size, char **data, size_t *size) CW_MUST_CHECK;
/* Write all of it; errno. Signals that writing raises (SIGXFSZ at the limit of file sizes, SIGPIPE) do not reach the application. */
bool cw_write_all(int fd, const void *data, size_t size);
/* At this offset, from memory whose order with other writes the caller sees to. */
bool cw_write_all_at(int fd, const void *data, size_t size, uint64_t offset);

/* To the stream stdout, behind what is in its buffer, whole whatever signals arrive meanwhile: a stream gives up what a signal interrupts. Errors are lost,
 * as those of printf mostly are. */
void cw_stdout_write(const void *data, size_t size);

/* A descriptor that stays open: `fd`, or, where that is 0, 1 or 2, another number for it. A program that was started with one of these closed
 * prints into what has its number. `fd` is closed then; close-on-exec is set. -1 with errno: `fd` is -1, or there is no other number. */
int cw_fd_keep(int fd);
/* What a descriptor is of. A program may close descriptors that are not its own (closefrom, close_range), and get their numbers for its files. */
struct cw_fd_file { uint64_t device, inode; };
bool cw_fd_file(int fd, struct cw_fd_file *out);                /* false with errno: it is closed */
bool cw_fd_is(int fd, const struct cw_fd_file *file);           /* keeps errno */
void cw_fd_close(int fd, const struct cw_fd_file *file);        /* if it is still of that */
/* A file of memory whose size nobody can change: who has it could otherwise take pages from under another process. -1 with errno: no signal for the
 * limit of file sizes. The caller closes it. */
int cw_memory_file(const char *name, uint64_t size);
/* One that is passed to nobody, so its size need not be fixed: a process that only computes (confine.h) may make it. */
int cw_memory_file_own(const char *name, uint64_t size);

/* A file that is there whole or not at all. Until it is finished it has no name where the system can do that, so nothing is left of it when
 * the process is killed; elsewhere a temporary name beside it. A device or pipe is written to as it is: a name given over it would take
 * /dev/null from every process. */
struct cw_new_file {
    int fd;
    char *path, *temporary;             /* temporary: NULL without a name */
    bool special, named;                /* named: cw_new_file_claim gave it its name */
};
/* CW_ERR_IO with errno; nothing to finish then. The mode holds whatever the umask. */
cw_result cw_new_file_begin(struct cw_new_file *f, const char *path, unsigned mode) CW_MUST_CHECK;
/* Gives it the name `path`, in the folder that begin was given, only if nothing has it. False with errno; EEXIST: another name may be tried. Before finish, which
 * then keeps it under that name. */
bool cw_new_file_claim(struct cw_new_file *f, const char *path) CW_MUST_CHECK;
/* Gives it its name, over a file that has it, or drops it. CW_ERR_IO with errno: it is dropped. */
cw_result cw_new_file_finish(struct cw_new_file *f, bool keep);

/* mkdir -p with the given mode for created folders; a mode for this user alone holds whatever the umask. */
cw_result cw_mkdirs(const char *path, unsigned mode) CW_MUST_CHECK;
/* Remove a folder and all in it, as far as the rights go. No symbolic link is followed, `path` itself included, also if another process moves folders about meanwhile.
 * _at: the name in an open folder. */
void cw_remove_tree(const char *path);
void cw_remove_tree_at(int folder, const char *name);
/* Folder that holds the shared object or program containing `address` (malloc'd), or NULL. The caller's own is known from its load on, wherever
 * the process changes its folder to. */
char *cw_dir_of_object(const void *address);
enum { CW_PATH_MAX = 4096 };
bool cw_dir_of_object_in(const void *address, char dir[CW_PATH_MAX]);   /* without memory; false: none */
/* dlopen(path, RTLD_NOW | RTLD_LOCAL) for a path that names another's library. The audit module gives programs ours for such paths, and us the one
 * that we ask for; but who asks is the caller of the C library's dlopen, and a sanitizer's runtime or a preloaded library may stand before
 * that. dlmopen with a path is not redirected. */
void *cw_dlopen(const char *path);
/* Load `name` of the folder that holds `address`, or, if that is NULL, `name` as dlopen finds it, with its symbols private. NULL: *why says
 * why not, in `text`; *no_memory: for lack of memory or descriptors, so that it may work later. Constructors of C++ libraries end the process if they get no
 * memory; `need` bytes must be there for them. */
void *cw_open_library(const void *address, const char *name, size_t need, char *text, size_t size, bool *no_memory);

/* A name of FOLDER for LD_LIBRARY_PATH and LD_PRELOAD: itself, or, where its name has a character that separates the names of
 * a list, LINK, which is made a symbolic link to it. malloc'd; NULL with errno set when that fails. */
char *cw_folder_for_list(const char *folder, const char *link);

#endif
