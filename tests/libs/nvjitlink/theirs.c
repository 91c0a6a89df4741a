/* SPDX-License-Identifier: Apache-2.0
 * Plays the part of NVIDIA's libnvJitLink where it links LTO-IR: the PTX behind the first four bytes comes out. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

struct theirs { bool lto, ptx; char text[4096]; };

int
nvJitLinkCreate(struct theirs **h, uint32_t n, const char **options)
{
    if (!(*h = calloc(1, sizeof **h)))
        return 6;
    for (uint32_t i = 0; i < n; i++) {
        (*h)->lto |= !strcmp(options[i], "-lto");
        (*h)->ptx |= !strcmp(options[i], "-ptx");
    }
    return 0;
}

int nvJitLinkDestroy(struct theirs **h) { free(*h); *h = NULL; return 0; }
int nvJitLinkAddData(struct theirs *h, int type, const void *data, size_t size, const char *name) { if (type != 3) return 12; memcpy(h->text, (const char *)data + 4, size - 4); return name ? 0 : 3; }
int nvJitLinkComplete(struct theirs *h) { return h->lto && h->ptx ? 0 : 11; }
int nvJitLinkGetLinkedPtxSize(struct theirs *h, size_t *size) { *size = strlen(h->text) + 1; return 0; }
int nvJitLinkGetLinkedPtx(struct theirs *h, char *to) { strcpy(to, h->text); return 0; }
int nvJitLinkGetErrorLogSize(struct theirs *h, size_t *size) { *size = h ? 1 : 0; return 0; }
int nvJitLinkGetErrorLog(struct theirs *h, char *to) { *to = 0; return h ? 0 : 10; }
