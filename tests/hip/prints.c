/* SPDX-License-Identifier: Apache-2.0
 * A code object of cudaway-cc that prints: what vprintf returns and writes
 * without a FIFO, and into one that has room for few. prints FILE.o LIBRARY
 * prints.ptx as cudaway-cc made it, launched by HIP functions of LIBRARY */
#include "impl/hip/hip.h"
#include "tests/driver/test.h"

#include <dlfcn.h>

enum { THREADS = 96, RECORD = 32, ROOM = 5 };

static struct {
#define X(need, since, name, params) hipError_t(*name) params;
  HIP_FUNCTIONS(X)
#undef X
} hip;

static void launch(hipFunction_t f, void *out, int *v) {
  size_t size = sizeof out;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &out,
                   HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  EXPECT(!hip.hipModuleLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, NULL,
                                    extra));
  EXPECT(!hip.hipDeviceSynchronize());
  EXPECT(!hip.hipMemcpy(v, out, THREADS * 4, hipMemcpyDefault));
}

int main(int argc, char **argv) {
  void *lib = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
#define X(need, since, name, params)                                           \
  *(void **)&hip.name = lib ? dlsym(lib, #name) : NULL;
  HIP_FUNCTIONS(X)
#undef X
  static char image[1 << 20];
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!hip.hipInit || !file || !fread(image, 1, sizeof image, file)) {
    fprintf(stderr, "usage: prints FILE.o LIBRARY\n");
    return 2;
  }
  fclose(file);
  hipModule_t m;
  hipFunction_t f;
  hipDeviceptr_t variable;
  void *out, *fifo;
  size_t size;
  int v[THREADS];
  EXPECT(!hip.hipInit(0) && !hip.hipModuleLoadData(&m, image) &&
         !hip.hipModuleGetFunction(&f, m, "prints"));
  EXPECT(!hip.hipModuleGetGlobal(&variable, &size, m, "cudaway_fifo") &&
         size == 8);
  EXPECT(!hip.hipMalloc(&out, sizeof v) &&
         !hip.hipMalloc(&fifo, 8 + THREADS * RECORD));
  launch(f, out, v);
  for (unsigned i = 0; i < THREADS; i++)
    EXPECT(v[i] == -1);
  /* u32 taken, u32 capacity, records: u32 size, u32 kind, u64 format, u32 and
   * f64 at their alignment. */
  uint32_t words[2 + THREADS * RECORD / 4] = {0, ROOM * RECORD};
  EXPECT(!hip.hipMemcpy(fifo, words, sizeof words, hipMemcpyDefault) &&
         !hip.hipMemcpy(variable, &fifo, 8, hipMemcpyDefault));
  launch(f, out, v);
  EXPECT(!hip.hipMemcpy(words, fifo, sizeof words, hipMemcpyDefault));
  unsigned printed = 0;
  for (unsigned i = 0; i < THREADS; i++) {
    EXPECT(v[i] == 2 || v[i] == -1);
    printed += v[i] == 2;
  }
  EXPECT(printed == ROOM && words[0] == THREADS * RECORD);
  for (unsigned i = 0; i < THREADS; i++) {
    const uint32_t *r = words + 2 + i * RECORD / 4;
    double d;
    memcpy(&d, r + 6, 8);
    EXPECT(r[0] == (i < ROOM ? RECORD : 0));
    EXPECT(i >= ROOM ||
           (r[1] == 0 && r[4] < THREADS && v[r[4]] == 2 && d == r[4]));
  }
  EXPECT(!hip.hipModuleUnload(m));
  return failures != 0;
}
