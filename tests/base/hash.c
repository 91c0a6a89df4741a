/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 against the examples of FIPS 180-4 (NIST's "Examples with Intermediate Values"), in pieces of every size, and the
 * plain compression against whatever the CPU offers. */
#include "impl/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void
check(const char *what, int ok)
{
    if (!ok)
        printf("FAIL %s\n", what);
    failures += !ok;
}

/* The same digest, from the plain compression and a padding of its own. */
static void
plain(const uint8_t *data, size_t size, uint8_t digest[32])
{
    uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    size_t total = (size + 9 + 63) / 64 * 64;
    uint8_t *m = calloc(1, total);
    if (!m)
        exit(2);
    memcpy(m, data, size);
    m[size] = 0x80;
    for (int i = 0; i < 8; i++)
        m[total - 1 - (size_t)i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
    cw_sha256_blocks_plain(h, m, total / 64);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    free(m);
}

int
main(void)
{
    static const struct { const char *text, *digest; } known[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    char hex[65], other[65];
    uint8_t d[32];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cw_sha256_hex(known[i].text, strlen(known[i].text), hex);
        check(known[i].text, !strcmp(hex, known[i].digest));
        plain((const uint8_t *)known[i].text, strlen(known[i].text), d);
        cw_hex(d, 32, hex);
        check(known[i].text, !strcmp(hex, known[i].digest));
    }
    enum { MILLION = 1000000 };
    char *a = malloc(MILLION);
    if (!a)
        return 2;
    memset(a, 'a', MILLION);
    cw_sha256_hex(a, MILLION, hex);
    check("a million times a", !strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
    for (unsigned i = 0; i < 700; i++)
        a[i] = (char)(i * 37 + i / 251);
    for (unsigned size = 0; size < 700; size++) {
        struct cw_sha256 s;
        cw_sha256_init(&s);
        for (unsigned at = 0, piece = 1; at < size; at += piece, piece = piece * 5 % 131 + 1) {
            if (piece > size - at)
                piece = size - at;
            cw_sha256_update(&s, a + at, piece);
        }
        cw_sha256_finish(&s, d);
        cw_hex(d, 32, hex);
        plain((const uint8_t *)a, size, d);
        cw_hex(d, 32, other);
        if (strcmp(hex, other)) {
            printf("FAIL %u bytes in pieces\n", size);
            failures++;
        }
    }
    free(a);
    return failures != 0;
}
