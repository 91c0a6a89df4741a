/* SPDX-License-Identifier: Apache-2.0
 * Sequences of driver calls that a fuzzer chooses, on one thread: each byte is a choice of at_random.h. Wrong handles must be recognised,
 * results must be among those that the call can have, and with all contexts gone nothing is left (the sanitizer looks). */
#include "tests/driver/at_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
end_all(_Atomic(void *) table[SHARED], CUresult (*end)(void *))
{
    for (int i = 0; i < SHARED; i++) {
        void *h = atomic_exchange(&table[i], NULL);
        if (h && end)
            (void)end(h);
    }
}

static CUresult
end_range(void *p)
{
    return free_range((uintptr_t)p);
}

static CUresult
end_piece(void *p)
{
    return cuMemRelease((uintptr_t)p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice s = { .data = data, .end = data + size };
    if (!size || size > 4096)
        return 0;
    OK(cuInit(0));
    make_contexts();
    while (s.data < s.end) {
        unsigned what = rnd(&s) % 8;
        if (what == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        else if (what == 1)
            context_step(&s);
        else
            work_step(&s);
    }
    (void)cuCtxSetCurrent(NULL);
    /* What no context owns. */
    end_all(links, (CUresult (*)(void *))cuLinkDestroy);
    end_all(libraries, (CUresult (*)(void *))cuLibraryUnload);
    end_all(execs, (CUresult (*)(void *))cuGraphExecDestroy);
    end_all(graphs, (CUresult (*)(void *))cuGraphDestroy);
    end_all(greens, (CUresult (*)(void *))cuGreenCtxDestroy);
    end_all(pools, (CUresult (*)(void *))cuMemPoolDestroy);
    end_all(ranges, end_range);
    end_all(pieces, end_piece);
    end_contexts();
    end_all(streams, NULL);
    end_all(events, NULL);
    end_all(modules, NULL);
    end_all(functions, NULL);
    end_all(writers, NULL);
    end_all(nodes, NULL);
    end_all(memory, NULL);
    end_all(arrays, NULL);
    end_all(mipmaps, NULL);
    if (failures)
        abort();
    return 0;
}
