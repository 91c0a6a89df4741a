/* SPDX-License-Identifier: Apache-2.0
 * See lld.h. LLD reads and writes files, and has global state: use a private temporary folder, and link one at a time. */
#define _GNU_SOURCE
#include "jit/llvm/lld.h"
#include "impl/base/file.h"
#include "impl/base/temp.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/llvm.h"
#include "jit/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_CODE_OBJECT = 1 << 30, MAX_IN_MEMORY = 1 << 22 };

/* Create a file in our private folder. */
static bool
write_file(const char *name, const struct cw_buf *b)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = cw_write_all(fd, b->data, b->size);
    int saved = errno;
    ok &= !close(fd);
    errno = saved;
    return ok;
}

static cw_result
io_error(void)
{
    return errno == ENOMEM ? CW_ERR_NOMEM : CW_ERR_IO;
}

/* Writes the objects to files and their names to `names`, `stride` bytes apart. */
static cw_result
write_objects(const char *dir, struct cw_buf *const *objects, size_t n, char *names, size_t stride, struct cwj_diags *diags)
{
    for (size_t i = 0; i < n; i++) {
        char *name = names + i * stride;
        snprintf(name, stride, "%s/%zu.o", dir, i);
        if (!write_file(name, objects[i])) {
            cw_result r = io_error();
            cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot write %s: %s", name, strerror(errno));
            return r;
        }
    }
    return CW_OK;
}

struct link {
    bool amdgcn;
    const char *names, *linked;     /* files to link, `stride` bytes apart; the output */
    size_t stride, n;
};

/* Runs contained. */
static cw_result
link_files(void *user)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *const code_object[] = { "-shared", "--no-undefined", "--eh-frame-hdr" };
    const struct link *l = user;
    const char **argv = calloc(l->n + 9, sizeof *argv);
    if (!argv)
        return CW_ERR_NOMEM;
    size_t argc = 0;
    argv[argc++] = "ld.lld";
    if (!l->amdgcn)
        argv[argc++] = "-r";
    for (unsigned i = 0; l->amdgcn && i < sizeof code_object / sizeof *code_object; i++)
        argv[argc++] = code_object[i];
    argv[argc++] = "--threads=1";
    argv[argc++] = "--no-mmap-output-file";     /* cheaper for a small, short-lived file */
    argv[argc++] = "-o";
    argv[argc++] = l->linked;
    for (size_t i = 0; i < l->n; i++)
        argv[argc++] = l->names + i * l->stride;
    cwj_llvm_init();            /* before LLD does */
    cwj_contain_lock(&lock);
    cwj_lld_run(argv, argc);
    cwj_contain_unlock(&lock);
    free(argv);
    return CW_OK;
}

/* Create a private folder: in TMPDIR if set; else in memory, where files are cheap, unless they are large or space is short; else in /tmp. A TMPDIR that nothing
 * can be written to is passed over, as temporary files of other libraries do. */
static cw_result
make_folder(char *dir, size_t size, struct cw_buf *const *objects, size_t n, struct cwj_diags *diags)
{
    const char *set = secure_getenv("TMPDIR"), *tmp = set && *set ? set : NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += objects[i]->size;
    struct statvfs fs;
    if (tmp && cw_temp_make(tmp, "link", dir, size))
        return CW_OK;
    if (bytes < MAX_IN_MEMORY && !statvfs("/dev/shm", &fs) && (uint64_t)fs.f_bavail * fs.f_bsize > 4 * MAX_IN_MEMORY && cw_temp_make("/dev/shm", "link", dir, size))
        return CW_OK;
    if (cw_temp_make("/tmp", "link", dir, size))
        return CW_OK;
    cw_result r = io_error();
    cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot make a temporary folder in %s%s/dev/shm or /tmp: %s", tmp ? tmp : "", tmp ? ", " : "", strerror(errno));
    return r;
}

cw_result
cwj_lld_link(bool amdgcn, struct cw_buf *const *objects, size_t n, struct cw_buf *out, struct cwj_diags *diags)
{
    char dir[PATH_MAX - 32], linked[PATH_MAX], *data = NULL;
    cw_result r = make_folder(dir, sizeof dir, objects, n, diags);
    if (r)
        return r;
    snprintf(linked, sizeof linked, "%s/out", dir);
    size_t size = 0, stride = strlen(dir) + 24;
    char *names = calloc(n, stride);
    r = CW_ERR_NOMEM;
    if (names)
        r = write_objects(dir, objects, n, names, stride, diags);
    if (!r) {
        struct link link = { amdgcn, names, linked, stride, n };
        r = cwj_contain(CWJ_CONTAIN_LINK, link_files, &link, diags);
    }
    if (!r) {
        r = cw_file_read(linked, MAX_CODE_OBJECT, &data, &size);
        if (r)
            cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot read %s: %s", linked, strerror(errno));
        else
            cw_buf_append(out, data, size);
    }
    if (!r && out->failed)
        r = CW_ERR_NOMEM;
    free(data);
    cw_temp_remove(dir);
    free(names);
    return r;
}
