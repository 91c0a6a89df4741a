/* SPDX-License-Identifier: Apache-2.0
 * Variables of device code by their shadows on the host. */
#include "test.h"

__constant__ int coefficients[4] = { 1, 2, 3, 4 };
__device__ int counter = 41;
__device__ double table[8];
static int no_symbol;

__global__ void
use(int *out)
{
    unsigned i = TID_X;
    if (i == 0)
        counter++;
    out[i] = coefficients[i & 3] * 100;
    table[i & 7] += 0.5;
}

int
main(void)
{
    int h[8], *d, value = 0, c[4] = { 5, 6, 7, 8 };
    double t[8];
    size_t size = 0;
    void *address = NULL;
    const void *sym_c = (const void *)&coefficients, *sym_n = (const void *)&counter, *sym_t = (const void *)&table;

    OK(cudaMalloc((void **)&d, sizeof h));
    OK(cudaMemcpyFromSymbol(&value, sym_n, sizeof value, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 41);
    OK(cudaGetSymbolSize(&size, sym_c));
    EXPECT(size == 16);
    OK(cudaGetSymbolSize(&size, sym_t));
    EXPECT(size == 64);
    use<<<1, 8>>>(d);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT(h[i] == (1 + (i & 3)) * 100);
    OK(cudaMemcpyToSymbol(sym_c, c, sizeof c, 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol(sym_c, &c[3], 4, 4, cudaMemcpyHostToDevice));     /* the second element becomes 8 */
    use<<<1, 8>>>(d);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 500 && h[1] == 800 && h[2] == 700 && h[3] == 800);
    OK(cudaGetSymbolAddress(&address, sym_n));
    OK(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost));
    EXPECT(value == 43);
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    value = 7;
    OK(cudaMemcpyToSymbolAsync(sym_n, &value, 4, 0, cudaMemcpyHostToDevice, s));
    value = 0;
    OK(cudaMemcpyFromSymbolAsync(&value, sym_n, 4, 0, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(value == 7);
    OK(cudaMemcpyFromSymbol(t, sym_t, sizeof t, 0, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT(t[i] == 1.0);
    REFUSED(cudaMemcpyToSymbol(sym_c, c, 8, 12, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    REFUSED(cudaMemcpyToSymbol((const void *)&no_symbol, c, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
    REFUSED(cudaMemcpyToSymbol(sym_c, c, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    REFUSED(cudaGetSymbolAddress(&address, (const void *)&no_symbol), cudaErrorInvalidSymbol);
    REFUSED(cudaGetSymbolSize(&size, NULL), cudaErrorInvalidSymbol);
    /* After a reset variables have their initial values again. */
    OK(cudaDeviceReset());
    OK(cudaMemcpyFromSymbol(&value, sym_n, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 41);
    return test_result();
}
