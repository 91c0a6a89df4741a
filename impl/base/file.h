/* SPDX-License-Identifier: Apache-2.0
 * Small file helpers. Errors: CW_ERR_NOT_FOUND, CW_ERR_IO (errno kept for the message), CW_ERR_LIMIT, CW_ERR_NOMEM. */
#ifndef CW_FILE_H
#define CW_FILE_H

#include "impl/base/result.h"

#include <stdbool.h>
#include <stddef.h>

/* Read a whole file; *data is malloc'd with a NUL after *size bytes; files above max_size give CW_ERR_LIMIT. */
cw_result cw_file_read(const char *path, size_t max_size, char **data, size_t *size) CW_MUST_CHECK;
/* Whether path exists and is not a regular file, links followed: a device, a pipe, a folder. */
bool cw_file_is_special(const char *path);
/* Write to a temporary file in the same folder, fsync-free, then rename over path. Nothing is left behind on failure. A link to a file is
 * followed; a device or pipe is written to as it is. */
cw_result cw_file_write_atomic(const char *path, const void *data, size_t size, unsigned mode) CW_MUST_CHECK;
/* mkdir -p with the given mode for created folders. */
cw_result cw_mkdirs(const char *path, unsigned mode) CW_MUST_CHECK;
/* Folder that holds the shared object or program containing `address` (malloc'd), or NULL. */
char *cw_dir_of_object(const void *address);

/* A name of FOLDER for LD_LIBRARY_PATH and LD_PRELOAD: itself, or, where its name has a character that separates the names of
 * a list, LINK, which is made a symbolic link to it. malloc'd; NULL with errno set when that fails. */
char *cw_folder_for_list(const char *folder, const char *link);

#endif
