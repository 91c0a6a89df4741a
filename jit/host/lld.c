/* SPDX-License-Identifier: Apache-2.0
 * See lld.h. LLD reads and writes files, and keeps state in globals: a private temporary folder, and one link at a time. */
#define _GNU_SOURCE
#include "jit/host/lld.h"
#include "impl/base/file.h"
#include "jit/jit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CODE_OBJECT = 1 << 30 };

cw_result
cwj_lld_link(const void *object, size_t size, struct cw_buf *out, struct cwj_diags *diags)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *tmp = getenv("TMPDIR");
    char dir[PATH_MAX - 16], in[PATH_MAX], linked[PATH_MAX];
    if (snprintf(dir, sizeof dir, "%s/cudaway-link-XXXXXX", tmp && *tmp ? tmp : "/tmp") >= (int)sizeof dir || !mkdtemp(dir)) {
        cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot make a temporary folder in %s: %s", tmp && *tmp ? tmp : "/tmp",
                     strerror(errno));
        return CW_ERR_IO;
    }
    snprintf(in, sizeof in, "%s/in.o", dir);
    snprintf(linked, sizeof linked, "%s/out.so", dir);
    struct cw_buf messages;
    cw_buf_init(&messages);
    char *data = NULL;
    size_t n = 0;
    cw_result r = cw_file_write_atomic(in, object, size, 0600);
    if (r) {
        cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot write %s: %s", in, strerror(errno));
        goto done;
    }
    const char *argv[] = { "ld.lld", "-shared", "--no-undefined", "--threads=1", "--eh-frame-hdr", "-o", linked, in };
    pthread_mutex_lock(&lock);
    bool ok = cwj_lld_run(argv, sizeof argv / sizeof *argv, &messages);
    pthread_mutex_unlock(&lock);
    if (!ok) {
        cwj_diag_add(diags, PTX_ERROR, 5906, 0, 0, "linking the code object: %s",
                     messages.data && *messages.data ? messages.data : "LLD failed");
        r = CW_ERR_LLVM;
        goto done;
    }
    r = cw_file_read(linked, MAX_CODE_OBJECT, &data, &n);
    if (r) {
        cwj_diag_add(diags, PTX_ERROR, 5905, 0, 0, "cannot read %s: %s", linked, strerror(errno));
        goto done;
    }
    cw_buf_append(out, data, n);
    if (out->failed)
        r = CW_ERR_NOMEM;
done:
    free(data);
    unlink(in);
    unlink(linked);
    rmdir(dir);
    cw_buf_finish(&messages);
    return r;
}
