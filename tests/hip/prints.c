/* SPDX-License-Identifier: Apache-2.0
 * A code object of cudaway-cc that prints and allocates: what vprintf returns
 * and writes without a FIFO, and into one that has room for few; malloc without
 * a heap and with one. prints FILE.o LIBRARY
 * prints.ptx as cudaway-cc made it (prints.sh), launched by HIP functions of
 * LIBRARY */
#include "impl/hip/hip.h"
#include "jit/builtins/heap.h"
#include "tests/driver/test.h"

#include <dlfcn.h>

enum { THREADS = 96, RECORD = 32, ROOM = 5 };

static struct {
#define X(need, since, name, params) hipError_t(*name) params;
  HIP_FUNCTIONS(X)
#undef X
} hip;

static void launch(hipFunction_t f, void *out, void *v, size_t bytes) {
  size_t size = sizeof out;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &out,
                   HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  EXPECT(!hip.hipModuleLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, NULL,
                                    extra));
  EXPECT(!hip.hipDeviceSynchronize());
  EXPECT(!hip.hipMemcpy(v, out, bytes, hipMemcpyDefault));
}

/* Of the module's variable of that name, which has eight bytes. */
static void *address(hipModule_t m, const char *variable) {
  hipDeviceptr_t p = NULL;
  size_t size = 0;
  EXPECT(!hip.hipModuleGetGlobal(&p, &size, m, variable) && size == 8);
  return p;
}

static void print(hipModule_t m, const char *kernel, void *out) {
  hipFunction_t f;
  void *fifo;
  int v[THREADS];
  EXPECT(!hip.hipModuleGetFunction(&f, m, kernel));
  EXPECT(!hip.hipMalloc(&fifo, 8 + THREADS * RECORD));
  launch(f, out, v, sizeof v);
  for (unsigned i = 0; i < THREADS; i++)
    EXPECT(v[i] == -1);
  /* u32 taken, u32 capacity, records: u32 size, u32 kind, u64 format, u32 and
   * f64 at their alignment. */
  uint32_t words[2 + THREADS * RECORD / 4] = {0, ROOM * RECORD};
  void *variable = address(m, "cudaway_fifo");
  EXPECT(!hip.hipMemcpy(fifo, words, sizeof words, hipMemcpyDefault) &&
         !hip.hipMemcpy(variable, &fifo, 8, hipMemcpyDefault));
  launch(f, out, v, sizeof v);
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
  fifo = NULL;
  EXPECT(!hip.hipMemcpy(variable, &fifo, 8, hipMemcpyDefault));
}

static void allocate(hipModule_t m, void *out) {
  static _Alignas(16) char heap[1 << 16], zero[sizeof heap];
  struct cwd_heap head = {.size = sizeof heap, .top = sizeof head};
  hipFunction_t f;
  void *at;
  uint64_t v[THREADS];
  EXPECT(!hip.hipModuleGetFunction(&f, m, "allocates"));
  launch(f, out, v, sizeof v);
  for (unsigned i = 0; i < THREADS; i++)
    EXPECT(v[i] == 0);
  memcpy(zero, &head, sizeof head);
  EXPECT(!hip.hipMalloc(&at, sizeof heap) &&
         !hip.hipMemcpy(at, zero, sizeof heap, hipMemcpyDefault) &&
         !hip.hipMemcpy(address(m, "cudaway_heap"), &at, 8, hipMemcpyDefault));
  launch(f, out, v, sizeof v);
  EXPECT(!hip.hipMemcpy(heap, at, sizeof heap, hipMemcpyDefault));
  for (unsigned i = 0; i < THREADS; i++) {
    uint64_t offset = v[i] - (uintptr_t)at;
    uint32_t first, last;
    if (i % 2) {
      EXPECT(v[i] == 1);
      continue;
    }
    EXPECT(offset >= sizeof head && offset + 40 <= sizeof heap && !(v[i] & 15));
    if (offset + 40 > sizeof heap)
      continue;
    memcpy(&first, heap + offset, 4);
    memcpy(&last, heap + offset + 36, 4);
    EXPECT(first == i && last == i);
  }
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
  void *out;
  EXPECT(!hip.hipInit(0) && !hip.hipModuleLoadData(&m, image) &&
         !hip.hipMalloc(&out, THREADS * 8));
  if (failures)
    return 1;
  print(m, "prints", out);
  print(m, "again", out);
  allocate(m, out);
  EXPECT(!hip.hipModuleUnload(m));
  return failures != 0;
}
