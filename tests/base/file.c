/* SPDX-License-Identifier: Apache-2.0
 * cw_file_write_atomic: a plain file is replaced whole, a link stays one, and what is no plain file is written to and stays what it is. */
#define _GNU_SOURCE
#include "impl/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    CHECK(cw_file_is_special("/dev/null") && !cw_file_is_special("plain") && !cw_file_is_special("none"));
    CHECK(cw_file_write_atomic(".", "x", 1, 0644) == CW_ERR_IO && cw_file_write_atomic("no/where", "x", 1, 0644) == CW_ERR_IO);

    if (fd >= 0)
        close(fd);
    CHECK(!unlink("link") && !unlink("plain") && !unlink("pipe") && !rmdir(dir)); /* and no temporary file is left */
    return failures != 0;
}
