/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input chooses options and calls of nvJitLink, and has what is linked: bytes up to the next form feed. Results are nvJitLink's own,
 * what a size promises is what the call after it writes, and a handle that was destroyed is NULL. The device is `null`. Without -lto, which NVIDIA's
 * library would be asked for. */
#include "tests/libs/nvjitlink/calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SUCCESS, MISSING_ARCH = 2, NULL_INPUT = 10, OPTIONS = 8, STEPS = 64 };

static const char *const options[OPTIONS] = { "-arch=sm_86", "-arch=compute_90", "-ptx", "-dlto", "-maxrregcount=32", "-maxrregcount=-1", "-g", "-O3" };
static const uint8_t *at, *end;

static unsigned
next(void)
{
    return at < end ? *at++ : 0;
}

/* A result that the library has, and nothing through a handle of NULL. */
static int
checked(handle h, int r)
{
    if (r < SUCCESS || r > NULL_INPUT || (!h && r != NULL_INPUT))
        abort();
    return r;
}

static void
get(handle h, int (*size_of)(handle, size_t *), int (*into)(handle, void *))
{
    size_t n = 0;
    if (checked(h, size_of(h, &n)) != SUCCESS)
        return;
    char *to = malloc(n + 1);
    if (!to)
        return;
    memset(to, 0x5a, n + 1);
    if (checked(h, into(h, to)) != SUCCESS || to[n] != 0x5a)
        abort();
    free(to);
}

static int
cubin(handle h, void *to)
{
    return nvJitLinkGetLinkedCubin(h, to);
}

static int
ptx(handle h, void *to)
{
    return nvJitLinkGetLinkedPtx(h, to);
}

static int
errors(handle h, void *to)
{
    return nvJitLinkGetErrorLog(h, to);
}

static handle
create(unsigned set)
{
    const char *some[OPTIONS];
    uint32_t n = 0;
    handle h = NULL;
    for (unsigned i = 0; i < OPTIONS; i++)
        if (set >> i & 1)
            some[n++] = options[i];
    int r = nvJitLinkCreate(&h, n, some);
    if ((r == SUCCESS) != (h != NULL) || (r == MISSING_ARCH) != !(set & 3))
        abort();
    return h;
}

static void
add(handle h)
{
    int type = (int)(next() % 12);
    const uint8_t *stop = at < end ? memchr(at, '\f', (size_t)(end - at)) : NULL;
    size_t n = (size_t)((stop ? stop : end) - at);
    uint8_t *copy = malloc(n ? n : 1);      /* of its own, so that reading behind it is seen */
    if (!copy)
        return;
    if (n)
        memcpy(copy, at, n);
    (void)checked(h, nvJitLinkAddData(h, type, copy, n, type & 1 ? "input" : NULL));
    free(copy);
    at = stop ? stop + 1 : end;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    at = data;
    end = data + size;
    handle h = create(next());
    for (unsigned i = 0; i < STEPS && at < end; i++) {
        switch (next() % 8) {
        case 0: case 1: case 2: add(h); break;
        case 3: (void)checked(h, nvJitLinkComplete(h)); break;
        case 4: get(h, nvJitLinkGetLinkedCubinSize, cubin); break;
        case 5: get(h, nvJitLinkGetLinkedPtxSize, ptx); break;
        case 6: get(h, nvJitLinkGetErrorLogSize, errors); break;
        default:
            if (h && (nvJitLinkDestroy(&h) != SUCCESS || h))
                abort();
            h = create(next() | 1);
        }
    }
    if (h && (nvJitLinkDestroy(&h) != SUCCESS || h))
        abort();
    return 0;
}
