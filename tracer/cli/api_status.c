/* SPDX-License-Identifier: Apache-2.0
 * See api_status.h. The rows come from the API model (tracer/gen/status.c); the names of CUDA's libraries from NVIDIA's documentation of each. */
#include "tracer/cli/api_status.h"

#include <string.h>

const struct api_status api_status[] = {
#include "cudaway/driver_status.h"
#include "cudaway/runtime_status.h"
};
const unsigned api_status_count = sizeof api_status / sizeof *api_status;

/* How the functions of a library begin, and how its files are called; a prefix that is part of another one comes behind it. */
static const struct {
    const char *prefix, *title, *stem;
} libraries[] = {
    { "cublasLt", "cuBLASLt", "libcublasLt" },
    { "cublas", "cuBLAS", "libcublas" },
    { "nvblas", "NVBLAS", "libnvblas" },
    { "cufft", "cuFFT", "libcufft" },
    { "curand", "cuRAND", "libcurand" },
    { "cusparseLt", "cuSPARSELt", "libcusparseLt" },
    { "cusparse", "cuSPARSE", "libcusparse" },
    { "cusolver", "cuSOLVER", "libcusolver" },
    { "cudnn", "cuDNN", "libcudnn" },
    { "cudss", "cuDSS", "libcudss" },
    { "cutensor", "cuTENSOR", "libcutensor" },
    { "nccl", "NCCL", "libnccl" },
    { "nvshmem", "NVSHMEM", "libnvshmem" },
    { "nvrtc", "NVRTC", "libnvrtc" },
    { "nvJitLink", "nvJitLink", "libnvJitLink" },
    { "__nvJitLink", "nvJitLink", NULL },
    { "nvFatbin", "nvFatbin", "libnvfatbin" },
    { "nvvm", "NVVM", "libnvvm" },
    { "nvml", "NVML", "libnvidia-ml" },
    { "cupti", "CUPTI", "libcupti" },
    { "cuvid", "NVDEC", "libnvcuvid" },
    { "NvEncodeAPI", "NVENC", "libnvidia-encode" },
    { "nppi", "NPP", "libnpp" },
    { "npps", "NPP", NULL },
    { "npp", "NPP", NULL },
    { "nvjpeg2k", "nvJPEG2000", "libnvjpeg2k" },
    { "nvjpeg", "nvJPEG", "libnvjpeg" },
    { "nvtx", "NVTX", "libnvToolsExt" },
    { "cuFile", "cuFile", "libcufile" },
    { "__cuda", "Runtime", NULL },
    { "cuda", "Runtime", "libcudart" },
    { "cu", "driver", "libcuda.so" },
};

const struct api_status *
api_status_find(const char *name)
{
    for (unsigned i = 0; i < api_status_count; i++)
        if (!strcmp(api_status[i].name, name))
            return &api_status[i];
    return NULL;
}

const char *
api_library_of(const char *function)
{
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t n = strlen(libraries[i].prefix);
        if (!strncmp(function, libraries[i].prefix, n) && function[n] >= 'A' && function[n] <= 'Z')
            return libraries[i].title;
    }
    return NULL;
}

bool
api_is_cuda_library(const char *soname)
{
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i].stem && !strncmp(soname, libraries[i].stem, strlen(libraries[i].stem)))
            return true;
    return false;
}
