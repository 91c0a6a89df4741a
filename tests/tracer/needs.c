/* SPDX-License-Identifier: Apache-2.0
 * A library for `cudaway-trace check`: of the driver it imports one function that CUDAway has and one that no driver has, of cuBLAS and NVML one each, of the
 * Runtime one that is there in part, and weakly one that nobody has. */
int cuInit(unsigned flags);
int cuNoSuchFunction(void);
int cudaGetExportTable(const void **table, const void *id);
int cublasCreate_v2(void **handle);
int nvmlInit_v2(void);
int cuNoSuchWeakFunction(void) __attribute__((weak));
int needs(void);

int
needs(void)
{
    const void *table;
    void *handle;
    return cuInit(0) + cuNoSuchFunction() + cudaGetExportTable(&table, "") + cublasCreate_v2(&handle) + nvmlInit_v2() +
           (cuNoSuchWeakFunction ? cuNoSuchWeakFunction() : 0);
}
