/* SPDX-License-Identifier: Apache-2.0
 * kernels FOLDER [NAME...]: milliseconds of kernels on the device and of the same loops in C, turn about, medians. FOLDER
 * holds matmul.ptx and compute.ptx. Results of both sides are compared, so that both did the work. */
#include "tools/bench.d/bench.h"
#include "tools/bench.d/loops.h"

#include <math.h>
#include <string.h>

#define TURNS 9
#define SIDE  768u
#define BODIES 8192u
#define WIDTH 1024u
#define HEIGHT 768u
#define STEPS 1000u

static const char *folder;

static CUfunction
function(const char *file, const char *name)
{
    char path[4096];
    CUmodule module;
    CUfunction f;
    snprintf(path, sizeof path, "%s/%s.ptx", folder, file);
    char *text = read_text(path);
    MUST(cuModuleLoadData(&module, text));
    free(text);
    MUST(cuModuleGetFunction(&f, module, name));
    return f;
}

static CUdeviceptr
buffer(const void *from, size_t size)
{
    CUdeviceptr p;
    MUST(cuMemAlloc_v2(&p, size));
    if (from)
        MUST(cuMemcpyHtoD_v2(p, from, size));
    return p;
}

struct turn {
    CUfunction f;
    unsigned grid_x, grid_y, block_x, block_y, shared;
    void **params;
};

/* One launch, in milliseconds. */
static double
on_device(const struct turn *l)
{
    double from = now();
    MUST(cuLaunchKernel(l->f, l->grid_x, l->grid_y, 1, l->block_x, l->block_y, 1, l->shared, NULL, l->params, NULL));
    MUST(cuCtxSynchronize());
    return (now() - from) * 1e3;
}

static void
print(const char *name, double *device, double *c)
{
    printf("%s.device %.3f ms\n%s.c %.3f ms\n", name, median(device, TURNS), name, median(c, TURNS));
    fflush(stdout);
}

static void
compare(const char *name, const float *a, const float *b, size_t n, float tolerance)
{
    float scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = fmaxf(scale, fabsf(b[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= tolerance * scale)) {
            fprintf(stderr, "%s: [%zu] is %g on the device, %g in C\n", name, i, a[i], b[i]);
            exit(1);
        }
}

static void
matmul(const char *name, void (*loops)(const float *restrict, const float *restrict, float *restrict, unsigned))
{
    size_t count = SIDE * SIDE, size = count * sizeof(float);
    float *a = malloc(size), *b = malloc(size), *c = malloc(size), *d = malloc(size);
    double td[TURNS], tc[TURNS];
    if (!a || !b || !c || !d)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)(i * 37 % 101) / 101 - 0.5f;
        b[i] = (float)(i * 53 % 103) / 103 - 0.5f;
    }
    CUdeviceptr da = buffer(a, size), db = buffer(b, size), dc = buffer(NULL, size);
    unsigned n = SIDE;
    void *params[] = { &da, &db, &dc, &n };
    struct turn l = { function("matmul", "matmul_tiled"), SIDE / 16, SIDE / 16, 16, 16, 0, params };
    on_device(&l);
    loops(a, b, c, SIDE);
    for (unsigned i = 0; i < TURNS; i++) {
        td[i] = on_device(&l);
        double from = now();
        loops(a, b, c, SIDE);
        tc[i] = (now() - from) * 1e3;
    }
    MUST(cuMemcpyDtoH_v2(d, dc, size));
    compare(name, d, c, count, 1e-4f);
    print(name, td, tc);
    free(a), free(b), free(c), free(d);
}

static void
nbody(void)
{
    size_t size = BODIES * 4 * sizeof(float);
    float *in = malloc(size), *out = malloc(size), *d = malloc(size), softening = 0.01f;
    double td[TURNS], tc[TURNS];
    if (!in || !out || !d)
        exit(1);
    for (unsigned i = 0; i < 4 * BODIES; i++)
        in[i] = (float)(i * 2654435761u >> 8) / (float)(1u << 24);
    CUdeviceptr di = buffer(in, size), dout = buffer(NULL, size);
    unsigned n = BODIES;
    void *params[] = { &di, &dout, &n, &softening };
    struct turn l = { function("compute", "nbody"), BODIES / 128, 1, 128, 1, 128 * 16, params };
    on_device(&l);
    c_nbody(in, out, n, softening);
    for (unsigned i = 0; i < TURNS; i++) {
        td[i] = on_device(&l);
        double from = now();
        c_nbody(in, out, n, softening);
        tc[i] = (now() - from) * 1e3;
    }
    MUST(cuMemcpyDtoH_v2(d, dout, size));
    compare("nbody", d, out, 4 * BODIES, 1e-4f);
    print("nbody", td, tc);
    free(in), free(out), free(d);
}

static void
mandelbrot(void)
{
    size_t size = WIDTH * HEIGHT * sizeof(unsigned);
    unsigned *out = malloc(size), *d = malloc(size), width = WIDTH, height = HEIGHT, limit = STEPS;
    float x0 = -2, y0 = -1.125f, step = 3.0f / WIDTH;
    double td[TURNS], tc[TURNS];
    if (!out || !d)
        exit(1);
    CUdeviceptr dout = buffer(NULL, size);
    void *params[] = { &dout, &width, &height, &x0, &y0, &step, &limit };
    struct turn l = { function("compute", "mandelbrot"), WIDTH / 32, HEIGHT / 8, 32, 8, 0, params };
    on_device(&l);
    c_mandelbrot(out, width, height, x0, y0, step, limit);
    for (unsigned i = 0; i < TURNS; i++) {
        td[i] = on_device(&l);
        double from = now();
        c_mandelbrot(out, width, height, x0, y0, step, limit);
        tc[i] = (now() - from) * 1e3;
    }
    MUST(cuMemcpyDtoH_v2(d, dout, size));
    /* C fuses multiplications and additions and the kernel does not: pixels at the edge of the set differ. */
    unsigned differ = 0;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        differ += out[i] != d[i];
    if (differ > WIDTH * HEIGHT / 20) {
        fprintf(stderr, "mandelbrot: %u of %u pixels differ\n", differ, WIDTH * HEIGHT);
        exit(1);
    }
    print("mandelbrot", td, tc);
    free(out), free(d);
}

int
main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    if (argc < 2) {
        fprintf(stderr, "usage: kernels FOLDER [matmul|nbody|mandelbrot]...\n");
        return 2;
    }
    folder = argv[1];
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    static char *const all[] = { "matmul", "nbody", "mandelbrot" };
    char *const *names = argc > 2 ? argv + 2 : all;
    for (int i = 0, n = argc > 2 ? argc - 2 : 3; i < n; i++) {
        if (!strcmp(names[i], "matmul")) {
            matmul("matmul-plain", c_matmul);
            matmul("matmul-tiled", c_matmul_tiled);
        } else if (!strcmp(names[i], "nbody")) {
            nbody();
        } else if (!strcmp(names[i], "mandelbrot")) {
            mandelbrot();
        } else {
            fprintf(stderr, "kernels: there is no kernel %s\n", names[i]);
            return 2;
        }
    }
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
