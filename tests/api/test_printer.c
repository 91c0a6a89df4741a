/* SPDX-License-Identifier: Apache-2.0
 * The argument printers: expected texts written by hand from the CUDA documentation's names and values. */
#include "impl/api/cuda.h"
#include "impl/api/printer.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int failures;

static void
expect(struct cw_buf *b, const char *want, int line)
{
    if (b->failed || !b->data || strcmp(b->data, want)) {
        printf("line %d: got  %s\n         want %s\n", line, b->data ? b->data : "(nothing)", want);
        failures++;
    }
    cw_buf_finish(b);
    cw_buf_init(b);
}
#define EXPECT(want) expect(&b, want, __LINE__)

static void
call(struct cw_buf *b, const char *name, void *const *args, bool after, int result)
{
    const struct cw_meta_function *f = cw_meta_find(name);
    if (f)
        cw_cuda_print_call(b, f, args, after, result);
}

int
main(void)
{
    struct cw_buf b;
    cw_buf_init(&b);

    CUdeviceptr device = 0x7000, *pdevice = &device;
    size_t bytes = 1024;
    call(&b, "cuMemAlloc_v2", (void *[]){ &pdevice, &bytes }, true, CUDA_SUCCESS);
    EXPECT("cuMemAlloc_v2(dptr=0x7000, bytesize=1024) = CUDA_SUCCESS");

    pdevice = NULL;
    call(&b, "cuMemAlloc_v2", (void *[]){ &pdevice, &bytes }, true, CUDA_ERROR_INVALID_VALUE);
    EXPECT("cuMemAlloc_v2(dptr=NULL, bytesize=1024) = CUDA_ERROR_INVALID_VALUE");
    /* Not read before the call has returned. */
    pdevice = (CUdeviceptr *)0x10;
    call(&b, "cuMemAlloc_v2", (void *[]){ &pdevice, &bytes }, false, 0);
    EXPECT("cuMemAlloc_v2(dptr=0x10, bytesize=1024)");

    int value = -3, *pvalue = &value;
    CUdevice_attribute attribute = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    CUdevice dev = 0;
    call(&b, "cuDeviceGetAttribute", (void *[]){ &pvalue, &attribute, &dev }, true, 0);
    EXPECT("cuDeviceGetAttribute(pi=-3, attrib=CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=0) = CUDA_SUCCESS");
    attribute = (CUdevice_attribute)9999;
    pvalue = (int *)0x1000;
    call(&b, "cuDeviceGetAttribute", (void *[]){ &pvalue, &attribute, &dev }, true, CUDA_ERROR_INVALID_VALUE);
    EXPECT("cuDeviceGetAttribute(pi=0x1000, attrib=9999, dev=0) = CUDA_ERROR_INVALID_VALUE");

    /* Flags: one bit, several, an undefined one, the named zero, and no enumeration. */
    CUevent *pevent = NULL;
    unsigned flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | 0x40;
    call(&b, "cuEventCreate", (void *[]){ &pevent, &flags }, false, 0);
    EXPECT("cuEventCreate(phEvent=NULL, Flags=CU_EVENT_BLOCKING_SYNC|CU_EVENT_DISABLE_TIMING|0x40)");
    flags = 0;
    call(&b, "cuEventCreate", (void *[]){ &pevent, &flags }, false, 0);
    EXPECT("cuEventCreate(phEvent=NULL, Flags=CU_EVENT_DEFAULT)");
    call(&b, "cuInit", (void *[]){ &flags }, true, CUDA_SUCCESS);
    EXPECT("cuInit(Flags=0) = CUDA_SUCCESS");
    flags = 5;
    call(&b, "cuInit", (void *[]){ &flags }, true, 77777);
    EXPECT("cuInit(Flags=0x5) = 77777");

    /* Strings and handles. */
    CUmodule module = (CUmodule)0xabc;
    CUfunction function = (CUfunction)0xdef, *pfunction = &function;
    const char *name = "ker\"nel\n";
    call(&b, "cuModuleGetFunction", (void *[]){ &pfunction, &module, &name }, true, CUDA_SUCCESS);
    EXPECT("cuModuleGetFunction(hfunc=0xdef, hmod=0xabc, name=\"ker\\\"nel\\n\") = CUDA_SUCCESS");
    char text[8] = "GPU";
    char *ptext = text;
    int length = sizeof text;
    call(&b, "cuDeviceGetName", (void *[]){ &ptext, &length, &dev }, true, CUDA_SUCCESS);
    EXPECT("cuDeviceGetName(name=\"GPU\", len=8, dev=0) = CUDA_SUCCESS");

    /* Arrays: the length parameter, and a NULL one. */
    CUgraph graph = (CUgraph)0x10;
    CUgraphNode from[2] = { (CUgraphNode)0x20, (CUgraphNode)0x30 }, to[2] = { (CUgraphNode)0x40, (CUgraphNode)0x50 };
    CUgraphNode *pfrom = from, *pto = to;
    size_t count = 2;
    call(&b, "cuGraphAddDependencies", (void *[]){ &graph, &pfrom, &pto, &count }, true, CUDA_SUCCESS);
    EXPECT("cuGraphAddDependencies(hGraph=0x10, from=[0x20, 0x30], to=[0x40, 0x50], numDependencies=2) = CUDA_SUCCESS");
    pfrom = NULL;
    call(&b, "cuGraphAddDependencies", (void *[]){ &graph, &pfrom, &pto, &count }, false, 0);
    EXPECT("cuGraphAddDependencies(hGraph=0x10, from=NULL, to=[0x40, 0x50], numDependencies=2)");
    unsigned options = 2;
    CUjit_option keys[2] = { CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL }, *pkeys = keys;
    void *values[2] = { (void *)32, (void *)4 }, **pvalues = values;
    CUlinkState *pstate = NULL;
    call(&b, "cuLinkCreate_v2", (void *[]){ &options, &pkeys, &pvalues, &pstate }, false, 0);
    EXPECT("cuLinkCreate_v2(numOptions=2, options=[CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL], "
           "optionValues=[0x20, 0x4], stateOut=NULL)");

    /* Structures. */
    CUDA_ARRAY_DESCRIPTOR descriptor = { 64, 32, CU_AD_FORMAT_UNSIGNED_INT8, 4 };
    const CUDA_ARRAY_DESCRIPTOR *pdescriptor = &descriptor;
    CUarray array = (CUarray)0x99, *parray = &array;
    call(&b, "cuArrayCreate_v2", (void *[]){ &parray, &pdescriptor }, true, CUDA_SUCCESS);
    EXPECT("cuArrayCreate_v2(pHandle=0x99, pAllocateArray={Width=64, Height=32, Format=CU_AD_FORMAT_UNSIGNED_INT8, "
           "NumChannels=4}) = CUDA_SUCCESS");
    /* By value. */
    CUmemLocation location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
    CUstream stream = NULL;
    unsigned none = 0;
    call(&b, "cuMemPrefetchAsync_v2", (void *[]){ &device, &bytes, &location, &none, &stream }, false, 0);
    EXPECT("cuMemPrefetchAsync_v2(devPtr=0x7000, count=1024, location={type=CU_MEM_LOCATION_TYPE_DEVICE, id=1}, flags=0, "
           "hStream=NULL)");

    /* What the call did not touch may not be there: an address then, and of a text what can be read. */
    char *end = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (end == MAP_FAILED || mprotect(end + 4096, 4096, PROT_NONE))
        return 2;
    memcpy(end + 4092, "name", 4);
    name = end + 4092;
    pfrom = (CUgraphNode *)0x1000;
    pdescriptor = (const CUDA_ARRAY_DESCRIPTOR *)0x2000;
    pfunction = NULL;
    call(&b, "cuModuleGetFunction", (void *[]){ &pfunction, &module, &name }, true, CUDA_ERROR_INVALID_HANDLE);
    EXPECT("cuModuleGetFunction(hfunc=NULL, hmod=0xabc, name=\"name\") = CUDA_ERROR_INVALID_HANDLE");
    call(&b, "cuGraphAddDependencies", (void *[]){ &graph, &pfrom, &pto, &count }, true, CUDA_ERROR_INVALID_VALUE);
    EXPECT("cuGraphAddDependencies(hGraph=0x10, from=0x1000, to=[0x40, 0x50], numDependencies=2) = CUDA_ERROR_INVALID_VALUE");
    parray = NULL;
    call(&b, "cuArrayCreate_v2", (void *[]){ &parray, &pdescriptor }, true, CUDA_ERROR_INVALID_VALUE);
    EXPECT("cuArrayCreate_v2(pHandle=NULL, pAllocateArray=0x2000) = CUDA_ERROR_INVALID_VALUE");

    if (!cw_meta_result_name(801) || strcmp(cw_meta_result_name(801), "CUDA_ERROR_NOT_SUPPORTED") || cw_meta_result_name(-5))
        failures++, printf("cw_meta_result_name\n");
    if (cw_meta_find_enum("CUjit_option") == NULL || cw_meta_find_enum("CUnothing"))
        failures++, printf("cw_meta_find_enum\n");
    printf("%d failures\n", failures);
    return failures != 0;
}
