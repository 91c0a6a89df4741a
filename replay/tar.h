/* SPDX-License-Identifier: Apache-2.0
 * The container of dumps: a POSIX ustar archive of plain files that ends with a member SHA256SUMS over all others, in the
 * form of sha256sum(1). The reader verifies every byte: header checksums, digests, and zeros where zeros belong. */
#ifndef CWD_TAR_H
#define CWD_TAR_H

#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "impl/base/result.h"
#include "replay/dump.h"

#define CWD_SUMS "SHA256SUMS"
enum { CWD_MAX_MEMBERS = 1 << 20, CWD_MAX_NAME = 99 };

struct cwd_tar_writer {
    char  *path;
    struct cw_new_file file;
    struct cw_buf sums;
    int    error;               /* errno of the first failure */
    cwd_next_path *next;        /* set after begin: a file is not replaced, its name is asked for instead of `path` */
    void  *user;
};

/* Errors are sticky and reported by end, which leaves either the whole file at `path` or nothing. */
void cwd_tar_begin(struct cwd_tar_writer *w, const char *path);
void cwd_tar_add(struct cwd_tar_writer *w, const char *name, const void *data, uint64_t size);
cw_result cwd_tar_end(struct cwd_tar_writer *w, bool discard, struct cwd_error *e) CW_MUST_CHECK;

struct cwd_member {
    char name[CWD_MAX_NAME + 1];
    const uint8_t *data;
    uint64_t size;
};

struct cwd_tar {
    struct cwd_member *members; /* sorted by name */
    size_t count;
};

/* Members point into `data`. *t is owned by the caller (cwd_tar_finish) on success. */
cw_result cwd_tar_read(const uint8_t *data, uint64_t size, struct cwd_tar *t, struct cwd_error *e) CW_MUST_CHECK;
void cwd_tar_finish(struct cwd_tar *t);
const struct cwd_member *cwd_tar_find(const struct cwd_tar *t, const char *name);

/* Set the text; returns r. */
cw_result cwd_fail(struct cwd_error *e, cw_result r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
