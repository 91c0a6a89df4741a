/* SPDX-License-Identifier: Apache-2.0
 * A fuzzer's inputs without libFuzzer: every file that is named, or that is in a folder that is named, goes in once. */
#include "impl/base/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count;

static int
one_file(const char *path)
{
    char *data;
    size_t size;
    if (cw_file_read(path, 16u << 20, &data, &size) != CW_OK) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    uint8_t *exact = malloc(size ? size : 1);       /* so that a sanitizer sees a read past the end */
    if (!exact) {
        free(data);
        return 1;
    }
    memcpy(exact, data, size);
    fprintf(stderr, "%s\n", path);                  /* the last one before a crash */
    LLVMFuzzerTestOneInput(exact, size);
    count++;
    free(exact);
    free(data);
    return 0;
}

int
main(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (!d) {
            status |= one_file(argv[i]);
            continue;
        }
        for (struct dirent *e; (e = readdir(d));) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (e->d_name[0] != '.')
                status |= one_file(path);
        }
        closedir(d);
    }
    printf("%u inputs\n", count);
    return status || !count;
}
