/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4), for content-addressed names: the kernel cache and buffers of dumps. */
#ifndef CW_HASH_H
#define CW_HASH_H

#include <stddef.h>
#include <stdint.h>

struct cw_sha256 {
    uint32_t h[8];
    uint64_t length;
    uint8_t  block[64];
};

void cw_sha256_init(struct cw_sha256 *s);
void cw_sha256_update(struct cw_sha256 *s, const void *data, size_t size);
void cw_sha256_finish(struct cw_sha256 *s, uint8_t digest[32]);
/* Hex form of the digest of one buffer: 64 characters and a NUL. */
void cw_sha256_hex(const void *data, size_t size, char hex[65]);
void cw_hex(const uint8_t *bytes, size_t n, char *hex);
/* The compression of `count` blocks of 64 bytes in plain C. cw_sha256_update uses the CPU's instructions instead where it has them. */
void cw_sha256_blocks_plain(uint32_t h[8], const uint8_t *p, size_t count);

#endif
