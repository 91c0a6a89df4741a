/* SPDX-License-Identifier: Apache-2.0
 * Sequences of Runtime calls that a fuzzer chooses, beside a model of what is allocated, registered and created: a call that the model
 * allows succeeds, one that it does not is refused, and the last error is the last refusal. The device is `null`: kernels compute nothing. */
#include "impl/api/cuda_runtime.h"
#include "tests/runtime/program.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .align 8 .b8 v[64];\n"
                          ".visible .entry k(.param .u64 p)\n{\n ret;\n}\n";

enum { SLOTS = 8, CONFIGURATIONS = 6 };

static char stubs[SLOTS], variables[SLOTS];     /* the addresses by which programs name kernels and variables */

static struct model {
    void *memory[SLOTS];
    size_t bytes[SLOTS];
    bool managed[SLOTS], host[SLOTS];
    cudaStream_t stream[SLOTS];
    cudaEvent_t event[SLOTS];
    cudaGraph_t graph[SLOTS];
    void **binary[SLOTS];
    unsigned pushed;
    cudaError_t last;
} m;

static const uint8_t *at, *end;

static unsigned
rnd(void)
{
    return at < end ? *at++ : 0;
}

static void
expect(cudaError_t got, bool allowed, const char *call)
{
    if ((got == cudaSuccess) != allowed) {
        fprintf(stderr, "%s gave %s (%d), and the model says that it is %s\n", call, cudaGetErrorName(got), (int)got, allowed ? "allowed" : "wrong");
        abort();
    }
    if (got != cudaSuccess)
        m.last = got;
}
#define EXPECT(call, allowed) expect(call, allowed, #call)

static void
free_memory(unsigned i)
{
    EXPECT(m.host[i] ? cudaFreeHost(m.memory[i]) : cudaFree(m.memory[i]), true);        /* NULL is nothing to free */
    m.memory[i] = NULL;
    m.bytes[i] = 0;
    m.host[i] = m.managed[i] = false;
}

static void
memory_call(unsigned i)
{
    static char buffer[65536];
    size_t n = (size_t)rnd() << (rnd() % 8), from = (size_t)rnd() << (rnd() % 4);
    /* Behind an allocation another may lie, of this program or of a module: what is accessed begins inside, and ends there where the two may touch
     * and are accessed together. */
    bool inside = m.memory[i] && n && from + n <= m.bytes[i], alone = !m.managed[i] && !m.host[i];
    bool begins = inside || (m.memory[i] && n && from < m.bytes[i] && (alone || m.bytes[i] % 256));
    char *p = m.memory[i] ? (char *)m.memory[i] + from : NULL;
    struct cudaPointerAttributes a;
    switch (rnd() % 9) {
    case 0:
        free_memory(i);
        EXPECT(cudaMalloc(&m.memory[i], n), true);
        m.bytes[i] = n;
        break;
    case 1:
        free_memory(i);
        EXPECT(cudaMallocManaged(&m.memory[i], n, cudaMemAttachGlobal), true);        /* none of no bytes, as cudaMalloc */
        m.managed[i] = m.memory[i] != NULL;
        m.bytes[i] = m.memory[i] ? n : 0;
        break;
    case 2:
        free_memory(i);
        EXPECT(cudaHostAlloc(&m.memory[i], n, 0), true);
        m.host[i] = m.memory[i] != NULL;
        m.bytes[i] = n;
        break;
    case 3: free_memory(i); break;
    case 4:
        if (begins)
            EXPECT(cudaMemset(p, 1, n), inside);
        break;
    case 5:
        if (begins && !m.host[i])
            EXPECT(cudaMemcpy(p, buffer, n, cudaMemcpyHostToDevice), inside);
        break;
    case 6:
        if (begins && !m.host[i])
            EXPECT(cudaMemcpyAsync(buffer, p, n, cudaMemcpyDefault, 0), inside);
        break;
    case 7: EXPECT(cudaPointerGetAttributes(&a, m.memory[i] ? m.memory[i] : buffer), true); break;
    case 8: EXPECT(cudaFree(buffer + n), false); break;
    }
}

static void
object_call(unsigned i)
{
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    bool two = m.stream[i] && m.event[i];
    switch (rnd() % 10) {
    case 0:
        if (!m.stream[i])
            EXPECT(cudaStreamCreateWithFlags(&m.stream[i], rnd() & 1), true);
        break;
    case 1:
        if (m.stream[i])
            EXPECT(cudaStreamDestroy(m.stream[i]), true);
        m.stream[i] = NULL;
        break;
    case 2:
        if (!m.event[i])
            EXPECT(cudaEventCreateWithFlags(&m.event[i], rnd() & 3), true);
        break;
    case 3:
        if (m.event[i])
            EXPECT(cudaEventDestroy(m.event[i]), true);
        m.event[i] = NULL;
        break;
    case 4:
        if (two)
            EXPECT(cudaEventRecord(m.event[i], m.stream[i]), true);
        break;
    case 5:
        if (two)
            EXPECT(cudaStreamWaitEvent(m.stream[i], m.event[i], 0), true);
        break;
    case 6:
        if (m.stream[i])
            EXPECT(cudaStreamSynchronize(m.stream[i]), true);
        break;
    case 7:
        if (!m.graph[i])
            EXPECT(cudaGraphCreate(&m.graph[i], 0), true);
        break;
    case 8:
        if (m.graph[i])
            EXPECT(cudaGraphAddEmptyNode(&node, m.graph[i], NULL, 0), true);
        break;
    case 9:
        if (!m.graph[i])
            break;
        EXPECT(cudaGraphInstantiate(&exec, m.graph[i], 0), true);
        EXPECT(cudaGraphLaunch(exec, m.stream[i]), true);
        EXPECT(cudaGraphExecDestroy(exec), true);
        EXPECT(cudaGraphDestroy(m.graph[i]), true);
        m.graph[i] = NULL;
        break;
    }
}

static void
program_call(unsigned i)
{
    void *p = NULL, *parameters[] = { &p };
    dim3 grid = { 1 + rnd(), 1, 1 }, block = { rnd() * 8u, 1, 1 }, g, b;
    size_t shared, n;
    cudaStream_t stream;
    struct cudaFuncAttributes a;
    switch (rnd() % 8) {
    case 0:
        if (m.binary[i])
            break;
        m.binary[i] = __cudaRegisterFatBinary(&wrapper);
        __cudaRegisterFunction(m.binary[i], &stubs[i], (char *)"k", "k", -1, NULL, NULL, NULL, NULL, NULL);
        __cudaRegisterVar(m.binary[i], &variables[i], (char *)"v", "v", 0, 64, 0, 0);
        __cudaRegisterFatBinaryEnd(m.binary[i]);
        break;
    case 1:
        if (m.binary[i])
            __cudaUnregisterFatBinary(m.binary[i]);
        m.binary[i] = NULL;
        break;
    case 2: EXPECT(cudaLaunchKernel(&stubs[i], grid, block, parameters, 0, m.stream[i]), m.binary[i] && block.x && block.x <= 1024); break;
    case 3: EXPECT(cudaGetSymbolAddress(&p, &variables[i]), m.binary[i] != NULL); break;
    case 4:
        EXPECT(cudaGetSymbolSize(&n, &variables[i]), m.binary[i] != NULL);
        if (m.binary[i] && n != 64)
            abort();
        break;
    case 5: EXPECT(cudaFuncGetAttributes(&a, &stubs[i]), m.binary[i] != NULL); break;
    case 6:
        if (m.pushed < CONFIGURATIONS && !__cudaPushCallConfiguration(grid, block, 0, m.stream[i]))
            m.pushed++;
        break;
    case 7:
        if (m.pushed)
            EXPECT(__cudaPopCallConfiguration(&g, &b, &shared, &stream), true);
        m.pushed -= m.pushed != 0;
        break;
    }
}

static void
thread_call(void)
{
    cudaError_t want = m.last;
    if (rnd() & 1) {
        if (cudaPeekAtLastError() != want)
            abort();
    } else {
        if (cudaGetLastError() != want)
            abort();
        m.last = cudaSuccess;
    }
}

static void
end_all(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        free_memory(i);
        if (m.stream[i])
            EXPECT(cudaStreamDestroy(m.stream[i]), true);
        if (m.event[i])
            EXPECT(cudaEventDestroy(m.event[i]), true);
        if (m.graph[i])
            EXPECT(cudaGraphDestroy(m.graph[i]), true);
        if (m.binary[i])
            __cudaUnregisterFatBinary(m.binary[i]);
    }
    for (; m.pushed; m.pushed--)
        (void)__cudaPopCallConfiguration(&(dim3){ 0 }, &(dim3){ 0 }, &(size_t){ 0 }, &(cudaStream_t){ 0 });
    (void)cudaDeviceReset();
    (void)cudaGetLastError();
    m = (struct model){ 0 };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    pack_program(ptx, sizeof ptx);
    at = data;
    end = data + size;
    while (at < end) {
        unsigned what = rnd(), i = what / 8 % SLOTS;
        switch (what % 8) {
        case 0:
        case 1:
        case 2: memory_call(i); break;
        case 3:
        case 4: object_call(i); break;
        case 5:
        case 6: program_call(i); break;
        case 7: thread_call(); break;
        }
    }
    end_all();
    return 0;
}
