/* SPDX-License-Identifier: Apache-2.0
 * cudaway signatures: patterns of a user's libcudart_static.a, into his folder of signatures. */
#include "impl/base/file.h"
#include "impl/base/hash.h"
#include "impl/runtime/redirect/signature.h"
#include "tools/cudaway/cudaway.h"
#include "tools/cudaway/signature_make.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
make(const char *path, const char *output)
{
    char *data = NULL, *to = NULL, hex[65];
    size_t size;
    struct signature_made made;
    struct cw_buf b;
    int status = EXIT_TOOL;
    cw_buf_init(&b);
    cw_result r = cw_file_read(path, SIGNATURE_MAX_ARCHIVE, &data, &size);
    if (r) {
        say("%s: %s", path, r == CW_ERR_IO ? strerror(errno) : cw_result_text(r));
        goto finish;
    }
    r = signature_make(path, data, size, &b, &made);
    if (r == CW_ERR_NOT_FOUND)
        say("%s is no libcudart_static.a: it does not define the CUDA Runtime", path);
    else if (r)
        say("%s: %s", path, r == CW_ERR_DAMAGED ? "a damaged archive" : cw_result_text(r));
    if (r)
        goto finish;
    if (output) {
        to = text("%s", output);
    } else {
        char *folder = cw_signatures_folder();
        if (!folder || cw_mkdirs(folder, 0700)) {
            say("cannot make the folder for signatures: %s; name a file with -o", folder ? strerror(errno) : "HOME is not set");
            free(folder);
            goto finish;
        }
        cw_sha256_hex(data, size, hex);
        to = text("%s/cudart-%u-%.12s.sig", folder, made.major, hex);
        free(folder);
    }
    if (!strcmp(to, "-")) {
        status = fwrite(b.data, 1, b.size, stdout) == b.size && !fflush(stdout) ? 0 : EXIT_TOOL;
    } else if (cw_file_write_atomic(to, b.data, b.size, 0600)) {
        say("%s: %s", to, strerror(errno));
    } else {
        say("%s: CUDA Runtime %u, %zu functions in %zu sections: %s", path, made.major, made.functions, made.sections, to);
        status = 0;
    }
finish:
    free(data);
    free(to);
    cw_buf_finish(&b);
    return status;
}

static int
signatures(int argc, char **argv)
{
    const char *output = NULL;
    int c, status = 0;
    struct cw_command_line line = { &signatures_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        if (c != 'o')
            return line.status;
        output = optarg;
    }
    if (optind >= argc)
        return cw_usage_error(&signatures_command, "no archive given, such as /usr/local/cuda/lib64/libcudart_static.a");
    if (output && optind + 1 < argc)
        return cw_usage_error(&signatures_command, "-o takes one archive");
    for (int i = optind; i < argc; i++) {
        int one = make(argv[i], output);
        status = one ? one : status;
    }
    return status;
}

const struct cw_program signatures_command = {
    .name = "signatures",
    .parent = &cudaway_program,
    .summary = "make patterns of a toolkit's libcudart_static.a, for stripped programs",
    .operands = "ARCHIVE...",
    .description = "Reads a toolkit's libcudart_static.a and keeps patterns of its functions, by which stripped programs that were linked with it are redirected to "
                   "CUDAway's Runtime. They are kept in CUDAWAY_SIGNATURES, or ~/.config/cudaway/signatures.",
    .options = (const struct cw_option[]){ { 'o', "output", "FILE", "write there instead, - for standard output", "FILE" }, { 0 } },
    .complete = "FILE",
    .run = signatures,
    .usage_status = EXIT_USAGE,
};
