/* SPDX-License-Identifier: Apache-2.0
 * ptxfind LIBRARY OUT: writes the largest PTX module that the file holds compressed with gzip, as ffmpeg's libraries
 * hold theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LIMIT (64u << 20)

int
main(int argc, char **argv)
{
    static unsigned char out[LIMIT];
    unsigned char *file = NULL, *best = NULL;
    size_t size = 0, room = 0, largest = 0, n;
    FILE *f = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!f) {
        fprintf(stderr, "ptxfind: cannot read %s\n", argc == 3 ? argv[1] : "(usage: ptxfind LIBRARY OUT)");
        return 2;
    }
    do {
        if (room - size < 4096 && !(file = realloc(file, room = room ? 2 * room : 1 << 20)))
            return 2;
        size += n = fread(file + size, 1, room - size, f);
    } while (n);
    fclose(f);
    for (size_t i = 0; i + 18 < size; i++) {
        if (file[i] != 0x1f || file[i + 1] != 0x8b || file[i + 2] != 8)
            continue;
        z_stream z = { .next_in = file + i, .avail_in = (unsigned)(size - i < LIMIT ? size - i : LIMIT),
                       .next_out = out, .avail_out = LIMIT - 1 };
        if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
            return 2;
        int end = inflate(&z, Z_FINISH);
        inflateEnd(&z);
        if (end != Z_STREAM_END || z.total_out <= largest)
            continue;
        out[z.total_out] = 0;
        if (!strstr((char *)out, ".version") || !strstr((char *)out, ".target"))
            continue;
        free(best);
        largest = z.total_out;
        if (!(best = malloc(largest)))
            return 2;
        memcpy(best, out, largest);
    }
    if (!best) {
        fprintf(stderr, "ptxfind: %s holds no compressed PTX\n", argv[1]);
        return 1;
    }
    f = fopen(argv[2], "wb");
    if (!f || fwrite(best, 1, largest, f) != largest || fclose(f)) {
        perror(argv[2]);
        return 2;
    }
    printf("bytes %zu\n", largest);
    return 0;
}
